#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Resync after an unclean end, either way round.  What the kernel left dirty is
# put right by uraid, with a bitmap only where its bits are set; what uraid
# left dirty is put right by the kernel, with all acknowledged data there.  The
# bitmap is at all times one that the kernel takes.  To see that resync works,
# parity is damaged where it is owed.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

requires_filter log

images=5
size=$((12 * 1048576))

# damage IMAGE FROM SECTORS: junk in its data area
damage() {
    dd if=/dev/urandom of="$1" bs=512 count="$3" conv=notrunc status=none \
        seek=$(($(field 'Data Offset' "$1") + $2))
}

# bitmap_word IMAGE events|dirty: of the bitmap in a file with 1.2 metadata
bitmap_word() {
    /usr/bin/python3 - "$@" <<'END'
import struct, sys

with open (sys.argv[1], "rb") as f:
    f.seek (4096)
    sb = f.read (256)
    offset, = struct.unpack_from ("<i", sb, 96)
    f.seek (4096 + offset * 512)
    bm = f.read (256)
    magic, version, events = struct.unpack_from ("<II16xQ", bm)
    size, _, chunk = struct.unpack_from ("<QII", bm, 40)
    assert (magic, version, bm[8:24]) == (0x6d746962, 4, sb[16:32])
    n = -(-size * 512 // chunk)
    bits = f.read ((n + 7) // 8)
dirty = sum (bits[i // 8] >> i % 8 & 1 for i in range (n))
print (events if sys.argv[2] == "events" else dirty)
END
}
dirty_bits() { bitmap_word "$1" dirty; }
bitmap_events() { bitmap_word "$1" events; }

cat >make-dirty <<'END'
. /share/guest.sh
name=md0
mdadm --create /dev/md0 --run --quiet --level=6 --raid-devices=5 --chunk=64 \
    --assume-clean $1 $(members 5)
size=$(blockdev --getsize64 /dev/md0)
dd if=/share/md0.ref of=/dev/md0 bs=64K count=$((size / 65536)) 2>/dev/null
mdadm --stop --quiet /dev/md0
mdadm --assemble --quiet /dev/md0 $(members 5)
# Bits of what was written before were cleared.
if [ -n "$2" ]; then
    tries=0
    until mdadm -X /dev/m0 | grep -q ' 0 dirty'; do
        tries=$((tries + 1))
        [ $tries -lt 60 ]
        sleep 1
    done
fi
echo 0 >/sys/block/md0/md/safe_mode_delay
# Stripes 0 and 20: members' chunks 0 and 20.
dd if=/share/new of=/dev/md0 bs=64K count=3 oflag=direct 2>/dev/null
dd if=/share/new of=/dev/md0 bs=64K count=3 seek=60 oflag=direct 2>/dev/null
echo $size
usleep 100000
power-cut
END
cat >verify <<'END'
. /share/guest.sh
name=md0
mdadm --assemble /dev/md0 $(members 5)
until_whole
set -- $(cat /sys/block/ubda/stat)
echo "read: $3"
check md0
copy_out now
mdadm --stop --quiet /dev/md0
END

# ------------------------------------------- the kernel's is resynced by uraid

for bitmap in none internal; do
    make_members $images $size
    head -c $((size * 3)) /dev/urandom >share/md0.ref
    head -c 196608 /dev/urandom >share/new
    if [ $bitmap = none ]; then
        guest make-dirty --bitmap=none '' >array.size
    else
        guest make-dirty "--bitmap=internal --bitmap-chunk=64K" bitmap \
            >array.size
    fi
    truncate -s "$(cat array.size)" share/md0.ref
    dd if=share/new of=share/md0.ref bs=64K conv=notrunc status=none
    dd if=share/new of=share/md0.ref bs=64K seek=60 conv=notrunc status=none
    mdadm -E m0 | grep -q 'State : active'
    if [ $bitmap = internal ]; then
        [ "$(dirty_bits m0)" -eq 2 ]
    fi
    # In stripe 0, P is on member 4 and Q on member 0; so in stripe 20.
    damage m4 8 64
    damage m0 $((20 * 128)) 128
    if [ $bitmap = none ]; then
        # Stripe 31: P on 3, Q on 4.
        damage m4 $((31 * 128 + 8)) 24
    fi

    member_uris=()
    start_members $images --filter=log logfile="$bitmap-m%i.requests"
    start_uraid
    same_as share/md0.ref
    whole m[0-4]
    stop_uraid
    stop_members
    all=$(field 'Avail Dev Size' m0)
    for i in 0 1 2 3 4; do
        # What same_as has read is at most 3/5 of all, and some more.
        requested Read $bitmap-m$i.requests
    done | awk '{ s += $1 } END { print s }' >sum
    if [ $bitmap = none ]; then
        at_least 'read' "$(cat sum)" $((5 * all))
    else
        at_most 'read' "$(cat sum)" $((3 * all + 5 * 2 * 128 + 4096))
        [ "$(dirty_bits m0)" -eq 0 ]
        [ "$(bitmap_events m0)" -eq "$(field Events m0)" ]
    fi
    guest verify >verified
    quiet_start klog
    no_mismatches verified 1
    outs_are_right 1
done

# ------------------------------------------- uraid's is resynced by the kernel

# crash REF UNKNOWN PID: write until 60 writes were answered, then kill PID;
# REF gets what was acknowledged, UNKNOWN names what was under way.  The first
# write is to stripe 0.
crash() {
    /usr/bin/python3 - "$uraid_uri" "$@" <<'END'
import nbd, os, random, signal, sys

uri, ref, unknown, pid = sys.argv[1:]
r = random.Random (ref)
h = nbd.NBD ()
h.connect_uri (uri)
size = h.get_size ()
f = os.open (ref, os.O_RDWR)
busy = {}
done = 0
data = r.randbytes (65536)
h.pwrite (data, 0)
os.pwrite (f, data, 0)

def start ():
    n = r.randrange (1, 400) * 512
    at = r.randrange (65536 * 3, size // 4 - n)
    if any (at < o + len (d) and o < at + n for o, d in busy.values ()):
        return
    data = r.randbytes (n)
    busy[h.aio_pwrite (data, at)] = (at, data)

while done < 60:
    while len (busy) < 16:
        start ()
    h.poll (-1)
    for c in [c for c in busy if h.aio_command_completed (c)]:
        at, data = busy.pop (c)
        os.pwrite (f, data, at)
        done += 1
for i in range (16):
    start ()
os.kill (int (pid), signal.SIGKILL)
with open (unknown, "w") as u:
    for at, data in busy.values ():
        print (at, len (data), file=u)
END
}

# same_but UNKNOWN A B: equal, where UNKNOWN says nothing
same_but() {
    /usr/bin/python3 - "$@" <<'END'
import sys

a = bytearray (open (sys.argv[2], "rb").read ())
b = bytearray (open (sys.argv[3], "rb").read ())
for line in open (sys.argv[1]):
    at, n = map (int, line.split ())
    a[at:at + n] = b[at:at + n] = bytes (n)
if a != b:
    bad = [i for i in range (0, len (a), 512) if a[i:i + 512] != b[i:i + 512]]
    sys.exit ("%d sectors differ, the first at byte %d" % (len (bad), bad[0]))
END
}

for bitmap in none internal; do
    member_uris=()
    make_members $images $size
    mapfile -t members < <(paths 0 $images)
    options=(--bitmap=none)
    [ $bitmap = none ] || options=(--bitmap=internal --bitmap-chunk=64K)
    uraid_cmd create v --level=6 --raid-devices=5 --chunk=64K --assume-clean \
        "${options[@]}" "${members[@]}" >/dev/null
    start_uraid "${members[@]}"
    head -c $((size * 3)) /dev/urandom >acked
    truncate -s "$(nbdinfo --size "$uraid_uri")" acked
    nbdcopy acked "$uraid_uri"
    # A clean stop leaves no bit, and the kernel needs no resync.
    stop_uraid
    if [ $bitmap = internal ]; then
        for i in 0 1 2 3 4; do
            [ "$(dirty_bits m$i)" -eq 0 ] || fail "bits are set on m$i"
            [ "$(bitmap_events m$i)" -eq "$(field Events m$i)" ]
        done
    fi

    start_uraid "${members[@]}"
    disown "$uraid_pid" # no remark when it is killed
    crash acked unknown "$uraid_pid"
    # Its own members end with it.
    wait_for "! is_running $uraid_pid"
    mdadm -E m0 | grep -q 'State : active'
    if [ $bitmap = internal ]; then
        at_least 'bits' "$(dirty_bits m0)" 1
        at_most 'bits' "$(dirty_bits m0)" $((size / 65536 / 2))
        for i in 0 1 2 3 4; do
            at_least 'events of the bitmap' "$(bitmap_events m$i)" \
                "$(field Events m$i)"
        done
    fi
    damage m4 0 128 # P of stripe 0
    damage m0 0 128 # Q
    rm -f share/md0.ref
    guest verify >verified
    grep -q 'not clean -- starting background reconstruction' klog
    no_mismatches verified 1
    same_but unknown acked share/md0.out-now
    rm share/md0.out-now
    all=$(field 'Avail Dev Size' m0)
    if [ $bitmap = none ]; then
        at_least 'read from m0' "$(sed -n 's/^read: //p' verified)" "$all"
    else
        at_most 'read from m0' "$(sed -n 's/^read: //p' verified)" \
            $((all * 2 / 3))
    fi
done
