/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Unit tests of lib/md_layout/geometry: placement tables of every layout,
 * powers of g, address arithmetic against closed formulas in 128 bits, and
 * what is refused.  Single-threaded.
 *
 * Run one case alone: CK_RUN_CASE=tables ./test-geometry
 */
#undef NDEBUG
#include <config.h>

#include "geometry.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "uraid_error.h"

#define KIB_SECTORS 2

/* ck_assert notes its place in a file at each call, too slow for sweeps. */
#define MUST(condition)                                                       \
  do {                                                                        \
    if (!(condition))                                                         \
      ck_abort_msg ("%s", #condition);                                        \
  } while (0)

struct id {
  int level;
  uint32_t layout;
};

static const struct id all_ids[] = {
    {4, 0}, {5, 0},  {5, 1},  {5, 2},  {5, 3},  {5, 4},  {5, 5},
    {6, 0}, {6, 1},  {6, 2},  {6, 3},  {6, 4},  {6, 5},  {6, 8},
    {6, 9}, {6, 10}, {6, 16}, {6, 17}, {6, 18}, {6, 19}, {6, 20},
};
#define NR_IDS ((int)(sizeof all_ids / sizeof all_ids[0]))

/* Six members, rows 0..7; a cell is the data chunk number in the array. */
struct table {
  int level;
  uint32_t layout;
  const char *text; /* rows divided by "/" */
};

/* clang-format off */
static const struct table tables[] = {
  { 4, 0,  " 0  1  2  3  4  P /  5  6  7  8  9  P /"
            "10 11 12 13 14  P / 15 16 17 18 19  P /"
            "20 21 22 23 24  P / 25 26 27 28 29  P /"
            "30 31 32 33 34  P / 35 36 37 38 39  P" },
  { 5, 0,  " 0  1  2  3  4  P /  5  6  7  8  P  9 /"
            "10 11 12  P 13 14 / 15 16  P 17 18 19 /"
            "20  P 21 22 23 24 /  P 25 26 27 28 29 /"
            "30 31 32 33 34  P / 35 36 37 38  P 39" },
  { 5, 1,  " P  0  1  2  3  4 /  5  P  6  7  8  9 /"
            "10 11  P 12 13 14 / 15 16 17  P 18 19 /"
            "20 21 22 23  P 24 / 25 26 27 28 29  P /"
            " P 30 31 32 33 34 / 35  P 36 37 38 39" },
  { 5, 2,  " 0  1  2  3  4  P /  6  7  8  9  P  5 /"
            "12 13 14  P 10 11 / 18 19  P 15 16 17 /"
            "24  P 20 21 22 23 /  P 25 26 27 28 29 /"
            "30 31 32 33 34  P / 36 37 38 39  P 35" },
  { 5, 3,  " P  0  1  2  3  4 /  9  P  5  6  7  8 /"
            "13 14  P 10 11 12 / 17 18 19  P 15 16 /"
            "21 22 23 24  P 20 / 25 26 27 28 29  P /"
            " P 30 31 32 33 34 / 39  P 35 36 37 38" },
  { 5, 4,  " P  0  1  2  3  4 /  P  5  6  7  8  9 /"
            " P 10 11 12 13 14 /  P 15 16 17 18 19 /"
            " P 20 21 22 23 24 /  P 25 26 27 28 29 /"
            " P 30 31 32 33 34 /  P 35 36 37 38 39" },
  { 6, 0,  " Q  0  1  2  3  P /  4  5  6  7  P  Q /"
            " 8  9 10  P  Q 11 / 12 13  P  Q 14 15 /"
            "16  P  Q 17 18 19 /  P  Q 20 21 22 23 /"
            " Q 24 25 26 27  P / 28 29 30 31  P  Q" },
  { 6, 1,  " P  Q  0  1  2  3 /  4  P  Q  5  6  7 /"
            " 8  9  P  Q 10 11 / 12 13 14  P  Q 15 /"
            "16 17 18 19  P  Q /  Q 20 21 22 23  P /"
            " P  Q 24 25 26 27 / 28  P  Q 29 30 31" },
  { 6, 2,  " Q  0  1  2  3  P /  4  5  6  7  P  Q /"
            " 9 10 11  P  Q  8 / 14 15  P  Q 12 13 /"
            "19  P  Q 16 17 18 /  P  Q 20 21 22 23 /"
            " Q 24 25 26 27  P / 28 29 30 31  P  Q" },
  { 6, 3,  " P  Q  0  1  2  3 /  7  P  Q  4  5  6 /"
            "10 11  P  Q  8  9 / 13 14 15  P  Q 12 /"
            "16 17 18 19  P  Q /  Q 20 21 22 23  P /"
            " P  Q 24 25 26 27 / 31  P  Q 28 29 30" },
  { 6, 4,  " P  Q  0  1  2  3 /  P  Q  4  5  6  7 /"
            " P  Q  8  9 10 11 /  P  Q 12 13 14 15 /"
            " P  Q 16 17 18 19 /  P  Q 20 21 22 23 /"
            " P  Q 24 25 26 27 /  P  Q 28 29 30 31" },
  { 6, 5,  " 0  1  2  3  P  Q /  4  5  6  7  P  Q /"
            " 8  9 10 11  P  Q / 12 13 14 15  P  Q /"
            "16 17 18 19  P  Q / 20 21 22 23  P  Q /"
            "24 25 26 27  P  Q / 28 29 30 31  P  Q" },
  { 6, 8,  " P  Q  0  1  2  3 /  4  P  Q  5  6  7 /"
            " 8  9  P  Q 10 11 / 12 13 14  P  Q 15 /"
            "16 17 18 19  P  Q /  Q 20 21 22 23  P /"
            " P  Q 24 25 26 27 / 28  P  Q 29 30 31" },
  { 6, 9,  " 0  1  2  3  P  Q /  4  5  6  P  Q  7 /"
            " 8  9  P  Q 10 11 / 12  P  Q 13 14 15 /"
            " P  Q 16 17 18 19 /  Q 20 21 22 23  P /"
            "24 25 26 27  P  Q / 28 29 30  P  Q 31" },
  { 6, 10, " 0  1  2  3  Q  P /  5  6  7  Q  P  4 /"
            "10 11  Q  P  8  9 / 15  Q  P 12 13 14 /"
            " Q  P 16 17 18 19 /  P 20 21 22 23  Q /"
            "24 25 26 27  Q  P / 29 30 31  Q  P 28" },
  { 6, 16, " 0  1  2  3  P  Q /  4  5  6  P  7  Q /"
            " 8  9  P 10 11  Q / 12  P 13 14 15  Q /"
            " P 16 17 18 19  Q / 20 21 22 23  P  Q /"
            "24 25 26  P 27  Q / 28 29  P 30 31  Q" },
  { 6, 17, " P  0  1  2  3  Q /  4  P  5  6  7  Q /"
            " 8  9  P 10 11  Q / 12 13 14  P 15  Q /"
            "16 17 18 19  P  Q /  P 20 21 22 23  Q /"
            "24  P 25 26 27  Q / 28 29  P 30 31  Q" },
  { 6, 18, " 0  1  2  3  P  Q /  5  6  7  P  4  Q /"
            "10 11  P  8  9  Q / 15  P 12 13 14  Q /"
            " P 16 17 18 19  Q / 20 21 22 23  P  Q /"
            "25 26 27  P 24  Q / 30 31  P 28 29  Q" },
  { 6, 19, " P  0  1  2  3  Q /  7  P  4  5  6  Q /"
            "10 11  P  8  9  Q / 13 14 15  P 12  Q /"
            "16 17 18 19  P  Q /  P 20 21 22 23  Q /"
            "27  P 24 25 26  Q / 30 31  P 28 29  Q" },
  { 6, 20, " P  0  1  2  3  Q /  P  4  5  6  7  Q /"
            " P  8  9 10 11  Q /  P 12 13 14 15  Q /"
            " P 16 17 18 19  Q /  P 20 21 22 23  Q /"
            " P 24 25 26 27  Q /  P 28 29 30 31  Q" },
};
/* clang-format on */
#define NR_TABLES ((int)(sizeof tables / sizeof tables[0]))

/* Powers of g of members 0..5, rows 0..5, "-" = P or Q. */
/* clang-format off */
static const struct table exponents[] = {
  { 6, 0,  "- 0 1 2 3 - / 0 1 2 3 - - / 1 2 3 - - 0 / 2 3 - - 0 1 /"
           "3 - - 0 1 2 / - - 0 1 2 3" },
  { 6, 1,  "- - 0 1 2 3 / 3 - - 0 1 2 / 2 3 - - 0 1 / 1 2 3 - - 0 /"
           "0 1 2 3 - - / - 0 1 2 3 -" },
  { 6, 2,  "- 0 1 2 3 - / 0 1 2 3 - - / 1 2 3 - - 0 / 2 3 - - 0 1 /"
           "3 - - 0 1 2 / - - 0 1 2 3" },
  { 6, 8,  "- - 2 3 4 5 / 0 - - 3 4 5 / 0 1 - - 4 5 / 0 1 2 - - 5 /"
           "0 1 2 3 - - / - 1 2 3 4 -" },
  { 6, 9,  "0 1 2 3 - - / 0 1 2 - - 5 / 0 1 - - 4 5 / 0 - - 3 4 5 /"
           "- - 2 3 4 5 / - 1 2 3 4 -" },
  { 6, 10, "0 1 2 3 - - / 0 1 2 - - 5 / 0 1 - - 4 5 / 0 - - 3 4 5 /"
           "- - 2 3 4 5 / - 1 2 3 4 -" },
  { 6, 18, "0 1 2 3 - - / 0 1 2 - 3 - / 0 1 - 2 3 - / 0 - 1 2 3 - /"
           "- 0 1 2 3 - / 0 1 2 3 - -" },
  { 6, 19, "- 0 1 2 3 - / 0 - 1 2 3 - / 0 1 - 2 3 - / 0 1 2 - 3 - /"
           "0 1 2 3 - - / - 0 1 2 3 -" },
};
/* clang-format on */
#define NR_EXPONENTS ((int)(sizeof exponents / sizeof exponents[0]))

/*--- Closed formulas, one per layout: the oracle -----------------------*/

struct oracle {
  unsigned p, q; /* q = 0xff: none */
  unsigned d[GEOMETRY_MAX_DISKS];
};

static unsigned
skip (unsigned i, unsigned p, unsigned width)
{
  return i < p ? i : i + width;
}

/* Level 4 and 5, data index I. */
static unsigned
oracle_data5 (uint32_t layout, unsigned n, unsigned p, unsigned i)
{
  return layout == 2 || layout == 3 ? (p + 1 + i) % n : skip (i, p, 1);
}

static unsigned
oracle_p5 (uint32_t layout, unsigned n, uint64_t row)
{
  const unsigned m = n - 1;

  if (layout == 0 || layout == 2)
    return m - (unsigned)(row % n);
  if (layout == 1 || layout == 3)
    return (unsigned)(row % n);
  return layout == 4 ? 0 : m;
}

static void
oracle_pq6 (uint32_t layout, unsigned n, uint64_t row, struct oracle *o)
{
  const unsigned m = n - 2;
  const unsigned s = (unsigned)(row % n), t = (unsigned)(row % (n - 1));

  switch (layout) {
  case 0:
  case 2:
  case 10:
    o->p = n - 1 - s;
    break;
  case 1:
  case 3:
  case 8:
    o->p = s;
    break;
  case 9:
    o->p = n - 1 - (unsigned)((row + 1) % n);
    break;
  case 4:
  case 20:
    o->p = 0;
    break;
  case 5:
    o->p = n - 2;
    break;
  case 16:
  case 18:
    o->p = m - t;
    break;
  default: /* 17, 19 */
    o->p = t;
  }
  o->q = layout >= 16   ? n - 1
         : layout == 10 ? (o->p + n - 1) % n
                        : (o->p + 1) % n;
}

static unsigned
oracle_data6 (uint32_t layout, unsigned n, unsigned p, unsigned i)
{
  switch (layout) {
  case 0:
  case 1:
  case 8:
  case 9:
    return p == n - 1 ? i + 1 : skip (i, p, 2);
  case 2:
  case 3:
    return (p + 2 + i) % n;
  case 4:
    return i + 2;
  case 5:
    return i;
  case 10:
    return (p + 1 + i) % n;
  case 16:
  case 17:
    return skip (i, p, 1);
  case 18:
  case 19:
    return (p + 1 + i) % (n - 1);
  default: /* 20 */
    return i + 1;
  }
}

static void
oracle_row (struct id id, unsigned n, uint64_t row, struct oracle *o)
{
  const unsigned m = n - (id.level == 6 ? 2 : 1);
  unsigned i;

  o->q = 0xff;
  if (id.level == 6)
    oracle_pq6 (id.layout, n, row, o);
  else
    o->p = oracle_p5 (id.level == 4 ? 5 : id.layout, n, row);
  for (i = 0; i < m; i++)
    o->d[i] = id.level == 6
                  ? oracle_data6 (id.layout, n, o->p, i)
                  : oracle_data5 (id.level == 4 ? 5 : id.layout, n, o->p, i);
}

/*--- Tools -------------------------------------------------------------*/

static uint64_t
random64 (void)
{
  static uint64_t x = 88172645463325252u;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

static void
init (struct geometry *g, struct id id, unsigned n, uint32_t chunk_sectors,
      uint64_t size_sectors)
{
  struct uraid_error e = {0};
  int r;

  r = geometry_init (g, id.level, id.layout, n, chunk_sectors, size_sectors,
                     &e);
  ck_assert_msg (r == 0, "geometry_init: %s", e.text);
}

/* Take the next cell of a table text: a number, ROLE_P, ROLE_Q, or -9 for
 * "-".
 */
static int
next_cell (const char **text)
{
  int v;

  while (isspace ((unsigned char)**text) || **text == '/')
    (*text)++;
  ck_assert (**text != '\0');
  if (isdigit ((unsigned char)**text)) {
    char *end;

    v = (int)strtol (*text, &end, 10);
    *text = end;
    return v;
  }
  v = **text == 'P' ? ROLE_P : **text == 'Q' ? ROLE_Q : -9;
  (*text)++;
  return v;
}

/* Compare one row with the oracle, and the row's fields with each other. */
static void
check_row (const struct geometry *g, struct id id, uint64_t row)
{
  const struct row_map *rm = geometry_row (g, row);
  struct oracle o;
  unsigned i, slot;

  oracle_row (id, g->raid_disks, row, &o);
  MUST (rm->p_slot == o.p);
  MUST (rm->q_slot == o.q);
  MUST (rm->role[o.p] == ROLE_P);
  MUST (rm->exponent[o.p] == 0);
  if (o.q != 0xff) {
    MUST (rm->role[o.q] == ROLE_Q);
    MUST (rm->exponent[o.q] == 0);
  }
  for (i = 0; i < g->data_disks; i++) {
    MUST (rm->data_slot[i] == o.d[i]);
    MUST (rm->role[o.d[i]] == (int)i);
  }
  for (slot = 0; slot < g->raid_disks; slot++) {
    unsigned walk, between = 0;

    if (rm->role[slot] < 0 || id.level != 6)
      continue;
    if (g->ddf) {
      MUST (rm->exponent[slot] == slot);
      continue;
    }
    /* Power of g = number of data members between Q and here. */
    for (walk = (o.q + 1) % g->raid_disks; walk != slot;
         walk = (walk + 1) % g->raid_disks)
      between += walk != o.p;
    MUST (rm->exponent[slot] == between);
  }
}

/*--- Tables ------------------------------------------------------------*/

START_TEST (placement_table)
{
  const struct table *t = &tables[_i];
  const struct id id = {t->level, t->layout};
  const char *text = t->text;
  struct geometry g;
  struct geometry_place place;
  unsigned row, slot;

  init (&g, id, 6, 8, 8 * 8);
  ck_assert_uint_eq (g.rows, 8);
  for (row = 0; row < 8; row++) {
    for (slot = 0; slot < 6; slot++) {
      const int cell = next_cell (&text);
      uint64_t offset = UINT64_MAX;
      const int r = geometry_inverse (&g, slot, row * 4096 + 17, &offset);

      if (cell < 0) {
        ck_assert_int_eq (r, cell);
        ck_assert_uint_eq (offset, UINT64_MAX);
        ck_assert_int_eq (geometry_row (&g, row)->role[slot], cell);
        continue;
      }
      ck_assert_int_eq (r, 0);
      ck_assert_uint_eq (offset, (uint64_t)cell * 4096 + 17);
      geometry_locate (&g, offset, &place);
      ck_assert_uint_eq (place.row, row);
      ck_assert_uint_eq (place.slot, slot);
      ck_assert_uint_eq (place.data_index, (unsigned)cell % g.data_disks);
      ck_assert_uint_eq (place.member_offset_bytes, row * 4096 + 17);
    }
  }
  geometry_done (&g);
}
END_TEST

START_TEST (exponent_table)
{
  const struct table *t = &exponents[_i];
  const char *text = t->text;
  struct geometry g;
  unsigned row, slot;

  init (&g, (struct id){t->level, t->layout}, 6, 8, 8 * 8);
  for (row = 0; row < 6; row++) {
    const struct row_map *rm = geometry_row (&g, row);

    for (slot = 0; slot < 6; slot++) {
      const int cell = next_cell (&text);

      if (cell < 0)
        ck_assert_int_lt (rm->role[slot], 0);
      else
        ck_assert_int_eq (rm->exponent[slot], cell);
    }
  }
  geometry_done (&g);
}
END_TEST

/* A rule that is easy to get wrong: the power equals the data index for
 * layouts 2, 3, 4, 5, 16, 17, 20 and for no other.
 */
START_TEST (exponent_is_index)
{
  const struct id id = all_ids[_i];
  bool same = true;
  struct geometry g;
  unsigned row, i;

  if (id.level != 6)
    return;
  init (&g, id, 6, 8, 64 * 8);
  for (row = 0; row < g.rows; row++) {
    const struct row_map *rm = geometry_row (&g, row);

    for (i = 0; i < g.data_disks; i++)
      same = same && rm->exponent[rm->data_slot[i]] == i;
  }
  switch (id.layout) {
  case 2:
  case 3:
  case 4:
  case 5:
  case 16:
  case 17:
  case 20:
    ck_assert (same);
    break;
  default:
    ck_assert (!same);
  }
  geometry_done (&g);
}
END_TEST

START_TEST (period)
{
  const struct id id = all_ids[_i];
  unsigned want, n = 7;
  struct geometry g;

  init (&g, id, n, 8, 64 * 8);
  if (id.level == 4 || id.layout == 4 || id.layout == 5 || id.layout == 20)
    want = 1;
  else
    want = id.layout >= 16 ? n - 1 : n;
  ck_assert_uint_eq (g.period, want);
  geometry_done (&g);
}
END_TEST

/*--- Sweeps ------------------------------------------------------------*/

static void
check_random_offsets (const struct geometry *g, struct id id, unsigned count)
{
  struct geometry_place place;
  struct oracle o;
  uint64_t offset, back;
  unsigned i;

  for (i = 0; i < count; i++) {
    const uint64_t edge[] = {0, g->array_bytes - 1, g->chunk_bytes - 1,
                             g->chunk_bytes % g->array_bytes};

    offset = i < 4 ? edge[i] : random64 () % g->array_bytes;
    geometry_locate (g, offset, &place);

    const unsigned __int128 chunk = (unsigned __int128)offset / g->chunk_bytes;
    const unsigned __int128 row = chunk / g->data_disks;
    const unsigned __int128 member_offset =
        row * g->chunk_bytes + offset % g->chunk_bytes;

    MUST (place.row == row);
    MUST (place.member_offset_bytes == member_offset);
    MUST (place.data_index == chunk % g->data_disks);
    MUST (member_offset < g->member_bytes);
    oracle_row (id, g->raid_disks, (uint64_t)row, &o);
    MUST (place.slot == o.d[place.data_index]);
    MUST (geometry_inverse (g, place.slot, place.member_offset_bytes, &back) ==
          0);
    MUST (back == offset);
  }
}

START_TEST (sweep_small)
{
  const struct id id = all_ids[_i];
  struct geometry g;
  unsigned n;
  uint64_t row;

  for (n = id.level == 6 ? 4 : 2; n <= 16; n++) {
    init (&g, id, n, 64 * KIB_SECTORS, 1234567 * 8 + 5);
    for (row = 0; row < 3 * n; row++)
      check_row (&g, id, row);
    check_random_offsets (&g, id, 500);
    geometry_done (&g);
  }
}
END_TEST

START_TEST (sweep_large)
{
  static const unsigned numbers[] = {17, 31, 64, 100, 128, 251, 252, 253};
  const struct id id = all_ids[_i];
  struct geometry g;
  uint64_t row;
  size_t k;

  for (k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
    init (&g, id, numbers[k], 512 * KIB_SECTORS, UINT64_C (1) << 33);
    for (row = 0; row < numbers[k] + 2; row++)
      check_row (&g, id, row);
    check_random_offsets (&g, id, 300);
    geometry_done (&g);
  }
}
END_TEST

/* Chunks of 2 GiB on members of 20 TiB, and the smallest chunk. */
START_TEST (big_offsets)
{
  const struct id id = all_ids[_i];
  const uint64_t size_sectors = (UINT64_C (20) << 40) / 512 + 12345;
  static const unsigned numbers[] = {4, 16, 253};
  struct geometry g;
  size_t k;

  for (k = 0; k < 3; k++) {
    init (&g, id, numbers[k], UINT32_C (1) << 22, size_sectors);
    ck_assert_uint_eq (g.chunk_bytes, UINT64_C (1) << 31);
    ck_assert_uint_eq (g.member_bytes, UINT64_C (20) << 40);
    ck_assert (g.array_bytes ==
               (unsigned __int128)g.member_bytes * g.data_disks);
    ck_assert_uint_eq (g.rows, 10240);
    check_random_offsets (&g, id, 1000);
    geometry_done (&g);

    init (&g, id, numbers[k], 8, size_sectors);
    ck_assert_uint_eq (g.member_bytes, size_sectors / 8 * 4096);
    check_random_offsets (&g, id, 1000);
    geometry_done (&g);
  }
}
END_TEST

/* The largest size that is taken gives no overflow; one chunk more is
 * refused.
 */
START_TEST (size_limit)
{
  const struct id id = {6, 2};
  const unsigned m = 251;
  const uint64_t limit = (UINT64_C (1) << 54) / m / 8 * 8;
  struct uraid_error e = {0};
  struct geometry g;

  init (&g, id, m + 2, 8, limit);
  ck_assert_uint_le (g.array_bytes, (uint64_t)INT64_MAX);
  check_random_offsets (&g, id, 1000);
  geometry_done (&g);
  ck_assert_int_eq (geometry_init (&g, 6, 2, m + 2, 8, limit + 8, &e),
                    -EINVAL);
  ck_assert_ptr_nonnull (strstr (e.text, "too large"));
  ck_assert_int_eq (geometry_init (&g, 6, 2, m + 2, 8, UINT64_MAX, &e),
                    -EINVAL);
  geometry_done (&g);
}
END_TEST

/*--- Refusals and names ------------------------------------------------*/

START_TEST (refused)
{
  static const struct {
    int level;
    uint32_t layout, n, chunk;
    uint64_t size;
    const char *text;
  } bad[] = {
      {0, 0, 4, 8, 800, "level 0"},
      {1, 0, 4, 8, 800, "level 1"},
      {10, 0, 4, 8, 800, "level 10"},
      {-1, 0, 4, 8, 800, "level -1"},
      {5, 6, 4, 8, 800, "layout number 6"},
      {5, 16, 4, 8, 800, "layout number 16"},
      {6, 6, 4, 8, 800, "layout number 6"},
      {6, 7, 4, 8, 800, "layout number 7"},
      {6, 11, 4, 8, 800, "layout number 11"},
      {6, 15, 4, 8, 800, "layout number 15"},
      {6, 21, 4, 8, 800, "layout number 21"},
      {6, UINT32_MAX, 4, 8, 800, "layout number 4294967295"},
      {6, 2, 3, 8, 800, "3 members"},
      {6, 2, 0, 8, 800, "0 members"},
      {6, 2, 254, 8, 800, "254 members"},
      {6, 2, UINT32_MAX, 8, 800, "4294967295 members"},
      {5, 2, 1, 8, 800, "1 members"},
      {4, 0, 1, 8, 800, "1 members"},
      {6, 2, 4, 0, 800, "chunk of 0"},
      {6, 2, 4, 4, 800, "chunk of 4"},
      {6, 2, 4, 12, 800, "chunk of 12"},
      {6, 2, 4, UINT32_MAX, 800, "chunk of 4294967295"},
      {6, 2, 4, 128, 127, "less than one chunk"},
      {6, 2, 4, 8, UINT64_C (1) << 60, "too large"},
  };
  size_t i;

  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct uraid_error e = {0};
    struct geometry g;

    memset (&g, 0xa5, sizeof g);
    ck_assert_int_eq (geometry_init (&g, bad[i].level, bad[i].layout, bad[i].n,
                                     bad[i].chunk, bad[i].size, &e),
                      -EINVAL);
    ck_assert_msg (strstr (e.text, bad[i].text) != NULL, "%s", e.text);
    ck_assert_int_eq (e.err, EINVAL);
    geometry_done (&g);
    ck_assert_int_eq (geometry_init (&g, bad[i].level, bad[i].layout, bad[i].n,
                                     bad[i].chunk, bad[i].size, NULL),
                      -EINVAL);
    geometry_done (&g);
    geometry_done (&g); /* zeroed memory */
  }
}
END_TEST

/* Level 4 ignores the layout number. */
START_TEST (level4_any_layout)
{
  struct geometry g;

  init (&g, (struct id){4, 0xdead}, 5, 8, 800);
  ck_assert_uint_eq (g.maps[0].p_slot, 4);
  geometry_done (&g);
}
END_TEST

START_TEST (names_round_trip)
{
  const struct id id = all_ids[_i];
  const char *name = geometry_layout_name (id.level, id.layout);
  struct uraid_error e = {0};
  char number[16];
  uint32_t layout = 99;

  ck_assert_ptr_nonnull (name);
  ck_assert_int_eq (geometry_layout_parse (id.level, name, &layout, &e), 0);
  ck_assert_uint_eq (layout, id.layout);
  snprintf (number, sizeof number, "%" PRIu32, id.layout);
  layout = 99;
  ck_assert_int_eq (geometry_layout_parse (id.level, number, &layout, &e), 0);
  ck_assert_uint_eq (layout, id.layout);
  ck_assert_int_eq (geometry_layout_creatable (id.level, id.layout),
                    id.layout < 16);
}
END_TEST

START_TEST (names)
{
  static const struct {
    const char *name;
    uint32_t layout;
  } forms[] = {{"la", 0}, {"ra", 1}, {"ls", 2}, {"rs", 3}};
  struct uraid_error e = {0};
  uint32_t layout;
  size_t i;
  int level;

  for (level = 5; level <= 6; level++) {
    for (i = 0; i < 4; i++) {
      ck_assert_int_eq (
          geometry_layout_parse (level, forms[i].name, &layout, &e), 0);
      ck_assert_uint_eq (layout, forms[i].layout);
    }
  }
  ck_assert_str_eq (geometry_layout_name (6, 2), "left-symmetric");
  ck_assert_str_eq (geometry_layout_name (6, 9), "ddf-N-restart");
  ck_assert_str_eq (geometry_layout_name (4, 7), "-");
  ck_assert_ptr_null (geometry_layout_name (6, 7));
  ck_assert_ptr_null (geometry_layout_name (5, 8));
  ck_assert_ptr_null (geometry_layout_name (0, 0));
  ck_assert (!geometry_layout_creatable (6, 7));
  ck_assert (!geometry_layout_creatable (4, 1));
  ck_assert (!geometry_layout_creatable (0, 0));
}
END_TEST

START_TEST (names_refused)
{
  static const struct {
    int level;
    const char *name;
  } bad[] = {
      {6, ""},     {6, "7"},   {6, "-1"}, {6, "2 "},
      {6, "left"}, {6, "LS"},  {6, "21"}, {6, "18446744073709551618"},
      {5, "8"},    {4, "ls"},  {1, "ls"}, {5, "left-symmetric-6"},
      {5, "-"},    {6, "0x2"},
  };
  size_t i;

  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct uraid_error e = {0};
    uint32_t layout = 77;

    ck_assert_msg (geometry_layout_parse (bad[i].level, bad[i].name, &layout,
                                          &e) == -EINVAL,
                   "level %d \"%s\"", bad[i].level, bad[i].name);
    ck_assert_uint_eq (layout, 77);
    ck_assert (e.text[0] != '\0');
    if (bad[i].level == 6)
      ck_assert_ptr_nonnull (strstr (e.text, "left-symmetric-6, "));
  }
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("geometry");
  TCase *t;

  t = tcase_create ("tables");
  tcase_add_loop_test (t, placement_table, 0, NR_TABLES);
  tcase_add_loop_test (t, exponent_table, 0, NR_EXPONENTS);
  tcase_add_loop_test (t, exponent_is_index, 0, NR_IDS);
  tcase_add_loop_test (t, period, 0, NR_IDS);
  suite_add_tcase (s, t);

  t = tcase_create ("sweep");
  tcase_set_timeout (t, 60);
  tcase_add_loop_test (t, sweep_small, 0, NR_IDS);
  tcase_add_loop_test (t, sweep_large, 0, NR_IDS);
  tcase_add_loop_test (t, big_offsets, 0, NR_IDS);
  tcase_add_test (t, size_limit);
  suite_add_tcase (s, t);

  t = tcase_create ("refused");
  tcase_add_test (t, refused);
  tcase_add_test (t, level4_any_layout);
  suite_add_tcase (s, t);

  t = tcase_create ("names");
  tcase_add_loop_test (t, names_round_trip, 0, NR_IDS);
  tcase_add_test (t, names);
  tcase_add_test (t, names_refused);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *runner = srunner_create (make_suite ());
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
