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

man/nbdkit-uraid-plugin.1: man/nbdkit-uraid-plugin.pod
	$(AM_V_GEN)$(MKDIR_P) man && \
	  $(POD2MAN) $(POD2MAN_FLAGS) --section=1 --name=nbdkit-uraid-plugin \
	    $(srcdir)/man/nbdkit-uraid-plugin.pod $@-t && mv $@-t $@
man/uraid-control.7: man/uraid-control.pod
	$(AM_V_GEN)$(MKDIR_P) man && \
	  $(POD2MAN) $(POD2MAN_FLAGS) --section=7 --name=uraid-control \
	    $(srcdir)/man/uraid-control.pod $@-t && mv $@-t $@
man/uraid.8: man/uraid.pod
	$(AM_V_GEN)$(MKDIR_P) man && \
	  $(POD2MAN) $(POD2MAN_FLAGS) --section=8 --name=uraid \
	    $(srcdir)/man/uraid.pod $@-t && mv $@-t $@
