/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Was the server told to serve read-only?  See cmdline.h.  Called once, from
 * the main thread, before the fork.
 */
#include <config.h>

#include "cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No command line is longer (Linux: a quarter of the stack limit); one that
 * is counts as not readable.
 */
#define CMDLINE_MAX_BYTES (8u << 20)
#define CMDLINE_FIRST_BYTES 4096u

static bool
starts_with (const char *text, const char *prefix)
{
  return strncmp (text, prefix, strlen (prefix)) == 0;
}

/* These filters open what is below them read-only, whatever the client wants:
 * cow keeps the writes for itself, checkwrite compares.  VALUE may be a name
 * or the path of a filter.
 */
static bool
filter_opens_read_only (const char *value)
{
  return strstr (value, "cow") != NULL || strstr (value, "checkwrite") != NULL;
}

/* "--run CMD" and "--run=CMD" begin like --readonly and are no reason.  Long
 * options may be abbreviated.
 */
static bool
long_option_maybe (const char *arg, const char *next)
{
  if (starts_with (arg, "--r"))
    return strcmp (arg, "--run") != 0 && !starts_with (arg, "--run=");
  if (starts_with (arg, "--f"))
    return filter_opens_read_only (arg) ||
           (next != NULL && filter_opens_read_only (next));
  return false;
}

bool
cmdline_maybe_read_only (const char *const argv[])
{
  size_t i;

  if (argv[0] == NULL)
    return true;
  /* Options may also stand behind the plugin's name, so there is no end to
   * look for.  What belongs to an option as its value and looks like one is a
   * "maybe" too.
   */
  for (i = 1; argv[i] != NULL; i++) {
    if (argv[i][0] != '-')
      continue;
    if (argv[i][1] != '-') {
      if (strchr (argv[i], 'r') != NULL)
        return true;
    }
    else if (long_option_maybe (argv[i], argv[i + 1]))
      return true;
  }
  return false;
}

/* Read all of PATH.  A zero byte is put behind it.  NULL on any error. */
static char *
read_whole (const char *path, size_t *ret_len)
{
  size_t size = CMDLINE_FIRST_BYTES, len = 0;
  char *buf = malloc (size + 1), *larger;
  ssize_t r = -1;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  while (fd >= 0 && buf != NULL) {
    r = read (fd, buf + len, size - len);
    if (r == -1 && errno == EINTR)
      continue;
    if (r <= 0)
      break;
    len += (size_t)r;
    if (len < size)
      continue;
    size *= 2;
    larger = size <= CMDLINE_MAX_BYTES ? realloc (buf, size + 1) : NULL;
    if (larger == NULL) {
      r = -1;
      break;
    }
    buf = larger;
  }
  if (fd >= 0)
    close (fd);
  if (r != 0) {
    free (buf);
    return NULL;
  }
  buf[len] = '\0';
  *ret_len = len;
  return buf;
}

bool
cmdline_self_maybe_read_only (void)
{
  size_t len = 0, nr = 0, i, start;
  char *text = read_whole ("/proc/self/cmdline", &len);
  const char **argv = NULL;
  bool maybe = true;

  if (text != NULL)
    argv = calloc (len + 2, sizeof *argv);
  if (argv != NULL) {
    for (start = i = 0; i < len; i++)
      if (text[i] == '\0') {
        argv[nr++] = text + start;
        start = i + 1;
      }
    if (start < len)
      argv[nr++] = text + start;
    maybe = cmdline_maybe_read_only (argv);
  }
  free (argv);
  free (text);
  return maybe;
}
