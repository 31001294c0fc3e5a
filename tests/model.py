#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Model test: random requests against a served array and, in memory, against a
# flat byte array, while members are killed, the server is restarted and
# replacements are recovered.  No byte may differ, ever.
#
#   tests/model.py [--seed N] [--seconds S] [--seeds K]
#
# In the test suite (tests/test-model.sh): two seeds, 30 s each.  By hand, ten
# minutes with ten seeds:
#
#   URAID_BUILD=... URAID_ORACLE=1 tests/model.py --seconds 600 --seeds 10
#
# A seed fixes geometry, parameters, requests and events; the order in which
# requests meet inside is up to the threads.  A failure prints the seed, the
# number of the request and the place; KEEP=1 keeps images and logs.  The
# environment is told in nbdharness.py; URAID_ORACLE=1 asks the kernel at the
# end of each seed.
#
# How the model stays exact: a range under a write is used by no other request
# until that write has been answered, so each byte has one right value.  A
# write that failed because the server was stopped may have happened, or not,
# or in part: its bytes are read after the restart and each must be the old or
# the new one.

import argparse
import os
import random
import sys
import time

import nbd

import nbdharness as h
from nbdharness import fail, trace

KIB = 1024
MIB = 1024 * KIB
SIZES_MOST = 3 * MIB

LAYOUTS = {
    4: [None],
    5: ["left-asymmetric", "right-asymmetric", "left-symmetric",
        "right-symmetric", "parity-first", "parity-last"],
    6: ["left-asymmetric", "right-asymmetric", "left-symmetric",
        "right-symmetric", "parity-first", "parity-last", "ddf-zero-restart",
        "ddf-N-restart", "ddf-N-continue"],
}


