/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/array/assemble.c: who is fresh, dirty, failed, and is it
 * enough? Who does not belong is test-assemble-members.c's. Single-threaded.
 * Run alone: CK_FORK=no tests/unit/test-assemble
 */
#include <config.h>

#include "assemble-rig.h"

/* --- events --- */

START_TEST (all_equal)
{
  unsigned i;

  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.raid_disks, 6);
  ck_assert_uint_eq (got.in_sync, 6);
  ck_assert_uint_eq (got.events, 50);
  ck_assert (!got.dirty);
  ck_assert_str_eq (got.remarks, "");
  for (i = 0; i < 6; i++)
    ck_assert_int_eq (got.slot_candidate[i], (int)i);
}
END_TEST

START_TEST (one_update_behind)
{
  make (4);
  c[3].sb.events = 49;
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 4);
  ck_assert_str_eq (got.remarks, "");
}
END_TEST

START_TEST (two_updates_behind)
{
  make (4);
  c[3].sb.events = 48;
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 3);
  ck_assert_uint_eq (got.missing, 1);
  ck_assert_int_eq (c[3].verdict, VERDICT_STALE);
  ck_assert_int_eq (got.slot_candidate[3], -1);
  ck_remark ("slot 3, nbd://h/m03 is stale: events 48, needed are 49");
}
END_TEST

START_TEST (one_ahead_and_dirty)
{
  make (4);
  c[3].sb.events = 51;
  c[3].sb.resync_offset_sectors = 0;
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 4);
  ck_assert (got.dirty);
  ck_assert_uint_eq (got.resync_offset_sectors, 0);
  ck_assert_ptr_eq (got.freshest, &c[3]);
}
END_TEST

/* Any two event counts on four members: who is in follows from them. */
START_TEST (sweep_events)
{
  unsigned v, i;

  for (v = 0; v < 256; v++) {
    uint64_t max = 0;

    make (4);
    for (i = 0; i < 4; i++) {
      c[i].sb.events = v >> 2 * i & 3;
      if (c[i].sb.events > max)
        max = c[i].sb.events;
    }
    (void)run ();
    for (i = 0; i < 4; i++)
      ck_assert_int_eq (c[i].verdict, c[i].sb.events + 1 >= max
                                          ? VERDICT_IN_SYNC
                                          : VERDICT_STALE);
  }
}
END_TEST

START_TEST (events_at_the_end_of_the_range)
{
  c[0].sb.events = UINT64_MAX;
  c[1].sb.events = UINT64_MAX - 1;
  set_events (
      (uint64_t[]){UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 0, 1},
      6);
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 4);
}
END_TEST

/* --- dirty --- */

START_TEST (tie_with_different_state)
{
  unsigned i;

  for (i = 0; i < 6; i++) {
    setup ();
    c[i].sb.resync_offset_sectors = 4096;
    ck_assert_int_eq (run (), 0);
    ck_assert (got.dirty);
    ck_assert_uint_eq (got.resync_offset_sectors, 4096);
    ck_assert_ptr_eq (got.freshest, &c[i]);
    c[(i + 1) % 6].sb.resync_offset_sectors = 0;
    ck_assert_int_eq (run (), 0);
    ck_assert_uint_eq (got.resync_offset_sectors, 0);
    ck_assert_ptr_eq (got.freshest, &c[(i + 1) % 6]);
  }
}
END_TEST

START_TEST (crash_on_the_way_to_clean)
{
  /* The last two missed the update that says clean. */
  c[4].sb.events = c[5].sb.events = 49;
  c[4].sb.resync_offset_sectors = c[5].sb.resync_offset_sectors = 1000;
  ck_assert_int_eq (run (), 0);
  ck_assert (got.dirty);
  ck_assert_uint_eq (got.resync_offset_sectors, 1000);
  /* Degraded: the freshest decides. */
  unreachable (0, "refused");
  ck_assert_int_eq (run (), 0);
  ck_assert (!got.dirty);
  ck_assert_uint_eq (got.resync_offset_sectors, SB1_MAX);
}
END_TEST

