#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Parameters of the plugin: each bad value of each is refused with one message
# that names the key, the value and what is allowed; limits are accepted; both
# spellings of a key are; parameters that contradict each other are refused.

. "${0%/*}/functions.sh"

# KEY VALUE REGEX: what is allowed must match REGEX.  "''" is an empty value.
bad_values() {
    cat <<'END'
member               ''             NBD URI
members              ''             NBD URI
members              a,             empty word.*NBD URI
members              ,a             empty word.*NBD URI
members              a,,b           empty word.*NBD URI
spare                ''             NBD URI
spare                missing        NBD URI
uuid                 ''             32 hexadecimal digits
uuid                 966bb13c       32 hexadecimal digits
uuid                 966bb13c:beb91e87:9de6e9be:a604fcag  32 hexadecimal digits
uuid                 966bb13c:beb91e87:9de6e9be:a604fcaf0 32 hexadecimal digits
name                 ''             1 to 32 characters
name                 123456789012345678901234567890123    1 to 32 characters
level                ''             4, 5, 6, raid4
level                0              4, 5, 6, raid4
level                3              4, 5, 6, raid4
level                7              4, 5, 6, raid4
level                10             4, 5, 6, raid4
level                raid           4, 5, 6, raid4
level                raid10         4, 5, 6, raid4
level                RAID6          4, 5, 6, raid4
raid-devices         ''             2 to 253
raid-devices         -1             2 to 253
raid-devices         0              2 to 253
raid-devices         1              2 to 253
raid-devices         254            2 to 253
raid-devices         4294967300     2 to 253
raid-devices         six            2 to 253
chunk_size           ''             a power of two from 4K to 1G
chunk_size           0              a power of two from 4K to 1G
chunk_size           -64K           a power of two from 4K to 1G
chunk_size           2K             a power of two from 4K to 1G
chunk_size           96K            a power of two from 4K to 1G
chunk_size           2G             a power of two from 4K to 1G
chunk_size           64KiB          a power of two from 4K to 1G
chunk_size           16E            a power of two from 4K to 1G
layout               ''             left-symmetric
layout               near=2         left-symmetric
layout               99             left-symmetric
layout               Left-Symmetric left-symmetric
start-degraded       ''             yes or no
start-degraded       maybe          yes or no
start-dirty-degraded 2              yes or no
start-ro             ro             yes or no
wait-members         ''             0 to 1h
wait-members         -1             0 to 1h
wait-members         61m            0 to 1h
wait-members         1w             0 to 1h
wait-members         forever        0 to 1h
open-timeout         ''             0 to 1d
open-timeout         86401          0 to 1d
open-timeout         30sec          0 to 1d
open-timeout         1e3            0 to 1d
open-timeout         99999999999999999999    0 to 1d
request-timeout      ''             0, or a time from 1s to 1h
request-timeout      0.999          0, or a time from 1s to 1h
request-timeout      3601s          0, or a time from 1s to 1h
request-timeout      off            0, or a time from 1s to 1h
connections          ''             1 to 16
connections          0              1 to 16
connections          17             1 to 16
connections          auto           1 to 16
tls                  ''             off, on or require
tls                  maybe          off, on or require
tls-certificates     ''             a directory that exists
tls-certificates     no-such-dir    No such file.*a directory that exists
tls-verify           ''             yes or no
tls-verify           peer           yes or no
tls-username         ''             a user name
tls-psk              ''             a file that exists
tls-psk              no-such-file   No such file.*a file that exists
queue-depth          ''             1 to 1024
queue-depth          0              1 to 1024
queue-depth          1025           1 to 1024
queue-depth          deep           1 to 1024
safe_mode_delay      ''             0 to 60s
safe_mode_delay      60.001         0 to 60s
safe_mode_delay      0.0001         0 to 60s
safe_mode_delay      .2             0 to 60s
safe_mode_delay      -0.2           0 to 60s
bitmap_time_base     ''             1s to 1h
bitmap_time_base     0              1s to 1h
bitmap_time_base     3601           1s to 1h
sync_window          ''             1 to 64
sync_window          0              1 to 64
sync_window          65             1 to 64
trim                 ''             auto, off or zero
trim                 on             auto, off or zero
control              ''             the path of a socket, or none
profile              ''             auto, stock, tree
profile              Stock          auto, stock, tree
stripe_cache_size    ''             \(allowed 17\.\.262144\)
stripe_cache_size    -1             \(allowed 17\.\.262144\)
stripe_cache_size    0              \(allowed 17\.\.262144\)
stripe_cache_size    16             \(allowed 17\.\.262144\)
stripe_cache_size    262145         \(allowed 17\.\.262144\)
stripe_cache_size    4K             \(allowed 17\.\.262144\)
stripe_cache_size_default 16        \(allowed 0, 17\.\.262144\)
stripe_cache_size_max 32767         \(allowed 0, 32768\.\.262144\)
stripe_cache_size_max 262145        \(allowed 0, 32768\.\.262144\)
group_thread_cnt     -2             \(allowed -1, 0\.\.8192\)
group_thread_cnt     8193           \(allowed -1, 0\.\.8192\)
group_thread_cnt     many           \(allowed -1, 0\.\.8192\)
group_thread_cnt_default ''         \(allowed -1, 0\.\.256\)
group_thread_cnt_default many       \(allowed -1, 0\.\.256\)
max_stripe_batch     0              \(allowed 1\.\.256\)
max_stripe_batch     257            \(allowed 1\.\.256\)
preread_bypass_threshold -1         \(allowed 0\.\.stripe_cache_size\)
nr_stripe_hash_locks 7              \(allowed 0, 8, 16, 32\)
nr_stripe_hash_locks 12             \(allowed 0, 8, 16, 32\)
nr_stripe_hash_locks 64             \(allowed 0, 8, 16, 32\)
rmw_level            ''             \(allowed 0, 1, 2\)
rmw_level            3              \(allowed 0, 1, 2\)
rmw_level            -1             \(allowed 0, 1, 2\)
skip_copy            ''             \(allowed 0, 1\)
skip_copy            2              \(allowed 0, 1\)
END
}

