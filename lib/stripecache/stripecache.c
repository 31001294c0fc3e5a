/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Stripes: ownership and cached pages (see the header).  A bucket's mutex
 * protects its hash lists, its LRU lists and the claims and waiters of its
 * segments.  Page counters are atomic and may lag by a few pages.
 */
#include <config.h>

#include "stripecache.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* With the most stripes and the fewest locks a chain has 8 segments. */
#define SLOTS_PER_BUCKET 4096

#define SHRINK_SLICE 64 /* steps with a bucket lock held */

/* A stripe with cached pages.  Two LRU classes: 0 = has data pages, 1 = only
 * parity.  On an LRU list exactly while unclaimed.  Neighbours on the list
 * write to the first cache line under the bucket lock, the owner to the others
 * without it: they must not share one.
 */
struct stripe {
  struct stripe *older, *newer;
  struct segment *seg;
  uint16_t index; /* in the segment */
  bool on_lru;
  uint8_t lru_class;

  _Alignas(CACHE_LINE) uint16_t nr_pages; /* entries of page[] in use */
  uint16_t nr_data;                       /* of these, data pages */
  uint64_t parity[4];                     /* bit per slot: it is parity */
  uint8_t *page[];                        /* by slot */
};

_Static_assert(offsetof (struct stripe, lru_class) < CACHE_LINE &&
                   offsetof (struct stripe, nr_pages) == CACHE_LINE,
               "what the list's neighbours write and what the owner writes "
               "are on different cache lines");
_Static_assert(_Alignof(struct stripe) == CACHE_LINE,
               "stripes start on a cache line");
_Static_assert(sizeof (struct stripecache_bucket) % CACHE_LINE == 0 &&
                   _Alignof(struct stripecache_bucket) == CACHE_LINE,
               "two buckets never share a cache line");
_Static_assert(offsetof (struct segment, claims) == CACHE_LINE,
               "looking for a segment does not touch what its owners write");

struct stripecache {
  unsigned nr_members, seg_stripes;
  unsigned nr_buckets; /* power of two */
  struct stripecache_bucket *bucket;
  struct pages *pages;
  _Atomic uint64_t nr_pages, nr_stripes, evicted;
  _Atomic uint64_t limit_pages;
};

/* Zeroed, on whole cache lines of its own. */
static void *
alloc_lines (size_t bytes)
{
  size_t n = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  void *p = aligned_alloc (CACHE_LINE, n);

  if (p != NULL)
    memset (p, 0, n);
  return p;
}

int
stripecache_new (unsigned nr_members, unsigned seg_stripes,
                 unsigned size_stripes, unsigned nr_locks, struct pages *pages,
                 struct stripecache **ret)
{
  struct stripecache *sc = calloc (1, sizeof *sc);

  assert (seg_stripes >= 1 && seg_stripes <= STRIPECACHE_SEG_MAX);
  assert (nr_locks >= 1 && (nr_locks & (nr_locks - 1)) == 0);
  if (sc == NULL)
    return -ENOMEM;
  sc->nr_members = nr_members;
  sc->seg_stripes = seg_stripes;
  sc->nr_buckets = nr_locks;
  sc->pages = pages;
  atomic_store (&sc->limit_pages, (uint64_t)size_stripes * nr_members);
  if (posix_memalign ((void **)&sc->bucket, 64,
                      nr_locks * sizeof *sc->bucket) != 0) {
    free (sc);
    return -ENOMEM;
  }
  memset (sc->bucket, 0, nr_locks * sizeof *sc->bucket);
  for (unsigned i = 0; i < nr_locks; i++) {
    pthread_mutex_init (&sc->bucket[i].lock, NULL);
    sc->bucket[i].nr_slots = SLOTS_PER_BUCKET;
    sc->bucket[i].table = calloc (SLOTS_PER_BUCKET, sizeof (struct segment *));
    if (sc->bucket[i].table == NULL) {
      stripecache_free (sc);
      return -ENOMEM;
    }
  }
  *ret = sc;
  return 0;
}

static void
stripe_free (struct stripecache *sc, struct stripe *s)
{
  for (unsigned i = 0; i < sc->nr_members; i++)
    pages_put (sc->pages, s->page[i], 1);
  atomic_fetch_sub (&sc->nr_pages, s->nr_pages);
  atomic_fetch_sub (&sc->nr_stripes, 1);
  s->seg->stripe[s->index] = NULL;
  s->seg->nr_cached--;
  free (s);
}

