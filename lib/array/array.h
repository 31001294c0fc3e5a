/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The array: assembly, superblocks and bitmap while it runs, clean and dirty,
 * who is in and who is out.  The door for the plugin and for lib/sync.
 *
 * Life: array_open (connects, reads, decides; writes nothing) -> fork ->
 * array_start (threads) -> requests -> array_stop -> array_close.
 */
#ifndef URAID_ARRAY_H
#define URAID_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine/engine.h"
#include "../md_layout/uraid_error.h"
#include "../member/member.h"

struct array;

struct array_options {
  const char *const *members; /* addresses, or "missing" */
  size_t nr_members;
  const char *const *spares;
  size_t nr_spares;
  struct member_options member;
  uint64_t wait_members_ms;
  bool has_uuid;
  uint8_t uuid[16];
  const char *name;      /* must equal the array's name, or NULL */
  int level;             /* checks only; 0 = none given */
  unsigned raid_devices; /* checks only; 0 = none given */
  uint64_t chunk_bytes;  /* checks only; 0 = none given */
  const char *layout;    /* checks only; NULL = none given */
  bool start_degraded, start_dirty_degraded;
  bool read_only;             /* never write (start-ro) */
  bool maybe_read_only;       /* the server may have been told -r: decide at
                                 array_go_rw; until then nothing is written
                                 and a dirty degraded array may be looked at */
  unsigned stripe_cache_size; /* stripes */
  unsigned nr_hash_locks;     /* power of two */
  unsigned nr_lanes;
  int rmw_level;
  bool skip_copy;
  unsigned group_thread_cnt; /* as in struct engine_config */
  unsigned max_stripe_batch;
  unsigned preread_bypass_threshold;
  const struct topology *topology; /* outlives the array */
  uint64_t safe_mode_delay_ms;     /* 0 = never go clean while serving */
  uint64_t bitmap_time_base_ms;    /* 0 = the bitmap's own daemon_sleep */
};

/* Connect to all members, read superblocks and bitmap, decide.  One thread,
 * before the fork.  Nothing is written.  REMARKS (may be NULL) gets one line
 * a thing worth saying.  0 or -errno with a text.
 */
extern int array_open (const struct array_options *opt, struct array **ret,
                       char *remarks, size_t remarks_size,
                       struct uraid_error *e);

/* Start lanes and the metadata thread, after the fork.  If the options allow
 * it the array is made writable at once (array_go_rw).
 */
extern int array_start (struct array *a, struct uraid_error *e);

/* First use for writing: from now on members may be written.  Gives spares
 * and stale members their slots.  Idempotent, any thread.  0, or -EROFS /
 * -EUCLEAN ... with a text: then the array stays read-only.
 */
extern int array_go_rw (struct array *a, struct uraid_error *e);

/* Refuse further writes, finish background work with a checkpoint, make the
 * array clean on its members (if it was written).  Reads go on.  Idempotent,
 * any thread but a lane's; bounded by TIMEOUT_MS as far as members answer.
 */
extern void array_stop (struct array *a, uint64_t timeout_ms);
/* After array_stop: end threads, close members, free. */
extern void array_close (struct array *a);

/* Client requests; block; any thread but a lane's.  0 or -errno (-EIO,
 * -EROFS, -ENOMEM, -ESHUTDOWN).
 */
extern int array_read (struct array *a, void *buf, uint64_t len,
                       uint64_t offset);
extern int array_write (struct array *a, const void *buf, uint64_t len,
                        uint64_t offset, bool fua);
extern int array_zero (struct array *a, uint64_t len, uint64_t offset,
                       bool fua, bool may_trim);
/* Whole rows inside the range are zeroed with may-trim; the rest is ignored.
 */
extern int array_trim (struct array *a, uint64_t len, uint64_t offset,
                       bool fua);
extern int array_flush (struct array *a);

extern uint64_t array_size_bytes (const struct array *a);
extern bool array_writable (struct array *a); /* could be written */
/* Have all members the write-zeroes command (then a trim need not write)? */
extern bool array_can_zero (const struct array *a);
/* Smallest block the members want (512 or more), the chunk, ... */
extern uint32_t array_min_block (const struct array *a);
extern uint64_t array_chunk_bytes (const struct array *a);
extern unsigned array_nr_slots (const struct array *a); /* raid disks */
/* "RAID-6, 6 members (1 missing), chunk 64K, left-symmetric, ..." */
extern void array_describe (struct array *a, char *buf, size_t size);
extern const char *array_name (const struct array *a);
extern struct engine *array_engine (struct array *a);

/* --- states; table at the top of state.c --- */
enum array_state {
  ARRAY_READ_AUTO,  /* nothing written so far */
  ARRAY_CLEAN,      /* superblocks say clean (or resync position) */
  ARRAY_ACTIVATING, /* they are being made to say dirty */
  ARRAY_ACTIVE,     /* they say dirty; writes go */
  ARRAY_CLEANING,   /* flushing and writing clean */
  ARRAY_BROKEN,     /* more lost than parity covers; no superblock writes */
  ARRAY_STOPPED,
};
extern bool array_state_legal (enum array_state from, enum array_state to);
extern const char *array_state_name (enum array_state s);
extern enum array_state array_get_state (struct array *a);

/* --- for lib/sync --- */

enum array_job { ARRAY_JOB_NONE, ARRAY_JOB_RESYNC, ARRAY_JOB_RECOVER };

/* Wait until background work is owed or the array stops (then NONE).
 * *RET_FROM_BYTES: member offset to start at.
 */
extern enum array_job array_job_wait (struct array *a,
                                      uint64_t *ret_from_bytes);
/* Must the job at hand end (stop asked for, array broken)? */
extern bool array_job_stopping (struct array *a);
/* With a bitmap: does [OFF, OFF+LEN) of the members owe a resync? */
extern bool array_job_owed (struct array *a, uint64_t offset_bytes,
                            uint64_t len_bytes);
/* All below POS_BYTES is done: remember, and now and then write it to the
 * superblocks (after a flush).
 */
extern void array_job_progress (struct array *a, uint64_t pos_bytes);
/* The job ended; COMPLETE: all of it. */
extern void array_job_end (struct array *a, enum array_job job, bool complete);

#endif
