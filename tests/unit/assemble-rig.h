/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What the assembly tests share: candidates with superblocks built in memory,
 * and a run that decides as given and in random orders, and demands the same
 * outcome to the letter each time (field-R11).  To be included once in a test
 * program.  Single-threaded.
 */
#ifndef ASSEMBLE_RIG_H
#define ASSEMBLE_RIG_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "array/assemble.h"

#define DEV 204800 /* sectors: 100 MiB */
#define DATA 4096
#define SIZE 200704
#define CHUNK 128
#define MAX_NR 300
#define ORDERS 20

static struct candidate c[MAX_NR], mixed[MAX_NR];
static char addresses[MAX_NR][32];
static size_t nr;
static struct assemble_options opt;
static struct assembly got, other;
static struct uraid_error err, other_err;
static unsigned seed;

static inline unsigned
rnd (unsigned below)
{
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % below;
}

#define ck_text(word)                                                         \
  ck_assert_msg (strstr (err.text, word) != NULL, "no '%s' in: %s", word,     \
                 err.text)
#define ck_remark(word)                                                       \
  ck_assert_msg (strstr (got.remarks, word) != NULL, "no '%s' in: %s", word,  \
                 got.remarks)

/* Through bytes and back, as if it had been read. */
static inline void
encode (unsigned i)
{
  uint8_t raw[SB1_BYTES];
  struct uraid_error e;

  sb1_encode (&c[i].sb);
  memcpy (raw, c[i].sb.raw, sizeof raw);
  memset (&c[i].sb, 0x55, sizeof c[i].sb);
  ck_assert_msg (sb1_parse (raw, 2, DEV, &c[i].sb, &e) == 0, "%s", e.text);
}

/* One more candidate, in slot NUMBER of N, or a spare. */
static inline struct candidate *
add (unsigned n, unsigned number)
{
  struct candidate *x = &c[nr];
  struct sb1 *sb = &x->sb;
  unsigned i;

  memset (x, 0, sizeof *x);
  snprintf (addresses[nr], sizeof addresses[nr], "nbd://h/m%02zu", nr);
  x->address = addresses[nr];
  x->state = CAND_MD;
  x->dev_sectors = DEV;
  x->min_block_bytes = 512;
  x->bitmap_sectors = 8;
  sb->minor = 2;
  sb->feature_map = SB1_F_BITMAP;
  memset (sb->set_uuid, 0x11, sizeof sb->set_uuid);
  snprintf (sb->set_name, sizeof sb->set_name, "host:arr");
  sb->ctime = 1700000000;
  sb->utime = 1700000000;
  sb->level = 6;
  sb->layout = 2;
  sb->size_sectors = SIZE;
  sb->chunk_sectors = CHUNK;
  sb->raid_disks = n;
  sb->bitmap_offset_sectors = 8;
  sb->data_offset_sectors = DATA;
  sb->data_size_sectors = DEV - DATA;
  sb->super_offset_sectors = 8;
  sb->dev_number = number;
  memset (sb->device_uuid, (int)nr + 1, sizeof sb->device_uuid);
  sb->device_uuid[0] = (uint8_t)(nr >> 8 ^ 0x80);
  sb->events = 50;
  sb->resync_offset_sectors = SB1_MAX;
  sb->max_dev = n <= 120 ? 128 : 384;
  for (i = 0; i < SB1_MAX_DEV; i++)
    sb->dev_roles[i] = i < n ? (uint16_t)i : SB1_ROLE_SPARE;
  nr++;
  return x;
}

static inline void
make (unsigned n)
{
  unsigned i;

  nr = 0;
  for (i = 0; i < n; i++)
    add (n, i);
}

static inline struct candidate *
add_blank_spare (void)
{
  struct candidate *x = add (6, 0);

  memset (&x->sb, 0, sizeof x->sb);
  x->state = CAND_BLANK;
  x->is_spare_arg = true;
  return x;
}

static inline void
unreachable (unsigned i, const char *why)
{
  c[i].state = CAND_UNREACHABLE;
  uraid_error_set (&c[i].why, ECONNREFUSED, "%s", why);
}

/* In all tables but those of the members FROM and behind. */
static inline void
set_role (unsigned number, uint16_t role, unsigned from)
{
  unsigned i;

  for (i = 0; i < from; i++)
    c[i].sb.dev_roles[number] = role;
}

static inline void
set_events (const uint64_t *events, unsigned n)
{
  unsigned i;

  for (i = 0; i < n; i++)
    c[i].sb.events = events[i];
}

