#!/bin/sh
# SPDX-License-Identifier: MIT
# test_bench_network.sh SCRIPT BIN_DIR - MobileNet with the fewest trials beside onnxruntime: every output is compared.
# Skipped (77) where onnxruntime is not installed.
set -u
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
OUT=$out TUNE_BIN_DIR=$2 "$1" --trials 1 --time 2m --layout nchw16c --rounds 1 mobilenet-v1:f32
