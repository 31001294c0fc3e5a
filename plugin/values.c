/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Texts of the command line into numbers; see values.h.
 */
#include <config.h>

#include "values.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define FRACTION_DIGITS 3
#define LONGEST_WORD 64

/* The digits at *TEXT; moves it behind them. */
static int
take_digits (const char **text, uint64_t *ret)
{
  const char *p = *text;
  uint64_t n = 0;

  if (*p < '0' || *p > '9')
    return -EINVAL;
  for (; *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow (n, 10u, &n) ||
        __builtin_add_overflow (n, (uint64_t)(*p - '0'), &n))
      return -EINVAL;
  *text = p;
  *ret = n;
  return 0;
}

int
value_uint (const char *text, uint64_t *ret)
{
  uint64_t n;

  if (take_digits (&text, &n) < 0 || *text != '\0')
    return -EINVAL;
  *ret = n;
  return 0;
}

int
value_bool (const char *text, bool *ret)
{
  static const char *const words[][2] = {
      {"0", "1"},    {"false", "true"}, {"f", "t"},
      {"no", "yes"}, {"n", "y"},        {"off", "on"},
  };
  size_t i;
  int b;

  for (i = 0; i < sizeof words / sizeof words[0]; i++)
    for (b = 0; b < 2; b++)
      if (strcasecmp (text, words[i][b]) == 0) {
        *ret = b != 0;
        return 0;
      }
  return -EINVAL;
}

int
value_size (const char *text, uint64_t *ret_bytes)
{
  static const char units[] = "bkmgtpe";
  uint64_t n, factor = 1;
  const char *unit;
  char letter;

  if (take_digits (&text, &n) < 0)
    return -EINVAL;
  if (*text != '\0') {
    letter = (char)(*text | 0x20);
    unit = strchr (units, letter);
    if (letter == 's')
      factor = 512;
    else if (unit != NULL)
      factor = UINT64_C (1) << (10 * (unit - units));
    else
      return -EINVAL;
    if (text[1] != '\0')
      return -EINVAL;
  }
  if (__builtin_mul_overflow (n, factor, &n) || n > INT64_MAX)
    return -EINVAL;
  *ret_bytes = n;
  return 0;
}

/* The digits behind a dot as thousandths. */
static int
take_fraction (const char **text, uint64_t *ret)
{
  const char *p = *text;
  uint64_t n = 0;
  int digits;

  for (digits = 0; *p >= '0' && *p <= '9'; p++, digits++)
    n = n * 10 + (uint64_t)(*p - '0');
  if (digits < 1 || digits > FRACTION_DIGITS)
    return -EINVAL;
  for (; digits < FRACTION_DIGITS; digits++)
    n *= 10;
  *text = p;
  *ret = n;
  return 0;
}

int
value_duration_ms (const char *text, uint64_t *ret_ms)
{
  static const struct {
    char letter;
    uint64_t seconds;
  } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  uint64_t n, fraction = 0, factor = 1;
  size_t i;

  if (take_digits (&text, &n) < 0)
    return -EINVAL;
  if (*text == '.') {
    text++;
    if (take_fraction (&text, &fraction) < 0)
      return -EINVAL;
  }
  for (i = 0; i < sizeof units / sizeof units[0] && *text != '\0'; i++)
    if (*text == units[i].letter) {
      factor = units[i].seconds;
      text++;
      break;
    }
  if (*text != '\0' || __builtin_mul_overflow (n, 1000u, &n) ||
      __builtin_add_overflow (n, fraction, &n) ||
      __builtin_mul_overflow (n, factor, &n))
    return -EINVAL;
  *ret_ms = n;
  return 0;
}

static char
word_letter (char c)
{
  return c == '-' ? '_' : c;
}

static unsigned
least (unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* The usual table of edit distances, one row at a time. */
unsigned
value_distance (const char *a, const char *b)
{
  unsigned row[LONGEST_WORD + 1], corner, above;
  size_t la = strlen (a), lb = strlen (b), i, j;

  if (lb > LONGEST_WORD || la > LONGEST_WORD)
    return UINT32_MAX;
  for (j = 0; j <= lb; j++)
    row[j] = (unsigned)j;
  for (i = 1; i <= la; i++) {
    corner = row[0];
    row[0] = (unsigned)i;
    for (j = 1; j <= lb; j++) {
      above = row[j];
      row[j] =
          least (least (above, row[j - 1]) + 1,
                 corner + (word_letter (a[i - 1]) != word_letter (b[j - 1])));
      corner = above;
    }
  }
  return row[lb];
}
