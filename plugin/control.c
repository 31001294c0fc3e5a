/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The control socket of the array served (see the header).  Handlers run on
 * the control thread, shutdown on one of its own; they use the array through
 * its door, which locks.  What is static is set before the control thread
 * starts and constant then, but for what end_lock protects.  Changes of
 * tunables may start threads and give memory back: a thread of its own, too.
 */
#include <config.h>

#include "control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "../lib/array/snapshot.h"
#include "../lib/control/readout.h"
#include "../lib/control/rpc.h"
#include "../lib/control/server.h"
#include "../lib/control/tunables_json.h"
#include "../lib/md_layout/sb1.h"
#include "params.h"

#define STOP_TIMEOUT_MS 60000u
#define END_WAIT_S 2

static struct array *array;
static struct control_server *server; /* NULL: there is none */

static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t end_cond;
static bool asked;  /* a client had its answer to shutdown */
static bool ending; /* .cleanup has begun */

/*----- Methods that look -----*/

static struct array_snapshot *
take (struct uraid_error *e)
{
  struct array_snapshot *s = NULL;

  if (array_snapshot_take (array, &s) < 0)
    uraid_error_set (e, ENOMEM, "out of memory for a read-out");
  return s;
}

static json_t *
do_ping (void *ctx, json_t *args, struct uraid_error *e)
{
  (void)ctx;
  (void)args;
  (void)e;
  return json_pack ("{sb}", "pong", 1);
}

static json_t *
do_version (void *ctx, json_t *args, struct uraid_error *e)
{
  (void)ctx;
  (void)args;
  (void)e;
  return json_pack ("{ssss}", "version", PACKAGE_VERSION, "schema",
                    RPC_SCHEMA);
}

static json_t *
do_status (void *ctx, json_t *args, struct uraid_error *e)
{
  struct array_snapshot *s = take (e);
  json_t *j = s == NULL ? NULL : readout_status (s);

  (void)ctx;
  (void)args;
  array_snapshot_free (s);
  return j;
}

static json_t *
do_detail (void *ctx, json_t *args, struct uraid_error *e)
{
  struct array_snapshot *s = take (e);
  json_t *j = s == NULL ? NULL : readout_detail (s);

  (void)ctx;
  (void)args;
  array_snapshot_free (s);
  return j;
}

static json_t *
do_stats_get (void *ctx, json_t *args, struct uraid_error *e)
{
  struct array_snapshot *s = take (e);
  json_t *j = s == NULL ? NULL : readout_stats (s);

  (void)ctx;
  (void)args;
  array_snapshot_free (s);
  return j;
}

static json_t *
do_tune_list (void *ctx, json_t *args, struct uraid_error *e)
{
  (void)ctx;
  (void)args;
  (void)e;
  return tunables_json_list (params_tunables ());
}

static json_t *
do_tune_get (void *ctx, json_t *args, struct uraid_error *e)
{
  (void)ctx;
  return tunables_json_get (params_tunables (), args, e);
}

/*----- Methods that change -----*/

static json_t *
do_tune_set (void *ctx, json_t *args, struct uraid_error *e)
{
  json_t *j = tunables_json_set (params_tunables (), args, e);
  const char *note = json_string_value (json_object_get (j, "note"));

  (void)ctx;
  if (note != NULL)
    fprintf (stderr, "nbdkit: uraid: %s\n", note);
  return j;
}

static json_t *
do_stats_reset (void *ctx, json_t *args, struct uraid_error *e)
{
  (void)ctx;
  (void)args;
  (void)e;
  array_stats_reset (array);
  return json_pack ("{sb}", "reset", 1);
}

/* From array_stop on writes are refused; it returns when those under way are
 * done, the members are flushed and the superblocks say so.  Reads go on
 * until the answer is sent: then nbdkit is told, which refuses all.
 */
static json_t *
do_shutdown (void *ctx, json_t *args, struct uraid_error *e)
{
  struct array_snapshot *s;
  bool clean;

  (void)ctx;
  (void)args;
  array_stop (array, STOP_TIMEOUT_MS);
  s = take (e);
  clean = s != NULL && s->state == ARRAY_STOPPED && s->clean_on_members;
  array_snapshot_free (s);
  return json_pack ("{sbsb}", "stopped", 1, "clean", clean);
}

static void
shutdown_sent (void *ctx)
{
  (void)ctx;
  pthread_mutex_lock (&end_lock);
  asked = true;
  pthread_cond_broadcast (&end_cond);
  pthread_mutex_unlock (&end_lock);
  nbdkit_shutdown ();
}

