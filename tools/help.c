/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid help and uraid version.  One thread, no locks.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

static int
help_json (struct tool *t)
{
  json_t *o = json_object (), *list = json_array ();
  size_t i;

  for (i = 0; verbs[i] != NULL; ++i)
    json_array_append_new (
        list, json_pack ("{s:s, s:s, s:s}", "name", verbs[i]->name, "synopsis",
                         verbs[i]->synopsis, "summary", verbs[i]->summary));
  json_object_set_new (o, "verbs", list);
  return tool_print_json (t, o);
}

static int
help_run (struct tool *t)
{
  size_t i;

  if (t->nr_args > 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "help", t->args[1], "one verb",
                      "too many words");
  if (t->json)
    return help_json (t);
  if (t->nr_args == 0) {
    printf ("usage: uraid VERB [OPTION]... [ARGUMENT]...\n\nVerbs:\n");
    for (i = 0; verbs[i] != NULL; ++i)
      printf ("  %-16s %s\n", verbs[i]->name, verbs[i]->summary);
    printf ("\nA MEMBER is an NBD URI or the path of a file or block device.\n"
            "An ARRAY is its name, or the path of its control socket.\n"
            "uraid help VERB explains one verb, uraid(8) everything.\n");
    return TOOL_OK;
  }
  for (i = 0; verbs[i] != NULL; ++i)
    if (strcmp (verbs[i]->name, t->args[0]) == 0) {
      tool_print_help (verbs[i]);
      return TOOL_OK;
    }
  return tool_fail (t, TOOL_USAGE, EINVAL, "help", t->args[0], NULL,
                    "unknown verb; see uraid help");
}

/* The widest instructions that ISA-L will pick on this machine. */
static const char *
simd_name (void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports ("avx512bw"))
    return "avx512";
  if (__builtin_cpu_supports ("avx2"))
    return "avx2";
  if (__builtin_cpu_supports ("avx"))
    return "avx";
  return "sse";
#elif defined(__aarch64__)
  return "neon";
#else
  return "none";
#endif
}

static int
version_run (struct tool *t)
{
  if (t->nr_args > 0)
    return tool_fail (t, TOOL_USAGE, EINVAL, "version", t->args[0], NULL,
                      "takes no argument");
  if (t->json)
    return tool_print_json (
        t, json_pack ("{s:s, s:s, s:[sss], s:[sss]}", "version",
                      PACKAGE_VERSION, "simd", simd_name (), "formats", "1.0",
                      "1.1", "1.2", "levels", "raid4", "raid5", "raid6"));
  printf ("uraid %s\n"
          "metadata 1.0, 1.1, 1.2; levels 4, 5, 6; parity with %s\n",
          PACKAGE_VERSION, simd_name ());
  return TOOL_OK;
}

const struct verb verb_help = {
    .name = "help",
    .synopsis = "[VERB]",
    .summary = "Explain the verbs",
    .run = help_run,
};

const struct verb verb_version = {
    .name = "version",
    .synopsis = "",
    .summary = "Print the version",
    .run = version_run,
};
