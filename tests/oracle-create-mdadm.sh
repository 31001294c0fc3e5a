#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# What uraid create writes is, byte for byte, what mdadm --create writes for the
# same input, but for times, device UUIDs and checksums: levels, layouts,
# metadata versions, bitmaps, spares, missing members, --assume-clean.  In the
# guest the kernel is kept from starting the arrays, so that it changes nothing.

. "${0%/*}/functions.sh"

requires_oracle

# NAME|mdadm's options, %N is member N.  Ours are the same with units.
cat >cases <<'END'
l6|--level=6 -n 6 --chunk=64 %0 %1 %2 %3 %4 %5
l6-spare|--level=6 -n 5 -x 1 --chunk=64 %0 %1 %2 %3 %4 %5
l6-missing|--level=6 -n 6 --chunk=64 %0 missing %2 %3 %4 %5
l6-last-missing|--level=6 -n 6 --chunk=64 %0 %1 %2 %3 %4 missing
l6-two-missing|--level=6 -n 6 --chunk=64 %0 missing missing %3 %4 %5
l6-missing-spare|--level=6 -n 6 -x 1 --chunk=64 %0 missing %1 %2 %3 %4 %5
l6-missing-clean|--level=6 -n 6 --chunk=64 --assume-clean %0 missing %2 %3 %4 %5
l6-bitmap|--level=6 -n 6 --chunk=64 --bitmap=internal %0 %1 %2 %3 %4 %5
l6-bitmap-spare|--level=6 -n 5 -x 1 --chunk=64 --bitmap=internal --assume-clean %0 %1 %2 %3 %4 %5
l6-1.0|--level=6 -n 6 --chunk=64 --metadata=1.0 %0 %1 %2 %3 %4 %5
l6-1.0-bitmap|--level=6 -n 6 --chunk=64 --metadata=1.0 --bitmap=internal --bitmap-chunk=4M %0 %1 %2 %3 %4 %5
l6-1.1-bitmap|--level=6 -n 6 --chunk=64 --metadata=1.1 --bitmap=internal %0 %1 %2 %3 %4 %5
l6-ddf|--level=6 -n 5 --chunk=64 --layout=ddf-N-continue %0 %1 %2 %3 %4
l6-size|--level=6 -n 5 --chunk=512 --size=2048 --data-offset=1024 %0 %1 %2 %3 %4
l5|--level=5 -n 6 --chunk=4 %0 %1 %2 %3 %4 %5
l5-spares|--level=5 -n 4 -x 2 --chunk=64 %0 %1 %2 %3 %4 %5
l5-missing-spare|--level=5 -n 4 -x 1 --chunk=64 %0 missing %2 %3 %4
l5-clean|--level=5 -n 4 --chunk=64 --assume-clean --layout=ra %0 %1 %2 %3
l5-two|--level=5 -n 2 --chunk=64 %0 %1
l4|--level=4 -n 4 --chunk=64 %0 %1 %2 %3
l4-clean|--level=4 -n 4 --chunk=64 --assume-clean %0 %1 %2 %3
END

mkdir share
cp cases share/
cat >make-all <<'END'
exec </dev/null
rmmod raid456
echo /bin/false >/proc/sys/kernel/modprobe
while IFS='|' read name opts <&3; do
    opts=$(echo "$opts" | sed 's,%,/dev/m,g')
    for i in 0 1 2 3 4 5; do
        dd if=/dev/zero of=/dev/m$i bs=1M count=6 2>/dev/null
    done
    mdadm --create /dev/md0 --run --quiet --homehost=h --name=n \
        --uuid=00112233:44556677:8899aabb:ccddeeff $opts >/dev/null 2>&1
    mdadm --stop /dev/md0 >/dev/null 2>&1
    for i in 0 1 2 3 4 5; do
        dd if=/dev/m$i of=/share/$name-m$i bs=1M 2>/dev/null
    done
done 3</share/cases
END
make_members 6 6M
oracle --share share m0 m1 m2 m3 m4 m5 -- make-all

cat >compare.py <<'END'
import sys

def strip (name):
    """The image without device UUID, times and checksum."""
    b = bytearray (open (name, "rb").read ())
    for s in (0, 4096, (len (b) // 512 - 16 & ~7) * 512):
        if b[s:s + 4] == b"\xfc\x4e\x2b\xa9":
            for at, n in ((64, 8), (168, 16), (192, 8), (216, 4)):
                b[s + at:s + at + n] = bytes (n)
    return b

status = 0
for name in sys.argv[2:]:
    theirs, ours = strip (sys.argv[1] + name), strip (name)
    assert len (theirs) == len (ours)
    if ours != theirs:
        status = 1
        bad = [i for i in range (len (ours)) if ours[i] != theirs[i]]
        for i in bad[:20]:
            print ("%s: byte %#x: mdadm %02x, uraid %02x"
                   % (name, i, theirs[i], ours[i]))
sys.exit (status)
END

while IFS='|' read -r name opts; do
    make_members 6 6M
    opts=$(sed -E 's/--(chunk|size|data-offset)=([0-9]+)/--\1=\2K/g; s/%/m/g' <<<"$opts")
    # shellcheck disable=SC2086 # words
    uraid_cmd create n --homehost=h --uuid=00112233:44556677:8899aabb:ccddeeff \
        $opts >/dev/null 2>err </dev/null || fail "$name: $(cat err)"
    # shellcheck disable=SC2046 # words
    set -- $(grep -o 'm[0-5]' <<<"$opts" | sort)
    /usr/bin/python3 compare.py "share/$name-" "$@" ||
        fail "$name: not what mdadm writes"
    mdadm -E "$@" >theirs
    uraid_cmd examine "$@" >ours 2>err
    diff theirs ours || fail "$name: examine"
done <cases
