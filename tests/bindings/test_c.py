# SPDX-License-Identifier: MIT
"""tune_kernel on functions of C and C++, on this machine's compilers."""
import os
import shutil
import unittest

import numpy as np

import tune

# The sum of two arrays by blocks of B; B == 3 is wrong by one, B == 5 does not compile, B == 7 ends in a fault.
SOURCE = """
#if B == 5
#error five
#endif
void add(const float *a, const float *b, float *c, int n)
{
    for (int i = 0; i < n; i += B)
        for (int k = i; k < i + B && k < n; k++)
            c[k] = a[k] + b[k] + (B == 3);
    if (B == 7)
        *(volatile int *)0 = n;
}
"""
N = 20000
RNG = np.random.default_rng(1)
A, B = RNG.random(N, dtype=np.float32), RNG.random(N, dtype=np.float32)
ARGS = [A, B, np.zeros(N, np.float32), np.int32(N)]
FAST = {"min_repeat_ms": 1, "iterations": 1, "quiet": True, "strategy": "brute_force"}

TYPES = {
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long", "float32": "float", "float64": "double",
    "float16": "_Float16",
}


def tuned(source=SOURCE, values=(1, 3, 4, 5, 7), **more):
    more = {"lang": "C", "answer": [None, None, A + B, None], **FAST, **more}
    return tune.tune_kernel("add", source, N, ARGS, {"B": list(values)}, **more)


