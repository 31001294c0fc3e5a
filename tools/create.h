/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The steps of uraid create, in the order in which they run: options
 * (create.c), members are looked at (create_check.c), a plan is made in
 * memory (create_plan.c), all of it is written (create_write.c), and told
 * (create_report.c).  Nothing is written before the last check has passed.
 * One thread, no locks.
 */
#ifndef URAID_TOOLS_CREATE_H
#define URAID_TOOLS_CREATE_H

#include "look.h"

#include "../lib/md_layout/bitmap_sb.h"
#include "../lib/md_layout/sizing.h"

/* What the command line asks for. */
struct create_options {
  const char *level, *layout, *metadata, *bitmap, *uuid, *name, *homehost;
  const char *size, *data_offset; /* a size, or a word */
  unsigned raid_devices, spare_devices;
  uint64_t chunk_bytes, bitmap_chunk_bytes; /* 0 = default */
  bool assume_clean, force;
};

/* One word of the member list. */
struct create_member {
  const char *address;
  bool missing;
  struct look *look; /* NULL when missing */
  unsigned dev_number;
  uint16_t role; /* slot, or SB1_ROLE_SPARE */
  struct sizing_member place;
  struct sb1 *sb;     /* what will be written */
  bool started, done; /* how far writing came */
};

struct create {
  struct tool *t;
  struct create_options opt;

  int level;
  uint32_t layout;
  char set_name[33];
  uint8_t uuid[16];
  uint64_t ctime;

  struct create_member *list; /* raid_devices + spare_devices, as given */
  unsigned nr_listed;
  struct look *looks; /* of those that are not missing */
  size_t nr_looks;

  struct sizing_input in;
  uint64_t *dev_sectors;
  struct sizing_result size;
  struct bitmap_sb bitmap;
  uint64_t resync_offset; /* SB1_MAX, or 0: everything */
  int rebuilt; /* index of the member that is built as a spare; -1 = none */
};

/* All return an exit code, TOOL_OK to go on; errors were told. */
extern int create_check_members (struct create *c);
extern int create_plan (struct create *c);
extern int create_write (struct create *c);
extern int create_report (struct create *c);

#endif
