/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tunables as JSON: results of the control methods tune.list, tune.get and
 * tune.set.  Threads as in tunables.h.
 */
#ifndef URAID_TUNABLES_JSON_H
#define URAID_TUNABLES_JSON_H

#include <jansson.h>

#include "tunables.h"

/* All return a new reference, or NULL with an error: -ENOMEM, -EINVAL
 * (parameters of the wrong kind), and what tunables_get and tunables_set_text
 * refuse.  tunables_allowed has the range for an error answer.
 */

/* {"schema": ..., "tunables": {KEY: {"value", "default", "allowed", "origin",
 * "changes", "help"}}}
 */
extern json_t *tunables_json_list (struct tunables *t); /* no error text */

/* The same for the keys in PARAMS: {"keys": [KEY, ...]}, or the list alone. */
extern json_t *tunables_json_get (struct tunables *t, json_t *params,
                                  struct uraid_error *e);

/* PARAMS: {"key": KEY, "value": string or integer}.  The result is {"key",
 * "value", "previous"} and, if there is something to say, "note": it belongs
 * in the server's log too.
 */
extern json_t *tunables_json_set (struct tunables *t, json_t *params,
                                  struct uraid_error *e);

#endif
