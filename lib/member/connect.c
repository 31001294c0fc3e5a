/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Connect many members at once with one poll loop, and read what the servers
 * offer.  One thread, no locks, no lanes yet.
 *
 * Each member goes through tries.  A try connects connection 0, reads the
 * capabilities, and then connects the further connections that the server's
 * multi-conn flag allows.  A try that fails is repeated after a pause until
 * the time is over.  A failure of a further connection is no failure of the
 * try: a server may serve fewer clients than we want.
 *
 * libnbd looks host names up synchronously (getaddrinfo inside
 * nbd_aio_connect_uri), so a name server that does not answer holds up all
 * members for as long as the resolver tries.  Accepted: nothing runs yet.
 */
#include <config.h>

#include "connect.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 1000
#define LEAST_OPEN_MS 1000
#define LONGEST_POLL_MS 1000
#define LEAST_BLOCK_BYTES 512u
#define MOST_REQUEST_BYTES (32u << 20)

/* Keepalive of idle TCP connections: about a minute until a silent death is
 * noticed.
 */
#define UNIX_SEND_BUFFER_BYTES (4 << 20)
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 3

enum phase {
  PHASE_PAUSE, /* until wake_ms, then the next try */
  PHASE_FIRST, /* connection 0 is being made, until wake_ms */
  PHASE_MORE,  /* the further ones are being made, until wake_ms */
  PHASE_OVER,  /* connected or given up */
};

struct attempt {
  struct member *m;
  enum phase phase;
  uint64_t wake_ms;
  unsigned pause_ms;
  bool hopeless;                   /* trying again cannot help */
  bool going[MEMBER_MAX_CONNS];    /* between connect and ready */
  int stderr_fd[MEMBER_MAX_CONNS]; /* of the private child, or -1 */
};

struct poll_ref {
  struct attempt *a;
  unsigned i;
};

struct connect_run {
  struct attempt *attempts;
  size_t nr;
  uint64_t retry_end_ms; /* no try begins after this */
  uint64_t hard_end_ms;  /* no try lasts longer than this */
  struct pollfd *fds;
  struct poll_ref *refs;
};

uint64_t
member_now_us (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
member_now_ms (void)
{
  return member_now_us () / 1000;
}

/*----- One handle -----*/

static bool
conn_is_final (struct nbd_handle *h)
{
  return nbd_aio_is_dead (h) || nbd_aio_is_closed (h);
}

void
member_conn_kill (struct nbd_handle *h)
{
  int fd, rounds;

  if (conn_is_final (h))
    return;
  fd = nbd_aio_get_fd (h);
  if (fd < 0)
    return;
  shutdown (fd, SHUT_RDWR);
  /* Replies that have already arrived come first, one at a time.  The bound
   * is against surprises only; nbd_close drops whatever were left.
   */
  for (rounds = nbd_aio_in_flight (h) + 64;
       rounds > 0 && !conn_is_final (h) && nbd_aio_get_direction (h) != 0;
       rounds--)
    if (nbd_aio_get_direction (h) & LIBNBD_AIO_DIRECTION_READ)
      nbd_aio_notify_read (h);
    else
      nbd_aio_notify_write (h);
}

void
member_conn_close (struct nbd_handle *h)
{
  if (h == NULL)
    return;
  if (nbd_aio_is_ready (h) && nbd_aio_in_flight (h) == 0)
    nbd_aio_disconnect (h, 0); /* sent at once; there is no reply to it */
  else
    member_conn_kill (h);
  nbd_close (h);
}

void
member_conns_close (struct member *m, unsigned grace_ms)
{
  unsigned i;

  /* All sockets first, so that the children end side by side. */
  for (i = 0; i < MEMBER_MAX_CONNS; i++) {
    member_conn_close (m->conn[i]);
    m->conn[i] = NULL;
  }
  for (i = 0; i < MEMBER_MAX_CONNS; i++) {
    member_child_reap (m->child[i], grace_ms);
    m->child[i] = 0;
  }
  m->nr_conns = 0;
}

int
member_conn_notify (struct nbd_handle *h, short revents)
{
  unsigned dir = nbd_aio_get_direction (h);

  if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
      (dir & LIBNBD_AIO_DIRECTION_READ) != 0)
    return nbd_aio_notify_read (h);
  if ((revents & (POLLOUT | POLLHUP | POLLERR)) != 0 &&
      (dir & LIBNBD_AIO_DIRECTION_WRITE) != 0)
    return nbd_aio_notify_write (h);
  return 0;
}

