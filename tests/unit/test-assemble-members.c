/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/array/assemble.c and assemble_check.c: members that do not
 * belong to the array, and what cannot be served. Single-threaded.  Run alone:
 * CK_FORK=no tests/unit/test-assemble-members
 */
#include <config.h>

#include "assemble-rig.h"

/* --- who does not belong --- */

START_TEST (other_array)
{
  memset (c[4].sb.set_uuid, 0x22, 16);
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("nbd://h/m00 belongs to 11111111:11111111:11111111:11111111");
  ck_text ("nbd://h/m04 to 22222222:22222222:22222222:22222222");

  opt.has_uuid = true;
  memset (opt.uuid, 0x11, 16);
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[4].verdict, VERDICT_UNUSED);
  ck_assert_uint_eq (got.in_sync, 5);
  ck_remark ("nbd://h/m04 is not used: it belongs to array 22222222");

  memset (opt.uuid, 0x33, 16);
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("no member belongs to array 33333333");
}
END_TEST

START_TEST (field_R13_names_do_not_matter)
{
  unsigned i;

  for (i = 0; i < 6; i++)
    snprintf (c[i].sb.set_name, sizeof c[i].sb.set_name, "oldhost%u:arr%u", i,
              i / 2);
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 6);
  ck_assert_str_eq (got.remarks, "");
}
END_TEST

START_TEST (field_R11_same_member_twice)
{
  unsigned i;

  for (i = 0; i < 3; i++) {
    setup ();
    c[6] = c[2];
    snprintf (addresses[6], sizeof addresses[6], "nbd://h/clone");
    c[6].address = i == 2 ? c[2].address : addresses[6];
    c[6].sb.events -= i == 1 ? 10 : 0; /* an old snapshot */
    nr = 7;
    ck_assert_int_eq (run (), -EINVAL);
    ck_text ("the same member twice");
    ck_text (c[6].address);
    ck_text ("nbd://h/m02");
  }
}
END_TEST

START_TEST (field_R11_two_for_one_slot)
{
  struct candidate *x = add (6, 6);
  unsigned i;

  for (i = 0; i < nr; i++)
    c[i].sb.dev_roles[6] = 3;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("two members for slot 3: nbd://h/m03 and nbd://h/m06");

  x->sb.feature_map |= SB1_F_REPLACEMENT | SB1_F_RECOVERY_OFFSET;
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text ("REPLACEMENT");

  /* An old one of that slot is no rival. */
  x->sb.feature_map = SB1_F_BITMAP;
  x->sb.events = 10;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_STALE);
}
END_TEST

START_TEST (same_dev_number)
{
  struct candidate *x = add (6, 3);

  ck_assert_int_eq (run (), -EINVAL); /* so it has the same slot */
  ck_text ("nbd://h/m03 and nbd://h/m06");

  x->sb.dev_roles[3] = SB1_ROLE_SPARE; /* a spare by its own table */
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("nbd://h/m03 and nbd://h/m06 have the same dev_number 3");

  x->sb.dev_roles[3] = 3;
  x->sb.events = 48; /* its number was given away */
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_STALE);
}
END_TEST

START_TEST (another_slot_than_the_freshest_says)
{
  c[0].sb.events = 51;
  c[0].sb.dev_roles[4] = 5;
  c[0].sb.dev_roles[5] = 4;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("nbd://h/m04 claims slot 4, but has slot 5 on nbd://h/m00");
}
END_TEST

START_TEST (dev_numbers_are_not_slots)
{
  unsigned i, j;

  for (i = 0; i < 6; i++) {
    c[i].sb.dev_number = 7 + 5 * i;
    for (j = 0; j < 128; j++)
      c[i].sb.dev_roles[j] = j >= 7 && j < 37 && (j - 7) % 5 == 0
                                 ? (uint16_t)(5 - (j - 7) / 5)
                                 : SB1_ROLE_SPARE;
  }
  ck_assert_int_eq (run (), 0);
  for (i = 0; i < 6; i++)
    ck_assert_int_eq (got.slot_candidate[i], (int)(5 - i));
}
END_TEST

START_TEST (fields_that_must_be_alike)
{
  static const char *const names[] = {"ctime",  "size",  "chunksize",
                                      "layout", "level", "raid_disks"};
  unsigned i;

  for (i = 0; i < 6; i++) {
    struct sb1 *sb = &c[4].sb;

    setup ();
    sb->ctime += i == 0;
    sb->size_sectors -= i == 1 ? CHUNK : 0;
    sb->chunk_sectors *= i == 2 ? 2 : 1;
    sb->layout += i == 3;
    sb->level -= i == 4;
    sb->raid_disks += i == 5;
    ck_assert_int_eq (run (), -EINVAL);
    ck_text (names[i]);
    ck_text ("nbd://h/m00");
    ck_text ("nbd://h/m04");

    sb->events = 40; /* stale: just not used */
    ck_assert_int_eq (run (), 0);
    ck_assert_int_eq (c[4].verdict, VERDICT_UNUSED);
    ck_remark (names[i]);
  }
}
END_TEST

/* --- what cannot be served --- */

static const struct {
  uint32_t bit;
  const char *name;
} refused[] = {
    {0x4, "RESHAPE_ACTIVE"},
    {0x4 | 0x20, "RESHAPE_BACKWARDS"},
    {0x4 | 0x40, "NEW_OFFSET"},
    {0x10, "REPLACEMENT"},
    {0x100, "CLUSTERED"},
    {0x200, "JOURNAL"},
    {0x400, "PPL"},
    {0x800, "MULTIPLE_PPLS"},
    {0x1000, "RAID0_LAYOUT"},
    {0x80000000, "unknown bit 0x80000000"},
};

