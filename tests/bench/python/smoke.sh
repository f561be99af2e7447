#!/bin/sh
# SPDX-License-Identifier: MIT
# smoke.sh BIN - scripts/bench_python.sh with four evaluations; exit 77 (skipped) without the venv that it makes.
set -eu
cd "$(dirname "$0")/../../.."
if ! out/peers_python/bin/python -c 'import kernel_tuner, pyopencl' 2>/dev/null; then
    echo "no Kernel Tuner in out/peers_python: scripts/bench_python.sh brings it"
    exit 77
fi
TUNE_PROGRAM=$1/tune scripts/bench_python.sh reduction --seeds 1 --evaluations 4
