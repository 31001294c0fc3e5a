/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The array's life: open, start, writable, stop, close; and the client's
 * requests, each wrapped into the clean/dirty and bitmap handshake of meta.c.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../md_layout/sizing.h"

/* --- open --- */

static int
make_members (struct array *a, struct uraid_error *e)
{
  const struct array_options *o = &a->opt;

  a->nr = o->nr_members + o->nr_spares;
  a->members = calloc (a->nr, sizeof *a->members);
  a->cand = calloc (a->nr, sizeof *a->cand);
  a->am = calloc (a->nr, sizeof *a->am);
  if (a->members == NULL || a->cand == NULL || a->am == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  for (size_t i = 0; i < a->nr; i++) {
    struct candidate *c = &a->cand[i];
    int r;

    c->is_spare_arg = i >= o->nr_members;
    c->address =
        c->is_spare_arg ? o->spares[i - o->nr_members] : o->members[i];
    c->state = CAND_UNREACHABLE;
    c->missing_word = !c->is_spare_arg && strcmp (c->address, "missing") == 0;
    if (c->missing_word)
      continue;
    r = member_new (c->address, &o->member, &a->members[i], e);
    /* Each connection of a path is a private server process: no more of them
     * than there are threads to use them.
     */
    if (r == 0 && a->members[i]->path != NULL &&
        a->members[i]->opt.connections > o->nr_lanes)
      a->members[i]->opt.connections = o->nr_lanes;
    if (r < 0)
      return r;
    c->address = a->members[i]->address;
  }
  return 0;
}

static void
connect_members (struct array *a)
{
  struct member **ms = calloc (a->nr, sizeof *ms);
  size_t nr = 0;

  for (size_t i = 0; i < a->nr && ms != NULL; i++)
    if (a->members[i] != NULL)
      ms[nr++] = a->members[i];
  if (ms != NULL && nr > 0)
    member_connect_all (ms, nr, a->opt.wait_members_ms);
  free (ms);
}

/* What the user said of the array must be so. */
static int
check_claims (struct array *a, struct uraid_error *e)
{
  const struct array_options *o = &a->opt;
  const struct sb1 *sb = &a->as.freshest->sb;
  const char *colon = strchr (a->name, ':');

  if (o->level != 0 && o->level != sb->level)
    return uraid_error_set (e, EINVAL,
                            "level=%d: the superblocks say level %d", o->level,
                            sb->level);
  if (o->raid_devices != 0 && o->raid_devices != sb->raid_disks)
    return uraid_error_set (e, EINVAL,
                            "raid-devices=%u: the superblocks say %u members",
                            o->raid_devices, sb->raid_disks);
  if (o->chunk_bytes != 0 &&
      o->chunk_bytes != (uint64_t)sb->chunk_sectors * 512)
    return uraid_error_set (e, EINVAL,
                            "chunk_size=%llu: the superblocks say %llu bytes",
                            (unsigned long long)o->chunk_bytes,
                            (unsigned long long)sb->chunk_sectors * 512);
  if (o->layout != NULL) {
    uint32_t layout;
    int r = geometry_layout_parse (sb->level, o->layout, &layout, e);

    if (r < 0)
      return r;
    if (layout != sb->layout)
      return uraid_error_set (e, EINVAL, "layout=%s: the superblocks say %s",
                              o->layout,
                              geometry_layout_name (sb->level, sb->layout));
  }
  if (o->name != NULL && strcmp (o->name, a->name) != 0 &&
      (colon == NULL || strcmp (o->name, colon + 1) != 0))
    return uraid_error_set (e, EINVAL, "name=%s: the array is named \"%s\"",
                            o->name, a->name);
  return 0;
}

/* A blank spare that could never hold the component: better said now. */
static int
check_spares (struct array *a, struct uraid_error *e)
{
  static const uint8_t uuid[16];
  struct sb1 *sb = malloc (sizeof *sb);
  int r = 0;

  if (sb == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  for (size_t i = 0; i < a->nr && r == 0; i++)
    if (a->cand[i].verdict == VERDICT_BLANK_SPARE) {
      r = sizing_spare_sb (&a->as.freshest->sb, a->cand[i].dev_sectors,
                           a->as.freshest->bitmap_sectors * 512, uuid,
                           a->geo.raid_disks, sb, e);
      if (r < 0)
        uraid_error_prefix (e, "spare %s", a->cand[i].address);
    }
  free (sb);
  return r;
}

static int
make_engine (struct array *a, struct uraid_error *e)
{
  const struct sb1 *sb = &a->as.freshest->sb;
  struct engine_config cfg = {0};
  struct member **ms = calloc (a->nr, sizeof *ms);
  size_t nr = 0;
  int r;

  r = geometry_init (&a->geo, sb->level, sb->layout, sb->raid_disks,
                     sb->chunk_sectors, sb->size_sectors, e);
  if (r == 0)
    r = parity_new (&a->geo, &a->par);
  if (r == 0 && ms == NULL)
    r = -ENOMEM;
  if (r < 0)
    goto out;
  for (size_t i = 0; i < a->nr; i++)
    if (a->members[i] != NULL &&
        atomic_load (&a->members[i]->state) == MEMBER_CONNECTED)
      ms[nr++] = a->members[i];
  r = lanes_new (ms, nr, a->opt.nr_lanes, slots_on_lost, a, &a->lanes, e);
  if (r < 0)
    goto out;
  cfg.geo = &a->geo;
  cfg.par = a->par;
  cfg.lanes = a->lanes;
  cfg.stripe_cache_size = a->opt.stripe_cache_size;
  cfg.nr_hash_locks = a->opt.nr_hash_locks;
  cfg.rmw_level = a->opt.rmw_level;
  cfg.skip_copy = a->opt.skip_copy;
  cfg.group_thread_cnt = a->opt.group_thread_cnt;
  cfg.max_stripe_batch = a->opt.max_stripe_batch;
  cfg.preread_bypass_threshold = a->opt.preread_bypass_threshold;
  cfg.topology = a->opt.topology;
  cfg.read_only = a->opt.read_only || a->opt.maybe_read_only;
  cfg.ops = &slots_engine_ops;
  cfg.ops_user = a;
  r = engine_new (&cfg, &a->engine, e);
out:
  free (ms);
  return r;
}

static void
note_start (struct array *a)
{
  const struct assembly *as = &a->as;

  a->events = as->events;
  a->events_spent = true;
  a->resync_offset_sectors = as->dirty ? as->resync_offset_sectors : SB1_MAX;
  a->resync_owed = as->dirty;
  /* With a bitmap the bits tell where; the offset does not. */
  a->resync_from_bytes =
      !as->dirty || a->bitmap != NULL ||
              as->resync_offset_sectors * 512 > a->geo.member_bytes
          ? 0
          : as->resync_offset_sectors * 512;
  if (as->dirty)
    engine_sync_begin (a->engine, ENGINE_RESYNC, a->resync_from_bytes);
  a->min_block = 512;
  for (size_t i = 0; i < a->nr; i++)
    if (a->members[i] != NULL &&
        atomic_load (&a->members[i]->state) == MEMBER_CONNECTED &&
        a->am[i].state != AM_UNUSED && a->members[i]->min_block > a->min_block)
      a->min_block = a->members[i]->min_block;
}

static int
init_locks (struct array *a)
{
  pthread_condattr_t attr;

  if (pthread_mutex_init (&a->lock, NULL) != 0 ||
      pthread_condattr_init (&attr) != 0)
    return -ENOMEM;
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&a->meta_cond, &attr);
  pthread_cond_init (&a->state_cond, &attr);
  pthread_cond_init (&a->job_cond, &attr);
  pthread_condattr_destroy (&attr);
  return 0;
}

static int
open_array (struct array *a, struct uraid_error *e)
{
  const struct array_options *o = &a->opt;
  struct assemble_options ao = {
      .has_uuid = o->has_uuid,
      .start_degraded = o->start_degraded,
      .start_dirty_degraded = o->start_dirty_degraded,
      .will_write = !o->read_only && !o->maybe_read_only,
  };
  int r;

  memcpy (ao.uuid, o->uuid, sizeof ao.uuid);
  r = make_members (a, e);
  if (r < 0)
    return r;
  connect_members (a);
  r = load_candidates (a, e);
  if (r < 0)
    return r;
  r = assemble (a->cand, a->nr, &ao, &a->as, e);
  if (r < 0)
    return r;
  snprintf (a->name, sizeof a->name, "%s", a->as.freshest->sb.set_name);
  r = check_claims (a, e);
  if (r < 0)
    return r;
  r = make_engine (a, e);
  if (r < 0)
    return r;
  r = check_spares (a, e);
  if (r < 0)
    return r;
  slots_init (a);
  note_start (a);
  r = load_extras (a, e);
  if (r < 0)
    return r;
  /* The bitmap may know better where a resync must look, and bad ranges are
   * known only now.
   */
  for (size_t i = 0; i < a->nr; i++)
    if (a->am[i].bb.nr > 0)
      engine_set_bad_ranges (a->engine, a->am[i].slot, &a->am[i].bb);
  if (a->bitmap != NULL && a->as.dirty) {
    a->resync_from_bytes = 0;
    engine_sync_begin (a->engine, ENGINE_RESYNC, 0);
  }
  return 0;
}

int
array_open (const struct array_options *opt, struct array **ret, char *remarks,
            size_t remarks_size, struct uraid_error *e)
{
  struct array *a = calloc (1, sizeof *a);
  int r;

  if (a == NULL || init_locks (a) < 0) {
    free (a);
    return uraid_error_set (e, ENOMEM, "out of memory");
  }
  a->opt = *opt;
  r = open_array (a, e);
  if (r < 0) {
    array_close (a);
    return r;
  }
  if (remarks != NULL)
    snprintf (remarks, remarks_size, "%s", a->as.remarks);
  *ret = a;
  return 0;
}

/* --- start, writable, stop, close --- */

int
array_start (struct array *a, struct uraid_error *e)
{
  int r = lanes_start (a->lanes, e);
  sigset_t all, old;

  if (r == 0)
    r = engine_start_workers (a->engine, e);
  if (r < 0)
    return r;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&a->meta_thread, NULL, meta_main, a);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (r != 0)
    return uraid_error_set (e, r, "could not start the metadata thread: %s",
                            strerror (r));
  a->meta_running = true;
  if (a->opt.read_only || a->opt.maybe_read_only)
    return 0;
  return array_go_rw (a, e);
}

