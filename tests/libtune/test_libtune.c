/* SPDX-License-Identifier: MIT */
/* libtune on an OpenCL device: opening logs, making and executing plans, what it says when it cannot. */
#include "libtune/tune.h"
#include "logs/log.h"
#include "runtime/given.h"
#include "tests/libtune/reference.h"
#include "tests/libtune/sample_log.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DENSE "dense f32 m=12 n=48 k=40"
#define CONV "conv2d f32 n=1 c=16 h=14 w=14 k=32 r=3 s=3 pad=1"
#define FUSED CONV " epilogue=bias_relu"
#define OTHER_DENSE "dense f32 m=24 n=48 k=40"
#define N_THREADS 8

static const long long dense_size[3] = {12, 48, 40}, other_size[3] = {24, 48, 40};
static const struct reference_conv conv = {1, 16, 14, 14, 32, 3, 3, 1, 1, 0},
                                   fused = {1, 16, 14, 14, 32, 3, 3, 1, 1, 1};

static cl_context context;
static cl_device_id device;
static struct device_desc desc;
static char folder[] = "/tmp/tune-libtune-XXXXXX", log_path[64];

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

#define assert_status(call, wanted)                                                                                    \
    do {                                                                                                               \
        const enum tune_status got_ = (call);                                                                          \
        if (got_ != (wanted))                                                                                          \
            fail_msg("%s: status %d, expected %d: %s", #call, (int)got_, (int)(wanted), tune_words());                 \
    } while (0)

#define assert_words(part)                                                                                             \
    do {                                                                                                               \
        if (!strstr(tune_words(), part))                                                                               \
            fail_msg("expected words with '%s', got '%s'", part, tune_words());                                        \
        assert_null(strchr(tune_words(), '\n'));                                                                       \
    } while (0)

static struct tune *opened(const char *path)
{
    struct tune *t = NULL;

    assert_status(tune_open_cl(path, context, device, NULL, &t), TUNE_OK);
    return t;
}

static struct tune_plan *planned(struct tune *t, const char *workload)
{
    struct tune_plan *p = NULL;

    assert_status(tune_plan_make(t, workload, 0, &p), TUNE_OK);
    return p;
}

static cl_command_queue new_queue(void)
{
    cl_int error = CL_SUCCESS;
    cl_command_queue q = clCreateCommandQueue(context, device, 0, &error);

    assert_int_equal(error, CL_SUCCESS);
    return q;
}

static unsigned seed_of(const struct tune_tensor *t)
{
    return t->role == TUNE_WEIGHT ? (strcmp(t->name, "bias") == 0 ? 3 : 2) : 1;
}

/* A buffer of the tensor's size with whole numbers; outputs are all NaN. */
static cl_mem buffer_of(const struct tune_tensor *t)
{
    float *data = malloc(t->n_bytes);
    cl_int error = CL_SUCCESS;
    cl_mem m;

    assert_non_null(data);
    assert_string_equal(t->dtype, "f32");
    for (unsigned long long i = 0; i < t->n_elems; i++)
        data[i] = t->role == TUNE_OUTPUT ? NAN : (float)reference_value(seed_of(t), (long long)i);
    m = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, t->n_bytes, data, &error);
    assert_int_equal(error, CL_SUCCESS);
    free(data);
    return m;
}

/* A plan with its buffers. */
struct layer {
    struct tune_plan *plan;
    struct tune_weights *weights;
    cl_command_queue queue;
    cl_mem tensors[8], packed_from[8];
    size_t n, n_weights, i_output, n_outputs;
};

static void layer_init(struct layer *l, struct tune *t, const char *workload)
{
    struct tune_plan_info info = {.size = sizeof info};

    *l = (struct layer){.plan = planned(t, workload), .queue = new_queue()};
    assert_status(tune_plan_about(l->plan, &info), TUNE_OK);
    l->n = info.n_tensors;
    l->n_weights = info.n_weights;
    for (size_t i = 0; i < l->n + l->n_weights; i++) {
        const int is_weight = i >= l->n;
        struct tune_tensor tensor = {.size = sizeof tensor};

        assert_status(tune_plan_tensor(l->plan, is_weight, is_weight ? i - l->n : i, &tensor), TUNE_OK);
        *(is_weight ? &l->packed_from[i - l->n] : &l->tensors[i]) = buffer_of(&tensor);
        if (tensor.role == TUNE_OUTPUT) {
            l->i_output = i;
            l->n_outputs = (size_t)tensor.n_elems;
        }
    }
    assert_status(tune_pack_cl(l->plan, l->queue, l->packed_from, l->n_weights, &l->weights), TUNE_OK);
}

