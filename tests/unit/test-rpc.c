/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/control/rpc.c: what a client may send, what it gets back, and
 * that no bytes whatever get anything but one line of JSON.  Single-threaded.
 * Run alone: tests/unit/test-rpc (CK_FORK=no to debug; SEED=N for the fuzz).
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <check.h>

#include "control/rpc.h"

static unsigned calls;

static json_t *
echo (void *ctx, json_t *params, struct uraid_error *e)
{
  (void)ctx;
  (void)e;
  calls++;
  return params == NULL ? json_object () : json_incref (params);
}

/* {"err": N} is the errno it fails with. */
static json_t *
refuse (void *ctx, json_t *params, struct uraid_error *e)
{
  json_int_t err = json_integer_value (json_object_get (params, "err"));

  (void)ctx;
  calls++;
  uraid_error_set (e, (int)err, "knob: 5 is too small (allowed 17..262144)");
  return NULL;
}

static const struct rpc_method table[] = {
    {"plain", 0, echo},
    {"echo", RPC_TAKES_PARAMS, echo},
    {"fail", RPC_TAKES_PARAMS, refuse},
    {NULL},
};

/* What a line of LEN bytes gets; always one line. */
static json_t *
answer_n (const char *line, size_t len)
{
  struct rpc_call call;
  char *text = NULL;
  json_t *j;
  size_t n;

  if (rpc_parse (table, line, len, &call, &text) == 0) {
    text = rpc_run (&call, NULL);
    rpc_call_done (&call);
  }
  ck_assert_ptr_nonnull (text);
  n = strlen (text);
  ck_assert (n > 0 && text[n - 1] == '\n');
  ck_assert_ptr_eq (strchr (text, '\n'), text + n - 1);
  j = json_loads (text, JSON_REJECT_DUPLICATES, NULL);
  ck_assert_msg (j != NULL, "no JSON: %s", text);
  ck_assert_str_eq (json_string_value (json_object_get (j, "jsonrpc")), "2.0");
  ck_assert_ptr_nonnull (json_object_get (j, "id"));
  ck_assert_int_eq (json_object_size (j), 3);
  free (text);
  return j;
}

static json_t *
answer (const char *line)
{
  return answer_n (line, strlen (line));
}

static json_int_t
code_of (json_t *answer)
{
  json_t *e = json_object_get (answer, "error");

  if (e != NULL)
    ck_assert_ptr_nonnull (
        json_object_get (json_object_get (e, "data"), "errno"));
  return json_integer_value (json_object_get (e, "code"));
}

/* No handler ran and the error is CODE. */
static void
refused_n (const char *line, size_t len, enum rpc_code code)
{
  unsigned before = calls;
  json_t *j = answer_n (line, len);

  ck_assert_msg (code_of (j) == code, "code %d instead of %d: %.200s",
                 (int)code_of (j), code, line);
  ck_assert_uint_eq (calls, before);
  json_decref (j);
}

static void
refused (const char *line, enum rpc_code code)
{
  refused_n (line, strlen (line), code);
}

#define REQ(rest) "{\"jsonrpc\":\"2.0\",\"id\":7," rest "}"

START_TEST (a_call_gets_its_id_and_result)
{
  json_t *j = answer (REQ ("\"method\":\"echo\",\"params\":{\"a\":[1,null]}"));

  ck_assert_int_eq (json_integer_value (json_object_get (j, "id")), 7);
  ck_assert_int_eq (
      json_array_size (json_object_get (json_object_get (j, "result"), "a")),
      2);
  json_decref (j);
  /* An id may be a string, and large. */
  j = answer ("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"plain\"}\r");
  ck_assert_str_eq (json_string_value (json_object_get (j, "id")), "x");
  json_decref (j);
  j = answer ("{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,"
              "\"method\":\"plain\",\"params\":{}}");
  ck_assert_int_eq (json_integer_value (json_object_get (j, "id")), INT64_MAX);
  json_decref (j);
}
END_TEST

