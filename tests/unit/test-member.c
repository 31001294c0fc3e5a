/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Addresses, states, connecting, private servers and blocking I/O of members
 * (lib/member but for the lanes), against real nbdkit servers.  Run a part
 * alone: CK_RUN_CASE=connect ./test-member
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include "lib/member/sync_io.h"
#include "member-util.h"

/*----- Addresses and states -----*/

START_TEST (test_addresses)
{
  static const char *const good[] = {
      "nbd://localhost",
      "nbd://localhost:10810/disk0",
      "nbd://[::1]:10809/",
      "nbds://user@host/x?tls-psk-file=/keys",
      "nbd+unix:///?socket=/run/m0",
      "nbd+unix:///exp?a=b&socket=/run/m0",
      "nbds+unix://user@/exp?socket=/run/m0",
      "nbd+vsock://2:10809/",
      "nbds+vsock://2/",
      "/nonexistent/disk",
      "relative/disk.img",
      "./with:colon",
      "/a=b",
  };
  static const struct {
    const char *address, *text;
  } bad[] = {
      {"", "empty"},
      {"http://host/", "not understood"},
      {"nbd:localhost:10809:exportname=x", "not understood"},
      {"localhost:10809", "not understood"},
      {"nbd+ssh://host/", "not understood"},
      {"nbd+unix:///exp", "socket is missing"},
      {"nbd+unix:///exp?socket=", "socket is missing"},
      {"nbd+unix:///exp?xsocket=/a", "socket is missing"},
      {"nbd+unix://host/exp?socket=/a", "no host name"},
      {"nbd://user:secret@host/", "no passwords"},
      {"nbd://host/a\nb", "control character"},
      {"/tmp", "directory"},
      {"/dev/null", "character device"},
  };
  struct member *m;
  size_t i;

  for (i = 0; i < sizeof good / sizeof good[0]; i++) {
    m = make_member (good[i], NULL);
    ck_assert_str_eq (m->address, good[i]);
    ck_assert ((m->path == NULL) == (strncmp (good[i], "nbd", 3) == 0));
    ck_assert (m->path == NULL || m->path[0] == '/');
    member_free (m);
  }
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    m = NULL;
    ck_assert_int_eq (member_new (bad[i].address, &default_options, &m, &err),
                      -EINVAL);
    ck_assert_msg (strstr (err.text, bad[i].text) != NULL, "%s: %s",
                   bad[i].address, err.text);
    ck_assert_ptr_null (strstr (err.text, "secret"));
    ck_assert_ptr_null (m);
  }
  member_free (NULL);
}
END_TEST

static const struct {
  enum member_state from, to;
} legal[] = {
    {MEMBER_NEW, MEMBER_CONNECTING},       {MEMBER_NEW, MEMBER_CLOSED},
    {MEMBER_CONNECTING, MEMBER_CONNECTED}, {MEMBER_CONNECTING, MEMBER_REFUSED},
    {MEMBER_REFUSED, MEMBER_CONNECTING},   {MEMBER_REFUSED, MEMBER_CLOSED},
    {MEMBER_CONNECTED, MEMBER_LOST},       {MEMBER_CONNECTED, MEMBER_CLOSED},
    {MEMBER_LOST, MEMBER_CONNECTING},      {MEMBER_LOST, MEMBER_CLOSED},
};

START_TEST (test_states)
{
  struct member m = {0};
  unsigned from, to;
  size_t i;

  for (from = MEMBER_NEW; from <= MEMBER_CLOSED; from++)
    for (to = MEMBER_NEW; to <= MEMBER_CLOSED; to++) {
      bool expected = false;

      for (i = 0; i < sizeof legal / sizeof legal[0]; i++)
        expected = expected || (legal[i].from == from && legal[i].to == to);
      ck_assert_msg (member_state_legal (from, to) == expected, "%s -> %s",
                     member_state_name (from), member_state_name (to));
      if (!expected)
        continue;
      atomic_store (&m.state, from);
      member_set_state (&m, to);
      ck_assert_int_eq (atomic_load (&m.state), to);
    }
}
END_TEST

START_TEST (test_illegal_step)
{
  struct member m = {0};

  if (freopen ("/dev/null", "w", stderr) == NULL)
    ck_abort ();
  member_set_state (&m, MEMBER_CONNECTED); /* SIGABRT */
}
END_TEST

/*----- Connecting -----*/

