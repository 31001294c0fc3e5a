/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The superblock of md's write-intent bitmap: parse, build, encode, and how
 * large the whole bitmap is.  It does not know where a bitmap lies (sb1.h,
 * sizing.h) nor when a bit is set or cleared.  Pure functions without locks;
 * a struct bitmap_sb belongs to its caller.
 *
 * On disk, 256 bytes, little-endian, no checksum; the bits follow:
 *
 *     off  size  field
 *       0     4  magic 0x6d746962 ("bitm")
 *       4     4  version: 4 = normal, 3 = bits in host byte order (the same
 *                bytes on a little-endian host)
 *       8    16  uuid of the array
 *      24     8  events: the array's count at the last write of this super
 *      32     8  events_cleared
 *      40     8  sync_size: sectors covered
 *      48     4  state: 0x2 stale, 0x4 write error, 0x8000 version 3
 *      52     4  chunksize: bytes for one bit
 *      56     4  daemon_sleep: seconds
 *      60     4  write_behind: RAID-1 only, kept
 *      64     4  sectors_reserved: 0 = unknown, kept
 *      68     4  nodes: 0, else a cluster's
 *      72    64  cluster_name, kept
 *     136   120  pad, kept
 */
#include <config.h>

#include "bitmap_sb.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "le.h"
#include "sb1.h"

#define OFF_MAGIC 0
#define OFF_VERSION 4
#define OFF_UUID 8
#define OFF_EVENTS 24
#define OFF_EVENTS_CLEARED 32
#define OFF_SYNC_SIZE 40
#define OFF_STATE 48
#define OFF_CHUNKSIZE 52
#define OFF_DAEMON_SLEEP 56
#define OFF_WRITE_BEHIND 60
#define OFF_SECTORS_RESERVED 64
#define OFF_NODES 68

#define VERSION_HOSTENDIAN 3
#define VERSION_NORMAL 4
#define CHUNK_BYTES_MIN 512
#define WRITE_BEHIND_MAX 16383
#define DAEMON_SLEEP_DEFAULT_S 5
#define AREA_ROUND_BYTES 4096

#define ADVICE                                                                \
  "; the bitmap is unusable, start with the bitmap dropped if that is wanted"

static void
decode (const uint8_t raw[BITMAP_SB_BYTES], struct bitmap_sb *b)
{
  memcpy (b->raw, raw, BITMAP_SB_BYTES);
  b->version = le32_get (raw + OFF_VERSION);
  memcpy (b->uuid, raw + OFF_UUID, sizeof b->uuid);
  b->events = le64_get (raw + OFF_EVENTS);
  b->events_cleared = le64_get (raw + OFF_EVENTS_CLEARED);
  b->sync_size_sectors = le64_get (raw + OFF_SYNC_SIZE);
  b->state = le32_get (raw + OFF_STATE);
  b->chunk_bytes = le32_get (raw + OFF_CHUNKSIZE);
  b->daemon_sleep_s = le32_get (raw + OFF_DAEMON_SLEEP);
  b->write_behind = le32_get (raw + OFF_WRITE_BEHIND);
  b->sectors_reserved = le32_get (raw + OFF_SECTORS_RESERVED);
  b->nodes = le32_get (raw + OFF_NODES);
}

/* The numbers; magic, version and uuid are judged already. */
static int
check_values (const struct bitmap_sb *b, struct uraid_error *e)
{
  if (b->chunk_bytes < CHUNK_BYTES_MIN ||
      (b->chunk_bytes & (b->chunk_bytes - 1)) != 0)
    return uraid_error_set (e, EINVAL,
                            "bitmap: chunksize is %" PRIu32
                            " bytes, allowed is a power of two from %d" ADVICE,
                            b->chunk_bytes, CHUNK_BYTES_MIN);
  if (b->daemon_sleep_s < 1)
    return uraid_error_set (
        e, EINVAL, "bitmap: daemon_sleep is 0, allowed is 1 s or more" ADVICE);
  if (b->write_behind > WRITE_BEHIND_MAX)
    return uraid_error_set (e, EINVAL,
                            "bitmap: write_behind is %" PRIu32
                            ", allowed is 0 to %d" ADVICE,
                            b->write_behind, WRITE_BEHIND_MAX);
  if (b->nodes != 0)
    return uraid_error_set (e, EINVAL,
                            "bitmap: nodes is %" PRIu32
                            ", allowed is 0: bitmaps of a cluster are not "
                            "supported" ADVICE,
                            b->nodes);
  return 0;
}

