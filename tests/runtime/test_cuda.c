/* SPDX-License-Identifier: MIT */
/* The CUDA backend on the emulated driver (tests/cuda): the contract of all backends, and what is its own. */
#include "core/file.h"
#include "runtime/cuda.h"
#include "runtime/cuda_made.h"
#include "runtime/nvrtc.h"
#include "tests/runtime/contract.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_ops *ops;
static struct device *device;
static char cache[PATH_MAX], calls[PATH_MAX + 8]; /* calls: the emulated driver's log */

static void needs_over_the_device_are_limits(void **state)
{
    static const struct {
        int64_t dim[3];
        bool grid;
        const char *words;
    } cases[] = {{{1, 1, 65}, false, "65 work-items in dimension 2"},
                 {{1024, 2, 1}, false, "work-groups of 2048"},
                 {{1, 65536, 1}, true, "65536 blocks in dimension 1"},
                 {{1, 1, 65536}, true, "65536 blocks in dimension 2"}};
    struct sample s;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample_add(&s, sample_add_text);
        memcpy(cases[i].grid ? s.program.launches[0].grid : s.program.launches[0].block, cases[i].dim,
               sizeof cases[i].dim);
        contract_expect(&s, ERR_LIMITS, cases[i].words);
    }
    sample_add(&s, sample_add_text);
    strcpy(s.program.extensions, "no_such_unit");
    contract_expect(&s, ERR_LIMITS, "no extension no_such_unit");
    sample_add(&s, sample_add_text);
    strcpy(s.program.api, "opencl");
    contract_expect(&s, ERR_LIMITS, "the program is for opencl, the device is CUDA");
    sample_add(&s, sample_add_text);
    s.program.modules[0].lang = LANG_OPENCL_C;
    contract_expect(&s, ERR_LIMITS, "is not CUDA C");
    sample_add(&s, sample_add_text);
    s.program.launches[0].dyn_local = (int64_t)1 << 30;
    contract_expect(&s, ERR_LIMITS, "bytes of shared memory");
    sample_add(&s, sample_add_text);
    program_arg_int(&s.program.launches[0], ARG_LOCAL, 64);
    contract_expect(&s, ERR_LIMITS, "dyn_local");
}

static void built_kernel_s_own_limit_counts(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, "extern \"C\" __global__ void __launch_bounds__(32) add(const float *a, const float *b, float *y, "
                   "int n)\n{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a[i] + b[i]; }\n");
    contract_expect(&s, ERR_LIMITS, "the built kernel add allows 32");
}

/* The mutant: nobody waits. What two queues share has an order, or the program is none. */
static void queues_that_do_not_wait_are_refused(void **state)
{
    struct sample s;

    (void)state;
    sample_queues(&s);
    for (int i = 1; i < 3; i++)
        s.program.launches[i].n_after = 0;
    contract_expect(&s, ERR_INPUT, "are on two queues and share 'x'");
}

/* Reads a buffer of one whole number after each of `n` runs, which must all leave `wanted`. */
static void run_and_read(struct loaded *l, int n, int i_buffer, int wanted)
{
    struct why why = {""};

    for (int i = 0; i < n; i++) {
        int64_t device_ns = -1, wall_ns = -1;
        int got = -1;

        if (ops->run(l, PHASE_RUN, &device_ns, &wall_ns, &why) || ops->read(l, i_buffer, &got, &why))
            fail_msg("run %d: %s", i, why.text);
        assert_int_equal(got, wanted);
        assert_true(device_ns > 0 && wall_ns > 0);
    }
}

static int count_calls(const char *name)
{
    char line[600];
    FILE *f = fopen(calls, "r");
    int n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strncmp(line, name, strlen(name)) == 0;
    if (f)
        fclose(f);
    return n;
}

/* Directly first, then as a graph: the answers stay, and so does the order between queues. */
static void launch_lists_become_graphs_and_say_the_same(void **state)
{
    static void (*const samples[])(struct sample *) = {sample_queues, sample_loops};
    static const int i_buffer[] = {2, 0}, wanted[] = {21, 0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const int graphs = count_calls("cuGraphLaunch");
        struct sample s;
        struct loaded *l = NULL;
        struct why why = {""};
        int first = 0;

        samples[i](&s);
        if (ops->load(device, &s.program, &s.blobs, cache, &l, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, &why), ERR_OK);
        assert_int_equal(ops->read(l, i_buffer[i], &first, &why), ERR_OK);
        if (wanted[i])
            assert_int_equal(first, wanted[i]);
        run_and_read(l, 9, i_buffer[i], first);
        assert_true(count_calls("cuGraphLaunch") >= graphs + 3);
        ops->unload(l);
        sample_fini(&s);
    }
}

