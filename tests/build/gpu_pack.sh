#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_pack.sh SOURCE GENERATOR DIR EMULATED - scripts/gpu_pack.sh and what it packs: gpu_check.sh, slice by slice, to its page on the emulated driver
# in the folder EMULATED; where we may in a bare root (bare_root.sh), as on a machine with a driver and glibc alone.
set -eu
source=$1 dir=$3 emulated=$4

fail() {
    echo "gpu_pack.sh: $*" >&2
    exit 1
}
skip() {
    echo "$*"
    exit 77
}

[ "$(uname -m)" = x86_64 ] || skip "packs are made on x86-64"
command -v g++ >/dev/null || skip "no g++, which emulated CUDA is compiled with"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
sysroot=${XDG_CACHE_HOME:-$HOME/.cache}/tune-amd64/$suite
mkdir -p "$dir"
"$source/scripts/sysroot.sh" amd64 "$sysroot" >"$dir/sysroot.txt" 2>&1 || skip "no packages to be had: $(tail -n 1 "$dir/sysroot.txt")"

# How it is packed is on trial: not optimised that takes less than half.
CMAKE_BUILD_TYPE=None "$source/scripts/gpu_pack.sh" --no-peers -o "$dir/pack.tar.gz" --build "$dir/build" >"$dir/out.txt" 2>&1 || fail "$(cat "$dir/out.txt")"
grep -q 'bytes; needs an x86-64 machine with an NVIDIA driver and GLIBC_2' "$dir/out.txt" || fail "$(cat "$dir/out.txt")"
rm -rf "$dir/place"
mkdir "$dir/place"
tiny="$dir/tiny.txt"
cat >"$tiny" <<'LAYERS'
gpu-gemm | small | dense f32 m=64 n=64 k=64
gpu-f32 | conv | conv2d f32 n=1 c=4 h=6 w=6 k=8 r=3 s=3 pad=1
gpu-f16 | conv-f16 | conv2d f16 n=1 c=16 h=6 w=6 k=16 r=1 s=1
gpu-i8 | conv-i8 | conv2d i8 n=1 c=16 h=6 w=6 k=16 r=1 s=1
gpu-rnn | lstm | rnn f32 cell=lstm pass=fwd i=8 h=8 l=1 b=4 t=2
gpu-sparse | sparse | sparse_conv2d f32 n=4 c=8 h=6 w=6 k=8 r=3 s=3 pad=1 sparsity=0.5 seed=1
LAYERS

# there COMMAND...: in the folder with the archive, with nothing of this environment; for a bare root mounts are needed, of which nothing stays.
root="" home=$dir/place
if [ "$(id -u)" -eq 0 ] && unshare --mount sh -c 'mount --rbind /proc /mnt && chroot / true' 2>/dev/null; then
    root=$dir/root home=/root
    "$source/tests/build/bare_root.sh" "$root" "$emulated"
    cp "$dir/pack.tar.gz" "$tiny" "$root$home/"
else
    echo "mounts are not allowed here: the bare root is left out"
    cp "$dir/pack.tar.gz" "$tiny" "$home/"
fi
there() {
    if [ -n "$root" ]; then
        # shellcheck disable=SC2016 # the inner shell is meant
        unshare --mount sh -c 'mount --rbind /proc "$0/proc" && exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/bin /bin/sh -c "cd && exec \"\$@\"" sh "$@"' "$root" "$@"
    else
        (cd "$dir/place" && env -i HOME="$home" PATH="$PATH" "$@")
    fi
}
# Named, the emulated driver is as if installed; TUNE_ONLY: all tests would be a compile for each config.
check() {
    there env TUNE_CUDA_LIBRARY="$emulated/libcuda.so.1" TUNE_NVRTC="$emulated/libnvrtc-emulated.so" TUNE_CUDA_SM=80 TUNE_LAYERS="$home/tiny.txt" \
        TUNE_ONLY=dense/naive TUNE_LADDER="cell=lstm i=8 h=8 l=2 b=4 t=2" tune-gpu/scripts/gpu_check.sh "$@" >"$dir/check.txt" 2>&1
}
says() {
    grep -q -e "$1" "$dir/check.txt" || fail "expected '$1' in: $(cat "$dir/check.txt")"
}

there tar -xzf pack.tar.gz
for program in tune tune-agent tune-tracker bench_ops bench_rates; do
    there tune-gpu/bin/$program --help >/dev/null || fail "$program does not start on a bare machine"
done
if there tune-gpu/scripts/gpu_check.sh --no-peers >"$dir/check.txt" 2>&1; then fail "a GPU, where there is none?"; fi
says "no NVIDIA driver"

if check contract; then fail "a page without peers was made"; fi
says "packed without peers: say --no-peers"
if check --budget soon; then fail "--budget soon was taken"; fi
says "expected seconds"
if check --no-peers --libs nowhere; then fail "--libs nowhere was taken"; fi
says "no such folder"
if check no-part; then fail "a part that is none was taken"; fi
says "contract tests rates gemm"

# Each slice, tiny, in two calls with one state; but the networks, and the rates, which are inline PTX that no emulated device runs.
check --no-peers --budget 3000 --state state.tar --trials 2 contract tests gemm || fail "$(cat "$dir/check.txt")"
for part in contract tests gemm; do says "^## $part"; done
says "PASSED"
says "64 passed, 0 failed"
says "^| .dense f32 m=64 n=64 k=64. | dense/"
check --no-peers --budget 3000 --state state.tar --trials 2 contract tests gemm f32 f16 i8 rnn sparse mutants profile || fail "$(cat "$dir/check.txt")"
if grep -q '^## contract\|^## gemm' "$dir/check.txt"; then fail "what was done is done again"; fi
for part in f32 f16 i8 rnn sparse mutants profile; do says "^## $part"; done
says "512 passed, 0 failed"
for layer in "conv2d f32" "conv2d f16" "conv2d i8" "rnn f32" "sparse_conv2d f32"; do says "^| .$layer .* | [a-z_0-9]*/"; done
if grep -q 'Cut short\|FAILED\|not measured' "$dir/check.txt"; then fail "$(cat "$dir/check.txt")"; fi
there cat tune-gpu/out/gpu_check/page.md | grep -q '^## contract' || fail "the page lacks what an earlier call did"
rm -rf "$dir/root" "$dir/place"
echo "gpu_pack: packed, ${root:+bare, }checked"
