/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Lanes against real nbdkit servers: verified data from several threads,
 * FUA, server errors, deaths, silence, stopping.  Run a part alone:
 * CK_RUN_CASE=faults ./test-lane
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include "lib/member/sync_io.h"
#include "member-util.h"

#define STRICT_SERVER                                                         \
  "--filter=blocksize-policy memory 8M blocksize-minimum=4096 "               \
  "blocksize-preferred=4096 blocksize-maximum=64K "                           \
  "blocksize-error-policy=error"

/*----- Lanes: data -----*/

#define NR_MEMBERS 3
#define NR_THREADS 4
#define REGION (2 * MB) /* of each thread on each member */
#define ROUNDS 220
#define MOST_AT_ONCE 8

struct worker {
  struct lanes *ls;
  struct member **ms;
  unsigned char *model[NR_MEMBERS]; /* of its region */
  uint64_t region_start;
  unsigned seed;
};

/* One command for each of N disjoint pieces of the region. */
static void
worker_round (struct worker *w, unsigned n)
{
  struct member_cmd cmds[MOST_AT_ONCE];
  unsigned char *buf[MOST_AT_ONCE];
  const unsigned char *expected[MOST_AT_ONCE];
  struct batch b = BATCH_INIT;
  uint64_t slice = REGION / n;
  unsigned i;

  for (i = 0; i < n; i++) {
    unsigned d = rnd (&w->seed) % NR_MEMBERS, op = rnd (&w->seed) % 8;
    uint64_t align = w->ms[d]->min_block;
    uint64_t start = (i * slice + align - 1) / align * align;
    uint64_t most = ((i + 1) * slice - start) / align;
    uint64_t len =
        align * (1 + rnd (&w->seed) % (rnd (&w->seed) % 8 == 0 ? most : 8));
    unsigned char *model = w->model[d] + start;
    enum member_op what = op < 3   ? MEMBER_READ
                          : op < 6 ? MEMBER_WRITE
                          : op < 7 ? MEMBER_ZERO
                                   : MEMBER_FLUSH;

    buf[i] = malloc (len);
    expected[i] = what == MEMBER_READ ? model : NULL;
    if (what == MEMBER_WRITE) {
      fill_random (model, len, &w->seed);
      memcpy (buf[i], model, len);
    }
    if (what == MEMBER_ZERO)
      memset (model, 0, len);
    cmds[i] = cmd_make (w->ms[d], what, buf[i], what == MEMBER_FLUSH ? 0 : len,
                        w->region_start + start,
                        rnd (&w->seed) % 4 == 0
                            ? MEMBER_CMD_FUA
                            : rnd (&w->seed) % 2 * MEMBER_CMD_MAY_TRIM);
  }
  batch_submit (&b, lanes_pick (w->ls), cmds, n);
  batch_wait (&b);
  for (i = 0; i < n; i++) {
    ck_assert_int_eq (cmds[i].err, 0);
    if (expected[i] != NULL)
      ck_assert_int_eq (memcmp (buf[i], expected[i], cmds[i].len), 0);
    free (buf[i]);
  }
}

static void *
worker_main (void *arg)
{
  struct worker *w = arg;
  unsigned i;

  for (i = 0; i < ROUNDS; i++)
    worker_round (w, 1 + rnd (&w->seed) % MOST_AT_ONCE);
  return NULL;
}

static void
hammer (struct member **ms, unsigned nr_lanes)
{
  struct worker w[NR_THREADS];
  pthread_t threads[NR_THREADS];
  struct lanes *ls = start_lanes (ms, NR_MEMBERS, nr_lanes);
  unsigned i, d;

  ck_assert_uint_eq (lanes_count (ls), nr_lanes);
  for (i = 0; i < NR_THREADS; i++) {
    w[i] = (struct worker){.ls = ls,
                           .ms = ms,
                           .region_start = i * (uint64_t)REGION,
                           .seed = 77 + i};
    for (d = 0; d < NR_MEMBERS; d++)
      w[i].model[d] = calloc (1, REGION);
    pthread_create (&threads[i], NULL, worker_main, &w[i]);
  }
  for (i = 0; i < NR_THREADS; i++)
    pthread_join (threads[i], NULL);
  ck_assert_uint_eq (atomic_load (&lost_calls), 0);
  lanes_free (ls);
  /* All of it once more by the other way. */
  for (i = 0; i < NR_THREADS; i++)
    for (d = 0; d < NR_MEMBERS; d++) {
      unsigned char *buf = malloc (REGION);

      ck_assert_int_eq (
          member_pread (ms[d], buf, REGION, w[i].region_start, &err), 0);
      ck_assert_int_eq (memcmp (buf, w[i].model[d], REGION), 0);
      free (buf);
      free (w[i].model[d]);
    }
}

