/* SPDX-License-Identifier: MIT */
/* network_cuda - runs the CUDA bundle "net" of a network x -> dense 24, relu -> dense 10 -> softmax, 4 rows of 16, as
 * one call, against sums in double: several times over the same buffers and over others, with new weights, on two
 * streams, and into a stream that is captured, which --plain leaves out. Exit 0 when all is right. */
#include "net.h"

#include "tests/cuda/driver_api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 4, K = 16, N = 24, C = 10 };

static float w1[N][K], b1[N], w2[C][N], b2[C];

static void must(int e, const char *what)
{
    if (e != 0) {
        fprintf(stderr, "%s: %d %s\n", what, e, net_words());
        exit(1);
    }
}

static void fill(float *v, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)(seed >> 16) / 65536.0F - 0.5F;
    }
}

static void give_weights(CUstream stream, unsigned seed)
{
    fill(&w1[0][0], sizeof w1 / sizeof(float), seed);
    fill(b1, N, seed + 1);
    fill(&w2[0][0], sizeof w2 / sizeof(float), seed + 2);
    fill(b2, C, seed + 3);
    must(net_set_weights(stream, "h", "w", w1, sizeof w1), "h w");
    must(net_set_weights(stream, "h", "bias", b1, sizeof b1), "h bias");
    must(net_set_weights(stream, "f", "w", w2, sizeof w2), "f w");
    must(net_set_weights(stream, "f", "bias", b2, sizeof b2), "f bias");
}

static void expect(const float x[M][K], int row, double y[C])
{
    double h[N], sum = 0;
    for (int n = 0; n < N; n++) {
        h[n] = (double)b1[n];
        for (int k = 0; k < K; k++) {
            h[n] += (double)x[row][k] * (double)w1[n][k];
        }
        h[n] = fmax(h[n], 0);
    }
    for (int c = 0; c < C; c++) {
        y[c] = (double)b2[c];
        for (int n = 0; n < N; n++) {
            y[c] += h[n] * (double)w2[c][n];
        }
        sum += exp(y[c]);
    }
    for (int c = 0; c < C; c++) {
        y[c] = exp(y[c]) / sum;
    }
}

static void check(CUstream stream, CUdeviceptr out, const float x[M][K], const char *what)
{
    float y[M][C];
    must(cuStreamSynchronize(stream), "cuStreamSynchronize");
    must(cuMemcpyDtoH_v2(y, out, sizeof y), "cuMemcpyDtoH");
    for (int row = 0; row < M; row++) {
        double right[C];
        expect(x, row, right);
        for (int c = 0; c < C; c++) {
            if (!(fabs((double)y[row][c] - right[c]) < 1e-5)) {
                fprintf(stderr, "%s: y[%d][%d] is %g, expected %g\n", what, row, c, (double)y[row][c], right[c]);
                exit(1);
            }
        }
    }
}

static void run(CUstream stream, CUdeviceptr in, CUdeviceptr out, unsigned seed, const char *what)
{
    float x[M][K];
    fill(&x[0][0], sizeof x / sizeof(float), seed);
    must(cuMemcpyHtoD_v2(in, x, sizeof x), "cuMemcpyHtoD");
    must(cuMemsetD8_v2(out, 0xff, sizeof(float) * M * C), "cuMemsetD8");
    must(net_run(stream, in, out), "net_run");
    check(stream, out, (const float(*)[K])x, what);
}

/* The caller's own graph has the launches in it. */
static void run_captured(CUstream stream, CUdeviceptr in, CUdeviceptr out)
{
    CUgraph graph = NULL;
    CUgraphExec replayed = NULL;
    float x[M][K];
    must(cuStreamBeginCapture_v2(stream, 2), "cuStreamBeginCapture");
    must(net_run(stream, in, out), "net_run into a capture");
    must(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    must(cuGraphInstantiateWithFlags(&replayed, graph, 0), "cuGraphInstantiate");
    fill(&x[0][0], sizeof x / sizeof(float), 77);
    must(cuMemcpyHtoD_v2(in, x, sizeof x), "cuMemcpyHtoD");
    must(cuGraphLaunch(replayed, stream), "cuGraphLaunch");
    check(stream, out, (const float(*)[K])x, "a graph of the caller's");
    must(cuGraphExecDestroy(replayed), "cuGraphExecDestroy");
    must(cuGraphDestroy(graph), "cuGraphDestroy");
}

int main(int argc, char **argv)
{
    (void)argv;
    CUcontext context = NULL;
    CUstream stream[2] = {NULL, NULL};
    CUdeviceptr in[2], out[2];
    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    for (int i = 0; i < 2; i++) {
        must(cuStreamCreate(&stream[i], 1), "cuStreamCreate");
        must(cuMemAlloc_v2(&in[i], sizeof(float) * M * K), "cuMemAlloc");
        must(cuMemAlloc_v2(&out[i], sizeof(float) * M * C), "cuMemAlloc");
    }
    must(net_init(NULL), "net_init");
    if (net_run(stream[0], in[0], out[0]) != NET_NOT_PACKED) {
        fprintf(stderr, "run without weights: %s\n", net_words());
        return 1;
    }
    give_weights(stream[0], 5);
    for (unsigned i = 0; i < 4; i++) {
        run(stream[0], in[0], out[0], 100 + i, "the same buffers");
    }
    run(stream[0], in[1], out[1], 200, "other buffers");
    run(stream[1], in[1], out[1], 201, "another stream");
    give_weights(stream[0], 50);
    run(stream[0], in[1], out[1], 202, "other weights");
    run(NULL, in[1], out[1], 203, "the default stream");
    if (argc < 2) {
        run_captured(stream[1], in[0], out[0]);
    }
    net_fini();
    puts("the network is right");
    return 0;
}
