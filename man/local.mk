# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors

EXTRA_DIST += \
	man/nbdkit-uraid-plugin.pod \
	man/uraid-control.pod \
	man/uraid.pod \
	$(NULL)
man1_MANS += man/nbdkit-uraid-plugin.1
man7_MANS = man/uraid-control.7
man8_MANS += man/uraid.8
CLEANFILES += $(man1_MANS) $(man7_MANS) $(man8_MANS)

POD2MAN_FLAGS = \
	--utf8 --errors=die --center=uraid --release='uraid $(VERSION)' \
	$(NULL)

# The tunables' part is made from their table, so that it cannot be forgotten.
# The table alone is compiled in: this runs before anything is installed.
noinst_PROGRAMS += man/tunables_pod
man_tunables_pod_SOURCES = \
	lib/control/tunables_table.c \
	lib/control/tunables_table.h \
	man/tunables_pod.c \
	$(NULL)
man_tunables_pod_CFLAGS = $(AM_CFLAGS)
man_tunables_pod_LDADD =
CLEANFILES += \
	man/nbdkit-uraid-plugin.gen.pod \
	man/tunables_items.pod \
	man/tunables_synopsis.pod \
	$(NULL)

man/nbdkit-uraid-plugin.gen.pod: man/nbdkit-uraid-plugin.pod \
    man/tunables_pod$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && \
	  man/tunables_pod$(EXEEXT) items >man/tunables_items.pod && \
	  man/tunables_pod$(EXEEXT) synopsis >man/tunables_synopsis.pod && \
	  sed -e '/@TUNABLES_ITEMS@/{r man/tunables_items.pod' -e 'd;}' \
	    -e '/@TUNABLES_SYNOPSIS@/{r man/tunables_synopsis.pod' -e 'd;}' \
	    $(srcdir)/man/nbdkit-uraid-plugin.pod >$@-t && mv $@-t $@
man/nbdkit-uraid-plugin.1: man/nbdkit-uraid-plugin.gen.pod
	$(AM_V_GEN)$(POD2MAN) $(POD2MAN_FLAGS) --section=1 \
	    --name=nbdkit-uraid-plugin man/nbdkit-uraid-plugin.gen.pod $@-t && \
	  mv $@-t $@
man/uraid-control.7: man/uraid-control.pod
	$(AM_V_GEN)$(MKDIR_P) man && \
	  $(POD2MAN) $(POD2MAN_FLAGS) --section=7 --name=uraid-control \
	    $(srcdir)/man/uraid-control.pod $@-t && mv $@-t $@
man/uraid.8: man/uraid.pod
	$(AM_V_GEN)$(MKDIR_P) man && \
	  $(POD2MAN) $(POD2MAN_FLAGS) --section=8 --name=uraid \
	    $(srcdir)/man/uraid.pod $@-t && mv $@-t $@
