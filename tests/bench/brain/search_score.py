#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores runs on recorded spaces (JSON lines: space, seed, method, traj, overhead_ms) and prints a table, one row a method.

share@k   fastest time of the space / best time after k evaluations (unique; failures count); mean over seeds, then spaces
evals     evaluations until the mean curve over seeds and spaces reaches a share
P         the autotuning methodology's score (Willemsen et al. 2024), 0 = random search, 1 = the optimum at once, over
          evaluations and over the recorded cost of evaluations
"""
import argparse
import collections
import json
import math
import sys
from pathlib import Path

import numpy as np

from figures import add_figures
from spaces import Space

LEVELS = (0.90, 0.95, 0.98)
GRID = 1000


class Scale:
    """What random search does on a space, in closed form: the measure of P."""

    def __init__(self, space, cap):
        self.cost_ms = np.nan_to_num(space.cost_ms)
        ran, known = np.isfinite(space.time_ms), np.isfinite(space.cost_ms)
        self.times = np.sort(space.time_ms[ran])
        self.slowest_first = self.times[::-1]
        self.limit = max(1, min(self.cutoff(0.95), cap))
        per_eval = float(np.median(space.cost_ms[known])) if known.any() else math.nan
        self.begin_ms, self.end_ms = self.cutoff(0.01) * per_eval, self.limit * per_eval
        self.mean_cost_ms = float(np.nanmean(space.cost_ms[ran])) if known.any() else math.nan
        if known.any() and not ran.all():
            self.mean_cost_ms += np.mean(~ran) * float(np.nanmean(space.cost_ms[~ran]))

    def cutoff(self, share):
        """Evaluations that random search needs to close `share` of the gap between the median and the best time."""
        best = self.times[0]
        target = best + (np.median(self.times) - best) * (1 - share)
        at = int(np.argmax(self.slowest_first <= target))
        if share < 1 and self.slowest_first[at] == best:
            at -= 1
        return math.ceil(at / (len(self.times) + 1 - at))

    def random(self, evaluations):
        """Expected best time of random search without replacement after so many evaluations."""
        k, n = np.asarray(evaluations, float), len(self.times)
        return self.slowest_first[np.minimum(n - 1, np.rint(k * (n + 1) / (k + 1))).astype(int)]

    def gained(self, found, random):
        """Mean share of the gap between random search and the optimum that was closed."""
        gap = self.times[0] - random
        open_ = gap < 0
        return float(np.mean((found - random)[open_] / gap[open_])) if open_.any() else math.nan


def falling_fit(x, y):
    """Least squares among falling functions (pool adjacent violators). Returns knots x and their values."""
    knots, place, weight = np.unique(x, return_inverse=True, return_counts=True)
    blocks = []
    for value, w in zip(np.bincount(place, weights=y) / weight, weight):
        blocks.append([value, w, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            value, w, n = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + value * w) / (last[1] + w)
            last[1], last[2] = last[1] + w, last[2] + n
    return knots, np.repeat([b[0] for b in blocks], [b[2] for b in blocks])


class Run:
    """One trajectory: best[k] ms after k+1 unique evaluations (inf before the first that ran) and when it was known."""

    def __init__(self, line, space, scale, cap):
        rows = list(dict.fromkeys(line["traj"]))[:max(cap, scale.limit)]
        time_ms = space.time_ms[rows]
        self.best = np.minimum.accumulate(np.where(np.isfinite(time_ms), time_ms, np.inf))
        self.overhead_ms = line.get("overhead_ms", 0.0) / len(set(line["traj"]))
        self.clock_ms = np.cumsum(scale.cost_ms[rows] + line.get("overhead_ms", 0.0) / max(1, len(line["traj"])))
        self.rank = np.where(np.isfinite(self.best), np.searchsorted(scale.times, self.best), len(scale.times) - 1)

    def held(self, values, n):
        """The first n values, the last one repeated."""
        return np.concatenate([values[:n], np.full(max(0, n - len(values)), values[-1])])


def p_evaluations(runs, scale):
    ranks = np.median([run.held(run.rank, scale.limit) for run in runs], axis=0)
    found = scale.times[np.rint(ranks).astype(int)]
    return scale.gained(found, scale.random(np.arange(1, scale.limit + 1)))


def p_time(runs, scale):
    """All runs' (clock, rank) points make one falling curve; held from the median run's end."""
    if not scale.end_ms > scale.begin_ms:
        return math.nan
    x = np.concatenate([run.clock_ms[np.isfinite(run.best)] for run in runs])
    y = np.concatenate([run.rank[np.isfinite(run.best)] for run in runs])
    inside = (x >= 0.9 * scale.begin_ms) & (x <= 1.1 * scale.end_ms)
    if inside.sum() < 4:
        return math.nan
    grid = np.linspace(scale.begin_ms, scale.end_ms, GRID)
    rank = np.interp(grid, *falling_fit(x[inside], y[inside]))
    found = scale.times[np.clip(np.rint(rank), 0, len(scale.times) - 1).astype(int)]
    end = np.median([run.clock_ms[-1] for run in runs])
    if end < scale.end_ms:
        found[grid > end] = found[max(0, np.searchsorted(grid, end, side="right") - 1)]
    return scale.gained(found, scale.random(np.maximum(1, np.rint(grid / scale.mean_cost_ms))))


def score_method(by_space, spaces, scales, cap):
    """Returns dict: curves[space] shares over 1..cap per seed, p_eval, p_time, overhead."""
    out = dict(curves={}, p_eval={}, p_time={}, overhead={})
    for name, lines in by_space.items():
        runs = [Run(lines[seed], spaces[name], scales[name], cap) for seed in sorted(lines)]
        out["curves"][name] = np.array([run.held(spaces[name].optimum_ms / run.best, cap) for run in runs])
        out["p_eval"][name], out["p_time"][name] = p_evaluations(runs, scales[name]), p_time(runs, scales[name])
        out["overhead"][name] = np.mean([run.overhead_ms for run in runs])
    return out


def seed_error(curves, k):
    """Standard error of the mean over spaces at k, seeds of a space taken as independent."""
    errors = [c[:, k - 1].std(ddof=1) / math.sqrt(len(c)) for c in curves if len(c) > 1]
    return math.sqrt(sum(e * e for e in errors)) / len(curves) if errors else math.nan


def reached(curve, level):
    at = np.flatnonzero(curve >= level)
    return str(at[0] + 1) if len(at) else "-"


def print_table(scored, names, budgets):
    print(f"\n{len(names)} spaces: {', '.join(names)}\n")
    print("| method | seeds | " + " | ".join(f"@{k}" for k in budgets) + " | s.e. | "
          + " | ".join(f"to {level:.2f}" for level in LEVELS) + " | P evals | P time | ms/eval |")
    print("|---|---|" + "---|" * (len(budgets) + len(LEVELS) + 4))
    rows = []
    for method, s in scored.items():
        curves = [s["curves"][name] for name in names]
        mean = np.mean([c.mean(axis=0) for c in curves], axis=0)
        errors = [seed_error(curves, k) for k in budgets]
        cells = ["%.3f" % mean[k - 1] for k in budgets] + ["%.3f-%.3f" % (min(errors), max(errors))] + [reached(mean, x) for x in LEVELS]
        cells += ["%.3f" % np.mean([s[p][name] for name in names]) for p in ("p_eval", "p_time")]
        cells += ["%.2f" % np.mean([s["overhead"][name] for name in names])]
        rows.append((-mean[budgets[min(2, len(budgets) - 1)] - 1], f"| {method} | {min(map(len, curves))} | " + " | ".join(cells) + " |"))
    print("\n".join(text for _, text in sorted(rows)))


def figures_of(scored, names, budgets, scales):
    """ours, ours_b16, ours_warm beside the best of the other methods at the same thing."""
    rows, mean = [], {m: np.mean([s["curves"][name].mean(axis=0) for name in s["curves"]], axis=0) for m, s in scored.items()}
    cold = [m for m in mean if not m.startswith("ours") and "history" not in m]

    def against(peers, ours, figure, goal, value, text, best=max):
        known = {m: value(m) for m in peers if m in scored and value(m) is not None}
        peer = best(known, key=known.get) if known else None
        mine = value(ours) if ours in scored else None
        rows.append((figure, goal, f"{text % known[peer]} ({peer})" if peer else "-", "not reached" if mine is None else text % mine))

    def evaluations(level):
        return lambda m: int(np.argmax(mean[m] >= level)) + 1 if (mean[m] >= level).any() else None

    for k, goal in zip((25, 50, 100, 200), (".85", ".92", ".96", ".99")):
        if k <= max(budgets):
            against(cold, "ours", f"search, share of optimum @{k}", goal, lambda m, k=k: mean[m][k - 1], "%.3f")
    for level, goal in zip(LEVELS, ("25", "52", "91")):
        against(cold, "ours", f"search, evaluations to {level:.2f}", goal, evaluations(level), "%d", min)
    against([m for m in cold if m.endswith("b16")], "ours_b16", "search, batches of 16, evaluations to 0.95", "64", evaluations(0.95), "%d", min)
    for level, goal in ((0.95, "10"), (0.98, "25")):
        against(["xgb_history_b8"], "ours_warm", f"search, warmed, evaluations to {level:.2f}", goal, evaluations(level), "%d", min)
    timed = [name for name in names if "_milo" in name and scales[name].limit >= 20]
    if timed:
        against(cold, "ours", f"search, P over recorded time, {len(timed)} spaces", ".50, then .70",
                lambda m: float(np.mean([scored[m]["p_time"][name] for name in timed])) if set(timed) <= set(scored[m]["p_time"]) else None, "%.3f")
    against(cold, "ours", "search, CPU ms an evaluation, worst space", "<= 10", lambda m: max(scored[m]["overhead"].values()), "%.2f", min)
    return rows


def print_below_random(scored, names, budgets, baseline):
    """Spaces where a method's mean is below random search by more than two standard errors at some budget."""
    for method, s in scored.items():
        for name in names if method != baseline else []:
            a, b = s["curves"][name], scored[baseline]["curves"][name]
            for k in budgets:
                x, y = a[:, k - 1], b[:, k - 1]
                error = math.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y)) if min(len(x), len(y)) > 1 else math.inf
                if x.mean() < y.mean() - 2 * error:
                    print(f"{method} is below {baseline} on {name} @{k}: {x.mean():.3f} < {y.mean():.3f} (s.e. {error:.3f})")


