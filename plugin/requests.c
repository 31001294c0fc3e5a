/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The data callbacks.  nbdkit's request threads run them side by side; each
 * sleeps in the array until its request is done.  Nothing here is locked: the
 * array pointer is constant, the counter is atomic.
 */
#include <config.h>

#include "requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#define DRAIN_POLL_MS 2u

static struct array *array;
/* Callbacks at work.  Its own cache line: every request changes it twice. */
static _Alignas(64) atomic_uint at_work;

void
requests_init (struct array *a)
{
  array = a;
}

bool
requests_drain (uint64_t timeout_ms)
{
  const struct timespec pause = {.tv_nsec = DRAIN_POLL_MS * 1000000};
  uint64_t waited_ms;

  for (waited_ms = 0; atomic_load (&at_work) > 0; waited_ms += DRAIN_POLL_MS) {
    if (waited_ms >= timeout_ms)
      return false;
    nanosleep (&pause, NULL);
  }
  return true;
}

int
uraid_wire_errno (int err)
{
  switch (err) {
  case EPERM:
  case EROFS:
    return EPERM;
  case ENOMEM:
  case EINVAL:
  case ESHUTDOWN:
    return err;
  case ENOSPC:
  case EFBIG:
  case EDQUOT:
    return ENOSPC;
  default:
    return EIO;
  }
}

/* R is what the array said.  To be returned to nbdkit, with errno set. */
static int
finish (int r, const char *what, uint32_t count, uint64_t offset)
{
  atomic_fetch_sub (&at_work, 1);
  if (r == 0)
    return 0;
  nbdkit_error ("%s of %" PRIu32 " bytes at offset %" PRIu64 " failed: %s%s",
                what, count, offset, strerror (-r),
                r == -EROFS     ? " (the array is served read-only)"
                : r == -EUCLEAN ? " (dirty and degraded)"
                                : "");
  errno = uraid_wire_errno (-r);
  return -1;
}

int
uraid_pread (void *handle, void *buf, uint32_t count, uint64_t offset,
             uint32_t flags)
{
  (void)handle;
  (void)flags;
  atomic_fetch_add (&at_work, 1);
  return finish (array_read (array, buf, count, offset), "read", count,
                 offset);
}

int
uraid_pwrite (void *handle, const void *buf, uint32_t count, uint64_t offset,
              uint32_t flags)
{
  const bool fua = (flags & NBDKIT_FLAG_FUA) != 0;

  (void)handle;
  atomic_fetch_add (&at_work, 1);
  return finish (array_write (array, buf, count, offset, fua), "write", count,
                 offset);
}

int
uraid_flush (void *handle, uint32_t flags)
{
  int r;

  (void)handle;
  (void)flags;
  atomic_fetch_add (&at_work, 1);
  r = array_flush (array);
  atomic_fetch_sub (&at_work, 1);
  if (r == 0)
    return 0;
  nbdkit_error ("flush failed: %s", strerror (-r));
  errno = uraid_wire_errno (-r);
  return -1;
}

/* Never ENOTSUP: nbdkit 1.32 would then write zeroes itself and, beyond
 * 64 MiB, to the wrong place.
 */
int
uraid_zero (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  const bool fua = (flags & NBDKIT_FLAG_FUA) != 0;
  const bool may_trim = (flags & NBDKIT_FLAG_MAY_TRIM) != 0;

  (void)handle;
  atomic_fetch_add (&at_work, 1);
  return finish (array_zero (array, count, offset, fua, may_trim),
                 "write of zeroes", count, offset);
}

int
uraid_trim (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  const bool fua = (flags & NBDKIT_FLAG_FUA) != 0;

  (void)handle;
  atomic_fetch_add (&at_work, 1);
  return finish (array_trim (array, count, offset, fua), "trim", count,
                 offset);
}
