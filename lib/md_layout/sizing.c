/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Sizes and offsets of a new array and of a member that joins later, exactly
 * as mdadm 4.2 chooses them, so that either program can replace the other's
 * members.  It writes nothing and knows no defaults but mdadm's.  Pure
 * functions without locks.
 *
 * Where things go (1.2; 1.1 is the same with the superblock at 0):
 *
 *     0    8    16              16+bitmap           data_offset
 *     |free|sb  |bitmap or space|log (8)|gap        |data ...       | end
 *               |<- bmspace (DEV of the first) ->|<- headroom ->|
 *
 * and 1.0, from the end backwards:
 *
 *     0                                S-8-bitmap  S-8       S      DEV
 *     |data ...            |up to 1 chunk|bitmap    |log (8) |sb    |
 *
 * Reserve for a slightly smaller replacement: mdadm keeps none, and neither
 * do we; only what rounding down to whole chunks leaves.  Whoever wants one
 * gives a smaller size_kib.
 *
 * Where we differ: if a data offset given by hand leaves bitmap and bad-block
 * log no room, mdadm lets them overlap and we refuse.
 */
#include <config.h>

#include "sizing.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bitmap_sb.h"
#include "geometry.h"

#define MAX_SECTORS ((uint64_t)INT64_MAX / 512)
#define DEFAULT_CHUNK_KIB 512
#define MIN_CHUNK_KIB 4
#define MAX_CHUNK_KIB (UINT32_C (1) << 30) /* 1 TiB, fits 32-bit sectors */
#define HEADROOM_SECTORS 262144            /* 128 MiB, for later reshapes */
#define DATA_ALIGN_SECTORS 2048
#define DATA_FIXED_SECTORS 24 /* 4 KiB each: free, superblock, log */
#define TAIL_FIXED_SECTORS 24 /* 1.0: log, superblock, rounding */
#define BBLOG_SECTORS 8
#define BITMAP_OFFSET_SECTORS 8
#define AUTO_BITMAP_KIB 104857600 /* automatic above 100 GiB */
#define BITMAP_CHUNK_MIN_BYTES 4096
#define BITMAP_CHUNK_DEFAULT_BYTES (UINT64_C (64) << 20)
#define BITMAP_CHUNK_MAX_BYTES (UINT64_C (1) << 31)

/* How much mdadm keeps free for a bitmap, by the size of a device. */
static uint64_t
bmspace_sectors (uint64_t dev_sectors)
{
  if (dev_sectors < 128)
    return 0;
  if (dev_sectors - 128 >= 419430400)
    return 256;
  if (dev_sectors - 8 > 16777216)
    return 128;
  return 8;
}

static uint64_t
round_up (uint64_t v, uint64_t to)
{
  return (v + to - 1) / to * to;
}

static uint32_t
chunk_kib (const struct sizing_input *in)
{
  return in->chunk_kib != 0 ? in->chunk_kib : DEFAULT_CHUNK_KIB;
}

static unsigned
parity_disks (const struct sizing_input *in)
{
  return in->level == 6 ? 2 : 1;
}

static uint32_t
max_dev (unsigned nr_devs)
{
  return (uint32_t)(round_up (256 + 2 * (uint64_t)nr_devs, 512) - 256) / 2;
}

static uint64_t
sb_sectors (uint32_t max_dev_entries)
{
  return (256 + 2 * (uint64_t)max_dev_entries + 511) / 512;
}

/* Sector of the superblock when that does not depend on the device. */
static uint64_t
sb_place_front (unsigned minor)
{
  return minor == 2 ? 8 : 0;
}

/* ---- What the caller may ask for ---- */

static int
check_shape (const struct sizing_input *in, struct uraid_error *e)
{
  const unsigned min_disks = in->level == 6 ? 4 : 2;
  const uint32_t k = chunk_kib (in);

  if (in->level < 4 || in->level > 6)
    return uraid_error_set (e, EINVAL, "level is %d, allowed are 4, 5, 6",
                            in->level);
  if (in->minor > 2)
    return uraid_error_set (
        e, EINVAL, "metadata version is 1.%u, allowed are 1.0, 1.1, 1.2",
        in->minor);
  if (in->raid_disks < min_disks || in->raid_disks > GEOMETRY_MAX_DISKS)
    return uraid_error_set (
        e, EINVAL, "raid devices are %u, allowed with level %d is %u to %d",
        in->raid_disks, in->level, min_disks, GEOMETRY_MAX_DISKS);
  if (in->spare_disks > SB1_MAX_DEV - in->raid_disks)
    return uraid_error_set (
        e, EINVAL,
        "spare devices are %u, allowed is 0 to %u: a superblock has "
        "room for %d devices in all",
        in->spare_disks, SB1_MAX_DEV - in->raid_disks, SB1_MAX_DEV);
  if (k < MIN_CHUNK_KIB || k > MAX_CHUNK_KIB || (k & (k - 1)) != 0)
    return uraid_error_set (
        e, EINVAL,
        "chunk is %" PRIu32
        " KiB, allowed is a power of two from %d to %" PRIu32 " KiB",
        k, MIN_CHUNK_KIB, MAX_CHUNK_KIB);
  return 0;
}

