/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Those parameters that are tunables (lib/control/tunables.h): the machine
 * they are for, and what they say to the user.  Main thread; the object
 * itself is shared with the control thread later.
 */
#include <config.h>

#include "params_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "../lib/control/tunables.h"
#include "values.h"

#define NOTE_BYTES 256

static struct topology topology;
static struct uraid_error topology_error;
static struct tunables *tunables;

void
params_tune_load (void)
{
  if (topology_get (&topology, &topology_error) < 0) {
    /* Said in params_tune_complete: .load cannot fail. */
    topology.nr_cpus = 1;
    topology.nr_nodes = 1;
  }
  if (tunables_new (&topology, &tunables) < 0)
    abort (); /* nothing is there yet that could be lost */
}

void
params_tune_unload (void)
{
  tunables_free (tunables);
  tunables = NULL;
}

struct tunables *
params_tunables (void)
{
  return tunables;
}

const struct topology *
params_topology (void)
{
  return &topology;
}

int
params_tune_set (const char *key, const char *value)
{
  struct uraid_error e = {0};
  char note[NOTE_BYTES];

  if (tunables_set_text (tunables, key, value, TUNE_COMMAND_LINE, &e, note,
                         sizeof note) < 0) {
    nbdkit_error ("%s", e.text);
    return -1;
  }
  if (note[0] != '\0')
    fprintf (stderr, "nbdkit: uraid: %s\n", note);
  return 0;
}

int
params_tune_complete (unsigned nr_members)
{
  struct uraid_error e = {0};

  if (topology_error.err != 0) {
    nbdkit_error ("%s", topology_error.text);
    return -1;
  }
  if (tunables_complete (tunables, nr_members, &e) < 0) {
    nbdkit_error ("%s", e.text);
    return -1;
  }
  return 0;
}

unsigned
params_tune_number (const char *key)
{
  return (unsigned)tunables_number (tunables, key);
}

bool
params_tune_at (unsigned i, struct param *ret)
{
  struct tunable_value v;

  if (i >= tunables_count ())
    return false;
  tunables_at (tunables, i, &v);
  *ret = (struct param){
      .key = v.at_start ? v.key : NULL,
      .value_name = v.value_name,
      .help = v.help,
      .default_text = v.default_text,
      .allowed = v.allowed,
  };
  return true;
}

/* What can be changed when, and what is in force. */
void
params_tune_dump (unsigned nr_members)
{
  bool complete = params_tune_complete (nr_members) == 0;
  struct tunable_value v;

  for (unsigned i = 0; i < tunables_count (); i++) {
    tunables_at (tunables, i, &v);
    printf ("uraid_tunable_%s=%s\n", v.key, v.changes);
    if (complete)
      printf ("uraid_value_%s=%s\n", v.key, v.text);
  }
}

void
params_tune_debug (void)
{
  struct tunable_value v;

  for (unsigned i = 0; i < tunables_count (); i++) {
    tunables_at (tunables, i, &v);
    nbdkit_debug ("uraid: %s is %s (%s)", v.key, v.text, v.origin);
  }
}
