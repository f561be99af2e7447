#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What another device's records are worth: ours with --source beside a naive XGBoost with the source's prediction as feature and
fitted margin, over pairs of devices that ran the same kernel; and what a wrong source (another kernel under the target's names, or
shuffled times) costs ours, against no source at all. n = 0 is the source alone.
"""
import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np

from cache import Cache
from figures import add_figures
from measures import MEASURES, judge, mean, sets_in, split
from models import ROUNDS, Ours, always_positive, features, log_times, xgb_tuned

FEW = ("convmilo__A4000>convmilo__MI250X", "convmilo__MI250X>convmilo__W6600", "convmilo__W6600>convmilo__A6000",
       "convold__RTX2080Ti>convold__RTX3090", "dedisp__A4000>dedisp__MI250X", "dedisp__W6600>dedisp__A6000",
       "kttpnpoly__RTX2080Ti>kttpnpoly__RTX3090", "pnpoly__RTXTitan>pnpoly__RTX3090")
WRONG = ("ours, wrong kernel", "ours, shuffled")


def settings():
    return dict(objective="reg:squarederror", max_depth=6, eta=0.05, subsample=0.8, colsample_bytree=0.8, tree_method="hist", nthread=1,
                seed=0)


class NaiveSource:
    """XGBoost on the standardised log times of all the source's records; a target adds a fitted line and a feature."""

    def __init__(self, source):
        import xgboost
        self.xgboost, self.log2 = xgboost, always_positive(source.params)
        y = log_times(source.time_ms)
        data = xgboost.DMatrix(features(source.params, self.log2), (y - y.mean()) / y.std(), nthread=1)
        self.model = xgboost.train(settings(), data, num_boost_round=ROUNDS)

    def predict(self, params):
        return self.model.predict(self.xgboost.DMatrix(features(params, self.log2), nthread=1))

    def warmed(self, params, time_ms, test):
        if not len(params):
            return self.predict(test)
        y, known, asked = log_times(time_ms), self.predict(params), self.predict(test)
        slope, offset = np.polyfit(known, y, 1) if np.ptp(known) > 0 else (0.0, y.mean())
        log2 = always_positive(params, test)

        def matrix(table, prior, label=None):
            columns = np.column_stack([features(table, log2), prior])
            return self.xgboost.DMatrix(columns, label, base_margin=offset + slope * prior, nthread=1)

        model = self.xgboost.train(settings(), matrix(params, known, y), num_boost_round=ROUNDS)
        return model.predict(matrix(test, asked))


def pairs_of(sets, few):
    by_name = {data.name: data for data in sets}
    if few:
        named = [pair.split(">") for pair in few]
        return [(by_name[a], by_name[b]) for a, b in named if a in by_name and b in by_name]
    same = lambda a, b: a.name.split("__")[0] == b.name.split("__")[0] and a.header == b.header
    return [(a, b) for a, b in itertools.permutations(sets, 2) if same(a, b)]


def wrong_kernel(source, target, path):
    """Another kernel's records under the target's knob names (its columns again where it has fewer)."""
    columns = np.arange(len(target.knobs)) % len(source.knobs)
    write_source(path, target.knobs, source.params[:, columns], source.time_ms)


def shuffled(source, target, path, seed):
    """The right kernel's configs with each other's times."""
    write_source(path, target.knobs, source.params, np.random.default_rng(seed).permutation(source.time_ms))


def write_source(path, knobs, params, time_ms):
    with open(path, "w") as file:
        file.write(",".join(knobs) + ",time_ms,status\n")
        for row, time in zip(params, time_ms):
            words = ["%.10g" % value for value in row] + (["%.6g" % time, "ok"] if np.isfinite(time) else ["", "runtime"])
            file.write(",".join(words) + "\n")