/* Counts who is there; *RET_FIRST is the index of the first. */
static int
check_devices (const struct sizing_input *in, unsigned *ret_first,
               struct uraid_error *e)
{
  const unsigned nr = in->raid_disks + in->spare_disks;
  unsigned i, missing = 0;

  *ret_first = nr;
  for (i = 0; i < nr; i++) {
    if (in->dev_sectors[i] > MAX_SECTORS)
      return uraid_error_set (e, EINVAL,
                              "member %u: %" PRIu64
                              " sectors, allowed is up to %" PRIu64
                              " (2^63 bytes)",
                              i, in->dev_sectors[i], MAX_SECTORS);
    if (in->dev_sectors[i] != 0 && *ret_first == nr)
      *ret_first = i;
    if (in->dev_sectors[i] == 0 && i < in->raid_disks)
      missing++;
  }
  if (missing > parity_disks (in))
    return uraid_error_set (
        e, EINVAL,
        "%u of %u members are missing (or have size 0), allowed with level %d "
        "is %u",
        missing, in->raid_disks, in->level, parity_disks (in));
  return 0;
}

/* ---- Data offset and size ---- */

static int
choose_data_offset (const struct sizing_input *in, uint64_t first_sectors,
                    struct sizing_result *ret, struct uraid_error *e)
{
  const uint64_t given = in->data_offset_sectors;
  const uint64_t least =
      sb_place_front (in->minor) + sb_sectors (ret->max_dev);
  const uint64_t k = chunk_kib (in);
  uint64_t headroom = HEADROOM_SECTORS;

  if (given != UINT64_MAX && in->minor == 0 && given != 0)
    return uraid_error_set (
        e, EINVAL,
        "data offset is %" PRIu64
        " sectors, allowed with metadata 1.0 is 0: its superblock is at the "
        "end",
        given);
  if (in->minor == 0) {
    ret->data_offset_sectors = 0;
    return 0;
  }
  if (given != UINT64_MAX) {
    if (given < least || given > MAX_SECTORS)
      return uraid_error_set (e, EINVAL,
                              "data offset is %" PRIu64
                              " sectors, allowed is %" PRIu64
                              " (the superblock's end) to %" PRIu64,
                              given, least, MAX_SECTORS);
    ret->data_offset_sectors = given;
    return 0;
  }
  while (headroom * 1024 > first_sectors && headroom / 2 >= 4 * k)
    headroom /= 2;
  ret->data_offset_sectors = round_up (
      DATA_FIXED_SECTORS + bmspace_sectors (first_sectors) + headroom,
      DATA_ALIGN_SECTORS);
  return 0;
}

/* Sectors of a device that do not hold data. */
static uint64_t
overhead_sectors (const struct sizing_input *in, uint64_t data_offset_sectors,
                  uint64_t dev_sectors)
{
  return in->minor == 0 ? (dev_sectors & 7) + TAIL_FIXED_SECTORS +
                              bmspace_sectors (dev_sectors)
                        : data_offset_sectors;
}

/* Kernels refuse a member with data_size below 10 sectors. */
static uint64_t
at_least_min_data (unsigned minor, uint64_t sectors)
{
  const uint64_t least = minor == 0 ? 16 : 10;

  return sectors < least ? least : sectors;
}

/* Whole chunks that fit on member I, in KiB; 0 if not even one. */
static uint64_t
free_kib (const struct sizing_input *in, const struct sizing_result *r,
          unsigned i)
{
  const uint64_t dev = in->dev_sectors[i];
  const uint64_t overhead = overhead_sectors (in, r->data_offset_sectors, dev);
  const uint64_t k = chunk_kib (in);

  if (dev < SB1_MIN_DEV_SECTORS || dev < overhead ||
      dev - overhead < at_least_min_data (in->minor, 0))
    return 0;
  return (dev - overhead) / 2 / k * k;
}

