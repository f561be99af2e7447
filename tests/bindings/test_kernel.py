# SPDX-License-Identifier: MIT
"""tune_kernel and Runner on this machine's OpenCL device."""
import contextlib
import io
import os
import subprocess
import sys
import time
import unittest

import numpy as np

import tune
from tune import _opencl

# Sums of two arrays; VEC == 3 is wrong by one.
SOURCE = """
__kernel void add(__global const float *a, __global const float *b, __global float *c, int n)
{
    const int at = (int)get_global_id(0) * VEC;

    for (int i = 0; i < VEC; i++)
        if (at + i < n)
            c[at + i] = a[at + i] + b[at + i] + (VEC == 3);
}
"""
N = 80000  # more than the 256 KiB from which on buffers have fences
RNG = np.random.default_rng(1)
A, B = RNG.random(N, dtype=np.float32), RNG.random(N, dtype=np.float32)
C = np.zeros(N, np.float32)
A.flags.writeable = False
ARGS = [A, B, C, np.int32(N)]
PARAMS = {"block_size_x": [16, 64, 256], "VEC": [1, 3, 4]}
GRID = {"grid_div_x": ["block_size_x", "VEC"]}
FAST = {"iterations": 1, "min_repeat_ms": 1, "quiet": True}
ANSWER = [None, None, A + B, None]


def until(what):
    for _ in range(600):
        if what():
            return
        time.sleep(0.1)
    raise AssertionError("not within a minute")


def running(word):
    """Processes that name it."""
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                out += [pid] if word.encode() in f.read().split(b"\0") else []
        except OSError:
            pass
    return out


def tuned(**more):
    return tune.tune_kernel("add", SOURCE, N, ARGS, PARAMS, **{**GRID, **FAST, **more})


