/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * P and Q with ISA-L (see the header).  Pure functions: no locks, no malloc
 * outside parity_new; a struct parity is constant after that and may be used
 * by any thread.
 *
 * Which ISA-L function where:
 *
 *   xor_gen, pq_gen          all pointers and the length aligned to 64.  Their
 *                            AVX and AVX2 forms crash on other pointers, and
 *                            pq_gen refuses other lengths.  Fewer than two
 *                            sources they do not take.
 *   ec_encode_data           everything else, any alignment and length
 *   ec_encode_data_update    deltas, any alignment and length
 *
 * gf_vect_mad and gf_vect_mul are not used: the first is silently wrong below
 * 64 bytes, the second wants aligned pointers.
 *
 * pq_gen fixes the coefficients 1, g, g^2, ...: source j gets g^j.  So the
 * sources are sorted by exponent; for the DDF layouts, whose exponents are
 * slot numbers, the slots of P and Q become sources of zeroes.
 *
 * Each table is used only with the number of sources and rows that it was
 * made for, because newer ISA-L versions pack tables in another way.
 */
#include <config.h>

#include "parity.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l.h>

#include "geometry.h"

#define TABLE_BYTES 32 /* of ISA-L, for each coefficient */
#define FAST_ALIGN_BYTES 64
#define GROUP_ORDER 255 /* g^255 = 1 */

/* From this length on parity_xor calls ISA-L. */
#define XOR_ISAL_BYTES 512

/* Scratch on the stack; work goes in pieces of this size.  The functions with
 * scratch are not inlined, so that their frames do not add up.
 */
#define PIECE_BYTES 4096

struct delta_tables {
  uint8_t pq[2 * TABLE_BYTES]; /* two rows: 1, g^e */
  uint8_t q[TABLE_BYTES];      /* one row: g^e */
};

/* Set once by parity_new. */
struct parity {
  int level;
  unsigned raid_disks;
  unsigned data_disks;
  unsigned nr_sources;          /* of Q: data_disks, or raid_disks for DDF */
  uint8_t exp[2 * GROUP_ORDER]; /* g^i, doubled to save a modulo */
  uint8_t log[256];             /* log[0] is not used */
  uint8_t *p_table;             /* data_disks sources, row of 1 */
  uint8_t *q_table;             /* nr_sources, row of g^j; level 6 */
  uint8_t *pq_table;            /* nr_sources, both rows; level 6 */
  struct delta_tables *delta;   /* by exponent, nr_sources entries */
};

/* Source pointers for ISA-L, with place for P and Q behind them. */
struct sources {
  uint8_t *v[GEOMETRY_MAX_DISKS + 2];
  unsigned nr;
};

/* Constant, so that a stray write through it faults.  Page aligned. */
static const uint8_t zeroes[PARITY_MAX_BYTES]
    __attribute__ ((aligned (GEOMETRY_PAGE_BYTES)));

const uint8_t *
parity_zeroes (void)
{
  return zeroes;
}

/*--- Tables ------------------------------------------------------------*/

static void
fill_logs (struct parity *pp)
{
  unsigned i, v = 1;

  for (i = 0; i < GROUP_ORDER; i++) {
    pp->exp[i] = pp->exp[i + GROUP_ORDER] = (uint8_t)v;
    pp->log[v] = (uint8_t)i;
    v <<= 1;
    if (v & 0x100)
      v ^= 0x11d;
  }
}

/* A coefficient table of ROWS rows for NR sources, or NULL. */
static uint8_t *
new_table (unsigned nr, unsigned rows, uint8_t *coefficients)
{
  uint8_t *table = malloc ((size_t)TABLE_BYTES * nr * rows);

  if (table != NULL)
    ec_init_tables ((int)nr, (int)rows, coefficients, table);
  return table;
}

