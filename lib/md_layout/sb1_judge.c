/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * May an array with this version-1 superblock be served, and written?  It
 * judges one member alone; what members must have in common is the array
 * layer's.  Fields and offsets: sb1.c.  Pure functions without locks.
 *
 * The rules follow what Linux and mdadm accept, and are stricter where the
 * kernel trusts what it reads: areas must not overlap and must fit the
 * device.  Nobody but the superblock may use its 4 KiB, although writers fill
 * only 512 bytes: md arrays that had their bitmap squeezed in there (offset
 * +2) are refused, because a write rounded up to 4 KiB would hit something
 * else.
 */
#include <config.h>

#include "sb1.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "geometry.h"

#define MIN_CHUNK_SECTORS 8
#define SB_SPACE_SECTORS 8 /* 4 KiB */
#define MAX_BBLOG_SECTORS 8
#define LEVEL_RAIDKM 70
#define LEVEL_RAIDKM_2 71
#define MAX_DEV_SECTORS ((uint64_t)INT64_MAX / 512)

enum verdict {
  V_OK,      /* served */
  V_PPL,     /* clean and read-only: served */
  V_RESHAPE, /* refused together with RESHAPE_ACTIVE, else ignored */
  V_NO,
};

struct feature {
  uint32_t bit;
  enum verdict verdict;
  const char *name;
  const char *advice;
};

#define ADVICE_PPL                                                            \
  "the partial parity log is RAID-5's and not written here; a clean array "   \
  "can be served read-only, or remove the log with mdadm --update=no-ppl"

static const struct feature features[] = {
    {SB1_F_BITMAP, V_OK, "BITMAP_OFFSET", ""},
    {SB1_F_RECOVERY_OFFSET, V_OK, "RECOVERY_OFFSET", ""},
    {SB1_F_RESHAPE, V_NO, "RESHAPE_ACTIVE",
     "the array stopped in mid-reshape; let mdadm finish it first"},
    {SB1_F_BAD_BLOCKS, V_OK, "BAD_BLOCKS", ""},
    {SB1_F_REPLACEMENT, V_NO, "REPLACEMENT",
     "a replacement is in progress; leave this member out, or let mdadm "
     "finish it first"},
    {SB1_F_RESHAPE_BACKWARDS, V_RESHAPE, "RESHAPE_BACKWARDS",
     "part of the reshape"},
    {SB1_F_NEW_OFFSET, V_RESHAPE, "NEW_OFFSET", "part of the reshape"},
    {SB1_F_RECOVERY_BITMAP, V_OK, "RECOVERY_BITMAP", ""},
    {SB1_F_CLUSTERED, V_NO, "CLUSTERED",
     "the array belongs to a cluster of md hosts"},
    {SB1_F_JOURNAL, V_NO, "JOURNAL",
     "the newest data may be only in the journal; remove it with mdadm first"},
    {SB1_F_PPL, V_PPL, "PPL", ADVICE_PPL},
    {SB1_F_MULTIPLE_PPLS, V_PPL, "MULTIPLE_PPLS", ADVICE_PPL},
    {SB1_F_RAID0_LAYOUT, V_NO, "RAID0_LAYOUT",
     "valid with level 0 only, which is not supported"},
};

#define NR_FEATURES (sizeof features / sizeof features[0])

static const struct feature unknown_feature = {
    0, V_NO, NULL, "needs something newer than this program"};

static const struct feature *
feature_find (uint32_t bit)
{
  size_t i;

  for (i = 0; i < NR_FEATURES; i++)
    if (features[i].bit == bit)
      return &features[i];
  return &unknown_feature;
}

const char *
sb1_feature_name (uint32_t bit, char buf[32])
{
  const struct feature *f = feature_find (bit);

  if (f->name != NULL)
    snprintf (buf, 32, "%s", f->name);
  else
    snprintf (buf, 32, "unknown bit 0x%" PRIx32, bit);
  return buf;
}

static bool
feature_refused (const struct sb1 *sb, const struct feature *f, bool writable)
{
  switch (f->verdict) {
  case V_OK:
    return false;
  case V_PPL:
    return writable || sb->resync_offset_sectors != SB1_MAX;
  case V_RESHAPE:
    return (sb->feature_map & SB1_F_RESHAPE) != 0;
  case V_NO:
    break;
  }
  return true;
}

