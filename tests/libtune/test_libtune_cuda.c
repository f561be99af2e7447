/* SPDX-License-Identifier: MIT */
/* libtune on a CUDA device: the emulated one, whose kernels run on the CPU. */
#include "core/file.h"
#include "libtune/tune.h"
#include "runtime/given.h"
#include "tests/cuda/emulated.h"
#include "tests/libtune/reference.h"
#include "tests/libtune/sample_log.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DENSE "dense f32 m=12 n=48 k=40"
#define OTHER "dense f32 m=24 n=48 k=40"

static char folder[] = "/tmp/tune-libtune-XXXXXX", log_path[64];
static CUcontext context;

#define assert_status(call, wanted)                                                                                    \
    do {                                                                                                               \
        const enum tune_status got_ = (call);                                                                          \
        if (got_ != (wanted))                                                                                          \
            fail_msg("%s: status %d, expected %d: %s", #call, (int)got_, (int)(wanted), tune_words());                 \
    } while (0)

/* A buffer of the tensor's size with whole numbers; outputs are all NaN. */
static CUdeviceptr buffer_of(const struct tune_plan *p, int is_weight, size_t i)
{
    struct tune_tensor t = {.size = sizeof t};
    CUdeviceptr at;
    float *data;

    assert_status(tune_plan_tensor(p, is_weight, i, &t), TUNE_OK);
    data = malloc(t.n_bytes);
    assert_non_null(data);
    for (unsigned long long j = 0; j < t.n_elems; j++)
        data[j] = t.role == TUNE_OUTPUT ? NAN : (float)reference_value(t.role == TUNE_WEIGHT ? 2 : 1, (long long)j);
    at = emulated_buffer(data, t.n_bytes);
    free(data);
    return at;
}

static void check_dense(struct tune_plan *p, const long long size[3])
{
    unsigned long long x = buffer_of(p, 0, 0), y = buffer_of(p, 0, 1), w = buffer_of(p, 1, 0), tensors[2] = {x, y};
    const size_t n = (size_t)(size[0] * size[1]);
    float *got = malloc(n * sizeof *got);
    struct tune_weights *weights = NULL;

    assert_non_null(got);
    assert_status(tune_pack_cuda(p, NULL, &w, 1, &weights), TUNE_OK);
    assert_status(tune_execute_cuda(p, NULL, tensors, 2, weights), TUNE_OK);
    assert_int_equal(cuda.cuCtxSynchronize(), 0);
    emulated_read(got, y, n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        if ((double)got[i] != reference_dense(size, (long long)i))
            fail_msg("element %zu is %g, expected %g", i, (double)got[i], reference_dense(size, (long long)i));
    tune_weights_free(weights);
    cuda.cuMemFree_v2(x);
    cuda.cuMemFree_v2(y);
    cuda.cuMemFree_v2(w);
    free(got);
}

static void recorded_and_nearest_plans_compute_the_definition(void **state)
{
    static const long long size[3] = {12, 48, 40}, other[3] = {24, 48, 40};
    struct tune *t = NULL;
    struct tune_plan *p = NULL, *q = NULL;
    struct tune_plan_info info = {.size = sizeof info};
    struct tune_info about = {.size = sizeof about};

    (void)state;
    assert_status(tune_open_cuda(log_path, context, NULL, &t), TUNE_OK);
    assert_status(tune_about(t, &about), TUNE_OK);
    assert_string_equal(about.api, "cuda");
    assert_int_equal(about.n_records, 1);
    assert_status(tune_plan_make(t, DENSE, TUNE_RECORDED, &p), TUNE_OK);
    assert_status(tune_plan_make(t, OTHER, 0, &q), TUNE_OK);
    assert_status(tune_plan_about(q, &info), TUNE_OK);
    assert_int_equal(info.choice, TUNE_NEAREST);
    check_dense(p, size);
    check_dense(q, other);
    tune_plan_destroy(p);
    tune_plan_destroy(q);
    tune_close(t);
}

/* Structs of tune.h as an application of an earlier header has them, and of a later one. */
struct earlier_info {
    size_t size;
    const char *api, *device;
};

struct later_options {
    struct tune_options known;
    const char *later;
};

static void callers_of_earlier_headers_keep_what_lies_behind_their_structs(void **state)
{
    struct {
        struct earlier_info info;
        unsigned char behind[sizeof(struct tune_info)];
    } caller = {.info = {.size = sizeof caller.info}};
    struct tune_info unset = {.size = 0};
    struct tune *t = NULL;

    (void)state;
    assert_status(tune_open_cuda(log_path, context, NULL, &t), TUNE_OK);
    memset(caller.behind, 0xa5, sizeof caller.behind);
    assert_status(tune_about(t, (struct tune_info *)(void *)&caller.info), TUNE_OK);
    assert_int_equal(caller.info.size, sizeof caller.info);
    assert_string_equal(caller.info.api, "cuda");
    assert_true(caller.info.device && *caller.info.device);
    for (size_t i = 0; i < sizeof caller.behind; i++)
        assert_int_equal(caller.behind[i], 0xa5);
    assert_status(tune_about(t, &unset), TUNE_BAD_ARGUMENT);
    assert_non_null(strstr(tune_words(), "tune_info: expected its size"));
    assert_null(unset.api);
    tune_close(t);
}

static void options_of_later_headers_are_refused_where_they_are_set(void **state)
{
    struct later_options options = {.known = {.size = sizeof options}};
    struct tune *t = NULL;

    (void)state;
    assert_status(tune_open_cuda(log_path, context, &options.known, &t), TUNE_OK);
    tune_close(t);
    t = NULL;
    options.later = "asked for";
    assert_status(tune_open_cuda(log_path, context, &options.known, &t), TUNE_BAD_ARGUMENT);
    assert_non_null(strstr(tune_words(), "tune_options: a member is set that libtune "));
    assert_null(t);
}

static void without_a_compiler_plans_fail_in_words(void **state)
{
    const char *nvrtc_was = getenv("TUNE_NVRTC");
    struct tune *t = NULL;
    struct tune_plan *p = NULL;

    (void)state;
    assert_status(tune_open_cuda(NULL, NULL, NULL, &t), TUNE_OK); /* the thread's current context */
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    assert_status(tune_plan_make(t, DENSE, 0, &p), TUNE_BUILD_FAILED);
    assert_non_null(strstr(tune_words(), "/nowhere/libnvrtc.so"));
    assert_null(p);
    setenv("TUNE_NVRTC", nvrtc_was, 1);
    assert_status(tune_plan_make(t, DENSE, 0, &p), TUNE_OK);
    tune_plan_destroy(p);
    tune_close(t);
}

/* A config that was fast for another size may not build for this one: then the template's default is taken. What was
 * recorded for this size, and the default itself, fail. The compiler refuses its next program while a file is there. */
static void a_nearest_config_that_does_not_build_gives_way_to_the_default(void **state)
{
    static const char text[] = "#!/bin/sh\nif rm \"$0.refuse\" 2>/dev/null; then exit 1; fi\nexec g++ \"$@\"\n";
    static const long long size[3] = {24, 48, 40};
    const struct {
        const char *log, *workload;
        enum tune_status status;
    } cases[] = {{log_path, DENSE, TUNE_BUILD_FAILED}, {NULL, DENSE, TUNE_BUILD_FAILED}, {log_path, OTHER, TUNE_OK}};
    char compiler[128], refuse[160];

    (void)state;
    snprintf(compiler, sizeof compiler, "%s/refuser", folder);
    snprintf(refuse, sizeof refuse, "%s.refuse", compiler);
    assert_int_equal(file_replace(compiler, text, sizeof text - 1, 0755, NULL), ERR_OK);
    setenv("TUNE_NVRTC_CXX", compiler, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tune_plan_info info = {.size = sizeof info};
        struct tune *t = NULL;
        struct tune_plan *p = NULL;

        assert_status(tune_open_cuda(cases[i].log, context, NULL, &t), TUNE_OK);
        assert_int_equal(file_replace(refuse, "", 0, 0644, NULL), ERR_OK);
        assert_status(tune_plan_make(t, cases[i].workload, 0, &p), cases[i].status);
        assert_int_not_equal(access(refuse, F_OK), 0);
        if (p) {
            assert_status(tune_plan_about(p, &info), TUNE_OK);
            assert_int_equal(info.choice, TUNE_DEFAULT);
            check_dense(p, size);
        }
        tune_plan_destroy(p);
        tune_close(t);
    }
    unsetenv("TUNE_NVRTC_CXX");
    remove(compiler);
}

static void calls_of_the_other_api_are_refused(void **state)
{
    struct tune *t = NULL;
    struct tune_plan *p = NULL;
    struct tune_weights *w = NULL;
    unsigned long long nothing[2] = {0, 0};
    struct _cl_mem *no_mems[2] = {NULL, NULL};
    int queue;

    (void)state;
    assert_status(tune_open_cuda(log_path, context, NULL, &t), TUNE_OK);
    assert_status(tune_plan_make(t, DENSE, 0, &p), TUNE_OK);
    assert_status(tune_execute_cl(p, (struct _cl_command_queue *)&queue, no_mems, 2, NULL), TUNE_BAD_ARGUMENT);
    assert_non_null(strstr(tune_words(), "the plan is for cuda, the call for opencl"));
    assert_status(tune_execute_cuda(p, NULL, nothing, 2, NULL), TUNE_NOT_PACKED);
    assert_status(tune_pack_cuda(p, NULL, nothing, 2, &w), TUNE_BAD_ARGUMENT);
    assert_status(tune_open_cuda(log_path, context, NULL, NULL), TUNE_BAD_ARGUMENT);
    tune_plan_destroy(p);
    tune_close(t);
}

static int set_up(void **state)
{
    struct device_desc d;
    struct why why = {""};

    (void)state;
    context = emulated_start("80");
    snprintf(log_path, sizeof log_path, "%s/best.jsonl", mkdtemp(folder) ? folder : "");
    if (given_cuda(0, &d, &why)) {
        print_message("%s\n", why.text);
        return 1;
    }
    return sample_log_add(log_path, &d, DENSE, "", 5, 2000) ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    remove(log_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_and_nearest_plans_compute_the_definition),
        cmocka_unit_test(callers_of_earlier_headers_keep_what_lies_behind_their_structs),
        cmocka_unit_test(options_of_later_headers_are_refused_where_they_are_set),
        cmocka_unit_test(without_a_compiler_plans_fail_in_words),
        cmocka_unit_test(a_nearest_config_that_does_not_build_gives_way_to_the_default),
        cmocka_unit_test(calls_of_the_other_api_are_refused),
    };
    int e;

    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 1);
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    e = emulated_open();
    return e ? e : cmocka_run_group_tests(tests, set_up, tear_down);
}
