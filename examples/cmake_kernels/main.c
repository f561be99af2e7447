/* SPDX-License-Identifier: MIT */
/* perceptron - two layers whose kernels were made of a best log by this application's own build: y = w2 (w1 x), checked
 * against plain loops. Exit 0 when it is right, 1 when not. */
#include "mlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 8, K = 64, HIDDEN = 128, N = 10 };

static cl_context context;
static cl_command_queue queue;

static void stop(const char *what)
{
    fprintf(stderr, "perceptron: %s: %s\n", what, mlp_words());
    exit(1);
}

/* The first OpenCL device: mlp_init refuses it when it is not the one that the log was made on. */
static void open_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = CL_SUCCESS;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
        stop("no OpenCL device");
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    queue = code == CL_SUCCESS ? clCreateCommandQueue(context, device, 0, &code) : NULL;
    if (code != CL_SUCCESS) {
        stop("no OpenCL context");
    }
    if (mlp_init(context, device) != MLP_OK) {
        stop("mlp_init");
    }
}

static cl_mem buffer(const float *content, size_t n)
{
    const cl_mem_flags copy = content != NULL ? CL_MEM_COPY_HOST_PTR : 0;
    cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE | copy, n * sizeof(float), (void *)content, NULL);
    if (mem == NULL) {
        stop("clCreateBuffer");
    }
    return mem;
}

/* Small whole numbers, so that sums are exact. */
static void numbers(float *data, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)((int)(seed >> 16) % 7 - 3);
    }
}

/* y[m,n] = sum over k of x[m,k] * w[n,k] */
static void plain(const float *x, const float *w, float *y, int n_rows, int n_out, int n_in)
{
    for (int m = 0; m < n_rows; m++) {
        for (int n = 0; n < n_out; n++) {
            double sum = 0;
            for (int k = 0; k < n_in; k++) {
                sum += (double)x[m * n_in + k] * w[n * n_in + k];
            }
            y[m * n_out + n] = (float)sum;
        }
    }
}

static void run(const float *x, const float *w1, const float *w2, float *y)
{
    struct mlp_weights *packed1 = NULL, *packed2 = NULL;
    cl_mem in = buffer(x, M * K), hidden = buffer(NULL, M * HIDDEN), out = buffer(NULL, M * N);
    if (mlp_fc1_pack(queue, w1, &packed1) != MLP_OK || mlp_fc2_pack(queue, w2, &packed2) != MLP_OK) {
        stop("packing");
    }
    if (mlp_fc1(queue, in, packed1, hidden) != MLP_OK || mlp_fc2(queue, hidden, packed2, out) != MLP_OK) {
        stop("running");
    }
    if (clEnqueueReadBuffer(queue, out, CL_TRUE, 0, M * N * sizeof(float), y, 0, NULL, NULL) != CL_SUCCESS) {
        stop("reading");
    }
    mlp_weights_free(packed1);
    mlp_weights_free(packed2);
    clReleaseMemObject(in);
    clReleaseMemObject(hidden);
    clReleaseMemObject(out);
}

int main(void)
{
    static float x[M * K], w1[HIDDEN * K], w2[N * HIDDEN], h[M * HIDDEN], wanted[M * N], y[M * N];
    int wrong = 0;
    numbers(x, M * K, 1);
    numbers(w1, HIDDEN * K, 2);
    numbers(w2, N * HIDDEN, 3);
    plain(x, w1, h, M, HIDDEN, K);
    plain(h, w2, wanted, M, N, HIDDEN);
    open_device();
    run(x, w1, w2, y);
    for (int i = 0; i < M * N; i++) {
        wrong += !(fabsf(y[i] - wanted[i]) <= 0.5f);
    }
    for (int i = 0; i < MLP_N_LAYERS; i++) {
        printf("%s: %s %s, %.1f GFLOPS when it was tuned\n", mlp_layers[i].name, mlp_layers[i].template_id,
               mlp_layers[i].knobs, mlp_layers[i].gflops);
    }
    printf("%d of %d outputs are right\n", M * N - wrong, M * N);
    mlp_fini();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return wrong ? 1 : 0;
}
