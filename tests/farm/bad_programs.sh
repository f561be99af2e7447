#!/bin/sh
# SPDX-License-Identifier: MIT
# bad_programs.sh BIN EXAMPLES - a person's own programs that hang, crash, are wrong, do not compile or eat memory: each becomes a record with
# its status, and the same agent goes on to measure a good one.
bin=$1
examples=$2
. "$(dirname "$0")/farm.sh"

start_tracker
start_agent only --key test --device opencl
wait_agent only

# measured PROGRAM STATUS...: one of these statuses
measured() {
    program=$1
    shift
    rm -f "$dir/one.jsonl"
    timeout 60 "$bin/tune" measure --tracker "$url" --key test --program "$examples/$program.json" --run-timeout 5 -o "$dir/one.jsonl" \
        >"$dir/measure.out" 2>&1 || true
    [ -s "$dir/one.jsonl" ] || fail "$program left no record"
    status=$(sed -n 's/.*"status":"\([a-z]*\)".*/\1/p' "$dir/one.jsonl")
    for expected in "$@"; do
        if [ "$status" = "$expected" ]; then
            echo "$program: $status"
            return 0
        fi
    done
    cut -c1-600 "$dir/one.jsonl" >&2
    fail "$program: status $status, expected $*"
}

measured saxpy ok
measured hang timeout
measured segfault crash
measured wrong wrong
measured nocompile compile
measured hog limits
cp "$examples"/*.cl "$dir"
sed 's/"workload": "saxpy/"workload": "saxpy again/' "$examples/saxpy.json" >"$dir/again.json"
examples=$dir
measured again ok
