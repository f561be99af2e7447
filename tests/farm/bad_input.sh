#!/bin/sh
# SPDX-License-Identifier: MIT
# bad_input.sh BIN - bad input gets exit code 1 and one clear line that names what was wrong or expected.
bin=$1
. "$(dirname "$0")/farm.sh"

# refused CODE WORDS ARGUMENTS...: exit code, words in the one line on standard error, nothing measured
refused() {
    code=$1
    words=$2
    shift 2
    got=0
    timeout 30 "$bin/tune" "$@" >"$dir/stdout.out" 2>"$dir/stderr.out" </dev/null || got=$?
    [ "$got" -eq "$code" ] || fail "tune $*: exit code $got, expected $code"
    lines=$(wc -l <"$dir/stderr.out")
    [ "$lines" -eq 1 ] || fail "tune $*: $lines lines on standard error, expected one"
    grep -qiE -e "$words" "$dir/stderr.out" || fail "tune $*: no '$words' in: $(cat "$dir/stderr.out")"
    echo "refused: $(cut -c1-160 "$dir/stderr.out")"
}

# unheard WORDS ARGUMENTS...: what was asked for and could not be written is no success
unheard() {
    words=$1
    shift
    got=0
    "$bin/tune" "$@" >/dev/full 2>"$dir/stderr.out" || got=$?
    [ "$got" -eq 1 ] || fail "tune $* into a full device: exit code $got, expected 1"
    grep -q "$words" "$dir/stderr.out" || fail "tune $*: no '$words' in: $(cat "$dir/stderr.out")"
}

echo '{"schema":1,"modules":[{"id":"m","lang":"opencl-c","source_file":"a/../../etc/passwd"}]}' >"$dir/stray.json"
out="$dir/x.jsonl"
conv="conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3 s=3"
refused 1 "conv3d" run "conv3d f32 n=1" -o "$out"
refused 1 "q" run "$conv q=3" -o "$out"
refused 1 "c" run "conv2d f32 n=1 c=0 h=8 w=8 k=8 r=3 s=3" -o "$out"
refused 1 "k" run "conv2d f32 n=1 c=8 h=8 w=8 r=3 s=3" -o "$out"
refused 1 "window|padded" run "conv2d f32 n=1 c=8 h=2 w=8 k=8 r=3 s=3" -o "$out"
refused 1 "c" run "conv2d f32 n=1 c=99999999999999999999999 h=8 w=8 k=8 r=3 s=3" -o "$out"
refused 1 "c" run "conv2d f32 n=1 c=8 c=8 h=8 w=8 k=8 r=3 s=3" -o "$out"
refused 1 "f31" run "conv2d f31 n=1 c=8 h=8 w=8 k=8 r=3 s=3" -o "$out"
refused 1 "workload" run -o "$out"
refused 1 "workload|f32" run "" -o "$out"
refused 1 "a device: expected a file" measure "$conv" -o /dev/full
refused 1 "trial" run "$conv" --trials 0 -o "$out"
refused 1 "trial" run "$conv" --trials many -o "$out"
refused 1 "trials" run "$conv" --trails 3 -o "$out"
refused 1 "strategy|magic" run "$conv" --strategy magic -o "$out"
refused 1 "vgg" run --network vgg-17 -o "$out"
refused 1 "template|conv2d/none" run "$conv" --template conv2d/none -o "$out"
refused 1 "does not compute dense" spaces "dense f32 m=8 n=8 k=8" --template conv2d/direct_tile
refused 1 "none of the 2 workloads" run "$conv" "dense f32 m=8 n=8 k=8" --template rnn/naive -o "$out"
refused 1 "expected one id" measure "$conv" --template conv2d/direct_tile,conv2d/naive
refused 1 "knobs 'mdimcd', 'ndimcd'.* are missing" measure "dense f32 m=8 n=8 k=8" --template dense/gemm_direct -c "wgd=8"
refused 1 "acc=f16 is for dtype f16" run "dense i8 m=8 n=8 k=8 acc=f16" -o "$out"
refused 1 "0.000001 to 0.999999" run "sparse_$conv sparsity=1" -o "$out"
refused 1 "seed=" run "sparse_$conv weights=w.npy seed=3" -o "$out"
refused 1 "no file has this hash" run "sparse_$conv weights=sha256:$(printf %064d 0)" -o "$out"
refused 1 "/dev/zero: no .npy file" run "sparse_$conv weights=/dev/zero" -o "$out"
refused 1 "vulkan" run "$conv" --device vulkan -o "$out"
refused 1 "subcommand" tunes
refused 3 "no tracker answers at tcp://127.1.2.3:9477 " run "$conv" --tracker 127.1.2.3 -o "$out" # the usual port
refused 3 "^tune: no machine is known by the name nobody.invalid " list --tracker nobody.invalid
refused 3 "^tune: no tracker answers at tcp://nobody.invalid:9477,tcp://127.0.0.1:1 .*; no machine is known by the name nobody.invalid " list --tracker nobody.invalid,127.0.0.1:1
refused 1 "deploy|log" deploy -o "$dir/bundle"
refused 1 "missing.best.jsonl" deploy "$dir/missing.best.jsonl" -o "$dir/bundle"
refused 1 "beside" measure --program "$dir/stray.json"
[ ! -s "$out" ] || fail "a refused run left records"
unheard "could not be written" run --help
got=0
"$bin/tune-tracker" tcp://127.0.0.1:0 2>"$dir/stderr.out" || got=$?
[ "$got" -eq 1 ] || fail "tune-tracker took an argument that is no option: exit code $got"
head -c 100000 /dev/urandom >"$dir/noise.jsonl"
"$bin/tune" best "$dir/noise.jsonl" >/dev/null 2>"$dir/stderr.out" && fail "noise has a best config"
lines=$(wc -l <"$dir/stderr.out")
[ "$lines" -le 12 ] || fail "noise as a log gives $lines lines on standard error, expected at most 12"

# agent_refused WORDS ARGUMENTS...: the same of an agent, before it looks at any device or tracker
agent_refused() {
    words=$1
    shift
    got=0
    timeout 30 "$bin/tune-agent" --device replay:none "$@" >"$dir/stdout.out" 2>"$dir/stderr.out" </dev/null || got=$?
    [ "$got" -eq 1 ] || fail "tune-agent $*: exit code $got, expected 1"
    lines=$(wc -l <"$dir/stderr.out")
    [ "$lines" -eq 1 ] || fail "tune-agent $*: $lines lines on standard error, expected one"
    grep -qF -e "$words" "$dir/stderr.out" || fail "tune-agent $*: no '$words' in: $(cat "$dir/stderr.out")"
    echo "refused: $(cut -c1-160 "$dir/stderr.out")"
}

agent_refused "expected seconds up to 300, or auto" --cooldown soon
agent_refused "expected seconds up to 300, or auto" --cooldown 301
agent_refused "--max-temperature" --max-temperature hot
agent_refused "there is no program 'no-such-emulator'" --child-wrapper "no-such-emulator -L /"
