/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Options, errors and exit codes of the uraid command (see the header).  One
 * thread, no locks.
 */
#include <config.h>

#include "common.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 48
#define MAX_SECONDS 86400

static const struct tool_option *common_options (void);

/* Where the common options land until tool_parse copies them. */
static struct {
  bool json, help;
  uint64_t open_timeout_ms, request_timeout_ms;
  const char *tls, *tls_certificates, *tls_psk, *tls_username, *tls_verify;
} common;

void
tool_init (struct tool *t)
{
  memset (t, 0, sizeof *t);
  common.open_timeout_ms = 30000;
  common.request_timeout_ms = 30000;
}

/* --- errors ------------------------------------------------------------- */

static const char *
error_code_name (int err)
{
  const char *name;

  if (err == TOOL_E_REFUSED)
    return "REFUSED";
  name = strerrorname_np (err);
  return name != NULL ? name : "EIO";
}

json_t *
tool_json_text (const char *text)
{
  json_t *o = json_string (text);
  char *copy, *c;

  if (o != NULL)
    return o;
  copy = strdup (text);
  if (copy == NULL)
    return json_null ();
  for (c = copy; *c != '\0'; ++c)
    if ((unsigned char)*c >= 0x80)
      *c = '?';
  o = json_string (copy);
  free (copy);
  return o;
}

static void
error_json (struct tool *t, int err, const char *what, const char *value,
            const char *allowed, const char *reason)
{
  json_t *o = json_object ();

  json_object_set_new (o, "code", json_string (error_code_name (err)));
  json_object_set_new (o, "message", tool_json_text (reason));
  if (what != NULL)
    json_object_set_new (o, "what", tool_json_text (what));
  if (value != NULL)
    json_object_set_new (o, "value", tool_json_text (value));
  if (allowed != NULL)
    json_object_set_new (o, "allowed", tool_json_text (allowed));
  if (t->errors == NULL)
    t->errors = json_array ();
  json_array_append_new (t->errors, o);
}

int
tool_fail (struct tool *t, int code, int err, const char *what,
           const char *value, const char *allowed, const char *fmt, ...)
{
  char reason[3072];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (reason, sizeof reason, fmt, ap);
  va_end (ap);

  if (t->json) {
    error_json (t, err, what, value, allowed, reason);
    return code;
  }
  fflush (stdout); /* keep the order when both go to one place */
  fputs ("uraid: ", stderr);
  if (what != NULL)
    fprintf (stderr, "%s: ", what);
  if (value != NULL)
    fprintf (stderr, "%s: ", value);
  fputs (reason, stderr);
  if (allowed != NULL)
    fprintf (stderr, " (allowed %s)", allowed);
  fputc ('\n', stderr);
  return code;
}

void
tool_note (struct tool *t, const char *what, const char *fmt, ...)
{
  va_list ap;

  if (t->json)
    return;
  fflush (stdout);
  fputs ("uraid: note: ", stderr);
  if (what != NULL)
    fprintf (stderr, "%s: ", what);
  va_start (ap, fmt);
  vfprintf (stderr, fmt, ap);
  va_end (ap);
  fputc ('\n', stderr);
}

int
tool_finish (struct tool *t, int code)
{
  json_t *o;

  if (fflush (stdout) != 0 && code == TOOL_OK)
    code = tool_fail (t, TOOL_FAILED, errno, "standard output", NULL, NULL,
                      "%s", strerror (errno));
  if (t->errors == NULL)
    return code;
  o = json_object ();
  json_object_set (o, "error", json_array_get (t->errors, 0));
  if (json_array_size (t->errors) > 1)
    json_object_set (o, "errors", t->errors);
  json_dumpf (o, stderr, JSON_INDENT (2) | JSON_PRESERVE_ORDER);
  fputc ('\n', stderr);
  json_decref (o);
  json_decref (t->errors);
  t->errors = NULL;
  return code;
}

