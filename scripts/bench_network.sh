#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_network.sh - whole networks beside onnxruntime: the same random weights and input, every output compared, the time
# of one call beside onnxruntime's, in turns in one process, and beside the sum of the layers' recorded times. Batch 1.
#
#   scripts/bench_network.sh [--trials N] [--time T] [--threads N[,N]] [--records N] [--layout L[,L]] [--rounds N]
#                            [--resume] [--page FILE] [NETWORK:DTYPE | FILE.onnx ...]
#
#   NETWORK:DTYPE  resnet-18:f32 resnet-18:f16 resnet-18:i8 mobilenet-v1:f32 ... (those of ResNet-18 and MobileNet); `vgg-16`
#                  and `resnet-50` too
#   FILE.onnx      a model with its own weights and seeded inputs; besides the steps that lose, by name. Those of
#                  tests/onnx/networks.py and transformers.py are such: `networks.py DIR` writes them
#   --trials N     configs measured of each workload (16); 0: none, the log that is there is taken, without one the templates' defaults
#   --time T       longest tuning of each network (10m)
#   --threads N    of the CPU device and of onnxruntime (1); a list: each is measured, with configs of its own
#   --records N    the configs are those of N threads, whatever --threads says
#   --layout L     layouts that may be chosen (nchw,nchw16c; i8 and u8 take the second)
#   --rounds N     rounds of five calls of each side (21); 0: outputs are compared, nothing is timed
#   --resume       what an earlier run has timed is not timed again
#   --page FILE    writes what was measured as a page for docs/results
#
# Needs the programs (TUNE_BIN_DIR, else build/bin) and scripts/install_deps.sh --bench (TUNE_PEERS). Logs, bundles and
# onnxruntime's side go to OUT (out/networks); a second run goes on with the logs that are there. Exit code 1: a network's
# output is not onnxruntime's; 77: no onnxruntime here.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$root/out/networks}
python=${TUNE_PEERS:-$HOME/.cache/tune-peers/venv}/bin/python
trials=16 time=10m threads=1 layouts=nchw,nchw16c rounds=21 sets="" records="" page="" resume="" given="$*"
. "$root/scripts/common.sh"

while [ $# -gt 0 ]; do
    case "$1" in
    --trials | --time | --threads | --records | --layout | --rounds | --page)
        [ $# -gt 1 ] || { echo "bench_network.sh: $1 needs a value" >&2; exit 2; }
        case "$1" in
        --trials) trials=$2 ;;
        --time) time=$2 ;;
        --threads) threads=$2 ;;
        --records) records=$2 ;;
        --layout) layouts=$2 ;;
        --rounds) rounds=$2 ;;
        --page) page=$2 ;;
        esac
        shift 2
        ;;
    --resume) resume=1; shift ;;
    --help | -h) head_comment "$0" ;;
    *:f32 | *:f16 | *:i8 | *:u8) sets="$sets $1"; shift ;;
    *.onnx) sets="$sets $1:f32"; shift ;;
    *) echo "bench_network.sh: '$1'; expected FILE.onnx, or NETWORK:DTYPE with dtype f32, f16, i8 or u8; --help tells more" >&2; exit 2 ;;
    esac
done
bin=$(cd "${TUNE_BIN_DIR:-$root/build/bin}" && pwd)
[ -n "$sets" ] || sets="resnet-18:f32 resnet-18:f16 resnet-18:i8 mobilenet-v1:f32 mobilenet-v1:f16 mobilenet-v1:i8"

if ! "$python" -c 'import onnxruntime, onnx, numpy' 2>/dev/null; then
    echo "bench_network.sh: skipped: no onnxruntime and onnx in $python; scripts/install_deps.sh --bench installs them"
    exit 77
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$out/pocl}"
mkdir -p "$POCL_CACHE_DIR"
table=$out/table devices=${POCL_DEVICES:-}
[ -n "$resume" ] || rm -f "$table"
touch "$table"

