# SPDX-License-Identifier: MIT
# ops.sh - what tune_ops.sh and bench_ops.sh share; sourced after common.sh, with the working directory at the top of the tree.
# TUNE_BIN: where the programs are, instead of building; TUNE_TIMED: a command in front of each measuring run of the bench; TUNE_LAYERS:
# a file instead of tests/bench/ops/layers.txt.
# shellcheck shell=sh

networks="vgg-16 resnet-50 mobilenet-v1"
device=opencl # of all measuring
: "${TUNE_TIMED:=}"
: "${TUNE_LAYERS:=tests/bench/ops/layers.txt}"

# ops_programs: sets bin, building when nobody says where they are.
ops_programs() {
    bin=${TUNE_BIN:-}
    [ -n "$bin" ] && return
    scripts/install_deps.sh --bench
    build release all benches
    bin=build/bin
}

# ops_layers [SET]: "name|workload" of all layers, each workload once; only those of SET, which may be a network.
ops_layers() {
    {
        for network in $networks; do
            sed '/^#/d; s/^\([^|]*\) | [0-9]* | /'"$network | $network"'-\1 | /' "kernels/networks/$network.net"
        done
        cat "$TUNE_LAYERS"
    } | awk -F ' *[|] *' -v only="${1:-}" '
        /^#/ || NF < 3 { next }
        {
            wanted = only == "" && $1 !~ /gpu-/
            n = split($1, sets, ",")
            for (i = 1; i <= n; i++) if (sets[i] == only) wanted = 1
            if (wanted && !seen[$3]++) print $2 "|" $3
        }'
}

# ops_layouts WORKLOAD: "suffix|workload" for each layout that is tuned.
ops_layouts() {
    case "$1" in
    conv2d\ [iu]8\ * | depthwise_conv2d\ [iu]8\ *) printf '%s\n' "nchw4c|$1 layout=nchw4c" "nchw16c|$1 layout=nchw16c" ;;
    conv2d\ * | depthwise_conv2d\ *) printf '%s\n' "plain|$1" "nchw16c|$1 layout=nchw16c" ;;
    *) printf '%s\n' "plain|$1" ;;
    esac
}

# ops_tune WORKLOAD TRIALS NAME: tunes into NAME.jsonl and NAME.best.jsonl unless they are there; what an interrupted run has measured
# counts. A layer that cannot be tuned is told and left out.
ops_tune() {
    [ ! -s "$3.best.jsonl" ] || return 0
    part=$(dirname "$3")/part/$(basename "$3")
    mkdir -p "$(dirname "$part")"
    if "$bin/tune" run "$1" --trials "$2" --seed 1 --device "$device" --threads "${threads:-1}" -q \
        -o "$part.jsonl" >"$3.out" 2>&1 &&
        [ -s "$part.best.jsonl" ]; then
        mv "$part.jsonl" "$3.jsonl"
        mv "$part.best.jsonl" "$3.best.jsonl"
        rm -f "$3.out"
    else
        printf 'not tuned: %s: %s\n' "$1" "$(grep '^tune: ' "$3.out" || tail -n 1 "$3.out")"
        rm -f "$part.jsonl" "$part.best.jsonl"
    fi
}
