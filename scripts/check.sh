#!/bin/sh
# check.sh - the long checks, for before a merge: words, include directions, sizes, format, static analysis, both compilers with
# warnings as errors, sanitizers, valgrind, and each fuzzer for a short while.
#   check.sh [STEP...]   only these; steps: words includes sizes format shell analysis clang asan tsan valgrind fuzz
# FUZZ_SECONDS (default 20) is the time of each fuzzer.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
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

step_analysis() {
    cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -j "$(nproc)" -D_GNU_SOURCE -DTUNE_VERSION='""' -I . \
        core search_space cost_model logs runtime kernels libtune tracker agent tuner &&
        echo "cppcheck: nothing found"
}

step_clang() {
    cmake -G Ninja -S . -B build-clang -DCMAKE_C_COMPILER=clang -DTUNE_WERROR=ON -DCMAKE_BUILD_TYPE=Release >/dev/null &&
        cmake --build build-clang >build-clang/build.txt 2>&1 || { cat build-clang/build.txt; return 1; }
    echo "clang: builds without a warning"
}

# A driver and its compiler run inside our process with OpenCL: sanitizers are for the labels without it.
step_asan() {
    build asan-ubsan
    ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ctest --preset asan-ubsan -L '^(unit|farm|fuzz)$' -LE '^(slow|opencl)$'
}

step_tsan() {
    build tsan
    TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan.supp" ctest --preset tsan -L '^(unit|farm)$' -LE '^(slow|opencl)$'
}

step_valgrind() {
    build release
    for test in $(ctest --preset release -N -L '^unit$' -LE '^(slow|opencl)$' | sed -n 's/^ *Test *#[0-9]*: //p'); do
        [ -x "build/tests/$test" ] || continue
        if ! valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "build/tests/$test" >build/valgrind.txt 2>&1; then
            cat build/valgrind.txt
            return 1
        fi
    done
    echo "valgrind: no error and no leak in the unit tests"
}

step_fuzz() {
    [ -f build-asan/CMakeCache.txt ] || build asan-ubsan
    n=0
    for fuzzer in build-asan/tests/fuzz_*; do
        [ -x "$fuzzer" ] || continue
        end=$(($(date +%s) + ${FUZZ_SECONDS:-20}))
        seed=1
        while [ "$(date +%s)" -lt "$end" ]; do # a fuzzer takes: iterations, seed
            "$fuzzer" 20000 "$seed" >build-asan/fuzz.txt 2>&1 || { cat build-asan/fuzz.txt; echo "$fuzzer 20000 $seed failed"; return 1; }
            seed=$((seed + 1))
        done
        n=$((n + 1))
    done
    echo "fuzzers: $n, nothing found"
}

scripts/install_deps.sh --check-tools
[ $# -gt 0 ] || set -- words includes sizes format shell analysis clang asan tsan valgrind fuzz
failed=""
for step in "$@"; do
    case "$step" in
    words | includes | sizes | format | shell | analysis | clang | asan | tsan | valgrind | fuzz) ;;
    *) fail "unknown step '$step'; the head of this script lists them" ;;
    esac
    say "$step"
    if ! "step_$step"; then
        failed="$failed $step"
    fi
done
[ -z "$failed" ] || fail "failed:$failed"
say "all checks passed"
