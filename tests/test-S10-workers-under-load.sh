#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# group_thread_cnt is changed again and again while clients write and read
# (S10, S24): no request fails or is lost, each read is right, and so are data
# and parity on the members afterwards.  load.py lets requests be answered
# between any two changes.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
load() { /usr/bin/python3 "$abs_top_srcdir/tests/load.py" "$@"; }
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }
# In ./tune, as load.py's commands are the shell's.
cat >tune <<END
#!/bin/sh
exec "$URAID" set "$uraid_control" "\$@"
END
chmod +x tune
# refused REGEX VALUE
refused() {
    if ./tune group_thread_cnt "$2" >out 2>&1; then
        fail "group_thread_cnt $2 is taken"
    fi
    grep -Eq -- "$1" out || fail "group_thread_cnt $2: $(cat out)"
}

make_members 6 8M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
start_uraid -t32 group_thread_cnt=0
[ "$(rpc detail workers.threads)" = 0 ]

# Fewer with a sanitizer, which makes each command slow.
times=50
[ -z "$sanitizer_preload" ] || times=12
load "$uraid_uri" verify want --times $times \
    -e './tune group_thread_cnt 8' -e './tune group_thread_cnt 0'
[ "$(rpc detail workers.group_thread_cnt workers.threads | xargs)" = '0 0' ] ||
    fail 'there are workers left'
[ "$(rpc detail workers.wakes)" -ge $times ] ||
    fail "the workers were woken only $(rpc detail workers.wakes) times"
stop_uraid
load images want m0 m1 m2 m3 m4 m5
cp want first

start_uraid -t32 group_thread_cnt=0
# The largest count starts no thread without work; beyond it, nothing changes.
./tune group_thread_cnt 8192
[ "$(rpc detail workers.group_thread_cnt workers.threads | xargs)" = '8192 0' ]
refused 'allowed -1, 0\.\.8192' 8193
refused 'allowed -1, 0\.\.8192' -2
[ "$(rpc detail workers.group_thread_cnt)" = 8192 ]
# load.py begins with an array of zeroes.
nbdsh -u "$uraid_uri" -c 'h.zero (h.get_size (), 0)'
load "$uraid_uri" --seed 2 verify want -e './tune group_thread_cnt 8192'
threads=$(rpc detail workers.threads)
[ "$threads" -ge 1 ] || fail 'no worker has run'
# The same value again changes nothing: the threads stay.
./tune group_thread_cnt 8192
[ "$(rpc detail workers.threads)" -eq "$threads" ]
./tune group_thread_cnt 0
[ "$(rpc detail workers.threads)" = 0 ]
stop_uraid
load images want m0 m1 m2 m3 m4 m5
if load images first m0 m1 m2 m3 m4 m5 >out 2>&1; then
    fail 'load.py finds no difference where there is one'
fi
