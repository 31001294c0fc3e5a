#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S39: there is no lock that all stripes share.  A write takes the lock of its
# own bucket twice: to claim its stripes and to give them back; once more for
# each stripe that was not in the cache.  A read that goes to the members takes
# none.  And four sequential writers, random writes and a resync together get
# what they wrote (under ThreadSanitizer: without a race).

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

make_members 6 32M
create 6 64K
start_uraid safe_mode_delay=60

# takes NUMBER STEP...: so many locks are taken
takes() {
    local before after number=$1
    shift
    before=$(rpc detail cache.lock_takes)
    io "$@"
    after=$(rpc detail cache.lock_takes)
    [ $((after - before)) -eq "$number" ] ||
        fail "$((after - before)) locks were taken, not $number, for: $*"
}

takes 0
takes $((100 * 3)) scatter:100:262144:1
takes $((100 * 2)) scatter:100:262144:1
is stats.write_rmw 200 stats.prereads 300
# Four rows, each a run, and nothing of them stays in the cache.
takes $((4 * 2)) write:0:1048576:2
takes 0 check:0:1048576:2 zeroes:67108864:1048576
is stats.waits 0
stop_uraid

# All at once, until the resync is done: random writes in the first 4 MiB, and
# four writers behind it.
stop_members
make_members 6 32M
create 6 64K --bitmap=none
start_uraid -t32 safe_mode_delay=60
while [ ! -e stop ]; do
    io "scatter:64:65536:$RANDOM"
done &
clients=($!)
for i in 1 2 3 4; do
    io "until:stop:$((i << 22)):4194304:16384:8" &
    clients+=($!)
done
for i in "${clients[@]}"; do
    pids[$i]=1
done
wait_for '[ "$(rpc detail sync.action array.resync_offset_bytes | xargs)" = \
    "idle null" ]' 120 'the end of the resync'
touch stop
for i in "${clients[@]}"; do
    wait_exit "$i" 60
    [ "$exit_status" -eq 0 ] || fail 'a writer has failed'
done
[ "$(rpc detail stats.resynced_segments)" -gt 0 ]
# The data, and then parity.
check_seq 4194304 16777216 16384
nbdsh -u "$uraid_uri" -c 'open ("all", "wb").write (h.pread (20 << 20, 0))'
kill_member 1
kill_member 4
io file:all:0
stop_uraid
