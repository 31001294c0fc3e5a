#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Members that die one after the other while uraid is written (field report R9):
# the survivors say so, the kernel takes the survivors and throws the dead ones
# out as too old, too few fresh members are refused by both, and uraid given
# all of them rebuilds the dead ones with what the survivors hold.  With a
# bitmap the kernel, too, takes the dead ones back by what the bits say.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

images=6

cat >assemble <<'END'
. /share/guest.sh
name=md0
# The stale ones and two of the others: not enough.
if mdadm --assemble /dev/md0 /dev/m0 /dev/m1 /dev/m2 /dev/m3 2>/dev/null; then
    echo 'started with two fresh members'
    exit 1
fi
mdadm --stop --quiet /dev/md0 2>/dev/null || :
echo 1 >/sys/module/md_mod/parameters/start_ro
mdadm --assemble /dev/md0 $(members 6)
is degraded 2
[ ! -e /sys/block/md0/md/rd0 ]
[ ! -e /sys/block/md0/md/rd1 ]
copy_out now
mdadm --stop --quiet /dev/md0
END

cat >re-add <<'END'
. /share/guest.sh
name=md0
mdadm --assemble /dev/md0 $(members 6)
is degraded 2
mdadm --quiet /dev/md0 --re-add /dev/m0 --re-add /dev/m1
until_whole
check md0
copy_out re-added
mdadm --stop --quiet /dev/md0
END
cat >final <<'END'
. /share/guest.sh
name=md0
mdadm --assemble /dev/md0 $(members 6)
is degraded 0
check md0
copy_out now
mdadm --stop --quiet /dev/md0
END

for bitmap in none internal; do
    options=()
    [ $bitmap = none ] || options=(--bitmap-chunk=64K)
    member_uris=()
    make_members $images 6M
    start_members $images
    disown "${member_pids[0]}" "${member_pids[1]}" # no remark when killed
    mapfile -t uris < <(all_member_uris)
    uraid_cmd create v --level=6 --raid-devices=$images --chunk=64K \
        --bitmap=$bitmap "${options[@]}" --assume-clean "${uris[@]}" >/dev/null
    start_uraid
    rm -f share/md0.ref
    truncate -s "$(nbdinfo --size "$uraid_uri")" share/md0.ref
    scribble share/md0.ref "events-$bitmap" 100 "40:${member_pids[0]}" \
        "50:${member_pids[1]}"
    member_pids[0]='' member_pids[1]=''
    same_as share/md0.ref
    stop_uraid
    stop_members

    # Two steps at least, so that no rounding is possible.
    fresh=$(field Events m2)
    for i in 3 4 5; do
        [ "$(field Events m$i)" -eq "$fresh" ]
    done
    for i in 0 1; do
        events=$(field Events m$i)
        [ "$events" -lt $((fresh - 1)) ] ||
            fail "member $i died, but its events are $events of $fresh"
    done
    mdadm -E m2 | grep -q 'Array State : \.\.AAAA'

    before=$(members_sha)
    uraid_refuses 'error: ' wait-members=0 "$workdir"/m{0,1,2,3}
    [ "$before" = "$(members_sha)" ] || fail 'refused, but a member was written'

    if [ $bitmap = none ]; then
        guest assemble
        outs_are_right 1
        for i in a b; do
            grep -q "kicking non-fresh ubd$i from array" klog
        done
        [ "$(grep -c 'kicking non-fresh' klog)" -ge 2 ]
    fi

    if [ $bitmap = internal ]; then
        mkdir -p kept
        cp --sparse=always m[0-5] kept
        guest re-add >verified
        no_mismatches verified 1
        outs_are_right 1
        mv kept/m[0-5] .
    fi

    start_uraid "$workdir"/m{0,1,2,3,4,5}
    same_as share/md0.ref
    whole m[0-5]
    same_as share/md0.ref
    stop_uraid
    if [ $bitmap = none ]; then continue; fi
    guest final >verified
    quiet_start klog
    no_mismatches verified 1
    outs_are_right 1
done
