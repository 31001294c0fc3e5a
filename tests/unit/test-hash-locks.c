/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * nr_stripe_hash_locks (S5): an engine that is told N has N locks, uses all of
 * them about equally, and they are independent; and the largest counts of a
 * stripe cache (S1).  One thread.
 */
#include <config.h>

#include <pthread.h>
#include <stdlib.h>

#include <check.h>

#include "engine/engine_int.h"

#define NR_SEGMENTS 4096 /* looked at; neighbours, as in an array */
#define MAX_LOCKS 32

static struct parity *par;
static struct geometry geo;
static struct engine *e;

static void
start (unsigned nr_locks, unsigned members, unsigned stripes)
{
  struct engine_config cfg = {0};
  struct uraid_error err = {0};

  ck_assert_int_eq (geometry_init (&geo, 6, 2, members, 128, 1 << 24, &err),
                    0);
  ck_assert_int_eq (parity_new (&geo, &par), 0);
  cfg.geo = &geo;
  cfg.par = par;
  cfg.stripe_cache_size = stripes;
  cfg.nr_hash_locks = nr_locks;
  ck_assert_int_eq (engine_new (&cfg, &e, &err), 0);
}

static void
end (void)
{
  engine_free (e);
  parity_free (par);
  geometry_done (&geo);
}

static struct stripecache_bucket *
bucket_of (uint64_t segno)
{
  struct segment *seg = stripecache_lock (e->sc, segno);
  struct stripecache_bucket *b;

  ck_assert_ptr_nonnull (seg);
  b = seg->b;
  stripecache_unlock (e->sc, seg);
  return b;
}

static const unsigned counts[] = {8, 16, 32};

START_TEST (all_locks_used)
{
  const unsigned nr = counts[_i];
  struct stripecache_bucket *seen[MAX_LOCKS] = {NULL};
  unsigned hits[MAX_LOCKS] = {0}, nr_seen = 0;

  start (nr, 6, 1024);
  for (uint64_t segno = 0; segno < NR_SEGMENTS; segno++) {
    struct stripecache_bucket *b = bucket_of (segno);
    unsigned i;

    ck_assert_ptr_eq (bucket_of (segno), b);
    for (i = 0; i < nr_seen && seen[i] != b; i++)
      ;
    ck_assert_uint_lt (i, nr);
    if (i == nr_seen)
      seen[nr_seen++] = b;
    hits[i]++;
  }
  ck_assert_uint_eq (nr_seen, nr);
  for (unsigned i = 0; i < nr; i++) {
    ck_assert_uint_ge (hits[i], NR_SEGMENTS / nr / 2);
    ck_assert_uint_le (hits[i], NR_SEGMENTS / nr * 2);
  }
  /* While one is held the others are free. */
  for (unsigned i = 0; i < nr; i++) {
    ck_assert_int_eq (pthread_mutex_trylock (&seen[i]->lock), 0);
    for (unsigned k = 0; k < i; k++) {
      ck_assert_int_eq (pthread_mutex_trylock (&seen[k]->lock), 0);
      pthread_mutex_unlock (&seen[k]->lock);
    }
    pthread_mutex_unlock (&seen[i]->lock);
  }
  end ();
}
END_TEST

/* More pages than 32 bits of bytes, and of KiB with 253 members. */
START_TEST (largest_counts)
{
  struct stripecache_stats st;

  start (32, GEOMETRY_MAX_DISKS, STRIPECACHE_MAX);
  stripecache_get_stats (e->sc, &st);
  ck_assert_uint_eq (st.limit_pages, UINT64_C (262144) * 253);
  engine_set_stripe_cache_size (e, STRIPECACHE_MIN);
  stripecache_get_stats (e->sc, &st);
  ck_assert_uint_eq (st.limit_pages, 17 * 253);
  engine_set_stripe_cache_size (e, STRIPECACHE_MAX);
  stripecache_get_stats (e->sc, &st);
  ck_assert_uint_eq (st.limit_pages, UINT64_C (262144) * 253);
  end ();
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("hash-locks");
  TCase *t = tcase_create ("hash-locks");

  tcase_add_loop_test (t, all_locks_used, 0, 3);
  tcase_add_test (t, largest_counts);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *sr = srunner_create (make_suite ());
  int failed;

  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
