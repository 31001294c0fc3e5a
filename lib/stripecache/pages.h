/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Page buffers: 64-byte aligned blocks of 1, 2, 4 .. 128 pages of 4 KiB.
 * Freed blocks are kept on a short list per size for re-use.  Any thread; one
 * mutex per size class, held for a few instructions.
 */
#ifndef URAID_PAGES_H
#define URAID_PAGES_H

#include <stddef.h>
#include <stdint.h>

#define PAGES_BYTES 4096
#define PAGES_MAX 128

struct pages;

/* Make a pool.  0 or -ENOMEM. */
extern int pages_new (struct pages **ret);
extern void pages_free (struct pages *pg);

/* A block of at least NR pages (1..PAGES_MAX), content undefined.  NULL when
 * out of memory.
 */
extern uint8_t *pages_get (struct pages *pg, unsigned nr);

/* Give back a block got with the same NR.  NULL is fine. */
extern void pages_put (struct pages *pg, uint8_t *block, unsigned nr);

/* Give what is on the free lists back to the system.  Any thread. */
extern void pages_trim (struct pages *pg);

/* Bytes handed out and bytes kept on the free lists. */
extern void pages_usage (struct pages *pg, uint64_t *ret_used_bytes,
                         uint64_t *ret_kept_bytes);

#endif
