/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The engine's object: slots, how far background work has come, flush.
 * No mutex here: slots are atomics, all else is set once.
 */
#include <config.h>

#include "engine_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
engine_new (const struct engine_config *cfg, struct engine **ret,
            struct uraid_error *err)
{
  struct engine *e = calloc (1, sizeof *e);
  uint64_t chunk_stripes = cfg->geo->chunk_bytes / PAGES_BYTES;

  if (e == NULL)
    goto enomem;
  e->cfg = *cfg;
  e->geo = cfg->geo;
  e->n = cfg->geo->raid_disks;
  e->seg_stripes = chunk_stripes < STRIPECACHE_SEG_MAX
                       ? (unsigned)chunk_stripes
                       : STRIPECACHE_SEG_MAX;
  e->seg_shift =
      GEOMETRY_PAGE_SHIFT + (unsigned)__builtin_ctz (e->seg_stripes);
  atomic_store (&e->sync_kind, -1);
  atomic_store (&e->read_only, cfg->read_only);
  for (unsigned i = 0; i < ENGINE_STREAMS; i++)
    atomic_store (&e->next_stripe[i], UINT64_MAX);
  e->slot = calloc (e->n, sizeof *e->slot);
  if (e->slot == NULL || pages_new (&e->pages) < 0 ||
      stripecache_new (e->n, e->seg_stripes, cfg->stripe_cache_size,
                       cfg->nr_hash_locks, e->pages, &e->sc) < 0)
    goto enomem;
  if (cfg->topology != NULL) {
    int r = workers_new (cfg->topology, &e->workers, err);

    if (r < 0) {
      engine_free (e);
      return r;
    }
  }
  *ret = e;
  return 0;

enomem:
  engine_free (e);
  return uraid_error_set (err, ENOMEM, "out of memory for the stripe cache");
}

void
engine_free (struct engine *e)
{
  if (e == NULL)
    return;
  workers_free (e->workers);
  stripecache_free (e->sc);
  pages_free (e->pages);
  free (e->slot);
  free (e);
}

/* A segment is recovered or it is not: a write across a limit inside a segment
 * would pass by a member that is read below the limit.
 */
static uint64_t
whole_segments (const struct engine *e, uint64_t bytes)
{
  return bytes >> e->seg_shift << e->seg_shift;
}

void
engine_set_slot (struct engine *e, unsigned slot, struct member *m,
                 uint64_t data_offset_bytes, enum slot_state state,
                 uint64_t recovered_bytes)
{
  struct engine_slot *s = &e->slot[slot];

  assert (slot < e->n);
  if (m != NULL) {
    atomic_store (&s->member, m);
    s->data_offset_bytes = data_offset_bytes;
  }
  atomic_store (&s->recovered_bytes, whole_segments (e, recovered_bytes));
  atomic_store (&s->state, state);
}

void
engine_set_read_only (struct engine *e, bool read_only)
{
  atomic_store (&e->read_only, read_only);
}

enum slot_state
engine_slot_state (struct engine *e, unsigned slot)
{
  return (enum slot_state)atomic_load (&e->slot[slot].state);
}

unsigned
engine_slots_missing (struct engine *e)
{
  unsigned missing = 0;

  for (unsigned i = 0; i < e->n; i++)
    missing += engine_slot_state (e, i) == SLOT_MISSING;
  return missing;
}

struct member *
slot_member (struct engine *e, unsigned slot)
{
  return atomic_load (&e->slot[slot].member);
}

/* Has background work of KIND done this range?  A range lies in one segment.
 */
static bool
sync_has_done (struct engine *e, uint64_t off_bytes, uint64_t len_bytes)
{
  uint64_t segno = off_bytes >> e->seg_shift;

  if (atomic_load (&e->sync_done[segno % ENGINE_SYNC_WINDOW]) == segno + 1)
    return true;
  return off_bytes + len_bytes <= atomic_load (&e->sync_pos);
}

/* A recovering member is read and written where it is recovered only: what
 * lies above is made from the others when recovery gets there, under the same
 * claim that a write holds.
 */
bool
slot_writable (struct engine *e, unsigned slot, uint64_t off_bytes,
               uint64_t len_bytes)
{
  struct engine_slot *s = &e->slot[slot];

  switch ((enum slot_state)atomic_load (&s->state)) {
  case SLOT_MISSING:
    return false;
  case SLOT_IN_SYNC:
    return true;
  case SLOT_RECOVERING:
    if (off_bytes + len_bytes <= atomic_load (&s->recovered_bytes))
      return true;
    if (atomic_load (&e->sync_kind) == ENGINE_RECOVER)
      return sync_has_done (e, off_bytes, len_bytes);
    /* Recovery may have ended since the first look: engine_sync_end changes
     * the state before the kind.
     */
    return atomic_load (&s->state) == SLOT_IN_SYNC;
  }
  return false;
}

bool
slot_readable (struct engine *e, unsigned slot, uint64_t off_bytes,
               uint64_t len_bytes)
{
  const struct engine_slot *s = &e->slot[slot];

  if (!slot_writable (e, slot, off_bytes, len_bytes))
    return false;
  return s->bad == NULL ||
         !badblocks_overlap (s->bad, (s->data_offset_bytes + off_bytes) / 512,
                             (len_bytes + 511) / 512);
}

