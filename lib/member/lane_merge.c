/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Adjacent parts become one request.  A request costs a server and us tens of
 * microseconds whatever its length, and consecutive rows lie side by side on
 * each member, but not in the client's buffer: so what is short enough to be
 * copied for less goes through one buffer.  Nobody waits for a neighbour: only
 * what is to be sent in the same turn is merged.  All on the lane's thread, no
 * locks.
 */
#include <config.h>

#include "lane_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOUNCE_BYTES (512u << 10)
#define BOUNCE_ALIGN 64
#define MOST_BOUNCES_KEPT 16

/* A free buffer. */
struct bounce {
  struct bounce *next;
};

static uint8_t *
bounce_get (struct lane *l)
{
  struct bounce *b = l->bounces;
  void *p;

  if (b != NULL) {
    l->bounces = b->next;
    l->nr_bounces--;
    return (uint8_t *)b;
  }
  return posix_memalign (&p, BOUNCE_ALIGN, BOUNCE_BYTES) == 0 ? p : NULL;
}

static void
bounce_put (struct lane *l, uint8_t *buf)
{
  struct bounce *b = (struct bounce *)(void *)buf;

  if (buf == NULL)
    return;
  if (l->nr_bounces >= MOST_BOUNCES_KEPT) {
    free (buf);
    return;
  }
  b->next = l->bounces;
  l->bounces = b;
  l->nr_bounces++;
}

void
lane_merge_free (struct lane *l)
{
  struct bounce *b, *next;

  for (b = l->bounces; b != NULL; b = next) {
    next = b->next;
    free (b);
  }
  l->bounces = NULL;
  l->nr_bounces = 0;
}

bool
lane_merge (struct lane_conn *c, struct lane_part *part)
{
  struct lane_part *head = TAILQ_LAST (&c->to_send, lane_part_list);
  unsigned most =
      atomic_load_explicit (&c->lane->ls->merge_bytes, memory_order_relaxed);

  if (head == NULL || head->alone || part->alone || head->op != part->op ||
      (part->op != MEMBER_READ && part->op != MEMBER_WRITE) ||
      head->nbd_flags != part->nbd_flags || part->len > most ||
      head->len > most || head->offset + head->wire_len != part->offset ||
      head->wire_len + part->len > BOUNCE_BYTES ||
      head->wire_len + part->len > c->m->max_block)
    return false;
  if (head->merge_last != NULL)
    head->merge_last->merge_next = part;
  else
    head->merge_next = part;
  head->merge_last = part;
  head->wire_len += part->len;
  return true;
}

static void
stand_alone (struct lane_part *part)
{
  part->merge_next = part->merge_last = NULL;
  part->wire_len = part->len;
  part->alone = true;
}

/* Put the parts behind HEAD into the queue, behind it. */
static void
unmerge (struct lane_conn *c, struct lane_part *head)
{
  struct lane_part *part, *next, *after = head;

  for (part = head->merge_next; part != NULL; part = next) {
    next = part->merge_next;
    stand_alone (part);
    TAILQ_INSERT_AFTER (&c->to_send, after, part, link);
    after = part;
  }
  stand_alone (head);
}

bool
lane_merge_prepare (struct lane_conn *c, struct lane_part *head)
{
  struct lane_part *part;
  size_t at = 0;
  unsigned nr = 0;

  head->bounce = bounce_get (c->lane);
  if (head->bounce == NULL) {
    unmerge (c, head);
    return false;
  }
  for (part = head; part != NULL; part = part->merge_next) {
    if (part->op == MEMBER_WRITE)
      memcpy (head->bounce + at, part->buf, part->len);
    at += part->len;
    nr++;
  }
  atomic_fetch_add_explicit (&c->m->merged, nr - 1, memory_order_relaxed);
  atomic_fetch_add_explicit (&c->m->merged_bytes, at, memory_order_relaxed);
  return true;
}

void
lane_merge_finish (struct lane *l, struct lane_part *head)
{
  const uint8_t *from = head->bounce;
  uint8_t *bounce = head->bounce;
  struct lane_part *part, *next;
  bool again = head->err != 0 && !head->lost, lost = head->lost;
  int err = head->err;

  lane_account (l, head);
  head->bounce = NULL;
  for (part = head; part != NULL; part = next) {
    next = part->merge_next;
    stand_alone (part);
    if (again && part->conn->h != NULL) {
      part->err = 0;
      part->conn->load_bytes -= lane_part_load (part);
      lane_conn_queue (part->conn, part);
      continue;
    }
    part->err = again ? ENOTCONN : err;
    part->lost = again || lost;
    if (err == 0 && part->op == MEMBER_READ) {
      memcpy (part->buf, from, part->len);
      from += part->len;
    }
    lane_part_end (l, part);
  }
  bounce_put (l, bounce);
}
