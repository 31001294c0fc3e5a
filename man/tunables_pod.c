/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Writes the tunables' part of nbdkit-uraid-plugin(1) from their table, when
 * the manual page is made:
 *   tunables_pod items       one =item each
 *   tunables_pod synopsis    [KEY=VALUE] ..., in lines of the SYNOPSIS
 * Not installed.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "control/tunables_table.h"

#define SYNOPSIS_INDENT 14
#define SYNOPSIS_WIDTH 78

static void
print_profiles (const struct tune_row *row)
{
  if (row->profile[PROFILE_STOCK] == NULL)
    return;
  printf ("Profile C<stock>: %s, C<tree>: %s.\n\n",
          row->profile[PROFILE_STOCK], row->profile[PROFILE_TREE]);
}

static void
print_item (const struct tune_row *row)
{
  if (tune_row_at_start (row))
    printf ("=item B<%s=>%s\n\n(default: %s)\n\n", row->key, row->value_name,
            row->default_text);
  else
    printf ("=item B<%s>\n\n", row->key);
  printf ("%s\n\n", row->pod);
  if (row->alias != NULL)
    printf ("Second spelling: B<%s=>%s.\n\n", row->alias, row->value_name);
  print_profiles (row);
  switch (row->changes) {
  case CHANGES_START:
    printf ("Allowed: %s.  Only at the start.\n\n", row->allowed);
    break;
  case CHANGES_RUN_TIME:
    printf ("Allowed: %s.  %s while serving.\n\n", row->allowed,
            tune_row_at_start (row) ? "Can be changed" : "Only");
    break;
  case CHANGES_NEVER:
    printf ("Read-only.\n\n");
    break;
  }
}

static void
print_items (void)
{
  for (int i = 0; i < TUNE_NR; i++)
    print_item (&tune_table[i]);
}

static void
print_synopsis (void)
{
  size_t column = SYNOPSIS_WIDTH;

  for (int i = 0; i < TUNE_NR; i++) {
    const struct tune_row *row = &tune_table[i];
    size_t len;

    if (!tune_row_at_start (row))
      continue;
    len = strlen (row->key) + strlen (row->value_name) + strlen (" [=]");
    if (column + len > SYNOPSIS_WIDTH) {
      printf ("%s%*s", column < SYNOPSIS_WIDTH ? "\n" : "",
              SYNOPSIS_INDENT - 1, "");
      column = SYNOPSIS_INDENT - 1;
    }
    printf (" [%s=%s]", row->key, row->value_name);
    column += len;
  }
  printf ("\n");
}

int
main (int argc, char *argv[])
{
  if (argc == 2 && strcmp (argv[1], "items") == 0)
    print_items ();
  else if (argc == 2 && strcmp (argv[1], "synopsis") == 0)
    print_synopsis ();
  else {
    fprintf (stderr, "usage: tunables_pod items|synopsis\n");
    return 1;
  }
  return ferror (stdout) != 0 || fflush (stdout) != 0;
}
