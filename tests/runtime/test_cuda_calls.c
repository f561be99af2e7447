/* SPDX-License-Identifier: MIT */
/* The CUDA backend on the emulated driver where calls answer as the test says: times of the two ways to replay, limits
 * and architectures that no table has, memory that is counted. */
#include "core/file.h"
#include "runtime/cuda.h"
#include "runtime/cuda_made.h"
#include "tests/runtime/samples.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_ops *ops;
static struct device *device;
static char cache[PATH_MAX];

/* Times that the driver tells, instead of those of the emulator: of the launches one by one, and of graphs. */
static cuda_result (*elapsed_time)(float *ms, cuda_event from, cuda_event to);
static cuda_result (*launch_graph)(cuda_graph_exec g, cuda_stream s);
static float direct_ms, graph_ms;
static bool is_graph;

static cuda_result told_time(float *ms, cuda_event from, cuda_event to)
{
    const cuda_result error = elapsed_time(ms, from, to);

    *ms = is_graph ? graph_ms : direct_ms;
    is_graph = false;
    return error;
}

static cuda_result noted_graph(cuda_graph_exec g, cuda_stream s)
{
    is_graph = true;
    return launch_graph(g, s);
}

static int64_t timed_run(struct loaded *l)
{
    int64_t ns = -1;

    assert_int_equal(ops->run(l, PHASE_RUN, &ns, NULL, NULL), ERR_OK);
    return ns;
}

/* Three of each way are tried, the first of each not counted; the best of the others decides for good. */
static void the_faster_way_of_replaying_is_kept(void **state)
{
    static const struct {
        float direct[3], graph[3];
        bool graph_wins;
    } cases[] = {{{1, 5, 5}, {9, 4, 4}, true},  /* the first direct run, the fastest, was none */
                 {{9, 3, 6}, {1, 4, 4}, false}, /* the best counts, not the last; nor the first graph */
                 {{9, 6, 3}, {9, 8, 4}, false},
                 {{9, 6, 5}, {9, 8, 4}, true}};

    (void)state;
    elapsed_time = cuda.cuEventElapsedTime;
    launch_graph = cuda.cuGraphLaunch;
    cuda.cuEventElapsedTime = told_time;
    cuda.cuGraphLaunch = noted_graph;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sample s;
        struct loaded *l = NULL;

        sample_queues(&s);
        assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, NULL, NULL), ERR_OK);
        for (int k = 0; k < 6; k++) {
            const bool graph = k >= 3;

            direct_ms = graph ? 1000 : cases[i].direct[k];
            graph_ms = graph ? cases[i].graph[k - 3] : 1000;
            assert_true(timed_run(l) == (int64_t)(graph ? graph_ms : direct_ms) * 1000000);
        }
        direct_ms = 100;
        graph_ms = 200;
        for (int k = 0; k < 3; k++)
            assert_int_equal(timed_run(l), cases[i].graph_wins ? 200000000 : 100000000);
        ops->unload(l);
        sample_fini(&s);
    }
    cuda.cuEventElapsedTime = elapsed_time;
    cuda.cuGraphLaunch = launch_graph;
}

/* What a launch waits for before its time begins: 12 us, and 4 for each start behind it, in cycles of the device. */
static uint64_t gate_cycles;
static cuda_result (*launch_kernel)(cuda_function f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes,
                                    cuda_stream s, void **params, void **extra);

static cuda_result took(cuda_function f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned dynamic_bytes, cuda_stream s, void **params,
                        void **extra)
{
    (void)f;
    (void)dynamic_bytes;
    (void)s;
    (void)extra;
    assert_int_equal(grid_x * grid_y * grid_z * block_x * block_y * block_z, 1);
    memcpy(&gate_cycles, params[0], sizeof gate_cycles);
    return 0;
}

static void the_gate_is_closed_for_as_long_as_starting_takes(void **state)
{
    struct cuda_gate gate = {.clock_khz = 1000000, .tried = true, .kernel = (cuda_function)(void *)&gate};

    (void)state;
    launch_kernel = cuda.cuLaunchKernel;
    cuda.cuLaunchKernel = took;
    assert_int_equal(cuda_gate_close(&gate, NULL, 1), 0);
    assert_int_equal(gate_cycles, 16000);
    assert_int_equal(cuda_gate_close(&gate, NULL, 10), 0);
    assert_int_equal(gate_cycles, 52000);
    assert_int_equal(cuda_gate_close(&gate, NULL, 1000000), 0);
    assert_int_equal(gate_cycles, 2000000); /* no longer than 2 ms */
    gate.clock_khz = 1500000;
    assert_int_equal(cuda_gate_close(&gate, NULL, 1), 0);
    assert_int_equal(gate_cycles, 24000);
    gate.clock_khz = 0; /* not told: 2 GHz */
    assert_int_equal(cuda_gate_close(&gate, NULL, 1), 0);
    assert_int_equal(gate_cycles, 32000);
    gate.kernel = NULL; /* a driver without it goes without */
    gate_cycles = 7;
    assert_int_equal(cuda_gate_close(&gate, NULL, 1), 0);
    assert_int_equal(gate_cycles, 7);
    cuda.cuLaunchKernel = launch_kernel;
}

