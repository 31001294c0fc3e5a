/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A superblock in the words and the order of mdadm 4.2's --examine, so that
 * scripts (and eyes) trained on those work on ours.  A test compares the two.
 * One thread, no locks.
 */
#include <config.h>

#include "examine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../lib/md_layout/geometry.h"

#define DEVFLAG_WRITE_MOSTLY 1u
#define DEVFLAG_FAILFAST 2u

/* The kernel and mdadm keep this much behind a 1.1 or 1.2 superblock for
 * things to come: 4 KiB superblock and 32 KiB.
 */
#define HEAD_ROOM_SECTORS 72

/* "     Array Size : ..." */
static void __attribute__ ((format (printf, 2, 3)))
line (const char *label, const char *fmt, ...)
{
  va_list ap;

  printf ("%15s : ", label);
  va_start (ap, fmt);
  vprintf (fmt, ap);
  va_end (ap);
  putchar ('\n');
}

static void
line_uuid (const char *label, const uint8_t uuid[16])
{
  char text[36];

  sb1_uuid_text (uuid, text);
  line (label, "%.35s", text);
}

static void
line_sectors (const char *label, uint64_t sectors)
{
  char human[64];

  line (label, "%" PRIu64 " sectors%s", sectors,
        tool_human (sectors * 512, human));
}

/* 0 when there is no such number, or a garbled one. */
static unsigned
data_disks (int32_t level, uint32_t raid_disks)
{
  switch (level) {
  case 1:
    return 1;
  case 4:
  case 5:
    return raid_disks > 1 ? raid_disks - 1 : 0;
  case 6:
    return raid_disks > 2 ? raid_disks - 2 : 0;
  default:
    return 0;
  }
}

/* Where the superblock says that it is decides its minor version. */
static unsigned
shown_minor (const struct sb1 *sb)
{
  if (sb->super_offset_sectors <= 4)
    return 1;
  return sb->super_offset_sectors <= 8 ? 2 : 0;
}

/* --- unused space ------------------------------------------------------- */

/* Length of the bitmap area in sectors by its own superblock; 0 if there is
 * none that can be read.
 */
static uint64_t
bitmap_sectors (struct look *l, const struct sb1 *sb)
{
  uint8_t raw[BITMAP_SB_BYTES];
  struct bitmap_sb b;
  const uint64_t at =
      sb->super_offset_sectors + (uint64_t)(int64_t)sb->bitmap_offset_sectors;

  if (at > UINT64_MAX / 512 ||
      look_read (l, raw, sizeof raw, at * 512, NULL) < 0)
    return 0;
  if (bitmap_sb_parse (raw, NULL, &b, NULL) < 0)
    return 0;
  return bitmap_area_bytes (b.sync_size_sectors, b.chunk_bytes) / 512;
}

static bool
has_bblog (const struct sb1 *sb)
{
  return sb->bblog_offset_sectors != 0 && sb->bblog_size_sectors != 0;
}

static bool
has_ppl (const struct sb1 *sb)
{
  return (sb->feature_map & SB1_F_BITMAP) == 0 &&
         (sb->feature_map & (SB1_F_PPL | SB1_F_MULTIPLE_PPLS)) != 0;
}

/* The offset and size words of a partial parity log, in the bytes of
 * bitmap_offset.
 */
static unsigned
ppl_offset (const struct sb1 *sb)
{
  return (uint32_t)sb->bitmap_offset_sectors & 0xffff;
}

static unsigned
ppl_size (const struct sb1 *sb)
{
  return (uint32_t)sb->bitmap_offset_sectors >> 16;
}

/* Superblock behind the data. */
static uint64_t
unused_after_1_0 (const struct sb1 *sb, uint64_t used)
{
  const uint64_t s = sb->super_offset_sectors;
  uint64_t end = s, at;

  if (has_bblog (sb)) {
    at = s + (uint64_t)(int64_t)sb->bblog_offset_sectors;
    if (at < end)
      end = at;
  }
  at = s;
  if (sb->feature_map & SB1_F_BITMAP)
    at += (uint64_t)(int64_t)sb->bitmap_offset_sectors;
  else if (has_ppl (sb))
    at += (uint64_t)(int64_t)(int16_t)ppl_offset (sb);
  if (at < end)
    end = at;
  if (sb->data_offset_sectors + used < end)
    return end - used - sb->data_offset_sectors;
  return 0;
}

