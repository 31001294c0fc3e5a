/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid query: what is this thing, in one line.  Reads only.  One thread, no
 * locks.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "look.h"

static const char *
query_kind (const struct look *l)
{
  unsigned i;

  if (look_sb (l) != NULL)
    return look_sb_valid (l) ? "member" : "broken-member";
  for (i = 0; i < 3; ++i)
    if (l->place[i].misplaced)
      return "misplaced-member";
  return l->nr_signatures > 0 ? "foreign" : "blank";
}

/* "device 0 in 4 device raid6 array" is mdadm's wording. */
static void
query_describe (const struct look *l, char *buf, size_t len)
{
  const struct sb1 *sb = look_sb (l);
  uint16_t role;

  if (sb == NULL) {
    if (l->nr_signatures > 0)
      snprintf (buf, len, "%s, not an md member", l->signatures[0].name);
    else
      snprintf (buf, len, "nothing known");
    return;
  }
  role = sb1_role (sb);
  if (!look_sb_valid (l))
    snprintf (buf, len, "a broken superblock 1.%u", sb->minor);
  else if (role >= SB1_ROLE_JOURNAL)
    snprintf (buf, len, "%s in %" PRIu32 " device %s array",
              role == SB1_ROLE_SPARE
                  ? "spare"
                  : (role == SB1_ROLE_FAULTY ? "faulty device" : "journal"),
              sb->raid_disks, look_level_name (sb->level));
  else
    snprintf (buf, len, "device %u in %" PRIu32 " device %s array", role,
              sb->raid_disks, look_level_name (sb->level));
}

static json_t *
query_json (const struct look *l)
{
  const struct sb1 *sb = look_sb (l);
  json_t *o = json_object ();
  char text[256], uuid[36], name[33];

  json_object_set_new (o, "kind", json_string (query_kind (l)));
  json_object_set_new (o, "address", tool_json_text (l->address));
  json_object_set_new (o, "size", json_integer ((json_int_t)l->dev_bytes));
  query_describe (l, text, sizeof text);
  json_object_set_new (o, "text", tool_json_text (text));
  if (sb == NULL)
    return o;
  sb1_uuid_text (sb->set_uuid, uuid);
  uuid[35] = '\0';
  json_object_set_new (o, "array_uuid", json_string (uuid));
  json_object_set_new (o, "name", tool_json_text (look_name (sb, name)));
  return o;
}

static int
query_tell (struct tool *t, const struct look *l)
{
  const struct sb1 *sb = look_sb (l);
  char text[256], name[33], size[32];

  if (!l->readable)
    return look_tell (t, l, "query");
  if (t->json)
    return tool_print_json (t, query_json (l));
  query_describe (l, text, sizeof text);
  printf ("%s: %s: %s", l->address, tool_human_brief (l->dev_bytes, size),
          text);
  if (sb != NULL)
    printf (" \"%s\"; see uraid examine", look_name (sb, name));
  putchar ('\n');
  return TOOL_OK;
}

static int
query_run (struct tool *t)
{
  struct look *l;
  int code;

  if (t->nr_args != 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "query", NULL, NULL,
                      "exactly one member is wanted (an NBD URI or a path)");
  l = look_open (t, t->args, 1, true);
  if (l == NULL)
    return TOOL_FAILED;
  code = query_tell (t, l);
  look_free (l, 1);
  return code;
}

const struct verb verb_query = {
    .name = "query",
    .synopsis = "[OPTION]... MEMBER",
    .summary = "Say in one line what a member is",
    .run = query_run,
};
