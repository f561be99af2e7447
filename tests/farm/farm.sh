# SPDX-License-Identifier: MIT
# farm.sh - what the farm tests share: a farm of the real programs on 127.0.0.1 in a folder of its own. Sourced, with $bin set.
set -eu

. "${scratch_from:-$(dirname "$0")/..}/scratch.sh"

# next_random MAX: a number in [0, MAX) of the stream $random (a linear congruential generator, Park and Miller).
next_random() {
    random=$((random * 48271 % 2147483647))
    echo_random=$((random % $1))
}

# start_tracker [URL]: on the given address, or on a free port; sets $tracker and $url.
start_tracker() {
    : >"$dir/tracker.out"
    "$bin/tune-tracker" --listen "${1:-tcp://127.0.0.1:0}" --store "$dir/store" --lease 3s --workers 0 >>"$dir/tracker.out" 2>&1 &
    tracker=$!
    children="$children $tracker"
    tries=0
    until grep -q "listening on" "$dir/tracker.out"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || fail "the tracker does not listen"
        sleep 0.1
    done
    url=$(sed -n 's/.*listening on \(tcp:[^ ]*\).*/\1/p' "$dir/tracker.out" | head -n 1)
}

# start_agent NAME ARGUMENTS...: sets $agent.
start_agent() {
    name=$1
    shift
    "$bin/tune-agent" --tracker "$url" --name "$name" -v "$@" >>"$dir/$name.out" 2>&1 &
    agent=$!
    children="$children $agent"
}

# wait_agent NAME: until the tracker knows it.
wait_agent() {
    tries=0
    until "$bin/tune" devices --tracker "$url" --json 2>/dev/null | grep -q "\"agent\":\"$1\""; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "agent $1 does not register"
        sleep 0.1
    done
}

# member NAME FILE: values of a text or number member in a file of JSON lines, one a line.
member() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\)\"\{0,1\}[,}].*/\1/p" "$2"
}

# recorded_space NAME COST_MS: a fully measured space of 400 configs, $dir/NAME.json and .csv.gz; some configs fail.
recorded_space() {
    values=$(seq -s, 1 20)
    printf '{"space":"%s","kernel":"farm","device":"test","params":[{"name":"a","values":[%s]},{"name":"b","values":[%s]}],"restrictions":[]}\n' \
        "$1" "$values" "$values" >"$dir/$1.json"
    awk -v cost="$2" 'BEGIN {
        print "a,b,status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms"
        for (a = 1; a <= 20; a++)
            for (b = 1; b <= 20; b++) {
                bad = (a * b) % 23 == 0
                time = bad ? "" : 1 + (a - 13) * (a - 13) / 50 + (b - 7) * (b - 7) / 30
                printf "%d,%d,%s,%s,%d,5,1,2,0\n", a, b, bad ? "runtime" : "ok", time, cost
            }
    }' | gzip >"$dir/$1.csv.gz"
}
