#!/bin/sh
# SPDX-License-Identifier: MIT
# What libtune shows to an application that links it: the functions of tune.h, no other name, no heavy library.
# test_library.sh LIBTUNE_SO LIBTUNE_A TUNE_H [C_FLAGS]
set -eu
so=$1 a=$2 header=$3
flags=${4:-}
cc=${CC:-cc} cxx=${CXX:-c++}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "test_library.sh: $*" >&2
    exit 1
}

sed -n 's/^TUNE_API .*[ *]\(tune_[a-z0-9_]*\)(.*/\1/p' "$header" | sort >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -ge 10 ] || fail "$header declares fewer than ten functions"
nm -D --defined-only "$so" | awk '$2 ~ /[A-Z]/ && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$dir/so"
nm -g --defined-only "$a" | awk 'NF == 3 { print $3 }' | sort >"$dir/a"
diff "$dir/declared" "$dir/so" || fail "libtune.so shows other names than tune.h"
diff "$dir/declared" "$dir/a" || fail "libtune.a shows other names than tune.h"
sed -n "s/.*<elf-symbol name='\([a-z0-9_]*\)'.*/\1/p" "$(dirname "$header")/libtune.abi" | sort >"$dir/abi"
diff "$dir/abi" "$dir/so" || fail "libtune.abi lists other names: scripts/check_abi.sh --update writes it anew"
echo "both show the $(wc -l <"$dir/declared") functions of tune.h and nothing else"

heavy='sqlite|nng|curl|LLVM|expat|OpenCL'
if readelf -d "$so" | grep NEEDED | grep -E "$heavy"; then fail "libtune.so needs a heavy library"; fi
if nm -g --undefined-only "$a" | grep -E " (($heavy)[_0-9]|cl[A-Z])"; then fail "libtune.a needs a heavy library"; fi
nm -g --undefined-only "$a" | grep -q ' cJSON_' || fail "nm shows no undefined names at all"

# The header alone, strict C99 and C++, also beside the real OpenCL header.
printf '#include "tune.h"\nint main(void) { return tune_version() == 0; }\n' >"$dir/alone.c"
printf '#include "tune.h"\n#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nenum tune_status f(cl_context c, cl_device_id d, struct tune **t);\nenum tune_status f(cl_context c, cl_device_id d, struct tune **t) { return tune_open_cl("x", c, d, 0, t); }\n' >"$dir/beside.c"
strict="-Wall -Wextra -Wconversion -pedantic -Werror"
mkdir "$dir/include"
cp "$header" "$dir/include"
for file in alone beside; do
    # shellcheck disable=SC2086
    $cc -std=c99 $strict -I"$dir/include" -c "$dir/$file.c" -o "$dir/$file.o" || fail "$file.c is no C99"
    # shellcheck disable=SC2086
    if command -v "$cxx" >/dev/null; then
        $cxx -x c++ -std=c++11 $strict -I"$dir/include" -c "$dir/$file.c" -o "$dir/$file.cc.o" || fail "$file.c is no C++"
    fi
done

# An application may have functions of the same names as the library's insides.
cat >"$dir/clash.c" <<'END'
#include "tune.h"
#include <stdio.h>
#include <string.h>
int cuda = 1;
void buf_init(void) { puts("clash"); }
void json_parse(void) { puts("clash"); }
void workload_parse(void) { puts("clash"); }
void choice_make(void) { puts("clash"); }
void tune_fail(void) { puts("clash"); }
int main(void)
{
    struct tune *t = 0;

    if (tune_open_cl("x", 0, 0, 0, &t) != TUNE_BAD_ARGUMENT || !strstr(tune_words(), "expected an OpenCL context"))
        return 1;
    if (tune_open_cuda("x", 0, 0, 0) != TUNE_BAD_ARGUMENT)
        return 1;
    return cuda != 1 || puts(tune_version()) < 0;
}
END
# shellcheck disable=SC2086
$cc $flags -I"$dir/include" "$dir/clash.c" "$a" -lcjson -lmbedcrypto -ldl -lm -pthread -o "$dir/static" ||
    fail "libtune.a clashes with an application's names"
"$dir/static" || fail "the static library behaves otherwise beside names like its own"
# shellcheck disable=SC2086
$cc $flags -I"$dir/include" "$dir/clash.c" "$so" -Wl,-rpath,"$(dirname "$so")" -o "$dir/shared" || fail "libtune.so clashes"
"$dir/shared" || fail "the shared library takes an application's functions for its own"
echo "an application's own names do not meet the library's"
