# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Regimes B and D: the workloads, timed.

B: members behind nbdkit's rate filter.  What the members allow is known, so
the figure is the part of it that is reached, E.  D: members in memory; the
CPU binds, and the peers of the same run are what to look at.
"""
import contextlib
import os
import resource

from . import model
from .btrfs import why_not
from .fio import Times
from .peers import Stage
from .report import Goal, Table, latencies, number, percent, ratio
from .rounds import LIMITS, in_turn, limit, median, summary

# Seconds: the filter's bucket holds two, which must have run out.  An array
# that is hardly faster than the members needs longer for that; so a run beyond
# the floor is repeated at once, as little flows in between two runs.
RAMP_B = 3
BEYOND_FLOOR = 1.02
TRIES_B = 4


class Row:
    """A workload's figures: medians by peer in m, all else for JSON."""

    def __init__(self, regime, job):
        self.regime, self.job = regime, job
        self.m, self.peers, self.extra = {}, {}, {}

    def add(self, peer, results):
        self.m[peer] = median(results)
        self.peers[peer] = summary(results)

    def json(self):
        return {"regime": self.regime, "workload": self.job.name,
                "peers": self.peers, **self.extra}

    def speed(self, peer):
        """Of streams MiB/s, else requests/s (request sizes can differ)."""
        if peer not in self.m:
            return None
        return self.m[peer]["mib_s" if self.streams() else "rate"]

    def streams(self):
        return self.job.sequential and self.job.block_bytes > 4096

    def against(self, peer):
        """uraid's speed as a multiple of the peer's."""
        theirs = self.speed(peer)
        return self.speed("uraid") / theirs if theirs else None


def drained(peer, job, times, floor):
    """Figures from a run that used no more than what flows in."""
    for _ in range(TRIES_B):
        r = peer.measure(job, times)
        if r["rate"] <= floor * BEYOND_FLOOR:
            break
    return r


def run_rows(setting, regime, stage, ramp, jobs, finish, cap=None):
    """Measure all jobs; finish (row) adds what the regime is about.  cap:
    bytes/s of a member, if they are capped."""
    opt, rows = setting.opt, []
    times = Times(ramp, opt.seconds)
    for job in jobs:
        peers = stage.peers_for(job)

        def measure(peer, job=job):
            setting.progress("%s %s %s" % (regime, job.short, peer.name))
            if cap is None:
                return peer.measure(job, times)
            return drained(peer, job, times,
                           model.floor(job, setting.shape, cap))
        row = Row(regime, job)
        for peer, results in zip(peers, in_turn(opt.rounds, peers, measure)):
            row.add(peer.name, results)
        finish(row)
        rows.append(row)
        setting.rows.append(row.json())
    return rows


def present(size_bytes):
    """Parameters of a memory member whose memory is there from the start, as
    filling it under the cap would take too long.  Where one may not lock
    memory: none."""
    limit_bytes = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if (os.geteuid() == 0 or limit_bytes == resource.RLIM_INFINITY
            or limit_bytes > 2 * size_bytes):
        return ["allocator=malloc,mlock=true"]
    return []


def regime_b(setting):
    """Prints the table; rows and goals go to setting."""
    opt, shape = setting.opt, setting.shape
    cap = opt.rate * 1e6 / 8 * 1.048576  # nbdkit's M is binary
    jobs = [j for j in setting.jobs if model.cost(j, shape)]
    print("\nRegime B: members capped at %d Mbit/s each way, %.0f 4 KiB "
          "requests/s; %g s after %g s"
          % (opt.rate, cap / 4096, opt.seconds, max(RAMP_B, opt.ramp)))
    other = [("other", 9), ("u/other", 7)] if opt.compare else []
    table = Table([("", -30), ("uraid", 9), ("floor", 9), ("E %", 6), *other,
                   ("CPU us", 7), ("sw/req", 6), ("p50 ms", 8),
                   ("p99 ms", 8), ("max ms", 8), ("limit", -7)])

    def finish(row):
        m = row.m["uraid"]
        row.floor = model.floor(row.job, shape, cap)
        row.extra = {"floor": row.floor, "e": m["rate"] / row.floor,
                     "limit": limit(m, "member")}
        compared = ([number(row.m["other"]["rate"]),
                     ratio(row.against("other"))] if opt.compare else [])
        table.row([row.job.label(), number(m["rate"]), number(row.floor),
                   percent(row.extra["e"]), *compared, number(m["cpu_us"]),
                   ratio(m["switches"]), *latencies(m), row.extra["limit"]])

    with contextlib.ExitStack() as stack:
        stage = Stage(setting, stack, "B",
                      ["--filter=rate", "rate=%dM" % opt.rate,
                       *present(opt.size_bytes)])
        rows = run_rows(setting, "B", stage, max(RAMP_B, opt.ramp), jobs,
                        finish, cap)
    print(LIMITS)
    if any(r.extra["e"] > BEYOND_FLOOR for r in rows):
        print("E above 100: the filter's bucket was not yet empty; take more "
              "--seconds, or a lower --rate")
    setting.goals += [goal_b(r) for r in rows if r.job.short in GOALS_B]


GOALS_B = {**dict.fromkeys(("w1", "w2", "w3", "w4", "w5", "x1", "x2", "x3"),
                           (0.80, 0.92, 0.97)),
           **dict.fromkeys(("d1", "d2"), (0.75, 0.88, 0.95))}


def goal_b(row):
    return Goal("B", row.job.short + " of the floor", row.extra["e"],
                *GOALS_B[row.job.short], note=row.extra["limit"])


COLUMNS_D = ["uraid", "healthy", "other", "pass", "raw", "btrfs"]


