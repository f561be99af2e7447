#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peers' searches on recorded spaces, a JSON line a run: Kernel Tuner's strategies and loops around XGBoost.

Each line: space, seed, method, traj (rows in the order of their first evaluation, failures count), overhead_ms (CPU of the search).
Runs that the output holds already are not made again.
"""
import argparse
import json
import random
import time
import warnings
from pathlib import Path

import numpy as np

from spaces import spaces_in

KERNEL_TUNER = ("adaptive_tabu_greywolf", "dual_annealing", "simulated_annealing", "genetic_algorithm", "random_sample")
LOOPS = {"xgb_reg_b4": dict(batch=4), "xgb_reg_b16": dict(batch=16), "xgb_history_b8": dict(batch=8, history=True)}


class Visited(dict):
    """The simulation runner's set of visited configs, but in order."""

    def add(self, key):
        self[key] = None


def kernel_tuner_results(space):
    """What Kernel Tuner's cache would hold: one result for each config, by its text."""
    from kernel_tuner.util import RuntimeFailedConfig
    results = {}
    for config, time_ms in zip(space.configs, space.time_ms):
        result = dict(zip(space.values, config))
        result.update(compile_time=0.0, verification_time=0.0, benchmark_time=0.0, time=float(time_ms))
        if not np.isfinite(time_ms):
            result.update(time=RuntimeFailedConfig(), __error__=RuntimeFailedConfig())
        results[",".join(map(str, config))] = result
    return results


def restrictions_of(space):
    """As recorded; where they are unknown, the recorded configs are the restriction."""
    if space.restrictions is not None:
        return list(space.restrictions)
    from constraint import FunctionConstraint
    known = set(space.configs)
    return [FunctionConstraint(lambda *config: config in known)]


def kernel_tuner_run(space, strategy, budget, seed):
    """One run in Kernel Tuner's own simulation runner, with its default settings, sequential."""
    from kernel_tuner import interface, util
    from kernel_tuner.runners.simulation import SimulationRunner
    from kernel_tuner.searchspace import Searchspace
    options = interface.Options
    runner = SimulationRunner(None, options(kernel_name=space.kernel), options(quiet=True), 1, None)
    runner.visited_results = Visited()
    # A fresh object for each run: it keeps neighbours that earlier runs have visited, which would be a leak.
    searchspace = Searchspace(dict(space.values), restrictions_of(space), 10**9)
    # dual_annealing holds revisits against its own limit: only the budget of evaluations shall count.
    own_limit = 10**7 if strategy == "dual_annealing" else budget
    tuning = options(strategy_options=options(max_fevals=own_limit), objective=["time"], objective_higher_is_better=[False], metrics=None,
                     tune_params=dict(space.values), restrictions=searchspace._modified_restrictions, verbose=False, simulated_time=0,
                     cache=kernel_tuner_results(space), budget=util.TuningBudget(None, min(budget, len(space))))
    random.seed(seed)
    np.random.seed(seed)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interface.strategy_map[strategy].tune(searchspace, runner, tuning)
    row = {",".join(map(str, config)): i for i, config in enumerate(space.configs)}
    return [row[key] for key in runner.visited_results], 1000 * (time.process_time() - began)


def history_of(space, spaces):
    """Other devices' records of the same kernel and knobs: their ln times (failure = worst), and their configs best first."""
    others = [o for o in spaces if o.kernel == space.kernel and o.configs == space.configs and o.name != space.name]
    columns = [np.where(np.isfinite(o.time_ms), np.log(o.time_ms), np.log(np.nanmax(o.time_ms))) for o in others]
    return columns, [np.argsort(column, kind="stable") for column in columns]


def xgboost_loop(space, batch, budget, seed, history):
    """16 random configs (with a history the best of each other device in turn), then the top of a fitted XGBoost over all
    open configs in batches, one in twenty at random."""
    import xgboost
    rng = np.random.default_rng(seed)
    columns, rankings = history
    began = time.process_time()
    features = np.column_stack([space.features()] + columns)
    whole = xgboost.DMatrix(features, nthread=1)
    settings = dict(objective="reg:squarederror", max_depth=3, eta=0.3, tree_method="hist", nthread=1, seed=seed)
    in_turn = list(dict.fromkeys(int(row) for rows in zip(*rankings) for row in rows))
    visited = in_turn[:batch] if in_turn else [int(row) for row in rng.choice(len(space), min(16, len(space)), replace=False)]
    while len(visited) < min(budget, len(space)):
        seen = space.time_ms[visited]
        ran = np.isfinite(seen)
        if ran.any():
            y = np.where(ran, np.log(seen), np.log(np.nanmax(seen)))
            model = xgboost.train(settings, xgboost.DMatrix(features[visited], y, nthread=1), num_boost_round=100)
            score = model.predict(whole)
        else:
            score = rng.random(len(space))
        score[visited] = np.inf
        for _ in range(min(batch, budget - len(visited), len(space) - len(visited))):
            open_rows = np.flatnonzero(np.isfinite(score))
            pick = int(rng.choice(open_rows)) if rng.random() < 0.05 else int(np.argmin(score))
            score[pick] = np.inf
            visited.append(pick)
    return visited, 1000 * (time.process_time() - began)


def run(space, method, budget, seed, spaces):
    if method in LOOPS:
        loop = LOOPS[method]
        history = history_of(space, spaces) if loop.get("history") else ([], [])
        return xgboost_loop(space, loop["batch"], budget, seed, history)
    return kernel_tuner_run(space, method, budget, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="directory of recorded spaces")
    parser.add_argument("--spaces", default="", help="only these, comma-separated")
    parser.add_argument("--methods", default=",".join(KERNEL_TUNER + tuple(LOOPS)))
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", required=True, help="JSON lines, added to")
    args = parser.parse_args()
    spaces = spaces_in(args.data)
    wanted = args.spaces.split(",") if args.spaces else [space.name for space in spaces]
    done = set()
    if Path(args.out).exists():
        lines = map(json.loads, Path(args.out).read_text().splitlines())
        done = {(line["space"], line["method"], line["seed"]) for line in lines if line["budget"] >= args.budget}
    with open(args.out, "a") as out:
        for method in args.methods.split(","):
            for space in [space for space in spaces if space.name in wanted]:
                if LOOPS.get(method, {}).get("history") and not history_of(space, spaces)[0]:
                    continue
                for seed in range(args.seeds):
                    if (space.name, method, seed) in done:
                        continue
                    traj, overhead_ms = run(space, method, args.budget, seed, spaces)
                    line = dict(space=space.name, seed=seed, method=method, budget=args.budget, overhead_ms=round(overhead_ms, 3), traj=traj)
                    out.write(json.dumps(line, separators=(",", ":")) + "\n")
                    out.flush()


if __name__ == "__main__":
    main()
