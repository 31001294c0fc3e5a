/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The engine against members in memory (engine-rig.h).  First single requests
 * where everything is counted and known, then a storm: several clients,
 * failures, recovery and resync at once, compared with a flat model, with
 * parity_ref and with what a crash at the moment of each acknowledgement
 * would leave.
 *
 * A storm's requests follow from its seed (the threads' order does not):
 *   URAID_TEST_SEED=N URAID_TEST_ROUNDS=N CK_RUN_CASE=storm ./test-engine
 */
#include <config.h>

#include <check.h>

#include "engine-rig.h"

#define MAX_CLIENTS 4

/*----- Background work, as lib/sync does it -----*/

struct work {
  enum engine_sync_kind kind;
  uint64_t from_bytes;
  unsigned window, rng;
  bool interrupt;
  sem_t done;
  struct engine_sync es[ENGINE_SYNC_WINDOW];
  _Atomic bool finished[ENGINE_SYNC_WINDOW];
};

static void
segment_done (struct engine_sync *es)
{
  struct work *w = es->user;

  atomic_store (&w->finished[es->segno % ENGINE_SYNC_WINDOW], true);
  sem_post (&w->done);
}

/* One pass; returns how far it came (in segments). */
static uint64_t
sync_pass (struct work *w, uint64_t head, uint64_t stop)
{
  uint64_t tail = head, posts = 0;
  int err = 0;

  while (head < stop && err == 0) {
    for (; tail < stop && tail < head + w->window; tail++) {
      w->es[tail % ENGINE_SYNC_WINDOW] = (struct engine_sync){
          .kind = w->kind, .segno = tail, .done = segment_done, .user = w};
      atomic_store (&w->finished[tail % ENGINE_SYNC_WINDOW], false);
      engine_sync_segment (world.e, &w->es[tail % ENGINE_SYNC_WINDOW]);
    }
    sem_wait (&w->done);
    posts++;
    while (head < tail && atomic_load (&w->finished[head % 64]) && err == 0) {
      err = w->es[head % 64].err;
      head += err == 0;
    }
    MUST (err == 0 || err == EAGAIN); /* else data would be lost */
    engine_sync_advance (world.e, head * engine_segment_bytes (world.e));
  }
  for (; posts < tail - w->from_bytes; posts++)
    sem_wait (&w->done);
  return head;
}

static void *
sync_main (void *arg)
{
  struct work *w = arg;
  uint64_t nr = engine_nr_segments (world.e);
  uint64_t head = w->from_bytes / engine_segment_bytes (world.e);

  sem_init (&w->done, 0, 0);
  for (;;) {
    uint64_t stop = w->interrupt && rnd (&w->rng) % 2 ? (head + nr) / 2 : nr;

    /* sync_pass counts from here. */
    w->from_bytes = head;
    head = sync_pass (w, head, stop);
    if (head == nr)
      break;
    if (w->kind == ENGINE_RECOVER) {
      engine_sync_end (world.e, false);
      usleep (100);
      engine_sync_begin (world.e, w->kind,
                         head * engine_segment_bytes (world.e));
    }
  }
  engine_sync_end (world.e, true);
  sem_destroy (&w->done);
  return NULL;
}

static void
sync_all (enum engine_sync_kind kind, uint64_t from_bytes, unsigned window)
{
  struct work w = {.kind = kind, .from_bytes = from_bytes, .window = window};

  engine_sync_begin (world.e, kind, from_bytes);
  sync_main (&w);
}

/*----- Single requests -----*/

static unsigned
commands_of_write (uint64_t off, uint64_t len)
{
  unsigned before = atomic_load (&world.commands);

  do_write (off, len, 7, 0);
  return atomic_load (&world.commands) - before;
}

