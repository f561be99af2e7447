#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh - plants small faults into a copy of the tree, one at a time, and tells which of them the tests see.
#   faults.sh [--set FILE] [--room ROOM] [--only ID] [--label LABEL] [--within S] [--own]
#             [--jobs N] [--list]
#   --set FILE     the faults (tests/faults/set.txt, whose head has the format)
#   --room ROOM    only the faults of one room
#   --only ID      only this one
#   --label LABEL  the tests that look (unit); of others (e.g. farm) one runs at a time
#   --within S     of other rooms only the tests that take no longer than S seconds by themselves
#   --own          only the tests of --room are built and run: minutes, for drawn sets (draw.py)
#   --list         names the faults and ends
# Faults in C are compiled in all at once and chosen by the variable TUNE_FAULT; what is no C, or goes as text into bundles, is
# built anew for its turn. Only tests that reach the place run, those of the fault's own room first, up to the first that fails; a test
# that hangs has seen it. First of all every test runs without a fault, and must pass. All of it happens in build-faults/;
# the table is left in build-faults/table.txt. Exit 1: a fault is stale (its text is no longer in its file) or does not compile.
set -eu
cd "$(dirname "$0")/../.."
. scripts/common.sh

set_file=tests/faults/set.txt
room=
only=
label=unit
within=1e9
own=
jobs=
list=
while [ $# -gt 0 ]; do
    case "$1" in
    --set | --room | --only | --label | --within | --jobs) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    esac
    case "$1" in
    --set) set_file=$2; shift ;;
    --room) room=$2; shift ;;
    --only) only=$2; shift ;;
    --label) label=$2; shift ;;
    --within) within=$2; shift ;;
    --own) own=own ;;
    --jobs) jobs=$2; shift ;;
    --list) list=1 ;;
    -h | --help) head_comment "$0" ;;
    *) fail "unknown option $1; --help lists them" ;;
    esac
    shift
done
[ -z "$own" ] || [ -d "tests/$room" ] || fail "--own needs the --room whose tests they are"
[ -n "$jobs" ] || case "$label" in unit | kernels | cuda) jobs=2 ;; *) jobs=1 ;; esac
[ -r "$set_file" ] || fail "$set_file cannot be read"
: "${TUNE_TEST_DATA:=}"
export TUNE_TEST_DATA

work=$PWD/build-faults
copy=$work/tree       # what is built
staged=$work/staged   # files with choices
build=$copy/build     # as people have it: a compiler's cache finds its objects
tab=$(printf '\t')
mkdir -p "$copy" "$work/turn"

# set_rows MODE [NUMBER]: the faults as faults.awk tells them.
set_rows() {
    awk -f tests/faults/faults.awk -v mode="$1" -v n="${2:-0}" -v out="${3:-}" "$set_file"
}

# put FILE: the right FILE into the copy (with its choices), when another one is there.
put() {
    from=$1
    [ ! -e "$staged/$1" ] || from=$staged/$1
    cmp -s "$from" "$copy/$1" && return 0
    mkdir -p "$copy/$(dirname "$1")"
    cp -p "$1" "$copy/$1"
    [ "$from" = "$1" ] || cat "$from" >"$copy/$1"
    touch "$copy/$1"
}

copy_tree() {
    git ls-files --cached --others --exclude-standard | sort >"$work/files"
    while IFS= read -r path; do
        [ ! -f "$path" ] || put "$path"
    done <"$work/files"
    (cd "$copy" && find . -path ./build -prune -o -type f -print | sed 's|^\./||' | sort) | comm -13 "$work/files" - | while IFS= read -r path; do
        rm -f "$copy/$path"
    done
}

# make_all LOG: builds what changed. The tests' own limits of time go: a busy machine is no hang, see look.
make_all() {
    { [ -f "$build/build.ninja" ] || cmake -G Ninja -S "$copy" -B "$build" -DCMAKE_BUILD_TYPE=Release; } >"$1" 2>&1 &&
        cmake --build "$build" ${own:+--target "tests/$room/all" tune tune-agent tune-tracker} -- -k 0 >>"$1" 2>&1 &&
        find "$build" -name CTestTestfile.cmake -exec sed -i 's/ TIMEOUT "[0-9]*"//' {} +
}

# names_of FOLDER: the tests with the label that are defined below it.
names_of() {
    [ -d "$1" ] || return 0
    ctest --test-dir "$1" -N -L "^($label)\$" | sed -n 's/^ *Test *#[0-9]*: //p'
}

# alone TEST: without a fault; leaves seconds and what it reached.
alone() {
    mkdir -p "$work/reached/$1"
    began=$(date +%s.%N)
    TUNE_FAULTS_REACHED=$work/reached/$1 ctest --test-dir "$build" -R "^$1\$" --output-on-failure >"$work/alone/$1" 2>&1 ||
        : >"$work/failed/$1"
    echo "$began $(date +%s.%N) $1" | awk '{ print $2 - $1, $3 }' >"$work/seconds/$1"
}

