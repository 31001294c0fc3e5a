/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Where a byte of the array lies (see the header).  Pure arithmetic: no I/O,
 * no locks, no state besides the caller's struct geometry, which is constant
 * after geometry_init.
 *
 * All of md's layouts come from three choices, so one table describes them:
 *
 *   ring    the slots that rotate: all n, or n-1 for the "-6" layouts, which
 *           are a RAID-5 with Q added on the last slot
 *   P       wanders left or right in the ring, or stands still
 *   data    "restart": from slot 0 upwards in every row;
 *           "continue": from the slot behind P upwards and around
 *           (both step over P and Q)
 *
 * Two rows of six members, data chunk numbers in array order:
 *
 *   left-asymmetric (restart)       left-symmetric (continue)
 *     4  5  6  7  P  Q                4  5  6  7  P  Q
 *     8  9 10  P  Q 11                9 10 11  P  Q  8
 *
 * The power of g in Q belongs to the slot, not to the data index: it counts
 * from the slot behind Q upwards.  For the asymmetric layouts and for the
 * "-6" ones that is another order than the data's.
 */
#include <config.h>

#include "geometry.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "uraid_error.h"

#define NO_SLOT 0xff
#define SECTOR_SHIFT 9
#define MIN_CHUNK_SECTORS 8

enum p_rule {
  P_LEFT,   /* last of the ring in row 0, then downwards */
  P_RIGHT,  /* slot 0 in row 0, then upwards */
  P_EARLY,  /* as P_LEFT, one row ahead (DDF N-restart) */
  P_FIRST,  /* slot 0 */
  P_BEHIND, /* right behind the data, slot m */
};

enum q_rule {
  Q_NONE,
  Q_NEXT, /* behind P, around */
  Q_PREV, /* before P, around */
  Q_LAST, /* slot n-1, outside the ring */
};

enum data_rule { RESTART, CONTINUE };

enum family {
  PLAIN,
  DDF,     /* the powers of g are slot numbers */
  MINUS_6, /* RAID-5 plus Q: only a level change makes these */
};

struct layout_rule {
  int level;
  uint32_t layout;
  const char *name;
  const char *alias; /* mdadm's other name, or NULL */
  enum p_rule p;
  enum q_rule q;
  enum data_rule data;
  enum family family;
};

/* clang-format off */
static const struct layout_rule rules[] = {
  { 5,  0, "left-asymmetric",    "la", P_LEFT,   Q_NONE, RESTART,  PLAIN },
  { 5,  1, "right-asymmetric",   "ra", P_RIGHT,  Q_NONE, RESTART,  PLAIN },
  { 5,  2, "left-symmetric",     "ls", P_LEFT,   Q_NONE, CONTINUE, PLAIN },
  { 5,  3, "right-symmetric",    "rs", P_RIGHT,  Q_NONE, CONTINUE, PLAIN },
  { 5,  4, "parity-first",       NULL, P_FIRST,  Q_NONE, RESTART,  PLAIN },
  { 5,  5, "parity-last",        NULL, P_BEHIND, Q_NONE, RESTART,  PLAIN },

  { 6,  0, "left-asymmetric",    "la", P_LEFT,   Q_NEXT, RESTART,  PLAIN },
  { 6,  1, "right-asymmetric",   "ra", P_RIGHT,  Q_NEXT, RESTART,  PLAIN },
  { 6,  2, "left-symmetric",     "ls", P_LEFT,   Q_NEXT, CONTINUE, PLAIN },
  { 6,  3, "right-symmetric",    "rs", P_RIGHT,  Q_NEXT, CONTINUE, PLAIN },
  { 6,  4, "parity-first",       NULL, P_FIRST,  Q_NEXT, RESTART,  PLAIN },
  { 6,  5, "parity-last", "parity-last-6",
                                       P_BEHIND, Q_NEXT, RESTART,  PLAIN },
  { 6,  8, "ddf-zero-restart",   NULL, P_RIGHT,  Q_NEXT, RESTART,  DDF },
  { 6,  9, "ddf-N-restart",      NULL, P_EARLY,  Q_NEXT, RESTART,  DDF },
  { 6, 10, "ddf-N-continue",     NULL, P_LEFT,   Q_PREV, CONTINUE, DDF },
  { 6, 16, "left-asymmetric-6",  NULL, P_LEFT,   Q_LAST, RESTART,  MINUS_6 },
  { 6, 17, "right-asymmetric-6", NULL, P_RIGHT,  Q_LAST, RESTART,  MINUS_6 },
  { 6, 18, "left-symmetric-6",   NULL, P_LEFT,   Q_LAST, CONTINUE, MINUS_6 },
  { 6, 19, "right-symmetric-6",  NULL, P_RIGHT,  Q_LAST, CONTINUE, MINUS_6 },
  { 6, 20, "parity-first-6",     NULL, P_FIRST,  Q_LAST, RESTART,  MINUS_6 },
};
/* clang-format on */

