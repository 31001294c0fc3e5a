/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/engine/plan.c: which way a write goes and which stripes it
 * reads and writes.  First a table of cases with all members' ranges spelled
 * out by the numbers of requests and pages, then random cases against what any
 * plan must fulfil.  Single-threaded, deterministic.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "../../lib/engine/plan.h"
#include "../../lib/md_layout/geometry.h"

#define MAX 12

static struct plan_slot slots[MAX];
static struct plan plan;

/* N slots: data 0 .., then P, then Q if NR_PARITY is 2; all in service. */
static void
make (unsigned n, unsigned nr_parity, unsigned first, unsigned nr)
{
  memset (slots, 0, sizeof slots);
  memset (&plan, 0, sizeof plan);
  plan.nr_slots = n;
  plan.nr_parity = nr_parity;
  plan.first = first;
  plan.nr = nr;
  plan.parity_trusted = true;
  plan.rmw_level = 1;
  plan.slot = slots;
  for (unsigned i = 0; i < n; i++) {
    slots[i].role =
        i < n - nr_parity ? (int)i : (i == n - nr_parity ? ROLE_P : ROLE_Q);
    slots[i].readable = slots[i].writable = true;
  }
}

static void
write_pages (unsigned slot, unsigned first, unsigned nr)
{
  slots[slot].touched |= mask_range (first, nr);
  slots[slot].full |= mask_range (first, nr);
}

static void
write_part (unsigned slot, unsigned stripe)
{
  slots[slot].touched |= mask_range (stripe, 1);
}

static void
lose (unsigned slot)
{
  slots[slot].readable = slots[slot].writable = false;
}

static unsigned
nr_writes (void)
{
  unsigned nr = 0;

  for (unsigned i = 0; i < plan.nr_slots; i++)
    nr += slots[i].w_hi > slots[i].w_lo;
  return nr;
}

/*----- Tables -----*/

/* One stripe; which slots (bit per slot) are written wholly, partly, lost,
 * unreadable, cached.  D = data 0 ... n-3, then P, Q.
 */
