/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The engine: a client request becomes runs, a run becomes a plan, a plan
 * becomes phases of member I/O and parity.  Knows slots (is a member there,
 * up to where is it recovered) but no superblocks: what a failure means on
 * disk is the array layer's, reached through struct engine_ops.
 */
#ifndef URAID_ENGINE_H
#define URAID_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../md_layout/badblocks.h"
#include "../md_layout/geometry.h"
#include "../md_layout/parity.h"
#include "../member/lane.h"
#include "../member/member.h"
#include "../stripecache/stripecache.h"
#include "../stripecache/topology.h"

struct engine;

/* State of one slot, as far as I/O is concerned. */
enum slot_state {
  SLOT_MISSING,    /* no member, or out of service: neither read nor written */
  SLOT_IN_SYNC,    /* read and written */
  SLOT_RECOVERING, /* read and written where recovered, else as missing */
};

enum slot_fault {
  FAULT_LOST,        /* connection died or timed out */
  FAULT_WRITE_ERROR, /* a live server refused a write, zero or flush */
  FAULT_REWRITE,     /* could not rewrite or read back after a read error */
};

struct engine_ops {
  /* The member of SLOT must leave service.  On a lane's or a worker's thread;
   * must not block.  The callee calls engine_set_slot (SLOT_MISSING) before it
   * returns, unless the array is already beyond what parity covers.  May be
   * called more than once for one failure.
   */
  void (*slot_fault) (void *user, unsigned slot, struct member *m,
                      enum slot_fault why, int err);
  /* Are all faults so far durably recorded on the other members (or is the
   * array broken, when nothing is recorded any more)?  If not, W is kept and
   * posted to LANE once it is so.  Never blocks.
   */
  bool (*when_recorded) (void *user, struct lane *lane, struct lane_work *w);
  /* A read error of a live member was repaired (SECTORS > 0) or seen
   * (SECTORS = 0).  On a lane's or a worker's thread; must not block.
   */
  void (*read_error) (void *user, unsigned slot, uint64_t sectors);
  /* May parity at this member range be wrong although sync_pos has not
   * reached it?  With a bitmap: was the bit set at the start.  Any thread;
   * must not block.  NULL = yes.
   */
  bool (*region_owes_resync) (void *user, uint64_t member_offset_bytes,
                              uint64_t len_bytes);
};

struct engine_config {
  const struct geometry *geo; /* outlives the engine */
  const struct parity *par;   /* outlives the engine */
  struct lanes *lanes;        /* outlives the engine */
  unsigned stripe_cache_size; /* stripes */
  unsigned nr_hash_locks;     /* power of two */
  int rmw_level;              /* 0 never, 1 by cost, 2 whenever it can */
  bool skip_copy;             /* member writes go out of client buffers */
  unsigned group_thread_cnt;  /* most workers of a NUMA node; 0 = none */
  unsigned max_stripe_batch;  /* most runs that a worker takes at once */
  unsigned preread_bypass_threshold;
  const struct topology *topology; /* outlives the engine */
  bool read_only; /* repairs are not written back (start value) */
  const struct engine_ops *ops;
  void *ops_user;
};

struct engine_stats {
  _Atomic uint64_t write_full, write_rcw, write_rmw, write_reconstruct,
      write_data_only, prereads, direct_reads, recon_reads, cached_reads,
      combined, copied_bytes, runs, waits, corrected_sectors,
      resynced_segments, recovered_segments, parity_rewrites;
};

extern int engine_new (const struct engine_config *cfg, struct engine **ret,
                       struct uraid_error *e);
/* No request and no sync segment may be in flight. */
extern void engine_free (struct engine *e);

/* Put M (may be NULL with SLOT_MISSING) into SLOT.  RECOVERED_BYTES: member
 * offset below which a recovering member is right (rounded down to whole
 * segments here; who writes it to disk must do so too).  Any thread.  The
 * member pointer of a slot never changes once it was non-NULL, except from
 * engine_set_slot before the first request.
 */
extern void engine_set_slot (struct engine *e, unsigned slot, struct member *m,
                             uint64_t data_offset_bytes, enum slot_state state,
                             uint64_t recovered_bytes);
/* Ranges of SLOT's member (absolute sectors) that must not be read.  BB is
 * constant and outlives the engine.  Before the first request.
 */
extern void engine_set_bad_ranges (struct engine *e, unsigned slot,
                                   const struct badblocks *bb);
