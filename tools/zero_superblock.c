/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid zero-superblock: erases md superblocks (0.90, 1.0, 1.1, 1.2, whole,
 * broken or at a wrong place) from members, and nothing else.  One thread, no
 * locks.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "erase.h"
#include "look.h"

static json_t *
ranges_json (const struct erase_range *ranges, size_t nr)
{
  json_t *list = json_array ();
  size_t i;

  for (i = 0; i < nr; ++i)
    json_array_append_new (list,
                           json_pack ("{s:s, s:I}", "what", ranges[i].what,
                                      "offset", (json_int_t)ranges[i].offset));
  return list;
}

static int
erase_one (struct tool *t, struct look *l, json_t *list)
{
  struct erase_range ranges[ERASE_MAX];
  struct uraid_error e = {.err = 0};
  size_t nr = 0, i;

  nr = erase_plan (l, false, ranges);
  if (nr > 0 && erase_write (l, ranges, nr, &e) < 0)
    return tool_fail (t, TOOL_FAILED, e.err, "zero-superblock", l->address,
                      NULL, "%s; it may be partly erased", e.text);
  if (t->json) {
    json_array_append_new (
        list, json_pack ("{s:o, s:o}", "address", tool_json_text (l->address),
                         "erased", ranges_json (ranges, nr)));
    return TOOL_OK;
  }
  if (nr == 0)
    printf ("%s: no md superblock, nothing erased\n", l->address);
  for (i = 0; i < nr; ++i)
    printf ("%s: erased %s at byte %" PRIu64 "\n", l->address, ranges[i].what,
            ranges[i].offset);
  return TOOL_OK;
}

/* All members are checked before the first one is written. */
static int
check_all (struct tool *t, struct look *l)
{
  int code = TOOL_OK;
  size_t i;

  for (i = 0; i < t->nr_args; ++i) {
    if (!l[i].readable)
      code = tool_worse (code, look_tell (t, &l[i], "zero-superblock"));
    else if (l[i].m->read_only)
      code = tool_worse (code,
                         tool_fail (t, TOOL_FAILED, EROFS, "zero-superblock",
                                    l[i].address, NULL, "read-only"));
  }
  if (code != TOOL_OK)
    tool_fail (t, code, EINVAL, "zero-superblock", NULL, NULL,
               "nothing was written");
  return code;
}

static int
zero_run (struct tool *t)
{
  struct look *l;
  json_t *list = NULL;
  int code;
  size_t i;

  if (t->nr_args == 0)
    return tool_fail (t, TOOL_USAGE, EINVAL, "zero-superblock", NULL, NULL,
                      "no member given (an NBD URI or a path)");
  l = look_open (t, t->args, t->nr_args, false);
  if (l == NULL)
    return TOOL_FAILED;
  code = check_all (t, l);
  if (code == TOOL_OK) {
    if (t->json)
      list = json_array ();
    for (i = 0; i < t->nr_args; ++i)
      code = tool_worse (code, erase_one (t, &l[i], list));
    if (t->json)
      code = tool_worse (
          code, tool_print_json (t, json_pack ("{s:o}", "members", list)));
  }
  look_free (l, t->nr_args);
  return code;
}

const struct verb verb_zero_superblock = {
    .name = "zero-superblock",
    .synopsis = "[OPTION]... MEMBER...",
    .summary = "Erase md superblocks from members",
    .run = zero_run,
};
