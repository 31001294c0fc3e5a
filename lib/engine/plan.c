/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The choice of the write method (see the header).  Cost: rounds first, then
 * member requests, then pages.  The writes are the same for reconstruct-write
 * and read-modify-write, so only the reads are compared; what the cache holds
 * costs nothing.
 *
 * On a tie (six members, one block cold: three reads either way) md takes
 * reconstruct-write at rmw_level 1.  Here a tie goes to read-modify-write: it
 * leaves P and Q in the cache, which serve every data page of the stripe,
 * instead of data pages that each serve only themselves.
 */
#include <config.h>

#include "plan.h"

#include "../md_layout/geometry.h"

unsigned
mask_first (stripe_mask m)
{
  uint64_t lo = (uint64_t)m, hi = (uint64_t)(m >> 64);

  return lo != 0 ? (unsigned)__builtin_ctzll (lo)
                 : 64 + (unsigned)__builtin_ctzll (hi);
}

unsigned
mask_end (stripe_mask m)
{
  uint64_t lo = (uint64_t)m, hi = (uint64_t)(m >> 64);

  return hi != 0 ? 128 - (unsigned)__builtin_clzll (hi)
                 : 64 - (unsigned)__builtin_clzll (lo);
}

const char *
plan_name (enum plan_kind k)
{
  switch (k) {
  case PLAN_FULL:
    return "full";
  case PLAN_RCW:
    return "rcw";
  case PLAN_RMW:
    return "rmw";
  case PLAN_RECONSTRUCT:
    return "reconstruct";
  case PLAN_DATA_ONLY:
    return "data-only";
  case PLAN_FAIL:
    return "fail";
  }
  return "?";
}

/* The stripes RANGE of S take part: read the hull of what is not cached. */
static void
want (struct plan *p, struct plan_slot *s, stripe_mask range)
{
  stripe_mask need = range & ~s->cached;

  s->r_lo = s->r_hi = 0;
  s->needed = range != 0;
  if (need == 0)
    return;
  s->r_lo = mask_first (need);
  s->r_hi = mask_end (need);
  p->nr_reads++;
  p->read_pages += s->r_hi - s->r_lo;
}

static void
no_reads (struct plan *p)
{
  p->nr_reads = p->read_pages = 0;
  for (unsigned i = 0; i < p->nr_slots; i++) {
    p->slot[i].r_lo = p->slot[i].r_hi = 0;
    p->slot[i].needed = false;
  }
}

/* The stripes from the first to the last touched one: written, and so read,
 * as one request.
 */
static stripe_mask
hull (stripe_mask m)
{
  unsigned lo;

  if (m == 0)
    return 0;
  lo = mask_first (m);
  return mask_range (lo, mask_end (m) - lo);
}

static void
reads_rmw (struct plan *p, stripe_mask all)
{
  no_reads (p);
  p->kind = PLAN_RMW;
  for (unsigned i = 0; i < p->nr_slots; i++) {
    struct plan_slot *s = &p->slot[i];

    if (!s->readable)
      continue;
    want (p, s, s->role < 0 ? all : hull (s->touched));
  }
}

static void
reads_rcw (struct plan *p, stripe_mask all)
{
  no_reads (p);
  p->kind = PLAN_RCW;
  for (unsigned i = 0; i < p->nr_slots; i++) {
    struct plan_slot *s = &p->slot[i];

    if (s->readable && s->role >= 0)
      want (p, s, all & ~s->full);
  }
}

/* All that is left of the data, and one parity per lost data member; P before
 * Q.
 */
static void
reads_reconstruct (struct plan *p, stripe_mask all, unsigned lost_data)
{
  no_reads (p);
  p->kind = PLAN_RECONSTRUCT;
  for (unsigned i = 0; i < p->nr_slots; i++)
    if (p->slot[i].readable && p->slot[i].role >= 0)
      want (p, &p->slot[i], all);
  for (int role = ROLE_P; role >= ROLE_Q && lost_data > 0; role--)
    for (unsigned i = 0; i < p->nr_slots; i++)
      if (p->slot[i].role == role && p->slot[i].readable) {
        want (p, &p->slot[i], all);
        lost_data--;
      }
  if (lost_data > 0) {
    no_reads (p);
    p->kind = PLAN_FAIL;
  }
}

