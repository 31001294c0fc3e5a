/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/control/readout.c with invented snapshots: large arrays give
 * neither negative nor wrapped numbers (S35), the cache's limit is what it
 * may take (S3), every counter of the engine is shown, counts are right; and
 * of control_default_path.  Single-threaded.
 * Run alone: tests/unit/test-readout (CK_FORK=no to debug).
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "control/readout.h"
#include "control/server.h"

#define TIB (UINT64_C (1) << 40)
#define SLOTS 12

static struct snapshot_member members[SLOTS + 3];
static struct array_snapshot s;

/* 12 members of 20 TiB, all of them there. */
static void
setup (void)
{
  memset (&s, 0, sizeof s);
  memset (members, 0, sizeof members);
  s = (struct array_snapshot){
      .name = "host:vol0",
      .uuid = {0x12, 0x34},
      .level = 6,
      .raid_devices = SLOTS,
      .minor = 2,
      .layout = 2,
      .chunk_bytes = 512 << 10,
      .member_bytes = 20 * TIB,
      .array_bytes = (SLOTS - 2) * 20 * TIB,
      .state = ARRAY_ACTIVE,
      .writable = true,
      .events = 77,
      .created_utc = 1700000000,
      .updated_utc = 1800000000,
      .resync_offset_bytes = SNAPSHOT_NONE,
      .nr_members = SLOTS,
      .members = members,
  };
  for (unsigned i = 0; i < SLOTS; i++)
    members[i] = (struct snapshot_member){.state = SNAPSHOT_IN_SYNC,
                                          .number = i,
                                          .slot = i,
                                          .address = "nbd://h/x",
                                          .has_uuid = true};
}

/* The number at PATH such as "array.events" or "members.3.reads". */
static json_int_t
number (json_t *j, const char *path)
{
  char copy[100], *word, *save;

  snprintf (copy, sizeof copy, "%s", path);
  for (word = strtok_r (copy, ".", &save); word != NULL;
       word = strtok_r (NULL, ".", &save))
    j = json_is_array (j) ? json_array_get (j, (size_t)atoi (word))
                          : json_object_get (j, word);
  ck_assert_msg (json_is_integer (j), "no number: %s", path);
  return json_integer_value (j);
}

static void
no_number_is_negative (json_t *j)
{
  const char *key;
  json_t *v;
  size_t i;

  json_object_foreach (j, key, v) no_number_is_negative (v);
  json_array_foreach (j, i, v) no_number_is_negative (v);
  if (json_is_integer (j))
    ck_assert_int_ge (json_integer_value (j), 0);
  ck_assert (!json_is_real (j));
}

START_TEST (twenty_tib_members)
{
  const uint64_t above = (UINT64_C (1) << 31) * 512 + 4096;
  json_t *j;

  members[3].state = SNAPSHOT_RECOVERING;
  members[3].recovered_bytes = 19 * TIB + 512;
  members[3].in_flight = (UINT64_C (1) << 31) + 1;
  members[3].read_bytes = UINT64_MAX;
  s.job = ARRAY_JOB_RECOVER;
  s.job_pos_bytes = 19 * TIB + 512;
  s.job_speed_bytes_per_s = above;
  s.job_started_utc = UINT64_C (1) << 32;
  atomic_store (&s.stats.copied_bytes, (UINT64_C (1) << 53) + 1);
  j = readout_detail (&s);
  no_number_is_negative (j);
  ck_assert_int_eq (number (j, "array.array_size_bytes"), 200 * TIB);
  ck_assert_int_eq (number (j, "array.member_size_bytes"), 20 * TIB);
  ck_assert_int_eq (number (j, "sync.total_bytes"), 20 * TIB);
  ck_assert_int_eq (number (j, "sync.position_bytes"), 19 * TIB + 512);
  ck_assert_int_eq (number (j, "sync.speed_bytes_per_s"), above);
  ck_assert_int_eq (number (j, "sync.started_utc"), INT64_C (1) << 32);
  ck_assert_int_eq (number (j, "members.3.recovered_bytes"), 19 * TIB + 512);
  ck_assert_int_eq (number (j, "members.3.in_flight"),
                    (INT64_C (1) << 31) + 1);
  ck_assert_int_eq (number (j, "members.3.read_bytes"), INT64_MAX);
  ck_assert_int_eq (number (j, "stats.copied_bytes"), (INT64_C (1) << 53) + 1);
  json_decref (j);
}
END_TEST

