/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * nbdkit's door: one array from .get_ready to .cleanup, one small struct a
 * connection.  The only place, with its neighbours in plugin/, that logs.
 *
 * Threads: .load to .get_ready run in the main thread before the fork; there
 * members are connected and the array is judged, because errors still reach
 * the user.  .after_fork starts all threads.  .open and what follows it run
 * in nbdkit's connection threads, many at once.  The shutdown thread learns
 * of SIGTERM at once, while nbdkit itself waits for clients to leave.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "../lib/md_layout/parity.h"
#include "../lib/sync/sync.h"
#include "cmdline.h"
#include "control.h"
#include "debug.h"
#include "dump.h"
#include "params.h"
#include "requests.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

#define SLEEP_S 86400u
#define DRAIN_TIMEOUT_MS 60000u
#define STOP_TIMEOUT_MS 60000u
#define DESCRIPTION_BYTES 512
#define REMARKS_BYTES 16384
#define PREFERRED_LEAST 4096u
#define REQUEST_MOST_BYTES (32u << 20)

struct conn {
  bool can_write;
  char description[DESCRIPTION_BYTES];
};

/* Set in .load, .get_ready and .after_fork, constant until .cleanup. */
static bool parity_broken;
static struct uraid_error parity_error;
static struct array *array;
static struct sync *syncer;
static pthread_t shutdown_thread;
static bool shutdown_thread_runs;

/*----- Before the fork -----*/

static void
uraid_load (void)
{
  parity_broken = parity_self_check (&parity_error) < 0;
  params_load ();
}

static void
uraid_unload (void)
{
  params_unload ();
}

static int
uraid_config_complete (void)
{
  if (parity_broken) {
    nbdkit_error ("parity is computed wrongly on this machine, nothing is "
                  "served: %s",
                  parity_error.text);
    return -1;
  }
  return params_complete ();
}

/* nbdkit 1.32 has no way to say what is no error and yet worth reading. */
static void
print_remarks (char *remarks)
{
  char *line, *save = NULL;

  for (line = strtok_r (remarks, "\n", &save); line != NULL;
       line = strtok_r (NULL, "\n", &save))
    fprintf (stderr, "nbdkit: uraid: %s\n", line);
}

static void
debug_array (const char *when)
{
  char text[DESCRIPTION_BYTES];

  if (!uraid_debug_array)
    return;
  array_describe (array, text, sizeof text);
  nbdkit_debug ("uraid: %s: %s", when, text);
}

static int
uraid_get_ready (void)
{
  struct array_options opt;
  struct uraid_error e = {0};
  char *remarks = calloc (1, REMARKS_BYTES);

  if (remarks == NULL) {
    nbdkit_error ("out of memory");
    return -1;
  }
  params_array_options (&opt);
  opt.maybe_read_only = cmdline_self_maybe_read_only ();
  if (opt.maybe_read_only)
    nbdkit_debug ("uraid: perhaps read-only: nothing is written before a "
                  "client may write");
  if (array_open (&opt, &array, remarks, REMARKS_BYTES, &e) < 0) {
    /* What was found on the way may explain the refusal. */
    print_remarks (remarks);
    nbdkit_error ("%s", e.text);
    free (remarks);
    return -1;
  }
  print_remarks (remarks);
  free (remarks);
  /* Members that are missing may not have been given. */
  if (params_tune_complete (array_nr_slots (array)) == -1)
    return -1;
  requests_init (array);
  debug_array ("opened");
  if (control_get_ready (array) < 0) {
    array_close (array);
    array = NULL;
    return -1;
  }
  return 0;
}

/*----- The end -----*/

static void
debug_engine (void)
{
  struct engine_stats *s;

  if (!uraid_debug_engine || array_engine (array) == NULL)
    return;
  s = engine_get_stats (array_engine (array));
  nbdkit_debug ("uraid: writes: %" PRIu64 " full, %" PRIu64 " rcw, %" PRIu64
                " rmw, %" PRIu64 " combined; reads: %" PRIu64 " direct, "
                "%" PRIu64 " reconstructed",
                atomic_load (&s->write_full), atomic_load (&s->write_rcw),
                atomic_load (&s->write_rmw), atomic_load (&s->combined),
                atomic_load (&s->direct_reads), atomic_load (&s->recon_reads));
}

/* With an idle client attached nbdkit stays alive after SIGTERM and calls
 * nothing; only the sleep is interrupted.  New requests are refused by nbdkit
 * from then on, so when the last callback has returned nothing can make the
 * array dirty again.
 */
static void *
shutdown_main (void *arg)
{
  (void)arg;
  while (nbdkit_nanosleep (SLEEP_S, 0) == 0 || errno != ESHUTDOWN)
    ;
  if (!requests_drain (DRAIN_TIMEOUT_MS))
    nbdkit_error ("requests are still at work %u s after the order to stop",
                  DRAIN_TIMEOUT_MS / 1000);
  array_stop (array, STOP_TIMEOUT_MS);
  debug_array ("stopped");
  control_end_wait ();
  return NULL;
}

static int
start_shutdown_thread (void)
{
  sigset_t all, old;
  int r;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&shutdown_thread, NULL, shutdown_main, NULL);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  shutdown_thread_runs = r == 0;
  return -r;
}

static void
uraid_cleanup (void)
{
  if (array == NULL)
    return;
  control_ending ();
  if (shutdown_thread_runs) {
    /* With -s nobody has said so yet. */
    nbdkit_shutdown ();
    pthread_join (shutdown_thread, NULL);
    shutdown_thread_runs = false;
  }
  debug_engine ();
  array_stop (array, STOP_TIMEOUT_MS);
  control_stop ();
  sync_stop (syncer);
  syncer = NULL;
  tunables_attach (params_tunables (), NULL);
  array_close (array);
  array = NULL;
}

