#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_check.sh [--device cuda:0] [--trials N] [--time SECONDS] [--work DIR] [--resume] [PART...] - on a machine with an NVIDIA GPU:
# builds, tests every CUDA template against its reference, tunes layers there, and prints our kernels beside cuDNN, cuBLAS and
# cuSPARSE, each in one run. Parts, in this order (all without any): tests rates f32 gemm f16 i8 networks rnn sparse
#   tests      all templates on all shapes, and the mutants, on the device itself
#   rates      what the device's instructions can do: fma, dp4a, mma
#   f32        the layers of VGG-16, ResNet-50 and MobileNet, batch 1, beside cuDNN (FMA math, no TF32, all algorithms)
#   gemm       large products in f32, f16, bf16, i8, and a classifier's layers, beside cuBLAS
#   f16        convolutions in f16 and bf16 on tensor cores
#   i8         int8 layers at batch 1 and 16 beside f32 and cuDNN's int8
#   networks   the six networks of int8 (resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d), tuned, sums of layers
#   rnn        the seven steps of the LSTM ladder, and LSTMs beside cuDNN
#   sparse     sparsity .5 to .95 at batch 64 beside cuSPARSE, the dense convolution and the roofline
# --time: of each part; what was not begun by then is told, and --resume goes on with it: keeps what earlier calls have passed, tuned
# and measured, and the other parts of the page. So a machine that is lent for ten minutes at a time is used as
#   scripts/gpu_check.sh --time 500 tests;  scripts/gpu_check.sh --resume --time 250 f32 gemm;  ...
# The page $work/page.md holds what was printed, with date, device and driver: copy it to docs/results/. Exit status 1: a part failed,
# its name is told last. Ours and the libraries' work is replayed as CUDA graphs (graph=on), where the library allows it.
# TUNE_BIN: programs that are built already. Packages must be there: scripts/install_deps.sh.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

all="tests rates f32 gemm f16 i8 networks rnn sparse"
device=cuda:0 trials=64 seconds=0 work=out/gpu_check resume="" parts=""
while [ $# -gt 0 ]; do
    case "$1" in
    --device | --trials | --time | --work)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --device) device=$2 ;;
        --trials) trials=$2 ;;
        --time) seconds=$2 ;;
        --work) work=$2 ;;
        esac
        shift
        ;;
    --resume) resume=--resume ;;
    --help | -h) head_comment "scripts/$(basename "$0")" ;;
    tests | rates | f32 | gemm | f16 | i8 | networks | rnn | sparse) parts="$parts $1" ;;
    *) fail "unknown argument '$1'; expected --device, --trials, --time, --work, --resume or a part: $all" ;;
    esac
    shift
done
[ -n "$parts" ] || parts=$all
case "$seconds" in *[!0-9]* | "") fail "--time '$seconds': expected seconds" ;; esac
case "$trials" in *[!0-9]* | "" | 0*) fail "--trials '$trials': expected a number above 0" ;; esac
case "$device" in
*graph=*) replayed=$device ;;
cuda) replayed=cuda:0,graph=on ;;
*) replayed=$device,graph=on ;;
esac

bin=${TUNE_BIN:-}
if [ -z "$bin" ]; then
    say "build"
    build release all benches
    bin=build/bin
fi
[ -n "$resume" ] || for part in $parts; do rm -rf "${work:?}/$part" "$work/$part.md"; done
mkdir -p "$work"
page=$work/page.md
"$bin/tune-agent" --device "$device" --self-test >"$work/device.txt" 2>&1 || { cat "$work/device.txt" >&2; fail "no such device: $device"; }
{
    printf '# %s, %s\n\n' "$(date +%Y-%m-%d)" "$(sed 's/; .*//' "$work/device.txt")"
    printf 'Command: `scripts/gpu_check.sh --device %s --trials %s --time %s %s`, parts of the page perhaps one by one.\n\n' \
        "$device" "$trials" "$seconds" "$all"
    sed 's/^/    /' "$work/device.txt"
    if command -v nvidia-smi >/dev/null 2>&1; then
        nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.sm,temperature.gpu,power.draw --format=csv | sed 's/^/    /'
    fi
} | tee "$work/head.md"

