/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/md_layout/sb1.c and sb1_judge.c: the version-1 superblock.
 * Single-threaded.  Run alone: tests/unit/test-sb1 (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "le.h"
#include "sb1.h"

#define DEV 204800 /* sectors of the known answer's member: 100 MiB */

/* Made by mdadm 4.2 and written by Linux 6.1: member 2 of 6, metadata 1.2,
 * bitmap.  The bytes from 0x10c to 0x1ff are ff.
 */
static const char known_hex[] = "fc4e2ba9010000000100000000000000"
                                "00112233445566778899aabbccddeeff"
                                "686f7374313a61727230000000000000"
                                "00000000000000000000000000000000"
                                "00f15365000000000600000002000000"
                                "00100300000000000004000006000000"
                                "08000000000000000000000000000000"
                                "00000000000000000000000000000000"
                                "00100000000000000010030000000000"
                                "08000000000000000000000000000000"
                                "0200000000000000a667bc3fd67ce39b"
                                "d8ec24e18f3c2e470000080010000000"
                                "00f15365000000000200000000000000"
                                "ffffffffffffffff422bd4c480000000"
                                "00000000000000000000000000000000"
                                "00000000000000000000000000000000"
                                "000001000200030004000500ffffffff";

static uint8_t known[SB1_BYTES];
static struct sb1 sb; /* the known answer, parsed; tests change it */
static struct uraid_error err;

static void
setup (void)
{
  size_t i;
  unsigned v;

  memset (known, 0, sizeof known);
  memset (known + 0x100, 0xff, 0x100);
  for (i = 0; i < (sizeof known_hex - 1) / 2; i++) {
    sscanf (known_hex + 2 * i, "%2x", &v);
    known[i] = (uint8_t)v;
  }
  memset (&err, 0, sizeof err);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), 0);
}

/* Change known bytes, repair the checksum, parse. */
static int
parse_known (void)
{
  const uint32_t csum = sb1_checksum (known, le32_get (known + 220));

  le32_put (known + 216, csum);
  return sb1_parse (known, 2, DEV, &sb, &err);
}

#define ck_text(word)                                                         \
  ck_assert_msg (strstr (err.text, word) != NULL, "no '%s' in: %s", word,     \
                 err.text)

static int
judge (bool writable)
{
  err.text[0] = '\0';
  return sb1_judge (&sb, DEV, 8, writable, &err);
}

START_TEST (known_answer_fields)
{
  uint8_t uuid[16];

  ck_assert_uint_eq (sb.minor, 2);
  ck_assert_uint_eq (sb.feature_map, SB1_F_BITMAP);
  ck_assert_int_eq (
      sb1_uuid_parse ("00112233:44556677:8899aabb:ccddeeff", uuid), 0);
  ck_assert_mem_eq (sb.set_uuid, uuid, 16);
  ck_assert_str_eq (sb.set_name, "host1:arr0");
  ck_assert_uint_eq (sb1_time_seconds (sb.ctime), 1700000000);
  ck_assert_uint_eq (sb1_time_seconds (UINT64_C (999999) << 40 | 5), 5);
  ck_assert_int_eq (sb.level, 6);
  ck_assert_uint_eq (sb.layout, 2);
  ck_assert_uint_eq (sb.size_sectors, 200704);
  ck_assert_uint_eq (sb.chunk_sectors, 1024);
  ck_assert_uint_eq (sb.raid_disks, 6);
  ck_assert_int_eq (sb.bitmap_offset_sectors, 8);
  ck_assert_uint_eq (sb.data_offset_sectors, 4096);
  ck_assert_uint_eq (sb.data_size_sectors, 200704);
  ck_assert_uint_eq (sb.super_offset_sectors, 8);
  ck_assert_uint_eq (sb.dev_number, 2);
  ck_assert_uint_eq (sb.device_uuid[0], 0xa6);
  ck_assert_uint_eq (sb.bblog_size_sectors, 8);
  ck_assert_int_eq (sb.bblog_offset_sectors, 16);
  ck_assert_uint_eq (sb.events, 2);
  ck_assert_uint_eq (sb.resync_offset_sectors, SB1_MAX);
  ck_assert_uint_eq (sb.max_dev, 128);
  ck_assert_uint_eq (sb.dev_roles[5], 5);
  ck_assert_uint_eq (sb.dev_roles[SB1_MAX_DEV - 1], SB1_ROLE_SPARE);
  ck_assert_uint_eq (sb1_role (&sb), 2);
}
END_TEST

