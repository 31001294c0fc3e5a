#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The test functions themselves: members come, go, freeze and come back, and
# conditions are waited for.

. "${0%/*}/functions.sh"

requires command -v nbdinfo
requires nbdsh --version
requires_filter stats

make_members 3 1M
before=$(members_sha)
start_members 2 --filter=stats statsfile="m%i.stats x"
start_member 2 "-p$(free_port)"
[ "$(all_member_uris | wc -l)" -eq 3 ]
for i in 0 1 2; do
    [ "$(nbdinfo --size "$(member_uri $i)")" -eq 1048576 ]
done
[ "$before" = "$(members_sha)" ]

nbdsh -u "$(member_uri 1)" -c 'h.pwrite (b"x" * 512, 512)'
[ "$before" != "$(members_sha)" ]
[ "$(members_sha m0 m2)" = "$(grep -v 'm1$' <<<"$before")" ]

kill_member 1
if nbdinfo "$(member_uri 1)" 2>/dev/null; then
    fail "a killed member answers"
fi
restart_member 1
nbdsh -u "$(member_uri 1)" -c 'assert h.pread (4, 512) == b"xxxx"'

freeze_member 0
nbdinfo --size "$(member_uri 0)" >size &
client=$!
wait_for "grep -q T /proc/${member_pids[0]}/stat"
is_running $client
thaw_member 0
wait_exit $client
[ "$exit_status" -eq 0 ]
[ "$(cat size)" -eq 1048576 ]

stop_members
grep -q '^read: 1 ops' "m1.stats x"
[ -f "m0.stats x" ]

# A condition that never comes is a failure, and soon.
if (trap - EXIT; wait_for false 1) 2>error; then
    fail "wait_for false succeeded"
fi
grep -q 'in vain for: false' error
if (trap - EXIT; CI=true requires false) 2>error; then
    fail "requires false succeeded"
fi
grep -q 'may not be skipped in CI' error
status=0
(trap - EXIT; CI='' requires false) 2>error || status=$?
[ "$status" -eq 77 ]
