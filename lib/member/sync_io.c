/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Blocking I/O on connection 0 of a member (see the header).  One thread, no
 * locks, no lanes.  nbd_poll is avoided for want of a time-out that leaves
 * the handle usable for the next command: we poll the socket ourselves.
 */
#include <config.h>

#include "sync_io.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "connect.h"

#define DEFAULT_TIMEOUT_MS 30000
#define ZERO_STEP_BYTES (32u << 20)
#define ZERO_BUFFER_BYTES (1u << 20)

static const unsigned char zeroes[ZERO_BUFFER_BYTES];

enum sync_kind { SYNC_READ, SYNC_WRITE, SYNC_ZERO, SYNC_FLUSH };

static const char *const kind_name[] = {
    [SYNC_READ] = "read",
    [SYNC_WRITE] = "write",
    [SYNC_ZERO] = "write of zeroes",
    [SYNC_FLUSH] = "flush",
};

/* One command to the server: aligned, not longer than it allows. */
struct sync_op {
  enum sync_kind kind;
  void *buf;
  size_t len;
  uint64_t offset;
  bool fua;
  bool done;
  int err;
};

static int
op_completed (void *user, int *error)
{
  struct sync_op *op = user;

  op->err = *error;
  op->done = true;
  return 1;
}

static int64_t
op_send (struct nbd_handle *h, struct sync_op *op)
{
  nbd_completion_callback cb = {.callback = op_completed, .user_data = op};
  uint32_t flags = op->fua ? LIBNBD_CMD_FLAG_FUA : 0;

  switch (op->kind) {
  case SYNC_READ:
    return nbd_aio_pread (h, op->buf, op->len, op->offset, cb, 0);
  case SYNC_WRITE:
    return nbd_aio_pwrite (h, op->buf, op->len, op->offset, cb, flags);
  case SYNC_ZERO:
    return nbd_aio_zero (h, op->len, op->offset, cb, flags);
  case SYNC_FLUSH:
    return nbd_aio_flush (h, cb, 0);
  }
  return -1;
}

/* Fill E and return -ERR. */
static int
op_failed (const struct member *m, const struct sync_op *op, int err,
           const char *text, struct uraid_error *e)
{
  if (op->kind == SYNC_FLUSH)
    return uraid_error_set (e, err, "%s: flush failed: %s", m->address, text);
  return uraid_error_set (
      e, err, "%s: %s of %zu bytes at byte %llu failed: %s", m->address,
      kind_name[op->kind], op->len, (unsigned long long)op->offset, text);
}

/* The connection is of no use any more.  After this nothing in libnbd refers
 * to the operation's buffer.
 */
static int
op_lost (struct member *m, struct sync_op *op, int err, const char *text,
         struct uraid_error *e)
{
  int r = op_failed (m, op, err, text, &m->error);

  member_conn_kill (m->conn[0]);
  nbd_close (m->conn[0]);
  m->conn[0] = NULL;
  if (e != NULL)
    *e = m->error;
  member_set_state (m, MEMBER_LOST);
  return r;
}

/* Wait for the completion.  0 when it has been called, -errno when the time
 * is over or poll fails.
 */
