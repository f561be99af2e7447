/* SPDX-License-Identifier: MIT */
/* What the OpenCL backend asks of a driver and makes of its answers, on calls that are none (fake_opencl.h). */
#include "core/file.h"
#include "tests/runtime/fake_opencl.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_ops *ops;

static const struct fake_device cpu = {.vendor = "v",
                                       .name = "processor",
                                       .driver = "3.1",
                                       .extensions = "cl_khr_icd cl_b cl_a cl_khr_fp16",
                                       .type = CL_DEVICE_TYPE_CPU,
                                       .units = 6,
                                       .float_width = 8,
                                       .group = 4096,
                                       .sides = {11, 12, 13},
                                       .local = 14,
                                       .constant = 15,
                                       .global = 16,
                                       .alloc = 17};

static void begin_with(struct fake_device *d)
{
    fake_opencl_begin();
    *d = cpu;
}

static struct device_desc described(const char *platform, struct fake_device *d)
{
    struct fake_platform p = {platform, "OpenCL 1.2 here", {d}, 1};
    struct device_desc desc;

    opencl_describe((cl_platform_id)(void *)&p, (cl_device_id)(void *)d, &desc);
    return desc;
}

/* ---- descriptions ---- */

static void a_description_is_what_the_driver_says(void **state)
{
    struct fake_device d;
    struct device_desc desc;

    (void)state;
    begin_with(&d);
    desc = described("some platform", &d);
    assert_string_equal(desc.api, "opencl");
    assert_string_equal(desc.platform, "some platform");
    assert_string_equal(desc.platform_version, "OpenCL 1.2 here");
    assert_string_equal(desc.vendor, "v");
    assert_string_equal(desc.name, "processor");
    assert_string_equal(desc.driver, "3.1");
    assert_string_equal(desc.extensions, "cl_a cl_b cl_khr_fp16 cl_khr_icd"); /* sorted */
    assert_int_equal(desc.units, 6);
    assert_int_equal(desc.max_work_group, 4096);
    assert_int_equal(desc.max_local[0] * 10000 + desc.max_local[1] * 100 + desc.max_local[2], 111213);
    assert_int_equal(desc.local_bytes, 14);
    assert_int_equal(desc.constant_bytes, 15);
    assert_int_equal(desc.global_bytes, 16);
    assert_int_equal(desc.max_alloc_bytes, 17);
    assert_int_equal(desc.vector_bits, 256);
    assert_int_equal(desc.kind, DEVICE_CPU);
    assert_int_equal(desc.threads, 0); /* that is PoCL's */
    assert_true(desc.fp16 && desc.shares_host);
}

static void what_a_driver_does_not_say_is_empty(void **state)
{
    struct fake_device d = {.silent = true};
    struct device_desc desc;

    (void)state;
    fake_opencl_begin();
    desc = described("p", &d);
    assert_string_equal(desc.name, "");
    assert_string_equal(desc.extensions, "");
    assert_int_equal(desc.units + desc.max_work_group + desc.local_bytes + desc.global_bytes + desc.vector_bits, 0);
    assert_false(desc.fp16);
}

static void halves_are_told_by_a_whole_word(void **state)
{
    static const struct {
        const char *list;
        bool fp16;
    } cases[] = {{"cl_khr_fp16", true},
                 {"cl_a cl_khr_fp16 cl_z", true},
                 {"a cl_khr_fp16", true},
                 {"cl_khr_fp16 cl_z", true},
                 {"cl_khr_fp16x", false},
                 {"xcl_khr_fp16", false},
                 {"xcl_khr_fp16 cl_khr_fp16", true},
                 {"", false}};
    struct fake_device d;

    (void)state;
    begin_with(&d);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        d.extensions = cases[i].list;
        if (described("p", &d).fp16 != cases[i].fp16)
            fail_msg("'%s'", cases[i].list);
    }
}

