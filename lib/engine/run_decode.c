/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Runs that read a row and compute: blocks of missing members for a client
 * (each survivor is read once, whatever the request wants of the row),
 * resync, recovery, and the repair of what a live server could not read.
 * Functions run in the run's owner; the claim protects the bytes.
 */
#include <config.h>

#include "engine_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static bool
is_sync (const struct run *r, enum engine_sync_kind kind)
{
  return r->kind == PIECE_SYNC && r->pieces->sync->kind == kind;
}

/* Is slot I to be rebuilt by this recovery run? */
static bool
rebuilds (const struct run *r, unsigned i)
{
  return is_sync (r, ENGINE_RECOVER) &&
         engine_slot_state (r->e, i) == SLOT_RECOVERING && !r->ps[i].writable;
}

int
decode_blocks (struct run *r, bool want_p, bool want_q)
{
  uint8_t *blocks[GEOMETRY_MAX_DISKS];
  unsigned lost[2], nr_lost = 0;

  for (unsigned i = 0; i < r->e->n; i++) {
    const struct plan_slot *s = &r->ps[i];
    bool want =
        s->role >= 0 ? !s->readable : (s->role == ROLE_P ? want_p : want_q);

    blocks[i] = r->slot[i].buf;
    if (want) {
      if (nr_lost == 2)
        return EIO;
      lost[nr_lost++] = i;
    }
    else if (s->role < 0 && !r->slot[i].have)
      blocks[i] = NULL;
  }
  return -parity_recover (r->e->cfg.par, r->rm, blocks, lost, nr_lost,
                          (size_t)r->claim.nr * PAGES_BYTES);
}

/* Queue the read of slot I, all of the claim. */
static bool
read_slot (struct run *r, unsigned i, struct cmd_list *list)
{
  r->ps[i].r_lo = r->claim.first;
  r->ps[i].r_hi = r->claim.first + r->claim.nr;
  if (run_buf (r, i) == NULL)
    return false;
  r->slot[i].have = true;
  run_cmd (r, i, MEMBER_READ, r->slot[i].buf, r->ps[i].r_lo, r->ps[i].r_hi,
           list);
  return true;
}

static bool
piece_needs_decode (const struct run *r)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (!r->ps[i].readable && r->ps[i].role >= 0 && piece_names (r, i))
      return true;
  return false;
}

/* How long a request to SLOT would take, in some unit. */
static uint64_t
slot_load (struct run *r, unsigned slot)
{
  const struct member *m = slot_member (r->e, slot);
  uint64_t us = atomic_load_explicit (&m->latency_us, memory_order_relaxed);
  uint64_t waiting =
      atomic_load_explicit (&m->in_flight, memory_order_relaxed);

  return (us > 0 ? us : 1) * (waiting + 1);
}

/* One block is lost and both parities are there: one survivor need not be
 * read.  The busier parity, Q where they are about equal (P costs less to
 * decode); a data block that the client does not want instead, where its
 * member is much busier than both.  -1: all are needed.
 */
static int
survivor_to_spare (struct run *r)
{
  unsigned p = r->rm->p_slot, q = r->rm->q_slot, lost = 0;
  uint64_t load_p, load_q, most;
  int spare;

  if (r->kind != PIECE_READ || r->e->geo->parity_disks < 2 ||
      !r->ps[p].readable || !r->ps[q].readable)
    return -1;
  /* Where a resync is owed P and Q may disagree: always the same of them, lest
   * a block reads differently from one time to the next.
   */
  if (!parity_trusted (r->e, r->member_off,
                       (uint64_t)r->claim.nr * PAGES_BYTES))
    return -1;
  for (unsigned i = 0; i < r->e->n; i++) {
    lost += r->ps[i].role >= 0 && !r->ps[i].readable;
    if (r->slot[i].bad)
      return -1; /* all that can be known goes into a repair */
  }
  if (lost != 1)
    return -1;
  load_p = slot_load (r, p);
  load_q = slot_load (r, q);
  spare = (int)(load_p > load_q + load_q / 4 ? p : q);
  most = 2 * (load_p > load_q ? load_p : load_q);
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->ps[i].role >= 0 && r->ps[i].readable && !piece_names (r, i) &&
        slot_load (r, i) > most) {
      most = slot_load (r, i);
      spare = (int)i;
    }
  return spare;
}

