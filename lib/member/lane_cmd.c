/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A member command becomes parts that the server accepts (its longest
 * request, zeroes where it has no zero command), a window of them at a time,
 * and is done when the last has completed; where FUA was asked of a server
 * that has none, a flush follows.  All on the lane's thread, no locks.
 */
#include <config.h>

#include "lane_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define PARTS_PER_SLAB 64
#define LONGEST_ZERO_BYTES (32u << 20)
#define ZERO_BUFFER_BYTES (1u << 20)
/* So that a long command neither floods the server nor fills our memory. */
#define MOST_PARTS_IN_FLIGHT 16

static const unsigned char zeroes[ZERO_BUFFER_BYTES];

struct part_slab {
  struct part_slab *next;
  struct lane_part parts[PARTS_PER_SLAB];
};

static struct lane_part *
part_alloc (struct lane *l)
{
  struct lane_part *part = TAILQ_FIRST (&l->free_parts);
  struct part_slab *slab;
  unsigned i;

  if (part == NULL) {
    slab = malloc (sizeof *slab);
    if (slab == NULL)
      return NULL;
    slab->next = l->slabs;
    l->slabs = slab;
    for (i = 0; i < PARTS_PER_SLAB; i++)
      TAILQ_INSERT_HEAD (&l->free_parts, &slab->parts[i], link);
    part = TAILQ_FIRST (&l->free_parts);
  }
  TAILQ_REMOVE (&l->free_parts, part, link);
  return part;
}

void
lane_parts_free (struct lane *l)
{
  struct part_slab *slab, *next;

  for (slab = l->slabs; slab != NULL; slab = next) {
    next = slab->next;
    free (slab);
  }
  l->slabs = NULL;
  TAILQ_INIT (&l->free_parts);
}

/* A connection of this lane to the command's member, NULL if none: the first
 * that is not busy, so that replies come in company, else the least busy.
 */
static struct lane_conn *
cmd_conn (struct lane *l, const struct member_cmd *cmd)
{
  unsigned slot = cmd->member->lane_slot, per = l->ls->conns_per_member;
  struct lane_conn *best = NULL;

  if (slot >= l->ls->nr_members || l->ls->ms[slot] != cmd->member)
    return NULL;
  for (unsigned k = 0; k < per; k++) {
    struct lane_conn *c = &l->conns[slot * per + k];

    if (c->h == NULL)
      continue;
    if (c->load_bytes < LANE_LOAD_FULL_BYTES)
      return c;
    if (best == NULL || c->load_bytes < best->load_bytes)
      best = c;
  }
  return best;
}

static void
cmd_set_error (struct member_cmd *cmd, int err, bool lost)
{
  if (cmd->err == 0 || (lost && !cmd->lost))
    cmd->err = err;
  cmd->lost = cmd->lost || lost;
}

/* Queue one part.  False, with the command's error set, if that is not
 * possible.
 */
static bool
cmd_add_part (struct lane *l, struct member_cmd *cmd, enum member_op op,
              void *buf, uint64_t len, uint64_t offset, uint32_t nbd_flags)
{
  struct lane_conn *c = cmd_conn (l, cmd);
  struct lane_part *part;

  if (c == NULL) {
    cmd_set_error (cmd, ENOTCONN, true);
    return false;
  }
  part = part_alloc (l);
  if (part == NULL) {
    cmd_set_error (cmd, ENOMEM, false);
    return false;
  }
  *part = (struct lane_part){.cmd = cmd,
                             .conn = c,
                             .op = op,
                             .buf = buf,
                             .len = len,
                             .offset = offset,
                             .nbd_flags = nbd_flags};
  cmd->parts++;
  lane_conn_queue (c, part);
  return true;
}

static uint32_t
cmd_nbd_flags (const struct member_cmd *cmd, bool zero_command)
{
  uint32_t flags = 0;

  if ((cmd->flags & MEMBER_CMD_FUA) != 0 && cmd->member->can_fua)
    flags |= LIBNBD_CMD_FLAG_FUA;
  if (zero_command && (cmd->flags & MEMBER_CMD_MAY_TRIM) == 0)
    flags |= LIBNBD_CMD_FLAG_NO_HOLE;
  return flags;
}

