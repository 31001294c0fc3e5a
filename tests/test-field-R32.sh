#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R32: peers that close at any moment leave an idle process and no
# descriptors behind.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M
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
