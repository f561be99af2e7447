#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh - installs, builds and runs all tests: unit, kernels, cuda, farm, opencl, docs, bench (smoke), deploy, arm64, build. Exit 0 when all of them pass.
#   test.sh [--seed N] [LABEL...]   only these labels
#   test.sh --labels                lists them
# Long tests of kernels take samples that the commit chooses, and print their seed; --seed N takes those of another run. Everything:
# scripts/check.sh full.
# Tests on recorded spaces and logs read them from the directory TUNE_TEST_DATA; they skip, and say so, without it.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
labels="unit kernels cuda farm opencl docs bench deploy arm64 build"
case "${1:-}" in -h | --help) head_comment "$0" ;; esac
[ "${1:-}" != --labels ] || { echo "$labels"; exit 0; }
chosen=""
while [ $# -gt 0 ]; do
    case "$1" in
    --seed)
        [ $# -gt 1 ] || fail "--seed needs a number"
        TUNE_TEST_SEED=$2
        shift
        ;;
    *)
        case " $labels " in
        *" $1 "*) chosen="$chosen $1" ;;
        *) fail "unknown label '$1'; there are: $labels" ;;
        esac
        ;;
    esac
    shift
done
case "${TUNE_TEST_SEED:-0}" in
*[!0-9]*) fail "--seed '$TUNE_TEST_SEED': expected a number" ;;
esac
if [ -z "${TUNE_TEST_SEED:-}" ] && commit=$(git rev-parse --short=8 HEAD 2>/dev/null); then
    TUNE_TEST_SEED=$((0x$(printf %.8s "$commit"))) # without git: the tests' own, of the version
fi
[ -z "${TUNE_TEST_SEED:-}" ] || export TUNE_TEST_SEED
# shellcheck disable=SC2086 # a list of labels is meant
set -- ${chosen:-$labels}
: "${TUNE_TEST_DATA:=}"
export TUNE_TEST_DATA

say "packages and build (seed ${TUNE_TEST_SEED:-of the version})"
scripts/install_deps.sh
case "$("${CC:-cc}" -v 2>&1)" in # a compiler that the tree is held to: this build is its test in label build, too
*"gcc version 12."*) build_arguments=-DTUNE_WERROR=ON ;;
esac
build release

jobs=$(nproc)
summary=""
failed=0
# run LABEL JOBS: one label; tests that time something run one by one.
run() {
    say "tests: $1"
    began=$(date +%s)
    result=passed
    ctest --preset release -L "^$1\$" -LE '^(slow|fuzz)$' -j "$2" || result=FAILED
    [ "$result" = passed ] || failed=1
    summary="$summary
  $(printf '%-8s %-7s %4d s' "$1" "$result" $(($(date +%s) - began)))"
}

for label in "$@"; do
    case "$label" in # a test skips, with words, what it cannot do without them
    arm64) scripts/install_deps.sh --arm64 || true ;;
    cuda) scripts/install_deps.sh --nvdisasm || true ;; # budgets of machine code
    farm) scripts/install_deps.sh --hub --postgres || true ;;
    unit | build) scripts/install_deps.sh --compilers || true ;;
    esac
    case "$label" in
    bench | deploy) run "$label" 1 ;;
    farm) run "$label" $((2 * jobs)) ;; # they wait, mostly
    *) run "$label" "$jobs" ;;
    esac
done

say "summary$summary"
if [ -z "$TUNE_TEST_DATA" ]; then
    echo "TUNE_TEST_DATA is not set: tests on recorded data were skipped"
fi
[ "$failed" -eq 0 ] || fail "some tests failed"
echo "all tests passed"
