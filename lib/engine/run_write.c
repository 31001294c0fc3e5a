/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Write runs: plan, preread, parity, write, cache.  All functions run in the
 * run's owner (request thread until the first command is sent, then lane), no
 * lock held: the claim protects pages and bytes.
 */
#include <config.h>

#include "engine_int.h"

#include <errno.h>
#include <string.h>

/* Longer runs are not worth a copy into the cache. */
#define CACHE_MAX_STRIPES 32

static void
look_cache (struct run *r)
{
  for (unsigned k = r->claim.first; k < r->claim.first + r->claim.nr; k++) {
    if (r->claim.seg->stripe[k] == NULL)
      continue;
    for (unsigned i = 0; i < r->e->n; i++)
      if (r->ps[i].readable && stripe_page (r->claim.seg, k, i) != NULL)
        r->ps[i].cached |= mask_range (k, 1);
  }
}

static void
count_plan (struct run *r, const struct plan *p)
{
  struct engine_stats *st = &r->e->stats;

  switch (p->kind) {
  case PLAN_FULL:
    atomic_fetch_add (&st->write_full, 1);
    break;
  case PLAN_RCW:
    atomic_fetch_add (&st->write_rcw, 1);
    break;
  case PLAN_RMW:
    atomic_fetch_add (&st->write_rmw, 1);
    break;
  case PLAN_RECONSTRUCT:
    atomic_fetch_add (&st->write_reconstruct, 1);
    break;
  case PLAN_DATA_ONLY:
    atomic_fetch_add (&st->write_data_only, 1);
    break;
  case PLAN_FAIL:
    break;
  }
  atomic_fetch_add (&st->prereads, p->nr_reads);
}

/* Members that this write should reach and cannot. */
static void
mark_skipped (struct run *r)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (!r->ps[i].writable && (r->ps[i].role < 0 || r->ps[i].touched != 0))
      r->slot[i].skipped = true;
}

void
write_start (struct run *r)
{
  struct plan p = {0};
  struct cmd_list list = {NULL, NULL};

  run_look_slots (r);
  look_cache (r);
  p.nr_slots = r->e->n;
  p.nr_parity = r->e->geo->parity_disks;
  p.first = r->claim.first;
  p.nr = r->claim.nr;
  p.parity_trusted = parity_trusted (r->e, r->member_off,
                                     (uint64_t)r->claim.nr * PAGES_BYTES);
  p.rmw_level = ENGINE_TUNED (r->e, rmw_level);
  p.slot = r->ps;
  plan_write (&p);
  r->plan = p.kind;
  count_plan (r, &p);
  if (p.kind == PLAN_FAIL) {
    run_finish (r, EIO);
    return;
  }
  mark_skipped (r);
  if (p.nr_reads == 0) {
    write_compute (r);
    return;
  }
  for (unsigned i = 0; i < r->e->n; i++) {
    struct plan_slot *s = &r->ps[i];

    if (s->r_hi == s->r_lo)
      continue;
    if (run_buf (r, i) == NULL) {
      /* Nothing was sent yet. */
      r->outstanding = 0;
      run_finish (r, ENOMEM);
      return;
    }
    r->slot[i].have = true;
    run_cmd (r, i, MEMBER_READ, buf_at (r, r->slot[i].buf, s->r_lo), s->r_lo,
             s->r_hi, &list);
  }
  run_send (r, RUN_READING, &list);
}

/* Bring cached pages to where the prereads are.  A page of a one-stripe run
 * is taken out of the cache instead of copied.
 */
static bool
load_cached (struct run *r, unsigned i)
{
  struct run_slot *s = &r->slot[i];
  struct plan_slot *ps = &r->ps[i];

  if (ps->cached == 0)
    return run_buf (r, i) != NULL;
  if (r->claim.nr == 1 && s->buf == NULL) {
    s->buf = stripe_steal (r->e->sc, r->claim.seg, r->claim.first, i);
    s->have = true;
    return true;
  }
  if (run_buf (r, i) == NULL)
    return false;
  for (unsigned k = r->claim.first; k < r->claim.first + r->claim.nr; k++)
    if ((ps->cached & mask_range (k, 1)) != 0 &&
        !(k >= ps->r_lo && k < ps->r_hi))
      memcpy (buf_at (r, s->buf, k), stripe_page (r->claim.seg, k, i),
              PAGES_BYTES);
  s->have = true;
  return true;
}

/* The one extent that writes to slot I, if there is just one and it consists
 * of whole pages: then the client's buffer serves.
 */
static const struct piece_ext *
direct_ext (const struct run *r, unsigned i)
{
  const struct piece_ext *found = NULL;

  if (!ENGINE_TUNED (r->e, skip_copy) || r->ps[i].touched != r->ps[i].full)
    return NULL;
  for (const struct piece *p = r->pieces; p != NULL; p = p->next)
    for (unsigned k = 0; k < p->nr_ext; k++)
      if (r->rm->data_slot[p->ext[k].data_index] == i) {
        if (found != NULL)
          return NULL;
        found = &p->ext[k];
      }
  return found;
}