/* Names every bit that stands in the way, and explains the first. */
static int
judge_features (const struct sb1 *sb, bool writable, struct uraid_error *e)
{
  const struct feature *first = NULL;
  char list[1200] = "";
  char name[32];
  size_t n = 0;
  unsigned i;

  for (i = 0; i < 32; i++) {
    const uint32_t bit = UINT32_C (1) << i;
    const struct feature *f = feature_find (bit);

    if ((sb->feature_map & bit) == 0 || !feature_refused (sb, f, writable))
      continue;
    if (first == NULL)
      first = f;
    if (n < sizeof list)
      n += (size_t)snprintf (list + n, sizeof list - n, "%s%s (0x%" PRIx32 ")",
                             n > 0 ? ", " : "", sb1_feature_name (bit, name),
                             bit);
  }
  if (first == NULL)
    return 0;
  return uraid_error_set (e, EOPNOTSUPP,
                          "superblock: feature_map is 0x%" PRIx32
                          ", not supported are %s: %s",
                          sb->feature_map, list, first->advice);
}

/* Pairs of features that the kernel refuses as well. */
static int
judge_combinations (const struct sb1 *sb, struct uraid_error *e)
{
  const uint32_t ppl = sb->feature_map & (SB1_F_PPL | SB1_F_MULTIPLE_PPLS);

  if (ppl != 0 && sb->level != 5)
    return uraid_error_set (e, EINVAL,
                            "superblock: feature_map 0x%" PRIx32
                            " has PPL on level %" PRId32
                            ", allowed on level 5 only",
                            sb->feature_map, sb->level);
  if (ppl == (SB1_F_PPL | SB1_F_MULTIPLE_PPLS) ||
      (ppl != 0 && (sb->feature_map & SB1_F_BITMAP) != 0))
    return uraid_error_set (
        e, EINVAL,
        "superblock: feature_map 0x%" PRIx32
        " has more than one of BITMAP_OFFSET, PPL and MULTIPLE_PPLS, allowed "
        "is one at most",
        sb->feature_map);
  if (sb1_role (sb) == SB1_ROLE_JOURNAL)
    return uraid_error_set (
        e, EOPNOTSUPP,
        "superblock: this member is a journal device (role 0x%x), not "
        "supported",
        SB1_ROLE_JOURNAL);
  return 0;
}

static const char *
level_name (int32_t level)
{
  switch (level) {
  case -4:
    return " (multipath)";
  case -1:
    return " (linear)";
  case 0:
  case 1:
  case 10:
    return " (plain RAID)";
  case LEVEL_RAIDKM:
  case LEVEL_RAIDKM_2:
    return " (raidkm, another driver's format)";
  default:
    return "";
  }
}

static int
judge_level (const struct sb1 *sb, struct uraid_error *e)
{
  /* Bit L = layout L exists.  A number: RAID-4 ignores the field. */
  const uint32_t layouts = sb->level == 6 ? 0x1f073fu : 0x3fu;
  const uint32_t min_disks = sb->level == 6 ? 4 : 2;

  if (sb->level < 4 || sb->level > 6)
    return uraid_error_set (e, EOPNOTSUPP,
                            "superblock: level is %" PRId32
                            "%s, allowed are 4, 5, 6",
                            sb->level, level_name (sb->level));
  if (sb->level != 4 && (sb->layout > 31 || (layouts >> sb->layout & 1) == 0))
    return uraid_error_set (e, EOPNOTSUPP,
                            "superblock: layout is %" PRIu32
                            ", allowed with level %" PRId32 " are %s",
                            sb->layout, sb->level,
                            sb->level == 6 ? "0 to 5, 8 to 10, 16 to 20"
                                           : "0 to 5");
  if (sb->raid_disks < min_disks || sb->raid_disks > GEOMETRY_MAX_DISKS)
    return uraid_error_set (
        e, EOPNOTSUPP,
        "superblock: raid_disks is %" PRIu32 ", allowed with level %" PRId32
        " is %" PRIu32 " to %d",
        sb->raid_disks, sb->level, min_disks, GEOMETRY_MAX_DISKS);
  return 0;
}

static bool
is_power_of_2 (uint32_t v)
{
  return v != 0 && (v & (v - 1)) == 0;
}

static int
judge_sizes (const struct sb1 *sb, struct uraid_error *e)
{
  if (!is_power_of_2 (sb->chunk_sectors) ||
      sb->chunk_sectors < MIN_CHUNK_SECTORS)
    return uraid_error_set (
        e, EINVAL,
        "superblock: chunksize is %" PRIu32
        " sectors, allowed is a power of two from %d (4 KiB)",
        sb->chunk_sectors, MIN_CHUNK_SECTORS);
  if (sb->size_sectors < sb->chunk_sectors)
    return uraid_error_set (e, EINVAL,
                            "superblock: size is %" PRIu64
                            " sectors, allowed is one chunk (%" PRIu32
                            " sectors) or more",
                            sb->size_sectors, sb->chunk_sectors);
  if (sb->logical_block_size != 0 &&
      (!is_power_of_2 (sb->logical_block_size) ||
       sb->logical_block_size < 512 || sb->logical_block_size > 4096))
    return uraid_error_set (
        e, EINVAL,
        "superblock: logical_block_size is %" PRIu32
        ", allowed is 0 or a power of two from 512 to 4096",
        sb->logical_block_size);
  return sb1_check_pads (sb, e);
}

