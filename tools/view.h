/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What a server says of an array, checked and made plain: no field that is
 * used below is missing or of a wrong type, texts can be printed, slots are
 * inside the array, counts agree with the members.  Pure functions of the
 * JSON; one thread, no locks.
 */
#ifndef URAID_TOOLS_VIEW_H
#define URAID_TOOLS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* null in the JSON, or an optional field that is absent. */
#define VIEW_NONE UINT64_MAX
#define VIEW_MOST_SLOTS 1024
#define VIEW_WHY_BYTES 256

enum view_state {
  VIEW_IN_SYNC,
  VIEW_RECOVERING,
  VIEW_SPARE,
  VIEW_FAULTY,
  VIEW_STALE,
  VIEW_MISSING,
  VIEW_OTHER, /* a word that we do not know: not in sync */
};

struct view_member {
  uint64_t number; /* device number in the superblock, or VIEW_NONE */
  uint64_t slot;   /* or VIEW_NONE */
  char *word;      /* the state's */
  enum view_state state;
  char *address; /* NULL = not known */
  /* Of one that is lost, as far as told. */
  char *reason;       /* or NULL */
  uint64_t since_utc; /* or VIEW_NONE */
  uint64_t last_slot; /* that it had or should have, or VIEW_NONE */
  /* For --stats; VIEW_NONE if not told. */
  uint64_t errors, corrected_sectors, reads, read_bytes, writes, write_bytes,
      in_flight, latency_us, connections;
};

struct view {
  char *name, *uuid, *level_name, *version, *state, *policy;
  char *layout; /* NULL = has none */
  unsigned level;
  uint64_t raid_devices, chunk_bytes, layout_number, array_bytes, member_bytes,
      events, created_utc, updated_utc, degraded;
  uint64_t resync_offset_bytes; /* VIEW_NONE = none is owed */
  bool writable;

  char *action; /* "idle" and so on */
  uint64_t position_bytes, total_bytes, speed_bytes_per_s;

  bool has_bitmap;
  uint64_t bitmap_chunk_bytes, bitmap_dirty_chunks, bitmap_total_chunks;

  size_t nr_members;
  struct view_member *members;
  unsigned redundancy; /* members that the level can lose */

  /* Counted here, as mdadm counts: a recovering member is a spare, and one
   * that is lost stays a device, failed.
   */
  unsigned in_sync, failed, spares;
  char *letters; /* mdstat's, "UU_UUU" */
};

/* Fill RET from ONE (what detail answers, or an element of status's arrays).
 * 0, or -1 and WHY fit to be printed; then RET is empty.
 */
extern int view_parse (json_t *one, struct view *ret,
                       char why[VIEW_WHY_BYTES]);
extern void view_free (struct view *v);

/* How the array is: mdadm's exit codes of --test. */
enum view_verdict { VIEW_WHOLE = 0, VIEW_DEGRADED = 1, VIEW_UNUSABLE = 2 };
extern enum view_verdict view_verdict (const struct view *v);

/* Is a member gone that once was there (and not merely a slot empty)? */
extern bool view_is_lost (const struct view_member *m);

/* "slot 3: no answer ...", "" if no reason is told.  BUF is returned. */
#define VIEW_REASON_BYTES 1200
extern const char *view_reason (const struct view_member *m,
                                char buf[VIEW_REASON_BYTES]);

/* Is something going on with a position (resync, recovery)? */
extern bool view_has_progress (const struct view *v);

/* NAME or ADDRESS of any JSON string, escaped, to be freed; NULL if J is no
 * string.
 */
extern char *view_text (json_t *j);

/* Tables that say what an object must have. */
enum view_kind {
  VIEW_TEXT,           /* char *, to be freed */
  VIEW_TEXT_OR_NULL,   /* same, NULL for null */
  VIEW_NUMBER,         /* uint64_t */
  VIEW_NUMBER_OR_NULL, /* same, VIEW_NONE for null */
  VIEW_BOOL,           /* bool */
};
struct view_field {
  const char *key;
  enum view_kind kind;
  bool optional; /* then it counts as null */
  size_t offset; /* in the structure that is filled */
};

/* Fill DEST from O, called WHERE in the message, by TABLE (its last key is
 * NULL).  Text fields must be NULL before.  0, or -1 and WHY.
 */
extern int view_read (json_t *o, const char *where,
                      const struct view_field *table, void *dest,
                      char why[VIEW_WHY_BYTES]);

#endif