class Kernel(unittest.TestCase):
    def test_all_configs_are_measured_and_wrong_ones_are_told(self):
        results, env = tuned(
            answer=ANSWER,
            restrictions=["block_size_x > 16", lambda p: p["block_size_x"] * p["VEC"] <= 768],
            strategy="brute_force",
            metrics={"GB/s": lambda r: 12 * N / r["time"] / 1e6, "ns": "time * 1e6"},
        )
        found = {(r["block_size_x"], r["VEC"]): r for r in results}
        self.assertEqual(set(found), {(64, 1), (64, 3), (64, 4), (256, 1), (256, 3)})
        for (_, vec), r in found.items():
            self.assertEqual(r["status"], "wrong" if vec == 3 else "ok", r)
            self.assertEqual("ns" in r, vec != 3)
        self.assertIn("expected", found[64, 3]["why"])
        best = env["best_config"]
        self.assertNotEqual(best["VEC"], 3)
        self.assertAlmostEqual(best["GB/s"] * best["time"], 12 * N / 1e6, places=6)
        self.assertAlmostEqual(best["ns"], best["time"] * 1e6)
        self.assertIn("name", env["device"])

    def test_an_answer_may_be_infinite_beside_a_tolerance(self):
        """The tolerance is of the largest finite value: others are still compared."""
        source = "__kernel void k(__global const float *x, __global float *y) { int i = get_global_id(0); y[i] = x[i] * 2; }"
        x = np.arange(256, dtype=np.float32)
        x[3] = np.inf
        x.flags.writeable = False
        for off, status in ((0, "ok"), (5, "wrong")):
            answer = x * 2
            answer[7] += off
            args = [x, np.zeros(256, np.float32)]
            results, _ = tune.tune_kernel("k", source, 256, args, {"block_size_x": [64]}, answer=[None, answer], atol=1e-3, **FAST)
            self.assertEqual([r["status"] for r in results], [status])

    def test_sizes_and_macros_may_be_functions_and_sources_several(self):
        with open("sum.h", "w", encoding="utf-8") as f:
            f.write("#define SUM(x, y) ((x) + (y) + (VEC == 3))")
        source = '#include "sum.h"\n' + SOURCE.replace("a[at + i] + b[at + i] + (VEC == 3)", "SUM(a[at + i], b[at + i]) + MORE")
        results, _ = tune.tune_kernel(
            "add",
            [source.replace("* VEC;", "* VEC + (int)(get_global_size(0) - grid_size_x * get_local_size(0));"), "sum.h"],
            lambda p: (N, 1),
            ARGS,
            PARAMS,
            grid_div_x=lambda p: max(p["block_size_x"], 1) * p["VEC"],
            defines={"MORE": lambda p: p["VEC"] - p["VEC"]},
            answer=ANSWER,
            verify=lambda answer, outputs: np.allclose(answer[2], outputs[2]),
            strategy="brute_force",
            **FAST,
        )
        self.assertEqual(len(results), 9)
        for r in results:
            self.assertEqual(r["status"], "wrong" if r["VEC"] == 3 else "ok", r)

    def test_without_an_answer_nothing_is_checked_and_a_function_may_verify(self):
        some = {"restrictions": "block_size_x == 64", "strategy": "grid"}
        results, _ = tuned(**some)
        self.assertEqual([r["status"] for r in results], ["ok"] * 3)
        asked = []

        def verify(answer, outputs, atol):
            asked.append(atol)
            return np.allclose(answer, outputs[2], atol=atol)

        results, env = tuned(answer=A + B, verify=verify, atol=1e-5, **some)
        self.assertEqual({r["VEC"]: r["status"] for r in results}, {1: "ok", 3: "wrong", 4: "ok"})
        self.assertEqual(asked, [1e-5] * 3)
        self.assertNotEqual(env["best_config"]["VEC"], 3)
        tuned(verify=verify, answer=A + B, restrictions="block_size_x == 64 and VEC == 1")
        self.assertEqual(asked[3:], [1e-6])  # Kernel Tuner's, whose scripts hand it to numpy.isclose

    def test_what_a_kernel_takes_as_const_is_an_input_unless_it_has_an_answer(self):
        source = """__kernel void k(__global const float *x, __global float *y)
        {
            int i = get_global_id(0);
            y[i] = x[i] * 2;
            if (BUG)
                ((__global float *)x)[i] = 1;
        }"""
        x = np.arange(256, dtype=np.float32)

        def tried(answer):
            args, params = [x, np.zeros_like(x)], {"BUG": [0, 1], "block_size_x": [64]}
            return {r["BUG"]: r for r in tune.tune_kernel("k", source, 256, args, params, answer=answer, strategy="grid", **FAST)[0]}

        results = tried([None, x * 2])
        self.assertEqual(results[0]["status"], "ok")
        self.assertRegex(results[1]["why"], "wrote into arg0")
        self.assertEqual([tried([x, x * 2])[b]["status"] for b in (0, 1)], ["ok", "wrong"])

    def test_a_kernel_is_run_once_for_an_answer(self):
        outputs = tune.run_kernel("add", SOURCE, N, ARGS, {"block_size_x": 64, "VEC": 4}, **GRID)
        np.testing.assert_array_equal(outputs[2], A + B)
        self.assertEqual(outputs[3], N)
        self.assertFalse(C.any())
        self.assertTrue(outputs[2].flags.writeable)
        results, _ = tuned(answer=[None, None, outputs[2], None], restrictions="block_size_x == 64")
        self.assertEqual({r["VEC"]: r["status"] for r in results}, {1: "ok", 3: "wrong", 4: "ok"})
        for words, more in (
            ("texmem_args: texture memory", {"texmem_args": {"t": A}}),
            ("CUDA kernels are not run here", {"lang": "CUDA"}),
            ("clGetDeviceIDs: no number 15", {"device": 15}),
            ("compiler: with lang='C'", {"compiler": "gcc"}),
        ):
            with self.subTest(words), self.assertRaisesRegex((ValueError, TypeError, tune.TuneError), words):
                tune.run_kernel("add", SOURCE, N, ARGS, {"block_size_x": 64, "VEC": 4}, **GRID, **more)
        source = "__kernel void one(__global int *x) { x[get_global_id(0)] += 1; }"
        (out,) = tune.run_kernel("one", source, 2, [np.arange(600, dtype=np.int32)], {})  # 2 groups of 256: no parameter
        np.testing.assert_array_equal(out, np.arange(600) + (np.arange(600) < 512))

    def test_structs_are_arrays_of_bytes(self):
        body = np.dtype([("p", np.float32, 3), ("m", np.float32), ("n", np.int32)])  # 20 bytes
        x = np.zeros(1000, body)
        x["p"], x["m"] = RNG.random((1000, 3)), 2
        x.flags.writeable = False
        right = x.copy()
        right["n"] = np.arange(1000)
        source = """
        struct body { float p[3], m; int n; };
        __kernel void number(__global const struct body *x, __global struct body *y)
        {
            const int i = (int)get_global_id(0);
            y[i] = x[i];
            y[i].n = i + (BUG && i == 999);
        }
        """
        args = [x, np.zeros_like(x)]

        def numbered(**more):
            params = {"BUG": [0, 1], "block_size_x": [8]}
            return tune.tune_kernel("number", source, 1000, args, params, strategy="brute_force", **FAST, **more)

        results, _ = numbered(answer=[None, right])
        self.assertEqual({r["BUG"]: r["status"] for r in results}, {0: "ok", 1: "wrong"})
        results, _ = numbered(answer=right, verify=lambda a, outputs: (outputs[1]["n"] == a["n"]).all())
        self.assertEqual({r["BUG"]: r["status"] for r in results}, {0: "ok", 1: "wrong"})
        with self.assertRaisesRegex(ValueError, "answer of arg1: a struct has no atol"):
            numbered(answer=[None, right], atol=1e-3)
        with self.assertRaisesRegex(ValueError, "answer of arg1: 1000 x float32, where the argument has 1000 x custom"):
            numbered(answer=[None, right["m"]])
        with self.assertRaisesRegex(TypeError, "argument arg0: a struct by value"):
            tune.tune_kernel("number", source, 1000, [x[0]], {"BUG": [0]})
        with self.assertRaisesRegex(TypeError, "argument arg0: a struct with objects of Python"):
            tune.tune_kernel("number", source, 1000, [np.zeros(3, [("a", object)])], {"BUG": [0]})

    def test_a_second_call_goes_on_with_the_cache(self):
        first, _ = tuned(cache="add.jsonl", trials=2)
        second, _ = tuned(cache="add.jsonl", trials=4)
        self.assertEqual(len(first), 2)
        self.assertEqual(len(second), 4)
        self.assertEqual([r["timestamp"] for r in second[:2]], [r["timestamp"] for r in first])

    def test_results_are_of_this_kernel_when_the_cache_ends_with_anothers(self):
        some = {"strategy": "grid", "restrictions": "block_size_x == 64", "cache": "two.jsonl"}
        first, first_env = tuned(**some)
        other = tune.tune_kernel("add", SOURCE + "// other\n", N, ARGS, PARAMS, **GRID, **FAST, **some)[0]
        again, env = tuned(**some)
        self.assertEqual([r["times"] for r in again], [r["times"] for r in first])
        self.assertIn(env["best_config"]["times"], [r["times"] for r in [*first, first_env["best_config"]]])
        self.assertEqual((len(first), len(other)), (3, 3))

    def test_a_callback_that_raises_ends_the_run(self):
        def callback(event):
            if event["event"] == "best":
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            tuned(callback=callback, cache="ends.jsonl")
        results, _ = tuned(cache="ends.jsonl", strategy="grid")
        self.assertEqual(len(results), 9)

    def test_when_python_is_killed_the_run_ends_and_its_log_resumes(self):
        code = f"""
import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from test_kernel import *
tune.tune_kernel("add", SOURCE, N, ARGS, {{"block_size_x": list(range(1, 2000))}}, trials=1999, cache="killed.jsonl")
"""
        child = subprocess.Popen([sys.executable, "-c", code])
        until(lambda: os.path.exists("killed.jsonl") and len(list(tune.iter_log("killed.jsonl"))) > 2)
        child.kill()
        child.wait()
        until(lambda: not running("killed.jsonl"))
        self.assertLess(len(list(tune.iter_log("killed.jsonl"))), 1999)
        self.assertIn(" 0 bad", tune.call("log", "check", "killed.jsonl"))

    def test_a_kernel_may_lie_in_a_file_and_be_held_against_another(self):
        with open("add.cl", "w", encoding="utf-8") as f:
            f.write(SOURCE)
        results, _ = tune.tune_kernel(
            "add", "add.cl", N, ARGS, PARAMS, reference={"Configuration": {"VEC": 1}}, strategy="grid", trials=9, **GRID, **FAST
        )
        self.assertEqual({r["VEC"] for r in results if r["status"] == "wrong"}, {3})
        self.assertEqual(len(results), 9)

    def test_what_a_compiler_says_is_told_however_long(self):
        text = "\n".join(f"int f{i}(void) {{ return nothing{i}; }}" for i in range(200))
        with self.assertRaisesRegex(tune.TuneError, "does not build: (.|\n)*nothing0"):
            _opencl.Context()._build(text, "")

    def test_where_all_configs_fail_the_reason_is_printed(self):
        for words, more in (
            ("compile: .*no kernel named ad", {"kernel_name": "ad"}),
            ("compile: .*argument 3 .*its type has another size in the kernel", {"arguments": [*ARGS[:3], np.int64(N)]}),
            ("wrong: .*arg2", {"answer": [None, None, A + B + 1, None]}),
        ):
            told = io.StringIO()
            with self.subTest(words), contextlib.redirect_stdout(told):
                kernel = {"kernel_name": "add", "kernel_source": SOURCE, "problem_size": N, "arguments": ARGS, "tune_params": PARAMS}
                _, env = tune.tune_kernel(**{**kernel, **GRID, **FAST, "quiet": False, "trials": 2, **more})
                self.assertIsNone(env["best_config"])
            self.assertRegex(told.getvalue(), f"most often: {words}")

    def test_a_wrong_whole_number_is_told_by_its_element(self):
        source = "__kernel void last(__global uint *y) { y[get_global_id(0)] = get_global_id(0) < 99 ? 0x01020304 : ONE; }"
        answer = [np.full(100, 0x01020304, np.uint32)]
        results, _ = tune.tune_kernel("last", source, 100, [np.zeros(100, np.uint32)], {"ONE": [1]}, answer=answer, **FAST,
                                      block_size_names=["ONE"])
        self.assertRegex(results[0]["why"], r"arg0\[99\] byte [0-3] is \d+, expected \d; 4 of 400 bytes wrong")

    def test_an_option_that_is_none_is_not_given(self):
        results, _ = tuned(strategy="random_sample", strategy_options={"max_fevals": 2}, trials=None)
        self.assertEqual(len(results), 2)

    def test_what_cannot_be_is_told_in_one_line(self):
        for words, more in (
            ("^ConfigurationSpace.*unknown name 'foo'", {"restrictions": "foo < 3"}),
            ("before '\\*\\* 2", {"restrictions": "VEC ** 2 < 3"}),
            ("no valid config", {"restrictions": lambda p: False}),
            ("2 entries for 4 arguments", {"answer": [None, None]}),
            ("1 x float32, where the argument has 80000 x float", {"answer": [None, None, A[:1], None]}),
            ("observers: not supported", {"observers": [1]}),
            ("expected max_fevals", {"strategy_options": {"popsize": 3}}),
            ("expected 'OpenCL', 'CUDA', 'C' or", {"lang": "HIP"}),
            ("defines\\['VEC2'\\]: a function of it gave 'x'", {"defines": {"VEC2": lambda p: "x"}}),
            ("defines\\['VEC'\\]: it is a parameter", {"defines": {"VEC": 1}}),
            ("answer of arg2: has NaN", {"answer": [None, None, np.full_like(A, np.nan), None]}),
            ("answer of arg2: expected a numpy array or None, not 3", {"answer": [None, None, 3, None]}),
            ("metrics\\['m'\\]: expected text or a function", {"metrics": {"m": 3}}),
            ("unknown name 'tme'", {"metrics": {"m": "1 / tme"}}),
            ("log: not supported", {"log": 10}),
            ("parallel: not needed", {"parallel": True}),
            ("objective='GFLOP/s': expected time, energy, edp", {"objective": "GFLOP/s"}),
            ("smem_args: expected {'size'", {"smem_args": {"bytes": 3}}),
            ("unknown option", {"trails": 3}),
            ("CompilerOptions: expected texts of letters", {"compiler_options": ["-DVEC2=("]}),
            ("defines\\['VEC2'\\]: expected one line", {"defines": {"VEC2": "1\n2"}}),
        ):
            with self.subTest(words), self.assertRaisesRegex((ValueError, TypeError, tune.TuneError), words):
                tuned(**more)
        with self.assertRaisesRegex(TypeError, "argument arg0: expected a numpy array"):
            tune.tune_kernel("add", SOURCE, N, [1.0], PARAMS)
        with self.assertRaisesRegex(TypeError, "argument arg0: a complex scalar"):
            tune.tune_kernel("add", SOURCE, N, [np.complex64(1)], PARAMS)
        with open("theirs.json", "w", encoding="utf-8") as f:  # a cache of Kernel Tuner's
            f.write('{"device_name": "x", "cache": {\n"1": {"VEC": 1, "time": 1.0}\n}}')
        with self.assertRaisesRegex(tune.TuneError, "theirs.json: this is no log, and is left as it is"):
            tuned(cache="theirs.json")
        self.assertEqual(os.path.getsize("theirs.json"), 63)
        with self.assertRaisesRegex(TypeError, "argument arg0: bytes of another order"):
            tune.tune_kernel("add", SOURCE, N, [A.astype(A.dtype.newbyteorder())], PARAMS)
        for words, values in (("expected a list of numbers or words, not 'ab'", "ab"), ("not 3", 3), ("not \\[None\\]", [None])):
            with self.subTest(words), self.assertRaisesRegex((TypeError, ValueError), "tune_params\\['VEC'\\]: .*" + words):
                tune.tune_kernel("add", SOURCE, N, ARGS, {"VEC": values})
        with self.assertRaisesRegex(TypeError, "kernel_source: a function cannot be handed on"):
            tune.tune_kernel("add", lambda p: SOURCE, N, ARGS, PARAMS)
        with self.assertRaisesRegex(FileNotFoundError, "no file none.cl"):
            tune.tune_kernel("add", "none.cl", N, ARGS, PARAMS)


