/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/md_layout/badblocks.c: md's bad-block log.  Single-threaded.
 * Run alone: tests/unit/test-badblocks (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "badblocks.h"
#include "le.h"

#define RAW_BYTES 4096

static struct badblocks bb;
static uint8_t raw[RAW_BYTES];
static struct uraid_error err;

static void
setup (void)
{
  memset (&bb, 0, sizeof bb);
  memset (raw, 0xff, sizeof raw);
  memset (&err, 0, sizeof err);
}

static void
teardown (void)
{
  badblocks_done (&bb);
}

static void
put (size_t i, uint64_t start, uint64_t len)
{
  le64_put (raw + 8 * i, start << 10 | len);
}

#define ck_range(i, start, len)                                               \
  do {                                                                        \
    ck_assert_uint_lt ((i), bb.nr);                                           \
    ck_assert_uint_eq (bb.ranges[i].start_sectors, (start));                  \
    ck_assert_uint_eq (bb.ranges[i].len_sectors, (len));                      \
  } while (0)

#define ck_text(word)                                                         \
  ck_assert_msg (strstr (err.text, word) != NULL, "no '%s' in: %s", word,     \
                 err.text)

/* The two entries seen on members of Linux arrays. */
START_TEST (known_entries)
{
  static const uint8_t e2560[8] = {0x08, 0x00, 0x28};
  static const uint8_t e3000[8] = {0x08, 0xe0, 0x2e};

  memcpy (raw, e3000, 8);
  memcpy (raw + 8, e2560, 8);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 2);
  ck_range (0, 2560, 8);
  ck_range (1, 3000, 8);
  memset (raw, 0, sizeof raw);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  ck_assert_mem_eq (raw, e2560, 8);
  ck_assert_mem_eq (raw + 8, e3000, 8);
  for (size_t i = 16; i < RAW_BYTES; i++)
    ck_assert_uint_eq (raw[i], 0xff);
}
END_TEST

/* Linux stored 600 sectors as 5512+88, 5000+512. */
START_TEST (split_600)
{
  put (0, 5512, 88);
  put (1, 5000, 512);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 1);
  ck_range (0, 5000, 600);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  ck_assert_uint_eq (le64_get (raw), UINT64_C (5000) << 10 | 512);
  ck_assert_uint_eq (le64_get (raw + 8), UINT64_C (5512) << 10 | 88);
  ck_assert_uint_eq (le64_get (raw + 16), UINT64_MAX);
}
END_TEST

START_TEST (length_0_refused)
{
  put (0, 100, 8);
  put (1, 3000, 0);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), -EINVAL);
  ck_text ("entry 1");
  ck_text ("length 0");
  ck_assert_uint_eq (bb.nr, 0);
  ck_assert_ptr_null (bb.ranges);
  memset (raw, 0, sizeof raw); /* an area never written */
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), -EINVAL);
}
END_TEST

START_TEST (all_ones_ends)
{
  put (0, 100, 8);
  le64_put (raw + 8, UINT64_MAX);
  memset (raw + 16, 0, RAW_BYTES - 16); /* would be refused */
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 1);
  /* Not only the length's bits decide, nor the start's. */
  badblocks_done (&bb);
  memset (raw, 0xff, sizeof raw);
  put (0, 7, 0x3ff);
  put (1, (UINT64_C (1) << 54) - 1, 1);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 2);
  ck_range (0, 7, 1023);
  ck_range (1, (UINT64_C (1) << 54) - 1, 1);
}
END_TEST

START_TEST (empty_and_odd_sizes)
{
  ck_assert_int_eq (badblocks_parse (raw, 0, 0, &bb, &err), 0);
  ck_assert_int_eq (badblocks_parse (raw, 7, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 0);
  put (0, 5, 1);
  put (1, 50, 1);
  ck_assert_int_eq (badblocks_parse (raw, 15, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 1);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, 7), -ENOSPC);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, 8), 0);
}
END_TEST