START_TEST (speed)
{
  ck_assert_uint_eq (snapshot_speed (1000, 0), 0);
  ck_assert_uint_eq (snapshot_speed (1000, 500), 2000);
  ck_assert_uint_eq (snapshot_speed (999, 1000), 999);
  ck_assert_uint_eq (snapshot_speed (20 * TIB, 86400000), 254516580);
  /* More than 2^31 sectors in a second, and where bytes * 1000 overflows. */
  ck_assert_uint_eq (snapshot_speed (2 * TIB, 1000), 2 * TIB);
  ck_assert_uint_eq (snapshot_speed (UINT64_C (1) << 62, 1000), UINT64_C (1)
                                                                    << 62);
}
END_TEST

START_TEST (cache_limit_of_12_members)
{
  json_t *j;

  s.cache = (struct stripecache_stats){
      .stripes = 5, .pages = 60, .limit_pages = UINT64_C (262144) * SLOTS};
  j = readout_detail (&s);
  ck_assert_int_eq (number (j, "cache.limit_bytes"), INT64_C (12) << 30);
  ck_assert_int_eq (number (j, "cache.stripe_cache_size"), 262144);
  ck_assert_int_eq (number (j, "cache.stripe_cache_active"), 5);
  ck_assert_int_eq (number (j, "cache.stripe_bytes"), SLOTS * 4096);
  ck_assert_int_eq (number (j, "cache.memory_bytes"), 60 * 4096);
  json_decref (j);
}
END_TEST

START_TEST (who_is_counted)
{
  json_t *j, *a;

  members[1] = (struct snapshot_member){
      .state = SNAPSHOT_MISSING, .number = SNAPSHOT_NONE, .slot = 1};
  members[2].state = SNAPSHOT_RECOVERING;
  members[SLOTS] = (struct snapshot_member){.state = SNAPSHOT_FAULTY,
                                            .number = 1,
                                            .slot = SNAPSHOT_NONE,
                                            .reason = "gone \xff",
                                            .since_utc = 1700000001,
                                            .last_slot = 1,
                                            .address = "nbd://h/\xff"};
  members[SLOTS + 1] = (struct snapshot_member){
      .state = SNAPSHOT_SPARE, .number = 13, .slot = SNAPSHOT_NONE};
  s.nr_members = SLOTS + 2;
  j = readout_status (&s);
  a = json_array_get (json_object_get (j, "arrays"), 0);
  ck_assert_ptr_nonnull (a);
  ck_assert_ptr_null (json_object_get (a, "schema"));
  ck_assert_int_eq (number (a, "array.in_sync"), SLOTS - 2);
  ck_assert_int_eq (number (a, "array.degraded"), 2);
  ck_assert_int_eq (number (a, "array.failed"), 1);
  ck_assert_int_eq (number (a, "array.spares"), 1);
  ck_assert_int_eq (number (a, "array.total_devices"), SLOTS + 1);
  a = json_object_get (a, "members");
  ck_assert (json_is_null (json_object_get (json_array_get (a, 1), "number")));
  ck_assert (
      json_is_null (json_object_get (json_array_get (a, 1), "address")));
  ck_assert (
      json_is_null (json_object_get (json_array_get (a, SLOTS), "slot")));
  ck_assert_str_eq (json_string_value (json_object_get (
                        json_array_get (a, SLOTS), "address")),
                    "nbd://h/?");
  ck_assert_str_eq (json_string_value (
                        json_object_get (json_array_get (a, SLOTS), "reason")),
                    "gone ?");
  ck_assert_int_eq (number (json_array_get (a, SLOTS), "since_utc"),
                    1700000001);
  ck_assert_int_eq (number (json_array_get (a, SLOTS), "last_slot"), 1);
  ck_assert_ptr_null (json_object_get (json_array_get (a, 0), "reason"));
  ck_assert_ptr_null (json_object_get (json_array_get (a, 0), "since_utc"));
  ck_assert_ptr_null (json_object_get (json_array_get (a, 0), "last_slot"));
  json_decref (j);
}
END_TEST

