#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# S30: workers do not tear apart what is adjacent.  Random aligned writes of
# 1 MiB with 8 threads: the members' requests have on average at least half the
# size that they have with none.  And the size can be seen.

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"

# mean THREADS: the mean size of the members' write requests in KiB, into $kib
mean() {
    tune group_thread_cnt "$1"
    rpc stats.reset >reset.out
    io random:200:134217728:1048576:32:1
    rpc detail members >members
    kib=$(/usr/bin/python3 -c '
import json
m = json.load(open("members"))
size = sum(x["write_bytes"] for x in m)
print(size // sum(x["writes"] for x in m) // 1024)')
    echo "$1 threads, ${#member_pids[@]} members: $kib KiB"
}

# Six members: whole rows, four of them.  Seven: a row has 320K, so that most
# of them are not whole and must be read.
for n in 6 7; do
    make_members $n 64M
    create $n 64K
    URAID_TEST_CPUS=8 URAID_TEST_NODES=1 start_uraid -t32 safe_mode_delay=60
    mean 0
    single=$kib
    # More than a chunk each; whole rows leave in one go, and so together.
    [ "$single" -ge $((n == 6 ? 128 : 68)) ] ||
        fail "without workers $single KiB: adjacent rows do not go together"
    is workers.wakes 0
    mean 8
    [ "$(rpc detail workers.wakes)" -gt 0 ] || fail 'no worker has worked'
    [ $((2 * kib)) -ge "$single" ] ||
        fail "$n members: $kib KiB with 8 threads, $single KiB without"

    # Number, slot, reads, mean, writes, mean.
    uraid_cmd detail --stats "$uraid_control" >out
    /usr/bin/python3 - <<'END2'
import json
rows = [line.split() for line in open("out")]
for m in json.load(open("members")):
    want = "%d %.1f" % (m["writes"], m["write_bytes"] * 10 // 1024
                        // m["writes"] / 10)
    got = [" ".join(r[4:6]) for r in rows
           if len(r) == 11 and r[:2] == [str(m["number"]), str(m["slot"])]]
    assert got == [want], (got, want)
END2
    stop_uraid
    stop_members
done