START_TEST (known_answer_checksum)
{
  ck_assert_uint_eq (sb1_checksum (known, 128), 0xc4d42b42u);
  /* T is folded once; sb_csum itself counts as 0. */
  le32_put (known + 216, 0x12345678);
  ck_assert_uint_eq (sb1_checksum (known, 128), 0xc4d42b42u);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), -EINVAL);
  ck_text ("checksum is 0x12345678, computed is 0xc4d42b42");
  ck_assert_uint_eq (sb.events, 2); /* filled all the same */
}
END_TEST

START_TEST (known_answer_re_encoded)
{
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw, known, SB1_BYTES);
  /* Also when the fields have to make every byte that has a field. */
  memset (sb.raw, 0, 256 + 2 * 128);
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw, known, SB1_BYTES);
}
END_TEST

START_TEST (checksum_odd_max_dev)
{
  uint32_t even;

  le32_put (known + 220, 6);
  even = sb1_checksum (known, 6);
  /* One more entry of 0xffff is a 16-bit word of its own. */
  ck_assert_uint_eq (sb1_checksum (known, 7), even + 0xffff);
  ck_assert_int_eq (parse_known (), 0);
  ck_assert_uint_eq (sb.dev_roles[6], SB1_ROLE_SPARE);
}
END_TEST

/* Every byte of the 4 KiB differs; nothing may get lost. */
START_TEST (read_modify_write_keeps_all)
{
  uint8_t raw[SB1_BYTES];
  struct sb1 again;
  size_t i;

  for (i = 8; i < SB1_BYTES; i++)
    known[i] = (uint8_t)(i * 37 + 11);
  memset (known + 12, 0, 4);
  memset (known + 228, 0, 28);
  le32_put (known + 220, 128);
  le64_put (known + 144, 8);
  known[32 + 5] = '\0'; /* a name with rubbish behind it */
  ck_assert_int_eq (parse_known (), 0);
  ck_assert_uint_eq (strlen (sb.set_name), 5);
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw, known, SB1_BYTES);

  /* Change some fields: only their bytes and the checksum differ. */
  sb.events = 77;
  sb.dev_roles[3] = SB1_ROLE_FAULTY;
  sb1_encode (&sb);
  memcpy (raw, known, sizeof raw);
  le64_put (raw + 200, 77);
  le16_put (raw + 256 + 6, 0xfffe);
  le32_put (raw + 216, sb1_checksum (raw, 128));
  ck_assert_mem_eq (sb.raw, raw, SB1_BYTES);
  ck_assert_int_eq (sb1_parse (sb.raw, 2, DEV, &again, &err), 0);
  ck_assert_mem_eq (&again, &sb, offsetof (struct sb1, raw) + SB1_BYTES);
}
END_TEST