void
engine_set_bad_ranges (struct engine *e, unsigned slot,
                       const struct badblocks *bb)
{
  e->slot[slot].bad = bb;
}

bool
parity_trusted (struct engine *e, uint64_t off_bytes, uint64_t len_bytes)
{
  if (atomic_load (&e->sync_kind) != ENGINE_RESYNC)
    return true;
  if (sync_has_done (e, off_bytes, len_bytes))
    return true;
  return e->cfg.ops->region_owes_resync != NULL &&
         !e->cfg.ops->region_owes_resync (e->cfg.ops_user, off_bytes,
                                          len_bytes);
}

uint64_t
engine_nr_segments (const struct engine *e)
{
  return e->geo->member_bytes >> e->seg_shift;
}

uint64_t
engine_segment_bytes (const struct engine *e)
{
  return UINT64_C (1) << e->seg_shift;
}

void
engine_sync_begin (struct engine *e, enum engine_sync_kind kind,
                   uint64_t from_bytes)
{
  atomic_store (&e->sync_pos, whole_segments (e, from_bytes));
  for (unsigned i = 0; i < ENGINE_SYNC_WINDOW; i++)
    atomic_store (&e->sync_done[i], 0);
  atomic_store (&e->sync_kind, (int)kind);
}

void
engine_sync_advance (struct engine *e, uint64_t pos_bytes)
{
  if (atomic_load (&e->sync_kind) == ENGINE_RECOVER)
    for (unsigned i = 0; i < e->n; i++) {
      struct engine_slot *s = &e->slot[i];

      if (atomic_load (&s->state) == SLOT_RECOVERING &&
          atomic_load (&s->recovered_bytes) < pos_bytes)
        atomic_store (&s->recovered_bytes, pos_bytes);
    }
  atomic_store (&e->sync_pos, pos_bytes);
}

void
engine_sync_end (struct engine *e, bool complete)
{
  if (complete && atomic_load (&e->sync_kind) == ENGINE_RECOVER)
    for (unsigned i = 0; i < e->n; i++) {
      int expected = SLOT_RECOVERING;

      atomic_compare_exchange_strong (&e->slot[i].state, &expected,
                                      SLOT_IN_SYNC);
    }
  if (complete || atomic_load (&e->sync_kind) == ENGINE_RECOVER)
    atomic_store (&e->sync_kind, -1);
}

struct engine_stats *
engine_get_stats (struct engine *e)
{
  return &e->stats;
}

void
engine_cache_stats (struct engine *e, struct stripecache_stats *ret)
{
  stripecache_get_stats (e->sc, ret);
}

/* --- flush --- */

struct flush {
  struct engine *e;
  _Atomic unsigned pending;
  sem_t done;
  struct lane_work work;
  struct member_cmd cmd[];
};

static void
flush_put (struct flush *f)
{
  if (atomic_fetch_sub (&f->pending, 1) == 1)
    sem_post (&f->done);
}

static void
flush_recorded (struct lane_work *w)
{
  struct flush *f =
      (struct flush *)((char *)w - offsetof (struct flush, work));

  flush_put (f);
}

static void
flush_cmd_done (struct member_cmd *cmd)
{
  struct flush *f = cmd->user;

  if (cmd->err != 0)
    f->e->cfg.ops->slot_fault (
        f->e->cfg.ops_user, (unsigned)(cmd - f->cmd), cmd->member,
        cmd->lost ? FAULT_LOST : FAULT_WRITE_ERROR, cmd->err);
  flush_put (f);
}

int
engine_flush (struct engine *e)
{
  struct flush *f = calloc (1, sizeof *f + e->n * sizeof f->cmd[0]);
  struct lane *lane = lanes_pick (e->cfg.lanes);
  struct member_cmd *head = NULL;
  unsigned missing;

  if (f == NULL)
    return -ENOMEM;
  f->e = e;
  f->work.fn = flush_recorded;
  sem_init (&f->done, 0, 0);
  atomic_store (&f->pending, 1);
  for (unsigned i = 0; i < e->n; i++) {
    struct member_cmd *cmd = &f->cmd[i];

    if (engine_slot_state (e, i) == SLOT_MISSING ||
        !slot_member (e, i)->can_flush)
      continue;
    cmd->member = slot_member (e, i);
    cmd->op = MEMBER_FLUSH;
    cmd->done = flush_cmd_done;
    cmd->user = f;
    cmd->next = head;
    head = cmd;
    atomic_fetch_add (&f->pending, 1);
  }
  if (head != NULL)
    lane_submit (lane, head);
  flush_put (f);
  while (sem_wait (&f->done) < 0)
    ;
  /* A member that failed on the way is no longer part of what the client may
   * rely on, once the others' superblocks say so.
   */
  atomic_store (&f->pending, 1);
  if (!e->cfg.ops->when_recorded (e->cfg.ops_user, lane, &f->work))
    while (sem_wait (&f->done) < 0)
      ;
  missing = engine_slots_missing (e);
  for (unsigned i = 0; i < e->n; i++)
    /* Beyond parity nothing is marked missing any more. */
    if (engine_slot_state (e, i) != SLOT_MISSING &&
        atomic_load (&slot_member (e, i)->state) != MEMBER_CONNECTED)
      missing++;
  sem_destroy (&f->done);
  free (f);
  return missing > e->geo->parity_disks ? -EIO : 0;
}
