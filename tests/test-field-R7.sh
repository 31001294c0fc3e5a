#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R7: dirty and degraded at once is refused, unless told otherwise.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

fresh
for i in 0 1 2 3 4 5; do sb set m$i resync_offset=0; done
kill_member 2
unchanged_refusal 'start-dirty-degraded=yes' $quick
grep -q 'slot 2' refused.log || fail "R7: the missing slot is not named"
# The option starts it; read-only does too.
start_uraid -r $quick
io check:0:1000000:1
stop_uraid
members_sha >after
cmp before after || fail "R7: read-only has written"
start_uraid $quick start-dirty-degraded=yes
io check:0:1000000:1 write:5000:5000:3 check:5000:5000:3
stop_uraid
