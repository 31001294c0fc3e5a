#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# A superblock counts only at the place that it names (field-R12).  Copies at
# other places, 0.90 and foreign formats are told of and never taken for a
# member, nor for a blank one; a member that has grown still counts.

. "${0%/*}/functions.sh"

make_members 6 4M
uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K --assume-clean \
    m0 m1 m2 m3 >/dev/null </dev/null

copy_to() { # IMAGE OFFSET: m0's superblock
    dd if=m0 of="$1" bs=512 skip=8 seek=$(($2 / 512)) count=8 conv=notrunc \
        status=none
}

end=$((4 * 1048576 / 512 - 16))
for offset in 0 $((end / 8 * 8 * 512)); do
    truncate -s 0 m4
    truncate -s 4M m4
    copy_to m4 "$offset"
    sum=$(members_sha m4)
    status=0
    uraid_cmd examine m4 >out 2>err || status=$?
    [ "$status" -eq 1 ]
    [ ! -s out ]
    grep -q 'belongs to another place' err
    grep -q 'found, not supported' err
    uraid_cmd examine --json m4 2>/dev/null >said || :
    grep -q 'found, not supported' said
    uraid_cmd query m4 >said
    grep -q 'md 1' said
    status=0
    uraid_cmd create new --level=6 --raid-devices=4 --chunk=64K m4 m5 missing \
        missing >out 2>err </dev/null || status=$?
    [ "$status" -eq 3 ]
    grep -q 'm4: holds an md 1.[01] superblock (copied' err
    [ "$sum" = "$(members_sha m4)" ]
done

# A copy on a good member is only remarked.
copy_to m1 0
uraid_cmd examine m1 >out 2>err
grep -q 'Version : 1.2' out
grep -q 'belongs to byte 4096: found, not supported' err

# 0.90: magic and major version 0, 64 KiB aligned near the end.
truncate -s 0 m4
truncate -s 4M m4
printf '\374\116\053\251\0\0\0\0\132\0\0\0' |
    dd of=m4 bs=1 seek=$((4 * 1048576 - 65536)) conv=notrunc status=none
status=0
uraid_cmd examine m4 >out 2>err || status=$?
[ "$status" -eq 1 ]
grep -q 'found, not supported: md 0.90' err

# Levels of another md are named (S46), and never overwritten unasked.
for level in 70 71; do
    cp m0 m4
    /usr/bin/python3 - m4 $level <<'END'
import struct, sys
with open (sys.argv[1], "r+b") as f:
    f.seek (4096)
    b = bytearray (f.read (512))
    struct.pack_into ("<I", b, 72, int (sys.argv[2]))
    b[216:220] = bytes (4)
    t = sum (struct.unpack ("<128I", b))
    struct.pack_into ("<I", b, 216, (t & 0xffffffff) + (t >> 32) & 0xffffffff)
    f.seek (4096)
    f.write (b)
END
    uraid_cmd examine m4 >out 2>err
    grep -q "Raid Level : raidkm (level $level)" out
    grep -q 'not served' err
    status=0
    uraid_cmd create new --level=6 --raid-devices=4 --chunk=64K m4 m5 missing \
        missing >out 2>err </dev/null || status=$?
    [ "$status" -eq 3 ]
    grep -q "level raidkm (level $level)" err
done

# A member that became larger: 1.2 does not care.
truncate -s 5M m2
uraid_cmd examine m2 >said
grep -q 'Active device 2' said
uraid_cmd zero-superblock m1 >out
grep -q 'erased md 1.1 superblock at byte 0' out
grep -q 'erased md 1.2 superblock at byte 4096' out

# Served: the grown member is one, a copy at the wrong place is none.
truncate -s 0 m4
truncate -s 4M m4
copy_to m4 0
start_members 5
sums=$(members_sha)
uraid_refuses 'm4\.sock.*(belongs to another place|no md superblock .found: md 1)' \
    "$(member_uri 0)" "$(member_uri 2)" "$(member_uri 3)" "$(member_uri 4)"
[ "$sums" = "$(members_sha)" ]
start_uraid "$(member_uri 0)" "$(member_uri 2)" "$(member_uri 3)"
nbdsh -u "$uraid_uri" -c 'h.pwrite (b"x" * 4096, 0)'
stop_uraid
