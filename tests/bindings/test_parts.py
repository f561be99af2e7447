# SPDX-License-Identifier: MIT
"""What needs no device and no numpy: restrictions, metrics, logs, jobs on a recorded space."""
import itertools
import json
import math
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import zipfile

import tune
from tune import _express, _metrics, _restrict, _search, _spec

ROOT = os.environ["TUNE_ROOT"]
REPLAY = f"replay:{ROOT}/examples/recorded/tiles.json"


def replay(**more):
    return tune.run(device=REPLAY, trials=12, seed=1, **more)


class Walk:
    """All configs in order; raises after so many results."""

    def __init__(self, most=None):
        self.told, self.most = [], most

    def start(self, knobs, constraints, budget, seed):
        self.constraints = constraints
        self.all = [dict(zip(knobs, v)) for v in itertools.product(*knobs.values())]

    def ask(self, n):
        if self.most is not None and len(self.told) >= self.most:
            raise ZeroDivisionError("mine")
        out, self.all = self.all[:n], self.all[n:]
        return out

    def tell(self, config, value):
        self.told.append((config, value))


class Arguments(unittest.TestCase):
    def test_a_long_list_is_refused_in_one_short_line(self):
        with tempfile.TemporaryDirectory() as folder:
            w = _spec.Writer(folder)
            for call in (lambda: w.argument("x", [0.5] * 100000), lambda: w.expected("x", [0.5] * 100000, {}, None)):
                with self.assertRaisesRegex(TypeError, "x: expected a numpy array") as raised:
                    call()
                self.assertLess(len(str(raised.exception)), 200)


class Restrictions(unittest.TestCase):
    def test_expressions_allow_exactly_what_the_function_does(self):
        rng = random.Random(3)
        for _ in range(60):
            params = {f"p{i}": sorted(rng.sample(range(1, 40), rng.randint(1, 5))) for i in range(rng.randint(1, 3))}
            part = rng.choice([0, 0.1, 0.5, 0.9, 1])
            allowed = {v for v in itertools.product(*params.values()) if rng.random() < part}
            texts = _restrict.expressions_of(lambda p: tuple(p[n] for n in params) in allowed, params)
            for values in itertools.product(*params.values()):
                # these expressions mean the same in Python
                said = all(eval(t, {}, dict(zip(params, values))) for t in texts)
                self.assertEqual(said, values in allowed, texts)

    def test_only_what_a_function_looks_at_is_named(self):
        params = {"a": [1, 2, 3, 4], "b": [1, 2], "c": ["x", "y"]}
        for function in (lambda p: p["a"] < 3, lambda a: a < 3):
            (text,) = _restrict.expressions_of(function, params)
            self.assertEqual(text, "(a in {1, 2})")
        self.assertEqual(_restrict.expressions_of(lambda p: True, params), [])
        self.assertEqual(_restrict.expressions_of(lambda c: c == "y", params), ["(c in {'y'})"])

    def test_what_is_neither_text_nor_function_is_refused(self):
        for bad in (3, [3]):
            with self.assertRaisesRegex(TypeError, "a restriction is text or a function, not 3"):
                _restrict.conditions(bad, {"a": [1]})
        with self.assertRaisesRegex(TypeError, "metrics: expected a dict of names and texts or functions"):
            _metrics.check(["a"], {})

    def test_other_objects_are_refused(self):
        class Constraint:
            def preProcess(self):
                pass

            def __call__(self, *_):
                pass

        for other in (Constraint(), 3, ("a", "b", 3)):
            with self.assertRaisesRegex(TypeError, "a restriction is text or a function, not"):
                _restrict.conditions([other], {"a": [1]})

    def test_a_function_of_too_many_combinations_is_refused(self):
        params = {n: list(range(64)) for n in "abcd"}
        with self.assertRaisesRegex(ValueError, "give it as text"):
            _restrict.expressions_of(lambda p: p["a"] < 3, params)
        self.assertEqual(len(_restrict.expressions_of(lambda a: a < 3, params)), 1)

    def test_tune_counts_as_python_does(self):
        params = {"a": list(range(1, 33)), "b": list(range(1, 33))}
        texts = _restrict.conditions(["a + b < 60", lambda a, b: (a * b) % 7 < 3], params)
        space = {
            "ConfigurationSpace": {
                "TuningParameters": [{"Name": n, "Values": v} for n, v in params.items()],
                "Conditions": [{"Expression": t} for t in texts],
            }
        }
        with open("space.json", "w", encoding="utf-8") as f:
            json.dump(space, f)
        wanted = sum((a * b) % 7 < 3 and a + b < 60 for a in params["a"] for b in params["b"])
        self.assertIn(f" {wanted} valid", tune.call("spaces", "--file", "space.json"))


