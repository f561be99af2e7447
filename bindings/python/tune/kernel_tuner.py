# SPDX-License-Identifier: MIT
"""The farm as what Kernel Tuner measures on: its searches, its script, our agents."""
from __future__ import annotations

import contextlib
import sys
import types
from collections import deque
from datetime import datetime, timezone
from typing import Any, Iterator, Mapping

from ._kernel import Runner, verify_results
from ._spec import Kernel

#: How Kernel Tuner calls what happened to a config that has no time.
_ERRORS = {"compile": "CompilationFailedConfig", "limits": "InvalidConfig", "invalid": "InvalidConfig"}
_TIMES = ("compile_time", "verification_time", "benchmark_time")
MOST_WAITING = 64  # configs on their way: enough for a farm, and a limit of time is not far behind
_KERNEL_OPTIONS = (
    "kernel_name",
    "kernel_source",
    "problem_size",
    "arguments",
    "grid_div_x",
    "grid_div_y",
    "grid_div_z",
    "smem_args",
    "cmem_args",
    "block_size_names",
    "defines",
)


def _module() -> Any:
    try:
        import kernel_tuner  # type: ignore[import-untyped]
        import kernel_tuner.runners.sequential  # type: ignore[import-untyped]
        import kernel_tuner.util  # type: ignore[import-untyped]
    except ImportError as e:
        raise ImportError(f"kernel_tuner is not here ({e}): pip install kernel_tuner") from None
    if not hasattr(kernel_tuner.util, "TuningBudget"):
        raise ImportError("this kernel_tuner is older than 1.5, whose runners work differently: pip install -U kernel_tuner")
    return kernel_tuner


class _FarmRunner:
    """What Kernel Tuner's SequentialRunner is for a device of this machine; Kernel Tuner's call makes one."""

    units: "Mapping[str, str]" = {"time": "ms"}
    simulation_mode = False

    def __init__(
        self,
        kernel_tuner: Any,
        options: "Mapping[str, Any]",
        kernel_source: Any,
        kernel_options: "Mapping[str, Any]",
        device_options: "Mapping[str, Any]",
        iterations: int,
        observers: Any,
    ) -> None:
        for name, value in (
            ("observers", observers),
            ("texmem_args", kernel_options["texmem_args"]),
        ):
            if value:
                raise ValueError(f"{name}: not on a farm, where agents build and measure (docs/python.md)")
        self._util = kernel_tuner.util
        self._options, self._iterations = options, iterations
        self._members = {name: kernel_options[name] for name in _KERNEL_OPTIONS}
        self._members.update(lang=kernel_source.lang, compiler_options=device_options["compiler_options"])
        self._device = {name: device_options[name] for name in ("device", "platform", "compiler")}
        self.quiet = device_options["quiet"]
        self._runner: "Runner | None" = None
        self._timer = self._util.Timer()
        self._strategy_s = 0.0
        # How large a work-group may be is the devices' to say: a larger one is `limits`, an InvalidConfig.
        self.dev = types.SimpleNamespace(
            name=f"tune {options.get('key') or options.get('tracker') or options.get('device') or 'here'}",
            max_threads=1 << 30,
        )

    def add_strategy_time(self, seconds: float) -> None:
        self._strategy_s += seconds

    def available_parallelism(self) -> int:
        return 1

    def get_device_info(self) -> Any:
        return self.dev

    def get_environment(self, _options: Any) -> "dict[str, Any]":
        record = self._runner.newest() if self._runner else None
        about = record.get("device", {}) if record else {}
        return {"device_name": about.get("name", self.dev.name), "tune": {"key": (record or {}).get("key"), "device": about}}

    def shutdown(self) -> None:
        if self._runner:
            self._runner.close(finals=False)

    def _open(self, to: Any) -> Runner:
        if not self._runner:
            more = {"answer": to.answer, "atol": to.atol} if to.answer is not None and not to.verify else {}
            self._kernel = Kernel(tune_params=to.tune_params, **self._members, **more)
            if to.verify and self._kernel.language == "CUDA":
                raise ValueError("verify: a function is not called for CUDA kernels: give answer")
            options = {"repeat": self._iterations, **self._options}
            self._runner = Runner.of(self._kernel, **self._device, options=options)
        return self._runner

    def _result(self, result: "dict[str, Any]", to: Any) -> "dict[str, Any]":
        """As Kernel Tuner has it: __error__ in the place of a time that there is not."""
        if to.verify and result["status"] == "ok":
            verify_results(to.verify, self._kernel, [result], None, to.answer, to.atol, self._device["compiler"])
        if result["status"] != "ok":
            result = {k: v for k, v in result.items() if k not in ("time", "times")}
            result["__error__"] = getattr(self._util, _ERRORS.get(result["status"], "RuntimeFailedConfig"))()
        return {**dict.fromkeys(_TIMES, 0), **result}

    def run(self, parameter_space: Any, tuning_options: Any) -> "list[Any]":
        """Results in the order of the configs, None for those behind the end of the budget."""
        to = tuning_options
        results: "list[Any]" = []
        waiting: "deque[tuple[int, str, dict[str, Any], Any]]" = deque()
        worker_s = 0.0

        def finish() -> None:
            nonlocal worker_s
            i, key, config, future = waiting.popleft()
            results[i] = self._finished(key, config, future, to)
            worker_s += sum(results[i][name] for name in _TIMES) / 1000

        for element in parameter_space:
            while len(waiting) >= MOST_WAITING:
                finish()
            results.append(None)
            if to.budget.is_done():
                continue
            to.budget.add_evaluations(1)
            key = ",".join(map(str, element))
            config = dict(zip(to.tune_params.keys(), element))
            future = None if key in to.cache else self._open(to).submit(config)
            waiting.append((len(results) - 1, key, config, future))
        while waiting:
            finish()
        self._share_times([r for r in results if r], worker_s)
        return results

    def _finished(self, key: str, config: "dict[str, Any]", future: Any, to: Any) -> "dict[str, Any]":
        """Waits for a result; of a config that is in the cache by now that one, which took no time."""
        is_new = key not in to.cache
        if is_new:
            out = {**config, **self._result(dict(future.result()), to)}
        else:
            out = {**config, **self._util.copy_without_benchmark_timings(to.cache[key])}
        if to.metrics and "__error__" not in out:
            out = self._util.process_metrics(out, to.metrics)
        out["timestamp"] = str(datetime.now(timezone.utc))
        if is_new:
            self._util.print_config_output(to.tune_params, out, self.quiet, to.metrics, self.units)
            self._util.store_cache(key, out, to.cachefile, to.cache)
        return out

    def _share_times(self, results: "list[dict[str, Any]]", worker_s: float) -> None:
        """What the search and the farm took beside, in equal parts, ms."""
        strategy_s, self._strategy_s = self._strategy_s, 0.0
        rest_s = max(self._timer.get_and_reset() - strategy_s - worker_s, 0)
        for r in results:
            r["strategy_time"] = 1000 * strategy_s / len(results)
            r["framework_time"] = 1000 * rest_s / len(results)


