/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/control/tunables.c and tunables_json.c: ranges and refusals,
 * where values come from, changes at run time and what they say, the JSON
 * shape.  The engine's setters are replaced by ones that keep what they were
 * told, so the source is included.  Single-threaded.
 * Run alone: tests/unit/test-tunables (CK_FORK=no to debug).
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <jansson.h>

#include "../../lib/engine/engine.h"

/*----- An engine that only remembers -----*/

static struct {
  unsigned cache, threads, batch, threshold, resets, calls;
  int rmw_level, threads_err;
  bool skip_copy;
  struct engine_stats stats;
} fake;

static void
fake_cache (unsigned n)
{
  fake.cache = n;
  fake.calls++;
}

static int
fake_threads (unsigned n, struct uraid_error *err)
{
  fake.calls++;
  if (fake.threads_err != 0)
    return uraid_error_set (err, fake.threads_err, "no threads to be had");
  fake.threads = n;
  return 0;
}

#define engine_set_stripe_cache_size(e, n) ((void)(e), fake_cache (n))
#define engine_set_rmw_level(e, n)                                            \
  ((void)(e), fake.calls++, fake.rmw_level = (n))
#define engine_set_skip_copy(e, n) (fake.calls++, fake.skip_copy = (n))
#define engine_set_group_thread_cnt(e, n, err)                                \
  ((void)(e), fake_threads (n, err))
#define engine_set_max_stripe_batch(e, n) (fake.calls++, fake.batch = (n))
#define engine_set_preread_bypass_threshold(e, n)                             \
  (fake.calls++, fake.threshold = (n))
#define engine_reset_write_stats(e) ((void)(e), fake.resets++)
#define engine_get_stats(e) (&fake.stats)
#define engine_cache_stats(e, ret) ((void)(e), (ret)->stripes = 77)

#include "../../lib/control/tunables.c"
#include "../../lib/control/tunables_json.h"

#define ENGINE ((struct engine *)&fake)
#define GIB(n) ((uint64_t)(n) << 30)
#define NR(table) ((int)(sizeof (table) / sizeof (table)[0]))

static struct tunables *t;
static struct uraid_error err;
static char note[256];

static void
make (unsigned cpus, unsigned nodes, uint64_t ram)
{
  struct topology topo = {
      .nr_cpus = cpus, .nr_nodes = nodes, .ram_bytes = ram, .faked = true};

  tunables_free (t);
  memset (&fake, 0, sizeof fake);
  ck_assert_int_eq (tunables_new (&topo, &t), 0);
}

static void
setup (void)
{
  make (4, 1, GIB (8));
}

static void
teardown (void)
{
  tunables_free (t);
  t = NULL;
}

static int
start (const char *key, const char *text)
{
  return tunables_set_text (t, key, text, TUNE_COMMAND_LINE, &err, note,
                            sizeof note);
}

static int
change_to (const char *key, const char *text)
{
  return tunables_set_text (t, key, text, TUNE_RUNTIME, &err, note,
                            sizeof note);
}

static int
complete (unsigned members)
{
  return tunables_complete (t, members, &err);
}

static void
run (void)
{
  ck_assert_msg (complete (6) == 0, "%s", err.text);
  tunables_attach (t, ENGINE);
  fake.calls = 0;
}

static int64_t
number (const char *key)
{
  return tunables_number (t, key);
}

static const char *
origin (const char *key)
{
  struct tunable_value v;

  ck_assert_int_eq (tunables_get (t, key, &v, &err), 0);
  return v.origin;
}

/*----- Ranges -----*/

