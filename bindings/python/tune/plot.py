# SPDX-License-Identifier: MIT
"""Pictures for notebooks, of logs; they need matplotlib. Each returns its axes."""
from __future__ import annotations

import math
import os
from typing import Any, Mapping, Optional, Sequence, Union

from ._logs import Path, iter_log

Log = Union[Path, "Sequence[Mapping[str, Any]]"]  # a file, or records


def _records(log: Log) -> "list[Mapping[str, Any]]":
    records = iter_log(log) if isinstance(log, (str, os.PathLike)) else log
    return [r for r in records if r.get("purpose") == "search"]


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def best_so_far(log: Log) -> "dict[str, list[float]]":
    """For each workload the best time in ms after each trial (NaN before the first good one)."""
    out: "dict[str, list[float]]" = {}
    for r in _records(log):
        line = out.setdefault(r["workload"], [])
        time = r["time_ns"] / 1e6 if r["status"] == "ok" and r.get("time_ns") else math.inf
        before = line[-1] if line and not math.isnan(line[-1]) else math.inf
        line.append(min(before, time) if min(before, time) < math.inf else math.nan)
    return out


def curve(log: Log, ax: Any = None) -> Any:
    """The best time over the trials, a line a workload."""
    ax = _axes(ax)
    for workload, times in best_so_far(log).items():
        ax.step(range(1, len(times) + 1), times, where="post", label=workload)
    ax.set(xlabel="trials", ylabel="best time [ms]", yscale="log")
    if ax.get_legend_handles_labels()[0]:  # a log without trials has no line
        ax.legend(fontsize="small")
    return ax


def knob(log: Log, name: str, ax: Any = None, workload: Optional[str] = None) -> Any:
    """Each good trial's time over the value of one knob (of the first workload, unless named). ValueError where no good
    trial has it."""
    good = [r for r in _records(log) if r["status"] == "ok"]
    records = [r for r in good if name in r["knobs"] and workload in (None, r["workload"])]
    if not records:
        known = ", ".join(dict.fromkeys(k for r in good for k in r["knobs"]))
        raise ValueError(f"no good trial{f' of {workload}' if workload else ''} has the knob {name}: there are {known or 'none at all'}")
    ax = _axes(ax)
    workload = records[0]["workload"]
    points = [(r["knobs"][name], r["time_ns"] / 1e6) for r in records if r["workload"] == workload]
    values = sorted({v for v, _ in points}, key=lambda v: (isinstance(v, str), v))
    ax.scatter([values.index(v) for v, _ in points], [t for _, t in points], s=12)
    ax.set_xticks(range(len(values)), [str(v) for v in values])
    ax.set(xlabel=name, ylabel="time [ms]", yscale="log", title=workload)
    return ax
