/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The write-intent bitmap while the array runs (see the header).
 *
 * Per bit: "wanted" (in the image), "durable" (known to be 1 on all members
 * in service), a count of writes under way and the time of the last end.
 * A write waits until wanted and durable are both set.  Clearing takes
 * durable away at once, so that a write that comes meanwhile sets the bit
 * anew and waits for the next block write; block writes are done one after
 * the other by one thread, so the last one wins on the members too.
 */
#include <config.h>

#include "wbitmap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
  uint32_t writers;
  uint32_t marked; /* may be cleared, unless used since */
  uint64_t last_ms;
};

struct wbitmap {
  /* Set once. */
  struct bitmap_sb sb; /* under lock: its event fields */
  uint64_t area_bytes, nr_bits;
  uint32_t block_bytes;
  unsigned chunk_shift;
  uint8_t *owed; /* bits at load */

  pthread_mutex_t lock; /* protects all below */
  pthread_cond_t cond;  /* something became durable, or failed */
  uint8_t *image;       /* super + wanted bits */
  uint8_t *durable;     /* bits */
  uint8_t *dirty;       /* a byte per block */
  uint64_t nr_blocks, nr_dirty;
  struct chunk *chunk;
  bool failed;
};

static uint8_t *
bits (struct wbitmap *w)
{
  return w->image + BITMAP_SB_BYTES;
}

static void
mark_dirty (struct wbitmap *w, uint64_t bit)
{
  uint64_t b = (BITMAP_SB_BYTES + bit / 8) / w->block_bytes;

  if (!w->dirty[b]) {
    w->dirty[b] = 1;
    w->nr_dirty++;
  }
}

int
wbitmap_new (const struct bitmap_sb *sb, const uint8_t *image,
             uint64_t area_bytes, uint64_t size_sectors, uint32_t block_bytes,
             bool all_set, struct wbitmap **ret)
{
  struct wbitmap *w = calloc (1, sizeof *w);
  uint64_t bit_bytes = area_bytes - BITMAP_SB_BYTES;

  if (w == NULL)
    return -ENOMEM;
  w->sb = *sb;
  w->area_bytes = area_bytes;
  w->block_bytes = block_bytes;
  w->chunk_shift = (unsigned)__builtin_ctz (sb->chunk_bytes);
  w->nr_bits = bitmap_bits (size_sectors, sb->chunk_bytes);
  w->nr_blocks = (area_bytes + block_bytes - 1) / block_bytes;
  pthread_mutex_init (&w->lock, NULL);
  pthread_cond_init (&w->cond, NULL);
  w->image = calloc (1, w->nr_blocks * block_bytes);
  w->durable = calloc (1, bit_bytes);
  w->owed = calloc (1, bit_bytes);
  w->dirty = calloc (1, w->nr_blocks);
  w->chunk = calloc (w->nr_bits, sizeof *w->chunk);
  if (w->image == NULL || w->durable == NULL || w->owed == NULL ||
      w->dirty == NULL || w->chunk == NULL) {
    wbitmap_free (w);
    return -ENOMEM;
  }
  memcpy (w->image, image, area_bytes);
  for (uint64_t c = 0; c < w->nr_bits; c++) {
    if (all_set && !bitmap_test (bits (w), c)) {
      bitmap_set (bits (w), c);
      mark_dirty (w, c);
    }
    if (!bitmap_test (bits (w), c))
      continue;
    bitmap_set (w->owed, c);
    /* The members' copies may differ: a bit counts as durable only once we
     * wrote it.
     */
  }
  *ret = w;
  return 0;
}

void
wbitmap_free (struct wbitmap *w)
{
  if (w == NULL)
    return;
  pthread_mutex_destroy (&w->lock);
  pthread_cond_destroy (&w->cond);
  free (w->image);
  free (w->durable);
  free (w->owed);
  free (w->dirty);
  free (w->chunk);
  free (w);
}

static uint64_t
last_bit (const struct wbitmap *w, uint64_t offset_bytes, uint64_t len_bytes)
{
  uint64_t c = (offset_bytes + len_bytes - 1) >> w->chunk_shift;

  return c < w->nr_bits ? c : w->nr_bits - 1;
}

bool
wbitmap_begin (struct wbitmap *w, uint64_t offset_bytes, uint64_t len_bytes)
{
  bool ready = true;

  pthread_mutex_lock (&w->lock);
  for (uint64_t c = offset_bytes >> w->chunk_shift;
       c <= last_bit (w, offset_bytes, len_bytes); c++) {
    w->chunk[c].writers++;
    w->chunk[c].marked = 0;
    if (bitmap_test (w->durable, c))
      continue;
    bitmap_set (bits (w), c);
    mark_dirty (w, c);
    ready = false;
  }
  pthread_mutex_unlock (&w->lock);
  return ready;
}

bool
wbitmap_wait (struct wbitmap *w, uint64_t offset_bytes, uint64_t len_bytes)
{
  bool ok;

  pthread_mutex_lock (&w->lock);
  for (uint64_t c = offset_bytes >> w->chunk_shift;
       c <= last_bit (w, offset_bytes, len_bytes); c++)
    while (!bitmap_test (w->durable, c) && !w->failed)
      pthread_cond_wait (&w->cond, &w->lock);
  ok = !w->failed;
  pthread_mutex_unlock (&w->lock);
  return ok;
}

void
wbitmap_end (struct wbitmap *w, uint64_t offset_bytes, uint64_t len_bytes,
             uint64_t now_ms)
{
  pthread_mutex_lock (&w->lock);
  for (uint64_t c = offset_bytes >> w->chunk_shift;
       c <= last_bit (w, offset_bytes, len_bytes); c++) {
    assert (w->chunk[c].writers > 0);
    w->chunk[c].writers--;
    w->chunk[c].last_ms = now_ms;
  }
  pthread_mutex_unlock (&w->lock);
}

