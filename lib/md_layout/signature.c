/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What lies on a device: RAID metadata of any kind, partition tables, volume
 * managers, encryption, file systems, swap.  Only a marker is looked for; the
 * contents are not judged, because a damaged file system is as precious as a
 * sound one.  So that create does not overwrite it unasked, a doubtful case
 * is reported rather than passed over.  Pure functions without locks.
 *
 * The caller brings the first and the last 132 KiB.  Most markers are a fixed
 * string at a fixed place (the table below); the others have a function each.
 */
#include <config.h>

#include "signature.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "le.h"
#include "sb1.h"

struct magic {
  const char *name;
  uint32_t offset_bytes; /* from the beginning */
  uint8_t len_bytes;
  const char *bytes;
};

#define MAGIC(name, offset, bytes)                                            \
  {                                                                           \
    name, offset, sizeof (bytes) - 1, bytes                                   \
  }

static const struct magic magics[] = {
    MAGIC ("xfs file system", 0, "XFSB"),
    MAGIC ("btrfs file system", 65536 + 64, "_BHRfS_M"),
    MAGIC ("f2fs file system", 1024, "\x10\x20\xf5\xf2"),
    MAGIC ("erofs file system", 1024, "\xe2\xe1\xf5\xe0"),
    MAGIC ("nilfs2 file system", 1024, "\x02\0\0\0\0\0\x34\x34"),
    MAGIC ("jfs file system", 32768, "JFS1"),
    MAGIC ("reiserfs file system", 65536 + 52, "ReIsErFs"),
    MAGIC ("reiserfs file system", 65536 + 52, "ReIsEr2Fs"),
    MAGIC ("reiserfs file system", 65536 + 52, "ReIsEr3Fs"),
    MAGIC ("gfs2 file system", 65536, "\x01\x16\x19\x70"),
    MAGIC ("ocfs2 file system", 4096, "OCFSV2"),
    MAGIC ("hfs+ file system", 1024, "H+\x00\x04"),
    MAGIC ("hfsx file system", 1024, "HX\x00\x05"),
    MAGIC ("apfs container", 32, "NXSB"),
    MAGIC ("squashfs file system", 0, "hsqs"),
    MAGIC ("squashfs file system", 0, "sqsh"),
    MAGIC ("cramfs file system", 0, "\x45\x3d\xcd\x28"),
    MAGIC ("iso9660 file system", 32768 + 1, "CD001"),
    MAGIC ("udf file system", 32768 + 1, "BEA01"),
    MAGIC ("FAT file system", 54, "FAT12   "),
    MAGIC ("FAT file system", 54, "FAT16   "),
    MAGIC ("FAT file system", 82, "FAT32   "),
    MAGIC ("exFAT file system", 3, "EXFAT   "),
    MAGIC ("NTFS file system", 3, "NTFS    "),
    MAGIC ("ReFS file system", 3, "ReFS\0\0\0\0"),
    MAGIC ("BitLocker encryption", 3, "-FVE-FS-"),
    MAGIC ("bcache or bcachefs device", 4096 + 24,
           "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    MAGIC ("bcachefs file system", 4096 + 24,
           "\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    MAGIC ("SPDK raid superblock", 0, "SPDKRAID"),
    MAGIC ("qcow image", 0, "QFI\xfb"),
    MAGIC ("VMDK image", 0, "KDMV"),
};

/* The results so far. */
struct found {
  struct signature *ret;
  size_t max;
  size_t nr;
};

static void __attribute__ ((format (printf, 3, 4)))
add (struct found *f, uint64_t offset_bytes, const char *fmt, ...)
{
  if (f->nr < f->max) {
    struct signature *s = &f->ret[f->nr];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (s->name, sizeof s->name, fmt, ap);
    va_end (ap);
    s->offset_bytes = offset_bytes;
  }
  f->nr++;
}

/* The LEN bytes at OFFSET of the device; NULL if not at hand. */
static const uint8_t *
bytes_at (const struct signature_input *in, uint64_t offset, size_t len)
{
  uint64_t tail_start;

  if (len > in->dev_bytes || offset > in->dev_bytes - len)
    return NULL;
  if (len <= in->head_bytes && offset <= in->head_bytes - len)
    return in->head + offset;
  if (in->tail_bytes > in->dev_bytes)
    return NULL;
  tail_start = in->dev_bytes - in->tail_bytes;
  if (offset >= tail_start)
    return in->tail + (offset - tail_start);
  return NULL;
}

static bool
bytes_are (const struct signature_input *in, uint64_t offset,
           const void *wanted, size_t len)
{
  const uint8_t *p = bytes_at (in, offset, len);

  return p != NULL && memcmp (p, wanted, len) == 0;
}

/* ---- RAID ---- */

static void
find_md1 (const struct signature_input *in, struct found *f)
{
  unsigned minor;

  for (minor = 0; minor <= 2; minor++) {
    const uint64_t sector = sb1_place_sectors (minor, in->dev_bytes / 512);
    const uint8_t *p;
    int32_t level;

    if (sector == UINT64_MAX)
      continue;
    p = bytes_at (in, sector * 512, 256);
    if (p == NULL || le32_get (p) != SB1_MAGIC || le32_get (p + 4) != 1)
      continue;
    level = (int32_t)le32_get (p + 72);
    if (level == 70 || level == 71)
      add (f, sector * 512, "md 1.%u superblock, level %" PRId32 " (raidkm)",
           minor, level);
    else
      add (f, sector * 512, "md 1.%u superblock", minor);
  }
}

/* 64 KiB aligned, 64 to 128 KiB before the end, in the creator's byte order.
 */
static void
find_md090 (const struct signature_input *in, struct found *f)
{
  const uint64_t end = in->dev_bytes & ~UINT64_C (65535);
  const uint8_t *p;

  if (end == 0)
    return;
  p = bytes_at (in, end - 65536, 8);
  if (p == NULL)
    return;
  if ((le32_get (p) == SB1_MAGIC && le32_get (p + 4) == 0) ||
      (be32_get (p) == SB1_MAGIC && be32_get (p + 4) == 0))
    add (f, end - 65536, "md 0.90 superblock");
}

/* The DDF anchor is the last block; some controllers leave 128 KiB behind it.
 */
static void
find_ddf (const struct signature_input *in, struct found *f)
{
  static const uint16_t blocks_before_end[] = {1, 257};
  const uint64_t blocks = in->dev_bytes / 512;
  size_t i;

  for (i = 0; i < 2; i++) {
    if (blocks < blocks_before_end[i])
      continue;
    if (bytes_are (in, (blocks - blocks_before_end[i]) * 512,
                   "\xde\x11\xde\x11", 4)) {
      add (f, (blocks - blocks_before_end[i]) * 512,
           "DDF RAID metadata anchor");
      return;
    }
  }
}

/* Intel's lies in the last block but one, of 512 or 4096 bytes. */
static void
find_imsm (const struct signature_input *in, struct found *f)
{
  static const char magic[] = "Intel Raid ISM Cfg Sig. ";
  uint64_t block;

  for (block = 512; block <= 4096; block *= 8) {
    const uint64_t blocks = in->dev_bytes / block;

    if (blocks >= 2 &&
        bytes_are (in, (blocks - 2) * block, magic, sizeof magic - 1)) {
      add (f, (blocks - 2) * block, "IMSM (Intel) RAID metadata");
      return;
    }
  }
}

/* DRBD's own block is the last 4 KiB. */
static void
find_drbd (const struct signature_input *in, struct found *f)
{
  const uint64_t end = in->dev_bytes & ~UINT64_C (4095);

  if (end != 0 && bytes_are (in, end - 4096 + 60, "\x83\x74\x02", 3))
    add (f, end - 4096 + 60, "DRBD metadata");
}

/* ---- Volume managers, encryption ---- */

static void
find_lvm (const struct signature_input *in, struct found *f)
{
  unsigned sector;

  for (sector = 0; sector < 4; sector++)
    if (bytes_are (in, sector * 512, "LABELONE", 8) &&
        bytes_are (in, sector * 512 + 24, "LVM2 001", 8)) {
      add (f, sector * 512, "LVM2 physical volume");
      return;
    }
}

static void
find_luks (const struct signature_input *in, struct found *f)
{
  static const uint32_t second_headers[] = {0x4000, 0x8000, 0x10000, 0x20000};
  const uint8_t *p = bytes_at (in, 0, 8);
  size_t i;

  if (p != NULL && memcmp (p, "LUKS\xba\xbe", 6) == 0) {
    add (f, 0, "LUKS%u encryption", (unsigned)p[6] << 8 | p[7]);
    return;
  }
  /* LUKS2 keeps a copy that can repair a lost first header. */
  for (i = 0; i < sizeof second_headers / sizeof second_headers[0]; i++)
    if (bytes_are (in, second_headers[i], "SKUL\xba\xbe", 6)) {
      add (f, second_headers[i], "LUKS2 encryption (second header)");
      return;
    }
}

static bool
is_uberblock (const struct signature_input *in, uint64_t offset)
{
  const uint8_t *p = bytes_at (in, offset, 8);

  return p != NULL && (le64_get (p) == UINT64_C (0x00bab10c) ||
                       be64_get (p) == UINT64_C (0x00bab10c));
}

/* ZFS has four labels of 256 KiB, two at each end.  16 KiB into a label lies
 * a list (XDR-encoded) whose first name is "version"; the second half of it is
 * a ring of uberblocks of 1 KiB or more.
 */
static void
find_zfs (const struct signature_input *in, struct found *f)
{
  const uint64_t half = 128 * 1024;
  const uint64_t end = in->dev_bytes / (2 * half) * (2 * half);
  uint64_t offset;

  if (bytes_are (in, 16384, "\1", 1) &&
      bytes_are (in, 16384 + 20, "\0\0\0\7version", 11)) {
    add (f, 16384, "ZFS member");
    return;
  }
  for (offset = half; offset + 1024 <= SIGNATURE_HEAD_BYTES; offset += 1024)
    if (is_uberblock (in, offset)) {
      add (f, offset, "ZFS member");
      return;
    }
  if (end == 0)
    return;
  for (offset = end - half; offset < end; offset += 1024)
    if (is_uberblock (in, offset)) {
      add (f, offset, "ZFS member");
      return;
    }
}

/* ---- Partition tables ---- */

static void
find_gpt (const struct signature_input *in, struct found *f)
{
  uint64_t block;

  for (block = 512; block <= 4096; block *= 8)
    if (bytes_are (in, block, "EFI PART", 8)) {
      add (f, block, "GPT partition table");
      break;
    }
  for (block = 512; block <= 4096; block *= 8) {
    const uint64_t last = in->dev_bytes / block;

    if (last >= 2 && bytes_are (in, (last - 1) * block, "EFI PART", 8)) {
      add (f, (last - 1) * block, "GPT partition table (backup)");
      break;
    }
  }
}

/* Boot sectors of FAT and NTFS end in the same two bytes, but have program
 * text where the four entries of a table have 0x00 or 0x80.
 */
static void
find_mbr (const struct signature_input *in, struct found *f)
{
  const uint8_t *p = bytes_at (in, 0, 512);
  unsigned i;

  if (p == NULL || p[510] != 0x55 || p[511] != 0xaa)
    return;
  if (memcmp (p + 54, "FAT", 3) == 0 || memcmp (p + 82, "FAT32", 5) == 0 ||
      memcmp (p + 3, "NTFS", 4) == 0 || memcmp (p + 3, "EXFAT", 5) == 0)
    return;
  for (i = 0; i < 4; i++)
    if ((p[446 + 16 * i] & 0x7f) != 0) {
      add (f, 510, "boot sector");
      return;
    }
  add (f, 510, "MBR partition table");
}

/* ---- File systems and swap ---- */

#define EXT_SUPER_BYTES 1024
#define EXT_COMPAT_JOURNAL 0x4u
#define EXT_INCOMPAT_JOURNAL_DEV 0x8u
#define EXT_INCOMPAT_OF_EXT3 0x17u /* any other bit makes it ext4 */
#define EXT_RO_COMPAT_OF_EXT3 0x7u /* likewise */

static void
find_ext (const struct signature_input *in, struct found *f)
{
  const uint8_t *p = bytes_at (in, EXT_SUPER_BYTES, 256);
  uint32_t compat, incompat, ro_compat;
  const char *name;

  if (p == NULL || le16_get (p + 56) != 0xef53)
    return;
  compat = le32_get (p + 92);
  incompat = le32_get (p + 96);
  ro_compat = le32_get (p + 100);
  if (incompat & EXT_INCOMPAT_JOURNAL_DEV)
    name = "ext4 external journal";
  else if ((incompat & ~EXT_INCOMPAT_OF_EXT3) != 0 ||
           (ro_compat & ~EXT_RO_COMPAT_OF_EXT3) != 0)
    name = "ext4 file system";
  else if (compat & EXT_COMPAT_JOURNAL)
    name = "ext3 file system";
  else
    name = "ext2 file system";
  add (f, EXT_SUPER_BYTES + 56, "%s", name);
}

/* At the end of the first page, whatever a page was on that host. */
static void
find_swap (const struct signature_input *in, struct found *f)
{
  uint32_t page;

  for (page = 4096; page <= 65536; page *= 2) {
    const uint64_t offset = page - 10;

    if (bytes_are (in, offset, "SWAPSPACE2", 10) ||
        bytes_are (in, offset, "SWAP-SPACE", 10)) {
      add (f, offset, "swap area");
      return;
    }
    if (bytes_are (in, offset, "S1SUSPEND", 9) ||
        bytes_are (in, offset, "S2SUSPEND", 9)) {
      add (f, offset, "swap area (suspended system)");
      return;
    }
  }
}

size_t
signature_find (const struct signature_input *in, struct signature *ret,
                size_t max)
{
  struct found f = {ret, max, 0};
  size_t i;

  find_md1 (in, &f);
  find_md090 (in, &f);
  find_ddf (in, &f);
  find_imsm (in, &f);
  find_drbd (in, &f);
  find_lvm (in, &f);
  find_luks (in, &f);
  find_zfs (in, &f);
  find_gpt (in, &f);
  find_mbr (in, &f);
  find_ext (in, &f);
  find_swap (in, &f);
  for (i = 0; i < sizeof magics / sizeof magics[0]; i++)
    if (bytes_are (in, magics[i].offset_bytes, magics[i].bytes,
                   magics[i].len_bytes))
      add (&f, magics[i].offset_bytes, "%s", magics[i].name);
  return f.nr;
}
