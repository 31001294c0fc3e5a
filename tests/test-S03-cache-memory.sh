#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S2: a running array takes 17 to 262144 stripes and nothing else.  S3: the
# memory that this may become is shown, stripes times members times 4096 bytes,
# and is taken only when stripes are used.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

make_members 12 64M
create 12 64K
start_uraid stripe_cache_size_max=262144 safe_mode_delay=60

# --- S2

for i in 17 262144; do
    tune stripe_cache_size $i
    is cache.stripe_cache_size $i
done
[ "$(tuned stripe_cache_size)" = 262144 ]
for i in 16 262145 -1 0 4294967313 1e4; do
    refuses_to_tune EINVAL '"allowed": "17..262144"' stripe_cache_size $i
done
tune stripe_cache_size 17
refuses_to_tune EINVAL '"allowed": "17..262144"' stripe_cache_size 16
tune stripe_cache_size 262144

# --- S3

# small WHEN: not more than an idle array may have.  A sanitizer has memory of
# its own.
small() {
    local kib
    kib=$(status_kib VmRSS)
    echo "resident $1: $kib KiB"
    [ -n "$sanitizer_preload" ] || [ "$kib" -lt 65536 ] ||
        fail "$1: $kib KiB are resident, allowed 65536"
}

is cache.limit_bytes $((12 << 30)) cache.stripe_bytes $((12 * 4096)) \
    cache.memory_bytes 0
uraid_cmd detail --stats "$uraid_control" >out
grep -Eq '^ *Cache Maximum : 12884901888 bytes \(12\.00 GiB' out ||
    fail "detail: $(grep Cache out)"
small 'with nothing in it'
# 40 stripes with three pages each: data, P and Q.
io scatter:40:655360:1
is cache.stripe_cache_active 40 cache.memory_bytes $((40 * 3 * 4096))
small 'after 40 writes'
stop_uraid

start_uraid profile=stock
is cache.stripe_cache_size 256 cache.limit_bytes $((256 * 12 * 4096))
refuses_to_tune ENOMEM '1610661888 bytes are needed' stripe_cache_size 32769
small 'in profile stock'
stop_uraid
