/* SPDX-License-Identifier: MIT */
/* main.c - runs every layer of a bundle: checks its outputs against values computed from the operator's definition,
 * then times it beside the log's time. Exit code 1 when an output is wrong or a layer does not run.
 *
 *   deploy_c [--any] [--tuned]     --any: on another device than the kernels were tuned on, too
 *                                  --tuned: a layer that was not measured for its workload is a failure */
#define _POSIX_C_SOURCE 200112L /* setenv */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include "bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SLOTS 15
#define SLOT_MS 5.0
#define TIMED_MS 2000.0 /* a slow layer has fewer slots */
#define MAX_TENSORS 16
#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

/* What every layer is run with. */
struct app {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    int tuned_only;
};

/* A layer's tensors on the device and, of weights, in host memory; in the layer's order. */
struct buffers {
    cl_mem tensors[MAX_TENSORS]; /* inputs and outputs */
    void *weights[MAX_TENSORS];
    int n_tensors, n_weights;
};

static double now_ms(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the device ---- */

/* On a CPU as many threads as when it was tuned, unless the person says otherwise. */
static void set_threads(void)
{
    char text[16];
    if (BUNDLE(threads) > 0) {
        (void)snprintf(text, sizeof text, "%d", BUNDLE(threads));
        (void)setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
    }
}

/* The device of that name, else the first one. */
static cl_device_id find_device(const char *name)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES], first = NULL;
    cl_uint n_platforms = 0, n = 0;
    char found[256];
    (void)clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
    for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS) {
            continue;
        }
        for (cl_uint j = 0; j < n && j < MAX_DEVICES; j++) {
            first = first != NULL ? first : devices[j];
            if (clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof found, found, NULL) == CL_SUCCESS &&
                strcmp(found, name) == 0) {
                return devices[j];
            }
        }
    }
    return first;
}

static int open_device(struct app *a, int any)
{
    cl_device_id team[MAX_DEVICES];
    cl_int code = CL_SUCCESS;
    int status, n;
    set_threads();
    a->device = find_device(BUNDLE(device));
    if (a->device == NULL) {
        fprintf(stderr, "no OpenCL device here\n");
        return 0;
    }
    n = BUNDLE(devices)(a->device, MAX_DEVICES, team);
    a->context = clCreateContext(NULL, (cl_uint)n, team, NULL, NULL, &code);
    a->queue = code == CL_SUCCESS ? clCreateCommandQueue(a->context, a->device, 0, &code) : NULL;
    if (code != CL_SUCCESS) {
        fprintf(stderr, "cannot open the device: OpenCL error %d\n", (int)code);
        return 0;
    }
    if (n > 1) {
        printf("a team of %d devices\n", n);
    }
    status = any ? BUNDLE(init_any)(a->context, a->device) : BUNDLE(init)(a->context, a->device);
    if (BUNDLE(words)()[0] != '\0') {
        fprintf(stderr, "%s\n", BUNDLE(words)());
    }
    if (status == CAPS(OTHER_DEVICE)) {
        fprintf(stderr, "--any runs them all the same\n");
    }
    return status == CAPS(OK);
}

static void close_device(struct app *a)
{
    BUNDLE(fini)();
    if (a->queue != NULL) {
        clReleaseCommandQueue(a->queue);
    }
    if (a->context != NULL) {
        clReleaseContext(a->context);
    }
}

/* ---- tensors ---- */

static void free_buffers(struct buffers *b)
{
    for (int i = 0; i < b->n_tensors; i++) {
        clReleaseMemObject(b->tensors[i]);
    }
    for (int i = 0; i < b->n_weights; i++) {
        free(b->weights[i]);
    }
    memset(b, 0, sizeof *b);
}

/* Makes one tensor with the content that the vector says; outputs start as zeros. */
static int make_tensor(struct app *a, const struct BUNDLE(vector) * v, const struct BUNDLE(tensor) * t,
                       struct buffers *b)
{
    void *data = calloc(1, t->n_bytes);
    cl_int code = CL_SUCCESS;
    if (data == NULL || (t->role != CAPS(OUTPUT) && BUNDLE(vectors_fill)(v, t, data) != CAPS(OK))) {
        free(data);
        return 0;
    }
    if (t->role == CAPS(WEIGHT)) {
        b->weights[b->n_weights++] = data;
        return 1;
    }
    b->tensors[b->n_tensors] =
        clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, t->n_bytes, data, &code);
    b->n_tensors += code == CL_SUCCESS;
    free(data);
    return code == CL_SUCCESS;
}

