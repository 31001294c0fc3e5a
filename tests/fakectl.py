#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# A control socket without an array behind it: what the online verbs do with
# an answer is tested by giving them one.
#
#   fakectl.py SOCKET CASE
#
# CASE is a file that is read anew for each connection, so that one server does
# for all cases.  Its lines change a healthy RAID-6 of six:
#
#   array.state="broken"       set a field, by its path, to a JSON value
#   -sync.action               leave a field out
#   lose SLOT...               these slots are empty, who was there is faulty
#   recover SLOT BYTES         this one is being rebuilt, up to BYTES
#   spare NUMBER               there is a spare as well
#   unreachable ADDRESS        an address where nobody answers
#   hostile WORD               what comes back is no proper answer; see below
#
# Paths begin with array, members.N, sync, bitmap, cache, workers, parity,
# stats, tunables.NAME, or result for what the method answers as a whole.
# Requests are appended to SOCKET.log, one a line.  "shutdown" ends it.
import json
import os
import socket
import sys

ADDRESS = "nbd+unix:///?socket=/run/m%d"
MEMBER_BYTES = 66060288


def member(number, slot, state, address):
    return {"number": number, "slot": slot, "state": state,
            "address": address, "uuid": None, "errors": 0,
            "corrected_sectors": 0, "reads": 4, "read_bytes": 18432,
            "writes": 0, "write_bytes": 0, "in_flight": 1, "latency_us": 250,
            "connections": 1}


def healthy():
    return {
        "array": {
            "name": "vol0", "uuid": "01234567:89abcdef:01234567:89abcdef",
            "level": "raid6", "raid_devices": 6, "total_devices": 6,
            "chunk_bytes": 65536, "layout": "left-symmetric",
            "layout_number": 2, "metadata_version": "1.2",
            "array_size_bytes": 4 * MEMBER_BYTES,
            "member_size_bytes": MEMBER_BYTES, "state": "clean",
            "degraded": 0, "in_sync": 6, "failed": 0, "spares": 0,
            "events": 17, "consistency_policy": "resync",
            "created_utc": 1700000000, "updated_utc": 1700003600,
            "writable": True, "resync_offset_bytes": None},
        "members": [member(i, i, "in_sync", ADDRESS % i) for i in range(6)],
        "sync": {"action": "idle", "position_bytes": 0, "total_bytes": 0,
                 "speed_bytes_per_s": 0, "started_utc": 0},
        "bitmap": None,
        "cache": {"stripe_cache_size": 1024, "stripe_cache_active": 2,
                  "stripe_bytes": 24576, "pages": 12, "memory_bytes": 49152,
                  "limit_bytes": 25165824, "evicted": 3, "lock_takes": 99},
        "workers": {"group_thread_cnt": 2, "groups": 1, "running": 1,
                    "workers_peak": 2, "wakes": 5, "threads": 2,
                    "changes": 1},
        "parity": {"library": "isa-l", "library_version": "2.30.0",
                   "kernels": "avx2"},
        "stats": {"write_full": 10, "write_rcw": 2, "write_rmw": 30,
                  "prereads": 4, "runs": 42},
    }


def tunables():
    def one(value, default, allowed, origin, changes):
        return {"value": value, "default": default, "allowed": allowed,
                "origin": origin, "changes": changes, "help": "text"}
    return {
        "stripe_cache_size": one(1024, "auto", "17..262144", "auto",
                                 "run time"),
        "group_thread_cnt": one(0, "-1", "-1..8192", "command line",
                                "run time"),
        "skip_copy": one(True, "yes", "yes, no", "default", "run time"),
        "stripe_size": one(4096, "4096", None, "default", "read-only"),
    }


def lose(d, words):
    for slot in map(int, words):
        gone = dict(d["members"][slot], slot=None, state="faulty")
        d["members"][slot] = dict(member(None, slot, "missing", None))
        d["members"].append(gone)
        d["array"]["degraded"] += 1


def recover(d, words):
    slot, done = int(words[0]), int(words[1])
    d["members"][slot]["state"] = "recovering"
    d["members"][slot]["recovered_bytes"] = done
    d["array"]["degraded"] += 1
    d["sync"] = {"action": "recover", "position_bytes": done,
                 "total_bytes": MEMBER_BYTES, "speed_bytes_per_s": 1263616,
                 "started_utc": 1700003000}


def assign(d, path, value, drop=False):
    at = d
    keys = [int(k) if k.isdigit() else k for k in path.split(".")]
    for k in keys[:-1]:
        at = at[k]
    if drop:
        del at[keys[-1]]
    else:
        at[keys[-1]] = value


