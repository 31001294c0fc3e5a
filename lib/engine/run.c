/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Runs: from waiting pieces to the released claim.
 *
 *                 +--------------------------------------+
 *                 v                                      |
 *   NEW --> READING --> WRITING --> VERIFY --> DONE      |
 *    |        |  ^        |  |                  ^        |
 *    |        +--+        |  +---> RECORD ------+        |
 *    +--------------------+-------------------> DONE     |
 *   (RUN_READING again: a source failed, plan anew) -----+
 *
 * from      to        who                when
 * NEW       READING   write_start        something must be read first
 * NEW       WRITING   write_start        nothing must be read
 * NEW       DONE      run_finish         cannot be served, or nothing to do
 * READING   READING   write_start        a read failed: planned anew
 * READING   WRITING   write_compute      parity is made
 * READING   DONE      run_finish         answered (reads), or failed
 * WRITING   VERIFY    decode_written     repaired blocks are read back
 * WRITING   RECORD    run_finish         a member was skipped or failed
 * WRITING   DONE      run_finish         all in service have it
 * VERIFY    RECORD    run_finish         the repair failed
 * VERIFY    DONE      run_finish         the repair is good
 * RECORD    DONE      recorded           the superblocks say who is out
 *
 * What holds: NEW .. RECORD own their claim; READING, WRITING, VERIFY have
 * outstanding > 0 between turns; in RECORD and DONE nothing is in flight.
 *
 * Waiting is first come first served: a piece waits if its stripes are owned
 * or an earlier waiter wants them.  A partial write also waits when its
 * stripes merely touch those of another partial write: when that is done, all
 * neighbours that wait go as one run.  Nobody waits for company that is not
 * there already.  The bucket lock protects claims and waiters.
 */
#include <config.h>

#include "engine_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const bool legal[RUN_DONE + 1][RUN_DONE + 1] = {
    [RUN_NEW] = {[RUN_READING] = 1, [RUN_WRITING] = 1, [RUN_DONE] = 1},
    [RUN_READING] = {[RUN_READING] = 1, [RUN_WRITING] = 1, [RUN_DONE] = 1},
    [RUN_WRITING] = {[RUN_VERIFY] = 1, [RUN_RECORD] = 1, [RUN_DONE] = 1},
    [RUN_VERIFY] = {[RUN_RECORD] = 1, [RUN_DONE] = 1},
    [RUN_RECORD] = {[RUN_DONE] = 1},
};

bool
run_state_legal (enum run_state from, enum run_state to)
{
  return legal[from][to];
}

const char *
run_state_name (enum run_state s)
{
  static const char *const names[] = {"NEW",    "READING", "WRITING",
                                      "VERIFY", "RECORD",  "DONE"};

  return names[s];
}

void
run_set_state (struct run *r, enum run_state to)
{
  assert (run_state_legal (r->state, to));
  r->state = to;
}

/* --- pieces become runs --- */

static bool
overlaps (const struct stripe_claim *a, const struct stripe_claim *b)
{
  return a->first < b->first + b->nr && b->first < a->first + a->nr;
}

static bool
touches (const struct stripe_claim *a, const struct stripe_claim *b)
{
  return a->first <= b->first + b->nr && b->first <= a->first + a->nr;
}

/* Must W wait?  Bucket lock held. */
static bool
must_wait (struct engine *e, const struct segment *seg,
           const struct stripe_claim *w)
{
  bool combines = w->combines && w->nr < e->seg_stripes;

  for (const struct stripe_claim *c = seg->claims; c != NULL; c = c->next)
    if (overlaps (c, w) || (combines && c->combines && touches (c, w)))
      return true;
  for (const struct stripe_claim *c = seg->wait_head; c != NULL; c = c->next)
    if (overlaps (c, w) || (combines && c->combines && touches (c, w)))
      return true;
  return false;
}

