/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The plugin's parameters: the table, and what is made of it.  The parsers
 * are in params_parse.c, the rules between parameters in params_rules.c.
 * Main thread only, before the fork; constant afterwards.
 */
#include <config.h>

#include "params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "../lib/stripecache/autosize.h"
#include "debug.h"
#include "params_internal.h"
#include "values.h"

struct params params;

#define BOOLS "yes or no"
#define ADDRESSES                                                             \
  "an NBD URI, or the path of a file or block device; \"missing\" for a "     \
  "member that is not there"

/* To add a parameter: a line here, a field in struct params, a line in
 * params_array_options, an item in the manual page.  (One that can be tuned:
 * a row in lib/control/tunables_table.c.)
 */
const struct param param_table[] = {
    {"member", "URI", "a member: NBD URI, file or block device; repeat it",
     NULL, ADDRESSES, parse_member, &params.members},
    {"members", "URI,URI,...", "the same as a list (a comma in a URI: %2C)",
     NULL, ADDRESSES, parse_members, &params.members},
    {"spare", "URI", "a spare or a blank export to rebuild on; repeat it",
     NULL, "an NBD URI, or the path of a file or block device", parse_spare,
     &params.spares},
    {"uuid", "UUID", "take only members of this array", NULL,
     "32 hexadecimal digits, with or without colons or dashes", parse_uuid,
     &params.uuid_text},
    {"name", "NAME", "the array must have this name", NULL,
     "1 to 32 characters, as uraid examine prints it", parse_name,
     &params.name},
    {"level", "4|5|6", "the array must have this level", NULL,
     "4, 5, 6, raid4, raid5 or raid6", parse_level, &params.level},
    {"raid-devices", "N", "the array must have this many slots", NULL,
     "2 to 253", parse_uint, &params.raid_devices, 2, 253},
    {"chunk_size", "SIZE", "the array must have this chunk size", NULL,
     "a power of two from 4K to 1G", parse_chunk, &params.chunk_bytes, 4096,
     UINT64_C (1) << 30},
    {"layout", "NAME", "the array must have this layout", NULL,
     "a layout of level 4, 5 or 6, such as left-symmetric", parse_layout,
     &params.layout},

    {"start-degraded", "BOOL", "start although members are missing", "yes",
     BOOLS, parse_bool, &params.start_degraded},
    {"start-dirty-degraded", "BOOL", "start if also not stopped cleanly", "no",
     BOOLS, parse_bool, &params.start_dirty_degraded},
    {"start-ro", "BOOL", "never write to a member", "no", BOOLS, parse_bool,
     &params.start_ro},
    {"wait-members", "TIME", "how long to try to reach all members", "30s",
     "a time from 0 to 1h", parse_duration, &params.wait_members_ms, 0,
     3600 * 1000},

    {"open-timeout", "TIME", "limit of one attempt to connect", "30s",
     "a time from 0 to 1d", parse_duration, &params.open_timeout_ms, 0,
     86400 * 1000},
    {"request-timeout", "TIME", "limit of one request to a member; 0: none",
     "30s", "0, or a time from 1s to 1h", parse_duration_or_0,
     &params.request_timeout_ms, 1000, 3600 * 1000},
    {"connections", "N", "connections to each member; 1 up to 2 CPUs, else 4",
     NULL, "1 to 16", parse_uint, &params.connections, 1, MEMBER_MAX_CONNS},
    {"queue-depth", "N", "most requests under way on a connection", "64",
     "1 to 1024", parse_uint, &params.queue_depth, 1, 1024},
    {"tls", "MODE", "TLS towards members (not given: as the URI says)", NULL,
     "off, on or require", parse_tls, &params.tls},
    {"tls-certificates", "DIR", "directory with the certificates", NULL,
     "a directory that exists", parse_file, &params.tls_certificates},
    {"tls-verify", "BOOL", "check the members' certificates", "yes", BOOLS,
     parse_bool, &params.tls_verify},
    {"tls-username", "NAME", "user name for pre-shared keys", NULL,
     "a user name", parse_string, &params.tls_username},
    {"tls-psk", "FILE", "file with the pre-shared keys", NULL,
     "a file that exists", parse_file, &params.tls_psk},

    {"safe_mode_delay", "TIME", "idle time until marked clean; 0: never",
     "0.2", "a time from 0 to 60s; three digits may follow a dot",
     parse_duration, &params.safe_mode_delay_ms, 0, 60 * 1000},
    {"bitmap_time_base", "TIME", "how long idle bits stay in the bitmap", "5s",
     "auto (what the bitmap says), or a time from 1s to 1h",
     parse_duration_or_auto, &params.bitmap_time_base_ms, 1000, 3600 * 1000},
    {"sync_window", "N", "segments of a resync or recovery in flight", "8",
     "1 to 64", parse_uint, &params.sync_window, 1, ENGINE_SYNC_WINDOW},
    {"trim", "MODE", "trim requests: auto, off, zero", "auto",
     "auto, off or zero", parse_trim, &params.trim},
    {"control", "PATH", "control socket, or none (else in /run/uraid)", NULL,
     "the path of a socket, or none", parse_string, &params.control},
    {NULL},
};

