#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Create is no repair tool (field-R14): five blank members and one with a
# superblock, a file system, a partition table or an encrypted volume: refused,
# all of it named, nothing written, and the advice is to examine.  Knowing the
# UUID of the old array changes nothing.

. "${0%/*}/functions.sh"

requires mkfs.ext4 -V

make_members 6 4M
uraid_cmd create old --level=6 --raid-devices=6 --chunk=64K \
    m0 m1 m2 m3 m4 m5 >/dev/null </dev/null
uuid=$(uraid_cmd examine --export m5 | sed -n 's/^MD_UUID=//p')
cp m5 keep

for kind in uraid ext4 gpt luks; do
    make_members 6 4M
    case $kind in
    uraid) cp keep m5; word="md 1.2 superblock of array $uuid" ;;
    ext4) mkfs.ext4 -q -F m5; word='ext[234] file system' ;;
    gpt)
        printf 'EFI PART' | dd of=m5 bs=1 seek=512 conv=notrunc status=none
        word=GPT
        ;;
    luks)
        printf 'LUKS\272\276\0\2' | dd of=m5 conv=notrunc status=none
        word=LUKS
        ;;
    esac
    start_members 6
    mapfile -t uris < <(all_member_uris)
    sums=$(members_sha)
    for option in --assume-clean "--uuid=$uuid" \
        --uuid=00112233:44556677:8899aabb:ccddeeff --run; do
        status=0
        uraid_cmd create new --level=6 --raid-devices=6 --chunk=64K "$option" \
            "${uris[@]}" >out 2>err </dev/null || status=$?
        [ "$status" -eq 3 ]
        [ ! -s out ]
        grep -q "m5.sock: holds.*$word" err
        grep -q 'examine' err
        [ "$(grep -c holds err)" -eq 1 ]
        [ "$sums" = "$(members_sha)" ]
    done
    stop_members
done
