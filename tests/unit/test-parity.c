/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Unit tests of lib/md_layout/parity: known answers, generate, update, the
 * self check; on every ISA-L code path (see parity-rig.h).
 *
 * Run one case alone: CK_RUN_CASE=field-R56 ./test-parity
 */
#undef NDEBUG
#include <config.h>

#include "parity.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <isa-l.h>

#include "geometry.h"
#include "parity-rig.h"
#include "uraid_error.h"

/* The bytes around an output must be untouched. */
static void
must_be_guarded (const uint8_t *block, size_t len)
{
  size_t i;

  for (i = 0; i < 64; i++)
    MUST (block[-1 - (ptrdiff_t)i] == GUARD && block[len + i] == GUARD);
}

/* parity_gen in its three forms against the parity that fill made. */
static void
check_gen (struct rig *t, size_t len)
{
  const uint8_t *p = t->block[t->rm->p_slot];
  const uint8_t *q = has_q (t) ? t->block[t->rm->q_slot] : NULL;
  uint8_t *p_out = t->out[0], *q_out = t->out[1];
  const size_t room = ARENA_STRIDE - 128;

  memset (p_out - 64, GUARD, 64 + room);
  memset (q_out - 64, GUARD, 64 + room);
  parity_gen (t->pp, t->rm, sources (t), len, p_out, NULL);
  MUST (memcmp (p_out, p, len) == 0);
  must_be_guarded (p_out, len);
  if (q == NULL)
    return;
  parity_gen (t->pp, t->rm, sources (t), len, NULL, q_out);
  MUST (memcmp (q_out, q, len) == 0);
  must_be_guarded (q_out, len);
  memset (p_out, 0, len);
  memset (q_out, 0, len);
  parity_gen (t->pp, t->rm, sources (t), len, p_out, q_out);
  MUST (memcmp (p_out, p, len) == 0 && memcmp (q_out, q, len) == 0);
  must_be_guarded (p_out, len);
  must_be_guarded (q_out, len);
}

/* A change of the data block on SLOT, brought into P and Q by delta. */
static void
check_delta (struct rig *t, unsigned slot, size_t len)
{
  uint8_t *p = t->block[t->rm->p_slot];
  uint8_t *q = has_q (t) ? t->block[t->rm->q_slot] : NULL;
  uint8_t *delta = t->out[0], *want = t->out[1];
  size_t j;

  for (j = 0; j < len; j++)
    delta[j] = (uint8_t)random32 ();
  parity_xor (t->block[slot], delta, len);
  if (q != NULL && random32 () % 2 == 0)
    parity_delta (t->pp, t->rm, slot, delta, len, p, q);
  else {
    parity_delta (t->pp, t->rm, slot, delta, len, p, NULL);
    parity_delta (t->pp, t->rm, slot, delta, len, NULL, q);
  }
  reference (t, false, len, want);
  MUST (memcmp (p, want, len) == 0);
  if (q != NULL) {
    reference (t, true, len, want);
    MUST (memcmp (q, want, len) == 0);
  }
}
/*--- Known answers -----------------------------------------------------*/

START_TEST (field_powers)
{
  static const uint8_t want[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40,
                                 0x80, 0x1d, 0x3a, 0x74, 0xe8, 0xcd, 0x87,
                                 0x13, 0x26, 0x4c, 0x98, 0x2d, 0x5a, 0xb4,
                                 0x75, 0xea, 0xc9, 0x8f, 0x03};
  unsigned e, a;

  for (e = 0; e < sizeof want; e++)
    MUST (parity_ref_pow2 (e) == want[e]);
  MUST (parity_ref_pow2 (50) == 0x05 && parity_ref_pow2 (100) == 0x11);
  MUST (parity_ref_pow2 (128) == 0x85 && parity_ref_pow2 (254) == 0x8e);
  MUST (parity_ref_pow2 (255) == 1);
  for (a = 0; a < 256; a++) {
    MUST (mul_table[a][1] == a && mul_table[1][a] == a && !mul_table[a][0]);
    MUST (mul_table[a][2] == (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1d : 0)));
    for (e = 0; e < 256; e++)
      MUST (mul_table[a][e] == mul_table[e][a]);
  }
}
END_TEST

