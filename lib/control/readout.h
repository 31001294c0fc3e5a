/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What clients of the control socket see of an array, as JSON: sizes in
 * bytes, times in UTC seconds; man/uraid-control.pod explains each field.
 * Pure functions of a snapshot: no locks, no I/O.  Each returns a new
 * reference; when memory runs out the result lacks fields or is NULL.
 */
#ifndef URAID_READOUT_H
#define URAID_READOUT_H

#include <jansson.h>

#include "../array/snapshot.h"

/* All of one array, without "schema". */
extern json_t *readout_array (const struct array_snapshot *s);
/* The results of the methods detail, status and stats.get. */
extern json_t *readout_detail (const struct array_snapshot *s);
extern json_t *readout_status (const struct array_snapshot *s);
extern json_t *readout_stats (const struct array_snapshot *s);

#endif
