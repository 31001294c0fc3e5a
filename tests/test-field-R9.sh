#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R9: those who left first are never the truth; they are rebuilt.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

fresh
start_uraid
kill_member 0
io write:0:300000:11 flush
kill_member 1
io write:300000:700000:12 flush
stop_uraid
restart_member 0
restart_member 1
start_uraid
io check:0:300000:11 check:300000:700000:12
for i in 0 1; do
    sb wait m$i feature_map 0
    sb wait m$i events "$(sb get m5 events)"
done
kill_member 4
kill_member 5
io check:0:300000:11 check:300000:700000:12
stop_uraid