/* For each field: change it, encode, and see that exactly its bytes moved. */
START_TEST (each_field_has_its_bytes)
{
  static const struct {
    unsigned disk;
    unsigned len;
  } fields[] = {
      {8, 4},   {16, 16}, {64, 8},  {72, 4},  {76, 4},  {80, 8},   {88, 4},
      {92, 4},  {96, 4},  {100, 4}, {104, 8}, {112, 4}, {116, 4},  {120, 4},
      {124, 4}, {128, 8}, {152, 8}, {160, 4}, {164, 4}, {168, 16}, {184, 1},
      {185, 1}, {186, 2}, {188, 4}, {192, 8}, {200, 8}, {208, 8},  {224, 4},
  };
  uint8_t orig[SB1_BYTES];
  size_t i;

  memcpy (orig, known, sizeof orig);
  for (i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    struct sb1 built;

    memcpy (known, orig, sizeof orig);
    memset (known + fields[i].disk, 0xa5, fields[i].len);
    ck_assert_int_eq (parse_known (), 0);
    /* Raw of the unchanged one: all of the change must come from fields. */
    built = sb;
    memcpy (built.raw, orig, sizeof orig);
    sb1_encode (&built);
    ck_assert_msg (memcmp (built.raw, known, SB1_BYTES) == 0,
                   "field at %u is not encoded", fields[i].disk);
  }
}
END_TEST

START_TEST (name_of_32_bytes)
{
  memset (known + 32, 'x', 32);
  ck_assert_int_eq (parse_known (), 0);
  ck_assert_uint_eq (strlen (sb.set_name), 32);
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw, known, SB1_BYTES);
  strcpy (sb.set_name, "short");
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw + 32, "short\0\0\0\0\0\0\0\0\0\0\0", 16);
  ck_assert_uint_eq (sb.raw[63], 0);
}
END_TEST

START_TEST (places)
{
  uint64_t dev;

  ck_assert_uint_eq (sb1_place_sectors (0, 204800), 204784);
  ck_assert_uint_eq (sb1_place_sectors (0, 204805), 204784);
  ck_assert_uint_eq (sb1_place_sectors (1, 204800), 0);
  ck_assert_uint_eq (sb1_place_sectors (2, 204800), 8);
  ck_assert_uint_eq (sb1_place_sectors (3, 204800), UINT64_MAX);
  for (dev = 0; dev < 24; dev++)
    ck_assert_uint_eq (sb1_place_sectors (0, dev), UINT64_MAX);
  ck_assert_uint_eq (sb1_place_sectors (0, 24), 8);
}
END_TEST

START_TEST (parse_not_there)
{
  uint8_t other[SB1_BYTES] = {0};

  ck_assert_int_eq (sb1_parse (other, 2, DEV, &sb, &err), -ENOENT);
  ck_text ("magic");
  ck_assert_int_eq (sb1_parse (known, 2, 23, &sb, &err), -ENOENT);
  ck_text ("23 sectors");
  /* A copy of 1.2 at the place of 1.1 or 1.0 is none. */
  ck_assert_int_eq (sb1_parse (known, 1, DEV, &sb, &err), -ENOENT);
  ck_text ("super_offset 8");
  ck_assert_int_eq (sb1_parse (known, 0, DEV, &sb, &err), -ENOENT);
  ck_text ("204784");
  le32_put (known + 4, 0);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), -ENOENT);
  ck_text ("0.90");
  le32_put (known + 4, 2);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), -ENOENT);
  ck_text ("major version is 2");
}
END_TEST

START_TEST (parse_broken)
{
  le32_put (known + 220, 1921);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), -EINVAL);
  ck_text ("max_dev is 1921");
  ck_assert_uint_eq (sb.dev_roles[0], SB1_ROLE_SPARE);
  ck_assert_uint_eq (sb1_role (&sb), SB1_ROLE_SPARE);
  sb1_encode (&sb); /* must not run over */
  setup ();
  le32_put (known + 220, UINT32_MAX);
  ck_assert_int_eq (sb1_parse (known, 2, DEV, &sb, &err), -EINVAL);
  setup ();
  le64_put (known + 136, 9);
  ck_assert_int_eq (parse_known (), -EINVAL);
  ck_text ("data_size is 9");
  le64_put (known + 136, 10);
  ck_assert_int_eq (parse_known (), 0);
}
END_TEST

