/* SPDX-License-Identifier: MIT */
/* Programs that misbehave in every way, on a real OpenCL device in real children: this program is both (--child). */
#include "agent/child.h"
#include "agent/rig.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "samples.h"
#include "tests/runtime/sysfs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct rig rig;
static char tmp[PATH_MAX - 16], sysfs[PATH_MAX];

static void log_line(int level, const char *line, void *arg)
{
    (void)arg;
    print_message("[%d] %s\n", level, line);
}

static struct sha256 store(struct sample *m)
{
    const struct sha256 name = sample_seal(m);
    struct why why = {""};

    for (size_t i = 0; i < m->blobs.n; i++)
        if (workdir_put(&rig.dir, &m->blobs, m->blobs.items[i].name.hex, &why))
            fail_msg("%s", why.text);
    return name;
}

/* A leased trial of it, as a tracker would send. */
static struct trial *lease(struct sample *m, const char *anchor, const char *limits)
{
    static const struct trial_agent self = {.name = "a0", .key = "k"};
    const struct sha256 name = store(m);
    char text[1024];
    struct why why = {""};
    struct trial *t = NULL;
    cJSON *json;

    snprintf(text, sizeof text,
             "{\"trial\":\"t1\",\"token\":1,\"job\":\"j1\",\"program\":\"%s\",\"anchor\":\"%s\",\"body\":{\"timing\":"
             "{\"rounds\":5,\"rounds_near_best\":5,\"min_slot_ms\":1},\"limits\":%s}}",
             name.hex, anchor, limits);
    json = cJSON_Parse(text);
    if (trial_new(json, &self, &t, &why))
        fail_msg("%s", why.text);
    cJSON_Delete(json);
    trial_take_program(t, blobs_get(&m->blobs, name.hex)->data, blobs_get(&m->blobs, name.hex)->n_bytes);
    return t;
}

static void drop(struct sample *m, struct trial *t)
{
    trial_free(t);
    sample_fini(m);
}

#define LIMITS "{\"build_s\":20,\"run_s\":2,\"memory_bytes\":1000000000}"

static void expect(struct trial *t, enum record_status status, const char *stage, const char *words)
{
    const struct record *r = &t->record;

    if (!t->finished || r->status != status || strcmp(r->stage, stage) != 0 || !strstr(r->why ? r->why : "", words))
        fail_msg("got %s at '%s': %s; wanted %s at '%s' with '%s'", status_name(r->status), r->stage,
                 r->why ? r->why : "", status_name(status), stage, words);
}

static void run_both(struct trial *t)
{
    rig_verify(&rig, 0, t);
    if (!t->finished)
        rig_time(&rig, &t, 1);
}

static void one_within(const char *source, const char *limits, enum record_status status, const char *stage,
                       const char *words)
{
    struct sample m;
    struct trial *t;

    sample_make(&m, source, 64);
    t = lease(&m, "", limits);
    run_both(t);
    expect(t, status, stage, words);
    drop(&m, t);
}

static void one(const char *source, enum record_status status, const char *stage, const char *words)
{
    one_within(source, LIMITS, status, stage, words);
}

static double temperature(const cJSON *sense, const char *when)
{
    double c = -1;

    json_real_or(cJSON_GetObjectItemCaseSensitive(sense, when), "temperature_c", -1, &c, NULL);
    return c;
}

static void a_good_program_is_ok_with_what_the_sensors_said(void **state)
{
    struct sample m;
    struct trial *t;
    const cJSON *sense;

    (void)state;
    sample_make(&m, sample_good, 64);
    t = lease(&m, "", LIMITS);
    run_both(t);
    expect(t, STATUS_OK, "", "");
    rig_complete(&rig, t);
    assert_true(t->record.time_ns > 0 && isnan(t->record.lnratio) && t->record.rounds == 5);
    assert_true(t->record.canary_before > 0 && t->record.build_ms > 0 && t->record.device);
    sense = cJSON_GetObjectItemCaseSensitive(t->record.device, "sense");
    assert_true(temperature(sense, "before") == 65 && temperature(sense, "during") == 65 &&
                temperature(sense, "after") == 65);
    assert_false(cJSON_HasObjectItem(sense, "waited_s"));
    drop(&m, t);
}

static void a_wrong_answer_is_wrong(void **state)
{
    (void)state;
    one(sample_wrong, STATUS_WRONG, "verify", "77");
}

