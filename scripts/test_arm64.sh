#!/bin/sh
# SPDX-License-Identifier: MIT
# test_arm64.sh - the arm64 agent end to end, under qemu-aarch64-static with Debian's arm64 PoCL: it takes work from the tracker of
# this machine, tunes, and its records come back. And the agent on a board that has a C library and nothing else.
#   test_arm64.sh [BIN]   BIN: folder with this machine's tune and tune-tracker; without it both builds are made here, and what they
#                         need is installed. The sysroot is kept in ${XDG_CACHE_HOME:-~/.cache}/tune-arm64 (100 MB fetched once).
# Exit 77 and words where a part is missing. Times under emulation mean nothing.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"

skip() {
    echo "skipped: $*"
    exit 77
}

if [ $# -gt 0 ]; then
    bin=$(cd "$1" && pwd)
    install=--no-install
else
    . scripts/common.sh
    scripts/install_deps.sh --arm64
    build release
    bin=$top/build/bin
    install=
fi
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static unshare chroot dpkg-source apt-get flock; do
    command -v "$tool" >/dev/null || skip "no $tool (scripts/install_deps.sh --arm64 installs what is needed)"
done
unshare -rm true 2>/dev/null || skip "unshare -rm is not allowed here: no user namespaces"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tune-arm64
suite=${TUNE_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
sysroot=$cache/$suite
out=$(dirname "$bin")/arm64
scripts/sysroot.sh arm64 "$sysroot" --run || skip "no arm64 packages to be had (see above)"

scratch_from=tests
. tests/farm/farm.sh # sets $dir and a trap

say() {
    echo "== $*"
}

say "cross build"
# With BIN it is on trial whether it works, not how small it is: not optimised that takes half.
[ -z "$install" ] || export CMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE:-None}"
# shellcheck disable=SC2086
scripts/build_arm64.sh $install --sysroot "$sysroot" --out "$out" >"$dir/build.out" 2>&1 || fail "build_arm64.sh ended with $?"
cat "$dir/build.out"
qemu=$(command -v qemu-aarch64-static)

# A board with the C library and nothing else: its tune doctor runs the agent beside it.
say "a board without libOpenCL.so.1"
bare=$dir/bare
mkdir -p "$bare/lib/aarch64-linux-gnu" "$bare/tune"
for library in ld-linux-aarch64.so.1 libc.so.6 libm.so.6; do
    cp -L "$(find "$sysroot/lib" "$sysroot/usr/lib" -name $library 2>/dev/null | head -n 1)" "$bare/lib/aarch64-linux-gnu/"
done
ln -s aarch64-linux-gnu/ld-linux-aarch64.so.1 "$bare/lib/ld-linux-aarch64.so.1"
cp "$out/bin/tune" "$bare/tune/tune"
cp "$out/bin/tune-agent" "$bare/tune/agent"
printf '#!/bin/sh\nexec %s -L %s %s/tune/agent --child-wrapper "%s -L %s" "$@"\n' "$qemu" "$bare" "$bare" "$qemu" "$bare" >"$bare/tune/tune-agent"
chmod +x "$bare/tune/tune-agent"
words="libOpenCL.so.1 is not there: install the OpenCL loader"
if "$bare/tune/tune-agent" --self-test >"$dir/bare.out" 2>&1; then
    fail "the agent found an OpenCL device without libOpenCL.so.1"
fi
[ "$(wc -l <"$dir/bare.out")" -eq 1 ] && grep -q "$words" "$dir/bare.out" || fail "the agent does not say '$words' in one line"
"$qemu" -L "$bare" "$bare/tune/tune" doctor >"$dir/doctor.out" 2>&1 && fail "tune doctor is content without libOpenCL.so.1"
grep -q "^FAILED opencl .*$words" "$dir/doctor.out" || fail "tune doctor does not say '$words'"
cat "$dir/bare.out"

# The board's root is the sysroot; the linker that PoCL calls is this machine's cross linker, with this machine's libraries beside.
say "an emulated board with PoCL"
mkdir -p "$sysroot/proc" "$sysroot/dev" "$sysroot/sys" "$sysroot/tmp" "$sysroot/opt/tune" "$sysroot/opt/run"
# Built-in functions that no kernel here calls are left out: under the emulator PoCL would read them for minutes.
python3 tests/pocl/few.py . "$dir/pocl" "$sysroot/usr/share/pocl" >"$dir/few.out" 2>&1 || { cat "$dir/few.out"; rm -rf "$dir/pocl"; }
: >>"$sysroot/opt/qemu"
cat >"$dir/board.sh" <<END
set -eu
over() {
    mkdir -p "$sysroot\$1"
    mount --bind "\$1" "$sysroot\$1"
}
mount --rbind /proc "$sysroot/proc"
mount --rbind /dev "$sysroot/dev"
mount --rbind /sys "$sysroot/sys"
mount --bind "$dir" "$sysroot/opt/run"
mount --bind "$out/bin" "$sysroot/opt/tune"
mount --bind "$qemu" "$sysroot/opt/qemu"
[ ! -d "$dir/pocl" ] || mount --bind "$dir/pocl" "$sysroot/usr/share/pocl"
mount --bind "\$(command -v aarch64-linux-gnu-ld)" "$sysroot/usr/bin/ld"
for folder in /lib64 /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu; do
    [ ! -d \$folder ] || over \$folder
done
exec chroot "$sysroot" /opt/qemu /opt/tune/tune-agent --child-wrapper /opt/qemu "\$@"
END
mkdir -p "$dir/tmp" "$dir/lock"
# Becomes the agent, so that its process can be ended; to be called in a subshell.
board() {
    exec env -u OCL_ICD_VENDORS TMPDIR=/opt/run/tmp TUNE_LOCK_DIR=/opt/run/lock HOME=/opt/run/tmp POCL_CACHE_DIR=/opt/run/tmp/pocl PATH="/usr/sbin:/usr/bin:/sbin:/bin" \
        unshare -rm sh "$dir/board.sh" "$@"
}
(board --self-test --threads 1) >"$dir/self.out" 2>&1 || fail "the emulated agent's self-test ended with $?"
cat "$dir/self.out"
fingerprint=$(sed -n 's/.*fingerprint \([0-9a-f]*\);.*/\1/p' "$dir/self.out")

say "tuning"
layer="dense f32 m=8 n=32 k=16"
start_tracker
(board --tracker "$url" --name board --key arm64-pocl --threads 1 --batch 2 -v) >"$dir/board.out" 2>&1 &
children="$children $!"
wait_agent board
"$bin/tune" run "$layer" --tracker "$url" --key arm64-pocl --trials 4 --strategy random --seed 1 --repeat 2 --min-repeat-ms 1 \
    --build-timeout 2m --run-timeout 1m -q -o "$dir/arm64.jsonl" >"$dir/run.out" 2>&1 || fail "tune run ended with $?"
log=$dir/arm64.jsonl
n=$(grep -c '"status":"ok"' "$log" || true)
[ "$n" -ge 4 ] || fail "$n good records, expected at least 4"
others=$(grep -vc '"machine":"aarch64".*"agent":"board"' "$log" || true)
[ "$others" -eq 0 ] || fail "$others records are not of the emulated board"
[ "$(grep -c "\"fingerprint\":\"$fingerprint" "$log")" -eq "$(wc -l <"$log")" ] || fail "a record has another fingerprint than the board's $fingerprint"
grep -q '"name":"pthread' "$log" || fail "no record names the device of PoCL"
[ "$(wc -l <"$dir/arm64.best.jsonl")" -eq 1 ] || fail "expected one line in the best log"
"$bin/tune" best "$dir/arm64.best.jsonl" >"$dir/best.out" 2>&1 || fail "tune best ended with $?"
echo "$n good records of $(wc -l <"$log") came back from the emulated board, fingerprint $fingerprint"
