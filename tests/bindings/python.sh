#!/bin/sh
# SPDX-License-Identifier: MIT
# python.sh BIN ROOT VENV install - installs bindings/python into a venv as people do (`pip install`, from the tree, without a network).
# python.sh BIN ROOT VENV TEST - runs tests/bindings/TEST there against the real programs; "notebook": the example's cells. Skips (77) in words where
# Python, pip, numpy or, for what needs one, a device is missing.
set -eu
bin=$1 root=$2 venv=$3 test=$4
. "$root/tests/scratch.sh"

skip() {
    echo "skipped: $*"
    exit 77
}
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 TUNE_PROGRAM="$bin/tune" POCL_MAX_PTHREAD_COUNT=1 MPLBACKEND=agg
unset TUNE_TRACKER TUNE_KEY_FILE TUNE_LIBRARY PYTHONPATH || true
python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>"$dir/python.out" || skip "no Python 3.9 with venv and pip"

# package VENV: with the package in it.
package() {
    python=$1/bin/python
    python3 -m venv --system-site-packages "$1" >"$dir/venv.out" 2>&1 || skip "no venv can be made: $(tail -n 1 "$dir/venv.out")"
    "$python" -m pip install -q --no-index "$root/bindings/python" >"$dir/install.out" 2>&1 || fail "pip install bindings/python"
}
if [ "$test" = install ]; then
    rm -rf "$venv"
    package "$venv"
    "$python" -c 'import numpy' 2>/dev/null || "$python" -m pip install -q --retries 1 --timeout 10 numpy >"$dir/numpy.out" 2>&1 || true
    exit 0
fi
python=$venv/bin/python
[ -x "$python" ] || skip "no venv, see python_install"
cd "$dir"
if [ "$test" = test_cuda.py ]; then
    cuda=$(dirname "$bin")/tests/cuda
    [ -e "$cuda/libcuda.so.1" ] || skip "no emulated CUDA in $cuda"
    g++ --version >/dev/null 2>&1 || skip "no g++, which emulated CUDA is compiled with"
    export LD_LIBRARY_PATH="$cuda" TUNE_NVRTC="$cuda/libnvrtc-emulated.so" TUNE_CUDA_SM=75 TUNE_LOCK_DIR="$dir"
elif [ "$test" = test_c.py ]; then
    "$bin/tune" doctor --device c >"$dir/doctor.out" 2>&1 || skip "\`tune doctor --device c\` finds no compiler"
elif [ "$test" != test_parts.py ]; then
    "$bin/tune" doctor >"$dir/doctor.out" 2>&1 || skip "\`tune doctor\` finds no device"
fi
if [ "$test" != test_parts.py ]; then
    "$python" -c 'import numpy' 2>/dev/null || skip "numpy is not here and cannot be had from PyPI"
fi
if [ "$test" = test_peers.py ]; then
    "$python" -c 'import kernel_tuner, optuna' 2>/dev/null || {
        cp -R "$venv" "$dir/venv" # of its own: others use the other while pip works
        python=$dir/venv/bin/python
        "$python" -m pip install -q --no-compile --retries 1 --timeout 10 'kernel_tuner==1.*' optuna >"$dir/peers.out" 2>&1 ||
            skip "Kernel Tuner and Optuna are not here and cannot be had from PyPI"
    }
fi
if [ "$test" = notebook ]; then
    "$python" "$root/tests/bindings/run_notebook.py" "$root/examples/python/own_kernel.ipynb" >"$dir/test.out" 2>&1 || fail "the notebook"
else
    TUNE_ROOT=$root "$python" "$root/tests/bindings/$test" >"$dir/test.out" 2>&1 || fail "$test"
fi
tail -n 3 "$dir/test.out"
