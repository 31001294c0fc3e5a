/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Stripe workers (see the header).
 *
 * A group has a crew: its threads and the lists that these threads empty.
 * A change of the count gives every group a new crew.  From then on the old
 * one gets no more items, so its lists become empty, its threads end and can
 * be joined, however busy the array is.
 *
 * Everything in a crew is under the lock of its group, save "load".  Always:
 *
 *   queued >= waking              whoever is woken finds an item
 *   queued > 0 => running > 0     no item is forgotten
 *   waking <= running <= nr_threads <= nr_slots
 *
 * A worker goes idle only when queued == waking, that is when each item left
 * has a worker on its way to it; and it takes no more than its share as long
 * as there are such workers.
 */
#include <config.h>

#include "workers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

STAILQ_HEAD (item_list, work_item);

struct worker {
  struct crew *crew; /* set once */
  pthread_t thread;  /* set once, under the group lock */
  unsigned index;    /* set once */
  /* Under the group lock: */
  pthread_cond_t cond;
  bool woken; /* its wake is counted in crew->waking */
  SLIST_ENTRY (worker) idle_link;
};

struct crew {
  struct group *g; /* set once */
  /* Items queued and not yet run; atomic, so that workers need no lock for
   * each item.
   */
  atomic_uint load;
  /* Under the group lock: */
  struct item_list handle, hold;
  unsigned queued;   /* items on both lists */
  unsigned bypassed; /* handle items that passed by the hold list */
  unsigned running;  /* woken or started, not idle again */
  unsigned waking;   /* of these: have not looked at the lists yet */
  unsigned nr_threads;
  bool quit;                  /* end when there is nothing left */
  SLIST_HEAD (, worker) idle; /* the one that slept last comes first */
  unsigned nr_slots;          /* less if a thread could not be started */
  struct worker slot[];       /* nr_slots as allocated */
};

struct group {
  struct workers *w; /* set once */
  unsigned number;   /* set once: NUMA node */
  unsigned takes;    /* set once: group that takes our items, often number */
  bool pinned;       /* set once */
  cpu_set_t cpus;    /* set once */

  pthread_mutex_t lock;
  /* Under lock: */
  struct crew *crew; /* NULL = no workers */
  uint64_t seq, wakes, batches, handled;
} __attribute__ ((aligned (64)));

struct workers {
  unsigned nr_groups;   /* set once */
  struct group *groups; /* set once */

  pthread_mutex_t change_lock; /* held by who changes the count */
  atomic_uint per_group;       /* written under change_lock */
  _Atomic uint64_t changes;

  atomic_uint batch, bypass;
  atomic_uint running, peak, threads; /* statistics */
};

/* The workers of which this thread is one. */
static __thread const struct workers *own_workers;

/*----- Failures for tests -----*/

static atomic_uint fail_alloc, fail_thread;

void
workers_test_fail_alloc (unsigned n)
{
  atomic_store (&fail_alloc, n);
}

void
workers_test_fail_thread (unsigned n)
{
  atomic_store (&fail_thread, n);
}

/* This thread is where nothing may be allocated (take_over). */
static __thread bool taking_over;

bool
workers_test_taking_over (void)
{
  return taking_over;
}

/* Is it this one that shall fail? */
static bool
fails_now (atomic_uint *countdown)
{
  unsigned n = atomic_load (countdown);

  while (n > 0)
    if (atomic_compare_exchange_weak (countdown, &n, n - 1))
      return n == 1;
  return false;
}

static void *
zalloc (size_t n, size_t bytes)
{
  return fails_now (&fail_alloc) ? NULL : calloc (n, bytes);
}

/*----- A worker's life -----*/

unsigned
workers_wanted (unsigned queued, unsigned per_group)
{
  unsigned n = queued / WORKERS_WAKE_ITEMS;

  if (n == 0)
    n = queued > 0;
  return n < per_group ? n : per_group;
}

/* The next item goes by which list?  Group lock held, queued > 0. */
static struct item_list *
next_list (struct crew *c, unsigned threshold)
{
  const struct work_item *handle = STAILQ_FIRST (&c->handle);
  const struct work_item *hold = STAILQ_FIRST (&c->hold);
  bool bypass;

  if (handle == NULL || hold == NULL) {
    c->bypassed = 0;
    return handle != NULL ? &c->handle : &c->hold;
  }
  bypass = threshold == 0 ? handle->seq < hold->seq : c->bypassed < threshold;
  c->bypassed = bypass ? c->bypassed + 1 : 0;
  return bypass ? &c->handle : &c->hold;
}

