/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Are two addresses the same export (see the header)?  One thread, no locks.
 */
#include <config.h>

#include "identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Percent-decode LEN bytes of TEXT into BUF. */
static void
decode (const char *text, size_t len, char *buf, size_t buf_bytes)
{
  size_t i, n = 0;
  char hex[3] = "";

  for (i = 0; i < len && n + 1 < buf_bytes; ++i) {
    if (text[i] == '%' && i + 2 < len &&
        isxdigit ((unsigned char)text[i + 1]) &&
        isxdigit ((unsigned char)text[i + 2])) {
      hex[0] = text[i + 1];
      hex[1] = text[i + 2];
      buf[n++] = (char)strtoul (hex, NULL, 16);
      i += 2;
    }
    else
      buf[n++] = text[i];
  }
  buf[n] = '\0';
}

/* The export name in an NBD URI: what stands between the host's slash and the
 * question mark.
 */
static void
export_name (const char *uri, char *buf, size_t buf_bytes)
{
  const char *p = strstr (uri, "://"), *slash;
  size_t end;

  buf[0] = '\0';
  if (p == NULL)
    return;
  p += 3;
  end = strcspn (p, "?#");
  slash = memchr (p, '/', end);
  if (slash != NULL)
    decode (slash + 1, (size_t)(p + end - slash - 1), buf, buf_bytes);
}

/* The path in "?socket=". */
static bool
socket_path (const char *uri, char *buf, size_t buf_bytes)
{
  const char *p = strchr (uri, '?');

  while (p != NULL) {
    if (strncmp (p + 1, "socket=", 7) == 0) {
      decode (p + 8, strcspn (p + 8, "&#"), buf, buf_bytes);
      return true;
    }
    p = strchr (p + 1, '&');
  }
  return false;
}

static bool
same_inode (const char *a, const char *b)
{
  struct stat sa, sb;

  if (stat (a, &sa) < 0 || stat (b, &sb) < 0)
    return false;
  if (S_ISBLK (sa.st_mode) && S_ISBLK (sb.st_mode))
    return sa.st_rdev == sb.st_rdev;
  return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* Both on network connections to one host and port, whatever it is called. */
static bool
same_peer (const struct look *a, const struct look *b)
{
  struct sockaddr_storage pa, pb;
  socklen_t la = sizeof pa, lb = sizeof pb;

  if (a->m == NULL || b->m == NULL || a->m->nr_conns == 0 ||
      b->m->nr_conns == 0)
    return false;
  memset (&pa, 0, sizeof pa);
  memset (&pb, 0, sizeof pb);
  if (getpeername (nbd_aio_get_fd (a->m->conn[0]), (struct sockaddr *)&pa,
                   &la) < 0 ||
      getpeername (nbd_aio_get_fd (b->m->conn[0]), (struct sockaddr *)&pb,
                   &lb) < 0)
    return false;
  return pa.ss_family != AF_UNIX && la == lb && memcmp (&pa, &pb, la) == 0;
}

static bool
say (char *why, size_t why_bytes, const char *text)
{
  snprintf (why, why_bytes, "%s", text);
  return true;
}

bool
identity_same (const struct look *a, const struct look *b, char *why,
               size_t why_bytes)
{
  char ea[1024], eb[1024], sa[1024], sb[1024];

  if (strcmp (a->address, b->address) == 0)
    return say (why, why_bytes, "the same address");
  if (a->m == NULL || b->m == NULL)
    return false;
  if (a->m->path != NULL || b->m->path != NULL)
    return a->m->path != NULL && b->m->path != NULL &&
           same_inode (a->m->path, b->m->path) &&
           say (why, why_bytes, "the same file");
  export_name (a->address, ea, sizeof ea);
  export_name (b->address, eb, sizeof eb);
  if (strcmp (ea, eb) != 0)
    return false;
  if (socket_path (a->address, sa, sizeof sa) &&
      socket_path (b->address, sb, sizeof sb))
    return same_inode (sa, sb) && say (why, why_bytes, "the same socket");
  return same_peer (a, b) &&
         say (why, why_bytes, "the same server, port and export name");
}
