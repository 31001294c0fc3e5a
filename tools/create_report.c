/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid create tells what it made, and what comes first when the array is
 * served.  One thread, no locks.
 */
#include <config.h>

#include "create.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../lib/md_layout/geometry.h"

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

static const char *
first_sync (const struct create *c)
{
  if (c->rebuilt >= 0)
    return "recover";
  return c->resync_offset == SB1_MAX ? "none" : "resync";
}

static unsigned
count_missing (const struct create *c)
{
  unsigned i, n = 0;

  for (i = 0; i < c->nr_listed; ++i)
    n += c->list[i].missing;
  return n;
}

/* Smallest difference between what a member has and what is used of it: how
 * much smaller a replacement may be.
 */
static uint64_t
reserve_sectors (const struct create *c)
{
  uint64_t least = UINT64_MAX, spare;
  unsigned i;

  for (i = 0; i < c->nr_listed; ++i) {
    if (c->list[i].missing)
      continue;
    spare = c->list[i].place.data_size_sectors - c->size.size_sectors;
    if (spare < least)
      least = spare;
  }
  return least;
}

static void
print_sync (const struct create *c)
{
  if (c->rebuilt >= 0)
    line ("First Sync", "slot %d is rebuilt when the array is served",
          c->rebuilt);
  else if (c->resync_offset != SB1_MAX)
    line ("First Sync", "parity is computed when the array is served");
  else if (c->opt.assume_clean)
    line ("First Sync", "none (--assume-clean: parity is taken as right)");
  else
    line ("First Sync", "none (%u missing: nothing to compare with)",
          count_missing (c));
}

static void
print_bitmap (const struct create *c)
{
  char chunk[32];

  if (c->size.has_bitmap)
    line ("Intent Bitmap", "internal, %s a bit, %" PRIu64 " bits",
          tool_size_text (c->size.bitmap_chunk_bytes, chunk),
          c->size.bitmap_bits);
  else
    line ("Intent Bitmap", "none%s",
          c->in.bitmap == SIZING_BITMAP_AUTO
              ? " (members of 100 GiB or less; --bitmap=internal)"
              : "");
}

static void
print_array (const struct create *c)
{
  const char *layout = geometry_layout_name (c->level, c->layout);
  char uuid[36], human[64], chunk[32];

  sb1_uuid_text (c->uuid, uuid);
  line ("Array UUID", "%.35s", uuid);
  line ("Name", "%s", c->set_name);
  line ("Version", "1.%u", c->in.minor);
  line ("Raid Level", "raid%d", c->level);
  line ("Raid Devices", "%u", c->opt.raid_devices);
  if (c->opt.spare_devices > 0)
    line ("Spare Devices", "%u", c->opt.spare_devices);
  line ("Array Size", "%" PRIu64 " KiB%s", c->size.array_sectors / 2,
        tool_human (c->size.array_sectors * 512, human));
  line ("Used Dev Size", "%" PRIu64 " sectors%s", c->size.size_sectors,
        tool_human (c->size.size_sectors * 512, human));
  line ("Data Offset", "%" PRIu64 " sectors", c->size.data_offset_sectors);
  if (c->level != 4)
    line ("Layout", "%s", layout != NULL ? layout : "-");
  line ("Chunk Size", "%s",
        tool_size_text ((uint64_t)c->size.chunk_sectors * 512, chunk));
  print_bitmap (c);
  print_sync (c);
  line ("Reserve", "%" PRIu64 " bytes a replacement may be smaller",
        reserve_sectors (c) * 512);
}

static void
print_members (const struct create *c)
{
  unsigned i;

  printf ("\n Number  Slot    Member\n");
  for (i = 0; i < c->nr_listed; ++i) {
    const struct create_member *m = &c->list[i];

    if (m->missing)
      printf ("      -  %-6u  missing\n", i);
    else if (m->role == SB1_ROLE_SPARE && (int)i == c->rebuilt)
      printf (" %6u  ->%-4u  %s\n", m->dev_number, i, m->address);
    else if (m->role == SB1_ROLE_SPARE)
      printf (" %6u  spare   %s\n", m->dev_number, m->address);
    else
      printf (" %6u  %-6u  %s\n", m->dev_number, m->role, m->address);
  }
}

