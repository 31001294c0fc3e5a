/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What all verbs of the uraid command share: the option tables, errors in
 * text and JSON, exit codes, numbers in and out.  The command has one thread
 * and no locks; nothing here asks a question, ever.
 */
#ifndef URAID_TOOLS_COMMON_H
#define URAID_TOOLS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "../lib/md_layout/uraid_error.h"
#include "../lib/member/member.h"

/* Exit codes; the manual page explains them. */
enum tool_exit {
  TOOL_OK = 0,
  TOOL_FAILED = 1,     /* failed, or a value was refused */
  TOOL_UNFIT = 2,      /* probe: a member is unfit */
  TOOL_REFUSED = 3,    /* at risk; the message says what overrides */
  TOOL_UNREADABLE = 4, /* could not get the information */
  TOOL_USAGE = 64,     /* wrong command line */
};

/* errno value that stands for "refused, exit 3" in tool_fail. */
#define TOOL_E_REFUSED (-1)

struct tool;

/* One row drives parsing, the help text and the test that the manual page
 * knows every option.
 */
struct tool_option {
  const char *name; /* long name; NULL ends the table */
  int short_name;   /* mdadm's letter, 0 = none */
  const char *arg;  /* name of the value in the help, NULL = no value */
  /* Store VALUE (NULL without arg) in DEST.  0 or an exit code (the error
   * was told).
   */
  int (*parse) (struct tool *t, const struct tool_option *o,
                const char *value);
  void *dest;
  const char *help;
};

struct verb {
  const char *name;
  const char *synopsis; /* what follows the name */
  const char *summary;  /* one line */
  const struct tool_option *options;
  int (*run) (struct tool *t); /* returns an exit code */
};

struct tool {
  const struct verb *verb;
  bool json;
  bool help;
  struct member_options member; /* from the common options */
  char **args;                  /* what is no option */
  size_t nr_args;
  json_t *errors; /* with --json: gathered, printed by tool_finish */
};

/* main.c's table, for help; ends with NULL. */
extern const struct verb *const verbs[];
extern const struct verb verb_create, verb_examine, verb_query,
    verb_zero_superblock, verb_probe, verb_help, verb_version;

/* Options that every verb takes; belongs to T. */
extern void tool_init (struct tool *t);

/* Parse ARGV (ARGV[0] is the verb).  0, or an exit code. */
extern int tool_parse (struct tool *t, const struct verb *verb, int argc,
                       char **argv);

/* The help of one verb, to standard output. */
extern void tool_print_help (const struct verb *verb);

/* Tell an error: "uraid: WHAT: VALUE: REASON (allowed RANGE)".  WHAT, VALUE
 * and ALLOWED may be NULL.  ERR is an errno value or TOOL_E_REFUSED.
 * Returns CODE, so that callers can write "return tool_fail (...)".
 */
extern int tool_fail (struct tool *t, int code, int err, const char *what,
                      const char *value, const char *allowed, const char *fmt,
                      ...) __attribute__ ((format (printf, 7, 8)));

/* A remark to standard error that changes no exit code. */
extern void tool_note (struct tool *t, const char *what, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Print what tool_fail gathered for --json; the code to exit with. */
extern int tool_finish (struct tool *t, int code);

/* Print OBJ with the schema member in front, and free it. */
extern int tool_print_json (struct tool *t, json_t *obj);

/* A JSON string of TEXT whatever bytes it has ('?' for what is no UTF-8). */
extern json_t *tool_json_text (const char *text);

/* The worse of two exit codes: 0 < 2 < 1 < 3 < 4 < 64. */
extern int tool_worse (int a, int b);

/* Parsers for option tables; dest points at the type named. */
extern int opt_flag (struct tool *t, const struct tool_option *o,
                     const char *value); /* bool */
extern int opt_string (struct tool *t, const struct tool_option *o,
                       const char *value); /* const char * */
extern int opt_size (struct tool *t, const struct tool_option *o,
                     const char *value); /* uint64_t, bytes, not 0 */
extern int opt_seconds (struct tool *t, const struct tool_option *o,
                        const char *value); /* uint64_t, milliseconds */
extern int opt_count (struct tool *t, const struct tool_option *o,
                      const char *value); /* unsigned */
extern int opt_ignore (struct tool *t, const struct tool_option *o,
                       const char *value);

/* "64K" and so on to bytes.  The unit must be written (b, s = 512 bytes, K,
 * M, G, T, P, E): a bare number means KiB to mdadm and bytes to nbdkit.  0 or
 * -EINVAL (no number, no unit), -ERANGE.
 */
extern int tool_parse_size (const char *text, uint64_t *ret_bytes);

/* Bytes in the shortest exact form: 64K, 1G, 513b.  BUF is returned. */
extern const char *tool_size_text (uint64_t bytes, char buf[32]);

/* mdadm's " (63.00 MiB 66.06 MB)"; empty for small sizes. */
extern const char *tool_human (uint64_t bytes, char buf[64]);

/* mdadm's short form in decimal units, "132.12MB". */
extern const char *tool_human_brief (uint64_t bytes, char buf[32]);

/* mdadm's form of a date, in local time; BUF is returned. */
extern const char *tool_date (uint64_t seconds, char buf[32]);

#endif
