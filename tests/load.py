#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Many requests at once, for the shell tests.  Nothing is timed: what is looked
# at are contents, counts and the order of answers.
#
#   load.py URI verify WANT [-e COMMAND]... [--times N]
#       Random writes and reads, each read compared, while the COMMANDs (each
#       for a shell, must end with status 0) run N times, one after the other
#       and each with requests answered meanwhile.  Then all is compared and
#       what the array must hold is written to the file WANT.
#   images WANT IMAGE...     (load.py images ..., without URI)
#       Parity and data of a stopped, clean array.
#   fair [--rounds N]
#       Full rows and single blocks, DEPTH of each, to few rows of their own; in
#       each round, which ends when one kind was answered 400 times, the other
#       must be answered 20 times.
#   overtaken MOST [--count N] [--span BYTES]
#       N writes of 4 KiB to random blocks of the first BYTES.  No write may be
#       overtaken by more than MOST others: those that were sent after it and
#       answered before it.
#
# One thread.
import argparse
import random
import subprocess
import sys
import time

import nbd

import nbdharness as h

BLOCK = 4096
SECTOR = 512
NOISE = 1 << 20


class Uri:
    """What nbdharness.Clients wants to know of a server."""

    def __init__(self, uri):
        self.uri = uri

    def connect(self):
        c = nbd.NBD()
        c.connect_uri(self.uri)
        return c


class Load:
    """Requests through some connections, DEPTH of them unanswered."""

    def __init__(self, a):
        self.rng = random.Random(a.seed)
        self.clients = h.Clients(Uri(a.uri), a.connections)
        self.depth = a.depth
        self.size = self.clients.handles[0].get_size()
        self.noise = self.rng.randbytes(NOISE)
        self.answered = 0

    def some_bytes(self, length):
        at = self.rng.randrange(len(self.noise) - length)
        return self.noise[at:at + length]

    def command(self, send, done, what):
        def answer(error):
            if error:
                h.fail("%s: error %d" % (what, error))
            self.answered += 1
            done()

        self.clients.command(send, answer)

    def write(self, data, at, done):
        buf = nbd.Buffer.from_bytearray(bytearray(data))
        self.command(lambda c, cb: c.aio_pwrite(buf, at, completion=cb), done,
                     "write of %d bytes at %d" % (len(data), at))

    def read(self, length, at, done):
        buf = nbd.Buffer(length)
        self.command(lambda c, cb: c.aio_pread(buf, at, completion=cb),
                     lambda: done(buf.to_bytearray()),
                     "read of %d bytes at %d" % (length, at))

    def fill(self, issue):
        """Issue as many as the depth allows; then wait for an answer."""
        while self.clients.in_flight < self.depth:
            issue()
        self.poll()

    def poll(self):
        before = self.answered
        end = time.monotonic() + 120
        while self.answered == before and self.clients.in_flight > 0:
            self.clients.poll(0.2)
            if self.clients.broken:
                h.fail("a connection broke")
            if time.monotonic() > end:
                h.fail("%d requests, and no answer within 120 s" %
                       self.clients.in_flight)

    def drain(self):
        while self.clients.in_flight > 0:
            self.poll()

    def close(self):
        self.drain()
        self.clients.close()


# ------------------------------------------------------------------ verify

