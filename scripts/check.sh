#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh - the long checks, for before a merge: words, include directions, sizes, format, licences, static analysis, both compilers
# with warnings as errors and their unit tests, 10,000 simulated farms, libtune's binary interface, sanitizers, valgrind, and each fuzzer for a short while.
#   check.sh [STEP...]   only these
#   check.sh faults      which of a set of planted faults the unit tests see (tests/faults/faults.sh); only when it is named
#   check.sh full        all of what test.sh takes samples of: every template on all shapes, every mutant, on PoCL, Oclgrind and
#                        emulated CUDA, with tables of what was covered, and ONNX's tests and networks. Hours; passes are kept, so that a second time is short
#   check.sh --steps     lists them
# tidy keeps what it found nothing in (build-clang/tidy): the whole tree takes half an hour the first time.
# FUZZ_SECONDS (default 20) is the time of each fuzzer.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
steps="words includes sizes format shell spdx ci analysis gcc sim clang tidy abi asan tsan valgrind fuzz"
case "${1:-}" in -h | --help) head_comment "$0" ;; esac
[ "${1:-}" != --steps ] || { echo "$steps"; exit 0; }
: "${TUNE_TEST_DATA:=}"
export TUNE_TEST_DATA

step_words() { scripts/check_words.sh; }
step_includes() { scripts/check_includes.sh; }
step_sizes() { scripts/check_sizes.sh; }

step_format() {
    git ls-files -- '*.c' '*.h' | xargs clang-format --dry-run -Werror && echo "format: as .clang-format says"
}

step_shell() {
    for script in $(git ls-files -- '*.sh' .ci/run); do
        sh -n "$script" || return 1
    done
    echo "shell scripts: all parse"
}

step_spdx() { scripts/check_spdx.sh; }
step_ci() { scripts/check_ci.py; }

step_analysis() {
    git ls-files -- '*.c' ':!tests' >"$work/sources"
    cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -j "$(nproc)" -D_GNU_SOURCE -DTUNE_VERSION='""' -I . \
        --file-list="$work/sources" &&
        echo "cppcheck: $(wc -l <"$work/sources") files, nothing found"
}

# quietly COMMAND...: its output only when it fails.
quietly() {
    "$@" >"$work/said.txt" 2>&1 || { cat "$work/said.txt"; return 1; }
}

# configure CC: for a build with warnings as errors, in build-CC.
configure() {
    quietly cmake -G Ninja -S . -B "build-$1" -DCMAKE_C_COMPILER="$1" -DTUNE_WERROR=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-g
}

compile() { configure "$1" && quietly cmake --build "build-$1" --target all benches; }

compile_and_test() {
    compile "$1" && quietly ctest --test-dir "build-$1" -L '^unit$' -LE '^(slow|opencl)$' -j "$(nproc)" --output-on-failure || return 1
    echo "$1: builds without a warning; $(grep 'tests passed' "$work/said.txt")"
}

step_gcc() { compile_and_test gcc; }

# Farms in simulation, by seed: the tracker among random peers, then real agents and real sessions (docs/reliability.md).
step_sim() {
    compile gcc && quietly build-gcc/tests/test_tracker_sim --seeds 10000 && head -c 400 "$work/said.txt" | grep seeds &&
        for test in test_agent_farm_random test_session_random; do
            TUNE_SIM_SEEDS=1000 quietly "build-gcc/tests/$test" || return 1
            echo "$test: 1000 seeds"
        done
}

step_clang() { compile_and_test clang; }

# The product's sources that are compiled by themselves (parts of bundles are not), with the flags of clang's build.
step_tidy() {
    configure clang || return 1
    quietly cmake --build build-clang --target onnx_messages || return 1 # a header that sources include
    git ls-files -- '*.c' ':!tests' ':!examples' | xargs scripts/tidy.py build-clang
}

step_abi() {
    [ -e build-gcc/libtune/libtune.so ] || compile gcc || return 1
    scripts/check_abi.sh build-gcc/libtune/libtune.so
}