int
tool_print_json (struct tool *t, json_t *obj)
{
  json_t *all = json_object ();
  int r;

  json_object_set_new (all, "schema", json_string ("uraid/1"));
  json_object_update (all, obj);
  json_decref (obj);
  r = json_dumpf (all, stdout, JSON_INDENT (2) | JSON_PRESERVE_ORDER);
  json_decref (all);
  putchar ('\n');
  if (r != 0)
    return tool_fail (t, TOOL_FAILED, EIO, "standard output", NULL, NULL,
                      "could not be written");
  return TOOL_OK;
}

int
tool_worse (int a, int b)
{
  static const int order[] = {TOOL_OK,      TOOL_UNFIT,      TOOL_FAILED,
                              TOOL_REFUSED, TOOL_UNREADABLE, TOOL_USAGE};
  size_t i, ra = 0, rb = 0;

  for (i = 0; i < sizeof order / sizeof order[0]; ++i) {
    if (order[i] == a)
      ra = i;
    if (order[i] == b)
      rb = i;
  }
  return ra > rb ? a : b;
}

/* --- options ------------------------------------------------------------ */

struct option_set {
  struct option longs[MAX_OPTIONS + 1];
  const struct tool_option *rows[MAX_OPTIONS];
  char shorts[2 * MAX_OPTIONS + 2];
  size_t nr;
};

static void
add_options (struct option_set *s, const struct tool_option *table)
{
  char *end = s->shorts + strlen (s->shorts);

  for (; table->name != NULL && s->nr < MAX_OPTIONS; ++table) {
    s->longs[s->nr] = (struct option){
        .name = table->name,
        .has_arg = table->arg != NULL ? required_argument : no_argument,
        .val = 256 + (int)s->nr};
    s->rows[s->nr++] = table;
    if (table->short_name == 0)
      continue;
    *end++ = (char)table->short_name;
    if (table->arg != NULL)
      *end++ = ':';
  }
}

static const struct tool_option *
find_option (const struct option_set *s, int c)
{
  size_t i;

  if (c >= 256)
    return s->rows[c - 256];
  for (i = 0; i < s->nr; ++i)
    if (s->rows[i]->short_name == c)
      return s->rows[i];
  return NULL;
}

static int
wrong_option (struct tool *t, int c, char **argv)
{
  char word[3] = {'-', (char)optopt, 0};
  const char *shown;

  if (optopt > 0 && optopt < 256)
    shown = word;
  else
    shown = argv[optind - 1];
  return tool_fail (t, TOOL_USAGE, EINVAL, t->verb->name, shown, NULL,
                    c == ':' ? "this option needs a value"
                             : "unknown option, or one that takes no value; "
                               "see uraid help %s",
                    t->verb->name);
}

static int
take_tls (struct tool *t)
{
  struct member_options *m = &t->member;

  m->tls = -1;
  if (common.tls == NULL)
    ;
  else if (strcmp (common.tls, "off") == 0)
    m->tls = LIBNBD_TLS_DISABLE;
  else if (strcmp (common.tls, "on") == 0)
    m->tls = LIBNBD_TLS_ALLOW;
  else if (strcmp (common.tls, "require") == 0)
    m->tls = LIBNBD_TLS_REQUIRE;
  else
    return tool_fail (t, TOOL_FAILED, EINVAL, "--tls", common.tls,
                      "off, on, require", "unknown word");
  m->tls_certificates = common.tls_certificates;
  m->tls_psk_file = common.tls_psk;
  m->tls_username = common.tls_username;
  m->tls_verify_peer = true;
  if (common.tls_verify != NULL) {
    if (strcmp (common.tls_verify, "no") == 0)
      m->tls_verify_peer = false;
    else if (strcmp (common.tls_verify, "yes") != 0)
      return tool_fail (t, TOOL_FAILED, EINVAL, "--tls-verify",
                        common.tls_verify, "yes, no", "unknown word");
  }
  return 0;
}

