#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# No verb ever waits for an answer (field-R15): with standard input closed, or a
# pipe on which nothing comes and that never ends, or on a terminal, each ends
# within 5 seconds; a missing confirmation is an error that names the option.
# Whether the array has a bitmap is always said.

. "${0%/*}/functions.sh"

requires command -v mkfifo

make_members 4 4M
start_members 4
mapfile -t uris < <(all_member_uris)

# A pipe with a writer that says nothing.
mkfifo quiet
sleep 1000 >quiet &
pids[$!]=1
exec 9<quiet

# ends STATUS COMMAND...: the command ends in time with that status, however
# standard input is
ends() {
    local want=$1 status
    shift
    status=0
    timeout -k 1 5 "$URAID" "$@" <&- >out 2>err || status=$?
    [ "$status" -eq "$want" ] ||
        fail "closed: $* ended with $status, not $want: $(cat out err)"
    status=0
    timeout -k 1 5 "$URAID" "$@" <&9 >out 2>err || status=$?
    [ "$status" -eq "$want" ] ||
        fail "pipe: $* ended with $status, not $want: $(cat out err)"
}

ends 0 create vol0 --level=6 --raid-devices=4 --chunk=64K --force "${uris[@]}"
grep -q 'Intent Bitmap : none' out
ends 3 create vol0 --level=6 --raid-devices=4 --chunk=64K "${uris[@]}"
grep -q -e '--force' err
ends 3 -C vol0 -l6 -n4 -c64K --run "${uris[@]}"
ends 0 create vol0 --level=6 --raid-devices=4 --chunk=64K --force \
    --bitmap=internal "${uris[@]}"
grep -q 'Intent Bitmap : internal' out
ends 0 create vol0 --level=6 --raid-devices=4 --chunk=64K --force --json \
    --bitmap=internal "${uris[@]}"
grep -q '"bitmap": {' out
ends 0 examine "${uris[@]}"
ends 0 -E "${uris[@]}"
ends 0 --examine --brief --scan "${uris[@]}"
ends 0 examine --json "${uris[@]}"
ends 0 -X "${uris[0]}"
ends 0 --examine-badblocks "${uris[0]}"
ends 0 query "${uris[0]}"
ends 0 -Q "${uris[0]}"
ends 0 probe "${uris[@]}"
ends 0 zero-superblock "${uris[@]}"
ends 0 --zero-superblock "${uris[@]}"
ends 1 examine "${uris[0]}"
ends 4 examine "nbd+unix:///?socket=$workdir/nothing.sock"
ends 0 help
ends 0 --help
ends 0 help create
ends 0 create --help
ends 0 version
ends 0 -V
ends 64
ends 64 frobnicate

# On a terminal as well.
uraid_cmd create vol0 --level=6 --raid-devices=4 --chunk=64K "${uris[@]}" \
    </dev/null >/dev/null
/usr/bin/python3 - "$URAID" create vol0 --level=6 --raid-devices=4 \
    --chunk=64K "${uris[@]}" <<'END'
import os, pty, subprocess, sys
master, slave = pty.openpty ()
p = subprocess.run (sys.argv[1:], stdin=slave, stdout=slave, stderr=slave,
                    timeout=5)
assert p.returncode == 3, p.returncode
END
