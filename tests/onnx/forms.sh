#!/bin/sh
# SPDX-License-Identifier: MIT
# forms.sh BIN ROOT - models in forms that exporters, quantisers and optimizers write (forms.py), from file to bundle: each is imported, deployed,
# compiled and run on an OpenCL device, every output compared with onnxruntime's. Skips (77) without onnx and onnxruntime
# (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2
. "$root/tests/onnx/with_onnx.sh"
need_device

"$python" "$root/tests/onnx/forms.py" "$dir" >"$dir/names" 2>"$dir/make.out" || fail "no models"
while read -r name; do
    "$bin/tune" import "$dir/$name.onnx" -o "$dir/$name" >"$dir/import.out" 2>&1 || fail "$name: not imported"
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$dir/$name/$name.graph" --whole --allow-nearest --layout nchw --name net \
        -o "$dir/bundle" >"$dir/deploy.out" 2>&1 || fail "$name: not deployed"
    compile_app "$name"
    "$dir/app" --runs 0 --limit "$(cat "$dir/$name/limit")" "$dir/$name" >"$dir/app.out" 2>&1 || fail "$name: other outputs than onnxruntime's"
    echo "$name: $(tail -n 1 "$dir/app.out")"
done <"$dir/names"
for name in llama clip keras; do # one layer in the place of a product, its scale and mask, softmax, a product
    grep -q ' = attention ' "$dir/$name/$name.graph" || fail "$name: no attention"
    ! grep -q ' = softmax ' "$dir/$name/$name.graph" || fail "$name: a softmax is left"
done
[ "$(grep -c ' = dense4 ' "$dir/four/four.graph")" = 4 ] || fail "four: weights were unpacked"
