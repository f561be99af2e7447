#!/bin/sh
# SPDX-License-Identifier: MIT
# smoke.sh BIN - the benches of the brain on tiny made data; exit 77 (skipped) without the peers of install_peers.sh.
# PEERS_DIR names their folder (default out/peers).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peers=${PEERS_DIR:-$here/../../../out/peers}
if [ ! -f "$peers/peers.env" ]; then
    echo "no peers in '$peers': tests/bench/brain/install_peers.sh makes them"
    exit 77
fi
. "$peers/peers.env"
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$PEERS_PYTHON" "$here/smoke.py" --tune "$1/tune"