/* Queue parts up to the window. */
static void
cmd_expand (struct lane *l, struct member_cmd *cmd)
{
  const struct member *m = cmd->member;
  enum member_op op = cmd->op;
  uint64_t longest = m->max_block;
  uint32_t nbd_flags = 0;
  bool plain_zeroes = op == MEMBER_ZERO && !m->can_zero;

  if (op == MEMBER_ZERO && m->can_zero)
    longest = LONGEST_ZERO_BYTES;
  if (plain_zeroes) {
    op = MEMBER_WRITE;
    if (longest > ZERO_BUFFER_BYTES)
      longest = ZERO_BUFFER_BYTES;
  }
  if (op == MEMBER_WRITE || op == MEMBER_ZERO)
    nbd_flags = cmd_nbd_flags (cmd, op == MEMBER_ZERO);
  while (cmd->sent_bytes < cmd->len && cmd->parts < MOST_PARTS_IN_FLIGHT) {
    uint64_t left = cmd->len - cmd->sent_bytes;
    uint64_t n = left < longest ? left : longest;
    void *buf = NULL;

    if (plain_zeroes)
      buf = (void *)zeroes;
    else if (op != MEMBER_ZERO)
      buf = (char *)cmd->buf + cmd->sent_bytes;
    if (!cmd_add_part (l, cmd, op, buf, n, cmd->offset + cmd->sent_bytes,
                       nbd_flags))
      return;
    cmd->sent_bytes += n;
  }
}

/* Do the next thing that the command needs; if there is none, it is done. */
static void
cmd_advance (struct lane *l, struct member_cmd *cmd)
{
  if (cmd->err == 0)
    cmd_expand (l, cmd);
  if (cmd->err == 0 && cmd->parts == 0 && cmd->need_flush) {
    cmd->need_flush = false;
    cmd_add_part (l, cmd, MEMBER_FLUSH, NULL, 0, 0, 0);
  }
  if (cmd->parts == 0)
    cmd->done (cmd); /* may free it */
}

void
lane_cmd_start (struct lane *l, struct member_cmd *cmd)
{
  const struct member *m = cmd->member;
  bool writes = cmd->op == MEMBER_WRITE || cmd->op == MEMBER_ZERO;

  cmd->next = NULL;
  cmd->err = 0;
  cmd->lost = false;
  cmd->parts = 0;
  cmd->sent_bytes = 0;
  /* A server without flush promises that what is answered is durable. */
  cmd->need_flush =
      m->can_flush &&
      (cmd->op == MEMBER_FLUSH ||
       (writes && (cmd->flags & MEMBER_CMD_FUA) != 0 && !m->can_fua));
  if (cmd->op == MEMBER_FLUSH)
    cmd->sent_bytes = cmd->len; /* whatever it is: there is no data */
  if (writes && m->read_only)
    cmd_set_error (cmd, EROFS, false);
  else if (cmd_conn (l, cmd) == NULL)
    /* Also for a flush that the server does not need. */
    cmd_set_error (cmd, ENOTCONN, true);
  cmd_advance (l, cmd);
}

/* The average over the last eight or so. */
static void
account_latency (struct member *m, uint64_t us)
{
  uint64_t old = atomic_load_explicit (&m->latency_us, memory_order_relaxed);
  uint64_t new = old == 0 ? us : old + us / 8 - old / 8;

  /* Two lanes may overwrite each other's: it is an estimate. */
  atomic_store_explicit (&m->latency_us, new > 0 ? new : 1,
                         memory_order_relaxed);
}

void
lane_account (const struct lane *l, const struct lane_part *part)
{
  struct member *m = part->cmd->member;

  if (part->err != 0) {
    atomic_fetch_add_explicit (&m->errors, 1, memory_order_relaxed);
    return;
  }
  if (l->now_us > part->sent_us)
    account_latency (m, l->now_us - part->sent_us);
  switch (part->op) {
  case MEMBER_READ:
    atomic_fetch_add_explicit (&m->reads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit (&m->read_bytes, part->wire_len,
                               memory_order_relaxed);
    return;
  case MEMBER_WRITE:
  case MEMBER_ZERO:
    atomic_fetch_add_explicit (&m->writes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit (&m->write_bytes, part->wire_len,
                               memory_order_relaxed);
    return;
  case MEMBER_FLUSH:
    return;
  }
}

void
lane_part_finish (struct lane *l, struct lane_part *part)
{
  lane_account (l, part);
  lane_part_end (l, part);
}

void
lane_part_end (struct lane *l, struct lane_part *part)
{
  struct member_cmd *cmd = part->cmd;

  part->conn->load_bytes -= lane_part_load (part);
  if (part->err != 0)
    cmd_set_error (cmd, part->err, part->lost);
  TAILQ_INSERT_HEAD (&l->free_parts, part, link);
  assert (cmd->parts > 0);
  cmd->parts--;
  cmd_advance (l, cmd);
}

void
lane_cmd_fail_lost (struct member_cmd *cmd)
{
  cmd->next = NULL;
  cmd->err = ENOTCONN;
  cmd->lost = true;
  cmd->done (cmd);
}