# make_inputs NETWORK DTYPE OUT: weights, an input and onnxruntime's outputs.
make_inputs() {
    case "$1" in
    *.onnx)
        "$bin/tune" import "$1" -q -o "$3"
        "$python" "$root/tests/bench/network/model_ort.py" "$1" "$3"
        ;;
    *) "$python" "$root/tests/bench/network/network_ort.py" "$root/kernels/networks/$1.graph" --dtype "$2" --out "$3" ;;
    esac
}

# basics N: as many of PoCL's devices `basic` (docs/deploying.md), unless the caller names devices.
basics() { echo "${devices:-$(yes basic | head -n "$1" | paste -sd ' ' -)}"; }

# tune_set NETWORK DTYPE LOG: measures what the whole network needs.
tune_set() {
    if [ "$trials" -eq 0 ]; then
        [ -s "${3%.jsonl}.best.jsonl" ] || # one small record says what the device is
            POCL_DEVICES=$(basics "${records:-$n}") "$bin/tune" run "softmax f32 m=1 n=16" --trials 1 --threads "${records:-$n}" -q -o "$3" >"$3.txt"
        return
    fi
    POCL_DEVICES=$(basics "${records:-$n}") "$bin/tune" run --network "$1" --dtype "$2" --whole --layout "$layouts" --trials "$trials" \
        --time "$time" --threads "${records:-$n}" -q -o "$3" >"$3.txt" || { cat "$3.txt" >&2; return 1; }
}

# build_set NETWORK DTYPE LOG NAME: the bundle, installed, and the example over it.
build_set() {
    "$bin/tune" deploy "${3%.jsonl}.best.jsonl" --network "$1" --dtype "$2" --whole --allow-nearest --layout "$layouts" --name "$4" -o "$out/$4" |
        grep -A1 '^whole network'
    {
        cmake -S "$out/$4" -B "$out/$4-build" -DCMAKE_INSTALL_PREFIX="$out/$4-installed" -D"$4_VECTORS=OFF" -DBUILD_SHARED_LIBS=ON
        cmake --build "$out/$4-build"
        cmake --install "$out/$4-build"
        cmake -S "$root/examples/deploy_network" -B "$out/$4-example" -DBUNDLE="$4" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_PREFIX_PATH="$out/$4-installed"
        cmake --build "$out/$4-example"
    } >"$out/$4.build.txt" 2>&1 || { cat "$out/$4.build.txt" >&2; return 1; }
}

# f32: the sums before softmax within 1e-4 of the largest; f16: 2e-2, as halves have 11 bits and layers add up; i8, u8: equal
# integers, so that only the last f32 operations may differ.
limit_of() {
    case "$1" in
    f32) echo 1e-4 ;;
    f16) echo 2e-2 ;;
    i8 | u8) echo 1e-6 ;;
    esac
}

# time_set NETWORK DTYPE NAME: both sides in turns.
time_set() {
    [ "$rounds" -gt 0 ] || return 0
    # shellcheck disable=SC2086 # $any is a word or none
    "$python" "$root/tests/bench/network/network_calls.py" "$out/ort-${3%_*}" "$out/$3" "$(find "$out/$3-installed" -name "lib$3.so")" \
        --network "$(basename "$1" .onnx)" --dtype "$2" --threads "$n" --rounds "$rounds" --table "$table" $any
    case "$1" in
    *.onnx) "$python" "$root/tests/bench/network/losing_steps.py" "$out/ort-${3%_*}" "$out/$3" --threads "$n" ;;
    esac
}

# means WORDS CONDITION: the geometric mean of the table's ratios, of rows of awk's CONDITION.
means() {
    awk -v words="$1" "$2 { sum += log(\$6); n++ } END { if (n) printf \"%s %.2f (%d rows)\n\", words, exp(sum / n), n }" "$table"
}

