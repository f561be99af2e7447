#!/bin/sh
# bench.sh [TRIALS] - what the farm does in a minute and where the time goes, on two layers; prints the page and writes it to
# docs/results/<date>-<device>.md. Run it on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
trials=${1:-60}

scripts/install_deps.sh
build release
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
    echo "## Trials per minute, and where the time of a trial goes"
    echo
    sh tests/bench/shares.sh build/bin "$trials" "conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 stride=1 pad=1" "dense f32 m=64 n=2048 k=512"
} >"$page.new"
mv "$page.new" "$page"
cat "$page"
say "written: $page"