static const struct one {
  const char *name;
  unsigned n, nr_parity;
  unsigned full, part, lost, bad, cached;
  int rmw_level;
  bool untrusted;
  enum plan_kind kind;
  unsigned reads, writes;
} one[] = {
    /* Cold, one page: 4 + 4 requests are never needed. */
    {"n=4", 4, 2, 1, 0, 0, 0, 0, 1, false, PLAN_RCW, 1, 3},
    {"n=5", 5, 2, 1, 0, 0, 0, 0, 1, false, PLAN_RCW, 2, 3},
    {"n=6", 6, 2, 1, 0, 0, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"n=8", 8, 2, 1, 0, 0, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"n=12", 12, 2, 1, 0, 0, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"raid5 n=2", 2, 1, 1, 0, 0, 0, 0, 1, false, PLAN_FULL, 0, 2},
    {"raid5 n=3", 3, 1, 1, 0, 0, 0, 0, 1, false, PLAN_RCW, 1, 2},
    {"raid5 n=4", 4, 1, 1, 0, 0, 0, 0, 1, false, PLAN_RMW, 2, 2},
    {"raid5 n=6", 6, 1, 1, 0, 0, 0, 0, 1, false, PLAN_RMW, 2, 2},
    /* A part of a page needs the old page either way. */
    {"part n=5", 5, 2, 0, 1, 0, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"part n=4", 4, 2, 0, 1, 0, 0, 0, 1, false, PLAN_RCW, 2, 3},
    {"part raid5 n=2", 2, 1, 0, 1, 0, 0, 0, 1, false, PLAN_RCW, 1, 2},
    /* More of the stripe. */
    {"two of four", 6, 2, 3, 0, 0, 0, 0, 1, false, PLAN_RCW, 2, 4},
    {"three of four", 6, 2, 7, 0, 0, 0, 0, 1, false, PLAN_RCW, 1, 5},
    {"all", 6, 2, 15, 0, 0, 0, 0, 1, false, PLAN_FULL, 0, 6},
    {"all, one partly", 6, 2, 7, 8, 0, 0, 0, 1, false, PLAN_RCW, 1, 6},
    /* What the cache holds costs nothing. */
    {"P, Q cached", 6, 2, 1, 0, 0, 0, 0x30, 1, false, PLAN_RMW, 1, 3},
    {"D, P, Q cached", 6, 2, 1, 0, 0, 0, 0x31, 1, false, PLAN_RMW, 0, 3},
    {"others cached", 6, 2, 1, 0, 0, 0, 0x0e, 1, false, PLAN_RCW, 0, 3},
    /* Knobs. */
    {"never rmw", 8, 2, 1, 0, 0, 0, 0, 0, false, PLAN_RCW, 5, 3},
    {"untrusted", 8, 2, 1, 0, 0, 0, 0, 1, true, PLAN_RCW, 5, 3},
    {"untrusted, cached", 8, 2, 1, 0, 0, 0, 0xc1, 1, true, PLAN_RCW, 5, 3},
    /* Degraded: bits 0 .. 3 data, 4 P, 5 Q. */
    {"P lost", 6, 2, 1, 0, 0x10, 0, 0, 1, false, PLAN_RMW, 2, 2},
    {"Q lost", 6, 2, 1, 0, 0x20, 0, 0, 1, false, PLAN_RMW, 2, 2},
    {"P, Q lost", 6, 2, 1, 0, 0x30, 0, 0, 1, false, PLAN_DATA_ONLY, 0, 1},
    {"P, Q lost, part", 6, 2, 0, 1, 0x30, 0, 0, 1, false, PLAN_DATA_ONLY, 1,
     1},
    {"other lost", 6, 2, 1, 0, 2, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"itself lost", 6, 2, 1, 0, 1, 0, 0, 1, false, PLAN_RCW, 3, 2},
    {"itself lost, part", 6, 2, 0, 1, 1, 0, 0, 1, false, PLAN_RECONSTRUCT, 4,
     2},
    {"itself and another", 6, 2, 1, 0, 3, 0, 0, 1, false, PLAN_RECONSTRUCT, 4,
     2},
    {"two others lost", 6, 2, 1, 0, 6, 0, 0, 1, false, PLAN_RMW, 3, 3},
    {"other and P lost", 6, 2, 1, 0, 0x12, 0, 0, 1, false, PLAN_RMW, 2, 2},
    {"itself and P, part", 6, 2, 0, 1, 0x11, 0, 0, 1, false, PLAN_RECONSTRUCT,
     4, 1},
    {"all, two lost", 6, 2, 15, 0, 3, 0, 0, 1, false, PLAN_FULL, 0, 4},
    {"three lost", 6, 2, 1, 0, 7, 0, 0, 1, false, PLAN_FAIL, 0, 0},
    {"all, three lost", 6, 2, 15, 0, 7, 0, 0, 1, false, PLAN_FAIL, 0, 0},
    {"raid5 other lost", 4, 1, 1, 0, 2, 0, 0, 1, false, PLAN_RMW, 2, 2},
    {"raid5 itself lost", 4, 1, 1, 0, 1, 0, 0, 1, false, PLAN_RCW, 2, 1},
    {"raid5 P lost", 4, 1, 1, 0, 8, 0, 0, 1, false, PLAN_DATA_ONLY, 0, 1},
    {"raid5 two lost", 4, 1, 1, 0, 3, 0, 0, 1, false, PLAN_FAIL, 0, 0},
    {"never rmw, other lost", 6, 2, 1, 0, 2, 0, 0, 0, false, PLAN_RECONSTRUCT,
     4, 3},
    {"untrusted, other lost", 6, 2, 1, 0, 2, 0, 0, 1, true, PLAN_RMW, 3, 3},
    /* In service but unreadable: it is made and written. */
    {"other bad", 6, 2, 1, 0, 0, 2, 0, 1, false, PLAN_RECONSTRUCT, 4, 4},
    {"itself bad", 6, 2, 1, 0, 0, 1, 0, 1, false, PLAN_RECONSTRUCT, 4, 3},
    {"P bad", 6, 2, 1, 0, 0, 0x10, 0, 1, false, PLAN_RECONSTRUCT, 4, 3},
    {"all, one bad", 6, 2, 15, 0, 0, 1, 0, 1, false, PLAN_FULL, 0, 6},
    {"bad and lost", 6, 2, 1, 0, 2, 4, 0, 1, false, PLAN_RECONSTRUCT, 4, 4},
    {"three bad", 6, 2, 1, 0, 0, 7, 0, 1, false, PLAN_FAIL, 0, 0},
    {"raid5, bad and lost", 4, 1, 1, 0, 2, 4, 0, 1, false, PLAN_FAIL, 0, 0},
};