/* Choose the reads.  0 or positive errno. */
static int
choose_reads (struct run *r, struct cmd_list *list)
{
  unsigned lost_data = 0;
  bool all = r->kind == PIECE_SYNC || piece_needs_decode (r);
  int spare = all ? survivor_to_spare (r) : -1;

  /* A spared data block is decoded like a lost one. */
  if (spare >= 0)
    r->ps[spare].readable = false;

  for (unsigned i = 0; i < r->e->n; i++) {
    if (r->ps[i].role < 0)
      continue;
    if (!all && !piece_names (r, i))
      continue;
    if (!r->ps[i].readable) {
      lost_data++;
      if (run_buf (r, i) == NULL)
        return ENOMEM;
    }
    else if (!read_slot (r, i, list))
      return ENOMEM;
  }
  for (int role = ROLE_P; role >= ROLE_Q; role--)
    for (unsigned i = 0; i < r->e->n; i++) {
      if (r->ps[i].role != role || !r->ps[i].readable)
        continue;
      if (lost_data == 0 && !is_sync (r, ENGINE_RESYNC))
        continue;
      if (!read_slot (r, i, list))
        return ENOMEM;
      lost_data -= lost_data > 0;
    }
  return lost_data > 0 ? EIO : 0;
}

/* More cannot be read than parity covers, but perhaps not in one and the same
 * stripe: ask again for each page alone.  The new pieces wait for the claim of
 * this run.  False: that would not help, or there is no memory.
 */
static bool
split_by_stripe (struct run *r)
{
  struct piece *p = r->pieces;
  bool unreadable = false;

  for (unsigned i = 0; i < r->e->n; i++)
    unreadable |= r->ps[i].writable && !r->ps[i].readable;
  if (r->kind != PIECE_READ || r->claim.nr == 1 || !unreadable)
    return false;
  for (unsigned k = 0; k < p->nr_ext; k++) {
    struct piece_ext x = p->ext[k];

    while (x.len > 0) {
      uint32_t n = PAGES_BYTES - x.off % PAGES_BYTES;
      struct piece *q = piece_new (PIECE_READ, p->segno, 1);

      if (q == NULL)
        return false;
      if (n > x.len)
        n = x.len;
      q->ext[q->nr_ext++] = x;
      q->ext[0].len = n;
      q->io = p->io;
      atomic_fetch_add (&q->io->pending, 1);
      piece_close (q);
      piece_enqueue (r->e, q);
      x.off += n;
      x.buf += n;
      x.len -= n;
    }
  }
  return true;
}

void
decode_start (struct run *r)
{
  struct cmd_list list = {NULL, NULL};
  bool work = !is_sync (r, ENGINE_RECOVER);
  int err;

  if (answer_from_cache (r)) {
    run_finish (r, 0);
    return;
  }
  if (r->pieces->bad_slot >= 0)
    r->slot[r->pieces->bad_slot].bad = true;
  run_look_slots (r);
  for (unsigned i = 0; i < r->e->n; i++)
    work |= rebuilds (r, i);
  if (!work) {
    run_finish (r, 0);
    return;
  }
  err = choose_reads (r, &list);
  if (err != 0) {
    /* What was queued was not sent. */
    r->outstanding = 0;
    if (err == EIO && split_by_stripe (r))
      err = 0;
    run_finish (r, err);
    return;
  }
  run_send (r, RUN_READING, &list);
}

static void
answer (struct run *r)
{
  for (struct piece *p = r->pieces; p != NULL; p = p->next)
    for (unsigned k = 0; k < p->nr_ext; k++) {
      const struct piece_ext *x = &p->ext[k];
      const uint8_t *from = r->slot[r->rm->data_slot[x->data_index]].buf;

      memcpy (x->buf, from + (x->off - (size_t)r->claim.first * PAGES_BYTES),
              x->len);
    }
}

