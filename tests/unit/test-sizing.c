/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/md_layout/sizing.c: sizes and offsets as mdadm 4.2 chooses
 * them.  The rows of the tables were made with mdadm.  Single-threaded.  Run
 * alone: tests/unit/test-sizing (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "bitmap_sb.h"
#include "sizing.h"

#define MAX_DEVS 300

static struct uraid_error err;
static uint64_t devs[MAX_DEVS];
static struct sizing_input in;
static struct sizing_result res;
static struct sizing_member mem;

static void
setup (void)
{
  memset (&err, 0, sizeof err);
  memset (devs, 0, sizeof devs);
  memset (&in, 0, sizeof in);
  in.level = 6;
  in.minor = 2;
  in.raid_disks = 4;
  in.data_offset_sectors = UINT64_MAX;
  in.dev_sectors = devs;
}

static void
all_devs (uint64_t dev_sectors)
{
  unsigned i;

  for (i = 0; i < in.raid_disks + in.spare_disks && i < MAX_DEVS; i++)
    devs[i] = dev_sectors;
}

static int
size_all (uint64_t dev_sectors)
{
  all_devs (dev_sectors);
  return sizing_array (&in, &res, &err);
}

#define ck_text(word)                                                         \
  ck_assert_msg (strstr (err.text, word) != NULL, "no '%s' in: %s", word,     \
                 err.text)

/* A superblock for member DEV_NUMBER, and is it sound? */
static void
fill_and_judge (uint64_t dev_sectors, unsigned dev_number, struct sb1 *sb)
{
  struct sb1 parsed;
  unsigned i;
  int r;

  ck_assert_msg (sizing_member (&in, &res, dev_sectors, &mem, &err) == 0, "%s",
                 err.text);
  memset (sb, 0, sizeof *sb);
  sb->level = in.level;
  sb->layout = in.level == 4 ? 0 : 2;
  for (i = 0; i < in.raid_disks; i++)
    sb->dev_roles[i] = (uint16_t)i;
  for (i = 0; i < in.spare_disks; i++)
    sb->dev_roles[in.raid_disks + i] = SB1_ROLE_SPARE;
  sizing_fill_sb (&in, &res, &mem, dev_number, sb);
  sb1_encode (sb);
  r = sb1_parse (sb->raw, in.minor, dev_sectors, &parsed, &err);
  ck_assert_msg (r == 0, "%s", err.text);
  r = sb1_judge (&parsed, dev_sectors, res.bitmap_area_bytes / 512, true,
                 &err);
  ck_assert_msg (r == 0, "dev %llu: %s", (unsigned long long)dev_sectors,
                 err.text);
}

enum { NO_BITMAP, BITMAP, AUTO };

/* Row _i: 4 members of the same size, 512 KiB chunks. */
static const struct row {
  uint64_t dev;
  unsigned minor;
  int bitmap;
  uint64_t data_offset, size, data_size, s;
  int32_t bblog;
  int32_t bitmap_offset; /* 0 = none */
  uint32_t bitmap_chunk_mib;
  uint64_t bits;
} rows[] = {
    {16384, 2, AUTO, 4096, 12288, 12288, 8, 16, 0, 0, 0},
    {204800, 2, AUTO, 4096, 200704, 200704, 8, 16, 0, 0, 0},
    {204800, 1, AUTO, 4096, 200704, 200704, 0, 16, 0, 0, 0},
    {204800, 0, AUTO, 0, 203776, 204768, 204784, -8, 0, 0, 0},
    {204800, 0, BITMAP, 0, 203776, 204768, 204784, -8, -16, 64, 2},
    {16793600, 2, AUTO, 18432, 16775168, 16775168, 8, 16, 0, 0, 0},
    {41943040, 2, AUTO, 34816, 41908224, 41908224, 8, 136, 0, 0, 0},
    {41943040, 2, BITMAP, 34816, 41908224, 41908224, 8, 16, 8, 64, 320},
    {272629760, 2, AUTO, 264192, 272365568, 272365568, 8, 16, 8, 64, 2078},
    {1953525168, 2, AUTO, 264192, 1953260544, 1953260976, 8, 16, 8, 64, 14903},
    {1953525168, 0, AUTO, 0, 1953524736, 1953525136, 1953525152, -8, -16, 64,
     14905},
    {4294967296, 2, AUTO, 264192, 4294703104, 4294703104, 8, 24, 8, 64, 32766},
    {4294967296, 0, AUTO, 0, 4294966272, 4294967256, 4294967280, -8, -24, 64,
     32768},
    {17179869184, 2, AUTO, 264192, 17179604992, 17179604992, 8, 48, 8, 64,
     131070},
    {195312500000, 2, AUTO, 264192, 195312235520, 195312235808, 8, 192, 8, 128,
     745058},
};

START_TEST (worked_results)
{
  const struct row *r = &rows[_i];
  struct sb1 sb;

  in.minor = r->minor;
  in.bitmap = r->bitmap == BITMAP      ? SIZING_BITMAP_INTERNAL
              : r->bitmap == NO_BITMAP ? SIZING_BITMAP_NONE
                                       : SIZING_BITMAP_AUTO;
  ck_assert_msg (size_all (r->dev) == 0, "%s", err.text);
  ck_assert_uint_eq (res.chunk_sectors, 1024);
  ck_assert_uint_eq (res.data_offset_sectors, r->data_offset);
  ck_assert_uint_eq (res.size_sectors, r->size);
  ck_assert_uint_eq (res.array_sectors, 2 * r->size);
  ck_assert_uint_eq (res.max_dev, 128);
  ck_assert_int_eq (res.has_bitmap, r->bitmap_offset != 0);
  ck_assert_int_eq (res.bitmap_offset_sectors, r->bitmap_offset);
  ck_assert_uint_eq (res.bitmap_chunk_bytes, r->bitmap_chunk_mib << 20);
  ck_assert_uint_eq (res.bitmap_bits, r->bits);
  fill_and_judge (r->dev, 1, &sb);
  ck_assert_uint_eq (mem.super_offset_sectors, r->s);
  ck_assert_uint_eq (mem.data_size_sectors, r->data_size);
  ck_assert_int_eq (mem.bblog_offset_sectors, r->bblog);
  ck_assert_uint_eq (mem.bblog_size_sectors, 8);
}
END_TEST

START_TEST (chunk_dependence)
{
  static const struct {
    uint32_t chunk_kib;
    uint64_t data_offset;
  } table[] = {
      {4, 2048}, {64, 2048}, {512, 4096}, {4096, 18432}, {16384, 67584}};
  size_t i;

  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    in.chunk_kib = table[i].chunk_kib;
    ck_assert_int_eq (size_all (2048000), 0);
    ck_assert_uint_eq (res.data_offset_sectors, table[i].data_offset);
    ck_assert_uint_eq (res.chunk_sectors, 2 * table[i].chunk_kib);
    ck_assert_uint_eq (res.size_sectors % res.chunk_sectors, 0);
  }
}
END_TEST

