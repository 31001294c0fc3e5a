/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Was the server told to serve read-only?  nbdkit tells a plugin only when a
 * client comes, and that is too late: an array that may be written is made
 * ready for it (resync, recovery) before.  So the command line is looked at.
 * Pure functions but for cmdline_self; no locks.
 */
#ifndef URAID_CMDLINE_H
#define URAID_CMDLINE_H

#include <stdbool.h>

/* Could ARGV (NULL at its end, ARGV[0] is the program) make nbdkit open the
 * plugin read-only?  Errs on the side of true: a wrong "true" only puts off
 * the first write until a client may write, a wrong "false" would write where
 * -r promised not to.
 */
extern bool cmdline_maybe_read_only (const char *const argv[]);

/* The same of this process.  True if it cannot be found out. */
extern bool cmdline_self_maybe_read_only (void);

#endif
