#!/bin/sh
# SPDX-License-Identifier: MIT
# bare_root.sh DIR EMULATED - a root with this system's C library, a shell and the tools of any Debian, and the emulated driver of the folder EMULATED
# (at the same path) with the g++ that it compiles with; nothing else. For scripts/gpu_pack.sh's test.
set -eu
dir=$1 emulated=$2

# put FILE...: at its own path, and the libraries that it wants.
put() {
    for file in "$@"; do
        [ ! -e "$dir$file" ] || continue
        mkdir -p "$dir$(dirname "$file")"
        cp -L "$file" "$dir$file"
        ldd "$file" 2>/dev/null | sed -n 's/^.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | while read -r library; do
            [ -e "$dir$library" ] || { mkdir -p "$dir$(dirname "$library")" && cp -L "$library" "$dir$library"; }
        done
    done
}

rm -rf "$dir"
mkdir -p "$dir/usr/bin" "$dir/usr/lib" "$dir/usr/lib64" "$dir/tmp" "$dir/dev" "$dir/proc" "$dir/root"
chmod 1777 "$dir/tmp" "$dir/tmp" # where a child in the cage may write, whatever the cage is made of
for folder in bin lib lib64; do ln -s "usr/$folder" "$dir/$folder"; done
for tool in sh bash awk basename cat cp cut date dirname env flock grep gzip head ls mkdir mktemp mv nproc rm sed seq sleep sort tail tar tee timeout tr uname wc xargs; do
    put "/usr/bin/$tool"
done
for library in libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do put "/lib/x86_64-linux-gnu/$library"; done
for device in null:3 zero:5 urandom:9; do mknod -m 666 "$dir/dev/${device%:*}" c 1 "${device#*:}"; done

put "$emulated/libcuda.so.1" "$emulated/libnvrtc-emulated.so" "$emulated/emulated_device.h" "$emulated/emulated_abi.h"
gcc=$(dirname "$(g++ -print-libgcc-file-name)")
put /usr/bin/g++ /usr/bin/as /usr/bin/ld "$gcc/cc1plus" "$gcc/collect2" "$gcc/liblto_plugin.so" "$gcc/libgcc.a"
for file in libm.so libmvec.so.1 libc.so libc_nonshared.a; do put "/usr/lib/x86_64-linux-gnu/$file"; done
put "$(echo | g++ -x c++ -M - | tr ' ' '\n' | grep '/stdc-predef.h$')" # else there is no folder of headers
