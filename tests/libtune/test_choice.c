/* SPDX-License-Identifier: MIT */
/* Which config a workload is run with: exact record, nearest record that is valid, default. */
#include "core/file.h"
#include "libtune/choice.h"
#include "logs/log.h"
#include "tests/libtune/sample_layer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PACKED "dense/gemm_packed"

static struct device_desc device;
static char folder[] = "/tmp/tune-choice-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct workload parsed(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s", why.text);
    return w;
}

static struct space *space_for(const char *template_id, const char *workload)
{
    const struct workload w = parsed(workload);
    struct space *s = NULL;
    struct why why = {""};

    if (template_space(template_find(template_id), &w, &device, &s, &why))
        fail_msg("%s", why.text);
    return s;
}

/* A good record of a workload with the given config, of the device with this key. */
static struct record record_of(const char *workload, const char *template_id, const struct space *s,
                               const struct config *c, double time_ns)
{
    struct record r;
    const struct template *t = template_find(template_id);

    record_init(&r);
    r.workload = strdup(workload);
    snprintf(r.template_id, sizeof r.template_id, "%s", template_id);
    r.template_version = t ? t->version : 1;
    r.knobs = s ? space_config_to_json(s, c) : cJSON_CreateObject();
    r.time_ns = time_ns;
    r.status = STATUS_OK;
    r.device = device_desc_to_json(&device);
    r.fingerprint = device_desc_fingerprint(&device);
    snprintf(r.purpose, sizeof r.purpose, "final");
    snprintf(r.job, sizeof r.job, "j1");
    snprintf(r.key, sizeof r.key, "sample-cpu");
    return r;
}

/* The template's default on the sample device: valid for the workload. */
static struct record default_record(const char *workload, const char *template_id, double time_ns)
{
    struct space *s = space_for(template_id, workload);
    const struct workload w = parsed(workload);
    struct config c = {{0}};
    struct record r;

    assert_int_equal(template_find(template_id)->fallback(&w, &device, s, &c), ERR_OK);
    r = record_of(workload, template_id, s, &c, time_ns);
    space_free(s);
    return r;
}

static void add(struct best_set *b, struct record r)
{
    assert_int_equal(best_add(b, &r), ERR_OK);
    record_fini(&r);
}

static struct best_set *fresh(void)
{
    struct best_set *b = NULL;

    assert_int_equal(best_new(&b), ERR_OK);
    return b;
}

/* Takes the set. */
static struct choices *opened(struct best_set *b)
{
    struct choices *c = NULL;
    struct why why = {""};

    if (choices_of(b, &c, &why))
        fail_msg("%s", why.text);
    best_free(b);
    return c;
}

static struct choice made(const struct choices *c, const char *workload)
{
    const struct workload w = parsed(workload);
    struct choice out;
    struct why why = {""};

    if (choice_make(c, &w, &device, &out, &why))
        fail_msg("%s: %s", workload, why.text);
    return out;
}

static void the_record_of_the_workload_is_exact(void **state)
{
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record("dense f32 m=64 n=64 k=64", PACKED, 2000));
    add(b, default_record("dense f32 m=64 n=128 k=64", PACKED, 3000));
    c = opened(b);
    got = made(c, "dense f32 k=64 n=128 m=64"); /* in any order of keys */
    assert_int_equal(got.kind, CHOICE_EXACT);
    assert_string_equal(got.record->workload, "dense f32 m=64 n=128 k=64");
    assert_float_equal(got.time_ns, 3000, 0);
    assert_float_equal(got.distance, 0, 0);
    assert_ptr_equal(got.t, template_find(PACKED));
    choice_fini(&got);
    choices_close(c);
}

static void the_nearest_has_the_least_distance_and_a_time_by_flops(void **state)
{
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record("dense f32 m=64 n=1024 k=64", PACKED, 9000));
    add(b, default_record("dense f32 m=64 n=128 k=64", PACKED, 3000));
    add(b, default_record("dense f16 m=64 n=256 k=64", PACKED, 1000)); /* another dtype does not count */
    c = opened(b);
    got = made(c, "dense f32 m=64 n=256 k=64");
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_string_equal(got.record->workload, "dense f32 m=64 n=128 k=64");
    assert_float_equal(got.distance, 1, 1e-12);
    assert_float_equal(got.time_ns, 6000, 1e-6);
    choice_fini(&got);
    choices_close(c);
}

