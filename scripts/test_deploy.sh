#!/bin/sh
# SPDX-License-Identifier: MIT
# test_deploy.sh - what deployments stand on, from a clean clone: bundles of whole networks, files of other tuners, large logs.
#   test_deploy.sh [--quick] [--bundles] [--build DIR]
#   --quick      three layers of each network, and a log of 20,000 lines instead of a million
#   --bundles    only the bundles of networks
#   --build DIR  this build of tune instead of installing packages and building here
# Installs tune into a folder of its own, tunes every layer of ResNet-18 and MobileNet on the first OpenCL device with a few
# trials each, writes a bundle of each network, installs it, builds examples/deploy_c over it and runs that: outputs within
# tolerance, times beside the log's. Then the round trips through other tuners' formats, recorded data (TUNE_TEST_DATA),
# and the merge of a million lines, each by its own test, whose figures are printed. Exit 0 when all of it is right.
# TUNE_DEPLOY_LOG=x.best.jsonl: a best log of this device that has the layers, instead of tuning. TUNE_DEPLOY_TRIALS=N: trials
# of each layer (8). TUNE_DEPLOY_THREADS=N: threads of a CPU device (all).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
: "${TUNE_DEPLOY_TRIALS:=8}" "${TUNE_DEPLOY_THREADS:=$(nproc)}" "${TUNE_DEPLOY_LOG:=}" "${TUNE_TEST_DATA:=}"
export TUNE_TEST_DATA POCL_MAX_PTHREAD_COUNT="$TUNE_DEPLOY_THREADS"

quick=""
bundles=""
build=""
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) quick=yes ;;
    --bundles) bundles=yes ;;
    --build)
        [ $# -gt 1 ] || fail "--build: expected a build folder of tune"
        build=$2
        shift
        ;;
    --help | -h) head_comment "$0" ;;
    *) fail "'$1': expected --quick, --bundles or --build DIR" ;;
    esac
    shift
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
export TUNE_LOCK_DIR="$dir"
began=$(date +%s)
summary=""
failed=0

# note RESULT WORDS: a line of the summary
note() {
    summary="$summary
  $(printf '%-8s' "$1")$2"
    [ "$1" != FAILED ] || failed=1
}

if [ -z "$build" ]; then
    say "packages and build"
    scripts/install_deps.sh
    build release
    build=$PWD/build
fi
[ -x "$build/bin/tune" ] || fail "$build: expected a build folder with bin/tune"

say "installing tune"
cmake --install "$build" --prefix "$dir/prefix" >"$dir/log" 2>&1 || fail "installing: $(tail -3 "$dir/log")"
tune=$dir/prefix/bin/tune
"$tune" --version

# layers NET: writes $dir/NET.workloads, "name | times | workload"
layers() {
    grep '|' "kernels/networks/$1.net" | grep -v '^#' >"$dir/$1.workloads"
    if [ -n "$quick" ]; then
        awk '{ line[NR] = $0 } END { print line[2]; print line[int(NR / 2) + 1]; print line[NR] }' "$dir/$1.workloads" >"$dir/$1.few"
        mv "$dir/$1.few" "$dir/$1.workloads"
    fi
}

# tuned NET: the best log of its layers, its name on standard output
tuned() {
    if [ -n "$TUNE_DEPLOY_LOG" ]; then
        echo "$TUNE_DEPLOY_LOG"
        return
    fi
    sed 's/.*| *//' "$dir/$1.workloads" | sort -u >"$dir/$1.texts"
    set --  "$1" --threads "$TUNE_DEPLOY_THREADS" --trials "$TUNE_DEPLOY_TRIALS" --seed 1 -o "$dir/$1.jsonl"
    net=$1
    shift
    while IFS= read -r text; do
        set -- "$@" "$text"
    done <"$dir/$net.texts"
    "$tune" run "$@" >&2
    echo "$dir/$net.best.jsonl"
}

