/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A private server for a member that is a plain file or block device:
 * "nbdkit -s file PATH" at the other end of a socket pair, one per
 * connection.  Internal to lib/member; single-threaded phases only (before
 * lanes run and after they have ended).
 *
 * The child ends by itself when our end of the socket is closed, however we
 * end (kill -9 included), and it does not depend on its parent: nbdkit's fork
 * into the background, where the parent exits, leaves it running.
 */
#ifndef URAID_CHILD_H
#define URAID_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../md_layout/uraid_error.h"

struct member_child {
  pid_t pid;
  int sock_fd;   /* our end, CLOEXEC; the caller's */
  int stderr_fd; /* what the child says, CLOEXEC, non-blocking; the caller's */
};

/* Is PATH there, and a regular file or a block device?  0 or -errno. */
extern int member_child_check_path (const char *path, struct uraid_error *e);

/* Start the server of PATH (absolute).  0 or -errno; RET is set only on
 * success.
 */
extern int member_child_start (const char *path, bool read_only,
                               struct member_child *ret,
                               struct uraid_error *e);

/* Put what the child has said into TEXT as one line, "" if nothing. */
extern void member_child_last_words (int stderr_fd, char *text,
                                     size_t text_bytes);

/* Wait until the child has ended, for GRACE_MS at most, then kill it.  A
 * process that is not our child (we are behind a fork) is left alone: it ends
 * by itself.
 */
extern void member_child_reap (pid_t pid, unsigned grace_ms);

#endif