START_TEST (counted)
{
  static const struct {
    int level;
    unsigned n, cold, warm_neighbour, again;
  } t[] = {
      {6, 4, 4, 4, 3}, {6, 5, 5, 5, 3}, {6, 6, 6, 4, 3},
      {6, 8, 6, 4, 3}, {5, 3, 3, 3, 2}, {5, 6, 4, 3, 2},
  };
  struct shape sh = plain (t[_i].level, t[_i].n);
  unsigned m;

  world_open (&sh, 1);
  m = world.geo.data_disks;
  ck_assert_uint_eq (commands_of_write (0, 4096), t[_i].cold);
  ck_assert_uint_eq (commands_of_write (0, 4096), t[_i].again);
  /* Another data member of a stripe whose parity is at hand. */
  ck_assert_uint_le (commands_of_write (CHUNK, 4096), t[_i].warm_neighbour);
  ck_assert_uint_eq (commands_of_write (m * CHUNK, m * CHUNK), t[_i].n);
  ck_assert_uint_eq (atomic_load (&world.zeroes), 0);
  do_zero (m * CHUNK, m * CHUNK, 0);
  ck_assert_uint_eq (atomic_load (&world.zeroes), t[_i].n);
  read_all ();
  check_members ();
  world_close ();
}
END_TEST

/* A member is missing and P cannot be read: the read decodes by Q, and what is
 * written back to P must be P.
 */
START_TEST (unreadable_parity_repaired_by_read)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;

  world_open (&sh, 2);
  rm = geometry_row (&world.geo, 0);
  take_out (rm->data_slot[0]);
  world.disk[rm->p_slot].bad[3] = true;
  do_read (0, CHUNK);
  check_members ();
  ck_assert (!world.disk[rm->p_slot].bad[3]);
  ck_assert_int_eq (engine_slot_state (world.e, rm->p_slot), SLOT_IN_SYNC);
  world_close ();
}
END_TEST

/* Resync and recovery find a block of each role unreadable (_i: the data
 * index, or P, Q): it is repaired, nobody is thrown out.
 */
START_TEST (unreadable_in_sync)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;
  unsigned slot;
  bool recover = _i % 2;

  world_open (&sh, 3);
  rm = geometry_row (&world.geo, 1);
  slot =
      _i / 2 == 0 ? rm->p_slot : (_i / 2 == 1 ? rm->q_slot : rm->data_slot[2]);
  world.disk[slot].bad[CHUNK / PAGE + 5] = true;
  if (recover) {
    take_out (rm->data_slot[1]);
    bring_back (rm->data_slot[1], 0);
  }
  sync_all (recover ? ENGINE_RECOVER : ENGINE_RESYNC, 0, 8);
  for (unsigned i = 0; i < sh.n; i++)
    ck_assert_int_eq (engine_slot_state (world.e, i), SLOT_IN_SYNC);
  if (!recover)
    ck_assert (!world.disk[slot].bad[CHUNK / PAGE + 5]);
  check_members ();
  read_all ();
  world_close ();
}
END_TEST

/* Recovery begins inside a segment: a write across that place, then a read
 * below it.
 */
START_TEST (recovered_inside_segment)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;

  world_open (&sh, 4);
  rm = geometry_row (&world.geo, 0);
  take_out (rm->data_slot[0]);
  bring_back (rm->data_slot[0], 4 * PAGE);
  do_write (2 * PAGE, 4 * PAGE, 11, 0);
  do_read (2 * PAGE, PAGE);
  do_read (0, CHUNK);
  sync_all (ENGINE_RECOVER, 4 * PAGE, 4);
  check_members ();
  read_all ();
  world_close ();
}
END_TEST

/* Two members are out and the only one that the write wanted refuses it: the
 * array has lost it, so it is not acknowledged.
 */
START_TEST (not_acknowledged_beyond_parity)
{
  struct shape sh = plain (6, 6);
  const struct row_map *rm;
  uint8_t buf[4096] = {1};

  world_open (&sh, 5);
  rm = geometry_row (&world.geo, 0);
  take_out (rm->data_slot[0]);
  take_out (rm->data_slot[1]);
  world.disk[rm->data_slot[2]].fail_writes = 1;
  ck_assert_int_eq (engine_write (world.e, buf, sizeof buf, 2 * CHUNK, 0),
                    -EIO);
  world_close ();
}
END_TEST

struct late {
  uint8_t buf[4096];
  _Atomic bool returned;
};

static void *
late_main (void *arg)
{
  struct late *l = arg;

  MUST (engine_write (world.e, l->buf, sizeof l->buf, 0, 0) == 0);
  atomic_store (&l->returned, true);
  return NULL;
}