/* Whose memory and vectors are whose: CPUs and Malis share the host's; a lane a work-item is no vector. */
static void kinds_decide_vectors_and_memory(void **state)
{
    static const struct {
        cl_device_type type;
        const char *name;
        cl_uint width;
        cl_bool unified;
        enum device_class kind;
        int64_t bits;
        bool shares;
    } cases[] = {{CL_DEVICE_TYPE_CPU, "x", 1, CL_FALSE, DEVICE_CPU, 32, true},
                 {CL_DEVICE_TYPE_CPU, "x", 16, CL_FALSE, DEVICE_CPU, 512, true},
                 {CL_DEVICE_TYPE_GPU, "x", 1, CL_FALSE, DEVICE_GPU, 0, false},
                 {CL_DEVICE_TYPE_GPU, "x", 4, CL_TRUE, DEVICE_GPU, 128, true},
                 {CL_DEVICE_TYPE_GPU, "Mali-T860", 1, CL_FALSE, DEVICE_MALI, 128, true},
                 {CL_DEVICE_TYPE_ACCELERATOR, "x", 1, CL_FALSE, DEVICE_OTHER, 0, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_device d;
        struct device_desc desc;

        begin_with(&d);
        d.type = cases[i].type;
        d.name = cases[i].name;
        d.float_width = cases[i].width;
        d.unified = cases[i].unified;
        desc = described("p", &d);
        assert_int_equal(desc.kind, cases[i].kind);
        assert_int_equal(desc.vector_bits, cases[i].bits);
        assert_int_equal(desc.shares_host, cases[i].shares);
    }
}

static void threads_of_pocl_are_its_variable_s_or_one_a_unit(void **state)
{
    const char *before = getenv("POCL_MAX_PTHREAD_COUNT");
    char *kept = before ? strdup(before) : NULL;
    struct fake_device d;

    (void)state;
    begin_with(&d);
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    assert_int_equal(described("Portable Computing Language", &d).threads, 6);
    setenv("POCL_MAX_PTHREAD_COUNT", "3", 1);
    assert_int_equal(described("Portable Computing Language", &d).threads, 3);
    assert_int_equal(described("another", &d).threads, 0);
    setenv("POCL_MAX_PTHREAD_COUNT", "0", 1);
    assert_int_equal(described("Portable Computing Language", &d).threads, 6);
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    if (kept)
        setenv("POCL_MAX_PTHREAD_COUNT", kept, 1);
    free(kept);
}

/* The same kernels as those of one thread of the other device: records of one serve the other. */
static void pocl_s_device_in_the_caller_s_thread_is_that_of_one_thread(void **state)
{
    struct fake_device d, one;
    struct device_desc basic, pthread;

    (void)state;
    begin_with(&d);
    one = d;
    d.name = "basic-skylake-Some CPU";
    d.units = one.units = 1;
    one.name = "pthread-skylake-Some CPU";
    basic = described("Portable Computing Language", &d);
    pthread = described("Portable Computing Language", &one);
    assert_string_equal(basic.name, "pthread-skylake-Some CPU");
    assert_int_equal(basic.threads, 1);
    assert_string_equal(device_desc_fingerprint(&basic).hex, device_desc_fingerprint(&pthread).hex);
    assert_string_equal(described("another", &d).name, "basic-skylake-Some CPU");
    d.units = 6; /* still one */
    assert_int_equal(described("Portable Computing Language", &d).threads, 1);
}

/* sm_61, sm_70 and later have it, sm_60 and sm_62 have not. */
static void products_of_bytes_are_told_by_the_capability(void **state)
{
    static const cl_uint sm[][3] = {{5, 3, 0}, {6, 0, 0}, {6, 1, 1}, {6, 2, 0}, {7, 0, 1}, {8, 9, 1}, {12, 0, 1}};
    struct fake_device d;

    (void)state;
    begin_with(&d);
    d.type = CL_DEVICE_TYPE_GPU;
    for (size_t i = 0; i < sizeof sm / sizeof sm[0]; i++) {
        struct device_desc desc = {.kind = DEVICE_GPU, .extensions = "cl_nv_device_attribute_query"};

        d.major = sm[i][0];
        d.minor = sm[i][1];
        opencl_probe_dots(NULL, (cl_device_id)(void *)&d, &desc);
        assert_string_equal(desc.dots, sm[i][2] ? "tune_dp4a" : "");
        desc.extensions[0] = '\0'; /* not NVIDIA's driver: nobody is asked */
        opencl_probe_dots(NULL, (cl_device_id)(void *)&d, &desc);
        assert_string_equal(desc.dots, "");
    }
}

/* ---- choosing ---- */

static struct fake_device three[3];
static struct fake_platform empty_platform = {"empty", "1", {NULL}, 0}, full_platform = {"full", "1", {NULL}, 0};

static void begin_with_platforms(void)
{
    fake_opencl_begin();
    for (int i = 0; i < 3; i++) {
        three[i] = cpu;
        full_platform.devices[i] = &three[i];
    }
    three[1].name = "second";
    full_platform.n_devices = 3;
    fake.platforms[0] = &empty_platform;
    fake.platforms[1] = &full_platform;
    fake.n_platforms = 2;
}

static void devices_are_chosen_by_platform_and_place(void **state)
{
    static const struct {
        const char *selector;
        int i_device;
        enum err e;
    } cases[] = {{"", 0, ERR_OK},           {"1.0", 0, ERR_OK},        {"1.2", 2, ERR_OK},
                 {"1.3", 0, ERR_NOT_FOUND}, {"0.0", 0, ERR_NOT_FOUND}, {"2.0", 0, ERR_NOT_FOUND},
                 {"1.x", 0, ERR_INPUT},     {"1.0000000", 0, ERR_OK},  {"1.00000000", 0, ERR_INPUT}};

    (void)state;
    begin_with_platforms();
    if (opencl_api_load(NULL))
        skip(); /* without a loader there is nobody to choose from */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cl_platform_id platform = NULL;
        cl_device_id device = NULL;
        struct why why = {""};
        const enum err e = opencl_pick(cases[i].selector, &platform, &device, &why);

        if (e != cases[i].e)
            fail_msg("'%s': %s %s", cases[i].selector, err_name(e), why.text);
        if (e)
            continue;
        assert_ptr_equal((void *)platform, &full_platform);
        assert_ptr_equal((void *)device, &three[cases[i].i_device]);
    }
}

