/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Inside the engine: requests, pieces, runs.
 *
 *   client request (struct io)
 *     = direct reads (struct read_part), straight to the members, and
 *       pieces (struct piece), one per segment it touches.
 *   piece -> claims its stripes -> becomes, alone or with others that wait
 *     for neighbouring stripes, a run (struct run).
 *
 * Who touches what: a run and its pieces belong to whoever starts it (request
 * thread, sync thread, lane or worker) until its first commands are submitted,
 * then to its lane; with workers, the lane hands it to one of them when all
 * commands have completed, until the next are submitted.  The waiter lists are
 * under the bucket lock.
 */
#ifndef URAID_ENGINE_INT_H
#define URAID_ENGINE_INT_H

#include <semaphore.h>

#include "../stripecache/workers.h"
#include "engine.h"
#include "plan.h"

/* What a slot looks like to I/O.  member and data_offset are set before the
 * first request; state and recovered change while requests run, any thread.
 */
struct engine_slot {
  struct member *_Atomic member;
  uint64_t data_offset_bytes;
  _Atomic int state; /* enum slot_state */
  _Atomic uint64_t recovered_bytes;
  const struct badblocks *bad; /* or NULL; set before the first request */
};

#define ENGINE_STREAMS 64

/* The fields of cfg that tune.c changes while requests run. */
#define ENGINE_TUNED(e, field)                                                \
  __atomic_load_n (&(e)->cfg.field, __ATOMIC_RELAXED)

struct engine {
  /* Set once. */
  struct engine_config cfg;
  const struct geometry *geo;
  unsigned n;                      /* slots */
  unsigned seg_stripes, seg_shift; /* stripes a segment; log2 of its bytes */
  struct pages *pages;
  struct stripecache *sc;
  struct engine_slot *slot; /* n entries */
  struct workers *workers;  /* or NULL: lanes do all the work */

  /* Background work: segments below sync_pos are done, and so are those whose
   * number + 1 stands in sync_done[segno % window].  An entry is overwritten
   * only by a segment one window further on, which starts after sync_pos has
   * passed the old one: look at sync_done first, then at sync_pos.
   */
  _Atomic int sync_kind; /* enum engine_sync_kind, or -1: none */
  _Atomic uint64_t sync_pos;
  _Atomic uint64_t sync_done[ENGINE_SYNC_WINDOW];

  /* Where degraded sequential readers are expected next: number of a stripe,
   * by a hash of its segment (read.c).
   */
  _Atomic uint64_t next_stripe[ENGINE_STREAMS];

  _Atomic bool read_only;
  struct engine_stats stats;
};

enum io_op { IO_READ, IO_WRITE, IO_ZERO };

/* A client request, on its thread's stack. */
struct io {
  struct engine *e;
  enum io_op op;
  unsigned flags; /* ENGINE_x */
  uint8_t *buf;   /* never written to unless IO_READ */
  uint64_t offset_bytes;
  _Atomic unsigned pending;
  _Atomic int err; /* first positive errno */
  sem_t done;
};

/* One stretch of one data member inside a segment. */
struct piece_ext {
  unsigned data_index;
  uint32_t off; /* bytes from the segment's start */
  uint32_t len;
  uint8_t *buf; /* client's bytes; NULL = zeroes */
};

enum piece_kind { PIECE_READ, PIECE_WRITE, PIECE_SYNC };

struct piece {
  struct stripe_claim wait; /* first: a waiter is its piece */
  enum piece_kind kind;
  uint64_t segno;
  struct io *io;            /* READ, WRITE */
  struct engine_sync *sync; /* SYNC */
  int bad_slot;             /* a direct read of it failed, or -1 */
  unsigned group;           /* of workers, where its thread runs */
  struct piece *next;       /* in a run */
  unsigned nr_ext;
  struct piece_ext ext[];
};

/* States of a run; transition table at the top of run.c. */
enum run_state {
  RUN_NEW,
  RUN_READING, /* prereads, survivors */
  RUN_WRITING, /* data and parity, rebuilt blocks, repaired blocks */
  RUN_VERIFY,  /* read back what was repaired */
  RUN_RECORD,  /* waits until the superblocks say who is out */
  RUN_DONE,
};

