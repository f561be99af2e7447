/* SPDX-License-Identifier: MIT */
/* Default configs on CPUs of several threads: one thread has the configs it always had, many have work-items that keep
 * all of them busy. With --table: the shares that docs/notes/threads.md has. */
#include "core/hash.h"
#include "kernels/build.h"
#include "kernels/network.h"
#include "kernels/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct device_desc cpu_of(int64_t threads)
{
    return (struct device_desc){.api = "opencl",
                                .kind = DEVICE_CPU,
                                .units = threads,
                                .threads = threads,
                                .max_work_group = 4096,
                                .max_local = {4096, 4096, 4096},
                                .local_bytes = 1 << 20,
                                .dots = "tune_vnni",
                                .vector_bits = 512};
}

static const char *const networks[] = {"mobilenet-v1", "resnet-18",      "resnet-50",       "vgg-16",
                                       "inception-v3", "dcn-resnet-101", "resnext-50-32x4d"};

/* What networks have besides the layers of their lists, and products. */
static const char *const others[] = {"dense f32 m=64 n=2048 k=512",
                                     "dense f32 m=1024 n=1024 k=1024",
                                     "dense f32 m=512 n=512 k=2048",
                                     "dense f32 m=1 n=4096 k=25088",
                                     "dense i8 m=64 n=2048 k=512",
                                     "batch_gemm f32 b=12 m=128 n=128 k=64",
                                     "pool2d f32 n=1 c=64 h=112 w=112 r=3 s=3 stride=2 pad=1",
                                     "pool2d f32 n=1 c=64 h=112 w=112 r=3 s=3 stride=2 pad=1 layout=nchw16c",
                                     "pool2d f32 n=1 c=64 h=224 w=224 r=2 s=2 stride=2",
                                     "pool2d f32 n=1 c=512 h=14 w=14 r=2 s=2 stride=2 layout=nchw16c",
                                     "pool2d f32 n=1 c=2048 h=7 w=7 r=7 s=7 kind=avg",
                                     "pool2d f32 n=1 c=2048 h=7 w=7 r=7 s=7 kind=avg layout=nchw16c",
                                     "softmax f32 m=1 n=1000",
                                     "softmax f32 m=512 n=512",
                                     "transform f32 n=1 c=64 h=56 w=56 from=nchw to=nchw16c",
                                     "transform f32 n=1 c=512 h=7 w=7 from=nchw16c to=nchw",
                                     "add f32 n=1 c=256 h=56 w=56",
                                     NULL};

typedef void each_fn(const struct template *t, const struct workload *w, const char *text, void *arg);

/* Templates that a CPU is offered for this workload. */
static void for_text(const char *text, each_fn *each, void *arg)
{
    const struct device_desc d = cpu_of(1);
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s: %s", text, why.text);
    for (const struct template *const *t = w.op->templates; *t; t++)
        if (template_fit(*t, &w, &d, &why) == FIT_GOOD)
            each(*t, &w, text, arg);
}

static const char *const forms[][2] = {{NULL, NULL}, {NULL, "nchw16c"}, {"i8", "nchw16c"}};
#define N_FORMS (sizeof forms / sizeof forms[0])

/* The layer's workload in a form; empty where it has none. */
static void write_layer(const struct network_layer *l, size_t form, struct buf *out)
{
    struct why note = {""};

    buf_init(out, 4096);
    assert_int_equal(network_layer_as(l, forms[form][0], forms[form][1], out, &note), ERR_OK);
    if (*note.text)
        buf_clear(out);
}

static void for_layer(const struct network_layer *l, each_fn *each, void *arg)
{
    for (size_t i = 0; i < N_FORMS; i++) {
        struct buf text;

        write_layer(l, i, &text);
        if (text.len)
            for_text(buf_text(&text), each, arg);
        buf_fini(&text);
    }
}

static void for_all(each_fn *each, void *arg)
{
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++) {
        const struct network *net;

        assert_int_equal(network_find(networks[n], &net, NULL), ERR_OK);
        for (size_t i = 0; i < net->n_layers; i++)
            for_layer(&net->layers[i], each, arg);
    }
    for (const char *const *text = others; *text; text++)
        for_text(*text, each, arg);
}

/* The default on so many threads as text; and the work-groups of each launch of its timed run. */
struct made {
    struct buf config;
    int64_t groups[16];
    size_t n;
};