/* A server that accepts in the kernel and never says a word. */
static int
mute_listener (struct server *s)
{
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  memcpy (a.sun_path, s->socket, sizeof a.sun_path);
  ck_assert_int_eq (bind (fd, (struct sockaddr *)&a, sizeof a), 0);
  ck_assert_int_eq (listen (fd, 5), 0);
  return fd;
}

START_TEST (test_connect_parallel)
{
  struct member_options opt = default_options;
  struct server *mute, *gone;
  struct member *ms[5];
  unsigned fds, i;
  int listener;
  double start;

  for (i = 0; i < 3; i++)
    start_server ("--filter=delay memory 1M delay-open=300ms");
  mute = new_server ();
  gone = new_server ();
  listener = mute_listener (mute);
  fds = count_fds ();
  opt.open_timeout_ms = 1500;
  for (i = 0; i < 5; i++)
    ms[i] = make_member (servers[i].uri, &opt);
  start = now_s ();
  ck_assert_uint_eq (member_connect_all (ms, 5, 0), 3);
  ck_assert_double_lt (now_s () - start, 2.5);
  for (i = 0; i < 5; i++)
    ck_assert_int_eq (atomic_load (&ms[i]->state),
                      i < 3 ? MEMBER_CONNECTED : MEMBER_REFUSED);
  ck_assert_ptr_nonnull (strstr (ms[3]->error.text, "open-timeout"));
  ck_assert_ptr_nonnull (strstr (ms[3]->error.text, mute->uri));
  ck_assert_int_eq (ms[3]->error.err, ETIMEDOUT);
  ck_assert_ptr_nonnull (strstr (ms[4]->error.text, gone->socket));

  /* Again: the connected ones stay, one comes up meanwhile. */
  spawn_server (gone, "memory 1M");
  ck_assert_uint_eq (member_connect_all (&ms[4], 1, 5000), 1);
  ck_assert_uint_eq (member_connect_all (ms, 5, 300), 4);
  ck_assert_str_eq (ms[4]->error.text, "");
  for (i = 0; i < 5; i++)
    member_free (ms[i]);
  ck_assert_uint_eq (count_fds (), fds);
  close (listener);
}
END_TEST

static void *
start_late (void *arg)
{
  const struct timespec pause = {.tv_nsec = 700000000};

  nanosleep (&pause, NULL);
  ck_assert_int_eq (rename (arg, servers[0].socket), 0);
  return NULL;
}

START_TEST (test_connect_retry)
{
  struct server *s = start_server ("memory 1M");
  struct member *m = make_member (s->uri, NULL);
  char hidden[128];
  pthread_t thread;

  snprintf (hidden, sizeof hidden, "%s/hidden", test_dir);
  ck_assert_int_eq (rename (s->socket, hidden), 0);
  ck_assert_int_eq (pthread_create (&thread, NULL, start_late, hidden), 0);
  ck_assert_uint_eq (member_connect_all (&m, 1, 10000), 1);
  pthread_join (thread, NULL);
  member_free (m);
}
END_TEST

START_TEST (test_capabilities)
{
  struct member_options opt = default_options;
  struct member *m;

  m = connected_member (start_server ("memory 1M")->uri, NULL);
  ck_assert_uint_eq (m->size_bytes, MB);
  ck_assert (m->can_flush && m->can_fua && m->can_zero && m->can_trim);
  ck_assert (!m->read_only && m->can_multi_conn);
  ck_assert_uint_eq (m->min_block, 512);
  ck_assert_uint_eq (m->max_block, 32 * MB);
  ck_assert_uint_eq (m->nr_conns, 1);
  member_free (m);

  m = connected_member (start_server ("-r --filter=fua memory 1M")->uri, NULL);
  ck_assert (m->read_only && !m->can_fua);
  ck_assert_int_eq (member_pwrite (m, "x", 1, 0, &err), -EROFS);
  member_free (m);

  opt.connections = 4;
  m = connected_member (servers[0].uri, &opt);
  ck_assert_uint_eq (m->nr_conns, 4);
  member_free (m);
  m = connected_member (start_server ("--filter=multi-conn memory 1M "
                                      "multi-conn-mode=disable")
                            ->uri,
                        &opt);
  ck_assert_uint_eq (m->nr_conns, 1);
  member_free (m);

  m = make_member (start_server ("memory 0")->uri, NULL);
  ck_assert_uint_eq (member_connect_all (&m, 1, 5000), 0);
  ck_assert_ptr_nonnull (strstr (m->error.text, "size of 0 bytes"));
  member_free (m);
}
END_TEST

