#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S24: group_thread_cnt goes up to 8192 and down to none while the array is
# served, and the same number again changes nothing.  S25: it is a ceiling; a
# client that waits for each answer never has more than one worker at work.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

make_members 6 32M
create 6 64K
# On a machine with more nodes, a worker on another one may be about to sleep
# when the next request comes.
URAID_TEST_CPUS=8 URAID_TEST_NODES=1 start_uraid group_thread_cnt=8 \
    safe_mode_delay=60

# --- S25

is workers.group_thread_cnt 8 workers.threads 0 workers.changes 1
# Each needs a worker twice: when all is read, and when all is written.
io scatter:100:262144:1 scatter:100:262144:2
is workers.workers_peak 1 workers.threads 1
[ "$(rpc detail workers.wakes)" -gt 0 ] || fail 'no worker has done anything'

# --- S24

tune group_thread_cnt 8
is workers.changes 1
tune group_thread_cnt 8192
is workers.group_thread_cnt 8192 workers.changes 2
for i in 8193 -2; do
    refuses_to_tune EINVAL '"allowed": "-1, 0..8192"' group_thread_cnt $i
done
tune group_thread_cnt 8192
is workers.group_thread_cnt 8192 workers.changes 2
# Far fewer threads than that: they come when they are wanted.
io scatter:20:262144:3
is workers.threads 1
tune group_thread_cnt 0
is workers.group_thread_cnt 0 workers.changes 3 workers.threads 0 \
    workers.running 0
wakes=$(rpc detail workers.wakes)
io scatter:20:262144:4
is workers.wakes "$wakes" workers.threads 0
tune group_thread_cnt 0
is workers.changes 3
# The rule for 8 processors.
tune group_thread_cnt -1
is workers.group_thread_cnt 4 workers.changes 4

# While it is written to, all the time: what was written is there.
io until:stop:0:8388608:65536:16 &
client=$!
pids[$client]=1
changes=4
for i in 8192 0 1 8 0 2; do
    tune write_stats 0
    wait_for '[ "$(rpc detail stats.write_rmw)" -gt 0 ]'
    tune group_thread_cnt $i
    changes=$((changes + 1))
done
is workers.changes $changes workers.group_thread_cnt 2
touch stop
wait_exit "$client"
[ "$exit_status" -eq 0 ] || fail 'a write has failed'
kill_member 0
kill_member 3
check_seq 0 8388608 65536
stop_uraid