/* May the array be written at all?  Array lock held. */
static int
judge_rw (struct array *a, struct uraid_error *e)
{
  if (a->opt.read_only)
    return uraid_error_set (e, EROFS, "the array was started read-only");
  if (array_get_state (a) != ARRAY_READ_AUTO)
    return uraid_error_set (e, EROFS, "the array is %s",
                            array_state_name (array_get_state (a)));
  if (a->as.dirty && slots_missing_locked (a) + a->as.recovering > 0 &&
      !a->opt.start_dirty_degraded)
    return uraid_error_set (
        e, EUCLEAN,
        "the array was not stopped cleanly and %u of %u members are missing "
        "or incomplete: what is rebuilt from parity may be wrong; read-only "
        "unless start-dirty-degraded=yes is given",
        slots_missing_locked (a) + a->as.recovering, a->geo.raid_disks);
  for (size_t i = 0; i < a->nr; i++) {
    struct array_member *am = &a->am[i];
    int r;

    if (am->state != AM_IN_SYNC && am->state != AM_RECOVERING)
      continue;
    if (am->m->read_only)
      return uraid_error_set (e, EROFS, "member %s: its export is read-only",
                              am->cand->address);
    r = sb1_judge (&am->sb, am->cand->dev_sectors, am->cand->bitmap_sectors,
                   true, e);
    if (r < 0) {
      uraid_error_prefix (e, "member %s", am->cand->address);
      return r;
    }
  }
  return 0;
}

