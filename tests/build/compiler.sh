#!/bin/sh
# SPDX-License-Identifier: MIT
# compiler.sh SOURCE GENERATOR DIR COMPILER - everything, benches too, builds with COMPILER (gcc-12; clang-14: the plain build of build.sh) and warnings
# as errors. Exit 77 (skipped): it is not here. Other versions warn of other things: a plain build has no -Werror.
set -eu
source=$1 generator=$2 dir=$3 compiler=$4 out=$3.txt
. "$source/tests/build/build.sh"

if ! command -v "$compiler" >/dev/null; then
    echo "compiler.sh: skipped: no $compiler here (scripts/install_deps.sh --compilers)"
    exit 77
fi
case "$compiler" in
gcc*) configured -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$compiler" -DTUNE_WERROR=ON ;; # it finds some only as it optimises
*) configured_plain ;;
esac
builds all benches
echo "$compiler: no warning"
