/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Unit tests of lib/md_layout/parity: every loss that parity can make good,
 * and check and locate; on every ISA-L code path (see parity-rig.h).
 *
 * Run one case alone: CK_RUN_CASE=locate ./test-parity-recover
 */
#undef NDEBUG
#include <config.h>

#include "parity.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "geometry.h"
#include "parity-rig.h"

/*--- Recover -----------------------------------------------------------*/

/* Lose the slots LOST, whose blocks become garbage; DROP (a P or Q slot, or
 * -1) is passed as NULL.  All must come back.
 */
static void
check_recover (struct rig *t, const unsigned lost[], unsigned nr_lost,
               int drop, size_t len)
{
  uint8_t *blocks[GEOMETRY_MAX_DISKS];
  uint8_t *kept[2];
  unsigned i;

  memcpy (blocks, t->block, t->g.raid_disks * sizeof blocks[0]);
  for (i = 0; i < nr_lost; i++) {
    kept[i] = malloc (len);
    MUST (kept[i] != NULL);
    memcpy (kept[i], blocks[lost[i]], len);
    memset (blocks[lost[i]], 0x5a, len);
    memset (blocks[lost[i]] + len, GUARD, 64);
  }
  if (drop >= 0)
    blocks[drop] = NULL;
  MUST (parity_recover (t->pp, t->rm, blocks, lost, nr_lost, len) == 0);
  for (i = 0; i < nr_lost; i++) {
    if (blocks[lost[i]] != NULL) {
      MUST (memcmp (blocks[lost[i]], kept[i], len) == 0);
      MUST (blocks[lost[i]][len] == GUARD);
    }
    memcpy (t->block[lost[i]], kept[i], len);
    free (kept[i]);
  }
}

/* Every loss that the row placement allows. */
static void
check_all_losses (struct rig *t, size_t len)
{
  const unsigned n = t->g.raid_disks;
  const int parity[2] = {t->rm->p_slot, has_q (t) ? t->rm->q_slot : -1};
  unsigned lost[2] = {0, 0}, a, b, k;

  check_recover (t, lost, 0, -1, len);
  for (a = 0; a < n; a++) {
    lost[0] = a;
    check_recover (t, lost, 1, -1, len);
    if (!has_q (t))
      continue;
    for (k = 0; k < 2; k++)
      check_recover (t, lost, 1, parity[k], len);
    for (b = 0; b < n; b++) {
      lost[1] = b;
      if (a != b)
        check_recover (t, lost, 2, -1, len);
    }
    /* Lost, and its block is not wanted either. */
    for (k = 0; k < 2; k++) {
      lost[1] = (unsigned)parity[k];
      if (lost[1] != a)
        check_recover (t, lost, 2, parity[k], len);
    }
  }
}

START_TEST (recover_level6)
{
  static const size_t lengths[] = {64, 1, 257, 512};
  const uint32_t layout = layouts6[_i];
  struct rig t;
  unsigned n;
  uint64_t row;

  for (n = 4; n <= 8; n++) {
    rig_init (&t, 6, layout, n);
    for (row = 0; row < t.g.period; row++) {
      path = (int)(row % NR_PATHS);
      if (!path_supported (path))
        path = PATH_DISPATCH;
      place (&t, row % 2 == 0 ? 0 : -1);
      fill (&t, row, lengths[row % 4]);
      check_all_losses (&t, lengths[row % 4]);
    }
    rig_done (&t);
  }
  rig_init (&t, 6, layout, 16);
  for (row = 3; row < 16; row += 6) {
    fill (&t, row, 192);
    check_all_losses (&t, 192);
  }
  rig_done (&t);
}
END_TEST

/* More than one piece of scratch, whole and odd. */
START_TEST (recover_long)
{
  struct rig t;

  USE_PATH (_i);
  rig_init (&t, 6, 18, 5);
  fill (&t, 1, 8192);
  check_all_losses (&t, 8192);
  place (&t, -1);
  fill (&t, 2, 8191);
  check_all_losses (&t, 8191);
  fill (&t, 3, 4097);
  check_all_losses (&t, 4097);
  rig_done (&t);
}
END_TEST