static void make(const struct template *t, const struct workload *w, int64_t threads, struct made *out)
{
    const struct device_desc d = cpu_of(threads);
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct why why = {""};

    buf_init(&out->config, 4096);
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(template_space(t, w, &d, &s, &why), ERR_OK);
    assert_int_equal(t->fallback(w, &d, s, &c), ERR_OK);
    assert_true(space_config_in_range(s, &c) && space_is_valid(s, &c, NULL));
    assert_int_equal(space_config_text(s, &c, &out->config), ERR_OK);
    if (template_kernels(t, w, &d, s, &c, &p, &blobs, &why))
        fail_msg("%s: %s", t->id, why.text);
    out->n = 0;
    for (size_t i = 0; i < p.n_launches; i++)
        if (p.launches[i].phase == PHASE_RUN && out->n < 16)
            out->groups[out->n++] = p.launches[i].grid[0] * p.launches[i].grid[1] * p.launches[i].grid[2];
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
}

/* How much longer the groups of a launch take than their share of the threads; the worst of a program's launches. */
static double waste_of(const struct made *m, int64_t threads)
{
    double worst = 1;

    for (size_t i = 0; i < m->n; i++) {
        const double waste = (double)(CEIL(m->groups[i], threads) * threads) / (double)m->groups[i];

        worst = waste > worst ? waste : worst;
    }
    return worst;
}

/* The defaults of one thread, as they were before defaults looked at threads: of each template the first 16 digits of
 * sha256 over lines "workload config" of all layers, in order. A default that is changed on purpose has new ones: the
 * test tells them. */
static struct {
    const char *id, *hash;
    struct buf lines;
} one_thread[] = {
    {"add/stream", "67fd9ec1046414d4", {0}},
    {"batch_gemm/packed", "8c789158ba9a1c1f", {0}},
    {"conv2d/direct_row", "ab06d38e9e347d9e", {0}},
    {"conv2d/direct_tile", "5a1ccb3a1378ac6d", {0}},
    {"conv2d/i8_tile", "ed3c9aa628fe3a7c", {0}},
    {"conv2d/winograd_tile", "fea43efb17d0ee61", {0}},
    {"deformable_conv2d/im2col_gemm", "276f0346904ebdc3", {0}},
    {"dense/dense_i8_tile", "2b5ea404d55f2b2d", {0}},
    {"dense/gemm_packed", "bcccbe0b9a8be366", {0}},
    {"dense/gemv", "354310ed69250d6a", {0}},
    {"depthwise_conv2d/tile", "0675edd806c580b5", {0}},
    {"pool2d/plane", "ee69393a91d22ee8", {0}},
    {"pool2d/rows", "dfb6e2bf3bed1a74", {0}},
    {"pool2d/window", "2ddca41097e704b4", {0}},
    {"softmax/rows", "e31af35664df7db2", {0}},
    {"transform/lanes", "a1ab025d41bac631", {0}},
};
#define N_ONE_THREAD (sizeof one_thread / sizeof one_thread[0])

static void add_line(const struct template *t, const struct workload *w, const char *text, void *arg)
{
    struct made m;

    (void)arg;
    make(t, w, 1, &m);
    for (size_t i = 0; i < N_ONE_THREAD; i++)
        if (strcmp(one_thread[i].id, t->id) == 0)
            buf_printf(&one_thread[i].lines, "%s %s\n", text, buf_text(&m.config));
    buf_fini(&m.config);
}

static void one_thread_has_the_defaults_it_had(void **state)
{
    int n_changed = 0;

    (void)state;
    for (size_t i = 0; i < N_ONE_THREAD; i++)
        buf_init(&one_thread[i].lines, (size_t)1 << 20);
    for_all(add_line, NULL);
    for (size_t i = 0; i < N_ONE_THREAD; i++) {
        const struct sha256 hash = sha256_of(buf_text(&one_thread[i].lines), one_thread[i].lines.len);

        if (strncmp(hash.hex, one_thread[i].hash, 16) != 0) {
            print_message("%s: %.16s\n", one_thread[i].id, hash.hex);
            n_changed++;
        }
        buf_fini(&one_thread[i].lines);
    }
    assert_int_equal(n_changed, 0);
}

/* Elements of the output. */
static int64_t outputs(const struct workload *w)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);

    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, "y") == 0)
            return list[i].n_elems;
    fail_msg("%s has no output y", w->op->name);
    return 0;
}

