#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# uraid create refuses what must not be overwritten, what is too small, what is
# given twice and what makes no sense; it says all it found, and no byte of any
# member changes.

. "${0%/*}/functions.sh"

requires_filter error
requires mkfs.ext4 -V
requires mkswap -V

compare=1 # compare checksums in each call of refused

# refused STATUS REGEX ARG...: uraid create vol0 ARG... ends with STATUS, says
# REGEX and writes nothing
refused() {
    local status=0 want=$1 regex=$2
    shift 2
    [ -z "$compare" ] || members_sha >before
    uraid_cmd create vol0 "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ] ||
        fail "create $* ended with $status, not $want: $(cat out err)"
    [ ! -s out ] || fail "create $* printed: $(cat out)"
    grep -Eq -- "$regex" err || fail "create $*: no \"$regex\" in: $(cat err)"
    [ -z "$compare" ] || members_sha | cmp - before ||
        fail "create $* wrote to a member"
}

shape=(--level=6 --raid-devices=6 --chunk=64K)
make_members 6 3M
start_members 6
mapfile -t uris < <(all_member_uris)

# ------------------------------------------------------- signatures on one

bytes_at() { # IMAGE OFFSET PRINTF-STRING
    # shellcheck disable=SC2059 # that is the point
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

put() { # IMAGE KIND
    case $2 in
    ext4) mkfs.ext4 -q -F "$1" ;;
    swap) mkswap "$1" >/dev/null 2>&1 ;;
    xfs) bytes_at "$1" 0 XFSB ;;
    luks) bytes_at "$1" 0 'LUKS\272\276\0\002' ;;
    gpt) bytes_at "$1" 512 'EFI PART' ;;
    lvm) bytes_at "$1" 512 LABELONE; bytes_at "$1" 536 'LVM2 001' ;;
    md090) bytes_at "$1" $((3 * 1048576 - 65536)) '\374\116\053\251' ;;
    # The magic alone: a broken one counts as well.
    md12) bytes_at "$1" 4096 '\374\116\053\251\001\0\0\0' ;;
    esac
}

kinds=(ext4 swap xfs luks gpt lvm md090 md12)
words=(ext4 swap xfs LUKS GPT LVM '0\.90' '1\.2')
for i in "${!kinds[@]}"; do
    put m3 "${kinds[i]}"
    refused 3 "m3\.sock.*${words[i]}" "${shape[@]}" "${uris[@]}"
    grep -q 'nothing was written' err
    grep -q -e '--force' err
    truncate -s 0 m3
    truncate -s 3M m3
done

# All findings are told, not only the first.
put m0 lvm
put m2 gpt
put m2 md12
put m5 luks
refused 3 'm0\.sock.*LVM' "${shape[@]}" "${uris[@]}"
grep -q 'm2.sock.*GPT' err
grep -q 'm2.sock.*md 1.2' err
grep -q 'm5.sock.*LUKS' err

# The same in JSON.
refused 3 '"REFUSED"' --json "${shape[@]}" "${uris[@]}"
/usr/bin/python3 - err <<'END'
import json, sys
e = json.load (open (sys.argv[1]))
assert e["error"]["code"] == "REFUSED", e
assert len (e["errors"]) >= 4, e
END

uraid_cmd create vol0 --force "${shape[@]}" "${uris[@]}" </dev/null
refused 3 'm0\.sock.*md 1\.2 superblock of array' "${shape[@]}" "${uris[@]}"
uraid_cmd zero-superblock "${uris[@]}" >/dev/null
for i in 0 1 2 3 4 5; do
    truncate -s 0 m$i
    truncate -s 3M m$i
done

# ------------------------------------------------------------ other refusals

refused 1 'the same address' "${shape[@]}" "${uris[@]:0:5}" "${uris[0]}"
ln -s m0.sock link.sock
refused 1 'the same socket' "${shape[@]}" "${uris[@]:0:5}" \
    "nbd+unix:///?socket=$workdir/link.sock"
refused 1 'the same file' "${shape[@]}" ./m0 ./m1 ./m2 ./m3 ./m4 "$PWD/m0"
port=$(free_port)
restart_member 5 "-p$port"
refused 1 'the same server' "${shape[@]}" "${uris[@]:0:4}" \
    "nbd://127.0.0.1:$port/" "nbd://127.0.0.1:$port/?"
kill_member 5
start_member 5
refused 1 "nothing.sock" "${shape[@]}" --open-timeout=1s "${uris[@]:0:5}" \
    "nbd+unix:///?socket=$workdir/nothing.sock"
refused 1 'five' "${shape[@]}" "${uris[@]:0:5}" five
restart_member 4 -r
refused 1 'm4\.sock: read-only' "${shape[@]}" "${uris[@]}"
kill_member 4
start_member 4
start_nbdkit noflush -U "$workdir/noflush.sock" eval \
    get_size='echo 3145728' pread='head -c "$3" /dev/zero' pwrite='cat >/dev/null'
