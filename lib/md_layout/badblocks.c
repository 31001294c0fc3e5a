/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * md's bad-block log: bytes to a sorted, merged list of ranges and back.  It
 * does not read or write the log and does not decide what a bad block means.
 * Pure functions without locks; a struct badblocks belongs to its caller.
 *
 * On disk the log is a table of little-endian 64-bit words:
 *
 *     63                                  10 9        0
 *     +-------------------------------------+----------+
 *     | start, absolute on the member       | length   |   units of
 *     +-------------------------------------+----------+   512 << shift bytes
 *
 * All ones ends the table.  Entries come in any order and may touch or
 * overlap.  Writers use lengths 1..512; 10 bits hold up to 1023, and readers
 * of the kernel take those too, so we do.  Length 0 makes kernels since 6.7
 * refuse the member.
 *
 * In memory lengths have 64 bits: a range of 2^32 + 8 sectors stays one range
 * and is never cut to 8 on its way to the disk.
 */
#include <config.h>

#include "badblocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "le.h"

#define ENTRY_BYTES 8
#define ENTRY_END UINT64_MAX
#define ENTRY_LEN_BITS 10
#define ENTRY_LEN_MASK 0x3ffu
#define ENTRY_LEN_WRITTEN 512u

/* End of [START, START+LEN), held at the top instead of wrapping round. */
static uint64_t
range_end (uint64_t start_sectors, uint64_t len_sectors)
{
  return len_sectors > UINT64_MAX - start_sectors
             ? UINT64_MAX
             : start_sectors + len_sectors;
}

