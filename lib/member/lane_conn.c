/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * One connection of a lane: send, receive, notice death.  Everything here
 * runs on the lane's thread without locks, but for lane_conn_init and
 * lane_conn_start, which run before the thread exists.
 *
 * What libnbd must not see (each of these was provoked):
 *  - notify_read on an idle handle whose socket has nothing to read: new
 *    commands would be queued for ever.  Hence the look at the socket in
 *    conn_event, and conn_is_wedged after it;
 *  - a direction that was read before the last call: commands may get stuck
 *    half-sent.  Hence lane_conn_settle after every send and event;
 *  - a call on the handle from within a completion callback, which runs with
 *    the handle's lock held.
 */
#include <config.h>

#include "lane_internal.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "connect.h"

/* Fairness between connections; the rest is found by the next turn. */
#define MOST_REPLIES_PER_EVENT 32
#define REPLY_HEADER_BYTES 16

/*----- Completion -----*/

static void
part_completed (struct lane_part *part, int err)
{
  struct lane_conn *c = part->conn;

  part->err = err;
  /* ENOTCONN cannot come over the wire.  A server that answers ESHUTDOWN
   * lives, but will not take requests any more.
   */
  part->lost = err == ENOTCONN || err == ESHUTDOWN;
  if (err == ESHUTDOWN)
    c->going_away = true;
  TAILQ_INSERT_TAIL (&c->lane->completed, part, link);
}

static void
not_in_flight (struct lane_conn *c, struct lane_part *part)
{
  TAILQ_REMOVE (&c->inflight, part, link);
  c->nr_inflight--;
  c->lane->nr_inflight--;
  atomic_fetch_sub_explicit (&c->m->in_flight, 1, memory_order_relaxed);
}

static int
completion (void *user, int *error)
{
  struct lane_part *part = user;
  struct lane_conn *c = part->conn;

  not_in_flight (c, part);
  c->reply_bytes += REPLY_HEADER_BYTES;
  if (part->op == MEMBER_READ)
    c->reply_bytes += part->wire_len;
  part_completed (part, *error);
  return 1;
}

/*----- Death -----*/

static bool
conn_is_final (const struct lane_conn *c)
{
  return nbd_aio_is_dead (c->h) || nbd_aio_is_closed (c->h);
}

static void
fail_all (struct lane_part_list *list)
{
  struct lane_part *part;

  while ((part = TAILQ_FIRST (list)) != NULL) {
    TAILQ_REMOVE (list, part, link);
    part_completed (part, ENOTCONN);
  }
}

static void
set_mid_transfer (struct lane_conn *c, bool now)
{
  if (now && !c->mid_transfer)
    c->lane->nr_mid_transfer++;
  if (!now && c->mid_transfer)
    c->lane->nr_mid_transfer--;
  c->mid_transfer = now;
}

void
lane_conn_lost (struct lane_conn *c, int err, const char *text)
{
  struct nbd_handle *h = c->h;
  char why[512];

  if (h == NULL)
    return;
  /* TEXT may be libnbd's, which the next call overwrites. */
  snprintf (why, sizeof why, "%s", text != NULL ? text : "connection lost");
  c->h = NULL;
  ev_io_stop (c->lane->loop, &c->io);
  set_mid_transfer (c, false);
  c->m->conn[c->number] = NULL;
  member_conn_kill (h);
  nbd_close (h); /* nothing refers to anybody's buffer from here on */
  atomic_fetch_sub_explicit (&c->m->in_flight, c->nr_inflight,
                             memory_order_relaxed);
  c->lane->nr_inflight -= c->nr_inflight;
  c->nr_inflight = 0;
  fail_all (&c->inflight); /* none, unless libnbd failed to */
  fail_all (&c->to_send);
  lanes_member_lost (c->lane->ls, c->slot, err, why);
}

