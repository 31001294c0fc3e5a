/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The member object: what an address may look like, and the states.
 * Connecting is in connect.c, I/O in sync_io.c and lane*.c.  No locks: the
 * state is atomic, all else belongs to the thread that connects (before the
 * lanes run) or is constant.
 *
 *              +------------------------------------+
 *              v                                    |
 *   NEW -> CONNECTING -> CONNECTED -> LOST ---------+
 *              |  ^                                 |
 *              v  |                                 |
 *            REFUSED                                |
 *
 *   from        to          by
 *   NEW         CONNECTING  member_connect_all
 *   CONNECTING  CONNECTED   member_connect_all: all connections are ready
 *   CONNECTING  REFUSED     member_connect_all: time is over, or hopeless
 *   REFUSED     CONNECTING  member_connect_all, called again
 *   CONNECTED   LOST        a lane (under the lanes' lost_lock) or sync_io
 *   LOST        CONNECTING  member_connect_all, called again
 *   NEW, CONNECTED, LOST,
 *   REFUSED     CLOSED      member_free
 *
 * In CONNECTED nr_conns >= 1, and size, flags and block sizes are known; they
 * keep their values in LOST.  In REFUSED and LOST error says why.
 */
#include <config.h>

#include "member.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "connect.h"

#define REAP_GRACE_MS 2000

/* Bit TO of element FROM: the step is legal. */
static const unsigned legal_steps[] = {
    [MEMBER_NEW] = 1u << MEMBER_CONNECTING | 1u << MEMBER_CLOSED,
    [MEMBER_CONNECTING] = 1u << MEMBER_CONNECTED | 1u << MEMBER_REFUSED,
    [MEMBER_CONNECTED] = 1u << MEMBER_LOST | 1u << MEMBER_CLOSED,
    [MEMBER_LOST] = 1u << MEMBER_CONNECTING | 1u << MEMBER_CLOSED,
    [MEMBER_REFUSED] = 1u << MEMBER_CONNECTING | 1u << MEMBER_CLOSED,
    [MEMBER_CLOSED] = 0,
};

bool
member_state_legal (enum member_state from, enum member_state to)
{
  return (legal_steps[from] >> to & 1u) != 0;
}

const char *
member_state_name (enum member_state s)
{
  switch (s) {
  case MEMBER_NEW:
    return "new";
  case MEMBER_CONNECTING:
    return "connecting";
  case MEMBER_CONNECTED:
    return "connected";
  case MEMBER_LOST:
    return "lost";
  case MEMBER_REFUSED:
    return "refused";
  case MEMBER_CLOSED:
    return "closed";
  }
  return "unknown";
}

void
member_set_state (struct member *m, enum member_state to)
{
  enum member_state from = atomic_load (&m->state);

  do
    assert (member_state_legal (from, to));
  while (!atomic_compare_exchange_weak (&m->state, &from, to));
}

/*----- Addresses -----*/

enum transport { TRANSPORT_TCP, TRANSPORT_UNIX, TRANSPORT_VSOCK };

static const struct scheme {
  const char *prefix;
  enum transport transport;
} schemes[] = {
    {"nbd://", TRANSPORT_TCP},         {"nbds://", TRANSPORT_TCP},
    {"nbd+unix://", TRANSPORT_UNIX},   {"nbds+unix://", TRANSPORT_UNIX},
    {"nbd+vsock://", TRANSPORT_VSOCK}, {"nbds+vsock://", TRANSPORT_VSOCK},
};

#define NR_SCHEMES (sizeof schemes / sizeof schemes[0])
#define WHAT_IS_ALLOWED                                                       \
  "a member is an NBD URI (nbd://, nbds://, nbd+unix://, nbds+unix://, "      \
  "nbd+vsock://, nbds+vsock://) or the path of a file or block device"

static const struct scheme *
find_scheme (const char *address)
{
  size_t i;

  for (i = 0; i < NR_SCHEMES; i++)
    if (strncmp (address, schemes[i].prefix, strlen (schemes[i].prefix)) == 0)
      return &schemes[i];
  return NULL;
}

/* Does ADDRESS begin like a URI ("word:"), so that taking it for a file name
 * would hide a mistake?
 */
static bool
looks_like_uri (const char *address)
{
  size_t n = strspn (address, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

  return n > 0 && address[n] == ':';
}

static bool
has_query_key (const char *uri, const char *key)
{
  const char *p = strchr (uri, '?');
  size_t n = strlen (key);

  while (p != NULL) {
    if (strncmp (p + 1, key, n) == 0 && p[1 + n] == '=' && p[2 + n] != '\0' &&
        p[2 + n] != '&')
      return true;
    p = strpbrk (p + 1, "&;");
  }
  return false;
}

/* libnbd parses the rest when it connects; here are the mistakes that would
 * otherwise turn up late or with a text that does not help.
 */
static int
check_uri (const char *uri, const struct scheme *s, struct uraid_error *e)
{
  const char *authority = uri + strlen (s->prefix);
  size_t authority_len = strcspn (authority, "/?#");
  const char *at = memchr (authority, '@', authority_len);

  /* The password is not repeated in the message. */
  if (at != NULL && memchr (authority, ':', (size_t)(at - authority)) != NULL)
    return uraid_error_set (e, EINVAL,
                            "member URI %s...@%.*s: NBD knows no passwords; "
                            "use a TLS PSK file or certificates",
                            s->prefix,
                            (int)(authority + authority_len - at - 1), at + 1);
  if (s->transport == TRANSPORT_UNIX && !has_query_key (uri, "socket"))
    return uraid_error_set (e, EINVAL,
                            "member URI %s: the socket is missing; write "
                            "%s/EXPORT?socket=/PATH/OF/THE/SOCKET",
                            uri, s->prefix);
  if (s->transport == TRANSPORT_UNIX && authority_len > 0 &&
      (at == NULL || at + 1 != authority + authority_len))
    return uraid_error_set (e, EINVAL,
                            "member URI %s: a Unix domain socket has no host "
                            "name; write %s/EXPORT?socket=PATH (three "
                            "slashes)",
                            uri, s->prefix);
  return 0;
}

static int
make_absolute (const char *path, char **ret)
{
  char *cwd;
  int r;

  if (path[0] == '/') {
    *ret = strdup (path);
    return *ret != NULL ? 0 : -ENOMEM;
  }
  cwd = getcwd (NULL, 0);
  if (cwd == NULL)
    return -errno;
  r = asprintf (ret, "%s/%s", strcmp (cwd, "/") == 0 ? "" : cwd, path);
  free (cwd);
  return r == -1 ? -ENOMEM : 0;
}

/* A path that is not there is accepted: a device may be late, and one missing
 * member need not stop an array.  One that is there must be usable.
 */
static int
check_path (const char *path, struct uraid_error *e)
{
  int r = member_child_check_path (path, e);

  return r == -EINVAL ? r : 0;
}

static int
parse_address (struct member *m, struct uraid_error *e)
{
  const char *address = m->address;
  const struct scheme *s = find_scheme (address);
  const char *c;
  int r;

  if (address[0] == '\0')
    return uraid_error_set (e, EINVAL, "empty member address; %s",
                            WHAT_IS_ALLOWED);
  for (c = address; *c != '\0'; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      return uraid_error_set (e, EINVAL,
                              "member address has a control character at "
                              "position %zu; %s",
                              (size_t)(c - address), WHAT_IS_ALLOWED);
  if (s != NULL)
    return check_uri (address, s, e);
  if (looks_like_uri (address))
    return uraid_error_set (e, EINVAL,
                            "member address \"%s\" is not understood; %s (a "
                            "file whose name has a colon: ./%s)",
                            address, WHAT_IS_ALLOWED, address);
  r = make_absolute (address, &m->path);
  if (r < 0)
    return uraid_error_set (e, -r, "%s: cannot make the path absolute: %s",
                            address, strerror (-r));
  return check_path (m->path, e);
}

/*----- Life -----*/

/* The options' strings are ours from here on. */
static int
copy_strings (struct member *m, const char *address)
{
  const char **strings[] = {&m->opt.tls_certificates, &m->opt.tls_psk_file,
                            &m->opt.tls_username};
  size_t i;
  bool failed = false;

  m->address = strdup (address);
  failed = m->address == NULL;
  for (i = 0; i < sizeof strings / sizeof strings[0]; i++)
    if (*strings[i] != NULL) {
      *strings[i] = strdup (*strings[i]);
      failed = failed || *strings[i] == NULL;
    }
  return failed ? -ENOMEM : 0;
}

static void
destroy (struct member *m)
{
  free (m->address);
  free (m->path);
  free ((char *)m->opt.tls_certificates);
  free ((char *)m->opt.tls_psk_file);
  free ((char *)m->opt.tls_username);
  free (m);
}

int
member_new (const char *address, const struct member_options *opt,
            struct member **ret, struct uraid_error *e)
{
  struct member *m;
  int r;

  if (opt->connections < 1 || opt->connections > MEMBER_MAX_CONNS)
    return uraid_error_set (e, EINVAL,
                            "%u connections to a member: 1 to %d are allowed",
                            opt->connections, MEMBER_MAX_CONNS);
  m = calloc (1, sizeof *m);
  if (m == NULL)
    return uraid_error_set (e, ENOMEM, "out of memory for member %s", address);
  m->opt = *opt;
  atomic_init (&m->state, MEMBER_NEW);
  r = copy_strings (m, address);
  if (r < 0)
    uraid_error_set (e, -r, "out of memory for member %s", address);
  else
    r = parse_address (m, e);
  if (r < 0) {
    destroy (m);
    return r;
  }
  *ret = m;
  return 0;
}

void
member_free (struct member *m)
{
  if (m == NULL)
    return;
  member_set_state (m, MEMBER_CLOSED);
  member_conns_close (m, REAP_GRACE_MS);
  destroy (m);
}
