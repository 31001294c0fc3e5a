/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Assembly: from the superblocks of all members given to who sits in which
 * slot, who is stale, who is a spare, and whether the array may start.  A
 * pure decision over data already read: no I/O, no locks, writes nothing.
 */
#ifndef URAID_ASSEMBLE_H
#define URAID_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../md_layout/geometry.h"
#include "../md_layout/sb1.h"
#include "../md_layout/uraid_error.h"

enum candidate_state {
  CAND_UNREACHABLE, /* not connected; text in why */
  CAND_BLANK,       /* no md superblock; why says what else lies there, or is
                       empty */
  CAND_BROKEN,      /* an md superblock that does not parse; text in why */
  CAND_MD,          /* sb is valid */
};

/* One member given to us.  Filled by the loader (load.c). */
struct candidate {
  const char *address; /* for messages */
  bool is_spare_arg;   /* given as spare=URI */
  bool missing_word;   /* the word "missing" */
  bool read_only;      /* the export cannot be written */
  enum candidate_state state;
  uint64_t dev_sectors;
  uint32_t min_block_bytes;
  uint64_t bitmap_sectors; /* length of the bitmap area, 0 = none/unknown */
  struct sb1 sb;           /* CAND_MD */
  struct uraid_error why;

  /* Set by assemble. */
  enum candidate_verdict {
    VERDICT_UNUSED,      /* unreachable, blank member=..., filtered by uuid= */
    VERDICT_IN_SYNC,     /* in slot */
    VERDICT_RECOVERING,  /* in slot, right below recovered_sectors */
    VERDICT_STALE,       /* too old, or recorded as faulty: rebuild target */
    VERDICT_SPARE,       /* a spare of this array */
    VERDICT_BLANK_SPARE, /* spare=URI without superblock: may get one */
  } verdict;
  unsigned slot; /* IN_SYNC, RECOVERING */
  uint64_t recovered_sectors;
};

struct assemble_options {
  bool has_uuid; /* take only members of this array */
  uint8_t uuid[16];
  bool start_degraded; /* else all slots must be there */
  bool start_dirty_degraded;
  bool will_write; /* false: read-only, more is allowed */
};

struct assembly {
  struct candidate *freshest; /* its sb is the truth about the array */
  unsigned raid_disks, in_sync, recovering, missing;
  bool dirty;
  uint64_t resync_offset_sectors; /* SB1_MAX if clean; else from where parity
                                     is owed when there is no bitmap */
  uint64_t events;                /* greatest */
  int slot_candidate[GEOMETRY_MAX_DISKS]; /* index, or -1 */
  /* One line a remark (stale member, unreachable one, ...), '\n' separated. */
  char remarks[4096];
};

/* Decide.  Returns 0, or -errno with a text that names slot, address, found
 * and needed values, and what to do: -EINVAL wrong members (of another array,
 * given twice, two for one slot, differing geometry, broken), -EOPNOTSUPP
 * features, -ENXIO too few members (with a table of all), -EUCLEAN dirty and
 * degraded.  The result does not depend on the order of C.
 */
extern int assemble (struct candidate *c, size_t nr,
                     const struct assemble_options *opt, struct assembly *ret,
                     struct uraid_error *e);

/* The table "slot address events update time state" as used in messages. */
extern void assemble_table (const struct candidate *c, size_t nr, char *buf,
                            size_t size);

#endif