/* libnbd's last error in this thread, into E. */
static int
libnbd_error (const struct member *m, const char *what, struct uraid_error *e)
{
  int err = nbd_get_errno ();
  const char *text = nbd_get_error ();

  return uraid_error_set (e, err > 0 ? err : EIO, "%s: %s: %s", m->address,
                          what, text != NULL ? text : "no reason given");
}

static int
configure_tls (struct nbd_handle *h, const struct member_options *opt)
{
  if (opt->tls >= 0 && nbd_set_tls (h, opt->tls) == -1)
    return -1;
  if (opt->tls == LIBNBD_TLS_DISABLE &&
      nbd_set_uri_allow_tls (h, LIBNBD_TLS_DISABLE) == -1)
    return -1;
  if (opt->tls_certificates != NULL &&
      nbd_set_tls_certificates (h, opt->tls_certificates) == -1)
    return -1;
  if (opt->tls_psk_file != NULL &&
      nbd_set_tls_psk_file (h, opt->tls_psk_file) == -1)
    return -1;
  if (opt->tls_username != NULL &&
      nbd_set_tls_username (h, opt->tls_username) == -1)
    return -1;
  return nbd_set_tls_verify_peer (h, opt->tls_verify_peer);
}

/* Structured replies cost two more recv calls per read.  The read buffer need
 * not be cleared: nobody looks at it after an error.
 */
static int
configure (struct nbd_handle *h, const struct member *m)
{
  if (nbd_set_handle_name (h, m->address) == -1 ||
      (m->opt.debug && nbd_set_debug (h, true) == -1) ||
      nbd_set_request_structured_replies (h, false) == -1 ||
      nbd_set_pread_initialize (h, false) == -1 ||
      nbd_set_strict_mode (h, LIBNBD_STRICT_MASK) == -1)
    return -1;
  if (m->path != NULL)
    return 0;
  if (nbd_set_uri_allow_local_file (h, true) == -1 ||
      nbd_set_uri_allow_transports (h, LIBNBD_ALLOW_TRANSPORT_TCP |
                                           LIBNBD_ALLOW_TRANSPORT_UNIX |
                                           LIBNBD_ALLOW_TRANSPORT_VSOCK) == -1)
    return -1;
  return configure_tls (h, &m->opt);
}

static int
connect_child (struct attempt *a, unsigned i, struct uraid_error *e)
{
  struct member *m = a->m;
  struct member_child child;
  int r;

  r = member_child_start (m->path, m->opt.read_only, &child, e);
  if (r < 0) {
    a->hopeless = r == -EINVAL;
    return r;
  }
  m->child[i] = child.pid;
  a->stderr_fd[i] = child.stderr_fd;
  if (nbd_aio_connect_socket (m->conn[i], child.sock_fd) == -1)
    return libnbd_error (m, "cannot connect", e);
  return 0;
}

static int
connect_uri (struct attempt *a, unsigned i, struct uraid_error *e)
{
  struct member *m = a->m;
  int r;

  if (nbd_aio_connect_uri (m->conn[i], m->address) == 0)
    return 0;
  r = libnbd_error (m, "cannot connect", e);
  /* Refused by libnbd itself and not by the network. */
  if (nbd_aio_is_created (m->conn[i]))
    a->hopeless = r == -EINVAL || r == -EPERM || r == -ENOTSUP;
  return r;
}

/* Begin to make connection I.  0 or -errno with E. */
static int
conn_begin (struct attempt *a, unsigned i, struct uraid_error *e)
{
  struct member *m = a->m;

  m->conn[i] = nbd_create ();
  if (m->conn[i] == NULL || configure (m->conn[i], m) == -1) {
    a->hopeless = true;
    return libnbd_error (m, "cannot set the connection up", e);
  }
  a->going[i] = true;
  return m->path != NULL ? connect_child (a, i, e) : connect_uri (a, i, e);
}

/* End connection I, which is not (or no longer) wanted. */
static void
conn_end (struct attempt *a, unsigned i)
{
  struct member *m = a->m;

  a->going[i] = false;
  member_conn_close (m->conn[i]);
  m->conn[i] = NULL;
  if (a->stderr_fd[i] >= 0)
    close (a->stderr_fd[i]);
  a->stderr_fd[i] = -1;
  /* It has either ended by itself or has not answered in time. */
  member_child_reap (m->child[i], 20);
  m->child[i] = 0;
}

/*----- What the server offers -----*/

static int
read_block_sizes (struct member *m, struct nbd_handle *h,
                  struct uraid_error *e)
{
  int64_t least = nbd_get_block_size (h, LIBNBD_SIZE_MINIMUM);
  int64_t most = nbd_get_block_size (h, LIBNBD_SIZE_MAXIMUM);