/* Superblock in front of the data: where the last thing before it ends.
 * mdadm counts the bitmap's and the log's place from the start of the device
 * and not from the superblock; so does this.
 */
static uint64_t
used_head (struct look *l, const struct sb1 *sb)
{
  uint64_t end = sb->super_offset_sectors + HEAD_ROOM_SECTORS, e = 0;

  if ((sb->feature_map & SB1_F_BITMAP) && sb->bitmap_offset_sectors > 0)
    e = (uint64_t)sb->bitmap_offset_sectors + bitmap_sectors (l, sb);
  else if (has_ppl (sb))
    e = ppl_offset (sb) + ppl_size (sb);
  if (e > end)
    end = e;
  if (has_bblog (sb)) {
    e = sb->super_offset_sectors +
        (uint64_t)(int64_t)sb->bblog_offset_sectors + sb->bblog_size_sectors;
    if (e > end)
      end = e;
  }
  return end;
}

void
examine_unused (struct look *l, const struct sb1 *sb, uint64_t *ret_before,
                uint64_t *ret_after)
{
  const uint64_t used =
      sb->level <= 0 ? sb->data_size_sectors : sb->size_sectors;
  uint64_t head;

  if (sb->data_offset_sectors < sb->super_offset_sectors) {
    *ret_before = sb->data_offset_sectors;
    *ret_after = unused_after_1_0 (sb, used);
    return;
  }
  head = used_head (l, sb);
  *ret_before =
      head < sb->data_offset_sectors ? sb->data_offset_sectors - head : 0;
  *ret_after = l->dev_sectors - used - sb->data_offset_sectors;
}

/* --- the block of lines ------------------------------------------------- */

static void
print_identity (const struct sb1 *sb, const char *host)
{
  char name[33], date[32];
  const size_t len = strlen (host);

  line ("Magic", "%08x", SB1_MAGIC);
  line ("Version", "1.%u", shown_minor (sb));
  line ("Feature Map", "0x%" PRIx32, sb->feature_map);
  line_uuid ("Array UUID", sb->set_uuid);
  look_name (sb, name);
  if (len > 0 && len < 32 && strncmp (name, host, len) == 0 &&
      name[len] == ':')
    line ("Name", "%s  (local to host %s)", name, host);
  else
    line ("Name", "%s", name);
  line ("Creation Time", "%s", tool_date (sb1_time_seconds (sb->ctime), date));
  line ("Raid Level", "%s", look_level_name (sb->level));
  line ("Raid Devices", "%" PRIu32, sb->raid_disks);
  putchar ('\n');
}

static void
print_sizes (const struct sb1 *sb)
{
  const unsigned m = data_disks (sb->level, sb->raid_disks);
  char human[64];

  line_sectors ("Avail Dev Size", sb->data_size_sectors);
  if (sb->level > 0) {
    if (m > 0)
      line ("Array Size", "%" PRIu64 " KiB%s", sb->size_sectors * m / 2,
            tool_human (sb->size_sectors * 512 * m, human));
    if (sb->size_sectors != sb->data_size_sectors)
      line_sectors ("Used Dev Size", sb->size_sectors);
  }
  if (sb->data_offset_sectors != 0)
    line ("Data Offset", "%" PRIu64 " sectors", sb->data_offset_sectors);
  if (sb->new_offset != 0 && (sb->feature_map & SB1_F_NEW_OFFSET))
    line ("New Offset", "%" PRIu64 " sectors",
          sb->data_offset_sectors + (uint64_t)(int64_t)sb->new_offset);
  line ("Super Offset", "%" PRIu64 " sectors", sb->super_offset_sectors);
  if (sb->feature_map & SB1_F_RECOVERY_OFFSET)
    line ("Recovery Offset", "%" PRIu64 " sectors",
          sb->recovery_offset_sectors);
}

