/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * One error text that travels up.  lib/ never logs: a function that can fail
 * returns 0 or -errno and, where a person will read it, fills one of these.
 * No locks; each object belongs to its caller.
 */
#ifndef URAID_ERROR_H
#define URAID_ERROR_H

struct uraid_error {
  int err;         /* errno value, 0 = nothing was set */
  char text[2048]; /* what, which value, what is allowed, what to do */
};

/* Format a message into E (E may be NULL: only the return value matters).
 * ERR is a positive errno.  Returns -ERR, so that callers can write
 * "return uraid_error_set (e, EINVAL, ...)".  The message is cut, never
 * overrun.  Thread-safe for distinct E.
 */
extern int uraid_error_set (struct uraid_error *e, int err, const char *fmt,
                            ...) __attribute__ ((format (printf, 3, 4)));

/* Put "PREFIX: " before the text that E already holds. */
extern void uraid_error_prefix (struct uraid_error *e, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

#endif
