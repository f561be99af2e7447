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

/* The whole fingerprint, the first of its digits, none: records of this device. Any other digits: of another. */
static void a_device_is_asked_for_by_the_first_digits_of_its_fingerprint(void **state)
{
    struct sha256 own;
    char prefix[SHA256_HEX + 1];

    (void)state;
    write_log(8, 8);
    here = sample;
    here.units = here.threads = 8;
    own = device_desc_fingerprint(&here);
    for (int n = SHA256_HEX; n >= 0; n = n > 12 ? 12 : n - 4)
        for (int wrong = 0; wrong <= (n > 0); wrong++) {
            const struct tune_options o = {.size = sizeof o, .fingerprint = prefix};
            struct tune *t = NULL;
            enum tune_status s;

            snprintf(prefix, sizeof prefix, "%.*s", n, own.hex);
            if (wrong)
                prefix[n - 1] = prefix[n - 1] == '0' ? '1' : '0';
            s = tune_open_with(&backend, path, NULL, NULL, &o, &t);
            if ((s == TUNE_OK) == wrong)
                fail_msg("fingerprint '%s': %s", prefix, tune_words());
            tune_close(t);
        }
}

/* ---- what is given back ---- */

static struct {
    int sessions, ops, packed; /* open now */
} held;

static void *hold(int *n)
{
    ++*n;
    return malloc(1);
}

static void give_back(int *n, void *p)
{
    --*n;
    free(p);
}

static enum tune_status open_session(struct tune *t, void *context, void *device, int threads)
{
    t->session = hold(&held.sessions);
    return describe(t, context, device, threads);
}

static enum exec_status op_open(void *session, const struct exec_plan *plan, struct exec_words *words, void **out)
{
    (void)plan;
    (void)words;
    assert_non_null(session);
    *out = hold(&held.ops);
    return EXEC_OK;
}

static enum exec_status pack(void *op, void *queue, const void *weights, struct exec_words *words, void **out)
{
    (void)queue;
    (void)weights;
    (void)words;
    assert_non_null(op);
    *out = hold(&held.packed);
    return EXEC_OK;
}

static void close_session(void *session)
{
    give_back(&held.sessions, session);
}

static void op_close(void *op)
{
    assert_int_equal(held.sessions, 1); /* it is of a session that is open */
    give_back(&held.ops, op);
}

static void packed_free(void *packed)
{
    assert_true(held.ops > 0);
    give_back(&held.packed, packed);
}

static const struct tune_backend counting = {.api = "opencl",
                                             .open = open_session,
                                             .op_open = op_open,
                                             .op_close = op_close,
                                             .pack = pack,
                                             .packed_free = packed_free,
                                             .close = close_session};

/* A log, a plan of it and two packed weights of the plan, freed in each order: what nobody has any more is given back,
 * and nothing before. */
static void all_is_given_back_in_any_order(void **state)
{
    static const char orders[][5] = {"tpab", "tapb", "pabt", "abpt", "bapt", "aptb", "patb", "btpa"};

    (void)state;
    write_log(8, 8);
    here = sample;
    here.units = here.threads = 8;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const void *tensor = &held;
        struct tune *t = NULL;
        struct tune_plan *p = NULL;
        struct tune_weights *w[2] = {NULL, NULL};
        int n_logs = 1, n_plans = 1, n_weights = 2; /* of the caller */

        assert_int_equal(tune_open_with(&counting, path, NULL, NULL, NULL, &t), TUNE_OK);
        if (tune_plan_make(t, "dense f32 m=3 n=17 k=31", 0, &p) != TUNE_OK)
            fail_msg("%s", tune_words());
        for (int k = 0; k < 2; k++)
            if (tune_pack(p, &counting, NULL, &tensor, 1, &w[k]) != TUNE_OK)
                fail_msg("%s", tune_words());
        for (const char *o = orders[i]; *o; o++) {
            assert_int_equal(held.packed, n_weights);
            assert_int_equal(held.ops, n_plans + n_weights > 0);
            assert_int_equal(held.sessions, n_logs + n_plans + n_weights > 0);
            if (*o == 't')
                tune_close(t);
            else if (*o == 'p')
                tune_plan_destroy(p);
            else
                tune_weights_free(w[*o - 'a']);
            *(*o == 't' ? &n_logs : *o == 'p' ? &n_plans : &n_weights) -= 1;
        }
        if (held.sessions || held.ops || held.packed)
            fail_msg("%s: %d sessions, %d ops, %d weights are kept", orders[i], held.sessions, held.ops, held.packed);
    }
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
        cmocka_unit_test(a_device_is_asked_for_by_the_first_digits_of_its_fingerprint),
        cmocka_unit_test(all_is_given_back_in_any_order),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
