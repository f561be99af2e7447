/* Programs that misbehave in every way, on a real OpenCL device in real children: this program is both (--child). */
#include "agent/child.h"
#include "agent/rig.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

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

#define N 4096

static struct rig rig;
static char tmp[PATH_MAX];

static void log_line(int level, const char *line, void *arg)
{
    (void)arg;
    print_message("[%d] %s\n", level, line);
}

/* ---- programs: y[i] = x[i] + 1 in many ways ---- */

#define HEAD                                                                                                           \
    "__kernel void f(__global const float *x, __global float *y, int n)\n{\n    const int i = get_global_id(0);\n"

static const char good[] = HEAD "    y[i] = x[i] + 1.0f;\n}\n";
static const char slower[] =
    HEAD "    float s = 0;\n    for (int k = 0; k < 2000; k++)\n        s = fma(s, 0.5f, x[i]);\n"
         "    y[i] = s == 1234.5f ? s : x[i] + 1.0f;\n}\n";
static const char wrong[] = HEAD "    y[i] = x[i] + (i == 77 ? 2.0f : 1.0f);\n}\n";
static const char broken[] = HEAD "    y[i] = x[i] + no_such_name;\n}\n";
static const char endless[] = HEAD "    volatile int go = 1;\n    while (go)\n        ;\n    y[i] = x[i] + 1.0f;\n}\n";
static const char wild[] = HEAD "    __global float *p = (__global float *)((size_t)y & 0xfff);\n    p[i] = 1.0f;\n"
                                "    y[i] = x[i] + 1.0f;\n}\n";
/* Right at first, and writes nothing after some 40 runs: `n` is the run counter kept in y's last element's neighbour.
 */
static const char lazy[] =
    "__kernel void f(__global const float *x, __global float *y, int n, __global int *runs)\n{\n"
    "    const int i = get_global_id(0);\n    if (runs[i]++ < 12)\n        y[i] = x[i] + 1.0f;\n}\n";
/* Dies once it has run often: verified well, kills whoever times it. */
static const char bomb[] = "__kernel void f(__global const float *x, __global float *y, int n, __global int *runs)\n{\n"
                           "    const int i = get_global_id(0);\n    if (runs[i]++ > 12)\n"
                           "        ((__global float *)((size_t)y & 0xfff))[i] = 1.0f;\n    y[i] = x[i] + 1.0f;\n}\n";

struct make {
    struct program p;
    struct blobs blobs;
};

static void add_reference_values(struct make *m)
{
    static double values[N];
    const struct program_fill fill = m->p.buffers[0].fill;
    struct program_pass *pass = program_add_pass(&m->p, "exact");
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, 1);

    for (int i = 0; i < N; i++)
        values[i] = fill_elem(&fill, DTYPE_F32, i) + 1;
    c->n = N;
    blobs_put(&m->blobs, values, sizeof values, &c->values);
}

static void make_program(struct make *m, const char *source, int64_t block)
{
    const int64_t grid[3] = {N / block, 1, 1}, group[3] = {block, 1, 1};
    struct program_buffer *x, *y, *runs;
    struct program_module *module;
    struct program_launch *l;

    program_init(&m->p);
    blobs_init(&m->blobs, 1 << 26);
    m->p.workload = strdup("test f32 n=4096");
    m->p.template_id = strdup("");
    m->p.flops = N;
    strcpy(m->p.api, "opencl");
    x = program_add_buffer(&m->p, "x", ROLE_INPUT, DTYPE_F32, N);
    x->fill = (struct program_fill){.kind = FILL_INT, .seed = 1, .lo = -8, .hi = 8};
    y = program_add_buffer(&m->p, "y", ROLE_OUTPUT, DTYPE_F32, N);
    y->fill.kind = FILL_NONE;
    module = program_add_module(&m->p, "m", LANG_OPENCL_C, "");
    blobs_put(&m->blobs, source, strlen(source), &module->source);
    if (strstr(source, "runs")) {
        runs = program_add_buffer(&m->p, "runs", ROLE_STATE, DTYPE_I32, N);
        runs->fill.kind = FILL_ZERO;
    }
    l = program_add_kernel(&m->p, PHASE_RUN, 0, "f", grid, group);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    program_arg_int(l, ARG_I32, N);
    if (strstr(source, "runs"))
        program_arg_buffer(l, 2);
    add_reference_values(m);
}

static struct sha256 store(struct make *m)
{
    struct buf text;
    struct sha256 name;
    struct why why = {""};