/* An operator that only moves data counts its elements: twice as many take twice as long. */
static void the_time_of_a_larger_copy_is_longer(void **state)
{
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record("concat f32 n=1 c=64 c2=64 h=16 w=16", "concat/stream", 3000));
    c = opened(b);
    got = made(c, "concat f32 n=1 c=64 c2=64 h=32 w=16");
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_float_equal(got.time_ns, 6000, 1e-6);
    choice_fini(&got);
    choices_close(c);
}

/* A valid config of `from` that `to` does not have. */
static struct config only_in(const struct space *from, const struct space *to)
{
    struct config c, there;
    struct rng rng;

    rng_init(&rng, 1);
    for (int i = 0; i < 100000; i++) {
        cJSON *knobs;
        bool fits;

        assert_int_equal(space_sample(from, &rng, 1000000, &c), ERR_OK);
        knobs = space_config_to_json(from, &c);
        fits = space_config_from_json(to, knobs, &there, NULL) == ERR_OK && space_is_valid(to, &there, NULL);
        cJSON_Delete(knobs);
        if (!fits)
            return c;
    }
    fail_msg("every config of one space is valid in the other");
    return c;
}

static void a_nearest_record_that_is_not_valid_here_is_passed_over(void **state)
{
    static const char near[] = "dense f32 m=64 n=96 k=64", far[] = "dense f32 m=64 n=2048 k=64",
                      asked[] = "dense f32 m=64 n=17 k=64";
    struct space *s_near = space_for(PACKED, near), *s_asked = space_for(PACKED, asked);
    const struct config c_near = only_in(s_near, s_asked);
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, record_of(near, PACKED, s_near, &c_near, 1000));
    c = opened(b);
    got = made(c, asked);
    assert_int_equal(got.kind, CHOICE_DEFAULT);
    assert_null(got.record);
    assert_true(isnan(got.time_ns));
    choice_fini(&got);
    choices_close(c);

    b = fresh();
    add(b, record_of(near, PACKED, s_near, &c_near, 1000));
    add(b, default_record(far, "dense/gemm_direct", 5000));
    c = opened(b);
    got = made(c, asked);
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_string_equal(got.record->workload, far);
    assert_true(space_is_valid(got.space, &got.config, NULL));
    choice_fini(&got);
    choices_close(c);
    space_free(s_near);
    space_free(s_asked);
}

static void another_epilogue_is_nearer_than_any_other_size(void **state)
{
    static const char plain[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
                      asked[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 epilogue=bias_relu",
                      other[] = "conv2d f32 n=1 c=64 h=57 w=56 k=64 r=3 s=3 pad=1 epilogue=bias_relu";
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record(other, "conv2d/direct_tile", 1000));
    add(b, default_record(plain, "conv2d/direct_tile", 1000));
    c = opened(b);
    got = made(c, asked);
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_string_equal(got.record->workload, plain);
    assert_true(got.distance > 0 && got.distance < 0.0025);
    choice_fini(&got);
    choices_close(c);
}

/* A window of one pixel is three doublings away from one of nine; Winograd's, which cannot compute it, takes half the
 * time of the other there (docs/notes/costs.md). Where the sizes are nearly the same the record knows better. */
static void a_far_record_of_a_slower_template_is_passed_over(void **state)
{
    static const char asked[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 layout=nchw16c",
                      pixel[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=1 s=1 layout=nchw16c",
                      near[] = "conv2d f32 n=1 c=64 h=56 w=50 k=64 r=3 s=3 pad=1 layout=nchw16c";
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record(pixel, "conv2d/direct_tile", 1000));
    c = opened(b);
    got = made(c, asked);
    assert_int_equal(got.kind, CHOICE_DEFAULT);
    assert_string_equal(got.t->id, "conv2d/winograd_tile");
    choice_fini(&got);
    choices_close(c);

    b = fresh();
    add(b, default_record(pixel, "conv2d/direct_tile", 1000));
    add(b, default_record(near, "conv2d/direct_tile", 1000));
    c = opened(b);
    got = made(c, asked);
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_string_equal(got.record->workload, near);
    choice_fini(&got);
    choices_close(c);
}

static void words_must_agree_and_distances_are_symmetric(void **state)
{
    const struct workload a = parsed("conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"),
                          b = parsed("conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 layout=nchw4c"),
                          c = parsed("conv2d f32 n=2 c=128 h=56 w=56 k=64 r=3 s=3 stride=2 pad=1"),
                          d = parsed("dense f32 m=1 n=1 k=1");

    (void)state;
    assert_true(isinf(choice_distance(&a, &b)));
    assert_true(isinf(choice_distance(&a, &d)));
    assert_float_equal(choice_distance(&a, &a), 0, 0);
    assert_float_equal(choice_distance(&a, &c), sqrt(3), 1e-12); /* three sizes twice as large */
    assert_float_equal(choice_distance(&a, &c), choice_distance(&c, &a), 0);
}

static void ties_go_to_the_earlier_record(void **state)
{
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record("dense f32 m=64 n=256 k=64", PACKED, 9000));
    add(b, default_record("dense f32 m=64 n=64 k=64", PACKED, 3000));
    c = opened(b);
    got = made(c, "dense f32 m=64 n=128 k=64");
    assert_string_equal(got.record->workload, "dense f32 m=64 n=256 k=64");
    choice_fini(&got);
    choices_close(c);
}

/* Every operator has a default on a CPU, and its program is one that runs. */
static void no_record_gives_a_default_whose_program_is_sane(void **state)
{
    static const char *const workloads[] = {"conv2d f32 n=1 c=16 h=14 w=14 k=32 r=3 s=3 pad=1",
                                            "dense f32 m=1 n=100 k=64", "batch_gemm f32 b=2 m=8 n=8 k=8",
                                            "depthwise_conv2d f32 n=1 c=16 h=14 w=14 r=3 s=3 pad=1",
                                            "dense i8 m=4 n=32 k=64"};
    struct choices *c = opened(fresh());

    (void)state;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        const struct workload w = parsed(workloads[i]);
        struct choice got = made(c, workloads[i]);
        struct why why = {""};
        struct program p;
        struct blobs blobs;

        assert_int_equal(got.kind, CHOICE_DEFAULT);
        assert_true(template_fit(got.t, &w, &device, NULL) == FIT_GOOD);
        blobs_init(&blobs, (size_t)1 << 28);
        if (choice_kernels(&got, &w, &device, &p, &blobs, &why))
            fail_msg("%s: %s", workloads[i], why.text);
        assert_int_equal(p.n_passes, 0);
        assert_true(p.n_launches > 0);
        program_fini(&p);
        blobs_fini(&blobs);
        choice_fini(&got);
    }
    choices_close(c);
}