void
stripecache_free (struct stripecache *sc)
{
  if (sc == NULL)
    return;
  for (unsigned i = 0; i < sc->nr_buckets; i++) {
    struct stripecache_bucket *b = &sc->bucket[i];

    for (unsigned h = 0; b->table != NULL && h < b->nr_slots; h++) {
      struct segment *seg, *next;

      for (seg = b->table[h]; seg != NULL; seg = next) {
        next = seg->hash_next;
        assert (seg->claims == NULL && seg->wait_head == NULL);
        for (unsigned k = 0; k < sc->seg_stripes; k++)
          if (seg->stripe[k] != NULL)
            stripe_free (sc, seg->stripe[k]);
        free (seg);
      }
    }
    free (b->table);
    pthread_mutex_destroy (&b->lock);
  }
  free (sc->bucket);
  free (sc);
}

void
stripecache_set_size (struct stripecache *sc, unsigned stripes)
{
  atomic_store (&sc->limit_pages, (uint64_t)stripes * sc->nr_members);
  stripecache_shrink (sc, stripes);
}

/* Neighbouring segments must fall into different buckets and chains: mix with
 * a multiplicative hash and use the high bits.
 */
static uint64_t
hash (uint64_t segno)
{
  return (segno * UINT64_C (0x9e3779b97f4a7c15)) >> 20;
}

static struct segment **
chain (struct stripecache *sc, struct stripecache_bucket *b, uint64_t segno)
{
  return &b->table[(hash (segno) / sc->nr_buckets) & (b->nr_slots - 1)];
}

struct segment *
stripecache_lock (struct stripecache *sc, uint64_t segno)
{
  struct stripecache_bucket *b =
      &sc->bucket[hash (segno) & (sc->nr_buckets - 1)];
  struct segment **head, *seg;

  pthread_mutex_lock (&b->lock);
  b->takes++;
  head = chain (sc, b, segno);
  for (seg = *head; seg != NULL; seg = seg->hash_next)
    if (seg->segno == segno)
      return seg;
  seg = alloc_lines (sizeof *seg + sc->seg_stripes * sizeof seg->stripe[0]);
  if (seg == NULL) {
    pthread_mutex_unlock (&b->lock);
    return NULL;
  }
  seg->segno = segno;
  seg->b = b;
  seg->hash_next = *head;
  *head = seg;
  return seg;
}

void
stripecache_relock (struct segment *seg)
{
  pthread_mutex_lock (&seg->b->lock);
  seg->b->takes++;
}

static void
segment_free_if_empty (struct stripecache *sc, struct segment *seg)
{
  struct segment **p;

  if (seg->claims != NULL || seg->wait_head != NULL || seg->nr_cached > 0)
    return;
  for (p = chain (sc, seg->b, seg->segno); *p != seg; p = &(*p)->hash_next)
    ;
  *p = seg->hash_next;
  free (seg);
}

void
stripecache_unlock (struct stripecache *sc, struct segment *seg)
{
  struct stripecache_bucket *b = seg->b;

  segment_free_if_empty (sc, seg);
  pthread_mutex_unlock (&b->lock);
}

static void
lru_remove (struct stripecache_bucket *b, struct stripe *s)
{
  assert (s->on_lru);
  if (s->older != NULL)
    s->older->newer = s->newer;
  else
    b->lru[s->lru_class].oldest = s->newer;
  if (s->newer != NULL)
    s->newer->older = s->older;
  else
    b->lru[s->lru_class].newest = s->older;
  s->on_lru = false;
}

static void
lru_add_newest (struct stripecache_bucket *b, struct stripe *s)
{
  unsigned c = s->nr_data > 0 ? 0 : 1;

  assert (!s->on_lru);
  s->lru_class = (uint8_t)c;
  s->newer = NULL;
  s->older = b->lru[c].newest;
  if (s->older != NULL)
    s->older->newer = s;
  else
    b->lru[c].oldest = s;
  b->lru[c].newest = s;
  s->on_lru = true;
}

