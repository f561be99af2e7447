# SPDX-License-Identifier: MIT
"""tune_kernel in Kernel Tuner's manner, and a Runner that measures configs one asks for."""
from __future__ import annotations

import dataclasses
import inspect
import math
import os
import tempfile
import threading
from concurrent.futures import Future
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import _metrics, _program, _search, _spec
from ._logs import Path, best_of, iter_log, parse_line

Result = "dict[str, Any]"
MANY = 1_000_000  # trials of a Runner, which ends when it is closed, and of strategies that take all configs


ATOL = 1e-6  # Kernel Tuner's, which a verify function gets where none is given


#: What each result has beside its parameters.
_EMPTY = {"time": 1.0, "times": [1.0], "status": "ok", "compile_time": 1.0, "verification_time": 1.0, "benchmark_time": 1.0,
          "timestamp": "", "energy": 1.0}


def result_of(record: "Mapping[str, Any]") -> "dict[str, Any]":
    """A record as Kernel Tuner tells a config: its parameters, `time` in ms (inf: it failed, `status` and `why` say how),
    `times`, and what it cost."""
    ok = record["status"] == "ok" and record.get("time_ns")
    out = {
        **record["knobs"],
        "time": record["time_ns"] / 1e6 if ok else math.inf,
        "times": [ns / 1e6 for ns in record.get("samples_ns", [])],
        "status": record["status"],
        "compile_time": record.get("build_ms", 0.0),
        "verification_time": record.get("verify_ms", 0.0),
        "benchmark_time": record.get("device_ms", 0.0),
        "timestamp": record.get("ts"),
    }
    if record.get("why"):
        out["why"] = record["why"]
    if ok and record.get("flops"):
        out["GFLOP/s"] = record["flops"] / record["time_ns"]
    if ok and record.get("energy_j"):
        out["energy"] = record["energy_j"]
    return out


def _key(config: "Mapping[str, Any]") -> "tuple[tuple[str, Any], ...]":
    return tuple(sorted((k, v.item() if hasattr(v, "item") else v) for k, v in config.items()))


def _device(device: Union[None, int, str], platform: Optional[int], language: str, compiler: Optional[str] = None) -> Optional[str]:
    if language in _spec.FUNCTIONS and not isinstance(device, str):  # there is one CPU; which compiler tells devices apart
        return f"c:{compiler}" if compiler else "c"
    if device is None and platform is None:
        return "cuda" if language == "CUDA" else None
    if isinstance(device, str):
        return device
    if language == "CUDA":
        return f"cuda:{device or 0}"
    return f"opencl:{platform or 0}.{device or 0}"


