#!/bin/sh
# SPDX-License-Identifier: MIT
# install_deps.sh - the Debian packages that tune needs; silent and quick when all of them are there.
#   install_deps.sh                what building, testing and tuning need
#   install_deps.sh --check-tools  and what scripts/check.sh needs besides
#   install_deps.sh --compilers    and the other compiler that tests use: clang
#   install_deps.sh --bench        and the libraries that scripts/bench.sh and scripts/bench_ops.sh compare with: OpenBLAS and
#                                  CLBlast from Debian, oneDNN and onnxruntime from PyPI into TUNE_PEERS, outside the tree
#   install_deps.sh --nvrtc12      and CUDA 12's NVRTC from PyPI (130 MB), the last that makes code for sm_50 to sm_72, into
#                                  ${XDG_CACHE_HOME:-~/.cache}/tune-nvrtc12/venv
#   install_deps.sh --nvdisasm     and NVIDIA's disassembler from PyPI (6 MB), with which scripts/check_cuda_compile.sh counts machine code, into
#                                  ${XDG_CACHE_HOME:-~/.cache}/tune-nvdisasm/venv
#   install_deps.sh --nvdisasm12   and CUDA 12's disassembler, the last that reads code for sm_50 to sm_72, into
#                                  ${XDG_CACHE_HOME:-~/.cache}/tune-nvdisasm12: PyPI has it in Triton's package alone (156 MB, of which 6 are kept)
#   install_deps.sh --hub          and the servers that the tests of `tune hub` start: nginx with DAV, Apache, and moto's S3 server from PyPI in
#                                  ${XDG_CACHE_HOME:-~/.cache}/tune-hub/venv
#   install_deps.sh --postgres     and the server that tests of the PostgreSQL store start
#   install_deps.sh --browser      and the browser in which the tests of the tracker's page run, and scripts/pictures.sh: Chromium
#   install_deps.sh --arm64        and what scripts/build_arm64.sh and scripts/test_arm64.sh need: a cross compiler, an emulator
set -eu

packages="gcc g++ libc6-dev cmake ninja-build pkg-config libnng-dev libcjson-dev libcurl4-openssl-dev libexpat1-dev libsqlite3-dev
    libpq-dev libmbedtls-dev libcmocka-dev zlib1g-dev libonnx-dev libprotobuf-c-dev protobuf-c-compiler ocl-icd-opencl-dev pocl-opencl-icd oclgrind iproute2 locales"
peers=""
nvrtc12=""
nvdisasm=""
nvdisasm12=""
hub=""
for argument in "$@"; do
    case "$argument" in
    --check-tools) packages="$packages valgrind clang clang-format clang-tidy cppcheck gcovr universal-ctags abigail-tools
        python3-yaml git" ;;
    --compilers) packages="$packages clang" ;;
    --bench)
        packages="$packages libopenblas-dev libclblast-dev python3-venv libgomp1"
        peers="${TUNE_PEERS:-$HOME/.cache/tune-peers/venv}"
        ;;
    --nvrtc12)
        packages="$packages python3-venv"
        nvrtc12="${XDG_CACHE_HOME:-$HOME/.cache}/tune-nvrtc12/venv"
        ;;
    --nvdisasm)
        packages="$packages python3-venv"
        nvdisasm="${XDG_CACHE_HOME:-$HOME/.cache}/tune-nvdisasm/venv"
        ;;
    --nvdisasm12)
        packages="$packages python3-venv"
        nvdisasm12="${XDG_CACHE_HOME:-$HOME/.cache}/tune-nvdisasm12"
        ;;
    --hub)
        packages="$packages nginx-light libnginx-mod-http-dav-ext apache2-bin python3-venv"
        hub="${XDG_CACHE_HOME:-$HOME/.cache}/tune-hub/venv"
        ;;
    --postgres) packages="$packages postgresql" ;;
    --browser) packages="$packages chromium fonts-dejavu-core python3" ;;
    --arm64) packages="$packages gcc-aarch64-linux-gnu dpkg-dev qemu-user-static" ;;
    *)
        echo "install_deps.sh: unknown argument '$argument'; expected --check-tools, --compilers, --bench, --nvrtc12, --nvdisasm, --nvdisasm12, --hub, --postgres, --browser or --arm64" >&2
        exit 1
        ;;
    esac
done

missing=""
for package in $packages; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    case "$state" in
    "install ok installed") ;;
    *) missing="$missing $package" ;;
    esac
