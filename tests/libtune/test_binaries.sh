#!/bin/sh
# SPDX-License-Identifier: MIT
# test_binaries.sh BIN EXAMPLE - `tune deploy --binaries device`: the bundle's program binaries are what runs, even where the text
# is spoilt; damaged binaries and those of another device are passed over for the text; a device that the records are not of is
# refused. Times of a first start are printed.
# EXAMPLE: examples/cmake_kernels.
set -eu
bin=$1
example=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TUNE_LOCK_DIR="$dir" POCL_CACHE_DIR="$dir/pocl"
threads=1
cc=${CC:-cc}

fail() {
    printf '%s\n' "test_binaries: $*" >&2
    exit 1
}

"$bin/tune" run -q --threads $threads --trials 1 --min-repeat-ms 0.5 --template dense/gemm_packed -o "$dir/log.jsonl" "dense f32 m=8 n=128 k=64" "dense f32 m=8 n=10 k=128" \
    >"$dir/out" 2>&1 || { grep -q "no OpenCL" "$dir/out" && echo "no OpenCL device: skipped" && exit 77; fail "tune run: $(tail -3 "$dir/out")"; }

# deploy OPTION...: to DIR/OUT of the last option
deploy() {
    "$bin/tune" deploy "$dir/log.best.jsonl" --workloads "$example/mlp.workloads" --name mlp "$@"
}
deploy -q -o "$dir/text"
deploy -q --binaries device -o "$dir/binary" || fail "deploy --binaries device"
"$bin/tune" deploy -q --check "$dir/binary" || fail "the bundle is not whole"
[ -n "$(ls "$dir/binary/kernels/"*.bin)" ] || fail "no binaries among the kernels"
[ -z "$(ls "$dir/text/kernels/"*.bin 2>/dev/null)" ] || fail "binaries that nobody asked for"

# run BUNDLE: builds the application over it and runs that with an empty cache; prints the milliseconds
run() {
    "$cc" -std=c99 -O1 -I"$dir/$1" "$example/main.c" "$dir/$1/mlp.c" -lOpenCL -lm -o "$dir/app" || fail "$1 does not compile"
    rm -rf "$POCL_CACHE_DIR"
    mkdir "$POCL_CACHE_DIR"
    began=$(date +%s%N)
    POCL_MAX_PTHREAD_COUNT=${2:-$threads} "$dir/app" >"$dir/out" 2>&1 || return 1
    grep -q "80 of 80 outputs are right" "$dir/out" || return 1
    ms=$((($(date +%s%N) - began) / 1000000))
}

# spoil_text BUNDLE, damage BUNDLE: in place
spoil_text() {
    awk '/^static const char \*const text/ { inside = 1 } inside && /^    "/ { sub(/"/, "\"nonsense "); inside = 0 } { print }' "$dir/$1/mlp.c" >"$dir/new.c"
    ! cmp -s "$dir/new.c" "$dir/$1/mlp.c" || fail "nothing was spoilt"
    mv "$dir/new.c" "$dir/$1/mlp.c"
}
damage() {
    awk '/^static const unsigned char module[0-9]*_code/ { inside = 20 } inside && /^    [0-9]/ { if (--inside == 0) sub(/[0-9]+,/, "77,78,79,") } { print }' "$dir/$1/mlp.c" >"$dir/new.c"
    ! cmp -s "$dir/new.c" "$dir/$1/mlp.c" || fail "nothing was damaged"
    mv "$dir/new.c" "$dir/$1/mlp.c"
}

run text || fail "from text: $(cat "$dir/out")"
echo "first start from text: $ms ms"
run binary || fail "from binaries: $(cat "$dir/out")"
echo "first start from binaries: $ms ms"

cp -r "$dir/text" "$dir/notext"
spoil_text notext
! run notext || fail "a spoilt text ran"
grep -q "did not build" "$dir/out" || fail "no words on a spoilt text: $(cat "$dir/out")"

cp -r "$dir/binary" "$dir/onlybinary"
spoil_text onlybinary
run onlybinary || fail "the binaries were not used: $(cat "$dir/out")"
echo "a spoilt text is not needed beside its binary: $ms ms"

cp -r "$dir/binary" "$dir/damaged"
damage damaged
run damaged || fail "damaged binaries were to be passed over: $(cat "$dir/out")"
damage onlybinary
! run onlybinary || fail "damaged binaries ran"
grep -q "did not build" "$dir/out" || fail "no words on damaged binaries beside a spoilt text: $(cat "$dir/out")"
echo "damaged binaries fall back to the text"

# another device: the binaries are of one thread
sed 's/mlp_init(/mlp_init_any(/' "$example/main.c" >"$dir/any.c"
run_any() {
    "$cc" -std=c99 -O1 -I"$dir/$1" "$dir/any.c" "$dir/$1/mlp.c" -lOpenCL -lm -o "$dir/app" || fail "$1 does not compile"
    POCL_MAX_PTHREAD_COUNT=2 "$dir/app" >"$dir/out" 2>&1
}
run_any binary || fail "on another device from text: $(cat "$dir/out")"
cp -r "$dir/binary" "$dir/other"
spoil_text other
! run_any other || fail "binaries of another device ran"

# refused
bad() {
    words=$1
    shift
    if "$bin/tune" deploy "$@" -o "$dir/none" >"$dir/out" 2>&1; then
        fail "was to be refused with '$words'"
    fi
    grep -q "$words" "$dir/out" || fail "was to say '$words': $(cat "$dir/out")"
    [ ! -e "$dir/none" ] || fail "something was left behind"
}
bad "the records are of OpenCL, expected device" "$dir/log.best.jsonl" --binaries sm_75
bad "'devic': expected device, or an architecture as sm_75" "$dir/log.best.jsonl" --binaries devic
bad "the records are of OpenCL, --device is cuda" "$dir/log.best.jsonl" --binaries device --device cuda
bad "no OpenCL device 7.0" "$dir/log.best.jsonl" --binaries device --device opencl:7.0
python3 - "$dir/log.best.jsonl" "$dir/other.jsonl" <<'END' # the same records of another processor
import re, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
with open(sys.argv[2], "w") as out:
    for line in open(sys.argv[1]):
        line = re.sub(r',"crc32c":"[0-9a-f]*"}\n', "", line).replace("pthread-", "other-")
        line = re.sub(r'("fingerprint":")([0-9a-f]{8})', lambda m: m[1] + m[2][::-1], line)
        out.write(f'{line},"crc32c":"{crc32c(line.encode()):08x}"}}\n')
END
bad "the records are of 'other.*the device here is 'pthread" "$dir/other.jsonl" --binaries device
echo "what cannot be made is refused"