def read_runs(files, spaces, seeds):
    """Lines of some spaces (all without a list) and of the first seeds, by method, space and seed; the last line counts."""
    runs = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in files:
        for line in Path(path).read_text().splitlines():
            run = json.loads(line)
            if run["traj"] and (not spaces or run["space"] in spaces) and run["seed"] < seeds:
                runs[run.get("method", Path(path).stem)][run["space"]][run["seed"]] = run
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="JSON lines")
    parser.add_argument("--data", required=True, help="directory of recorded spaces")
    parser.add_argument("--spaces", default="", help="only these, comma-separated")
    parser.add_argument("--seeds", type=int, default=10**9, help="only runs of seeds below this")
    parser.add_argument("--budgets", type=lambda s: [int(n) for n in s.split(",")], default=[25, 50, 100, 200, 400])
    parser.add_argument("--figures", default="", help="file that figure, goal, peer and ours are added to")
    parser.add_argument("--per-kernel", action="store_true")
    parser.add_argument("--per-space", action="store_true")
    args = parser.parse_args()
    runs, cap = read_runs(args.files, args.spaces.split(",") if args.spaces else (), args.seeds), max(args.budgets)
    if not runs:
        raise SystemExit("no runs in " + ", ".join(args.files))
    names = sorted({name for by_space in runs.values() for name in by_space})
    spaces = {name: Space(Path(args.data, name + ".json")) for name in names}
    scales = {name: Scale(spaces[name], cap) for name in names}
    scored = {method: score_method(by_space, spaces, scales, cap) for method, by_space in runs.items()}
    groups = collections.defaultdict(list)  # methods that ran on fewer spaces get a table of their own
    for method, s in scored.items():
        groups[tuple(sorted(s["curves"]))].append(method)
    for group in sorted(groups, key=len, reverse=True):
        print_table({m: s for m, s in scored.items() if set(group) <= set(s["curves"])}, group, args.budgets)
    everywhere = {m: s for m, s in scored.items() if set(names) <= set(s["curves"])}
    kernels = collections.defaultdict(list)
    for name in names:
        kernels[spaces[name].kernel].append(name)
    for group in (list(kernels.values()) if args.per_kernel else []) + ([[name] for name in names] if args.per_space else []):
        print_table(everywhere, group, args.budgets)
    baseline = next((m for m in ("random_sample", "random") if m in everywhere), None)
    if baseline:
        print()
        print_below_random(everywhere, names, args.budgets, baseline)
    add_figures(args.figures, figures_of(scored, names, args.budgets, scales) if args.figures else [])


if __name__ == "__main__":
    sys.exit(main())
