#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Client I/O for the shell tests: one connection to URI, a list of steps.
#
#   nbdio.py URI STEP...
#
# write:OFF:LEN:SEED     pseudo-random bytes (fua: with FUA), compared later
# fua:OFF:LEN:SEED
# zero:OFF:LEN  trim:OFF:LEN  flush
# check:OFF:LEN:SEED     read, must be those bytes
# zeroes:OFF:LEN         read, must be zeroes
# eio:OFF:LEN            a read that must fail
# weio:OFF:LEN           a write that must fail
# seq:OFF:LEN:SIZE:DEPTH     sequential writes of SIZE, DEPTH in flight
# reuse:OFF:LEN:SIZE:DEPTH   the same out of DEPTH buffers; each is overwritten as
#                        soon as its write is answered
# random:COUNT:SPAN:SIZE:DEPTH:SEED  COUNT writes of SIZE at multiples of it in
#                        the first SPAN bytes
# until:PATH:OFF:LEN:SIZE:DEPTH  that again and again until PATH is there
# scatter:COUNT:SPAN:SEED[:TWICE]  COUNT single 4 KiB writes, one in each
#                        SPAN bytes (TWICE: each block twice at once)
# file:PATH:OFF          compare with a file from OFF on
# put:PATH:OFF           write a file there
# overlap:OFF:ROUNDS     two connections: one writes 64 KiB, the other 512 bytes
#                        inside it at the same time; what only the first wrote
#                        must be the first one's
# wait                   until standard input ends (an idle client)
import functools
import os
import random
import sys

import nbd


def data(length, seed):
    return random.Random(int(seed)).randbytes(length)


def fails(call):
    try:
        call()
    except nbd.Error as e:
        if e.errno != "EIO":
            sys.exit("error %s instead of EIO" % e.errno)
        return
    sys.exit("no error")


def same(got, want, what):
    if bytes(got) != want:
        at = next(i for i in range(len(want)) if got[i] != want[i])
        sys.exit("%s: differs at byte %d" % (what, at))


def written(err):
    if err.value != 0:
        sys.exit("write error %d" % err.value)
    return 1


def seq(h, off, length, size, depth):
    bufs = [nbd.Buffer.from_bytearray(bytearray(data(size, o)))
            for o in range(off, off + length, size)]
    for i, buf in enumerate(bufs):
        while h.aio_in_flight() >= depth:
            h.poll(-1)
        h.aio_pwrite(buf, off + i * size, completion=written)
    while h.aio_in_flight() > 0:
        h.poll(-1)


def reuse(h, off, length, size, depth):
    free = [bytearray(size) for _ in range(depth)]

    def answered(buf, err):
        written(err)
        buf[:] = b"\xee" * size
        free.append(buf)
        return 1

    for o in range(off, off + length, size):
        while not free:
            h.poll(-1)
        buf = free.pop()
        buf[:] = data(size, o)
        h.aio_pwrite(buf, o, completion=functools.partial(answered, buf))
    while h.aio_in_flight() > 0:
        h.poll(-1)


def scattered(h, count, span, size, depth, seed):
    r = random.Random(seed)
    buf = bytearray(data(size, seed))
    for _ in range(count):
        while h.aio_in_flight() >= depth:
            h.poll(-1)
        h.aio_pwrite(buf, r.randrange(span // size) * size, completion=written)
    while h.aio_in_flight() > 0:
        h.poll(-1)


def overlap(h, off, rounds):
    other = nbd.NBD()
    other.connect_uri(sys.argv[1])
    for k in range(rounds):
        inside = k * 37 % 127 * 512
        big, small = bytes([k % 251 + 1]) * 65536, b"\xff" * 512
        first, second = (h, other) if k % 2 else (other, h)
        a = nbd.Buffer.from_bytearray(bytearray(big))
        b = nbd.Buffer.from_bytearray(bytearray(small))
        first.aio_pwrite(a, off, completion=written)
        second.aio_pwrite(b, off + inside, completion=written)
        while first.aio_in_flight() or second.aio_in_flight():
            for c in (first, second):
                if c.aio_in_flight():
                    c.poll(1)
        got = h.pread(65536, off)
        same(got[:inside], big[:inside], "overlap round %d" % k)
        same(got[inside + 512:], big[inside + 512:], "overlap round %d" % k)
        if bytes(got[inside:inside + 512]) not in (small, big[:512]):
            sys.exit("overlap round %d: neither write" % k)
    other.shutdown()


def pieces(h, length, step=16 << 20):
    return ((o, min(step, length - o)) for o in range(0, length, step))


def step(h, word):
    f = word.split(":")
    n = [int(x, 0) for x in f[1:] if x and f[0] not in ("file", "put",
                                                            "until")]
    if f[0] == "write":
        h.pwrite(data(n[1], n[2]), n[0])
    elif f[0] == "fua":
        h.pwrite(data(n[1], n[2]), n[0], nbd.CMD_FLAG_FUA)
    elif f[0] == "zero":
        h.zero(n[1], n[0])
    elif f[0] == "trim":
        h.trim(n[1], n[0])
    elif f[0] == "flush":
        h.flush()
    elif f[0] == "check":
        same(h.pread(n[1], n[0]), data(n[1], n[2]), word)
    elif f[0] == "zeroes":
        same(h.pread(n[1], n[0]), bytes(n[1]), word)
    elif f[0] == "eio":
        fails(lambda: h.pread(n[1], n[0]))
    elif f[0] == "weio":
        fails(lambda: h.pwrite(bytes(n[1]), n[0]))
    elif f[0] == "seq":
        seq(h, *n)
    elif f[0] == "reuse":
        reuse(h, *n)
    elif f[0] == "random":
        scattered(h, *n)
    elif f[0] == "until":
        while True:
            seq(h, *[int(x, 0) for x in f[2:]])
            if os.path.exists(f[1]):
                break
    elif f[0] == "scatter":
        r = random.Random(n[2])
        for i in range(n[0]):
            o = i * n[1] + r.randrange(n[1] // 4096) * 4096
            for k in range(2 if len(n) > 3 and n[3] else 1):
                h.pwrite(data(4096, o + k), o)
    elif f[0] == "file":
        with open(f[1], "rb") as img:
            img.seek(0, 2)
            length, off = img.tell(), int(f[2], 0)
            img.seek(0)
            for o, k in pieces(h, length):
                same(h.pread(k, off + o), img.read(k), "%s at %d" % (word, o))
    elif f[0] == "put":
        with open(f[1], "rb") as img:
            img.seek(0, 2)
            length, off = img.tell(), int(f[2], 0)
            img.seek(0)
            for o, k in pieces(h, length):
                h.pwrite(img.read(k), off + o)
    elif f[0] == "overlap":
        overlap(h, *n)
    elif f[0] == "wait":
        sys.stdin.read()
    else:
        sys.exit("unknown step " + word)


def main():
    h = nbd.NBD()
    h.connect_uri(sys.argv[1])
    for word in sys.argv[2:]:
        step(h, word)
    h.shutdown()


main()
