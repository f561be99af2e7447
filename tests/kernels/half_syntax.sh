#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernel texts for a Mali-T860 compile as OpenCL C 1.2 with cl_khr_fp16 and no other extension: a sample of every template
# and type that is offered there, and of every template that sums in half.
# usage: half_syntax.sh PROGRAM_THAT_WRITES_THEM [--seed N] [--full]
set -eu
if ! command -v clang >/dev/null; then
    echo "skipped: clang is not installed"
    exit 77
fi
program=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# compile_all FOLDER: several at once; the first that fails is shown.
compile_all() {
    find "$1" -name '*.cl' -print0 | xargs -0 -n 1 -P "$(nproc)" sh -c 'clang -x cl -cl-std=CL1.2 -target spir64 -fsyntax-only \
        -Xclang -finclude-default-header -Xclang -cl-ext=-all,+cl_khr_fp16 -w "$0" >"$0.out" 2>&1 || touch "$0.failed"'
    for failed in "$1"/*.failed; do
        [ -f "$failed" ] || break
        head -1 "${failed%.failed}"
        cat "${failed%.failed}.out"
        exit 1
    done
}

mkdir "$dir/half" "$dir/all"
"$program" "$dir/half" half "$@" || status=1
compile_all "$dir/half"
for text in "$dir"/half/*.cl; do
    if grep -q "^#define SUM_HALF 1" "$text"; then continue; fi
    echo "$text does not sum in half:"
    head -1 "$text"
    exit 1
done
"$program" "$dir/all" all "$@" || status=1
compile_all "$dir/all"
exit "$status"
