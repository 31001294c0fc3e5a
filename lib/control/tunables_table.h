/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The table of tunables.  Constant data; for tunables.c and for the program
 * that writes their part of the manual page (man/tunables_pod.c).
 */
#ifndef URAID_TUNABLES_TABLE_H
#define URAID_TUNABLES_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Indexes of the table. */
enum tune_id {
  TUNE_PROFILE,
  TUNE_STRIPE_CACHE_SIZE,
  TUNE_STRIPE_CACHE_SIZE_DEFAULT,
  TUNE_STRIPE_CACHE_SIZE_MAX,
  TUNE_STRIPE_CACHE_ACTIVE,
  TUNE_GROUP_THREAD_CNT,
  TUNE_GROUP_THREAD_CNT_DEFAULT,
  TUNE_WORKER_WAKE_THRESHOLD,
  TUNE_MAX_STRIPE_BATCH,
  TUNE_PREREAD_BYPASS_THRESHOLD,
  TUNE_NR_STRIPE_HASH_LOCKS,
  TUNE_RMW_LEVEL,
  TUNE_SKIP_COPY,
  TUNE_STRIPE_SIZE,
  TUNE_WRITE_STATS,
  TUNE_NR,
};

enum tune_profile { PROFILE_AUTO, PROFILE_STOCK, PROFILE_TREE, PROFILE_NR };

enum tune_changes { CHANGES_START, CHANGES_RUN_TIME, CHANGES_NEVER };

enum tune_type {
  TYPE_NUMBER,
  TYPE_PROFILE,  /* a word; its number is an enum tune_profile */
  TYPE_COUNTERS, /* several numbers; a write of anything makes them 0 */
};

struct tune_row {
  const char *key, *alias, *value_name;
  enum tune_type type;
  enum tune_changes changes;
  int64_t min, max;
  /* Numbers that mean "auto", as the word does; none if has_auto is not set.
   */
  bool has_auto;
  int64_t auto_min, auto_max;
  int64_t cap; /* what is above becomes this, with a remark; 0: nothing */
  bool power_of_two;
  const char *default_text;
  const char *profile[PROFILE_NR]; /* instead of the default; NULL: none */
  const char *allowed;
  const char *help; /* a few words */
  const char *pod;  /* paragraphs for the manual page */
};

extern const struct tune_row tune_table[TUNE_NR];
extern const char *const tune_changes_text[]; /* by enum tune_changes */
extern const char *const tune_profile_text[PROFILE_NR];

/* May the key stand on the command line? */
extern bool tune_row_at_start (const struct tune_row *row);

#endif
