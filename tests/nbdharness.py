# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# What tests/model.py and tests/crash.py share: members (nbdkit's file plugin on
# Unix sockets), the served array, superblocks read straight from the images,
# a parity checker of its own, clients, and the kernel guest.
#
# Nothing here comes from lib/: placement, powers of the generator and the
# superblock are written again from the md format, so that an error in one of
# the two is found by the other.
#
# Environment, all set by tests/functions.sh and tests/config.sh:
#   URAID_PLUGIN   the plugin (default: that of $URAID_BUILD)
#   URAID_TOOL     the command "uraid" (default: that of $URAID_BUILD)
#   URAID_PRELOAD  library to load before nbdkit: a sanitizer's
#   NBDKIT         nbdkit
#   KEEP=1         keep the files;  VERBOSE=1: nbdkit -v;  TRACE=1: tell more
#
# One thread.  Processes are ended by their own id only.

import atexit
import hashlib
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import nbd

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("URAID_BUILD", os.path.dirname(HERE))
PLUGIN = os.environ.get("URAID_PLUGIN",
                        BUILD + "/plugin/.libs/nbdkit-uraid-plugin.so")
TOOL = os.environ.get("URAID_TOOL", BUILD + "/tools/uraid")
NBDKIT = os.environ.get("NBDKIT", "nbdkit")
PRELOAD = os.environ.get("URAID_PRELOAD", "")
TRACE = bool(os.environ.get("TRACE"))

SECTOR = 512
SB_MAX = (1 << 64) - 1
ROLE_FAULTY = 0xfffe
ROLE_SPARE = 0xffff
FEATURE_RECOVERY = 0x2


class TestFailed(Exception):
    """The test has found something."""


def fail(text):
    raise TestFailed(text)


def trace(text):
    if TRACE:
        print("%8.3f %s" % (time.monotonic() % 10000, text), flush=True)


