#!/bin/sh
# SPDX-License-Identifier: MIT
# count_lines.sh - lines of product and of tests by room, and asserts. Rules: files that git knows; every line counts, blank ones and
# comments too; C and H only. Product: ROOM/ with its folders. Tests: tests/ROOM/ likewise. Kernels (.cl .clh) are product, in a column of
# their own and in no ratio. asserts: `assert(` in product, not in comments; a thousand lines of C and H.
# functions: of the product, by ctags; lines from the first of the signature to the brace.
# Beside, in nobody's ratio: tests/cuda (an emulated driver, with its tests), tests/bench, tests/farm and tests/build (shell).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

# lines PATTERN...: of the tracked files that match
lines() {
    git ls-files -z -- "$@" | xargs -0 -r cat | wc -l
}

asserts() {
    git ls-files -z -- "$@" | xargs -0 -r cat | grep -Ev '^ *(/?\*|//)' | grep -Ec '(^|[^_[:alnum:]])assert\(' || true
}

{
    for room in $rooms; do
        echo "$room $(lines "$room/*.c" "$room/*.h") $(lines "$room/*.cl" "$room/*.clh")" \
            "$(lines "tests/$room/*.c" "tests/$room/*.h") $(asserts "$room/*.c" "$room/*.h")"
    done
} | awk '
    function row(name, product, cl, tests, asserts) {
        printf "%-14s %8d %8d %8d %8.2f %8d %8.2f\n", name, product, cl, tests, product ? tests / product : 0, asserts,
            product ? 1000 * asserts / product : 0
    }
    BEGIN { printf "%-14s %8s %8s %8s %8s %8s %8s\n", "room", "product", ".cl", "tests", "a line", "asserts", "a 1000" }
    { row($1, $2, $3, $4, $5); for (i = 2; i <= 5; i++) sum[i] += $i }
    END { row("all", sum[2], sum[3], sum[4], sum[5]) }'
printf '\nbeside: '
for folder in cuda bench; do
    printf 'tests/%s %d, ' "$folder" "$(lines "tests/$folder/*.c" "tests/$folder/*.h")"
done
printf 'shell of tests %d\n' "$(lines 'tests/*.sh')"
if command -v ctags >/dev/null 2>&1; then
    for room in $rooms; do
        git ls-files -- "$room/*.c" "$room/*.h"
    done | function_lines | sort -n -k 3,3 | awk '
        { lines[NR] = $3 }
        END { printf "functions of the product: %d, lines p50 %d, p90 %d, max %d\n", NR, lines[int(NR / 2) + 1], lines[int(NR * 0.9) + 1], lines[NR] }'
fi