struct listed {
    char text[200];
    int left;
};

static bool list_one(const char *selector, const struct device_desc *d, void *arg)
{
    struct listed *l = arg;
    const size_t n = strlen(l->text);

    snprintf(l->text + n, sizeof l->text - n, "%s=%s ", selector, d->name);
    return --l->left > 0;
}

static void devices_are_listed_until_somebody_has_seen_enough(void **state)
{
    struct listed all = {"", 10}, two = {"", 2};

    (void)state;
    begin_with_platforms();
    if (opencl_api_load(NULL))
        skip();
    assert_int_equal(ops->list(list_one, &all, NULL), ERR_OK);
    assert_string_equal(all.text, "1.0=processor 1.1=second 1.2=processor ");
    assert_int_equal(ops->list(list_one, &two, NULL), ERR_OK);
    assert_string_equal(two.text, "1.0=processor 1.1=second ");
    full_platform.n_devices = 0;
    assert_int_equal(ops->list(list_one, &two, NULL), ERR_NOT_FOUND);
}

/* ---- building ---- */

struct fixture {
    struct program p;
    struct blobs blobs;
    struct program_module *m;
    struct fake_device from;
    struct device device;
};

static void fixture_init(struct fixture *f, const char *options)
{
    begin_with(&f->from);
    f->device = fake_opencl_device(&f->from);
    program_init(&f->p);
    blobs_init(&f->blobs, 1 << 20);
    f->p.workload = strdup("w");
    strcpy(f->p.std, "CL1.2");
    f->m = program_add_module(&f->p, "main", LANG_OPENCL_C, options);
    assert_int_equal(blobs_put(&f->blobs, "text", 4, &f->m->source), ERR_OK);
}

static void fixture_fini(struct fixture *f)
{
    program_fini(&f->p);
    blobs_fini(&f->blobs);
}

static enum err build(struct fixture *f, const char *cache, struct load_report *report, struct why *why)
{
    cl_program program = NULL;
    const enum err e = opencl_build(&f->device, f->m, &f->p, &f->blobs, cache, &program, report, why);

    if (program)
        clReleaseProgram(program);
    assert_int_equal(fake.n_live, 0);
    return e;
}

static void options_and_defines_reach_the_compiler(void **state)
{
    struct load_report report = {.build_cached = true};
    struct fixture f;

    (void)state;
    fixture_init(&f, "-w");
    assert_int_equal(program_define(f.m, "A", 7) | program_define_text(f.m, "B", "float4"), ERR_OK);
    assert_int_equal(build(&f, NULL, &report, NULL), ERR_OK);
    assert_string_equal(fake.notes, "source text\nbuild -cl-std=CL1.2 -w -D A=7 -D B=float4\n");
    assert_false(report.build_cached);
    fixture_fini(&f);
    fixture_init(&f, "-cl-std=CL2.0"); /* a module's own word on it goes first */
    assert_int_equal(build(&f, NULL, &report, NULL), ERR_OK);
    assert_string_equal(fake.notes, "source text\nbuild -cl-std=CL2.0\n");
    fixture_fini(&f);
    fixture_init(&f, "");
    f.p.std[0] = '\0';
    assert_int_equal(build(&f, NULL, &report, NULL), ERR_OK);
    assert_string_equal(fake.notes, "source text\nbuild \n");
    fixture_fini(&f);
}