class _Work:
    """A job file in a temporary folder, its log, the records of its kernel in it."""

    def __init__(self, kernel: _spec.Kernel, log: Optional[Path]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tune-kernel-")
        try:
            self.job = kernel.write(self._folder.name)
        except BaseException:
            self._folder.cleanup()
            raise
        self.log = os.fspath(log) if log is not None else os.path.join(self._folder.name, "log.jsonl")

    def records(self, params: "Iterable[str]", done: "Optional[Mapping[str, Any]]") -> "list[dict[str, Any]]":
        """Those of this very kernel: the version of the best one, which the event `done` names (else of the newest), tells
        it from others in the log."""
        if not os.path.exists(self.log):
            return []
        task = ((done or {}).get("tasks") or [{}])[0]
        best = task.get("best") or {}
        own = [r for r in iter_log(self.log) if set(r["knobs"]) == set(params) and not r.get("template")]
        own = [r for r in own if r["workload"] == task.get("workload", r["workload"])]
        named = [r for r in own if r["knobs"] == best.get("knobs") and r.get("time_ns") == best.get("time_ns")]
        mark = (named or own or [{}])[-1]
        return [r for r in own if all(r.get(k) == mark.get(k) for k in ("template_version", "fingerprint"))]

    def failed(self, code: int, words: str) -> BaseException:
        """As _program.failed, without the name of the job file, which is nobody's."""
        return _program.failed(code, words.replace(f"{self.job}: ", ""))

    def close(self) -> None:
        self._folder.cleanup()


#: Arguments of Kernel Tuner's call that there are not here, and what is there instead.
_REFUSED = {
    "texmem_args": "texture memory is not supported",
    "observers": "not supported: energy is objective='energy', the rest stands in the log (read_log)",
    "simulation_mode": "not supported: tune.run(device='replay:FILE.json') replays a recorded space",
    "log": "not supported: callback= gets what happens, cache= is the log of measurements",
    "parallel": "not needed: all agents of the key work at once: tracker=, key=",
    "objective_higher_is_better": "not supported: time, energy and edp are minimised",
    "objectives": "one is minimised: objective='time', 'energy' or 'edp'",
}
_OBJECTIVES = ("time", "energy", "edp")


def _refuse(options: "dict[str, Any]") -> None:
    """Takes those of _REFUSED out of the options; TypeError for one that asks for something."""
    for name in [n for n in options if n in _REFUSED]:
        if options.pop(name):
            raise TypeError(f"{name}: {_REFUSED[name]}")


def _check_compiler(compiler: Optional[str], kernel: _spec.Kernel, options: "Mapping[str, Any]") -> None:
    if compiler and (kernel.language not in _spec.FUNCTIONS or options.get("tracker")):
        raise TypeError(
            "compiler: with lang='C' on this machine; on a farm it is the agent's (--device c:NAME), else that of the device's "
            "driver (CUDA: nvrtc=PATH)"
        )


def _options_of(kernel: _spec.Kernel, given: "Mapping[str, Any]", options: "Mapping[str, Any]") -> "dict[str, Any]":
    """tune_kernel's arguments that are options of `tune run`, under their names there, before those that are named so."""
    out: "dict[str, Any]" = {"repeat": given["iterations"], "objective": given["objective"]}
    if given["objective"] not in (None, *_OBJECTIVES):
        raise ValueError(
            f"objective={given['objective']!r}: expected {', '.join(_OBJECTIVES)}: a metric is told, not searched for; Kernel "
            "Tuner's own search does it on the farm: tune.kernel_tuner.farm(..)"
        )
    _check_compiler(given["compiler"], kernel, options)
    fixed = {"max_fevals": "trials", "time_limit": "time"}
    for name, value in (given["strategy_options"] or {}).items():
        if name not in fixed:
            raise ValueError(f"strategy_options['{name}']: expected max_fevals, time_limit")
        out[fixed[name]] = f"{value}s" if name == "time_limit" else value
    if given["strategy"] == "brute_force":
        out.setdefault("trials", MANY)
    if not options.get("tracker"):
        out["device"] = _device(given["device"], given["platform"], kernel.language, given["compiler"])
    return {**out, **{name: value for name, value in options.items() if value is not None}}


def tune_kernel(
    kernel_name: str,
    kernel_source: "Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]",
    problem_size: Any,
    arguments: "Sequence[Any]",
    tune_params: "Mapping[str, Sequence[Any]]",
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    restrictions: Any = None,
    answer: "Optional[Sequence[Any]]" = None,
    atol: Optional[float] = None,
    verify: "Optional[Callable[..., Any]]" = None,
    verbose: bool = False,
    lang: Optional[str] = None,
    device: Union[None, int, str] = None,
    platform: Optional[int] = None,
    smem_args: "Optional[Mapping[str, Any]]" = None,
    cmem_args: "Optional[Mapping[str, Any]]" = None,
    *,
    compiler: Optional[str] = None,
    compiler_options: "Union[None, str, Sequence[str]]" = None,
    defines: "Optional[Mapping[str, Any]]" = None,
    iterations: Optional[int] = None,
    block_size_names: "Optional[Sequence[str]]" = None,
    quiet: bool = False,
    strategy: "Union[None, str, _search.Searcher]" = None,
    strategy_options: "Optional[Mapping[str, Any]]" = None,
    cache: Optional[Path] = None,
    metrics: "Optional[Mapping[str, _metrics.Metric]]" = None,
    objective: Optional[str] = None,
    reference: "Optional[Mapping[str, Any]]" = None,
    operations: Union[None, str, float] = None,
    callback: Optional[_program.Callback] = None,
    **options: Any,
) -> "tuple[list[dict[str, Any]], dict[str, Any]]":
    """Searches the parameters of a kernel: Kernel Tuner's call. docs/python.md tells what differs.

    Returns results (a dict for each config measured, in that order: parameters, `time` in ms, `status`, metrics) and
    env (`best_config`: the winner of the finals; `device`, `key`, `stopped`, `log`). `cache` is the log; a second call goes
    on with it. `callback` gets the events of `tune run --json`; what it raises ends the run and is raised here. Further
    keywords are options of `tune run`: tracker="tcp://farm:9477", key="rk3399-mali", trials=60, time="10m", seed=1."""
    given = dict(locals())
    _refuse(options)
    answers = answer  # of a verify function they are its own business
    if verify is not None:
        given["answer"] = None
    kernel = _spec.Kernel(**{f.name: given[f.name] for f in dataclasses.fields(_spec.Kernel)})
    if verify is not None and kernel.language == "CUDA":
        raise ValueError("verify: a function is not called for CUDA kernels: give answer or reference")
    _metrics.check(metrics or {}, {**{n: v[0] for n, v in tune_params.items()}, **_EMPTY})
    work = _Work(kernel, cache)
    try:
        done, words = _run(work, strategy, _options_of(kernel, given, options), callback)
        records = work.records(tune_params, done)
        if not records:
            raise work.failed(2, words)
        searched = [r for r in records if r.get("purpose") == "search"]
        results = [result_of(r) for r in searched]
        winner = best_of(records)
        best = result_of(winner) if winner else None
        if verify is not None:
            best = verify_results(verify, kernel, results, best, answers, atol, compiler)
    finally:
        work.close()
    for r in [*results, best]:
        if r and r["status"] == "ok":
            _metrics.evaluate(metrics or {}, r)
    env: "dict[str, Any]" = {
        "best_config": best,
        "device": (winner or records[-1]).get("device", {}),
        "key": records[-1].get("key"),
        "stopped": (done or {}).get("tasks", [{}])[0].get("stopped"),
        "log": os.fspath(cache) if cache is not None else None,
    }
    if not quiet:
        _print(kernel_name, results, best, tune_params, metrics or {}, verbose)
    return results, env


def _run(
    work: _Work, strategy: "Union[None, str, _search.Searcher]", options: "Mapping[str, Any]", callback: Any
) -> "tuple[Any, str]":
    args = ["run", "--kernel-spec", work.job, "-o", work.log, "--json", *_program.options_of(options)]
    if isinstance(strategy, str):
        args += ["--strategy", strategy]
    code, words, done = _search.drive(args, None if isinstance(strategy, str) else strategy, callback)
    if code not in (0, 2):
        raise work.failed(code, words)
    return done, words


def verify_results(
    verify: "Callable[..., Any]",
    kernel: _spec.Kernel,
    results: "list[dict[str, Any]]",
    best: "Optional[dict[str, Any]]",
    answer: Any,
    atol: Optional[float],
    compiler: Optional[str] = None,
) -> "Optional[dict[str, Any]]":
    """Runs each good config once here and asks the function; those it refuses are `wrong`, and the best is another."""
    from . import _c, _opencl

    names = list(kernel.tune_params)
    context = None if kernel.language in _spec.FUNCTIONS else _opencl.Context()
    more = {"atol": ATOL if atol is None else atol} if _takes_atol(verify) else {}
    for r in results:
        if r["status"] == "ok":
            config = {n: r[n] for n in names}
            outputs = _opencl.run_once(kernel, config, context) if context else _c.run_once(kernel, config, compiler)
            if not verify(answer, outputs, **more):
                r.update(status="wrong", time=math.inf, why="refused by verify")
    good = {_key({n: r[n] for n in names}) for r in results if r["status"] == "ok"}
    if best and _key({n: best[n] for n in names}) in good:
        return best
    return min((r for r in results if r["status"] == "ok"), key=lambda r: r["time"], default=None)


def _takes_atol(verify: "Callable[..., Any]") -> bool:
    kinds = inspect.signature(verify).parameters
    return "atol" in kinds or any(p.kind is p.VAR_KEYWORD for p in kinds.values())


def _print(
    name: str, results: "list[dict[str, Any]]", best: Any, params: "Iterable[str]", metrics: "Iterable[str]", verbose: bool
) -> None:
    def line(r: "dict[str, Any]") -> str:
        said = [f"{p}={r[p]}" for p in params]
        if r["status"] != "ok":
            return ", ".join([*said, r["status"]])
        more = [f"{m}={r[m]:.4g}" if isinstance(r[m], (int, float)) else f"{m}={r[m]}" for m in metrics if m in r]
        return ", ".join([*said, f"time={r['time']:.4g}ms", *more])

    if verbose:
        for r in results:
            print(line(r))
    reasons = [f"{r['status']}: {r['why']}" for r in results if r["status"] != "ok"]
    print(f"{name}: {len(results)} configs, {len(reasons)} failed; best: {line(best) if best else 'none'}")
    if reasons and not best:
        print(f"{name}: most often: {max(reasons, key=reasons.count)}")


def run_kernel(
    kernel_name: str,
    kernel_source: "Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]",
    problem_size: Any,
    arguments: "Sequence[Any]",
    params: "Mapping[str, Any]",
    grid_div_x: Any = None,
    grid_div_y: Any = None,
    grid_div_z: Any = None,
    lang: Optional[str] = None,
    device: int = 0,
    platform: int = 0,
    smem_args: "Optional[Mapping[str, Any]]" = None,
    cmem_args: "Optional[Mapping[str, Any]]" = None,
    texmem_args: "Optional[Mapping[str, Any]]" = None,
    compiler: Optional[str] = None,
    compiler_options: "Union[None, str, Sequence[str]]" = None,
    defines: "Optional[Mapping[str, Any]]" = None,
    block_size_names: "Optional[Sequence[str]]" = None,
    quiet: bool = False,
    log: Optional[int] = None,
) -> "list[Any]":
    """Runs one config of a kernel once, here and unchecked: Kernel Tuner's call, for an `answer` say. Returns the
    arguments as they are afterwards. OpenCL and C; `quiet` changes nothing."""
    from . import _c, _opencl

    given = dict(locals())
    _refuse(given)
    # a kernel without parameters is one to Kernel Tuner, too
    given["tune_params"] = {name: [value] for name, value in params.items()} or {"tune_none": [0]}
    kernel = _spec.Kernel(**{f.name: given[f.name] for f in dataclasses.fields(_spec.Kernel) if f.name in given})
    _check_compiler(compiler, kernel, {})
    if kernel.language == "CUDA" or cmem_args:
        raise ValueError("run_kernel: CUDA kernels are not run here: tune_kernel takes answer or reference")
    config = {name: values[0] for name, values in given["tune_params"].items()}
    if kernel.language in _spec.FUNCTIONS:
        outputs = _c.run_once(kernel, config, compiler)
    else:
        outputs = _opencl.run_once(kernel, config, _opencl.Context(platform, device))
    return [a if out is None else out for a, out in zip(arguments, outputs)]


class Runner:
    """Measures the configs one asks for, on a job and an agent held open: the farm as what others' searchers call.

        with tune.Runner("blur", "blur.cl", (1024, 512), args, params, restrictions=["GX * GY <= 128"]) as run:
            result = run({"VEC": 8, "GX": 16})       # a dict as tune_kernel's; waits
            future = run.submit({"VEC": 4, "GX": 16})  # several at once

    Arguments are those of tune_kernel; a config is measured once, asked for again its result is answered at once. At the
    end the best five are measured against each other (`best`). Safe to be called from several threads."""

    def __init__(
        self,
        kernel_name: str,
        kernel_source: Any,
        problem_size: Any,
        arguments: "Sequence[Any]",
        tune_params: "Mapping[str, Sequence[Any]]",
        *,
        cache: Optional[Path] = None,
        device: Union[None, int, str] = None,
        platform: Optional[int] = None,
        iterations: Optional[int] = None,
        options: "Optional[Mapping[str, Any]]" = None,
        **spec: Any,
    ) -> None:
        kernel = _spec.Kernel(kernel_name, kernel_source, problem_size, arguments, tune_params, **spec)
        self._start(kernel, cache, _device(device, platform, kernel.language), {"repeat": iterations, **(options or {})})

    @classmethod
    def of(
        cls,
        kernel: _spec.Kernel,
        device: Union[None, int, str],
        platform: Optional[int],
        compiler: Optional[str],
        options: "Mapping[str, Any]",
    ) -> "Runner":
        """One of a kernel that is made already."""
        _check_compiler(compiler, kernel, options)
        out = cls.__new__(cls)
        out._start(kernel, None, _device(device, platform, kernel.language, compiler), options)
        return out

    def _start(self, kernel: _spec.Kernel, cache: Optional[Path], device: Optional[str], options: "Mapping[str, Any]") -> None:
        self.best: "Optional[dict[str, Any]]" = None
        self._values = {name: list(values) for name, values in kernel.tune_params.items()}
        self._names = list(self._values)
        self._lock = threading.Lock()
        self._waiting: "list[dict[str, Any]]" = []
        self._futures: "dict[Any, Future[dict[str, Any]]]" = {}
        self._open = 0  # configs that `tune` has asked for
        self._closed = False
        self._read = 0
        self._newest: "dict[Any, dict[str, Any]]" = {}
        self._versions: "dict[Any, set[Any]]" = {}  # of the records that were there before
        self._work = _Work(kernel, cache)
        self._n_before = os.path.getsize(self._work.log) if os.path.exists(self._work.log) else 0
        more = {"trials": MANY, **({} if options.get("tracker") else {"device": device}), **options}
        self._process: Optional[_program.Process] = None
        self._link = _search.Link(self._handle, lambda: self._process.stop() if self._process else None)
        args = ["run", "--kernel-spec", self._work.job, "-o", self._work.log, "--json", "--strategy", self._link.strategy]
        try:
            self._process = _program.Process([*args, *_program.options_of(more)])
        except BaseException:
            self._link.close()
            self._work.close()
            raise
        self._link.start()
        self._end: "Optional[tuple[int, str, Any]]" = None
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close(finals=kind is None)

    def __call__(self, config: "Mapping[str, Any]") -> "dict[str, Any]":
        return self.submit(config).result()

    def submit(self, config: "Mapping[str, Any]") -> "Future[dict[str, Any]]":
        """The result to come; a config that breaks a restriction has the status `invalid`."""
        if set(config) != set(self._names):
            raise ValueError(f"a config has the parameters {', '.join(self._names)}, not {', '.join(config)}")
        for name, values in self._values.items():
            if config[name] not in values:
                raise ValueError(f"{name}={config[name]!r}: expected one of {', '.join(map(str, values))}")
        with self._lock:
            if self._closed or self._end:
                raise _program.TuneError("the runner has ended" if self._closed else self._words())
            key = _key(config)
            if key not in self._futures:
                self._futures[key] = Future()
                self._waiting.append(dict(config))
                self._hand_out()
            return self._futures[key]

    def newest(self) -> "Optional[dict[str, Any]]":
        """A record of what was measured last; None: nothing was yet."""
        with self._lock:
            return next(reversed(self._newest.values()), None)

    def close(self, finals: bool = True) -> None:
        """Ends the job: with finals of the best five, or at once; what is waited for then ends with a TuneError."""
        with self._lock:
            first, self._closed = not self._closed, True
            self._hand_out()
        if not first:
            return
        if not finals and self._process:
            self._process.stop()
        try:
            self._thread.join()
        except BaseException:  # Ctrl-C while it is at the finals
            if self._process:
                self._process.stop()
            raise
        finally:
            self._link.close()
            records = self._work.records(self._names, self._end[2] if self._end else None)
            winner = best_of(records)
            self.best = result_of(winner) if winner else None
            self._work.close()

    def _hand_out(self) -> None:
        if self._open and self._waiting:
            some, self._waiting = self._waiting[: self._open], self._waiting[self._open :]
            self._open = 0
            self._link.answer(some)
        elif self._open and self._closed:
            self._open = 0
            self._link.answer([])

    def _handle(self, _link: _search.Link, message: "dict[str, Any]") -> None:
        with self._lock:
            if message["event"] == "ask":
                self._open = message["n"]
                self._hand_out()
            elif message["event"] == "tell":
                self._told(message)

    def _told(self, message: "dict[str, Any]") -> None:
        key = _key(message["knobs"])
        future = self._futures.setdefault(key, Future())
        if future.done():
            return
        if "violated" in message:
            why = f"not allowed: {message['violated']}"
            future.set_result({**message["knobs"], "time": math.inf, "times": [], "status": "invalid", "why": why})
            return
        self._look()
        if len(self._versions.get(key, ())) > 1:  # a tell does not say of which
            words = "results of several versions of the kernel for this config: give each a cache of its own"
            future.set_exception(_program.TuneError(f"{self._work.log}: {words}"))
            return
        record = self._newest.get(key)
        failed = {**message["knobs"], "time": math.inf, "times": [], "status": "limits", "why": "no program"}
        future.set_result(result_of(record) if record else failed)

    def _look(self) -> None:
        """New lines of the log: they are written before they are told."""
        with open(self._work.log, "rb") as f:
            f.seek(self._read)
            for line in f:
                if not line.endswith(b"\n"):
                    break
                is_new = self._read >= self._n_before
                self._read += len(line)
                record = parse_line(line)
                if not record or record.get("purpose") != "search":
                    continue
                key = _key(record["knobs"])
                self._newest[key] = record
                version = {tuple(record.get(k) for k in ("workload", "template_version", "fingerprint"))}
                self._versions[key] = version if is_new else self._versions.get(key, set()) | version

    def _words(self) -> str:
        if self._link.error:
            return f"the runner has ended: {self._link.error}"
        assert self._end
        if self._closed:
            return "the runner was closed"
        return str(self._work.failed(self._end[0], self._end[1]))

    def _follow(self) -> None:
        assert self._process
        end = _program.drive(self._process, [])
        with self._lock:
            self._end = end
            for future in self._futures.values():
                if not future.done():
                    future.set_exception(_program.TuneError(self._words()))