/* Copy all that clients write to slot I over IMG. */
static void
overlay (struct run *r, unsigned i, uint8_t *img)
{
  for (const struct piece *p = r->pieces; p != NULL; p = p->next)
    for (unsigned k = 0; k < p->nr_ext; k++) {
      const struct piece_ext *x = &p->ext[k];
      uint8_t *to = img + (x->off - (size_t)r->claim.first * PAGES_BYTES);

      if (r->rm->data_slot[x->data_index] != i)
        continue;
      if (x->buf == NULL)
        memset (to, 0, x->len);
      else {
        memcpy (to, x->buf, x->len);
        atomic_fetch_add (&r->e->stats.copied_bytes, x->len);
      }
    }
}

/* Make the new content of touched data slot I ready: direct, img (when buf
 * must keep the old content for the difference) or buf.
 */
static bool
make_new (struct run *r, unsigned i)
{
  struct run_slot *s = &r->slot[i];
  const struct plan_slot *ps = &r->ps[i];
  const struct piece_ext *x = direct_ext (r, i);
  unsigned lo = mask_first (ps->touched), hi = mask_end (ps->touched);

  /* A slot that is rewritten as a whole needs one buffer for all of it. */
  if (x != NULL && (ps->readable || !ps->writable ||
                    ps->full == mask_range (r->claim.first, r->claim.nr))) {
    s->direct = x->buf != NULL ? x->buf : parity_zeroes ();
    return true;
  }
  if (r->plan == PLAN_RMW) {
    if (s->img == NULL)
      s->img = pages_get (r->e->pages, r->claim.nr);
    if (s->img == NULL)
      return false;
    memcpy (buf_at (r, s->img, lo), buf_at (r, s->buf, lo),
            (size_t)(hi - lo) * PAGES_BYTES);
    overlay (r, i, s->img);
    return true;
  }
  if (run_buf (r, i) == NULL)
    return false;
  overlay (r, i, s->buf);
  return true;
}

/* Where the new content of stripes [w_lo, w_hi) of slot I is. */
static const uint8_t *
new_at (const struct run *r, unsigned i, unsigned stripe)
{
  const struct run_slot *s = &r->slot[i];

  if (s->direct != NULL)
    return s->direct +
           (size_t)(stripe - mask_first (r->ps[i].touched)) * PAGES_BYTES;
  return buf_at (r, s->img != NULL ? s->img : s->buf, stripe);
}

/* Buffers of P and Q where they are written, else NULL. */
static bool
parity_bufs (struct run *r, uint8_t **ret_p, uint8_t **ret_q)
{
  unsigned p = r->rm->p_slot, q = r->rm->q_slot;

  *ret_p = *ret_q = NULL;
  if (r->ps[p].writable && (*ret_p = run_buf (r, p)) == NULL)
    return false;
  if (r->e->geo->parity_disks == 2 && r->ps[q].writable &&
      (*ret_q = run_buf (r, q)) == NULL)
    return false;
  return true;
}

static void
parity_by_delta (struct run *r, uint8_t *p, uint8_t *q)
{
  for (unsigned i = 0; i < r->e->n; i++) {
    const struct plan_slot *ps = &r->ps[i];
    unsigned lo;
    size_t off, len;

    if (ps->role < 0 || ps->touched == 0)
      continue;
    lo = mask_first (ps->touched);
    len = (size_t)(mask_end (ps->touched) - lo) * PAGES_BYTES;
    off = (size_t)(lo - r->claim.first) * PAGES_BYTES;
    parity_xor (r->slot[i].buf + off, new_at (r, i, lo), len);
    parity_delta (r->e->cfg.par, r->rm, i, r->slot[i].buf + off, len,
                  p == NULL ? NULL : p + off, q == NULL ? NULL : q + off);
  }
}

static void
parity_from_all (struct run *r, uint8_t *p, uint8_t *q)
{
  const uint8_t *src[GEOMETRY_MAX_DISKS];

  for (unsigned i = 0; i < r->e->n; i++) {
    src[i] = NULL;
    if (r->ps[i].role < 0)
      continue;
    /* A direct buffer may cover a part only (the rest of the slot was read).
     */
    if (r->slot[i].direct != NULL &&
        r->ps[i].touched != mask_range (r->claim.first, r->claim.nr)) {
      unsigned lo = mask_first (r->ps[i].touched);

      memcpy (buf_at (r, r->slot[i].buf, lo), r->slot[i].direct,
              (size_t)(mask_end (r->ps[i].touched) - lo) * PAGES_BYTES);
    }
    src[i] =
        r->slot[i].direct != NULL &&
                r->ps[i].touched == mask_range (r->claim.first, r->claim.nr)
            ? r->slot[i].direct
            : r->slot[i].buf;
  }
  parity_gen (r->e->cfg.par, r->rm, src, (size_t)r->claim.nr * PAGES_BYTES, p,
              q);
}

