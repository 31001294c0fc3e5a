#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# What status and detail make of a server's answer: the kernel's and mdadm's
# shapes to the letter, the exit codes of --test for every set of losses (field
# report R16), nobody who is lost is left out, nor the reason (R17), numbers of
# any size.

. "${0%/*}/functions.sh"

export TZ=UTC

# fake NAME: fakectl.py at NAME.sock with the file NAME.case
fake() {
    : >"$1.case"
    # shellcheck disable=SC2154 # from functions.sh
    /usr/bin/python3 "$abs_top_srcdir/tests/fakectl.py" "$1.sock" "$1.case" \
        >"$1.log" 2>&1 &
    pids[$!]=1
    wait_for "[ -S $1.sock ]"
}

# array LINE...: the case is now these lines
array() {
    printf '%s\n' "$@" >v.case
}

# gives STATUS COMMAND...: output must be what standard input has
gives() {
    local status=0 want=$1
    shift
    uraid_cmd "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ] || fail "$*: $status, not $want: $(cat err)"
    [ ! -s err ] || fail "$*: $(cat err)"
    cat >expected <&3
    diff -u expected out || fail "$*: the output differs"
} 3<&0

fake v
v=./v.sock

# ---------------------------------------------------------------- status

gives 0 status $v <<'END'
vol0 : active raid6 nbd+unix:///?socket=/run/m0[0] nbd+unix:///?socket=/run/m1[1] nbd+unix:///?socket=/run/m2[2] nbd+unix:///?socket=/run/m3[3] nbd+unix:///?socket=/run/m4[4] nbd+unix:///?socket=/run/m5[5]
      258048 blocks super 1.2 level 6, 64k chunk, algorithm 2 [6/6] [UUUUUU]
END

# Degraded, with a bitmap, a spare, and an address where nobody answers.
bitmap='bitmap={"chunk_bytes":67108864,"dirty_chunks":3,"total_chunks":5000}'
array 'lose 4' 'spare 6' 'unreachable nbd://n7/' "$bitmap"
gives 0 status $v <<'END'
vol0 : active raid6 nbd+unix:///?socket=/run/m0[0] nbd+unix:///?socket=/run/m1[1] nbd+unix:///?socket=/run/m2[2] nbd+unix:///?socket=/run/m3[3] nbd+unix:///?socket=/run/m5[5] nbd+unix:///?socket=/run/m4[4](F) nbd+unix:///?socket=/run/m6[6](S) nbd://n7/[-](F)
      258048 blocks super 1.2 level 6, 64k chunk, algorithm 2 [6/5] [UUUU_U]
      bitmap: 3/3 pages [12KB], 65536KB chunk
END

# Rebuilding, and the others in between.
lines() { # what status prints behind the second line
    uraid_cmd status $v | tail -n +3
}
array 'recover 2 8323596'
lines | diff -u - <(echo '      [==>..................]  recovery = 12.5% (8128/64512) finish=0.7min speed=1234K/sec')
array 'recover 2 66060288'
lines | diff -u - <(echo '      [====================>]  recovery =100.0% (64512/64512) finish=0.0min speed=1234K/sec')
array 'recover 2 0' 'sync.action="resync"' 'sync.speed_bytes_per_s=0'
lines | diff -u - <(echo '      [>....................]  resync =  0.0% (0/64512) speed=0K/sec')
array 'array.resync_offset_bytes=4096'
lines | diff -u - <(printf '      \tresync=PENDING\n')
array 'bitmap={"chunk_bytes":512,"dirty_chunks":0,"total_chunks":1}'
lines | diff -u - <(echo '      bitmap: 0/1 pages [0KB], 512B chunk')

head_is() { # WORDS LINE...
    local words=$1
    shift
    array "$@"
    uraid_cmd status $v >out
    [ "$(sed -n '1s/ nbd.*//p' out)" = "vol0 : $words" ] || fail "$(cat out)"
}
head_is 'active (auto-read-only) raid6' 'array.state="read-auto"'
head_is 'active (read-only) raid6' 'array.writable=false'
head_is 'broken raid6' 'lose 1 3 5' 'array.state="broken"'
grep -qF '[6/3] [U_U_U_]' out
head_is 'inactive raid6' 'array.state="stopped"'
head_is 'active raid5' 'array.level="raid5"'
grep -q ' level 5, ' out

