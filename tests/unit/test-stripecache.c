/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/stripecache: page blocks, claims and waiters, what is cached
 * and what goes first, the bound, and several threads at once.
 */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "../../lib/stripecache/stripecache.h"

#define MEMBERS 6
#define P_SLOT 4 /* 4 and 5 are parity here */
#define SEG 16

static struct pages *pages;
static struct stripecache *sc;

static void
open_cache (unsigned size_stripes, unsigned nr_locks)
{
  ck_assert_int_eq (pages_new (&pages), 0);
  ck_assert_int_eq (
      stripecache_new (MEMBERS, SEG, size_stripes, nr_locks, pages, &sc), 0);
}

static void
close_cache (void)
{
  uint64_t used, kept;

  stripecache_free (sc);
  pages_usage (pages, &used, &kept);
  ck_assert_uint_eq (used, 0);
  pages_free (pages);
}

static void
own (uint64_t segno, unsigned first, unsigned nr, struct stripe_claim *c)
{
  struct segment *seg = stripecache_lock (sc, segno);

  *c = (struct stripe_claim){.first = first, .nr = nr};
  segment_claim (sc, seg, c);
  stripecache_unlock (sc, seg);
}

static void
give_back (struct stripe_claim *c)
{
  struct segment *seg = c->seg;

  stripecache_relock (seg);
  segment_release (sc, c);
  stripecache_unlock (sc, seg);
}

static void
put (struct stripe_claim *c, unsigned stripe, unsigned slot, int fill)
{
  uint8_t *page = pages_get (pages, 1);

  memset (page, fill, PAGES_BYTES);
  stripe_put (sc, c->seg, stripe, slot, page, slot >= P_SLOT);
}

/* What is cached of (SEGNO, STRIPE, SLOT): its first byte, or -1. */
static int
peek (uint64_t segno, unsigned stripe, unsigned slot)
{
  struct stripe_claim c;
  const uint8_t *page;
  int r;

  own (segno, stripe, 1, &c);
  page = stripe_page (c.seg, stripe, slot);
  r = page == NULL ? -1 : page[0];
  give_back (&c);
  return r;
}

static struct stripecache_stats
stats (void)
{
  struct stripecache_stats st;

  stripecache_get_stats (sc, &st);
  return st;
}

/*----- Pages -----*/

START_TEST (blocks)
{
  uint64_t used, kept;
  uint8_t *b[PAGES_MAX + 1];

  ck_assert_int_eq (pages_new (&pages), 0);
  for (unsigned nr = 1; nr <= PAGES_MAX; nr++) {
    b[nr] = pages_get (pages, nr);
    ck_assert_ptr_nonnull (b[nr]);
    ck_assert_uint_eq ((uintptr_t)b[nr] % 64, 0);
    memset (b[nr], (int)nr, nr * (size_t)PAGES_BYTES);
  }
  for (unsigned nr = 1; nr <= PAGES_MAX; nr++) {
    ck_assert_uint_eq (b[nr][0], nr);
    ck_assert_uint_eq (b[nr][nr * (size_t)PAGES_BYTES - 1], nr);
    pages_put (pages, b[nr], nr);
  }
  pages_put (pages, NULL, 7);
  pages_usage (pages, &used, &kept);
  ck_assert_uint_eq (used, 0);
  ck_assert_uint_gt (kept, 0);
  ck_assert_uint_le (kept, 8 * 2 * 1024 * 1024);
  /* 3 and 4 pages are the same class. */
  b[0] = pages_get (pages, 4);
  pages_put (pages, b[0], 4);
  ck_assert_ptr_eq (pages_get (pages, 3), b[0]);
  pages_put (pages, b[0], 3);
  pages_free (pages);
}
END_TEST

/*----- Claims and waiters -----*/

START_TEST (claims)
{
  struct stripe_claim a, b;
  struct segment *seg;

  open_cache (64, 1);
  own (3, 2, 4, &a);
  own (3, 10, 1, &b);
  seg = stripecache_lock (sc, 3);
  ck_assert_ptr_eq (seg, a.seg);
  for (unsigned i = 0; i < SEG; i++)
    ck_assert_int_eq (segment_claimed (seg, i, 1),
                      (i >= 2 && i < 6) || i == 10);
  ck_assert (segment_claimed (seg, 0, 3));
  ck_assert (segment_claimed (seg, 5, 5));
  ck_assert (!segment_claimed (seg, 6, 4));
  ck_assert (segment_claimed (seg, 0, SEG));
  stripecache_unlock (sc, seg);
  give_back (&a);
  seg = stripecache_lock (sc, 3);
  ck_assert (!segment_claimed (seg, 0, 10));
  ck_assert (segment_claimed (seg, 10, 1));
  stripecache_unlock (sc, seg);
  give_back (&b);
  close_cache ();
}
END_TEST

