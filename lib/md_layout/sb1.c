/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The version-1 md superblock: where it lies and what its bytes mean.  No
 * I/O; whether an array may be served is sb1_judge.c's.  Pure functions
 * without locks; a struct sb1 belongs to its caller.
 *
 * Where it lies, in sectors of 512 bytes on a device of DEV sectors:
 *
 *     1.0   (DEV - 16) & ~7   data, [bitmap], [bad-block log], superblock
 *     1.1   0                 superblock, [bitmap], [log], gap, data
 *     1.2   8                 4 KiB free, superblock, [bitmap], [log], gap,
 *                             data
 *
 * What it holds, little-endian (s = signed):
 *
 *     off  size  field              off  size  field
 *       0     4  magic              144     8  super_offset
 *       4     4  major_version 1    152     8  recovery_offset
 *       8     4  feature_map        160     4  dev_number
 *      12     4  pad0, zero         164     4  cnt_corrected_read
 *      16    16  set_uuid           168    16  device_uuid
 *      32    32  set_name           184     1  devflags
 *      64     8  ctime              185     1  bblog_shift
 *      72    4s  level              186     2  bblog_size
 *      76     4  layout             188    4s  bblog_offset
 *      80     8  size               192     8  utime
 *      88     4  chunksize          200     8  events
 *      92     4  raid_disks         208     8  resync_offset
 *      96    4s  bitmap_offset      216     4  sb_csum
 *     100     4  new_level          220     4  max_dev
 *     104     8  reshape_position   224     4  logical_block_size
 *     112    4s  delta_disks        228    28  pad3, zero
 *     116     4  new_layout         256        dev_roles[max_dev], 2 bytes
 *     120     4  new_chunk                     each
 *     124    4s  new_offset
 *     128     8  data_offset        Offsets of bitmap and bad-block log
 *     136     8  data_size          count from the superblock's own sector.
 *
 * Facts from Linux' include/uapi/linux/raid/md_p.h and from arrays made by
 * mdadm 4.2 and Linux 6.1.
 */
#include <config.h>

#include "sb1.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "le.h"

#define OFF_MAGIC 0
#define OFF_MAJOR 4
#define OFF_SET_NAME 32
#define OFF_SUPER_OFFSET 144
#define OFF_CSUM 216
#define OFF_MAX_DEV 220
#define OFF_PAD3 228
#define OFF_ROLES 256
#define SET_NAME_BYTES 32

#define MAJOR_VERSION 1u
#define MIN_DATA_SIZE_SECTORS 10
#define TIME_SECONDS_BITS 40

/* One row a field that both directions copy: place on disk, size, place in
 * struct sb1.  set_name and dev_roles need more than a copy.
 */
struct field {
  uint16_t disk_bytes;
  uint16_t len_bytes;
  uint16_t host_bytes;
};

#define FIELD(disk, member)                                                   \
  {                                                                           \
    disk, sizeof ((struct sb1 *)0)->member, offsetof (struct sb1, member)     \
  }

static const struct field fields[] = {
    FIELD (8, feature_map),
    FIELD (12, pad0),
    FIELD (16, set_uuid),
    FIELD (64, ctime),
    FIELD (72, level),
    FIELD (76, layout),
    FIELD (80, size_sectors),
    FIELD (88, chunk_sectors),
    FIELD (92, raid_disks),
    FIELD (96, bitmap_offset_sectors),
    FIELD (100, new_level),
    FIELD (104, reshape_position),
    FIELD (112, delta_disks),
    FIELD (116, new_layout),
    FIELD (120, new_chunk),
    FIELD (124, new_offset),
    FIELD (128, data_offset_sectors),
    FIELD (136, data_size_sectors),
    FIELD (OFF_SUPER_OFFSET, super_offset_sectors),
    FIELD (152, recovery_offset_sectors),
    FIELD (160, dev_number),
    FIELD (164, cnt_corrected_read),
    FIELD (168, device_uuid),
    FIELD (184, devflags),
    FIELD (185, bblog_shift),
    FIELD (186, bblog_size_sectors),
    FIELD (188, bblog_offset_sectors),
    FIELD (192, utime),
    FIELD (200, events),
    FIELD (208, resync_offset_sectors),
    FIELD (OFF_CSUM, sb_csum),
    FIELD (OFF_MAX_DEV, max_dev),
    FIELD (224, logical_block_size),
};

#define NR_FIELDS (sizeof fields / sizeof fields[0])

/* Numbers change byte order on the way, uuids (16 bytes) do not. */
static void
field_decode (const uint8_t *disk, void *host, size_t len_bytes)
{
  const uint16_t v16 = len_bytes == 2 ? le16_get (disk) : 0;
  const uint32_t v32 = len_bytes == 4 ? le32_get (disk) : 0;
  const uint64_t v64 = len_bytes == 8 ? le64_get (disk) : 0;

  memcpy (host,
          len_bytes == 2   ? (const void *)&v16
          : len_bytes == 4 ? (const void *)&v32
          : len_bytes == 8 ? (const void *)&v64
                           : (const void *)disk,
          len_bytes);
}

