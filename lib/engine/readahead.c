/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Sequential readers of an array with missing members: the survivors' blocks
 * are read for many stripes at once, and what was decoded beyond the request
 * stays in the cache.  read_ahead runs on the client's thread; the others in
 * the run's owner, whose claim protects the pages.
 */
#include <config.h>

#include "engine_int.h"

#include <string.h>

/* A lost block is decoded for P.  Should P go on where the last reader of a
 * lost block here has ended, then decode the rest of the segment with it (the
 * survivors' blocks are one request each either way): cache_decoded keeps what
 * the client did not ask for yet.
 */
void
read_ahead (struct engine *e, struct piece *p)
{
  _Atomic uint64_t *next = &e->next_stripe[p->segno % ENGINE_STREAMS];
  uint64_t first;
  unsigned most;

  piece_close (p);
  /* No more than stays in the cache until it is asked for. */
  most = ENGINE_TUNED (e, stripe_cache_size) * e->n / e->cfg.nr_hash_locks / 2;
  if (most > e->seg_stripes - p->wait.first)
    most = e->seg_stripes - p->wait.first;
  first = p->segno * e->seg_stripes + p->wait.first;
  if (atomic_exchange_explicit (next, first + p->wait.nr,
                                memory_order_relaxed) == first &&
      p->nr_ext == 1 && most > p->wait.nr)
    p->wait.nr = most;
}

bool
piece_names (const struct run *r, unsigned i)
{
  const struct piece *p = r->pieces;

  for (unsigned k = 0; k < p->nr_ext; k++)
    if (r->rm->data_slot[p->ext[k].data_index] == i)
      return true;
  return false;
}

/* Keep the decoded blocks of missing members, if more was decoded than the
 * client wanted: it reads sequentially and comes for the rest.
 */
void
cache_decoded (struct run *r)
{
  const struct piece *p = r->pieces;
  unsigned wanted;

  if (p->nr_ext != 1)
    return;
  wanted = (p->ext[0].off % PAGES_BYTES + p->ext[0].len + PAGES_BYTES - 1) /
           PAGES_BYTES;
  if (r->claim.nr <= wanted)
    return;
  for (unsigned i = 0; i < r->e->n; i++) {
    if (r->ps[i].role < 0 || !piece_names (r, i) || r->ps[i].readable)
      continue;
    for (unsigned k = r->claim.first; k < r->claim.first + r->claim.nr; k++) {
      uint8_t *page = pages_get (r->e->pages, 1);

      if (page == NULL)
        return;
      memcpy (page, buf_at (r, r->slot[i].buf, k), PAGES_BYTES);
      /* In the class of parity: what is wanted next must not be the first to
       * go.
       */
      stripe_put (r->e->sc, r->claim.seg, k, i, page, true);
    }
  }
}

/* Answer from pages that an earlier decode has left, if all are there. */
bool
answer_from_cache (struct run *r)
{
  const struct piece *p = r->pieces;
  const struct piece_ext *x = &p->ext[0];
  unsigned slot, end;
  uint32_t done = 0;

  if (r->kind != PIECE_READ || p->nr_ext != 1 || p->bad_slot >= 0)
    return false;
  slot = r->rm->data_slot[x->data_index];
  end = (x->off + x->len + PAGES_BYTES - 1) / PAGES_BYTES;
  for (unsigned k = x->off / PAGES_BYTES; k < end; k++)
    if (stripe_page (r->claim.seg, k, slot) == NULL)
      return false;
  while (done < x->len) {
    uint32_t at = (x->off + done) % PAGES_BYTES, n = PAGES_BYTES - at;

    if (n > x->len - done)
      n = x->len - done;
    memcpy (x->buf + done,
            stripe_page (r->claim.seg, (x->off + done) / PAGES_BYTES, slot) +
                at,
            n);
    done += n;
  }
  atomic_fetch_add (&r->e->stats.cached_reads, 1);
  return true;
}
