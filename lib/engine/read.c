/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Reads.  Where every member concerned is in service they go straight to the
 * members and into the client's buffer: no claim, no copy.  Where one is not,
 * or its answer is an error, the piece becomes a run that decodes.
 *
 * A read part belongs to the request thread until it is submitted, then to
 * its lane.
 */
#include <config.h>

#include "engine_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct read_part {
  struct member_cmd cmd;
  struct io *io;
  uint64_t segno;
  unsigned slot;
  struct piece_ext ext;
  uint8_t *bounce; /* when the member wants larger blocks than the request */
};

static void
part_free (struct read_part *rp)
{
  free (rp->bounce);
  free (rp);
}

/* A live server's read error, or a lost member: decode this extent. */
static void
part_failed (struct read_part *rp)
{
  struct engine *e = rp->io->e;
  struct piece *p;

  if (rp->cmd.lost)
    e->cfg.ops->slot_fault (e->cfg.ops_user, rp->slot, rp->cmd.member,
                            FAULT_LOST, rp->cmd.err);
  p = piece_new (PIECE_READ, rp->segno, 1);
  if (p == NULL) {
    io_put (rp->io, ENOMEM);
    return;
  }
  if (!rp->cmd.lost)
    p->bad_slot = (int)rp->slot;
  p->ext[p->nr_ext++] = rp->ext;
  p->io = rp->io;
  piece_close (p);
  piece_enqueue (e, p);
}

static void
part_done (struct member_cmd *cmd)
{
  struct read_part *rp = cmd->user;

  if (cmd->err != 0)
    part_failed (rp);
  else {
    if (rp->bounce != NULL)
      memcpy (rp->ext.buf, rp->bounce + rp->ext.off % cmd->member->min_block,
              rp->ext.len);
    io_put (rp->io, 0);
  }
  part_free (rp);
}

/* NULL when out of memory. */
static struct read_part *
part_new (struct engine *e, struct piece *p, const struct piece_ext *x,
          unsigned slot)
{
  struct read_part *rp = calloc (1, sizeof *rp);
  struct member *m = slot_member (e, slot);
  uint64_t off = (p->segno << e->seg_shift) + x->off;
  uint64_t lo = off / m->min_block * m->min_block;
  uint64_t hi =
      (off + x->len + m->min_block - 1) / m->min_block * m->min_block;

  if (rp == NULL)
    return NULL;
  rp->io = p->io;
  rp->segno = p->segno;
  rp->slot = slot;
  rp->ext = *x;
  if (lo != off || hi != off + x->len) {
    rp->bounce = malloc (hi - lo);
    if (rp->bounce == NULL) {
      free (rp);
      return NULL;
    }
  }
  rp->cmd.member = m;
  rp->cmd.op = MEMBER_READ;
  rp->cmd.buf = rp->bounce != NULL ? rp->bounce : x->buf;
  rp->cmd.len = hi - lo;
  rp->cmd.offset = e->slot[slot].data_offset_bytes + lo;
  rp->cmd.done = part_done;
  rp->cmd.user = rp;
  atomic_fetch_add (&p->io->pending, 1);
  return rp;
}

void
read_piece (struct engine *e, struct piece *p)
{
  const struct geometry *g = e->geo;
  uint64_t base = p->segno << e->seg_shift;
  const struct row_map *rm = geometry_row (g, base >> g->chunk_shift);
  struct cmd_list list = {NULL, NULL};
  int err = 0;

  for (unsigned i = 0; i < p->nr_ext; i++)
    if (!slot_readable (e, rm->data_slot[p->ext[i].data_index],
                        base + p->ext[i].off, p->ext[i].len)) {
      read_ahead (e, p);
      piece_enqueue (e, p);
      return;
    }
  for (unsigned i = 0; i < p->nr_ext; i++) {
    struct read_part *rp =
        part_new (e, p, &p->ext[i], rm->data_slot[p->ext[i].data_index]);

    if (rp == NULL) {
      err = ENOMEM;
      break;
    }
    if (list.tail != NULL)
      list.tail->next = &rp->cmd;
    else
      list.head = &rp->cmd;
    list.tail = &rp->cmd;
  }
  atomic_fetch_add (&e->stats.direct_reads, p->nr_ext);
  if (list.head != NULL)
    lane_submit (lanes_pick (e->cfg.lanes), list.head);
  io_put (p->io, err);
  free (p);
}