START_TEST (parse_pads)
{
  unsigned i;

  for (i = 12; i < 16; i++) {
    setup ();
    known[i] = 1;
    ck_assert_int_eq (parse_known (), -EINVAL);
    ck_text ("pad0");
    ck_assert_int_lt (judge (false), 0);
    ck_text ("pad0");
  }
  for (i = 228; i < 256; i++) {
    setup ();
    known[i] = 0x80;
    ck_assert_int_eq (parse_known (), -EINVAL);
    ck_text ("pad3");
    ck_assert_int_lt (judge (false), 0);
    ck_text ("pad3");
  }
}
END_TEST

START_TEST (max_dev_of_1920)
{
  le32_put (known + 220, SB1_MAX_DEV);
  memset (known + 512, 0xff, SB1_BYTES - 512);
  le16_put (known + SB1_BYTES - 2, 4);
  ck_assert_int_eq (parse_known (), 0);
  ck_assert_uint_eq (sb.dev_roles[SB1_MAX_DEV - 1], 4);
  sb1_encode (&sb);
  ck_assert_mem_eq (sb.raw, known, SB1_BYTES);
}
END_TEST

START_TEST (write_bytes)
{
  static const size_t rows[][3] = {
      {128, 512, 512},    {128, 0, 512},    {128, 4096, 4096},
      {128, 65536, 4096}, {129, 512, 1024}, {1920, 512, 4096},
  };
  size_t i;

  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    sb.max_dev = (uint32_t)rows[i][0];
    ck_assert_uint_eq (sb1_write_bytes (&sb, (uint32_t)rows[i][1]),
                       rows[i][2]);
  }
}
END_TEST

START_TEST (roles)
{
  sb.dev_roles[2] = SB1_ROLE_FAULTY;
  ck_assert_uint_eq (sb1_role (&sb), SB1_ROLE_FAULTY);
  sb.dev_number = 128; /* = max_dev */
  sb.dev_roles[128] = 1;
  ck_assert_uint_eq (sb1_role (&sb), SB1_ROLE_SPARE);
  sb.dev_number = UINT32_MAX;
  ck_assert_uint_eq (sb1_role (&sb), SB1_ROLE_SPARE);
}
END_TEST

/* ---- judge ---- */

START_TEST (judge_known_answer)
{
  ck_assert_msg (judge (true) == 0, "%s", err.text);
  ck_assert_int_eq (judge (false), 0);
}
END_TEST

START_TEST (judge_accepted_features)
{
  static const uint32_t bits[] = {
      SB1_F_RECOVERY_OFFSET, SB1_F_BAD_BLOCKS, SB1_F_RESHAPE_BACKWARDS,
      SB1_F_NEW_OFFSET, SB1_F_RECOVERY_OFFSET | SB1_F_RECOVERY_BITMAP};
  size_t i;

  for (i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    sb.feature_map = SB1_F_BITMAP | bits[i];
    ck_assert_msg (judge (true) == 0, "%s", err.text);
  }
}
END_TEST

/* Row _i: a bit that is refused, and the name it is refused by. */
static const struct {
  uint32_t bits;
  const char *names[4];
} refused[] = {
    {0x4, {"RESHAPE_ACTIVE (0x4)"}},
    {0x4 | 0x20, {"RESHAPE_ACTIVE", "RESHAPE_BACKWARDS (0x20)"}},
    {0x4 | 0x40, {"RESHAPE_ACTIVE", "NEW_OFFSET (0x40)"}},
    {0x10, {"REPLACEMENT (0x10)", "replacement is in progress"}},
    {0x12, {"REPLACEMENT (0x10)"}},
    {0x100, {"CLUSTERED (0x100)"}},
    {0x200, {"JOURNAL (0x200)"}},
    {0x1000, {"RAID0_LAYOUT (0x1000)"}},
    {0x2000, {"unknown bit 0x2000"}},
    {0x80000000, {"unknown bit 0x80000000"}},
    {0x80002204,
     {"RESHAPE_ACTIVE", "JOURNAL", "unknown bit 0x2000",
      "unknown bit 0x80000000"}},
};

