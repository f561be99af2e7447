#!/bin/sh
# SPDX-License-Identifier: MIT
# Int8 kernels for Arm CPUs compile for armv8.2-a with +dotprod or +i8mm, and their loops are made of sdot or usdot: as many
# as a step of the register tile takes, and no products of other kinds between them. Those of GPUs with the extensions of OpenCL compile as the standard
# that they ask for, and call the extension's function, those of NVIDIA's OpenCL have its instruction: u8 those that take x unsigned.
# usage: dots.sh PROGRAM_THAT_WRITES_THEM
set -eu
if ! command -v clang >/dev/null || ! clang --print-targets | grep -q '^ *aarch64 '; then
    echo "skipped: no clang that compiles for aarch64"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" "$dir"

# number TEXT NAME: of a knob in the defines.
number() { sed -n "s/^#define $2 //p" "$1" | head -1; }

for text in "$dir"/*.cl; do
    name=$(basename "$text" .cl)
    word=${name%-*} extension=dotprod call=""
    unsigned=$(grep -c "^#define UNSIGNED " "$text" || true)
    case $word-$unsigned in
    khr-0) call="call .*dot_4x8packed_ss_int" ;;
    khr-1) call="call .*dot_4x8packed_us_int" ;;
    arm-0) call="call .*arm_dot" ;;
    dp4a-0) call="asm .*dp4a\.s32\.s32" ;;
    dp4a-1) call="asm .*dp4a\.u32\.s32" ;;
    esac
    if [ "$call" ]; then
        std=$(sed -n '1s|^/\* \(.*\) \*/$|\1|p' "$text")
        clang -x cl "-cl-std=$std" --target=spir64 -O1 -S -emit-llvm -w -Xclang -finclude-default-header -Dcl_arm_integer_dot_product_int8 \
            -o "$dir/$name.ll" "$text" || { echo "$name does not compile"; exit 1; }
        grep -q "$call" "$dir/$name.ll" || { echo "$name has no $call"; exit 1; }
        echo "$name: $(grep -c "$call" "$dir/$name.ll") $call, $std"
        continue
    fi
    [ "$word" = sdot ] || extension=i8mm
    # Kernels have a calling convention that the backend does not know: PoCL changes it on the way, too.
    clang -x cl -cl-std=CL1.2 --target=aarch64-linux-gnu "-march=armv8.2-a+$extension" -O2 -S -emit-llvm -w -Xclang \
        -finclude-default-header -DPOCL_DEVICE_ADDRESS_BITS=64 -o "$dir/$name.ll" "$text" || { echo "$name does not compile"; exit 1; }
    sed 's/ spir_kernel / /' "$dir/$name.ll" >"$dir/plain.ll"
    clang -x ir --target=aarch64-linux-gnu "-march=armv8.2-a+$extension" -O2 -S -w -o "$dir/$name.s" "$dir/plain.ll"
    sed -n '/^i8_tile:/,/^\.Lfunc_end/p' "$dir/$name.s" >"$dir/kernel.s"
    found=$(grep -cw "$word" "$dir/kernel.s" || true)
    least=$(($(number "$text" NV) * $(number "$text" VH) * $(number "$text" VW)))
    if [ "$found" -lt "$least" ] || grep -qE '\s(smull|smlal|umull|umlal|mul|mla)2?\sv' "$dir/kernel.s"; then
        echo "$name: $found $word in its kernel, expected $least at the least and no products of parts"
        exit 1
    fi
    echo "$name: $found $word, $least a step"
done
for name in sdot-0 sdot-1 usdot-1 khr-4 arm-4 khr-5 arm-5 khr-6 dp4a-7 dp4a-8 dp4a-9; do
    [ -f "$dir/$name.cl" ] || { echo "$name is missing"; exit 1; }
done
