#!/bin/sh
# SPDX-License-Identifier: MIT
# cuda.sh BIN CUDA - `tune run --device cuda` from end to end on the emulated driver: it tunes; a kernel that breaks its
# context costs only itself; a compiler that does not know the device is told at once; sensors reach the records.
# CUDA: folder of the emulated driver, compiler and management library.
bin=$1
cuda=$2
. "$(dirname "$0")/farm.sh"

[ -e "$cuda/libcuda.so.1" ] || { echo "no emulated CUDA in $cuda: skipped"; exit 77; }
g++ --version >/dev/null 2>&1 || { echo "no g++, which emulated CUDA is compiled with: skipped"; exit 77; }
export LD_LIBRARY_PATH="$cuda" TUNE_CUDA_SM=75 TUNE_LOCK_DIR="$dir"
layer="dense f32 m=16 n=32 k=64"

trials=6

# run OUT MORE..: tune run with $trials trials into $dir/OUT.jsonl
run() {
    out=$1
    shift
    timeout 120 "$bin/tune" run --trials $trials --min-repeat-ms 0.5 -o "$dir/$out.jsonl" "$@" "$layer" >"$dir/$out.out" 2>&1
}

run plain --device cuda --nvrtc "$cuda/libnvrtc-emulated.so" || fail "tune run --device cuda: $(tail -3 "$dir/plain.out")"
[ "$(grep -c '"status":"ok"' "$dir/plain.jsonl")" -ge 6 ] || fail "6 trials were to be ok: $(cut -c1-300 "$dir/plain.jsonl")"
grep -q '"api":"cuda"' "$dir/plain.jsonl" || fail "records name no CUDA device"
grep -q '"compiler":"NVRTC 13.0"' "$dir/plain.jsonl" || fail "records do not tell the compiler"
! grep -q '"built_by"' "$dir/plain.jsonl" || fail "the agent's own code has a builder"
grep -q '"temperature_c":61' "$dir/plain.jsonl" || fail "records have no readings of the sensors"
echo "tuned: $(grep -c '"status":"ok"' "$dir/plain.jsonl") records"

export TUNE_NVRTC="$cuda/libnvrtc-emulated.so"
trials=1
run cold --device cuda:0,cold,graph=off || fail "a cold device: $(tail -3 "$dir/cold.out")"
grep -q '"extensions":"[^"]* cold"' "$dir/cold.jsonl" || fail "records of a cold device do not say so"
trials=6

