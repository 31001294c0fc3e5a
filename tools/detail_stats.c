/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid detail --stats: what the cache takes, who works, what the members get
 * and how large, how writes were done.  One thread, no locks.
 */
#include <config.h>

#include "detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct stats {
  uint64_t cache_stripes, cache_active, stripe_bytes, memory_bytes,
      limit_bytes, evicted;
  uint64_t group_thread_cnt, groups, running, workers_peak, wakes;
  char *library, *library_version, *kernels;
  uint64_t write_full, write_rcw, write_rmw, prereads;
};

#define NUMBER(key, field)                                                    \
  {                                                                           \
    key, VIEW_NUMBER, false, offsetof (struct stats, field)                   \
  }
#define TEXT(key, field)                                                      \
  {                                                                           \
    key, VIEW_TEXT_OR_NULL, true, offsetof (struct stats, field)              \
  }

static const struct view_field cache_fields[] = {
    NUMBER ("stripe_cache_size", cache_stripes),
    NUMBER ("stripe_cache_active", cache_active),
    NUMBER ("stripe_bytes", stripe_bytes),
    NUMBER ("memory_bytes", memory_bytes),
    NUMBER ("limit_bytes", limit_bytes),
    NUMBER ("evicted", evicted),
    {NULL}};

static const struct view_field worker_fields[] = {
    NUMBER ("group_thread_cnt", group_thread_cnt),
    NUMBER ("groups", groups),
    NUMBER ("running", running),
    NUMBER ("workers_peak", workers_peak),
    NUMBER ("wakes", wakes),
    {NULL}};

static const struct view_field parity_fields[] = {
    TEXT ("library", library),
    TEXT ("library_version", library_version),
    TEXT ("kernels", kernels),
    {NULL}};

static const struct view_field write_fields[] = {
    NUMBER ("write_full", write_full),
    NUMBER ("write_rcw", write_rcw),
    NUMBER ("write_rmw", write_rmw),
    NUMBER ("prereads", prereads),
    {NULL}};

/* No number of the server's list may be a surprise when it is printed. */
static int
check_counters (json_t *stats, char why[VIEW_WHY_BYTES])
{
  const char *key;
  json_t *value;

  json_object_foreach (stats, key, value)
  {
    if (json_is_integer (value) && json_integer_value (value) >= 0)
      continue;
    snprintf (why, VIEW_WHY_BYTES, "a counter of \"stats\" is no number");
    return -1;
  }
  return 0;
}

static int
read_stats (json_t *result, struct stats *s, char why[VIEW_WHY_BYTES])
{
  json_t *stats = json_object_get (result, "stats");

  if (view_read (json_object_get (result, "cache"), "cache", cache_fields, s,
                 why) < 0 ||
      view_read (json_object_get (result, "workers"), "workers", worker_fields,
                 s, why) < 0 ||
      view_read (json_object_get (result, "parity"), "parity", parity_fields,
                 s, why) < 0 ||
      view_read (stats, "stats", write_fields, s, why) < 0)
    return -1;
  return check_counters (stats, why);
}

static void
print_parts (const struct view *v, const struct stats *s)
{
  char human[64];

  detail_line ("Cache Size", "%" PRIu64 " bytes%s", s->memory_bytes,
               tool_human (s->memory_bytes, human));
  detail_line ("Cache Maximum", "%" PRIu64 " bytes%s", s->limit_bytes,
               tool_human (s->limit_bytes, human));
  detail_line ("Cache Stripes",
               "%" PRIu64 " of %" PRIu64 ", %" PRIu64 " bytes each, %" PRIu64
               " evicted",
               s->cache_active, s->cache_stripes, s->stripe_bytes, s->evicted);
  detail_line (
      "Workers",
      "%" PRIu64 " running, at most %" PRIu64 " so far, %" PRIu64
      " times woken; group_thread_cnt %" PRIu64 ", %" PRIu64 " groups",
      s->running, s->workers_peak, s->wakes, s->group_thread_cnt, s->groups);
  detail_line ("Parity Library", "%s %s (%s)",
               s->library != NULL ? s->library : "-",
               s->library_version != NULL ? s->library_version : "-",
               s->kernels != NULL ? s->kernels : "-");
  if (v->has_bitmap)
    detail_line ("Bitmap Chunks",
                 "%" PRIu64 " of %" PRIu64 " dirty, %" PRIu64 " bytes each",
                 v->bitmap_dirty_chunks, v->bitmap_total_chunks,
                 v->bitmap_chunk_bytes);
  detail_line ("Write Stats",
               "full %" PRIu64 ", rcw %" PRIu64 ", rmw %" PRIu64
               ", w_preread %" PRIu64,
               s->write_full, s->write_rcw, s->write_rmw, s->prereads);
}

/* --- members ------------------------------------------------------------ */

static void
print_count (uint64_t n, int width)
{
  if (n == VIEW_NONE)
    printf (" %*s", width, "-");
  else
    printf (" %*" PRIu64, width, n);
}

/* Mean size in KiB. */
static void
print_mean (uint64_t bytes, uint64_t requests)
{
  uint64_t tenths;

  if (bytes == VIEW_NONE || requests == VIEW_NONE || requests == 0) {
    printf (" %9s", "-");
    return;
  }
  tenths = (uint64_t)((__uint128_t)bytes * 10 / 1024 / requests);
  printf (" %7" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
}

static void
print_member (const struct view_member *m)
{
  printf ("   ");
  print_count (m->number, 4);
  printf ("    ");
  print_count (m->slot, 5);
  printf ("   ");
  print_count (m->reads, 10);
  print_mean (m->read_bytes, m->reads);
  print_count (m->writes, 10);
  print_mean (m->write_bytes, m->writes);
  print_count (m->in_flight, 9);
  print_count (m->latency_us, 10);
  print_count (m->errors, 6);
  print_count (m->corrected_sectors, 9);
  print_count (m->connections, 5);
  putchar ('\n');
}

static void
print_members (const struct view *v)
{
  size_t i;

  printf ("\n    Number   RaidDevice      Reads  Mean KiB     Writes  Mean KiB"
          " In Flight Latency us Errors Corrected Conns\n");
  for (i = 0; i < v->nr_members; ++i)
    if (v->members[i].number != VIEW_NONE || v->members[i].address != NULL)
      print_member (&v->members[i]);
}

static void
print_counters (json_t *stats)
{
  const char *key;
  char name[64];
  json_t *value;

  putchar ('\n');
  json_object_foreach (stats, key, value)
      detail_line (online_escape (key, name, sizeof name),
                   "%" JSON_INTEGER_FORMAT, json_integer_value (value));
}

int
detail_print_stats (const struct view *v, json_t *result,
                    char why[VIEW_WHY_BYTES])
{
  struct stats s = {.library = NULL};
  int r = read_stats (result, &s, why);

  if (r == 0) {
    putchar ('\n');
    print_parts (v, &s);
    print_members (v);
    print_counters (json_object_get (result, "stats"));
  }
  free (s.library);
  free (s.library_version);
  free (s.kernels);
  return r;
}
