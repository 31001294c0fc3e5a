#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
#
# nbdkit uraid --dump-plugin, --help and --version: what the plugin says of
# itself, and the automatic values for machines other than this one.

. "${0%/*}/functions.sh"

run() {
    # shellcheck disable=SC2154 # from functions.sh
    env LD_PRELOAD="$sanitizer_preload" \
        ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "$NBDKIT" "$PLUGIN" "$@"
}

run --dump-plugin >dump.txt
has() {
    grep -Eqx -- "$1" dump.txt || fail "\"$1\" is not in: $(cat dump.txt)"
}
has 'name=uraid'
has 'version=[0-9]+\.[0-9.]+'
has 'api_version=2'
has 'thread_model=parallel'
has 'max_thread_model=parallel'
has 'errno_is_preserved=1'
has 'magic_config_key=member'
has 'uraid_levels=4 5 6'
has 'uraid_metadata=1\.0 1\.1 1\.2'
has 'uraid_isal_version=2\.[0-9.]+'
has 'uraid_parity_kernels=[a-z0-9]+'
has 'uraid_parity_self_check=ok'
has 'libnbd_version=1\.[0-9.]+'
has 'uraid_param_member='
has 'uraid_param_stripe_cache_size=auto'
has 'uraid_param_wait-members=30s'
for i in load unload config config_complete config_help get_ready after_fork \
    cleanup open close get_size block_size can_write can_flush can_fua \
    can_multi_conn can_trim can_zero can_fast_zero can_cache is_rotational \
    list_exports default_export export_description pread pwrite flush zero \
    trim dump_plugin; do
    case $i in
    load) continue ;; # every plugin may have it: nbdkit does not say
    esac
    has "has_$i=1"
done

# Two words only: each key=value is one line.
if grep -v '^[A-Za-z_][A-Za-z0-9_-]*=' dump.txt; then
    fail 'a line is not key=value'
fi

# --help lists every parameter with its default.
run --help >help
grep -q 'serve a Linux md array' help
sed -n 's/^uraid_param_//p' dump.txt | while IFS='=' read -r key default; do
    grep -A2 -E "^\[?${key}[]=]" help >entry || fail "$key is not in --help"
    [ -z "$default" ] || grep -qF "(default: $default)" entry ||
        fail "the default of $key is not in --help"
done
# The line that names the plugin's file is as long as its path.
if awk 'length > 79' help | grep -vF "$PLUGIN" | grep -v '^\[-D\|^       \['; then
    fail 'a line of --help is too long'
fi

run --version | grep -q '^uraid '

# value NAME RAM CPUS [ARG...]: an automatic value on another machine
value() {
    local name=$1 ram=$2 cpus=$3
    shift 3
    URAID_TEST_RAM=$ram URAID_TEST_CPUS=$cpus run "$@" --dump-plugin |
        sed -n "s/^uraid_value_$name=//p"
}
is() {
    [ "$1" = "$2" ] || fail "$1, it should be $2"
}
is "$(value stripe_cache_size 8G 4 raid-devices=6)" 256
is "$(value stripe_cache_size 64G 4 raid-devices=8)" 3584
is "$(value stripe_cache_size 256G 4 raid-devices=24)" 4096
is "$(value stripe_cache_size 64G 4 members=a,b,c,d,e,f,g,missing)" 3584
is "$(value stripe_cache_size 64G 4 stripe_cache_size=1000)" 1000
for i in 1:8 4:8 8:8 9:16 17:32 22:32 32:32 128:32; do
    is "$(value nr_stripe_hash_locks 8G "${i%:*}")" "${i#*:}"
done
is "$(value nr_stripe_hash_locks 8G 1 nr_stripe_hash_locks=16)" 16

# What members are given does not matter here, nor whether they are there.
run nbd://no-such-host.invalid/ --dump-plugin >/dev/null

# The debug flags exist; nbdkit warns of those that do not.
flag_known() {
    run -D "uraid.$1=1" --dump-plugin 2>warning >/dev/null
    ! grep -q 'does not contain a global variable' warning
}
for i in member engine array sync; do
    flag_known $i || fail "-D uraid.$i=1 is unknown: $(cat warning)"
done
if flag_known nonsense; then
    fail "nbdkit does not warn of unknown flags; this test must change"
fi
