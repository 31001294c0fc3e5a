/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The control thread.  One libev loop over the listening socket and the
 * clients; everything here runs on it unless said otherwise.
 *
 * No client can hold up another: sockets do not block; a turn reads a few KiB
 * of one client and no more; a line is bounded, and so is what a client
 * leaves unread (then it is dropped).  Slow methods run in a thread each (a
 * "job"), at most one a client; when it is done it wakes the loop, which
 * sends the answer if the client is still there.
 *
 * A client is freed in client_settle alone, which ends every callback.
 */
#include <config.h>

#include "server_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_BYTES 4096
#define UNREAD_MOST_S 30.
#define PAUSE_S 0.5

struct client {
  struct control_server *s;
  struct client *next;
  int fd;
  ev_io in, out;
  ev_timer unread; /* runs while answers wait to be read */
  bool dead;       /* nothing more can be sent */
  bool last;       /* close when all is sent; what comes in is ignored */
  bool eof;        /* the client sends nothing more */
  bool busy;       /* has a job */
  void (*sent) (void *ctx); /* owed when all is sent */

  char *answers; /* answers_len bytes, answers_pos of them sent */
  size_t answers_len, answers_pos;
  size_t len;
  char line[RPC_LINE_MOST_BYTES + 1]; /* len bytes, no newline in them */
};

struct job {
  struct control_server *s;
  struct job *next;
  struct client *client; /* NULL: gone */
  struct rpc_call call;
  pthread_t thread;
  char *answer;
  atomic_bool done; /* the thread writes nothing more */
};

/* --- answers --- */

/* Queue LINE (taken over; NULL: there was no memory for it). */
static void
client_answer (struct client *c, char *line)
{
  size_t waiting = c->answers_len - c->answers_pos, len;
  char *p;

  if (line == NULL || c->dead || waiting > CONTROL_UNREAD_MOST_BYTES) {
    c->dead = true;
    free (line);
    return;
  }
  if (waiting == 0) {
    free (c->answers);
    c->answers = line;
    c->answers_pos = 0;
    c->answers_len = strlen (line);
    return;
  }
  len = strlen (line);
  if (c->answers_pos > 0)
    memmove (c->answers, c->answers + c->answers_pos, waiting);
  p = realloc (c->answers, waiting + len);
  c->answers_pos = 0;
  c->answers_len = waiting;
  if (p == NULL)
    c->dead = true;
  else {
    c->answers = p;
    memcpy (p + waiting, line, len);
    c->answers_len += len;
  }
  free (line);
}

static void
client_refuse (struct client *c, enum rpc_code code, int err, const char *text)
{
  struct uraid_error e;

  uraid_error_set (&e, err, "%s", text);
  client_answer (c, rpc_error (NULL, code, &e));
}

