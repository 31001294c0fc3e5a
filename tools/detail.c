/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid detail: an array that is served, in the words and the order of mdadm
 * 4.2's --detail.  Members have addresses instead of major and minor numbers.
 * One thread, no locks.
 */
#include <config.h>

#include "detail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
  bool test, export_lines, stats;
} opt;

void
detail_line (const char *label, const char *fmt, ...)
{
  va_list ap;

  printf ("%18s : ", label);
  va_start (ap, fmt);
  vprintf (fmt, ap);
  va_end (ap);
  putchar ('\n');
}

/* --- the block of lines ------------------------------------------------- */

static void
print_head (const struct view *v)
{
  char date[32], human[64];

  detail_line ("Version", "%s", v->version);
  detail_line ("Creation Time", "%s", tool_date (v->created_utc, date));
  detail_line ("Raid Level", "%s", v->level_name);
  detail_line ("Array Size", "%" PRIu64 "%s", v->array_bytes / 1024,
               tool_human (v->array_bytes, human));
  detail_line ("Used Dev Size", "%" PRIu64 "%s", v->member_bytes / 1024,
               tool_human (v->member_bytes, human));
  detail_line ("Raid Devices", "%" PRIu64, v->raid_devices);
  detail_line ("Total Devices", "%u", v->in_sync + v->failed + v->spares);
  detail_line ("Persistence", "Superblock is persistent");
  putchar ('\n');
  if (v->has_bitmap) {
    detail_line ("Intent Bitmap", "Internal");
    putchar ('\n');
  }
}

/* The states between two are mdadm's "active". */
static const char *
state_word (const struct view *v)
{
  if (strcmp (v->state, "activating") == 0 ||
      strcmp (v->state, "cleaning") == 0)
    return "active";
  return v->state;
}

static const char *
activity (const struct view *v)
{
  if (strcmp (v->action, "recover") == 0)
    return ", recovering";
  if (strcmp (v->action, "resync") == 0)
    return ", resyncing";
  if (strcmp (v->action, "check") == 0 || strcmp (v->action, "repair") == 0)
    return ", checking";
  return v->resync_offset_bytes != VIEW_NONE ? ", resyncing (PENDING)" : "";
}

/* An array that was stopped cannot be used, but has not failed. */
static const char *
condition (const struct view *v)
{
  static const char *const words[] = {"", ", degraded", ", FAILED"};

  return strcmp (v->state, "stopped") == 0 ? "" : words[view_verdict (v)];
}

static void
print_state (const struct view *v)
{
  char date[32];

  detail_line ("Update Time", "%s", tool_date (v->updated_utc, date));
  /* mdadm's line ends in a blank, and scripts match it. */
  detail_line ("State", "%s%s%s ", state_word (v), condition (v),
               activity (v));
  detail_line ("Active Devices", "%u", v->in_sync);
  detail_line ("Working Devices", "%u", v->in_sync + v->spares);
  detail_line ("Failed Devices", "%u", v->failed);
  detail_line ("Spare Devices", "%u", v->spares);
  putchar ('\n');
}

static void
print_progress (const struct view *v)
{
  const char *label = "Resync Status";

  if (!view_has_progress (v))
    return;
  if (strcmp (v->action, "recover") == 0)
    label = "Rebuild Status";
  else if (strcmp (v->action, "resync") != 0)
    label = "Check Status";
  detail_line (
      label, "%u%% complete",
      (unsigned)((__uint128_t)v->position_bytes * 100 / v->total_bytes));
  putchar ('\n');
}

static void
print_identity (const struct view *v)
{
  char host[256] = "";
  size_t len;

  if (gethostname (host, sizeof host - 1) < 0)
    host[0] = '\0';
  len = strlen (host);
  if (len > 0 && strncmp (v->name, host, len) == 0 && v->name[len] == ':')
    detail_line ("Name", "%s  (local to host %s)", v->name, host);
  else
    detail_line ("Name", "%s", v->name);
  detail_line ("UUID", "%s", v->uuid);
  detail_line ("Events", "%" PRIu64, v->events);
  putchar ('\n');
}

/* --- the table ---------------------------------------------------------- */

static const char *
member_words (const struct view_member *m)
{
  switch (m->state) {
  case VIEW_IN_SYNC:
    return "active sync";
  case VIEW_RECOVERING:
    return "spare rebuilding";
  case VIEW_MISSING:
    /* mdadm's word for a slot that nobody is known for. */
    return m->address == NULL ? "removed" : "missing";
  case VIEW_SPARE:
  case VIEW_FAULTY:
  case VIEW_STALE:
  case VIEW_OTHER:
    break;
  }
  return m->word;
}

static const char *
number_text (uint64_t n, char buf[24])
{
  snprintf (buf, 24, "%" PRIu64, n);
  return n == VIEW_NONE ? "-" : buf;
}

/* In a line of its own, so that an address is the last word of a line. */
static void
print_reason (const struct view_member *m)
{
  char reason[VIEW_REASON_BYTES], date[32];

  if (view_reason (m, reason)[0] == '\0')
    return;
  printf ("%24slost: %s", "", reason);
  if (m->since_utc != VIEW_NONE)
    printf (", since %s", tool_date (m->since_utc, date));
  putchar ('\n');
}

