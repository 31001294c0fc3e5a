/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The control socket's language, JSON-RPC 2.0 with one object a line: from a
 * line to a call, from a call to an answer line.  No sockets, no threads, no
 * locks: the server (server.h) decides where a call runs.  What a line holds
 * is the client's, so nothing here asserts on it.
 */
#ifndef URAID_RPC_H
#define URAID_RPC_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "../md_layout/uraid_error.h"

#define RPC_SCHEMA "uraid/1"
#define RPC_LINE_MOST_BYTES 65536 /* without the newline */

enum rpc_code {
  RPC_PARSE_ERROR = -32700,
  RPC_NOT_A_REQUEST = -32600,
  RPC_UNKNOWN_METHOD = -32601,
  RPC_BAD_PARAMS = -32602,
  RPC_FAILED = -32000, /* everything else */
};

#define RPC_CHANGES 1u      /* does more than look */
#define RPC_TAKES_PARAMS 2u /* without: params must be absent or empty */
#define RPC_SLOW 4u         /* may wait: runs in a thread of its own */

/* Work for one method.  PARAMS: an object or NULL; borrowed.  Returns the
 * result (a new reference), or NULL with E filled: err EINVAL and ERANGE
 * become -32602, others -32000; a text that ends in "(allowed X)" also gives
 * data.allowed.
 */
typedef json_t *(*rpc_handler) (void *ctx, json_t *params,
                                struct uraid_error *e);

struct rpc_method {
  const char *name;
  unsigned flags;
  rpc_handler handler;
  /* Or NULL.  Called on the server's thread when the answer was handed to the
   * socket, or its client is gone.  Must not block.
   */
  void (*sent) (void *ctx);
};

/* A request that is well formed.  Ended by rpc_call_done. */
struct rpc_call {
  json_t *root;   /* owns the others */
  json_t *id;     /* a number or a string */
  json_t *params; /* an object, or NULL */
  const struct rpc_method *method;
};

/* Parse one line (without its newline, any bytes).  TABLE ends with a method
 * without name.  Returns 0 and *RET; or -1 and *RET_ANSWER, the error line.
 */
extern int rpc_parse (const struct rpc_method *table, const char *line,
                      size_t len, struct rpc_call *ret, char **ret_answer);
extern void rpc_call_done (struct rpc_call *c);

/* Run the handler.  Returns the answer line.  Any one thread. */
extern char *rpc_run (const struct rpc_call *c, void *ctx);

/* An error line; ID may be NULL. */
extern char *rpc_error (json_t *id, enum rpc_code code,
                        const struct uraid_error *e);

/* All lines end in a newline and are to be freed; NULL: out of memory. */

/* TEXT as a JSON string whatever its bytes are: if it is not UTF-8, each byte
 * beyond ASCII becomes "?".  NULL gives null.
 */
extern json_t *rpc_text (const char *text);
/* JSON has no unsigned 64-bit number here: what is above 2^63 - 1 becomes
 * 2^63 - 1, never negative.
 */
extern json_t *rpc_number (uint64_t n);

/* J as one line of text with its end, to be freed; NULL: no memory, or J was
 * NULL.  Takes over J.  Any thread.
 */
extern char *rpc_line (json_t *j);

#endif
