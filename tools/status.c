/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid status: all arrays in the shape of /proc/mdstat, once or again and
 * again.  What the lines look like is the kernel's, so that eyes and scripts
 * trained on them work.  One thread, no locks.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "online.h"
#include "view.h"

#define BAR_CELLS 20

/* A page of the kernel's in-memory bitmap has a 16-bit counter a chunk. */
#define CHUNKS_PER_PAGE 2048

static struct {
  bool watch, count_given;
  uint64_t interval_ms;
  unsigned count;
} opt = {.interval_ms = 2000};

/* --- text --------------------------------------------------------------- */

static const char *
activity (const struct view *v)
{
  if (strcmp (v->state, "broken") == 0)
    return "broken";
  if (strcmp (v->state, "stopped") == 0)
    return "inactive";
  if (strcmp (v->state, "read-auto") == 0)
    return "active (auto-read-only)";
  return v->writable ? "active" : "active (read-only)";
}

static void
print_members (const struct view *v)
{
  const struct view_member *m;
  size_t i;

  for (i = 0; i < v->nr_members; ++i) {
    m = &v->members[i];
    if (m->address == NULL && m->state == VIEW_MISSING)
      continue;
    printf (" %s[", m->address != NULL ? m->address : "?");
    if (m->number != VIEW_NONE)
      printf ("%" PRIu64 "]", m->number);
    else
      printf ("-]");
    if (view_is_lost (m))
      printf ("(F)");
    else if (m->state == VIEW_SPARE)
      printf ("(S)");
  }
}

static void
print_finish (const struct view *v)
{
  const uint64_t left = v->total_bytes - v->position_bytes;
  uint64_t seconds;

  if (v->speed_bytes_per_s > 0) {
    seconds = left / v->speed_bytes_per_s;
    printf (" finish=%" PRIu64 ".%" PRIu64 "min", seconds / 60,
            seconds % 60 / 6);
  }
  printf (" speed=%" PRIu64 "K/sec\n", v->speed_bytes_per_s / 1024);
}

static void
print_progress (const struct view *v)
{
  const char *word =
      strcmp (v->action, "recover") == 0 ? "recovery" : v->action;
  unsigned mille, i;

  if (!view_has_progress (v)) {
    if (v->resync_offset_bytes != VIEW_NONE)
      printf ("      \tresync=PENDING\n");
    return;
  }
  mille = (unsigned)((__uint128_t)v->position_bytes * 1000 / v->total_bytes);
  printf ("      [");
  for (i = 0; i < mille / 50; ++i)
    putchar ('=');
  putchar ('>');
  for (; i < BAR_CELLS; ++i)
    putchar ('.');
  printf ("]  %s =%3u.%u%% (%" PRIu64 "/%" PRIu64 ")", word, mille / 10,
          mille % 10, v->position_bytes / 1024, v->total_bytes / 1024);
  print_finish (v);
}

static void
print_bitmap (const struct view *v)
{
  const uint64_t total =
      v->bitmap_total_chunks / CHUNKS_PER_PAGE +
      (v->bitmap_total_chunks % CHUNKS_PER_PAGE != 0 ? 1 : 0);
  uint64_t used = v->bitmap_dirty_chunks; /* at most one page each */

  if (!v->has_bitmap)
    return;
  if (used > total)
    used = total;
  printf ("      bitmap: %" PRIu64 "/%" PRIu64 " pages [%" PRIu64 "KB], ",
          used, total, used * 4);
  if (v->bitmap_chunk_bytes < 1024)
    printf ("%" PRIu64 "B chunk\n", v->bitmap_chunk_bytes);
  else
    printf ("%" PRIu64 "KB chunk\n", v->bitmap_chunk_bytes / 1024);
}

/* A line for each that is lost, where the reason is told. */
static void
print_lost (const struct view *v)
{
  const struct view_member *m;
  char reason[VIEW_REASON_BYTES];
  size_t i;

  for (i = 0; i < v->nr_members; ++i) {
    m = &v->members[i];
    if (view_reason (m, reason)[0] != '\0')
      printf ("      lost: %s: %s\n", m->address != NULL ? m->address : "?",
              reason);
  }
}

static void
print_array (const struct view *v)
{
  printf ("%s : %s %s", v->name, activity (v), v->level_name);
  print_members (v);
  printf ("\n      %" PRIu64 " blocks super %s level %u, %" PRIu64
          "k chunk, algorithm %" PRIu64 " [%" PRIu64 "/%u] [%s]\n",
          v->array_bytes / 1024, v->version, v->level, v->chunk_bytes / 1024,
          v->layout_number, v->raid_devices, v->in_sync, v->letters);
  print_progress (v);
  print_bitmap (v);
  print_lost (v);
}

/* --- one snapshot ------------------------------------------------------- */

/* What one snapshot gathers. */
struct gather {
  json_t *arrays; /* with --json */
  size_t printed;
};

