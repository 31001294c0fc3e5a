#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# How many member requests a client request costs, counted by the stats filter
# on the members: six members, chunk 64K.
. "${0%/*}/functions.sh"

requires_filter stats

# stats_sum FILE-PATTERN-START: "READS WRITES READ-BYTES WRITE-BYTES" of all
stats_sum() {
    /usr/bin/python3 - "$@" <<'END'
import re, sys
UNIT = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
ops = {"read": 0, "write": 0}
size = {"read": 0.0, "write": 0.0}
for name in sys.argv[1:]:
    for line in open(name):
        m = re.match(r"(read|write): (\d+) ops, [\d.]+ s, ([\d.]+) (\w+),", line)
        if m:
            ops[m[1]] += int(m[2])
            size[m[1]] += float(m[3]) * UNIT[m[4]]
print(ops["read"], ops["write"], int(size["read"]), int(size["write"]))
END
}

# With $slow the members take 3 ms, so that a client that keeps 32 requests in
# flight really has them there.
slow=''

# counted LOST STEP...: a fresh array, LOST members killed, the steps; leaves
# the sums of all members in $reads, $writes, $rbytes, $wbytes
counted() {
    local lost=$1 i
    shift
    make_members 6 80M
    start_members 6 ${slow:+--filter=delay} --filter=stats \
        "statsfile=$workdir/stats%i" statsappend=false ${slow:+rdelay=3ms} \
        ${slow:+wdelay=3ms}
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        $(all_member_uris) >create.log
    for ((i = 0; i < lost; i++)); do
        kill_member "$i"
    done
    if [ "$lost" -gt 0 ]; then
        start_uraid wait-members=0 open-timeout=2s
    else
        start_uraid -t32 safe_mode_delay=60
    fi
    [ $# -eq 0 ] || /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" \
        "$uraid_uri" "$@"
    stop_uraid
    stop_members
    for ((i = lost; i < 6; i++)); do
        wait_for "[ -s stats$i ]" 30
    done
    read -r reads writes rbytes wbytes <<<"$(stats_sum stats[0-9])"
    rm -f stats[0-9]
}

# within LOW VALUE HIGH WHAT (decimals)
within() {
    awk -v l="$1" -v v="$2" -v h="$3" 'BEGIN { exit !(v >= l && v <= h) }' ||
        fail "$4: $2, allowed $1 .. $3"
    echo "$4: $2"
}
per() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.4f", a / b }'
}

# What the start, going dirty and going clean cost: the same in each run.
counted 0 write:0:262144:1
base_reads=$reads base_writes=$((writes - 6)) base_rbytes=$rbytes

counted 0 scatter:200:262144:7
within 5.999 "$(per $((reads - base_reads + writes - base_writes)) 200)" 6.001 \
    "cold aligned 4 KiB write, member requests"
once_reads=$reads once_writes=$writes

counted 0 scatter:200:262144:7:1
within 2.999 "$(per $((writes - once_writes)) 200)" 3.001 \
    "the same block again, member requests"
[ "$reads" -eq "$once_reads" ] ||
    fail "the same block again: $((reads - once_reads)) reads, allowed 0"

counted 0 seq:0:67108864:1048576:4
[ "$reads" -eq "$base_reads" ] ||
    fail "full-stripe stream: $((reads - base_reads)) reads, allowed 0"
within 1.485 "$(per "$wbytes" 67108864)" 1.515 "full-stripe stream, bytes written"

slow=1
counted 0 seq:0:8388608:4096:32
slow=''
within 0 "$(per $((reads - base_reads + writes - base_writes)) 2048)" 2.5 \
    "sequential 4 KiB writes at depth 32, member requests"

counted 1
deg_rbytes=$rbytes
counted 1 zeroes:0:33554432 zeroes:33554432:33554432
within 0.99 "$(per $((rbytes - deg_rbytes)) 67108864)" 1.05 \
    "sequential read, one member missing, bytes read"