/* Seen in the place of the bad-block log: 8 + space kept for a bitmap. */
START_TEST (bitmap_space_classes)
{
  static const struct {
    uint64_t size_kib;
    int32_t bblog;
  } table[] = {
      {60, 8},        {64, 16},         {8388612, 16},
      {8388616, 136}, {209715260, 136}, {209715264, 264},
  };
  size_t i;

  in.chunk_kib = 4;
  in.bitmap = SIZING_BITMAP_NONE;
  for (i = 0; i < sizeof table / sizeof table[0]; i++) {
    in.size_kib = table[i].size_kib;
    ck_assert_int_eq (size_all (1953525168), 0);
    ck_assert_int_eq (sizing_member (&in, &res, 1953525168, &mem, &err), 0);
    ck_assert_int_eq (mem.bblog_offset_sectors, table[i].bblog);
  }
}
END_TEST

/* mdadm places a 1.0 bitmap as if it had one bit more. */
START_TEST (bitmap_at_the_end_of_full_pages)
{
  in.minor = 0;
  in.chunk_kib = 4;
  in.bitmap = SIZING_BITMAP_INTERNAL;
  in.bitmap_chunk_bytes = 256 << 10;
  in.size_kib = 63488 * 256;
  ck_assert_int_eq (size_all (41943040), 0);
  ck_assert_uint_eq (res.bitmap_bits, 63488);
  ck_assert_uint_eq (res.bitmap_area_bytes, 8192);
  ck_assert_int_eq (res.bitmap_offset_sectors, -(24 + 8));
}
END_TEST

