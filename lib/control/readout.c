/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A snapshot becomes JSON (see the header).  Names and units are those of
 * man/uraid-control.pod.  Numbers go through rpc_number, so none is negative.
 */
#include <config.h>

#include "readout.h"

#include <stdio.h>

#include "../md_layout/geometry.h"
#include "../md_layout/parity.h"
#include "../md_layout/sb1.h"
#include "rpc.h"

#define PAGE_BYTES 4096

static void
put_number (json_t *o, const char *key, uint64_t n)
{
  json_object_set_new (o, key, rpc_number (n));
}

/* SNAPSHOT_NONE becomes null. */
static void
put_number_or_null (json_t *o, const char *key, uint64_t n)
{
  json_object_set_new (o, key,
                       n == SNAPSHOT_NONE ? json_null () : rpc_number (n));
}

static void
put_text (json_t *o, const char *key, const char *text)
{
  json_object_set_new (o, key, rpc_text (text));
}

static void
put_uuid (json_t *o, const char *key, const uint8_t uuid[16])
{
  char text[36];

  sb1_uuid_text (uuid, text);
  put_text (o, key, text);
}

/* --- members --- */

static const char *
member_word (enum snapshot_state s)
{
  switch (s) {
  case SNAPSHOT_IN_SYNC:
    return "in_sync";
  case SNAPSHOT_RECOVERING:
    return "recovering";
  case SNAPSHOT_SPARE:
    return "spare";
  case SNAPSHOT_FAULTY:
    return "faulty";
  case SNAPSHOT_STALE:
    return "stale";
  case SNAPSHOT_MISSING:
    break;
  }
  return "missing";
}

static json_t *
member_object (const struct snapshot_member *m)
{
  json_t *o = json_object ();

  put_number_or_null (o, "number", m->number);
  put_number_or_null (o, "slot", m->slot);
  put_text (o, "state", member_word (m->state));
  if (m->reason[0] != '\0') {
    put_text (o, "reason", m->reason);
    put_number (o, "since_utc", m->since_utc);
    if (m->last_slot != SNAPSHOT_NONE)
      put_number (o, "last_slot", m->last_slot);
  }
  put_text (o, "address", m->address);
  if (m->has_uuid)
    put_uuid (o, "uuid", m->uuid);
  else
    json_object_set_new (o, "uuid", json_null ());
  if (m->state == SNAPSHOT_RECOVERING)
    put_number (o, "recovered_bytes", m->recovered_bytes);
  put_number (o, "errors", m->errors);
  put_number (o, "corrected_sectors", m->corrected_sectors);
  put_number (o, "reads", m->reads);
  put_number (o, "read_bytes", m->read_bytes);
  put_number (o, "writes", m->writes);
  put_number (o, "write_bytes", m->write_bytes);
  put_number (o, "merged", m->merged);
  put_number (o, "merged_bytes", m->merged_bytes);
  put_number (o, "in_flight", m->in_flight);
  put_number (o, "latency_us", m->latency_us);
  put_number (o, "connections", m->connections);
  return o;
}

static json_t *
members_array (const struct array_snapshot *s)
{
  json_t *list = json_array ();

  for (size_t i = 0; i < s->nr_members; i++)
    json_array_append_new (list, member_object (&s->members[i]));
  return list;
}

static unsigned
count (const struct array_snapshot *s, enum snapshot_state state)
{
  unsigned n = 0;

  for (size_t i = 0; i < s->nr_members; i++)
    n += s->members[i].state == state;
  return n;
}

/* --- parts --- */

/* As mdadm counts: what is not in sync is a slot that is degraded. */
static void
put_counts (json_t *o, const struct array_snapshot *s)
{
  unsigned in_sync = count (s, SNAPSHOT_IN_SYNC);
  unsigned failed = count (s, SNAPSHOT_FAULTY);
  unsigned spares = count (s, SNAPSHOT_SPARE);

  put_number (o, "raid_devices", s->raid_devices);
  put_number (o, "total_devices",
              in_sync + failed + spares + count (s, SNAPSHOT_RECOVERING) +
                  count (s, SNAPSHOT_STALE));
  put_number (o, "degraded",
              s->raid_devices > in_sync ? s->raid_devices - in_sync : 0);
  put_number (o, "in_sync", in_sync);
  put_number (o, "failed", failed);
  put_number (o, "spares", spares);
}

static json_t *
array_object (const struct array_snapshot *s)
{
  const char *layout = geometry_layout_name (s->level, s->layout);
  json_t *o = json_object ();
  char text[16];

  put_text (o, "name", s->name);
  put_uuid (o, "uuid", s->uuid);
  snprintf (text, sizeof text, "raid%d", s->level);
  put_text (o, "level", text);
  put_counts (o, s);
  put_number (o, "chunk_bytes", s->chunk_bytes);
  put_text (o, "layout", layout);
  put_number (o, "layout_number", s->layout);
  snprintf (text, sizeof text, "1.%u", s->minor);
  put_text (o, "metadata_version", text);
  put_number (o, "array_size_bytes", s->array_bytes);
  put_number (o, "member_size_bytes", s->member_bytes);
  put_text (o, "state", array_state_name (s->state));
  put_number (o, "events", s->events);
  put_text (o, "consistency_policy", s->has_bitmap ? "bitmap" : "resync");
  put_number (o, "created_utc", s->created_utc);
  put_number (o, "updated_utc", s->updated_utc);
  json_object_set_new (o, "writable", json_boolean (s->writable));
  put_number_or_null (o, "resync_offset_bytes", s->resync_offset_bytes);
  return o;
}

