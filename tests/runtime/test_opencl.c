/* SPDX-License-Identifier: MIT */
/* The first OpenCL device: the contract of all backends, and what is its own. */
#include "core/file.h"
#include "runtime/opencl.h"
#include "tests/runtime/contract.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const struct device_ops *ops;
static struct device *device;
static char cache[PATH_MAX];

static void needs_over_the_device_are_limits(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, sample_add_text);
    s.program.launches[0].block[0] = 1000000;
    contract_expect(&s, ERR_LIMITS, "at most");
    sample_add(&s, sample_add_text);
    s.program.needs_local_bytes = (int64_t)1 << 40;
    contract_expect(&s, ERR_LIMITS, "local memory");
    sample_add(&s, sample_add_text);
    s.program.needs_work_group = 1 << 24;
    contract_expect(&s, ERR_LIMITS, "work-groups");
    sample_add(&s, sample_add_text);
    strcpy(s.program.extensions, "cl_none_such");
    contract_expect(&s, ERR_LIMITS, "cl_none_such");
    sample_add(&s, sample_add_text);
    strcpy(s.program.extensions, "tune_none_such"); /* an instruction for products of int8: kernels/gemm/dot.clh */
    contract_expect(&s, ERR_LIMITS, "tune_none_such");
    sample_add(&s, sample_add_text);
    strcpy(s.program.api, "cuda");
    contract_expect(&s, ERR_LIMITS, "cuda");
    sample_add(&s, "__kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
                   "void add(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *y, int n) {}\n");
    contract_expect(&s, ERR_LIMITS, "requires work-groups of 32");
}

/* Where a busy machine wakes one of the device's threads too late, that one is not poisoned. */
static void local_memory_that_nobody_wrote_shows_in_the_outputs(void **state)
{
    struct why why = {""};
    enum err e = ERR_OK;

    (void)state;
    for (int i = 0; i < 5 && !e; i++) {
        struct sample s;

        sample_add(&s, SAMPLE_ADD_HEAD "{ __local float t[65]; int i = I, l = get_local_id(0);"
                                       " t[l] = a[i < n ? i : 0]; barrier(CLK_LOCAL_MEM_FENCE);"
                                       " if (i < n) y[i] = t[l] + b[i] + t[64]; }\n");
        e = contract_check(&s, NULL, &why);
        sample_fini(&s);
    }
    assert_int_equal(e, ERR_WRONG);
    if (device->pocl) /* others may have local memory where something else was */
        assert_non_null(strstr(why.text, "nan, expected a number"));
}

/* The binary that was kept: its path in `out`, "" when there is none. `before`: those of other tests go. */
static void find_binary(char out[PATH_MAX], bool before)
{
    DIR *dir = opendir(cache);
    const struct dirent *entry;

    *out = '\0';
    while (dir && (entry = readdir(dir)))
        if (strstr(entry->d_name, ".clbin")) {
            snprintf(out, PATH_MAX, "%.3000s/%.255s", cache, entry->d_name);
            if (before)
                assert_int_equal(unlink(out), 0);
        }
    if (dir)
        closedir(dir);
}

static bool is_cached_and_right(struct device *d, struct sample *s)
{
    struct load_report report;
    struct loaded *l = NULL;
    struct why why = {""};

    assert_int_equal(ops->load(d, &s->program, &s->blobs, cache, &l, &report, &why), ERR_OK);
    if (verify_program(ops, l, &s->program, &s->blobs, NULL, &why))
        fail_msg("%s", why.text);
    free(report.log);
    ops->unload(l);
    return report.build_cached;
}

/* A driver without a cache of its own (Mali's): PoCL taken for one. */
static void binaries_are_kept_for_drivers_without_a_cache(void **state)
{
    struct device other = *device;
    struct sample s;
    char path[PATH_MAX];

    (void)state;
    other.pocl = false;
    find_binary(path, true);
    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "NOT_KEPT_BEFORE", 1);
    assert_false(is_cached_and_right(&other, &s));
    find_binary(path, false);
    assert_true(path[0]);
    assert_true(is_cached_and_right(&other, &s));
    assert_int_equal(file_replace(path, "damaged", 7, 0600, NULL), ERR_OK);
    assert_false(is_cached_and_right(&other, &s));
    assert_true(is_cached_and_right(&other, &s));
    sample_fini(&s);
}

static void description_is_sane(void **state)
{
    const struct device_desc *d = ops->describe(device);

    (void)state;
    assert_string_equal(d->api, "opencl");
    assert_true(d->name[0] && d->platform[0]);
    assert_true(d->units >= 1 && d->max_work_group >= 1 && d->local_bytes > 0 && d->global_bytes > 0);
    if (d->kind == DEVICE_CPU) {
        assert_true(d->shares_host);
        assert_true(d->vector_bits >= 128 && d->vector_bits <= 2048);
    }
    printf("%s: %lld units, %lld threads, %lld bits\n", d->name, (long long)d->units, (long long)d->threads,
           (long long)d->vector_bits);
}

static void bad_selectors_are_refused(void **state)
{
    static const char *const bad[] = {"x", "0", "0.", ".0", "0.0.0", "-1.0", "99999999999.1", "7.0", "0.63"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct device *d = NULL;
        struct why why = {""};

        if (ops->open(bad[i], &d, &why) == ERR_OK || !why.text[0])
            fail_msg("'%s' was taken, or refused without words", bad[i]);
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
        cmocka_unit_test(needs_over_the_device_are_limits),
        cmocka_unit_test(local_memory_that_nobody_wrote_shows_in_the_outputs),
        cmocka_unit_test(binaries_are_kept_for_drivers_without_a_cache),
        cmocka_unit_test(description_is_sane),
        cmocka_unit_test(bad_selectors_are_refused),
    };
    struct why why = {""};
    struct device other;
    int n_failed;

    ops = device_find("opencl");
    if (dir_temporary("tune-test", cache, sizeof cache, &why) != ERR_OK)
        return 1;
    if (ops->open("", &device, &why) != ERR_OK) {
        fprintf(stderr, "skipped: %s\n", why.text);
        dir_remove(cache);
        return 77;
    }
    setenv("POCL_CACHE_DIR", cache, 1); /* of our marks: PoCL has looked by now, and finds what it built another time */
    sample_use(&sample_opencl);
    contract_use(ops, device, cache);
    n_failed = contract_run("the contract");
    other = *device;
    other.desc.shares_host = !other.desc.shares_host; /* buffers are mapped, or else copied */
    contract_use(ops, &other, cache);
    n_failed += contract_run_buffers("the contract, the other way");
    contract_use(ops, device, cache);
    return n_failed + cmocka_run_group_tests(tests, NULL, close_all);
}