START_TEST (one_terabyte_of_six)
{
  in.raid_disks = 6;
  ck_assert_int_eq (size_all (1953525168), 0);
  ck_assert_uint_eq (res.array_sectors, UINT64_C (4) * 2 * 976630272);
  ck_assert_uint_eq (res.bitmap_area_bytes, 4096);
}
END_TEST

START_TEST (known_answer_of_format)
{
  /* The superblock that mdadm made for member 2 of 6 of 100 MiB. */
  struct sb1 sb;

  in.raid_disks = 6;
  in.bitmap = SIZING_BITMAP_INTERNAL;
  ck_assert_int_eq (size_all (204800), 0);
  fill_and_judge (204800, 2, &sb);
  ck_assert_uint_eq (sb.feature_map, SB1_F_BITMAP);
  ck_assert_uint_eq (sb.size_sectors, 200704);
  ck_assert_uint_eq (sb.chunk_sectors, 1024);
  ck_assert_uint_eq (sb.raid_disks, 6);
  ck_assert_int_eq (sb.bitmap_offset_sectors, 8);
  ck_assert_uint_eq (sb.data_offset_sectors, 4096);
  ck_assert_uint_eq (sb.data_size_sectors, 200704);
  ck_assert_uint_eq (sb.super_offset_sectors, 8);
  ck_assert_uint_eq (sb.dev_number, 2);
  ck_assert_uint_eq (sb.bblog_size_sectors, 8);
  ck_assert_int_eq (sb.bblog_offset_sectors, 16);
  ck_assert_uint_eq (sb.events, 0);
  ck_assert_uint_eq (sb.resync_offset_sectors, 0);
  ck_assert_uint_eq (sb.dev_roles[5], 5);
  ck_assert_uint_eq (sb.dev_roles[6], SB1_ROLE_SPARE);
  ck_assert_uint_eq (sb1_write_bytes (&sb, 512), 512);
}
END_TEST

START_TEST (max_dev)
{
  ck_assert_int_eq (size_all (204800), 0);
  ck_assert_uint_eq (res.max_dev, 128);
  in.raid_disks = 120;
  in.spare_disks = 8;
  ck_assert_int_eq (size_all (204800), 0);
  ck_assert_uint_eq (res.max_dev, 128);
  in.spare_disks = 9;
  ck_assert_int_eq (size_all (204800), 0);
  ck_assert_uint_eq (res.max_dev, 384);
}
END_TEST

/* Any tiny device: an answer or a refusal, and an answer is sound. */
START_TEST (tiny_devices)
{
  static const uint64_t offsets[] = {UINT64_MAX, 9, 16, 24, 32, 40, 100};
  static const uint32_t chunks[] = {4, 8, 64};
  struct sb1 sb;
  uint64_t dev;
  size_t o, c;
  unsigned served = 0, b;

  for (in.minor = 0; in.minor <= 2; in.minor++)
    for (b = SIZING_BITMAP_AUTO; b <= SIZING_BITMAP_INTERNAL; b++)
      for (o = 0; o < sizeof offsets / sizeof offsets[0]; o++)
        for (c = 0; c < sizeof chunks / sizeof chunks[0]; c++)
          for (dev = 0; dev <= 300; dev++) {
            in.bitmap = b;
            in.data_offset_sectors = offsets[o];
            in.chunk_kib = chunks[c];
            if (size_all (dev) == 0) {
              fill_and_judge (dev, 0, &sb);
              served++;
            }
            else if (err.text[0] == '\0')
              ck_abort_msg ("refused without a text");
            /* A member of its own size: no crash either. */
            (void)sizing_member (&in, &res, dev, &mem, &err);
          }
  ck_assert_uint_gt (served, 1000);
}
END_TEST

