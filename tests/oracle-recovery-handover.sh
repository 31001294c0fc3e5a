#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# A recovery that the kernel has begun is finished by uraid from where it was
# stopped, and the other way round.  That nothing is done twice is seen from
# what is written to the new member (field report R61); that it was done right,
# from the data and from the kernel's check.

. "${0%/*}/functions.sh"
. "${0%/*}/oracle-functions.sh"

requires_filter stats
requires_filter rate

images=5
size=$((24 * 1048576))
half=16384 # sectors
new=1      # the member that is recovered

# recovery_offset IMAGE: in sectors, from its superblock
recovery_offset() {
    mdadm -E "$1" | sed -n 's/^Recovery Offset : \([0-9]*\) sectors/\1/p' |
        grep . || fail "$1 is not half recovered"
}

# used_sectors IMAGE: how much of it belongs to the array
used_sectors() {
    mdadm -E "$1" | sed -n 's/^ *Array Size : \([0-9]*\) KiB.*/\1/p' |
        awk '{ print $1 * 2 / 3 }'
}

# about WHAT VALUE WANTED: within 5 %, and 1 MiB for superblocks and such
about() {
    if [ "$2" -lt "$3" ] || [ "$2" -gt $(($3 + $3 / 20 + 2048)) ]; then
        fail "$1: $2 sectors, not about $3"
    fi
}

# ------------------------------------------------- from the kernel to uraid

make_members $images $size
head -c $((size * 3)) /dev/urandom >share/md0.ref
cat >begin <<'END'
. /share/guest.sh
name=md0
mdadm --create /dev/md0 --run --quiet --level=6 --raid-devices=5 --chunk=64 \
    --bitmap=none /dev/m0 missing /dev/m2 /dev/m3 /dev/m4
size=$(blockdev --getsize64 /dev/md0)
dd if=/share/md0.ref of=/dev/md0 bs=64K count=$((size / 65536)) 2>/dev/null
echo $1 >/sys/block/md0/md/sync_max
mdadm --quiet /dev/md0 --add /dev/m1
until_is sync_completed "$1 / $((size / 3 / 512))"
mdadm --stop --quiet /dev/md0
echo $size
END
truncate -s "$(guest begin $half)" share/md0.ref
from=$(recovery_offset m$new)
[ "$from" -eq $half ]
all=$(used_sectors m$new)

start_members $images --filter=stats statsfile=m%i.stats
start_uraid
same_as share/md0.ref
scribble share/md0.ref kernel-first 20
whole m*[0-9]
same_as share/md0.ref
stop_uraid
stop_members
# What clients have written goes to it as well, so this is not exact.
written=$(awk '/^write:/ { for (i = 2; i <= NF; i++) if ($i == "bytes,") print $(i - 1) }' m$new.stats)
cat m$new.stats
