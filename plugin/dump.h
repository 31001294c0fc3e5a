/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * nbdkit uraid --dump-plugin.  Main thread; no array.
 */
#ifndef URAID_DUMP_H
#define URAID_DUMP_H

/* SELF_CHECK_ERROR: NULL if parity is right on this machine. */
extern void dump_plugin (const char *self_check_error);

#endif
