/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tunables: texts into values, where values come from that nobody gave, and
 * what a change does.  The table is in tunables_table.c.  No I/O.
 *
 * Locks: t->lock around everything but the constant table.  It is taken
 * before any lock of the engine and by no thread that works for the engine.
 */
#include <config.h>

#include "tunables.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../stripecache/autosize.h"
#include "tunables_table.h"

#define AUTO INT64_MIN
#define SHOWN_BYTES 80

enum source { FROM_DEFAULT, FROM_AUTO, FROM_PROFILE, FROM_COMMAND, FROM_SET };

static const char *const source_text[] = {
    [FROM_DEFAULT] = "default", [FROM_AUTO] = "auto",
    [FROM_PROFILE] = "profile", [FROM_COMMAND] = "command line",
    [FROM_SET] = "set",
};

/* What was asked for; number AUTO: to be found by the rule. */
struct given {
  bool is_given, by_alias;
  enum source source;
  int64_t number;
};

struct now {
  enum source source;
  int64_t number;
};

/* All under lock. */
struct tunables {
  pthread_mutex_t lock;
  struct topology topo;
  unsigned nr_members;
  struct engine *engine; /* NULL: not attached */
  struct given given[TUNE_NR];
  struct now now[TUNE_NR];
};

/*----- The table -----*/

static bool
same_key (const char *a, const char *b)
{
  if (b == NULL)
    return false;
  for (; *a != '\0' && *b != '\0'; a++, b++)
    if ((*a == '-' ? '_' : *a) != *b)
      return false;
  return *a == *b;
}

/* An enum tune_id, or -1. */
static int
find (const char *key)
{
  for (int id = 0; id < TUNE_NR; id++)
    if (same_key (key, tune_table[id].key) ||
        same_key (key, tune_table[id].alias))
      return id;
  return -1;
}