static void
print_state (struct look *l, const struct sb1 *sb)
{
  const char *state =
      sb->resync_offset_sectors == SB1_MAX ? "clean" : "active";
  uint64_t before, after;
  bool truncated;

  examine_unused (l, sb, &before, &after);
  truncated = after > INT64_MAX;
  if ((before != 0 || after != 0) && after != 1 &&
      !(sb->feature_map & SB1_F_NEW_OFFSET)) {
    if (truncated)
      line ("Unused Space",
            "before=%" PRIu64 " sectors, after=-%" PRIu64
            " sectors DEVICE TOO SMALL",
            before, -after);
    else
      line ("Unused Space",
            "before=%" PRIu64 " sectors, after=%" PRIu64 " sectors", before,
            after);
  }
  line ("State", "%s%s", state, truncated ? " TRUNCATED DEVICE" : "");
  line_uuid ("Device UUID", sb->device_uuid);
  putchar ('\n');
}

static bool
has_chunks (int32_t level)
{
  return level == 0 || (level >= 4 && level <= 6) || level == 10 ||
         level == 70 || level == 71;
}

static const char *
layout_name (int32_t level, uint32_t layout)
{
  const char *name = geometry_layout_name (level, layout);

  return name != NULL ? name : "-unknown-";
}

static void
print_reshape (const struct sb1 *sb)
{
  char human[64];
  const int32_t new_level = (int32_t)sb->new_level;

  line ("Reshape pos'n", "%" PRIu64 "%s", sb->reshape_position / 2,
        tool_human (sb->reshape_position * 512, human));
  if (sb->delta_disks != 0)
    line ("Delta Devices", "%" PRId32 " (%" PRIu32 "->%" PRIu32 ")",
          sb->delta_disks, sb->raid_disks - (uint32_t)sb->delta_disks,
          sb->raid_disks);
  if (new_level != sb->level)
    line ("New Level", "%s", look_level_name (new_level));
  if (sb->new_layout != sb->layout && (sb->level == 5 || sb->level == 6))
    line ("New Layout", "%s", layout_name (sb->level, sb->new_layout));
  if (sb->new_chunk != sb->chunk_sectors)
    line ("New Chunksize", "%" PRIu32 "K", sb->new_chunk / 2);
  putchar ('\n');
}

static void
print_areas (const struct sb1 *sb)
{
  char date[32];

  if (sb->feature_map & SB1_F_BITMAP)
    line ("Internal Bitmap", "%" PRId32 " sectors from superblock",
          sb->bitmap_offset_sectors);
  else if (has_ppl (sb))
    line ("PPL", "%u sectors at offset %u sectors from superblock",
          ppl_size (sb), ppl_offset (sb));
  if (sb->feature_map & SB1_F_RESHAPE)
    print_reshape (sb);
  if (sb->devflags != 0)
    line (
        "Flags", "%s%s",
        sb->devflags & DEVFLAG_WRITE_MOSTLY ? "write-mostly" : "",
        sb->devflags & DEVFLAG_FAILFAST
            ? (sb->devflags & DEVFLAG_WRITE_MOSTLY ? " failfast" : "failfast")
            : "");
  line ("Update Time", "%s", tool_date (sb1_time_seconds (sb->utime), date));
  if (has_bblog (sb))
    line ("Bad Block Log",
          "%u entries available at offset %" PRId32 " sectors%s",
          sb->bblog_size_sectors * 64u, sb->bblog_offset_sectors,
          sb->feature_map & SB1_F_BAD_BLOCKS ? " - bad blocks present." : "");
}

static void
print_checksum (const struct sb1 *sb)
{
  uint32_t want = 0;

  if (sb->max_dev <= SB1_MAX_DEV)
    want = sb1_checksum (sb->raw, sb->max_dev);
  if (want == sb->sb_csum)
    line ("Checksum", "%" PRIx32 " - correct", want);
  else
    line ("Checksum", "%" PRIx32 " - expected %" PRIx32, sb->sb_csum, want);
  line ("Events", "%" PRIu64, sb->events);
  putchar ('\n');
  if (sb->level == 5 || sb->level == 6)
    line ("Layout", "%s", layout_name (sb->level, sb->layout));
  if (sb->level == -1)
    line ("Rounding", "%" PRIu32 "K", sb->chunk_sectors / 2);
  else if (has_chunks (sb->level))
    line ("Chunk Size", "%" PRIu32 "K", sb->chunk_sectors / 2);
  putchar ('\n');
}