/* The common options go first and are final before the verb looks at its own
 * (an error in one of those must already know --json).
 */
static bool
has_json (int argc, char **argv)
{
  int i;

  for (i = 1; i < argc && strcmp (argv[i], "--") != 0; ++i)
    if (strcmp (argv[i], "--json") == 0)
      return true;
  return false;
}

int
tool_parse (struct tool *t, const struct verb *verb, int argc, char **argv)
{
  struct option_set s;
  const struct tool_option *o;
  int c, r;

  t->verb = verb;
  t->json = has_json (argc, argv);
  memset (&s, 0, sizeof s);
  s.shorts[0] = ':'; /* missing values are told apart */
  add_options (&s, common_options ());
  if (verb->options != NULL)
    add_options (&s, verb->options);

  opterr = 0;
  optind = 0;
  while ((c = getopt_long (argc, argv, s.shorts, s.longs, NULL)) != -1) {
    if (c == '?' || c == ':')
      return wrong_option (t, c, argv);
    o = find_option (&s, c);
    r = o->parse (t, o, optarg);
    if (r != 0)
      return r;
  }
  t->help = common.help;
  t->args = argv + optind;
  t->nr_args = (size_t)(argc - optind);
  t->member.open_timeout_ms = common.open_timeout_ms;
  t->member.request_timeout_ms = common.request_timeout_ms;
  t->member.connections = 1;
  return take_tls (t);
}

static void
print_options (const struct tool_option *o)
{
  char left[64];

  for (; o->name != NULL; ++o) {
    if (o->help == NULL)
      continue;
    snprintf (left, sizeof left, "%s%c%s --%s%s%s",
              o->short_name != 0 ? "-" : " ",
              o->short_name != 0 ? o->short_name : ' ',
              o->short_name != 0 ? "," : " ", o->name,
              o->arg != NULL ? "=" : "", o->arg != NULL ? o->arg : "");
    printf ("  %-27s %s\n", left, o->help);
  }
}

void
tool_print_help (const struct verb *verb)
{
  printf ("usage: uraid %s %s\n\n%s.\n", verb->name, verb->synopsis,
          verb->summary);
  if (verb->options != NULL) {
    printf ("\nOptions:\n");
    print_options (verb->options);
  }
  printf ("\nOptions of all verbs:\n");
  print_options (common_options ());
  printf ("\nSizes need a unit: b, s (512 bytes), K, M, G, T.\n"
          "See uraid(8) for everything else.\n");
}

/* --- values ------------------------------------------------------------- */

int
opt_flag (struct tool *t, const struct tool_option *o, const char *value)
{
  (void)t;
  (void)value;
  *(bool *)o->dest = true;
  return 0;
}

int
opt_ignore (struct tool *t, const struct tool_option *o, const char *value)
{
  (void)t;
  (void)o;
  (void)value;
  return 0;
}

int
opt_string (struct tool *t, const struct tool_option *o, const char *value)
{
  (void)t;
  *(const char **)o->dest = value;
  return 0;
}

static int
bad_value (struct tool *t, const struct tool_option *o, const char *value,
           const char *allowed, const char *reason)
{
  char what[64];

  snprintf (what, sizeof what, "--%s", o->name);
  return tool_fail (t, TOOL_FAILED, EINVAL, what, value, allowed, "%s",
                    reason);
}

/* Digits only: strtoull would take signs, spaces and hexadecimal. */
static int
parse_digits (const char *text, uint64_t *ret, const char **end)
{
  uint64_t n = 0;

  if (!isdigit ((unsigned char)*text))
    return -EINVAL;
  for (; isdigit ((unsigned char)*text); ++text)
    if (__builtin_mul_overflow (n, 10, &n) ||
        __builtin_add_overflow (n, (uint64_t)(*text - '0'), &n))
      return -ERANGE;
  *ret = n;
  *end = text;
  return 0;
}