# section NAME TITLE COMMAND...: its output becomes NAME's part of the page; a failure is told there and at the end.
failed=""
section() {
    name=$1 title=$2 begun=$(date +%s) code=0
    shift 2
    printf '\n## %s\n\n' "$title" | tee "$work/$name.md"
    "$@" >"$work/$name.txt" 2>&1 || code=$?
    if [ "$code" -ne 0 ]; then
        failed="$failed $name"
        printf '**FAILED** (exit status %d)\n\n' "$code" | tee -a "$work/$name.md"
    fi
    tee -a "$work/$name.md" <"$work/$name.txt"
    printf '\n(%d s)\n' $(($(date +%s) - begun)) | tee -a "$work/$name.md"
}

# limited SECONDS COMMAND...: for as long at the most; 0 = as long as it takes.
limited() {
    limit=$1
    shift
    if [ "$limit" -gt 0 ]; then timeout "$limit" "$@"; else "$@"; fi
}

# beside NAME SETS...: tunes and measures layer sets beside the peers; prints the table, and every contender behind it.
beside() {
    folder=$work/$1
    shift
    sets="" status=0
    for set in "$@"; do sets="$sets --set $set"; done
    # shellcheck disable=SC2086 # a list of words is meant
    TUNE_BIN=$bin scripts/bench_ops.sh --quick --resume --time "$seconds" --device "$replayed" --trials "$trials" --work "$folder" $sets >"$folder.log" 2>&1 ||
        status=$?
    cat "$folder.log"
    ! grep -q '^not measured:' "$folder.log" || status=1
    printf '\n### Every contender\n\n'
    cat "$folder"/quick-*/*.md
    return "$status"
}

# 64 processes for the templates; for mutants, of which each may break its context, more than there are of them.
device_tests() {
    code=0
    scripts/gpu_tests.sh "$bin/../tests/test_kernels_cuda" 64 "$work/tests/kernels" $((seconds / 2)) || code=$?
    scripts/gpu_tests.sh "$bin/../tests/test_mutants_cuda" 512 "$work/tests/mutants" $((seconds / 2)) || code=$?
    return "$code"
}

six_networks() {
    code=0
    for network in resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d; do
        for form in "--dtype i8 --layout nchw4c" ""; do
            printf '\n### %s %s\n\n' "$network" "${form:-f32}"
            mkdir -p "$work/networks"
            limit=""
            [ "$seconds" -eq 0 ] || limit="--time $((seconds / 12 + 1))s"
            # shellcheck disable=SC2086 # lists of words are meant
            limited $((seconds / 6)) "$bin/tune" run --network "$network" $form --device "$device" --trials "$((trials * 8))" $limit -q \
                -o "$work/networks/$network.${form:+i8}.jsonl" || { code=$? && echo "failed: exit status $code"; }
        done
    done
    return "$code"
}

lstm() {
    code=0
    limited $((seconds / 2)) "$bin/tune" ladder rnn "cell=lstm i=512 h=512 l=4 b=64 t=100" --device "$device" || code=$?
    beside rnn gpu-rnn || code=$?
    return "$code"
}

for part in $parts; do
    case "$part" in
    tests) section tests "Every template against its reference, and mutants" device_tests ;;
    rates) section rates "What the instructions can do" limited 120 "$bin/bench_rates" --device "$device" ;;
    f32) section f32 "f32 layers of VGG-16, ResNet-50 and MobileNet beside cuDNN" beside f32 vgg-16 resnet-50 mobilenet-v1 ;;
    gemm) section gemm "Matrix products beside cuBLAS" beside gemm gpu-gemm ;;
    f16) section f16 "f16 and bf16 on tensor cores beside cuDNN" beside f16 gpu-f16 ;;
    i8) section i8 "int8 beside f32 and cuDNN" beside i8 gpu-i8 ;;
    networks) section networks "Six networks in int8 and f32: sums of tuned layers" six_networks ;;
    rnn) section rnn "The LSTM ladder, and cuDNN's LSTM" lstm ;;
    sparse) section sparse "Sparse layers beside cuSPARSE and the dense convolution" beside sparse gpu-sparse ;;
    esac
done
{
    cat "$work/head.md"
    for part in $all; do [ ! -f "$work/$part.md" ] || cat "$work/$part.md"; done
} >"$page"
say "written: $page"
[ -z "$failed" ] || fail "failed:$failed (see $work)"
