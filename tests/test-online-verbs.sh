#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# status, detail, get, set, stop: how a socket is found, what is sent, exit
# codes, and that no answer, however bad, does more than make them fail with
# status 4.  First against fakectl.py, then with arrays that are served.

. "${0%/*}/functions.sh"

export TZ=UTC XDG_RUNTIME_DIR=$workdir/run
places=$XDG_RUNTIME_DIR/uraid
mkdir -p "$places"

# fake SOCKET: fakectl.py there, with the file SOCKET.case; pid in $fake_pid
fake() {
    : >"$1.case"
    # shellcheck disable=SC2154 # from functions.sh
    /usr/bin/python3 "$abs_top_srcdir/tests/fakectl.py" "$1" "$1.case" \
        >>fake.log 2>&1 &
    fake_pid=$!
    pids[$fake_pid]=1
    wait_for "[ -S '$1' ]"
}

# gives STATUS REGEX COMMAND...: REGEX (grep -E) in standard output and error,
# "" = nothing at all there
gives() {
    local status=0 want=$1 regex=$2
    shift 2
    uraid_cmd "$@" >out 2>err </dev/null || status=$?
    cat out err >both
    [ "$status" -eq "$want" ] || fail "$*: $status, not $want: $(cat both)"
    if [ -z "$regex" ]; then
        [ ! -s both ] || fail "$*: $(cat both)"
    else
        grep -Eq -- "$regex" both || fail "$*: no \"$regex\" in $(cat both)"
    fi
}

# ----------------------------------------------------------- command line

for verb in detail stop get -D --detail -S --stop; do
    gives 64 'array' $verb
    gives 64 'name of the array is empty' $verb ''
    gives 64 'unknown option' $verb --nothing v
done
gives 64 'exactly one' detail a b
gives 64 'exactly one' stop a b
gives 64 'pairs' set v
gives 64 'pairs' set v key
gives 64 'pairs' set v key 1 key
gives 64 'takes no keys' get v --all key
gives 64 'neither with' detail v --export --stats
gives 64 'is for --watch' status --count=2
gives 1 'allowed 1s\.\.1d' status --watch --interval=0
gives 1 'allowed 1s\.\.1d' stop v --timeout=0

# --------------------------------------------------------------- finding

# Nobody; the message says where it looked.
gives 4 "uraid: detail: v: no such array .*/run/uraid and $places" detail v
gives 4 'no such array' status v
gives 4 'no such array' stop v
gives 4 'connecting failed: No such file' detail ./v.sock
gives 4 'connecting failed: Socket operation on non-socket' detail "$test_file"
gives 4 'allowed at most 107 bytes' detail "./$(printf '%0200d' 0)"
gives 4 'no such array' detail "$(printf '%0300d' 0)"

fake "$places/v.sock"
v=$places/v.sock
for array in v "$v" run/uraid/v.sock; do
    gives 0 'vol0 : active' status "$array"
    gives 0 'Raid Devices : 6' -D "$array"
done
# A name as the server makes a file's name of it.
fake "$places/_a_b.sock"
gives 0 'Raid Devices : 6' detail ".a$(printf '\033')b"
# With the host, and without it unless there are two.
fake "$places/h1:w.sock"
gives 0 'Raid Devices : 6' detail w
gives 0 'Raid Devices : 6' detail h1:w
gives 4 'no such array' detail 1:w
gives 4 'no such array' detail :w
fake "$places/h2:w.sock"
gives 4 'several hosts' detail w
gives 0 'Raid Devices : 6' detail h2:w

# All of them, without those whose server has gone.
kill_hard "$fake_pid"
touch "$places/file.sock"
uraid_cmd status >out 2>err
[ "$(grep -c '^vol0 : active' out)" -ge 3 ]
grep -q "^uraid: note: h2:w: no server is at $places/h2:w.sock" err
gives 4 'no server is there.*may be removed' status h2:w
gives 4 'no server is there' detail h2:w
uraid_cmd status --json >json 2>err
[ ! -s err ]
/usr/bin/python3 -c 'import json; d = json.load(open("json"))
assert len(d["arrays"]) >= 3, d'
# One that makes no sense does not hide the others.
echo 'hostile garbage' >"$places/h1:w.sock.case"
status=0
uraid_cmd status >out 2>err || status=$?
[ "$status" -eq 4 ]
grep -q "uraid: status: $places/h1:w.sock: the answer makes no sense" err
[ "$(grep -c '^vol0 : active' out)" -ge 2 ]

