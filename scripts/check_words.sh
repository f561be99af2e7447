#!/bin/sh
# SPDX-License-Identifier: MIT
# check_words.sh - fails on words that do not belong into the tree: unfinished places, conflict marks, banned functions,
# absolute paths of somebody's machine.
set -eu
cd "$(dirname "$0")/.."

found=0
# forbid WHY PATTERN PATHS...
forbid() {
    why=$1
    pattern=$2
    shift 2
    hits=$(git grep -nIE "$pattern" -- "$@" ':!scripts/check_words.sh' || true)
    if [ -n "$hits" ]; then
        printf '%s:\n%s\n' "$why" "$hits"
        found=1
    fi
}

forbid "unfinished by its own word" '\b(TODO|FIXME|XXX|HACK)\b' '*.c' '*.h' '*.cl' '*.sh' '*.txt' '*.cmake' '*.md'
forbid "conflict marks" '^(<{7}|>{7}) ' .
forbid "paths of one machine" '(^|[^[:alnum:]_.])/(home|work|Users)/[[:alnum:]_]' .
forbid "banned functions (unbounded or not thread-safe)" \
    '(^|[^[:alnum:]_])(gets|sprintf|vsprintf|strtok|tmpnam|mktemp|popen)[[:space:]]*\(' '*.c' '*.h'
forbid "names of members that differ in case would be one (json_has, cJSON's calls with CaseSensitive)" \
    'cJSON_(Get|Has|ReplaceItemIn|DeleteItemFrom|DetachItemFrom)(ObjectItem|Object)[[:space:]]*\(' '*.c' '*.h' ':!tests'
forbid "tabs or spaces at the end of a line" '[[:blank:]]+$' '*.c' '*.h' '*.cl' '*.sh' '*.md' '*.txt'
[ "$found" -eq 0 ] || exit 1
echo "words: nothing that should not be there"
