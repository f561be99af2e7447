#!/bin/sh
# SPDX-License-Identifier: MIT
# models.sh BIN ROOT - models made by ONNX's own library, from file to bundle: each is imported, deployed with the configs that
# templates have without records, compiled and run on an OpenCL device; every output is compared with onnxruntime's. In f32, nchw,
# channels in blocks of 16 or all together. Skips (77) without onnx and onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2
. "$root/tests/onnx/with_onnx.sh"
need_device

# holds_with NAME FILE LAYOUT: the bundle of a model's FILE gives what onnxruntime gives.
holds_with() {
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$2" --whole --allow-nearest --layout "$3" --name net -o "$dir/bundle" -q \
        >"$dir/deploy.out" 2>&1 || fail "$1 $3: not deployed"
    compile_app "$1 $3"
    "$dir/app" --runs 0 --limit 1e-5 "$dir/models/$1" >"$dir/app.out" 2>&1 || fail "$1 $3: other outputs than onnxruntime's"
    echo "$1 $3: $(cat "$dir/app.out")"
}

"$python" "$root/tests/onnx/make_models.py" "$dir/models" >"$dir/names" 2>"$dir/make.out" || fail "no models"
while read -r name; do
    "$bin/tune" import "$dir/models/$name/model.onnx" -o "$dir/models/$name" >"$dir/import.out" 2>&1 || fail "$name: not imported"
    grep -q '^all ' "$dir/import.out" || fail "$name: no table"
done <"$dir/names"
holds_with mobilenet "$dir/models/mobilenet/model.onnx" nchw16c
holds_with mobilenet "$dir/models/mobilenet/model.onnx" nhwc
holds_with resnet "$dir/models/resnet/model.graph" nchw
holds_with resnet "$dir/models/resnet/model.graph" nhwc
holds_with vgg "$dir/models/vgg/model.onnx" nchw16c
holds_with squeezenet "$dir/models/squeezenet/model.onnx" nchw16c
holds_with squeezenet "$dir/models/squeezenet/model.onnx" nhwc
holds_with bert "$dir/models/bert/model.onnx" nchw
holds_with resnet9 "$dir/models/resnet9/model.onnx" nchw
for file in model.graph weights.bin; do # the same model in opset 9
    cmp "$dir/models/mobilenet/$file" "$dir/models/mobilenet9/$file" || fail "mobilenet9: another $file than mobilenet's"
done
