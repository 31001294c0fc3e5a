/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What the parity tests share: a choice of ISA-L code path, a table-driven
 * reference, and blocks of any alignment.  To be included once in a test
 * program.
 *
 * A program that includes this defines ISA-L's entry points itself and passes
 * the calls on to the library's AVX2, AVX, SSE or base form.  So every test
 * runs on every code path the processor has, and a pointer that only AVX-512
 * would forgive is caught.  It can also spoil results, to see that the self
 * check notices.  Single-threaded.
 */
#ifndef PARITY_RIG_H
#define PARITY_RIG_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <isa-l.h>

#include "geometry.h"
#include "parity.h"
#include "uraid_error.h"

/* ck_assert notes its place in a file at each call, too slow for sweeps. */
#define MUST(condition)                                                       \
  do {                                                                        \
    if (!(condition))                                                         \
      ck_abort_msg ("%s, %s", #condition, paths[path]);                       \
  } while (0)

#define ARENA_STRIDE (8192 + 256)
#define GUARD 0xc3

/*--- ISA-L with a choice of code path ----------------------------------*/

enum { PATH_DISPATCH, PATH_AVX2, PATH_AVX, PATH_SSE, PATH_BASE, NR_PATHS };
static const char *const paths[] = {"dispatch", "avx2", "avx", "sse", "base"};
static int path = PATH_DISPATCH;

/* What the wrappers saw, and which one is to spoil its result. */
static unsigned nr_pq_gen, nr_xor_gen;
enum { SPOIL_NONE, SPOIL_PQ, SPOIL_XOR, SPOIL_EC, SPOIL_UPDATE, NR_SPOILS };
static int spoil = SPOIL_NONE;

#define REAL(function) ((__typeof__ (&function))dlsym (RTLD_NEXT, #function))

static bool
path_supported (int which)
{
  switch (which) {
#ifdef __x86_64__
  case PATH_AVX2:
    return __builtin_cpu_supports ("avx2");
  case PATH_AVX:
    return __builtin_cpu_supports ("avx");
  case PATH_SSE:
    return __builtin_cpu_supports ("sse4.1");
#endif
  case PATH_DISPATCH:
  case PATH_BASE:
    return true;
  default:
    return false;
  }
}

/* The documented demands, whatever the path at hand forgives. */
static void
check_demands (int vects, int len, void **array, int min_vects)
{
  int i;

  MUST (vects >= min_vects);
  MUST (len % 32 == 0);
  for (i = 0; i < vects; i++)
    MUST ((uintptr_t)array[i] % 32 == 0);
}

int
pq_gen (int vects, int len, void **array)
{
  int r;

  check_demands (vects, len, array, 4);
  nr_pq_gen++;
  switch (path) {
#ifdef __x86_64__
  case PATH_AVX2:
    r = pq_gen_avx2 (vects, len, array);
    break;
  case PATH_AVX:
    r = pq_gen_avx (vects, len, array);
    break;
  case PATH_SSE:
    r = pq_gen_sse (vects, len, array);
    break;
#endif
  case PATH_BASE:
    r = pq_gen_base (vects, len, array);
    break;
  default:
    r = REAL (pq_gen) (vects, len, array);
  }
  if (spoil == SPOIL_PQ)
    ((uint8_t *)array[vects - 1])[len - 1] ^= 0x10;
  return r;
}

int
xor_gen (int vects, int len, void **array)
{
  int r;

  check_demands (vects, len, array, 3);
  nr_xor_gen++;
  switch (path) {
#ifdef __x86_64__
  case PATH_AVX2:
  case PATH_AVX:
    r = xor_gen_avx (vects, len, array);
    break;
  case PATH_SSE:
    r = xor_gen_sse (vects, len, array);
    break;
#endif
  case PATH_BASE:
    r = xor_gen_base (vects, len, array);
    break;
  default:
    r = REAL (xor_gen) (vects, len, array);
  }
  if (spoil == SPOIL_XOR)
    ((uint8_t *)array[vects - 1])[0] ^= 0x10;
  return r;
}

void
ec_encode_data (int len, int k, int rows, unsigned char *tables,
                unsigned char **data, unsigned char **coding)
{
  switch (path) {
#ifdef __x86_64__
  case PATH_AVX2:
    ec_encode_data_avx2 (len, k, rows, tables, data, coding);
    break;
  case PATH_AVX:
    ec_encode_data_avx (len, k, rows, tables, data, coding);
    break;
  case PATH_SSE:
    ec_encode_data_sse (len, k, rows, tables, data, coding);
    break;
#endif
  case PATH_BASE:
    ec_encode_data_base (len, k, rows, tables, data, coding);
    break;
  default:
    REAL (ec_encode_data) (len, k, rows, tables, data, coding);
  }
  if (spoil == SPOIL_EC)
    coding[rows - 1][len - 1] ^= 1;
}

void
ec_encode_data_update (int len, int k, int rows, int index,
                       unsigned char *tables, unsigned char *data,
                       unsigned char **coding)
{
  switch (path) {
#ifdef __x86_64__
  case PATH_AVX2:
    ec_encode_data_update_avx2 (len, k, rows, index, tables, data, coding);
    break;
  case PATH_AVX:
    ec_encode_data_update_avx (len, k, rows, index, tables, data, coding);
    break;
  case PATH_SSE:
    ec_encode_data_update_sse (len, k, rows, index, tables, data, coding);
    break;
#endif
  case PATH_BASE:
    ec_encode_data_update_base (len, k, rows, index, tables, data, coding);
    break;
  default:
    REAL (ec_encode_data_update) (len, k, rows, index, tables, data, coding);
  }
  if (spoil == SPOIL_UPDATE)
    coding[rows - 1][len / 2] ^= 1;
}

/* ISA-L 2.31 and later have a second table format for their GFNI forms; the
 * other paths need the old one.
 */
void
ec_init_tables (int k, int rows, unsigned char *a, unsigned char *tables)
{
  __typeof__ (&ec_init_tables) base =
      (__typeof__ (&ec_init_tables))dlsym (RTLD_NEXT, "ec_init_tables_base");

  if (path == PATH_DISPATCH || base == NULL)
    base = REAL (ec_init_tables);
  base (k, rows, a, tables);
}

/*--- The reference and the blocks under test ---------------------------*/

static uint8_t mul_table[256][256];

static uint32_t
random32 (void)
{
  static uint64_t x = 88172645463325252u;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (uint32_t)(x >> 16);
}

/* An array shape with a block for every slot, and two more. */
struct rig {
  struct geometry g;
  struct parity *pp;
  const struct row_map *rm;
  uint8_t *arena;
  uint8_t *block[GEOMETRY_MAX_DISKS + 2];
  uint8_t *out[2]; /* the two more */
};

/* DEST = P (power false) or Q of the data blocks, by table. */
static void
reference (const struct rig *t, bool want_q, size_t len, uint8_t *dest)
{
  unsigned i;
  size_t j;

  memset (dest, 0, len);
  for (i = 0; i < t->g.data_disks; i++) {
    const unsigned slot = t->rm->data_slot[i];
    const uint8_t c = want_q ? parity_ref_pow2 (t->rm->exponent[slot]) : 1;

    for (j = 0; j < len; j++)
      dest[j] ^= mul_table[c][t->block[slot][j]];
  }
}

static bool
has_q (const struct rig *t)
{
  return t->g.level == 6;
}

/* Choose the row and fill all blocks: random data, right parity. */
static void
fill (struct rig *t, uint64_t row, size_t len)
{
  unsigned slot;
  size_t j;

  t->rm = geometry_row (&t->g, row);
  for (slot = 0; slot < t->g.raid_disks; slot++) {
    for (j = 0; j < len; j++)
      t->block[slot][j] = (uint8_t)random32 ();
  }
  reference (t, false, len, t->block[t->rm->p_slot]);
  if (has_q (t))
    reference (t, true, len, t->block[t->rm->q_slot]);
}

/* Put the blocks at OFFSET behind a 64-byte boundary; random per block if
 * OFFSET is negative.
 */
static void
place (struct rig *t, int offset)
{
  const unsigned n = t->g.raid_disks;
  unsigned i;

  for (i = 0; i < n + 2; i++)
    t->block[i] = t->arena + (size_t)i * ARENA_STRIDE + 64 +
                  (offset < 0 ? random32 () % 64 : (unsigned)offset);
  t->out[0] = t->block[n];
  t->out[1] = t->block[n + 1];
}

static void
rig_init (struct rig *t, int level, uint32_t layout, unsigned n)
{
  const size_t size = (size_t)(n + 2) * ARENA_STRIDE;
  struct uraid_error e = {0};

  ck_assert_msg (geometry_init (&t->g, level, layout, n, 8, 8000, &e) == 0,
                 "%s", e.text);
  ck_assert_int_eq (parity_new (&t->g, &t->pp), 0);
  t->rm = geometry_row (&t->g, 0);
  t->arena = aligned_alloc (64, size);
  ck_assert_ptr_nonnull (t->arena);
  memset (t->arena, GUARD, size);
  place (t, 0);
}

static void
rig_done (struct rig *t)
{
  parity_free (t->pp);
  geometry_done (&t->g);
  free (t->arena);
}

static const uint8_t *const *
sources (const struct rig *t)
{
  return (const uint8_t *const *)t->block;
}

static const uint32_t layouts6[] = {0, 1,  2,  3,  4,  5,  8,
                                    9, 10, 16, 17, 18, 19, 20};
#define NR_LAYOUTS6 (sizeof layouts6 / sizeof layouts6[0])

/* Tests loop over the paths; an unsupported one passes unseen. */
#define USE_PATH(which)                                                       \
  do {                                                                        \
    if (!path_supported (which))                                              \
      return;                                                                 \
    path = (which);                                                           \
  } while (0)

static void
fill_mul_table (void)
{
  unsigned a, b;

  for (a = 0; a < 256; a++) {
    for (b = 0; b < 256; b++)
      mul_table[a][b] = parity_ref_mul ((uint8_t)a, (uint8_t)b);
  }
}

static TCase *
add_case (Suite *s, const char *name)
{
  TCase *t = tcase_create (name);

  tcase_set_timeout (t, 120);
  suite_add_tcase (s, t);
  return t;
}

/* Run the cases of S; the exit status. */
static int
run_suite (Suite *s)
{
  SRunner *runner;
  int failed;

  fill_mul_table ();
  runner = srunner_create (s);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
