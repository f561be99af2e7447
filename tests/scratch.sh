# SPDX-License-Identifier: MIT
# scratch.sh - a folder $dir and processes $children of a test, gone when it ends; fail WORDS shows what they said; some N NAME...
# takes samples. Sourced.
dir=$(mktemp -d)
children=""

forget_all() {
    for pid in $children; do
        kill -9 "$pid" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap forget_all EXIT

# some N NAME...: N of the names, others for another TUNE_TEST_SEED
some() {
    n_some=$1
    shift
    turns=$((${TUNE_TEST_SEED:-0} % $#))
    while [ "$turns" -gt 0 ]; do
        first=$1
        shift
        set -- "$@" "$first"
        turns=$((turns - 1))
    done
    while [ "$n_some" -gt 0 ]; do
        echo "$1"
        shift
        n_some=$((n_some - 1))
    done
}
trap 'exit 1' INT TERM

fail() {
    echo "FAILED: $*" >&2
    for file in "$dir"/*.out; do
        [ -f "$file" ] || continue
        echo "--- $(basename "$file")" >&2
        tail -n 15 "$file" >&2
    done
    exit 1
}
