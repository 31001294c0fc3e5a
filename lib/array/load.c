/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Reading what lies on the members before anything is decided: superblocks at
 * all three places, foreign signatures, bitmap, bad-block logs.  One thread,
 * before the fork; blocking reads; writes nothing.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../md_layout/signature.h"
#include "../member/sync_io.h"

/* A bitmap area larger than this is a broken superblock. */
#define BITMAP_MAX_BYTES (UINT64_C (1) << 30)

/* --- superblocks --- */

/* Foreign data on a member without superblock: its name, for the message. */
static void
look_signature (struct array *a, size_t i)
{
  struct member *m = a->members[i];
  struct candidate *c = &a->cand[i];
  struct signature_input in = {.dev_bytes = m->size_bytes};
  struct signature sig[4];
  uint8_t *buf = malloc (SIGNATURE_HEAD_BYTES + SIGNATURE_TAIL_BYTES);
  struct uraid_error e = {0};
  size_t nr;

  c->state = CAND_BLANK;
  c->why.text[0] = '\0';
  if (buf == NULL) {
    uraid_error_set (&c->why, ENOMEM, "out of memory");
    return;
  }
  in.head = buf;
  in.tail = buf + SIGNATURE_HEAD_BYTES;
  in.head_bytes = m->size_bytes < SIGNATURE_HEAD_BYTES ? m->size_bytes
                                                       : SIGNATURE_HEAD_BYTES;
  in.tail_bytes = m->size_bytes < SIGNATURE_TAIL_BYTES ? m->size_bytes
                                                       : SIGNATURE_TAIL_BYTES;
  if (member_pread (m, buf, in.head_bytes, 0, &e) < 0 ||
      member_pread (m, buf + SIGNATURE_HEAD_BYTES, in.tail_bytes,
                    m->size_bytes - in.tail_bytes, &e) < 0)
    c->why = e;
  else {
    nr = signature_find (&in, sig, 4);
    for (size_t k = 0; k < nr && k < 4; k++) {
      size_t n = strlen (c->why.text);

      snprintf (c->why.text + n, sizeof c->why.text - n, "%s%s",
                n > 0 ? ", " : "", sig[k].name);
    }
  }
  free (buf);
}

/* Look at all three places.  Greatest ctime wins, the first of equals. */
static void
look_superblocks (struct array *a, size_t i)
{
  struct member *m = a->members[i];
  struct candidate *c = &a->cand[i];
  struct sb1 *sb = malloc (sizeof *sb);
  struct uraid_error e;
  uint8_t raw[SB1_BYTES];
  bool found = false;

  c->state = CAND_BLANK;
  for (unsigned minor = 0; minor <= 2 && sb != NULL; minor++) {
    uint64_t at = sb1_place_sectors (minor, c->dev_sectors);
    int r;

    if (at == UINT64_MAX)
      continue;
    if (member_pread (m, raw, sizeof raw, at * 512, &c->why) < 0) {
      c->state = CAND_UNREACHABLE;
      found = true;
      break;
    }
    e.text[0] = '\0';
    r = sb1_parse (raw, minor, c->dev_sectors, sb, &e);
    if (r == -EINVAL && !found) {
      c->state = CAND_BROKEN;
      c->why = e;
    }
    if (r != 0)
      continue;
    if (found && memcmp (sb->set_uuid, c->sb.set_uuid, 16) != 0) {
      c->state = CAND_BROKEN;
      uraid_error_set (&c->why, EINVAL,
                       "superblocks of two different arrays: version 1.%u at "
                       "sector %llu and version 1.%u at sector %llu",
                       c->sb.minor,
                       (unsigned long long)c->sb.super_offset_sectors, minor,
                       (unsigned long long)at);
      break;
    }
    if (!found || sb->ctime > c->sb.ctime)
      c->sb = *sb;
    found = true;
    c->state = CAND_MD;
  }
  free (sb);
  if (!found && c->state == CAND_BLANK)
    look_signature (a, i);
}

/* --- bitmap --- */

static uint64_t
bitmap_place_bytes (const struct sb1 *sb)
{
  return (uint64_t)((int64_t)sb->super_offset_sectors +
                    sb->bitmap_offset_sectors) *
         512;
}

/* How long is the bitmap area?  0 when its superblock is unusable: the load
 * proper says why.
 */
static uint64_t
area_sectors (const struct sb1 *sb, const struct bitmap_sb *b)
{
  uint64_t bytes = bitmap_area_bytes (sb->size_sectors, b->chunk_bytes);

  /* Behind an old superblock with the bitmap 1 KiB away, only 512-byte
   * rounding fits.
   */
  if (sb->bitmap_offset_sectors == 2)
    bytes = ((bitmap_bits (sb->size_sectors, b->chunk_bytes) + 7) / 8 +
             BITMAP_SB_BYTES + 511) /
            512 * 512;
  return bytes / 512;
}

static void
look_bitmap (struct array *a, size_t i)
{
  struct candidate *c = &a->cand[i];
  struct bitmap_sb b;
  uint8_t raw[BITMAP_SB_BYTES];

  if (c->state != CAND_MD || !(c->sb.feature_map & SB1_F_BITMAP) ||
      sb1_judge (&c->sb, c->dev_sectors, 0, false, NULL) < 0)
    return;
  if (member_pread (a->members[i], raw, sizeof raw,
                    bitmap_place_bytes (&c->sb), NULL) == 0 &&
      bitmap_sb_parse (raw, c->sb.set_uuid, &b, NULL) == 0)
    c->bitmap_sectors = area_sectors (&c->sb, &b);
}

