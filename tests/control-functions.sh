# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# For tests that ask a served array what it counts.  After functions.sh; the
# array is at $uraid_uri, its control socket at $uraid_control.
# shellcheck shell=bash
# shellcheck disable=SC2154 # from functions.sh

# io STEP...: tests/nbdio.py
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

# rpc METHOD [-p PARAMS] [PATH...]: tests/rpc.py
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }

# is PATH VALUE [PATH VALUE]...: what detail says there
is() {
    local i paths=() want=() got
    for ((i = 1; i < $#; i += 2)); do
        paths+=("${!i}")
        want+=("${@:i+1:1}")
    done
    rpc detail "${paths[@]}" >is.out
    mapfile -t got <is.out
    for ((i = 0; i < ${#want[@]}; i++)); do
        [ "${got[i]}" = "${want[i]}" ] ||
            fail "detail: ${paths[i]} is ${got[i]}, not ${want[i]}"
    done
}

# tune KEY VALUE, tuned KEY: uraid set; the value of uraid get
tune() { uraid_cmd set "$uraid_control" "$@" >tune.out; }
tuned() { uraid_cmd get "$uraid_control" "$1" | cut -d ' ' -f 2; }

# refuses_to_tune ERRNO ALLOWED KEY VALUE: and the old value stays
refuses_to_tune() {
    local errno=$1 allowed=$2 key=$3 old
    shift 2
    old=$(tuned "$key")
    if uraid_cmd set --json "$uraid_control" "$@" >tune.out 2>tune.err; then
        fail "$* was taken"
    fi
    grep -qF "\"code\": \"$errno\"" tune.err &&
        grep -qF -- "$allowed" tune.err ||
        fail "$*: no $errno or no $allowed: $(cat tune.err)"
    [ "$(tuned "$key")" = "$old" ] ||
        fail "$* was refused, and $key is $(tuned "$key"), not $old"
}

# create N CHUNK [ARG...]: start N members and make a RAID-6 of them; without
# ARGs it is in sync and has no bitmap
create() {
    local n=$1 chunk=$2
    shift 2
    [ $# -gt 0 ] || set -- --assume-clean --bitmap=none
    start_members "$n"
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices="$n" --chunk="$chunk" \
        "$@" $(all_member_uris) >create.log
}

# check_seq OFF LEN SIZE: read what "seq" and "until" have written
check_seq() {
    local i steps=()
    for ((i = $1; i < $1 + $2; i += $3)); do
        steps+=("check:$i:$3:$i")
    done
    io "${steps[@]}"
}

# status_kib FIELD: of the server, from /proc (VmRSS, VmHWM)
status_kib() { awk -v f="$1:" '$1 == f { print $2 }' "/proc/$uraid_pid/status"; }