static int
op_wait (struct member *m, struct sync_op *op)
{
  struct nbd_handle *h = m->conn[0];
  uint64_t timeout_ms = m->opt.request_timeout_ms > 0
                            ? m->opt.request_timeout_ms
                            : DEFAULT_TIMEOUT_MS;
  uint64_t end_ms = member_now_ms () + timeout_ms;

  while (!op->done) {
    unsigned dir = nbd_aio_get_direction (h);
    uint64_t now_ms = member_now_ms ();
    struct pollfd fd = {
        .fd = nbd_aio_get_fd (h),
        .events = (short)((dir & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
                          (dir & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0)),
    };
    int n;

    if (now_ms >= end_ms)
      return -ETIMEDOUT;
    n = poll (&fd, 1, (int)(end_ms - now_ms > 1000 ? 1000 : end_ms - now_ms));
    if (n == -1 && errno != EINTR)
      return -errno;
    /* An error kills the handle and so completes the command. */
    if (n > 0)
      member_conn_notify (h, fd.revents);
  }
  return 0;
}

static int
op_run (struct member *m, struct sync_op *op, struct uraid_error *e)
{
  struct nbd_handle *h = m->conn[0];
  int r;

  if (atomic_load (&m->state) != MEMBER_CONNECTED || h == NULL) {
    if (e == &m->error)
      return -ENOTCONN; /* it says why already */
    return op_failed (
        m, op, ENOTCONN,
        m->error.text[0] != '\0' ? m->error.text : "not connected", e);
  }
  if (op_send (h, op) == -1 && !op->done) {
    int err = nbd_get_errno ();
    const char *text = nbd_get_error ();

    if (err == 0)
      err = EINVAL;
    if (nbd_aio_is_dead (h) || nbd_aio_is_closed (h))
      return op_lost (m, op, ENOTCONN, "the connection is closed", e);
    return op_failed (m, op, err, text != NULL ? text : strerror (err), e);
  }
  r = op_wait (m, op);
  if (r == -ETIMEDOUT)
    return op_lost (m, op, ETIMEDOUT, "no answer within the request-timeout",
                    e);
  if (r < 0)
    return op_lost (m, op, -r, strerror (-r), e);
  if (op->err == ENOTCONN || op->err == ESHUTDOWN)
    return op_lost (m, op, op->err,
                    op->err == ESHUTDOWN ? "the server is shutting down"
                                         : "the connection was lost",
                    e);
  if (op->err != 0) {
    atomic_fetch_add (&m->errors, 1);
    return op_failed (m, op, op->err, strerror (op->err), e);
  }
  return 0;
}

static int
transfer (struct member *m, enum sync_kind kind, void *buf, size_t len,
          uint64_t offset, bool fua, struct uraid_error *e)
{
  struct sync_op op = {
      .kind = kind, .buf = buf, .len = len, .offset = offset, .fua = fua};
  int r = op_run (m, &op, e);

  if (r < 0)
    return r;
  if (kind == SYNC_READ) {
    atomic_fetch_add (&m->reads, 1);
    atomic_fetch_add (&m->read_bytes, len);
  }
  else if (kind != SYNC_FLUSH) {
    atomic_fetch_add (&m->writes, 1);
    atomic_fetch_add (&m->write_bytes, len);
  }
  return 0;
}

static int
check_range (struct member *m, enum sync_kind kind, uint64_t len,
             uint64_t offset, struct uraid_error *e)
{
  if (kind != SYNC_READ && m->read_only)
    return uraid_error_set (e, EROFS, "%s: cannot write: it is read-only",
                            m->address);
  if (offset > m->size_bytes || len > m->size_bytes - offset)
    return uraid_error_set (
        e, EINVAL,
        "%s: %s of %llu bytes at byte %llu goes beyond "
        "its end, which is at byte %llu",
        m->address, kind_name[kind], (unsigned long long)len,
        (unsigned long long)offset, (unsigned long long)m->size_bytes);
  return 0;
}

/* The part of [offset, offset + len) that can be sent as it stands: 0 when it
 * begins within a block or is shorter than one.
 */
static size_t
direct_bytes (const struct member *m, uint64_t len, uint64_t offset,
              uint64_t limit)
{
  uint64_t mask = m->min_block - 1;

  if ((offset & mask) != 0)
    return 0;
  if (len > limit)
    len = limit;
  return (size_t)(len & ~mask);
}

/* The block around OFFSET goes through a buffer of our own: read, and for a
 * write, merge and write back.  Returns how much of it was dealt with.
 */
static ssize_t
through_bounce (struct member *m, enum sync_kind kind, void *buf, size_t len,
                uint64_t offset, bool fua, struct uraid_error *e)
{
  uint64_t block_start = offset & ~(uint64_t)(m->min_block - 1);
  size_t in_block = (size_t)(offset - block_start);
  uint64_t left = m->size_bytes - block_start;
  size_t block_len = left < m->min_block ? (size_t)left : m->min_block;
  size_t n = block_len - in_block < len ? block_len - in_block : len;
  char *bounce = malloc (m->min_block);
  int r;

  if (bounce == NULL)
    return uraid_error_set (e, ENOMEM, "%s: out of memory", m->address);
  r = transfer (m, SYNC_READ, bounce, block_len, block_start, false, e);
  if (r == 0 && kind == SYNC_READ)
    memcpy (buf, bounce + in_block, n);
  if (r == 0 && kind != SYNC_READ) {
    memcpy (bounce + in_block, buf, n);
    r = transfer (m, SYNC_WRITE, bounce, block_len, block_start, fua, e);
  }
  free (bounce);
  return r < 0 ? r : (ssize_t)n;
}

static int
pieces (struct member *m, enum sync_kind kind, void *buf, size_t len,
        uint64_t offset, bool fua, struct uraid_error *e)
{
  char *p = buf;
  int r;

  r = check_range (m, kind, len, offset, e);
  while (r == 0 && len > 0) {
    size_t n = direct_bytes (m, len, offset, m->max_block);

    if (n > 0)
      r = transfer (m, kind, p, n, offset, fua, e);
    else {
      ssize_t got = through_bounce (m, kind, p, len, offset, fua, e);

      if (got < 0)
        return (int)got;
      n = (size_t)got;
    }
    p += n;
    offset += n;
    len -= n;
  }
  return r;
}

int
member_pread (struct member *m, void *buf, size_t len, uint64_t offset,
              struct uraid_error *e)
{
  return pieces (m, SYNC_READ, buf, len, offset, false, e);
}

int
member_pwrite (struct member *m, const void *buf, size_t len, uint64_t offset,
               struct uraid_error *e)
{
  /* Only read through the pointer. */
  return pieces (m, SYNC_WRITE, (void *)buf, len, offset, false, e);
}

int
member_pwrite_durable (struct member *m, const void *buf, size_t len,
                       uint64_t offset, struct uraid_error *e)
{
  int r = pieces (m, SYNC_WRITE, (void *)buf, len, offset, m->can_fua, e);

  if (r == 0 && !m->can_fua)
    r = member_flush (m, e);
  return r;
}

int
member_pzero (struct member *m, uint64_t len, uint64_t offset,
              struct uraid_error *e)
{
  int r;

  r = check_range (m, SYNC_ZERO, len, offset, e);
  while (r == 0 && len > 0) {
    size_t n =
        m->can_zero ? direct_bytes (m, len, offset, ZERO_STEP_BYTES) : 0;

    if (n > 0)
      r = transfer (m, SYNC_ZERO, NULL, n, offset, false, e);
    else {
      uint64_t to_block = m->min_block - (offset & (m->min_block - 1));

      /* With the zero command, only to the next block border. */
      n = m->can_zero ? (size_t)to_block : ZERO_BUFFER_BYTES;
      if (n > len)
        n = (size_t)len;
      r = member_pwrite (m, zeroes, n, offset, e);
    }
    offset += n;
    len -= n;
  }
  return r;
}

int
member_flush (struct member *m, struct uraid_error *e)
{
  /* A server without flush promises that what is answered is durable. */
  if (!m->can_flush)
    return 0;
  return transfer (m, SYNC_FLUSH, NULL, 0, 0, false, e);
}