static struct run *
run_new (struct engine *e, struct piece *p)
{
  /* plan_slot holds 128-bit masks: keep it on a multiple of 16. */
  size_t ps_off =
      (sizeof (struct run) + e->n * sizeof (struct run_slot) + 15) &
      ~(size_t)15;
  struct run *r = calloc (1, ps_off + e->n * sizeof r->ps[0]);

  if (r == NULL)
    return NULL;
  r->e = e;
  r->ps = (struct plan_slot *)(void *)((char *)r + ps_off);
  r->kind = p->kind;
  r->claim.first = p->wait.first;
  r->claim.nr = p->wait.nr;
  r->claim.combines = p->kind == PIECE_WRITE;
  r->rm =
      geometry_row (e->geo, (p->segno << e->seg_shift) >> e->geo->chunk_shift);
  r->all_zero = r->may_trim = true;
  r->item.group = p->group;
  atomic_fetch_add (&e->stats.runs, 1);
  return r;
}

/* Pages that X touches and those it overwrites wholly, segment-relative. */
static void
ext_masks (const struct piece_ext *x, stripe_mask *ret_touched,
           stripe_mask *ret_full)
{
  unsigned lo = x->off / PAGES_BYTES;
  unsigned hi = (x->off + x->len + PAGES_BYTES - 1) / PAGES_BYTES;
  unsigned flo = (x->off + PAGES_BYTES - 1) / PAGES_BYTES;
  unsigned fhi = (x->off + x->len) / PAGES_BYTES;

  *ret_touched = mask_range (lo, hi - lo);
  *ret_full = fhi > flo ? mask_range (flo, fhi - flo) : 0;
}

static bool
pages_free_in (const struct run *r, const struct piece *p)
{
  for (unsigned i = 0; i < p->nr_ext; i++) {
    stripe_mask touched, full;

    ext_masks (&p->ext[i], &touched, &full);
    if (r->ps[r->rm->data_slot[p->ext[i].data_index]].touched & touched)
      return false;
  }
  return true;
}

static void
run_add_piece (struct run *r, struct piece *p)
{
  p->next = NULL;
  if (r->pieces_tail != NULL)
    r->pieces_tail->next = p;
  else
    r->pieces = p;
  r->pieces_tail = p;
  if (p->kind != PIECE_WRITE)
    return;
  if (p->io->flags & ENGINE_FUA)
    r->fua = true;
  if (!(p->io->flags & ENGINE_MAY_TRIM))
    r->may_trim = false;
  if (p->io->op != IO_ZERO)
    r->all_zero = false;
  for (unsigned i = 0; i < p->nr_ext; i++) {
    struct plan_slot *s = &r->ps[r->rm->data_slot[p->ext[i].data_index]];
    stripe_mask touched, full;

    ext_masks (&p->ext[i], &touched, &full);
    s->touched |= touched;
    s->full |= full;
  }
}

/* Can waiting write P join R, whose hull grows by it?  Not if that takes in
 * somebody else's stripes (owned ones, or those in BLOCKED, which an earlier
 * waiter wants), nor if both write to one page.
 */
static bool
can_join (struct segment *seg, struct run *r, struct piece *p,
          stripe_mask blocked)
{
  unsigned lo, hi;

  if (p->kind != PIECE_WRITE || !touches (&r->claim, &p->wait))
    return false;
  lo = r->claim.first < p->wait.first ? r->claim.first : p->wait.first;
  hi = r->claim.first + r->claim.nr > p->wait.first + p->wait.nr
           ? r->claim.first + r->claim.nr
           : p->wait.first + p->wait.nr;
  return !segment_claimed (seg, lo, hi - lo) &&
         (mask_range (lo, hi - lo) & blocked) == 0 && pages_free_in (r, p);
}

/* Let those who wait behind PREV and touch R join it.  Repeated, as pieces of
 * a sequential stream may have queued in any order.
 */