START_TEST (one_stripe)
{
  const struct one *t = &one[_i];

  make (t->n, t->nr_parity, 5, 1);
  plan.rmw_level = t->rmw_level;
  plan.parity_trusted = !t->untrusted;
  for (unsigned i = 0; i < t->n; i++) {
    if (t->full >> i & 1)
      write_pages (i, 5, 1);
    if (t->part >> i & 1)
      write_part (i, 5);
    if (t->cached >> i & 1)
      slots[i].cached = mask_range (5, 1);
    if (t->bad >> i & 1)
      slots[i].readable = false;
    if (t->lost >> i & 1)
      lose (i);
  }
  plan_write (&plan);
  ck_assert_msg (plan.kind == t->kind && plan.nr_reads == t->reads &&
                     nr_writes () == t->writes,
                 "%s: %s, %u reads, %u writes", t->name, plan_name (plan.kind),
                 plan.nr_reads, nr_writes ());
}
END_TEST

/* Several stripes: the hull of what is missing is read as one request. */
START_TEST (hulls)
{
  make (6, 2, 10, 6);
  write_pages (0, 10, 1);
  write_pages (0, 15, 1);
  slots[4].cached = mask_range (10, 2) | mask_range (13, 1);
  slots[5].cached = mask_range (10, 6);
  plan_write (&plan);
  ck_assert_int_eq (plan.kind, PLAN_RMW);
  ck_assert_uint_eq (plan.nr_reads, 2);
  ck_assert_uint_eq (slots[0].r_lo, 10);
  ck_assert_uint_eq (slots[0].r_hi, 16);
  ck_assert_uint_eq (slots[4].r_lo, 12);
  ck_assert_uint_eq (slots[4].r_hi, 16);
  ck_assert_uint_eq (slots[5].r_lo, slots[5].r_hi);
  ck_assert (slots[5].needed);
  ck_assert_uint_eq (slots[0].w_lo, 10);
  ck_assert_uint_eq (slots[0].w_hi, 16);
  ck_assert_uint_eq (plan.read_pages, 6 + 4);
}
END_TEST

START_TEST (masks)
{
  for (unsigned first = 0; first < 128; first++)
    for (unsigned nr = 1; first + nr <= 128; nr++) {
      stripe_mask m = mask_range (first, nr);

      if (mask_first (m) != first || mask_end (m) != first + nr)
        ck_abort_msg ("%u, %u", first, nr);
    }
  ck_assert (mask_range (0, 0) == 0);
  ck_assert (mask_range (0, 128) == ~(stripe_mask)0);
}
END_TEST

/*----- Random cases -----*/

static unsigned rng;

static unsigned
rnd (unsigned below)
{
  rng = rng * 1664525 + 1013904223;
  return (rng >> 8) % below;
}

static stripe_mask
random_mask (void)
{
  stripe_mask m = 0;

  for (unsigned i = rnd (3); i > 0; i--) {
    unsigned first = plan.first + rnd (plan.nr);

    m |= mask_range (first, 1 + rnd (plan.first + plan.nr - first));
  }
  return m;
}

static void
make_random (void)
{
  unsigned nr_parity = 1 + rnd (2), first = rnd (128);
  bool any = false;

  make (nr_parity + 1 + rnd (MAX - 2), nr_parity, first,
        1 + rnd (rnd (2) ? 128 - first : 1));
  plan.rmw_level = (int)rnd (3);
  plan.parity_trusted = rnd (4) > 0;
  for (unsigned i = 0; i < plan.nr_slots; i++) {
    struct plan_slot *s = &slots[i];

    if (s->role >= 0) {
      s->touched = random_mask ();
      s->full = s->touched & (rnd (2) ? ~(stripe_mask)0 : random_mask ());
      any |= s->touched != 0;
    }
    s->readable = rnd (8) > 0;
    s->writable = s->readable || rnd (3) == 0;
    if (s->readable && rnd (2))
      s->cached = random_mask ();
  }
  if (!any)
    write_pages (0, plan.first, 1);
}

static stripe_mask
all (void)
{
  return mask_range (plan.first, plan.nr);
}

/* What S has at hand after the reads. */
static stripe_mask
at_hand (const struct plan_slot *s)
{
  stripe_mask m = s->needed ? s->cached : 0;

  return m | mask_range (s->r_lo, s->r_hi - s->r_lo);
}

static bool
has (const struct plan_slot *s, stripe_mask m)
{
  return (m & ~at_hand (s)) == 0;
}

static stripe_mask
hull (stripe_mask m)
{
  return m == 0 ? 0
                : mask_range (mask_first (m), mask_end (m) - mask_first (m));
}

