/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The engine with members missing, against members in memory (engine-rig.h):
 * which survivors are read, what is read ahead, what stays in the cache.
 */
#include <config.h>

#include <check.h>

#include "engine-rig.h"

/* Reads of a lost chunk, page by page: the second in a row decodes all the
 * rest, what follows is answered from that; a write is not overlooked.
 */
START_TEST (degraded_read_ahead)
{
  struct shape sh = plain (6, 6);
  struct engine_stats *st;
  const struct row_map *rm;
  unsigned before;

  world_open (&sh, 11);
  st = engine_get_stats (world.e);
  rm = geometry_row (&world.geo, 0);
  take_out (rm->data_slot[1]);
  for (uint64_t at = 0; at < CHUNK; at += PAGE)
    do_read (CHUNK + at, PAGE);
  ck_assert_uint_eq (atomic_load (&st->recon_reads), 2);
  ck_assert_uint_eq (atomic_load (&st->cached_reads), CHUNK / PAGE - 2);
  /* k of the k + 1 survivors each time. */
  ck_assert_uint_eq (atomic_load (&world.reads), 2 * 4);
  /* Parts of pages, across pages, from the cache too. */
  before = atomic_load (&world.reads);
  do_read (CHUNK + 3 * PAGE + 17, 2 * PAGE + 100);
  ck_assert_uint_eq (atomic_load (&world.reads), before);
  /* Not what was there before a write to the lost chunk, or beside it. */
  do_write (CHUNK + 5 * PAGE + 100, 600, 3, 0);
  do_write (2 * CHUNK + 7 * PAGE, PAGE, 4, 0);
  do_read (CHUNK, CHUNK);
  /* Here and there is not sequential: each page costs k reads. */
  for (unsigned i = 0; i < 4; i++) {
    static const unsigned page[] = {9, 2, 12, 6};

    before = atomic_load (&world.reads);
    rm = geometry_row (&world.geo, 1);
    take_out (rm->data_slot[0]);
    do_read (4 * CHUNK + page[i] * PAGE, PAGE);
    ck_assert_uint_eq (atomic_load (&world.reads) - before, 4);
  }
  check_members ();
  world_close ();
}
END_TEST

/* The cache shrinks when told to, and when nothing happens. */
START_TEST (cache_shrinks)
{
  struct shape sh = plain (6, 6);
  struct stripecache_stats st;

  sh.member_bytes = 40 * CHUNK;
  world_open (&sh, 13);
  for (unsigned i = 0; i < 400; i++)
    do_write ((i * 5) % 2048 * PAGE, PAGE, i, 0);
  engine_cache_stats (world.e, &st);
  ck_assert_uint_gt (st.stripes, 300);
  engine_idle (world.e);
  engine_cache_stats (world.e, &st);
  ck_assert_uint_le (st.pages, 6 * ENGINE_IDLE_STRIPES);
  ck_assert_uint_gt (st.stripes, 0);
  engine_set_stripe_cache_size (world.e, 17);
  engine_cache_stats (world.e, &st);
  ck_assert_uint_le (st.pages, 6 * 17);
  ck_assert_uint_eq (st.limit_pages, 6 * 17);
  read_all ();
  check_members ();
  world_close ();
}
END_TEST

/* A resync is owed and P and Q do not agree: whoever is busy, a lost block
 * reads the same each time.
 */
START_TEST (degraded_unsynced)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;
  uint8_t buf[PAGE];

  world_open (&sh, 12);
  rm = geometry_row (&world.geo, 0);
  memset (world.disk[rm->q_slot].bytes + 3 * PAGE, 0x5a, PAGE);
  for (unsigned i = 0; i < engine_nr_segments (world.e); i++)
    world.region_owes[i] = true;
  engine_sync_begin (world.e, ENGINE_RESYNC, 0);
  take_out (rm->data_slot[1]);
  for (unsigned i = 0; i < 3; i++) {
    unsigned busy = i == 1 ? rm->p_slot : rm->data_slot[3];

    if (i > 0)
      atomic_store (&world.disk[busy].m.in_flight, 50);
    ck_assert_int_eq (engine_read (world.e, buf, PAGE, CHUNK + 3 * PAGE), 0);
    ck_assert_int_eq (memcmp (buf, world.model + CHUNK + 3 * PAGE, PAGE), 0);
    atomic_store (&world.disk[busy].m.in_flight, 0);
  }
  world_close ();
}
END_TEST

/* What was read ahead stays, however full the cache is of other things. */
START_TEST (degraded_full_cache)
{
  struct shape sh = plain (6, 6);
  struct engine_stats *st;

  sh.chunk = 512 << 10;
  sh.member_bytes = 40 * sh.chunk;
  sh.cache = 256;
  world_open (&sh, 12);
  st = engine_get_stats (world.e);
  for (unsigned i = 0; i < 3000; i++)
    do_write ((uint64_t)(i * 37 % 12000) * PAGE, PAGE, i, 0);
  take_out (geometry_row (&world.geo, 30)->data_slot[1]);
  for (uint64_t at = 0; at < sh.chunk; at += PAGE)
    do_read ((30 * 4 + 1) * sh.chunk + at, PAGE);
  ck_assert_uint_ge (atomic_load (&st->cached_reads), 120);
  ck_assert_uint_le (atomic_load (&st->recon_reads), 8);
  world_close ();
}
END_TEST

/* The survivor that has most to do is spared. */
START_TEST (degraded_survivors)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;
  unsigned spared[4];

  world_open (&sh, 12);
  rm = geometry_row (&world.geo, 0);
  spared[0] = rm->q_slot; /* all are idle */
  spared[1] = rm->p_slot;
  spared[2] = rm->data_slot[3];
  spared[3] = rm->q_slot; /* data 0 is busy, but wanted */
  take_out (rm->data_slot[1]);
  for (unsigned i = 0; i < 4; i++) {
    unsigned busy = i == 3 ? rm->data_slot[0] : spared[i];
    uint64_t reads[6];

    if (i > 0)
      atomic_store (&world.disk[busy].m.in_flight, 50);
    for (unsigned k = 0; k < 6; k++)
      reads[k] = world.disk[k].nr_reads;
    do_read (i == 3 ? 8 * PAGE : CHUNK + (8 - 2 * i) * PAGE,
             i == 3 ? CHUNK + 4 * PAGE : PAGE);
    for (unsigned k = 0; k < 6; k++)
      if (k == spared[i] || k == rm->data_slot[1])
        ck_assert_uint_eq (world.disk[k].nr_reads, reads[k]);
      else
        ck_assert_uint_eq (world.disk[k].nr_reads, reads[k] + 1);
    atomic_store (&world.disk[busy].m.in_flight, 0);
  }
  world_close ();
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("engine-degraded");
  TCase *t = tcase_create ("single");

  tcase_set_timeout (t, 120);
  tcase_add_test (t, degraded_read_ahead);
  tcase_add_test (t, degraded_survivors);
  tcase_add_test (t, degraded_unsynced);
  tcase_add_test (t, degraded_full_cache);
  tcase_add_test (t, cache_shrinks);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *r = srunner_create (make_suite ());
  int failed;

  srunner_run_all (r, CK_NORMAL);
  failed = srunner_ntests_failed (r);
  srunner_free (r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
