#!/bin/sh
# SPDX-License-Identifier: MIT
# A drawn sample of every template under Oclgrind, with several limits of work-groups and local memory: results are right, and
# no access is out of bounds, no two work-items race, no barrier diverges. Local arrays start as NaN (TUNE_POISON).
# Nothing is inlined, and little optimised: functions with `restrict` parameters or structures as results would become intrinsics of LLVM
# that Oclgrind 21.10 cannot create kernels of, and so would what its optimiser knows (llvm.assume).
# Each template meets one of the three kinds of limits, as the seed has it, and one in three of those for a Mali theirs; --full: all
# meet all, with the seed 1.
# usage: oclgrind.sh TEST_PROGRAM [--seed N] [--full [SHAPES_A_TEMPLATE]]        TUNE_TEST_SEED: the seed
set -eu
program=$1 seed=${TUNE_TEST_SEED:-1} shapes=1 parts=3
shift
while [ $# -gt 0 ]; do
    case "$1" in
    --seed) seed=$2 && shift ;;
    --full) seed=1 parts=1 ;;
    *) shapes=$1 ;;
    esac
    shift
done
if ! command -v oclgrind >/dev/null; then
    echo "skipped: oclgrind is not installed"
    exit 77
fi
echo "seed $seed (again: --seed $seed)"
others=8192 # Oclgrind counts the local arrays of all kernels of a program for each; test_oclgrind.c knows it too
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
oclgrind --data-races --max-errors 20 --log "$dir/log" "$program" race >"$dir/out" 2>&1 || true
if ! grep -q "data race" "$dir/log"; then
    echo "a kernel without barriers raised no race: this check sees nothing"
    cat "$dir/out"
    exit 1
fi
rm -f "$dir/log"
for limits in "256 16384" "1024 32768" "1024 49152" "256 32768 mali"; do
    # shellcheck disable=SC2086 # three words
    set -- $limits
    group=$1 bytes=$2 kind=${3:-}
    part=$((seed % parts))/$parts
    echo "== work-groups of $group, $bytes bytes of local memory, seed $seed, templates $part${kind:+, what is offered on a Mali}"
    status=0
    oclgrind --data-races --max-errors 20 --max-wgsize "$group" --local-mem-size $((bytes + others)) --build-options "-DTUNE_POISON -fno-inline -O1" \
        --log "$dir/log" "$program" "$seed" "$shapes" "$part" $kind >"$dir/out" 2>&1 || status=$?
    # what is left out is what Oclgrind says it does not know
    if [ "$(grep -c "^left out" "$dir/out")" -gt "$(grep -c "Undefined external function: llvm\." "$dir/out")" ]; then
        status=1
    fi
    if [ "$status" -ne 0 ] || grep -qE "Invalid (read|write)|data race|divergence|exceeds static" "$dir/log"; then
        failed=1
        grep -B1 -E "^FAILED" "$dir/out" || tail -2 "$dir/out"
        [ -s "$dir/log" ] && head -40 "$dir/log"
    fi
    tail -1 "$dir/out"
    rm -f "$dir/log"
    seed=$((seed + 1))
done
exit "$failed"
