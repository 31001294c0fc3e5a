#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R30, field-R31, field-R32: how members' answers and connections are
# handled.
. "${0%/*}/functions.sh"

requires_filter error
sb() { /usr/bin/python3 "$abs_top_srcdir/tests/sbtool.py" "$@"; }
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

# create: six members; member I with extra arguments: create I ARG...
create() {
    local special=$1 i
    shift
    stop_members
    member_pids=() member_uris=()
    make_members 7 24M
    for i in 0 1 2 3 4 5; do
        if [ "$i" = "$special" ]; then start_member $i "$@"; else start_member $i; fi
    done
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        $(all_member_uris) >create.log
}

# --- field-R30: a completion is not a success.  A fifth of the reads of m1
# fails: what clients read is right all the same, and a recovery of m4 to a
# blank spare gets no wrong byte.  (m1 stays until a block that was rewritten
# cannot be read back either; then it is out, as in md.)
create 1 --filter=error error-pread=EIO error-pread-rate=20% \
    "error-pread-file=$workdir/trigger"
start_uraid safe_mode_delay=0.1
io write:0:20000000:1 flush
touch trigger
for _ in 1 2 3; do
    io check:0:20000000:1
done
rm trigger
stop_uraid
read_errors=$(($(sb get m1 corrected)))
out=$(($(sb get m0 events) - $(sb get m1 events)))
[ "$read_errors" -gt 0 ] || [ "$out" -gt 1 ] ||
    fail "R30: no read error was counted"

create 1 --filter=error error-pread=EIO error-pread-rate=20% \
    "error-pread-file=$workdir/trigger"
start_uraid safe_mode_delay=0.1
io write:0:20000000:1 flush
stop_uraid
kill_member 4
start_member 6
start_uraid wait-members=0 "member=$(member_uri 0)" "member=$(member_uri 1)" \
    "member=$(member_uri 2)" "member=$(member_uri 3)" \
    "member=$(member_uri 5)" missing "spare=$(member_uri 6)" sync_window=1
touch trigger
wait_for '[ "$(sb get m6 feature_map)" = 0 ] &&
    [ "$(sb get m6 events)" = "$(sb get m0 events)" ]' 60 "the recovery of m6"
rm trigger
stop_uraid
start_uraid wait-members=0 "member=$(member_uri 0)" "member=$(member_uri 2)" \
    "member=$(member_uri 3)" "member=$(member_uri 6)" missing missing
io check:0:20000000:1
stop_uraid

# --- field-R31: foreground, background and --run behave the same
create none
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

# --- field-R32: peers that close at any moment leave an idle process and no
# descriptors behind.
create none
start_uraid
io write:0:300000:1
open_fds() { find "/proc/$uraid_pid/fd" -mindepth 1 | wc -l; }
base=$(open_fds)
for n in 1 5 18 28 60 100; do
    head -c "$n" /dev/zero | timeout 5 /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
s.recv(100)
s.close()' "$uraid_sock"
done
wait_for "[ \$(open_fds) -le $base ]" 20 "descriptors to be closed"
kill_member 1
kill_member 2
io check:0:300000:1
ticks() { awk '{ print $14 + $15 }' "/proc/$uraid_pid/stat"; }
before=$(ticks)
wait_for "[ \$(open_fds) -le $base ]" 20 "descriptors to be closed"
after=$(ticks)
[ $((after - before)) -le 50 ] || fail "R32: the process spins"
stop_uraid
