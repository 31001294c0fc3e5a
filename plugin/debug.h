/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Debug flags: nbdkit -D uraid.AREA=1 sets uraid_debug_AREA before .load, and
 * finds it by its symbol (plugin.syms keeps these visible).  Constant
 * afterwards, so read without a lock.  Debug output appears with -v only,
 * except libnbd's own, which goes to stderr.
 */
#ifndef URAID_DEBUG_H
#define URAID_DEBUG_H

extern int uraid_debug_member; /* libnbd's debug output of all members */
extern int uraid_debug_engine; /* counters, when a client leaves */
extern int uraid_debug_array;  /* remarks, states */
extern int uraid_debug_sync;   /* background work begins and ends */

#endif
