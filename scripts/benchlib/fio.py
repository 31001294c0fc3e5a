# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""The workloads and their client, fio."""
import configparser
import json
import os
import subprocess
import time

from . import Fail
from .proc import CORES, Sample, first_words, run, threads

SLACK_SECONDS = 60      # beyond its run time fio gets this long
POLL_SECONDS = 0.02     # while its jobs are about to start
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# Of a section: what is said to fio in other words when it is not run from
# the file.
NOT_KEYS = ("stonewall", "new_group")


def parse_bytes(text):
    """fio's 4k, 1m, 262144"""
    unit = UNITS.get(text[-1].lower())
    return int(text[:-1]) * unit if unit else int(text)


class Job:
    """One workload: a section of workloads.fio, or made of the same keys."""

    def __init__(self, name, keys):
        self.name, self.keys = name, keys
        self.short = name.split("-", 1)[0]
        rw = keys["rw"].split(":")[0]
        self.sequential = rw in ("read", "write")
        self.degraded = self.short.startswith("d")
        self.hot = "size" in keys
        self.connections = int(keys.get("numjobs", 1))
        self.depth = int(keys.get("iodepth", 1))
        self.block_bytes = parse_bytes(keys["bs"])
        self.read_share = {"read": 1, "randread": 1, "randrw": int(
            keys.get("rwmixread", 50)) / 100}.get(rw, 0)

    def label(self):
        return "%s %s" % (self.short, self.name.split("-", 1)[1])

    def arguments(self):
        """Its keys as command line options."""
        return ["--%s=%s" % (k, v) for k, v in self.keys.items()
                if k not in NOT_KEYS]


def load(path, row_bytes):
    """All sections of workloads.fio, in its order."""
    ini = configparser.ConfigParser(
        allow_no_value=True, delimiters=("=",), comment_prefixes=(";", "#"),
        interpolation=None, default_section="no section has this name")
    try:
        with open(path, encoding="utf-8") as f:
            ini.read_file(f)
        return [Job(s, {k: (v or "").replace("${ROW}", str(row_bytes))
                        for k, v in ini.items(s)})
                for s in ini.sections() if s != "global"]
    except (OSError, configparser.Error, ValueError, KeyError) as e:
        raise Fail("%s: %s" % (path, e)) from e


def check(want_libaio):
    """Fail unless this fio can do what is needed."""
    text = run(["fio", "--enghelp"], "fio").split()
    if "nbd" not in text:
        raise Fail("%s has no nbd engine; it is in fio 3.20 and later when "
                   "built with libnbd (Debian's package fio has it)"
                   % (first_words(["fio", "--version"]) or "fio"))
    return not want_libaio or "libaio" in text


class Times:
    """Seconds of ramp and of run."""

    def __init__(self, ramp, seconds):
        self.ramp, self.seconds = ramp, seconds

    def env(self):
        return {"RAMP": "%dms" % (self.ramp * 1000),
                "RT": "%dms" % (self.seconds * 1000)}

    def arguments(self):
        e = self.env()
        return ["--time_based", "--runtime=" + e["RT"],
                "--ramp_time=" + e["RAMP"]]


