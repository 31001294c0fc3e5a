/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The state tables of runs and of the array: what the code allows is what the
 * comment at the top of the source says, no more and no less.  The comments
 * are read from the source tree (environment srcdir, else SRCDIR).
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "../../lib/array/array.h"
#include "../../lib/engine/engine_int.h"

#ifndef SRCDIR
#define SRCDIR "."
#endif

#define MAX_STATES 16

struct machine {
  const char *file;
  unsigned nr;
  const char *(*name) (unsigned s);
  bool (*legal) (unsigned from, unsigned to);
};

static const char *
run_name (unsigned s)
{
  return run_state_name ((enum run_state)s);
}

static bool
run_legal (unsigned from, unsigned to)
{
  return run_state_legal ((enum run_state)from, (enum run_state)to);
}

static const char *
array_name_of (unsigned s)
{
  return array_state_name ((enum array_state)s);
}

static bool
array_legal (unsigned from, unsigned to)
{
  return array_state_legal ((enum array_state)from, (enum array_state)to);
}

static const struct machine machines[] = {
    {"lib/engine/run.c", RUN_DONE + 1, run_name, run_legal},
    {"lib/array/state.c", ARRAY_STOPPED + 1, array_name_of, array_legal},
};

/* READ_AUTO in a comment is "read-auto" by name. */
static bool
same (const char *word, const char *name)
{
  for (; *word != 0 && *name != 0; word++, name++) {
    char a = *word, b = *name;

    if (a >= 'a' && a <= 'z')
      a = (char)(a - 'a' + 'A');
    if (b >= 'a' && b <= 'z')
      b = (char)(b - 'a' + 'A');
    if (a != b && !(a == '_' && b == '-'))
      return false;
  }
  return *word == *name;
}

static int
find (const struct machine *m, const char *word)
{
  for (unsigned i = 0; i < m->nr; i++)
    if (same (word, m->name (i)))
      return (int)i;
  return -1;
}

static FILE *
open_source (const struct machine *m)
{
  const char *dir = getenv ("srcdir");
  char path[4096];
  FILE *f;

  snprintf (path, sizeof path, "%s/%s", dir != NULL ? dir : SRCDIR, m->file);
  f = fopen (path, "r");
  ck_assert_msg (f != NULL, "cannot open %s", path);
  return f;
}

/* Lines " * FROM TO who when" after " * from to who when", up to an empty
 * one.  Returns how many.
 */
static unsigned
read_table (const struct machine *m, bool table[MAX_STATES][MAX_STATES])
{
  FILE *f = open_source (m);
  char line[512], from[64], to[64], who[64], when[64];
  bool inside = false;
  unsigned nr = 0;

  while (fgets (line, sizeof line, f) != NULL) {
    int got = sscanf (line, " * %63s %63s %63s %63s", from, to, who, when);

    if (!inside) {
      inside =
          got == 4 && strcmp (from, "from") == 0 && strcmp (to, "to") == 0;
      continue;
    }
    if (got < 1)
      break;
    ck_assert_msg (got == 4, "%s: not a row: %s", m->file, line);
    ck_assert_msg (find (m, from) >= 0, "%s: no state %s", m->file, from);
    ck_assert_msg (find (m, to) >= 0, "%s: no state %s", m->file, to);
    ck_assert_msg (!table[find (m, from)][find (m, to)], "%s: twice: %s",
                   m->file, line);
    table[find (m, from)][find (m, to)] = true;
    nr++;
  }
  fclose (f);
  return nr;
}

START_TEST (table_is_comment)
{
  const struct machine *m = &machines[_i];
  bool table[MAX_STATES][MAX_STATES] = {{false}};

  ck_assert_uint_le (m->nr, MAX_STATES);
  ck_assert_uint_gt (read_table (m, table), m->nr - 2);
  for (unsigned from = 0; from < m->nr; from++)
    for (unsigned to = 0; to < m->nr; to++)
      ck_assert_msg (m->legal (from, to) == table[from][to],
                     "%s: %s -> %s is %s by the code, not by the comment",
                     m->file, m->name (from), m->name (to),
                     m->legal (from, to) ? "legal" : "illegal");
}
END_TEST

/* From the first state all are reached; nothing leaves the last. */
START_TEST (connected)
{
  const struct machine *m = &machines[_i];
  bool reached[MAX_STATES] = {true};

  for (unsigned round = 0; round < m->nr; round++)
    for (unsigned from = 0; from < m->nr; from++)
      for (unsigned to = 0; to < m->nr; to++)
        if (reached[from] && m->legal (from, to))
          reached[to] = true;
  for (unsigned s = 0; s < m->nr; s++) {
    ck_assert_msg (reached[s], "%s: %s is never reached", m->file,
                   m->name (s));
    ck_assert (!m->legal (m->nr - 1, s));
  }
}
END_TEST

static Suite *
make_suite (void)
{
  int nr = (int)(sizeof machines / sizeof machines[0]);
  Suite *s = suite_create ("run-states");
  TCase *t = tcase_create ("tables");

  tcase_add_loop_test (t, table_is_comment, 0, nr);
  tcase_add_loop_test (t, connected, 0, nr);
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *runner = srunner_create (make_suite ());
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
