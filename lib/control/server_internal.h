/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Between path.c and server.c only.
 */
#ifndef URAID_SERVER_INTERNAL_H
#define URAID_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <ev.h>

#include "server.h"

struct client;
struct job;

struct control_server {
  /* Set by control_server_bind, constant afterwards. */
  char *path;
  int fd;
  bool bound; /* the file is ours: dev and ino tell it */
  dev_t dev;
  ino_t ino;

  /* Set by control_server_start, constant while the thread runs. */
  const struct rpc_method *methods;
  void *ctx;
  pthread_t thread;
  bool running;
  struct ev_loop *loop;

  /* Any thread may send wake; atomic. */
  ev_async wake;
  atomic_bool quit;

  /* The server's thread only. */
  ev_io listener;
  ev_timer pause; /* out of descriptors: accept again later */
  struct client *clients;
  unsigned nr_clients;
  struct job *jobs;
};

#endif
