#!/bin/sh
# SPDX-License-Identifier: MIT
# import.sh BIN ROOT - `tune import` as people type it: what it writes, what it says, its exit codes.
set -eu
bin=$1 root=$2
models=$root/tests/onnx/corpus/fuzz_onnx
. "$root/tests/scratch.sh"

# refused WORDS ARGUMENT...: exit code 1 and one line with the words
refused() {
    words=$1
    shift
    if "$bin/tune" import "$@" >"$dir/said.out" 2>"$dir/words.out"; then fail "import $* was to be refused"; fi
    [ "$(wc -l <"$dir/words.out")" -eq 1 ] || fail "import $*: one line was expected"
    grep -qF -- "$words" "$dir/words.out" || fail "import $* was to say '$words'"
}

"$bin/tune" import "$models/convolutions" -o "$dir/made/here" >"$dir/import.out" || fail "convolutions: not imported"
grep -q '^Conv  *2  *0  *0  *0  *0$' "$dir/import.out" || fail "no line of Conv: two are tuned"
grep -q '^all  *2  *0  *4  *0  *0$' "$dir/import.out" || fail "no line of all"
for file in convolutions.graph convolutions.net weights.bin weights.txt; do
    [ -s "$dir/made/here/$file" ] || fail "no $file"
done
# 8 x 1 x 3 x 2 and 8 x 8 weights and twice 8 of a bias, 4 bytes each, and 2 in f16
[ "$(wc -c <"$dir/made/here/weights.bin")" -eq 512 ] || fail "weights.bin: 512 bytes were expected"
"$bin/tune" import "$models/convolutions" -q --dtype f16 -o "$dir/half" >"$dir/quiet.out" 2>&1 || fail "f16: not imported"
[ ! -s "$dir/quiet.out" ] || fail "-q says something"
[ "$(wc -c <"$dir/half/weights.bin")" -eq 256 ] || fail "weights.bin of f16: 256 bytes were expected"
"$bin/tune" import "$models/pools" --dry-run -o "$dir/none" >"$dir/dry.out" || fail "pools: not imported"
[ ! -e "$dir/none" ] || fail "--dry-run has written"
"$bin/tune" import "$models/joined" --dim h=8 --dry-run >"$dir/dim.out" || fail "joined: not imported with --dim"

refused "not supported: my.domain.Blur 1, If 1" "$models/unsupported" -o "$dir/none"
grep -q "not supported: my.domain.Blur, 1, the first b: an operator of another domain" "$dir/said.out" || fail "no reason for Blur"
[ ! -e "$dir/none" ] || fail "an unsupported model is written"
refused "expected --dim h=N" "$models/joined" --dry-run
refused "--dim h: expected NAME=N" "$models/joined" --dim h --dry-run
refused "--dim h=0: expected NAME=N" "$models/joined" --dim h=0 --dry-run
refused "in the model's folder" "$models/outside" --dry-run
refused "no model, or a damaged one" "$root/LICENSE" --dry-run
refused "$dir/nothing.onnx: No such file" "$dir/nothing.onnx" --dry-run
refused "expected a model, and -o DIR or --dry-run" "$models/pools"
refused "--dtype i8: expected --calibrate FILE.npz" "$models/pools" --dtype i8 --dry-run
refused "--dtype bf16: expected f32, f16 or i8" "$models/pools" --dtype bf16 --dry-run
refused "--calibrate quantises to bytes" "$models/pools" --dtype f32 --calibrate x.npz --dry-run
refused "$dir/nothing.npz: No such file" "$models/pools" --calibrate "$dir/nothing.npz" --dry-run