static void who_made_a_cubin_is_kept_beside_it(void **state)
{
    const struct cuda_made made = {.by = "a builder", .compiler = "NVRTC 12.9"},
                           own = {.by = "", .compiler = "NVRTC 13.0"};
    struct cuda_made got = {.by = "x"};
    char path[PATH_MAX + 16];

    (void)state;
    snprintf(path, sizeof path, "%s/some.cubin", cache);
    cuda_made_read(path, &got);
    assert_string_equal(got.by, "");
    assert_string_equal(got.compiler, "");
    assert_int_equal(cuda_made_write(path, &made, NULL), ERR_OK);
    cuda_made_read(path, &got);
    assert_string_equal(got.by, "a builder");
    assert_string_equal(got.compiler, "NVRTC 12.9");
    assert_int_equal(cuda_made_write(path, &own, NULL), ERR_OK);
    cuda_made_read(path, &got);
    assert_string_equal(got.by, "");
    assert_string_equal(got.compiler, "NVRTC 13.0");
}

/* The agent writes where kernels wrote before: it neither waits for somebody who reads a pipe, nor follows a link. */
static void what_lies_in_its_place_is_replaced(void **state)
{
    const struct cuda_made made = {.by = "a builder", .compiler = "NVRTC 12.9"};
    char path[PATH_MAX + 16], kept[PATH_MAX + 32];
    struct cuda_made got;

    (void)state;
    snprintf(path, sizeof path, "%s/other.cubin", cache);
    snprintf(kept, sizeof kept, "%s.made", path);
    assert_int_equal(mkfifo(kept, 0600), 0);
    alarm(20);
    assert_int_equal(cuda_made_write(path, &made, NULL), ERR_OK);
    alarm(0);
    cuda_made_read(path, &got);
    assert_string_equal(got.by, "a builder");
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(symlink("/dev/full", kept), 0);
    assert_int_equal(cuda_made_write(path, &made, NULL), ERR_OK);
    cuda_made_read(path, &got);
    assert_string_equal(got.by, "a builder");
}

/* The driver's word goes before the table's, by dimension too. */
static cuda_result (*device_attribute)(int *value, int attribute, cuda_device d);
static int told_sm;

