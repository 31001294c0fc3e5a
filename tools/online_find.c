/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * From the name of an array to its control socket (see online.h).  Looks into
 * directories and asks nobody but for one thing: where a name is in both
 * places, whether a server is at the first.  One thread, no locks.
 */
#include <config.h>

#include "online.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NR_PLACES 2
#define SUFFIX ".sock"

/* Place I, or NULL.  BUF holds the second. */
static const char *
place (size_t i, char *buf, size_t len)
{
  const char *dir = getenv ("XDG_RUNTIME_DIR");

  if (i == 0)
    return "/run/uraid";
  if (dir == NULL || dir[0] != '/')
    return NULL;
  if ((size_t)snprintf (buf, len, "%s/uraid", dir) >= len)
    return NULL;
  return buf;
}

const char *
online_places (char *buf, size_t len)
{
  char dir[256], shown[512];
  const char *second = place (1, dir, sizeof dir);

  snprintf (buf, len, "%s%s%s", place (0, NULL, 0), second ? " and " : "",
            second ? online_escape (second, shown, sizeof shown) : "");
  return buf;
}

/* As the server makes a file's name of the array's. */
static void
file_name (const char *array, char *buf, size_t len)
{
  size_t i;

  snprintf (buf, len, "%s" SUFFIX, array);
  for (i = 0; buf[i] != '\0'; ++i)
    if ((unsigned char)buf[i] < 0x20 || buf[i] == 0x7f ||
        (i == 0 && buf[i] == '.'))
      buf[i] = '_';
}

/* 0 or an exit code. */
static int
set_path (struct tool *t, struct online *o, const char *dir, const char *file)
{
  if ((size_t)snprintf (o->path, sizeof o->path, "%s%s%s", dir,
                        *dir != '\0' ? "/" : "", file) < sizeof o->path)
    return 0;
  return tool_fail (t, TOOL_UNREADABLE, ENAMETOOLONG, t->verb->name, o->shown,
                    "at most 107 bytes", "the path of the socket is too long");
}

static bool
is_served (const char *path)
{
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool yes;

  snprintf (addr.sun_path, sizeof addr.sun_path, "%s", path);
  yes = fd < 0 || connect (fd, (struct sockaddr *)&addr, sizeof addr) == 0 ||
        errno != ECONNREFUSED;
  if (fd >= 0)
    close (fd);
  return yes;
}

/* In DIR: FILE, else the one and only HOST:FILE.  How many were found; the
 * name is in RET.
 */
static unsigned
look_into (const char *dir, const char *file, char ret[NAME_MAX + 1])
{
  const size_t len = strlen (file);
  struct dirent *d;
  unsigned n = 0;
  size_t name_len;
  DIR *all = opendir (dir);

  if (all == NULL)
    return 0;
  while ((d = readdir (all)) != NULL) {
    name_len = strlen (d->d_name);
    if (strcmp (d->d_name, file) == 0) {
      strcpy (ret, file);
      n = 1;
      break;
    }
    if (name_len > len + 1 && d->d_name[name_len - len - 1] == ':' &&
        strcmp (d->d_name + name_len - len, file) == 0) {
      strcpy (ret, d->d_name);
      ++n;
    }
  }
  closedir (all);
  return n;
}

static int
no_such (struct tool *t, const struct online *o, int err)
{
  char places[600];

  return tool_fail (
      t, TOOL_UNREADABLE, err, t->verb->name, o->shown, NULL,
      "no such array is served: its control socket is not in "
      "%s%s%s%s; give the path of the socket if it is elsewhere",
      online_places (places, sizeof places), err != ENOENT ? " (" : "",
      err != ENOENT ? strerror (err) : "", err != ENOENT ? ")" : "");
}

static int
find_name (struct tool *t, const char *array, struct online *ret)
{
  char buf[256], file[NAME_MAX + 1], found[NAME_MAX + 1];
  const char *dir;
  unsigned n;
  size_t i;
  int code, err = ENOENT;

  ret->path[0] = '\0';
  file_name (array, file, sizeof file);
  for (i = 0; i < NR_PLACES; ++i) {
    dir = place (i, buf, sizeof buf);
    if (dir == NULL)
      continue;
    n = look_into (dir, file, found);
    if (n > 1)
      return tool_fail (t, TOOL_UNREADABLE, ENOTUNIQ, t->verb->name,
                        ret->shown, NULL,
                        "arrays of several hosts have this name in %s; write "
                        "HOST:NAME",
                        dir);
    if (n == 0 && access (dir, R_OK | X_OK) < 0 && errno != ENOENT)
      err = errno;
    if (n == 0 || (ret->path[0] != '\0' && is_served (ret->path)))
      continue;
    code = set_path (t, ret, dir, found);
    if (code != 0)
      return code;
  }
  return ret->path[0] != '\0' ? 0 : no_such (t, ret, err);
}

int
online_find (struct tool *t, const char *array, struct online *ret)
{
  online_escape (array, ret->shown, sizeof ret->shown);
  memset (ret->path, 0, sizeof ret->path);
  if (*array == '\0')
    return tool_fail (t, TOOL_USAGE, EINVAL, t->verb->name, NULL, NULL,
                      "the name of the array is empty");
  if (strchr (array, '/') != NULL)
    return set_path (t, ret, "", array);
  return find_name (t, array, ret);
}

/* --- all ---------------------------------------------------------------- */

static int
by_name (const void *a, const void *b)
{
  return strcmp (((const struct online *)a)->shown,
                 ((const struct online *)b)->shown);
}

/* Add the socket FILE in DIR.  0 or an exit code. */
static int
add_socket (struct tool *t, const char *dir, const char *file,
            struct online **all, size_t *nr)
{
  const size_t len = strlen (file);
  char name[NAME_MAX + 1];
  struct online o = {.path = ""}, *p;
  struct stat st;

  if (len <= strlen (SUFFIX) ||
      strcmp (file + len - strlen (SUFFIX), SUFFIX) != 0 ||
      (size_t)snprintf (o.path, sizeof o.path, "%s/%s", dir, file) >=
          sizeof o.path ||
      stat (o.path, &st) < 0 || !S_ISSOCK (st.st_mode))
    return 0;
  snprintf (name, sizeof name, "%.*s", (int)(len - strlen (SUFFIX)), file);
  online_escape (name, o.shown, sizeof o.shown);
  p = realloc (*all, (*nr + 1) * sizeof *p);
  if (p == NULL)
    return tool_fail (t, TOOL_FAILED, ENOMEM, t->verb->name, NULL, NULL,
                      "out of memory");
  p[(*nr)++] = o;
  *all = p;
  return 0;
}

int
online_find_all (struct tool *t, struct online **ret, size_t *ret_nr)
{
  char buf[256];
  const char *path;
  struct dirent *d;
  DIR *dir;
  size_t i;
  int code = 0;

  *ret = NULL;
  *ret_nr = 0;
  for (i = 0; i < NR_PLACES && code == 0; ++i) {
    path = place (i, buf, sizeof buf);
    dir = path != NULL ? opendir (path) : NULL;
    if (path != NULL && dir == NULL && errno != ENOENT)
      tool_note (t, path, "%s; arrays there are not shown", strerror (errno));
    if (dir == NULL)
      continue;
    while (code == 0 && (d = readdir (dir)) != NULL)
      code = add_socket (t, path, d->d_name, ret, ret_nr);
    closedir (dir);
  }
  if (*ret_nr > 0)
    qsort (*ret, *ret_nr, sizeof **ret, by_name);
  return code;
}
