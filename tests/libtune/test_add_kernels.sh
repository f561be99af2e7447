#!/bin/sh
# SPDX-License-Identifier: MIT
# test_add_kernels.sh BUILD EXAMPLE - tune is installed, and an application whose CMakeLists says tune_add_kernels builds with
# it and runs on the OpenCL device; a log that changes brings the new kernel at the next build, an unchanged one brings nothing;
# bad logs, devices and arguments fail the build in words.
# BUILD: build folder of tune. EXAMPLE: examples/cmake_kernels.
set -eu
build=$1
example=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TUNE_LOCK_DIR="$dir"
prefix=$dir/prefix
app=$dir/app

fail() {
    printf '%s\n' "test_add_kernels: $*" >&2
    exit 1
}

# measure LOG TEMPLATE: both layers of the example with one config each of a template
measure() {
    "$build/bin/tune" run -q --threads "$(nproc)" --trials 1 --min-repeat-ms 0.5 --template "$2" -o "$dir/$1.jsonl" "dense f32 m=8 n=128 k=64" "dense f32 m=8 n=10 k=128" \
        >"$dir/run" 2>&1 || { grep -q "no OpenCL" "$dir/run" && echo "no OpenCL device: skipped" && exit 77; fail "tune run: $(tail -3 "$dir/run")"; }
    [ -s "$dir/$1.best.jsonl" ] || fail "tune run left no best log: $(tail -3 "$dir/run")"
}

configure() {
    cmake -S "$example" -B "$app" -DCMAKE_PREFIX_PATH="$prefix" -DLOG="$dir/log.jsonl" >"$dir/out" 2>&1
}

build_app() {
    cmake --build "$app" >"$dir/out" 2>&1
}

# good TEMPLATE: the application builds, is right, and its kernels are of that template
good() {
    build_app || fail "the application did not build: $(tail -20 "$dir/out")"
    "$app/perceptron" >"$dir/run" 2>&1 || fail "the application failed: $(cat "$dir/run")"
    grep -q "80 of 80 outputs are right" "$dir/run" || fail "no count of right outputs: $(cat "$dir/run")"
    [ "$(grep -c "^fc[12]: $1 " "$dir/run")" -eq 2 ] || fail "kernels of $1 were to be run: $(cat "$dir/run")"
}

# bad WORDS: the build fails and says them
bad() {
    if build_app; then
        fail "the build was to fail with: $1"
    fi
    grep -q "$1" "$dir/out" || fail "the build was to say '$1': $(tail -20 "$dir/out")"
}

cmake --install "$build" --prefix "$prefix" >"$dir/out" 2>&1 || fail "installing: $(tail -5 "$dir/out")"
for file in tuneConfig.cmake tuneConfigVersion.cmake TuneKernels.cmake; do
    [ -n "$(find "$prefix" -path "*/cmake/tune/$file")" ] || fail "$file is not installed"
done
measure naive dense/naive
measure packed dense/gemm_packed

cp "$dir/naive.best.jsonl" "$dir/log.jsonl"
configure || fail "configuring: $(cat "$dir/out")"
good dense/naive
build_app
! grep -q "tune deploy" "$dir/out" || fail "an unchanged log was deployed again"

sleep 1 # some file systems and makes count whole seconds
cp "$dir/packed.best.jsonl" "$dir/log.jsonl"
good dense/gemm_packed
echo "a changed log brought the new kernels"

sleep 1
cut -c1-200 "$dir/packed.best.jsonl" >"$dir/log.jsonl"
bad "log.jsonl.*no record with status ok"
sleep 1
head -1 "$dir/packed.best.jsonl" >"$dir/log.jsonl"
bad "1 of 2 workloads have no record"
rm "$dir/log.jsonl"
if build_app; then
    fail "a log that is not there was deployed"
fi
cp "$dir/naive.best.jsonl" "$dir/log.jsonl"
good dense/naive
echo "bad logs fail the build, and a good one mends it"

# configuring
if cmake -S "$example" -B "$dir/nolog" -DCMAKE_PREFIX_PATH="$prefix" >"$dir/out" 2>&1; then
    fail "no log was taken"
fi
grep -q "expected LOG" "$dir/out" || fail "no words on a missing LOG: $(cat "$dir/out")"
if cmake -S "$example" -B "$dir/notune" -DCMAKE_PREFIX_PATH="$prefix" -DTUNE_EXECUTABLE=/nowhere/tune >"$dir/out" 2>&1; then
    fail "a program that is not there was taken"
fi
tr '\n' ' ' <"$dir/out" | grep -q "no program tune for this host at *'/nowhere/tune'" || fail "no words on TUNE_EXECUTABLE: $(cat "$dir/out")"

# a cross build takes the program of PATH, not the package's, which may be of another machine
cross() {
    rm -rf "$dir/cross"
    cmake -S "$example" -B "$dir/cross" -DCMAKE_PREFIX_PATH="$prefix" -DLOG="$dir/log.jsonl" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=other >"$dir/out" 2>&1
}
mkdir "$dir/host"
cp "$build/bin/tune" "$dir/host/tune"
PATH="$dir/host:$PATH" cross || fail "a cross build: $(tail -5 "$dir/out")"
grep -q "^TUNE_EXECUTABLE:.*=$dir/host/tune$" "$dir/cross/CMakeCache.txt" || fail "a cross build took $(grep TUNE_EXECUTABLE "$dir/cross/CMakeCache.txt")"
cmake --build "$dir/cross" >"$dir/out" 2>&1 || fail "a cross build: $(tail -5 "$dir/out")"
echo "a cross build takes the host's tune"

# a project of two bundles, one of them of this device's key only; arguments that are wrong
mkdir "$dir/two"
cat >"$dir/two/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.15)
project(two LANGUAGES C)
find_package(tune REQUIRED)
add_library(both SHARED a.c)
tune_add_kernels(both LOG ../log.jsonl NAME first KEY \${KEY})
tune_add_kernels(both LOG ../log.jsonl NAME second \${MORE})
END
printf '#include "first.h"\n#include "second.h"\nint both(void);\nint both(void) { return FIRST_N_LAYERS + SECOND_N_LAYERS; }\n' >"$dir/two/a.c"
key=$(grep -o '"key":"[^"]*"' "$dir/log.jsonl" | head -1 | cut -d'"' -f4)
two() {
    rm -rf "$dir/two/build"
    cmake -S "$dir/two" -B "$dir/two/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$dir/out" 2>&1 && cmake --build "$dir/two/build" >>"$dir/out" 2>&1
}
two -DKEY="$key" || fail "two bundles in one project: $(tail -20 "$dir/out")"
if two -DKEY=no-such-key; then
    fail "a key that the log lacks was taken"
fi
grep -q "log.jsonl.*no record with status ok for this device" "$dir/out" || fail "no words on the key: $(tail -5 "$dir/out")"
if two -DKEY="$key" -DMORE="NETWRK;resnet-18"; then
    fail "a wrong word was taken"
fi
grep -q "not understood: NETWRK" "$dir/out" || fail "no words on a wrong word: $(cat "$dir/out")"
echo "two bundles in one project; wrong keys and words are refused"