static const struct {
  const char *key, *good[8], *bad[12], *allowed;
} ranges[] = {
    {"stripe_cache_size",
     {"17", "256", "32768", "auto"},
     {"16", "262145", "-1", "0", "", "4K", "0x100", " 256", "+256",
      "99999999999999999999"},
     "(allowed 17..262144)"},
    {"stripe_cache_size_default",
     {"0", "17", "1000", "auto"},
     {"16", "-1", "262145", "x"},
     "(allowed 0, 17..262144)"},
    {"stripe_cache_size_max",
     {"0", "auto", "32768", "262144"},
     {"32767", "262145", "-1", "17"},
     "(allowed 0, 32768..262144)"},
    {"group_thread_cnt",
     {"-1", "0", "8192", "auto"},
     {"-2", "8193", "", "all", "1.5"},
     "(allowed -1, 0..8192)"},
    {"group_thread_cnt_default",
     {"-1", "-5", "0", "5", "256", "300", "auto"},
     {"many", "", "5x", "99999999999999999999"},
     "(allowed -1, 0..256)"},
    {"nr_stripe_hash_locks",
     {"0", "8", "16", "32", "auto"},
     {"7", "12", "64", "4", "-8", "eight"},
     "(allowed 0, 8, 16, 32)"},
    {"max_stripe_batch",
     {"1", "8", "256"},
     {"0", "257", "-1", "auto"},
     "(allowed 1..256)"},
    {"preread_bypass_threshold",
     {"0", "1", "256"},
     {"-1", "262145", "auto"},
     "(allowed 0..stripe_cache_size)"},
    {"rmw_level", {"0", "1", "2"}, {"3", "-1", "auto"}, "(allowed 0, 1, 2)"},
    {"skip_copy", {"0", "1"}, {"2", "-1", "yes"}, "(allowed 0, 1)"},
    {"profile",
     {"auto", "stock", "tree"},
     {"", "Stock", "0", "fast"},
     "(allowed auto, stock, tree)"},
};

START_TEST (range)
{
  const char *key = ranges[_i].key;
  char want[128];

  for (int i = 0; i < 12 && ranges[_i].bad[i] != NULL; i++) {
    const char *bad = ranges[_i].bad[i];

    ck_assert_msg (start (key, bad) == -EINVAL, "%s=%s", key, bad);
    ck_assert_int_eq (err.err, EINVAL);
    snprintf (want, sizeof want, "%s: %s: Invalid argument ", key, bad);
    ck_assert_msg (strncmp (err.text, want, strlen (want)) == 0, "%s",
                   err.text);
    ck_assert_str_eq (err.text + strlen (want), ranges[_i].allowed);
  }
  for (int i = 0; i < 8 && ranges[_i].good[i] != NULL; i++) {
    ck_assert_msg (start (key, ranges[_i].good[i]) == 0, "%s", err.text);
    ck_assert_msg (complete (6) == 0, "%s", err.text);
  }
}
END_TEST

/* Every row that can be given is in the table above. */
START_TEST (ranges_are_whole)
{
  struct tunable_value v;

  for (unsigned i = 0; i < tunables_count (); i++) {
    int j = 0;

    tunables_at (t, i, &v);
    while (j < NR (ranges) && strcmp (ranges[j].key, v.key) != 0)
      j++;
    ck_assert_msg (v.at_start == (j < NR (ranges)), "%s", v.key);
    ck_assert (strlen (v.help) > 5 && strlen (tune_table[i].pod) > 20);
    ck_assert_str_eq (tunables_allowed (v.key), v.allowed);
  }
}
END_TEST

START_TEST (keys)
{
  ck_assert_str_eq (tunables_key ("stripe-cache_size"), "stripe_cache_size");
  ck_assert_str_eq (tunables_key ("default-group-thread-cnt"),
                    "group_thread_cnt_default");
  ck_assert_ptr_null (tunables_key ("stripe_cache"));
  ck_assert_ptr_null (tunables_key ("stripe_cache_sizes"));
  ck_assert_ptr_null (tunables_key (""));
  ck_assert_int_eq (start ("sync_thread_cnt", "2"), -ENOENT);
  ck_assert_ptr_nonnull (strstr (err.text, "sync_thread_cnt: "));
  ck_assert_int_eq (start ("x\nb\xc3\xa4", "2"), -ENOENT);
  ck_assert_int_eq (strncmp (err.text, "x?b??: ", 7), 0);
}
END_TEST