/* Is any accepted member not quite current? */
static bool
uneven (const struct array *a)
{
  for (size_t i = 0; i < a->nr; i++)
    if ((a->am[i].state == AM_IN_SYNC || a->am[i].state == AM_RECOVERING) &&
        a->am[i].sb.events != a->as.events)
      return true;
  return false;
}

int
array_go_rw (struct array *a, struct uraid_error *e)
{
  unsigned joined;
  int r = 0;

  pthread_mutex_lock (&a->lock);
  if (a->rw)
    goto out;
  r = judge_rw (a, e);
  if (r < 0)
    goto out;
  joined = slots_assign (a);
  if (a->bitmap != NULL && joined > 0)
    wbitmap_dirty_all (a->bitmap);
  a->rw = true;
  engine_set_read_only (a->engine, false);
  array_set_state (a, ARRAY_CLEAN);
  /* A clean array with nothing to do is not written to by starting it. */
  if (joined > 0 || a->as.dirty || uneven (a)) {
    meta_update_locked (a);
    if (array_get_state (a) == ARRAY_BROKEN)
      r = uraid_error_set (e, EIO, "too many members failed at the start");
  }
  pthread_cond_broadcast (&a->job_cond);
out:
  pthread_mutex_unlock (&a->lock);
  return r;
}