static void what_does_not_compile_says_why(void **state)
{
    (void)state;
    one(sample_broken, STATUS_COMPILE, "build", "no_such_name");
}

static void an_endless_loop_is_a_timeout(void **state)
{
    const int64_t from = clock_now_ns();

    (void)state;
    one_within(sample_endless, "{\"build_s\":5,\"run_s\":1}", STATUS_TIMEOUT, "verify",
               "longer than 6 s"); /* run_s, and build_s for a compiler that comes late */
    print_message("endless loop ended after %.2f s\n", (double)(clock_now_ns() - from) * 1e-9);
}

static void a_wild_write_is_a_crash(void **state)
{
    (void)state;
    one(sample_wild, STATUS_CRASH, "verify", "signal");
}

/* Even where nothing comes of it: a value that is dropped, or written back; and far beyond the bands. It is told which
 * buffer it was, and where. */
static void what_is_out_of_bounds_is_a_crash(void **state)
{
    static const struct {
        const char *touch, *words;
    } touches[] = {
        {"volatile float v = x[n]; (void)v;", "read behind the end of x, 0 bytes"},
        {"volatile __global float *p = y + n; *p = *p;", "read behind the end of y, 0 bytes"},
        {"y[n + 3] = 1.0f;", "wrote behind the end of y, 12 bytes"},
        {"y[n + 50000] = 1.0f;", "wrote behind the end of y, 200000 bytes"},
        {"y[-50000] = 1.0f;", "wrote before the beginning of y, 200000 bytes"},
        {"volatile float v = x[-1024]; (void)v;", "read before the beginning of x, 4096 bytes"},
        {"volatile __global float *p = (__global float *)x + 3; *p = *p;", "wrote into x, which is only read"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof touches / sizeof touches[0]; i++) {
        char source[400], words[160];

        snprintf(words, sizeof words, "died of signal 11 (Segmentation fault) during verify: %s", touches[i].words);
        snprintf(source, sizeof source,
                 "__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
                 "    const int i = get_global_id(0);\n    if (i == 0) { %s }\n    y[i] = x[i] + 1.0f;\n}\n",
                 touches[i].touch);
        one(source, STATUS_CRASH, "verify", words);
    }
}

static void a_group_too_large_is_over_the_limits(void **state)
{
    struct sample m;
    struct trial *t;

    (void)state;
    sample_make(&m, sample_good, 64);
    m.p.launches[0].block[0] = 8192;
    m.p.launches[0].grid[0] = 1;
    t = lease(&m, "", LIMITS);
    run_both(t);
    assert_true(t->finished);
    assert_int_equal(t->record.status, STATUS_LIMITS);
    drop(&m, t);
}

/* 40 scratch buffers of 32 MiB, all touched: over the job's limit of 600 MB. */
static void eating_memory_is_over_the_limits(void **state)
{
    struct sample m;
    struct trial *t;
    char id[16];

    (void)state;
    sample_make(&m, sample_good, 64);
    for (int i = 0; i < 40; i++) {
        struct program_buffer *b;

        snprintf(id, sizeof id, "s%d", i);
        b = program_add_buffer(&m.p, id, ROLE_SCRATCH, DTYPE_F32, 8 << 20);
        b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 1};
    }
    m.p.memory_bytes = (int64_t)4 << 30;
    t = lease(&m, "", "{\"build_s\":60,\"run_s\":60,\"memory_bytes\":600000000}");
    run_both(t);
    assert_true(t->finished);
    if (t->record.status != STATUS_LIMITS || !strstr(t->record.why, "memory"))
        fail_msg("got %s: %s", status_name(t->record.status), t->record.why);
    drop(&m, t);
}

static void a_kernel_that_stops_writing_is_wrong(void **state)
{
    (void)state;
    one(sample_lazy, STATUS_WRONG, "time", "outputs after");
}

