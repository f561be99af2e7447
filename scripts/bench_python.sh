#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_python.sh [KERNEL...] [--seeds N] [--evaluations N] [--strategy NAME] - `tune.tune_kernel` beside Kernel Tuner 1.5 on the same
# OpenCL kernels (matmul, convolution, reduction), the same number of evaluations (60), in turns: seconds, CPU seconds, and the best that
# each found, timed by one timer that is neither's. Prints a table. Needs an OpenCL device, build/bin and, once, PyPI (a venv in out/peers_python).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh
case "${1:-}" in
--help | -h) head_comment scripts/bench_python.sh ;;
esac
venv=$PWD/out/peers_python
if ! "$venv/bin/python" -c 'import kernel_tuner, pyopencl' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check 'kernel_tuner==1.5.0' pyopencl numpy
fi
export PYTHONPATH="$PWD/bindings/python" TUNE_PROGRAM="${TUNE_PROGRAM:-$PWD/build/bin/tune}" POCL_MAX_PTHREAD_COUNT=1 OCL_ICD_VENDORS=/etc/OpenCL/vendors
echo "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg)"
echo
exec "$venv/bin/python" tests/bench/python/beside.py "$@"