/* The used data [data_offset, data_offset + size) and its claims.  After it
 * all of these numbers are known to be small enough for signed arithmetic.
 */
static int
judge_data (const struct sb1 *sb, uint64_t dev_sectors, struct uraid_error *e)
{
  const uint64_t place = sb->super_offset_sectors;
  const uint64_t limit = sb->minor == 0 ? place : dev_sectors;
  const uint64_t start = sb->data_offset_sectors;
  const uint64_t size = sb->size_sectors;
  const uint64_t sb_sectors = sb1_write_bytes (sb, 512) / 512;

  if (start > limit || size > limit - start)
    return uraid_error_set (
        e, EINVAL,
        "superblock: data from sector %" PRIu64 ", size %" PRIu64
        ", ends behind sector %" PRIu64 " (%s); the device is %" PRIu64
        " sectors too small for it",
        start, size, limit,
        sb->minor == 0 ? "its superblock" : "the device's end",
        size > UINT64_MAX - start ? UINT64_MAX : start + size - limit);
  if (sb->data_size_sectors < size)
    return uraid_error_set (e, EINVAL,
                            "superblock: data_size is %" PRIu64
                            " sectors, allowed is size (%" PRIu64 ") or more",
                            sb->data_size_sectors, size);
  if (sb->data_size_sectors > (sb->minor == 0 ? place : dev_sectors - start))
    return uraid_error_set (
        e, EINVAL,
        "superblock: data_size is %" PRIu64 " sectors, but only %" PRIu64
        " are there (data_offset %" PRIu64 ", device %" PRIu64 " sectors)",
        sb->data_size_sectors, sb->minor == 0 ? place : dev_sectors - start,
        start, dev_sectors);
  if (sb->minor != 0 && start < place + sb_sectors)
    return uraid_error_set (e, EINVAL,
                            "superblock: data_offset is %" PRIu64
                            ", allowed is %" PRIu64
                            " (the superblock's end) or more",
                            start, place + sb_sectors);
  return 0;
}

struct area {
  const char *name;
  int64_t start_sectors;
  int64_t end_sectors;
};

static bool
areas_overlap (const struct area *a, const struct area *b)
{
  return a->start_sectors < b->end_sectors &&
         b->start_sectors < a->end_sectors;
}

/* A (bitmap or bad-block log) against the device and the NR areas in OTHERS.
 */
static int
judge_area (const struct area *a, const struct area *others, size_t nr,
            uint64_t dev_sectors, struct uraid_error *e)
{
  size_t i;

  if (a->start_sectors < 0 || a->end_sectors > (int64_t)dev_sectors)
    return uraid_error_set (
        e, EINVAL,
        "superblock: the %s (sectors %" PRId64 " to %" PRId64
        ") leaves the device (sectors 0 to %" PRIu64 ")",
        a->name, a->start_sectors, a->end_sectors - 1, dev_sectors - 1);
  for (i = 0; i < nr; i++)
    if (areas_overlap (a, &others[i]))
      return uraid_error_set (
          e, EINVAL,
          "superblock: the %s (sectors %" PRId64 " to %" PRId64
          ") overlaps the %s (sectors %" PRId64 " to %" PRId64
          "); remove it with mdadm if the array is sound",
          a->name, a->start_sectors, a->end_sectors - 1, others[i].name,
          others[i].start_sectors, others[i].end_sectors - 1);
  return 0;
}

/* The bitmap lies before the superblock with 1.0, and between superblock and
 * data with 1.1 and 1.2: the kernel switches it off anywhere else.
 */
