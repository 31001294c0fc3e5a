/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/stripecache/workers.c.  Items block at a gate where the test
 * must know what is queued; nothing depends on how fast a thread is.  Run
 * alone: tests/unit/test-workers (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "alloc-watch.h"
#include "stripecache/workers.h"

#define NR(a) (sizeof (a) / sizeof (a)[0])
#define MAX_ITEMS 512

struct test_item {
  struct work_item item; /* first */
  atomic_uint runs;
  atomic_bool queued; /* for items that go round */
};

static struct workers *w;
static struct uraid_error err;
static struct topology topo;
static struct test_item items[MAX_ITEMS];
static atomic_uint ran; /* items, altogether */
static atomic_uint refused;
static unsigned order[MAX_ITEMS], nr_order; /* the only worker's */

/* Items run through when the gate is open. */
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static bool gate_closed; /* under gate_lock */
static atomic_uint at_gate;

static void
close_gate (void)
{
  pthread_mutex_lock (&gate_lock);
  gate_closed = true;
  pthread_mutex_unlock (&gate_lock);
}

static void
open_gate (void)
{
  pthread_mutex_lock (&gate_lock);
  gate_closed = false;
  pthread_cond_broadcast (&gate_cond);
  pthread_mutex_unlock (&gate_lock);
}

static void
run_item (struct work_item *item)
{
  struct test_item *ti = (struct test_item *)item;

  atomic_fetch_add (&at_gate, 1);
  pthread_mutex_lock (&gate_lock);
  while (gate_closed)
    pthread_cond_wait (&gate_cond, &gate_lock);
  pthread_mutex_unlock (&gate_lock);
  atomic_fetch_sub (&at_gate, 1);
  atomic_fetch_add (&ti->runs, 1);
  atomic_fetch_add (&ran, 1);
}

static void
init_items (void)
{
  memset (items, 0, sizeof items);
  for (size_t i = 0; i < NR (items); i++)
    items[i].item.fn = run_item;
  atomic_store (&ran, 0);
}

static void
wait_for (atomic_uint *what, unsigned n)
{
  while (atomic_load (what) < n)
    sched_yield ();
}

static struct workers_stats
stats (void)
{
  struct workers_stats st;

  workers_get_stats (w, &st);
  return st;
}

static void
wait_idle (void)
{
  while (stats ().running > 0)
    sched_yield ();
}

static void
fake (const char *cpus, const char *nodes)
{
  setenv ("URAID_TEST_CPUS", cpus, 1);
  setenv ("URAID_TEST_NODES", nodes, 1);
  ck_assert_int_eq (topology_get (&topo, &err), 0);
}

static void
start (const char *nodes, unsigned count)
{
  fake ("8", nodes);
  ck_assert_int_eq (workers_new (&topo, &w, &err), 0);
  ck_assert_int_eq (workers_set_count (w, count, &err), 0);
}

static void
setup (void)
{
  unsetenv ("URAID_TEST_CPUS");
  unsetenv ("URAID_TEST_NODES");
  unsetenv ("URAID_TEST_RAM");
  init_items ();
  w = NULL;
  nr_order = 0;
  atomic_store (&refused, 0);
  alloc_watch_reset ();
}

static void
teardown (void)
{
  workers_free (w);
}

/* Queue items [0, N), which must be taken. */
static void
queue (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    ck_assert (workers_queue (w, &items[i].item));
}

static void
ck_ran_once (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    ck_assert_uint_eq (atomic_load (&items[i].runs), 1);
}

/*----- How many run -----*/

START_TEST (wanted)
{
  static const unsigned rows[][3] = {
      /* queued, threads a group, wanted */
      {0, 8, 0},    {1, 8, 1},
      {7, 8, 1},    {8, 8, 1},
      {15, 8, 1},   {16, 8, 2},
      {63, 8, 7},   {64, 8, 8},
      {100, 8, 8},  {1, 0, 0},
      {100, 0, 0},  {100, 1, 1},
      {64, 256, 8}, {UINT32_MAX, 8192, 8192},
  };

  for (size_t i = 0; i < NR (rows); i++)
    ck_assert_uint_eq (workers_wanted (rows[i][0], rows[i][1]), rows[i][2]);
}
END_TEST

static const struct {
  unsigned queued, batch, woken;
} wake_rows[] = {
    {1, 8, 1},  {8, 8, 1},   {15, 8, 1},   {16, 8, 2}, {64, 8, 8},
    {64, 1, 8}, {64, 32, 8}, {64, 256, 8}, {15, 1, 1}, {100, 8, 8},
};

/* S12, S29: with 8 idle workers, and before that with none started yet. */
START_TEST (wakes)
{
  unsigned n = wake_rows[_i].queued;
  struct workers_stats before;

  start ("1", 8);
  ck_assert_int_eq (workers_set_batch (w, wake_rows[_i].batch, &err), 0);
  close_gate ();
  queue (n);
  ck_assert_uint_eq (stats ().wakes, wake_rows[_i].woken);
  ck_assert_uint_eq (stats ().threads, wake_rows[_i].woken);
  open_gate ();
  wait_for (&ran, n);
  ck_ran_once (n);

  init_items ();
  wait_idle ();
  close_gate ();
  queue (64);
  open_gate ();
  wait_for (&ran, 64);
  wait_idle ();
  ck_assert_uint_eq (stats ().threads, 8);

  init_items ();
  before = stats ();
  close_gate ();
  queue (n);
  ck_assert_uint_eq (stats ().wakes - before.wakes, wake_rows[_i].woken);
  ck_assert_uint_eq (stats ().running, wake_rows[_i].woken);
  /* Each of them found something. */
  wait_for (&at_gate, wake_rows[_i].woken);
  open_gate ();
  wait_for (&ran, n);
  ck_ran_once (n);
  wait_idle ();
  ck_assert_uint_eq (stats ().threads, 8);
}
END_TEST

START_TEST (batches)
{
  start ("1", 1);
  for (unsigned batch = 1; batch <= 256; batch *= 4) {
    uint64_t before;

    ck_assert_int_eq (workers_set_batch (w, batch, &err), 0);
    init_items ();
    close_gate ();
    queue (1);
    wait_for (&at_gate, 1);
    before = stats ().batches;
    for (unsigned i = 1; i <= 256; i++)
      ck_assert (workers_queue (w, &items[i].item));
    open_gate ();
    wait_for (&ran, 257);
    ck_assert_uint_eq (stats ().batches - before, 256 / batch);
    wait_idle ();
  }
  ck_assert_int_eq (workers_set_batch (w, 0, &err), -EINVAL);
  ck_assert_ptr_nonnull (strstr (err.text, "1 to 256"));
  ck_assert_int_eq (workers_set_batch (w, 257, &err), -EINVAL);
}
END_TEST

/* One client's stripe that goes on to its next phase, 1000 times. */
static void
queue_again (struct work_item *item)
{
  if (atomic_load (&ran) < 3000 - 1)
    ck_assert (workers_queue (w, item));
  atomic_fetch_add (&ran, 1);
}

/* S25: one client that waits for each answer never makes two workers run. */
START_TEST (one_at_a_time)
{
  start ("1", 8);
  for (unsigned i = 0; i < 2000; i++) {
    ck_assert (workers_queue (w, &items[0].item));
    wait_for (&ran, i + 1);
  }
  items[0].item.fn = queue_again;
  ck_assert (workers_queue (w, &items[0].item));
  wait_for (&ran, 3000);
  ck_assert_uint_eq (stats ().peak, 1);
  ck_assert_uint_eq (stats ().threads, 1);
  ck_assert_uint_eq (stats ().items, 3000);
}
END_TEST

/*----- Where they run -----*/

/* S11, S26: numbers with a gap; who queues names the node. */
START_TEST (locality)
{
  start ("0,2", 2);
  for (unsigned i = 0; i < 120; i++)
    items[i].item.group = i < 100 ? 2 : 0;
  queue (120);
  wait_for (&ran, 120);
  ck_assert_uint_eq (workers_handled (w, 0), 20);
  ck_assert_uint_eq (workers_handled (w, 1), 0);
  ck_assert_uint_eq (workers_handled (w, 2), 100);
  ck_assert_uint_eq (workers_handled (w, 3), 0);
  ck_assert_uint_eq (stats ().items, 120);
}
END_TEST

/* S26: no CPU of nodes 0, 3 and 4 is ours (any more). */
START_TEST (lost_node)
{
  fake ("8", "5");
  for (unsigned cpu = 0; cpu < 8; cpu++)
    topo.cpu_node[cpu] = cpu < 4 ? 1 : 2;
  ck_assert_int_eq (workers_new (&topo, &w, &err), 0);
  ck_assert_int_eq (workers_set_count (w, 4, &err), 0);
  for (unsigned i = 0; i < 7; i++)
    items[i].item.group = i < 5 ? i : i == 5 ? 5 : 4000000000;
  queue (7);
  wait_for (&ran, 7);
  ck_ran_once (7);
  /* 0, 1, 3, 4 and the numbers that do not exist; 2 */
  ck_assert_uint_eq (workers_handled (w, 1), 6);
  ck_assert_uint_eq (workers_handled (w, 2), 1);
}
END_TEST

static char thread_name[16];
static sigset_t thread_signals;
static cpu_set_t thread_cpus;

static void
look_at_thread (struct work_item *item)
{
  pthread_getname_np (pthread_self (), thread_name, sizeof thread_name);
  pthread_sigmask (SIG_SETMASK, NULL, &thread_signals);
  pthread_getaffinity_np (pthread_self (), sizeof thread_cpus, &thread_cpus);
  run_item (item);
}

START_TEST (threads_look)
{
  unsigned group;

  ck_assert_int_eq (topology_get (&topo, &err), 0);
  group = topology_current_group (&topo);
  for (unsigned cpu = 0, nr = 0; cpu < TOPOLOGY_MAX_CPUS; cpu++)
    if (topo.cpu_node[cpu] == (int)group && nr++ > 0)
      topo.cpu_node[cpu] = -1; /* only one is ours */
  ck_assert_int_eq (workers_new (&topo, &w, &err), 0);
  ck_assert_int_eq (workers_set_count (w, 1, &err), 0);
  items[0].item.fn = look_at_thread;
  items[0].item.group = group;
  queue (1);
  wait_for (&ran, 1);
  ck_assert_uint_eq (workers_handled (w, group), 1);
  ck_assert_int_eq (strncmp (thread_name, "uraid-w", 7), 0);
  ck_assert_ptr_nonnull (strchr (thread_name, '.'));
  ck_assert_int_eq (sigismember (&thread_signals, SIGTERM), 1);
  ck_assert_int_eq (sigismember (&thread_signals, SIGUSR1), 1);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
    ck_assert (!!CPU_ISSET (cpu, &thread_cpus) ==
               (topo.cpu_node[cpu] == (int)group));
}
END_TEST

/* The only CPU of the group is gone: the thread runs where it can. */
START_TEST (lost_cpu)
{
  ck_assert_int_eq (topology_get (&topo, &err), 0);
  for (unsigned cpu = 0; cpu < TOPOLOGY_MAX_CPUS; cpu++)
    topo.cpu_node[cpu] = cpu == TOPOLOGY_MAX_CPUS - 1 ? 0 : -1;
  ck_assert_int_eq (workers_new (&topo, &w, &err), 0);
  ck_assert_int_eq (workers_set_count (w, 2, &err), 0);
  queue (50);
  wait_for (&ran, 50);
  ck_ran_once (50);
}
END_TEST

/*----- In which order -----*/

static void
note_order (struct work_item *item)
{
  order[nr_order++] = (unsigned)((struct test_item *)item - items);
  run_item (item);
}

static const struct {
  unsigned threshold, batch;
} order_rows[] = {{0, 8}, {0, 1}, {1, 8}, {1, 1}, {16, 8}, {16, 1}, {3, 256}};

/* S31: of items 1 ... 128 each fourth needs a preread. */
START_TEST (fairness)
{
  unsigned threshold = order_rows[_i].threshold;
  unsigned handle = 1, hold = 4, passed = 0;

  start ("1", 1);
  ck_assert_int_eq (workers_set_batch (w, order_rows[_i].batch, &err), 0);
  workers_set_bypass (w, threshold);
  close_gate ();
  queue (1);
  wait_for (&at_gate, 1);
  for (unsigned i = 1; i <= 128; i++) {
    items[i].item.fn = note_order;
    items[i].item.preread = i % 4 == 0;
    ck_assert (workers_queue (w, &items[i].item));
  }
  open_gate ();
  wait_for (&ran, 129);
  wait_idle ();
  ck_assert_uint_eq (nr_order, 128);
  for (unsigned i = 0; i < 128; i++) {
    if (threshold == 0)
      ck_assert_uint_eq (order[i], i + 1);
    else if (handle <= 128 && (passed < threshold || hold > 128)) {
      ck_assert_uint_eq (order[i], handle);
      handle += handle % 4 == 3 ? 2 : 1;
      passed++;
    }
    else {
      ck_assert_uint_eq (order[i], hold);
      hold += 4;
      passed = 0;
    }
  }
}
END_TEST

/*----- Change of the count -----*/

START_TEST (count_range)
{
  start ("2", 0);
  ck_assert_uint_eq (stats ().changes, 0);
  ck_assert (!workers_queue (w, &items[0].item)); /* we run it ourselves */
  ck_assert_uint_eq (atomic_load (&ran), 0);

  /* S24: only memory, until there is work. */
  ck_assert_int_eq (workers_set_count (w, 8192, &err), 0);
  ck_assert_uint_eq (workers_count (w), 8192);
  ck_assert_uint_eq (stats ().threads, 0);
  queue (1);
  wait_for (&ran, 1);
  ck_assert_uint_eq (stats ().threads, 1);
  ck_assert_uint_eq (stats ().changes, 1);
  ck_assert_int_eq (workers_set_count (w, 8192, &err), 0);
  ck_assert_uint_eq (stats ().changes, 1);
  ck_assert_uint_eq (stats ().threads, 1);
  ck_assert_int_eq (workers_set_count (w, 8193, &err), -EINVAL);
  ck_assert_ptr_nonnull (strstr (err.text, "0 to 8192"));
  ck_assert_uint_eq (workers_count (w), 8192);

  ck_assert_int_eq (workers_set_count (w, 0, &err), 0);
  ck_assert_uint_eq (stats ().changes, 2);
  ck_assert_uint_eq (stats ().threads, 0);
  ck_assert (!workers_queue (w, &items[1].item));
}
END_TEST

/* S28.  In all tests alloc-watch.c aborts when there is an allocation while
 * workers take over; here, that it looks, and that this happens.
 */
START_TEST (take_over_allocates_nothing)
{
  start ("0,2", 3); /* three groups, that of node 1 without CPUs */
  ck_assert_uint_eq (alloc_watch_locks (), 3);
  queue (100);
  wait_for (&ran, 100);
  ck_assert_int_eq (workers_set_count (w, 5, &err), 0);
  ck_assert_int_eq (workers_set_count (w, 5, &err), 0);
  ck_assert_int_eq (workers_set_count (w, 0, &err), 0);
  ck_assert_uint_eq (alloc_watch_locks (), 9);
  ck_assert_uint_ge (alloc_watch_allocations (), 4); /* crews and lists */
  ck_assert (!workers_test_taking_over ());
}
END_TEST

static void *
set_count_to (void *arg)
{
  ck_assert_int_eq (workers_set_count (w, *(unsigned *)arg, NULL), 0);
  return NULL;
}

/* What is queued when the count falls is finished first, by the old threads;
 * a worker's own new item is its own business by then.
 */
static void
queue_next (struct work_item *item)
{
  struct test_item *ti = (struct test_item *)item;

  run_item (item);
  if (!workers_queue (w, &ti[100].item))
    atomic_fetch_add (&refused, 1);
}

START_TEST (change_finishes)
{
  pthread_t thread;
  unsigned zero = 0;

  start ("1", 2);
  for (unsigned i = 0; i < 40; i++)
    items[i].item.fn = queue_next;
  close_gate ();
  queue (40);
  ck_assert_int_eq (pthread_create (&thread, NULL, set_count_to, &zero), 0);
  while (workers_count (w) != 0)
    sched_yield ();
  open_gate ();
  pthread_join (thread, NULL);
  ck_assert_uint_eq (atomic_load (&ran), 40);
  ck_ran_once (40);
  ck_assert_uint_eq (atomic_load (&refused), 40);
  ck_assert_uint_eq (stats ().threads, 0);
}
END_TEST

/* workers_free finishes what is queued as well. */
START_TEST (free_finishes)
{
  start ("0,2", 3);
  for (unsigned i = 0; i < 200; i++)
    items[i].item.group = i % 3;
  queue (200);
  workers_free (w);
  w = NULL;
  ck_assert_uint_eq (atomic_load (&ran), 200);
  ck_ran_once (200);
}
END_TEST

/* S27: whatever allocation fails, the old workers stay. */
START_TEST (rollback)
{
  unsigned n = 1, failures = 0;
  int r;

  start ("0,2", 4);
  queue (10);
  wait_for (&ran, 10);
  for (;; n++) {
    uint64_t changes = stats ().changes;
    unsigned threads = stats ().threads;

    memset (&err, 0, sizeof err);
    workers_test_fail_alloc (n);
    r = workers_set_count (w, 8, &err);
    workers_test_fail_alloc (0);
    if (r == 0)
      break;
    failures++;
    ck_assert_int_eq (r, -ENOMEM);
    ck_assert_ptr_nonnull (strstr (err.text, "group_thread_cnt: 8: "));
    ck_assert_uint_eq (workers_count (w), 4);
    ck_assert_uint_eq (stats ().changes, changes);
    ck_assert_uint_eq (stats ().threads, threads);
    init_items ();
    queue (100);
    wait_for (&ran, 100);
    ck_ran_once (100);
  }
  ck_assert_uint_ge (failures, 3); /* the list and two groups */
  ck_assert_uint_eq (workers_count (w), 8);
}
END_TEST

START_TEST (new_fails)
{
  fake ("8", "2");
  for (unsigned n = 1; n <= 2; n++) {
    workers_test_fail_alloc (n);
    ck_assert_int_eq (workers_new (&topo, &w, &err), -ENOMEM);
    ck_assert_ptr_null (w);
  }
  workers_test_fail_alloc (0);
}
END_TEST

START_TEST (thread_fails)
{
  start ("1", 4);

  /* None: the caller runs the item; the next one tries again. */
  workers_test_fail_thread (1);
  ck_assert (!workers_queue (w, &items[0].item));
  ck_assert_uint_eq (atomic_load (&ran), 0);
  ck_assert_uint_eq (stats ().running, 0);
  ck_assert_uint_eq (stats ().wakes, 0);
  queue (1);
  wait_for (&ran, 1);
  wait_idle ();

  /* Some: the group goes on with one. */
  init_items ();
  workers_test_fail_thread (1);
  close_gate ();
  queue (64);
  ck_assert_uint_eq (stats ().threads, 1);
  ck_assert_uint_eq (stats ().running, 1);
  open_gate ();
  wait_for (&ran, 64);
  ck_ran_once (64);
  ck_assert_uint_eq (stats ().threads, 1);

  /* A change tries again. */
  init_items ();
  ck_assert_int_eq (workers_set_count (w, 3, &err), 0);
  close_gate ();
  queue (64);
  ck_assert_uint_eq (stats ().threads, 3);
  open_gate ();
  wait_for (&ran, 64);
}
END_TEST

/*----- S10: changes under load -----*/

#define NR_PRODUCERS 4
#define ITEMS_EACH (MAX_ITEMS / NR_PRODUCERS)

static atomic_bool producers_stop;

struct producer {
  pthread_t thread;
  struct test_item *ti; /* ITEMS_EACH of them */
  unsigned given[ITEMS_EACH], nr_own;
};

static void
run_round (struct work_item *item)
{
  struct test_item *ti = (struct test_item *)item;

  atomic_fetch_add (&ti->runs, 1);
  atomic_fetch_add (&ran, 1);
  /* Not queued any more: twice in a row would be once too many. */
  ck_assert (atomic_exchange (&ti->queued, false));
}

static void *
producer_main (void *arg)
{
  struct producer *p = arg;

  for (unsigned i = 0; !atomic_load (&producers_stop);
       i = (i + 1) % ITEMS_EACH) {
    struct test_item *ti = &p->ti[i];

    if (atomic_exchange (&ti->queued, true)) {
      sched_yield (); /* not yet back */
      continue;
    }
    p->given[i]++;
    if (!workers_queue (w, &ti->item)) {
      p->nr_own++;
      ti->item.fn (&ti->item);
    }
  }
  return NULL;
}

static void
start_producers (struct producer *producers)
{
  for (unsigned i = 0; i < MAX_ITEMS; i++) {
    items[i].item.fn = run_round;
    items[i].item.group = i % 3;
    items[i].item.preread = i % 5 == 0;
  }
  memset (producers, 0, NR_PRODUCERS * sizeof *producers);
  atomic_store (&producers_stop, false);
  for (unsigned i = 0; i < NR_PRODUCERS; i++) {
    producers[i].ti = items + i * ITEMS_EACH;
    ck_assert_int_eq (pthread_create (&producers[i].thread, NULL,
                                      producer_main, &producers[i]),
                      0);
  }
}

/* The count is 0 by now: each item was run as often as it was given. */
static void
stop_producers (struct producer *producers)
{
  uint64_t own = 0, all = 0;

  atomic_store (&producers_stop, true);
  for (unsigned i = 0; i < NR_PRODUCERS; i++)
    pthread_join (producers[i].thread, NULL);
  ck_assert_int_eq (workers_set_count (w, 0, &err), 0);
  for (unsigned i = 0; i < NR_PRODUCERS; i++) {
    for (unsigned k = 0; k < ITEMS_EACH; k++) {
      ck_assert_uint_eq (atomic_load (&producers[i].ti[k].runs),
                         producers[i].given[k]);
      ck_assert (!atomic_load (&producers[i].ti[k].queued));
      all += producers[i].given[k];
    }
    own += producers[i].nr_own;
  }
  ck_assert_uint_eq (stats ().items, all - own);
  ck_assert_uint_eq (stats ().threads, 0);
  ck_assert_uint_eq (stats ().running, 0);
}

static void
wait_for_progress (void)
{
  uint64_t before = stats ().items;

  while (stats ().items == before)
    sched_yield ();
}

START_TEST (changes_under_load)
{
  struct producer producers[NR_PRODUCERS];

  start ("0,2", 0);
  start_producers (producers);
  for (unsigned i = 0; i < 100; i++) {
    ck_assert_int_eq (workers_set_count (w, 8, &err), 0);
    wait_for_progress ();
    if (i % 4 == 1) { /* also from some to some */
      ck_assert_int_eq (workers_set_count (w, 3, &err), 0);
      wait_for_progress ();
    }
    ck_assert_int_eq (workers_set_count (w, 0, &err), 0);
  }
  ck_assert_uint_eq (stats ().changes, 225);
  stop_producers (producers);
}
END_TEST

/* S27: the same with memory that runs out; and from two threads at once. */
START_TEST (failures_under_load)
{
  struct producer producers[NR_PRODUCERS];
  unsigned five = 5;
  pthread_t other;

  start ("0,2", 4);
  start_producers (producers);
  for (unsigned i = 0; i < 30; i++) {
    workers_test_fail_alloc (1 + i % 3);
    ck_assert_int_eq (workers_set_count (w, 8, &err), -ENOMEM);
    ck_assert_uint_eq (workers_count (w), 4);
    wait_for_progress ();
  }
  ck_assert_uint_eq (stats ().changes, 1);
  ck_assert_int_eq (pthread_create (&other, NULL, set_count_to, &five), 0);
  ck_assert_int_eq (workers_set_count (w, 7, &err), 0);
  pthread_join (other, NULL);
  ck_assert_uint_eq (stats ().changes, 3);
  wait_for_progress ();
  stop_producers (producers);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("workers");
  TCase *tc = tcase_create ("workers");

  tcase_set_timeout (tc, 120); /* a sanitizer on a busy machine */
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, wanted);
  tcase_add_loop_test (tc, wakes, 0, NR (wake_rows));
  tcase_add_test (tc, batches);
  tcase_add_test (tc, one_at_a_time);
  tcase_add_test (tc, locality);
  tcase_add_test (tc, lost_node);
  tcase_add_test (tc, threads_look);
  tcase_add_test (tc, lost_cpu);
  tcase_add_loop_test (tc, fairness, 0, NR (order_rows));
  tcase_add_test (tc, count_range);
  tcase_add_test (tc, take_over_allocates_nothing);
  tcase_add_test (tc, change_finishes);
  tcase_add_test (tc, free_finishes);
  tcase_add_test (tc, rollback);
  tcase_add_test (tc, new_fails);
  tcase_add_test (tc, thread_fails);
  tcase_add_test (tc, changes_under_load);
  tcase_add_test (tc, failures_under_load);
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
