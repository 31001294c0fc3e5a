/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid get and uraid set: tunables of an array that is served.  Which there
 * are and what they take the server knows; nothing is checked here.  One
 * thread, no locks.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online.h"
#include "view.h"

static struct {
  bool all;
} opt;

struct tunable {
  char *preset, *allowed, *origin, *changes;
};

/* A value as text, to be freed; NULL if it is an object or a list. */
static char *
value_text (json_t *j)
{
  char buf[64];

  if (json_is_string (j))
    return view_text (j);
  switch (json_typeof (j)) {
  case JSON_INTEGER:
    snprintf (buf, sizeof buf, "%" JSON_INTEGER_FORMAT,
              json_integer_value (j));
    return strdup (buf);
  case JSON_REAL:
    snprintf (buf, sizeof buf, "%g", json_real_value (j));
    return strdup (buf);
  case JSON_TRUE:
    return strdup ("yes");
  case JSON_FALSE:
    return strdup ("no");
  case JSON_NULL:
    return strdup ("none");
  case JSON_STRING:
  case JSON_OBJECT:
  case JSON_ARRAY:
    break;
  }
  return NULL;
}

static void
tunable_free (struct tunable *u)
{
  free (u->preset);
  free (u->allowed);
  free (u->origin);
  free (u->changes);
}

/* Check one, and print it unless JSON_ONLY.  0, or -1 and WHY. */
static int
take_tunable (const char *key, json_t *o, bool json_only, bool hide,
              char why[VIEW_WHY_BYTES])
{
  static const struct view_field fields[] = {
      {"default", VIEW_TEXT_OR_NULL, false, offsetof (struct tunable, preset)},
      {"allowed", VIEW_TEXT_OR_NULL, false,
       offsetof (struct tunable, allowed)},
      {"origin", VIEW_TEXT, false, offsetof (struct tunable, origin)},
      {"changes", VIEW_TEXT, false, offsetof (struct tunable, changes)},
      {NULL}};
  struct tunable u = {.preset = NULL};
  char name[128], *value = NULL;
  int r =
      view_read (o, online_escape (key, name, sizeof name), fields, &u, why);

  if (r == 0) {
    value = json_object_get (o, "value") != NULL
                ? value_text (json_object_get (o, "value"))
                : NULL;
    if (value == NULL) {
      snprintf (why, VIEW_WHY_BYTES,
                "\"value\" of \"%s\" is missing or no "
                "plain value",
                name);
      r = -1;
    }
  }
  if (r == 0 && !json_only && !(hide && strcmp (u.changes, "read-only") == 0))
    printf ("%s %s (default %s, allowed %s, origin %s)\n", name, value,
            u.preset != NULL ? u.preset : "none",
            u.allowed != NULL ? u.allowed : "nothing", u.origin);
  free (value);
  tunable_free (&u);
  return r;
}

/* Two passes: what makes no sense as a whole is not printed in part. */
static int
print_tunables (struct tool *t, const struct online *o, json_t *result)
{
  json_t *all = json_object_get (result, "tunables"), *one;
  const bool hide = !opt.all && t->nr_args == 1;
  char why[VIEW_WHY_BYTES];
  const char *key;

  if (!json_is_object (all))
    return online_nonsense (t, o, "\"tunables\" is no object");
  if (json_object_size (all) < t->nr_args - 1)
    return online_nonsense (t, o, "a key that was asked for is missing");
  json_object_foreach (all, key,
                       one) if (take_tunable (key, one, true, false, why) <
                                0) return online_nonsense (t, o, why);
  if (t->json)
    return online_print_json (t, json_incref (result));
  json_object_foreach (all, key,
                       one) if (take_tunable (key, one, false, hide, why) <
                                0) return online_nonsense (t, o, why);
  return TOOL_OK;
}

static json_t *
wanted_keys (const struct tool *t)
{
  json_t *keys = json_array ();
  size_t i;

  for (i = 1; i < t->nr_args; ++i)
    json_array_append_new (keys, tool_json_text (t->args[i]));
  return json_pack ("{s:o}", "keys", keys);
}

static int
get_run (struct tool *t)
{
  struct online_call c = {.method = "tune.list"};
  struct online_refusal r;
  struct online o;
  json_t *result;
  int code;

  if (t->nr_args < 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "get", NULL, NULL,
                      "an array is wanted (a name or the path of a control "
                      "socket)");
  if (opt.all && t->nr_args > 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "get", "--all", NULL,
                      "takes no keys");
  code = online_find (t, t->args[0], &o);
  if (code != TOOL_OK)
    return code;
  if (t->nr_args > 1) {
    c.method = "tune.get";
    c.params = wanted_keys (t);
  }
  code = online_call (t, &o, &c, &result, &r);
  if (code == ONLINE_REFUSED)
    return online_tell (t, TOOL_FAILED, t->nr_args == 2 ? t->args[1] : o.shown,
                        NULL, &r);
  if (code == TOOL_OK)
    code = print_tunables (t, &o, result);
  json_decref (result);
  return code;
}

/* --- set ---------------------------------------------------------------- */

/* Set one.  What the server says of it is added to CHANGED. */
static int
set_one (struct tool *t, const struct online *o, const char *key,
         const char *value, json_t *changed)
{
  const struct online_call c = {
      .method = "tune.set",
      .params = json_pack ("{s:o, s:o}", "key", tool_json_text (key), "value",
                           tool_json_text (value))};
  char name[128], *note;
  struct online_refusal r;
  json_t *result;
  int code = online_call (t, o, &c, &result, &r);

  if (code == ONLINE_REFUSED)
    return online_tell (t, TOOL_FAILED, key, value, &r);
  if (code != TOOL_OK)
    return code;
  note = view_text (json_object_get (result, "note"));
  if (note != NULL)
    tool_note (t, online_escape (key, name, sizeof name), "%s", note);
  free (note);
  if (json_object_get (result, "value") == NULL)
    code = online_nonsense (t, o, "\"value\" is missing");
  json_array_append_new (changed, result);
  return code;
}

static int
set_run (struct tool *t)
{
  json_t *changed;
  struct online o;
  size_t i;
  int code;

  if (t->nr_args < 3 || t->nr_args % 2 != 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "set", NULL, NULL,
                      "an array and pairs of a key and a value are wanted");
  code = online_find (t, t->args[0], &o);
  if (code != TOOL_OK)
    return code;
  changed = json_array ();
  for (i = 1; i < t->nr_args && code == TOOL_OK; i += 2)
    code = set_one (t, &o, t->args[i], t->args[i + 1], changed);
  /* Also after a refusal: what was set before it stays set. */
  if (t->json)
    return tool_worse (
        code, online_print_json (t, json_pack ("{s:o}", "changed", changed)));
  json_decref (changed);
  return code;
}

static const struct tool_option get_options[] = {
    {"all", 0, NULL, opt_flag, &opt.all,
     "also those that cannot be changed at all"},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const struct verb verb_get = {
    .name = "get",
    .synopsis = "[OPTION]... ARRAY [KEY]...",
    .summary = "Print tunables of an array that is served",
    .options = get_options,
    .run = get_run,
};

const struct verb verb_set = {
    .name = "set",
    .synopsis = "[OPTION]... ARRAY KEY VALUE [KEY VALUE]...",
    .summary = "Change tunables of an array that is served",
    .run = set_run,
};