START_TEST (judge_refused_features)
{
  size_t i;
  unsigned writable;

  for (writable = 0; writable < 2; writable++) {
    sb.feature_map = SB1_F_BITMAP | refused[_i].bits;
    ck_assert_int_eq (judge (writable), -EOPNOTSUPP);
    for (i = 0; i < 4 && refused[_i].names[i] != NULL; i++)
      ck_text (refused[_i].names[i]);
  }
}
END_TEST

START_TEST (judge_every_bit_at_once)
{
  sb.feature_map = UINT32_MAX;
  ck_assert_int_eq (judge (false), -EOPNOTSUPP);
  ck_text ("unknown bit 0x80000000 (0x80000000): the array stopped in");
}
END_TEST

START_TEST (judge_ppl)
{
  static const uint32_t bits[] = {SB1_F_PPL, SB1_F_MULTIPLE_PPLS};
  static const char *const names[] = {" PPL (0x400)", "MULTIPLE_PPLS (0x800)"};

  sb.level = 5;
  sb.feature_map = bits[_i];
  /* With PPL the field holds the log's place: not a bitmap's. */
  sb.bitmap_offset_sectors = 2048 << 16 | 8;
  ck_assert_msg (judge (false) == 0, "%s", err.text);
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  ck_text (names[_i]);
  sb.resync_offset_sectors = 0; /* dirty: parity is owed to the log */
  ck_assert_int_eq (judge (false), -EOPNOTSUPP);
  ck_text (names[_i]);
  sb.resync_offset_sectors = SB1_MAX;
  sb.feature_map = bits[_i] | SB1_F_BITMAP;
  ck_assert_int_eq (judge (false), -EINVAL);
  sb.feature_map = SB1_F_PPL | SB1_F_MULTIPLE_PPLS;
  ck_assert_int_eq (judge (false), -EINVAL);
  sb.feature_map = bits[_i];
  sb.level = 6;
  ck_assert_int_eq (judge (false), -EINVAL);
  ck_text ("level 5 only");
}
END_TEST

START_TEST (feature_names)
{
  char buf[32];

  ck_assert_str_eq (sb1_feature_name (SB1_F_BITMAP, buf), "BITMAP_OFFSET");
  ck_assert_str_eq (sb1_feature_name (SB1_F_RECOVERY_BITMAP, buf),
                    "RECOVERY_BITMAP");
  ck_assert_str_eq (sb1_feature_name (0x4000, buf), "unknown bit 0x4000");
  ck_assert_str_eq (sb1_feature_name (0x80000000, buf),
                    "unknown bit 0x80000000");
}
END_TEST

START_TEST (judge_levels)
{
  static const int32_t bad[] = {-4, -1, 0, 1, 3, 7, 10, 70, 71};
  size_t i;

  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    sb.level = bad[i];
    sb.feature_map = 0;
    ck_assert_int_eq (judge (false), -EOPNOTSUPP);
    ck_text ("allowed are 4, 5, 6");
  }
  ck_text ("raidkm");
  sb.feature_map = 0x80000000; /* the level says more than a strange bit */
  judge (false);
  ck_text ("raidkm");
  sb.feature_map = 0;
  sb.level = 4;
  sb.layout = 12345; /* ignored by RAID-4 */
  ck_assert_int_eq (judge (true), 0);
}
END_TEST

START_TEST (judge_layouts)
{
  uint32_t l;

  for (l = 0; l < 70; l++) {
    const bool good6 = l <= 5 || (l >= 8 && l <= 10) || (l >= 16 && l <= 20);

    sb.layout = l;
    sb.level = 6;
    ck_assert_int_eq (judge (true), good6 ? 0 : -EOPNOTSUPP);
    sb.level = 5;
    ck_assert_int_eq (judge (true), l <= 5 ? 0 : -EOPNOTSUPP);
  }
  sb.layout = UINT32_MAX;
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  ck_text ("layout is 4294967295");
}
END_TEST