static inline const char *
at_slot (const struct assembly *a, const struct candidate *base, unsigned slot)
{
  return a->slot_candidate[slot] < 0 ? "none"
                                     : base[a->slot_candidate[slot]].address;
}

/* MIXED and OTHER against C and GOT. */
static inline void
compare_outcome (int r, int other_r)
{
  size_t i, j;
  unsigned s;

  ck_assert_int_eq (r, other_r);
  ck_assert_str_eq (err.text, other_err.text);
  ck_assert_str_eq (got.remarks, other.remarks);
  ck_assert (got.dirty == other.dirty);
  ck_assert_uint_eq (got.events, other.events);
  ck_assert_uint_eq (got.resync_offset_sectors, other.resync_offset_sectors);
  ck_assert_uint_eq (got.in_sync, other.in_sync);
  ck_assert_uint_eq (got.recovering, other.recovering);
  ck_assert_uint_eq (got.missing, other.missing);
  ck_assert ((got.freshest == NULL) == (other.freshest == NULL));
  if (got.freshest != NULL)
    ck_assert_str_eq (got.freshest->address, other.freshest->address);
  for (s = 0; s < GEOMETRY_MAX_DISKS; s++)
    if (strcmp (at_slot (&got, c, s), at_slot (&other, mixed, s)) != 0)
      ck_abort_msg ("slot %u: %s, or %s", s, at_slot (&got, c, s),
                    at_slot (&other, mixed, s));
  for (i = 0; i < nr; i++)
    for (j = 0; j < nr; j++)
      if (c[i].address == mixed[j].address &&
          (c[i].verdict != mixed[j].verdict || c[i].slot != mixed[j].slot ||
           c[i].recovered_sectors != mixed[j].recovered_sectors))
        ck_abort_msg ("%s: verdict %d, or %d", c[i].address, c[i].verdict,
                      mixed[j].verdict);
}

/* What holds whenever it may start. */
static inline void
check_sane (void)
{
  unsigned s, in_sync = 0, recovering = 0;

  for (s = 0; s < GEOMETRY_MAX_DISKS; s++) {
    const int at = got.slot_candidate[s];

    if (at < 0)
      continue;
    ck_assert_uint_lt (s, got.raid_disks);
    ck_assert_int_eq (c[at].state, CAND_MD);
    ck_assert_uint_eq (c[at].slot, s);
    in_sync += c[at].verdict == VERDICT_IN_SYNC;
    recovering += c[at].verdict == VERDICT_RECOVERING;
  }
  ck_assert_uint_eq (got.in_sync, in_sync);
  ck_assert_uint_eq (got.recovering, recovering);
  ck_assert_uint_eq (got.missing, got.raid_disks - in_sync - recovering);
  ck_assert_uint_eq (got.freshest->sb.events, got.events);
  ck_assert ((got.resync_offset_sectors != SB1_MAX) == got.dirty);
}

/* Decide, as given and in random orders. */
static inline int
run (void)
{
  unsigned order;
  size_t i;
  int r;

  for (i = 0; i < nr; i++)
    if (c[i].state == CAND_MD && c[i].sb.super_offset_sectors == 8 &&
        c[i].sb.minor == 2)
      encode ((unsigned)i);
  memset (&err, 0, sizeof err);
  r = assemble (c, nr, &opt, &got, &err);
  if (r == 0)
    check_sane ();
  else
    ck_assert_int_eq (-r, err.err);
  for (order = 0; order < ORDERS; order++) {
    memcpy (mixed, c, nr * sizeof c[0]);
    for (i = nr; i > 1; i--) {
      static struct candidate t;
      const size_t k = rnd ((unsigned)i);

      t = mixed[i - 1];
      mixed[i - 1] = mixed[k];
      mixed[k] = t;
    }
    for (i = 0; i < nr; i++) {
      mixed[i].verdict = VERDICT_BLANK_SPARE; /* rubbish from before */
      mixed[i].slot = 99;
      mixed[i].recovered_sectors = 99;
    }
    memset (&other, 0x55, sizeof other);
    memset (&other_err, 0, sizeof other_err);
    compare_outcome (r, assemble (mixed, nr, &opt, &other, &other_err));
  }
  return r;
}

static inline void
setup (void)
{
  seed = 1;
  opt = (struct assemble_options){.start_degraded = true, .will_write = true};
  make (6);
}

#endif