START_TEST (field_R22_refused_features)
{
  static struct candidate before[6];
  unsigned i;

  c[2].sb.feature_map |= refused[_i].bit;
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text (refused[_i].name);
  ck_text ("slot 2, nbd://h/m02");

  /* On all of them; nothing is changed. */
  for (i = 0; i < 6; i++)
    c[i].sb.feature_map |= refused[_i].bit;
  (void)run ();
  memcpy (before, c, sizeof before);
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text (refused[_i].name);
  for (i = 0; i < 6; i++)
    ck_assert_mem_eq (&before[i].sb, &c[i].sb, sizeof c[i].sb);

  /* A stale one does not matter. */
  setup ();
  c[2].sb.feature_map |= refused[_i].bit;
  c[2].sb.events = 30;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[2].verdict, VERDICT_UNUSED);
  ck_remark (refused[_i].name);
}
END_TEST

START_TEST (journal_device)
{
  struct candidate *x = add (6, 6);
  unsigned i;

  for (i = 0; i < nr; i++)
    c[i].sb.dev_roles[6] = SB1_ROLE_JOURNAL;
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text ("JOURNAL");
  ck_text ("nbd://h/m06");
  x->sb.events = 60; /* the freshest */
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text ("nbd://h/m06");
  x->sb.events = 10;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (x->verdict, VERDICT_UNUSED);
}
END_TEST

START_TEST (level_not_served)
{
  unsigned i;

  for (i = 0; i < 6; i++)
    c[i].sb.level = 10;
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text ("level is 10");
  setup ();
  for (i = 0; i < 6; i++)
    c[i].sb.raid_disks = 400; /* more than the tables hold */
  ck_assert_int_eq (run (), -EOPNOTSUPP);
  ck_text ("raid_disks is 400");
}
END_TEST

START_TEST (export_too_small)
{
  c[3].dev_sectors = DATA + SIZE - 1;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("slot 3, nbd://h/m03: the export is too small: it has 104857088 "
           "bytes, needed are 104857600");
  c[3].sb.events = 3;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_UNUSED);
}
END_TEST

START_TEST (export_blocks)
{
  c[3].min_block_bytes = 65536;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("slot 3, nbd://h/m03");
  ck_text ("65536 bytes, allowed is at most 4096");
  c[3].min_block_bytes = 4096;
  ck_assert_int_eq (run (), 0);
  c[3].sb.data_offset_sectors = DATA - 1;
  c[3].sb.data_size_sectors = SIZE;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("data_offset is 2096640 bytes");
  ck_text ("4096");
  c[3].min_block_bytes = 1;
  ck_assert_int_eq (run (), 0);
}
END_TEST

START_TEST (export_read_only)
{
  c[3].read_only = true;
  ck_assert_int_eq (run (), -EROFS);
  ck_text ("slot 3, nbd://h/m03");
  ck_text ("-r");
  opt.will_write = false;
  ck_assert_int_eq (run (), 0);
  ck_assert_uint_eq (got.in_sync, 6);
  opt.will_write = true;
  c[3].sb.events = 3;
  ck_assert_int_eq (run (), 0);
  ck_assert_int_eq (c[3].verdict, VERDICT_UNUSED);
}
END_TEST

START_TEST (field_R12_superblock_of_another_place)
{
  /* The loader found one that names another place. */
  c[1].state = CAND_BLANK;
  uraid_error_set (&c[1].why, ENOENT, "super_offset is 8, found at 0");
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("member nbd://h/m01: no md superblock (found: super_offset is 8");
  /* It slipped through. */
  setup ();
  c[1].sb.super_offset_sectors = 0;
  sb1_encode (&c[1].sb);
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("super_offset");
  ck_text ("nbd://h/m01");
  /* A device that grew, 1.2: still the same. */
  setup ();
  c[1].dev_sectors += 2048;
  ck_assert_int_eq (run (), 0);
}
END_TEST

START_TEST (broken_member)
{
  c[1].state = CAND_BROKEN;
  uraid_error_set (&c[1].why, EINVAL, "checksum is 0x1");
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("nbd://h/m01");
  ck_text ("checksum is 0x1");
}
END_TEST

START_TEST (blank_member)
{
  c[1].state = CAND_BLANK;
  ck_assert_int_eq (run (), -EINVAL);
  ck_text ("member nbd://h/m01: no md superblock (found: ");
}
END_TEST

static TCase *
tests_of_members (void)
{
  TCase *tc = tcase_create ("members");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, other_array);
  tcase_add_test (tc, field_R13_names_do_not_matter);
  tcase_add_test (tc, field_R11_same_member_twice);
  tcase_add_test (tc, field_R11_two_for_one_slot);
  tcase_add_test (tc, same_dev_number);
  tcase_add_test (tc, another_slot_than_the_freshest_says);
  tcase_add_test (tc, dev_numbers_are_not_slots);
  tcase_add_test (tc, fields_that_must_be_alike);
  tcase_add_loop_test (tc, field_R22_refused_features, 0,
                       (int)(sizeof refused / sizeof refused[0]));
  tcase_add_test (tc, journal_device);
  tcase_add_test (tc, level_not_served);
  tcase_add_test (tc, export_too_small);
  tcase_add_test (tc, export_blocks);
  tcase_add_test (tc, export_read_only);
  tcase_add_test (tc, field_R12_superblock_of_another_place);
  tcase_add_test (tc, broken_member);
  tcase_add_test (tc, blank_member);
  return tc;
}

int
main (void)
{
  Suite *s = suite_create ("assemble-members");
  SRunner *sr;
  int failed;

  suite_add_tcase (s, tests_of_members ());
  sr = srunner_create (s);
  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
