/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A call to the control socket (see the header).  Every wait has a deadline,
 * for the whole answer and not for each byte of it, so that a server that
 * drips or never ends cannot hold us.  One thread, no locks.
 */
#include <config.h>

#include "online.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../lib/control/rpc.h"

#define DEFAULT_WAIT_MS 30000
#define REQUEST_ID 1

/* One call at work. */
struct talk {
  struct tool *t;
  const struct online *o;
  const struct online_call *c;
  int fd;
  uint64_t wait_ms, deadline_ms;
  char *buf; /* what came so far */
  size_t len, room;
};

static uint64_t
now_ms (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- text --------------------------------------------------------------- */

/* The length of the UTF-8 sequence at P and its character; 0 if it is none
 * (also the overlong ones, whose value would be a lie).
 */
static size_t
utf8_char (const unsigned char *p, uint32_t *ret)
{
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n, i;
  uint32_t c;

  if (p[0] < 0x80) {
    *ret = p[0];
    return 1;
  }
  if (p[0] < 0xc2 || p[0] > 0xf4)
    return 0;
  n = p[0] < 0xe0 ? 2 : (p[0] < 0xf0 ? 3 : 4);
  c = p[0] & (0xffu >> (n + 1));
  for (i = 1; i < n; ++i) {
    if ((p[i] & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (p[i] & 0x3fu);
  }
  *ret = c;
  return c >= least[n] && c <= 0x10ffff ? n : 0;
}

/* Control characters, and those that turn or break a line. */
static bool
is_harmful (uint32_t c)
{
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

const char *
online_escape (const char *text, char *buf, size_t len)
{
  const unsigned char *p = (const unsigned char *)text;
  size_t n = 0, chars, i;
  uint32_t c;

  while (*p != '\0') {
    chars = utf8_char (p, &c);
    if (n + 17 > len) /* four bytes as \xNN and the end */
      break;
    if (*p == '\\')
      buf[n++] = '\\';
    if (chars > 0 && !is_harmful (c)) {
      memcpy (buf + n, p, chars);
      n += chars;
      p += chars;
      continue;
    }
    for (i = 0; i < (chars > 0 ? chars : 1); ++i, ++p)
      n += (size_t)sprintf (buf + n, "\\x%02x", *p);
  }
  buf[n] = '\0';
  return buf;
}

int
online_print_json (struct tool *t, json_t *obj)
{
  json_t *all = json_object ();
  int r;

  json_object_set_new (all, "schema", json_string ("uraid/1"));
  /* The server says which schema it speaks; ours stays in front. */
  json_object_del (obj, "schema");
  json_object_update (all, obj);
  json_decref (obj);
  r = json_dumpf (all, stdout,
                  JSON_INDENT (2) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
  json_decref (all);
  putchar ('\n');
  if (r != 0)
    return tool_fail (t, TOOL_FAILED, EIO, "standard output", NULL, NULL,
                      "could not be written");
  return TOOL_OK;
}

/* --- errors ------------------------------------------------------------- */

/* O's path, fit to be printed. */
static const char *
where (const struct online *o, char buf[512])
{
  return online_escape (o->path, buf, 512);
}

int
online_nonsense (struct tool *t, const struct online *o, const char *why)
{
  char at[512];

  return tool_fail (t, TOOL_UNREADABLE, EPROTO, t->verb->name, where (o, at),
                    NULL,
                    "the answer makes no sense: %s (is this another server, "
                    "or one that is newer than this command?)",
                    why);
}

static int
broken_off (const struct talk *k, int err, const char *doing)
{
  char at[512];

  if (err == ETIMEDOUT)
    return tool_fail (
        k->t, k->c->timeout_code != 0 ? k->c->timeout_code : TOOL_UNREADABLE,
        err, k->t->verb->name, where (k->o, at), NULL,
        "%s took longer than %" PRIu64 " s", doing, k->wait_ms / 1000);
  return tool_fail (k->t, TOOL_UNREADABLE, err, k->t->verb->name,
                    where (k->o, at), NULL, "%s failed: %s", doing,
                    strerror (err));
}

static int
errno_of_name (const char *name)
{
  const char *n;
  int i;

  if (name != NULL && strcmp (name, "REFUSED") == 0)
    return TOOL_E_REFUSED;
  for (i = 1; name != NULL && i < 256; ++i) {
    n = strerrorname_np (i);
    if (n != NULL && strcmp (n, name) == 0)
      return i;
  }
  return EIO;
}

static void
take_refusal (json_t *error, struct online_refusal *r)
{
  json_t *data = json_object_get (error, "data");
  const char *message = json_string_value (json_object_get (error, "message"));
  const char *allowed = json_string_value (json_object_get (data, "allowed"));

  r->err = errno_of_name (json_string_value (json_object_get (data, "errno")));
  online_escape (message != NULL ? message : "", r->message,
                 sizeof r->message);
  online_escape (allowed != NULL ? allowed : "", r->allowed,
                 sizeof r->allowed);
}

/* P behind "WORD: " if it begins so. */
static char *
skip_word (char *p, const char *word)
{
  const size_t n = word != NULL ? strlen (word) : 0;

  if (n > 0 && strncmp (p, word, n) == 0 && strncmp (p + n, ": ", 2) == 0)
    return p + n + 2;
  return p;
}

int
online_tell (struct tool *t, int code, const char *what, const char *value,
             const struct online_refusal *r)
{
  char w[256], v[256], tail[300], message[sizeof r->message];
  const char *allowed = r->allowed[0] != '\0' ? r->allowed : NULL;
  char *reason = message;
  size_t n;

  online_escape (what, w, sizeof w);
  online_escape (value != NULL ? value : "", v, sizeof v);
  /* What tool_fail prints around the reason need not be there twice. */
  memcpy (message, r->message, sizeof message);
  reason = skip_word (skip_word (reason, w), v);
  snprintf (tail, sizeof tail, " (allowed %s)", r->allowed);
  n = strlen (reason);
  if (n >= strlen (tail) && strcmp (reason + n - strlen (tail), tail) == 0)
    reason[n - strlen (tail)] = '\0';
  if (r->err > 0 && (*reason == '\0' || (allowed != NULL && r->err == EINVAL)))
    reason = strerror (r->err);
  if (*reason == '\0')
    reason = (char *)"refused";
  return tool_fail (t, r->err == TOOL_E_REFUSED ? TOOL_REFUSED : code, r->err,
                    w, value != NULL ? v : NULL, allowed, "%s", reason);
}

/* --- bytes -------------------------------------------------------------- */

/* No server, or no socket at all (of which nobody must say "remove it"). */
static int
nobody (const struct talk *k)
{
  struct stat st;
  char at[512];

  if (stat (k->o->path, &st) == 0 && !S_ISSOCK (st.st_mode))
    return broken_off (k, ENOTSOCK, "connecting");
  if (k->c->may_be_dead)
    return ONLINE_NOBODY;
  return tool_fail (k->t, TOOL_UNREADABLE, ECONNREFUSED, k->t->verb->name,
                    where (k->o, at), NULL,
                    "no server is there: the array is not served (the socket "
                    "was left over and may be removed)");
}

/* Returns 0, an exit code, or ONLINE_NOBODY. */
static int
talk_connect (struct talk *k)
{
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  const uint64_t ms = k->t->member.open_timeout_ms;
  struct timeval tv = {.tv_sec =
                           (time_t)((ms > 0 ? ms : DEFAULT_WAIT_MS) / 1000)};

  k->wait_ms = (uint64_t)tv.tv_sec * 1000;
  memcpy (addr.sun_path, k->o->path, sizeof addr.sun_path);
  k->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (k->fd < 0)
    return broken_off (k, errno, "making a socket");
  /* Linux: this bounds connect, too, which waits when the backlog is full. */
  setsockopt (k->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
  if (connect (k->fd, (struct sockaddr *)&addr, sizeof addr) == 0)
    return 0;
  if (errno == ECONNREFUSED)
    return nobody (k);
  return broken_off (k, errno == EAGAIN ? ETIMEDOUT : errno, "connecting");
}

/* Wait for EVENTS.  0 or ETIMEDOUT or another errno. */
static int
talk_poll (struct talk *k, short events)
{
  struct pollfd p = {.fd = k->fd, .events = events};
  uint64_t now;
  int r;

  do {
    now = now_ms ();
    if (now >= k->deadline_ms)
      return ETIMEDOUT;
    r = poll (&p, 1, (int)(k->deadline_ms - now));
  } while (r < 0 && errno == EINTR);
  if (r == 0)
    return ETIMEDOUT;
  return r < 0 ? errno : 0;
}

static int
talk_send (struct talk *k, const char *line)
{
  size_t len = strlen (line);
  ssize_t n;
  int err;

  while (len > 0) {
    n = send (k->fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      line += n;
      len -= (size_t)n;
      continue;
    }
    err = n < 0 && errno == EAGAIN ? talk_poll (k, POLLOUT) : errno;
    if (err != 0 && err != EINTR)
      return broken_off (k, err, "sending the request");
  }
  return 0;
}

/* More of the answer into the buffer; *RET_BYTES is 0 at its end. */
static int
talk_receive (struct talk *k, size_t *ret_bytes, const char *doing)
{
  ssize_t n;
  char *p;
  int err;

  if (k->room - k->len < 4096) {
    p = realloc (k->buf, k->room * 2 + 8192);
    if (p == NULL)
      return broken_off (k, ENOMEM, doing);
    k->buf = p;
    k->room = k->room * 2 + 8192;
  }
  do {
    err = talk_poll (k, POLLIN);
    if (err != 0)
      return broken_off (k, err, doing);
    n = recv (k->fd, k->buf + k->len, k->room - k->len, MSG_DONTWAIT);
  } while (n < 0 && (errno == EAGAIN || errno == EINTR));
  /* A server that ends with unread bytes of ours resets the connection. */
  if (n < 0 && errno != ECONNRESET)
    return broken_off (k, errno, doing);
  *ret_bytes = n > 0 ? (size_t)n : 0;
  return 0;
}

/* Read one line; *RET_LEN is its length without the newline. */
static int
talk_line (struct talk *k, size_t *ret_len)
{
  const char *end;
  size_t n;
  int r;

  for (;;) {
    r = talk_receive (k, &n, "waiting for the answer");
    if (r != 0)
      return r;
    if (n == 0)
      return online_nonsense (
          k->t, k->o,
          k->len > 0 ? "the connection was closed in the middle of the answer"
                     : "the connection was closed without an answer");
    end = memchr (k->buf + k->len, '\n', n);
    k->len += n;
    if (end != NULL) {
      *ret_len = (size_t)(end - k->buf);
      return 0;
    }
    if (k->len > ONLINE_ANSWER_MOST_BYTES)
      return online_nonsense (k->t, k->o, "the answer is longer than 1 MiB");
  }
}

/* The server answers before it has gone. */
static int
talk_until_closed (struct talk *k)
{
  size_t n = 1;
  int r = 0;

  while (r == 0 && n != 0) {
    k->len = 0;
    r = talk_receive (k, &n,
                      "waiting for the server to end (it has answered)");
  }
  return r;
}

/* --- the answer --------------------------------------------------------- */

static const char *
judge_answer (json_t *answer)
{
  const char *version =
      json_string_value (json_object_get (answer, "jsonrpc"));
  json_t *id = json_object_get (answer, "id");
  json_t *error = json_object_get (answer, "error");

  if (!json_is_object (answer))
    return "it is no object";
  if (version == NULL || strcmp (version, "2.0") != 0)
    return "\"jsonrpc\" is not \"2.0\"";
  if (json_integer_value (id) != REQUEST_ID &&
      !(error != NULL && json_is_null (id)))
    return "it belongs to another request";
  if (error != NULL)
    return json_is_object (error) ? NULL : "\"error\" is no object";
  if (!json_is_object (json_object_get (answer, "result")))
    return "\"result\" is no object";
  return NULL;
}

static int
talk_parse (struct talk *k, size_t len, json_t **ret_result,
            struct online_refusal *r)
{
  char why[300], text[200];
  json_error_t e;
  json_t *answer = json_loadb (k->buf, len, JSON_REJECT_DUPLICATES, &e);
  const char *bad;
  json_t *error;

  if (answer == NULL) {
    /* jansson quotes what it found. */
    snprintf (why, sizeof why, "no JSON: byte %d: %s", e.position,
              online_escape (e.text, text, sizeof text));
    return online_nonsense (k->t, k->o, why);
  }
  bad = judge_answer (answer);
  if (bad != NULL) {
    json_decref (answer);
    return online_nonsense (k->t, k->o, bad);
  }
  error = json_object_get (answer, "error");
  if (error != NULL)
    take_refusal (error, r);
  else
    *ret_result = json_incref (json_object_get (answer, "result"));
  json_decref (answer);
  return error != NULL ? ONLINE_REFUSED : 0;
}

static char *
request_line (const struct online_call *c)
{
  json_t *o = json_pack ("{s:s, s:i, s:s}", "jsonrpc", "2.0", "id", REQUEST_ID,
                         "method", c->method);

  if (c->params != NULL)
    json_object_set (o, "params", c->params);
  return rpc_line (o);
}

static int
talk_run (struct talk *k, const char *line, json_t **ret_result,
          struct online_refusal *r)
{
  size_t len = 0;
  int code, closed;

  code = talk_connect (k);
  if (code != 0)
    return code;
  k->wait_ms = k->c->timeout_ms != 0 ? k->c->timeout_ms
                                     : k->t->member.request_timeout_ms;
  if (k->wait_ms == 0)
    k->wait_ms = DEFAULT_WAIT_MS;
  k->deadline_ms = now_ms () + k->wait_ms;
  code = talk_send (k, line);
  if (code == 0)
    code = talk_line (k, &len);
  if (code == 0)
    code = talk_parse (k, len, ret_result, r);
  if (code != 0 || !k->c->until_closed)
    return code;
  closed = talk_until_closed (k);
  if (closed != 0) {
    json_decref (*ret_result);
    *ret_result = NULL;
  }
  return closed;
}

int
online_call (struct tool *t, const struct online *o,
             const struct online_call *c, json_t **ret_result,
             struct online_refusal *r)
{
  struct talk k = {.t = t, .o = o, .c = c, .fd = -1};
  char *line = request_line (c);
  int code;

  *ret_result = NULL;
  memset (r, 0, sizeof *r);
  if (line == NULL)
    code = tool_fail (t, TOOL_FAILED, ENOMEM, t->verb->name, NULL, NULL,
                      "out of memory");
  else
    code = talk_run (&k, line, ret_result, r);
  if (k.fd >= 0)
    close (k.fd);
  free (k.buf);
  free (line);
  json_decref (c->params);
  return code;
}