/*----- --help and --dump-plugin -----*/

#define HELP_COLUMN 25
#define HELP_WIDTH 79
#define HELP_MAX_BYTES 16384

char params_help[HELP_MAX_BYTES];

/* "[key=]VALUE" for the key that may be left out. */
static int
print_synopsis (FILE *fp, const struct param *p)
{
  return fprintf (fp, p->parse == parse_member ? "[%s=]%s" : "%s=%s", p->key,
                  p->value_name);
}

/* The default goes into the same line where there is room. */
static void
print_help (FILE *fp, const struct param *p)
{
  int width = print_synopsis (fp, p);
  char text[128] = "";

  if (width >= HELP_COLUMN)
    width = fprintf (fp, "\n") - 1;
  fprintf (fp, "%*s%s", HELP_COLUMN - width, "", p->help);
  if (p->default_text != NULL)
    snprintf (text, sizeof text, " (default: %s)", p->default_text);
  if (HELP_COLUMN + strlen (p->help) + strlen (text) > HELP_WIDTH)
    fprintf (fp, "\n%*s", HELP_COLUMN - 1, "");
  fprintf (fp, "%s\n", text);
}

static void
write_help (void)
{
  FILE *fp = fmemopen (params_help, sizeof params_help, "w");
  const struct param *p;
  struct param tunable;

  if (fp == NULL)
    return;
  for (p = param_table; p->key != NULL; p++)
    print_help (fp, p);
  for (unsigned i = 0; params_tune_at (i, &tunable); i++)
    if (tunable.key != NULL)
      print_help (fp, &tunable);
  fprintf (fp, "TIME is in seconds or has a suffix s, m, h or d.  - and _ in "
               "keys are the same.");
  fclose (fp);
}

static void
print_default (const struct param *p)
{
  printf ("uraid_param_%s=%s\n", p->key,
          p->default_text != NULL ? p->default_text : "");
}

void
params_dump (void)
{
  const struct param *p;
  struct param tunable;

  for (p = param_table; p->key != NULL; p++)
    print_default (p);
  for (unsigned i = 0; params_tune_at (i, &tunable); i++)
    if (tunable.key != NULL)
      print_default (&tunable);
  params_tune_dump (params_nr_members ());
}

/*----- Life -----*/

void
params_load (void)
{
  const struct param *p;

  params.tls = -1;
  params_tune_load ();
  for (p = param_table; p->key != NULL; p++)
    if (p->default_text != NULL && p->parse (p, p->default_text) == -1)
      abort (); /* the table is wrong */
  write_help ();
}

static void
free_list (struct address_list *l)
{
  size_t i;

  for (i = 0; i < l->nr; i++)
    free (l->words[i]);
  free (l->words);
  l->words = NULL;
  l->nr = 0;
}

