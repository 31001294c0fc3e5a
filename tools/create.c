/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid create: the command line and its values.  The steps are in
 * create_*.c (see create.h).  One thread, no locks.
 */
#include <config.h>

#include "create.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../lib/md_layout/geometry.h"

#define MIN_CHUNK_BYTES 4096
#define MAX_NAME_BYTES 31

static struct create_options o;

static const struct tool_option options[] = {
    {"level", 'l', "LEVEL", opt_string, &o.level, "4, 5 or 6; must be given"},
    {"raid-devices", 'n', "N", opt_count, &o.raid_devices,
     "number of slots; must be given"},
    {"spare-devices", 'x', "N", opt_count, &o.spare_devices,
     "number of spares (0)"},
    {"chunk", 'c', "SIZE", opt_size, &o.chunk_bytes, "chunk size (512K)"},
    {"layout", 'p', "LAYOUT", opt_string, &o.layout,
     "where parity goes (left-symmetric)"},
    {"metadata", 'e', "VERSION", opt_string, &o.metadata,
     "1.0, 1.1 or 1.2 (1.2)"},
    {"bitmap", 'b', "WHERE", opt_string, &o.bitmap,
     "none or internal (as mdadm: by size)"},
    {"bitmap-chunk", 0, "SIZE", opt_size, &o.bitmap_chunk_bytes,
     "what one bit stands for (64M or more)"},
    {"size", 'z', "SIZE", opt_string, &o.size,
     "how much of each member to use (max)"},
    {"data-offset", 0, "SIZE", opt_string, &o.data_offset,
     "where data begins on each member"},
    {"uuid", 'u', "UUID", opt_string, &o.uuid, "array UUID (random)"},
    {"name", 'N', "NAME", opt_string, &o.name,
     "name in the superblock (NAME)"},
    {"homehost", 0, "HOST", opt_string, &o.homehost,
     "host in the name (this host; <none>)"},
    {"assume-clean", 0, NULL, opt_flag, &o.assume_clean,
     "take parity as right: no first sync"},
    {"force", 'f', NULL, opt_flag, &o.force,
     "overwrite what lies on the members"},
    {"run", 'R', NULL, opt_ignore, NULL, "ignored (nothing is ever asked)"},
    {"quiet", 'q', NULL, opt_ignore, NULL, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

/* --- values ------------------------------------------------------------- */

static int
check_level (struct create *c)
{
  static const struct {
    const char *word;
    int level;
  } words[] = {
      {"4", 4}, {"raid4", 4}, {"5", 5}, {"raid5", 5}, {"6", 6}, {"raid6", 6},
  };
  size_t i;

  if (o.level == NULL)
    return tool_fail (c->t, TOOL_USAGE, EINVAL, "create", NULL, "4, 5, 6",
                      "--level is missing");
  for (i = 0; i < sizeof words / sizeof words[0]; ++i)
    if (strcmp (words[i].word, o.level) == 0)
      c->level = words[i].level;
  if (c->level == 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--level", o.level, "4, 5, 6",
                      "not supported");
  return TOOL_OK;
}

static int
check_metadata (struct create *c)
{
  const char *m = o.metadata;

  if (m == NULL || strcmp (m, "1.2") == 0 || strcmp (m, "1") == 0 ||
      strcmp (m, "default") == 0)
    c->in.minor = 2;
  else if (strcmp (m, "1.1") == 0)
    c->in.minor = 1;
  else if (strcmp (m, "1.0") == 0)
    c->in.minor = 0;
  else
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--metadata", m,
                      "1.0, 1.1, 1.2", "not supported");
  return TOOL_OK;
}

static int
check_chunk (struct create *c)
{
  char text[32];

  if (o.chunk_bytes == 0)
    o.chunk_bytes = 512 * 1024;
  /* sizing knows the upper limit */
  if (o.chunk_bytes < MIN_CHUNK_BYTES ||
      (o.chunk_bytes & (o.chunk_bytes - 1)) != 0 ||
      o.chunk_bytes / 1024 > UINT32_MAX)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--chunk",
                      tool_size_text (o.chunk_bytes, text),
                      "a power of two from 4K", "not a chunk size");
  c->in.chunk_kib = (uint32_t)(o.chunk_bytes / 1024);
  return TOOL_OK;
}

static int
check_layout (struct create *c)
{
  struct uraid_error e = {.err = 0};

  c->layout = c->level == 4 ? 0 : 2;
  if (o.layout == NULL)
    return TOOL_OK;
  if (geometry_layout_parse (c->level, o.layout, &c->layout, &e) < 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--layout", o.layout, NULL,
                      "%s", e.text);
  if (!geometry_layout_creatable (c->level, c->layout))
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--layout", o.layout,
                      "the layouts without -6",
                      "create does not make this layout, though it is served");
  return TOOL_OK;
}

