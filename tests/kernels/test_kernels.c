/* SPDX-License-Identifier: MIT */
/* Every template computes shapes right on the devices of BACKEND: a sample that the seed draws, with every template in
 * each of its types, every architecture and every kernel file in it; or all (--full): of its own cases each template
 * all shapes, of the others every third (TUNE_ALL_SHAPES: all), with the default and random configs. Several devices
 * share the shapes out (TUNE_ALL_DEVICES: each runs all). */
#include "kernels/embedded.h"
#include "runtime/cuda_arch.h"
#include "tests/kernels/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/item.h"

#define N_SAMPLE 230 /* items of a sample, at the least */
#define MAX_ITEMS 40000

static struct long_test under;

/* A config of a template, or a kernel file (t NULL, its name the shape). */
static struct item *list;
static size_t n_items;

static void add(struct item item)
{
    if (!list)
        list = calloc(MAX_ITEMS, sizeof *list);
    assert_non_null(list);
    assert_true(n_items < MAX_ITEMS);
    list[n_items++] = item;
}

/* A template's own cases are those that hold its mutants. */
static bool is_of(const struct cases *cases, const struct template *t)
{
    for (const struct mutant *m = cases->mutants; m->template_id; m++)
        if (strcmp(m->template_id, t->id) == 0)
            return true;
    return false;
}

/* The default config and `n_random` others: on all devices that the template fits, or on one of them by turns. */
static void add_shape(const struct template *t, const char *shape, int turn, bool everywhere, uint64_t seed,
                      int n_random)
{
    int fitting[sizeof under.d / sizeof under.d[0]], n_fitting = 0;
    struct workload w;

    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    for (int i = 0; is_wanted(t->id) && i < under.n_devices; i++)
        if (t->fit(&w, &under.d[i], NULL) != FIT_NONE)
            fitting[n_fitting++] = i;
    for (int k = 0; k < n_fitting; k++)
        for (int n = 0; (everywhere || k == turn % n_fitting) && n <= n_random; n++)
            add((struct item){.t = t,
                              .shape = shape,
                              .i_device = fitting[k],
                              .config = n ? CONFIG_RANDOM : CONFIG_DEFAULT,
                              .nth = n - 1,
                              .seed = seed});
}

/* All shapes of all templates: each on all devices for a sample to choose from, shared out where all are run. */
static void add_templates(void)
{
    const int step = getenv("TUNE_ALL_SHAPES") || !under.is_full ? 1 : 3;
    const bool everywhere = getenv("TUNE_ALL_DEVICES") || !under.is_full;

    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (int i = 0; (*cases)->shapes[i]; i++) {
            const char *shape = (*cases)->shapes[i];
            struct workload w;

            assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
            for (int k = 0; w.op->templates[k]; k++)
                if (is_of(*cases, w.op->templates[k]) || (i + k) % step == 0)
                    add_shape(w.op->templates[k], shape, i + k, everywhere,
                              under.is_full ? 100 + (uint64_t)i : under.seed + (uint64_t)n_items,
                              under.is_full ? i % 3 == 0 : 1);
        }
}

/* A classifier's last layer: one row, sums of thousands, blocks of k that do not end together. */
static void add_long_rows(void)
{
    const struct template *t = template_find("dense/gemm_packed");

    assert_non_null(t);
    add_shape(t, "dense f32 m=1 n=1000 k=4096", 0, false, 1, 2);
    add_shape(t, "dense f32 m=3 n=70 k=1301", 1, false, 2, 2);
}

/* On the first device that has what each needs. */
static void add_rare_configs(void)
{
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct rare_config *c = (*cases)->configs; c && c->template_id; c++) {
            struct workload w;
            int i = 0;

            assert_int_equal(workload_parse(c->workload, &w, NULL), ERR_OK);
            while (i < under.n_devices && ((c->needs && !cuda_arch_has(&under.d[i], c->needs)) ||
                                           template_find(c->template_id)->fit(&w, &under.d[i], NULL) == FIT_NONE))
                i++;
            if (i < under.n_devices && is_wanted(c->template_id))
                add((struct item){.t = template_find(c->template_id),
                                  .shape = c->workload,
                                  .i_device = i,
                                  .config = CONFIG_TEXT,
                                  .text = c->config});
        }
}

static void add_kernel_files(void)
{
    for (const struct embedded *f = embedded_kernels; f->name && is_wanted(""); f++)
        if (strlen(f->name) > 3 && strcmp(f->name + strlen(f->name) - 3, ".cl") == 0)
            add((struct item){.shape = f->name});
}

static bool is_listed(const struct template *t)
{
    for (size_t i = 0; i < n_items; i++)
        if (list[i].t == t)
            return true;
    return false;
}

/* Does a case of some kind of device have the template run? */
static bool runs_somewhere(const struct template *t)
{
    struct device_desc kinds[] = {
        {.api = "opencl",
         .kind = DEVICE_CPU,
         .max_work_group = 4096,
         .max_local = {4096, 4096, 4096},
         .local_bytes = 1 << 20,
         .dots = "tune_amx"},
        {.api = "cuda"},
    };

    cuda_arch_describe(cuda_arch_find(90), 24, &kinds[1]);
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            for (size_t i = 0; template_computes(t, w.op) && i < 2; i++)
                if (t->fit(&w, &kinds[i], NULL) != FIT_NONE)
                    return true;
        }
    return false;
}

