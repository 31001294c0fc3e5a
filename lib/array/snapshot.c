/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The copy for read-outs (see the header).  Memory is got before the array
 * lock is taken and everything slow is done after it was dropped: a writer
 * never waits longer than for copying a few hundred bytes a member.
 */
#include <config.h>

#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array_int.h"

static uint64_t
to_bytes (uint64_t sectors)
{
  return sectors > UINT64_MAX / 512 ? UINT64_MAX : sectors * 512;
}

uint64_t
snapshot_speed (uint64_t bytes, uint64_t elapsed_ms)
{
  if (elapsed_ms == 0)
    return 0;
  return bytes / elapsed_ms * 1000 + bytes % elapsed_ms * 1000 / elapsed_ms;
}

/* --- members; array lock held --- */

static bool
has_slot (const struct array_member *am)
{
  return am->state == AM_IN_SYNC || am->state == AM_RECOVERING;
}

/* Who failed when no more could be lost keeps its slot, as the superblocks do
 * not say otherwise; but it serves no more than the others.
 */
static bool
serves (const struct array_member *am)
{
  return has_slot (am) && am->fault_text[0] == '\0';
}

static enum snapshot_state
state_of (const struct array_member *am)
{
  if (has_slot (am) && !serves (am))
    return SNAPSHOT_FAULTY;
  switch (am->state) {
  case AM_IN_SYNC:
    return SNAPSHOT_IN_SYNC;
  case AM_RECOVERING:
    return SNAPSHOT_RECOVERING;
  case AM_SPARE:
  case AM_BLANK:
    return SNAPSHOT_SPARE;
  case AM_STALE:
    return SNAPSHOT_STALE;
  case AM_FAULTY:
    return SNAPSHOT_FAULTY;
  case AM_UNUSED:
    break;
  }
  return SNAPSHOT_MISSING;
}

static void
copy_counters (const struct member *m, struct snapshot_member *ret)
{
  ret->errors = atomic_load (&m->errors);
  ret->reads = atomic_load (&m->reads);
  ret->read_bytes = atomic_load (&m->read_bytes);
  ret->writes = atomic_load (&m->writes);
  ret->write_bytes = atomic_load (&m->write_bytes);
  ret->merged = atomic_load (&m->merged);
  ret->merged_bytes = atomic_load (&m->merged_bytes);
  ret->in_flight = atomic_load (&m->in_flight);
  ret->latency_us = atomic_load (&m->latency_us);
  if (atomic_load (&m->state) == MEMBER_CONNECTED)
    ret->connections = m->nr_conns;
}

static void
copy_fault (const struct array_member *am, struct snapshot_member *ret)
{
  _Static_assert(sizeof ret->reason == sizeof am->fault_text,
                 "a reason has one length");
  if (am->fault_text[0] == '\0')
    return;
  memcpy (ret->reason, am->fault_text, sizeof ret->reason);
  ret->since_utc = am->fault_utc;
  if (am->fault_slot != FAULT_NO_SLOT)
    ret->last_slot = am->fault_slot;
}

static void
copy_member (const struct array *a, const struct array_member *am,
             struct snapshot_member *ret)
{
  *ret = (struct snapshot_member){
      .state = state_of (am),
      .number = SNAPSHOT_NONE,
      .slot = SNAPSHOT_NONE,
      .last_slot = SNAPSHOT_NONE,
      .address = am->cand->address,
  };
  copy_fault (am, ret);
  if (am->m != NULL)
    copy_counters (am->m, ret);
  if (am->state == AM_UNUSED || am->state == AM_BLANK)
    return;
  ret->number = am->sb.dev_number;
  ret->has_uuid = true;
  memcpy (ret->uuid, am->sb.device_uuid, sizeof ret->uuid);
  ret->corrected_sectors =
      (uint64_t)am->sb.cnt_corrected_read + am->corrected_sectors;
  if (!serves (am))
    return;
  ret->slot = am->slot;
  if (am->state != AM_RECOVERING)
    return;
  /* The superblock promises less than what is done. */
  ret->recovered_bytes = to_bytes (am->recovered_sectors);
  if (a->job_running && a->job == ARRAY_JOB_RECOVER &&
      a->job_pos_bytes > ret->recovered_bytes)
    ret->recovered_bytes = a->job_pos_bytes;
}

/* Is it worth a line although it has no slot?  Not the word "missing", nor
 * what belongs to another array while nobody is missing in this one.
 */
static bool
shown_without_slot (const struct array_member *am)
{
  return am->state != AM_UNUSED || am->fault_text[0] != '\0';
}

static void
copy_members (const struct array *a, struct array_snapshot *s)
{
  for (unsigned slot = 0; slot < a->geo.raid_disks; slot++)
    s->members[slot] = (struct snapshot_member){.state = SNAPSHOT_MISSING,
                                                .number = SNAPSHOT_NONE,
                                                .slot = slot,
                                                .last_slot = SNAPSHOT_NONE};
  s->nr_members = a->geo.raid_disks;
  for (size_t i = 0; i < a->nr; i++) {
    const struct array_member *am = &a->am[i];

    if (serves (am))
      copy_member (a, am, &s->members[am->slot]);
    else if (shown_without_slot (am))
      copy_member (a, am, &s->members[s->nr_members++]);
  }
}

/* --- the array; array lock held --- */

