#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Writers of full rows, which need no reads, and writers of single blocks, which
# do: with each preread_bypass_threshold both make progress in every part of the
# test (S31).  Which order the workers keep is in unit/test-workers; here nobody
# may wait until the others have ended, wherever that might come from.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
load() { /usr/bin/python3 "$abs_top_srcdir/tests/load.py" "$@"; }
rpc() { /usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" "$uraid_control" "$@"; }
# more NAME N: a counter since the last reset, or nothing was tested
more() {
    local n
    n=$(rpc stats.get "stats.$1")
    echo "$1: $n"
    [ "$n" -ge "$2" ] || fail "$1 is $n, want $2"
}

make_members 6 8M
start_members 6
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
# So few stripes that most of what must be read is not in the cache.
start_uraid -t32 group_thread_cnt=2 stripe_cache_size=17
for i in 0 1 16; do
    uraid_cmd set "$uraid_control" preread_bypass_threshold $i
    rpc stats.reset >/dev/null
    load --depth 8 "$uraid_uri" fair --rounds 3
    more waits 20
    more write_full 100
    more prereads 100
done
[ "$(rpc detail workers.wakes)" -gt 0 ] || fail 'no worker has run'
stop_uraid
