/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * How a lane spends requests: adjacent commands become one, several
 * connections are used when one is busy, queue-depth is kept.  All counted at
 * real nbdkit servers.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>

#include <check.h>

#include "lib/member/sync_io.h"
#include "member-util.h"

#define PIECE (16u << 10)
#define NR 8

/* NR commands of PIECE bytes; the i-th at AT[i] * PIECE, its buffer at
 * buf + i * 2 * PIECE (so that buffers are never adjacent).
 */
static void
run_pieces (struct lanes *ls, struct member *m, enum member_op op,
            unsigned char *buf, const unsigned *at, struct member_cmd *cmds)
{
  struct batch b = BATCH_INIT;

  for (unsigned i = 0; i < NR; i++)
    cmds[i] = cmd_make (m, op, buf + i * 2 * PIECE, PIECE,
                        (uint64_t)at[i] * PIECE, 0);
  batch_submit (&b, lanes_get (ls, 0), cmds, NR);
  batch_wait (&b);
}

/* Two groups of adjacent ones: 0..4 and 6..8. */
static const unsigned two_groups[NR] = {0, 1, 2, 3, 4, 6, 7, 8};

START_TEST (test_merge_data)
{
  struct member *m = connected_member (start_server ("memory 1M")->uri, NULL);
  unsigned char *buf = malloc (NR * 2 * PIECE), *back = malloc (MB);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct member_cmd cmds[NR];
  unsigned seed = 7;

  fill_random (buf, NR * 2 * PIECE, &seed);
  run_pieces (ls, m, MEMBER_WRITE, buf, two_groups, cmds);
  ck_assert_uint_eq (atomic_load (&m->writes), 2);
  ck_assert_uint_eq (atomic_load (&m->write_bytes), NR * PIECE);
  ck_assert_uint_eq (atomic_load (&m->merged), NR - 2);
  ck_assert_uint_eq (atomic_load (&m->merged_bytes), NR * PIECE);
  /* As one command, which nothing is merged with. */
  ck_assert_int_eq (
      run_cmd (lanes_get (ls, 0), m, MEMBER_READ, back, MB, 0, 0, NULL), 0);
  for (unsigned i = 0; i < NR; i++) {
    ck_assert_int_eq (cmds[i].err, 0);
    ck_assert_int_eq (
        memcmp (back + two_groups[i] * PIECE, buf + i * 2 * PIECE, PIECE), 0);
  }
  memset (buf, 0, NR * 2 * PIECE);
  run_pieces (ls, m, MEMBER_READ, buf, two_groups, cmds);
  ck_assert_uint_eq (atomic_load (&m->reads), 1 + 2);
  for (unsigned i = 0; i < NR; i++)
    ck_assert_int_eq (
        memcmp (back + two_groups[i] * PIECE, buf + i * 2 * PIECE, PIECE), 0);
  lanes_free (ls);
  member_free (m);
  free (buf);
  free (back);
}
END_TEST

START_TEST (test_merge_limits)
{
  static const unsigned adjacent[NR] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const unsigned downwards[NR] = {7, 6, 5, 4, 3, 2, 1, 0};
  struct member *m =
      connected_member (start_server ("--filter=blocksize-policy memory 1M "
                                      "blocksize-maximum=64K "
                                      "blocksize-minimum=512 "
                                      "blocksize-preferred=4096 "
                                      "blocksize-error-policy=error")
                            ->uri,
                        NULL);
  unsigned char *buf = calloc (1, NR * 2 * PIECE);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct member_cmd cmds[NR];

  /* Not beyond what the server takes: 8 x 16K in two requests. */
  run_pieces (ls, m, MEMBER_READ, buf, adjacent, cmds);
  for (unsigned i = 0; i < NR; i++)
    ck_assert_int_eq (cmds[i].err, 0);
  ck_assert_uint_eq (atomic_load (&m->reads), 2);
  /* Only what follows. */
  run_pieces (ls, m, MEMBER_READ, buf, downwards, cmds);
  ck_assert_uint_eq (atomic_load (&m->reads), 2 + NR);
  /* Nothing longer than what was allowed. */
  lanes_set_merge_bytes (ls, PIECE - 1);
  run_pieces (ls, m, MEMBER_READ, buf, adjacent, cmds);
  ck_assert_uint_eq (atomic_load (&m->reads), 2 + 2 * NR);
  lanes_free (ls);
  member_free (m);
  free (buf);
}
END_TEST

