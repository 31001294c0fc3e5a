/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A consistent copy of what read-outs need: who is in which slot, state, job,
 * bitmap, counters.  Plain numbers in bytes and UTC seconds, so that what is
 * made of it needs no lock and can be tested with an invented one.  No I/O.
 */
#ifndef URAID_SNAPSHOT_H
#define URAID_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"

enum snapshot_state {
  SNAPSHOT_IN_SYNC,
  SNAPSHOT_RECOVERING,
  SNAPSHOT_SPARE,
  SNAPSHOT_FAULTY,  /* failed while we served */
  SNAPSHOT_STALE,   /* was away too long; has no slot */
  SNAPSHOT_MISSING, /* an empty slot, or an address where the member was not
                       found */
};

#define SNAPSHOT_NONE UINT64_MAX
#define SNAPSHOT_REASON_BYTES 256

struct snapshot_member {
  enum snapshot_state state;
  uint64_t number; /* the superblock's device number, or SNAPSHOT_NONE */
  uint64_t slot;   /* or SNAPSHOT_NONE */
  /* Of one that is lost: why (may hold any bytes), since when, and the slot
   * that it had or should have.
   */
  char reason[SNAPSHOT_REASON_BYTES]; /* "" = none */
  uint64_t since_utc;
  uint64_t last_slot;  /* or SNAPSHOT_NONE */
  const char *address; /* NULL = not known; the array's, until array_close */
  bool has_uuid;
  uint8_t uuid[16];
  uint64_t recovered_bytes; /* RECOVERING: below it the member is right */
  uint64_t errors, corrected_sectors;
  uint64_t reads, read_bytes, writes, write_bytes;
  uint64_t merged, merged_bytes; /* see member.h */
  uint64_t in_flight, latency_us;
  unsigned connections;
};

/* The stripe workers, as the engine counts them. */
struct snapshot_workers {
  uint64_t group_thread_cnt, groups, running, workers_peak, wakes, threads;
  uint64_t changes; /* of group_thread_cnt, with the one at the start */
};

struct array_snapshot {
  char name[40];
  uint8_t uuid[16];
  int level;
  unsigned raid_devices, minor; /* metadata version 1.MINOR */
  uint32_t layout;
  uint64_t chunk_bytes, array_bytes, member_bytes;
  enum array_state state;
  bool writable;
  bool clean_on_members; /* what the superblocks say, as far as was written */
  uint64_t events, created_utc, updated_utc;
  uint64_t resync_offset_bytes; /* SNAPSHOT_NONE: no resync is owed */

  enum array_job job; /* NONE: idle, and the next three are 0 */
  uint64_t job_pos_bytes, job_speed_bytes_per_s, job_started_utc;

  bool has_bitmap;
  uint64_t bitmap_chunk_bytes, bitmap_pages, bitmap_sleep_ms;
  uint64_t bitmap_dirty_chunks, bitmap_total_chunks;

  struct stripecache_stats cache;
  struct snapshot_workers workers;
  struct engine_stats stats;

  /* One for each slot, in slot order; then spares, stale and faulty members
   * and addresses without their member, in the order of the command line.
   */
  size_t nr_members;
  struct snapshot_member *members;
};

/* Copy.  Any thread between array_start and array_close; takes the array lock
 * and then, one after the other, the bitmap lock and the bucket locks, each
 * only for the time of a copy.  0 or -ENOMEM.
 */
extern int array_snapshot_take (struct array *a, struct array_snapshot **ret);
/* NULL is fine. */
extern void array_snapshot_free (struct array_snapshot *s);

/* Set the counters of engine and members to 0.  Any thread, no lock; what is
 * counted at the same moment may or may not survive.
 */
extern void array_stats_reset (struct array *a);

/* Bytes done between two moments (ms) as a speed; 0 when no time has passed.
 * Pure; exact as long as the result fits.
 */
extern uint64_t snapshot_speed (uint64_t bytes, uint64_t elapsed_ms);

#endif
