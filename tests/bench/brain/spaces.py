# SPDX-License-Identifier: MIT
"""Recorded spaces: X.json (params with their values, restrictions) beside X.csv.gz (a row a config: the knobs, then status, time_ms
and cost_ms, empty where unknown)."""
import csv
import gzip
import json
import math
from pathlib import Path

import numpy as np


class Space:
    """values[knob]: list; configs: tuples in the order of rows; time_ms, cost_ms: NaN where there is none."""

    def __init__(self, path):
        described = json.loads(Path(path).read_text())
        self.name, self.path = Path(path).stem, str(path)
        self.kernel = described.get("kernel", self.name.rsplit("-", 1)[0])
        self.values = {param["name"]: param["values"] for param in described["params"]}
        self.restrictions = described.get("restrictions", [])
        with gzip.open(Path(path).with_suffix(".csv.gz"), "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        as_given = {knob: {float(v): v for v in values} for knob, values in self.values.items()}
        self.configs = [tuple(as_given[knob][float(row[knob])] for knob in self.values) for row in rows]
        self.time_ms = np.array([float(row["time_ms"]) if row["status"] == "ok" and row["time_ms"] else math.nan for row in rows])
        self.cost_ms = np.array([float(row["cost_ms"]) if row["cost_ms"] else math.nan for row in rows])
        self.optimum_ms = float(np.nanmin(self.time_ms))

    def __len__(self):
        return len(self.configs)

    def features(self):
        """The knobs that vary; log2 of those that are always positive."""
        table = np.array(self.configs, float)
        table = table[:, table.min(axis=0) < table.max(axis=0)]
        positive = table.min(axis=0) > 0
        table[:, positive] = np.log2(table[:, positive])
        return table


def spaces_in(directory, names=None):
    paths = [path for path in sorted(Path(directory).glob("*.json")) if not names or path.stem in names]
    if not paths:
        raise SystemExit(f"no recorded space in '{directory}'" + (f" among {', '.join(names)}" if names else ""))
    return [Space(path) for path in paths]
