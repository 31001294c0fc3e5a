/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid examine: the options, and what is said about each member.  The forms
 * of output are in examine_text.c, examine_parts.c and examine_json.c.  Reads
 * only.  One thread, no locks.
 */
#include <config.h>

#include "examine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
  bool export_lines, brief, scan, bitmap, badblocks, verbose;
} o;

static const struct tool_option options[] = {
    {"export", 'Y', NULL, opt_flag, &o.export_lines,
     "print MD_KEY=VALUE lines"},
    {"brief", 'b', NULL, opt_flag, &o.brief, "print ARRAY lines"},
    {"scan", 's', NULL, opt_flag, &o.scan, "the same as --brief"},
    {"verbose", 'v', NULL, opt_flag, &o.verbose,
     "more words in the ARRAY lines"},
    {"bitmap", 'X', NULL, opt_flag, &o.bitmap,
     "print the write-intent bitmap"},
    {"badblocks", 0, NULL, opt_flag, &o.badblocks,
     "print the list of bad blocks"},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

/* --- notes -------------------------------------------------------------- */

struct notes {
  void (*call) (void *user, const char *text);
  void *user;
};

static void __attribute__ ((format (printf, 2, 3)))
note (const struct notes *n, const char *fmt, ...)
{
  char text[2560];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (text, sizeof text, fmt, ap);
  va_end (ap);
  n->call (n->user, text);
}

void
examine_homehost (const struct sb1 *sb, char ret[33])
{
  char *colon;

  look_name (sb, ret);
  colon = strchr (ret, ':');
  if (colon != NULL)
    *colon = '\0';
  else
    ret[0] = '\0';
}

/* Superblocks at the other places: copies, leftovers, strangers. */
static void
note_places (const struct look *l, const struct notes *n)
{
  char uuid[36];
  unsigned i;

  for (i = 0; i < 3; ++i) {
    const struct look_place *p = &l->place[i];

    if (p->sb == NULL || (int)i == l->best)
      continue;
    sb1_uuid_text (p->sb->set_uuid, uuid);
    if (p->misplaced)
      note (n,
            "a superblock of array %.35s at byte %" PRIu64
            " says that it belongs to byte %" PRIu64
            ": found, not supported there",
            uuid, sb1_place_sectors (i, l->dev_sectors) * 512,
            p->sb->super_offset_sectors * 512);
    else
      note (n, "a second superblock, metadata 1.%u of array %.35s: %s", i,
            uuid, p->result < 0 ? p->e.text : "the newer of the two counts");
  }
}

static void
note_foreign (const struct look *l, const struct notes *n)
{
  size_t i;

  for (i = 0; i < l->nr_signatures; ++i)
    if (!look_is_md1 (l, &l->signatures[i]))
      note (n, "found, not supported: %s at byte %" PRIu64,
            l->signatures[i].name, l->signatures[i].offset_bytes);
}

void
examine_notes (struct look *l, void (*call) (void *user, const char *text),
               void *user)
{
  const struct notes n = {.call = call, .user = user};
  const struct sb1 *sb = look_sb (l);
  struct uraid_error e = {.err = 0};

  note_places (l, &n);
  if (sb == NULL || sb->data_offset_sectors != 0)
    note_foreign (l, &n); /* else it may be what is in the array */
  if (sb != NULL && look_sb_valid (l) &&
      sb1_judge (sb, l->dev_sectors, 0, true, &e) < 0)
    note (&n, "not served read-write: %s", e.text);
}

struct note_target {
  struct tool *t;
  const char *address;
};

static void
print_note (void *user, const char *text)
{
  const struct note_target *to = user;

  tool_note (to->t, to->address, "%s", text);
}

/* --- one member --------------------------------------------------------- */

static int
no_superblock (struct tool *t, const struct look *l)
{
  size_t i;

  for (i = 0; i < 3; ++i)
    if (l->place[i].misplaced)
      return tool_fail (t, TOOL_FAILED, ENOENT, "examine", l->address, NULL,
                        "%s", l->place[i].e.text);
  if (l->nr_signatures > 0)
    return tool_fail (t, TOOL_FAILED, ENOENT, "examine", l->address, NULL,
                      "no md superblock that is supported; found: %s",
                      l->signatures[0].name);
  return tool_fail (t, TOOL_FAILED, ENOENT, "examine", l->address, NULL,
                    "no md superblock found (size %" PRIu64 " bytes)",
                    l->dev_bytes);
}

static int
examine_one (struct tool *t, struct look *l, const char *host)
{
  struct note_target to = {.t = t, .address = l->address};
  const struct sb1 *sb = look_sb (l);
  int code = TOOL_OK;

  if (sb == NULL) {
    code = no_superblock (t, l);
    examine_notes (l, print_note, &to);
    return code;
  }
  if (o.bitmap)
    return examine_print_bitmap (t, l);
  if (o.badblocks)
    return examine_print_badblocks (t, l);
  if (o.export_lines)
    examine_print_export (sb);
  else {
    printf ("%s:\n", l->address);
    examine_print_text (l, host);
  }
  if (!look_sb_valid (l))
    code = tool_fail (t, TOOL_FAILED, EINVAL, "examine", l->address, NULL,
                      "%s", l->place[l->best].e.text);
  if (!o.export_lines)
    examine_notes (l, print_note, &to);
  return code;
}

/* The exit code for what could not be shown, with its text. */
static int
tell_missing (struct tool *t, struct look *l)
{
  if (!l->readable)
    return look_tell (t, l, "examine");
  if (look_sb (l) == NULL)
    return no_superblock (t, l);
  if (!look_sb_valid (l))
    return tool_fail (t, TOOL_FAILED, EINVAL, "examine", l->address, NULL,
                      "%s", l->place[l->best].e.text);
  return TOOL_OK;
}

static int
examine_all (struct tool *t, struct look *l)
{
  char host[256] = "";
  int code = TOOL_OK;
  size_t i;

  if (t->json || o.brief) {
    if (t->json)
      code = examine_print_json (t, l, t->nr_args);
    else
      examine_print_brief (l, t->nr_args, o.verbose);
    for (i = 0; i < t->nr_args; ++i)
      code = tool_worse (code, tell_missing (t, &l[i]));
    return code;
  }
  if (gethostname (host, sizeof host - 1) < 0)
    host[0] = '\0';
  for (i = 0; i < t->nr_args; ++i) {
    if (!l[i].readable)
      code = tool_worse (code, look_tell (t, &l[i], "examine"));
    else
      code = tool_worse (code, examine_one (t, &l[i], host));
  }
  return code;
}

static int
examine_run (struct tool *t)
{
  struct look *l;
  int code;

  if (o.scan)
    o.brief = true;
  if (t->nr_args == 0)
    return tool_fail (t, TOOL_USAGE, EINVAL, "examine", NULL, NULL,
                      "no member given (an NBD URI or a path)");
  if (o.export_lines + o.brief + o.bitmap + o.badblocks + t->json > 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "examine", NULL, NULL,
                      "only one of --json, --export, --brief or --scan, "
                      "--bitmap and --badblocks can be given");
  l = look_open (t, t->args, t->nr_args, true);
  if (l == NULL)
    return TOOL_FAILED;
  code = examine_all (t, l);
  look_free (l, t->nr_args);
  return code;
}

const struct verb verb_examine = {
    .name = "examine",
    .synopsis = "[OPTION]... MEMBER...",
    .summary = "Show what the md superblocks on members say",
    .options = options,
    .run = examine_run,
};
