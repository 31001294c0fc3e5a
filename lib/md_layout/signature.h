/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * What lies on a member that is not a v1 superblock of ours?  Recognises
 * md 0.90, DDF, IMSM, raidkm levels, LVM, LUKS, partition tables, file
 * systems, swap, so that create never overwrites them unasked.  Looks at
 * bytes the caller read; no I/O, no locks.
 */
#ifndef URAID_SIGNATURE_H
#define URAID_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/* The caller reads this much from the beginning and from the end (all of it
 * if the device is smaller).  Enough for btrfs (64 KiB + 4 KiB) and md 0.90
 * (64..128 KiB before the end).
 */
#define SIGNATURE_HEAD_BYTES (132 * 1024)
#define SIGNATURE_TAIL_BYTES (132 * 1024)

struct signature_input {
  uint64_t dev_bytes;
  const uint8_t *head; /* first min (dev_bytes, SIGNATURE_HEAD_BYTES) bytes */
  size_t head_bytes;
  const uint8_t *tail; /* last min (dev_bytes, SIGNATURE_TAIL_BYTES) bytes */
  size_t tail_bytes;
};

struct signature {
  char name[64];         /* "ext4 file system", "GPT partition table", ... */
  uint64_t offset_bytes; /* where its magic is */
};

/* Find all; at most MAX into RET.  Returns how many were found (may be more
 * than MAX).  Includes md 1.x superblocks at all three places ("md 1.2
 * superblock") even when their checksum is wrong.
 */
extern size_t signature_find (const struct signature_input *in,
                              struct signature *ret, size_t max);

#endif
