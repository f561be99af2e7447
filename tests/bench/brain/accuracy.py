#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well cost models rank configs they have not seen: ours beside XGBoost, LightGBM and AutoTVM's settings, on the same splits.

Prints, for each number of training rows, the mean over seeds and then over sets (geometric for regret), and the paired differences
ours - peer of the sets' means with their standard errors. Peers' scores are kept in --cache and computed once.
"""
import argparse
import csv
import math
import sys

import numpy as np

from cache import Cache
from figures import add_figures
from measures import HIGHER_IS_BETTER, MEASURES, judge, mean, sets_in, split
from models import PEERS, Ours

GOALS = {"spearman": "within .005", "recall1": "better", "recall5": "-", "regret32": "better"}


def score_peer(peer, data, train, test):
    return judge(data.time_ms[test], peer(data.params[train], data.time_ms[train], data.params[test]))


def collect(args, sets):
    """Returns scores[model][n][set name] = one dict of measures a seed."""
    models = [m for m in args.models.split(",") if m]
    caches = {m: Cache(args.cache, m) for m in models}
    ours = Ours(args.tune, args.train_args.split()) if args.tune and not args.evaluated else None
    scores = {m: {} for m in models + (["ours"] if args.tune or args.evaluated else [])}
    for data in sets:
        for n in args.sizes:
            if n > 0.61 * len(data):
                continue
            for seed in range(args.seeds):
                train, test = split(len(data), n, seed)
                for m in models:
                    got = caches[m].get((data.name, n, seed), lambda: score_peer(PEERS[m], data, train, test))
                    scores[m].setdefault(n, {}).setdefault(data.name, []).append(got)
                if ours:
                    got = judge(data.time_ms[test], ours(data, train, test))
                    scores["ours"].setdefault(n, {}).setdefault(data.name, []).append(got)
        print(f"# {data.name} done", file=sys.stderr, flush=True)
    if args.evaluated:
        read_evaluated(args, {data.name for data in sets}, scores["ours"])
    return scores


def read_evaluated(args, names, into):
    """Ours from what tune model eval wrote: the same splits and measures, computed in one process."""
    with open(args.evaluated, newline="") as file:
        for row in csv.DictReader(file):
            n = int(row["n"])
            if row["set"] in names and n in args.sizes and int(row["seed"]) < args.seeds:
                into.setdefault(n, {}).setdefault(row["set"], []).append({m: float(row[m]) for m in MEASURES})


def set_means(by_set, measure):
    """Mean over seeds, one for each set by name."""
    return np.array([mean(measure, [seed[measure] for seed in by_set[name]]) for name in sorted(by_set)])


def print_means(scores, sizes):
    print("\nMeans over sets\n\n| n | sets | model | " + " | ".join(MEASURES) + " |\n|---|---|---|" + "---|" * len(MEASURES))
    for n in sizes:
        for m in scores:
            if n in scores[m]:
                cells = ["%.4f" % mean(x, set_means(scores[m][n], x)) for x in MEASURES]
                print(f"| {n} | {len(scores[m][n])} | {m} | " + " | ".join(cells) + " |")


def differences(ours, peer, n, measure):
    """Paired differences of set means; of logarithms for regret."""
    a, b = set_means(ours[n], measure), set_means(peer[n], measure)
    return np.log(a) - np.log(b) if measure.startswith("regret") else a - b


def standard_error(d):
    return d.std(ddof=1) / math.sqrt(len(d)) if len(d) > 1 else math.nan


def print_differences(scores, sizes):
    """ours - peer, with the judgement whether a difference is worse by more than two standard errors."""
    print("\nours - peer, paired over sets, +- standard error (ln for regret); ! = worse by more than two standard errors\n")
    print("| n | peer | " + " | ".join(MEASURES) + " |\n|---|---|" + "---|" * len(MEASURES))
    for peer in [m for m in scores if m != "ours"]:
        over_n = {m: [] for m in MEASURES}
        for n in [n for n in sizes if n in scores["ours"] and n in scores[peer]]:
            cells = []
            for m in MEASURES:
                d = differences(scores["ours"], scores[peer], n, m)
                over_n[m].append(d.mean())
                worse = -d.mean() if HIGHER_IS_BETTER[m] else d.mean()
                cells.append("%+.4f +- %.4f%s" % (d.mean(), standard_error(d), " !" if worse > 2 * standard_error(d) else ""))
            print(f"| {n} | {peer} | " + " | ".join(cells) + " |")
        print(f"| mean over n | {peer} | " + " | ".join("%+.4f" % np.mean(over_n[m]) for m in MEASURES) + " |")
    print("| goal, mean over n | | " + " | ".join(GOALS[m] for m in MEASURES) + " |")


def figures_of(scores, sizes):
    """Rows for the table of figures: ours beside the better of the two tuned peers."""
    rows = []
    for measure in ("recall1", "regret32", "spearman"):
        columns = {m: [mean(measure, set_means(scores[m][n], measure)) for n in sizes if n in scores[m]] for m in scores}
        columns = {m: values + [mean(measure, values)] for m, values in columns.items()}
        for i, n in enumerate([f"n={n}" for n in sizes if n in scores["ours"]] + ["mean over n"]):
            peers = {m: columns[m][i] for m in ("xgb_tuned", "lgb_tuned") if m in columns}
            best = (max if HIGHER_IS_BETTER[measure] else min)(peers, key=peers.get)
            rows.append((f"{measure}, {n}", GOALS[measure], "%.3f (%s)" % (peers[best], best), "%.3f" % columns["ours"][i]))
    return rows


def print_sets(scores, sizes):
    """Ours and the peers for each set, for finding where a model falls short."""
    print("\nBy set: " + " / ".join(MEASURES) + "\n")
    for n in sizes:
        for name in sorted({name for m in scores for name in scores[m].get(n, {})}):
            for m in scores:
                cells = ["%.3f" % mean(x, [seed[x] for seed in scores[m][n][name]]) for x in MEASURES]
                print(f"{n:5d} {name:24s} {m:10s} " + " ".join(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="directory of recorded sets (.csv, .csv.gz)")
    parser.add_argument("--sets", default="", help="only these, comma-separated")
    parser.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], default=[64, 256, 1024, 4096])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--models", default="xgb_tuned,lgb_tuned,atvm_reg", help="peers; empty for none")
    parser.add_argument("--tune", default="", help="the tune program; without it only peers")
    parser.add_argument("--evaluated", default="", help="CSV of tune model eval --out: takes ours from there, which is quicker")
    parser.add_argument("--train-args", default="", help="added to tune model train")
    parser.add_argument("--cache", default="out/peers_cache", help="directory of the peers' scores")
    parser.add_argument("--figures", default="", help="file that figure, goal, peer and ours are added to")
    parser.add_argument("--by-set", action="store_true", help="also print each set")
    args = parser.parse_args()
    scores = collect(args, sets_in(args.data, [s for s in args.sets.split(",") if s]))
    print(f"{args.seeds} seeds")
    print_means(scores, args.sizes)
    if "ours" in scores:
        print_differences(scores, args.sizes)
        add_figures(args.figures, figures_of(scores, args.sizes))
    if args.by_set:
        print_sets(scores, args.sizes)


if __name__ == "__main__":
    main()
