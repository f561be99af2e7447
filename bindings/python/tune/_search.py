# SPDX-License-Identifier: MIT
"""Searches of one's own in Python: an object that is asked and told, beside a `tune run --strategy exec:..`."""
from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import tempfile
import threading
import time
from typing import Any, Callable, Mapping, Optional, Protocol, Sequence, runtime_checkable

from . import _program

Config = Mapping[str, Any]

END_S = 5  # for a searcher to come to the end of what it is at


@runtime_checkable
class Searcher(Protocol):
    """Decides what is measured next. May also have `start(knobs, constraints, budget, seed)`, called first."""

    def ask(self, n: int) -> "Sequence[Config]":
        """Up to n configs, every parameter in each; none: there are no more. It may take its time."""

    def tell(self, config: Config, value: Optional[float]) -> None:
        """A result: the logarithm of a time, to be minimised; None: the config failed or is not allowed. Also of
        configs that were not asked for (the default's, those of earlier runs)."""


class Link:
    """The two named pipes between `tune`'s side process (plain `cat`) and a thread here."""

    def __init__(self, handle: "Callable[[Link, dict[str, Any]], None]", stop: "Callable[[], None]") -> None:
        """`handle` gets each message in the thread; what it raises is kept in `error`, after `stop` was called."""
        self.error: Optional[BaseException] = None
        self._handle, self._stop = handle, stop
        self._dir = tempfile.mkdtemp(prefix="tune-search-")
        self._paths = [os.path.join(self._dir, name) for name in ("questions", "answers")]
        for path in self._paths:
            os.mkfifo(path)
        # for reading and writing: opening never waits for the other side
        self._questions, self._answers = (os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in self._paths)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._lock = threading.Lock()
        self._closed = False

    @property
    def strategy(self) -> str:
        questions, answers = map(shlex.quote, self._paths)
        return f"exec:exec 2>/dev/null; cat {answers} & exec cat >{questions}"

    def start(self) -> None:
        self._thread.start()

    def answer(self, configs: "Sequence[Config]") -> None:
        data = (json.dumps({"configs": [dict(c) for c in configs]}, default=_plain) + "\n").encode()
        with self._lock:  # a searcher that took its time may answer when all is over, and the number is another file's
            while data and not self._closed:
                data = data[os.write(self._answers, data) :]

    def close(self) -> None:
        """When `tune` has ended."""
        end = time.monotonic() + (0 if self._thread is threading.current_thread() else END_S)
        while self._thread.is_alive() and time.monotonic() < end:  # a full pipe that nobody reads takes no more
            if select.select([], [self._questions], [], 0.1)[1]:
                os.write(self._questions, b'\n{"event":"end"}\n')
                self._thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            self._closed = True
            os.close(self._answers)
        os.close(self._questions)
        shutil.rmtree(self._dir, ignore_errors=True)

    def _work(self) -> None:
        with os.fdopen(os.dup(self._questions), "rb") as lines:
            for line in lines:
                if not line.strip():
                    continue
                message = json.loads(line)
                if message["event"] == "end":
                    return
                try:
                    self._handle(self, message)
                except BaseException as e:  # also SystemExit: the caller's thread raises it
                    self.error = e
                    self._stop()
                    return


def _plain(value: Any) -> Any:
    """numpy's scalars as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} of a config is neither a number nor text")


def serve(searcher: Searcher) -> "Callable[[Link, dict[str, Any]], None]":
    """What a Link does for a searcher."""
    started = False

    def handle(link: Link, message: "dict[str, Any]") -> None:
        nonlocal started
        if message["event"] == "start" and started:
            raise ValueError("a searcher serves one space: run one workload, and template= one of its templates")
        started = True
        if message["event"] == "start" and hasattr(searcher, "start"):
            searcher.start(message["knobs"], message["constraints"], message["budget"], message["seed"])
        elif message["event"] == "tell":
            searcher.tell(message["knobs"], message["value"])
        elif message["event"] == "ask":
            link.answer(searcher.ask(message["n"]))

    return handle


def drive(
    args: "Sequence[str]", searcher: Optional[Searcher], callback: "Optional[_program.Callback]"
) -> "tuple[int, str, Optional[_program.Event]]":
    """Runs `tune` to its end, beside a searcher if there is one; exit code, words, the event `done`. What the searcher or
    the callback raises ends it and is raised."""
    if searcher is not None and not isinstance(searcher, Searcher):
        raise TypeError(f"strategy: expected a name or an object with ask and tell, not {searcher!r}")
    process: "list[_program.Process]" = []
    link = Link(serve(searcher), lambda: process[0].stop()) if searcher is not None else None
    try:
        process.append(_program.Process([*args, *(["--strategy", link.strategy] if link else [])]))
        if link:
            link.start()
        end = _program.drive(process[0], [callback] if callback else [])
    finally:
        if link:
            link.close()
    if link and link.error:
        raise link.error
    return end
