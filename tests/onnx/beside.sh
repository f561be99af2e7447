#!/bin/sh
# SPDX-License-Identifier: MIT
# beside.sh BIN ROOT [full [NAME...]] - networks quantised by onnxruntime's own quantiser (quantised.py), in both forms, with u8 and i8 activations,
# and a tagger of LSTMs (tagger.py), from file to bundle: each is imported, deployed, compiled and run on an OpenCL device, every output
# compared with onnxruntime's. full: MobileNet v2 and ResNet-50 (networks.py, 64 x 64 pixels, a quarter of the channels) besides. Skips (77) without onnx and
# onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2 how=${3:-short}
[ $# -lt 3 ] || shift
shift 2
modules="onnx, onnxruntime.quantization"
. "$root/tests/onnx/with_onnx.sh"
need_device

# runs NAME LAYOUTS LIMIT: the bundle of an imported model gives what onnxruntime gives.
runs() {
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$dir/$1/$1.graph" --whole --allow-nearest --layout "$2" --name net \
        -o "$dir/bundle" >"$dir/deploy.out" 2>&1 || fail "$1 $2: not deployed"
    compile_app "$1 $2"
    "$dir/app" --runs 0 --limit "$3" "$dir/$1" >"$dir/app.out" 2>&1 || fail "$1 $2: other outputs than onnxruntime's"
    echo "$1 $2: $(cat "$dir/app.out")"
}

# holds MODEL FORM TYPE STEPS LAYOUTS [per_channel]: the bundle of a model quantised so is off by so many steps at the most.
holds() {
    name=$(basename "$1" .onnx)_$2_$3
    STEPS=$4 "$python" "$root/tests/onnx/quantised.py" "$dir" "$1" "$name" "$2" "$3" ${6:+"$6"} >"$dir/make.out" 2>&1 || fail "$name: not quantised"
    "$bin/tune" import "$dir/$name.onnx" -o "$dir/$name" >"$dir/import.out" 2>&1 || fail "$name: not imported"
    [ "$(grep -c ' = \(conv2d\|depthwise_conv2d\|dense\)' "$dir/$name/$name.graph")" = \
        "$(grep -c ' = \(conv2d\|depthwise_conv2d\|dense\).* u8' "$dir/$name/$name.graph")" ] || fail "$name: layers that are not of bytes"
    runs "$name" "$5" "$(cat "$dir/$name/limit")"
}

"$python" "$root/tests/onnx/tagger.py" "$dir" >"$dir/make.out" 2>&1 || fail "no tagger"
"$bin/tune" import "$dir/tagger.onnx" -o "$dir/tagger" >"$dir/import.out" 2>&1 || fail "tagger: not imported"
runs tagger nchw 1e-5
holds cnn QDQ QUInt8 1 nchw16c
holds cnn QDQ QInt8 1 nchw per_channel
holds cnn QOperator QUInt8 1 nchw8c per_channel
[ "$how" = full ] || exit 0
"$python" "$root/tests/onnx/networks.py" "$dir/nets" --width 0.25 --size 64 "${@:-mobilenet_v2}" >"$dir/names" 2>"$dir/make.out" || fail "no models"
while read -r model; do
    holds "$dir/nets/$model.onnx" QDQ QUInt8 2 nchw16c per_channel
    holds "$dir/nets/$model.onnx" QDQ QInt8 2 nchw16c
    holds "$dir/nets/$model.onnx" QOperator QUInt8 2 nchw16c
done <"$dir/names"