START_TEST (read_only)
{
  static const char *const names[] = {"worker_wake_threshold", "stripe_size",
                                      "stripe_cache_active"};

  for (int i = 0; i < NR (names); i++)
    ck_assert_int_eq (start (names[i], "8"), -EROFS);
  ck_assert_int_eq (start ("write_stats", "0"), -EBUSY);
  run ();
  for (int i = 0; i < NR (names); i++)
    ck_assert_int_eq (change_to (names[i], "8"), -EROFS);
  ck_assert_int_eq (number ("worker_wake_threshold"), 8);
  ck_assert_int_eq (number ("stripe_size"), 4096);
  ck_assert_int_eq (number ("stripe_cache_active"), 77);
}
END_TEST

/*----- Where values come from -----*/

START_TEST (small_machine)
{
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 256);
  ck_assert_int_eq (number ("stripe_cache_size_max"), 32768);
  ck_assert_int_eq (number ("nr_stripe_hash_locks"), 8);
  ck_assert_int_eq (number ("max_stripe_batch"), 8);
  ck_assert_int_eq (number ("group_thread_cnt"), 2);
  ck_assert_int_eq (number ("rmw_level"), 1);
  ck_assert_int_eq (number ("skip_copy"), 1);
  ck_assert_int_eq (number ("preread_bypass_threshold"), 1);
  ck_assert_str_eq (origin ("stripe_cache_size"), "auto");
  ck_assert_str_eq (origin ("stripe_cache_size_default"), "default");
  ck_assert_str_eq (origin ("group_thread_cnt_default"), "default");
  ck_assert_str_eq (origin ("max_stripe_batch"), "default");
  ck_assert_str_eq (origin ("profile"), "default");
}
END_TEST

START_TEST (number_of_members)
{
  make (32, 2, GIB (64));
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 4096);
  ck_assert_int_eq (complete (8), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 3584);
  ck_assert_int_eq (number ("stripe_cache_size_max"), 131072);
  ck_assert_int_eq (number ("group_thread_cnt"), 8);
  ck_assert_int_eq (number ("nr_stripe_hash_locks"), 32);
}
END_TEST

START_TEST (stock)
{
  struct autosize_values v;

  make (128, 2, GIB (256));
  autosize_profile (AUTOSIZE_PROFILE_STOCK, &t->topo, 12, &v);
  ck_assert_int_eq (start ("profile", "stock"), 0);
  ck_assert_int_eq (complete (12), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 256);
  ck_assert_int_eq (number ("stripe_cache_size_max"), 32768);
  ck_assert_int_eq (number ("nr_stripe_hash_locks"), 8);
  ck_assert_int_eq (number ("max_stripe_batch"), 8);
  ck_assert_int_eq (number ("group_thread_cnt"), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), v.stripe_cache_size);
  ck_assert_int_eq (number ("stripe_cache_size_max"), v.stripe_cache_size_max);
  ck_assert_int_eq (number ("nr_stripe_hash_locks"), v.nr_stripe_hash_locks);
  ck_assert_int_eq (number ("max_stripe_batch"), v.max_stripe_batch);
  ck_assert_int_eq (number ("group_thread_cnt"), v.group_thread_cnt);
  ck_assert_str_eq (origin ("stripe_cache_size"), "profile");
  ck_assert_str_eq (origin ("profile"), "command line");

  ck_assert_int_eq (start ("stripe_cache_size", "32769"), 0);
  ck_assert_int_eq (complete (12), -ENOMEM);
  ck_assert_int_eq (number ("stripe_cache_size"), 256);
  ck_assert_int_eq (start ("stripe_cache_size", "32768"), 0);
  ck_assert_int_eq (complete (12), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 32768);
}
END_TEST

