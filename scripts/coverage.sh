#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage.sh [--last] [--files ROOM] [LABEL...] - which lines and branches of each room the tests execute: builds with gcc --coverage into
# build-coverage, runs the tests with one of these labels (unit), and prints a table. Tests take three to four times as long as in a release build.
#   --last        no build and no tests: the table of what ran last
#   --files ROOM  also each file of this room (core, search, ...), the least covered first; may be repeated
# Counts of child processes are in it, of those too that our programs kill (tests/coverage/hook.c); a program that a shell kills with
# -9 loses what it had counted. The branch of an assert that fails is not counted: no test can take it.
# Exit status 1: a test failed; the table is printed all the same.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

last="" files="" labels=""
while [ $# -gt 0 ]; do
    case "$1" in
    --last) last=yes ;;
    --files)
        [ $# -gt 1 ] || fail "--files needs a room: $rooms"
        case " $rooms " in
        *" ${2%/} "*) files="$files ${2%/}" ;;
        *) fail "--files '$2': expected one of $rooms" ;;
        esac
        shift
        ;;
    --help | -h) head_comment "scripts/$(basename "$0")" ;;
    -*) fail "unknown option '$1'; expected --last, --files ROOM or labels of tests" ;;
    *) labels="$labels|$1" ;;
    esac
    shift
done
labels=${labels#|}
: "${labels:=unit}" "${TUNE_TEST_DATA:=}"
export TUNE_TEST_DATA
table=build-coverage/coverage.csv
failed=0

if [ -z "$last" ]; then
    scripts/install_deps.sh --check-tools
    say "build with --coverage"
    build coverage
    say "tests: $labels"
    find build-coverage -name '*.gcda' -delete
    ctest --preset coverage -L "^($labels)\$" -LE '^slow$' -j "$(nproc)" >build-coverage/tests.txt 2>&1 || failed=1
    grep -E '^[0-9]+% tests passed|^\t *[0-9]+ - ' build-coverage/tests.txt || cat build-coverage/tests.txt
    grep -o 'libgcov profiling error:.*' build-coverage/tests.txt | sort -u || true
fi
[ -n "$(find build-coverage -name '*.gcda' 2>/dev/null | head -n 1)" ] || fail "nothing has been counted in build-coverage: run this without --last"

# kernels/embed.c runs while building, and what is in build-coverage was made there.
# shellcheck disable=SC2046 # a list of words is meant
gcovr --root . --object-directory build-coverage --csv "$table" -j "$(nproc)" --exclude 'build-coverage/' --exclude 'kernels/embed\.c' \
    --exclude-branches-by-pattern '.*\bassert\(.*' $(for room in $rooms; do echo "--filter $room/"; done) build-coverage >build-coverage/gcovr.txt 2>&1 ||
    { cat build-coverage/gcovr.txt >&2; fail "gcovr failed"; }

# print_rows HEAD [ROOM]: sums by room, or a room's files, the least covered first.
print_rows() {
    printf '\n%-28s %7s %7s %5s %9s %7s %5s\n' "$1" lines run % branches taken %
    awk -F, -v rooms="$rooms" -v only="${2:-}" '
        function share(part, all) { return all ? sprintf("%.1f", 100 * part / all) : "-" }
        function row(x) {
            return sprintf("%-28s %7d %7d %5s %9d %7d %5s", x, lines[x], run[x], share(run[x], lines[x]), branches[x], taken[x],
                           share(taken[x], branches[x]))
        }
        function add(x) { lines[x] += $2; run[x] += $3; branches[x] += $5; taken[x] += $6 }
        NR > 1 {
            split($1, part, "/")
            room = part[1]
            x = only == "" ? room : $1
            if (only != "" && only != room) next
            if (!(x in lines)) { order[++n_order] = x; first[x] = part[1] }
            add(x)
            add("all")
        }
        END {
            n = split(rooms, room_at, " ")
            for (r = 1; r <= n; r++)
                for (i = 1; i <= n_order; i++)
                    if (first[order[i]] == room_at[r])
                        print (only == "" || !lines[order[i]] ? 1 : run[order[i]] / lines[order[i]]) "\t" row(order[i])
            print 2 "\t" row("all")
        }' "$table" | sort -n -s -k1,1 | cut -f2-
}

print_rows room
for room in $files; do
    print_rows "$room" "$room"
done
[ "$failed" -eq 0 ] || fail "some tests failed: build-coverage/tests.txt"