# A member of 20 TiB in flight: nothing wraps (S35).
tib20=21990232555520
array "array.array_size_bytes=$((4 * tib20))" 'recover 0 1' \
    "sync.total_bytes=$tib20" "sync.position_bytes=$((tib20 / 2))" \
    'sync.speed_bytes_per_s=1'
uraid_cmd status $v >out
grep -qF ' 85899345920 blocks ' out
grep -qF 'recovery = 50.0% (10737418240/21474836480) finish=183251937962.6min speed=0K/sec' out
array 'array.array_size_bytes=9223372036854775807' 'recover 0 1' \
    'sync.total_bytes=9223372036854775807' \
    'sync.position_bytes=9223372036854775806'
uraid_cmd status $v >out
grep -qF 'recovery = 99.9%' out
# A position beyond the end is shown as none.
array 'recover 0 1' 'sync.position_bytes=66060289'
[ "$(uraid_cmd status $v | wc -l)" -eq 2 ]

# ---------------------------------------------------------------- detail

head_of_detail() { # STATE ACTIVE WORKING FAILED SPARE
    cat <<END
./v.sock:
           Version : 1.2
     Creation Time : Tue Nov 14 22:13:20 2023
        Raid Level : raid6
        Array Size : 258048 (252.00 MiB 264.24 MB)
     Used Dev Size : 64512 (63.00 MiB 66.06 MB)
      Raid Devices : 6
     Total Devices : $(($3 + $4))
       Persistence : Superblock is persistent

       Update Time : Tue Nov 14 23:13:20 2023
             State : $1 
    Active Devices : $2
   Working Devices : $3
    Failed Devices : $4
     Spare Devices : $5

            Layout : left-symmetric
        Chunk Size : 64K

Consistency Policy : resync

END
}
identity='              Name : vol0
              UUID : 01234567:89abcdef:01234567:89abcdef
            Events : 17

    Number   RaidDevice State              Address'

array
{
    head_of_detail clean 6 6 0 0
    echo "$identity"
    for i in 0 1 2 3 4 5; do
        echo "       $i         $i      active sync        nbd+unix:///?socket=/run/m$i"
    done
} | gives 0 detail $v --test

# mdadm's letters; one lost, one being rebuilt, a spare, one never reached.
array 'array.state="active"' 'recover 3 8323596' 'lose 1' 'spare 6' \
    'unreachable nbd://n7/'
{
    head_of_detail 'active, degraded, recovering' 4 6 2 2
    cat <<END
    Rebuild Status : 12% complete

$identity
       0         0      active sync        nbd+unix:///?socket=/run/m0
       -         1      removed
       2         2      active sync        nbd+unix:///?socket=/run/m2
       3         3      spare rebuilding   nbd+unix:///?socket=/run/m3
       4         4      active sync        nbd+unix:///?socket=/run/m4
       5         5      active sync        nbd+unix:///?socket=/run/m5

       1         -      faulty             nbd+unix:///?socket=/run/m1
       6         -      spare              nbd+unix:///?socket=/run/m6
       -         -      missing            nbd://n7/
END
} | gives 1 -D -t $v

has() { # GREP-TEXT LINE...: detail has this line
    local text=$1
    shift
    array "$@"
    uraid_cmd detail $v >out
    grep -qxF -- "$text" out || fail "no \"$text\" in $(cat out)"
}
has '     Intent Bitmap : Internal' "$bitmap"
has 'Consistency Policy : bitmap' 'array.consistency_policy="bitmap"'
has '             State : clean, resyncing (PENDING) ' 'array.resync_offset_bytes=0'
has '             State : active ' 'array.state="activating"'
has '             State : broken, FAILED ' 'lose 0 1 2' 'array.state="broken"'
has '             State : stopped ' 'array.state="stopped"'
has '     Resync Status : 50% complete' 'sync.action="resync"' \
    'sync.total_bytes=200' 'sync.position_bytes=101'