# check_message KEY VALUE REGEX: is it in refused.log, in one line?  Tunables
# are named as when they are set while serving.
check_message() {
    local key=$1 value=$2 regex=$3
    grep -qF -e "$key=$value: " -e "$key: $value: Invalid argument" refused.log ||
        fail "the message does not name $key=$value: $(cat refused.log)"
    grep -qE -- "$regex" refused.log ||
        fail "$key=$value: \"$regex\" is not in: $(cat refused.log)"
    [ "$(grep -c error: refused.log)" -eq 1 ] ||
        fail "$key=$value: more than one message: $(cat refused.log)"
}

dump() {
    # shellcheck disable=SC2154 # from functions.sh
    LD_PRELOAD=$sanitizer_preload ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
        "$NBDKIT" "$PLUGIN" "$@" --dump-plugin
}

bad_values | while read -r key value regex; do
    [ "$value" != "''" ] || value=''
    uraid_refuses . "$key=$value"
    check_message "$key" "$value" "$regex"
done

# Nothing was forgotten above.
dump >dump.txt
sed -n 's/^uraid_param_\([^=]*\)=.*/\1/p' dump.txt >keys
[ "$(wc -l <keys)" -ge 36 ]
while read -r key; do
    bad_values | grep -q "^$key " || fail "no bad value of $key is tested"
done <keys

# The limits and all forms.
mkdir pki
touch psk
while read -r arg; do
    dump "$arg" >/dev/null || fail "$arg is refused"
