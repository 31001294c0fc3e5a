#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Clients of the control socket that do everything wrong: no JSON, bad UTF-8,
# lines without end, deep nesting, wrong types, half a line, answers that are
# never read, too many clients, clients that go while their call is at work.
# Each gets an error or is dropped; others are answered meanwhile, the array is
# served, and descriptors and threads do not pile up.

# shellcheck disable=SC2154 # uraid_uri and others are from functions.sh
# shellcheck disable=SC2016 # conditions of wait_for
# shellcheck disable=SC2004,SC2034 # pids belongs to functions.sh

. "${0%/*}/functions.sh"

# A process that ends in spite of its clients joins no threads.
TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0
io() { /usr/bin/python3 "$abs_top_srcdir/tests/nbdio.py" "$uraid_uri" "$@"; }

make_members 4 32M
start_members 4
# shellcheck disable=SC2046 # one word a line
uraid_cmd create v --level=6 --raid-devices=4 --chunk=64K --assume-clean \
    $(all_member_uris) >create.log
start_uraid

cat >hostile.py <<'END'
import json
import os
import random
import socket
import sys
import time

PATH, PID = sys.argv[1:3]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(PATH)
    s.settimeout(60)
    return s


def read_line(s):
    got = b""
    while not got.endswith(b"\n"):
        try:
            more = s.recv(1)
        except ConnectionResetError:
            more = b""
        if not more:
            return got
        got += more
    return got


def is_closed(s):
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass


def send_all(s, data):
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


def alive():
    s = connect()
    s.sendall(PING)
    assert json.loads(read_line(s))["result"] == {"pong": True}
    s.close()


def error(s, code):
    line = read_line(s)
    answer = json.loads(line)
    assert answer["error"]["code"] == code, line
    assert answer["error"]["data"]["errno"], line
    return answer


def clients():
    """Connections that the server has accepted."""
    with open("/proc/net/unix") as f:
        ours = {"socket:[%s]" % line.split()[6] for line in f
                if line.rstrip().endswith(PATH)}
    n = 0
    for fd in os.listdir("/proc/%s/fd" % PID):
        try:
            n += os.readlink("/proc/%s/fd/%s" % (PID, fd)) in ours
        except FileNotFoundError:
            pass
    return n - 1  # it listens, too


def calls():
    """Threads of slow methods."""
    n = 0
    for task in os.listdir("/proc/%s/task" % PID):
        try:
            with open("/proc/%s/task/%s/comm" % (PID, task)) as f:
                n += f.read() == "uraid-call\n"
        except FileNotFoundError:
            pass
    return n


def until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit("waited in vain: " + what)
        time.sleep(0.01)


alive()
until(lambda: clients() == 0, "no clients at first")

# --- what is wrong gets an error, on a connection that goes on
call = b'{"jsonrpc":"2.0","id":5,"method":%s,"params":%s}\n'
s = connect()
for line, code in [
        (b"\n", -32700),
        (b"hello\n", -32700),
        (b"\0\0\0\0\n", -32700),
        (bytes(range(128, 256)) + b"\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', -32700),
        (b"[" * 60000 + b"\n", -32700),
        (b'{"a":' * 10000 + b"\n", -32700),
        (b'{"id":1,"id":2}\n', -32700),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}\n', -32700),
        (b"[]\n", -32600),
        (b"7\n", -32600),
        (b'{"jsonrpc":"2.0","method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":-1,"method":-1}\n', -32600),
        (call % (b'"nope"', b"{}"), -32601),
        (call % (b'"' + b"x" * 65000 + b'"', b"{}"), -32601),
        (call % (b'"detail"', b"[]"), -32602),
        (call % (b'"detail"', b"-9223372036854775808"), -32602),
        (call % (b'"shutdown"', b'{"force":true}'), -32602),
]:
    s.sendall(line)
    error(s, code)
s.sendall(PING)
assert "result" in json.loads(read_line(s))

# --- exactly 64 KiB are read, one byte more is the end of the connection
s.sendall(PING[:-1].ljust(65536) + b"\n")
assert "result" in json.loads(read_line(s))
send_all(s, b" " * 65537)
assert error(s, -32700)["error"]["data"]["errno"] == "EMSGSIZE"
is_closed(s)
s = connect()
send_all(s, b"x" * (8 << 20))
error(s, -32700)
is_closed(s)

# --- pieces: byte by byte, two in one, the last without a newline
s = connect()
for i in range(len(PING)):
    s.sendall(PING[i:i + 1])
assert "result" in json.loads(read_line(s))
s.sendall(PING + PING[:10])
assert "result" in json.loads(read_line(s))
alive()
s.sendall(PING[10:])
assert "result" in json.loads(read_line(s))
s.sendall(PING[:-1])
s.shutdown(socket.SHUT_WR)
assert "result" in json.loads(read_line(s))
is_closed(s)

# --- who does not read is dropped, and is no burden meanwhile
s = connect()
s.setblocking(False)
detail = PING.replace(b"ping", b"detail")
sent = 0
try:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            sent += s.send(detail * 50)
        except BlockingIOError:
            alive()
except (BrokenPipeError, ConnectionResetError):
    pass
else:
    sys.exit("never dropped after %d bytes" % sent)
# Answers are far longer than requests; the rest lay in the socket.
if sent > 1 << 20:
    sys.exit("dropped after %d bytes of requests only" % sent)
s.close()

# --- 32 with half a line each; the 33rd is told; one goes, one may come
crowd = [connect() for i in range(32)]
for s in crowd:
    s.sendall(PING[:20])
until(lambda: clients() == 32, "32 clients")
s = connect()
assert error(s, -32000)["error"]["data"]["errno"] == "EBUSY"
is_closed(s)
crowd[7].sendall(PING[20:])
assert "result" in json.loads(read_line(crowd[7]))
crowd.pop().close()
until(lambda: clients() == 31, "the end of one")
alive()
for s in crowd:
    s.close()

# --- rubbish, and gone in the middle of everything
tune = PING.replace(b'"ping"', b'"tune.set","params":'
                    b'{"key":"rmw_level","value":1}')
random.seed(int(sys.argv[3]))
for i in range(300):
    s = connect()
    send_all(s, random.choice([PING, detail, tune, b"", random.randbytes(50)]) *
             random.randrange(5) + random.randbytes(random.randrange(300)))
    if random.randrange(2):
        s.shutdown(socket.SHUT_WR)
        is_closed(s)
    s.close()
alive()
until(lambda: clients() == 0, "descriptors to be given back")
until(lambda: calls() == 0, "threads to end")

# --- asks for the end, twice, and is gone before the answer; another hears it
s = connect()
s.sendall(PING.replace(b"ping", b"shutdown") * 2)
s.close()
END
seed=$RANDOM
echo "seed $seed"
/usr/bin/python3 hostile.py "$uraid_control" "$uraid_pid" "$seed" &
client=$!
pids[$client]=1
# The array is served all the time.
while is_running "$client"; do
    is_running "$uraid_pid" || break
    io write:0:65536:1 check:0:65536:1 >>io.log 2>&1 || break
done
wait_exit "$client" 200
[ "$exit_status" -eq 0 ] || fail "see above (seed $seed)"
wait_exit "$uraid_pid"
[ "$exit_status" -eq 0 ] || fail "uraid ended with status $exit_status"
[ ! -e "$uraid_control" ] || fail "the socket is left"
start_uraid
io check:0:65536:1
stop_uraid
