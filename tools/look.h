/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Opening members, and looking at what lies on them without writing: the
 * first and last bytes, md superblocks at all their places, and every other
 * signature.  One thread, no locks.
 */
#ifndef URAID_TOOLS_LOOK_H
#define URAID_TOOLS_LOOK_H

#include "common.h"

#include "../lib/md_layout/sb1.h"
#include "../lib/md_layout/signature.h"

#define LOOK_MAX_SIGNATURES 32

/* One place where a version-1 superblock can be. */
struct look_place {
  struct sb1 *sb;       /* decoded, also when it is broken; NULL = nothing */
  int result;           /* 0 = valid, -EINVAL = broken, -ENOENT = none */
  bool misplaced;       /* a superblock, but it says it belongs elsewhere */
  struct uraid_error e; /* why not valid */
};

/* All we know of one member. */
struct look {
  const char *address;
  struct member *m;     /* NULL when the address is not one */
  bool readable;        /* connected, and head and tail were read */
  struct uraid_error e; /* why not */

  uint64_t dev_bytes, dev_sectors;
  uint8_t *head, *tail;
  size_t head_bytes, tail_bytes;

  struct look_place place[3]; /* by minor version */
  int best; /* minor of the superblock to use, -1 = none; valid or broken */

  struct signature signatures[LOOK_MAX_SIGNATURES];
  size_t nr_signatures;
};

/* Open the NR addresses in parallel and look at each.  READ_ONLY: a path is
 * opened so.  Never fails as a whole: what went wrong is in each
 * look.e, told to the user by look_tell.  Returns NULL only out of memory.
 * Free with look_free.
 */
extern struct look *look_open (struct tool *t, char *const addresses[],
                               size_t nr, bool read_only);
extern void look_free (struct look *l, size_t nr);

/* Why L is not readable, without the address in front. */
extern const char *look_why (const struct look *l);

/* Tell that L is not readable; returns TOOL_UNREADABLE. */
extern int look_tell (struct tool *t, const struct look *l, const char *what);

/* The superblock that counts, or NULL. */
extern const struct sb1 *look_sb (const struct look *l);

/* Is that one whole (checksum and all)? */
extern bool look_sb_valid (const struct look *l);

/* Is signature S one of md's version 1 superblocks (which look.place knows
 * better)?
 */
extern bool look_is_md1 (const struct look *l, const struct signature *s);

/* LEN bytes at OFFSET, which is a place inside the member: from head or tail
 * where they cover it, else read.  0 or -errno with text.
 */
extern int look_read (struct look *l, void *buf, size_t len, uint64_t offset,
                      struct uraid_error *e);

/* "raid6", "raid5" ..., "raidkm (level 70)", or "-unknown-". */
extern const char *look_level_name (int32_t level);

/* Copy a name from a superblock into BUF (33 bytes) with control characters
 * made visible as '?': what a stranger wrote there must not drive our
 * terminal.
 */
extern const char *look_name (const struct sb1 *sb, char buf[33]);

#endif