void
lane_conn_expire (struct lane_conn *c)
{
  const struct lane_part *oldest = TAILQ_FIRST (&c->inflight);
  uint64_t timeout_ms = c->m->opt.request_timeout_ms;
  char text[128];

  if (oldest == NULL || timeout_ms == 0 ||
      c->lane->now_ms < oldest->sent_us / 1000 + timeout_ms)
    return;
  snprintf (text, sizeof text,
            "no answer for %llu ms (request-timeout %llu ms)",
            (unsigned long long)(c->lane->now_ms - oldest->sent_us / 1000),
            (unsigned long long)timeout_ms);
  lane_conn_lost (c, ETIMEDOUT, text);
}

/*----- Sending -----*/

static void
touch (struct lane_conn *c)
{
  if (!c->touched) {
    c->touched = true;
    TAILQ_INSERT_TAIL (&c->lane->touched, c, touched_link);
  }
}

void
lane_conn_queue (struct lane_conn *c, struct lane_part *part)
{
  part->wire_len = part->len;
  c->load_bytes += lane_part_load (part);
  if (lane_merge (c, part))
    return;
  TAILQ_INSERT_TAIL (&c->to_send, part, link);
  touch (c);
}

static int64_t
part_send (struct nbd_handle *h, struct lane_part *part)
{
  nbd_completion_callback cb = {.callback = completion, .user_data = part};
  void *buf = part->bounce != NULL ? part->bounce : part->buf;

  switch (part->op) {
  case MEMBER_READ:
    return nbd_aio_pread (h, buf, part->wire_len, part->offset, cb, 0);
  case MEMBER_WRITE:
    return nbd_aio_pwrite (h, buf, part->wire_len, part->offset, cb,
                           part->nbd_flags);
  case MEMBER_ZERO:
    return nbd_aio_zero (h, part->len, part->offset, cb, part->nbd_flags);
  case MEMBER_FLUSH:
    return nbd_aio_flush (h, cb, 0);
  }
  return -1;
}

/* Once libnbd has accepted the part, it may complete at any time, also within
 * the call: it is on its list before and not touched after.  A part that is
 * not accepted gets no callback.
 */
static void
send_one (struct lane_conn *c, struct lane_part *part)
{
  int err;

  part->sent_us = c->lane->now_us;
  TAILQ_INSERT_TAIL (&c->inflight, part, link);
  c->nr_inflight++;
  c->lane->nr_inflight++;
  atomic_fetch_add_explicit (&c->m->in_flight, 1, memory_order_relaxed);
  if (part_send (c->h, part) != -1)
    return;
  err = nbd_get_errno ();
  not_in_flight (c, part);
  if (conn_is_final (c))
    err = ENOTCONN;
  part_completed (part, err > 0 ? err : EINVAL);
}

void
lane_conn_send (struct lane_conn *c)
{
  struct lane_part *part;
  unsigned depth = c->m->opt.queue_depth;

  while (c->h != NULL && (part = TAILQ_FIRST (&c->to_send)) != NULL &&
         (depth == 0 || c->nr_inflight < depth)) {
    if (part->merge_last != NULL)
      lane_merge_prepare (c, part);
    TAILQ_REMOVE (&c->to_send, part, link);
    send_one (c, part);
  }
  if (c->nr_inflight > 0)
    lane_start_scan (c->lane);
}

/*----- Receiving -----*/

void
lane_conn_settle (struct lane_conn *c)
{
  unsigned dir;
  int want;

  if (c->h == NULL)
    return;
  if (conn_is_final (c)) {
    lane_conn_lost (c, ECONNRESET, "the server has closed the connection");
    return;
  }
  if (c->going_away) {
    lane_conn_lost (c, ESHUTDOWN, "the server is shutting down");
    return;
  }
  dir = nbd_aio_get_direction (c->h);
  want = (dir & LIBNBD_AIO_DIRECTION_READ ? EV_READ : 0) |
         (dir & LIBNBD_AIO_DIRECTION_WRITE ? EV_WRITE : 0);
  set_mid_transfer (c, !nbd_aio_is_ready (c->h));
  if (want != c->watched) {
    ev_io_stop (c->lane->loop, &c->io);
    ev_io_modify (&c->io, want);
    ev_io_start (c->lane->loop, &c->io);
    c->watched = want;
  }
}

