/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The write-intent bitmap while the array runs: which bits are wanted, which
 * are durable, who waits for them.  Knows no members: the metadata thread
 * fetches blocks to write and says when they are durable.
 *
 * One mutex (the "bitmap lock", below the array lock) protects everything; it
 * is never held across I/O.
 */
#ifndef URAID_WBITMAP_H
#define URAID_WBITMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "../md_layout/bitmap_sb.h"

struct wbitmap;

/* SB and the bits of AREA_BYTES at IMAGE (super included) as loaded.
 * BLOCK_BYTES: unit of writing (512 .. 4096).  ALL_SET: the loaded bits say
 * nothing, every bit counts as set (and must be written so).  0 or -ENOMEM.
 */
extern int wbitmap_new (const struct bitmap_sb *sb, const uint8_t *image,
                        uint64_t area_bytes, uint64_t size_sectors,
                        uint32_t block_bytes, bool all_set,
                        struct wbitmap **ret);
extern void wbitmap_free (struct wbitmap *w);

/* A write to member range [OFF, OFF+LEN) begins: its bits are set and, when
 * this returns true, durable.  False: call wbitmap_wait after having woken the
 * metadata thread.  End with wbitmap_end in any case.  Any thread.
 */
extern bool wbitmap_begin (struct wbitmap *w, uint64_t offset_bytes,
                           uint64_t len_bytes);
/* Wait until the range is durable.  false: the bitmap was failed. */
extern bool wbitmap_wait (struct wbitmap *w, uint64_t offset_bytes,
                          uint64_t len_bytes);
/* NOW_MS: monotonic. */
extern void wbitmap_end (struct wbitmap *w, uint64_t offset_bytes,
                         uint64_t len_bytes, uint64_t now_ms);

/* Was the range owed a resync when the bitmap was loaded? */
extern bool wbitmap_owes (const struct wbitmap *w, uint64_t offset_bytes,
                          uint64_t len_bytes);

/* --- for the metadata thread --- */

/* Is there a block to write?  Copies it to BUF (4096 bytes at least) and says
 * where.  The block counts as being written until wbitmap_written.
 */
extern bool wbitmap_next_dirty (struct wbitmap *w, uint8_t *buf,
                                uint64_t *ret_offset_bytes,
                                uint32_t *ret_len_bytes);
extern bool wbitmap_has_dirty (struct wbitmap *w);
/* Everything must be written (a member joined). */
extern void wbitmap_dirty_all (struct wbitmap *w);
/* BUF is durable on all members in service (OK), or nothing is known. */
extern void wbitmap_written (struct wbitmap *w, const uint8_t *buf,
                             uint64_t offset_bytes, uint32_t len_bytes,
                             bool ok);
/* Copy the first block, with EVENTS in the super (kept). */
extern uint32_t wbitmap_super_block (struct wbitmap *w, uint64_t events,
                                     uint8_t *buf);
/* Set events_cleared; true if it was different (super must be written). */
extern bool wbitmap_set_events_cleared (struct wbitmap *w, uint64_t events);
/* Freeze the set of bits that may be cleared now: set, unused since
 * BEFORE_MS, nobody writing.  Returns how many.  After the members were
 * flushed, wbitmap_clear_marked clears those still unused.
 */
extern uint64_t wbitmap_mark_clearable (struct wbitmap *w, uint64_t before_ms);
extern void wbitmap_clear_marked (struct wbitmap *w);
/* Whole image for a member that joins (AREA_BYTES). */
extern void wbitmap_image (struct wbitmap *w, uint8_t *buf);
extern uint64_t wbitmap_area_bytes (const struct wbitmap *w);
/* Nothing will be durable any more: wake all waiters. */
extern void wbitmap_fail (struct wbitmap *w);
/* Bits set now / in all. */
extern void wbitmap_count (struct wbitmap *w, uint64_t *ret_set,
                           uint64_t *ret_bits);

#endif
