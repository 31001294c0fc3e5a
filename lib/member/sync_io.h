/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Blocking I/O on connected members, for the time before lanes run and for
 * the command line tool.  Uses connection 0 and drives its socket itself
 * (poll + nbd_aio_notify_*), with the member's request time-out (30 s when
 * that is off).  One thread only.  All offsets and lengths in bytes, any
 * alignment: reads are widened to min_block; writes that do not fit
 * min_block read, merge and write (only the tool and metadata do that).
 * Requests are split at max_block.
 */
#ifndef URAID_SYNC_IO_H
#define URAID_SYNC_IO_H

#include "member.h"

extern int member_pread (struct member *m, void *buf, size_t len,
                         uint64_t offset, struct uraid_error *e);
/* FUA where the member has it, else a flush follows. */
extern int member_pwrite_durable (struct member *m, const void *buf,
                                  size_t len, uint64_t offset,
                                  struct uraid_error *e);
extern int member_pwrite (struct member *m, const void *buf, size_t len,
                          uint64_t offset, struct uraid_error *e);
/* Write zeroes (zero command if offered, else plain writes). */
extern int member_pzero (struct member *m, uint64_t len, uint64_t offset,
                         struct uraid_error *e);
extern int member_flush (struct member *m, struct uraid_error *e);

#endif