static void
field_encode (const void *host, uint8_t *disk, size_t len_bytes)
{
  uint16_t v16;
  uint32_t v32;
  uint64_t v64;

  if (len_bytes == 2) {
    memcpy (&v16, host, sizeof v16);
    le16_put (disk, v16);
  }
  else if (len_bytes == 4) {
    memcpy (&v32, host, sizeof v32);
    le32_put (disk, v32);
  }
  else if (len_bytes == 8) {
    memcpy (&v64, host, sizeof v64);
    le64_put (disk, v64);
  }
  else
    memcpy (disk, host, len_bytes);
}

/* How many entries of the role table count; a broken max_dev reads as 0. */
static uint32_t
roles_used (uint32_t max_dev)
{
  return max_dev <= SB1_MAX_DEV ? max_dev : 0;
}

static void
name_decode (const uint8_t raw[SB1_BYTES], char name[SET_NAME_BYTES + 1])
{
  memset (name, 0, SET_NAME_BYTES + 1);
  memcpy (name, raw + OFF_SET_NAME,
          strnlen ((const char *)raw + OFF_SET_NAME, SET_NAME_BYTES));
}

static void
decode (const uint8_t raw[SB1_BYTES], unsigned minor, struct sb1 *sb)
{
  size_t i;

  memset (sb, 0, offsetof (struct sb1, raw));
  memcpy (sb->raw, raw, SB1_BYTES);
  sb->minor = minor;
  for (i = 0; i < NR_FIELDS; i++)
    field_decode (raw + fields[i].disk_bytes,
                  (char *)sb + fields[i].host_bytes, fields[i].len_bytes);
  name_decode (raw, sb->set_name);
  for (i = 0; i < SB1_MAX_DEV; i++)
    sb->dev_roles[i] = i < roles_used (sb->max_dev)
                           ? le16_get (raw + OFF_ROLES + 2 * i)
                           : SB1_ROLE_SPARE;
}

void
sb1_encode (struct sb1 *sb)
{
  char old_name[SET_NAME_BYTES + 1];
  size_t i;

  le32_put (sb->raw + OFF_MAGIC, SB1_MAGIC);
  le32_put (sb->raw + OFF_MAJOR, MAJOR_VERSION);
  for (i = 0; i < NR_FIELDS; i++)
    field_encode ((const char *)sb + fields[i].host_bytes,
                  sb->raw + fields[i].disk_bytes, fields[i].len_bytes);
  /* Bytes behind the name's zero are not ours to tidy: an unchanged name
   * keeps them.
   */
  name_decode (sb->raw, old_name);
  if (strncmp (old_name, sb->set_name, SET_NAME_BYTES) != 0) {
    memset (sb->raw + OFF_SET_NAME, 0, SET_NAME_BYTES);
    memcpy (sb->raw + OFF_SET_NAME, sb->set_name,
            strnlen (sb->set_name, SET_NAME_BYTES));
  }
  for (i = 0; i < roles_used (sb->max_dev); i++)
    le16_put (sb->raw + OFF_ROLES + 2 * i, sb->dev_roles[i]);
  sb->sb_csum = sb1_checksum (sb->raw, sb->max_dev);
  le32_put (sb->raw + OFF_CSUM, sb->sb_csum);
}

uint64_t
sb1_place_sectors (unsigned minor, uint64_t dev_sectors)
{
  if (dev_sectors < SB1_MIN_DEV_SECTORS)
    return UINT64_MAX;
  switch (minor) {
  case 0:
    return (dev_sectors - 16) & ~UINT64_C (7);
  case 1:
    return 0;
  case 2:
    return 8;
  default:
    return UINT64_MAX;
  }
}

uint32_t
sb1_checksum (const uint8_t raw[SB1_BYTES], uint32_t max_dev)
{
  const size_t len = OFF_ROLES + 2 * (size_t)roles_used (max_dev);
  uint64_t sum = 0;
  size_t i;

  for (i = 0; i + 4 <= len; i += 4)
    if (i != OFF_CSUM)
      sum += le32_get (raw + i);
  if (i < len) /* odd max_dev */
    sum += le16_get (raw + i);
  return (uint32_t)sum + (uint32_t)(sum >> 32);
}

size_t
sb1_write_bytes (const struct sb1 *sb, uint32_t block_bytes)
{
  const size_t used = OFF_ROLES + 2 * (size_t)roles_used (sb->max_dev);
  const size_t block = block_bytes > 0 ? block_bytes : 512;
  const size_t n = (used + block - 1) / block * block;

  return n < SB1_BYTES ? n : SB1_BYTES;
}

uint16_t
sb1_role (const struct sb1 *sb)
{
  return sb->dev_number < roles_used (sb->max_dev)
             ? sb->dev_roles[sb->dev_number]
             : SB1_ROLE_SPARE;
}

