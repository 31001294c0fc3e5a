#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# scripts/bench works: tiny runs give the table and the JSON with all fields, it
# says what is missing, and it leaves nothing behind, also when interrupted.
# How fast anything is is not looked at.

. "${0%/*}/functions.sh"

requires fio --enghelp=nbd
requires_filter rate

# An array and no function: what is started with "&" must be it, not a subshell.
# shellcheck disable=SC2154 # from functions.sh
bench=(env TMPDIR="$workdir/t" NBDKIT="$NBDKIT" URAID_PRELOAD="$sanitizer_preload"
    ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
    "$abs_top_srcdir/scripts/bench" --build="$URAID_BUILD")
tiny=(--workload=w1 --rounds=1 --seconds=0.3 --ramp=0.1 --size=32)

# has LINE-REGEX: in the output, extended
has() {
    grep -qE -- "$1" out.log || fail "no line \"$1\" in: $(cat out.log)"
}

mkdir t
# A cap that is never reached: nothing is repeated.
"${bench[@]}" "${tiny[@]}" --regime=B --regime=D --rate=20000 --peers=uraid,pass,raw \
    --compare=stripe_cache_size=64 --json=out.json >out.log
figure='[0-9][0-9.e+]*'
has "uraid +floor +E % +other +u/other +CPU us +sw/req +p50 ms +p99 ms +max ms +limit"
has "uraid +other +pass +raw +u/other +u/pass +E % +CPU us +of pass +limit"
has "^w1 rand-4k-write( +$figure){10}  [a-zA-Z]+\*?$"
has "^w1 rand-4k-write( +$figure){9}  [a-zA-Z]+\*?$"
has "^w1 rand-4k-write +uraid( +$figure){6}$"
has "^ +pass( +$figure){6}$"
has '^B +w1 of the floor'
has '^D +w1 E of raw members'
has '^D +w1 / pass'

/usr/bin/python3 - <<'END'
import json

out = json.load(open("out.json"))
for key in ("date", "commit", "command", "options", "versions", "load_1min_end"):
    assert key in out, key
assert out["machine"]["cpu"] and out["machine"]["cores"] > 0
assert out["versions"]["nbdkit"] and out["versions"]["fio"]
assert [(r["regime"], r["workload"]) for r in out["rows"]] == [
    ("B", "w1-rand-4k-write"), ("D", "w1-rand-4k-write")], out["rows"]
b, d = out["rows"]
# 20000 Mbit/s a member, 4 KiB, three of six members' writes for one.
assert round(b["floor"]) == 6 * 20000 * 32 // 3, b["floor"]
assert b["e"] > 0 and d["e"] > 0 and b["limit"] and d["limit"]
assert sorted(b["peers"]) == ["other", "uraid"]
assert sorted(d["peers"]) == ["other", "pass", "raw", "uraid"]
for row in out["rows"]:
    for peer in row["peers"].values():
        assert len(peer["rounds"]) == 1
        for key in ("rate", "p50_us", "p99_us", "max_us", "cpu_us",
                    "switches"):
            assert peer["median"][key] > 0, key
        assert peer["median"]["p50_us"] <= peer["median"]["max_us"]
assert {g["regime"] for g in out["goals"]} == {"B", "D"}
END
[ -z "$(ls -A t)" ] || fail "left behind: $(ls -A t)"

# refuses REGEX ARG...: the bench ends with a message and not with a trace
refuses() {
    local regex=$1 status=0
    shift
    "${bench[@]}" "${tiny[@]}" "$@" >out.log 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "status $status: $(cat out.log)"
    has "$regex"
    if grep -q Traceback out.log; then
        fail "a trace: $(cat out.log)"
    fi
    [ -z "$(ls -A t)" ] || fail "left behind: $(ls -A t)"
}
refuses '^bench: .*/tools/uraid is missing' --build=/nowhere
refuses '^bench: --workload=w9: there are w1, ' --workload=w9
refuses '^bench: --json=/nowhere/x: ' --json=/nowhere/x
refuses 'unknown parameter "such"' --regime=D --param=such=1
mkdir bin
printf '#!/bin/sh\necho libaio null\n' >bin/fio
chmod +x bin/fio
PATH=$workdir/bin:$PATH refuses 'has no nbd engine'

# Interrupted, it ends its servers and removes its files.
"${bench[@]}" "${tiny[@]}" --seconds=300 --regime=D --peers=uraid >out.log 2>&1 &
bench_pid=$!
pids[$bench_pid]=1 # for functions.sh
wait_for 'grep -q . t/ub.*/Duu.pid && [ -e t/ub.*/fio.out ]' 60
servers=$(cat t/ub.*/*.pid)
kill -TERM "$bench_pid"
wait_exit "$bench_pid" 60
[ "$exit_status" -eq 143 ] || fail "status $exit_status: $(cat out.log)"
[ -z "$(ls -A t)" ] || fail "left behind: $(ls -A t)"
for pid in $servers; do
    wait_for "! is_running $pid" 10 "server $pid to be gone"
done
