#!/bin/sh
# A drawn sample of every template under Oclgrind, with several limits of work-groups and local memory: results are right, and
# no access is out of bounds, no two work-items race, no barrier diverges. Local arrays start as NaN (TUNE_POISON).
# Nothing is inlined: functions with `restrict` parameters or structures as results would become intrinsics of LLVM that Oclgrind 21.10
# cannot create kernels of.
# usage: oclgrind.sh TEST_PROGRAM [SEED [SHAPES_A_TEMPLATE]]
set -eu
program=$1 seed=${2:-1} shapes=${3:-1}
if ! command -v oclgrind >/dev/null; then
    echo "skipped: oclgrind is not installed"
    exit 77
fi
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
for limits in "256 16384" "256 32768 mali" "1024 32768" "1024 49152"; do
    # shellcheck disable=SC2086 # three words
    set -- $limits
    group=$1 bytes=$2 kind=${3:-}
    echo "== work-groups of $group, $bytes bytes of local memory, seed $seed${kind:+, what is offered on a Mali}"
    status=0
    oclgrind --data-races --max-errors 20 --max-wgsize "$group" --local-mem-size "$bytes" --build-options "-DTUNE_POISON -fno-inline" \
        --log "$dir/log" "$program" "$seed" "$shapes" $kind >"$dir/out" 2>&1 || status=$?
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
