#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# kill -9 under write load, restart, all acknowledged writes are there, parity
# is right after the resync: tests/crash.py, ten rounds, the kernel judging
# after the fifth and at the end.  By hand, longer (see the head of crash.py):
#   CRASH_ROUNDS=50 [CRASH_SEED=n] bash tests/test-crash.sh

. "${0%/*}/functions.sh"

requires /usr/bin/python3 -c 'import nbd'
requires_filter blocksize-policy

export NBDKIT URAID_PLUGIN=$PLUGIN URAID_TOOL=$URAID
export URAID_PRELOAD=${sanitizer_preload:-} URAID_TEST_DIR=$workdir
export PYTHONDONTWRITEBYTECODE=1

rounds=${CRASH_ROUNDS:-10}
kernel_every=5
if [ "${CI:-}" = true ]; then
    requires_oracle
elif ! (requires_oracle) 2>/dev/null; then
    echo "$test_name: no kernel guest here: only our own checker judges"
    kernel_every=0
fi
/usr/bin/python3 "$abs_top_srcdir/tests/crash.py" --rounds "$rounds" \
    --kernel-every "$kernel_every" ${CRASH_SEED:+--seed "$CRASH_SEED"} &
pids[$!]=1
wait_exit $! $((rounds * 60 + 300))
[ "$exit_status" -eq 0 ] || fail "crash.py ended with status $exit_status"
