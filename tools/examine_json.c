/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid examine --json.  Sizes and offsets are bytes (from the beginning of
 * the member unless said), times UTC seconds, "everything" and "none" are
 * null.  Reads only.  One thread, no locks.
 */
#include <config.h>

#include "examine.h"

#include <errno.h>
#include <string.h>

#include "../lib/md_layout/geometry.h"

static void
set_int (json_t *o, const char *key, uint64_t value)
{
  /* JSON readers know signed 64 bits; garbled fields may be larger. */
  if (value > INT64_MAX)
    json_object_set_new (o, key, json_null ());
  else
    json_object_set_new (o, key, json_integer ((json_int_t)value));
}

static void
set_bytes (json_t *o, const char *key, uint64_t sectors)
{
  set_int (o, key, sectors > INT64_MAX / 512 ? UINT64_MAX : sectors * 512);
}

static void
set_text (json_t *o, const char *key, const char *text)
{
  json_object_set_new (o, key, tool_json_text (text));
}

static void
set_uuid (json_t *o, const char *key, const uint8_t uuid[16])
{
  char text[36];

  sb1_uuid_text (uuid, text);
  text[35] = '\0';
  set_text (o, key, text);
}

static json_t *
features_json (uint32_t map)
{
  json_t *list = json_array ();
  char name[32];
  unsigned i;

  for (i = 0; i < 32; ++i)
    if (map & (UINT32_C (1) << i))
      json_array_append_new (
          list, tool_json_text (sb1_feature_name (UINT32_C (1) << i, name)));
  return list;
}

static json_t *
role_json (uint16_t role)
{
  switch (role) {
  case SB1_ROLE_SPARE:
    return json_string ("spare");
  case SB1_ROLE_FAULTY:
    return json_string ("faulty");
  case SB1_ROLE_JOURNAL:
    return json_string ("journal");
  default:
    return json_integer (role);
  }
}

static json_t *
roles_json (const struct sb1 *sb)
{
  json_t *list = json_array ();
  uint32_t i, last = 0;

  for (i = 0; i < sb->max_dev && i < SB1_MAX_DEV; ++i)
    if (sb->dev_roles[i] != SB1_ROLE_SPARE || i == sb->dev_number)
      last = i + 1;
  for (i = 0; i < last; ++i)
    json_array_append_new (list, role_json (sb->dev_roles[i]));
  return list;
}

static void
add_array_fields (json_t *o, const struct sb1 *sb)
{
  const char *layout = geometry_layout_name (sb->level, sb->layout);
  const unsigned parity = sb->level == 6 ? 2 : 1;
  char name[33], home[33];

  set_uuid (o, "array_uuid", sb->set_uuid);
  set_text (o, "name", look_name (sb, name));
  examine_homehost (sb, home);
  if (home[0] != '\0')
    set_text (o, "homehost", home);
  else
    json_object_set_new (o, "homehost", json_null ());
  set_int (o, "created", sb1_time_seconds (sb->ctime));
  set_text (o, "level", look_level_name (sb->level));
  set_text (o, "layout", layout != NULL ? layout : "-unknown-");
  set_int (o, "layout_number", sb->layout);
  set_int (o, "raid_devices", sb->raid_disks);
  set_bytes (o, "chunk", sb->chunk_sectors);
  if (sb->level >= 4 && sb->level <= 6 && sb->raid_disks > parity)
    set_bytes (o, "array_size", sb->size_sectors * (sb->raid_disks - parity));
  set_bytes (o, "member_size", sb->size_sectors);
}

static void
add_member_fields (json_t *o, struct look *l, const struct sb1 *sb)
{
  uint64_t before, after;

  examine_unused (l, sb, &before, &after);
  set_bytes (o, "data_size", sb->data_size_sectors);
  set_bytes (o, "data_offset", sb->data_offset_sectors);
  set_bytes (o, "super_offset", sb->super_offset_sectors);
  set_bytes (o, "unused_before", before);
  set_bytes (o, "unused_after", after);
  if (sb->feature_map & SB1_F_RECOVERY_OFFSET)
    set_bytes (o, "recovery_offset", sb->recovery_offset_sectors);
  set_text (o, "state",
            sb->resync_offset_sectors == SB1_MAX ? "clean" : "active");
  set_bytes (o, "resync_offset", sb->resync_offset_sectors);
  set_uuid (o, "device_uuid", sb->device_uuid);
  set_int (o, "device_number", sb->dev_number);
  json_object_set_new (o, "role", role_json (sb1_role (sb)));
  json_object_set_new (o, "roles", roles_json (sb));
  set_int (o, "updated", sb1_time_seconds (sb->utime));
  set_int (o, "events", sb->events);
  set_int (o, "corrected_read_sectors", sb->cnt_corrected_read);
  set_int (o, "device_flags", sb->devflags);
  set_int (o, "logical_block_size", sb->logical_block_size);
}

