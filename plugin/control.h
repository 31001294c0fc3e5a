/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The control socket of the array served: its methods, and the end of the
 * process when a client of the socket asks for it.
 */
#ifndef URAID_PLUGIN_CONTROL_H
#define URAID_PLUGIN_CONTROL_H

#include "../lib/array/array.h"

/* Listen where control= says, or at the default place.  Without a default
 * place: a remark and no socket.  .get_ready, main thread.  0, or -1 after
 * nbdkit_error.
 */
extern int control_get_ready (struct array *a);
/* Start the thread; .after_fork.  0, or -1 after nbdkit_error. */
extern int control_start (void);
/* End it and remove the socket; .cleanup, before array_close. */
extern void control_stop (void);

/* The shutdown thread, when the array is stopped: wait for .cleanup.  If the
 * stop was asked for over the socket and .cleanup does not come, end the
 * process: then this does not return.
 */
extern void control_end_wait (void);
/* .cleanup has begun; before the shutdown thread is joined. */
extern void control_ending (void);

#endif
