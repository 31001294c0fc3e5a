#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Crash test: kill -9 of the server while it writes; what was acknowledged must
# be there after the next start, and parity right after the resync.
#
#   tests/crash.py [--seed N] [--rounds R] [--kernel-every K]
#
# In the test suite (tests/test-crash.sh): 10 rounds.  By hand 50, the kernel
# being asked every tenth:
#
#   URAID_BUILD=... tests/crash.py --rounds 50 --kernel-every 10
#
# --kernel-every 0 asks the kernel never.  KEEP=1 keeps images and logs; the
# rest of the environment is told in nbdharness.py.  A failure prints the seed;
# the moment of a kill cannot be repeated, so a second run may pass.
#
# Each sector (512 bytes) carries its number and a sequence number that grows
# with each write.  Known of a sector: the last number acknowledged, and the
# numbers of writes in flight.  After a crash it must hold one of these: older
# is a lost write, anything else is damage.  A write reaches up to 2 MiB and
# meets others on a stripe but not on a sector.
#
# Members keep running, so no flush is needed for a write to be safe from the
# death of the server.  What a round may do besides:
#   - kill just after the start, while it becomes clean or dirty, or during
#     the resync that the round before has made necessary;
#   - kill a member's server together with uraid: a dirty start without it is
#     refused and writes nothing; with it, the array starts.  If uraid has
#     lived long enough to record the loss, the array is dirty and degraded:
#     refused, and started by start-dirty-degraded=yes; then all that lay in
#     stripes without a write in flight must be right;
#   - replace a member by a blank one and kill during the recovery.

import argparse
import random
import struct
import sys
import time

import nbd

import nbdharness as h
from nbdharness import fail, trace

KIB = 1024
MIB = 1024 * KIB
SECTOR = 512
WRITE_MOST = 2 * MIB


