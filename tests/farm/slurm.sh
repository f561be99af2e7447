#!/bin/sh
# SPDX-License-Identifier: MIT
# slurm.sh BIN SCRIPT - share/slurm's job script under a stand-in for Slurm: environment and signals as sbatch gives them, scontrol written down.
bin=$1
script=$2
. "$(dirname "$0")/farm.sh"
export TUNE_REPLAY_DELAY=real
mkdir "$dir/bin" "$dir/home"
printf '#!/bin/sh\necho "$@" >>"%s/scontrol.out"\n' "$dir" >"$dir/bin/scontrol"
chmod +x "$dir/bin/scontrol"

# start_job ID NAME=VALUE...: the script as slurmd starts it on a node; sets $job.
start_job() {
    id=$1
    shift
    env -i PATH="$dir/bin:$bin:/usr/bin:/bin" HOME="$dir/home" TMPDIR="$dir" TUNE_REPLAY_DELAY=real SLURM_JOB_ID="$id" \
        SLURMD_NODENAME=node1 SLURM_CPUS_ON_NODE=2 "$@" bash "$script" >"$dir/job$id.out" 2>&1 &
    job=$!
    children="$children $job"
}

# Options of sbatch are comments of the script: those that it stands on are there, spelt as sbatch wants them.
for option in --signal=B:TERM@60 --requeue --time= --open-mode=append; do
    grep -q "^#SBATCH $option" "$script" || fail "the script does not ask for $option"
done

start_job 1
code=0
wait "$job" || code=$?
[ "$code" -eq 2 ] && grep -q "TUNE_TRACKER" "$dir/job1.out" || fail "without a tracker: $code, $(cat "$dir/job1.out")"

start_tracker
recorded_space slow 100
start_job 2 TUNE_TRACKER="$url" TUNE_KEY=slow TUNE_DEVICE="replay:$dir/slow.json" AGENT_OPTIONS="--name on-node1 --batch 4"
wait_agent on-node1
"$bin/tune" run --tracker "$url" --key slow --device "replay:$dir/slow.json" --strategy random --trials 60 -q -o "$dir/log.jsonl" >"$dir/run.out" 2>&1 &
run=$!
children="$children $run"
tries=0
until [ -f "$dir/log.jsonl" ] && [ "$(grep -c search "$dir/log.jsonl" || true)" -ge 2 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "nothing was measured: $(cat "$dir/job2.out")"
    sleep 0.1
done
kill -TERM "$job" # its time is over in a minute: to the batch shell alone
code=0
wait "$job" || code=$?
[ "$code" -eq 0 ] || fail "the job ended with $code: $(cat "$dir/job2.out")"
[ "$(cat "$dir/scontrol.out")" = "requeue 2" ] || fail "the job was not queued anew: $(cat "$dir/scontrol.out")"
"$bin/tune" devices --tracker "$url" --json | grep '"agent":"on-node1"' | grep -q '"leased":[1-9]' && fail "the agent kept a lease"

# queued anew, on another node, as a task of an array, with its settings in a file
mkdir -p "$dir/home/.config/tune"
printf 'TUNE_TRACKER=%s\nTUNE_KEY=slow\nTUNE_DEVICE=replay:%s/slow.json\nAGENT_OPTIONS="--name on-node2 --batch 4"\n' "$url" "$dir" >"$dir/home/.config/tune/slurm.env"
start_job 3 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=5
code=0
wait "$run" || code=$?
[ "$code" -eq 0 ] || fail "tune run ended with $code: $(cat "$dir/run.out")"
kill -TERM "$job"
wait "$job" || fail "the second job ended with $?"
[ "$(tail -n 1 "$dir/scontrol.out")" = "requeue 7_5" ] || fail "the task was not queued anew: $(cat "$dir/scontrol.out")"
grep '"purpose":"search"' "$dir/log.jsonl" | sed 's/.*"knobs":\({[^}]*}\).*/\1/' | sort | uniq -d >"$dir/twice"
[ ! -s "$dir/twice" ] || fail "measured twice: $(cat "$dir/twice")"
for name in on-node1 on-node2; do
    grep -q "\"agent\":\"$name\"" "$dir/log.jsonl" || fail "$name measured nothing"
done

# an agent that ends by itself (a device that is not there) ends the job with its code, and nothing is queued anew
start_job 4 TUNE_TRACKER="$url" TUNE_DEVICE=replay:/nowhere.json HOME="$dir/nobody"
code=0
wait "$job" || code=$?
[ "$code" -ne 0 ] || fail "a job without a device ended well"
[ "$(wc -l <"$dir/scontrol.out")" -eq 2 ] || fail "a job without a device is queued for ever"

rm "$dir/home/.config/tune/slurm.env"
# where Slurm gives a GPU the agent is told so
printf '#!/bin/sh\necho "$@"\n' >"$dir/bin/tune-agent"
chmod +x "$dir/bin/tune-agent"
start_job 5 TUNE_TRACKER="$url" SLURM_JOB_GPUS=2 CUDA_VISIBLE_DEVICES=0
wait "$job" && grep -q -- "--device cuda:0" "$dir/job5.out" || fail "with a GPU: $(cat "$dir/job5.out")"
start_job 6 TUNE_TRACKER="$url"
wait "$job" && grep -q -- "--device opencl" "$dir/job6.out" || fail "without a GPU: $(cat "$dir/job6.out")"
echo "slurm: signalled, requeued, taken up on another node"
