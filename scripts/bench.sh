#!/bin/sh
# SPDX-License-Identifier: MIT
# bench.sh [TRIALS] - what the farm does in a minute and where the time goes, our kernels beside OpenBLAS and CLBlast, and the
# search on recorded spaces (when TUNE_TEST_DATA names them); prints the page and writes it to docs/results/<date>-<device>.md.
# The tuned kernels are those of out/quickstart.best.jsonl; without that file TRIALS of each layer are run first.
# Run it on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
trials=${1:-60}
conv="conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 stride=1 pad=1"
dense="dense f32 m=64 n=2048 k=512"
log=out/quickstart.jsonl
best=out/quickstart.best.jsonl
: "${TUNE_TEST_DATA:=}"

shares() {
    echo "## Trials per minute, and where the time of a trial goes"
    echo
    sh tests/bench/shares.sh build/bin "$trials" "$conv" "$dense"
    echo
    echo "Builds overlap with timing where CPUs are left, so the shares are of the sum of these times, not of the clock."
    echo
    echo "For comparison AutoTVM 0.9, measured elsewhere, on a similar machine with two threads: 11 trials a minute on this convolution, 63 to"
    echo "84 GFLOPS after 100 trials; 34 to 59 a minute and 11 to 20 GFLOPS on the dense layer."
}

peers() {
    echo "## Beside OpenBLAS and CLBlast"
    echo
    build/bin/bench_ops --layouts own --with clblast --without onednn,ort --rounds 15 --slot 10 --log "$best" "$conv" "$dense" 2>/dev/null
}

# score FILE: for each run of `tune replay` "space share", the share being fastest / best found.
score() {
    sed 's/{"space":"\([^"]*\)".*"traj":\[\([0-9,]*\)\].*/\1 \2/' "$1" | awk -v dir="$TUNE_TEST_DATA/replay" '
        function load(space,   command, column, i, n, field, row) {
            command = "zcat \"" dir "/" space ".csv.gz\""
            row = -1
            while ((command | getline line) > 0) {
                n = split(line, field, ",")
                if (row < 0) for (i = 1; i <= n; i++) column[field[i]] = i
                else if (field[column["status"]] == "ok") {
                    time[space, row] = field[column["time_ms"]] + 0
                    if (!(space in least) || time[space, row] < least[space]) least[space] = time[space, row]
                }
                row++
            }
            close(command)
        }
        {
            if (!($1 in least)) load($1)
            found = 0
            n = split($2, at, ",")
            for (i = 1; i <= n; i++)
                if (($1, at[i]) in time && (!found || time[$1, at[i]] < found)) found = time[$1, at[i]]
            sum[$1] += found ? least[$1] / found : 0
            runs[$1]++
        }
        END { for (space in sum) printf "%s %.3f\n", space, sum[space] / runs[space] }' | sort
}

replay() {
    echo "## The search on recorded spaces"
    echo
    if [ ! -d "$TUNE_TEST_DATA/replay" ]; then
        echo "Not run: TUNE_TEST_DATA names no directory with replay/."
        return
    fi
    dir=$(mktemp -d)
    for strategy in model random; do
        build/bin/tune replay --strategy "$strategy" --seeds 3 --budget 100 "$TUNE_TEST_DATA"/replay/*.json >"$dir/$strategy"
        score "$dir/$strategy" >"$dir/$strategy.share"
    done
    echo "Fastest time of the space / best found after 100 evaluations, mean of 3 seeds."
    echo
    echo "| space | model | random |"
    echo "|---|---|---|"
    join "$dir/model.share" "$dir/random.share" | awk '{ printf "| %s | %.3f | %.3f |\n", $1, $2, $3; won += $2 > $3; n++ }
        END { printf "\nmodel is better on %d of %d.\n", won, n }'
    rm -rf "$dir"
}

scripts/install_deps.sh --bench
build release all benches
if [ ! -f "$best" ]; then
    mkdir -p out
    for workload in "$conv" "$dense"; do
        build/bin/tune run "$workload" --trials "$trials" --seed 1 -o "$log"
    done
fi
device=$(build/bin/tune-agent --self-test 2>/dev/null | head -n 1)
slug=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -cs 'A-Za-z0-9' '-' | tr 'A-Z' 'a-z' | sed 's/-$//')
page="docs/results/$(date +%Y-%m-%d)-${slug:-device}.md"
mkdir -p docs/results
{
    echo "# $(date +%Y-%m-%d), ${slug:-device}"
    echo
    echo "Command: \`scripts/bench.sh $trials\`. $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg) at the start."
    echo
    echo "    $device"
    echo
    shares
    echo
    peers
    replay
    echo
    echo "Load at the end: $(cut -d' ' -f1 /proc/loadavg)."
} >"$page.new"
mv "$page.new" "$page"
cat "$page"
say "written: $page"