failed=0
for set in $sets; do
    network=${set%:*} dtype=${set#*:}
    short=$(basename "$network" .onnx)
    name=$(echo "${short}_$dtype" | tr -c 'a-zA-Z0-9\n' _)
    left=""
    for n in $(echo "$threads" | tr , ' '); do grep -q "^$short $dtype $n " "$table" || left=1; done
    [ -z "$left" ] || make_inputs "$network" "$dtype" "$out/ort-$name"
    for n in $(echo "$threads" | tr , ' '); do
        ! grep -q "^$short $dtype $n " "$table" || continue
        POCL_DEVICES=$(basics "$n")
        export POCL_DEVICES
        log=$out/$short-$dtype-${records:-$n}.jsonl
        any=""
        [ "${records:-$n}" = "$n" ] || any=--any # another number of threads is another device
        echo "== $short $dtype, $n thread$([ "$n" = 1 ] || echo s)"
        tune_set "$network" "$dtype" "$log"
        build_set "$network" "$dtype" "$log" "${name}_$n"
        "$out/${name}_$n-example/deploy_network" $any --limit "$(limit_of "$dtype")" "$out/ort-$name" || failed=1
        time_set "$network" "$dtype" "${name}_$n"
    done
done
# Of a line of the table: had a side most of the CPUs that its threads want? A row of the page; write_page: the page.
# shellcheck disable=SC2016 # awk's fields
undisturbed='($12 >= .75 * $3 * $4 || $13 >= .75 * $3 * $5)'
# shellcheck disable=SC2016
row='{ printf "| %s %s | %s%s | %s | %.2f (%.2f) | %.2f (%.2f) | **%.2f** (%.2f to %.2f) | %.2f, %.2f: %.2f | %s |\n", $1, $2, $3, '"$undisturbed"' ? "" : " (disturbed)", $14, $4, $10, $5, $11, $6, $8, $9, $12, $13, $13 / $12, $7 }'
write_page() {
    echo "# $(date +%Y-%m-%d): whole networks, one call beside onnxruntime"
    echo
    echo "Command: \`scripts/bench_network.sh $(echo "$given" | sed 's#[^ ]*/##g')\`. $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)" \
        "at the end; $("$bin/tune" --version), $(grep -ho "PoCL [0-9.]*" "$out"/*/manifest.json | head -n 1), onnxruntime $("$python" -c 'import onnxruntime; print(onnxruntime.__version__)')."
    if [ "$trials" -eq 0 ]; then echo "Configs: the logs that were there, else the templates' defaults, never measured."; else echo "Configs: the best of $trials trials of each workload."; fi
    echo
    echo "Milliseconds of one call, batch 1: medians of $rounds rounds of five calls of each side, in turns in one process (in parentheses the least); the ratio is the median of the rounds' (half of them"
    echo "between the two in parentheses); CPU time is the process's, of both sides and their ratio: with one thread it leaves out what else the machine does. Disturbed: neither side had three quarters of the CPUs"
    echo "that its threads want; those rows are in no mean."
    echo
    echo "| network | threads | steps | ours | onnxruntime | ratio | CPU time | convolutions |"
    echo "|---|---|---|---|---|---|---|---|"
    awk "$row" "$table"
    echo
    for n in $(echo "$threads" | tr , ' '); do
        means "Geometric mean, $n thread$([ "$n" = 1 ] || echo s):" "\$3 == $n && $undisturbed"
    done
}

[ -z "$page" ] || [ ! -s "$table" ] || write_page >"$page"
if [ -s "$table" ]; then
    echo "== $(date +%Y-%m-%d), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
    echo "network dtype threads ours-ms onnxruntime-ms ratio arithmetic"
    cat "$table"
    for n in $(echo "$threads" | tr , ' '); do
        means "geomean, $n thread$([ "$n" = 1 ] || echo s):" "\$3 == $n"
        means "    of those without Winograd:" "\$3 == $n && \$7 == \"direct\""
    done
fi
exit $failed
