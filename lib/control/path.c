/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The socket as a file: where it is, how it gets there, how it goes away.
 * Main thread before the fork, but for control_server_unlink.
 */
#include <config.h>

#include "server_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 32
#define SYSTEM_DIR "/run/uraid"

/* --- the default --- */

/* The array's name as a file name; see the header. */
static void
file_name (const char *name, const char *uuid_text, char *buf, size_t size)
{
  snprintf (buf, size, "%s", name[0] != '\0' ? name : uuid_text);
  for (char *p = buf; *p != '\0'; p++)
    if (*p == '/' || (unsigned char)*p < 0x20 || *p == 0x7f ||
        (*p == '.' && p == buf))
      *p = '_';
}

static bool
usable (const char *dir)
{
  struct stat st;

  return stat (dir, &st) == 0 && S_ISDIR (st.st_mode) &&
         access (dir, W_OK | X_OK) == 0;
}

int
control_default_path (const char *name, const char *uuid_text, bool make,
                      char *buf, size_t size, struct uraid_error *e)
{
  const char *runtime = getenv ("XDG_RUNTIME_DIR");
  char file[64], dir[256] = SYSTEM_DIR;

  file_name (name, uuid_text, file, sizeof file);
  if (!usable (dir)) {
    if (runtime == NULL || runtime[0] != '/')
      return uraid_error_set (e, ENOENT,
                              "there is no directory " SYSTEM_DIR
                              " that can be written to, and XDG_RUNTIME_DIR "
                              "is not set");
    snprintf (dir, sizeof dir, "%s/uraid", runtime);
    if (make && mkdir (dir, 0700) < 0 && errno != EEXIST)
      return uraid_error_set (e, ENOENT, "%s cannot be made: %s", dir,
                              strerror (errno));
    if (!usable (dir))
      return uraid_error_set (e, ENOENT,
                              "neither " SYSTEM_DIR
                              " nor %s is a directory that can be written to",
                              dir);
  }
  snprintf (buf, size, "%s/%s.sock", dir, file);
  return 0;
}

/* --- listen --- */

static int
fill_address (const char *path, struct sockaddr_un *ret, struct uraid_error *e)
{
  size_t len = strlen (path);

  *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (len >= sizeof ret->sun_path)
    return uraid_error_set (e, ENAMETOOLONG,
                            "control socket %s: the path has %zu bytes, a "
                            "socket's has at most %zu; give a shorter one "
                            "with control=PATH",
                            path, len, sizeof ret->sun_path - 1);
  memcpy (ret->sun_path, path, len + 1);
  return 0;
}

static int
fail (struct uraid_error *e, const char *path, const char *what)
{
  int err = errno;

  return uraid_error_set (e, err, "control socket %s: %s: %s", path, what,
                          strerror (err));
}

/* Does somebody answer there?  1, 0 or -errno with a text. */
static int
answers (const struct sockaddr_un *addr, struct uraid_error *e)
{
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int r;

  if (fd < 0)
    return fail (e, addr->sun_path, "socket");
  r = connect (fd, (const struct sockaddr *)addr, sizeof *addr);
  /* EAGAIN: the queue of one who listens is full. */
  if (r == 0 || errno == EAGAIN)
    r = 1;
  else if (errno == ECONNREFUSED || errno == ENOENT)
    r = 0;
  else
    r = fail (e, addr->sun_path, "there is a socket, connecting to it failed");
  close (fd);
  return r;
}

static int
clear_place (const struct sockaddr_un *addr, struct uraid_error *e)
{
  const char *path = addr->sun_path;
  struct stat st;
  int r;

  if (lstat (path, &st) < 0)
    return errno == ENOENT ? 0 : fail (e, path, "cannot look there");
  if (!S_ISSOCK (st.st_mode))
    return uraid_error_set (e, EEXIST,
                            "control socket %s: there is something that is no "
                            "socket; remove it or give another path with "
                            "control=PATH",
                            path);
  r = answers (addr, e);
  if (r < 0)
    return r;
  if (r > 0)
    return uraid_error_set (e, EADDRINUSE,
                            "control socket %s: another server answers there; "
                            "is the array served already?  If it is another "
                            "array, give another path with control=PATH, or "
                            "control=none",
                            path);
  if (unlink (path) < 0 && errno != ENOENT)
    return fail (e, path, "what an ended server left cannot be removed");
  return 0;
}

/* The mode is 0600 from the first moment. */
static int
bind_private (int fd, const struct sockaddr_un *addr)
{
  mode_t old = umask (0177);
  int r = bind (fd, (const struct sockaddr *)addr, sizeof *addr), err = errno;

  umask (old);
  errno = err;
  return r;
}

static int
listen_there (struct control_server *s, struct uraid_error *e)
{
  struct sockaddr_un addr;
  struct stat st;
  int r = fill_address (s->path, &addr, e);

  if (r == 0)
    r = clear_place (&addr, e);
  if (r < 0)
    return r;
  s->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s->fd < 0)
    return fail (e, s->path, "socket");
  if (bind_private (s->fd, &addr) < 0)
    return fail (e, s->path, "bind");
  if (lstat (s->path, &st) == 0) {
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    s->bound = true;
  }
  if (listen (s->fd, BACKLOG) < 0)
    return fail (e, s->path, "listen");
  return 0;
}

int
control_server_bind (const char *path, struct control_server **ret,
                     struct uraid_error *e)
{
  struct control_server *s = calloc (1, sizeof *s);
  int r;

  if (s == NULL || (s->path = strdup (path)) == NULL) {
    free (s);
    return uraid_error_set (e, ENOMEM, "out of memory for the control socket");
  }
  s->fd = -1;
  r = listen_there (s, e);
  if (r < 0) {
    control_server_stop (s);
    return r;
  }
  *ret = s;
  return 0;
}

/* Somebody may have put another socket there meanwhile. */
void
control_server_unlink (const struct control_server *s)
{
  struct stat st;

  if (s->bound && lstat (s->path, &st) == 0 && st.st_dev == s->dev &&
      st.st_ino == s->ino)
    unlink (s->path);
}