/* A write whose member fails is acknowledged when that is recorded. */
START_TEST (acknowledged_when_recorded)
{
  struct shape sh = plain (6, 6);
  struct late l = {.returned = false};
  pthread_t t;

  world_open (&sh, 6);
  pthread_mutex_lock (&world.lock);
  world.hold_record = true;
  pthread_mutex_unlock (&world.lock);
  world.disk[geometry_row (&world.geo, 0)->data_slot[0]].fail_writes = 1;
  ck_assert_int_eq (pthread_create (&t, NULL, late_main, &l), 0);
  pthread_mutex_lock (&world.lock);
  while (world.nr_waiters == 0) {
    pthread_mutex_unlock (&world.lock);
    usleep (1000);
    pthread_mutex_lock (&world.lock);
  }
  ck_assert (!atomic_load (&l.returned));
  world.hold_record = false;
  pthread_cond_broadcast (&world.cond);
  pthread_mutex_unlock (&world.lock);
  pthread_join (t, NULL);
  memcpy (world.model, l.buf, sizeof l.buf);
  read_all ();
  check_members ();
  world_close ();
}
END_TEST

/*----- The storm -----*/

/* Byte ranges that clients are at; disjoint (unless both read), though they
 * share pages, stripes and segments.
 */
static struct range {
  uint64_t off, len;
  bool reads;
} range[MAX_CLIENTS];
static pthread_mutex_t range_lock = PTHREAD_MUTEX_INITIALIZER;

static bool
range_take (unsigned me, uint64_t off, uint64_t len, bool reads)
{
  bool ok = true;

  pthread_mutex_lock (&range_lock);
  for (unsigned i = 0; i < MAX_CLIENTS; i++)
    if (i != me && off < range[i].off + range[i].len &&
        range[i].off < off + len && !(reads && range[i].reads))
      ok = false;
  if (ok)
    range[me] = (struct range){off, len, reads};
  pthread_mutex_unlock (&range_lock);
  return ok;
}

struct client {
  pthread_t thread;
  unsigned me, rng, ops;
  uint64_t hot_bytes; /* small requests go below this */
};

/* Small ones crowd at the start, so that they meet. */
static void
choose (struct client *c, uint64_t *off, uint64_t *len)
{
  uint64_t all = world.geo.array_bytes;
  uint64_t row = world.geo.chunk_bytes * world.geo.data_disks;
  unsigned how = rnd (&c->rng) % 10;

  if (how < 4) { /* any bytes */
    *len = 1 + rnd (&c->rng) % 9000;
    *off = rnd (&c->rng) % c->hot_bytes;
  }
  else if (how < 7) { /* pages */
    *len = PAGE * (1 + rnd (&c->rng) % 4);
    *off = rnd (&c->rng) % c->hot_bytes / PAGE * PAGE;
  }
  else if (how < 9) { /* long */
    *len = 1 + rnd (&c->rng) % (2 * row < 400000 ? 2 * row : 400000);
    *off = rnd (&c->rng) % all;
  }
  else { /* whole rows */
    *len = row;
    *off = rnd (&c->rng) % (all / row) * row;
  }
  if (*off + *len > all)
    *len = all - *off;
}

static void *
client_main (void *arg)
{
  struct client *c = arg;

  for (unsigned i = 0; i < c->ops;) {
    uint64_t off, len;
    unsigned what = rnd (&c->rng) % 16;
    unsigned flags = rnd (&c->rng) % 8 == 0 ? ENGINE_FUA : 0;

    choose (c, &off, &len);
    if (!range_take (c->me, off, len, what < 6)) {
      usleep (100);
      continue;
    }
    i++;
    if (what == 5) /* a reader that goes on and on */
      for (uint64_t at = off; at < off + len; at += PAGE)
        do_read (at, off + len - at < PAGE ? off + len - at : PAGE);
    else if (what < 5)
      do_read (off, len);
    else if (what < 13)
      do_write (off, len, rnd (&c->rng), flags);
    else if (what < 15)
      do_zero (off, len, flags | (rnd (&c->rng) % 2 ? ENGINE_MAY_TRIM : 0));
    else
      MUST (engine_flush (world.e) == 0);
    range_take (c->me, 0, 0, true);
  }
  return NULL;
}

static unsigned
not_in_sync (void)
{
  unsigned nr = 0;

  for (unsigned i = 0; i < world.geo.raid_disks; i++)
    nr += engine_slot_state (world.e, i) != SLOT_IN_SYNC;
  return nr;
}

/* Unreadable pages, per segment on at most NR members (only parity if
 * PARITY_ONLY).
 */
