/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * One remote member: an address, its connections, what the server offers.
 * Knows nothing of RAID.
 *
 * Life: member_new -> member_connect_all (one thread, before any lane runs)
 * -> blocking I/O by sync_io.h from that same thread -> lanes own the
 * connections (lane.h) until lanes_free -> member_free.
 */
#ifndef URAID_MEMBER_H
#define URAID_MEMBER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <libnbd.h>

#include "../md_layout/uraid_error.h"

#define MEMBER_MAX_CONNS 16

/* Connection states; transition table at the top of member.c.  The names
 * absent, behind ... of later work are array states and not these.
 */
enum member_state {
  MEMBER_NEW,        /* never connected */
  MEMBER_CONNECTING, /* member_connect_all is at it */
  MEMBER_CONNECTED,  /* all its connections are ready */
  MEMBER_LOST,       /* was connected; connection died or timed out */
  MEMBER_REFUSED,    /* could not be connected (text in error) */
  MEMBER_CLOSED,     /* closed by us */
};

struct member_options {
  uint64_t open_timeout_ms;    /* per attempt to connect; 0 = one immediate
                                  try with a floor of 1000 ms */
  uint64_t request_timeout_ms; /* 0 = off */
  unsigned connections;        /* wanted, 1 .. MEMBER_MAX_CONNS; 1 is used
                                  when the server has no multi-conn */
  unsigned queue_depth;        /* most requests in flight on a connection,
                                  0 = any number */
  int tls;                     /* -1 = as the URI says; LIBNBD_TLS_x */
  const char *tls_certificates, *tls_psk_file, *tls_username; /* or NULL */
  bool tls_verify_peer;
  bool read_only; /* a path member is opened read-only */
  bool debug;     /* libnbd's debug output to stderr */
};

struct member {
  /* Set once by member_new. */
  char *address; /* as the user gave it, for messages (no secrets) */
  char *path;    /* plain path member: absolute path; else NULL */
  struct member_options opt;

  /* Set by member_connect_all, constant afterwards. */
  unsigned nr_conns;
  struct nbd_handle *conn[MEMBER_MAX_CONNS];
  pid_t child[MEMBER_MAX_CONNS]; /* private "nbdkit -s file", or 0 */
  uint64_t size_bytes;
  bool read_only, can_flush, can_fua, can_zero, can_trim, can_multi_conn;
  uint32_t min_block;       /* alignment of requests: power of two, >= 512 */
  uint32_t max_block;       /* longest request, multiple of min_block */
  struct uraid_error error; /* why REFUSED or LOST; under no lock: written
                               before the state is, with release order */

  _Atomic enum member_state state;

  /* Free for the layer above (slot number ...). */
  void *user;

  /* The lanes': index in their table.  Set by lanes_new. */
  unsigned lane_slot;

  /* Statistics, any thread.  reads and writes count what goes over the wire;
   * merged are the commands that went together with another, and
   * merged_bytes what was copied for it.
   */
  _Atomic uint64_t reads, writes, read_bytes, write_bytes, errors;
  _Atomic uint64_t merged, merged_bytes;
  _Atomic uint64_t latency_us; /* moving average over the last 8 or so */
  _Atomic unsigned in_flight;  /* requests sent and not answered */
};

/* ADDRESS is an NBD URI (nbd, nbds, nbd+unix, nbds+unix, nbd+vsock,
 * nbds+vsock) or the path of a file or block device (made absolute here).
 * Refuses anything else with a text.  0 or -errno.
 */
extern int member_new (const char *address, const struct member_options *opt,
                       struct member **ret, struct uraid_error *e);

/* Connect all MS in parallel (one poll loop, no threads).  A member that
 * cannot be connected is tried again until WAIT_MS have passed since the
 * call (0 = one try each); each try is bounded by open_timeout_ms.  Returns
 * when each is CONNECTED or the time is over; never waits longer than
 * max (WAIT_MS, open_timeout_ms) + a little.  Afterwards state and error tell
 * of each.  Returns the number connected.
 */
extern size_t member_connect_all (struct member **ms, size_t nr,
                                  uint64_t wait_ms);

/* The only way to change a member's state: asserts that the step is legal. */
extern void member_set_state (struct member *m, enum member_state to);
extern const char *member_state_name (enum member_state s);
/* Is FROM -> TO in the table? (for the test) */
extern bool member_state_legal (enum member_state from, enum member_state to);

/* Close the connections (orderly where they are ready), end private children
 * within 2 s, free.  NULL is fine.  No lane may own the member any more.
 */
extern void member_free (struct member *m);

#endif