/* What is given goes before the profile, each alone. */
START_TEST (stock_but)
{
  static const struct {
    const char *key, *text;
    const char *shows;
    int64_t value;
  } one[] = {
      {"stripe_cache_size", "1000", "stripe_cache_size", 1000},
      {"stripe_cache_size", "auto", "stripe_cache_size", 4096},
      {"stripe_cache_size_default", "1000", "stripe_cache_size", 1000},
      {"stripe_cache_size_default", "0", "stripe_cache_size", 256},
      {"stripe_cache_size_max", "auto", "stripe_cache_size_max", 262144},
      {"stripe_cache_size_max", "40000", "stripe_cache_size_max", 40000},
      {"group_thread_cnt", "3", "group_thread_cnt", 3},
      {"group_thread_cnt", "-1", "group_thread_cnt", 32},
      {"group_thread_cnt_default", "4", "group_thread_cnt", 4},
      {"group_thread_cnt_default", "-1", "group_thread_cnt", 0},
      {"nr_stripe_hash_locks", "16", "nr_stripe_hash_locks", 16},
      {"nr_stripe_hash_locks", "0", "nr_stripe_hash_locks", 32},
      {"max_stripe_batch", "32", "max_stripe_batch", 32},
  };

  for (int i = 0; i < NR (one); i++) {
    make (128, 2, GIB (256));
    ck_assert_int_eq (start (one[i].key, one[i].text), 0);
    ck_assert_int_eq (start ("profile", "stock"), 0);
    ck_assert_int_eq (complete (12), 0);
    ck_assert_msg (number (one[i].shows) == one[i].value, "%s=%s: %ld",
                   one[i].key, one[i].text, (long)number (one[i].shows));
  }
}
END_TEST

START_TEST (tree)
{
  static const unsigned cases[][2] = {{1, 0}, {2, 1}, {4, 2}, {32, 2}};
  struct autosize_values v;

  for (int i = 0; i < NR (cases); i++) {
    make (cases[i][0], 1, GIB (64));
    autosize_profile (AUTOSIZE_PROFILE_TREE, &t->topo, 8, &v);
    ck_assert_int_eq (start ("profile", "tree"), 0);
    ck_assert_int_eq (complete (8), 0);
    ck_assert_int_eq (number ("group_thread_cnt"), cases[i][1]);
    ck_assert_int_eq (number ("stripe_cache_size"), v.stripe_cache_size);
    ck_assert_int_eq (number ("stripe_cache_size_max"),
                      v.stripe_cache_size_max);
    ck_assert_int_eq (number ("nr_stripe_hash_locks"), v.nr_stripe_hash_locks);
    ck_assert_int_eq (number ("max_stripe_batch"), v.max_stripe_batch);
    ck_assert_str_eq (origin ("group_thread_cnt"), "profile");
    ck_assert_int_eq (start ("group_thread_cnt", "-1"), 0);
    ck_assert_int_eq (complete (8), 0);
    ck_assert_int_eq (number ("group_thread_cnt"), cases[i][1]);
    ck_assert_str_eq (origin ("group_thread_cnt"), "auto");
  }
}
END_TEST

START_TEST (defaults)
{
  static const struct {
    const char *text;
    int64_t want;
    bool remark;
  } threads[] = {{"-1", 2, false}, {"-77", 2, false},   {"0", 0, false},
                 {"5", 5, false},  {"256", 256, false}, {"300", 256, true}};

  for (int i = 0; i < NR (threads); i++) {
    make (4, 1, GIB (8));
    ck_assert_int_eq (start ("group_thread_cnt_default", threads[i].text), 0);
    ck_assert_msg ((note[0] != '\0') == threads[i].remark, "%s: \"%s\"",
                   threads[i].text, note);
    ck_assert_int_eq (complete (6), 0);
    ck_assert_int_eq (number ("group_thread_cnt"), threads[i].want);
  }
  ck_assert_ptr_nonnull (strstr (note, "300"));
  ck_assert_ptr_nonnull (strstr (note, "256"));
  ck_assert_int_eq (number ("group_thread_cnt_default"), 256);
  ck_assert_int_eq (start ("stripe_cache_size_default", "1000"), 0);
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 1000);
  ck_assert_str_eq (origin ("stripe_cache_size"), "command line");
  ck_assert_int_eq (start ("stripe_cache_size", "500"), 0);
  ck_assert_int_eq (start ("group_thread_cnt", "300"), 0);
  ck_assert_str_eq (note, "");
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (number ("stripe_cache_size"), 500);
  ck_assert_int_eq (number ("group_thread_cnt"), 300);
}
END_TEST