#define NR_RULES (sizeof rules / sizeof rules[0])

/* md ignores the layout number of level 4; mdadm writes 0. */
static const struct layout_rule rule_level4 = {
    .level = 4,
    .layout = 0,
    .name = "-",
    .p = P_BEHIND,
    .q = Q_NONE,
    .data = RESTART,
    .family = PLAIN,
};

static const struct layout_rule *
find_rule (int level, uint32_t layout)
{
  size_t i;

  if (level == 4)
    return &rule_level4;
  for (i = 0; i < NR_RULES; i++) {
    if (rules[i].level == level && rules[i].layout == layout)
      return &rules[i];
  }
  return NULL;
}

/* Slots that take part in the rotation. */
static unsigned
ring_size (const struct layout_rule *rule, unsigned n)
{
  return rule->q == Q_LAST ? n - 1 : n;
}

static unsigned
find_period (const struct layout_rule *rule, unsigned n)
{
  switch (rule->p) {
  case P_LEFT:
  case P_RIGHT:
  case P_EARLY:
    return ring_size (rule, n);
  case P_FIRST:
  case P_BEHIND:
    return 1;
  }
  abort ();
}

static unsigned
place_p (const struct layout_rule *rule, const struct geometry *g,
         unsigned row)
{
  const unsigned ring = ring_size (rule, g->raid_disks);

  switch (rule->p) {
  case P_LEFT:
    return ring - 1 - row % ring;
  case P_RIGHT:
    return row % ring;
  case P_EARLY:
    return ring - 1 - (row + 1) % ring;
  case P_FIRST:
    return 0;
  case P_BEHIND:
    return g->data_disks;
  }
  abort ();
}

static unsigned
place_q (const struct layout_rule *rule, unsigned n, unsigned p)
{
  switch (rule->q) {
  case Q_NONE:
    return NO_SLOT;
  case Q_NEXT:
    return (p + 1) % n;
  case Q_PREV:
    return (p + n - 1) % n;
  case Q_LAST:
    return n - 1;
  }
  abort ();
}

/* Number the data slots: data index i, in the order of the array. */
static void
place_data (const struct layout_rule *rule, const struct geometry *g,
            struct row_map *map)
{
  const unsigned ring = ring_size (rule, g->raid_disks);
  const unsigned first = rule->data == RESTART ? 0 : map->p_slot + 1u;
  unsigned step, slot, i = 0;

  for (step = 0; step < ring; step++) {
    slot = (first + step) % ring;
    if (slot == map->p_slot || slot == map->q_slot)
      continue;
    map->data_slot[i] = (uint8_t)slot;
    map->role[slot] = (int16_t)i;
    i++;
  }
  assert (i == g->data_disks);
}

/* Give the data slots their powers of g.  Without Q they stay 0. */
static void
place_exponents (const struct geometry *g, struct row_map *map)
{
  const unsigned n = g->raid_disks;
  unsigned step, slot, e = 0;

  if (map->q_slot == NO_SLOT)
    return;
  for (step = 0; step < n; step++) {
    slot = (map->q_slot + 1u + step) % n;
    if (slot == map->p_slot || slot == map->q_slot)
      continue;
    map->exponent[slot] = (uint8_t)(g->ddf ? slot : e);
    e++;
  }
}

static void
fill_map (const struct layout_rule *rule, const struct geometry *g,
          unsigned row, struct row_map *map)
{
  map->p_slot = (uint8_t)place_p (rule, g, row);
  map->q_slot = (uint8_t)place_q (rule, g->raid_disks, map->p_slot);
  map->role[map->p_slot] = ROLE_P;
  if (map->q_slot != NO_SLOT)
    map->role[map->q_slot] = ROLE_Q;
  place_data (rule, g, map);
  place_exponents (g, map);
}

