#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The control socket: where it is, who may use it, what detail, status and
# stats say, also of a degraded array and of one of 40 TiB; shutdown ends the
# process although clients are connected, and the members are clean.

# shellcheck disable=SC2154 # uraid_uri and others are from functions.sh
# shellcheck disable=SC2016 # conditions of wait_for
# shellcheck disable=SC2004,SC2034 # pids belongs to functions.sh

. "${0%/*}/functions.sh"
. "${test_file%/*}/control-functions.sh"
requires_filter rate
requires command -v podchecker

# A process that ends in spite of its clients joins no threads.
TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0
sb() { /usr/bin/python3 "$abs_top_srcdir/tests/sbtool.py" "$@"; }
# hold FIFO STEP...: a client in $client that stays until FIFO is closed
hold() {
    local fifo=$1
    shift
    rm -f "$fifo"
    mkfifo "$fifo"
    io "$@" wait <"$fifo" >"$fifo.log" 2>&1 &
    client=$!
    pids[$client]=1
}

make_members 6 32M
start_members 6
create() {
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create v --level=6 --raid-devices=6 --chunk=64K --assume-clean \
        --bitmap=internal --homehost=h "$@" $(all_member_uris) >create.log
}
create

# ---------------------------------------------------------------- read-outs

start_uraid safe_mode_delay=60 stripe_cache_size=1000 connections=4
[ "$(stat -c %a "$uraid_control")" = 600 ] ||
    fail "the socket has mode $(stat -c %a "$uraid_control")"
[ "$(rpc ping pong)" = true ]
[ "$(rpc version schema)" = uraid/1 ]
for i in name:h:v level:raid6 raid_devices:6 total_devices:6 degraded:0 \
    in_sync:6 failed:0 spares:0 chunk_bytes:65536 layout:left-symmetric \
    layout_number:2 metadata_version:1.2 state:clean writable:true \
    consistency_policy:bitmap resync_offset_bytes:null \
    array_size_bytes:"$(nbdsh -u "$uraid_uri" -c 'print (h.get_size ())')" \
    member_size_bytes:$(($(sb get m0 size) * 512)) \
    events:"$(sb get m0 events)" \
    created_utc:$(($(sb get m0 ctime) & 0xffffffffff)); do
    is "array.${i%%:*}" "${i#*:}"
done
uraid_cmd examine m0 | grep -q "UUID : $(rpc detail array.uuid)"
uraid_cmd examine m4 | grep -q "UUID : $(rpc detail members.4.uuid)"
is members.4.slot 4
is members.4.number 4
is members.4.state in_sync
is members.4.connections 4
is members.4.address "$(member_uri 4)"
is sync.action idle
is cache.stripe_cache_size 1000
is cache.limit_bytes $((1000 * 6 * 4096))
is bitmap.total_chunks 1
[ "$(rpc status arrays.0.array.name schema | tr '\n' ' ')" = 'h:v uraid/1 ' ]

# The manual page knows all methods and all fields.
page=$abs_top_srcdir/man/uraid-control.pod
podchecker -warnings -warnings "$page" 2>podchecker.log ||
    fail "podchecker: $(cat podchecker.log)"
sed -n '/^static const struct rpc_method/,/^};/s/^ *{"\([a-z._]*\)",.*/\1/p' \
    "$abs_top_srcdir/plugin/control.c" >words
[ "$(wc -l <words)" -ge 7 ]
rpc detail | sed -n 's/^ *"\([a-z_0-9]*\)": [^{[].*/\1/p' | sort -u >>words
[ "$(wc -l <words)" -ge 60 ]
while read -r word; do
    grep -q "^=item .*B<$word>" "$page" || [ "$word" = schema ] ||
        fail "$word is not in uraid-control.pod"
done <words

rpc stats.reset >/dev/null
is members.0.reads 0
io write:0:262144:1 flush
is stats.write_full 1
is array.state active
is bitmap.dirty_chunks 1
[ "$(rpc stats.get members.0.write_bytes)" -ge 65536 ]
[ "$(rpc detail cache.memory_bytes)" -le "$(rpc detail cache.limit_bytes)" ]

# Tuning, as a client sees it (test-tunables has the rest).
[ "$(rpc tune.list tunables.stripe_cache_size.origin)" = 'command line' ]
[ "$(rpc tune.get -p '{"keys":["rmw_level"]}' tunables.rmw_level.value)" = 1 ]
rpc tune.set -p '{"key":"stripe_cache_size","value":"2000"}' >out
grep -q '"previous": 1000' out || fail "$(cat out)"
is cache.stripe_cache_size 2000
if rpc tune.set -p '{"key":"stripe_cache_size","value":5}' 2>out; then
    fail 'stripe_cache_size 5 was taken'