static void
spoil (unsigned *rng, unsigned nr, bool parity_only)
{
  uint64_t seg = engine_segment_bytes (world.e);

  for (unsigned i = 0; i < world.geo.raid_disks; i++)
    memset (world.disk[i].bad, 0,
            world.geo.member_bytes / PAGE * sizeof (bool));
  for (uint64_t s = 0; s < engine_nr_segments (world.e); s++) {
    const struct row_map *rm =
        geometry_row (&world.geo, s * seg / world.geo.chunk_bytes);

    for (unsigned k = 0; k < nr; k++) {
      unsigned slot = rnd (rng) % world.geo.raid_disks;
      uint64_t page = (s * seg + rnd (rng) % seg) / PAGE;

      if (parity_only)
        slot = k == 0 ? rm->p_slot : rm->q_slot;
      if (rnd (rng) % 2 == 0 && slot < world.geo.raid_disks &&
          engine_slot_state (world.e, slot) == SLOT_IN_SYNC)
        world.disk[slot].bad[page] = true;
    }
  }
}

/* Parity of some segments is rubbish, and known to be. */
static void
garble_parity (unsigned *rng)
{
  uint64_t seg = engine_segment_bytes (world.e);

  for (uint64_t s = 0; s < engine_nr_segments (world.e); s++) {
    const struct row_map *rm =
        geometry_row (&world.geo, s * seg / world.geo.chunk_bytes);

    world.region_owes[s] = rnd (rng) % 2;
    if (!world.region_owes[s])
      continue;
    memset (world.disk[rm->p_slot].bytes + s * seg, 0xbb, seg);
    if (world.geo.parity_disks == 2 && rnd (rng) % 2)
      memset (world.disk[rm->q_slot].bytes + s * seg, 0xcc, seg);
  }
}

/* Clients at work; meanwhile NR_FAIL members fail, one way or the other. */
static void
clients_run (unsigned *rng, unsigned ops_each, unsigned nr_fail)
{
  struct client c[MAX_CLIENTS];

  for (unsigned i = 0; i < MAX_CLIENTS; i++) {
    c[i] = (struct client){.me = i, .rng = rnd (rng), .ops = ops_each};
    c[i].hot_bytes =
        world.geo.array_bytes < 300000 ? world.geo.array_bytes : 300000;
    MUST (pthread_create (&c[i].thread, NULL, client_main, &c[i]) == 0);
  }
  /* Workers come and go under load. */
  for (unsigned i = rnd (rng) % 4; i > 0; i--) {
    struct uraid_error err;

    MUST (engine_set_group_thread_cnt (world.e, rnd (rng) % 3, &err) == 0);
    engine_set_max_stripe_batch (world.e, 1 + rnd (rng) % 16);
    engine_set_preread_bypass_threshold (world.e, rnd (rng) % 3);
    engine_set_rmw_level (world.e, (int)(rnd (rng) % 3));
    engine_set_skip_copy (world.e, rnd (rng) % 2);
    engine_set_stripe_cache_size (world.e, 17 + rnd (rng) % 256);
    usleep (rnd (rng) % 4000);
  }
  while (nr_fail-- > 0) {
    unsigned slot = rnd (rng) % world.geo.raid_disks;
    struct disk *d = &world.disk[slot];

    usleep (rnd (rng) % 20000);
    if (engine_slot_state (world.e, slot) == SLOT_MISSING)
      continue;
    pthread_mutex_lock (&d->lock);
    if (rnd (rng) % 2)
      d->fail_writes = 1;
    else
      d->dead = true;
    pthread_mutex_unlock (&d->lock);
  }
  for (unsigned i = 0; i < MAX_CLIENTS; i++)
    pthread_join (c[i].thread, NULL);
}

