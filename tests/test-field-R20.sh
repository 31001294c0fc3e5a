#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# Sizes beyond 32 bits (field-R20), the part of create: 6 members of 20 TiB.
# Sizes are exact to the byte, and the last places are written where they
# belong.

. "${0%/*}/functions.sh"

tib=$((1 << 40))
size=$((20 * tib))
for i in 0 1 2 3 4 5; do
    start_nbdkit big$i -U "$workdir/big$i.sock" memory size=$size
    uris[i]="nbd+unix:///?socket=$workdir/big$i.sock"
done

# check VERSION DATA-OFFSET COMPONENT-BYTES
check() {
    uraid_cmd create --json big --level=6 --raid-devices=6 --assume-clean \
        --force --metadata="$1" "${uris[@]}" >out </dev/null
    /usr/bin/python3 - out "$2" "$3" <<'END'
import json, sys
a = json.load (open (sys.argv[1]))["array"]
offset, size = int (sys.argv[2]), int (sys.argv[3])
assert a["data_offset"] == offset, (a["data_offset"], offset)
assert a["member_size"] == size, (a["member_size"], size)
assert a["array_size"] == 4 * size
assert a["bitmap"]["bits"] == -(-size // a["bitmap"]["chunk"])
END
    for i in 0 5; do
        uraid_cmd examine --json "${uris[i]}" >out 2>err
        [ ! -s err ] || fail "examine remarks: $(cat err)"
        grep -q "\"member_size\": $3," out
        grep -q "\"size\": $size," out
        uraid_cmd -X "${uris[i]}" >said
        grep -q 'State : OK' said
    done
}

# mdadm's rule with a chunk of 512 KiB: 1.2 begins at sector 264192, 1.0 leaves
# room for superblock and bitmap at the end.
chunk=$((512 * 1024))
offset=$((264192 * 512))
check 1.2 $offset $(((size - offset) / chunk * chunk))
check 1.1 $offset $(((size - offset) / chunk * chunk))
check 1.0 0 $(((size - (24 + 256) * 512) / chunk * chunk))

# More than 2^32 sectors of a member used, and bitmap bits on both sides.
uraid_cmd create --json big --level=6 --raid-devices=6 --assume-clean --force \
    --size=$((3 << 30))K --bitmap=internal --bitmap-chunk=512M \
    "${uris[@]}" >out </dev/null
grep -q "\"member_size\": $((3 * tib))," out
grep -q "\"bits\": $((3 * tib >> 29))" out
