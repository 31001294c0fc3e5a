#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# The command's manual page: its POD is clean, it explains every option of every
# verb and no other, help fits on a terminal, and every example works.
#
# Examples are the indented blocks behind a "=for test" line of EXAMPLES, one
# after the other in one directory; hosts n1.example ... n6.example are the
# members m0 ... m5.

. "${0%/*}/functions.sh"

# shellcheck disable=SC2154 # from functions.sh
page=$abs_top_srcdir/man/uraid.pod
requires command -v podchecker
requires command -v pod2man

podchecker -warnings -warnings "$page" 2>podchecker.log ||
    fail "podchecker: $(cat podchecker.log)"
if grep -i 'warning' podchecker.log; then
    fail 'podchecker warns'
fi
pod2man --utf8 --errors=die "$page" >page.8

# ------------------------------------------------------- verbs and options

uraid_cmd help >help
sed -n 's/^  \([a-z-]*\)  *[A-Z].*/\1/p' help >verbs
[ "$(wc -l <verbs)" -ge 12 ]
: >options
while read -r verb; do
    grep -Eq "^ uraid $verb( |$)" "$page" || fail "$verb is not in SYNOPSIS"
    grep -Eq "^=head2 .*uraid $verb( |$)" "$page" || fail "$verb is not explained"
    uraid_cmd help "$verb" >one
    uraid_cmd "$verb" --help | cmp one -
    [ -z "$(awk 'length > 80' one help)" ] || fail "help $verb is too wide"
    sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' one >>options
done <verbs
sort -u -o options options
[ "$(wc -l <options)" -ge 30 ]
grep -o '^=item .*' "$page" | grep -o 'B<--[a-z-]*' | sed 's/^B<--//' |
    sort -u >explained
while read -r option; do
    grep -qx -- "$option" explained || fail "--$option is not explained"
done <options
# What mdadm calls the verbs, and what is accepted and not shown.
printf '%s\n' create examine examine-bitmap examine-badblocks query \
    zero-superblock detail stop version quiet >>options
while read -r option; do
    grep -qx -- "$option" options || fail "there is no option --$option"
done <explained

# -------------------------------------------------------------- examples

awk '/^=head1/ { on = $2 == "EXAMPLES" }
     on && /^=for test/ { tested = 1; next }
     on && /^ / { if (!tested) print FILENAME ": line " FNR ": not tested"; next }
     on && !/^$/ { tested = 0 }' "$page" >untested
[ ! -s untested ] || fail "$(cat untested)"

make_members 6 64M
start_members 6

uraid() {
    local words=() i
    for i in "$@"; do
        case $i in
        nbds://n[1-6].example/)
            i=${i#nbds://n}
            i="nbd+unix:///?socket=m$((${i%%.*} - 1)).sock"
            ;;
        esac
        words+=("$i")
    done
    uraid_cmd "${words[@]}"
}

awk '/^=head1/ { examples = $2 == "EXAMPLES" }
     !examples { next }
     /^=for test/ { on = 1; next }
     /^ / && on { sub(/^ /, ""); print; next }
     /./ { on = 0 }' "$page" >examples.sh
[ "$(grep -c '^uraid ' examples.sh)" -ge 12 ]
# In this shell, so that a command that fails ends the test.
# shellcheck source=/dev/null
. ./examples.sh >examples.log 2>&1

[ "$(grep -c 'is created' examples.log)" -eq 4 ]
uraid_cmd examine m5 >out
grep -q 'Active device 5' out