fi
grep -q -- '-32602.*"EINVAL".*"allowed": "17..262144"' out || fail "$(cat out)"
if rpc tune.get -p '{"keys":["no_such"]}' 2>out; then
    fail 'there is no no_such'
fi
grep -q '"ENOENT"' out || fail "$(cat out)"
is cache.stripe_cache_size 2000

# Degraded: the slot is empty, and who was there comes last.
kill_member 2
io check:0:262144:1 write:0:4096:2
wait_for '[ "$(rpc detail array.failed)" = 1 ]'
is array.degraded 1
is array.in_sync 5
is members.2.state missing
is members.2.slot 2
is members.2.number null
is members.6.state faulty
is members.6.number 2
is members.6.slot null
is members.6.connections 0
stop_uraid
[ ! -e "$uraid_control" ] || fail "the socket is left after SIGTERM"

# Recovering: far enough below the end to be seen, with right numbers.
restart_member 2 --filter=rate rate=64M
start_uraid
wait_for '[ "$(rpc detail sync.position_bytes)" -gt 0 ]'
rpc detail array.in_sync array.degraded members.2.state sync.action >out
if [ "$(sed -n 3p out)" = recovering ]; then # else it was quick
    [ "$(tr '\n' ' ' <out)" = '5 1 recovering recover ' ] || fail "$(cat out)"
fi
wait_for '[ "$(rpc detail array.in_sync sync.action | xargs)" = "6 idle" ]' 60

# ----------------------------------------------------------------- shutdown

# An idle client, and a superblock that only the stop can make clean.
stop_uraid
start_uraid safe_mode_delay=60
hold idle write:0:500000:3
exec 9>idle
for i in 0 1 2 3 4 5; do
    sb wait "m$i" resync_offset 0
done
[ "$(rpc shutdown stopped clean | xargs)" = 'true true' ] ||
    fail "shutdown did not say clean"
for i in 0 1 2 3 4 5; do
    [ "$(sb get "m$i" resync_offset)" = 18446744073709551615 ] ||
        fail "member $i is not clean when shutdown is answered"
done
is_running "$client" || fail "the client has ended: $(cat idle.log)"
wait_exit "$uraid_pid"
[ "$exit_status" -eq 0 ] || fail "uraid ended with status $exit_status"
[ ! -e "$uraid_control" ] || fail "the socket is left after shutdown"
exec 9>&-
wait_exit "$client"

# Nothing to resync, nothing written by starting and reading.
members_sha >before
start_uraid
io check:0:500000:3
stop_uraid
members_sha >after
cmp before after || fail "a clean start and a read have changed a member"

# While it is written to, by a client that never pauses: writes are refused soon,
# and what was acknowledged is there.
cat >writer.py <<'END'
import sys
import nbd

DEPTH, BLOCKS, MOST = 32, 2000, 30000
h = nbd.NBD()
h.connect_uri(sys.argv[1])
refused = []
acknowledged = {}  # block: number of the last write answered
submitted = {}


def write(number):
    def done(error):
        if error.value != 0:
            refused.append(error.value)
        else:
            block = number % BLOCKS
            acknowledged[block] = max(number, acknowledged.get(block, -1))
        return 1

    submitted[number % BLOCKS] = number
    h.aio_pwrite(nbd.Buffer.from_bytearray(
        bytearray(number.to_bytes(8, "little") * 1024)),
        number % BLOCKS * 8192, done)


number = 0
try:
    while not refused:
        while h.aio_in_flight() < DEPTH:
            write(number)
            number += 1
            if number == 500:
                open("writing", "w").close()
            if number == MOST:
                sys.exit("nobody has refused %d writes" % MOST)
        h.poll(-1)
    while h.aio_in_flight() > 0:
        h.poll(-1)
except nbd.Error as e:
    if e.errno not in ("ESHUTDOWN", "EIO", "ENOTCONN", "EPIPE", "ECONNRESET"):
        raise
h = nbd.NBD()
input()
h.connect_uri(sys.argv[1])
for block, last in acknowledged.items():
    found = int.from_bytes(h.pread(8, block * 8192), "little")
    # One that was not answered, or refused, may be there.
    if not (last <= found <= submitted[block] and found % BLOCKS == block):
        sys.exit("block %d: write %d is lost, %d is there" % (block, last, found))
END
start_uraid
mkfifo go
/usr/bin/python3 writer.py "$uraid_uri" <go &
client=$!
pids[$client]=1
exec 9>go
wait_for '[ -e writing ]'
[ "$(rpc shutdown clean)" = true ] || fail "not clean"
wait_exit "$uraid_pid"
[ "$exit_status" -eq 0 ]
[ "$(sb get m5 resync_offset)" = 18446744073709551615 ] || fail "not clean"
start_uraid
echo >&9
exec 9>&-
wait_exit "$client"
[ "$exit_status" -eq 0 ] || fail "an acknowledged write is lost"

