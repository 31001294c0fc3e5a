/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Client of the control socket: from NAME or PATH to a socket, one request,
 * one answer, in bounded time and memory.  Whoever answers is not trusted:
 * what comes back is an object and nothing more is known about it; view.h
 * looks inside.  One thread, no locks.
 */
#ifndef URAID_TOOLS_ONLINE_H
#define URAID_TOOLS_ONLINE_H

#include "common.h"

extern const struct verb verb_status, verb_detail, verb_get, verb_set,
    verb_stop;

/* Exit code: --timeout ran out. */
#define ONLINE_TIMED_OUT 5

/* A longer answer is refused.  253 members need a tenth of it. */
#define ONLINE_ANSWER_MOST_BYTES (1u << 20)

/* One control socket. */
struct online {
  char shown[512]; /* what the user calls it, fit to be printed */
  char path[108];  /* as long as a socket's path can be */
};

/* Why a server said no. */
struct online_refusal {
  int err;            /* errno value or TOOL_E_REFUSED */
  char message[1024]; /* fit to be printed, as are the others */
  char allowed[256];  /* "" = no range was given */
};

/* ARRAY is a path if it has a slash, else a name: NAME.sock or HOST:NAME.sock
 * in /run/uraid and $XDG_RUNTIME_DIR/uraid, in this order.  A socket without
 * a server gives way to one in the other place.  0 or an exit code (the error
 * was told, with the places looked at).
 */
extern int online_find (struct tool *t, const char *array, struct online *ret);

/* All sockets in both places, sorted by name, *RET to be freed.  That a place
 * is not there is no error.  0 or an exit code (told).
 */
extern int online_find_all (struct tool *t, struct online **ret,
                            size_t *ret_nr);

/* The two places as text, for messages. */
extern const char *online_places (char *buf, size_t len);

#define ONLINE_REFUSED (-1)
#define ONLINE_NOBODY (-2)

struct online_call {
  const char *method;
  json_t *params;      /* taken over, also on errors; NULL = none */
  uint64_t timeout_ms; /* for the answer; 0 = --request-timeout */
  int timeout_code;    /* exit code when it runs out; 0 = TOOL_UNREADABLE */
  bool until_closed;   /* then wait until the server has gone, too */
  bool may_be_dead;    /* ONLINE_NOBODY if no server is at the socket */
};

/* Send a request and wait for the answer.  0: *RET_RESULT is an object, to be
 * released.  ONLINE_REFUSED: the server said no, R is filled, nothing was
 * told.  ONLINE_NOBODY: see above, nothing was told.  Else an exit code, and
 * the error was told.
 */
extern int online_call (struct tool *t, const struct online *o,
                        const struct online_call *c, json_t **ret_result,
                        struct online_refusal *r);

/* Tell a refusal of something that has to do with WHAT and VALUE (NULL: none;
 * both are escaped here).  Returns TOOL_REFUSED or CODE.
 */
extern int online_tell (struct tool *t, int code, const char *what,
                        const char *value, const struct online_refusal *r);

/* Tell that the answer of O makes no sense; returns TOOL_UNREADABLE. */
extern int online_nonsense (struct tool *t, const struct online *o,
                            const char *why);

/* TEXT with everything that could drive a terminal, or is no UTF-8, as \xNN
 * and the backslash doubled.  Cut to LEN.  BUF is returned.
 */
extern const char *online_escape (const char *text, char *buf, size_t len);

/* As tool_print_json, but in ASCII only: there are control characters beyond
 * it that JSON does not escape.
 */
extern int online_print_json (struct tool *t, json_t *obj);

#endif