START_TEST (judge_numbers)
{
  static const uint32_t bad_chunks[] = {0, 1, 4, 12, 1025, UINT32_MAX};
  static const uint32_t bad_lbs[] = {1, 256, 513, 1000, 8192, UINT32_MAX};
  static const uint32_t good_lbs[] = {0, 512, 1024, 2048, 4096};
  size_t i;

  for (i = 0; i < sizeof bad_lbs / sizeof bad_lbs[0]; i++) {
    sb.logical_block_size = bad_lbs[i];
    ck_assert_int_eq (judge (false), -EINVAL);
    ck_text ("logical_block_size");
  }
  for (i = 0; i < sizeof good_lbs / sizeof good_lbs[0]; i++) {
    sb.logical_block_size = good_lbs[i];
    ck_assert_int_eq (judge (true), 0);
  }
  for (i = 0; i < sizeof bad_chunks / sizeof bad_chunks[0]; i++) {
    sb.chunk_sectors = bad_chunks[i];
    ck_assert_int_eq (judge (false), -EINVAL);
    ck_text ("chunksize");
  }
  sb.chunk_sectors = 8;
  ck_assert_int_eq (judge (true), 0);
  sb.raid_disks = 3;
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  ck_text ("raid_disks is 3");
  sb.raid_disks = 254;
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  sb.raid_disks = 253;
  ck_assert_int_eq (judge (true), 0);
  sb.raid_disks = 2;
  sb.level = 5;
  ck_assert_int_eq (judge (true), 0);
  sb.raid_disks = 1;
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  sb.raid_disks = 6;
  sb.size_sectors = 7;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("size is 7");
}
END_TEST

START_TEST (judge_journal_member)
{
  sb.dev_roles[2] = SB1_ROLE_JOURNAL;
  ck_assert_int_eq (judge (true), -EOPNOTSUPP);
  ck_text ("journal");
}
END_TEST

START_TEST (judge_data_area)
{
  static const uint64_t huge[] = {200705,
                                  204800,
                                  UINT32_MAX,
                                  UINT64_MAX / 512,
                                  UINT64_MAX - 4096,
                                  UINT64_MAX - 4095,
                                  UINT64_MAX};
  const struct sb1 good = sb;
  size_t i;

  for (i = 0; i < sizeof huge / sizeof huge[0]; i++) {
    sb = good;
    sb.size_sectors = sb.data_size_sectors = huge[i];
    ck_assert_int_eq (judge (true), -EINVAL);
    sb = good;
    sb.data_size_sectors = huge[i];
    ck_assert_int_eq (judge (true), -EINVAL);
    ck_text ("data_size");
    sb = good;
    sb.data_offset_sectors = huge[i];
    ck_assert_int_eq (judge (true), -EINVAL);
  }
  sb = good;
  sb.data_size_sectors = sb.size_sectors - 1;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("data_size is 200703");
  sb = good;
  sb.feature_map = 0;
  sb.bblog_offset_sectors = 0;
  sb.data_offset_sectors = 8; /* over the superblock */
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("allowed is 9");
  sb.data_offset_sectors = 9;
  ck_assert_int_eq (judge (true), 0); /* as tight as the kernel allows */
  sb = good;
  ck_assert_int_eq (sb1_judge (&sb, DEV - 1, 8, true, &err), -EINVAL);
  ck_text ("1 sectors too small");
  ck_assert_int_eq (sb1_judge (&sb, 0, 8, true, &err), -EINVAL);
  ck_assert_int_eq (sb1_judge (&sb, UINT64_MAX, 8, true, &err), -EINVAL);
}
END_TEST

