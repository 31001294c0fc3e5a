/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Assembly, the checks of one member: superblock and export, also against the
 * superblock that speaks for the array.  Pure functions, no locks, no I/O.
 */
#include <config.h>

#include "assemble_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define MAX_MIN_BLOCK_BYTES 4096
#define SECTOR_BYTES 512

/* "slot 3, ADDRESS" by its own table. */
const char *
assemble_who (const struct candidate *c, char buf[ASSEMBLE_WHO_BYTES])
{
  const uint16_t role =
      c->state == CAND_MD ? sb1_role (&c->sb) : SB1_ROLE_SPARE;

  if (c->state == CAND_MD && assemble_is_slot (role, c->sb.raid_disks))
    snprintf (buf, ASSEMBLE_WHO_BYTES, "slot %u, %.280s", role, c->address);
  else
    snprintf (buf, ASSEMBLE_WHO_BYTES, "%s %.280s",
              c->is_spare_arg ? "spare" : "member", c->address);
  return buf;
}

int
assemble_refuse_not_md (const struct candidate *c, struct uraid_error *e)
{
  if (c->state == CAND_BROKEN)
    return uraid_error_set (e, EINVAL,
                            "%s %s: broken md superblock: %.1500s; give the "
                            "word \"missing\" in its place to start without",
                            c->is_spare_arg ? "spare" : "member", c->address,
                            c->why.text);
  if (c->is_spare_arg)
    return uraid_error_set (e, EINVAL,
                            "spare %s is not blank (found: %.1500s); if "
                            "nothing there is needed, clear it first (wipefs)",
                            c->address, c->why.text);
  return uraid_error_set (
      e, EINVAL,
      "member %s: no md superblock (found: %.1500s); a blank disk that is to "
      "be rebuilt is given as spare=, an absent one as \"missing\"",
      c->address,
      c->why.text[0] != '\0' ? c->why.text : "nothing known, maybe blank");
}

static bool
device_too_small (const struct candidate *c)
{
  const struct sb1 *sb = &c->sb;

  return sb->minor != 0 &&
         (sb->data_offset_sectors > c->dev_sectors ||
          sb->size_sectors > c->dev_sectors - sb->data_offset_sectors) &&
         sb->size_sectors < UINT64_MAX / SECTOR_BYTES / 2 &&
         sb->data_offset_sectors < UINT64_MAX / SECTOR_BYTES / 2;
}

/* Is there room for what the superblock says, and can it be reached with
 * blocks that the export takes?
 */
static int
check_superblock (const struct candidate *c, bool will_write,
                  struct uraid_error *e)
{
  const struct sb1 *sb = &c->sb;
  const uint64_t offset_bytes = sb->data_offset_sectors * SECTOR_BYTES;
  const int r =
      sb1_judge (sb, c->dev_sectors, c->bitmap_sectors, will_write, e);

  if (r == -EINVAL && device_too_small (c))
    return uraid_error_set (e, EINVAL,
                            "the export is too small: it has %" PRIu64
                            " bytes, needed are %" PRIu64
                            " (data offset %" PRIu64 " + size %" PRIu64
                            "); give the whole device",
                            c->dev_sectors * SECTOR_BYTES,
                            offset_bytes + sb->size_sectors * SECTOR_BYTES,
                            offset_bytes, sb->size_sectors * SECTOR_BYTES);
  return r;
}

static int
check_blank_spare (const struct candidate *c, const struct sb1 *array,
                   struct uraid_error *e)
{
  const uint64_t size = array->size_sectors;

  if (c->dev_sectors >= size && c->dev_sectors - size >= SB1_MIN_DEV_SECTORS)
    return 0;
  return uraid_error_set (e, EINVAL,
                          "too small for a spare: it has %" PRIu64
                          " bytes, needed are %" PRIu64
                          " and more for metadata",
                          c->dev_sectors * SECTOR_BYTES,
                          (size + SB1_MIN_DEV_SECTORS) * SECTOR_BYTES);
}

static int
check_export (const struct candidate *c, bool will_write,
              struct uraid_error *e)
{
  const uint64_t offset_bytes =
      c->state == CAND_MD ? c->sb.data_offset_sectors * SECTOR_BYTES : 0;

  if (c->min_block_bytes > MAX_MIN_BLOCK_BYTES)
    return uraid_error_set (
        e, EINVAL,
        "the export's minimum block size is %" PRIu32
        " bytes, allowed is at most %d; serve it with a smaller one (nbdkit: "
        "blocksize filter)",
        c->min_block_bytes, MAX_MIN_BLOCK_BYTES);
  if (c->min_block_bytes != 0 && offset_bytes % c->min_block_bytes != 0)
    return uraid_error_set (
        e, EINVAL,
        "data_offset is %" PRIu64 " bytes, which is no multiple of the "
        "export's minimum block size of %" PRIu32
        " bytes; serve it with a smaller one (nbdkit: blocksize filter)",
        offset_bytes, c->min_block_bytes);
  if (will_write && c->read_only)
    return uraid_error_set (e, EROFS,
                            "the export is read-only; use -r to serve the "
                            "array read-only, or make the export writable");
  return 0;
}

int
assemble_check_fit (const struct candidate *c, const struct sb1 *array,
                    bool will_write, struct uraid_error *e)
{
  char buf[ASSEMBLE_WHO_BYTES];
  int r = c->state == CAND_MD ? check_superblock (c, will_write, e)
                              : check_blank_spare (c, array, e);

  if (r == 0)
    r = check_export (c, will_write, e);
  if (r < 0)
    uraid_error_prefix (e, "%s", assemble_who (c, buf));
  return r;
}

/* The first field that must be alike and is not. */
static const char *
differing_field (const struct sb1 *a, const struct sb1 *b, int64_t *va,
                 int64_t *vb)
{
  const struct {
    const char *name;
    int64_t a, b;
  } fields[] = {
      {"level", a->level, b->level},
      {"raid_disks", a->raid_disks, b->raid_disks},
      {"chunksize (sectors)", a->chunk_sectors, b->chunk_sectors},
      {"layout", a->layout, b->layout},
      {"size (sectors)", (int64_t)a->size_sectors, (int64_t)b->size_sectors},
      {"ctime", (int64_t)a->ctime, (int64_t)b->ctime},
      {"metadata version 1.x", a->minor, b->minor},
  };
  size_t i;

  for (i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].a == fields[i].b)
      continue;
    *va = fields[i].a;
    *vb = fields[i].b;
    return fields[i].name;
  }
  return NULL;
}

int
assemble_check_alike (const struct candidate *a, const struct candidate *b,
                      struct uraid_error *e)
{
  int64_t va = 0, vb = 0;
  const char *field = differing_field (&a->sb, &b->sb, &va, &vb);

  if (field == NULL)
    return 0;
  return uraid_error_set (e, EINVAL,
                          "members differ in %s: %" PRId64 " on %s, %" PRId64
                          " on %s; leave out the one that is wrong",
                          field, va, a->address, vb, b->address);
}
