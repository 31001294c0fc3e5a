/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The table of all members in assembly messages: who they are, how new they
 * are, and what became of them.  Sorted, so that it does not depend on the
 * order given.  Pure functions, no locks, no I/O.
 */
#include <config.h>

#include "assemble.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_ADDRESS_WIDTH 40
#define NO_SLOT 0xffffu
#define ROW_BYTES 512
#define MORE_BYTES 32 /* room for the line "... and N more" */

static const char *
address_of (const struct candidate *c)
{
  return c->address != NULL ? c->address : "missing";
}

/* The slot it has, or had by its own table. */
static unsigned
slot_of (const struct candidate *c)
{
  uint16_t role;

  if (c->state != CAND_MD || c->missing_word)
    return NO_SLOT;
  if (c->verdict == VERDICT_IN_SYNC || c->verdict == VERDICT_RECOVERING)
    return c->slot;
  role = sb1_role (&c->sb);
  return role < SB1_ROLE_MAX && role < c->sb.raid_disks ? role : NO_SLOT;
}

/* Position in the table: by slot, then address, then place given (only for
 * what is alike in both).
 */
static bool
comes_before (const struct candidate *a, const struct candidate *b)
{
  int r;

  if (slot_of (a) != slot_of (b))
    return slot_of (a) < slot_of (b);
  r = strcmp (address_of (a), address_of (b));
  return r != 0 ? r < 0 : a < b;
}

/* The first row behind LAST (NULL: the first of all), NULL at the end.  No
 * sorted copy: this must not fail.
 */
static const struct candidate *
next_row (const struct candidate *c, size_t nr, const struct candidate *last)
{
  const struct candidate *best = NULL;
  size_t i;

  for (i = 0; i < nr; i++)
    if ((last == NULL || comes_before (last, &c[i])) &&
        (best == NULL || comes_before (&c[i], best)))
      best = &c[i];
  return best;
}

/* Do members in their slots have X as failed? */
static bool
recorded_failed (const struct candidate *c, size_t nr,
                 const struct candidate *x)
{
  size_t i;

  for (i = 0; i < nr; i++)
    if ((c[i].verdict == VERDICT_IN_SYNC ||
         c[i].verdict == VERDICT_RECOVERING) &&
        x->sb.dev_number < SB1_MAX_DEV &&
        c[i].sb.dev_roles[x->sb.dev_number] == SB1_ROLE_FAULTY)
      return true;
  return false;
}

static const char *
verdict_name (const struct candidate *c)
{
  switch (c->verdict) {
  case VERDICT_UNUSED:
    break;
  case VERDICT_IN_SYNC:
    return "in sync";
  case VERDICT_RECOVERING:
    return "recovering";
  case VERDICT_STALE:
    return "stale";
  case VERDICT_SPARE:
    return "spare";
  case VERDICT_BLANK_SPARE:
    return "blank spare";
  }
  return "not used";
}

static void
state_text (const struct candidate *c, size_t nr, const struct candidate *x,
            char *buf, size_t size)
{
  if (x->missing_word)
    snprintf (buf, size, "missing");
  else if (x->state == CAND_UNREACHABLE)
    snprintf (buf, size, "cannot be reached: %.80s", x->why.text);
  else if (x->state == CAND_BROKEN)
    snprintf (buf, size, "broken superblock: %.80s", x->why.text);
  else if (x->state == CAND_BLANK)
    snprintf (buf, size, "%s",
              x->verdict == VERDICT_BLANK_SPARE ? verdict_name (x)
                                                : "no md superblock");
  else
    snprintf (buf, size, "%s, %s%s", verdict_name (x),
              x->sb.resync_offset_sectors == SB1_MAX ? "clean" : "dirty",
              recorded_failed (c, nr, x) ? ", recorded as failed by the others"
                                         : "");
}

static void
time_text (const struct candidate *x, char *buf, size_t size)
{
  const time_t t = (time_t)sb1_time_seconds (x->sb.utime);
  struct tm tm;

  if (gmtime_r (&t, &tm) == NULL ||
      strftime (buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
    snprintf (buf, size, "%" PRIu64, sb1_time_seconds (x->sb.utime));
}

static void
row_text (const struct candidate *c, size_t nr, const struct candidate *x,
          int width, char row[ROW_BYTES])
{
  char slot[12] = "-", events[24] = "-", when[32] = "-", state[160];

  if (slot_of (x) != NO_SLOT)
    snprintf (slot, sizeof slot, "%u", slot_of (x));
  if (x->state == CAND_MD && !x->missing_word) {
    snprintf (events, sizeof events, "%" PRIu64, x->sb.events);
    time_text (x, when, sizeof when);
  }
  state_text (c, nr, x, state, sizeof state);
  snprintf (row, ROW_BYTES, "%4s  %-*.200s  %8s  %-19s  %s\n", slot, width,
            address_of (x), events, when, state);
}

void
assemble_table (const struct candidate *c, size_t nr, char *buf, size_t size)
{
  const struct candidate *x = NULL;
  char row[ROW_BYTES];
  size_t used, done = 0, i;
  int width = (int)strlen ("address");

  for (i = 0; i < nr; i++) {
    const size_t len = strlen (address_of (&c[i]));

    if (len > (size_t)width)
      width = len < MAX_ADDRESS_WIDTH ? (int)len : MAX_ADDRESS_WIDTH;
  }
  if (size == 0)
    return;
  snprintf (buf, size, "%4s  %-*s  %8s  %-19s  %s\n", "slot", width, "address",
            "events", "update time (UTC)", "state");
  used = strlen (buf);
  while ((x = next_row (c, nr, x)) != NULL) {
    row_text (c, nr, x, width, row);
    /* The last row needs no room for "... and N more" behind it. */
    if (used + strlen (row) + (done + 1 < nr ? MORE_BYTES : 0) >= size)
      break;
    memcpy (buf + used, row, strlen (row) + 1);
    used += strlen (row);
    done++;
  }
  if (done < nr)
    snprintf (buf + used, size - used, "... and %zu more\n", nr - done);
  else if (used > 0 && buf[used - 1] == '\n')
    buf[used - 1] = '\0'; /* it goes into messages */
}
