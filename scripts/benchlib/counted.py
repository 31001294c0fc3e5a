# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Regime A: member requests and bytes a client request costs, counted by
nbdkit's stats filter on the members.  No noise touches these figures, but one:
how many small sequential writes meet and go together is a matter of timing.

Each check has fresh servers, as the filter writes its counts when it ends.
What starting, going dirty and going clean cost is counted with a run of the
same kind that does (nearly) nothing, and taken off.
"""
import contextlib
import os
import re

from . import Fail
from .peers import Array, Members
from .report import Goal

LINE = re.compile(r"(read|write): (\d+) ops, [\d.]+ s, ([\d.]+) (\w+),")
UNIT_BYTES = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SCATTERED = 200     # writes, each in a row of its own
STREAM_BYTES = 64 << 20
SMALL = 2048        # sequential 4 KiB writes
# So slow that a client that keeps 32 requests in flight really has them there.
SLOW = ["--filter=delay", "rdelay=3ms", "wdelay=3ms"]


class Counts:
    """Requests and bytes; bytes are as rounded as the filter prints them."""

    def __init__(self, reads=0, writes=0, read_bytes=0, write_bytes=0):
        self.reads, self.writes = reads, writes
        self.read_bytes, self.write_bytes = read_bytes, write_bytes

    def __sub__(self, other):
        return Counts(*(a - b for a, b in zip(vars(self).values(),
                                              vars(other).values())))

    def ops(self):
        return self.reads + self.writes


def add_file(counts, path):
    with open(path, encoding="ascii") as f:
        for line in f:
            m = LINE.match(line)
            if not m:
                continue
            size = float(m[3]) * UNIT_BYTES[m[4]]
            if m[1] == "read":
                counts.reads += int(m[2])
                counts.read_bytes += size
            else:
                counts.writes += int(m[2])
                counts.write_bytes += size


class Counter:
    """Runs of fio against fresh arrays of n members."""

    def __init__(self, setting, n):
        self.setting, self.n = setting, n
        self.k = n - 2
        self.chunk_bytes = setting.shape.chunk_bytes
        self.row_bytes = self.k * self.chunk_bytes
        self.bases = {}

    def raw(self, runs, lost, slow):
        """Totals of the members for these runs of fio, and its requests."""
        rows = max(SCATTERED, STREAM_BYTES // self.row_bytes)
        size = (rows + 64) * self.chunk_bytes + (16 << 20)
        stats = os.path.join(self.setting.folder, "stats%i")
        args = [*(SLOW if slow else []), "--filter=stats",
                "statsfile=" + stats, "statsappend=false"]
        params = ["safe_mode_delay=60", *self.setting.opt.param]
        done = 0
        with contextlib.ExitStack() as stack:
            members = Members(self.setting, stack, "A", self.n, size, args)
            a = Array(self.setting, stack, "A", members, params, lost)
            for keys in runs:
                done += self.setting.fio.counted(
                    ["--name=a", "--ioengine=nbd", "--uri=" + a.uri(),
                     *("--" + k for k in keys)])
            for s in a.servers():
                s.check()
        counts = Counts()
        for i in range(self.n):
            path = stats.replace("%i", str(i))
            if os.path.exists(path):
                # Of the lost member it says what create did.
                if not lost or i != 1:
                    add_file(counts, path)
                os.unlink(path)
        if counts.ops() == 0:
            raise Fail("the stats filter has counted nothing")
        return counts, done

    def base(self, lost, slow):
        """What an array costs of which nothing is wanted; if healthy, what
        one that is written to costs beyond the write itself."""
        if (lost, slow) not in self.bases:
            if lost:
                base = self.raw([], lost, slow)[0]
            else:
                base = self.raw([["rw=write", "bs=%d" % self.row_bytes,
                                  "number_ios=1"]], lost, slow)[0]
                base -= Counts(0, self.n, 0, self.n * self.chunk_bytes)
            self.bases[lost, slow] = base
        return self.bases[lost, slow]

    def count(self, *runs, lost=False, slow=False):
        """Counts of these runs alone, and the client's requests."""
        self.setting.progress("A n=%d %s" % (self.n, runs[0][0]))
        base = self.base(lost, slow)
        total, done = self.raw(runs, lost, slow)
        return total - base, done

    # The runs, as keys of fio.

    def scattered(self):
        """Cold 4 KiB writes: the first block of each row, the data rotating
        over all members."""
        return ["rw=write:%d" % (self.row_bytes - 4096), "bs=4k",
                "iodepth=16", "number_ios=%d" % SCATTERED]

    def stream(self, rw, bs):
        return ["rw=" + rw, "bs=%d" % bs, "iodepth=4",
                "size=%d" % self.whole_rows(STREAM_BYTES)]

    def whole_rows(self, size):
        """At least that, so that data and parity are everywhere alike."""
        turn = self.n * self.row_bytes
        return -(-size // turn) * turn

    def each_block_once(self):
        return ["rw=randread", "bs=4k", "iodepth=16",
                "size=%d" % self.whole_rows(16 << 20)]


def cold(counter, must):
    counts, done = counter.count(counter.scattered())
    return Goal("A", "cold 4K write, n=%d, requests" % counter.n,
                counts.ops() / done, must + 0.05, low=True)


def again(counter):
    once, done = counter.count(counter.scattered())
    twice, _ = counter.count(counter.scattered(), counter.scattered())
    more = twice - once
    return [Goal("A", "the same again, requests", more.ops() / done, 3.005,
                 low=True),
            Goal("A", "the same again, reads", more.reads / done, 0, low=True)]


def full_rows(counter):
    keys = counter.stream("write", counter.row_bytes)
    counts, done = counter.count(keys)
    wanted = done * counter.n * counter.chunk_bytes
    return [Goal("A", "full rows, reads a request", counts.reads / done, 0,
                 low=True),
            Goal("A", "full rows, bytes / ((k+2)/k)",
                 counts.write_bytes / wanted, 1.01, low=True)]


def small_sequential(counter):
    counts, done = counter.count(
        ["rw=write", "bs=4k", "iodepth=32", "number_ios=%d" % SMALL],
        slow=True)
    return [Goal("A", "4K sequential, depth 32, requests",
                 counts.ops() / done, 1.5, 0.6, low=True)]


def degraded(counter):
    bs = max(1 << 20, counter.row_bytes)
    counts, done = counter.count(counter.stream("read", bs), lost=True)
    stream = Goal("A", "read stream, one lost, bytes x",
                  counts.read_bytes / (done * bs), 1.05, low=True)
    counts, done = counter.count(counter.each_block_once(), lost=True)
    expected = (counter.n - 1 + counter.k) / counter.n
    return [stream, Goal("A", "4K random read, one lost / model",
                         counts.ops() / done / expected, 1.02, low=True)]


def regime_a(setting):
    """Goals go to setting; they are the table."""
    six = Counter(setting, 6)
    goals = setting.goals
    goals.append(cold(six, 6))
    goals.append(cold(Counter(setting, 5), 5))
    goals.append(cold(Counter(setting, 8), 6))
    for part in (again, full_rows, small_sequential, degraded):
        goals += part(six)
