#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""soak.py BIN [--seconds N] [--seed N] [--store sqlite|postgres] [--blobs] [--former BIN] - a farm of the real programs for an hour (3600), with faults at times drawn from a seed.

Four users run and submit jobs on recorded spaces at six agents, and interrupt, kill, cancel, pause and detach what they began. Meanwhile agents, trackers and
the processes that drive jobs are killed (kill -9), ended (SIGTERM) and stopped for a while (SIGSTOP); the disk of the store is full for a moment (sqlite, as
root: a tmpfs), agents' files are away or damaged, the PostgreSQL server is killed. With postgres three trackers have two parts of the farm. Trackers and server die in the first and the last
sixth only (of less than two minutes at any time), and two of the agents never: what lives in between tells whether memory, descriptors and threads grow.

With --former it begins with the programs of an earlier version and is upgraded as it rolls: a tracker that starts again is of BIN, agents and users' calls are
of either version to the end.

With --blobs large blobs lie in an S3 store (moto's server), which stands still for a while now and then, and a fifth user has kernels measured that have
such: on this machine's OpenCL device, by an agent that fetches each of them anew.

In the end: each job is over; what an agent was told to be stored, and what a log got, is in the store, each trial once; each config is as its space has it, or lost; all configs of a job that is done
differ and are as many as it asked for; the store passes its check; no process died by itself, none dumped core; nothing is left in $TMPDIR.
Exit 77: no PostgreSQL server, or no moto, is installed."""
import argparse
import collections
import contextlib
import glob
import gzip
import http.client
import json
import os
import random
import re
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
from farm import BIN, DIR, ENV, PROCESSES, Server, Tracker, end_all, free_ports, key_of, need, start, tune, until

DEADLY = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL, -signal.SIGSYS, -signal.SIGTRAP}
N_VALUES = 14  # of each of the four knobs of a space


# ---- what lives long ----


def figures(pid):
    """Resident MiB, descriptors, threads; None when it is gone."""
    try:
        status = open(f"/proc/{pid}/status").read()
        return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(re.search(r"Threads:\s*(\d+)", status)[1])
    except (OSError, TypeError):
        return None


def children(pid):
    try:
        return [int(c) for t in os.listdir(f"/proc/{pid}/task") for c in open(f"/proc/{pid}/task/{t}/children").read().split()]
    except OSError:
        return []


def left_over():
    """What is in $TMPDIR, but for folders without a lock: whoever made or removed one may have been killed at it, and for ten minutes it is
    taken for one in the making (core/temp_dir.c)."""
    top = ENV["TMPDIR"]
    return [n for n in os.listdir(top) if not n.startswith("tune-agent.") or os.path.exists(f"{top}/{n}/lock")]


class Watch(threading.Thread):
    """Looks at the processes every few seconds; by (name, pid) the figures over time. Replies that a tracker keeps (10 minutes, 16 MiB at most) are as many as
    users ask for, and no growth: they are taken off."""

    def __init__(self, named, every_s):
        super().__init__(daemon=True)
        self.named, self.every_s, self.seen = named, every_s, collections.defaultdict(list)
        self.start()

    def run(self):
        while True:
            for name, pid, kept in self.named():
                f, kept_mib = figures(pid), kept()
                if f and kept_mib is not None:
                    self.seen[name, pid].append((time.monotonic(), (f[0] - kept_mib, f[1], f[2])))
            time.sleep(self.every_s)

    def check(self, window_s, least_s):
        """Who lived so long: medians of its first and last window. Gives what grew, in words."""
        grew, n = [], 0
        print(f"{'':22}{'lived':>8}   {'MiB resident':>16}   {'descriptors':>13}   threads   (medians of the first and the last {window_s:.0f} s)")
        for (name, pid), samples in sorted(self.seen.items()):
            began, end = samples[0][0], samples[-1][0]
            if end - began < least_s:
                continue
            n += 1
            settled = began + window_s / 10  # what a start takes is not growth
            first = [statistics.median(f[i] for t, f in samples if settled <= t <= settled + window_s) for i in range(3)]
            last = [statistics.median(f[i] for t, f in samples if t >= end - window_s) for i in range(3)]
            print(f"{name:22}{end - began:6.0f} s   {first[0]:7.1f} {last[0]:8.1f}   {first[1]:6.0f} {last[1]:6.0f}   {first[2]:3.0f} {last[2]:3.0f}")
            if last[0] > 1.1 * first[0] + 4 or last[1] > first[1] + 4 or last[2] > first[2] + 2:
                grew.append(f"{name} grew: {first} to {last}")
        need(n > 0, "nothing lived long")
        return grew


# ---- the farm ----


def write_space(name, cost_ms):
    """A recorded space of 14^4 configs of which some fail."""
    knobs = [f"k{i}" for i in range(4)]
    with open(f"{DIR}/{name}.json", "w") as f:
        json.dump({"space": name, "kernel": "soak", "device": "made up", "restrictions": [],
                   "params": [{"name": k, "values": list(range(N_VALUES))} for k in knobs]}, f)
    with gzip.open(f"{DIR}/{name}.csv.gz", "wt", compresslevel=1) as f:
        f.write(",".join(knobs) + ",status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms\n")
        for i in range(N_VALUES**4):
            v = [i // N_VALUES**k % N_VALUES for k in range(4)]
            bad = is_bad(v)
            ms = "" if bad else f"{1 + sum((x - 3 - 2 * k) ** 2 for k, x in enumerate(v)) / 40:.4f}"
            f.write(f"{','.join(map(str, v))},{'runtime' if bad else 'ok'},{ms},{cost_ms},5,1,2,0\n")


def is_bad(values):
    return sum(values) % 23 == 5


def status_of(knobs):
    return "runtime" if is_bad(knobs[f"k{i}"] for i in range(4)) else "ok"


def replies_mib(port):
    """What a tracker keeps; 0 of one that does not say, None of one that does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=1) as r:
            found = re.search(r"^tune_tracker_replies_bytes (\d+)$", r.read().decode(), re.M)
        return int(found[1]) / 2**20 if found else 0
    except (OSError, http.client.HTTPException):
        return None