static void layer_fini(struct layer *l)
{
    tune_weights_free(l->weights);
    tune_plan_destroy(l->plan);
    for (size_t i = 0; i < l->n; i++)
        clReleaseMemObject(l->tensors[i]);
    for (size_t i = 0; i < l->n_weights; i++)
        clReleaseMemObject(l->packed_from[i]);
    clReleaseCommandQueue(l->queue);
}

/* Runs it and gives the output: free() it. */
static float *layer_run(struct layer *l)
{
    float *y = malloc(l->n_outputs * sizeof *y);

    assert_non_null(y);
    assert_status(tune_execute_cl(l->plan, l->queue, l->tensors, l->n, l->weights), TUNE_OK);
    assert_int_equal(
        clEnqueueReadBuffer(l->queue, l->tensors[l->i_output], CL_TRUE, 0, l->n_outputs * sizeof *y, y, 0, NULL, NULL),
        CL_SUCCESS);
    return y;
}

static double wanted_dense(const void *size, long long i)
{
    return reference_dense(size, i);
}

static double wanted_conv(const void *sizes, long long i)
{
    return reference_conv(sizes, i);
}

/* Elements that differ from the reference; the first is told. */
static size_t n_wrong(const float *y, size_t n, double (*wanted)(const void *sizes, long long i), const void *sizes)
{
    size_t n_bad = 0;

    for (size_t i = 0; i < n; i++) {
        const double want = wanted(sizes, (long long)i);

        if ((double)y[i] != want && n_bad++ == 0)
            fprintf(stderr, "element %zu is %g, expected %g\n", i, (double)y[i], want);
    }
    return n_bad;
}

static void check_layer(struct tune *t, const char *workload, double (*wanted)(const void *sizes, long long i),
                        const void *sizes)
{
    struct layer l;
    float *y;

    layer_init(&l, t, workload);
    y = layer_run(&l);
    assert_int_equal(n_wrong(y, l.n_outputs, wanted, sizes), 0);
    free(y);
    layer_fini(&l);
}

/* ---- plans ---- */

