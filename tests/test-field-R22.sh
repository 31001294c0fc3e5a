#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R22: features that are not served are refused by name, nothing is written.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

fresh
for bit in 0x4:RESHAPE 0x10:REPLACEMENT 0x100:CLUSTERED 0x200:JOURNAL \
    0x400:PPL 0x800:PPL 0x80000000:0x80000000; do
    for i in 0 1 2 3 4 5; do sb set m$i feature_map=${bit%:*}; done
    unchanged_refusal "${bit#*:}" $quick
done
for i in 0 1 2 3 4 5; do sb set m$i feature_map=0; done
start_uraid
io check:0:1000000:1
stop_uraid
