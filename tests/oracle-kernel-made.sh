#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Arrays that the kernel has made and filled are served: read-only without one
# byte written to a member, healthy and with as many members missing as parity
# covers; then they are written while members die, and the kernel reads what
# was written, takes the dead members back, and finds no parity that is wrong.
#
# With the letter of a group (see covering_set) only that one is tried.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

each_group "$@"

cat >create <<'END'
. /share/guest.sh
names=
while read -r name level n layout chunk metadata bitmap first devices; do
    create_spec
    names="$names $name"
done </share/specs
# Filled while the first sync is under way.
for name in $names; do
    read sectors </sys/block/$name/size
    dd if=/share/$name.ref of=/dev/$name bs=64K 2>/dev/null || :
    echo $name $((sectors * 512))
done
for name in $names; do
    until_whole
    mdadm --stop --quiet /dev/$name
done
END

cat >verify <<'END'
. /share/guest.sh
names=
while read -r name level n layout chunk metadata bitmap first devices; do
    case $level in 6) lost=2 ;; *) lost=1 ;; esac
    mdadm --assemble /dev/$name $devices
    is degraded $lost
    copy_out degraded
    read victims </share/$name.victims
    mdadm --quiet /dev/$name --add $victims
    names="$names $name"
done </share/specs
for name in $names; do
    until_whole
done
check $names
for name in $names; do
    copy_out whole
    mdadm --stop --quiet /dev/$name
done
END

# try_one SPEC: read and write the array of the spec through uraid
try_one() {
    local members=() degraded i victims=() kills=() before
    read_spec "$1"
    mapfile -t members < <(paths "$first" "$n")
    before=$(members_sha "${members[@]}")

    start_uraid -r "${members[@]}"
    same_as "share/$name.ref"
    stop_uraid

    # Victims: neighbours, so that with layouts that rotate each kind of block
    # (data and data, data and parity, P and Q) is missing somewhere.
    for ((i = 0; i < parity; i++)); do
        victims+=($(((first + i) % n)))
    done
    degraded=("${members[@]}")
    for i in "${victims[@]}"; do
        degraded[i]=missing
    done
    start_uraid -r "${degraded[@]}"
    same_as "share/$name.ref"
    stop_uraid
    [ "$before" = "$(members_sha "${members[@]}")" ] ||
        fail "$name: read-only, but a member was written"

    for i in "${victims[@]}"; do
        start_member $((first + i))
        disown "${member_pids[first + i]}" # no remark when it is killed
        members[i]=$(member_uri $((first + i)))
        kills+=("$((20 + 20 * ${#kills[@]})):${member_pids[first + i]}")
        printf '/dev/m%d ' $((first + i))
    done >"share/$name.victims"
    echo >>"share/$name.victims"
    # Members in any order.
    mapfile -t members < <(printf '%s\n' "${members[@]}" |
        shuf --random-source=<(yes "$name"))
    start_uraid "${members[@]}"
    scribble "share/$name.ref" "$name" 80 "${kills[@]}"
    same_as "share/$name.ref"
    stop_uraid
}

number_specs < <(covering_set "$1")
make_members "$images" 6M
while read -r spec; do
    read_spec "$spec"
    head -c $((6291456 * (n - parity))) /dev/urandom >"share/$name.ref"
done <share/specs
guest create >sizes
while read -r name size; do
    truncate -s "$size" "share/$name.ref"
done <sizes
while read -r spec <&3; do
    try_one "$spec"
done 3<share/specs
guest verify >verified
no_mismatches verified "$(wc -l <share/specs)"
outs_are_right $(($(wc -l <share/specs) * 2))
