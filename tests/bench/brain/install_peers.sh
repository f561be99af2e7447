#!/bin/sh
# SPDX-License-Identifier: MIT
# install_peers.sh [DIR] - the peers that the benches of the brain stand beside: a Python venv in DIR (default out/peers) with
# pinned XGBoost (its CPU build), LightGBM, Kernel Tuner and pyATF from PyPI. Quick and silent when all of them are there.
# Writes DIR/peers.env, shell assignments PEERS_PYTHON, LIBXGBOOST and LIB_LIGHTGBM (the C libraries inside the wheels).
set -eu
dir=${1:-$(dirname "$0")/../../../out/peers}
python=${PYTHON:-python3}
wanted="numpy==2.4.6 scipy==1.17.1 xgboost-cpu==3.2.0 lightgbm==4.7.0 scikit-learn==1.9.1 kernel_tuner==1.5.0 pyatf==0.0.13"

say_why() {
    echo "install_peers.sh: $1" >&2
    exit 1
}

# complete: all wanted versions are in DIR and can be imported.
complete() {
    [ -f "$dir/peers.env" ] || return 1
    "$dir/bin/python" - $wanted <<'END' >/dev/null 2>&1
import sys
from importlib.metadata import version
import kernel_tuner, lightgbm, numpy, pyatf, xgboost
sys.exit(any(version(name) != wanted for name, wanted in (word.split("==") for word in sys.argv[1:])))
END
}

if complete; then exit 0; fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    say_why "'$python' is not Python 3.11 or newer; name one in PYTHON"
"$python" -m venv "$dir" >/dev/null 2>&1 ||
    say_why "'$python' makes no venv in '$dir' (on Debian: scripts/install_deps.sh --bench installs python3-venv)"
log=$dir/install.log
# shellcheck disable=SC2086 # a list of packages is meant
if ! "$dir/bin/python" -m pip install --disable-pip-version-check --retries 2 $wanted >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    say_why "pip could not install the peers (is PyPI within reach?); the whole output is in $log"
fi
"$dir/bin/python" - >"$dir/peers.env" <<'END' || say_why "a peer cannot be imported (LightGBM needs Debian's libgomp1)"
import os, sys
import kernel_tuner, lightgbm, numpy, pyatf, xgboost
print("PEERS_PYTHON='%s'" % sys.executable)
print("LIBXGBOOST='%s'" % os.path.join(os.path.dirname(xgboost.__file__), "lib", "libxgboost.so"))
print("LIB_LIGHTGBM='%s'" % os.path.join(os.path.dirname(lightgbm.__file__), "lib", "lib_lightgbm.so"))
END
complete || say_why "the peers in '$dir' are not the versions wanted: remove '$dir' and try again"