/* A server that cannot read one block: only the command that wants it fails.
 */
START_TEST (test_merge_error)
{
  static const unsigned adjacent[NR] = {0, 1, 2, 3, 4, 5, 6, 7};
  struct member *m;
  unsigned char *buf = malloc (NR * 2 * PIECE);
  struct lanes *ls;
  struct member_cmd cmds[NR];
  char script[128], args[300];
  FILE *f;

  snprintf (script, sizeof script, "%s/server.sh", test_dir);
  f = fopen (script, "w");
  fprintf (f,
           "#!/bin/sh\n"
           "case $1 in\n"
           "get_size) echo 1048576 ;;\n"
           "pread) if [ $4 -le 53248 ] && [ $(($4 + $3)) -gt 53248 ]; then\n"
           "  echo 'EIO bad block' >&2; exit 1; fi\n"
           "  head -c $3 /dev/zero | tr '\\0' x ;;\n"
           "*) exit 2 ;;\n"
           "esac\n");
  fchmod (fileno (f), 0755);
  fclose (f);
  snprintf (args, sizeof args, "sh %s", script);
  m = connected_member (start_server (args)->uri, NULL);
  ls = start_lanes (&m, 1, 1);
  run_pieces (ls, m, MEMBER_READ, buf, adjacent, cmds);
  for (unsigned i = 0; i < NR; i++) {
    ck_assert_int_eq (cmds[i].err, i == 53248 / PIECE ? EIO : 0);
    ck_assert (!cmds[i].lost);
    if (cmds[i].err == 0)
      ck_assert_int_eq (buf[i * 2 * PIECE + PIECE - 1], 'x');
  }
  /* That of all together, and its own. */
  ck_assert_uint_eq (atomic_load (&m->errors), 2);
  ck_assert_uint_eq (atomic_load (&m->reads), NR - 1);
  ck_assert_int_eq (atomic_load (&m->state), MEMBER_CONNECTED);
  lanes_free (ls);
  member_free (m);
  free (buf);
}
END_TEST

/* The server dies under merged commands: each is lost, once. */
START_TEST (test_merge_lost)
{
  struct server *s = start_server ("memory 1M");
  struct member *m = connected_member (s->uri, NULL);
  unsigned char *buf = malloc (NR * 2 * PIECE);
  struct lanes *ls;
  struct member_cmd cmds[NR];
  struct batch b = BATCH_INIT;

  ls = start_lanes (&m, 1, 1);
  stop_server (s);
  for (unsigned i = 0; i < NR; i++)
    cmds[i] = cmd_make (m, MEMBER_READ, buf + i * 2 * PIECE, PIECE,
                        (uint64_t)i * PIECE, 0);
  batch_submit (&b, lanes_get (ls, 0), cmds, NR);
  end_server (s, SIGKILL);
  batch_wait (&b);
  ck_assert_uint_eq (b.done_calls, NR);
  for (unsigned i = 0; i < NR; i++) {
    ck_assert_int_eq (cmds[i].err, ENOTCONN);
    ck_assert (cmds[i].lost);
  }
  lanes_free (ls);
  ck_assert_uint_eq (atomic_load (&m->in_flight), 0);
  member_free (m);
  free (buf);
}
END_TEST

/*----- Plug -----*/

