/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * The version-1 md superblock: parse, validate, build, change, encode.
 * Bytes and arithmetic only; no I/O, no locks.  Field table and sources: the
 * comment at the top of sb1.c.
 *
 * A struct sb1 keeps the 4096 bytes it was read from, so that every byte
 * that we do not understand but accept survives a read-modify-write.
 */
#ifndef URAID_SB1_H
#define URAID_SB1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uraid_error.h"

#define SB1_MAGIC 0xa92b4efcu
#define SB1_BYTES 4096
#define SB1_MAX_DEV 1920
#define SB1_MIN_DEV_SECTORS 24
#define SB1_MAX UINT64_MAX /* resync_offset: all of it is in sync */

#define SB1_F_BITMAP 0x1u
#define SB1_F_RECOVERY_OFFSET 0x2u
#define SB1_F_RESHAPE 0x4u
#define SB1_F_BAD_BLOCKS 0x8u
#define SB1_F_REPLACEMENT 0x10u
#define SB1_F_RESHAPE_BACKWARDS 0x20u
#define SB1_F_NEW_OFFSET 0x40u
#define SB1_F_RECOVERY_BITMAP 0x80u
#define SB1_F_CLUSTERED 0x100u
#define SB1_F_JOURNAL 0x200u
#define SB1_F_PPL 0x400u
#define SB1_F_MULTIPLE_PPLS 0x800u
#define SB1_F_RAID0_LAYOUT 0x1000u

#define SB1_ROLE_SPARE 0xffffu
#define SB1_ROLE_FAULTY 0xfffeu
#define SB1_ROLE_JOURNAL 0xfffdu
#define SB1_ROLE_MAX 0xff00u /* roles below are slots */

/* All fields in host order, names as in the kernel's md_p.h. */
struct sb1 {
  unsigned minor; /* 0, 1, 2: from where it was found, not stored */
  uint32_t feature_map;
  uint32_t pad0;
  uint8_t set_uuid[16];
  char set_name[33]; /* 32 bytes on disk, terminated here */
  uint64_t ctime;
  int32_t level;
  uint32_t layout;
  uint64_t size_sectors;
  uint32_t chunk_sectors;
  uint32_t raid_disks;
  int32_t bitmap_offset_sectors;
  uint32_t new_level;
  uint64_t reshape_position;
  int32_t delta_disks;
  uint32_t new_layout;
  uint32_t new_chunk;
  int32_t new_offset;
  uint64_t data_offset_sectors;
  uint64_t data_size_sectors;
  uint64_t super_offset_sectors;
  uint64_t recovery_offset_sectors;
  uint32_t dev_number;
  uint32_t cnt_corrected_read;
  uint8_t device_uuid[16];
  uint8_t devflags;
  uint8_t bblog_shift;
  uint16_t bblog_size_sectors;
  int32_t bblog_offset_sectors;
  uint64_t utime;
  uint64_t events;
  uint64_t resync_offset_sectors;
  uint32_t sb_csum;
  uint32_t max_dev;
  uint32_t logical_block_size;
  uint16_t dev_roles[SB1_MAX_DEV]; /* entries >= max_dev are 0xffff */
  uint8_t raw[SB1_BYTES];
};

/* Absolute sector of the superblock of minor 0, 1 or 2 on a device of
 * DEV_SECTORS; UINT64_MAX when the device is too small for one.
 */
extern uint64_t sb1_place_sectors (unsigned minor, uint64_t dev_sectors);

/* Is there a v1 superblock in RAW, which was read at the place of MINOR?
 * Checks, in the kernel's order: magic, major version, max_dev, super_offset,
 * checksum, data_size, pads.  Feature bits are *not* judged here (examine
 * shows what it cannot serve).  0 and *RET; -ENOENT: no v1 superblock here
 * (magic or version differ, or super_offset names another place: text says
 * which); -EINVAL: a broken one, with a text naming field, found and allowed
 * value.  *RET is filled as far as it goes even with -EINVAL (but not with
 * -ENOENT).
 */
extern int sb1_parse (const uint8_t raw[SB1_BYTES], unsigned minor,
                      uint64_t dev_sectors, struct sb1 *ret,
                      struct uraid_error *e);

/* Recompute RAW from the fields, with the checksum.  Fields that have no
 * place of their own in RAW (minor) are not stored.
 */
extern void sb1_encode (struct sb1 *sb);

/* The checksum of RAW's first 256 + 2 * max_dev bytes (sb_csum taken as 0).
 */
extern uint32_t sb1_checksum (const uint8_t raw[SB1_BYTES], uint32_t max_dev);

/* pad0 and pad3 must be zero: else something newer than us wrote SB.  0, or
 * -EINVAL with a text naming the byte.
 */
extern int sb1_check_pads (const struct sb1 *sb, struct uraid_error *e);

/* How many bytes of RAW to write: roundup (256 + 2 * max_dev,
 * BLOCK_BYTES), never more than 4096.
 */
extern size_t sb1_write_bytes (const struct sb1 *sb, uint32_t block_bytes);

/* This member's role by SB's own table: a slot, or SB1_ROLE_x. */
extern uint16_t sb1_role (const struct sb1 *sb);

/* A superblock that parsed: may an array with it be served?  WRITABLE: also
 * written.  Refuses by name each feature bit, level, layout, chunk, pad,
 * logical block size that md-format.md section 9 refuses; and areas that
 * overlap or do not fit DEV_SECTORS: data behind the end, data_size < size,
 * bitmap over superblock, bad-block log or data (BITMAP_SECTORS: length of
 * the bitmap area, 0 = not known yet: only its first 4 KiB are judged).
 * Returns 0, -EOPNOTSUPP (feature) or -EINVAL (broken), with a text.
 */
extern int sb1_judge (const struct sb1 *sb, uint64_t dev_sectors,
                      uint64_t bitmap_sectors, bool writable,
                      struct uraid_error *e);

/* "BITMAP_OFFSET" ... for one feature bit, "unknown bit 0x..." (static
 * buffers per thread are not used: BUF is the caller's, at least 32 bytes).
 */
extern const char *sb1_feature_name (uint32_t bit, char buf[32]);

/* "00112233:44556677:8899aabb:ccddeeff" into BUF. */
extern void sb1_uuid_text (const uint8_t uuid[16], char buf[36]);
/* The reverse; accepts colons, dashes and dots anywhere.  0 or -EINVAL. */
extern int sb1_uuid_parse (const char *text, uint8_t ret[16]);

/* Seconds of a ctime/utime field. */
extern uint64_t sb1_time_seconds (uint64_t field);

/* What else may lie on a member (0.90, DDF, IMSM, file systems ...) is
 * signature.h's.
 */
#endif