/* --- roles -------------------------------------------------------------- */

static void
print_role (const struct sb1 *sb)
{
  const uint16_t role = sb1_role (sb);

  if (role == SB1_ROLE_JOURNAL)
    printf ("   Device Role : Journal\n");
  else if (role >= SB1_ROLE_FAULTY)
    printf ("   Device Role : spare\n");
  else if (sb->feature_map & SB1_F_REPLACEMENT)
    printf ("   Device Role : Replacement device %u\n", role);
  else
    printf ("   Device Role : Active device %u\n", role);
}

static char
slot_letter (const struct sb1 *sb, uint32_t slot)
{
  unsigned count = 0;
  uint32_t i;

  for (i = 0; i < sb->max_dev && i < SB1_MAX_DEV; ++i)
    count += sb->dev_roles[i] == slot;
  switch (count) {
  case 0:
    return '.';
  case 1:
    return 'A';
  case 2:
    return sb->level > 0 ? 'R' : '?';
  default:
    return '?';
  }
}

static void
print_array_state (const struct sb1 *sb)
{
  /* A garbled count must not print for ever. */
  uint32_t slots =
      sb->raid_disks < SB1_ROLE_MAX ? sb->raid_disks : SB1_ROLE_MAX;
  bool odd = false;
  uint32_t i;
  char c;

  if ((sb->feature_map & SB1_F_RESHAPE) && sb->delta_disks < 0 &&
      sb->delta_disks > -4096)
    slots += (uint32_t)-sb->delta_disks;
  printf ("   Array State : ");
  for (i = 0; i < slots; ++i) {
    c = slot_letter (sb, i);
    odd |= c == '?';
    putchar (c);
  }
  printf (" ('A' == active, '.' == missing, 'R' == replacing)\n");
  for (i = 0; i < sb->max_dev && i < SB1_MAX_DEV; ++i)
    odd |= sb->dev_roles[i] <= SB1_ROLE_MAX && sb->dev_roles[i] > slots;
  if (!odd)
    return;
  printf ("WARNING Array state is inconsistent - each number should appear "
          "only once\n");
  for (i = 0; i < sb->max_dev && i < SB1_MAX_DEV; ++i)
    if (sb->dev_roles[i] >= SB1_ROLE_FAULTY)
      printf (" %" PRIu32 ":-", i);
    else
      printf (" %" PRIu32 ":%u", i, sb->dev_roles[i]);
  putchar ('\n');
}

void
examine_print_text (struct look *l, const char *host)
{
  const struct sb1 *sb = look_sb (l);

  print_identity (sb, host);
  print_sizes (sb);
  print_state (l, sb);
  print_areas (sb);
  print_checksum (sb);
  print_role (sb);
  print_array_state (sb);
}

/* --- MD_KEY=VALUE ------------------------------------------------------- */

void
examine_print_export (const struct sb1 *sb)
{
  const unsigned m = data_disks (sb->level, sb->raid_disks);
  char text[36], brief[32], name[33];

  printf ("MD_LEVEL=%s\n", look_level_name (sb->level));
  printf ("MD_DEVICES=%" PRIu32 "\n", sb->raid_disks);
  if (*look_name (sb, name) != '\0')
    printf ("MD_NAME=%s\n", name);
  if (m > 0)
    printf ("MD_ARRAY_SIZE=%s\n",
            sb->size_sectors * m < 10000 /* mdadm: below 5000 KiB */
                ? ""
                : tool_human_brief (sb->size_sectors * 512 * m, brief));
  sb1_uuid_text (sb->set_uuid, text);
  printf ("MD_UUID=%.35s\n", text);
  printf ("MD_UPDATE_TIME=%" PRIu64 "\n", sb1_time_seconds (sb->utime));
  sb1_uuid_text (sb->device_uuid, text);
  printf ("MD_DEV_UUID=%.35s\n", text);
  printf ("MD_EVENTS=%" PRIu64 "\n", sb->events);
}
