#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_verify.sh [TRIALS] [DIR] - what verification costs: TRIALS (12) random configs of a layer of each operator, and of each
# record's build_ms + verify_ms + device_ms the part that verify_ms is: of the search, and with finals and bridges. Prints a table,
# the medians over the layers and the most, and writes both to docs/results/<date>-verification.md. DIR: programs are there instead of build/bin.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
trials=${1:-12}
bin=${2:-build/bin}
case "$trials" in
--help | -h) head_comment scripts/bench_verify.sh ;;
*[!0-9]* | 0) fail "expected a number of trials of each layer, not '$trials'" ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

layers() {
    cat <<'END'
conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 pad=1
conv2d f32 n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1
conv2d f32 n=1 c=256 h=14 w=14 k=1024 r=1 s=1 layout=nchw16c
conv2d f16 n=1 c=128 h=28 w=28 k=128 r=3 s=3 pad=1
conv2d i8 n=1 c=128 h=28 w=28 k=128 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant
depthwise_conv2d f32 n=1 c=512 h=14 w=14 r=3 s=3 pad=1
deformable_conv2d f32 n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1
dense f32 m=64 n=2048 k=512
dense f32 m=1 n=1000 k=2048
batch_gemm f32 b=12 m=128 n=128 k=64
rnn f32 i=256 h=256 b=16 t=20
rnn f32 cell=gru pass=bwd_data i=128 h=128 b=16 t=10
rnn f32 pass=bwd_weight i=128 h=128 b=16 t=10
sparse_conv2d f32 n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1 sparsity=0.9
pool2d f32 n=1 c=64 h=112 w=112 r=3 s=3 stride=2 pad=1
add f32 n=1 c=256 h=56 w=56
softmax f32 m=64 n=1000
reduce f32 outer=512 n=768 kind=mean
transform f32 n=1 c=64 h=56 w=56 to=nchw16c
END
}

real() { # MEMBER PURPOSE: of each trial that was timed
    grep "\"purpose\":\"$2\"" "$dir/log.jsonl" | grep '"status":"ok"' | grep -v '/naive"' | sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"
}

table() {
    echo "| layer | trials | verifying, ms (median) | of a trial, ms (median) | verifying / trial, search | with finals |"
    echo "|---|---|---|---|---|---|"
    layers | while read -r layer; do
        rm -f "$dir"/log*.jsonl
        "$bin/tune" run "$layer" --trials "$trials" --strategy random --seed 1 -q -o "$dir/log.jsonl" >"$dir/out" 2>&1 </dev/null || {
            cat "$dir/out" >&2
            exit 1
        }
        for member in build_ms verify_ms device_ms; do
            real "$member" search >"$dir/$member"
            real "$member" 'final\|redo' >"$dir/more_$member"
        done
        {
            paste -d ' ' "$dir/build_ms" "$dir/verify_ms" "$dir/device_ms"
            paste -d ' ' "$dir/more_build_ms" "$dir/more_verify_ms" "$dir/more_device_ms" | sed 's/$/ more/'
        } | awk -v layer="$layer" '
            function median(v, n,   i, j, t) {
                for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
                return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
            }
            NF < 3 { next }
            $4 == "more" { more += $2; more_all += $1 + $2 + $3; next }
            { verify[++n] = $2; all[n] = $1 + $2 + $3; sum += $2; sum_all += $1 + $2 + $3 }
            END { printf "| `%s` | %d | %.1f | %.0f | %.1f %% | %.1f %% |\n", layer, n, median(verify, n), median(all, n),
                100 * sum / sum_all, 100 * (sum + more) / (sum_all + more_all) }'
    done
}

summary() { # TABLE COLUMN WORDS
    awk -F '|' -v i="$2" '/ %/ { print $i + 0 }' "$1" | sort -n | awk -v words="$3" '{ v[NR] = $1 }
        END { printf "%s: median over the layers %.1f %%, at most %.1f %%.\n", words, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[NR] }'
}

page=docs/results/$(date +%Y-%m-%d)-verification.md
table >"$dir/table"
{
    echo "# What verification costs"
    echo
    echo "$(date +%Y-%m-%d), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg);" \
        "\`scripts/bench_verify.sh $trials\`: random configs, those that were timed."
    echo
    cat "$dir/table"
    echo
    summary "$dir/table" 6 "Trials of the search"
    summary "$dir/table" 7 "With finals and bridges"
} | tee "$page"
