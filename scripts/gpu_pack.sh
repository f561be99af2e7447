#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_pack.sh [-o FILE] [--no-peers] [--sysroot DIR] [--build DIR] - one archive (tune-gpu.tar.gz) of programs, tests and benches for a bare x86-64 machine with an
# NVIDIA driver and glibc: nothing else has to be there. Unpack it anywhere, then type
#   tune-gpu/scripts/gpu_check.sh --budget 540 --state state.tar     (its --help says what that does)
# NVRTC and the peers (cuBLAS, cuDNN, cuSPARSE) are found on that machine. Their headers are needed here, with CUDA's in CUDA_HOME
# (/usr/local/cuda); cuDNN's may be in CUDNN_HOME (PyPI's nvidia-cudnn-cu13: site-packages/nvidia/cudnn).
#   --no-peers  a bench without peers; gpu_check.sh then wants --no-peers too
# CMAKE_BUILD_TYPE=None: not optimised, quicker to make (Release otherwise).
# The C library is that of Debian's release TUNE_SUITE, by default the one that runs here; the last line says which it wants (bookworm: 2.36).
# Without --sysroot Debian's packages are unpacked into ${XDG_CACHE_HOME:-~/.cache}/tune-amd64/SUITE (a quarter of a minute, once).
set -eu
caller=$PWD
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
. scripts/common.sh

suite=${TUNE_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
sysroot=${XDG_CACHE_HOME:-$HOME/.cache}/tune-amd64/$suite
archive=tune-gpu.tar.gz peers=yes out=$top/build-gpu
while [ $# -gt 0 ]; do
    case "$1" in
    -o | --sysroot | --build)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        -o) archive=$2 ;;
        --sysroot) sysroot=$2 ;;
        --build) out=$2 ;;
        esac
        shift
        ;;
    --no-peers) peers="" ;;
    --help | -h) head_comment "scripts/$(basename "$0")" ;;
    *) fail "unknown argument '$1'; expected -o FILE, --no-peers, --sysroot DIR or --build DIR" ;;
    esac
    shift
done
case "$archive" in /*) ;; *) archive=$caller/$archive ;; esac
command -v x86_64-linux-gnu-gcc >/dev/null || fail "no x86_64-linux-gnu-gcc: on x86-64 it is gcc's own name (scripts/install_deps.sh), elsewhere install gcc-x86-64-linux-gnu"
scripts/sysroot.sh amd64 "$sysroot"

cuda=${CUDA_HOME:-/usr/local/cuda}/include cudnn=${CUDNN_HOME:+$CUDNN_HOME/include}
cudnn=${cudnn:-$cuda}
without="openmp;onednn;clblast"
if [ -n "$peers" ]; then
    for header in "$cuda/cublas_v2.h" "$cuda/cusparse.h" "$cudnn/cudnn.h"; do
        [ -f "$header" ] || fail "$header is not there: set CUDA_HOME and CUDNN_HOME, or pack with --no-peers"
    done
else
    without="$without;cublas;cudnn;cusparse"
fi

mkdir -p "$out"
log=$out/build.log
tests="test_kernels_cuda test_mutants_cuda test_cuda"
# shellcheck disable=SC2086 # a list of targets is meant
if ! { cmake -G Ninja -B "$out" -S . -DCMAKE_TOOLCHAIN_FILE="$top/cmake/toolchain-sysroot.cmake" -DTUNE_ARCH=amd64 -DTUNE_SYSROOT="$sysroot" \
    -DTUNE_STATIC=ON -DTUNE_WITHOUT="$without" -DCMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE:-Release}" -DCUBLAS_INCLUDE_DIR="$cuda" -DCUDNN_INCLUDE_DIR="$cudnn" \
    -DCUSPARSE_INCLUDE_DIR="$cuda" && cmake --build "$out" --target tune tune-agent tune-tracker bench_ops bench_rates $tests; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "the build failed; all its words are in $log"
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
to=$place/tune-gpu
mkdir -p "$to/bin" "$to/tests/bench/ops" "$to/scripts" "$to/kernels"
for program in tune tune-agent tune-tracker bench_ops bench_rates; do cp "$out/bin/$program" "$to/bin/"; done
for program in $tests; do cp "$out/tests/$program" "$to/tests/"; done
cp scripts/common.sh scripts/ops.sh scripts/gpu_check.sh scripts/gpu_tests.sh "$to/scripts/"
cp tests/bench/ops/layers.txt "$to/tests/bench/ops/"
cp -r kernels/networks "$to/kernels/"
cp LICENSE "$to/"
[ -n "$peers" ] || : >"$to/no-peers"
for program in "$to"/bin/* "$to"/tests/test_*; do
    for library in $(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case "$library" in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-x86-64.so.2) ;;
        *) fail "$program needs $library, which a bare machine lacks" ;;
        esac
    done
done
newest=$(objdump -T "$to"/bin/* "$to"/tests/test_* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
tar -C "$place" --owner=0 --group=0 -czf "$archive" tune-gpu
bytes=$(stat -c %s "$archive")
[ "$bytes" -le 62914560 ] || fail "$archive has $bytes bytes, more than 60 MiB"
echo "$archive: $bytes bytes; needs an x86-64 machine with an NVIDIA driver and $newest"