static int
judge_bitmap_side (const struct sb1 *sb, const struct area *bitmap,
                   struct uraid_error *e)
{
  if (sb->minor == 0 && sb->bitmap_offset_sectors >= 0)
    return uraid_error_set (
        e, EINVAL,
        "superblock: bitmap_offset is %" PRId32
        ", allowed with metadata 1.0 is a negative one (the bitmap in front "
        "of the superblock); let mdadm remove the bitmap and add it again",
        sb->bitmap_offset_sectors);
  if (sb->minor != 0 && sb->bitmap_offset_sectors < SB_SPACE_SECTORS)
    return uraid_error_set (
        e, EINVAL,
        "superblock: bitmap_offset is %" PRId32
        ", allowed with metadata 1.1 and 1.2 is %d or more (behind the "
        "superblock's 4 KiB); let mdadm remove the bitmap and add it again",
        sb->bitmap_offset_sectors, SB_SPACE_SECTORS);
  if (sb->minor != 0 && bitmap->end_sectors > (int64_t)sb->data_offset_sectors)
    return uraid_error_set (
        e, EINVAL,
        "superblock: the bitmap (sectors %" PRId64 " to %" PRId64
        ") overlaps the data, which begins at sector %" PRIu64,
        bitmap->start_sectors, bitmap->end_sectors - 1,
        sb->data_offset_sectors);
  return 0;
}

static int
judge_areas (const struct sb1 *sb, uint64_t dev_sectors,
             uint64_t bitmap_sectors, struct uraid_error *e)
{
  const int64_t place = (int64_t)sb->super_offset_sectors;
  const int64_t data = (int64_t)sb->data_offset_sectors;
  struct area areas[4] = {
      {"superblock", place, place + SB_SPACE_SECTORS},
      {"data", data, data + (int64_t)sb->size_sectors},
  };
  size_t nr = 2;
  int r;

  if ((sb->feature_map & SB1_F_BITMAP) != 0) {
    const uint64_t len = bitmap_sectors != 0 ? bitmap_sectors : 8;
    const int64_t start = place + sb->bitmap_offset_sectors;

    if (len > MAX_DEV_SECTORS)
      return uraid_error_set (e, EINVAL,
                              "superblock: the bitmap takes %" PRIu64
                              " sectors, more than the device",
                              len);
    areas[nr] = (struct area){"bitmap", start, start + (int64_t)len};
    r = judge_bitmap_side (sb, &areas[nr], e);
    if (r < 0)
      return r;
    r = judge_area (&areas[nr], areas, nr, dev_sectors, e);
    if (r < 0)
      return r;
    nr++;
  }
  /* The log's place matters while it is empty too: it may be written later.
   */
  if (sb->bblog_offset_sectors != 0 && sb->bblog_size_sectors != 0) {
    const int64_t start = place + sb->bblog_offset_sectors;
    const struct area log = {"bad-block log", start,
                             start + sb->bblog_size_sectors};

    return judge_area (&log, areas, nr, dev_sectors, e);
  }
  return 0;
}

static int
judge_bblog (const struct sb1 *sb, struct uraid_error *e)
{
  if ((sb->feature_map & SB1_F_BAD_BLOCKS) == 0)
    return 0;
  if (sb->bblog_offset_sectors == 0 || sb->bblog_size_sectors == 0 ||
      sb->bblog_size_sectors > MAX_BBLOG_SECTORS)
    return uraid_error_set (
        e, EINVAL,
        "superblock: BAD_BLOCKS (0x%x) is set with bblog_offset %" PRId32
        " and bblog_size %u, allowed are an offset other than 0 and 1 to %d "
        "sectors",
        SB1_F_BAD_BLOCKS, sb->bblog_offset_sectors, sb->bblog_size_sectors,
        MAX_BBLOG_SECTORS);
  return 0;
}

int
sb1_judge (const struct sb1 *sb, uint64_t dev_sectors, uint64_t bitmap_sectors,
           bool writable, struct uraid_error *e)
{
  int r;

  /* Another driver's level first: its feature bits mean something else. */
  if (sb->level == LEVEL_RAIDKM || sb->level == LEVEL_RAIDKM_2)
    return judge_level (sb, e);
  if ((r = judge_features (sb, writable, e)) < 0 ||
      (r = judge_level (sb, e)) < 0 || (r = judge_combinations (sb, e)) < 0 ||
      (r = judge_sizes (sb, e)) < 0 || (r = judge_bblog (sb, e)) < 0)
    return r;
  if (dev_sectors < SB1_MIN_DEV_SECTORS || dev_sectors > MAX_DEV_SECTORS ||
      sb->super_offset_sectors != sb1_place_sectors (sb->minor, dev_sectors))
    return uraid_error_set (
        e, EINVAL,
        "superblock: a device of %" PRIu64
        " sectors has its 1.%u superblock at sector %" PRId64
        ", not at super_offset %" PRIu64,
        dev_sectors, sb->minor,
        (int64_t)sb1_place_sectors (sb->minor, dev_sectors),
        sb->super_offset_sectors);
  if ((r = judge_data (sb, dev_sectors, e)) < 0)
    return r;
  return judge_areas (sb, dev_sectors, bitmap_sectors, e);
}
