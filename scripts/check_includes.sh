#!/bin/sh
# SPDX-License-Identifier: MIT
# check_includes.sh - fails on any include that docs/design.md's table of rooms does not allow, and on circles between the folders of a
# room (its top folder, where its tables stand, aside), and on files that name what core/err.h, buf.h, json.h or a standard header declares
# without including it (ground_includes.py). --fix [ROOM...]: puts these includes in.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

if [ "${1:-}" = --fix ]; then
    shift
    # shellcheck disable=SC2086 # a list of rooms
    [ $# -gt 0 ] || set -- $rooms
    exec python3 scripts/ground_includes.py --fix "$@"
fi

# room: what it may include, as prefixes of root-relative paths
allowed() {
    program="runtime/program.h runtime/dtype.h runtime/device_desc.h runtime/cuda_arch.h"
    wire="tracker/calls.h tracker/calls_list.h tracker/client.h tracker/protocol.h tracker/transport.h tracker/tls.h tracker/address.h tracker/certs.h"
    case "$1" in
    core) echo "core/" ;;
    search_space) echo "core/ search_space/" ;;
    cost_model) echo "core/ cost_model/" ;;
    logs) echo "core/ logs/" ;;
    exec) echo "exec/" ;;
    runtime) echo "core/ exec/ runtime/" ;;
    kernels) echo "core/ search_space/ kernels/ $program" ;;
    onnx) echo "core/ kernels/graph.h kernels/eltwise/expression.h kernels/norm/epsilon.h onnx/ $program" ;;
    libtune) echo "core/ search_space/ logs/ exec/ runtime/ kernels/ libtune/" ;;
    page) echo "core/ page/" ;;
    tracker) echo "core/ page/ logs/hub/hub.h tracker/" ;;
    agent) echo "core/ runtime/ logs/ agent/ $wire" ;;
    search) echo "core/ search_space/ cost_model/ search/" ;;
    formats) echo "core/ search_space/ logs/ kernels/ formats/ $program" ;;
    deploy) echo "core/ logs/ exec/ runtime/ kernels/ libtune/ formats/ deploy/" ;;
    tuner) echo "core/ search_space/ logs/ runtime/ kernels/ search/ formats/ tuner/ $wire" ;;
    cli) echo "core/ search_space/ cost_model/ logs/ runtime/ kernels/ libtune/ search/ formats/ deploy/ tuner/ onnx/import.h onnx/quantise.h page/ cli/ $wire" ;;
    esac
}

found=0
checked=0
for room in $rooms; do
    [ -d "$room" ] || continue
    prefixes=$(allowed "$room")
    report=$(find "$room" -name '*.[ch]' -exec grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + |
        awk -v room="$room" -v prefixes="$prefixes" '
            BEGIN { n = split(prefixes, prefix, " ") }
            {
                path = $0; sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
                place = $0; sub(/:[[:space:]]*#.*/, "", place)
                if (place ~ /^libtune\/bundle\// && path !~ /\//) next # goes into bundles as it is
                for (i = 1; i <= n; i++) if (index(path, prefix[i]) == 1) next
                printf "%s: %s may not include \"%s\" (allowed: %s)\n", place, room, path, prefixes
            }')
    checked=$((checked + 1))
    if [ -n "$report" ]; then
        printf '%s\n' "$report"
        found=1
    fi
done
# shellcheck disable=SC2086 # a list of folders
circles=$(find $rooms -name '*.[ch]' -exec grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]*/[^"]*"' {} + |
    sed -E 's|^(.*)/[^/:]*:.*"(.*)/[^/"]*"$|\1 \2|' | awk '$1 != $2 && $1 ~ "/" && $2 ~ "/"' | sort -u | tsort 2>&1 >/dev/null) || true
if [ -n "$circles" ]; then
    echo "folders that include one another in a circle:"
    printf '%s\n' "$circles" | sed 's/^tsort: //'
    found=1
fi
# shellcheck disable=SC2086 # a list of rooms
python3 scripts/ground_includes.py $rooms || found=1
[ "$found" -eq 0 ] || exit 1
echo "include directions: $checked rooms, all as the design allows, no circle between folders"
