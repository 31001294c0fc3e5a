#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The identity of an array is its UUID (field-R13): the home host in the name is
# shown, never enforced; it can be chosen and left out when an array is created.

. "${0%/*}/functions.sh"

make_members 4 4M
new=(--level=6 --raid-devices=4 --chunk=64K --force m0 m1 m2 m3)
name_of() {
    uraid_cmd examine "$1" | sed -n 's/^ *Name : //p'
}

host=$(uname -n)
uraid_cmd create arr "${new[@]}" >/dev/null </dev/null
[ "$(name_of m0)" = "$host:arr  (local to host $host)" ] || [ ${#host} -gt 26 ]

uraid_cmd create arr --homehost=oldhost "${new[@]}" >/dev/null </dev/null
[ "$(name_of m3)" = oldhost:arr ]
uraid_cmd examine --json m0 >said
grep -q '"homehost": "oldhost"' said
uraid_cmd examine --brief m0 >said
grep -q '^ARRAY /dev/md/arr .* name=oldhost:arr$' said
uraid_cmd examine --export m0 >said
grep -qx 'MD_NAME=oldhost:arr' said

for none in '<none>' '' '<NONE>'; do
    uraid_cmd create arr --homehost="$none" "${new[@]}" >/dev/null </dev/null
    [ "$(name_of m0)" = arr ]
    uraid_cmd examine --json m0 >said
    grep -q '"homehost": null' said
done

# A name with a host of its own, and one that is too long for a host.
uraid_cmd create other:arr --homehost=x "${new[@]}" >/dev/null </dev/null
[ "$(name_of m0)" = other:arr ]
long=1234567890123456789012345678
uraid_cmd create $long --homehost=abc "${new[@]}" >/dev/null </dev/null
[ "$(name_of m0)" = $long ]
uraid_cmd create ${long%8} --homehost=abc "${new[@]}" >/dev/null </dev/null
[ "$(name_of m0)" = abc:${long%8} ]

# The UUID that was asked for, in any spelling.
for uuid in 00112233:44556677:8899aabb:ccddeeff 00112233445566778899aabbccddeeff \
    00112233-4455-6677-8899-AABBCCDDEEFF; do
    uraid_cmd create arr --uuid=$uuid "${new[@]}" >/dev/null </dev/null
    uraid_cmd examine --export m1 >said
    grep -qx 'MD_UUID=00112233:44556677:8899aabb:ccddeeff' said
done