static void a_measured_program_has_the_same_kernels_as_the_one_that_is_run(void **state)
{
    const struct workload w = parsed("dense f32 m=3 n=17 k=31");
    struct choices *c = opened(fresh());
    struct choice got = made(c, "dense f32 m=3 n=17 k=31");
    struct program with, without;
    struct blobs blobs;

    (void)state;
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(choice_program(&got, &w, &device, &with, &blobs, NULL), ERR_OK);
    assert_int_equal(choice_kernels(&got, &w, &device, &without, &blobs, NULL), ERR_OK);
    assert_true(with.n_passes > 0);
    assert_int_equal(with.n_launches, without.n_launches);
    assert_string_equal(with.modules[0].source.hex, without.modules[0].source.hex);
    assert_string_equal(with.numerics, without.numerics);
    program_fini(&with);
    program_fini(&without);
    blobs_fini(&blobs);
    choice_fini(&got);
    choices_close(c);
}

static void records_that_cannot_answer_are_left_out(void **state)
{
    struct best_set *b = fresh();
    struct record old = default_record("dense f32 m=64 n=64 k=64", PACKED, 1000), odd = old;
    struct choices *c;
    struct choice got;

    (void)state;
    old.template_version--;
    assert_int_equal(best_add(b, &old), ERR_OK);
    record_fini(&old);
    odd = record_of("kernel mine n=4", "", NULL, NULL, 1000);
    add(b, odd);
    add(b, record_of("dense f32 m=1 n=1 k=1", "dense/no_such_way", NULL, NULL, 1000));
    add(b, record_of("dense f32 m=2 n=1 k=1", "conv2d/direct_tile", NULL, NULL, 1000));
    c = opened(b);
    assert_int_equal(choices_notes(c)->n_records, 0);
    assert_int_equal(choices_notes(c)->n_left_out, 4);
    got = made(c, "dense f32 m=64 n=64 k=64");
    assert_int_equal(got.kind, CHOICE_DEFAULT);
    choice_fini(&got);
    choices_close(c);
}

/* Records of other tuners have no version; those of any other than the present one do not answer. */
static void records_without_a_version_answer(void **state)
{
    struct best_set *b = fresh();
    struct record r = default_record("dense f32 m=64 n=64 k=64", PACKED, 1000);
    struct choices *c;
    struct choice got;

    (void)state;
    r.template_version = 0;
    add(b, r);
    r = default_record("dense f32 m=64 n=128 k=64", PACKED, 1000);
    r.template_version++;
    add(b, r);
    c = opened(b);
    assert_int_equal(choices_notes(c)->n_records, 1);
    assert_int_equal(choices_notes(c)->n_left_out, 1);
    got = made(c, "dense f32 m=64 n=64 k=64");
    assert_int_equal(got.kind, CHOICE_EXACT);
    choice_fini(&got);
    choices_close(c);
}

