#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The plugin's manual page: its POD is clean, it explains every parameter of
# the plugin with the right default and no other, and every example works.
#
# Examples are the indented blocks behind a "=for test" line, one after the
# other in one directory.  Hosts n1.example ... n7.example are seven members
# on Unix sockets; /run, /etc/uraid and /dev/sdb are in the test's directory.

. "${0%/*}/functions.sh"

# With what is made from the table of tunables.
# shellcheck disable=SC2154 # from functions.sh
page=$URAID_BUILD/man/nbdkit-uraid-plugin.gen.pod
requires command -v podchecker
requires command -v pod2man

podchecker -warnings -warnings "$page" 2>podchecker.log ||
    fail "podchecker: $(cat podchecker.log)"
if grep -i 'warning' podchecker.log; then
    fail 'podchecker warns'
fi
pod2man --utf8 --errors=die "$page" >page.1
pod2text --utf8 --errors=die "$page" >page.txt

# ------------------------------------------------------------ parameters

# shellcheck disable=SC2154 # from functions.sh
env LD_PRELOAD="$sanitizer_preload" \
    ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
    "$NBDKIT" "$PLUGIN" --dump-plugin >dump.txt
sed -n 's/^uraid_param_//p' dump.txt >params
[ "$(wc -l <params)" -ge 36 ]

# entry KEY: its part of the page
entry() {
    awk -v key="$1" '
        index($0, "=item B<" key "=>") || index($0, "=item [B<" key "=>") {
            on = 1; print; next
        }
        /^=(item|over|back|head)/ { on = 0 }
        on' "$page"
}
while IFS='=' read -r key default; do
    entry "$key" >entry
    [ -s entry ] || fail "$key is not in the page"
    [ -z "$default" ] || grep -qxF "(default: $default)" entry ||
        fail "$key: the page does not say (default: $default)"
    grep -q "$key=" <(sed -n '/^=head1 SYNOPSIS/,/^=head1 DESC/p' "$page") ||
        fail "$key is not in SYNOPSIS"
done <params
# Tunables, also those that cannot be given at the start.
sed -n 's/^uraid_tunable_//p' dump.txt >tunables
[ "$(wc -l <tunables)" -ge 15 ]
while IFS='=' read -r key changes; do
    awk -v key="$key" '
        $0 == "=item B<" key ">" || index($0, "=item B<" key "=>") { on = 1; next }
        /^=(item|over|back|head)/ { on = 0 }
        on' "$page" >entry
    [ -s entry ] || fail "the tunable $key is not in the page"
    case $changes in
    start) regex='Only at the start' ;;
    'run time') regex='while serving' ;;
    read-only) regex='^Read-only' ;;
    *) fail "$key: what is \"$changes\"?" ;;
    esac
    grep -q "$regex" entry || fail "$key: the page does not say: $changes"
    # As a reader sees it.
    grep -q "$key" page.txt || fail "$key is not in the rendered page"
done <tunables
if grep -n '@' "$page"; then
    fail 'a mark was left'
fi
sed -n 's/^=item \[\?B<\([a-z_-]*\)=>.*/\1/p' "$page" | while read -r key; do
    cut -d= -f1 params | grep -qx -- "$key" ||
        fail "the page has a parameter $key, the plugin has not"
done
# What --dump-plugin prints is explained.
sed -n 's/^\(uraid_[a-z]*\|libnbd_[a-z]*\)[_=].*/\1/p' dump.txt | sort -u |
    while read -r word; do
        grep -q "^=item C<$word" "$page" ||
            fail "$word... of --dump-plugin is not in the page"
    done

# -------------------------------------------------------------- examples

# Each block that is an example is run.
awk '/^=head1/ { on = $2 == "EXAMPLES" }
     on && /^=for test/ { tested = 1; next }
     on && /^ / { if (!tested) print FILENAME ": line " FNR ": not tested"; next }
     on && !/^$/ { tested = 0 }' "$page" >untested
[ ! -s untested ] || fail "$(cat untested)"

# A preload would break the shells of --run.
# shellcheck disable=SC2154 # from functions.sh
if [ "$sanitizers" != no ]; then
    exit 0
fi
requires command -v nbdinfo
requires command -v nbdcopy
requires command -v psktool

# psktool asks when the file is there; in Debian 12 it does not make folders.
mkdir -p run etc/uraid
for i in 1 2 3 4 5 6 7; do
    truncate -s 100M "n$i"
    start_nbdkit "server$i" -U "$workdir/n$i.sock" file "$workdir/n$i"