# SIGTERM has stopped the array, an idle client keeps nbdkit: shutdown ends it.
hold idle2 write:0:4096:4
exec 9>idle2
wait_for '[ "$(rpc detail stats.runs)" -gt 0 ]'
kill -TERM "$uraid_pid"
wait_for '[ "$(rpc detail array.state)" = stopped ]'
is array.writable false
is_running "$uraid_pid"
[ "$(rpc shutdown clean)" = true ]
wait_exit "$uraid_pid"
[ "$exit_status" -eq 0 ]
exec 9>&-
wait_exit "$client"

# Broken: said so, and ended all the same.
start_uraid safe_mode_delay=60
io write:0:4096:5
# All three at once: one that is gone before the others is recorded as out.
kill -STOP "$uraid_pid"
for i in 0 1 2; do
    kill_member $i
done
kill -CONT "$uraid_pid"
io eio:0:1000000
is array.state broken
is array.writable false
[ "$(rpc shutdown clean)" = false ] || fail "a broken array was called clean"
wait_exit "$uraid_pid"
[ "$exit_status" -eq 0 ]
# Anew: one of them may have been recorded as lost, and that is not to be mended
# here.
for i in 0 1 2; do
    restart_member $i
done
create --force

# ------------------------------------------------------------ the socket file

# Left over from a crash: replaced.  Somebody answers: refused, and unharmed.
start_uraid
kill_uraid
[ -S "$uraid_control" ]
start_uraid
[ "$(rpc ping pong)" = true ]
mv uraid.pid first.pid
mv "$uraid_sock" first.sock
uraid_refuses "error: .*$uraid_control: another server answers"
[ "$(rpc ping pong)" = true ] || fail "the first server lost its socket"
# Something else in its place at the end: not ours to remove.
rm "$uraid_control"
echo precious >"$uraid_control"
stop_uraid
[ "$(cat "$uraid_control")" = precious ] || fail "a foreign file is gone"
uraid_refuses "error: .*$uraid_control: .* no socket"
[ "$(cat "$uraid_control")" = precious ] || fail "a foreign file is gone"
rm "$uraid_control"

long=$workdir/$(printf '%0100d' 0).sock
uraid_refuses "error: .*00.sock: the path has .* at most 107" control="$long"
uraid_refuses 'error: .*no/such/c: bind: No such file' control=no/such/c

# A relative path, none, and the default place.
start_uraid control=c.sock
/usr/bin/python3 "$abs_top_srcdir/tests/rpc.py" c.sock ping >/dev/null
stop_uraid
[ ! -e c.sock ]
start_uraid control=none
[ -z "$(find . -name '*.sock' ! -name 'm?.sock' ! -name uraid.sock \
    ! -name first.sock)" ] || fail "control=none made a socket"
stop_uraid
if [ ! -w /run/uraid ]; then
    uraid_control=''
    mkdir run
    XDG_RUNTIME_DIR=$workdir/run start_uraid
    uraid_control=$workdir/run/uraid/h:v.sock
    [ "$(rpc ping pong)" = true ]
    uraid_control=''
    stop_uraid
    [ ! -e run/uraid/h:v.sock ]
    : >uraid.log
    XDG_RUNTIME_DIR='' start_uraid
    grep -q 'no control socket: .*; give control=PATH, or control=none' uraid.log
    stop_uraid
    : >uraid.log
    long=$workdir/$(printf '%090d' 0)
    mkdir "$long"
    XDG_RUNTIME_DIR=$long start_uraid
    grep -q 'no control socket: .*at most 107' uraid.log
    stop_uraid
    uraid_control=$workdir/control.sock
fi

# ------------------------------------------------------------------ 40 TiB

uris=()
for i in 0 1 2 3; do
    start_nbdkit "big$i" -U "$workdir/big$i.sock" memory 20T
    uris+=("nbd+unix:///?socket=$workdir/big$i.sock")
done
uraid_cmd create big --level=6 --raid-devices=4 --assume-clean --bitmap=none \
    "${uris[@]}" >create.log
start_uraid "${uris[@]}"
rpc detail array.array_size_bytes array.member_size_bytes sync.total_bytes \
    bitmap >out
{
    read -r array
    read -r member
    read -r total
    read -r bitmap
} <out
[ "$array" -gt $((39 << 40)) ] && [ "$array" -le $((40 << 40)) ]
[ "$array" -eq $((2 * member)) ] && [ "$total" -eq "$member" ]
[ "$bitmap" = null ]
stop_uraid
