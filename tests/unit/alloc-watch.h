/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Aborts the test when anything is allocated, or a thread started, where the
 * workers must not do so (S28).  tests/local.mk lets the linker send the calls
 * of liburaid and of the test to alloc-watch.c.  Any thread.
 */
#ifndef ALLOC_WATCH_H
#define ALLOC_WATCH_H

extern void alloc_watch_reset (void);

/* Allocations seen so far, all of them where they are allowed. */
extern unsigned alloc_watch_allocations (void);

/* Mutexes locked where nothing may be allocated: that somebody was there. */
extern unsigned alloc_watch_locks (void);

#endif
