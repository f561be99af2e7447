/* Every template computes every small shape right on the first OpenCL device: the default and random configs. */
#include "core/rng.h"
#include "kernels/embedded.h"
#include "tests/kernels/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/run_opencl.h"

static const struct device_ops *ops;
static struct device *device;
static struct part part;

static void verify_config(const struct template *t, const struct workload *w, const struct space *s,
                          const struct config *c, const char *shape)
{
    const struct device_desc *d = ops->describe(device);
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};

    buf_init(&text, 4096);
    blobs_init(&blobs, (size_t)1 << 28);
    space_config_text(s, c, &text);
    if (template_program(t, w, d, s, c, &p, &blobs, &why) || load_and_verify(ops, device, &p, &blobs, &why))
        fail_msg("%s | %s | %s: %s", t->id, shape, buf_text(&text), why.text);
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
}

/* The default config and `n_random` others of a shape of the template's operator. */
static void verify_shape(const struct template *t, const char *shape, uint64_t seed, int n_random)
{
    const struct device_desc *d = ops->describe(device);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct rng rng;

    rng_init(&rng, seed);
    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    if (!template_computes(t, w.op) || t->fit(&w, d, NULL) == FIT_NONE)
        return;
    assert_int_equal(template_space(t, &w, d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(&w, d, s, &c), ERR_OK);
    verify_config(t, &w, s, &c, shape);
    for (int i = 0; i < n_random && space_size(s) > 1 && space_sample(s, &rng, 1000000, &c) == ERR_OK; i++)
        verify_config(t, &w, s, &c, shape);
    space_free(s);
}

/* A template's own cases are those that hold its mutants. */
static bool is_of(const struct cases *cases, const struct template *t)
{
    for (const struct mutant *m = cases->mutants; m->template_id; m++)
        if (strcmp(m->template_id, t->id) == 0)
            return true;
    return false;
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
                    verify_shape(w.op->templates[k], shape, 100 + (uint64_t)i, i % 3 == 0);
        }
}

/* A classifier's last layer: one row, sums of thousands, blocks of k that do not end together. */
static void gemm_packed_computes_one_long_row(void **state)
{
    const struct template *t = template_find("dense/gemm_packed");

    (void)state;
    assert_non_null(t);
    verify_shape(t, "dense f32 m=1 n=1000 k=4096", 1, 2);
    verify_shape(t, "dense f32 m=3 n=70 k=1301", 2, 2);
}

static void compile_alone(const char *name)
{
    const int64_t one[] = {1, 1, 1};
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
    snprintf(p.api, sizeof p.api, "opencl");
    assert_int_equal(kernel_text(name, LANG_OPENCL_C, &text), ERR_OK);
    buf_puts(&text, "KERNEL WG_SIZE(1, 1, 1) alone(GLOBAL float *y) { y[0] = 0.0f; }\n"); /* something to launch */
    m = program_add_module(&p, "alone", LANG_OPENCL_C, "");
    assert_non_null(m);
    assert_int_equal(blobs_put(&blobs, buf_text(&text), text.len, &m->source), ERR_OK);
    assert_non_null(program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 1));
    launch = program_add_kernel(&p, PHASE_RUN, 0, "alone", one, one);
    assert_non_null(launch);
    assert_int_equal(program_arg_buffer(launch, 0), ERR_OK);
    if (ops->load(device, &p, &blobs, NULL, &l, &report, &why))
        fail_msg("%s: %s\n%s", name, why.text, report.log ? report.log : "");
    ops->unload(l);
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
    ops = device_find("opencl");
    device = ops ? open_first(ops) : NULL;
    if (!device)
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ops->close(device);
    return failed;
}
