/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid create, in memory: sizes, device numbers and roles, and the
 * superblock of each member, as mdadm 4.2 makes them.  No I/O.  One thread,
 * no locks.
 *
 * The first sync (measured with mdadm 4.2):
 *
 *   level 6, all given            resync: resync_offset 0
 *   level 6, one missing          one good member becomes a spare and is
 *                                 rebuilt
 *   level 6, two missing          nothing
 *   level 4, 5, all given         the last slot's member becomes a spare and
 *                                 is rebuilt: cheaper than a resync
 *   level 4, 5, one missing       nothing
 *   --assume-clean                nothing
 *
 * A member that becomes a spare leaves its slot empty in the table and gets
 * the number behind all others.
 */
#include <config.h>

#include "create.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* --- roles -------------------------------------------------------------- */

static void
plan_roles (struct create *c)
{
  const unsigned n = c->opt.raid_devices;
  unsigned i, missing = 0, last_missing = 0;

  for (i = 0; i < c->nr_listed; ++i) {
    c->list[i].dev_number = i;
    c->list[i].role = i < n ? (uint16_t)i : SB1_ROLE_SPARE;
    if (c->list[i].missing) {
      ++missing;
      last_missing = i;
    }
  }
  c->rebuilt = -1;
  if (!c->opt.assume_clean) {
    if (c->level != 6 && missing == 0)
      c->rebuilt = (int)n - 1;
    else if (c->level == 6 && missing == 1)
      c->rebuilt = (int)n - (last_missing == n - 1 ? 2 : 1);
  }
  if (c->rebuilt >= 0) {
    c->list[c->rebuilt].dev_number = c->nr_listed;
    c->list[c->rebuilt].role = SB1_ROLE_SPARE;
  }
  c->resync_offset =
      c->opt.assume_clean || missing > 0 || c->rebuilt >= 0 ? SB1_MAX : 0;
}

/* --- sizes -------------------------------------------------------------- */

/* The text names a member by its place in the list; say its address too. */
static int
sizing_failed (struct create *c, const struct uraid_error *e)
{
  unsigned i;
  const char *address = NULL;

  if (sscanf (e->text, "member %u", &i) == 1 && i < c->nr_listed)
    address = c->list[i].address;
  return tool_fail (c->t, TOOL_FAILED, e->err, "create", address, NULL,
                    "%s; nothing was written", e->text);
}

static int
plan_sizes (struct create *c)
{
  struct uraid_error e = {.err = 0};
  unsigned i;

  c->dev_sectors = calloc (c->nr_listed, sizeof *c->dev_sectors);
  if (c->dev_sectors == NULL)
    return tool_fail (c->t, TOOL_FAILED, ENOMEM, "create", NULL, NULL,
                      "out of memory");
  for (i = 0; i < c->nr_listed; ++i)
    if (!c->list[i].missing)
      c->dev_sectors[i] = c->list[i].look->dev_sectors;
  c->in.level = c->level;
  c->in.raid_disks = c->opt.raid_devices;
  c->in.spare_disks = c->opt.spare_devices;
  c->in.dev_sectors = c->dev_sectors;
  if (sizing_array (&c->in, &c->size, &e) < 0)
    return sizing_failed (c, &e);
  for (i = 0; i < c->nr_listed; ++i)
    if (!c->list[i].missing &&
        sizing_member (&c->in, &c->size, c->dev_sectors[i], &c->list[i].place,
                       &e) < 0) {
      uraid_error_prefix (&e, "member %u: ", i);
      return sizing_failed (c, &e);
    }
  /* The number behind all others must have an entry. */
  if (c->rebuilt >= 0 && c->size.max_dev <= c->nr_listed)
    c->size.max_dev = c->nr_listed / 256 * 256 + 384;
  if (c->size.max_dev > SB1_MAX_DEV)
    c->size.max_dev = SB1_MAX_DEV;
  return TOOL_OK;
}

/* --- superblocks -------------------------------------------------------- */

static void
fill_superblock (struct create *c, struct create_member *m)
{
  struct sb1 *sb = m->sb;
  unsigned i;

  memcpy (sb->set_uuid, c->uuid, sizeof sb->set_uuid);
  memcpy (sb->set_name, c->set_name, sizeof sb->set_name);
  sb->ctime = c->ctime;
  sb->utime = c->ctime;
  sb->level = c->level;
  sb->layout = c->layout;
  for (i = 0; i < SB1_MAX_DEV; ++i)
    sb->dev_roles[i] = SB1_ROLE_SPARE;
  sizing_fill_sb (&c->in, &c->size, &m->place, m->dev_number, sb);
  for (i = 0; i < c->nr_listed; ++i)
    if (!c->list[i].missing)
      sb->dev_roles[c->list[i].dev_number] = c->list[i].role;
  sb->resync_offset_sectors = c->resync_offset;
  sb1_encode (sb);
}

static int
plan_superblocks (struct create *c)
{
  struct uraid_error e = {.err = 0};
  unsigned i;

  for (i = 0; i < c->nr_listed; ++i) {
    struct create_member *m = &c->list[i];

    if (m->missing)
      continue;
    m->sb = calloc (1, sizeof *m->sb);
    if (m->sb == NULL)
      return tool_fail (c->t, TOOL_FAILED, ENOMEM, "create", NULL, NULL,
                        "out of memory");
    if (getrandom (m->sb->device_uuid, 16, 0) != 16)
      return tool_fail (c->t, TOOL_FAILED, errno, "create", NULL, NULL,
                        "no random numbers: %s", strerror (errno));
    fill_superblock (c, m);
    /* The rules that the plugin starts arrays by hold for what we make. */
    if (sb1_judge (m->sb, c->dev_sectors[i],
                   c->size.has_bitmap ? c->size.bitmap_area_bytes / 512 : 0,
                   true, &e) < 0)
      return tool_fail (c->t, TOOL_FAILED, e.err, "create", m->address, NULL,
                        "%s; nothing was written", e.text);
  }
  if (c->size.has_bitmap)
    bitmap_sb_init (&c->bitmap, c->uuid, c->size.size_sectors,
                    c->size.bitmap_chunk_bytes);
  return TOOL_OK;
}

int
create_plan (struct create *c)
{
  int code;

  plan_roles (c);
  code = plan_sizes (c);
  if (code == TOOL_OK)
    code = plan_superblocks (c);
  return code;
}