/* Check everything but the size.  *RULE is set on success. */
static int
check_shape (int level, uint32_t layout, uint32_t raid_disks,
             uint32_t chunk_sectors, const struct layout_rule **rule,
             struct uraid_error *e)
{
  const unsigned min_disks = level == 6 ? 4 : 2;

  if (level != 4 && level != 5 && level != 6)
    return uraid_error_set (e, EINVAL,
                            "RAID level %d is not supported: levels 4, 5 and "
                            "6 are",
                            level);
  *rule = find_rule (level, layout);
  if (*rule == NULL)
    return uraid_error_set (e, EINVAL,
                            "layout number %" PRIu32 " is unknown for RAID "
                            "level %d: %s are known",
                            layout, level,
                            level == 6 ? "0-5, 8-10 and 16-20" : "0-5");
  if (raid_disks < min_disks || raid_disks > GEOMETRY_MAX_DISKS)
    return uraid_error_set (e, EINVAL,
                            "%" PRIu32 " members are not possible with RAID "
                            "level %d: %u to %d are",
                            raid_disks, level, min_disks, GEOMETRY_MAX_DISKS);
  if (chunk_sectors < MIN_CHUNK_SECTORS ||
      (chunk_sectors & (chunk_sectors - 1)) != 0)
    return uraid_error_set (e, EINVAL,
                            "a chunk of %" PRIu32 " sectors is not possible: "
                            "it must be a power of two of at least %d "
                            "sectors of 512 bytes",
                            chunk_sectors, MIN_CHUNK_SECTORS);
  return 0;
}

/* Fill the size fields.  The shape is set. */
static int
set_size (struct geometry *g, uint64_t size_sectors, struct uraid_error *e)
{
  const uint64_t chunk_sectors = g->chunk_bytes >> SECTOR_SHIFT;
  const uint64_t limit_sectors =
      ((uint64_t)INT64_MAX >> SECTOR_SHIFT) / g->data_disks;

  size_sectors -= size_sectors % chunk_sectors;
  if (size_sectors == 0)
    return uraid_error_set (e, EINVAL,
                            "the used size of the members is less than one "
                            "chunk (%" PRIu64 " sectors of 512 bytes)",
                            chunk_sectors);
  if (size_sectors > limit_sectors)
    return uraid_error_set (e, EINVAL,
                            "a used size of %" PRIu64 " sectors per member "
                            "is too large: with %u data members at most "
                            "%" PRIu64 " sectors fit in a 63-bit array size",
                            size_sectors, g->data_disks, limit_sectors);
  g->member_bytes = size_sectors << SECTOR_SHIFT;
  g->array_bytes = g->data_disks * g->member_bytes;
  g->rows = g->member_bytes >> g->chunk_shift;
  return 0;
}

int
geometry_init (struct geometry *g, int level, uint32_t layout,
               uint32_t raid_disks, uint32_t chunk_sectors,
               uint64_t size_sectors, struct uraid_error *e)
{
  const struct layout_rule *rule = NULL;
  unsigned row;
  int r;

  memset (g, 0, sizeof *g);
  r = check_shape (level, layout, raid_disks, chunk_sectors, &rule, e);
  if (r < 0)
    return r;
  g->level = level;
  g->layout = layout;
  g->raid_disks = raid_disks;
  g->parity_disks = level == 6 ? 2 : 1;
  g->data_disks = raid_disks - g->parity_disks;
  g->ddf = rule->family == DDF;
  g->chunk_bytes = (uint64_t)chunk_sectors << SECTOR_SHIFT;
  g->chunk_shift = (unsigned)__builtin_ctzll (g->chunk_bytes);
  r = set_size (g, size_sectors, e);
  if (r < 0)
    return r;

  g->period = find_period (rule, raid_disks);
  g->maps = calloc (g->period, sizeof *g->maps);
  if (g->maps == NULL)
    return uraid_error_set (e, ENOMEM,
                            "out of memory for the placement tables of %u "
                            "members",
                            raid_disks);
  for (row = 0; row < g->period; row++)
    fill_map (rule, g, row, &g->maps[row]);
  return 0;
}

void
geometry_done (struct geometry *g)
{
  if (g == NULL)
    return;
  free (g->maps);
  memset (g, 0, sizeof *g);
}