static void
client_send (struct client *c)
{
  bool progress = false;

  while (!c->dead && c->answers_pos < c->answers_len) {
    ssize_t r =
        send (c->fd, c->answers + c->answers_pos,
              c->answers_len - c->answers_pos, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (r > 0) {
      c->answers_pos += (size_t)r;
      progress = true;
    }
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      break;
    else if (errno != EINTR)
      c->dead = true;
  }
  if (progress)
    ev_timer_again (c->s->loop, &c->unread);
}

/* --- the end of a client --- */

static void
client_free (struct client *c)
{
  struct control_server *s = c->s;
  struct client **p = &s->clients;

  if (c->sent != NULL)
    c->sent (s->ctx);
  for (struct job *j = s->jobs; j != NULL; j = j->next)
    if (j->client == c)
      j->client = NULL;
  while (*p != c)
    p = &(*p)->next;
  *p = c->next;
  s->nr_clients--;
  ev_io_stop (s->loop, &c->in);
  ev_io_stop (s->loop, &c->out);
  ev_timer_stop (s->loop, &c->unread);
  close (c->fd);
  free (c->answers);
  free (c);
}

/* Send what can be sent, wait for what can happen next, free C if that is
 * nothing.
 */
static void
client_settle (struct client *c)
{
  struct ev_loop *loop = c->s->loop;
  bool all_sent;

  client_send (c);
  all_sent = c->answers_pos == c->answers_len;
  if (all_sent && c->sent != NULL) {
    c->sent (c->s->ctx);
    c->sent = NULL;
  }
  if (c->dead || (all_sent && !c->busy && (c->last || c->eof))) {
    client_free (c);
    return;
  }
  if (all_sent) {
    ev_io_stop (loop, &c->out);
    ev_timer_stop (loop, &c->unread);
  }
  else {
    ev_io_start (loop, &c->out);
    if (!ev_is_active (&c->unread))
      ev_timer_again (loop, &c->unread);
  }
  if (c->last || c->eof)
    ev_io_stop (loop, &c->in);
}

/* --- jobs --- */

/* The job's own thread. */
static void *
job_main (void *arg)
{
  struct job *j = arg;
  struct control_server *s = j->s;

  pthread_setname_np (pthread_self (), "uraid-call");
  j->answer = rpc_run (&j->call, s->ctx);
  atomic_store (&j->done, true);
  ev_async_send (s->loop, &s->wake);
  return NULL;
}

/* Takes over CALL.  All signals are blocked here and so are they there. */
static void
job_start (struct client *c, struct rpc_call *call)
{
  struct job *j = calloc (1, sizeof *j);
  struct uraid_error e = {0};
  int r = ENOMEM;

  if (c->busy)
    uraid_error_set (&e, EBUSY, "%s: this client has a call at work already",
                     call->method->name);
  else if (j != NULL) {
    *j = (struct job){.s = c->s, .client = c, .call = *call};
    r = pthread_create (&j->thread, NULL, job_main, j);
    if (r == 0) {
      j->next = c->s->jobs;
      c->s->jobs = j;
      c->busy = true;
      return;
    }
  }
  if (e.err == 0)
    uraid_error_set (&e, r, "no thread for the call: %s", strerror (r));
  client_answer (c, rpc_error (call->id, RPC_FAILED, &e));
  rpc_call_done (call);
  free (j);
}

static void
job_deliver (struct job *j)
{
  struct control_server *s = j->s;
  struct client *c = j->client;
  void (*sent) (void *ctx) = j->call.method->sent;

  pthread_join (j->thread, NULL);
  rpc_call_done (&j->call);
  if (c == NULL) {
    free (j->answer);
    if (sent != NULL)
      sent (s->ctx);
  }
  else {
    c->busy = false;
    if (sent != NULL)
      c->sent = sent;
    client_answer (c, j->answer);
    client_settle (c);
  }
  free (j);
}

/* Deliver what is done; WAIT: all. */
static void
jobs_reap (struct control_server *s, bool wait)
{
  struct job **p = &s->jobs, *j;

  while ((j = *p) != NULL) {
    if (!wait && !atomic_load (&j->done)) {
      p = &j->next;
      continue;
    }
    *p = j->next;
    job_deliver (j);
  }
}

/* --- requests --- */

static void
client_request (struct client *c, const char *line, size_t len)
{
  struct rpc_call call;
  char *answer;

  if (rpc_parse (c->s->methods, line, len, &call, &answer) < 0) {
    client_answer (c, answer);
    return;
  }
  if (call.method->flags & RPC_SLOW) {
    job_start (c, &call);
    return;
  }
  client_answer (c, rpc_run (&call, c->s->ctx));
  if (call.method->sent != NULL)
    c->sent = call.method->sent;
  rpc_call_done (&call);
}

/* FRESH: where in the line the bytes begin that are new. */
static void
client_lines (struct client *c, size_t fresh)
{
  size_t start = 0;
  const char *nl;

  while (!c->dead && (nl = memchr (c->line + fresh, '\n', c->len - fresh))) {
    size_t end = (size_t)(nl - c->line);

    client_request (c, c->line + start, end - start);
    start = fresh = end + 1;
  }
  c->len -= start;
  memmove (c->line, c->line + start, c->len);
  if (c->len > RPC_LINE_MOST_BYTES) {
    client_refuse (c, RPC_PARSE_ERROR, EMSGSIZE,
                   "a request has at most 65536 bytes (allowed 1..65536)");
    c->last = true;
  }
}

static void
in_cb (struct ev_loop *loop, ev_io *w, int revents)
{
  struct client *c = w->data;
  size_t room = sizeof c->line - c->len;
  ssize_t r;

  (void)loop;
  (void)revents;
  r = recv (c->fd, c->line + c->len, room < TURN_BYTES ? room : TURN_BYTES,
            MSG_DONTWAIT);
  if (r > 0) {
    size_t fresh = c->len;

    c->len += (size_t)r;
    client_lines (c, fresh);
  }
  else if (r == 0) {
    /* A last line may lack its newline. */
    if (c->len > 0)
      client_request (c, c->line, c->len);
    c->eof = true;
  }
  else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    c->dead = true;
  client_settle (c);
}

static void
out_cb (struct ev_loop *loop, ev_io *w, int revents)
{
  (void)loop;
  (void)revents;
  client_settle (w->data);
}

static void
unread_cb (struct ev_loop *loop, ev_timer *w, int revents)
{
  struct client *c = w->data;

  (void)loop;
  (void)revents;
  c->dead = true;
  client_settle (c);
}

/* --- new clients --- */

static void
client_new (struct control_server *s, int fd)
{
  struct client *c = calloc (1, sizeof *c);

  if (c == NULL) {
    close (fd);
    return;
  }
  c->s = s;
  c->fd = fd;
  c->next = s->clients;
  s->clients = c;
  s->nr_clients++;
  ev_io_init (&c->in, in_cb, fd, EV_READ);
  ev_io_init (&c->out, out_cb, fd, EV_WRITE);
  ev_timer_init (&c->unread, unread_cb, 0., UNREAD_MOST_S);
  c->in.data = c->out.data = c->unread.data = c;
  ev_io_start (s->loop, &c->in);
}

/* One too many: a line and the end. */
static void
turn_away (int fd)
{
  struct uraid_error e;
  char *line;

  uraid_error_set (&e, EBUSY,
                   "there are %d clients already, close one of them (allowed "
                   "1..%d)",
                   CONTROL_MAX_CLIENTS, CONTROL_MAX_CLIENTS);
  line = rpc_error (NULL, RPC_FAILED, &e);
  /* An empty socket has room for it. */
  if (line != NULL)
    (void)!send (fd, line, strlen (line), MSG_NOSIGNAL | MSG_DONTWAIT);
  free (line);
  close (fd);
}

static void
listener_cb (struct ev_loop *loop, ev_io *w, int revents)
{
  struct control_server *s = w->data;
  int fd = accept4 (s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

  (void)revents;
  if (fd < 0) {
    /* Who waits stays in the queue, and the loop would spin. */
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
        errno == ENOBUFS) {
      ev_io_stop (loop, w);
      ev_timer_again (loop, &s->pause);
    }
    return;
  }
  if (s->nr_clients >= CONTROL_MAX_CLIENTS)
    turn_away (fd);
  else
    client_new (s, fd);
}

static void
pause_cb (struct ev_loop *loop, ev_timer *w, int revents)
{
  struct control_server *s = w->data;

  (void)revents;
  ev_timer_stop (loop, w);
  ev_io_start (loop, &s->listener);
}

/* --- the thread --- */

static void
wake_cb (struct ev_loop *loop, ev_async *w, int revents)
{
  struct control_server *s = w->data;

  (void)revents;
  jobs_reap (s, false);
  if (atomic_load (&s->quit))
    ev_break (loop, EVBREAK_ALL);
}

static void *
server_main (void *arg)
{
  struct control_server *s = arg;

  pthread_setname_np (pthread_self (), "uraid-control");
  ev_run (s->loop, 0);
  jobs_reap (s, true);
  while (s->clients != NULL) {
    client_send (s->clients);
    client_free (s->clients);
  }
  return NULL;
}

int
control_server_start (struct control_server *s,
                      const struct rpc_method *methods, void *ctx,
                      struct uraid_error *e)
{
  sigset_t all, old;
  int r;

  s->methods = methods;
  s->ctx = ctx;
  s->loop = ev_loop_new (EVFLAG_NOENV);
  if (s->loop == NULL)
    return uraid_error_set (e, ENOMEM, "no event loop for the control socket");
  ev_async_init (&s->wake, wake_cb);
  ev_io_init (&s->listener, listener_cb, s->fd, EV_READ);
  ev_timer_init (&s->pause, pause_cb, 0., PAUSE_S);
  s->wake.data = s->listener.data = s->pause.data = s;
  ev_async_start (s->loop, &s->wake);
  ev_io_start (s->loop, &s->listener);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&s->thread, NULL, server_main, s);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (r != 0)
    return uraid_error_set (e, r, "could not start the control thread: %s",
                            strerror (r));
  s->running = true;
  return 0;
}

void
control_server_stop (struct control_server *s)
{
  if (s == NULL)
    return;
  if (s->running) {
    atomic_store (&s->quit, true);
    ev_async_send (s->loop, &s->wake);
    pthread_join (s->thread, NULL);
  }
  if (s->loop != NULL)
    ev_loop_destroy (s->loop);
  if (s->fd >= 0)
    close (s->fd);
  control_server_unlink (s);
  free (s->path);
  free (s);
}
