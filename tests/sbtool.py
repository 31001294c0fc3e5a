#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Look at and change md 1.2 superblocks in image files, for tests.
#
#   sbtool.py get IMAGE FIELD          print a number
#   sbtool.py set IMAGE FIELD=VALUE... change it, checksum made right
#   sbtool.py wait IMAGE FIELD VALUE   until it is so (at most 60 s)
#
# FIELD is a name below or OFFSET:SIZE (bytes).  VALUE may be hex; MAX is all
# ones.  Only the fields that tests need have names.
import struct
import sys
import time

AT = 4096
FIELDS = {
    "feature_map": (8, 4), "pad0": (12, 4), "level": (72, 4),
    "layout": (76, 4), "size": (80, 8), "raid_disks": (92, 4),
    "bitmap_offset": (96, 4), "data_offset": (128, 8), "data_size": (136, 8),
    "super_offset": (144, 8), "recovery_offset": (152, 8),
    "dev_number": (160, 4), "corrected": (164, 4), "bblog_offset": (188, 4),
    "events": (200, 8), "resync_offset": (208, 8), "max_dev": (220, 4),
    "logical_block_size": (224, 4), "ctime": (64, 8),
}


def place(name):
    if name in FIELDS:
        return FIELDS[name]
    off, size = name.split(":")
    return int(off, 0), int(size, 0)


def read(path):
    with open(path, "rb") as f:
        f.seek(AT)
        return bytearray(f.read(4096))


def get(raw, name):
    off, size = place(name)
    return int.from_bytes(raw[off:off + size], "little")


def checksum(raw):
    n = 256 + 2 * struct.unpack_from("<I", raw, 220)[0]
    part = bytearray(raw[:n])
    part[216:220] = bytes(4)
    total = sum(struct.unpack("<%dI" % (n // 4), part[:n // 4 * 4]))
    if n % 4:
        total += struct.unpack_from("<H", part, n - 2)[0]
    return ((total & 0xffffffff) + (total >> 32)) & 0xffffffff


def main():
    verb, path = sys.argv[1:3]
    if verb == "get":
        print(get(read(path), sys.argv[3]))
    elif verb == "set":
        raw = read(path)
        for word in sys.argv[3:]:
            name, value = word.split("=")
            off, size = place(name)
            v = (1 << 8 * size) - 1 if value == "MAX" else int(value, 0)
            raw[off:off + size] = (v % (1 << 8 * size)).to_bytes(size,
                                                                "little")
        struct.pack_into("<I", raw, 216, checksum(raw))
        with open(path, "r+b") as f:
            f.seek(AT)
            f.write(raw[:512])
    elif verb == "wait":
        off, size = place(sys.argv[3])
        want = ((1 << 8 * size) - 1 if sys.argv[4] == "MAX"
                else int(sys.argv[4], 0))
        end = time.monotonic() + 60
        while get(read(path), sys.argv[3]) != want:
            if time.monotonic() > end:
                sys.exit("%s: %s is %d, not %d" % (
                    path, sys.argv[3], get(read(path), sys.argv[3]), want))
            time.sleep(0.05)


main()
