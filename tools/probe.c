/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * uraid probe: is an export fit to be a member?  What its server offers, how
 * long a small read takes, how fast long reads are, and what lies on it.
 * Reads only.  One thread, no locks.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/member/sync_io.h"
#include "look.h"

#define LATENCY_READS 16
#define LATENCY_BYTES 4096
#define BANDWIDTH_READS 4
#define BANDWIDTH_BYTES (1024 * 1024)

struct probe {
  struct look *l;
  const char *verdict; /* "fit", "fit, emulated FUA", "unfit" */
  char reason[2304];   /* for what is not simply "fit" */
  uint64_t latency_ns; /* 0 = not measured */
  uint64_t bandwidth;  /* bytes a second, 0 = not measured */
};

/* --- measuring ---------------------------------------------------------- */

static uint64_t
now_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int
compare_u64 (const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

/* The median time of small reads that are spread over the member. */
static int
measure_latency (struct probe *p, uint8_t *buf, struct uraid_error *e)
{
  const uint64_t blocks = p->l->dev_bytes / LATENCY_BYTES;
  uint64_t t[LATENCY_READS], start;
  unsigned i;
  int r;

  if (blocks == 0)
    return 0;
  for (i = 0; i < LATENCY_READS; ++i) {
    start = now_ns ();
    r = member_pread (p->l->m, buf, LATENCY_BYTES,
                      blocks / LATENCY_READS * i * LATENCY_BYTES, e);
    if (r < 0)
      return r;
    t[i] = now_ns () - start;
  }
  qsort (t, LATENCY_READS, sizeof t[0], compare_u64);
  p->latency_ns = (t[LATENCY_READS / 2 - 1] + t[LATENCY_READS / 2]) / 2;
  return 0;
}

static int
measure_bandwidth (struct probe *p, uint8_t *buf, struct uraid_error *e)
{
  const uint64_t start = now_ns ();
  uint64_t offset = 0, ns;
  unsigned i;
  int r;

  if (p->l->dev_bytes < BANDWIDTH_BYTES)
    return 0;
  for (i = 0; i < BANDWIDTH_READS; ++i) {
    if (offset + BANDWIDTH_BYTES > p->l->dev_bytes)
      offset = 0;
    r = member_pread (p->l->m, buf, BANDWIDTH_BYTES, offset, e);
    if (r < 0)
      return r;
    offset += BANDWIDTH_BYTES;
  }
  ns = now_ns () - start;
  p->bandwidth =
      (uint64_t)BANDWIDTH_READS * BANDWIDTH_BYTES * 1000000 / (ns / 1000 + 1);
  return 0;
}

/* --- verdict ------------------------------------------------------------ */

static void __attribute__ ((format (printf, 3, 4)))
set_verdict (struct probe *p, const char *verdict, const char *fmt, ...)
{
  va_list ap;

  p->verdict = verdict;
  va_start (ap, fmt);
  vsnprintf (p->reason, sizeof p->reason, fmt, ap);
  va_end (ap);
}

static void
judge (struct probe *p)
{
  const struct member *m = p->l->m;

  if (m->read_only)
    set_verdict (p, "unfit", "the export is read-only");
  else if (p->l->dev_sectors < SB1_MIN_DEV_SECTORS)
    set_verdict (p, "unfit",
                 "too small: %" PRIu64 " bytes, needed at least %d",
                 p->l->dev_bytes, SB1_MIN_DEV_SECTORS * 512);
  else if (!m->can_flush && !m->can_fua)
    set_verdict (p, "unfit",
                 "neither flush nor FUA: writes cannot be made durable");
  else if (!m->can_fua)
    set_verdict (p, "fit", "FUA is emulated by flushes");
  else if (!m->can_multi_conn)
    set_verdict (p, "fit", "one connection only (no multi-conn)");
  else
    set_verdict (p, "fit", "%s", "");
}

static void
probe_one (struct probe *p)
{
  struct uraid_error e = {.err = 0};
  uint8_t *buf;

  if (!p->l->readable) {
    set_verdict (p, "unfit", "%s", look_why (p->l));
    return;
  }
  judge (p);
  buf = malloc (BANDWIDTH_BYTES);
  if (buf == NULL || measure_latency (p, buf, &e) < 0 ||
      measure_bandwidth (p, buf, &e) < 0)
    set_verdict (p, "unfit", "%s", buf == NULL ? "out of memory" : e.text);
  free (buf);
}

/* --- output ------------------------------------------------------------- */

static void
describe_content (const struct look *l, char *buf, size_t len)
{
  const struct sb1 *sb = look_sb (l);
  char name[33];

  if (sb != NULL)
    snprintf (buf, len, "md member of \"%s\"%s", look_name (sb, name),
              look_sb_valid (l) ? "" : " (broken)");
  else if (l->nr_signatures > 0)
    snprintf (buf, len, "%s%s", l->signatures[0].name,
              l->nr_signatures > 1 ? " and more" : "");
  else
    snprintf (buf, len, "nothing known");
}

static void
print_one (const struct probe *p)
{
  const struct look *l = p->l;
  const struct member *m = l->m;
  char size[32] = "-", latency[32] = "-", speed[32] = "-", max[32] = "";
  char content[128] = "";

  if (l->readable)
    tool_human_brief (l->dev_bytes, size);
  if (p->latency_ns > 0)
    snprintf (latency, sizeof latency, "%" PRIu64 " us",
              (p->latency_ns + 500) / 1000);
  if (p->bandwidth > 0)
    snprintf (speed, sizeof speed, "%" PRIu64 " MB/s",
              (p->bandwidth + 500000) / 1000000);
  printf ("%-7s %11s %9s %10s", p->verdict, size, latency, speed);
  if (l->readable)
    printf ("  %" PRIu32 "/%-5s%s%s%s%s%s%s", m->min_block,
            tool_size_text (m->max_block, max), m->read_only ? " RO" : "",
            m->can_flush ? " flush" : "", m->can_fua ? " fua" : "",
            m->can_zero ? " zero" : "", m->can_trim ? " trim" : "",
            m->can_multi_conn ? " multi" : "");
  printf ("\n        %s\n", l->address);
  if (l->readable) {
    describe_content (l, content, sizeof content);
    printf ("        holds: %s\n", content);
  }
  if (p->reason[0] != '\0')
    printf ("        %s\n", p->reason);
}

static json_t *
probe_json (const struct probe *p)
{
  const struct look *l = p->l;
  const struct member *m = l->m;
  char content[128];
  json_t *o = json_object ();

  json_object_set_new (o, "address", tool_json_text (l->address));
  json_object_set_new (o, "verdict", json_string (p->verdict));
  json_object_set_new (o, "reason", tool_json_text (p->reason));
  json_object_set_new (o, "reachable", json_boolean (l->readable));
  if (!l->readable)
    return o;
  describe_content (l, content, sizeof content);
  json_object_set_new (o, "holds", tool_json_text (content));
  json_object_set_new (o, "size", json_integer ((json_int_t)l->dev_bytes));
  json_object_set_new (o, "read_only", json_boolean (m->read_only));
  json_object_set_new (o, "flush", json_boolean (m->can_flush));
  json_object_set_new (o, "fua", json_boolean (m->can_fua));
  json_object_set_new (o, "zero", json_boolean (m->can_zero));
  json_object_set_new (o, "trim", json_boolean (m->can_trim));
  json_object_set_new (o, "multi_conn", json_boolean (m->can_multi_conn));
  json_object_set_new (o, "min_block", json_integer (m->min_block));
  json_object_set_new (o, "max_block", json_integer (m->max_block));
  json_object_set_new (o, "latency_us",
                       json_real ((double)p->latency_ns / 1000));
  json_object_set_new (o, "bandwidth",
                       json_integer ((json_int_t)p->bandwidth));
  return o;
}

static int
probe_print (struct tool *t, const struct probe *p)
{
  json_t *list;
  size_t i;

  if (!t->json) {
    printf ("%-7s %11s %9s %10s  %s\n", "Verdict", "Size", "Latency",
            "Bandwidth", "Blocks    Offers");
    for (i = 0; i < t->nr_args; ++i)
      print_one (&p[i]);
    return TOOL_OK;
  }
  list = json_array ();
  for (i = 0; i < t->nr_args; ++i)
    json_array_append_new (list, probe_json (&p[i]));
  return tool_print_json (t, json_pack ("{s:o}", "members", list));
}

static int
probe_run (struct tool *t)
{
  struct probe *p;
  struct look *l;
  int code;
  size_t i;

  if (t->nr_args == 0)
    return tool_fail (t, TOOL_USAGE, EINVAL, "probe", NULL, NULL,
                      "no member given (an NBD URI or a path)");
  p = calloc (t->nr_args, sizeof *p);
  l = look_open (t, t->args, t->nr_args, false);
  if (p == NULL || l == NULL) {
    free (p);
    return TOOL_FAILED;
  }
  for (i = 0; i < t->nr_args; ++i) {
    p[i].l = &l[i];
    probe_one (&p[i]);
  }
  code = probe_print (t, p);
  for (i = 0; i < t->nr_args; ++i)
    if (strcmp (p[i].verdict, "unfit") == 0)
      code = tool_worse (code, TOOL_UNFIT);
  look_free (l, t->nr_args);
  free (p);
  return code;
}

const struct verb verb_probe = {
    .name = "probe",
    .synopsis = "[OPTION]... MEMBER...",
    .summary = "Say whether exports are fit to be members",
    .run = probe_run,
};
