#!/bin/sh
# SPDX-License-Identifier: MIT
# transformers.sh BIN ROOT [all | full [NAME...]] - transformers (transformers.py), from file to bundle: each is imported, deployed, compiled and run
# on an OpenCL device, every output compared with onnxruntime's, f32 and f16.
# Two layers at a quarter of the width, five models, three of them by TUNE_TEST_SEED; all: ten; full: twelve layers as wide
# as BERT-base and ViT-B/16, and every model. Skips (77) without onnx and onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2 how=${3:-short}
[ $# -lt 3 ] || shift
shift 2
. "$root/tests/onnx/with_onnx.sh"
need_device

# holds NAME TYPE: the bundle of a model gives what onnxruntime gives; attention is one layer for each of the model's.
holds() {
    folder=$dir/nets/$1-$2
    "$bin/tune" import "$dir/nets/$1.onnx" --dtype "$2" -o "$folder" >"$dir/import.out" 2>&1 || fail "$1 $2: not imported"
    [ "$(grep -c ' = attention ' "$folder/$1.graph")" = "$layers" ] || fail "$1 $2: other than $layers attentions"
    ! grep -q ' = softmax ' "$folder/$1.graph" || fail "$1 $2: a softmax is left"
    case $1 in
    decoder4 | rounded4) [ "$(grep -c ' = dense4 ' "$folder/$1.graph") $(grep -c ' = dense ' "$folder/$1.graph")" = "$((7 * layers)) 0" ] || fail "$1 $2: weights were unpacked" ;;
    esac
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$folder/$1.graph" --dtype "$2" --whole --allow-nearest --layout nchw --name net \
        -o "$dir/bundle" >"$dir/deploy.out" 2>&1 || fail "$1 $2: not deployed"
    compile_app "$1 $2"
    "$dir/app" --runs 0 --limit "$(cat "$folder/limit")" "$folder" >"$dir/app.out" 2>&1 || fail "$1 $2: other outputs than onnxruntime's"
    echo "$1 $2: $(tail -n 1 "$dir/app.out")"
}

layers=2 width=0.25
if [ "$how" = short ]; then
    # shellcheck disable=SC2046 # words
    set -- bert decoder4 $(some 3 vit gpt decoder fused sdpa grouped rounded4 ort)
elif [ "$how" = all ]; then
    set -- bert vit gpt decoder fused sdpa grouped decoder4 rounded4 ort
else
    layers=12 width=1
fi
"$python" "$root/tests/onnx/transformers.py" "$dir/nets" --layers "$layers" --width "$width" "$@" >"$dir/names" 2>"$dir/make.out" ||
    fail "no models"
all=$layers
while read -r name; do
    case "$name" in
    fused | sdpa | grouped) layers=1 ;;
    ort) layers=2 ;;
    *) layers=$all ;;
    esac
    holds "$name" f32
    case "$how $name" in
    "short bert" | "short decoder"* | "all bert" | "all decoder"* | full*) holds "$name" f16 ;;
    esac
done <"$dir/names"