int
tool_parse_size (const char *text, uint64_t *ret_bytes)
{
  static const char units[] = "bkmgtpe";
  const char *end, *u;
  uint64_t n, unit;
  int r;

  r = parse_digits (text, &n, &end);
  if (r < 0)
    return r;
  if (end[0] == '\0' || end[1] != '\0')
    return -EINVAL;
  if (tolower ((unsigned char)*end) == 's')
    unit = 512;
  else {
    u = strchr (units, tolower ((unsigned char)*end));
    if (u == NULL)
      return -EINVAL;
    unit = UINT64_C (1) << (10 * (u - units));
  }
  if (__builtin_mul_overflow (n, unit, ret_bytes) || *ret_bytes > INT64_MAX)
    return -ERANGE;
  return 0;
}

int
opt_size (struct tool *t, const struct tool_option *o, const char *value)
{
  uint64_t n;
  const char *end;
  int r = tool_parse_size (value, &n);

  if (r == -ERANGE)
    return bad_value (t, o, value, "less than 8E", "too large");
  if (r < 0 && parse_digits (value, &n, &end) == 0 && *end == '\0')
    return bad_value (t, o, value, "a number with b, s, K, M, G or T",
                      "the unit is missing; write for example 64K");
  if (r < 0)
    return bad_value (t, o, value, "a number with b, s, K, M, G or T",
                      "not a size");
  if (n == 0) /* with which the destination says: not given */
    return bad_value (t, o, value, "a size above 0", "too small");
  *(uint64_t *)o->dest = n;
  return 0;
}

int
opt_seconds (struct tool *t, const struct tool_option *o, const char *value)
{
  static const char allowed[] = "0..1d, a number with s, m, h or d";
  uint64_t n, unit = 1;
  const char *end;

  if (parse_digits (value, &n, &end) < 0)
    return bad_value (t, o, value, allowed, "not a time");
  if (strcmp (end, "m") == 0)
    unit = 60;
  else if (strcmp (end, "h") == 0)
    unit = 3600;
  else if (strcmp (end, "d") == 0)
    unit = 86400;
  else if (*end != '\0' && strcmp (end, "s") != 0)
    return bad_value (t, o, value, allowed, "not a time");
  if (n > MAX_SECONDS || n * unit > MAX_SECONDS)
    return bad_value (t, o, value, allowed, "too long");
  *(uint64_t *)o->dest = n * unit * 1000;
  return 0;
}

int
opt_count (struct tool *t, const struct tool_option *o, const char *value)
{
  uint64_t n;
  const char *end;

  if (parse_digits (value, &n, &end) < 0 || *end != '\0' || n > 65535)
    return bad_value (t, o, value, "0..65535", "not a count");
  *(unsigned *)o->dest = (unsigned)n;
  return 0;
}

static const struct tool_option *
common_options (void)
{
  static const struct tool_option table[] = {
      {"json", 0, NULL, opt_flag, &common.json, "print one JSON object"},
      {"help", 'h', NULL, opt_flag, &common.help, "print this help"},
      {"open-timeout", 0, "TIME", opt_seconds, &common.open_timeout_ms,
       "how long to wait for a member (30s)"},
      {"request-timeout", 0, "TIME", opt_seconds, &common.request_timeout_ms,
       "how long to wait for an answer (30s)"},
      {"tls", 0, "WORD", opt_string, &common.tls,
       "off, on, require (as the URI says)"},
      {"tls-certificates", 0, "DIR", opt_string, &common.tls_certificates,
       "directory with the TLS certificates"},
      {"tls-psk", 0, "FILE", opt_string, &common.tls_psk,
       "file with TLS pre-shared keys"},
      {"tls-username", 0, "NAME", opt_string, &common.tls_username,
       "user name for TLS"},
      {"tls-verify", 0, "BOOL", opt_string, &common.tls_verify,
       "verify the server's certificate (yes)"},
      {NULL, 0, NULL, NULL, NULL, NULL},
  };

  return table;
}
