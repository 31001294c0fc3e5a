/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * How a write run is done: full stripe, reconstruct-write, read-modify-write
 * ...  A pure decision; no I/O, no locks.
 */
#ifndef URAID_PLAN_H
#define URAID_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* One bit per stripe of a segment. */
typedef unsigned __int128 stripe_mask;

static inline stripe_mask
mask_range (unsigned first, unsigned nr)
{
  stripe_mask m = nr >= 128 ? ~(stripe_mask)0 : (((stripe_mask)1 << nr) - 1);
  return m << first;
}
/* Lowest set bit; undefined for 0. */
extern unsigned mask_first (stripe_mask m);
/* One above the highest set bit; undefined for 0. */
extern unsigned mask_end (stripe_mask m);

enum plan_kind {
  PLAN_FULL,        /* all data is overwritten: no read */
  PLAN_RCW,         /* read the untouched data */
  PLAN_RMW,         /* read old data, P, Q; apply the difference */
  PLAN_RECONSTRUCT, /* read all that is left, decode, then as RCW */
  PLAN_DATA_ONLY,   /* no parity is left in service */
  PLAN_FAIL,        /* more is missing than parity covers */
};

struct plan_slot {
  /* In. */
  int role;            /* data index, ROLE_P, ROLE_Q */
  bool readable;       /* in service here and not known bad */
  bool writable;       /* in service here */
  stripe_mask touched; /* stripes that clients write on this member */
  stripe_mask full;    /* of these, wholly overwritten pages */
  stripe_mask cached;  /* pages at hand */
  /* Out: stripes [lo, hi) of the segment; lo = hi: none. */
  bool needed;         /* the old content of this slot takes part */
  unsigned r_lo, r_hi; /* read */
  unsigned w_lo, w_hi; /* write */
};

struct plan {
  /* In. */
  unsigned nr_slots, nr_parity;
  unsigned first, nr;     /* the run's stripes */
  bool parity_trusted;    /* else no read-modify-write */
  int rmw_level;          /* 0 never, 1 by cost, 2 whenever it can */
  struct plan_slot *slot; /* nr_slots entries */
  /* Out. */
  enum plan_kind kind;
  unsigned nr_reads; /* member requests */
  unsigned read_pages;
};

extern void plan_write (struct plan *p);
extern const char *plan_name (enum plan_kind k);

#endif