static void a_failed_build_tells_the_first_error_and_keeps_the_log(void **state)
{
    struct load_report report = {.log = NULL};
    struct why why = {""};
    struct fixture f;

    (void)state;
    fixture_init(&f, "");
    fake.build_error = CL_BUILD_PROGRAM_FAILURE;
    fake.log = "warning: odd\nline 3: error: no such name\nline 4: error: another\n";
    assert_int_equal(build(&f, NULL, &report, &why), ERR_COMPILE);
    assert_string_equal(why.text, "module 'main': CL_BUILD_PROGRAM_FAILURE: line 3: error: no such name");
    assert_non_null(strstr(report.log, "[main]\nwarning: odd\n"));
    free(report.log);
    report.log = NULL;
    fake.log = "\n  \n first words\nsecond\n";
    assert_int_equal(build(&f, NULL, &report, &why), ERR_COMPILE);
    assert_string_equal(why.text, "module 'main': CL_BUILD_PROGRAM_FAILURE: first words");
    free(report.log);
    report.log = NULL;
    fake.log = NULL;
    fake.build_error = CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(build(&f, NULL, &report, &why), ERR_NOMEM);
    assert_null(report.log);
    fixture_fini(&f);
}

/* A driver without a cache of its own: what was built is kept under a name of all that decides it. */
static void binaries_are_kept_by_device_source_and_options(void **state)
{
    char cache[PATH_MAX];
    struct load_report report;
    struct fixture f;

    (void)state;
    assert_int_equal(dir_temporary("tune-test", cache, sizeof cache, NULL), ERR_OK);
    fixture_init(&f, "-w");
    for (int i = 0; i < 2; i++) {
        report = (struct load_report){.build_cached = true};
        fake.notes[0] = '\0';
        assert_int_equal(build(&f, cache, &report, NULL), ERR_OK);
        assert_int_equal(report.build_cached, i);
        assert_string_equal(fake.notes, i ? "binary made before\nbuild -cl-std=CL1.2 -w\n"
                                          : "source text\nbuild -cl-std=CL1.2 -w\n");
    }
    assert_int_equal(program_define(f.m, "A", 1), ERR_OK);
    assert_int_equal(build(&f, cache, &report, NULL), ERR_OK); /* other options */
    assert_false(report.build_cached);
    strcpy(f.device.desc.driver, "newer");
    report.build_cached = true;
    assert_int_equal(build(&f, cache, &report, NULL), ERR_OK); /* another driver */
    assert_false(report.build_cached);
    assert_int_equal(blobs_put(&f.blobs, "texts", 5, &f.m->source), ERR_OK);
    report.build_cached = true;
    assert_int_equal(build(&f, cache, &report, NULL), ERR_OK); /* another source */
    assert_false(report.build_cached);
    fixture_fini(&f);
    dir_remove(cache);
}

/* ---- programs ---- */

/* Queue 0 fills y with 2.5 of f16 and copies 4 bytes of s into it, queue 1 waits for both and runs a kernel twice. */
static void add_launches(struct fixture *f)
{
    const int64_t grid[3] = {5, 2, 1}, block[3] = {8, 4, 2};
    struct program_buffer *s;
    struct program_launch *l;

    (void)program_add_buffer(&f->p, "y", ROLE_OUTPUT, DTYPE_F16, 6);
    s = program_add_buffer(&f->p, "s", ROLE_STATE, DTYPE_I32, 3);
    s->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 9};
    s->reset_each_run = true;
    l = program_add_launch(&f->p, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 0);
    program_arg_real(l, 2.5);
    l = program_add_launch(&f->p, LAUNCH_COPY, PHASE_RUN);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    program_arg_int(l, ARG_I64, 4);
    l = program_add_kernel(&f->p, PHASE_RUN, 0, "work", grid, block);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, 100);
    program_arg_int(l, ARG_LOCAL, 24);
    l->args[1].bump[0] = -3;
    l->queue = 1;
    program_after(l, 0);
    program_after(l, 1);
    assert_int_equal(program_add_loop(&f->p, 2, 2, 2), ERR_OK);
}

