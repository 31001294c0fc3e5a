/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A client request is cut into pieces, one per segment, and waited for.  Runs
 * on the client's thread; a struct io is shared with the lanes through its
 * two atomics and the semaphore.
 */
#include <config.h>

#include "engine_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* A long zero request is done in stretches, so that the memory for its pieces
 * stays bounded.
 */
#define STRETCH_BYTES (UINT64_C (32) << 20)

void
io_put (struct io *io, int err)
{
  if (err != 0) {
    int none = 0;

    atomic_compare_exchange_strong (&io->err, &none, err);
  }
  if (atomic_fetch_sub (&io->pending, 1) == 1)
    sem_post (&io->done);
}

struct piece *
piece_new (enum piece_kind kind, uint64_t segno, unsigned max_ext)
{
  struct piece *p = calloc (1, sizeof *p + max_ext * sizeof p->ext[0]);

  if (p == NULL)
    return NULL;
  p->kind = kind;
  p->segno = segno;
  p->bad_slot = -1;
  return p;
}

void
piece_close (struct piece *p)
{
  uint32_t lo = UINT32_MAX, hi = 0;

  for (unsigned i = 0; i < p->nr_ext; i++) {
    if (p->ext[i].off < lo)
      lo = p->ext[i].off;
    if (p->ext[i].off + p->ext[i].len > hi)
      hi = p->ext[i].off + p->ext[i].len;
  }
  p->wait.first = lo / PAGES_BYTES;
  p->wait.nr = (hi + PAGES_BYTES - 1) / PAGES_BYTES - p->wait.first;
}

static void
submit (struct io *io, struct piece *p)
{
  piece_close (p);
  p->wait.combines = p->kind == PIECE_WRITE;
  p->io = io;
  atomic_fetch_add (&io->pending, 1);
  if (io->op == IO_READ)
    read_piece (io->e, p);
  else
    piece_enqueue (io->e, p);
}

/* Two extents that share no stripe (a small request across a chunk border)
 * are two pieces: as one they would drag the whole segment in.
 */
static bool
apart (const struct piece *p)
{
  const struct piece_ext *a = &p->ext[0], *b = &p->ext[1];

  return p->nr_ext == 2 &&
         (a->off / PAGES_BYTES > (b->off + b->len - 1) / PAGES_BYTES ||
          b->off / PAGES_BYTES > (a->off + a->len - 1) / PAGES_BYTES);
}

static int
submit_apart (struct io *io, struct piece *p)
{
  struct piece *q;

  if (apart (p)) {
    q = piece_new (p->kind, p->segno, 1);
    if (q == NULL) {
      free (p);
      return ENOMEM;
    }
    q->ext[q->nr_ext++] = p->ext[--p->nr_ext];
    submit (io, q);
  }
  submit (io, p);
  return 0;
}

/* The part of [OFF, OFF+LEN) that lies in segment SEG (0 ..) of row ROW. */
static int
cut_segment (struct io *io, uint64_t row, unsigned seg, uint64_t off,
             uint64_t len)
{
  struct engine *e = io->e;
  const struct geometry *g = e->geo;
  uint64_t row_bytes = g->chunk_bytes * g->data_disks;
  uint64_t seg_bytes = engine_segment_bytes (e);
  uint64_t segs_per_chunk = g->chunk_bytes / seg_bytes;
  uint64_t first = off > row * row_bytes ? off - row * row_bytes : 0;
  uint64_t end = off + len - row * row_bytes;
  struct piece *p = NULL;

  if (end > row_bytes)
    end = row_bytes;
  for (uint64_t i = first / g->chunk_bytes; i * g->chunk_bytes < end; i++) {
    uint64_t lo = i * g->chunk_bytes + seg * seg_bytes;
    uint64_t hi = lo + seg_bytes, start = lo;

    if (lo < first)
      lo = first;
    if (hi > end)
      hi = end;
    if (lo >= hi)
      continue;
    if (p == NULL) {
      p = piece_new (io->op == IO_READ ? PIECE_READ : PIECE_WRITE,
                     row * segs_per_chunk + seg, g->data_disks);
      if (p == NULL)
        return ENOMEM;
    }
    p->ext[p->nr_ext++] = (struct piece_ext){
        .data_index = (unsigned)i,
        .off = (uint32_t)(lo - start),
        .len = (uint32_t)(hi - lo),
        .buf = io->buf == NULL
                   ? NULL
                   : io->buf + (row * row_bytes + lo - io->offset_bytes),
    };
  }
  return p == NULL ? 0 : submit_apart (io, p);
}

static int
cut (struct io *io, uint64_t off, uint64_t len)
{
  const struct geometry *g = io->e->geo;
  uint64_t row_bytes = g->chunk_bytes * g->data_disks;
  uint64_t seg_bytes = engine_segment_bytes (io->e);
  unsigned first = 0, end = (unsigned)(g->chunk_bytes / seg_bytes);

  /* Inside one chunk only its own segments can be meant (a 2 GiB chunk has
   * 4096 of them).
   */
  if (off % g->chunk_bytes + len <= g->chunk_bytes) {
    first = (unsigned)(off % g->chunk_bytes / seg_bytes);
    end = (unsigned)((off % g->chunk_bytes + len - 1) / seg_bytes) + 1;
  }
  for (uint64_t row = off / row_bytes; row * row_bytes < off + len; row++)
    for (unsigned seg = first; seg < end; seg++) {
      int r = cut_segment (io, row, seg, off, len);

      if (r != 0)
        return r;
    }
  return 0;
}

static int
request (struct engine *e, enum io_op op, uint8_t *buf, uint64_t len,
         uint64_t offset, unsigned flags)
{
  struct io io = {
      .e = e, .op = op, .flags = flags, .buf = buf, .offset_bytes = offset};

  uint64_t row_bytes = e->geo->chunk_bytes * e->geo->data_disks;
  /* Whole rows, so that they stay whole. */
  uint64_t stretch = row_bytes > STRETCH_BYTES
                         ? row_bytes
                         : STRETCH_BYTES / row_bytes * row_bytes;

  struct lane *lane = lanes_pick (e->cfg.lanes);
  struct lane_plug plug;

  assert (len >= 1 && offset + len <= e->geo->array_bytes);
  sem_init (&io.done, 0, 0);
  while (len > 0) {
    uint64_t n = stretch - offset % stretch;

    if (n > len)
      n = len;

    atomic_store (&io.pending, 1);
    /* The request's commands go to the lane together. */
    lane_plug (lane, &plug);
    io_put (&io, cut (&io, offset, n));
    lane_unplug (&plug);
    while (sem_wait (&io.done) < 0)
      ;
    if (atomic_load (&io.err) != 0)
      break;
    offset += n;
    len -= n;
  }
  sem_destroy (&io.done);
  return -atomic_load (&io.err);
}

int
engine_read (struct engine *e, void *buf, uint64_t len, uint64_t offset)
{
  return request (e, IO_READ, buf, len, offset, 0);
}

int
engine_write (struct engine *e, const void *buf, uint64_t len, uint64_t offset,
              unsigned flags)
{
  return request (e, IO_WRITE, (uint8_t *)(uintptr_t)buf, len, offset, flags);
}

int
engine_zero (struct engine *e, uint64_t len, uint64_t offset, unsigned flags)
{
  return request (e, IO_ZERO, NULL, len, offset, flags);
}