START_TEST (two_spellings)
{
  ck_assert_int_eq (start ("default_group_thread_cnt", "5"), 0);
  ck_assert_int_eq (start ("default-group-thread-cnt", "6"), 0);
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (number ("group_thread_cnt"), 6);
  ck_assert_int_eq (start ("group_thread_cnt_default", "7"), -EINVAL);
  ck_assert_ptr_nonnull (strstr (err.text, "default_group_thread_cnt"));
  make (4, 1, GIB (8));
  ck_assert_int_eq (start ("group_thread_cnt_default", "5"), 0);
  ck_assert_int_eq (start ("group_thread_cnt_default", "6"), 0);
  ck_assert_int_eq (start ("default_group_thread_cnt", "6"), -EINVAL);
}
END_TEST

START_TEST (too_large_a_cache)
{
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (start ("stripe_cache_size", "40000"), 0);
  ck_assert_int_eq (complete (6), -ENOMEM);
  ck_assert_int_eq (strncmp (err.text, "stripe_cache_size: 40000: ", 26), 0);
  /* 40000 * 6 * 4096 */
  ck_assert_ptr_nonnull (strstr (err.text, "983040000 bytes"));
  ck_assert_ptr_nonnull (strstr (err.text, "allowed 17..32768"));
  ck_assert_int_eq (number ("stripe_cache_size"), 256);
  ck_assert_int_eq (start ("stripe_cache_size_max", "262144"), 0);
  ck_assert_int_eq (start ("stripe_cache_size", "262144"), 0);
  ck_assert_int_eq (complete (6), 0);
  make (4, 1, GIB (8));
  ck_assert_int_eq (start ("stripe_cache_size_default", "40000"), 0);
  ck_assert_int_eq (complete (6), -ENOMEM);
  ck_assert_int_eq (strncmp (err.text, "stripe_cache_size_default: ", 27), 0);
}
END_TEST

START_TEST (too_large_a_threshold)
{
  ck_assert_int_eq (start ("preread_bypass_threshold", "257"), 0);
  ck_assert_int_eq (complete (6), -EINVAL);
  ck_assert_ptr_nonnull (strstr (err.text, "257"));
  ck_assert_ptr_nonnull (strstr (err.text, "0..256"));
  ck_assert_int_eq (start ("stripe_cache_size", "257"), 0);
  ck_assert_int_eq (complete (6), 0);
}
END_TEST

/*----- Run time -----*/

START_TEST (attach)
{
  ck_assert_int_eq (complete (6), 0);
  ck_assert_int_eq (change_to ("rmw_level", "2"), -EBUSY);
  tunables_attach (t, ENGINE);
  ck_assert_uint_eq (fake.cache, 256);
  ck_assert_int_eq (change_to ("rmw_level", "2"), 0);
  ck_assert_int_eq (fake.rmw_level, 2);
  tunables_attach (t, NULL);
  ck_assert_int_eq (change_to ("rmw_level", "0"), -EBUSY);
  ck_assert_int_eq (number ("rmw_level"), 2);
}
END_TEST

