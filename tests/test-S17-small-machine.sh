#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S17: on a machine with four processors and 8 GiB an array of six members gets
# what the kernel has always given it, and under the same load its peak memory
# is within 5 percent of that in profile stock.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

export URAID_TEST_CPUS=4 URAID_TEST_NODES=1 URAID_TEST_RAM=8G
make_members 6 64M
create 6 64K

least_auto=999999999 least_stock=999999999
# peak PROFILE: of a server after it was written to until the cache was full,
# single pages and then 64K at a time; the least of all tries into $least_*.
peak() {
    local i kib least=least_$1
    start_uraid -t16 safe_mode_delay=60 profile="$1"
    uraid_cmd get "$uraid_control" stripe_cache_size stripe_cache_size_max \
        nr_stripe_hash_locks max_stripe_batch >out
    cut -d ' ' -f 1,2 out | sort | diff - <(printf '%s\n' \
        'max_stripe_batch 8' 'nr_stripe_hash_locks 8' \
        'stripe_cache_size 256' 'stripe_cache_size_max 32768') ||
        fail "these are the values in profile $1"
    io scatter:600:262144:1 random:256:134217728:65536:64:1
    kib=$(status_kib VmHWM)
    echo "peak in profile $1: $kib KiB"
    [ "$kib" -ge "${!least}" ] || printf -v "$least" %s "$kib"
    stop_uraid
}
for _ in 1 2; do
    peak auto
    peak stock
done
[ -n "$sanitizer_preload" ] ||
    [ $((100 * least_auto)) -le $((105 * least_stock)) ] ||
    fail "$least_auto KiB, which is over 1.05 times $least_stock KiB"