START_TEST (what_is_no_json_is_32700)
{
  char nul[] = REQ ("\"method\":\"plain\"");
  char *deep = malloc (60001);

  refused ("", RPC_PARSE_ERROR);
  refused ("   ", RPC_PARSE_ERROR);
  refused ("GET / HTTP/1.1\r", RPC_PARSE_ERROR);
  refused ("{\"jsonrpc\":\"2.0\"", RPC_PARSE_ERROR);
  refused (REQ ("\"method\":\"plain\"") "x", RPC_PARSE_ERROR);
  refused (REQ ("\"method\":\"plain\",\"method\":\"echo\""), RPC_PARSE_ERROR);
  refused (REQ ("\"method\":\"pl\xff\xfe\""), RPC_PARSE_ERROR);
  refused (REQ ("\"method\":\"pl\xc0\xaf\""), RPC_PARSE_ERROR);
  refused (REQ ("\"method\":\"plain\\u0000\""), RPC_PARSE_ERROR);
  refused (
      "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"m\"}",
      RPC_PARSE_ERROR);
  nul[30] = '\0';
  refused_n (nul, sizeof nul - 1, RPC_PARSE_ERROR);
  ck_assert_ptr_nonnull (deep);
  memset (deep, '[', 60000);
  refused_n (deep, 60000, RPC_PARSE_ERROR);
  free (deep);
}
END_TEST

START_TEST (what_is_no_request_is_32600)
{
  refused ("[]", RPC_NOT_A_REQUEST);
  refused ("7", RPC_NOT_A_REQUEST);
  refused ("null", RPC_NOT_A_REQUEST);
  refused ("\"ping\"", RPC_NOT_A_REQUEST);
  refused ("[" REQ ("\"method\":\"plain\"") "]", RPC_NOT_A_REQUEST);
  refused ("{}", RPC_NOT_A_REQUEST);
  refused ("{\"jsonrpc\":\"2.0\",\"method\":\"plain\"}", RPC_NOT_A_REQUEST);
  refused ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"plain\"}",
           RPC_NOT_A_REQUEST);
  refused ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"plain\"}",
           RPC_NOT_A_REQUEST);
  refused ("{\"id\":1,\"method\":\"plain\"}", RPC_NOT_A_REQUEST);
  refused ("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"plain\"}",
           RPC_NOT_A_REQUEST);
  refused ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"plain\"}",
           RPC_NOT_A_REQUEST);
  refused (REQ ("\"params\":{}"), RPC_NOT_A_REQUEST);
  refused (REQ ("\"method\":7"), RPC_NOT_A_REQUEST);
  refused (REQ ("\"method\":\"plain\",\"parms\":{}"), RPC_NOT_A_REQUEST);
}
END_TEST

START_TEST (methods_and_params)
{
  refused (REQ ("\"method\":\"\""), RPC_UNKNOWN_METHOD);
  refused (REQ ("\"method\":\"Plain\""), RPC_UNKNOWN_METHOD);
  refused (REQ ("\"method\":\"plain.x\""), RPC_UNKNOWN_METHOD);
  refused (REQ ("\"method\":\"echo\",\"params\":[]"), RPC_BAD_PARAMS);
  refused (REQ ("\"method\":\"echo\",\"params\":null"), RPC_BAD_PARAMS);
  refused (REQ ("\"method\":\"echo\",\"params\":-1"), RPC_BAD_PARAMS);
  refused (REQ ("\"method\":\"plain\",\"params\":{\"a\":1}"), RPC_BAD_PARAMS);
}
END_TEST

/* A long name is cut, perhaps within a character, and comes back all the same.
 */
START_TEST (long_and_foreign_names)
{
  char line[1200], name[1001];

  memset (name, 0, sizeof name);
  for (unsigned i = 0; i + 2 < sizeof name; i += 2)
    memcpy (name + i, "\xc3\xa9", 2);
  for (unsigned shift = 0; shift < 2; shift++) {
    snprintf (line, sizeof line,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s%s\"}",
              shift ? "x" : "", name);
    refused (line, RPC_UNKNOWN_METHOD);
  }
}
END_TEST

