#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Construction of constrained spaces: ours beside Kernel Tuner's and pyATF's, in one run, sets compared.

peers.py --bench BUILD/bin/bench_spaces [--rounds N] [--limit SECONDS] FILE.json..

Run with the Python of tests/bench/brain/install_peers.sh. CPU time, least over the rounds (peers and ours take turns),
one thread. Kernel Tuner: its Searchspace object with default framework and solver, restrictions as strings, without the
block size limit it adds by itself. pyATF: its SearchSpace, each restriction given to the last of its parameters. Ours:
from JSON text to a set that can be asked ("build"), and the same with a list of all configs ("listed"). "same" says
that a peer's set of configs, as raw indices, is equal to ours, bit for bit. A peer that needs longer than --limit or
more than 6 GiB is left out for that space, and so said.
"""
import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

MEMORY = 6 << 30


def load(path):
    with open(path, encoding="utf-8") as f:
        space = json.load(f)
    return {p["name"]: p["values"] for p in space["params"]}, space.get("restrictions") or []


def kernel_tuner(params, restrictions):
    from kernel_tuner.searchspace import Searchspace

    space = Searchspace(params, list(restrictions), sys.maxsize, block_size_names=[])
    return lambda: space.list


def pyatf(params, restrictions):
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace

    names = list(params)
    rules = {name: [] for name in names}
    for text in restrictions:
        used = [n for n in names if re.search(r"\b%s\b" % n, text)]
        rules[used[-1]].append((used, text))
    tps = []
    for name in names:
        rule = None
        if rules[name]:
            used = {n for u, _ in rules[name] for n in u}
            rule = eval("lambda %s: %s" % (", ".join(sorted(used)), " and ".join("(%s)" % t for _, t in rules[name])))
        tps.append(TP(name, Set(*params[name]), rule))
    space = SearchSpace(*tps, enable_1d_access=True, verbosity=0)

    def configs():
        for i in range(space.constrained_size):
            config = space.get_configuration(i)
            yield tuple(config[n] for n in names)

    return configs


PEERS = {"kernel_tuner": kernel_tuner, "pyatf": pyatf}


def digest(params, configs):
    """Of the ascending raw indices: mixed radix, first parameter least significant."""
    import numpy

    place = [{v: i for i, v in enumerate(values)} for values in params.values()]
    strides = [1]
    for values in params.values():
        strides.append(strides[-1] * len(values))
    indices = numpy.fromiter(
        (sum(p[v] * s for p, v, s in zip(place, config, strides)) for config in configs), dtype="<u8"
    )
    indices.sort()
    return len(indices), hashlib.sha256(indices.tobytes()).hexdigest()


def one(peer, path, repeats):
    """In a process of its own: build `repeats` times, print the least CPU time and what the set is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.setrecursionlimit(100000)
    params, restrictions = load(path)
    PEERS[peer]({"a": [1, 2], "b": [1, 2]}, ["a <= b"])  # imports are not counted
    least, configs = None, None
    for _ in range(repeats):
        start = time.process_time()
        configs = PEERS[peer](params, restrictions)
        ms = (time.process_time() - start) * 1e3
        least = ms if least is None else min(least, ms)
    n, sha = digest(params, configs())
    print(json.dumps({"ms": least, "valid": n, "sha256": sha}))


def run_peer(peer, path, repeats, limit):
    command = [sys.executable, __file__, "--one", peer, "--repeats", str(repeats), path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"why": "over %d s" % limit}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"why": lines[-1][:60] if lines else "ended with %d" % done.returncode}
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_ours(bench, path, directory):
    done = subprocess.run([bench, "-d", directory, path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def better(old, new):
    if not old or "ms" not in new:
        return new
    return new if "ms" in old and new["ms"] < old["ms"] else old


def compare(path, args, directory):
    best, ours = {}, None
    for _ in range(args.rounds):
        now = run_ours(args.bench, path, directory)
        if ours:
            for key in ("build_ms", "listed_ms"):
                now[key] = min(now.get(key, 1e300), ours.get(key, 1e300))
        ours = now
        for peer in args.peers.split(","):
            if "why" not in best.get(peer, {}):
                best[peer] = better(best.get(peer), run_peer(peer, path, args.repeats, args.limit))
    dump = os.path.join(directory, ours["space"] + ".u64")
    if os.path.exists(dump):
        with open(dump, "rb") as f:
            ours["sha256"] = hashlib.sha256(f.read()).hexdigest()
    return ours, best


def line(ours, best):
    cells = [ours["space"], "%d" % ours["raw"], "%d" % ours["valid"], "%.3f" % ours["build_ms"]]
    cells.append("%.3f" % ours["listed_ms"] if ours.get("listed_ms", 1e300) < 1e300 else "-")
    times = []
    for peer in best.values():
        if "ms" in peer:
            times.append(peer["ms"])
            same = "same" if peer["sha256"] == ours.get("sha256") else "DIFFERS (%d)" % peer["valid"]
            cells.append("%.2f %s" % (peer["ms"], same))
        else:
            cells.append(peer["why"])
    fastest = min(times) if times else None
    cells.append("%.0f" % (fastest / ours["build_ms"]) if fastest else "-")
    cells.append("%.0f" % (fastest / ours["listed_ms"]) if fastest and "listed_ms" in ours else "-")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="the program bench_spaces")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="builds a peer makes in one round")
    parser.add_argument("--limit", type=int, default=120, help="seconds a peer may take for one round")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--one", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    if args.one:
        one(args.one, args.files[0], args.repeats)
        return
    peers = args.peers.split(",")
    print("| space | raw | valid | build ms | listed ms | %s | x build | x listed |" % " | ".join(p + " ms" for p in peers))
    print("|" + "---|" * (7 + len(peers)))
    with tempfile.TemporaryDirectory() as directory:
        for path in args.files:
            print(line(*compare(path, args, directory)), flush=True)


if __name__ == "__main__":
    main()
