/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Sizes and offsets of a new array, exactly as mdadm 4.2 chooses them for the
 * same input.  Arithmetic only; no I/O, no locks.
 */
#ifndef URAID_SIZING_H
#define URAID_SIZING_H

#include <stdbool.h>
#include <stdint.h>

#include "sb1.h"
#include "uraid_error.h"

enum sizing_bitmap {
  SIZING_BITMAP_AUTO,
  SIZING_BITMAP_NONE,
  SIZING_BITMAP_INTERNAL
};

struct sizing_input {
  int level;
  unsigned minor; /* 0, 1, 2 */
  unsigned raid_disks;
  unsigned spare_disks;
  uint32_t chunk_kib;           /* 0 = default 512 */
  uint64_t size_kib;            /* --size, 0 = as large as possible */
  uint64_t data_offset_sectors; /* --data-offset; UINT64_MAX = choose */
  enum sizing_bitmap bitmap;
  uint32_t bitmap_chunk_bytes; /* 0 = choose */
  const uint64_t *dev_sectors; /* raid_disks + spare_disks entries in order
                                  of listing; 0 = missing */
};

/* What is the same on all members ... */
struct sizing_result {
  uint32_t chunk_sectors;
  uint64_t data_offset_sectors;
  uint64_t size_sectors; /* component size */
  uint64_t array_sectors;
  bool has_bitmap;
  int32_t bitmap_offset_sectors; /* from the superblock; valid if has_bitmap */
  uint32_t bitmap_chunk_bytes;
  uint64_t bitmap_bits;
  uint64_t bitmap_area_bytes;
  uint32_t max_dev;
};

/* ... and what differs. */
struct sizing_member {
  uint64_t super_offset_sectors;
  uint64_t data_size_sectors;
  int32_t bblog_offset_sectors; /* 0 = none */
  uint16_t bblog_size_sectors;
};

/* Choose.  0, or -EINVAL with a text (member too small: index in the list,
 * found and needed; bitmap chunk too small: smallest allowed; --size too
 * large; ...).  Any dev_sectors from 0 up and any field value is safe.
 */
extern int sizing_array (const struct sizing_input *in,
                         struct sizing_result *ret, struct uraid_error *e);

/* Place things on one member of DEV_SECTORS.  0 or -EINVAL with a text. */
extern int sizing_member (const struct sizing_input *in,
                          const struct sizing_result *r, uint64_t dev_sectors,
                          struct sizing_member *ret, struct uraid_error *e);

/* Build the superblock of member DEV_NUMBER of a new array (md-format 2.8):
 * all fields but uuids, name, times, level, layout, roles, which the caller
 * set in *SB before (zeroed otherwise), are filled in here.
 */
extern void sizing_fill_sb (const struct sizing_input *in,
                            const struct sizing_result *r,
                            const struct sizing_member *m, unsigned dev_number,
                            struct sb1 *sb);

/* Superblock for a blank device of DEV_SECTORS that joins an existing array
 * (md-format 2.7): a copy of TEMPLATE (an in-sync member) with own
 * dev_number, role spare, events 0, fresh DEVICE_UUID, own data_size and
 * bad-block log place.  BITMAP_AREA_BYTES of the running bitmap, 0 = none.
 * 0, or -ENOSPC with found and needed size in the text.
 */
extern int sizing_spare_sb (const struct sb1 *template_sb,
                            uint64_t dev_sectors, uint64_t bitmap_area_bytes,
                            const uint8_t device_uuid[16], unsigned dev_number,
                            struct sb1 *ret, struct uraid_error *e);

#endif