done <<'END'
members=nbd://h/a%2Cb,missing,./d2
uuid=966bb13c:beb91e87:9de6e9be:a604fcaf
uuid=966BB13C-beb9-1e87-9de6-e9bea604fcaf
uuid=966bb13cbeb91e879de6e9bea604fcaf
name=vm:vol0
name=12345678901234567890123456789012
level=4
level=raid6
raid-devices=2
raid-devices=253
chunk_size=4096
chunk_size=64k
chunk_size=1G
chunk_size=128s
layout=left-symmetric
layout=ls
layout=2
layout=ddf-N-restart
layout=left-symmetric-6
layout=parity-first
start-degraded=off
start-dirty-degraded=TRUE
start-ro=1
wait-members=0
wait-members=1h
open-timeout=1d
open-timeout=0.5
request-timeout=0
request-timeout=1
request-timeout=60m
connections=1
connections=16
tls=require
tls=on
tls-certificates=pki
tls-psk=psk
tls-verify=no
tls-username=alice
stripe_cache_size=auto
stripe_cache_size=17
queue-depth=1
queue-depth=1024
stripe_cache_size=262144
stripe_cache_size_max=0
stripe_cache_size_max=262144
group_thread_cnt=-1
group_thread_cnt=8192
default_group_thread_cnt=-5
default-group-thread-cnt=0
nr_stripe_hash_locks=0
nr_stripe_hash_locks=auto
nr_stripe_hash_locks=32
rmw_level=0
rmw_level=2
skip_copy=0
safe_mode_delay=0
safe_mode_delay=60
safe_mode_delay=0.123
bitmap_time_base=1
bitmap_time_base=1h
bitmap_time_base=auto
sync_window=1
sync_window=64
trim=zero
trim=off
END

# A dash for an underscore and the other way round; the last one counts.
dump stripe-cache-size=1000 | grep -qx uraid_value_stripe_cache_size=1000
dump stripe-cache_size=99 raid_devices=6 stripe_cache_size=1001 |
    grep -qx uraid_value_stripe_cache_size=1001

# Tunables that are not for the command line, and those of md that are none.
uraid_refuses 'stripe_size: is read-only' stripe_size=4096
uraid_refuses 'write_stats: can only be written while' write_stats=0
uraid_refuses 'unknown parameter "sync_thread_cnt"' sync_thread_cnt=2
uraid_refuses 'unknown parameter "nr_hash_locks"; the nearest is' nr_hash_locks=8

# Unknown keys: the nearest one is named.
uraid_refuses 'unknown parameter "memebr"; the nearest is "member"' memebr=/d0
uraid_refuses 'unknown parameter "chunk"; .*lists all' chunk=64K
uraid_refuses '"stripe_cache"; the nearest is "stripe_cache_size"' \
    stripe_cache=1000
uraid_refuses '"start_degradet"; the nearest is "start-degraded"' \
    start_degradet=yes

# All together.
refused() {
    local regex=$1
    shift
    uraid_refuses "error: .*$regex" wait-members=0 "$@"
    [ "$(grep -c error: refused.log)" -eq 1 ] ||
        fail "more than one message: $(cat refused.log)"
}
refused 'no members given; give each as member=URI'
refused 'all members given are "missing"' members=missing,missing
# shellcheck disable=SC2154 # from functions.sh
refused "$workdir/d0 is given twice" members=./d0,d1,"$workdir/d0"
refused 'nbd://h/x is given twice' member=nbd://h/x spare=nbd://h/x
refused 'contradict' start-dirty-degraded=yes start-degraded=no member=d0
refused 'layout=ddf-N-restart with level=5' level=5 layout=ddf-N-restart \
    member=d0
refused 'raid-devices=3 with level=6: a RAID-6 has 4' level=6 raid-devices=3 \
    member=d0
refused 'preread_bypass_threshold: 1001: Invalid argument .allowed 0..1000' \
    preread_bypass_threshold=1001 stripe_cache_size=1000 member=d0
refused 'two spellings' group_thread_cnt_default=1 default_group_thread_cnt=1 \
    member=d0
refused 'tls=off and tls-psk= contradict' tls=off tls-psk=psk member=d0
refused 'tls-certificates= and tls-psk=' tls-certificates=pki tls-psk=psk \
    member=d0
# Addresses, before any member is waited for.
refused 'member: .*http://h/' members=http://h/,d0
refused 'spare: .*nbd\+unix:///.*socket' spare=nbd+unix:/// member=d0
refused 'member: .*knows no passwords' member=nbd://u:secret@h/
if grep -q secret refused.log; then
    fail 'a password is shown'
fi
