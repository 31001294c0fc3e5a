#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# uraid examine says what mdadm -E says, in the same words and the same order,
# for arrays of many shapes and for superblocks that were tampered with.  Only
# the line with the address differs, and what we add goes to standard error.

. "${0%/*}/functions.sh"

requires command -v mdadm

# same FILE REMARK: in both forms
same() {
    same_text "$@"
    mdadm -E --export "$1" >theirs 2>/dev/null || :
    uraid_cmd examine --export "$1" >ours 2>err || :
    cmp theirs ours || { diff theirs ours >&2 || :; fail "$1 export: $2"; }
}
same_text() {
    mdadm -E "$1" >theirs 2>/dev/null || :
    uraid_cmd examine "$1" >ours 2>err || :
    cmp theirs ours || { diff theirs ours >&2 || :; fail "$1: $2"; }
}

# shape NAME OPTION...: create, and compare all members
shape() {
    local n=$1
    shift
    make_members "$n" 5M
    uraid_cmd create "$@" >/dev/null 2>&1 </dev/null || fail "create $*"
    same m0 "$*"
    same_text "m$((n - 1))" "$*"
}

shape 4 vol0 -l6 -n4 -c64K m0 m1 m2 m3
shape 5 vol0 -l6 -n4 -x1 -c64K --assume-clean --bitmap=internal m0 m1 m2 m3 m4
shape 4 'vol0:x' -l6 -n5 -c64K --homehost=elsewhere m0 m1 missing m2 m3
shape 3 vol0 -l6 -n5 -c4K m0 missing m1 missing m2
shape 4 vol0 -l6 -n4 -c64K -e1.0 -b internal --bitmap-chunk=4M m0 m1 m2 m3
shape 4 vol0 -l6 -n4 -c64K -e1.0 --size=1M m0 m1 m2 m3
shape 4 vol0 -l6 -n4 -c64K -e1.1 --bitmap=internal m0 m1 m2 m3
shape 4 vol0 -l5 -n4 -c64K -p ra m0 m1 m2 m3
shape 3 vol0 -l5 -n2 -x1 -c512K --data-offset=1M m0 m1 m2
shape 3 vol0 -l4 -n3 -c64K --homehost='<none>' m0 m1 m2
shape 4 vol0 -l6 -n4 -c64K --layout=ddf-N-continue --name=other m0 m1 m2 m3

# Sizes in all units: the members are as large as they say, but sparse.
for size in 6M 100M 3G 130G 3T 8T; do
    rm -f m[0-9]
    make_members 4 "$size" 2>/dev/null || continue # a limit of the file system
    uraid_cmd create vol0 -l6 -n4 --assume-clean m0 m1 m2 m3 >/dev/null </dev/null
    same m0 "$size"
done

# edit FILE OFFSET-IN-SUPERBLOCK STRUCT-FORMAT VALUE [keep]: change a 1.2
# superblock and make its checksum right again
edit() {
    /usr/bin/python3 - "$@" <<'END'
import struct, sys
name, at, form, value = sys.argv[1], int (sys.argv[2]), sys.argv[3], sys.argv[4]
with open (name, "r+b") as f:
    f.seek (4096)
    b = bytearray (f.read (512))
    struct.pack_into (form, b, at, int (value, 0))
    if len (sys.argv) < 6:
        b[216:220] = bytes (4)
        t = sum (struct.unpack ("<128I", b))
        struct.pack_into ("<I", b, 216, (t & 0xffffffff) + (t >> 32) & 0xffffffff)
    f.seek (4096)
    f.write (b)
END
}

make_members 4 5M
uraid_cmd create vol0 -l6 -n4 -c64K m0 m1 m2 m3 >/dev/null </dev/null
cp m1 good
while read -r at form value what; do
    cp good m1
    edit m1 "$at" "$form" "$value"
    same_text m1 "$what"
done <<'END'
8 <I 0x2 recovering, offset 0
8 <I 0x8 bad blocks
8 <I 0x12 replacement
8 <I 0x44 reshape with new offset
8 <I 0x4 reshape
8 <I 0x200 journal
8 <I 0x400 ppl
8 <I 0x80000000 unknown bit
72 <i 5 level 5
72 <i 1 level 1
76 <I 18 left-symmetric-6
76 <I 77 unknown layout
64 <Q 0 created in 1970
192 <Q 0x0a000065000000 updated, with microseconds
184 <B 1 write-mostly
184 <B 3 write-mostly, failfast
186 <H 0 no bad-block log
188 <i 100 bad-block log elsewhere
200 <Q 0xffffffffff many events
208 <Q 4104 half resynced
208 <Q 0xffffffffffffffff clean
160 <I 3 another role
160 <I 500 a number without a role
256 <H 0xfffe faulty
258 <H 0xfffd journal device
260 <H 0 two for one slot
END
cp good m1
edit m1 200 '<Q' 7 keep
same m1 'wrong checksum'
status=0
uraid_cmd examine m1 >out 2>err || status=$?
[ "$status" -eq 1 ]
grep -q 'checksum' err
cp good m1

# ARRAY lines: one an array, spares and members with it.
make_members 6 5M
uraid_cmd create a -l6 -n4 -x1 -c64K --assume-clean m0 m1 m2 m3 m4 >/dev/null </dev/null
uraid_cmd examine --brief m0 m4 m5 >out 2>err || [ $? -eq 1 ]
grep -Eq '^ARRAY /dev/md/a  metadata=1.2 UUID=[0-9a-f:]{35} name=.*:a$' out
grep -q '^   spares=1$' out
[ "$(wc -l <out)" -eq 2 ]
grep -q 'm5: no md superblock' err
mdadm -E --brief m0 m4 >theirs
uraid_cmd examine --brief m0 m4 | cmp theirs -
mdadm -E --brief -v m0 m4 m1 >theirs
uraid_cmd examine --brief -v m0 m4 m1 | cmp theirs -
uraid_cmd -E --scan m0 m1 >scan
uraid_cmd examine --brief m0 m1 | cmp scan -

# Exit codes: 1 without a superblock, 4 what cannot be read, 64 nonsense.
expect() {
    local want=$1 status=0
    shift
    uraid_cmd examine "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ] || fail "examine $*: $status, not $want"
}
expect 0 m0 m1
expect 1 m0 m5
expect 4 m5 nothing
expect 4 m0 "nbd+unix:///?socket=$workdir/nothing.sock"
grep -q '^          Magic' out
expect 64
expect 64 --json --brief m0
expect 4 --json m0 nothing
grep -q '"error"' err
/usr/bin/python3 - out <<'END'
import json, sys
o = json.load (open (sys.argv[1]))
assert o["schema"] == "uraid/1"
m = o["members"]
assert len (m) == 2 and not m[1]["readable"]
s = m[0]["superblock"]
assert s["valid"] and s["level"] == "raid6" and s["chunk"] == 65536
assert s["role"] == 0 and s["roles"] == [0, 1, 2, 3, "spare"] or s["roles"] == [0, 1, 2, 3]
assert s["resync_offset"] is None and s["state"] == "clean"
END