# Not again while what passed is what is built.
run_without_faults() {
    if grep -q 'no work to do' "$work/make" && [ "$(cat "$work/passed" 2>/dev/null)" = "$label $set_file $own" ]; then
        return 0
    fi
    rm -rf "$work/passed" "$work/reached" "$work/seconds" "$work/failed" "$work/alone"
    mkdir "$work/reached" "$work/seconds" "$work/failed" "$work/alone"
    names_of "$build${own:+/tests/$room}" >"$work/tests"
    [ -s "$work/tests" ] || fail "no tests with the label '$label'"
    n=0
    while IFS= read -r name; do
        alone "$name" &
        n=$((n + 1))
        [ $((n % jobs)) -ne 0 ] || wait
    done <"$work/tests"
    wait
    for name in "$work/failed"/*; do
        [ -e "$name" ] || continue
        cat "$work/alone/$(basename "$name")" >&2
        fail "$(basename "$name") fails without any fault"
    done
    echo "$label $set_file $own" >"$work/passed"
}

# order NUMBER ROOM WAY: "seconds test" of those that may see the fault; its room's first, then the quick ones.
order() {
    names_of "$build/tests/$2" >"$work/own"
    while IFS= read -r name; do
        [ "$3" = build ] || [ -e "$work/reached/$name/$1" ] || continue
        other=1
        ! grep -qx "$name" "$work/own" || other=0
        echo "$other $(cat "$work/seconds/$name")"
    done <"$work/tests" | awk -v most="$within" '$1 == 0 || $2 <= most' | sort -k1,1n -k2,2n | cut -d' ' -f2-
}

# seen_in OUTPUT: the test that failed and how, of a run of ctest.
seen_in() {
    awk '
        seen == "" && /Test +#[0-9]+: .*\*\*\*(Failed|Exception|Timeout|Not Run)/ {
            seen = $0; sub(/.*Test +#[0-9]+: /, "", seen); sub(/[ .*].*/, "", seen)
            seen = seen (/\*\*\*Timeout/ ? " (hang)" : /\*\*\*Exception/ ? " (crash)" : "")
        }
        END { print seen == "" ? "ctest failed" : seen }' "$1"
}

# look NUMBER: runs the tests of $work/order with the fault; prints which one saw it. Six times as long as without is a hang.
look() {
    while [ -s "$work/order" ]; do
        head -n $((2 * jobs)) "$work/order" >"$work/now"
        sed "1,$((2 * jobs))d" "$work/order" >"$work/later"
        mv "$work/later" "$work/order"
        limit=$(awk '$1 > most { most = $1 } END { print int(30 + 6 * most) }' "$work/now")
        names=$(cut -d' ' -f2 "$work/now" | paste -s -d'|')
        TUNE_FAULT=$1 ctest --test-dir "$build" -R "^($names)\$" -j "$jobs" --timeout "$limit" --stop-on-failure \
            >"$work/look" 2>&1 && continue
        seen_in "$work/look"
        return 0
    done
}

# judge NUMBER ID ROOM FILE WAY: one fault; prints what saw it. Empty: nothing did.
judge() {
    case "$5" in
    stale) echo "stale"; return 0 ;;
    build)
        set_rows one "$1" "$work/turn" && cat "$work/turn/$4" >"$copy/$4" && touch "$copy/$4"
        rm -f "$work/passed"
        make_all "$work/make" || { echo "does not compile"; return 0; }
        ;;
    esac
    order "$1" "$3" "$5" >"$work/order"
    [ -s "$work/order" ] || { echo "NOT SEEN, no test reaches it"; return 0; }
    n_reach=$(wc -l <"$work/order")
    seen=$(look "$1")
    [ "$5" = choice ] || n_reach=all
    echo "${seen:-NOT SEEN, $n_reach reach it}"
}

# Those that are meant; those that are built anew come last.
wanted() {
    awk -F"$tab" -v room="$room" -v only="$only" '(room == "" || $3 == room) && (only == "" || $2 == only)' "$work/rows" |
        sort -t"$tab" -k5,5r -k1,1n
}

rm -rf "$staged"
mkdir -p "$staged"
if [ -n "$list" ]; then
    set_rows list >"$work/rows"
    wanted | cut -f2-
    exit 0
fi
set_rows patch 0 "$staged" >"$work/rows"
[ -n "$(wanted)" ] || fail "no fault of $set_file is meant"
copy_tree
make_all "$work/make" || { grep -A 4 'error:' "$work/make" >&2; fail "the copy with all faults does not build"; }
run_without_faults
n_tests=$(wc -l <"$work/tests")
echo "$n_tests tests with the label '$label' pass without a fault"

: >"$work/table.txt"
wanted >"$work/wanted"
while IFS="$tab" read -r number id of_room file way; do
    began=$(date +%s)
    result=$(judge "$number" "$id" "$of_room" "$file" "$way" </dev/null)
    [ "$way" != build ] || put "$file"
    printf '%s\t%s\t%s\t%s\t%d\n' "$id" "$of_room" "$file" "$result" $(($(date +%s) - began)) |
        tee -a "$work/table.txt" | awk -F"$tab" '{ printf "%-28s %-12s %-34s %-40s %4d s\n", $1, $2, $3, $4, $5; fflush() }'
done <"$work/wanted"
# shellcheck disable=SC2016
awk -F"$tab" '
    $4 == "stale" { stale[++n_stale] = $1; next }
    $4 == "does not compile" { broken[++n_broken] = $1; next }
    { rooms[$2]; n[$2]++; n[""]++ }
    /NOT SEEN/ { next }
    { seen[$2]++; seen[""]++ }
    END {
        print ""
        for (room in rooms) printf "%-12s %3d of %3d seen\n", room, seen[room], n[room]
        printf "%-12s %3d of %3d seen\n", "in all", seen[""], n[""]
        for (i = 1; i <= n_stale; i++) print "stale: " stale[i]
        for (i = 1; i <= n_broken; i++) print "does not compile: " broken[i]
        exit n_stale + n_broken > 0
    }' "$work/table.txt"
