#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# A member lost while serving: when the first write that skipped it has been
# acknowledged, the superblocks of all others say so (role 0xfffe, events two
# steps on), so that it can never come back as if nothing had happened.  A third
# loss: I/O that needs it fails, and the superblocks stay as they are.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

FAULTY=65534
role() { # role IMAGE SLOT: dev_roles[SLOT] of the image
    sb get "$1" "$((256 + 2 * $2)):2"
}

create 24M
start_uraid safe_mode_delay=60
io write:0:1000000:1
# In-flight and idle losses are told apart by when the next write comes; here
# the write itself may be the first to notice.
lost=()
for victim in 3 0; do
    e=$(sb get m5 events)
    kill_member $victim
    lost+=("$victim")
    # One row, so that every member is concerned.
    io write:0:262144:$victim
    kill -STOP "$uraid_pid" # nothing is repaired after the fact
    for i in 0 1 2 3 4 5; do
        case " ${lost[*]} " in *" $i "*) continue ;; esac
        for v in "${lost[@]}"; do
            [ "$(role m$i "$v")" = $FAULTY ] ||
                fail "acknowledged, but m$i does not say that $v is out"
        done
        [ "$(sb get m$i events)" -gt "$e" ] || fail "m$i: events did not go up"
        [ "$(sb get m$i resync_offset)" = 0 ] || fail "m$i is not dirty"
    done
    kill -CONT "$uraid_pid"
    io check:0:262144:$victim
done
# The lost ones are two updates behind, beyond any doubt.
for v in 3 0; do
    [ $(($(sb get m5 events) - $(sb get m$v events))) -ge 2 ] ||
        fail "lost member $v looks current"
done

# The third.
wait_for '[ "$(role m5 0)" = $FAULTY ]' 10
members_sha m1 m2 m4 m5 >before
kill_member 2
io eio:0:262144 weio:0:262144
kill_member 4
io eio:0:262144
stop_uraid
members_sha m1 m2 m4 m5 >after
cmp before after || fail "the last survivors were written to"

# All but the first two are back: no force needed, all acknowledged data there.
for i in 1 2 4 5; do restart_member $i; done
start_uraid "member=$(member_uri 1)" "member=$(member_uri 2)" \
    "member=$(member_uri 4)" "member=$(member_uri 5)" missing missing \
    start-dirty-degraded=yes
io check:0:262144:0
stop_uraid
