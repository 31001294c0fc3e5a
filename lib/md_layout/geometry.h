/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Where a byte of the array lies: levels 4, 5 and 6 with all of md's layouts.
 * Pure arithmetic, no I/O, no locks; a struct geometry is constant after
 * geometry_init and may be read by any thread.
 *
 * Words: slot = place of a member in the array (0 .. raid_disks-1); data
 * index = 0 .. data_disks-1 in array order inside a row; row = one chunk of
 * every member at the same member offset; member offset = relative to the
 * member's data_offset.
 */
#ifndef URAID_GEOMETRY_H
#define URAID_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "uraid_error.h"

#define GEOMETRY_MAX_DISKS 253 /* md-format 3.1 */
#define GEOMETRY_PAGE_BYTES 4096
#define GEOMETRY_PAGE_SHIFT 12

/* Values of row_map.role for slots that hold no data. */
#define ROLE_P (-1)
#define ROLE_Q (-2)

/* The placement in one row.  Rows with the same (row % period) are alike. */
struct row_map {
  uint8_t p_slot;                        /* slot of P */
  uint8_t q_slot;                        /* slot of Q, 0xff without Q */
  uint8_t data_slot[GEOMETRY_MAX_DISKS]; /* by data index */
  int16_t role[GEOMETRY_MAX_DISKS];      /* by slot: data index, ROLE_x */
  uint8_t exponent[GEOMETRY_MAX_DISKS];  /* by slot: power of g in Q;
                                            0 for P and Q */
};

struct geometry {
  int level;             /* 4, 5, 6 */
  uint32_t layout;       /* md's number */
  unsigned raid_disks;   /* n */
  unsigned data_disks;   /* m = n - parity_disks */
  unsigned parity_disks; /* 1 or 2 */
  bool ddf;              /* exponents are slot numbers (gaps at P, Q) */
  uint64_t chunk_bytes;  /* power of two, >= 4096 */
  unsigned chunk_shift;  /* log2 (chunk_bytes) */
  uint64_t member_bytes; /* used bytes of each member, multiple of chunk */
  uint64_t array_bytes;  /* data_disks * member_bytes */
  uint64_t rows;         /* member_bytes / chunk_bytes */
  unsigned period;       /* number of different row maps */
  struct row_map *maps;  /* period entries, owned */
};

/* A piece of the array on one member. */
struct geometry_place {
  uint64_t row;
  unsigned data_index;
  unsigned slot;
  uint64_t member_offset_bytes; /* relative to data_offset */
};

/* Fill G.  SIZE_SECTORS is the superblock's size field (masked down to whole
 * chunks here).  Refuses with a text: a level other than 4, 5, 6, an unknown
 * layout, raid_disks out of range (level 6: 4..253, level 4/5: 2..253), a
 * chunk that is no power of two or below 8 sectors, an array size that does
 * not fit in 63 bits.  Returns 0 or -EINVAL, -ENOMEM.  Free with
 * geometry_done.
 */
extern int geometry_init (struct geometry *g, int level, uint32_t layout,
                          uint32_t raid_disks, uint32_t chunk_sectors,
                          uint64_t size_sectors, struct uraid_error *e);

/* Free what G owns.  G may be zeroed memory. */
extern void geometry_done (struct geometry *g);

/* The placement of row ROW. */
static inline const struct row_map *
geometry_row (const struct geometry *g, uint64_t row)
{
  return &g->maps[row % g->period];
}

/* Array byte offset -> place.  OFFSET_BYTES must be below array_bytes. */
extern void geometry_locate (const struct geometry *g, uint64_t offset_bytes,
                             struct geometry_place *ret);

/* Member (SLOT, member offset in bytes) -> array byte offset.  Returns 0, or
 * ROLE_P / ROLE_Q (negative) when that place holds parity (then *RET is
 * untouched).
 */
extern int geometry_inverse (const struct geometry *g, unsigned slot,
                             uint64_t member_offset_bytes, uint64_t *ret);

/* "left-symmetric" and so on for (level, layout); "-" for level 4; NULL when
 * unknown.  Names are mdadm's.
 */
extern const char *geometry_layout_name (int level, uint32_t layout);

/* The reverse of geometry_layout_name; accepts mdadm's short forms ls, la,
 * rs, ra, the names and plain numbers.  Returns 0 or -EINVAL with the list
 * of what is allowed.
 */
extern int geometry_layout_parse (int level, const char *name, uint32_t *ret,
                                  struct uraid_error *e);

/* True if "uraid create" makes this layout: the plain ones and DDF.  The "-6"
 * forms (left by a change of level; mdadm --create makes them too) are served.
 */
extern bool geometry_layout_creatable (int level, uint32_t layout);

#endif
