/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The parts of uraid examine: what was read of one member, and its forms of
 * output.  One thread, no locks.
 */
#ifndef URAID_TOOLS_EXAMINE_H
#define URAID_TOOLS_EXAMINE_H

#include "look.h"

#include "../lib/md_layout/badblocks.h"
#include "../lib/md_layout/bitmap_sb.h"

/* A bitmap as found on a member. */
struct examine_bitmap {
  bool present; /* the superblock says that there is one */
  int result;   /* 0 = read and valid, else -errno with text */
  struct uraid_error e;
  struct bitmap_sb sb;
  uint64_t bits, dirty; /* of the bits that count */
};

/* Read and count the bitmap of L.  TOOL_OK also when it is bad (see result).
 */
extern void examine_read_bitmap (struct look *l, struct examine_bitmap *b);

/* Read the bad-block list of L.  0 (RET may be empty) or -errno with text. */
extern int examine_read_badblocks (struct look *l, struct badblocks *ret,
                                   struct uraid_error *e);

/* mdadm's -E block, without the line that names the device.  HOST is our own
 * host name.
 */
extern void examine_print_text (struct look *l, const char *host);
/* mdadm's -E --export lines. */
extern void examine_print_export (const struct sb1 *sb);
/* mdadm's -X block. */
extern int examine_print_bitmap (struct tool *t, struct look *l);
/* mdadm's --examine-badblocks lines. */
extern int examine_print_badblocks (struct tool *t, struct look *l);
/* mdadm's ARRAY lines for all NR members. */
extern void examine_print_brief (struct look *l, size_t nr, bool verbose);

/* One member as a JSON object. */
extern json_t *examine_json (struct look *l);
/* All NR members, printed. */
extern int examine_print_json (struct tool *t, struct look *l, size_t nr);

/* What a person should know beyond the block of lines: things found that are
 * not served.  CALL is called for each, in order.
 */
extern void examine_notes (struct look *l,
                           void (*call) (void *user, const char *text),
                           void *user);

/* Free sectors in front of and behind the data, as mdadm reckons them (-1
 * and so on as "negative": the device is too small).
 */
extern void examine_unused (struct look *l, const struct sb1 *sb,
                            uint64_t *ret_before, uint64_t *ret_after);

/* The home host in the name ("host:name"), or "" when there is none. */
extern void examine_homehost (const struct sb1 *sb, char ret[33]);

#endif
