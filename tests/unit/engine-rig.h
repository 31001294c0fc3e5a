/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What the engine's test runs on: members in memory, and lanes (they shadow
 * lib/member/lane.c) that run the commands of all requests in random order.
 * Members can have pages that cannot be read, can refuse writes and can die;
 * a thread plays the array layer and records with a delay who is out.  To be
 * included once in a test program.
 *
 * Locks: disk.lock for a member's bytes; world.lock for who is out (may be
 * held when disk.lock is taken).
 */
#ifndef ENGINE_RIG_H
#define ENGINE_RIG_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/engine/engine_int.h"

#define PAGE ((uint64_t)4096)
#define MAX_LANES 2

#define MUST(condition)                                                       \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf (stderr, "seed %u: %s:%d: %s\n", world.seed, __FILE__,          \
               __LINE__, #condition);                                         \
      abort ();                                                               \
    }                                                                         \
  } while (0)

/*----- The world -----*/

struct disk {
  struct member m;
  pthread_mutex_t lock; /* protects what follows */
  uint8_t *bytes;       /* data area; the data offset is DATA_OFFSET */
  bool *bad;            /* a page cannot be read */
  bool dead;            /* answers: connection lost */
  unsigned fail_writes; /* so many writes are refused */
  unsigned nr_reads;    /* commands */
  bool recorded;        /* world.lock: out, and the others know */
};

#define DATA_OFFSET (UINT64_C (64) * 1024)

static struct world {
  unsigned seed;
  struct geometry geo;
  struct parity *par;
  struct engine *e;
  struct disk disk[GEOMETRY_MAX_DISKS];
  uint8_t *model;
  _Atomic bool jitter; /* lanes dawdle and shuffle */
  _Atomic unsigned commands, reads, writes, zeroes, flushes, repaired;
  bool *region_owes; /* by segment */

  pthread_mutex_t lock;
  pthread_cond_t cond; /* fault_seq, quit */
  pthread_t recorder;
  bool quit, broken, hold_record;
  _Atomic uint64_t fault_seq, recorded_seq;
  struct {
    struct lane *lane;
    struct lane_work *work;
  } waiter[4096];
  unsigned nr_waiters;
} world;

