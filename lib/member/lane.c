/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Lanes: the threads, their loops and queues (lane_internal.h has the way of
 * a command).  A lane's lock protects its queue and its end, and is never held
 * while anything else is called; all else is the lane thread's own.
 *
 * One iteration of the loop: libev calls turn_cb (its prepare watcher) just
 * before it waits for events, the events run conn_event (lane_conn.c), which
 * only collects completions.  lane_submit wakes the loop through wake; libev
 * sees to it that no wake-up between the turn and the wait is missed.
 */
#include <config.h>

#include "lane_internal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "connect.h"

#define DEFAULT_GATHER_US 50
#define DEFAULT_MERGE_BYTES (64u << 10)
/* Waiting pays when several replies can be expected during the wait. */
#define LEAST_INFLIGHT_TO_GATHER 8
#define GATHER_US_PER_INFLIGHT 2
/* A turn that had this fraction of what is in flight has gathered enough. */
#define ENOUGH_REPLIES_FRACTION 4

#define LEAST_SCAN_MS 100
#define LONGEST_SCAN_MS 1000
#define STOP_WAIT_MS 35000 /* when request-timeout is off */
#define STOP_SLACK_MS 1000

/* Not so many that a long request waits for its last piece to be cut. */
#define MOST_PLUGGED 256

static _Thread_local const struct lane *current_lane;
static _Thread_local struct lane_plug *current_plug;

bool
lane_is_current (const struct lane *l)
{
  return current_lane == l;
}

/*----- Queue: any thread -----*/

static void
lane_wake (struct lane *l)
{
  /* NULL: not started; the first turn looks at the queue anyway. */
  if (l->loop != NULL)
    ev_async_send (l->loop, &l->wake);
}

static bool
queue_is_empty (const struct lane *l)
{
  return l->queue_first == NULL && l->work_first == NULL;
}

static void
append_cmds (struct member_cmd ***end, struct member_cmd *first)
{
  **end = first;
  while (**end != NULL)
    *end = &(**end)->next;
}

static void
fail_all_lost (struct member_cmd *first)
{
  struct member_cmd *next;

  for (; first != NULL; first = next) {
    next = first->next;
    lane_cmd_fail_lost (first);
  }
}

static void
submit_now (struct lane *l, struct member_cmd *first)
{
  bool was_empty, ended;

  pthread_mutex_lock (&l->lock);
  ended = l->ended;
  was_empty = queue_is_empty (l);
  if (!ended)
    append_cmds (&l->queue_end, first);
  pthread_mutex_unlock (&l->lock);
  if (ended)
    fail_all_lost (first);
  else if (was_empty)
    lane_wake (l);
}

void
lane_submit (struct lane *l, struct member_cmd *first)
{
  struct lane_plug *plug = current_plug;

  if (lane_is_current (l))
    append_cmds (&l->pending_end, first);
  else if (plug != NULL && plug->lane == l) {
    append_cmds (&plug->end, first);
    if (++plug->nr >= MOST_PLUGGED) {
      struct member_cmd *list = plug->first;

      /* Emptied first: where the lane has ended, done() runs in here. */
      lane_plug (l, plug);
      submit_now (l, list);
    }
  }
  else
    submit_now (l, first);
}

void
lane_plug (struct lane *l, struct lane_plug *plug)
{
  plug->lane = l;
  plug->first = NULL;
  plug->end = &plug->first;
  plug->nr = 0;
  current_plug = plug;
}

void
lane_unplug (struct lane_plug *plug)
{
  current_plug = NULL;
  if (plug->first != NULL)
    submit_now (plug->lane, plug->first);
}

void
lane_post (struct lane *l, struct lane_work *w)
{
  bool was_empty, ended;

  w->next = NULL;
  pthread_mutex_lock (&l->lock);
  ended = l->ended;
  was_empty = queue_is_empty (l);
  if (!ended) {
    *l->work_end = w;
    l->work_end = &w->next;
  }
  pthread_mutex_unlock (&l->lock);
  if (ended)
    w->fn (w);
  else if (was_empty)
    lane_wake (l);
}

/*----- Loss of members -----*/

static size_t
lane_nr_conns (const struct lane *l)
{
  return l->ls->nr_members * l->ls->conns_per_member;
}

