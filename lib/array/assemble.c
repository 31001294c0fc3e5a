/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Assembly: who is the freshest member, who sits in which slot, and may the
 * array start?  Follows what Linux and mdadm do with an explicit list of
 * members, and is stricter where they trust what they find:
 *
 *   - a member that another one, at most one update older, recorded as failed
 *     is never more than a rebuild target, and never the freshest; two that
 *     recorded each other have separate histories: refused
 *   - a spare (which all updates reach) that is two or more updates ahead of
 *     all members with a slot proves that newer members are missing: refused
 *   - the array is dirty if any of the newest members says so
 *
 * One update apart is tolerated because a crash can hit in the middle of
 * writing the superblocks of one update.  Two apart missed a whole one.
 *
 * Nothing here depends on the order of the candidates: all passes run over a
 * sorted list, so that even the texts are the same.  A pure decision over
 * data already read; no locks, no I/O.
 */
#include <config.h>

#include "assemble_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECOVERY_UNIT_SECTORS 8 /* md compares recovery_offset in 4 KiB */
#define SLOTS_BYTES 400
#define TABLE_BYTES 1400

struct entry {
  struct candidate *c;
  bool ours;    /* a valid superblock of the array at hand */
  bool claims;  /* its own table gives it a slot, or makes it the journal */
  bool current; /* claims, and at most one update behind */
  const struct entry *failed_by; /* a current one that recorded it as failed */
};

struct work {
  const struct candidate *base; /* as given */
  struct entry *entries;        /* sorted */
  size_t nr;
  const struct assemble_options *opt;
  struct assembly *a;
  struct entry *freshest;
  struct uraid_error *e;
};

static const char more_remarks[] = "\n(more remarks left out)";