static void
join_waiters (struct engine *e, struct segment *seg, struct run *r,
              stripe_mask blocked)
{
  bool again = r->claim.combines;

  while (again) {
    struct stripe_claim *w, *prev = NULL, *next;

    again = false;
    for (w = seg->wait_head; w != NULL; w = next) {
      struct piece *p = (struct piece *)w;
      unsigned hi;

      next = w->next;
      if (!can_join (seg, r, p, blocked)) {
        prev = w;
        continue;
      }
      segment_unwait (seg, prev, w);
      hi = r->claim.first + r->claim.nr;
      if (w->first + w->nr > hi)
        hi = w->first + w->nr;
      if (w->first < r->claim.first)
        r->claim.first = w->first;
      r->claim.nr = hi - r->claim.first;
      run_add_piece (r, p);
      atomic_fetch_add (&e->stats.combined, 1);
      again = true;
    }
  }
}

static void
fail_piece (struct piece *p, int err)
{
  if (p->kind == PIECE_SYNC) {
    p->sync->err = err;
    p->sync->done (p->sync);
  }
  else
    io_put (p->io, err);
  free (p);
}

/* Make runs of all that can go now.  Bucket lock held.  Returns a list. */
static struct run *
take_waiters (struct engine *e, struct segment *seg)
{
  struct run *list = NULL, **tail = &list;
  struct stripe_claim *w = seg->wait_head, *prev = NULL;
  stripe_mask blocked = 0;

  while (w != NULL) {
    stripe_mask mine = mask_range (w->first, w->nr);
    struct run *r;

    if (segment_claimed (seg, w->first, w->nr) || (mine & blocked) != 0 ||
        (r = run_new (e, (struct piece *)w)) == NULL) {
      /* Out of memory: it is tried again at the next release; should nobody
       * own anything here, there is no other run that would wake it, so the
       * piece fails.
       */
      if (seg->claims == NULL && blocked == 0) {
        struct stripe_claim *next = w->next;

        segment_unwait (seg, prev, w);
        fail_piece ((struct piece *)w, ENOMEM);
        w = next;
        continue;
      }
      blocked |= mine;
      prev = w;
      w = w->next;
      continue;
    }
    segment_unwait (seg, prev, w);
    run_add_piece (r, (struct piece *)w);
    join_waiters (e, seg, r, blocked);
    segment_claim (e->sc, seg, &r->claim);
    r->member_off =
        (seg->segno << e->seg_shift) + (uint64_t)r->claim.first * PAGES_BYTES;
    *tail = r;
    tail = &r->next;
    /* join_waiters may have unlinked what stood around here. */
    w = seg->wait_head;
    prev = NULL;
    blocked = 0;
  }
  return list;
}

static void
run_start (struct run *r)
{
  r->lane = lanes_pick (r->e->cfg.lanes);
  if (r->kind == PIECE_WRITE)
    write_start (r);
  else
    decode_start (r);
}

static void
start_item (struct work_item *item)
{
  run_start ((struct run *)((char *)item - offsetof (struct run, item)));
}

/* Will nothing have to be read?  A guess: the plan is made later. */
static bool
writes_all (const struct run *r)
{
  stripe_mask all = mask_range (r->claim.first, r->claim.nr);

  if (r->kind != PIECE_WRITE)
    return false;
  for (unsigned i = 0; i < r->e->geo->data_disks; i++)
    if (r->ps[r->rm->data_slot[i]].full != all)
      return false;
  return true;
}

/* Let a worker of the group that R came from call FN; or, without workers, the
 * calling thread.
 */
static void
run_hand_over (struct run *r, void (*fn) (struct work_item *item),
               bool preread)
{
  r->item.fn = fn;
  r->item.preread = preread;
  if (r->e->workers == NULL || !workers_queue (r->e->workers, &r->item))
    fn (&r->item);
}

/* In the thread that has brought the request: it would only sleep. */
static void
start_runs (struct run *list)
{
  struct run *r, *next;

  for (r = list; r != NULL; r = next) {
    next = r->next;
    run_start (r);
  }
}

