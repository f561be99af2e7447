#!/bin/sh
# SPDX-License-Identifier: MIT
# jobs.sh BIN - the life of jobs on recorded spaces: submitted and driven by `tune work`, side by side, taken over from a killed run, interrupted and
# resumed, ended by time or for lack of progress, wholly failed, answered from the store by what others measured, started from earlier records; and bridged anchors.
bin=$1
. "$(dirname "$0")/farm.sh"
export TUNE_REPLAY_DELAY=real

# run_on KEY LOG ARGUMENTS...: tune run on the recorded space of that name, through the tracker
run_on() {
    key=$1
    log=$2
    shift 2
    "$bin/tune" run --tracker "$url" --key "$key" --device "replay:$dir/$key.json" --strategy random -o "$dir/$log.jsonl" "$@"
}

# start_on KEY LOG ARGUMENTS...: the same in the background; sets $run
start_on() {
    (
        key=$1
        log=$2
        shift 2
        exec "$bin/tune" run --tracker "$url" --key "$key" --device "replay:$dir/$key.json" --strategy random -q -o "$dir/$log.jsonl" "$@" >"$dir/$log.out" 2>&1
    ) &
    run=$!
    children="$children $run"
}

# n_search LOG: how many search records
n_search() {
    grep -c '"purpose":"search"' "$dir/$1.jsonl" || true
}

# expect_search LOG N WORDS: exactly N search records, no config twice
expect_search() {
    [ "$(n_search "$1")" -eq "$2" ] || fail "$3: $(n_search "$1") search records, expected $2"
    configs "$1" | sort | uniq -d >"$dir/twice"
    [ ! -s "$dir/twice" ] || fail "$3: measured twice: $(cat "$dir/twice")"
}

# configs LOG: the knobs of each search record
configs() {
    grep '"purpose":"search"' "$dir/$1.jsonl" | sed 's/.*"knobs":\({[^}]*}\).*/\1/'
}

