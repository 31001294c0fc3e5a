/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * md's bad-block log: bytes to a sorted, merged list of ranges and back.
 * Bytes and arithmetic only; no I/O, no locks.
 */
#ifndef URAID_BADBLOCKS_H
#define URAID_BADBLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uraid_error.h"

struct badblocks_range {
  uint64_t start_sectors; /* absolute on the member, data_offset included */
  uint64_t len_sectors;   /* >= 1 */
};

struct badblocks {
  size_t nr;
  struct badblocks_range *ranges; /* ascending, not touching; owned */
};

/* Decode RAW (SIZE_BYTES = bblog_size * 512), unit 512 << SHIFT bytes.
 * 0, or -EINVAL with a text (length 0, or a range that overflows).
 */
extern int badblocks_parse (const uint8_t *raw, size_t size_bytes,
                            unsigned shift, struct badblocks *ret,
                            struct uraid_error *e);

/* Encode into RAW; pieces of at most 512 units, terminated by all ones.
 * 0, or -ENOSPC when the table is too small (RAW then untouched).
 */
extern int badblocks_encode (const struct badblocks *b, unsigned shift,
                             uint8_t *raw, size_t size_bytes);

/* Does [START, START+LEN) overlap an entry? */
extern bool badblocks_overlap (const struct badblocks *b,
                               uint64_t start_sectors, uint64_t len_sectors);

/* Add or remove a range, merging and splitting.  64-bit lengths.  0 or
 * -ENOMEM.
 */
extern int badblocks_add (struct badblocks *b, uint64_t start_sectors,
                          uint64_t len_sectors);
extern int badblocks_remove (struct badblocks *b, uint64_t start_sectors,
                             uint64_t len_sectors);
extern void badblocks_done (struct badblocks *b);

#endif
