/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The parts of uraid detail.  One thread, no locks.
 */
#ifndef URAID_TOOLS_DETAIL_H
#define URAID_TOOLS_DETAIL_H

#include "online.h"
#include "view.h"

/* "        Raid Level : ...". */
extern void detail_line (const char *label, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Print what --stats adds, from RESULT, the answer that V was made of.  0, or
 * -1 and WHY; then nothing was printed.
 */
extern int detail_print_stats (const struct view *v, json_t *result,
                               char why[VIEW_WHY_BYTES]);

#endif
