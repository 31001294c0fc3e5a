# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The nbdkit plugin.  Before installation: nbdkit plugin/.libs/nbdkit-uraid-plugin.so

plugin_LTLIBRARIES += plugin/nbdkit-uraid-plugin.la
plugin_nbdkit_uraid_plugin_la_SOURCES = \
	plugin/address.c \
	plugin/address.h \
	plugin/cmdline.c \
	plugin/cmdline.h \
	plugin/control.c \
	plugin/control.h \
	plugin/debug.c \
	plugin/debug.h \
	plugin/dump.c \
	plugin/dump.h \
	plugin/params.c \
	plugin/params.h \
	plugin/params_internal.h \
	plugin/params_parse.c \
	plugin/params_rules.c \
	plugin/params_tune.c \
	plugin/plugin.c \
	plugin/requests.c \
	plugin/requests.h \
	plugin/values.c \
	plugin/values.h \
	$(NULL)
plugin_nbdkit_uraid_plugin_la_CFLAGS = \
	$(AM_CFLAGS) \
	$(WARN_CONVERSION_CFLAGS) \
	$(NBDKIT_CFLAGS) \
	$(NULL)
plugin_nbdkit_uraid_plugin_la_LDFLAGS = \
	$(AM_LDFLAGS) \
	-module -avoid-version -shared \
	$(NULL)
if USE_VERSION_SCRIPT
plugin_nbdkit_uraid_plugin_la_LDFLAGS += \
	-Wl,--version-script=$(srcdir)/plugin/plugin.syms
endif
plugin_nbdkit_uraid_plugin_la_LIBADD = $(URAID_LIBS)
EXTRA_plugin_nbdkit_uraid_plugin_la_DEPENDENCIES = plugin/plugin.syms
EXTRA_DIST += plugin/plugin.syms
