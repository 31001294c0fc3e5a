/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The error text that travels up (see the header).  No locks, no I/O.
 */
#include <config.h>

#include "uraid_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
uraid_error_set (struct uraid_error *e, int err, const char *fmt, ...)
{
  va_list ap;

  if (e != NULL) {
    e->err = err;
    va_start (ap, fmt);
    vsnprintf (e->text, sizeof e->text, fmt, ap);
    va_end (ap);
  }
  return -err;
}

void
uraid_error_prefix (struct uraid_error *e, const char *fmt, ...)
{
  char old[sizeof e->text];
  size_t n;
  va_list ap;

  if (e == NULL)
    return;
  memcpy (old, e->text, sizeof old);
  va_start (ap, fmt);
  vsnprintf (e->text, sizeof e->text, fmt, ap);
  va_end (ap);
  n = strlen (e->text);
  snprintf (e->text + n, sizeof e->text - n, ": %s", old);
}
