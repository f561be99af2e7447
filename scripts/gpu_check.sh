#!/bin/bash
# SPDX-License-Identifier: MIT
# gpu_check.sh [--budget SECONDS] [--state FILE] [--device cuda:0] [--trials N] [--libs DIR] [--no-peers] [--work DIR] [PART...]
# On a machine with an NVIDIA GPU: tests every CUDA template against its reference on the device, tunes layers there, and prints our kernels beside
# cuDNN, cuBLAS and cuSPARSE, each in one run. Parts, what is worth most first (all without any):
#   contract   the device contract of the runtime, and what the device says of itself
#   tests      all templates on all shapes
#   rates      what the device's instructions can do: fma, dp4a, mma
#   gemm       large products in f32, f16, bf16, i8, and a classifier's layers, beside cuBLAS
#   f32        layers of VGG-16, ResNet-50 and MobileNet, batch 1, beside cuDNN (FMA math, no TF32, all algorithms)
#   f16        convolutions in f16 and bf16 on tensor cores
#   i8         int8 layers at batch 1 and 16 beside f32 and cuDNN's int8
#   rnn        the seven steps of the LSTM ladder, and LSTMs beside cuDNN
#   sparse     sparsity .5 to .95 at batch 64 beside cuSPARSE, the dense convolution and the roofline
#   mutants    wrong kernels, on the device itself: each has to be found wrong
#   profile    where ncu is: what bounds the best kernels
#   networks   the six networks of int8 (resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d), tuned, sums of layers
# --budget: all of it ends by then, children too; parts share what is left, what was not begun is told. --state: one file with all that
# was done, written anew every ten seconds; where it is there already, this call goes on with what is left, however the one before ended.
# Where it is not, but WORK has what another call left, this goes on with that: to begin anew, remove both.
# A machine that is lent for nine minutes at a time:
#   tune-gpu/scripts/gpu_check.sh --budget 540 --state state.tar        (three times)
# NVRTC and peers are looked for in --libs, in the loader's path, in CUDA_HOME (/usr/local/cuda), and in site-packages/nvidia of every
# Python environment found (VIRTUAL_ENV, CONDA_PREFIX, python3's own, the user's, /opt). Without cuBLAS, cuDNN and cuSPARSE it fails at
# once, unless --no-peers.
# The page WORK/page.md (out/gpu_check) holds what was printed, with date, device and driver. Exit status 1: a part failed or peers
# were missing, told last. Works in the archive of scripts/gpu_pack.sh; in the tree it builds first (scripts/install_deps.sh).
# Ours and the libraries' work is replayed as CUDA graphs (graph=on), where the library allows it.
set -eu
caller=$PWD
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/ops.sh

# absolute PATH: of the caller's.
absolute() {
    case "$1" in "" | /*) echo "$1" ;; *) echo "$caller/$1" ;; esac
}

# Parts and their shares of the time.
all="contract:1 tests:6 rates:1 gemm:8 f32:12 f16:6 i8:12 rnn:5 sparse:6 mutants:4 profile:2 networks:20"
names=$(echo "$all" | sed 's/:[0-9]*//g')
device=cuda:0 trials=96 budget=0 state="" work=out/gpu_check parts="" libs="" peers=yes
while [ $# -gt 0 ]; do
    case "$1" in
    --device | --trials | --budget | --state | --work | --libs)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --device) device=$2 ;;
        --trials) trials=$2 ;;
        --budget) budget=$2 ;;
        --state) state=$2 ;;
        --work) work=$(absolute "$2") ;;
        --libs) libs=$2 ;;
        esac
        shift
        ;;
    --no-peers) peers="" ;;
    --help | -h) head_comment "scripts/$(basename "$0")" ;;
    *)
        case " $names " in
        *" $1 "*) case " $parts " in *" $1 "*) ;; *) parts="$parts $1" ;; esac ;;
        *) fail "unknown argument '$1'; expected --budget, --state, --device, --trials, --libs, --no-peers, --work or a part: $names" ;;
        esac
        ;;
    esac
    shift
