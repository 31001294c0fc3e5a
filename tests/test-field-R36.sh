#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R36: a member that cannot trim or zero does not matter.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M all --filter=nozero
start_uraid wait-members=0
stop_uraid
start_uraid trim=zero
io write:0:5000000:1 trim:0:4000000 check:0:1:1 2>/dev/null &&
    fail "R36: trimmed rows still hold the old bytes"
io zeroes:0:3932160 zero:100000:3000000 zeroes:100000:3000000 \
    write:123:4567:8 check:123:4567:8
kill_member 0
kill_member 5
io check:123:4567:8 zeroes:8192:3000000
stop_uraid
