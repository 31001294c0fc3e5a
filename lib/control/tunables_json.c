/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tunables as JSON (see the header).  No lock of its own: json_t objects
 * belong to the caller.
 */
#include <config.h>

#include "tunables_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SCHEMA "uraid/1"
#define NOTE_BYTES 256

static json_t *
no_memory (struct uraid_error *e)
{
  uraid_error_set (e, ENOMEM, "out of memory for an answer");
  return NULL;
}

static json_t *
value_json (const struct tunable_value *v)
{
  return v->is_number ? json_integer (v->number) : json_string (v->text);
}

/* Into the object TUNABLES.  0 or -1. */
static int
add_one (json_t *tunables, const struct tunable_value *v)
{
  json_t *one =
      json_pack ("{s:o,s:s,s:s,s:s,s:s,s:s}", "value", value_json (v),
                 "default", v->default_text, "allowed", v->allowed, "origin",
                 v->origin, "changes", v->changes, "help", v->help);

  return json_object_set_new (tunables, v->key, one);
}

static json_t *
wrap (json_t *tunables)
{
  return json_pack ("{s:s,s:o}", "schema", SCHEMA, "tunables", tunables);
}

json_t *
tunables_json_list (struct tunables *t)
{
  json_t *all = json_object ();
  struct tunable_value v;

  for (unsigned i = 0; i < tunables_count (); i++) {
    tunables_at (t, i, &v);
    if (add_one (all, &v) < 0) {
      json_decref (all);
      return NULL;
    }
  }
  return wrap (all);
}

static json_t *
bad_params (const char *method, const char *what, struct uraid_error *e)
{
  uraid_error_set (e, EINVAL, "%s: params: Invalid argument (allowed %s)",
                   method, what);
  return NULL;
}

json_t *
tunables_json_get (struct tunables *t, json_t *params, struct uraid_error *e)
{
  json_t *keys =
      json_is_object (params) ? json_object_get (params, "keys") : params;
  json_t *some, *key, *r;
  struct tunable_value v;
  size_t i;

  if (!json_is_array (keys))
    return bad_params ("tune.get", "{\"keys\": [KEY, ...]}", e);
  some = json_object ();
  json_array_foreach (keys, i, key)
  {
    if (!json_is_string (key)) {
      json_decref (some);
      return bad_params ("tune.get", "strings as keys", e);
    }
    if (tunables_get (t, json_string_value (key), &v, e) < 0) {
      json_decref (some);
      return NULL;
    }
    if (add_one (some, &v) < 0) {
      json_decref (some);
      return no_memory (e);
    }
  }
  r = wrap (some);
  return r != NULL ? r : no_memory (e);
}

/* The value of tune.set as text.  NULL: of the wrong kind. */
static const char *
value_text (json_t *value, char *buf, size_t size)
{
  if (json_is_string (value))
    return json_string_value (value);
  if (!json_is_integer (value))
    return NULL;
  snprintf (buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
  return buf;
}

json_t *
tunables_json_set (struct tunables *t, json_t *params, struct uraid_error *e)
{
  const char *key = json_string_value (json_object_get (params, "key"));
  char buf[32], note[NOTE_BYTES];
  const char *text =
      value_text (json_object_get (params, "value"), buf, sizeof buf);
  struct tunable_value old, new;
  json_t *r;

  if (key == NULL || text == NULL)
    return bad_params ("tune.set",
                       "{\"key\": KEY, \"value\": string or integer}", e);
  if (tunables_get (t, key, &old, e) < 0 ||
      tunables_set_text (t, key, text, TUNE_RUNTIME, e, note, sizeof note) <
          0 ||
      tunables_get (t, key, &new, e) < 0)
    return NULL;
  r = json_pack ("{s:s,s:o,s:o}", "key", new.key, "value", value_json (&new),
                 "previous", value_json (&old));
  if (r != NULL && note[0] != '\0' &&
      json_object_set_new (r, "note", json_string (note)) < 0) {
    json_decref (r);
    r = NULL;
  }
  return r != NULL ? r : no_memory (e);
}
