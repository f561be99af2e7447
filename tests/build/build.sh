# SPDX-License-Identifier: MIT
# build.sh - what the tests of building share; sourced with: source (the tree), generator (CMake's), dir (a build folder, kept from
# call to call), out (a file for what is said).
# shellcheck shell=sh

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# configure ARGUMENT...: as from nothing, but objects that fit still are kept.
configure() {
    rm -f "$dir/CMakeCache.txt"
    cmake -G "$generator" -S "$source" -B "$dir" "$@" >"$out" 2>&1
}

# The plain build: by clang where it is, not optimised and without asserts (both ways of them are built somewhere), warnings as errors. Tests that
# have one folder for it share its objects. make says nothing: each of its lines is a start of cmake.
configure_plain() {
    ! command -v clang-14 >/dev/null || set -- -DCMAKE_C_COMPILER=clang-14 -DTUNE_WERROR=ON "$@"
    configure -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DTUNE_ASSERTS=OFF -DCMAKE_RULE_MESSAGES=OFF "$@"
}

configured() {
    configure "$@" || fail "cmake $*: $(cat "$out")"
}

configured_plain() {
    configure_plain "$@" || fail "cmake $*: $(cat "$out")"
}

# says WORDS: configuring has said them, on one line.
says() {
    grep -qF -- "$1" "$out" || fail "cmake was to say '$1': $(cat "$out")"
}

# builds TARGET...: without an error
builds() {
    cmake --build "$dir" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target "$@" >"$out" 2>&1 ||
        fail "building $*: $(grep -E -A5 'error|FAILED' "$out" | head -n 60)"
}
