#!/bin/sh
# SPDX-License-Identifier: MIT
# build_farm.sh BIN CUDA - a board that cannot compile, and a builder for it: an agent on the emulated CUDA device of the
# folder CUDA without NVRTC, an agent --build-for with the emulated NVRTC; tune run gets its records through both.
bin=$1
cuda=$2
. "$(dirname "$0")/farm.sh"

if [ ! -e "$cuda/libcuda.so.1" ] || [ ! -e "$cuda/libnvrtc-emulated.so" ]; then
    echo "skipped: no emulated CUDA in $cuda"
    exit 77
fi
work="conv2d f32 n=1 c=4 h=6 w=6 k=4 r=3 s=3 pad=1"

# board NAME MORE: an agent that runs and cannot build; sets $agent
board() {
    LD_LIBRARY_PATH=$cuda TUNE_CUDA_SM=75 TUNE_NVRTC=/nowhere/libnvrtc.so start_agent "$1" --device cuda --key board
}

builder() {
    TUNE_NVRTC=$cuda/libnvrtc-emulated.so start_agent "$1" --build-for sm_75,sm_80 --no-device --builders 2
}

# records FILE: how many there are of each status, and who built them
records() {
    printf '%s: status %s; built by %s\n' "$(basename "$1")" "$(member status "$1" | sort | uniq -c | tr '\n' ' ')" \
        "$(member built_by "$1" | sort | uniq -c | tr '\n' ' ')"
}

start_tracker
board board1
board=$agent
wait_agent board1
"$bin/tune" run "$work" --tracker "$url" --key board --trials 6 --seed 1 -o "$dir/log.jsonl" >"$dir/run.out" 2>&1 &
run=$!
children="$children $run"

# nobody builds: the words, from the run itself and from tune status
tries=0
until grep -q "wait.* for a builder of sm_75" "$dir/run.out"; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || fail "tune run does not say that a builder is missing"
    sleep 0.1
done
"$bin/tune" status --tracker "$url" >"$dir/status.out"
grep -q "wait.* for a builder of sm_75" "$dir/status.out" || fail "tune status does not say that a builder is missing"
grep "for a builder" "$dir/status.out"
[ ! -s "$dir/log.jsonl" ] || fail "records without code"

# a builder that is killed while it works, and another
builder builder1
killed=$agent
tries=0
until grep -q " ok, " "$dir/builder1.out"; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "the builder builds nothing"
    sleep 0.1
done
kill -9 "$killed"
builder builder2
wait "$run" || fail "tune run: exit code $?"
records "$dir/log.jsonl"
n=$(grep -c '"status":"ok"' "$dir/log.jsonl")
[ "$n" -ge 6 ] || fail "$n good records, expected 6 at least"
own=$(grep -vc '"built_by":"builder[12]"' "$dir/log.jsonl" || true)
[ "$own" -eq 0 ] || fail "$own records that no builder had a hand in"
grep -q '"built_by":"builder2"' "$dir/log.jsonl" || fail "nothing was built by the second builder"
grep -q '"compiler":"NVRTC ' "$dir/log.jsonl" || fail "no compiler in the records"
"$bin/tune" devices --tracker "$url" >"$dir/devices.out"
grep "builder2.*NVRTC.*sm_75 sm_80" "$dir/devices.out" || fail "tune devices does not list the builder"

# the same job once more, without any builder: all its code is in the store
kill "$agent"
wait "$agent" || true
"$bin/tune" run "$work" --tracker "$url" --key board --trials 6 --seed 1 -o "$dir/again.jsonl" >"$dir/again.out" 2>&1 ||
    fail "tune run once more: exit code $?"
records "$dir/again.jsonl"
grep '"purpose":"final"' "$dir/again.jsonl" | grep -q '"built_by":"builder' || fail "no finalist was run with stored code"

# a driver that refuses the builders' code: told so, and nothing is compiled on the board, though NVRTC is here (what the
# first board has measured is answered from the store)
kill "$board"
wait "$board" || true
mkdir "$dir/refusing"
LD_LIBRARY_PATH=$cuda TUNE_CUDA_SM=75 TUNE_NVRTC=$cuda/libnvrtc-emulated.so TUNE_CUDA_FAIL=cuModuleLoadDataEx=209 \
    TMPDIR="$dir/refusing" start_agent board2 --device cuda --key board --no-build
wait_agent board2
"$bin/tune" run "$work" --tracker "$url" --key board --trials 6 --seed 1 -o "$dir/refused.jsonl" >"$dir/refused.out" 2>&1 || true
records "$dir/refused.jsonl"
grep -q '"status":"compile".*another architecture.*made by a builder: builder.*"built_by":"builder' "$dir/refused.jsonl" ||
    fail "refused code of a builder is not told: $(cut -c1-400 "$dir/refused.jsonl" | head -3)"
! grep -q '^tune-agent: t[0-9]* ok' "$dir/board2.out" || fail "refused code was compiled here"
grep -o '"why":"[^"]*"' "$dir/refused.jsonl" | head -1
echo "build farm: records of a board that cannot build"