refused 3 'neither flush nor FUA' "${shape[@]}" "${uris[@]:0:5}" \
    "nbd+unix:///?socket=$workdir/noflush.sock"

# ------------------------------------------------------------------- sizes

for size in 0 1 511 4096 12287 12288 1M 1113600; do
    truncate -s $size m2
    restart_member 2
    refused 1 'm2\.sock.*(too small|size of [01])' "${shape[@]}" "${uris[@]}"
    grep -q 'nothing was written' err
done
truncate -s 3M m2
restart_member 2

# ------------------------------------------------------------------ values

members_sha >before
compare=''
while IFS='|' read -r status option regex; do
    refused "$status" "$regex" --level=6 --raid-devices=6 "$option" "${uris[@]}"
done <<'END'
1|--level=1|--level: 1: .*allowed 4, 5, 6
1|--level=10|--level: 10: .*allowed 4, 5, 6
1|--level=|--level: : .*allowed 4, 5, 6
1|--raid-devices=3|raid.?d.*3.*4
1|--raid-devices=5|6: members were given
1|--raid-devices=7|6: members were given
1|--raid-devices=300|300.*253
1|--raid-devices=99999999999|--raid-devices: 99999999999
1|--raid-devices=-1|--raid-devices: -1
1|--raid-devices=six|--raid-devices: six
64|--raid-devices=0|--raid-devices is missing
1|--spare-devices=1|6: members were given
1|--spare-devices=x|--spare-devices: x
1|--chunk=48K|--chunk: 48K: .*power of two
1|--chunk=2K|--chunk: 2K: .*4K
1|--chunk=64|--chunk: 64: the unit is missing
1|--chunk=64X|--chunk: 64X: not a size
1|--chunk=-64K|--chunk: -64K: not a size
1|--chunk=99999999999999999999G|--chunk: .*too large
1|--chunk=8E|--chunk: .*too large
1|--chunk=4G|chunk
1|--layout=sideways|--layout: sideways: .*left-symmetric
1|--layout=left-symmetric-6|--layout: left-symmetric-6
1|--layout=77|--layout: 77
1|--metadata=0.90|--metadata: 0.90: .*allowed 1.0, 1.1, 1.2
1|--metadata=ddf|--metadata: ddf: .*allowed
1|--bitmap=external|--bitmap: external: .*none, internal
1|--bitmap-chunk=5K|--bitmap-chunk: 5K
1|--bitmap-chunk=4G|--bitmap-chunk: 4G
1|--bitmap-chunk=64|--bitmap-chunk: 64: the unit
1|--size=100G|size
1|--size=0K|--size: 0K
1|--size=1s|--size: 1s: not a multiple
1|--size=big|--size: big
1|--size=64|--size: 64: not a size with its unit
1|--data-offset=100G|m0.*|data offset
1|--data-offset=1K|data offset
1|--data-offset=x|--data-offset: x
1|--uuid=123|--uuid: 123: .*32 hexadecimal
1|--uuid=zz112233:44556677:8899aabb:ccddeeff|--uuid: zz
1|--name=a b|--name: a b
1|--name=|--name: : .*1..31
1|--name=12345678901234567890123456789012|1..31 bytes
1|--homehost=a/b|--homehost: a/b
1|--open-timeout=2w|--open-timeout: 2w
1|--open-timeout=2d|--open-timeout: 2d: too long
1|--tls=maybe|--tls: maybe: .*off, on, require
1|--tls-verify=2|--tls-verify: 2: .*yes, no
64|--frobnicate|--frobnicate: unknown option
64|--force=yes|takes no value
END
members_sha | cmp - before
compare=1
refused 64 '--level is missing' --raid-devices=6 "${uris[@]}"
refused 64 '--raid-devices is missing' --level=6 "${uris[@]}"
refused 64 '--chunk: this option needs a value' "${shape[@]}" "${uris[@]}" --chunk
refused 1 'makes no sense' "${shape[@]}" --bitmap=none --bitmap-chunk=64M "${uris[@]}"
refused 1 'all members are missing|missing' "${shape[@]}" missing missing missing \
    missing missing missing
refused 1 'missing' "${shape[@]}" missing missing missing "${uris[@]:0:3}"
refused 1 'a spare cannot be missing' --level=6 --raid-devices=5 \
    --spare-devices=1 "${uris[@]:0:5}" missing

# --------------------------------------------- a write fails in the middle

restart_member 2 --filter=error error-pwrite=EIO error-pwrite-rate=100%
status=0
uraid_cmd create vol0 "${shape[@]}" "${uris[@]}" >out 2>err </dev/null || status=$?
[ "$status" -eq 1 ]
grep -q 'm2.sock: writing failed' err
grep -q 'm0.sock: was already written' err
grep -q 'm1.sock: was already written' err
grep -q 'm2.sock: may be partly written' err
grep -q 'm3.sock: was not touched' err
[ ! -s out ]
