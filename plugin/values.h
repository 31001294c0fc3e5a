/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Texts of the command line into numbers.  Pure functions; no locks.  Parsers
 * return 0 or -EINVAL and say nothing: the caller knows key and range.
 */
#ifndef URAID_VALUES_H
#define URAID_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only: no sign, no blanks, no hexadecimal. */
extern int value_uint (const char *text, uint64_t *ret);

/* nbdkit's words for yes and no, in any case. */
extern int value_bool (const char *text, bool *ret);

/* Digits and one of nbdkit's suffixes: b k M G T P E (powers of 1024), s (512
 * bytes).
 */
extern int value_size (const char *text, uint64_t *ret_bytes);

/* Seconds, or with a suffix s m h d; up to three digits may follow a dot. */
extern int value_duration_ms (const char *text, uint64_t *ret_ms);

/* How far apart are two words, in letters added, left out or changed?  "-"
 * and "_" are the same letter.
 */
extern unsigned value_distance (const char *a, const char *b);

#endif