static cuda_result odd_attribute(int *value, int attribute, cuda_device d)
{
    static const struct {
        int attribute, value;
    } odd[] = {{CUDA_MAX_THREADS, 1000},
               {CUDA_MAX_BLOCK_X, 1001},
               {CUDA_MAX_BLOCK_X + 1, 1002},
               {CUDA_MAX_BLOCK_X + 2, 1003},
               {CUDA_SHARED_BYTES, 1004},
               {CUDA_SHARED_OPTIN_BYTES, 1005},
               {CUDA_UNIT_SHARED_BYTES, 1006},
               {CUDA_SHARED_RESERVED_BYTES, 1007},
               {CUDA_UNIT_REGISTERS, 1008},
               {CUDA_UNIT_THREADS, 1009},
               {CUDA_UNIT_BLOCKS, 1010},
               {CUDA_L2_BYTES, 1011},
               {CUDA_UNITS, 1012},
               {CUDA_INTEGRATED, 1}};

    if (attribute == CUDA_MAJOR || attribute == CUDA_MINOR) {
        *value = attribute == CUDA_MAJOR ? told_sm / 10 : told_sm % 10;
        return 0;
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (odd[i].attribute == attribute) {
            *value = odd[i].value;
            return 0;
        }
    return device_attribute(value, attribute, d);
}

static void the_driver_s_limits_go_before_the_table_s(void **state)
{
    char uuid[CUDA_UUID_BYTES];
    struct device_desc d;

    (void)state;
    device_attribute = cuda.cuDeviceGetAttribute;
    cuda.cuDeviceGetAttribute = odd_attribute;
    told_sm = 80;
    assert_int_equal(cuda_describe_device(0, &d, uuid, NULL), ERR_OK);
    assert_int_equal(d.max_work_group, 1000);
    assert_true(d.max_local[0] == 1001 && d.max_local[1] == 1002 && d.max_local[2] == 1003);
    assert_true(d.local_bytes == 1004 && d.local_max_bytes == 1005 && d.local_unit_bytes == 1006);
    assert_true(d.local_reserved == 1007 && d.registers == 1008 && d.unit_threads == 1009 && d.unit_groups == 1010);
    assert_true(d.cache_bytes == 1011 && d.units == 1012 && d.shares_host);
    cuda.cuDeviceGetAttribute = device_attribute;
}

/* Of an architecture that is not in the table, what the closest older one of its major number has; one newer than all
 * has at least what the newest has. */
static void unknown_architectures_have_what_older_ones_have(void **state)
{
    static const struct {
        int sm;
        const char *words; /* NULL: refused */
    } cases[] = {{82, "cooperative dp4a fp16 mma_f16 mma_i8 mma_k16 mma_bf16 cp_async"},
                 {63, "cooperative fp16"},
                 {130, "cooperative dp4a fp16 mma_f16 mma_i8 mma_k16 mma_bf16 cp_async"},
                 {76, "cooperative dp4a fp16 mma_f16 mma_i8"},
                 {37, NULL}};
    char uuid[CUDA_UUID_BYTES];

    (void)state;
    device_attribute = cuda.cuDeviceGetAttribute;
    cuda.cuDeviceGetAttribute = odd_attribute;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_desc d;
        struct why why = {""};

        told_sm = cases[i].sm;
        assert_int_equal(cuda_describe_device(0, &d, uuid, &why), cases[i].words ? ERR_OK : ERR_UNSUPPORTED);
        if (!cases[i].words) {
            assert_non_null(strstr(why.text, "sm_50 and newer"));
            continue;
        }
        assert_int_equal(d.sm, cases[i].sm);
        assert_string_equal(d.extensions, cases[i].words);
    }
    cuda.cuDeviceGetAttribute = device_attribute;
}

/* 700 to 719 come of kernels and stay, but for those that are told before one runs or of calls of the host. */
static void errors_that_stay_are_known(void **state)
{
    static const int stay[] = {214, 220, 226, 700, 702, 709, 714, 715, 716, 717, 718, 719, 999},
                     go[] = {0, 1, 2, 100, 200, 209, 213, 215, 400, 699, 701, 704, 705, 708, 711, 712, 713, 720, 998};

    (void)state;
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        if (!cuda_is_sticky(stay[i]))
            fail_msg("%d stays", stay[i]);
    for (size_t i = 0; i < sizeof go / sizeof go[0]; i++)
        if (cuda_is_sticky(go[i]))
            fail_msg("%d goes", go[i]);
}

/* Memory that is asked for and given back. */
static cuda_result (*allocate)(cuda_ptr *out, size_t n_bytes);
static cuda_result (*give_back)(cuda_ptr at);
static int n_allocated;

static cuda_result counted_allocate(cuda_ptr *out, size_t n_bytes)
{
    const cuda_result error = allocate(out, n_bytes);

    n_allocated += error == 0;
    return error;
}

static cuda_result counted_give_back(cuda_ptr at)
{
    n_allocated--;
    return give_back(at);
}

static void memory_is_given_back_by_programs_and_devices(void **state)
{
    struct device *cold = NULL;
    struct loaded *l = NULL;
    struct sample s;
    int n_of_device;

    (void)state;
    allocate = cuda.cuMemAlloc_v2;
    give_back = cuda.cuMemFree_v2;
    cuda.cuMemAlloc_v2 = counted_allocate;
    cuda.cuMemFree_v2 = counted_give_back;
    assert_int_equal(ops->open("0,cold", &cold, NULL), ERR_OK);
    n_of_device = n_allocated;
    assert_true(n_of_device >= 1); /* what its cache is flushed with */
    sample_add(&s, sample_add_text);
    s.program.buffers[2].reset_each_run = true;
    assert_int_equal(ops->load(cold, &s.program, &s.blobs, cache, &l, NULL, NULL), ERR_OK);
    assert_true(n_allocated >= n_of_device + 4); /* three buffers, one twice */
    ops->unload(l);
    assert_int_equal(n_allocated, n_of_device);
    sample_fini(&s);
    sample_add(&s, sample_add_text); /* one that fails on the way */
    s.program.launches[0].dyn_local = 1 << 16;
    s.program.launches[0].cooperative = true;
    s.program.launches[0].grid[0] = 1 << 20;
    assert_int_equal(ops->load(cold, &s.program, &s.blobs, cache, &l, NULL, NULL), ERR_LIMITS);
    assert_int_equal(n_allocated, n_of_device);
    sample_fini(&s);
    ops->close(cold);
    assert_int_equal(n_allocated, 0);
    cuda.cuMemAlloc_v2 = allocate;
    cuda.cuMemFree_v2 = give_back;
}

