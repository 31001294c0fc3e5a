/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Checks what a server says (see the header).  Fields that we do not know are
 * skipped, so that a newer server can say more.  One thread, no locks.
 */
#include <config.h>

#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online.h"

#define F(type, kind, field) #field, kind, false, offsetof(type, field)
#define OPT(type, kind, field) #field, kind, true, offsetof(type, field)
#define AS(type, kind, key, field) key, kind, false, offsetof (type, field)

static const struct view_field array_fields[] = {
    {F (struct view, VIEW_TEXT, name)},
    {F (struct view, VIEW_TEXT, uuid)},
    {AS (struct view, VIEW_TEXT, "level", level_name)},
    {AS (struct view, VIEW_TEXT, "metadata_version", version)},
    {F (struct view, VIEW_TEXT, state)},
    {AS (struct view, VIEW_TEXT, "consistency_policy", policy)},
    {F (struct view, VIEW_TEXT_OR_NULL, layout)},
    {F (struct view, VIEW_NUMBER, layout_number)},
    {F (struct view, VIEW_NUMBER, raid_devices)},
    {F (struct view, VIEW_NUMBER, chunk_bytes)},
    {AS (struct view, VIEW_NUMBER, "array_size_bytes", array_bytes)},
    {AS (struct view, VIEW_NUMBER, "member_size_bytes", member_bytes)},
    {F (struct view, VIEW_NUMBER, events)},
    {F (struct view, VIEW_NUMBER, created_utc)},
    {F (struct view, VIEW_NUMBER, updated_utc)},
    {F (struct view, VIEW_NUMBER, degraded)},
    {F (struct view, VIEW_BOOL, writable)},
    {F (struct view, VIEW_NUMBER_OR_NULL, resync_offset_bytes)},
    {NULL}};

static const struct view_field sync_fields[] = {
    {F (struct view, VIEW_TEXT, action)},
    {F (struct view, VIEW_NUMBER, position_bytes)},
    {F (struct view, VIEW_NUMBER, total_bytes)},
    {F (struct view, VIEW_NUMBER, speed_bytes_per_s)},
    {NULL}};

static const struct view_field bitmap_fields[] = {
    {AS (struct view, VIEW_NUMBER, "chunk_bytes", bitmap_chunk_bytes)},
    {AS (struct view, VIEW_NUMBER, "dirty_chunks", bitmap_dirty_chunks)},
    {AS (struct view, VIEW_NUMBER, "total_chunks", bitmap_total_chunks)},
    {NULL}};

static const struct view_field member_fields[] = {
    {F (struct view_member, VIEW_NUMBER_OR_NULL, number)},
    {F (struct view_member, VIEW_NUMBER_OR_NULL, slot)},
    {AS (struct view_member, VIEW_TEXT, "state", word)},
    {F (struct view_member, VIEW_TEXT_OR_NULL, address)},
    {OPT (struct view_member, VIEW_TEXT_OR_NULL, reason)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, since_utc)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, last_slot)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, errors)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, corrected_sectors)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, reads)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, read_bytes)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, writes)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, write_bytes)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, in_flight)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, latency_us)},
    {OPT (struct view_member, VIEW_NUMBER_OR_NULL, connections)},
    {NULL}};

/* --- fields ------------------------------------------------------------- */

char *
view_text (json_t *j)
{
  const char *text = json_string_value (j);
  size_t len;
  char *copy;

  if (text == NULL)
    return NULL;
  len = strlen (text) * 4 + 32; /* each byte as \xNN */
  copy = malloc (len);
  if (copy != NULL)
    online_escape (text, copy, len);
  return copy;
}

static int
bad_field (char why[VIEW_WHY_BYTES], const char *where, const char *key,
           const char *reason)
{
  snprintf (why, VIEW_WHY_BYTES, "\"%s\" of \"%s\" %s", key, where, reason);
  return -1;
}