static void remark (struct work *w, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Add one line.  The list keeps room for the line that says it was cut. */
static void
remark (struct work *w, const char *fmt, ...)
{
  char *const list = w->a->remarks;
  const size_t room = sizeof w->a->remarks - sizeof more_remarks;
  const size_t used = strlen (list);
  char line[1024];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (line, sizeof line, fmt, ap);
  va_end (ap);
  if (strstr (list, more_remarks) != NULL)
    return;
  if (used + 1 + strlen (line) > room)
    memcpy (list + used, more_remarks, sizeof more_remarks);
  else
    snprintf (list + used, sizeof w->a->remarks - used, "%s%s",
              used > 0 ? "\n" : "", line);
}

static uint16_t
role_of_number (const struct sb1 *table, uint32_t dev_number)
{
  return dev_number < SB1_MAX_DEV ? table->dev_roles[dev_number]
                                  : SB1_ROLE_SPARE;
}

/* A is not older than one update before B. */
static bool
within_one (uint64_t a, uint64_t b)
{
  return a >= b || b - a == 1;
}

/* A total order that knows nothing of the order they were given in. */
static int
compare_entries (const void *va, const void *vb)
{
  const struct candidate *a = ((const struct entry *)va)->c;
  const struct candidate *b = ((const struct entry *)vb)->c;
  int r = strcmp (a->address != NULL ? a->address : "",
                  b->address != NULL ? b->address : "");

  if (r == 0)
    r = (a->is_spare_arg > b->is_spare_arg) -
        (a->is_spare_arg < b->is_spare_arg);
  if (r == 0)
    r = (a->state > b->state) - (a->state < b->state);
  if (r == 0 && a->state == CAND_MD)
    r = memcmp (a->sb.device_uuid, b->sb.device_uuid, 16);
  if (r == 0 && a->state == CAND_MD)
    r = (a->sb.events > b->sb.events) - (a->sb.events < b->sb.events);
  if (r == 0)
    r = strcmp (a->why.text, b->why.text);
  return r;
}

/* --- what each candidate is, alone --- */

static int
check_states (struct work *w)
{
  size_t i;

  for (i = 0; i < w->nr; i++) {
    struct candidate *c = w->entries[i].c;

    if (c->missing_word)
      continue;
    if (c->state == CAND_UNREACHABLE)
      remark (w, "%s %s cannot be reached: %.600s",
              c->is_spare_arg ? "spare" : "member", c->address, c->why.text);
    else if (c->state == CAND_BLANK && c->is_spare_arg &&
             c->why.text[0] == '\0')
      c->verdict = VERDICT_BLANK_SPARE;
    else if (c->state != CAND_MD)
      return assemble_refuse_not_md (c, w->e);
    else
      w->entries[i].ours = true;
  }
  return 0;
}

/* --- is it one array, each member once? --- */

static int
check_uuid_asked_for (struct work *w)
{
  const struct candidate *other = NULL;
  bool found = false;
  char text[36], asked[36];
  size_t i;

  sb1_uuid_text (w->opt->uuid, asked);
  for (i = 0; i < w->nr; i++) {
    struct entry *x = &w->entries[i];

    if (!x->ours)
      continue;
    if (memcmp (x->c->sb.set_uuid, w->opt->uuid, 16) == 0) {
      found = true;
      continue;
    }
    x->ours = false;
    if (other == NULL)
      other = x->c;
    sb1_uuid_text (x->c->sb.set_uuid, text);
    remark (w, "%s is not used: it belongs to array %s, asked for is %s",
            x->c->address, text, asked);
  }
  if (found || other == NULL)
    return 0;
  sb1_uuid_text (other->sb.set_uuid, text);
  return uraid_error_set (w->e, EINVAL,
                          "no member belongs to array %s: %s belongs to %s; "
                          "correct uuid= or the addresses",
                          asked, other->address, text);
}

static int
check_same_array (struct work *w)
{
  const struct candidate *first = NULL;
  char a[36], b[36];
  size_t i;

  if (w->opt->has_uuid)
    return check_uuid_asked_for (w);
  for (i = 0; i < w->nr; i++) {
    const struct candidate *c = w->entries[i].c;

    if (!w->entries[i].ours)
      continue;
    if (first == NULL)
      first = c;
    if (memcmp (first->sb.set_uuid, c->sb.set_uuid, 16) == 0)
      continue;
    sb1_uuid_text (first->sb.set_uuid, a);
    sb1_uuid_text (c->sb.set_uuid, b);
    return uraid_error_set (
        w->e, EINVAL,
        "members of different arrays: %s belongs to %s, %s to %s; leave out "
        "what does not belong here, or choose with uuid=",
        first->address, a, c->address, b);
  }
  return 0;
}

/* A clone, or two addresses of one export.  Stale ones count too: which of
 * the two was it that failed?  (All zero: made by something that has no such
 * numbers.)
 */
static int
check_given_twice (struct work *w)
{
  static const uint8_t none[16];
  char text[36], bx[ASSEMBLE_WHO_BYTES], by[ASSEMBLE_WHO_BYTES];
  size_t i, j;

  for (i = 0; i < w->nr; i++) {
    const struct entry *x = &w->entries[i];

    if (!x->ours || memcmp (x->c->sb.device_uuid, none, 16) == 0)
      continue;
    for (j = i + 1; j < w->nr; j++) {
      const struct entry *y = &w->entries[j];

      if (!y->ours ||
          memcmp (x->c->sb.device_uuid, y->c->sb.device_uuid, 16) != 0)
        continue;
      sb1_uuid_text (x->c->sb.device_uuid, text);
      return uraid_error_set (
          w->e, EINVAL,
          "the same member twice, or copies of it (device uuid %s): %s and "
          "%s; leave out one of them",
          text, assemble_who (x->c, bx), assemble_who (y->c, by));
    }
  }
  return 0;
}

/* --- the freshest --- */

/* X's table has Y as failed.  No accusation: Y came back to be rebuilt in the
 * one update that X missed.
 */
static bool
recorded_failed (const struct entry *x, const struct entry *y)
{
  const struct sb1 *sx = &x->c->sb, *sy = &y->c->sb;

  return sx->dev_number != sy->dev_number &&
         role_of_number (sx, sy->dev_number) == SB1_ROLE_FAULTY &&
         !(sy->events > sx->events &&
           (sy->feature_map & SB1_F_RECOVERY_OFFSET) != 0);
}

static int
refuse_histories (struct work *w, const struct entry *x, const struct entry *y)
{
  return uraid_error_set (
      w->e, EINVAL,
      "two histories of one array: %s (events %" PRIu64
      ") recorded %s (events "
      "%" PRIu64 ") as failed, which is not older and %s; data of one of them "
      "will be lost: compare them, then leave out the one that is not wanted",
      x->c->address, x->c->sb.events, y->c->address, y->c->sb.events,
      recorded_failed (y, x) ? "recorded the former as failed"
                             : "knows nothing of it");
}

static int
find_failed (struct work *w)
{
  size_t i, j;

  for (i = 0; i < w->nr; i++) {
    struct entry *y = &w->entries[i];

    for (j = 0; y->current && j < w->nr; j++) {
      const struct entry *x = &w->entries[j];

      if (!x->current || !recorded_failed (x, y))
        continue;
      if (recorded_failed (y, x))
        return refuse_histories (w, x, y);
      if (y->failed_by == NULL)
        y->failed_by = x;
    }
  }
  return 0;
}

/* X is to be preferred to Y; both have the greatest events.  A forced start
 * can leave ties of which one is dirty: the one that owes more is right.
 */
static bool
fresher (const struct entry *x, const struct entry *y)
{
  const struct sb1 *sx = &x->c->sb, *sy = &y->c->sb;

  if (sx->resync_offset_sectors != sy->resync_offset_sectors)
    return sx->resync_offset_sectors < sy->resync_offset_sectors;
  if (sb1_role (sx) != sb1_role (sy))
    return sb1_role (sx) < sb1_role (sy);
  return sx->dev_number < sy->dev_number;
}

static int
refuse_no_slots (struct work *w)
{
  char table[TABLE_BYTES];

  assemble_table (w->base, w->nr, table, sizeof table);
  return uraid_error_set (w->e, ENXIO,
                          "no member with a slot of the array is here; bring "
                          "back the missing members:\n%s",
                          table);
}

/* Mark who claims a slot and who of them is current; the greatest events. */
static bool
find_current (struct work *w)
{
  bool any = false;
  size_t i;

  for (i = 0; i < w->nr; i++) {
    struct entry *x = &w->entries[i];
    const uint16_t role = x->ours ? sb1_role (&x->c->sb) : SB1_ROLE_SPARE;

    x->claims = x->ours && (role == SB1_ROLE_JOURNAL ||
                            assemble_is_slot (role, x->c->sb.raid_disks));
    if (!x->claims)
      continue;
    any = true;
    if (x->c->sb.events > w->a->events)
      w->a->events = x->c->sb.events;
  }
  for (i = 0; i < w->nr; i++) {
    struct entry *x = &w->entries[i];

    x->current = x->claims && within_one (x->c->sb.events, w->a->events);
  }
  return any;
}

/* Spares get every update, so one that is well ahead of all members with a
 * slot saw members that are newer than these.
 */
static int
check_newer_elsewhere (struct work *w)
{
  char buf[ASSEMBLE_WHO_BYTES];
  size_t i;

  for (i = 0; i < w->nr; i++) {
    const struct entry *x = &w->entries[i];

    if (x->ours && !x->claims && !within_one (w->a->events, x->c->sb.events))
      return uraid_error_set (
          w->e, ENXIO,
          "newer members exist and are not here: %s has events %" PRIu64
          ", the newest member with a slot has %" PRIu64
          "; give the newer members, or leave this one out to go back to the "
          "older state",
          assemble_who (x->c, buf), x->c->sb.events, w->a->events);
  }
  return 0;
}

static int
find_freshest (struct work *w)
{
  const struct entry *failed = NULL;
  size_t i;
  int r;

  if (!find_current (w))
    return refuse_no_slots (w);
  if ((r = check_newer_elsewhere (w)) < 0 || (r = find_failed (w)) < 0)
    return r;
  for (i = 0; i < w->nr; i++) {
    struct entry *x = &w->entries[i];

    if (!x->claims || x->c->sb.events != w->a->events)
      continue;
    if (x->failed_by != NULL)
      failed = x;
    else if (w->freshest == NULL || fresher (x, w->freshest))
      w->freshest = x;
  }
  if (w->freshest == NULL)
    return refuse_histories (w, failed->failed_by, failed);
  w->a->freshest = w->freshest->c;
  w->a->raid_disks = w->freshest->c->sb.raid_disks;
  return 0;
}

/* --- does each fit? --- */

/* A rebuild target that does not fit stands in nobody's way. */
static void
check_stale (struct work *w, struct candidate *c)
{
  struct uraid_error why;

  if (c->state == CAND_MD &&
      (assemble_check_alike (w->a->freshest, c, &why) < 0 ||
       assemble_check_fit (c, &w->a->freshest->sb, w->opt->will_write, &why) <
           0)) {
    c->verdict = VERDICT_UNUSED;
    c->why = why;
    remark (w, "%s is not used, also not as a rebuild target: %.700s",
            c->address, why.text);
  }
}

static int
check_all_fit (struct work *w)
{
  size_t i;
  int r;

  for (i = 0; i < w->nr; i++) {
    struct candidate *c = w->entries[i].c;

    if (c->verdict == VERDICT_UNUSED)
      continue;
    if (c->verdict == VERDICT_STALE) {
      check_stale (w, c);
      continue;
    }
    if (c->state == CAND_MD &&
        (r = assemble_check_alike (w->a->freshest, c, w->e)) < 0)
      return r;
    if ((r = assemble_check_fit (c, &w->a->freshest->sb, w->opt->will_write,
                                 w->e)) < 0)
      return r;
  }
  return 0;
}

/* --- who is what --- */

static void
set_stale (struct work *w, const struct entry *x)
{
  const struct sb1 *sb = &x->c->sb;
  const uint64_t max = w->a->events;
  char buf[ASSEMBLE_WHO_BYTES];

  x->c->verdict = VERDICT_STALE;
  assemble_who (x->c, buf);
  if (!x->claims && sb->events > max) {
    /* Never overwrite what is newer than the array. */
    x->c->verdict = VERDICT_UNUSED;
    remark (w,
            "%s is not used: its own superblock records it as failed, but has "
            "events %" PRIu64 ", newer than the array's %" PRIu64,
            buf, sb->events, max);
  }
  else if (!x->claims)
    remark (w,
            "%s is stale: its own superblock records it as failed (events "
            "%" PRIu64 "); it needs a rebuild",
            buf, sb->events);
  else if (x->failed_by != NULL)
    remark (w,
            "%s is stale: recorded as failed by %s (events %" PRIu64
            ", the other's %" PRIu64 "); it needs a rebuild",
            buf, x->failed_by->c->address, sb->events,
            x->failed_by->c->sb.events);
  else if (sb1_role (sb) == SB1_ROLE_JOURNAL) {
    x->c->verdict = VERDICT_UNUSED;
    remark (w, "%s is not used: an old journal device", buf);
  }
  else
    remark (w,
            "%s is stale: events %" PRIu64 ", needed are %" PRIu64
            " (newest: %" PRIu64 " on %s); it needs a rebuild",
            buf, sb->events, max - 1, max, w->freshest->c->address);
}

static void
set_in_slot (const struct work *w, struct candidate *c, unsigned slot)
{
  const struct sb1 *f = &w->freshest->c->sb;
  const uint64_t size_sectors =
      f->size_sectors - f->size_sectors % f->chunk_sectors;
  const uint64_t recovered_sectors =
      c->sb.recovery_offset_sectors -
      c->sb.recovery_offset_sectors % RECOVERY_UNIT_SECTORS;

  c->slot = slot;
  c->verdict = VERDICT_IN_SYNC;
  if ((c->sb.feature_map & SB1_F_RECOVERY_OFFSET) == 0)
    return;
  c->verdict = VERDICT_RECOVERING;
  c->recovered_sectors =
      recovered_sectors < size_sectors ? recovered_sectors : size_sectors;
}

/* X is current and nobody recorded it as failed: what the freshest says. */
static int
set_current (struct work *w, struct entry *x)
{
  const struct candidate *f = w->freshest->c;
  const uint16_t own = sb1_role (&x->c->sb);
  const uint16_t role = role_of_number (&f->sb, x->c->sb.dev_number);

  if (own == SB1_ROLE_JOURNAL || role == SB1_ROLE_JOURNAL)
    return uraid_error_set (w->e, EOPNOTSUPP,
                            "%s is a journal device (JOURNAL, 0x%x), not "
                            "supported: the newest data may be only there; "
                            "remove the journal with mdadm first",
                            x->c->address, SB1_F_JOURNAL);
  if (!assemble_is_slot (role, f->sb.raid_disks)) {
    x->c->verdict = VERDICT_SPARE;
    remark (w, "%s claims slot %u, but is no more than a spare for %s",
            x->c->address, own, f->address);
    return 0;
  }
  if (own != role)
    return uraid_error_set (
        w->e, EINVAL,
        "%s claims slot %u, but has slot %u on %s (dev_number %" PRIu32
        "); leave it out",
        x->c->address, own, role, f->address, x->c->sb.dev_number);
  set_in_slot (w, x->c, role);
  return 0;
}

static int
set_verdicts (struct work *w)
{
  size_t i;
  int r;

  for (i = 0; i < w->nr; i++) {
    struct entry *x = &w->entries[i];
    const uint16_t own = x->ours ? sb1_role (&x->c->sb) : 0;

    if (!x->ours)
      continue;
    if (!x->claims && own != SB1_ROLE_FAULTY)
      x->c->verdict = VERDICT_SPARE;
    else if (!x->current || x->failed_by != NULL)
      set_stale (w, x);
    else if ((r = set_current (w, x)) < 0)
      return r;
  }
  return 0;
}

static bool
in_slot (const struct candidate *c)
{
  return c->verdict == VERDICT_IN_SYNC || c->verdict == VERDICT_RECOVERING;
}

/* Among those that are in. */
static int
check_unique (struct work *w)
{
  size_t i, j;

  for (i = 0; i < w->nr; i++) {
    const struct candidate *x = w->entries[i].c;

    for (j = i + 1; j < w->nr; j++) {
      const struct candidate *y = w->entries[j].c;

      if ((!in_slot (x) && x->verdict != VERDICT_SPARE) ||
          (!in_slot (y) && y->verdict != VERDICT_SPARE))
        continue;
      if (in_slot (x) && in_slot (y) && x->slot == y->slot)
        return uraid_error_set (
            w->e, EINVAL,
            "two members for slot %u: %s and %s (dev_number "
            "%" PRIu32 " and %" PRIu32 "); leave out one of them",
            x->slot, x->address, y->address, x->sb.dev_number,
            y->sb.dev_number);
      if (x->sb.dev_number == y->sb.dev_number)
        return uraid_error_set (w->e, EINVAL,
                                "%s and %s have the same dev_number %" PRIu32
                                "; leave out one of them",
                                x->address, y->address, x->sb.dev_number);
    }
  }
  return 0;
}

/* --- may it start? --- */

static void
fill_slots (struct work *w)
{
  struct assembly *a = w->a;
  size_t i;

  for (i = 0; i < w->nr; i++) {
    const struct candidate *c = w->entries[i].c;

    if (!in_slot (c))
      continue;
    a->slot_candidate[c->slot] = (int)(c - w->base);
    if (c->verdict == VERDICT_IN_SYNC)
      a->in_sync++;
    else
      a->recovering++;
  }
  a->missing = a->raid_disks - a->in_sync - a->recovering;
}

/* Dirty if one of the newest says so.  With all members in sync also if one
 * that missed the last update does: a crash on the way to clean.
 */
static void
find_dirty (struct work *w)
{
  struct assembly *a = w->a;
  const uint64_t size_sectors = w->freshest->c->sb.size_sectors;
  uint64_t smallest_sectors = SB1_MAX;
  size_t i;

  for (i = 0; i < w->nr; i++) {
    const struct candidate *c = w->entries[i].c;

    if (!in_slot (c) || c->sb.resync_offset_sectors == SB1_MAX)
      continue;
    if (c->sb.events == a->events || a->in_sync == a->raid_disks)
      a->dirty = true;
    if (c->sb.resync_offset_sectors < smallest_sectors)
      smallest_sectors = c->sb.resync_offset_sectors;
  }
  if (a->dirty)
    a->resync_offset_sectors =
        smallest_sectors < size_sectors ? smallest_sectors : size_sectors;
}

/* "slot 3 (missing), slot 5 (recovering)" */
static const char *
slots_text (const struct work *w, char buf[SLOTS_BYTES])
{
  size_t n = 0;
  unsigned i;

  buf[0] = '\0';
  for (i = 0; i < w->a->raid_disks; i++) {
    const int at = w->a->slot_candidate[i];

    if (at >= 0 && w->base[at].verdict == VERDICT_IN_SYNC)
      continue;
    if (n > SLOTS_BYTES - 40) {
      snprintf (buf + n, SLOTS_BYTES - n, " and more");
      break;
    }
    n += (size_t)snprintf (buf + n, SLOTS_BYTES - n, "%sslot %u (%s)",
                           n > 0 ? ", " : "", i,
                           at >= 0 ? "recovering" : "missing");
  }
  return buf;
}

static int
check_enough (struct work *w)
{
  const struct assembly *a = w->a;
  const int32_t level = a->freshest->sb.level;
  const unsigned needed = a->raid_disks - (level == 6 ? 2 : 1);
  char slots[SLOTS_BYTES], table[TABLE_BYTES];

  slots_text (w, slots);
  if (a->in_sync < needed) {
    assemble_table (w->base, w->nr, table, sizeof table);
    return uraid_error_set (
        w->e, ENXIO,
        "too few members: %u of %u are in sync, needed are %u: %s; bring back "
        "the missing ones (a forced start from stale members is not offered "
        "yet):\n%s",
        a->in_sync, a->raid_disks, needed, slots, table);
  }
  if (a->in_sync < a->raid_disks && !w->opt->start_degraded)
    return uraid_error_set (
        w->e, ENXIO,
        "degraded: %u of %u members are in sync: %s; bring back the missing "
        "ones, or start with start-degraded=yes",
        a->in_sync, a->raid_disks, slots);
  return 0;
}

static int
check_dirty_degraded (struct work *w)
{
  static const char risk[] =
      "stripes that were being written may have parity that does not match, "
      "and what is computed for those slots there is then wrong, also in "
      "blocks nobody was writing";
  const struct assembly *a = w->a;
  char slots[SLOTS_BYTES];

  if (!a->dirty || a->in_sync == a->raid_disks)
    return 0;
  slots_text (w, slots);
  if (w->opt->will_write && !w->opt->start_dirty_degraded)
    return uraid_error_set (
        w->e, EUCLEAN,
        "dirty and degraded: the array was not stopped cleanly and lacks %s: "
        "%s; bring back the missing members, or read with -r, or accept this "
        "with start-dirty-degraded=yes",
        slots, risk);
  remark (w, "dirty and degraded, %s: lacks %s: %s",
          w->opt->start_dirty_degraded ? "started as asked for"
                                       : "but read-only",
          slots, risk);
  return 0;
}

static int
decide (struct work *w)
{
  int r;

  if ((r = check_states (w)) < 0 || (r = check_same_array (w)) < 0 ||
      (r = check_given_twice (w)) < 0 || (r = find_freshest (w)) < 0)
    return r;
  /* First of all: is what the others are measured against sound? */
  if ((r = assemble_check_fit (w->a->freshest, &w->a->freshest->sb,
                               w->opt->will_write, w->e)) < 0 ||
      (r = set_verdicts (w)) < 0 || (r = check_all_fit (w)) < 0 ||
      (r = check_unique (w)) < 0)
    return r;
  fill_slots (w);
  find_dirty (w);
  if ((r = check_enough (w)) < 0)
    return r;
  return check_dirty_degraded (w);
}

int
assemble (struct candidate *c, size_t nr, const struct assemble_options *opt,
          struct assembly *ret, struct uraid_error *e)
{
  struct work w = {.base = c, .nr = nr, .opt = opt, .a = ret, .e = e};
  size_t i;
  int r;

  memset (ret, 0, sizeof *ret);
  ret->resync_offset_sectors = SB1_MAX;
  for (i = 0; i < GEOMETRY_MAX_DISKS; i++)
    ret->slot_candidate[i] = -1;
  w.entries = calloc (nr > 0 ? nr : 1, sizeof *w.entries);
  if (w.entries == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory (%zu members)", nr);
  for (i = 0; i < nr; i++) {
    c[i].verdict = VERDICT_UNUSED;
    c[i].slot = 0;
    c[i].recovered_sectors = 0;
    w.entries[i].c = &c[i];
  }
  qsort (w.entries, nr, sizeof *w.entries, compare_entries);
  r = decide (&w);
  free (w.entries);
  return r;
}