void
params_unload (void)
{
  free_list (&params.members);
  free_list (&params.spares);
  free ((char *)params.tls_certificates);
  free ((char *)params.tls_psk);
  params_tune_unload ();
}

/*----- KEY=VALUE -----*/

static bool
key_equal (const char *a, const char *b)
{
  return value_distance (a, b) == 0;
}

static void
nearer (const char *key, const struct param *p, struct param *nearest,
        unsigned *best)
{
  unsigned d = value_distance (key, p->key);

  if (d >= *best)
    return;
  *best = d;
  *nearest = *p;
}

static int
refuse_key (const char *key)
{
  struct param nearest = param_table[0], tunable;
  const struct param *p;
  unsigned best = UINT32_MAX;

  for (p = param_table; p->key != NULL; p++)
    nearer (key, p, &nearest, &best);
  for (unsigned i = 0; params_tune_at (i, &tunable); i++)
    if (tunable.key != NULL)
      nearer (key, &tunable, &nearest, &best);
  nbdkit_error ("unknown parameter \"%s\"; the nearest is \"%s\" (%s); "
                "nbdkit uraid --help lists all",
                key, nearest.key, nearest.help);
  return -1;
}

int
params_set (const char *key, const char *value)
{
  const struct param *p;

  for (p = param_table; p->key != NULL; p++)
    if (key_equal (key, p->key))
      return p->parse (p, value);
  if (tunables_key (key) != NULL)
    return params_tune_set (key, value);
  return refuse_key (key);
}

unsigned
params_nr_members (void)
{
  return params.raid_devices != 0 ? (unsigned)params.raid_devices
                                  : (unsigned)params.members.nr;
}

/*----- For the array layer -----*/

static unsigned
nr_connections (void)
{
  return params.connections > 0
             ? (unsigned)params.connections
             : autosize_connections (params_topology ()->nr_cpus);
}

void
params_array_options (struct array_options *ret)
{
  *ret = (struct array_options){
      .members = (const char *const *)params.members.words,
      .nr_members = params.members.nr,
      .spares = (const char *const *)params.spares.words,
      .nr_spares = params.spares.nr,
      .member =
          {
              .open_timeout_ms = params.open_timeout_ms,
              .request_timeout_ms = params.request_timeout_ms,
              .connections = nr_connections (),
              .queue_depth = (unsigned)params.queue_depth,
              .tls = params.tls,
              .tls_certificates = params.tls_certificates,
              .tls_psk_file = params.tls_psk,
              .tls_username = params.tls_username,
              .tls_verify_peer = params.tls_verify,
              .read_only = params.start_ro,
              .debug = uraid_debug_member != 0,
          },
      .wait_members_ms = params.wait_members_ms,
      .has_uuid = params.uuid_text != NULL,
      .name = params.name,
      .level = params.level,
      .raid_devices = (unsigned)params.raid_devices,
      .chunk_bytes = params.chunk_bytes,
      .layout = params.layout,
      .start_degraded = params.start_degraded,
      .start_dirty_degraded = params.start_dirty_degraded,
      .read_only = params.start_ro,
      .stripe_cache_size = params_tune_number ("stripe_cache_size"),
      .nr_hash_locks = params_tune_number ("nr_stripe_hash_locks"),
      .nr_lanes =
          autosize_lanes (params_topology ()->nr_cpus, nr_connections ()),
      .rmw_level = (int)params_tune_number ("rmw_level"),
      .skip_copy = params_tune_number ("skip_copy") != 0,
      .group_thread_cnt = params_tune_number ("group_thread_cnt"),
      .max_stripe_batch = params_tune_number ("max_stripe_batch"),
      .preread_bypass_threshold =
          params_tune_number ("preread_bypass_threshold"),
      .topology = params_topology (),
      .safe_mode_delay_ms = params.safe_mode_delay_ms,
      .bitmap_time_base_ms = params.bitmap_time_base_ms,
  };
  memcpy (ret->uuid, params.uuid, sizeof ret->uuid);
}
