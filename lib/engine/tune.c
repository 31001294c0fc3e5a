/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What can be changed while requests run.  The caller lets only one thread in
 * at a time; lanes read these values without a lock, and a run that began
 * with an old value ends with it.
 */
#include <config.h>

#include "engine_int.h"

/* cfg is read as plain memory elsewhere; one word is written whole. */
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
  (void)err;
  STORE (group_thread_cnt, per_group);
  return 0;
}

void
engine_set_max_stripe_batch (struct engine *e, unsigned runs)
{
  STORE (max_stripe_batch, runs);
}

void
engine_set_preread_bypass_threshold (struct engine *e, unsigned n)
{
  STORE (preread_bypass_threshold, n);
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
