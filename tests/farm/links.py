#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links.py BIN - a farm of the real programs on hosts of their own (hosts.py). At the same time: of four keys' two agents one is cut off for 12 s, with
leases of 4 s, in mid-lease, in mid-result, and in mid-lease so that it alone is not heard, or hears nothing; a fifth key's agents are far away and lose
packets; and a host with an idle agent vanishes for good. Each run ends with each config once. Exit 77: no TUN devices, or no namespaces."""
import json
import os
import re
import sys
import threading
import time

sys.dont_write_bytecode = True
from hosts import Net, enter, write_space

enter()
from farm import BIN, DIR, ENV, end_all, need, tune, until

N_TRIALS = 40
CUT_S = 12


def check_log(log, n):
    configs = [json.dumps(r["knobs"], sort_keys=True) for r in map(json.loads, open(log)) if r["purpose"] == "search"]
    need(len(configs) == n and len(set(configs)) == n, f"{log}: {len(configs)} search records, {len(set(configs))} configs, expected {n}")


class Cut:
    """What befalls one of a key's two agents: it is cut off when it first makes the call `op`, and back CUT_S later."""

    def __init__(self, key, op, ways):
        self.key, self.op, self.ways = key, op.encode(), ways
        self.held = set()  # trials that were granted to it before
        self.cut_s = self.mended_s = self.taken_s = self.told_s = None

    def sees(self, a, b, packet):
        grants = set(re.findall(rb'"trial":"(t\d+)","token":\d+,"job"', packet)) if a == TRACKER else set()
        if not self.cut_s and b == self.agent:
            self.held |= grants
        if not self.cut_s and a == self.agent and b'"op":"%s"' % self.op in packet:
            self.cut_s = time.monotonic()
            net.cut(*((TRACKER, a) if self.ways == "in" else (a, TRACKER)), back=self.ways == "both")
            threading.Timer(CUT_S, self.mend).start()
        if self.cut_s and not self.mended_s and b == self.other and grants & self.held:
            self.taken_s = self.taken_s or time.monotonic()
        if self.mended_s and a == self.agent and b'"op":"trial_result"' in packet:
            self.told_s = self.told_s or time.monotonic()

    def mend(self):
        net.mend(TRACKER, self.agent)
        self.mended_s = time.monotonic()

    def check(self):
        what = f"{self.key}: "
        need(self.cut_s and self.mended_s, what + "was not cut off, or is not back")
        need(self.taken_s, what + "its lease went to nobody while it was away")
        until(lambda: self.told_s, what + "no result behind the cut", 30)
        print(f"{what}lease to another {self.taken_s - self.cut_s:.1f} s behind the cut, next result {self.told_s - self.mended_s:.1f} s behind its end")


def agent(host, key, i, device, *more):
    return host.start(f"agent-{key}-{i}", f"{BIN}/tune-agent", "--name", f"{key}-{i}", "--key", key, "--device", device, *more)


def run(key, device, n):
    return USER.start(f"run-{key}", f"{BIN}/tune", "run", "--device", device, "--key", key, "--trials", str(n), "--strategy", "random", "--seed", "1", "-q",
                      "-o", f"{DIR}/{key}.jsonl")


def main():
    tune("keygen", DIR + "/farm.key")
    ENV["TUNE_KEY_FILE"] = DIR + "/farm.key"
    ENV["TUNE_TRACKER"] = f"tcp://{TRACKER.address}:9477"
    TRACKER.start("tracker", f"{BIN}/tune-tracker", "--listen", ENV["TUNE_TRACKER"], "--store", DIR + "/store", "--lease", "4", "--workers", "0")
    slow, quick = write_space(DIR + "/slow", 700), write_space(DIR + "/quick", 50)

    cuts = [Cut("lease", "trial_renew", "both"), Cut("result", "trial_result", "both"), Cut("mute", "trial_renew", "out"), Cut("deaf", "trial_renew", "in")]
    for i, c in enumerate(cuts):
        c.agent, c.other = net.hosts[4 + 2 * i : 6 + 2 * i]
        agent(c.agent, c.key, 0, slow, "--batch", "4")
        agent(c.other, c.key, 1, slow, "--batch", "4")
    net.slow_down(TRACKER, FAR, 0.3, 0.05)
    for i in range(2):
        agent(FAR, "far", i, quick)
    agent(DEAD, "dead", 0, quick)
    until(lambda: len(TRACKER.connections(DEAD, 9477)) == 1 and len(TRACKER.connections(FAR, 9477)) == 2, "agents come")
    net.sees = lambda a, b, packet: [c.sees(a, b, packet) for c in cuts]
    runs = {c.key: run(c.key, slow, N_TRIALS) for c in cuts}
    runs["far"] = run("far", quick, N_TRIALS)
    time.sleep(2)
    net.cut(DEAD, TRACKER)
    dead_s = time.monotonic()
    until(lambda: not TRACKER.connections(DEAD, 9477), "the tracker gives a dead host's connection up", 60)
    print(f"a dead host's connection is given up {time.monotonic() - dead_s:.1f} s behind its end")
    for key, process in runs.items():
        need(process.wait(150) == 0, f"tune run on {key} failed")
        print(f"{key}: {time.monotonic() - dead_s:.1f} s")
        check_log(f"{DIR}/{key}.jsonl", N_TRIALS)
    for c in cuts:
        c.check()


try:
    net = Net(12)
    TRACKER, USER, FAR, DEAD = net.hosts[:4]
    main()
finally:
    end_all()
