#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# uraid zero-superblock erases md superblocks wherever they are, and nothing
# else; it writes to no member unless it can write to all of them.

. "${0%/*}/functions.sh"

zero() { # STATUS ARG...
    local status=0 want=$1
    shift
    uraid_cmd zero-superblock "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ] ||
        fail "zero-superblock $*: $status, not $want: $(cat out err)"
}

for version in 1.0 1.1 1.2; do
    make_members 4 4M
    for i in 0 1 2 3; do
        head -c 4M /dev/zero | tr '\0' x >m$i
    done
    cp m0 plain
    uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K --force \
        --metadata=$version m0 m1 m2 m3 >/dev/null </dev/null
    start_members 4
    zero 0 "$(member_uri 0)" "$(member_uri 1)"
    [ "$(grep -c "erased md $version superblock at byte" out)" -eq 2 ]
    stop_members
    # 4096 zero bytes, the space of a superblock, and not one byte elsewhere.
    case $version in
    1.0) at=$(((4 * 1048576 / 512 - 16) / 8 * 8 * 512)) ;;
    1.1) at=0 ;;
    1.2) at=4096 ;;
    esac
    dd if=/dev/zero of=plain bs=4096 seek=$((at / 4096)) count=1 conv=notrunc \
        status=none
    cmp plain m0
    uraid_cmd examine m3 >out
    grep -q 'Magic : a92b4efc' out
    zero 0 m0
    grep -q 'm0: no md superblock, nothing erased' out
    cmp plain m0
done

# Several at once, a broken one, 0.90; another format stays.
make_members 1 4M
printf '\374\116\053\251\1\0\0\0' | dd of=m0 conv=notrunc status=none
printf '\374\116\053\251\1\0\0\0' | dd of=m0 bs=1 seek=4096 conv=notrunc status=none
printf '\374\116\053\251\0\0\0\0\132\0\0\0' |
    dd of=m0 bs=1 seek=$((4 * 1048576 - 65536)) conv=notrunc status=none
zero 0 --json m0
grep -q '"schema": "uraid/1"' out
[ "$(grep -c '"what": "md' out)" -eq 3 ]
[ -z "$(tr -d '\0' <m0)" ]
printf 'LABELONE' | dd of=m0 bs=1 seek=512 conv=notrunc status=none
printf 'LVM2 001' | dd of=m0 bs=1 seek=536 conv=notrunc status=none
sum=$(members_sha m0)
zero 0 m0
[ "$sum" = "$(members_sha m0)" ]

# All or nothing.
make_members 4 4M
uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K m0 m1 m2 m3 \
    >/dev/null </dev/null
start_members 3
start_member 3 -r
sums=$(members_sha)
zero 1 "$(member_uri 0)" "$(member_uri 3)"
grep -q 'm3.sock: read-only' err
grep -q 'nothing was written' err
zero 4 "$(member_uri 0)" "nbd+unix:///?socket=$workdir/nothing.sock"
zero 64
[ "$sums" = "$(members_sha)" ]
