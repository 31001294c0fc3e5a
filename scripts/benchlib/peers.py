# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""What is measured: the array, and what it is compared with.

  uraid    the array (of a d workload: with member 1 missing)
  healthy  of a d workload: the array with all members
  other    the array with the parameters of --compare
  pass     "nbdkit nbd" in front of one member: the price of one more hop
  raw      the members driven directly and together, with the mix of reads and
           writes that the workload would cause at them
  btrfs    btrfs raid6 on loop devices, see btrfs.py

Each array has members of its own, as raw and pass write over theirs.  A peer
is started when it is first wanted and ends with its Stage.
"""
import shlex
import sys

from . import Fail, model
from .btrfs import Btrfs
from .fio import Job
from .proc import Server, run

LOST_SLOT = 1
RAW_DEPTH = 16


class Setting:
    """What all regimes need to know: options, folder, fio, shape."""

    def __init__(self, opt, folder, fio, shape, jobs):
        self.opt, self.folder, self.fio = opt, folder, fio
        self.shape, self.jobs = shape, jobs
        self.plugin = opt.build + "/plugin/.libs/nbdkit-uraid-plugin.so"
        self.uraid = opt.build + "/tools/uraid"
        self.peers = set(opt.peers)
        # What comes out: dicts for JSON, report.Goal; peer -> why it is not.
        self.rows, self.goals, self.skipped = [], [], {}
        self.libaio = True

    @staticmethod
    def progress(text):
        """Say what is being done, when somebody looks."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K%s\r" % text)
            sys.stderr.flush()

    def server(self, stack, name, *args, preload=None):
        s = Server(self.folder, name, args, preload)
        stack.callback(s.stop)
        return s


class Members:
    """Servers of members; args go before ("-...") or after "memory"."""

    def __init__(self, setting, stack, tag, n, size_bytes, args=(),
                 threads=None):
        before = [a for a in args if a.startswith("-")]
        after = [a for a in args if not a.startswith("-")]
        self.servers = [
            setting.server(
                stack, "%s%d" % (tag, i), "-t",
                str(threads or setting.opt.threads), *before, "memory",
                str(size_bytes), *(a.replace("%i", str(i)) for a in after))
            for i in range(n)]

    def uris(self):
        return [s.uri() for s in self.servers]

    def stop(self):
        for s in self.servers:
            s.stop()


class Array:
    """An array of these members, served; with lost, slot 1 is missing."""

    def __init__(self, setting, stack, tag, members, params, lost=False,
                 threads=None):
        self.setting, self.stack = setting, stack
        self.tag, self.lost, self.server = tag, lost, None
        self.members = members
        run([setting.uraid, "create", "bench", "--level=6",
             "--raid-devices=%d" % len(members.servers),
             "--chunk=%dK" % (setting.shape.chunk_bytes >> 10),
             "--assume-clean", "--bitmap=none", *members.uris()], "create")
        if lost:
            members.servers[LOST_SLOT].stop()
        self.serve(params, threads)

    def serve(self, params, threads=None):
        """Serve it, anew if it is served."""
        if self.server is not None:
            self.server.stop()
        uris = self.members.uris()
        if self.lost:
            uris[LOST_SLOT] = "missing"
        opt = self.setting.opt
        self.server = self.setting.server(
            self.stack, self.tag + "u", "-t", str(threads or opt.threads),
            self.setting.plugin, *("member=" + u for u in uris), *params,
            preload=opt.preload)

    def uri(self):
        return self.server.uri()

    def servers(self):
        alive = [s for i, s in enumerate(self.members.servers)
                 if not (self.lost and i == LOST_SLOT)]
        return [self.server, *alive]


def checked(servers, figures):
    """A figure is none if a server ended meanwhile."""
    for s in servers:
        s.check()
    return figures


class UriPeer:
    """Anything at one NBD URI."""

    def __init__(self, setting, name, servers, uri):
        self.setting, self.name = setting, name
        self.servers, self.uri = servers, uri

    def measure(self, job, times):
        return checked(self.servers, self.setting.fio.section(
            job, self.uri, times, [s.pid() for s in self.servers]))