class Shape:
    """What the seed makes of an array and of the server's parameters."""

    def __init__(self, rng):
        self.level = rng.choice([6, 6, 6, 6, 6, 6, 5, 5, 4])
        self.n = rng.randint(4, 8)
        self.chunk = rng.choice([4, 16, 64, 64, 512]) * KIB
        self.layout = rng.choice(LAYOUTS[self.level][:6])
        if rng.random() < 0.3:
            self.layout = rng.choice(LAYOUTS[self.level])
        self.metadata = rng.choice(["1.0", "1.1", "1.2", "1.2"])
        self.bitmap = rng.choice(["internal", "none"])
        self.bitmap_chunk = rng.choice(["64K", "1M", "64M"])
        self.min_block = rng.choice([512, 512, 512, 4096])
        data = rng.choice([2, 3, 6]) * MIB
        self.member_size = 2 * MIB + data + rng.randrange(8) * 4096
        # How the first parity comes about: said to be right, or made.
        self.start = rng.choice(["assume-clean", "zero", "noise"])
        self.words = [
            "connections=%d" % rng.choice([1, 1, 2, 4]),
            "sync_window=%d" % rng.choice([1, 2, 8, 64]),
            "safe_mode_delay=%s" % rng.choice(["0.02", "0.2", "1"]),
            "rmw_level=%d" % rng.choice([1, 1, 1, 0, 2]),
            "skip_copy=%d" % rng.choice([1, 1, 0]),
            "bitmap_time_base=1s",
        ]
        if rng.random() < 0.5:
            self.words.append("stripe_cache_size=%d" %
                              rng.choice([17, 17, 64, 300]))
        if rng.random() < 0.5:
            self.words.append("trim=zero")

    def create_words(self, uris):
        words = ["create", "model", "--run", "--level=%d" % self.level,
                 "--raid-devices=%d" % self.n, "--chunk=%dK" %
                 (self.chunk // KIB), "--metadata=" + self.metadata,
                 "--bitmap=" + self.bitmap]
        if self.layout is not None:
            words.append("--layout=" + self.layout)
        if self.bitmap == "internal":
            words.append("--bitmap-chunk=" + self.bitmap_chunk)
        if self.start == "assume-clean":
            words.append("--assume-clean")
        return words + uris

    def parity(self):
        return 2 if self.level == 6 else 1

    def __str__(self):
        return ("level %d, %d members of %d KiB (blocks of %d), chunk %dK, "
                "layout %s, metadata %s, bitmap %s, start %s, %s" %
                (self.level, self.n, self.member_size // KIB, self.min_block,
                 self.chunk // KIB, self.layout, self.metadata,
                 self.bitmap_chunk if self.bitmap == "internal" else "none",
                 self.start, " ".join(self.words)))


class Model:
    """One seed."""

    def __init__(self, seed, seconds):
        self.seed = seed
        self.rng = random.Random(seed)
        self.seconds = seconds
        self.end = 0
        self.shape = Shape(self.rng)
        self.server = h.Server()
        self.members = []    # those that belong to the array, dead or alive
        self.out = []        # known to have lost their slot
        self.nr_made = 0
        self.clients = None
        self.data = None
        self.busy = []       # (start, end, writes) of requests in flight
        self.unsure = []     # (start, bytes) of writes that failed
        self.nr_ops = 0
        self.counts = {}
        self.stopping = False
        self.hot = 0
        self.noise = self.rng.randbytes(4 * MIB)

    # -------------------------------------------------------- requests

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def range_is_free(self, start, end, writes):
        for s, e, w in self.busy:
            if start < e and s < end and (writes or w):
                return False
        return True

    def pick_length(self):
        r = self.rng.random()
        if r < 0.25:
            return self.rng.randint(1, 4096)
        if r < 0.50:
            return 4096 * self.rng.randint(1, 4)
        if r < 0.75:
            return self.rng.randint(1, 64 * KIB)
        row = self.shape.chunk * (self.shape.n - self.shape.parity())
        if r < (0.85 if row < MIB else 0.77):
            # Whole rows and their neighbourhood.
            return max(1, min(SIZES_MOST, row * self.rng.randint(1, 3) +
                              self.rng.choice([0, 0, 0, 512, -1])))
        if r < 0.98:
            return 512 * self.rng.randint(1, 600)
        return self.rng.randint(1, SIZES_MOST)

    def pick_range(self, writes):
        """A free range, near the others; None: everything is in use here."""
        size = len(self.data)
        row = self.shape.chunk * (self.shape.n - self.shape.parity())
        for _ in range(12):
            length = min(self.pick_length(), size)
            r = self.rng.random()
            if r < 0.1:
                start = self.rng.randrange(size)
            elif r < 0.3:
                start = (self.hot // row + self.rng.randint(-1, 1)) * row
            else:
                start = self.hot + self.rng.randint(-2 * row, 2 * row)
                if self.rng.random() < 0.6:
                    start -= start % self.rng.choice([512, 4096, 4096])
            start = max(0, min(start, size - length))
            if self.range_is_free(start, start + length, writes):
                return start, length
        return None

    def issue(self):
        r = self.rng.random()
        if self.nr_ops % 97 == 0:
            self.hot = self.rng.randrange(len(self.data))
        self.nr_ops += 1
        if r < 0.02:
            self.issue_flush()
        elif r < 0.37:
            self.issue_range(False, self.issue_read)
        elif r < 0.87:
            self.issue_range(True, self.issue_write)
        elif r < 0.95 or not self.clients.handles[0].can_trim():
            self.issue_range(True, self.issue_zero)
        else:
            self.issue_range(True, self.issue_trim)

    def issue_range(self, writes, what):
        picked = self.pick_range(writes)
        if picked is None:
            return
        start, length = picked
        entry = (start, start + length, writes)
        self.busy.append(entry)
        what(start, length, entry, self.nr_ops)

    def bad(self, error, what, op, start, length):
        """A request failed.  Only a server that stops may do that."""
        if not self.stopping:
            fail("seed %d, request %d: %s of %d bytes at %d: error %d; %s" %
                 (self.seed, op, what, length, start, error,
                  self.server.last_words()))

    def issue_flush(self):
        op = self.nr_ops

        def done(error):
            if error:
                self.bad(error, "flush", op, 0, 0)

        self.count("flush")
        self.clients.command(lambda c, cb: c.aio_flush(completion=cb), done)

    def compare(self, got, start, what):
        want = self.data[start:start + len(got)]
        if got == want:
            return
        k = h.first_difference(got, want)
        last = len(got) - h.first_difference(got[::-1], want[::-1])
        fail("seed %d, %s: byte %d of the array (byte %d of %d read) is "
             "0x%02x, it must be 0x%02x; all differences are in %d..%d; "
             "chunk %d, row %d; %s" %
             (self.seed, what, start + k, k, len(got), got[k], want[k],
              start + k, start + last - 1, (start + k) // self.shape.chunk,
              (start + k) // (self.shape.chunk *
                              (self.shape.n - self.shape.parity())),
              h.Status(self.members)))

    def issue_read(self, start, length, entry, op):
        buf = nbd.Buffer(length)

        def done(error):
            self.busy.remove(entry)
            if error:
                self.bad(error, "read", op, start, length)
            else:
                self.compare(buf.to_bytearray(), start, "request %d" % op)

        self.count("read")
        self.clients.command(
            lambda c, cb: c.aio_pread(buf, start, completion=cb), done)

    def written(self, error, what, op, start, data, entry):
        self.busy.remove(entry)
        if error:
            self.bad(error, what, op, start, len(data))
            self.unsure.append((start, data))
        else:
            self.data[start:start + len(data)] = data

    def flags(self):
        if self.rng.random() < 0.1:
            self.count("fua")
            return nbd.CMD_FLAG_FUA
        return 0

    def issue_write(self, start, length, entry, op):
        at = self.rng.randrange(len(self.noise) - length)
        data = self.noise[at:at + length]
        buf = nbd.Buffer.from_bytearray(bytearray(data))
        flags = self.flags()
        self.count("write")
        self.clients.command(
            lambda c, cb: c.aio_pwrite(buf, start, completion=cb,
                                       flags=flags),
            lambda error: self.written(error, "write", op, start, data,
                                       entry))

    def issue_zero(self, start, length, entry, op):
        flags = self.flags()
        if self.rng.random() < 0.5:
            flags |= nbd.CMD_FLAG_NO_HOLE
        self.count("zero")
        self.clients.command(
            lambda c, cb: c.aio_zero(length, start, completion=cb,
                                     flags=flags),
            lambda error: self.written(error, "zero", op, start,
                                       bytes(length), entry))

    def issue_trim(self, start, length, entry, op):
        """Each byte is then zero or what it was; look which."""
        flags = self.flags()
        buf = nbd.Buffer(length)

        def trimmed(error):
            if error:
                self.bad(error, "trim", op, start, length)
                self.unsure.append((start, bytes(length)))
                self.busy.remove(entry)
                return
            self.clients.command(
                lambda c, cb: c.aio_pread(buf, start, completion=cb), seen)

        def seen(error):
            self.busy.remove(entry)
            if error:
                self.bad(error, "read after trim", op, start, length)
                self.unsure.append((start, bytes(length)))
                return
            got = buf.to_bytearray()
            self.one_of(got, start, bytes(length), "trim %d" % op)
            self.data[start:start + length] = got

        self.count("trim")
        self.clients.command(
            lambda c, cb: c.aio_trim(length, start, completion=cb,
                                     flags=flags), trimmed)

    def one_of(self, got, start, new, what):
        old = self.data[start:start + len(got)]
        for k in range(0, len(got), 512):
            g, o, n = got[k:k + 512], old[k:k + 512], new[k:k + 512]
            if g in (o, n):
                continue
            for i, byte in enumerate(g):
                if byte not in (o[i], n[i]):
                    fail("seed %d, %s: byte %d of the array is 0x%02x, "
                         "neither old (0x%02x) nor new (0x%02x)" %
                         (self.seed, what, start + k + i, byte, o[i], n[i]))

    def settle_unsure(self):
        """After a restart: what became of writes that were not answered."""
        c = self.server.connect()
        for start, data in self.unsure:
            got = c.pread(len(data), start)
            self.one_of(got, start, data, "a write that failed")
            self.data[start:start + len(data)] = got
        c.shutdown()
        self.unsure = []

    def run_ops(self, nr, seconds):
        """NR requests, at most SECONDS; none need be answered at the end."""
        depth = self.rng.randint(1, 32)
        end = min(self.end, time.monotonic() + seconds)
        while nr > 0 and time.monotonic() < end:
            while nr > 0 and self.clients.in_flight < depth:
                nr -= 1
                self.issue()
                if self.clients.broken:
                    break
            self.clients.poll(0.05)
            if self.clients.broken:
                self.server.check_alive()
                fail("seed %d: a connection broke: %s" %
                     (self.seed, self.server.last_words()))

    def verify_all(self, what):
        got = h.read_all(self.server, len(self.data))
        self.compare(bytearray(got), 0, what)

    # ---------------------------------------------------------- members

    def new_member(self, kind):
        m = h.Member("m%d" % self.nr_made, self.shape.member_size,
                     self.shape.min_block)
        self.nr_made += 1
        m.fill(self.rng, kind)
        m.start()
        return m

    def status(self):
        """What the superblocks say of the members that can be reached."""
        return h.Status([m for m in self.members if m not in self.out])

    def spare_losses(self):
        """How many more members may be lost at this moment."""
        s = self.status()
        if not s.fresh.clean() and self.resyncing:
            return 0
        return self.shape.parity() - s.missing()

    def kill_some(self):
        nr = self.spare_losses()
        if nr < 1:
            return
        alive = [m for m in self.members if m.alive() and
                 m in self.status().slots.values()]
        for m in self.rng.sample(alive, self.rng.randint(1, nr)):
            self.note("kill %s" % m.name)
            self.count("kill")
            m.kill()
            # It is out as soon as anybody notices, and that may be later.
            self.out.append(m)
            if self.rng.random() < 0.5:
                self.run_ops(self.rng.randint(0, 60), 1)

    def note(self, text):
        trace("seed %d, request %d: %s" % (self.seed, self.nr_ops, text))

    # ---------------------------------------------------------- the server

    def start_server(self, spares=()):
        members = [m for m in self.members if m not in self.out or m.alive()]
        words = ["member=" + m.uri for m in members]
        words += ["spare=" + m.uri for m in spares]
        self.rng.shuffle(words)
        if not self.server.start(words + self.shape.words +
                                 ["wait-members=5s"]):
            fail("seed %d: uraid did not start: %s\n%s" %
                 (self.seed, self.server.last_words(),
                  h.Status(self.members)))
        # Whoever is reachable now takes part again.
        self.members += [m for m in spares]
        self.out = [m for m in self.out if not m.alive()]

    def connect(self):
        self.stopping = False
        self.clients = h.Clients(self.server, self.rng.choice([1, 2, 2]))

    def stop_server(self):
        how = self.rng.choice(["idle", "busy", "attached"])
        self.note("stop, clients %s" % how)
        self.count("stop " + how)
        if how == "busy":
            self.stopping = True
            self.server.terminate()
            self.clients.drain(30)
        else:
            self.clients.drain(30, self.server)
        if how == "attached":
            self.stopping = True
            self.server.terminate()
            before = time.monotonic()
            h.wait_for(self.stopped_clean, 10,
                       "a clean array although a client is attached")
            if time.monotonic() - before > 2 and not h.PRELOAD:
                fail("seed %d: clean only %.1f s after SIGTERM" %
                     (self.seed, time.monotonic() - before))
        self.clients.close()
        if how == "idle":
            self.server.terminate()
        self.server.wait_end()
        if self.busy:
            fail("seed %d: %d requests without an answer" %
                 (self.seed, len(self.busy)))
        s = self.status()
        if not s.even or (not s.fresh.clean() and not self.resyncing):
            fail("seed %d: not clean after an orderly stop: %s" %
                 (self.seed, s))

    def stopped_clean(self):
        s = self.status()
        return s.even and (s.fresh.clean() or self.resyncing)

    def bring_back(self, all_of_them):
        """Servers of lost members return, or blank ones replace them."""
        spares = []
        for m in list(self.out):
            if not all_of_them and self.rng.random() < 0.3:
                continue
            if self.rng.random() < 0.5:
                self.note("%s returns" % m.name)
                self.count("return")
                m.start()
            else:
                spares.append(self.new_member("noise"))
                self.count("spare")
                self.note("%s is replaced by %s" % (m.name, spares[-1].name))
                self.members.remove(m)
                self.out.remove(m)
        return spares

    def restart(self, all_of_them=False):
        self.stop_server()
        self.start_server(self.bring_back(all_of_them))
        self.settle_unsure()
        if self.rng.random() < 0.5:
            self.verify_all("after restart, request %d" % self.nr_ops)
        self.connect()

    # ------------------------------------------------------------- the run

    def whole(self):
        self.server.check_alive()
        return self.status().whole()

    def wait_whole(self):
        try:
            h.wait_for(self.whole, 60, "recovery and clean")
        except h.TestFailed as e:
            fail("seed %d: %s: %s" % (self.seed, e, self.status()))
        self.resyncing = False

    def setup(self):
        kind = "noise" if self.shape.start == "noise" else "zero"
        self.members = [self.new_member(kind) for _ in range(self.shape.n)]
        h.run_tool(*self.shape.create_words([m.uri for m in self.members]))
        # Until the first parity is made nothing may be lost.
        self.resyncing = self.shape.start != "assume-clean"
        self.start_server()
        status = h.Status(self.members)
        self.data = bytearray(h.Array(status).size)
        c = self.server.connect()
        size = c.get_size()
        c.shutdown()
        if size != len(self.data):
            fail("seed %d: size %d, it must be %d" % (self.seed, size,
                                                      len(self.data)))
        self.data = bytearray(h.read_all(self.server, size))
        if kind == "zero" and any(self.data):
            fail("seed %d: zero members, other data" % self.seed)
        self.connect()

    def event(self):
        r = self.rng.random()
        if self.resyncing and r < 0.5:
            # While requests come the superblocks do not tell.
            self.clients.drain(30, self.server)
            self.wait_whole()
        elif r < 0.50:
            self.kill_some()
        elif r < 0.85:
            self.restart()
        elif r < 0.92:
            # Time to finish a recovery and to become clean.
            self.clients.drain(30, self.server)
            time.sleep(self.rng.random())
        # else: more requests

    def finish(self):
        self.clients.drain(30, self.server)
        self.note("compare all")
        self.verify_all("at the end")
        self.restart(all_of_them=True)
        self.note("wait for recovery")
        self.wait_whole()
        self.note("compare all")
        self.verify_all("after the last recovery")
        self.stop_server()
        if self.unsure:
            fail("seed %d: requests failed at the end" % self.seed)
        self.note("check the images")
        h.check_images([m for m in self.members if m not in self.out],
                       self.data, "seed %d" % self.seed)
        if os.environ.get("URAID_ORACLE"):
            h.kernel_check(self.members, "seed %d" % self.seed)
            self.count("kernel check")

    def run(self):
        print("seed %d: %s" % (self.seed, self.shape), flush=True)
        self.note("setup")
        self.setup()
        self.note("created and read")
        self.end = time.monotonic() + self.seconds
        while time.monotonic() < self.end:
            self.run_ops(self.rng.choice([10, 50, 50, 200, 600]), 3)
            self.event()
        self.finish()
        for m in self.members:
            m.kill()
            os.unlink(m.image)
        print("seed %d: good: %d requests, %s" %
              (self.seed, self.nr_ops,
               ", ".join("%s %d" % (k, v)
                         for k, v in sorted(self.counts.items()))),
              flush=True)


def main():
    p = argparse.ArgumentParser(description="model test")
    p.add_argument("--seed", type=int, default=None,
                   help="the first seed (default: by the clock)")
    p.add_argument("--seeds", type=int, default=1, help="how many seeds")
    p.add_argument("--seconds", type=float, default=60,
                   help="time for all seeds together")
    a = p.parse_args()
    first = a.seed if a.seed is not None else int(time.time() * 1000) % 10**9

    def work():
        for k in range(a.seeds):
            Model(first + k, a.seconds / a.seeds).run()

    return h.run_main(work, "model")


if __name__ == "__main__":
    sys.exit(main())
