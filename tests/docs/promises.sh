#!/bin/sh
# SPDX-License-Identifier: MIT
# promises.sh SOURCE - each promise of docs/reliability.md has a test, and every test that it names is run: a fact is in its program's list of tests, a
# program or script in a CMakeLists.txt.
set -u
cd "$1" || exit 1
table=$(sed -n '/^## Simulation/q; /^| promise/d; /^| /p' docs/reliability.md)
simulation=$(sed -n '/^## Simulation/,/^## Not tried/p' docs/reliability.md)
n=0 missing=0
miss() {
    echo "docs/reliability.md: $1"
    missing=$((missing + 1))
}

is_run() {
    case $1 in
    *.sh | *.py) [ -f "tests/farm/$1" ] && grep -qw "$1" tests/farm/CMakeLists.txt ;;
    test_* | fuzz_* | farm_*) grep -rqwE "$1|${1#test_}" tests --include=CMakeLists.txt ;;
    *) grep -rqE "[ {][A-Za-z_]+\($1[,)]" tests --include='*.c' ;;
    esac
}

for name in $(echo "$table" "$simulation" | grep -oE '`[a-z_0-9]+(\.sh|\.py)?`' | tr -d '`' | sort -u); do
    n=$((n + 1))
    is_run "$name" || miss "$name is no test that is run"
done
untested=$(echo "$table" | awk -F'|' '$3 !~ /`/ { print $2 }')
[ -z "$untested" ] || miss "no test beside:$untested"
echo "$n tests named, $missing missing"
[ "$missing" = 0 ] && [ "$n" -gt 50 ]
