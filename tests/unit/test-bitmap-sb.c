/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/md_layout/bitmap_sb.c: the bitmap's superblock and sizes.
 * Single-threaded.  Run alone: tests/unit/test-bitmap-sb (CK_FORK=no to
 * debug).
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "bitmap_sb.h"
#include "le.h"

/* Made by mdadm 4.2 and Linux 6.1; zeros up to 256 follow. */
static const char known_hex[] = "6269746d0400000000112233445566778899aabb"
                                "ccddeeff02000000000000000100000000000000"
                                "0010030000000000000000000000000405000000";

static const uint8_t set_uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
                                     0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                                     0xcc, 0xdd, 0xee, 0xff};

static uint8_t known[BITMAP_SB_BYTES];
static struct bitmap_sb b;
static struct uraid_error err;

static void
setup (void)
{
  size_t i;
  unsigned v;

  memset (known, 0, sizeof known);
  for (i = 0; i < (sizeof known_hex - 1) / 2; i++) {
    sscanf (known_hex + 2 * i, "%2x", &v);
    known[i] = (uint8_t)v;
  }
  memset (&err, 0, sizeof err);
}

#define ck_text(word)                                                         \
  ck_assert_msg (strstr (err.text, word) != NULL, "no '%s' in: %s", word,     \
                 err.text)

/* Put V (32 bits) at OFFSET and parse. */
static int
parse_with (unsigned offset, uint32_t v)
{
  setup ();
  le32_put (known + offset, v);
  return bitmap_sb_parse (known, set_uuid, &b, &err);
}

START_TEST (known_answer)
{
  ck_assert_int_eq (bitmap_sb_parse (known, set_uuid, &b, &err), 0);
  ck_assert_uint_eq (b.version, 4);
  ck_assert_mem_eq (b.uuid, set_uuid, 16);
  ck_assert_uint_eq (b.events, 2);
  ck_assert_uint_eq (b.events_cleared, 1);
  ck_assert_uint_eq (b.sync_size_sectors, 200704);
  ck_assert_uint_eq (b.state, 0);
  ck_assert_uint_eq (b.chunk_bytes, 64 << 20);
  ck_assert_uint_eq (b.daemon_sleep_s, 5);
  ck_assert_uint_eq (b.write_behind, 0);
  ck_assert_uint_eq (b.sectors_reserved, 0);
  ck_assert_uint_eq (b.nodes, 0);
  bitmap_sb_encode (&b);
  ck_assert_mem_eq (b.raw, known, BITMAP_SB_BYTES);
  memset (b.raw, 0, BITMAP_SB_BYTES);
  bitmap_sb_encode (&b);
  ck_assert_mem_eq (b.raw, known, BITMAP_SB_BYTES);
}
END_TEST

START_TEST (new_one)
{
  /* mdadm writes the known answer with both counts 0. */
  bitmap_sb_init (&b, set_uuid, 200704, 64 << 20);
  memset (known + 24, 0, 16);
  ck_assert_mem_eq (b.raw, known, BITMAP_SB_BYTES);
  ck_assert_int_eq (bitmap_sb_parse (b.raw, set_uuid, &b, &err), 0);
}
END_TEST

START_TEST (unknown_bytes_kept)
{
  size_t i;

  for (i = 72; i < BITMAP_SB_BYTES; i++)
    known[i] = (uint8_t)(i * 13 + 1);
  le32_put (known + 48, 0xdeadbee2); /* state bits nobody knows */
  le32_put (known + 60, 16383);
  le32_put (known + 64, 4711);
  le64_put (known + 24, UINT64_C (0x1122334455667788));
  le64_put (known + 32, UINT64_C (0x99aabbccddeeff00));
  le64_put (known + 40, UINT64_C (0x0123456789abcdef));
  ck_assert_int_eq (bitmap_sb_parse (known, set_uuid, &b, &err), 0);
  ck_assert_uint_eq (b.state & BITMAP_STATE_STALE, BITMAP_STATE_STALE);
  bitmap_sb_encode (&b);
  ck_assert_mem_eq (b.raw, known, BITMAP_SB_BYTES);
  b.events = 9;
  bitmap_sb_encode (&b);
  le64_put (known + 24, 9);
  ck_assert_mem_eq (b.raw, known, BITMAP_SB_BYTES);
}
END_TEST

