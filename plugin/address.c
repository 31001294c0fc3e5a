/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Member addresses as they are written on the command line; see address.h.
 */
#include <config.h>

#include "address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool
address_is_uri (const char *address)
{
  size_t n = strspn (address, LETTERS DIGITS "+.-");

  return n > 0 && strchr (LETTERS, address[0]) != NULL && address[n] == ':';
}

/* "/" may be written %2F. */
static bool
is_absolute (const char *value)
{
  return value[0] == '/' || strncasecmp (value, "%2f", 3) == 0;
}

/* Is the query item at P one that holds a path?  Returns the length of its
 * key and "=", or 0.
 */
static size_t
path_item (const char *p)
{
  static const char *const keys[] = {
      "socket=", "tls-psk-file=", "tls-certificates="};
  size_t i, n;

  for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    n = strlen (keys[i]);
    if (strncmp (p, keys[i], n) == 0)
      return n;
  }
  return 0;
}

/* What has a meaning in a URI, and all that is not plain ASCII, becomes %XX.
 */
static void
put_encoded (FILE *fp, const char *path)
{
  for (; *path != '\0'; path++)
    if (strchr (LETTERS DIGITS "-._~/", *path) != NULL)
      fputc (*path, fp);
    else
      fprintf (fp, "%%%02X", (unsigned)(unsigned char)*path);
}

static void
put_uri (FILE *fp, const char *uri, const char *cwd)
{
  const char *p = uri + strcspn (uri, "?#"), *end;
  size_t n;

  fwrite (uri, 1, (size_t)(p - uri), fp);
  while (*p == '?' || *p == '&' || *p == ';') {
    fputc (*p++, fp);
    end = p + strcspn (p, "&;#");
    n = path_item (p);
    if (n > 0 && p + n < end && !is_absolute (p + n)) {
      fwrite (p, 1, n, fp);
      put_encoded (fp, strcmp (cwd, "/") == 0 ? "" : cwd);
      fputc ('/', fp);
      p += n;
    }
    fwrite (p, 1, (size_t)(end - p), fp);
    p = end;
  }
  fputs (p, fp);
}

char *
address_absolute (const char *address, const char *cwd)
{
  char *text = NULL;
  size_t size;
  FILE *fp = open_memstream (&text, &size);
  bool failed, uri = address_is_uri (address);

  if (fp == NULL)
    return NULL;
  while (strncmp (address, "./", 2) == 0)
    address += 2 + strspn (address + 2, "/");
  if (uri)
    put_uri (fp, address, cwd);
  else if (address[0] == '/')
    fputs (address, fp);
  else
    fprintf (fp, "%s/%s", strcmp (cwd, "/") == 0 ? "" : cwd, address);
  failed = ferror (fp) != 0;
  if (fclose (fp) != 0 || failed) {
    free (text);
    return NULL;
  }
  return text;
}