static struct loaded *load(struct fixture *f)
{
    struct loaded *l = NULL;
    struct why why = {""};

    if (ops->load(&f->device, &f->p, &f->blobs, NULL, &l, NULL, &why))
        fail_msg("%s", why.text);
    return l;
}

static void launches_are_started_as_the_program_says(void **state)
{
    struct fixture f;
    struct loaded *l;
    uint16_t y[6];

    (void)state;
    fixture_init(&f, "");
    add_launches(&f);
    l = load(&f);
    assert_non_null(strstr(fake.notes, "make work\narg 0 of 8\narg 1 = 100\narg 2 of 24 local\n"));
    fake.notes[0] = '\0';
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
    assert_string_equal(fake.notes, "copy 12 waits 0\n" /* the state, of its pristine copy */
                                    "fill 2 of 12 waits 0\n"
                                    "copy 4 waits 0\n"
                                    "arg 1 = 100\nkernel 40x8x2 by 8x4x2 waits 2 #0 #1\n"
                                    "arg 1 = 97\nkernel 40x8x2 by 8x4x2 waits 2 #0 #1\n");
    assert_int_equal(ops->read(l, 0, y, NULL), ERR_OK);
    assert_int_equal(y[0], 9); /* of the copied 9 */
    assert_int_equal(y[1], 0);
    for (int i = 2; i < 6; i++)
        assert_int_equal(y[i], 0x4100); /* 2.5 */
    ops->unload(l);
    assert_int_equal(fake.n_live, 0);
    fixture_fini(&f);
}

/* Two launches of a loop that wait for each other: the first time nothing is there of the later one yet. So it is in
 * every run, whose events are its own. */
