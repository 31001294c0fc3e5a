/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * P and Q: generate, update by delta, recover, check and locate.  All heavy
 * arithmetic is ISA-L's.  Pure functions; a struct parity is constant after
 * parity_new and may be used by any thread.
 *
 * Blocks are passed in arrays indexed by *slot*.  Any alignment and any
 * length >= 1 is right; 64-byte aligned pointers with a length that is a
 * multiple of 64 take ISA-L's fast pq_gen / xor_gen.  Lengths are at most
 * PARITY_MAX_BYTES.
 */
#ifndef URAID_PARITY_H
#define URAID_PARITY_H

#include <stddef.h>
#include <stdint.h>

#include "geometry.h"
#include "uraid_error.h"

#define PARITY_MAX_BYTES (512 * 1024) /* size of the shared zero block */

struct parity; /* tables for one geometry */

/* Make the tables for G (G need not outlive the call).  0 or -ENOMEM. */
extern int parity_new (const struct geometry *g, struct parity **ret);
extern void parity_free (struct parity *pp);

/* A read-only block of PARITY_MAX_BYTES zeroes, 64-byte aligned. */
extern const uint8_t *parity_zeroes (void);

/* Compute P into P (if not NULL) and Q into Q (if not NULL; must be NULL on
 * level 4 and 5) from the data blocks SRC[slot] of the row placement RM.  A
 * NULL source counts as zeroes; entries of P and Q slots are ignored.
 */
extern void parity_gen (const struct parity *pp, const struct row_map *rm,
                        const uint8_t *const src[], size_t len_bytes,
                        uint8_t *p, uint8_t *q);

/* DEST ^= SRC. */
extern void parity_xor (uint8_t *dest, const uint8_t *src, size_t len_bytes);

/* Apply a change DELTA (old ^ new) of the data block on SLOT to P and/or Q
 * (either may be NULL).
 */
extern void parity_delta (const struct parity *pp, const struct row_map *rm,
                          unsigned slot, const uint8_t *delta,
                          size_t len_bytes, uint8_t *p, uint8_t *q);

/* Recompute the blocks of the NR_LOST (0..2) slots in LOST.  BLOCKS[slot] is
 * the content of each other slot and the place to write to for a lost one.
 * BLOCKS[] of P or of Q may be NULL: not at hand and not wanted.  A data
 * slot's entry is never NULL.  Level 4/5: at most one of (lost + NULL).
 * Returns 0, or -EINVAL when more is missing than the parity covers (nothing
 * written then).
 */
extern int parity_recover (const struct parity *pp, const struct row_map *rm,
                           uint8_t *const blocks[], const unsigned lost[],
                           unsigned nr_lost, size_t len_bytes);

enum parity_where {
  PARITY_GOOD,     /* P and Q fit the data */
  PARITY_BAD_P,    /* only P differs */
  PARITY_BAD_Q,    /* only Q differs */
  PARITY_BAD_DATA, /* exactly one data block explains both differences */
  PARITY_UNCLEAR,  /* more than one block is wrong; or level 4/5: P differs */
};

/* Compare the parity with the data and say who is wrong.  BLOCKS[slot] of all
 * slots.  *RET_SLOT is set for BAD_P, BAD_Q and BAD_DATA.  The verdict is for
 * the whole length: all differing bytes must point at one and the same slot.
 */
extern enum parity_where parity_check (const struct parity *pp,
                                       const struct row_map *rm,
                                       const uint8_t *const blocks[],
                                       size_t len_bytes, unsigned *ret_slot);

/* Compare ISA-L with the scalar reference for small and large inputs, aligned
 * and not.  0, or -EIO with a text naming function and length: then nothing
 * may be served.
 */
extern int parity_self_check (struct uraid_error *e);

/* The version of ISA-L that this was compiled with ("2.30.0", or "unknown"),
 * and the instructions it uses on this machine: "avx512", "avx2", "avx",
 * "sse", "neon" or "base".  Constants.
 */
extern const char *parity_library_version (void);
extern const char *parity_kernels (void);

/* The scalar reference (parity_ref.c), for tests and the self check. */
extern uint8_t parity_ref_mul (uint8_t a, uint8_t b);
extern uint8_t parity_ref_pow2 (unsigned e); /* g^e */
extern void parity_ref_gen (const struct geometry *g, const struct row_map *rm,
                            const uint8_t *const src[], size_t len_bytes,
                            uint8_t *p, uint8_t *q);

#endif
