/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The uraid command: finds the verb and runs it.  A verb is a word (uraid
 * create) or mdadm's option of the same meaning as the first word (uraid -C,
 * uraid --create).  One thread, no locks.
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online.h"

const struct verb *const verbs[] = {
    &verb_create, &verb_examine, &verb_query,  &verb_zero_superblock,
    &verb_probe,  &verb_status,  &verb_detail, &verb_get,
    &verb_set,    &verb_stop,    &verb_help,   &verb_version,
    NULL};

/* mdadm's words for ours.  EXTRA is an option put behind the verb. */
static const struct alias {
  const char *word;
  const struct verb *verb;
  const char *extra;
} aliases[] = {
    {"-C", &verb_create, NULL},
    {"--create", &verb_create, NULL},
    {"-E", &verb_examine, NULL},
    {"--examine", &verb_examine, NULL},
    {"-X", &verb_examine, "--bitmap"},
    {"--examine-bitmap", &verb_examine, "--bitmap"},
    {"--examine-badblocks", &verb_examine, "--badblocks"},
    {"-Q", &verb_query, NULL},
    {"--query", &verb_query, NULL},
    {"--zero-superblock", &verb_zero_superblock, NULL},
    {"--zero-superblocks", &verb_zero_superblock, NULL},
    {"--probe", &verb_probe, NULL},
    {"-D", &verb_detail, NULL},
    {"--detail", &verb_detail, NULL},
    {"-S", &verb_stop, NULL},
    {"--stop", &verb_stop, NULL},
    {"-h", &verb_help, NULL},
    {"--help", &verb_help, NULL},
    {"-V", &verb_version, NULL},
    {"--version", &verb_version, NULL},
};

static const struct verb *
find_verb (const char *word, const char **extra)
{
  size_t i;

  *extra = NULL;
  for (i = 0; verbs[i] != NULL; ++i)
    if (strcmp (verbs[i]->name, word) == 0)
      return verbs[i];
  for (i = 0; i < sizeof aliases / sizeof aliases[0]; ++i)
    if (strcmp (aliases[i].word, word) == 0) {
      *extra = aliases[i].extra;
      return aliases[i].verb;
    }
  return NULL;
}

/* "-1" is a value for uraid set, and no option of any verb. */
static bool
is_negative (const char *word)
{
  return word[0] == '-' && isdigit ((unsigned char)word[1]);
}

/* How many of the NR words in FROM are before the first negative number.  All
 * of them where somebody has taken care of it.
 */
static int
before_negative (int nr, char **from)
{
  int first = nr, i;

  for (i = nr - 1; i >= 0; --i) {
    if (strcmp (from[i], "--") == 0)
      return nr;
    if (is_negative (from[i]))
      first = i;
  }
  return first;
}

/* ARGV from the verb on, with EXTRA behind it.  When there is a negative
 * number for VERB, "--" goes before it, and options that come later before
 * that.
 */
static char **
verb_words (const struct verb *verb, int *argc, char **argv, const char *extra)
{
  const int plain =
      verb == &verb_set ? 2 + before_negative (*argc - 2, argv + 2) : *argc;
  char **words = calloc ((size_t)*argc + 3, sizeof *words);
  int n = 0, i;

  if (words == NULL)
    return NULL;
  words[n++] = argv[1];
  if (extra != NULL)
    words[n++] = (char *)extra;
  for (i = 2; i < *argc; ++i)
    if (i < plain || strncmp (argv[i], "--", 2) == 0)
      words[n++] = argv[i];
  if (plain < *argc)
    words[n++] = (char *)"--";
  for (i = plain; i < *argc; ++i)
    if (strncmp (argv[i], "--", 2) != 0)
      words[n++] = argv[i];
  *argc = n;
  return words;
}

int
main (int argc, char **argv)
{
  struct tool t;
  const struct verb *verb;
  const char *extra;
  char **words;
  int code;

  tool_init (&t);
  signal (SIGPIPE, SIG_IGN); /* a member that goes away is an error, no end */
  if (argc < 2)
    return tool_fail (&t, TOOL_USAGE, EINVAL, NULL, NULL, NULL,
                      "no verb given; see uraid help");
  verb = find_verb (argv[1], &extra);
  if (verb == NULL)
    return tool_fail (&t, TOOL_USAGE, EINVAL, NULL, argv[1], NULL,
                      "unknown verb; see uraid help");
  words = verb_words (verb, &argc, argv, extra);
  if (words == NULL)
    return tool_fail (&t, TOOL_FAILED, ENOMEM, NULL, NULL, NULL,
                      "out of memory");
  code = tool_parse (&t, verb, argc, words);
  if (code == TOOL_OK && t.help)
    tool_print_help (verb);
  else if (code == TOOL_OK)
    code = verb->run (&t);
  code = tool_finish (&t, code);
  free (words);
  return code;
}