class Sizes(unittest.TestCase):
    """Expressions mean the same in Python; `tune` gets them as text."""

    PARAMS = {"a": [1, 2, 3, 8], "b": [16, 32, 48], "w": ["x", "y"]}

    def check(self, function, params=None):
        params = params or self.PARAMS
        text = _express.text_of(function, params, "it")
        for values in itertools.product(*params.values()):
            config = dict(zip(params, values))
            self.assertEqual(eval(text, {}, config), function(config), text)
        return text

    def test_arithmetic_is_noted_without_a_call_for_each_config(self):
        calls = []

        def size(p):
            calls.append(1)
            return 1000 // p["a"] - -p["b"] % 5 * 2 / 4

        self.check(size)
        many = {n: list(range(1, 65)) for n in "abcdef"}
        self.assertEqual(_express.text_of(lambda p: p["a"] * p["f"] + 2, many, "it"), "((a * f) + 2)")
        self.assertLess(len(calls), 500)
        self.assertEqual(self.check(lambda p: (p["a"] > 2) * 3), "((a > 2) * 3)")
        self.assertEqual(self.check(lambda p: 7), "7")

    def test_what_is_more_than_arithmetic_is_listed(self):
        self.assertEqual(self.check(lambda p: max(p["a"], 2)).count("a "), 3)
        self.check(lambda p: 5 if p["w"] == "x" and p["b"] > 16 else p["a"])
        self.check(lambda p: math.ceil(p["b"] / p["a"]))
        self.check(lambda p: {1: 4, 2: 9}.get(p["a"], 0))
        self.check(lambda p: 1 << p["a"])

    def test_what_gives_no_number_is_refused(self):
        with self.assertRaisesRegex(TypeError, "it: a function of it gave 'xy'"):
            _express.text_of(lambda p: str(p["w"]) + "y", {"w": ["x"]}, "it")
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            _express.text_of(lambda p: 1 // (p["a"] - 1), self.PARAMS, "it")
        with self.assertRaisesRegex(TypeError, "it: expected a number, an expression or a function"):
            _express.text_of(None, self.PARAMS, "it")
        with self.assertRaisesRegex(ValueError, "too irregular"):
            _express.text_of(lambda p: hash((p["a"] ^ 5, p["b"] ^ 3)) % 99991, {n: list(range(40)) for n in "ab"}, "it")

    def test_groups_are_kernel_tuners(self):
        """By hand, of n = 1000: sizes that are text are cut to whole numbers, divisors likewise, groups rounded up."""
        text = "__kernel void k(int n) {}"
        for more, config, groups in (
            ({"problem_size": 1000}, {"block_size_x": 64}, [16, 1, 1]),
            ({"problem_size": (1000, 10), "grid_div_x": [], "grid_div_y": ["4"]}, {"block_size_x": 64}, [1000, 3, 1]),
            ({"problem_size": "1000 / 3"}, {"block_size_x": 37}, [9, 1, 1]),  # 333 / 37, not 334 / 37
            ({"problem_size": 1000, "grid_div_x": "block_size_x / 32"}, {"block_size_x": 48}, [1000, 1, 1]),
            ({"problem_size": 1000, "grid_div_x": lambda p: p["block_size_x"] / 32}, {"block_size_x": 48}, [667, 1, 1]),
            ({"problem_size": lambda p: (1000, p["block_size_x"])}, {"block_size_x": 64}, [16, 64, 1]),
            ({"problem_size": 1000, "block_size_names": ["bx"]}, {"bx": 8}, [125, 1, 1]),
            ({"problem_size": 1000}, {"other": 8}, [1000, 1, 1]),
        ):
            with self.subTest(str(more)):
                params = {name: [value, 2 * value] for name, value in config.items()}
                kernel = _spec.Kernel("k", text, arguments=[], tune_params=params, **more)
                self.assertEqual(kernel.launch(config)[0], groups)
                ceil_div = {"ceil_div": lambda a, b: math.ceil(a / b)}
                self.assertEqual([eval(g, ceil_div, config) for g in kernel._groups()], groups)

    def test_macros_depend_on_the_config_where_they_do(self):
        with open("help.h", "w", encoding="utf-8") as f:
            f.write("#define HELP a")
        with open("k.cl", "w", encoding="utf-8") as f:
            f.write('#include "help.h"\n__kernel void k() { grid_size_x; }')
        defines = {"T": "float", "N": 3, "HALF": "a / 2", "F": lambda p: p["a"] + p["b"]}
        kernel = _spec.Kernel("k", ["k.cl", "help.h"], 100, [], {"a": [5, 6], "b": [1, 2]}, grid_div_x=["a"], defines=defines)
        with open(kernel.write("."), encoding="utf-8") as f:
            job = json.load(f)["KernelSpecification"]
        self.assertEqual(set(job["Defines"]), {"grid_size_x", "HALF", "F"})
        self.assertEqual([o for o in job["CompilerOptions"] if "T=" in o or "N=" in o], ["-DT=float", "-DN=3"])
        with open(job["KernelFile"], encoding="utf-8") as f:
            self.assertEqual(f.read().split("\n")[0], "#define HELP a")
        self.assertEqual(kernel.text.split("\n")[0], "#define HELP a")
        self.assertLessEqual({"-Dgrid_size_x=20", "-DHALF=2", "-DF=7", "-Da=5", "-Dblock_size_x=256"}, set(kernel.options({"a": 5, "b": 2})))
        said = tune.call("show", "--kernel-spec", "job.json", "-c", "a=5 b=2")
        for macro in ("grid_size_x=20", "HALF=2", "F=7", "a=5", "block_size_x=256"):
            self.assertRegex(said.replace(" ", "="), macro + r"\b")


    def test_macros_of_one_run_here_are_those_of_the_job(self):
        """Text divides as C does at each division, and what is no whole number is one in neither."""
        defines = {"EVEN": "a / 2 * 2", "PART": "a * 0.5", "F": lambda p: p["a"] / 2}
        kernel = _spec.Kernel("k", "__kernel void k() {}", 100, [], {"a": [3, 4]}, defines=defines)
        kernel.write(".")
        for a, macros in ((3, {"EVEN=2", "PART=1.5", "F=1.5"}), (4, {"EVEN=4", "PART=2", "F=2"})):
            self.assertLessEqual({f"-D{m}" for m in macros}, set(kernel.options({"a": a})))
            said = tune.call("show", "--kernel-spec", "job.json", "-c", f"a={a}").replace(" ", "=")
            for macro in macros:
                self.assertRegex(said, re.escape(macro) + r"\s")

    def test_a_file_whose_name_ends_as_anothers_stays_named(self):
        for name in ("a.h", "data.h"):
            with open(name, "w", encoding="utf-8") as f:
                f.write(f"/* {name} */")
        with open("two.cl", "w", encoding="utf-8") as f:
            f.write('#include "a.h"\n#include "data.h"\n__kernel void k() {}')
        kernel = _spec.Kernel("k", ["two.cl", "a.h", "data.h"], 100, [], {"a": [1]})
        with open(kernel.write("."), encoding="utf-8") as f:
            job = json.load(f)["KernelSpecification"]
        with open(job["KernelFile"], encoding="utf-8") as f:
            self.assertEqual(f.read(), "/* a.h */\n/* data.h */\n__kernel void k() {}")

    def test_files_beside_the_first_source_are_found_wherever_the_job_is(self):
        """Of several sources too, and what these include from beside themselves."""
        os.makedirs("lib/inner", exist_ok=True)
        texts = {
            "lib/first.cl": '#include "beside.h"\n#include "other.h"\n#include "beside.h"\n__kernel void k() {}',
            "lib/beside.h": "#pragma once\nint beside;",
            "lib/inner/deep.h": "int deep;",
            "other.h": '#include "lib/inner/deep.h"\nint other;',
        }
        for name, text in texts.items():
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        for sources in (["lib/first.cl", "other.h"], ["lib/first.cl"]):
            kernel = _spec.Kernel("k", sources, 100, [], {"a": [1]})
            with tempfile.TemporaryDirectory() as folder:
                with open(kernel.write(folder), encoding="utf-8") as f:
                    job = json.load(f)["KernelSpecification"]
                with open(os.path.join(folder, job["KernelFile"]), encoding="utf-8") as f:
                    text = f.read()
            self.assertEqual(text.count("int beside;"), 1)
            self.assertEqual("int other;" in text and "int deep;" in text, len(sources) == 2)
            self.assertEqual("#include" in text, len(sources) == 1)  # other.h, which nobody gave

    def test_files_that_include_each_other_are_refused(self):
        for name, other in (("x.h", "y.h"), ("y.h", "x.h")):
            with open(name, "w", encoding="utf-8") as f:
                f.write(f'#include "{other}"\n')
        with self.assertRaisesRegex(ValueError, "a cyclic #include"):
            _spec.Kernel("k", ['#include "x.h"\n__kernel void k() {}', "x.h"], 100, [], {"a": [1]}).text

    def test_guarded_files_that_include_each_other_end_where_a_preprocessor_does(self):
        for name, other in (("g.h", "i.h"), ("i.h", "g.h")):
            with open(name, "w", encoding="utf-8") as f:
                f.write(f'/* {name} */\n#ifndef {name[0]}_H\n#define {name[0]}_H\n#include "{other}"\nint {name[0]};\n#endif\n')
        text = _spec.Kernel("k", ['#include "g.h"\n__kernel void k() {}', "g.h"], 100, [], {"a": [1]}).text
        self.assertEqual([text.count(f"int {name};") for name in "gi"], [1, 1])
        self.assertLess(text.index("int i;"), text.index("int g;"))
        with open("g.h", "w", encoding="utf-8") as f:
            f.write('int early;\n#ifndef g_H\n#define g_H\n#include "g.h"\n#endif\n')  # not all of it is guarded
        with self.assertRaisesRegex(ValueError, "a cyclic #include"):
            _spec.Kernel("k", ['#include "g.h"\n__kernel void k() {}', "g.h"], 100, [], {"a": [1]}).text

    def test_macros_that_are_no_option_are_lines_of_the_text(self):
        defines = {"T": "unsigned int", "F(x)": "((x) + 1)", "N": 3, "W": "float4", "P": "a * 2"}
        kernel = _spec.Kernel("k", "__kernel void k(__global T *x) { x[0] = F(1); }", 100, [], {"a": [1]}, defines=defines)
        self.assertEqual(kernel.text.split("__kernel")[0], "#define T unsigned int\n#define F(x) ((x) + 1)\n#line 1\n")
        self.assertEqual(kernel.options({"a": 2})[-4:], ["-DN=3", "-DW=float4", "-DP=4", "-Da=2"])
        for bad in ("1\n2", "1 \\"):
            with self.assertRaisesRegex(ValueError, "defines\\['T'\\]: expected one line"):
                _spec.Kernel("k", "__kernel void k() {}", 100, [], {"a": [1]}, defines={"T": bad}).text


class Inputs(unittest.TestCase):
    def test_a_pointer_to_const_is_an_input(self):
        for n, inputs, text in (
            (4, {0, 2}, "__kernel void k(__global const float *a, __global float *const b, __constant float *w, int n) { kk(a); }"),
            (3, {0, 1}, 'extern "C" __global__ void k(const float* __restrict__ x, float const * y, float* z)\n{}'),
            (3, {1}, "void k(int n, const double x[][COLS], double y[][COLS]) {}"),
            (2, {0}, "void k(const float *x, float *y);\nvoid k(const float *x /* , */, // const *\n float *y) {}"),
            (2, set(), "#if A\nvoid k(const float *x, float *y) {}\n#else\nvoid k(float *x, float *y) {}\n#endif"),
            (2, set(), "void k(const float *x,\n#if A\nconst\n#endif\nfloat *y) {}"),
            (1, set(), "void k(const float **x) {}"),
            (2, set(), "void k(ARGS) {}"),
            (3, set(), "void k(Array<float, 4> x, const float *a, float *b) {}"),
            (1, set(), "void other(const float *x) { k(x); }"),
        ):
            with self.subTest(text):
                self.assertEqual(_spec.inputs_of(text, "k", n), inputs)


class Metrics(unittest.TestCase):
    def test_text_is_read_and_functions_are_called_in_order(self):
        result = {"time": 4.0, "n": 8}
        _metrics.evaluate({"rate": "n / time", "twice": lambda r: 2 * r["rate"], "m": "-(n - 2) ** 2 % 7"}, result)
        self.assertEqual((result["rate"], result["twice"], result["m"]), (2.0, 4.0, -36 % 7))

    def test_text_is_never_run(self):
        for text in ("__import__('os')", "time.real", "nothing", "time if 1 else 2", "1 +"):
            with self.assertRaises(ValueError):
                _metrics.evaluate({"m": text}, {"time": 4.0})
            with self.assertRaises(ValueError):
                _metrics.check({"m": text}, {"time": 4.0})
        _metrics.check({"m": "1 / (time - 4)", "n": "m + 1", "f": lambda r: 1 / 0}, {"time": 4.0})
        with self.assertRaisesRegex(TypeError, "metrics\\['m'\\]: expected text or a function"):
            _metrics.check({"m": 3}, {})


class Runs(unittest.TestCase):
    def test_a_run_brings_records_events_and_a_log_that_resumes(self):
        events = []
        first = replay(output="r.jsonl", callback=events.append)
        self.assertEqual(first.done["end"], "done")
        self.assertEqual(sum(e["event"] in ("measured", "best") for e in events), len(first.records))
        (best,) = first.best.values()
        self.assertEqual(best["time_ns"], min(r["time_ns"] for r in first.records if r["status"] == "ok"))
        again = replay(output="r.jsonl")
        self.assertEqual(len(again.records), len(first.records))
        rows = [tune._logs.row_of(r) for r in tune.iter_log("r.jsonl")]
        self.assertEqual([r["knob.tile_x"] for r in rows], [r["knobs"]["tile_x"] for r in first.records])
        for row, r in zip(rows, first.records):  # some configs of the recording fail
            self.assertTrue(row["time_ms"] == r["time_ns"] / 1e6 if r["status"] == "ok" else math.isnan(row["time_ms"]))
        curve = next(iter(tune.plot.best_so_far("r.jsonl").values()))
        self.assertEqual(curve[-1], min(r["time_ms"] for r in rows if r["status"] == "ok"))
        known = [t for t in curve if not math.isnan(t)]
        self.assertEqual(known, sorted(known, reverse=True))

    def test_a_callback_that_raises_ends_the_run_and_the_log_resumes(self):
        seen = []

        def callback(event):
            if event["event"] in ("measured", "best"):
                seen.append(event)
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            replay(output="c.jsonl", callback=callback)
        self.assertEqual(len(seen), 1)
        self.assertGreater(len(list(tune.iter_log("c.jsonl"))), 0)
        whole = replay(output="c.jsonl")
        knobs = [tuple(r["knobs"].values()) for r in whole.records if r["purpose"] == "search"]
        self.assertEqual((len(knobs), len(set(knobs))), (12, 12))

    def test_a_searcher_decides(self):
        walk = Walk()
        run = replay(strategy=walk)
        self.assertEqual(walk.constraints, ["tile_x*tile_y<=256", "tile_x*tile_y>=4"])
        times = {tuple(r["knobs"].values()): r["time_ns"] for r in run.records if r["purpose"] == "search"}
        self.assertEqual(sum(r["proposed_by"] == "exec" for r in run.records if r["purpose"] == "search"), 12)
        for config, value in walk.told:
            allowed = 4 <= config["tile_x"] * config["tile_y"] <= 256
            self.assertEqual(value is not None, allowed)
        good = [(v, times[tuple(c.values())]) for c, v in walk.told if v is not None]
        self.assertEqual(len(good), 12)
        self.assertEqual([t for _, t in sorted(good)], sorted(t for _, t in good))

    def test_a_searcher_that_raises_ends_the_run(self):
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            tune.run(device=REPLAY, trials=1000, strategy=Walk(3))

    def test_a_plot_of_a_knob_that_no_trial_has_is_refused(self):
        records = [{"purpose": "search", "status": "ok", "time_ns": 5.0, "workload": "w", "knobs": {"a": 1}}]
        for words, more in (("no good trial has the knob b: there are a", ("b",)), ("no good trial of v has the knob a", ("a", None, "v"))):
            with self.assertRaisesRegex(ValueError, words):
                tune.plot.knob(records, *more)

    def test_a_searcher_of_two_spaces_is_refused(self):
        handle = _search.serve(Walk())
        start = {"event": "start", "knobs": {"a": [1]}, "constraints": [], "budget": 1, "seed": 0}
        handle(None, start)
        with self.assertRaisesRegex(ValueError, "one space"):
            handle(None, start)

    def test_what_tune_refuses_is_told_in_its_words(self):
        with self.assertRaisesRegex(tune.TuneError, 'no strategy "luck"'):
            replay(strategy="luck")
        with self.assertRaisesRegex(TypeError, "strategy: expected a name or an object with ask and tell, not 3"):
            replay(strategy=3)
        with self.assertRaisesRegex(tune.TuneError, "unknown option"):
            replay(trails=3)
        with self.assertRaisesRegex(tune.TuneError, "no tracker answers|not reachable|refused"):
            tune.jobs(tracker="tcp://127.0.0.1:1")

    def test_damaged_lines_are_passed_over_with_a_warning(self):
        replay(output="d.jsonl")
        whole = list(tune.iter_log("d.jsonl"))
        with open("d.jsonl", "ab") as f:
            f.write(b'{"schema":2,"knobs":{}}\nnonsense\n')
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertEqual(list(tune.iter_log("d.jsonl")), whole)
        self.assertEqual(len(told), 2)

    def test_the_program_is_found_or_named(self):
        self.assertEqual(tune.program(), os.path.abspath(os.environ["TUNE_PROGRAM"]))
        code = "import os; os.environ['TUNE_PROGRAM'] = '/none'; import tune; tune.program()"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
        self.assertIn("TUNE_PROGRAM=/none: no program there", said)


class Interrupts(unittest.TestCase):
    """Ctrl-C in a process of its own, as in a terminal."""

    def interrupted(self, code, ready, **env):
        """Starts `code`, and interrupts it for each thing that `ready` waits for; its standard error."""
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": {**os.environ, **env}}
        child = subprocess.Popen([sys.executable, "-c", code], **more)
        for is_ready in ready:
            for _ in range(2000):
                if is_ready():
                    break
                time.sleep(0.05)
            else:
                child.kill()
                self.fail(child.communicate()[1])
            child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=120)[1]
        self.assertIn("KeyboardInterrupt", said)
        self.assertEqual(child.returncode, -signal.SIGINT, said)
        return said

    def test_an_interrupted_run_leaves_a_whole_log_and_its_traceback(self):
        code = f"""
import time, tune
def slow_callback(event):
    open("started", "a").close()
    time.sleep(0.2)
tune.run(device={REPLAY!r}, trials=200, seed=1, output="i.jsonl", callback=slow_callback)
"""
        said = self.interrupted(code, [lambda: os.path.exists("started") and os.path.exists("i.jsonl")])
        self.assertIn("in slow_callback", said)
        self.assertIn(" 0 bad", tune.call("log", "check", "i.jsonl"))
        n = sum(1 for _ in tune.iter_log("i.jsonl"))
        run = tune.run(device=REPLAY, trials=200, seed=1, output="i.jsonl")
        knobs = [tuple(r["knobs"].values()) for r in run.records if r["purpose"] == "search"]
        self.assertGreaterEqual(len(run.records), n)
        self.assertEqual(len(knobs), len(set(knobs)))

    def test_the_end_is_waited_for_and_a_second_one_is_at_once(self):
        """A program in the place of `tune` notes its interrupts and ends at the second; the first one comes when its start was read."""
        with open("notes", "w", encoding="utf-8") as f:
            f.write(
                "#!/bin/sh\nn=0\n"
                "trap 'n=$((n + 1)); echo $n >>signals; [ $n -lt 2 ] || { echo ended >>signals; exit 4; }' INT\n"
                'echo \'{"event":"start"}\'\nwhile :; do sleep 0.1; done\n'
            )
        os.chmod("notes", 0o755)

        def has(words):
            return lambda: os.path.exists("signals") and open("signals", encoding="utf-8").read().split()[-1] == words

        code = "import tune; tune.run('x', callback=lambda event: print('ready', file=open('signals', 'a')))"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.interrupted(code, [has("ready"), has("1")], TUNE_PROGRAM=os.path.abspath("notes"))
            for _ in range(600):
                if has("ended")():
                    break
                time.sleep(0.05)
            self.assertTrue(has("ended")())


