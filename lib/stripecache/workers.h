/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Stripe workers: one group of threads a NUMA node, up to group_thread_cnt
 * threads in each, that run queued work items.  They know nothing of stripes:
 * an item is a function to call.
 *
 * Threads are a ceiling, not a crowd.  One is started, or an idle one woken,
 * when what is queued wants it (workers_wanted) and it would find something;
 * idle threads stay until the count is changed.
 *
 * Order.  A group has two lists, as md has: "hold" for items that need
 * prereads, "handle" for the others.  Handle goes first; but when
 * preread_bypass_threshold items in a row have passed by a non-empty hold
 * list, the next item comes from hold.  Threshold 0: no bypass, strictly first
 * come first served over both lists.  (md's 0 lets the hold list wait until
 * all full-stripe writes are done, which under load is for ever.)  Both lists
 * make progress with every threshold.
 *
 * Locks: one mutex a group, a leaf: nothing is taken under it and no item
 * runs under it, so items may be queued with a bucket lock held.
 */
#ifndef URAID_WORKERS_H
#define URAID_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "autosize.h"
#include "md_layout/uraid_error.h"
#include "topology.h"

#define WORKERS_MAX AUTOSIZE_THREADS_MOST     /* threads a group */
#define WORKERS_BATCH_MAX AUTOSIZE_BATCH_MOST /* items */
#define WORKERS_BATCH AUTOSIZE_BATCH          /* default */
#define WORKERS_BYPASS 1u                     /* default */
#define WORKERS_WAKE_ITEMS                                                    \
  8u /* items a further worker; whatever the batch                            \
      */

struct workers;

/* Embedded in the caller's object.  From workers_queue until fn is called it
 * belongs to the workers; fn may free it or queue it again.
 */
struct work_item {
  STAILQ_ENTRY (work_item) link; /* the workers' */
  uint64_t seq;                  /* the workers' */
  void (*fn) (struct work_item *item);
  unsigned group; /* node that shall run it (topology_current_group) */
  bool preread;   /* hold list, not handle list */
};

/* No threads yet: the count is 0.  T is not kept.  0 or -ENOMEM. */
extern int workers_new (const struct topology *t, struct workers **ret,
                        struct uraid_error *e);

/* Finish what is queued, end the threads.  Nobody else may use W any more, and
 * the caller is not a worker.  W may be NULL.
 */
extern void workers_free (struct workers *w);

/* PER_GROUP threads a group from now on, 0 ... WORKERS_MAX.  Any thread but a
 * worker of W; calls wait for each other, items may be queued meanwhile.  The
 * new workers' structures are there before anything changes; then they take
 * over; then the old threads finish what was queued to them and end, before
 * this returns.  The array is never quiesced for it: requests go on, and wait
 * at most for one group's lock while pointers are exchanged, in which time
 * nothing is allocated.  The same count again does nothing.  0; -EINVAL;
 * -ENOMEM: the old count stays and works.
 */
extern int workers_set_count (struct workers *w, unsigned per_group,
                              struct uraid_error *e);
extern unsigned workers_count (struct workers *w);

/* Let a worker run ITEM.  False if there is none: the count is 0, or the first
 * thread of the group cannot be started; then the caller runs ITEM itself.  If
 * a further thread cannot be started the group goes on with those that it has,
 * until the count is changed.  ITEM->group without CPUs, or of no such number:
 * a group that has CPUs takes it.  Any thread, also workers.
 */
extern bool workers_queue (struct workers *w, struct work_item *item);

/* How many of PER_GROUP workers should run when QUEUED items wait or are being
 * run: one, and one more for each further WORKERS_WAKE_ITEMS.  Pure.
 */
extern unsigned workers_wanted (unsigned queued, unsigned per_group);

/* max_stripe_batch: a worker takes up to ITEMS at a time, as many as are
 * there; it does not wait for more.  1 ... WORKERS_BATCH_MAX.  Any thread.  0
 * or -EINVAL.
 */
extern int workers_set_batch (struct workers *w, unsigned items,
                              struct uraid_error *e);

/* preread_bypass_threshold, in items (see above).  Any thread. */
extern void workers_set_bypass (struct workers *w, unsigned items);

struct workers_stats {
  uint64_t wakes;   /* threads woken or started because of an item */
  uint64_t batches; /* times that a worker took items */
  uint64_t items;   /* taken to be run */
  uint64_t changes; /* of the count */
  unsigned running; /* workers woken and not idle again */
  unsigned peak;    /* most running at a time, all groups */
  unsigned threads; /* alive, idle or not */
};
extern void workers_get_stats (struct workers *w, struct workers_stats *ret);

/* Items that workers of GROUP took; 0 for no such group. */
extern uint64_t workers_handled (struct workers *w, unsigned group);

/* For tests: the Nth allocation (thread start) from now on fails, once; 0 =
 * none does.  Whole process.
 */
extern void workers_test_fail_alloc (unsigned n);
extern void workers_test_fail_thread (unsigned n);
/* Is the calling thread just letting new workers take over?  It must not
 * allocate then.
 */
extern bool workers_test_taking_over (void);

#endif
