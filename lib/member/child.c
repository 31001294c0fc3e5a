/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Start and end a private "nbdkit -s file PATH" (see child.h).  No locks;
 * called from one thread, before lanes run and after they have ended.
 */
#include <config.h>

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REAP_STEP_MS 5

extern char **environ;

int
member_child_check_path (const char *path, struct uraid_error *e)
{
  struct stat st;
  int err;

  if (stat (path, &st) == -1) {
    err = errno;
    return uraid_error_set (e, err,
                            "%s: %s; a member is an NBD URI, or a file or "
                            "block device that exists",
                            path, strerror (err));
  }
  if (!S_ISREG (st.st_mode) && !S_ISBLK (st.st_mode))
    return uraid_error_set (e, EINVAL,
                            "%s: is a %s; a member is an NBD URI, a regular "
                            "file or a block device",
                            path,
                            S_ISDIR (st.st_mode)    ? "directory"
                            : S_ISCHR (st.st_mode)  ? "character device"
                            : S_ISFIFO (st.st_mode) ? "pipe"
                            : S_ISSOCK (st.st_mode)
                                ? "socket (its URI is nbd+unix:///?socket=)"
                                : "special file");
  return 0;
}

/* Descriptors 0 to 2 are replaced in the child one after the other, so none
 * of the sources may be one of them.
 */
static int
move_above_stderr (int *fd)
{
  int moved;

  if (*fd > STDERR_FILENO)
    return 0;
  moved = fcntl (*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved == -1)
    return -errno;
  close (*fd);
  *fd = moved;
  return 0;
}

struct plumbing {
  int sock[2]; /* ours, the child's */
  int err[2];  /* ours, the child's */
};

static void
plumbing_close (struct plumbing *p)
{
  int i;

  for (i = 0; i < 2; i++) {
    if (p->sock[i] >= 0)
      close (p->sock[i]);
    if (p->err[i] >= 0)
      close (p->err[i]);
    p->sock[i] = p->err[i] = -1;
  }
}

static int
plumbing_open (struct plumbing *p)
{
  int r = 0;

  *p = (struct plumbing){.sock = {-1, -1}, .err = {-1, -1}};
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->sock) == -1 ||
      pipe2 (p->err, O_CLOEXEC) == -1 ||
      fcntl (p->err[0], F_SETFL, O_NONBLOCK) == -1)
    r = -errno;
  if (r == 0)
    r = move_above_stderr (&p->sock[1]);
  if (r == 0)
    r = move_above_stderr (&p->err[1]);
  if (r < 0)
    plumbing_close (p);
  return r;
}

/* The child ends when we close its socket and for no other reason.  Hence its
 * own session (^C, a closing terminal), and the signals that ask for an end
 * blocked: a service manager sends SIGTERM to all processes of a service at
 * once, while we still have data to write; and "nbdkit -s" asks the kernel for
 * a SIGTERM when its parent exits, which the parent does when a server goes
 * into the background.
 */
static int
spawn_attributes (posix_spawnattr_t *attr)
{
  static const int deaf_to[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};
  sigset_t mask, all;
  size_t i;
  int r;

  sigemptyset (&mask);
  for (i = 0; i < sizeof deaf_to / sizeof deaf_to[0]; i++)
    sigaddset (&mask, deaf_to[i]);
  sigfillset (&all);
  r = posix_spawnattr_setsigmask (attr, &mask);
  if (r == 0)
    r = posix_spawnattr_setsigdefault (attr, &all);
  if (r == 0)
    r = posix_spawnattr_setflags (attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  return r;
}

static int
spawn_actions (posix_spawn_file_actions_t *actions, const struct plumbing *p)
{
  int r;

  r = posix_spawn_file_actions_adddup2 (actions, p->sock[1], STDIN_FILENO);
  if (r == 0)
    r = posix_spawn_file_actions_adddup2 (actions, p->sock[1], STDOUT_FILENO);
  if (r == 0)
    r = posix_spawn_file_actions_adddup2 (actions, p->err[1], STDERR_FILENO);
  if (r == 0) /* keep no file system busy */
    r = posix_spawn_file_actions_addchdir_np (actions, "/");
  return r;
}

/* 0 or a positive errno, as posix_spawn does it. */
static int
spawn_nbdkit (const char *path, bool read_only, const struct plumbing *p,
              pid_t *pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  char *file_arg = NULL;
  char nbdkit[] = "nbdkit", single[] = "-s", ro[] = "-r", plugin[] = "file";
  char *argv[6];
  size_t n = 0;
  int r;

  if (asprintf (&file_arg, "file=%s", path) == -1)
    return ENOMEM;
  argv[n++] = nbdkit;
  argv[n++] = single;
  if (read_only)
    argv[n++] = ro;
  argv[n++] = plugin;
  argv[n++] = file_arg;
  argv[n] = NULL;

  r = posix_spawnattr_init (&attr);
  if (r != 0)
    goto out;
  r = posix_spawn_file_actions_init (&actions);
  if (r != 0)
    goto out_attr;
  r = spawn_attributes (&attr);
  if (r == 0)
    r = spawn_actions (&actions, p);
  if (r == 0)
    r = posix_spawnp (pid, nbdkit, &actions, &attr, argv, environ);
  posix_spawn_file_actions_destroy (&actions);
out_attr:
  posix_spawnattr_destroy (&attr);
out:
  free (file_arg);
  return r;
}

int
member_child_start (const char *path, bool read_only, struct member_child *ret,
                    struct uraid_error *e)
{
  struct plumbing p;
  pid_t pid;
  int r;

  r = member_child_check_path (path, e);
  if (r < 0)
    return r;
  r = plumbing_open (&p);
  if (r < 0)
    return uraid_error_set (e, -r, "%s: cannot make a socket pair: %s", path,
                            strerror (-r));
  r = spawn_nbdkit (path, read_only, &p, &pid);
  if (r != 0) {
    plumbing_close (&p);
    return uraid_error_set (e, r,
                            "%s: cannot start \"nbdkit -s file\" for this "
                            "member: %s; nbdkit must be in PATH",
                            path, strerror (r));
  }
  ret->pid = pid;
  ret->sock_fd = p.sock[0];
  ret->stderr_fd = p.err[0];
  p.sock[0] = p.err[0] = -1;
  plumbing_close (&p);
  return 0;
}

void
member_child_last_words (int stderr_fd, char *text, size_t text_bytes)
{
  ssize_t n;
  size_t i;

  text[0] = '\0';
  if (stderr_fd < 0)
    return;
  n = read (stderr_fd, text, text_bytes - 1);
  if (n <= 0)
    return;
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
    n--;
  text[n] = '\0';
  for (i = 0; text[i] != '\0'; i++)
    if ((unsigned char)text[i] < ' ')
      text[i] = ' ';
}

void
member_child_reap (pid_t pid, unsigned grace_ms)
{
  const struct timespec step = {.tv_nsec = REAP_STEP_MS * 1000000L};
  unsigned waited_ms;
  pid_t r;

  if (pid <= 0)
    return;
  for (waited_ms = 0;; waited_ms += REAP_STEP_MS) {
    r = waitpid (pid, NULL, WNOHANG);
    if (r == pid || (r == -1 && errno != EINTR))
      return; /* gone, or ECHILD: not ours to wait for or to kill */
    if (waited_ms >= grace_ms)
      break;
    nanosleep (&step, NULL);
  }
  kill (pid, SIGKILL);
  while (waitpid (pid, NULL, 0) == -1 && errno == EINTR)
    ;
}
