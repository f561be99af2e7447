#!/bin/sh
# SPDX-License-Identifier: MIT
# quickstart.sh - from a fresh clone to tuned kernels in use: installs, builds, tunes two layers on this machine's first
# OpenCL device (about four minutes on two cores), then builds and runs a C program with the kernels that were found.
# Results go to out/. TRIALS_CONV and TRIALS_DENSE change the budget.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

conv="conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 stride=1 pad=1"
dense="dense f32 m=64 n=2048 k=512"
start=$(date +%s)

say "packages and build"
scripts/install_deps.sh
build release tune tune-agent tune-tracker
bin=build/bin

say "tuning two layers: VGG-16's conv3_2 and a dense layer"
mkdir -p out
rm -f out/quickstart.jsonl out/quickstart.best.jsonl
"$bin/tune" run "$conv" "$dense" --trials "${TRIALS_CONV:-60},${TRIALS_DENSE:-40}" --seed 1 -o out/quickstart.jsonl

say "the best kernels as files for a deployment build: out/bundle"
rm -rf out/bundle out/bundle-build out/example-build out/installed
"$bin/tune" deploy out/quickstart.best.jsonl -o out/bundle

say "a C program that uses them, found as an installed package: examples/deploy_c"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -G Ninja -S out/bundle -B out/bundle-build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PWD/out/installed" &&
    cmake --build out/bundle-build && cmake --install out/bundle-build &&
    cmake -G Ninja -S examples/deploy_c -B out/example-build -DCMAKE_BUILD_TYPE=Release -DBUNDLE=tune_bundle \
        -DCMAKE_PREFIX_PATH="$PWD/out/installed" &&
    cmake --build out/example-build; } >"$log" 2>&1; then
    cat "$log" >&2
    fail "the example did not build"
fi
out/example-build/deploy_c --tuned

say "done in $(($(date +%s) - start)) s: log out/quickstart.jsonl, best out/quickstart.best.jsonl, bundle out/bundle"