has "              Name : $(hostname):vol0  (local to host $(hostname))" \
    "array.name=\"$(hostname):vol0\""
has '       2         2      stale              nbd+unix:///?socket=/run/m2' \
    'members.2.state="stale"'
grep -qx '    Failed Devices : 1' out
# A state that a newer server may have: not in sync, and never left out.
has '       2         2      held               nbd+unix:///?socket=/run/m2' \
    'members.2.state="held"'
grep -q 'State : clean, degraded ' out
array 'array.level="raid4"' 'array.layout=null'
uraid_cmd detail $v >out
! grep -q Layout out || fail "level 4 has no layout"

# Why and since when, as far as the server tells.
below() { # LINE LINE...: below the member, in detail and at the end of status
    local detail=$1 status=$2
    shift 2
    array 'lose 3' "$bitmap" "$@"
    uraid_cmd detail $v >out
    [ "$(sed -n '/^ *3 *-  *faulty /,$p' out)" = \
        "       3         -      faulty             nbd+unix:///?socket=/run/m3
                        lost: $detail" ] || fail "$(cat out)"
    [ "$(lines | tail -n +2)" = "      lost: nbd+unix:///?socket=/run/m3: $status" ] ||
        fail "$(lines)"
}
below 'slot 3: no answer, since Tue Nov 14 22:13:20 2023' 'slot 3: no answer' \
    'members.6.reason="no answer"' 'members.6.since_utc=1700000000' \
    'members.6.last_slot=3'
below 'no answer' 'no answer' 'members.6.reason="no answer"'
below 'slot 0: a\x1b[2J\x0ab, since Thu Jan  1 00:00:00 1970' \
    'slot 0: a\x1b[2J\x0ab' 'members.6.reason="a\u001b[2J\nb"' \
    'members.6.since_utc=0' 'members.6.last_slot=0'
for line in 'members.6.reason=1' 'members.6.since_utc="x"' \
    'members.6.last_slot=6' 'members.6.last_slot=-1'; do
    array 'lose 3' "$line"
    ! uraid_cmd detail $v >out 2>err || fail "$line is taken"
    grep -q 'makes no sense: ' err
done

# ----------------------------------------------------- --test, R16 and R17

verdict() { # STATUS LINE...
    local status=0 want=$1
    shift
    array "$@"
    uraid_cmd detail --test $v >out 2>err || status=$?
    [ "$status" -eq "$want" ] || fail "--test of $*: $status, not $want"
}
count=0
for a in 0 1 2 3 4 5; do
    verdict 1 "lose $a"
    verdict 1 "recover $a 4096"
    # The lost one is there, and the counts add up.
    grep -q '     Total Devices : 6' out
    for ((b = a + 1; b < 6; b++)); do
        verdict 1 "lose $a $b"
        [ "$(grep -c faulty out)" -eq 2 ]
        for ((c = b + 1; c < 6; c++)); do
            verdict 2 "lose $a $b $c"
            count=$((count + 1))
        done
    done
done
[ "$count" -eq 20 ]
verdict 2 'lose 0 1' 'recover 2 4096'
verdict 1 'lose 0' 'array.level="raid5"'
verdict 2 'lose 0 1' 'array.level="raid5"'
verdict 2 'array.state="broken"'
verdict 2 'array.state="stopped"'
verdict 0 'spare 6'
# If the server counts more than it shows, it is not all well.
verdict 1 'array.degraded=1'
verdict 2 'array.degraded=3'
verdict 4 'hostile close'

# ---------------------------------------------------------------- --stats

array "$bitmap" 'members.1.writes=3' 'members.1.write_bytes=7168' \
    'members.5={"number":null,"slot":5,"state":"missing","address":null}'
uraid_cmd detail --stats $v | sed -n '/Cache Size/,$p' >out
diff -u - out <<'END'
        Cache Size : 49152 bytes
     Cache Maximum : 25165824 bytes (24.00 MiB 25.17 MB)
     Cache Stripes : 2 of 1024, 24576 bytes each, 3 evicted
           Workers : 1 running, at most 2 so far, 5 times woken; group_thread_cnt 2, 1 groups
    Parity Library : isa-l 2.30.0 (avx2)
     Bitmap Chunks : 3 of 5000 dirty, 67108864 bytes each
       Write Stats : full 10, rcw 2, rmw 30, w_preread 4

    Number   RaidDevice      Reads  Mean KiB     Writes  Mean KiB In Flight Latency us Errors Corrected Conns
       0         0             4       4.5          0         -         1        250      0         0     1
       1         1             4       4.5          3       2.3         1        250      0         0     1
       2         2             4       4.5          0         -         1        250      0         0     1
       3         3             4       4.5          0         -         1        250      0         0     1
       4         4             4       4.5          0         -         1        250      0         0     1

        write_full : 10
         write_rcw : 2
         write_rmw : 30
          prereads : 4
              runs : 42
END
# Stripes x members x 4096 (S3).
array "cache.limit_bytes=$((262144 * 12 * 4096))"
uraid_cmd detail --stats $v |
    grep -qF 'Cache Maximum : 12884901888 bytes (12.00 GiB 12.88 GB)'

# --------------------------------------------------------- export and JSON

array 'lose 4' 'spare 6' 'recover 1 4096' 'unreachable nbd://n7/'
uraid_cmd detail --export $v >out
diff -u - out <<'END'
MD_LEVEL=raid6
MD_DEVICES=6
MD_METADATA=1.2
MD_UUID=01234567:89abcdef:01234567:89abcdef
MD_NAME=vol0
MD_DEVICE_0_ROLE=0
MD_DEVICE_0_DEV=nbd+unix:///?socket=/run/m0
MD_DEVICE_1_ROLE=1
MD_DEVICE_1_DEV=nbd+unix:///?socket=/run/m1
MD_DEVICE_2_ROLE=2
MD_DEVICE_2_DEV=nbd+unix:///?socket=/run/m2
MD_DEVICE_3_ROLE=3
MD_DEVICE_3_DEV=nbd+unix:///?socket=/run/m3
MD_DEVICE_5_ROLE=5
MD_DEVICE_5_DEV=nbd+unix:///?socket=/run/m5
MD_DEVICE_4_ROLE=faulty
MD_DEVICE_4_DEV=nbd+unix:///?socket=/run/m4
MD_DEVICE_6_ROLE=spare
MD_DEVICE_6_DEV=nbd+unix:///?socket=/run/m6
MD_DEVICE_unknown8_ROLE=missing
MD_DEVICE_unknown8_DEV=nbd://n7/
END

array 'lose 4' 'result.news="x"'
uraid_cmd detail --json $v >detail.json
uraid_cmd status --json $v $v >status.json
/usr/bin/python3 - <<'END'
import json
text = open("detail.json").read()
assert text.startswith('{\n  "schema": "uraid/1",'), text
d = json.loads(text)
assert d["members"][4]["state"] == "missing"
assert d["members"][6]["address"] == "nbd+unix:///?socket=/run/m4"
assert d["array"]["array_size_bytes"] == 264241152
assert d["news"] == "x", "what we do not know is passed on"
s = json.load(open("status.json"))
assert s["schema"] == "uraid/1" and len(s["arrays"]) == 2
assert s["arrays"][1]["array"]["degraded"] == 1
END

# --------------------------------------------- nothing drives the terminal

printf '%s\n' 'array.name="a\u001b[2J\u009b1m\u202eb\\"' \
    'members.0.address="nbd://x\n\u0007"' 'sync.action="\r"' \
    'sync.total_bytes=10' 'members.1.state="\u001b[1m"' \
    >v.case
printf 'stats.\033=1\n' >>v.case
for verb in status 'detail --stats' 'detail --export' 'status --json' \
    'detail --json'; do
    # shellcheck disable=SC2086 # words
    uraid_cmd $verb $v >out 2>err
    ! grep -q '[^ -~]' out || fail "$verb: $(cat -v out)"
done
uraid_cmd detail $v >out
# shellcheck disable=SC1003 # a backslash
grep -qF 'Name : a\x1b[2J\xc2\x9b1m\xe2\x80\xaeb\\' out
grep -qF 'active sync        nbd://x\x0a\x07' out