/*----- Blocking I/O -----*/

#define STRICT_SERVER                                                         \
  "--filter=blocksize-policy memory 8M blocksize-minimum=4096 "               \
  "blocksize-preferred=4096 blocksize-maximum=64K "                           \
  "blocksize-error-policy=error"

static void
sync_one_op (struct member *m, unsigned char *model, unsigned char *buf,
             unsigned *seed)
{
  size_t len = rnd (seed) % (rnd (seed) % 4 == 0 ? 300000 : 9000);
  size_t offset = rnd (seed) % (8 * MB - len + 1);
  int r = 0;

  switch (rnd (seed) % 4) {
  case 0:
    r = member_pread (m, buf, len, offset, &err);
    ck_assert_int_eq (memcmp (buf, model + offset, len), 0);
    break;
  case 1:
    fill_random (model + offset, len, seed);
    r = member_pwrite (m, model + offset, len, offset, &err);
    break;
  case 2:
    fill_random (model + offset, len, seed);
    r = member_pwrite_durable (m, model + offset, len, offset, &err);
    break;
  case 3:
    memset (model + offset, 0, len);
    r = member_pzero (m, len, offset, &err);
    break;
  }
  ck_assert_msg (r == 0, "%s", err.text);
}

static void
sync_random (const char *args)
{
  struct member *m = connected_member (start_server (args)->uri, NULL);
  unsigned char *model = calloc (8, MB), *buf = malloc (8 * MB);
  unsigned seed = 4711;
  int i;

  for (i = 0; i < 500; i++)
    sync_one_op (m, model, buf, &seed);
  ck_assert_int_eq (member_flush (m, &err), 0);
  ck_assert_int_eq (member_pread (m, buf, 8 * MB, 0, &err), 0);
  ck_assert_int_eq (memcmp (buf, model, 8 * MB), 0);
  ck_assert_int_eq (member_pread (m, buf, 2, 8 * MB - 1, &err), -EINVAL);
  member_free (m);
  free (model);
  free (buf);
}

START_TEST (test_sync_io)
{
  sync_random (STRICT_SERVER);
  sync_random ("memory 8M");
  sync_random ("--filter=nozero --filter=fua memory 8M zeromode=none");
}
END_TEST

START_TEST (test_sync_errors)
{
  struct member_options opt = default_options;
  struct server *s;
  struct member *m;
  char buf[512], trigger[128];
  double start;

  snprintf (trigger, sizeof trigger, "%s/bad", test_dir);
  m = connected_member (start_server ("--filter=error memory 1M error=EIO "
                                      "error-rate=100% error-file=@/bad")
                            ->uri,
                        NULL);
  close (open (trigger, O_CREAT | O_WRONLY, 0600));
  ck_assert_int_eq (member_pread (m, buf, 512, 1024, &err), -EIO);
  ck_assert_ptr_nonnull (strstr (err.text, "read of 512 bytes at byte 1024"));
  unlink (trigger);
  ck_assert_int_eq (member_pread (m, buf, 512, 1024, &err), 0);
  end_server (&servers[0], SIGKILL);
  ck_assert_int_eq (member_pread (m, buf, 512, 0, &err), -ENOTCONN);
  ck_assert_int_eq (atomic_load (&m->state), MEMBER_LOST);
  ck_assert_int_eq (member_flush (m, &err), -ENOTCONN);
  member_free (m);

  opt.request_timeout_ms = 500;
  s = start_server ("memory 1M");
  m = connected_member (s->uri, &opt);
  stop_server (s);
  start = now_s ();
  ck_assert_int_eq (member_pread (m, buf, 512, 0, &err), -ETIMEDOUT);
  ck_assert_double_lt (now_s () - start, 2.0);
  ck_assert_ptr_nonnull (strstr (m->error.text, "request-timeout"));
  member_free (m);
}
END_TEST

/*----- Path members -----*/