START_TEST (change_values)
{
  run ();
  ck_assert_int_eq (change_to ("stripe_cache_size", "17"), 0);
  ck_assert_uint_eq (fake.cache, 17);
  ck_assert_str_eq (note, "");
  ck_assert_int_eq (change_to ("stripe_cache_size", "32768"), 0);
  ck_assert_uint_eq (fake.cache, 32768);
  ck_assert_int_eq (change_to ("stripe-cache-size", "auto"), 0);
  ck_assert_uint_eq (fake.cache, 256);
  ck_assert_str_eq (origin ("stripe_cache_size"), "auto");
  ck_assert_int_eq (change_to ("group_thread_cnt", "8192"), 0);
  ck_assert_uint_eq (fake.threads, 8192);
  ck_assert_str_eq (origin ("group_thread_cnt"), "set");
  ck_assert_int_eq (change_to ("group_thread_cnt", "-1"), 0);
  ck_assert_uint_eq (fake.threads, 2);
  ck_assert_int_eq (change_to ("group_thread_cnt", "0"), 0);
  ck_assert_uint_eq (fake.threads, 0);
  ck_assert_int_eq (change_to ("max_stripe_batch", "32"), 0);
  ck_assert_uint_eq (fake.batch, 32);
  ck_assert_int_eq (number ("worker_wake_threshold"), 8);
  ck_assert_int_eq (change_to ("preread_bypass_threshold", "16"), 0);
  ck_assert_uint_eq (fake.threshold, 16);
  fake.skip_copy = true;
  ck_assert_int_eq (change_to ("skip_copy", "0"), 0);
  ck_assert (!fake.skip_copy);
  ck_assert_uint_eq (fake.calls, 9);
}
END_TEST

START_TEST (refused_changes)
{
  static const struct {
    const char *key, *text;
    int want;
  } cases[] = {
      {"stripe_cache_size", "16", -EINVAL},
      {"stripe_cache_size", "262145", -EINVAL},
      {"stripe_cache_size", "32769", -ENOMEM},
      {"group_thread_cnt", "8193", -EINVAL},
      {"group_thread_cnt", "-2", -EINVAL},
      {"max_stripe_batch", "0", -EINVAL},
      {"max_stripe_batch", "257", -EINVAL},
      {"preread_bypass_threshold", "257", -EINVAL},
      {"rmw_level", "3", -EINVAL},
      {"skip_copy", "2", -EINVAL},
      {"profile", "stock", -EBUSY},
      {"stripe_cache_size_default", "256", -EBUSY},
      {"stripe_cache_size_max", "262144", -EBUSY},
      {"group_thread_cnt_default", "5", -EBUSY},
      {"default_group_thread_cnt", "5", -EBUSY},
      {"nr_stripe_hash_locks", "16", -EBUSY},
      {"sync_thread_cnt", "2", -ENOENT},
  };

  run ();
  for (int i = 0; i < NR (cases); i++) {
    struct tunable_value before, after;

    memset (&before, 0, sizeof before);
    memset (&after, 0, sizeof after);
    tunables_get (t, cases[i].key, &before, NULL);
    err.err = 0;
    ck_assert_msg (change_to (cases[i].key, cases[i].text) == cases[i].want,
                   "%s %s: %s", cases[i].key, cases[i].text, err.text);
    ck_assert_int_eq (err.err, -cases[i].want);
    tunables_get (t, cases[i].key, &after, NULL);
    ck_assert_str_eq (before.text, after.text);
    ck_assert_ptr_eq (before.origin, after.origin);
  }
  ck_assert_uint_eq (fake.calls, 0);
}
END_TEST

START_TEST (same_value)
{
  run ();
  ck_assert_int_eq (change_to ("group_thread_cnt", "2"), 0);
  ck_assert_int_eq (change_to ("group_thread_cnt", "auto"), 0);
  ck_assert_int_eq (change_to ("stripe_cache_size", "256"), 0);
  ck_assert_int_eq (change_to ("skip_copy", "1"), 0);
  ck_assert_uint_eq (fake.calls, 0);
  ck_assert_str_eq (origin ("group_thread_cnt"), "auto");
}
END_TEST

