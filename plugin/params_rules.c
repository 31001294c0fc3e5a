/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Do the parameters fit together?  One function a rule; each says what to do.
 * Main thread, in .config_complete.
 */
#include <config.h>

#include "params_internal.h"

#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

static bool
is_missing (const char *word)
{
  return strcmp (word, "missing") == 0;
}

static int
rule_some_member (void)
{
  size_t i;

  for (i = 0; i < params.members.nr; i++)
    if (!is_missing (params.members.words[i]))
      return 0;
  nbdkit_error ("%s; give each as member=URI, or all as members=URI,URI,...",
                params.members.nr == 0 ? "no members given"
                                       : "all members given are \"missing\"");
  return -1;
}

static const char *
nth_address (size_t i)
{
  return i < params.members.nr ? params.members.words[i]
                               : params.spares.words[i - params.members.nr];
}

/* The same export under two names is found by its superblock. */
static int
rule_no_twins (void)
{
  size_t nr = params.members.nr + params.spares.nr, i, j;

  for (i = 0; i < nr; i++)
    for (j = 0; j < i; j++)
      if (!is_missing (nth_address (i)) &&
          strcmp (nth_address (i), nth_address (j)) == 0) {
        nbdkit_error ("%s is given twice; each member and spare may be given "
                      "once",
                      nth_address (i));
        return -1;
      }
  return 0;
}

/* Also checked when the member is made, but by then others were waited for. */
static int
rule_addresses (void)
{
  size_t nr = params.members.nr + params.spares.nr, i;
  struct array_options opt;
  struct uraid_error e;
  struct member *m;

  params_array_options (&opt);
  for (i = 0; i < nr; i++) {
    if (is_missing (nth_address (i)))
      continue;
    if (member_new (nth_address (i), &opt.member, &m, &e) < 0) {
      nbdkit_error ("%s: %s", i < params.members.nr ? "member" : "spare",
                    e.text);
      return -1;
    }
    member_free (m);
  }
  return 0;
}

static int
rule_tls (void)
{
  const char *key = params.tls_certificates != NULL ? "tls-certificates"
                    : params.tls_psk != NULL        ? "tls-psk"
                    : params.tls_username != NULL   ? "tls-username"
                                                    : NULL;

  if (params.tls == LIBNBD_TLS_DISABLE && key != NULL) {
    nbdkit_error ("tls=off and %s= contradict each other; leave one out", key);
    return -1;
  }
  if (params.tls_certificates != NULL && params.tls_psk != NULL) {
    nbdkit_error ("tls-certificates= and tls-psk= are two ways to prove who "
                  "one is; give one of them");
    return -1;
  }
  return 0;
}

static int
rule_degraded (void)
{
  if (params.start_dirty_degraded && !params.start_degraded) {
    nbdkit_error ("start-dirty-degraded=yes and start-degraded=no contradict "
                  "each other");
    return -1;
  }
  return 0;
}

static int
rule_layout (void)
{
  struct uraid_error e;
  uint32_t layout;

  if (params.level == 0 || params.layout == NULL ||
      geometry_layout_parse (params.level, params.layout, &layout, &e) == 0)
    return 0;
  nbdkit_error ("layout=%s with level=%d: %s", params.layout, params.level,
                e.text);
  return -1;
}

static int
rule_devices (void)
{
  if (params.level != 6 || params.raid_devices == 0 ||
      params.raid_devices >= 4)
    return 0;
  nbdkit_error ("raid-devices=%u with level=6: a RAID-6 has 4 to 253",
                (unsigned)params.raid_devices);
  return -1;
}

static int
rule_tunables (void)
{
  return params_tune_complete (params_nr_members ());
}

int
params_complete (void)
{
  static int (*const rules[]) (void) = {
      rule_some_member, rule_no_twins, rule_degraded, rule_layout,
      rule_devices,     rule_tls,      rule_tunables, rule_addresses,
  };
  size_t i;

  for (i = 0; i < sizeof rules / sizeof rules[0]; i++)
    if (rules[i]() == -1)
      return -1;
  return 0;
}