/* Code that came with the program: a cubin needs no more making, of PTX the driver makes code. */
static void cubins_of_a_program_are_told_as_kept_and_ptx_is_not(void **state)
{
    struct nvrtc *n = NULL;

    (void)state;
    assert_int_equal(nvrtc_open(NULL, &n, NULL), ERR_OK);
    for (int as_ptx = 0; as_ptx < 2; as_ptx++) {
        struct sample s;
        struct nvrtc_built built;
        struct loaded *l = NULL;
        struct load_report report;
        struct verify_report verdict;
        struct why why = {""};

        sample_add(&s, sample_add_text);
        assert_int_equal(nvrtc_build(n, &s.program.modules[0], &s.blobs, 80, as_ptx, &built, &why), ERR_OK);
        assert_int_equal(blobs_put(&s.blobs, built.code.data, built.code.len, &s.program.modules[0].source), ERR_OK);
        s.program.modules[0].lang = as_ptx ? LANG_PTX : LANG_CUBIN;
        if (ops->load(device, &s.program, &s.blobs, cache, &l, &report, &why))
            fail_msg("%s", why.text);
        assert_int_equal(report.build_cached, !as_ptx);
        assert_int_equal(verify_program(ops, l, &s.program, &s.blobs, &verdict, &why), ERR_OK);
        free(report.log);
        ops->unload(l);
        nvrtc_built_fini(&built);
        sample_fini(&s);
    }
    nvrtc_close(n);
}

static void refused(struct sample *s, enum err wanted, const char *words)
{
    struct loaded *l = NULL;
    struct why why = {""};
    const enum err e = ops->load(device, &s->program, &s->blobs, cache, &l, NULL, &why);

    if (e != wanted || !strstr(why.text, words))
        fail_msg("%s '%s', expected %s with '%s'", err_name(e), why.text, err_name(wanted), words);
    if (l)
        ops->unload(l);
    sample_fini(s);
}

/* The smallest cubin has 64 bytes, the head of an ELF file. */
static void bytes_that_are_no_cubin_are_refused(void **state)
{
    static const char head[64] = "\x7f"
                                 "ELF";
    struct sample s;

    (void)state;
    for (size_t n = 3; n < 64; n += 20) {
        sample_add(&s, sample_add_text);
        s.program.modules[0].lang = LANG_CUBIN;
        assert_int_equal(blobs_put(&s.blobs, head, n, &s.program.modules[0].source), ERR_OK);
        refused(&s, ERR_COMPILE, "module 'main' is no cubin");
    }
    sample_add(&s, sample_add_text);
    s.program.modules[0].lang = LANG_CUBIN;
    assert_int_equal(blobs_put(&s.blobs, "nothing of ELF in it, but long enough to be one, as far as one sees", 66,
                               &s.program.modules[0].source),
                     ERR_OK);
    refused(&s, ERR_COMPILE, "module 'main' is no cubin");
}

/* Each argument has the kernel's size, and there are as many. */
static void arguments_are_those_of_the_kernel(void **state)
{
    static const struct {
        const char *last; /* of the kernel; the launch gives an i32, or an i64 */
        enum arg_kind kind;
        int n_more;
        enum err e;
        const char *words;
    } cases[] = {{"int n", ARG_I32, 0, ERR_OK, ""},
                 {"long long n", ARG_I64, 0, ERR_OK, ""},
                 {"long long n", ARG_I32, 0, ERR_COMPILE, "argument 3 of kernel add has 8 bytes, the launch gives 4"},
                 {"int n", ARG_I64, 0, ERR_COMPILE, "argument 3 of kernel add has 4 bytes, the launch gives 8"},
                 {"int n", ARG_I32, 1, ERR_COMPILE, "kernel add takes 4 arguments, the launch gives 5"},
                 {"int n, int m", ARG_I32, 0, ERR_COMPILE, "takes more arguments than the 4 of the launch"}};

    (void)state;
    if (!cuda.cuFuncGetParamInfo)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        struct sample s;

        snprintf(text, sizeof text,
                 "extern \"C\" __global__ void add(const float *a, const float *b, float *y, %s)\n"
                 "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a[i] + b[i]; }\n",
                 cases[i].last);
        sample_add(&s, text);
        s.program.launches[0].args[3].kind = cases[i].kind;
        for (int k = 0; k < cases[i].n_more; k++)
            program_arg_int(&s.program.launches[0], ARG_I32, 1);
        refused(&s, cases[i].e, cases[i].words);
    }
}