static bool
is_parity (const struct stripe *s, unsigned slot)
{
  return s->parity[slot / 64] >> (slot % 64) & 1;
}

/* Free the data pages of S; its parity stays. */
static void
drop_data (struct stripecache *sc, struct stripe *s)
{
  for (unsigned i = 0; i < sc->nr_members; i++)
    if (s->page[i] != NULL && !is_parity (s, i)) {
      pages_put (sc->pages, s->page[i], 1);
      s->page[i] = NULL;
      s->nr_pages--;
      s->nr_data--;
      atomic_fetch_sub (&sc->nr_pages, 1);
    }
}

/* Bring the number of pages down to LIMIT with unclaimed stripes of bucket B:
 * first data of the oldest, then whole stripes, in at most MOST steps; returns
 * the steps done.  Bucket lock held.  KEEP is a segment that the caller still
 * uses.
 */
static unsigned
evict (struct stripecache *sc, struct stripecache_bucket *b,
       const struct segment *keep, uint64_t limit_pages, unsigned most)
{
  unsigned n;

  for (n = 0; n < most && atomic_load (&sc->nr_pages) > limit_pages; n++) {
    struct stripe *s = b->lru[0].oldest;
    struct segment *seg;

    if (s != NULL && s->nr_pages > s->nr_data) {
      atomic_fetch_add (&sc->evicted, 1);
      lru_remove (b, s);
      drop_data (sc, s);
      lru_add_newest (b, s);
      continue;
    }
    if (s == NULL)
      s = b->lru[1].oldest;
    if (s == NULL)
      break;
    atomic_fetch_add (&sc->evicted, 1);
    seg = s->seg;
    lru_remove (b, s);
    stripe_free (sc, s);
    if (seg != keep)
      segment_free_if_empty (sc, seg);
  }
  return n;
}

bool
segment_claimed (const struct segment *seg, unsigned first, unsigned nr)
{
  for (const struct stripe_claim *c = seg->claims; c != NULL; c = c->next)
    if (first < c->first + c->nr && c->first < first + nr)
      return true;
  return false;
}

void
segment_claim (struct stripecache *sc, struct segment *seg,
               struct stripe_claim *c)
{
  assert (!segment_claimed (seg, c->first, c->nr));
  assert (c->nr >= 1 && c->first + c->nr <= sc->seg_stripes);
  c->seg = seg;
  c->next = seg->claims;
  seg->claims = c;
  if (seg->nr_cached > 0)
    for (unsigned i = c->first; i < c->first + c->nr; i++)
      if (seg->stripe[i] != NULL)
        lru_remove (seg->b, seg->stripe[i]);
}

void
segment_release (struct stripecache *sc, struct stripe_claim *c)
{
  struct segment *seg = c->seg;
  struct stripe_claim **p;

  for (p = &seg->claims; *p != c; p = &(*p)->next)
    ;
  *p = c->next;
  for (unsigned i = c->first; i < c->first + c->nr; i++) {
    struct stripe *s = seg->stripe[i];

    if (s == NULL)
      continue;
    if (s->nr_pages == 0)
      stripe_free (sc, s);
    else
      lru_add_newest (seg->b, s);
  }
  evict (sc, seg->b, seg, atomic_load (&sc->limit_pages), UINT_MAX);
}

void
segment_wait (struct segment *seg, struct stripe_claim *w)
{
  w->seg = seg;
  w->next = NULL;
  if (seg->wait_tail != NULL)
    seg->wait_tail->next = w;
  else
    seg->wait_head = w;
  seg->wait_tail = w;
}

void
segment_unwait (struct segment *seg, struct stripe_claim *prev,
                struct stripe_claim *w)
{
  if (prev != NULL)
    prev->next = w->next;
  else
    seg->wait_head = w->next;
  if (seg->wait_tail == w)
    seg->wait_tail = prev;
  w->next = NULL;
}

const uint8_t *
stripe_page (const struct segment *seg, unsigned stripe, unsigned slot)
{
  const struct stripe *s = seg->stripe[stripe];

  return s == NULL ? NULL : s->page[slot];
}