# the 40th launch of each process breaks its context: nothing tunes, nothing hangs, every trial is answered
TUNE_CUDA_FAIL=cuLaunchKernel=700@40 run wild --device cuda || true
[ "$(grep -c '"why":"[^"]*\(ILLEGAL_ADDRESS\|broke the device\)' "$dir/wild.jsonl")" -ge 6 ] ||
    fail "6 trials were to fail of a wild pointer: $(cut -c1-300 "$dir/wild.jsonl")"
echo "wild: $(grep -o '"why":"[^"]*' "$dir/wild.jsonl" | head -1)"

TUNE_CUDA_FAIL=cuMemAlloc=2@3 run full --device cuda || true
grep -q '"status":"limits".*OUT_OF_MEMORY' "$dir/full.jsonl" || fail "lack of memory was to be limits"

# CUDA 13 knows no sm_61
if TUNE_CUDA_SM=61 run old --device cuda; then
    fail "an NVRTC that does not know the device was taken"
fi
grep -q "makes no code for sm_61.*nvidia-cuda-nvrtc-cu12" "$dir/old.out" || fail "no advice: $(cat "$dir/old.out")"
TUNE_CUDA_SM=61 TUNE_NVRTC_VERSION=12.8 run older --device cuda || fail "CUDA 12's: $(tail -3 "$dir/older.out")"

# energy: measured behind the time, by the counter or by power; a device that tells neither is refused in words
trials=2
TUNE_NVML_REST_WATTS=30 run joules --device cuda --objective energy || fail "--objective energy: $(tail -3 "$dir/joules.out")"
[ "$(grep -c '"status":"ok".*"energy_j":0*[0-9.e-]*,"objective":"energy"' "$dir/joules.jsonl")" -ge 4 ] ||
    fail "records without energy: $(cut -c1-500 "$dir/joules.jsonl")"
grep -q '"objective":"energy"' "$dir/joules.best.jsonl" || fail "the best record knows no objective"
if TUNE_NVML_NO=energy,power run blind --device cuda --objective edp; then
    fail "a device without readings was taken for --objective edp"
fi
grep -q "objective edp: the device tells neither energy nor power" "$dir/blind.out" || fail "blind: $(tail -3 "$dir/blind.out")"
grep -q "the device tells neither energy nor power" "$dir/blind.jsonl" || fail "$(cut -c1-300 "$dir/blind.jsonl")"

# while somebody else times on the device its kernels are compiled, and wait
if command -v flock >/dev/null; then
    lock="$dir/tune-emulated-sm_75-0.lock"
    : >"$lock"
    flock "$lock" sleep 6 &
    children="$children $!"
    mkdir "$dir/held"
    TUNE_CUDA_LOG="$dir/held.calls" TMPDIR="$dir/held" run held --device cuda &
    held=$!
    children="$children $held"
    sleep 4
    find "$dir/held" -name 'tune-*.cubin' | grep -q . || fail "nothing was compiled while the device was taken"
    ! grep -q "^cuLaunch" "$dir/held.calls" || fail "a kernel ran while the device was taken"
    [ ! -s "$dir/held.jsonl" ] || fail "something was measured while the device was taken"
    wait "$held" || fail "after the wait: $(tail -3 "$dir/held.out")"
    [ "$(grep -c '"status":"ok"' "$dir/held.jsonl")" -ge 2 ] || fail "after the wait: $(cut -c1-300 "$dir/held.jsonl")"
fi

# a person's own kernel with a __constant__ variable: y[i] = sum over k of (i + k) * (1 + k), k = 0 .. 4, is 15 * i + 40
cat >"$dir/taps.cu" <<'END'
__constant__ float taps[5];
__global__ void fir(const float *x, float *y, int n)
{
    for (int k = 0; k < PER; k++) {
        const int i = (blockIdx.x * PER + k) * block_size_x + threadIdx.x;
        float sum = 0;
        for (int t = 0; t < 5; t++)
            sum += x[i + t] * taps[t];
        if (i < n)
            y[i] = sum;
    }
}
END
cat >"$dir/taps.json" <<'END'
{"ConfigurationSpace": {"TuningParameters": [
    {"Name": "block_size_x", "Type": "int", "Values": "[32, 64]", "Default": 32}, {"Name": "PER", "Type": "int", "Values": "[1, 2]", "Default": 1}]},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "fir", "KernelFile": "taps.cu", "ProblemSize": [1024],
  "GridDivX": ["block_size_x", "PER"], "LocalSize": {"X": "block_size_x"},
  "Arguments": [
   {"Name": "x", "Type": "float", "AccessType": "ReadOnly", "FillType": "Generator", "DataSource": "i", "Size": "n + 4"},
   {"Name": "y", "Type": "float", "AccessType": "WriteOnly", "FillValue": 0, "Size": "n"},
   {"Name": "taps", "Type": "float", "MemType": "Constant", "FillType": "Generator", "DataSource": "1 + i", "Size": 5},
   {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "ProblemSize[0]"}],
  "ReferenceArguments": [{"Name": "r", "TargetName": "y", "FillType": "Generator", "DataSource": "15 * i + 40"}]}}
END
# own OUT JOB: searched whole
own() {
    timeout 120 "$bin/tune" run --device cuda --kernel-spec "$dir/$2" --trials 4 --min-repeat-ms 0.5 -o "$dir/$1.jsonl" >"$dir/$1.out" 2>&1
}
own taps taps.json || fail "a __constant__ variable: $(tail -3 "$dir/taps.out")"
[ "$(grep -c '"purpose":"search".*"status":"ok"' "$dir/taps.jsonl")" -eq 4 ] || fail "4 configs were to be ok: $(cut -c1-500 "$dir/taps.jsonl")"
sed 's/"DataSource": "1 + i"/"DataSource": "2 + i"/' "$dir/taps.json" >"$dir/other.json"
! own other other.json || fail "other taps gave the same answer"
grep -q '"status":"wrong"' "$dir/other.jsonl" || fail "not wrong: $(cut -c1-300 "$dir/other.jsonl")"
sed 's/"Name": "taps"/"Name": "tabs"/; s/taps.cu/tabs.cu/' "$dir/taps.json" >"$dir/tabs.json"
sed 's/^__constant__.*/&\/\/ tabs/' "$dir/taps.cu" >"$dir/tabs.cu"
! own tabs tabs.json || fail "a variable that is not there was filled"
grep -q 'no variable named tabs' "$dir/tabs.jsonl" || fail "no words: $(cut -c1-300 "$dir/tabs.jsonl")"
sed 's/"Size": 5/"Size": 6/' "$dir/taps.json" >"$dir/six.json"
! own six six.json || fail "6 values went into 5"
grep -q 'variable taps has 20 bytes, 24 are to go there' "$dir/six.jsonl" || fail "no words: $(cut -c1-300 "$dir/six.jsonl")"

# scalars of every small type and a vector of halves (as its bits: 1.5 is 0x3e00 = 15872), tried as one config and searched;
# y[i] = i - 2 * 1000 + 255 * 100 - 300 + 65535 + 15872 * 3 + 15872 = i + 152223
cat >"$dir/small.cu" <<'END'
__global__ void small(const unsigned short *h, int *y, signed char a, unsigned char b, short c, unsigned short d, unsigned short e, bool f, int n)
{
    for (int k = 0; k < PER; k++) {
        const int i = blockIdx.x * SPAN + k * block_size_x + threadIdx.x;
        if (i < n)
            y[i] = i + a * 1000 + b * 100 + c + d + e * 3 + (f ? h[i] : 0);
    }
}
END
cat >"$dir/small.json" <<'END'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "block_size_x", "Values": [32, 64], "Default": 32}, {"Name": "PER", "Values": [1, 2, 4], "Default": 1}]},
 "Metrics": {"elements/us": "n / time / 1000", "items": "block_size_x * PER"},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "small", "KernelFile": "small.cu", "ProblemSize": [1000],
  "GridDivX": ["block_size_x", "PER"], "LocalSize": {"X": "block_size_x"}, "Defines": {"SPAN": "block_size_x * PER"},
  "Arguments": [
   {"Name": "h", "Type": "half", "AccessType": "ReadOnly", "FillValue": 1.5, "Size": "n"},
   {"Name": "y", "Type": "int32", "AccessType": "WriteOnly", "FillValue": 0, "Size": "n"},
   {"Name": "a", "Type": "int8", "MemoryType": "Scalar", "FillValue": -2},
   {"Name": "b", "Type": "uint8", "MemoryType": "Scalar", "FillValue": 255},
   {"Name": "c", "Type": "int16", "MemoryType": "Scalar", "FillValue": -300},
   {"Name": "d", "Type": "uint16", "MemoryType": "Scalar", "FillValue": 65535},
   {"Name": "e", "Type": "half", "MemoryType": "Scalar", "FillValue": 1.5},
   {"Name": "f", "Type": "bool", "MemoryType": "Scalar", "FillValue": 1},
   {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "ProblemSize[0]"}],
  "ReferenceArguments": [{"TargetName": "y", "FillType": "Generator", "DataSource": "i + 152223"}]}}