/* So small that hardly a request goes out in one piece. */
static void
shrink_buffers (struct member *m)
{
  int bytes = 4608;
  unsigned i;

  for (i = 0; i < m->nr_conns; i++)
    ck_assert_int_eq (setsockopt (nbd_aio_get_fd (m->conn[i]), SOL_SOCKET,
                                  SO_SNDBUF, &bytes, sizeof bytes),
                      0);
}

/* _i: one lane, two lanes, two lanes and small buffers. */
START_TEST (test_lane_data)
{
  struct member_options opt = default_options;
  unsigned fds = count_fds (), nr_lanes = _i == 0 ? 1 : 2, i;
  struct member *ms[NR_MEMBERS];
  char args[200];

  opt.connections = 2;
  snprintf (args, sizeof args, "%s", STRICT_SERVER);
  start_server (args);
  start_server ("--filter=nozero --filter=fua memory 8M zeromode=none");
  snprintf (args, sizeof args, "%s/disk", test_dir);
  make_file (args, 8 * MB);
  ms[0] = connected_member (servers[0].uri, &opt);
  ms[1] = connected_member (servers[1].uri, &opt);
  ms[2] = connected_member (args, &opt);
  ck_assert_uint_eq (ms[0]->min_block, 4096);
  ck_assert_uint_eq (ms[0]->max_block, 65536);
  if (_i == 2)
    for (i = 0; i < NR_MEMBERS; i++)
      shrink_buffers (ms[i]);
  hammer (ms, nr_lanes);
  for (i = 0; i < NR_MEMBERS; i++)
    member_free (ms[i]);
  ck_assert_uint_eq (count_fds (), fds);
}
END_TEST

START_TEST (test_lane_tls)
{
  struct member *ms[NR_MEMBERS];
  struct nbd_handle *h = nbd_create ();
  char path[128], uri[300];
  unsigned i;
  FILE *f;

  if (!nbd_supports_tls (h)) {
    nbd_close (h);
    return;
  }
  nbd_close (h);
  snprintf (path, sizeof path, "%s/psk", test_dir);
  f = fopen (path, "w");
  fprintf (f, "u:00112233445566778899aabbccddeeff"
              "00112233445566778899aabbccddeeff\n");
  fclose (f);
  for (i = 0; i < NR_MEMBERS; i++) {
    struct server *s = start_server ("--tls=require --tls-psk=@/psk "
                                     "memory 8M");

    snprintf (uri, sizeof uri, "nbds+unix://u@/?socket=%s&tls-psk-file=%s",
              s->socket, path);
    ms[i] = connected_member (uri, NULL);
    ck_assert_int_eq (nbd_get_tls_negotiated (ms[i]->conn[0]), 1);
  }
  hammer (ms, 1);
  for (i = 0; i < NR_MEMBERS; i++)
    member_free (ms[i]);
}
END_TEST

START_TEST (test_lane_split)
{
  struct member *m = connected_member (
      start_server ("--filter=log --filter=blocksize-policy memory 64M "
                    "logfile=@/log blocksize-minimum=4096 "
                    "blocksize-preferred=4096 blocksize-maximum=64K "
                    "blocksize-error-policy=error")
          ->uri,
      NULL);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct lane *l = lanes_get (ls, 0);
  unsigned char *buf = malloc (4 * MB), *back = malloc (4 * MB);
  unsigned seed = 3;

  fill_random (buf, 4 * MB, &seed);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_WRITE, buf, 4 * MB, 4096, 0, NULL),
                    0);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_READ, back, 4 * MB, 4096, 0, NULL),
                    0);
  ck_assert_int_eq (memcmp (buf, back, 4 * MB), 0);
  ck_assert_uint_eq (atomic_load (&m->reads), 64);
  ck_assert_uint_eq (atomic_load (&m->writes), 64);
  ck_assert_uint_eq (atomic_load (&m->read_bytes), 4 * MB);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_ZERO, NULL, 64 * MB, 0, 0, NULL), 0);
  /* Out of bounds and unaligned: refused, the connection stays. */
  ck_assert_int_ne (run_cmd (l, m, MEMBER_READ, buf, 4096, 64 * MB, 0, NULL),
                    0);
  ck_assert_int_ne (run_cmd (l, m, MEMBER_READ, buf, 4096, 512, 0, NULL), 0);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_READ, buf, 0, 0, 0, NULL), 0);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_READ, buf, 4096, 0, 0, NULL), 0);
  ck_assert_uint_eq (log_lines (" Zero id="), 2);
  ck_assert_uint_eq (log_lines (" Read id="), 65);
  lanes_free (ls);
  member_free (m);
  free (buf);
  free (back);
}
END_TEST

