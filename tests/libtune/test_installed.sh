#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs libtune, builds the example against it in three ways (pkg-config shared and static, CMake) and runs it: a
# recorded workload, another size of it, another operator. test_installed.sh BUILD_DIR EXAMPLE_DIR WRITE_SAMPLE_LOG
set -eu
build=$1 example=$2 write_log=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "test_installed.sh: $*" >&2
    exit 1
}

recorded="dense f32 m=12 n=48 k=40"
near="dense f32 m=24 n=48 k=40"
none="conv2d f32 n=1 c=8 h=14 w=14 k=16 r=3 s=3 pad=1"
export POCL_CACHE_DIR="$dir/pocl"
mkdir "$POCL_CACHE_DIR"
"$write_log" "$dir/best.jsonl" "$recorded" || exit $?

cmake --install "$build" --component libtune --prefix "$dir/prefix" >"$dir/install.log" || fail "$(cat "$dir/install.log")"
# A tree that was installed elsewhere first must work where it is now.
mv "$dir/prefix" "$dir/moved"
config=$(find "$dir/moved" -name libtune.pc)
[ -n "$config" ] || fail "no libtune.pc was installed"
[ "$(find "$dir/moved" -name '*.h' | wc -l)" -eq 1 ] || fail "more headers than tune.h were installed"
PKG_CONFIG_PATH=$(dirname "$config")
export PKG_CONFIG_PATH

CC=${CC:-cc} sh "$example/build.sh" "$dir/app-shared" || fail "pkg-config, shared"
CC=${CC:-cc} sh "$example/build.sh" "$dir/app-static" --static || fail "pkg-config, static"
cmake -S "$example" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/moved" >"$dir/cmake.log" 2>&1 || fail "$(cat "$dir/cmake.log")"
cmake --build "$dir/cmake" >"$dir/cmake.log" 2>&1 || fail "$(cat "$dir/cmake.log")"
cmake -S "$example" -B "$dir/cmake-static" -DLIBTUNE_STATIC=ON -DCMAKE_PREFIX_PATH="$dir/moved" >"$dir/cmake.log" 2>&1 || fail "$(cat "$dir/cmake.log")"
cmake --build "$dir/cmake-static" >"$dir/cmake.log" 2>&1 || fail "$(cat "$dir/cmake.log")"
if readelf -d "$dir/app-static" "$dir/cmake-static/libtune_app" | grep -q 'NEEDED.*libtune'; then fail "a static application needs libtune.so"; fi

for app in "$dir/app-shared" "$dir/app-static" "$dir/cmake/libtune_app" "$dir/cmake-static/libtune_app"; do
    "$app" "--missing=$dir/missing.txt" "$dir/best.jsonl" "$recorded" "$near" "$none" >"$dir/out" || fail "$app: $(cat "$dir/out")"
    [ "$(grep -c 'output right$' "$dir/out")" -eq 3 ] || fail "$app: not three right outputs: $(cat "$dir/out")"
    for part in "  exact: dense/" "  nearest ($recorded, distance 1): dense/" "  default: conv2d/" "2 workloads without a record of sample-device"; do
        grep -qF "$part" "$dir/out" || fail "$app: no line with '$part': $(cat "$dir/out")"
    done
    grep -q "^$none # default of conv2d/" "$dir/missing.txt" || fail "$app: $(cat "$dir/missing.txt")"
done
cat "$dir/out"
if "$dir/app-shared" "$dir/nowhere.jsonl" "$recorded" 2>"$dir/words"; then fail "a log that is not there was opened"; fi
grep -q "nowhere.jsonl: No such file" "$dir/words" || fail "$(cat "$dir/words")"
