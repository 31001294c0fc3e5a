/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of the pure functions in plugin/: does the command line say
 * read-only (cmdline.c), numbers (values.c), relative paths in addresses
 * (address.c).  The plugin itself cannot be linked with a program, so their
 * sources are included.  Single-threaded.
 * Run alone: tests/unit/test-cmdline (CK_FORK=no to debug).
 */
#include <config.h>

#include <stdlib.h>

#include <check.h>

#include "../../plugin/address.c"
#include "../../plugin/cmdline.c"
#include "../../plugin/values.c"

/*----- The command line -----*/

static const char *const writable[][8] = {
    {"nbdkit", "uraid", "d0", "d1"},
    {"nbdkit", "-f", "-v", "-U", "/run/raid/r.sock", "uraid", "member=r"},
    {"nbdkit", "-U", "-", "uraid", "d0", "--run", "nbdinfo -r \"$uri\""},
    {"nbdkit", "uraid", "--run=qemu-img -r --readonly", "d0"},
    {"nbdkit", "--filter=rate", "uraid", "rate=1M"},
    {"nbdkit", "--filter", "stats", "uraid", "statsfile=-"},
    {"nbdkit", "--exit-with-parent", "--threads=64", "--tls=require"},
    {"-r", "uraid"}, /* the program's name */
    {"nbdkit", "-", "uraid"},
};

static const char *const perhaps_not[][8] = {
    {"nbdkit", "-r", "uraid"},
    {"nbdkit", "uraid", "d0", "-r"},
    {"nbdkit", "-fr", "uraid"},
    {"nbdkit", "-rf", "uraid"},
    {"nbdkit", "-fvrU", "-", "uraid"},
    {"nbdkit", "--readonly", "uraid"},
    {"nbdkit", "--read-only", "uraid"},
    {"nbdkit", "--re", "uraid"}, /* may be abbreviated */
    {"nbdkit", "--run", "true", "uraid", "--readonly"},
    {"nbdkit", "--filter=cow", "uraid"},
    {"nbdkit", "--filter", "cow", "uraid"},
    {"nbdkit", "--fil", "/x/nbdkit-cow-filter.so", "uraid"},
    {"nbdkit", "--filter=checkwrite", "uraid"},
    /* Not so, but it costs too much to know. */
    {"nbdkit", "-U/run/x.sock", "uraid"},
    {"nbdkit", "-e", "-r", "uraid"},
    {"nbdkit", "--runner", "uraid"},
    {NULL},
};

#define NR(table) ((int)(sizeof (table) / sizeof (table)[0]))

START_TEST (cmdline_writable)
{
  ck_assert (!cmdline_maybe_read_only (writable[_i]));
}
END_TEST

START_TEST (cmdline_perhaps_not)
{
  ck_assert (cmdline_maybe_read_only (perhaps_not[_i]));
}
END_TEST

/* This program was started without options. */
START_TEST (cmdline_of_this_process)
{
  size_t len = 0;
  char *text = read_whole ("/proc/self/cmdline", &len);

  ck_assert_ptr_nonnull (text);
  ck_assert_uint_gt (len, 0);
  free (text);
  ck_assert (!cmdline_self_maybe_read_only ());
}
END_TEST

START_TEST (unreadable_file)
{
  size_t len;

  ck_assert_ptr_null (read_whole ("/proc/self/no-such-file", &len));
  ck_assert_ptr_null (read_whole ("/proc/self", &len)); /* a directory */
}
END_TEST

/*----- Values -----*/

static const struct {
  const char *text;
  bool ok;
  uint64_t ms;
} durations[] = {
    {"0", true, 0},
    {"30", true, 30000},
    {"30s", true, 30000},
    {"2m", true, 120000},
    {"1h", true, 3600000},
    {"1d", true, 86400000},
    {"0.2", true, 200},
    {"0.25s", true, 250},
    {"1.5h", true, 5400000},
    {"0.001", true, 1},
    {"0.0001", false, 0},
    {"1.", false, 0},
    {".5", false, 0},
    {"", false, 0},
    {"s", false, 0},
    {"-1", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"1 s", false, 0},
    {"1ss", false, 0},
    {"1w", false, 0},
    {"1e3", false, 0},
    {"0x10", false, 0},
    {"18446744073709551615", false, 0},
    {"18446744073709551616", false, 0},
    {"99999999999999d", false, 0},
};

START_TEST (duration)
{
  uint64_t ms = 4711;

  if (durations[_i].ok) {
    ck_assert_int_eq (value_duration_ms (durations[_i].text, &ms), 0);
    ck_assert_uint_eq (ms, durations[_i].ms);
  }
  else {
    ck_assert_int_eq (value_duration_ms (durations[_i].text, &ms), -EINVAL);
    ck_assert_uint_eq (ms, 4711); /* untouched */
  }
}
END_TEST

