#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_ops.sh [--quick] [options] - our operators beside oneDNN, onnxruntime, OpenBLAS and CLBlast, in one run a layer, every
# contender in each round next to the core's FMA peak. The last lines are a table and "geomean: packed A plain B".
#   (without --quick)  the best log of scripts/tune_ops.sh (--log FILE, default docs/results/ops.best.jsonl) and our default
#                      configs on all layers; writes the page docs/results/<date>-ops-<device>-<threads>.md (with --set: DIR/page.md)
#   --quick            8 named layers, tuned here with 60 trials each from nothing, then measured: under half an hour
#   --resume           with --quick: keep what an earlier run has tuned and measured
#   --set SET          only these layers: vgg-16 resnet-50 mobilenet-v1 quick dense dense4 attention rnn i8 sparse between; may be repeated
#   --trials N  --rounds N  --threads N[,N] (one run after another)  --work DIR (out/bench_ops)
#   --own-events       ours by the device's events, without a lone call's start and wait
#   --baselines        also our naive templates (default >= 10x naive) and CLBlast: minutes a layer
# Run it on a machine that does nothing else; beside the libraries of a GPU: scripts/gpu_check.sh. Environment: scripts/ops.sh.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/ops.sh

quick="" resume="" baselines="" sets="" trials=60 rounds=9 threads=1 work=out/bench_ops log=docs/results/ops.best.jsonl events="" given="$*"
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) quick=1 ;;
    --resume) resume=1 ;;
    --baselines) baselines=clblast,naive ;;
    --own-events) events=1 ;;
    --set | --trials | --rounds | --threads | --work | --log)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --set) sets="$sets $2" ;;
        --trials) trials=$2 ;;
        --rounds) rounds=$2 ;;
        --threads) threads=$2 ;;
        --work) work=$2 ;;
        --log) log=$2 ;;
        esac
        shift
        ;;
    *) fail "unknown argument '$1'; expected --quick, --resume, --baselines, --own-events, --set, --trials, --rounds, --threads, --work, --log" ;;
    esac
    shift
done

case "$threads" in
*,*)
    for n in $(echo "$threads" | tr , ' '); do
        # shellcheck disable=SC2086 # a list of words is meant
        scripts/bench_ops.sh $given --threads "$n"
    done
    exit
    ;;
esac

ops_programs
start=$(date +%s)
work=$work/${quick:+quick-}$threads
[ -n "$resume" ] || rm -rf "$work"
mkdir -p "$work"
: "${POCL_CACHE_DIR:=$work/pocl}"
export POCL_CACHE_DIR
export POCL_DEVICES="${POCL_DEVICES:-$(yes basic | head -n "$threads" | paste -sd ' ' -)}" # as docs/deploying.md and libtune.md say
[ -n "$sets" ] || sets=${quick:+quick}
layers=$(if [ -z "$sets" ]; then ops_layers; else for set in $sets; do ops_layers "$set"; done; fi)
[ -n "$layers" ] || fail "no layers in$sets; expected $networks quick dense dense4 attention rnn i8 sparse between"

# measure NAME WORKLOAD: one layer into $work/NAME.json and .md; a first short run compiles what the timed one loads.
measure() {
    logs=""
    if [ -n "$quick" ]; then
        for file in "$work/$1".*.best.jsonl; do [ ! -f "$file" ] || logs="$logs --log $file"; done
    elif [ -f "$log" ]; then
        logs="--log $log"
    fi
    # shellcheck disable=SC2086 # lists of words are meant
    set -- "$1" "$2" $logs ${baselines:+--with $baselines} ${events:+--own-events} --threads "$threads" --device "$device"
    name=$1
    shift
    rm -f "$work/$name.json"
    "$bin/bench_ops" "$@" --rounds 1 --slot 0 >/dev/null 2>&1 || true
    # shellcheck disable=SC2086
    $TUNE_TIMED "$bin/bench_ops" "$@" --rounds "$rounds" --json "$work/$name.json" >"$work/$name.md" 2>"$work/$name.err" ||
        printf 'not measured: %s: %s\n' "$name" "$(tail -n 1 "$work/$name.err")"
}

printf '%s\n' "$layers" | while IFS='|' read -r name workload; do
    if [ -n "$resume" ] && [ -s "$work/$name.json" ]; then
        printf '%s: measured before\n' "$name"
        continue
    fi
    if [ -n "$quick" ]; then
        ops_layouts "$workload" | while IFS='|' read -r layout variant; do
            ops_tune "$variant" "$trials" "$work/$name.$layout" </dev/null
        done
    fi
    measure "$name" "$workload" </dev/null
    printf '%s: %d s in all\n' "$name" $(($(date +%s) - start))
done

files=$(printf '%s\n' "$layers" | while IFS='|' read -r name workload; do [ ! -s "$work/$name.json" ] || printf '%s\n' "$work/$name.json"; done)
[ -n "$files" ] || fail "nothing was measured"
# shellcheck disable=SC2086 # a list of files is meant
"$bin/bench_ops" --table $files >"$work/table.txt"
if [ -z "$quick" ]; then
    slug=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs 'A-Za-z0-9' '-' | tr '[:upper:]' '[:lower:]' | sed 's/-$//')
    page="docs/results/$(date +%Y-%m-%d)-ops-${slug:-device}-$threads.md"
    [ -z "$sets" ] || page="$work/page.md"
    {
        printf '# %s, operators beside their peers, %s\n\n' "$(date +%Y-%m-%d)" "${slug:-device}"
        printf 'Command: `%sscripts/bench_ops.sh%s --threads %s`. %s\n\n' "${POCL_DEVICES:+POCL_DEVICES='$POCL_DEVICES' }" "$(for set in $sets; do printf ' --set %s' "$set"; done)" "$threads" \
            "$(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg) at the end."
        cat "$work/table.txt"
        printf '\n## Every contender\n\n'
        printf '%s\n' "$files" | sed 's/json$/md/' | while IFS= read -r file; do cat "$file"; done
    } >"$page"
    say "written: $page"
fi
cat "$work/table.txt"
