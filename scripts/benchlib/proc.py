# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Processes of the bench, what they cost, and the machine they run on."""
import os
import subprocess
import time

from . import Fail

NBDKIT = os.environ.get("NBDKIT", "nbdkit")
CORES = len(os.sched_getaffinity(0))
TICK_HZ = os.sysconf("SC_CLK_TCK")
START_SECONDS = 90
STOP_SECONDS = 30


def run(argv, what):
    """Run a command, return its output; Fail with its words if it fails."""
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=300,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Fail("%s: %s" % (what, e)) from e
    if p.returncode != 0:
        raise Fail("%s: %s failed (status %d):\n%s" % (
            what, argv[0], p.returncode, p.stdout.strip()))
    return p.stdout


class Server:
    """An nbdkit in the foreground.  It ends with stop (), or with us."""

    def __init__(self, folder, name, args, preload=None):
        base = os.path.join(folder, name)
        self.name, self.sock, self.log = name, base + ".sock", base + ".log"
        pidfile = base + ".pid"
        for old in (self.sock, pidfile):
            if os.path.exists(old):
                os.unlink(old)
        env = dict(os.environ)
        if preload:
            env["LD_PRELOAD"] = preload
        with open(self.log, "w", encoding="utf-8") as log:
            # A session of its own: Ctrl-C is for us, and we stop it then.
            self.p = subprocess.Popen(
                [NBDKIT, "-f", "--exit-with-parent", "-P", pidfile,
                 "-U", self.sock, *args], env=env, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait_ready(pidfile)
        except BaseException:
            self.stop()
            raise

    def wait_ready(self, pidfile):
        end = time.monotonic() + START_SECONDS
        while not os.path.exists(pidfile):
            if self.p.poll() is not None:
                raise Fail("server %s did not start:\n%s"
                           % (self.name, self.errors()))
            if time.monotonic() > end:
                raise Fail("server %s does not listen after %d s:\n%s"
                           % (self.name, START_SECONDS, self.errors()))
            time.sleep(0.02)

    def errors(self):
        """What it complained about, or else the end of what it said."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()
        bad = [w for w in lines if "error:" in w or "ERROR:" in w]
        return "\n".join((bad or lines)[-10:])

    def uri(self):
        return "nbd+unix:///?socket=" + self.sock

    def pid(self):
        return self.p.pid

    def check(self):
        if self.p.poll() is not None:
            raise Fail("server %s has ended (status %d):\n%s" % (
                self.name, self.p.returncode, self.errors()))

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()


def cpu_seconds(pid):
    """User and system time of a process, ended threads included."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii",
                  errors="replace") as f:
            words = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(words[11]) + int(words[12])) / TICK_HZ


def threads(pid):
    """How many it has; 0 if it has ended."""
    try:
        return len(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return 0


def switches(pid):
    """Voluntary context switches of each thread by its number."""
    result = {}
    folder = "/proc/%d/task" % pid
    try:
        tasks = os.listdir(folder)
    except OSError:
        return result
    for task in tasks:
        try:
            with open("%s/%s/status" % (folder, task), encoding="ascii",
                      errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        result[int(task)] = int(
            text.split("\nvoluntary_ctxt_switches:", 1)[1].split()[0])
    return result


def switches_since(now, old):
    """What threads that ended meanwhile had is not counted."""
    return sum(max(0, n - old.get(task, 0)) for task, n in now.items())


def machine_busy_seconds():
    """CPU seconds this machine did not idle; time taken from it included."""
    with open("/proc/stat", encoding="ascii") as f:
        words = [int(w) for w in f.readline().split()[1:9]]
    return (sum(words) - words[3] - words[4]) / TICK_HZ


class Sample:
    """What a set of processes has used up to now."""

    def __init__(self, pids):
        self.time = time.monotonic()
        self.cpu = sum(cpu_seconds(p) for p in pids)
        self.busy = machine_busy_seconds()
        self.switches = {}
        for p in pids:
            self.switches.update(switches(p))

    def since(self, old):
        """Per second of wall time: our cores, all busy cores, switches."""
        wall = max(self.time - old.time, 1e-3)
        return {"cores": (self.cpu - old.cpu) / wall,
                "machine_cores": (self.busy - old.busy) / wall,
                "switches": switches_since(self.switches, old.switches) / wall}


def first_words(argv):
    """First line a command prints, or None."""
    try:
        return run(argv, argv[0]).strip().splitlines()[0]
    except (Fail, IndexError):
        return None


def machine():
    """CPU model, cores, memory, kernel, load."""
    model, memory_kib = "unknown", 0
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo", encoding="ascii") as f:
        memory_kib = int(f.readline().split()[1])
    return {"cpu": model, "cores": CORES, "memory_mib": memory_kib >> 10,
            "kernel": os.uname().release, "arch": os.uname().machine,
            "load_1min": os.getloadavg()[0]}


def commit(top):
    """The commit measured, with "+" when the tree differs from it."""
    name = first_words(["git", "-C", top, "rev-parse", "--short=12", "HEAD"])
    if name is None:
        return None
    changed = first_words(["git", "-C", top, "status", "--porcelain",
                           "--untracked-files=no"])
    return name + ("+" if changed else "")


def versions(plugin, preload):
    """Versions of what takes part."""
    out = {"nbdkit": first_words([NBDKIT, "--version"]),
           "fio": first_words(["fio", "--version"]),
           "btrfs-progs": first_words(["mkfs.btrfs", "--version"])}
    env = ["env", "LD_PRELOAD=" + preload] if preload else []
    for line in run(env + [NBDKIT, plugin, "--dump-plugin"],
                    "plugin").splitlines():
        key, _, value = line.partition("=")
        if key in ("uraid_isal_version", "uraid_isal_kernel",
                   "libnbd_version", "version") or (
                       key.startswith("uraid_value_")):
            out[key] = value
    return out