START_TEST (waiters)
{
  struct stripe_claim c, w[4] = {{.nr = 1}, {.nr = 1}, {.nr = 1}, {.nr = 1}};
  struct segment *seg;

  open_cache (64, 1);
  own (0, 0, 1, &c);
  seg = stripecache_lock (sc, 0);
  for (unsigned i = 0; i < 4; i++)
    segment_wait (seg, &w[i]);
  segment_unwait (seg, &w[0], &w[1]); /* in the middle */
  segment_unwait (seg, &w[2], &w[3]); /* the last */
  ck_assert_ptr_eq (seg->wait_head, &w[0]);
  ck_assert_ptr_eq (w[0].next, &w[2]);
  ck_assert_ptr_eq (seg->wait_tail, &w[2]);
  segment_wait (seg, &w[1]);
  ck_assert_ptr_eq (w[2].next, &w[1]);
  segment_unwait (seg, NULL, &w[0]); /* the first */
  segment_unwait (seg, NULL, &w[2]);
  segment_unwait (seg, NULL, &w[1]);
  ck_assert_ptr_null (seg->wait_head);
  ck_assert_ptr_null (seg->wait_tail);
  stripecache_unlock (sc, seg);
  give_back (&c);
  close_cache ();
}
END_TEST

/*----- What is cached -----*/

START_TEST (put_page_steal_drop)
{
  struct stripe_claim c;
  uint8_t *page;

  open_cache (64, 1);
  own (9, 0, SEG, &c);
  put (&c, 1, 0, 0x11);
  put (&c, 1, P_SLOT, 0x22);
  put (&c, 1, 0, 0x33); /* replaces */
  put (&c, 2, 5, 0x44);
  ck_assert_uint_eq (stats ().pages, 3);
  ck_assert_uint_eq (stats ().stripes, 2);
  page = stripe_steal (sc, c.seg, 1, P_SLOT);
  ck_assert_uint_eq (page[0], 0x22);
  pages_put (pages, page, 1);
  ck_assert_ptr_null (stripe_steal (sc, c.seg, 1, P_SLOT));
  ck_assert_ptr_null (stripe_steal (sc, c.seg, 7, 0));
  ck_assert_ptr_null (stripe_page (c.seg, 1, P_SLOT));
  give_back (&c);
  ck_assert_int_eq (peek (9, 1, 0), 0x33);
  ck_assert_int_eq (peek (9, 2, 5), 0x44);
  ck_assert_int_eq (peek (9, 2, 0), -1);
  own (9, 0, 2, &c);
  stripe_drop (sc, c.seg, 0, 2);
  give_back (&c);
  ck_assert_int_eq (peek (9, 1, 0), -1);
  ck_assert_int_eq (peek (9, 2, 5), 0x44);
  ck_assert_uint_eq (stats ().stripes, 1);
  stripecache_drop_all (sc);
  ck_assert_uint_eq (stats ().pages, 0);
  ck_assert_uint_eq (stats ().stripes, 0);
  close_cache ();
}
END_TEST

static void
fill_stripe (uint64_t segno)
{
  struct stripe_claim c;

  own (segno, 0, 1, &c);
  for (unsigned i = 0; i < MEMBERS; i++)
    put (&c, 0, i, (int)segno);
  give_back (&c);
}

/* Old data goes before any parity, old parity before new. */
START_TEST (eviction_order)
{
  unsigned last = 17;

  open_cache (17, 1);
  for (unsigned i = 0; i < 17; i++)
    fill_stripe (i);
  ck_assert_uint_eq (stats ().pages, 17 * MEMBERS);
  ck_assert_uint_eq (stats ().evicted, 0);
  fill_stripe (last);
  ck_assert_uint_gt (stats ().evicted, 0);
  ck_assert_uint_le (stats ().pages, stats ().limit_pages);
  ck_assert_int_eq (peek (0, 0, 0), -1);
  ck_assert_int_eq (peek (0, 0, P_SLOT), 0);
  ck_assert_int_eq (peek (last, 0, 0), (int)last);
  for (unsigned i = last + 1; i < 60; i++)
    fill_stripe (i);
  ck_assert_uint_le (stats ().pages, stats ().limit_pages);
  /* 17 * 6 pages: parity of the newest 50 or so. */
  ck_assert_int_eq (peek (0, 0, P_SLOT), -1);
  ck_assert_int_eq (peek (40, 0, P_SLOT), 40);
  ck_assert_int_eq (peek (40, 0, 0), -1);
  close_cache ();
}
END_TEST