/* The largest register tile has 2 vectors of 16 sums for each of 14 pixels: a layer with four of them for each thread
 * has work to share. On few threads a fifth of their time may be wasted, on many a third, where smaller items would
 * copy more; Winograd's smallest item is a row of tiles. */
#define TILE_SUMS 448
#define ENOUGH_TILES 4

static double most_waste(const struct template *t, int64_t threads)
{
    return threads <= 8 ? 1.25 : strcmp(t->id, "conv2d/winograd_tile") != 0 ? 1.5 : 1.8;
}

static void check_waste(const struct template *t, const struct workload *w, const char *text, void *arg)
{
    static const int64_t threads[] = {2, 8, 64};

    (void)arg;
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        struct made m;

        if (outputs(w) < threads[i] * ENOUGH_TILES * TILE_SUMS)
            continue;
        make(t, w, threads[i], &m);
        if (waste_of(&m, threads[i]) > most_waste(t, threads[i]))
            fail_msg("%s, %s: %lld work-items on %lld threads (%s)", text, t->id, (long long)m.groups[m.n - 1],
                     (long long)threads[i], buf_text(&m.config));
        buf_fini(&m.config);
    }
}

static void items_of_defaults_keep_threads_busy(void **state)
{
    (void)state;
    for_all(check_waste, NULL);
}

/* 24 pieces of work of 1000 cycles in items of a * b of them; an item takes 1000 more than its work. */
static struct build_items pieces(const int64_t *v, const void *arg)
{
    (void)arg;
    return (struct build_items){.n = 24 / (v[0] * v[1]), .cycles = 1000 * (double)(v[0] * v[1] + 1)};
}