static int
check_bitmap (struct create *c)
{
  char text[32];

  if (o.bitmap == NULL)
    c->in.bitmap =
        o.bitmap_chunk_bytes ? SIZING_BITMAP_INTERNAL : SIZING_BITMAP_AUTO;
  else if (strcmp (o.bitmap, "none") == 0)
    c->in.bitmap = SIZING_BITMAP_NONE;
  else if (strcmp (o.bitmap, "internal") == 0)
    c->in.bitmap = SIZING_BITMAP_INTERNAL;
  else
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--bitmap", o.bitmap,
                      "none, internal", "not supported");
  if (o.bitmap_chunk_bytes == 0)
    return TOOL_OK;
  if (c->in.bitmap == SIZING_BITMAP_NONE)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--bitmap-chunk", NULL, NULL,
                      "makes no sense with --bitmap=none");
  if (o.bitmap_chunk_bytes < MIN_CHUNK_BYTES ||
      (o.bitmap_chunk_bytes & (o.bitmap_chunk_bytes - 1)) != 0 ||
      o.bitmap_chunk_bytes > UINT32_C (1) << 31)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--bitmap-chunk",
                      tool_size_text (o.bitmap_chunk_bytes, text),
                      "a power of two, 4K..2G", "not a bitmap chunk size");
  c->in.bitmap_chunk_bytes = (uint32_t)o.bitmap_chunk_bytes;
  return TOOL_OK;
}

/* --size and --data-offset: a size in whole units of UNIT bytes, or WORD. */
static int
check_size_word (struct create *c, const char *option, const char *value,
                 const char *word, uint64_t unit, uint64_t *ret_bytes)
{
  static const char *const allowed[] = {
      "max, or a size in whole KiB such as 10G",
      "default, or a size in whole KiB such as 1M"};
  const char *a = allowed[word[0] == 'd'];
  int r;

  *ret_bytes = UINT64_MAX;
  if (value == NULL || strcmp (value, word) == 0)
    return TOOL_OK;
  r = tool_parse_size (value, ret_bytes);
  if (r == -ERANGE)
    return tool_fail (c->t, TOOL_FAILED, ERANGE, option, value, a,
                      "too large");
  if (r < 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, option, value, a,
                      "not a size with its unit");
  if (*ret_bytes % unit != 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, option, value, a,
                      "not a multiple of %" PRIu64 " bytes", unit);
  return TOOL_OK;
}

static int
check_sizes (struct create *c)
{
  uint64_t bytes;
  int code;

  code = check_size_word (c, "--size", o.size, "max", 1024, &bytes);
  if (code != TOOL_OK)
    return code;
  if (bytes == 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--size", o.size, NULL,
                      "not a usable size");
  c->in.size_kib = bytes == UINT64_MAX ? 0 : bytes / 1024;
  code = check_size_word (c, "--data-offset", o.data_offset, "default", 1024,
                          &bytes);
  c->in.data_offset_sectors = bytes == UINT64_MAX ? UINT64_MAX : bytes / 512;
  return code;
}

/* Level, layout, chunk and number of slots go together. */
static int
check_geometry (struct create *c)
{
  struct geometry g = {.level = 0};
  struct uraid_error e = {.err = 0};
  char text[16];
  int r;

  if (o.raid_devices == 0)
    return tool_fail (c->t, TOOL_USAGE, EINVAL, "create", NULL,
                      c->level == 6 ? "4..253" : "2..253",
                      "--raid-devices is missing, or 0");
  snprintf (text, sizeof text, "%u", o.raid_devices);
  r = geometry_init (&g, c->level, c->layout, o.raid_devices,
                     (uint32_t)(o.chunk_bytes / 512), o.chunk_bytes / 512, &e);
  geometry_done (&g);
  if (r < 0)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "--raid-devices", text, NULL,
                      "%s", e.text);
  return TOOL_OK;
}

/* --- identity ----------------------------------------------------------- */

static int
check_name_word (struct create *c, const char *what, const char *name)
{
  const char *p;

  for (p = name; *p != '\0'; ++p)
    if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '/' || *p == '"' ||
        *p == '\'')
      break;
  if (*p != '\0' || *name == '\0' || strlen (name) > MAX_NAME_BYTES)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, what, name,
                      "1..31 bytes without spaces, quotes and slashes",
                      "not a usable name");
  return TOOL_OK;
}