/* The smallest device above DEV_SECTORS that holds WANT_KIB of data. */
static uint64_t
dev_needed_sectors (const struct sizing_input *in,
                    const struct sizing_result *r, uint64_t dev_sectors,
                    uint64_t want_kib)
{
  const uint64_t data = at_least_min_data (in->minor, 2 * want_kib);
  uint64_t overhead = overhead_sectors (in, r->data_offset_sectors,
                                        dev_sectors & ~UINT64_C (7));
  uint64_t needed = overhead + data;

  /* With 1.0 a larger device may need more metadata. */
  while (in->minor == 0 &&
         needed < (overhead = overhead_sectors (in, 0, needed)) + data)
    needed = overhead + data;
  return needed < SB1_MIN_DEV_SECTORS ? SB1_MIN_DEV_SECTORS : needed;
}

static int
too_small (const struct sizing_input *in, const struct sizing_result *r,
           unsigned i, uint64_t want_kib, struct uraid_error *e)
{
  const uint64_t dev = in->dev_sectors[i];
  const uint64_t needed = dev_needed_sectors (in, r, dev, want_kib);

  return uraid_error_set (
      e, EINVAL,
      "member %u is too small: found %" PRIu64 " sectors, needed %" PRIu64
      " (%" PRIu64 " KiB of data, the rest metadata), missing %" PRIu64
      " bytes; use a larger member, a smaller size or a smaller chunk",
      i, dev, needed, want_kib, (needed - dev) * 512);
}

/* The component size in KiB. */
static int
choose_size (const struct sizing_input *in, const struct sizing_result *r,
             uint64_t *ret_kib, struct uraid_error *e)
{
  const uint64_t k = chunk_kib (in);
  const uint64_t asked_kib = in->size_kib / k * k;
  uint64_t min_kib = UINT64_MAX;
  unsigned i;

  if (in->size_kib != 0 && asked_kib == 0)
    return uraid_error_set (e, EINVAL,
                            "size is %" PRIu64
                            " KiB, allowed is one chunk (%" PRIu64
                            " KiB) or more",
                            in->size_kib, k);
  if (asked_kib > MAX_SECTORS / 2)
    return uraid_error_set (
        e, EINVAL, "size is %" PRIu64 " KiB, allowed is up to %" PRIu64 " KiB",
        in->size_kib, MAX_SECTORS / 2);
  for (i = 0; i < in->raid_disks + in->spare_disks; i++) {
    uint64_t kib;

    if (in->dev_sectors[i] == 0)
      continue;
    kib = free_kib (in, r, i);
    if (kib == 0 || kib < asked_kib)
      return too_small (in, r, i, asked_kib != 0 ? asked_kib : k, e);
    if (kib < min_kib)
      min_kib = kib;
  }
  *ret_kib = asked_kib != 0 ? asked_kib : min_kib;
  return 0;
}

/* ---- Bitmap ---- */

/* The smallest chunk with which SIZE_SECTORS fits into ROOM_SECTORS. */
static uint64_t
min_bitmap_chunk_bytes (uint64_t size_sectors, uint64_t room_sectors)
{
  const uint64_t max_bits = (room_sectors * 512 - BITMAP_SB_BYTES) * 8;
  uint64_t chunk = BITMAP_CHUNK_MIN_BYTES;
  uint64_t bits = size_sectors / (BITMAP_CHUNK_MIN_BYTES / 512) + 1;

  while (bits > max_bits) {
    chunk *= 2;
    bits = (bits + 1) / 2;
  }
  return chunk;
}

static int
choose_bitmap_chunk (const struct sizing_input *in, struct sizing_result *ret,
                     struct uraid_error *e)
{
  const uint64_t room = bmspace_sectors (ret->size_sectors);
  const uint32_t asked = in->bitmap_chunk_bytes;
  uint64_t chunk, least;

