/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Erasing RAID superblocks of any known format from a member, wherever look.c
 * found one.  Used by create and zero-superblock.  One thread, no locks.
 */
#ifndef URAID_TOOLS_ERASE_H
#define URAID_TOOLS_ERASE_H

#include "look.h"

#define ERASE_MAX 8

struct erase_range {
  uint64_t offset, len; /* bytes */
  char what[64];
};

/* Where something is to be erased on L; at most ERASE_MAX.  Returns how many.
 * FOREIGN: also RAID formats that are not md's own (DDF, IMSM).
 */
extern size_t erase_plan (const struct look *l, bool foreign,
                          struct erase_range ret[ERASE_MAX]);

/* Zero the NR ranges and flush.  0 or -errno with text. */
extern int erase_write (struct look *l, const struct erase_range *ranges,
                        size_t nr, struct uraid_error *e);

#endif
