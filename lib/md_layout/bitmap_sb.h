/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The write-intent bitmap's bytes: its 256-byte superblock and its bits.
 * Bytes and arithmetic only; no I/O, no locks.
 */
#ifndef URAID_BITMAP_SB_H
#define URAID_BITMAP_SB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uraid_error.h"

#define BITMAP_SB_BYTES 256
#define BITMAP_MAGIC 0x6d746962u
#define BITMAP_STATE_STALE 0x2u
#define BITMAP_STATE_WRITE_ERROR 0x4u
#define BITMAP_STATE_HOSTENDIAN 0x8000u

struct bitmap_sb {
  uint32_t version;
  uint8_t uuid[16];
  uint64_t events;
  uint64_t events_cleared;
  uint64_t sync_size_sectors;
  uint32_t state;
  uint32_t chunk_bytes;
  uint32_t daemon_sleep_s;
  uint32_t write_behind;
  uint32_t sectors_reserved;
  uint32_t nodes;
  uint8_t raw[BITMAP_SB_BYTES];
};

/* Read RAW.  0, or -EINVAL with a text naming field, value, what is allowed:
 * magic, version (only 3 and 4), uuid (compared with SET_UUID unless NULL),
 * chunk (power of two >= 512), daemon_sleep >= 1, write_behind <= 16383,
 * nodes 0.  *RET is filled as far as it goes.
 */
extern int bitmap_sb_parse (const uint8_t raw[BITMAP_SB_BYTES],
                            const uint8_t set_uuid[16], struct bitmap_sb *ret,
                            struct uraid_error *e);

/* Fields -> RAW, unknown bytes kept. */
extern void bitmap_sb_encode (struct bitmap_sb *b);

/* Start value for a new array (md-format 2.4). */
extern void bitmap_sb_init (struct bitmap_sb *b, const uint8_t uuid[16],
                            uint64_t size_sectors, uint32_t chunk_bytes);

/* Number of bits for SIZE_SECTORS. */
extern uint64_t bitmap_bits (uint64_t size_sectors, uint32_t chunk_bytes);

/* Bytes of the whole area: super + bits, rounded up to 4096. */
extern uint64_t bitmap_area_bytes (uint64_t size_sectors,
                                   uint32_t chunk_bytes);

/* Bits behind the super: bit C is byte C/8 of BITS, mask 1 << (C%8). */
static inline bool
bitmap_test (const uint8_t *bits, uint64_t c)
{
  return bits[c >> 3] & (1u << (c & 7));
}
static inline void
bitmap_set (uint8_t *bits, uint64_t c)
{
  bits[c >> 3] |= (uint8_t)(1u << (c & 7));
}
static inline void
bitmap_clear (uint8_t *bits, uint64_t c)
{
  bits[c >> 3] &= (uint8_t) ~(1u << (c & 7));
}

#endif
