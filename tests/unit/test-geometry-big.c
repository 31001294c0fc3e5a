/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Unit tests of lib/md_layout/geometry with numbers that do not fit in 32
 * bits (S1): chunks of 2 GiB, stripe after stripe, against closed formulas in
 * 128 bits; and that a chunk can be divided by with a shift.  test-geometry
 * has all layouts and random offsets.  Single-threaded.
 */
#undef NDEBUG
#include <config.h>

#include "geometry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "uraid_error.h"

typedef unsigned __int128 big;

#define STRIPE_BYTES 4096
#define NR_STRIPES 262144 /* the most that a stripe cache has */

/* ck_assert notes its place in a file at each call, too slow for sweeps. */
#define MUST(condition)                                                       \
  do {                                                                        \
    if (!(condition))                                                         \
      ck_abort_msg ("%s", #condition);                                        \
  } while (0)

static void
init (struct geometry *g, int level, unsigned n, uint32_t chunk_sectors,
      uint64_t size_sectors)
{
  struct uraid_error e = {0};
  int r = geometry_init (g, level, level == 4 ? 0 : 2, n, chunk_sectors,
                         size_sectors, &e);

  ck_assert_msg (r == 0, "geometry_init: %s", e.text);
}

/* The slot of data INDEX in ROW of N members, left-symmetric. */
static unsigned
want_slot (int level, unsigned n, big row, big index)
{
  const big p = n - 1 - row % n;

  if (level == 4)
    return (unsigned)index;
  return (unsigned)((p + (level == 6 ? 2 : 1) + index) % n);
}

/* Hold what is said of OFFSET_BYTES against the formulas. */
static void
check_offset (const struct geometry *g, uint64_t offset_bytes)
{
  const big chunk = (big)1 << g->chunk_shift;
  const big row = offset_bytes / chunk / g->data_disks;
  const big index = offset_bytes / chunk % g->data_disks;
  const big member_offset = row * chunk + offset_bytes % chunk;
  struct geometry_place place;
  uint64_t back;

  geometry_locate (g, offset_bytes, &place);
  MUST (place.row == row);
  MUST (place.data_index == index);
  MUST (place.member_offset_bytes == member_offset);
  MUST (place.slot == want_slot (g->level, g->raid_disks, row, index));
  MUST (geometry_inverse (g, place.slot, place.member_offset_bytes, &back) ==
        0);
  MUST (back == offset_bytes);
}

static const struct {
  int level;
  unsigned n;
} shapes[] = {{6, 4}, {6, 253}, {5, 252}, {4, 3}};
#define NR_SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/* Each stripe around the first and the last border of two chunks, and the last
 * of all.  Members have 20 TiB.
 */
START_TEST (chunks_of_2gib)
{
  const uint64_t size_sectors = (UINT64_C (20) << 40) / 512;
  const uint64_t half = NR_STRIPES / 2 * (uint64_t)STRIPE_BYTES;
  struct geometry g;

  init (&g, shapes[_i].level, shapes[_i].n, UINT32_C (1) << 22, size_sectors);
  ck_assert (g.chunk_bytes == (big)1 << 31);
  ck_assert (g.array_bytes == (big)g.data_disks * size_sectors * 512);
  for (uint64_t k = 0; k < NR_STRIPES; k++) {
    check_offset (&g, g.chunk_bytes - half + k * STRIPE_BYTES);
    check_offset (&g, g.array_bytes - g.chunk_bytes - half + k * STRIPE_BYTES);
  }
  check_offset (&g, g.array_bytes - STRIPE_BYTES);
  check_offset (&g, g.array_bytes - 1);
  geometry_done (&g);
}
END_TEST

/* A chunk is divided by with a shift: all that is no power of two is refused
 * at the start, and the shift is that of the chunk.
 */
START_TEST (chunk_is_a_shift)
{
  const uint64_t size_sectors = UINT64_C (1) << 40;
  struct uraid_error e = {0};
  struct geometry g;

  for (unsigned shift = 3; shift < 32; shift++) {
    const uint32_t sectors = UINT32_C (1) << shift;
    const uint32_t bad[] = {sectors - 1, sectors + 1, sectors / 2 * 3};

    init (&g, 6, 6, sectors, size_sectors);
    ck_assert_uint_eq (g.chunk_shift, shift + 9);
    ck_assert (g.chunk_bytes == (big)1 << g.chunk_shift);
    ck_assert (g.chunk_bytes == (big)sectors * 512);
    ck_assert_uint_eq (g.rows, size_sectors / sectors);
    check_offset (&g, g.chunk_bytes - 1);
    check_offset (&g, g.chunk_bytes);
    check_offset (&g, g.array_bytes - 1);
    geometry_done (&g);
    for (unsigned i = 0; i < 3; i++) {
      ck_assert_int_eq (geometry_init (&g, 6, 2, 6, bad[i], size_sectors, &e),
                        -EINVAL);
      ck_assert_ptr_nonnull (strstr (e.text, "power of two"));
    }
  }
  ck_assert_int_eq (geometry_init (&g, 6, 2, 6, 0, size_sectors, &e), -EINVAL);
  ck_assert_ptr_nonnull (strstr (e.text, "chunk of 0"));
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("geometry-big");
  TCase *t = tcase_create ("big");

  tcase_set_timeout (t, 60);
  tcase_add_loop_test (t, chunks_of_2gib, 0, NR_SHAPES);
  tcase_add_test (t, chunk_is_a_shift);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *runner = srunner_create (make_suite ());
  int failed;

  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