static void
lanes_tell_drop (struct lanes *ls, unsigned slot)
{
  unsigned i;

  for (i = 0; i < ls->nr_lanes; i++) {
    struct lane *l = &ls->lanes[i];

    for (unsigned k = 0; k < ls->conns_per_member; k++)
      atomic_store (&l->conns[slot * ls->conns_per_member + k].drop, true);
    atomic_store (&l->drop_scan, true);
    lane_wake (l);
  }
}

void
lanes_member_lost (struct lanes *ls, unsigned slot, int err, const char *text)
{
  struct member *m = ls->ms[slot];
  bool first;

  pthread_mutex_lock (&ls->lost_lock);
  first = atomic_load (&m->state) == MEMBER_CONNECTED;
  if (first) {
    uraid_error_set (&m->error, err, "%s: %s", m->address, text);
    member_set_state (m, MEMBER_LOST);
  }
  pthread_mutex_unlock (&ls->lost_lock);
  if (!first)
    return;
  lanes_tell_drop (ls, slot);
  if (ls->on_lost != NULL)
    ls->on_lost (ls->user, m);
}

void
lanes_drop_member (struct lanes *ls, struct member *m, const char *text)
{
  unsigned slot = m->lane_slot;

  if (slot >= ls->nr_members || ls->ms[slot] != m)
    return;
  pthread_mutex_lock (&ls->lost_lock);
  if (ls->drop_text[slot][0] == '\0')
    snprintf (ls->drop_text[slot], sizeof ls->drop_text[slot], "%s", text);
  pthread_mutex_unlock (&ls->lost_lock);
  lanes_tell_drop (ls, slot);
}

static void
lane_drop_conns (struct lane *l)
{
  char text[sizeof l->ls->drop_text[0]];

  for (size_t i = 0; i < lane_nr_conns (l); i++) {
    struct lane_conn *c = &l->conns[i];

    if (!atomic_exchange (&c->drop, false))
      continue;
    pthread_mutex_lock (&l->ls->lost_lock);
    memcpy (text, l->ls->drop_text[c->slot], sizeof text);
    pthread_mutex_unlock (&l->ls->lost_lock);
    lane_conn_lost (c, ECONNABORTED, text);
  }
}

/*----- One turn: the lane's thread -----*/

static void
finish_completed (struct lane *l)
{
  struct lane_part *part;

  while ((part = TAILQ_FIRST (&l->completed)) != NULL) {
    TAILQ_REMOVE (&l->completed, part, link);
    l->turn_replies++;
    if (part->merge_last != NULL)
      lane_merge_finish (l, part);
    else
      lane_part_finish (l, part);
  }
}

/* Take over what other threads have queued, run the posted work. */
static void
drain_queue (struct lane *l)
{
  struct lane_work *w, *next;

  pthread_mutex_lock (&l->lock);
  if (l->queue_first != NULL) {
    *l->pending_end = l->queue_first;
    l->pending_end = l->queue_end;
    l->queue_first = NULL;
    l->queue_end = &l->queue_first;
  }
  w = l->work_first;
  l->work_first = NULL;
  l->work_end = &l->work_first;
  pthread_mutex_unlock (&l->lock);

  for (; w != NULL; w = next) {
    next = w->next;
    w->fn (w); /* may free it */
  }
}

static void
start_pending (struct lane *l)
{
  struct member_cmd *cmd;

  while ((cmd = l->pending_first) != NULL) {
    l->pending_first = cmd->next;
    if (l->pending_first == NULL)
      l->pending_end = &l->pending_first;
    lane_cmd_start (l, cmd); /* may append to pending */
  }
}

static void
settle_touched (struct lane *l)
{
  struct lane_conn *c;

  while ((c = TAILQ_FIRST (&l->touched)) != NULL) {
    TAILQ_REMOVE (&l->touched, c, touched_link);
    c->touched = false;
    lane_conn_send (c);
    lane_conn_settle (c);
  }
}

static void
lane_look_at_clock (struct lane *l)
{
  l->now_us = member_now_us ();
  l->now_ms = l->now_us / 1000;
}

static void
lane_turn (struct lane *l)
{
  lane_look_at_clock (l);
  l->turn_replies = 0;
  do {
    if (atomic_exchange (&l->drop_scan, false))
      lane_drop_conns (l);
    finish_completed (l);
    drain_queue (l);
    start_pending (l);
    settle_touched (l);
  } while (!TAILQ_EMPTY (&l->completed) || l->pending_first != NULL);
}

