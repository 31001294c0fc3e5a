#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R7, field-R8, field-R9, field-R11, field-R22: what must not start does
# not start, says why, and writes nothing.
. "${0%/*}/functions.sh"

sb() { /usr/bin/python3 "$abs_top_srcdir/tests/sbtool.py" "$@"; }
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

# fresh: six members with an array that holds data and was stopped cleanly
fresh() {
    stop_members
    member_pids=() member_uris=()
    make_members 6 24M
    start_members 6
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        --force $(all_member_uris) >create.log
    start_uraid
    io write:0:1000000:1
    stop_uraid
}

# unchanged_refusal REGEX [ARG...]: refused, and no byte of any image changed
unchanged_refusal() {
    members_sha >before
    uraid_refuses "$@"
    members_sha >after
    cmp before after || fail "a refused start has changed a member"
}
quick="wait-members=0"

# --- field-R7: dirty and degraded at once
fresh
for i in 0 1 2 3 4 5; do sb set m$i resync_offset=0; done
kill_member 2
unchanged_refusal 'start-dirty-degraded=yes' $quick
grep -q 'slot 2' refused.log || fail "R7: the missing slot is not named"
# The option starts it; read-only does too.
start_uraid -r $quick
io check:0:1000000:1
stop_uraid
members_sha >after
cmp before after || fail "R7: read-only has written"
start_uraid $quick start-dirty-degraded=yes
io check:0:1000000:1 write:5000:5000:3 check:5000:5000:3
stop_uraid

# --- field-R8: too few are current; the table tells who is what
fresh
e=6531
for i in 0 1 2; do sb set m$i events=$((e - 4)); done
for i in 3 4 5; do sb set m$i events=$e; done
unchanged_refusal "$((e - 4))" $quick
for i in 0 1 2 3 4 5; do
    grep -q "m$i.sock" refused.log || fail "R8: member $i is not in the table"
done

# --- field-R9: those who left first are never the truth, and are rebuilt
fresh
start_uraid
kill_member 0
io write:0:300000:11 flush
kill_member 1
io write:300000:700000:12 flush
stop_uraid
restart_member 0
restart_member 1
start_uraid
io check:0:300000:11 check:300000:700000:12
for i in 0 1; do
    sb wait m$i feature_map 0
    sb wait m$i events "$(sb get m5 events)"
done
kill_member 4
kill_member 5
io check:0:300000:11 check:300000:700000:12
stop_uraid

# --- field-R11: one member twice, two for one slot; order never matters
fresh
cp m0 m6
start_member 6
unchanged_refusal 'm[06].sock.*m[06].sock' $quick
stop_member 6
# another device UUID, the same slot
sb set m6 168:8=0x1234567890
start_member 6
unchanged_refusal 'm[06].sock.*m[06].sock' $quick
stop_member 6
unset 'member_uris[6]'
for seed in 1 2 3; do
    mapfile -t order < <(all_member_uris | shuf --random-source=<(yes $seed))
    start_uraid "${order[@]/#/member=}"
    io check:0:1000000:1
    stop_uraid
done

# --- field-R22: features that are not served are named
for bit in 0x4:RESHAPE 0x10:REPLACEMENT 0x100:CLUSTERED 0x200:JOURNAL \
    0x400:PPL 0x800:PPL 0x80000000:0x80000000; do
    for i in 0 1 2 3 4 5; do sb set m$i feature_map=${bit%:*}; done
    unchanged_refusal "${bit#*:}" $quick
done
for i in 0 1 2 3 4 5; do sb set m$i feature_map=0; done
start_uraid
io check:0:1000000:1
stop_uraid