START_TEST (test_lane_fua)
{
  char buf[4096] = {0};
  struct member *m;
  struct lanes *ls;
  struct lane *l;
  unsigned i;

  m = connected_member (start_server ("--filter=log --filter=fua memory 1M "
                                      "logfile=@/log")
                            ->uri,
                        NULL);
  ck_assert (!m->can_fua && m->can_flush);
  ls = start_lanes (&m, 1, 1);
  l = lanes_get (ls, 0);
  run_cmd (l, m, MEMBER_WRITE, buf, 4096, 0, 0, NULL);
  ck_assert_uint_eq (log_lines (" Flush id="), 0);
  for (i = 0; i < 3; i++)
    ck_assert_int_eq (
        run_cmd (l, m, MEMBER_WRITE, buf, 4096, 0, MEMBER_CMD_FUA, NULL), 0);
  ck_assert_int_eq (
      run_cmd (l, m, MEMBER_ZERO, NULL, 4096, 0, MEMBER_CMD_FUA, NULL), 0);
  ck_assert_uint_eq (log_lines (" Flush id="), 4);
  ck_assert_uint_eq (log_lines (" fua=1"), 0);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_FLUSH, NULL, 0, 0, 0, NULL), 0);
  ck_assert_uint_eq (log_lines (" Flush id="), 5);
  lanes_free (ls);
  member_free (m);

  m = connected_member (
      start_server ("--filter=log memory 1M logfile=@/log")->uri, NULL);
  ls = start_lanes (&m, 1, 1);
  l = lanes_get (ls, 0);
  ck_assert_int_eq (
      run_cmd (l, m, MEMBER_WRITE, buf, 4096, 0, MEMBER_CMD_FUA, NULL), 0);
  ck_assert_uint_eq (log_lines (" fua=1"), 1);
  ck_assert_uint_eq (log_lines (" Flush id="), 0);
  lanes_free (ls);
  member_free (m);
}
END_TEST

/* done() submits the next command from the lane's own thread. */
struct chain {
  struct member_cmd cmd; /* first */
  struct lane *lane;
  struct batch b;
  unsigned left;
};

static void
chain_done (struct member_cmd *cmd)
{
  struct chain *c = (struct chain *)cmd;

  ck_assert (lane_is_current (c->lane));
  ck_assert_int_eq (cmd->err, 0);
  if (--c->left == 0) {
    cmd->user = &c->b;
    batch_done (cmd);
    return;
  }
  cmd->offset = (cmd->offset + 4096) % MB;
  lane_submit (c->lane, cmd);
}

struct posted {
  struct lane_work w; /* first */
  struct lane *lane;
  struct chain *chain;
  atomic_bool ran;
};

static void
posted_fn (struct lane_work *w)
{
  struct posted *p = (struct posted *)w;

  ck_assert (lane_is_current (p->lane));
  lane_submit (p->lane, &p->chain->cmd);
  atomic_store (&p->ran, true);
}

START_TEST (test_lane_chain)
{
  struct member *m = connected_member (start_server ("memory 1M")->uri, NULL);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct chain c = {.lane = lanes_get (ls, 0), .b = BATCH_INIT, .left = 3000};
  struct posted p = {.w.fn = posted_fn, .lane = c.lane, .chain = &c};
  char buf[4096];

  c.cmd = cmd_make (m, MEMBER_READ, buf, 4096, 0, 0);
  c.cmd.done = chain_done;
  c.b.left = 1;
  ck_assert (!lane_is_current (c.lane));
  lane_post (c.lane, &p.w);
  batch_wait (&c.b);
  ck_assert (atomic_load (&p.ran));
  ck_assert_uint_eq (atomic_load (&m->reads), 3000);
  lanes_free (ls);
  member_free (m);
}
END_TEST

