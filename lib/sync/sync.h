/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Background work: resync after an unclean stop, recovery of one or two
 * members in one pass.  One thread with a window of segments in flight.
 */
#ifndef URAID_SYNC_H
#define URAID_SYNC_H

#include "../array/array.h"

struct sync;

/* Start the thread (after array_start).  WINDOW: segments in flight, 1 ..
 * ENGINE_SYNC_WINDOW.  0 or -errno.
 */
extern int sync_start (struct array *a, unsigned window, struct sync **ret);
/* After array_stop: join the thread, free.  NULL is fine. */
extern void sync_stop (struct sync *s);

#endif