/* What is lost because members differ, from one chunk on. */
static void
note_waste (const struct create *c)
{
  unsigned i;

  for (i = 0; i < c->nr_listed; ++i) {
    const struct create_member *m = &c->list[i];
    const uint64_t over =
        m->missing ? 0 : m->place.data_size_sectors - c->size.size_sectors;
    if (!m->missing && over >= c->size.chunk_sectors &&
        over * 100 > c->size.size_sectors)
      tool_note (c->t, m->address,
                 "%" PRIu64 " bytes are not used: the smallest member (or "
                 "--size) counts",
                 over * 512);
  }
  if (c->size.chunk_sectors < 128)
    tool_note (c->t, "create",
               "kernels with 64 KiB pages cannot start an array with chunks "
               "below 64K");
}

/* --- JSON --------------------------------------------------------------- */

static json_t *
array_json (const struct create *c)
{
  static const char *const minors[] = {"1.0", "1.1", "1.2"};
  const char *layout = geometry_layout_name (c->level, c->layout);
  char uuid[36], level[8];
  json_t *o;

  sb1_uuid_text (c->uuid, uuid);
  uuid[35] = '\0';
  snprintf (level, sizeof level, "raid%d", c->level);
  o = json_pack ("{s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
                 "name", tool_json_text (c->set_name), "uuid", uuid, "level",
                 level, "layout", layout != NULL ? layout : "-", "metadata",
                 minors[c->in.minor], "raid_devices",
                 (json_int_t)c->opt.raid_devices, "spare_devices",
                 (json_int_t)c->opt.spare_devices, "chunk",
                 (json_int_t)c->size.chunk_sectors * 512, "array_size",
                 (json_int_t)(c->size.array_sectors * 512), "member_size",
                 (json_int_t)(c->size.size_sectors * 512), "data_offset",
                 (json_int_t)(c->size.data_offset_sectors * 512));
  if (c->size.has_bitmap)
    json_object_set_new (o, "bitmap",
                         json_pack ("{s:I, s:I}", "chunk",
                                    (json_int_t)c->size.bitmap_chunk_bytes,
                                    "bits", (json_int_t)c->size.bitmap_bits));
  else
    json_object_set_new (o, "bitmap", json_null ());
  json_object_set_new (o, "reserve",
                       json_integer ((json_int_t)reserve_sectors (c) * 512));
  return o;
}

static json_t *
members_json (const struct create *c)
{
  json_t *list = json_array (), *o;
  unsigned i;

  for (i = 0; i < c->nr_listed; ++i) {
    const struct create_member *m = &c->list[i];

    o = json_object ();
    json_object_set_new (o, "address", tool_json_text (m->address));
    if (i < c->opt.raid_devices)
      json_object_set_new (o, "slot", json_integer (i));
    else
      json_object_set_new (o, "slot", json_null ());
    json_object_set_new (o, "missing", json_boolean (m->missing));
    if (!m->missing) {
      json_object_set_new (o, "device_number", json_integer (m->dev_number));
      json_object_set_new (o, "spare",
                           json_boolean (m->role == SB1_ROLE_SPARE));
      json_object_set_new (
          o, "unused",
          json_integer (
              (json_int_t)(m->place.data_size_sectors - c->size.size_sectors) *
              512));
    }
    json_array_append_new (list, o);
  }
  return list;
}

int
create_report (struct create *c)
{
  json_t *plan;

  if (!c->t->json) {
    printf ("uraid: array %s is created\n", c->t->args[0]);
    print_array (c);
    print_members (c);
    note_waste (c);
    return TOOL_OK;
  }
  plan = json_pack ("{s:s}", "first_sync", first_sync (c));
  if (c->rebuilt >= 0)
    json_object_set_new (plan, "slot", json_integer (c->rebuilt));
  return tool_print_json (c->t, json_pack ("{s:o, s:o, s:o}", "array",
                                           array_json (c), "members",
                                           members_json (c), "plan", plan));
}