static int
take_array (struct tool *t, const struct online *o, json_t *one,
            struct gather *g)
{
  char why[VIEW_WHY_BYTES];
  struct view v;

  if (view_parse (one, &v, why) < 0)
    return online_nonsense (t, o, why);
  if (t->json)
    json_array_append (g->arrays, one);
  else {
    if (g->printed > 0)
      putchar ('\n');
    print_array (&v);
  }
  ++g->printed;
  view_free (&v);
  return TOOL_OK;
}

/* LISTED: the user did not name it, we found it. */
static int
take_server (struct tool *t, const struct online *o, bool listed,
             struct gather *g)
{
  const struct online_call c = {.method = "status", .may_be_dead = listed};
  struct online_refusal r;
  json_t *result, *list;
  size_t i;
  int code = online_call (t, o, &c, &result, &r);

  if (code == ONLINE_NOBODY) {
    tool_note (t, o->shown, "no server is at %s; it may be removed", o->path);
    return TOOL_OK;
  }
  if (code == ONLINE_REFUSED)
    return online_tell (t, TOOL_UNREADABLE, "status", o->shown, &r);
  if (code != 0)
    return code;
  list = json_object_get (result, "arrays");
  if (!json_is_array (list))
    code = online_nonsense (t, o, "\"arrays\" is no list");
  for (i = 0; i < json_array_size (list) && code == TOOL_OK; ++i)
    code = take_array (t, o, json_array_get (list, i), g);
  json_decref (result);
  return code;
}

static int
take_all (struct tool *t, struct gather *g)
{
  struct online *all;
  char places[600];
  size_t nr, i;
  int code = online_find_all (t, &all, &nr);

  if (code == TOOL_OK && nr == 0)
    tool_note (t, NULL, "no array is served in %s",
               online_places (places, sizeof places));
  for (i = 0; i < nr; ++i)
    code = tool_worse (code, take_server (t, &all[i], true, g));
  free (all);
  return code;
}

static int
snapshot (struct tool *t)
{
  struct gather g = {.arrays = t->json ? json_array () : NULL};
  struct online o;
  int code = TOOL_OK, r;
  size_t i;

  if (t->nr_args == 0)
    code = take_all (t, &g);
  for (i = 0; i < t->nr_args; ++i) {
    r = online_find (t, t->args[i], &o);
    if (r == TOOL_OK)
      r = take_server (t, &o, false, &g);
    code = tool_worse (code, r);
  }
  if (!t->json)
    return code;
  if (code != TOOL_OK && g.printed == 0) { /* the error says it all */
    json_decref (g.arrays);
    return code;
  }
  r = online_print_json (t, json_pack ("{s:o}", "arrays", g.arrays));
  return tool_worse (code, r);
}

/* --- again and again ---------------------------------------------------- */

static int
watch (struct tool *t)
{
  const bool redraw = isatty (STDOUT_FILENO) && !t->json;
  struct timespec pause = {.tv_sec = (time_t)(opt.interval_ms / 1000)};
  unsigned n;
  int code = TOOL_OK;

  for (n = 0; (!opt.count_given || n < opt.count) && code == TOOL_OK; ++n) {
    if (n > 0)
      nanosleep (&pause, NULL);
    if (redraw)
      printf ("\033[H\033[2J"); /* to the top, clear */
    else if (n > 0)
      putchar ('\n');
    code = snapshot (t);
    if (fflush (stdout) != 0) /* who read us has gone */
      return tool_fail (t, TOOL_FAILED, errno, "standard output", NULL, NULL,
                        "%s", strerror (errno));
  }
  return code;
}

static int
status_run (struct tool *t)
{
  if (!opt.watch && opt.count_given)
    return tool_fail (t, TOOL_USAGE, EINVAL, "status", "--count", NULL,
                      "is for --watch");
  if (!opt.watch)
    return snapshot (t);
  if (opt.interval_ms == 0)
    return tool_fail (t, TOOL_FAILED, ERANGE, "--interval", "0", "1s..1d",
                      "would keep the servers busy");
  return watch (t);
}

static int
opt_snapshots (struct tool *t, const struct tool_option *o, const char *value)
{
  opt.count_given = true;
  return opt_count (t, o, value);
}

static const struct tool_option status_options[] = {
    {"watch", 0, NULL, opt_flag, &opt.watch,
     "print again and again, until interrupted"},
    {"interval", 0, "TIME", opt_seconds, &opt.interval_ms,
     "how long between two times (2s)"},
    {"count", 0, "N", opt_snapshots, &opt.count, "print N times, then end"},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const struct verb verb_status = {
    .name = "status",
    .synopsis = "[OPTION]... [ARRAY]...",
    .summary = "Print how arrays are, as /proc/mdstat does",
    .options = status_options,
    .run = status_run,
};
