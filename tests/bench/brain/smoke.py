#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benches of the brain run to their end on data made here, and their measures hold on cases known by hand."""
import argparse
import gzip
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from measures import judge, mean, spearman, split

HERE = Path(__file__).parent


def check(holds, fact):
    if not holds:
        raise SystemExit(f"smoke.py: does not hold: {fact}")


def check_measures():
    order = lambda seed: [int(row) for part in split(10, 4, seed) for row in part]
    check(order(0) == [3, 5, 7, 4, 1, 2, 8, 9, 6, 0], "rows of seed 0 come in the published order")
    check(order(1) == [6, 1, 7, 5, 4, 9, 8, 3, 2, 0], "rows of seed 1 come in the published order")
    check(abs(spearman(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) - 4.5 / math.sqrt(22.5)) < 1e-12, "equal values share a rank")
    times = np.array([4.0, 1, 2, math.nan, 8])
    right = judge(times, np.array([4.0, 1, 2, 9, 8]))
    check(right["spearman"] == 1 and right["recall1"] == 1 and right["regret32"] == 1, "a right order has the best measures")
    check(judge(times, np.array([1.0, 2, 3, 0, 4]))["recall1"] == 0, "a failed config ranked first takes a place")
    check(judge(times, np.full(5, math.nan))["spearman"] == 0, "predictions that are no numbers rank last, by row")
    many = np.arange(1.0, 101)
    check(judge(many, -many)["regret32"] == 69, "the reversed order's best of 32 is the 69th")
    check(abs(mean("regret32", [1, 4]) - 2) < 1e-12, "regrets are averaged geometrically")


def time_of(x, y, z, scale):
    """A made kernel: one valley, a cliff, a failing corner."""
    return math.nan if x * y > 256 else scale * (1 + (math.log2(x) - 4) ** 2 + (y - 3) ** 2 / 4 + (2 if z else 0) * (x > 16))


def make_data(place):
    """Two devices of one made kernel and one other kernel, as sets and as recorded spaces."""
    sets, replay = Path(place, "costmodel"), Path(place, "replay")
    sets.mkdir()
    replay.mkdir()
    knobs = {"x": [1, 2, 4, 8, 16, 32, 64, 128], "y": [1, 2, 3, 4, 5, 6, 7, 8], "z": [0, 1]}
    rows = list(itertools.product(*knobs.values()))
    for name, scale in (("made__A", 1.0), ("made__B", 2.5), ("other__A", 7.0)):
        names = [knob + ("o" if name.startswith("other") else "") for knob in knobs]
        times = [time_of(*row, scale) for row in rows]
        cells = [(",".join(map(str, row)), "%.6g" % t if t == t else "", "ok" if t == t else "runtime") for row, t in zip(rows, times)]
        with gzip.open(sets / f"{name}.csv.gz", "wt") as file:
            file.write(",".join(names) + ",time_ms,status\n" + "".join(f"{row},{t},{status}\n" for row, t, status in cells))
        space = name.replace("__", "-")
        with gzip.open(replay / f"{space}.csv.gz", "wt") as file:
            file.write(",".join(names) + ",status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms\n"
                       + "".join(f"{row},{status},{t},900,800,0,90,10\n" for row, t, status in cells))
        described = {"space": space, "kernel": name.split("__")[0], "device": name[-1], "restrictions": [],
                     "params": [{"name": knob, "values": values} for knob, values in zip(names, knobs.values())]}
        (replay / f"{space}.json").write_text(json.dumps(described))
    return str(sets), str(replay)


def bench(script, *words):
    done = subprocess.run([sys.executable, HERE / script, *words], capture_output=True, text=True)
    check(done.returncode == 0, f"{script} runs to its end; it says:\n{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", required=True, help="the tune program")
    args = parser.parse_args()
    check_measures()
    with tempfile.TemporaryDirectory() as place:
        sets, replay = make_data(place)
        figures, cache = str(Path(place, "figures.md")), str(Path(place, "cache"))
        common = ("--tune", args.tune, "--cache", cache, "--figures", figures, "--seeds", "1")
        text = bench("accuracy.py", "--data", sets, "--sizes", "64", *common)
        check("| 64 | 3 | ours |" in text and "| 64 | 3 | atvm_reg |" in text, "accuracy prints ours and the peers")
        text = bench("transfer.py", "--data", sets, "--sizes", "0,16", "--pairs", "made__A>made__B", "--wrong", *common)
        check("| 0 | 1 | ours |" in text and "| 16 | ours, shuffled |" in text, "transfer prints ours and wrong sources")
        peers, ours = str(Path(place, "peers.jsonl")), str(Path(place, "ours.jsonl"))
        bench("search_peers.py", "--data", replay, "--budget", "30", "--seeds", "1", "--out", peers)
        bench("search_ours.py", "--data", replay, "--budget", "30", "--seeds", "1", "--out", ours, "--tune", args.tune)
        text = bench("search_score.py", peers, ours, "--data", replay, "--budgets", "10,30", "--figures", figures)
        check(all(f"| {m} | 1 |" in text for m in ("ours", "ours_b16", "ours_warm", "random_sample", "xgb_history_b8")), "search scores all")
        check(len(Path(figures).read_text().splitlines()) > 15, "the table of figures has rows of all three")


if __name__ == "__main__":
    main()
