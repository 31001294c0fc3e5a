/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The metadata thread: the only writer of superblocks and bitmap.
 *
 * One update = (1) flush all members, (2) events + 1, bitmap super with the
 * new events to all that hold a bitmap, (3) superblocks to all in service and
 * to the spares; each step waits for all members.  So "clean", a recovery
 * offset and a resync offset are only ever written after what they promise
 * was flushed everywhere, and the bitmap is never older than a superblock.  A
 * member that fails on the way is marked and the update is done again with
 * the next events number; beyond parity nothing more is written.
 *
 * Clean and dirty: a writer counts itself in a->writers and then looks at the
 * state; the metadata thread sets CLEANING and then looks at a->writers.  Both
 * are sequentially consistent atomics, so at least one of them sees the other:
 * the writer then steps back and waits, or the thread goes back to ACTIVE.
 *
 * The array lock is held except across I/O.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECKPOINT_MS 60000
#define POLL_MIN_MS 10
#define POLL_MAX_MS 1000
#define IDLE_SHRINK_MS 60000

uint64_t
now_ms (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool
in_service (const struct array_member *am)
{
  return am->state == AM_IN_SYNC || am->state == AM_RECOVERING;
}

static bool
has_superblock (const struct array_member *am)
{
  return in_service (am) || am->state == AM_SPARE;
}

/* --- building superblocks --- */

/* The table of roles: slots of those in service, 0xfffe for those that are
 * out.  Array lock held.
 */
static void
make_roles (struct array *a)
{
  for (uint32_t d = 0; d < a->max_dev; d++)
    if (a->roles[d] < a->geo.raid_disks)
      a->roles[d] = SB1_ROLE_FAULTY;
  for (size_t i = 0; i < a->nr; i++) {
    const struct array_member *am = &a->am[i];

    if (in_service (am))
      a->roles[am->sb.dev_number] = (uint16_t)am->slot;
    else if (am->state == AM_SPARE)
      a->roles[am->sb.dev_number] = SB1_ROLE_SPARE;
  }
}

static void
fill_superblock (struct array *a, struct array_member *am, bool dirty)
{
  struct sb1 *sb = &am->sb;

  sb->events = a->events;
  sb->utime = (uint64_t)time (NULL);
  sb->resync_offset_sectors = dirty ? 0 : a->resync_offset_sectors;
  sb->feature_map = 0;
  sb->recovery_offset_sectors = 0;
  if (a->bitmap != NULL) {
    sb->feature_map |= SB1_F_BITMAP;
    sb->bitmap_offset_sectors = a->as.freshest->sb.bitmap_offset_sectors;
  }
  if (am->state == AM_RECOVERING || am->unflushed) {
    sb->feature_map |= SB1_F_RECOVERY_OFFSET;
    sb->recovery_offset_sectors = am->recovered_sectors;
  }
  if (am->bb.nr > 0)
    sb->feature_map |= SB1_F_BAD_BLOCKS;
  sb->cnt_corrected_read += am->corrected_sectors;
  am->corrected_sectors = 0;
  sb->max_dev = a->max_dev;
  memcpy (sb->dev_roles, a->roles, sizeof sb->dev_roles);
  sb1_encode (sb);
}

/* What background work has reached may be promised only after a flush: note it
 * before, promise it after.  Array lock held.
 */
struct checkpoint {
  uint64_t pos_sectors;
  bool resync_owed;
};

static struct checkpoint
note_checkpoint (struct array *a)
{
  struct checkpoint c = {.pos_sectors = a->job_pos_bytes / 512,
                         .resync_owed = a->resync_owed};

  for (size_t i = 0; i < a->nr; i++)
    a->am[i].flushing = a->am[i].state == AM_IN_SYNC;
  a->job_progressed = false;
  a->last_checkpoint_ms = now_ms ();
  return c;
}

static void
promise_checkpoint (struct array *a, const struct checkpoint *c)
{
  if (!c->resync_owed)
    a->resync_offset_sectors = SB1_MAX;
  else if (a->job == ARRAY_JOB_RESYNC)
    a->resync_offset_sectors = c->pos_sectors;
  for (size_t i = 0; i < a->nr; i++) {
    struct array_member *am = &a->am[i];

    if (am->flushing)
      am->unflushed = false;
    if (a->job == ARRAY_JOB_RECOVER && am->state == AM_RECOVERING &&
        am->recovered_sectors < c->pos_sectors)
      am->recovered_sectors = c->pos_sectors;
  }
}

/* --- writing --- */

static unsigned
flush_all (struct array *a, struct meta_batch *b)
{
  for (size_t i = 0; i < a->nr; i++)
    if (in_service (&a->am[i]))
      meta_batch_add (b, &a->am[i], MEMBER_FLUSH, NULL, 0, 0);
  return meta_batch_run (b);
}

/* Write LEN bytes of the bitmap area at OFF to all that hold one. */
static unsigned
write_bitmap (struct array *a, struct meta_batch *b, uint8_t *buf,
              uint64_t off_bytes, uint32_t len_bytes)
{
  int64_t at = a->as.freshest->sb.bitmap_offset_sectors;

  for (size_t i = 0; i < a->nr; i++)
    if (in_service (&a->am[i]))
      meta_batch_add (
          b, &a->am[i], MEMBER_WRITE, buf, len_bytes,
          (uint64_t)((int64_t)a->am[i].sb.super_offset_sectors + at) * 512 +
              off_bytes);
  return meta_batch_run (b);
}

static unsigned
write_superblocks (struct array *a, struct meta_batch *b)
{
  for (size_t i = 0; i < a->nr; i++) {
    struct array_member *am = &a->am[i];

    if (has_superblock (am))
      meta_batch_add (b, am, MEMBER_WRITE, am->sb.raw,
                      sb1_write_bytes (&am->sb, am->m->min_block),
                      am->sb.super_offset_sectors * 512);
  }
  return meta_batch_run (b);
}

/* One try of an update.  Array lock held, released meanwhile.  Returns how
 * many members failed.
 */
static unsigned
try_update (struct array *a, struct meta_batch *b, bool dirty, bool flush)
{
  uint8_t block[4096] __attribute__ ((aligned (64)));
  bool spent = false;
  unsigned failed;

  if (flush) {
    struct checkpoint c = note_checkpoint (a);

    pthread_mutex_unlock (&a->lock);
    failed = flush_all (a, b);
    pthread_mutex_lock (&a->lock);
    if (failed > 0)
      return failed;
    promise_checkpoint (a, &c);
  }
  /* A number that no superblock has seen is used again: were it skipped, a
   * member that dies in the next try would be two behind the last survivors,
   * and stale, although it has all that they have.
   */
  if (a->events_spent)
    a->events++;
  a->events_spent = false;
  make_roles (a);
  for (size_t i = 0; i < a->nr; i++)
    if (has_superblock (&a->am[i]))
      fill_superblock (a, &a->am[i], dirty);
  pthread_mutex_unlock (&a->lock);
  failed = 0;
  if (a->bitmap != NULL) {
    uint32_t len = wbitmap_super_block (a->bitmap, a->events, block);

    failed = write_bitmap (a, b, block, 0, len);
    /* The same bits went out as with any block write. */
    wbitmap_written (a->bitmap, block, 0, len, true);
  }
  if (failed == 0) {
    failed = write_superblocks (a, b);
    spent = true;
  }
  pthread_mutex_lock (&a->lock);
  a->events_spent = spent;
  return failed;
}

/* Post those who waited for faults to be recorded.  Array lock held. */
static void
post_recorded (struct array *a, uint64_t seq)
{
  atomic_store (&a->recorded_seq, seq);
  if (atomic_load (&a->fault_seq) != seq)
    return;
  for (size_t i = 0; i < a->nr_waiters; i++)
    lane_post (a->waiters[i].lane, a->waiters[i].work);
  a->nr_waiters = 0;
}

/* Update all superblocks.  Array lock held, released meanwhile.  False: the
 * array is broken.  With a fault to record (FAULT, or one on the way) two
 * updates in a row must succeed before anybody is told: one step behind, a
 * member counts as current for kernels that do not look at the others' roles.
 */
static bool
update (struct array *a, struct meta_batch *b, bool dirty, bool flush,
        bool fault)
{
  uint64_t ticket = a->update_wanted;
  uint64_t seq = atomic_load (&a->fault_seq);
  unsigned needed = fault ? 2 : 1;

  while (needed > 0) {
    if (array_get_state (a) == ARRAY_BROKEN)
      return false;
    if (try_update (a, b, dirty, flush) == 0) {
      needed--;
      continue;
    }
    needed = 2;
    ticket = a->update_wanted;
    seq = atomic_load (&a->fault_seq);
  }
  if (array_get_state (a) == ARRAY_BROKEN)
    return false;
  post_recorded (a, seq);
  a->update_done = ticket;
  pthread_cond_broadcast (&a->state_cond);
  return true;
}

/* --- the steps; array lock held, released across I/O --- */

/* A fault, or somebody asked. */
static void
step_update (struct array *a, struct meta_batch *b)
{
  bool fault = atomic_load (&a->fault_seq) != atomic_load (&a->recorded_seq);
  bool dirty = array_get_state (a) == ARRAY_ACTIVE;

  update (a, b, dirty, !fault, fault);
}

static bool
step_bitmap (struct array *a, struct meta_batch *b)
{
  uint8_t block[4096] __attribute__ ((aligned (64)));
  uint64_t off;
  uint32_t len;

  if (a->bitmap == NULL || !wbitmap_next_dirty (a->bitmap, block, &off, &len))
    return false;
  pthread_mutex_unlock (&a->lock);
  write_bitmap (a, b, block, off, len);
  pthread_mutex_lock (&a->lock);
  /* Members that failed are out; the others have it. */
  wbitmap_written (a->bitmap, block, off, len,
                   array_get_state (a) != ARRAY_BROKEN);
  return true;
}

static void
step_activate (struct array *a, struct meta_batch *b)
{
  array_set_state (a, ARRAY_ACTIVATING);
  atomic_store (&a->last_write_ms, now_ms ());
  if (update (a, b, true, false, false))
    array_set_state (a, ARRAY_ACTIVE);
}

static bool
step_clean (struct array *a, struct meta_batch *b)
{
  if (atomic_load (&a->writers) > 0)
    return false;
  array_set_state (a, ARRAY_CLEANING);
  if (atomic_load (&a->writers) > 0) {
    array_set_state (a, ARRAY_ACTIVE);
    return false;
  }
  if (update (a, b, false, true, false))
    array_set_state (a, ARRAY_CLEAN);
  return true;
}

static bool
all_in_sync (const struct array *a)
{
  unsigned good = 0;

  for (size_t i = 0; i < a->nr; i++)
    good += a->am[i].state == AM_IN_SYNC;
  return good == a->geo.raid_disks;
}

/* Clear bits that were not used since BEFORE_MS. */
static void
clear_bits (struct array *a, struct meta_batch *b, uint64_t before_ms)
{
  uint8_t block[4096] __attribute__ ((aligned (64)));
  uint64_t seq = atomic_load (&a->fault_seq);
  unsigned failed;

  if (a->bitmap == NULL || !all_in_sync (a) || a->resync_owed ||
      wbitmap_mark_clearable (a->bitmap, before_ms) == 0)
    return;
  pthread_mutex_unlock (&a->lock);
  failed = flush_all (a, b);
  if (failed == 0 && wbitmap_set_events_cleared (a->bitmap, a->events)) {
    uint32_t len = wbitmap_super_block (a->bitmap, a->events, block);

    failed = write_bitmap (a, b, block, 0, len);
    wbitmap_written (a->bitmap, block, 0, len, true);
  }
  pthread_mutex_lock (&a->lock);
  /* A member that failed meanwhile misses what these bits stand for. */
  if (failed == 0 && atomic_load (&a->fault_seq) == seq)
    wbitmap_clear_marked (a->bitmap);
}

static bool
owes_record (const struct array *a)
{
  return atomic_load (&a->fault_seq) != atomic_load (&a->recorded_seq);
}

/* Stop: everything quiet, then the last word to the superblocks.  A member
 * that fails on the way is recorded first, as at any time; then this comes
 * again.
 */
static void
step_stop (struct array *a, struct meta_batch *b)
{
  clear_bits (a, b, UINT64_MAX);
  while (array_get_state (a) == ARRAY_CLEAN && step_bitmap (a, b))
    ;
  if (array_get_state (a) == ARRAY_CLEAN && owes_record (a))
    return;
  if (array_get_state (a) == ARRAY_CLEAN && a->job_progressed)
    update (a, b, false, true, false);
  if (array_get_state (a) == ARRAY_CLEAN && owes_record (a))
    return;
  if (array_get_state (a) != ARRAY_STOPPED)
    array_set_state (a, ARRAY_STOPPED);
}

/* Since when nothing was asked for. */
struct quiet {
  uint64_t requests, since_ms;
  bool shrunk;
};

static bool
idle (const struct array *a)
{
  return a->opt.safe_mode_delay_ms > 0 &&
         now_ms () - atomic_load (&a->last_write_ms) >=
             a->opt.safe_mode_delay_ms;
}

/* Do one thing.  False: there is nothing to do now. */
static bool
meta_step (struct array *a, struct meta_batch *b)
{
  enum array_state st = array_get_state (a);

  if (st == ARRAY_STOPPED)
    return false;
  if (st == ARRAY_BROKEN || st == ARRAY_READ_AUTO) {
    if (a->stop_wanted && !a->job_running)
      array_set_state (a, ARRAY_STOPPED);
    return false;
  }
  if (atomic_load (&a->fault_seq) != atomic_load (&a->recorded_seq) ||
      a->update_wanted != a->update_done) {
    step_update (a, b);
    return true;
  }
  if (step_bitmap (a, b))
    return true;
  if (st == ARRAY_CLEAN && a->want_active > 0 && !a->stop_wanted) {
    step_activate (a, b);
    return true;
  }
  if (st == ARRAY_ACTIVE && (idle (a) || a->stop_wanted) && step_clean (a, b))
    return true;
  if (st == ARRAY_CLEAN && a->stop_wanted && !a->job_running) {
    step_stop (a, b);
    return true;
  }
  return false;
}

static uint64_t
next_wake_ms (const struct array *a)
{
  uint64_t now = now_ms (), at;

  if (array_get_state ((struct array *)(uintptr_t)a) != ARRAY_ACTIVE ||
      a->opt.safe_mode_delay_ms == 0)
    return now + POLL_MAX_MS;
  at = atomic_load (&a->last_write_ms) + a->opt.safe_mode_delay_ms;
  return at < now + POLL_MIN_MS ? now + POLL_MIN_MS : at;
}

static void
sleep_until (struct array *a, uint64_t at_ms)
{
  struct timespec ts = {.tv_sec = (time_t)(at_ms / 1000),
                        .tv_nsec = (long)(at_ms % 1000) * 1000000};

  pthread_cond_timedwait (&a->meta_cond, &a->lock, &ts);
}

/* Memory that a busy time has left is given back after a quiet one.  Array
 * lock held, released if there was something to do; then true.
 */
static bool
shrink_when_idle (struct array *a, struct quiet *q)
{
  const struct engine_stats *st = engine_get_stats (a->engine);
  uint64_t requests =
      atomic_load (&st->runs) + atomic_load (&st->direct_reads);

  if (requests != q->requests) {
    q->requests = requests;
    q->since_ms = now_ms ();
    q->shrunk = false;
  }
  else if (!q->shrunk && now_ms () - q->since_ms >= IDLE_SHRINK_MS) {
    q->shrunk = true;
    pthread_mutex_unlock (&a->lock);
    engine_idle (a->engine);
    pthread_mutex_lock (&a->lock);
    return true;
  }
  return false;
}

void *
meta_main (void *arg)
{
  struct array *a = arg;
  struct meta_batch *b = meta_batch_new (a);
  struct quiet quiet = {.since_ms = now_ms ()};
  uint64_t swept = now_ms ();

  if (b == NULL)
    abort ();
  pthread_mutex_lock (&a->lock);
  while (!a->quit) {
    if (meta_step (a, b))
      continue;
    if (a->rw && a->bitmap != NULL &&
        now_ms () - swept >= a->bitmap_sleep_ms &&
        (array_get_state (a) == ARRAY_CLEAN ||
         array_get_state (a) == ARRAY_ACTIVE)) {
      swept = now_ms ();
      clear_bits (a, b, swept - 2 * a->bitmap_sleep_ms);
      continue;
    }
    if (a->job_running && a->job_progressed &&
        now_ms () - a->last_checkpoint_ms >= CHECKPOINT_MS) {
      a->update_wanted++;
      continue;
    }
    if (shrink_when_idle (a, &quiet))
      continue;
    sleep_until (a, next_wake_ms (a));
  }
  pthread_mutex_unlock (&a->lock);
  meta_batch_free (b);
  return NULL;
}

void
meta_update_locked (struct array *a)
{
  uint64_t ticket = ++a->update_wanted;

  pthread_cond_broadcast (&a->meta_cond);
  while (a->update_done < ticket && array_get_state (a) != ARRAY_BROKEN &&
         array_get_state (a) != ARRAY_STOPPED)
    pthread_cond_wait (&a->state_cond, &a->lock);
}

/* --- writers --- */

/* Wait for ACTIVE; counted in a->writers when 0 is returned. */
static int
wait_active (struct array *a)
{
  int r = 0;

  pthread_mutex_lock (&a->lock);
  a->want_active++;
  pthread_cond_broadcast (&a->meta_cond);
  for (;;) {
    enum array_state st = array_get_state (a);

    if (!a->rw)
      r = -EROFS;
    else if (st == ARRAY_BROKEN)
      r = -EIO;
    else if (st == ARRAY_STOPPED || a->stop_wanted)
      r = -ESHUTDOWN;
    if (r < 0)
      break;
    atomic_fetch_add (&a->writers, 1);
    if (array_get_state (a) == ARRAY_ACTIVE)
      break;
    atomic_fetch_sub (&a->writers, 1);
    pthread_cond_wait (&a->state_cond, &a->lock);
  }
  a->want_active--;
  pthread_mutex_unlock (&a->lock);
  return r;
}

int
meta_write_begin (struct array *a, uint64_t off_bytes, uint64_t len_bytes)
{
  atomic_fetch_add (&a->writers, 1);
  if (array_get_state (a) != ARRAY_ACTIVE || atomic_load (&a->stop_wanted)) {
    int r;

    atomic_fetch_sub (&a->writers, 1);
    r = wait_active (a);
    if (r < 0)
      return r;
  }
  if (a->bitmap == NULL || wbitmap_begin (a->bitmap, off_bytes, len_bytes))
    return 0;
  pthread_mutex_lock (&a->lock);
  pthread_cond_broadcast (&a->meta_cond);
  pthread_mutex_unlock (&a->lock);
  if (wbitmap_wait (a->bitmap, off_bytes, len_bytes))
    return 0;
  meta_write_end (a, off_bytes, len_bytes);
  return -EIO;
}

void
meta_write_end (struct array *a, uint64_t off_bytes, uint64_t len_bytes)
{
  uint64_t now = now_ms ();

  if (a->bitmap != NULL)
    wbitmap_end (a->bitmap, off_bytes, len_bytes, now);
  atomic_store (&a->last_write_ms, now);
  /* The last one out: the stop waits for it. */
  if (atomic_fetch_sub (&a->writers, 1) == 1 &&
      atomic_load (&a->stop_wanted)) {
    pthread_mutex_lock (&a->lock);
    pthread_cond_broadcast (&a->meta_cond);
    pthread_mutex_unlock (&a->lock);
  }
}
