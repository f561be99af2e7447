# SPDX-License-Identifier: MIT
"""libtune's plans and networks on numpy arrays, against numpy."""
import hashlib
import json
import os
import shutil
import threading
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
                ("x: \\(40, 16\\) float32, expected \\(16, 40\\)", lambda: plan(X.T, weights=plan.pack(W))),
                ("0 weights, expected w", lambda: plan.pack()),
                ("no record", lambda: t.plan("dense f32 m=99 n=24 k=40", library.RECORDED)),
            ):
                with self.subTest(words), self.assertRaisesRegex((ValueError, library.Failure), words):
                    call()
        with self.assertRaises(library.Failure) as failed:
            library.open_cl("none.jsonl")
        self.assertEqual(failed.exception.status, 8)  # TUNE_NO_LOG


B = RNG.random(24, dtype=np.float32)
GRAPH = "x = input shape=16,40\nh = dense x n=24 relu\ny = softmax h\n"


def expected(x):
    logits = np.maximum(x.astype(np.float64) @ W.T + B, 0)
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Networks(unittest.TestCase):
    """A network out of the folder that tune deploy has written."""

    @classmethod
    def setUpClass(cls):
        tune.run(WORKLOAD, trials=2, repeat=1, min_repeat_ms=1, output="net.jsonl", threads=1)
        with open("net.graph", "w", encoding="ascii") as f:
            f.write(GRAPH)
        os.makedirs("weights", exist_ok=True)
        with open("weights/weights.bin", "wb") as f:
            f.write(W.tobytes() + B.tobytes())
        with open("weights/weights.txt", "w", encoding="ascii") as f:
            f.write(f"h w 0 {W.nbytes}\nh bias {W.nbytes} {B.nbytes}\n")
        tune.call("deploy", "net.best.jsonl", "--network", "net.graph", "--whole", "--allow-nearest", "-o", "bundle")
        tune.call("deploy", "net.best.jsonl", "-o", "layers")

    def test_a_bundle_is_run_on_arrays(self):
        with library.open_network("bundle", weights="weights") as net:
            self.assertEqual((net.name, net.n_steps), ("net", 2))
            tensors = [("x", "input", "f32", (16, 40)), ("y", "output", "f32", (16, 24))]
            self.assertEqual([(t.name, t.role, t.dtype, t.shape) for t in net.tensors], tensors)
            self.assertEqual([(t.name, t.shape) for t in net.weights], [("h w", (24, 40)), ("h bias", (24,))])
            np.testing.assert_allclose(net(X)[0], expected(X), rtol=1e-4)
            net.set_weight("h w", np.zeros_like(W))
            net.set_weight("h bias", np.zeros_like(B))  # the layer has all of its weights: from now on it gives these
            np.testing.assert_allclose(net(X)[0], np.full((16, 24), 1 / 24), rtol=1e-5)

    def test_several_threads_run_one_network(self):
        wrong = []
        with library.open_network("bundle", weights="weights") as net:

            def use(seed):
                for _ in range(8):
                    x = np.random.default_rng(seed).random((16, 40), dtype=np.float32)
                    if not np.allclose(net(x)[0], expected(x), rtol=1e-4):
                        wrong.append(seed)

            threads = [threading.Thread(target=use, args=(i,)) for i in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(wrong, [])

    def refused(self, status, words, call):
        with self.subTest(words), self.assertRaisesRegex(library.Failure, words) as failed:
            call()
        self.assertEqual(failed.exception.status, status)

    def test_what_is_missing_is_told(self):
        with library.open_network("bundle") as net:
            self.refused(6, "weights of layer h are missing", lambda: net(X))
            self.refused(5, "weights.txt and weights.bin", lambda: net.load_weights("nowhere"))
            shutil.copytree("weights", "wrong")
            for line, words in (
                ("h w 0 99999999999999", "no 99999999999999 bytes at 0, which h w is to have"),
                (f"h w {W.nbytes} {W.nbytes}", "no 3840 bytes at 3840"),
                (f"h w 0 {W.nbytes} more", f"not 'h w 0 {W.nbytes} more'"),
                ("h w 0 -1", "no 18446744073709551615 bytes"),
            ):
                with open("wrong/weights.txt", "w", encoding="ascii") as f:
                    f.write(line + "\n")
                self.refused(5, words, lambda: net.load_weights("wrong"))
            with self.assertRaisesRegex(ValueError, "no weight h v; there are h w, h bias"):
                net.set_weight("h v", W)
            with self.assertRaisesRegex(ValueError, "0 inputs, expected x"):
                net()
            self.refused(5, "1 buffers given, expected 2", lambda: net.enqueue([1]))
            self.refused(5, "x: expected an OpenCL buffer of 2560 bytes", lambda: net.enqueue([None, None]))
        self.refused(8, "No such file", lambda: library.open_network("nowhere"))
        self.refused(8, "no whole network", lambda: library.open_network("layers"))

    def spoilt(self, change):
        """A copy of the bundle whose plan.json is changed, and listed so."""
        shutil.rmtree("spoilt", ignore_errors=True)
        shutil.copytree("bundle", "spoilt")
        with open("spoilt/plan.json", encoding="utf-8") as f:
            plan = json.load(f)
        change(plan)
        text = json.dumps(plan).encode()
        with open("spoilt/plan.json", "wb") as f:
            f.write(text)
        with open("spoilt/manifest.json", encoding="utf-8") as f:
            manifest = json.load(f)
        for entry in manifest["files"]:
            if entry["path"] == "plan.json":
                entry["sha256"] = hashlib.sha256(text).hexdigest()
        with open("spoilt/manifest.json", "w", encoding="utf-8") as f:
            json.dump(manifest, f)
        return lambda: library.open_network("spoilt")

    def test_a_spoilt_bundle_is_refused(self):
        def of(path, value):
            def change(plan):
                at = plan["network"]
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = value

            return change

        for words, change in (
            ("larger than its memory", of(["values", 0, "bytes"], 1 << 30)),
            ("'slot' is 77", of(["values", 1, "slot"], 77)),
            ("names a value that is not there", of(["steps", 0, "values"], [0, 99])),
            ("other values than its program", of(["steps", 0, "values"], [0])),
            ("other values than its program", of(["steps", 0, "values"], [1, 1])),
            ("program", of(["steps", 0, "program"], 5)),
            ("a slot of no size", of(["slots", 0], -1)),
            ("a shape that is none", of(["arguments", 0, "shape"], [0])),
        ):
            self.refused(8, words, self.spoilt(change))
        shutil.rmtree("spoilt", ignore_errors=True)
        shutil.copytree("bundle", "spoilt")
        with open("spoilt/plan.json", "a", encoding="utf-8") as f:
            f.write(" ")
        self.refused(8, "not the one that manifest.json lists", lambda: library.open_network("spoilt"))
        self.spoilt(lambda plan: None)
        kernels = sorted(os.listdir("spoilt/kernels"))
        with open(os.path.join("spoilt/kernels", kernels[0]), "a", encoding="utf-8") as f:
            f.write("\n")
        self.refused(8, "another text than the one that was written", lambda: library.open_network("spoilt"))

    def test_a_bundle_of_another_device_is_refused(self):
        self.spoilt(lambda plan: None)
        with open("spoilt/manifest.json", encoding="utf-8") as f:
            manifest = json.load(f)
        manifest["layers"][0]["fingerprint"] = "ab" * 32
        with open("spoilt/manifest.json", "w", encoding="utf-8") as f:
            json.dump(manifest, f)
        self.refused(7, "any_device was not asked for", lambda: library.open_network("spoilt"))
        with library.open_network("spoilt", weights="weights", any_device=True) as net:
            np.testing.assert_allclose(net(X)[0], expected(X), rtol=1e-4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
