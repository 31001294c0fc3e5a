/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Page buffers (see the header).  A mutex per size class protects its free
 * list; the counters are atomic.
 */
#include <config.h>

#include "pages.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NR_CLASSES 8 /* 1, 2, 4 .. 128 pages */
/* So that an idle array stays small: at most this much is kept a class. */
#define KEEP_BYTES (2 * 1024 * 1024)

struct free_block {
  struct free_block *next;
};

struct size_class {
  pthread_mutex_t lock; /* protects head and nr_kept */
  struct free_block *head;
  size_t nr_kept;
};

struct pages {
  struct size_class class[NR_CLASSES];
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

int
pages_new (struct pages **ret)
{
  struct pages *pg = calloc (1, sizeof *pg);

  if (pg == NULL)
    return -ENOMEM;
  for (unsigned c = 0; c < NR_CLASSES; c++)
    pthread_mutex_init (&pg->class[c].lock, NULL);
  *ret = pg;
  return 0;
}

void
pages_free (struct pages *pg)
{
  if (pg == NULL)
    return;
  for (unsigned c = 0; c < NR_CLASSES; c++) {
    struct free_block *b, *next;

    for (b = pg->class[c].head; b != NULL; b = next) {
      next = b->next;
      free (b);
    }
    pthread_mutex_destroy (&pg->class[c].lock);
  }
  free (pg);
}

uint8_t *
pages_get (struct pages *pg, unsigned nr)
{
  unsigned c = class_of (nr);
  struct size_class *sc = &pg->class[c];
  struct free_block *b;

  pthread_mutex_lock (&sc->lock);
  b = sc->head;
  if (b != NULL) {
    sc->head = b->next;
    sc->nr_kept--;
  }
  pthread_mutex_unlock (&sc->lock);
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
  unsigned c;
  struct size_class *sc;
  struct free_block *b = (struct free_block *)(void *)block;

  if (block == NULL)
    return;
  c = class_of (nr);
  sc = &pg->class[c];
  atomic_fetch_sub (&pg->used_bytes, class_bytes (c));
  pthread_mutex_lock (&sc->lock);
  if ((sc->nr_kept + 1) * class_bytes (c) <= KEEP_BYTES) {
    b->next = sc->head;
    sc->head = b;
    sc->nr_kept++;
    atomic_fetch_add (&pg->kept_bytes, class_bytes (c));
    b = NULL;
  }
  pthread_mutex_unlock (&sc->lock);
  free (b);
}

void
pages_usage (struct pages *pg, uint64_t *ret_used_bytes,
             uint64_t *ret_kept_bytes)
{
  *ret_used_bytes = atomic_load (&pg->used_bytes);
  *ret_kept_bytes = atomic_load (&pg->kept_bytes);
}
