# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The tests; tests/README tells how to write and run one.

# C programs, one source file each: tests/unit/test-x is made from
# tests/unit/test-x.c and linked with all of lib/.
UNIT_TESTS = \
	tests/unit/test-assemble \
	tests/unit/test-assemble-members \
	tests/unit/test-autosize \
	tests/unit/test-badblocks \
	tests/unit/test-bitmap-sb \
	tests/unit/test-cmdline \
	tests/unit/test-engine \
	tests/unit/test-engine-degraded \
	tests/unit/test-geometry \
	tests/unit/test-geometry-big \
	tests/unit/test-hash-locks \
	tests/unit/test-lane \
	tests/unit/test-lane-merge \
	tests/unit/test-member \
	tests/unit/test-parity \
	tests/unit/test-parity-recover \
	tests/unit/test-plan \
	tests/unit/test-readout \
	tests/unit/test-rpc \
	tests/unit/test-run-states \
	tests/unit/test-sb1 \
	tests/unit/test-signature \
	tests/unit/test-sizing \
	tests/unit/test-stripecache \
	tests/unit/test-tunables \
	tests/unit/test-workers \
	$(NULL)

# Shell scripts, one behaviour each.
SHELL_TESTS = \
	tests/test-S01-counts.sh \
	tests/test-S05-hash-locks.sh \
	tests/test-S10-workers-under-load.sh \
	tests/test-S16-workloads.sh \
	tests/test-S27-no-memory.sh \
	tests/test-S31-fairness.sh \
	tests/test-S32-no-stall.sh \
	tests/test-auto-rules.sh \
	tests/test-control.sh \
	tests/test-control-hostile.sh \
	tests/test-bench.sh \
	tests/test-counted.sh \
	tests/test-create-R15.sh \
	tests/test-create-refuse.sh \
	tests/test-dump-plugin.sh \
	tests/test-examine-mdadm.sh \
	tests/test-field-R10.sh \
	tests/test-field-R11.sh \
	tests/test-field-R12.sh \
	tests/test-field-R13.sh \
	tests/test-field-R14.sh \
	tests/test-field-R16.sh \
	tests/test-field-R17.sh \
	tests/test-field-R20.sh \
	tests/test-field-R21.sh \
	tests/test-field-R22.sh \
	tests/test-field-R30.sh \
	tests/test-field-R31.sh \
	tests/test-field-R32.sh \
	tests/test-field-R33.sh \
	tests/test-field-R34.sh \
	tests/test-field-R35.sh \
	tests/test-field-R36.sh \
	tests/test-field-R37.sh \
	tests/test-field-R7.sh \
	tests/test-field-R8.sh \
	tests/test-field-R9.sh \
	tests/test-functions.sh \
	tests/test-lost-member.sh \
	tests/test-man-uraid.sh \
	tests/test-man.sh \
	tests/test-online-format.sh \
	tests/test-online-verbs.sh \
	tests/test-params.sh \
	tests/test-probe.sh \
	tests/test-query.sh \
	tests/test-S03-cache-memory.sh \
	tests/test-S17-small-machine.sh \
	tests/test-S24-thread-count.sh \
	tests/test-S30-request-size.sh \
	tests/test-S39-lock-takes.sh \
	tests/test-S44-no-copy.sh \
	tests/test-S45-write-stats.sh \
	tests/test-shutdown.sh \
	tests/test-zero-superblock.sh \
	$(NULL)

# Shell scripts that run for a minute or more.
LONG_TESTS = \
	tests/test-crash.sh \
	tests/test-model.sh \
	$(NULL)

# Shell scripts that need the kernel of tests/oracle: make check-oracle.
ORACLE_TESTS = \
	tests/oracle-create-mdadm.sh \
	tests/oracle-degraded-events.sh \
	tests/oracle-guest.sh \
	tests/oracle-kernel-made.sh \
	tests/oracle-recovery-handover.sh \
	tests/oracle-resync.sh \
	tests/oracle-same-fields.sh \
	tests/oracle-uraid-made.sh \
	$(NULL)

# Those of the above where threads meet: make check-tsan.
TSAN_TESTS = \
	tests/test-control.sh \
	tests/test-control-hostile.sh \
	tests/test-counted.sh \
	tests/test-field-R30.sh \
	tests/test-field-R32.sh \
	tests/test-model.sh \
	tests/test-S05-hash-locks.sh \
	tests/test-S10-workers-under-load.sh \
	tests/test-S24-thread-count.sh \
	tests/test-S39-lock-takes.sh \
	tests/test-S44-no-copy.sh \
	tests/test-shutdown.sh \
	tests/unit/test-engine \
	tests/unit/test-engine-degraded \
	tests/unit/test-lane \
	tests/unit/test-lane-merge \
	tests/unit/test-member \
	tests/unit/test-stripecache \
	tests/unit/test-workers \
	$(NULL)