  if (room <= 1)
    return uraid_error_set (
        e, EINVAL,
        "no room for a bitmap: the component size is %" PRIu64
        " sectors, needed is 128 or more; create the array without a bitmap",
        ret->size_sectors);
  least = min_bitmap_chunk_bytes (ret->size_sectors, room);
  chunk =
      least > BITMAP_CHUNK_DEFAULT_BYTES ? least : BITMAP_CHUNK_DEFAULT_BYTES;
  if (least > BITMAP_CHUNK_MAX_BYTES)
    return uraid_error_set (
        e, EINVAL,
        "no bitmap is possible: a component size of %" PRIu64
        " sectors needs bitmap chunks of %" PRIu64
        " bytes, allowed is up to %" PRIu64
        "; create the array without a bitmap",
        ret->size_sectors, least, BITMAP_CHUNK_MAX_BYTES);
  if (asked != 0 && (asked < least || (asked & (asked - 1)) != 0))
    return uraid_error_set (
        e, EINVAL,
        "bitmap chunk is %" PRIu32
        " bytes, allowed for this size is a power of two from %" PRIu64
        " to %" PRIu64 " bytes",
        asked, least, BITMAP_CHUNK_MAX_BYTES);
  ret->bitmap_chunk_bytes = asked != 0 ? asked : (uint32_t)chunk;
  return 0;
}

static int
choose_bitmap (const struct sizing_input *in, struct sizing_result *ret,
               struct uraid_error *e)
{
  uint64_t chunk_sectors, area, behind_log;
  int r;

  ret->has_bitmap = in->bitmap == SIZING_BITMAP_INTERNAL ||
                    (in->bitmap == SIZING_BITMAP_AUTO &&
                     ret->size_sectors / 2 > AUTO_BITMAP_KIB);
  if (!ret->has_bitmap)
    return 0;
  r = choose_bitmap_chunk (in, ret, e);
  if (r < 0)
    return r;
  ret->bitmap_bits = bitmap_bits (ret->size_sectors, ret->bitmap_chunk_bytes);
  ret->bitmap_area_bytes =
      bitmap_area_bytes (ret->size_sectors, ret->bitmap_chunk_bytes);
  if (in->minor == 0) {
    /* One bit more than needed: mdadm rounds up differently here. */
    chunk_sectors = ret->bitmap_chunk_bytes / 512;
    area = (ret->size_sectors / chunk_sectors + 1 + 7) / 8 + BITMAP_SB_BYTES;
    area = round_up (area, 4096) / 512;
    ret->bitmap_offset_sectors = -(int32_t)(area + BBLOG_SECTORS);
    return 0;
  }
  ret->bitmap_offset_sectors = BITMAP_OFFSET_SECTORS;
  behind_log = sb_place_front (in->minor) + BITMAP_OFFSET_SECTORS +
               ret->bitmap_area_bytes / 512 + BBLOG_SECTORS;
  if (behind_log > ret->data_offset_sectors)
    return uraid_error_set (
        e, EINVAL,
        "no room for a bitmap: data offset is %" PRIu64
        " sectors, needed for superblock, bitmap and bad-block log is %" PRIu64
        "; give a larger data offset or create the array without a bitmap",
        ret->data_offset_sectors, behind_log);
  return 0;
}

int
sizing_array (const struct sizing_input *in, struct sizing_result *ret,
              struct uraid_error *e)
{
  const uint64_t data_disks = in->raid_disks - parity_disks (in);
  struct sizing_result res = {0};
  uint64_t kib = 0;
  unsigned first;
  int r;

  if ((r = check_shape (in, e)) < 0 || (r = check_devices (in, &first, e)) < 0)
    return r;
  res.chunk_sectors = 2 * chunk_kib (in);
  res.max_dev = max_dev (in->raid_disks + in->spare_disks);
  if ((r = choose_data_offset (in, in->dev_sectors[first], &res, e)) < 0 ||
      (r = choose_size (in, &res, &kib, e)) < 0)
    return r;
  res.size_sectors = 2 * kib;
  if (res.size_sectors > MAX_SECTORS / data_disks)
    return uraid_error_set (e, EINVAL,
                            "the array would have %" PRIu64 " x %" PRIu64
                            " sectors, allowed is up to %" PRIu64
                            " (2^63 bytes)",
                            data_disks, res.size_sectors, MAX_SECTORS);
  res.array_sectors = data_disks * res.size_sectors;
  if ((r = choose_bitmap (in, &res, e)) < 0)
    return r;
  *ret = res;
  return 0;
}

/* ---- One member ---- */

/* Everything that decides the places on one member. */
struct placing {
  unsigned minor;
  uint64_t data_offset_sectors;
  uint64_t size_sectors;
  uint64_t bitmap_sectors;       /* 0 = no bitmap */
  int32_t bitmap_offset_sectors; /* valid with a bitmap */
};