int
parity_new (const struct geometry *g, struct parity **ret)
{
  uint8_t coefficients[2 * GEOMETRY_MAX_DISKS];
  struct parity *pp = calloc (1, sizeof *pp);
  unsigned j;

  if (pp == NULL)
    return -ENOMEM;
  pp->level = g->level;
  pp->raid_disks = g->raid_disks;
  pp->data_disks = g->data_disks;
  pp->nr_sources = g->ddf ? g->raid_disks : g->data_disks;
  fill_logs (pp);

  memset (coefficients, 1, pp->nr_sources);
  memcpy (coefficients + pp->nr_sources, pp->exp, pp->nr_sources);
  pp->p_table = new_table (pp->data_disks, 1, coefficients);
  pp->q_table = new_table (pp->nr_sources, 1, coefficients + pp->nr_sources);
  pp->pq_table = new_table (pp->nr_sources, 2, coefficients);
  pp->delta = calloc (pp->nr_sources, sizeof *pp->delta);
  if (pp->p_table == NULL || pp->q_table == NULL || pp->pq_table == NULL ||
      pp->delta == NULL) {
    parity_free (pp);
    return -ENOMEM;
  }
  for (j = 0; j < pp->nr_sources; j++) {
    uint8_t pair[2] = {1, pp->exp[j]};

    ec_init_tables (1, 2, pair, pp->delta[j].pq);
    ec_init_tables (1, 1, pair + 1, pp->delta[j].q);
  }
  *ret = pp;
  return 0;
}

void
parity_free (struct parity *pp)
{
  if (pp == NULL)
    return;
  free (pp->p_table);
  free (pp->q_table);
  free (pp->pq_table);
  free (pp->delta);
  free (pp);
}

/*--- Generate ----------------------------------------------------------*/

static bool
is_aligned (const void *pointer)
{
  return ((uintptr_t)pointer & (FAST_ALIGN_BYTES - 1)) == 0;
}

/* True if pq_gen and xor_gen may be called with S and this length. */
static bool
fast_possible (const struct sources *s, size_t len_bytes)
{
  unsigned i;

  if (s->nr < 2 || (len_bytes & (FAST_ALIGN_BYTES - 1)) != 0)
    return false;
  for (i = 0; i < s->nr; i++) {
    if (!is_aligned (s->v[i]))
      return false;
  }
  return true;
}

/* The SSE, AVX and AVX2 forms of pq_gen and xor_gen store past the cache and
 * leave out the store fence; without it another thread that is handed the
 * block through a plain release store could read old bytes.
 */
static void
finish_streaming_stores (void)
{
  atomic_thread_fence (memory_order_seq_cst);
}

/* The block to read for SLOT, OFFSET_BYTES into it. */
static uint8_t *
source_block (const uint8_t *block, size_t offset_bytes)
{
  /* ISA-L's prototypes lack const; sources are only read. */
  return (uint8_t *)(block != NULL ? block : zeroes) + offset_bytes;
}

/* DEST = xor of the sources in S, of which there are at most data_disks. */
static void
xor_sources (const struct parity *pp, struct sources *s, size_t len_bytes,
             uint8_t *dest)
{
  int r;

  if (s->nr == 0)
    memset (dest, 0, len_bytes);
  else if (s->nr == 1)
    memcpy (dest, s->v[0], len_bytes);
  else if (is_aligned (dest) && fast_possible (s, len_bytes)) {
    s->v[s->nr] = dest;
    r = xor_gen ((int)s->nr + 1, (int)len_bytes, (void **)s->v);
    if (r != 0)
      abort (); /* refused: there would be no parity */
    finish_streaming_stores ();
  }
  else {
    while (s->nr < pp->data_disks)
      s->v[s->nr++] = (uint8_t *)zeroes;
    ec_encode_data ((int)len_bytes, (int)s->nr, 1, pp->p_table, s->v, &dest);
  }
}

static void
gen_p (const struct parity *pp, const struct row_map *rm,
       const uint8_t *const src[], size_t offset_bytes, size_t len_bytes,
       uint8_t *p)
{
  struct sources s;
  unsigned i;

  s.nr = 0;
  for (i = 0; i < pp->data_disks; i++) {
    const uint8_t *block = src[rm->data_slot[i]];

    if (block != NULL)
      s.v[s.nr++] = source_block (block, offset_bytes);
  }
  xor_sources (pp, &s, len_bytes, p);
}

/* The sources of Q, sorted by exponent. */
static void
gather_q (const struct parity *pp, const struct row_map *rm,
          const uint8_t *const src[], size_t offset_bytes, struct sources *s)
{
  unsigned i, slot;

  s->nr = pp->nr_sources;
  if (s->nr != pp->data_disks) { /* DDF: two exponents are not in use */
    for (i = 0; i < s->nr; i++)
      s->v[i] = (uint8_t *)zeroes;
  }
  for (i = 0; i < pp->data_disks; i++) {
    slot = rm->data_slot[i];
    s->v[rm->exponent[slot]] = source_block (src[slot], offset_bytes);
  }
}