# no_reports FOLDER: a sanitizer also speaks in programs whose end no test looks at: each report is a file.
no_reports() {
    for report in "$1"/*; do
        [ -e "$report" ] || continue
        head -n 60 "$report"
        return 1
    done
}

# without_notes FOLDER: AddressSanitizer says so, and goes on, where emulated CUDA leaves a kernel's stack by siglongjmp; nothing was found then.
without_notes() {
    for report in "$1"/*; do
        [ -e "$report" ] || continue
        grep -qvE 'ignoring requested __asan_handle_no_return|^False positive error reports may follow$|sanitizers/issues/189$' "$report" || rm "$report"
    done
}

# sanitized PRESET LABELS NOT: the tests whose labels match and whose names do not match NOT.
# A driver and its compiler run inside our process with OpenCL: sanitizers are for the labels without it.
sanitized() {
    reports=$PWD/build-reports/$1
    rm -rf "$reports"
    mkdir -p "$reports"
    build "$1" || return 1
    ASAN_OPTIONS="detect_leaks=1:log_path=$reports/asan" \
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:log_path=$reports/ubsan" \
        TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:log_path=$reports/tsan" \
        ctest --preset "$1" -L "$2" -LE '^(slow|opencl)$' -E "$3" >"$work/tests.txt" 2>&1
    passed=$?
    if [ "$passed" -ne 0 ]; then
        cat "$work/tests.txt"
    fi
    without_notes "$reports"
    no_reports "$reports" && [ "$passed" -eq 0 ] || return 1
    grep 'tests passed' "$work/tests.txt"
}

# Left out: statistics over recorded spaces (minutes, no code that other tests do not run), and more of the same kills; with threads
# also what has none, and a client that talks to a server in a thread of its test: their order is that of HTTP, which the sanitizer does not see.
step_asan() { sanitized asan-ubsan '^(unit|farm|fuzz)$' '_recorded$|farm_kills_[23]'; }
step_tsan() { sanitized tsan '^farm$|^unit$' '_recorded|farm_kills|test_(hub_server|strategies|templates|cost_model|log|space|record|references)$'; }

# valgrind_one TEST: exit 77 is a test that skips.
valgrind_one() {
    rc=0
    TUNE_BIN_DIR=$PWD/build/bin valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
        "build/tests/$1" >"$work/valgrind.txt" 2>&1 || rc=$?
    [ "$rc" -eq 0 ] || [ "$rc" -eq 77 ] || { cat "$work/valgrind.txt"; echo "$1 under valgrind: exit $rc"; return 1; }
}

# Left out: as for the sanitizers, what takes minutes here, test_proc, whose limit of memory valgrind takes upon itself, and
# test_emulator, whose kernels write out of bounds for the emulator to see.
step_valgrind() {
    build release || return 1
    n=0
    for test in $(ctest --preset release -N -L '^unit$' -LE '^(slow|opencl)$' -E '_recorded|test_(strategies|templates|proc|log|references|emulator)$' |
        sed -n 's/^ *Test *#[0-9]*: //p'); do
        [ -x "build/tests/$test" ] || continue # a script, or a fuzzer's corpus, which the sanitizers run
        valgrind_one "$test" || return 1
        n=$((n + 1))
    done
    [ "$n" -gt 0 ] || { echo "valgrind: no tests"; return 1; }
    echo "valgrind: no error and no leak in $n unit tests"
}

# fuzz_one FUZZER: FUZZ_SECONDS of libFuzzer on its corpus in the tree, or of the driver with one seed after the other. What it finds stays in
# build-reports/fuzz as crash-*, with the words in NAME.txt.
fuzz_one() {
    name=$(basename "$1")
    corpus=$(find tests -path "*/corpus/$name" -type d ! -empty)
    if [ "$fuzz_preset" = fuzz ]; then
        mkdir -p "$work/$name"
        "$1" -max_total_time="${FUZZ_SECONDS:-20}" -max_len=16384 -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
            -artifact_prefix="$found/" "$work/$name" "$corpus" >"$found/$name.txt" 2>&1 || return 1
        sed -n 's/^#\([0-9]*\).*DONE *cov: \([0-9]*\) ft: \([0-9]*\) corp: \([^ ]*\).*/\2 edges, \3 features, \4 kept, \1 runs/p' "$found/$name.txt" | sed "s/^/$name: /"
        return 0
    fi
    end=$(($(date +%s) + ${FUZZ_SECONDS:-20}))
    seed=1
    while [ "$(date +%s)" -lt "$end" ]; do
        TUNE_FUZZ_CRASHES=$found "$1" -runs=500 -seed="$seed" "$corpus" >"$found/$name.txt" 2>&1 || return 1
        seed=$((seed + 1))
    done
    echo "$name: 500 changed inputs of each of $((seed - 1)) seeds"
}

