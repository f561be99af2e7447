#!/bin/sh
# SPDX-License-Identifier: MIT
# kills.sh BIN FIRST LAST - kill -9 of an agent in mid-lease or of the tracker in mid-job, at a moment drawn from each seed FIRST..LAST:
# the job ends, the log has every trial once, the store has the same records line for line, and each agent had work.
bin=$1
. "$(dirname "$0")/farm.sh"

trials=48
export TUNE_REPLAY_DELAY=real

# one_moment SEED
one_moment() {
    random=$((1000 + $1 * 7919))
    rm -rf "$dir/store" "$dir"/*.out "$dir"/*.jsonl
    start_tracker
    start_agent first --device "replay:$dir/space.json" --key test --batch 4
    first=$agent
    start_agent second --device "replay:$dir/space.json" --key test --batch 4
    second=$agent
    wait_agent first
    wait_agent second
    "$bin/tune" run --tracker "$url" --key test --device "replay:$dir/space.json" --strategy random --trials "$trials" --seed "$1" -q \
        -o "$dir/run.jsonl" >"$dir/run.out" 2>&1 &
    run=$!
    children="$children $run"

    # not before the first records are there, and not when the job is nearly over
    tries=0
    until [ -s "$dir/run.jsonl" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || fail "seed $1: no record after 20 s"
        sleep 0.1
    done
    next_random 100
    sleep "0.$(printf '%02d' "$echo_random")"
    next_random 3
    case $echo_random in
    0)
        victim=tracker
        kill -9 "$tracker"
        wait "$tracker" 2>/dev/null || true
        next_random 9
        sleep "0.$((echo_random + 1))"
        start_tracker "$url"
        ;;
    1)
        victim="first agent"
        kill -9 "$first"
        wait "$first" 2>/dev/null || true
        start_agent first --device "replay:$dir/space.json" --key test --batch 4
        first=$agent
        ;;
    2) # does not come back: its leases run out
        victim="second agent"
        kill -9 "$second"
        wait "$second" 2>/dev/null || true
        ;;
    esac

    wait "$run" || fail "seed $1: $victim killed: tune run ended with $?"
    check "$1: $victim killed"
    kill -9 "$tracker" "$first" "$second" 2>/dev/null || true
    wait "$tracker" "$first" "$second" 2>/dev/null || true
    children=""
}

# check WORDS: log, store and agents agree.
check() {
    grep '"purpose":"search"' "$dir/run.jsonl" >"$dir/search.jsonl"
    n=$(wc -l <"$dir/search.jsonl")
    [ "$n" -eq "$trials" ] || fail "seed $1: $n records of $trials trials"
    member id "$dir/run.jsonl" | sort | uniq -d >"$dir/twice"
    [ ! -s "$dir/twice" ] || fail "seed $1: a trial has two records: $(cat "$dir/twice")"
    sed 's/.*"knobs":\({[^}]*}\).*/\1/' "$dir/search.jsonl" | sort | uniq -d >"$dir/twice"
    [ ! -s "$dir/twice" ] || fail "seed $1: a config was measured twice: $(cat "$dir/twice")"

    "$bin/tune" attach j1 --tracker "$url" -o "$dir/store.jsonl" >"$dir/attach.out" 2>&1 || fail "seed $1: tune attach ended with $?"
    sort "$dir/run.jsonl" >"$dir/a"
    sort "$dir/store.jsonl" >"$dir/b"
    cmp -s "$dir/a" "$dir/b" || fail "seed $1: the log and the store differ: $(diff "$dir/a" "$dir/b" | head -n 4 | cut -c1-200)"

    for name in first second; do
        n=$(member agent "$dir/run.jsonl" | grep -c "^$name\$") || fail "seed $1: agent $name had no work"
        # an agent tells of a trial when it has measured it; what the log has from it, it must have told of
        for id in $(grep "\"agent\":\"$name\"" "$dir/run.jsonl" | sed 's/.*"id":"\([^"]*\)".*/\1/'); do
            grep -q "$id " "$dir/$name.out" || fail "seed $1: agent $name knows nothing of trial $id"
        done
    done
    echo "seed $1: $trials trials, log and store agree, first $(grep -c '"agent":"first"' "$dir/run.jsonl"), second $n"
}

recorded_space space 80
seed=$2
while [ "$seed" -le "$3" ]; do
    one_moment "$seed"
    seed=$((seed + 1))
done