class C(unittest.TestCase):
    def test_configs_are_checked_and_what_fails_says_why(self):
        results, env = tuned()
        found = {r["B"]: r for r in results}
        self.assertEqual({b: r["status"] for b, r in found.items()}, {1: "ok", 3: "wrong", 4: "ok", 5: "compile", 7: "crash"})
        self.assertIn("five", found[5]["why"])
        self.assertIn("kernel.c:3", found[5]["why"])
        self.assertIn("expected", found[3]["why"])
        self.assertIn(env["best_config"]["B"], (1, 4))
        self.assertEqual(env["device"]["api"], "c")

    def test_without_lang_a_function_is_c(self):
        results, _ = tuned(lang=None, values=[1])
        self.assertEqual([r["status"] for r in results], ["ok"])

    def test_out_of_bounds_is_told_by_argument(self):
        for reads, words in (("c[n + 1] = 0;", "c|arg2"), ("c[0] += a[n + 40000] * 0;", "arg0")):
            results, _ = tuned(SOURCE.replace("if (B == 7)", reads + " if (B == 7)"), values=[1])
            self.assertNotEqual(results[0]["status"], "ok", reads)
            self.assertRegex(results[0]["why"], words)

    def test_scalars_and_arrays_of_every_type_arrive(self):
        """In C and, but for half, in C++."""
        for lang, types in (("C", TYPES), ("C++", {t: c for t, c in TYPES.items() if t != "float16"})):
            values = [np.dtype(t).type(-5 if t.startswith(("int", "float")) else 250) for t in types]
            arrays = [np.array([v, 0], v.dtype) for v in values]
            parameters = [f"{c} v{i}, {c} *x{i}" for i, c in enumerate(types.values())]
            body = " ".join(f"y[{i}] = (double)v{i} + (v{i} == x{i}[0]);" for i in range(len(types)))
            source = f"void f(double *y, {', '.join(parameters)}) {{ {body} }}"
            args, answer = [np.zeros(len(types))], [np.array([float(v) + 1 for v in values])]
            for v, array in zip(values, arrays):
                array.flags.writeable = False
                args += [v, array]
                answer += [None, None]
            with self.subTest(lang):
                results, _ = tune.tune_kernel("f", source, 1, args, {"P": [1]}, answer=answer, lang=lang, **FAST)
                self.assertEqual((results[0]["status"], results[0].get("why")), ("ok", None))

    def test_a_function_may_tell_its_time(self):
        told = SOURCE.replace("void add", "float add").replace("if (B == 7)", "return B * 0.002f; if (B == 7)")
        results, _ = tuned(told, values=[1, 2])
        self.assertEqual({r["B"]: round(r["time"], 6) for r in results}, {1: 0.002, 2: 0.004})
        results, _ = tuned(told.replace("0.002f", "1e6f"), values=[1])
        self.assertEqual(results[0]["status"], "runtime")
        self.assertIn("expected its time in ms", results[0]["why"])
        results, _ = tuned(told.replace("float add", "int add"), values=[1])
        self.assertEqual(results[0]["status"], "compile")
        self.assertIn("expected a function of void, or of float or double: its time in ms", results[0]["why"])

    def test_arrays_of_rows_and_macros_are_as_in_c(self):
        source = "void f(int n, const double x[][COLS], double y[][COLS]) { for (int i = 0; i < grid_size_x; i++) for (int j = 0; j < COLS; j++) y[i][j] = 2 * x[i][j]; }"
        x = RNG.random((12, 8))
        args = [np.int32(12), x, np.zeros_like(x)]
        more = {"lang": "C", "defines": {"COLS": 8}, "answer": [None, None, 2 * x], **FAST}
        results, _ = tune.tune_kernel("f", source, 12, args, {"P": [1, 2]}, grid_div_x=[], **more)
        self.assertEqual([r["status"] for r in results], ["ok"] * 2)

    def test_what_a_function_does_not_take_is_told(self):
        for bad in ("void add(const float *a) {}", "static int other;\n"):
            results, _ = tuned(bad, values=[1])
            self.assertEqual(results[0]["status"], "compile", bad)
            self.assertRegex(results[0]["why"], "too many arguments|add")

    def test_cxx_of_kernel_tuners_scripts(self):
        if not shutil.which("g++"):
            self.skipTest("no g++")
        source = """
        #include <chrono>
        extern "C" float add(float *a, float *b, float *c, int n)
        {
            auto start = std::chrono::steady_clock::now();
            #pragma omp parallel for num_threads(THREADS)
            for (int i = 0; i < n; i++)
                c[i] = a[i] + b[i];
            std::chrono::duration<float, std::milli> ms = std::chrono::steady_clock::now() - start;
            return ms.count();
        }
        """
        params = {"THREADS": [1, 2]}
        more = {"lang": "C", "answer": [None, None, A + B, None], "compiler_options": ["-O3", "-fopenmp"], **FAST}
        results, _ = tune.tune_kernel("add", source, N, ARGS, params, **more)
        self.assertEqual([r["status"] for r in results], ["ok"] * 2)
        self.assertTrue(all(0 < r["time"] < 1000 for r in results))

    def test_compilers_are_chosen_by_name(self):
        for name in ("gcc", "clang"):
            if shutil.which(name):
                _, env = tuned(values=[1], compiler=name)
                self.assertTrue(env["device"]["name"].startswith(name + ","), env["device"])
        with self.assertRaisesRegex(tune.TuneError, "no C compiler 'nonesuch'"):
            tuned(values=[1], compiler="nonesuch")
        with self.assertRaisesRegex(TypeError, "compiler: with lang='C'"):
            tune.tune_kernel("k", "__kernel void k() {}", 1, [], {"P": [1]}, compiler="gcc")
        path = os.environ["PATH"]
        os.environ["PATH"] = os.getcwd()
        try:
            with self.assertRaisesRegex(tune.TuneError, "no C compiler: none of gcc, clang, cc is in"):
                tuned(values=[1])
        finally:
            os.environ["PATH"] = path

    def test_what_there_is_not_is_refused(self):
        with self.assertRaisesRegex(tune.TuneError, "SharedMemory: a function of C has none"):
            tuned(smem_args={"size": 64})
        with self.assertRaisesRegex(tune.TuneError, "Symbol is CUDA's"):
            tuned(cmem_args={"q": np.zeros(4, np.float32)})

    def test_a_reference_and_a_verify_function(self):
        with open("right.c", "w", encoding="utf-8") as f:
            f.write("void right(const float *a, const float *b, float *c, int n) { while (n--) c[n] = a[n] + b[n]; }")
        right = {"KernelFile": os.path.abspath("right.c"), "KernelName": "right"}
        results, _ = tuned(answer=None, reference=right, values=[1, 3])
        self.assertEqual({r["B"]: r["status"] for r in results}, {1: "ok", 3: "wrong"})
        results, _ = tuned(values=[1, 3], verify=lambda answer, outputs: np.allclose(answer[2], outputs[2]))
        self.assertEqual({r["B"]: r["status"] for r in results}, {1: "ok", 3: "wrong"})

    def test_cxx_of_templates_and_namespaces_is_verified_and_run(self):
        if not shutil.which("g++"):
            self.skipTest("no g++")
        source = """
        #include <vector>
        namespace { template <class T> T sum(T a, T b) { return a + b; } }
        static void add(const float *a, const float *b, float *c, int n)
        {
            std::vector<float> all(n);
            for (int i = 0; i < n; i++)
                all[i] = sum<float>(a[i], b[i]) + (B == 3);
            for (int i = 0; i < n; i++)
                c[i] = all[i];
        }
        """
        right = [None, None, A + B, None]
        results, _ = tuned(source, values=[1, 3], verify=lambda answer, outputs: np.allclose(answer[2], outputs[2]))
        self.assertEqual({r["B"]: r["status"] for r in results}, {1: "ok", 3: "wrong"})
        outputs = tune.run_kernel("add", source, N, ARGS, {"B": 1})
        np.testing.assert_array_equal(outputs[2], right[2])
        with self.assertRaisesRegex(tune.TuneError, "no C compiler: none of nonesuch"):
            tune.run_kernel("add", source, N, ARGS, {"B": 1}, compiler="nonesuch")


if __name__ == "__main__":
    unittest.main(verbosity=2)