/* A bitmap over superblock, data or bad-block log, or in front of all. */
START_TEST (judge_bitmap_place)
{
  static const int32_t over_sb[] = {0,  1,  2,     7,         -1,
                                    -8, -9, -4096, INT32_MIN, INT32_MIN + 8};
  size_t i;

  for (i = 0; i < sizeof over_sb / sizeof over_sb[0]; i++) {
    sb.bitmap_offset_sectors = over_sb[i];
    ck_assert_int_eq (judge (true), -EINVAL);
    ck_text ("bitmap_offset is");
    ck_assert_int_eq (judge (false), -EINVAL);
  }
  sb.bitmap_offset_sectors = 9; /* 17..24: over the log at 24 */
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("bad-block log");
  ck_text ("overlaps the bitmap");
  sb.bitmap_offset_sectors = 16;
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.bitmap_offset_sectors = 24;
  ck_assert_int_eq (judge (true), 0);
  sb.bitmap_offset_sectors = 4096 - 8 - 8;
  ck_assert_int_eq (judge (true), 0);
  sb.bitmap_offset_sectors++;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("overlaps the data");
  sb.bitmap_offset_sectors = INT32_MAX;
  ck_assert_int_eq (judge (true), -EINVAL);
  /* Length unknown: its first 4 KiB are judged; too long: found out. */
  sb.bitmap_offset_sectors = 8;
  ck_assert_int_eq (sb1_judge (&sb, DEV, 0, true, &err), 0);
  ck_assert_int_eq (sb1_judge (&sb, DEV, 16, true, &err), -EINVAL);
  ck_assert_int_eq (sb1_judge (&sb, DEV, UINT64_MAX, true, &err), -EINVAL);
  sb.bblog_offset_sectors = 0;
  ck_assert_int_eq (sb1_judge (&sb, DEV, 16, true, &err), 0);
  ck_assert_int_eq (sb1_judge (&sb, DEV, 4080, true, &err), 0);
  ck_assert_int_eq (sb1_judge (&sb, DEV, 4081, true, &err), -EINVAL);
}
END_TEST

START_TEST (judge_bblog_place)
{
  static const int32_t bad[] = {1,  7,    -7,   -9,        8,
                                15, 4088, 4081, INT32_MAX, INT32_MIN};
  size_t i;

  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    sb.bblog_offset_sectors = bad[i];
    ck_assert_msg (judge (true) == -EINVAL, "offset %d", bad[i]);
    ck_text ("bad-block log");
  }
  sb.bblog_offset_sectors = -8; /* the free 4 KiB in front of 1.2 */
  ck_assert_int_eq (judge (true), 0);
  sb.bblog_offset_sectors = 0;
  ck_assert_int_eq (judge (true), 0);
  sb.feature_map |= SB1_F_BAD_BLOCKS;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("bblog_offset 0");
  sb.bblog_offset_sectors = 16;
  ck_assert_int_eq (judge (true), 0);
  sb.bblog_size_sectors = 0;
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.bblog_size_sectors = 9;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("bblog_size 9");
}
END_TEST

START_TEST (judge_metadata_at_the_end)
{
  sb.minor = 0;
  sb.super_offset_sectors = 204784;
  sb.data_offset_sectors = 0;
  sb.size_sectors = 203776;
  sb.data_size_sectors = 204768;
  sb.bblog_offset_sectors = -8;
  sb.bitmap_offset_sectors = -16;
  ck_assert_msg (judge (true) == 0, "%s", err.text);
  sb.bitmap_offset_sectors = -15; /* over the log */
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.bitmap_offset_sectors = 2; /* squeezed in behind the superblock */
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("bitmap_offset is 2");
  sb.bitmap_offset_sectors = 8; /* behind the superblock */
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.bitmap_offset_sectors = -(204784 - 203776);
  ck_assert_int_eq (judge (true), 0);
  sb.bitmap_offset_sectors--; /* into the data */
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("overlaps the data");
  sb.bitmap_offset_sectors = -204785; /* in front of the device */
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.bitmap_offset_sectors = -16;
  sb.bblog_offset_sectors = 8; /* fits behind, DEV being 8 too large */
  ck_assert_int_eq (judge (true), 0);
  sb.bblog_offset_sectors = 9;
  ck_assert_int_eq (judge (true), -EINVAL);
  ck_text ("leaves the device");
  sb.bblog_offset_sectors = -8;
  sb.size_sectors = sb.data_size_sectors = 204785; /* over the superblock */
  ck_assert_int_eq (judge (true), -EINVAL);
  sb.size_sectors = 203776;
  ck_assert_int_eq (judge (true), -EINVAL); /* data_size does */
  ck_text ("data_size");
}
END_TEST

