#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_pack.sh SOURCE GENERATOR DIR EMULATED - scripts/gpu_pack.sh and what it packs, as on a machine with a driver and glibc alone: in a bare root
# where we may, and gpu_check.sh to its page on the emulated driver in the folder EMULATED, in two calls with one state.
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

# How it is packed is on trial: not optimised and hardly compressed that takes less than half.
XZ_OPT=-0 CMAKE_BUILD_TYPE=None "$source/scripts/gpu_pack.sh" --no-peers -o "$dir/pack.tar.xz" --build "$dir/build" >"$dir/out.txt" 2>&1 || fail "$(cat "$dir/out.txt")"
grep -q 'bytes; needs an x86-64 machine with an NVIDIA driver and GLIBC_2' "$dir/out.txt" || fail "$(cat "$dir/out.txt")"
rm -rf "$dir/place" "$dir/state.tar"
mkdir "$dir/place"
tar -xJf "$dir/pack.tar.xz" -C "$dir/place"
cd "$dir/place"

# Nothing but glibc: the unpacked packages' own, as a root. There is no driver there.
if [ "$(id -u)" -eq 0 ] && chroot "$sysroot" /lib64/ld-linux-x86-64.so.2 --help >/dev/null 2>&1; then
    rm -rf "$sysroot/tune-gpu"
    cp -r tune-gpu "$sysroot/tune-gpu"
    for program in tune tune-agent tune-tracker bench_ops bench_rates; do
        chroot "$sysroot" /tune-gpu/bin/$program --help >/dev/null || fail "$program does not start on a bare machine"
    done
    if chroot "$sysroot" /tune-gpu/bin/bench_rates >"$dir/bare.txt" 2>&1; then fail "a GPU, where there is none?"; fi
    grep -q 'no NVIDIA driver' "$dir/bare.txt" || fail "$(cat "$dir/bare.txt")"
    rm -rf "$sysroot/tune-gpu"
else
    echo "not root: the bare root is left out"
fi

cat >layers.txt <<END
gpu-gemm | small | dense f32 m=64 n=64 k=64
gpu-f32 | conv | conv2d f32 n=1 c=4 h=6 w=6 k=8 r=3 s=3 pad=1
gpu-f16 | conv-f16 | conv2d f16 n=1 c=16 h=6 w=6 k=16 r=1 s=1
gpu-i8 | conv-i8 | conv2d i8 n=1 c=16 h=6 w=6 k=16 r=1 s=1
gpu-rnn | lstm | rnn f32 cell=lstm pass=fwd i=8 h=8 l=1 b=4 t=2
gpu-sparse | sparse | sparse_conv2d f32 n=4 c=8 h=6 w=6 k=8 r=3 s=3 pad=1 sparsity=0.5 seed=1
END
export TUNE_LADDER="cell=lstm i=8 h=8 l=2 b=4 t=2"
export TUNE_CUDA_LIBRARY="$emulated/libcuda.so.1" TUNE_NVRTC="$emulated/libnvrtc-emulated.so" TUNE_CUDA_SM=80 TUNE_LAYERS="$PWD/layers.txt"
check() {
    tune-gpu/scripts/gpu_check.sh "$@" >"$dir/check.txt" 2>&1
}
says() {
    grep -q -e "$1" "$dir/check.txt" || fail "expected '$1' in: $(cat "$dir/check.txt")"
}

if check contract; then fail "a page without peers was made"; fi
says "packed without peers: say --no-peers"
if check --budget soon; then fail "--budget soon was taken"; fi
says "expected seconds"
if check --no-peers --libs nowhere; then fail "--libs nowhere was taken"; fi
says "no such folder"
if check no-part; then fail "a part that is none was taken"; fi
says "contract tests rates gemm"

check --no-peers --budget 60 --state "$dir/state.tar" --trials 4 contract || fail "$(cat "$dir/check.txt")"
says "## contract"
says "PASSED"
[ -s "$dir/state.tar" ] || fail "no state is kept"
check --no-peers --budget 90 --state "$dir/state.tar" --trials 4 contract gemm || fail "$(cat "$dir/check.txt")"
if grep -q '## contract' "$dir/check.txt"; then fail "what was done is done again"; fi
says "| .dense f32 m=64 n=64 k=64. | dense/"
grep -q '## contract' tune-gpu/out/gpu_check/page.md || fail "the page lacks what an earlier call did"

# Each slice of layers, on tiny ones.
check --no-peers --budget 400 --state "$dir/slices.tar" --trials 2 f32 f16 i8 rnn sparse profile || fail "$(cat "$dir/check.txt")"
for part in f32 f16 i8 rnn sparse profile; do says "^## $part"; done
for layer in "conv2d f32" "conv2d f16" "conv2d i8" "rnn f32" "sparse_conv2d f32"; do says "^| .$layer .* | [a-z_0-9]*/"; done
if grep -q 'Cut short\|FAILED\|not measured' "$dir/check.txt"; then fail "$(cat "$dir/check.txt")"; fi
rm -f "$dir/slices.tar"

# Tuning that hangs is ended with its children before it chose anything: told as cut short, not as failed.
mv tune-gpu/bin/tune tune-gpu/bin/real
cat >tune-gpu/bin/tune <<'END'
#!/bin/sh
case "$1" in
run)
    "$0" child &
    wait
    ;;
child) sleep 99 ;;
*) exec "${0%tune}real" "$@" ;;
esac
END
chmod +x tune-gpu/bin/tune
check --no-peers --budget 40 --state "$dir/other.tar" gemm || fail "$(cat "$dir/check.txt")"
says "Cut short for lack of time"
says "not finished for lack of time: gemm"
rm -f "$dir/other.tar"
if pgrep -f "$PWD/tune-gpu/bin" >"$dir/left.txt"; then fail "left behind: $(cat "$dir/left.txt")"; fi
echo "gpu_pack: packed, bare, checked"