static void assert_spread(int64_t threads, const char *constraint, const char *from, const char *expected)
{
    const struct device_desc d = cpu_of(threads);
    struct space *s;
    struct config c;
    struct buf text;

    buf_init(&text, 256);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 4, (const int64_t[]){1, 2, 4, 8}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "other", NULL, 2, (const int64_t[]){1, 2}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "b", NULL, 2, (const int64_t[]){1, 3}), ERR_OK);
    assert_int_equal(space_add_constraint(s, constraint, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(space_config_parse(s, from, &c, NULL), ERR_OK);
    build_spread(s, &d, (const char *const[]){"a", "b", NULL}, pieces, NULL, &c);
    assert_int_equal(space_config_text(s, &c, &text), ERR_OK);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
    space_free(s);
}

/* By hand, in 1000 cycles: with items of n pieces each of t threads makes 24 / n / t of them, rounded up, in n + 1
 * each; a quarter of an item more for the last one. */
static void spreading_takes_the_items_that_end_first(void **state)
{
    (void)state;
    assert_spread(1, "1", "a=8 other=2 b=3", "a=8 other=2 b=3");           /* one thread: as it was */
    assert_spread(2, "1", "a=8 other=2 b=3", "a=2 other=2 b=3");           /* 6: 2.25 * 7 = 15.75; 8: 20.25; 4: 16.25 */
    assert_spread(2, "b == 1", "a=8 other=2 b=1", "a=4 other=2 b=1");      /* 16.25; 2: 18.75 */
    assert_spread(8, "1", "a=8 other=2 b=3", "a=1 other=2 b=3");           /* 3: 5; 2: 6.75; 1: 6.5 */
    assert_spread(64, "1", "a=8 other=2 b=3", "a=1 other=2 b=1");          /* 2.5 */
    assert_spread(64, "a * b >= 3", "a=8 other=2 b=3", "a=1 other=2 b=3"); /* 5; 4: 6.25 */
    assert_spread(64, "1", "a=1 other=1 b=1", "a=1 other=1 b=1");          /* nothing is smaller */
}

static void the_last_item_is_waited_for_but_not_long(void **state)
{
    const struct device_desc one = cpu_of(1), eight = cpu_of(8);

    (void)state;
    assert_true(build_makespan(&one, (struct build_items){.n = 5, .cycles = 100}) == 500);
    assert_float_equal(build_makespan(&eight, (struct build_items){.n = 8, .cycles = 100}), 125, 1e-9);
    assert_float_equal(build_makespan(&eight, (struct build_items){.n = 9, .cycles = 100}), 225, 1e-9);
    assert_float_equal(build_makespan(&eight, (struct build_items){.n = 8, .cycles = 1e6}), 1.02e6,
                       1e-3); /* 20000 at the most */
    /* Four fifths of 40 items are there: five of each thread; of 8 items one is a whole one, perhaps. */
    assert_float_equal(build_makespan(&eight, (struct build_items){.n = 40, .cycles = 100, .whole = 0.8}), 425, 1e-9);
    assert_float_equal(build_makespan(&eight, (struct build_items){.n = 8, .cycles = 100, .whole = 0.8}), 125, 1e-9);
    assert_true(build_makespan(&one, (struct build_items){.n = 40, .cycles = 100, .whole = 0.8}) == 4000);
}

/* FLOPs of a network's layers, and times the waste of each template's items, on so many threads. */
struct sums {
    int64_t threads;
    double count, flops, wasted;
    bool is_begun; /* this layer: only the first template counts */
};

static void add_waste(const struct template *t, const struct workload *w, const char *text, void *arg)
{
    struct sums *a = arg;
    struct made m;

    (void)text;
    if (a->is_begun)
        return;
    a->is_begun = true;
    make(t, w, a->threads, &m);
    a->flops += a->count * w->op->flops(w);
    a->wasted += a->count * w->op->flops(w) * waste_of(&m, a->threads);
    buf_fini(&m.config);
}

static double busy_of(const struct network *net, size_t form, int64_t threads)
{
    struct sums a = {.threads = threads};

    for (size_t i = 0; i < net->n_layers; i++) {
        struct buf text;

        buf_init(&text, 4096);
        assert_int_equal(network_layer_as(&net->layers[i], forms[form][0], forms[form][1], &text, NULL), ERR_OK);
        a.is_begun = false;
        a.count = net->layers[i].count;
        for_text(buf_text(&text), add_waste, &a);
        buf_fini(&text);
    }
    return a.flops / a.wasted;
}

/* The share of the threads' time that the networks' items fill, by FLOPs. */
static void print_table(void)
{
    printf("| network | form | 2 threads | 8 | 64 |\n|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++)
        for (size_t form = 0; form < N_FORMS; form++) {
            const struct network *net;

            assert_int_equal(network_find(networks[n], &net, NULL), ERR_OK);
            printf("| %s | %s %s | %.2f | %.2f | %.2f |\n", networks[n], forms[form][0] ? forms[form][0] : "f32",
                   forms[form][1] ? forms[form][1] : "nchw", busy_of(net, form, 2), busy_of(net, form, 8),
                   busy_of(net, form, 64));
        }
}

/* One thread has all in one launch; more have all steps in one up to 1 MiB of recurrent weights (gates h h floats),
 * which one of them reads in each step, and a launch a step beyond that. */
static void steps_share_a_launch_while_their_weights_are_few(void **state)
{
    static const struct {
        const char *shape;
        int64_t threads;
        const char *persist;
    } cases[] = {
        {"rnn f32 i=8 h=256 b=1 t=3", 4, "persist=1 "},
        {"rnn f32 i=8 h=257 b=1 t=3", 4, "persist=0 "},
        {"rnn f32 i=8 h=257 b=1 t=3", 1, "persist=2 "},
        {"rnn f32 cell=gru i=8 h=295 b=1 t=3", 2, "persist=1 "}, /* 3 295^2 4 = 1,044,300 */
        {"rnn f32 cell=gru i=8 h=296 b=1 t=3", 2, "persist=0 "},
        {"rnn f32 cell=tanh i=8 h=512 b=1 t=3", 64, "persist=1 "},
        {"rnn f32 cell=tanh i=8 h=513 b=1 t=3", 64, "persist=0 "},
        {"rnn f32 cell=tanh i=8 h=16 b=1 t=3", 1, "persist=2 "},
    };
    const struct template *t = template_find("rnn/lanes");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct workload w;
        struct made m;

        assert_int_equal(workload_parse(cases[i].shape, &w, NULL), ERR_OK);
        make(t, &w, cases[i].threads, &m);
        if (!strstr(buf_text(&m.config), cases[i].persist))
            fail_msg("%s on %lld threads: %s", cases[i].shape, (long long)cases[i].threads, buf_text(&m.config));
        buf_fini(&m.config);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_has_the_defaults_it_had),
        cmocka_unit_test(items_of_defaults_keep_threads_busy),
        cmocka_unit_test(steps_share_a_launch_while_their_weights_are_few),
        cmocka_unit_test(spreading_takes_the_items_that_end_first),
        cmocka_unit_test(the_last_item_is_waited_for_but_not_long),
    };

    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        print_table();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
