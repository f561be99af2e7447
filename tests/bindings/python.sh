#!/bin/sh
# SPDX-License-Identifier: MIT
# python.sh BIN ROOT TEST - installs bindings/python into a venv as people do (`pip install`, from the tree, without a network) and runs
# tests/bindings/TEST against the real programs; "notebook": the example's cells. Skips (77) in words where Python, pip, numpy or,
# for what needs one, a device is missing.
set -eu
bin=$1 root=$2 test=$3
. "$root/tests/scratch.sh"

skip() {
    echo "skipped: $*"
    exit 77
}
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 TUNE_PROGRAM="$bin/tune" POCL_MAX_PTHREAD_COUNT=1 MPLBACKEND=agg
unset TUNE_TRACKER TUNE_KEY_FILE TUNE_LIBRARY PYTHONPATH || true
python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>"$dir/python.out" || skip "no Python 3.9 with venv and pip"
python3 -m venv --system-site-packages "$dir/venv" >"$dir/venv.out" 2>&1 || skip "no venv can be made: $(tail -n 1 "$dir/venv.out")"
python=$dir/venv/bin/python
"$python" -m pip install -q --no-index "$root/bindings/python" >"$dir/install.out" 2>&1 || fail "pip install bindings/python"
cd "$dir"
if [ "$test" != test_parts.py ]; then
    "$bin/tune" doctor >"$dir/doctor.out" 2>&1 || skip "\`tune doctor\` finds no device"
    "$python" -c 'import numpy' 2>/dev/null || "$python" -m pip install -q --retries 1 --timeout 10 numpy >"$dir/numpy.out" 2>&1 ||
        skip "numpy is not here and cannot be had from PyPI"
fi
if [ "$test" = notebook ]; then
    "$python" "$root/tests/bindings/run_notebook.py" "$root/examples/python/own_kernel.ipynb" >"$dir/test.out" 2>&1 || fail "the notebook"
else
    TUNE_ROOT=$root "$python" "$root/tests/bindings/$test" >"$dir/test.out" 2>&1 || fail "$test"
fi
tail -n 3 "$dir/test.out"
