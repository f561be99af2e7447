#!/bin/sh
# SPDX-License-Identifier: MIT
# check_sizes.sh - names functions over 80 lines and files over 800: places for a second look. Exit 1 when there are any.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
command -v ctags >/dev/null 2>&1 || { echo "check_sizes.sh: no ctags here; scripts/install_deps.sh --check-tools installs it" >&2; exit 1; }

files=$(git ls-files -- '*.c' '*.h')
long=$(printf '%s\n' "$files" | function_lines | awk '$3 > 80 { printf "%s: %s has %d lines (80)\n", $1, $2, $3 }')
big=$(printf '%s\n' "$files" | while IFS= read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || echo "$file: $lines lines (800)"
done)
if [ -n "$long$big" ]; then
    printf '%s\n' "$long" "$big" | sed '/^$/d'
    exit 1
fi
echo "sizes: no function over 80 lines, no file over 800"