static void a_recorded_workload_is_run_with_its_record(void **state)
{
    struct tune *t = opened(log_path);
    struct tune_plan *p = planned(t, "dense f32 k=40 n=48 m=12");
    struct tune_plan_info info = {.size = sizeof info};
    struct record r;

    (void)state;
    assert_true(sample_log_record(&desc, DENSE, "", 5, 2000, &r)); /* the same draw as in the log */
    assert_status(tune_plan_about(p, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_EXACT);
    assert_string_equal(info.workload, DENSE);
    assert_string_equal(info.recorded, DENSE);
    assert_string_equal(info.template_id, r.template_id);
    assert_float_equal(info.time_ns, 2000, 0);
    assert_float_equal(info.distance, 0, 0);
    assert_float_equal(info.flops, 2.0 * 12 * 48 * 40, 0);
    for (const cJSON *knob = r.knobs->child; knob; knob = knob->next) {
        char text[128];

        if (cJSON_IsString(knob))
            snprintf(text, sizeof text, "%s=%s", knob->string, knob->valuestring);
        else
            snprintf(text, sizeof text, "%s=%.17g", knob->string, knob->valuedouble);
        if (!strstr(info.knobs, text))
            fail_msg("the record has %s, the plan %s", text, info.knobs);
    }
    record_fini(&r);
    tune_plan_destroy(p);
    check_layer(t, DENSE, wanted_dense, dense_size);
    check_layer(t, CONV, wanted_conv, &conv);
    assert_int_equal(tune_missing(t, NULL, 0), 0);
    tune_close(t);
}

static void another_size_is_run_with_the_nearest_record(void **state)
{
    struct tune *t = opened(log_path);
    struct tune_plan *p = planned(t, OTHER_DENSE), *q = planned(t, FUSED);
    struct tune_plan_info info = {.size = sizeof info};

    (void)state;
    assert_status(tune_plan_about(p, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_NEAREST);
    assert_string_equal(info.recorded, DENSE);
    assert_float_equal(info.distance, 1, 1e-9); /* m is twice as large */
    assert_float_equal(info.time_ns, 4000, 1e-6);
    assert_status(tune_plan_about(q, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_NEAREST);
    assert_string_equal(info.recorded, CONV);
    assert_true(info.distance > 0 && info.distance < 0.01);
    assert_int_equal(info.n_weights, 2);
    tune_plan_destroy(p);
    tune_plan_destroy(q);
    check_layer(t, OTHER_DENSE, wanted_dense, other_size);
    check_layer(t, FUSED, wanted_conv, &fused);
    tune_close(t);
}

static void an_operator_without_records_is_run_with_a_default(void **state)
{
    static const struct reference_conv one = {2, 3, 9, 11, 5, 3, 3, 2, 1, 0};
    struct tune *t = opened(NULL);
    struct tune_plan *p = planned(t, DENSE);
    struct tune_plan_info info = {.size = sizeof info};

    (void)state;
    assert_status(tune_plan_about(p, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_DEFAULT);
    assert_string_equal(info.recorded, "");
    assert_true(isnan(info.time_ns));
    assert_true(isinf(info.distance));
    tune_plan_destroy(p);
    check_layer(t, DENSE, wanted_dense, dense_size);
    check_layer(t, "conv2d f32 n=2 c=3 h=9 w=11 k=5 r=3 s=3 stride=2 pad=1", wanted_conv, &one);
    tune_close(t);
}

static void a_plan_tells_its_tensors(void **state)
{
    struct tune *t = opened(log_path);
    struct tune_plan *p = planned(t, FUSED);
    struct tune_tensor x = {.size = sizeof x}, y = x, w = x, bias = x;

    (void)state;
    assert_status(tune_plan_tensor(p, 0, 0, &x), TUNE_OK);
    assert_status(tune_plan_tensor(p, 0, 1, &y), TUNE_OK);
    assert_status(tune_plan_tensor(p, 1, 0, &w), TUNE_OK);
    assert_status(tune_plan_tensor(p, 1, 1, &bias), TUNE_OK);
    assert_string_equal(x.name, "x");
    assert_int_equal(x.role, TUNE_INPUT);
    assert_string_equal(x.layout, "nchw");
    assert_int_equal(x.n_dims, 4);
    assert_int_equal(x.shape[1], 16);
    assert_int_equal(x.n_bytes, 16 * 14 * 14 * 4);
    assert_string_equal(y.name, "y");
    assert_int_equal(y.role, TUNE_OUTPUT);
    assert_int_equal(y.n_elems, 32 * 14 * 14);
    assert_string_equal(w.name, "w");
    assert_int_equal(w.role, TUNE_WEIGHT);
    assert_string_equal(w.dtype, "f32");
    assert_string_equal(bias.name, "bias");
    assert_int_equal(bias.n_elems, 32);
    assert_status(tune_plan_tensor(p, 0, 2, &x), TUNE_BAD_ARGUMENT);
    assert_words("has 2 inputs and outputs: there is no tensor 2");
    assert_status(tune_plan_tensor(p, 1, 2, &x), TUNE_BAD_ARGUMENT);
    tune_plan_destroy(p);
    tune_close(t);
}

/* Bytes of a tensor are those of its type. */
static void sizes_of_tensors_follow_their_types(void **state)
{
    struct tune *t = opened(NULL);
    struct tune_plan *p = planned(t, "dense i8 m=4 n=32 k=64");
    struct tune_tensor x = {.size = sizeof x}, y = x, w = x;

    (void)state;
    assert_status(tune_plan_tensor(p, 0, 0, &x), TUNE_OK);
    assert_status(tune_plan_tensor(p, 0, 1, &y), TUNE_OK);
    assert_status(tune_plan_tensor(p, 1, 0, &w), TUNE_OK);
    assert_string_equal(x.dtype, "i8");
    assert_int_equal(x.n_bytes, 4 * 64);
    assert_string_equal(y.dtype, "i32");
    assert_int_equal(y.n_bytes, 4 * 32 * 4);
    assert_int_equal(w.n_bytes, 32 * 64);
    tune_plan_destroy(p);
    tune_close(t);
}

static void one_plan_runs_with_several_weights(void **state)
{
    struct tune *t = opened(log_path);
    struct layer l;
    struct tune_weights *zero = NULL;
    cl_mem none;
    cl_int error;
    float *first, *second, *zeros = calloc(48 * 40, sizeof *zeros);

    (void)state;
    layer_init(&l, t, DENSE);
    none = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 48 * 40 * sizeof *zeros, zeros, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_status(tune_pack_cl(l.plan, l.queue, &none, 1, &zero), TUNE_OK);
    first = layer_run(&l);
    assert_status(tune_execute_cl(l.plan, l.queue, l.tensors, l.n, zero), TUNE_OK);
    second = malloc(l.n_outputs * sizeof *second);
    assert_int_equal(clEnqueueReadBuffer(l.queue, l.tensors[l.i_output], CL_TRUE, 0, l.n_outputs * sizeof *second,
                                         second, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(n_wrong(first, l.n_outputs, wanted_dense, dense_size), 0);
    for (size_t i = 0; i < l.n_outputs; i++)
        assert_true(second[i] == 0);
    free(first);
    free(second);
    free(zeros);
    tune_weights_free(zero);
    clReleaseMemObject(none);
    layer_fini(&l);
    tune_close(t);
}

static void objects_are_freed_in_any_order(void **state)
{
    struct tune *t = opened(log_path);
    struct layer l;
    float *y;

    (void)state;
    layer_init(&l, t, DENSE);
    tune_close(t); /* the plan keeps it alive */
    y = layer_run(&l);
    assert_int_equal(n_wrong(y, l.n_outputs, wanted_dense, dense_size), 0);
    free(y);
    tune_plan_destroy(l.plan); /* the weights keep it */
    l.plan = NULL;
    layer_fini(&l);
    tune_close(NULL);
    tune_plan_destroy(NULL);
    tune_weights_free(NULL);
}

/* ---- threads ---- */

struct worker {
    struct tune *t;
    int i;
    size_t n_bad;
    char words[256];
};

/* One thread: plans of its own of the shared log, on its own queue. (A failing assert ends the process from here, which
 * fails the test as well.) */
static void work_once(struct worker *me, const char *workload, double (*wanted)(const void *sizes, long long i),
                      const void *sizes)
{
    struct layer l;
    float *y;

    layer_init(&l, me->t, workload);
    y = layer_run(&l);
    me->n_bad += n_wrong(y, l.n_outputs, wanted, sizes);
    free(y);
    layer_fini(&l);
}

static void *work(void *arg)
{
    struct worker *me = arg;
    struct tune_plan *none = NULL;
    char bad[64];

    for (int i = 0; i < 3; i++) {
        work_once(me, (me->i + i) % 2 ? DENSE : OTHER_DENSE, wanted_dense, (me->i + i) % 2 ? dense_size : other_size);
        work_once(me, (me->i + i) % 3 ? CONV : FUSED, wanted_conv, (me->i + i) % 3 ? &conv : &fused);
    }
    snprintf(bad, sizeof bad, "thread%d f32 m=1", me->i);
    if (tune_plan_make(me->t, bad, 0, &none) != TUNE_BAD_WORKLOAD || none)
        me->n_bad++;
    sched_yield();
    snprintf(me->words, sizeof me->words, "%s", tune_words());
    return NULL;
}

static void threads_plan_and_execute_at_once(void **state)
{
    struct tune *t = opened(log_path);
    struct worker workers[N_THREADS];
    pthread_t threads[N_THREADS];

    (void)state;
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.t = t, .i = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        char own[32];

        assert_int_equal(pthread_join(threads[i], NULL), 0);
        snprintf(own, sizeof own, "thread%d", i);
        assert_int_equal(workers[i].n_bad, 0);
        assert_non_null(strstr(workers[i].words, own)); /* each thread has its own words */
    }
    assert_int_equal(tune_missing(t, NULL, 0), 2);
    tune_close(t);
}

struct runner {
    struct layer *l;
    size_t n_failed;
};

static void *execute_often(void *arg)
{
    struct runner *me = arg;
    cl_command_queue queue = new_queue();

    for (int i = 0; i < 50; i++)
        me->n_failed += tune_execute_cl(me->l->plan, queue, me->l->tensors, me->l->n, me->l->weights) != TUNE_OK;
    clFinish(queue);
    clReleaseCommandQueue(queue);
    return NULL;
}

static void threads_share_one_plan(void **state)
{
    struct tune *t = opened(log_path);
    struct layer l;
    struct runner runners[N_THREADS];
    pthread_t threads[N_THREADS];
    float *y;

    (void)state;
    layer_init(&l, t, CONV);
    for (int i = 0; i < N_THREADS; i++) {
        runners[i] = (struct runner){&l, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, execute_often, &runners[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(runners[i].n_failed, 0);
    }
    y = layer_run(&l);
    assert_int_equal(n_wrong(y, l.n_outputs, wanted_conv, &conv), 0);
    free(y);
    layer_fini(&l);
    tune_close(t);
}

/* ---- what was missing ---- */

static void what_was_missing_is_told_once_each(void **state)
{
    struct tune *t = opened(log_path);
    char line[512] = "x", text[4096], cut[20];
    const char *path = path_of("missing.txt");
    FILE *f;
    size_t n;

    (void)state;
    assert_int_equal(tune_missing(t, line, sizeof line), 0);
    assert_string_equal(line, "");
    tune_plan_destroy(planned(t, DENSE));
    tune_plan_destroy(planned(t, OTHER_DENSE));
    tune_plan_destroy(planned(t, "dense f32 k=40 n=48 m=24"));
    tune_plan_destroy(planned(t, "batch_gemm f32 b=2 m=8 n=8 k=8"));
    assert_int_equal(tune_missing(t, line, sizeof line), 2);
    assert_string_equal(line, "2 workloads without a record of sample-device: 1 (distance up to 1) with the nearest "
                              "record's config, 1 with a default; the first: " OTHER_DENSE);
    assert_int_equal(tune_missing(t, cut, sizeof cut), 2);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_status(tune_missing_write(t, path), TUNE_OK);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    assert_non_null(strstr(text, "# key: sample-device\n"));
    assert_non_null(strstr(text, "\n" OTHER_DENSE " # nearest " DENSE ", distance 1\n"));
    assert_non_null(strstr(text, "\nbatch_gemm f32 b=2 m=8 n=8 k=8 # default of batch_gemm/"));
    assert_status(tune_missing_write(t, "/nowhere/at/all"), TUNE_CANNOT_WRITE);
    assert_words("/nowhere/at/all");
    assert_status(tune_missing_write(NULL, path), TUNE_BAD_ARGUMENT);
    assert_int_equal(tune_missing(NULL, line, sizeof line), 0);
    tune_close(t);
}

/* The farthest of the nearest is told, wherever in the list it stands. */
static void the_farthest_of_what_was_missing_is_told(void **state)
{
    static const char *const order[][2] = {{"dense f32 m=48 n=48 k=40", OTHER_DENSE},
                                           {OTHER_DENSE, "dense f32 m=48 n=48 k=40"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tune *t = opened(log_path);
        char line[512];

        tune_plan_destroy(planned(t, order[i][0]));
        tune_plan_destroy(planned(t, order[i][1]));
        assert_int_equal(tune_missing(t, line, sizeof line), 2);
        assert_non_null(strstr(line, ": 2 (distance up to 2) with the nearest")); /* four times as many rows */
        tune_close(t);
    }
}

static void a_record_can_be_demanded(void **state)
{
    struct tune *t = opened(log_path);
    struct tune_plan *p = NULL;

    (void)state;
    assert_status(tune_plan_make(t, OTHER_DENSE, TUNE_RECORDED, &p), TUNE_NO_RECORD);
    assert_words(OTHER_DENSE ": the log has no record of it");
    assert_null(p);
    assert_int_equal(tune_missing(t, NULL, 0), 0);
    assert_status(tune_plan_make(t, DENSE, TUNE_RECORDED, &p), TUNE_OK);
    tune_plan_destroy(p);
    tune_close(t);
}

/* ---- logs ---- */

static void a_log_tells_what_is_in_it(void **state)
{
    const char *path = path_of("damaged.jsonl");
    struct tune *t;
    struct tune_info info = {.size = sizeof info};
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    fputs("{\"schema\":1,\"half a li\n{\"schema\":2,\"id\":\"x\"}\nnoise\n", f);
    fclose(f);
    assert_true(sample_log_add(path, &desc, DENSE, "", 5, 2000));
    t = opened(path);
    assert_status(tune_about(t, &info), TUNE_OK);
    assert_string_equal(info.api, "opencl");
    assert_string_equal(info.device, desc.name);
    assert_string_equal(info.fingerprint, device_desc_fingerprint(&desc).hex);
    assert_string_equal(info.log_fingerprint, info.fingerprint);
    assert_string_equal(info.log_key, "sample-device");
    assert_int_equal(info.n_records, 1);
    assert_int_equal(info.n_bad_lines, 3);
    assert_non_null(strstr(info.bad_line, "damaged.jsonl:1: "));
    assert_status(tune_about(t, NULL), TUNE_BAD_ARGUMENT);
    assert_status(tune_about(NULL, &info), TUNE_BAD_ARGUMENT);
    tune_close(t);
}

static void logs_that_cannot_serve_are_refused_in_words(void **state)
{
    const char *path = path_of("newer.jsonl");
    struct tune *t = NULL;
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    fputs("{\"schema\":99,\"id\":\"x\"}\n", f);
    fclose(f);
    assert_status(tune_open_cl(path, context, device, NULL, &t), TUNE_NO_RECORD);
    assert_words("newer.jsonl:1: ");
    assert_status(tune_open_cl("/nowhere.jsonl", context, device, NULL, &t), TUNE_NO_LOG);
    assert_words("/nowhere.jsonl: No such file");
    assert_status(tune_open_cl(folder, context, device, NULL, &t), TUNE_NO_LOG);
    assert_null(t);
}

static void a_log_of_another_device_is_refused_unless_asked_for(void **state)
{
    const char *path = path_of("other.jsonl");
    struct tune_options any = {.size = sizeof any, .any_device = 1}, key = {.size = sizeof key, .key = "no-such-key"},
                        print = {.size = sizeof print, .fingerprint = "0123"},
                        key_any = {.size = sizeof key_any, .key = "sample-device", .any_device = 1},
                        more = {.size = sizeof more};
    struct device_desc other = desc;
    struct tune_plan *p;
    struct tune_plan_info info = {.size = sizeof info};
    struct tune *t = NULL;

    (void)state;
    snprintf(other.driver, sizeof other.driver, "another version");
    assert_true(sample_log_add(path, &other, DENSE, "", 5, 2000));
    assert_status(tune_open_cl(path, context, device, NULL, &t), TUNE_OTHER_DEVICE);
    assert_words("has no record of this device; it has those of sample-device (");
    assert_words("any_device was not asked for");
    assert_status(tune_open_cl(path, context, device, &any, &t), TUNE_OK);
    p = planned(t, DENSE);
    assert_status(tune_plan_about(p, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_EXACT);
    tune_plan_destroy(p);
    tune_close(t);
    t = NULL;
    assert_status(tune_open_cl(path, context, device, &key_any, &t), TUNE_OK);
    tune_close(t);
    t = NULL;
    assert_status(tune_open_cl(log_path, context, device, &key, &t), TUNE_NO_RECORD);
    assert_words("it has those of sample-device");
    assert_status(tune_open_cl(log_path, context, device, &print, &t), TUNE_NO_RECORD);
    other.units++;
    assert_true(sample_log_add(path, &other, DENSE, "", 5, 2000));
    assert_status(tune_open_cl(path, context, device, NULL, &t), TUNE_OTHER_DEVICE);
    assert_words("any_device was not asked for"); /* of several others too */
    assert_status(tune_open_cl(path, context, device, &any, &t), TUNE_OTHER_DEVICE);
    assert_words("several devices");
    assert_true(sample_log_add(path, &desc, DENSE, "", 5, 2000)); /* among others its own are found */
    assert_status(tune_open_cl(path, context, device, NULL, &t), TUNE_OK);
    tune_close(t);
    more.threads = (int)desc.threads + 1;
    assert_status(tune_open_cl(log_path, context, device, &more, &t), TUNE_OTHER_DEVICE);
    if (desc.threads > 0)
        assert_words("before OpenCL is opened, or tune with --threads ");
    assert_null(strstr(tune_status_words(TUNE_OTHER_DEVICE), "unknown"));
    assert_string_equal(tune_status_words((enum tune_status)99), "unknown status");
}

/* ---- bad calls ---- */

static void workloads_that_are_none_are_refused_in_words(void **state)
{
    struct tune *t = opened(log_path);
    struct tune_plan *p = NULL;
    char *monster = malloc(1 << 20);

    (void)state;
    memset(monster, 'a', (1 << 20) - 1);
    monster[(1 << 20) - 1] = '\0';
    assert_status(tune_plan_make(t, "convolve f32 n=1", 0, &p), TUNE_BAD_WORKLOAD);
    assert_words("convolve");
    assert_status(tune_plan_make(t, "dense f32 m=0 n=4 k=4", 0, &p), TUNE_BAD_WORKLOAD);
    assert_words("m=0: expected 1 to ");
    assert_status(tune_plan_make(t, "", 0, &p), TUNE_BAD_WORKLOAD);
    assert_status(tune_plan_make(t, monster, 0, &p), TUNE_BAD_WORKLOAD);
    assert_status(tune_plan_make(t, DENSE, 64, &p), TUNE_BAD_ARGUMENT);
    assert_status(tune_plan_make(NULL, DENSE, 0, &p), TUNE_BAD_ARGUMENT);
    assert_status(tune_plan_make(t, NULL, 0, &p), TUNE_BAD_ARGUMENT);
    assert_status(tune_plan_make(t, DENSE, 0, NULL), TUNE_BAD_ARGUMENT);
    assert_null(p);
    free(monster);
    tune_close(t);
}

static void opening_checks_its_arguments(void **state)
{
    struct tune_options no_size = {.any_device = 1}, negative = {.size = sizeof negative, .threads = -1};
    struct tune *t = NULL;

    (void)state;
    assert_status(tune_open_cl(log_path, NULL, device, NULL, &t), TUNE_BAD_ARGUMENT);
    assert_status(tune_open_cl(log_path, context, NULL, NULL, &t), TUNE_BAD_ARGUMENT);
    assert_status(tune_open_cl(log_path, context, device, NULL, NULL), TUNE_BAD_ARGUMENT);
    assert_status(tune_open_cl(log_path, context, device, &no_size, &t), TUNE_BAD_ARGUMENT);
    assert_words("tune_options: expected its size");
    assert_status(tune_open_cl(log_path, context, device, &negative, &t), TUNE_BAD_ARGUMENT);
    assert_null(t);
}

static void calls_check_their_buffers(void **state)
{
    struct tune *t = opened(log_path);
    struct layer l, other;
    struct tune_weights *none = NULL;
    unsigned long long address = 0;
    cl_mem swapped[2];

    (void)state;
    layer_init(&l, t, DENSE);
    layer_init(&other, t, OTHER_DENSE);
    assert_status(tune_execute_cl(l.plan, l.queue, l.tensors, l.n, NULL), TUNE_NOT_PACKED);
    assert_words("executed without weights; pack w first");
    assert_status(tune_execute_cl(l.plan, l.queue, l.tensors, l.n, other.weights), TUNE_NOT_PACKED);
    assert_words("packed for another plan, " OTHER_DENSE);
    assert_status(tune_execute_cl(l.plan, l.queue, l.tensors, 1, l.weights), TUNE_BAD_ARGUMENT);
    assert_words("1 buffers given, expected 2: x y");
    assert_status(tune_execute_cl(l.plan, l.queue, l.tensors, 3, l.weights), TUNE_BAD_ARGUMENT);
    assert_words("3 buffers given, expected 2: x y");
    assert_status(tune_pack_cl(l.plan, l.queue, l.packed_from, 2, &none), TUNE_BAD_ARGUMENT);
    assert_status(tune_execute_cl(l.plan, l.queue, NULL, 2, l.weights), TUNE_BAD_ARGUMENT);
    assert_status(tune_execute_cl(l.plan, NULL, l.tensors, 2, l.weights), TUNE_BAD_ARGUMENT);
    assert_status(tune_execute_cl(NULL, l.queue, l.tensors, 2, l.weights), TUNE_BAD_ARGUMENT);
    assert_status(tune_pack_cl(l.plan, l.queue, l.packed_from, 0, &none), TUNE_BAD_ARGUMENT);
    assert_words("0 buffers given, expected 1: w");
    assert_status(tune_pack_cl(l.plan, l.queue, l.packed_from, 1, NULL), TUNE_BAD_ARGUMENT);
    assert_status(tune_pack_cl(l.plan, l.queue, NULL, 1, &none), TUNE_BAD_ARGUMENT);
    assert_status(tune_execute_cuda(l.plan, NULL, &address, 1, l.weights), TUNE_BAD_ARGUMENT);
    assert_words("the plan is for opencl, the call for cuda");
    swapped[0] = l.tensors[0]; /* 12 rows where 24 are read */
    swapped[1] = other.tensors[1];
    assert_status(tune_execute_cl(other.plan, other.queue, swapped, 2, other.weights), TUNE_BAD_ARGUMENT);
    assert_words("x");
    assert_null(none);
    layer_fini(&l);
    layer_fini(&other);
    tune_close(t);
}

static int set_up(void **state)
{
    cl_platform_id platform;
    cl_uint n = 0;
    cl_int error = CL_SUCCESS;
    struct why why = {""};

    (void)state;
    if (clGetPlatformIDs(1, &platform, &n) != CL_SUCCESS || n == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &n) != CL_SUCCESS) {
        print_message("skipped: no OpenCL device\n");
        exit(77);
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error != CL_SUCCESS || given_opencl(context, device, 0, &desc, &why) || !mkdtemp(folder)) {
        print_message("%s\n", why.text);
        return 1;
    }
    snprintf(log_path, sizeof log_path, "%s/best.jsonl", folder);
    return sample_log_add(log_path, &desc, DENSE, "", 5, 2000) && sample_log_add(log_path, &desc, CONV, "", 6, 9000)
               ? 0
               : 1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"best.jsonl", "missing.txt", "damaged.jsonl", "newer.jsonl", "other.jsonl"};

    (void)state;
    clReleaseContext(context);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove(path_of(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_workload_is_run_with_its_record),
        cmocka_unit_test(another_size_is_run_with_the_nearest_record),
        cmocka_unit_test(an_operator_without_records_is_run_with_a_default),
        cmocka_unit_test(a_plan_tells_its_tensors),
        cmocka_unit_test(sizes_of_tensors_follow_their_types),
        cmocka_unit_test(one_plan_runs_with_several_weights),
        cmocka_unit_test(objects_are_freed_in_any_order),
        cmocka_unit_test(threads_plan_and_execute_at_once),
        cmocka_unit_test(threads_share_one_plan),
        cmocka_unit_test(what_was_missing_is_told_once_each),
        cmocka_unit_test(the_farthest_of_what_was_missing_is_told),
        cmocka_unit_test(a_record_can_be_demanded),
        cmocka_unit_test(a_log_tells_what_is_in_it),
        cmocka_unit_test(logs_that_cannot_serve_are_refused_in_words),
        cmocka_unit_test(a_log_of_another_device_is_refused_unless_asked_for),
        cmocka_unit_test(workloads_that_are_none_are_refused_in_words),
        cmocka_unit_test(opening_checks_its_arguments),
        cmocka_unit_test(calls_check_their_buffers),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
