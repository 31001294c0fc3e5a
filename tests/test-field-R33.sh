#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R33: a client's flush reaches every member before it is answered, and a
# write with FUA reaches the members with FUA or is followed by flushes.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

requires_filter log

# told MEMBER WORD: lines of the member's log
told() {
    grep -c " $2 " "log$1" || true
}

create 24M all --filter=log "logfile=$workdir/log%i"
start_uraid safe_mode_delay=60
nbdsh -u "$uraid_uri" -c 'assert h.can_flush() and h.can_fua()'
io write:0:262144:1
for i in 0 1 2 3 4 5; do
    before[i]=$(told $i Flush)
done
io write:262144:262144:2 flush
for i in 0 1 2 3 4 5; do
    [ "$(told $i Flush)" -gt "${before[i]}" ] ||
        fail "the flush was answered, but member $i has not seen one"
    before[i]=$(grep -c 'fua=1' "log$i" || true)
done
io fua:0:4096:3
n=0
for i in 0 1 2 3 4 5; do
    [ "$(grep -c 'fua=1' "log$i" || true)" -le "${before[i]}" ] || n=$((n + 1))
done
[ $n -eq 3 ] || fail "FUA went to $n members, not to data, P and Q"
stop_uraid