static void
gen_q (const struct parity *pp, const struct row_map *rm,
       const uint8_t *const src[], size_t offset_bytes, size_t len_bytes,
       uint8_t *q)
{
  struct sources s;

  gather_q (pp, rm, src, offset_bytes, &s);
  ec_encode_data ((int)len_bytes, (int)s.nr, 1, pp->q_table, s.v, &q);
}

static void
gen_pq (const struct parity *pp, const struct row_map *rm,
        const uint8_t *const src[], size_t offset_bytes, size_t len_bytes,
        uint8_t *p, uint8_t *q)
{
  struct sources s;
  uint8_t *out[2] = {p, q};
  int r;

  gather_q (pp, rm, src, offset_bytes, &s);
  if (is_aligned (p) && is_aligned (q) && fast_possible (&s, len_bytes)) {
    s.v[s.nr] = p;
    s.v[s.nr + 1] = q;
    r = pq_gen ((int)s.nr + 2, (int)len_bytes, (void **)s.v);
    if (r != 0)
      abort (); /* refused: there would be no parity */
    finish_streaming_stores ();
  }
  else
    ec_encode_data ((int)len_bytes, (int)s.nr, 2, pp->pq_table, s.v, out);
}

/* As parity_gen, for the part of the blocks that begins at OFFSET_BYTES.  P
 * and Q point at the start of the output.
 */
static void
gen_part (const struct parity *pp, const struct row_map *rm,
          const uint8_t *const src[], size_t offset_bytes, size_t len_bytes,
          uint8_t *p, uint8_t *q)
{
  if (p != NULL && q != NULL)
    gen_pq (pp, rm, src, offset_bytes, len_bytes, p, q);
  else if (p != NULL)
    gen_p (pp, rm, src, offset_bytes, len_bytes, p);
  else if (q != NULL)
    gen_q (pp, rm, src, offset_bytes, len_bytes, q);
}

void
parity_gen (const struct parity *pp, const struct row_map *rm,
            const uint8_t *const src[], size_t len_bytes, uint8_t *p,
            uint8_t *q)
{
  assert (len_bytes >= 1 && len_bytes <= PARITY_MAX_BYTES);
  assert (q == NULL || pp->level == 6);
  gen_part (pp, rm, src, 0, len_bytes, p, q);
}

/*--- Update ------------------------------------------------------------*/

/* The innermost step of parity_xor: eight words, which the compiler turns
 * into vector code.  memcpy makes any alignment legal.
 */
static inline void
xor_64_bytes (uint8_t *restrict dest, const uint8_t *restrict src)
{
  uint64_t a, b;
  unsigned i;

  for (i = 0; i < 8; i++) {
    memcpy (&a, dest + 8 * i, sizeof a);
    memcpy (&b, src + 8 * i, sizeof b);
    a ^= b;
    memcpy (dest + 8 * i, &a, sizeof a);
  }
}

/* Not xor_gen: a delta is read again at once, and the stores of xor_gen's SSE
 * and AVX forms would push it out of the cache.  From a few hundred bytes on,
 * multiplying by 1 is faster than plain words, table included.
 */
void
parity_xor (uint8_t *dest, const uint8_t *src, size_t len_bytes)
{
  uint8_t table[TABLE_BYTES];
  uint8_t one = 1;

  if (len_bytes >= XOR_ISAL_BYTES) {
    assert (len_bytes <= PARITY_MAX_BYTES);
    ec_init_tables (1, 1, &one, table);
    ec_encode_data_update ((int)len_bytes, 1, 1, 0, table, (uint8_t *)src,
                           &dest);
    return;
  }
  for (; len_bytes >= 64; len_bytes -= 64, dest += 64, src += 64)
    xor_64_bytes (dest, src);
  for (; len_bytes > 0; len_bytes--)
    *dest++ ^= *src++;
}

