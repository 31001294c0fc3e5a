/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * CPUs, NUMA nodes and memory of the machine, or of one that a test makes up
 * (see the header).  No locks; the only global is the counter from which each
 * thread draws its number once.
 */
#include <config.h>

#include "topology.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_DIR "/sys/devices/system/node"
/* The kernel refuses a mask that is smaller than its own. */
#define MASK_CPUS 16384

/*----- Lists of numbers -----*/

/* Digits at *P into *RET; *P moves on.  Large numbers stay large. */
static int
parse_number (const char **p, unsigned *ret)
{
  unsigned n = 0;

  if (**p < '0' || **p > '9')
    return -EINVAL;
  for (; **p >= '0' && **p <= '9'; ++*p)
    n = n > 100000000 ? n : n * 10 + (unsigned)(**p - '0');
  *ret = n;
  return 0;
}

/* "N" or "N-M" at *P. */
static int
parse_range (const char **p, bool *ret, unsigned nr)
{
  unsigned first, last, i;

  if (parse_number (p, &first) < 0)
    return -EINVAL;
  last = first;
  if (**p == '-') {
    ++*p;
    if (parse_number (p, &last) < 0 || last < first)
      return -EINVAL;
  }
  for (i = first; i <= last && i < nr; i++)
    ret[i] = true;
  return 0;
}

int
topology_parse_cpulist (const char *text, bool *ret, unsigned nr)
{
  const char *p = text;

  memset (ret, 0, nr * sizeof *ret);
  while (*p != '\0' && *p != '\n') {
    if (p != text && *p++ != ',')
      return -EINVAL;
    if (parse_range (&p, ret, nr) < 0)
      return -EINVAL;
  }
  return p[0] == '\n' && p[1] != '\0' ? -EINVAL : 0;
}

/*----- The machine -----*/

/* The list in FILE of DIR.  0 or -errno. */
static int
read_list (const char *dir, const char *file, bool *ret, unsigned nr)
{
  char path[256], text[8192];
  FILE *fp;
  size_t n;

  snprintf (path, sizeof path, "%s/%s", dir, file);
  fp = fopen (path, "re");
  if (fp == NULL)
    return -errno;
  n = fread (text, 1, sizeof text - 1, fp);
  fclose (fp);
  text[n] = '\0';
  return topology_parse_cpulist (text, ret, nr);
}

bool
topology_node_has_cpu (const struct topology *t, unsigned node)
{
  unsigned cpu;

  for (cpu = 0; cpu < TOPOLOGY_MAX_CPUS; cpu++)
    if (t->cpu_node[cpu] == (int)node)
      return true;
  return false;
}

/* cpu_node is there: count the nodes. */
static void
count_nodes (struct topology *t)
{
  unsigned node;

  t->nr_nodes = 0;
  for (node = 0; node <= t->max_node; node++)
    t->nr_nodes += topology_node_has_cpu (t, node);
  if (t->nr_nodes == 0) /* only CPUs above TOPOLOGY_MAX_CPUS */
    t->nr_nodes = 1;
}

void
topology_read_nodes (struct topology *t, const char *dir)
{
  bool nodes[TOPOLOGY_MAX_NODES], cpus[TOPOLOGY_MAX_CPUS];
  char file[32];
  unsigned node, cpu;

  t->max_node = 0;
  if (read_list (dir, "online", nodes, TOPOLOGY_MAX_NODES) < 0)
    memset (nodes, 0, sizeof nodes);
  for (node = 0; node < TOPOLOGY_MAX_NODES; node++) {
    if (!nodes[node])
      continue;
    t->max_node = node;
    snprintf (file, sizeof file, "node%u/cpulist", node);
    if (read_list (dir, file, cpus, TOPOLOGY_MAX_CPUS) < 0)
      continue;
    for (cpu = 0; cpu < TOPOLOGY_MAX_CPUS; cpu++)
      if (cpus[cpu] && t->cpu_node[cpu] >= 0)
        t->cpu_node[cpu] = (int)node;
  }
  count_nodes (t);
}

/* CPUs that we may use; all of them in node 0 as yet. */
static void
read_cpus (struct topology *t)
{
  cpu_set_t *set = CPU_ALLOC (MASK_CPUS);
  size_t bytes = CPU_ALLOC_SIZE (MASK_CPUS);
  long n = sysconf (_SC_NPROCESSORS_ONLN);
  bool known = set != NULL && sched_getaffinity (0, bytes, set) == 0;
  unsigned cpu;

  t->nr_cpus =
      known ? (unsigned)CPU_COUNT_S (bytes, set) : (unsigned)(n > 0 ? n : 1);
  for (cpu = 0; cpu < TOPOLOGY_MAX_CPUS; cpu++)
    t->cpu_node[cpu] =
        (known ? CPU_ISSET_S (cpu, bytes, set) : cpu < t->nr_cpus) ? 0 : -1;
  if (set != NULL)
    CPU_FREE (set);
}

/*----- A machine that a test makes up -----*/

/* The whole TEXT is a number from 1 to MAX. */
static int
parse_count (const char *text, unsigned max, unsigned *ret)
{
  if (parse_number (&text, ret) < 0 || *text != '\0')
    return -EINVAL;
  return *ret >= 1 && *ret <= max ? 0 : -EINVAL;
}

