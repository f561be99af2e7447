#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh - installs, builds and runs all tests: unit, kernels, cuda, farm, opencl, docs, bench (smoke), deploy, arm64, build. Exit 0 when all of
# them pass, and each label has some.
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
for label in "$@"; do # a test skips, with words, what it cannot do without them
    case "$label" in
    arm64) scripts/install_deps.sh --arm64 || true ;;
    cuda) scripts/install_deps.sh --nvdisasm || true ;; # budgets of machine code
    farm) scripts/install_deps.sh --hub --postgres || true ;;
    unit | build) scripts/install_deps.sh --compilers || true ;;
    esac
done & # they wait for a network
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$results" # children of agents have another user
# The machine's PoCL, which reads no built-in functions but those that kernels here call: they are most of what small programs cost.
[ -n "${OCL_ICD_VENDORS:-}" ] || python3 tests/pocl/few.py . "$results/opencl" >"$results/few" 2>&1 &
case "$("${CC:-cc}" -v 2>&1)" in # a compiler that the tree is held to: this build is its test in label build, too
*"gcc version 12."*) build_arguments=-DTUNE_WERROR=ON ;;
esac
build release
wait
if [ -e "$results/opencl/pocl.icd" ]; then export OCL_ICD_VENDORS="$results/opencl"; fi

# tests_of LABELS [OPTION...]: LABELS as in a|b
tests_of() {
    of=$1
    shift
    ctest --preset release -L "^($of)\$" -LE '^(slow|fuzz)$' "$@"
}

# All labels at once, two tests a core: half of their time they wait, or have one thread, and leave the core to another label's. The
# longest begin (tests/seconds.txt).
say "tests: $*"
jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}" # of builds within tests
failed=0
tests_of "$(echo "$*" | tr ' ' '|')" -j $((2 * jobs)) --output-junit "$results/junit.xml" || failed=1
# A line for each test: its name, run, fail or notrun, seconds; notrun is skipped where it says so.
awk -F'"' '/^\t<testcase name="/ { printf "%s%s %s %s", sep, $2, $8, $6; sep = "\n" }
    /^\t\t<skipped message="SKIP_/ { printf " skipped" }
    END { print "" }' "$results/junit.xml" >"$results/tests" || {
    failed=1
    echo >"$results/tests"
}

# summary LABEL: its line; seconds are the sum of its tests'. Fails where there are none: nothing is proved by that.
summary() {
    tests_of "$1" -N | sed -n 's/^ *Test *#[0-9]*: //p' >"$results/names"
    awk -v label="$1" 'NR == FNR { good[$1] = $2 == "run" || $4 != ""; skipped[$1] = $4 != ""; seconds[$1] = $3; next }
        { n++; s += seconds[$1]; n_skipped += skipped[$1]; if (!good[$1]) bad = bad " " $1 }
        END {
            if (!n) { printf "  %-8s NO TESTS: what they are of was not found when the build was configured\n", label; exit 1 }
            printf "  %-8s %-7s %4d tests, %4d s one by one", label, bad == "" ? "passed" : "FAILED", n, s
            if (n_skipped) printf ", %d skipped", n_skipped
            print bad == "" ? "" : ":" bad
        }' "$results/tests" "$results/names"
}
say "summary"
without=
for label in "$@"; do
    summary "$label" || without="$without $label"
done
if [ -z "$TUNE_TEST_DATA" ]; then
    echo "TUNE_TEST_DATA is not set: tests on recorded data were skipped"
fi
[ "$failed" -eq 0 ] || fail "some tests failed"
[ -z "$without" ] || fail "no tests:$without"
echo "all tests passed"
