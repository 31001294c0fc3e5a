# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Functions for the shell tests.  A test starts with
#
#     #!/usr/bin/env bash
#     . "${0%/*}/functions.sh"
#
# and is then in an empty directory of its own, with "set -eu" and "pipefail".
# At its end, however it ends, every process started here is killed, findings
# of sanitizers make it fail, and the directory is removed (KEEP=1: it stays).
# Nothing here sleeps for a fixed time: everything waits for a condition.
# tests/README lists the functions.
# shellcheck shell=bash

set -eu -o pipefail
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# ------------------------------------------------------------ where we are

test_name=${0##*/}
test_file=$(realpath -- "$0")
for dir in "${URAID_BUILD:-}" "$PWD" "$PWD/build" "${test_file%/*}/../build" \
    "${test_file%/*}/.."; do
    if [ -n "$dir" ] && [ -r "$dir/tests/config.sh" ]; then
        # shellcheck source=/dev/null
        . "$dir/tests/config.sh"
        break
    fi
done
if [ -z "${abs_top_srcdir:-}" ]; then
    echo "$test_name: no build found; run configure and make, or set" \
        "URAID_BUILD to the directory where that was done" >&2
    exit 99
fi
PLUGIN=$URAID_BUILD/plugin/.libs/nbdkit-uraid-plugin.so
URAID=$URAID_BUILD/tools/uraid
# Goes into nbdkit's LD_PRELOAD; tests/preload.c tells why ours is needed too.
[ -z "$sanitizer_preload" ] ||
    sanitizer_preload+=:$URAID_BUILD/tests/.libs/preload.so

# Short, because a socket's path has at most 107 characters.
workdir=$(mktemp -d /tmp/uraid-test.XXXXXX)
cd "$workdir"

ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$workdir/sanitizer
UBSAN_OPTIONS=$UBSAN_OPTIONS:log_path=$workdir/sanitizer
TSAN_OPTIONS=$TSAN_OPTIONS:log_path=$workdir/sanitizer

cat <<END
$test_name: to run this test alone:
    URAID_BUILD=$URAID_BUILD bash $test_file
    (KEEP=1: keep its files; TRACE=1: show the commands; VERBOSE=1: nbdkit -v)
END
[ -z "${TRACE:-}" ] || set -x

# ------------------------------------------------------ end of the test

declare -A pids=() # processes to kill at the end: those not yet waited for
cleanups=()     # commands to run at the end, last one first
exit_status=0   # set by wait_exit

# cleanup_fn COMMAND [ARG...]: run it at the end of the test
cleanup_fn() {
    cleanups+=("$(printf '%q ' "$@")")
}

# fail MESSAGE: the test has failed
fail() {
    set +x
    echo "$test_name: FAILED: $*" >&2
    exit 1
}

# skip REASON: not here; in CI that is a failure
skip() {
    if [ "${CI:-}" = true ]; then
        fail "may not be skipped in CI: $*"
    fi
    echo "$test_name: skipped: $*" >&2
    exit 77
}

# shellcheck disable=SC2317 # called by the trap
at_exit() {
    local status=$? i found=''
    trap - EXIT
    trap '' INT TERM HUP
    set +eux
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
        eval "${cleanups[i]}"
    done
    for i in "${!pids[@]}"; do
        kill_hard "$i"
    done
    for i in "$workdir"/sanitizer.*; do
        [ -s "$i" ] || continue
        found=1
        cat "$i" >&2
    done
    # UndefinedBehaviorSanitizer writes to standard error.
    if grep -s 'runtime error:' "$workdir"/*.log >&2; then
        found=1
    fi
    if [ -n "$found" ]; then
        echo "$test_name: FAILED: a sanitizer has found something (above)" >&2
        status=1
    elif [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
        for i in "$workdir"/*.log; do
            [ -s "$i" ] || continue
            echo "----- end of ${i##*/}" >&2
            tail -n 40 "$i" >&2
        done
        echo "----- $test_name: exit status $status" >&2
    fi
    cd /
    if [ -n "${KEEP:-}" ]; then
        echo "$test_name: files kept in $workdir" >&2
    else
        rm -rf "$workdir"
    fi
    exit "$status"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'echo "$test_name: line $LINENO: failed ($?): $BASH_COMMAND" >&2' ERR

# ------------------------------------------------------------ conditions

# requires COMMAND [ARG...]: skip the test unless it succeeds
requires() {
    "$@" </dev/null >/dev/null 2>&1 || skip "\"$*\" does not work"
}

# requires_filter NAME: an nbdkit filter
requires_filter() {
    requires "$NBDKIT" --filter="$1" null --version
}

# requires_oracle: the kernel in a guest can be run
requires_oracle() {
    requires command -v linux.uml
    requires command -v mdadm
    requires busybox true
    requires command -v cpio
}

# wait_for CONDITION [SECONDS [WHAT]]: until "eval CONDITION" is true, at most
# SECONDS (default 30), else the test has failed
wait_for() {
    local deadline=$((SECONDS + ${2:-30}))
    until eval "$1" 2>/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] ||
            fail "waited ${2:-30} s in vain for: ${3:-$1}"
        sleep 0.05
    done
}