int
bitmap_sb_parse (const uint8_t raw[BITMAP_SB_BYTES],
                 const uint8_t set_uuid[16], struct bitmap_sb *ret,
                 struct uraid_error *e)
{
  const uint32_t magic = le32_get (raw + OFF_MAGIC);
  char found[36], wanted[36];

  decode (raw, ret);
  if (magic != BITMAP_MAGIC)
    return uraid_error_set (e, EINVAL,
                            "bitmap: magic is 0x%08" PRIx32
                            ", allowed is 0x%08" PRIx32 ADVICE,
                            magic, (uint32_t)BITMAP_MAGIC);
  if (ret->version != VERSION_HOSTENDIAN && ret->version != VERSION_NORMAL)
    return uraid_error_set (e, EINVAL,
                            "bitmap: version is %" PRIu32
                            "%s, allowed are 3 and 4" ADVICE,
                            ret->version,
                            ret->version == 5   ? " (cluster)"
                            : ret->version == 6 ? " (lockless)"
                                                : "");
  if (set_uuid != NULL && memcmp (set_uuid, ret->uuid, 16) != 0) {
    sb1_uuid_text (ret->uuid, found);
    sb1_uuid_text (set_uuid, wanted);
    return uraid_error_set (
        e, EINVAL, "bitmap: uuid is %s, allowed is the array's %s" ADVICE,
        found, wanted);
  }
  return check_values (ret, e);
}

void
bitmap_sb_encode (struct bitmap_sb *b)
{
  uint8_t *raw = b->raw;

  le32_put (raw + OFF_MAGIC, BITMAP_MAGIC);
  le32_put (raw + OFF_VERSION, b->version);
  memcpy (raw + OFF_UUID, b->uuid, sizeof b->uuid);
  le64_put (raw + OFF_EVENTS, b->events);
  le64_put (raw + OFF_EVENTS_CLEARED, b->events_cleared);
  le64_put (raw + OFF_SYNC_SIZE, b->sync_size_sectors);
  le32_put (raw + OFF_STATE, b->state);
  le32_put (raw + OFF_CHUNKSIZE, b->chunk_bytes);
  le32_put (raw + OFF_DAEMON_SLEEP, b->daemon_sleep_s);
  le32_put (raw + OFF_WRITE_BEHIND, b->write_behind);
  le32_put (raw + OFF_SECTORS_RESERVED, b->sectors_reserved);
  le32_put (raw + OFF_NODES, b->nodes);
}

void
bitmap_sb_init (struct bitmap_sb *b, const uint8_t uuid[16],
                uint64_t size_sectors, uint32_t chunk_bytes)
{
  memset (b, 0, sizeof *b);
  b->version = VERSION_NORMAL;
  memcpy (b->uuid, uuid, sizeof b->uuid);
  b->sync_size_sectors = size_sectors;
  b->chunk_bytes = chunk_bytes;
  b->daemon_sleep_s = DAEMON_SLEEP_DEFAULT_S;
  bitmap_sb_encode (b);
}

uint64_t
bitmap_bits (uint64_t size_sectors, uint32_t chunk_bytes)
{
  const uint64_t chunk_sectors = chunk_bytes / 512;

  if (chunk_sectors == 0) /* a super that did not parse */
    return 0;
  return size_sectors / chunk_sectors + (size_sectors % chunk_sectors != 0);
}

uint64_t
bitmap_area_bytes (uint64_t size_sectors, uint32_t chunk_bytes)
{
  const uint64_t bits = bitmap_bits (size_sectors, chunk_bytes);
  const uint64_t bytes = bits / 8 + (bits % 8 != 0) + BITMAP_SB_BYTES;

  return (bytes + AREA_ROUND_BYTES - 1) / AREA_ROUND_BYTES * AREA_ROUND_BYTES;
}
