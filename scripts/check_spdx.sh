#!/bin/sh
# SPDX-License-Identifier: MIT
# check_spdx.sh - fails on source files that do not name their licence in the first line (behind #! in the second).
#   check_spdx.sh         names them
#   check_spdx.sh --add   gives them the line
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

mode=${1:-}
case "$mode" in
"" | --add) ;;
*) fail "unknown argument '$mode'; expected --add or nothing" ;;
esac
licence="SPDX-License-Identifier: MIT"
n=0
n_all=0

# demand LINE FILE...
demand() {
    line=$1
    shift
    n_all=$((n_all + $#))
    lacking=$(awk -v line="$line" 'FNR == 1 { at = /^#!/ ? 2 : 1 } FNR == at && $0 != line { print FILENAME }' "$@")
    [ -n "$lacking" ] || return 0
    n=$((n + $(printf '%s\n' "$lacking" | wc -l)))
    if [ "$mode" = --add ]; then
        # shellcheck disable=SC2086 # a list of files is meant
        sed -i -e "1{/^#!/!i $line" -e "/^#!/a $line" -e '}' $lacking
    else
        printf '%s\n' "$lacking" | sed "s|\$|: expected the line '$line' at its head|"
    fi
}

# shellcheck disable=SC2046 # lists of files are meant
demand "/* $licence */" $(git ls-files -- '*.c' '*.h' '*.h.in' '*.cl' '*.clh')
# shellcheck disable=SC2046
demand "# $licence" $(git ls-files -- '*.sh' '*.bash' '*.py' '*.cmake' '*CMakeLists.txt' '*.cmake.in' '*.yml' .ci/run .clang-format .clang-tidy)
[ "$mode" != --add ] || { echo "licence: $n of $n_all files were given the line"; exit 0; }
[ "$n" -eq 0 ] || fail "$n of $n_all files do not name their licence; scripts/check_spdx.sh --add gives them the line"
echo "licence: named by all $n_all source files"
