/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid stop: the server flushes, marks the array clean and ends.  When this
 * returns the server has let go of its members.  One thread, no locks.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>

#include "online.h"

static struct {
  uint64_t timeout_ms;
} opt = {.timeout_ms = 60000};

static int
say_stopped (struct tool *t, const struct online *o, json_t *result)
{
  json_t *stopped = json_object_get (result, "stopped");
  json_t *clean = json_object_get (result, "clean");

  if (!json_is_boolean (stopped) || !json_is_boolean (clean))
    return online_nonsense (t, o,
                            "\"stopped\" or \"clean\" is neither true nor "
                            "false");
  if (json_is_false (stopped))
    return tool_fail (t, TOOL_FAILED, EBUSY, "stop", o->shown, NULL,
                      "the server says that it has not stopped");
  if (t->json)
    return online_print_json (t, json_incref (result));
  printf ("stopped %s\n", o->shown);
  if (json_is_false (clean))
    tool_note (t, o->shown,
               "it could not be marked clean; see its log, and expect a "
               "resync when it is served again");
  return TOOL_OK;
}

static int
stop_run (struct tool *t)
{
  struct online_call c = {.method = "shutdown",
                          .timeout_code = ONLINE_TIMED_OUT,
                          .until_closed = true};
  struct online_refusal r;
  struct online o;
  json_t *result;
  int code;

  if (t->nr_args != 1)
    return tool_fail (t, TOOL_USAGE, EINVAL, "stop", NULL, NULL,
                      "exactly one array is wanted (a name or the path of a "
                      "control socket)");
  if (opt.timeout_ms == 0)
    return tool_fail (t, TOOL_FAILED, ERANGE, "--timeout", "0", "1s..1d",
                      "nothing stops at once");
  code = online_find (t, t->args[0], &o);
  if (code != TOOL_OK)
    return code;
  c.timeout_ms = opt.timeout_ms;
  code = online_call (t, &o, &c, &result, &r);
  if (code == ONLINE_REFUSED)
    return online_tell (t, TOOL_FAILED, "stop", o.shown, &r);
  if (code == TOOL_OK)
    code = say_stopped (t, &o, result);
  json_decref (result);
  return code;
}

static const struct tool_option stop_options[] = {
    {"timeout", 0, "TIME", opt_seconds, &opt.timeout_ms,
     "how long to wait (60s); then the exit status is 5"},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const struct verb verb_stop = {
    .name = "stop",
    .synopsis = "[OPTION]... ARRAY",
    .summary = "Stop serving an array, flushed and clean",
    .options = stop_options,
    .run = stop_run,
};