/* Index of the first range that ends at or behind SECTOR. */
static size_t
first_ending_from (const struct badblocks *b, uint64_t sector)
{
  size_t lo = 0, hi = b->nr;

  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const struct badblocks_range *r = &b->ranges[mid];

    if (range_end (r->start_sectors, r->len_sectors) < sector)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

bool
badblocks_overlap (const struct badblocks *b, uint64_t start_sectors,
                   uint64_t len_sectors)
{
  const uint64_t end = range_end (start_sectors, len_sectors);
  size_t i;

  if (len_sectors == 0)
    return false;
  for (i = first_ending_from (b, start_sectors); i < b->nr; i++) {
    const struct badblocks_range *r = &b->ranges[i];

    if (r->start_sectors >= end)
      return false;
    /* The first one may only touch. */
    if (range_end (r->start_sectors, r->len_sectors) > start_sectors)
      return true;
  }
  return false;
}

/* Replace the ranges FIRST .. FIRST+NR_OLD-1 by the NR_NEW in NEW. */
static int
replace_ranges (struct badblocks *b, size_t first, size_t nr_old,
                const struct badblocks_range *new, size_t nr_new)
{
  const size_t nr = b->nr - nr_old + nr_new;
  const size_t nr_behind = b->nr - first - nr_old;

  if (nr > b->nr) {
    struct badblocks_range *p = realloc (b->ranges, nr * sizeof *p);

    if (p == NULL)
      return -ENOMEM;
    b->ranges = p;
  }
  if (nr_behind > 0)
    memmove (&b->ranges[first + nr_new], &b->ranges[first + nr_old],
             nr_behind * sizeof *b->ranges);
  if (nr_new > 0)
    memcpy (&b->ranges[first], new, nr_new * sizeof *new);
  b->nr = nr;
  return 0;
}

int
badblocks_add (struct badblocks *b, uint64_t start_sectors,
               uint64_t len_sectors)
{
  uint64_t start = start_sectors;
  uint64_t end = range_end (start_sectors, len_sectors);
  struct badblocks_range merged;
  size_t first, i;

  if (len_sectors == 0)
    return 0;
  first = first_ending_from (b, start);
  for (i = first; i < b->nr && b->ranges[i].start_sectors <= end; i++) {
    const struct badblocks_range *r = &b->ranges[i];
    const uint64_t r_end = range_end (r->start_sectors, r->len_sectors);

    if (r->start_sectors < start)
      start = r->start_sectors;
    if (r_end > end)
      end = r_end;
  }
  merged.start_sectors = start;
  merged.len_sectors = end - start;
  return replace_ranges (b, first, i - first, &merged, 1);
}

int
badblocks_remove (struct badblocks *b, uint64_t start_sectors,
                  uint64_t len_sectors)
{
  const uint64_t end = range_end (start_sectors, len_sectors);
  struct badblocks_range rest[2];
  size_t nr_rest = 0;
  size_t first, i;

  if (len_sectors == 0)
    return 0;
  first = first_ending_from (b, start_sectors);
  for (i = first; i < b->nr && b->ranges[i].start_sectors < end; i++) {
    const struct badblocks_range *r = &b->ranges[i];
    const uint64_t r_end = range_end (r->start_sectors, r->len_sectors);

    /* Only the first can stick out in front, only the last behind. */
    if (r->start_sectors < start_sectors)
      rest[nr_rest++] = (struct badblocks_range){
          r->start_sectors, start_sectors - r->start_sectors};
    if (r_end > end)
      rest[nr_rest++] = (struct badblocks_range){end, r_end - end};
  }
  return replace_ranges (b, first, i - first, rest, nr_rest);
}

void
badblocks_done (struct badblocks *b)
{
  if (b == NULL)
    return;
  free (b->ranges);
  b->ranges = NULL;
  b->nr = 0;
}

/* Add the entry V, which is number I of the table. */
static int
parse_entry (struct badblocks *b, size_t i, uint64_t v, unsigned shift,
             struct uraid_error *e)
{
  const uint64_t start = v >> ENTRY_LEN_BITS;
  const uint64_t len = v & ENTRY_LEN_MASK;

  if (len == 0)
    return uraid_error_set (
        e, EINVAL,
        "bad-block log: entry %zu (0x%016" PRIx64
        ") has length 0, allowed are 1 to 1023 units; the log is damaged, "
        "use another member or remove the log from this one",
        i, v);
  if (shift > 40 || start > (UINT64_MAX >> shift) ||
      (len << shift) > UINT64_MAX - (start << shift))
    return uraid_error_set (
        e, EINVAL,
        "bad-block log: entry %zu (0x%016" PRIx64
        ") in units of 2^%u sectors lies beyond 2^64 sectors; the log is "
        "damaged, use another member or remove the log from this one",
        i, v, shift);
  if (badblocks_add (b, start << shift, len << shift) < 0)
    return uraid_error_set (e, ENOMEM,
                            "bad-block log: out of memory at entry %zu", i);
  return 0;
}

int
badblocks_parse (const uint8_t *raw, size_t size_bytes, unsigned shift,
                 struct badblocks *ret, struct uraid_error *e)
{
  size_t i;

  ret->nr = 0;
  ret->ranges = NULL;
  for (i = 0; i < size_bytes / ENTRY_BYTES; i++) {
    const uint64_t v = le64_get (raw + i * ENTRY_BYTES);
    int r;

    if (v == ENTRY_END)
      break;
    r = parse_entry (ret, i, v, shift, e);
    if (r < 0) {
      badblocks_done (ret);
      return r;
    }
  }
  return 0;
}

/* Cut the ranges into entries, and put these into RAW unless it is NULL.
 * Returns their number, UINT64_MAX if one has no form on disk.
 */
static uint64_t
put_entries (const struct badblocks *b, unsigned shift, uint8_t *raw)
{
  uint64_t nr = 0;
  uint64_t done = 0; /* units below this one are in the table */
  size_t i;

  for (i = 0; i < b->nr; i++) {
    const struct badblocks_range *r = &b->ranges[i];
    const uint64_t last = r->start_sectors + (r->len_sectors - 1);
    uint64_t unit = r->start_sectors >> shift;     /* rounded down */
    const uint64_t end_unit = (last >> shift) + 1; /* rounded up */

    if (last < r->start_sectors || end_unit == 0 ||
        end_unit > UINT64_C (1) << (64 - ENTRY_LEN_BITS))
      return UINT64_MAX;
    if (unit < done) /* two ranges in one big unit */
      unit = done;
    if (raw == NULL) {
      nr += (end_unit - unit) / ENTRY_LEN_WRITTEN +
            ((end_unit - unit) % ENTRY_LEN_WRITTEN != 0);
      done = end_unit;
      continue;
    }
    for (; unit < end_unit; nr++) {
      const uint64_t left = end_unit - unit;
      const uint64_t len = left < ENTRY_LEN_WRITTEN ? left : ENTRY_LEN_WRITTEN;

      le64_put (raw + nr * ENTRY_BYTES, unit << ENTRY_LEN_BITS | len);
      unit += len;
    }
    done = end_unit;
  }
  return nr;
}

int
badblocks_encode (const struct badblocks *b, unsigned shift, uint8_t *raw,
                  size_t size_bytes)
{
  /* Counted first: with too many entries RAW must stay as it is, and a huge
   * range must not take millions of steps to find that out.
   */
  if (shift > 40 || put_entries (b, shift, NULL) > size_bytes / ENTRY_BYTES)
    return -ENOSPC;
  memset (raw, 0xff, size_bytes);
  (void)put_entries (b, shift, raw);
  return 0;
}
