/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The array's state.
 *
 *   READ_AUTO --> CLEAN <--> (ACTIVATING --> ACTIVE --> CLEANING)
 *       |           |             |            |           |
 *       |           +-------------+-----+------+-----------+
 *       |           |                   v
 *       |           |                BROKEN
 *       |           v                   |
 *       +-------> STOPPED <-------------+
 *
 * from        to          who                  when
 * READ_AUTO   CLEAN       array_go_rw          first use for writing
 * READ_AUTO   BROKEN      slots_fail_locked    too many members lost
 * READ_AUTO   STOPPED     array_stop           nothing was ever written
 * CLEAN       ACTIVATING  meta_step            somebody wants to write
 * CLEAN       BROKEN      slots_fail_locked    too many members lost
 * CLEAN       STOPPED     meta_step            stop
 * ACTIVATING  ACTIVE      meta_step            superblocks say dirty, durably
 * ACTIVATING  BROKEN      slots_fail_locked    too many members lost
 * ACTIVE      CLEANING    meta_step            idle for safe_mode_delay, stop
 * ACTIVE      BROKEN      slots_fail_locked    too many members lost
 * CLEANING    ACTIVE      meta_step            a writer slipped in
 * CLEANING    CLEAN       meta_step            superblocks say clean, durably
 * CLEANING    BROKEN      slots_fail_locked    too many members lost
 * BROKEN      STOPPED     meta_step            stop; superblocks untouched
 *
 * What holds.  READ_AUTO: no byte was written to any member.  CLEAN: no write
 * under way.  ACTIVE: the superblocks of all members in service say dirty.
 * BROKEN: more slots are missing than parity covers; no superblock is
 * written any more.  STOPPED: no write will be accepted.
 *
 * Changes happen under the array lock.
 */
#include <config.h>

#include "array_int.h"

#include <assert.h>

static const bool legal[ARRAY_STOPPED + 1][ARRAY_STOPPED + 1] = {
    [ARRAY_READ_AUTO] =
        {[ARRAY_CLEAN] = 1, [ARRAY_BROKEN] = 1, [ARRAY_STOPPED] = 1},
    [ARRAY_CLEAN] =
        {[ARRAY_ACTIVATING] = 1, [ARRAY_BROKEN] = 1, [ARRAY_STOPPED] = 1},
    [ARRAY_ACTIVATING] = {[ARRAY_ACTIVE] = 1, [ARRAY_BROKEN] = 1},
    [ARRAY_ACTIVE] = {[ARRAY_CLEANING] = 1, [ARRAY_BROKEN] = 1},
    [ARRAY_CLEANING] =
        {[ARRAY_ACTIVE] = 1, [ARRAY_CLEAN] = 1, [ARRAY_BROKEN] = 1},
    [ARRAY_BROKEN] = {[ARRAY_STOPPED] = 1},
};

bool
array_state_legal (enum array_state from, enum array_state to)
{
  return legal[from][to];
}

const char *
array_state_name (enum array_state s)
{
  static const char *const names[] = {"read-auto", "clean",    "activating",
                                      "active",    "cleaning", "broken",
                                      "stopped"};

  return names[s];
}

enum array_state
array_get_state (struct array *a)
{
  return (enum array_state)atomic_load (&a->state);
}

void
array_set_state (struct array *a, enum array_state to)
{
  assert (array_state_legal (array_get_state (a), to));
  atomic_store (&a->state, (int)to);
  if (to == ARRAY_BROKEN)
    a->was_broken = true;
  pthread_cond_broadcast (&a->state_cond);
}
