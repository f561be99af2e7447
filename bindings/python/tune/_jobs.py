# SPDX-License-Identifier: MIT
"""`tune run`, `submit` and `attach` as calls."""
from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

from . import _program, _search
from ._logs import Path, best_of, iter_log

Workloads = Union[str, Sequence[str], None]


def _list(workloads: Workloads) -> "list[str]":
    return [workloads] if isinstance(workloads, str) else list(workloads or [])


@dataclass
class Run:
    """What a run or an attached job brought."""

    records: "list[dict[str, Any]]"  # all of the log
    done: "Mapping[str, Any]" = field(default_factory=dict)  # the event: for each workload default, best, stopped
    log: Optional[str] = None

    @property
    def best(self) -> "dict[str, Mapping[str, Any]]":
        """The best record of each workload."""
        by: "dict[str, list[dict[str, Any]]]" = {}
        for r in self.records:
            by.setdefault(r["workload"], []).append(r)
        return {w: b for w, b in ((w, best_of(rs)) for w, rs in by.items()) if b}


def _followed(
    args: "list[str]", output: Optional[Path], callback: Any, searcher: "Optional[_search.Searcher]" = None
) -> Run:
    with tempfile.TemporaryDirectory(prefix="tune-run-") as folder:
        log = os.fspath(output) if output is not None else os.path.join(folder, "log.jsonl")
        code, words, done = _search.drive([*args, "-o", log, "--json"], searcher, callback)
        if code not in (0, 2) or not os.path.exists(log):
            raise _program.failed(code, words)
        return Run(list(iter_log(log)), done or {}, log if output is not None else None)


def run(
    workloads: Workloads = None,
    *,
    output: Optional[Path] = None,
    strategy: "Union[None, str, _search.Searcher]" = None,
    callback: Optional[_program.Callback] = None,
    **options: Any,
) -> Run:
    """`tune run`: options are its own (trials=60, network="resnet-50", tracker="tcp://farm:9477", key=..). The same call
    again goes on with the log `output`. `strategy` may be a Searcher (of one workload with one template: it serves one
    space). What `callback` raises ends the run and is raised here."""
    named = strategy if isinstance(strategy, str) else None
    args = ["run", *_list(workloads), *_program.options_of({**options, "strategy": named})]
    return _followed(args, output, callback, None if strategy is None or named else strategy)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Job:
    """A job at a tracker."""

    id: str
    tracker: Optional[str] = None
    key_file: Optional[str] = None

    def _at(self) -> "list[str]":
        return _program.options_of({"tracker": self.tracker, "key_file": self.key_file})

    def status(self) -> "dict[str, Any]":
        """What `tune status JOB --json` says."""
        said: "dict[str, Any]" = json.loads(_program.call("status", self.id, "--json", *self._at()))
        return said

    def cancel(self) -> None:
        _program.call("cancel", self.id, *self._at())

    def pause(self) -> None:
        _program.call("pause", self.id, *self._at())

    def resume(self) -> None:
        _program.call("resume", self.id, *self._at())

    def attach(self, output: Optional[Path] = None, callback: Optional[_program.Callback] = None) -> Run:
        """Follows it to its end. What `callback` raises ends the following, not the job."""
        return _followed(["attach", self.id, *self._at()], output, callback)


def submit(
    workloads: Workloads = None, *, tracker: Optional[str] = None, key_file: Optional[str] = None, **options: Any
) -> Job:
    """`tune submit`: hands a job to a tracker (default: $TUNE_TRACKER, else this machine's)."""
    job = Job("", tracker, key_file)
    said = _program.call("submit", *_list(workloads), "--quiet", *job._at(), *_program.options_of(options))
    return Job(said.split()[0], tracker, key_file)


def attach(
    job: str,
    output: Optional[Path] = None,
    *,
    callback: Optional[_program.Callback] = None,
    tracker: Optional[str] = None,
    key_file: Optional[str] = None,
) -> Run:
    """Job(job).attach(..)."""
    return Job(job, tracker, key_file).attach(output, callback)


def jobs(*, tracker: Optional[str] = None, key_file: Optional[str] = None) -> "list[dict[str, Any]]":
    """The jobs of a tracker, as `tune list --json` has them."""
    said = _program.call("list", "--json", *_program.options_of({"tracker": tracker, "key_file": key_file}))
    return [entry for entry in map(json.loads, said.splitlines())]
