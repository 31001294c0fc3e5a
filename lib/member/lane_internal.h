/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What lane.c (threads, loop, queue), lane_cmd.c (commands and their parts)
 * and lane_conn.c (one connection) share.  Nobody else includes this.
 *
 * Way of a command: lane_submit -> queue (under the lane's lock) -> pending
 * -> split into parts -> to_send of a connection, perhaps merged with an
 * adjacent part -> libnbd, inflight -> completion callback -> completed ->
 * done().  All but the first step on the lane's thread.  One turn of the lane,
 * just before it would wait for events, runs all steps for all that is there,
 * so that what results from a set of replies goes out together.
 */
#ifndef URAID_LANE_INTERNAL_H
#define URAID_LANE_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>

#include <ev.h>

#include "lane.h"

/* A member_cmd is sent as one or more of these. */
struct lane_part {
  TAILQ_ENTRY (lane_part) link; /* of whichever list it is on */
  struct member_cmd *cmd;
  struct lane_conn *conn;
  enum member_op op;
  void *buf;
  uint64_t len, offset;
  uint32_t nbd_flags;
  uint64_t sent_us;
  int err;
  bool lost;
  bool alone; /* not to be merged (again) */
  /* Of the first of several adjacent parts that go as one request: */
  struct lane_part *merge_next; /* by ascending offset; NULL: the last */
  struct lane_part *merge_last; /* NULL: nothing merged */
  uint64_t wire_len;            /* bytes of the request: of all of them */
  uint8_t *bounce;              /* what is sent or received, while in flight */
};
TAILQ_HEAD (lane_part_list, lane_part);

/* A connection of one member that belongs to one lane.  Lane only, but for
 * drop.
 */
struct lane_conn {
  /* Set once. */
  struct lane *lane;
  struct member *m;
  unsigned slot;   /* index among the lanes' members */
  unsigned number; /* index among the member's connections */

  struct nbd_handle *h; /* NULL: lost or never there */
  int fd;
  bool tls;
  ev_io io;
  int watched;          /* the EV_ bits that io waits for */
  bool mid_transfer;    /* a request or reply is half through */
  bool going_away;      /* the server has answered ESHUTDOWN */
  bool touched;         /* on the lane's touched list */
  uint64_t reply_bytes; /* total length of the replies so far (at least) */
  unsigned nr_inflight; /* requests that libnbd has */
  uint64_t load_bytes;  /* of all parts queued and in flight, each
                           counted as at least LANE_LOAD_PART_BYTES */
  struct lane_part_list to_send;  /* accepted in this turn, or waiting for
                                     nr_inflight < queue_depth */
  struct lane_part_list inflight; /* libnbd has it; oldest first */
  TAILQ_ENTRY (lane_conn) touched_link;

  atomic_bool drop; /* any thread: close it in the next turn */
};
TAILQ_HEAD (lane_conn_list, lane_conn);

/* A short request costs a server about as much as this many bytes; a
 * connection with more load than that of 16 short ones (nbdkit's default
 * number of threads a connection) leaves work to the member's next one.
 */
#define LANE_LOAD_PART_BYTES (64u << 10)
#define LANE_LOAD_FULL_BYTES (16u * LANE_LOAD_PART_BYTES)

static inline uint64_t
lane_part_load (const struct lane_part *part)
{
  return part->len > LANE_LOAD_PART_BYTES ? part->len : LANE_LOAD_PART_BYTES;
}

struct lane {
  /* Set once (by lanes_new and lanes_start). */
  struct lanes *ls;
  unsigned index;
  pthread_t thread;
  bool running; /* thread is to be joined */
  struct ev_loop *loop;

  /* Under lock. */
  pthread_mutex_t lock;
  struct member_cmd *queue_first, **queue_end;
  struct lane_work *work_first, **work_end;
  bool stop;  /* end when nothing is in flight */
  bool ended; /* nobody will look at the queue again */

  atomic_bool drop_scan; /* some conn has drop set */

  /* The lane's thread only. */
  ev_async wake;
  ev_prepare prepare;
  ev_timer scan;
  struct lane_conn *conns; /* nr_members * conns_per_member */
  unsigned nr_inflight;
  unsigned nr_mid_transfer;
  unsigned turn_replies; /* completions in the present turn */
  struct lane_conn_list touched;
  struct lane_part_list completed;
  struct lane_part_list free_parts;
  struct part_slab *slabs;
  struct member_cmd *pending_first, **pending_end;
  uint64_t now_us;        /* of the present turn */
  uint64_t now_ms;        /* the same */
  struct bounce *bounces; /* free ones; lane_merge.c */
  unsigned nr_bounces;
  uint64_t last_scan_ms; /* when the scan timer last ran or was started */
  uint64_t stop_ms;      /* when to stop waiting, 0: not stopping */
};

struct lanes {
  /* Set once by lanes_new. */
  struct member **ms;
  size_t nr_members;
  struct lane *lanes;
  unsigned nr_wanted; /* lanes in the end */
  unsigned nr_lanes;  /* lanes that exist: the same once lanes_new is over */
  unsigned conns_per_member; /* of each lane */
  void (*on_lost) (void *user, struct member *m);
  void *user;
  uint64_t scan_ms;      /* interval of looking for time-outs */
  uint64_t stop_wait_ms; /* how long lanes_stop waits */

  atomic_uint gather_us;
  atomic_uint merge_bytes;

  /* Orders the change of a member from CONNECTED to LOST, with its error
   * text, and protects drop_text (one per member, "" = none).  Innermost.
   */
  pthread_mutex_t lost_lock;
  char (*drop_text)[256];
};

/*----- lane.c -----*/

/* Declare the member LOST for the reason given, unless it already is; tell
 * the other lanes and the owner.  On a lane's thread.
 */
extern void lanes_member_lost (struct lanes *ls, unsigned slot, int err,
                               const char *text);
/* See that the time-out scan runs. */
extern void lane_start_scan (struct lane *l);

/*----- lane_cmd.c -----*/

/* Send the first parts of a command that has arrived. */
extern void lane_cmd_start (struct lane *l, struct member_cmd *cmd);
/* A request has completed (or could not be sent): account, go on, done(). */
extern void lane_part_finish (struct lane *l, struct lane_part *part);
/* The two halves of that: the request for the statistics, and the part. */
extern void lane_account (const struct lane *l, const struct lane_part *part);
extern void lane_part_end (struct lane *l, struct lane_part *part);
extern void lane_parts_free (struct lane *l);
/* Complete a command that no lane will run, in the caller's thread. */
extern void lane_cmd_fail_lost (struct member_cmd *cmd);

/*----- lane_merge.c -----*/

/* Make PART go together with what stands last in C's to_send.  False: they do
 * not fit together, queue it.
 */
extern bool lane_merge (struct lane_conn *c, struct lane_part *part);
/* Before sending: get the buffer, fill it (writes).  False: no memory; then
 * the parts are separate again, those behind PART queued right behind it.
 */
extern bool lane_merge_prepare (struct lane_conn *c, struct lane_part *part);
/* A merged part has completed: finish each (a server's error: each is sent
 * again, alone, as only one of them may be meant).
 */
extern void lane_merge_finish (struct lane *l, struct lane_part *part);
extern void lane_merge_free (struct lane *l);

/*----- lane_conn.c -----*/

extern void lane_conn_init (struct lane_conn *c, struct lane *l,
                            struct member *m, unsigned slot, unsigned number);
/* Begin to watch the socket.  The loop exists, the thread need not. */
extern void lane_conn_start (struct lane_conn *c);
/* Take the part for sending at the end of the turn. */
extern void lane_conn_queue (struct lane_conn *c, struct lane_part *part);
/* Send what was queued. */
extern void lane_conn_send (struct lane_conn *c);
/* Bring the watcher into line with libnbd's state; notice a death. */
extern void lane_conn_settle (struct lane_conn *c);
/* Close; fail all that is in flight or queued; declare the member lost. */
extern void lane_conn_lost (struct lane_conn *c, int err, const char *text);
/* Lose the connection if its oldest request is too old. */
extern void lane_conn_expire (struct lane_conn *c);

#endif