static unsigned
rnd (unsigned *state)
{
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

/*----- Lanes -----*/

struct lane {
  pthread_t thread;
  pthread_mutex_t lock; /* protects the lists and stop */
  pthread_cond_t cond;
  struct member_cmd *cmds;
  struct lane_work *works;
  bool stop;
  unsigned rng; /* the thread's own */
};

struct lanes {
  unsigned nr;
  _Atomic unsigned turn;
  struct lane lane[MAX_LANES];
};

static struct lanes lanes;

struct lane *
lanes_pick (struct lanes *ls)
{
  return &ls->lane[atomic_fetch_add (&ls->turn, 1) % ls->nr];
}

void
lane_submit (struct lane *l, struct member_cmd *first)
{
  struct member_cmd **p;

  pthread_mutex_lock (&l->lock);
  for (p = &l->cmds; *p != NULL; p = &(*p)->next)
    ;
  *p = first;
  pthread_cond_signal (&l->cond);
  pthread_mutex_unlock (&l->lock);
}

/* The commands go at once, as without a plug. */
void
lane_plug (struct lane *l, struct lane_plug *plug)
{
  plug->lane = l;
}

void
lane_unplug (struct lane_plug *plug)
{
  plug->lane = NULL;
}

void
lane_post (struct lane *l, struct lane_work *w)
{
  pthread_mutex_lock (&l->lock);
  w->next = l->works;
  l->works = w;
  pthread_cond_signal (&l->cond);
  pthread_mutex_unlock (&l->lock);
}

static void
execute (struct member_cmd *cmd, unsigned *rng)
{
  struct disk *d = cmd->member->user;
  uint64_t off = cmd->offset - DATA_OFFSET;

  cmd->err = 0;
  cmd->lost = false;
  atomic_fetch_add (&world.commands, 1);
  pthread_mutex_lock (&d->lock);
  if (cmd->op != MEMBER_FLUSH) {
    MUST (cmd->len > 0 && cmd->offset >= DATA_OFFSET);
    MUST (off + cmd->len <= world.geo.member_bytes);
    MUST ((off | cmd->len) % cmd->member->min_block == 0);
  }
  if (cmd->op == MEMBER_READ) {
    atomic_fetch_add (&world.reads, 1);
    d->nr_reads++;
    for (uint64_t p = off / PAGE; p * PAGE < off + cmd->len; p++)
      if (d->bad[p])
        cmd->err = EIO;
    if (cmd->err == 0 && !d->dead)
      memcpy (cmd->buf, d->bytes + off, cmd->len);
    else
      memset (cmd->buf, 0xee, cmd->len);
  }
  else if (d->fail_writes > 0) {
    d->fail_writes--;
    cmd->err = EIO;
  }
  /* A write to the dead may or may not have got there. */
  else if (cmd->op != MEMBER_FLUSH && (!d->dead || rnd (rng) % 2)) {
    atomic_fetch_add (cmd->op == MEMBER_ZERO ? &world.zeroes : &world.writes,
                      1);
    if (cmd->op == MEMBER_ZERO)
      memset (d->bytes + off, 0, cmd->len);
    else
      memcpy (d->bytes + off, cmd->buf, cmd->len);
    memset (d->bad + off / PAGE, 0, cmd->len / PAGE * sizeof d->bad[0]);
  }
  else
    atomic_fetch_add (&world.flushes, 1);
  if (d->dead) {
    cmd->err = ENOTCONN;
    cmd->lost = true;
  }
  pthread_mutex_unlock (&d->lock);
}

static void *
lane_main (void *arg)
{
  struct lane *l = arg;

  pthread_mutex_lock (&l->lock);
  while (!l->stop || l->cmds != NULL || l->works != NULL) {
    struct lane_work *w = l->works;
    struct member_cmd *cmd, **p = &l->cmds;

    if (w != NULL) {
      l->works = w->next;
      pthread_mutex_unlock (&l->lock);
      w->fn (w);
      pthread_mutex_lock (&l->lock);
      continue;
    }
    if (l->cmds == NULL) {
      pthread_cond_wait (&l->cond, &l->lock);
      continue;
    }
    if (world.jitter)
      for (unsigned skip = rnd (&l->rng) % 8; skip > 0 && (*p)->next != NULL;
           skip--)
        p = &(*p)->next;
    cmd = *p;
    *p = cmd->next;
    pthread_mutex_unlock (&l->lock);
    if (world.jitter && rnd (&l->rng) % 64 == 0)
      usleep (50);
    execute (cmd, &l->rng);
    cmd->done (cmd);
    pthread_mutex_lock (&l->lock);
  }
  pthread_mutex_unlock (&l->lock);
  return NULL;
}

/*----- The array layer's part -----*/

/* As the array does it: the one that is too many is not marked. */
static void
slot_fault (void *user, unsigned slot, struct member *m, enum slot_fault why,
            int err)
{
  unsigned unusable = 0;

  (void)user;
  (void)why;
  MUST (m == &world.disk[slot].m && err > 0);
  pthread_mutex_lock (&world.lock);
  for (unsigned i = 0; i < world.geo.raid_disks; i++)
    unusable += engine_slot_state (world.e, i) != SLOT_IN_SYNC;
  if (engine_slot_state (world.e, slot) == SLOT_MISSING)
    ;
  else if (engine_slot_state (world.e, slot) == SLOT_IN_SYNC &&
           unusable + 1 > world.geo.parity_disks)
    world.broken = true;
  else {
    atomic_fetch_add (&world.fault_seq, 1);
    engine_set_slot (world.e, slot, NULL, 0, SLOT_MISSING, 0);
  }
  pthread_cond_broadcast (&world.cond);
  pthread_mutex_unlock (&world.lock);
}

static bool
when_recorded (void *user, struct lane *lane, struct lane_work *w)
{
  bool now;

  (void)user;
  pthread_mutex_lock (&world.lock);
  now = world.broken || world.fault_seq == world.recorded_seq;
  if (!now) {
    MUST (world.nr_waiters < 4096);
    world.waiter[world.nr_waiters].lane = lane;
    world.waiter[world.nr_waiters++].work = w;
  }
  pthread_mutex_unlock (&world.lock);
  return now;
}

static void
read_error (void *user, unsigned slot, uint64_t sectors)
{
  (void)user;
  MUST (slot < world.geo.raid_disks);
  atomic_fetch_add (&world.repaired, (unsigned)sectors);
}

static bool
region_owes (void *user, uint64_t off, uint64_t len)
{
  (void)user;
  (void)len;
  return world.region_owes[off / engine_segment_bytes (world.e)];
}

static const struct engine_ops ops = {
    .slot_fault = slot_fault,
    .when_recorded = when_recorded,
    .read_error = read_error,
    .region_owes_resync = region_owes,
};

static void *
recorder_main (void *arg)
{
  (void)arg;
  pthread_mutex_lock (&world.lock);
  while (!world.quit) {
    uint64_t seq = world.fault_seq;
    bool out[GEOMETRY_MAX_DISKS];

    if (world.hold_record || seq == world.recorded_seq) {
      pthread_cond_wait (&world.cond, &world.lock);
      continue;
    }
    for (unsigned i = 0; i < world.geo.raid_disks; i++)
      out[i] = engine_slot_state (world.e, i) == SLOT_MISSING;
    pthread_mutex_unlock (&world.lock);
    usleep (200);
    pthread_mutex_lock (&world.lock);
    for (unsigned i = 0; i < world.geo.raid_disks; i++)
      world.disk[i].recorded |= out[i];
    world.recorded_seq = seq;
    if (world.fault_seq != seq)
      continue;
    while (world.nr_waiters > 0) {
      world.nr_waiters--;
      lane_post (world.waiter[world.nr_waiters].lane,
                 world.waiter[world.nr_waiters].work);
    }
  }
  pthread_mutex_unlock (&world.lock);
  return NULL;
}

/*----- Making and checking -----*/

struct shape {
  int level;
  uint32_t layout;
  unsigned n;
  uint64_t chunk, member_bytes;
  unsigned cache, min_block, lanes;
  int rmw_level;
  bool skip_copy, can_zero;
};

/* P and Q of the model's row ROW by the scalar reference; BLOCK has room for
 * two chunks.
 */
static void
model_parity (uint64_t row, uint8_t *block)
{
  const struct geometry *g = &world.geo;
  const struct row_map *rm = geometry_row (g, row);
  const uint8_t *src[GEOMETRY_MAX_DISKS] = {NULL};

  for (unsigned i = 0; i < g->data_disks; i++)
    src[rm->data_slot[i]] =
        world.model + (row * g->data_disks + i) * g->chunk_bytes;
  parity_ref_gen (g, rm, src, g->chunk_bytes, block,
                  g->parity_disks == 2 ? block + g->chunk_bytes : NULL);
}

/* What should be on SLOT in row ROW; BLOCK is from model_parity. */
static const uint8_t *
expected (uint64_t row, unsigned slot, const uint8_t *block)
{
  const struct geometry *g = &world.geo;
  int role = geometry_row (g, row)->role[slot];

  if (role >= 0)
    return world.model +
           (row * g->data_disks + (unsigned)role) * g->chunk_bytes;
  return role == ROLE_P ? block : block + g->chunk_bytes;
}

/* Write to SLOT what should be there, member range [LO, HI) in whole pages. */
static void
restore (unsigned slot, uint64_t lo, uint64_t hi)
{
  uint64_t chunk = world.geo.chunk_bytes;
  uint8_t *block = malloc (2 * chunk);

  for (uint64_t row = lo / chunk; row * chunk < hi; row++) {
    uint64_t a = row * chunk < lo ? lo : row * chunk;
    uint64_t b = (row + 1) * chunk > hi ? hi : (row + 1) * chunk;
    const uint8_t *from;

    if (geometry_row (&world.geo, row)->role[slot] < 0)
      model_parity (row, block);
    from = expected (row, slot, block);

    memcpy (world.disk[slot].bytes + a, from + (a - row * chunk), b - a);
  }
  free (block);
}

/* Compare all slots in sync with the model, bad pages apart.  Quiet. */
static void
check_members (void)
{
  const struct geometry *g = &world.geo;
  uint8_t *block = malloc (2 * g->chunk_bytes);

  for (uint64_t row = 0; row < g->rows; row++) {
    model_parity (row, block);
    for (unsigned i = 0; i < g->raid_disks; i++) {
      const struct disk *d = &world.disk[i];
      const uint8_t *want;

      if (engine_slot_state (world.e, i) != SLOT_IN_SYNC)
        continue;
      want = expected (row, i, block);
      for (uint64_t off = 0; off < g->chunk_bytes; off += PAGE) {
        uint64_t at = row * g->chunk_bytes + off;

        if (d->bad[at / PAGE] || memcmp (d->bytes + at, want + off, PAGE) == 0)
          continue;
        fprintf (stderr, "row %llu slot %u role %d offset %llu\n",
                 (unsigned long long)row, i, geometry_row (g, row)->role[i],
                 (unsigned long long)off);
        MUST (!"member differs from the model");
      }
    }
  }
  free (block);
}

/* Two nodes, 0 and 2, of two CPUs each. */
static const struct topology two_nodes = {.nr_cpus = 4,
                                          .nr_nodes = 2,
                                          .max_node = 2,
                                          .cpu_node = {0, 0, 2, 2},
                                          .faked = true};

static void
world_open (const struct shape *sh, unsigned seed)
{
  struct uraid_error err;
  struct engine_config cfg = {
      .geo = &world.geo,
      .lanes = &lanes,
      .stripe_cache_size = sh->cache,
      .nr_hash_locks = 8,
      .rmw_level = sh->rmw_level,
      .skip_copy = sh->skip_copy,
      .topology = &two_nodes,
      .ops = &ops,
  };

  memset (&world, 0, sizeof world);
  memset (&lanes, 0, sizeof lanes);
  world.seed = seed;
  pthread_mutex_init (&world.lock, NULL);
  pthread_cond_init (&world.cond, NULL);
  MUST (geometry_init (&world.geo, sh->level, sh->layout, sh->n,
                       (uint32_t)(sh->chunk / 512), sh->member_bytes / 512,
                       &err) == 0);
  MUST (parity_new (&world.geo, &world.par) == 0);
  cfg.par = world.par;
  MUST (engine_new (&cfg, &world.e, &err) == 0);
  world.model = malloc (world.geo.array_bytes);
  for (uint64_t i = 0; i < world.geo.array_bytes; i++)
    world.model[i] = (uint8_t)rnd (&seed);
  world.region_owes = calloc (engine_nr_segments (world.e), sizeof (bool));
  for (unsigned i = 0; i < sh->n; i++) {
    struct disk *d = &world.disk[i];

    pthread_mutex_init (&d->lock, NULL);
    d->bytes = malloc (sh->member_bytes);
    d->bad = calloc (sh->member_bytes / PAGE, sizeof (bool));
    d->m.can_flush = true;
    d->m.can_fua = d->m.can_zero = sh->can_zero;
    d->m.min_block = sh->min_block;
    d->m.user = d;
    atomic_store (&d->m.state, MEMBER_CONNECTED);
    restore (i, 0, sh->member_bytes);
    engine_set_slot (world.e, i, &d->m, DATA_OFFSET, SLOT_IN_SYNC, 0);
  }
  lanes.nr = sh->lanes;
  for (unsigned i = 0; i < lanes.nr; i++) {
    struct lane *l = &lanes.lane[i];

    l->rng = seed + i;
    pthread_mutex_init (&l->lock, NULL);
    pthread_cond_init (&l->cond, NULL);
    MUST (pthread_create (&l->thread, NULL, lane_main, l) == 0);
  }
  MUST (pthread_create (&world.recorder, NULL, recorder_main, NULL) == 0);
}

static void
world_close (void)
{
  pthread_mutex_lock (&world.lock);
  world.quit = true;
  pthread_cond_broadcast (&world.cond);
  pthread_mutex_unlock (&world.lock);
  pthread_join (world.recorder, NULL);
  for (unsigned i = 0; i < lanes.nr; i++) {
    struct lane *l = &lanes.lane[i];

    pthread_mutex_lock (&l->lock);
    l->stop = true;
    pthread_cond_signal (&l->cond);
    pthread_mutex_unlock (&l->lock);
    pthread_join (l->thread, NULL);
  }
  engine_free (world.e);
  parity_free (world.par);
  for (unsigned i = 0; i < world.geo.raid_disks; i++) {
    free (world.disk[i].bytes);
    free (world.disk[i].bad);
  }
  geometry_done (&world.geo);
  free (world.region_owes);
  free (world.model);
}

/* The member of SLOT is gone, and the others know. */
static void
take_out (unsigned slot)
{
  pthread_mutex_lock (&world.disk[slot].lock);
  world.disk[slot].dead = true;
  pthread_mutex_unlock (&world.disk[slot].lock);
  pthread_mutex_lock (&world.lock);
  world.disk[slot].recorded = true;
  engine_set_slot (world.e, slot, NULL, 0, SLOT_MISSING, 0);
  pthread_mutex_unlock (&world.lock);
}

/* Nothing in flight: SLOT starts again with rubbish above RECOVERED. */
static void __attribute__ ((unused))
bring_back (unsigned slot, uint64_t recovered)
{
  struct disk *d = &world.disk[slot];

  recovered = recovered / PAGE * PAGE;
  d->dead = d->recorded = false;
  d->fail_writes = 0;
  memset (d->bad, 0, world.geo.member_bytes / PAGE * sizeof d->bad[0]);
  memset (d->bytes, 0xdd, world.geo.member_bytes);
  restore (slot, 0, recovered);
  engine_set_slot (world.e, slot, NULL, 0, SLOT_RECOVERING, recovered);
}

/*----- Requests that also change the model -----*/

/* What would a crash right after the acknowledgement leave?  A member that is
 * not recorded as out must have it.
 */
static void __attribute__ ((unused))
check_acknowledged (uint64_t off, uint64_t len)
{
  for (uint64_t end = off + len, n; off < end; off += n) {
    struct geometry_place at;
    struct disk *d;

    geometry_locate (&world.geo, off, &at);
    n = PAGE - at.member_offset_bytes % PAGE;
    if (n > end - off)
      n = end - off;
    d = &world.disk[at.slot];
    pthread_mutex_lock (&world.lock);
    if (!d->recorded &&
        engine_slot_state (world.e, at.slot) != SLOT_RECOVERING) {
      pthread_mutex_lock (&d->lock);
      MUST (memcmp (d->bytes + at.member_offset_bytes, world.model + off, n) ==
            0);
      pthread_mutex_unlock (&d->lock);
    }
    pthread_mutex_unlock (&world.lock);
  }
}

static void __attribute__ ((unused))
do_write (uint64_t off, uint64_t len, unsigned seed, unsigned flags)
{
  uint8_t *buf = malloc (len);

  for (uint64_t i = 0; i < len; i++)
    buf[i] = (uint8_t)rnd (&seed);
  MUST (engine_write (world.e, buf, len, off, flags) == 0);
  memcpy (world.model + off, buf, len);
  check_acknowledged (off, len);
  free (buf);
}

static void __attribute__ ((unused))
do_zero (uint64_t off, uint64_t len, unsigned flags)
{
  MUST (engine_zero (world.e, len, off, flags) == 0);
  memset (world.model + off, 0, len);
  check_acknowledged (off, len);
}

static void __attribute__ ((unused)) do_read (uint64_t off, uint64_t len)
{
  uint8_t *buf = malloc (len);

  memset (buf, 0xaa, len);
  MUST (engine_read (world.e, buf, len, off) == 0);
  MUST (memcmp (buf, world.model + off, len) == 0);
  free (buf);
}

static void __attribute__ ((unused)) read_all (void)
{
  uint64_t row = world.geo.chunk_bytes * world.geo.data_disks;

  for (uint64_t off = 0; off < world.geo.array_bytes; off += row)
    do_read (off, row);
}

#define CHUNK (64 * (uint64_t)1024)

static struct shape __attribute__ ((unused)) plain (int level, unsigned n)
{
  return (struct shape){.level = level,
                        .layout = 2,
                        .n = n,
                        .chunk = CHUNK,
                        .member_bytes = 4 * CHUNK,
                        .cache = 1024,
                        .min_block = 512,
                        .lanes = 1,
                        .rmw_level = 1,
                        .skip_copy = true,
                        .can_zero = true};
}

#endif