/* Move our share to BATCH.  Group lock held.  False if there is none. */
static bool
take_batch (struct crew *c, struct item_list *batch)
{
  struct group *g = c->g;
  unsigned threshold = atomic_load (&g->w->bypass);
  unsigned most = atomic_load (&g->w->batch);
  unsigned n, i;

  if (c->queued <= c->waking)
    return false;
  n = (c->queued + c->waking) / (c->waking + 1);
  if (n > most)
    n = most;
  STAILQ_INIT (batch);
  for (i = 0; i < n; i++) {
    struct item_list *list = next_list (c, threshold);
    struct work_item *item = STAILQ_FIRST (list);

    STAILQ_REMOVE_HEAD (list, link);
    STAILQ_INSERT_TAIL (batch, item, link);
  }
  c->queued -= n;
  g->batches++;
  g->handled += n;
  return true;
}

static void
run_batch (struct crew *c, struct item_list *batch)
{
  struct work_item *item;

  while ((item = STAILQ_FIRST (batch)) != NULL) {
    STAILQ_REMOVE_HEAD (batch, link);
    item->fn (item); /* may free it */
    atomic_fetch_sub (&c->load, 1);
  }
}

/* Sleep until woken for an item.  Group lock held.  False: the end. */
static bool
worker_sleep (struct worker *wk)
{
  struct crew *c = wk->crew;

  SLIST_INSERT_HEAD (&c->idle, wk, idle_link);
  while (!wk->woken && !c->quit)
    pthread_cond_wait (&wk->cond, &c->g->lock);
  /* Who wakes us takes us off the list; quit does not. */
  return wk->woken;
}

static void
worker_set_up (const struct worker *wk)
{
  const struct group *g = wk->crew->g;
  char name[16];

  own_workers = g->w;
  snprintf (name, sizeof name, "uraid-w%u.%u", g->number, wk->index);
  pthread_setname_np (pthread_self (), name);
  /* Without success (the CPUs were taken from us) any CPU is right. */
  if (g->pinned)
    pthread_setaffinity_np (pthread_self (), sizeof g->cpus, &g->cpus);
}

static void *
worker_main (void *arg)
{
  struct worker *wk = arg;
  struct crew *c = wk->crew;
  struct group *g = c->g;
  struct item_list batch;

  worker_set_up (wk);
  pthread_mutex_lock (&g->lock);
  do {
    wk->woken = false;
    c->waking--;
    assert (c->queued > c->waking);
    while (take_batch (c, &batch)) {
      pthread_mutex_unlock (&g->lock);
      run_batch (c, &batch);
      pthread_mutex_lock (&g->lock);
    }
    c->running--;
    atomic_fetch_sub (&g->w->running, 1);
  } while (worker_sleep (wk));
  pthread_mutex_unlock (&g->lock);
  return NULL;
}

/*----- Queueing -----*/

/* 0 or an errno.  Group lock held: the thread waits for it. */
static int
start_thread (struct crew *c)
{
  struct worker *wk = &c->slot[c->nr_threads];
  sigset_t all, old;
  int r;

  if (fails_now (&fail_thread))
    return EAGAIN;
  wk->crew = c;
  wk->index = c->nr_threads;
  wk->woken = true;
  pthread_cond_init (&wk->cond, NULL);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&wk->thread, NULL, worker_main, wk);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (r != 0) {
    pthread_cond_destroy (&wk->cond);
    return r;
  }
  c->nr_threads++;
  atomic_fetch_add (&c->g->w->threads, 1);
  return 0;
}

static void
count_running (struct workers *w)
{
  unsigned now = atomic_fetch_add (&w->running, 1) + 1;
  unsigned peak = atomic_load (&w->peak);

  while (peak < now && !atomic_compare_exchange_weak (&w->peak, &peak, now))
    ;
}

/* One more running worker, if there is any.  Group lock held. */
static bool
wake_one (struct crew *c)
{
  struct worker *wk = SLIST_FIRST (&c->idle);

  if (wk != NULL) {
    SLIST_REMOVE_HEAD (&c->idle, idle_link);
    wk->woken = true;
    pthread_cond_signal (&wk->cond);
  }
  else if (c->nr_threads == c->nr_slots)
    return false;
  else if (start_thread (c) != 0) {
    /* Do not try again with every item. */
    if (c->nr_threads > 0)
      c->nr_slots = c->nr_threads;
    return false;
  }
  c->running++;
  c->waking++;
  c->g->wakes++;
  count_running (c->g->w);
  return true;
}

/* Make workers run for one more item.  Group lock held.  False: there is no
 * worker at all.
 */
static bool
wake_for_item (struct crew *c)
{
  unsigned wanted = workers_wanted (atomic_load (&c->load) + 1, c->nr_slots);

  while (c->running < wanted && c->waking < c->queued + 1)
    if (!wake_one (c))
      break;
  return c->running > 0;
}

