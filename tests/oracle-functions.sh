# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# More functions, for the tests that compare uraid with the kernel's md.  To be
# read after tests/functions.sh; no test itself.
#
# A "spec" is a line that describes an array:
#
#     NAME LEVEL MEMBERS LAYOUT CHUNK METADATA BITMAP FIRST DEVICES
#
# CHUNK in KiB; BITMAP is "none" or the bitmap's chunk in KiB.  The others are
# added by number_specs: FIRST is the number of its first image, its members
# are m<FIRST> and the following; DEVICES are their names in the guest.  The
# specs of arrays that share a guest stand in share/specs; share/ is /share in
# the guest, and share/NAME.ref holds what must be in the array.
# shellcheck shell=bash

requires_oracle
requires command -v nbdcopy
requires nbdsh --version

mkdir share

# number_specs: read specs, write them to share/specs with what is added, and
# set $images, how many images they need
number_specs() {
    local spec n
    images=0
    while read -r spec; do
        read -r _ _ n _ <<<"$spec"
        echo "$spec $images" \
            "$(seq -s ' ' -f /dev/m%g $images $((images + n - 1)))"
        images=$((images + n))
    done >share/specs
    [ "$images" -le 16 ] || fail "$images images are too many for one guest"
}

# read_spec SPEC: into $name $level $n $layout $chunk $metadata $bitmap $first,
# and $parity, how many members can be missing
read_spec() {
    # shellcheck disable=SC2034 # for the tests
    read -r name level n layout chunk metadata bitmap first _ <<<"$1"
    # shellcheck disable=SC2034 # for the tests
    parity=1
    [ "$level" -ne 6 ] || parity=2
}

# create_options: what uraid create and mdadm --create both understand
create_options() {
    create_options=("--level=$level" "--raid-devices=$n" "--chunk=${chunk}K"
        "--metadata=$metadata")
    [ "$level" -eq 4 ] || create_options+=("--layout=$layout")
    if [ "$bitmap" = none ]; then
        create_options+=(--bitmap=none)
    else
        create_options+=(--bitmap=internal "--bitmap-chunk=${bitmap}K")
    fi
}

# scribble REF SEED COUNT [AFTER:PID...]: COUNT writes of random size at random
# places to $uraid_uri and to the file REF, many at a time; when the AFTERth is
# answered, process PID is killed.  Writes in flight do not overlap.
scribble() {
    # shellcheck disable=SC2154 # from functions.sh
    /usr/bin/python3 - "$uraid_uri" "$@" <<'END'
import nbd, os, random, signal, sys

uri, ref, seed, count = sys.argv[1:5]
r = random.Random (seed)
count = int (count)
kills = sorted ((int (a), int (p))
                for a, p in (x.split (":") for x in sys.argv[5:]))
h = nbd.NBD ()
h.connect_uri (uri)
size = h.get_size ()
f = os.open (ref, os.O_RDWR)
assert os.fstat (f).st_size == size, (ref, size)
busy = {}
issued = answered = 0

def start ():
    kind = r.random ()
    if kind < 0.4:
        n = r.randrange (1, 17) * 4096
    elif kind < 0.7:
        n = r.randrange (1, 129) * 512
    elif kind < 0.9:
        n = r.randrange (1, 20000)
    else:
        n = r.randrange (65536, 1 << 20)
    n = min (n, size)
    at = r.randrange (size - n + 1)
    if 0.4 > kind:
        at = at // 4096 * 4096
    if any (at < o + l and o < at + n for o, l in busy.values ()):
        return False
    zero = r.random () < 0.1
    data = bytes (n) if zero else r.randbytes (n)
    os.pwrite (f, data, at)
    flags = nbd.CMD_FLAG_FUA if r.random () < 0.05 else 0
    if zero:
        cookie = h.aio_zero (n, at, flags=flags)
    else:
        cookie = h.aio_pwrite (data, at, flags=flags)
    busy[cookie] = (at, n)
    return True

while answered < count:
    while issued < count and len (busy) < 16 and start ():
        issued += 1
    h.poll (-1)
    for c in [c for c in busy if h.aio_command_completed (c)]:
        del busy[c]
        answered += 1
    while kills and answered >= kills[0][0]:
        os.kill (kills.pop (0)[1], signal.SIGKILL)
assert not kills
h.flush ()
h.shutdown ()
END
}