@contextlib.contextmanager
def farm(**options: Any) -> "Iterator[None]":
    """Within it kernel_tuner.tune_kernel measures on a farm: options are those of `tune run` (tracker="tcp://farm:9477",
    key=..), none: a private one on this machine, on the device that the call names.

        with tune.kernel_tuner.farm(tracker="tcp://farm:9477", key="rk3399-mali"):
            results, env = kernel_tuner.tune_kernel("add", "add.cl", n, args, tune_params, strategy="genetic_algorithm")
    """
    kernel_tuner = _module()
    made: "list[_FarmRunner]" = []

    def runner(kernel_source: Any, kernel_options: Any, device_options: Any, *rest: Any, **_: Any) -> _FarmRunner:
        iterations, observers = rest[-2:]  # parallel runners have the tuning options before these
        made.append(_FarmRunner(kernel_tuner, options, kernel_source, kernel_options, device_options, iterations, observers))
        return made[-1]

    sequential = kernel_tuner.runners.sequential
    parallel = types.ModuleType("kernel_tuner.runners.parallel")
    parallel.ParallelRunner = runner  # type: ignore[attr-defined]
    was, was_parallel = sequential.SequentialRunner, sys.modules.get(parallel.__name__)
    sequential.SequentialRunner = runner
    sys.modules[parallel.__name__] = parallel
    try:
        yield
    finally:
        sequential.SequentialRunner = was
        if was_parallel is None:
            del sys.modules[parallel.__name__]
        else:
            sys.modules[parallel.__name__] = was_parallel
        with contextlib.ExitStack() as ends:  # of calls that ended with an error: each, whatever another raises
            for one in made:
                ends.callback(one.shutdown)