/* D_i[j] = 0x11 (i+1) + 7 j, data index i. */
static void
fill_known (struct rig *t, uint64_t row)
{
  unsigned i, j;

  t->rm = geometry_row (&t->g, row);
  for (i = 0; i < t->g.data_disks; i++) {
    for (j = 0; j < 16; j++)
      t->block[t->rm->data_slot[i]][j] = (uint8_t)(0x11 * (i + 1) + 7 * j);
  }
}

static void
must_be_hex (const uint8_t *bytes, const char *hex)
{
  char text[33];
  unsigned j;

  for (j = 0; j < 16; j++)
    sprintf (text + 2 * j, "%02x", bytes[j]);
  ck_assert_str_eq (text, hex);
}

START_TEST (known_vectors)
{
  static const struct {
    unsigned layout, n, row;
    const char *p, *q;
  } known[] = {
      {5, 4, 0, "33312f111371771113313f311311f7f1",
       "554a7f4851bea3e4fd92878089966671"},
      {5, 6, 0, "44403c003c40440004c0cc200c00c4c0",
       "83c0cc8757e49de68b2b5a461b18513a"},
      {5, 16, 0, "ff9123d147d1a3118f71a33147f123b1",
       "1bb1adf5d60e89a81dade36c53ca668a"},
      {2, 6, 2, "44403c003c40440004c0cc200c00c4c0",
       "83c0cc8757e49de68b2b5a461b18513a"},
      {0, 6, 2, "44403c003c40440004c0cc200c00c4c0",
       "6b129eb3808ce7a7e40d76f8dbaab6db"},
      {8, 6, 1, "44403c003c40440004c0cc200c00c4c0",
       "635f7498d85399e866a1633e80a1fb67"},
      {9, 6, 1, "44403c003c40440004c0cc200c00c4c0",
       "f137f49aec878b6f77eaee6d459e713f"},
      {10, 6, 1, "44403c003c40440004c0cc200c00c4c0",
       "534b206af4a660fab461ba03033bd7db"},
      {18, 6, 1, "44403c003c40440004c0cc200c00c4c0",
       "c1ac1ff348d5967813090ac6307daed7"},
  };
  size_t k;

  for (k = 0; k < sizeof known / sizeof known[0]; k++) {
    struct rig t;

    rig_init (&t, 6, known[k].layout, known[k].n);
    fill_known (&t, known[k].row);
    must_be_hex (t.block[t.rm->data_slot[1]],
                 "222930373e454c535a61686f767d848b");
    parity_gen (t.pp, t.rm, sources (&t), 16, t.out[0], t.out[1]);
    must_be_hex (t.out[0], known[k].p);
    must_be_hex (t.out[1], known[k].q);
    parity_ref_gen (&t.g, t.rm, sources (&t), 16, t.out[0], t.out[1]);
    must_be_hex (t.out[0], known[k].p);
    must_be_hex (t.out[1], known[k].q);
    rig_done (&t);
  }
}
END_TEST

/* The intermediate values of recovery for n = 6, exponents = indices. */
START_TEST (known_recovery)
{
  const uint8_t *src[6];
  uint8_t *p, *q, *dx, *dy;
  struct rig t;
  unsigned j;

  rig_init (&t, 6, 5, 6);
  fill_known (&t, 0);
  p = t.block[4];
  q = t.block[5];
  parity_gen (t.pp, t.rm, sources (&t), 16, p, q);
  memcpy (src, t.block, sizeof src);
  src[1] = src[3] = NULL;
  parity_gen (t.pp, t.rm, src, 16, t.out[0], t.out[1]);
  parity_xor (t.out[0], p, 16);
  parity_xor (t.out[1], q, 16);
  must_be_hex (t.out[0], "6662626e5e22222626e2e2feeee22226");
  must_be_hex (t.out[1], "5e30ca9c5b95cf2973aef42258764c0a");
  dx = t.block[1];
  dy = t.block[3];
  for (j = 0; j < 16; j++) {
    const uint8_t b_qd = parity_ref_mul (0xdd, t.out[1][j]);

    MUST (dx[j] == (parity_ref_mul (0xa6, t.out[0][j]) ^ b_qd));
    MUST (dy[j] == (parity_ref_mul (0xa7, t.out[0][j]) ^ b_qd));
  }
  memcpy (src, t.block, sizeof src);
  src[2] = NULL;
  parity_gen (t.pp, t.rm, src, 16, NULL, t.out[1]);
  parity_xor (t.out[1], q, 16);
  must_be_hex (t.out[1], "cce8193d2145698db1d5f93a26026e4a");
  for (j = 0; j < 16; j++)
    MUST (t.block[2][j] == parity_ref_mul (0x47, t.out[1][j]));
  rig_done (&t);
}
END_TEST

