/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Servers, members and batches of commands for the tests of lib/member.
 * Servers are nbdkit processes on Unix sockets in a directory of the test's
 * own; they end with the test (--exit-with-parent).  Each test is a process
 * (check forks), so threads and signals of one do not reach another.
 */
#ifndef URAID_TEST_MEMBER_UTIL_H
#define URAID_TEST_MEMBER_UTIL_H

#include <pthread.h>
#include <sys/types.h>

#include "lib/member/lane.h"
#include "lib/member/member.h"

#define MAX_SERVERS 8
#define MB (1024u * 1024)

struct server {
  pid_t pid;
  char socket[108], uri[160];
};

extern char test_dir[64];
extern struct server servers[MAX_SERVERS]; /* in order of start */
extern struct uraid_error err;
extern const struct member_options default_options;

/* A checked fixture. */
extern void setup (void);
extern void teardown (void);

/* A socket name and URI, but no process yet. */
extern struct server *new_server (void);
/* ARGS: words separated by blanks; "@" stands for the directory. */
extern void spawn_server (struct server *s, const char *args);
/* Both, and wait for the socket. */
extern struct server *start_server (const char *args);
/* SIGSTOP, and wait until it has stopped. */
extern void stop_server (const struct server *s);
extern void end_server (struct server *s, int sig);
/* How many lines of the log filter's file @/log contain WORD. */
extern unsigned log_lines (const char *word);

/* OPT may be NULL for the defaults.  Failure fails the test. */
extern struct member *make_member (const char *address,
                                   const struct member_options *opt);
extern struct member *connected_member (const char *address,
                                        const struct member_options *opt);

extern void make_file (const char *path, off_t size_bytes);
extern double now_s (void);
extern unsigned count_fds (void);
extern unsigned rnd (unsigned *state);
extern void fill_random (unsigned char *p, size_t n, unsigned *state);

/* A set of commands to wait for. */
struct batch {
  pthread_mutex_t lock;
  pthread_cond_t cond;
  unsigned left, done_calls; /* under lock */
};

#define BATCH_INIT                                                            \
  {                                                                           \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0                 \
  }

extern struct member_cmd cmd_make (struct member *m, enum member_op op,
                                   void *buf, uint64_t len, uint64_t offset,
                                   unsigned flags);
extern void batch_done (struct member_cmd *cmd);
/* Submit CMDS[0..N) as one list. */
extern void batch_submit (struct batch *b, struct lane *l,
                          struct member_cmd *cmds, unsigned n);
extern void batch_wait (struct batch *b);
/* Submit one, wait, return its err; LOST may be NULL. */
extern int run_cmd (struct lane *l, struct member *m, enum member_op op,
                    void *buf, uint64_t len, uint64_t offset, unsigned flags,
                    bool *lost);

/* Lanes whose on_lost counts in lost_calls. */
extern atomic_uint lost_calls;
extern struct lanes *start_lanes (struct member **ms, size_t n,
                                  unsigned wanted);
extern void wait_lost_calls (unsigned wanted);

#endif