/* One round from quiet to quiet. */
static void
storm_round (unsigned *rng, unsigned ops_each)
{
  uint64_t seg = engine_segment_bytes (world.e);
  unsigned spare = world.geo.parity_disks - not_in_sync ();
  struct work w = {.window = 1 + rnd (rng) % 64,
                   .rng = rnd (rng),
                   .interrupt = rnd (rng) % 2};
  bool resync = not_in_sync () == 0 && rnd (rng) % 2;
  bool recover = false;
  unsigned bad = rnd (rng) % (spare + 1);
  pthread_t t;

  w.from_bytes = UINT64_MAX;
  for (unsigned i = 0; i < world.geo.raid_disks; i++)
    if (engine_slot_state (world.e, i) == SLOT_MISSING && rnd (rng) % 4) {
      uint64_t at = rnd (rng) % world.geo.member_bytes / PAGE * PAGE;

      bring_back (i, at);
      if (at / seg * seg < w.from_bytes)
        w.from_bytes = at / seg * seg;
      recover = true;
    }
  w.kind = recover ? ENGINE_RECOVER : ENGINE_RESYNC;
  if (resync) {
    garble_parity (rng);
    spoil (rng, world.geo.parity_disks, true);
    w.from_bytes = 0;
  }
  else
    spoil (rng, bad, false);
  if (resync || recover) {
    engine_sync_begin (world.e, w.kind, w.from_bytes);
    MUST (pthread_create (&t, NULL, sync_main, &w) == 0);
  }
  clients_run (rng, ops_each, resync ? 0 : spare - bad);
  if (resync || recover)
    pthread_join (t, NULL);
  memset (world.region_owes, 0,
          engine_nr_segments (world.e) * sizeof world.region_owes[0]);
  /* A failure that nobody has met yet is no longer wanted. */
  for (unsigned i = 0; i < world.geo.raid_disks; i++)
    if (engine_slot_state (world.e, i) != SLOT_MISSING) {
      world.disk[i].fail_writes = 0;
      world.disk[i].dead = false;
    }
  MUST (!world.broken);
  read_all ();
  check_members ();
}

static const struct shape storms[] = {
    {6, 2, 6, 65536, 1 << 19, 1024, 512, 2, 1, true, true},
    {6, 2, 6, 65536, 1 << 19, 17, 512, 2, 1, false, false},
    {6, 2, 4, 16384, 1 << 18, 64, 4096, 2, 1, true, true},
    {6, 0, 5, 4096, 1 << 17, 256, 512, 1, 1, true, false},
    {6, 3, 7, 1 << 19, 1 << 20, 256, 512, 2, 0, true, true},
    {6, 1, 8, 1 << 20, 1 << 20, 4096, 512, 2, 2, false, true},
    {6, 10, 6, 32768, 1 << 18, 256, 1024, 2, 1, true, true},
    {6, 18, 7, 65536, 1 << 18, 17, 512, 2, 1, true, true},
    {5, 2, 5, 65536, 1 << 19, 256, 512, 2, 1, true, true},
    {5, 2, 3, 131072, 1 << 19, 17, 512, 2, 1, false, true},
    {5, 0, 2, 16384, 1 << 18, 64, 512, 2, 1, true, true},
    {4, 0, 4, 65536, 1 << 18, 64, 4096, 1, 1, true, false},
    {6, 2, 253, 4096, 1 << 14, 17, 512, 2, 1, true, true},
};

START_TEST (storm)
{
  const char *s = getenv ("URAID_TEST_SEED");
  const char *more = getenv ("URAID_TEST_ROUNDS");
  unsigned seed = s != NULL ? (unsigned)strtoul (s, NULL, 0) : 1;
  unsigned rounds = more != NULL ? (unsigned)strtoul (more, NULL, 0) : 6;
  unsigned rng = seed * 1000 + (unsigned)_i;
  bool huge = storms[_i].n > 100;

  world_open (&storms[_i], seed);
  world.jitter = true;
  for (unsigned i = 0; i < (huge ? 2 : rounds); i++)
    storm_round (&rng, huge ? 10 : 60);
  world_close ();
}
END_TEST

static Suite *
make_suite (void)
{
  Suite *s = suite_create ("engine");
  TCase *t = tcase_create ("single");

  tcase_set_timeout (t, 60);
  tcase_add_loop_test (t, counted, 0, 6);
  tcase_add_test (t, unreadable_parity_repaired_by_read);
  tcase_add_loop_test (t, unreadable_in_sync, 0, 6);
  tcase_add_test (t, recovered_inside_segment);
  tcase_add_test (t, not_acknowledged_beyond_parity);
  tcase_add_test (t, acknowledged_when_recorded);
  suite_add_tcase (s, t);

  t = tcase_create ("storm");
  tcase_set_timeout (t, 120);
  tcase_add_loop_test (t, storm, 0, (int)(sizeof storms / sizeof storms[0]));
  suite_add_tcase (s, t);
  return s;
}

int
main (void)
{
  SRunner *runner = srunner_create (make_suite ());
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
