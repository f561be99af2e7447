#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_tests.sh PROGRAM N DIR [SECONDS] - runs a test program of kernels on the machine's own GPU, as N processes "i/N", several at a
# time, so that a kernel which breaks its process's CUDA context takes little along. DIR/i.txt: what part i said; DIR/i.ok: it passed,
# and is left out by the next call. After SECONDS no part is begun any more, and those that run end and count as not run. Prints what failed and counts; exit status 1 if any part did,
# 75 when some were not run for lack of time.
# PROGRAM: test_kernels_cuda or test_mutants_cuda, which choose the emulated device unless a driver is named.
# TUNE_CUDA_LIBRARY: that driver (libcuda.so.1). JOBS: processes at a time (CPUs less 2).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

[ $# -ge 3 ] || fail "expected PROGRAM N DIR [SECONDS]"
program=$1 n=$2 dir=$3 seconds=${4:-0}
[ -x "$program" ] || fail "$program is not there: build it first (ninja test_kernels_cuda test_mutants_cuda; Debian: libcmocka-dev)"
if [ -z "${TUNE_CUDA_LIBRARY:-}" ]; then
    TUNE_CUDA_LIBRARY=libcuda.so.1
    [ ! -e /usr/lib/wsl/lib/libcuda.so.1 ] || TUNE_CUDA_LIBRARY=/usr/lib/wsl/lib/libcuda.so.1
    export TUNE_CUDA_LIBRARY
fi
jobs=${JOBS:-$(($(nproc) > 3 ? $(nproc) - 2 : 2))}
mkdir -p "$dir"
deadline=0
[ "$seconds" -eq 0 ] || deadline=$(($(date +%s) + seconds))
export program n dir deadline

# shellcheck disable=SC2016 # the inner shell is meant
seq 0 $((n - 1)) | xargs -P "$jobs" -n 1 sh -c '
    [ ! -e "$dir/$1.ok" ] || exit 0
    rm -f "$dir/$1.txt"
    limit=300 code=0
    if [ "$deadline" -ne 0 ] && [ $((deadline - $(date +%s))) -lt 300 ]; then limit=$((deadline - $(date +%s))); fi
    [ "$limit" -gt 0 ] || exit 0
    timeout -k 5 "$limit" "$program" "$1/$n" >"$dir/$1.txt" 2>&1 || code=$?
    if [ "$limit" -lt 300 ] && { [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; }; then
        rm -f "$dir/$1.txt"
        exit 0
    fi
    [ "$code" -eq 0 ] && : >"$dir/$1.ok" || printf "exit status %s\n" "$code" >>"$dir/$1.txt"
' part || true

passed=0 failed=0 missing=0 i=0
while [ "$i" -lt "$n" ]; do
    if [ -e "$dir/$i.ok" ]; then
        passed=$((passed + 1))
    elif [ -e "$dir/$i.txt" ]; then
        failed=$((failed + 1))
        printf 'part %s/%s:\n' "$i" "$n"
        grep -E '^FAILED|skipped:|exit status|Segmentation|error while loading' "$dir/$i.txt" | head -n 20 || true
    else
        missing=$((missing + 1))
    fi
    i=$((i + 1))
done
printf '%s: %d configs verified; parts: %d passed, %d failed, %d not run for lack of time\n' "$(basename "$program")" \
    "$(cat "$dir"/*.txt 2>/dev/null | sed -n 's/^\([0-9]*\) configs verified.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')" \
    "$passed" "$failed" "$missing"
[ "$failed" -eq 0 ] || exit 1
[ "$missing" -eq 0 ] || exit 75