/* "needed" in the refusal is exact: that much is accepted, less is not. */
START_TEST (too_small_says_how_much)
{
  static const uint32_t chunks[] = {4, 64, 512};
  unsigned long long found, needed;
  size_t c;

  for (in.minor = 0; in.minor <= 2; in.minor++)
    for (c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
      in.chunk_kib = chunks[c];
      all_devs (204800);
      devs[2] = 20;
      ck_assert_int_eq (sizing_array (&in, &res, &err), -EINVAL);
      ck_text ("member 2 is too small");
      ck_assert_int_eq (sscanf (strstr (err.text, "found"),
                                "found %llu sectors, needed %llu", &found,
                                &needed),
                        2);
      ck_assert_uint_eq (found, 20);
      devs[2] = needed;
      ck_assert_msg (sizing_array (&in, &res, &err) == 0, "%s", err.text);
      ck_assert_uint_le (res.size_sectors, 2 * chunks[c] + 8);
      devs[2] = needed - 1;
      ck_assert_int_eq (sizing_array (&in, &res, &err), -EINVAL);
    }
}
END_TEST

START_TEST (large_devices)
{
  static const uint64_t large[] = {
      UINT16_MAX,         UINT16_MAX + 1,     UINT32_MAX - 1,
      UINT32_MAX,         UINT64_C (1) << 32, (UINT64_C (1) << 32) + 1,
      UINT64_C (1) << 41, UINT64_C (1) << 50, (UINT64_C (1) << 53) - 1};
  struct sb1 sb;
  size_t i;

  for (in.minor = 0; in.minor <= 2; in.minor++)
    for (i = 0; i < sizeof large / sizeof large[0]; i++) {
      /* Beyond 2 PiB a bitmap's chunk would not fit its field. */
      in.bitmap = large[i] <= UINT64_C (1) << 41 ? SIZING_BITMAP_INTERNAL
                                                 : SIZING_BITMAP_NONE;
      ck_assert_msg (size_all (large[i]) == 0, "%s", err.text);
      ck_assert_uint_gt (res.size_sectors + 270000, large[i]);
      if (res.has_bitmap)
        ck_assert_uint_eq (
            res.bitmap_bits,
            bitmap_bits (res.size_sectors, res.bitmap_chunk_bytes));
      fill_and_judge (large[i], 0, &sb);
    }
  /* Two data members of 2^53 sectors are 2^63 bytes: one too many. */
  in.minor = 2;
  ck_assert_int_eq (size_all ((UINT64_C (1) << 53) + 300000), -EINVAL);
  ck_text ("the array would have 2 x");
  ck_assert_int_eq (size_all ((uint64_t)INT64_MAX / 512 + 1), -EINVAL);
  ck_text ("member 0");
  ck_assert_int_eq (size_all (UINT64_MAX), -EINVAL);
  ck_assert_int_eq (size_all (UINT64_MAX - 1), -EINVAL);
}
END_TEST

START_TEST (pebibyte_with_small_bitmap_chunk)
{
  in.bitmap = SIZING_BITMAP_INTERNAL;
  ck_assert_int_eq (size_all (UINT64_C (1) << 41), 0);
  /* 256 sectors hold 1046528 bits, a few less than 2^50 / 2^30. */
  ck_assert_uint_eq (res.bitmap_chunk_bytes, 1u << 31);
  ck_assert_uint_eq (res.bitmap_bits, 524288);
  in.bitmap_chunk_bytes = 4096;
  ck_assert_int_eq (size_all (UINT64_C (1) << 41), -EINVAL);
  ck_text ("from 2147483648 to 2147483648");
  in.bitmap_chunk_bytes = 1u << 30;
  ck_assert_int_eq (size_all (UINT64_C (1) << 41), -EINVAL);
  in.bitmap_chunk_bytes = 1u << 31;
  ck_assert_int_eq (size_all (UINT64_C (1) << 41), 0);
  in.bitmap_chunk_bytes = 0;
  ck_assert_int_eq (size_all (UINT64_C (1) << 43), -EINVAL);
  ck_text ("no bitmap is possible");
}
END_TEST