START_TEST (test_plug)
{
  struct member *m = connected_member (start_server ("memory 1M")->uri, NULL);
  unsigned char *buf = malloc (NR * PIECE);
  struct lanes *ls = start_lanes (&m, 1, 1);
  struct member_cmd cmds[NR];
  struct batch b = BATCH_INIT;
  struct lane_plug plug;

  /* One by one, and yet together. */
  b.left = NR;
  lane_plug (lanes_get (ls, 0), &plug);
  for (unsigned i = 0; i < NR; i++) {
    cmds[i] = cmd_make (m, MEMBER_READ, buf + i * PIECE, PIECE,
                        (uint64_t)i * PIECE, 0);
    cmds[i].done = batch_done;
    cmds[i].user = &b;
    cmds[i].next = NULL;
    lane_submit (lanes_get (ls, 0), &cmds[i]);
  }
  lane_unplug (&plug);
  batch_wait (&b);
  ck_assert_uint_eq (atomic_load (&m->reads), 1);
  lanes_free (ls);
  member_free (m);
  free (buf);
}
END_TEST

/*----- Several connections, depth -----*/

#define MANY 64

struct depth_check {
  struct batch b;
  _Atomic unsigned most;
};

static void
depth_done (struct member_cmd *cmd)
{
  struct depth_check *d = cmd->user;
  unsigned now = atomic_load (&cmd->member->in_flight);

  if (now > atomic_load (&d->most))
    atomic_store (&d->most, now);
  cmd->user = &d->b;
  batch_done (cmd);
}

/* MANY reads that cannot be merged; returns the most that were in flight when
 * one completed.
 */
static unsigned
run_many (struct lanes *ls, struct member *m)
{
  static struct member_cmd cmds[MANY];
  static unsigned char buf[MANY][512];
  struct depth_check d = {.b = BATCH_INIT};

  d.b.left = MANY;
  for (unsigned i = 0; i < MANY; i++) {
    cmds[i] = cmd_make (m, MEMBER_READ, buf[i], 512,
                        (MANY - i) * UINT64_C (1024), 0);
    cmds[i].done = depth_done;
    cmds[i].user = &d;
    cmds[i].next = i + 1 < MANY ? &cmds[i + 1] : NULL;
  }
  lane_submit (lanes_get (ls, 0), cmds);
  batch_wait (&d.b);
  for (unsigned i = 0; i < MANY; i++)
    ck_assert_int_eq (cmds[i].err, 0);
  ck_assert_uint_eq (atomic_load (&m->in_flight), 0);
  ck_assert_uint_gt (atomic_load (&m->latency_us), 0);
  return atomic_load (&d.most);
}

/* _i: 0 no limit, 1 a limit. */
START_TEST (test_queue_depth)
{
  struct member_options opt = default_options;
  struct member *m;
  struct lanes *ls;
  unsigned most;

  opt.queue_depth = _i == 0 ? 0 : 4;
  m = connected_member (
      start_server ("--filter=delay memory 1M rdelay=1ms")->uri, &opt);
  ls = start_lanes (&m, 1, 1);
  most = run_many (ls, m);
  if (_i == 0)
    ck_assert_uint_gt (most, 4);
  else
    ck_assert_uint_le (most, 4);
  lanes_free (ls);
  member_free (m);
}
END_TEST

/* One lane, four connections: what is too much for one goes to the next. */
START_TEST (test_connections)
{
  struct member_options opt = default_options;
  struct member *m;
  struct lanes *ls;

  opt.connections = 4;
  m = connected_member (start_server ("--filter=log --filter=delay memory 1M "
                                      "rdelay=1ms logfile=@/log")
                            ->uri,
                        &opt);
  ck_assert_uint_eq (m->nr_conns, 4);
  ls = start_lanes (&m, 1, 1);
  ck_assert_uint_eq (lanes_count (ls), 1);
  run_many (ls, m);
  for (unsigned i = 1; i <= 4; i++) {
    char word[40];

    snprintf (word, sizeof word, "connection=%u Read", i);
    ck_assert_uint_ge (log_lines (word), 16);
  }
  lanes_free (ls);
  member_free (m);
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("lane-merge");
  TCase *tc = tcase_create ("merge");

  tcase_set_timeout (tc, 120);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_merge_data);
  tcase_add_test (tc, test_merge_limits);
  tcase_add_test (tc, test_merge_error);
  tcase_add_test (tc, test_merge_lost);
  tcase_add_test (tc, test_plug);
  tcase_add_loop_test (tc, test_queue_depth, 0, 2);
  tcase_add_test (tc, test_connections);
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
