/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * One parser for each kind of parameter.  Each says, when it refuses, which
 * key, which value and what is allowed.  Main thread, before the fork.
 */
#include <config.h>

#include "params_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "../lib/md_layout/sb1.h"
#include "address.h"
#include "values.h"

#define NAME_MOST_BYTES 32 /* the field in the superblock */

static int
refuse (const struct param *p, const char *text)
{
  nbdkit_error ("%s=%s: must be %s", p->key, text, p->allowed);
  return -1;
}

/*----- Addresses -----*/

static int
add_word (struct address_list *l, char *word)
{
  char **more = realloc (l->words, (l->nr + 1) * sizeof *more);

  if (more == NULL || word == NULL) {
    if (more != NULL)
      l->words = more;
    free (word);
    nbdkit_error ("out of memory for the list of members");
    return -1;
  }
  more[l->nr++] = word;
  l->words = more;
  return 0;
}

static int
add_address (struct address_list *l, const char *text)
{
  char *cwd = getcwd (NULL, 0), *word;

  if (cwd == NULL) {
    nbdkit_error ("%s: cannot make the path absolute: the current directory "
                  "is not to be found: %m",
                  text);
    return -1;
  }
  word = address_absolute (text, cwd);
  free (cwd);
  return add_word (l, word);
}

int
parse_member (const struct param *p, const char *text)
{
  if (text[0] == '\0')
    return refuse (p, text);
  if (strcmp (text, "missing") == 0)
    return add_word (p->ptr, strdup (text));
  return add_address (p->ptr, text);
}

int
parse_members (const struct param *p, const char *text)
{
  const char *start = text, *end;
  char *word;
  int r;

  for (;; start = end + 1) {
    end = start + strcspn (start, ",");
    if (end == start) {
      nbdkit_error ("%s=%s: there is an empty word in the list; each must be "
                    "%s",
                    p->key, text, p->allowed);
      return -1;
    }
    word = strndup (start, (size_t)(end - start));
    if (word == NULL) {
      nbdkit_error ("out of memory for the list of members");
      return -1;
    }
    r = parse_member (p, word);
    free (word);
    if (r == -1 || *end == '\0')
      return r;
  }
}

int
parse_spare (const struct param *p, const char *text)
{
  if (text[0] == '\0' || strcmp (text, "missing") == 0)
    return refuse (p, text);
  return add_address (p->ptr, text);
}

/*----- What the array must be -----*/

int
parse_uuid (const struct param *p, const char *text)
{
  if (sb1_uuid_parse (text, params.uuid) < 0)
    return refuse (p, text);
  *(const char **)p->ptr = text;
  return 0;
}

int
parse_name (const struct param *p, const char *text)
{
  if (text[0] == '\0' || strlen (text) > NAME_MOST_BYTES)
    return refuse (p, text);
  *(const char **)p->ptr = text;
  return 0;
}

int
parse_level (const struct param *p, const char *text)
{
  const char *digit = strncmp (text, "raid", 4) == 0 ? text + 4 : text;

  if (digit[0] < '4' || digit[0] > '6' || digit[1] != '\0')
    return refuse (p, text);
  *(int *)p->ptr = digit[0] - '0';
  return 0;
}

int
parse_layout (const struct param *p, const char *text)
{
  struct uraid_error e;
  uint32_t layout;

  /* "-" is the layout of level 4, which would also take any number. */
  if (strcmp (text, "-") != 0 &&
      geometry_layout_parse (5, text, &layout, NULL) < 0 &&
      geometry_layout_parse (6, text, &layout, &e) < 0) {
    nbdkit_error ("%s=%s: must be %s: %s", p->key, text, p->allowed, e.text);
    return -1;
  }
  *(const char **)p->ptr = text;
  return 0;
}

int
parse_chunk (const struct param *p, const char *text)
{
  uint64_t n;

  if (value_size (text, &n) < 0 || n < p->min || n > p->max ||
      (n & (n - 1)) != 0)
    return refuse (p, text);
  *(uint64_t *)p->ptr = n;
  return 0;
}

/*----- Numbers, times, words -----*/

int
parse_uint (const struct param *p, const char *text)
{
  uint64_t n;

  if (value_uint (text, &n) < 0 || n < p->min || n > p->max)
    return refuse (p, text);
  *(uint64_t *)p->ptr = n;
  return 0;
}

int
parse_bool (const struct param *p, const char *text)
{
  if (value_bool (text, p->ptr) < 0)
    return refuse (p, text);
  return 0;
}

int
parse_duration (const struct param *p, const char *text)
{
  uint64_t ms;

  if (value_duration_ms (text, &ms) < 0 || ms < p->min || ms > p->max)
    return refuse (p, text);
  *(uint64_t *)p->ptr = ms;
  return 0;
}

int
parse_duration_or_0 (const struct param *p, const char *text)
{
  uint64_t ms;

  if (value_duration_ms (text, &ms) < 0 || ms != 0)
    return parse_duration (p, text);
  *(uint64_t *)p->ptr = 0;
  return 0;
}

int
parse_duration_or_auto (const struct param *p, const char *text)
{
  if (strcmp (text, "auto") != 0)
    return parse_duration (p, text);
  *(uint64_t *)p->ptr = 0;
  return 0;
}

int
parse_tls (const struct param *p, const char *text)
{
  bool on;

  if (strcasecmp (text, "require") == 0 || strcasecmp (text, "required") == 0)
    *(int *)p->ptr = LIBNBD_TLS_REQUIRE;
  else if (value_bool (text, &on) == 0)
    *(int *)p->ptr = on ? LIBNBD_TLS_ALLOW : LIBNBD_TLS_DISABLE;
  else
    return refuse (p, text);
  return 0;
}

int
parse_string (const struct param *p, const char *text)
{
  if (text[0] == '\0')
    return refuse (p, text);
  *(const char **)p->ptr = text;
  return 0;
}

/* Needed again whenever a member is connected to. */
int
parse_file (const struct param *p, const char *text)
{
  char *path;

  if (text[0] == '\0')
    return refuse (p, text);
  path = nbdkit_absolute_path (text);
  if (path == NULL)
    return -1;
  if (access (path, R_OK) == -1) {
    nbdkit_error ("%s=%s: %m; must be %s and can be read", p->key, text,
                  p->allowed);
    free (path);
    return -1;
  }
  free (*(char **)p->ptr);
  *(char **)p->ptr = path;
  return 0;
}

int
parse_trim (const struct param *p, const char *text)
{
  static const char *const words[] = {
      [TRIM_AUTO] = "auto",
      [TRIM_OFF] = "off",
      [TRIM_ZERO] = "zero",
  };
  size_t i;

  for (i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp (text, words[i]) == 0) {
      *(enum trim_mode *)p->ptr = (enum trim_mode)i;
      return 0;
    }
  return refuse (p, text);
}
