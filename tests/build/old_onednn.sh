#!/bin/sh
# SPDX-License-Identifier: MIT
# old_onednn.sh SOURCE GENERATOR DIR - Debian 12's own oneDNN (2.6), which bench_ops cannot use, is told and left out. It is fetched and
# unpacked beside DIR, not installed. Exit 77 (skipped): not to be had here.
set -eu
source=$1 generator=$2 dir=$3 out=$3.txt
. "$source/tests/build/build.sh"

skip() {
    echo "old_onednn.sh: skipped: $*"
    exit 77
}

prefix=$dir-onednn
if [ ! -e "$prefix/complete" ]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || skip "no apt-get and dpkg"
    rm -rf "$prefix"
    mkdir -p "$prefix"
    (cd "$prefix" && apt-get download libdnnl-dev libdnnl2) >"$out" 2>&1 || skip "apt-get cannot fetch libdnnl-dev: $(tail -n 1 "$out")"
    for package in "$prefix"/*.deb; do
        dpkg -x "$package" "$prefix"
    done
    touch "$prefix/complete"
fi
major=$(sed -n 's/^# *define DNNL_VERSION_MAJOR //p' "$prefix/usr/include/oneapi/dnnl/dnnl_version.h")
[ "$major" -lt 3 ] || skip "this Debian's oneDNN is $major, not too old"

configured_plain -DCMAKE_PREFIX_PATH="$prefix/usr"
says "onednn $major."
says "(in $prefix/usr/include): 3.0 or newer is wanted, left out"
builds bench_ops
grep -F 'left out' "$out" || true
