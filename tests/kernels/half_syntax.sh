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

# compile_all FOLDER: fifty by one process of the compiler proper, whose start costs more than a text; the first that fails is shown.
compile_all() {
    find "$1" -name '*.cl' -print0 | xargs -0 -n 50 -P "$(nproc)" clang -cc1 -triple spir64 -x cl -cl-std=CL1.2 -fsyntax-only \
        -finclude-default-header -fdeclare-opencl-builtins -internal-isystem "$(clang -print-resource-dir)/include" \
        -cl-ext=-all,+cl_khr_fp16 -w >"$1.out" 2>&1 && return
    failed=$(sed -n 's/^\([^:]*\.cl\):.*/\1/p' "$1.out" | head -n 1)
    [ -z "$failed" ] || head -n 1 "$failed"
    head -n 20 "$1.out"
    exit 1
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
