/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What can be tuned: md's attributes of a raid456 array and the parameters
 * that steer uraid's automatic values.  One table (tunables_table.c) makes
 * the plugin's parameters, "uraid get" and "uraid set" and their part of the
 * manual page.
 *
 * Life: tunables_new -> tunables_set_text (command line) ->
 * tunables_complete, once or more -> tunables_attach -> set and get at run
 * time -> tunables_attach (NULL) -> tunables_free.
 *
 * Threads: after tunables_attach any thread but a lane's or a worker's.  One
 * mutex inside; it is held while the engine makes a change, and the data path
 * never takes it.
 */
#ifndef URAID_TUNABLES_H
#define URAID_TUNABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine/engine.h"
#include "../md_layout/uraid_error.h"
#include "../stripecache/topology.h"

struct tunables;

enum tune_origin { TUNE_COMMAND_LINE, TUNE_RUNTIME };

/* Texts are constants, but for the value itself. */
struct tunable_value {
  const char *key;
  const char *alias;      /* second spelling, or NULL */
  const char *value_name; /* for help: "N" */
  const char *default_text;
  const char *allowed; /* "17..262144" */
  const char *origin; /* "default", "auto", "profile", "command line", "set" */
  const char *changes; /* "start", "run time", "read-only" */
  const char *help;    /* a few words */
  bool at_start;       /* may stand on the command line */
  bool is_number;
  int64_t number; /* if is_number */
  char text[128];
};

/* Everything at its default for the machine T (copied).  0 or -ENOMEM. */
extern int tunables_new (const struct topology *topo, struct tunables **ret);
extern void tunables_free (struct tunables *t);

/* Is KEY a tunable, in either spelling?  "-" and "_" are the same.  NULL, or
 * the key as it is written in lists.
 */
extern const char *tunables_key (const char *key);
/* What KEY may be ("17..262144"), for error answers; NULL: no such key. */
extern const char *tunables_allowed (const char *key);

/* Give KEY the value TEXT.  TUNE_COMMAND_LINE (before tunables_attach): it is
 * checked and kept.  TUNE_RUNTIME (after it): the engine does it at once; if
 * it is refused the old value stays; the value it has already changes
 * nothing.
 *
 * NOTE (SIZE bytes, may be NULL) gets one line if something is worth saying
 * in the log, else "".  0 or -errno with a text: -ENOENT no such key, -EINVAL
 * not allowed, -ENOMEM more than stripe_cache_size_max or not enough memory,
 * -EROFS read-only, -EBUSY not at this time.
 */
extern int tunables_set_text (struct tunables *t, const char *key,
                              const char *text, enum tune_origin origin,
                              struct uraid_error *e, char *note, size_t size);

/* All start parameters were given and the array has NR_MEMBERS slots: find
 * the values of all that was not given (profile, *_default, automatic), and
 * check that they fit together.  Again whenever the number is known better,
 * but before tunables_attach.  0, or -EINVAL or -ENOMEM with a text: then
 * nothing has changed.
 */
extern int tunables_complete (struct tunables *t, unsigned nr_members,
                              struct uraid_error *e);

/* E was made with the values of T.  From now on changes go to it and read-outs
 * come from it.  (The stripe cache's size is set once more: it depends on the
 * number of slots.)  E = NULL: it is about to be freed, let go.
 */
extern void tunables_attach (struct tunables *t, struct engine *e);

/* The value of a tunable that is a number.  The key must exist. */
extern int64_t tunables_number (struct tunables *t, const char *key);

/* One tunable.  0, or -ENOENT with a text. */
extern int tunables_get (struct tunables *t, const char *key,
                         struct tunable_value *ret, struct uraid_error *e);
/* All of them, I from 0 to tunables_count () - 1, in the table's order. */
extern unsigned tunables_count (void);
extern void tunables_at (struct tunables *t, unsigned i,
                         struct tunable_value *ret);

#endif