START_TEST (bitmap_chunks)
{
  in.bitmap = SIZING_BITMAP_INTERNAL;
  in.bitmap_chunk_bytes = 4096;
  ck_assert_int_eq (size_all (204800), 0);
  ck_assert_uint_eq (res.bitmap_bits, 200704 / 8);
  ck_assert_uint_eq (res.bitmap_area_bytes, 4096);
  in.bitmap_chunk_bytes = 2048;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  ck_text ("from 4096 to");
  in.bitmap_chunk_bytes = 4097;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  in.bitmap_chunk_bytes = 12288;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  /* 8 sectors hold 30720 bits: one chunk of 4 KiB more needs 8 KiB ones. */
  in.chunk_kib = 4;
  in.bitmap_chunk_bytes = 4096;
  in.size_kib = 30719 * 4;
  ck_assert_int_eq (size_all (409600), 0);
  in.size_kib = 30720 * 4;
  ck_assert_int_eq (size_all (409600), -EINVAL);
  ck_text ("from 8192 to");
  in.bitmap_chunk_bytes = 8192;
  ck_assert_int_eq (size_all (409600), 0);
}
END_TEST

START_TEST (auto_bitmap_starts_above_100_gib)
{
  in.size_kib = 104857600;
  ck_assert_int_eq (size_all (272629760), 0);
  ck_assert (!res.has_bitmap);
  in.size_kib += 512;
  ck_assert_int_eq (size_all (272629760), 0);
  ck_assert (res.has_bitmap);
  in.bitmap = SIZING_BITMAP_NONE;
  ck_assert_int_eq (size_all (272629760), 0);
  ck_assert (!res.has_bitmap);
  ck_assert_uint_eq (res.bitmap_area_bytes, 0);
  /* Too small for any. */
  setup ();
  in.bitmap = SIZING_BITMAP_INTERNAL;
  in.chunk_kib = 4;
  in.size_kib = 60;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  ck_text ("no room for a bitmap");
}
END_TEST

/* The smallest data offsets: nothing overlaps, or it is refused. */
START_TEST (tight_data_offset)
{
  struct sb1 sb;
  uint64_t o;

  for (in.minor = 1; in.minor <= 2; in.minor++)
    for (o = 0; o < 64; o++) {
      const uint64_t s = in.minor == 2 ? 8 : 0;
      const uint64_t with_bitmap = s + 8 + 8 + 8;

      in.chunk_kib = 4;
      in.data_offset_sectors = o;
      in.bitmap = SIZING_BITMAP_NONE;
      ck_assert_int_eq (size_all (204800), o > s ? 0 : -EINVAL);
      if (o > s) {
        fill_and_judge (204800, 0, &sb);
        ck_assert_uint_eq (res.data_offset_sectors, o);
        ck_assert_int_eq (mem.bblog_offset_sectors, o >= with_bitmap ? 16
                                                    : o >= s + 16
                                                        ? (int32_t)(o - 8 - s)
                                                        : 0);
      }
      in.bitmap = SIZING_BITMAP_INTERNAL;
      ck_assert_int_eq (size_all (204800), o >= with_bitmap ? 0 : -EINVAL);
      if (o >= with_bitmap)
        fill_and_judge (204800, 0, &sb);
    }
  in.minor = 0;
  in.data_offset_sectors = 2048;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  ck_text ("1.0");
  in.data_offset_sectors = 0;
  ck_assert_int_eq (size_all (204800), 0);
}
END_TEST

