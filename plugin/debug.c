/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The debug flags; see debug.h.
 */
#include <config.h>

#include "debug.h"

int uraid_debug_member;
int uraid_debug_engine;
int uraid_debug_array;
int uraid_debug_sync;