START_TEST (sizes)
{
  uint64_t n;

  ck_assert_int_eq (value_size ("0", &n), 0);
  ck_assert_uint_eq (n, 0);
  ck_assert_int_eq (value_size ("64K", &n), 0);
  ck_assert_uint_eq (n, 65536);
  ck_assert_int_eq (value_size ("64k", &n), 0);
  ck_assert_uint_eq (n, 65536);
  ck_assert_int_eq (value_size ("8s", &n), 0);
  ck_assert_uint_eq (n, 4096);
  ck_assert_int_eq (value_size ("4096b", &n), 0);
  ck_assert_uint_eq (n, 4096);
  ck_assert_int_eq (value_size ("7E", &n), 0);
  ck_assert_uint_eq (n, UINT64_C (7) << 60);
  ck_assert_int_eq (value_size ("8E", &n), -EINVAL);
  ck_assert_int_eq (value_size ("64KB", &n), -EINVAL);
  ck_assert_int_eq (value_size ("64KiB", &n), -EINVAL);
  ck_assert_int_eq (value_size ("1.5K", &n), -EINVAL);
  ck_assert_int_eq (value_size ("-1", &n), -EINVAL);
  ck_assert_int_eq (value_size ("", &n), -EINVAL);
  ck_assert_int_eq (value_size ("K", &n), -EINVAL);
  ck_assert_int_eq (value_size ("1\x13", &n), -EINVAL); /* | 0x20 is '3' */
}
END_TEST

START_TEST (words)
{
  uint64_t n;
  bool b;

  ck_assert_int_eq (value_uint ("262144", &n), 0);
  ck_assert_uint_eq (n, 262144);
  ck_assert_int_eq (value_uint ("-1", &n), -EINVAL);
  ck_assert_int_eq (value_uint ("1k", &n), -EINVAL);
  ck_assert_int_eq (value_uint ("", &n), -EINVAL);
  ck_assert_int_eq (value_bool ("YES", &b), 0);
  ck_assert (b);
  ck_assert_int_eq (value_bool ("off", &b), 0);
  ck_assert (!b);
  ck_assert_int_eq (value_bool ("2", &b), -EINVAL);
  ck_assert_int_eq (value_bool ("", &b), -EINVAL);
  ck_assert_uint_eq (value_distance ("chunk-size", "chunk_size"), 0);
  ck_assert_uint_eq (value_distance ("", "abc"), 3);
  ck_assert_uint_eq (value_distance ("kitten", "sitting"), 3);
  ck_assert_uint_eq (value_distance ("memebr", "member"), 2);
}
END_TEST

/*----- Addresses -----*/

static const struct {
  const char *address, *cwd, *want;
} addresses[] = {
    /* paths */
    {"d0", "/srv", "/srv/d0"},
    {"d0", "/", "/d0"},
    {"/dev/sdb", "/srv", "/dev/sdb"},
    {"./d0", "/srv", "/srv/d0"},
    {".//./d0", "/srv", "/srv/d0"},
    {"./a:b", "/srv", "/srv/a:b"},
    {"a=b?socket=c", "/srv", "/srv/a=b?socket=c"},
    /* nothing to do */
    {"nbd://h/", "/srv", "nbd://h/"},
    {"nbd://h:10810/e?x=socket=y", "/srv", "nbd://h:10810/e?x=socket=y"},
    {"nbd+unix:///?socket=/run/m", "/srv", "nbd+unix:///?socket=/run/m"},
    {"nbd+unix:///?socket=%2frun%2Fm", "/srv",
     "nbd+unix:///?socket=%2frun%2Fm"},
    {"nbd+unix:///e#?socket=m", "/srv", "nbd+unix:///e#?socket=m"},
    {"nbd+unix:///", "/srv", "nbd+unix:///"},
    {"nbd+unix:///?socket=", "/srv", "nbd+unix:///?socket="},
    {"nbd+unix:///?socket=&x=y", "/srv", "nbd+unix:///?socket=&x=y"},
    {"nbd+unix:///?socketx=m", "/srv", "nbd+unix:///?socketx=m"},
    {"http://h/?", "/srv", "http://h/?"},
    /* relative */
    {"nbd+unix:///?socket=m0.sock", "/srv",
     "nbd+unix:///?socket=/srv/m0.sock"},
    {"nbd+unix:///?socket=m0.sock", "/", "nbd+unix:///?socket=/m0.sock"},
    {"nbd+unix:///e?socket=m0&tls=1", "/a b",
     "nbd+unix:///e?socket=/a%20b/m0&tls=1"},
    {"nbds+unix:///?x=y&socket=m;z=1#f", "/100%,&",
     "nbds+unix:///?x=y&socket=/100%25%2C%26/m;z=1#f"},
    {"nbd+unix:///?socket=m%20s", "/\xc3\xa4",
     "nbd+unix:///?socket=/%C3%A4/m%20s"},
    {"nbds://h/?tls-psk-file=k", "/srv", "nbds://h/?tls-psk-file=/srv/k"},
};

START_TEST (address)
{
  char *got = address_absolute (addresses[_i].address, addresses[_i].cwd);

  ck_assert_ptr_nonnull (got);
  ck_assert_str_eq (got, addresses[_i].want);
  free (got);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("cmdline");
  TCase *tc = tcase_create ("all");

  tcase_add_loop_test (tc, cmdline_writable, 0, NR (writable));
  tcase_add_loop_test (tc, cmdline_perhaps_not, 0, NR (perhaps_not));
  tcase_add_test (tc, cmdline_of_this_process);
  tcase_add_test (tc, unreadable_file);
  tcase_add_loop_test (tc, duration, 0, NR (durations));
  tcase_add_test (tc, sizes);
  tcase_add_test (tc, words);
  tcase_add_loop_test (tc, address, 0, NR (addresses));
  suite_add_tcase (s, tc);
  return s;
}

int
main (void)
{
  SRunner *sr = srunner_create (suite ());
  int failed;

  srunner_run_all (sr, CK_ENV);
  failed = srunner_ntests_failed (sr);
  srunner_free (sr);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