/* Two launches of one kernel: the one with less shared memory comes last, and the other still gets its own. */
static void launches_of_one_kernel_share_what_was_asked_for(void **state)
{
    const int64_t bytes = ops->describe(device)->local_max_bytes;

    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct sample s;
        struct program_launch *l;

        sample_add(&s, "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
                       "{ extern __shared__ float s[]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
                       "  s[t] = i < n ? a[i] : 0; __syncthreads(); if (i < n) y[i] = s[t] + b[i]; }\n");
        s.program.launches[0].dyn_local = swap ? 50000 : bytes;
        l = sample_launch(&s, "add", (SAMPLE_N + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK, SAMPLE_BLOCK);
        for (int i = 0; i < 3; i++)
            program_arg_buffer(l, i);
        program_arg_int(l, ARG_I32, SAMPLE_N);
        l->dyn_local = swap ? bytes : 50000;
        contract_expect(&s, ERR_OK, "");
    }
}

static void single_launches_are_no_graphs(void **state)
{
    const int graphs = count_calls("cuGraphLaunch");
    struct sample s;
    struct loaded *l = NULL;

    (void)state;
    sample_add(&s, sample_add_text);
    assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, NULL, NULL), ERR_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
    assert_int_equal(count_calls("cuGraphLaunch"), graphs);
    ops->unload(l);
    sample_fini(&s);
}

static const char shared_text[] =
    "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
    "{ extern __shared__ float s[]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
    "  s[LAST - t] = i < n ? a[i] : 0; __syncthreads(); if (i < n) y[i] = s[LAST - t] + b[i]; }\n";

static void more_shared_memory_is_asked_for(void **state)
{
    const int64_t bytes = ops->describe(device)->local_max_bytes;
    struct sample s;

    (void)state;
    assert_true(bytes > 49152);
    for (int over = 0; over < 2; over++) {
        sample_add(&s, shared_text);
        program_define(&s.program.modules[0], "LAST", bytes / 4 - 1);
        s.program.launches[0].dyn_local = bytes + over;
        contract_expect(&s, over ? ERR_LIMITS : ERR_OK, over ? "bytes of shared memory" : "");
    }
    sample_add(&s, shared_text);
    program_define(&s.program.modules[0], "LAST", 63);
    s.program.launches[0].dyn_local = 256;
    contract_expect(&s, ERR_OK, "");
}

static void cooperative_launches_have_to_fit(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, sample_add_text);
    s.program.launches[0].cooperative = true;
    contract_expect(&s, ERR_OK, "");
    sample_add(&s, sample_add_text);
    s.program.launches[0].cooperative = true;
    s.program.launches[0].grid[0] = 1000000;
    contract_expect(&s, ERR_LIMITS, "1000000 blocks at the same time");
    sample_add(&s, sample_add_text); /* as many as fit on all units: 32 on each of 108 */
    s.program.launches[0].cooperative = true;
    s.program.launches[0].grid[0] = 32 * 108;
    contract_expect(&s, ERR_OK, "");
    sample_add(&s, sample_add_text);
    s.program.launches[0].cooperative = true;
    s.program.launches[0].grid[0] = 32 * 108 + 1;
    contract_expect(&s, ERR_LIMITS, "3457 blocks at the same time, 3456 fit (32 on each of 108)");
}

static void kernel_s_resources_are_reported(void **state)
{
    struct sample s;

    (void)state;
    for (int i = 0; i < 2; i++) { /* compiled, then kept */
        struct load_report report = {0};
        struct loaded *l = NULL;

        sample_add(&s, "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
                       "{ __shared__ float t[64]; int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  t[threadIdx.x] = i < n ? b[i] : 0; __syncthreads();\n"
                       "  if (i < n) y[i] = a[i] + t[threadIdx.x]; }\n");
        assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, &report, NULL), ERR_OK);
        assert_int_equal(report.n_resources, 1);
        assert_string_equal(report.resources[0].kernel, "add");
        assert_int_equal(report.resources[0].local_bytes, 256);
        assert_true(report.resources[0].registers >= 0 && report.resources[0].max_group >= 64);
        assert_int_equal(report.build_cached, i == 1);
        free(report.log);
        ops->unload(l);
        sample_fini(&s);
    }
}

/* Loads a sample of its own (`number`) and unloads; the report's log is freed. */
static enum err load_numbered(int number, struct load_report *report, struct why *why)
{
    struct loaded *l = NULL;
    struct sample s;
    enum err e;

    *report = (struct load_report){0};
    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "NUMBER", number);
    e = ops->load(device, &s.program, &s.blobs, cache, &l, report, why);
    if (l)
        ops->unload(l);
    free(report->log);
    sample_fini(&s);
    return e;
}

