#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the example through pkg-config: build.sh OUTPUT [--static]. PKG_CONFIG_PATH names the installed lib/pkgconfig.
set -eu
cd "$(dirname "$0")"
out=${1:?usage: build.sh OUTPUT [--static]}
cc=${CC:-cc}
flags=$(pkg-config --cflags libtune)
dir=$(pkg-config --variable=libdir libtune)
if [ "${2:-}" = --static ]; then # libtune.a, the rest shared
    libs="-L$dir -l:libtune.a $(pkg-config --libs --static libtune | tr ' ' '\n' | grep -v -e '^-ltune$' -e '^-L' | tr '\n' ' ')"
else
    libs="$(pkg-config --libs libtune) -Wl,-rpath,$dir"
fi
# shellcheck disable=SC2086
exec "$cc" -std=gnu99 -O2 -Wall -Wextra $flags main.c -o "$out" $libs -lOpenCL -lm