# bundle NET: tunes, deploys, installs, builds the application, runs it
bundle() {
    name=$(echo "$1" | tr -c 'a-zA-Z0-9\n' _)
    say "$1: $(wc -l <"$dir/$1.workloads") layers"
    log=$(tuned "$1") || return 1
    if [ -n "$quick" ]; then
        set -- "$1" --workloads "$dir/$1.workloads" --name "$name"
    else
        set -- "$1" --network "$1"
    fi
    net=$1
    shift
    mkdir -p "$dir/bundles"
    "$tune" deploy "$log" "$@" -q -o "$dir/bundles/$net" || return 1
    "$tune" deploy --check "$dir/bundles/$net" || return 1
    { cmake -S "$dir/bundles/$net" -B "$dir/build-$net" -DCMAKE_INSTALL_PREFIX="$dir/bundles-prefix" -DCMAKE_BUILD_TYPE=Release &&
        cmake --build "$dir/build-$net" && cmake --install "$dir/build-$net" &&
        cmake -S examples/deploy_c -B "$dir/app-$net" -DBUNDLE="$name" -DCMAKE_PREFIX_PATH="$dir/bundles-prefix" -DCMAKE_BUILD_TYPE=Release &&
        cmake --build "$dir/app-$net"; } >"$dir/log" 2>&1 || {
        tail -30 "$dir/log"
        return 1
    }
    rm -rf "$dir/bundles/$net" # what is run is what was installed
    "$dir/app-$net/deploy_c" --tuned >"$dir/$net.out" 2>&1 || {
        cat "$dir/$net.out"
        return 1
    }
    cat "$dir/$net.out"
}

for net in resnet-18 mobilenet-v1; do
    layers "$net"
    if bundle "$net"; then
        note right "$net: $(tail -1 "$dir/$net.out"), installed bundle on $(sed -n 's/^tuned on: //p' "$dir/$net.out")"
    else
        note FAILED "$net: bundle and application"
    fi
done

# check WORDS TEST [FILTER]: one test of the build; its lines that FILTER chooses are shown
check() {
    say "$1"
    if ! ctest --test-dir "$build" -N -R "^$2\$" 2>/dev/null | grep -q "Total Tests: [1-9]"; then
        note FAILED "$1: the build has no test $2"
        return
    fi
    if ctest --test-dir "$build" -R "^$2\$" -V >"$dir/log" 2>&1; then
        if grep -q "(Skipped)\|\*\*\*Skipped" "$dir/log"; then
            note skipped "$1: $(grep -i "skipped\|not set" "$dir/log" | sed 's/^[0-9]*: //' | head -1)"
            return
        fi
        sed -n 's/^[0-9]*: //p' "$dir/log" | grep -E "${3:-figure}" || true
        note right "$1 ($2)"
    else
        tail -30 "$dir/log"
        note FAILED "$1 ($2)"
    fi
}

# the other checks
others() {
    check "a build makes its kernels of a log" test_add_kernels "new kernels|bad logs|two bundles"
    check "program binaries, with the text as fallback" test_binaries "first start|fall back"
    check "bundles of CUDA kernels, emulated" test_bundle_cuda "checks right|layers are right|NVRTC"
    check "plans at run time: libtune" test_libtune "tests? *PASSED|PASSED"
    check "ours -> AutoTVM -> ours" test_autotvm "PASSED"
    check "TopHub's records: expressible, equal index" test_tophub "TopHub|PASSED"
    check "ours -> T4 -> ours" test_t4 "PASSED"
    check "Kernel Tuner's caches and KTT's results cut at any byte" test_foreign "cut_at_any_byte|PASSED"
    check "files of other tuners as logs" test_convert "PASSED"
    check "tune log" test_tune_log "PASSED"

    say "merging large logs"
    lines=1000000
    [ -z "$quick" ] || lines=20000
    if cmake --build "$build" --target bench_logs >"$dir/log" 2>&1 || { cat "$dir/log"; false; } &&
        TMPDIR="$dir" TUNE_BIN_DIR="$build/bin" "$build/bin/bench_logs" "$lines" ${quick:+quick} 2>&1; then
        note right "$lines lines merged, figures above"
    else
        note FAILED "merging $lines lines"
    fi
}
[ -n "$bundles" ] || others

say "summary, $(($(date +%s) - began)) s$summary"
[ -n "$TUNE_TEST_DATA" ] || echo "TUNE_TEST_DATA is not set: recorded data was not read"
[ "$failed" -eq 0 ] || fail "some of it failed"
echo "all of it is right"
