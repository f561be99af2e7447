#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replicas.py BIN - a farm over a PostgreSQL server that waits for its replica. While three users' runs are at work the server is killed, for ever, and the
replica promoted: trackers with the addresses of both go on over it, each config is measured once, and what users were told is there."""
import json
import sys
import time

sys.dont_write_bytecode = True
from farm import BIN, DIR, ENV, Server, Tracker, end_all, need, start, tune, until
from hosts import write_space

N_USERS, N_TRIALS = 3, 40


def records(i):
    try:
        lines = open(f"{DIR}/log-{i}.jsonl").read().split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [r for r in map(json.loads, lines) if r["purpose"] == "search"]


def words_of(name):
    return open(f"{DIR}/{name}.log").read()


def main():
    first = Server("first", options=("-c", "synchronous_standby_names=second"))
    second = Server("second", of=first, options=("-c", "synchronous_standby_names="))
    until(lambda: first.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "the replica follows")
    need(second.sql("SELECT pg_is_in_recovery()") == "t", "the replica is one")
    store = f"postgres://tune@/postgres?host={first.folder},{second.folder}&target_session_attrs=read-write"
    trackers = [Tracker(name, "--standby", "--store", store, "--lease", "4", "--workers", "0") for name in ("here", "there")]
    until(lambda: any(t.listens() for t in trackers), "a tracker serves")
    ENV["TUNE_TRACKER"] = ",".join(t.url for t in trackers)
    device = write_space(DIR + "/space", 100)
    for name in "ab":
        start("agent-" + name, f"{BIN}/tune-agent", "--name", name, "--key", "k", "--device", device, "--batch", "4")
    runs = [start(f"run-{i}", f"{BIN}/tune", "run", "--device", device, "--key", "k", "--trials", str(N_TRIALS), "--strategy", "random", "--seed", str(i), "-q",
                  "-o", f"{DIR}/log-{i}.jsonl") for i in range(N_USERS)]
    until(lambda: all(len(records(i)) > 4 for i in range(N_USERS)), "the work goes on")

    first.kill()
    killed_s = time.monotonic()
    time.sleep(1.5)
    told = [r for i in range(N_USERS) for r in records(i)]
    need(second.sql("SELECT pg_promote()") == "t", "the replica is promoted")
    lines = second.sql("SELECT convert_from(line, 'UTF8') FROM records").split("\n")
    stored = {r["id"]: r for r in map(json.loads, filter(None, lines))}
    need(all(stored.get(r["id"]) == r for r in told), "records that users had are not in the promoted server")
    until(lambda: any(t.listens() for t in trackers), "a tracker serves over the promoted one", 40)
    print(f"served {time.monotonic() - killed_s:.1f} s behind the server's death, at {len(told)} records")
    for i, run in enumerate(runs):
        need(run.wait(120) == 0, f"run {i} failed: {words_of(f'run-{i}')}")
        configs = {json.dumps(r["knobs"], sort_keys=True) for r in records(i)}
        need(len(records(i)) == N_TRIALS and len(configs) == N_TRIALS, f"{len(records(i))} records of {len(configs)} configs")
    print(f"all records {time.monotonic() - killed_s:.1f} s behind it")


try:
    main()
finally:
    end_all()
