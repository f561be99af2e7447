#!/bin/sh
# SPDX-License-Identifier: MIT
# calibrated.sh BIN ROOT [full [NAME...]] - `tune import --calibrate` of a small network of floats: what it reports is no worse than onnxruntime's own
# quantiser is over the same inputs, its bundle gives onnxruntime's f32 outputs within 8 %, and inputs that are none are refused in words. full:
# MobileNet v2 and ResNet-50 (networks.py: of random weights, which steps of bytes take far) besides. Skips (77) without onnx and onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2 how=${3:-short}
[ $# -lt 3 ] || shift
shift 2
modules="onnx, onnxruntime.quantization"
. "$root/tests/onnx/with_onnx.sh"
need_device

# refused WORDS ARGUMENT...: one line with the words, and nothing written
refused() {
    words=$1
    shift
    if "$bin/tune" import "$dir/cnn/f32.onnx" -o "$dir/none" "$@" >"$dir/said.out" 2>"$dir/words.out"; then fail "import $* was to be refused"; fi
    [ "$(wc -l <"$dir/words.out")" -eq 1 ] || fail "import $*: one line was expected"
    grep -qF -- "$words" "$dir/words.out" || fail "import $* was to say '$words'"
    [ ! -e "$dir/none" ] || fail "import $* has written"
}

# holds NAME MODEL N [LIMIT [P]]: N inputs, of which both quantisers are calibrated and over which both are compared with f32; by the percentile P
# the first scale is that of the percentile's ends, and without it the last input's outputs are beyond LIMIT.
holds() {
    at=$dir/$1
    "$python" "$root/tests/onnx/calibrated.py" "$at" "$2" "$3" ${5:+"$5"} >"$at.ort" 2>"$dir/make.out" || fail "$1: not made"
    "$bin/tune" import "$at/f32.onnx" --dtype i8 --calibrate "$at/inputs.npz" ${5:+--percentile "$5"} -o "$at/made" >"$dir/import.out" 2>&1 || fail "$1: not imported"
    grep -q "^quantised by $3 runs: " "$dir/import.out" || fail "$1: $3 runs were expected"
    ours=$(sed -n '/^output beside/{n;p}' "$dir/import.out" | awk '{ gsub("%", ""); print $2, $3, $4, $6 }')
    echo "$1: cosine, largest error in %, same largest, of: $ours; onnxruntime's quantiser: $(cat "$at.ort")"
    sed -n '/^quantised by/p;/ off by /p' "$dir/import.out"
    echo "$ours $(cat "$at.ort")" | awk '{ exit !(1 - $1 <= 1.1 * (1 - $5) + 1e-4) }' || fail "$1: worse than onnxruntime's quantiser"
    gives "$1" "$at/made" "${4:-.08}" || fail "$1: far from onnxruntime's f32 outputs"
    echo "$1: bundle: $(tail -n 1 "$dir/app.out")"
    [ $# -ge 5 ] || return 0
    scale=$(od -An -tf4 -N4 "$at/made/weights.bin")
    echo "$scale $(cat "$at.ort")" | awk '{ exit !($1 > $6 - $7 && $1 < $6 + $7) }' || fail "$1: the input's scale is $scale"
    "$bin/tune" import "$at/f32.onnx" --calibrate "$at/inputs.npz" -o "$at/wide" >"$dir/import.out" 2>&1 || fail "$1: not imported"
    if gives "$1" "$at/wide" "$4"; then fail "$1: from least to largest was to be far off"; fi
    echo "$1: from least to largest: $(tail -n 1 "$dir/app.out")"
}

# gives NAME MADE LIMIT: the bundle of MADE gives what onnxruntime gives in f32.
gives() {
    cp "$at/net/x.bin" "$at/net/y.bin" "$2"
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$2/f32.graph" --whole --allow-nearest --layout nchw16c --name net \
        -o "$dir/bundle" >"$dir/deploy.out" 2>&1 || fail "$1: not deployed"
    compile_app "$1"
    "$dir/app" --runs 0 --limit "$3" "$2" >"$dir/app.out" 2>&1
}

holds cnn cnn 16
holds spiked cnn 16 .03 99.9
refused "no array in it" --calibrate "$dir/cnn/none.npz"
refused "element 7 of x is NaN" --calibrate "$dir/cnn/nan.npz"
refused "x is 16 x 3 x 31 x 32: expected 1 x 3 x 32 x 32" --calibrate "$dir/cnn/shape.npz"
refused "the model has no input other; its first is x" --calibrate "$dir/cnn/name.npz"
refused "the model has no input other" --calibrate "$dir/cnn/more.npz"
refused "it does not end as a zip does" --calibrate "$dir/cnn/cut.npz"
refused "no layer nobody to be kept" --calibrate "$dir/cnn/inputs.npz" --keep-f32 nobody
refused "expected --dtype i8, not f16" --calibrate "$dir/cnn/inputs.npz" --dtype f16
refused "expected --calibrate FILE.npz" --dtype i8
refused "--keep-f32 is for --calibrate" --keep-f32 first
refused "--percentile is for --calibrate" --percentile 99
"$bin/tune" import "$dir/cnn/f32.onnx" --calibrate "$dir/cnn/inputs.npz" --keep-f32 first --keep-f32 last -q -o "$dir/kept" >"$dir/import.out" 2>&1 ||
    fail "--keep-f32: not imported"
[ "$(grep -c ' = \(conv2d\|depthwise_conv2d\|dense\)' "$dir/kept/f32.graph")" = \
    "$(($(grep -c ' = \(conv2d\|depthwise_conv2d\|dense\).* u8' "$dir/kept/f32.graph") + 2))" ] || fail "--keep-f32: two layers of floats were expected"
[ "$how" = full ] || exit 0
"$python" "$root/tests/onnx/networks.py" "$dir/nets" --width 0.25 --size 64 "${@:-mobilenet_v2}" >"$dir/names" 2>"$dir/make.out" || fail "no models"
while read -r name; do
    holds "$name" "$dir/nets/$name.onnx" 16 .6
done <"$dir/names"
