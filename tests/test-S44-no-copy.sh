#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S44: full pages go to the members out of the client's request, and reads come
# into the answer, without a copy; with skip_copy=0 each byte that is written
# is copied once.  Either way parity is right, although clients overwrite their
# buffers, and nbdkit its own, as soon as a write is answered.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

# Four data chunks of 128K: a row has 512K.  Chunks of up to 64K of neighbour
# rows would be copied into one request, as that costs less than two.
ROW=524288
# copied BYTES: by the engine, and none below it
copied() {
    is stats.copied_bytes "$1" members.0.merged_bytes 0 \
        members.1.merged_bytes 0 members.2.merged_bytes 0 \
        members.3.merged_bytes 0 members.4.merged_bytes 0 \
        members.5.merged_bytes 0
}

# written SEED: a row, four rows in one request and a stream of rows; some
# chunks and pages of others
written() {
    io "write:0:$ROW:$1" "write:$ROW:$((4 * ROW)):$1" \
        "reuse:$((8 * ROW)):$((64 * ROW)):$ROW:16" \
        "write:$((80 * ROW)):262144:$1" "write:$((81 * ROW)):4096:$1" \
        "write:$((81 * ROW)):4096:$1"
}
written_bytes=$((69 * ROW + 262144 + 2 * 4096))
# kept SEED: it is there
kept() {
    io "check:0:$ROW:$1" "check:$ROW:$((4 * ROW)):$1" \
        "check:$((80 * ROW)):262144:$1" "check:$((81 * ROW)):4096:$1"
    check_seq $((8 * ROW)) $((64 * ROW)) $ROW
}

for skip_copy in 1 0; do
    make_members 6 64M
    create 6 128K
    start_uraid -t32 safe_mode_delay=60
    [ "$(tuned skip_copy)" = 1 ]
    tune skip_copy $skip_copy
    all=$(((1 - skip_copy) * written_bytes))
    written $skip_copy
    is stats.write_full 69
    copied $all
    kept $skip_copy
    copied $all
    # Of a page in part, that part.
    io "write:$((82 * ROW + 1000)):100:1"
    copied $((all + 100))
    # What was on these two comes out of parity.
    kill_member 0
    kill_member 1
    kept $skip_copy
    stop_uraid
    stop_members
done