  if (least < LEAST_BLOCK_BYTES)
    least = LEAST_BLOCK_BYTES; /* also for "unknown" */
  if (most <= 0 || most > MOST_REQUEST_BYTES)
    most = MOST_REQUEST_BYTES;
  if ((least & (least - 1)) != 0 || least > most)
    return uraid_error_set (e, EINVAL,
                            "%s: the server demands requests of at least "
                            "%lld and at most %lld bytes; a power of two and "
                            "not less than %u are needed",
                            m->address, (long long)least, (long long)most,
                            LEAST_BLOCK_BYTES);
  m->min_block = (uint32_t)least;
  m->max_block = (uint32_t)(most & ~(least - 1));
  return 0;
}

static int
read_capabilities (struct member *m, struct uraid_error *e)
{
  struct nbd_handle *h = m->conn[0];
  int64_t size = nbd_get_size (h);

  if (size <= 0)
    return uraid_error_set (e, EINVAL,
                            "%s: the server reports a size of %lld bytes, "
                            "which cannot be a member",
                            m->address, (long long)size);
  m->size_bytes = (uint64_t)size;
  m->read_only = m->opt.read_only || nbd_is_read_only (h) != 0;
  m->can_flush = nbd_can_flush (h) > 0;
  m->can_fua = nbd_can_fua (h) > 0;
  m->can_zero = nbd_can_zero (h) > 0;
  m->can_trim = nbd_can_trim (h) > 0;
  /* The private servers of one file share the page cache. */
  m->can_multi_conn = m->path != NULL || nbd_can_multi_conn (h) > 0;
  return read_block_sizes (m, h, e);
}

/* libnbd has set TCP_NODELAY.  Only TCP needs the rest: other sockets notice
 * the death of their peer.  Failures cost late detection and nothing else.
 */