static int
fake_cpus (struct topology *t, const char *text, struct uraid_error *e)
{
  if (parse_count (text, TOPOLOGY_MAX_CPUS, &t->nr_cpus) < 0)
    return uraid_error_set (e, EINVAL,
                            "URAID_TEST_CPUS=%s: not a number of CPUs from "
                            "1 to %d",
                            text, TOPOLOGY_MAX_CPUS);
  return 0;
}

/* TEXT, a count or a list, into the set NODES; NULL is one node. */
static int
fake_nodes (bool *nodes, const char *text, struct uraid_error *e)
{
  unsigned i, n = 1, known = 0;
  char list[4096];
  size_t len;

  memset (nodes, 0, TOPOLOGY_MAX_NODES * sizeof *nodes);
  if (text == NULL || parse_count (text, TOPOLOGY_MAX_NODES, &n) == 0) {
    memset (nodes, 1, n * sizeof *nodes);
    return 0;
  }
  len = strlen (text);
  if (strchr (text, ',') != NULL && len < sizeof list) {
    memcpy (list, text, len + 1);
    if (list[len - 1] == ',')
      list[len - 1] = '\0';
    if (topology_parse_cpulist (list, nodes, TOPOLOGY_MAX_NODES) == 0)
      for (i = 0; i < TOPOLOGY_MAX_NODES; i++)
        known += nodes[i];
  }
  if (known == 0)
    return uraid_error_set (e, EINVAL,
                            "URAID_TEST_NODES=%s: not a number of nodes from "
                            "1 to %d, nor a list of node numbers such as 0,2",
                            text, TOPOLOGY_MAX_NODES);
  return 0;
}

/* Deal T->nr_cpus CPUs to NODES in blocks. */
static void
deal_cpus (struct topology *t, const bool *nodes)
{
  int numbers[TOPOLOGY_MAX_NODES];
  unsigned nr = 0, i;

  for (i = 0; i < TOPOLOGY_MAX_NODES; i++)
    if (nodes[i])
      numbers[nr++] = (int)i;
  t->max_node = (unsigned)numbers[nr - 1];
  if (nr > t->nr_cpus)
    nr = t->nr_cpus;
  for (i = 0; i < TOPOLOGY_MAX_CPUS; i++)
    t->cpu_node[i] = i < t->nr_cpus ? numbers[i * nr / t->nr_cpus] : -1;
  count_nodes (t);
}

static int
fake_ram (struct topology *t, const char *text, struct uraid_error *e)
{
  static const char suffixes[] = "KMGT";
  const char *s;
  char *end;
  unsigned shift = 0;
  unsigned long long n;

  errno = 0;
  n = strtoull (text, &end, 10);
  if (*end != '\0' && (s = strchr (suffixes, *end)) != NULL) {
    shift = 10 * (unsigned)(s - suffixes + 1);
    end++;
  }
  if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 ||
      n > UINT64_MAX >> shift)
    return uraid_error_set (e, EINVAL,
                            "URAID_TEST_RAM=%s: not a number of bytes, or a "
                            "number with a suffix K, M, G or T",
                            text);
  t->ram_bytes = (uint64_t)n << shift;
  return 0;
}

int
topology_get (struct topology *t, struct uraid_error *e)
{
  const char *cpus = getenv ("URAID_TEST_CPUS");
  const char *nodes_text = getenv ("URAID_TEST_NODES");
  const char *ram = getenv ("URAID_TEST_RAM");
  bool nodes[TOPOLOGY_MAX_NODES];
  long pages = sysconf (_SC_PHYS_PAGES), page_bytes = sysconf (_SC_PAGESIZE);
  int r;

  memset (t, 0, sizeof *t);
  read_cpus (t);
  if (pages > 0 && page_bytes > 0)
    t->ram_bytes = (uint64_t)pages * (uint64_t)page_bytes;

  if (ram != NULL && (r = fake_ram (t, ram, e)) < 0)
    return r;
  if (cpus != NULL && (r = fake_cpus (t, cpus, e)) < 0)
    return r;
  t->faked = cpus != NULL || nodes_text != NULL;
  if (!t->faked) {
    topology_read_nodes (t, NODE_DIR);
    return 0;
  }
  if ((r = fake_nodes (nodes, nodes_text, e)) < 0)
    return r;
  if (t->nr_cpus > TOPOLOGY_MAX_CPUS)
    t->nr_cpus = TOPOLOGY_MAX_CPUS;
  deal_cpus (t, nodes);
  return 0;
}

/*----- Where am I? -----*/

/* The INDEXth node that has CPUs; 0 if none has. */
static unsigned
nth_node (const struct topology *t, unsigned index)
{
  unsigned node;

  for (node = 0; node <= t->max_node; node++)
    if (topology_node_has_cpu (t, node) && index-- == 0)
      return node;
  return 0;
}

unsigned
topology_current_group (const struct topology *t)
{
  static atomic_uint tickets;
  static __thread unsigned ticket; /* from 1; 0 = none drawn yet */
  unsigned cpu, node;

  if (!t->faked && getcpu (&cpu, &node) == 0 && cpu < TOPOLOGY_MAX_CPUS &&
      t->cpu_node[cpu] >= 0)
    return (unsigned)t->cpu_node[cpu];
  if (ticket == 0)
    ticket = 1 + atomic_fetch_add_explicit (&tickets, 1, memory_order_relaxed);
  return nth_node (t, (ticket - 1) % t->nr_nodes);
}
