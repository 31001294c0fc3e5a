#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Random requests against a flat byte array, with members killed, restarts,
# spares and recoveries: tests/model.py with two seeds for a minute together.
# By hand, longer (see the head of model.py):
#   MODEL_SECONDS=600 MODEL_SEEDS=10 [MODEL_SEED=n] bash tests/test-model.sh

. "${0%/*}/functions.sh"

requires /usr/bin/python3 -c 'import nbd'
requires_filter blocksize-policy

export NBDKIT URAID_PLUGIN=$PLUGIN URAID_TOOL=$URAID
export URAID_PRELOAD=${sanitizer_preload:-} URAID_TEST_DIR=$workdir
export PYTHONDONTWRITEBYTECODE=1

seconds=${MODEL_SECONDS:-60}
/usr/bin/python3 "$abs_top_srcdir/tests/model.py" --seconds "$seconds" \
    --seeds "${MODEL_SEEDS:-2}" ${MODEL_SEED:+--seed "$MODEL_SEED"} &
pids[$!]=1
# Starts, comparing and the last recoveries come on top.
wait_exit $! $((seconds * 4 + 300))
[ "$exit_status" -eq 0 ] || fail "model.py ended with status $exit_status"
