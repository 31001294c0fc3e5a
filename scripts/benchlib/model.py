# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""What a client request costs the members, and what follows from it.

RAID-6, parity rotated, requests within one chunk: a cold partial write of w
chunks reads w + 2 (read-modify-write: old data, P, Q) or k - w (reconstruct:
the rest of the row) blocks and writes w + 2.  Nothing here measures.
"""


class Shape:
    """n members, chunk in bytes."""

    def __init__(self, n, chunk_bytes):
        self.n, self.chunk_bytes = n, chunk_bytes
        self.k = n - 2
        self.row_bytes = self.k * chunk_bytes


class Cost:
    """Member reads and writes of one client request, on how many members.

    For streams they are in units of the client's bytes.
    """

    def __init__(self, reads, writes, members, streams=False):
        self.reads, self.writes = reads, writes
        self.members, self.streams = members, streams

    def ops(self):
        return self.reads + self.writes

    def read_percent(self):
        """The mix that raw members get to do the same."""
        return round(100 * self.reads / self.ops())


def write_cost(shape, chunks=1):
    """(reads, writes) of a cold partial write, healthy."""
    return min(chunks + 2, shape.k - chunks), chunks + 2


def degraded_write_cost(shape):
    """(reads, writes) of a cold write within one chunk, one member lost."""
    n, k = shape.n, shape.k
    # Of n places: the written chunk was lost, P or Q was, another was (then
    # the rest of the row is not there: read-modify-write).
    lost_data, lost_parity, lost_other = (k - 1, 2), (2, 2), (3, 3)
    return tuple((a + 2 * b + (n - 3) * c) / n for a, b, c in
                 zip(lost_data, lost_parity, lost_other))


def degraded_stream(shape, job):
    """Bytes read for one byte of a stream, one member lost.  A request of
    whole rows reads k of k + 1; one of m < k chunks reads k if the lost one is
    among its own."""
    m = min(max(job.block_bytes / shape.chunk_bytes, 1), shape.k)
    return 1 + (shape.k - m) / shape.n


def cost(job, shape):
    """Cost of a workload (fio.Job); None where depth 1 makes it a latency."""
    members = shape.n - 1 if job.degraded else shape.n
    if job.connections * job.depth == 1:
        return None
    if job.sequential:
        if job.read_share:
            reads = degraded_stream(shape, job) if job.degraded else 1
            return Cost(reads, 0, members, streams=True)
        return Cost(0, shape.n / shape.k, members, streams=True)
    read, write = 1, write_cost(shape)
    if job.degraded:
        read = (shape.n - 1 + shape.k) / shape.n
        write = degraded_write_cost(shape)
    elif job.hot:
        write = (0, 3)
    r = job.read_share
    return Cost(r * read + (1 - r) * write[0], (1 - r) * write[1], members)


def floor(job, shape, member_bytes_per_s):
    """Requests/s that members capped at this rate each way allow."""
    c = cost(job, shape)
    if c is None:
        return None
    return (c.members * member_bytes_per_s / job.block_bytes
            / max(c.reads, c.writes))
