#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S16: the five workloads of scripts/workloads.fio with 0, 2, 4 and 8 workers a
# group: no request fails, workers work when there are some and only then, and
# in the end parity is right.  How fast they are: scripts/bench.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }

make_members 6 16M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
start_uraid -t32 group_thread_cnt=0
# shellcheck disable=SC2154 # from functions.sh
export URAID_URI=$uraid_uri RT=1 RAMP=0 ROW=256k
for threads in 0 2 4 8; do
    uraid_cmd set "$uraid_control" group_thread_cnt $threads
    before=$(rpc detail workers.wakes)
    for w in w1-rand-4k-write w2-db-75-25-8k w3-manyclients-70-30-4k \
        w4-oltp-70-30-16k w5-partial-stripe-8k-write; do
        runs=$(rpc stats.get stats.runs)
        timeout 120 fio --output=fio.log --section=$w \
            "$abs_top_srcdir/scripts/workloads.fio" ||
            fail "$w with $threads threads: fio failed: $(tail -5 fio.log)"
        [ "$(rpc stats.get stats.runs)" -gt "$runs" ] ||
            fail "$w with $threads threads has written nothing"
    done
    wakes=$(($(rpc detail workers.wakes) - before))
    echo "$threads threads: $wakes wakes"
    if [ $threads -eq 0 ]; then
        [ $wakes -eq 0 ] || fail "no threads, and $wakes were woken"
    else
        [ $wakes -gt 0 ] || fail "$threads threads, and none was woken"
    fi
done
nbdcopy "$uraid_uri" want
stop_uraid
/usr/bin/python3 "$abs_top_srcdir/tests/load.py" images want m0 m1 m2 m3 m4 m5
