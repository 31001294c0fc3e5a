/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The data callbacks, and how many of them are at work.  Called by nbdkit's
 * request threads, many at once.
 */
#ifndef URAID_REQUESTS_H
#define URAID_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/array/array.h"

/* Set once, in .get_ready, before there are request threads. */
extern void requests_init (struct array *a);

/* Wait until no callback is at work, at most TIMEOUT_MS.  For the end: nbdkit
 * hands out no new requests any more.
 */
extern bool requests_drain (uint64_t timeout_ms);

/* The errno (positive) that a client may see: one that NBD can carry. */
extern int uraid_wire_errno (int err);

extern int uraid_pread (void *handle, void *buf, uint32_t count,
                        uint64_t offset, uint32_t flags);
extern int uraid_pwrite (void *handle, const void *buf, uint32_t count,
                         uint64_t offset, uint32_t flags);
extern int uraid_flush (void *handle, uint32_t flags);
extern int uraid_zero (void *handle, uint32_t count, uint64_t offset,
                       uint32_t flags);
extern int uraid_trim (void *handle, uint32_t count, uint64_t offset,
                       uint32_t flags);

#endif
