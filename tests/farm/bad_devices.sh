#!/bin/sh
# SPDX-License-Identifier: MIT
# bad_devices.sh BIN CUDA - devices that are not there, drivers and loaders that are not installed, a key that others hold:
# one clear line from tune-agent, and `tune doctor` says the same. CUDA: folder of the emulated driver.
bin=$1
cuda=$2
. "$(dirname "$0")/farm.sh"

# refused WORDS DEVICE MORE..: tune-agent ends with 1 and these words in its one line; tune doctor has them too
refused() {
    words=$1
    shift
    got=0
    timeout 60 "$bin/tune-agent" --device "$@" --tracker tcp://127.0.0.1:1 >"$dir/stdout.out" 2>"$dir/stderr.out" || got=$?
    [ "$got" -eq 1 ] || fail "tune-agent --device $*: exit code $got, expected 1"
    [ "$(wc -l <"$dir/stderr.out")" -eq 1 ] || fail "tune-agent --device $*: expected one line on standard error"
    grep -q -e "$words" "$dir/stderr.out" || fail "tune-agent --device $*: no '$words' in: $(cat "$dir/stderr.out")"
    doctor "$words" --device "$@"
    echo "refused: $(cut -c1-200 "$dir/stderr.out")"
}

# doctor WORDS OPTIONS..: tune doctor finds something wrong and says these words
doctor() {
    words=$1
    shift
    got=0
    timeout 120 "$bin/tune" doctor "$@" >"$dir/doctor.out" 2>&1 || got=$?
    [ "$got" -ne 0 ] || fail "tune doctor $*: exit code 0"
    grep -q -e "^FAILED.*$words" "$dir/doctor.out" || fail "tune doctor $*: no '$words'"
}

# self_test CODE WORDS OPTIONS..: what `tune-agent --device cuda --self-test` ends with and says
self_test() {
    wanted=$1
    words=$2
    shift 2
    got=0
    timeout 60 "$bin/tune-agent" --device cuda --self-test "$@" >"$dir/self.out" 2>&1 || got=$?
    [ "$got" -eq "$wanted" ] || fail "self-test $*: exit code $got, expected $wanted: $(cat "$dir/self.out")"
    grep -q -e "$words" "$dir/self.out" || fail "self-test $*: no '$words' in: $(cat "$dir/self.out")"
}

# agent_refuses WORDS OPTIONS..: before any device is opened
agent_refuses() {
    words=$1
    shift
    got=0
    timeout 20 "$bin/tune-agent" "$@" >"$dir/stdout.out" 2>&1 || got=$?
    [ "$got" -eq 1 ] || fail "tune-agent $*: exit code $got, expected 1"
    [ "$(wc -l <"$dir/stdout.out")" -eq 1 ] || fail "tune-agent $*: expected one line"
    grep -q -e "$words" "$dir/stdout.out" || fail "tune-agent $*: no '$words' in: $(cat "$dir/stdout.out")"
}

agent_refuses "--key 'Bad Key!': expected" --device replay:/nowhere --key 'Bad Key!'
agent_refuses "--key 'Bad Key!': expected" --device replay:/nowhere --key 'Bad Key!' --self-test
agent_refuses "--device means nothing with --build-for" --build-for sm_75 --no-device --device cuda
agent_refuses "--no-build means nothing with --build-for" --build-for sm_75 --no-device --no-build
doctor "--key 'Bad Key!': expected" --device replay:/nowhere --key 'Bad Key!'
refused "expected one of: opencl, cuda" vulkan
export TUNE_OPENCL_LIBRARY=/nowhere/libOpenCL.so.1
refused "/nowhere/libOpenCL.so.1: cannot open" opencl
unset TUNE_OPENCL_LIBRARY
if "$bin/tune-agent" --device opencl --self-test >"$dir/self.out" 2>&1; then
    refused "no OpenCL device 77.0" opencl:77.0
    refused "no OpenCL device 0.77" opencl:0.77
fi
if ! "$bin/tune-agent" --device cuda --self-test >"$dir/self.out" 2>&1; then
    refused "$(sed -n 's/.*cannot open the device cuda: //p' "$dir/self.out" | cut -c1-40)" cuda
    grep -q "libcuda.so.1" "$dir/stderr.out" || fail "what is missing is not named"
fi
if [ -e "$cuda/libcuda.so.1" ]; then
    export LD_LIBRARY_PATH="$cuda" TUNE_CUDA_SM=75 TUNE_NVRTC="$cuda/libnvrtc-emulated.so"
    refused "no CUDA device 7: there is 1" cuda:7
    # a device that is there and runs nothing: --self-test and doctor say so, and why
    self_test 0 "canary [0-9.]* ms"
    "$bin/tune" doctor --device cuda >"$dir/doctor.out" 2>&1 || fail "tune doctor finds fault with the emulated device: $(cat "$dir/doctor.out")"
    for broken in cuLaunchKernel=701 cuModuleLoadDataEx=222 cuStreamCreate=2; do
        export TUNE_CUDA_FAIL="$broken"
        self_test 1 "no canary: .*CUDA_ERROR_"
        doctor "no canary: .*CUDA_ERROR_" --device cuda
        unset TUNE_CUDA_FAIL
    done
    self_test 1 "no canary: .*/nowhere" --nvrtc /nowhere
    doctor "/nowhere" --device cuda --nvrtc /nowhere
    self_test 0 "no canary: " --nvrtc /nowhere --no-build
    "$bin/tune" doctor --device cuda --nvrtc /nowhere --no-build >"$dir/doctor.out" 2>&1 || fail "tune doctor --no-build wants a compiler"
    self_test 1 "no canary: " --nvrtc /etc/passwd
    TUNE_CUDA_DRIVER=11040 "$bin/tune" doctor --device cuda >"$dir/doctor.out" 2>&1 || :
    grep -q "newer than the driver, which knows CUDA 11.4" "$dir/doctor.out" || fail "an old driver is not told: $(cat "$dir/doctor.out")"
    unset LD_LIBRARY_PATH TUNE_CUDA_SM TUNE_NVRTC
fi

# a key that another fingerprint holds
recorded_space one 1
recorded_space two 1
sed -i 's/"device":"test"/"device":"other"/' "$dir/two.json"
start_tracker
start_agent first --device "replay:$dir/one.json" --key shared
wait_agent first
got=0
timeout 60 "$bin/tune-agent" --tracker "$url" --device "replay:$dir/two.json" --key shared --name second >/dev/null 2>"$dir/stderr.out" || got=$?
[ "$got" -eq 1 ] || fail "the second agent: exit code $got, expected 1"
[ "$(wc -l <"$dir/stderr.out")" -eq 1 ] || fail "the second agent: expected one line on standard error"
grep -q "conflict: key shared holds devices of fingerprint .* (agent first)" "$dir/stderr.out" || fail "$(cat "$dir/stderr.out")"
words=$(sed 's/^tune-agent: //' "$dir/stderr.out")
doctor "$words" --device "replay:$dir/two.json" --key shared --tracker "$url"
echo "refused: $words"
"$bin/tune" doctor --device "replay:$dir/one.json" --key shared --tracker "$url" >"$dir/doctor.out" 2>&1 || fail "tune doctor finds fault with a device whose key is its own"
