#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The kernel guest itself: an array is made, filled, cut off from power while
# it is written, assembled, and found to be right; two guests run at once;
# failures are reported.

. "${0%/*}/functions.sh"

requires_oracle

make_members 5 20M
cat >create <<'END'
set -e
mdadm --create /dev/md0 --run --quiet --level=6 --raid-devices=4 --chunk=64 \
    --bitmap=internal $(members 4)
md-wait
head -c 8388608 /dev/m4 >/dev/md0
md-check
mdadm --stop /dev/md0
END
head -c 20M /dev/urandom >./m4
[ "$(oracle m0 m1 m2 m3 m4 -- create)" = 0 ]
mdadm -E m0 | grep -q 'State : clean'

cat >./cut <<'END'
set -e
mdadm --assemble --quiet /dev/md0 $(members 4)
echo 0 >/sys/block/md0/md/safe_mode_delay
dd if=/dev/m4 of=/dev/md0 bs=1M count=4 oflag=direct
power-cut 42
END
status=0
oracle m0 m1 m2 m3 m4 -- ./cut || status=$?
[ "$status" -eq 42 ]
mdadm -E m0 | grep -q 'State : active'

# Others at the same time, one of them too slow.
truncate -s 1M n0 n1
# shellcheck disable=SC2016 # not to be expanded here
oracle n0 -- - "a b" '$c' <<<'echo "$# $1 $2"' >words &
first=$!
oracle --timeout 5 n1 -- - <<<'sleep 60' 2>late &
second=$!
cat >assemble <<'END'
set -e
mdadm --assemble --quiet /dev/md0 $(members 4)
md-wait
md-check
cmp -n 8388608 /dev/m4 /dev/md0
mdadm --stop /dev/md0
END
[ "$(oracle m0 m1 m2 m3 m4 -- assemble)" = 0 ]
wait_exit $first 60
[ "$exit_status" -eq 0 ]
# shellcheck disable=SC2016 # not to be expanded
[ "$(cat words)" = '2 a b $c' ]
wait_exit $second 60
[ "$exit_status" -eq 124 ]
grep -q 'timed out after 5 s' late

# A file can be in one guest only, and must be made of sectors.
status=0
oracle m0 m1 m0 -- assemble 2>error || status=$?
[ "$status" -eq 125 ]
grep -q 'm0: in use by another guest, or given twice' error
truncate -s 1000 odd
status=0
oracle odd -- assemble 2>error || status=$?
[ "$status" -eq 125 ]
grep -q '1000 bytes is not a positive multiple of 512' error