class S3:
    """moto's server, of whoever asks; exits with 77 where it is not (scripts/install_deps.sh --hub)."""

    def __init__(self):
        python = os.environ.get("TUNE_HUB_TEST_PYTHON") or os.path.expanduser(f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/tune-hub/venv/bin/python")
        if not os.path.exists(python):
            print(f"skipped: no moto in {python} (scripts/install_deps.sh --hub installs it from PyPI)")
            sys.exit(77)
        self.endpoint = f"http://127.0.0.1:{free_ports(1)[0]}"
        ENV.update(AWS_ENDPOINT_URL=self.endpoint, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="soak", AWS_SECRET_ACCESS_KEY="soak")
        self.process = start("s3", python, "-m", "moto.server", "-p", self.endpoint.rpartition(":")[2])
        until(lambda: self.ask("PUT", "/farm"), "the S3 store makes a bucket")

    def ask(self, method, path):
        try:
            return urllib.request.urlopen(urllib.request.Request(self.endpoint + path, method=method), timeout=20).read() or b"done"
        except OSError:
            return None

    def names(self):
        return re.findall(rb"<Key>([^<]*/[0-9a-f]{64})</Key>", self.ask("GET", "/farm?list-type=2"))

    def n_fetched(self):
        """Each that is put is looked at once."""
        served = collections.Counter(re.findall(r'"([A-Z]+) /farm/\S*[0-9a-f]{64} HTTP/1.1" 200', open(f"{DIR}/s3.log").read()))
        return served["GET"] - served["PUT"]


class Agent:
    def __init__(self, name, key, device, programs):
        self.name, self.key, self.device, self.programs = name, key, device, programs
        self.start()

    def start(self):
        self.process = start(self.name, f"{self.programs}/tune-agent", "--device", self.device, "--threads", "1", "--key", self.key, "--name", self.name, "--batch", "4",
                             "-vv")

    def folder(self):
        """Where it works; None while it begins."""
        held = [os.readlink(fd) for fd in glob.glob(f"/proc/{self.process.pid}/fd/*") if os.path.lexists(fd)]
        return next((os.path.dirname(h) for h in held if h.endswith("/lock") and "/tune-agent." in h), None)

    def starts(self):
        return open(f"{DIR}/{self.name}.log").read().count(" serves key ")


def wait_gone(process, seconds, words):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        need(False, words)


class Soak:
    def __init__(self, o):
        self.o, self.rng, self.began = o, random.Random(o.seed), time.monotonic()
        self.counts, self.lock, self.faulty = collections.Counter(), threading.Lock(), []
        self.versions = [BIN, os.path.abspath(o.former)] if o.former else [BIN]
        self.server = Server() if o.store == "postgres" else None
        self.disk = self.mount() if not self.server else None
        self.store = self.server.address + "&options=-cidle_session_timeout%3D20s" if self.server else f"{self.disk or DIR}/store"
        more = ["--standby", "--parts", "2"] if self.server else []
        self.s3 = S3() if o.blobs else None
        n_trackers = 3 if self.server else 1
        self.ports = free_ports(n_trackers)
        more += ["--store", self.store, "--lease", "5", "--workers", "12"] + (["--blobs", "s3://farm/soak", "--blobs-after", "2s"] if self.s3 else [])
        self.trackers = [Tracker(f"tracker-{i}", *more, "--http", f"127.0.0.1:{self.ports[i]}", programs=self.versions[-1]) for i in range(n_trackers)]
        until(self.served, "the trackers serve")
        ENV["TUNE_TRACKER"] = ",".join(t.url for t in self.trackers)
        self.keys = [key_of(1), key_of(2)] if self.server else ["alpha", "beta"]
        for k in self.keys:
            write_space(k, 150)
        self.agents = [Agent(f"agent-{k}-{i}", k, f"replay:{DIR}/{k}.json", self.versions[-1]) for k in self.keys for i in range(3)]
        self.real_key = key_of(1, 1)
        if self.s3:
            # never killed: who asks while a key has no device is told so, and ends
            self.agents.append(Agent("agent-real-0", self.real_key, "opencl", self.versions[-1]))
        until(lambda: len(json.loads(tune("devices", "--json")[0])["devices"]) == len(self.agents), "the agents are there")
        self.watch = Watch(self.named, max(0.5, o.seconds / 1200))

    def mount(self):
        """A disk of the store's own, which can be full; None where it cannot be had."""
        os.mkdir(DIR + "/disk")
        mounted = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "soak", DIR + "/disk"], capture_output=True).returncode == 0
        if not mounted:
            print("no tmpfs can be mounted here: the disk is never full")
        return DIR + "/disk" if mounted else None

    def unmount(self):
        if self.disk:
            subprocess.run(["umount", "-l", self.disk], check=False)

    def served(self):
        return sum(t.listens() for t in self.trackers) == min(2, len(self.trackers))

    def named(self):
        for t, port in zip(self.trackers, self.ports):
            if t.listens():
                yield t.name, t.process.pid, lambda: replies_mib(port)
            else:
                yield t.name + ", standby", t.process.pid, lambda: 0
            for c in children(t.process.pid):
                yield "work of " + t.name, c, lambda: 0
        for a in self.agents:
            yield a.name, a.process.pid, lambda: 0

    def spent(self):
        return (time.monotonic() - self.began) / self.o.seconds

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] += n

    # ---- faults ----

    def restart_later(self, what, most_s):
        time.sleep(self.rng.uniform(0, most_s))
        what.programs = BIN if what in self.trackers else self.rng.choice(self.versions)
        what.start()

    def active(self):
        return self.rng.choice([t for t in self.trackers if t.listens()] or self.trackers)

    def kill_tracker(self):
        t = self.active()
        t.kill()
        self.restart_later(t, 2)

    def end_tracker(self):
        t = self.active()
        t.process.terminate()
        code = wait_gone(t.process, 30, f"{t.name} does not end by SIGTERM")
        need(code == 0, f"{t.name} ended by SIGTERM with {code}")
        self.restart_later(t, 2)

    def stop_tracker(self):
        self.pause(self.active().process.pid, 4)

    def pause(self, pid, most_s):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.2, most_s))
        os.kill(pid, signal.SIGCONT)

    def fill_disk(self):
        """The tracker says so and ends; who looks after it starts it again when there is room."""
        t, free = self.trackers[0], os.statvfs(self.disk)
        with open(self.disk + "/filler", "wb") as f:
            try:
                os.posix_fallocate(f.fileno(), 0, free.f_bavail * free.f_frsize)
            except OSError:
                pass
        try:
            code = t.process.wait(20)
        except subprocess.TimeoutExpired:
            code = None  # nobody wrote
        os.unlink(self.disk + "/filler")
        if code is not None:
            need(code == 1, f"with a full disk {t.name} ended with {code}")
            t.start()
            self.count("trackers that a full disk ended")

    def kill_server(self):
        """Trackers without their session end with 1."""
        serving = [t for t in self.trackers if t.listens()]
        self.server.kill()
        codes = [wait_gone(t.process, 40, f"{t.name} goes on without its server") for t in serving]
        need(all(c == 1 for c in codes), f"without their server trackers ended with {codes}")
        time.sleep(self.rng.uniform(0, 1))
        self.server.start()
        for t in serving:
            t.start()

    def mortal(self):
        return self.rng.choice([a for a in self.agents if not a.name.endswith("-0")])

    def kill_agent(self):
        a = self.mortal()
        a.process.kill()
        a.process.wait()
        self.restart_later(a, 4)

    def end_agent(self):
        a = self.mortal()
        begun = a.folder()  # what is loading still has no hand to put its work down with
        a.process.terminate()
        code = wait_gone(a.process, 10, f"{a.name} does not end by SIGTERM")
        need(code == 0 or not begun and code == -signal.SIGTERM, f"{a.name} ended by SIGTERM with {code}")
        self.restart_later(a, 4)

    def stop_agent(self):
        self.pause(self.rng.choice(self.agents).process.pid, 8)

    def stop_s3(self):
        self.pause(self.s3.process.pid, 8)

    def spoil_agent_disk(self):
        """Where an agent keeps the blobs is not there for a while, some are cut or gone when it is back. Earlier versions took that for their kernels' failure."""
        a = self.rng.choice([a for a in self.agents if a.programs == BIN])
        folder = a.folder()
        if not folder:
            return
        os.rename(folder + "/blobs", folder + "/aside")
        time.sleep(self.rng.uniform(0.1, 6))
        names = sorted(os.listdir(folder + "/aside"))
        for n in self.rng.sample(names, len(names) // 4):
            os.truncate(f"{folder}/aside/{n}", 1) if self.rng.random() < 0.5 else os.unlink(f"{folder}/aside/{n}")
        os.rename(folder + "/aside", folder + "/blobs")

    def drivers(self):
        return [d for t in self.trackers for w in children(t.process.pid) for d in children(w)]

    def kill_driver(self):
        found = self.drivers()
        if found:
            os.kill(self.rng.choice(found), signal.SIGKILL)

    def stop_driver(self):
        found = self.drivers()
        if found:
            self.pause(self.rng.choice(found), 8)

    def kill_work(self):
        found = [w for t in self.trackers for w in children(t.process.pid)]
        if found:
            os.kill(self.rng.choice(found), signal.SIGKILL)

    def fault(self):
        always = [self.kill_agent] * 3 + [self.end_agent, self.stop_agent, self.stop_agent, self.stop_tracker, self.kill_driver, self.kill_driver, self.stop_driver] + [self.spoil_agent_disk] * any(a.programs == BIN for a in self.agents)
        always += [self.stop_s3] * bool(self.s3)
        edges = [self.kill_tracker] * 3 + [self.end_tracker, self.kill_work]
        if self.server or self.disk:
            edges.append(self.kill_server if self.server else self.fill_disk)
        edge = not 1 / 6 < self.spent() < 5 / 6 or self.o.seconds < 120
        what = self.rng.choice(always + 2 * edges if edge else always)
        self.count(what.__name__)
        try:
            what()
        except (ProcessLookupError, FileNotFoundError):  # it had ended
            pass
        for p in self.trackers + self.agents:
            need(p.process.poll() is None, f"behind {what.__name__} {p.name} ended by itself, with {p.process.returncode}")
        until(self.served, f"the trackers serve behind {what.__name__}")

    # ---- users ----

    def measures(self):
        """The fifth user. What its agent keeps is removed each time, so that blobs are asked for that nobody asked for in a while."""
        rng, env, n = random.Random(f"{self.o.seed} real"), {**ENV, "USER": "user-real"}, 0
        while self.spent() < 0.95:
            n += 1
            with contextlib.suppress(OSError):
                for path in glob.glob(f"{self.agents[-1].folder()}/blobs/*"):
                    os.unlink(path)
            layer = f"dense f32 m={rng.choice([64, 80, 96])} n={rng.choice([128, 144])} k=64"
            options = [layer, "--key", self.real_key, "--strategy", "random", "--trials", "4", "--repeat", "2", "--min-repeat-ms", "1", "--data-seed", "1", "--seed",
                       str(rng.randrange(1 << 30))]
            self.expect(self.began_run(env, f"user-real-{n}", options), {0, 3}, f"user-real-{n}")
            self.count("measures")
            time.sleep(rng.uniform(0, 4))

    def user(self, i):
        rng, env, n = random.Random(f"{self.o.seed} {i}"), {**ENV, "USER": f"user-{i}"}, 0
        while self.spent() < 0.95:
            n += 1
            key = rng.choice(self.keys)
            act = rng.choice([self.runs, self.runs, self.dies, self.detaches, self.submits, self.submits, self.cancels, self.pauses])
            options = ["--key", key, "--device", f"replay:{DIR}/{key}.json", "--strategy", rng.choice(["random", "random", "grid", "genetic", "annealing"]), "--trials",
                       str(rng.randrange(20, 120)), "--seed", str(rng.randrange(1 << 30))]
            try:
                act(rng, env, f"user-{i}-{n}", options)
            except Exception as e:  # of a thread: told at the end
                self.faulty.append(f"user-{i}-{n} {act.__name__}: {e!r}")
            self.count(act.__name__)
            time.sleep(rng.uniform(0, 2))

    def tune_of(self, options):
        """Of either version, as the job's seed has it."""
        return self.versions[int(options[-1]) % len(self.versions)] + "/tune"

    def began_run(self, env, name, options, *more):
        return start(name, self.tune_of(options), "run", *options, "-q", "-o", f"{DIR}/{name}.jsonl", *more, env=env)

    def expect(self, process, codes, name, seconds=900):
        code = process.wait(seconds)
        if code not in codes:
            with self.lock:
                self.faulty.append(f"{name} ended with {code}: {open(f'{DIR}/{name}.log').read()[-300:]}")

    def runs(self, rng, env, name, options):
        self.expect(self.began_run(env, name, options), {0, 3}, name)

    def dies(self, rng, env, name, options):
        p = self.began_run(env, name, options)
        time.sleep(rng.uniform(0.3, 8))
        p.kill()
        p.wait()

    def detaches(self, rng, env, name, options):
        p = self.began_run(env, name, options, "--detach")
        time.sleep(rng.uniform(0.3, 8))
        p.send_signal(signal.SIGINT)
        self.expect(p, {0, 3, 4}, name)

    def submit(self, env, options):
        r = subprocess.run([self.tune_of(options), "submit", *options], env=env, cwd=DIR, capture_output=True, text=True)
        if r.returncode not in (0, 3):
            with self.lock:
                self.faulty.append(f"submit ended with {r.returncode}: {r.stderr}")
        return r.stdout.strip() if r.returncode == 0 else None

    def tell(self, env, name, *words):
        self.expect(start(name, f"{BIN}/tune", *words, env=env), {0, 1, 3}, name)

    def submits(self, rng, env, name, options):
        job = self.submit(env, options)
        if job:  # what it is told is in the store, too
            self.expect(start(name, f"{BIN}/tune", "attach", job, "-q", "-o", f"{DIR}/{name}.jsonl", env=env), {0, 3}, name)

    def cancels(self, rng, env, name, options):
        job = self.submit(env, options)
        time.sleep(rng.uniform(0, 6))
        if job:
            self.tell(env, name, "cancel", job)

    def pauses(self, rng, env, name, options):
        job = self.submit(env, options)
        for word in ("pause", "resume"):
            time.sleep(rng.uniform(0, 4))
            if job:
                self.tell(env, name, word, job)

    # ---- all of it ----

    def live(self):
        users = [threading.Thread(target=self.user, args=(i,), daemon=True) for i in range(4)] + [threading.Thread(target=self.measures, daemon=True)] * bool(self.s3)
        for u in users:
            u.start()
        while self.spent() < 1:
            time.sleep(self.rng.uniform(0.5, 6))
            self.fault()
        for u in users:
            u.join(900)
            need(not u.is_alive(), "a user's call does not end though there are no faults any more")
        self.check()

    def jobs(self):
        return [json.loads(line) for line in tune("list", "--json", "--max", "10000")[0].splitlines()]

    def check(self):
        def open_jobs():
            return [j for j in self.jobs() if j["state"] not in ("done", "failed", "cancelled")]

        end = time.monotonic() + 600
        for j in [j for j in open_jobs() if j["state"] == "paused"]:
            tune("resume", j["job"])
        while open_jobs():
            need(time.monotonic() < end, f"jobs do not end: {[(j['job'], j['state'], j.get('waits')) for j in open_jobs()]}")
            time.sleep(2)
        grew = self.watch.check(self.o.seconds / 6, self.o.seconds / 2)
        jobs = self.jobs()
        stored = self.read_store(jobs)
        self.check_acknowledged(stored)
        self.end()
        need(not self.faulty, "; ".join(self.faulty[:5]))
        need(not self.s3 or self.s3.names(), "no blob went to the S3 store")
        need(not grew or self.o.seconds < 1200, "; ".join(grew))  # in less than that a start is not over
        states = collections.Counter(j["state"] for j in jobs)
        print(f"soak: {self.o.seconds} s, seed {self.o.seed}, {self.o.store}: {len(jobs)} jobs {dict(states)}, {sum(map(len, stored.values()))} records")
        if self.s3:
            print(f"soak: {len(self.s3.names())} blobs in the S3 store, {self.s3.n_fetched()} times one came back")
        print("soak: " + ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items())))

    def read_store(self, jobs):
        """By job its lines; checks what has to hold of each."""
        stored, record_of = {}, {}
        for j in jobs:
            path = f"{DIR}/store-of-{j['job']}.jsonl"
            tune("attach", j["job"], "-q", "-o", path, code={"done": 0}.get(j["state"], None))
            lines = open(path).read().splitlines() if os.path.exists(path) else []
            stored[j["job"]] = lines
            records = [json.loads(line) for line in lines]
            need(len({r["id"] for r in records}) == len(records), f"job {j['job']} has two records of a trial")
            for r, line in zip(records, lines):  # of a config that is known other jobs get the same line
                need(record_of.setdefault(r["id"], line) == line, f"trial {r['id']} has two records")
                self.count("lost trials", r["status"] == "lost")
                need(r["status"] in ("lost", "ok" if j["key"] == self.real_key else status_of(r["knobs"])), f"trial {r['id']} is {r['status']}: {r.get('why')}")
            configs = [json.dumps(r["knobs"], sort_keys=True) for r in records if r["purpose"] == "search"]
            need(len(set(configs)) == len(configs), f"job {j['job']}: a config was measured twice")
            order = json.loads(tune("status", j["job"], "--json")[0])
            asked = json.loads(order["body"])["trials"] if j["state"] == "done" else None  # a layer has the naive one beside
            need(asked in (None, len(configs)) or j["key"] == self.real_key, f"job {j['job']} is done with {len(configs)} of {asked} trials")
        return stored

    def check_acknowledged(self, stored):
        lines = {line for of_job in stored.values() for line in of_job}
        n = 0
        for path in glob.glob(f"{DIR}/user-*.jsonl"):
            if path.endswith(".best.jsonl"):
                continue
            for line in open(path).read().split("\n")[:-1]:
                n += 1
                need(line in lines, f"{os.path.basename(path)} has a line that the store has not: {line[:300]}")
        agent_of = {r["id"]: r["agent"] for r in map(json.loads, lines)}
        told = 0
        for a in self.agents:
            for trial in re.findall(r"^tune-agent: (t\d+): stored$", open(f"{DIR}/{a.name}.log").read(), re.M):
                told += 1
                need(agent_of.get(trial) == a.name, f"{a.name} was told that its record of {trial} is stored; the store has it from {agent_of.get(trial)}")
        need(n > 0 and told > 0, "nothing was acknowledged")
        print(f"{told} records were acknowledged to agents, {n} to users: all are in the store")

    def end(self):
        for a in self.agents:
            a.process.terminate()
        codes = [wait_gone(a.process, 30, f"{a.name} does not end by SIGTERM") for a in self.agents]
        a = self.agents[0]
        before = a.starts()
        a.start()  # takes away what killed ones left
        until(lambda: a.starts() > before, f"{a.name} starts again", 20)
        end = time.monotonic() + 20
        while len(left_over()) > 1:
            need(time.monotonic() < end, f"one agent's folder is left, and not {sorted(left_over())}")
            time.sleep(0.1)
        for n in sorted(set(os.listdir(ENV["TMPDIR"])) - set(left_over())):
            print(f"without a lock: {n}, with {sorted(os.listdir(ENV['TMPDIR'] + '/' + n))}")
        ending = [p.process for p in self.agents[:1] + self.trackers]
        for p in ending:
            p.terminate()
        codes += [wait_gone(p, 30, f"{p.args} does not end by SIGTERM") for p in ending]
        need(not any(codes), f"SIGTERM ended agents and trackers with {codes}")
        left = os.listdir(ENV["TMPDIR"])
        need(not left, f"left behind: {left}")
        need(not glob.glob(DIR + "/core*"), "a core was dumped")
        need(not [p for p in PROCESSES if p.returncode in DEADLY], f"died: {[p.args for p in PROCESSES if p.returncode in DEADLY]}")
        for path in glob.glob(DIR + "/*.log"):
            words = re.search(r".*(signal (4|5|6|7|8|11|31)\b|Assertion|double free|corrupted).*", open(path, errors="replace").read())
            need(not words, f"{os.path.basename(path)}: {words and words[0]}")
        if not self.server:
            found = sqlite3.connect(f"file:{self.store}/tracker.sqlite?mode=ro", uri=True).execute("PRAGMA integrity_check").fetchall()
            need(found == [("ok",)], f"the store is damaged: {found[:3]}")
            t = self.trackers[0]  # and its own check
            t.start()
            until(t.listens, "the store opens again")
            t.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--former", metavar="BIN")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--blobs", action="store_true")
    o = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    ENV["TMPDIR"] = DIR + "/tmp"
    os.mkdir(ENV["TMPDIR"])
    soak = None
    try:
        soak = Soak(o)
        soak.live()
    finally:
        end_all(lambda: soak and soak.unmount())


main()
