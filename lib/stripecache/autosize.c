/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The automatic values (see the header).  Pure functions; no locks.
 */
#include <config.h>

#include "autosize.h"

#include <errno.h>
#include <inttypes.h>

#include "stripecache.h"

#define GIB (1024 * 1024 * 1024ull)

static unsigned
clamp (uint64_t v, unsigned least, unsigned most)
{
  return v < least ? least : v > most ? most : (unsigned)v;
}

static unsigned
at_least_1 (unsigned n)
{
  return n == 0 ? 1 : n;
}

uint64_t
autosize_stripe_cache_bytes (uint64_t stripes, unsigned members)
{
  return stripes * at_least_1 (members) * PAGES_BYTES;
}

unsigned
autosize_stripe_cache_size (uint64_t ram_bytes, unsigned members)
{
  const uint64_t small = 12 * GIB;
  uint64_t spare = ram_bytes > small ? (ram_bytes - small) / 512 : 0;

  return clamp (AUTOSIZE_CACHE_LEAST +
                    spare / autosize_stripe_cache_bytes (1, members),
                AUTOSIZE_CACHE_LEAST, AUTOSIZE_CACHE_MOST);
}

unsigned
autosize_stripe_cache_start (unsigned setting, uint64_t ram_bytes,
                             unsigned members)
{
  return setting != 0 ? setting
                      : autosize_stripe_cache_size (ram_bytes, members);
}

unsigned
autosize_stripe_cache_max (uint64_t ram_bytes, unsigned members)
{
  return clamp (ram_bytes / 16 / autosize_stripe_cache_bytes (1, members),
                AUTOSIZE_CACHE_MAX_LEAST, STRIPECACHE_MAX);
}

int
autosize_check_stripe_cache_size (uint64_t stripes, unsigned max,
                                  unsigned members, struct uraid_error *e)
{
  if (stripes < STRIPECACHE_MIN || stripes > STRIPECACHE_MAX)
    return uraid_error_set (
        e, EINVAL, "stripe_cache_size: %" PRIu64 ": allowed are %d to %d",
        stripes, STRIPECACHE_MIN, STRIPECACHE_MAX);
  if (stripes > max)
    return uraid_error_set (
        e, ENOMEM,
        "stripe_cache_size: %" PRIu64 ": needs %" PRIu64
        " bytes; allowed are %d to %u stripes (%" PRIu64
        " bytes): restart with a larger stripe_cache_size_max to have more",
        stripes, autosize_stripe_cache_bytes (stripes, members),
        STRIPECACHE_MIN, max, autosize_stripe_cache_bytes (max, members));
  return 0;
}

unsigned
autosize_group_thread_cnt (unsigned cpus, unsigned nodes)
{
  unsigned n = cpus / 2 / at_least_1 (nodes);

  /* One worker only adds a hand-over to what its caller can do. */
  return n <= 1 ? 0 : clamp (n, 0, AUTOSIZE_THREADS_CAP);
}

unsigned
autosize_group_thread_cnt_tree (unsigned cpus)
{
  return clamp (cpus / 2, 0, 2);
}

unsigned
autosize_group_thread_start (int64_t setting, unsigned cpus, unsigned nodes,
                             bool *ret_capped)
{
  bool capped = setting > (int64_t)AUTOSIZE_THREADS_CAP;

  if (ret_capped != NULL)
    *ret_capped = capped;
  if (setting < 0)
    return autosize_group_thread_cnt (cpus, nodes);
  return capped ? AUTOSIZE_THREADS_CAP : (unsigned)setting;
}

unsigned
autosize_hash_locks (unsigned cpus)
{
  unsigned n = 8;

  while (n < cpus && n < 32)
    n *= 2;
  return n;
}

unsigned
autosize_connections (unsigned cpus)
{
  return cpus <= 2 ? 1 : 4;
}

unsigned
autosize_lanes (unsigned cpus, unsigned connections)
{
  unsigned lanes = cpus / 4;

  if (lanes < 1)
    lanes = 1;
  if (lanes > AUTOSIZE_LANES_MOST)
    lanes = AUTOSIZE_LANES_MOST;
  return lanes < connections ? lanes : connections;
}

void
autosize_profile (enum autosize_profile profile, const struct topology *t,
                  unsigned members, struct autosize_values *ret)
{
  static const struct autosize_values stock = {
      .stripe_cache_size = 256,
      .stripe_cache_size_max = 32768,
      .group_thread_cnt = 0,
      .nr_stripe_hash_locks = 8,
      .max_stripe_batch = 8,
      .sync_window = 1,
      .sync_hwmark = 1,
      .sync_speed_max_kib = 200000,
      .sync_throttle_ms = 500,
      .sync_drain_pct = 100,
  };

  *ret = stock;
  if (profile == AUTOSIZE_PROFILE_STOCK)
    return;
  ret->sync_window = 32;
  ret->sync_hwmark = 2;
  ret->sync_speed_max_kib = 0;
  ret->sync_throttle_ms = 50;
  ret->sync_drain_pct = 50;
  if (profile == AUTOSIZE_PROFILE_TREE) {
    ret->stripe_cache_size_max = STRIPECACHE_MAX;
    ret->group_thread_cnt = autosize_group_thread_cnt_tree (t->nr_cpus);
    ret->nr_stripe_hash_locks = 32;
    ret->sync_window = 128;
    return;
  }
  ret->stripe_cache_size = autosize_stripe_cache_size (t->ram_bytes, members);
  ret->stripe_cache_size_max =
      autosize_stripe_cache_max (t->ram_bytes, members);
  ret->group_thread_cnt = autosize_group_thread_cnt (t->nr_cpus, t->nr_nodes);
  ret->nr_stripe_hash_locks = autosize_hash_locks (t->nr_cpus);
}