/* With nothing in flight, the handle must not be told to read unless there
 * is something: the end of the connection, or nonsense.  TLS may have
 * something that the socket does not show.
 */
static bool
is_spurious (const struct lane_conn *c)
{
  char byte;

  return c->nr_inflight == 0 && !c->tls &&
         recv (c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 &&
         (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static bool
conn_is_wedged (const struct lane_conn *c)
{
  return c->nr_inflight == 0 && nbd_aio_is_processing (c->h) &&
         nbd_aio_in_flight (c->h) == 0;
}

/* More replies that are in the socket already, without asking the kernel for
 * each.  AVAILABLE may be less than what is there and never more, because
 * reply_bytes counts errors as if they carried data.
 */
static int
read_more (struct lane_conn *c)
{
  int available = 0, replies;

  if (c->tls || c->nr_inflight == 0 ||
      ioctl (c->fd, FIONREAD, &available) == -1)
    return 0;
  for (replies = 1;
       replies < MOST_REPLIES_PER_EVENT && available > 0 && c->nr_inflight > 0;
       replies++) {
    uint64_t before = c->reply_bytes;

    if ((nbd_aio_get_direction (c->h) & LIBNBD_AIO_DIRECTION_READ) == 0)
      return 0;
    if (nbd_aio_notify_read (c->h) == -1)
      return -1;
    if (c->reply_bytes == before || conn_is_final (c))
      return 0;
    if (c->reply_bytes - before >= (uint64_t)available)
      return 0;
    available -= (int)(c->reply_bytes - before);
  }
  return 0;
}

static void
conn_event (struct ev_loop *loop, ev_io *w, int revents)
{
  struct lane_conn *c = w->data;
  short bits = (short)((revents & EV_READ ? POLLIN : 0) |
                       (revents & EV_WRITE ? POLLOUT : 0));
  uint64_t before = c->reply_bytes;
  char text[512];

  (void)loop;
  if (c->h == NULL || is_spurious (c))
    return;
  touch (c); /* settled at the end of the turn */
  if (member_conn_notify (c->h, bits) == -1 ||
      (c->reply_bytes != before && !conn_is_final (c) &&
       read_more (c) == -1)) {
    snprintf (text, sizeof text, "%s", nbd_get_error ());
    /* An error that leaves the handle alive concerns one call of ours. */
    if (conn_is_final (c))
      lane_conn_lost (c, ECONNRESET, text);
    return;
  }
  if (!conn_is_final (c) && conn_is_wedged (c))
    lane_conn_lost (c, EPROTO,
                    "the server sent something that is not an answer");
}

/*----- Life -----*/

void
lane_conn_init (struct lane_conn *c, struct lane *l, struct member *m,
                unsigned slot, unsigned number)
{
  c->lane = l;
  c->m = m;
  c->slot = slot;
  c->number = number;
  TAILQ_INIT (&c->to_send);
  TAILQ_INIT (&c->inflight);
  atomic_init (&c->drop, false);
  if (atomic_load (&m->state) == MEMBER_CONNECTED && number < m->nr_conns)
    c->h = m->conn[number];
}

void
lane_conn_start (struct lane_conn *c)
{
  if (c->h == NULL)
    return;
  c->tls = nbd_get_tls_negotiated (c->h) != 0;
  c->fd = nbd_aio_get_fd (c->h);
  c->watched = EV_READ;
  ev_io_init (&c->io, conn_event, c->fd, EV_READ);
  c->io.data = c;
  if (c->fd >= 0)
    ev_io_start (c->lane->loop, &c->io);
  /* A death that came before is found by the first turn. */
  touch (c);
}