START_TEST (different_members)
{
  in.spare_disks = 1;
  all_devs (204800);
  devs[1] = 163840;
  ck_assert_int_eq (sizing_array (&in, &res, &err), 0);
  ck_assert_uint_eq (res.size_sectors, 163840 - 4096);
  ck_assert_int_eq (sizing_member (&in, &res, 204800, &mem, &err), 0);
  ck_assert_uint_eq (mem.data_size_sectors, 204800 - 4096);
  ck_assert_int_eq (sizing_member (&in, &res, 163839, &mem, &err), -EINVAL);
  /* A spare counts too. */
  devs[4] = 131072;
  ck_assert_int_eq (sizing_array (&in, &res, &err), 0);
  ck_assert_uint_eq (res.size_sectors, 131072 - 4096);
  /* Missing ones do not; the first that is there decides. */
  devs[0] = 0;
  ck_assert_int_eq (sizing_array (&in, &res, &err), 0);
  devs[1] = 0;
  ck_assert_int_eq (sizing_array (&in, &res, &err), 0);
  devs[2] = 0;
  ck_assert_int_eq (sizing_array (&in, &res, &err), -EINVAL);
  ck_text ("3 of 4 members are missing");
  in.level = 5;
  devs[2] = 204800;
  ck_assert_int_eq (sizing_array (&in, &res, &err), -EINVAL);
}
END_TEST

START_TEST (sizes_by_hand)
{
  in.size_kib = 51200 + 511;
  ck_assert_int_eq (size_all (204800), 0);
  ck_assert_uint_eq (res.size_sectors, 102400);
  in.size_kib = 100352;
  ck_assert_int_eq (size_all (204800), 0);
  in.size_kib = 100352 + 512;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  ck_text ("needed 205824");
  ck_text ("missing 524288 bytes");
  in.size_kib = 511;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  ck_text ("one chunk");
  in.size_kib = UINT64_MAX;
  ck_assert_int_eq (size_all (204800), -EINVAL);
  in.size_kib = UINT64_MAX / 2;
  ck_assert_int_eq (size_all (204800), -EINVAL);
}
END_TEST

START_TEST (bad_input)
{
  const struct sizing_input good = in;

  all_devs (204800);
#define ck_bad(set, word)                                                     \
  do {                                                                        \
    in = good;                                                                \
    set;                                                                      \
    ck_assert_int_eq (sizing_array (&in, &res, &err), -EINVAL);               \
    ck_text (word);                                                           \
  } while (0)
  ck_bad (in.level = 0, "level is 0");
  ck_bad (in.level = 7, "level is 7");
  ck_bad (in.minor = 3, "1.3");
  ck_bad (in.raid_disks = 0, "raid devices are 0");
  ck_bad (in.raid_disks = 3, "raid devices are 3");
  ck_bad (in.raid_disks = 254, "raid devices are 254");
  ck_bad (in.raid_disks = UINT32_MAX, "raid devices");
  ck_bad (in.spare_disks = 1917, "spare devices are 1917");
  ck_bad (in.spare_disks = UINT32_MAX, "spare devices");
  ck_bad (in.chunk_kib = 1, "chunk is 1");
  ck_bad (in.chunk_kib = 3, "chunk is 3");
  ck_bad (in.chunk_kib = 48, "chunk is 48");
  ck_bad (in.chunk_kib = 1u << 31, "chunk is");
  ck_bad (in.chunk_kib = UINT32_MAX, "chunk is");
  ck_bad (in.chunk_kib = 1u << 30, "member 0 is too small");
  ck_bad (in.data_offset_sectors = 8, "data offset is 8");
  ck_bad (in.data_offset_sectors = UINT64_MAX - 1, "data offset is");
  ck_bad (in.data_offset_sectors = 204800, "member 0 is too small");
  in = good;
  in.level = 5;
  in.raid_disks = 2;
  ck_assert_int_eq (sizing_array (&in, &res, &err), 0);
  ck_assert_uint_eq (res.array_sectors, res.size_sectors);
}
END_TEST

/* Random input of any size never leads to an unsound superblock. */
START_TEST (random_arrays)
{
  struct sb1 sb;
  unsigned i, served = 0;

  srandom (3);
  for (i = 0; i < 20000; i++) {
    const uint64_t dev = ((uint64_t)random () << 31 | (uint64_t)random ()) >>
                         ((unsigned)random () % 62);

    in.minor = (unsigned)random () % 3;
    in.chunk_kib = 4u << ((unsigned)random () % 14);
    in.bitmap = (unsigned)random () % 3;
    in.bitmap_chunk_bytes =
        random () % 2 ? 0 : 4096u << ((unsigned)random () % 20);
    in.size_kib = random () % 2 ? 0 : (uint64_t)random () % 1000000;
    in.data_offset_sectors =
        random () % 2 ? UINT64_MAX : (uint64_t)random () % 5000;
    if (size_all (dev) == 0) {
      fill_and_judge (dev, 0, &sb);
      served++;
    }
  }
  ck_assert_uint_gt (served, 1000);
}
END_TEST

