#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R35: requests longer than the other side likes: split, never refused.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M all --filter=blocksize-policy blocksize-maximum=64K \
    blocksize-error-policy=error
start_uraid wait-members=0
io write:0:33554432:3 check:0:33554432:3 write:4096:31000001:4 \
    check:4096:31000001:4
stop_uraid
if grep -E 'EINVAL|maximum' m[0-5].log; then
    fail "R35: a member got a request that is longer than it allows"
fi
# zero and trim of 4 GiB - 4096 on large sparse members
create 2T
start_uraid wait-members=0
io write:0:1000000:1 write:0xffffe000:4096:2 write:0xfffff000:4096:3
io zero:0:0xfffff000 zeroes:0:1000000 zeroes:0xffffe000:4096 \
    check:0xfffff000:4096:3 trim:0:0xfffff000 check:0xfffff000:4096:3
stop_uraid
