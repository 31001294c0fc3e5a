#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R34, field-R35, field-R36: block sizes and request lengths of members
# and clients.
. "${0%/*}/functions.sh"

requires_filter blocksize-policy
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

# array SIZE [MEMBER-ARG...]: a fresh array over members with these filters
array() {
    local size=$1
    shift
    stop_members
    member_pids=() member_uris=()
    make_members 6 "$size"
    start_members 6 "$@"
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        --bitmap=internal $(all_member_uris) >create.log
    start_uraid wait-members=0
}

# --- field-R34: 512-byte clients on members that want 4096
array 24M --filter=blocksize-policy blocksize-minimum=4096 \
    blocksize-preferred=4096 blocksize-error-policy=error
steps=(write:0:1000000:1)
for i in 1 2 3 4 5 6 7 8 9; do
    steps+=("write:$((i * 33 * 512)):512:$i" "check:$((i * 33 * 512)):512:$i")
done
steps+=(write:777777:1:5 check:777777:1:5 zero:65536:512 zeroes:65536:512)
io "${steps[@]}"
kill_member 1
kill_member 3
io "${steps[@]}" flush
stop_uraid
if grep -E 'EINVAL|aligned' m[0245].log; then
    fail "R34: a member got a request that it does not allow"
fi

# --- field-R35: longer requests than the other side likes
array 24M --filter=blocksize-policy blocksize-maximum=64K \
    blocksize-error-policy=error
io write:0:33554432:3 check:0:33554432:3 write:4096:31000001:4 \
    check:4096:31000001:4
stop_uraid
if grep -E 'EINVAL|maximum' m[0-5].log; then
    fail "R35: a member got a request that is longer than it allows"
fi
# zero and trim of 4 GiB - 4096 on large sparse members
array 2T
io write:0:1000000:1 write:0xffffe000:4096:2 write:0xfffff000:4096:3
io zero:0:0xfffff000 zeroes:0:1000000 zeroes:0xffffe000:4096 \
    check:0xfffff000:4096:3 trim:0:0xfffff000 check:0xfffff000:4096:3
stop_uraid

# --- field-R36: a member that cannot trim or zero does not matter
array 24M --filter=nozero
stop_uraid
start_uraid trim=zero
io write:0:5000000:1 trim:0:4000000 check:0:1:1 2>/dev/null &&
    fail "R36: trimmed rows still hold the old bytes"
io zeroes:0:3932160 zero:100000:3000000 zeroes:100000:3000000 \
    write:123:4567:8 check:123:4567:8
kill_member 0
kill_member 5
io check:123:4567:8 zeroes:8192:3000000
stop_uraid
