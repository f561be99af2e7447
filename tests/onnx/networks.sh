#!/bin/sh
# SPDX-License-Identifier: MIT
# networks.sh BIN ROOT [full [NAME...]] - networks that people deploy (networks.py), from file to bundle: each is imported, deployed,
# compiled and run on an OpenCL device, every output compared with onnxruntime's. Blocks of each kind without records, in nchw or
# channels in blocks of 16 or all together, f32 or f16, a batch of 1 or 4; full: the whole networks at a quarter of their width, in nchw, in all of these,
# and in the layouts that are chosen from times measured here. In f16 also in pieces of three convolutions, which halves reach no further than,
# and with a channel's weights negated, which must be seen. Skips (77) without onnx and onnxruntime
# (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2 how=${3:-short}
[ $# -lt 3 ] || shift
shift 2
. "$root/tests/onnx/with_onnx.sh"
need_device

make_models() {
    "$python" "$root/tests/onnx/networks.py" "$dir/nets" --width 0.25 --batch 1,4 "$@" >"$dir/names" 2>"$dir/make.out" || fail "no models"
}

# holds NAME TYPE BATCH LAYOUTS LOG: the bundle of a model gives what onnxruntime gives.
holds() {
    folder=$dir/nets/$1-$2-$3
    "$bin/tune" import "$dir/nets/$1.onnx" --dtype "$2" --dim batch="$3" -o "$folder" >"$dir/import.out" 2>&1 || fail "$1: not imported"
    "$bin/tune" deploy "$5" --network "$folder/$1.graph" --dtype "$2" --whole --allow-nearest --layout "$4" --name net \
        -o "$dir/bundle" >"$dir/deploy.out" 2>&1 || fail "$1 $2 $3 $4: not deployed"
    compile_app "$1 $2 $3 $4"
    "$dir/app" --runs 0 --limit "$(cat "$folder/limit")" "$folder" >"$dir/app.out" 2>&1 || fail "$1 $2 $3 $4: other outputs than onnxruntime's"
    echo "$1 $2 batch $3 $4: $(cat "$dir/app.out")"
}

# sees_faults NAME LAYOUTS: in pieces, in f16, the bundle gives what onnxruntime gives, and not where a channel is negated.
sees_faults() {
    holds "$1-cut" f16 4 "$2" "$dir/log.best.jsonl"
    "$python" "$root/tests/onnx/networks.py" --negate "$folder" >"$dir/negate.out" 2>&1 || fail "$1: no channel to negate"
    if "$dir/app" --runs 0 --limit "$(cat "$folder/limit")" "$folder" >"$dir/app.out" 2>&1; then
        fail "$1 $2: nobody sees that a channel is negated"
    fi
    grep -q 'outputs differ' "$dir/app.out" || fail "$1 $2: does not run with a channel negated"
}

# holds_measured NAME TYPE: the same in layouts that are chosen from times.
holds_measured() {
    "$bin/tune" run --network "$dir/nets/$1.onnx" --dtype "$2" --whole --layout nchw,nchw16c --trials 1 --repeat 1 \
        --min-repeat-ms 1 --threads 1 -q -o "$dir/$1-$2.jsonl" >"$dir/measure.out" 2>&1 || fail "$1 $2: not measured"
    for batch in 1 4; do
        holds "$1" "$2" "$batch" nchw,nchw16c "$dir/$1-$2.best.jsonl"
    done
}

if [ "$how" = short ]; then
    make_models --short --size 64
    while read -r name type batch layout; do
        holds "$name" "$type" "$batch" "$layout" "$dir/log.best.jsonl"
    done <<END
efficientnet_b0 f32 4 nchw16c
yolo f32 1 nchw16c
yolo f32 1 nhwc
unet f16 4 nchw
END
    sees_faults mobilenet_v3 nchw
    exit 0
fi
make_models --size 64 "$@"
while read -r name; do
    for type in f32 f16; do
        for batch in 1 4; do
            holds "$name" "$type" "$batch" nchw "$dir/log.best.jsonl"
        done
        holds_measured "$name" "$type"
    done
    sees_faults "$name" nchw
done <"$dir/names"
