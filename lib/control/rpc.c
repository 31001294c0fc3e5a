/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Lines to calls to lines (see the header).  Each line gets exactly one
 * answer.  Two rules are stricter than JSON-RPC's: a request must have an id
 * (nobody would learn how it went), and there are no batches.
 */
#include <config.h>

#include "rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

json_t *
rpc_text (const char *text)
{
  json_t *j;
  char *copy;

  if (text == NULL)
    return json_null ();
  j = json_string (text);
  if (j != NULL)
    return j;
  copy = strdup (text);
  if (copy == NULL)
    return NULL;
  for (char *p = copy; *p != '\0'; p++)
    if ((unsigned char)*p >= 0x80)
      *p = '?';
  j = json_string (copy);
  free (copy);
  return j;
}

json_t *
rpc_number (uint64_t n)
{
  return json_integer (n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

/* --- answers --- */

char *
rpc_line (json_t *answer)
{
  char *text = NULL, *line;
  size_t len;

  if (answer != NULL)
    text = json_dumps (answer, JSON_COMPACT);
  json_decref (answer);
  if (text == NULL)
    return NULL;
  len = strlen (text);
  line = realloc (text, len + 2);
  if (line == NULL) {
    free (text);
    return NULL;
  }
  memcpy (line + len, "\n", 2);
  return line;
}

/* Takes over VALUE. */
static json_t *
answer_object (json_t *id, const char *key, json_t *value)
{
  json_t *o = json_object ();

  json_object_set_new (o, "jsonrpc", json_string ("2.0"));
  json_object_set_new (o, "id", id == NULL ? json_null () : json_incref (id));
  if (json_object_set_new (o, key, value) < 0) {
    json_decref (o);
    return NULL;
  }
  return o;
}

/* The range out of "... (allowed RANGE)", or NULL. */
static json_t *
allowed_of (const char *text)
{
  static const char word[] = "(allowed ";
  const char *p = NULL, *q = text;
  size_t len = strlen (text);
  char *copy;
  json_t *j;

  while ((q = strstr (q, word)) != NULL) {
    q += sizeof word - 1;
    p = q;
  }
  if (p == NULL || text[len - 1] != ')')
    return NULL;
  copy = strndup (p, len - 1 - (size_t)(p - text));
  if (copy == NULL)
    return NULL;
  j = rpc_text (copy);
  free (copy);
  return j;
}

char *
rpc_error (json_t *id, enum rpc_code code, const struct uraid_error *e)
{
  const char *name = strerrorname_np (e->err);
  json_t *data = json_object (), *error = json_object ();
  json_t *allowed = allowed_of (e->text);

  json_object_set_new (data, "errno",
                       json_string (name == NULL ? "EIO" : name));
  if (allowed != NULL)
    json_object_set_new (data, "allowed", allowed);
  json_object_set_new (error, "code", json_integer (code));
  json_object_set_new (error, "message", rpc_text (e->text));
  json_object_set_new (error, "data", data);
  return rpc_line (answer_object (id, "error", error));
}

/* --- from a line to a call --- */

static const struct rpc_method *
find_method (const struct rpc_method *table, const char *name)
{
  for (; table->name != NULL; table++)
    if (strcmp (table->name, name) == 0)
      return table;
  return NULL;
}

static int
check_fields (json_t *root, struct uraid_error *e)
{
  static const char *const known[] = {"jsonrpc", "id", "method", "params"};
  const char *key;
  json_t *value;
  size_t i;

  json_object_foreach (root, key, value)
  {
    for (i = 0; i < 4 && strcmp (key, known[i]) != 0; i++)
      ;
    if (i == 4)
      return uraid_error_set (
          e, EINVAL,
          "unknown field \"%.100s\" in the request: it has "
          "jsonrpc, id, method and params",
          key);
  }
  return 0;
}

/* Is ROOT a request at all?  Sets C->id as soon as that is known to be right,
 * so that the error can carry it.
 */
static int
check_request (json_t *root, struct rpc_call *c, struct uraid_error *e)
{
  json_t *id = json_object_get (root, "id");
  const char *version = json_string_value (json_object_get (root, "jsonrpc"));

  if (!json_is_object (root))
    return uraid_error_set (e, EINVAL,
                            "a request must be one JSON object in one line, "
                            "there are no batches");
  if (!json_is_number (id) && !json_is_string (id))
    return uraid_error_set (e, EINVAL,
                            "id: must be there, a number or a string");
  c->id = id;
  if (version == NULL || strcmp (version, "2.0") != 0)
    return uraid_error_set (e, EINVAL, "jsonrpc: must be \"2.0\"");
  if (!json_is_string (json_object_get (root, "method")))
    return uraid_error_set (e, EINVAL,
                            "method: must be there and be a string");
  return check_fields (root, e);
}

static int
check_params (json_t *root, struct rpc_call *c, struct uraid_error *e)
{
  json_t *params = json_object_get (root, "params");
  const char *key;

  if (params != NULL && !json_is_object (params))
    return uraid_error_set (e, EINVAL, "params: must be an object");
  c->params = params;
  if ((c->method->flags & RPC_TAKES_PARAMS) || json_object_size (params) == 0)
    return 0;
  key = json_object_iter_key (json_object_iter (params));
  return uraid_error_set (e, EINVAL, "params: %s takes none, found \"%.100s\"",
                          c->method->name, key);
}

/* 0, or the code of an error. */
static int
judge (const struct rpc_method *table, json_t *root, struct rpc_call *c,
       struct uraid_error *e)
{
  const char *name;

  if (check_request (root, c, e) < 0)
    return RPC_NOT_A_REQUEST;
  name = json_string_value (json_object_get (root, "method"));
  c->method = find_method (table, name);
  if (c->method == NULL) {
    uraid_error_set (e, ENOSYS, "unknown method \"%.100s\"", name);
    return RPC_UNKNOWN_METHOD;
  }
  return check_params (root, c, e) < 0 ? RPC_BAD_PARAMS : 0;
}

int
rpc_parse (const struct rpc_method *table, const char *line, size_t len,
           struct rpc_call *ret, char **ret_answer)
{
  struct uraid_error e = {0};
  json_error_t je;
  int code;

  *ret = (struct rpc_call){
      .root = json_loadb (line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                          &je)};
  if (ret->root == NULL) {
    uraid_error_set (&e, EINVAL, "not JSON: byte %d: %s", je.position,
                     je.text);
    *ret_answer = rpc_error (NULL, RPC_PARSE_ERROR, &e);
    return -1;
  }
  code = judge (table, ret->root, ret, &e);
  if (code == 0)
    return 0;
  *ret_answer = rpc_error (ret->id, (enum rpc_code)code, &e);
  rpc_call_done (ret);
  return -1;
}

void
rpc_call_done (struct rpc_call *c)
{
  json_decref (c->root);
  *c = (struct rpc_call){0};
}

char *
rpc_run (const struct rpc_call *c, void *ctx)
{
  struct uraid_error e = {0};
  json_t *result = c->method->handler (ctx, c->params, &e);

  if (result != NULL)
    return rpc_line (answer_object (c->id, "result", result));
  if (e.err == 0)
    uraid_error_set (&e, ENOMEM, "out of memory for the answer");
  return rpc_error (
      c->id, e.err == EINVAL || e.err == ERANGE ? RPC_BAD_PARAMS : RPC_FAILED,
      &e);
}