/* First non-zero byte of pad3, as an offset in the superblock; 0 = none. */
static unsigned
pad3_nonzero (const uint8_t raw[SB1_BYTES])
{
  unsigned i;

  for (i = OFF_PAD3; i < OFF_ROLES; i++)
    if (raw[i] != 0)
      return i;
  return 0;
}

int
sb1_check_pads (const struct sb1 *sb, struct uraid_error *e)
{
  const unsigned bad = pad3_nonzero (sb->raw);

  if (sb->pad0 != 0)
    return uraid_error_set (
        e, EINVAL,
        "superblock: pad0 (byte 12) is 0x%" PRIx32
        ", allowed is 0: written by something newer than this program",
        sb->pad0);
  if (bad != 0)
    return uraid_error_set (
        e, EINVAL,
        "superblock: pad3 byte %u is 0x%02x, allowed is 0 in bytes %d to %d: "
        "written by something newer than this program",
        bad, sb->raw[bad], OFF_PAD3, OFF_ROLES - 1);
  return 0;
}

/* Everything after magic and version, in the kernel's order. */
static int
check_found (const struct sb1 *sb, uint64_t place, struct uraid_error *e)
{
  uint32_t csum;

  if (sb->max_dev > SB1_MAX_DEV)
    return uraid_error_set (
        e, EINVAL, "superblock: max_dev is %" PRIu32 ", allowed is 0 to %d",
        sb->max_dev, SB1_MAX_DEV);
  if (sb->super_offset_sectors != place)
    return uraid_error_set (
        e, ENOENT,
        "no superblock 1.%u: the one found at sector %" PRIu64
        " has super_offset %" PRIu64
        ", so it belongs to another place (a copy, or a device of another "
        "size)",
        sb->minor, place, sb->super_offset_sectors);
  csum = sb1_checksum (sb->raw, sb->max_dev);
  if (csum != sb->sb_csum)
    return uraid_error_set (e, EINVAL,
                            "superblock: checksum is 0x%08" PRIx32
                            ", computed is 0x%08" PRIx32,
                            sb->sb_csum, csum);
  if (sb->data_size_sectors < MIN_DATA_SIZE_SECTORS)
    return uraid_error_set (e, EINVAL,
                            "superblock: data_size is %" PRIu64
                            " sectors, allowed is %d or more",
                            sb->data_size_sectors, MIN_DATA_SIZE_SECTORS);
  return sb1_check_pads (sb, e);
}

int
sb1_parse (const uint8_t raw[SB1_BYTES], unsigned minor, uint64_t dev_sectors,
           struct sb1 *ret, struct uraid_error *e)
{
  const uint64_t place = sb1_place_sectors (minor, dev_sectors);
  const uint32_t magic = le32_get (raw + OFF_MAGIC);
  const uint32_t major = le32_get (raw + OFF_MAJOR);

  if (place == UINT64_MAX)
    return uraid_error_set (e, ENOENT,
                            "no superblock 1.%u: the device has %" PRIu64
                            " sectors, allowed is %d or more",
                            minor, dev_sectors, SB1_MIN_DEV_SECTORS);
  if (magic != SB1_MAGIC)
    return uraid_error_set (e, ENOENT,
                            "no superblock 1.%u: magic is 0x%08" PRIx32
                            ", allowed is 0x%08x",
                            minor, magic, SB1_MAGIC);
  if (major != MAJOR_VERSION)
    return uraid_error_set (
        e, ENOENT,
        "no superblock 1.%u: major version is %" PRIu32 ", allowed is %u%s",
        minor, major, MAJOR_VERSION,
        major == 0 ? " (metadata 0.90 is not supported)" : "");
  decode (raw, minor, ret);
  return check_found (ret, place, e);
}

/* ---- Texts ---- */

void
sb1_uuid_text (const uint8_t uuid[16], char buf[36])
{
  static const char digits[] = "0123456789abcdef";
  char *p = buf;
  unsigned i;

  for (i = 0; i < 16; i++) {
    if (i > 0 && i % 4 == 0)
      *p++ = ':';
    *p++ = digits[uuid[i] >> 4];
    *p++ = digits[uuid[i] & 15];
  }
  *p = '\0';
}

static int
hex_value (char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

int
sb1_uuid_parse (const char *text, uint8_t ret[16])
{
  uint8_t uuid[16] = {0};
  unsigned n = 0;

  for (; *text != '\0'; text++) {
    const int v = hex_value (*text);

    if (*text == ':' || *text == '-' || *text == '.')
      continue;
    if (v < 0 || n >= 32)
      return -EINVAL;
    uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | v);
    n++;
  }
  if (n != 32)
    return -EINVAL;
  memcpy (ret, uuid, 16);
  return 0;
}

uint64_t
sb1_time_seconds (uint64_t field)
{
  return field & ((UINT64_C (1) << TIME_SECONDS_BITS) - 1);
}
