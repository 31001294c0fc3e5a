/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What can be changed while requests run.  The caller lets only one thread in
 * at a time; lanes read these values without a lock, and a run that began
 * with an old value ends with it.
 */
#include <config.h>

#include "engine_int.h"

#include <errno.h>

/* Read by ENGINE_TUNED. */
#define STORE(field, value)                                                   \
  __atomic_store_n (&e->cfg.field, value, __ATOMIC_RELAXED)

void
engine_set_stripe_cache_size (struct engine *e, unsigned stripes)
{
  STORE (stripe_cache_size, stripes);
  stripecache_set_size (e->sc, stripes);
}

void
engine_set_rmw_level (struct engine *e, int level)
{
  STORE (rmw_level, level);
}

void
engine_set_skip_copy (struct engine *e, bool on)
{
  STORE (skip_copy, on);
}

int
engine_set_group_thread_cnt (struct engine *e, unsigned per_group,
                             struct uraid_error *err)
{
  int r = 0;

  if (e->workers != NULL)
    r = workers_set_count (e->workers, per_group, err);
  else if (per_group > 0)
    r = uraid_error_set (err, EINVAL,
                         "group_thread_cnt: %u: this array has no workers",
                         per_group);
  if (r == 0)
    STORE (group_thread_cnt, per_group);
  return r;
}

void
engine_set_max_stripe_batch (struct engine *e, unsigned runs)
{
  struct uraid_error ignored;

  STORE (max_stripe_batch, runs);
  if (e->workers != NULL)
    (void)workers_set_batch (e->workers, runs, &ignored);
}

void
engine_set_preread_bypass_threshold (struct engine *e, unsigned n)
{
  STORE (preread_bypass_threshold, n);
  if (e->workers != NULL)
    workers_set_bypass (e->workers, n);
}

int
engine_start_workers (struct engine *e, struct uraid_error *err)
{
  engine_set_max_stripe_batch (e, e->cfg.max_stripe_batch > 0
                                      ? e->cfg.max_stripe_batch
                                      : WORKERS_BATCH);
  engine_set_preread_bypass_threshold (e, e->cfg.preread_bypass_threshold);
  return engine_set_group_thread_cnt (e, e->cfg.group_thread_cnt, err);
}

void
engine_stop_workers (struct engine *e)
{
  struct uraid_error ignored;

  (void)engine_set_group_thread_cnt (e, 0, &ignored);
}

void
engine_worker_stats (struct engine *e, struct engine_worker_stats *ret)
{
  struct workers_stats w = {0};

  *ret = (struct engine_worker_stats){.group_thread_cnt =
                                          ENGINE_TUNED (e, group_thread_cnt)};
  if (e->workers == NULL)
    return;
  workers_get_stats (e->workers, &w);
  ret->groups = e->cfg.topology->nr_nodes;
  ret->running = w.running;
  ret->peak = w.peak;
  ret->threads = w.threads;
  ret->wakes = w.wakes;
  ret->batches = w.batches;
  ret->items = w.items;
  ret->changes = w.changes;
}

void
engine_idle (struct engine *e)
{
  stripecache_shrink (e->sc, ENGINE_IDLE_STRIPES);
  pages_trim (e->pages);
}

void
engine_reset_write_stats (struct engine *e)
{
  struct engine_stats *s = &e->stats;

  atomic_store (&s->write_full, 0);
  atomic_store (&s->write_rcw, 0);
  atomic_store (&s->write_rmw, 0);
  atomic_store (&s->prereads, 0);
}