done
case "$budget" in *[!0-9]* | "" | 0?* | ????????*) fail "--budget '$budget': expected seconds, 0 to 9999999" ;; esac
case "$trials" in *[!0-9]* | "" | 0* | ????????*) fail "--trials '$trials': expected a number, 1 to 9999999" ;; esac
libs=$(absolute "$libs") state=$(absolute "$state")
[ -z "$libs" ] || [ -d "$libs" ] || fail "--libs '$libs': no such folder"
[ ! -d "$state" ] || fail "--state '$state': a folder, expected a file"
[ -n "$parts" ] || parts=$names
case "$device" in
*graph=*) replayed=$device ;;
cuda) replayed=cuda:0,graph=on ;;
*) replayed=$device,graph=on ;;
esac
start=$(date +%s)
left() { echo $((start + budget - $(date +%s))); }

# ---- programs, libraries ----
bin=bin
if [ ! -x bin/tune-agent ]; then
    bin=${TUNE_BIN:-}
    if [ -z "$bin" ]; then
        say "build"
        build release all benches
        bin=build/bin
    fi
fi
[ ! -e no-peers ] || [ -z "$peers" ] || fail "this archive was packed without peers: say --no-peers"
bin=$(cd "$bin" && pwd)
tests=$(cd "$bin/../tests" && pwd)

