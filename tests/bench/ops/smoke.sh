#!/bin/sh
# SPDX-License-Identifier: MIT
# smoke.sh BENCH_OPS - tiny workloads to the end: every contender that is there gives the same result, lines become a table, and what
# is not there or not understood is told.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bench=$1

"$bench" --smoke --json "$dir/lines.json" >"$dir/out" || { cat "$dir/out"; exit 1; }
if grep -E 'wrong result|failed' "$dir/out"; then exit 1; fi
grep -q '"ours":true,"right":true' "$dir/lines.json" || { echo "none of ours took part"; cat "$dir/out"; exit 1; }
grep 'not there' "$dir/out" || true
"$bench" --table "$dir/lines.json" | grep '^geomean: packed [0-9.-]* plain [0-9.-]*$'

"$bench" --smoke --no-defaults --without peers --ours "dense/naive wg=64" "dense f32 m=3 n=5 k=7" | grep '^| ours dense/naive, given'
"$bench" --smoke --no-defaults --without peers --own-events --ours "dense/naive wg=64" "dense f32 m=3 n=5 k=7" | grep "Ours by the device's own events"
"$bench" --smoke --no-defaults --without peers --ours "dense/naive wg=65" "dense f32 m=3 n=5 k=7" 2>&1 | grep "knob 'wg' does not have the value '65'"
if "$bench" "dense f32 m=0 n=5 k=7" >/dev/null 2>"$dir/err"; then exit 1; fi
[ "$(wc -l <"$dir/err")" -eq 1 ]
