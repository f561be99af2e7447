# SPDX-License-Identifier: MIT
"""CUDA kernels from Python on the emulated driver (tests/cuda): memory of every kind, scalars of every type."""
import unittest

import numpy as np

import tune

# BUG == 1 forgets the constant memory. A half comes as its bits.
SOURCE = """
__constant__ float taps[3];
__global__ void mix(const float *x, const unsigned short *halves, float *y, signed char a, unsigned char b, short c,
                    unsigned short d, unsigned short half_bits, bool e, int n)
{
    extern __shared__ float part[];
    for (int k = 0; k < PER; k++) {
        const int i = (blockIdx.x * PER + k) * block_size_x + threadIdx.x;
        part[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        if (i < n)
            y[i] = part[block_size_x - 1 - threadIdx.x] * (BUG ? 1 : taps[0]) + taps[1] + taps[2] * halves[i] + 1000 * a + 1000 * b + c + d +
                   half_bits + 100000 * e + SHIFT;
        __syncthreads();
    }
}
"""
N = 512
X = np.arange(N, dtype=np.float32)
HALVES = np.arange(N).astype(np.float16)
TAPS = np.array([2, 0.5, 3], np.float32)
SCALARS = [np.int8(-2), np.uint8(255), np.int16(-300), np.uint16(65535), np.float16(1.5), np.bool_(True), np.int32(N)]
ARGS = [X, HALVES, np.zeros(N, np.float32), *SCALARS]
# Blocks of 64 are turned round; 1.5 as a half is 1.5 * 2^0, sign 0, exponent 15, fraction 512: 0x3e00.
TURNED = X.reshape(-1, 64)[:, ::-1].reshape(-1)
RIGHT = (TURNED * 2 + 0.5 + 3 * HALVES.view(np.uint16).astype(np.float64) - 2000 + 255000 - 300 + 65535 + 0x3E00 + 1e5 + 7).astype(np.float32)
ANSWER = [None, None, RIGHT, *[None] * 7]
PARAMS = {"block_size_x": [64], "PER": [1, 2], "BUG": [0, 1]}
SPEC = dict(
    grid_div_x=["block_size_x", "PER"],
    cmem_args={"taps": TAPS},
    smem_args={"size": lambda p: 4 * p["block_size_x"]},
    defines={"SHIFT": lambda p: 7 * p["PER"] / p["PER"]},
    answer=ANSWER,
    lang="CUDA",
)


class Cuda(unittest.TestCase):
    def test_a_kernel_is_tuned_and_a_wrong_one_told(self):
        results, env = tune.tune_kernel("mix", SOURCE, N, ARGS, PARAMS, strategy="brute_force", quiet=True, **SPEC)
        self.assertEqual({(r["PER"], r["BUG"]): r["status"] for r in results}, {(p, b): ["ok", "wrong"][b] for p in (1, 2) for b in (0, 1)})
        self.assertEqual(env["best_config"]["BUG"], 0)
        self.assertEqual(env["device"]["api"], "cuda")
        self.assertIn("arg2", [r for r in results if r["BUG"]][0]["why"])

    def test_every_piece_decides_about_the_result(self):
        for i, other in ((3, np.int8(-3)), (4, np.uint8(254)), (5, np.int16(300)), (6, np.uint16(1)), (7, np.float16(1.75)), (8, np.bool_(False)), (1, HALVES + 1)):
            args = list(ARGS)
            args[i] = other
            with self.subTest(i):
                with tune.Runner("mix", SOURCE, N, args, PARAMS, **SPEC) as run:
                    self.assertEqual(run({"block_size_x": 64, "PER": 1, "BUG": 0})["status"], "wrong")

    def test_what_cannot_be_is_told(self):
        with tune.Runner("mix", SOURCE, N, ARGS, PARAMS, **{**SPEC, "cmem_args": {"taps": np.zeros(4, np.float32)}}) as run:
            result = run({"block_size_x": 64, "PER": 1, "BUG": 0})
            self.assertIn("variable taps has 12 bytes, 16 are to go there", result["why"])
            self.assertNotEqual(result["status"], "ok")
        with self.assertRaisesRegex(tune.TuneError, "the kernel's text has no variable named tabs"):
            tune.tune_kernel("mix", SOURCE, N, ARGS, PARAMS, **{**SPEC, "cmem_args": {"tabs": TAPS}})
        with self.assertRaisesRegex(ValueError, "verify: a function is not called for CUDA kernels"):
            tune.tune_kernel("mix", SOURCE, N, ARGS, PARAMS, **{**SPEC, "verify": lambda a, b: True})


class KernelTuner(unittest.TestCase):
    def test_a_cuda_script_needs_no_cuda_package(self):
        try:
            import kernel_tuner
        except ImportError:
            self.skipTest("Kernel Tuner is not here")
        spec = {**SPEC, "defines": None}
        with tune.kernel_tuner.farm():
            results, env = kernel_tuner.tune_kernel(
                "mix", SOURCE.replace("+ SHIFT", "+ 7"), N, ARGS, PARAMS, iterations=1, quiet=True, **spec
            )
        self.assertEqual({(r["PER"], r["BUG"]): "time" in r for r in results}, {(p, b): not b for p in (1, 2) for b in (0, 1)})
        self.assertEqual(env["tune"]["device"]["api"], "cuda")


if __name__ == "__main__":
    unittest.main(verbosity=2)
