#!/bin/sh
# SPDX-License-Identifier: MIT
# build_arm64.sh - cross-builds tune-agent, tune and libtune (libexec_cl.a) for arm64 boards such as the RK3399, small and
# with all but the C library linked in; prints their sizes. No root but for the packages it installs (install_deps.sh --arm64).
#   build_arm64.sh [--sysroot DIR] [--out DIR] [--no-install]
# Without --sysroot Debian's arm64 packages are unpacked into ${XDG_CACHE_HOME:-~/.cache}/tune-arm64/SUITE (half a minute, once).
# --out: the build folder, build-arm64 by default. TUNE_SUITE: another Debian.
# CMAKE_BUILD_TYPE=None: not optimised, quicker to make (MinSizeRel otherwise).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
. scripts/common.sh

suite=${TUNE_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
sysroot=${XDG_CACHE_HOME:-$HOME/.cache}/tune-arm64/$suite
out=$top/build-arm64
install=yes
while [ $# -gt 0 ]; do
    case "$1" in
    --sysroot | --out)
        [ $# -gt 1 ] || fail "$1 needs a folder"
        [ "$1" = --out ] && out=$2 || sysroot=$2
        shift
        ;;
    --no-install) install=no ;;
    *) fail "unknown argument '$1'; expected --sysroot DIR, --out DIR or --no-install" ;;
    esac
    shift
done

[ "$install" = no ] || scripts/install_deps.sh --arm64
command -v aarch64-linux-gnu-gcc >/dev/null || fail "no aarch64-linux-gnu-gcc: scripts/install_deps.sh --arm64 installs it"
scripts/sysroot.sh arm64 "$sysroot"

mkdir -p "$out"
log=$out/build.log
if ! { cmake -G Ninja -B "$out" -S . -DCMAKE_TOOLCHAIN_FILE="$top/cmake/toolchain-sysroot.cmake" -DTUNE_ARCH=arm64 -DTUNE_SYSROOT="$sysroot" \
    -DTUNE_BOARD=ON -DTUNE_TESTS=OFF -DCMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE:-MinSizeRel}" && cmake --build "$out" --target tune-agent tune exec_cl; } \
    >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "the arm64 build failed; all its words are in $log"
fi

for file in "$out/bin/tune-agent" "$out/bin/tune"; do
    needed=$(aarch64-linux-gnu-readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
    for library in $needed; do
        case "$library" in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-aarch64.so.1) ;;
        *) fail "$file needs $library, which a board may lack" ;;
        esac
    done
    newest=$(aarch64-linux-gnu-objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    echo "$file: $(stat -c %s "$file") bytes, needs $needed($newest)"
done
echo "$out/exec/libexec_cl.a: $(stat -c %s "$out/exec/libexec_cl.a") bytes"