/* TEXT for a message: what others sent may be long, and may be no text. */
static const char *
shown (const char *text, char buf[SHOWN_BYTES])
{
  size_t i;

  for (i = 0; i < SHOWN_BYTES - 1 && text[i] != '\0'; i++)
    buf[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
  buf[i] = '\0';
  return buf;
}

static int
find_or_error (const char *key, struct uraid_error *e)
{
  char buf[SHOWN_BYTES];
  int id = find (key);

  if (id >= 0)
    return id;
  return uraid_error_set (e, ENOENT,
                          "%s: there is no such tunable; list all to see them",
                          shown (key, buf));
}

const char *
tunables_key (const char *key)
{
  int id = find (key);

  return id < 0 ? NULL : tune_table[id].key;
}

const char *
tunables_allowed (const char *key)
{
  int id = find (key);

  return id < 0 ? NULL : tune_table[id].allowed;
}

unsigned
tunables_count (void)
{
  return TUNE_NR;
}

/*----- Texts into numbers -----*/

/* A whole number, perhaps with a minus; no blanks, plus or hexadecimal. */
static bool
parse_number (const char *text, int64_t *ret)
{
  const char *digits = text[0] == '-' ? text + 1 : text;
  long long n;

  if (digits[0] == '\0' || digits[strspn (digits, "0123456789")] != '\0')
    return false;
  errno = 0;
  n = strtoll (text, NULL, 10);
  *ret = n;
  return errno == 0;
}

static bool
parse_profile (const char *text, int64_t *ret)
{
  for (int p = 0; p < PROFILE_NR; p++)
    if (strcmp (text, tune_profile_text[p]) == 0) {
      *ret = p;
      return true;
    }
  return false;
}

/* RET: a number in the row's range, or AUTO. */
static bool
parse (const struct tune_row *row, const char *text, int64_t *ret)
{
  int64_t n;

  switch (row->type) {
  case TYPE_PROFILE:
    return parse_profile (text, ret);
  case TYPE_COUNTERS:
    *ret = 0;
    return true;
  case TYPE_NUMBER:
    break;
  }
  *ret = AUTO;
  if (row->has_auto && strcmp (text, "auto") == 0)
    return true;
  if (!parse_number (text, &n))
    return false;
  if (row->has_auto && n >= row->auto_min && n <= row->auto_max)
    return true;
  *ret = n;
  return n >= row->min && n <= row->max &&
         (!row->power_of_two || (n & (n - 1)) == 0);
}

static int
refuse (const struct tune_row *row, const char *text, struct uraid_error *e)
{
  char buf[SHOWN_BYTES];

  return uraid_error_set (e, EINVAL, "%s: %s: Invalid argument (allowed %s)",
                          row->key, shown (text, buf), row->allowed);
}

/* Everything above the cap becomes the cap. */
static void
cap (const struct tune_row *row, int64_t *n, char *note, size_t size)
{
  if (row->cap == 0 || *n <= row->cap)
    return;
  snprintf (note, size,
            "%s: %" PRId64 " is more than %" PRId64 ", which is used",
            row->key, *n, row->cap);
  *n = row->cap;
}

/*----- What nobody gave -----*/

static int64_t
auto_value (const struct tunables *t, enum tune_id id,
            enum tune_profile profile)
{
  switch ((int)id) {
  case TUNE_STRIPE_CACHE_SIZE:
    return autosize_stripe_cache_size (t->topo.ram_bytes, t->nr_members);
  case TUNE_STRIPE_CACHE_SIZE_MAX:
    return autosize_stripe_cache_max (t->topo.ram_bytes, t->nr_members);
  case TUNE_GROUP_THREAD_CNT:
    if (profile == PROFILE_TREE)
      return autosize_group_thread_cnt_tree (t->topo.nr_cpus);
    return autosize_group_thread_cnt (t->topo.nr_cpus, t->topo.nr_nodes);
  case TUNE_NR_STRIPE_HASH_LOCKS:
    return autosize_hash_locks (t->topo.nr_cpus);
  case TUNE_STRIPE_CACHE_SIZE_DEFAULT:
    return 0;
  case TUNE_GROUP_THREAD_CNT_DEFAULT:
    return -1;
  default:
    abort (); /* has_auto without a rule */
  }
}

/* The row that gives ID its value if it was not given itself, or -1. */
static int
default_row (enum tune_id id)
{
  return id == TUNE_STRIPE_CACHE_SIZE  ? TUNE_STRIPE_CACHE_SIZE_DEFAULT
         : id == TUNE_GROUP_THREAD_CNT ? TUNE_GROUP_THREAD_CNT_DEFAULT
                                       : -1;
}

static struct now
find_value (const struct tunables *t, enum tune_id id)
{
  const struct tune_row *row = &tune_table[id];
  const struct given *g = &t->given[id];
  enum tune_profile profile =
      t->given[TUNE_PROFILE].is_given
          ? (enum tune_profile)t->given[TUNE_PROFILE].number
          : PROFILE_AUTO;
  const char *text = row->profile[profile];
  struct now now = {FROM_DEFAULT, AUTO};

  if (!g->is_given && default_row (id) >= 0 &&
      t->given[default_row (id)].number != AUTO)
    g = &t->given[default_row (id)];
  if (g->is_given)
    now = (struct now){g->source, g->number};
  else if (text != NULL && parse (row, text, &now.number))
    now.source = FROM_PROFILE;
  else if (row->type == TYPE_NUMBER)
    parse (row, row->default_text, &now.number);
  else
    now.number = 0;
  if (now.number == AUTO) {
    now.number = auto_value (t, id, profile);
    /* 0 and -1 of the _default rows stand for themselves. */
    if (now.source != FROM_PROFILE && strcmp (row->default_text, "auto") == 0)
      now.source = FROM_AUTO;
  }
  return now;
}

/*----- Limits between them -----*/

static int
check_cache_size (const struct tunables *t, const struct now *now,
                  const char *key, struct uraid_error *e)
{
  int64_t n = now[TUNE_STRIPE_CACHE_SIZE].number;
  int64_t most = now[TUNE_STRIPE_CACHE_SIZE_MAX].number;

  if (n <= most)
    return 0;
  return uraid_error_set (
      e, ENOMEM,
      "%s: %" PRId64 ": Cannot allocate memory (%" PRIu64
      " bytes are needed with %u members; allowed 17..%" PRId64
      "; a larger stripe_cache_size_max at the start allows more)",
      key, n, autosize_stripe_cache_bytes ((uint64_t)n, t->nr_members),
      t->nr_members, most);
}

static int
check_threshold (const struct now *now, struct uraid_error *e)
{
  int64_t n = now[TUNE_PREREAD_BYPASS_THRESHOLD].number;
  int64_t most = now[TUNE_STRIPE_CACHE_SIZE].number;

  if (n <= most)
    return 0;
  return uraid_error_set (
      e, EINVAL,
      "%s: %" PRId64 ": Invalid argument (allowed 0..%" PRId64
      ", which is stripe_cache_size)",
      tune_table[TUNE_PREREAD_BYPASS_THRESHOLD].key, n, most);
}

int
tunables_complete (struct tunables *t, unsigned nr_members,
                   struct uraid_error *e)
{
  struct now now[TUNE_NR];
  unsigned old_members;
  const char *key;
  int id, r;

  pthread_mutex_lock (&t->lock);
  assert (t->engine == NULL);
  old_members = t->nr_members;
  t->nr_members = nr_members;
  for (id = 0; id < TUNE_NR; id++)
    now[id] = find_value (t, (enum tune_id)id);
  key = t->given[TUNE_STRIPE_CACHE_SIZE].is_given
            ? tune_table[TUNE_STRIPE_CACHE_SIZE].key
            : tune_table[TUNE_STRIPE_CACHE_SIZE_DEFAULT].key;
  r = check_cache_size (t, now, key, e);
  if (r == 0)
    r = check_threshold (now, e);
  if (r == 0)
    memcpy (t->now, now, sizeof t->now);
  else
    t->nr_members = old_members;
  pthread_mutex_unlock (&t->lock);
  return r;
}

/*----- Life -----*/

int
tunables_new (const struct topology *topo, struct tunables **ret)
{
  struct tunables *t = calloc (1, sizeof *t);

  if (t == NULL || pthread_mutex_init (&t->lock, NULL) != 0) {
    free (t);
    return -ENOMEM;
  }
  t->topo = *topo;
  t->nr_members = 1;
  for (int id = 0; id < TUNE_NR; id++) {
    t->given[id].number = AUTO;
    t->now[id] = find_value (t, (enum tune_id)id);
  }
  *ret = t;
  return 0;
}

void
tunables_free (struct tunables *t)
{
  if (t == NULL)
    return;
  pthread_mutex_destroy (&t->lock);
  free (t);
}

void
tunables_attach (struct tunables *t, struct engine *e)
{
  pthread_mutex_lock (&t->lock);
  t->engine = e;
  if (e != NULL)
    engine_set_stripe_cache_size (
        e, (unsigned)t->now[TUNE_STRIPE_CACHE_SIZE].number);
  pthread_mutex_unlock (&t->lock);
}

/*----- Set -----*/

static int
set_at_start (struct tunables *t, enum tune_id id, bool by_alias,
              int64_t number, struct uraid_error *e)
{
  const struct tune_row *row = &tune_table[id];
  struct given *g = &t->given[id];

  assert (t->engine == NULL);
  if (!tune_row_at_start (row))
    return uraid_error_set (e, EBUSY,
                            "%s: can only be written while the array is "
                            "served",
                            row->key);
  if (g->is_given && g->by_alias != by_alias)
    return uraid_error_set (e, EINVAL,
                            "%s and %s are two spellings of one parameter; "
                            "give one of them",
                            row->key, row->alias);
  *g = (struct given){true, by_alias, FROM_COMMAND, number};
  return 0;
}

/* The engine does what NUMBER says. */
static int
apply (struct tunables *t, enum tune_id id, int64_t number,
       struct uraid_error *e)
{
  unsigned n = (unsigned)number;

  switch ((int)id) {
  case TUNE_STRIPE_CACHE_SIZE:
    engine_set_stripe_cache_size (t->engine, n);
    return 0;
  case TUNE_GROUP_THREAD_CNT:
    return engine_set_group_thread_cnt (t->engine, n, e);
  case TUNE_MAX_STRIPE_BATCH:
    engine_set_max_stripe_batch (t->engine, n);
    return 0;
  case TUNE_PREREAD_BYPASS_THRESHOLD:
    engine_set_preread_bypass_threshold (t->engine, n);
    return 0;
  case TUNE_RMW_LEVEL:
    engine_set_rmw_level (t->engine, (int)number);
    return 0;
  case TUNE_SKIP_COPY:
    engine_set_skip_copy (t->engine, number != 0);
    return 0;
  default:
    abort (); /* CHANGES_RUN_TIME and nothing to do */
  }
}

/* A smaller cache takes the threshold with it. */
static void
lower_threshold (struct tunables *t, int64_t cache_size, char *note,
                 size_t size)
{
  struct now *now = &t->now[TUNE_PREREAD_BYPASS_THRESHOLD];

  if (now->number <= cache_size)
    return;
  snprintf (note, size,
            "preread_bypass_threshold: lowered from %" PRId64 " to %" PRId64
            " with stripe_cache_size",
            now->number, cache_size);
  now->number = cache_size;
  engine_set_preread_bypass_threshold (t->engine, (unsigned)cache_size);
}

static int
change (struct tunables *t, enum tune_id id, int64_t number,
        struct uraid_error *e, char *note, size_t size)
{
  struct now now[TUNE_NR], *new = &now[id];
  struct given old = t->given[id];
  int r;

  memcpy (now, t->now, sizeof now);
  t->given[id] = (struct given){true, false, FROM_SET, number};
  *new = find_value (t, id);
  if (new->number == t->now[id].number) {
    t->given[id] = old;
    return 0;
  }
  r = check_cache_size (t, now, tune_table[id].key, e);
  if (r == 0 && id == TUNE_PREREAD_BYPASS_THRESHOLD)
    r = check_threshold (now, e);
  if (r == 0)
    r = apply (t, id, new->number, e);
  if (r < 0) {
    t->given[id] = old;
    return r;
  }
  t->now[id] = *new;
  if (id == TUNE_STRIPE_CACHE_SIZE)
    lower_threshold (t, new->number, note, size);
  return 0;
}

static int
set_at_run_time (struct tunables *t, enum tune_id id, int64_t number,
                 struct uraid_error *e, char *note, size_t size)
{
  const struct tune_row *row = &tune_table[id];

  if (row->changes == CHANGES_START)
    return uraid_error_set (e, EBUSY,
                            "%s: can only be given when the server is started",
                            row->key);
  if (t->engine == NULL)
    return uraid_error_set (e, EBUSY, "%s: the array is not running",
                            row->key);
  if (row->type == TYPE_COUNTERS) {
    engine_reset_write_stats (t->engine);
    return 0;
  }
  return change (t, id, number, e, note, size);
}

int
tunables_set_text (struct tunables *t, const char *key, const char *text,
                   enum tune_origin origin, struct uraid_error *e, char *note,
                   size_t size)
{
  int id = find_or_error (key, e), r = 0;
  const struct tune_row *row;
  int64_t number;

  if (note == NULL)
    size = 0;
  if (size > 0)
    note[0] = '\0';
  if (id < 0)
    return id;
  row = &tune_table[id];
  if (row->changes == CHANGES_NEVER)
    return uraid_error_set (e, EROFS, "%s: is read-only", row->key);
  if (!parse (row, text, &number))
    return refuse (row, text, e);
  cap (row, &number, note, size);
  pthread_mutex_lock (&t->lock);
  if (origin == TUNE_COMMAND_LINE)
    r = set_at_start (t, (enum tune_id)id, same_key (key, row->alias), number,
                      e);
  else
    r = set_at_run_time (t, (enum tune_id)id, number, e, note, size);
  pthread_mutex_unlock (&t->lock);
  return r;
}

/*----- Get -----*/

static void
write_counters (const struct tunables *t, char *text, size_t size)
{
  struct engine_stats *s =
      t->engine == NULL ? NULL : engine_get_stats (t->engine);

  if (s == NULL)
    snprintf (text, size, "%s", tune_table[TUNE_WRITE_STATS].default_text);
  else
    snprintf (text, size,
              "full=%" PRIu64 " rcw=%" PRIu64 " rmw=%" PRIu64
              " prereads=%" PRIu64,
              atomic_load (&s->write_full), atomic_load (&s->write_rcw),
              atomic_load (&s->write_rmw), atomic_load (&s->prereads));
}

static int64_t
number_now (const struct tunables *t, enum tune_id id)
{
  struct stripecache_stats s = {0};

  if (id != TUNE_STRIPE_CACHE_ACTIVE)
    return t->now[id].number;
  if (t->engine != NULL)
    engine_cache_stats (t->engine, &s);
  return (int64_t)s.stripes;
}

static void
write_value (struct tunables *t, enum tune_id id, struct tunable_value *ret)
{
  switch (tune_table[id].type) {
  case TYPE_NUMBER:
    ret->is_number = true;
    ret->number = number_now (t, id);
    snprintf (ret->text, sizeof ret->text, "%" PRId64, ret->number);
    break;
  case TYPE_PROFILE:
    snprintf (ret->text, sizeof ret->text, "%s",
              tune_profile_text[t->now[id].number]);
    break;
  case TYPE_COUNTERS:
    write_counters (t, ret->text, sizeof ret->text);
    break;
  }
}

void
tunables_at (struct tunables *t, unsigned i, struct tunable_value *ret)
{
  const struct tune_row *row = &tune_table[i];

  assert (i < TUNE_NR);
  pthread_mutex_lock (&t->lock);
  *ret = (struct tunable_value){
      .key = row->key,
      .alias = row->alias,
      .value_name = row->value_name,
      .default_text = row->default_text,
      .allowed = row->allowed,
      .origin = source_text[t->now[i].source],
      .changes = tune_changes_text[row->changes],
      .help = row->help,
      .at_start = tune_row_at_start (row),
  };
  write_value (t, (enum tune_id)i, ret);
  pthread_mutex_unlock (&t->lock);
}

int
tunables_get (struct tunables *t, const char *key, struct tunable_value *ret,
              struct uraid_error *e)
{
  int id = find_or_error (key, e);

  if (id < 0)
    return id;
  tunables_at (t, (unsigned)id, ret);
  return 0;
}

int64_t
tunables_number (struct tunables *t, const char *key)
{
  struct tunable_value v = {0};
  int r = tunables_get (t, key, &v, NULL);

  assert (r == 0 && v.is_number);
  return v.number;
}