START_TEST (engine_fails)
{
  run ();
  fake.threads_err = ENOMEM;
  ck_assert_int_eq (change_to ("group_thread_cnt", "8"), -ENOMEM);
  ck_assert_ptr_nonnull (strstr (err.text, "no threads"));
  ck_assert_int_eq (number ("group_thread_cnt"), 2);
  ck_assert_str_eq (origin ("group_thread_cnt"), "auto");
}
END_TEST

START_TEST (threshold_is_lowered)
{
  run ();
  ck_assert_int_eq (change_to ("preread_bypass_threshold", "100"), 0);
  ck_assert_int_eq (change_to ("stripe_cache_size", "100"), 0);
  ck_assert_str_eq (note, "");
  ck_assert_int_eq (change_to ("stripe_cache_size", "50"), 0);
  ck_assert_ptr_nonnull (strstr (note, "from 100 to 50"));
  ck_assert_int_eq (number ("preread_bypass_threshold"), 50);
  ck_assert_uint_eq (fake.threshold, 50);
  ck_assert_int_eq (change_to ("stripe_cache_size", "256"), 0);
  ck_assert_int_eq (number ("preread_bypass_threshold"), 50);
}
END_TEST

START_TEST (counters)
{
  struct tunable_value v;

  run ();
  atomic_store (&fake.stats.write_full, 10);
  atomic_store (&fake.stats.write_rcw, 7);
  atomic_store (&fake.stats.write_rmw, 5);
  atomic_store (&fake.stats.prereads, 29);
  tunables_get (t, "write_stats", &v, &err);
  ck_assert_str_eq (v.text, "full=10 rcw=7 rmw=5 prereads=29");
  ck_assert (!v.is_number && !v.at_start);
  ck_assert_int_eq (change_to ("write_stats", "any thing"), 0);
  ck_assert_uint_eq (fake.resets, 1);
}
END_TEST

/*----- JSON -----*/

static json_t *
params_of (const char *text)
{
  json_t *j = json_loads (text, 0, NULL);

  ck_assert_ptr_nonnull (j);
  return j;
}

static const char *
text_at (json_t *list, const char *key, const char *field)
{
  json_t *one = json_object_get (json_object_get (list, "tunables"), key);
  const char *s = json_string_value (json_object_get (one, field));

  ck_assert_msg (s != NULL, "%s.%s", key, field);
  return s;
}

START_TEST (json_list)
{
  json_t *j, *one;

  run ();
  j = tunables_json_list (t);
  ck_assert_str_eq (json_string_value (json_object_get (j, "schema")),
                    "uraid/1");
  ck_assert_uint_eq (json_object_size (json_object_get (j, "tunables")),
                     tunables_count ());
  one = json_object_get (json_object_get (j, "tunables"), "stripe_cache_size");
  ck_assert_uint_eq (json_object_size (one), 6);
  ck_assert_int_eq (json_integer_value (json_object_get (one, "value")), 256);
  ck_assert_str_eq (text_at (j, "stripe_cache_size", "default"), "auto");
  ck_assert_str_eq (text_at (j, "stripe_cache_size", "allowed"), "17..262144");
  ck_assert_str_eq (text_at (j, "stripe_cache_size", "origin"), "auto");
  ck_assert_str_eq (text_at (j, "stripe_cache_size", "changes"), "run time");
  ck_assert_str_eq (text_at (j, "profile", "value"), "auto");
  ck_assert_str_eq (text_at (j, "stripe_size", "changes"), "read-only");
  json_decref (j);
}
END_TEST

