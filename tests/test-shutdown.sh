#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R4 (the part about stopping): nbdkit stays alive after SIGTERM while a
# client is connected, even an idle one.  The members must say clean all the
# same, and the next start must find nothing to resync; and an array that is
# idle for safe_mode_delay is clean already, so that SIGKILL costs nothing.
. "${0%/*}/functions.sh"

sb() { /usr/bin/python3 "$abs_top_srcdir/tests/sbtool.py" "$@"; }
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }
MAX=18446744073709551615

make_members 6 32M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log

# An idle client that never goes; safe mode far away, so that only the stop
# can have made it clean.
start_uraid safe_mode_delay=60
mkfifo hold
/usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" write:0:500000:1 \
    wait <hold &
client=$!
pids[$client]=1
exec 9>hold
sb wait m0 resync_offset 0
for i in 0 1 2 3 4 5; do
    [ "$(sb get m$i resync_offset)" = 0 ] ||
        fail "member $i is not marked dirty while it is written to"
done
kill -TERM "$uraid_pid"
for i in 0 1 2 3 4 5; do
    sb wait m$i resync_offset MAX
done
is_running "$uraid_pid" || fail "nbdkit ended although a client was connected"
is_running "$client" || fail "the client has ended"
# As a service manager would do it now.
kill_uraid
exec 9>&-
wait_exit "$client"
e=$(sb get m0 events)

# Nothing to resync, nothing written by starting and reading.
members_sha >before
start_uraid
io check:0:500000:1
stop_uraid
members_sha >after
cmp before after || fail "a clean start and a read have changed a member"

# Idle for safe_mode_delay: clean without any stop.
start_uraid safe_mode_delay=0.1
io write:123456:4096:2
for i in 0 1 2 3 4 5; do
    sb wait m$i resync_offset MAX
done
[ "$(sb get m0 events)" -gt "$e" ] || fail "events did not go up"
kill_uraid
members_sha >before
start_uraid
io check:123456:4096:2
stop_uraid
members_sha >after
cmp before after || fail "SIGKILL while idle made work for the next start"
[ "$(sb get m0 resync_offset)" = $MAX ] || fail "not clean"
