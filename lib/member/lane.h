/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Lanes: event-loop threads that own the members' connections.  With N lanes,
 * lane i owns connections i, i + N, i + 2N ... of each member; there are never
 * more lanes than any member has connections (lanes_new sees to it).
 *
 * Thread rule 1: only the lane that owns a handle calls libnbd on it.
 * Thread rule 2: a libnbd completion callback records its result and nothing
 * else; the lane runs done() after nbd_aio_notify_* has returned.
 */
#ifndef URAID_LANE_H
#define URAID_LANE_H

#include "member.h"

enum member_op { MEMBER_READ, MEMBER_WRITE, MEMBER_ZERO, MEMBER_FLUSH };

#define MEMBER_CMD_FUA                                                        \
  1u                           /* WRITE, ZERO: durable before done; a member  \
                                  without FUA gets a flush behind it */
#define MEMBER_CMD_MAY_TRIM 2u /* ZERO may punch a hole */

struct lane;
struct lanes;

/* One command to one member.  Owned by the submitter, who keeps it and BUF
 * untouched until done() is called; done() may free or re-use it.
 */
struct member_cmd {
  /* Set by the submitter. */
  struct member *member;
  enum member_op op;
  unsigned flags;
  void *buf;       /* READ, WRITE */
  uint64_t len;    /* bytes, multiple of min_block; 0 for FLUSH.  Split
                      at max_block (ZERO: at 32 MiB) by the lane */
  uint64_t offset; /* absolute on the member, multiple of min_block */
  /* On the lane's thread, no locks held.  Exactly once per submission.  (Of
   * a command submitted after lanes_stop: within lane_submit, lost.)
   */
  void (*done) (struct member_cmd *cmd);
  void *user;
  struct member_cmd *next; /* list in lane_submit; the lane's afterwards */

  /* Result, valid in done(). */
  int err;   /* 0 or a positive errno */
  bool lost; /* err because the connection died or timed out, and
                not because a live server answered with an error;
                whether a write took effect is then unknown */

  /* The lane's own. */
  uint64_t sent_bytes; /* handed to the connection so far */
  unsigned parts;      /* requests to the server not answered yet */
  bool need_flush;
};

/* A function to run once on a lane's thread. */
struct lane_work {
  void (*fn) (struct lane_work *w);
  struct lane_work *next;
};

/* Make NR_WANTED lanes over the connected MS (members in any other state get
 * their commands failed with ENOTCONN, lost).  Fewer when a member has fewer
 * connections than that.  No thread runs yet: call lanes_start after the fork.
 * ON_LOST is called on a lane's thread, once per member, when its state
 * changes from CONNECTED to LOST (also for a member with nothing in flight).
 */
extern int lanes_new (struct member **ms, size_t nr_members,
                      unsigned nr_wanted,
                      void (*on_lost) (void *user, struct member *m),
                      void *user, struct lanes **ret, struct uraid_error *e);
extern int lanes_start (struct lanes *ls, struct uraid_error *e);
/* Wait until nothing is in flight (bounded by the request time-outs), end the
 * threads.  The members' connections are the caller's again.  Idempotent;
 * NULL is fine.
 */
extern void lanes_stop (struct lanes *ls);
extern void lanes_free (struct lanes *ls);

extern unsigned lanes_count (const struct lanes *ls);
extern struct lane *lanes_get (struct lanes *ls, unsigned i);
/* A good lane for a request of the calling thread (round robin by thread). */
extern struct lane *lanes_pick (struct lanes *ls);

/* Queue the list FIRST (linked by next).  Any thread; from the lane's own
 * thread nothing is woken, the commands go out in the present turn.  Never
 * blocks, never fails: a command that cannot be sent completes with err.
 */
extern void lane_submit (struct lane *l, struct member_cmd *first);

/* Between lane_plug and lane_unplug, what this thread submits to L is kept
 * back and goes out together, so that the lane is woken once and sees adjacent
 * commands side by side.  PLUG is the caller's, on its stack; no nesting; the
 * thread must not wait for what it submitted before it has unplugged.
 */
struct lane_plug {
  struct lane *lane;
  struct member_cmd *first, **end;
  unsigned nr;
};
extern void lane_plug (struct lane *l, struct lane_plug *plug);
extern void lane_unplug (struct lane_plug *plug);

/* Run W->fn on the lane's thread.  Any thread. */
extern void lane_post (struct lane *l, struct lane_work *w);

extern bool lane_is_current (const struct lane *l);

/* Adaptive gathering: the longest wait in microseconds, 0 = off. */
extern void lanes_set_gather_us (struct lanes *ls, unsigned us);

/* Adjacent commands to one member, each at most BYTES long, that are to be
 * sent in the same turn become one request through a buffer (a copy costs less
 * than a request up to about 64 KiB).  0 = off.
 */
extern void lanes_set_merge_bytes (struct lanes *ls, unsigned bytes);

/* Drop a member's connections on all lanes (as if they had died): state LOST
 * with TEXT.  Any thread; asynchronous.
 */
extern void lanes_drop_member (struct lanes *ls, struct member *m,
                               const char *text);

#endif