# is_running PID: a child that has ended but is not yet waited for is not
is_running() {
    local state
    read -r _ _ state _ <"/proc/$1/stat" || return 1
    [ "$state" != Z ]
} 2>/dev/null

# wait_exit PID [SECONDS]: wait for a child; its status is in $exit_status
wait_exit() {
    wait_for "! is_running $1" "${2:-30}" "the end of process $1"
    exit_status=0
    wait "$1" 2>/dev/null || exit_status=$?
    unset "pids[$1]"
}

# kill_hard PID: SIGKILL a child and wait for it, without the shell's remark
kill_hard() {
    { kill -KILL "$1" && wait "$1"; } 2>/dev/null || :
    unset "pids[$1]"
}

# free_port: print a TCP port that nobody listens on
free_port() {
    local port
    while :; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# ------------------------------------------------------------- programs

# nbdsh ...: Debian's python, whatever else is in PATH
nbdsh() {
    /usr/bin/python3 -m nbd "$@"
}

# uraid_cmd ...: the command "uraid" of this build
uraid_cmd() {
    "$URAID" "$@"
}

# oracle [OPTION]... IMG... -- SCRIPT [ARG...]: in the guest with the kernel's md
oracle() {
    "$abs_top_srcdir/tests/oracle" "$@"
}

# start_nbdkit NAME ARG...: nbdkit in the background with all ARGs; returns when
# it listens.  Output in NAME.log, process id in NAME.pid and $nbdkit_pid.
start_nbdkit() {
    local name=$1
    shift
    rm -f "$name.pid"
    "$NBDKIT" -f -P "$workdir/$name.pid" "$@" >>"$name.log" 2>&1 </dev/null &
    nbdkit_pid=$!
    pids[$nbdkit_pid]=1
    wait_for "[ -s $workdir/$name.pid ] || ! is_running $nbdkit_pid" 60 \
        "nbdkit \"$name\" to listen"
    [ -s "$name.pid" ] || fail "nbdkit \"$name\" did not start"
}

# -------------------------------------------------------------- members

member_pids=()  # process of member i; empty: not running
member_uris=()  # where member i is, also while it does not run
member_args=()  # how member i was started, quoted

# make_members N SIZE: sparse images m0 ... m(N-1)
make_members() {
    local i
    for ((i = 0; i < $1; i++)); do
        rm -f "m$i"
        truncate -s "$2" "m$i"
    done
}

# start_member I [ARG...]: "nbdkit file mI" on the socket mI.sock.  ARGs that
# begin with a dash go before the plugin (filters), others after it; %i in them
# is I.  With "-pPORT" it is on that TCP port of 127.0.0.1 instead.
start_member() {
    local i=$1 arg options=() params=() sock=$workdir/m$1.sock uri=''
    shift
    # For restart_member.
    member_args[i]=''
    [ $# -eq 0 ] || member_args[i]=$(printf '%q ' "$@")
    for arg in "$@"; do
        arg=${arg//%i/$i}
        case $arg in
        -p[0-9]*)
            options+=("$arg" -i 127.0.0.1)
            uri=nbd://127.0.0.1:${arg#-p}/
            ;;
        -*) options+=("$arg") ;;
        *) params+=("$arg") ;;
        esac
    done
    if [ -z "$uri" ]; then
        rm -f "$sock"
        options+=(-U "$sock")
        uri="nbd+unix:///?socket=$sock"
    fi
    start_nbdkit "m$i" "${options[@]}" file "$workdir/m$i" "${params[@]}"
    member_pids[i]=$nbdkit_pid
    member_uris[i]=$uri
}

# start_members N [ARG...]: members 0 ... N-1, all with these ARGs
start_members() {
    local i n=$1
    shift
    for ((i = 0; i < n; i++)); do
        start_member "$i" "$@"
    done
}

# member_uri I: its address
member_uri() {
    echo "${member_uris[$1]}"
}

# all_member_uris: the addresses of all members started so far, one a line
all_member_uris() {
    printf '%s\n' "${member_uris[@]}"
}

# kill_member I: as if its host had lost power (SIGKILL)
kill_member() {
    kill_hard "${member_pids[$1]}"
    member_pids[$1]=''
}

# stop_member I: an orderly end; filters such as stats write their files
stop_member() {
    kill -TERM "${member_pids[$1]}"
    wait_exit "${member_pids[$1]}"
    member_pids[$1]=''
}