/*--- Generate and update, every code path ------------------------------*/

START_TEST (gen_all_layouts)
{
  static const size_t lengths[] = {1, 16, 33, 64, 300, 4096};
  size_t k, j;
  unsigned n;
  uint64_t row;
  struct rig t;

  USE_PATH (_i);
  for (k = 0; k < NR_LAYOUTS6; k++) {
    for (n = 4; n <= 16; n += n < 8 ? 1 : 4) {
      rig_init (&t, 6, layouts6[k], n);
      for (row = 0; row < t.g.period; row++) {
        j = (size_t)(row + n) % 6;
        place (&t, row % 2 == 0 ? 0 : -1);
        fill (&t, row, lengths[j]);
        check_gen (&t, lengths[j]);
        check_delta (&t, t.rm->data_slot[random32 () % t.g.data_disks],
                     lengths[j]);
      }
      rig_done (&t);
    }
  }
}
END_TEST

START_TEST (gen_level_4_5)
{
  static const size_t lengths[] = {1, 33, 64, 300, 4096};
  struct rig t;
  unsigned n;
  size_t k;

  USE_PATH (_i);
  for (n = 2; n <= 9; n++) {
    for (k = 0; k < 5; k++) {
      rig_init (&t, 4 + n % 2, 2, n);
      place (&t, k % 2 == 0 ? 0 : -1);
      fill (&t, k, lengths[k]);
      check_gen (&t, lengths[k]);
      check_delta (&t, t.rm->data_slot[0], lengths[k]);
      rig_done (&t);
    }
  }
}
END_TEST

START_TEST (gen_many_members)
{
  static const struct {
    int level;
    uint32_t layout;
    unsigned n;
  } shapes[] = {
      {6, 2, 253}, {6, 8, 253}, {6, 10, 252}, {5, 2, 253}, {6, 0, 100}};
  struct rig t;
  size_t k;

  USE_PATH (_i);
  for (k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
    rig_init (&t, shapes[k].level, shapes[k].layout, shapes[k].n);
    fill (&t, 41, 192);
    check_gen (&t, 192);
    place (&t, -1);
    fill (&t, 97, 193);
    check_gen (&t, 193);
    check_delta (&t, t.rm->data_slot[shapes[k].n - 3], 193);
    rig_done (&t);
  }
}
END_TEST

START_TEST (null_sources)
{
  const uint8_t *src[16];
  struct rig t;
  unsigned missing, i;

  USE_PATH (_i);
  for (i = 0; i < 60; i++) {
    rig_init (&t, i % 4 == 0 ? 5 : 6, i % 4 == 1 ? 9 : 2, 4 + i % 8);
    place (&t, i % 3 == 0 ? 0 : -1);
    fill (&t, i, 256);
    memcpy (src, t.block, t.g.raid_disks * sizeof src[0]);
    for (missing = 0; missing < t.g.data_disks; missing++) {
      /* One more source becomes NULL each time, at last all. */
      memset (t.block[t.rm->data_slot[missing]], 0, 256);
      src[t.rm->data_slot[missing]] = NULL;
      parity_gen (t.pp, t.rm, src, 256, t.out[0],
                  has_q (&t) ? t.out[1] : NULL);
      reference (&t, false, 256, t.block[t.rm->p_slot]);
      MUST (memcmp (t.out[0], t.block[t.rm->p_slot], 256) == 0);
      parity_gen (t.pp, t.rm, src, 256, t.out[0], NULL);
      MUST (memcmp (t.out[0], t.block[t.rm->p_slot], 256) == 0);
      if (has_q (&t)) {
        reference (&t, true, 256, t.block[t.rm->q_slot]);
        MUST (memcmp (t.out[1], t.block[t.rm->q_slot], 256) == 0);
      }
    }
    rig_done (&t);
  }
}
END_TEST

