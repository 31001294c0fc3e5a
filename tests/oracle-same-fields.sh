#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# "mdadm -E" shows the same of an array made by "uraid create" as of one made by
# "mdadm --create" with the same options, but for times, UUIDs and checksums;
# and "uraid examine --bitmap" the same as "mdadm -X".  Members of odd and of
# very large sizes, automatic and explicit
# bitmaps, offsets and sizes told, spares, missing members, all levels.  In the
# guest the kernel is kept from starting the arrays, so that it changes nothing.

. "${0%/*}/functions.sh"
. "${test_file%/*}/oracle-functions.sh"

# m0 ... m4: 8 MiB; m5 ... m8: odd; m9 ... m12: 200 GiB; m13 ... m15: more.
sizes=(16384 16384 16384 16384 16384 20011 20479 21000 32769
    419430400 419430400 419430401 419430405 4294967296 4294967303 8589934592)

# Options as for mdadm; sizes get their unit for uraid.  %N is image N.
cat >share/cases <<'END'
--level=6 -n 4 --chunk=64 %5 %6 %7 %8
--level=6 -n 4 --chunk=64 %8 %7 %6 %5
--level=6 -n 4 --chunk=64 --metadata=1.0 %5 %6 %7 %8
--level=6 -n 4 --chunk=64 --metadata=1.0 --bitmap=internal --bitmap-chunk=64 %5 %6 %7 %8
--level=6 -n 4 --chunk=4 --metadata=1.1 --bitmap=internal --bitmap-chunk=32 %8 %5 %6 %7
--level=6 -n 4 -x 1 --chunk=512 --metadata=1.1 %0 %1 %2 %3 %8
--level=6 -n 5 --chunk=512 --layout=parity-first --assume-clean %0 %1 %2 %3 %4
--level=6 -n 5 -x 1 --chunk=64 --bitmap=internal %0 %1 missing %3 %4 %5
--level=6 -n 4 --chunk=1024 --data-offset=2048 --size=4096 %0 %1 %2 %3
--level=6 -n 4 --chunk=64 --metadata=1.0 --size=3000 %0 %1 %2 %3
--level=6 -n 4 --chunk=64 --data-offset=3000 %0 %1 %2 %3
--level=6 -n 4 %9 %10 %11 %12
--level=6 -n 4 --chunk=64 --metadata=1.0 %9 %10 %11 %12
--level=6 -n 4 --chunk=64 --metadata=1.1 --bitmap=none %9 %10 %11 %12
--level=6 -n 4 --metadata=1.1 --bitmap=internal --bitmap-chunk=8192 %12 %11 %10 %9
--level=6 -n 4 --size=104857600 %9 %10 %11 %12
--level=6 -n 4 --size=104858112 %9 %10 %11 %12
--level=5 -n 3 -x 1 %9 %10 %11 %12
--level=5 -n 3 %13 %14 %15
--level=5 -n 3 --chunk=4096 --metadata=1.0 %15 %14 %13
--level=5 -n 3 --chunk=16384 %9 %13 %15
--level=4 -n 3 --chunk=64 --assume-clean %0 %9 missing
--level=4 -n 3 --chunk=64 --metadata=1.1 --bitmap=internal %5 %6 %7
END

# As few processes as possible: starting them is what is slow in the guest.
cat >create-all <<'END'
exec </dev/null
rmmod raid456
echo /bin/false >/proc/sys/kernel/modprobe
while read -r options <&3; do
    read -r used <&3
    echo "case $options"
    mdadm --create /dev/md0 --run --quiet --homehost=h --name=n $options \
        >/dev/null 2>&1
    mdadm -E $used
    case $options in
    *bitmap=none*) ;;
    *) mdadm -X ${used%% *} 2>&1 ;;
    esac
    mdadm --zero-superblock $used
done 3</share/guest-cases
END
while read -r options; do
    options=${options//%//dev/m}
    echo "$options"
    grep -oE '/dev/m[0-9]+' <<<"$options" | xargs
done <share/cases >share/guest-cases

images=${#sizes[@]}
fresh() {
    rm -f "$@"
    local i
    for i; do
        truncate -s $((${sizes[${i#m}]} * 512)) "$i"
    done
}
mapfile -t all < <(seq -f m%g 0 $((images - 1)))
fresh "${all[@]}"
guest create-all >theirs.raw
fresh "${all[@]}"

while read -r options; do
    echo "case ${options//%/m}"
    options=$(sed -E 's/--(chunk|bitmap-chunk|size|data-offset)=([0-9]+)/--\1=\2K/g
        s,%,./m,g' <<<"$options")
    mapfile -t used < <(grep -oE '/m[0-9]+' <<<"$options" | cut -c 2-)
    # shellcheck disable=SC2086 # words
    uraid_cmd create n --homehost=h $options >/dev/null 2>err </dev/null ||
        fail "$options: $(cat err)"
    mdadm -E "${used[@]}"
    case $options in
    *bitmap=none*) ;;
    *) uraid_cmd examine --bitmap "${used[0]}" 2>&1 || : ;;
    esac
    fresh "${used[@]}"
done <share/cases >ours.raw

for i in theirs ours; do
    sed -E 's,/dev/(m[0-9]+),\1,g
        s/^( *(UUID|Array UUID|Device UUID|Creation Time|Update Time) : ).*/\1/
        s/^( *Checksum : ).* - (.*)/\1\2/
        s/ *\(local to host [^)]*\)//
        s/.*(does not|doesn.t|has no).* bitmap$/no bitmap/' $i.raw >$i
done
[ "$(grep -c '^case' theirs)" -eq "$(wc -l <share/cases)" ]
[ "$(grep -c '^ *Magic : a92b4efc' theirs)" -gt 80 ]
[ "$(grep -c '^ *Magic : 6d746962' theirs)" -gt 8 ]
diff -U 6 theirs ours || fail 'not as mdadm makes it (above: -mdadm +uraid)'