# wait_lines FILE N: until the file has that many lines
wait_lines() {
    tries=0
    until [ "$(wc -l 2>/dev/null <"$1" || echo 0)" -ge "$2" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || fail "$1 has less than $2 lines after 20 s"
        sleep 0.1
    done
}

# state_of JOB
state_of() {
    "$bin/tune" status "$1" --tracker "$url" --json | sed -n 's/.*"state":"\([a-z]*\)".*/\1/p'
}

# wait_done JOB
wait_done() {
    tries=0
    until [ "$(state_of "$1")" = "done" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 150 ] || fail "job $1 is $(state_of "$1") after 30 s"
        sleep 0.2
    done
}

newest_job() {
    "$bin/tune" list --tracker "$url" --json | grep -o '"job":"j[0-9]*"' | head -n 1 | sed 's/.*"\(j[0-9]*\)"/\1/'
}

# done_by AGENT: how many trials the tracker counts as done by it
done_by() {
    "$bin/tune" devices --tracker "$url" --json | grep -o "{[^{]*\"agent\":\"$1\".*" | sed 's/.*"done":\([0-9]*\).*/\1/'
}

submitted_job_is_driven_by_work_and_followed() {
    job=$("$bin/tune" submit --tracker "$url" --key fast --device "replay:$dir/fast.json" --trials 40 --strategy random)
    [ "$(state_of "$job")" = open ] || fail "job $job is $(state_of "$job") before anyone drives it"
    "$bin/tune" work --tracker "$url" --once -q >"$dir/work.out" 2>&1 || fail "tune work --once ended with $?"
    [ "$(state_of "$job")" = "done" ] || fail "job $job is $(state_of "$job")"
    "$bin/tune" attach "$job" --tracker "$url" --json -o "$dir/attached.jsonl" >"$dir/events.out" || fail "attach ended with $?"
    expect_search attached 40 "attached"
    [ "$(grep -c -e '"event":"measured"' -e '"event":"best"' "$dir/events.out")" -eq 40 ] || fail "attach did not tell 40 records"
    tail -n 1 "$dir/events.out" | grep -q '"event":"done".*"end":"done"' || fail "attach's last event is not done"
    [ -s "$dir/attached.best.jsonl" ] || fail "attach wrote no best log"
}

work_takes_over_from_a_killed_run() {
    start_on slow killed --trials 60 --seed 1
    wait_lines "$dir/killed.jsonl" 5
    job=$(newest_job)
    kill -9 "$run"
    wait "$run" 2>/dev/null || true
    "$bin/tune" work --tracker "$url" -q >"$dir/work.out" 2>&1 &
    worker=$!
    children="$children $worker"
    wait_done "$job"
    kill -INT "$worker"
    wait "$worker" || fail "an interrupted tune work ended with $?"
    "$bin/tune" attach "$job" --tracker "$url" -q -o "$dir/taken.jsonl" || fail "attach ended with $?"
    expect_search taken 60 "taken over"
    sort "$dir/killed.jsonl" >"$dir/a"
    sort "$dir/taken.jsonl" >"$dir/b"
    [ -z "$(comm -23 "$dir/a" "$dir/b")" ] || fail "the killed run logged what the job has not"
}

# Of three submitted jobs the first is for a board that is off and the second long: the third is done meanwhile.
jobs_run_side_by_side() {
    off=$("$bin/tune" submit --tracker "$url" --key off --device "replay:$dir/fast.json" --trials 10 --strategy random)
    long=$("$bin/tune" submit --tracker "$url" --key slow --device "replay:$dir/slow.json" --trials 390 --seed 9 --strategy random)
    short=$("$bin/tune" submit --tracker "$url" --key fast --device "replay:$dir/fast.json" --trials 20 --seed 9 --strategy random)
    "$bin/tune" work --tracker "$url" -q >"$dir/work.out" 2>&1 &
    worker=$!
    children="$children $worker"
    wait_done "$short"
    [ "$(state_of "$long")" = running ] || fail "side by side: the long job is $(state_of "$long")"
    [ "$(state_of "$off")" = running ] || fail "side by side: the job without a board is $(state_of "$off")"
    kill -TERM "$worker"
    wait "$worker" || fail "side by side: tune work ended with $?"
    [ "$(state_of "$long")" = open ] || fail "side by side: after tune work the long job is $(state_of "$long")"
    "$bin/tune" cancel "$long" "$off" --tracker "$url" -q
}

interrupted_run_is_cancelled_and_goes_on_from_its_log() {
    start_on slow stopped --trials 50 --seed 2
    wait_lines "$dir/stopped.jsonl" 5
    job=$(newest_job)
    kill -INT "$run"
    code=0
    wait "$run" || code=$?
    [ "$code" -eq 4 ] || fail "Ctrl-C: exit code $code, expected 4"
    [ "$(state_of "$job")" = cancelled ] || fail "Ctrl-C: job $job is $(state_of "$job")"
    before=$(n_search stopped)
    [ "$before" -lt 50 ] || fail "Ctrl-C came too late: $before records"
    "$bin/tune" best "$dir/stopped.jsonl" >"$dir/a" || fail "Ctrl-C: the log has no best"
    "$bin/tune" best "$dir/stopped.best.jsonl" >"$dir/b" || fail "Ctrl-C: there is no best log"
    cmp -s "$dir/a" "$dir/b" || fail "Ctrl-C: the best log has $(cat "$dir/b"), the log $(cat "$dir/a")"
    run_on slow stopped --trials 50 --seed 2 -q >"$dir/resumed.out" 2>&1 || fail "the resumed run ended with $?"
    expect_search stopped 50 "resumed"
}

run_whose_job_another_cancels_says_so() {
    start_on slow unwanted --trials 50 --seed 4
    wait_lines "$dir/unwanted.jsonl" 3
    "$bin/tune" cancel "$(newest_job)" --tracker "$url" -q
    code=0
    wait "$run" || code=$?
    [ "$code" -eq 1 ] || fail "cancelled by another: exit code $code, expected 1"
    grep -q "the job j[0-9]* was cancelled" "$dir/unwanted.out" || fail "cancelled by another: $(cat "$dir/unwanted.out")"
}

time_budget_ends_a_run() {
    run_on slow timed --trials 400 --seed 3 --time 2s -q >"$dir/timed.out" 2>&1 || fail "--time: exit code $?"
    n=$(n_search timed)
    [ "$n" -gt 0 ] && [ "$n" -lt 400 ] || fail "--time 2s: $n records"
}

early_stopping_waits_for_as_many_as_it_says() {
    run_on fast early --trials 400 --seed 4 --early-stopping 40 -q >"$dir/early.out" 2>&1 || fail "--early-stopping: exit code $?"
    n=$(n_search early)
    best=$(grep -n '"status":"ok"' "$dir/early.jsonl" | sed 's/^\([0-9]*\):.*"time_ns":\([0-9.e+]*\).*/\2 \1/' | sort -g | head -n 1 | cut -d' ' -f2)
    [ "$n" -lt 400 ] || fail "--early-stopping 40: all $n were measured"
    [ $((n - best)) -ge 40 ] || fail "--early-stopping 40: $n records, the best is number $best"
}

a_run_ends_when_little_is_to_be_gained_or_the_target_is_reached() {
    run_on fast gained --trials 400 --seed 4 --min-gain 20% -q >"$dir/gained.out" 2>&1 || fail "--min-gain: exit code $?"
    n=$(n_search gained)
    [ "$n" -ge 32 ] && [ "$n" -lt 400 ] || fail "--min-gain 20%: $n records"
    grep -q "stopped: expected gain of the next 100 trials .* < 20 %" "$dir/gained.out" || fail "--min-gain: the reason is not told"
    run_on fast aimed --trials 400 --seed 4 --target 1000s -q >"$dir/aimed.out" 2>&1 || fail "--target: exit code $?"
    grep -q "stopped: the target of 1e+06 ms is reached" "$dir/aimed.out" || fail "--target: the reason is not told"
    [ "$(n_search aimed)" -lt 40 ] || fail "--target 1000s: $(n_search aimed) records"
}

wholly_failed_run_is_explained() {
    code=0
    run_on bad failed --trials 12 >"$dir/failed.out" 2>&1 || code=$?
    [ "$code" -eq 2 ] || fail "nothing valid: exit code $code, expected 2"
    grep -q "no valid config was found" "$dir/failed.out" || fail "nothing valid: not said"
    grep -q "12 x runtime" "$dir/failed.out" || fail "nothing valid: the reason is not counted"
    [ "$(state_of "$(newest_job)")" = failed ] || fail "nothing valid: the job is $(state_of "$(newest_job)")"
    code=0
    run_on bad failed --trials 12 >"$dir/again.out" 2>&1 || code=$? # all of it is in the log
    [ "$code" -eq 2 ] && grep -q "12 x runtime" "$dir/again.out" || fail "nothing valid, once more: exit code $code, $(cat "$dir/again.out")"
}

known_configs_come_from_the_store() {
    run_on fast once --trials 30 --seed 5 -q >"$dir/once.out" 2>&1 || fail "exit code $?"
    failed=$(grep -c '"status":"runtime"' "$dir/once.jsonl" || true)
    before=$(done_by fast)
    run_on fast again --trials 30 --seed 5 -q >"$dir/again.out" 2>&1 || fail "exit code $?"
    expect_search again 30 "from the store"
    [ $(($(done_by fast) - before)) -eq "$failed" ] || fail "from the store: the agent measured $(($(done_by fast) - before)) again, $failed had failed"
    job=$(newest_job)
    "$bin/tune" attach "$job" --tracker "$url" -q -o "$dir/followed.jsonl" || fail "from the store: attach ended with $?"
    expect_search followed 30 "from the store, by attach"
    least=$(grep '"status":"ok"' "$dir/again.jsonl" | sed 's/.*"time_ns":\([0-9.e+]*\).*/\1/' | sort -g | head -n 1)
    "$bin/tune" status "$job" --tracker "$url" --json | grep -q "\"best\":{\"time_ns\":$least," || fail "from the store: status has another best than $least ns"
}

# One after the other on one space, each against an anchor of its own: what the store answers is worth something else to each.
jobs_on_what_others_tuned_end() {
    for seed in 1 2 3 4 5 6 7 8; do
        timeout 20 "$bin/tune" run --tracker "$url" --key steep --device "replay:$dir/steep.json" --strategy random --trials 24 --seed "$seed" -q \
            -o "$dir/others$seed.jsonl" >"$dir/others.out" 2>&1 || fail "job $seed of others: exit code $?"
        expect_search "others$seed" 24 "job $seed of others"
        [ "$(grep -c '"purpose":"redo"' "$dir/others$seed.jsonl")" -le 4 ] || fail "job $seed of others: too many bridges"
    done
}

earlier_records_are_not_measured_again() {
    run_on fast warm --trials 30 --seed 5 --records "$dir/again.jsonl" -q >"$dir/warm.out" 2>&1 || fail "--records: exit code $?"
    expect_search warm 30 "--records"
    configs again | sort >"$dir/a"
    configs warm | sort >"$dir/b"
    [ -z "$(comm -12 "$dir/a" "$dir/b")" ] || fail "--records: measured what it knew"
}

# Times fall with the index, so the grid finds a best 4 times faster than the anchor again and again. Simulated times are exact: a record's
# ratio plus its bridge must be the logarithm of its time over the first anchor's, in every epoch.
anchors_are_bridged() {
    run_on steep steep --trials 200 --strategy grid -q >"$dir/steep.out" 2>&1 || fail "exit code $?"
    expect_search steep 200 "bridged"
    [ "$(grep -c '"purpose":"redo"' "$dir/steep.jsonl")" -ge 2 ] || fail "less than two bridges"
    grep '"lnratio":-\{0,1\}[0-9]' "$dir/steep.jsonl" |
        sed 's/.*"time_ns":\([0-9.e+-]*\),.*"lnratio":\([0-9.e+-]*\),.*"epoch":\([0-9]*\),"bridge":\([0-9.e+-]*\).*/\1 \2 \3 \4/' >"$dir/values"
    awk '
        { first = log($1) - $2 - $4; epochs[$3] = 1 }
        NR == 1 { least = most = first }
        first < least { least = first }
        first > most { most = first }
        END {
            for (e in epochs) n++
            if (NR < 150 || n < 3 || most - least > 1e-6) { print NR " values, " n " epochs, scales apart by " most - least; exit 1 }
            print NR " values on one scale in " n " epochs"
        }' "$dir/values" || fail "the epochs do not agree"
}

events_say_what_a_run_does() {
    run_on fast events --trials 10 --seed 6 --json >"$dir/events.out" || fail "--json: exit code $?"
    head -n 1 "$dir/events.out" | grep -q '"event":"device".*"agents":1' || fail "the first event is not the device"
    [ "$(member trials "$dir/events.out" | awk '{ n += $1 } END { print n }')" -ge 10 ] || fail "less than 10 trials were submitted"
    [ "$(grep -c -e '"event":"measured"' -e '"event":"best"' "$dir/events.out")" -eq 10 ] || fail "not one event for each record"
    tail -n 1 "$dir/events.out" | grep -q '"event":"done".*"end":"done".*"best":{' || fail "the last event has no result"
    [ "$(member seq "$dir/events.out" | awk '$1 != NR')" = "" ] || fail "events are not numbered from 1"
}

recorded_space fast 2
recorded_space slow 60
recorded_space bad 2
gzip -dc "$dir/bad.csv.gz" | sed 's/,ok,[^,]*,/,runtime,,/' | gzip >"$dir/bad.csv.new" && mv "$dir/bad.csv.new" "$dir/bad.csv.gz"
recorded_space steep 2
gzip -dc "$dir/steep.csv.gz" | awk -F, -v OFS=, 'NR > 1 { $3 = "ok"; $4 = 1000 / ($1 + 20 * ($2 - 1)) } { print }' | gzip >"$dir/steep.csv.new" &&
    mv "$dir/steep.csv.new" "$dir/steep.csv.gz"
start_tracker
for key in fast slow bad steep; do
    start_agent "$key" --key "$key" --device "replay:$dir/$key.json"
    wait_agent "$key"
done
for fact in submitted_job_is_driven_by_work_and_followed work_takes_over_from_a_killed_run jobs_run_side_by_side \
    interrupted_run_is_cancelled_and_goes_on_from_its_log run_whose_job_another_cancels_says_so time_budget_ends_a_run early_stopping_waits_for_as_many_as_it_says \
        a_run_ends_when_little_is_to_be_gained_or_the_target_is_reached \
    wholly_failed_run_is_explained known_configs_come_from_the_store earlier_records_are_not_measured_again events_say_what_a_run_does \
    anchors_are_bridged jobs_on_what_others_tuned_end; do
    began=$(date +%s)
    $fact
    echo "ok: $fact, $(($(date +%s) - began)) s"
done
