/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What the linker puts in place of malloc and so on, with --wrap (see the
 * header).  Any thread, and called everywhere: nothing here locks.
 */
#include <config.h>

#include "alloc-watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "stripecache/workers.h"

static atomic_uint allocations, locks;

void
alloc_watch_reset (void)
{
  atomic_store (&allocations, 0);
  atomic_store (&locks, 0);
}

unsigned
alloc_watch_allocations (void)
{
  return atomic_load (&allocations);
}

unsigned
alloc_watch_locks (void)
{
  return atomic_load (&locks);
}

static void
note_allocation (void)
{
  if (workers_test_taking_over ())
    abort ();
  atomic_fetch_add (&allocations, 1);
}

#define WRAP(type, name, params, args)                                        \
  extern type __real_##name params;                                           \
  extern type __wrap_##name params;                                           \
  type __wrap_##name params                                                   \
  {                                                                           \
    note_allocation ();                                                       \
    return __real_##name args;                                                \
  }

/* clang-format off */
WRAP (void *, malloc, (size_t n), (n))
WRAP (void *, calloc, (size_t n, size_t size), (n, size))
WRAP (void *, realloc, (void *p, size_t n), (p, n))
WRAP (void *, aligned_alloc, (size_t align, size_t n), (align, n))
WRAP (int, posix_memalign, (void **p, size_t align, size_t n), (p, align, n))
/* Its stack is memory too. */
WRAP (int, pthread_create,
      (pthread_t *thread, const pthread_attr_t *attr, void *(*fn) (void *),
       void *arg),
      (thread, attr, fn, arg))
/* clang-format on */

extern int __real_pthread_mutex_lock (pthread_mutex_t *m);
extern int __wrap_pthread_mutex_lock (pthread_mutex_t *m);

int
__wrap_pthread_mutex_lock (pthread_mutex_t *m)
{
  if (workers_test_taking_over ())
    atomic_fetch_add (&locks, 1);
  return __real_pthread_mutex_lock (m);
}
