/* SPDX-License-Identifier: MIT */
/* libtune_app - an application that takes its kernels out of a log of `tune run` with libtune, on the first OpenCL
 * device. For each workload it tells how the kernel was chosen, runs it, and checks the output of plain dense and
 * conv2d layers in f32 against loops. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <tune.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TENSORS 16
#define N_RUNS 20

struct device {
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
};

/* A tensor on the device, and what it was filled with. */
struct tensor {
    struct tune_tensor is;
    cl_mem memory;
    void *host;
};

struct layer {
    struct tune_plan *plan;
    struct tune_plan_info info;
    struct tune_weights *weights;
    struct tensor all[MAX_TENSORS]; /* inputs and outputs, then weights */
    size_t n;
};

static int failed(const char *what, const char *words)
{
    fprintf(stderr, "libtune_app: %s: %s\n", what, words);
    return 0;
}

static int open_device(struct device *d)
{
    cl_platform_id platform;
    cl_int error;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) != CL_SUCCESS)
        return failed("OpenCL", "there is no device");
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &error);
    if (error == CL_SUCCESS)
        d->queue = clCreateCommandQueue(d->context, d->id, 0, &error);
    return error == CL_SUCCESS ? 1 : failed("OpenCL", "no context or queue");
}

/* Whole numbers from -3 to 3: the sums of their products are exact in f32. Types but f32 and i8 stay zero. */
static void fill(struct tensor *t, unsigned seed)
{
    for (unsigned long long i = 0; i < t->is.n_elems; i++) {
        const int v = (int)((i * 2654435761u + seed * 40503u) >> 7) % 7 - 3;

        if (strcmp(t->is.dtype, "f32") == 0)
            ((float *)t->host)[i] = (float)v;
        else if (strcmp(t->is.dtype, "i8") == 0)
            ((signed char *)t->host)[i] = (signed char)v;
    }
}

static int make_tensor(const struct device *d, const struct layer *l, size_t i, struct tensor *t)
{
    const int is_weight = i >= l->info.n_tensors;
    cl_int error;

    t->is.size = sizeof t->is; /* the caller tells its struct's size */
    if (tune_plan_tensor(l->plan, is_weight, is_weight ? i - l->info.n_tensors : i, &t->is) != TUNE_OK)
        return failed(l->info.workload, tune_words());
    t->host = calloc(1, t->is.n_bytes);
    if (!t->host)
        return failed(t->is.name, "out of memory");
    fill(t, (unsigned)i);
    t->memory = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, t->is.n_bytes, t->host, &error);
    return error == CL_SUCCESS ? 1 : failed(t->is.name, "no memory on the device");
}

static int pack(const struct device *d, struct layer *l)
{
    cl_mem from[MAX_TENSORS];

    for (size_t i = 0; i < l->info.n_weights; i++)
        from[i] = l->all[l->info.n_tensors + i].memory;
    return tune_pack_cl(l->plan, d->queue, from, l->info.n_weights, &l->weights) == TUNE_OK
               ? 1
               : failed(l->info.workload, tune_words());
}

static int execute(const struct device *d, const struct layer *l)
{
    cl_mem tensors[MAX_TENSORS];

    for (size_t i = 0; i < l->info.n_tensors; i++)
        tensors[i] = l->all[i].memory;
    return tune_execute_cl(l->plan, d->queue, tensors, l->info.n_tensors, l->weights) == TUNE_OK
               ? 1
               : failed(l->info.workload, tune_words());
}

static int make_layer(const struct device *d, struct tune *t, const char *workload, struct layer *l)
{
    memset(l, 0, sizeof *l);
    l->info.size = sizeof l->info;
    if (tune_plan_make(t, workload, 0, &l->plan) != TUNE_OK || tune_plan_about(l->plan, &l->info) != TUNE_OK)
        return failed("no plan", tune_words());
    if (l->info.n_tensors + l->info.n_weights > MAX_TENSORS)
        return failed(workload, "more tensors than this example takes");
    for (; l->n < l->info.n_tensors + l->info.n_weights; l->n++)
        if (!make_tensor(d, l, l->n, &l->all[l->n]))
            return 0;
    return pack(d, l);
}

static void free_layer(struct layer *l)
{
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        if (l->all[i].memory)
            clReleaseMemObject(l->all[i].memory);
        free(l->all[i].host);
    }
    tune_weights_free(l->weights);
    tune_plan_destroy(l->plan);
}

/* ---- checking ---- */

static const struct tensor *find(const struct layer *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->all[i].is.name, name) == 0)
            return &l->all[i];
    return NULL;
}

static long long number(const char *workload, const char *key, long long otherwise)
{
    const char *at = strstr(workload, key);

    return at ? strtoll(at + strlen(key), NULL, 10) : otherwise;
}

/* y[m,n] = sum of x[m,k] * w[n,k] */
static double dense_at(const struct tensor *x, const struct tensor *w, const struct tensor *y, long long i)
{
    const long long k = x->is.shape[1], row = i / y->is.shape[1], column = i % y->is.shape[1];
    double sum = 0;

    for (long long j = 0; j < k; j++)
        sum += (double)((float *)x->host)[row * k + j] * (double)((float *)w->host)[column * k + j];
    return sum;
}