# --------------------------------------------------------- hostile answers

array() {
    printf '%s\n' "$@" >"$v.case"
}
while read -r word reason; do
    array "hostile $word"
    gives 4 "the answer makes no sense: .*$reason" detail --test v
    [ ! -s out ]
    gives 4 'the answer makes no sense' status --json v
    [ ! -s out ]
    gives 4 '"code": "EPROTO"' status --json v
    [ "$word" = empty ] || gives 4 "$reason" get v
    [ "$word" = empty ] || gives 4 "$reason" set v stripe_cache_size 17
    gives 4 'the answer makes no sense' stop v
    ! grep -q '[^ -~]' err || fail "$word: $(cat -v err)"
done <<'END'
close closed without an answer
garbage no JSON
truncated in the middle of the answer
wrong-id belongs to another request
no-version "jsonrpc" is not
list is no object
deep maximum parsing depth
endless longer than 1 MiB
result-text "result" is no object
error-text "error" is no object
empty "array" is missing
twice duplicate object key
END
array 'hostile error-empty'
gives 4 'Input/output error' detail v
array 'hostile silent'
gives 4 'waiting for the answer took longer than 1 s' \
    detail --request-timeout=1 v
gives 5 'waiting for the answer took longer than 1 s' stop --timeout=1 v

# Each field that is missing or wrong.
for path in array array.name array.level array.raid_devices array.state \
    array.created_utc array.writable array.resync_offset_bytes members \
    members.3 members.3.slot members.3.state members.3.address sync \
    sync.action sync.total_bytes; do
    case $path in
    members.3) array 'members.3=null' ;;
    *) array "-$path" ;;
    esac
    gives 4 'makes no sense: .*(is missing|is no )' detail v
    gives 4 'makes no sense' status v
    for value in '[]' '-1' '1.5'; do
        array "$path=$value"
        [ "$path$value" != 'members[]' ] || continue
        gives 4 'makes no sense' detail v
    done
done
for line in 'array.raid_devices=0' 'array.raid_devices=2' \
    'array.raid_devices=1025' 'array.raid_devices=9223372036854775807' \
    'array.raid_devices=9223372036854775808' 'array.level="raid1"' \
    'array.events=-1' 'members.3.slot=6' 'members.3.slot=2' \
    'members.3.slot=null' 'bitmap={}' 'bitmap=1' 'array.uuid="\u0000"'; do
    array "$line"
    gives 4 'makes no sense' detail v
done
for line in '-cache' '-cache.memory_bytes' 'workers=[]' '-stats.prereads' \
    'stats.x="y"' 'parity.kernels=1'; do
    array "$line"
    gives 0 'Raid Devices' detail v
    gives 4 'makes no sense' detail --stats v
done
array 'members=[]'
gives 2 'Active Devices : 0' detail --test v

# --------------------------------------------------------------- get, set

array
uraid_cmd get v >out
diff -u - out <<'END'
stripe_cache_size 1024 (default auto, allowed 17..262144, origin auto)
group_thread_cnt 0 (default -1, allowed -1..8192, origin command line)
skip_copy yes (default yes, allowed yes, no, origin default)
END
uraid_cmd get v --all >out
[ "$(sed -n '$p' out)" = \
    'stripe_size 4096 (default 4096, allowed nothing, origin default)' ]
[ "$(wc -l <out)" -eq 4 ]
[ "$(uraid_cmd get v stripe_size)" = "$(sed -n '$p' out)" ]
[ "$(uraid_cmd get v skip_copy stripe_size)" = "$(sed -n '3,4p' out)" ]
gives 0 '"allowed": "17..262144"' get v --json stripe_cache_size
gives 1 '^uraid: nothing: unknown tunable$' get v nothing
gives 1 'unknown tunable' get v skip_copy nothing
for line in 'tunables=[]' 'tunables.skip_copy=1' '-tunables.skip_copy.value' \
    'tunables.skip_copy.value={}' 'tunables.skip_copy.origin=null'; do
    array "$line"
    gives 4 'makes no sense' get v
    [ ! -s out ]
done
array 'result.tunables={}'
gives 4 'a key that was asked for is missing' get v skip_copy
printf '%s\n' 'tunables.a={"value":"\u001b","default":null,"allowed":"\u0007","origin":"\r","changes":""}' \
    >"$v.case"
