#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# No write is left behind (S32, S33).  md once let single writes wait for as
# long as others kept coming, 45 seconds and more; so what is counted is by how
# many later writes a write is overtaken.  Time plays no part: a slow machine
# makes all of them slow.
#
# How the bounds were found: with D writes unanswered a write is overtaken by
# less than D others when all take equally long, and by some more when a thread
# is kept off the CPU for a while.  Measured on two busy CPUs, the worst of
# many thousand: 126 with D = 64, 863 with D = 1024.  A write that is forgotten
# is overtaken by all that follow.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
load() {
    /usr/bin/python3 "$abs_top_srcdir/tests/load.py" "$@"
}
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }
# waited N: so many runs had to wait for their turn, or nothing was tested
waited() {
    local waits
    waits=$(rpc stats.get stats.waits)
    [ "$waits" -ge "$1" ] || fail "only $waits writes had to wait, want $1"
    rpc stats.reset >/dev/null
}

make_members 6 24M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log

# S32: one client, 64 in flight, anywhere; and all in the same 64 KiB, where
# writes wait for each other and go together.
start_uraid -t64 rmw_level=2
one=(--connections 1 --depth 64 "$uraid_uri")
load "${one[@]}" overtaken $((32 * 64)) --count 8000
waited 10
load "${one[@]}" overtaken $((20 * 64)) --count 5000 --span 65536
waited 1000
stop_uraid

# S33: 16 clients, workers, a large cache.
start_uraid rmw_level=2 group_thread_cnt=8 stripe_cache_size=32768
many=(--connections 16 --depth $((16 * 64)) "$uraid_uri")
load "${many[@]}" overtaken $((6 * 1024)) --count 8000
waited 100
load "${many[@]}" overtaken $((3 * 1024)) --count 7000 --span 65536
waited 1000
stop_uraid
