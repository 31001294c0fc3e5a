/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Are two addresses the same export?  Found without writing, so it is a
 * one-sided test: the same socket (by device and inode), the same peer and
 * export name, the same file are seen; one file served by two servers is not.
 * One thread, no locks.
 */
#ifndef URAID_TOOLS_IDENTITY_H
#define URAID_TOOLS_IDENTITY_H

#include "look.h"

/* True if A and B are known to be the same; WHY then says how that is known.
 */
extern bool identity_same (const struct look *a, const struct look *b,
                           char *why, size_t why_bytes);

#endif
