# SPDX-License-Identifier: MIT
"""Three kernels in OpenCL with some hundred configs each, as calls that either package's tune_kernel takes as they are."""
import os

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
RNG = np.random.default_rng(7)


def random(*shape):
    return RNG.random(shape, dtype=np.float32)


def matmul():
    n = 256
    a, b = random(n, n), random(n, n)
    return dict(
        kernel_name="matmul",
        kernel_source=os.path.join(ROOT, "examples/kernel_spec/matmul.cl"),
        problem_size=(n, n),
        arguments=[a, b, np.zeros((n, n), np.float32), *[np.int32(n)] * 3],
        tune_params={
            "BX": [1, 2, 4, 8, 16, 32],
            "BY": [1, 2, 4, 8, 16, 32],
            "WPT_X": [1, 2, 4, 8, 16],
            "WPT_Y": [1, 2, 4, 8],
            "UNROLL": [1, 2, 4, 8, 16],
            "STAGE": [0, 1],
        },
        block_size_names=["BX", "BY"],
        grid_div_x=["BX", "WPT_X"],
        grid_div_y=["BY", "WPT_Y"],
        restrictions=["1 < BX * BY <= 256", "BX * WPT_X <= 256", "BY * WPT_Y <= 256", "STAGE == 0 or BX * BY <= 64"],
        answer=[None, None, a @ b, None, None, None],
        atol=1e-2,
    )


def convolution():
    """A picture by a filter of 5 x 5, with a margin around it; a tile of it for each work-item."""
    w, h, f = 512, 512, 5
    picture, weights = random(h + f - 1, w + f - 1), random(f, f)
    right = sum(picture[i : i + h, j : j + w] * weights[i, j] for i in range(f) for j in range(f))
    source = """
    __kernel void convolution(__global float *out, __global const float *in, __constant float *weights)
    {
        const int x0 = get_group_id(0) * BX * TX + get_local_id(0) * (STEP ? 1 : TX);
        const int y0 = get_group_id(1) * BY * TY + get_local_id(1);
        float sum[TY][TX];

        for (int r = 0; r < TY; r++)
            for (int c = 0; c < TX; c++) {
                sum[r][c] = 0;
                for (int i = 0; i < 5; i++)
                    for (int j = 0; j < 5; j++)
                        sum[r][c] += in[(y0 + r * BY + i) * 516 + x0 + c * (STEP ? BX : 1) + j] * weights[i * 5 + j];
            }
        for (int r = 0; r < TY; r++)
            for (int c = 0; c < TX; c++)
                out[(y0 + r * BY) * 512 + x0 + c * (STEP ? BX : 1)] = sum[r][c];
    }
    """
    return dict(
        kernel_name="convolution",
        kernel_source=source,
        problem_size=(w, h),
        arguments=[np.zeros((h, w), np.float32), picture, weights],
        tune_params={
            "BX": [1, 4, 8, 16, 32, 64, 128],
            "BY": [1, 2, 4, 8],
            "TX": [1, 2, 4, 8],
            "TY": [1, 2, 4, 8],
            "STEP": [0, 1],
        },
        block_size_names=["BX", "BY"],
        grid_div_x=["BX", "TX"],
        grid_div_y=["BY", "TY"],
        restrictions=["BX * BY <= 256", "BX * TX <= 512"],
        answer=[right, None, None],
        atol=1e-3,
    )


def reduction():
    """256 sums of 4096 numbers each, by a work-group."""
    n, each = 256, 4096
    x = random(n, each)
    source = """
    #define CAT(a, b) a##b
    #define VECTOR(n) CAT(float, n)
    #define LOAD(n) CAT(vload, n)
    __kernel void reduction(__global float *sums, __global const float *x)
    {
        __local float part[BX * VEC];
        const int t = get_local_id(0);
        __global const float *from = x + get_group_id(0) * 4096;
        VECTOR(VEC) sum[CHAINS];

        for (int c = 0; c < CHAINS; c++)
            sum[c] = 0;
        for (int i = t; i < 4096 / VEC; i += BX * CHAINS)
            for (int c = 0; c < CHAINS; c++)
                sum[c] += LOAD(VEC)(i + c * BX, from);
        for (int c = 1; c < CHAINS; c++)
            sum[0] += sum[c];
        CAT(vstore, VEC)(sum[0], t, part);
        for (int half_of = BX * VEC / 2; half_of > 0; half_of /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (TREE)
                for (int i = t; i < half_of; i += BX)
                    part[i] += part[i + half_of];
        }
        if (t == 0) {
            float all = part[0];
            for (int i = 1; !TREE && i < BX * VEC; i++)
                all += part[i];
            sums[get_group_id(0)] = all;
        }
    }
    """
    return dict(
        kernel_name="reduction",
        kernel_source=source,
        problem_size=n,
        arguments=[np.zeros(n, np.float32), x],
        tune_params={"BX": [1, 2, 4, 8, 16, 32, 64, 128, 256], "VEC": [2, 4, 8, 16], "CHAINS": [1, 2, 4, 8], "TREE": [0, 1]},
        block_size_names=["BX"],
        grid_div_x=[],
        restrictions=["BX * VEC * CHAINS <= 4096"],
        answer=[x.sum(1), None],
        atol=1e-1,
    )


ALL = {"matmul": matmul, "convolution": convolution, "reduction": reduction}