void
parity_delta (const struct parity *pp, const struct row_map *rm, unsigned slot,
              const uint8_t *delta, size_t len_bytes, uint8_t *p, uint8_t *q)
{
  struct delta_tables *tables = &pp->delta[rm->exponent[slot]];
  uint8_t *source = (uint8_t *)delta;
  uint8_t *out[2] = {p, q};

  assert (len_bytes >= 1 && len_bytes <= PARITY_MAX_BYTES);
  assert (slot < pp->raid_disks && rm->role[slot] >= 0);
  assert (q == NULL || pp->level == 6);
  if (p != NULL && q != NULL)
    ec_encode_data_update ((int)len_bytes, 1, 2, 0, tables->pq, source, out);
  else if (p != NULL)
    parity_xor (p, delta, len_bytes);
  else if (q != NULL)
    ec_encode_data_update ((int)len_bytes, 1, 1, 0, tables->q, source,
                           out + 1);
}

/*--- Recover -----------------------------------------------------------*/

/* What is lost, sorted by role. */
struct loss {
  unsigned data[2]; /* slots */
  unsigned nr_data;
  uint8_t *p;      /* NULL if it may not be read */
  uint8_t *q;      /* ditto, or no Q on this level */
  uint8_t *want_p; /* write it here; NULL if not wanted */
  uint8_t *want_q;
};

/* Sort LOST into RET.  -EINVAL if more is missing than the parity covers. */
static int
sort_losses (const struct parity *pp, const struct row_map *rm,
             uint8_t *const blocks[], const unsigned lost[], unsigned nr_lost,
             struct loss *ret)
{
  const bool has_q = pp->level == 6;
  unsigned i, nr_missing;

  memset (ret, 0, sizeof *ret);
  ret->p = blocks[rm->p_slot];
  ret->q = has_q ? blocks[rm->q_slot] : NULL;
  if (nr_lost > 2 || (nr_lost == 2 && lost[0] == lost[1]))
    return -EINVAL;
  for (i = 0; i < nr_lost; i++) {
    if (lost[i] >= pp->raid_disks)
      return -EINVAL;
    if (lost[i] == rm->p_slot) {
      ret->want_p = ret->p;
      ret->p = NULL;
    }
    else if (has_q && lost[i] == rm->q_slot) {
      ret->want_q = ret->q;
      ret->q = NULL;
    }
    else
      ret->data[ret->nr_data++] = lost[i];
  }
  nr_missing = ret->nr_data + (ret->p == NULL) + (has_q && ret->q == NULL);
  return nr_missing > (has_q ? 2u : 1u) ? -EINVAL : 0;
}

/* One data block from P and the other data. */
static void
recover_from_p (const struct parity *pp, const struct row_map *rm,
                const uint8_t *const src[], const struct loss *l,
                size_t len_bytes)
{
  struct sources s;
  unsigned i, slot;

  s.nr = 0;
  for (i = 0; i < pp->data_disks; i++) {
    slot = rm->data_slot[i];
    if (slot != l->data[0])
      s.v[s.nr++] = (uint8_t *)src[slot];
  }
  s.v[s.nr++] = l->p;
  xor_sources (pp, &s, len_bytes, (uint8_t *)src[l->data[0]]);
}

/* One data block from Q and the other data: D = g^-x (Q + Q'). */
static __attribute__ ((noinline)) void
recover_from_q (const struct parity *pp, const struct row_map *rm,
                const uint8_t *const others[], const struct loss *l,
                uint8_t *dest, size_t len_bytes)
{
  uint8_t q_piece[PIECE_BYTES] __attribute__ ((aligned (FAST_ALIGN_BYTES)));
  uint8_t table[2 * TABLE_BYTES];
  const uint8_t inverse = pp->exp[GROUP_ORDER - rm->exponent[l->data[0]]];
  uint8_t coefficients[2] = {inverse, inverse};
  size_t done, len;

  ec_init_tables (2, 1, coefficients, table);
  for (done = 0; done < len_bytes; done += len) {
    uint8_t *in[2] = {l->q + done, q_piece};
    uint8_t *out = dest + done;

    len = len_bytes - done < PIECE_BYTES ? len_bytes - done : PIECE_BYTES;
    gen_part (pp, rm, others, done, len, NULL, q_piece);
    ec_encode_data ((int)len, 2, 1, table, in, &out);
  }
}

