/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid create writes: for each member what it held before as RAID metadata
 * is erased, then superblock, then bitmap, each durable.  The first failure
 * ends it, and the members that were written by then are named.  One thread,
 * no locks.
 */
#include <config.h>

#include "create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/member/sync_io.h"
#include "erase.h"

/* Super, and all ones behind it: everything may differ, and the last bits are
 * filler.
 */
static uint8_t *
bitmap_area (struct create *c)
{
  const size_t len = (size_t)c->size.bitmap_area_bytes;
  uint8_t *area = malloc (len);

  if (area == NULL)
    return NULL;
  memset (area, 0xff, len);
  bitmap_sb_encode (&c->bitmap);
  memcpy (area, c->bitmap.raw, BITMAP_SB_BYTES);
  return area;
}

static int
write_member (struct create *c, struct create_member *m, const uint8_t *area,
              struct uraid_error *e)
{
  struct member *to = m->look->m;
  struct erase_range ranges[ERASE_MAX];
  const size_t nr = erase_plan (m->look, true, ranges);
  const uint64_t at = m->sb->super_offset_sectors;
  size_t len = sb1_write_bytes (m->sb, to->min_block);
  int r;

  /* A device that ends behind the superblock's first 512 bytes. */
  if (len > m->look->dev_bytes - at * 512)
    len = sb1_write_bytes (m->sb, 512);
  m->started = true;
  r = erase_write (m->look, ranges, nr, e);
  if (r == 0)
    r = member_pwrite_durable (to, m->sb->raw, len, at * 512, e);
  if (r == 0 && area != NULL)
    r = member_pwrite_durable (
        to, area, (size_t)c->size.bitmap_area_bytes,
        (at + (uint64_t)(int64_t)c->size.bitmap_offset_sectors) * 512, e);
  if (r == 0 && to->can_flush)
    r = member_flush (to, e);
  m->done = r == 0;
  return r;
}

static int
write_failed (struct create *c, const struct create_member *m,
              const struct uraid_error *e)
{
  unsigned i;

  tool_fail (c->t, TOOL_FAILED, e->err, "create", m->address, NULL,
             "writing failed: %s", e->text);
  for (i = 0; i < c->nr_listed; ++i)
    if (c->list[i].done)
      tool_fail (c->t, TOOL_FAILED, e->err, "create", c->list[i].address, NULL,
                 "was already written");
    else if (c->list[i].started)
      tool_fail (c->t, TOOL_FAILED, e->err, "create", c->list[i].address, NULL,
                 "may be partly written");
    else if (!c->list[i].missing)
      tool_fail (c->t, TOOL_FAILED, e->err, "create", c->list[i].address, NULL,
                 "was not touched");
  return tool_fail (c->t, TOOL_FAILED, e->err, "create", NULL, NULL,
                    "the array is not complete; create it again with --force "
                    "when the member works");
}

int
create_write (struct create *c)
{
  struct uraid_error e = {.err = 0};
  uint8_t *area = NULL;
  int code = TOOL_OK;
  unsigned i;

  if (c->size.has_bitmap) {
    area = bitmap_area (c);
    if (area == NULL)
      return tool_fail (c->t, TOOL_FAILED, ENOMEM, "create", NULL, NULL,
                        "out of memory");
  }
  for (i = 0; code == TOOL_OK && i < c->nr_listed; ++i)
    if (!c->list[i].missing && write_member (c, &c->list[i], area, &e) < 0)
      code = write_failed (c, &c->list[i], &e);
  free (area);
  return code;
}
