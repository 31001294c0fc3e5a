#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The bytes that a newer kernel gave a meaning (field-R10): create leaves them
# zero, so that every kernel takes the array; a value that is there is shown,
# served, and kept.

. "${0%/*}/functions.sh"

make_members 4 4M
uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K --assume-clean \
    m0 m1 m2 m3 >/dev/null </dev/null
for i in 0 1 2 3; do
    [ "$(od -An -tx1 -v -j $((4096 + 12)) -N 4 m$i | tr -d ' \n')" = 00000000 ]
    [ -z "$(od -An -tx1 -v -j $((4096 + 224)) -N 32 m$i | tr -d ' 0\n')" ]
    uraid_cmd examine --json m$i >said
    grep -q '"logical_block_size": 0,' said
done

# 512 there, as Linux 6.19 writes it.
/usr/bin/python3 - m0 m1 m2 m3 <<'END'
import struct, sys
for name in sys.argv[1:]:
    with open (name, "r+b") as f:
        f.seek (4096)
        b = bytearray (f.read (512))
        struct.pack_into ("<I", b, 224, 512)
        b[216:220] = bytes (4)
        t = sum (struct.unpack ("<128I", b))
        struct.pack_into ("<I", b, 216, (t & 0xffffffff) + (t >> 32) & 0xffffffff)
        f.seek (4096)
        f.write (b)
END
for i in 0 1 2 3; do
    uraid_cmd examine m$i >out 2>err
    grep -q 'Checksum : .* correct' out
    [ ! -s err ] || fail "examine remarks: $(cat err)"
    uraid_cmd examine --json m$i >said
    grep -q '"logical_block_size": 512,' said
done

start_members 4
start_uraid
nbdsh -u "$uraid_uri" -c 'h.pwrite (b"x" * 4096, 0)' -c 'h.flush ()'
stop_uraid
stop_members
for i in 0 1 2 3; do
    [ "$(od -An -tu4 -j $((4096 + 224)) -N 4 m$i | tr -d ' ')" = 512 ]
    uraid_cmd examine m$i >out
    grep -q 'Checksum : .* correct' out
    grep -q 'State : clean' out
    if grep -q 'Events : 0$' out; then
        fail "m$i was never written"
    fi
done