/* NULL or what is wrong. */
static const char *
read_field (json_t *j, enum view_kind kind, void *dest)
{
  const bool none = j == NULL || json_is_null (j);

  switch (kind) {
  case VIEW_BOOL:
    *(bool *)dest = json_is_true (j);
    return json_is_boolean (j) ? NULL : "is neither true nor false";
  case VIEW_TEXT:
  case VIEW_TEXT_OR_NULL:
    *(char **)dest = view_text (j);
    if (*(char **)dest != NULL || (none && kind == VIEW_TEXT_OR_NULL))
      return NULL;
    return "is no text";
  case VIEW_NUMBER:
  case VIEW_NUMBER_OR_NULL:
    break;
  }
  *(uint64_t *)dest = VIEW_NONE;
  if (none && kind == VIEW_NUMBER_OR_NULL)
    return NULL;
  if (!json_is_integer (j) || json_integer_value (j) < 0)
    return "is no whole number from 0 up";
  *(uint64_t *)dest = (uint64_t)json_integer_value (j);
  return NULL;
}

int
view_read (json_t *o, const char *where, const struct view_field *f,
           void *dest, char why[VIEW_WHY_BYTES])
{
  const char *wrong;
  json_t *j;

  if (!json_is_object (o)) {
    snprintf (why, VIEW_WHY_BYTES, "\"%s\" is %s", where,
              o == NULL ? "missing" : "no object");
    return -1;
  }
  for (; f->key != NULL; ++f) {
    j = json_object_get (o, f->key);
    if (j == NULL && !f->optional)
      return bad_field (why, where, f->key, "is missing");
    wrong = read_field (j, f->kind, (char *)dest + f->offset);
    if (wrong != NULL)
      return bad_field (why, where, f->key, wrong);
  }
  return 0;
}

/* --- parts -------------------------------------------------------------- */

static int
check_array (struct view *v, char why[VIEW_WHY_BYTES])
{
  static const struct {
    const char *name;
    unsigned level, redundancy;
  } levels[] = {{"raid4", 4, 1}, {"raid5", 5, 1}, {"raid6", 6, 2}};
  size_t i;

  for (i = 0; i < 3; ++i)
    if (strcmp (levels[i].name, v->level_name) == 0) {
      v->level = levels[i].level;
      v->redundancy = levels[i].redundancy;
    }
  if (v->level == 0)
    return bad_field (why, "array", "level", "is not raid4, raid5, raid6");
  if (v->raid_devices <= v->redundancy || v->raid_devices > VIEW_MOST_SLOTS)
    return bad_field (why, "array", "raid_devices", "cannot be right");
  v->letters = malloc (v->raid_devices + 1);
  if (v->letters == NULL)
    return bad_field (why, "array", "raid_devices", "takes too much memory");
  memset (v->letters, '_', v->raid_devices);
  v->letters[v->raid_devices] = '\0';
  return 0;
}

static enum view_state
state_of_word (const char *word)
{
  static const char *const words[] = {"in_sync", "recovering", "spare",
                                      "faulty",  "stale",      "missing"};
  unsigned i;

  for (i = 0; i < sizeof words / sizeof words[0]; ++i)
    if (strcmp (words[i], word) == 0)
      return (enum view_state)i;
  return VIEW_OTHER;
}

bool
view_is_lost (const struct view_member *m)
{
  switch (m->state) {
  case VIEW_FAULTY:
  case VIEW_STALE:
    return true;
  case VIEW_MISSING:
  case VIEW_OTHER:
    return m->address != NULL;
  case VIEW_IN_SYNC:
  case VIEW_RECOVERING:
  case VIEW_SPARE:
    break;
  }
  return false;
}

const char *
view_reason (const struct view_member *m, char buf[VIEW_REASON_BYTES])
{
  buf[0] = '\0';
  if (m->reason != NULL && m->last_slot != VIEW_NONE)
    snprintf (buf, VIEW_REASON_BYTES, "slot %" PRIu64 ": %s", m->last_slot,
              m->reason);
  else if (m->reason != NULL)
    snprintf (buf, VIEW_REASON_BYTES, "%s", m->reason);
  return buf;
}

