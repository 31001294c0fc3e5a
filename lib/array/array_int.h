/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Inside the array layer.  "Array lock" below is a->lock, the first in the
 * lock order; it is never held across I/O.
 */
#ifndef URAID_ARRAY_INT_H
#define URAID_ARRAY_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "../md_layout/badblocks.h"
#include "../md_layout/geometry.h"
#include "../md_layout/parity.h"
#include "../md_layout/sb1.h"
#include "array.h"
#include "assemble.h"
#include "wbitmap.h"

/* What a member is to the running array. */
enum am_state {
  AM_UNUSED, /* unreachable, of another array, stale and not needed */
  AM_IN_SYNC,
  AM_RECOVERING,
  AM_SPARE,  /* a spare of ours, idle: its superblock is kept current */
  AM_STALE,  /* may be rebuilt; not written before it has a slot */
  AM_BLANK,  /* may become a spare; not written before it has a slot */
  AM_FAULTY, /* failed while we served: never written again */
};

#define FAULT_TEXT_BYTES 256
#define FAULT_NO_SLOT UINT32_MAX

struct array_member {
  /* Set once by array_open. */
  struct member *m;
  struct candidate *cand;
  struct badblocks bb;

  /* Array lock; the metadata thread may read them without it, as nobody else
   * changes them once the array is writable.
   */
  struct sb1 sb;
  /* Changed under the array lock.  The metadata thread looks at it without,
   * when it sends: who fails just then is written to or not.
   */
  _Atomic enum am_state state;
  /* Array lock. */
  unsigned slot; /* IN_SYNC, RECOVERING, and FAULTY (where it was) */
  uint64_t recovered_sectors; /* RECOVERING: what the superblock may say */
  uint32_t corrected_sectors;
  bool unflushed; /* IN_SYNC by recovery, but not flushed since: the
                     superblock goes on saying "recovering" */
  bool flushing;  /* metadata thread: IN_SYNC when the flush began */
  /* Why it is not in service; an empty text: it is, or never was to be.  In
   * IN_SYNC and RECOVERING: it failed when no more could be lost, and the
   * superblocks say nothing of it.
   */
  char fault_text[FAULT_TEXT_BYTES];
  uint64_t fault_utc;  /* since when; the start, if it was so before */
  uint32_t fault_slot; /* its slot until then, or FAULT_NO_SLOT */
};

struct array {
  /* Set once by array_open. */
  struct array_options opt;
  struct member **members; /* nr, connected or not */
  struct candidate *cand;  /* nr */
  struct array_member *am; /* nr */
  size_t nr;
  struct assembly as;
  struct geometry geo;
  struct parity *par;
  struct lanes *lanes;
  struct engine *engine;
  struct wbitmap *bitmap; /* or NULL */
  uint64_t bitmap_sleep_ms;
  uint32_t min_block;
  char name[40];

  pthread_t meta_thread;
  bool meta_running;

  /* Writes under way; with the state it forms the clean/dirty handshake, see
   * meta.c.
   */
  _Atomic uint64_t writers;
  _Atomic uint64_t last_write_ms;
  _Atomic int state; /* changed under the array lock, read anywhere */
  /* Faults seen and faults durably recorded on the others; changed under the
   * array lock, read anywhere.
   */
  _Atomic uint64_t fault_seq, recorded_seq;

  pthread_mutex_t lock;
  pthread_cond_t meta_cond;  /* work for the metadata thread */
  pthread_cond_t state_cond; /* state, recorded_seq, update_done changed */
  pthread_cond_t job_cond;   /* background work became owed, or stop */
  /* Array lock: */
  bool rw;                             /* array_go_rw succeeded */
  unsigned want_active;                /* writers waiting for ACTIVE */
  uint64_t update_wanted, update_done; /* tickets */
  _Atomic bool stop_wanted;            /* read anywhere */
  bool quit;
  uint64_t events;                /* the newest */
  bool events_spent;              /* a superblock may have it */
  uint64_t resync_offset_sectors; /* what "clean" would write now: MAX, or the
                                     checkpoint while a resync is owed */
  bool resync_owed;
  uint64_t resync_from_bytes;
  uint64_t job_pos_bytes; /* where the job at hand is */
  uint64_t last_checkpoint_ms;
  bool job_running, job_stuck, job_progressed;
  enum array_job job;
  uint64_t job_fault_seq;
  /* For read-outs: where and when the job at hand began, and whether the last
   * superblock update was cut short for good.
   */
  uint64_t job_start_bytes, job_start_ms, job_started_utc;
  bool was_broken;
  struct recorded_waiter {
    struct lane *lane;
    struct lane_work *work;
  } * waiters;
  size_t nr_waiters, cap_waiters;
  uint16_t roles[SB1_MAX_DEV]; /* the table that every superblock gets */
  uint32_t max_dev;
};

extern uint64_t now_ms (void);

/* --- state.c --- */
/* Array lock held.  Asserts that the step is legal; wakes state_cond. */
extern void array_set_state (struct array *a, enum array_state to);

/* --- load.c --- */
/* Read superblocks and what else lies there into a->cand[]. */
extern int load_candidates (struct array *a, struct uraid_error *e);
/* Bad-block logs and bitmap of the members that were accepted. */
extern int load_extras (struct array *a, struct uraid_error *e);

/* --- slots.c --- */
/* After assembly: am[], engine slots. */
extern void slots_init (struct array *a);
/* Give stale members and spares the empty slots.  Array lock held.  Returns
 * how many; *RET_NEW_BITMAP: some of them have no bitmap yet.
 */
extern unsigned slots_assign (struct array *a);
/* engine_ops and the lanes' on_lost. */
extern const struct engine_ops slots_engine_ops;
extern void slots_on_lost (void *user, struct member *m);
/* Mark AM failed, WHY and with which errno value for the read-outs.  Array
 * lock held.  Wakes who must know.
 */
extern void slots_fail_locked (struct array *a, struct array_member *am,
                               enum slot_fault why, int err);
extern unsigned slots_missing_locked (const struct array *a);

/* --- fault.c: why a member is not in service --- */
/* All those that did not get into service.  After assembly, when states and
 * geometry are set, before any thread.
 */
extern void fault_at_start (struct array *a);
/* AM is about to be marked failed; ERR is a positive errno value.  Array lock
 * held.
 */
extern void fault_note (struct array_member *am, enum slot_fault why, int err);
/* AM is in service again.  Array lock held. */
extern void fault_clear (struct array_member *am);

/* --- meta.c --- */
extern void *meta_main (void *array);
/* Ask for a superblock update and wait for it.  Array lock held (released
 * while waiting).
 */
extern void meta_update_locked (struct array *a);
/* Around every write request; OFFSET, LEN: member range.  0 or -errno. */
extern int meta_write_begin (struct array *a, uint64_t member_offset_bytes,
                             uint64_t member_len_bytes);
extern void meta_write_end (struct array *a, uint64_t member_offset_bytes,
                            uint64_t member_len_bytes);

/* --- meta_io.c: the metadata thread's I/O --- */
struct meta_batch;
/* Room for one command to each member. */
extern struct meta_batch *meta_batch_new (struct array *a);
extern void meta_batch_free (struct meta_batch *b);
extern void meta_batch_add (struct meta_batch *b, struct array_member *am,
                            enum member_op op, void *buf, uint64_t len_bytes,
                            uint64_t offset_bytes);
/* Send all, wait for all, forget them.  Members whose command failed are
 * marked faulty (takes the array lock).  Returns how many failed.
 */
extern unsigned meta_batch_run (struct meta_batch *b);

#endif