/* Decide which slots that a live server could not read are written back; all
 * of them are then to be made, parity too: its buffer holds nothing yet.
 */
static void
mark_repairs (struct run *r)
{
  if (atomic_load (&r->e->read_only))
    return;
  for (unsigned i = 0; i < r->e->n; i++)
    r->slot[i].repaired = r->slot[i].bad && r->ps[i].writable &&
                          r->slot[i].buf != NULL &&
                          !slot_member (r->e, i)->read_only;
}

static bool
repairs (const struct run *r, unsigned slot)
{
  return slot < r->e->n && r->slot[slot].repaired;
}

static void
queue_repairs (struct run *r, struct cmd_list *list)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->slot[i].repaired)
      run_cmd (r, i, MEMBER_WRITE, r->slot[i].buf, r->claim.first,
               r->claim.first + r->claim.nr, list);
}

static void
read_compute (struct run *r)
{
  struct cmd_list list = {NULL, NULL};

  if (piece_needs_decode (r)) {
    int err;

    mark_repairs (r);
    err = decode_blocks (r, repairs (r, r->rm->p_slot),
                         repairs (r, r->rm->q_slot));
    if (err != 0) {
      run_finish (r, err);
      return;
    }
  }
  answer (r);
  cache_decoded (r);
  atomic_fetch_add (&r->e->stats.recon_reads, 1);
  queue_repairs (r, &list);
  if (list.head == NULL)
    run_finish (r, 0);
  else
    run_send (r, RUN_WRITING, &list);
}

/* The segment is done for all who ask, before its claim is given up. */
static void
sync_mark_done (struct run *r)
{
  uint64_t segno = r->claim.seg->segno;
  struct engine *e = r->e;

  atomic_store (&e->sync_done[segno % ENGINE_SYNC_WINDOW], segno + 1);
  if (is_sync (r, ENGINE_RESYNC))
    atomic_fetch_add (&e->stats.resynced_segments, 1);
  else
    atomic_fetch_add (&e->stats.recovered_segments, 1);
  stripe_drop (e->sc, r->claim.seg, r->claim.first, r->claim.nr);
}

/* Parity anew, compared with what was read. */
static void
resync_compute (struct run *r)
{
  const uint8_t *src[GEOMETRY_MAX_DISKS];
  struct cmd_list list = {NULL, NULL};
  size_t len = (size_t)r->claim.nr * PAGES_BYTES;
  unsigned par[2] = {r->rm->p_slot, r->rm->q_slot};
  uint8_t *made[2] = {NULL, NULL};
  int err = decode_blocks (r, false, false);

  mark_repairs (r);
  for (unsigned i = 0; i < r->e->n; i++)
    src[i] = r->slot[i].buf;
  for (unsigned k = 0; k < r->e->geo->parity_disks && err == 0; k++) {
    struct run_slot *s = &r->slot[par[k]];

    if (!r->ps[par[k]].writable)
      continue;
    if (s->img == NULL)
      s->img = pages_get (r->e->pages, r->claim.nr);
    /* What was not read need not be compared; a repair is read back into img.
     */
    made[k] = s->repaired ? s->buf : s->img;
    if (made[k] == NULL)
      err = ENOMEM;
  }
  if (err != 0) {
    run_finish (r, err);
    return;
  }
  parity_gen (r->e->cfg.par, r->rm, src, len, made[0], made[1]);
  for (unsigned k = 0; k < r->e->geo->parity_disks; k++) {
    struct run_slot *s = &r->slot[par[k]];

    if (made[k] == NULL || s->repaired ||
        (s->have && memcmp (made[k], s->buf, len) == 0))
      continue;
    r->pieces->sync->rewrote = true;
    atomic_fetch_add (&r->e->stats.parity_rewrites, 1);
    run_cmd (r, par[k], MEMBER_WRITE, made[k], r->claim.first,
             r->claim.first + r->claim.nr, &list);
  }
  queue_repairs (r, &list);
  if (list.head == NULL) {
    sync_mark_done (r);
    run_finish (r, 0);
  }
  else
    run_send (r, RUN_WRITING, &list);
}

