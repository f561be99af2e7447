# SPDX-License-Identifier: MIT
"""The `tune` program: where it is, and runs of it with its events."""
from __future__ import annotations

import codecs
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

Event = Mapping[str, Any]
Callback = Callable[[Event], Any]


AT_THE_END_S = 1  # what is said so shortly before the end is why it ended, and raised


class TuneError(RuntimeError):
    """What `tune` refused or could not do, in its own words."""


def program() -> str:
    """Path of the `tune` program: $TUNE_PROGRAM, else bin/tune beside this package, else that of a build tree around
    it, else the one in $PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("TUNE_PROGRAM")
    if named:
        if os.path.isfile(named) and os.access(named, os.X_OK):
            return os.path.abspath(named)
        raise TuneError(f"TUNE_PROGRAM={named}: no program there")
    for near in (os.path.join(here, "bin", "tune"), os.path.join(here, "..", "..", "..", "build", "bin", "tune")):
        if os.access(near, os.X_OK):
            return os.path.abspath(near)
    found = shutil.which("tune")
    if not found:
        raise TuneError("no `tune` program in $PATH: name it by the environment variable TUNE_PROGRAM")
    return found


def options_of(given: Mapping[str, Any]) -> "list[str]":
    """Keyword arguments as options of `tune`: min_repeat_ms=2 is --min-repeat-ms 2, True a flag, None nothing."""
    out = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        out.append("--" + name.replace("_", "-"))
        if value is not True:
            out.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return out


def failed(code: int, words: str) -> BaseException:
    lines = [line[6:] if line.startswith("tune: ") else line for line in words.strip().splitlines()]
    if code == 4:
        return KeyboardInterrupt()
    return TuneError("\n".join(lines[-20:]) or f"tune ended with exit code {code}")


def call(*args: str) -> str:
    """Runs `tune` to its end; what it printed. TuneError with its words when it fails."""
    done = subprocess.run([program(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise failed(done.returncode, done.stderr)
    return done.stdout


class Process:
    """A running `tune .. --json`: its events one by one, its end. What it says beside them while it goes on (that the tracker
    is out of reach, say) goes to sys.stderr."""

    def __init__(self, args: Sequence[str]) -> None:
        self._said: "list[str]" = []
        # a session of its own: Ctrl-C reaches it once, through stop()
        self._child = subprocess.Popen(
            [program(), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """All is read at once, so that the child never waits for a full pipe, and shown when it is not of the end."""
        assert self._child.stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        waiting: "deque[tuple[float, str]]" = deque()
        with self._child.stderr as pipe:
            while True:
                left = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
                if select.select([pipe], [], [], left)[0]:
                    piece = os.read(pipe.fileno(), 1 << 16)
                    if not piece:
                        return
                    self._said.append(decoder.decode(piece))
                    waiting.append((time.monotonic() + AT_THE_END_S, self._said[-1]))
                while waiting and waiting[0][0] <= time.monotonic():
                    text = waiting.popleft()[1]
                    if self._child.poll() is None:
                        print(text, end="", file=sys.stderr, flush=True)

    def events(self) -> Iterator[Event]:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            try:
                event = json.loads(line)
            except ValueError:  # a table's line
                continue
            if isinstance(event, dict) and "event" in event:
                yield event

    def stop(self) -> None:
        """As Ctrl-C: nothing more is proposed, what has been measured is fetched; a second time: at once."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)

    def end(self) -> "tuple[int, str]":
        """Waits for the end; exit code and what it said on standard error."""
        assert self._child.stdout is not None
        for _ in self._child.stdout:
            pass
        code = self._child.wait()
        self._child.stdout.close()
        self._listener.join(AT_THE_END_S)  # a searcher's process may hold the pipe for longer
        return code, "".join(self._said)


def drive(process: Process, callbacks: Sequence[Callback]) -> "tuple[int, str, Optional[Event]]":
    """Takes events until the end; exit code, words, the event `done`. What a callback raises ends the run first."""
    done: Optional[Event] = None
    try:
        for event in process.events():
            if event["event"] == "done":
                done = event
            for callback in callbacks:
                callback(event)
        code, words = process.end()
    except BaseException:
        try:
            process.stop()
            process.end()
        except BaseException:  # Ctrl-C once more
            process.stop()
            raise
        raise
    return code, words, done
