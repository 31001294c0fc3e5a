#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Arrays made by "uraid create" on members full of junk, synchronised, written
# healthy, while members die, and while spares take their places, all by
# uraid: the kernel assembles them without complaint and without any repair,
# reads the same, and finds no parity that is wrong.
#
# With the letter of a group (see covering_set) only that one is tried.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

each_group "$@"

cat >verify <<'END'
. /share/guest.sh
names=
while read -r name level n layout chunk metadata bitmap first devices; do
    mdadm --assemble /dev/$name $devices
    is degraded 0
    is resync_start none
    copy_out whole
    names="$names $name"
done </share/specs
check $names
for name in $names; do
    mdadm --stop --quiet /dev/$name
done
END

# make_one SPEC: make the array of the spec and write it through uraid
make_one() {
    local members=() kills=() i victims=()
    read_spec "$1"
    mapfile -t members < <(paths "$first" "$n")
    for i in "${members[@]}"; do
        head -c 6M /dev/urandom >"$i"
    done
    create_options
    # Nothing random may look like a signature.
    uraid_cmd create "$name" --force "${create_options[@]}" "${members[@]}" \
        >/dev/null

    # The first sync, with writes.
    start_uraid "${members[@]}"
    nbdcopy "$uraid_uri" "share/$name.ref"
    scribble "share/$name.ref" "$name-sync" 30
    whole "${members[@]}"
    stop_uraid

    # Members die.
    for ((i = 0; i < parity; i++)); do
        victims+=($(((first + n - 2 + i) % n)))
    done
    for i in "${victims[@]}"; do
        start_member $((first + i))
        disown "${member_pids[first + i]}" # no remark when it is killed
        members[i]=$(member_uri $((first + i)))
        kills+=("$((20 + 20 * ${#kills[@]})):${member_pids[first + i]}")
    done
    start_uraid "${members[@]}"
    scribble "share/$name.ref" "$name-die" 80 "${kills[@]}"
    stop_uraid

    # Blank spares take their places.
    for i in "${victims[@]}"; do
        rm "m$((first + i))"
        truncate -s 6M "m$((first + i))"
        members[i]=spare=$workdir/m$((first + i))
    done
    start_uraid "${members[@]}"
    scribble "share/$name.ref" "$name-spare" 30
    mapfile -t members < <(paths "$first" "$n")
    whole "${members[@]}"
    same_as "share/$name.ref"
    stop_uraid
}

# uraid create makes no "-6" layouts; they are served (oracle-kernel-made.sh).
number_specs < <(covering_set "$1" | grep -v -e '-6 ')
[ "$images" -gt 0 ] || exit 0 # no other layout in this group
while read -r spec <&3; do
    make_one "$spec"
done 3<share/specs
guest verify >verified
quiet_start klog
no_mismatches verified "$(wc -l <share/specs)"
outs_are_right "$(wc -l <share/specs)"