/*----- Lanes: faults -----*/

START_TEST (test_lane_server_error)
{
  struct member *m =
      connected_member (start_server ("--filter=error memory 1M error=EIO "
                                      "error-rate=100% error-file=@/bad")
                            ->uri,
                        NULL);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct lane *l = lanes_get (ls, 0);
  char buf[4096], trigger[128];
  bool lost = true;

  snprintf (trigger, sizeof trigger, "%s/bad", test_dir);
  make_file (trigger, 0);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_READ, buf, 4096, 0, 0, &lost), EIO);
  ck_assert (!lost);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_WRITE, buf, 4096, 0, 0, &lost), EIO);
  ck_assert (!lost);
  ck_assert_uint_eq (atomic_load (&m->errors), 2);
  unlink (trigger);
  ck_assert_int_eq (run_cmd (l, m, MEMBER_READ, buf, 4096, 0, 0, NULL), 0);
  ck_assert_int_eq (atomic_load (&m->state), MEMBER_CONNECTED);
  ck_assert_uint_eq (atomic_load (&lost_calls), 0);
  lanes_free (ls);
  member_free (m);
}
END_TEST

#define NR_INFLIGHT 40

static void
submit_reads (struct batch *b, struct lane *l, struct member *m,
              struct member_cmd *cmds, char *buf)
{
  unsigned i;

  for (i = 0; i < NR_INFLIGHT; i++)
    cmds[i] = cmd_make (m, MEMBER_READ, buf + i * 512, 512, i * 512, 0);
  batch_submit (b, l, cmds, NR_INFLIGHT);
}

static void
expect_all_lost (struct batch *b, const struct member_cmd *cmds)
{
  unsigned i;

  batch_wait (b);
  ck_assert_uint_eq (b->done_calls, NR_INFLIGHT);
  for (i = 0; i < NR_INFLIGHT; i++) {
    ck_assert_int_eq (cmds[i].err, ENOTCONN);
    ck_assert (cmds[i].lost);
  }
}

/* Two lanes, two members.  Kill one member's server with commands in flight
 * on one lane: they and all later ones on both lanes are lost, and the other
 * member does not notice.
 */
START_TEST (test_lane_killed)
{
  struct member_options opt = default_options;
  unsigned fds = count_fds ();
  struct member_cmd cmds[NR_INFLIGHT];
  struct batch b = BATCH_INIT;
  struct member *ms[2];
  struct lanes *ls;
  static char buf[NR_INFLIGHT * 512];
  bool lost = false;

  opt.connections = 2;
  ms[0] = connected_member (
      start_server ("--filter=delay memory 1M rdelay=20")->uri, &opt);
  ms[1] = connected_member (start_server ("memory 1M")->uri, &opt);
  ls = start_lanes (ms, 2, 2);
  submit_reads (&b, lanes_get (ls, 0), ms[0], cmds, buf);
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), ms[1], MEMBER_READ, buf, 512, 0, 0, NULL),
      0);
  end_server (&servers[0], SIGKILL);
  expect_all_lost (&b, cmds);
  wait_lost_calls (1);
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 1), ms[0], MEMBER_READ, buf, 512, 0, 0, &lost),
      ENOTCONN);
  ck_assert (lost);
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), ms[0], MEMBER_FLUSH, NULL, 0, 0, 0, &lost),
      ENOTCONN);
  ck_assert (lost);
  ck_assert_ptr_nonnull (strstr (ms[0]->error.text, servers[0].uri));

  /* The other one dies idle. */
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 1), ms[1], MEMBER_READ, buf, 512, 0, 0, NULL),
      0);
  end_server (&servers[1], SIGKILL);
  wait_lost_calls (2);
  usleep (50000);
  ck_assert_uint_eq (atomic_load (&lost_calls), 2);
  lanes_free (ls);
  member_free (ms[0]);
  member_free (ms[1]);
  ck_assert_uint_eq (count_fds (), fds);
}
END_TEST

