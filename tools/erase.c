/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Erasing RAID superblocks (see the header).  Only places where one was found
 * are touched: with --assume-clean the rest may be data that is wanted.  One
 * thread, no locks.
 */
#include <config.h>

#include "erase.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/member/sync_io.h"

static void
add_range (const struct look *l, struct erase_range *r, size_t *nr,
           uint64_t offset, uint64_t len, const char *what)
{
  if (*nr >= ERASE_MAX || offset >= l->dev_bytes)
    return;
  r += (*nr)++;
  r->offset = offset;
  r->len = len < l->dev_bytes - offset ? len : l->dev_bytes - offset;
  snprintf (r->what, sizeof r->what, "%s", what);
}

size_t
erase_plan (const struct look *l, bool foreign,
            struct erase_range ret[ERASE_MAX])
{
  static const char *const places[] = {
      "md 1.0 superblock", "md 1.1 superblock", "md 1.2 superblock"};
  size_t nr = 0, i;
  const char *name;

  for (i = 0; i < 3; ++i)
    if (l->place[i].sb != NULL)
      add_range (l, ret, &nr,
                 sb1_place_sectors ((unsigned)i, l->dev_sectors) * 512,
                 SB1_BYTES, places[i]);
  for (i = 0; i < l->nr_signatures; ++i) {
    name = l->signatures[i].name;
    if (strncmp (name, "md 0.90", 7) == 0)
      add_range (l, ret, &nr, l->signatures[i].offset_bytes, SB1_BYTES, name);
    else if (foreign &&
             (strncmp (name, "DDF", 3) == 0 || strncmp (name, "IMSM", 4) == 0))
      add_range (l, ret, &nr, l->signatures[i].offset_bytes, 512, name);
  }
  return nr;
}

int
erase_write (struct look *l, const struct erase_range *ranges, size_t nr,
             struct uraid_error *e)
{
  size_t i;
  int r;

  for (i = 0; i < nr; ++i) {
    r = member_pzero (l->m, ranges[i].len, ranges[i].offset, e);
    if (r < 0)
      return r;
  }
  return nr > 0 && l->m->can_flush ? member_flush (l->m, e) : 0;
}
