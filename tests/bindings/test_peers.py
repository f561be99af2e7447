# SPDX-License-Identifier: MIT
"""The farm as what Kernel Tuner's and Optuna's searches measure on, with the real packages."""
import inspect
import json
import os
import re
import subprocess
import time
import unittest

import jsonschema
import numpy as np

import kernel_tuner
import optuna
import scripts
import tune
from tune import _kernel

# Sums of two arrays; VEC == 3 is wrong by one, VEC == 5 does not compile.
SOURCE = """
#if VEC == 5
#error five
#endif
__kernel void add(__global const float *a, __global const float *b, __global float *c, int n)
{
    const int at = (int)get_global_id(0) * VEC;

    for (int i = 0; i < VEC; i++)
        if (at + i < n)
            c[at + i] = a[at + i] + b[at + i] + (VEC == 3);
}
"""
N = 80000
RNG = np.random.default_rng(1)
A, B = RNG.random(N, dtype=np.float32), RNG.random(N, dtype=np.float32)
ARGS = [A, B, np.zeros(N, np.float32), np.int32(N)]
PARAMS = {"block_size_x": [16, 64], "VEC": [1, 3, 4, 5]}
FAST = {"min_repeat_ms": 1}


def tuned(**more):
    """A script of Kernel Tuner's as it is."""
    more = {"lang": "OpenCL", "iterations": 1, "quiet": True, "answer": [None, None, A + B, None], **more}
    return kernel_tuner.tune_kernel("add", SOURCE, N, ARGS, PARAMS, grid_div_x=["block_size_x", "VEC"], **more)


class Farm:
    """A tracker and an agent of this machine's device, on 127.0.0.1."""

    def __enter__(self):
        folder = os.path.dirname(tune.program())
        self.children = []
        with open("tracker.said", "w+", encoding="utf-8") as said:
            tracker = [os.path.join(folder, "tune-tracker"), "--listen", "tcp://127.0.0.1:0", "--store", "store"]
            self.children.append(subprocess.Popen(tracker, stdout=said, stderr=subprocess.STDOUT))
            url = self.wait(lambda: re.search(r"listening on (tcp:\S+)", self.said()))[1]
            agent = [os.path.join(folder, "tune-agent"), "--tracker", url, "--key", "board"]
            self.children.append(subprocess.Popen(agent, stdout=said, stderr=subprocess.STDOUT))
        self.wait(lambda: "board" in tune.call("devices", "--json", "--tracker", url))
        return url

    def wait(self, what):
        for _ in range(600):
            found = what()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(self.said())

    def said(self):
        with open("tracker.said", encoding="utf-8") as f:
            return f.read()

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()


