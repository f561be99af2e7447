/* SPDX-License-Identifier: MIT */
/* two.c - two bundles in one program: both are open at the same time, and two sets of weights and two queues give the
 * same outputs as one after the other. Exit code 0 when all is right. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include "alpha.h"
#include "beta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dense f32 m=3 n=17 k=31: y[m,n] = sum over k of x[m,k] * w[n,k] */
enum { M = 3, N = 17, K = 31 };

static int n_failed;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "two: %s (alpha: \"%s\", beta: \"%s\")\n", what, alpha_words(), beta_words());
        n_failed++;
    }
}

static void fill(float *to, int n, int step)
{
    for (int i = 0; i < n; i++) {
        to[i] = (float)((i * step) % 11 - 5);
    }
}

/* Is y what the definition says? */
static int is_right(cl_command_queue queue, cl_mem y, const float *x, const float *w)
{
    float got[M * N];
    if (clEnqueueReadBuffer(queue, y, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL) != CL_SUCCESS) {
        return 0;
    }
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += x[m * K + k] * w[n * K + k];
            }
            if (sum != got[m * N + n]) {
                return 0;
            }
        }
    }
    return 1;
}

struct app {
    cl_context context;
    cl_device_id device;
    cl_command_queue queues[2];
    float x[M * K], w[2][N * K];
    cl_mem x_mem, y[4];
};

static int open_app(struct app *a)
{
    cl_platform_id platform;
    cl_int code = CL_SUCCESS;
    memset(a, 0, sizeof *a);
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &a->device, NULL) != CL_SUCCESS) {
        return 0;
    }
    a->context = clCreateContext(NULL, 1, &a->device, NULL, NULL, &code);
    fill(a->x, M * K, 3);
    fill(a->w[0], N * K, 5);
    fill(a->w[1], N * K, 7);
    for (int i = 0; code == CL_SUCCESS && i < 2; i++) {
        a->queues[i] = clCreateCommandQueue(a->context, a->device, 0, &code);
    }
    a->x_mem = clCreateBuffer(a->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof a->x, a->x, &code);
    for (int i = 0; code == CL_SUCCESS && i < 4; i++) {
        a->y[i] = clCreateBuffer(a->context, CL_MEM_WRITE_ONLY, M * N * sizeof(float), NULL, &code);
    }
    return code == CL_SUCCESS;
}

static void close_app(struct app *a)
{
    for (int i = 0; i < 4; i++) {
        clReleaseMemObject(a->y[i]);
    }
    clReleaseMemObject(a->x_mem);
    clReleaseCommandQueue(a->queues[0]);
    clReleaseCommandQueue(a->queues[1]);
    clReleaseContext(a->context);
}

/* What is refused, and in words. */
static void refusals(struct app *a)
{
    struct alpha_weights *w = NULL, *other = NULL;
    cl_mem small = clCreateBuffer(a->context, CL_MEM_READ_WRITE, 4, NULL, NULL);
    expect(alpha_dense_f32_m3_n17_k31_pack(a->queues[0], a->w[0], &w) == ALPHA_BAD_ARGUMENT &&
               strstr(alpha_words(), "alpha_init") != NULL,
           "a bundle that is not open packs");
    expect(alpha_init(a->context, a->device) == ALPHA_OTHER_DEVICE && strstr(alpha_words(), "sample device") != NULL,
           "another device is taken");
    expect(alpha_init_any(a->context, a->device) == ALPHA_OK && strstr(alpha_words(), "sample device") != NULL,
           "another device is taken without words, or not at all");
    expect(alpha_init_any(a->context, a->device) == ALPHA_BAD_ARGUMENT, "a bundle is opened twice");
    expect(alpha_dense_f32_m3_n17_k31_pack(a->queues[0], NULL, &w) == ALPHA_BAD_ARGUMENT, "NULL weights are packed");
    expect(alpha_dense_f32_m3_n17_k31_pack(a->queues[0], a->w[0], &w) == ALPHA_OK, "packing fails");
    expect(alpha_dense_f32_m3_n17_k31(a->queues[0], a->x_mem, NULL, a->y[0]) == ALPHA_NOT_PACKED, "no weights needed");
    expect(alpha_dense_f32_m3_n17_k31(a->queues[0], a->x_mem, w, small) == ALPHA_BAD_ARGUMENT &&
               strstr(alpha_words(), "204 bytes") != NULL,
           "a small buffer is taken");
    expect(alpha_int_pack(a->queues[0], a->w[0], &other) == ALPHA_OK, "packing another layer fails");
    expect(alpha_dense_f32_m3_n17_k31(a->queues[0], a->x_mem, other, a->y[0]) == ALPHA_NOT_PACKED,
           "weights of another layer are taken");
    alpha_weights_free(other);
    alpha_weights_free(w);
    alpha_fini();
    clReleaseMemObject(small);
}

static void both_run(struct app *a)
{
    struct alpha_weights *wa[2] = {NULL, NULL};
    struct beta_weights *wb[2] = {NULL, NULL};
    expect(alpha_init_any(a->context, a->device) == ALPHA_OK, "alpha does not open");
    expect(beta_init_any(a->context, a->device) == BETA_OK, "beta does not open");
    for (int i = 0; i < 2; i++) {
        expect(alpha_dense_f32_m3_n17_k31_pack(a->queues[i], a->w[i], &wa[i]) == ALPHA_OK, "alpha does not pack");
        expect(beta_dense_f32_m3_n17_k31_pack(a->queues[i], a->w[i], &wb[i]) == BETA_OK, "beta does not pack");
    }
    for (int i = 0; i < 2; i++) { /* each set of weights on a queue of its own, the other way round than packed */
        expect(alpha_dense_f32_m3_n17_k31(a->queues[1 - i], a->x_mem, wa[i], a->y[i]) == ALPHA_OK, "alpha fails");
        expect(beta_dense_f32_m3_n17_k31(a->queues[1 - i], a->x_mem, wb[i], a->y[2 + i]) == BETA_OK, "beta fails");
    }
    for (int i = 0; i < 4; i++) {
        expect(clFinish(a->queues[0]) == CL_SUCCESS && clFinish(a->queues[1]) == CL_SUCCESS, "a queue fails");
        expect(is_right(a->queues[0], a->y[i], a->x, a->w[i % 2]), i < 2 ? "alpha is wrong" : "beta is wrong");
    }
    alpha_weights_free(wa[0]);
    alpha_weights_free(wa[1]);
    beta_weights_free(wb[0]);
    beta_weights_free(wb[1]);
    alpha_fini();
    beta_fini();
}

int main(void)
{
    struct app a;
    if (!open_app(&a)) {
        fprintf(stderr, "two: no OpenCL device\n");
        return 1;
    }
    refusals(&a);
    both_run(&a);
    both_run(&a); /* after fini all begins anew */
    close_app(&a);
    printf("two bundles in one program: %s\n", n_failed == 0 ? "right" : "WRONG");
    return n_failed == 0 ? 0 : 1;
}
