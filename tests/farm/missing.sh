#!/bin/sh
# SPDX-License-Identifier: MIT
# missing.sh BIN APP - an application over libtune lacks a record, its list becomes a job, and then it lacks none. On this
# machine's OpenCL device, through a tracker.
bin=$1 app=$2
. "$(dirname "$0")/farm.sh"
have="dense f32 m=12 n=48 k=40"
lack="dense f32 m=24 n=48 k=40"
export POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR="$dir/pocl"
mkdir "$POCL_CACHE_DIR"

start_tracker
start_agent only --key test-cpu --device opencl --threads 1
wait_agent only
"$bin/tune" run "$have" --tracker "$url" --key test-cpu --trials 4 --strategy random --seed 1 --repeat 2 --min-repeat-ms 1 -q -o "$dir/x.jsonl" >"$dir/run.out" 2>&1 ||
    fail "tune run ended with $?"

"$app" "--missing=$dir/list" "$dir/x.best.jsonl" "$have" "$lack" >"$dir/app.out" 2>&1 || fail "the application ended with $?"
grep -qF "  exact: dense/" "$dir/app.out" || fail "the recorded workload is not exact"
grep -qE "^  (nearest \($have, distance 1\)|default): dense/" "$dir/app.out" || fail "another size is neither nearest nor default"
grep -qF "1 workload without a record of test-cpu: " "$dir/app.out" || fail "no summary of what is missing"

# Lists that are none.
for bad in "" "# only words" "dense f32 m=1" "$lack
no such thing"; do
    printf '%s\n' "$bad" >"$dir/bad"
    code=0
    "$bin/tune" submit --tracker "$url" --missing "$dir/bad" >"$dir/bad.out" 2>&1 || code=$?
    if [ "$code" -ne 1 ] || [ "$(wc -l <"$dir/bad.out")" -ne 1 ] || ! grep -qF "$dir/bad" "$dir/bad.out"; then fail "a list with '$bad': exit code $code, $(cat "$dir/bad.out")"; fi
done
if "$bin/tune" submit --tracker "$url" --missing "$dir/nowhere" >"$dir/bad.out" 2>&1; then fail "a list that is not there was submitted"; fi
if "$bin/tune" submit --tracker "$url" --missing "$dir/list" --network resnet-18 >"$dir/bad.out" 2>&1; then fail "--missing and --network were both taken"; fi

job=$("$bin/tune" submit --tracker "$url" --missing "$dir/list" --trials 4 --strategy random --seed 1 --repeat 2 --min-repeat-ms 1) || fail "tune submit --missing ended with $?"
"$bin/tune" list --tracker "$url" --json | grep -qF '"key":"test-cpu"' || fail "the job has not the list's key: $("$bin/tune" list --tracker "$url" --json)"
"$bin/tune" work --tracker "$url" --once -q >"$dir/work.out" 2>&1 || fail "tune work ended with $?"
"$bin/tune" attach "$job" --tracker "$url" -q -o "$dir/x.jsonl" >"$dir/attach.out" 2>&1 || fail "tune attach ended with $?"
"$app" "$dir/x.jsonl" "$have" "$lack" >"$dir/app.out" 2>&1 || fail "the application ended with $?"
[ "$(grep -c '^  exact: dense/.*' "$dir/app.out")" -eq 2 ] || fail "after the job not both are exact"
if grep -q "without a record" "$dir/app.out"; then fail "something is missing still"; fi
echo "what an application lacked was tuned as $job; then it lacked nothing"