START_TEST (spares_do_not_make_it_dirty)
{
  struct candidate *x = add (6, 6);

  x->sb.resync_offset_sectors = 0;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_SPARE);
  ck_assert (!got.dirty);
}
END_TEST

START_TEST (resync_position_behind_the_end)
{
  c[2].sb.resync_offset_sectors = SIZE + 4096;
  ck_assert_int_eq (run (), 0);
  ck_assert (got.dirty);
  ck_assert_uint_eq (got.resync_offset_sectors, SIZE);
}
END_TEST

START_TEST (dirty_and_degraded)
{
  unsigned i;

  for (i = 0; i < 6; i++)
    c[i].sb.resync_offset_sectors = 0;
  unreachable (3, "connection refused");
  ck_assert_int_eq (run (), -EUCLEAN);
  ck_text ("slot 3 (missing)");
  ck_text ("start-dirty-degraded=yes");
  ck_remark ("nbd://h/m03 cannot be reached: connection refused");

  opt.start_dirty_degraded = true;
  ck_assert_int_eq (run (), 0);
  ck_assert (got.dirty);
  ck_remark ("dirty and degraded, started as asked for");

  opt.start_dirty_degraded = false;
  opt.will_write = false;
  ck_assert_int_eq (run (), 0);
  ck_remark ("dirty and degraded, but read-only");

  /* All there, one not complete. */
  setup ();
  c[1].sb.resync_offset_sectors = 0;
  c[2].sb.feature_map |= SB1_F_RECOVERY_OFFSET;
  ck_assert_int_eq (run (), -EUCLEAN);
  ck_text ("slot 2 (recovering)");
}
END_TEST

/* --- recorded as failed --- */

START_TEST (recorded_failed_with_equal_events)
{
  set_role (3, SB1_ROLE_FAULTY, 6);
  c[3].sb.dev_roles[3] = 3;
  c[3].sb.resync_offset_sectors = 0; /* would win the tie */
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_STALE);
  ck_assert_uint_eq (got.in_sync, 5);
  ck_assert (!got.dirty);
  ck_remark ("slot 3, nbd://h/m03 is stale: recorded as failed by");

  /* One update behind: the usual way. */
  c[3].sb.events = 49;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_STALE);
}
END_TEST

START_TEST (recorded_failed_by_the_one_that_missed_an_update)
{
  /* Came back and recovers: m0 missed just that update. */
  c[0].sb.events = 49;
  c[0].sb.dev_roles[3] = SB1_ROLE_FAULTY;
  c[3].sb.feature_map |= SB1_F_RECOVERY_OFFSET;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_RECOVERING);
  ck_assert_uint_eq (got.in_sync, 5);
  /* Without the recovery it cannot have been in the array. */
  c[3].sb.feature_map &= ~SB1_F_RECOVERY_OFFSET;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_STALE);
}
END_TEST

START_TEST (two_histories)
{
  unsigned i;

  make (4); /* either half of four could start alone */
  for (i = 0; i < 4; i++) {
    c[i].sb.dev_roles[i < 2 ? 2 : 0] = SB1_ROLE_FAULTY;
    c[i].sb.dev_roles[i < 2 ? 3 : 1] = SB1_ROLE_FAULTY;
  }
  for (i = 0; i < 2; i++) {
    ck_assert_int_eq (run (), -EINVAL);
    ck_text ("two histories");
    ck_text ("nbd://h/m00");
    ck_text ("nbd://h/m02");
    c[0].sb.events = c[1].sb.events = 51;
  }
  /* Far apart: the newer half, and the other is said to be stale. */
  c[0].sb.events = c[1].sb.events = 60;
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 2);
  ck_assert_int_eq (c[2].verdict, VERDICT_STALE);
  ck_remark ("slot 2, nbd://h/m02 is stale: events 50, needed are 59");

  /* One-sided, and the accused is the newest. */
  make (4);
  c[0].sb.events = 51;
  set_role (0, SB1_ROLE_FAULTY, 4);
  c[0].sb.dev_roles[0] = 0;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("two histories");
}
END_TEST