# same_as REF: what is served is equal to the file REF
same_as() {
    # shellcheck disable=SC2154 # from functions.sh
    nbdcopy "$uraid_uri" - | cmp - "$1" || fail "what is served is not $1"
}

# in_sync IMAGE...: their superblocks say clean, and that nothing is missing
in_sync() {
    local image
    for image in "$@"; do
        mdadm -E "$image" >in_sync.txt 2>&1 || return 1
        grep -Eq '^ +State : clean$' in_sync.txt || return 1
        if grep -Eq '(Recovery|Resync) Offset' in_sync.txt; then return 1; fi
        if grep -Eq 'Array State : A*[.R]' in_sync.txt; then return 1; fi
    done
}

# quiet_start KLOG: the guest's kernel found nothing to be repaired, and found
# no member stale
quiet_start() {
    if grep -E 'md: (resync|recovery|requested-resync) of|non-fresh|not clean' \
        "$1"; then
        fail 'the kernel found something to repair (above)'
    fi
}

# paths FIRST N: the images, one a line
paths() {
    local i
    for ((i = $1; i < $1 + $2; i++)); do
        # shellcheck disable=SC2154 # from functions.sh
        echo "$workdir/m$i"
    done
}

# Functions for scripts in the guest.  They start as few processes as possible:
# that is what is slow there.
cat >share/guest.sh <<'END'
set -e

# create_spec: mdadm --create what was read from share/specs
create_spec() {
    case $level in
    4) layout= ;;
    *) layout=--layout=$layout ;;
    esac
    case $bitmap in
    none) bitmap=--bitmap=none ;;
    *) bitmap="--bitmap=internal --bitmap-chunk=${bitmap}K" ;;
    esac
    mdadm --create /dev/$name --run --quiet --level=$level --raid-devices=$n \
        --chunk=$chunk --metadata=$metadata $layout $bitmap $devices
}

# is ATTRIBUTE VALUE: of array $name
is() {
    read value </sys/block/$name/md/$1 && [ "$value" = "$2" ]
}

# until_is ATTRIBUTE VALUE
until_is() {
    tries=0
    until is $1 "$2"; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ]; then
            echo "$name: $1 is $value, not $2" >&2
            exit 1
        fi
        usleep 200000
    done
}

# all members there, all parity right, by the array's own word
until_whole() {
    until_is degraded 0
    until_is resync_start none
    until_is sync_action idle
}

# copy_out WHEN: what is in array $name, for outs_are_right to look at; cmp is
# slow here
copy_out() {
    dd if=/dev/$name of=/share/$name.out-$1 bs=1M 2>/dev/null
}

# check NAME...: print how many sectors of parity are wrong in each
check() {
    for name; do
        until_is sync_action idle
        echo check >/sys/block/$name/md/sync_action
    done
    for name; do
        until_is sync_action idle
        read value </sys/block/$name/md/mismatch_cnt
        echo "$name mismatches: $value"
    done
}
END

# guest ARG...: oracle with images m0 ... m<images - 1>, and share/
guest() {
    local i list=()
    for ((i = 0; i < images; i++)); do
        list+=("m$i")
    done
    oracle --timeout 550 --share share --klog klog "${list[@]}" -- "$@"
}