# Enough to know that a tarball is whole: make distcheck-quick.
QUICK_TESTS = \
	tests/test-functions.sh \
	tests/test-query.sh \
	tests/test-zero-superblock.sh \
	$(NULL)

# Files that tests need and that are not tests.
EXTRA_DIST += \
	tests/README \
	tests/control-functions.sh \
	tests/crash.py \
	tests/fakectl.py \
	tests/field-functions.sh \
	tests/functions.sh \
	tests/load.py \
	tests/model.py \
	tests/nbdharness.py \
	tests/nbdio.py \
	tests/oracle \
	tests/oracle-functions.sh \
	tests/rpc.py \
	tests/sbtool.py \
	tests/tsan.supp \
	$(SHELL_TESTS) \
	$(LONG_TESTS) \
	$(ORACLE_TESTS) \
	$(NULL)

AM_CPPFLAGS += -I$(top_srcdir)/lib/md_layout $(CHECK_CFLAGS)
LDADD = $(URAID_LIBS) $(CHECK_LIBS)

# Unit tests of more than one file.
tests_unit_test_assemble_SOURCES = \
	tests/unit/assemble-rig.h \
	tests/unit/test-assemble.c \
	$(NULL)
tests_unit_test_assemble_members_SOURCES = \
	tests/unit/assemble-rig.h \
	tests/unit/test-assemble-members.c \
	$(NULL)
tests_unit_test_engine_degraded_SOURCES = \
	tests/unit/engine-rig.h \
	tests/unit/test-engine-degraded.c \
	$(NULL)
tests_unit_test_engine_SOURCES = \
	tests/unit/engine-rig.h \
	tests/unit/test-engine.c \
	$(NULL)
tests_unit_test_lane_SOURCES = \
	tests/unit/member-util.c \
	tests/unit/member-util.h \
	tests/unit/test-lane.c \
	$(NULL)
tests_unit_test_lane_merge_SOURCES = \
	tests/unit/member-util.c \
	tests/unit/member-util.h \
	tests/unit/test-lane-merge.c \
	$(NULL)
tests_unit_test_member_SOURCES = \
	tests/unit/member-util.c \
	tests/unit/member-util.h \
	tests/unit/test-member.c \
	$(NULL)
tests_unit_test_parity_SOURCES = \
	tests/unit/parity-rig.h \
	tests/unit/test-parity.c \
	$(NULL)
tests_unit_test_parity_recover_SOURCES = \
	tests/unit/parity-rig.h \
	tests/unit/test-parity-recover.c \
	$(NULL)

tests_unit_test_workers_SOURCES = \
	tests/unit/alloc-watch.c \
	tests/unit/alloc-watch.h \
	tests/unit/test-workers.c \
	$(NULL)
# To alloc-watch.c.
tests_unit_test_workers_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=malloc \
	-Wl,--wrap=calloc \
	-Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc \
	-Wl,--wrap=posix_memalign \
	-Wl,--wrap=pthread_create \
	-Wl,--wrap=pthread_mutex_lock \
	$(NULL)

if HAVE_CHECK
check_PROGRAMS += $(UNIT_TESTS)
TESTS = $(UNIT_TESTS) $(SHELL_TESTS) $(LONG_TESTS)
else
TESTS = $(SHELL_TESTS) $(LONG_TESTS)
endif

# Loaded into nbdkit beside the sanitizer's run-time library.
check_LTLIBRARIES =
if !USE_VERSION_SCRIPT
check_LTLIBRARIES += tests/preload.la
tests_preload_la_SOURCES = tests/preload.c
# -rpath: or libtool would make no shared library.
tests_preload_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif

# Seconds after which a test has failed: make check TEST_TIMEOUT=N.
TEST_TIMEOUT = 1000
TEST_EXTENSIONS = .sh
LOG_COMPILER = timeout
AM_LOG_FLAGS = -k 10 $(TEST_TIMEOUT)
SH_LOG_COMPILER = timeout
AM_SH_LOG_FLAGS = -k 10 $(TEST_TIMEOUT) $(BASH)
AM_TESTS_ENVIRONMENT = . $(abs_top_builddir)/tests/config.sh;

check-oracle:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(ORACLE_TESTS)'
check-tsan:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(TSAN_TESTS)'

clean-local:
	rm -rf tests/unit/*.gcda tests/unit/*.gcno