/* "host:name" if it fits; see md-format in the manual. */
static int
check_name (struct create *c)
{
  const char *name = o.name != NULL ? o.name : c->t->args[0];
  char host[256] = "";
  int code;

  code = check_name_word (c, o.name != NULL ? "--name" : "create", name);
  if (code != TOOL_OK)
    return code;
  if (o.homehost == NULL) {
    if (gethostname (host, sizeof host - 1) < 0)
      host[0] = '\0';
  }
  else if (*o.homehost != '\0' && strcasecmp (o.homehost, "<none>") != 0 &&
           strcasecmp (o.homehost, "<ignore>") != 0) {
    code = check_name_word (c, "--homehost", o.homehost);
    if (code != TOOL_OK)
      return code;
    snprintf (host, sizeof host, "%s", o.homehost);
  }
  if (host[0] != '\0' && strchr (name, ':') == NULL &&
      strlen (host) + 1 + strlen (name) < 32)
    strcpy (stpcpy (stpcpy (c->set_name, host), ":"), name); /* it fits */
  else
    snprintf (c->set_name, sizeof c->set_name, "%.31s", name);
  return TOOL_OK;
}

static int
check_uuid (struct create *c)
{
  if (o.uuid != NULL) {
    if (sb1_uuid_parse (o.uuid, c->uuid) < 0)
      return tool_fail (c->t, TOOL_FAILED, EINVAL, "--uuid", o.uuid,
                        "32 hexadecimal digits, colons or dashes between",
                        "not a UUID");
    return TOOL_OK;
  }
  if (getrandom (c->uuid, sizeof c->uuid, 0) != sizeof c->uuid)
    return tool_fail (c->t, TOOL_FAILED, errno, "create", NULL, NULL,
                      "no random numbers: %s", strerror (errno));
  return TOOL_OK;
}

static int
check_list (struct create *c)
{
  const size_t given = c->t->nr_args - 1;
  char text[24];
  unsigned i;

  c->nr_listed = o.raid_devices + o.spare_devices;
  snprintf (text, sizeof text, "%zu", given);
  if (given != c->nr_listed)
    return tool_fail (c->t, TOOL_FAILED, EINVAL, "create", text, NULL,
                      "members were given, but --raid-devices and "
                      "--spare-devices together say %u; write the word "
                      "missing for one that is absent",
                      c->nr_listed);
  c->list = calloc (c->nr_listed, sizeof *c->list);
  if (c->list == NULL)
    return tool_fail (c->t, TOOL_FAILED, ENOMEM, "create", NULL, NULL,
                      "out of memory");
  for (i = 0; i < c->nr_listed; ++i) {
    c->list[i].address = c->t->args[1 + i];
    c->list[i].missing = strcmp (c->list[i].address, "missing") == 0;
    if (c->list[i].missing && i >= o.raid_devices)
      return tool_fail (c->t, TOOL_FAILED, EINVAL, "create", "missing", NULL,
                        "a spare cannot be missing");
  }
  return TOOL_OK;
}

static int
check_options (struct create *c)
{
  static int (*const checks[]) (struct create *) = {
      check_level, check_metadata, check_chunk, check_layout, check_bitmap,
      check_sizes, check_geometry, check_name,  check_uuid,   check_list};
  size_t i;
  int code;

  if (c->t->nr_args == 0)
    return tool_fail (c->t, TOOL_USAGE, EINVAL, "create", NULL, NULL,
                      "the name of the array is missing");
  for (i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
    code = checks[i](c);
    if (code != TOOL_OK)
      return code;
  }
  return TOOL_OK;
}

/* --- the verb ----------------------------------------------------------- */

static void
create_done (struct create *c)
{
  unsigned i;

  for (i = 0; c->list != NULL && i < c->nr_listed; ++i)
    free (c->list[i].sb);
  free (c->list);
  free (c->dev_sectors);
  look_free (c->looks, c->nr_looks);
}

static int
create_run (struct tool *t)
{
  static int (*const steps[]) (struct create *) = {
      check_options, create_check_members, create_plan, create_write,
      create_report};
  struct create c;
  size_t i;
  int code = TOOL_OK;

  memset (&c, 0, sizeof c);
  c.t = t;
  c.rebuilt = -1;
  c.ctime = (uint64_t)time (NULL);
  for (i = 0; code == TOOL_OK && i < sizeof steps / sizeof steps[0]; ++i) {
    code = steps[i](&c);
    c.opt = o; /* final after the first step */
  }
  create_done (&c);
  return code;
}

const struct verb verb_create = {
    .name = "create",
    .synopsis = "NAME --level=L --raid-devices=N [OPTION...] MEMBER...",
    .summary = "Make a new array (MEMBER may be the word missing)",
    .options = options,
    .run = create_run,
};