static struct group *
group_of (struct workers *w, unsigned number)
{
  if (number >= w->nr_groups)
    number = 0;
  return &w->groups[w->groups[number].takes];
}

bool
workers_queue (struct workers *w, struct work_item *item)
{
  struct group *g = group_of (w, item->group);
  struct crew *c;
  bool ok;

  if (atomic_load_explicit (&w->per_group, memory_order_relaxed) == 0)
    return false;
  pthread_mutex_lock (&g->lock);
  c = g->crew;
  ok = c != NULL && wake_for_item (c);
  if (ok) {
    item->seq = g->seq++;
    STAILQ_INSERT_TAIL (item->preread ? &c->hold : &c->handle, item, link);
    c->queued++;
    atomic_fetch_add (&c->load, 1);
  }
  pthread_mutex_unlock (&g->lock);
  return ok;
}

/*----- Change of the count -----*/

static struct crew *
crew_new (struct group *g, unsigned per_group)
{
  struct crew *c = zalloc (1, sizeof *c + per_group * sizeof c->slot[0]);

  if (c == NULL)
    return NULL;
  c->g = g;
  c->nr_slots = per_group;
  STAILQ_INIT (&c->handle);
  STAILQ_INIT (&c->hold);
  SLIST_INIT (&c->idle);
  return c;
}

/* Give G the crew C (or none).  Returns the old one, which begins to end. */
static struct crew *
group_swap (struct group *g, struct crew *c)
{
  struct crew *old;
  struct worker *wk;

  pthread_mutex_lock (&g->lock);
  old = g->crew;
  g->crew = c;
  if (old != NULL) {
    old->quit = true;
    for (wk = SLIST_FIRST (&old->idle); wk != NULL;
         wk = SLIST_NEXT (wk, idle_link))
      pthread_cond_signal (&wk->cond);
  }
  pthread_mutex_unlock (&g->lock);
  return old;
}

/* Wait for the threads of C; no lock held.  C may be NULL. */
static void
crew_end (struct crew *c)
{
  unsigned i;

  if (c == NULL)
    return;
  /* nr_threads is final: only queueing changes it, and nobody queues here. */
  for (i = 0; i < c->nr_threads; i++) {
    pthread_join (c->slot[i].thread, NULL);
    pthread_cond_destroy (&c->slot[i].cond);
    atomic_fetch_sub (&c->g->w->threads, 1);
  }
  assert (c->queued == 0 && c->running == 0);
  free (c);
}

static void
free_crews (struct crew **crews, unsigned nr)
{
  unsigned i;

  for (i = 0; crews != NULL && i < nr; i++)
    free (crews[i]);
  free (crews);
}

/* A crew for each group that has CPUs; all NULL if PER_GROUP is 0.  NULL when
 * out of memory.
 */
static struct crew **
new_crews (struct workers *w, unsigned per_group)
{
  struct crew **crews = zalloc (w->nr_groups, sizeof *crews);
  unsigned i;

  if (crews == NULL)
    return NULL;
  for (i = 0; i < w->nr_groups && per_group > 0; i++) {
    if (w->groups[i].takes != i)
      continue;
    crews[i] = crew_new (&w->groups[i], per_group);
    if (crews[i] == NULL) {
      free_crews (crews, i);
      return NULL;
    }
  }
  return crews;
}

/* Let CREWS take over, and put the old ones there.  All memory they need is
 * there.  Nothing is allocated and no thread started: memory may have to be
 * made free by writing to this very array, when its clients swap on it.
 */
static void
take_over (struct workers *w, struct crew **crews, unsigned per_group)
{
  unsigned i;

  taking_over = true;
  for (i = 0; i < w->nr_groups; i++)
    crews[i] = group_swap (&w->groups[i], crews[i]);
  atomic_store (&w->per_group, per_group);
  atomic_fetch_add (&w->changes, 1);
  taking_over = false;
}

/* Change lock held. */
static int
change_count (struct workers *w, unsigned per_group, struct uraid_error *e)
{
  struct crew **crews;
  unsigned i;

  if (per_group == atomic_load (&w->per_group))
    return 0;
  crews = new_crews (w, per_group);
  if (crews == NULL)
    return uraid_error_set (e, ENOMEM,
                            "group_thread_cnt: %u: not enough memory; the old "
                            "value %u stays: try a smaller one",
                            per_group, atomic_load (&w->per_group));
  take_over (w, crews, per_group);
  for (i = 0; i < w->nr_groups; i++)
    crew_end (crews[i]);
  free (crews);
  return 0;
}

int
workers_set_count (struct workers *w, unsigned per_group,
                   struct uraid_error *e)
{
  int r;