/* The coefficients that give the lost data blocks of exponents X and Y from
 * P, P', Q, Q' (in this order), a row for each block:
 *   Dx = A (P + P') + B (Q + Q')
 *   Dy = (A + 1) (P + P') + B (Q + Q')
 * with A = g^(y-x) / (g^(y-x) + 1), B = g^-x / (g^(y-x) + 1).
 */
static void
two_data_table (const struct parity *pp, unsigned x, unsigned y,
                uint8_t table[8 * TABLE_BYTES])
{
  const unsigned d = (y + GROUP_ORDER - x) % GROUP_ORDER;
  const unsigned log_divisor = pp->log[pp->exp[d] ^ 1];
  const uint8_t a = pp->exp[(d + GROUP_ORDER - log_divisor) % GROUP_ORDER];
  const uint8_t b = pp->exp[(2 * GROUP_ORDER - x - log_divisor) % GROUP_ORDER];
  const uint8_t a1 = a ^ 1;
  uint8_t coefficients[8] = {a, a, b, b, a1, a1, b, b};

  ec_init_tables (4, 2, coefficients, table);
}

/* Two data blocks from P, Q and the other data. */
static __attribute__ ((noinline)) void
recover_two_data (const struct parity *pp, const struct row_map *rm,
                  const uint8_t *const others[], const struct loss *l,
                  uint8_t *const blocks[], size_t len_bytes)
{
  uint8_t p_piece[PIECE_BYTES] __attribute__ ((aligned (FAST_ALIGN_BYTES)));
  uint8_t q_piece[PIECE_BYTES] __attribute__ ((aligned (FAST_ALIGN_BYTES)));
  uint8_t table[8 * TABLE_BYTES];
  size_t done, len;

  two_data_table (pp, rm->exponent[l->data[0]], rm->exponent[l->data[1]],
                  table);
  for (done = 0; done < len_bytes; done += len) {
    uint8_t *in[4] = {l->p + done, p_piece, l->q + done, q_piece};
    uint8_t *out[2] = {blocks[l->data[0]] + done, blocks[l->data[1]] + done};

    len = len_bytes - done < PIECE_BYTES ? len_bytes - done : PIECE_BYTES;
    gen_part (pp, rm, others, done, len, p_piece, q_piece);
    ec_encode_data ((int)len, 4, 2, table, in, out);
  }
}

int
parity_recover (const struct parity *pp, const struct row_map *rm,
                uint8_t *const blocks[], const unsigned lost[],
                unsigned nr_lost, size_t len_bytes)
{
  const uint8_t *others[GEOMETRY_MAX_DISKS]; /* NULL for lost data */
  const uint8_t *const *all = (const uint8_t *const *)blocks;
  struct loss l;
  unsigned i;
  int r;

  assert (len_bytes >= 1 && len_bytes <= PARITY_MAX_BYTES);
  r = sort_losses (pp, rm, blocks, lost, nr_lost, &l);
  if (r < 0)
    return r;
  if (l.nr_data > 0) {
    memcpy (others, blocks, pp->raid_disks * sizeof others[0]);
    for (i = 0; i < l.nr_data; i++)
      others[l.data[i]] = NULL;
    if (l.nr_data == 2)
      recover_two_data (pp, rm, others, &l, blocks, len_bytes);
    else if (l.p != NULL)
      recover_from_p (pp, rm, all, &l, len_bytes);
    else
      recover_from_q (pp, rm, others, &l, blocks[l.data[0]], len_bytes);
  }
  /* All data is there now; what parity is left follows from it. */
  gen_part (pp, rm, all, 0, len_bytes, l.want_p, l.want_q);
  return 0;
}

/*--- Check and locate --------------------------------------------------*/

/* What the differing bytes seen so far point at. */
struct verdict {
  enum parity_where where;
  unsigned slot; /* for BAD_P, BAD_Q, BAD_DATA */
};

/* Which single block explains the differences PD of P and QD of Q (not both
 * zero) in one byte?  A wrong data block of exponent z gives QD = g^z PD.
 */