# outs_are_right COUNT: the guest has made COUNT copies, all equal to what must
# be in their arrays
outs_are_right() {
    local out count=0
    for out in share/*.out-*; do
        cmp "$out" "${out%.out-*}.ref" || fail "the kernel read something else"
        rm "$out"
        count=$((count + 1))
    done
    [ "$count" -eq "$1" ] || fail "$count copies were made, not $1"
}

# no_mismatches FILE COUNT: the guest's check of COUNT arrays was right
no_mismatches() {
    [ "$(grep -c 'mismatches: 0$' "$1")" -eq "$2" ] ||
        fail "the kernel's check: $(cat "$1")"
}

# covering_set GROUP: print the specs of that group of arrays, or, without
# GROUP, the groups.  Together they have all layouts that can be made, 3 to 10
# members, all versions of the superblock, three chunk sizes, with and without
# bitmap.
# shellcheck disable=SC2120
covering_set() {
    local specs='
a md0 6 6 left-symmetric 512 1.2 64
a md1 6 10 ddf-N-continue 64 1.0 none
b md0 6 4 left-asymmetric 4 1.1 64
b md1 6 4 right-asymmetric 64 1.0 64
b md2 6 4 right-symmetric 64 1.2 none
b md3 6 4 parity-first 4 1.0 none
c md0 6 5 parity-last 64 1.2 64
c md1 6 5 ddf-zero-restart 4 1.1 none
c md2 6 6 ddf-N-restart 64 1.0 256
d md0 6 7 left-asymmetric-6 64 1.1 none
d md1 6 5 right-asymmetric-6 4 1.2 16
d md2 6 4 left-symmetric-6 512 1.0 none
e md0 6 9 right-symmetric-6 64 1.0 none
e md1 6 4 parity-first-6 64 1.2 none
e md2 4 3 - 64 1.1 64
f md0 5 3 left-asymmetric 4 1.0 none
f md1 5 3 right-asymmetric 64 1.1 64
f md2 5 5 left-symmetric 512 1.2 none
f md3 5 5 right-symmetric 4 1.2 64
g md0 5 4 parity-first 64 1.0 64
g md1 5 4 parity-last 64 1.1 none
g md2 6 8 left-symmetric 4 1.2 none'
    if [ $# -eq 0 ]; then
        echo a b c d e f g
    else
        grep "^$1 " <<<"$specs" | cut -d ' ' -f 2-
    fi
}

# each_group ARG...: if the test was called without arguments, call it once for
# each group of the covering set, two at a time, and end; else return
each_group() {
    [ $# -eq 0 ] || return 0
    # shellcheck disable=SC2119,SC2154 # test_file is from functions.sh
    covering_set | tr ' ' '\n' | xargs -P 2 -n 1 "$BASH" "$test_file" ||
        fail 'a group has failed (above)'
    exit 0
}

# whole IMAGE...: wait until what is served from the images needs nothing more
whole() {
    wait_for "in_sync $*" 120
}

# requested WORD FILE...: how many sectors were asked for with Read or Write,
# by the logs of nbdkit-log-filter
requested() {
    /usr/bin/python3 - "$@" <<'END'
import re, sys

word = re.compile (r"\b%s id=\d+ offset=0x([0-9a-f]+) count=0x([0-9a-f]+) "
                   % sys.argv[1])
total = 0
for name in sys.argv[2:]:
    for line in open (name):
        m = word.search (line)
        if m:
            total += int (m.group (2), 16)
print (total // 512)
END
}

# at_most WHAT VALUE LIMIT, at_least WHAT VALUE LIMIT: sectors
at_most() {
    [ "$2" -le "$3" ] || fail "$1: $2 sectors, more than $3"
}
at_least() {
    [ "$2" -ge "$3" ] || fail "$1: $2 sectors, less than $3"
}

# field NAME IMAGE: the first number behind NAME in "mdadm -E IMAGE"
field() {
    mdadm -E "$2" | sed -n "s/^ *$1 : \([0-9]*\).*/\1/p" | grep . ||
        fail "$2: no field \"$1\""
}
