# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The command "uraid", one file per family of verbs.

bin_PROGRAMS += tools/uraid
tools_uraid_SOURCES = \
	tools/common.c \
	tools/common.h \
	tools/create.c \
	tools/create.h \
	tools/create_check.c \
	tools/create_plan.c \
	tools/create_report.c \
	tools/create_write.c \
	tools/detail.c \
	tools/detail.h \
	tools/detail_stats.c \
	tools/erase.c \
	tools/erase.h \
	tools/examine.c \
	tools/examine.h \
	tools/examine_json.c \
	tools/examine_parts.c \
	tools/examine_text.c \
	tools/format.c \
	tools/getset.c \
	tools/help.c \
	tools/identity.c \
	tools/identity.h \
	tools/look.c \
	tools/look.h \
	tools/main.c \
	tools/online.c \
	tools/online.h \
	tools/online_find.c \
	tools/probe.c \
	tools/query.c \
	tools/status.c \
	tools/stop.c \
	tools/view.c \
	tools/view.h \
	tools/zero_superblock.c \
	$(NULL)
tools_uraid_CFLAGS = \
	$(AM_CFLAGS) \
	$(WARN_CONVERSION_CFLAGS) \
	$(NULL)
tools_uraid_LDADD = $(URAID_LIBS)