class Verify(Load):
    """The model: what the array holds, and what is on its way."""

    def __init__(self, a):
        super().__init__(a)
        self.commands, self.times, self.want = a.e, a.times, a.want
        self.busy = []
        self.data = bytearray(self.size)
        self.reads = 0
        self.running, self.nr_done, self.since = None, 0, 0
        self.deadline = 0

    def pick(self):
        """A range that is free.  Half of all go to the first 512 KiB, so that
        requests meet."""
        while True:
            span = 512 << 10 if self.rng.random() < 0.5 else self.size
            length = SECTOR * self.rng.choice([1, 3, 8, 8, 8, 8, 16, 64, 200,
                                               1024])
            at = self.rng.randrange((span - length) // SECTOR + 1) * SECTOR
            if length % BLOCK == 0:
                at -= at % BLOCK
            if all(at + length <= low or high <= at
                   for low, high in self.busy):
                return at, length

    def issue(self):
        at, length = self.pick()
        entry = (at, at + length)
        self.busy.append(entry)
        if self.rng.random() < 0.3:
            self.read(length, at, lambda got: self.seen(entry, got))
            return
        data = self.some_bytes(length)
        self.write(data, at, lambda: self.written(entry, data))

    def written(self, entry, data):
        self.busy.remove(entry)
        self.data[entry[0]:entry[1]] = data

    def seen(self, entry, got):
        self.busy.remove(entry)
        self.reads += 1
        self.compare(entry[0], got)

    def compare(self, at, got):
        want = self.data[at:at + len(got)]
        if got != want:
            k = h.first_difference(got, want)
            h.fail("byte %d of the array is 0x%02x, it must be 0x%02x" %
                   (at + k, got[k], want[k]))

    def look_at_command(self):
        """True when all have run."""
        if self.running is None:
            if self.nr_done == self.times * len(self.commands):
                return True
            self.running = subprocess.Popen(
                self.commands[self.nr_done % len(self.commands)], shell=True,
                stdin=subprocess.DEVNULL)
            self.since = self.answered
            self.deadline = time.monotonic() + 120
        elif self.running.poll() is not None:
            if self.running.returncode != 0:
                h.fail("status %d: %s" % (self.running.returncode,
                                          self.running.args))
            if self.answered >= self.since + self.depth:
                self.running = None
                self.nr_done += 1
        elif time.monotonic() > self.deadline:
            self.running.kill()
            h.fail("it does not end: %s" % self.running.args)
        return False

    def run(self):
        while not self.look_at_command():
            self.fill(self.issue)
        self.drain()
        nr_requests = self.answered
        self.command(lambda c, cb: c.aio_flush(completion=cb), lambda: None,
                     "flush")
        step = 1 << 20
        for at in range(0, self.size, step):
            self.read(min(step, self.size - at), at,
                      lambda got, at=at: self.compare(at, got))
            self.poll()
        self.close()
        with open(self.want, "wb") as f:
            f.write(self.data)
        print("%d requests, %d of them reads, and %d commands" %
              (nr_requests, self.reads, self.nr_done))


def images(a):
    members = [h.Member(name, 0) for name in a.image]
    with open(a.want, "rb") as f:
        h.check_images(members, f.read(), "after the load")


# -------------------------------------------------------------------- fair

class Fair(Load):
    ROW = 4 * 65536  # six members, chunk 64K
    # Each kind has rows of its own, so few that its writes meet; what they
    # share are threads and connections.
    ROWS = {"full": range(0, 3), "part": range(3, 5)}
    MANY, FEW = 400, 20

    def __init__(self, a):
        super().__init__(a)
        self.rounds = a.rounds
        self.in_flight = {"full": 0, "part": 0}
        self.count = {"full": 0, "part": 0}

    def issue(self, kind):
        length, at = self.ROW, self.rng.choice(self.ROWS[kind]) * self.ROW
        if kind == "part":
            length = BLOCK
            at += self.rng.randrange(self.ROW // BLOCK) * BLOCK
        self.in_flight[kind] += 1
        self.write(self.some_bytes(length), at, lambda: self.done(kind))

    def done(self, kind):
        self.in_flight[kind] -= 1
        self.count[kind] += 1

    def run(self):
        for k in range(self.rounds):
            self.count = {"full": 0, "part": 0}
            while max(self.count.values()) < self.MANY:
                for kind in self.in_flight:
                    while self.in_flight[kind] < self.depth:
                        self.issue(kind)
                self.poll()
            print("round %d: %d full rows, %d single blocks" %
                  (k, self.count["full"], self.count["part"]))
            if min(self.count.values()) < self.FEW:
                h.fail("one of them must wait for the other")
        self.close()


# --------------------------------------------------------------- overtaken

class Overtaken(Load):
    def __init__(self, a):
        super().__init__(a)
        self.most, self.left = a.most, a.count
        self.span = min(a.span, self.size)
        self.sent = 0
        self.waiting = []  # numbers of the unanswered, rising
        self.worst = self.sum = 0

    def issue(self):
        self.left -= 1
        number = self.sent
        self.sent += 1
        self.waiting.append(number)
        self.check(self.waiting[0], 0)
        at = self.rng.randrange(self.span // BLOCK) * BLOCK
        self.write(self.some_bytes(BLOCK), at, lambda: self.done(number))

    def check(self, number, place):
        """So many were sent after NUMBER and wait no longer."""
        passed = (self.sent - 1 - number) - (len(self.waiting) - 1 - place)
        self.worst = max(self.worst, passed)
        if passed > self.most:
            h.fail("write %d was overtaken by %d others, allowed %d" %
                   (number, passed, self.most))
        return passed

    def done(self, number):
        place = self.waiting.index(number)
        self.sum += self.check(number, place)
        del self.waiting[place]

    def run(self):
        while self.left > 0:
            while self.left > 0 and self.clients.in_flight < self.depth:
                self.issue()
            self.poll()
        self.close()
        print("%d writes, overtaken by %d at most, %.1f on average" %
              (self.sent, self.worst, self.sum / self.sent))


def main():
    p = argparse.ArgumentParser(description="load for the shell tests")
    p.add_argument("uri")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--connections", type=int, default=2)
    p.add_argument("--depth", type=int, default=32)
    sub = p.add_subparsers(dest="what", required=True)
    v = sub.add_parser("verify")
    v.add_argument("want")
    v.add_argument("-e", action="append", default=[])
    v.add_argument("--times", type=int, default=1)
    f = sub.add_parser("fair")
    f.add_argument("--rounds", type=int, default=5)
    o = sub.add_parser("overtaken")
    o.add_argument("most", type=int)
    o.add_argument("--count", type=int, default=20000)
    o.add_argument("--span", type=int, default=1 << 62)
    if sys.argv[1:2] == ["images"]:
        p = argparse.ArgumentParser()
        p.add_argument("images")
        p.add_argument("want")
        p.add_argument("image", nargs="+")
    a = p.parse_args()
    try:
        if "image" in a:
            images(a)
        else:
            {"verify": Verify, "fair": Fair,
             "overtaken": Overtaken}[a.what](a).run()
    except h.TestFailed as e:
        sys.exit("load.py: %s" % e)


main()
