#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R16: the exit status of detail --test is 0 for a whole array, 1 for each
# of the 6 single and 15 double losses, 1 while one is rebuilt, 2 for a triple
# loss while serving, 4 if nobody can say.  (All 20 triples, with invented
# answers: test-online-format.sh.)

# shellcheck disable=SC2154 # from functions.sh
# shellcheck disable=SC2016 # conditions of wait_for

. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

requires_filter delay

# verdict STATUS [OPTION...]: of what is served now
verdict() {
    local status=0 want=$1
    shift
    uraid_cmd detail --test "$@" "$uraid_control" >out 2>err || status=$?
    [ "$status" -eq "$want" ] ||
        fail "--test: $status, not $want: $(cat out err)"
}

# without SLOT...: start with the others, in an order of their own
without() {
    local i args=()
    for i in 5 2 0 4 1 3; do
        case " $* " in
        *" $i "*) args+=(missing) ;;
        *) args+=("member=$(member_uri $i)") ;;
        esac
    done
    start_uraid "${args[@]}"
}

create 16M
members_sha >before
without
verdict 0
stop_uraid
count=0
for a in 0 1 2 3 4 5; do
    without $a
    verdict 1
    grep -q 'Active Devices : 5$' out || fail "$(cat out)"
    stop_uraid
    for ((b = a + 1; b < 6; b++)); do
        without $a $b
        verdict 1
        grep -q 'Active Devices : 4$' out || fail "$(cat out)"
        stop_uraid
        count=$((count + 1))
    done
done
[ "$count" -eq 15 ]
# Nothing was written, so that each was a loss of its own.
members_sha | cmp - before || fail "looking has changed a member"
verdict 4
grep -q '^uraid: detail: ' err

# One after the other while serving.
start_uraid
n=0
for i in 3 0; do
    kill_member $i
    io write:0:262144:$i
    verdict 1
    n=$((n + 1))
    grep -q "Failed Devices : $n\$" out || fail "$(cat out)"
done
kill_member 4
io eio:0:262144
wait_for '! uraid_cmd status "$uraid_control" | grep -q "\[6/4\]"'
verdict 2
grep -q 'State : broken, FAILED ' out
# It does not answer; it has gone and its socket is left.
kill -STOP "$uraid_pid"
verdict 4 --request-timeout=1
kill -CONT "$uraid_pid"
kill_uraid
[ -S "$uraid_control" ]
verdict 4

# Rebuilding, slowly enough to be seen; then whole.
create 16M
start_member 6 --filter=delay wdelay=100ms
kill_member 3
start_uraid wait-members=0 "${member_uris[@]:0:6}" "spare=$(member_uri 6)"
wait_for 'uraid_cmd status "$uraid_control" | grep -q recovery'
verdict 1
grep -q 'recovering' out || fail "$(cat out)"
wait_for 'uraid_cmd detail --test "$uraid_control" >out' 60 recovery
stop_uraid
