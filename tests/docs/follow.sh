#!/bin/sh
# SPDX-License-Identifier: MIT
# follow.sh - does what the pages docs/adding-a-*.md say, to the letter, in a copy of the tree: their code blocks become files, changed
# lines and commands (blocks.awk, change.awk); then all is built and the pages' checks are run. At the end one step of each kind is taken back,
# and a check has to notice.
#   follow.sh SOURCE [PAGE...]   only these pages (adding-a-strategy); TUNE_KEEP=DIR (empty) keeps the copy there
# Where SOURCE was built in SOURCE/build and a namespace is to be had, the copy has that build and is mounted in SOURCE's own place, so that only
# what the pages change is built.
set -eu
source=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
targets="tune tune-agent tune-tracker fuzz_foreign test_cost_model test_foreign test_kernels_opencl test_mutants_opencl test_replay test_store
    test_strategies test_templates test_tune_command test_tune_docs test_convert test_workload"

fail()
{
    echo "follow.sh: $1" >&2
    exit 1
}

# The files of the tree as they are now, and what was built of it where that is of use.
copy_tree()
{
    built='./build*'
    [ "$tree" = "$work/tree" ] || built='./build-*'
    (cd "$source" && tar -cf - --exclude="$built" --exclude=./build/other-builds --exclude=./build/arm64 --exclude=./.git --exclude='*.jsonl' .) |
        (cd "$work/tree" && tar -xf -)
    [ "$tree" = "$work/tree" ] || mount --bind "$work/tree" "$tree"
}

# change DIFF [awk's options]: the lines of a diff block, in the copy.
change()
{
    target=$(head -n 1 "$1")
    awk -v TARGET="$target" ${2:+-v "$2"} -f "$here/change.awk" "$1" >"$work/changed" && cat "$work/changed" >"$target"
}

# one_step FILE: what a block says, in the copy.
one_step()
{
    case $1 in
    *.file)
        target=$(head -n 1 "$1")
        [ ! -e "$target" ] || fail "$target is there already"
        mkdir -p "$(dirname "$target")"
        tail -n +2 "$1" >"$target"
        ;;
    *.diff) change "$1" ;;
    *.sh) tail -n +2 "$1" | sh -eu ;;
    esac
}

follow_page()
{
    page=$source/docs/$1.md
    mkdir -p "$work/steps/$1"
    awk -v OUT="$work/steps/$1" -f "$here/blocks.awk" "$page"
    for step in "$work/steps/$1"/*; do
        one_step "$step" >"$work/said" 2>&1 || { cat "$work/said" "$step" >&2; fail "docs/$1.md: this step cannot be done"; }
    done
    ls "$work/steps/$1"/*.check >/dev/null 2>&1 || fail "docs/$1.md has no check: expected a block \`sh check\`"
    echo "docs/$1.md: $(ls "$work/steps/$1" | wc -l) blocks"
}

# Neither errors nor, in what the pages wrote, warnings.
build()
{
    [ -e build/CMakeCache.txt ] || set -- -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0
    cmake -S . -B build "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "cmake failed"; }
    # shellcheck disable=SC2086 # a list of targets is meant
    cmake --build build --target $targets >"$work/said" 2>&1 || { grep -v '^\[' "$work/said" >&2; fail "what the pages say does not build"; }
    head -q -n 1 "$work"/steps/*/*.file >"$work/written"
    ! grep 'warning:' "$work/said" | grep -F -f "$work/written" >&2 || fail "what the pages say is built with warnings"
}

# passes LINE: one command of a check, as a person types it.
passes()
{
    bash -o pipefail -eu -c "$1" >"$work/said" 2>&1
}

check_all()
{
    tail -q -n +2 "$work"/steps/*/*.check | awk '!seen[$0]++' >"$work/checks"
    while IFS= read -r line; do
        passes "$line" </dev/null || { cat "$work/said" >&2; fail "fails: $line"; }
        echo "ok: $line"
    done <"$work/checks"
}

# notices FILE LINE: with the last patch of FILE taken back the check LINE fails.
notices()
{
    step=$(grep -lx "$1" "$work"/steps/*/*.diff | tail -n 1)
    [ -n "$step" ] || return 0
    change "$step" REVERSE=1
    case $1 in *.c) build ;; esac
    ! passes "$2" || fail "without the step for $1 this still passes: $2"
    change "$step"
    echo "noticed: no step for $1"
}

if ! "${TUNE_BIN_DIR:-$source/build/bin}/tune" doctor >/dev/null 2>&1; then
    echo "skipped: \`tune doctor\` finds no device to run the pages' kernels on"
    exit 77
fi
if [ -z "${TUNE_KEEP:-}" ] && [ -z "${TUNE_OWN_PLACE:-}" ] && [ -e "$source/build/CMakeCache.txt" ] &&
    unshare -rm mount --bind "$source" "$source" 2>/dev/null; then
    TUNE_OWN_PLACE=1 exec unshare -rm "$0" "$source" "$@"
fi
work=${TUNE_KEEP:-$(mktemp -d)}
tree=${TUNE_OWN_PLACE:+$source}
tree=${tree:-$work/tree}
[ -n "${TUNE_KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree" "$work/steps"
TUNE_BIN_DIR=$tree/build/bin
export TUNE_BIN_DIR
[ $# -gt 0 ] || set -- $(cd "$source/docs" && ls adding-a*.md | sed 's/\.md$//')
copy_tree
cd "$tree"
for page in "$@"; do
    follow_page "$page"
done
build
check_all
for page in docs/search.md docs/logs.md docs/agent.md docs/tune.md docs/templates.md docs/operators.md; do
    notices $page build/tests/test_tune_docs
done
notices search/strategy.c "build/bin/tune replay --space examples/recorded/tiles.json --strategy stride --budget 5"