/* Is there what the method works on? */
static const char *
sources (void)
{
  unsigned unknown = 0, parity = 0, parity_rmw = 0;

  for (unsigned i = 0; i < plan.nr_slots; i++) {
    const struct plan_slot *s = &slots[i];

    if (s->role < 0) {
      parity += s->readable && has (s, all ());
      parity_rmw += s->readable;
      if (plan.kind == PLAN_RMW && s->writable && !has (s, all ()))
        return "parity is not read for rmw";
      continue;
    }
    if (plan.kind == PLAN_RMW && !has (s, hull (s->touched)))
      return "old data is not read for rmw";
    if (plan.kind == PLAN_RCW && !has (s, all () & ~s->full))
      return "data is not read for rcw";
    if (plan.kind == PLAN_FULL && s->full != all ())
      return "not full";
    if (plan.kind == PLAN_DATA_ONLY && s->writable &&
        !has (s, hull (s->touched) & ~s->full))
      return "a gap is not read for data-only";
    if (plan.kind == PLAN_RECONSTRUCT)
      unknown += !s->readable;
    if (plan.kind == PLAN_RECONSTRUCT && s->readable && !has (s, all ()))
      return "data is not read for reconstruct";
  }
  if (unknown > parity)
    return "not enough parity is read";
  if (plan.kind == PLAN_RMW && parity_rmw == 0)
    return "rmw without parity";
  return NULL;
}

static const char *
writes (void)
{
  for (unsigned i = 0; i < plan.nr_slots; i++) {
    const struct plan_slot *s = &slots[i];
    stripe_mask w = mask_range (s->w_lo, s->w_hi - s->w_lo);

    if (!s->writable && w != 0)
      return "a lost slot is written";
    if (!s->readable && s->r_hi > s->r_lo)
      return "an unreadable slot is read";
    if (((w | at_hand (s)) & ~(all () | s->cached)) != 0)
      return "outside the run";
    if (s->writable && s->role < 0 && w != all ())
      return "parity is not written";
    if (s->writable && (s->touched & ~w) != 0)
      return "touched pages are not written";
    if (s->writable && s->readable && s->role >= 0 && w != hull (s->touched))
      return "more than the hull is written";
    if (s->writable && !s->readable && w != all ())
      return "an unreadable slot is not rewritten";
  }
  return NULL;
}

static const char *
judge (void)
{
  unsigned out = 0, unreadable = 0, parity_left = 0, reads = 0;
  const char *wrong;

  for (unsigned i = 0; i < plan.nr_slots; i++) {
    out += !slots[i].writable;
    unreadable += !slots[i].readable;
    parity_left += slots[i].role < 0 && slots[i].readable;
    reads += slots[i].r_hi > slots[i].r_lo;
  }
  if (reads != plan.nr_reads)
    return "nr_reads";
  if (plan.kind == PLAN_FAIL)
    return unreadable <= plan.nr_parity ? "fails without need" : NULL;
  if (out > plan.nr_parity)
    return "goes on beyond parity";
  if (plan.kind == PLAN_DATA_ONLY && parity_left > 0)
    return "data only though there is parity";
  if (plan.kind == PLAN_RMW && plan.rmw_level == 0)
    return "rmw is forbidden";
  if (plan.kind == PLAN_RMW && !plan.parity_trusted && unreadable == 0)
    return "rmw on parity that is not trusted";
  wrong = sources ();
  return wrong != NULL ? wrong : writes ();
}

START_TEST (random_cases)
{
  static unsigned seen[PLAN_FAIL + 1];

  rng = 4711;
  for (unsigned i = 0; i < 200000; i++) {
    const char *wrong;

    make_random ();
    plan_write (&plan);
    wrong = judge ();
    if (wrong != NULL)
      ck_abort_msg ("case %u: %s: %s", i, plan_name (plan.kind), wrong);
    seen[plan.kind]++;
  }
  for (unsigned k = 0; k <= PLAN_FAIL; k++)
    ck_assert_uint_gt (seen[k], 100);
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("plan");
  TCase *t = tcase_create ("tables");

  tcase_add_loop_test (t, one_stripe, 0, (int)(sizeof one / sizeof one[0]));
  tcase_add_test (t, hulls);
  tcase_add_test (t, masks);
  suite_add_tcase (s, t);

  t = tcase_create ("random");
  tcase_set_timeout (t, 60);
  tcase_add_test (t, random_cases);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *runner = srunner_create (make_suite ());
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