START_TEST (errors_of_handlers)
{
  static const struct {
    int err;
    enum rpc_code code;
    const char *name;
  } t[] = {{EINVAL, RPC_BAD_PARAMS, "EINVAL"},
           {ERANGE, RPC_BAD_PARAMS, "ERANGE"},
           {ENOENT, RPC_FAILED, "ENOENT"},
           {EBUSY, RPC_FAILED, "EBUSY"},
           {9999, RPC_FAILED, "EIO"}};

  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    char line[200];
    json_t *j, *data;

    snprintf (line, sizeof line,
              REQ ("\"method\":\"fail\",\"params\":"
                   "{\"err\":%d}"),
              t[i].err);
    j = answer (line);
    ck_assert_int_eq (code_of (j), t[i].code);
    data = json_object_get (json_object_get (j, "error"), "data");
    ck_assert_str_eq (json_string_value (json_object_get (data, "errno")),
                      t[i].name);
    ck_assert_str_eq (json_string_value (json_object_get (data, "allowed")),
                      "17..262144");
    json_decref (j);
  }
}
END_TEST

START_TEST (values)
{
  json_t *j = rpc_text ("a\xff"
                        "b");

  ck_assert_str_eq (json_string_value (j), "a?b");
  json_decref (j);
  j = rpc_text ("\xc3\xa9");
  ck_assert_str_eq (json_string_value (j), "\xc3\xa9");
  json_decref (j);
  j = rpc_text (NULL);
  ck_assert (json_is_null (j));
  j = rpc_number (UINT64_MAX);
  ck_assert_int_eq (json_integer_value (j), INT64_MAX);
  json_decref (j);
  j = rpc_number (UINT64_C (1) << 62);
  ck_assert_int_eq (json_integer_value (j), INT64_C (1) << 62);
  json_decref (j);
}
END_TEST

/* --- any bytes --- */

static uint64_t seed;

static unsigned
dice (unsigned sides)
{
  seed = seed * UINT64_C (6364136223846793005) + 1442695040888963407u;
  return (unsigned)(seed >> 33) % sides;
}

static const char *const samples[] = {
    REQ ("\"method\":\"echo\",\"params\":{\"key\":\"a\",\"value\":-5}"),
    REQ ("\"method\":\"fail\",\"params\":{\"err\":22}"),
    "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\",\"method\":\"plain\"}",
    "[[[{\"a\":1e308}]]]",
};

/* Change, drop, double or insert a few bytes. */
static size_t
mutate (char *buf, size_t len)
{
  for (unsigned n = 1 + dice (4); n > 0 && len > 4; n--) {
    size_t at = dice ((unsigned)len), more = dice (8);

    switch (dice (4)) {
    case 0:
      buf[at] = (char)dice (256);
      break;
    case 1:
      memmove (buf + at, buf + at + 1, len - at - 1);
      len--;
      break;
    case 2:
      buf[at] = "{}[]\",:\\-0u"[dice (11)];
      break;
    default:
      if (at + more > len || len + more > 500)
        break;
      memmove (buf + at + more, buf + at, len - at);
      len += more;
      break;
    }
  }
  return len;
}

START_TEST (any_bytes)
{
  const char *given = getenv ("SEED");
  char buf[512];

  seed = given != NULL ? strtoull (given, NULL, 0) : (uint64_t)time (NULL);
  printf ("SEED=%" PRIu64 "\n", seed);
  for (unsigned i = 0; i < 50000; i++) {
    const char *s = samples[dice (4)];
    size_t len = strlen (s);

    memcpy (buf, s, len);
    len = mutate (buf, len);
    json_decref (answer_n (buf, len));
  }
}
END_TEST

int
main (void)
{
  Suite *s = suite_create ("rpc");
  TCase *t = tcase_create ("rpc");
  SRunner *r;
  int failed;

  tcase_set_timeout (t, 120);
  tcase_add_test (t, a_call_gets_its_id_and_result);
  tcase_add_test (t, what_is_no_json_is_32700);
  tcase_add_test (t, what_is_no_request_is_32600);
  tcase_add_test (t, methods_and_params);
  tcase_add_test (t, long_and_foreign_names);
  tcase_add_test (t, errors_of_handlers);
  tcase_add_test (t, values);
  tcase_add_test (t, any_bytes);
  suite_add_tcase (s, t);
  r = srunner_create (s);
  srunner_run_all (r, CK_ENV);
  failed = srunner_ntests_failed (r);
  srunner_free (r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