done
truncate -s 100M sdb

arrays=() # servers of arrays that the examples started

# stop_arrays: what an example left running
stop_arrays() {
    local pid
    for pid in "${arrays[@]}"; do
        kill -TERM "$pid" 2>/dev/null || :
        wait_for "! kill -0 $pid" 60 'the end of an array'
    done
    arrays=()
    rm -f run/vol0.sock # nbdkit leaves it
}

# shellcheck disable=SC2317 # called at the end
kill_daemons() {
    local i
    for i in "$workdir"/daemon*.pid; do
        [ ! -s "$i" ] || kill -KILL "$(cat "$i")" 2>/dev/null || :
    done
}
cleanup_fn kill_daemons

tls_members() {
    local i
    for i in 1 2 3 4 5 6 7; do
        [ -S "$workdir/n$i.tls.sock" ] || start_nbdkit "tls$i" \
            --tls=require --tls-psk="$workdir/etc/uraid/keys.psk" \
            -U "$workdir/n$i.tls.sock" file "$workdir/n$i"
    done
}

# address WORD: a word of an example with the hosts' sockets in it
address() {
    sed -E "s#^((spare|member)=)?nbd://(n[1-7])\.example/#\1nbd+unix:///?socket=$workdir/\3.sock#
        s#^nbds://(n[1-7])\.example/#nbds+unix:///?socket=$workdir/\1.tls.sock#" \
        <<<"$1"
}

# The two programs of the examples.
uraid() {
    local words=() i
    for i in "$@"; do
        words+=("$(address "$i")")
    done
    "$URAID" "${words[@]}"
}
daemons=0
nbdkit() {
    local words=() i array='' wait=1 pidfile=''
    daemons=$((daemons + 1))
    for i in "$@"; do
        case $i in
        uraid) array=1 i=$PLUGIN ;;
        --run) wait='' ;;
        nbds://*) tls_members ;;
        esac
        [ "$pidfile" != next ] || pidfile=$i
        [ "$i" != -P ] || pidfile=next
        words+=("$(address "$i")")
    done
    [ -z "$array" ] || stop_arrays
    if [ -n "$wait" ] && [ -z "$pidfile" ]; then
        pidfile=$workdir/daemon$daemons.pid
        words=(-P "$pidfile" "${words[@]}")
    fi
    "$NBDKIT" "${words[@]}"
    [ -n "$wait" ] || return 0
    wait_for "[ -s '$pidfile' ]"
    cat "$pidfile" >"$workdir/daemon$daemons.pid.new"
    mv "$workdir/daemon$daemons.pid.new" "$workdir/daemon$daemons.pid"
    if [ -n "$array" ]; then
        arrays+=("$(cat "$pidfile")")
        served "$pidfile"
    fi
}

description() {
    nbdinfo "nbd+unix:///?socket=$workdir/run/vol0.sock" |
        sed -n 's/.*description: //p'
}
# nbdkit writes its pid file before it starts the array.
served() {
    wait_for description 30 'the array to be served'
}
# For "=for test": until the array is in sync, until nothing is missing.
resynced() {
    wait_for "uraid examine $workdir/n1 | grep -q 'State : clean'" 60 resync
}
rebuilt() {
    wait_for "description | grep -q '(0 missing, 0 recovering)'" 60 recovery
}

awk -v dir="$workdir" '
    /^=for test/ { on = 1; sub(/^=for test */, ""); before = $0; next }
    /^ / && on {
        if (before != "") print before
        before = ""
        sub(/^ /, "")
        print
        next
    }
    /./ { on = 0 }' "$page" |
    sed "s#/run/#$workdir/run/#g; s#/etc/uraid/#$workdir/etc/uraid/#g
        s#/dev/sdb#$workdir/sdb#g; s#-p 10809#-p $(free_port)#" >examples.sh
[ "$(wc -l <examples.sh)" -ge 20 ]
# In this shell, so that a command that fails ends the test.
# shellcheck source=/dev/null
. ./examples.sh >examples.log 2>&1
stop_arrays

# They did something.
grep -q 'description: md RAID-6' examples.log
[ "$(stat -c %s rescued.img)" -gt $((300 << 20)) ]
uraid examine n7 | grep -q 'Active device\|Device Role : Active'