START_TEST (failed_by_its_own_table)
{
  c[2].sb.dev_roles[2] = SB1_ROLE_FAULTY;
  c[2].sb.events = 51;
  ck_assert_int_eq (run (), 0);
  ck_assert_ptr_ne (got.freshest, &c[2]);
  ck_assert_int_eq (c[2].verdict, VERDICT_UNUSED); /* newer: do not touch */
  c[2].sb.events = 50;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[2].verdict, VERDICT_STALE);
  ck_remark ("its own superblock records it as failed");
  c[2].sb.events = 60;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("newer members exist");
}
END_TEST

START_TEST (removed_by_the_freshest)
{
  unsigned i;

  set_role (5, SB1_ROLE_SPARE, 5);
  c[5].sb.events = 49;
  for (i = 0; i < 2; i++) {
    ck_assert_int_eq (run (), 0);
    ck_assert_int_eq (c[5].verdict, VERDICT_SPARE);
    ck_assert_uint_eq (got.in_sync, 5);
    ck_remark ("nbd://h/m05 claims slot 5");
    set_role (5, 77, 5); /* a slot behind the last: a spare as well */
  }
}
END_TEST

/* --- how many are there --- */

START_TEST (missing_words)
{
  c[1].missing_word = c[4].missing_word = true;
  c[1].state = c[4].state = CAND_UNREACHABLE;
  c[1].address = c[4].address = "missing";
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.missing, 2);
  ck_assert_str_eq (got.remarks, "");

  opt.start_degraded = false;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("slot 1 (missing), slot 4 (missing)");
  ck_text ("start-degraded=yes");
}
END_TEST

START_TEST (not_all_and_not_degraded)
{
  opt.start_degraded = false;
  ck_assert_int_eq (run (), 0);
  c[2].sb.feature_map |= SB1_F_RECOVERY_OFFSET;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("slot 2 (recovering)");
}
END_TEST

/* All subsets of present members, all levels. */
START_TEST (sweep_present)
{
  unsigned set, i, present;
  int level;

  for (level = 4; level <= 6; level++)
    for (set = 0; set < 32; set++) {
      make (5);
      present = 0;
      for (i = 0; i < 5; i++) {
        c[i].sb.level = level;
        c[i].sb.layout = level == 4 ? 0 : 2;
        if ((set >> i & 1) == 0)
          unreachable (i, "gone");
        else
          present++;
      }
      ck_assert_int_eq (run (),
                        present >= (level == 6 ? 3u : 4u) ? 0 : -ENXIO);
      if (present > 0)
        ck_assert_uint_eq (got.in_sync, present);
      ck_assert (present == 5 || strstr (got.remarks, "gone") != NULL);
    }
}
END_TEST

START_TEST (field_R8_too_few_with_a_table)
{
  unsigned i;

  for (i = 0; i < 3; i++)
    c[i].sb.events = 46;
  for (i = 0; i < 9; i++)
    c[3 + i / 3].sb.dev_roles[i % 3] = SB1_ROLE_FAULTY;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("3 of 6 are in sync, needed are 4");
  ck_text ("slot 0 (missing), slot 1 (missing), slot 2 (missing)");
  ck_text ("not offered yet");
  ck_text ("   0  nbd://h/m00        46  2023-11-14 22:13:20  stale, clean, "
           "recorded as failed by the others");
  ck_text ("   5  nbd://h/m05        50  2023-11-14 22:13:20  in sync, clean");
}
END_TEST

START_TEST (nobody)
{
  nr = 0;
  ck_assert_int_eq (run (), -ENXIO);
  make (2);
  unreachable (0, "no route");
  c[1].sb.dev_roles[1] = SB1_ROLE_SPARE;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("no member with a slot");
  ck_text ("no route");
}
END_TEST

/* --- recovering, spares --- */