gives 0 '^a \\x1b \(default none, allowed \\x07, origin \\x0d\)$' get v a

sent() { # what was sent since the last time, without what all requests have
    sed 's/{"jsonrpc":"2.0","id":1,"method"://' "$v.log"
    : >"$v.log"
}
array
sent >/dev/null
gives 0 '' set v stripe_cache_size 4096 group_thread_cnt -1
diff -u - <(sent) <<'END'
"tune.set","params":{"key":"stripe_cache_size","value":"4096"}}
"tune.set","params":{"key":"group_thread_cnt","value":"-1"}}
END
gives 0 '"value": -1' set v group_thread_cnt -1 --json
gives 0 '' set -- v group_thread_cnt -1
gives 0 '' set v group_thread_cnt -- -1
gives 0 '^uraid: note: group_thread_cnt: that is many\\x1b\[2J$' \
    set v group_thread_cnt 300
gives 1 '^uraid: stripe_cache_size: 16: Invalid argument \(allowed 17\.\.262144\)$' \
    set v stripe_cache_size 16
[ ! -s out ] && [ "$(wc -l <err)" -eq 1 ]
gives 1 '^uraid: stripe_cache_size: 200000: needs 24576 bytes a stripe$' \
    set v stripe_cache_size 200000
gives 1 '^uraid: x: 1: unknown tunable$' set v x 1
gives 3 '^uraid: stripe_size: 1: refused$' set v stripe_size 1
# The first refusal ends it; what was done is told.
sent >/dev/null
gives 1 '"code": "EINVAL"' set --json v group_thread_cnt 2 \
    stripe_cache_size 16 group_thread_cnt 3
grep -q '"allowed": "17..262144"' err
[ "$(sent | wc -l)" -eq 2 ]
/usr/bin/python3 -c 'import json; d = json.load(open("out"))
assert d["changed"] == [
    {"key": "group_thread_cnt", "value": 2, "previous": 1}], d'

# ------------------------------------------------------------ watch, stop

uraid_cmd status --watch --interval=1 --count=2 v >out
diff -u - out <<END
$(uraid_cmd status v)

$(uraid_cmd status v)
END
# Who watches into a pipe that nobody reads ends.
set +o pipefail
timeout 60 "$URAID" status --watch --interval=1 v 2>err | head -n 1 >out ||
    fail 'the watch goes on'
set -o pipefail
grep -q 'standard output: Broken pipe' err

array 'result.clean=false'
fake "$places/x.sock"
gives 0 '^stopped x$' stop x
wait_exit "$fake_pid"
[ ! -s err ]
gives 4 'no server is there' stop x
rm "$places/x.sock"
gives 0 '^uraid: note: v: it could not be marked clean' -S v
grep -qx 'stopped v' out
rm "$v"
fake "$v"
array 'result.stopped=false'
gives 1 'has not stopped' stop v
rm "$v"
for line in '-result' 'result.clean=1' 'result.stopped="yes"'; do
    fake "$v"
    array "${line/-result/result.stopped=null}"
    gives 4 'makes no sense' stop v
    rm "$v"