/* Doublings of the pad count from one: 0 to 1 is one, as 1 to 3; a pair or pad counts as one size. */
static void distances_of_strides_and_pads_are_those_of_one_size(void **state)
{
    static const struct {
        const char *a, *b;
        double distance;
    } cases[] = {
        {"pad=0", "pad=1", 1},
        {"pad=1", "pad=3", 1},
        {"pad=1", "pad=1,1,3,1", 0.5}, /* one part of four: root of 1/4 */
        {"stride=1", "stride=2", 1},
        {"stride=1", "stride=2,1", 0.70710678118654752}, /* root of 1/2 */
        {"stride=2 pad=1", "stride=1 pad=0", 1.4142135623730951},
        {"epilogue=bias", "epilogue=none", 1.0 / 1024},
        {"epilogue=bias_relu", "epilogue=none", 2.0 / 1024},
        {"epilogue=bias", "epilogue=relu", 2.0 / 1024},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2][128];
        struct workload w[2];

        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof text[k], "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 %s",
                     k ? cases[i].b : cases[i].a);
            w[k] = parsed(text[k]);
        }
        if (fabs(choice_distance(&w[0], &w[1]) - cases[i].distance) > 1e-12)
            fail_msg("%s, %s: %.17g", cases[i].a, cases[i].b, choice_distance(&w[0], &w[1]));
    }
}

/* A naive kernel is there to be compared with: its record stands for its own workload only. */
static void records_of_naive_templates_serve_nobody_else(void **state)
{
    struct best_set *b = fresh();
    struct choices *c;
    struct choice got;

    (void)state;
    add(b, default_record("dense f32 m=64 n=64 k=64", "dense/naive", 1000));
    c = opened(b);
    got = made(c, "dense f32 m=64 n=64 k=64");
    assert_int_equal(got.kind, CHOICE_EXACT);
    choice_fini(&got);
    got = made(c, "dense f32 m=64 n=128 k=64");
    assert_int_equal(got.kind, CHOICE_DEFAULT);
    assert_ptr_not_equal(got.t, template_find("dense/naive"));
    choice_fini(&got);
    choices_close(c);
}

static void write_log(const char *path, struct record r)
{
    struct why why = {""};

    if (log_append(path, &r, &why))
        fail_msg("%s", why.text);
    record_fini(&r);
}

static struct record elsewhere(struct record r)
{
    memset(r.fingerprint.hex, 'd', SHA256_HEX);
    snprintf(r.key, sizeof r.key, "other-gpu");
    return r;
}

static void a_log_of_two_devices_wants_one_of_them(void **state)
{
    const char *path = path_of("two.jsonl");
    struct choice_filter other = {.key = "other-gpu"}, by_print = {.fingerprint = "dddd"},
                         none = {.key = "rk3399-mali"};
    struct choices *c = NULL;
    struct why why = {""};

    (void)state;
    write_log(path, default_record("dense f32 m=64 n=64 k=64", PACKED, 1000));
    write_log(path, elsewhere(default_record("dense f32 m=64 n=64 k=64", PACKED, 500)));
    assert_int_equal(choices_open(path, NULL, &c, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "several devices, sample-cpu ("));
    assert_int_equal(choices_open(path, &none, &c, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "it has those of sample-cpu ("));
    assert_non_null(strstr(why.text, "other-gpu (dddddddddddd)"));
    assert_null(c);
    assert_int_equal(choices_open(path, &other, &c, &why), ERR_OK);
    assert_int_equal(choices_notes(c)->n_records, 1);
    choices_close(c);
    assert_int_equal(choices_open(path, &by_print, &c, &why), ERR_OK);
    choices_close(c);
}

static void damaged_lines_are_counted_and_the_first_is_named(void **state)
{
    const char *path = path_of("damaged.jsonl");
    struct choices *c = NULL;
    struct device_desc told;
    struct why why = {""};
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    fputs("{\"schema\":1,\"torn\n{\"schema\":99}\n", f);
    fclose(f);
    assert_int_equal(choices_open(path, NULL, &c, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "damaged.jsonl:1: "));
    write_log(path, default_record("dense f32 m=64 n=64 k=64", PACKED, 1000));
    assert_int_equal(choices_open(path, NULL, &c, &why), ERR_OK);
    assert_int_equal(choices_notes(c)->n_bad_lines, 2);
    assert_non_null(strstr(choices_notes(c)->bad_line, "damaged.jsonl:1: "));
    assert_int_equal(choices_device(c, &told, &why), ERR_OK);
    assert_string_equal(told.name, device.name);
    choices_close(c);
    assert_int_equal(choices_open(path_of("nowhere.jsonl"), NULL, &c, &why), ERR_NOT_FOUND);
}

