/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Who is in which slot: after assembly, when a member fails, when a stale
 * member or a spare takes an empty slot.  Everything under the array lock.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../md_layout/sizing.h"

static void
engine_slot (struct array *a, struct array_member *am)
{
  engine_set_slot (a->engine, am->slot, am->m,
                   am->sb.data_offset_sectors * 512,
                   am->state == AM_IN_SYNC ? SLOT_IN_SYNC : SLOT_RECOVERING,
                   am->recovered_sectors * 512);
  if (am->bb.nr > 0)
    engine_set_bad_ranges (a->engine, am->slot, &am->bb);
}

static enum am_state
state_of_verdict (const struct candidate *c)
{
  switch (c->verdict) {
  case VERDICT_UNUSED:
    break;
  case VERDICT_IN_SYNC:
    return AM_IN_SYNC;
  case VERDICT_RECOVERING:
    return AM_RECOVERING;
  case VERDICT_STALE:
    return AM_STALE;
  case VERDICT_SPARE:
    return AM_SPARE;
  case VERDICT_BLANK_SPARE:
    return AM_BLANK;
  }
  return AM_UNUSED;
}

void
slots_init (struct array *a)
{
  uint64_t seg = engine_segment_bytes (a->engine) / 512;

  for (size_t i = 0; i < a->nr; i++) {
    struct array_member *am = &a->am[i];

    am->m = a->members[i];
    am->cand = &a->cand[i];
    am->state = state_of_verdict (am->cand);
    am->slot = am->cand->slot;
    /* The engine knows whole segments only; the superblock must not promise
     * more than it honours.
     */
    am->recovered_sectors = am->cand->recovered_sectors / seg * seg;
    if (am->cand->state == CAND_MD)
      am->sb = am->cand->sb;
    if (am->m != NULL)
      am->m->user = am;
    if (am->state == AM_IN_SYNC || am->state == AM_RECOVERING)
      engine_slot (a, am);
  }
  fault_at_start (a);
  memcpy (a->roles, a->as.freshest->sb.dev_roles, sizeof a->roles);
  a->max_dev = a->as.freshest->sb.max_dev;
}

unsigned
slots_missing_locked (const struct array *a)
{
  unsigned there = 0;

  for (size_t i = 0; i < a->nr; i++)
    there += a->am[i].state == AM_IN_SYNC || a->am[i].state == AM_RECOVERING;
  return a->geo.raid_disks - there;
}

static unsigned
slots_unusable_locked (const struct array *a)
{
  unsigned good = 0;

  for (size_t i = 0; i < a->nr; i++)
    good += a->am[i].state == AM_IN_SYNC;
  return a->geo.raid_disks - good;
}

/* --- failures --- */

/* Post those who wait for faults to be recorded.  Array lock held. */
static void
break_array (struct array *a)
{
  array_set_state (a, ARRAY_BROKEN);
  if (a->bitmap != NULL)
    wbitmap_fail (a->bitmap);
  for (size_t i = 0; i < a->nr_waiters; i++)
    lane_post (a->waiters[i].lane, a->waiters[i].work);
  a->nr_waiters = 0;
  pthread_cond_broadcast (&a->job_cond);
  pthread_cond_broadcast (&a->state_cond);
  pthread_cond_broadcast (&a->meta_cond);
}

void
slots_fail_locked (struct array *a, struct array_member *am,
                   enum slot_fault why, int err)
{
  enum array_state st = array_get_state (a);

  if (am->state != AM_FAULTY && am->state != AM_UNUSED)
    fault_note (am, why, err);
  if (am->state == AM_SPARE || am->state == AM_STALE ||
      am->state == AM_BLANK) {
    am->state = AM_UNUSED;
    return;
  }
  if ((am->state != AM_IN_SYNC && am->state != AM_RECOVERING) ||
      st == ARRAY_BROKEN)
    return;
  /* One more than parity covers: the last survivors keep superblocks that say
   * nothing of it, so that the array starts again when the members are back.
   */
  if (am->state == AM_IN_SYNC &&
      slots_unusable_locked (a) + 1 > a->geo.parity_disks) {
    if (st != ARRAY_STOPPED)
      break_array (a);
    return;
  }
  am->state = AM_FAULTY;
  /* Not NULL: what is in flight may still look at the member. */
  a->job_stuck = false;
  /* Counted before the engine sees it: a run that skips the member then finds
   * that something is to be recorded.
   */
  atomic_fetch_add (&a->fault_seq, 1);
  engine_set_slot (a->engine, am->slot, NULL, 0, SLOT_MISSING, 0);
  pthread_cond_broadcast (&a->meta_cond);
  pthread_cond_broadcast (&a->job_cond);
}

static void
slot_fault (void *user, unsigned slot, struct member *m, enum slot_fault why,
            int err)
{
  struct array *a = user;

  (void)slot;
  pthread_mutex_lock (&a->lock);
  slots_fail_locked (a, m->user, why, err);
  pthread_mutex_unlock (&a->lock);
}

void
slots_on_lost (void *user, struct member *m)
{
  struct array *a = user;

  pthread_mutex_lock (&a->lock);
  slots_fail_locked (a, m->user, FAULT_LOST, m->error.err);
  pthread_mutex_unlock (&a->lock);
}

