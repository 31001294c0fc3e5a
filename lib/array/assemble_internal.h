/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Between the files of the assembly (assemble.c and assemble_check.c) only.
 * Pure functions, no locks, no I/O.
 */
#ifndef URAID_ASSEMBLE_INTERNAL_H
#define URAID_ASSEMBLE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "assemble.h"

#define ASSEMBLE_WHO_BYTES 320

/* A role that names a place; md turns slots behind the last into spares. */
static inline bool
assemble_is_slot (uint16_t role, uint32_t raid_disks)
{
  return role < SB1_ROLE_MAX && role < raid_disks;
}

/* "slot 3, ADDRESS" by its own table, else "member ADDRESS". */
extern const char *assemble_who (const struct candidate *c,
                                 char buf[ASSEMBLE_WHO_BYTES]);

/* The text for a candidate that is no md member and no blank spare. */
extern int assemble_refuse_not_md (const struct candidate *c,
                                   struct uraid_error *e);

/* C's superblock (a blank spare: its size) and export: can it be used in the
 * array of superblock ARRAY?  0, -EOPNOTSUPP, -EINVAL or -EROFS.
 */
extern int assemble_check_fit (const struct candidate *c,
                               const struct sb1 *array, bool will_write,
                               struct uraid_error *e);

/* What must be alike on all members of an array: is it on A and B?  0 or
 * -EINVAL with field, both values and addresses.
 */
extern int assemble_check_alike (const struct candidate *a,
                                 const struct candidate *b,
                                 struct uraid_error *e);

#endif
