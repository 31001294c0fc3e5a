#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R30: a completion is not a success.  A fifth of the reads of m1 fails: what
# clients read is right all the same, and a recovery of m4 to a blank spare gets
# no wrong byte.  (m1 stays until a block that was rewritten cannot be read back
# either; then it is out, as in md.)
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

create 24M 1 --filter=error error-pread=EIO error-pread-rate=20% \
    "error-pread-file=$workdir/trigger"
start_uraid safe_mode_delay=0.1
io write:0:20000000:1 flush
touch trigger
for _ in 1 2 3; do
    io check:0:20000000:1
done
# Long reads may be asked again in pieces, and then succeed.  The first block is
# on m1.
for _ in {1..40}; do
    io check:0:4096:1
done
rm trigger
stop_uraid
read_errors=$(($(sb get m1 corrected)))
out=$(($(sb get m0 events) - $(sb get m1 events)))
[ "$read_errors" -gt 0 ] || [ "$out" -gt 1 ] ||
    fail "R30: no read error was counted"

create 24M 1 --filter=error error-pread=EIO error-pread-rate=20% \
    "error-pread-file=$workdir/trigger"
start_uraid safe_mode_delay=0.1
io write:0:20000000:1 flush
stop_uraid
kill_member 4
start_member 6
start_uraid wait-members=0 "member=$(member_uri 0)" "member=$(member_uri 1)" \
    "member=$(member_uri 2)" "member=$(member_uri 3)" \
    "member=$(member_uri 5)" missing "spare=$(member_uri 6)" sync_window=1
touch trigger
wait_for '[ "$(sb get m6 feature_map)" = 0 ] &&
    [ "$(sb get m6 events)" = "$(sb get m0 events)" ]' 60 "the recovery of m6"
rm trigger
stop_uraid
start_uraid wait-members=0 "member=$(member_uri 0)" "member=$(member_uri 2)" \
    "member=$(member_uri 3)" "member=$(member_uri 6)" missing missing
io check:0:20000000:1
stop_uraid