START_TEST (recover_many_members)
{
  static const uint32_t layouts[] = {2, 8};
  struct rig t;
  unsigned lost[2], i;
  size_t k;

  for (k = 0; k < 2; k++) {
    rig_init (&t, 6, layouts[k], 253);
    fill (&t, 100, 192);
    for (i = 0; i < 500; i++) {
      lost[0] = i < 253 ? i : random32 () % 253;
      lost[1] = (lost[0] + 1 + random32 () % 252) % 253;
      check_recover (&t, lost, 2, -1, 192);
    }
    rig_done (&t);
  }
}
END_TEST

START_TEST (recover_level_4_5)
{
  struct rig t;
  unsigned n;

  USE_PATH (_i);
  for (n = 2; n <= 8; n++) {
    rig_init (&t, 5, 0, n);
    fill (&t, n / 2, 128);
    check_all_losses (&t, 128);
    rig_done (&t);
    rig_init (&t, 4, 0, n);
    place (&t, -1);
    fill (&t, n, 129);
    check_all_losses (&t, 129);
    rig_done (&t);
  }
}
END_TEST

START_TEST (recover_too_much)
{
  uint8_t *blocks[6];
  uint8_t copy[6][64];
  unsigned i, lost[3] = {0, 1, 2};
  struct rig t;

  rig_init (&t, 6, 5, 6); /* P on 4, Q on 5 */
  fill (&t, 0, 64);
  for (i = 0; i < 6; i++)
    memcpy (copy[i], t.block[i], 64);
  memcpy (blocks, t.block, sizeof blocks);
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 3, 64) == -EINVAL);
  lost[1] = 0; /* twice the same */
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 2, 64) == -EINVAL);
  lost[1] = 6; /* no such slot */
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 2, 64) == -EINVAL);
  lost[1] = 1;
  blocks[4] = NULL;
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 2, 64) == -EINVAL);
  blocks[5] = NULL;
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 1, 64) == -EINVAL);
  lost[1] = 4; /* P lost, Q not at hand, data lost */
  blocks[4] = t.block[4];
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 2, 64) == -EINVAL);
  for (i = 0; i < 6; i++)
    MUST (memcmp (copy[i], t.block[i], 64) == 0);
  rig_done (&t);

  rig_init (&t, 5, 5, 6);
  fill (&t, 0, 64);
  memcpy (blocks, t.block, sizeof blocks);
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 2, 64) == -EINVAL);
  blocks[5] = NULL;
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 1, 64) == -EINVAL);
  MUST (parity_recover (t.pp, t.rm, blocks, lost, 0, 64) == 0);
  rig_done (&t);
}
END_TEST

/*--- Check and locate --------------------------------------------------*/

static void
damage (struct rig *t, unsigned slot, size_t at, uint8_t by)
{
  t->block[slot][at] ^= by;
}

/* Expect a verdict; SLOT -1: none is told. */
static void
expect (struct rig *t, size_t len, enum parity_where where, int slot)
{
  unsigned found = 999;

  MUST (parity_check (t->pp, t->rm, sources (t), len, &found) == where);
  MUST (found == (slot < 0 ? 999u : (unsigned)slot));
}

static enum parity_where
verdict_for (const struct rig *t, unsigned slot)
{
  const int role = t->rm->role[slot];

  return role == ROLE_P   ? PARITY_BAD_P
         : role == ROLE_Q ? PARITY_BAD_Q
                          : PARITY_BAD_DATA;
}