def content(sector, seq):
    """What a sector holds; zeroes before the first write."""
    if seq == 0:
        return bytes(SECTOR)
    return struct.pack("<QQ", sector, seq) * (SECTOR // 16)


class Crash:
    def __init__(self, seed, rounds, kernel_every):
        self.rng = rng = random.Random(seed)
        self.seed, self.rounds, self.kernel_every = seed, rounds, kernel_every
        self.level = rng.choice([6, 6, 6, 5])
        self.n = rng.randint(4, 7)
        self.chunk = rng.choice([4, 16, 64, 512])
        self.metadata = rng.choice(["1.0", "1.1", "1.2"])
        self.bitmap = rng.choice(["internal", "none"])
        self.min_block = rng.choice([512, 512, 4096])
        self.words = ["safe_mode_delay=%s" % rng.choice(["0.02", "0.05",
                                                         "0.2"]),
                      "sync_window=%d" % rng.choice([1, 8]),
                      "connections=%d" % rng.choice([1, 2]),
                      "wait-members=5s", "bitmap_time_base=1s"]
        if rng.random() < 0.5:
            self.words.append("stripe_cache_size=17")
        self.server = h.Server()
        self.members = []
        self.nr_made = 0
        self.seq = 0
        self.counts = {}
        self.clients = None

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1
        trace(what)

    # ------------------------------------------------------------- members

    def new_member(self, kind):
        m = h.Member("m%d" % self.nr_made, 5 * MIB, self.min_block)
        self.nr_made += 1
        m.fill(self.rng, kind)
        m.start()
        return m

    def setup(self):
        print("seed %d: level %d, %d members, chunk %dK, metadata %s, "
              "bitmap %s, blocks of %d, %s" %
              (self.seed, self.level, self.n, self.chunk, self.metadata,
               self.bitmap, self.min_block, " ".join(self.words)), flush=True)
        self.members = [self.new_member("zero") for _ in range(self.n)]
        words = ["create", "crash", "--run", "--level=%d" % self.level,
                 "--raid-devices=%d" % self.n, "--chunk=%dK" % self.chunk,
                 "--metadata=" + self.metadata, "--bitmap=" + self.bitmap]
        if self.bitmap == "internal":
            words.append("--bitmap-chunk=256K")
        h.run_tool(*words, *[m.uri for m in self.members])
        self.start(self.members)
        self.array = h.Array(h.Status(self.members))
        nr = self.array.size // SECTOR
        self.acked = [0] * nr      # sequence number that must be there
        self.flying = {}           # sector -> numbers that may be there
        self.wait_whole()

    def start(self, members, more=(), must=True):
        words = ["member=" + m.uri for m in members]
        self.rng.shuffle(words)
        for m in members:
            m.revive()
        ok = self.server.start(words + self.words + list(more))
        if not ok and any([m.revive() for m in members]):
            ok = self.server.start(words + self.words + list(more))
        if must and not ok:
            for m in members:
                m.check_alive()
            fail("seed %d: uraid does not start after a crash: %s\n%s" %
                 (self.seed, self.server.last_words(),
                  h.Status(self.members)))
        return ok

    def wait_whole(self):
        def whole():
            self.server.check_alive()
            return h.Status(self.members).whole()

        try:
            h.wait_for(whole, 60, "resync, recovery and clean")
        except h.TestFailed as e:
            fail("seed %d: %s: %s" % (self.seed, e, h.Status(self.members)))

    # ---------------------------------------------------------------- load

    def pick(self, hot):
        """A range of sectors that nobody writes now."""
        nr = len(self.acked)
        for _ in range(10):
            r = self.rng.random()
            if r < 0.4:
                length = 8 * self.rng.randint(1, 4)
            elif r < 0.7:
                length = self.rng.randint(1, 130)
            elif r < 0.97:
                length = self.rng.randint(1, 1000)
            else:
                length = self.rng.randint(1, WRITE_MOST // SECTOR)
            start = max(0, min(nr - length,
                               hot + self.rng.randint(-2000, 2000)))
            if self.rng.random() < 0.5:
                start &= ~7
            if not any(s in self.flying
                       for s in range(start, start + length)):
                return start, length
        return None

    def write(self, hot):
        picked = self.pick(hot)
        if picked is None:
            return
        start, length = picked
        self.seq += 1
        seq = self.seq
        zero = self.rng.random() < 0.05
        for s in range(start, start + length):
            self.flying[s] = 0 if zero else seq

        def done(error):
            if error:
                # What became of it is seen after the restart.
                if self.server.process is not None:
                    self.server.check_alive()
                    fail("seed %d: a write failed with error %d: %s" %
                         (self.seed, error, self.server.last_words()))
                return
            for s in range(start, start + length):
                self.acked[s] = self.flying.pop(s)

        flags = nbd.CMD_FLAG_FUA if self.rng.random() < 0.05 else 0
        if zero:
            self.clients.command(
                lambda c, cb: c.aio_zero(length * SECTOR, start * SECTOR,
                                         completion=cb, flags=flags), done)
            return
        buf = nbd.Buffer.from_bytearray(bytearray(
            b"".join(content(s, seq) for s in range(start, start + length))))
        self.clients.command(
            lambda c, cb: c.aio_pwrite(buf, start * SECTOR, completion=cb,
                                       flags=flags), done)

    def load(self, seconds):
        """Writes for a time; they are in flight at the end."""
        end = time.monotonic() + seconds
        hot = self.rng.randrange(len(self.acked))
        depth = self.rng.randint(1, 24)
        # Pauses let it become clean in between.
        pauses = self.rng.random() < 0.4
        while time.monotonic() < end:
            while (self.clients.in_flight < depth and
                   time.monotonic() < end):
                self.write(hot)
            self.clients.poll(0.01)
            if self.clients.broken:
                self.server.check_alive()
                fail("seed %d: a connection broke" % self.seed)
            if pauses and self.rng.random() < 0.02:
                self.clients.drain(30, self.server)
                time.sleep(self.rng.random() * 0.1)
                hot = self.rng.randrange(len(self.acked))
        # The last ones are on their way and not at their goal.
        for _ in range(self.rng.randint(0, depth)):
            self.write(hot)
        self.clients.poll(0)

    def kill_server(self, first=None):
        """kill -9; answers that are still in the socket do count."""
        if first is not None:
            first.kill()
            time.sleep(self.rng.choice([0, 0, 0.002, 0.02]))
        self.server.kill()
        if self.clients is not None:
            self.clients.drain(10)
            self.clients.close()
            self.clients = None

    # ---------------------------------------------------------------- look

    def verify(self, what, torn=()):
        """Read all.  TORN: stripes that need not be right.  Afterwards the
        content that was found is what must stay."""
        got = h.read_all(self.server, len(self.acked) * SECTOR)
        for s, seq in enumerate(self.acked):
            here = got[s * SECTOR:(s + 1) * SECTOR]
            if s in self.flying:
                if here == content(s, self.flying[s]):
                    self.acked[s] = self.flying[s]
                    continue
            if here == content(s, seq):
                continue
            if self.array.stripe_of(s * SECTOR) in torn:
                self.acked[s] = None
                continue
            self.report(what, s, here)
        self.flying = {}
        self.mend()

    def report(self, what, s, here):
        number, found = struct.unpack_from("<QQ", here)
        if here != content(number, found) and any(here):
            found = "damaged: " + here[:16].hex()
        elif number != s and any(here):
            found = "of sector %d, number %d" % (number, found)
        fail("seed %d, %s: sector %d of the array (offset %d, stripe %d) holds"
             " %s; acknowledged %s, in flight %s; number of the last write %d;"
             " %s" %
             (self.seed, what, s, s * SECTOR,
              self.array.stripe_of(s * SECTOR), found, self.acked[s],
              self.flying.get(s), self.seq, h.Status(self.members)))

    def mend(self):
        """Write what a torn stripe has lost."""
        lost = [s for s, seq in enumerate(self.acked) if seq is None]
        if not lost:
            return
        c = self.server.connect()
        self.seq += 1
        for s in lost:
            c.pwrite(content(s, self.seq), s * SECTOR)
            self.acked[s] = self.seq
        c.shutdown()

    def expected(self):
        return b"".join(content(s, seq) for s, seq in enumerate(self.acked))

    # --------------------------------------------------------------- rounds

    def restart_without(self, lost):
        """Uraid and the server of LOST are gone.  First without it."""
        rest = [m for m in self.members if m is not lost]
        status = h.Status(rest)
        if not status.fresh.clean():
            before = [(m, m.image, h.digest(open(m.image, "rb").read()))
                      for m in rest]
            if self.start(rest, ["wait-members=1s"], must=False):
                self.server.kill()
                fail("seed %d: started dirty and without %s: %s" %
                     (self.seed, lost.name, status))
            if "dirty" not in self.server.last_words().lower() and \
                    "cleanly" not in self.server.last_words():
                fail("seed %d: refused, but not as dirty: %s" %
                     (self.seed, self.server.last_words()))
            for m, image, sha in before:
                if h.digest(open(image, "rb").read()) != sha:
                    fail("seed %d: the refused start wrote to %s" %
                         (self.seed, m.name))
            self.count("refused without a member")
        lost.start()
        self.start_all("restart after losing %s" % lost.name)

    def start_all(self, what):
        """Start with all that there is, by force only if that is needed."""
        status = h.Status(self.members)
        if status.fresh.clean() or status.missing() == 0:
            self.start(self.members)
            self.verify(what)
            return
        if self.start(self.members, must=False):
            self.server.kill()
            fail("seed %d: %s: started dirty and degraded: %s" %
                 (self.seed, what, status))
        self.count("dirty and degraded")
        self.start(self.members, ["start-dirty-degraded=yes"])
        torn = {self.array.stripe_of(s * SECTOR) for s in self.flying}
        self.verify(what + ", by force", torn)

    def replace_member(self):
        """Orderly: one member out, a blank one in."""
        self.wait_whole()
        self.server.terminate()
        self.server.wait_end()
        old = self.rng.choice(self.members)
        old.kill()
        rest = [m for m in self.members if m is not old]
        new = self.new_member("noise")
        self.start(rest, ["spare=" + new.uri])
        self.members = rest + [new]
        self.count("replaced")

    def round(self, number):
        kind = self.rng.choice(["load", "load", "load", "soon", "idle",
                                "member", "replace"])
        self.count("kill: " + kind)
        what = "round %d (%s)" % (number, kind)
        if kind == "replace":
            self.replace_member()
        lost = self.rng.choice(self.members) if kind == "member" else None
        self.clients = h.Clients(self.server, self.rng.choice([1, 2]))
        if kind == "soon":
            self.load(self.rng.random() * 0.05)
        elif kind == "replace":
            self.load(self.rng.random() * 0.3)
        else:
            self.load(self.rng.uniform(0.05, 1.5))
        if kind == "idle":
            # Somewhere on the way to clean.
            self.clients.drain(30, self.server)
            time.sleep(self.rng.random() * 0.25)
        if kind == "member" and h.Status(self.members).missing() == 0:
            if self.rng.random() < 0.5:
                self.kill_server(lost)
            else:
                self.kill_server()
                lost.kill()
            self.restart_without(lost)
        else:
            self.kill_server()
            self.start_all(what)
        if self.rng.random() < 0.3:
            # The next kill comes during the resync.
            self.count("resync cut short")
            return False
        self.wait_whole()
        # The server has nothing to do: what lies there must be right.
        h.check_images(self.members, self.expected(), "seed %d, %s" %
                       (self.seed, what))
        return True

    def ask_kernel(self, what):
        if not self.kernel_every:
            return
        h.kernel_check(self.members, "seed %d, %s" % (self.seed, what))
        self.count("kernel check")

    def run(self):
        self.setup()
        due = 0
        for k in range(1, self.rounds + 1):
            whole = self.round(k)
            due += 1
            if whole and self.kernel_every and due >= self.kernel_every:
                self.ask_kernel("round %d" % k)
                due = 0
        self.wait_whole()
        self.verify("at the end")
        self.wait_whole()
        h.check_images(self.members, self.expected(),
                       "seed %d, at the end" % self.seed)
        self.server.terminate()
        self.server.wait_end()
        self.ask_kernel("at the end")
        print("seed %d: good: %d rounds, %d writes, %s" %
              (self.seed, self.rounds, self.seq,
               ", ".join("%s %d" % (k, v)
                         for k, v in sorted(self.counts.items()))),
              flush=True)
        for m in self.members:
            m.kill()


def main():
    p = argparse.ArgumentParser(description="crash test")
    p.add_argument("--seed", type=int, default=None,
                   help="(default: by the clock)")
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--kernel-every", type=int, default=0,
                   help="ask the kernel every so many rounds and at the end")
    a = p.parse_args()
    seed = a.seed if a.seed is not None else int(time.time() * 1000) % 10**9
    return h.run_main(lambda: Crash(seed, a.rounds, a.kernel_every).run(),
                      "crash")


if __name__ == "__main__":
    sys.exit(main())
