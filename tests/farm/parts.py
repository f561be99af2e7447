#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""parts.py BIN SPACE - a farm in two parts over one PostgreSQL server: three trackers of which one stands by, agents, a `tune run` and submitted jobs in
both parts; the trackers that have a part are killed in turn with leases out. Each config is measured once, people see one farm, and what a part that is
away has is told to be left out. Exit 77: no PostgreSQL server is installed."""
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
from farm import BIN, DIR, ENV, Server, Tracker, end_all, key_of, need, start, tune, until

SPACE = sys.argv[2]
N_TRIALS = 50


def searched(log):
    return [json.dumps(r["knobs"], sort_keys=True) for r in map(json.loads, open(log)) if r["purpose"] == "search"] if os.path.exists(log) else []


def check_log(log, words):
    configs = searched(log)
    need(len(configs) == N_TRIALS, f"{words}: {len(configs)} search records, expected {N_TRIALS}")
    need(len(set(configs)) == N_TRIALS, f"{words}: a config was measured twice")


def main():
    store = Server().address
    trackers = [Tracker(f"tracker-{i}", "--standby", "--parts", "2", "--store", store, "--lease", "3", "--workers", "8") for i in range(3)]
    until(lambda: sum(t.listens() for t in trackers) == 2, "two trackers serve")
    ENV["TUNE_TRACKER"] = ",".join(t.url for t in trackers)
    keys = [key_of(1), key_of(2)]
    agents = [start(f"agent-{k}-{i}", f"{BIN}/tune-agent", "--tracker", ENV["TUNE_TRACKER"], "--device", "replay:" + SPACE, "--key", k, "--name",
                    f"{k}-{i}", "--batch", "4") for k in keys for i in range(2)]
    until(lambda: len(json.loads(tune("devices", "--json")[0])["devices"]) == 4, "four devices of both parts")

    # One user's run, and a job in each part that its tracker's own worker drives.
    options = ["--device", "replay:" + SPACE, "--strategy", "random", "--trials", str(N_TRIALS)]
    runs = [start(f"run-{k}", f"{BIN}/tune", "run", "--key", k, *options, "--seed", "1", "-q", "-o", f"{DIR}/run-{k}.jsonl") for k in keys]
    jobs = [tune("submit", "--key", k, *options, "--seed", "2")[0].strip() for k in keys for _ in range(2)]
    need({int(j[1:]) % 2 for j in jobs[:2]} == {1} and {int(j[1:]) % 2 for j in jobs[2:]} == {0}, f"jobs {jobs} are of other parts")

    n_killed = 0
    while n_killed < 8:
        before = [len(searched(f"{DIR}/run-{k}.jsonl")) for k in keys]
        until(lambda: all(len(searched(f"{DIR}/run-{k}.jsonl")) > n or r.poll() is not None for k, n, r in zip(keys, before, runs)), "the work goes on")
        victim = [t for t in trackers if t.listens()][n_killed % 2]
        victim.kill()
        until(lambda: sum(t.listens() for t in trackers) == 2, "another tracker takes the part over")
        victim.start()
        n_killed += 1
    for r in runs:
        need(r.wait(120) == 0, "tune run failed")
    for k in keys:
        check_log(f"{DIR}/run-{k}.jsonl", f"run on {k}")
    for j in jobs:
        until(lambda: json.loads(tune("status", j, "--json")[0])["state"] == "done", f"job {j} is done", 120)
        tune("attach", j, "-q", "-o", f"{DIR}/{j}.jsonl")
        check_log(f"{DIR}/{j}.jsonl", f"job {j}")

    # One farm for people.
    listed = [json.loads(line) for line in tune("list", "--json")[0].splitlines()]
    need(len(listed) == 6 and {j["key"] for j in listed} == set(keys), f"listed: {listed}")
    need([j["created_ms"] for j in listed] == sorted((j["created_ms"] for j in listed), reverse=True), "the list is not by age")
    need(len(tune("list", "--json", "--max", "3")[0].splitlines()) == 3, "the list has more than was asked for")
    need([json.loads(line)["part"] for line in tune("status", "--json")[0].splitlines()] == [1, 2], "status is not of both parts")
    tune("devices", "drain", f"{keys[1]}-0")
    modes = {d["agent"]: d.get("mode") for d in json.loads(tune("devices", "--json")[0])["devices"]}
    need(modes[f"{keys[1]}-0"] == "drain" and modes[f"{keys[0]}-0"] is None, f"drained: {modes}")
    need("expected --part 1 to 2" in tune("work", "--once", code=1)[1], "tune work takes all parts")
    tune("work", "--once", "--part", "2")
    need("expected the job's key" in tune("run", *options, "-o", DIR + "/none.jsonl", code=1)[1], "a job without a key was taken")

    # A part without a tracker.
    for t in [t for t in trackers if not t.listens()]:
        t.kill()
    [t for t in trackers if t.listens()][0].kill()
    out, words = tune("list", "--json", code=3)
    need(len(out.splitlines()) == 3 and "what it has is left out" in words, f"of one part: {out}{words}")
    for a in agents:
        a.send_signal(signal.SIGTERM)
    print(f"parts: {n_killed} trackers killed, 6 jobs of {N_TRIALS} trials in two parts")


try:
    main()
finally:
    end_all()
