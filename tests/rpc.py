#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# One call over a control socket, for the shell tests.
#
#   rpc.py SOCKET METHOD [-p PARAMS] [PATH...]
#
# PARAMS is JSON.  Prints the result; with PATH (such as array.state or
# members.3.reads) only what is there, a line each.  An error goes to standard
# error, with status 1.
import json
import socket
import sys


def call(path, method, params=None):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(90)
    s.connect(path)
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        request["params"] = params
    s.sendall(json.dumps(request).encode() + b"\n")
    line = s.makefile("rb").readline()
    if not line.endswith(b"\n"):
        sys.exit("%s: no answer" % method)
    answer = json.loads(line)
    if answer["id"] != 1 or answer["jsonrpc"] != "2.0":
        sys.exit("not our answer: %s" % line)
    return answer


def at(value, path):
    for word in path.split("."):
        value = value[int(word) if isinstance(value, list) else word]
    return value if isinstance(value, str) else json.dumps(value)


def main():
    sock, method, *rest = sys.argv[1:]
    params = None
    if rest[:1] == ["-p"]:
        params = json.loads(rest[1])
        rest = rest[2:]
    answer = call(sock, method, params)
    if "error" in answer:
        sys.exit(json.dumps(answer["error"]))
    if not rest:
        print(json.dumps(answer["result"], indent=1))
    for path in rest:
        print(at(answer["result"], path))


if __name__ == "__main__":
    main()
