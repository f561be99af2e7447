/* SPDX-License-Identifier: MIT */
/* Every barrier of every template is needed, and missing it is told: on emulated devices, default configs of each
 * architecture, and those with every other number of stages, run once as they are, then once without each barrier that
 * a thread came to; where threads of the default come to none, of another config. A sample that the seed draws, with
 * the default config of every template on every architecture and every number of stages in it; or all (--full). */
#include "core/rng.h"
#include "kernels/template.h"
#include "tests/cuda/driver_api.h"
#include "tests/kernels/cases.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/item.h"

#define MAX_ITEMS 4000
#define MAX_DRAWS 30 /* configs that are drawn where the default's threads come to no barrier */

static struct long_test under;

/* A template's default config for a workload, with other values of knobs ("stages=3 split=1"; "": as it is), the first
 * of which it has and the default has another of; of the others, those that it has. */
static struct {
    const struct template *t;
    const char *shape;
    int i_device;
    char with[32];
} list[MAX_ITEMS];
static size_t n_items;

/* Where the default's loops over stages may go round once: then the barrier at their end is idle, which is allowed of
 * defaults. With these they go round, and every barrier must be missed. */
static const struct {
    const char *template_id, *shape, *with;
} loops[] = {
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=16 h=10 w=9 k=24 r=3 s=3 pad=1", "split=1"},
    {"conv2d/winograd_shared", "conv2d f32 n=1 c=20 h=10 w=9 k=24 r=3 s=3 pad=1", ""},
    {"conv2d/winograd_shared", "conv2d f32 n=1 c=20 h=10 w=9 k=24 r=3 s=3 pad=1", "stages=1"},
    {"conv2d/direct", "conv2d f32 n=1 c=20 h=10 w=9 k=7 r=3 s=3 pad=1", "split=1"},
    {"conv2d/direct", "conv2d f32 n=1 c=20 h=10 w=9 k=7 r=3 s=3 pad=1", "split=1 dbuf_x=0 dbuf_w=0"},
    {"deformable_conv2d/direct", "deformable_conv2d f32 n=1 c=40 h=10 w=9 k=7 r=3 s=3 pad=1", "split=1"},
    {"deformable_conv2d/direct", "deformable_conv2d f32 n=1 c=40 h=10 w=9 k=7 r=3 s=3 pad=1",
     "split=1 dbuf_x=0 dbuf_w=0"},
    {"conv2d/group", "conv2d f32 n=1 c=40 h=10 w=9 k=14 r=3 s=3 pad=1 groups=2", "split=1"},
    {"conv2d/i8", "conv2d i8 n=1 c=64 h=10 w=9 k=20 r=3 s=3 pad=1 layout=nchw4c", "split=1"},
    {"conv2d/group_i8", "conv2d i8 n=1 c=64 h=10 w=9 k=24 r=3 s=3 pad=1 groups=2", "split=1"},
    {"batch_gemm/tiled", "batch_gemm f32 b=1 m=32 n=32 k=192", ""},
    {"batch_gemm/tiled", "batch_gemm f32 b=1 m=32 n=32 k=192", "k_i=64"}, /* one of two stages in shared memory */
    {"rnn/plan", "rnn f32 i=80 h=70 b=6 t=4", ""},
    {"dense/mma", "dense f16 m=37 n=29 k=400 epilogue=bias_relu", "split=1"},
    {"batch_gemm/mma", "batch_gemm i8 b=3 m=21 n=18 k=800", "split=1"},
    {"conv2d/mma", "conv2d bf16 n=2 c=48 h=9 w=8 k=24 r=3 s=3 pad=1 layout=nchw16c", "split=1"},
    {"sparse_conv2d/generated", "sparse_conv2d f32 n=1 c=5 h=6 w=30 k=7 r=3 s=3 pad=1 sparsity=0.7",
     "stage=lmem c_blk=2"},
    {"sparse_conv2d/generated", "sparse_conv2d f32 n=40 c=3 h=7 w=9 k=5 r=3 s=3 pad=1 sparsity=0.7", ""},
};