/* Runs that had waited, in a lane or a worker. */
static void
start_waiters (struct run *list)
{
  struct run *r, *next;

  for (r = list; r != NULL; r = next) {
    next = r->next;
    run_hand_over (r, start_item, !writes_all (r));
  }
}

void
piece_enqueue (struct engine *e, struct piece *p)
{
  struct segment *seg = stripecache_lock (e->sc, p->segno);
  struct run *list = NULL;
  bool wait;

  if (e->workers != NULL && ENGINE_TUNED (e, group_thread_cnt) > 0)
    p->group = topology_current_group (e->cfg.topology);
  if (seg == NULL) {
    fail_piece (p, ENOMEM);
    return;
  }
  wait = must_wait (e, seg, &p->wait);
  segment_wait (seg, &p->wait);
  if (wait)
    atomic_fetch_add (&e->stats.waits, 1);
  else
    list = take_waiters (e, seg);
  stripecache_unlock (e->sc, seg);
  start_runs (list);
}

/* --- a run's helpers --- */

void
run_look_slots (struct run *r)
{
  struct engine *e = r->e;
  uint64_t len = (uint64_t)r->claim.nr * PAGES_BYTES;

  for (unsigned i = 0; i < e->n; i++) {
    struct plan_slot *s = &r->ps[i];

    s->role = r->rm->role[i];
    s->writable = slot_writable (e, i, r->member_off, len);
    s->readable = !r->slot[i].bad && slot_readable (e, i, r->member_off, len);
    s->r_lo = s->r_hi = s->w_lo = s->w_hi = 0;
    s->cached = 0;
    r->slot[i].have = false;
    r->slot[i].direct = NULL;
  }
}

uint8_t *
run_buf (struct run *r, unsigned slot)
{
  struct run_slot *s = &r->slot[slot];

  if (s->buf == NULL)
    s->buf = pages_get (r->e->pages, r->claim.nr);
  return s->buf;
}

uint8_t *
buf_at (const struct run *r, uint8_t *buf, unsigned stripe)
{
  return buf + (size_t)(stripe - r->claim.first) * PAGES_BYTES;
}

/* Call fault handlers for a failed command.  Returns true if the run must be
 * planned anew.
 */
static bool
cmd_failed (struct run *r, struct member_cmd *cmd)
{
  struct engine *e = r->e;
  unsigned slot = (unsigned)(uintptr_t)(((char *)cmd - (char *)r->slot) /
                                        (ptrdiff_t)sizeof r->slot[0]);
  enum slot_fault why = cmd->lost ? FAULT_LOST : FAULT_WRITE_ERROR;

  if (r->state == RUN_READING && !cmd->lost) {
    r->slot[slot].bad = true;
    e->cfg.ops->read_error (e->cfg.ops_user, slot, 0);
    return true;
  }
  if (r->state == RUN_VERIFY && !cmd->lost)
    why = FAULT_REWRITE;
  e->cfg.ops->slot_fault (e->cfg.ops_user, slot, cmd->member, why, cmd->err);
  r->slot[slot].skipped = true;
  return r->state == RUN_READING;
}

static void
run_continue (struct run *r)
{
  switch (r->state) {
  case RUN_READING:
    if (r->retry) {
      r->retry = false;
      /* Each retry has one more slot bad or missing, so n tries are enough;
       * the bound is there for a member that is said to be well again and
       * again.
       */
      if (++r->tries > r->e->n + 2)
        run_finish (r, EIO);
      else if (r->kind == PIECE_WRITE)
        write_start (r);
      else
        decode_start (r);
    }
    else if (r->kind == PIECE_WRITE)
      write_compute (r);
    else
      decode_compute (r);
    return;
  case RUN_WRITING:
    if (r->kind == PIECE_WRITE)
      write_done (r);
    else
      decode_written (r);
    return;
  case RUN_VERIFY:
    decode_verified (r);
    return;
  case RUN_NEW:
  case RUN_RECORD:
  case RUN_DONE:
    break;
  }
  abort ();
}

