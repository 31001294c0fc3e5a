#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R17: a member that is lost stays in the list, with slot, address, since
# when and why: it froze, was killed, refuses writes, refused the connection at
# the start, is another export, was away too long; also the one that is one too
# many.  JSON and text say the same.

# shellcheck disable=SC2154 # from functions.sh
# shellcheck disable=SC2016 # conditions of wait_for

. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

requires_filter error
export TZ=UTC

# serve ARG...: the array; the time just before is in $before
serve() {
    before=$(date +%s)
    start_uraid "$@"
}

# lost SLOT STATE REGEX [STATUS]: detail and status say so of the member that
# had SLOT; REGEX is for all of the reason, STATUS that of --test (1)
lost() {
    local slot=$1 state=$2 regex=$3 address status=0
    address=$(member_uri "$slot")
    uraid_cmd detail --json "$uraid_control" >json
    /usr/bin/python3 - "$slot" "$state" "$regex" "$address" "$before" <<'END'
import json
import re
import sys
import time

slot, state, regex, address, before = sys.argv[1:]
d = json.load(open("json"))
found = [m for m in d["members"] if m["address"] == address]
assert len(found) == 1, found
m = found[0]
assert m["state"] == state, m
assert m["slot"] is None and m["last_slot"] == int(slot), m
assert re.fullmatch(regex, m["reason"]), m
assert int(before) <= m["since_utc"] <= time.time(), m
empty = d["members"][int(slot)]
assert empty["state"] == "missing" and empty["slot"] == int(slot), empty
for other in d["members"]:
    there = other["state"] in ("in_sync", "recovering", "spare")
    assert not (there and "reason" in other), other
    assert not (there and "since_utc" in other), other
# Each slot is a member in sync or one that is lost.
n = d["array"]["raid_devices"]
gone = [m for m in d["members"] if m["state"] != "in_sync" and m["address"]]
assert d["array"]["in_sync"] + len(gone) == n, d["members"]
since = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(m["since_utc"]))
open("reason", "w").write("slot %s: %s\n" % (slot, m["reason"]))
open("line", "w").write("%24slost: slot %s: %s, since %s\n" % (
    "", slot, m["reason"], since))
END
    uraid_cmd detail --test "$uraid_control" >text || status=$?
    [ "$status" -eq "${4:-1}" ] || fail "--test: $status"
    grep -Eq "^ +- +$slot +removed$" text || fail "$(cat text)"
    grep -A1 -F " $address" text | sed -n 2p | cmp - line ||
        fail "no \"$(cat line)\" below $address: $(cat text)"
    grep -F " $address" text | grep -Eq "^ +($slot|-) +- +$state +" ||
        fail "$(cat text)"
    uraid_cmd status "$uraid_control" >text
    grep -qxF "      lost: $address: $(cat reason)" text || fail "$(cat text)"
}

create 24M

# A spare: it has no slot to lose.
start_member 6
serve "${member_uris[@]:0:6}" "spare=$(member_uri 6)"
uraid_cmd detail --json "$uraid_control" >json
! grep -Eq '"(reason|since_utc|last_slot)"' json || fail "$(cat json)"
kill_member 6
wait_for 'uraid_cmd detail --json "$uraid_control" >json; grep -q reason json'
/usr/bin/python3 - "$(member_uri 6)" <<'END'
import json
import sys
m = json.load(open("json"))["members"][6]
assert (m["address"], m["state"]) == (sys.argv[1], "missing"), m
assert "last_slot" not in m and m["since_utc"] > 0, m
END
uraid_cmd detail --test "$uraid_control" >text # still 0
grep -A1 -F " $(member_uri 6)" text | grep -q '^ *lost: [^:]*, since ' ||
    fail "$(cat text)"
stop_uraid
unset 'member_uris[6]'

# It froze.
serve request-timeout=1
freeze_member 3
io write:0:262144:1
lost 3 faulty 'no answer for [0-9]+ ms \(request-timeout 1000 ms\)'
# The first reason stays.
kill_member 3
io write:0:262144:2
lost 3 faulty 'no answer for [0-9]+ ms \(request-timeout 1000 ms\)'
stop_uraid

# It was killed.
closed='(the server has closed the connection|.*[Dd]isconnect.*|.*Connection reset.*)'
create 24M
serve
kill_member 3
io write:0:262144:1
lost 3 faulty "$closed"
stop_uraid

# It can neither read what is there nor what was written anew.
create 24M 3 --filter=error error-pread=EIO error-pread-rate=100% \
    "error-pread-file=$workdir/no-reads" error-pwrite=EIO \
    error-pwrite-rate=100% "error-pwrite-file=$workdir/no-writes"
serve
touch no-reads
nbdsh -u "$uraid_uri" -c 'h.pread (262144, 0)'
lost 3 faulty 'a sector that could not be read could not be written anew: Input/output error'
rm no-reads
stop_uraid

# It cannot write.  (The server lives: it is not the connection.)
uraid_cmd create v --force --level=6 --raid-devices=6 --chunk=64K \
    --assume-clean "${member_uris[@]}" >create.log
serve
touch no-writes
io write:0:262144:1
lost 3 faulty 'the server refused a write or flush: Input/output error'
rm no-writes
stop_uraid

# It was away too long; read-only, as it would be rebuilt otherwise.
serve start-ro=yes
lost 3 stale 'out of date: recorded as failed by the other members \(events [0-9]+, newest are [0-9]+\)'
# Then it goes altogether.
kill_member 3
io check:0:262144:1
wait_for 'uraid_cmd detail "$uraid_control" | grep -q "missing  "'
lost 3 missing "$closed"
stop_uraid

# Nobody listens at the start, and somebody else does.
create 24M
kill_member 3
serve wait-members=0
lost 3 missing '.*: Connection refused'
stop_uraid
create 24M
uuid=$(uraid_cmd examine m0 | sed -n 's/.*Array UUID : //p')
for i in 0 1 2 3 4 5; do
    cp "m$i" "keep$i"
done
create 24M # another array at the same addresses
other_uuid=$(uraid_cmd examine m0 | sed -n 's/.*Array UUID : //p')
for i in 0 1 2 4 5; do
    kill_member $i
    cp "keep$i" "m$i"
    restart_member $i
done
serve "uuid=$uuid" wait-members=0
lost 3 missing "wrong export: it belongs to array $other_uuid"
stop_uraid
# Nothing at all there: said, and not started.
kill_member 3
truncate -s 0 m3
truncate -s 24M m3
restart_member 3
unchanged_refusal "member .*m3.sock: no md superblock" "uuid=$uuid"

# With two addresses and two empty slots there is no telling which is whose.
kill_member 3
kill_member 5
serve wait-members=0
uraid_cmd detail --json "$uraid_control" >json
! grep -q last_slot json || fail "$(cat json)"
[ "$(grep -c '"reason": ".*: Connection refused"' json)" -eq 2 ] ||
    fail "$(cat json)"
stop_uraid

# One more than can be lost: it is as lost as the others.
create 24M
serve
for i in 1 2 3; do
    kill_member $i
done
io eio:0:262144 weio:0:262144
wait_for 'uraid_cmd status "$uraid_control" | grep -q "6/3.*U___UU"'
for i in 1 2 3; do
    lost $i faulty "$closed" 2
done
stop_uraid
