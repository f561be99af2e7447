# SPDX-License-Identifier: MIT
"""Four tuning scripts as users of Kernel Tuner write them, in OpenCL: each is a call that either package's tune_kernel
takes as it is. A script returns the keywords of the call; some config of each is slow, none is wrong."""
import numpy as np

RNG = np.random.default_rng(7)


def vector_add():
    n = 100_000
    a, b = RNG.random(n, dtype=np.float32), RNG.random(n, dtype=np.float32)
    source = """
    __kernel void vector_add(__global float *c, __global const float *a, __global const float *b, int n)
    {
        const int i = get_group_id(0) * block_size_x + get_local_id(0);
        if (i < n)
            c[i] = a[i] + b[i];
    }
    """
    return dict(
        kernel_name="vector_add",
        kernel_source=source,
        problem_size=n,
        arguments=[np.zeros_like(a), a, b, np.int32(n)],
        tune_params={"block_size_x": [32, 128, 192]},
        answer=[a + b, None, None, None],
    )


def convolution():
    """A picture of 256 x 128 by a filter of 5 x 3, with a margin around it; a tile of it for each work-item."""
    w, h, fw, fh = 256, 128, 5, 3
    picture, weights = RNG.random((h + fh - 1, w + fw - 1), dtype=np.float32), RNG.random((fh, fw), dtype=np.float32)
    right = sum(picture[i : i + h, j : j + w] * weights[i, j] for i in range(fh) for j in range(fw))
    source = """
    #define BLOCK_ROWS (block_size_y * tile_size_y)
    #define BLOCK_COLUMNS (block_size_x * tile_size_x)
    __kernel void convolution(__global float *out, __global const float *in, __constant float *filter)
    {
        for (int r = get_local_id(1); r < BLOCK_ROWS; r += block_size_y)
            for (int c = get_local_id(0); c < BLOCK_COLUMNS; c += block_size_x) {
                const int y = get_group_id(1) * BLOCK_ROWS + r, x = get_group_id(0) * BLOCK_COLUMNS + c;
                float sum = 0;
                for (int i = 0; i < filter_h; i++)
                    for (int j = 0; j < filter_w; j++)
                        sum += in[(y + i) * (image_w + filter_w - 1) + x + j] * filter[i * filter_w + j];
                if (x < image_w && y < image_h)
                    out[y * image_w + x] = sum;
            }
    }
    """
    return dict(
        kernel_name="convolution",
        kernel_source=source,
        problem_size=(w, h),
        arguments=[np.zeros((h, w), np.float32), picture, weights],
        tune_params={
            "block_size_x": [16, 32],
            "block_size_y": [1, 4],
            "tile_size_x": [1, 4],
            "tile_size_y": [2],
            "image_w": [w],
            "image_h": [h],
            "filter_w": [fw],
            "filter_h": [fh],
        },
        grid_div_x=["block_size_x", "tile_size_x"],
        grid_div_y=["block_size_y", "tile_size_y"],
        restrictions=["block_size_x * block_size_y >= 32"],
        answer=[right, None, None],
        atol=1e-4,
        metrics={"GFLOP/s": lambda p: 2 * w * h * fw * fh / p["time"] / 1e6},
    )


def matmul():
    """Square matrices; a work-group goes along them in steps of its width, through local memory."""
    n = 128
    a, b = RNG.random((n, n), dtype=np.float32), RNG.random((n, n), dtype=np.float32)
    source = f"#define SIZE {n}" + """
    #define ROWS (block_size_y * tile_size_y)
    __kernel void matmul(__global float *c, __global const float *a, __global const float *b)
    {
        __local float part[ROWS][block_size_x];
        const int tx = get_local_id(0), ty = get_local_id(1), row = get_group_id(1) * ROWS;
        const int column = get_group_id(0) * block_size_x * tile_size_x + tx;
        float sum[tile_size_y][tile_size_x] = {{0}};

        for (int from = 0; from < SIZE; from += block_size_x) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = ty; i < ROWS; i += block_size_y)
                part[i][tx] = a[(row + i) * SIZE + from + tx];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < block_size_x; k++)
                for (int i = 0; i < tile_size_y; i++)
                    for (int j = 0; j < tile_size_x; j++)
                        sum[i][j] += part[ty + i * block_size_y][k] * b[(from + k) * SIZE + column + j * block_size_x];
        }
        for (int i = 0; i < tile_size_y; i++)
            for (int j = 0; j < tile_size_x; j++)
                c[(row + ty + i * block_size_y) * SIZE + column + j * block_size_x] = sum[i][j];
    }
    """
    return dict(
        kernel_name="matmul",
        kernel_source=source,
        problem_size=(n, n),
        arguments=[np.zeros((n, n), np.float32), a, b],
        tune_params={"block_size_x": [16, 32], "block_size_y": [8, 16], "tile_size_x": [1, 2], "tile_size_y": [1, 2]},
        grid_div_x=["block_size_x", "tile_size_x"],
        grid_div_y=["block_size_y", "tile_size_y"],
        restrictions=["block_size_x == block_size_y * tile_size_y"],
        answer=[(a.astype(np.float64) @ b).astype(np.float32), None, None],
        atol=1e-3,
        metrics={"GFLOP/s": lambda p: 2 * n**3 / p["time"] / 1e6},
    )


def reduction():
    """Sums of as many parts as there are work-groups, whose number is a parameter; a function adds them up and judges."""
    n = 200_000
    x = RNG.random(n, dtype=np.float32)
    source = """
    __kernel void reduction(__global float *sums, __global const float *x, int n)
    {
        __local float part[block_size_x];
        const int t = get_local_id(0);
        float sum = 0;

        for (int i = get_group_id(0) * block_size_x + t; i < n; i += block_size_x * grid_size_x)
            sum += x[i];
        part[t] = sum;
        for (int half_of = block_size_x / 2; half_of > 0; half_of /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (t < half_of)
                part[t] += part[t + half_of];
        }
        if (t == 0)
            sums[get_group_id(0)] = part[0];
    }
    """
    return dict(
        kernel_name="reduction",
        kernel_source=source,
        problem_size="num_blocks",
        arguments=[np.zeros(64, np.float32), x, np.int32(n)],
        tune_params={"block_size_x": [64, 128], "num_blocks": [4, 16, 64]},
        grid_div_x=[],
        answer=[np.array([x.sum(dtype=np.float64)]), None, None],
        verify=lambda right, out, atol=None: np.isclose(right[0][0], out[0].sum(dtype=np.float64), rtol=1e-4),
        metrics={"GB/s": "4 * 200000 / time / 1e6"},
    )
