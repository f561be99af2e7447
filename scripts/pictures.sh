#!/bin/sh
# SPDX-License-Identifier: MIT
# pictures.sh [BUILD] - draws docs/pictures/page-*.png and terminal-run.png anew: the tracker's page over a farm that tests/page/page_farm plays, in
# a headless Chromium, and `tune run` on a recorded space. BUILD is the build folder (build).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

build=${1:-build}
[ -x "$build/tests/page_farm" ] || fail "there is no $build/tests/page_farm: build it first"
python3 tests/page/page.py "$build/bin" "$build/tests" docs/pictures
for picture in docs/pictures/page-*.png docs/pictures/terminal-run.png; do
    [ "$(wc -c <"$picture")" -lt 150000 ] || fail "$picture has over 150 kB"
done