def run_pair(args, scores, source, target, other, place):
    """All cells of one pair, added to scores[model][n][pair]."""
    pair, naive = f"{source.name}>{target.name}", []
    ours = Ours(args.tune, args.train_args.split()) if args.tune else None
    files = {kind: Path(place, kind + ".csv") for kind in ("source", "kernel", "shuffled")}
    source.write(files["source"], range(len(source)))
    wrong_kernel(other, target, files["kernel"])
    caches = {m: Cache(args.cache, m) for m in ("transfer_naive", "transfer_target")}

    def source_model():
        if not naive:
            naive.append(NaiveSource(source))
        return naive[0]

    for n in args.sizes:
        for seed in range(args.seeds if n else 1):
            train, test = split(len(target), n, seed)
            table = target.params[train], target.time_ms[train], target.params[test]
            add = lambda model, got: scores.setdefault(model, {}).setdefault(n, {}).setdefault(pair, []).append(got)
            judged = lambda predicted: judge(target.time_ms[test], predicted)
            add("naive", caches["transfer_naive"].get((pair, n, seed), lambda: judged(source_model().warmed(*table))))
            if n:
                add("target only", caches["transfer_target"].get((target.name, n, seed), lambda: judged(xgb_tuned(*table))))
            if ours:
                add("ours", judged(ours(target, train, test, files["source"])))
            if ours and n and args.wrong:
                shuffled(source, target, files["shuffled"], seed)
                add("ours, no source", judged(ours(target, train, test)))
                add("ours, wrong kernel", judged(ours(target, train, test, files["kernel"])))
                add("ours, shuffled", judged(ours(target, train, test, files["shuffled"])))
    print(f"# {pair} done", file=sys.stderr, flush=True)


def over_pairs(by_pair, measure):
    """Mean over seeds, then over pairs."""
    return mean(measure, [mean(measure, [seed[measure] for seed in seeds]) for seeds in by_pair.values()])


def ratios(scores, n, model, measure):
    """A wrong source against none, one ratio a pair."""
    plain, wrong = scores["ours, no source"][n], scores[model][n]
    return np.array([mean(measure, [s[measure] for s in wrong[pair]]) / mean(measure, [s[measure] for s in plain[pair]]) for pair in plain])


def figures_of(scores, sizes):
    rows = []
    for measure in ("regret32", "recall1"):
        for n in sizes:
            peer, ours = over_pairs(scores["naive"][n], measure), over_pairs(scores["ours"][n], measure)
            rows.append((f"transfer, {measure}, n={n}", "better", "%.3f" % peer, "%.3f" % ours))
    for model in WRONG if WRONG[0] in scores else ():
        worst = max(mean("regret32", ratios(scores, n, model, "regret32")) for n in sizes if n)
        rows.append((f"{model} against no source, regret32, worst n", "<= 1.05", "-", "%.3f" % worst))
    return rows


def print_tables(scores, sizes):
    print("| n | pairs | model | " + " | ".join(MEASURES) + " |\n|---|---|---|" + "---|" * len(MEASURES))
    for n in sizes:
        for model in [m for m in scores if n in scores[m]]:
            cells = [over_pairs(scores[model][n], x) for x in MEASURES]
            print(f"| {n} | {len(scores[model][n])} | {model} | " + " | ".join("%.4f" % c for c in cells) + " |")
    if WRONG[0] not in scores:
        return
    print("\nA wrong source against none: ratio of regret@32 and of recall@5% (goal: none worse by more than 5 %)\n")
    print("| n | wrong source | regret32 ratio | recall5 ratio | worst pair, regret32 ratio |\n|---|---|---|---|---|")
    for n in [n for n in sizes if n]:
        for model in WRONG:
            ratio = ratios(scores, n, model, "regret32")
            recall = over_pairs(scores[model][n], "recall5") / over_pairs(scores["ours, no source"][n], "recall5")
            print("| %d | %s | %.4f | %.4f | %.3f |" % (n, model, mean("regret32", ratio), recall, ratio.max()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="directory of recorded sets")
    parser.add_argument("--pairs", default=",".join(FEW), help="source>target, comma-separated; 'all' for all of one kernel")
    parser.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], default=[0, 16, 64, 256])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tune", default="", help="the tune program; without it only peers")
    parser.add_argument("--train-args", default="", help="added to tune model train")
    parser.add_argument("--wrong", action="store_true", help="also the cost of wrong sources")
    parser.add_argument("--figures", default="", help="file that figure, goal, peer and ours are added to")
    parser.add_argument("--cache", default="out/peers_cache", help="directory of the peers' scores")
    args = parser.parse_args()
    sets, scores = sets_in(args.data), {}
    pairs = pairs_of(sets, None if args.pairs == "all" else args.pairs.split(","))
    if not pairs:
        raise SystemExit(f"none of the pairs {args.pairs} is in '{args.data}'")
    for source, target in pairs:
        foreign = [data for data in sets if data.header != target.header]
        if args.wrong and not foreign:
            raise SystemExit(f"'{args.data}' has no other kernel than {target.name}'s: no wrong source")
        with tempfile.TemporaryDirectory() as place:
            run_pair(args, scores, source, target, foreign[len(target.name) % len(foreign)] if foreign else source, place)
    print(f"{args.seeds} seeds")
    print_tables(scores, args.sizes)
    if args.tune:
        add_figures(args.figures, figures_of(scores, args.sizes))


if __name__ == "__main__":
    main()
