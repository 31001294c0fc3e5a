# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""btrfs raid6, updating in place, on loop devices over files in /dev/shm.

It needs root, a kernel with btrfs, losetup and mkfs.btrfs; why_not () tells
what is missing.  remove () undoes whatever make () got done, and finds the
loop devices by their files, so nothing is left wherever make () was stopped.
"""
import os
import shutil
import subprocess
import tempfile
import time

from . import Fail
from .proc import run

SHM = "/dev/shm"
OPTIONS = "nodatacow,nodatasum,noatime"
# Of each device, for metadata: more than enough.
EXTRA_BYTES = 512 << 20


def why_not(setting, arrays):
    """Why there can be no btrfs here ("" if there can)."""
    if os.geteuid() != 0:
        return "needs root, for loop devices and mount"
    for tool, package in (("losetup", "mount"), ("mkfs.btrfs", "btrfs-progs"),
                          ("btrfs", "btrfs-progs")):
        if not shutil.which(tool):
            return "%s is missing (Debian package %s)" % (tool, package)
    if not kernel_has_it():
        return "this kernel has no btrfs"
    if not os.path.exists("/dev/loop-control"):
        return "no /dev/loop-control: this kernel has no loop devices"
    fs = os.statvfs(SHM)
    need = arrays * setting.shape.n * (setting.opt.size_bytes + (64 << 20))
    if fs.f_bavail * fs.f_frsize < need:
        return "%s has %d MiB free, needed are %d" % (
            SHM, fs.f_bavail * fs.f_frsize >> 20, need >> 20)
    return ""


def kernel_has_it():
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", "btrfs"], check=False,
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open("/proc/filesystems", encoding="ascii") as f:
        return "btrfs" in f.read().split()


class Btrfs:
    def __init__(self, setting, lost):
        self.setting, self.lost = setting, lost
        self.folder = self.mountpoint = self.file = None
        self.images = []

    def make(self):
        """Make, mount and write one file of the array's size."""
        self.folder = tempfile.mkdtemp(prefix="uraid-bench.", dir=SHM)
        self.mountpoint = os.path.join(self.folder, "mnt")
        self.file = os.path.join(self.mountpoint, "file")
        os.mkdir(self.mountpoint)
        size = self.setting.opt.size_bytes
        for i in range(self.setting.shape.n):
            self.images.append(os.path.join(self.folder, "b%d" % i))
            with open(self.images[i], "wb") as f:
                f.truncate(size + EXTRA_BYTES)
        devices = [run(["losetup", "-f", "--show", i], "btrfs").strip()
                   for i in self.images]
        run(["mkfs.btrfs", "-q", "-f", "-d", "raid6", "-m", "raid1c3",
             *devices], "btrfs")
        self.mount(devices, OPTIONS)
        self.setting.fio.counted(
            ["--name=fill", "--ioengine=libaio", "--direct=1", "--rw=write",
             "--bs=1m", "--iodepth=8", "--filename=" + self.file,
             "--size=%d" % (size * self.setting.shape.k)])
        if self.lost:
            self.lose(devices)

    def mount(self, devices, options):
        options = ",".join([options, *("device=" + d for d in devices)])
        run(["mount", "-t", "btrfs", "-o", options, devices[0],
             self.mountpoint], "btrfs")

    def lose(self, devices):
        """Mount it again, without the last device."""
        run(["umount", self.mountpoint], "btrfs")
        run(["btrfs", "device", "scan", "--forget", devices[-1]], "btrfs")
        run(["losetup", "-d", devices[-1]], "btrfs")
        self.mount(devices[:-1], OPTIONS + ",degraded")

    def remove(self):
        if self.folder is None:
            return
        for _ in range(50):
            if not os.path.ismount(self.mountpoint):
                break
            subprocess.run(["umount", self.mountpoint], check=False,
                           stderr=subprocess.DEVNULL)
            time.sleep(0.1)
        left = [p for p in self.images if not self.detach(p)]
        if left or os.path.ismount(self.mountpoint):
            raise Fail("btrfs: %s could not be unmounted or its loop devices "
                       "detached; do it by hand and remove it" % self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def detach(image):
        """Detach the loop devices of a file; is none left?"""
        for _ in range(50):
            try:
                text = run(["losetup", "-j", image], "btrfs")
            except Fail:
                return False
            devices = [w.split(":")[0] for w in text.splitlines()]
            if not devices:
                return True
            for d in devices:
                subprocess.run(["losetup", "-d", d], check=False,
                               stderr=subprocess.DEVNULL)
            time.sleep(0.1)
        return False