def peers_d(setting):
    """Names of those that can be there; says why btrfs is not."""
    opt, names = setting.opt, ["uraid"]
    if any(j.degraded for j in setting.jobs):
        names.append("healthy")
    if opt.compare:
        names.append("other")
    if "pass" in setting.peers and any(not j.degraded for j in setting.jobs):
        names.append("pass")
    if "raw" in setting.peers:
        names.append("raw")
    if "btrfs" in setting.peers:
        kinds = {j.degraded for j in setting.jobs}
        reason = (why_not(setting, len(kinds)) if setting.libaio
                  else "this fio has no libaio engine")
        if reason:
            print("btrfs: skipped: " + reason)
            setting.peers.discard("btrfs")
            setting.skipped["btrfs"] = reason
        else:
            names.append("btrfs")
    return names


def efficiency(row, shape):
    """E: requests x what one costs the members, of what raw members do."""
    cost = model.cost(row.job, shape)
    if cost is None or "raw" not in row.m:
        return None
    key = "mib_s" if cost.streams else "rate"
    return row.m["uraid"][key] * cost.ops() / row.m["raw"][key]


def regime_d(setting):
    """Prints the tables; rows and goals go to setting."""
    opt = setting.opt
    print("\nRegime D: members in memory; requests/s, of streams MiB/s; %g s "
          "after %g s" % (opt.seconds, opt.ramp))
    names = peers_d(setting)
    ratios = [n for n in names if n not in ("uraid", "raw")]
    table = Table([("", -30), *((n, 8) for n in names),
                   *(("u/" + n, 9) for n in ratios),
                   *([("E %", 6)] if "raw" in names else []), ("CPU us", 7),
                   *([("of pass", 7)] if "pass" in names else []),
                   ("limit", -7)])

    def finish(row):
        e, m = efficiency(row, setting.shape), row.m["uraid"]
        row.extra = {"e": e, "limit": limit(m, "wait")}
        passed = row.m.get("pass")
        table.row([row.job.label(), *(number(row.speed(n)) for n in names),
                   *(ratio(row.against(n)) for n in ratios),
                   *([percent(e)] if "raw" in names else []),
                   number(m["cpu_us"]),
                   *([number(passed and passed["cpu_us"])]
                     if "pass" in names else []),
                   row.extra["limit"]])

    with contextlib.ExitStack() as stack:
        stage = Stage(setting, stack, "D", fill=True)
        rows = run_rows(setting, "D", stage, opt.ramp, setting.jobs, finish)
    print(LIMITS)
    costs_d(rows, [n for n in names if n not in ("raw", "btrfs")])
    setting.goals += goals_d({r.job.short: r for r in rows})


def costs_d(rows, names):
    print("\nLatency, and CPU time and voluntary context switches a request "
          "(client, servers, members)")
    table = Table([("", -30), ("", -8), ("p50 ms", 8), ("p99 ms", 8),
                   ("max ms", 8), ("CPU us", 8), ("switches", 8),
                   ("cores", 6)])
    for row in rows:
        for name in names:
            if name in row.m:
                m = row.m[name]
                table.row([row.job.label() if name == "uraid" else "", name,
                           *latencies(m), number(m["cpu_us"]),
                           ratio(m["switches"]), ratio(m["cores"])])


# Workload, peer, must, target, stretch: speed as a multiple of the peer's.
GOALS_PEER = [
    ("x1", "pass", 0.8, 1.0, 1.4), ("w1", "pass", 0.25, 0.33, 0.40),
    ("x2", "pass", 0.6, 0.9, 1.2), ("x3", "pass", 0.8, 1.0, 1.4),
    ("w1", "btrfs", 1.5, 2.5, 3.5), ("w2", "btrfs", 1.0, 1.5, 1.8),
    ("w3", "btrfs", 1.0, 1.7, 2.0), ("w4", "btrfs", 1.5, 2.5, 3.5),
    ("w5", "btrfs", 2.0, 3.5, 4.5), ("x2", "btrfs", 0.9, 1.5, 2.0),
    ("x1", "btrfs", 0.2, 0.3, 0.4), ("d1", "btrfs", 0.6, 0.9, 1.05),
    ("d2", "btrfs", 1.5, 2.5, 3.5), ("d1", "healthy", 0.55, 0.75, 0.80),
    ("d3", "healthy", 0.85, 0.95, 1.0)]
GOALS_E = [("w1", 0.45, 0.60, 0.70), ("x1", 0.30, 0.38, 0.42)]


def goals_d(rows):
    """rows: by the workload's short name."""
    goals = []
    for w, must, target, stretch in GOALS_E:
        if w in rows and rows[w].extra["e"] is not None:
            goals.append(Goal("D", w + " E of raw members",
                              rows[w].extra["e"], must, target, stretch,
                              note=rows[w].extra["limit"]))
    for w, peer, must, target, stretch in GOALS_PEER:
        if w in rows and peer in rows[w].m:
            goals.append(Goal("D", "%s / %s" % (w, peer),
                              rows[w].against(peer), must, target, stretch,
                              note=rows[w].extra["limit"]))
    if "x1" in rows and "pass" in rows["x1"].m:
        m = rows["x1"].m
        goals.append(Goal("D", "x1 CPU a request / pass",
                          m["uraid"]["cpu_us"] / m["pass"]["cpu_us"], 1.0,
                          0.75, 0.55, low=True))
    if "x6" in rows and "w1" in rows:
        goals.append(Goal("D", "x6 hot set / w1 cold",
                          rows["x6"].speed("uraid")
                          / rows["w1"].speed("uraid"), 1.15, 1.3, 1.5))
    return goals
