/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Between the files params*.c only.  Main thread, before the fork.
 */
#ifndef URAID_PARAMS_INTERNAL_H
#define URAID_PARAMS_INTERNAL_H

#include "params.h"

struct param {
  const char *key;
  const char *value_name;   /* for --help */
  const char *help;         /* a few words */
  const char *default_text; /* as a user would write it; NULL = none */
  const char *allowed;      /* for messages */
  /* Put TEXT into *PTR.  0, or -1 after nbdkit_error. */
  int (*parse) (const struct param *p, const char *text);
  void *ptr;
  uint64_t min, max; /* for numbers and times (in ms) */
};

extern const struct param param_table[]; /* the last one has no key */

/* How many slots the array has, as far as the parameters tell. */
extern unsigned params_nr_members (void);

/* --- params_tune.c --- */
extern void params_tune_load (void);
extern void params_tune_unload (void);
extern const struct topology *params_topology (void);
/* KEY is a tunable.  0, or -1 after nbdkit_error. */
extern int params_tune_set (const char *key, const char *value);
extern unsigned params_tune_number (const char *key);
/* The Ith tunable as if it stood in param_table; no key if it may not be
 * given at the start.  False behind the last one.
 */
extern bool params_tune_at (unsigned i, struct param *ret);
extern void params_tune_dump (unsigned nr_members);

/* --- params_parse.c --- */

extern int parse_member (const struct param *p, const char *text);
extern int parse_members (const struct param *p, const char *text);
extern int parse_spare (const struct param *p, const char *text);
extern int parse_uuid (const struct param *p, const char *text);
extern int parse_name (const struct param *p, const char *text);
extern int parse_level (const struct param *p, const char *text);
extern int parse_layout (const struct param *p, const char *text);
extern int parse_chunk (const struct param *p, const char *text);
extern int parse_uint (const struct param *p, const char *text);
extern int parse_bool (const struct param *p, const char *text);
extern int parse_duration (const struct param *p, const char *text);
extern int parse_duration_or_0 (const struct param *p, const char *text);
extern int parse_duration_or_auto (const struct param *p, const char *text);
extern int parse_tls (const struct param *p, const char *text);
extern int parse_file (const struct param *p, const char *text);
extern int parse_string (const struct param *p, const char *text);
extern int parse_trim (const struct param *p, const char *text);

#endif