static void
continue_item (struct work_item *item)
{
  run_continue ((struct run *)((char *)item - offsetof (struct run, item)));
}

static void
run_cmd_done (struct member_cmd *cmd)
{
  struct run *r = cmd->user;

  if (cmd->err != 0 && cmd_failed (r, cmd))
    r->retry = true;
  if (--r->outstanding == 0)
    run_hand_over (r, continue_item, false);
}

void
run_cmd (struct run *r, unsigned slot, enum member_op op, void *buf,
         unsigned lo, unsigned hi, struct cmd_list *list)
{
  struct engine *e = r->e;
  struct member_cmd *cmd = &r->slot[slot].cmd;

  memset (cmd, 0, sizeof *cmd);
  cmd->member = slot_member (e, slot);
  cmd->op = op;
  cmd->buf = buf;
  cmd->len = (uint64_t)(hi - lo) * PAGES_BYTES;
  cmd->offset = e->slot[slot].data_offset_bytes +
                (r->claim.seg->segno << e->seg_shift) +
                (uint64_t)lo * PAGES_BYTES;
  if (op != MEMBER_READ && r->fua)
    cmd->flags |= MEMBER_CMD_FUA;
  cmd->done = run_cmd_done;
  cmd->user = r;
  if (list->tail != NULL)
    list->tail->next = cmd;
  else
    list->head = cmd;
  list->tail = cmd;
  r->outstanding++;
}

void
run_send (struct run *r, enum run_state state, struct cmd_list *list)
{
  run_set_state (r, state);
  if (list->head == NULL)
    run_continue (r);
  else
    lane_submit (r->lane, list->head);
}

/* --- the end --- */

static void
run_free (struct run *r)
{
  for (unsigned i = 0; i < r->e->n; i++) {
    pages_put (r->e->pages, r->slot[i].buf, r->claim.nr);
    pages_put (r->e->pages, r->slot[i].img, r->claim.nr);
  }
  free (r);
}

static void
run_end (struct run *r)
{
  struct engine *e = r->e;
  struct segment *seg = r->claim.seg;
  struct piece *p, *next;
  struct run *list;

  run_set_state (r, RUN_DONE);
  stripecache_relock (seg);
  segment_release (e->sc, &r->claim);
  list = take_waiters (e, seg);
  stripecache_unlock (e->sc, seg);
  for (p = r->pieces; p != NULL; p = next) {
    next = p->next;
    fail_piece (p, r->err);
  }
  run_free (r);
  start_waiters (list);
}

unsigned
run_out (const struct run *r)
{
  unsigned out = 0;

  for (unsigned i = 0; i < r->e->n; i++)
    out += r->slot[i].skipped || !r->ps[i].writable;
  return out;
}

static void
recorded (struct lane_work *w)
{
  struct run *r = (struct run *)((char *)w - offsetof (struct run, work));

  /* A member that failed and is still said to be in sync was one too many: the
   * array is broken and nothing was recorded.
   */
  for (unsigned i = 0; i < r->e->n && r->kind == PIECE_WRITE; i++)
    if (r->err == 0 && r->slot[i].skipped &&
        engine_slot_state (r->e, i) == SLOT_IN_SYNC)
      r->err = EIO;
  run_end (r);
}

void
run_finish (struct run *r, int err)
{
  bool skipped = false;

  r->err = err;
  for (unsigned i = 0; i < r->e->n; i++)
    skipped |= r->slot[i].skipped;
  if (skipped && (r->state == RUN_WRITING || r->state == RUN_VERIFY)) {
    run_set_state (r, RUN_RECORD);
    r->work.fn = recorded;
    if (!r->e->cfg.ops->when_recorded (r->e->cfg.ops_user, r->lane, &r->work))
      return;
    recorded (&r->work);
    return;
  }
  run_end (r);
}