class Words(unittest.TestCase):
    def test_what_is_said_on_the_way_is_shown_and_the_last_is_raised(self):
        with open("says", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho 'tune: the tracker is out of reach' >&2\nsleep 2\necho 'tune: no such thing' >&2\nexit 1\n")
        os.chmod("says", 0o755)
        code = "import tune\ntry:\n tune.run('x')\nexcept tune.TuneError as e:\n print(e)"
        env = {**os.environ, "TUNE_PROGRAM": os.path.abspath("says")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        self.assertEqual(done.stderr.splitlines()[0], "tune: the tracker is out of reach")
        self.assertEqual(done.stdout, "the tracker is out of reach\nno such thing\n")

    def test_many_words_do_not_hold_the_run_up(self):
        """More than a pipe holds, in lines: a reader that paused at each would take an hour."""
        with open("says", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nyes 'tune: a line of a log that is passed over' | head -n 4000 >&2\nexit 1\n")
        os.chmod("says", 0o755)
        code = "import tune\ntry:\n tune.run('x')\nexcept tune.TuneError as e:\n print(str(e).count('that'))"
        env = {**os.environ, "TUNE_PROGRAM": os.path.abspath("says")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "20\n", done.stderr)  # the last ones


class Links(unittest.TestCase):
    ASK = b'{"event":"ask","n":1}\n'

    def test_one_whose_searcher_raised_ends_though_nobody_reads_the_rest(self):
        def handle(link, message):
            raise ZeroDivisionError("mine")

        link = _search.Link(handle, lambda: None)
        link.start()
        pipe = os.open(link._paths[0], os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, self.ASK)
        link._thread.join(10)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(pipe, bytes(4096))
        os.close(pipe)
        closing = threading.Thread(target=link.close, daemon=True)
        closing.start()
        closing.join(10)
        self.assertFalse(closing.is_alive())
        self.assertIsInstance(link.error, ZeroDivisionError)

    def test_an_answer_after_the_end_goes_nowhere(self):
        asked, over = threading.Event(), threading.Event()

        def handle(link, message):
            asked.set()
            over.wait(10)
            link.answer([{"a": 1}])

        link = _search.Link(handle, lambda: None)
        link.start()
        os.write(link._questions, self.ASK)
        self.assertTrue(asked.wait(10))
        wait, _search.END_S = _search.END_S, 0.05
        link.close()
        _search.END_S = wait
        ends = [end for _ in range(4) for end in os.pipe()]  # they have the link's numbers now
        over.set()
        link._thread.join(10)
        self.assertIsNone(link.error)
        self.assertEqual(select.select(ends[::2], [], [], 0)[0], [])
        for end in ends:
            os.close(end)


class Farm:
    """A tracker and an agent that answers from a recording, on 127.0.0.1."""

    def __enter__(self):
        self.children = []
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        folder = os.path.dirname(tune.program())
        self.said = open("tracker.said", "w+", encoding="utf-8")
        tracker = [os.path.join(folder, "tune-tracker"), "--listen", "tcp://127.0.0.1:0", "--store", "store"]
        self.children.append(subprocess.Popen(tracker, stdout=self.said, stderr=subprocess.STDOUT))
        self.url = ""
        for _ in range(200):
            with open("tracker.said", encoding="utf-8") as f:
                found = re.search(r"listening on (tcp:\S+)", f.read())
            if found:
                self.url = found.group(1)
                break
            time.sleep(0.05)
        agent = [os.path.join(folder, "tune-agent"), "--tracker", self.url, "--key", "rec", "--device", REPLAY]
        self.children.append(subprocess.Popen(agent, stdout=self.said, stderr=subprocess.STDOUT))
        for _ in range(200):
            if "rec" in tune.call("devices", "--json", "--tracker", self.url):
                return self.url
            time.sleep(0.05)
        raise AssertionError("the agent does not register")

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        self.said.close()


class Jobs(unittest.TestCase):
    def test_a_job_is_submitted_followed_and_cancelled(self):
        with Farm() as url:
            job = tune.submit(device=REPLAY, key="rec", trials=12, strategy="random", tracker=url)
            events = []
            run = job.attach("job.jsonl", callback=events.append)
            self.assertEqual(sum(r["purpose"] == "search" for r in run.records), 12)
            self.assertEqual(run.done["end"], "done")
            self.assertGreaterEqual(sum(e["event"] in ("measured", "best") for e in events), 12)
            self.assertIn("best", [e["event"] for e in events])  # also of what has no FLOPs
            self.assertEqual(job.status()["state"], "done")
            other = tune.submit(device=REPLAY, key="none", trials=12, tracker=url)
            other.pause()
            other.resume()
            other.cancel()
            states = {j["job"]: j["state"] for j in tune.jobs(tracker=url)}
            self.assertEqual(states, {job.id: "done", other.id: "cancelled"})
            with self.assertRaisesRegex(tune.TuneError, "a submitted job has none"):
                tune.submit(device=REPLAY, strategy="exec:true", tracker=url)


class Wheel(unittest.TestCase):
    def test_the_same_tree_gives_the_same_wheel(self):
        made = []
        for folder in ("one", "two"):
            script = os.path.join(ROOT, "bindings", "python", "build_wheel.py")
            path = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=True).stdout
            with open(path.strip(), "rb") as f:
                made.append(f.read())
        self.assertEqual(made[0], made[1])
        names = zipfile.ZipFile(path.strip()).namelist()
        self.assertIn("tune/py.typed", names)
        self.assertIn("tune/library.py", names)

    def test_its_version_is_that_of_the_programs(self):
        said = subprocess.run([tune.program(), "--version"], capture_output=True, text=True).stdout
        self.assertIn(tune.__version__, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
