/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Servers, members and batches of commands for the tests of lib/member (see
 * the header).  Everything belongs to the test's main thread, but for the
 * batches, which have a lock of their own.
 */
#include <config.h>

#include "member-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

char test_dir[64];
struct server servers[MAX_SERVERS];
struct uraid_error err;

static unsigned nr_servers;

/*----- Servers and members -----*/

static int
remove_one (const char *path, const struct stat *st, int flag, struct FTW *f)
{
  (void)st;
  (void)flag;
  (void)f;
  return remove (path);
}

void
setup (void)
{
  const char *tmp = getenv ("TMPDIR");

  snprintf (test_dir, sizeof test_dir, "%s/memberXXXXXX",
            tmp != NULL && strlen (tmp) < 40 ? tmp : "/tmp");
  ck_assert_ptr_nonnull (mkdtemp (test_dir));
}

void
end_server (struct server *s, int sig)
{
  if (s->pid <= 0)
    return;
  kill (s->pid, sig);
  waitpid (s->pid, NULL, 0);
  s->pid = 0;
}

void
stop_server (const struct server *s)
{
  int status;

  kill (s->pid, SIGSTOP);
  ck_assert_int_eq (waitpid (s->pid, &status, WUNTRACED), s->pid);
  ck_assert (WIFSTOPPED (status));
}

