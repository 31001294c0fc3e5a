/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The automatic values: what stripe cache, worker threads and locks a machine
 * gets when nobody says.  Pure functions of memory, CPUs, NUMA nodes and
 * number of members; no locks.  A count of 0 is taken as 1.
 */
#ifndef URAID_AUTOSIZE_H
#define URAID_AUTOSIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "topology.h"
#include "md_layout/uraid_error.h"

/* stripe_cache_size, in stripes (4 KiB of every member each). */
#define AUTOSIZE_CACHE_LEAST 256u
#define AUTOSIZE_CACHE_MOST 4096u
#define AUTOSIZE_CACHE_MAX_LEAST 32768u /* of stripe_cache_size_max */
/* group_thread_cnt, threads a NUMA node. */
#define AUTOSIZE_THREADS_AUTO (-1)
#define AUTOSIZE_THREADS_MOST 8192u /* at run time */
#define AUTOSIZE_THREADS_CAP 256u   /* automatic, and as a default */
/* max_stripe_batch, in stripes. */
#define AUTOSIZE_BATCH 8u
#define AUTOSIZE_BATCH_MOST 256u
#define AUTOSIZE_LANES_MOST 4

/* L1: 256 stripes, and one part in 512 of the memory beyond 12 GiB; at most
 * 4096.
 */
extern unsigned autosize_stripe_cache_size (uint64_t ram_bytes,
                                            unsigned members);

/* L60: the start value if SETTING stripes were asked for (0 = automatic). */
extern unsigned autosize_stripe_cache_start (unsigned setting,
                                             uint64_t ram_bytes,
                                             unsigned members);

/* L64: the ceiling of the above in stripes, one part in 16 of the memory, but
 * 32768 ... 262144.
 */
extern unsigned autosize_stripe_cache_max (uint64_t ram_bytes,
                                           unsigned members);

/* Bytes of STRIPES stripes of MEMBERS members. */
extern uint64_t autosize_stripe_cache_bytes (uint64_t stripes,
                                             unsigned members);

/* May the cache have STRIPES stripes when MAX is the ceiling?  0; -EINVAL
 * outside 17 ... 262144; -ENOMEM above MAX, with the bytes needed in the text.
 */
extern int autosize_check_stripe_cache_size (uint64_t stripes, unsigned max,
                                             unsigned members,
                                             struct uraid_error *e);

/* L4: CPUs / (2 * nodes) threads a node; 1 becomes 0, never above 256. */
extern unsigned autosize_group_thread_cnt (unsigned cpus, unsigned nodes);

/* The older rule (profile=tree): min (2, CPUs / 2). */
extern unsigned autosize_group_thread_cnt_tree (unsigned cpus);

/* L61: the start value if the default is SETTING: negative = automatic, above
 * 256 becomes 256 and *RET_CAPPED (may be NULL) true: say so in the log.
 */
extern unsigned autosize_group_thread_start (int64_t setting, unsigned cpus,
                                             unsigned nodes, bool *ret_capped);

/* L63: CPUs rounded up to a power of two, 8 ... 32. */
extern unsigned autosize_hash_locks (unsigned cpus);

/* Connections to a member that are asked for: one up to 2 CPUs, which one
 * keeps busy (and replies come in company), else 4.
 */
extern unsigned autosize_connections (unsigned cpus);

/* Lanes (event loop threads): one up to 4 CPUs, then one for each 4, at most
 * 4, and never more than there are connections to a member.
 */
extern unsigned autosize_lanes (unsigned cpus, unsigned connections);

/* L72: all start values at once. */
enum autosize_profile {
  AUTOSIZE_PROFILE_AUTO,
  AUTOSIZE_PROFILE_STOCK, /* the kernel's constants, whatever the machine */
  AUTOSIZE_PROFILE_TREE,  /* those of the out-of-tree md */
};

struct autosize_values {
  unsigned stripe_cache_size;     /* stripes */
  unsigned stripe_cache_size_max; /* stripes */
  unsigned group_thread_cnt;      /* threads a node */
  unsigned nr_stripe_hash_locks;
  unsigned max_stripe_batch;   /* stripes */
  unsigned sync_window;        /* stripes */
  unsigned sync_hwmark;        /* 1/N of the cache; 1 = no limit */
  unsigned sync_speed_max_kib; /* KiB/s; 0 = no cap */
  unsigned sync_throttle_ms;
  unsigned sync_drain_pct;
};

extern void autosize_profile (enum autosize_profile profile,
                              const struct topology *t, unsigned members,
                              struct autosize_values *ret);

#endif