/* Templates that refuse these devices are run on others. */
static void expect_the_rest_elsewhere(void)
{
    for (size_t i = 0; operator_table[i]; i++)
        for (const struct template *const *t = operator_table[i]->templates; *t; t++)
            if (is_wanted((*t)->id) && !is_listed(*t)) {
                printf("%s: not for these devices\n", (*t)->id);
                if (!runs_somewhere(*t))
                    fail_msg("%s: no case runs it on any device", (*t)->id);
            }
}

/* The type that a file stands for when nobody names one. */
static int dtype_alone(const char *name)
{
    return strstr(name, "/mma") ? DTYPE_F16 : strstr(name, "i8") ? DTYPE_I8 : DTYPE_F32;
}

/* A program of a kernel file without any define, and a kernel to launch. */
static enum err program_alone(const char *name, struct program *p, struct blobs *blobs)
{
    const int64_t one[] = {1, 1, 1};
    const enum program_lang lang = kernel_lang(&under.d[0]);
    struct program_module *m;
    struct program_launch *launch;
    struct buf text;
    enum err e;

    buf_init(&text, (size_t)1 << 20);
    snprintf(p->api, sizeof p->api, "%s", under.backend);
    e = kernel_text(name, lang, &text);
    buf_puts(&text, "KERNEL WG_SIZE(1, 1, 1) alone(GLOBAL float *y) { y[0] = 0.0f; }\n");
    m = program_add_module(p, "alone", lang, "");
    if (!e && dtype_alone(name) != DTYPE_F32)
        e = program_define(m, "DT", dtype_alone(name));
    if (!e)
        e = blobs_put(blobs, buf_text(&text), text.len, &m->source);
    if (!e && !program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, 1))
        e = ERR_NOMEM;
    launch = e ? NULL : program_add_kernel(p, PHASE_RUN, 0, "alone", one, one);
    buf_fini(&text);
    return launch ? program_arg_buffer(launch, 0) : ERR_NOMEM;
}

/* A kernel file compiles without any define, as its defaults promise. */
static void compile_alone(const char *name, struct buf *answer)
{
    struct program p;
    struct blobs blobs;
    struct loaded *l = NULL;
    struct load_report report = {0};
    struct sha256 key;
    struct why why = {""};
    enum err e;
    bool keeps;

    blobs_init(&blobs, (size_t)1 << 20);
    program_init(&p);
    e = program_alone(name, &p, &blobs);
    if (!e)
        e = item_build_plain(&p);
    keeps = !e && long_test_key(&under, "compiles", &p, 0, &key);
    if (keeps && verdicts_find(&under.verdicts, key.hex)) {
        buf_puts(answer, "kept");
    } else {
        if (!e)
            e = under.under.ops->load(under.under.list[0], &p, &blobs, NULL, &l, &report, &why);
        if (e)
            buf_printf(answer, "%s: %s\n%s", name, why.text, report.log ? report.log : "");
        else
            buf_puts(answer, "ok");
        under.under.ops->unload(l);
        free(report.log);
        if (!e && keeps)
            (void)verdicts_keep(&under.verdicts, key.hex, "");
    }
    program_fini(&p);
    blobs_fini(&blobs);
}

static void work(size_t i, struct buf *answer, void *arg)
{
    (void)arg;
    if (list[i].t)
        item_verify(&under, &list[i], answer);
    else
        compile_alone(list[i].shape, answer);
}

static void every_template_is_right_in_every_type(void **state)
{
    struct long_items items;
    int n_failed;
    size_t n_uncovered;

    (void)state;
    add_kernel_files();
    add_templates();
    add_long_rows();
    add_rare_configs();
    expect_the_rest_elsewhere();
    long_items_init(&items, n_items);
    for (size_t i = 0; i < n_items; i++) {
        if (list[i].t) {
            item_label(&under, &list[i], &items, i);
            continue;
        }
        snprintf(items.labels[i].of[0], SAMPLE_LABEL_BYTES, "kernel files alone");
        snprintf(items.labels[i].of[1], SAMPLE_LABEL_BYTES, "%s", list[i].shape);
        snprintf(items.column[i], sizeof items.column[i], "files");
    }
    long_items_choose(&under, &items, N_SAMPLE);
    n_failed = long_test_run(&under, &items, false, work, NULL);
    n_uncovered = long_test_covered(&under, &items, "configs that are right");
    long_items_fini(&items);
    free(list);
    assert_int_equal(n_failed, 0);
    assert_int_equal(n_uncovered, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_template_is_right_in_every_type)};
    int failed;

    setenv("TUNE_FENCE", "1", 1); /* as what verifies a user's config: reads beside a buffer are seen */
    if (!long_test_begin(&under, BACKEND, argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
