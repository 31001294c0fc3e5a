/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * P and Q the slow and obvious way, and the self check that compares ISA-L
 * with it at start.  This file uses nothing of ISA-L and no tables: it is the
 * yardstick.  Pure functions, no locks, any thread.
 */
#include <config.h>

#include "parity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "uraid_error.h"

/* x^8 + x^4 + x^3 + x^2 + 1 without its highest term. */
#define POLYNOMIAL 0x1d

uint8_t
parity_ref_mul (uint8_t a, uint8_t b)
{
  unsigned sum = 0, shifted = a, rest = b;

  while (rest != 0) {
    if (rest & 1)
      sum ^= shifted;
    rest >>= 1;
    shifted <<= 1;
    if (shifted & 0x100)
      shifted ^= 0x100 | POLYNOMIAL;
  }
  return (uint8_t)sum;
}

uint8_t
parity_ref_pow2 (unsigned e)
{
  uint8_t v = 1;

  for (e %= 255; e > 0; e--)
    v = parity_ref_mul (v, 2);
  return v;
}

void
parity_ref_gen (const struct geometry *g, const struct row_map *rm,
                const uint8_t *const src[], size_t len_bytes, uint8_t *p,
                uint8_t *q)
{
  unsigned i, slot;
  uint8_t coefficient;
  size_t j;

  if (p != NULL)
    memset (p, 0, len_bytes);
  if (q != NULL)
    memset (q, 0, len_bytes);
  for (i = 0; i < g->data_disks; i++) {
    slot = rm->data_slot[i];
    if (src[slot] == NULL)
      continue;
    coefficient = parity_ref_pow2 (rm->exponent[slot]);
    for (j = 0; j < len_bytes; j++) {
      if (p != NULL)
        p[j] ^= src[slot][j];
      if (q != NULL)
        q[j] ^= parity_ref_mul (src[slot][j], coefficient);
    }
  }
}

/*--- Self check --------------------------------------------------------*/

#define CHECK_MAX_DISKS 18
#define CHECK_MAX_BYTES 4096
#define CHECK_STRIDE (CHECK_MAX_BYTES + 64) /* keeps the alignment */

/* One array shape under check, with all its blocks in one buffer. */
struct check {
  struct geometry g;
  struct parity *pp;
  const struct row_map *rm;
  uint8_t *buf;
  const uint8_t *src[CHECK_MAX_DISKS];
  uint8_t *p, *q, *ref_p, *ref_q, *extra;
  size_t len_bytes;
  unsigned misalign;
};

static int
report (const struct check *c, const char *function, struct uraid_error *e)
{
  return uraid_error_set (
      e, EIO,
      "self check failed: %s gives wrong bytes on this machine (level %d, "
      "%u members, %zu bytes, pointers %u bytes off alignment); nothing can "
      "be served safely: check the ISA-L library and the processor",
      function, c->g.level, c->g.raid_disks, c->len_bytes, c->misalign);
}

/* Place the blocks at the given misalignment and fill them. */
static void
setup_blocks (struct check *c, size_t len_bytes, unsigned misalign)
{
  uint32_t x = 0x9e3779b9u ^ (uint32_t)len_bytes;
  uint8_t *next = c->buf + misalign;
  unsigned slot;
  size_t j;

  c->len_bytes = len_bytes;
  c->misalign = misalign;
  for (slot = 0; slot < c->g.raid_disks; slot++, next += CHECK_STRIDE) {
    for (j = 0; j < len_bytes; j++) {
      x = x * 1664525u + 1013904223u;
      next[j] = (uint8_t)(x >> 24);
    }
    c->src[slot] = next;
  }
  c->p = next;
  c->q = next + CHECK_STRIDE;
  c->extra = next + 2 * CHECK_STRIDE;
  c->ref_p = next + 3 * CHECK_STRIDE;
  c->ref_q = next + 4 * CHECK_STRIDE;
}

/* parity_gen with every choice of outputs. */
static int
check_gen (struct check *c, struct uraid_error *e)
{
  const bool has_q = c->g.level == 6;
  const size_t len = c->len_bytes;

  parity_ref_gen (&c->g, c->rm, c->src, len, c->ref_p,
                  has_q ? c->ref_q : NULL);
  parity_gen (c->pp, c->rm, c->src, len, c->p, NULL);
  if (memcmp (c->p, c->ref_p, len) != 0)
    return report (c, "parity_gen for P (xor_gen or ec_encode_data)", e);
  if (!has_q)
    return 0;
  parity_gen (c->pp, c->rm, c->src, len, NULL, c->q);
  if (memcmp (c->q, c->ref_q, len) != 0)
    return report (c, "parity_gen for Q (ec_encode_data)", e);
  memset (c->p, 0x55, len);
  memset (c->q, 0x55, len);
  parity_gen (c->pp, c->rm, c->src, len, c->p, c->q);
  if (memcmp (c->p, c->ref_p, len) != 0 || memcmp (c->q, c->ref_q, len) != 0)
    return report (c, "parity_gen for P and Q (pq_gen or ec_encode_data)", e);
  return 0;
}

