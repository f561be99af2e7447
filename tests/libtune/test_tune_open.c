/* SPDX-License-Identifier: MIT */
/* Whose records a log holds for a device, on a backend of the test's own: it opens nothing and describes any device. */
#include "libtune/tune_parts.h"
#include "logs/log.h"
#include "tests/libtune/sample_layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct device_desc sample, here; /* of the sample records; that is opened */
static char path[] = "/tmp/tune-open-XXXXXX";

static enum tune_status describe(struct tune *t, void *context, void *device, int threads)
{
    (void)context;
    (void)device;
    (void)threads;
    t->device = here;
    return TUNE_OK;
}

static const struct tune_backend backend = {.api = "opencl", .open = describe};

/* A log of one record, measured with these compute units and threads. */
static void write_log(int units, int threads)
{
    struct device_desc d = sample;
    struct record r;
    struct why why = {""};

    d.units = units;
    d.threads = threads;
    assert_true(sample_record("dense f32 m=3 n=17 k=31", "dense/naive", &r));
    r.fingerprint = device_desc_fingerprint(&d);
    cJSON_Delete(r.device);
    r.device = device_desc_to_json(&d);
    assert_int_equal(truncate(path, 0), 0);
    if (log_append(path, &r, &why))
        fail_msg("%s", why.text);
    record_fini(&r);
}

/* PoCL counts a unit for each thread, or one for each core: a log of other threads is told as that. */
static void a_log_of_other_threads_is_told_with_both_numbers(void **state)
{
    static const struct {
        int units, threads;           /* of the log */
        int units_here, threads_here; /* 0 = no threads that can be set */
        const char *words;
    } cases[] = {
        {4, 4, 8, 8, "with 4 threads, here it runs with 8: set POCL_MAX_PTHREAD_COUNT=4"}, /* a unit for each thread */
        {8, 4, 8, 8, "with 4 threads, here it runs with 8: set POCL_MAX_PTHREAD_COUNT=4"}, /* ... for each core */
        {2, 1, 2, 2, "with 1 threads, here it runs with 2: set POCL_MAX_PTHREAD_COUNT=1"},
        {64, 1000, 64, 3, "with 1000 threads, here it runs with 3: "},
        {3, 4, 8, 8, "any_device was not asked for"}, /* neither */
        {4, 4, 8, 0, "any_device was not asked for"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tune *t = NULL;

        write_log(cases[i].units, cases[i].threads);
        here = sample;
        here.units = cases[i].units_here;
        here.threads = cases[i].threads_here;
        assert_int_equal(tune_open_with(&backend, path, NULL, NULL, NULL, &t), TUNE_OTHER_DEVICE);
        assert_null(t);
        if (!strstr(tune_words(), cases[i].words))
            fail_msg("case %zu: %s", i, tune_words());
    }
}

static void a_log_of_this_device_opens(void **state)
{
    const struct tune_options any = {.size = sizeof any, .any_device = 1};
    struct tune *t = NULL;

    (void)state;
    write_log(8, 8);
    here = sample;
    here.units = here.threads = 8;
    assert_int_equal(tune_open_with(&backend, path, NULL, NULL, NULL, &t), TUNE_OK);
    assert_string_equal(t->log_fingerprint.hex, t->fingerprint.hex);
    tune_close(t);
    here.threads = 4; /* another one, and welcome */
    assert_int_equal(tune_open_with(&backend, path, NULL, NULL, &any, &t), TUNE_OK);
    assert_string_not_equal(t->log_fingerprint.hex, t->fingerprint.hex);
    tune_close(t);
}

static int set_up(void **state)
{
    struct record r;
    const int fd = mkstemp(path);

    (void)state;
    if (fd < 0 || close(fd) || !sample_record("dense f32 m=3 n=17 k=31", "dense/naive", &r) ||
        device_desc_from_json(r.device, &sample, NULL))
        return 1;
    record_fini(&r);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_of_other_threads_is_told_with_both_numbers),
        cmocka_unit_test(a_log_of_this_device_opens),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
