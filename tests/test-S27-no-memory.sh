#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Memory runs out while group_thread_cnt is changed under load (S27): the
# command fails and says so, the old count is shown and works, requests go on,
# and data and parity are right.  A debugger makes the allocations fail: the
# server has a counter for it (workers_test_fail_alloc), which the unit tests
# use too, but no way to set it from outside.

. "${0%/*}/functions.sh"
requires command -v gdb

# shellcheck disable=SC2154 # from functions.sh
load() { /usr/bin/python3 "$abs_top_srcdir/tests/load.py" "$@"; }
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }

make_members 6 8M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
start_uraid -t32 group_thread_cnt=4

cat >debugger <<END
#!/bin/sh
exec gdb -nx -batch -iex 'set debuginfod enabled off' -p $uraid_pid "\$@" \
    >>gdb.log 2>&1 </dev/null
END
# no-memory N: the Nth allocation of the next change fails
cat >no-memory <<END
#!/bin/sh
set -e
./debugger -ex "set variable 'workers.c'::fail_alloc = \$1"
if "$URAID" set "$uraid_control" group_thread_cnt 8 >out.\$1 2>&1; then
    echo "without memory the count is changed"
    exit 1
fi
cat out.\$1
grep -q 'group_thread_cnt: 8: not enough memory; the old value 4 stays' out.\$1
"$URAID" get "$uraid_control" group_thread_cnt | grep '^group_thread_cnt 4 '
END
chmod +x debugger no-memory
./debugger -ex "print 'workers.c'::fail_alloc"
grep -q '^\$1 = 0$' gdb.log || skip "gdb cannot debug another process here"

# The old workers still work: they are woken between the last two commands.
cat >wakes <<END
#!/bin/sh
/usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control"     detail workers.wakes >\$1
END
chmod +x wakes
load "$uraid_uri" verify want -e './no-memory 1' -e './no-memory 2' \
    -e './wakes before' -e './wakes after'
[ "$(cat before)" -lt "$(cat after)" ] || fail 'the workers rest'
[ "$(rpc detail workers.group_thread_cnt)" = 4 ]
uraid_cmd set "$uraid_control" group_thread_cnt 8
[ "$(rpc detail workers.group_thread_cnt)" = 8 ]
stop_uraid
load images want m0 m1 m2 m3 m4 m5
