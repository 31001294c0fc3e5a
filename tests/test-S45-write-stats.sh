#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S45: writes are counted by kind, and what was read for them, exactly; any
# write to write_stats makes the counters 0.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

# Six data chunks of 64K: a row has 384K.
ROW=393216
make_members 8 32M
create 8 64K
start_uraid safe_mode_delay=60

# counted FULL RCW RMW PREREADS: everywhere where it can be read
counted() {
    is stats.write_full "$1" stats.write_rcw "$2" stats.write_rmw "$3" \
        stats.prereads "$4" stats.write_reconstruct 0 stats.write_data_only 0
    uraid_cmd get "$uraid_control" write_stats >out
    grep -q "^write_stats full=$1 rcw=$2 rmw=$3 prereads=$4 " out ||
        fail "get write_stats: $(cat out), not $*"
    uraid_cmd detail --stats "$uraid_control" >out
    grep -q "Write Stats : full $1, rcw $2, rmw $3, w_preread $4\$" out ||
        fail "detail --stats: $(grep 'Write Stats' out), not $*"
}

# at ROW-NUMBER STEP LEN: a step of nbdio.py
at() { echo "write:$(($1 * ROW)):$2:$1"; }

# Every write but the last is in a row of its own, with nothing in the cache.
script() {
    local len steps=() row=$1
    # Ten rows as a whole; seven with five or four chunks of six, where reading
    # the others is less than reading what is written and P and Q; four with a
    # page or a chunk, where old data, P and Q are read.
    for len in $ROW $ROW $ROW $ROW $ROW $ROW $ROW $ROW $ROW $ROW \
        327680 327680 327680 327680 262144 262144 262144 \
        4096 65536 12288 4096; do
        steps+=("$(at $row $len)")
        row=$((row + 1))
    done
    # This one finds all three in the cache.
    io "${steps[@]}" "${steps[-1]}"
}

counted 0 0 0 0
script 0
counted 10 7 5 $((4 * 1 + 3 * 2 + 4 * 3))
is stats.runs 22 stats.combined 0

for i in 0 1 reset ''; do
    io "write:$((30 * ROW)):4096:1"
    [ "$(rpc detail stats.write_rmw)" -gt 0 ]
    tune write_stats "$i"
    counted 0 0 0 0
done
# Other counters go on.
is stats.runs 26

# Once more, to see that they count after that; and each way by force.
script 40
counted 10 7 5 22
tune write_stats 0 rmw_level 0
io "$(at 70 4096)"
counted 0 1 0 5
tune write_stats 0 rmw_level 2
io "$(at 71 327680)"
counted 0 0 1 7
stop_uraid
