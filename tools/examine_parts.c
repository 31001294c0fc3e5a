/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The parts of uraid examine that go beyond the superblock: the bitmap
 * (mdadm's -X), the bad-block list, and ARRAY lines for many members
 * together.  Reads only.  One thread, no locks.
 */
#include <config.h>

#include "examine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (64 * 1024)

/* --- bitmap ------------------------------------------------------------- */

/* Count the ones among the first BITS bits of the area behind the super at
 * byte AT.
 */
static int
count_dirty (struct look *l, uint64_t at, uint64_t bits, uint64_t *ret,
             struct uraid_error *e)
{
  uint8_t *buf = malloc (PIECE_BYTES);
  uint64_t c, n, dirty = 0;
  int r = 0;

  if (buf == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  for (c = 0; r == 0 && c < bits; c += n) {
    uint64_t i;

    n = bits - c < PIECE_BYTES * 8 ? bits - c : PIECE_BYTES * 8;
    r = look_read (l, buf, (size_t)(n + 7) / 8, at + c / 8, e);
    for (i = 0; r == 0 && i < n; ++i)
      dirty += bitmap_test (buf, i);
  }
  free (buf);
  *ret = dirty;
  return r;
}

void
examine_read_bitmap (struct look *l, struct examine_bitmap *b)
{
  const struct sb1 *sb = look_sb (l);
  uint8_t raw[BITMAP_SB_BYTES];
  uint64_t at;

  memset (b, 0, sizeof *b);
  if (sb == NULL || !(sb->feature_map & SB1_F_BITMAP))
    return;
  b->present = true;
  at = (sb->super_offset_sectors +
        (uint64_t)(int64_t)sb->bitmap_offset_sectors);
  if (at > l->dev_sectors) {
    b->result = uraid_error_set (
        &b->e, EINVAL, "bitmap_offset %" PRId32 " lies outside the member",
        sb->bitmap_offset_sectors);
    return;
  }
  at *= 512;
  b->result = look_read (l, raw, sizeof raw, at, &b->e);
  if (b->result == 0)
    b->result = bitmap_sb_parse (raw, sb->set_uuid, &b->sb, &b->e);
  if (b->result < 0)
    return;
  b->bits = bitmap_bits (b->sb.sync_size_sectors, b->sb.chunk_bytes);
  b->result = count_dirty (l, at + BITMAP_SB_BYTES, b->bits, &b->dirty, &b->e);
}

static void
print_chunk (uint64_t bytes)
{
  static const char *const units[] = {"B", "KB", "MB", "GB"};
  size_t u = 0;

  while (bytes >= 1024 && u < 3) {
    bytes >>= 10;
    ++u;
  }
  printf ("       Chunksize : %" PRIu64 " %s\n", bytes, units[u]);
}

static void
print_bitmap_block (const char *address, const struct examine_bitmap *b)
{
  const struct bitmap_sb *s = &b->sb;
  char uuid[36], human[64];

  sb1_uuid_text (s->uuid, uuid);
  printf ("        Filename : %s\n", address);
  printf ("           Magic : %08x\n", BITMAP_MAGIC);
  printf ("         Version : %" PRIu32 "\n", s->version);
  printf ("            UUID : %.35s\n", uuid);
  printf ("          Events : %" PRIu64 "\n", s->events);
  printf ("  Events Cleared : %" PRIu64 "\n", s->events_cleared);
  printf ("           State : %s\n",
          s->state & BITMAP_STATE_STALE ? "Out of date" : "OK");
  print_chunk (s->chunk_bytes);
  printf ("          Daemon : %" PRIu32 "s flush period\n", s->daemon_sleep_s);
  if (s->write_behind != 0)
    printf ("      Write Mode : Allow write behind, max %" PRIu32 "\n",
            s->write_behind);
  else
    printf ("      Write Mode : Normal\n");
  printf ("       Sync Size : %" PRIu64 "%s\n", s->sync_size_sectors / 2,
          tool_human (s->sync_size_sectors * 512, human));
  printf ("          Bitmap : %" PRIu64 " bits (chunks), %" PRIu64
          " dirty (%2.1f%%)\n",
          b->bits, b->dirty,
          100.0 * (double)b->dirty / (double)(b->bits ? b->bits : 1));
}

int
examine_print_bitmap (struct tool *t, struct look *l)
{
  struct examine_bitmap b;

  examine_read_bitmap (l, &b);
  if (!b.present)
    return tool_fail (t, TOOL_FAILED, ENOENT, "examine", l->address, NULL,
                      "the array has no bitmap");
  if (b.result < 0)
    return tool_fail (t, b.result == -EINVAL ? TOOL_FAILED : TOOL_UNREADABLE,
                      b.e.err, "examine", l->address, NULL, "%s", b.e.text);
  print_bitmap_block (l->address, &b);
  return TOOL_OK;
}

/* --- bad blocks --------------------------------------------------------- */

int
examine_read_badblocks (struct look *l, struct badblocks *ret,
                        struct uraid_error *e)
{
  const struct sb1 *sb = look_sb (l);
  const size_t bytes = (size_t)sb->bblog_size_sectors * 512;
  const uint64_t at =
      sb->super_offset_sectors + (uint64_t)(int64_t)sb->bblog_offset_sectors;
  uint8_t *raw;
  int r;

  memset (ret, 0, sizeof *ret);
  if (!(sb->feature_map & SB1_F_BAD_BLOCKS))
    return 0;
  if (sb->bblog_offset_sectors == 0 || bytes == 0 || at > l->dev_sectors)
    return uraid_error_set (e, EINVAL,
                            "bad blocks are said to be logged, but "
                            "bblog_offset is %" PRId32 " and bblog_size %u",
                            sb->bblog_offset_sectors, sb->bblog_size_sectors);
  raw = malloc (bytes);
  if (raw == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory");
  r = look_read (l, raw, bytes, at * 512, e);
  if (r == 0)
    r = badblocks_parse (raw, bytes, sb->bblog_shift, ret, e);
  free (raw);
  return r;
}

int
examine_print_badblocks (struct tool *t, struct look *l)
{
  const struct sb1 *sb = look_sb (l);
  struct badblocks list;
  struct uraid_error e = {.err = 0};
  size_t i;
  int r;

  if (sb->bblog_size_sectors == 0 || sb->bblog_offset_sectors == 0) {
    printf ("No bad-blocks list configured on %s\n", l->address);
    return TOOL_OK;
  }
  if (!(sb->feature_map & SB1_F_BAD_BLOCKS)) {
    printf ("Bad-blocks list is empty in %s\n", l->address);
    return TOOL_OK;
  }
  r = examine_read_badblocks (l, &list, &e);
  if (r < 0)
    return tool_fail (t, r == -EINVAL ? TOOL_FAILED : TOOL_UNREADABLE, e.err,
                      "examine", l->address, NULL, "%s", e.text);
  printf ("Bad-blocks on %s:\n", l->address);
  for (i = 0; i < list.nr; ++i)
    printf ("%20" PRIu64 " for %" PRIu64 " sectors\n",
            list.ranges[i].start_sectors, list.ranges[i].len_sectors);
  badblocks_done (&list);
  return TOOL_OK;
}

/* --- ARRAY lines -------------------------------------------------------- */

/* As mdadm's configuration files want it: quotes only around what needs them.
 */
static void
print_quoted (const char *text)
{
  char q = '"';

  if (strpbrk (text, " \t\"'") == NULL) {
    fputs (text, stdout);
    return;
  }
  if (strchr (text, '"') != NULL)
    q = '\'';
  printf ("%c%s%c", q, text, q);
}

static void
print_array_line (const struct sb1 *sb, bool verbose)
{
  char name[33], uuid[36];
  const char *colon, *shown;

  look_name (sb, name);
  colon = strchr (name, ':');
  shown = colon != NULL ? colon + 1 : name;
  printf ("ARRAY ");
  if (*shown != '\0' || colon != NULL) {
    fputs ("/dev/md/", stdout);
    print_quoted (shown);
    putchar (' ');
  }
  if (verbose)
    printf (" level=%s", look_level_name (sb->level));
  printf (" metadata=1.%u ", sb->minor);
  if (verbose)
    printf ("num-devices=%" PRIu32 " ", sb->raid_disks);
  sb1_uuid_text (sb->set_uuid, uuid);
  printf ("UUID=%.35s", uuid);
  if (name[0] != '\0') {
    printf (" name=");
    print_quoted (name);
  }
  putchar ('\n');
}

/* What hangs on an array's line: its spares, and with VERBOSE its members. */
static void
print_array_rest (struct look *l, size_t nr, const uint8_t uuid[16],
                  bool verbose)
{
  unsigned spares = 0;
  const struct sb1 *sb;
  char sep = '=';
  size_t i;

  for (i = 0; i < nr; ++i) {
    sb = look_sb (&l[i]);
    if (sb != NULL && memcmp (sb->set_uuid, uuid, 16) == 0)
      spares += sb1_role (sb) == SB1_ROLE_SPARE;
  }
  if (spares > 0)
    printf ("   spares=%u", spares);
  if (verbose) {
    printf ("   devices");
    for (i = 0; i < nr; ++i) {
      sb = look_sb (&l[i]);
      if (sb == NULL || memcmp (sb->set_uuid, uuid, 16) != 0)
        continue;
      printf ("%c%s", sep, l[i].address);
      sep = ',';
    }
  }
  if (spares > 0 || verbose)
    putchar ('\n');
}

static bool
seen_before (struct look *l, size_t i)
{
  const struct sb1 *sb = look_sb (&l[i]), *other;
  size_t k;

  for (k = 0; k < i; ++k) {
    other = look_sb (&l[k]);
    if (other != NULL && look_sb_valid (&l[k]) &&
        memcmp (sb->set_uuid, other->set_uuid, 16) == 0)
      return true;
  }
  return false;
}

/* One line an array, the last met first: mdadm's order. */
void
examine_print_brief (struct look *l, size_t nr, bool verbose)
{
  size_t i;

  for (i = nr; i-- > 0;) {
    if (!look_sb_valid (&l[i]) || seen_before (l, i))
      continue;
    print_array_line (look_sb (&l[i]), verbose);
    print_array_rest (l, nr, look_sb (&l[i])->set_uuid, verbose);
  }
}
