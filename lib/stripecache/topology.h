/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What the machine is: CPUs we may use, NUMA nodes, memory.  Read once at
 * start; the automatic values (autosize.h) and the worker groups (workers.h)
 * follow from it.  No locks: a filled struct topology does not change.
 */
#ifndef URAID_TOPOLOGY_H
#define URAID_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "md_layout/uraid_error.h"

#define TOPOLOGY_MAX_CPUS 1024  /* CPUs above count, their node is unknown */
#define TOPOLOGY_MAX_NODES 1024 /* node numbers are below */

struct topology {
  unsigned nr_cpus;  /* online and allowed, >= 1 */
  unsigned nr_nodes; /* nodes that have such CPUs, >= 1 */
  unsigned max_node; /* largest node number: groups are indexed 0..max_node,
                      * numbers may be sparse */
  uint64_t ram_bytes;
  int cpu_node[TOPOLOGY_MAX_CPUS]; /* node of CPU i; -1: none, or a CPU that
                                    * we may not use */
  bool faked; /* CPUs or nodes are not those of the machine: no pinning */
};

/* Fill T: CPUs from the affinity mask of the calling thread, nodes from
 * /sys/devices/system/node (a machine without it has one node, 0), memory
 * from sysconf.  For tests the environment overrides:
 *   URAID_TEST_CPUS=N        so many CPUs
 *   URAID_TEST_NODES=N       nodes 0..N-1
 *   URAID_TEST_NODES=0,2     nodes of these numbers ("2," is node 2 alone)
 *   URAID_TEST_RAM=N         bytes, or with a suffix K M G T
 * Faked CPUs are dealt to the nodes in blocks; with fewer CPUs than nodes the
 * last nodes have none.  0, or -EINVAL with a text that names the variable.
 */
extern int topology_get (struct topology *t, struct uraid_error *e);

/* Node of the CPU the caller runs on; if that is unknown or T is faked, a node
 * that has CPUs, always the same for a thread and spread over the threads.
 * Any thread.
 */
extern unsigned topology_current_group (const struct topology *t);

/* Has NODE a CPU that we may use? */
extern bool topology_node_has_cpu (const struct topology *t, unsigned node);

/* sysfs's list format, "0-3,8" and perhaps a newline; an empty list is legal.
 * RET has NR entries; entry i becomes true if i is in the list, else false.
 * Numbers from NR on are ignored.  0 or -EINVAL.
 */
extern int topology_parse_cpulist (const char *text, bool *ret, unsigned nr);

/* The part of topology_get that reads DIR (/sys/devices/system/node): T comes
 * with cpu_node 0 for the CPUs we may use and -1 for others, and gets
 * cpu_node, nr_nodes and max_node.  What cannot be read leaves its CPUs in
 * node 0.
 */
extern void topology_read_nodes (struct topology *t, const char *dir);

#endif
