#!/bin/sh
# install_deps.sh - the Debian packages that tune needs; silent and quick when all of them are there.
#   install_deps.sh                what building, testing and tuning need
#   install_deps.sh --check-tools  and what scripts/check.sh needs besides
#   install_deps.sh --bench        and the libraries that scripts/bench.sh compares with
set -eu

packages="gcc libc6-dev cmake ninja-build pkg-config libnng-dev libcjson-dev libcurl4-openssl-dev libsqlite3-dev
    libmbedtls-dev libcmocka-dev zlib1g-dev ocl-icd-opencl-dev pocl-opencl-icd"
for argument in "$@"; do
    case "$argument" in
    --check-tools) packages="$packages valgrind clang clang-format cppcheck universal-ctags git" ;;
    --bench) packages="$packages libopenblas-dev libclblast-dev python3-venv libgomp1" ;;
    *)
        echo "install_deps.sh: unknown argument '$argument'; expected --check-tools or --bench" >&2
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
[ -n "$missing" ] || exit 0

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