/* Puts nonsense where that sample's cubin is kept, as made by `by`. */
static void keep_nonsense(int number, const char *by)
{
    static const char nonsense[100] = "nonsense";
    struct cuda_made made = {.compiler = "NVRTC 12.9"};
    char name[NVRTC_NAME_BYTES], path[PATH_MAX + NVRTC_NAME_BYTES + 1];
    struct sample s;

    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "NUMBER", number);
    nvrtc_cache_name(&s.program.modules[0], (int)ops->describe(device)->sm, name);
    snprintf(path, sizeof path, "%s/%s", cache, name);
    snprintf(made.by, sizeof made.by, "%s", by);
    assert_int_equal(cuda_made_write(path, &made, NULL), ERR_OK);
    assert_int_equal(file_replace(path, nonsense, sizeof nonsense, 0600, NULL), ERR_OK);
    sample_fini(&s);
}

static void code_made_here_tells_its_compiler_kept_or_not(void **state)
{
    struct load_report report;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load_numbered(1, &report, NULL), ERR_OK);
        assert_int_equal(report.build_cached, i == 1);
        assert_string_equal(report.compiler, "NVRTC 13.0");
        assert_string_equal(report.built_by, "");
    }
}

static void kept_code_that_is_refused_is_made_anew_where_it_is_our_own(void **state)
{
    struct load_report report;

    (void)state;
    keep_nonsense(2, "");
    assert_int_equal(load_numbered(2, &report, NULL), ERR_OK);
    assert_false(report.build_cached);
    assert_string_equal(report.compiler, "NVRTC 13.0");
    assert_int_equal(load_numbered(2, &report, NULL), ERR_OK); /* and kept */
    assert_true(report.build_cached);
}

static void code_of_a_builder_that_is_refused_is_not_made_anew(void **state)
{
    struct load_report report;
    struct why why = {""};

    (void)state;
    keep_nonsense(3, "b1");
    for (int i = 0; i < 2; i++) { /* nor has the first try left anything */
        assert_int_equal(load_numbered(3, &report, &why), ERR_COMPILE);
        assert_non_null(strstr(why.text, "module 'main': CUDA_ERROR_"));
        assert_non_null(strstr(why.text, "or damaged"));
        assert_non_null(strstr(why.text, "made by a builder: b1, NVRTC 12.9"));
        assert_string_equal(report.built_by, "b1");
        assert_string_equal(report.compiler, "NVRTC 12.9");
    }
}

static void nothing_is_compiled_where_that_is_left_to_builders(void **state)
{
    struct load_report report;
    struct why why = {""};

    (void)state;
    assert_int_equal(load_numbered(4, &report, NULL), ERR_OK);
    setenv("TUNE_NO_BUILD", "1", 1);
    assert_int_equal(load_numbered(4, &report, &why), ERR_OK); /* what is there is used */
    assert_int_equal(load_numbered(5, &report, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "--no-build"));
    keep_nonsense(6, "");
    assert_int_equal(load_numbered(6, &report, &why), ERR_NOT_FOUND);
    unsetenv("TUNE_NO_BUILD");
    assert_int_equal(load_numbered(5, &report, NULL), ERR_OK);
}

/* Compiled ahead, the device is not touched; then load finds it. */
static void modules_are_compiled_ahead_of_loading(void **state)
{
    struct sample s;
    struct load_report report = {0};
    struct loaded *l = NULL;
    struct why why = {""};
    int before;

    (void)state;
    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "AHEAD", 1);
    before = count_calls("cu");
    assert_int_equal(ops->compile(device, &s.program, &s.blobs, cache, &report, &why), ERR_OK);
    assert_int_equal(count_calls("cu"), before);
    assert_false(report.build_cached);
    assert_true(report.build_ns > 0);
    free(report.log);
    assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, &report, &why), ERR_OK);
    assert_true(report.build_cached);
    free(report.log);
    ops->unload(l);
    sample_fini(&s);
    sample_add(&s, "nonsense");
    assert_int_equal(ops->compile(device, &s.program, &s.blobs, cache, &report, &why), ERR_COMPILE);
    free(report.log);
    sample_fini(&s);
}

static void device_is_described(void **state)
{
    const struct device_desc *d = ops->describe(device);
    struct sense now;

    (void)state;
    assert_string_equal(d->api, "cuda");
    assert_int_equal(d->sm, 80);
    assert_int_equal(d->units, 108);
    assert_int_equal(d->local_max_bytes, 163 * 1024);
    assert_int_equal(d->max_local[2], 64);
    assert_true(d->global_bytes > (int64_t)1 << 30);
    assert_non_null(strstr(d->extensions, "cp_async"));
    assert_int_equal(ops->sense(device, &now), ERR_OK);
}