/* Whose threads come to no barrier in any config, though there are some in the template's text. */
static const struct {
    const char *template_id, *shape; /* NULL: any */
} alone[] = {
    {"reduce/rows", "reduce f32 outer=3 n=301 inner=37"}, /* each sums a row by itself */
    {"reduce/rows", "reduce f32 outer=5 n=101 inner=19 kind=mean"},
    {"sparse_conv2d/csr", NULL}, /* shares the text of sparse_conv2d/generated's copies */
};

static bool is_alone(const char *template_id, const char *shape)
{
    for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
        if (strcmp(alone[k].template_id, template_id) == 0 && (!alone[k].shape || strcmp(alone[k].shape, shape) == 0))
            return true;
    return false;
}

/* Items. */

static bool is_listed(const struct template *t, const char *shape)
{
    for (size_t i = 0; i < n_items; i++)
        if (list[i].t == t && strcmp(list[i].shape, shape) == 0)
            return true;
    return false;
}

/* The config with the value of one knob, "knob=value", changed. */
static bool change_one(const struct space *s, const char *pair, size_t n, struct config *c)
{
    const size_t n_name = strcspn(pair, "=") + 1;
    char spaced[60], name[32];
    struct buf old, text;
    const char *at;
    bool ok;

    snprintf(name, sizeof name, " %.*s", (int)n_name, pair);
    snprintf(spaced, sizeof spaced, " %.*s ", (int)n, pair);
    buf_init(&old, 1 << 12);
    buf_init(&text, 1 << 12);
    buf_puts(&old, " ");
    ok = !space_config_text(s, c, &old);
    buf_puts(&old, " ");
    at = ok ? strstr(buf_text(&old), name) : NULL;
    ok = at && !strstr(buf_text(&old), spaced);
    if (ok) {
        buf_append(&text, buf_text(&old), (size_t)(at - buf_text(&old)));
        buf_printf(&text, "%s%s", spaced, at + 1 + strcspn(at + 1, " "));
        ok = !space_config_parse(s, buf_text(&text), c, NULL);
    }
    buf_fini(&old);
    buf_fini(&text);
    return ok;
}

static bool change(const struct space *s, const char *with, struct config *c)
{
    bool ok = true;

    for (const char *at = with; *at && ok; at += strcspn(at, " "), at += *at == ' ') {
        const bool changed = change_one(s, at, strcspn(at, " "), c);

        ok = changed || at != with;
    }
    return ok && space_is_valid(s, c, NULL);
}

/* False: there is none, or it is the default's. */
static bool choose(const struct template *t, const struct workload *w, const struct device_desc *d,
                   const struct space *s, const char *with, struct config *c)
{
    return !t->fallback(w, d, s, c) && (!*with || change(s, with, c));
}

/* Behind the preamble, from where lines are counted, to *end. */
static const char *own_text(const struct blob *text, const char **end)
{
    static const char mark[] = "#line 1\n";
    const char *at = memmem(text->data, text->n_bytes, mark, sizeof mark - 1);

    *end = (const char *)text->data + text->n_bytes;
    return at ? at + sizeof mark - 1 : (const char *)text->data;
}

static bool has_barriers(const struct template *t, const struct workload *w, const struct device_desc *d,
                         const struct space *s, const struct config *c)
{
    struct program p;
    struct blobs blobs;
    bool has = false;

    program_init(&p);
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(template_kernels(t, w, d, s, c, &p, &blobs, NULL), ERR_OK);
    for (size_t i = 0; i < p.n_modules; i++) {
        const char *end, *at = own_text(blobs_get(&blobs, p.modules[i].source.hex), &end);

        has |= memmem(at, (size_t)(end - at), "BARRIER", 7) != NULL;
    }
    program_fini(&p);
    blobs_fini(&blobs);
    return has;
}

static void add(const struct template *t, const char *shape, int i_device, const char *with)
{
    const struct device_desc *d = &under.d[i_device];
    struct workload w;
    struct space *s = NULL;
    struct config c;

    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    if (t->fit(&w, d, NULL) == FIT_NONE)
        return;
    assert_int_equal(template_space(t, &w, d, &s, NULL), ERR_OK);
    if (choose(t, &w, d, s, with, &c) && has_barriers(t, &w, d, s, &c)) {
        assert_true(n_items < MAX_ITEMS);
        list[n_items].t = t;
        list[n_items].shape = shape;
        list[n_items].i_device = i_device;
        snprintf(list[n_items++].with, sizeof list->with, "%s", with);
    }
    space_free(s);
}

