#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bundle.sh WRITER EXAMPLE HERE [TUNE] - bundles are used in three ways: found as an installed CMake package, through pkg-config (two bundles in
# one program), as a part of another build; their outputs are right, and spoilt ones are seen. HERE: the folder of two.c.
set -eu
writer=$1
example=$2
here=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export POCL_CACHE_DIR="$dir/pocl"
mkdir "$POCL_CACHE_DIR"

# quietly CMD...: its output only when it fails
quietly() {
    "$@" >"$dir/log" 2>&1 || {
        cat "$dir/log"
        echo "failed: $*"
        exit 1
    }
}

# install BUNDLE: into $dir/prefix
install_bundle() {
    quietly cmake -S "$dir/$1" -B "$dir/build-$1" -DCMAKE_INSTALL_PREFIX="$dir/prefix" -DCMAKE_BUILD_TYPE=Release
    quietly cmake --build "$dir/build-$1"
    quietly cmake --install "$dir/build-$1"
}

# run_example [ARGUMENT...]: its output goes to $dir/out
run_example() {
    quietly cmake --build "$dir/build-example"
    "$dir/build-example/deploy_c" "$@" >"$dir/out" 2>&1
}

fail() {
    cat "$dir/out"
    echo "$1"
    exit 1
}

# Installed, found by find_package.
"$writer" "$dir/alpha" alpha
install_bundle alpha
quietly cmake -S "$example" -B "$dir/build-example" -DBUNDLE=alpha -DCMAKE_PREFIX_PATH="$dir/prefix" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror"
run_example --any || fail "the example failed on a good bundle"
grep -q "^\([0-9]*\) of \1 layers are right" "$dir/out" || fail "not all layers are right"
POCL_DEVICES="basic basic" run_example --any || fail "the example failed with a team of devices"
grep -q "^\([0-9]*\) of \1 layers are right" "$dir/out" || fail "not all layers are right with a team"
[ ! -e /etc/OpenCL/vendors/pocl.icd ] || grep -q "^a team of 2 devices" "$dir/out" || fail "two devices basic are no team"
! run_example || fail "the example took another device than the bundle was tuned on"
grep -q "sample device" "$dir/out" || fail "the refusal of another device does not name the one tuned on"

# Two bundles in one program, through pkg-config, with all warnings.
"$writer" "$dir/beta" beta 1
install_bundle beta
export PKG_CONFIG_PATH="$dir/prefix/lib/pkgconfig:$dir/prefix/lib64/pkgconfig:$(echo "$dir"/prefix/lib/*/pkgconfig)"
[ "$(pkg-config --modversion alpha)" != "" ] || fail "alpha.pc has no version"
# shellcheck disable=SC2046
quietly ${CC:-cc} -std=c99 -Wall -Wextra -Werror "$here/two.c" -o "$dir/two" $(pkg-config --cflags --libs alpha beta)
"$dir/two" >"$dir/out" 2>&1 || fail "two bundles in one program failed"

# As a part of another build, warnings being errors there.
mkdir "$dir/whole"
cat >"$dir/whole/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.13)
project(whole C)
add_compile_options(-Wall -Wextra -Wshadow -Werror)
add_subdirectory($dir/alpha alpha)
add_subdirectory($dir/beta beta)
add_executable(two $here/two.c)
target_link_libraries(two alpha::alpha beta::beta)
EOF
quietly cmake -S "$dir/whole" -B "$dir/build-whole"
quietly cmake --build "$dir/build-whole"
"$dir/build-whole/two" >"$dir/out" 2>&1 || fail "two bundles of one build failed"

# The same layers, the same bytes.
"$writer" "$dir/again" alpha
diff -r "$dir/alpha" "$dir/again" || { echo "the same layers gave another bundle"; exit 1; }

# A wrong kernel is seen, and so is a layer that was not measured.
sed -i '/^ *"/s/ sum += / sum -= /' "$dir/alpha/alpha.c"
install_bundle alpha
! run_example --any || fail "the example passed a wrong kernel"
grep -q "WRONG" "$dir/out" || fail "the example does not name the wrong kernel"
"$writer" "$dir/alpha" alpha
sed -i 's/"ok", "final"/"wrong", "final"/' "$dir/alpha/alpha.c"
install_bundle alpha
! run_example --any --tuned || fail "the example passed a layer that is not tuned"
grep -q "NOT TUNED" "$dir/out" || fail "the example does not name the layer that is not tuned"
echo "bundles install, build and run in three ways; spoilt ones are seen"
