/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The plugin's parameters.  Two tables drive parsing, --help, --dump-plugin
 * and the test that each is in the manual page: that of params.c, and that of
 * lib/control for what can be tuned.  Written by .load, .config and
 * .config_complete in the main thread, constant afterwards (tunables are not).
 */
#ifndef URAID_PARAMS_H
#define URAID_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/array/array.h"
#include "../lib/control/tunables.h"

enum trim_mode { TRIM_AUTO, TRIM_OFF, TRIM_ZERO };

struct address_list {
  char **words; /* absolute addresses, or "missing" */
  size_t nr;
};

struct params {
  struct address_list members, spares;
  const char *uuid_text, *name, *layout; /* NULL = not given */
  uint8_t uuid[16];
  int level;             /* 0 = not given */
  uint64_t raid_devices; /* 0 = not given */
  uint64_t chunk_bytes;  /* 0 = not given */

  bool start_degraded, start_dirty_degraded, start_ro;
  uint64_t wait_members_ms;

  uint64_t open_timeout_ms, request_timeout_ms, connections;
  uint64_t queue_depth; /* most requests under way on a connection */
  int tls;              /* -1 = as the URI says, else LIBNBD_TLS_x */
  const char *tls_certificates, *tls_username, *tls_psk; /* NULL = none */
  bool tls_verify;

  uint64_t safe_mode_delay_ms;
  uint64_t bitmap_time_base_ms; /* 0 = the bitmap's own */
  uint64_t sync_window;
  enum trim_mode trim;
  const char *control; /* NULL = the default place; "none" */
};

extern struct params params;

/* The text for --help.  Empty before params_load. */
extern char params_help[];

/* Put the defaults in and write params_help. */
extern void params_load (void);
extern void params_unload (void);

/* One KEY=VALUE.  0, or -1 after nbdkit_error. */
extern int params_set (const char *key, const char *value);

/* All parameters were given: do they fit together?  0, or -1 after
 * nbdkit_error.
 */
extern int params_complete (void);

/* One line a parameter: what it is when it is not given; and what is in force
 * of those that can be tuned.
 */
extern void params_dump (void);

/* What the array layer wants to know.  The result points into params. */
extern void params_array_options (struct array_options *ret);

/* --- params_tune.c --- */

/* From params_load to params_unload. */
extern struct tunables *params_tunables (void);

/* The array has NR_MEMBERS slots: find what was not given and check it.  0, or
 * -1 after nbdkit_error.  Before tunables_attach.
 */
extern int params_tune_complete (unsigned nr_members);

/* A debug line for each tunable. */
extern void params_tune_debug (void);

#endif
