#!/bin/sh
# SPDX-License-Identifier: MIT
# test_onnx.sh - ONNX's own backend tests through `tune import`, `tune deploy` and bundles on an OpenCL device: every test of operators
# that networks have has to give ONNX's outputs; the others are counted by what is missing (docs/networks.md).
#
#   scripts/test_onnx.sh [REGEX]                # of names; all without it
#   scripts/test_onnx.sh --networks [NAME...]   # whole networks with seeded weights beside onnxruntime (tests/onnx/networks.py), in f32 and f16,
#                                               # batch 1 and 4, nchw and the layouts chosen from measured times; in f16 a fault is seen
#
# Needs the programs (TUNE_BIN_DIR, else build/bin) and scripts/install_deps.sh --bench (TUNE_PEERS). Exit code 77: no onnx here, or no
# device.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
case "${1:-}" in
"" | --networks) ;;
--help | -h) head_comment scripts/test_onnx.sh ;;
-*) fail "unknown argument '$1'; --help tells more" ;;
esac
python=${TUNE_PEERS:-$HOME/.cache/tune-peers/venv}/bin/python
bin=$(cd "${TUNE_BIN_DIR:-build/bin}" && pwd)
if [ "${1:-}" = --networks ]; then
    shift
    exec tests/onnx/networks.sh "$bin" "$PWD" full "$@"
fi
if ! "$python" -c 'import onnx' 2>/dev/null; then
    echo "test_onnx.sh: skipped: no onnx in $python; scripts/install_deps.sh --bench installs it"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export POCL_MAX_PTHREAD_COUNT=1
if ! "$bin/tune" run "dense f32 m=1 n=4 k=4" --trials 1 --threads 1 -q -o "$dir/log.jsonl" >"$dir/run.txt" 2>&1; then
    echo "test_onnx.sh: skipped: no record from an OpenCL device: $(tail -n 1 "$dir/run.txt")"
    exit 77
fi
"$python" tests/onnx/backend_tests.py "$bin" "$PWD" "$dir" "${1:-}"