void
teardown (void)
{
  unsigned i;

  for (i = 0; i < nr_servers; i++)
    end_server (&servers[i], SIGKILL);
  nftw (test_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct server *
new_server (void)
{
  struct server *s = &servers[nr_servers];

  ck_assert_uint_lt (nr_servers, MAX_SERVERS);
  snprintf (s->socket, sizeof s->socket, "%s/s%u", test_dir, nr_servers);
  snprintf (s->uri, sizeof s->uri, "nbd+unix:///?socket=%s/s%u", test_dir,
            nr_servers);
  nr_servers++;
  return s;
}

void
spawn_server (struct server *s, const char *args)
{
  char words[1024], *argv[32], *word, *save = NULL;
  int n = 0;
  size_t len = 0;

  for (; *args != '\0'; args++) {
    char one[2] = {*args, '\0'};

    len += (size_t)snprintf (words + len, sizeof words - len, "%s",
                             *args == '@' ? test_dir : one);
  }
  argv[n++] = (char *)"nbdkit";
  argv[n++] = (char *)"-f";
  argv[n++] = (char *)"--exit-with-parent";
  argv[n++] = (char *)"-U";
  argv[n++] = s->socket;
  for (word = strtok_r (words, " ", &save); word != NULL;
       word = strtok_r (NULL, " ", &save))
    argv[n++] = word;
  argv[n] = NULL;
  s->pid = fork ();
  ck_assert_int_ge (s->pid, 0);
  if (s->pid == 0) {
    int null = open ("/dev/null", O_RDWR);

    dup2 (null, STDERR_FILENO); /* injected errors are chatty */
    execvp (argv[0], argv);
    _exit (127);
  }
}

struct server *
start_server (const char *args)
{
  const struct timespec step = {.tv_nsec = 5000000};
  struct server *s = new_server ();
  int i;

  spawn_server (s, args);
  for (i = 0; i < 2000 && access (s->socket, F_OK) == -1; i++)
    nanosleep (&step, NULL);
  return s;
}

const struct member_options default_options = {
    .open_timeout_ms = 10000,
    .request_timeout_ms = 30000,
    .connections = 1,
    .tls = -1,
};

struct member *
make_member (const char *address, const struct member_options *opt)
{
  struct member *m = NULL;
  int r = member_new (address, opt != NULL ? opt : &default_options, &m, &err);

  ck_assert_msg (r == 0, "%s: %s", address, err.text);
  return m;
}

struct member *
connected_member (const char *address, const struct member_options *opt)
{
  struct member *m = make_member (address, opt);

  ck_assert_msg (member_connect_all (&m, 1, 5000) == 1, "%s", m->error.text);
  return m;
}

double
now_s (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

unsigned
count_fds (void)
{
  DIR *d = opendir ("/proc/self/fd");
  unsigned n = 0;

  while (readdir (d) != NULL)
    n++;
  closedir (d);
  return n;
}

unsigned
rnd (unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

void
fill_random (unsigned char *p, size_t n, unsigned *state)
{
  while (n-- > 0)
    *p++ = (unsigned char)rnd (state);
}

unsigned
log_lines (const char *word)
{
  char path[128], line[512];
  unsigned n = 0;
  FILE *f;

  snprintf (path, sizeof path, "%s/log", test_dir);
  f = fopen (path, "r");
  ck_assert_ptr_nonnull (f);
  while (fgets (line, sizeof line, f) != NULL)
    if (strstr (line, word) != NULL)
      n++;
  fclose (f);
  return n;
}

void
make_file (const char *path, off_t size_bytes)
{
  int fd = open (path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

  ck_assert_int_eq (ftruncate (fd, size_bytes), 0);
  close (fd);
}

/*----- Commands: wait for a set of them -----*/

void
batch_done (struct member_cmd *cmd)
{
  struct batch *b = cmd->user;

  pthread_mutex_lock (&b->lock);
  b->done_calls++;
  b->left--;
  if (b->left == 0)
    pthread_cond_signal (&b->cond);
  pthread_mutex_unlock (&b->lock);
}

void
batch_submit (struct batch *b, struct lane *l, struct member_cmd *cmds,
              unsigned n)
{
  unsigned i;

  pthread_mutex_lock (&b->lock);
  b->left += n;
  pthread_mutex_unlock (&b->lock);
  for (i = 0; i < n; i++) {
    cmds[i].user = b;
    cmds[i].done = batch_done;
    cmds[i].next = i + 1 < n ? &cmds[i + 1] : NULL;
  }
  lane_submit (l, cmds);
}

void
batch_wait (struct batch *b)
{
  pthread_mutex_lock (&b->lock);
  while (b->left > 0)
    pthread_cond_wait (&b->cond, &b->lock);
  pthread_mutex_unlock (&b->lock);
}

struct member_cmd
cmd_make (struct member *m, enum member_op op, void *buf, uint64_t len,
          uint64_t offset, unsigned flags)
{
  return (struct member_cmd){.member = m,
                             .op = op,
                             .buf = buf,
                             .len = len,
                             .offset = offset,
                             .flags = flags};
}

int
run_cmd (struct lane *l, struct member *m, enum member_op op, void *buf,
         uint64_t len, uint64_t offset, unsigned flags, bool *lost)
{
  struct batch b = BATCH_INIT;
  struct member_cmd cmd = cmd_make (m, op, buf, len, offset, flags);

  batch_submit (&b, l, &cmd, 1);
  batch_wait (&b);
  ck_assert_uint_eq (b.done_calls, 1);
  ck_assert (cmd.err != 0 || !cmd.lost);
  if (lost != NULL)
    *lost = cmd.lost;
  return cmd.err;
}

atomic_uint lost_calls;

static void
on_lost (void *user, struct member *m)
{
  (void)user;
  ck_assert_int_eq (atomic_load (&m->state), MEMBER_LOST);
  ck_assert_str_ne (m->error.text, "");
  atomic_fetch_add (&lost_calls, 1);
}

void
wait_lost_calls (unsigned wanted)
{
  const struct timespec step = {.tv_nsec = 2000000};
  int i;

  for (i = 0; i < 2500 && atomic_load (&lost_calls) < wanted; i++)
    nanosleep (&step, NULL);
  ck_assert_uint_eq (atomic_load (&lost_calls), wanted);
}

struct lanes *
start_lanes (struct member **ms, size_t n, unsigned wanted)
{
  struct lanes *ls = NULL;

  ck_assert_int_eq (lanes_new (ms, n, wanted, on_lost, NULL, &ls, &err), 0);
  ck_assert_int_eq (lanes_start (ls, &err), 0);
  return ls;
}