START_TEST (refusals)
{
  static const uint32_t bad_versions[] = {0, 1, 2, 5, 6, 7, UINT32_MAX};
  static const uint32_t bad_chunks[] = {0, 1, 256, 513, 4097, UINT32_MAX};
  static const uint32_t good_chunks[] = {512, 4096, 1u << 31};
  size_t i;

  ck_assert_int_eq (parse_with (0, 0x6d746963), -EINVAL);
  ck_text ("magic is 0x6d746963");
  ck_assert_int_eq (parse_with (0, 0), -EINVAL);
  for (i = 0; i < sizeof bad_versions / sizeof bad_versions[0]; i++) {
    ck_assert_int_eq (parse_with (4, bad_versions[i]), -EINVAL);
    ck_text ("version is");
  }
  ck_assert_int_eq (parse_with (4, 5), -EINVAL);
  ck_text ("5 (cluster)");
  ck_assert_int_eq (parse_with (4, 6), -EINVAL);
  ck_text ("6 (lockless)");
  ck_assert_int_eq (parse_with (4, 3), 0);
  for (i = 0; i < sizeof bad_chunks / sizeof bad_chunks[0]; i++) {
    ck_assert_int_eq (parse_with (52, bad_chunks[i]), -EINVAL);
    ck_text ("chunksize");
  }
  for (i = 0; i < sizeof good_chunks / sizeof good_chunks[0]; i++)
    ck_assert_int_eq (parse_with (52, good_chunks[i]), 0);
  ck_assert_int_eq (parse_with (56, 0), -EINVAL);
  ck_text ("daemon_sleep");
  ck_assert_int_eq (parse_with (56, 1), 0);
  ck_assert_int_eq (parse_with (60, 16384), -EINVAL);
  ck_text ("write_behind is 16384");
  ck_assert_int_eq (parse_with (68, 1), -EINVAL);
  ck_text ("nodes is 1");
  ck_assert_int_eq (parse_with (8, 1), -EINVAL);
  ck_text ("uuid is 01000000:44556677:8899aabb:ccddeeff");
  ck_text ("00112233:44556677:8899aabb:ccddeeff");
  ck_assert_int_eq (bitmap_sb_parse (known, NULL, &b, &err), 0);
}
END_TEST

START_TEST (worked_sizes)
{
  static const struct {
    uint64_t size_sectors;
    uint32_t chunk_bytes;
    uint64_t bits;
    uint64_t area_bytes;
  } rows[] = {
      {203776, 64 << 20, 2, 4096},
      {41908224, 64 << 20, 320, 4096},
      {272365568, 64 << 20, 2078, 4096},
      {UINT64_C (1953260544), 64 << 20, 14903, 4096},
      {UINT64_C (4294703104), 64 << 20, 32766, 8192},
      {UINT64_C (4294966272), 64 << 20, 32768, 8192},
      {UINT64_C (17179604992), 64 << 20, 131070, 40 * 512},
      {UINT64_C (195312235520), 128 << 20, 745058, 184 * 512},
      {0, 4096, 0, 4096},
      {1, 4096, 1, 4096},
      {8, 4096, 1, 4096},
      {9, 4096, 2, 4096},
      {30720 * 8, 4096, 30720, 4096}, /* the page is full */
      {30720 * 8 + 1, 4096, 30721, 8192},
      /* 1 PiB and 4 KiB: 2^38 bits, 32 GiB */
      {UINT64_C (1) << 41, 4096, UINT64_C (1) << 38,
       (UINT64_C (1) << 35) + 4096},
      {UINT64_MAX, 512, UINT64_MAX, (UINT64_C (1) << 61) + 4096},
      {UINT64_MAX, 1u << 31, UINT64_C (1) << 42, (UINT64_C (1) << 39) + 4096},
      {100, 0, 0, 4096}, /* a super that did not parse */
  };
  size_t i;

  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ck_assert_uint_eq (bitmap_bits (rows[i].size_sectors, rows[i].chunk_bytes),
                       rows[i].bits);
    ck_assert_uint_eq (
        bitmap_area_bytes (rows[i].size_sectors, rows[i].chunk_bytes),
        rows[i].area_bytes);
  }
}
END_TEST

START_TEST (single_bits)
{
  uint8_t bits[4] = {0};

  bitmap_set (bits, 0);
  bitmap_set (bits, 9);
  bitmap_set (bits, 31);
  ck_assert_mem_eq (bits, "\x01\x02\x00\x80", 4);
  ck_assert (bitmap_test (bits, 9));
  ck_assert (!bitmap_test (bits, 8));
  bitmap_clear (bits, 9);
  ck_assert_mem_eq (bits, "\x01\x00\x00\x80", 4);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("bitmap-sb");
  TCase *tc = tcase_create ("all");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, known_answer);
  tcase_add_test (tc, new_one);
  tcase_add_test (tc, unknown_bytes_kept);
  tcase_add_test (tc, refusals);
  tcase_add_test (tc, worked_sizes);
  tcase_add_test (tc, single_bits);
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