/* Change one data block by delta, then compare with a full computation. */
static int
check_delta (struct check *c, struct uraid_error *e)
{
  const bool has_q = c->g.level == 6;
  const unsigned slot = c->rm->data_slot[c->g.data_disks - 1];
  const uint8_t *old = c->src[slot];
  const size_t len = c->len_bytes;
  size_t j;

  /* The delta is the P block, because that is at hand; new = old ^ delta. */
  memcpy (c->extra, c->ref_p, len);
  parity_delta (c->pp, c->rm, slot, c->extra, len, c->p, has_q ? c->q : NULL);
  parity_xor (c->extra, old, len);
  for (j = 0; j < len; j++) {
    if (c->extra[j] != (uint8_t)(old[j] ^ c->ref_p[j]))
      return report (c, "parity_xor (ec_encode_data_update)", e);
  }
  c->src[slot] = c->extra;
  parity_ref_gen (&c->g, c->rm, c->src, len, c->ref_p,
                  has_q ? c->ref_q : NULL);
  c->src[slot] = old;
  if (memcmp (c->p, c->ref_p, len) != 0 ||
      (has_q && memcmp (c->q, c->ref_q, len) != 0))
    return report (c, "parity_delta (ec_encode_data_update)", e);
  return 0;
}

/* Lose and recompute two data blocks (level 6) or one (level 4, 5). */
static int
check_recover (struct check *c, struct uraid_error *e)
{
  const unsigned nr_lost = c->g.parity_disks;
  unsigned lost[2] = {c->rm->data_slot[0],
                      c->rm->data_slot[c->g.data_disks - 1]};
  uint8_t *blocks[CHECK_MAX_DISKS];
  const uint8_t *kept[2];
  unsigned slot, i;

  parity_ref_gen (&c->g, c->rm, c->src, c->len_bytes, c->p,
                  nr_lost == 2 ? c->q : NULL);
  for (slot = 0; slot < c->g.raid_disks; slot++)
    blocks[slot] = (uint8_t *)c->src[slot];
  blocks[c->rm->p_slot] = c->p;
  if (nr_lost == 2)
    blocks[c->rm->q_slot] = c->q;
  for (i = 0; i < nr_lost; i++) {
    kept[i] = c->src[lost[i]];
    blocks[lost[i]] = i == 0 ? c->ref_p : c->ref_q;
  }
  if (parity_recover (c->pp, c->rm, blocks, lost, nr_lost, c->len_bytes) != 0)
    return report (c, "parity_recover", e);
  for (i = 0; i < nr_lost; i++) {
    if (memcmp (blocks[lost[i]], kept[i], c->len_bytes) != 0)
      return report (c, "parity_recover", e);
  }
  return 0;
}

/* Run all checks on one shape. */
static int
check_shape (int level, uint32_t layout, unsigned raid_disks, uint8_t *buf,
             struct uraid_error *e)
{
  /* Short, around the vector widths, and a page; aligned and not. */
  static const size_t lengths[] = {1, 15, 31, 32, 33, 63, 64, 65, 192, 1000};
  static const unsigned misaligns[] = {0, 1, 32, 63};
  struct check c = {.buf = buf};
  size_t i, k;
  int r;

  r = geometry_init (&c.g, level, layout, raid_disks, 8, 64, e);
  if (r < 0)
    return r;
  c.rm = geometry_row (&c.g, 1);
  r = parity_new (&c.g, &c.pp);
  if (r < 0)
    (void)uraid_error_set (e, -r, "self check: out of memory");
  for (i = 0; r == 0 && i < sizeof lengths / sizeof lengths[0] + 1; i++) {
    /* The reference is slow, so only one length is long. */
    const bool is_last = i == sizeof lengths / sizeof lengths[0];
    const size_t len = is_last ? CHECK_MAX_BYTES : lengths[i];
    const size_t nr = is_last || len > 256 ? 2 : 4;

    for (k = 0; r == 0 && k < nr; k++) {
      setup_blocks (&c, len, misaligns[k]);
      r = check_gen (&c, e);
      if (r == 0)
        r = check_delta (&c, e);
      if (r == 0)
        r = check_recover (&c, e);
    }
  }
  parity_free (c.pp);
  geometry_done (&c.g);
  return r;
}

int
parity_self_check (struct uraid_error *e)
{
  static const struct {
    int level;
    uint32_t layout;
    unsigned raid_disks;
  } shapes[] = {
      {5, 2, 2}, {5, 2, 3}, {5, 2, 6},  {6, 2, 4},
      {6, 0, 5}, {6, 8, 6}, {6, 2, 10},
  };
  const size_t size_bytes = (size_t)(CHECK_MAX_DISKS + 6) * CHECK_STRIDE;
  uint8_t *buf;
  size_t i;
  int r = 0;

  buf = aligned_alloc (64, size_bytes);
  if (buf == NULL)
    return uraid_error_set (e, ENOMEM, "self check: out of memory");
  memset (buf, 0, size_bytes);
  for (i = 0; r == 0 && i < sizeof shapes / sizeof shapes[0]; i++)
    r = check_shape (shapes[i].level, shapes[i].layout, shapes[i].raid_disks,
                     buf, e);
  free (buf);
  return r;
}
