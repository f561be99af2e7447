#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH DIR [--run] - Debian's packages for ARCH (arm64, amd64) unpacked into DIR, with static libraries of all that tune
# stands on; from the distribution that runs here or that TUNE_SUITE names (e.g. bookworm). Needs no root: apt works in a folder of its
# own beside DIR, and nothing is installed. Silent and quick when all is there. CMake builds against it with
# cmake/toolchain-sysroot.cmake. With --run also what an emulated agent needs: PoCL, its compiler, the OpenCL loader.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build_packages="libc6-dev libnng-dev libcjson-dev libmbedtls-dev libexpat1-dev zlib1g-dev opencl-c-headers"
run_packages="pocl-opencl-icd ocl-icd-libopencl1"
arch=${1:-}
case "$arch" in
arm64) triplet=aarch64-linux-gnu ;;
amd64) triplet=x86_64-linux-gnu build_packages="$build_packages libsqlite3-dev libcmocka-dev" ;;
*) arch="" ;;
esac
if [ -z "$arch" ] || [ $# -lt 2 ]; then
    echo "usage: sysroot.sh arm64|amd64 DIR [--run]" >&2
    exit 1
fi
dir=$2 wanted=build
[ "${3:-}" != --run ] || wanted=run
suite=${TUNE_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
stamp="$suite-5"

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
    echo "sysroot.sh: $*" >&2
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
APT::Architecture "$arch"; #clear APT::Architectures;
APT::Architectures { "$arch"; };
APT::Install-Recommends "0"; APT::Sandbox::User ""; Acquire::Languages "none";
END
export APT_CONFIG="$apt/apt.conf"

# unpack PACKAGES: them and what they depend on.
unpack() {
    rm -f "$apt"/archives/*.deb
    apt-get install -y --download-only "$@" >>"$log" 2>&1 || fail "apt-get could not fetch $arch packages: $*"
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

# archive NAME FOLDER FILE...: libNAME.a of a library that Debian has as a shared one only. FOLDER: of its own headers.
archive() {
    name=$1 folder=$2 objects=""
    shift 2
    for file in "$@"; do
        # shellcheck disable=SC2086
        $triplet-gcc --sysroot="$dir" $flags -I "$folder" -DHAVE_SIGNAL_H -c -o "$file.o" "$file" >>"$log" 2>&1 || fail "cannot compile $file"
        objects="$objects $file.o"
    done
    # shellcheck disable=SC2086
    $triplet-ar rcs "$dir/usr/lib/$triplet/lib$name.a" $objects
}

# Debian's static nng brings TLS, WebSockets and every protocol, 650 KB of them; the wire is req/rep over TCP, a tracker speaks HTTP.
make_nng() {
    options="BUILD_SHARED_LIBS NNG_TESTS NNG_TOOLS NNG_ENABLE_TLS NNG_ENABLE_STATS NNG_TRANSPORT_WS
        NNG_TRANSPORT_TLS NNG_PROTO_BUS0 NNG_PROTO_PAIR0 NNG_PROTO_PAIR1 NNG_PROTO_PUSH0 NNG_PROTO_PULL0 NNG_PROTO_PUB0
        NNG_PROTO_SUB0 NNG_PROTO_RESPONDENT0 NNG_PROTO_SURVEYOR0"
    [ "$arch" = amd64 ] || options="$options NNG_ENABLE_HTTP"
    off=""
    for option in $options; do
        off="$off -D$option=OFF"
    done
    source_of nng
    # shellcheck disable=SC2086
    { cmake -G Ninja -B "$apt/source/build" -S "$apt"/source/nng-* -DCMAKE_TOOLCHAIN_FILE="$here/../cmake/toolchain-sysroot.cmake" \
        -DTUNE_ARCH="$arch" -DTUNE_SYSROOT="$dir" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$flags" $off && cmake --build "$apt/source/build"; } \
        >>"$log" 2>&1 || fail "cannot build nng"
    cp "$apt/source/build/libnng.a" "$dir/usr/lib/$triplet/libnng.a"
}

echo "making a sysroot of $arch ($suite, $wanted) in $dir"
apt-get update >>"$log" 2>&1 || fail "apt-get could not read the package lists of $suite"
if ! has build; then
    # shellcheck disable=SC2086 # a list of packages is meant
    unpack $build_packages
    source_of cjson
    archive cjson "$apt/source" "$apt"/source/cjson-*/cJSON.c
    if [ "$arch" = amd64 ]; then
        source_of cmocka
        archive cmocka "$(echo "$apt"/source/cmocka-*/include)" "$apt"/source/cmocka-*/src/cmocka.c
    fi
    make_nng
    rm -rf "$apt/source"
    echo "$stamp" >"$dir/.tune-build"
fi
if [ "$wanted" = run ] && ! has run; then
    # shellcheck disable=SC2086
    unpack $run_packages
    echo "$stamp" >"$dir/.tune-run"
fi
