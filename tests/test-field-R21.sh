#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Members of different sizes (field-R21), the part of create: the smallest one
# counts, what is wasted is said, and how much smaller a replacement may be.
# There is no hidden reserve, because sizes are chosen exactly as mdadm does;
# --size= makes one.

. "${0%/*}/functions.sh"

make_members 6 64M
truncate -s 65M m4
truncate -s 80M m5
list=(m0 m1 m2 m3 m4 m5)
new=(--level=6 --raid-devices=6 --chunk=64K --force)

uraid_cmd create v "${new[@]}" "${list[@]}" >out 2>err </dev/null
grep -q 'Used Dev Size : 129024 sectors' out
grep -q "note: m4: 1048576 bytes are not used" err
grep -q "note: m5: 16777216 bytes are not used" err
if grep -q 'note: m[0-3]: .* not used' err; then
    fail "a full member is said to be wasted: $(cat err)"
fi
grep -q 'Reserve : 0 bytes' out

# 344 sectors smaller than the others, as in the report: it decides the size.
truncate -s $((64 * 1048576 - 344 * 512)) m3
uraid_cmd create v "${new[@]}" "${list[@]}" >out 2>err </dev/null
grep -q 'Used Dev Size : 128640 sectors' out

# With a reserve such a replacement fits.
truncate -s 64M m3
uraid_cmd create v "${new[@]}" --size=62M "${list[@]}" >out 2>err </dev/null
grep -q "Reserve : 1048576 bytes a replacement may be smaller" out
uraid_cmd create --json v "${new[@]}" --size=62M "${list[@]}" 2>err </dev/null >said
grep -q '"reserve": 1048576' said

# Too small: found, needed and missing bytes.
truncate -s 60M m2
sums=$(members_sha)
status=0
uraid_cmd create v "${new[@]}" --size=62M "${list[@]}" >out 2>err </dev/null ||
    status=$?
[ "$status" -eq 1 ]
grep -q 'm2: member 2 is too small: found 122880 sectors, needed' err
grep -Eq 'missing [0-9]+ bytes' err
[ "$sums" = "$(members_sha)" ]