void
array_stop (struct array *a, uint64_t timeout_ms)
{
  uint64_t until = now_ms () + timeout_ms;
  struct timespec ts = {.tv_sec = (time_t)(until / 1000),
                        .tv_nsec = (long)(until % 1000) * 1000000};

  pthread_mutex_lock (&a->lock);
  a->stop_wanted = true;
  pthread_cond_broadcast (&a->job_cond);
  pthread_cond_broadcast (&a->meta_cond);
  pthread_cond_broadcast (&a->state_cond);
  while (a->meta_running && array_get_state (a) != ARRAY_STOPPED)
    if (pthread_cond_timedwait (&a->state_cond, &a->lock, &ts) == ETIMEDOUT)
      break;
  pthread_mutex_unlock (&a->lock);
}

void
array_close (struct array *a)
{
  if (a == NULL)
    return;
  pthread_mutex_lock (&a->lock);
  a->quit = true;
  pthread_cond_broadcast (&a->meta_cond);
  pthread_cond_broadcast (&a->job_cond);
  pthread_mutex_unlock (&a->lock);
  if (a->meta_running)
    pthread_join (a->meta_thread, NULL);
  /* No request is under way, but a worker may still be on its way back from
   * having woken a lane: join them while the lanes are there.
   */
  if (a->engine != NULL)
    engine_stop_workers (a->engine);
  lanes_stop (a->lanes);
  lanes_free (a->lanes);
  engine_free (a->engine);
  wbitmap_free (a->bitmap);
  parity_free (a->par);
  geometry_done (&a->geo);
  for (size_t i = 0; i < a->nr; i++) {
    if (a->am != NULL)
      badblocks_done (&a->am[i].bb);
    if (a->members != NULL)
      member_free (a->members[i]);
  }
  free (a->members);
  free (a->cand);
  free (a->am);
  free (a->waiters);
  pthread_cond_destroy (&a->meta_cond);
  pthread_cond_destroy (&a->state_cond);
  pthread_cond_destroy (&a->job_cond);
  pthread_mutex_destroy (&a->lock);
  free (a);
}

/* --- requests --- */

/* The member range that a write of the array touches (a hull). */
static void
member_range (const struct array *a, uint64_t len, uint64_t offset,
              uint64_t *ret_offset, uint64_t *ret_len)
{
  const struct geometry *g = &a->geo;
  uint64_t row_bytes = g->chunk_bytes * g->data_disks;
  uint64_t first = offset / row_bytes, last = (offset + len - 1) / row_bytes;
  uint64_t in_chunk = offset % g->chunk_bytes;

  if (in_chunk + len <= g->chunk_bytes) {
    *ret_offset = first * g->chunk_bytes + in_chunk;
    *ret_len = len;
    return;
  }
  *ret_offset = first * g->chunk_bytes;
  *ret_len = (last - first + 1) * g->chunk_bytes;
}

int
array_read (struct array *a, void *buf, uint64_t len, uint64_t offset)
{
  return len == 0 ? 0 : engine_read (a->engine, buf, len, offset);
}