static void every_run_waits_for_its_own_launches(void **state)
{
    const int64_t one[3] = {1, 1, 1};
    struct program_launch *l;
    struct fixture f;
    struct loaded *loaded;

    (void)state;
    fixture_init(&f, "");
    (void)program_add_buffer(&f.p, "y", ROLE_OUTPUT, DTYPE_F32, 6);
    l = program_add_launch(&f.p, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 0);
    program_arg_real(l, 1);
    for (int i = 0; i < 2; i++) {
        l = program_add_kernel(&f.p, PHASE_RUN, 0, "work", one, one);
        program_arg_buffer(l, 0);
        l->queue = i;
        program_after(l, i);
        if (i == 0)
            program_after(l, 2);
    }
    assert_int_equal(program_add_loop(&f.p, 1, 2, 2), ERR_OK);
    loaded = load(&f);
    for (int run = 0; run < 3; run++) {
        fake.notes[0] = '\0';
        fake.n_events = 0;
        assert_int_equal(ops->run(loaded, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
        assert_string_equal(fake.notes, "fill 4 of 24 waits 0\n"
                                        "kernel 1x1x1 by 1x1x1 waits 1 #0\n"
                                        "kernel 1x1x1 by 1x1x1 waits 1 #1\n"
                                        "kernel 1x1x1 by 1x1x1 waits 2 #0 #2\n"
                                        "kernel 1x1x1 by 1x1x1 waits 1 #3\n");
    }
    ops->unload(loaded);
    assert_int_equal(fake.n_live, 0);
    fixture_fini(&f);
}

static void written_states_are_what_runs_start_with(void **state)
{
    const int32_t other[3] = {4, 5, 6}, spoilt[3] = {0, 0, 0};
    int32_t got[3];
    struct fixture f;
    struct loaded *l;

    (void)state;
    fixture_init(&f, "");
    add_launches(&f);
    l = load(&f);
    assert_int_equal(ops->read(l, 1, got, NULL), ERR_OK);
    assert_true(got[0] == 9 && got[2] == 9);
    assert_int_equal(ops->write(l, 1, other, NULL), ERR_OK);
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
    assert_int_equal(ops->read(l, 1, got, NULL), ERR_OK);
    assert_memory_equal(got, other, sizeof got);
    assert_int_equal(ops->run(l, PHASE_PACK, NULL, NULL, NULL), ERR_OK); /* resets nothing */
    assert_int_equal(ops->write(l, 1, spoilt, NULL), ERR_OK);
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK);
    assert_int_equal(ops->read(l, 1, got, NULL), ERR_OK);
    assert_memory_equal(got, spoilt, sizeof got);
    ops->unload(l);
    fixture_fini(&f);
}

/* From the first start to the last end, whichever launch they are of. */
static void device_time_spans_all_launches(void **state)
{
    static const struct {
        cl_ulong start[4], end[4];
        int64_t ns;
    } cases[] = {{{100, 200, 300, 400}, {150, 250, 350, 450}, 350},
                 {{200, 100, 300, 400}, {900, 250, 350, 450}, 800},
                 {{400, 300, 200, 100}, {450, 350, 990, 150}, 890},
                 {{5, 5, 5, 5}, {5, 5, 5, 5}, 0}};
    struct fixture f;
    struct loaded *l;

    (void)state;
    fixture_init(&f, "");
    add_launches(&f);
    l = load(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t device_ns = -1, wall_ns = -1;

        fake.n_events = 0;
        memcpy(fake.start_ns, cases[i].start, sizeof cases[i].start);
        memcpy(fake.end_ns, cases[i].end, sizeof cases[i].end);
        assert_int_equal(ops->run(l, PHASE_RUN, &device_ns, &wall_ns, NULL), ERR_OK);
        assert_int_equal(device_ns, cases[i].ns);
        assert_true(wall_ns >= 0);
    }
    ops->unload(l);
    fixture_fini(&f);
}

static void a_launch_that_ends_badly_is_named(void **state)
{
    struct fixture f;
    struct loaded *l;

    (void)state;
    fixture_init(&f, "");
    add_launches(&f);
    l = load(&f);
    for (int i = 0; i < 4; i++) {
        static const char *const ids[] = {"'l0'", "'l1'", "'l2'", "'l2'"};
        struct why why = {""};
        int64_t ns = 77;

        fake.n_events = 0;
        memset(fake.state, 0, sizeof fake.state);
        fake.state[i] = CL_OUT_OF_RESOURCES;
        assert_int_equal(ops->run(l, PHASE_RUN, &ns, NULL, &why), ERR_DEVICE);
        assert_non_null(strstr(why.text, ids[i]));
        assert_non_null(strstr(why.text, "CL_OUT_OF_RESOURCES"));
        assert_int_equal(ns, 77); /* untouched */
    }
    fake.n_events = 0;
    memset(fake.state, 0, sizeof fake.state);
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, NULL), ERR_OK); /* nothing is left of the failed ones */
    ops->unload(l);
    assert_int_equal(fake.n_live, 0);
    fixture_fini(&f);
}

static void refused(struct fixture *f, enum err wanted, const char *words)
{
    struct loaded *l = NULL;
    struct load_report report;
    struct why why = {""};
    const enum err e = ops->load(&f->device, &f->p, &f->blobs, NULL, &l, &report, &why);

    if (e != wanted || !strstr(why.text, words))
        fail_msg("%s '%s', expected %s with '%s'", err_name(e), why.text, err_name(wanted), words);
    free(report.log);
    if (l)
        ops->unload(l);
    assert_int_equal(fake.n_live, 0);
    fixture_fini(f);
}

static void begin_loading(struct fixture *f)
{
    fixture_init(f, "");
    add_launches(f);
}