END
"$bin/tune" measure --device cuda --kernel-spec "$dir/small.json" -c "block_size_x=64 PER=2" >"$dir/one.out" 2>&1 || fail "tune measure"
grep -q '^  metrics: elements/us=[0-9.]*, items=128$' "$dir/one.out" || fail "no metrics of one config"
timeout 120 "$bin/tune" run --device cuda --kernel-spec "$dir/small.json" --trials 6 --min-repeat-ms 0.5 -o "$dir/small.jsonl" >"$dir/small.out" 2>&1 || fail "small scalars"
[ "$(grep -c '"purpose":"search".*"status":"ok"' "$dir/small.jsonl")" -eq 6 ] || fail "6 configs were to be ok: $(cut -c1-500 "$dir/small.jsonl")"
grep -q '^  metrics: elements/us=[0-9.]*, items=[0-9]*' "$dir/small.out" || fail "no metrics of the best"
for other in 's/"FillValue": -2}/"FillValue": -1}/' 's/255}/254}/' 's/-300}/-301}/' 's/65535}/65534}/' 's/"Scalar", "FillValue": 1.5/"Scalar", "FillValue": 1.75/' \
    's/"bool", "MemoryType": "Scalar", "FillValue": 1/"bool", "MemoryType": "Scalar", "FillValue": 0/'; do
    sed "$other" "$dir/small.json" >"$dir/changed.json"
    ! "$bin/tune" measure --device cuda --kernel-spec "$dir/changed.json" >"$dir/changed.out" 2>&1 || fail "$other: gave the same answer"
    grep -q '^  wrong' "$dir/changed.out" || fail "$other: not wrong"
done
"$bin/tune" deploy "$dir/small.best.jsonl" --kernel-spec "$dir/small.json" -o "$dir/small.h" >"$dir/deploy.out" 2>&1 || fail "tune deploy"
grep -q '#define SPAN [0-9]' "$dir/small.h" || fail "the header lacks a macro of Defines: $(cat "$dir/small.h")"
