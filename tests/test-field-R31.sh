#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R31: foreground, background and --run behave the same.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M
preload=()
[ -z "$sanitizer_preload" ] || preload=("LD_PRELOAD=$sanitizer_preload")
mapfile -t uris < <(all_member_uris)
start_uraid
io write:0:300000:1
stop_uraid
rm -f uraid.pid "$uraid_sock"
env "${preload[@]}" "$NBDKIT" -P "$workdir/uraid.pid" -U "$uraid_sock" "$PLUGIN" "${uris[@]}"
[ -s uraid.pid ] || fail "R31: nbdkit returned, but there is no pid file"
io check:0:300000:1 write:300000:300000:2
pid=$(cat uraid.pid)
kill -TERM "$pid"
wait_for "! is_running $pid" 30 "the end of the background server"
rm -f "$uraid_sock"
if [ -z "$sanitizer_preload" ]; then
    "$NBDKIT" -U - "$PLUGIN" "${uris[@]}" --run \
        "/usr/bin/python3 $abs_top_srcdir/tests/nbdio.py \"\$uri\" check:0:300000:1 check:300000:300000:2 write:0:1000:5"
fi
for i in 0 1 2 3 4 5; do
    [ "$(sb get m$i resync_offset)" = 18446744073709551615 ] ||
        fail "R31: member $i is not clean after the background server ended"
done
# The same with plain paths, whose servers are children of ours.
stop_members
rm -f uraid.pid
env "${preload[@]}" "$NBDKIT" -P "$workdir/uraid.pid" -U "$uraid_sock" "$PLUGIN" \
    m0 m1 m2 m3 m4 "$workdir/m5"
io check:300000:300000:2 write:600000:1000:3 check:600000:1000:3
pid=$(cat uraid.pid)
kill -TERM "$pid"
wait_for "! is_running $pid" 30 "the end of the background server"