static const char *
job_word (enum array_job job)
{
  switch (job) {
  case ARRAY_JOB_RESYNC:
    return "resync";
  case ARRAY_JOB_RECOVER:
    return "recover";
  case ARRAY_JOB_NONE:
    break;
  }
  return "idle";
}

static json_t *
sync_object (const struct array_snapshot *s)
{
  json_t *o = json_object ();

  put_text (o, "action", job_word (s->job));
  put_number (o, "position_bytes", s->job_pos_bytes);
  put_number (o, "total_bytes", s->member_bytes);
  put_number (o, "speed_bytes_per_s", s->job_speed_bytes_per_s);
  put_number (o, "started_utc", s->job_started_utc);
  return o;
}

static json_t *
bitmap_object (const struct array_snapshot *s)
{
  json_t *o;

  if (!s->has_bitmap)
    return json_null ();
  o = json_object ();
  put_number (o, "chunk_bytes", s->bitmap_chunk_bytes);
  put_number (o, "pages", s->bitmap_pages);
  put_number (o, "dirty_chunks", s->bitmap_dirty_chunks);
  put_number (o, "total_chunks", s->bitmap_total_chunks);
  put_number (o, "file_sync_ms", s->bitmap_sleep_ms);
  return o;
}

static json_t *
cache_object (const struct array_snapshot *s)
{
  const struct stripecache_stats *c = &s->cache;
  json_t *o = json_object ();
  unsigned members = s->raid_devices > 0 ? s->raid_devices : 1;

  put_number (o, "stripe_cache_size", c->limit_pages / members);
  put_number (o, "stripe_cache_active", c->stripes);
  put_number (o, "stripe_bytes", (uint64_t)members * PAGE_BYTES);
  put_number (o, "pages", c->pages);
  put_number (o, "memory_bytes", c->pages * PAGE_BYTES);
  put_number (o, "limit_bytes", c->limit_pages * PAGE_BYTES);
  put_number (o, "evicted", c->evicted);
  put_number (o, "lock_takes", c->lock_takes);
  return o;
}

static json_t *
workers_object (const struct array_snapshot *s)
{
  const struct snapshot_workers *w = &s->workers;
  json_t *o = json_object ();

  put_number (o, "group_thread_cnt", w->group_thread_cnt);
  put_number (o, "groups", w->groups);
  put_number (o, "running", w->running);
  put_number (o, "workers_peak", w->workers_peak);
  put_number (o, "wakes", w->wakes);
  put_number (o, "threads", w->threads);
  put_number (o, "changes", w->changes);
  return o;
}

static json_t *
parity_object (void)
{
  json_t *o = json_object ();
  put_text (o, "library", "isa-l");
  put_text (o, "library_version", parity_library_version ());
  put_text (o, "kernels", parity_kernels ());
  return o;
}

#define COUNTER(name)                                                         \
  {                                                                           \
#name, offsetof(struct engine_stats, name)                                \
  }

static const struct {
  const char *name;
  size_t offset;
} counters[] = {
    COUNTER (write_full),
    COUNTER (write_rcw),
    COUNTER (write_rmw),
    COUNTER (write_reconstruct),
    COUNTER (write_data_only),
    COUNTER (prereads),
    COUNTER (direct_reads),
    COUNTER (recon_reads),
    COUNTER (cached_reads),
    COUNTER (combined),
    COUNTER (copied_bytes),
    COUNTER (runs),
    COUNTER (waits),
    COUNTER (corrected_sectors),
    COUNTER (resynced_segments),
    COUNTER (recovered_segments),
    COUNTER (parity_rewrites),
};

#define NR_COUNTERS (sizeof counters / sizeof counters[0])
_Static_assert(NR_COUNTERS * sizeof (uint64_t) == sizeof (struct engine_stats),
               "a counter of the engine is in no read-out");

static json_t *
stats_object (const struct array_snapshot *s)
{
  json_t *o = json_object ();

  for (size_t i = 0; i < NR_COUNTERS; i++) {
    const char *at = (const char *)&s->stats + counters[i].offset;

    put_number (o, counters[i].name,
                atomic_load ((const _Atomic uint64_t *)at));
  }
  return o;
}

/* --- wholes --- */

json_t *
readout_array (const struct array_snapshot *s)
{
  json_t *o = json_object ();

  json_object_set_new (o, "array", array_object (s));
  json_object_set_new (o, "members", members_array (s));
  json_object_set_new (o, "sync", sync_object (s));
  json_object_set_new (o, "bitmap", bitmap_object (s));
  json_object_set_new (o, "cache", cache_object (s));
  json_object_set_new (o, "workers", workers_object (s));
  json_object_set_new (o, "parity", parity_object ());
  json_object_set_new (o, "stats", stats_object (s));
  return o;
}

json_t *
readout_detail (const struct array_snapshot *s)
{
  json_t *o = readout_array (s);

  put_text (o, "schema", RPC_SCHEMA);
  return o;
}

json_t *
readout_status (const struct array_snapshot *s)
{
  json_t *o = json_object (), *list = json_array ();

  json_array_append_new (list, readout_array (s));
  put_text (o, "schema", RPC_SCHEMA);
  json_object_set_new (o, "arrays", list);
  return o;
}

json_t *
readout_stats (const struct array_snapshot *s)
{
  json_t *o = json_object ();

  put_text (o, "schema", RPC_SCHEMA);
  json_object_set_new (o, "stats", stats_object (s));
  json_object_set_new (o, "members", members_array (s));
  return o;
}