# Folders with libraries of NVIDIA's, each once.
library_folders() {
    [ -z "$libs" ] || (cd "$libs" && pwd)
    for root in ${VIRTUAL_ENV:+"$VIRTUAL_ENV"} ${CONDA_PREFIX:+"$CONDA_PREFIX"} "$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)" \
        /opt/*/.venv /opt/*/venv /opt/venv /opt/conda /opt/conda/envs/* "$HOME"/.venv "$HOME"/venv "$HOME"/.local "$HOME"/*conda* \
        "$HOME"/*conda*/envs/* "$HOME"/.pyenv/versions/* /usr /usr/local; do
        for folder in "$root"/lib/python3*/site-packages/nvidia/*/lib "$root"/lib/python3*/dist-packages/nvidia/*/lib; do
            [ ! -d "$folder" ] || echo "$folder"
        done
    done
    for folder in "${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/lib/x86_64-linux-gnu; do
        [ ! -d "$folder" ] || echo "$folder"
    done
}
folders=$(library_folders | awk '!seen[$0]++')
path=$(echo "$folders" | tr '\n' ':')
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${path%:}"
if [ -n "$peers" ]; then
    missing=""
    loader=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null || true)
    IFS=:
    for library in libcudart.so libcublas.so libcudnn.so libcusparse.so; do
        found=$(printf '%s\n' "$loader" | grep -F -m 1 "$library" || true)
        for folder in $LD_LIBRARY_PATH; do
            for file in "$folder/$library"*; do [ ! -e "$file" ] || found=yes; done
        done
        [ -n "$found" ] || missing="$missing $library"
    done
    unset IFS
    [ -z "$missing" ] || fail "not found:$missing (searched: $LD_LIBRARY_PATH); say where with --libs DIR, or --no-peers"
fi
driver=${TUNE_CUDA_LIBRARY:-libcuda.so.1}

# ---- state ----
mkdir -p "$work" 2>/dev/null || fail "$work cannot be made: another place with --work DIR"
work=$(cd "$work" && pwd)

# The part that runs for this folder ends, in this call or in one that was killed (its process is named by the lock), and all that it
# started, which has GPU_CHECK_WORK in its environment.
end_children() {
    last=$(tail -n 1 "$work.lock")
    if [ -n "$last" ] && [ "$last" != $$ ] && grep -qsF gpu_check.sh "/proc/$last/cmdline"; then kill -s KILL "$last" 2>/dev/null || true; fi
    for i in $(seq 30); do
        living=$(grep -lsxzF "GPU_CHECK_WORK=$work" /proc/[0-9]*/environ | sed -n 's|^/proc/\([0-9]*\)/environ$|\1|p' || true)
        [ -n "$living" ] || return 0
        # shellcheck disable=SC2086 # a list of processes is meant
        case "$i" in 1) kill $living 2>/dev/null || true ;; 2?) kill -s KILL $living 2>/dev/null || true ;; esac
        sleep .2
    done
}
{ exec 9>>"$work.lock"; } 2>/dev/null || fail "$work.lock cannot be written: another place with --work DIR"
flock -n 9 || fail "another gpu_check.sh is at work in $work"
if [ -n "$state" ]; then
    case "$(realpath -m "$state")" in "$work"/*) fail "$state lies in $work, all of which it is to hold: another place" ;; esac
    { exec 8>>"$state.lock"; } 2>/dev/null || fail "$state.lock cannot be written: another place with --state FILE"
    flock -n 8 || fail "another gpu_check.sh is at work for $state"
fi
end_children

# Files that the folder has newer than the state are of a call that was ended before it could save them.
if [ -n "$state" ]; then
    id="" id_of_work=$(cat "$work/id" 2>/dev/null || true)
    [ -n "$id_of_work" ] || [ -z "$(ls -A "$work")" ] || fail "$work holds what this script did not write: another --work"
    if [ -e "$state" ]; then
        id=$(tar -xzOf "$state" ./id 2>/dev/null) || fail "$state cannot be read: move it away, and this goes on with what $work holds"
        [ -z "$id_of_work" ] || [ "$id" = "$id_of_work" ] || fail "$work holds other work than $state: another --work, or another --state"
    elif [ -n "$id_of_work" ]; then
        say "$state is not there: this goes on with what $work holds"
    fi
    [ -z "$id" ] || tar --keep-newer-files -xzf "$state" -C "$work" 2>/dev/null || fail "$state cannot be unpacked into $work"
else
    for part in $parts; do rm -rf "${work:?}/$part" "$work/$part".*; done
fi
[ -s "$work/id" ] || echo "$(date +%s).$$" >"$work/id"
unsaved=""
save() {
    [ -n "$state" ] || return 0
    code_of_tar=0
    words=$(tar -czf "$state.new" -C "$work" . 2>&1) || code_of_tar=$? # 1: something was written meanwhile
    if [ "$code_of_tar" -le 1 ] && words=$(mv "$state.new" "$state" 2>&1); then
        unsaved=""
    else
        unsaved="$state cannot be written ($(printf '%s\n' "$words" | grep -m 1 . || true)): what was done stays in $work"
        rm -f "$state.new"
    fi
}
save
[ -z "$unsaved" ] || fail "$unsaved"
interrupted() {
    trap '' INT TERM HUP
    end_children
    save
    fail "interrupted; the same command goes on from here${unsaved:+; $unsaved}"
}
trap interrupted INT TERM HUP

"$bin/tune-agent" --device "$device" --self-test >"$work/device.txt" 2>&1 || { cat "$work/device.txt" >&2; fail "no such device: $device"; }
print_of() { sed -n 's/.*; \(fingerprint [^;]*\);.*/\1/p' "$1" | head -n 1; }
if [ -f "$work/head.md" ] && [ "$(print_of "$work/head.md")" != "$(print_of "$work/device.txt")" ]; then
    fail "${state:-$work} is of another device or driver ($(print_of "$work/head.md"), here $(print_of "$work/device.txt")): another --state or --work"
fi
if [ ! -f "$work/head.md" ]; then
    printf '# %s, %s\n\n' "$(date +%Y-%m-%d)" "$(sed 's/; .*//' "$work/device.txt")"
    printf 'Command: `scripts/gpu_check.sh --budget %s --trials %s`, perhaps several times, with one --state. Version %s.\n\n' "$budget" "$trials" \
        "$("$bin/tune" --version | head -n 1)"
    sed 's/^/    /' "$work/device.txt"
    if command -v nvidia-smi >/dev/null 2>&1; then
        nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.sm,temperature.gpu,power.draw --format=csv | sed 's/^/    /'
    fi
fi >"$work/head.tmp"
[ ! -s "$work/head.tmp" ] || cat "$work/head.tmp" >>"$work/head.md"
rm -f "$work/head.tmp"
cat "$work/head.md"