START_TEST (locate_one)
{
  const size_t len = 8192;
  struct rig t;
  unsigned n, slot, i;
  uint64_t row;

  for (n = 4; n <= 9; n++) {
    rig_init (&t, 6, layouts6[_i], n);
    for (row = 0; row < t.g.period; row++) {
      place (&t, row % 2 == 0 ? 0 : -1);
      fill (&t, row, len);
      expect (&t, len, PARITY_GOOD, -1);
      for (slot = 0; slot < n; slot++) {
        const size_t at = random32 () % len;

        damage (&t, slot, at, 0x80);
        expect (&t, len, verdict_for (&t, slot), (int)slot);
        /* Many bytes are bad, in both pieces, the first one too. */
        for (i = 0; i < 200; i++)
          damage (&t, slot, random32 () % len, (uint8_t)random32 ());
        damage (&t, slot, 0, 0x21);
        expect (&t, len, verdict_for (&t, slot), (int)slot);
        fill (&t, row, len);
      }
    }
    rig_done (&t);
  }
}
END_TEST

START_TEST (locate_two_is_unclear)
{
  const size_t len = 5000;
  struct rig t;
  unsigned a, b;

  rig_init (&t, 6, layouts6[_i], 6);
  for (a = 0; a < 6; a++) {
    for (b = 0; b < 6; b++) {
      if (a == b)
        continue;
      /* In different bytes, even in different pieces. */
      fill (&t, a + b, len);
      damage (&t, a, 3, 0x40);
      damage (&t, b, len - 1, 0x40);
      expect (&t, len, PARITY_UNCLEAR, -1);
    }
  }
  /* P and Q in the same byte, by a ratio that no member has (g^200). */
  fill (&t, 1, len);
  damage (&t, t.rm->p_slot, 9, 0x01);
  damage (&t, t.rm->q_slot, 9, parity_ref_pow2 (200));
  expect (&t, len, PARITY_UNCLEAR, -1);
  /* Two data blocks wrong by the same amount: P fits, Q does not in this
   * byte; another byte tells that it is not Q alone.
   */
  fill (&t, 2, len);
  damage (&t, t.rm->data_slot[0], 9, 0x01);
  damage (&t, t.rm->data_slot[1], 9, 0x01);
  expect (&t, len, PARITY_BAD_Q, t.rm->q_slot);
  damage (&t, t.rm->data_slot[1], 10, 0x01);
  expect (&t, len, PARITY_UNCLEAR, -1);
  rig_done (&t);
}
END_TEST

/* DDF layouts: a ratio that points at the slot of P or Q is no data block. */
START_TEST (locate_ddf_gap)
{
  struct rig t;

  rig_init (&t, 6, 8, 6);
  fill (&t, 1, 64);
  ck_assert_uint_eq (t.rm->p_slot, 1);
  damage (&t, t.rm->p_slot, 5, 0x01);
  damage (&t, t.rm->q_slot, 5, parity_ref_pow2 (1));
  expect (&t, 64, PARITY_UNCLEAR, -1);
  rig_done (&t);
}
END_TEST

START_TEST (locate_level5)
{
  struct rig t;
  unsigned slot;

  for (slot = 0; slot < 4; slot++) {
    rig_init (&t, 5, 2, 4);
    fill (&t, 1, 8000);
    expect (&t, 8000, PARITY_GOOD, -1);
    damage (&t, slot, 7999, 1);
    expect (&t, 8000, PARITY_UNCLEAR, -1);
    expect (&t, 7999, PARITY_GOOD, -1);
    rig_done (&t);
  }
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("parity-recover");
  TCase *t;

  t = add_case (s, "recover");
  tcase_add_loop_test (t, recover_level6, 0, (int)NR_LAYOUTS6);
  tcase_add_loop_test (t, recover_long, 0, NR_PATHS);
  tcase_add_loop_test (t, recover_level_4_5, 0, NR_PATHS);
  tcase_add_test (t, recover_many_members);
  tcase_add_test (t, recover_too_much);

  t = add_case (s, "locate");
  tcase_add_loop_test (t, locate_one, 0, (int)NR_LAYOUTS6);
  tcase_add_loop_test (t, locate_two_is_unclear, 0, (int)NR_LAYOUTS6);
  tcase_add_test (t, locate_ddf_gap);
  tcase_add_test (t, locate_level5);
  return s;
}

int
main (void)
{
  return run_suite (make_suite ());
}