# stop_members: all that run
stop_members() {
    local i
    for i in "${!member_pids[@]}"; do
        [ -z "${member_pids[i]}" ] || stop_member "$i"
    done
}

# freeze_member I, thaw_member I: it stops answering, and goes on
freeze_member() {
    kill -STOP "${member_pids[$1]}"
}
thaw_member() {
    kill -CONT "${member_pids[$1]}"
}

# restart_member I [ARG...]: start it again, as before or with other ARGs
restart_member() {
    local i=$1
    shift
    [ -z "${member_pids[i]}" ] || kill_member "$i"
    if [ $# -eq 0 ]; then
        eval "set -- ${member_args[i]}"
    fi
    start_member "$i" "$@"
}

# members_sha [IMAGE...]: checksums, to see that nothing was written.  Without
# IMAGE: m0, m1, ...
members_sha() {
    [ $# -gt 0 ] || set -- m[0-9] m[0-9][0-9]
    local i
    for i in "$@"; do
        [ ! -f "$i" ] || sha256sum "$i"
    done
}

# ------------------------------------------------------------- the plugin

uraid_pid=''
uraid_sock=$workdir/uraid.sock
# shellcheck disable=SC2034 # for the tests
uraid_uri="nbd+unix:///?socket=$uraid_sock"
# Its control socket, unless an argument says otherwise.  Never the default
# place: tests run side by side.  Empty: no parameter is given.
uraid_control=$workdir/control.sock

# Splits the arguments of start_uraid into $uraid_command.
uraid_command_line() {
    local arg options=() params=() members='' control=$uraid_control
    for arg in "$@"; do
        case $arg in
        -*) options+=("$arg"); continue ;;
        control=*) control='' ;;
        member=* | members=* | nbd://* | nbds://* | nbd+* | nbds+* | missing | /*)
            members=1
            ;;
        esac
        params+=("$arg")
    done
    if [ -z "$members" ]; then
        for arg in "${member_uris[@]}"; do
            params+=("member=$arg")
        done
    fi
    [ -z "$control" ] || params+=("control=$control")
    [ -z "${VERBOSE:-}" ] || options+=(-v)
    # The preload is for nbdkit alone: it breaks a shell.  What nbdkit itself
    # does not free is no concern of ours.
    uraid_command=(env)
    [ -z "$sanitizer_preload" ] || uraid_command+=(
        "LD_PRELOAD=$sanitizer_preload"
        "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0")
    uraid_command+=("$NBDKIT" -f -P "$workdir/uraid.pid" -U "$uraid_sock"
        "${options[@]}" "$PLUGIN" "${params[@]}")
}

# start_uraid [ARG...]: serve the array; returns when clients can connect at
# $uraid_uri.  ARGs that begin with a dash go to nbdkit, others are parameters
# of the plugin.  If none of them names a member, all members started so far
# are given.  Output in uraid.log, process id in $uraid_pid.
start_uraid() {
    local uraid_command
    uraid_command_line "$@"
    rm -f uraid.pid "$uraid_sock"
    "${uraid_command[@]}" >>uraid.log 2>&1 </dev/null &
    uraid_pid=$!
    pids[$uraid_pid]=1
    wait_for "[ -s $workdir/uraid.pid ] || ! is_running $uraid_pid" 90 \
        "uraid to listen"
    [ -s uraid.pid ] || fail "uraid did not start"
}

# uraid_refuses REGEX [ARG...]: as start_uraid, but it must not start, and say
# a line that matches REGEX (grep -E)
uraid_refuses() {
    local uraid_command status=0 regex=$1
    shift
    uraid_command_line "$@"
    rm -f uraid.pid "$uraid_sock"
    timeout -k 5 90 "${uraid_command[@]}" >refused.log 2>&1 </dev/null ||
        status=$?
    if [ "$status" -eq 0 ] || [ -e uraid.pid ]; then
        fail "uraid started (status $status), it should say: $regex"
    fi
    [ "$status" -eq 1 ] || fail "uraid ended with status $status, not 1"
    grep -Eq -- "$regex" refused.log ||
        fail "uraid did not say \"$regex\" but: $(cat refused.log)"
}

# stop_uraid [SECONDS]: SIGTERM; it must end in time and with status 0
stop_uraid() {
    kill -TERM "$uraid_pid"
    wait_exit "$uraid_pid" "${1:-30}"
    uraid_pid=''
    [ "$exit_status" -eq 0 ] || fail "uraid ended with status $exit_status"
}

# kill_uraid: SIGKILL, no chance to mark anything clean
kill_uraid() {
    kill_hard "$uraid_pid"
    uraid_pid=''
}
