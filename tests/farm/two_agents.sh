#!/bin/sh
# SPDX-License-Identifier: MIT
# two_agents.sh BIN - a real layer through a tracker and two agents that share this machine's OpenCL device; the same without a tracker.
bin=$1
. "$(dirname "$0")/farm.sh"
layer="conv2d f32 n=1 c=8 h=14 w=14 k=16 r=3 s=3 stride=1 pad=1"

start_tracker
start_agent first --key test --device opencl --threads 1 --batch 2
start_agent second --key test --device opencl --threads 1 --batch 2
wait_agent first
wait_agent second
"$bin/tune" run "$layer" --tracker "$url" --key test --trials 12 --strategy random --seed 1 --repeat 2 --min-repeat-ms 1 -q -o "$dir/farm.jsonl" >"$dir/run.out" 2>&1 ||
    fail "tune run through the tracker ended with $?"
for name in first second; do
    grep -q "\"agent\":\"$name\"" "$dir/farm.jsonl" || fail "agent $name had no work"
done
n=$(grep -c '"purpose":"search"' "$dir/farm.jsonl")
[ "$n" -ge 12 ] || fail "$n search records, expected 12"
[ "$(wc -l <"$dir/farm.best.jsonl")" -eq 1 ] || fail "expected one line in the best log"
echo "through a tracker and two agents: $n trials"

"$bin/tune" run "$layer" --trials 6 --strategy random --seed 2 --repeat 2 --min-repeat-ms 1 -q -o "$dir/alone.jsonl" >"$dir/alone.out" 2>&1 || fail "tune run alone ended with $?"
lines=$(wc -l <"$dir/alone.jsonl")
"$bin/tune" run "$layer" --trials 6 --strategy random --seed 2 --repeat 2 --min-repeat-ms 1 -q -o "$dir/alone.jsonl" >"$dir/alone.out" 2>&1 || fail "tune run again ended with $?"
[ "$(grep -c '"purpose":"search"' "$dir/alone.jsonl")" -ge 6 ] || fail "the second run lost records"
echo "without a tracker: $lines records; again: $(wc -l <"$dir/alone.jsonl")"

# a damaged log is read with a warning, not refused
printf '{"torn' >>"$dir/alone.jsonl"
"$bin/tune" best "$dir/alone.jsonl" >"$dir/best.out" 2>&1 || fail "tune best on a torn log ended with $?"
grep -q "conv2d" "$dir/best.out" || fail "tune best printed no layer"
