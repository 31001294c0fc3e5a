# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# One convenience library for plugin, command and tests.  The layers are in the
# order in which they may include each other, lowest first (scripts/check-layers).

noinst_LTLIBRARIES += lib/liburaid.la
lib_liburaid_la_SOURCES = \
	lib/md_layout/badblocks.c \
	lib/md_layout/badblocks.h \
	lib/md_layout/bitmap_sb.c \
	lib/md_layout/bitmap_sb.h \
	lib/md_layout/geometry.c \
	lib/md_layout/geometry.h \
	lib/md_layout/le.h \
	lib/md_layout/parity.c \
	lib/md_layout/parity.h \
	lib/md_layout/parity_ref.c \
	lib/md_layout/sb1.c \
	lib/md_layout/sb1.h \
	lib/md_layout/sb1_judge.c \
	lib/md_layout/signature.c \
	lib/md_layout/signature.h \
	lib/md_layout/sizing.c \
	lib/md_layout/sizing.h \
	lib/md_layout/uraid_error.c \
	lib/md_layout/uraid_error.h \
	lib/member/child.c \
	lib/member/child.h \
	lib/member/connect.c \
	lib/member/connect.h \
	lib/member/lane.c \
	lib/member/lane.h \
	lib/member/lane_cmd.c \
	lib/member/lane_conn.c \
	lib/member/lane_internal.h \
	lib/member/lane_merge.c \
	lib/member/member.c \
	lib/member/member.h \
	lib/member/sync_io.c \
	lib/member/sync_io.h \
	lib/stripecache/autosize.c \
	lib/stripecache/autosize.h \
	lib/stripecache/pages.c \
	lib/stripecache/pages.h \
	lib/stripecache/stripecache.c \
	lib/stripecache/stripecache.h \
	lib/stripecache/topology.c \
	lib/stripecache/topology.h \
	lib/stripecache/workers.c \
	lib/stripecache/workers.h \
	lib/engine/engine.c \
	lib/engine/engine.h \
	lib/engine/engine_int.h \
	lib/engine/io.c \
	lib/engine/plan.c \
	lib/engine/plan.h \
	lib/engine/read.c \
	lib/engine/readahead.c \
	lib/engine/run.c \
	lib/engine/run_decode.c \
	lib/engine/run_write.c \
	lib/engine/tune.c \
	lib/array/array.c \
	lib/array/array.h \
	lib/array/array_int.h \
	lib/array/assemble.c \
	lib/array/assemble.h \
	lib/array/assemble_check.c \
	lib/array/assemble_internal.h \
	lib/array/assemble_table.c \
	lib/array/fault.c \
	lib/array/jobs.c \
	lib/array/load.c \
	lib/array/meta.c \
	lib/array/meta_io.c \
	lib/array/slots.c \
	lib/array/snapshot.c \
	lib/array/snapshot.h \
	lib/array/state.c \
	lib/array/wbitmap.c \
	lib/array/wbitmap.h \
	lib/sync/sync.c \
	lib/sync/sync.h \
	lib/control/path.c \
	lib/control/readout.c \
	lib/control/readout.h \
	lib/control/rpc.c \
	lib/control/rpc.h \
	lib/control/server.c \
	lib/control/server.h \
	lib/control/server_internal.h \
	lib/control/tunables.c \
	lib/control/tunables.h \
	lib/control/tunables_json.c \
	lib/control/tunables_json.h \
	lib/control/tunables_table.c \
	lib/control/tunables_table.h \
	$(NULL)
lib_liburaid_la_CFLAGS = \
	$(AM_CFLAGS) \
	$(WARN_CONVERSION_CFLAGS) \
	$(NULL)
