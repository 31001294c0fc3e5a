/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * Tests of lib/md_layout/signature.c: what lies on a device.  Single-threaded.
 * Run alone: tests/unit/test-signature (CK_FORK=no to debug).
 */
#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "le.h"
#include "sb1.h"
#include "signature.h"

#define DEV_BYTES (1024 * 1024)

static uint8_t *dev;
static struct signature_input in;
static struct signature found[16];

/* Show the first DEV_BYTES of dev as a whole device, copied to buffers of the
 * exact size, so that reading past one is noticed by the sanitizer.
 */
static size_t
find (uint64_t dev_bytes)
{
  uint8_t *head, *tail;
  size_t n;

  in.dev_bytes = dev_bytes;
  in.head_bytes =
      dev_bytes < SIGNATURE_HEAD_BYTES ? dev_bytes : SIGNATURE_HEAD_BYTES;
  in.tail_bytes =
      dev_bytes < SIGNATURE_TAIL_BYTES ? dev_bytes : SIGNATURE_TAIL_BYTES;
  head = malloc (in.head_bytes + 1);
  tail = malloc (in.tail_bytes + 1);
  ck_assert (head != NULL && tail != NULL);
  head = realloc (head, in.head_bytes ? in.head_bytes : 1);
  tail = realloc (tail, in.tail_bytes ? in.tail_bytes : 1);
  memcpy (head, dev, in.head_bytes);
  memcpy (tail, dev + dev_bytes - in.tail_bytes, in.tail_bytes);
  in.head = head;
  in.tail = tail;
  memset (found, 0, sizeof found);
  n = signature_find (&in, found, 16);
  free (head);
  free (tail);
  return n;
}

static void
setup (void)
{
  dev = calloc (1, DEV_BYTES);
  ck_assert_ptr_nonnull (dev);
}

static void
teardown (void)
{
  free (dev);
}

#define ck_found(n, wanted_name, wanted_offset)                               \
  do {                                                                        \
    ck_assert_uint_eq (find (DEV_BYTES), n);                                  \
    ck_assert_str_eq (found[0].name, wanted_name);                            \
    ck_assert_uint_eq (found[0].offset_bytes, wanted_offset);                 \
  } while (0)