static bool has_loops(const char *template_id)
{
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++)
        if (strcmp(loops[k].template_id, template_id) == 0)
            return true;
    return false;
}

/* The default config on each device, and those with other numbers of stages. */
static void add_workload(const struct template *t, const char *shape)
{
    if (!is_wanted(t->id) || is_listed(t, shape) || is_alone(t->id, shape))
        return;
    for (int i = 0; i < under.n_devices; i++) {
        add(t, shape, i, "");
        for (int stages = 1; stages <= 5; stages++) {
            char with[32];

            snprintf(with, sizeof with, "stages=%d split=1", stages); /* so that there is something for many stages */
            add(t, shape, i, with);
        }
    }
}

static const struct template *template_of(const char *template_id)
{
    const struct template *t = template_find(template_id);

    if (!t)
        fail_msg("%s: no such template", template_id);
    return t;
}

/* The workloads of the mutants, or those above. */
static void add_all(void)
{
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct mutant *m = (*cases)->mutants; m->template_id; m++)
            if (!has_loops(m->template_id))
                add_workload(template_of(m->template_id), m->workload);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        add_workload(template_of(loops[k].template_id), loops[k].shape);
        for (int i = 0; *loops[k].with && is_wanted(loops[k].template_id) && i < under.n_devices; i++)
            add(template_of(loops[k].template_id), loops[k].shape, i, loops[k].with);
    }
}

/* Every barrier must be missed. */
static bool is_strict(size_t i)
{
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++)
        if (list[i].shape == loops[k].shape && strcmp(list[i].with, loops[k].with) == 0)
            return true;
    return false;
}

static void label(struct long_items *items)
{
    for (size_t i = 0; i < n_items; i++) {
        struct sample_labels *l = &items->labels[i];
        const int sm = (int)under.d[list[i].i_device].sm;

        snprintf(l->of[0], SAMPLE_LABEL_BYTES, "%s", list[i].t->id);
        if (*list[i].with)
            snprintf(l->of[1], SAMPLE_LABEL_BYTES, "%s, %s", list[i].t->id, list[i].with);
        else
            snprintf(l->of[1], SAMPLE_LABEL_BYTES, "%s, default on sm_%d", list[i].t->id, sm);
        snprintf(l->of[2], SAMPLE_LABEL_BYTES, "sm_%d", sm);
        snprintf(items->column[i], sizeof items->column[i], "%.*s", *list[i].with ? (int)strcspn(list[i].with, "=") : 7,
                 *list[i].with ? list[i].with : "default");
    }
}

/* In a child. */

static struct emulated_barriers *barriers_of_driver(void)
{
    void *driver = dlopen(EMULATED_CUDA, RTLD_NOW | RTLD_NOLOAD);
    struct emulated_barriers *(*find)(void) =
        driver ? (struct emulated_barriers * (*)(void))(uintptr_t)dlsym(driver, "emulatedBarriers") : NULL;

    return find ? find() : NULL;
}

/* What the check says of the program with this barrier left out. */
static enum err verify_without(int left_out, struct emulated_barriers *b, int i_device, const struct program *p,
                               const struct blobs *blobs, struct why *why)
{
    enum err e;

    want_device(&under.under, i_device);
    b->left_out = left_out;
    e = load_and_verify(under.under.ops, under.under.list[i_device], p, blobs, why);
    b->left_out = -1;
    if (e == ERR_DEVICE)
        lose_device(&under.under, i_device);
    return e;
}

/* The line of the template's own text. */
static void copy_line(const struct blob *text, int line, char out[100])
{
    const char *end, *at = own_text(text, &end), *next;

    for (; (next = memchr(at, '\n', (size_t)(end - at))) && line > 1; line--)
        at = next + 1;
    while (at < end && *at == ' ')
        at++;
    snprintf(out, 100, "%.*s", (int)((next > at ? next : end) - at), at);
}

/* A barrier that a block comes to once may be the last of a loop that goes round once. */
static bool may_be_idle(size_t i, int times)
{
    return times == 1 && !is_strict(i);
}