done

# What Debian does not have. Pinned: the oneDNN is the last one on PyPI that is built with GCC's OpenMP.
install_peers() {
    [ -n "$peers" ] || return 0
    [ ! -f "$peers/complete-1" ] || return 0
    echo "installing into $peers: oneDNN 2023.2.0, onnxruntime"
    if ! python3 -m venv "$peers" ||
        ! "$peers/bin/pip" install --quiet --disable-pip-version-check onednn-cpu-gomp==2023.2.0 \
            onednn-devel-cpu-gomp==2023.2.0 onnxruntime==1.31.1 onnx==1.23.2 numpy; then
        echo "install_deps.sh: pip could not install the peers into $peers; the benches leave them out" >&2
        return 0
    fi
    : >"$peers/complete-1"
}

# Pinned: the last release of CUDA 12, and so the last that knows the architectures before sm_75.
install_nvrtc12() {
    [ -n "$nvrtc12" ] || return 0
    [ ! -f "$nvrtc12/complete-1" ] || return 0
    echo "installing into $nvrtc12: nvidia-cuda-nvrtc-cu12 12.9.86"
    if ! python3 -m venv "$nvrtc12" ||
        ! "$nvrtc12/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvrtc-cu12==12.9.86; then
        echo "install_deps.sh: pip could not install NVRTC 12 into $nvrtc12; sm_50 to sm_72 cannot be compiled for" >&2
        return 0
    fi
    : >"$nvrtc12/complete-1"
}

install_nvdisasm() {
    [ -n "$nvdisasm" ] || return 0
    [ ! -f "$nvdisasm/complete-1" ] || return 0
    echo "installing into $nvdisasm: nvidia-cuda-nvdisasm 13.5.37"
    if ! python3 -m venv "$nvdisasm" ||
        ! "$nvdisasm/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvdisasm==13.5.37; then
        echo "install_deps.sh: pip could not install nvdisasm into $nvdisasm; machine code is not counted" >&2
        return 0
    fi
    : >"$nvdisasm/complete-1"
}

# Pinned: a package with CUDA 12.8's.
install_nvdisasm12() {
    [ -n "$nvdisasm12" ] || return 0
    [ ! -x "$nvdisasm12/nvdisasm" ] || return 0
    echo "installing into $nvdisasm12: nvdisasm 12.8 of triton 3.3.0"
    mkdir -p "$nvdisasm12"
    if ! python3 -m venv "$nvdisasm12/venv" ||
        ! "$nvdisasm12/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
            --dest "$nvdisasm12/package" triton==3.3.0 ||
        ! python3 -c 'import sys, zipfile; open(sys.argv[2], "wb").write(zipfile.ZipFile(sys.argv[1]).read("triton/backends/nvidia/bin/nvdisasm"))' \
            "$nvdisasm12"/package/triton-*.whl "$nvdisasm12/new" ||
        ! chmod +x "$nvdisasm12/new" || ! mv "$nvdisasm12/new" "$nvdisasm12/nvdisasm"; then
        echo "install_deps.sh: pip could not install nvdisasm 12 into $nvdisasm12; machine code for sm_50 to sm_72 is not counted" >&2
    fi
    rm -rf "$nvdisasm12/venv" "$nvdisasm12/package" "$nvdisasm12/new"
}

install_hub() {
    [ -n "$hub" ] || return 0
    [ ! -f "$hub/complete-1" ] || return 0
    echo "installing into $hub: moto 5.2.5"
    if ! python3 -m venv "$hub" || ! "$hub/bin/pip" install --quiet --disable-pip-version-check 'moto[s3,server]==5.2.5'; then
        echo "install_deps.sh: pip could not install moto into $hub; the tests of \`tune hub\` leave S3 out" >&2
        return 0
    fi
    : >"$hub/complete-1"
}

if [ -z "$missing" ]; then
    install_peers
    install_nvrtc12
    install_nvdisasm
    install_nvdisasm12
    install_hub
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install_deps.sh: not root and no sudo here; as root, run: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086 # a list of packages is meant
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
# Package lists may be missing or old: fetch them only when installing without that fails.
if ! install; then
    if ! $as_root apt-get update >"$log" 2>&1 || ! install; then
        cat "$log" >&2
        echo "install_deps.sh: apt-get could not install:$missing" >&2
        exit 1
    fi
fi
install_peers
install_nvrtc12
install_nvdisasm
install_nvdisasm12
install_hub