    buf_init(&text, PROGRAM_MAX_BYTES);
    if (program_to_json(&m->p, &text))
        fail_msg("no JSON");
    blobs_put(&m->blobs, text.data, text.len, &name);
    buf_fini(&text);
    for (size_t i = 0; i < m->blobs.n; i++)
        if (workdir_put(&rig.dir, &m->blobs, m->blobs.items[i].name.hex, &why))
            fail_msg("%s", why.text);
    return name;
}

/* A leased trial of it, as a tracker would send. */
static struct trial *lease(struct make *m, const char *anchor, const char *limits)
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

static void drop(struct make *m, struct trial *t)
{
    trial_free(t);
    program_fini(&m->p);
    blobs_fini(&m->blobs);
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
    rig_begin_batch(&rig);
    rig_verify(&rig, t);
    if (!t->finished)
        rig_time(&rig, &t, 1);
}

static void one(const char *source, enum record_status status, const char *stage, const char *words)
{
    struct make m;
    struct trial *t;

    make_program(&m, source, 64);
    t = lease(&m, "", LIMITS);
    run_both(t);
    expect(t, status, stage, words);
    drop(&m, t);
}

static void a_good_program_is_ok(void **state)
{
    struct make m;
    struct trial *t;

    (void)state;
    make_program(&m, good, 64);
    t = lease(&m, "", LIMITS);
    run_both(t);
    expect(t, STATUS_OK, "", "");
    rig_complete(&rig, t);
    assert_true(t->record.time_ns > 0 && isnan(t->record.lnratio) && t->record.rounds == 5);
    assert_true(t->record.canary_before > 0 && t->record.build_ms > 0 && t->record.device);
    drop(&m, t);
}

static void a_wrong_answer_is_wrong(void **state)
{
    (void)state;
    one(wrong, STATUS_WRONG, "verify", "77");
}

static void what_does_not_compile_says_why(void **state)
{
    (void)state;
    one(broken, STATUS_COMPILE, "build", "no_such_name");
}

static void an_endless_loop_is_a_timeout(void **state)
{
    const int64_t from = clock_now_ns();

    (void)state;
    one(endless, STATUS_TIMEOUT, "verify", "longer than 2 s");
    print_message("endless loop ended after %.2f s\n", (double)(clock_now_ns() - from) * 1e-9);
}

static void a_wild_write_is_a_crash(void **state)
{
    (void)state;
    one(wild, STATUS_CRASH, "verify", "signal");
}

static void a_group_too_large_is_over_the_limits(void **state)
{
    struct make m;
    struct trial *t;

    (void)state;
    make_program(&m, good, 64);
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
    struct make m;
    struct trial *t;
    char id[16];

    (void)state;
    make_program(&m, good, 64);
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
    one(lazy, STATUS_WRONG, "time", "outputs after");
}

/* Three good ones and the bomb in one batch: only the bomb is blamed. */
static void one_crash_in_a_batch_harms_no_other(void **state)
{
    const char *const sources[] = {good, bomb, slower};
    struct make m[3];
    struct trial *t[3];
    char anchor[65];

    (void)state;
    for (int i = 0; i < 3; i++) {
        make_program(&m[i], sources[i], i == 2 ? 32 : 64);
        if (i == 0)
            snprintf(anchor, sizeof anchor, "%s", store(&m[0]).hex);
        t[i] = lease(&m[i], anchor, LIMITS);
        rig_verify(&rig, t[i]);
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
    struct make m[2];
    struct trial *t[2];
    struct sha256 anchor;

    (void)state;
    make_program(&m[0], good, 64);
    make_program(&m[1], slower, 64);
    anchor = store(&m[0]);
    for (int i = 0; i < 2; i++) {
        t[i] = lease(&m[i], anchor.hex, LIMITS);
        rig_warm_anchor(&rig, t[i]);
        rig_verify(&rig, t[i]);
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
    const pid_t build = rig.build.pid, time = rig.time.pid;

    (void)state;
    strcpy(path, rig.dir.path);
    rig_close(&rig);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(build <= 0 || proc_rss_bytes(build) < 0);
    assert_true(time <= 0 || proc_rss_bytes(time) < 0);
}

static int open_rig(void **state)
{
    const struct rig_options o = {.device = "opencl", .log = log_line};
    struct why why = {""};

    (void)state;
    if (dir_temporary("test-children", tmp, sizeof tmp, &why))
        return -1;
    setenv("TMPDIR", tmp, 1);
    setenv("TUNE_LOCK_DIR", tmp, 1);
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
        cmocka_unit_test(a_good_program_is_ok),
        cmocka_unit_test(a_wrong_answer_is_wrong),
        cmocka_unit_test(what_does_not_compile_says_why),
        cmocka_unit_test(an_endless_loop_is_a_timeout),
        cmocka_unit_test(a_wild_write_is_a_crash),
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