START_TEST (recovering)
{
  static const struct {
    uint64_t offset, want;
  } t[] = {{0, 0},          {7, 0},
           {8, 8},          {1031, 1024},
           {SIZE, SIZE},    {SIZE + 800, SIZE},
           {SB1_MAX, SIZE}, {UINT64_C (0x100000000), SIZE}};
  unsigned i;

  for (i = 0; i < sizeof t / sizeof t[0]; i++) {
    c[5].sb.feature_map |= SB1_F_RECOVERY_OFFSET;
    c[5].sb.recovery_offset_sectors = t[i].offset;
    ck_assert_int_eq (run (), 0);
    ck_assert_int_eq (c[5].verdict, VERDICT_RECOVERING);
    ck_assert_uint_eq (c[5].recovered_sectors, t[i].want);
    ck_assert_uint_eq (got.recovering, 1);
    ck_assert_uint_eq (got.in_sync, 5);
    ck_assert_uint_eq (got.missing, 0);
    ck_assert_int_eq (got.slot_candidate[5], 5);
  }
  /* It does not count for enough. */
  unreachable (0, "x");
  unreachable (1, "x");
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("slot 5 (recovering)");
  ck_text ("recovering, clean");
}
END_TEST

START_TEST (spares)
{
  struct candidate *x = add (6, 6), *y = add (6, 9);
  struct candidate *z = add_blank_spare ();

  y->is_spare_arg = true;
  y->sb.events = 3; /* any number */
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_SPARE);
  ck_assert_int_eq (y->verdict, VERDICT_SPARE);
  ck_assert_int_eq (z->verdict, VERDICT_BLANK_SPARE);
  ck_assert_uint_eq (got.in_sync, 6);
  /* Active in the freshest's table, but it never heard of it. */
  set_role (6, 2, 6);
  unreachable (2, "dead");
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_SPARE);
  ck_assert_uint_eq (got.missing, 1);
}
END_TEST

/* field-R50, field-R9: the array went on with members that are not here. */
START_TEST (a_spare_knows_newer_members)
{
  struct candidate *x = add (6, 6);

  x->sb.events = 51;
  ck_assert_int_eq (run (), 0);
  x->sb.events = 52;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("newer members exist and are not here");
  ck_text ("nbd://h/m06 has events 52");
}
END_TEST

START_TEST (spare_that_is_not_blank)
{
  struct candidate *x = add_blank_spare ();

  uraid_error_set (&x->why, 0, "ext4 at byte 1080");
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("spare nbd://h/m06 is not blank (found: ext4 at byte 1080");
}
END_TEST

START_TEST (spare_that_does_not_fit)
{
  struct candidate *x = add_blank_spare ();

  x->dev_sectors = SIZE;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("spare nbd://h/m06: too small");
  x->dev_sectors = DEV;
  x->read_only = true;
  ck_assert_int_eq (run (), -EROFS);
  x->read_only = false;
  x->min_block_bytes = 8192;
  ck_assert_int_eq (run (), -EINVAL);
  x->state = CAND_UNREACHABLE;
  ck_assert_int_eq (run (), 0);
  ck_remark ("spare nbd://h/m06 cannot be reached");
}
END_TEST

START_TEST (field_R52_blank_spares_do_not_revive)
{
  unsigned i;

  for (i = 0; i < 3; i++) {
    unreachable (i, "lost");
    add_blank_spare ();
  }
  ck_assert_int_eq (run (), -ENXIO);
  ck_text ("3 of 6 are in sync, needed are 4");
  ck_text ("blank spare");
}
END_TEST

/* --- texts --- */

START_TEST (largest_array_and_long_texts)
{
  unsigned i;

  make (253);
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 253);
  for (i = 0; i < 250; i++)
    c[i].sb.events = 4;
  ck_assert_int_eq (run (), -ENXIO);
  ck_text (" and more; bring back");
  ck_text (" more\n");
  ck_assert_uint_lt (strlen (err.text), sizeof err.text - 1);
  ck_remark ("\n(more remarks left out)");
  ck_assert_uint_lt (strlen (got.remarks), sizeof got.remarks);
  ck_assert (strstr (strstr (got.remarks, "(more"), "\n") == NULL);
}
END_TEST