class RawPeer:
    """Members driven together: one fio job each, as in the model."""

    name = "raw"

    def __init__(self, setting, servers):
        self.setting, self.servers = setting, servers

    def job(self, job):
        """What one member gets when the array gets this job."""
        cost = model.cost(job, self.setting.shape)
        keys = {"iodepth": str(RAW_DEPTH), "bs": str(job.block_bytes)}
        if cost.streams:
            keys["bs"] = str(self.setting.shape.chunk_bytes)
            keys["rw"] = "read" if job.read_share else "write"
        elif cost.read_percent() in (0, 100):
            keys["rw"] = "randread" if cost.read_percent() else "randwrite"
        else:
            keys["rw"] = "randrw"
            keys["rwmixread"] = str(cost.read_percent())
        return Job(job.name, keys)

    def measure(self, job, times):
        servers = self.servers[:model.cost(job, self.setting.shape).members]
        targets = [["--ioengine=nbd", "--uri=" + s.uri()] for s in servers]
        return checked(servers, self.setting.fio.keys(
            self.job(job), targets, times, [s.pid() for s in servers]))


class FilePeer:
    """A file, for fio alone; the kernel's share of the CPU is not seen."""

    name = "btrfs"

    def __init__(self, setting, path):
        self.setting, self.path = setting, path

    def measure(self, job, times):
        target = ["--ioengine=libaio", "--direct=1", "--filename=" + self.path]
        r = self.setting.fio.keys(job, [target], times, [])
        r["cpu_us"] = r["switches"] = None
        return r


class Stage:
    """The peers of one regime, made when first asked for."""

    def __init__(self, setting, stack, tag, member_args=(), fill=False):
        self.setting, self.stack, self.tag = setting, stack, tag
        self.member_args, self.fill = member_args, fill
        self.made = {}

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def members(self, what):
        return Members(self.setting, self.stack, self.tag + what,
                       self.setting.shape.n, self.setting.opt.size_bytes,
                       self.member_args)

    def array(self, name, lost, more=()):
        what = name[0] + ("d" if lost else "")

        def make():
            a = Array(self.setting, self.stack, self.tag + what,
                      self.members(what), [*self.setting.opt.param, *more],
                      lost)
            if self.fill:
                self.setting.fio.fill([a.uri()])
            return a
        a = self.once(what, make)
        return UriPeer(self.setting, name, a.servers(), a.uri())

    def raw(self):
        def make():
            m = self.members("r")
            if self.fill:
                self.setting.fio.fill(m.uris())
            return RawPeer(self.setting, m.servers)
        return self.once("raw", make)

    def passed(self):
        def make():
            m = self.raw().servers[0]
            s = self.setting.server(
                self.stack, self.tag + "p", "-t",
                str(self.setting.opt.threads), "nbd", "socket=" + m.sock)
            return UriPeer(self.setting, "pass", [s, m], s.uri())
        return self.once("pass", make)

    def btrfs(self, lost):
        """None if it cannot be made; said and noted once."""
        def make():
            b = Btrfs(self.setting, lost)
            self.stack.callback(b.remove)
            try:
                b.make()
            except Fail as e:
                print("btrfs: skipped: %s" % e)
                self.setting.skipped["btrfs"] = str(e)
                return None
            return FilePeer(self.setting, b.file)
        return self.once("btrfs-%s" % lost, make)

    def peers_for(self, job):
        """All that shall do this job."""
        want, opt = self.setting.peers, self.setting.opt
        peers = [self.array("uraid", job.degraded)]
        if job.degraded and self.fill:
            healthy = self.array("uraid", False)
            healthy.name = "healthy"
            peers.append(healthy)
        if opt.compare:
            peers.append(self.array("other", job.degraded,
                                    shlex.split(opt.compare)))
        if not self.fill:
            return peers
        if "pass" in want and not job.degraded:
            peers.append(self.passed())
        if "raw" in want and model.cost(job, self.setting.shape):
            peers.append(self.raw())
        if "btrfs" in want:
            peers.append(self.btrfs(job.degraded))
        return [p for p in peers if p]
