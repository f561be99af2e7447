/* SPDX-License-Identifier: MIT */
/* Functions of C on this machine's CPU: built, called with pointers, guarded, timed by themselves or by us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/clock.h"
#include "core/file.h"
#include "runtime/device.h"
#include "runtime/verify.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

/* What stands before each text: the arguments of a y n as the backend hands them over. */
static const char head[] = "typedef void *const *A;\n#define X ((const float *)*(void *const *)a[0])\n"
                           "#define Y ((float *)*(void *const *)a[1])\n#define COUNT (*(const int *)a[2])\n"
                           "#define UNTOLD (-__builtin_inf())\n";
static const char twice[] = "double f(A a) { for (int i = 0; i < COUNT; i++) Y[i] = 2 * X[i]; return UNTOLD; }\n";

static const struct device_ops *ops;
static struct device *device;
static char cache[PATH_MAX];

struct made {
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
    struct load_report report;
    struct why why;
};

/* y[i] = f(x[i]) with x[i] = 3, by function f of a text. */
static void make(struct made *m, const char *text, const char *options, enum program_lang lang)
{
    const int64_t one[3] = {1, 1, 1};
    struct program_module *module;
    struct program_launch *l;
    struct buf source;

    *m = (struct made){.why = {""}};
    program_init(&m->program);
    blobs_init(&m->blobs, 1 << 20);
    buf_init(&source, 1 << 16);
    buf_puts(&source, head);
    buf_puts(&source, text);
    strcpy(m->program.api, "c");
    m->program.workload = strdup("sample");
    module = program_add_module(&m->program, "main", lang, options);
    blobs_put(&m->blobs, source.data, source.len, &module->source);
    buf_fini(&source);
    program_add_buffer(&m->program, "x", ROLE_INPUT, DTYPE_F32, N)->fill =
        (struct program_fill){.kind = FILL_VALUE, .lo = 3};
    program_add_buffer(&m->program, "y", ROLE_OUTPUT, DTYPE_F32, N);
    l = program_add_kernel(&m->program, PHASE_RUN, 0, "f", one, one);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    program_arg_int(l, ARG_I32, N);
}

static enum err load(struct made *m)
{
    return ops->load(device, &m->program, &m->blobs, cache, &m->loaded, &m->report, &m->why);
}

static void drop(struct made *m)
{
    ops->unload(m->loaded);
    free(m->report.log);
    program_fini(&m->program);
    blobs_fini(&m->blobs);
}

static void begin(struct made *m, const char *text, const char *options)
{
    make(m, text, options, LANG_C);
    if (load(m))
        fail_msg("%s", m->why.text);
}

static void expect(struct made *m, enum err got, enum err wanted, const char *words)
{
    if (got != wanted || !strstr(m->why.text, words))
        fail_msg("%s '%s', expected %s with '%s'", err_name(got), m->why.text, err_words(wanted), words);
    drop(m);
}

static float first_of(struct made *m, int64_t *device_ns)
{
    float y[N];

    if (ops->run(m->loaded, PHASE_RUN, device_ns, NULL, &m->why) || ops->read(m->loaded, 1, y, &m->why))
        fail_msg("%s", m->why.text);
    assert_true(y[0] == y[N - 1]);
    return y[0];
}

static void description_is_sane(void **state)
{
    const struct device_desc *d = ops->describe(device);

    (void)state;
    assert_string_equal(d->api, "c");
    assert_int_equal(d->kind, DEVICE_CPU);
    assert_true(d->platform[0] && d->platform_version[0] && d->shares_host);
    assert_ptr_equal(strstr(d->name, d->platform), d->name); /* gcc's records and clang's have keys apart */
    assert_true(d->threads >= 1 && d->global_bytes > 0 && d->vector_bits >= 128);
}

