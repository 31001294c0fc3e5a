#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R37: a read-modify-write never puts back old bytes outside its own range:
# two connections write at the same time, one 64 KiB, the other 512 bytes inside
# it; healthy, with one and with two members missing.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M
start_uraid
io overlap:0:300 overlap:40960:300
kill_member 1
io overlap:131072:300 overlap:172032:300
kill_member 4
io overlap:262144:300 overlap:303104:300
stop_uraid
