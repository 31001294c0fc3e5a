#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R11: one member twice or two for one slot is refused, both are named; the
# order in which members are given never matters.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

fresh
cp m0 m6
start_member 6
unchanged_refusal 'm[06].sock.*m[06].sock' $quick
stop_member 6
# another device UUID, the same slot
sb set m6 168:8=0x1234567890
start_member 6
unchanged_refusal 'm[06].sock.*m[06].sock' $quick
stop_member 6
unset 'member_uris[6]'
for seed in 1 2 3; do
    mapfile -t order < <(all_member_uris | shuf --random-source=<(yes $seed))
    start_uraid "${order[@]/#/member=}"
    io check:0:1000000:1
    stop_uraid
done