/* May the thread end?  Decided together with submitters under the lock. */
static bool
lane_may_end (struct lane *l)
{
  bool stop;

  pthread_mutex_lock (&l->lock);
  stop = l->stop;
  if (stop && l->nr_inflight == 0 && queue_is_empty (l))
    l->ended = true;
  pthread_mutex_unlock (&l->lock);
  if (stop && l->stop_ms == 0) {
    l->stop_ms = l->now_ms + l->ls->stop_wait_ms;
    lane_start_scan (l);
  }
  return l->ended;
}

/* Let replies come together, so that their sequels go out together.  Not
 * while data is on its way (the socket's buffer would fill up), not when they
 * come together by themselves (a lane that is the bottleneck never waits), and
 * for so short a time that a small queue never notices.
 */
static void
lane_gather (const struct lane *l)
{
  unsigned us = atomic_load_explicit (&l->ls->gather_us, memory_order_relaxed);
  struct timespec ts = {0};

  if (us == 0 || l->nr_inflight < LEAST_INFLIGHT_TO_GATHER ||
      l->nr_mid_transfer > 0 ||
      l->turn_replies * ENOUGH_REPLIES_FRACTION >= l->nr_inflight)
    return;
  if (us > l->nr_inflight * GATHER_US_PER_INFLIGHT)
    us = l->nr_inflight * GATHER_US_PER_INFLIGHT;
  ts.tv_nsec = (long)us * 1000;
  nanosleep (&ts, NULL);
}

static void
turn_cb (struct ev_loop *loop, ev_prepare *w, int revents)
{
  struct lane *l = w->data;

  (void)revents;
  lane_turn (l);
  if (lane_may_end (l))
    ev_break (loop, EVBREAK_ALL);
  else
    lane_gather (l);
}

/* The turn that follows does the work. */
static void
wake_cb (struct ev_loop *loop, ev_async *w, int revents)
{
  (void)loop;
  (void)w;
  (void)revents;
}

/*----- Time-outs: the lane's thread -----*/

void
lane_start_scan (struct lane *l)
{
  if (ev_is_active (&l->scan))
    return;
  if (l->ls->scan_ms == 0 && l->stop_ms == 0)
    return; /* no member has a time-out */
  l->last_scan_ms = l->now_ms;
  ev_now_update (l->loop);
  ev_timer_again (l->loop, &l->scan);
}

static void
scan_cb (struct ev_loop *loop, ev_timer *w, int revents)
{
  struct lane *l = w->data;
  uint64_t since_ms;

  (void)revents;
  lane_look_at_clock (l);
  since_ms = l->now_ms - l->last_scan_ms;
  l->last_scan_ms = l->now_ms;
  if (l->nr_inflight == 0 && l->stop_ms == 0) {
    ev_timer_stop (loop, w);
    return;
  }
  /* It was we who were stopped or starved, not the servers: their answers
   * may be waiting in the sockets.  Look again later.
   */
  if (since_ms > 2 * LONGEST_SCAN_MS + l->ls->scan_ms)
    return;
  for (size_t i = 0; i < lane_nr_conns (l); i++) {
    struct lane_conn *c = &l->conns[i];

    lane_conn_expire (c);
    if (l->stop_ms != 0 && l->now_ms >= l->stop_ms && c->nr_inflight > 0)
      lane_conn_lost (c, ETIMEDOUT,
                      "still no answer when everything was to end");
  }
}

/*----- Life -----*/

