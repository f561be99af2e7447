# SPDX-License-Identifier: MIT
"""Logs: records as dicts, as a pandas DataFrame, the best of them."""
from __future__ import annotations

import json
import math
import os
import warnings
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Union

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]
Record = "dict[str, Any]"

SCHEMA = 1


def parse_line(line: bytes) -> "Optional[dict[str, Any]]":
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA or not isinstance(record.get("knobs"), dict):
        return None
    return record


def iter_log(path: Path) -> "Iterator[dict[str, Any]]":
    """The records of a log, line by line as they were appended. A torn, foreign or newer line is passed over with a
    warning (`tune log check` looks at checksums too)."""
    with open(path, "rb") as f:
        for i, line in enumerate(f, 1):
            if not line.strip():
                continue
            record = parse_line(line)
            if record is None:
                warnings.warn(f"{os.fspath(path)}:{i}: not a record of schema {SCHEMA}, passed over", stacklevel=2)
            else:
                yield record


def row_of(record: "Mapping[str, Any]") -> "dict[str, Any]":
    """A record without its nested parts: knobs as `knob.NAME`, `time_ms` (NaN where nothing was timed), `gflops`."""
    row = {k: v for k, v in record.items() if not isinstance(v, (dict, list)) and k not in ("schema", "crc32c", "anchor", "device")}
    time_ns = record.get("time_ns") or 0
    row["time_ms"] = time_ns / 1e6 if time_ns else math.nan
    row["gflops"] = record["flops"] / time_ns if time_ns and record.get("flops") else math.nan
    row.update({f"knob.{k}": v for k, v in record["knobs"].items()})
    return row


def read_log(path: Path) -> "Union[pandas.DataFrame, list[dict[str, Any]]]":
    """A log as a pandas DataFrame, one row a record (row_of); a list of such rows where pandas is not installed."""
    rows = [row_of(r) for r in iter_log(path)]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def best_of(records: "Iterable[Mapping[str, Any]]") -> "Optional[Mapping[str, Any]]":
    """The fastest `ok` record; finals, where there are any, are what counts (docs/logs.md has the whole rule, of several
    runs too: `tune best`)."""
    good = [r for r in records if r["status"] == "ok" and r.get("time_ns")]
    finals = [r for r in good if r.get("purpose") == "final"]
    return min(finals or good, key=lambda r: r["time_ns"], default=None)