def wait_for(condition, seconds, what):
    """Poll until condition() is true; return its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            fail("waited %g s in vain for: %s" % (seconds, what))
        time.sleep(0.02)


# ------------------------------------------------------------- processes

running = set()


def kill_running():
    for p in list(running):
        p.kill()


atexit.register(kill_running)


class Process:
    """A child that is ended by its id; output goes to NAME.log."""

    def __init__(self, argv, name, env=None):
        self.name = name
        self.preloaded = env is not None and "LD_PRELOAD" in env
        self.lonely = None
        self.exit_guess = 1  # until it serves
        with open(name + ".log", "ab") as log:
            log.write(("----- %s\n" % " ".join(argv)).encode())
            log.flush()
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log, env=env)
        running.add(self)

    def stuck_in_exit(self):
        """Once preloaded, the sanitizer's library upsets libc's lock of the
        locale, and a nbdkit that has printed an errno's text waits for ever
        in a destructor of libp11-kit: alone, after all of our code."""
        try:
            with open("/proc/%d/task/%d/wchan" %
                      (self.popen.pid, self.popen.pid)) as f:
                waits = f.read()
            threads = os.listdir("/proc/%d/task" % self.popen.pid)
        except OSError:
            return False
        return len(threads) == 1 and waits.startswith("futex")

    def status(self):
        """Exit status, None while it runs."""
        r = self.popen.poll()
        if r is None and self.preloaded and self.stuck_in_exit():
            self.lonely = self.lonely or time.monotonic()
            if time.monotonic() - self.lonely > 3:
                self.popen.kill()
                self.popen.wait()
                running.discard(self)
                self.popen.returncode = self.exit_guess
                return self.exit_guess
        else:
            self.lonely = None
        if r is not None:
            running.discard(self)
        return r

    def signal(self, number):
        if self.status() is None:
            self.popen.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait()
        running.discard(self)

    def wait(self, seconds, what):
        try:
            wait_for(lambda: self.status() is not None, seconds,
                     "the end of %s (%s)" % (self.name, what))
        except TestFailed:
            self.print_stacks()
            raise
        return self.status()

    def print_stacks(self):
        """What its threads wait for, if gdb is installed."""
        if shutil.which("gdb") is None:
            return
        r = subprocess.run(["gdb", "-p", str(self.popen.pid), "-batch", "-ex",
                            "thread apply all bt"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False)
        print("----- threads of %s:\n%s" %
              (self.name, r.stdout.decode(errors="replace")), flush=True)


def start_nbdkit(argv, name, seconds=60, env=None):
    """Start nbdkit; return when it listens, or None when it has refused."""
    pidfile = name + ".pid"
    if os.path.exists(pidfile):
        os.unlink(pidfile)
    extra = ["-v"] if os.environ.get("VERBOSE") else []
    p = Process([NBDKIT, "-f", "--exit-with-parent", "-P", pidfile] + extra +
                argv, name, env)
    wait_for(lambda: p.status() is not None or
             (os.path.exists(pidfile) and os.path.getsize(pidfile) > 0),
             seconds, name + " to listen")
    if p.status() is None:
        p.exit_guess = 0
        return p
    # 1 is a refusal; anything else, and a signal above all, is an error.
    if p.status() != 1:
        fail("%s ended with status %d at its start, see %s.log" %
             (name, p.status(), name))
    return None


class Member:
    """An image and, while it runs, its server."""

    def __init__(self, name, size, min_block=512):
        self.name, self.size, self.min_block = name, size, min_block
        self.image = os.path.abspath(name)
        self.sock = os.path.abspath(name + ".sock")
        self.uri = "nbd+unix:///?socket=" + self.sock
        self.process = None

    def fill(self, rng, kind):
        """zero: sparse; noise: bytes that must never be seen again."""
        if os.path.exists(self.image):
            os.unlink(self.image)
        with open(self.image, "wb") as f:
            f.truncate(self.size)
            if kind == "noise":
                # No signature of anything, and wrong as parity.
                piece = bytes(rng.randrange(0x80, 0xc0) for _ in range(4093))
                f.write((piece * (self.size // 4093 + 1))[:self.size])

    def start(self):
        if os.path.exists(self.sock):
            os.unlink(self.sock)
        filters = []
        words = []
        if self.min_block > 512:
            filters = ["--filter=blocksize-policy"]
            words = ["blocksize-minimum=%d" % self.min_block,
                     "blocksize-preferred=%d" % self.min_block,
                     "blocksize-maximum=32M",
                     "blocksize-error-policy=error"]
        self.process = start_nbdkit(["-U", self.sock] + filters +
                                    ["file", self.image] + words, self.name)
        if self.process is None:
            fail("member %s did not start, see %s.log" % (self.name,
                                                          self.name))

    def alive(self):
        return self.process is not None and self.process.status() is None

    def revive(self):
        """nbdkit 1.32 aborts in raw_send_socket when its client dies while it
        answers a read (fixed later): start it again, as a supervisor would.
        True if that was needed."""
        if self.process is None or self.process.status() != -6:
            return False
        with open(self.name + ".log", errors="replace") as f:
            if "raw_send_socket" not in "".join(f.readlines()[-5:]):
                return False
        trace("%s: revived" % self.name)
        self.start()
        return True

    def check_alive(self):
        """A member that was started must not have ended by itself."""
        if self.revive():
            return
        if self.process is not None and self.process.status() is not None:
            fail("member %s has ended by itself, status %d" %
                 (self.name, self.process.status()))

    def kill(self):
        if self.process is not None:
            self.check_alive()
            self.process.kill()
        self.process = None


class Server:
    """nbdkit uraid."""

    def __init__(self, name="uraid"):
        self.name = name
        self.sock = os.path.abspath(name + ".sock")
        self.process = None

    def start(self, words, seconds=90):
        """True when it serves, False when it has refused."""
        if os.path.exists(self.sock):
            os.unlink(self.sock)
        env = dict(os.environ)
        if PRELOAD:
            env["LD_PRELOAD"] = PRELOAD
            env["ASAN_OPTIONS"] = (env.get("ASAN_OPTIONS", "") +
                                   ":detect_leaks=0")
        self.process = start_nbdkit(["-U", self.sock, "-t", "32", PLUGIN] +
                                    words, self.name, seconds, env)
        return self.process is not None

    def last_words(self, nr=6):
        """The end of what this run has said."""
        with open(self.name + ".log", errors="replace") as f:
            lines = f.readlines()
        starts = [i for i, line in enumerate(lines)
                  if line.startswith("----- ")]
        return "".join(lines[starts[-1] + 1:][-nr:]).strip() or "(no words)"

    def connect(self):
        h = nbd.NBD()
        # Exactly what was asked for goes out, also what is not aligned.
        h.set_strict_mode(h.get_strict_mode() & ~nbd.STRICT_ALIGN)
        h.connect_unix(self.sock)
        return h

    def terminate(self):
        self.process.signal(signal.SIGTERM)

    def wait_end(self, seconds=40):
        status = self.process.wait(seconds, "SIGTERM was sent")
        self.process = None
        if status != 0:
            fail("uraid ended with status %d: %s" % (status,
                                                     self.last_words()))

    def kill(self):
        if self.process is not None:
            self.process.kill()
        self.process = None

    def check_alive(self):
        if self.process is None or self.process.status() is not None:
            status = None if self.process is None else self.process.status()
            fail("uraid has ended by itself, status %s: %s" %
                 (status, self.last_words(30)))


def run_tool(*words):
    r = subprocess.run([TOOL] + list(words), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       check=False)
    if r.returncode != 0:
        fail("uraid %s: status %d: %s" % (" ".join(words), r.returncode,
                                          r.stdout.decode(errors="replace")))
    return r.stdout.decode(errors="replace")


# ------------------------------------------------------------ superblocks

class Superblock:
    """A version-1 superblock as it lies in an image."""

    def __init__(self, raw, minor, where):
        (self.feature_map,) = struct.unpack_from("<I", raw, 8)
        self.uuid = raw[16:32]
        (self.level, self.layout, self.size, chunk,
         self.raid_disks) = struct.unpack_from("<iIQII", raw, 72)
        self.chunk = chunk * SECTOR
        (self.data_offset, self.data_size, self.super_offset,
         recovery, self.dev_number) = struct.unpack_from("<QQQQI", raw, 128)
        (self.utime, self.events, self.resync_offset, self.csum,
         max_dev) = struct.unpack_from("<QQQII", raw, 192)
        self.roles = struct.unpack_from("<%dH" % max_dev, raw, 256)
        self.minor, self.where = minor, where
        self.role = (self.roles[self.dev_number]
                     if self.dev_number < max_dev else ROLE_SPARE)
        self.recovery_offset = (recovery if self.feature_map &
                                FEATURE_RECOVERY else None)

    def clean(self):
        return self.resync_offset == SB_MAX


def checksum(raw):
    (max_dev,) = struct.unpack_from("<I", raw, 220)
    size = 256 + 2 * max_dev
    data = raw[:216] + b"\0\0\0\0" + raw[220:size]
    total = sum(struct.unpack_from("<%dI" % (size // 4), data))
    if size & 2:
        total += struct.unpack_from("<H", data, size - 2)[0]
    return ((total & 0xffffffff) + (total >> 32)) & 0xffffffff


def superblock(image):
    """The superblock of an image, None when there is none (or half of one:
    it may be written at this moment)."""
    size = os.path.getsize(image) // SECTOR
    with open(image, "rb") as f:
        for minor, at in ((0, (size - 16) & ~7), (1, 0), (2, 8)):
            f.seek(at * SECTOR)
            raw = f.read(4096)
            if len(raw) < 512 or raw[:8] != b"\xfc\x4e\x2b\xa9\1\0\0\0":
                continue
            (max_dev,) = struct.unpack_from("<I", raw, 220)
            (where,) = struct.unpack_from("<Q", raw, 144)
            (csum,) = struct.unpack_from("<I", raw, 216)
            if max_dev > 1920 or where != at or checksum(raw) != csum:
                continue
            return Superblock(raw, minor, at)
    return None


class Status:
    """What the superblocks of some images say together."""

    def __init__(self, members):
        self.sb = {m: s for m in members
                   for s in [superblock(m.image)] if s is not None}
        if not self.sb:
            fail("no superblock on any of: " +
                 " ".join(m.name for m in members))
        self.fresh = max(self.sb.values(), key=lambda s: s.events)
        self.slots = {}      # slot -> member that is in it, however complete
        self.recovering = {} # slot -> member, sectors done
        for m, s in self.sb.items():
            if s.events + 1 < self.fresh.events:
                continue
            if s.dev_number >= len(self.fresh.roles):
                continue
            role = self.fresh.roles[s.dev_number]
            if role >= self.fresh.raid_disks:
                continue
            self.slots[role] = m
            if s.recovery_offset is not None:
                self.recovering[role] = (m, s.recovery_offset)
        self.even = len({s.events for m, s in self.sb.items()
                         if m in self.slots.values()}) == 1

    def clean(self):
        return self.fresh.clean() and self.even

    def missing(self):
        return (self.fresh.raid_disks - len(self.slots) +
                len(self.recovering))

    def whole(self):
        return self.clean() and self.missing() == 0

    def __str__(self):
        return "events %d, resync_offset %s, slots %s, recovering %s" % (
            self.fresh.events,
            "none" if self.fresh.clean() else self.fresh.resync_offset,
            " ".join("%d:%s@%d" % (k, m.name, self.sb[m].events)
                     for k, m in sorted(self.slots.items())),
            " ".join("%d:%s<%d" % (k, m.name, at)
                     for k, (m, at) in sorted(self.recovering.items())) or "-")


# -------------------------------------------------------------- placement

def placement(level, layout, n, s):
    """Of row s: (slot of P, slot of Q or None, slots of data in order)."""
    if level == 4:
        return n - 1, None, list(range(n - 1))
    if level == 5:
        p = {0: n - 1 - s % n, 1: s % n, 2: n - 1 - s % n, 3: s % n, 4: 0,
             5: n - 1}[layout]
        if layout in (2, 3):
            return p, None, [(p + 1 + i) % n for i in range(n - 1)]
        return p, None, [d for d in range(n) if d != p]
    if layout in (16, 17, 18, 19, 20):
        m = n - 2
        p = {16: m - s % (n - 1), 17: s % (n - 1), 18: m - s % (n - 1),
             19: s % (n - 1), 20: 0}[layout]
        if layout in (18, 19):
            return p, n - 1, [(p + 1 + i) % (n - 1) for i in range(m)]
        return p, n - 1, [d for d in range(n - 1) if d != p]
    if layout == 4:
        return 0, 1, list(range(2, n))
    if layout == 5:
        return n - 2, n - 1, list(range(n - 2))
    p = {0: n - 1 - s % n, 1: s % n, 2: n - 1 - s % n, 3: s % n, 8: s % n,
         9: n - 1 - (s + 1) % n, 10: n - 1 - s % n}[layout]
    if layout == 10:
        return p, (p - 1) % n, [(p + 1 + i) % n for i in range(n - 2)]
    q = (p + 1) % n
    if layout in (2, 3):
        return p, q, [(p + 2 + i) % n for i in range(n - 2)]
    return p, q, [d for d in range(n) if d not in (p, q)]


def syndrome_order(layout, n, p, q):
    """Slot of each power of the generator, None where nothing is."""
    if layout in (8, 9, 10):
        return [d if d not in (p, q) else None for d in range(n)]
    return [(q + 1 + i) % n for i in range(n)
            if (q + 1 + i) % n not in (p, q)]


def times_two(value, length):
    """Each byte of a big number times the generator."""
    ones = int.from_bytes(b"\1" * length, "big")
    top = (value >> 7) & ones
    return ((value & (ones * 0x7f)) << 1) ^ (top * 0x1d)


class Array:
    """Geometry of an array and the images in its slots, read directly."""

    def __init__(self, status):
        self.status = status
        s = status.fresh
        self.level, self.layout, self.n = s.level, s.layout, s.raid_disks
        self.chunk = s.chunk
        self.data_disks = self.n - (2 if self.level == 6 else 1)
        self.rows = s.size * SECTOR // self.chunk
        self.size = self.rows * self.chunk * self.data_disks
        self.files = {}

    def read_chunk(self, slot, row):
        m = self.status.slots[slot]
        if slot not in self.files:
            self.files[slot] = open(m.image, "rb", buffering=0)
        data = os.pread(self.files[slot].fileno(), self.chunk,
                        self.status.sb[m].data_offset * SECTOR +
                        row * self.chunk)
        if len(data) != self.chunk:
            fail("%s: short read in row %d" % (m.name, row))
        return data

    def close(self):
        for f in self.files.values():
            f.close()
        self.files = {}

    def check(self, want=None):
        """Verify parity of all rows; and that the data is WANT.  All slots
        must be there.  Returns a list of findings."""
        found = []
        zero = bytes(self.chunk)
        for row in range(self.rows):
            p, q, data = placement(self.level, self.layout, self.n, row)
            got = {d: self.read_chunk(d, row) for d in range(self.n)}
            if any(got[d] != zero for d in range(self.n)):
                self.check_row(found, row, p, q, data, got)
            if want is not None:
                at = row * self.data_disks * self.chunk
                for i, d in enumerate(data):
                    here = want[at + i * self.chunk:
                                at + (i + 1) * self.chunk]
                    if got[d] != here:
                        k = first_difference(got[d], here)
                        found.append(
                            "data of row %d: slot %d (%s), array offset %d" %
                            (row, d, self.status.slots[d].name,
                             at + i * self.chunk + k))
            if len(found) > 20:
                found.append("...")
                break
        self.close()
        return found

    def check_row(self, found, row, p, q, data, got):
        number = {d: int.from_bytes(got[d], "big") for d in data}
        xor = 0
        for d in data:
            xor ^= number[d]
        xor = xor.to_bytes(self.chunk, "big")
        if xor != got[p]:
            self.report(found, row, "P", p, xor, got[p])
        if q is None:
            return
        syndrome = 0
        for d in reversed(syndrome_order(self.layout, self.n, p, q)):
            syndrome = times_two(syndrome, self.chunk)
            if d is not None:
                syndrome ^= number[d]
        syndrome = syndrome.to_bytes(self.chunk, "big")
        if syndrome != got[q]:
            self.report(found, row, "Q", q, syndrome, got[q])

    def report(self, found, row, what, slot, want, got):
        bad = [k for k in range(0, self.chunk, 4096)
               if want[k:k + 4096] != got[k:k + 4096]]
        found.append("%s of row %d: slot %d (%s), %d of %d stripes, first at "
                     "member offset %d" %
                     (what, row, slot, self.status.slots[slot].name, len(bad),
                      self.chunk // 4096, row * self.chunk + bad[0]))

    def stripe_of(self, offset):
        """The 4 KiB stripe (its number on the members) of an array offset."""
        row = offset // (self.chunk * self.data_disks)
        return (row * self.chunk + offset % self.chunk) // 4096


def first_difference(a, b):
    low, high = 0, min(len(a), len(b))
    while low < high:
        mid = (low + high) // 2
        if a[low:mid + 1] != b[low:mid + 1]:
            high = mid
        else:
            low = mid + 1
    return low


def check_images(members, want, what):
    """Parity (and data) of a whole and clean array; raises on a finding."""
    status = Status(members)
    if not status.whole():
        fail("%s: the array is not whole and clean: %s" % (what, status))
    found = Array(status).check(want)
    if found:
        fail("%s: the images are wrong:\n  %s" % (what, "\n  ".join(found)))


# ------------------------------------------------------- the kernel's word

def has_oracle():
    return all(shutil.which(p, path=os.environ["PATH"] +
                            ":/usr/sbin:/sbin") is not None
               for p in ("linux.uml", "mdadm", "busybox", "cpio"))


def kernel_check(members, what):
    """The kernel assembles copies of the images and finds no mismatch."""
    members = [m for m in members if superblock(m.image) is not None]
    copies = []
    for m in members:
        copies.append(m.image + ".kernel")
        subprocess.run(["cp", "--sparse=always", m.image, copies[-1]],
                       check=True)
    script = ("set -e\nmdadm --assemble --quiet /dev/md0 $(members %d) >&2\n"
              "md-wait\nmd-check\nmdadm --stop --quiet /dev/md0\n" %
              len(copies))
    r = subprocess.run([HERE + "/oracle"] + copies + ["--", "-"],
                       input=script.encode(), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False)
    if r.returncode != 0 or r.stdout.strip() != b"0":
        fail("%s: the kernel says: status %d, mismatch_cnt %s, %s" %
             (what, r.returncode, r.stdout.decode(errors="replace").strip(),
              r.stderr.decode(errors="replace").strip()))
    for c in copies:
        os.unlink(c)


# ---------------------------------------------------------------- clients

class Clients:
    """Connections polled together.  A command calls back with 0 or an
    errno; nothing is called back after close."""

    def __init__(self, server, nr):
        self.handles = [server.connect() for _ in range(nr)]
        self.in_flight = 0
        self.broken = False
        self.turn = 0
        self.answers = []

    def command(self, send, done):
        """send (handle, callback) issues it; done (error) when it ended."""
        state = {}

        def completed(error):
            # Called under the handle's lock, where no command may be sent
            # (and an exception would be lost): note it only.
            state["done"] = True
            self.answers.append((done, error.value))
            return 1

        self.in_flight += 1
        self.turn += 1
        try:
            send(self.handles[self.turn % len(self.handles)], completed)
        except nbd.Error as e:
            self.broken = True
            if not state:
                self.answers.append((done, e.errnum or 5))

    def answer(self):
        while self.answers:
            done, error = self.answers.pop(0)
            self.in_flight -= 1
            done(error)

    def poll(self, seconds):
        p = select.poll()
        by_fd = {}
        for h in self.handles:
            if h.aio_is_dead() or h.aio_is_closed():
                self.broken = True
                continue
            direction = h.aio_get_direction()
            events = 0
            if direction & nbd.AIO_DIRECTION_READ:
                events |= select.POLLIN
            if direction & nbd.AIO_DIRECTION_WRITE:
                events |= select.POLLOUT
            p.register(h.aio_get_fd(), events)
            by_fd[h.aio_get_fd()] = h
        if self.answers:
            seconds = 0
        for fd, events in p.poll(int(seconds * 1000)):
            h = by_fd[fd]
            try:
                direction = h.aio_get_direction()
                if (events & (select.POLLIN | select.POLLHUP) and
                        direction & nbd.AIO_DIRECTION_READ):
                    h.aio_notify_read()
                elif (events & select.POLLOUT and
                      direction & nbd.AIO_DIRECTION_WRITE):
                    h.aio_notify_write()
                elif events & (select.POLLERR | select.POLLNVAL):
                    self.broken = True
                    h.aio_notify_read()
            except nbd.Error:
                self.broken = True
        self.answer()

    def drain(self, seconds, server=None):
        """Until nothing is in flight (all answered, or connections dead)."""
        end = time.monotonic() + seconds
        while self.in_flight > 0:
            self.poll(0.1)
            if all(h.aio_is_dead() or h.aio_is_closed()
                   for h in self.handles):
                self.answer()
                break
            if time.monotonic() > end:
                if server is not None:
                    server.process.print_stacks()
                fail("%d requests were not answered within %g s" %
                     (self.in_flight, seconds))
        if server is not None:
            server.check_alive()

    def close(self):
        for h in self.handles:
            try:
                h.shutdown()
            except nbd.Error:
                pass
        self.handles = []


def read_all(server, size, step=1 << 20):
    """The whole array, with eight requests in flight."""
    clients = Clients(server, 1)
    parts = {}
    errors = []
    todo = list(range(0, size, step))
    todo.reverse()

    def issue(at):
        length = min(step, size - at)
        buf = nbd.Buffer(length)

        def done(error):
            if error:
                errors.append((at, error))
            else:
                parts[at] = buf.to_bytearray()

        clients.command(lambda h, cb: h.aio_pread(buf, at, completion=cb),
                        done)

    while todo or clients.in_flight:
        while todo and clients.in_flight < 8 and not clients.broken:
            issue(todo.pop())
        clients.poll(0.2)
        if clients.broken:
            server.check_alive()
            fail("the connection broke while the array was read")
    clients.close()
    if errors:
        fail("reading the array: errors at %s" % errors[:5])
    return b"".join(parts[at] for at in sorted(parts))


# ------------------------------------------------------------- the frame

def run_main(main, name):
    """main (directory) in a directory of its own; exit status."""
    own = "URAID_TEST_DIR" not in os.environ
    if own:
        work = tempfile.mkdtemp(prefix="uraid-%s." % name, dir="/tmp")
    else:
        work = os.environ["URAID_TEST_DIR"]
    os.chdir(work)
    ok = False
    try:
        main()
        ok = True
    except TestFailed as e:
        print("%s: FAILED: %s" % (name, e), flush=True)
    except (OSError, nbd.Error) as e:
        print("%s: FAILED: %r" % (name, e), flush=True)
        import traceback
        traceback.print_exc()
    kill_running()
    if os.environ.get("KEEP"):
        print("%s: files kept in %s" % (name, work))
    elif own:
        shutil.rmtree(work)
    return 0 if ok else 1


def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()[:16]