/* How many barriers a thread came to; of each that nobody misses, a line in `answer`. */
static int verify_barriers(size_t i, const struct program *p, const struct blobs *blobs, struct buf *answer)
{
    struct emulated_barriers *b = barriers_of_driver(), seen;
    struct why why = {""};
    enum err e = ERR_NOT_FOUND;
    int n = 0;

    if (b) {
        *b = (struct emulated_barriers){.left_out = -1};
        e = verify_without(-1, b, list[i].i_device, p, blobs, &why);
        seen = *b;
    }
    if (e)
        buf_printf(answer, "wrong as it is: %s (%s)", why.text, err_words(e));
    for (int k = 0; !e && k < EMULATED_MAX_BARRIERS; k++) {
        char line[100];

        if (!seen.times[k])
            continue;
        n++;
        if (verify_without(k, b, list[i].i_device, p, blobs, &why) == ERR_OK && !may_be_idle(i, seen.times[k])) {
            copy_line(blobs_get(blobs, p->modules[0].source.hex), seen.lines[k], line);
            buf_printf(answer, "nobody misses the barrier of line %d, \"%s\"; ", seen.lines[k], line);
        }
    }
    return n;
}

/* One config. False: no thread of it came to a barrier, and nothing was wrong with it. */
static bool try_config(size_t i, const struct workload *w, const struct space *s, const struct config *c,
                       struct buf *answer)
{
    const struct device_desc *d = &under.d[list[i].i_device];
    struct program p;
    struct blobs blobs;
    struct sha256 key;
    struct buf found;
    int n = 1;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 28);
    buf_init(&found, 1 << 16);
    program_init(&p);
    e = template_program(list[i].t, w, d, s, c, &p, &blobs, NULL);
    if (!e)
        e = template_add_sheet(list[i].t, w, d, s, c, item_data_seed(), &p, &blobs, NULL);
    if (e) {
        buf_printf(answer, "%s", err_words(e));
    } else {
        const bool keeps = long_test_key(&under, "barriers", &p, list[i].i_device, &key);

        if (keeps && verdicts_find(&under.verdicts, key.hex)) {
            buf_puts(answer, "kept");
        } else {
            n = verify_barriers(i, &p, &blobs, &found);
            if (found.len)
                buf_printf(answer, "%s: %s", list[i].shape, buf_text(&found));
            else if (n > 0)
                buf_printf(answer, "ok %d barriers", n);
            if (keeps && !found.len && n > 0)
                (void)verdicts_keep(&under.verdicts, key.hex, "");
        }
    }
    buf_fini(&found);
    program_fini(&p);
    blobs_fini(&blobs);
    return n > 0 || answer->len;
}

static void work(size_t i, struct buf *answer, void *arg)
{
    const struct device_desc *d = &under.d[list[i].i_device];
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct rng rng;
    bool came = false;
    enum err e = workload_parse(list[i].shape, &w, NULL);

    (void)arg;
    rng_init(&rng, 1);
    if (!e)
        e = template_space(list[i].t, &w, d, &s, NULL);
    if (!e && !choose(list[i].t, &w, d, s, list[i].with, &c))
        e = ERR_NOT_FOUND;
    for (int k = 0; !e && !came && k <= MAX_DRAWS; k++) {
        came = try_config(i, &w, s, &c, answer);
        if (!came)
            e = space_sample(s, &rng, 10000, &c);
    }
    if (e)
        buf_printf(answer, "%s", err_words(e));
    else if (!came)
        buf_printf(answer, "%s: no thread comes to a barrier in the default config, nor in %d others", list[i].shape,
                   MAX_DRAWS);
    space_free(s);
}

static void every_barrier_is_missed(void **state)
{
    struct long_items items;
    int n_failed;
    size_t n_uncovered;

    (void)state;
    add_all();
    long_items_init(&items, n_items);
    label(&items);
    long_items_choose(&under, &items, 0);
    n_failed = long_test_run(&under, &items, false, work, NULL);
    n_uncovered = long_test_covered(&under, &items, "configs whose barriers are missed");
    long_items_fini(&items);
    assert_int_equal(n_failed, 0);
    assert_int_equal(n_uncovered, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_barrier_is_missed)};
    int failed;

    if (getenv("TUNE_CUDA_LIBRARY")) {
        printf("skipped: for emulated devices\n");
        return 77;
    }
    if (!long_test_begin(&under, BACKEND, argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