static int
count_member (struct view *v, const struct view_member *m,
              char why[VIEW_WHY_BYTES])
{
  if (m->slot != VIEW_NONE && m->slot >= v->raid_devices)
    return bad_field (why, "members", "slot", "is beyond raid_devices");
  if (m->last_slot != VIEW_NONE && m->last_slot >= v->raid_devices)
    return bad_field (why, "members", "last_slot", "is beyond raid_devices");
  if (view_is_lost (m))
    ++v->failed;
  if (m->state == VIEW_SPARE || m->state == VIEW_RECOVERING)
    ++v->spares;
  if (m->state != VIEW_IN_SYNC)
    return 0;
  if (m->slot == VIEW_NONE || v->letters[m->slot] == 'U')
    return bad_field (why, "members", "slot",
                      "is null or there twice for a member in sync");
  v->letters[m->slot] = 'U';
  ++v->in_sync;
  return 0;
}

static int
read_members (json_t *list, struct view *v, char why[VIEW_WHY_BYTES])
{
  const size_t nr = json_array_size (list);
  struct view_member *m;
  size_t i;

  if (!json_is_array (list)) {
    snprintf (why, VIEW_WHY_BYTES, "\"members\" is no list");
    return -1;
  }
  v->members = calloc (nr + 1, sizeof *v->members);
  if (v->members == NULL) {
    snprintf (why, VIEW_WHY_BYTES, "there are too many members");
    return -1;
  }
  for (i = 0; i < nr; ++i) {
    m = &v->members[v->nr_members++];
    if (view_read (json_array_get (list, i), "members", member_fields, m,
                   why) < 0)
      return -1;
    m->state = state_of_word (m->word);
    if (count_member (v, m, why) < 0)
      return -1;
  }
  return 0;
}

static int
read_bitmap (json_t *bitmap, struct view *v, char why[VIEW_WHY_BYTES])
{
  v->has_bitmap = !json_is_null (bitmap);
  if (!v->has_bitmap)
    return 0;
  return view_read (bitmap, "bitmap", bitmap_fields, v, why);
}

int
view_parse (json_t *one, struct view *ret, char why[VIEW_WHY_BYTES])
{
  memset (ret, 0, sizeof *ret);
  if (view_read (json_object_get (one, "array"), "array", array_fields, ret,
                 why) == 0 &&
      check_array (ret, why) == 0 &&
      read_members (json_object_get (one, "members"), ret, why) == 0 &&
      view_read (json_object_get (one, "sync"), "sync", sync_fields, ret,
                 why) == 0 &&
      read_bitmap (json_object_get (one, "bitmap"), ret, why) == 0)
    return 0;
  view_free (ret);
  return -1;
}

void
view_free (struct view *v)
{
  size_t i;

  for (i = 0; i < v->nr_members; ++i) {
    free (v->members[i].word);
    free (v->members[i].address);
    free (v->members[i].reason);
  }
  free (v->members);
  free (v->letters);
  free (v->name);
  free (v->uuid);
  free (v->level_name);
  free (v->version);
  free (v->state);
  free (v->policy);
  free (v->layout);
  free (v->action);
  memset (v, 0, sizeof *v);
}

/* --- what follows from it ----------------------------------------------- */

enum view_verdict
view_verdict (const struct view *v)
{
  uint64_t lacking = v->raid_devices - v->in_sync;

  /* Two counts of one thing: the worse one is believed. */
  if (v->degraded > lacking)
    lacking = v->degraded;
  if (lacking > v->redundancy || strcmp (v->state, "broken") == 0 ||
      strcmp (v->state, "stopped") == 0)
    return VIEW_UNUSABLE;
  return lacking > 0 ? VIEW_DEGRADED : VIEW_WHOLE;
}

bool
view_has_progress (const struct view *v)
{
  return strcmp (v->action, "idle") != 0 && v->total_bytes > 0 &&
         v->position_bytes <= v->total_bytes;
}
