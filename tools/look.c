/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What lies on a member (see the header).  Reads only.  One thread, no locks.
 */
#include <config.h>

#include "look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/member/sync_io.h"

static uint32_t
le32 (const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static uint64_t
min64 (uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* --- bytes -------------------------------------------------------------- */

static int
read_ends (struct look *l)
{
  int r;

  l->head_bytes = (size_t)min64 (l->dev_bytes, SIGNATURE_HEAD_BYTES);
  l->tail_bytes = (size_t)min64 (l->dev_bytes, SIGNATURE_TAIL_BYTES);
  l->head = calloc (1, l->head_bytes + 1);
  l->tail = calloc (1, l->tail_bytes + 1);
  if (l->head == NULL || l->tail == NULL)
    return uraid_error_set (&l->e, ENOMEM, "out of memory");
  if (l->head_bytes > 0) {
    r = member_pread (l->m, l->head, l->head_bytes, 0, &l->e);
    if (r < 0)
      return r;
    r = member_pread (l->m, l->tail, l->tail_bytes,
                      l->dev_bytes - l->tail_bytes, &l->e);
    if (r < 0)
      return r;
  }
  return 0;
}

int
look_read (struct look *l, void *buf, size_t len, uint64_t offset,
           struct uraid_error *e)
{
  const uint64_t tail_start = l->dev_bytes - l->tail_bytes;

  if (offset > l->dev_bytes || len > l->dev_bytes - offset)
    return uraid_error_set (e, EINVAL,
                            "%zu bytes at offset %" PRIu64
                            " lie beyond the end (size %" PRIu64 " bytes)",
                            len, offset, l->dev_bytes);
  if (offset + len <= l->head_bytes) {
    memcpy (buf, l->head + offset, len);
    return 0;
  }
  if (offset >= tail_start) {
    memcpy (buf, l->tail + (offset - tail_start), len);
    return 0;
  }
  return member_pread (l->m, buf, len, offset, e);
}

/* --- superblocks -------------------------------------------------------- */

/* A member may end before the 4096 bytes of a place do (1.2 on 12 KiB has
 * them all; only odd sizes do not): the rest counts as zeroes.
 */
static int
look_at_place (struct look *l, unsigned minor)
{
  struct look_place *p = &l->place[minor];
  const uint64_t at = sb1_place_sectors (minor, l->dev_sectors);
  uint8_t *raw;
  int r = 0;

  p->result = -ENOENT;
  if (at == UINT64_MAX)
    return 0;
  raw = calloc (1, SB1_BYTES);
  p->sb = calloc (1, sizeof *p->sb);
  if (raw == NULL || p->sb == NULL) {
    free (raw);
    return uraid_error_set (&l->e, ENOMEM, "out of memory");
  }
  r = look_read (l, raw, (size_t)min64 (SB1_BYTES, l->dev_bytes - at * 512),
                 at * 512, &l->e);
  if (r == 0) {
    p->result = sb1_parse (raw, minor, l->dev_sectors, p->sb, &p->e);
    p->misplaced =
        p->result == -ENOENT && le32 (raw) == SB1_MAGIC && le32 (raw + 4) == 1;
  }
  if (p->result == -ENOENT && !p->misplaced) {
    free (p->sb);
    p->sb = NULL;
  }
  free (raw);
  return r;
}

/* As mdadm: all three places, the newest creation time wins, the first of
 * equals.  A whole one is always preferred to a broken one.
 */
static void
choose_best (struct look *l)
{
  unsigned i;
  int want;

  l->best = -1;
  for (want = 0; want == 0 || want == -EINVAL;
       want = want == 0 ? -EINVAL : 1) {
    for (i = 0; i < 3; ++i) {
      if (l->place[i].sb == NULL || l->place[i].result != want)
        continue;
      if (l->best < 0 || l->place[i].sb->ctime > l->place[l->best].sb->ctime)
        l->best = (int)i;
    }
    if (l->best >= 0)
      return;
  }
}

const struct sb1 *
look_sb (const struct look *l)
{
  return l->best < 0 ? NULL : l->place[l->best].sb;
}

bool
look_sb_valid (const struct look *l)
{
  return l->best >= 0 && l->place[l->best].result == 0;
}

bool
look_is_md1 (const struct look *l, const struct signature *s)
{
  unsigned i;

  for (i = 0; i < 3; ++i)
    if (l->place[i].sb != NULL &&
        sb1_place_sectors (i, l->dev_sectors) * 512 == s->offset_bytes)
      return true;
  return false;
}

/* --- members ------------------------------------------------------------ */

static void
look_at (struct look *l)
{
  struct signature_input in;
  unsigned i;

  if (l->m == NULL)
    return;
  if (atomic_load (&l->m->state) != MEMBER_CONNECTED) {
    l->e = l->m->error;
    if (l->e.err == 0)
      uraid_error_set (&l->e, ENOTCONN, "could not be connected");
    return;
  }
  l->dev_bytes = l->m->size_bytes;
  l->dev_sectors = l->dev_bytes / 512;
  if (read_ends (l) < 0)
    return;
  for (i = 0; i < 3; ++i)
    if (look_at_place (l, i) < 0)
      return;
  choose_best (l);
  in = (struct signature_input){.dev_bytes = l->dev_bytes,
                                .head = l->head,
                                .head_bytes = l->head_bytes,
                                .tail = l->tail,
                                .tail_bytes = l->tail_bytes};
  l->nr_signatures = signature_find (&in, l->signatures, LOOK_MAX_SIGNATURES);
  if (l->nr_signatures > LOOK_MAX_SIGNATURES)
    l->nr_signatures = LOOK_MAX_SIGNATURES;
  l->readable = true;
}

struct look *
look_open (struct tool *t, char *const addresses[], size_t nr, bool read_only)
{
  struct member_options opt = t->member;
  struct look *l = calloc (nr, sizeof *l);
  struct member **ms = calloc (nr, sizeof *ms);
  size_t i, n = 0;

  if (l == NULL || ms == NULL) {
    free (l);
    free (ms);
    tool_fail (t, TOOL_FAILED, ENOMEM, NULL, NULL, NULL, "out of memory");
    return NULL;
  }
  opt.read_only = read_only;
  for (i = 0; i < nr; ++i) {
    l[i].address = addresses[i];
    l[i].best = -1;
    if (member_new (addresses[i], &opt, &l[i].m, &l[i].e) == 0)
      ms[n++] = l[i].m;
    else
      l[i].m = NULL;
  }
  if (n > 0)
    member_connect_all (ms, n, 0);
  free (ms);
  for (i = 0; i < nr; ++i)
    look_at (&l[i]);
  return l;
}

void
look_free (struct look *l, size_t nr)
{
  size_t i, k;

  for (i = 0; l != NULL && i < nr; ++i) {
    member_free (l[i].m);
    free (l[i].head);
    free (l[i].tail);
    for (k = 0; k < 3; ++k)
      free (l[i].place[k].sb);
  }
  free (l);
}

const char *
look_why (const struct look *l)
{
  const size_t n = strlen (l->address);

  if (l->e.text[0] == '\0')
    return "cannot be read";
  if (strncmp (l->e.text, l->address, n) == 0 &&
      strncmp (l->e.text + n, ": ", 2) == 0)
    return l->e.text + n + 2;
  return l->e.text;
}

int
look_tell (struct tool *t, const struct look *l, const char *what)
{
  return tool_fail (t, TOOL_UNREADABLE, l->e.err != 0 ? l->e.err : EIO, what,
                    l->address, NULL, "%s", look_why (l));
}

/* --- words -------------------------------------------------------------- */

const char *
look_level_name (int32_t level)
{
  static const struct {
    int32_t level;
    const char *name;
  } names[] = {
      {-4, "multipath"},
      {-1, "linear"},
      {0, "raid0"},
      {1, "raid1"},
      {4, "raid4"},
      {5, "raid5"},
      {6, "raid6"},
      {10, "raid10"},
      {70, "raidkm (level 70)"},
      {71, "raidkm (level 71)"},
  };
  size_t i;

  for (i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (names[i].level == level)
      return names[i].name;
  return "-unknown-";
}

const char *
look_name (const struct sb1 *sb, char buf[33])
{
  size_t i;

  for (i = 0; i < 32 && sb->set_name[i] != '\0'; ++i) {
    const unsigned char c = (unsigned char)sb->set_name[i];

    buf[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
  }
  buf[i] = '\0';
  return buf;
}