/* Aligned pages take the fast functions, and only those. */
START_TEST (fast_functions_used)
{
  static const uint32_t layouts[] = {2, 9};
  struct rig t;
  size_t k;

  for (k = 0; k < 2; k++) {
    rig_init (&t, 6, layouts[k], 6);
    fill (&t, 1, 4096);
    nr_pq_gen = nr_xor_gen = 0;
    parity_gen (t.pp, t.rm, sources (&t), 4096, t.out[0], t.out[1]);
    ck_assert_uint_eq (nr_pq_gen, 1);
    parity_gen (t.pp, t.rm, sources (&t), 4096, t.out[0], NULL);
    ck_assert_uint_eq (nr_xor_gen, 1);
    rig_done (&t);
  }
}
END_TEST

START_TEST (largest_block)
{
  const uint8_t *zero = parity_zeroes ();
  uint8_t *buf;
  const uint8_t *src[4] = {NULL, NULL, NULL, NULL};
  struct rig t;
  size_t j;

  USE_PATH (_i);
  buf = aligned_alloc (64, 2 * PARITY_MAX_BYTES);
  rig_init (&t, 6, 4, 4);
  MUST ((uintptr_t)zero % 64 == 0 && zero[0] == 0);
  MUST (memcmp (zero, zero + 1, PARITY_MAX_BYTES - 1) == 0);
  for (j = 0; j < 2 * PARITY_MAX_BYTES; j++)
    buf[j] = (uint8_t)random32 ();
  src[3] = buf;
  parity_gen (t.pp, t.rm, src, PARITY_MAX_BYTES, NULL, buf + PARITY_MAX_BYTES);
  for (j = 0; j < PARITY_MAX_BYTES; j++)
    MUST (buf[PARITY_MAX_BYTES + j] == mul_table[2][buf[j]]);
  parity_xor (buf + PARITY_MAX_BYTES, buf, PARITY_MAX_BYTES);
  for (j = 0; j < PARITY_MAX_BYTES; j++)
    MUST (buf[PARITY_MAX_BYTES + j] == mul_table[3][buf[j]]);
  rig_done (&t);
  free (buf);
}
END_TEST

/*--- Field report R56: alignment and length, every code path -----------*/

/* Lengths 1 to 8192 (those around vector widths all, others by sample),
 * offsets 0 to 63.
 */
START_TEST (r56_gen)
{
  struct rig t;
  size_t len;

  USE_PATH (_i);
  rig_init (&t, 6, 2, 6);
  for (len = 1; len <= 8192; len += len < 260 ? 1 : 1 + random32 () % 120) {
    place (&t, (int)(len % 64));
    fill (&t, len, len);
    check_gen (&t, len);
    place (&t, -1);
    fill (&t, len + 1, len);
    check_gen (&t, len);
  }
  for (len = 0; len < 64; len++) {
    place (&t, (int)len);
    fill (&t, len, 4096);
    check_gen (&t, 4096);
    place (&t, 0);
    fill (&t, len, 8192 - len);
    check_gen (&t, 8192 - len);
  }
  rig_done (&t);
}
END_TEST

/* Every length from 1 to 8192, for xor and for each row form of delta. */
START_TEST (r56_delta)
{
  uint8_t *p, *q, *delta, *p_old;
  const unsigned slot = 3;
  uint8_t c;
  struct rig t;
  size_t len, j;

  USE_PATH (_i);
  rig_init (&t, 6, 8, 6);
  c = parity_ref_pow2 (t.rm->exponent[slot]);
  for (len = 1; len <= 8192; len += len < 600 || len > 8100 ? 1 : 7) {
    place (&t, -1);
    p = t.block[0];
    q = t.block[1];
    delta = t.block[2];
    p_old = t.block[4];
    for (j = 0; j < len; j++) {
      p[j] = p_old[j] = (uint8_t)(j * 3);
      q[j] = (uint8_t)(j * 5);
      delta[j] = (uint8_t)(random32 () >> 3);
    }
    memset (p - 64, GUARD, 64);
    memset (p + len, GUARD, 64);
    memset (q - 64, GUARD, 64);
    memset (q + len, GUARD, 64);
    parity_delta (t.pp, t.rm, slot, delta, len, p, q);
    for (j = 0; j < len; j++) {
      MUST (p[j] == (uint8_t)((j * 3) ^ delta[j]));
      MUST (q[j] == (uint8_t)((j * 5) ^ mul_table[c][delta[j]]));
    }
    parity_delta (t.pp, t.rm, slot, delta, len, NULL, q);
    parity_xor (p, delta, len);
    for (j = 0; j < len; j++)
      MUST (q[j] == (uint8_t)(j * 5));
    MUST (memcmp (p, p_old, len) == 0);
    must_be_guarded (p, len);
    must_be_guarded (q, len);
  }
  rig_done (&t);
}
END_TEST