bool
wbitmap_owes (const struct wbitmap *w, uint64_t offset_bytes,
              uint64_t len_bytes)
{
  for (uint64_t c = offset_bytes >> w->chunk_shift;
       c <= last_bit (w, offset_bytes, len_bytes); c++)
    if (bitmap_test (w->owed, c))
      return true;
  return false;
}

bool
wbitmap_has_dirty (struct wbitmap *w)
{
  bool r;

  pthread_mutex_lock (&w->lock);
  r = w->nr_dirty > 0 && !w->failed;
  pthread_mutex_unlock (&w->lock);
  return r;
}

void
wbitmap_dirty_all (struct wbitmap *w)
{
  pthread_mutex_lock (&w->lock);
  memset (w->dirty, 1, w->nr_blocks);
  w->nr_dirty = w->nr_blocks;
  pthread_mutex_unlock (&w->lock);
}

bool
wbitmap_next_dirty (struct wbitmap *w, uint8_t *buf,
                    uint64_t *ret_offset_bytes, uint32_t *ret_len_bytes)
{
  bool found = false;

  pthread_mutex_lock (&w->lock);
  for (uint64_t b = 0; b < w->nr_blocks && w->nr_dirty > 0 && !w->failed; b++)
    if (w->dirty[b]) {
      w->dirty[b] = 0;
      w->nr_dirty--;
      memcpy (buf, w->image + b * w->block_bytes, w->block_bytes);
      *ret_offset_bytes = b * w->block_bytes;
      *ret_len_bytes = w->block_bytes;
      found = true;
      break;
    }
  pthread_mutex_unlock (&w->lock);
  return found;
}

void
wbitmap_written (struct wbitmap *w, const uint8_t *buf, uint64_t offset_bytes,
                 uint32_t len_bytes, bool ok)
{
  pthread_mutex_lock (&w->lock);
  for (uint32_t i = 0; i < len_bytes; i++) {
    uint64_t at = offset_bytes + i;

    if (at < BITMAP_SB_BYTES)
      continue;
    for (unsigned k = 0; k < 8; k++) {
      uint64_t c = (at - BITMAP_SB_BYTES) * 8 + k;

      if (c >= w->nr_bits)
        break;
      if (ok && (buf[i] >> k & 1))
        bitmap_set (w->durable, c);
      else
        bitmap_clear (w->durable, c);
    }
  }
  if (!ok && !w->dirty[offset_bytes / w->block_bytes]) {
    w->dirty[offset_bytes / w->block_bytes] = 1;
    w->nr_dirty++;
  }
  pthread_cond_broadcast (&w->cond);
  pthread_mutex_unlock (&w->lock);
}

uint32_t
wbitmap_super_block (struct wbitmap *w, uint64_t events, uint8_t *buf)
{
  pthread_mutex_lock (&w->lock);
  w->sb.events = events;
  w->sb.state &= ~BITMAP_STATE_STALE;
  bitmap_sb_encode (&w->sb);
  memcpy (w->image, w->sb.raw, BITMAP_SB_BYTES);
  memcpy (buf, w->image, w->block_bytes);
  pthread_mutex_unlock (&w->lock);
  return w->block_bytes;
}

bool
wbitmap_set_events_cleared (struct wbitmap *w, uint64_t events)
{
  bool changed;

  pthread_mutex_lock (&w->lock);
  changed = w->sb.events_cleared != events;
  w->sb.events_cleared = events;
  pthread_mutex_unlock (&w->lock);
  return changed;
}

uint64_t
wbitmap_mark_clearable (struct wbitmap *w, uint64_t before_ms)
{
  uint64_t n = 0;

  pthread_mutex_lock (&w->lock);
  for (uint64_t c = 0; c < w->nr_bits; c++) {
    struct chunk *k = &w->chunk[c];

    k->marked = bitmap_test (bits (w), c) && k->writers == 0 &&
                k->last_ms <= before_ms;
    n += k->marked;
  }
  pthread_mutex_unlock (&w->lock);
  return n;
}

void
wbitmap_clear_marked (struct wbitmap *w)
{
  pthread_mutex_lock (&w->lock);
  for (uint64_t c = 0; c < w->nr_bits; c++)
    if (w->chunk[c].marked && w->chunk[c].writers == 0) {
      w->chunk[c].marked = 0;
      bitmap_clear (bits (w), c);
      bitmap_clear (w->durable, c);
      mark_dirty (w, c);
    }
  pthread_mutex_unlock (&w->lock);
}

void
wbitmap_image (struct wbitmap *w, uint8_t *buf)
{
  pthread_mutex_lock (&w->lock);
  memcpy (buf, w->image, w->area_bytes);
  pthread_mutex_unlock (&w->lock);
}

uint64_t
wbitmap_area_bytes (const struct wbitmap *w)
{
  return w->area_bytes;
}

void
wbitmap_fail (struct wbitmap *w)
{
  pthread_mutex_lock (&w->lock);
  w->failed = true;
  pthread_cond_broadcast (&w->cond);
  pthread_mutex_unlock (&w->lock);
}

void
wbitmap_count (struct wbitmap *w, uint64_t *ret_set, uint64_t *ret_bits)
{
  uint64_t n = 0;

  pthread_mutex_lock (&w->lock);
  for (uint64_t c = 0; c < w->nr_bits; c++)
    n += bitmap_test (bits (w), c);
  pthread_mutex_unlock (&w->lock);
  *ret_set = n;
  *ret_bits = w->nr_bits;
}
