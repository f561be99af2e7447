#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_brain.sh [--quick] [PART...] - the brain beside its peers: spaces (construction), trees (speed of the cost model),
# accuracy (of the cost model), transfer (between devices), search (on recorded spaces). At the end one table of all figures.
# Without --quick the page goes to docs/results/<date>-brain.md, too. Peers come from PyPI into out/peers on the first run.
# Recorded data: TUNE_TEST_DATA with costmodel/ and replay/. TUNE_BIN_DIR: programs built already, BIN of BUILD/bin; else build/.
# PEERS_DIR, PEERS_CACHE: folders of the peers and of what they scored (out/peers, out/peers_cache).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
: "${TUNE_TEST_DATA:=}"
brain=tests/bench/brain
cache=${PEERS_CACHE:-out/peers_cache}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

quick=""
parts=""
for argument in "$@"; do
    case "$argument" in
    --quick) quick=1 ;;
    spaces | trees | accuracy | transfer | search) parts="$parts $argument" ;;
    *) fail "unknown argument '$argument'; expected --quick, spaces, trees, accuracy, transfer or search" ;;
    esac
done
[ -n "$parts" ] || parts="spaces trees accuracy transfer search"

# pick QUICK FULL: one of both, by the mode.
pick() {
    if [ -n "$quick" ]; then echo "$1"; else echo "$2"; fi
}

# recorded FOLDER: whether there is recorded data; says so where there is none.
recorded() {
    [ -d "$TUNE_TEST_DATA/$1" ] && return 0
    echo "Not run: TUNE_TEST_DATA names no directory with $1/ (recorded data, not part of the tree)."
    return 1
}

bench() {
    script=$1
    shift
    "$PEERS_PYTHON" "$brain/$script" --figures "$work/figures" "$@"
}

# told KIND: the text of a bench in C goes on, its figures to the table.
told() {
    cat "$work/$1"
    "$PEERS_PYTHON" "$brain/speed_figures.py" "$1" --figures "$work/figures" <"$work/$1"
}

recorded_spaces() {
    for space in convolution_milo-A4000 dedispersion_milo-A4000; do
        [ ! -f "$TUNE_TEST_DATA/replay/$space.json" ] || echo "$TUNE_TEST_DATA/replay/$space.json"
    done
}

part_spaces() {
    at=tests/bench/spaces
    # shellcheck disable=SC2046 # lists of words are meant
    "$PEERS_PYTHON" $at/peers.py --bench "$bin/bench_spaces" $(pick "--rounds 1 --repeats 1 --limit 30" "") \
        $(pick "$at/gemm.json $at/gemm_wide.json" "$(echo $at/*.json)") $(recorded_spaces) >"$work/spaces"
    told spaces
}

part_trees() {
    # shellcheck disable=SC2046
    "$bin/bench_trees" --xgboost "$LIBXGBOOST" --lightgbm "$LIB_LIGHTGBM" \
        $(pick "--max-rows 4096 --rows 20000 --repeats 3" "--max-rows 262144") >"$work/trees"
    told trees
}

part_accuracy() {
    recorded costmodel || return 0
    sets=$(pick convmilo__A4000,dedisp__MI250X,pnpoly__RTX3090,gemm17__nv "")
    seeds=$(pick 1 10)
    if [ -n "$sets" ]; then
        set -- $(echo "$sets" | sed "s#[^,]*#$TUNE_TEST_DATA/costmodel/&.csv.gz#g; s/,/ /g")
    else
        set -- "$TUNE_TEST_DATA"/costmodel/*.csv.gz
    fi
    "$bin/tune" model eval --seeds "$seeds" --out "$work/ours.csv" "$@" >"$work/eval"
    bench accuracy.py --evaluated "$work/ours.csv" --data "$TUNE_TEST_DATA/costmodel" --cache "$cache" --seeds "$seeds" --sets "$sets"
}

part_transfer() {
    recorded costmodel || return 0
    bench transfer.py --tune "$bin/tune" --data "$TUNE_TEST_DATA/costmodel" --cache "$cache" --seeds "$(pick 1 5)" $(pick "" --wrong) \
        $(pick "--pairs convmilo__A4000>convmilo__MI250X,dedisp__W6600>dedisp__A6000" "")
}

part_search() {
    recorded replay || return 0
    spaces=$(pick convolution_milo-A4000,convolution-RTX_3090,pnpoly-RTX_3090 "")
    seeds=$(pick 2 20)
    mkdir -p "$cache"
    runs=$cache/search.jsonl
    at="--data $TUNE_TEST_DATA/replay --spaces=$spaces --seeds $seeds"
    # shellcheck disable=SC2086 # lists of words are meant
    "$PEERS_PYTHON" "$brain/search_peers.py" $at --out "$runs" --budget "$(pick 100 200)"
    # shellcheck disable=SC2086
    "$PEERS_PYTHON" "$brain/search_ours.py" $at --out "$work/ours.jsonl" --budget "$(pick 100 200)" --tune "$bin/tune"
    # shellcheck disable=SC2086
    bench search_score.py "$runs" "$work/ours.jsonl" $at --budgets "$(pick 25,50,100 25,50,100,200)"
}

report() {
    echo "# The brain beside its peers, $(date +%Y-%m-%d)"
    echo
    echo "Command: \`scripts/bench_brain.sh$(pick " --quick" "")$parts\`. $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc --all) CPUs, load $(cut -d' ' -f1 /proc/loadavg) at the start."
    for part in $parts; do
        say "$part" >&2
        echo
        echo "## $part"
        echo
        "part_$part"
    done
    echo
    echo "## All figures"
    echo
    printf '| figure | goal | peer | ours |\n|---|---|---|---|\n'
    cat "$work/figures"
    echo
    echo "Load at the end: $(cut -d' ' -f1 /proc/loadavg)."
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/figures"
scripts/install_deps.sh --bench
"$brain/install_peers.sh" "${PEERS_DIR:-out/peers}"
. "${PEERS_DIR:-out/peers}/peers.env"
if [ -n "${TUNE_BIN_DIR:-}" ]; then
    bin=$TUNE_BIN_DIR
else
    build release all benches
    bin=$PWD/build/bin
fi
{ report && touch "$work/complete"; } | tee "$work/page"
[ -e "$work/complete" ] || fail "a bench failed; what it said stands above"
if [ -z "$quick" ]; then
    page=docs/results/$(date +%Y-%m-%d)-brain.md
    cp "$work/page" "$page"
    say "written: $page"
fi