START_TEST (full_table)
{
  size_t i;

  for (i = 0; i < 512; i++)
    put (i, 10 * (511 - i), 8);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 512);
  memset (raw, 0, sizeof raw);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  for (i = 0; i < 512; i++)
    ck_assert_uint_eq (le64_get (raw + 8 * i), 10 * i << 10 | 8);
  /* One more: refused, and the table stays. */
  ck_assert_int_eq (badblocks_add (&bb, 100000, 1), 0);
  memset (raw, 0x5a, sizeof raw);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), -ENOSPC);
  for (i = 0; i < RAW_BYTES; i++)
    ck_assert_uint_eq (raw[i], 0x5a);
}
END_TEST

/* 2^32 + 8 sectors must not come out as 8. */
START_TEST (no_32_bit_cut)
{
  const uint64_t len = (UINT64_C (1) << 32) + 8;

  ck_assert_int_eq (badblocks_add (&bb, 1000, len), 0);
  ck_range (0, 1000, len);
  ck_assert (badblocks_overlap (&bb, 1000 + len - 1, 1));
  ck_assert (!badblocks_overlap (&bb, 1000 + len, 1));
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), -ENOSPC);
  /* In bigger units it fits: 2^32 + 8 in units of 2^24. */
  ck_assert_int_eq (badblocks_encode (&bb, 24, raw, RAW_BYTES), 0);
  ck_assert_uint_eq (le64_get (raw), UINT64_C (0) << 10 | 257);
  ck_assert_int_eq (badblocks_remove (&bb, 1008, UINT64_C (1) << 32), 0);
  ck_assert_uint_eq (bb.nr, 1);
  ck_range (0, 1000, 8);
}
END_TEST

/* 512 full entries are 262144 sectors; one sector more is too much. */
START_TEST (longest_range)
{
  ck_assert_int_eq (badblocks_add (&bb, 8, 512 * 512), 0);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  badblocks_done (&bb);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 0, &bb, &err), 0);
  ck_range (0, 8, 512 * 512);
  ck_assert_int_eq (badblocks_add (&bb, 7, 1), 0);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), -ENOSPC);
}
END_TEST

START_TEST (beyond_the_format)
{
  ck_assert_int_eq (badblocks_add (&bb, (UINT64_C (1) << 54) - 1, 1), 0);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  ck_assert_int_eq (badblocks_add (&bb, UINT64_C (1) << 54, 1), 0);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), -ENOSPC);
  ck_assert_int_eq (badblocks_encode (&bb, 1, raw, RAW_BYTES), 0);
  ck_assert_int_eq (badblocks_add (&bb, 5, UINT64_MAX), 0);
  ck_assert_uint_eq (bb.nr, 1);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), -ENOSPC);
  ck_assert (badblocks_overlap (&bb, UINT64_MAX - 1, 1));
}
END_TEST

START_TEST (shifts)
{
  put (0, 10, 3);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 3, &bb, &err), 0);
  ck_range (0, 80, 24);
  ck_assert_int_eq (badblocks_encode (&bb, 3, raw, RAW_BYTES), 0);
  ck_assert_uint_eq (le64_get (raw), 10 << 10 | 3);
  /* Outward: no bad sector may be left out; two in one unit: one entry. */
  badblocks_done (&bb);
  badblocks_add (&bb, 7, 2);
  badblocks_add (&bb, 10, 1);
  badblocks_add (&bb, 23, 1);
  ck_assert_int_eq (badblocks_encode (&bb, 3, raw, RAW_BYTES), 0);
  badblocks_done (&bb);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 3, &bb, &err), 0);
  ck_assert_uint_eq (bb.nr, 1);
  ck_range (0, 0, 24);
}
END_TEST

START_TEST (overflows_refused)
{
  static const unsigned bad[] = {11, 40, 41, 63, 64, 255};
  size_t i;

  put (0, (UINT64_C (1) << 54) - 2, 4);
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, bad[i], &bb, &err),
                      -EINVAL);
    ck_text ("entry 0");
  }
  put (0, (UINT64_C (1) << 54) - 1, 1);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 10, &bb, &err), -EINVAL);
  put (0, (UINT64_C (1) << 54) - 2, 1);
  ck_assert_int_eq (badblocks_parse (raw, RAW_BYTES, 10, &bb, &err), 0);
  ck_assert_int_eq (badblocks_encode (&bb, 255, raw, RAW_BYTES), -ENOSPC);
}
END_TEST

