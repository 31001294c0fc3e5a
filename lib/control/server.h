/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The control socket: a Unix socket of mode 0600 and one thread with an event
 * loop that serves all its clients.  What the methods do is the owner's, in
 * the table given to control_server_start.
 *
 * Life: control_server_bind (before the fork, where errors reach the user) ->
 * control_server_start (after it) -> control_server_stop.
 */
#ifndef URAID_SERVER_H
#define URAID_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "../md_layout/uraid_error.h"
#include "rpc.h"

#define CONTROL_MAX_CLIENTS 32
/* Unread answers, in bytes, that make a client be dropped. */
#define CONTROL_UNREAD_MOST_BYTES (1u << 20)

struct control_server;

/* Listen at PATH (absolute).  A socket there where nobody answers is left
 * over from a crash and replaced; -EADDRINUSE: somebody answers; -EEXIST:
 * something else is there; -ENAMETOOLONG.  Changes the umask for a moment:
 * main thread only.  Returns 0 or -errno with a text that names PATH.
 */
extern int control_server_bind (const char *path, struct control_server **ret,
                                struct uraid_error *e);

/* Start the thread.  METHODS (the last one has no name) outlives the server;
 * handlers get CTX, run on the server's thread (RPC_SLOW ones on a thread of
 * their own) with all signals blocked, and must be safe there.
 */
extern int control_server_start (struct control_server *s,
                                 const struct rpc_method *methods, void *ctx,
                                 struct uraid_error *e);

/* End the thread (waits for slow methods at work), send what can be sent at
 * once, close all, remove the file, free.  NULL is fine.  Not from a handler.
 */
extern void control_server_stop (struct control_server *s);

/* Only remove the file, if it is still ours.  Any thread. */
extern void control_server_unlink (const struct control_server *s);

/* Where the array NAME has its socket unless told otherwise:
 * /run/uraid/NAME.sock if that directory can be written to, else
 * $XDG_RUNTIME_DIR/uraid/NAME.sock (MAKE: the directory is made, mode 0700).
 * In NAME, "/" and control characters and a dot at its beginning become "_";
 * an empty name becomes UUID_TEXT.  0 and the path in BUF; -ENOENT with a
 * text: neither can be used.
 */
extern int control_default_path (const char *name, const char *uuid_text,
                                 bool make, char *buf, size_t size,
                                 struct uraid_error *e);

#endif