/* What is owned stays, whatever the bound. */
START_TEST (owned_is_not_evicted)
{
  struct stripe_claim c;

  open_cache (17, 1);
  own (1000, 0, SEG, &c);
  for (unsigned k = 0; k < SEG; k++)
    for (unsigned i = 0; i < MEMBERS; i++)
      put (&c, k, i, 0x77);
  for (unsigned i = 0; i < 40; i++)
    fill_stripe (i);
  for (unsigned k = 0; k < SEG; k++)
    ck_assert_uint_eq (stripe_page (c.seg, k, 0)[0], 0x77);
  stripecache_set_size (sc, 0);
  give_back (&c);
  ck_assert_uint_eq (stats ().pages, 0);
  ck_assert_uint_eq (stats ().stripes, 0);
  close_cache ();
}
END_TEST

/* A statistic counts what happened: nothing can be evicted here. */
START_TEST (evicted_counts)
{
  struct stripe_claim c, d;

  open_cache (17, 1);
  own (0, 0, SEG, &c);
  stripecache_set_size (sc, 0);
  put (&c, 0, 0, 1);
  own (1, 0, 1, &d);
  give_back (&d);
  ck_assert_uint_eq (stats ().evicted, 0);
  give_back (&c);
  ck_assert_uint_eq (stats ().evicted, 1);
  close_cache ();
}
END_TEST

/*----- Threads -----*/

#define THREADS 4
#define TURNS 4000
#define SEGMENTS 12

/* Under claims: the value that all pages of a stripe must have. */
static int value[SEGMENTS][SEG];

static void *
worker (void *arg)
{
  unsigned rng = *(unsigned *)arg;

  for (unsigned turn = 0; turn < TURNS;) {
    struct stripe_claim c = {.next = NULL};
    uint64_t segno = (rng = rng * 1664525 + 1013904223) >> 8;
    struct segment *seg;

    segno %= SEGMENTS;
    c.first = (rng >> 12) % SEG;
    c.nr = 1 + (rng >> 20) % (SEG - c.first);
    seg = stripecache_lock (sc, segno);
    if (segment_claimed (seg, c.first, c.nr)) {
      stripecache_unlock (sc, seg);
      sched_yield ();
      continue;
    }
    segment_claim (sc, seg, &c);
    stripecache_unlock (sc, seg);
    for (unsigned k = c.first; k < c.first + c.nr; k++) {
      unsigned slot = rng % MEMBERS;
      const uint8_t *page = stripe_page (seg, k, slot);

      if (page != NULL && page[0] != value[segno][k])
        abort ();
      if (turn % 8 == 0)
        stripe_drop (sc, seg, k, 1);
      else if (turn % 8 < 3) {
        stripe_drop (sc, seg, k, 1);
        value[segno][k] = (uint8_t)(value[segno][k] + 1);
      }
      put (&c, k, slot, value[segno][k]);
    }
    give_back (&c);
    turn++;
  }
  return NULL;
}

START_TEST (threads)
{
  pthread_t t[THREADS];
  unsigned seed[THREADS];

  open_cache (_i == 0 ? 17 : 64, 8);
  for (unsigned i = 0; i < THREADS; i++) {
    seed[i] = 1 + i;
    ck_assert_int_eq (pthread_create (&t[i], NULL, worker, &seed[i]), 0);
  }
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join (t[i], NULL);
  stripecache_drop_all (sc);
  ck_assert_uint_eq (stats ().pages, 0);
  close_cache ();
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("stripecache");
  TCase *t = tcase_create ("cache");

  tcase_add_test (t, blocks);
  tcase_add_test (t, claims);
  tcase_add_test (t, waiters);
  tcase_add_test (t, put_page_steal_drop);
  tcase_add_test (t, eviction_order);
  tcase_add_test (t, owned_is_not_evicted);
  tcase_add_test (t, evicted_counts);
  suite_add_tcase (s, t);

  t = tcase_create ("threads");
  tcase_set_timeout (t, 60);
  tcase_add_loop_test (t, threads, 0, 2);
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
