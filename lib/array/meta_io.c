/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The metadata thread's I/O: one command to each of several members, waited
 * for.  Called by that thread only, without the array lock.
 */
#include <config.h>

#include "array_int.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

struct meta_batch {
  struct array *a;
  size_t nr;
  _Atomic size_t pending;
  sem_t done;
  struct array_member **am;
  struct member_cmd cmd[];
};

struct meta_batch *
meta_batch_new (struct array *a)
{
  struct meta_batch *b = calloc (1, sizeof *b + a->nr * sizeof b->cmd[0]);

  if (b == NULL)
    return NULL;
  b->a = a;
  b->am = calloc (a->nr, sizeof *b->am);
  if (b->am == NULL) {
    free (b);
    return NULL;
  }
  sem_init (&b->done, 0, 0);
  return b;
}

void
meta_batch_free (struct meta_batch *b)
{
  if (b == NULL)
    return;
  sem_destroy (&b->done);
  free (b->am);
  free (b);
}

static void
cmd_done (struct member_cmd *cmd)
{
  struct meta_batch *b = cmd->user;

  if (atomic_fetch_sub (&b->pending, 1) == 1)
    sem_post (&b->done);
}

void
meta_batch_add (struct meta_batch *b, struct array_member *am,
                enum member_op op, void *buf, uint64_t len_bytes,
                uint64_t offset_bytes)
{
  struct member_cmd *cmd = &b->cmd[b->nr];

  /* A server without flush promises that what it answered is durable. */
  if (op == MEMBER_FLUSH && !am->m->can_flush)
    return;
  memset (cmd, 0, sizeof *cmd);
  cmd->member = am->m;
  cmd->op = op;
  cmd->flags = op == MEMBER_WRITE ? MEMBER_CMD_FUA : 0;
  cmd->buf = buf;
  cmd->len = len_bytes;
  cmd->offset = offset_bytes;
  cmd->done = cmd_done;
  cmd->user = b;
  b->am[b->nr++] = am;
}

unsigned
meta_batch_run (struct meta_batch *b)
{
  unsigned failed = 0;

  if (b->nr == 0)
    return 0;
  atomic_store (&b->pending, b->nr);
  for (size_t i = 0; i + 1 < b->nr; i++)
    b->cmd[i].next = &b->cmd[i + 1];
  lane_submit (lanes_get (b->a->lanes, 0), &b->cmd[0]);
  while (sem_wait (&b->done) < 0)
    ;
  for (size_t i = 0; i < b->nr; i++)
    if (b->cmd[i].err != 0) {
      failed++;
      pthread_mutex_lock (&b->a->lock);
      slots_fail_locked (b->a, b->am[i],
                         b->cmd[i].lost ? FAULT_LOST : FAULT_WRITE_ERROR,
                         b->cmd[i].err);
      pthread_mutex_unlock (&b->a->lock);
    }
  b->nr = 0;
  return failed;
}
