/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Member addresses as they are written on the command line.  Members are
 * connected to again and again, and a daemon sits in /: every path in an
 * address is made absolute while the directory is still the caller's.  Pure
 * functions; no locks.
 */
#ifndef URAID_ADDRESS_H
#define URAID_ADDRESS_H

#include <stdbool.h>

/* Does it begin like a URI ("word:")?  Else it is a path. */
extern bool address_is_uri (const char *address);

/* ADDRESS with relative paths (a plain path; socket= and the TLS files in the
 * query of a URI) put behind CWD, which must be absolute.  To be freed by the
 * caller.  NULL: out of memory.
 */
extern char *address_absolute (const char *address, const char *cwd);

#endif