/* ISA-L's own forms, called as they are on aligned pages. */
START_TEST (r56_direct)
{
  typedef int gen_function (int, int, void **);
  static const struct {
    int path;
    gen_function *pq, *xor;
  } forms[] = {
#ifdef __x86_64__
      {PATH_AVX2, pq_gen_avx2, xor_gen_avx},
      {PATH_AVX, pq_gen_avx, xor_gen_avx},
      {PATH_SSE, pq_gen_sse, xor_gen_sse},
#endif
      {PATH_BASE, pq_gen_base, xor_gen_base},
  };
  void *array[26];
  struct rig t;
  unsigned n, i;
  size_t k, len;

  for (k = 0; k < sizeof forms / sizeof forms[0]; k++) {
    USE_PATH (forms[k].path);
    for (n = 4; n <= 24; n += 3) {
      rig_init (&t, 6, 5, n); /* data, P, Q in the order of the slots */
      for (len = 64; len <= 8192; len = len < 512 ? len + 64 : len * 2) {
        fill (&t, 0, len);
        for (i = 0; i < n - 2; i++)
          array[i] = t.block[i];
        array[n - 2] = t.out[0];
        array[n - 1] = t.out[1];
        MUST (forms[k].pq ((int)n, (int)len, array) == 0);
        MUST (memcmp (t.out[0], t.block[n - 2], len) == 0);
        MUST (memcmp (t.out[1], t.block[n - 1], len) == 0);
        memset (t.out[0], 0, len);
        MUST (forms[k].xor ((int)n - 1, (int)len, array) == 0);
        MUST (memcmp (t.out[0], t.block[n - 2], len) == 0);
      }
      rig_done (&t);
    }
  }
}
END_TEST

/*--- Self check --------------------------------------------------------*/

START_TEST (self_check_good)
{
  struct uraid_error e = {0};

  USE_PATH (_i);
  ck_assert_msg (parity_self_check (&e) == 0, "%s", e.text);
}
END_TEST

/* Each spoilt ISA-L function is noticed and named. */
START_TEST (self_check_bad)
{
  static const char *const names[] = {[SPOIL_PQ] = "pq_gen",
                                      [SPOIL_XOR] = "xor_gen",
                                      [SPOIL_EC] = "ec_encode_data",
                                      [SPOIL_UPDATE] =
                                          "ec_encode_data_update"};
  struct uraid_error e = {0};

  spoil = _i;
  ck_assert_int_eq (parity_self_check (&e), -EIO);
  ck_assert_msg (strstr (e.text, names[_i]) != NULL, "%s", e.text);
  ck_assert_ptr_nonnull (strstr (e.text, " bytes"));
  spoil = SPOIL_NONE;
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("parity");
  TCase *t;

  t = add_case (s, "known-answers");
  tcase_add_test (t, field_powers);
  tcase_add_test (t, known_vectors);
  tcase_add_test (t, known_recovery);

  t = add_case (s, "generate");
  tcase_add_loop_test (t, gen_all_layouts, 0, NR_PATHS);
  tcase_add_loop_test (t, gen_level_4_5, 0, NR_PATHS);
  tcase_add_loop_test (t, gen_many_members, 0, NR_PATHS);
  tcase_add_loop_test (t, null_sources, 0, NR_PATHS);
  tcase_add_loop_test (t, largest_block, 0, NR_PATHS);
  tcase_add_test (t, fast_functions_used);

  t = add_case (s, "field-R56");
  tcase_add_loop_test (t, r56_gen, 0, NR_PATHS);
  tcase_add_loop_test (t, r56_delta, 0, NR_PATHS);
  tcase_add_test (t, r56_direct);

  t = add_case (s, "self-check");
  tcase_add_loop_test (t, self_check_good, 0, NR_PATHS);
  tcase_add_loop_test (t, self_check_bad, SPOIL_NONE + 1, NR_SPOILS);
  return s;
}

int
main (void)
{
  return run_suite (make_suite ());
}