# ---- parts: each function gets its seconds, 0 = as long as it takes; status 75: cut short, to be gone on with ----
# limited SECONDS COMMAND...: ended after them, and never beyond the budget.
limited() {
    limit=$1
    shift
    if [ "$budget" -gt 0 ]; then
        most=$(left)
        [ "$most" -gt 0 ] || return 124
        if [ "$limit" -eq 0 ] || [ "$limit" -gt "$most" ]; then limit=$most; fi
    fi
    if [ "$limit" -gt 0 ]; then timeout -k 5 "$limit" "$@"; else "$@"; fi
}

part_contract() {
    # shellcheck disable=SC2031
    TUNE_CUDA_LIBRARY=$driver limited "$1" "$tests/test_cuda" 2>&1 | grep -vE '^\[ (RUN|      OK)'
    code=${PIPESTATUS[0]}
    limited 60 "$bin/tune-agent" --device "$device" --look
    return "$code"
}

# Processes for the templates, each with its part of them; for mutants, of which each may break its context, more than there are of them.
part_tests() {
    scripts/gpu_tests.sh "$tests/test_kernels_cuda" 64 "$work/tests" "$1"
}
part_mutants() {
    scripts/gpu_tests.sh "$tests/test_mutants_cuda" 512 "$work/mutants" "$1"
}

part_rates() {
    limited "$1" "$bin/bench_rates" --device "$device"
}

# beside SECONDS NAME SETS...: tunes the layers of these sets together, then measures each beside the peers. Of the time, 2 s are kept for the
# finals of each workload and 4 s for each measurement, but at least a third is for tuning.
beside() {
    seconds=$1 name=$2
    shift 2
    folder=$work/$name
    mkdir -p "$folder"
    for set in "$@"; do ops_layers "$set"; done >"$folder/layers"
    [ -s "$folder/layers" ] || { echo "no layers in $*" && return 1; }
    while IFS='|' read -r layer workload; do
        gpu_layouts "$workload" | while IFS='|' read -r layout variant; do printf '%s.%s | 1 | %s\n' "$layer" "$layout" "$variant"; done
    done <"$folder/layers" >"$folder/layers.net"
    n=$(wc -l <"$folder/layers.net") n_layers=$(wc -l <"$folder/layers")
    begun=$(date +%s) code=0 limit=0 time=""
    if [ "$seconds" -gt 0 ]; then
        tuning=$((seconds - 2 * n - 4 * n_layers))
        [ "$tuning" -gt $((seconds / 3)) ] || tuning=$((seconds / 3))
        limit=$((tuning + 3 * n + 10)) time="--time ${tuning}s"
    fi
    if [ ! -f "$folder/tuned" ]; then
        # shellcheck disable=SC2086 # the option and its value are meant
        limited "$limit" "$bin/tune" run --network "$folder/layers.net" --device "$replayed" --trials $((trials * n)) $time -q -o "$folder/log.jsonl" || code=$?
        [ "$code" -ne 0 ] || : >"$folder/tuned"
    fi
    printf '\n'
    if [ ! -s "$folder/log.best.jsonl" ]; then
        echo "no layer is tuned to its end"
        [ "$code" -ne 0 ] || code=1
        return "$code"
    fi
    code=0 not_compared=onednn,openblas,ort,csr
    [ -n "$peers" ] || not_compared=$not_compared,cudnn,cublas,cusparse
    while IFS='|' read -r layer workload; do
        [ ! -s "$folder/$layer.json" ] || continue
        if [ "$seconds" -gt 0 ] && [ $(($(date +%s) - begun)) -ge $((seconds + 15)) ]; then
            printf 'not measured for lack of time: %s\n' "$layer"
            code=75
            continue
        fi
        rm -f "$folder/new.json"
        if ! limited 60 "$bin/bench_ops" "$workload" --log "$folder/log.best.jsonl" --no-defaults --no-verify --without "$not_compared" \
            --layouts own,nchw4c,nchw16c,nhwc --device "$replayed" --rounds 7 --slot 10 --json "$folder/new.json" >"$folder/$layer.md" 2>"$folder/$layer.err" </dev/null; then
            printf 'not measured: %s: %s\n' "$layer" "$(tail -n 1 "$folder/$layer.err")"
            if [ "$code" -eq 0 ]; then
                if [ "$budget" -gt 0 ] && [ "$(left)" -le 0 ]; then code=75; else code=1; fi
            fi
            continue
        fi
        mv "$folder/new.json" "$folder/$layer.json"
        if grep -q '^| ours .*| wrong result |' "$folder/$layer.md"; then
            printf 'wrong result: %s\n' "$layer"
            [ "$code" -ne 0 ] || code=1
        elif [ -n "$peers" ] && ! grep -q -E '^\| (cuDNN|cuBLAS|cuSPARSE)' "$folder/$layer.md"; then
            printf 'without a peer: %s: %s\n' "$layer" "$(grep '^not there' "$folder/$layer.md" | tr '\n' ' ')"
            [ "$code" -ne 0 ] || code=1
        fi
    done <"$folder/layers"
    set --
    while IFS='|' read -r layer workload; do [ ! -s "$folder/$layer.json" ] || set -- "$@" "$folder/$layer.json"; done <"$folder/layers"
    [ $# -eq 0 ] || "$bin/bench_ops" --table "$@"
    printf '\n### Every contender\n\n'
    while IFS='|' read -r layer workload; do
        [ ! -s "$folder/$layer.md" ] || sed -n '/^###/p;/^|/p' "$folder/$layer.md"
    done <"$folder/layers"
    return "$code"
}

# gpu_layouts WORKLOAD: "suffix|workload" for each layout that is tuned.
gpu_layouts() {
    case "$1" in
    conv2d\ [iu]8\ *) printf '%s\n' "nchw4c|$1 layout=nchw4c" "nchw16c|$1 layout=nchw16c" ;;
    conv2d\ f16\ * | conv2d\ bf16\ *) printf '%s\n' "plain|$1" "nchw16c|$1 layout=nchw16c" "nhwc|$1 layout=nhwc" ;;
    *) printf '%s\n' "plain|$1" ;;
    esac
}

