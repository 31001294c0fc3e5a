/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid create looks at every member before it writes to any: can it be
 * written, is it the same as another one, what lies on it.  All findings are
 * told, not only the first.  Reads only.  One thread, no locks.
 */
#include <config.h>

#include "create.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"

/* --- open --------------------------------------------------------------- */

static int
open_members (struct create *c)
{
  char **addresses = calloc (c->nr_listed, sizeof *addresses);
  size_t n = 0;
  unsigned i;

  if (addresses == NULL)
    return tool_fail (c->t, TOOL_FAILED, ENOMEM, "create", NULL, NULL,
                      "out of memory");
  for (i = 0; i < c->nr_listed; ++i)
    if (!c->list[i].missing)
      addresses[n++] = (char *)c->list[i].address;
  if (n == 0) {
    free (addresses);
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "create", NULL, NULL,
                      "all members are missing");
  }
  c->looks = look_open (c->t, addresses, n, false);
  c->nr_looks = n;
  free (addresses);
  if (c->looks == NULL)
    return TOOL_FAILED;
  for (i = 0, n = 0; i < c->nr_listed; ++i)
    if (!c->list[i].missing)
      c->list[i].look = &c->looks[n++];
  return TOOL_OK;
}

/* --- one member --------------------------------------------------------- */

/* What no option overrides. */
static int
check_usable (struct create *c, const struct look *l)
{
  if (!l->readable)
    return tool_fail (c->t, TOOL_FAILED, l->e.err != 0 ? l->e.err : EIO,
                      "create", l->address, NULL, "%s", look_why (l));
  if (l->m->read_only)
    return tool_fail (c->t, TOOL_FAILED, EROFS, "create", l->address, NULL,
                      "read-only; a member must be writable");
  if (l->dev_sectors < SB1_MIN_DEV_SECTORS)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "create", l->address, NULL,
                      "too small: found %" PRIu64
                      " bytes, needed %d for the superblock alone",
                      l->dev_bytes, SB1_MIN_DEV_SECTORS * 512);
  return TOOL_OK;
}

static int
tell_superblock (struct create *c, const struct look *l, unsigned minor)
{
  const struct look_place *p = &l->place[minor];
  char uuid[36], name[33];

  sb1_uuid_text (p->sb->set_uuid, uuid);
  return tool_fail (c->t, TOOL_REFUSED, TOOL_E_REFUSED, "create", l->address,
                    NULL,
                    "holds an md 1.%u superblock%s of array %.35s, "
                    "name \"%s\", level %s, %" PRIu32 " devices",
                    minor,
                    p->misplaced ? " (copied from another place)"
                                 : (p->result < 0 ? " (broken)" : ""),
                    uuid, look_name (p->sb, name),
                    look_level_name (p->sb->level), p->sb->raid_disks);
}

/* What --force overrides. */
static int
check_findings (struct create *c, const struct look *l)
{
  int code = TOOL_OK;
  unsigned i;
  size_t k;

  for (i = 0; i < 3; ++i)
    if (l->place[i].sb != NULL)
      code = tell_superblock (c, l, i);
  for (k = 0; k < l->nr_signatures; ++k)
    if (!look_is_md1 (l, &l->signatures[k]))
      code = tool_fail (c->t, TOOL_REFUSED, TOOL_E_REFUSED, "create",
                        l->address, NULL, "holds: %s at byte %" PRIu64,
                        l->signatures[k].name, l->signatures[k].offset_bytes);
  if (!l->m->can_flush && !l->m->can_fua)
    code = tool_fail (c->t, TOOL_REFUSED, TOOL_E_REFUSED, "create", l->address,
                      NULL,
                      "offers neither flush nor FUA: what is written there "
                      "may not survive a power failure");
  return code;
}

/* --- pairs -------------------------------------------------------------- */

static int
check_pairs (struct create *c)
{
  int code = TOOL_OK;
  size_t i, k;
  char why[128];

  for (i = 0; i < c->nr_looks; ++i)
    for (k = i + 1; k < c->nr_looks; ++k)
      if (identity_same (&c->looks[i], &c->looks[k], why, sizeof why))
        code = tool_fail (
            c->t, TOOL_FAILED, EINVAL, "create", c->looks[k].address, NULL,
            "the same as member %s (%s)", c->looks[i].address, why);
  return code;
}

/* mdadm warns when members differ by more than one percent; so do we, but
 * nobody is asked.
 */
static void
note_other (struct create *c, const struct look *l)
{
  if (l->dev_bytes % 512 != 0)
    tool_note (c->t, l->address,
               "the last %" PRIu64 " bytes are no whole sector: not used",
               l->dev_bytes % 512);
  if (l->m->min_block > 4096)
    tool_note (c->t, l->address, "smallest block is %" PRIu32 " bytes",
               l->m->min_block);
}

int
create_check_members (struct create *c)
{
  int code, hard = TOOL_OK, soft = TOOL_OK;
  size_t i;

  code = open_members (c);
  if (code != TOOL_OK)
    return code;
  for (i = 0; i < c->nr_looks; ++i)
    hard = tool_worse (hard, check_usable (c, &c->looks[i]));
  hard = tool_worse (hard, check_pairs (c));
  for (i = 0; i < c->nr_looks && !c->opt.force; ++i)
    if (c->looks[i].readable)
      soft = tool_worse (soft, check_findings (c, &c->looks[i]));
  if (hard != TOOL_OK)
    return tool_fail (c->t, hard, EINVAL, "create", NULL, NULL,
                      "nothing was written");
  if (soft != TOOL_OK)
    return tool_fail (c->t, soft, TOOL_E_REFUSED, "create", NULL, NULL,
                      "nothing was written. To start an array that exists, "
                      "serve its members (uraid examine shows them); create "
                      "destroys it. --force overwrites all of the above");
  for (i = 0; i < c->nr_looks; ++i)
    note_other (c, &c->looks[i]);
  return TOOL_OK;
}