static void
copy_job (const struct array *a, struct array_snapshot *s)
{
  uint64_t done;

  s->resync_offset_bytes = SNAPSHOT_NONE;
  if (a->resync_owed)
    s->resync_offset_bytes = a->job_running && a->job == ARRAY_JOB_RESYNC
                                 ? a->job_pos_bytes
                                 : a->resync_from_bytes;
  if (!a->job_running)
    return;
  s->job = a->job;
  s->job_pos_bytes = a->job_pos_bytes;
  s->job_started_utc = a->job_started_utc;
  done = a->job_pos_bytes > a->job_start_bytes
             ? a->job_pos_bytes - a->job_start_bytes
             : 0;
  s->job_speed_bytes_per_s =
      snapshot_speed (done, now_ms () - a->job_start_ms);
}

static void
copy_superblocks (const struct array *a, struct array_snapshot *s)
{
  const struct sb1 *sb = &a->as.freshest->sb;

  memcpy (s->uuid, sb->set_uuid, sizeof s->uuid);
  s->minor = sb->minor;
  s->created_utc = sb1_time_seconds (sb->ctime);
  s->events = a->events;
  s->clean_on_members = !a->was_broken;
  for (size_t i = 0; i < a->nr; i++) {
    const struct array_member *am = &a->am[i];
    uint64_t utime;

    if (am->state != AM_IN_SYNC && am->state != AM_RECOVERING)
      continue;
    utime = sb1_time_seconds (am->sb.utime);
    if (utime > s->updated_utc)
      s->updated_utc = utime;
    if (am->sb.resync_offset_sectors != SB1_MAX)
      s->clean_on_members = false;
  }
}

static void
copy_array (struct array *a, struct array_snapshot *s)
{
  const struct geometry *g = &a->geo;

  memcpy (s->name, a->name, sizeof s->name);
  s->level = g->level;
  s->raid_devices = g->raid_disks;
  s->layout = g->layout;
  s->chunk_bytes = g->chunk_bytes;
  s->array_bytes = g->array_bytes;
  s->member_bytes = g->member_bytes;
  s->state = array_get_state (a);
  s->writable = a->rw && !a->stop_wanted && s->state != ARRAY_BROKEN &&
                s->state != ARRAY_STOPPED;
  copy_superblocks (a, s);
  copy_job (a, s);
  copy_members (a, s);
}

/* --- without the array lock --- */

/* The bits are counted in a copy: a large bitmap takes too long for the lock
 * that writers need.
 */
static int
copy_bitmap (struct array *a, struct array_snapshot *s)
{
  uint64_t area = wbitmap_area_bytes (a->bitmap);
  uint8_t *image = malloc (area);
  struct bitmap_sb sb;

  if (image == NULL)
    return -ENOMEM;
  wbitmap_image (a->bitmap, image);
  bitmap_sb_parse (image, NULL, &sb, NULL); /* it parsed when it was loaded */
  s->has_bitmap = true;
  s->bitmap_chunk_bytes = sb.chunk_bytes;
  s->bitmap_pages = (area + 4095) / 4096;
  s->bitmap_sleep_ms = a->bitmap_sleep_ms;
  s->bitmap_total_chunks =
      bitmap_bits (a->as.freshest->sb.size_sectors, sb.chunk_bytes);
  for (uint64_t c = 0; c < s->bitmap_total_chunks; c++)
    s->bitmap_dirty_chunks += bitmap_test (image + BITMAP_SB_BYTES, c);
  free (image);
  return 0;
}

/* struct engine_stats is nothing but counters. */
#define NR_COUNTERS (sizeof (struct engine_stats) / sizeof (uint64_t))

static void
copy_engine (struct array *a, struct array_snapshot *s)
{
  const _Atomic uint64_t *from =
      (const _Atomic uint64_t *)engine_get_stats (a->engine);
  _Atomic uint64_t *to = (_Atomic uint64_t *)&s->stats;
  struct engine_worker_stats w;

  for (size_t i = 0; i < NR_COUNTERS; i++)
    atomic_init (&to[i], atomic_load (&from[i]));
  engine_cache_stats (a->engine, &s->cache);
  engine_worker_stats (a->engine, &w);
  s->workers = (struct snapshot_workers){
      .group_thread_cnt = w.group_thread_cnt,
      .groups = w.groups,
      .running = w.running,
      .workers_peak = w.peak,
      .wakes = w.wakes,
      .threads = w.threads,
      .changes = w.changes,
  };
}

int
array_snapshot_take (struct array *a, struct array_snapshot **ret)
{
  struct array_snapshot *s = calloc (1, sizeof *s);
  int r = 0;

  if (s == NULL)
    return -ENOMEM;
  s->members = calloc (a->geo.raid_disks + a->nr, sizeof *s->members);
  if (s->members == NULL) {
    array_snapshot_free (s);
    return -ENOMEM;
  }
  pthread_mutex_lock (&a->lock);
  copy_array (a, s);
  pthread_mutex_unlock (&a->lock);
  copy_engine (a, s);
  if (a->bitmap != NULL)
    r = copy_bitmap (a, s);
  if (r < 0) {
    array_snapshot_free (s);
    return r;
  }
  *ret = s;
  return 0;
}

void
array_snapshot_free (struct array_snapshot *s)
{
  if (s == NULL)
    return;
  free (s->members);
  free (s);
}

void
array_stats_reset (struct array *a)
{
  _Atomic uint64_t *c = (_Atomic uint64_t *)engine_get_stats (a->engine);

  for (size_t i = 0; i < NR_COUNTERS; i++)
    atomic_store (&c[i], 0);
  for (size_t i = 0; i < a->nr; i++) {
    struct member *m = a->members[i];

    if (m == NULL)
      continue;
    atomic_store (&m->reads, 0);
    atomic_store (&m->read_bytes, 0);
    atomic_store (&m->writes, 0);
    atomic_store (&m->write_bytes, 0);
    atomic_store (&m->merged, 0);
    atomic_store (&m->merged_bytes, 0);
    atomic_store (&m->errors, 0);
  }
}