static void
print_table (const struct view *v)
{
  const struct view_member *m;
  char number[24], slot[24];
  bool apart = false;
  size_t i;

  printf ("    Number   RaidDevice State              Address\n");
  for (i = 0; i < v->nr_members; ++i) {
    m = &v->members[i];
    if (m->slot == VIEW_NONE && !apart) {
      apart = true;
      putchar ('\n');
    }
    printf ("   %5s     %5s      ", number_text (m->number, number),
            number_text (m->slot, slot));
    if (m->address != NULL)
      printf ("%-16s   %s\n", member_words (m), m->address);
    else
      printf ("%s\n", member_words (m));
    print_reason (m);
  }
}

static void
print_text (const char *shown, const struct view *v)
{
  printf ("%s:\n", shown);
  print_head (v);
  print_state (v);
  if (v->layout != NULL && v->level != 4)
    detail_line ("Layout", "%s", v->layout);
  detail_line ("Chunk Size", "%" PRIu64 "K", v->chunk_bytes / 1024);
  putchar ('\n');
  detail_line ("Consistency Policy", "%s", v->policy);
  putchar ('\n');
  print_progress (v);
  print_identity (v);
  print_table (v);
}

/* --- MD_KEY=VALUE ------------------------------------------------------- */

static void
print_export (const struct view *v)
{
  const struct view_member *m;
  char key[48];
  size_t i;

  printf ("MD_LEVEL=%s\nMD_DEVICES=%" PRIu64 "\nMD_METADATA=%s\nMD_UUID=%s\n"
          "MD_NAME=%s\n",
          v->level_name, v->raid_devices, v->version, v->uuid, v->name);
  for (i = 0; i < v->nr_members; ++i) {
    m = &v->members[i];
    if (m->address == NULL) /* as mdadm: only who is there */
      continue;
    /* An address makes no key; the number of the device is as stable.  One
     * that nobody knows the number of has its place in the list.
     */
    if (m->number != VIEW_NONE)
      snprintf (key, sizeof key, "MD_DEVICE_%" PRIu64, m->number);
    else
      snprintf (key, sizeof key, "MD_DEVICE_unknown%zu", i);
    if (view_is_lost (m))
      printf ("%s_ROLE=%s\n", key, m->word);
    else if (m->slot != VIEW_NONE)
      printf ("%s_ROLE=%" PRIu64 "\n", key, m->slot);
    else
      printf ("%s_ROLE=spare\n", key);
    printf ("%s_DEV=%s\n", key, m->address);
  }
}

/* --- the verb ----------------------------------------------------------- */

static int
print_all (struct tool *t, const struct online *o, const struct view *v,
           json_t *result)
{
  char why[VIEW_WHY_BYTES];

  if (t->json)
    return online_print_json (t, json_incref (result));
  if (opt.export_lines) {
    print_export (v);
    return TOOL_OK;
  }
  print_text (o->shown, v);
  if (opt.stats && detail_print_stats (v, result, why) < 0)
    return online_nonsense (t, o, why);
  return TOOL_OK;
}

static int
detail_one (struct tool *t, const struct online *o)
{
  const struct online_call c = {.method = "detail"};
  char why[VIEW_WHY_BYTES];
  struct online_refusal r;
  struct view v;
  json_t *result;
  int code = online_call (t, o, &c, &result, &r);

  if (code == ONLINE_REFUSED)
    return online_tell (t, TOOL_UNREADABLE, "detail", o->shown, &r);
  if (code != 0)
    return code;
  if (view_parse (result, &v, why) < 0)
    code = online_nonsense (t, o, why);
  else {
    code = print_all (t, o, &v, result);
    if (code == TOOL_OK && opt.test)
      code = (int)view_verdict (&v);
    view_free (&v);
  }
  json_decref (result);
  return code;
}

static int
detail_run (struct tool *t)
{
  struct online o;
  int code;

  if (t->nr_args != 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "detail", NULL, NULL,
                      "exactly one array is wanted (a name or the path of a "
                      "control socket)");
  if (opt.export_lines && (opt.stats || t->json))
    return tool_fail (t, TOOL_USAGE, EINVAL, "detail", "--export", NULL,
                      "goes neither with --stats nor with --json");
  code = online_find (t, t->args[0], &o);
  return code != TOOL_OK ? code : detail_one (t, &o);
}

static const struct tool_option detail_options[] = {
    {"test", 't', NULL, opt_flag, &opt.test,
     "exit: 0 whole, 1 degraded, 2 unusable, 4 unknown"},
    {"stats", 0, NULL, opt_flag, &opt.stats,
     "also cache, workers, members, counters"},
    {"export", 'Y', NULL, opt_flag, &opt.export_lines,
     "print MD_KEY=VALUE lines"},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const struct verb verb_detail = {
    .name = "detail",
    .synopsis = "[OPTION]... ARRAY",
    .summary = "Print all about an array that is served",
    .options = detail_options,
    .run = detail_run,
};
