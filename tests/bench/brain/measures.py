# SPDX-License-Identifier: MIT
"""Recorded sets of configs, how they are split into train and test, and how a ranking of the test rows is judged.

A set is a CSV (or .csv.gz) with a header: parameters, time_ms (empty where a config failed), status ("ok" or why not).
"""
import csv
import gzip
import math
from pathlib import Path

import numpy as np

MEASURES = ("spearman", "recall1", "recall5", "regret32")
HIGHER_IS_BETTER = {"spearman": True, "recall1": True, "recall5": True, "regret32": False}


class Set:
    """One recorded set. params[row, knob]; time_ms[row], NaN where the config failed; lines: the rows' text."""

    def __init__(self, path):
        self.name = Path(path).name.removesuffix(".gz").removesuffix(".csv")
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
        self.header, self.lines = rows[0], rows[1:]
        knobs = [i for i, name in enumerate(self.header) if name not in ("time_ms", "status")]
        at_time, at_status = self.header.index("time_ms"), self.header.index("status")
        self.knobs = [self.header[i] for i in knobs]
        self.params = np.array([[float(row[i]) for i in knobs] for row in self.lines])
        self.time_ms = np.array([float(row[at_time]) if row[at_status] == "ok" and row[at_time] else math.nan
                                 for row in self.lines])

    def __len__(self):
        return len(self.lines)

    def write(self, path, rows, header=None):
        """Writes some rows as CSV; another header renames the knobs."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header or self.header)
            writer.writerows(self.lines[row] for row in rows)


def sets_in(directory, names=None):
    """All sets of a directory by name, or those named."""
    paths = sorted(Path(directory).glob("*.csv.gz")) + sorted(Path(directory).glob("*.csv"))
    if names:
        paths = [path for path in paths if path.name.split(".csv")[0] in names]
    if not paths:
        raise SystemExit(f"no recorded set in '{directory}'" + (f" among {', '.join(names)}" if names else ""))
    return [Set(path) for path in paths]


def splitmix64(x):
    """Steele, Lea and Flood 2014, on an array of uint64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def split(n_rows, n_train, seed, max_test=20000):
    """Rows in the order of splitmix64(seed * 2^32 + row): the first n_train, then the next max_test."""
    keys = splitmix64((np.uint64(seed) << np.uint64(32)) + np.arange(n_rows, dtype=np.uint64))
    order = np.argsort(keys, kind="stable")
    return order[:n_train], order[n_train:n_train + max_test]


def average_ranks(values):
    """Ranks from 0; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count + 1) / 2.0)[place]


def spearman(a, b):
    x, y = average_ranks(a), average_ranks(b)
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt((x @ x) * (y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0


def recall(order, time_ms, share):
    """Of the k fastest configs, k = share of those that ran, how many are among the first k of the order."""
    times = np.sort(time_ms[np.isfinite(time_ms)])
    k = max(1, math.ceil(share * len(times)))
    with np.errstate(invalid="ignore"):
        return min(k, int(np.sum(time_ms[order[:k]] <= times[k - 1]))) / k


def regret(order, time_ms, k):
    """Best time among the first k of the order / best time; the worst time when all of them failed."""
    first = time_ms[order[:k]]
    ran = first[np.isfinite(first)]
    return float((ran.min() if len(ran) else np.nanmax(time_ms)) / np.nanmin(time_ms))


def judge(time_ms, predicted):
    """time_ms: of the test rows, NaN for a failure; predicted: lower = faster, ties go by row. Returns a dict of MEASURES."""
    if len(predicted) != len(time_ms):
        raise SystemExit(f"{len(predicted)} predictions for {len(time_ms)} rows")
    predicted = np.where(np.isfinite(predicted), predicted, np.inf)
    order = np.argsort(predicted, kind="stable")
    ran = np.isfinite(time_ms)
    return {"spearman": spearman(predicted[ran], time_ms[ran]), "recall1": recall(order, time_ms, 0.01),
            "recall5": recall(order, time_ms, 0.05), "regret32": regret(order, time_ms, 32)}


def mean(measure, values, axis=None):
    """Arithmetic, but geometric for regret."""
    values = np.asarray(values, float)
    return np.exp(np.mean(np.log(values), axis=axis)) if measure.startswith("regret") else np.mean(values, axis=axis)
