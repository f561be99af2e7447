#!/bin/sh
# SPDX-License-Identifier: MIT
# arm64_sysroot.sh DIR [--run] - Debian's arm64 packages unpacked into DIR, from the distribution that runs here or that
# TUNE_ARM64_SUITE names (e.g. bookworm). Needs no root: apt works in a folder of its own beside DIR, and nothing is installed.
# Silent and quick when all is there. With --run also what an emulated agent needs: PoCL, its compiler, the OpenCL loader.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: arm64_sysroot.sh DIR [--run]" >&2
    exit 1
fi
here=$(cd "$(dirname "$0")" && pwd)
dir=$1 wanted=build
[ "${2:-}" != --run ] || wanted=run
suite=${TUNE_ARM64_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
triplet=aarch64-linux-gnu
build_packages="libc6-dev libnng-dev libcjson-dev libmbedtls-dev libexpat1-dev zlib1g-dev opencl-c-headers"
run_packages="pocl-opencl-icd ocl-icd-libopencl1"
stamp="$suite-4"

has() {
    [ "$(cat "$dir/.tune-$1" 2>/dev/null)" = "$stamp" ]
}

if has build && { [ "$wanted" = build ] || has run; }; then
    exit 0
fi
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
apt="$dir.apt"
mkdir -p "$apt/state/lists/partial" "$apt/archives/partial"
log="$apt/log"
: >"$log"

fail() {
    tail -20 "$log" >&2
    echo "arm64_sysroot.sh: $*" >&2
    exit 1
}

# One at a time: parallel tests may ask for the same folder.
exec 9>"$apt/lock"
flock 9
if has build && { [ "$wanted" = build ] || has run; }; then
    exit 0
fi

# Where this machine gets Debian from; deb.debian.org where it is none.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian \(.*\/debian\)$/\1/p' | head -1)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for type in deb deb-src; do
    echo "$type [signed-by=$keyring] ${TUNE_DEBIAN_MIRROR:-${mirror:-http://deb.debian.org/debian}} $suite main"
done >"$apt/sources.list"
: >>"$apt/status"
cat >"$apt/apt.conf" <<END
Dir::State "$apt/state"; Dir::State::status "$apt/status"; Dir::Cache "$apt"; Dir::Cache::archives "$apt/archives";
Dir::Etc::SourceList "$apt/sources.list"; Dir::Etc::SourceParts "/dev/null";
APT::Architecture "arm64"; #clear APT::Architectures;
APT::Architectures { "arm64"; };
APT::Install-Recommends "0"; APT::Sandbox::User ""; Acquire::Languages "none";
END
export APT_CONFIG="$apt/apt.conf"

# unpack PACKAGES: them and what they depend on.
unpack() {
    rm -f "$apt"/archives/*.deb
    apt-get install -y --download-only "$@" >>"$log" 2>&1 || fail "apt-get could not fetch arm64 packages: $*"
    for deb in "$apt"/archives/*.deb; do
        dpkg-deb -x "$deb" "$dir" >>"$log" 2>&1 || fail "cannot unpack $deb"
    done
    rm -f "$apt"/archives/*.deb
    # Links to absolute paths would lead out of the folder.
    find "$dir" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$dir$(readlink "$link")")" "$link"
    done
}

flags="-Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fPIC"

# source_of PACKAGE: its Debian source package, patched, in $apt/source.
source_of() {
    rm -rf "$apt/source"
    mkdir -p "$apt/source"
    (cd "$apt/source" && apt-get source -y "$1") >>"$log" 2>&1 || fail "apt-get could not fetch the source of $1"
}

# Debian has cJSON as a shared library only.
make_cjson() {
    source_of cjson
    # shellcheck disable=SC2086
    $triplet-gcc --sysroot="$dir" $flags -c -o "$apt/source/cJSON.o" "$apt"/source/cjson-*/cJSON.c >>"$log" 2>&1 ||
        fail "cannot compile cJSON"
    $triplet-ar rcs "$dir/usr/lib/$triplet/libcjson.a" "$apt/source/cJSON.o"
}

# Debian's static nng brings TLS, HTTP and every protocol, 650 KB of them; the wire is req/rep over TCP.
make_nng() {
    options="BUILD_SHARED_LIBS NNG_TESTS NNG_TOOLS NNG_ENABLE_TLS NNG_ENABLE_HTTP NNG_ENABLE_STATS NNG_TRANSPORT_WS
        NNG_TRANSPORT_TLS NNG_PROTO_BUS0 NNG_PROTO_PAIR0 NNG_PROTO_PAIR1 NNG_PROTO_PUSH0 NNG_PROTO_PULL0 NNG_PROTO_PUB0
        NNG_PROTO_SUB0 NNG_PROTO_RESPONDENT0 NNG_PROTO_SURVEYOR0"
    off=""
    for option in $options; do
        off="$off -D$option=OFF"
    done
    source_of nng
    # shellcheck disable=SC2086
    { cmake -G Ninja -B "$apt/source/build" -S "$apt"/source/nng-* -DCMAKE_TOOLCHAIN_FILE="$here/../cmake/toolchain-arm64.cmake" \
        -DTUNE_SYSROOT="$dir" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$flags" $off && cmake --build "$apt/source/build"; } \
        >>"$log" 2>&1 || fail "cannot build nng"
    cp "$apt/source/build/libnng.a" "$dir/usr/lib/$triplet/libnng.a"
}

echo "making an arm64 sysroot ($suite, $wanted) in $dir"
apt-get update >>"$log" 2>&1 || fail "apt-get could not read the package lists of $suite"
if ! has build; then
    # shellcheck disable=SC2086 # a list of packages is meant
    unpack $build_packages
    make_cjson
    make_nng
    rm -rf "$apt/source"
    echo "$stamp" >"$dir/.tune-build"
fi
if [ "$wanted" = run ] && ! has run; then
    # shellcheck disable=SC2086
    unpack $run_packages
    echo "$stamp" >"$dir/.tune-run"
fi
