#!/bin/sh
# SPDX-License-Identifier: MIT
# tune_ops.sh [--set SET] [--trials N] [--threads N] [--work DIR] [-o FILE] - tunes every layer that scripts/bench_ops.sh measures:
# VGG-16, ResNet-50 and MobileNet in nchw and nchw16c, dense layers, an LSTM, int8 and sparse layers. Hours. Layers whose best log
# is in DIR (out/tune_ops) are skipped, so it goes on where it was stopped. FILE (docs/results/ops.best.jsonl) becomes the best
# log of all of them; `scripts/bench_ops.sh` measures it beside the peers.
# SET: vgg-16 resnet-50 mobilenet-v1 quick dense dense4 attention rnn i8 sparse between; may be repeated. Environment: scripts/ops.sh.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/ops.sh

trials=200 threads=1 work=out/tune_ops output=docs/results/ops.best.jsonl sets=""
while [ $# -gt 0 ]; do
    case "$1" in
    --trials | --threads | --work | --set | -o)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case "$1" in
        --trials) trials=$2 ;;
        --threads) threads=$2 ;;
        --work) work=$2 ;;
        --set) sets="$sets $2" ;;
        -o) output=$2 ;;
        esac
        shift 2
        ;;
    *) fail "unknown argument '$1'; expected --set SET, --trials N, --threads N, --work DIR, -o FILE" ;;
    esac
done

ops_programs
mkdir -p "$work"
layers=$(if [ -z "$sets" ]; then ops_layers; else for set in $sets; do ops_layers "$set"; done; fi)
[ -n "$layers" ] || fail "no layers in$sets; expected $networks quick dense dense4 attention rnn i8 sparse between"

start=$(date +%s)
n=$(printf '%s\n' "$layers" | wc -l)
i=0
printf '%s\n' "$layers" | while IFS='|' read -r name workload; do
    i=$((i + 1))
    ops_layouts "$workload" | while IFS='|' read -r layout variant; do
        at=$(date +%s)
        ops_tune "$variant" "$trials" "$work/$name.$layout" </dev/null
        printf '%d/%d %s %s: %d s, %d s in all\n' "$i" "$n" "$name" "$layout" $(($(date +%s) - at)) $(($(date +%s) - start))
    done
done

ls "$work"/*.best.jsonl >/dev/null 2>&1 || fail "nothing could be tuned"
"$bin/tune" best "$work"/*.best.jsonl -o "$output" >/dev/null
say "best of $(wc -l <"$output") workloads: $output; measure it beside the peers: scripts/bench_ops.sh --log $output"