# Coverage-guided where clang has libFuzzer, else by the tree's own driver; both with the sanitizers.
step_fuzz() {
    found=$PWD/build-reports/fuzz
    rm -rf "$found"
    mkdir -p "$found"
    fuzz_preset=fuzz
    if ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n && !d; }' |
        clang -fsanitize=fuzzer -x c -o "$work/try" - 2>/dev/null; then
        echo "no clang with libFuzzer here: inputs are changed without regard to what they reach"
        fuzz_preset=asan-ubsan
    fi
    build "$fuzz_preset" || return 1
    ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    export ASAN_OPTIONS UBSAN_OPTIONS
    n=0
    bad=""
    for fuzzer in "build-${fuzz_preset%-ubsan}"/tests/fuzz_*; do
        [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
        fuzz_one "$fuzzer" || { grep -v '^  0x\|^#[0-9]' "$found/$(basename "$fuzzer").txt" | tail -n 40; bad="$bad $fuzzer"; }
        n=$((n + 1))
    done
    [ -z "$bad" ] || { echo "found by$bad: see $found"; return 1; }
    [ "$n" -gt 0 ] || { echo "fuzzers: none"; return 1; }
    echo "fuzzers: $n for ${FUZZ_SECONDS:-20} s each, nothing found"
}

step_faults() { tests/faults/faults.sh; }

# full_one COMMAND...: its last words, and its tables; 77: what it needs is not here.
full_one() {
    echo "-- $*"
    full_rc=0
    "$@" >"$work/full.txt" 2>&1 || full_rc=$?
    [ "$full_rc" = 0 ] || [ "$full_rc" = 77 ] || full_failed=1
    grep -vE '^(\[|seed )' "$work/full.txt" || true
}

step_full() {
    full_failed=0
    build release || return 1
    tests=build/tests
    for api in opencl cuda; do
        full_one $tests/test_kernels_$api --full
        full_one $tests/test_mutants_$api --full
    done
    full_one $tests/test_barriers_cuda --full
    full_one tests/kernels/oclgrind.sh build/bin/test_oclgrind --full
    full_one tests/kernels/half_syntax.sh build/bin/write_half_sources --full
    full_one $tests/test_templates --full
    full_one $tests/test_scarce_tracker --full
    full_one $tests/test_scarce_stores --full
    full_one $tests/test_scarce_postgres --full
    full_one $tests/test_scarce_nng --full
    full_one $tests/test_cuda_launches --full
    TUNE_CHECK_CUDA=$tests/check_cuda_compile full_one scripts/check_cuda_compile.sh --configs 2
    full_one scripts/test_onnx.sh
    full_one scripts/test_onnx.sh --networks
    full_one tests/onnx/transformers.sh "$PWD/build/bin" "$PWD" all
    full_one tests/onnx/lengths.sh "$PWD/build/bin" "$PWD" 7 full
    full_one sh tests/farm/forbidden.sh "$PWD/build/bin" "$PWD/build/tests/forbid" --full
    return "$full_failed"
}

scripts/install_deps.sh --check-tools
# shellcheck disable=SC2086 # a list of steps is meant
[ $# -gt 0 ] || set -- $steps
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=""
summary=""
for step in "$@"; do
    case " $steps faults full " in
    *" $step "*) ;;
    *) fail "unknown step '$step'; there are: $steps faults full" ;;
    esac
    say "$step"
    began=$(date +%s)
    result=passed
    (set +e; "step_$step") || result=FAILED
    [ "$result" = passed ] || failed="$failed $step"
    summary="$summary
  $(printf '%-9s %-7s %4d s' "$step" "$result" $(($(date +%s) - began)))"
done
say "summary$summary"
[ -z "$failed" ] || fail "failed:$failed"
echo "all checks passed"
