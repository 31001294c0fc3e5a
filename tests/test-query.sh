#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# uraid query answers in one line what a member is, whatever it is.

. "${0%/*}/functions.sh"

requires mkfs.ext4 -V

query() { # STATUS REGEX KIND MEMBER
    local status=0
    uraid_cmd query "$4" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$1" ] || fail "query $4: $status, not $1: $(cat out err)"
    [ "$1" -ne 0 ] || [ "$(wc -l <out)" -eq 1 ]
    cat out err >both
    grep -Eq -- "$2" both || fail "query $4: no \"$2\" in $(cat both)"
    [ -z "$3" ] || {
        uraid_cmd -Q --json "$4" >json </dev/null
        grep -q "\"kind\": \"$3\"" json || fail "query $4: $(cat json)"
    }
}

make_members 6 4M
uraid_cmd create vol0 --level=6 --raid-devices=4 --spare-devices=1 --chunk=64K \
    --assume-clean --homehost=h m0 m1 m2 m3 m4 >/dev/null </dev/null
query 0 '^m2: 4194.30KB: device 2 in 4 device raid6 array "h:vol0"' member m2
query 0 'spare in 4 device raid6 array' member m4
query 0 'nothing known' blank m5
mkfs.ext4 -q -F m5
query 0 'ext. file system, not an md member' foreign m5
printf x | dd of=m2 bs=1 seek=4200 conv=notrunc status=none
query 0 'broken superblock 1.2' broken-member m2
dd if=m0 of=m3 bs=4096 skip=1 count=1 conv=notrunc status=none
dd if=/dev/zero of=m3 bs=4096 seek=1 count=1 conv=notrunc status=none
query 0 'md 1.1 superblock' misplaced-member m3

start_member 0
query 0 'device 0 in 4' member "$(member_uri 0)"
query 4 'nothing.sock' '' "nbd+unix:///?socket=$workdir/nothing.sock"
query 4 'No such file' '' "$workdir/nothing"
query 4 'ftp:' '' ftp://example.org/x
for args in '' 'm0 m1'; do
    status=0
    # shellcheck disable=SC2086 # words
    uraid_cmd query $args 2>err || status=$?
    [ "$status" -eq 64 ]
done