/* The words of the contract with clients. */
START_TEST (words)
{
  json_t *j, *a;

  s.job = ARRAY_JOB_RESYNC;
  s.resync_offset_bytes = 0;
  j = readout_detail (&s);
  ck_assert_str_eq (json_string_value (json_object_get (j, "schema")),
                    "uraid/1");
  a = json_object_get (j, "array");
#define word_is(o, key, word)                                                 \
  ck_assert_str_eq (json_string_value (json_object_get (o, key)), word)
  word_is (a, "name", "host:vol0");
  word_is (a, "level", "raid6");
  word_is (a, "layout", "left-symmetric");
  word_is (a, "metadata_version", "1.2");
  word_is (a, "state", "active");
  word_is (a, "consistency_policy", "resync");
  word_is (a, "uuid", "12340000:00000000:00000000:00000000");
  word_is (json_object_get (j, "sync"), "action", "resync");
  word_is (json_object_get (j, "parity"), "library", "isa-l");
  ck_assert (json_is_null (json_object_get (j, "bitmap")));
  ck_assert_int_eq (number (a, "resync_offset_bytes"), 0);
  json_decref (j);
}
END_TEST

/* In NAME.sock there is nothing of the name that could leave the directory. */
START_TEST (default_path)
{
  char dir[] = "/tmp/uraid-readout.XXXXXX", buf[512], want[512];
  struct uraid_error e;
  struct stat st;

  if (access ("/run/uraid", W_OK) == 0)
    return; /* comes first, and tests make nothing there */
  ck_assert_ptr_nonnull (mkdtemp (dir));
  setenv ("XDG_RUNTIME_DIR", dir, 1);
  ck_assert_int_eq (
      control_default_path ("v", "uuid", false, buf, sizeof buf, &e), -ENOENT);
  ck_assert_int_eq (
      control_default_path ("../a\nb/.", "uuid", true, buf, sizeof buf, &e),
      0);
  snprintf (want, sizeof want, "%s/uraid/_._a_b_..sock", dir);
  ck_assert_str_eq (buf, want);
  control_default_path ("", "uuid", true, buf, sizeof buf, &e);
  snprintf (want, sizeof want, "%s/uraid/uuid.sock", dir);
  ck_assert_str_eq (buf, want);
  snprintf (buf, sizeof buf, "%s/uraid", dir);
  ck_assert_int_eq (stat (buf, &st), 0);
  ck_assert_int_eq (st.st_mode & 0777, 0700);
  rmdir (buf);
  rmdir (dir);
  unsetenv ("XDG_RUNTIME_DIR");
  ck_assert_int_eq (
      control_default_path ("v", "uuid", true, buf, sizeof buf, &e), -ENOENT);
}
END_TEST

int
main (void)
{
  Suite *suite = suite_create ("readout");
  TCase *t = tcase_create ("readout");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture (t, setup, NULL);
  tcase_add_test (t, twenty_tib_members);
  tcase_add_test (t, speed);
  tcase_add_test (t, cache_limit_of_12_members);
  tcase_add_test (t, who_is_counted);
  tcase_add_test (t, words);
  tcase_add_test (t, default_path);
  suite_add_tcase (suite, t);
  r = srunner_create (suite);
  srunner_run_all (r, CK_ENV);
  failed = srunner_ntests_failed (r);
  srunner_free (r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