static void
send_zeroes (struct run *r)
{
  struct cmd_list list = {NULL, NULL};

  for (unsigned i = 0; i < r->e->n; i++) {
    struct member *m = slot_member (r->e, i);

    if (!r->ps[i].writable)
      continue;
    run_cmd (r, i, m->can_zero ? MEMBER_ZERO : MEMBER_WRITE,
             (void *)(uintptr_t)parity_zeroes (), r->claim.first,
             r->claim.first + r->claim.nr, &list);
    if (m->can_zero && r->may_trim)
      r->slot[i].cmd.flags |= MEMBER_CMD_MAY_TRIM;
  }
  run_send (r, RUN_WRITING, &list);
}

static void
send_writes (struct run *r)
{
  struct cmd_list list = {NULL, NULL};

  for (unsigned i = 0; i < r->e->n; i++) {
    struct plan_slot *ps = &r->ps[i];

    if (ps->w_hi > ps->w_lo)
      run_cmd (r, i, MEMBER_WRITE, (void *)(uintptr_t)new_at (r, i, ps->w_lo),
               ps->w_lo, ps->w_hi, &list);
  }
  run_send (r, RUN_WRITING, &list);
}

static bool
make_ready (struct run *r, uint8_t **ret_p, uint8_t **ret_q)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->ps[i].needed && !load_cached (r, i))
      return false;
  if (r->plan == PLAN_RECONSTRUCT) {
    for (unsigned i = 0; i < r->e->n; i++)
      if (r->ps[i].role >= 0 && run_buf (r, i) == NULL)
        return false;
    if (decode_blocks (r, false, false) != 0)
      return false;
  }
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->ps[i].role >= 0 && r->ps[i].touched != 0 && !make_new (r, i))
      return false;
  return parity_bufs (r, ret_p, ret_q);
}

void
write_compute (struct run *r)
{
  uint8_t *p, *q;

  if (r->plan == PLAN_FULL && r->all_zero) {
    send_zeroes (r);
    return;
  }
  if (!make_ready (r, &p, &q)) {
    run_finish (r, ENOMEM);
    return;
  }
  if (r->plan == PLAN_RMW)
    parity_by_delta (r, p, q);
  else if (r->plan != PLAN_DATA_ONLY)
    parity_from_all (r, p, q);
  send_writes (r);
}

/* --- after the writes --- */

/* A page with the new content of (slot I, STRIPE): the run's own block where
 * it is one page, else a copy.  NULL when out of memory.
 */
static uint8_t *
page_for_cache (struct run *r, unsigned i, unsigned stripe)
{
  struct run_slot *s = &r->slot[i];
  uint8_t *page;

  if (r->claim.nr == 1 && s->direct == NULL) {
    if (s->img != NULL) {
      page = s->img;
      s->img = NULL;
    }
    else {
      page = s->buf;
      s->buf = NULL;
    }
    return page;
  }
  if (r->claim.nr == 1 && s->buf != NULL) {
    page = s->buf;
    s->buf = NULL;
  }
  else
    page = pages_get (r->e->pages, 1);
  if (page != NULL)
    memcpy (page, new_at (r, i, stripe), PAGES_BYTES);
  return page;
}

/* Put what slot I now holds in stripes [LO, HI) into the cache.  False: out of
 * memory, and an old page may still be there.
 */
static bool
cache_slot (struct run *r, unsigned i, unsigned lo, unsigned hi)
{
  for (unsigned k = lo; k < hi; k++) {
    uint8_t *page = page_for_cache (r, i, k);

    if (page == NULL)
      return false;
    stripe_put (r->e->sc, r->claim.seg, k, i, page, r->ps[i].role < 0);
  }
  return true;
}

/* Every page that this write changed is replaced, or all of its stripes are
 * forgotten: an old page must never stay.
 */
static void
fill_cache (struct run *r)
{
  bool keep = (r->plan == PLAN_RMW || r->plan == PLAN_RCW) &&
              r->claim.nr <= CACHE_MAX_STRIPES;

  /* Of what cannot be read there may be decoded pages. */
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->slot[i].skipped || r->slot[i].bad ||
        (r->ps[i].touched != 0 && !r->ps[i].readable))
      keep = false;
  for (unsigned i = 0; i < r->e->n && keep; i++) {
    struct plan_slot *ps = &r->ps[i];

    if (!ps->readable)
      continue;
    if (ps->role < 0)
      keep = cache_slot (r, i, r->claim.first, r->claim.first + r->claim.nr);
    else if (ps->touched != 0)
      keep = cache_slot (r, i, ps->w_lo, ps->w_hi);
    else if (r->plan == PLAN_RCW && r->claim.nr == 1)
      keep = cache_slot (r, i, r->claim.first, r->claim.first + 1);
  }
  if (!keep)
    stripe_drop (r->e->sc, r->claim.seg, r->claim.first, r->claim.nr);
}

void
write_done (struct run *r)
{
  fill_cache (r);
  run_finish (r, run_out (r) > r->e->geo->parity_disks ? EIO : 0);
}