/* y[n,k,p,q] = sum of x[n,c,p*stride+r-pad,q*stride+s-pad] * w[k,c,r,s] */
static double conv_at(const struct tensor *x, const struct tensor *w, const struct tensor *y, const char *workload,
                      long long i)
{
    const long long *xs = x->is.shape, *ws = w->is.shape, *ys = y->is.shape;
    const long long stride = number(workload, " stride=", 1), pad = number(workload, " pad=", 0), q = i % ys[3],
                    p = i / ys[3] % ys[2], k = i / ys[3] / ys[2] % ys[1], n = i / ys[3] / ys[2] / ys[1];
    double sum = 0;

    for (long long j = 0; j < ws[1] * ws[2] * ws[3]; j++) {
        const long long c = j / ws[3] / ws[2], h = p * stride + j / ws[3] % ws[2] - pad,
                        v = q * stride + j % ws[3] - pad;

        if (h >= 0 && h < xs[2] && v >= 0 && v < xs[3])
            sum += (double)((float *)x->host)[((n * xs[1] + c) * xs[2] + h) * xs[3] + v] *
                   (double)((float *)w->host)[k * ws[1] * ws[2] * ws[3] + j];
    }
    return sum;
}

/* Is it a layer that the loops above compute? Square strides, equal padding, one group, no epilogue. */
static int is_plain(const char *workload)
{
    const char *const other[] = {"layout=", "groups=", "dilation=", "epilogue=", ","};

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (strstr(workload, other[i]))
            return 0;
    return strncmp(workload, "dense f32 ", 10) == 0 || strncmp(workload, "conv2d f32 ", 11) == 0;
}

/* 1 = right, 0 = wrong, -1 = not checked. */
static int check(const struct device *d, const struct layer *l)
{
    const struct tensor *x = find(l, "x"), *w = find(l, "w"), *y = find(l, "y");

    if (!is_plain(l->info.workload) || !x || !w || !y)
        return -1;
    if (clEnqueueReadBuffer(d->queue, y->memory, CL_TRUE, 0, y->is.n_bytes, y->host, 0, NULL, NULL) != CL_SUCCESS)
        return failed(l->info.workload, "reading y failed");
    for (unsigned long long i = 0; i < y->is.n_elems; i++) {
        const double got = (double)((float *)y->host)[i], want = l->info.workload[0] == 'd'
                                                                     ? dense_at(x, w, y, (long long)i)
                                                                     : conv_at(x, w, y, l->info.workload, (long long)i);

        if (got != want) {
            fprintf(stderr, "libtune_app: %s: y[%llu] is %g, expected %g\n", l->info.workload, i, got, want);
            return 0;
        }
    }
    return 1;
}

/* ---- timing and telling ---- */

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double time_ns(const struct device *d, const struct layer *l)
{
    double start;

    clFinish(d->queue);
    start = now_ns();
    for (int i = 0; i < N_RUNS; i++)
        if (!execute(d, l))
            return NAN;
    clFinish(d->queue);
    return (now_ns() - start) / N_RUNS;
}

static void tell(const struct layer *l, double ns, int checked)
{
    static const char *const how[] = {"exact", "nearest", "default"};
    static const char *const outcomes[] = {"not checked", "WRONG", "right"};

    printf("%s\n  %s", l->info.workload, how[l->info.choice]);
    if (l->info.choice == TUNE_NEAREST)
        printf(" (%s, distance %.3g)", l->info.recorded, l->info.distance);
    printf(": %s %s\n  %.3f ms, %.1f GFLOPS", l->info.template_id, l->info.knobs, 1e-6 * ns, l->info.flops / ns);
    if (l->info.choice != TUNE_DEFAULT)
        printf(", expected %.3f ms", 1e-6 * l->info.time_ns);
    printf("; output %s\n", outcomes[checked + 1]);
}

static int run_layer(const struct device *d, struct tune *t, const char *workload)
{
    struct layer l;
    int ok = make_layer(d, t, workload, &l) && execute(d, &l), checked = ok ? check(d, &l) : 0;

    if (ok)
        tell(&l, time_ns(d, &l), checked);
    free_layer(&l);
    return ok && checked != 0;
}

int main(int argc, char **argv)
{
    const char *list = argc > 2 && strncmp(argv[1], "--missing=", 10) == 0 ? argv[1] + 10 : NULL;
    const int first = list ? 2 : 1;
    struct device d;
    struct tune *t = NULL;
    char missing[512];
    int ok = 1;

    for (int i = first; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0) {
            fprintf(stderr, "libtune_app: %s: expected options before the log\n", argv[i]);
            return 2;
        }
    if (argc < first + 2) {
        fprintf(stderr, "usage: libtune_app [--missing=FILE] LOG.jsonl 'WORKLOAD'...\n");
        return 2;
    }
    if (!open_device(&d))
        return 1;
    if (tune_open_cl(argv[first], d.context, d.id, NULL, &t) != TUNE_OK)
        return !failed("no log", tune_words());
    for (int i = first + 1; i < argc; i++)
        ok = run_layer(&d, t, argv[i]) && ok;
    if (tune_missing(t, missing, sizeof missing) > 0)
        printf("%s\n", missing);
    if (list && tune_missing_write(t, list) != TUNE_OK)
        ok = failed("no list", tune_words());
    tune_close(t);
    clReleaseCommandQueue(d.queue);
    clReleaseContext(d.context);
    return ok ? 0 : 1;
}
