#!/bin/sh
# SPDX-License-Identifier: MIT
# compiler.sh SOURCE GENERATOR DIR COMPILER [make] - everything, benches too, builds with COMPILER (gcc-12, clang-14) and warnings as errors. Exit 77
# (skipped): it is not here. Other versions warn of other things: a plain build has no -Werror.
set -eu
source=$1 generator=$2 dir=$3 compiler=$4 out=$3.txt
. "$source/tests/build/build.sh"

# Folders that rules write into are Ninja's business, not make's.
if [ "${5:-}" = make ] && command -v make >/dev/null; then
    generator="Unix Makefiles"
fi

if ! command -v "$compiler" >/dev/null; then
    echo "compiler.sh: skipped: no $compiler here (scripts/install_deps.sh --compilers)"
    exit 77
fi
case "$compiler" in
gcc*) set -- -DCMAKE_BUILD_TYPE=Release ;; # it finds some only as it optimises
*) set -- -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DTUNE_ASSERTS=OFF ;; # both ways of asserts are built
esac
configured -DCMAKE_C_COMPILER="$compiler" -DTUNE_WERROR=ON "$@"
builds all benches
echo "$compiler: no warning"