/* Row _i: bytes at an offset (negative: from the end) and what they are. */
#define B(s) s, sizeof (s) - 1
static const struct {
  long offset;
  const char *bytes;
  size_t len;
  const char *name;
} simple[] = {
    {0, B ("XFSB"), "xfs file system"},
    {65600, B ("_BHRfS_M"), "btrfs file system"},
    {1024, B ("\x10\x20\xf5\xf2"), "f2fs file system"},
    {4086, B ("SWAPSPACE2"), "swap area"},
    {65526, B ("SWAPSPACE2"), "swap area"},
    {4086, B ("SWAP-SPACE"), "swap area"},
    {4086, B ("S1SUSPEND"), "swap area (suspended system)"},
    {0, B ("LUKS\xba\xbe\0\1"), "LUKS1 encryption"},
    {0, B ("LUKS\xba\xbe\0\2"), "LUKS2 encryption"},
    {16384, B ("SKUL\xba\xbe\0\2"), "LUKS2 encryption (second header)"},
    {512, B ("EFI PART"), "GPT partition table"},
    {4096, B ("EFI PART"), "GPT partition table"},
    {-512, B ("EFI PART"), "GPT partition table (backup)"},
    {-4096, B ("EFI PART"), "GPT partition table (backup)"},
    {-512, B ("\xde\x11\xde\x11"), "DDF RAID metadata anchor"},
    {-257 * 512, B ("\xde\x11\xde\x11"), "DDF RAID metadata anchor"},
    {-1024, B ("Intel Raid ISM Cfg Sig. 1.3.00"),
     "IMSM (Intel) RAID metadata"},
    {-8192, B ("Intel Raid ISM Cfg Sig. 1.3.00"),
     "IMSM (Intel) RAID metadata"},
    {-4096 + 60, B ("\x83\x74\x02\x6d"), "DRBD metadata"},
    {54, B ("FAT12   "), "FAT file system"},
    {54, B ("FAT16   "), "FAT file system"},
    {82, B ("FAT32   "), "FAT file system"},
    {3, B ("EXFAT   "), "exFAT file system"},
    {3, B ("NTFS    "), "NTFS file system"},
    {32769, B ("CD001"), "iso9660 file system"},
    {0, B ("hsqs"), "squashfs file system"},
    {4120,
     B ("\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
     "bcache or bcachefs device"},
    {128 * 1024, B ("\x0c\xb1\xba\0\0\0\0\0"), "ZFS member"},
    {131 * 1024, B ("\0\0\0\0\0\xba\xb1\x0c"), "ZFS member"},
    {-128 * 1024, B ("\0\0\0\0\0\xba\xb1\x0c"), "ZFS member"},
    {0, B ("SPDKRAID"), "SPDK raid superblock"},
};

START_TEST (simple_ones)
{
  const uint64_t offset =
      (uint64_t)(simple[_i].offset + (simple[_i].offset < 0 ? DEV_BYTES : 0));

  memcpy (dev + offset, simple[_i].bytes, simple[_i].len);
  ck_found (1, simple[_i].name, offset);
  /* One byte further on it means nothing. */
  memset (dev, 0, DEV_BYTES);
  if (offset + 1 + simple[_i].len <= DEV_BYTES) {
    memcpy (dev + offset + 1, simple[_i].bytes, simple[_i].len);
    ck_assert_uint_eq (find (DEV_BYTES), 0);
  }
}
END_TEST

START_TEST (nothing)
{
  ck_assert_uint_eq (find (DEV_BYTES), 0);
  memset (dev, 0xff, DEV_BYTES);
  ck_assert_uint_eq (find (DEV_BYTES), 0);
}
END_TEST

START_TEST (ext_family)
{
  uint8_t *s = dev + 1024;

  le16_put (s + 56, 0xef53);
  ck_found (1, "ext2 file system", 1080);
  le32_put (s + 92, 0x4);
  le32_put (s + 96, 0x6);
  ck_found (1, "ext3 file system", 1080);
  le32_put (s + 96, 0x2c2);
  ck_found (1, "ext4 file system", 1080);
  le32_put (s + 96, 0x2);
  le32_put (s + 100, 0x8);
  ck_found (1, "ext4 file system", 1080);
  le32_put (s + 96, 0x8);
  ck_found (1, "ext4 external journal", 1080);
}
END_TEST

START_TEST (lvm)
{
  memcpy (dev + 512, "LABELONE", 8);
  ck_assert_uint_eq (find (DEV_BYTES), 0);
  memcpy (dev + 512 + 24, "LVM2 001", 8);
  ck_found (1, "LVM2 physical volume", 512);
  memmove (dev + 1536, dev + 512, 512);
  memset (dev + 512, 0, 512);
  ck_found (1, "LVM2 physical volume", 1536);
}
END_TEST

START_TEST (zfs_label)
{
  dev[16384] = 1;
  memcpy (dev + 16384 + 20, "\0\0\0\7version", 11);
  ck_found (1, "ZFS member", 16384);
}
END_TEST

START_TEST (mbr)
{
  dev[510] = 0x55;
  dev[511] = 0xaa;
  ck_found (1, "MBR partition table", 510); /* empty, but one */
  dev[446] = 0x80;
  dev[446 + 4] = 0x83;
  ck_found (1, "MBR partition table", 510);
  dev[446 + 16] = 0x12;
  ck_found (1, "boot sector", 510);
  /* Boot sectors of file systems are theirs alone. */
  memcpy (dev + 54, "FAT16   ", 8);
  ck_found (1, "FAT file system", 54);
  memset (dev + 54, 0, 8);
  memcpy (dev + 82, "FAT32   ", 8);
  ck_found (1, "FAT file system", 82);
  memset (dev + 82, 0, 8);
  memcpy (dev + 3, "NTFS    ", 8);
  ck_found (1, "NTFS file system", 3);
}
END_TEST

START_TEST (gpt_whole)
{
  dev[510] = 0x55;
  dev[511] = 0xaa;
  dev[450] = 0xee;
  memcpy (dev + 512, "EFI PART", 8);
  memcpy (dev + DEV_BYTES - 512, "EFI PART", 8);
  ck_assert_uint_eq (find (DEV_BYTES), 3);
  ck_assert_str_eq (found[0].name, "GPT partition table");
  ck_assert_str_eq (found[1].name, "GPT partition table (backup)");
  ck_assert_str_eq (found[2].name, "MBR partition table");
}
END_TEST

static void
put_md1 (uint64_t offset, int32_t level)
{
  le32_put (dev + offset, SB1_MAGIC);
  le32_put (dev + offset + 4, 1);
  le32_put (dev + offset + 72, (uint32_t)level);
}

/* With no valid checksum. */
START_TEST (md1)
{
  put_md1 (4096, 6);
  ck_found (1, "md 1.2 superblock", 4096);
  put_md1 (DEV_BYTES - 8192, 6);
  put_md1 (0, 6);
  ck_assert_uint_eq (find (DEV_BYTES), 3);
  ck_assert_str_eq (found[0].name, "md 1.0 superblock");
  ck_assert_uint_eq (found[0].offset_bytes, DEV_BYTES - 8192);
  ck_assert_str_eq (found[1].name, "md 1.1 superblock");
  ck_assert_str_eq (found[2].name, "md 1.2 superblock");
  /* The list may be short; the count is not, and nothing is overrun. */
  in.head = dev;
  in.tail = dev + DEV_BYTES - in.tail_bytes;
  found[1].name[0] = 'x';
  ck_assert_uint_eq (signature_find (&in, found, 1), 3);
  ck_assert_int_eq (found[1].name[0], 'x');
  ck_assert_uint_eq (signature_find (&in, NULL, 0), 3);
}
END_TEST

START_TEST (md1_of_raidkm)
{
  put_md1 (4096, 70);
  ck_found (1, "md 1.2 superblock, level 70 (raidkm)", 4096);
  put_md1 (4096, 71);
  ck_found (1, "md 1.2 superblock, level 71 (raidkm)", 4096);
}
END_TEST

START_TEST (md090)
{
  static const uint32_t odd_ends[] = {0, 512, 65535};
  size_t i;

  for (i = 0; i < 3; i++) {
    const uint64_t bytes = DEV_BYTES - 65536 + odd_ends[i];
    const uint64_t place = DEV_BYTES - 2 * 65536;

    le32_put (dev + place, SB1_MAGIC);
    ck_assert_uint_eq (find (bytes), 1);
    ck_assert_str_eq (found[0].name, "md 0.90 superblock");
    ck_assert_uint_eq (found[0].offset_bytes, place);
    memcpy (dev + place, "\xa9\x2b\x4e\xfc", 4); /* of a big-endian host */
    ck_assert_uint_eq (find (bytes), 1);
  }
}
END_TEST

/* Devices of any size, with something everywhere: no reading past the end. */
START_TEST (any_size)
{
  uint64_t bytes;

  for (bytes = 0; bytes < 10000; bytes += 1 + bytes / 512)
    (void)find (bytes);
  memset (dev, 0xfc, DEV_BYTES);
  for (bytes = 0; bytes < DEV_BYTES; bytes += 4097)
    (void)find (bytes);
  /* The head only, as a caller with a failed second read might give. */
  memset (&in, 0, sizeof in);
  in.dev_bytes = DEV_BYTES;
  in.head = dev;
  in.head_bytes = 512;
  ck_assert_uint_eq (signature_find (&in, found, 16), 0);
  in.dev_bytes = UINT64_MAX;
  ck_assert_uint_eq (signature_find (&in, found, 16), 0);
}
END_TEST

static Suite *
suite (void)
{
  Suite *s = suite_create ("signature");
  TCase *tc = tcase_create ("all");

  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, simple_ones, 0,
                       (int)(sizeof simple / sizeof simple[0]));
  tcase_add_test (tc, nothing);
  tcase_add_test (tc, ext_family);
  tcase_add_test (tc, lvm);
  tcase_add_test (tc, zfs_label);
  tcase_add_test (tc, mbr);
  tcase_add_test (tc, gpt_whole);
  tcase_add_test (tc, md1);
  tcase_add_test (tc, md1_of_raidkm);
  tcase_add_test (tc, md090);
  tcase_add_test (tc, any_size);
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
