#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bundle_cuda.sh BIN CUDA SOURCE - bundles of CUDA kernels on the emulated driver: layers tuned there are deployed, installed,
# linked and right; another device is refused or, when asked for, served from PTX; without a compiler deploy says so and writes
# nothing; NVIDIA's own NVRTC, where it is there, makes PTX of the same log (which nothing here can run).
# CUDA: folder of the emulated driver and compiler. SOURCE: top of the tree.
set -eu
bin=$1
cuda=$2
source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
[ -e "$cuda/libcuda.so.1" ] || { echo "no emulated CUDA in $cuda: skipped"; exit 77; }
g++ --version >/dev/null 2>&1 || { echo "no g++, which emulated CUDA is compiled with: skipped"; exit 77; }
export LD_LIBRARY_PATH="$cuda" TUNE_CUDA_SM=75 TUNE_LOCK_DIR="$dir" TUNE_NVRTC="$cuda/libnvrtc-emulated.so"

fail() {
    printf '%s\n' "test_bundle_cuda: $*" >&2
    exit 1
}

quietly() {
    "$@" >"$dir/out" 2>&1 || fail "$*: $(tail -20 "$dir/out")"
}

# refused WORDS COMMAND...: the command fails with one line that has the words, and leaves no bundle
refused() {
    words=$1
    shift
    if "$@" -o "$dir/none" >"$dir/out" 2>&1; then
        fail "$*: was to be refused with '$words'"
    fi
    grep -q "$words" "$dir/out" || fail "$*: was to say '$words': $(cat "$dir/out")"
    [ "$(wc -l <"$dir/out")" -eq 1 ] || fail "$*: was to say one line: $(cat "$dir/out")"
    [ ! -e "$dir/none" ] || fail "$*: left $(ls "$dir/none")"
}

# layer NAME TEMPLATE WORKLOAD
layer() {
    timeout 200 "$bin/tune" run -q --device cuda --trials 1 --min-repeat-ms 0.5 --seed 3 --template "$2" -o "$dir/$1.jsonl" "$3" >"$dir/out" 2>&1 || fail "tune run: $(tail -3 "$dir/out")"
    echo "$1 | $3" >>"$dir/workloads"
    # the emulator's times mean nothing: one of that template, not the fastest
    grep "\"template\":\"$2\".*\"status\":\"ok\"" "$dir/$1.jsonl" | head -1 >>"$dir/best.jsonl"
}
layer fc1 dense/gemm_tiled "dense f32 m=32 n=64 k=48"
layer fc2 dense/naive "dense f16 m=3 n=10 k=64"
layer conv conv2d/direct "conv2d f32 n=1 c=8 h=9 w=9 k=16 r=3 s=3 pad=1"

deploy() {
    "$bin/tune" deploy "$dir/best.jsonl" --workloads "$dir/workloads" --name tuned "$@"
}
[ "$(wc -l <"$dir/best.jsonl")" -eq 3 ] || fail "one record of each template was to be ok"
quietly deploy --binaries device,sm_80 -o "$dir/tuned"
quietly "$bin/tune" deploy --check "$dir/tuned"
for ending in cu ptx cubin; do
    ls "$dir/tuned/kernels/"*."$ending" >/dev/null 2>&1 || fail "no .$ending among the kernels"
done
for target in compute_75 sm_75 sm_80; do
    grep -q "\"target\":\"$target\"" "$dir/tuned/manifest.json" || fail "the manifest names no $target"
done
! grep -q "CL/cl.h" "$dir/tuned/tuned.c" "$dir/tuned/tuned.h" || fail "a CUDA bundle includes OpenCL's header"

quietly cmake -S "$dir/tuned" -B "$dir/build" -DCMAKE_INSTALL_PREFIX="$dir/prefix" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror"
quietly cmake --build "$dir/build"
quietly cmake --install "$dir/build"
mkdir "$dir/app"
cat >"$dir/app/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(app LANGUAGES C)
find_package(tuned REQUIRED)
add_executable(app $source/tests/libtune/bundle_cuda.c)
target_include_directories(app PRIVATE $source)
target_link_libraries(app PRIVATE tuned::tuned tuned::vectors $cuda/libcuda.so.1)
END
quietly cmake -S "$dir/app" -B "$dir/app/build" -DCMAKE_PREFIX_PATH="$dir/prefix"
quietly cmake --build "$dir/app/build"
app=$dir/app/build/app

quietly "$app"
grep -q "3 of 3 layers are right" "$dir/out" || fail "not all layers: $(cat "$dir/out")"
cat "$dir/out"

# other devices
for sm in 61 80; do
    ! TUNE_CUDA_SM=$sm "$app" >"$dir/out" 2>&1 || fail "an sm_$sm was taken"
    grep -q "status 7: these kernels were tuned on .*sm_$sm" "$dir/out" || fail "no words on an sm_$sm: $(cat "$dir/out")"
