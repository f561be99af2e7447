#!/bin/sh
# SPDX-License-Identifier: MIT
# plain_c.sh BIN ROOT - a kernel in C: run here, submitted to a farm whose agent has a C compiler, driven by a worker, attached to: the
# same table at the end as `tune run` has, also where the job's files are gone; deployed as a header. Skips (77) without a compiler.
bin=$1 root=$2
. "$(dirname "$0")/farm.sh"
"$bin/tune" doctor --device c >"$dir/doctor.out" 2>&1 || {
    echo "skipped: \`tune doctor --device c\` finds no compiler"
    exit 77
}
mkdir "$dir/job" "$dir/job/lib"
cp "$root/examples/kernel_spec/reference.c" "$dir/job"
# What the kernel includes travels too, from beside itself.
sed -e '/^static void add_block/,/^}/w '"$dir/job/lib/block.h" -e '/^static void add_block/,/^}/d' -e 's/^#include <string.h>/&\n#include "lib\/block.h"/' \
    "$root/examples/kernel_spec/matmul.c" >"$dir/job/matmul.c"
grep -q 'include "lib/block.h"' "$dir/job/matmul.c" && ! grep -q 'UNROLL)' "$dir/job/matmul.c" || fail "the example is not cut in two: $(cat "$dir/job/matmul.c")"
sed 's/-fopenmp/-DONCE/' "$root/examples/kernel_spec/matmul_c.json" >"$dir/job/job.json"
few="--trials 5 --strategy random --seed 3 --repeat 1 --min-repeat-ms 1"

# shellcheck disable=SC2086 # words
"$bin/tune" run --kernel-spec "$dir/job/job.json" --device c $few -o "$dir/run.jsonl" >"$dir/run.out" 2>&1 || fail "tune run ended with $?"
[ "$(grep -c '"status":"ok"' "$dir/run.jsonl")" -ge 5 ] || fail "not every config is right"

start_tracker
start_agent only --key test-c --device c --threads 1
wait_agent only
# shellcheck disable=SC2086
job=$("$bin/tune" submit --kernel-spec "$dir/job/job.json" --tracker "$url" --key test-c $few) || fail "tune submit ended with $?"
mv "$dir/job" "$dir/elsewhere"
"$bin/tune" work --tracker "$url" --once -q >"$dir/work.out" 2>&1 || fail "tune work ended with $?"
"$bin/tune" attach "$job" --tracker "$url" -o "$dir/farm.jsonl" >"$dir/attach.out" 2>&1 || fail "tune attach ended with $?"
[ "$(grep -c '"status":"ok"' "$dir/farm.jsonl")" -ge 5 ] || fail "not every config is right on the farm"

# head_of FILE: the table's heading, whose columns say what is told.
head_of() {
    grep '^layer  *naive' "$1" | head -n 1
}
[ -n "$(head_of "$dir/run.out")" ] || fail "tune run ends without a table"
[ "$(head_of "$dir/attach.out")" = "$(head_of "$dir/run.out")" ] || fail "tune attach ends with another table than tune run"
"$bin/tune" deploy "$dir/farm.best.jsonl" --kernel-spec "$dir/elsewhere/job.json" -o "$dir/macros.h" >"$dir/deploy.out" 2>&1 || fail "tune deploy ended with $?"
grep -q '^#define UNROLL ' "$dir/macros.h" || fail "no macros: $(cat "$dir/macros.h")"

# Another's device, in words.
! "$bin/tune" measure --kernel-spec "$dir/elsewhere/job.json" --device replay:nothing -c "TI=8 TJ=64 TK=64 UNROLL=4" >"$dir/other.out" 2>&1 || fail "measured on a recording"
echo "a kernel in C was tuned here and as $job on a farm, with the same table"
