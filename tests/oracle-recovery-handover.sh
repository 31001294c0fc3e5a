#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# A recovery that the kernel has begun is finished by uraid from where it was
# stopped, and the other way round.  That nothing is done twice is seen from
# what is written to the new member (field report R61); that it was done right,
# from the data and from the kernel's check.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

requires_filter log
requires_filter rate

images=5
new=1 # the member that is recovered
size=$((12 * 1048576))
half=$((size / 1024)) # sectors

cat >verify <<'END'
. /share/guest.sh
name=md0
echo 1 >/sys/module/md_mod/parameters/start_ro
mdadm --assemble /dev/md0 $(members 5)
copy_out before
if [ -n "$1" ]; then
    # Nothing was recovered yet.
    read from </sys/block/md0/md/dev-ubdb/recovery_start
    [ $from = $1 ]
    is degraded 1
fi
mdadm --readwrite /dev/md0
until_whole
read _ _ _ _ _ _ written _ </sys/block/ubdb/stat
echo "written: $written"
check md0
copy_out after
mdadm --stop --quiet /dev/md0
END

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
sync
# This far and no farther.
echo $1 >/sys/block/md0/md/sync_max
mdadm --quiet /dev/md0 --add /dev/m1
until_is sync_completed "$1 / $((size / 3 / 512))"
mdadm --stop --quiet /dev/md0
echo $size
END
truncate -s "$(guest begin $half)" share/md0.ref
from=$(field 'Recovery Offset' m$new)
[ "$from" -eq $half ]
all=$(field 'Avail Dev Size' m$new)

start_members $images --filter=log logfile="m%i.requests"
start_uraid
same_as share/md0.ref
whole m[0-4]
stop_uraid
stop_members
written=$(requested Write m$new.requests)
at_least 'written to the new member' "$written" $((all - from))
at_most 'written to the new member' "$written" $((all - from + 1024))
# The same again, with nothing left to do, by the kernel.
guest verify '' >verified
quiet_start klog
no_mismatches verified 1
outs_are_right 2

# ------------------------------------------------- from uraid to the kernel

rm m$new
truncate -s $size m$new
# 512 KiB/s, so that the recovery can be stopped half-way.
start_members $images
restart_member $new --filter=rate rate=$((8 * 524288))
mapfile -t members < <(all_member_uris)
members[new]=spare=${members[new]}
start_uraid "${members[@]}"
wait_for "[ \$(stat -c %b m$new) -gt $((half * 2 / 3)) ]" 60
scribble share/md0.ref uraid-first 10
stop_uraid
stop_members
from=$(field 'Recovery Offset' m$new)
at_least 'recovered' "$from" $((half / 2))
at_most 'recovered' "$from" $((all - 128))
[ "$(field Events m0)" -eq "$(field Events m$new)" ]

guest verify "$from" >verified
no_mismatches verified 1
outs_are_right 2
written=$(sed -n 's/^written: //p' verified)
at_least 'written to the new member' "$written" $((all - from))
at_most 'written to the new member' "$written" $((all - from + 1024))