START_TEST (test_path)
{
  struct member_options opt = default_options;
  unsigned fds = count_fds (), i;
  struct member *m;
  struct lanes *ls;
  char path[128], buf[4096], back[4096];

  snprintf (path, sizeof path, "%s/disk=a,b", test_dir);
  m = make_member (path, NULL);
  ck_assert_uint_eq (member_connect_all (&m, 1, 0), 0);
  ck_assert_ptr_nonnull (strstr (m->error.text, "No such file"));
  make_file (path, MB);
  ck_assert_uint_eq (member_connect_all (&m, 1, 0), 1);
  memset (buf, 'u', sizeof buf);
  ck_assert_int_eq (member_pwrite_durable (m, buf, 4096, 8192, &err), 0);
  member_free (m);

  opt.connections = 2;
  m = connected_member (path, &opt);
  ck_assert_uint_eq (m->nr_conns, 2);
  ls = start_lanes (&m, 1, 2);
  ck_assert_uint_eq (lanes_count (ls), 2);
  for (i = 0; i < 2; i++)
    ck_assert_int_eq (
        run_cmd (lanes_get (ls, i), m, MEMBER_READ, back, 4096, 8192, 0, NULL),
        0);
  ck_assert_int_eq (memcmp (buf, back, 4096), 0);
  /* Kill one private server: the whole member is lost. */
  kill (m->child[1], SIGKILL);
  wait_lost_calls (1);
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), m, MEMBER_FLUSH, NULL, 0, 0, 0, NULL),
      ENOTCONN);
  lanes_free (ls);
  member_free (m);

  opt.read_only = true;
  m = connected_member (path, &opt);
  ck_assert (m->read_only);
  member_free (m);
  ck_assert_int_eq (waitpid (-1, NULL, WNOHANG), -1); /* all reaped */
  ck_assert_uint_eq (count_fds (), fds);

  opt.connections = 17;
  ck_assert_int_eq (member_new (path, &opt, &m, &err), -EINVAL);
}
END_TEST

/* What a server that forks into the background does: the members must live
 * on, and end when the background process is killed.
 */
START_TEST (test_path_after_fork)
{
  char path[128], c = 0;
  struct member *m;
  int to_us[2];
  pid_t child, pid;

  snprintf (path, sizeof path, "%s/disk", test_dir);
  make_file (path, MB);
  ck_assert_int_eq (pipe (to_us), 0);
  pid = fork ();
  ck_assert_int_ge (pid, 0);
  if (pid == 0) {
    m = connected_member (path, NULL);
    if (fork () != 0)
      _exit (0);
    usleep (200000);
    c = member_pread (m, (char[512]){0}, 512, 0, &err) == 0 ? 'y' : 'n';
    if (write (to_us[1], &c, 1) != 1 ||
        write (to_us[1], &m->child[0], sizeof (pid_t)) != sizeof (pid_t))
      _exit (1);
    kill (getpid (), SIGKILL);
  }
  close (to_us[1]);
  waitpid (pid, NULL, 0);
  ck_assert_int_eq (read (to_us[0], &c, 1), 1);
  ck_assert_int_eq (c, 'y');
  ck_assert_int_eq (read (to_us[0], &child, sizeof child), sizeof child);
  for (int i = 0; i < 500 && kill (child, 0) == 0; i++) {
    char stat_path[64];
    FILE *f;
    char state = 'X';

    /* A zombie waits for an init that may not reap here. */
    snprintf (stat_path, sizeof stat_path, "/proc/%d/stat", (int)child);
    f = fopen (stat_path, "r");
    if (f != NULL && fscanf (f, "%*d %*s %c", &state) != 1)
      state = 'X';
    if (f != NULL)
      fclose (f);
    if (state == 'Z' || state == 'X')
      return;
    usleep (10000);
  }
  ck_assert_int_eq (kill (child, 0), -1);
  close (to_us[0]);
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("member");
  TCase *tc = tcase_create ("plain");

  tcase_add_test (tc, test_addresses);
  tcase_add_test (tc, test_states);
  tcase_add_test_raise_signal (tc, test_illegal_step, SIGABRT);
  suite_add_tcase (s, tc);

  tc = tcase_create ("connect");
  tcase_set_timeout (tc, 60);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_connect_parallel);
  tcase_add_test (tc, test_connect_retry);
  tcase_add_test (tc, test_capabilities);
  tcase_add_test (tc, test_sync_io);
  tcase_add_test (tc, test_sync_errors);
  tcase_add_test (tc, test_path);
  tcase_add_test (tc, test_path_after_fork);
  suite_add_tcase (s, tc);
  return s;
}

int
main (void)
{
  SRunner *r = srunner_create (make_suite ());
  int failed;

  srunner_run_all (r, CK_NORMAL);
  failed = srunner_ntests_failed (r);
  srunner_free (r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