/* ---- A member that joins later ---- */

static const uint8_t uuid[16] = "0123456789abcdef";

static struct sb1 template_sb, spare;

static int
make_spare (uint64_t dev_sectors, unsigned dev_number)
{
  return sizing_spare_sb (&template_sb, dev_sectors, res.bitmap_area_bytes,
                          uuid, dev_number, &spare, &err);
}

START_TEST (spare_sb)
{
  struct sb1 sb;

  in.bitmap = SIZING_BITMAP_INTERNAL;
  for (in.minor = 0; in.minor <= 2; in.minor++) {
    ck_assert_int_eq (size_all (204800), 0);
    fill_and_judge (204800, 1, &template_sb);
    template_sb.events = 17;
    template_sb.cnt_corrected_read = 8;
    template_sb.feature_map |= SB1_F_BAD_BLOCKS | SB1_F_RECOVERY_OFFSET |
                               SB1_F_RECOVERY_BITMAP | SB1_F_REPLACEMENT;
    template_sb.recovery_offset_sectors = 64;
    template_sb.devflags = 1;
    template_sb.raw[SB1_BYTES - 1] = 0x77; /* a byte nobody knows */
    ck_assert_msg (make_spare (409600, 4) == 0, "%s", err.text);
    ck_assert_int_eq (sb1_parse (spare.raw, in.minor, 409600, &sb, &err), 0);
    ck_assert_int_eq (
        sb1_judge (&sb, 409600, res.bitmap_area_bytes / 512, true, &err), 0);
    ck_assert_uint_eq (sb.feature_map, SB1_F_BITMAP);
    ck_assert_uint_eq (sb.events, 0);
    ck_assert_uint_eq (sb.cnt_corrected_read, 0);
    ck_assert_uint_eq (sb.recovery_offset_sectors, 0);
    ck_assert_uint_eq (sb.devflags, 0);
    ck_assert_uint_eq (sb.dev_number, 4);
    ck_assert_uint_eq (sb1_role (&sb), SB1_ROLE_SPARE);
    ck_assert_uint_eq (sb.dev_roles[1], 1);
    ck_assert_mem_eq (sb.device_uuid, uuid, 16);
    ck_assert_uint_eq (sb.raw[SB1_BYTES - 1], 0x77);
    ck_assert_uint_eq (sb.max_dev, 128);
    ck_assert_uint_eq (sb.data_offset_sectors, res.data_offset_sectors);
    ck_assert_uint_eq (sb.data_size_sectors,
                       in.minor == 0 ? 409600 - 16 - 16 : 409600 - 4096);
    ck_assert_int_eq (sb.bblog_offset_sectors, in.minor == 0 ? -8 : 16);
  }
}
END_TEST

START_TEST (spare_numbers)
{
  ck_assert_int_eq (size_all (204800), 0);
  fill_and_judge (204800, 1, &template_sb);
  ck_assert_int_eq (make_spare (204800, 128), 0);
  ck_assert_uint_eq (spare.max_dev, 129);
  ck_assert_uint_eq (sb1_role (&spare), SB1_ROLE_SPARE);
  ck_assert_int_eq (make_spare (204800, 1919), 0);
  ck_assert_uint_eq (spare.max_dev, 1920);
  ck_assert_int_eq (make_spare (204800, 1920), -EINVAL);
  ck_assert_int_eq (make_spare (204800, UINT32_MAX), -EINVAL);
  ck_assert_int_eq (make_spare (UINT64_MAX, 4), -EINVAL);
}
END_TEST

