/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Stripes: who owns them, what is cached of them.
 *
 * A stripe is 4 KiB of every member at one member offset.  Up to
 * STRIPECACHE_SEG_MAX neighbouring stripes of one row form a segment; it is
 * the unit of look-up, so that a long run costs one hash look-up.  Segments
 * hang in hash buckets, each with one mutex ("bucket lock", lock order:
 * HACKING.md).
 *
 * Ownership: a claim on consecutive stripes of a segment.  Claims of one
 * segment never overlap.  Who finds stripes claimed leaves a waiter; the
 * owner, when done, takes over what waits (the engine's job).  No lock is
 * held while a claim's I/O is in flight.
 *
 * Cache: pages of members, each valid as long as it is there.  Only the owner
 * of a stripe touches its pages; only unclaimed stripes are evicted.  Memory
 * is bounded by size_stripes * nr_members * 4 KiB; data pages go before
 * parity pages (a parity page serves all data pages of its stripe).
 */
#ifndef URAID_STRIPECACHE_H
#define URAID_STRIPECACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pages.h"

#define CACHE_LINE 64           /* bytes; x86, most ARM */
#define STRIPECACHE_SEG_MAX 128 /* stripes: 512 KiB of each member */
#define STRIPECACHE_MIN 17      /* stripes, md's limits */
#define STRIPECACHE_MAX 262144

struct stripecache;
struct segment;
struct stripe;

/* Consecutive stripes of a segment, owned or waited for. */
struct stripe_claim {
  unsigned first, nr; /* in stripes, relative to the segment */
  bool combines;      /* partial write: neighbours wait to be joined */
  struct segment *seg;
  struct stripe_claim *next;
};

struct segment {
  /* What a look-up reads. */
  uint64_t segno;               /* constant */
  struct stripecache_bucket *b; /* constant */
  struct segment *hash_next;    /* bucket lock */
  /* What changes with each claim, under the bucket lock. */
  _Alignas(CACHE_LINE) struct stripe_claim *claims; /* owned, any order */
  struct stripe_claim *wait_head, *wait_tail; /* first come first served */
  unsigned nr_cached; /* stripes that have a struct stripe */
  /* Entry i: its owner, or under the bucket lock if unclaimed. */
  struct stripe *stripe[]; /* seg_stripes entries */
};

struct stripecache_bucket {
  pthread_mutex_t lock;
  struct segment **table; /* open hashing, nr_slots lists */
  unsigned nr_slots;
  /* LRU of stripes that nobody owns: [0] with data pages, [1] parity only.
   * Sentinels of circular lists, next = least recently used.
   */
  struct {
    struct stripe *oldest, *newest;
  } lru[2];
  uint64_t takes; /* statistics: lock takes */
} __attribute__ ((aligned (CACHE_LINE)));

/* SEG_STRIPES: stripes in a segment (power of two, <= STRIPECACHE_SEG_MAX).
 * NR_LOCKS: power of two.  0 or -ENOMEM.
 */
extern int stripecache_new (unsigned nr_members, unsigned seg_stripes,
                            unsigned size_stripes, unsigned nr_locks,
                            struct pages *pages, struct stripecache **ret);
extern void stripecache_free (struct stripecache *sc);

/* New bound in stripes; a smaller one is brought about before the return, but
 * for stripes that are owned just then (those shrink when released).  Any
 * thread that holds no bucket lock.
 */
extern void stripecache_set_size (struct stripecache *sc, unsigned stripes);
/* Shrink once to STRIPES, the least recently used first; the bound stays. */
extern void stripecache_shrink (struct stripecache *sc, unsigned stripes);

/* Lock the bucket of SEGNO and find the segment, making it if it is not
 * there.  NULL (and unlocked) when out of memory.
 */
extern struct segment *stripecache_lock (struct stripecache *sc,
                                         uint64_t segno);
/* Unlock; frees the segment when nothing is left in it. */
extern void stripecache_unlock (struct stripecache *sc, struct segment *seg);
/* Take the bucket lock again for a segment on which we hold a claim. */
extern void stripecache_relock (struct segment *seg);

/* Does [FIRST, FIRST+NR) overlap a claim?  Bucket lock held. */
extern bool segment_claimed (const struct segment *seg, unsigned first,
                             unsigned nr);

/* Own the stripes of C (must be unclaimed).  Bucket lock held. */
extern void segment_claim (struct stripecache *sc, struct segment *seg,
                           struct stripe_claim *c);
/* Give them back; cached stripes go to the LRU.  Bucket lock held. */
extern void segment_release (struct stripecache *sc, struct stripe_claim *c);

/* Waiters, first come first served.  Bucket lock held. */
extern void segment_wait (struct segment *seg, struct stripe_claim *w);
extern void segment_unwait (struct segment *seg, struct stripe_claim *prev,
                            struct stripe_claim *w);

/* The following only for owned stripes, no lock. */

/* The cached page of member slot SLOT, or NULL. */
extern const uint8_t *stripe_page (const struct segment *seg, unsigned stripe,
                                   unsigned slot);
/* Take the page out of the cache: the caller owns it (1 page block). */
extern uint8_t *stripe_steal (struct stripecache *sc, struct segment *seg,
                              unsigned stripe, unsigned slot);
/* Put a page in (replaces one that is there).  PAGE becomes the cache's; it
 * is freed when there is no memory for the stripe.
 */
extern void stripe_put (struct stripecache *sc, struct segment *seg,
                        unsigned stripe, unsigned slot, uint8_t *page,
                        bool is_parity);
/* Forget all pages of NR stripes from FIRST. */
extern void stripe_drop (struct stripecache *sc, struct segment *seg,
                         unsigned first, unsigned nr);
/* Forget all cached pages that nobody owns (a member was replaced). */
extern void stripecache_drop_all (struct stripecache *sc);

struct stripecache_stats {
  uint64_t stripes, pages, limit_pages, lock_takes, evicted;
};
extern void stripecache_get_stats (struct stripecache *sc,
                                   struct stripecache_stats *ret);

#endif