/*----- After the fork -----*/

static int
uraid_after_fork (void)
{
  struct uraid_error e = {0};
  int r;

  if (array_start (array, &e) < 0) {
    nbdkit_error ("the array cannot be started: %s", e.text);
    return -1;
  }
  tunables_attach (params_tunables (), array_engine (array));
  params_tune_debug ();
  debug_array ("started");
  r = sync_start (array, (unsigned)params.sync_window, &syncer);
  if (r == 0)
    r = start_shutdown_thread ();
  if (r < 0) {
    nbdkit_error ("a thread cannot be started: %s", strerror (-r));
    return -1;
  }
  if (control_start () < 0)
    return -1;
  if (uraid_debug_sync)
    nbdkit_debug ("uraid: sync window %" PRIu64 " segments",
                  params.sync_window);
  return 0;
}

/*----- Connections -----*/

/* May a client of this connection write?  If not although it could be
 * expected, say why, but not to each client again.
 */
static bool
make_writable (void)
{
  static atomic_flag said = ATOMIC_FLAG_INIT;
  struct uraid_error e = {0};

  if (params.start_ro)
    return false;
  if (array_go_rw (array, &e) == 0)
    return array_writable (array);
  if (!atomic_flag_test_and_set (&said))
    nbdkit_error ("served read-only: %s", e.text);
  return false;
}

static void *
uraid_open (int readonly)
{
  struct conn *c = calloc (1, sizeof *c);

  if (c == NULL) {
    nbdkit_error ("out of memory for a connection");
    return NULL;
  }
  c->can_write = !readonly && make_writable ();
  return c;
}

static void
uraid_close (void *handle)
{
  debug_engine ();
  free (handle);
}

static const char *
uraid_default_export (int readonly, int is_tls)
{
  (void)readonly;
  (void)is_tls;
  return "";
}

static int
uraid_list_exports (int readonly, int is_tls, struct nbdkit_exports *exports)
{
  char text[DESCRIPTION_BYTES];

  (void)readonly;
  (void)is_tls;
  array_describe (array, text, sizeof text);
  return nbdkit_add_export (exports, "", text);
}

static const char *
uraid_export_description (void *handle)
{
  struct conn *c = handle;

  array_describe (array, c->description, sizeof c->description);
  return c->description;
}

static int64_t
uraid_get_size (void *handle)
{
  (void)handle;
  return (int64_t)array_size_bytes (array);
}

/* Any offset and length will do; whole chunks are best. */
static int
uraid_block_size (void *handle, uint32_t *minimum, uint32_t *preferred,
                  uint32_t *maximum)
{
  uint64_t chunk = array_chunk_bytes (array);

  (void)handle;
  *minimum = 1;
  *preferred = PREFERRED_LEAST;
  while (*preferred < chunk && *preferred < REQUEST_MOST_BYTES)
    *preferred *= 2;
  *maximum = REQUEST_MOST_BYTES;
  return 0;
}

static int
uraid_can_write (void *handle)
{
  const struct conn *c = handle;

  return c->can_write;
}

static int
yes (void *handle)
{
  (void)handle;
  return 1;
}

static int
no (void *handle)
{
  (void)handle;
  return 0;
}

static int
uraid_can_fua (void *handle)
{
  (void)handle;
  return NBDKIT_FUA_NATIVE;
}

static int
uraid_can_cache (void *handle)
{
  (void)handle;
  return NBDKIT_CACHE_NONE;
}

/* A trim becomes write-zeroes that may punch holes, so that parity stays
 * right; where a member would have to write the zeroes it is worse than none.
 */
static int
uraid_can_trim (void *handle)
{
  (void)handle;
  return params.trim == TRIM_ZERO ||
         (params.trim == TRIM_AUTO && array_can_zero (array));
}

static void
uraid_dump_plugin (void)
{
  dump_plugin (parity_broken ? parity_error.text : NULL);
}

static struct nbdkit_plugin plugin = {
    .name = "uraid",
    .longname = "Linux md RAID-6/5/4 over NBD",
    .version = PACKAGE_VERSION,
    .description = "serve a Linux md array whose members are NBD exports",
    .load = uraid_load,
    .unload = uraid_unload,
    .dump_plugin = uraid_dump_plugin,
    .config = params_set,
    .config_complete = uraid_config_complete,
    .config_help = params_help,
    .magic_config_key = "member",
    .get_ready = uraid_get_ready,
    .after_fork = uraid_after_fork,
    .cleanup = uraid_cleanup,
    .list_exports = uraid_list_exports,
    .default_export = uraid_default_export,
    .open = uraid_open,
    .close = uraid_close,
    .export_description = uraid_export_description,
    .get_size = uraid_get_size,
    .block_size = uraid_block_size,
    .can_write = uraid_can_write,
    .can_flush = yes,
    .can_fua = uraid_can_fua,
    .can_multi_conn = yes,
    .can_zero = yes,
    .can_fast_zero = no,
    .can_trim = uraid_can_trim,
    .can_cache = uraid_can_cache,
    .is_rotational = no,
    .pread = uraid_pread,
    .pwrite = uraid_pwrite,
    .flush = uraid_flush,
    .zero = uraid_zero,
    .trim = uraid_trim,
    /* errno carries the code of a failed request. */
    .errno_is_preserved = 1,
};

NBDKIT_REGISTER_PLUGIN (plugin)