START_TEST (merge_and_split)
{
  badblocks_add (&bb, 100, 10);
  badblocks_add (&bb, 120, 10);
  badblocks_add (&bb, 50, 10);
  ck_assert_uint_eq (bb.nr, 3);
  ck_range (0, 50, 10);
  badblocks_add (&bb, 110, 10); /* touches both */
  ck_assert_uint_eq (bb.nr, 2);
  ck_range (1, 100, 30);
  badblocks_add (&bb, 105, 3); /* inside */
  ck_range (1, 100, 30);
  badblocks_add (&bb, 0, 0);
  ck_assert_uint_eq (bb.nr, 2);
  badblocks_remove (&bb, 110, 5); /* a hole */
  ck_assert_uint_eq (bb.nr, 3);
  ck_range (1, 100, 10);
  ck_range (2, 115, 15);
  badblocks_remove (&bb, 110, 5); /* touches both, takes nothing */
  badblocks_remove (&bb, 0, 0);
  ck_assert_uint_eq (bb.nr, 3);
  badblocks_remove (&bb, 55, 50); /* cuts two */
  ck_assert_uint_eq (bb.nr, 3);
  ck_range (0, 50, 5);
  ck_range (1, 105, 5);
  badblocks_remove (&bb, 0, UINT64_MAX);
  ck_assert_uint_eq (bb.nr, 0);
  badblocks_remove (&bb, 0, UINT64_MAX);
  ck_assert_int_eq (badblocks_encode (&bb, 0, raw, RAW_BYTES), 0);
  ck_assert_uint_eq (le64_get (raw), UINT64_MAX);
  badblocks_done (NULL);
}
END_TEST

enum { NR_FLAGS = 300 };

/* The list says the same as FLAGS, is sorted, and no two ranges touch. */
static bool
same_as_flags (const bool flags[NR_FLAGS])
{
  bool listed[NR_FLAGS] = {false};
  uint64_t last_end = 0;
  size_t i;

  for (i = 0; i < bb.nr; i++) {
    const struct badblocks_range *r = &bb.ranges[i];

    if (r->len_sectors == 0 || (i > 0 && r->start_sectors <= last_end) ||
        r->start_sectors + r->len_sectors > NR_FLAGS)
      return false;
    memset (&listed[r->start_sectors], true, r->len_sectors);
    last_end = r->start_sectors + r->len_sectors;
  }
  return memcmp (listed, flags, sizeof listed) == 0;
}

START_TEST (like_a_flag_array)
{
  bool flags[NR_FLAGS] = {false};
  unsigned step;

  srandom (2);
  for (step = 0; step < 20000; step++) {
    const unsigned start = (unsigned)random () % NR_FLAGS;
    const unsigned len = (unsigned)random () % (NR_FLAGS - start + 1) % 20;
    const bool set = random () % 2;
    const bool any = memchr (&flags[start], true, len) != NULL;
    int r;

    if (badblocks_overlap (&bb, start, len) != any)
      ck_abort_msg ("step %u: overlap is wrong", step);
    memset (&flags[start], set, len);
    r = set ? badblocks_add (&bb, start, len)
            : badblocks_remove (&bb, start, len);
    if (r != 0 || !same_as_flags (flags))
      ck_abort_msg ("step %u: the list is wrong", step);
  }
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("badblocks");
  TCase *tc = tcase_create ("all");

  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, known_entries);
  tcase_add_test (tc, split_600);
  tcase_add_test (tc, length_0_refused);
  tcase_add_test (tc, all_ones_ends);
  tcase_add_test (tc, empty_and_odd_sizes);
  tcase_add_test (tc, full_table);
  tcase_add_test (tc, no_32_bit_cut);
  tcase_add_test (tc, longest_range);
  tcase_add_test (tc, beyond_the_format);
  tcase_add_test (tc, shifts);
  tcase_add_test (tc, overflows_refused);
  tcase_add_test (tc, merge_and_split);
  tcase_add_test (tc, like_a_flag_array);
  suite_add_tcase (s, tc);
  return s;
}

int
main (void)
{
  SRunner *sr = srunner_create (suite ());
  int failed;

  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