/* May what could not be read be rewritten?  Any thread. */
extern void engine_set_read_only (struct engine *e, bool read_only);
extern enum slot_state engine_slot_state (struct engine *e, unsigned slot);
extern unsigned engine_slots_missing (struct engine *e);

/* Client requests.  Block until done; any thread but a lane's.  OFFSET and
 * LEN in bytes of the array, any alignment, inside the array, LEN >= 1.
 * Return 0 or -errno (-EIO: more is missing than parity covers).
 *
 * A write returns 0 only when all members in service have it, and when every
 * member that was skipped is recorded as out.  The caller (array layer) has
 * made the superblocks active and the bitmap bits durable before.
 */
#define ENGINE_FUA 1u
#define ENGINE_MAY_TRIM 2u
extern int engine_read (struct engine *e, void *buf, uint64_t len,
                        uint64_t offset);
extern int engine_write (struct engine *e, const void *buf, uint64_t len,
                         uint64_t offset, unsigned flags);
extern int engine_zero (struct engine *e, uint64_t len, uint64_t offset,
                        unsigned flags);
/* Flush all members in service.  A member that cannot is failed. */
extern int engine_flush (struct engine *e);

/* --- background work, for lib/sync --- */

enum engine_sync_kind { ENGINE_RESYNC, ENGINE_RECOVER };

#define ENGINE_SYNC_WINDOW 64 /* most segments in flight at once */

struct engine_sync {
  /* Set by the caller, kept until done() is called. */
  enum engine_sync_kind kind;
  uint64_t segno;
  void (*done) (struct engine_sync *s); /* on a lane's thread */
  void *user;
  /* Result: 0 or a positive errno (EIO: cannot be reconstructed). */
  int err;
  bool rewrote; /* resync: parity differed and was written */
};

extern uint64_t engine_nr_segments (const struct engine *e);
extern uint64_t engine_segment_bytes (const struct engine *e);

/* Start of background work: nothing below FROM_BYTES (member offset) is owed,
 * all above is.  RESYNC: parity there is not trusted.  Before the first
 * request or while no sync segment is in flight.
 */
extern void engine_sync_begin (struct engine *e, enum engine_sync_kind kind,
                               uint64_t from_bytes);
/* Do one segment.  Never blocks.  Segments must be started in ascending order
 * and lie less than ENGINE_SYNC_WINDOW above engine_sync_advance's mark.
 */
extern void engine_sync_segment (struct engine *e, struct engine_sync *s);
/* All below POS_BYTES is done. */
extern void engine_sync_advance (struct engine *e, uint64_t pos_bytes);
/* The work is over; COMPLETE: all of it is done. */
extern void engine_sync_end (struct engine *e, bool complete);

/* --- changes while requests run (tune.c): any thread but a lane's or a
 * worker's, one at a time; values as in struct engine_config, in range ---
 */

/* A new bound in stripes; what is above it is given back by and by. */
extern void engine_set_stripe_cache_size (struct engine *e, unsigned stripes);
extern void engine_set_rmw_level (struct engine *e, int level);
extern void engine_set_skip_copy (struct engine *e, bool on);
/* The same number again does nothing.  0, or -errno with a text: then the old
 * number stays.
 */
extern int engine_set_group_thread_cnt (struct engine *e, unsigned per_group,
                                        struct uraid_error *err);
extern void engine_set_max_stripe_batch (struct engine *e, unsigned runs);
extern void engine_set_preread_bypass_threshold (struct engine *e, unsigned n);
/* The counters of writes by kind and their reads become 0. */
extern void engine_reset_write_stats (struct engine *e);

/* Start what engine_config says of workers.  After the fork, before the first
 * request.  0 or -errno with a text.
 */
extern int engine_start_workers (struct engine *e, struct uraid_error *err);

/* End them; runs go on in the lanes.  Before the lanes are freed. */
extern void engine_stop_workers (struct engine *e);

struct engine_worker_stats {
  unsigned group_thread_cnt, groups, running, peak, threads;
  uint64_t wakes, batches, items, changes; /* see workers.h */
};
extern void engine_worker_stats (struct engine *e,
                                 struct engine_worker_stats *ret);

/* Nobody has asked for anything for a while: shrink the cache to what md holds
 * at least, give free memory back.  Any thread.
 */
#define ENGINE_IDLE_STRIPES 256
extern void engine_idle (struct engine *e);

extern struct engine_stats *engine_get_stats (struct engine *e);
extern void engine_cache_stats (struct engine *e,
                                struct stripecache_stats *ret);

#endif