void
geometry_locate (const struct geometry *g, uint64_t offset_bytes,
                 struct geometry_place *ret)
{
  const uint64_t chunk = offset_bytes >> g->chunk_shift;
  const uint64_t in_chunk = offset_bytes & (g->chunk_bytes - 1);

  assert (offset_bytes < g->array_bytes);
  ret->row = chunk / g->data_disks;
  ret->data_index = (unsigned)(chunk % g->data_disks);
  ret->slot = geometry_row (g, ret->row)->data_slot[ret->data_index];
  ret->member_offset_bytes = (ret->row << g->chunk_shift) | in_chunk;
}

int
geometry_inverse (const struct geometry *g, unsigned slot,
                  uint64_t member_offset_bytes, uint64_t *ret)
{
  const uint64_t row = member_offset_bytes >> g->chunk_shift;
  const uint64_t in_chunk = member_offset_bytes & (g->chunk_bytes - 1);
  int role;

  assert (slot < g->raid_disks);
  assert (member_offset_bytes < g->member_bytes);
  role = geometry_row (g, row)->role[slot];
  if (role < 0)
    return role;
  *ret = ((row * g->data_disks + (unsigned)role) << g->chunk_shift) | in_chunk;
  return 0;
}

const char *
geometry_layout_name (int level, uint32_t layout)
{
  const struct layout_rule *rule = find_rule (level, layout);

  return rule != NULL ? rule->name : NULL;
}

/* Read NAME as a plain decimal number.  False if it is none. */
static bool
parse_number (const char *name, uint32_t *ret)
{
  uint64_t v = 0;
  size_t i;

  if (name[0] == '\0')
    return false;
  for (i = 0; name[i] != '\0'; i++) {
    if (name[i] < '0' || name[i] > '9')
      return false;
    v = v * 10 + (uint64_t)(name[i] - '0');
    if (v > UINT32_MAX)
      return false;
  }
  *ret = (uint32_t)v;
  return true;
}

/* The names allowed for LEVEL, separated by ", ", cut to SIZE bytes. */
static void
list_names (int level, char *buf, size_t size)
{
  size_t i, len, used = 0;

  buf[0] = '\0';
  for (i = 0; i < NR_RULES; i++) {
    if (rules[i].level != level)
      continue;
    len = strlen (rules[i].name);
    if (used + len + 3 > size)
      return;
    if (used > 0) {
      memcpy (buf + used, ", ", 2);
      used += 2;
    }
    memcpy (buf + used, rules[i].name, len + 1);
    used += len;
  }
}

int
geometry_layout_parse (int level, const char *name, uint32_t *ret,
                       struct uraid_error *e)
{
  char names[512];
  uint32_t number;
  size_t i;

  if (level != 4 && level != 5 && level != 6)
    return uraid_error_set (e, EINVAL,
                            "RAID level %d has no layouts here: levels 4, 5 "
                            "and 6 are supported",
                            level);
  if (parse_number (name, &number) && find_rule (level, number) != NULL) {
    *ret = number;
    return 0;
  }
  if (level == 4) {
    if (strcmp (name, rule_level4.name) == 0) {
      *ret = rule_level4.layout;
      return 0;
    }
    return uraid_error_set (e, EINVAL,
                            "RAID level 4 has only one layout: \"%s\" is not "
                            "allowed, leave the layout out or give 0",
                            name);
  }
  for (i = 0; i < NR_RULES; i++) {
    if (rules[i].level == level &&
        (strcmp (name, rules[i].name) == 0 ||
         (rules[i].alias != NULL && strcmp (name, rules[i].alias) == 0))) {
      *ret = rules[i].layout;
      return 0;
    }
  }
  list_names (level, names, sizeof names);
  return uraid_error_set (e, EINVAL,
                          "layout \"%s\" is unknown for RAID level %d: "
                          "allowed are %s, the short forms ls, la, rs, ra, "
                          "and md's layout numbers (%s)",
                          name, level, names,
                          level == 6 ? "0-5, 8-10, 16-20" : "0-5");
}

bool
geometry_layout_creatable (int level, uint32_t layout)
{
  const struct layout_rule *rule = find_rule (level, layout);

  return rule != NULL && rule->family != MINUS_6 && rule->layout == layout;
}