/* The group is of 64 work-items; 24 bytes of local memory are asked for beside what the kernel has. */
static void limits_of_the_device_and_of_the_built_kernel_hold(void **state)
{
    struct fixture f;

    (void)state;
    begin_loading(&f);
    f.device.desc.max_work_group = 63;
    refused(&f, ERR_LIMITS, "work-groups of 64, the device has at most 63");
    begin_loading(&f);
    f.device.desc.max_work_group = 64;
    refused(&f, ERR_OK, "");
    begin_loading(&f);
    f.device.desc.local_bytes = 23;
    refused(&f, ERR_LIMITS, "24 bytes of local memory, the device has 23");
    begin_loading(&f);
    f.device.desc.local_bytes = 24;
    refused(&f, ERR_OK, "");
    begin_loading(&f); /* several are added up */
    program_arg_int(&f.p.launches[2], ARG_LOCAL, 1000);
    program_arg_int(&f.p.launches[2], ARG_I32, 5);
    refused(&f, ERR_OK, "");
    begin_loading(&f);
    program_arg_int(&f.p.launches[2], ARG_LOCAL, 1001);
    program_arg_int(&f.p.launches[2], ARG_LOCAL, 1);
    refused(&f, ERR_LIMITS, "1026 bytes of local memory, the device has 1024");
    begin_loading(&f);
    fake.kernel_group = 63;
    refused(&f, ERR_LIMITS, "the built kernel work allows 63");
    begin_loading(&f);
    fake.kernel_group = 64;
    refused(&f, ERR_OK, "");
    begin_loading(&f);
    fake.kernel_local = 1025;
    refused(&f, ERR_LIMITS, "uses 1025 bytes of local memory");
    begin_loading(&f);
    fake.kernel_local = 1024;
    refused(&f, ERR_OK, "");
    begin_loading(&f);
    memcpy(fake.kernel_fixed, (size_t[]){8, 4, 1}, sizeof fake.kernel_fixed);
    refused(&f, ERR_LIMITS, "requires work-groups of 8 x 4 x 1");
    begin_loading(&f);
    memcpy(fake.kernel_fixed, (size_t[]){8, 4, 2}, sizeof fake.kernel_fixed);
    refused(&f, ERR_OK, "");
    begin_loading(&f);
    fake.n_kernel_args = 4;
    refused(&f, ERR_COMPILE, "takes 4 arguments, the launch gives 3");
    begin_loading(&f);
    f.m->lang = LANG_PTX;
    refused(&f, ERR_LIMITS, "is not OpenCL C");
}

/* Each call in turn: an error comes out, and all that was made goes. */
static void any_call_may_fail_and_nothing_is_left(void **state)
{
    int n_failed = 0;

    (void)state;
    for (int i = 1;; i++) {
        struct fixture f;
        struct loaded *l = NULL;
        enum err e;

        begin_loading(&f);
        fake.fail_at = i;
        e = ops->load(&f.device, &f.p, &f.blobs, NULL, &l, NULL, NULL);
        assert_int_equal(e == ERR_OK, l != NULL);
        if (!e)
            e = ops->run(l, PHASE_RUN, NULL, NULL, NULL);
        if (l)
            ops->unload(l);
        assert_int_equal(fake.n_live, 0);
        fixture_fini(&f);
        if (fake.n_calls < i) { /* it was never reached */
            assert_int_equal(e, ERR_OK);
            break;
        }
        if (!e)
            fail_msg("call %d failed and nobody has noticed", i);
        n_failed++;
    }
    assert_true(n_failed > 20);
}

static void errors_have_names(void **state)
{
    (void)state;
    assert_string_equal(opencl_error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    assert_string_equal(opencl_error_name(CL_INVALID_KERNEL_NAME), "CL_INVALID_KERNEL_NAME");
    assert_string_equal(opencl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(opencl_error_name(-4321), "CL error -4321");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_is_what_the_driver_says),
        cmocka_unit_test(what_a_driver_does_not_say_is_empty),
        cmocka_unit_test(halves_are_told_by_a_whole_word),
        cmocka_unit_test(kinds_decide_vectors_and_memory),
        cmocka_unit_test(threads_of_pocl_are_its_variable_s_or_one_a_unit),
        cmocka_unit_test(pocl_s_device_in_the_caller_s_thread_is_that_of_one_thread),
        cmocka_unit_test(products_of_bytes_are_told_by_the_capability),
        cmocka_unit_test(devices_are_chosen_by_platform_and_place),
        cmocka_unit_test(devices_are_listed_until_somebody_has_seen_enough),
        cmocka_unit_test(options_and_defines_reach_the_compiler),
        cmocka_unit_test(a_failed_build_tells_the_first_error_and_keeps_the_log),
        cmocka_unit_test(binaries_are_kept_by_device_source_and_options),
        cmocka_unit_test(launches_are_started_as_the_program_says),
        cmocka_unit_test(every_run_waits_for_its_own_launches),
        cmocka_unit_test(written_states_are_what_runs_start_with),
        cmocka_unit_test(device_time_spans_all_launches),
        cmocka_unit_test(a_launch_that_ends_badly_is_named),
        cmocka_unit_test(limits_of_the_device_and_of_the_built_kernel_hold),
        cmocka_unit_test(any_call_may_fail_and_nothing_is_left),
        cmocka_unit_test(errors_have_names),
    };

    ops = device_find("opencl");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
