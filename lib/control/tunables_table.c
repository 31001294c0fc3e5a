/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The table of tunables (see the header).  To add one: an index, a row, what
 * it does in the engine (apply in tunables.c), and if it has an automatic
 * value its rule (auto_value there).  Help and manual page follow.
 */
#include <config.h>

#include "tunables_table.h"

#include <limits.h>

const char *const tune_changes_text[] = {
    [CHANGES_START] = "start",
    [CHANGES_RUN_TIME] = "run time",
    [CHANGES_NEVER] = "read-only",
};

const char *const tune_profile_text[PROFILE_NR] = {
    [PROFILE_AUTO] = "auto",
    [PROFILE_STOCK] = "stock",
    [PROFILE_TREE] = "tree",
};

bool
tune_row_at_start (const struct tune_row *row)
{
  return row->changes != CHANGES_NEVER && row->type != TYPE_COUNTERS;
}

/* clang-format off */
const struct tune_row tune_table[TUNE_NR] = {
    [TUNE_PROFILE] = {
        .key = "profile",
        .value_name = "NAME",
        .type = TYPE_PROFILE,
        .changes = CHANGES_START,
        .default_text = "auto",
        .allowed = "auto, stock, tree",
        .help = "where values come from that are not given",
        .pod =
            "C<auto>: from the machine, as told below.  C<stock>: the\n"
            "constants of the kernel's md.  C<tree>: those of the out-of-tree\n"
            "md with larger caches.  Whatever is given as a parameter of its\n"
            "own goes before the profile.",
    },
    [TUNE_STRIPE_CACHE_SIZE] = {
        .key = "stripe_cache_size",
        .value_name = "N",
        .changes = CHANGES_RUN_TIME,
        .min = 17,
        .max = 262144,
        .has_auto = true,
        .auto_min = 0,
        .auto_max = -1,
        .default_text = "auto",
        .profile = {[PROFILE_STOCK] = "256", [PROFILE_TREE] = "256"},
        .allowed = "17..262144",
        .help = "stripes to keep (4K of each member)",
        .pod =
            "How many stripes may be kept in memory; a stripe is 4 KiB of each\n"
            "member, so that the limit in bytes is this times the number of\n"
            "slots times 4096.  Memory is taken when it is used, not before.\n"
            "C<auto>: 256, and one part in 512 of what the machine has beyond\n"
            "12 GiB, at most 4096 stripes.  More than\n"
            "B<stripe_cache_size_max> is refused (C<ENOMEM>) with the bytes\n"
            "that would be needed.",
    },
    [TUNE_STRIPE_CACHE_SIZE_DEFAULT] = {
        .key = "stripe_cache_size_default",
        .value_name = "N",
        .changes = CHANGES_START,
        .min = 17,
        .max = 262144,
        .has_auto = true,
        .default_text = "0",
        .allowed = "0, 17..262144",
        .help = "stripe_cache_size if that is not given",
        .pod =
            "What B<stripe_cache_size> starts with when it is not given\n"
            "itself.  0 (or C<auto>): the rule above, or the profile's value.",
    },
    [TUNE_STRIPE_CACHE_SIZE_MAX] = {
        .key = "stripe_cache_size_max",
        .value_name = "N",
        .changes = CHANGES_START,
        .min = 32768,
        .max = 262144,
        .has_auto = true,
        .default_text = "auto",
        .profile = {[PROFILE_STOCK] = "32768", [PROFILE_TREE] = "262144"},
        .allowed = "0, 32768..262144",
        .help = "the most that stripe_cache_size may be",
        .pod =
            "The most that B<stripe_cache_size> may be set to.  C<auto> (or\n"
            "0): what one part in 16 of the memory holds, but 32768 to 262144\n"
            "stripes.",
    },
    [TUNE_STRIPE_CACHE_ACTIVE] = {
        .key = "stripe_cache_active",
        .changes = CHANGES_NEVER,
        .default_text = "0",
        .allowed = "read-only",
        .help = "stripes in memory now",
        .pod =
            "How many stripes are in memory now.",
    },
    [TUNE_GROUP_THREAD_CNT] = {
        .key = "group_thread_cnt",
        .value_name = "N",
        .changes = CHANGES_RUN_TIME,
        .min = 0,
        .max = 8192,
        .has_auto = true,
        .auto_min = -1,
        .auto_max = -1,
        .default_text = "auto",
        .profile = {[PROFILE_STOCK] = "0", [PROFILE_TREE] = "auto"},
        .allowed = "-1, 0..8192",
        .help = "most worker threads of a NUMA node",
        .pod =
            "The most worker threads of each NUMA node; they handle stripes\n"
            "(parity, and what is sent to the members).  A thread is started\n"
            "when stripes wait for it, so that a large number costs nothing by\n"
            "itself.  0: no workers, stripes are handled where they turn up.\n"
            "C<auto> (or -1): the processors divided by twice the number of\n"
            "nodes, at most 256; a result of 1 becomes 0, as one worker only\n"
            "adds a hand-over.  In profile C<tree>: half the processors, at\n"
            "most 2.",
    },
    [TUNE_GROUP_THREAD_CNT_DEFAULT] = {
        .key = "group_thread_cnt_default",
        .alias = "default_group_thread_cnt",
        .value_name = "N",
        .changes = CHANGES_START,
        .min = 0,
        .max = INT64_MAX,
        .has_auto = true,
        .auto_min = INT64_MIN,
        .auto_max = -1,
        .cap = 256,
        .default_text = "-1",
        .allowed = "-1, 0..256",
        .help = "group_thread_cnt if that is not given",
        .pod =
            "What B<group_thread_cnt> starts with when it is not given itself.\n"
            "Any negative number (or C<auto>): the rule above, or the\n"
            "profile's value.  More than 256 becomes 256, with a remark.  Only\n"
            "one of the two spellings may be given.",
    },
    [TUNE_WORKER_WAKE_THRESHOLD] = {
        .key = "worker_wake_threshold",
        .changes = CHANGES_NEVER,
        .min = 8,
        .max = 8,
        .default_text = "8",
        .allowed = "read-only",
        .help = "stripes that wait for one more worker to be woken",
        .pod =
            "One worker runs for every 8 stripes that wait, and at least\n"
            "one.  It does not depend on B<max_stripe_batch>.",
    },
    [TUNE_MAX_STRIPE_BATCH] = {
        .key = "max_stripe_batch",
        .value_name = "N",
        .changes = CHANGES_RUN_TIME,
        .min = 1,
        .max = 256,
        .default_text = "8",
        .profile = {[PROFILE_STOCK] = "8", [PROFILE_TREE] = "8"},
        .allowed = "1..256",
        .help = "most stripes that a worker takes at once",
        .pod =
            "The most that a worker takes from its queue at once.  It never\n"
            "waits until there is as much.  More: fewer locks taken; fewer:\n"
            "work is spread better.",
    },
    [TUNE_PREREAD_BYPASS_THRESHOLD] = {
        .key = "preread_bypass_threshold",
        .value_name = "N",
        .changes = CHANGES_RUN_TIME,
        .min = 0,
        .max = 262144,
        .default_text = "1",
        .allowed = "0..stripe_cache_size",
        .help = "how often full stripes pass those that must read",
        .pod =
            "How many times stripes that can be written at once may pass those\n"
            "that must be read first, before one of the latter has its turn.\n"
            "0: first come, first served.  If B<stripe_cache_size> is made\n"
            "smaller than this, this is made smaller too, with a remark.",
    },
    [TUNE_NR_STRIPE_HASH_LOCKS] = {
        .key = "nr_stripe_hash_locks",
        .value_name = "N",
        .changes = CHANGES_START,
        .min = 8,
        .max = 32,
        .has_auto = true,
        .power_of_two = true,
        .default_text = "auto",
        .profile = {[PROFILE_STOCK] = "8", [PROFILE_TREE] = "32"},
        .allowed = "0, 8, 16, 32",
        .help = "locks of the stripe cache",
        .pod =
            "How many locks the stripe cache has.  C<auto> (or 0): the number\n"
            "of processors rounded up to a power of two, 8 to 32.",
    },
    [TUNE_RMW_LEVEL] = {
        .key = "rmw_level",
        .value_name = "0|1|2",
        .changes = CHANGES_RUN_TIME,
        .min = 0,
        .max = 2,
        .default_text = "1",
        .allowed = "0, 1, 2",
        .help = "read-modify-write: 0 never, 1 when cheaper, 2 always",
        .pod =
            "Whether a small write may read the old data and the old parity\n"
            "instead of the rest of the stripe.  0: never, 1: unless it is\n"
            "more to read, 2: whenever it can be done.  All three work on\n"
            "RAID-6 on every processor.",
    },
    [TUNE_SKIP_COPY] = {
        .key = "skip_copy",
        .value_name = "0|1",
        .changes = CHANGES_RUN_TIME,
        .min = 0,
        .max = 1,
        .default_text = "1",
        .allowed = "0, 1",
        .help = "send full pages out of the client's buffer",
        .pod =
            "1: full pages are sent to the members out of the client's request,\n"
            "without a copy.",
    },
    [TUNE_STRIPE_SIZE] = {
        .key = "stripe_size",
        .changes = CHANGES_NEVER,
        .min = 4096,
        .max = 4096,
        .default_text = "4096",
        .allowed = "read-only",
        .help = "bytes of a member in one stripe",
        .pod =
            "How many bytes of each member make a stripe: 4096.",
    },
    [TUNE_WRITE_STATS] = {
        .key = "write_stats",
        .value_name = "0",
        .type = TYPE_COUNTERS,
        .changes = CHANGES_RUN_TIME,
        .default_text = "full=0 rcw=0 rmw=0 prereads=0",
        .allowed = "any value resets",
        .help = "writes by kind, and reads for them",
        .pod =
            "How many writes were done as full stripes, as reconstruct-write\n"
            "and as read-modify-write, and how many requests to members had to\n"
            "read something for the latter two.  Whatever is written to it\n"
            "makes all four 0.",
    },
};
/* clang-format on */