/* ---- texts ---- */

START_TEST (uuid_text)
{
  static const char *const bad[] = {"",
                                    "0",
                                    "00112233:44556677:8899aabb:ccddeef",
                                    "00112233:44556677:8899aabb:ccddeeff0",
                                    "g0112233445566778899aabbccddeeff",
                                    "00112233 44556677 8899aabb ccddeeff"};
  uint8_t uuid[16] = {0};
  char buf[36];
  size_t i;

  ck_assert_int_eq (
      sb1_uuid_parse ("00112233-4455-6677-8899-AABBCCDDEEFF", uuid), 0);
  sb1_uuid_text (uuid, buf);
  ck_assert_str_eq (buf, "00112233:44556677:8899aabb:ccddeeff");
  ck_assert_int_eq (
      sb1_uuid_parse ("0011.22334455667788.99aabbccddeeff:", uuid), 0);
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
    ck_assert_int_eq (sb1_uuid_parse (bad[i], uuid), -EINVAL);
  ck_assert_uint_eq (uuid[15], 0xff); /* untouched */
}
END_TEST

/* Any bytes: no crash, and what parses can be judged. */
START_TEST (random_bytes)
{
  uint8_t orig[SB1_BYTES];
  unsigned i, j;

  memcpy (orig, known, sizeof orig);
  srandom (1);
  for (i = 0; i < 20000; i++) {
    memcpy (known, orig, sizeof orig);
    for (j = 0; j < 4; j++)
      known[8 + (unsigned)random () % 250] = (uint8_t)random ();
    le64_put (known + 144, 8);
    if (sb1_parse (known, 2, DEV, &sb, &err) == -ENOENT)
      continue;
    (void)sb1_judge (&sb, (unsigned)random () % 300000, 8, true, &err);
    (void)judge (false);
    sb1_encode (&sb);
  }
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("sb1");
  TCase *tc = tcase_create ("all");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, known_answer_fields);
  tcase_add_test (tc, known_answer_checksum);
  tcase_add_test (tc, known_answer_re_encoded);
  tcase_add_test (tc, checksum_odd_max_dev);
  tcase_add_test (tc, read_modify_write_keeps_all);
  tcase_add_test (tc, each_field_has_its_bytes);
  tcase_add_test (tc, name_of_32_bytes);
  tcase_add_test (tc, places);
  tcase_add_test (tc, parse_not_there);
  tcase_add_test (tc, parse_broken);
  tcase_add_test (tc, parse_pads);
  tcase_add_test (tc, max_dev_of_1920);
  tcase_add_test (tc, write_bytes);
  tcase_add_test (tc, roles);
  tcase_add_test (tc, judge_known_answer);
  tcase_add_test (tc, judge_accepted_features);
  tcase_add_loop_test (tc, judge_refused_features, 0,
                       (int)(sizeof refused / sizeof refused[0]));
  tcase_add_test (tc, judge_every_bit_at_once);
  tcase_add_loop_test (tc, judge_ppl, 0, 2);
  tcase_add_test (tc, feature_names);
  tcase_add_test (tc, judge_levels);
  tcase_add_test (tc, judge_layouts);
  tcase_add_test (tc, judge_numbers);
  tcase_add_test (tc, judge_journal_member);
  tcase_add_test (tc, judge_data_area);
  tcase_add_test (tc, judge_bitmap_place);
  tcase_add_test (tc, judge_bblog_place);
  tcase_add_test (tc, judge_metadata_at_the_end);
  tcase_add_test (tc, uuid_text);
  tcase_add_test (tc, random_bytes);
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