static void
reads_data_only (struct plan *p)
{
  no_reads (p);
  p->kind = PLAN_DATA_ONLY;
  for (unsigned i = 0; i < p->nr_slots; i++) {
    struct plan_slot *s = &p->slot[i];

    if (s->readable && s->role >= 0)
      want (p, s, hull (s->touched) & ~s->full);
  }
}

/* What goes out, the same whatever the method; only a page that could not be
 * read is rewritten on top (so that it is right again).
 */
static void
set_writes (struct plan *p)
{
  for (unsigned i = 0; i < p->nr_slots; i++) {
    struct plan_slot *s = &p->slot[i];

    s->w_lo = s->w_hi = 0;
    if (!s->writable || p->kind == PLAN_FAIL)
      continue;
    if (s->role < 0 || !s->readable) {
      s->w_lo = p->first;
      s->w_hi = p->first + p->nr;
    }
    else if (s->touched != 0) {
      s->w_lo = mask_first (s->touched);
      s->w_hi = mask_end (s->touched);
    }
  }
}

struct survey {
  unsigned out;          /* slots that cannot be written */
  unsigned unreadable;   /* slots that cannot be read */
  unsigned lost_data;    /* data slots that cannot be read */
  unsigned lost_open;    /* of these, not wholly overwritten */
  unsigned lost_touched; /* of these, touched */
  unsigned parity_left;  /* readable parity */
  bool rewrite;          /* a slot is writable but not readable */
  bool all_full;         /* all data is overwritten */
};

static struct survey
survey (const struct plan *p, stripe_mask all)
{
  struct survey v = {.all_full = true};

  for (unsigned i = 0; i < p->nr_slots; i++) {
    const struct plan_slot *s = &p->slot[i];

    v.out += !s->writable;
    v.unreadable += !s->readable;
    if (s->writable && !s->readable)
      v.rewrite = true;
    if (s->role < 0) {
      v.parity_left += s->readable;
      continue;
    }
    if (s->full != all)
      v.all_full = false;
    if (!s->readable) {
      v.lost_data++;
      v.lost_open += s->full != all;
      v.lost_touched += s->touched != 0;
    }
  }
  return v;
}

static void
choose (struct plan *p, stripe_mask all)
{
  struct survey v = survey (p, all);
  bool may_rmw, may_rcw;

  no_reads (p);
  if (v.out > p->nr_parity) {
    p->kind = PLAN_FAIL;
    return;
  }
  if (v.all_full) {
    p->kind = PLAN_FULL;
    return;
  }
  if (v.rewrite) {
    reads_reconstruct (p, all, v.lost_data);
    return;
  }
  if (v.parity_left == 0) {
    reads_data_only (p);
    return;
  }
  /* A lost data member that nobody writes to is no hindrance for
   * read-modify-write, and a wholly overwritten one is none for
   * reconstruct-write.  Where parity is not trusted and data is lost there is
   * nothing better than to trust it.
   */
  may_rmw = v.lost_touched == 0 && p->rmw_level > 0 &&
            (p->parity_trusted || v.lost_data > 0);
  may_rcw = v.lost_open == 0;
  if (may_rmw && may_rcw) {
    unsigned reads, pages;

    reads_rcw (p, all);
    reads = p->nr_reads;
    pages = p->read_pages;
    reads_rmw (p, all);
    if (p->rmw_level >= 2 && reads > 0)
      return;
    if (reads < p->nr_reads || (reads == p->nr_reads && pages < p->read_pages))
      reads_rcw (p, all);
  }
  else if (may_rmw)
    reads_rmw (p, all);
  else if (may_rcw)
    reads_rcw (p, all);
  else
    reads_reconstruct (p, all, v.lost_data);
}

void
plan_write (struct plan *p)
{
  choose (p, mask_range (p->first, p->nr));
  set_writes (p);
}
