# SPDX-License-Identifier: MIT
"""libtune's plans on numpy arrays, against numpy."""
import unittest

import numpy as np

import tune
from tune import library

WORKLOAD = "dense f32 m=16 n=24 k=40"
RNG = np.random.default_rng(2)
X, W = RNG.random((16, 40), dtype=np.float32), RNG.random((24, 40), dtype=np.float32)


class Plans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run = tune.run(WORKLOAD, trials=2, repeat=1, min_repeat_ms=1, output="dense.jsonl", threads=1)
        cls.knobs = run.best[WORKLOAD]["knobs"]

    def test_a_recorded_workload_has_its_own_config_and_the_right_result(self):
        with library.open_cl("dense.best.jsonl") as t:
            about = t.about()
            self.assertEqual((about["n_records"], about["n_bad_lines"], about["api"]), (1, 0, "opencl"))
            plan = t.plan(WORKLOAD, library.RECORDED)
            self.assertEqual((plan.choice, plan.workload, plan.flops), ("exact", WORKLOAD, 2 * 16 * 24 * 40))
            self.assertEqual(dict(k.split("=") for k in plan.knobs.split()), {k: str(v) for k, v in self.knobs.items()})
            self.assertEqual([(x.name, x.role, x.shape) for x in plan.tensors], [("x", "input", (16, 40)), ("y", "output", (16, 24))])
            weights = plan.pack(W)
            self.assertEqual(t.missing(), "")
        (y,) = plan(X, weights=weights)  # a plan lives on without its library
        np.testing.assert_allclose(y, X.astype(np.float64) @ W.T.astype(np.float64), rtol=1e-5)
        (y,) = plan(X[::-1], weights=weights)  # not contiguous: copied
        np.testing.assert_allclose(y, X[::-1].astype(np.float64) @ W.T.astype(np.float64), rtol=1e-5)

    def test_without_a_log_plans_are_defaults_and_missing(self):
        with library.open_cl() as t:
            plan = t.plan(WORKLOAD)
            self.assertEqual(plan.choice, "default")
            np.testing.assert_allclose(plan(X, weights=plan.pack(W))[0], X @ W.T, rtol=1e-4)
            self.assertIn("1 workload", t.missing())
            t.write_missing("missing.txt")
        with open("missing.txt", encoding="utf-8") as f:
            self.assertIn(WORKLOAD, f.read())

    def test_dlpack_tensors_in_host_memory_are_taken(self):
        class Foreign:  # what torch's tensors offer
            def __dlpack__(self, **given):
                return X.__dlpack__(**given)

            def __dlpack_device__(self):
                return X.__dlpack_device__()

        with library.open_cl() as t:
            plan = t.plan(WORKLOAD)
            np.testing.assert_allclose(plan(Foreign(), weights=plan.pack(W))[0], X @ W.T, rtol=1e-4)

    def test_what_cannot_be_is_told(self):
        with library.open_cl("dense.best.jsonl") as t:
            plan = t.plan(WORKLOAD)
            for words, call in (
                ("n is missing", lambda: t.plan("dense f32 m=1")),
                ("executed without weights", lambda: plan(X)),
                ("2 inputs, expected x", lambda: plan(X, W)),
                ("float64, expected", lambda: plan.pack(W.astype(np.float64))),
                ("0 weights, expected w", lambda: plan.pack()),
                ("no record", lambda: t.plan("dense f32 m=99 n=24 k=40", library.RECORDED)),
            ):
                with self.subTest(words), self.assertRaisesRegex((ValueError, library.Failure), words):
                    call()
        with self.assertRaises(library.Failure) as failed:
            library.open_cl("none.jsonl")
        self.assertEqual(failed.exception.status, 8)  # TUNE_NO_LOG


if __name__ == "__main__":
    unittest.main(verbosity=2)