START_TEST (table_in_any_size)
{
  char buf[4096], *guard;
  size_t size;

  unreachable (1, "no route");
  c[2].state = CAND_BROKEN;
  c[3].state = CAND_BLANK;
  c[4].missing_word = true;
  for (size = 0; size < 1000; size++) {
    memset (buf, 0x7e, sizeof buf);
    assemble_table (c, nr, buf, size);
    guard = buf + size;
    ck_assert_int_eq (*guard, 0x7e);
    if (size > 0)
      ck_assert_uint_lt (strlen (buf), size);
  }
  ck_assert (strstr (buf, "cannot be reached: no route") != NULL);
  /* By slot, not by address; those without a slot are the last. */
  c[0].address = "nbd://z";
  assemble_table (c, nr, buf, sizeof buf);
  ck_assert (strstr (buf, "nbd://z") < strstr (buf, "nbd://h/m05"));
  ck_assert (strstr (buf, "nbd://h/m05") < strstr (buf, "nbd://h/m01"));
  ck_assert (strstr (buf, "missing") != NULL);
  ck_assert (buf[strlen (buf) - 1] != '\n');
}
END_TEST

/* Random superblocks: no crash, the same in any order, sane when it starts. */
START_TEST (random_members)
{
  unsigned round, i, k;

  for (round = 0; round < 1000; round++) {
    make (4);
    for (i = rnd (4); i > 0; i--)
      add (4, 4 + rnd (3));
    for (i = 0; i < nr; i++) {
      struct sb1 *sb = &c[i].sb;

      sb->events += rnd (3);
      sb->dev_number = rnd (3) != 0 ? sb->dev_number : rnd (7);
      sb->resync_offset_sectors = rnd (3) != 0 ? SB1_MAX : rnd (300000);
      sb->feature_map |= rnd (4) != 0 ? 0 : SB1_F_RECOVERY_OFFSET;
      for (k = 0; k < 7; k++)
        if (rnd (8) == 0)
          sb->dev_roles[k] =
              rnd (3) != 0 ? (uint16_t)(0xfffd + rnd (3)) : (uint16_t)rnd (5);
      c[i].state = rnd (8) != 0 ? CAND_MD : CAND_UNREACHABLE;
    }
    opt.start_dirty_degraded = rnd (2) != 0;
    (void)run ();
  }
}
END_TEST

static TCase *
tests_of_events (void)
{
  TCase *tc = tcase_create ("events");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, all_equal);
  tcase_add_test (tc, one_update_behind);
  tcase_add_test (tc, two_updates_behind);
  tcase_add_test (tc, one_ahead_and_dirty);
  tcase_add_test (tc, sweep_events);
  tcase_add_test (tc, events_at_the_end_of_the_range);
  tcase_add_test (tc, tie_with_different_state);
  tcase_add_test (tc, crash_on_the_way_to_clean);
  tcase_add_test (tc, spares_do_not_make_it_dirty);
  tcase_add_test (tc, resync_position_behind_the_end);
  tcase_add_test (tc, dirty_and_degraded);
  tcase_add_test (tc, recorded_failed_with_equal_events);
  tcase_add_test (tc, recorded_failed_by_the_one_that_missed_an_update);
  tcase_add_test (tc, two_histories);
  tcase_add_test (tc, failed_by_its_own_table);
  tcase_add_test (tc, removed_by_the_freshest);
  return tc;
}

static TCase *
tests_of_numbers (void)
{
  TCase *tc = tcase_create ("numbers");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_set_timeout (tc, 60);
  tcase_add_test (tc, missing_words);
  tcase_add_test (tc, not_all_and_not_degraded);
  tcase_add_test (tc, sweep_present);
  tcase_add_test (tc, field_R8_too_few_with_a_table);
  tcase_add_test (tc, nobody);
  tcase_add_test (tc, recovering);
  tcase_add_test (tc, spares);
  tcase_add_test (tc, a_spare_knows_newer_members);
  tcase_add_test (tc, spare_that_is_not_blank);
  tcase_add_test (tc, spare_that_does_not_fit);
  tcase_add_test (tc, field_R52_blank_spares_do_not_revive);
  tcase_add_test (tc, largest_array_and_long_texts);
  tcase_add_test (tc, table_in_any_size);
  tcase_add_test (tc, random_members);
  return tc;
}

int
main (void)
{
  Suite *s = suite_create ("assemble");
  SRunner *sr;
  int failed;

  suite_add_tcase (s, tests_of_events ());
  suite_add_tcase (s, tests_of_numbers ());
  sr = srunner_create (s);
  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
