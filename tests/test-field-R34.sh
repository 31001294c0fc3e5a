#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R34: 512-byte clients on members that want blocks of 4096 bytes.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M all --filter=blocksize-policy blocksize-minimum=4096 \
    blocksize-preferred=4096 blocksize-error-policy=error
start_uraid wait-members=0
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