/* When the array breaks, those who wait for a member's failure to be recorded
 * are let go although it never will be; such a write must not be acknowledged,
 * as that member may come back with old data that looks current.
 */
static int
if_not_broken (struct array *a, int r)
{
  return r == 0 && array_get_state (a) == ARRAY_BROKEN ? -EIO : r;
}

int
array_write (struct array *a, const void *buf, uint64_t len, uint64_t offset,
             bool fua)
{
  uint64_t moff, mlen;
  int r;

  if (len == 0)
    return 0;
  member_range (a, len, offset, &moff, &mlen);
  r = meta_write_begin (a, moff, mlen);
  if (r < 0)
    return r;
  r = engine_write (a->engine, buf, len, offset, fua ? ENGINE_FUA : 0);
  meta_write_end (a, moff, mlen);
  return if_not_broken (a, r);
}

int
array_zero (struct array *a, uint64_t len, uint64_t offset, bool fua,
            bool may_trim)
{
  uint64_t moff, mlen;
  int r;

  if (len == 0)
    return 0;
  member_range (a, len, offset, &moff, &mlen);
  r = meta_write_begin (a, moff, mlen);
  if (r < 0)
    return r;
  r = engine_zero (a->engine, len, offset,
                   (fua ? ENGINE_FUA : 0) | (may_trim ? ENGINE_MAY_TRIM : 0));
  meta_write_end (a, moff, mlen);
  return if_not_broken (a, r);
}

int
array_trim (struct array *a, uint64_t len, uint64_t offset, bool fua)
{
  uint64_t row_bytes = a->geo.chunk_bytes * a->geo.data_disks;
  uint64_t lo = (offset + row_bytes - 1) / row_bytes * row_bytes;
  uint64_t hi = (offset + len) / row_bytes * row_bytes;

  if (hi <= lo)
    return 0;
  return array_zero (a, hi - lo, lo, fua, true);
}

int
array_flush (struct array *a)
{
  enum array_state st = array_get_state (a);

  /* Nothing was written, or the last thing we did was to flush all. */
  if (st == ARRAY_READ_AUTO || st == ARRAY_STOPPED)
    return 0;
  return engine_flush (a->engine);
}

/* --- what it is --- */

uint64_t
array_size_bytes (const struct array *a)
{
  return a->geo.array_bytes;
}

bool
array_writable (struct array *a)
{
  bool r;

  pthread_mutex_lock (&a->lock);
  r = a->rw;
  pthread_mutex_unlock (&a->lock);
  return r;
}

bool
array_can_zero (const struct array *a)
{
  for (size_t i = 0; i < a->nr; i++)
    if (a->members[i] != NULL &&
        atomic_load (&a->members[i]->state) == MEMBER_CONNECTED &&
        !a->members[i]->can_zero)
      return false;
  return true;
}

uint32_t
array_min_block (const struct array *a)
{
  return a->min_block;
}

uint64_t
array_chunk_bytes (const struct array *a)
{
  return a->geo.chunk_bytes;
}

unsigned
array_nr_slots (const struct array *a)
{
  return a->geo.raid_disks;
}

const char *
array_name (const struct array *a)
{
  return a->name;
}

struct engine *
array_engine (struct array *a)
{
  return a->engine;
}

void
array_describe (struct array *a, char *buf, size_t size)
{
  unsigned missing, recovering = 0;

  pthread_mutex_lock (&a->lock);
  missing = slots_missing_locked (a);
  for (size_t i = 0; i < a->nr; i++)
    recovering += a->am[i].state == AM_RECOVERING;
  pthread_mutex_unlock (&a->lock);
  snprintf (buf, size,
            "md RAID-%d array \"%s\", %u members (%u missing, %u recovering), "
            "chunk %lluK, layout %s, %s",
            a->geo.level, a->name, a->geo.raid_disks, missing, recovering,
            (unsigned long long)a->geo.chunk_bytes / 1024,
            geometry_layout_name (a->geo.level, a->geo.layout),
            array_state_name (array_get_state (a)));
}