class Fio:
    """Runs of fio, each with an end; files go to a folder."""

    def __init__(self, folder, workloads, row_bytes):
        self.folder, self.workloads = folder, workloads
        self.row_bytes = row_bytes
        self.p = None

    def section(self, job, uri, times, pids):
        """A section of the file against one URI."""
        env = dict(os.environ, URAID_URI=uri, ROW=str(self.row_bytes),
                   **times.env())
        return self.measured(["--section=" + job.name, self.workloads], env,
                             times, pids, job.connections)

    def keys(self, job, targets, times, pids):
        """The same keys on a command line; targets: options, a job each."""
        argv = ["--thread", "--group_reporting", "--randrepeat=0",
                "--norandommap=1", "--unified_rw_reporting=both",
                "--percentile_list=50:99:99.9:100", *times.arguments()]
        for i, target in enumerate(targets):
            # The engine first: the others may be options of it.
            argv += ["--name=%s-%d" % (job.short, i), *target,
                     *job.arguments()]
        return self.measured(argv, os.environ, times, pids,
                             len(targets) * job.connections)

    def counted(self, argv):
        """A run that ends by itself; returns how many requests it made."""
        out = self.finish(self.start(["--thread", *argv], os.environ), 300)
        return sum(j[w]["total_ios"] for j in out["jobs"]
                   for w in ("read", "write"))

    def fill(self, uris):
        """Write it all, so that no first use of memory is measured."""
        argv = []
        for i, uri in enumerate(uris):
            argv += ["--name=fill%d" % i, "--ioengine=nbd", "--uri=" + uri,
                     "--rw=write", "--bs=1m", "--iodepth=8"]
        self.counted(argv)

    def start(self, argv, env):
        out = os.path.join(self.folder, "fio.out")
        err = os.path.join(self.folder, "fio.err")
        with open(out, "w", encoding="utf-8") as o, \
                open(err, "w", encoding="utf-8") as e:
            # A session of its own: Ctrl-C is for us, and we end it then.
            self.p = subprocess.Popen(
                ["fio", "--output-format=json", *argv], env=env,
                cwd=self.folder, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=o, stderr=e)
        return out, err

    def finish(self, files, seconds):
        """Wait for it; its JSON."""
        try:
            status = self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Fail("fio was still running after %d s; are the servers "
                       "answering?" % seconds) from None
        with open(files[0], encoding="utf-8") as f:
            text = f.read()
        with open(files[1], encoding="utf-8") as f:
            said = f.read().strip()
        if status != 0 or "{" not in text:
            raise Fail("fio failed (status %d):\n%s" % (
                status, (said or text)[-1000:]))
        try:
            # Remarks may come before the JSON.
            out = json.loads(text[text.index("{"):])
        except ValueError as e:
            raise Fail("fio's output is no JSON: %s" % e) from e
        for j in out["jobs"]:
            if j["error"]:
                raise Fail("fio: %s ended with %s" % (
                    j["jobname"], os.strerror(j["error"])))
        return out

    def sleep_until(self, when):
        """Until then, or until fio ends."""
        try:
            self.p.wait(max(when - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            pass

    def wait_jobs(self, jobs):
        """Until it has connected and its jobs run, each in a thread."""
        end = time.monotonic() + SLACK_SECONDS
        while (self.p.poll() is None and threads(self.p.pid) <= jobs
               and time.monotonic() < end):
            time.sleep(POLL_SECONDS)

    def measured(self, argv, env, times, pids, jobs):
        """Run; what a request cost is looked at while the jobs run."""
        files = self.start(argv, env)
        pids = [*pids, self.p.pid]
        self.wait_jobs(jobs)
        begin = time.monotonic()
        self.sleep_until(begin + times.ramp)
        first = Sample(pids)
        # Its threads, and the servers' for it, must still be there.
        self.sleep_until(begin + times.ramp
                         + max(times.seconds - 0.1, times.seconds / 2))
        used = Sample(pids).since(first)
        return result(self.finish(files, SLACK_SECONDS), used)

    def stop(self):
        if self.p is not None and self.p.poll() is None:
            self.p.kill()
            self.p.wait()


def one_way(way):
    """Figures of reads, writes, or both."""
    lat = way["clat_ns"]
    pct = lat.get("percentile", {})
    return {"rate": way["iops"], "mib_s": way["bw_bytes"] / (1 << 20),
            "requests": way["total_ios"], "mean_us": lat["mean"] / 1000,
            "p50_us": pct.get("50.000000", 0) / 1000,
            "p99_us": pct.get("99.000000", 0) / 1000,
            "p999_us": pct.get("99.900000", 0) / 1000,
            "max_us": lat["max"] / 1000}


def result(out, used):
    """All figures of a run, requests in one group."""
    if len(out["jobs"]) != 1:
        raise Fail("fio reports %d groups, not one" % len(out["jobs"]))
    j = out["jobs"][0]
    r = one_way(j["mixed"])
    if r["requests"] == 0:
        raise Fail("fio made no request in its run time; take more --seconds")
    r["read"], r["write"] = one_way(j["read"]), one_way(j["write"])
    r["cpu_us"] = used["cores"] / r["rate"] * 1e6
    r["switches"] = used["switches"] / r["rate"]
    r["cores"] = used["cores"]
    r["machine_cores"] = used["machine_cores"]
    return r


def is_cpu_bound(r):
    """"CPU": ours took it all; "CPU*": others on this machine took a part;
    "": it was something else."""
    if r["cores"] >= 0.9 * CORES:
        return "CPU"
    return "CPU*" if r["machine_cores"] >= 0.93 * CORES else ""