static void *
lane_main (void *arg)
{
  struct lane *l = arg;

  current_lane = l;
  /* The default slack of 50 us would double the shortest gathering. */
  prctl (PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  ev_run (l->loop, 0);
  current_lane = NULL;
  return NULL;
}

static int
lane_init (struct lane *l, struct lanes *ls, unsigned index)
{
  size_t i, per = ls->conns_per_member;

  l->ls = ls;
  l->index = index;
  pthread_mutex_init (&l->lock, NULL);
  l->queue_end = &l->queue_first;
  l->work_end = &l->work_first;
  l->pending_end = &l->pending_first;
  TAILQ_INIT (&l->touched);
  TAILQ_INIT (&l->completed);
  TAILQ_INIT (&l->free_parts);
  atomic_init (&l->drop_scan, false);
  l->conns = calloc (ls->nr_members * per + 1, sizeof *l->conns);
  if (l->conns == NULL)
    return -ENOMEM;
  for (i = 0; i < ls->nr_members * per; i++)
    lane_conn_init (&l->conns[i], l, ls->ms[i / per], (unsigned)(i / per),
                    index + (unsigned)(i % per) * ls->nr_wanted);
  return 0;
}

/* Every lane needs a connection of its own to every connected member. */
static unsigned
possible_lanes (const struct lanes *ls, unsigned wanted)
{
  unsigned n = wanted < 1 ? 1 : wanted;
  size_t i;

  for (i = 0; i < ls->nr_members; i++)
    if (atomic_load (&ls->ms[i]->state) == MEMBER_CONNECTED &&
        ls->ms[i]->nr_conns < n)
      n = ls->ms[i]->nr_conns;
  return n;
}

/* How many of a member's connections each lane has at most. */
static unsigned
conns_per_member (const struct lanes *ls, unsigned nr_lanes)
{
  unsigned most = 1;

  for (size_t i = 0; i < ls->nr_members; i++)
    if (ls->ms[i]->nr_conns > most)
      most = ls->ms[i]->nr_conns;
  return (most + nr_lanes - 1) / nr_lanes;
}

static void
choose_times (struct lanes *ls)
{
  uint64_t shortest_ms = 0, longest_ms = 0;
  bool some_off = false;
  size_t i;

  for (i = 0; i < ls->nr_members; i++) {
    uint64_t ms = ls->ms[i]->opt.request_timeout_ms;

    some_off = some_off || ms == 0;
    if (ms > 0 && (shortest_ms == 0 || ms < shortest_ms))
      shortest_ms = ms;
    if (ms > longest_ms)
      longest_ms = ms;
  }
  if (shortest_ms > 0) {
    ls->scan_ms = shortest_ms / 10;
    if (ls->scan_ms < LEAST_SCAN_MS)
      ls->scan_ms = LEAST_SCAN_MS;
    if (ls->scan_ms > LONGEST_SCAN_MS)
      ls->scan_ms = LONGEST_SCAN_MS;
  }
  ls->stop_wait_ms = longest_ms + STOP_SLACK_MS;
  if (some_off && ls->stop_wait_ms < STOP_WAIT_MS)
    ls->stop_wait_ms = STOP_WAIT_MS;
}

int
lanes_new (struct member **ms, size_t nr_members, unsigned nr_wanted,
           void (*on_lost) (void *user, struct member *m), void *user,
           struct lanes **ret, struct uraid_error *e)
{
  struct lanes *ls = calloc (1, sizeof *ls);
  size_t i;
  int r = 0;

  if (ls == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory for the lanes");
  pthread_mutex_init (&ls->lost_lock, NULL);
  atomic_init (&ls->gather_us, DEFAULT_GATHER_US);
  atomic_init (&ls->merge_bytes, DEFAULT_MERGE_BYTES);
  ls->on_lost = on_lost;
  ls->user = user;
  ls->ms = calloc (nr_members + 1, sizeof (struct member *));
  ls->drop_text = calloc (nr_members + 1, sizeof *ls->drop_text);
  if (ls->ms != NULL && ls->drop_text != NULL) {
    ls->nr_members = nr_members;
    for (i = 0; i < nr_members; i++) {
      ls->ms[i] = ms[i];
      ms[i]->lane_slot = (unsigned)i;
    }
    choose_times (ls);
    nr_wanted = possible_lanes (ls, nr_wanted);
    ls->nr_wanted = nr_wanted;
    ls->conns_per_member = conns_per_member (ls, nr_wanted);
    ls->lanes = calloc (nr_wanted, sizeof *ls->lanes);
  }
  if (ls->lanes == NULL)
    r = -ENOMEM;
  while (r == 0 && ls->nr_lanes < nr_wanted) {
    r = lane_init (&ls->lanes[ls->nr_lanes], ls, ls->nr_lanes);
    ls->nr_lanes++;
  }
  if (r < 0) {
    lanes_free (ls);
    return uraid_error_set (e, -r, "out of memory for the lanes");
  }
  *ret = ls;
  return 0;
}

static int
lane_make_loop (struct lane *l)
{
  double interval;

  /* Neither the environment nor the default loop (signals, children) may
   * matter inside somebody else's server.
   */
  l->loop = ev_loop_new (EVFLAG_NOENV);
  if (l->loop == NULL)
    return -ENOMEM;
  interval = (double)(l->ls->scan_ms > 0 ? l->ls->scan_ms : LONGEST_SCAN_MS);
  ev_async_init (&l->wake, wake_cb);
  ev_async_start (l->loop, &l->wake);
  ev_prepare_init (&l->prepare, turn_cb);
  l->prepare.data = l;
  ev_prepare_start (l->loop, &l->prepare);
  ev_timer_init (&l->scan, scan_cb, 0., interval / 1000.);
  l->scan.data = l;
  for (size_t i = 0; i < lane_nr_conns (l); i++)
    lane_conn_start (&l->conns[i]);
  return 0;
}

/* Threads inherit the signal mask: nobody else's signals end up here. */
static int
lane_start_thread (struct lane *l)
{
  sigset_t all, old;
  char name[16];
  int r;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&l->thread, NULL, lane_main, l);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (r != 0)
    return -r;
  l->running = true;
  snprintf (name, sizeof name, "uraid-lane%u", l->index % 1000);
  pthread_setname_np (l->thread, name);
  return 0;
}

int
lanes_start (struct lanes *ls, struct uraid_error *e)
{
  unsigned i;
  int r = 0;

  /* All loops before the first thread: lanes wake each other. */
  for (i = 0; r == 0 && i < ls->nr_lanes; i++)
    r = lane_make_loop (&ls->lanes[i]);
  for (i = 0; r == 0 && i < ls->nr_lanes; i++)
    r = lane_start_thread (&ls->lanes[i]);
  if (r == 0)
    return 0;
  lanes_stop (ls);
  return uraid_error_set (e, -r, "cannot start lane %u of %u: %s", i,
                          ls->nr_lanes, strerror (-r));
}

/* What was queued on a lane that has no thread, in the caller's. */
static void
lane_end_queue (struct lane *l)
{
  struct member_cmd *first;
  struct lane_work *w, *next;

  pthread_mutex_lock (&l->lock);
  l->ended = true;
  first = l->queue_first;
  l->queue_first = NULL;
  l->queue_end = &l->queue_first;
  w = l->work_first;
  l->work_first = NULL;
  l->work_end = &l->work_first;
  pthread_mutex_unlock (&l->lock);
  fail_all_lost (first);
  for (; w != NULL; w = next) {
    next = w->next;
    w->fn (w);
  }
}

void
lanes_stop (struct lanes *ls)
{
  unsigned i;

  if (ls == NULL)
    return;
  for (i = 0; i < ls->nr_lanes; i++) {
    struct lane *l = &ls->lanes[i];

    assert (!lane_is_current (l));
    if (!l->running)
      continue;
    pthread_mutex_lock (&l->lock);
    l->stop = true;
    pthread_mutex_unlock (&l->lock);
    lane_wake (l);
  }
  for (i = 0; i < ls->nr_lanes; i++) {
    if (ls->lanes[i].running)
      pthread_join (ls->lanes[i].thread, NULL);
    ls->lanes[i].running = false;
    lane_end_queue (&ls->lanes[i]);
  }
}

void
lanes_free (struct lanes *ls)
{
  unsigned i;

  if (ls == NULL)
    return;
  lanes_stop (ls);
  for (i = 0; i < ls->nr_lanes; i++) {
    struct lane *l = &ls->lanes[i];

    if (l->loop != NULL)
      ev_loop_destroy (l->loop);
    lane_merge_free (l);
    lane_parts_free (l);
    pthread_mutex_destroy (&l->lock);
    free (l->conns);
  }
  pthread_mutex_destroy (&ls->lost_lock);
  free (ls->lanes);
  free (ls->ms);
  free (ls->drop_text);
  free (ls);
}

unsigned
lanes_count (const struct lanes *ls)
{
  return ls->nr_lanes;
}

struct lane *
lanes_get (struct lanes *ls, unsigned i)
{
  assert (i < ls->nr_lanes);
  return &ls->lanes[i];
}

struct lane *
lanes_pick (struct lanes *ls)
{
  static atomic_uint tickets;
  static _Thread_local unsigned ticket;

  if (current_lane != NULL && current_lane->ls == ls)
    return &ls->lanes[current_lane->index];
  if (ticket == 0)
    ticket =
        1 + atomic_fetch_add_explicit (&tickets, 1, memory_order_relaxed) %
                (1u << 30);
  return &ls->lanes[(ticket - 1) % ls->nr_lanes];
}

void
lanes_set_gather_us (struct lanes *ls, unsigned us)
{
  atomic_store_explicit (&ls->gather_us, us, memory_order_relaxed);
}

void
lanes_set_merge_bytes (struct lanes *ls, unsigned bytes)
{
  atomic_store_explicit (&ls->merge_bytes, bytes, memory_order_relaxed);
}