static int make_buffers(struct app *a, const struct BUNDLE(layer) * l, const struct BUNDLE(vector) * v,
                        struct buffers *b)
{
    int ok = l->n_tensors <= MAX_TENSORS;
    memset(b, 0, sizeof *b);
    for (int i = 0; ok && i < l->n_tensors; i++) {
        ok = make_tensor(a, v, &l->tensors[i], b);
    }
    if (!ok) {
        fprintf(stderr, "FAILED %s: its tensors cannot be made\n", l->name);
    }
    return ok;
}

/* The output that the vector names, as host memory; NULL on failure. */
static void *read_output(struct app *a, const struct BUNDLE(layer) * l, const char *name, const struct buffers *b,
                         const struct BUNDLE(tensor) * *found)
{
    int n = 0;
    for (int i = 0; i < l->n_tensors; i++) {
        const struct BUNDLE(tensor) *t = &l->tensors[i];
        if (strcmp(t->name, name) == 0 && t->role == CAPS(OUTPUT)) {
            void *data = malloc(t->n_bytes);
            *found = t;
            if (data != NULL && clEnqueueReadBuffer(a->queue, b->tensors[n], CL_TRUE, 0, t->n_bytes, data, 0, NULL,
                                                    NULL) == CL_SUCCESS) {
                return data;
            }
            free(data);
            return NULL;
        }
        n += t->role != CAPS(WEIGHT);
    }
    return NULL;
}

/* ---- checks ---- */

static int say_failure(const struct BUNDLE(layer) * l)
{
    fprintf(stderr, "FAILED %s: %s\n", l->name, BUNDLE(words)());
    return 0;
}

static int compare_output(struct app *a, const struct BUNDLE(layer) * l, const struct BUNDLE(vector) * v,
                          const struct buffers *b)
{
    struct BUNDLE(vector_result) result;
    const struct BUNDLE(tensor) *t = NULL;
    void *data = read_output(a, l, v->tensor, b, &t);
    int right = data != NULL && BUNDLE(vectors_check)(v, t, data, &result);
    if (data == NULL) {
        fprintf(stderr, "FAILED %s: %s cannot be read\n", l->name, v->tensor);
    } else if (!right) {
        fprintf(stderr, "WRONG %s, pass %s: %s[%llu] is %.9g, expected %.9g; %zu of %zu elements are wrong\n", l->name,
                v->pass, v->tensor, (unsigned long long)result.i_worst, result.got, result.wanted, result.n_wrong,
                v->n);
    }
    free(data);
    return right;
}

/* Packs the vector's weights, runs its inputs, compares its outputs. */
static int check_vector(struct app *a, const struct BUNDLE(layer) * l, const struct BUNDLE(vector) * v)
{
    struct BUNDLE(weights) *packed = NULL;
    struct buffers b;
    int right = make_buffers(a, l, v, &b);
    if (right) {
        right = BUNDLE(layer_pack)(l, a->queue, (const void *const *)b.weights, &packed) == CAPS(OK) &&
                BUNDLE(layer_run)(l, a->queue, b.tensors, packed) == CAPS(OK);
        right = right ? compare_output(a, l, v, &b) : say_failure(l);
    }
    BUNDLE(weights_free)(packed);
    free_buffers(&b);
    return right;
}

/* Number of vectors that are right; -1 after the first that is not. */
static int check_layer(struct app *a, const struct BUNDLE(layer) * l, const struct BUNDLE(vector) * *last)
{
    size_t n = 0;
    const struct BUNDLE(vector) *vectors = BUNDLE(vectors_all)(&n);
    int n_right = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(vectors[i].workload, l->workload) == 0) {
            if (!check_vector(a, l, &vectors[i])) {
                return -1;
            }
            *last = &vectors[i];
            n_right++;
        }
    }
    if (n_right == 0) {
        fprintf(stderr, "UNCHECKED %s: the bundle has no test vector for it\n", l->name);
    }
    return n_right;
}