START_TEST (json_get)
{
  static const char *const bad[] = {"{}", "3", "{\"keys\":\"a\"}", "[1]",
                                    "{\"keys\":[null]}"};
  json_t *p, *j;

  run ();
  p = params_of ("{\"keys\":[\"rmw_level\",\"default_group_thread_cnt\"]}");
  j = tunables_json_get (t, p, &err);
  ck_assert_uint_eq (json_object_size (json_object_get (j, "tunables")), 2);
  ck_assert_str_eq (text_at (j, "group_thread_cnt_default", "default"), "-1");
  json_decref (p);
  json_decref (j);
  p = params_of ("[\"rmw_level\", \"nonsense\"]");
  ck_assert_ptr_null (tunables_json_get (t, p, &err));
  ck_assert_int_eq (err.err, ENOENT);
  json_decref (p);
  for (int i = 0; i < NR (bad); i++) {
    p = json_loads (bad[i], JSON_DECODE_ANY, NULL);
    ck_assert_ptr_null (tunables_json_get (t, p, &err));
    ck_assert_int_eq (err.err, EINVAL);
    json_decref (p);
  }
  ck_assert_ptr_null (tunables_json_get (t, NULL, &err));
}
END_TEST

static json_t *
json_change (const char *text)
{
  json_t *p = params_of (text), *j;

  err.err = 0;
  j = tunables_json_set (t, p, &err);
  json_decref (p);
  return j;
}

START_TEST (json_set)
{
  static const char *const bad[] = {
      "{}",
      "[]",
      "{\"key\":\"rmw_level\"}",
      "{\"value\":\"1\"}",
      "{\"key\":1,\"value\":1}",
      "{\"key\":\"rmw_level\",\"value\":1.5}",
      "{\"key\":\"rmw_level\",\"value\":true}",
      "{\"key\":\"rmw_level\",\"value\":null}",
      "{\"key\":\"rmw_level\",\"value\":3}",
      "{\"key\":\"group_thread_cnt\",\"value\":-9223372036854775808}",
  };
  json_t *j;

  run ();
  j = json_change ("{\"key\":\"stripe_cache_size\",\"value\":\"4096\"}");
  ck_assert_int_eq (json_integer_value (json_object_get (j, "value")), 4096);
  ck_assert_int_eq (json_integer_value (json_object_get (j, "previous")), 256);
  ck_assert_ptr_null (json_object_get (j, "note"));
  json_decref (j);
  change_to ("preread_bypass_threshold", "100");
  j = json_change ("{\"key\":\"stripe-cache-size\",\"value\":99}");
  ck_assert_str_eq (json_string_value (json_object_get (j, "key")),
                    "stripe_cache_size");
  ck_assert_ptr_nonnull (json_string_value (json_object_get (j, "note")));
  json_decref (j);
  for (int i = 0; i < NR (bad); i++) {
    ck_assert_msg (json_change (bad[i]) == NULL, "%s", bad[i]);
    ck_assert_int_eq (err.err, EINVAL);
  }
  ck_assert_ptr_null (json_change ("{\"key\":\"stripe_size\",\"value\":1}"));
  ck_assert_int_eq (err.err, EROFS);
}
END_TEST

int
main (void)
{
  Suite *s = suite_create ("tunables");
  TCase *tc = tcase_create ("tunables");
  SRunner *sr;
  int failed;

  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, range, 0, NR (ranges));
  tcase_add_test (tc, ranges_are_whole);
  tcase_add_test (tc, keys);
  tcase_add_test (tc, read_only);
  tcase_add_test (tc, small_machine);
  tcase_add_test (tc, number_of_members);
  tcase_add_test (tc, stock);
  tcase_add_test (tc, stock_but);
  tcase_add_test (tc, tree);
  tcase_add_test (tc, defaults);
  tcase_add_test (tc, two_spellings);
  tcase_add_test (tc, too_large_a_cache);
  tcase_add_test (tc, too_large_a_threshold);
  tcase_add_test (tc, attach);
  tcase_add_test (tc, change_values);
  tcase_add_test (tc, refused_changes);
  tcase_add_test (tc, same_value);
  tcase_add_test (tc, engine_fails);
  tcase_add_test (tc, threshold_is_lowered);
  tcase_add_test (tc, counters);
  tcase_add_test (tc, json_list);
  tcase_add_test (tc, json_get);
  tcase_add_test (tc, json_set);
  suite_add_tcase (s, tc);
  sr = srunner_create (s);
  srunner_run_all (sr, CK_NORMAL);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed != 0;
}