class KernelTuner(unittest.TestCase):
    def test_its_searches_measure_on_the_farm(self):
        with tune.kernel_tuner.farm(**FAST):
            results, env = tuned(restrictions=["block_size_x * VEC < 300"], metrics={"GB/s": "12 * 80000 / time / 1e6"})
        found = {(r["block_size_x"], r["VEC"]): r for r in results}
        self.assertEqual(set(found), {(x, v) for x in (16, 64) for v in (1, 3, 4, 5) if x * v < 300})
        for (_, vec), r in found.items():
            error = {3: "RuntimeFailedConfig", 5: "CompilationFailedConfig"}.get(vec)
            self.assertEqual(type(r.get("__error__")).__name__, error or "NoneType", r)
            self.assertEqual("GB/s" in r, error is None)
        self.assertIn("expected", found[64, 3]["why"])
        self.assertIn("error", found[16, 5]["why"])
        self.assertEqual(env["best_config"], min((r for r in results if "time" in r), key=lambda r: r["time"]))
        self.assertTrue(env["tune"]["device"]["name"] == env["device_name"] != "")
        self.assertGreater(env["total_benchmark_time"], 0)

    def test_a_tracker_gives_the_devices_and_the_cache_goes_on(self):
        with Farm() as url, tune.kernel_tuner.farm(tracker=url, key="board", **FAST):
            first, _ = tuned(cache="kt.json")
            jobs = tune.jobs(tracker=url)
            again, env = tuned(cache="kt.json")
            self.assertEqual(len(tune.jobs(tracker=url)), len(jobs))  # all of it was in the cache
            few, _ = tuned(strategy="genetic_algorithm", strategy_options={"max_fevals": 3})
        self.assertEqual((len(jobs), len(first)), (1, 8))
        self.assertEqual(len(few), 3)
        times = {r["time"] for r in first if "time" in r}
        self.assertEqual({r["time"] for r in again if "time" in r}, times)
        self.assertIn(env["best_config"]["time"], times)

    def test_functions_of_a_script_are_called(self):
        seen = []

        def verify(answer, outputs, atol):
            seen.append(atol)
            return np.allclose(answer[2], outputs[2], atol=atol)

        with tune.kernel_tuner.farm(**FAST):
            results, _ = kernel_tuner.tune_kernel(
                "add",
                SOURCE,
                lambda p: (N,),
                ARGS,
                {"bx": [64], "VEC": [1, 3, 4]},
                grid_div_x=lambda p: p["bx"] * p["VEC"],
                restrictions=lambda p: p["VEC"] != 4,
                block_size_names=["bx"],
                answer=[None, None, A + B, None],
                verify=verify,
                atol=1e-5,
                lang="OpenCL",
                quiet=True,
            )
        self.assertEqual({r["VEC"]: "time" in r for r in results}, {1: True, 3: False})
        self.assertEqual(seen, [1e-5] * 2)

    def test_functions_of_c_have_the_compiler_that_is_named(self):
        source = "void add(const float *a, const float *b, float *c, int n) { while (n--) c[n] = a[n] + b[n] + (VEC == 3); }"
        more = dict(lang="C", compiler="gcc", iterations=1, quiet=True, answer=[None, None, A + B, None])
        with tune.kernel_tuner.farm(**FAST):
            results, env = kernel_tuner.tune_kernel("add", source, N, ARGS, {"VEC": [1, 3]}, **more)
        self.assertEqual({r["VEC"]: "time" in r for r in results}, {1: True, 3: False})
        self.assertTrue(env["device_name"].startswith("gcc,"), env)
        for words, bad in (("no C compiler 'nonesuch'", {"compiler": "nonesuch"}), ("compiler: with lang='C'", {"tracker": "tcp://127.0.0.1:1"})):
            farm = {k: bad[k] for k in bad if k == "tracker"}
            with self.subTest(words), self.assertRaisesRegex((TypeError, tune.TuneError), words):
                with tune.kernel_tuner.farm(**farm):
                    kernel_tuner.tune_kernel("add", source, N, ARGS, {"VEC": [1]}, **{**more, **{k: bad[k] for k in bad if k not in farm}})

    def test_what_does_not_go_is_refused_and_everything_is_put_back(self):
        own = kernel_tuner.runners.sequential.SequentialRunner
        with self.assertRaisesRegex(ValueError, "observers: not on a farm"):
            with tune.kernel_tuner.farm():
                tuned(observers=[object()])
        with self.assertRaisesRegex(ValueError, "lang='HIP'"):
            with tune.kernel_tuner.farm():
                tuned(lang="HIP")
        with self.assertRaisesRegex(tune.TuneError, "no tracker answers|not reachable|refused"):
            with tune.kernel_tuner.farm(tracker="tcp://127.0.0.1:1"):
                tuned()

        def mine(_):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            with tune.kernel_tuner.farm(**FAST):
                tuned(metrics={"m": mine})
        self.assertIs(kernel_tuner.runners.sequential.SequentialRunner, own)

    def test_no_argument_of_its_call_is_unknown_to_ours(self):
        theirs = inspect.signature(kernel_tuner.tune_kernel).parameters
        ours = inspect.signature(tune.tune_kernel).parameters
        options = {"seed"}  # of `tune run`
        self.assertEqual([n for n in theirs if n not in ours and n not in _kernel._REFUSED and n not in options], [])
        in_order = [n for n, p in ours.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.assertEqual(list(theirs)[: len(in_order)], in_order)


class Schema(unittest.TestCase):
    def test_the_example_and_the_tutorials_job_are_t1_by_kernel_tuners_schema(self):
        with open(os.path.join(os.path.dirname(kernel_tuner.__file__), "schema/T1/1.0.0/input-schema.json"), encoding="utf-8") as f:
            schema = json.load(f)
        with open(os.path.join(os.environ["TUNE_ROOT"], "docs/own-kernel.md"), encoding="utf-8") as f:
            tutorial = re.search(r"```json blur.json\n(.*?)```", f.read(), flags=re.DOTALL)[1]
        jsonschema.validate(json.loads(tutorial), schema)
        with open(os.path.join(os.environ["TUNE_ROOT"], "examples/kernel_spec/matmul.json"), encoding="utf-8") as f:
            job = json.load(f)
        jsonschema.validate(job, schema)
        del job["ConfigurationSpace"]
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(job, schema)


# The sum of a matrix' rows, by blocks: a script of Kernel Tuner's in C, which times itself.
ROWS = """
#include <omp.h>
extern "C" float rows(double *sums, const double *x, int n)
{
    const double start = omp_get_wtime();
    for (int i = 0; i < n; i++)
        sums[i] = 0;
    for (int j0 = 0; j0 < n; j0 += BLOCK)
        for (int i = 0; i < n; i += UNROLL)
            for (int j = j0; j < j0 + BLOCK && j < n; j++)
                for (int u = 0; u < UNROLL; u++)
                    sums[i + u] += x[(i + u) * n + j];
    return (float)((omp_get_wtime() - start) * 1e3);
}
"""


class PlainC(unittest.TestCase):
    """The same kernel in Kernel Tuner's own C backend, in ours, and in its search on our agents."""

    def script(self, n=512):
        x = RNG.random((n, n))
        return dict(
            kernel_name="rows",
            kernel_source=ROWS,
            problem_size=n,
            arguments=[np.zeros(n), x, np.int32(n)],
            tune_params={"BLOCK": [1, 16, 512], "UNROLL": [1, 4]},
            answer=[x.sum(1), None, None],
            atol=1e-9,
            compiler_options=["-O3", "-fopenmp"],
            lang="C",
            quiet=True,
        )

    def times(self, results):
        self.assertEqual([r for r in results if "__error__" in r or r.get("status", "ok") != "ok"], [])
        return {(r["BLOCK"], r["UNROLL"]): r["time"] for r in results}

    def test_the_same_kernel_has_the_same_times(self):
        own, _ = kernel_tuner.tune_kernel(**self.script())
        ours, env = tune.tune_kernel(**self.script(), strategy="brute_force", **FAST)
        with tune.kernel_tuner.farm(**FAST):
            farm, _ = kernel_tuner.tune_kernel(**self.script())
        theirs, here, there = self.times(own), self.times(ours), self.times(farm)
        self.assertEqual(set(theirs), set(here))
        self.assertEqual(set(theirs), set(there))
        for config, ms in theirs.items():  # printed, not judged: others are at work here
            print(f"rows {config}: Kernel Tuner {ms:.4f} ms, tune {here[config]:.4f}, its search on our agent {there[config]:.4f}")
        print(f"best: Kernel Tuner {min(theirs, key=theirs.get)}, tune {[env['best_config'][p] for p in ('BLOCK', 'UNROLL')]}")


class Scripts(unittest.TestCase):
    """The same call by both packages: the same configs, all of them right."""

    def both(self, script):
        names = list(script["tune_params"])
        ours, env = tune.tune_kernel(**script, strategy="brute_force", iterations=1, quiet=True, **FAST)
        with tune.kernel_tuner.farm(**FAST):
            theirs, their_env = kernel_tuner.tune_kernel(**script, lang="OpenCL", iterations=1, quiet=True)
        self.assertEqual({r["status"] for r in ours}, {"ok"})
        self.assertEqual([r["why"] for r in theirs if "__error__" in r], [])
        self.assertEqual({tuple(r[n] for n in names) for r in ours}, {tuple(r[n] for n in names) for r in theirs})
        for best in (env["best_config"], their_env["best_config"]):
            self.assertTrue(all(m in best for m in script.get("metrics", ())))
        print(f"{script['kernel_name']}: {len(ours)} configs; best {[env['best_config'][n] for n in names]}, ", end="")
        print(f"Kernel Tuner on the farm {[their_env['best_config'][n] for n in names]}")

    def test_vector_add(self):
        self.both(scripts.vector_add())

    def test_convolution(self):
        self.both(scripts.convolution())

    def test_matmul(self):
        self.both(scripts.matmul())

    def test_reduction(self):
        self.both(scripts.reduction())


class Optuna(unittest.TestCase):
    def test_a_study_measures_on_the_farm(self):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        more = {"grid_div_x": ["block_size_x", "VEC"], "answer": [None, None, A + B, None], "iterations": 1, "options": FAST}
        with tune.Runner("add", SOURCE, N, ARGS, PARAMS, **more) as run:

            def objective(trial):
                return run({name: trial.suggest_categorical(name, values) for name, values in PARAMS.items()})["time"]

            study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
            study.optimize(objective, n_trials=6)
        self.assertEqual(len(study.trials), 6)
        self.assertIn(study.best_params["VEC"], (1, 4))
        self.assertIn(run.best["VEC"], (1, 4))


if __name__ == "__main__":
    unittest.main(verbosity=2)