done
fake "$v"
gives 0 '"clean": true' stop --json v
kill_hard "$fake_pid" 2>/dev/null || :
rm -f "$places"/*

# ------------------------------------------------ arrays that are served

make_members 7 16M
start_members 7

# serve NR-SPARES ARG...: a new array vol0 of all members, at its name
serve() {
    local spares=$1
    shift
    # shellcheck disable=SC2046 # one word a line
    uraid_cmd create vol0 --level=6 --raid-devices=$((7 - spares)) \
        --spare-devices="$spares" --chunk=64K --assume-clean --homehost=h \
        --bitmap=internal --force $(all_member_uris) >create.log
    start_uraid control="$places/h:vol0.sock" "$@"
}
write() {
    nbdsh -u "$uraid_uri" -c 'h.pwrite (b"x" * 65536, 0); h.flush ()'
}
# lost SLOT WAY: every read-out says so
lost() {
    local address
    address=$(member_uri "$1")
    gives 1 'Failed Devices : 1$' detail --test vol0
    grep -Eq "^ +- +$1 +removed$" out || fail "$2: $(cat out)"
    grep -Eq "^ +[0-9-]+ +- +(faulty|stale|missing) +" out ||
        fail "$2: $(cat out)"
    [ "$(grep -cF "$address" out)" -eq 1 ] || fail "$2: $(cat out)"
    grep -q 'Total Devices : 7$' out || fail "$2: $(cat out)"
    gives 0 '\[7/6\] \[UUU_UUU\]$' status vol0
    grep -qF " $address[" out || fail "$2: $(cat out)"
    grep -q '\](F)' out || fail "$2: $(cat out)"
}

# All is well, and is what examine says of a member.
serve 0
gives 0 '^vol0:$' detail --test --stats vol0
for label in 'Array Size' 'Raid Level' 'Raid Devices' 'Creation Time' \
    'Layout' 'Chunk Size' 'Version' 'Events'; do
    uraid_cmd examine m0 | sed -n "s/^ *$label : //p" | sed 's/ KiB//' >a
    sed -n "s/^ *$label : //p" out | diff -u a - || fail "$label differs"
done
grep -q "UUID : $(uraid_cmd examine m0 | sed -n 's/.*Array UUID : //p')" out
grep -q 'Name : h:vol0' out
gives 0 '^h:vol0 : active .*\[6\]$' status
gives 0 '^      bitmap: [01]/1 pages \[[04]KB\], 65536KB chunk$' status vol0
write
gives 0 'Write Stats : full 0, rcw [01], rmw [01], ' detail --stats vol0

# Lost while it serves: the process dies.
kill_member 3
write
lost 3 killed
# A second one is bearable, a third one not.
kill_member 4
write
gives 1 'State : .*, degraded' detail --test vol0
kill_member 5
nbdsh -u "$uraid_uri" -c '
try:
    h.pread (1 << 20, 0)
    raise SystemExit ("it can be read")
except nbd.Error:
    pass'
gives 2 'State : broken, FAILED' detail -t vol0
gives 0 '^h:vol0 : broken raid6' status vol0
gives 0 '^uraid: note: vol0: it could not be marked clean' stop vol0
wait_exit "$uraid_pid"
gives 4 'no such array' detail --test vol0

# It freezes; connecting is refused; it cannot write.
restart_member 3
restart_member 4
restart_member 5
serve 0 request-timeout=2
freeze_member 3
write
lost 3 frozen
thaw_member 3
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid"

serve 0
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid"
kill_member 3
start_uraid control="$places/h:vol0.sock"
lost 3 refused
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid"

start_member 3 --filter=error error-pwrite=EIO error-pwrite-rate=100% \
    error-pwrite-file="$workdir/no-writes"
serve 0
touch no-writes
write
lost 3 'cannot write'
rm no-writes

# A client that stays does not keep it; when stop returns it is gone, and clean.
mkfifo hold
nbdsh -u "$uraid_uri" -c '
import sys
h.pread (512, 0)
open ("held", "w").close ()
sys.stdin.read ()' <hold &
client=$!
pids[$client]=1
exec 9>hold
wait_for '[ -e held ]'
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid" 1
[ "$exit_status" -eq 0 ]
uraid_cmd examine m0 | grep -q 'State : clean'
exec 9>&-
wait "$client" || :
unset "pids[$client]"

# A spare is rebuilt, slowly enough to be seen.
requires_filter delay
restart_member 3
restart_member 6 --filter=delay wdelay=100ms
serve 1
gives 0 '\[6\]\(S\)$' status vol0
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid"
kill_member 3
start_uraid control="$places/h:vol0.sock"
wait_for 'uraid_cmd status vol0 >out; grep -q recovery out'
grep -Eq '^      \[=*>\.*\]  recovery = *[0-9.]+% \([0-9]+/15360\) .*speed=[0-9]+K/sec$' out
wait_for 'uraid_cmd detail --test vol0 >out' 60 recovery
grep -q 'Working Devices : 6$' out
grep -q '3      active sync .*/m6.sock$' out

# Tunables.
gives 0 '"previous": ' set --json vol0 stripe_cache_size 512
gives 0 '^stripe_cache_size 512 \(.*, origin set\)$' get vol0 stripe_cache_size
gives 1 '^uraid: stripe_cache_size: 16: Invalid argument \(allowed 17\.\.262144\)$' \
    set vol0 stripe_cache_size 16
gives 1 '^uraid: sync_thread_cnt: ' get vol0 sync_thread_cnt
gives 0 '^group_thread_cnt ' get vol0
gives 0 '^stopped vol0$' stop vol0
wait_exit "$uraid_pid"
