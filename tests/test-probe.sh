#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# uraid probe: what a server offers, what it takes, what lies there, and the
# verdict; exit status 2 when a member is unfit, whatever the reason.  Nothing
# is written.

. "${0%/*}/functions.sh"

requires_filter delay
requires_filter blocksize-policy
requires_filter multi-conn

make_members 6 8M
start_member 0
start_member 1 -r
start_member 2 --filter=blocksize-policy blocksize-minimum=4096 \
    blocksize-preferred=4096 blocksize-error-policy=error
start_member 3 --filter=delay rdelay=50ms
start_member 4 --filter=multi-conn multi-conn-mode=disable
truncate -s 8192 m5
start_member 5
start_nbdkit noflush -U "$workdir/noflush.sock" eval \
    get_size='echo 8388608' pread='head -c "$3" /dev/zero' pwrite='cat >/dev/null'
uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K --homehost=h \
    "$(member_uri 0)" "$(member_uri 4)" missing missing >/dev/null </dev/null
sums=$(members_sha)

probe() { # STATUS MEMBER...
    local status=0 want=$1
    shift
    uraid_cmd probe "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ] || fail "probe $*: $status, not $want: $(cat out err)"
    status=0
    uraid_cmd probe --json "$@" >json 2>err </dev/null || status=$?
    [ "$status" -eq "$want" ]
}

# has FIELD VALUE: of the only member in the JSON
has() {
    /usr/bin/python3 - json "$1" "$2" <<'END'
import json, sys
m = json.load (open (sys.argv[1]))["members"][0]
assert json.dumps (m[sys.argv[2]]) == sys.argv[3], (sys.argv[2], m)
END
}

probe 0 "$(member_uri 0)"
grep -q '^fit ' out
grep -q 'holds: md member of "h:vol0"' out
has verdict '"fit"'
has size 8388608
has min_block 512
for i in reachable flush fua zero trim multi_conn; do
    has $i true
done
has read_only false
[ "$(awk 'length > 80' out)" = '' ]

probe 2 "$(member_uri 1)"
grep -q '^unfit ' out
grep -q 'read-only' out
has verdict '"unfit"'
has read_only true

probe 0 "$(member_uri 2)"
has min_block 4096
has holds '"nothing known"'

probe 0 "$(member_uri 3)"
/usr/bin/python3 - json <<'END'
import json, sys
m = json.load (open (sys.argv[1]))["members"][0]
assert 50000 <= m["latency_us"] < 1000000, m
assert m["bandwidth"] < 20 * 1048576, m
END

probe 0 "$(member_uri 4)"
has multi_conn false
grep -q 'one connection only' out

probe 2 "$(member_uri 5)"
grep -q 'too small: 8192 bytes' out

probe 2 "nbd+unix:///?socket=$workdir/noflush.sock"
grep -q 'neither flush nor FUA' out

probe 2 "nbd+unix:///?socket=$workdir/nothing.sock"
grep -q '^unfit ' out
has reachable false

# A path; and one bad among good ones.
probe 0 m2
probe 2 m2 "$(member_uri 0)" "$(member_uri 1)"
[ "$(grep -c '^fit' out)" -eq 2 ]
[ "$(grep -c '^unfit' out)" -eq 1 ]

[ "$sums" = "$(members_sha)" ]
status=0
uraid_cmd probe 2>err || status=$?
[ "$status" -eq 64 ]
