#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# field-R8: too few members are current: refused, with a table of who is what.
. "${0%/*}/functions.sh"
. "${test_file%/*}/field-functions.sh"

fresh
e=6531
for i in 0 1 2; do sb set m$i events=$((e - 4)); done
for i in 3 4 5; do sb set m$i events=$e; done
unchanged_refusal "$((e - 4))" $quick
for i in 0 1 2 3 4 5; do
    grep -q "m$i.sock" refused.log || fail "R8: member $i is not in the table"
done