static json_t *
superblock_json (struct look *l, const struct sb1 *sb)
{
  static const char *const minors[] = {"1.0", "1.1", "1.2"};
  json_t *o = json_object ();

  set_text (o, "metadata", minors[sb->minor]);
  json_object_set_new (o, "valid", json_boolean (look_sb_valid (l)));
  if (!look_sb_valid (l))
    set_text (o, "problem", l->place[l->best].e.text);
  set_int (o, "feature_map", sb->feature_map);
  json_object_set_new (o, "features", features_json (sb->feature_map));
  add_array_fields (o, sb);
  add_member_fields (o, l, sb);
  set_int (o, "checksum", sb->sb_csum);
  if (sb->max_dev <= SB1_MAX_DEV)
    set_int (o, "checksum_expected", sb1_checksum (sb->raw, sb->max_dev));
  return o;
}

static json_t *
bitmap_json (struct look *l)
{
  struct examine_bitmap b;
  json_t *o;

  examine_read_bitmap (l, &b);
  if (!b.present)
    return json_null ();
  o = json_object ();
  json_object_set_new (o, "valid", json_boolean (b.result == 0));
  if (b.result < 0) {
    set_text (o, "problem", b.e.text);
    return o;
  }
  set_int (o, "version", b.sb.version);
  set_uuid (o, "array_uuid", b.sb.uuid);
  set_int (o, "events", b.sb.events);
  set_int (o, "events_cleared", b.sb.events_cleared);
  set_text (o, "state",
            b.sb.state & BITMAP_STATE_STALE ? "out-of-date" : "ok");
  set_int (o, "chunk", b.sb.chunk_bytes);
  set_bytes (o, "sync_size", b.sb.sync_size_sectors);
  set_int (o, "flush_seconds", b.sb.daemon_sleep_s);
  set_int (o, "bits", b.bits);
  set_int (o, "dirty", b.dirty);
  return o;
}

static json_t *
badblocks_json (struct look *l)
{
  struct badblocks list;
  struct uraid_error e = {.err = 0};
  json_t *a, *o;
  size_t i;

  if (examine_read_badblocks (l, &list, &e) < 0) {
    o = json_object ();
    set_text (o, "problem", e.text);
    return o;
  }
  a = json_array ();
  for (i = 0; i < list.nr; ++i) {
    o = json_object ();
    set_bytes (o, "start", list.ranges[i].start_sectors);
    set_bytes (o, "length", list.ranges[i].len_sectors);
    json_array_append_new (a, o);
  }
  badblocks_done (&list);
  return a;
}

static void
append_note (void *user, const char *text)
{
  json_array_append_new (user, tool_json_text (text));
}

static json_t *
found_json (const struct look *l)
{
  json_t *a = json_array (), *o;
  size_t i;

  for (i = 0; i < l->nr_signatures; ++i) {
    o = json_object ();
    set_text (o, "what", l->signatures[i].name);
    set_int (o, "offset", l->signatures[i].offset_bytes);
    json_array_append_new (a, o);
  }
  return a;
}

json_t *
examine_json (struct look *l)
{
  const struct sb1 *sb = look_sb (l);
  json_t *o = json_object (), *notes;

  set_text (o, "address", l->address);
  json_object_set_new (o, "readable", json_boolean (l->readable));
  if (!l->readable) {
    set_text (o, "problem", look_why (l));
    return o;
  }
  set_int (o, "size", l->dev_bytes);
  json_object_set_new (o, "superblock",
                       sb != NULL ? superblock_json (l, sb) : json_null ());
  json_object_set_new (o, "bitmap",
                       sb != NULL ? bitmap_json (l) : json_null ());
  json_object_set_new (o, "badblocks",
                       sb != NULL ? badblocks_json (l) : json_null ());
  json_object_set_new (o, "found", found_json (l));
  notes = json_array ();
  examine_notes (l, append_note, notes);
  json_object_set_new (o, "notes", notes);
  return o;
}

int
examine_print_json (struct tool *t, struct look *l, size_t nr)
{
  static const char *const top[] = {"superblock", "bitmap", "badblocks"};
  json_t *all = json_object (), *list = json_array (), *one;
  size_t i;

  for (i = 0; i < nr; ++i)
    json_array_append_new (list, examine_json (&l[i]));
  one = json_array_get (list, 0);
  /* One member: its parts are at the top as well. */
  for (i = 0; nr == 1 && i < 3; ++i)
    if (json_object_get (one, top[i]) != NULL)
      json_object_set (all, top[i], json_object_get (one, top[i]));
  json_object_set_new (all, "members", list);
  return tool_print_json (t, all);
}