/* What a device must have at least. */
static uint64_t
needed_sectors (const struct placing *p)
{
  const uint64_t data_end =
      p->data_offset_sectors + at_least_min_data (p->minor, p->size_sectors);
  uint64_t bitmap = 0;

  if (p->minor != 0)
    return data_end;
  /* The superblock's sector is DEV - 16 rounded down to a multiple of 8. */
  if (p->bitmap_sectors != 0)
    bitmap = (uint64_t) - (int64_t)p->bitmap_offset_sectors;
  return round_up (data_end + bitmap, 8) + 16;
}

static void
place_front (const struct placing *p, uint64_t dev_sectors,
             struct sizing_member *m)
{
  const uint64_t s = sb_place_front (p->minor);
  const uint64_t o = p->bitmap_sectors != 0
                         ? (uint64_t)p->bitmap_offset_sectors
                         : BITMAP_OFFSET_SECTORS;
  const uint64_t space = p->bitmap_sectors != 0
                             ? p->bitmap_sectors
                             : bmspace_sectors (p->size_sectors);

  m->super_offset_sectors = s;
  m->data_size_sectors = dev_sectors - p->data_offset_sectors;
  if (p->data_offset_sectors >= s + o + space + BBLOG_SECTORS)
    m->bblog_offset_sectors = (int32_t)(o + space);
  else if (p->bitmap_sectors == 0 &&
           p->data_offset_sectors >= s + BITMAP_OFFSET_SECTORS + BBLOG_SECTORS)
    m->bblog_offset_sectors =
        (int32_t)(p->data_offset_sectors - BBLOG_SECTORS - s);
  m->bblog_size_sectors = m->bblog_offset_sectors != 0 ? BBLOG_SECTORS : 0;
}

static void
place_back (const struct placing *p, uint64_t dev_sectors,
            struct sizing_member *m)
{
  const uint64_t s = sb1_place_sectors (0, dev_sectors);
  const uint64_t data_end = p->data_offset_sectors + p->size_sectors;
  uint64_t space = BBLOG_SECTORS + (p->bitmap_sectors != 0
                                        ? p->bitmap_sectors
                                        : bmspace_sectors (p->size_sectors));

  if (s < data_end + space)
    space = s - data_end;
  m->super_offset_sectors = s;
  m->data_size_sectors = s - p->data_offset_sectors - space;
  if (space >= BBLOG_SECTORS) {
    m->bblog_offset_sectors = -BBLOG_SECTORS;
    m->bblog_size_sectors = BBLOG_SECTORS;
  }
}

/* DEV_SECTORS must be at least needed_sectors (P). */
static void
place_member (const struct placing *p, uint64_t dev_sectors,
              struct sizing_member *ret)
{
  memset (ret, 0, sizeof *ret);
  if (p->minor == 0)
    place_back (p, dev_sectors, ret);
  else
    place_front (p, dev_sectors, ret);
}

int
sizing_member (const struct sizing_input *in, const struct sizing_result *r,
               uint64_t dev_sectors, struct sizing_member *ret,
               struct uraid_error *e)
{
  const struct placing p = {
      .minor = in->minor,
      .data_offset_sectors = r->data_offset_sectors,
      .size_sectors = r->size_sectors,
      .bitmap_sectors = r->has_bitmap ? r->bitmap_area_bytes / 512 : 0,
      .bitmap_offset_sectors = r->bitmap_offset_sectors,
  };
  const uint64_t needed = needed_sectors (&p);

  if (dev_sectors > MAX_SECTORS || dev_sectors < needed ||
      dev_sectors < SB1_MIN_DEV_SECTORS)
    return uraid_error_set (e, EINVAL,
                            "member: found %" PRIu64
                            " sectors, allowed is %" PRIu64 " to %" PRIu64,
                            dev_sectors, needed, MAX_SECTORS);
  place_member (&p, dev_sectors, ret);
  return 0;
}

static void
set_member (struct sb1 *sb, const struct sizing_member *m)
{
  sb->super_offset_sectors = m->super_offset_sectors;
  sb->data_size_sectors = m->data_size_sectors;
  sb->bblog_offset_sectors = m->bblog_offset_sectors;
  sb->bblog_size_sectors = m->bblog_size_sectors;
  sb->bblog_shift = 0;
}

void
sizing_fill_sb (const struct sizing_input *in, const struct sizing_result *r,
                const struct sizing_member *m, unsigned dev_number,
                struct sb1 *sb)
{
  unsigned i;