static struct verdict
judge_byte (const struct parity *pp, const struct row_map *rm, uint8_t pd,
            uint8_t qd)
{
  struct verdict v = {PARITY_UNCLEAR, 0};
  unsigned i, z;

  if (qd == 0) {
    v.where = PARITY_BAD_P;
    v.slot = rm->p_slot;
    return v;
  }
  if (pd == 0) {
    v.where = PARITY_BAD_Q;
    v.slot = rm->q_slot;
    return v;
  }
  z = (pp->log[qd] + GROUP_ORDER - pp->log[pd]) % (unsigned)GROUP_ORDER;
  for (i = 0; i < pp->data_disks; i++) {
    if (rm->exponent[rm->data_slot[i]] == z) {
      v.where = PARITY_BAD_DATA;
      v.slot = rm->data_slot[i];
      return v;
    }
  }
  return v;
}

/* Fold the differences of one piece into V. */
static void
judge_piece (const struct parity *pp, const struct row_map *rm,
             const uint8_t *p_stored, const uint8_t *p_right,
             const uint8_t *q_stored, const uint8_t *q_right, size_t len_bytes,
             struct verdict *v)
{
  struct verdict one;
  size_t j;

  for (j = 0; j < len_bytes; j++) {
    const uint8_t pd = p_stored[j] ^ p_right[j];
    const uint8_t qd = q_stored[j] ^ q_right[j];

    if (pd == 0 && qd == 0)
      continue;
    one = judge_byte (pp, rm, pd, qd);
    if (v->where == PARITY_GOOD)
      *v = one;
    else if (one.where != v->where || one.slot != v->slot)
      v->where = PARITY_UNCLEAR;
    if (v->where == PARITY_UNCLEAR)
      return;
  }
}

enum parity_where
parity_check (const struct parity *pp, const struct row_map *rm,
              const uint8_t *const blocks[], size_t len_bytes,
              unsigned *ret_slot)
{
  uint8_t p_piece[PIECE_BYTES] __attribute__ ((aligned (FAST_ALIGN_BYTES)));
  uint8_t q_piece[PIECE_BYTES] __attribute__ ((aligned (FAST_ALIGN_BYTES)));
  const bool has_q = pp->level == 6;
  struct verdict v = {PARITY_GOOD, 0};
  size_t done, len;

  assert (len_bytes >= 1 && len_bytes <= PARITY_MAX_BYTES);
  for (done = 0; done < len_bytes; done += len) {
    const uint8_t *p = blocks[rm->p_slot] + done;
    const uint8_t *q = has_q ? blocks[rm->q_slot] + done : NULL;

    len = len_bytes - done < PIECE_BYTES ? len_bytes - done : PIECE_BYTES;
    gen_part (pp, rm, blocks, done, len, p_piece, has_q ? q_piece : NULL);
    if (memcmp (p, p_piece, len) == 0 &&
        (!has_q || memcmp (q, q_piece, len) == 0))
      continue;
    if (!has_q)
      return PARITY_UNCLEAR;
    judge_piece (pp, rm, p, p_piece, q, q_piece, len, &v);
    if (v.where == PARITY_UNCLEAR)
      return PARITY_UNCLEAR;
  }
  if (v.where != PARITY_GOOD)
    *ret_slot = v.slot;
  return v.where;
}

/*----- What computes it -----*/

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF (macro)

/* ISA-L has no function that tells, and older ones have no macro either. */
const char *
parity_library_version (void)
{
#ifdef ISAL_MAJOR_VERSION
  return TEXT (ISAL_MAJOR_VERSION) "." TEXT (ISAL_MINOR_VERSION) "." TEXT (
      ISAL_PATCH_VERSION);
#else
  return "unknown";
#endif
}

/* ISA-L decides by CPUID and does not tell, so the rule of its dispatcher is
 * repeated here: for AVX-512 it wants all five parts.
 */
const char *
parity_kernels (void)
{
#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512f") &&
      __builtin_cpu_supports ("avx512bw") &&
      __builtin_cpu_supports ("avx512vl") &&
      __builtin_cpu_supports ("avx512cd") &&
      __builtin_cpu_supports ("avx512dq"))
    return "avx512";
  if (__builtin_cpu_supports ("avx2"))
    return "avx2";
  if (__builtin_cpu_supports ("avx"))
    return "avx";
  return __builtin_cpu_supports ("sse4.1") ? "sse" : "base";
#elif defined(__aarch64__)
  return "neon";
#else
  return "base";
#endif
}