/* A replacement of the same nominal size that is some sectors smaller. */
START_TEST (spare_a_bit_smaller)
{
  /* 64 MiB, 512 KiB chunks: 4096 + 126976 = 131072, not a sector to spare:
   * mdadm keeps no reserve but the rounding to chunks.
   */
  ck_assert_int_eq (size_all (131072), 0);
  fill_and_judge (131072, 0, &template_sb);
  ck_assert_int_eq (make_spare (131072 - 344, 4), -ENOSPC);
  ck_text ("found 130728 sectors (66932736 bytes)");
  ck_text ("needed 131072 sectors (67108864 bytes)");
  ck_text ("missing 176128 bytes");
  ck_assert_int_eq (make_spare (131072, 4), 0);
  ck_assert_int_eq (make_spare (131071, 4), -ENOSPC);
  /* With a smaller size by hand it fits. */
  in.size_kib = 63488 - 512;
  ck_assert_int_eq (size_all (131072), 0);
  fill_and_judge (131072, 0, &template_sb);
  ck_assert_int_eq (make_spare (131072 - 344, 4), 0);
  ck_assert_int_eq (make_spare (0, 4), -ENOSPC);
}
END_TEST

/* 1.0: mdadm's 24 sectors, and the bitmap's room on top. */
START_TEST (spare_metadata_at_the_end)
{
  uint64_t dev;
  unsigned b;

  in.minor = 0;
  for (b = 0; b < 2; b++) {
    in.bitmap = b ? SIZING_BITMAP_INTERNAL : SIZING_BITMAP_NONE;
    ck_assert_int_eq (size_all (204800), 0);
    fill_and_judge (204800, 0, &template_sb);
    for (dev = 203776; dev < 203776 + 64; dev++) {
      const bool fits = dev >= 203776u + (b ? 32 : 24);

      ck_assert_int_eq (make_spare (dev, 4), fits ? 0 : -ENOSPC);
      if (fits)
        ck_assert_msg (sb1_judge (&spare, dev, b ? 8 : 0, true, &err) == 0,
                       "%s", err.text);
    }
  }
}
END_TEST

START_TEST (spare_of_unsound_template)
{
  in.bitmap = SIZING_BITMAP_INTERNAL;
  ck_assert_int_eq (size_all (204800), 0);
  fill_and_judge (204800, 0, &template_sb);
  template_sb.bitmap_offset_sectors = -8;
  ck_assert_int_eq (make_spare (204800, 4), -EINVAL);
  template_sb.bitmap_offset_sectors = 8;
  template_sb.size_sectors = UINT64_MAX;
  ck_assert_int_eq (make_spare (204800, 4), -EINVAL);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("sizing");
  TCase *tc = tcase_create ("all");

  tcase_set_timeout (tc, 60); /* sweeps, slow with sanitizers */
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_loop_test (tc, worked_results, 0,
                       (int)(sizeof rows / sizeof rows[0]));
  tcase_add_test (tc, chunk_dependence);
  tcase_add_test (tc, bitmap_space_classes);
  tcase_add_test (tc, bitmap_at_the_end_of_full_pages);
  tcase_add_test (tc, one_terabyte_of_six);
  tcase_add_test (tc, known_answer_of_format);
  tcase_add_test (tc, max_dev);
  tcase_add_test (tc, tiny_devices);
  tcase_add_test (tc, too_small_says_how_much);
  tcase_add_test (tc, large_devices);
  tcase_add_test (tc, pebibyte_with_small_bitmap_chunk);
  tcase_add_test (tc, bitmap_chunks);
  tcase_add_test (tc, auto_bitmap_starts_above_100_gib);
  tcase_add_test (tc, tight_data_offset);
  tcase_add_test (tc, different_members);
  tcase_add_test (tc, sizes_by_hand);
  tcase_add_test (tc, bad_input);
  tcase_add_test (tc, random_arrays);
  tcase_add_test (tc, spare_sb);
  tcase_add_test (tc, spare_numbers);
  tcase_add_test (tc, spare_a_bit_smaller);
  tcase_add_test (tc, spare_metadata_at_the_end);
  tcase_add_test (tc, spare_of_unsound_template);
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
