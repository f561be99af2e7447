/* SPDX-License-Identifier: MIT */
/* main.c - runs a whole network of a bundle on the weights and the input of a folder, compares its output with the one
 * there, times it beside the sum of its steps' recorded times. Exit code 1 when the output is off by more than --limit.
 *
 *   deploy_network [--any] [--limit X] [--runs N] FOLDER
 *
 * FOLDER: x.bin, weights.bin, weights.txt (layer, tensor, offset, bytes a line), y.bin, and logits.bin (f32, the last
 * layer's sums before softmax) as tests/bench/network/network_ort.py writes them; of several inputs and outputs x0.bin,
 * x1.bin, ... y0.bin, y1.bin, ... Two figures are printed of each output: the largest difference over the largest
 * element, and the largest difference of their logarithms, which is that of the sums before softmax, over the largest
 * sum; --limit (1e-4) is for the second where logits.bin is there. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include "bundle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PATH 4096
#define MAX_RUNS 1000
#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

struct app {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    const char *folder;
    int any, n_runs;
    double limit;
};

/* A file in memory. */
struct bytes {
    unsigned char *data;
    size_t n;
};

static double now_ms(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int read_file(const struct app *a, const char *name, struct bytes *out)
{
    char path[MAX_PATH];
    FILE *f;
    long n = -1;
    snprintf(path, sizeof path, "%s/%s", a->folder, name);
    f = fopen(path, "rb");
    if (f != NULL && fseek(f, 0, SEEK_END) == 0) {
        n = ftell(f);
        rewind(f);
    }
    out->n = n > 0 ? (size_t)n : 0;
    out->data = n > 0 ? malloc(out->n) : NULL;
    if (out->data == NULL || fread(out->data, 1, out->n, f) != out->n) {
        free(out->data);
        out->data = NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    return out->data != NULL;
}

/* ---- the device ---- */

/* The device that the bundle was tuned on, else the first one. */
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

static int open_device(struct app *a)
{
    cl_device_id team[MAX_DEVICES];
    cl_int code = CL_SUCCESS;
    int status, n;
    a->device = find_device(BUNDLE(device));
    n = BUNDLE(devices)(a->device, MAX_DEVICES, team);
    a->context = n > 0 ? clCreateContext(NULL, (cl_uint)n, team, NULL, NULL, &code) : NULL;
    a->queue = a->context != NULL ? clCreateCommandQueue(a->context, a->device, 0, &code) : NULL;
    if (a->queue == NULL) {
        fprintf(stderr, "cannot open an OpenCL device: error %d\n", (int)code);
        return 0;
    }
    status = a->any ? BUNDLE(init_any)(a->context, a->device) : BUNDLE(init)(a->context, a->device);
    if (BUNDLE(words)()[0] != '\0') {
        fprintf(stderr, "%s\n", BUNDLE(words)());
    }
    if (status == CAPS(OTHER_DEVICE)) {
        fprintf(stderr, "--any runs it all the same\n");
    }
    return status == CAPS(OK);
}

/* ---- outputs ---- */

static double half(const unsigned char *p)
{
    const int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double v = exponent == 0    ? ldexp(fraction, -24)
                     : exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

/* Element i of a tensor of `dtype`. */
static double element(const char *dtype, const unsigned char *data, size_t i)
{
    float f;
    int32_t n;
    if (strcmp(dtype, "f16") == 0) {
        return half(data + 2 * i);
    }
    if (strcmp(dtype, "i32") == 0) {
        memcpy(&n, data + 4 * i, 4);
        return n;
    }
    memcpy(&f, data + 4 * i, 4);
    return (double)f;
}

static double larger(double a, double b)
{
    return b > a || isnan(b) ? b : a; /* NaN stays */
}

/* "x.bin", or "x1.bin" where there are several of a role: the i-th argument's. */
static const char *file_of(size_t i)
{
    static char name[32];
    const int role = BUNDLE(arguments)[i].role;
    int n = 0, at = 0;
    for (size_t k = 0; k < CAPS(N_ARGUMENTS); k++) {
        at += k < i && (int)BUNDLE(arguments)[k].role == role;
        n += (int)BUNDLE(arguments)[k].role == role;
    }
    if (n > 1) {
        snprintf(name, sizeof name, "%c%d.bin", role == CAPS(INPUT) ? 'x' : 'y', at);
    } else {
        snprintf(name, sizeof name, "%c.bin", role == CAPS(INPUT) ? 'x' : 'y');
    }
    return name;
}

/* Prints how far an output is from that in the folder; is it near enough? */
static int compare(const struct app *a, size_t i_argument, const unsigned char *y)
{
    const char *dtype = BUNDLE(arguments)[i_argument].dtype;
    const size_t n_bytes = BUNDLE(arguments)[i_argument].n_bytes, n = n_bytes / (strcmp(dtype, "f16") == 0 ? 2 : 4);
    struct bytes theirs = {NULL, 0}, logits = {NULL, 0};
    const double least = strcmp(dtype, "f16") == 0 ? 6.2e-5 : 1e-30; /* below it numbers have few digits */
    double largest = 1e-30, off = 0, off_log = 0, largest_logit = 0;
    size_t n_differ = 0, n_logs = 0;
    int has_logits;
    if (!read_file(a, file_of(i_argument), &theirs) || theirs.n != n_bytes) {
        fprintf(stderr, "%s: expected a file of %zu bytes\n", file_of(i_argument), n_bytes);
        free(theirs.data);
        return 0;
    }
    has_logits = read_file(a, "logits.bin", &logits) && logits.n == 4 * n;
    for (size_t i = 0; i < n; i++) {
        const double v = element(dtype, y, i), w = element(dtype, theirs.data, i);
        const int alike = v == w || (isnan(v) && isnan(w)); /* infinite ones, too */
        off = alike ? off : larger(off, fabs(v - w));
        largest = isfinite(w) ? larger(largest, fabs(w)) : largest;
        n_differ += !alike;
        if (has_logits) {
            largest_logit = larger(largest_logit, fabs(element("f32", logits.data, i)));
        }
        if (v > least && w > least && !alike) {
            off_log = larger(off_log, fabs(log(v) - log(w)));
        }
        n_logs += v > least && w > least;
    }
    printf("%s: %zu of %zu outputs differ; the worst by %.3g of the largest output", BUNDLE(arguments)[i_argument].name,
           n_differ, n, off / largest);
    if (has_logits) {
        printf(", before softmax by %.3g of the largest sum (in %zu of them)", off_log / largest_logit, n_logs);
    }
    printf(" (limit %.3g)\n", a->limit);
    free(theirs.data);
    free(logits.data);
    return (has_logits ? off_log / largest_logit : off / largest) <= a->limit && off / largest <= 10 * a->limit;
}

/* ---- time ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sum_of_steps_ms(size_t *n_unknown)
{
    double sum = 0;
    *n_unknown = 0;
    for (size_t i = 0; i < CAPS(N_STEPS); i++) {
        sum += BUNDLE(steps)[i].time_ns / 1e6;
        *n_unknown += BUNDLE(steps)[i].time_ns <= 0;
    }
    return sum;
}

static int time_runs(struct app *a, const cl_mem *list)
{
    double ms[MAX_RUNS] = {0}, sum;
    size_t n_unknown;
    for (int i = 0; i < a->n_runs; i++) {
        const double start = now_ms();
        if (BUNDLE(run_list)(a->queue, list) != CAPS(OK) || clFinish(a->queue) != CL_SUCCESS) {
            return 0;
        }
        ms[i] = now_ms() - start;
    }
    qsort(ms, (size_t)a->n_runs, sizeof ms[0], by_size);
    sum = sum_of_steps_ms(&n_unknown);
    printf("one call: %.2f ms (median of %d, %d steps); sum of the steps' recorded times: %.2f ms", ms[a->n_runs / 2],
           a->n_runs, (int)CAPS(N_STEPS), sum);
    if (n_unknown > 0) {
        printf(", without %zu steps that were not measured", n_unknown);
    }
    printf("\n");
    return 1;
}

/* ---- the network ---- */

static int compare_all(const struct app *a, const cl_mem *list)
{
    int ok = 1;
    for (size_t i = 0; i < CAPS(N_ARGUMENTS); i++) {
        const size_t n = BUNDLE(arguments)[i].n_bytes;
        unsigned char *y = BUNDLE(arguments)[i].role == CAPS(OUTPUT) ? malloc(n) : NULL;
        if (y != NULL) {
            ok = clEnqueueReadBuffer(a->queue, list[i], CL_TRUE, 0, n, y, 0, NULL, NULL) == CL_SUCCESS &&
                 compare(a, i, y) && ok;
        }
        free(y);
    }
    return ok;
}

static int run_network(struct app *a, const cl_mem *list)
{
    if (BUNDLE(run_list)(a->queue, list) != CAPS(OK)) {
        fprintf(stderr, "the network does not run: %s\n", BUNDLE(words)());
        return 0;
    }
    return compare_all(a, list) & (a->n_runs == 0 || time_runs(a, list));
}

/* Memory for an argument: what the folder has of an input. */
static cl_mem make_argument(const struct app *a, size_t i)
{
    const size_t n = BUNDLE(arguments)[i].n_bytes;
    struct bytes x = {NULL, 0};
    cl_int code = CL_SUCCESS;
    cl_mem mem = NULL;
    if (BUNDLE(arguments)[i].role == CAPS(OUTPUT)) {
        return clCreateBuffer(a->context, CL_MEM_READ_WRITE, n, NULL, &code);
    }
    if (read_file(a, file_of(i), &x) && x.n == n) {
        mem = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n, x.data, &code);
    } else {
        fprintf(stderr, "%s: expected a file of %zu bytes\n", file_of(i), n);
    }
    free(x.data);
    return mem;
}

static int run(struct app *a)
{
    cl_mem list[CAPS(N_ARGUMENTS)] = {NULL};
    int ok = BUNDLE(load_weights)(a->queue, a->folder) == CAPS(OK);
    if (!ok) {
        fprintf(stderr, "%s\n", BUNDLE(words)());
    }
    for (size_t i = 0; ok && i < CAPS(N_ARGUMENTS); i++) {
        list[i] = make_argument(a, i);
        ok = list[i] != NULL;
    }
    ok = ok && run_network(a, list);
    for (size_t i = 0; i < CAPS(N_ARGUMENTS); i++) {
        if (list[i] != NULL) {
            clReleaseMemObject(list[i]);
        }
    }
    return ok;
}

static int read_arguments(struct app *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--any") == 0) {
            a->any = 1;
        } else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc) {
            a->limit = atof(argv[++i]);
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            a->n_runs = atoi(argv[++i]);
        } else if (argv[i][0] != '-' && a->folder == NULL) {
            a->folder = argv[i];
        } else {
            return 0;
        }
    }
    return a->folder != NULL && a->n_runs >= 0 && a->n_runs <= MAX_RUNS;
}

int main(int argc, char **argv)
{
    struct app a = {NULL, NULL, NULL, NULL, 0, 15, 1e-4};
    int ok;
    if (!read_arguments(&a, argc, argv)) {
        fprintf(stderr, "usage: deploy_network [--any] [--limit X] [--runs 0..%d] FOLDER\n", MAX_RUNS);
        return 2;
    }
    ok = open_device(&a) && run(&a);
    BUNDLE(fini)();
    if (a.queue != NULL) {
        clReleaseCommandQueue(a.queue);
    }
    if (a.context != NULL) {
        clReleaseContext(a.context);
    }
    return ok ? 0 : 1;
}