part_gemm() { beside "$1" gemm gpu-gemm; }
part_f32() { beside "$1" f32 gpu-f32; }
part_f16() { beside "$1" f16 gpu-f16; }
part_i8() { beside "$1" i8 gpu-i8; }
part_sparse() { beside "$1" sparse gpu-sparse; }
part_rnn() {
    code=0 ladder=$work/rnn/ladder
    mkdir -p "$work/rnn"
    if [ ! -f "$ladder" ]; then
        limited $(($1 / 2)) "$bin/tune" ladder rnn "${TUNE_LADDER:-cell=lstm i=512 h=512 l=4 b=64 t=100}" --device "$device" >"$ladder.new" || code=$?
        cat "$ladder.new"
        [ "$code" -ne 0 ] || mv "$ladder.new" "$ladder"
    else
        cat "$ladder"
    fi
    printf '\n'
    beside $(($1 / 2)) rnn gpu-rnn || code=$?
    return "$code"
}

# Of the best config of each layer: pipes, issue slots, memory, by Nsight Compute. Needs the right to read counters.
part_profile() {
    ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -n 1)
    [ -n "$ncu" ] || { echo "no ncu here" && return 0; }
    code=0
    metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active
    metrics=$metrics,sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed,lts__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu.sum,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
    for name in gemm f32 f16 i8 sparse; do
        [ -s "$work/$name/log.best.jsonl" ] || continue
        head -n 3 "$work/$name/layers" | while IFS='|' read -r layer workload; do
            [ "$1" -eq 0 ] || [ $(($(date +%s) - begun)) -lt "$1" ] || exit 75
            printf '\n### %s\n\n' "$layer"
            limited 40 "$ncu" --clock-control none --csv --metrics "$metrics" --launch-skip 3 --launch-count 3 "$bin/bench_ops" "$workload" \
                --log "$work/$name/log.best.jsonl" --no-defaults --no-verify --without onednn,openblas,ort,csr,cudnn,cublas,cusparse --device "$device,graph=off" \
                --rounds 1 --slot 0 2>&1 </dev/null |
                awk -F '","' '/^"[0-9]+"/ { gsub(/"/, "", $NF); printf "%s  %s = %s %s\n", substr($5, 1, 40), $(NF - 2), $NF, $(NF - 1) } /==ERROR==/' | head -n 40
        done || code=$?
    done
    return "$code"
}

