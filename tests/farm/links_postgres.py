#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links_postgres.py BIN - a farm on hosts of their own (hosts.py) over a PostgreSQL server on another; while it works, the link between the server and the
tracker at work swallows all packets. That tracker ends in words, a standby on another host has the store soon, each config is measured once, and the
server keeps no connection of the one that was cut off. Exit 77: no root, TUN devices or PostgreSQL server."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
from hosts import Net, enter, write_space

enter(as_root=True)
from farm import BIN, DIR, ENV, Server, end_all, need, start, tune, until

N_TRIALS = 40


class FarServer(Server):
    def start(self):
        with open(self.folder + "/data/pg_hba.conf", "a") as f:
            f.write("host all all 10.77.0.0/24 trust\n")
        who = [f"--setuid={self.user['user']}", f"--setgid={self.user['group']}"]
        self.process = start("server", *DB.enter(*who), self.program, "-D", self.folder + "/data", "-k", self.folder, "-c", "fsync=off", "-c",
                             f"listen_addresses={DB.address}", cwd="/")
        self.address = f"postgres://tune@{DB.address}/postgres"
        until(lambda: os.path.exists(self.folder + "/.s.PGSQL.5432"), "the server does not listen")


def log_of(name):
    return open(f"{DIR}/{name}.log").read()


def n_records():
    return open(DIR + "/log.jsonl").read().count('"purpose":"search"') if os.path.exists(DIR + "/log.jsonl") else 0


def main():
    server = FarServer()
    tune("keygen", DIR + "/farm.key")
    ENV["TUNE_KEY_FILE"] = DIR + "/farm.key"
    urls = {t: f"tcp://{t.address}:9477" for t in (FIRST, SECOND)}
    trackers = []
    for name, t in (("first", FIRST), ("second", SECOND)):
        trackers.append(t.start(name, f"{BIN}/tune-tracker", "--standby", "--listen", urls[t], "--store", server.address, "--lease", "4", "--workers", "0"))
        until(lambda: "listening on" in log_of("first"), "the first tracker serves")
    ENV["TUNE_TRACKER"] = ",".join(urls.values())
    device = write_space(DIR + "/space", 250)
    AGENT.start("agent", f"{BIN}/tune-agent", "--name", "a", "--key", "k", "--device", device, "--batch", "4")
    run = USER.start("run", f"{BIN}/tune", "run", "--device", device, "--key", "k", "--trials", str(N_TRIALS), "--strategy", "random", "--seed", "1", "-q", "-o",
                     DIR + "/log.jsonl")
    until(lambda: n_records() > 4, "the work goes on")

    net.cut(FIRST, DB)
    cut_s = time.monotonic()
    until(lambda: trackers[0].poll() is not None, "the tracker that was cut off ends", 30)
    print(f"the tracker that was cut off ended {time.monotonic() - cut_s:.1f} s behind it: {log_of('first').splitlines()[-1]}")
    need(trackers[0].returncode == 1 and "PostgreSQL: " in log_of("first"), "it ended without words")
    until(lambda: "listening on" in log_of("second"), "the standby serves", 30)
    print(f"the standby served {time.monotonic() - cut_s:.1f} s behind it, at {n_records()} records")
    until(lambda: not DB.connections(FIRST, 5432), "the server gives the connections of the one that was cut off up", 40)
    print(f"the server had no connection of it {time.monotonic() - cut_s:.1f} s behind it")
    need(run.wait(90) == 0, "tune run failed")
    configs = [json.dumps(r["knobs"], sort_keys=True) for r in map(json.loads, open(DIR + "/log.jsonl")) if r["purpose"] == "search"]
    need(len(configs) == N_TRIALS and len(set(configs)) == N_TRIALS, f"{len(configs)} search records, {len(set(configs))} configs")
    print(f"all records {time.monotonic() - cut_s:.1f} s behind it")


try:
    net = Net(5)
    DB, FIRST, SECOND, USER, AGENT = net.hosts
    main()
finally:
    end_all()