int
load_candidates (struct array *a, struct uraid_error *e)
{
  (void)e;
  for (size_t i = 0; i < a->nr; i++) {
    struct candidate *c = &a->cand[i];
    struct member *m = a->members[i];

    if (m == NULL)
      continue;
    if (atomic_load (&m->state) != MEMBER_CONNECTED) {
      c->state = CAND_UNREACHABLE;
      c->why = m->error;
      continue;
    }
    c->dev_sectors = m->size_bytes / 512;
    c->min_block_bytes = m->min_block;
    c->read_only = m->read_only;
    look_superblocks (a, i);
    look_bitmap (a, i);
  }
  return 0;
}

/* --- after assembly --- */

static int
load_badblocks (struct array_member *am, struct uraid_error *e)
{
  size_t len = (size_t)am->sb.bblog_size_sectors * 512;
  uint8_t *raw = malloc (len);
  int r;

  if (raw == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  r = member_pread (am->m, raw, len,
                    (uint64_t)((int64_t)am->sb.super_offset_sectors +
                               am->sb.bblog_offset_sectors) *
                        512,
                    e);
  if (r == 0)
    r = badblocks_parse (raw, len, am->sb.bblog_shift, &am->bb, e);
  free (raw);
  if (r < 0)
    uraid_error_prefix (e, "member %s: bad-block log", am->cand->address);
  return r;
}

/* OR the bits of AM's copy into IMAGE (the first copy: taken whole). */
static int
merge_bitmap (struct array_member *am, uint8_t *image, uint64_t bytes,
              bool first, struct uraid_error *e)
{
  uint8_t *copy = malloc (bytes);
  int r;

  if (copy == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  r = member_pread (am->m, copy, bytes, bitmap_place_bytes (&am->sb), e);
  if (r == 0 && first)
    memcpy (image, copy, bytes);
  for (uint64_t k = BITMAP_SB_BYTES; k < bytes && r == 0; k++)
    image[k] |= copy[k];
  free (copy);
  return r;
}

static int
load_bitmap (struct array *a, struct uraid_error *e)
{
  const struct candidate *f = a->as.freshest;
  uint64_t bytes = f->bitmap_sectors * 512;
  uint8_t raw[BITMAP_SB_BYTES], *image;
  struct bitmap_sb b;
  bool all_set;
  int r;

  r = member_pread (a->members[f - a->cand], raw, sizeof raw,
                    bitmap_place_bytes (&f->sb), e);
  if (r == 0)
    r = bitmap_sb_parse (raw, f->sb.set_uuid, &b, e);
  if (r < 0) {
    uraid_error_prefix (e, "member %s: bitmap", f->address);
    return r;
  }
  if (bytes == 0 || bytes > BITMAP_MAX_BYTES)
    return uraid_error_set (e, EINVAL,
                            "member %s: bitmap of %llu bytes (allowed 512 to "
                            "1G)",
                            f->address, (unsigned long long)bytes);
  if (a->min_block > 512 && f->sb.bitmap_offset_sectors == 2)
    return uraid_error_set (e, EINVAL,
                            "the bitmap shares a block of %u bytes with the "
                            "superblock; members with blocks of 512 bytes are "
                            "needed",
                            a->min_block);
  image = calloc (1, bytes);
  if (image == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory for the bitmap");
  r = merge_bitmap (&a->am[f - a->cand], image, bytes, true, e);
  for (size_t i = 0; i < a->nr && r == 0; i++) {
    struct array_member *am = &a->am[i];

    if (am->state == AM_IN_SYNC && am->sb.events == a->as.events)
      r = merge_bitmap (am, image, bytes, false, e);
  }
  all_set = b.events < a->as.events || (b.state & BITMAP_STATE_STALE) != 0;
  if (all_set)
    b.events_cleared = a->as.events;
  if (r == 0 && wbitmap_new (&b, image, bytes, f->sb.size_sectors,
                             a->min_block > 512 ? a->min_block : 512, all_set,
                             &a->bitmap) < 0)
    r = uraid_error_set (e, ENOMEM, "out of memory for the bitmap");
  free (image);
  a->bitmap_sleep_ms = a->opt.bitmap_time_base_ms != 0
                           ? a->opt.bitmap_time_base_ms
                           : (uint64_t)b.daemon_sleep_s * 1000;
  return r;
}

int
load_extras (struct array *a, struct uraid_error *e)
{
  for (size_t i = 0; i < a->nr; i++) {
    struct array_member *am = &a->am[i];
    int r;

    if ((am->state != AM_IN_SYNC && am->state != AM_RECOVERING) ||
        !(am->sb.feature_map & SB1_F_BAD_BLOCKS))
      continue;
    r = load_badblocks (am, e);
    if (r < 0)
      return r;
  }
  if (a->as.freshest->sb.feature_map & SB1_F_BITMAP)
    return load_bitmap (a, e);
  return 0;
}