part_networks() {
    code=0 folder=$work/networks
    mkdir -p "$folder"
    for network in resnet-50 vgg-19 inception-v3 drn-c-26 dcn-resnet-101 resnext-50-32x4d; do
        for form in "--dtype i8 --layout nchw4c" ""; do
            to=$folder/$network.${form:+i8}
            [ ! -f "$to.done" ] || continue
            printf '\n### %s %s\n\n' "$network" "${form:-f32}"
            # shellcheck disable=SC2086 # lists of words are meant
            if limited $(($1 / 6)) "$bin/tune" run --network "$network" $form --device "$device" --trials "$((trials * 8))" \
                $([ "$1" -eq 0 ] || echo "--time $(($1 / 12 + 1))s") -q -o "$to.jsonl"; then
                : >"$to.done"
            else
                code=$?
                echo "failed: exit status $code"
            fi
        done
    done
    return "$code"
}

title_of() {
    sed -n "s/^#   $1  *\([^ ].*\)/\1/p" scripts/gpu_check.sh | head -n 1
}

failed="" unfinished=""
for part in $parts; do
    [ ! -f "$work/$part.done" ] || continue
    seconds=0
    if [ "$budget" -gt 0 ]; then
        weights=0 own=0
        for word in $all; do
            name=${word%:*}
            case " $parts " in *" $name "*) ;; *) continue ;; esac
            [ ! -f "$work/$name.done" ] || continue
            [ "$name" != "$part" ] || own=${word#*:}
            case "$unfinished$failed " in *" $name "*) ;; *) weights=$((weights + ${word#*:})) ;; esac
        done
        rest=$(($(left) - 10))
        seconds=$((rest * own / weights))
        if [ "$seconds" -lt 10 ] && [ "$rest" -ge 10 ]; then seconds=10; fi
        if [ "$rest" -lt 10 ]; then
            unfinished="$unfinished $part"
            continue
        fi
    fi
    begun=$(date +%s) code=0
    (
        trap - INT TERM HUP
        export GPU_CHECK_WORK="$work"
        "part_$part" "$seconds" || exit $?
    ) >"$work/$part.txt" 2>&1 9>&- 8>&- &
    child=$!
    echo "$child" >"$work.lock"
    while kill -s 0 "$child" 2>/dev/null; do
        sleep 10 9>&- 8>&- &
        pause=$!
        wait -n "$child" "$pause" || true
        kill "$pause" 2>/dev/null || save # it is over
    done
    wait "$child" || code=$?
    {
        printf '\n## %s: %s\n\n' "$part" "$(title_of "$part")"
        case "$code" in
        0) ;;
        75 | 124 | 137) printf '**Cut short for lack of time**\n\n' ;;
        *) printf '**FAILED** (exit status %d)\n\n' "$code" ;;
        esac
        cat "$work/$part.txt"
        printf '\n(%d s of %d)\n' $(($(date +%s) - begun)) "$seconds"
    } >"$work/$part.new" || fail "$work/$part.new cannot be written"
    mv "$work/$part.new" "$work/$part.md"
    cat "$work/$part.md"
    case "$code" in
    0) : >"$work/$part.done" ;;
    75 | 124 | 137) unfinished="$unfinished $part" ;;
    *) failed="$failed $part" ;;
    esac
    save
done
{
    cat "$work/head.md"
    for part in $names; do [ ! -f "$work/$part.md" ] || cat "$work/$part.md"; done
} >"$work/page.md"
say "written: $work/page.md"
[ -z "$unfinished" ] || echo "not finished for lack of time:$unfinished"
[ -z "$unsaved" ] || fail "$unsaved"
[ -z "$failed" ] || fail "failed:$failed (see $work)"