  sb->minor = in->minor;
  sb->feature_map = r->has_bitmap ? SB1_F_BITMAP : 0;
  sb->size_sectors = r->size_sectors;
  sb->chunk_sectors = r->chunk_sectors;
  sb->raid_disks = in->raid_disks;
  sb->bitmap_offset_sectors = r->has_bitmap ? r->bitmap_offset_sectors : 0;
  sb->data_offset_sectors = r->data_offset_sectors;
  set_member (sb, m);
  sb->recovery_offset_sectors = 0;
  sb->dev_number = dev_number;
  sb->events = 0;
  sb->resync_offset_sectors = 0;
  sb->max_dev = r->max_dev;
  /* A zero left in an entry that nobody uses would say "slot 0". */
  for (i = in->raid_disks + in->spare_disks; i < SB1_MAX_DEV; i++)
    sb->dev_roles[i] = SB1_ROLE_SPARE;
}

/* ---- A member that joins later ---- */

/* What mdadm asks for, and what the places need on top. */
static uint64_t
spare_needed_sectors (const struct placing *p)
{
  const uint64_t needed = needed_sectors (p);
  const uint64_t mdadm_needs = p->data_offset_sectors +
                               at_least_min_data (p->minor, p->size_sectors) +
                               (p->minor == 0 ? TAIL_FIXED_SECTORS : 0);

  if (needed < SB1_MIN_DEV_SECTORS && mdadm_needs < SB1_MIN_DEV_SECTORS)
    return SB1_MIN_DEV_SECTORS;
  return needed > mdadm_needs ? needed : mdadm_needs;
}

static void
make_spare (struct sb1 *sb, const uint8_t device_uuid[16], unsigned dev_number)
{
  sb->feature_map &= ~(SB1_F_RECOVERY_OFFSET | SB1_F_BAD_BLOCKS |
                       SB1_F_REPLACEMENT | SB1_F_RECOVERY_BITMAP);
  sb->recovery_offset_sectors = 0;
  sb->cnt_corrected_read = 0;
  sb->devflags = 0;
  sb->events = 0;
  memcpy (sb->device_uuid, device_uuid, 16);
  sb->dev_number = dev_number;
  if (sb->max_dev < dev_number + 1)
    sb->max_dev = dev_number + 1;
  sb->dev_roles[dev_number] = SB1_ROLE_SPARE;
}

int
sizing_spare_sb (const struct sb1 *template_sb, uint64_t dev_sectors,
                 uint64_t bitmap_area_bytes, const uint8_t device_uuid[16],
                 unsigned dev_number, struct sb1 *ret, struct uraid_error *e)
{
  const struct placing p = {
      .minor = template_sb->minor,
      .data_offset_sectors = template_sb->data_offset_sectors,
      .size_sectors = template_sb->size_sectors,
      .bitmap_sectors = bitmap_area_bytes / 512,
      .bitmap_offset_sectors = template_sb->bitmap_offset_sectors,
  };
  struct sizing_member m;
  uint64_t needed;

  if (dev_number >= SB1_MAX_DEV)
    return uraid_error_set (
        e, EINVAL,
        "device number is %u, allowed is 0 to %d: the superblock's "
        "table is full",
        dev_number, SB1_MAX_DEV - 1);
  if (p.data_offset_sectors > MAX_SECTORS || p.size_sectors > MAX_SECTORS ||
      (p.bitmap_sectors != 0 &&
       (p.minor == 0) != (p.bitmap_offset_sectors < 0)))
    return uraid_error_set (
        e, EINVAL,
        "the array's superblock is not sound: data_offset %" PRIu64
        ", size %" PRIu64 ", bitmap_offset %" PRId32,
        p.data_offset_sectors, p.size_sectors, p.bitmap_offset_sectors);
  needed = spare_needed_sectors (&p);
  if (dev_sectors < needed)
    return uraid_error_set (
        e, ENOSPC,
        "the device is too small for this array: found %" PRIu64
        " sectors (%" PRIu64 " bytes), needed %" PRIu64 " sectors (%" PRIu64
        " bytes), missing %" PRIu64 " bytes",
        dev_sectors, dev_sectors * 512, needed, needed * 512,
        (needed - dev_sectors) * 512);
  if (dev_sectors > MAX_SECTORS)
    return uraid_error_set (e, EINVAL,
                            "the device has %" PRIu64
                            " sectors, allowed is up to %" PRIu64,
                            dev_sectors, MAX_SECTORS);
  place_member (&p, dev_sectors, &m);
  *ret = *template_sb;
  set_member (ret, &m);
  make_spare (ret, device_uuid, dev_number);
  sb1_encode (ret);
  return 0;
}
