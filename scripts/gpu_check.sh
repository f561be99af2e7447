#!/bin/sh
# gpu_check.sh [--device cuda:0] [--trials N] [--work DIR] [--resume] [PART...] - on a machine with an NVIDIA GPU: builds, tests every
# CUDA template against its reference, tunes layers there, and prints our kernels beside cuDNN, cuBLAS and cuSPARSE, each in one run.
# Parts, in this order (all without any): tests f32 gemm f16 i8 networks rnn sparse
#   tests      all templates on all shapes, and the mutants, on the device itself
#   f32        the layers of VGG-16, ResNet-50 and MobileNet, batch 1, beside cuDNN (FMA math, no TF32, all algorithms)
#   gemm       large products in f32, f16, bf16, i8, and a classifier's layers, beside cuBLAS
#   f16        convolutions in f16 and bf16 on tensor cores
#   i8         int8 layers at batch 1 and 16 beside f32 and cuDNN's int8; first the ratio of the instructions' rates
#   networks   the six networks of int8 (resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d), tuned, sums of layers
#   rnn        the seven steps of the LSTM ladder, and LSTMs beside cuDNN
#   sparse     sparsity .5 to .95 at batch 64 beside cuSPARSE, the dense convolution and the roofline
# The page $work/page.md holds what was printed, with date, device and driver: copy it to docs/results/. --resume keeps what an
# interrupted run tuned. TUNE_BIN: programs that are built already. Packages must be there: scripts/install_deps.sh.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

device=cuda trials=64 work=out/gpu_check resume="" parts=""
while [ $# -gt 0 ]; do
    case "$1" in
    --device | --trials | --work)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --device) device=$2 ;;
        --trials) trials=$2 ;;
        --work) work=$2 ;;
        esac
        shift
        ;;
    --resume) resume=--resume ;;
    tests | f32 | gemm | f16 | i8 | networks | rnn | sparse) parts="$parts $1" ;;
    *) fail "unknown argument '$1'; expected --device, --trials, --work, --resume or a part: tests f32 gemm f16 i8 networks rnn sparse" ;;
    esac
    shift
done
[ -n "$parts" ] || parts="tests f32 gemm f16 i8 networks rnn sparse"

bin=${TUNE_BIN:-}
if [ -z "$bin" ]; then
    say "build"
    build release
    bin=build/bin
fi
mkdir -p "$work"
page=$work/page.md
"$bin/tune-agent" --device "$device" --self-test >"$work/device.txt" 2>&1 || { cat "$work/device.txt" >&2; fail "no such device: $device"; }
{
    printf '# %s, %s\n\n' "$(date +%Y-%m-%d)" "$(sed 's/; .*//' "$work/device.txt")"
    printf 'Command: `scripts/gpu_check.sh --device %s --trials %s%s`.\n\n' "$device" "$trials" "$parts"
    sed 's/^/    /' "$work/device.txt"
    if command -v nvidia-smi >/dev/null 2>&1; then
        nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.sm,temperature.gpu,power.draw --format=csv | sed 's/^/    /'
    fi
    echo
} | tee "$page"

failed=""
# section NAME TITLE COMMAND...: its output onto the page; a failure is told at the end.
section() {
    name=$1 title=$2
    shift 2
    printf '\n## %s\n\n' "$title" | tee -a "$page"
    if ! "$@" >"$work/$name.txt" 2>&1; then failed="$failed $name"; fi
    tee -a "$page" <"$work/$name.txt"
}

# beside SETS...: tunes and measures layer sets beside the peers; prints the table, and every contender behind it.
beside() {
    sets=""
    for set in "$@"; do sets="$sets --set $set"; done
    # shellcheck disable=SC2086 # a list of words is meant
    TUNE_BIN=$bin scripts/bench_ops.sh --quick $resume --device "$device" --trials "$trials" --work "$work/$1" $sets
    cat "$work/$1"/quick-*/*.md
}

device_tests() {
    "$bin/../tests/test_kernels_cuda" --device "$device" 2>&1 | grep -E 'FAILED|ERROR|tests|PASSED' &&
        "$bin/../tests/test_mutants_cuda" --device "$device" 2>&1 | grep -E 'FAILED|ERROR|tests|PASSED'
}

six_networks() {
    for network in resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d; do
        for form in "--dtype i8 --layout nchw4c" ""; do
            printf '\n### %s %s\n\n' "$network" "${form:-f32}"
            # shellcheck disable=SC2086 # a list of words is meant
            "$bin/tune" run --network "$network" $form --device "$device" --trials "$((trials * 8))" -q \
                -o "$work/$network.${form:+i8}.jsonl" || return 1
        done
    done
}

lstm() {
    "$bin/tune" ladder rnn "cell=lstm i=512 h=512 l=4 b=64 t=100" --device "$device" && beside gpu-rnn
}

for part in $parts; do
    case "$part" in
    tests) section tests "Every template against its reference, and mutants" device_tests ;;
    f32) section f32 "f32 layers of VGG-16, ResNet-50 and MobileNet beside cuDNN" beside vgg-16 resnet-50 mobilenet-v1 ;;
    gemm) section gemm "Matrix products beside cuBLAS" beside gpu-gemm ;;
    f16) section f16 "f16 and bf16 on tensor cores beside cuDNN" beside gpu-f16 ;;
    i8)
        section rates "What the instructions can do" "$bin/bench_rates" --device "$device"
        section i8 "int8 beside f32 and cuDNN" beside gpu-i8
        ;;
    networks) section networks "Six networks in int8 and f32: sums of tuned layers" six_networks ;;
    rnn) section rnn "The LSTM ladder, and cuDNN's LSTM" lstm ;;
    sparse) section sparse "Sparse layers beside cuSPARSE and the dense convolution" beside gpu-sparse ;;
    esac
done
say "written: $page"
[ -z "$failed" ] || fail "failed:$failed (see $work)"
