/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Why a member is not in service, since when, and which slot was its own: for
 * people, so that nobody who is lost vanishes from the read-outs.  Nothing is
 * decided by it.  Under the array lock; fault_at_start before any thread.
 */
#include <config.h>

#include "array_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void fault_set (struct array_member *am, unsigned slot, const char *fmt,
                       ...) __attribute__ ((format (printf, 3, 4)));

static void
fault_set (struct array_member *am, unsigned slot, const char *fmt, ...)
{
  va_list ap;

  am->fault_utc = (uint64_t)time (NULL);
  am->fault_slot = slot;
  va_start (ap, fmt);
  vsnprintf (am->fault_text, sizeof am->fault_text, fmt, ap);
  va_end (ap);
}

/* Messages of a member begin with its address (or "slot 3, ADDRESS"), which
 * is told apart here.
 */
static const char *
without_address (const struct array_member *am, const char *text)
{
  const char *at = strstr (text, am->cand->address);

  if (at == NULL)
    return text;
  at += strlen (am->cand->address);
  return strncmp (at, ": ", 2) == 0 ? at + 2 : text;
}

/* --- while we serve --- */

/* A command can fail before the loss of its connection was told (lane.c); then
 * what it failed with must do.
 */
static const char *
lost_text (const struct array_member *am, int err)
{
  if (am->m != NULL && atomic_load (&am->m->state) == MEMBER_LOST)
    return without_address (am, am->m->error.text);
  return err == ESHUTDOWN ? "the server is shutting down"
                          : "the server has closed the connection";
}

void
fault_note (struct array_member *am, enum slot_fault why, int err)
{
  bool has_slot = am->state == AM_IN_SYNC || am->state == AM_RECOVERING;
  unsigned slot = has_slot ? am->slot : am->fault_slot;

  /* The first reason is the cause, what comes later its consequence. */
  if (has_slot && am->fault_text[0] != '\0')
    return;
  switch (why) {
  case FAULT_LOST:
    fault_set (am, slot, "%s", lost_text (am, err));
    break;
  case FAULT_WRITE_ERROR:
    fault_set (am, slot, "the server refused a write or flush: %s",
               strerror (err));
    break;
  case FAULT_REWRITE:
    fault_set (am, slot,
               "a sector that could not be read could not be "
               "written anew: %s",
               strerror (err));
    break;
  }
}

void
fault_clear (struct array_member *am)
{
  am->fault_utc = 0;
  am->fault_slot = FAULT_NO_SLOT;
  am->fault_text[0] = '\0';
}

/* --- at the start --- */

static bool
is_ours (const struct array *a, const struct candidate *c)
{
  return c->state == CAND_MD &&
         memcmp (c->sb.set_uuid, a->as.freshest->sb.set_uuid, 16) == 0;
}

/* The slot that its own superblock names. */
static unsigned
own_slot (const struct array *a, const struct candidate *c)
{
  unsigned role = is_ours (a, c) ? sb1_role (&c->sb) : SB1_ROLE_SPARE;

  return role < a->geo.raid_disks ? role : FAULT_NO_SLOT;
}

static void
note_stale (const struct array *a, struct array_member *am)
{
  const struct sb1 *sb = &am->cand->sb, *f = &a->as.freshest->sb;
  unsigned slot = own_slot (a, am->cand);

  if (sb1_role (sb) == SB1_ROLE_FAULTY)
    fault_set (am, slot,
               "out of date: its own superblock records it as failed (events "
               "%" PRIu64 ", newest are %" PRIu64 ")",
               sb->events, a->as.events);
  else if (sb->dev_number < SB1_MAX_DEV &&
           f->dev_roles[sb->dev_number] == SB1_ROLE_FAULTY)
    fault_set (am, slot,
               "out of date: recorded as failed by the other members (events "
               "%" PRIu64 ", newest are %" PRIu64 ")",
               sb->events, a->as.events);
  else
    fault_set (am, slot,
               "out of date: events %" PRIu64 ", newest are %" PRIu64,
               sb->events, a->as.events);
}

/* What answers, but has no place in the array.  With uuid= there may be many,
 * of other arrays: they are of interest only when somebody is missing.
 */
static void
note_unfit (const struct array *a, struct array_member *am)
{
  const struct candidate *c = am->cand;
  unsigned slot = own_slot (a, c);
  char text[36];

  if (a->as.missing == 0)
    return;
  if (c->state == CAND_MD && !is_ours (a, c)) {
    sb1_uuid_text (c->sb.set_uuid, text);
    fault_set (am, slot, "wrong export: it belongs to array %s", text);
  }
  else if (c->why.text[0] != '\0')
    fault_set (am, slot, "cannot be used: %s",
               without_address (am, c->why.text));
  else
    fault_set (am, slot,
               "cannot be used: events %" PRIu64 ", the array's are %" PRIu64,
               c->sb.events, a->as.events);
}

static void
note_at_start (const struct array *a, struct array_member *am)
{
  const struct candidate *c = am->cand;

  fault_clear (am);
  if (am->state == AM_STALE)
    note_stale (a, am);
  else if (am->state != AM_UNUSED || c->missing_word)
    return;
  else if (c->state == CAND_UNREACHABLE)
    fault_set (am, FAULT_NO_SLOT, "%s",
               c->why.text[0] != '\0' ? without_address (am, c->why.text)
                                      : "cannot be reached");
  else
    note_unfit (a, am);
}

/* As many addresses as slots were given, one slot is empty, and one address
 * has no place: it can only be this slot's.
 */
static void
guess_slot (const struct array *a)
{
  struct array_member *only = NULL;

  if (a->as.missing != 1 || a->opt.nr_members != a->geo.raid_disks)
    return;
  for (size_t i = 0; i < a->opt.nr_members; i++) {
    struct array_member *am = &a->am[i];

    if (am->state == AM_IN_SYNC || am->state == AM_RECOVERING)
      continue;
    if (only != NULL || am->fault_text[0] == '\0')
      return;
    only = am;
  }
  for (unsigned slot = 0; slot < a->geo.raid_disks && only != NULL; slot++)
    if (a->as.slot_candidate[slot] < 0 && only->fault_slot == FAULT_NO_SLOT)
      only->fault_slot = slot;
}

void
fault_at_start (struct array *a)
{
  for (size_t i = 0; i < a->nr; i++)
    note_at_start (a, &a->am[i]);
  guess_slot (a);
}
