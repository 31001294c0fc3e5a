#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Counts that are no counts are refused, wherever they can be given; the largest
# stripe cache is in force and is more bytes than 32 bits hold (S1).  Arithmetic
# with large chunks: unit/test-geometry-big.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }

make_members 6 8M
start_members 6
members_sha >before
for i in 0 0K 0s -1 -64K 4194304T 1; do
    status=0
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=$i \
        $(all_member_uris) >out 2>&1 || status=$?
    [ "$status" -eq 1 ] || fail "create --chunk=$i: status $status: $(cat out)"
    grep -q -e "--chunk: $i: " out || fail "create --chunk=$i: $(cat out)"
done
status=0
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --bitmap=internal \
    --bitmap-chunk=0M $(all_member_uris) >out 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "create --bitmap-chunk=0M: status $status"
grep -q -e "^uraid: --bitmap-chunk: 0M: " out ||
    fail "create --bitmap-chunk=0M: $(cat out)"
members_sha | cmp - before

# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
for i in -1 -2147483648 4294967295 4294967296 18446744073709551615 \
    99999999999999999999 0; do
    uraid_refuses "stripe_cache_size: $i: .*allowed 17\.\.262144" \
        stripe_cache_size=$i
    uraid_refuses "chunk_size=$i: .*a power of two" chunk_size=$i
done

# On the command line and while serving.
URAID_TEST_RAM=1T start_uraid stripe_cache_size=262144
limit=$((262144 * 6 * 4096))
[ "$(rpc detail cache.limit_bytes)" = "$limit" ] ||
    fail "limit $(rpc detail cache.limit_bytes), not $limit"
for i in -1 4294967297 4294967313 18446744073709551615 0; do
    if uraid_cmd set "$uraid_control" stripe_cache_size $i >out 2>&1; then
        fail "stripe_cache_size $i is taken while serving"
    fi
    grep -q "stripe_cache_size: $i: .*allowed 17\.\.262144" out ||
        fail "stripe_cache_size $i: $(cat out)"
    [ "$(rpc detail cache.limit_bytes)" = "$limit" ]
done
uraid_cmd set "$uraid_control" stripe_cache_size 17
[ "$(rpc detail cache.limit_bytes)" = $((17 * 6 * 4096)) ]
uraid_cmd set "$uraid_control" stripe_cache_size 262144
[ "$(rpc detail cache.limit_bytes)" = "$limit" ]
nbdsh -u "$uraid_uri" -c 'h.pwrite (b"x" * 4096, 4096)' \
    -c 'assert h.pread (4096, 4096) == b"x" * 4096'
stop_uraid