done
TUNE_CUDA_SM=90 quietly "$app" --any # from PTX: no cubin fits
! TUNE_CUDA_SM=61 "$app" --any >"$dir/out" 2>&1 || fail "an sm_61 ran code for sm_75"
grep -q "is an sm_61: the code here is for compute_75 sm_75 sm_80" "$dir/out" || fail "no words on code that does not fit: $(cat "$dir/out")"
! TUNE_CUDA_LIBRARY=/nowhere/libcuda.so.1 "$app" >"$dir/out" 2>&1 || fail "a driver that is not there was taken"
grep -q "status 2: TUNE_CUDA_LIBRARY: /nowhere" "$dir/out" || fail "no words on a missing driver: $(cat "$dir/out")"

# a wrong kernel is seen, and so is damaged code
cp -r "$dir/tuned" "$dir/spoilt"
sed -i 's/^\(static const struct exec_module module0 = {.*, module0_binaries, \)[0-9]*/\11/' "$dir/spoilt/tuned.c"
awk '/^static const unsigned char module0_code0/ { inside = 1 } inside && /^    [0-9]/ { sub(/[0-9]+,/, "35,"); inside = 0 } { print }' \
    "$dir/spoilt/tuned.c" >"$dir/damaged.c"
! cmp -s "$dir/spoilt/tuned.c" "$dir/damaged.c" || fail "nothing was damaged"
mv "$dir/damaged.c" "$dir/spoilt/tuned.c"
quietly cmake -S "$dir/app" -B "$dir/app/spoilt" -Dtuned_DIR="$dir/spoilt"
quietly cmake --build "$dir/app/spoilt"
! "$dir/app/spoilt/app" >"$dir/out" 2>&1 || fail "damaged code ran"
grep -q "code for compute_75 is damaged" "$dir/out" || fail "no words on damaged code: $(cat "$dir/out")"

TUNE_NVRTC=/nowhere/libnvrtc.so refused "bundles of CUDA kernels hold PTX, which NVRTC makes: " deploy
refused "NVRTC 13.0 .* makes no code for sm_61" deploy --binaries sm_61
refused "'sm_75x': expected device, or an architecture as sm_75" deploy --binaries sm_75x

# a network as one call: captured once for the same buffers and weights, then replayed
printf '%s\n' "x = input shape=4,16" "h = dense x n=24 relu" "f = dense h n=10" "y = softmax f" >"$dir/net.graph"
quietly "$bin/tune" deploy -q "$dir/best.jsonl" --network "$dir/net.graph" --whole --allow-nearest --layout nchw --name net -o "$dir/net"
cc -std=c99 -Wall -Wextra -Werror -I"$dir/net" -I"$source" -o "$dir/network" "$source/tests/libtune/network_cuda.c" "$dir/net/net.c" "$cuda/libcuda.so.1" -ldl -lm \
    >"$dir/out" 2>&1 || fail "the bundle of a network does not compile: $(tail -20 "$dir/out")"
TUNE_CUDA_LOG=$dir/calls quietly "$dir/network"
[ "$(grep -c cuGraphLaunch "$dir/calls")" -eq 9 ] || fail "nine launches of graphs were expected, one of them the caller's: $(grep -c cuGraphLaunch "$dir/calls")"
[ "$(grep -c cuGraphInstantiate "$dir/calls")" -eq 4 ] || fail "four graphs were expected, one of them the caller's: $(grep -c cuGraphInstantiate "$dir/calls")"
TUNE_CUDA_LOG=$dir/plain TUNE_CUDA_FAIL=cuStreamBeginCapture=900@1 quietly "$dir/network" --plain # a driver that cannot
! grep -q cuGraphLaunch "$dir/plain" || fail "a graph was launched that could not be captured"

# a log that was cut does not replace a bundle; keys are named
head -c -20 "$dir/best.jsonl" >"$dir/cut.jsonl"
! "$bin/tune" deploy "$dir/cut.jsonl" -o "$dir/none" >"$dir/out" 2>&1 || fail "a log that was cut was deployed"
grep -q "cut.jsonl: 1 line cannot be read" "$dir/out" || fail "no words on a log that was cut: $(cat "$dir/out")"
[ ! -e "$dir/none" ] || fail "a log that was cut left $(ls "$dir/none")"
refused "no record with status ok for this device (--key nokey); keys it has: [a-z0-9]" "$bin/tune" deploy "$dir/best.jsonl" --key nokey
"$bin/tune" deploy -q "$dir/best.jsonl" -o "$dir/layers" >"$dir/out" 2>&1 || fail "layers: $(cat "$dir/out")"
[ ! -s "$dir/out" ] || fail "nothing was to be said of a bundle of no network: $(cat "$dir/out")"

# NVIDIA's own
if env -u TUNE_NVRTC -u LD_LIBRARY_PATH "$bin/tune" deploy "$dir/best.jsonl" --name real --binaries sm_75 -o "$dir/real" >"$dir/out" 2>&1; then
    for ptx in "$dir/real/kernels/"*.ptx; do
        grep -q "^\.target sm_75" "$ptx" || fail "$ptx is for another architecture"
    done
    echo "NVIDIA's NVRTC: $(cat "$dir/real/kernels/"*.ptx | wc -c) bytes of PTX, $(cat "$dir/real/kernels/"*.cubin | wc -c) of cubins, not run"
else
    grep -q "NVRTC" "$dir/out" || fail "NVIDIA's NVRTC: $(cat "$dir/out")"
    echo "no NVRTC of NVIDIA's here: not tried ($(head -1 "$dir/out"))"
fi