/* 16 KiB of its own and 40 KiB of the launch's: neither alone is over 48. */
static void fixed_and_dynamic_shared_memory_count_together(void **state)
{
    struct sample s;
    struct loaded *l = NULL;
    struct verify_report report;
    struct why why = {""};

    (void)state;
    sample_add(&s, "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
                   "{ __shared__ float u[4096]; extern __shared__ float s[];\n"
                   "  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; s[10239 - t] = i < n ? a[i] : 0;\n"
                   "  u[4095 - t] = i < n ? b[i] : 0; __syncthreads();\n"
                   "  if (i < n) y[i] = s[10239 - t] + u[4095 - t]; }\n");
    s.program.launches[0].dyn_local = 40960;
    if (ops->load(device, &s.program, &s.blobs, cache, &l, NULL, &why) ||
        verify_program(ops, l, &s.program, &s.blobs, &report, &why))
        fail_msg("%s", why.text);
    ops->unload(l);
    sample_fini(&s);
}

/* Graphs are of the run phase: packing in between stays what it is. */
static void packing_is_never_replayed(void **state)
{
    struct device *with_graphs = NULL;
    struct loaded *l = NULL;
    struct program_launch *x;
    struct sample s;
    int got = 0;

    (void)state;
    assert_int_equal(ops->open("0,graph=on", &with_graphs, NULL), ERR_OK);
    sample_init(&s, "extern \"C\" __global__ void put(int *x) { x[0] = 100; }\n"
                    "extern \"C\" __global__ void add(int *x) { x[0] += 1; }\n");
    program_add_buffer(&s.program, "x", ROLE_SCRATCH, DTYPE_I32, 1);
    for (int i = 0; i < 4; i++) {
        x = sample_launch(&s, i < 2 ? "put" : "add", 1, 1);
        x->phase = i < 2 ? PHASE_PACK : PHASE_RUN;
        program_arg_buffer(x, 0);
    }
    assert_int_equal(ops->load(with_graphs, &s.program, &s.blobs, cache, &l, NULL, NULL), ERR_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ops->run(l, PHASE_PACK, NULL, NULL, NULL), ERR_OK);
        assert_int_equal(ops->read(l, 0, &got, NULL), ERR_OK);
        assert_int_equal(got, 100);
        assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
        assert_int_equal(ops->read(l, 0, &got, NULL), ERR_OK);
        assert_int_equal(got, 102);
    }
    ops->unload(l);
    ops->close(with_graphs);
    sample_fini(&s);
}

static int open_device(void **state)
{
    struct why why = {""};

    (void)state;
    if (dir_temporary("tune-test-cuda", cache, sizeof cache, NULL))
        return 1;
    setenv("TUNE_CUDA_SM", "80", 1);
    ops = device_find("cuda");
    if (!ops || ops->open("", &device, &why))
        printf("%s\n", why.text);
    return device ? 0 : 1;
}

static int close_device(void **state)
{
    (void)state;
    ops->close(device);
    dir_remove(cache);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_of_replaying_is_kept),
        cmocka_unit_test(the_gate_is_closed_for_as_long_as_starting_takes),
        cmocka_unit_test(who_made_a_cubin_is_kept_beside_it),
        cmocka_unit_test(what_lies_in_its_place_is_replaced),
        cmocka_unit_test(the_driver_s_limits_go_before_the_table_s),
        cmocka_unit_test(unknown_architectures_have_what_older_ones_have),
        cmocka_unit_test(errors_that_stay_are_known),
        cmocka_unit_test(memory_is_given_back_by_programs_and_devices),
        cmocka_unit_test(cubins_of_a_program_are_told_as_kept_and_ptx_is_not),
        cmocka_unit_test(bytes_that_are_no_cubin_are_refused),
        cmocka_unit_test(arguments_are_those_of_the_kernel),
        cmocka_unit_test(fixed_and_dynamic_shared_memory_count_together),
        cmocka_unit_test(packing_is_never_replayed),
    };
    const int missing = sample_use_emulated();

    return missing ? missing : cmocka_run_group_tests(tests, open_device, close_device);
}