static bool
when_recorded (void *user, struct lane *lane, struct lane_work *w)
{
  struct array *a = user;
  bool now;

  if (atomic_load (&a->fault_seq) == atomic_load (&a->recorded_seq))
    return true;
  pthread_mutex_lock (&a->lock);
  now = atomic_load (&a->fault_seq) == atomic_load (&a->recorded_seq) ||
        array_get_state (a) == ARRAY_BROKEN ||
        array_get_state (a) == ARRAY_READ_AUTO ||
        array_get_state (a) == ARRAY_STOPPED;
  if (!now && a->nr_waiters == a->cap_waiters) {
    size_t cap = a->cap_waiters == 0 ? 64 : a->cap_waiters * 2;
    struct recorded_waiter *p = realloc (a->waiters, cap * sizeof *p);

    /* Without memory to wait there is no honest way to answer; abort leaves
     * the array dirty, which the next start mends.
     */
    if (p == NULL)
      abort ();
    a->waiters = p;
    a->cap_waiters = cap;
  }
  if (!now)
    a->waiters[a->nr_waiters++] =
        (struct recorded_waiter){.lane = lane, .work = w};
  pthread_mutex_unlock (&a->lock);
  return now;
}

static void
read_error (void *user, unsigned slot, uint64_t sectors)
{
  struct array *a = user;

  pthread_mutex_lock (&a->lock);
  for (size_t i = 0; i < a->nr; i++)
    if ((a->am[i].state == AM_IN_SYNC || a->am[i].state == AM_RECOVERING) &&
        a->am[i].slot == slot)
      a->am[i].corrected_sectors += (uint32_t)sectors;
  pthread_mutex_unlock (&a->lock);
}

static bool
owes_resync (void *user, uint64_t offset_bytes, uint64_t len_bytes)
{
  struct array *a = user;

  return a->bitmap == NULL ||
         wbitmap_owes (a->bitmap, offset_bytes, len_bytes);
}

const struct engine_ops slots_engine_ops = {
    .slot_fault = slot_fault,
    .when_recorded = when_recorded,
    .read_error = read_error,
    .region_owes_resync = owes_resync,
};

/* --- empty slots --- */

/* A slot whose member failed while we serve keeps it until the next start:
 * requests in flight may still look at it.
 */
static bool
slot_taken (const struct array *a, unsigned slot)
{
  for (size_t i = 0; i < a->nr; i++)
    if ((a->am[i].state == AM_IN_SYNC || a->am[i].state == AM_RECOVERING ||
         a->am[i].state == AM_FAULTY) &&
        a->am[i].slot == slot)
      return true;
  return false;
}

static bool
number_taken (const struct array *a, const struct array_member *but,
              uint32_t number)
{
  for (size_t i = 0; i < a->nr; i++) {
    const struct array_member *am = &a->am[i];

    if (am != but &&
        (am->state == AM_IN_SYNC || am->state == AM_RECOVERING ||
         am->state == AM_SPARE) &&
        am->sb.dev_number == number)
      return true;
  }
  return false;
}

/* The permanent index of a member that joins: its own if that is free and
 * known, else the lowest free one from raid_disks on, as md does.
 */
static int
choose_number (const struct array *a, const struct array_member *am,
               uint32_t *ret)
{
  uint32_t d;

  if (am->state != AM_BLANK && am->sb.dev_number < a->max_dev &&
      !number_taken (a, am, am->sb.dev_number)) {
    *ret = am->sb.dev_number;
    return 0;
  }
  for (d = a->geo.raid_disks; d < SB1_MAX_DEV; d++)
    if (!number_taken (a, am, d) &&
        (d >= a->max_dev || a->roles[d] == SB1_ROLE_SPARE ||
         a->roles[d] == SB1_ROLE_FAULTY)) {
      *ret = d;
      return 0;
    }
  return -ENOSPC;
}

/* Superblock and number for AM.  False: it cannot be used. */
static bool
make_member (struct array *a, struct array_member *am)
{
  uint32_t number;
  uint8_t uuid[16];
  uint64_t bitmap_bytes =
      a->bitmap == NULL ? 0 : wbitmap_area_bytes (a->bitmap);

  if (choose_number (a, am, &number) < 0)
    return false;
  if (am->state == AM_BLANK) {
    if (getrandom (uuid, sizeof uuid, 0) != sizeof uuid)
      return false;
    if (sizing_spare_sb (&a->as.freshest->sb, am->cand->dev_sectors,
                         bitmap_bytes, uuid, number, &am->sb,
                         &am->cand->why) < 0)
      return false;
  }
  am->sb.dev_number = number;
  if (number >= a->max_dev)
    a->max_dev = number + 1;
  return true;
}

/* Can AM take a slot?  It must hold the component and accept our blocks. */
static bool
fits (const struct array *a, const struct array_member *am)
{
  if (am->m == NULL || atomic_load (&am->m->state) != MEMBER_CONNECTED ||
      am->m->read_only)
    return false;
  if (am->state == AM_BLANK)
    return true; /* make_member judges */
  return sb1_judge (&am->sb, am->cand->dev_sectors, 0, true, NULL) == 0 &&
         am->sb.size_sectors == a->as.freshest->sb.size_sectors &&
         am->sb.data_size_sectors >= am->sb.size_sectors;
}

unsigned
slots_assign (struct array *a)
{
  static const enum am_state order[] = {AM_STALE, AM_SPARE, AM_BLANK};
  unsigned given = 0;

  for (unsigned slot = 0; slot < a->geo.raid_disks; slot++)
    for (unsigned k = 0; k < 3 && !slot_taken (a, slot); k++)
      for (size_t i = 0; i < a->nr; i++) {
        struct array_member *am = &a->am[i];

        if (am->state != order[k] || !fits (a, am) || !make_member (a, am))
          continue;
        am->state = AM_RECOVERING;
        am->slot = slot;
        am->recovered_sectors = 0;
        am->bb.nr = 0;
        fault_clear (am);
        engine_slot (a, am);
        given++;
        break;
      }
  return given;
}
