# SPDX-License-Identifier: MIT
"""Scores of the peers, kept between runs: the peers do not change."""
import csv
import os
from pathlib import Path

from measures import MEASURES


class Cache:
    """Scores of one model in a CSV, by (set, n, seed); lines are added as they come."""

    def __init__(self, directory, model):
        os.makedirs(directory, exist_ok=True)
        self.path, self.scores = Path(directory, model + ".csv"), {}
        if self.path.exists():
            with open(self.path, newline="") as file:
                for row in csv.DictReader(file):
                    key = row["set"], int(row["n"]), int(row["seed"])
                    self.scores[key] = {m: float(row[m]) for m in MEASURES}

    def get(self, key, compute):
        if key not in self.scores:
            self.scores[key] = compute()
            new = not self.path.exists()
            with open(self.path, "a") as file:
                if new:
                    file.write("set,n,seed," + ",".join(MEASURES) + "\n")
                file.write("%s,%d,%d," % key + ",".join("%.6f" % self.scores[key][m] for m in MEASURES) + "\n")
        return self.scores[key]