  assert (own_workers != w); /* it would wait for itself */
  if (per_group > WORKERS_MAX)
    return uraid_error_set (e, EINVAL,
                            "group_thread_cnt: %u: allowed are 0 to %u "
                            "threads for each NUMA node",
                            per_group, WORKERS_MAX);
  pthread_mutex_lock (&w->change_lock);
  r = change_count (w, per_group, e);
  pthread_mutex_unlock (&w->change_lock);
  return r;
}

unsigned
workers_count (struct workers *w)
{
  return atomic_load (&w->per_group);
}

/*----- Start and end -----*/

static void
group_init (struct workers *w, unsigned number, const struct topology *t)
{
  struct group *g = &w->groups[number];
  unsigned cpu;

  g->w = w;
  g->number = number;
  pthread_mutex_init (&g->lock, NULL);
  for (cpu = 0; cpu < TOPOLOGY_MAX_CPUS && cpu < CPU_SETSIZE; cpu++)
    if (t->cpu_node[cpu] == (int)number)
      CPU_SET (cpu, &g->cpus);
  g->pinned = !t->faked && CPU_COUNT (&g->cpus) > 0;
}

/* Who takes the items of a group without CPUs?  The next group that has some;
 * if none has, we know no CPU by number and group 0 runs anywhere.
 */
static void
map_groups (struct workers *w)
{
  unsigned i, step, other;

  for (i = 0; i < w->nr_groups; i++) {
    w->groups[i].takes = 0;
    for (step = 0; step < w->nr_groups; step++) {
      other = (i + step) % w->nr_groups;
      if (CPU_COUNT (&w->groups[other].cpus) == 0)
        continue;
      w->groups[i].takes = other;
      break;
    }
  }
}

int
workers_new (const struct topology *t, struct workers **ret,
             struct uraid_error *e)
{
  struct workers *w = zalloc (1, sizeof *w);
  void *groups = NULL;
  unsigned i;

  if (w != NULL) {
    w->nr_groups = t->max_node + 1;
    if (fails_now (&fail_alloc) ||
        posix_memalign (&groups, _Alignof(struct group),
                        w->nr_groups * sizeof w->groups[0]) != 0)
      groups = NULL;
  }
  if (groups == NULL) {
    free (w);
    return uraid_error_set (e, ENOMEM,
                            "not enough memory for the groups of %u nodes",
                            t->max_node + 1);
  }
  memset (groups, 0, w->nr_groups * sizeof w->groups[0]);
  w->groups = groups;
  pthread_mutex_init (&w->change_lock, NULL);
  atomic_store (&w->batch, WORKERS_BATCH);
  atomic_store (&w->bypass, WORKERS_BYPASS);
  for (i = 0; i < w->nr_groups; i++)
    group_init (w, i, t);
  map_groups (w);
  *ret = w;
  return 0;
}

void
workers_free (struct workers *w)
{
  unsigned i;

  if (w == NULL)
    return;
  assert (own_workers != w);
  for (i = 0; i < w->nr_groups; i++)
    crew_end (group_swap (&w->groups[i], NULL));
  for (i = 0; i < w->nr_groups; i++)
    pthread_mutex_destroy (&w->groups[i].lock);
  pthread_mutex_destroy (&w->change_lock);
  free (w->groups);
  free (w);
}

/*----- Settings and statistics -----*/

int
workers_set_batch (struct workers *w, unsigned items, struct uraid_error *e)
{
  if (items < 1 || items > WORKERS_BATCH_MAX)
    return uraid_error_set (e, EINVAL,
                            "max_stripe_batch: %u: allowed are 1 to %u", items,
                            WORKERS_BATCH_MAX);
  atomic_store (&w->batch, items);
  return 0;
}

void
workers_set_bypass (struct workers *w, unsigned items)
{
  atomic_store (&w->bypass, items);
}

void
workers_get_stats (struct workers *w, struct workers_stats *ret)
{
  unsigned i;

  memset (ret, 0, sizeof *ret);
  for (i = 0; i < w->nr_groups; i++) {
    struct group *g = &w->groups[i];

    pthread_mutex_lock (&g->lock);
    ret->wakes += g->wakes;
    ret->batches += g->batches;
    ret->items += g->handled;
    pthread_mutex_unlock (&g->lock);
  }
  ret->changes = atomic_load (&w->changes);
  ret->running = atomic_load (&w->running);
  ret->peak = atomic_load (&w->peak);
  ret->threads = atomic_load (&w->threads);
}

uint64_t
workers_handled (struct workers *w, unsigned group)
{
  struct group *g;
  uint64_t n;

  if (group >= w->nr_groups)
    return 0;
  g = &w->groups[group];
  pthread_mutex_lock (&g->lock);
  n = g->handled;
  pthread_mutex_unlock (&g->lock);
  return n;
}
