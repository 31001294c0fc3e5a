#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The automatic values of tunables on machines other than this one, profiles,
# defaults of a site, and what is refused; with --dump-plugin, and with an
# array whose superblocks know better how many members it has.

. "${0%/*}/functions.sh"

# dump CPUS NODES RAM [ARG...]: into dump.txt
dump() {
    local cpus=$1 nodes=$2 ram=$3
    shift 3
    # shellcheck disable=SC2154 # from functions.sh
    env LD_PRELOAD="$sanitizer_preload" \
        ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" URAID_TEST_CPUS="$cpus" \
        URAID_TEST_NODES="$nodes" URAID_TEST_RAM="$ram" \
        "$NBDKIT" "$PLUGIN" "$@" --dump-plugin >dump.txt 2>dump.log
    case=$*
}

# is NAME VALUE: in the last dump
is() {
    local value
    value=$(sed -n "s/^uraid_value_$1=//p" dump.txt)
    [ "$value" = "$2" ] ||
        fail "$1 is \"$value\", not $2, with: $case; $(cat dump.log)"
}

# refused REGEX CPUS NODES RAM [ARG...]: must not start
refused() {
    local regex=$1
    export URAID_TEST_CPUS=$2 URAID_TEST_NODES=$3 URAID_TEST_RAM=$4
    shift 4
    uraid_refuses "error: .*$regex" wait-members=0 "$@"
    unset URAID_TEST_CPUS URAID_TEST_NODES URAID_TEST_RAM
}

GIB=$((1 << 30))

# Locks by processors.
for i in 1:8 4:8 8:8 9:16 17:32 22:32 32:32 128:32; do
    dump "${i%:*}" 1 8G
    is nr_stripe_hash_locks "${i#*:}"
done
dump 128 1 8G nr_stripe_hash_locks=16
is nr_stripe_hash_locks 16
dump 128 1 8G nr_stripe_hash_locks=0
is nr_stripe_hash_locks 32

# Nothing is imposed on a small machine.
dump 4 1 8G raid-devices=6
is stripe_cache_size 256
is stripe_cache_size_max 32768
is nr_stripe_hash_locks 8
is max_stripe_batch 8

# The cache by memory, and its ceiling.
dump 4 1 8G members=a,b,c,d,e,missing
is stripe_cache_size 256
is stripe_cache_size_max 32768
dump 4 1 64G raid-devices=8
is stripe_cache_size 3584
is stripe_cache_size_max 131072
dump 4 1 $((1254 * GIB / 10)) raid-devices=16
is stripe_cache_size 3884
is stripe_cache_size_max 128409
dump 4 1 256G raid-devices=12
is stripe_cache_size 4096
is stripe_cache_size_max 262144
dump 4 1 256G raid-devices=24
is stripe_cache_size 4096
dump 4 1 256G raid-devices=24 stripe_cache_size_default=1000
is stripe_cache_size 1000
dump 4 1 256G raid-devices=24 stripe_cache_size_default=1000 \
    stripe_cache_size=500
is stripe_cache_size 500

# Above the ceiling: the bytes that would be needed.
refused '40000: Cannot allocate memory .983040000 bytes are needed' \
    4 1 8G raid-devices=6 stripe_cache_size=40000 d0
refused 'stripe_cache_size_default: 32769: Cannot allocate' \
    4 1 8G raid-devices=6 stripe_cache_size_default=32769 d0
dump 4 1 8G raid-devices=6 stripe_cache_size=40000 stripe_cache_size_max=40000
is stripe_cache_size 40000

# All back to the kernel's constants, on any machine; each may be set alone.
stock() {
    dump 128 2 256G raid-devices=12 profile=stock "$@"
}
stock
is profile stock
is nr_stripe_hash_locks 8
is stripe_cache_size_max 32768
is max_stripe_batch 8
is stripe_cache_size 256
is group_thread_cnt 0
stock stripe_cache_size=32768
is stripe_cache_size 32768
refused '32769: Cannot allocate memory.*allowed 17..32768' 128 2 256G \
    profile=stock stripe_cache_size=32769 d0
for i in nr_stripe_hash_locks=16 stripe_cache_size_max=40000 \
    max_stripe_batch=32 stripe_cache_size=300 group_thread_cnt=4; do
    stock "$i"
    is "${i%=*}" "${i#*=}"
done

# Threads by processors and nodes.
threads() {
    dump "$1" "$2" 8G
    is group_thread_cnt "$3"
}
threads 32 2 8
threads 4 1 2
threads 3 1 0
threads 2 1 0
threads 1 1 0
threads 8 4 0
threads 128 2 32
threads 1024 1 256
threads 32 0,2 8

# Their default.
for i in -1:2 -9:2 0:0 5:5 300:256; do
    for key in group_thread_cnt_default default_group_thread_cnt; do
        dump 4 1 8G "$key=${i%:*}"
        is group_thread_cnt "${i#*:}"
    done
done
grep -q '300 is more than 256, which is used' dump.log
dump 4 1 8G group_thread_cnt_default=256
[ ! -s dump.log ] || fail "a remark: $(cat dump.log)"
dump 4 1 8G group_thread_cnt_default=5 group_thread_cnt=300
is group_thread_cnt 300
refused 'group_thread_cnt_default: many: Invalid argument' 4 1 8G \
    group_thread_cnt_default=many d0
refused 'group_thread_cnt_default and default_group_thread_cnt' 4 1 8G \
    default_group_thread_cnt=2 group_thread_cnt_default=2 d0

# The out-of-tree md's rule.
for i in 1:0 2:1 4:2 32:2; do
    dump "${i%:*}" 2 8G profile=tree
    is group_thread_cnt "${i#*:}"
done
dump 32 2 8G profile=tree group_thread_cnt=8
is group_thread_cnt 8

# A machine that is described wrongly.
refused URAID_TEST_CPUS none 1 8G d0

# Seven members of eight are given: the superblocks say that there are eight.
make_members 8 8M
uraid_cmd create v --level=6 --raid-devices=8 --chunk=64K \
    m0 m1 m2 m3 m4 m5 m6 m7 >create.log 2>&1
start_members 7
export URAID_TEST_CPUS=32 URAID_TEST_NODES=2 URAID_TEST_RAM=64G
start_uraid -v start-dirty-degraded=yes default_group_thread_cnt=300
wait_for "grep -q 'skip_copy is' uraid.log"
for i in 'stripe_cache_size is 3584 (auto)' \
    'stripe_cache_size_max is 131072 (auto)' \
    'group_thread_cnt is 256 (command line)' \
    'nr_stripe_hash_locks is 32 (auto)' 'rmw_level is 1 (default)'; do
    grep -qF "uraid: $i" uraid.log || fail "\"$i\" is not in the log"
done
grep -q 'nbdkit: uraid: .*300 is more than 256' uraid.log
# shellcheck disable=SC2154 # from functions.sh
nbdsh -u "$uraid_uri" -c 'h.pwrite (b"x" * 4096, 65536)' \
    -c 'assert h.pread (4096, 65536) == b"x" * 4096'
stop_uraid
uraid_refuses '140000: Cannot allocate memory .4587520000 bytes .* 8 members' \
    start-dirty-degraded=yes stripe_cache_size=140000