static void selectors_are_read(void **state)
{
    static const struct {
        const char *selector, *words;
        enum err e;
    } cases[] = {{"7", "no CUDA device 7: there is 1, numbered from 0", ERR_NOT_FOUND},
                 {"x", "expected a number from 0 or a GPU-UUID", ERR_INPUT},
                 {"0,fast", "unknown option 'fast'", ERR_INPUT},
                 {"0,graph=maybe", "unknown option 'graph=maybe'", ERR_INPUT},
                 {"GPU-00", "no CUDA device GPU-00", ERR_NOT_FOUND}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device *none = NULL;
        struct why why = {""};

        assert_int_equal(ops->open(cases[i].selector, &none, &why), cases[i].e);
        if (!strstr(why.text, cases[i].words))
            fail_msg("'%s', expected '%s'", why.text, cases[i].words);
        assert_null(none);
    }
}

/* A cold cache is another device to records, and costs a write of more than the cache before each run. */
static void cold_device_flushes_and_has_another_fingerprint(void **state)
{
    const struct sha256 warm = device_desc_fingerprint(ops->describe(device));
    struct device *cold = NULL;
    struct why why = {""};
    struct sample s;
    int before;

    (void)state;
    if (ops->open("0,cold,graph=off", &cold, &why))
        fail_msg("%s", why.text);
    assert_string_not_equal(device_desc_fingerprint(ops->describe(cold)).hex, warm.hex);
    assert_int_equal(cold->flush_bytes, 2 * ops->describe(cold)->cache_bytes);
    before = count_calls("cuMemsetD32Async");
    contract_use(ops, cold, cache);
    sample_add(&s, sample_add_text);
    contract_expect(&s, ERR_OK, "");
    contract_use(ops, device, cache);
    assert_true(count_calls("cuMemsetD32Async") > before); /* the program itself sets nothing */
    ops->close(cold);
}

static bool note_device(const char *selector, const struct device_desc *d, void *arg)
{
    char *out = arg;

    snprintf(out, 200, "%s %s", selector, d->name);
    return true;
}

static void devices_are_listed(void **state)
{
    char found[200] = "";

    (void)state;
    assert_int_equal(ops->list(note_device, found, NULL), ERR_OK);
    assert_non_null(strstr(found, "0 "));
    assert_non_null(strstr(found, "sm_80"));
}

static int open_device(void)
{
    struct why why = {""};

    if (dir_temporary("tune-test-cuda", cache, sizeof cache, NULL))
        return 1;
    snprintf(calls, sizeof calls, "%s/calls", cache);
    setenv("TUNE_CUDA_LOG", calls, 1);
    setenv("TUNE_CUDA_SM", "80", 1);
    ops = device_find("cuda");
    if (!ops || ops->open("", &device, &why))
        printf("%s\n", why.text);
    contract_use(ops, device, cache);
    return device ? 0 : 1;
}

static int close_device(void **state)
{
    char line[600];
    FILE *f;
    int n_wrong = 0;

    (void)state;
    ops->close(device); /* the last one: the driver tells what its context still held */
    f = fopen(calls, "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "left over") && !strstr(line, "buffers=0 streams=0 events=0")) {
            printf("%s", line);
            n_wrong++;
        }
    if (f)
        fclose(f);
    dir_remove(cache);
    return n_wrong;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_over_the_device_are_limits),
        cmocka_unit_test(built_kernel_s_own_limit_counts),
        cmocka_unit_test(queues_that_do_not_wait_are_refused),
        cmocka_unit_test(launch_lists_become_graphs_and_say_the_same),
        cmocka_unit_test(launches_of_one_kernel_share_what_was_asked_for),
        cmocka_unit_test(single_launches_are_no_graphs),
        cmocka_unit_test(more_shared_memory_is_asked_for),
        cmocka_unit_test(cooperative_launches_have_to_fit),
        cmocka_unit_test(kernel_s_resources_are_reported),
        cmocka_unit_test(code_made_here_tells_its_compiler_kept_or_not),
        cmocka_unit_test(kept_code_that_is_refused_is_made_anew_where_it_is_our_own),
        cmocka_unit_test(code_of_a_builder_that_is_refused_is_not_made_anew),
        cmocka_unit_test(nothing_is_compiled_where_that_is_left_to_builders),
        cmocka_unit_test(modules_are_compiled_ahead_of_loading),
        cmocka_unit_test(device_is_described),
        cmocka_unit_test(selectors_are_read),
        cmocka_unit_test(cold_device_flushes_and_has_another_fingerprint),
        cmocka_unit_test(devices_are_listed),
    };
    const bool is_real =
        getenv("TUNE_CUDA_LIBRARY"); /* then the calls below are not told, the device has other sizes */
    const int missing = sample_use_emulated();

    if (missing)
        return missing;
    setenv("TUNE_CUDA_BANDS", "1", 1); /* what reads and writes there is told by the runtime */
    if (open_device())
        return 1;
    return contract_run("the contract") +
           (is_real ? close_device(NULL) : cmocka_run_group_tests(tests, NULL, close_device));
}