static const struct rpc_method methods[] = {
    {"ping", 0, do_ping},
    {"version", 0, do_version},
    {"status", 0, do_status},
    {"detail", 0, do_detail},
    {"stats.get", 0, do_stats_get},
    {"stats.reset", RPC_CHANGES, do_stats_reset},
    {"tune.list", RPC_SLOW, do_tune_list},
    {"tune.get", RPC_TAKES_PARAMS | RPC_SLOW, do_tune_get},
    {"tune.set", RPC_CHANGES | RPC_TAKES_PARAMS | RPC_SLOW, do_tune_set},
    {"shutdown", RPC_CHANGES | RPC_SLOW, do_shutdown, shutdown_sent},
    {NULL},
};

/*----- Life -----*/

/* Into RET (to be freed), or NULL: no socket.  0, or -1 after nbdkit_error. */
static int
choose_path (struct array *a, char **ret)
{
  struct array_snapshot *s;
  struct uraid_error e = {0};
  char uuid[36], buf[512];
  int r;

  *ret = NULL;
  if (params.control != NULL && strcmp (params.control, "none") == 0)
    return 0;
  if (params.control != NULL) {
    *ret = nbdkit_absolute_path (params.control);
    return *ret == NULL ? -1 : 0;
  }
  if (array_snapshot_take (a, &s) < 0) {
    nbdkit_error ("out of memory");
    return -1;
  }
  sb1_uuid_text (s->uuid, uuid);
  r = control_default_path (s->name, uuid, true, buf, sizeof buf, &e);
  array_snapshot_free (s);
  if (r == 0)
    *ret = strdup (buf);
  else
    fprintf (stderr,
             "nbdkit: uraid: no control socket: %s; give control=PATH, or "
             "control=none\n",
             e.text);
  return 0;
}

/* A default that is too long for a socket is nobody's fault. */
static bool
only_a_remark (int err)
{
  return params.control == NULL && err == -ENAMETOOLONG;
}

int
control_get_ready (struct array *a)
{
  struct uraid_error e = {0};
  pthread_condattr_t attr;
  char *path;
  int r = 0;

  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&end_cond, &attr);
  pthread_condattr_destroy (&attr);
  array = a;
  if (choose_path (a, &path) < 0)
    return -1;
  if (path != NULL)
    r = control_server_bind (path, &server, &e);
  free (path);
  if (r < 0 && only_a_remark (r)) {
    fprintf (stderr, "nbdkit: uraid: no control socket: %s\n", e.text);
    return 0;
  }
  if (r < 0)
    nbdkit_error ("%s", e.text);
  return r < 0 ? -1 : 0;
}

int
control_start (void)
{
  struct uraid_error e = {0};

  if (server == NULL || control_server_start (server, methods, NULL, &e) == 0)
    return 0;
  nbdkit_error ("%s", e.text);
  return -1;
}

void
control_stop (void)
{
  control_server_stop (server);
  server = NULL;
}

/*----- The end -----*/

void
control_ending (void)
{
  pthread_mutex_lock (&end_lock);
  ending = true;
  pthread_cond_broadcast (&end_cond);
  pthread_mutex_unlock (&end_lock);
}

/* nbdkit waits for its clients before it calls .cleanup, and an idle client
 * may stay for ever.  Who sends SIGTERM may go on to SIGKILL; who asked over
 * the socket, as "uraid stop" does, must not have to find the process.
 *
 * Nothing can be lost by _exit here: writes have been refused since
 * array_stop, no request is at work (the shutdown thread has waited for
 * that), every write that was answered is on the members, as nothing is kept
 * back for later, and array_stop has flushed them and written the
 * superblocks.  If it could not do so, because members did not answer for a
 * minute, the next start finds the array dirty, as after SIGKILL.  What
 * filters would do at their end is not done.  exit () would not do: it runs
 * the destructors of libraries whose threads are at work.
 */
static void
end_process (void)
{
  fprintf (stderr, "nbdkit: uraid: stopped over the control socket; ending "
                   "although clients are connected\n");
  control_server_unlink (server);
  _exit (EXIT_SUCCESS);
}

void
control_end_wait (void)
{
  struct timespec until;

  pthread_mutex_lock (&end_lock);
  while (!ending && !asked)
    pthread_cond_wait (&end_cond, &end_lock);
  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_sec += END_WAIT_S;
  while (!ending &&
         pthread_cond_timedwait (&end_cond, &end_lock, &until) != ETIMEDOUT)
    ;
  if (!ending)
    end_process ();
  pthread_mutex_unlock (&end_lock);
}
