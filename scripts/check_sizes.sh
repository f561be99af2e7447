#!/bin/sh
# SPDX-License-Identifier: MIT
# check_sizes.sh - names functions over 80 lines and files over 800: places for a second look. Exit 1 when there are any.
set -eu
cd "$(dirname "$0")/.."
command -v ctags >/dev/null 2>&1 || { echo "check_sizes.sh: no ctags here; scripts/install_deps.sh --check-tools installs it" >&2; exit 1; }

files=$(git ls-files -- '*.c' '*.h')
long=$(printf '%s\n' "$files" | ctags -L - --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne -f - 2>/dev/null | awk -F'\t' '
    /^!/ { next }
    {
        from = to = 0
        for (i = 4; i <= NF; i++) {
            if ($i ~ /^line:/) from = substr($i, 6)
            if ($i ~ /^end:/) to = substr($i, 5)
        }
        if (to - from + 1 > 80) printf "%s:%d: %s has %d lines (80)\n", $2, from, $1, to - from + 1
    }')
big=$(printf '%s\n' "$files" | while IFS= read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || echo "$file: $lines lines (800)"
done)
if [ -n "$long$big" ]; then
    printf '%s\n' "$long" "$big" | sed '/^$/d'
    exit 1
fi
echo "sizes: no function over 80 lines, no file over 800"
