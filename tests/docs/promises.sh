#!/bin/sh
# SPDX-License-Identifier: MIT
# promises.sh SOURCE - every test that docs/reliability.md names beside a promise is in the tree.
set -u
cd "$1" || exit 1
n=0 missing=0
for name in $(sed -n '/^## Not tried/q; /^| /p' docs/reliability.md | grep -o '`[a-z_0-9.]*`' | tr -d '`' | sort -u); do
    n=$((n + 1))
    case $name in
    *.sh | *.py) [ -f "tests/farm/$name" ] && continue ;;
    *) { [ -n "$(find tests -name "$name.c")" ] || grep -rqw "$name" tests --include='*.c' --include=CMakeLists.txt; } && continue ;;
    esac
    echo "docs/reliability.md names $name, which is no test"
    missing=$((missing + 1))
done
echo "$n tests named, $missing missing"
[ "$missing" = 0 ] && [ "$n" -gt 50 ]