uint8_t *
stripe_steal (struct stripecache *sc, struct segment *seg, unsigned stripe,
              unsigned slot)
{
  struct stripe *s = seg->stripe[stripe];
  uint8_t *page;

  if (s == NULL || s->page[slot] == NULL)
    return NULL;
  page = s->page[slot];
  s->page[slot] = NULL;
  s->nr_pages--;
  if (!is_parity (s, slot))
    s->nr_data--;
  atomic_fetch_sub (&sc->nr_pages, 1);
  return page;
}

/* nr_cached belongs to the bucket lock, and the owner adds a stripe here
 * without it; so a stripe gets its struct under the lock, once.
 */
static struct stripe *
stripe_make (struct stripecache *sc, struct segment *seg, unsigned stripe)
{
  struct stripe *s =
      alloc_lines (sizeof *s + sc->nr_members * sizeof s->page[0]);

  if (s == NULL)
    return NULL;
  s->seg = seg;
  s->index = (uint16_t)stripe;
  pthread_mutex_lock (&seg->b->lock);
  seg->b->takes++;
  seg->stripe[stripe] = s;
  seg->nr_cached++;
  pthread_mutex_unlock (&seg->b->lock);
  atomic_fetch_add (&sc->nr_stripes, 1);
  return s;
}

void
stripe_put (struct stripecache *sc, struct segment *seg, unsigned stripe,
            unsigned slot, uint8_t *page, bool parity)
{
  struct stripe *s = seg->stripe[stripe];

  if (s == NULL)
    s = stripe_make (sc, seg, stripe);
  if (s == NULL) {
    pages_put (sc->pages, page, 1);
    return;
  }
  if (s->page[slot] != NULL)
    pages_put (sc->pages, stripe_steal (sc, seg, stripe, slot), 1);
  s->page[slot] = page;
  s->nr_pages++;
  if (parity)
    s->parity[slot / 64] |= UINT64_C (1) << (slot % 64);
  else {
    s->parity[slot / 64] &= ~(UINT64_C (1) << (slot % 64));
    s->nr_data++;
  }
  atomic_fetch_add (&sc->nr_pages, 1);
}

void
stripe_drop (struct stripecache *sc, struct segment *seg, unsigned first,
             unsigned nr)
{
  for (unsigned i = first; i < first + nr; i++) {
    if (seg->stripe[i] == NULL)
      continue;
    for (unsigned slot = 0; slot < sc->nr_members; slot++)
      pages_put (sc->pages, stripe_steal (sc, seg, i, slot), 1);
  }
}

void
stripecache_shrink (struct stripecache *sc, unsigned stripes)
{
  uint64_t limit_pages = (uint64_t)stripes * sc->nr_members;
  unsigned done;

  /* A little of each bucket in turn: all give alike, and nobody waits long for
   * a lock.
   */
  do {
    done = 0;
    for (unsigned i = 0; i < sc->nr_buckets; i++) {
      struct stripecache_bucket *b = &sc->bucket[i];

      pthread_mutex_lock (&b->lock);
      done += evict (sc, b, NULL, limit_pages, SHRINK_SLICE);
      pthread_mutex_unlock (&b->lock);
    }
  } while (done > 0);
}

void
stripecache_drop_all (struct stripecache *sc)
{
  for (unsigned i = 0; i < sc->nr_buckets; i++) {
    struct stripecache_bucket *b = &sc->bucket[i];

    pthread_mutex_lock (&b->lock);
    for (unsigned c = 0; c < 2; c++)
      while (b->lru[c].oldest != NULL) {
        struct stripe *s = b->lru[c].oldest;
        struct segment *seg = s->seg;

        lru_remove (b, s);
        stripe_free (sc, s);
        segment_free_if_empty (sc, seg);
      }
    pthread_mutex_unlock (&b->lock);
  }
}

void
stripecache_get_stats (struct stripecache *sc, struct stripecache_stats *ret)
{
  ret->stripes = atomic_load (&sc->nr_stripes);
  ret->pages = atomic_load (&sc->nr_pages);
  ret->limit_pages = atomic_load (&sc->limit_pages);
  ret->evicted = atomic_load (&sc->evicted);
  ret->lock_takes = 0;
  for (unsigned i = 0; i < sc->nr_buckets; i++) {
    pthread_mutex_lock (&sc->bucket[i].lock);
    ret->lock_takes += sc->bucket[i].takes;
    pthread_mutex_unlock (&sc->bucket[i].lock);
  }
}
