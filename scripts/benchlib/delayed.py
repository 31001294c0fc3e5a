# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Regime C: members that take their time, and the longest stall.

C: every member request takes a millisecond more, as over a network, so that
round trips show.  The unit is the latency of the pass-through in front of one
such member at depth 1, taken in the same rounds: of a 4K read or write, and for
a whole row of a write of a chunk, as that is what each member gets.
"""
import contextlib

from .fio import Job, Times
from .peers import Array, Members, Stage
from .proc import CORES
from .report import Goal, Table, number, ratio
from .rounds import in_turn, limit, median, summary

DELAY = ["--filter=delay", "rdelay=1ms", "wdelay=1ms"]
MEMBER_THREADS = 64
QD1 = {"iodepth": "1", "numjobs": "1"}
STALL_RAMP = 1      # seconds


def jobs_c(shape):
    """What is asked for at depth 1."""
    chunk, row = shape.chunk_bytes, shape.row_bytes
    # The first chunk of every n-th row is in slot 1, the one that is lost:
    # one 4K block of each such chunk, so that no cache helps.
    lost = {"zonemode": "strided", "zonerange": str(chunk), "zonesize": "4k",
            "zoneskip": str(shape.n * row - chunk)}
    return {
        "read": Job("c1-read-4k", {"rw": "randread", "bs": "4k", **QD1}),
        "degraded": Job("c2-read-4k-lost-chunk",
                        {"rw": "read", "bs": "4k", **lost, **QD1}),
        "row": Job("c3-write-row", {"rw": "write", "bs": str(row), **QD1}),
        "write": Job("c4-write-4k-cold",
                     {"rw": "randwrite", "bs": "4k", **QD1}),
        "again": Job("c5-write-4k-again", {"rw": "write", "bs": "4k",
                                           "size": "4k", "io_size": "1g",
                                           **QD1}),
    }


# Key in jobs_c, kind of its unit, must, target.
GOALS_C = [("read", "read", 1.3, 1.15), ("degraded", "read", 1.3, 1.2),
           ("row", "chunk", 1.3, 1.2), ("write", "write", 2.5, 2.1),
           ("again", "write", 1.4, 1.2)]


class KeysPeer:
    """A URI with keys that are not in the file of workloads."""

    def __init__(self, setting, name, servers, uri, job):
        self.setting, self.name, self.job = setting, name, job
        self.servers, self.uri = servers, uri

    def measure(self, times):
        for s in self.servers:
            s.check()
        return self.setting.fio.keys(
            self.job, [["--ioengine=nbd", "--uri=" + self.uri]], times,
            [s.pid() for s in self.servers])


def unit_peers(setting, stack):
    """The pass-through in front of one member."""
    member = Members(setting, stack, "Cq", 1, setting.opt.size_bytes, DELAY,
                     MEMBER_THREADS).servers[0]
    p = setting.server(stack, "Cp", "-t", "64", "nbd", "socket=" + member.sock)
    setting.fio.fill([p.uri()])
    kinds = {"read": ("randread", "4k"), "write": ("randwrite", "4k"),
             "chunk": ("randwrite", str(setting.shape.chunk_bytes))}
    return [KeysPeer(setting, "unit-" + name, [p, member], p.uri(),
                     Job("c0-unit-" + name, {"rw": rw, "bs": bs, **QD1}))
            for name, (rw, bs) in kinds.items()]


def array(setting, stack, tag, lost):
    members = Members(setting, stack, tag, setting.shape.n,
                      setting.opt.size_bytes, DELAY, MEMBER_THREADS)
    a = Array(setting, stack, tag, members, setting.opt.param, lost)
    setting.fio.fill([a.uri()])
    return a


def regime_c(setting):
    """Prints the table; rows and goals go to setting."""
    opt = setting.opt
    times = Times(opt.ramp, opt.seconds)
    print("\nRegime C: members with 1 ms delay each way; depth 1, in units "
          "of the pass-through")
    with contextlib.ExitStack() as stack:
        healthy = array(setting, stack, "C", False)
        lost = array(setting, stack, "Cd", True)
        peers = unit_peers(setting, stack)
        jobs = jobs_c(setting.shape)
        for key, *_ in GOALS_C:
            a = lost if key == "degraded" else healthy
            peers.append(KeysPeer(setting, key, a.servers(), a.uri(),
                                  jobs[key]))

        def measure(peer):
            setting.progress("C " + peer.name)
            return peer.measure(times)
        results = {p.name: r for p, r in
                   zip(peers, in_turn(opt.rounds, peers, measure))}
        table_c(setting, results, jobs)
        threads_c(setting, healthy, times)


def table_c(setting, results, jobs):
    m = {name: median(r) for name, r in results.items()}
    table = Table([("", -30), ("p50 ms", 8), ("mean ms", 8), ("unit ms", 8),
                   ("units", 6), ("CPU us", 7)])
    for key, kind, must, target in GOALS_C:
        unit = m["unit-" + kind]["p50_us"]
        units = m[key]["p50_us"] / unit
        table.row([jobs[key].label(), "%.2f" % (m[key]["p50_us"] / 1000),
                   "%.2f" % (m[key]["mean_us"] / 1000), "%.2f" % (unit / 1000),
                   ratio(units), number(m[key]["cpu_us"])])
        setting.goals.append(Goal("C", jobs[key].label() + ", units", units,
                                  must, target, low=True))
        setting.rows.append({
            "regime": "C", "workload": jobs[key].name, "units": units,
            "peers": {"uraid": summary(results[key]),
                      "pass": summary(results["unit-" + kind])}})


def threads_c(setting, a, times):
    """W1 on one connection: one nbdkit thread against sixteen."""
    job = Job("c6-threads-1-to-16", {"rw": "randwrite", "bs": "4k",
                                     "numjobs": "1", "iodepth": "16"})

    def measure(threads):
        setting.progress("C -t %d" % threads)
        a.serve(setting.opt.param, threads)
        return KeysPeer(setting, "uraid", a.servers(), a.uri(),
                        job).measure(times)
    one, many = in_turn(setting.opt.rounds, [1, 16], measure)
    m1, m16 = median(one), median(many)
    factor = m16["rate"] / m1["rate"]
    print("%s: %s -> %s requests/s, %.1f times (%.1f of %d cores)" % (
        job.label(), number(m1["rate"]), number(m16["rate"]), factor,
        m16["cores"], CORES))
    setting.rows.append({"regime": "C", "workload": job.name,
                         "factor": factor, "peers": {"t1": summary(one),
                                                     "t16": summary(many)}})
    setting.goals.append(Goal("C", "w1, one connection, -t 1 -> -t 16",
                              factor, 8, 12,
                              note=limit(m16, "wait")))


# Name, connections, depth, parameters.
STALLS = [("1 x 64", 1, 64, []),
          ("16 x 64", 16, 64, ["group_thread_cnt=8",
                               "stripe_cache_size=32768"])]


def stall(setting):
    """The slowest write of a long W1; rows and goals go to setting."""
    opt = setting.opt
    print("\nStall: 4 KiB random writes for %g s, members in memory"
          % opt.stall)
    table = Table([("", -10), ("requests/s", 10), ("p50 ms", 8),
                   ("p99 ms", 8), ("max ms", 8), ("max/p50", 8)])
    times = Times(STALL_RAMP, opt.stall)
    with contextlib.ExitStack() as stack:
        stage = Stage(setting, stack, "S", fill=True)
        stage.array("uraid", False)
        a = stage.made["u"]
        for name, connections, depth, params in STALLS:
            setting.progress("stall " + name)
            a.serve([*opt.param, *params], 64)
            job = Job("s-stall", {"rw": "randwrite", "bs": "4k",
                                  "numjobs": str(connections),
                                  "iodepth": str(depth)})
            r = KeysPeer(setting, "uraid", a.servers(), a.uri(),
                         job).measure(times)
            factor = r["max_us"] / r["p50_us"]
            table.row([name, number(r["rate"]),
                       *("%.2f" % (r[k] / 1000)
                         for k in ("p50_us", "p99_us", "max_us")),
                       "%.1f" % factor])
            setting.goals += [
                Goal("S", name + " slowest write, s", r["max_us"] / 1e6, 1,
                     low=True),
                Goal("S", name + " slowest write / median", factor, None, 100,
                     30, low=True)]
            setting.rows.append({
                "regime": "stall", "workload": name, "params": params,
                "max_of_median": factor, "peers": {"uraid": summary([r])}})
