#!/bin/sh
# SPDX-License-Identifier: MIT
# shares.sh BIN TRIALS WORKLOAD... - tunes each workload with a private farm and prints trials per minute, the best, and what the wall time of a
# trial went into: compiling, verifying, timing, waiting for the device (builds overlap with timing, so shares are of their sum).
set -eu
bin=$1
trials=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

real() { # MEMBER: its values, one a line
    sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "$dir/log.jsonl"
}

echo "| workload | trials | per minute | best GFLOPS | compiling | verifying | timing | waiting |"
echo "|---|---|---|---|---|---|---|---|"
for workload in "$@"; do
    rm -f "$dir"/*.jsonl
    start=$(date +%s)
    "$bin/tune" run "$workload" --trials "$trials" --seed 1 -q -o "$dir/log.jsonl" >"$dir/out" 2>&1 || {
        cat "$dir/out" >&2
        exit 1
    }
    seconds=$(($(date +%s) - start))
    n=$(grep -c '"purpose":"search"' "$dir/log.jsonl")
    best=$(sed -n 's/.*"time_ns":\([0-9.]*\).*"flops":\([0-9.]*\).*/\2 \1/p' "$dir/log.best.jsonl" | awk '{ printf "%.1f", $1 / $2 }')
    for member in build_ms verify_ms device_ms wait_ms; do
        real "$member" | awk '{ sum += $1 } END { print sum + 0 }'
    done | paste -s -d ' ' - | awk -v w="$workload" -v n="$n" -v s="$seconds" -v best="$best" '{
        all = $1 + $2 + $3 + $4
        if (all <= 0) all = 1
        if (s < 1) s = 1
        printf "| `%s` | %d | %.0f | %s | %.0f %% | %.0f %% | %.0f %% | %.0f %% |\n", w, n, 60 * n / s, best, 100 * $1 / all, 100 * $2 / all, 100 * $3 / all, 100 * $4 / all
    }'
done