/* ---- times ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time of one run in ms when `n` are enqueued one behind the other; negative on failure. */
static double time_runs(struct app *a, const struct BUNDLE(layer) * l, const struct buffers *b,
                        const struct BUNDLE(weights) * packed, int n)
{
    double start = now_ms();
    int ok = 1;
    for (int i = 0; ok && i < n; i++) {
        ok = BUNDLE(layer_run)(l, a->queue, b->tensors, packed) == CAPS(OK);
    }
    ok = clFinish(a->queue) == CL_SUCCESS && ok;
    return ok ? (now_ms() - start) / n : -1.0;
}

/* Median of some slots of at least SLOT_MS, inputs and outputs staying on the device. */
static double median_of(struct app *a, const struct BUNDLE(layer) * l, const struct buffers *b,
                        const struct BUNDLE(weights) * packed)
{
    double samples[N_SLOTS], begin = now_ms();
    double once = time_runs(a, l, b, packed, 1); /* warms up */
    int n = 0, n_runs;
    once = once >= 0.0 ? time_runs(a, l, b, packed, 3) : once;
    n_runs = once > 0.0 && once < SLOT_MS ? (int)(SLOT_MS / once) + 1 : 1;
    for (int i = 0; once >= 0.0 && i < N_SLOTS && (i < 3 || now_ms() - begin < TIMED_MS); i++) {
        samples[n++] = once = time_runs(a, l, b, packed, n_runs);
    }
    if (once < 0.0) {
        return once;
    }
    qsort(samples, (size_t)n, sizeof samples[0], compare);
    return samples[n / 2];
}

/* In ms; 0 on failure. The weights are packed once. */
static double measure(struct app *a, const struct BUNDLE(layer) * l, const struct BUNDLE(vector) * v)
{
    struct BUNDLE(weights) *packed = NULL;
    struct buffers b;
    double ms = -1.0;
    if (make_buffers(a, l, v, &b) &&
        BUNDLE(layer_pack)(l, a->queue, (const void *const *)b.weights, &packed) == CAPS(OK)) {
        ms = median_of(a, l, &b, packed);
    }
    BUNDLE(weights_free)(packed);
    free_buffers(&b);
    if (ms < 0.0) {
        (void)say_failure(l);
    }
    return ms > 0.0 ? ms : 0.0;
}

/* Is the record one of a right config that a search measured for this very workload? */
static int is_tuned(const struct BUNDLE(layer) * l)
{
    return strcmp(l->choice, "record") == 0 && strcmp(l->status, "ok") == 0 && l->proposed_by[0] != '\0' &&
           l->time_ns > 0.0;
}

static int run_layer(struct app *a, const struct BUNDLE(layer) * l)
{
    const struct BUNDLE(vector) *v = NULL;
    double ms;
    int n_right;
    if (a->tuned_only && !is_tuned(l)) {
        fprintf(stderr, "NOT TUNED %s: choice %s, status %s, proposed by %s\n", l->name, l->choice, l->status,
                l->proposed_by);
        return 0;
    }
    n_right = check_layer(a, l, &v);
    ms = n_right > 0 ? measure(a, l, v) : 0.0;
    if (ms <= 0.0) {
        return 0;
    }
    printf("%-22s %-66s %9.3f ms %8.1f GFLOPS", l->name, l->workload, ms, l->flops / (ms * 1e6));
    if (l->time_ns > 0.0) {
        printf("  log: %9.3f ms %8.1f GFLOPS", l->time_ns / 1e6, l->gflops);
    } else {
        printf("  log: %-25s", l->choice);
    }
    printf("  %d checks right\n", n_right);
    return 1;
}

int main(int argc, char **argv)
{
    struct app a = {0};
    int any = 0, n_good = 0;
    for (int i = 1; i < argc; i++) {
        any |= strcmp(argv[i], "--any") == 0;
        a.tuned_only |= strcmp(argv[i], "--tuned") == 0;
    }
    if (!open_device(&a, any)) {
        close_device(&a);
        return 1;
    }
    printf("tuned on: %s\n", BUNDLE(device));
    for (int i = 0; i < CAPS(N_LAYERS); i++) {
        n_good += run_layer(&a, &BUNDLE(layers)[i]);
    }
    close_device(&a);
    printf("%d of %d layers are right\n", n_good, CAPS(N_LAYERS));
    return n_good == CAPS(N_LAYERS) ? 0 : 1;
}