def read_case(path):
    d = healthy()
    d["tunables"] = tunables()
    d["result"] = {}
    hostile = ""
    with open(path) as f:
        for line in f.read().splitlines():
            words = line.split()
            if not words:
                continue
            if line.startswith("-"):
                assign(d, line[1:], None, drop=True)
            elif "=" in words[0]:
                name, value = line.split("=", 1)
                assign(d, name, json.loads(value))
            elif words[0] == "hostile":
                hostile = words[1]
            elif words[0] == "lose":
                lose(d, words[1:])
            elif words[0] == "recover":
                recover(d, words[1:])
            elif words[0] == "spare":
                d["members"].append(member(int(words[1]), None, "spare",
                                           ADDRESS % int(words[1])))
            elif words[0] == "unreachable":
                d["members"].append(member(None, None, "missing", words[1]))
            else:
                sys.exit("fakectl.py: what is \"%s\"?" % line)
    return d, hostile


class Refused(Exception):
    """errno name, message, allowed"""


def tune_set(d, params):
    key, value = params["key"], params["value"]
    if key not in d["tunables"]:
        raise Refused("ENOENT", "%s: unknown tunable" % key, None)
    if key == "stripe_cache_size" and int(value) < 17:
        raise Refused("EINVAL", "%s: %s: Invalid argument (allowed "
                      "17..262144)" % (key, value), "17..262144")
    if key == "stripe_cache_size" and int(value) > 100000:
        raise Refused("ENOMEM", "%s: %s: needs 24576 bytes a stripe" % (
            key, value), None)
    if key == "stripe_size":
        raise Refused("REFUSED", "", None)
    answer = {"key": key, "value": int(value), "previous": 1}
    if key == "group_thread_cnt" and int(value) > 256:
        answer["note"] = "that is many\x1b[2J"
    return answer


def answer(d, method, params):
    array = {k: d[k] for k in healthy() if k in d}
    if method == "detail":
        r = dict(array, schema="uraid/1")
    elif method == "status":
        r = {"schema": "uraid/1", "arrays": [array]}
    elif method == "tune.list":
        r = {"schema": "uraid/1", "tunables": d["tunables"]}
    elif method == "tune.get":
        for k in params["keys"]:
            if k not in d["tunables"]:
                raise Refused("ENOENT", "%s: unknown tunable" % k, None)
        r = {"schema": "uraid/1",
             "tunables": {k: d["tunables"][k] for k in params["keys"]}}
    elif method == "tune.set":
        r = tune_set(d, params)
    elif method == "shutdown":
        r = {"stopped": True, "clean": True}
    else:
        raise Refused("ENOSYS", "unknown method", None)
    r.update(d["result"])
    return r


def drip(c, data):
    # Until the client has enough of it: its doing ends this.
    try:
        while True:
            c.sendall(data)
    except OSError:
        pass


def hostile_answer(c, word):
    """Answers that no server should give; each must be survived."""
    ok = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    fixed = {
        "close": b"",
        "garbage": b"\x1b[2J\xff\x00 hello\n",
        "truncated": ok[:20],
        "wrong-id": ok.replace(b":1", b":2"),
        "no-version": ok.replace(b'"2.0"', b'"1.0"'),
        "list": b"[1]\n",
        "deep": b"[" * 100000 + b"\n",
        "result-text": ok.replace(b"{}", b'"x"'),
        "error-text": ok.replace(b'"result":{}', b'"error":"x"'),
        "error-empty": ok.replace(b'"result":{}', b'"error":{}'),
        "empty": ok,
        "twice": ok.replace(b'"id":1', b'"id":1,"id":1'),
    }
    if word == "endless":
        drip(c, b" " * 65536)
    elif word == "silent":
        c.recv(1)  # ends when the client goes
    else:
        c.sendall(fixed[word])


def serve(c, path, log):
    line = c.makefile("rb").readline()
    if not line:
        return None
    with open(log, "ab") as f:
        f.write(line)
    request = json.loads(line)
    d, hostile = read_case(path)
    if hostile:
        hostile_answer(c, hostile)
        return None
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        reply["result"] = answer(d, request["method"],
                                 request.get("params", {}))
    except Refused as e:
        data = {"errno": e.args[0]}
        if e.args[2]:
            data["allowed"] = e.args[2]
        reply["error"] = {"code": -32000, "message": e.args[1], "data": data}
    c.sendall(json.dumps(reply).encode() + b"\n")
    return request["method"]


def main():
    path, case = sys.argv[1:3]
    s = socket.socket(socket.AF_UNIX)
    s.bind(path + ".new")
    s.listen(8)
    os.rename(path + ".new", path)  # who sees it can connect
    while True:
        c, _ = s.accept()
        with c:
            try:
                if serve(c, case, path + ".log") == "shutdown":
                    return
            except (BrokenPipeError, ConnectionResetError):
                pass


main()
