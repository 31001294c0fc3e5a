/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What background work is owed, and how far it is: the array's side of
 * lib/sync.  Everything under the array lock.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <time.h>

/* Where recovery must begin: the lowest of those that recover. */
static bool
recovery_from (const struct array *a, uint64_t *ret_bytes)
{
  bool any = false;

  for (size_t i = 0; i < a->nr; i++)
    if (a->am[i].state == AM_RECOVERING &&
        (!any || a->am[i].recovered_sectors * 512 < *ret_bytes)) {
      *ret_bytes = a->am[i].recovered_sectors * 512;
      any = true;
    }
  return any;
}

static enum array_job
owed (struct array *a, uint64_t *ret_from_bytes)
{
  enum array_state st = array_get_state (a);

  if (!a->rw || a->job_stuck || st == ARRAY_BROKEN || st == ARRAY_STOPPED)
    return ARRAY_JOB_NONE;
  if (a->resync_owed) {
    *ret_from_bytes = a->resync_from_bytes;
    return ARRAY_JOB_RESYNC;
  }
  return recovery_from (a, ret_from_bytes) ? ARRAY_JOB_RECOVER
                                           : ARRAY_JOB_NONE;
}

enum array_job
array_job_wait (struct array *a, uint64_t *ret_from_bytes)
{
  enum array_job job = ARRAY_JOB_NONE;
  uint64_t seg = engine_segment_bytes (a->engine);

  pthread_mutex_lock (&a->lock);
  while (!a->stop_wanted && !a->quit &&
         (job = owed (a, ret_from_bytes)) == ARRAY_JOB_NONE)
    pthread_cond_wait (&a->job_cond, &a->lock);
  if (a->stop_wanted || a->quit)
    job = ARRAY_JOB_NONE;
  if (job != ARRAY_JOB_NONE) {
    *ret_from_bytes = *ret_from_bytes / seg * seg;
    a->job = job;
    a->job_running = true;
    a->job_pos_bytes = *ret_from_bytes;
    a->job_start_bytes = *ret_from_bytes;
    a->job_start_ms = now_ms ();
    a->job_started_utc = (uint64_t)time (NULL);
    a->job_fault_seq = atomic_load (&a->fault_seq);
    a->last_checkpoint_ms = now_ms ();
    /* RESYNC has been in force since array_open: no write may trust parity
     * before.
     */
    if (job == ARRAY_JOB_RECOVER)
      engine_sync_begin (a->engine, ENGINE_RECOVER, *ret_from_bytes);
  }
  pthread_mutex_unlock (&a->lock);
  return job;
}

bool
array_job_stopping (struct array *a)
{
  bool r;

  pthread_mutex_lock (&a->lock);
  r = a->stop_wanted || a->quit || array_get_state (a) == ARRAY_BROKEN;
  pthread_mutex_unlock (&a->lock);
  return r;
}

bool
array_job_owed (struct array *a, uint64_t offset_bytes, uint64_t len_bytes)
{
  return a->bitmap == NULL ||
         wbitmap_owes (a->bitmap, offset_bytes, len_bytes);
}

void
array_job_progress (struct array *a, uint64_t pos_bytes)
{
  engine_sync_advance (a->engine, pos_bytes);
  pthread_mutex_lock (&a->lock);
  a->job_pos_bytes = pos_bytes;
  a->job_progressed = true;
  pthread_mutex_unlock (&a->lock);
}

void
array_job_end (struct array *a, enum array_job job, bool complete)
{
  pthread_mutex_lock (&a->lock);
  if (job == ARRAY_JOB_RESYNC) {
    if (complete)
      a->resync_owed = false;
    else
      a->resync_from_bytes = a->job_pos_bytes;
    engine_sync_end (a->engine, complete);
  }
  else {
    engine_sync_end (a->engine, complete);
    for (size_t i = 0; i < a->nr && complete; i++)
      if (a->am[i].state == AM_RECOVERING) {
        a->am[i].state = AM_IN_SYNC;
        a->am[i].unflushed = true;
        a->am[i].recovered_sectors = a->geo.member_bytes / 512;
      }
  }
  a->job_progressed = true;
  a->job_running = false;
  /* Its position means nothing for members that join later. */
  if (complete)
    a->job = ARRAY_JOB_NONE;
  /* With the same members it would fail in the same place again. */
  a->job_stuck = !complete && a->job_fault_seq == atomic_load (&a->fault_seq);
  pthread_cond_broadcast (&a->meta_cond);
  if (complete && !a->stop_wanted)
    meta_update_locked (a);
  pthread_mutex_unlock (&a->lock);
}