START_TEST (test_lane_stopped_server)
{
  struct member_options opt = default_options;
  struct member_cmd cmds[NR_INFLIGHT];
  struct batch b = BATCH_INIT;
  struct member *m;
  struct lanes *ls;
  static char buf[NR_INFLIGHT * 512];
  double start;

  opt.request_timeout_ms = 1000;
  m = connected_member (start_server ("memory 1M")->uri, &opt);
  ls = start_lanes (&m, 1, 1);
  stop_server (&servers[0]);
  start = now_s ();
  submit_reads (&b, lanes_get (ls, 0), m, cmds, buf);
  expect_all_lost (&b, cmds);
  ck_assert_double_ge (now_s () - start, 0.95);
  ck_assert_double_lt (now_s () - start, 3.0);
  wait_lost_calls (1);
  ck_assert_ptr_nonnull (strstr (m->error.text, "no answer for"));
  ck_assert_ptr_nonnull (strstr (m->error.text, servers[0].uri));
  ck_assert_int_eq (m->error.err, ETIMEDOUT);
  kill (servers[0].pid, SIGCONT);
  lanes_free (ls);
  member_free (m);
}
END_TEST

START_TEST (test_lane_stop)
{
  struct member_options opt = default_options;
  struct member_cmd cmds[NR_INFLIGHT];
  struct batch b = BATCH_INIT;
  struct member *m;
  struct lanes *ls;
  static char buf[NR_INFLIGHT * 512];
  double start;
  unsigned i;

  /* What is in flight is finished. */
  m = connected_member (
      start_server ("--filter=delay memory 1M rdelay=300ms")->uri, NULL);
  ls = start_lanes (&m, 1, 1);
  submit_reads (&b, lanes_get (ls, 0), m, cmds, buf);
  lanes_stop (ls);
  lanes_stop (ls);
  ck_assert_uint_eq (b.done_calls, NR_INFLIGHT);
  for (i = 0; i < NR_INFLIGHT; i++)
    ck_assert_int_eq (cmds[i].err, 0);
  ck_assert_int_eq (member_pread (m, buf, 512, 0, &err), 0);
  /* Too late, but answered. */
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), m, MEMBER_READ, buf, 512, 0, 0, NULL),
      ENOTCONN);
  lanes_free (ls);
  member_free (m);

  /* It does not wait for ever. */
  opt.request_timeout_ms = 500;
  m = connected_member (start_server ("memory 1M")->uri, &opt);
  ls = start_lanes (&m, 1, 1);
  stop_server (&servers[1]);
  b.done_calls = 0;
  submit_reads (&b, lanes_get (ls, 0), m, cmds, buf);
  start = now_s ();
  lanes_free (ls);
  ck_assert_double_lt (now_s () - start, 4.0);
  expect_all_lost (&b, cmds);
  member_free (m);
}
END_TEST

START_TEST (test_lane_drop)
{
  struct member_options opt = default_options;
  struct member_cmd cmds[NR_INFLIGHT];
  struct batch b = BATCH_INIT;
  struct member *ms[2];
  struct lanes *ls;
  static char buf[NR_INFLIGHT * 512];

  opt.connections = 2;
  ms[0] = connected_member (
      start_server ("--filter=delay memory 1M rdelay=20")->uri, &opt);
  /* One that never was there. */
  ms[1] = make_member (new_server ()->uri, &opt);
  ck_assert_uint_eq (member_connect_all (ms, 2, 0), 1);
  ls = start_lanes (ms, 2, 2);
  ck_assert_uint_eq (lanes_count (ls), 2);
  submit_reads (&b, lanes_get (ls, 1), ms[0], cmds, buf);
  lanes_drop_member (ls, ms[0], "told to");
  expect_all_lost (&b, cmds);
  wait_lost_calls (1);
  ck_assert_ptr_nonnull (strstr (ms[0]->error.text, "told to"));
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), ms[1], MEMBER_READ, buf, 512, 0, 0, NULL),
      ENOTCONN);
  ck_assert_uint_eq (atomic_load (&lost_calls), 1);
  lanes_free (ls);
  member_free (ms[0]);
  member_free (ms[1]);
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("lane");
  TCase *tc = tcase_create ("data");

  tcase_set_timeout (tc, 120);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, test_lane_data, 0, 3);
  tcase_add_test (tc, test_lane_tls);
  tcase_add_test (tc, test_lane_split);
  tcase_add_test (tc, test_lane_fua);
  tcase_add_test (tc, test_lane_chain);
  suite_add_tcase (s, tc);

  tc = tcase_create ("faults");
  tcase_set_timeout (tc, 120);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_lane_server_error);
  tcase_add_test (tc, test_lane_killed);
  tcase_add_test (tc, test_lane_stopped_server);
  tcase_add_test (tc, test_lane_stop);
  tcase_add_test (tc, test_lane_drop);
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
