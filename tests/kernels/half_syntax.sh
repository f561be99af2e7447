#!/bin/sh
# Kernel texts that sum in half compile as OpenCL C 1.2 with cl_khr_fp16 and no other extension.
# usage: half_syntax.sh PROGRAM_THAT_WRITES_THEM
set -eu
if ! command -v clang >/dev/null; then
    echo "skipped: clang is not installed"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
"$1" "$dir" || status=1
for text in "$dir"/*.cl; do
    clang -x cl -cl-std=CL1.2 -target spir64 -fsyntax-only -Xclang -finclude-default-header \
        -Xclang -cl-ext=-all,+cl_khr_fp16 -w "$text" || {
        head -1 "$text"
        exit 1
    }
    if grep -q "^#define SUM_HALF 1" "$text"; then continue; fi
    echo "$text does not sum in half:"
    head -1 "$text"
    exit 1
done
exit "$status"
