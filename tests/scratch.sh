# SPDX-License-Identifier: MIT
# scratch.sh - a folder $dir and processes $children of a test, gone when it ends; fail WORDS shows what they said. Sourced.
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