/* Three good ones and the bomb in one batch: only the bomb is blamed. */
static void one_crash_in_a_batch_harms_no_other(void **state)
{
    const char *const sources[] = {sample_good, sample_bomb, sample_slower};
    struct sample m[3];
    struct trial *t[3];
    char anchor[65];

    (void)state;
    for (int i = 0; i < 3; i++) {
        sample_make(&m[i], sources[i], i == 2 ? 32 : 64);
        if (i == 0)
            snprintf(anchor, sizeof anchor, "%s", store(&m[0]).hex);
        t[i] = lease(&m[i], anchor, LIMITS);
        rig_verify(&rig, 0, t[i]);
        assert_false(t[i]->finished);
    }
    assert_int_equal(rig_batch_size(t, 3), 3);
    rig_time(&rig, t, 3);
    expect(t[0], STATUS_OK, "", "");
    expect(t[1], STATUS_CRASH, "time", "signal");
    expect(t[2], STATUS_OK, "", "");
    for (int i = 0; i < 3; i++)
        drop(&m[i], t[i]);
}

/* The anchor against itself is 1; a kernel with 2,000 more steps is slower. */
static void ratios_are_to_the_anchor(void **state)
{
    struct sample m[2];
    struct trial *t[2];
    struct sha256 anchor;

    (void)state;
    sample_make(&m[0], sample_good, 64);
    sample_make(&m[1], sample_slower, 64);
    anchor = store(&m[0]);
    for (int i = 0; i < 2; i++) {
        t[i] = lease(&m[i], anchor.hex, LIMITS);
        rig_warm_anchor(&rig, 0, t[i]);
        rig_verify(&rig, 0, t[i]);
    }
    rig_time(&rig, t, 2);
    for (int i = 0; i < 2; i++) {
        expect(t[i], STATUS_OK, "", "");
        print_message("ratio %.4f +- %.4f, %.1f us\n", exp(t[i]->record.lnratio), t[i]->record.se,
                      t[i]->record.time_ns * 1e-3);
        assert_int_equal(t[i]->record.anchor.n_samples, t[i]->record.n_samples);
    }
    assert_true(fabs(t[0]->record.lnratio) < 0.7);
    assert_true(t[1]->record.lnratio > 1);
    assert_true(t[1]->record.censored || t[1]->record.rounds >= 5);
    for (int i = 0; i < 2; i++)
        drop(&m[i], t[i]);
}

static void children_leave_nothing_behind(void **state)
{
    char path[PATH_MAX];
    const pid_t build = rig.builders[0].child.pid, time = rig.time.pid;

    (void)state;
    strcpy(path, rig.dir.temp.path);
    rig_close(&rig);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(build <= 0 || proc_rss_bytes(build) < 0);
    assert_true(time <= 0 || proc_rss_bytes(time) < 0);
}

static int open_rig(void **state)
{
    const struct rig_options o = {.device = "opencl", .log = log_line, .cool = {.max_c = 70}};
    struct why why = {""};

    (void)state;
    if (dir_temporary("test-children", tmp, sizeof tmp, &why))
        return -1;
    setenv("TMPDIR", tmp, 1);
    setenv("TUNE_LOCK_DIR", tmp, 1);
    snprintf(sysfs, sizeof sysfs, "%s/sysfs", tmp);
    sysfs_rk3399(sysfs);
    sysfs_put(sysfs, "class/thermal/thermal_zone0/temp", "65000"); /* of its CPUs */
    setenv("TUNE_SYSFS", sysfs, 1);
    if (rig_open(&rig, &o, true, &why)) {
        print_message("skipped: %s\n", why.text);
        dir_remove(tmp);
        exit(77);
    }
    print_message("%s, %d threads, canary %.3f ms, %.1f GFLOPS\n", rig.desc.name, rig.threads, rig.canary_ns * 1e-6,
                  rig.canary_gflops);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    dir_remove(tmp);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_program_is_ok_with_what_the_sensors_said),
        cmocka_unit_test(a_wrong_answer_is_wrong),
        cmocka_unit_test(what_does_not_compile_says_why),
        cmocka_unit_test(an_endless_loop_is_a_timeout),
        cmocka_unit_test(a_wild_write_is_a_crash),
        cmocka_unit_test(what_is_out_of_bounds_is_a_crash),
        cmocka_unit_test(a_group_too_large_is_over_the_limits),
        cmocka_unit_test(eating_memory_is_over_the_limits),
        cmocka_unit_test(a_kernel_that_stops_writing_is_wrong),
        cmocka_unit_test(one_crash_in_a_batch_harms_no_other),
        cmocka_unit_test(ratios_are_to_the_anchor),
        cmocka_unit_test(children_leave_nothing_behind),
    };

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
