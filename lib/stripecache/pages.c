/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Page buffers (see the header).  Free blocks hang in shards, so that many
 * threads do not meet at one lock: a thread puts into its own shard and takes
 * from the first that has something.  A shard's lock protects its lists; list
 * heads are peeked at without it; counters are atomic.
 */
#include <config.h>

#include "pages.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NR_CLASSES 8 /* 1, 2, 4 .. 128 pages */
#define NR_SHARDS 8
/* So that an idle array stays small, and yet what is in use at full speed
 * (parity of a few MiB under way) is not got from the system again and again.
 */
#define KEEP_BYTES (16 * 1024 * 1024)

struct free_block {
  struct free_block *next;
};

struct shard {
  pthread_mutex_t lock; /* protects the lists */
  struct free_block *_Atomic head[NR_CLASSES];
} __attribute__ ((aligned (64)));

struct pages {
  struct shard shard[NR_SHARDS];
  _Atomic uint64_t used_bytes, kept_bytes;
};

static unsigned
class_of (unsigned nr)
{
  assert (nr >= 1 && nr <= PAGES_MAX);
  return nr == 1 ? 0 : 32 - (unsigned)__builtin_clz (nr - 1);
}

static size_t
class_bytes (unsigned c)
{
  return (size_t)PAGES_BYTES << c;
}

/* The shard of the calling thread. */
static unsigned
my_shard (void)
{
  static atomic_uint tickets;
  static _Thread_local unsigned ticket;

  if (ticket == 0)
    ticket =
        1 + atomic_fetch_add_explicit (&tickets, 1, memory_order_relaxed) %
                (1u << 30);
  return (ticket - 1) % NR_SHARDS;
}

int
pages_new (struct pages **ret)
{
  void *p;
  struct pages *pg;

  if (posix_memalign (&p, 64, sizeof *pg) != 0)
    return -ENOMEM;
  pg = p;
  for (unsigned i = 0; i < NR_SHARDS; i++) {
    pthread_mutex_init (&pg->shard[i].lock, NULL);
    for (unsigned c = 0; c < NR_CLASSES; c++)
      atomic_init (&pg->shard[i].head[c], NULL);
  }
  atomic_init (&pg->used_bytes, 0);
  atomic_init (&pg->kept_bytes, 0);
  *ret = pg;
  return 0;
}

static struct free_block *
shard_take (struct shard *sh, unsigned c)
{
  struct free_block *b;

  if (atomic_load_explicit (&sh->head[c], memory_order_relaxed) == NULL)
    return NULL;
  pthread_mutex_lock (&sh->lock);
  b = atomic_load_explicit (&sh->head[c], memory_order_relaxed);
  if (b != NULL)
    atomic_store_explicit (&sh->head[c], b->next, memory_order_relaxed);
  pthread_mutex_unlock (&sh->lock);
  return b;
}

void
pages_trim (struct pages *pg)
{
  for (unsigned i = 0; i < NR_SHARDS; i++)
    for (unsigned c = 0; c < NR_CLASSES; c++) {
      struct free_block *b;

      while ((b = shard_take (&pg->shard[i], c)) != NULL) {
        atomic_fetch_sub (&pg->kept_bytes, class_bytes (c));
        free (b);
      }
    }
}

void
pages_free (struct pages *pg)
{
  if (pg == NULL)
    return;
  pages_trim (pg);
  for (unsigned i = 0; i < NR_SHARDS; i++)
    pthread_mutex_destroy (&pg->shard[i].lock);
  free (pg);
}

uint8_t *
pages_get (struct pages *pg, unsigned nr)
{
  unsigned c = class_of (nr), mine = my_shard ();
  struct free_block *b = NULL;

  for (unsigned i = 0; i < NR_SHARDS && b == NULL; i++)
    b = shard_take (&pg->shard[(mine + i) % NR_SHARDS], c);
  if (b != NULL)
    atomic_fetch_sub (&pg->kept_bytes, class_bytes (c));
  else {
    void *p;

    if (posix_memalign (&p, 64, class_bytes (c)) != 0)
      return NULL;
    b = p;
  }
  atomic_fetch_add (&pg->used_bytes, class_bytes (c));
  return (uint8_t *)b;
}

void
pages_put (struct pages *pg, uint8_t *block, unsigned nr)
{
  struct free_block *b = (struct free_block *)(void *)block;
  struct shard *sh;
  unsigned c;

  if (block == NULL)
    return;
  c = class_of (nr);
  atomic_fetch_sub (&pg->used_bytes, class_bytes (c));
  if (atomic_fetch_add (&pg->kept_bytes, class_bytes (c)) + class_bytes (c) >
      KEEP_BYTES) {
    atomic_fetch_sub (&pg->kept_bytes, class_bytes (c));
    free (b);
    return;
  }
  sh = &pg->shard[my_shard ()];
  pthread_mutex_lock (&sh->lock);
  b->next = atomic_load_explicit (&sh->head[c], memory_order_relaxed);
  atomic_store_explicit (&sh->head[c], b, memory_order_relaxed);
  pthread_mutex_unlock (&sh->lock);
}

void
pages_usage (struct pages *pg, uint64_t *ret_used_bytes,
             uint64_t *ret_kept_bytes)
{
  *ret_used_bytes = atomic_load (&pg->used_bytes);
  *ret_kept_bytes = atomic_load (&pg->kept_bytes);
}
