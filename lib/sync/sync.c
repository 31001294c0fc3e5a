/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Background work: a thread that keeps a window of segments in flight, in
 * ascending order, and tells the array how far all below is done.  The ring
 * of segments is the thread's; a lane only fills in a result and posts the
 * semaphore.
 */
#include <config.h>

#include "sync.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

struct slot {
  struct engine_sync es;
  bool busy;
  _Atomic bool finished;
};

struct sync {
  struct array *a;
  struct engine *e;
  unsigned window;
  pthread_t thread;
  sem_t done;
  unsigned owed_posts; /* of segments started and not yet waited for */
  struct slot ring[ENGINE_SYNC_WINDOW];
};

static void
segment_done (struct engine_sync *es)
{
  struct sync *s = es->user;
  struct slot *k = (struct slot *)es;

  atomic_store (&k->finished, true);
  sem_post (&s->done);
}

static void
start_segment (struct sync *s, enum array_job job, uint64_t segno)
{
  struct slot *k = &s->ring[segno % ENGINE_SYNC_WINDOW];

  k->es = (struct engine_sync){
      .kind = job == ARRAY_JOB_RESYNC ? ENGINE_RESYNC : ENGINE_RECOVER,
      .segno = segno,
      .done = segment_done,
      .user = s,
  };
  k->busy = true;
  atomic_store (&k->finished, false);
  s->owed_posts++;
  engine_sync_segment (s->e, &k->es);
}

/* Move HEAD over what is done.  Nonzero: a segment failed. */
static int
collect (struct sync *s, uint64_t *head, uint64_t tail)
{
  int err = 0;

  while (*head < tail && err == 0) {
    struct slot *k = &s->ring[*head % ENGINE_SYNC_WINDOW];

    if (k->busy) {
      if (!atomic_load (&k->finished))
        break;
      k->busy = false;
      err = k->es.err;
    }
    if (err == 0)
      ++*head;
  }
  return err;
}

static void
wait_done (struct sync *s)
{
  while (sem_wait (&s->done) < 0)
    ;
  s->owed_posts--;
}

/* Let all that is in flight end.  Every post is waited for, so that no lane
 * is left that would still touch S; results stay in the ring for collect.
 */
static void
drain (struct sync *s)
{
  while (s->owed_posts > 0)
    wait_done (s);
}

/* Do JOB from FROM_BYTES on.  True: all of it. */
static bool
run_job (struct sync *s, enum array_job job, uint64_t from_bytes)
{
  uint64_t seg_bytes = engine_segment_bytes (s->e);
  uint64_t nr = engine_nr_segments (s->e);
  uint64_t head = from_bytes / seg_bytes, tail = head;
  int err = 0;

  while (head < nr && err == 0 && !array_job_stopping (s->a)) {
    uint64_t was = head;

    while (tail < nr && tail < head + s->window) {
      if (job == ARRAY_JOB_RESYNC &&
          !array_job_owed (s->a, tail * seg_bytes, seg_bytes))
        s->ring[tail % ENGINE_SYNC_WINDOW].busy = false;
      else
        start_segment (s, job, tail);
      tail++;
    }
    err = collect (s, &head, tail);
    if (head > was)
      array_job_progress (s->a, head * seg_bytes);
    else if (err == 0 && s->owed_posts > 0)
      wait_done (s);
  }
  drain (s);
  if (err == 0)
    err = collect (s, &head, tail);
  if (err == 0)
    array_job_progress (s->a, head * seg_bytes);
  return err == 0 && head == nr;
}

static void *
sync_main (void *arg)
{
  struct sync *s = arg;
  uint64_t from_bytes;
  enum array_job job;

  while ((job = array_job_wait (s->a, &from_bytes)) != ARRAY_JOB_NONE)
    array_job_end (s->a, job, run_job (s, job, from_bytes));
  return NULL;
}

int
sync_start (struct array *a, unsigned window, struct sync **ret)
{
  struct sync *s = calloc (1, sizeof *s);
  sigset_t all, old;
  int r;

  if (s == NULL)
    return -ENOMEM;
  s->a = a;
  s->e = array_engine (a);
  s->window = window < 1                    ? 1
              : window > ENGINE_SYNC_WINDOW ? ENGINE_SYNC_WINDOW
                                            : window;
  sem_init (&s->done, 0, 0);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&s->thread, NULL, sync_main, s);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (r != 0) {
    sem_destroy (&s->done);
    free (s);
    return -r;
  }
  *ret = s;
  return 0;
}

void
sync_stop (struct sync *s)
{
  if (s == NULL)
    return;
  pthread_join (s->thread, NULL);
  sem_destroy (&s->done);
  free (s);
}