static void compilers_that_are_not_there_are_named(void **state)
{
    char *path = strdup(getenv("PATH"));
    struct why why = {""};
    struct device *d = NULL;

    (void)state;
    assert_int_equal(ops->open("/bin/false", &d, &why), ERR_INPUT);
    assert_string_equal(why.text, "/bin/false --version tells nothing: expected a C compiler");
    assert_int_equal(ops->open("nonesuch", &d, &why), ERR_NOT_FOUND);
    assert_string_equal(why.text, "no C compiler 'nonesuch' in $PATH");
    setenv("PATH", cache, 1);
    assert_int_equal(ops->open("", &d, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "none of gcc, clang, cc is in $PATH: install one"));
    assert_int_equal(ops->list(NULL, NULL, &why), ERR_NOT_FOUND);
    setenv("PATH", path, 1);
    free(path);
}

static void a_function_is_called_with_its_arguments(void **state)
{
    struct made m;

    (void)state;
    begin(&m, twice, "");
    assert_true(first_of(&m, NULL) == 6);
    drop(&m);
}

static void cxx_is_compiled_as_such(void **state)
{
    static const char text[] =
        "template <class T> T two() { return 2; }\n"
        "extern \"C\" double f(A a) { for (int i = 0; i < COUNT; i++) Y[i] = two<float>() * X[i]; "
        "return UNTOLD; }\n";
    struct made m;

    (void)state;
    make(&m, text, "", LANG_CXX);
    if (load(&m))
        fail_msg("%s", m.why.text); /* a gcc without g++ */
    assert_true(first_of(&m, NULL) == 6);
    drop(&m);
    make(&m, text, "", LANG_C);
    expect(&m, load(&m), ERR_COMPILE, "error");
}

static void what_cannot_be_built_is_told(void **state)
{
    struct made m;

    (void)state;
    make(&m, "double f(A a) { nonsense }\n", "", LANG_C);
    expect(&m, load(&m), ERR_COMPILE, "kernel.c:6:"); /* behind the head's five lines */
    make(&m, "double g(A a) { return 0; }\n", "", LANG_C);
    expect(&m, load(&m), ERR_COMPILE, "the module has no function named f");
    make(&m, "double f(A a) { return missing(a); }\n", "", LANG_C);
    expect(&m, load(&m), ERR_COMPILE, "missing");
    make(&m, "double missing(A a); double f(A a) { return missing(a); }\n", "", LANG_C);
    expect(&m, load(&m), ERR_COMPILE, "missing");
}

static void launches_that_only_devices_have_are_limits(void **state)
{
    struct made m;

    (void)state;
    make(&m, twice, "", LANG_C);
    m.program.launches[0].grid[1] = 2;
    expect(&m, load(&m), ERR_LIMITS, "expected a grid and a block of 1");
    make(&m, twice, "", LANG_C);
    program_arg_int(&m.program.launches[0], ARG_LOCAL, 64);
    expect(&m, load(&m), ERR_LIMITS, "no local memory");
    make(&m, twice, "", LANG_OPENCL_C);
    expect(&m, load(&m), ERR_LIMITS, "neither C nor C++");
    make(&m, twice, "", LANG_C);
    strcpy(m.program.api, "cuda");
    expect(&m, load(&m), ERR_LIMITS, "the program is for cuda, the device is plain C");
}

static void writes_out_of_bounds_are_caught(void **state)
{
    static const char *const at[] = {"Y[COUNT] = 0", "Y[-1] = 0"};
    static const char *const words[] = {"wrote behind the end of y", "wrote before the beginning of y, 4 bytes"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[200];
        struct made m;

        snprintf(text, sizeof text, "double f(A a) { %s; return UNTOLD; }\n", at[i]);
        begin(&m, text, "");
        ops->poison(m.loaded, POISON_NAN, &m.why);
        assert_int_equal(ops->run(m.loaded, PHASE_RUN, NULL, NULL, &m.why), ERR_OK);
        expect(&m, ops->check_guards(m.loaded, &m.why), ERR_WRONG, words[i]);
    }
}