class Ask(unittest.TestCase):
    def test_a_runner_measures_what_it_is_asked_for(self):
        spec = dict(answer=ANSWER, restrictions=["block_size_x * VEC <= 768"], iterations=1, options={"min_repeat_ms": 1})
        with tune.Runner("add", SOURCE, N, ARGS, PARAMS, cache="runner.jsonl", **GRID, **spec) as run:
            good = run({"block_size_x": 64, "VEC": 4})
            self.assertEqual(good["status"], "ok")
            self.assertEqual(run({"VEC": 4, "block_size_x": 64}), good)
            self.assertEqual(run({"block_size_x": np.int64(64), "VEC": 3})["status"], "wrong")
            refused = run({"block_size_x": 256, "VEC": 4})
            self.assertEqual((refused["status"], refused["time"]), ("invalid", float("inf")))
            several = [run.submit({"block_size_x": x, "VEC": 1}) for x in PARAMS["block_size_x"]]
            self.assertEqual([f.result()["block_size_x"] for f in several], PARAMS["block_size_x"])
            with self.assertRaisesRegex(ValueError, "VEC=5: expected one of 1, 3, 4"):
                run({"block_size_x": 64, "VEC": 5})
            with self.assertRaisesRegex(ValueError, "parameters block_size_x, VEC"):
                run({"VEC": 4})
        self.assertIn(run.best["VEC"], (1, 4))
        with self.assertRaisesRegex(tune.TuneError, "has ended"):
            run({"block_size_x": 64, "VEC": 4})
        searched = [r for r in tune.iter_log("runner.jsonl") if r["purpose"] == "search"]
        knobs = {tuple(sorted(r["knobs"].items())) for r in searched}
        self.assertEqual(len(searched), len(knobs))  # each once
        finals = [r for r in tune.iter_log("runner.jsonl") if r["purpose"] == "final"]
        self.assertGreater(len(finals), 0)

    def test_a_runner_does_not_take_another_versions_result_for_its_own(self):
        def measured(source):
            more = {"cache": "versions.jsonl", "iterations": 1, "options": {"min_repeat_ms": 1}}
            with tune.Runner("add", source, N, ARGS, PARAMS, **more, **GRID) as run:
                return run({"block_size_x": 64, "VEC": 4})

        first = measured(SOURCE)
        self.assertEqual(measured(SOURCE), first)
        self.assertNotEqual(measured(SOURCE + "// other\n")["times"], first["times"])
        with self.assertRaisesRegex(tune.TuneError, "several versions of the kernel"):
            measured(SOURCE)

    def test_an_error_in_the_middle_ends_the_job_and_is_the_callers(self):
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            with tune.Runner("add", SOURCE, N, ARGS, PARAMS, iterations=1, **GRID):
                raise ZeroDivisionError("mine")

    def test_a_kernel_that_cannot_be_is_told(self):
        with self.assertRaisesRegex(tune.TuneError, "^ConfigurationSpace.*unknown name 'foo'"):
            with tune.Runner("add", SOURCE, N, ARGS, PARAMS, restrictions="foo < 3", **GRID) as run:
                run({"block_size_x": 64, "VEC": 4})


if __name__ == "__main__":
    unittest.main(verbosity=2)
