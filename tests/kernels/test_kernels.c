/* Every template computes every small shape right on the devices of BACKEND: the default and random configs. Several
 * devices share the shapes out (TUNE_ALL_DEVICES: each runs all). */
#include "core/rng.h"
#include "kernels/embedded.h"
#include "tests/kernels/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/run_device.h"

static struct devices_under_test under;
static struct part part;
static int n_failed, n_verified;

static void verify_config(const struct template *t, const struct workload *w, int i_device, const struct space *s,
                          const struct config *c, const char *shape)
{
    const struct device_desc *d;
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};

    want_device(&under, i_device);
    d = under.ops->describe(under.list[i_device]);
    buf_init(&text, 4096);
    blobs_init(&blobs, (size_t)1 << 28);
    space_config_text(s, c, &text);
    n_verified++;
    if (template_program(t, w, d, s, c, &p, &blobs, &why) ||
        load_and_verify(under.ops, under.list[i_device], &p, &blobs, &why)) {
        printf("FAILED on %s: %s | %s | %s: %s\n", d->name, t->id, shape, buf_text(&text), why.text);
        n_failed++;
        lose_device(&under, i_device);
    }
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
}

/* The default config and `n_random` others of a shape of the template's operator. */
static void verify_shape(const struct template *t, const char *shape, int i_device, uint64_t seed, int n_random)
{
    const struct device_desc *d = under.ops->describe(under.list[i_device]);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct rng rng;
    struct why why = {""};
    enum err e;

    rng_init(&rng, seed);
    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    if (!template_computes(t, w.op) || t->fit(&w, d, NULL) == FIT_NONE)
        return;
    e = template_space(t, &w, d, &s, &why);
    if (!e)
        e = t->fallback(&w, d, s, &c);
    if (e) {
        printf("FAILED on %s: %s | %s has no default config: %s %s\n", d->name, t->id, shape, err_words(e), why.text);
        n_failed++;
        space_free(s);
        return;
    }
    verify_config(t, &w, i_device, s, &c, shape);
    for (int i = 0; i < n_random && space_size(s) > 1 && space_sample(s, &rng, 1000000, &c) == ERR_OK; i++)
        verify_config(t, &w, i_device, s, &c, shape);
    space_free(s);
}

/* On the device whose turn it is, or on all. */
static void verify_on_devices(const struct template *t, const char *shape, int turn, uint64_t seed, int n_random)
{
    for (int i = 0; i < under.n; i++)
        if (i == turn % under.n || getenv("TUNE_ALL_DEVICES"))
            verify_shape(t, shape, i, seed, n_random);
}

/* A template's own cases are those that hold its mutants. */
static bool is_of(const struct cases *cases, const struct template *t)
{
    for (const struct mutant *m = cases->mutants; m->template_id; m++)
        if (strcmp(m->template_id, t->id) == 0)
            return true;
    return false;
}

static void none_failed(void)
{
    const int failed = n_failed, verified = n_verified;

    n_failed = n_verified = 0;
    printf("%d configs verified, %d failed\n", verified, failed);
    assert_int_equal(failed, 0);
}

/* Of its own cases each template computes all shapes, of the others every third (TUNE_ALL_SHAPES: all). */
static void every_template_computes_every_shape(void **state)
{
    const int step = getenv("TUNE_ALL_SHAPES") ? 1 : 3;

    (void)state;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (int i = 0; (*cases)->shapes[i]; i++) {
            const char *shape = (*cases)->shapes[i];
            struct workload w;

            assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
            for (int k = 0; w.op->templates[k]; k++)
                if (is_wanted(w.op->templates[k]->id) && (is_of(*cases, w.op->templates[k]) || (i + k) % step == 0) &&
                    part_has_next(&part))
                    verify_on_devices(w.op->templates[k], shape, i + k, 100 + (uint64_t)i, i % 3 == 0);
        }
    none_failed();
}

/* A classifier's last layer: one row, sums of thousands, blocks of k that do not end together. */
static void gemm_packed_computes_one_long_row(void **state)
{
    const struct template *t = template_find("dense/gemm_packed");

    (void)state;
    assert_non_null(t);
    verify_on_devices(t, "dense f32 m=1 n=1000 k=4096", 0, 1, 2);
    verify_on_devices(t, "dense f32 m=3 n=70 k=1301", 1, 2, 2);
    none_failed();
}

/* The type that a file stands for when nobody names one. */
static int dtype_alone(const char *name)
{
    return strstr(name, "/mma") ? DTYPE_F16 : strstr(name, "i8") ? DTYPE_I8 : DTYPE_F32;
}

static void compile_alone(const char *name)
{
    const int64_t one[] = {1, 1, 1};
    const enum program_lang lang = kernel_lang(under.ops->describe(under.list[0]));
    struct program p;
    struct program_module *m;
    struct program_launch *launch;
    struct blobs blobs;
    struct buf text;
    struct loaded *l = NULL;
    struct load_report report = {0};
    struct why why = {""};

    buf_init(&text, (size_t)1 << 20);
    blobs_init(&blobs, (size_t)1 << 20);
    program_init(&p);
    snprintf(p.api, sizeof p.api, "%s", under.ops->name);
    assert_int_equal(kernel_text(name, lang, &text), ERR_OK);
    buf_puts(&text, "KERNEL WG_SIZE(1, 1, 1) alone(GLOBAL float *y) { y[0] = 0.0f; }\n"); /* something to launch */
    m = program_add_module(&p, "alone", lang, "");
    assert_non_null(m);
    if (dtype_alone(name) != DTYPE_F32)
        assert_int_equal(program_define(m, "DT", dtype_alone(name)), ERR_OK);
    assert_int_equal(blobs_put(&blobs, buf_text(&text), text.len, &m->source), ERR_OK);
    assert_non_null(program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 1));
    launch = program_add_kernel(&p, PHASE_RUN, 0, "alone", one, one);
    assert_non_null(launch);
    assert_int_equal(program_arg_buffer(launch, 0), ERR_OK);
    if (under.ops->load(under.list[0], &p, &blobs, NULL, &l, &report, &why)) {
        printf("FAILED: %s: %s\n%s", name, why.text, report.log ? report.log : "");
        n_failed++;
    }
    under.ops->unload(l);
    free(report.log);
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
}

/* Every kernel file compiles without any define, as its defaults promise. */
static void every_kernel_file_compiles_alone(void **state)
{
    (void)state;
    for (const struct embedded *f = embedded_kernels; f->name; f++)
        if (strlen(f->name) > 3 && strcmp(f->name + strlen(f->name) - 3, ".cl") == 0 && part_has_next(&part))
            compile_alone(f->name);
    none_failed();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_file_compiles_alone),
        cmocka_unit_test(every_template_computes_every_shape),
        cmocka_unit_test(gemm_packed_computes_one_long_row),
    };
    int failed;

    part = part_of(argc, argv);
    if (!open_devices(BACKEND, &under))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices(&under);
    return failed;
}