static void without_records_there_is_no_device_to_tell(void **state)
{
    struct choices *c = opened(fresh());
    struct device_desc d;
    struct why why = {""};

    (void)state;
    assert_int_equal(choices_device(c, &d, &why), ERR_INPUT);
    assert_string_equal(why.text, "no record tells of a device");
    choices_close(c);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_log_of_20000_workloads_opens_and_answers(void **state)
{
    const char *path = path_of("large.jsonl");
    FILE *f = fopen(path, "w");
    struct record r = default_record("dense f32 m=64 n=64 k=64", PACKED, 1000);
    struct choices *c = NULL;
    struct choice got;
    struct why why = {""};
    double start;
    clock_t cpu;

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < 20000; i++) {
        struct buf line;
        char text[64];

        buf_init(&line, RECORD_MAX_BYTES);
        snprintf(text, sizeof text, "dense f32 m=%d n=%d k=64", 1 + i % 300, 1 + i / 300);
        free(r.workload);
        r.workload = strdup(text);
        assert_int_equal(record_print(&r, &line), ERR_OK);
        fputs(buf_text(&line), f);
        buf_fini(&line);
    }
    fclose(f);
    record_fini(&r);
    start = now_s();
    cpu = clock();
    if (choices_open(path, NULL, &c, &why))
        fail_msg("%s", why.text);
    print_message("a log of 20000 workloads: opened in %.2f s, %.2f s of processor time\n", now_s() - start,
                  (double)(clock() - cpu) / CLOCKS_PER_SEC);
    assert_int_equal(choices_notes(c)->n_records, 20000);
    start = now_s();
    got = made(c, "dense f32 m=64 n=64 k=64");
    print_message("an exact answer: %.2f ms\n", 1e3 * (now_s() - start));
    assert_int_equal(got.kind, CHOICE_EXACT);
    choice_fini(&got);
    start = now_s();
    got = made(c, "dense f32 m=301 n=64 k=64");
    print_message("a nearest answer: %.2f ms\n", 1e3 * (now_s() - start));
    assert_int_equal(got.kind, CHOICE_NEAREST);
    assert_string_equal(got.record->workload, "dense f32 m=300 n=64 k=64");
    choice_fini(&got);
    choices_close(c);
}

static int set_up(void **state)
{
    struct record r;
    struct why why;

    (void)state;
    if (!mkdtemp(folder) || !sample_record("dense f32 m=3 n=17 k=31", "dense/gemm_direct", &r))
        return 1;
    if (device_desc_from_json(r.device, &device, &why))
        return 1;
    record_fini(&r);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"two.jsonl", "damaged.jsonl", "large.jsonl"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove(path_of(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_of_the_workload_is_exact),
        cmocka_unit_test(the_nearest_has_the_least_distance_and_a_time_by_flops),
        cmocka_unit_test(the_time_of_a_larger_copy_is_longer),
        cmocka_unit_test(a_nearest_record_that_is_not_valid_here_is_passed_over),
        cmocka_unit_test(another_epilogue_is_nearer_than_any_other_size),
        cmocka_unit_test(a_far_record_of_a_slower_template_is_passed_over),
        cmocka_unit_test(words_must_agree_and_distances_are_symmetric),
        cmocka_unit_test(ties_go_to_the_earlier_record),
        cmocka_unit_test(no_record_gives_a_default_whose_program_is_sane),
        cmocka_unit_test(a_measured_program_has_the_same_kernels_as_the_one_that_is_run),
        cmocka_unit_test(records_that_cannot_answer_are_left_out),
        cmocka_unit_test(records_without_a_version_answer),
        cmocka_unit_test(distances_of_strides_and_pads_are_those_of_one_size),
        cmocka_unit_test(records_of_naive_templates_serve_nobody_else),
        cmocka_unit_test(a_log_of_two_devices_wants_one_of_them),
        cmocka_unit_test(damaged_lines_are_counted_and_the_first_is_named),
        cmocka_unit_test(without_records_there_is_no_device_to_tell),
        cmocka_unit_test(a_log_of_20000_workloads_opens_and_answers),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
