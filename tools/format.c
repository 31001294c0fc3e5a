/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Sizes and dates as text, the way mdadm prints them, so that scripts which
 * read mdadm's output can read ours.  Pure functions, no locks.
 */
#include <config.h>

#include "common.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define KI UINT64_C (1024)
#define MI (KI * KI)
#define GI (KI * MI)
#define TI (KI * GI)

const char *
tool_size_text (uint64_t bytes, char buf[32])
{
  static const char units[] = "KMGT";
  int u = -1;

  while (u < 3 && bytes != 0 && bytes % KI == 0) {
    bytes /= KI;
    ++u;
  }
  if (u < 0)
    snprintf (buf, 32, "%" PRIu64 "b", bytes);
  else
    snprintf (buf, 32, "%" PRIu64 "%c", bytes, units[u]);
  return buf;
}

/* BYTES in hundredths of UNIT, to the nearest. */
static uint64_t
hundredths (uint64_t bytes, uint64_t unit)
{
  return (uint64_t)(((__uint128_t)bytes * 200 / unit + 1) / 2);
}

/* mdadm changes the unit at two of the next one and prints nothing below
 * 5000 KiB.
 */
const char *
tool_human (uint64_t bytes, char buf[64])
{
  static const struct {
    uint64_t below, binary, decimal;
    char letter;
  } steps[] = {
      {2 * GI, MI, UINT64_C (1000000), 'M'},
      {2 * TI, GI, UINT64_C (1000000000), 'G'},
      {UINT64_MAX, TI, UINT64_C (1000000000000), 'T'},
  };
  uint64_t b, d;
  size_t i = 0;

  buf[0] = '\0';
  if (bytes < 5000 * KI)
    return buf;
  while (bytes >= steps[i].below && i < 2)
    ++i;
  b = hundredths (bytes, steps[i].binary);
  d = hundredths (bytes, steps[i].decimal);
  snprintf (buf, 64, " (%" PRIu64 ".%02u %ciB %" PRIu64 ".%02u %cB)", b / 100,
            (unsigned)(b % 100), steps[i].letter, d / 100, (unsigned)(d % 100),
            steps[i].letter);
  return buf;
}

const char *
tool_human_brief (uint64_t bytes, char buf[32])
{
  uint64_t unit = UINT64_C (1000000000000), d;
  char letter = 'T';

  if (bytes < 5000 * KI) {
    unit = 1000;
    letter = 'K';
  }
  else if (bytes < 2 * GI) {
    unit = UINT64_C (1000000);
    letter = 'M';
  }
  else if (bytes < 2 * TI) {
    unit = UINT64_C (1000000000);
    letter = 'G';
  }
  d = hundredths (bytes, unit);
  snprintf (buf, 32, "%" PRIu64 ".%02u%cB", d / 100, (unsigned)(d % 100),
            letter);
  return buf;
}

const char *
tool_date (uint64_t seconds, char buf[32])
{
  time_t when = (time_t)seconds;
  struct tm tm;

  if (localtime_r (&when, &tm) == NULL ||
      strftime (buf, 32, "%a %b %e %H:%M:%S %Y", &tm) == 0)
    snprintf (buf, 32, "%" PRIu64, seconds);
  return buf;
}