static void
set_socket_options (const struct member *m, struct nbd_handle *h)
{
  int fd = nbd_aio_get_fd (h);
  int domain = 0, on = 1, idle = KEEPALIVE_IDLE_S;
  int interval = KEEPALIVE_INTERVAL_S, count = KEEPALIVE_COUNT;
  unsigned user_ms = (unsigned)m->opt.request_timeout_ms;
  int send_bytes = UNIX_SEND_BUFFER_BYTES;
  socklen_t len = sizeof domain;

  if (fd < 0 || getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1)
    return;
  /* A Unix socket's buffer holds little more than one request of 128 KiB, and
   * each time that it is full costs both sides a change of context.  What the
   * kernel does not allow it cuts down.  TCP sizes its own.
   */
  if (domain == AF_UNIX)
    setsockopt (fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
  if (domain != AF_INET && domain != AF_INET6)
    return;
  setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt (fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt (fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt (fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  if (user_ms > 0)
    setsockopt (fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof user_ms);
}

/*----- One member's tries -----*/

static void
attempt_close_stderr (struct attempt *a)
{
  unsigned i;

  for (i = 0; i < MEMBER_MAX_CONNS; i++) {
    if (a->stderr_fd[i] >= 0)
      close (a->stderr_fd[i]);
    a->stderr_fd[i] = -1;
  }
}

/* The try has failed; m->error says why. */
static void
attempt_failed (struct connect_run *run, struct attempt *a)
{
  uint64_t now_ms = member_now_ms ();
  char words[512];
  unsigned i;

  member_child_last_words (a->stderr_fd[0], words, sizeof words);
  if (words[0] != '\0')
    uraid_error_set (&a->m->error, a->m->error.err,
                     "%s: its private server failed: %s", a->m->address,
                     words);
  for (i = 0; i < MEMBER_MAX_CONNS; i++)
    conn_end (a, i);
  a->m->nr_conns = 0;
  if (!a->hopeless && now_ms + a->pause_ms < run->retry_end_ms) {
    a->phase = PHASE_PAUSE;
    a->wake_ms = now_ms + a->pause_ms;
    a->pause_ms *= 2;
    if (a->pause_ms > LONGEST_PAUSE_MS)
      a->pause_ms = LONGEST_PAUSE_MS;
    return;
  }
  a->phase = PHASE_OVER;
  member_set_state (a->m, MEMBER_REFUSED);
}

/* All connections that could be made are ready: close the gaps. */
static void
attempt_succeeded (struct attempt *a)
{
  struct member *m = a->m;
  unsigned i, n = 0;

  for (i = 0; i < MEMBER_MAX_CONNS; i++) {
    if (m->conn[i] == NULL)
      continue;
    set_socket_options (m, m->conn[i]);
    if (n != i) {
      m->conn[n] = m->conn[i];
      m->child[n] = m->child[i];
      m->conn[i] = NULL;
      m->child[i] = 0;
    }
    n++;
  }
  assert (n >= 1);
  m->nr_conns = n;
  m->error.err = 0;
  m->error.text[0] = '\0';
  /* What a private server says from now on shows as errors of requests. */
  attempt_close_stderr (a);
  a->phase = PHASE_OVER;
  member_set_state (m, MEMBER_CONNECTED);
}

static void
attempt_maybe_complete (struct attempt *a)
{
  unsigned i;

  for (i = 0; i < MEMBER_MAX_CONNS; i++)
    if (a->going[i])
      return;
  if (a->phase == PHASE_MORE)
    attempt_succeeded (a);
}

static void
first_ready (struct connect_run *run, struct attempt *a)
{
  struct member *m = a->m;
  struct uraid_error ignored;
  unsigned i, wanted;

  a->going[0] = false;
  if (read_capabilities (m, &m->error) < 0) {
    a->hopeless = true;
    attempt_failed (run, a);
    return;
  }
  a->phase = PHASE_MORE;
  wanted = m->can_multi_conn ? m->opt.connections : 1;
  for (i = 1; i < wanted; i++)
    if (conn_begin (a, i, &ignored) < 0)
      conn_end (a, i);
  a->hopeless = false;
  attempt_maybe_complete (a);
}

static void
further_ready (struct connect_run *run, struct attempt *a, unsigned i)
{
  struct member *m = a->m;
  int64_t size = nbd_get_size (m->conn[i]);

  a->going[i] = false;
  if ((uint64_t)size != m->size_bytes) {
    uraid_error_set (&m->error, EINVAL,
                     "%s: one connection reports %llu bytes and another %lld: "
                     "these are different exports",
                     m->address, (unsigned long long)m->size_bytes,
                     (long long)size);
    attempt_failed (run, a);
    return;
  }
  attempt_maybe_complete (a);
}

static void
conn_failed (struct connect_run *run, struct attempt *a, unsigned i,
             const struct uraid_error *why)
{
  if (a->phase == PHASE_FIRST) {
    a->m->error = *why;
    attempt_failed (run, a);
    return;
  }
  conn_end (a, i);
  attempt_maybe_complete (a);
}

/* Look at the state of connection I after something has happened to it.  WHY
 * holds libnbd's error, or err 0.
 */
static void
conn_check (struct connect_run *run, struct attempt *a, unsigned i,
            struct uraid_error *why)
{
  struct nbd_handle *h = a->m->conn[i];

  if (nbd_aio_is_ready (h)) {
    if (i == 0)
      first_ready (run, a);
    else
      further_ready (run, a, i);
    return;
  }
  if (!conn_is_final (h) && !nbd_aio_is_created (h))
    return; /* still at it */
  if (why->err == 0)
    uraid_error_set (why, ECONNRESET,
                     "%s: the server closed the connection during the "
                     "handshake",
                     a->m->address);
  conn_failed (run, a, i, why);
}

static void
attempt_begin (struct connect_run *run, struct attempt *a)
{
  struct uraid_error why = {0};
  uint64_t open_ms = a->m->opt.open_timeout_ms;

  if (open_ms < LEAST_OPEN_MS)
    open_ms = LEAST_OPEN_MS;
  a->phase = PHASE_FIRST;
  a->hopeless = false;
  a->wake_ms = member_now_ms () + open_ms;
  if (a->wake_ms > run->hard_end_ms)
    a->wake_ms = run->hard_end_ms;
  if (conn_begin (a, 0, &why) < 0) {
    a->m->error = why;
    attempt_failed (run, a);
    return;
  }
  conn_check (run, a, 0, &why);
}

static void
attempt_timed_out (struct connect_run *run, struct attempt *a)
{
  struct member *m = a->m;
  unsigned i;

  if (a->phase == PHASE_FIRST) {
    uraid_error_set (&m->error, ETIMEDOUT,
                     "%s: no connection within the open-timeout of %llu ms "
                     "(%s)",
                     m->address, (unsigned long long)m->opt.open_timeout_ms,
                     nbd_connection_state (m->conn[0]));
    attempt_failed (run, a);
    return;
  }
  for (i = 1; i < MEMBER_MAX_CONNS; i++)
    if (a->going[i])
      conn_end (a, i);
  attempt_maybe_complete (a);
}

/*----- All members -----*/

static void
start_what_is_due (struct connect_run *run)
{
  size_t k;

  for (k = 0; k < run->nr; k++) {
    struct attempt *a = &run->attempts[k];

    if (a->phase == PHASE_OVER || member_now_ms () < a->wake_ms)
      continue;
    if (a->phase == PHASE_PAUSE)
      attempt_begin (run, a);
    else
      attempt_timed_out (run, a);
  }
}

/* Fill the poll set.  Returns its size and the time that poll may take, -1
 * when all is over.
 */
static nfds_t
collect (struct connect_run *run, int *timeout_ms)
{
  uint64_t now_ms = member_now_ms (), wait_ms = LONGEST_POLL_MS;
  nfds_t n = 0;
  size_t k;
  unsigned i;

  *timeout_ms = -1;
  for (k = 0; k < run->nr; k++) {
    struct attempt *a = &run->attempts[k];

    if (a->phase == PHASE_OVER)
      continue;
    if (a->wake_ms <= now_ms)
      wait_ms = 0;
    else if (a->wake_ms - now_ms < wait_ms)
      wait_ms = a->wake_ms - now_ms;
    *timeout_ms = (int)wait_ms;
    for (i = 0; i < MEMBER_MAX_CONNS; i++) {
      unsigned dir;

      if (!a->going[i])
        continue;
      dir = nbd_aio_get_direction (a->m->conn[i]);
      run->refs[n] = (struct poll_ref){.a = a, .i = i};
      run->fds[n] = (struct pollfd){
          .fd = nbd_aio_get_fd (a->m->conn[i]),
          .events = (short)((dir & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
                            (dir & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0)),
      };
      n++;
    }
  }
  return n;
}

static void
handle_events (struct connect_run *run, nfds_t n)
{
  nfds_t k;

  for (k = 0; k < n; k++) {
    struct attempt *a = run->refs[k].a;
    unsigned i = run->refs[k].i;
    struct uraid_error why = {0};

    /* An earlier event of this round may have ended the try. */
    if (run->fds[k].revents == 0 || !a->going[i])
      continue;
    if (member_conn_notify (a->m->conn[i], run->fds[k].revents) == -1)
      libnbd_error (a->m, "cannot connect", &why);
    conn_check (run, a, i, &why);
  }
}

static int
run_init (struct connect_run *run, struct member **ms, size_t nr,
          uint64_t wait_ms)
{
  uint64_t now_ms = member_now_ms (), longest_ms = LEAST_OPEN_MS;
  size_t k;
  unsigned i;

  run->attempts = calloc (nr + 1, sizeof *run->attempts);
  run->fds = calloc (nr * MEMBER_MAX_CONNS + 1, sizeof *run->fds);
  run->refs = calloc (nr * MEMBER_MAX_CONNS + 1, sizeof *run->refs);
  if (run->attempts == NULL || run->fds == NULL || run->refs == NULL)
    return -ENOMEM;
  run->nr = nr;
  for (k = 0; k < nr; k++) {
    struct attempt *a = &run->attempts[k];

    a->m = ms[k];
    a->pause_ms = FIRST_PAUSE_MS;
    for (i = 0; i < MEMBER_MAX_CONNS; i++)
      a->stderr_fd[i] = -1;
    a->phase = PHASE_PAUSE; /* until 0, that is, no pause */
    if (atomic_load (&ms[k]->state) == MEMBER_CONNECTED) {
      a->phase = PHASE_OVER;
      continue;
    }
    member_conns_close (ms[k], 0); /* what a LOST one still has */
    member_set_state (ms[k], MEMBER_CONNECTING);
    if (ms[k]->opt.open_timeout_ms > longest_ms)
      longest_ms = ms[k]->opt.open_timeout_ms;
  }
  run->retry_end_ms = now_ms + wait_ms;
  run->hard_end_ms = now_ms + (wait_ms > longest_ms ? wait_ms : longest_ms);
  return 0;
}

static void
run_all (struct connect_run *run)
{
  int timeout_ms;
  nfds_t n;

  for (;;) {
    start_what_is_due (run);
    n = collect (run, &timeout_ms);
    if (timeout_ms < 0)
      return;
    if (poll (run->fds, n, timeout_ms) > 0)
      handle_events (run, n);
  }
}

size_t
member_connect_all (struct member **ms, size_t nr, uint64_t wait_ms)
{
  struct connect_run run = {0};
  size_t k, connected = 0;

  if (run_init (&run, ms, nr, wait_ms) == 0)
    run_all (&run);
  else
    for (k = 0; k < nr; k++)
      uraid_error_set (&ms[k]->error, ENOMEM, "%s: out of memory",
                       ms[k]->address);
  free (run.attempts);
  free (run.fds);
  free (run.refs);
  for (k = 0; k < nr; k++)
    if (atomic_load (&ms[k]->state) == MEMBER_CONNECTED)
      connected++;
  return connected;
}
