# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# What the tests named after field reports share.  Sourced after functions.sh.
# shellcheck shell=bash

sb() { /usr/bin/python3 "$abs_top_srcdir/tests/sbtool.py" "$@"; }
# shellcheck disable=SC2154 # functions.sh
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

# create SIZE [SPECIAL ARG...]: six fresh members with an array, not served.
# The ARGs go to member SPECIAL ("all": to each).
create() {
    local i size=$1 special=${2:-none}
    shift $(($# < 2 ? $# : 2))
    stop_members
    member_pids=() member_uris=()
    make_members 7 "$size"
    for i in 0 1 2 3 4 5; do
        if [ "$special" = all ] || [ "$special" = $i ]; then
            start_member $i "$@"
        else
            start_member $i
        fi
    done
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        $(all_member_uris) >create.log
}

# fresh: the same with data in it, stopped cleanly
fresh() {
    create 24M
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
# shellcheck disable=SC2034 # for the tests
quick="wait-members=0"
