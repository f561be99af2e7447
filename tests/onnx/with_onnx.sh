# SPDX-License-Identifier: MIT
# with_onnx.sh - what tests of models beside onnxruntime begin with: $dir and fail (scratch.sh), $python. Skips (77) without its packages
# (scripts/install_deps.sh --bench): $modules, or onnx and onnxruntime. Sourced, with $bin and $root.
python=${TUNE_PEERS:-$HOME/.cache/tune-peers/venv}/bin/python
. "$root/tests/scratch.sh"
if ! "$python" -c "import ${modules:=onnx, onnxruntime}" 2>"$dir/python.out"; then
    echo "skipped: no $modules in $python"
    exit 77
fi

# $dir/log.best.jsonl, a log of an OpenCL device here, which bundles are deployed of; PoCL has one thread, and a cache of these tests, and does
# not optimise: the bundles are on trial. Skips (77) without a device.
need_device() {
    export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR="${TMPDIR:-/tmp}/tune-onnx-test-pocl-$(id -u)"
    mkdir -p "$POCL_CACHE_DIR"
    if ! "$bin/tune" run "dense f32 m=1 n=4 k=4" --trials 1 --min-repeat-ms 0.5 --threads 1 -q -o "$dir/log.jsonl" >"$dir/run.out" 2>&1; then
        echo "skipped: no record from an OpenCL device: $(tail -n 1 "$dir/run.out")"
        exit 77
    fi
    sed 's/@BUNDLE@/net/g;s/@CAPS@/NET/g' "$root/examples/deploy_network/bundle.h.in" >"$dir/bundle.h"
}

# compile_app WHAT: $dir/app, which runs the network of $dir/bundle.
compile_app() {
    ${CC:-cc} -O0 -I"$dir" -I"$dir/bundle" -o "$dir/app" "$root/examples/deploy_network/main.c" "$dir/bundle/net.c" -lOpenCL -lm -lpthread \
        >"$dir/cc.out" 2>&1 || fail "$1: its bundle does not compile"
}
