#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# nr_stripe_hash_locks (S5): 8, 16 and 32 are taken and in force, 0 is by the
# number of CPUs, others are refused; and with 32 locks and workers, clients
# write and read while the stripe cache and the workers are changed.  That so
# many locks are really made and used: unit/test-hash-locks.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
load() { /usr/bin/python3 "$abs_top_srcdir/tests/load.py" "$@"; }
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }

make_members 6 8M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log

# CPUS GIVEN WANT
while read -r cpus given want; do
    URAID_TEST_CPUS=$cpus start_uraid nr_stripe_hash_locks="$given"
    got=$(rpc tune.get -p '{"keys":["nr_stripe_hash_locks"]}' \
        tunables.nr_stripe_hash_locks.value)
    [ "$got" = "$want" ] ||
        fail "nr_stripe_hash_locks=$given, $cpus CPUs: $got, not $want"
    stop_uraid
done <<'END'
4 8 8
64 8 8
4 16 16
4 32 32
4 0 8
12 0 16
64 0 32
12 auto 16
END
for i in 7 12 64 -8 1 24 33; do
    uraid_refuses "nr_stripe_hash_locks: $i: .*allowed 0, 8, 16, 32" \
        nr_stripe_hash_locks=$i
done

start_uraid -t32 nr_stripe_hash_locks=32 group_thread_cnt=2
# It cannot be changed while serving.
if uraid_cmd set "$uraid_control" nr_stripe_hash_locks 16 >out 2>&1; then
    fail 'nr_stripe_hash_locks is changed'
fi
grep -q 'nr_stripe_hash_locks: ' out || fail "$(cat out)"
[ "$(rpc tune.get -p '{"keys":["nr_stripe_hash_locks"]}' \
    tunables.nr_stripe_hash_locks.value)" = 32 ]

cat >tune <<END
#!/bin/sh
exec "$URAID" set "$uraid_control" "\$@"
END
chmod +x tune
# 17 is the least: nearly all that is cached has to go each time.
load "$uraid_uri" --connections 4 verify want --times 5 \
    -e './tune stripe_cache_size 17' -e './tune group_thread_cnt 0' \
    -e './tune stripe_cache_size 4000' -e './tune group_thread_cnt 2'
[ "$(rpc detail cache.stripe_cache_size workers.group_thread_cnt | xargs)" = \
    '4000 2' ]
[ "$(rpc detail cache.evicted)" -gt 0 ] || fail 'nothing was evicted'
[ "$(rpc detail workers.wakes)" -gt 0 ] || fail 'no worker has run'
stop_uraid
load images want m0 m1 m2 m3 m4 m5
