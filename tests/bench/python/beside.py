# SPDX-License-Identifier: MIT
"""tune_kernel beside Kernel Tuner's, on the same kernels with the same number of evaluations.

beside.py KERNEL.. --seeds N --evaluations N: of each seed one run of either, in turns, each in a process of its own on an
empty compiler cache; then what they found, timed by one timer that is neither's (pyopencl's events): rounds of one slot each, in
turns. CPU: of a run and all that it started, orphans too."""
import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import kernels

PR_SET_CHILD_SUBREAPER = 36
ROUNDS, CALLS = 30, 3


def ours(script, seed, evaluations, _strategy):
    import tune

    _, env = tune.tune_kernel(**script, seed=seed, trials=evaluations, threads=1, quiet=True, **json.loads(os.environ.get("BENCH_OPTIONS", "{}")))
    return env["best_config"]


def theirs(script, seed, evaluations, strategy):
    import random

    import kernel_tuner

    random.seed(seed)
    np.random.seed(seed)
    options = {"max_fevals": evaluations}
    _, env = kernel_tuner.tune_kernel(**script, lang="OpenCL", quiet=True, strategy=strategy, strategy_options=options)
    return env["best_config"]


WHO = {"tune": ours, "Kernel Tuner": theirs}


def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def run(who, kernel, seed, a):
    """What a run found, its seconds and CPU seconds."""
    with tempfile.TemporaryDirectory() as cache:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, __file__, kernel, "--one", who, "--seed", str(seed), "--evaluations", str(a.evaluations)]
        done = subprocess.run([*command, "--strategy", a.strategy], env={**os.environ, "POCL_CACHE_DIR": cache}, stdout=subprocess.PIPE, text=True)
        seconds = time.monotonic() - began
        reap()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{who} on {kernel}: exit code {done.returncode}")
    best = json.loads(done.stdout.splitlines()[-1])
    return best, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Timer:
    """Builds configs of a kernel and times them in turns."""

    def __init__(self, script):
        import pyopencl as cl

        self.cl, self.script = cl, script
        self.context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.args = [cl.Buffer(self.context, flags, hostbuf=a) if a.shape else a for a in script["arguments"]]

    def built(self, config):
        source = self.script["kernel_source"]
        if os.path.exists(source):
            with open(source, encoding="utf-8") as f:
                source = f.read()
        program = self.cl.Program(self.context, source).build([f"-D{k}={v}" for k, v in config.items()])
        kernel = getattr(program, self.script["kernel_name"])
        kernel.set_args(*self.args)
        local = [config[b] for b in self.script["block_size_names"]]
        sizes = np.atleast_1d(self.script["problem_size"])
        divisors = [self.script.get(f"grid_div_{axis}", []) for axis in "xyz"]
        groups = [int(np.ceil(n / np.prod([config[d] for d in by]))) for n, by in zip(sizes, divisors)]
        return kernel, [g * n for g, n in zip(groups, local)], local

    def slot(self, launch):
        events = [self.cl.enqueue_nd_range_kernel(self.queue, *launch) for _ in range(1 + CALLS)]
        self.queue.finish()
        return statistics.median((e.profile.end - e.profile.start) / 1e6 for e in events[1:])

    def beside(self, configs):
        """Median ms of each config."""
        launches = [self.built(c) for c in configs]
        slots = [[self.slot(launch) for launch in launches] for _ in range(ROUNDS)]
        return [statistics.median(of) for of in zip(*slots)]


def names_of(config, script):
    return {name: config[name] for name in script["tune_params"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", nargs="*", choices=[[], *kernels.ALL], default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--strategy", default="adaptive_tabu_greywolf", help="Kernel Tuner's")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        script = kernels.ALL[a.kernels[0]]()
        best = WHO[a.one](script, a.seed, a.evaluations, a.strategy)
        print(json.dumps(names_of(best, script)))
        return
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print("| kernel | seed | tune, s | Kernel Tuner, s | tune, CPU s | Kernel Tuner, CPU s | tune's best, ms | Kernel Tuner's, ms |")
    print("|---|---|---|---|---|---|---|---|")
    totals = []
    for kernel in a.kernels or kernels.ALL:
        timer = Timer(kernels.ALL[kernel]())
        for seed in range(1, a.seeds + 1):
            found = {who: run(who, kernel, seed, a) for who in (list(WHO) if seed % 2 else reversed(list(WHO)))}
            ms = timer.beside([found[who][0] for who in WHO])
            row = [found[who][i] for i in (1, 2) for who in WHO] + ms
            totals.append(row)
            print(f"| {kernel} | {seed} | " + " | ".join(f"{v:.1f}" for v in row[:4]) + " | " + " | ".join(f"{v:.4f}" for v in ms) + " |", flush=True)
    mean = [statistics.geometric_mean(row[i] / row[i + 1] for row in totals) for i in (0, 2, 4)]
    print(f"\ntune / Kernel Tuner, geometric means: seconds {mean[0]:.2f}, CPU {mean[1]:.2f}, time of the best {mean[2]:.3f}")


if __name__ == "__main__":
    main()