struct run_slot {
  struct member_cmd cmd;
  uint8_t *buf; /* block of claim.nr pages: old content, or what is made */
  uint8_t *img; /* block of claim.nr pages: new content, when buf is needed
                   for the difference */
  const uint8_t *direct; /* new content of the touched stripes where the
                            client's buffer serves */
  bool have;     /* buf holds what is on the member (where it was wanted) */
  bool bad;      /* a live server could not read it: decode, then rewrite */
  bool repaired; /* decoded and written back: read it again */
  bool skipped;  /* its write failed, or it was not there to be written */
};

struct run {
  struct stripe_claim claim; /* first */
  struct engine *e;
  struct lane *lane;
  struct run *next; /* list of runs to start */
  enum piece_kind kind;
  enum run_state state;
  const struct row_map *rm;
  uint64_t member_off; /* bytes, of the claim's first stripe */
  struct piece *pieces, *pieces_tail;
  enum plan_kind plan;
  bool fua, all_zero, may_trim;
  bool retry;           /* a phase failed: plan anew */
  unsigned outstanding; /* commands in flight; owner only */
  unsigned tries;
  int err; /* positive errno for all pieces */
  struct lane_work work;
  struct work_item item;  /* while a worker is to go on with it */
  struct plan_slot *ps;   /* n entries, masks relative to the segment */
  struct run_slot slot[]; /* n entries */
};

/* --- engine.c --- */
extern bool slot_readable (struct engine *e, unsigned slot, uint64_t off_bytes,
                           uint64_t len_bytes);
extern bool slot_writable (struct engine *e, unsigned slot, uint64_t off_bytes,
                           uint64_t len_bytes);
extern bool parity_trusted (struct engine *e, uint64_t off_bytes,
                            uint64_t len_bytes);
extern struct member *slot_member (struct engine *e, unsigned slot);

/* --- io.c --- */
extern void io_put (struct io *io, int err);
extern struct piece *piece_new (enum piece_kind kind, uint64_t segno,
                                unsigned max_ext);
/* Set first, nr from the extents. */
extern void piece_close (struct piece *p);

/* --- read.c --- */
/* Read direct where it can be done; the rest becomes pieces.  P is consumed.
 */
extern void read_piece (struct engine *e, struct piece *p);

/* --- readahead.c --- */
/* P wants a block that must be decoded: make it longer if it reads
 * sequentially.
 */
extern void read_ahead (struct engine *e, struct piece *p);
/* Does the client want something of SLOT? */
extern bool piece_names (const struct run *r, unsigned slot);
/* Keep the decoded blocks of missing members, if more was decoded than the
 * client wanted.
 */
extern void cache_decoded (struct run *r);
/* Answer from pages that an earlier decode has left, if all are there. */
extern bool answer_from_cache (struct run *r);

/* --- run.c --- */
/* Claim and start, or wait.  P is consumed.  Any thread, also a lane's. */
extern void piece_enqueue (struct engine *e, struct piece *p);
extern void run_set_state (struct run *r, enum run_state to);
extern bool run_state_legal (enum run_state from, enum run_state to);
extern const char *run_state_name (enum run_state s);
/* Take over stripes and put a run's slots in order; look who is there. */
extern void run_look_slots (struct run *r);
/* Queue a command; sent by run_send. */
struct cmd_list {
  struct member_cmd *head, *tail;
};
extern void run_cmd (struct run *r, unsigned slot, enum member_op op,
                     void *buf, unsigned lo, unsigned hi,
                     struct cmd_list *list);
/* Go to STATE and send LIST; if it is empty continue at once. */
extern void run_send (struct run *r, enum run_state state,
                      struct cmd_list *list);
/* Members that do not have, or failed to take, what R is about. */
extern unsigned run_out (const struct run *r);
/* The end: pieces answered (or after the record), claim released. */
extern void run_finish (struct run *r, int err);
extern uint8_t *run_buf (struct run *r, unsigned slot); /* NULL: no memory */
extern uint8_t *buf_at (const struct run *r, uint8_t *buf, unsigned stripe);

/* --- run_write.c --- */
extern void write_start (struct run *r);
extern void write_compute (struct run *r); /* after RUN_READING */
extern void write_done (struct run *r);    /* after RUN_WRITING */

/* --- run_decode.c: reads of lost blocks, resync, recovery --- */
extern void decode_start (struct run *r);
extern void decode_compute (struct run *r);
extern void decode_written (struct run *r);
extern void decode_verified (struct run *r);
/* Recompute the unreadable data blocks (and WANT_P, WANT_Q) from what was
 * read; buffers of all slots in place.  0 or positive errno.
 */
extern int decode_blocks (struct run *r, bool want_p, bool want_q);

#endif
