/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/stripecache/autosize.c and topology.c: what a machine gets, and
 * what machine we think it is.  Single-threaded but for one test.  Run alone:
 * tests/unit/test-autosize (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "stripecache/autosize.h"
#include "stripecache/topology.h"

#define GIB (1024 * 1024 * 1024ull)
#define NR(a) (sizeof (a) / sizeof (a)[0])

static struct uraid_error err;
static struct topology topo;

static void
setup (void)
{
  memset (&err, 0, sizeof err);
  memset (&topo, 0xa5, sizeof topo);
  unsetenv ("URAID_TEST_CPUS");
  unsetenv ("URAID_TEST_NODES");
  unsetenv ("URAID_TEST_RAM");
}

/*----- autosize -----*/

static const struct {
  double ram_gib;
  unsigned members, cache, max;
} cache_rows[] = {
    {8, 6, 256, 32768},
    {64, 8, 3584, 131072},
    {125.4, 16, 3884, 128409},
    {256, 12, 4096, 262144},
    {256, 24, 4096, 174762},
    /* borders: nothing up to 12 GiB; nobody said; the whole range */
    {0, 6, 256, 32768},
    {12, 4, 256, 49152},
    {12.03125, 4, 260, 49280},
    {1, 255, 256, 32768},
    {64, 0, 4096, 262144},
    {16777216, 1, 4096, 262144},
};

START_TEST (cache_from_memory)
{
  uint64_t ram_bytes = (uint64_t)(cache_rows[_i].ram_gib * (double)GIB);
  unsigned members = cache_rows[_i].members;

  ck_assert_uint_eq (autosize_stripe_cache_size (ram_bytes, members),
                     cache_rows[_i].cache);
  ck_assert_uint_eq (autosize_stripe_cache_max (ram_bytes, members),
                     cache_rows[_i].max);
  ck_assert_uint_eq (autosize_stripe_cache_start (0, ram_bytes, members),
                     cache_rows[_i].cache);
  ck_assert_uint_eq (autosize_stripe_cache_start (1000, ram_bytes, members),
                     1000);
}
END_TEST

static const struct {
  uint64_t stripes;
  unsigned max;
  int r;
  const char *text;
} check_rows[] = {
    {17, 262144, 0, NULL},
    {262144, 262144, 0, NULL},
    {16, 262144, -EINVAL, "17 to 262144"},
    {0, 262144, -EINVAL, "17 to 262144"},
    {262145, 262144, -EINVAL, "17 to 262144"},
    {UINT64_MAX, 262144, -EINVAL, "17 to 262144"},
    {32768, 32768, 0, NULL},
    {32769, 32768, -ENOMEM, "805330944 bytes"}, /* 32769 * 6 * 4096 */
};

START_TEST (cache_check)
{
  int r = autosize_check_stripe_cache_size (check_rows[_i].stripes,
                                            check_rows[_i].max, 6, &err);

  ck_assert_int_eq (r, check_rows[_i].r);
  if (r < 0)
    ck_assert_msg (strstr (err.text, check_rows[_i].text) != NULL, "%s",
                   err.text);
}
END_TEST

static const struct {
  unsigned cpus, nodes, threads;
} thread_rows[] = {
    {32, 2, 8}, {4, 1, 2},     {3, 1, 0},     {2, 1, 0},
    {1, 1, 0},  {8, 4, 0},     {128, 2, 32},  {1024, 1, 256},
    {0, 0, 0},  {514, 1, 256}, {510, 1, 255}, {8, 0, 4},
};

START_TEST (threads_from_cpus)
{
  unsigned cpus = thread_rows[_i].cpus, nodes = thread_rows[_i].nodes;

  ck_assert_uint_eq (autosize_group_thread_cnt (cpus, nodes),
                     thread_rows[_i].threads);
}
END_TEST

static const struct {
  int64_t setting;
  unsigned threads;
  bool capped;
} default_rows[] = {
    {-1, 8, false},         {-77, 8, false},  {INT64_MIN, 8, false},
    {0, 0, false},          {1, 1, false},    {5, 5, false},
    {256, 256, false},      {257, 256, true}, {300, 256, true},
    {INT64_MAX, 256, true},
};

START_TEST (threads_default)
{
  bool capped = !default_rows[_i].capped;

  ck_assert_uint_eq (
      autosize_group_thread_start (default_rows[_i].setting, 32, 2, &capped),
      default_rows[_i].threads);
  ck_assert (capped == default_rows[_i].capped);
  ck_assert_uint_eq (
      autosize_group_thread_start (default_rows[_i].setting, 32, 2, NULL),
      default_rows[_i].threads);
}
END_TEST

START_TEST (threads_of_tree)
{
  static const unsigned rows[][2] = {{0, 0}, {1, 0},  {2, 1},   {3, 1},
                                     {4, 2}, {32, 2}, {1024, 2}};

  for (size_t i = 0; i < NR (rows); i++)
    ck_assert_uint_eq (autosize_group_thread_cnt_tree (rows[i][0]),
                       rows[i][1]);
}
END_TEST

START_TEST (hash_locks)
{
  static const unsigned rows[][2] = {
      {0, 8},   {1, 8},   {4, 8},   {8, 8},    {9, 16},         {16, 16},
      {17, 32}, {22, 32}, {32, 32}, {128, 32}, {UINT32_MAX, 32}};

  for (size_t i = 0; i < NR (rows); i++)
    ck_assert_uint_eq (autosize_hash_locks (rows[i][0]), rows[i][1]);
}
END_TEST

START_TEST (lanes_and_connections)
{
  /* CPUs, connections asked for, lanes with as many as that. */
  static const unsigned rows[][3] = {{1, 1, 1},  {2, 1, 1},  {3, 4, 1},
                                     {7, 4, 1},  {8, 4, 2},  {12, 4, 3},
                                     {16, 4, 4}, {128, 4, 4}};

  for (size_t i = 0; i < NR (rows); i++) {
    ck_assert_uint_eq (autosize_connections (rows[i][0]), rows[i][1]);
    ck_assert_uint_eq (autosize_lanes (rows[i][0], rows[i][1]), rows[i][2]);
  }
  ck_assert_uint_eq (autosize_lanes (128, 2), 2);
}
END_TEST

static void
fake (const char *cpus, const char *nodes, const char *ram)
{
  if (cpus != NULL)
    setenv ("URAID_TEST_CPUS", cpus, 1);
  if (nodes != NULL)
    setenv ("URAID_TEST_NODES", nodes, 1);
  if (ram != NULL)
    setenv ("URAID_TEST_RAM", ram, 1);
}

START_TEST (profiles)
{
  struct autosize_values v;

  fake ("4", "1", "8G");
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  autosize_profile (AUTOSIZE_PROFILE_AUTO, &topo, 6, &v);
  ck_assert_uint_eq (v.stripe_cache_size, 256);
  ck_assert_uint_eq (v.stripe_cache_size_max, 32768);
  ck_assert_uint_eq (v.group_thread_cnt, 2);
  ck_assert_uint_eq (v.nr_stripe_hash_locks, 8);
  ck_assert_uint_eq (v.max_stripe_batch, 8);
  ck_assert_uint_eq (v.sync_window, 32);
  ck_assert_uint_eq (v.sync_hwmark, 2);
  ck_assert_uint_eq (v.sync_speed_max_kib, 0);
  ck_assert_uint_eq (v.sync_throttle_ms, 50);
  ck_assert_uint_eq (v.sync_drain_pct, 50);

  fake ("32", "2", "256G");
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  autosize_profile (AUTOSIZE_PROFILE_AUTO, &topo, 12, &v);
  ck_assert_uint_eq (v.stripe_cache_size, 4096);
  ck_assert_uint_eq (v.stripe_cache_size_max, 262144);
  ck_assert_uint_eq (v.group_thread_cnt, 8);
  ck_assert_uint_eq (v.nr_stripe_hash_locks, 32);

  autosize_profile (AUTOSIZE_PROFILE_STOCK, &topo, 12, &v);
  ck_assert_uint_eq (v.stripe_cache_size, 256);
  ck_assert_uint_eq (v.stripe_cache_size_max, 32768);
  ck_assert_uint_eq (v.group_thread_cnt, 0);
  ck_assert_uint_eq (v.nr_stripe_hash_locks, 8);
  ck_assert_uint_eq (v.max_stripe_batch, 8);
  ck_assert_uint_eq (v.sync_window, 1);
  ck_assert_uint_eq (v.sync_hwmark, 1);
  ck_assert_uint_eq (v.sync_speed_max_kib, 200000);
  ck_assert_uint_eq (v.sync_throttle_ms, 500);
  ck_assert_uint_eq (v.sync_drain_pct, 100);

  autosize_profile (AUTOSIZE_PROFILE_TREE, &topo, 12, &v);
  ck_assert_uint_eq (v.group_thread_cnt, 2);
  ck_assert_uint_eq (v.sync_window, 128);
}
END_TEST

/*----- topology -----*/

static const struct {
  const char *text;
  int r;
  const char *set; /* of 12 */
} list_rows[] = {
    {"0-3,8", 0, "111100001000"},
    {"0-3,8\n", 0, "111100001000"},
    {"", 0, "000000000000"},
    {"\n", 0, "000000000000"},
    {"0", 0, "100000000000"},
    {"11", 0, "000000000001"},
    {"5,3-4,10-4000000000", 0, "000111000011"},
    {"12,99999999999999999999", 0, "000000000000"},
    {"3-1", -EINVAL, NULL},
    {"1,", -EINVAL, NULL},
    {",1", -EINVAL, NULL},
    {"1,,2", -EINVAL, NULL},
    {"1-", -EINVAL, NULL},
    {"-1", -EINVAL, NULL},
    {"1 2", -EINVAL, NULL},
    {"x", -EINVAL, NULL},
    {"1\n2", -EINVAL, NULL},
};

START_TEST (cpulist)
{
  bool set[13];
  char text[13] = "";

  memset (set, 1, sizeof set);
  ck_assert_int_eq (topology_parse_cpulist (list_rows[_i].text, set, 12),
                    list_rows[_i].r);
  ck_assert (set[12]); /* nothing beyond */
  if (list_rows[_i].r < 0)
    return;
  for (int i = 0; i < 12; i++)
    text[i] = set[i] ? '1' : '0';
  ck_assert_str_eq (text, list_rows[_i].set);
}
END_TEST

static const struct {
  const char *cpus, *nodes;
  unsigned nr_nodes, max_node;
  const char *dealt; /* node of CPU 0, 1 ... */
} fake_rows[] = {
    {"4", NULL, 1, 0, "0000"},  {"4", "2", 2, 1, "0011"},
    {"4", "0,2", 2, 2, "0022"}, {"5", "0-1,3", 3, 3, "00113"},
    {"3", "2", 2, 1, "001"},    {"6", "1,3,5", 3, 5, "113355"},
    {"2", "3,", 1, 3, "33"},    {"1", "0,2", 1, 2, "0"},
};

START_TEST (faked)
{
  fake (fake_rows[_i].cpus, fake_rows[_i].nodes, NULL);
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  ck_assert (topo.faked);
  ck_assert_uint_eq (topo.nr_cpus, (unsigned)atoi (fake_rows[_i].cpus));
  ck_assert_uint_eq (topo.nr_nodes, fake_rows[_i].nr_nodes);
  ck_assert_uint_eq (topo.max_node, fake_rows[_i].max_node);
  for (unsigned i = topo.nr_cpus; i < TOPOLOGY_MAX_CPUS; i++)
    ck_assert_int_eq (topo.cpu_node[i], -1);
  for (unsigned i = 0; i < topo.nr_cpus; i++)
    ck_assert_int_eq (topo.cpu_node[i], fake_rows[_i].dealt[i] - '0');
}
END_TEST

static const struct {
  const char *text;
  uint64_t bytes;
} ram_rows[] = {
    {"4096", 4096},     {"1K", 1024},
    {"3M", 3 << 20},    {"8G", 8 * GIB},
    {"2T", 2048 * GIB}, {"16777215T", 16777215ull * 1024 * GIB},
};

START_TEST (faked_ram)
{
  fake (NULL, NULL, ram_rows[_i].text);
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  ck_assert_uint_eq (topo.ram_bytes, ram_rows[_i].bytes);
  ck_assert (!topo.faked); /* CPUs and nodes are the machine's */
}
END_TEST

static const struct {
  const char *name, *value;
} bad_rows[] = {
    {"URAID_TEST_CPUS", ""},
    {"URAID_TEST_CPUS", "0"},
    {"URAID_TEST_CPUS", "-1"},
    {"URAID_TEST_CPUS", "4x"},
    {"URAID_TEST_CPUS", "1025"},
    {"URAID_TEST_NODES", ""},
    {"URAID_TEST_NODES", "0"},
    {"URAID_TEST_NODES", "0,x"},
    {"URAID_TEST_NODES", ","},
    {"URAID_TEST_NODES", "5000,"},
    {"URAID_TEST_NODES", "two"},
    {"URAID_TEST_RAM", ""},
    {"URAID_TEST_RAM", "0"},
    {"URAID_TEST_RAM", "8Q"},
    {"URAID_TEST_RAM", "8GB"},
    {"URAID_TEST_RAM", "-8G"},
    {"URAID_TEST_RAM", " 8G"},
    {"URAID_TEST_RAM", "16777216T"},
    {"URAID_TEST_RAM", "99999999999999999999"},
};

START_TEST (bad_fakes)
{
  setenv (bad_rows[_i].name, bad_rows[_i].value, 1);
  ck_assert_int_eq (topology_get (&topo, &err), -EINVAL);
  ck_assert_msg (strstr (err.text, bad_rows[_i].name) != NULL, "%s", err.text);
}
END_TEST

START_TEST (real_machine)
{
  cpu_set_t set;
  unsigned cpu = 0, node;

  ck_assert_int_eq (topology_get (&topo, &err), 0);
  ck_assert (!topo.faked);
  ck_assert_uint_ge (topo.nr_cpus, 1);
  ck_assert_uint_ge (topo.nr_nodes, 1);
  ck_assert_uint_ge (topo.ram_bytes, 1 << 20);
  node = topology_current_group (&topo);
  ck_assert (topology_node_has_cpu (&topo, node));

  /* Only what we are allowed counts. */
  ck_assert_int_eq (sched_getaffinity (0, sizeof set, &set), 0);
  while (!CPU_ISSET (cpu, &set))
    cpu++;
  CPU_ZERO (&set);
  CPU_SET (cpu, &set);
  ck_assert_int_eq (sched_setaffinity (0, sizeof set, &set), 0);
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  ck_assert_uint_eq (topo.nr_cpus, 1);
  ck_assert_uint_eq (topo.nr_nodes, 1);
  for (unsigned i = 0; i < TOPOLOGY_MAX_CPUS; i++)
    ck_assert ((topo.cpu_node[i] >= 0) == (i == cpu));
  ck_assert_int_eq ((int)topology_current_group (&topo), topo.cpu_node[cpu]);
}
END_TEST

static void
write_file (const char *dir, const char *name, const char *text)
{
  char path[300];
  FILE *fp;

  snprintf (path, sizeof path, "%s/%s", dir, name);
  fp = fopen (path, "w");
  ck_assert_ptr_nonnull (fp);
  ck_assert_int_ge (fputs (text, fp), 0);
  ck_assert_int_eq (fclose (fp), 0);
}

/* Nodes 0, 2 (memory only) and 5; CPU 3 is not allowed, CPU 6 in no node. */
START_TEST (sysfs_nodes)
{
  static const int want[] = {0, 0, 5, -1, 5, 5, 0, -1};
  static const char *const names[] = {"node0", "node2", "node5"};
  static const char *const lists[] = {"0-1\n", "\n", "2-5,1023\n"};
  char dir[] = "/tmp/test-autosize-XXXXXX", path[300], file[32];

  ck_assert_ptr_nonnull (mkdtemp (dir));
  write_file (dir, "online", "0,2,5\n");
  for (unsigned i = 0; i < NR (names); i++) {
    snprintf (path, sizeof path, "%s/%s", dir, names[i]);
    ck_assert_int_eq (mkdir (path, 0700), 0);
    snprintf (file, sizeof file, "%s/cpulist", names[i]);
    write_file (dir, file, lists[i]);
  }
  for (unsigned i = 0; i < TOPOLOGY_MAX_CPUS; i++)
    topo.cpu_node[i] = i < 7 && i != 3 ? 0 : -1;
  topology_read_nodes (&topo, dir);
  for (unsigned i = 0; i < NR (want); i++)
    ck_assert_int_eq (topo.cpu_node[i], want[i]);
  ck_assert_int_eq (topo.cpu_node[1023], -1);
  ck_assert_uint_eq (topo.nr_nodes, 2);
  ck_assert_uint_eq (topo.max_node, 5);

  for (unsigned i = 0; i < NR (names); i++) {
    snprintf (path, sizeof path, "%s/%s/cpulist", dir, names[i]);
    unlink (path);
    snprintf (path, sizeof path, "%s/%s", dir, names[i]);
    rmdir (path);
  }
  snprintf (path, sizeof path, "%s/online", dir);
  unlink (path);
  ck_assert_int_eq (rmdir (dir), 0);

  /* No such directory: one node. */
  for (unsigned i = 0; i < TOPOLOGY_MAX_CPUS; i++)
    topo.cpu_node[i] = i < 4 ? 0 : -1;
  topology_read_nodes (&topo, dir);
  ck_assert_uint_eq (topo.nr_nodes, 1);
  ck_assert_uint_eq (topo.max_node, 0);
  ck_assert_int_eq (topo.cpu_node[3], 0);
}
END_TEST

static void *
ask_group (void *ret)
{
  unsigned first = topology_current_group (&topo);

  *(unsigned *)ret = first;
  for (int i = 0; i < 10; i++)
    if (topology_current_group (&topo) != first)
      *(unsigned *)ret = 999;
  return NULL;
}

START_TEST (group_by_thread)
{
  unsigned got[6], seen[3] = {0, 0, 0};
  pthread_t thread;

  fake ("4", "0,2", NULL);
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  for (unsigned i = 0; i < NR (got); i++) {
    ck_assert_int_eq (pthread_create (&thread, NULL, ask_group, &got[i]), 0);
    pthread_join (thread, NULL);
    ck_assert_uint_le (got[i], 2);
    seen[got[i]]++;
  }
  ck_assert_uint_eq (seen[0], 3);
  ck_assert_uint_eq (seen[1], 0);
  ck_assert_uint_eq (seen[2], 3);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("autosize");
  TCase *tc = tcase_create ("autosize");

  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_loop_test (tc, cache_from_memory, 0, NR (cache_rows));
  tcase_add_loop_test (tc, cache_check, 0, NR (check_rows));
  tcase_add_loop_test (tc, threads_from_cpus, 0, NR (thread_rows));
  tcase_add_loop_test (tc, threads_default, 0, NR (default_rows));
  tcase_add_test (tc, threads_of_tree);
  tcase_add_test (tc, hash_locks);
  tcase_add_test (tc, lanes_and_connections);
  tcase_add_test (tc, profiles);
  suite_add_tcase (s, tc);
  tc = tcase_create ("topology");
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_loop_test (tc, cpulist, 0, NR (list_rows));
  tcase_add_loop_test (tc, faked, 0, NR (fake_rows));
  tcase_add_loop_test (tc, faked_ram, 0, NR (ram_rows));
  tcase_add_loop_test (tc, bad_fakes, 0, NR (bad_rows));
  tcase_add_test (tc, real_machine);
  tcase_add_test (tc, sysfs_nodes);
  tcase_add_test (tc, group_by_thread);
  suite_add_tcase (s, tc);
  return s;
}

int
main (void)
{
  SRunner *sr = srunner_create (suite ());
  int failed;

  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
