/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Helpers around one libnbd handle, shared by the files of lib/member and by
 * nobody else.  Each handle belongs to one thread at a time; these functions
 * are called by that thread.
 */
#ifndef URAID_CONNECT_H
#define URAID_CONNECT_H

#include <stdint.h>

#include <libnbd.h>

#include "member.h"

/* Milliseconds of the monotonic clock (coarse: a few ms). */
extern uint64_t member_now_ms (void);
extern uint64_t member_now_us (void);

/* Shut the socket down and drive the handle until it is final, so that the
 * completion of every command has been called.  The handle stays the
 * caller's: it can only be closed.
 */
extern void member_conn_kill (struct nbd_handle *h);

/* Close a handle, orderly if it is ready and idle.  NULL is fine. */
extern void member_conn_close (struct nbd_handle *h);

/* Close all connections that the member still has and end its private
 * servers.  Leaves nr_conns 0.
 */
extern void member_conns_close (struct member *m, unsigned grace_ms);

/* One turn of the event contract: REVENTS are poll(2) bits.  The direction is
 * read again, reading goes first, and never both.  -1 with nbd_get_error set
 * if libnbd says so.
 */
extern int member_conn_notify (struct nbd_handle *h, short revents);

#endif