static void
recover_compute (struct run *r)
{
  unsigned p = r->rm->p_slot, q = r->rm->q_slot;
  bool two = r->e->geo->parity_disks == 2;
  bool want_p = rebuilds (r, p), want_q = two && rebuilds (r, q);
  struct cmd_list list = {NULL, NULL};
  int err = 0;

  if ((want_p && run_buf (r, p) == NULL) || (want_q && run_buf (r, q) == NULL))
    err = ENOMEM;
  mark_repairs (r);
  if (err == 0)
    err =
        decode_blocks (r, want_p || repairs (r, p), want_q || repairs (r, q));
  if (err != 0) {
    run_finish (r, err);
    return;
  }
  for (unsigned i = 0; i < r->e->n; i++)
    if (rebuilds (r, i) && r->slot[i].buf != NULL)
      run_cmd (r, i, MEMBER_WRITE, r->slot[i].buf, r->claim.first,
               r->claim.first + r->claim.nr, &list);
  queue_repairs (r, &list);
  if (list.head == NULL)
    run_finish (r, 0);
  else
    run_send (r, RUN_WRITING, &list);
}

void
decode_compute (struct run *r)
{
  if (r->kind == PIECE_READ)
    read_compute (r);
  else if (is_sync (r, ENGINE_RESYNC))
    resync_compute (r);
  else
    recover_compute (r);
}

static bool
any_repaired (const struct run *r)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->slot[i].repaired && !r->slot[i].skipped)
      return true;
  return false;
}

/* Background work of which a write failed has lost a member: the caller looks
 * at the slots and goes on with those that are left.
 */
static int
sync_result (const struct run *r)
{
  for (unsigned i = 0; i < r->e->n; i++)
    if (r->slot[i].skipped)
      return EAGAIN;
  return 0;
}

static void
written_finish (struct run *r)
{
  int err = 0;

  if (r->kind == PIECE_SYNC) {
    err = sync_result (r);
    if (err == 0)
      sync_mark_done (r);
    else
      /* One parity may be written and the other not: old pages go. */
      stripe_drop (r->e->sc, r->claim.seg, r->claim.first, r->claim.nr);
  }
  run_finish (r, err);
}

void
decode_written (struct run *r)
{
  struct cmd_list list = {NULL, NULL};

  if (any_repaired (r)) {
    /* Read back into a scratch block; only the answer counts. */
    for (unsigned i = 0; i < r->e->n; i++) {
      struct run_slot *s = &r->slot[i];

      if (!s->repaired || s->skipped)
        continue;
      if (s->img == NULL)
        s->img = pages_get (r->e->pages, r->claim.nr);
      if (s->img != NULL)
        run_cmd (r, i, MEMBER_READ, s->img, r->claim.first,
                 r->claim.first + r->claim.nr, &list);
    }
    run_send (r, RUN_VERIFY, &list);
    return;
  }
  written_finish (r);
}

void
decode_verified (struct run *r)
{
  struct engine *e = r->e;

  for (unsigned i = 0; i < e->n; i++) {
    struct run_slot *s = &r->slot[i];

    if (!s->repaired || s->skipped || s->img == NULL)
      continue;
    if (memcmp (s->img, s->buf, (size_t)r->claim.nr * PAGES_BYTES) != 0) {
      e->cfg.ops->slot_fault (e->cfg.ops_user, i, slot_member (e, i),
                              FAULT_REWRITE, EIO);
      s->skipped = true;
      continue;
    }
    atomic_fetch_add (&e->stats.corrected_sectors, r->claim.nr * 8);
    e->cfg.ops->read_error (e->cfg.ops_user, i, r->claim.nr * 8);
  }
  written_finish (r);
}

void
engine_sync_segment (struct engine *e, struct engine_sync *s)
{
  struct piece *p = piece_new (PIECE_SYNC, s->segno, 0);

  s->err = 0;
  s->rewrote = false;
  if (p == NULL) {
    s->err = ENOMEM;
    s->done (s);
    return;
  }
  p->sync = s;
  p->wait.first = 0;
  p->wait.nr = e->seg_stripes;
  piece_enqueue (e, p);
}