static void a_time_that_a_function_tells_is_its_time(void **state)
{
    static const char spin[] =
        "double f(A a) { volatile int n = 0; for (int i = 0; i < 3000000; i++) n += 1; return TOLD; }\n";
    int64_t told_ns = 0, wall_ns = 0;
    struct made m;

    (void)state;
    begin(&m, spin, "-DTOLD=0.25");
    assert_int_equal(ops->run(m.loaded, PHASE_RUN, &told_ns, &wall_ns, &m.why), ERR_OK);
    assert_int_equal(told_ns, 250000);
    assert_true(wall_ns > told_ns);
    drop(&m);
    begin(&m, spin, "-DTOLD=UNTOLD");
    assert_int_equal(ops->run(m.loaded, PHASE_RUN, &told_ns, &wall_ns, &m.why), ERR_OK);
    assert_int_equal(told_ns, wall_ns);
    drop(&m);
    begin(&m, spin, "-DTOLD=1e6");
    expect(&m, ops->run(m.loaded, PHASE_RUN, NULL, NULL, &m.why), ERR_DEVICE, "expected its time in ms, within the ");
    begin(&m, spin, "-DTOLD=-1");
    expect(&m, ops->run(m.loaded, PHASE_RUN, NULL, NULL, &m.why), ERR_DEVICE, "the function returned -1");
}

/* What a kernel keeps is gone with it, and the object is not built twice. */
static void a_second_load_is_cached_and_begins_anew(void **state)
{
    static const char text[] = "static int n;\ndouble f(A a) { n++; for (int i = 0; i < COUNT; i++) Y[i] = n; return "
                               "UNTOLD; }\n";

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct made m;

        begin(&m, text, "");
        assert_int_equal(m.report.build_cached, i);
        assert_true(m.report.build_ns > 0 && m.report.compiler[0]);
        assert_true(first_of(&m, NULL) == 1);
        assert_true(first_of(&m, NULL) == 2);
        drop(&m);
    }
}

/* gcc links code into objects of -ffast-math that makes numbers near 0 be 0 in the thread that loads them. */
static void options_of_one_change_nothing_for_others(void **state)
{
    volatile double least = 4.9e-324;
    struct made m;

    (void)state;
    begin(&m, twice, "-ffast-math");
    assert_true(least * 3 > 0);
    drop(&m);
}

/* OpenMP's threads wait in their library when the function has ended: it has to stay. */
static void threads_outlive_what_started_them(void **state)
{
    static const char text[] = "double f(A a) {\n#pragma omp parallel for\n"
                               "    for (int i = 0; i < COUNT; i++) Y[i] = 2 * X[i];\n    return UNTOLD; }\n";

    (void)state;
    setenv("OMP_NUM_THREADS", "2", 1);
    for (int i = 0; i < 3; i++) {
        struct made m;

        make(&m, text, "-fopenmp", LANG_C);
        if (load(&m)) { /* a clang without its library */
            printf("skipped: %s\n", m.why.text);
            drop(&m);
            return;
        }
        assert_true(first_of(&m, NULL) == 6);
        drop(&m);
        clock_sleep_ms(50); /* where they would wake up in what is no more */
    }
}

static int close_all(void **state)
{
    (void)state;
    ops->close(device);
    dir_remove(cache);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(description_is_sane),
        cmocka_unit_test(compilers_that_are_not_there_are_named),
        cmocka_unit_test(a_function_is_called_with_its_arguments),
        cmocka_unit_test(cxx_is_compiled_as_such),
        cmocka_unit_test(what_cannot_be_built_is_told),
        cmocka_unit_test(launches_that_only_devices_have_are_limits),
        cmocka_unit_test(writes_out_of_bounds_are_caught),
        cmocka_unit_test(a_time_that_a_function_tells_is_its_time),
        cmocka_unit_test(a_second_load_is_cached_and_begins_anew),
        cmocka_unit_test(options_of_one_change_nothing_for_others),
        cmocka_unit_test(threads_outlive_what_started_them),
    };
    struct why why = {""};

    ops = device_find("c");
    if (!ops || dir_temporary("tune-test", cache, sizeof cache, &why) != ERR_OK)
        return 1;
    if (ops->open("", &device, &why) != ERR_OK) {
        fprintf(stderr, "skipped: %s\n", why.text);
        dir_remove(cache);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, close_all);
}
