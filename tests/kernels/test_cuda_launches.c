/* SPDX-License-Identifier: MIT */
/* One config is the same list of launches in OpenCL and in CUDA: only the language of the kernels differs. No device
 * and no compiler is needed. */
#include "core/rng.h"
#include "kernels/template.h"
#include "runtime/cuda_arch.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/draw.h"
#include "tests/kernels/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TEMPLATES 128

/* What was compared of each template. */
static struct {
    const struct template *t;
    int n_equal, n_left_out;
} seen[MAX_TEMPLATES];

static int n_failed;
static uint64_t seed, turn;
static bool is_full;

/* Told and counted, so that one template hides no other. */
static void failed(const struct template *t, const char *shape, const char *words)
{
    if (n_failed++ < 40)
        printf("FAILED: %s on %s: %s\n", t->id, shape, words);
}

/* The same limits under OpenCL. */
static struct device_desc twin_of(const struct device_desc *cuda)
{
    struct device_desc d = *cuda;

    snprintf(d.api, sizeof d.api, "opencl");
    snprintf(d.extensions, sizeof d.extensions, "%s", d.fp16 ? "cl_khr_fp16" : "");
    d.sm = d.local_max_bytes = d.local_unit_bytes = d.local_reserved = 0;
    d.registers = d.unit_threads = d.unit_groups = d.cache_bytes = 0;
    return d;
}

static bool same_value(struct value a, struct value b)
{
    return a.text && b.text ? strcmp(a.text, b.text) == 0 : !a.text && !b.text && a.number == b.number;
}

/* The config of `to` whose knobs have the values of `c`; knobs that only `to` has are at their first value. False where
 * there is none that is valid. */
static bool carry_over(const struct space *from, const struct config *c, const struct space *to, struct config *out)
{
    *out = (struct config){{0}};
    for (size_t i = 0; i < space_n_knobs(from); i++) {
        const int at = space_find_knob(to, space_knob_name(from, i));
        size_t v = 0;

        if (at < 0)
            return false;
        while (v < space_n_values(to, (size_t)at) &&
               !same_value(space_value(from, c, i), space_knob_value(to, (size_t)at, v)))
            v++;
        if (v == space_n_values(to, (size_t)at))
            return false;
        out->choice[at] = (uint16_t)v;
    }
    return space_is_valid(to, out, NULL);
}

/* Arguments without those of local memory, which CUDA has none of. */
static size_t arguments(const struct program_launch *l, const struct program_arg **out)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_args; i++)
        if (l->args[i].kind != ARG_LOCAL)
            out[n++] = &l->args[i];
    return n;
}

static bool same_args(const struct program_launch *a, const struct program_launch *b)
{
    const struct program_arg *in_a[PROGRAM_MAX_ARGS], *in_b[PROGRAM_MAX_ARGS];
    const size_t n = arguments(a, in_a);

    if (arguments(b, in_b) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct program_arg *x = in_a[i], *y = in_b[i];

        if (x->kind != y->kind || (x->kind == ARG_BUFFER && x->i_buffer != y->i_buffer) || x->integer != y->integer ||
            x->real != y->real || memcmp(x->bump, y->bump, sizeof x->bump) != 0)
            return false;
    }
    return true;
}

/* What differs between two launches; NULL = nothing. */
static const char *launch_difference(const struct program_launch *a, const struct program_launch *b)
{
    if (a->op != b->op || a->phase != b->phase || a->i_module != b->i_module)
        return "kind, phase or module";
    if (strcmp(a->kernel, b->kernel) != 0)
        return "kernel";
    if (memcmp(a->grid, b->grid, sizeof a->grid) != 0 || memcmp(a->block, b->block, sizeof a->block) != 0)
        return "grid or block";
    if (a->queue != b->queue || a->n_after != b->n_after ||
        (a->n_after && memcmp(a->after, b->after, a->n_after * sizeof *a->after) != 0))
        return "queue or what it waits for";
    return same_args(a, b) ? NULL : "arguments";
}

static const char *buffer_difference(const struct program_buffer *a, const struct program_buffer *b)
{
    if (strcmp(a->id, b->id) != 0 || a->role != b->role)
        return "name or role of a buffer";
    return a->dtype == b->dtype && a->n_elems == b->n_elems && a->reset_each_run == b->reset_each_run
               ? NULL
               : "size or type of a buffer";
}

static const char *program_difference(const struct program *a, const struct program *b)
{
    const char *found = NULL;

    if (a->n_launches != b->n_launches || a->n_buffers != b->n_buffers || a->n_modules != b->n_modules ||
        a->n_loops != b->n_loops)
        return "number of launches, buffers, modules or loops";
    for (size_t i = 0; !found && i < a->n_buffers; i++)
        found = buffer_difference(&a->buffers[i], &b->buffers[i]);
    for (size_t i = 0; !found && i < a->n_launches; i++)
        found = launch_difference(&a->launches[i], &b->launches[i]);
    for (size_t i = 0; !found && i < a->n_loops; i++)
        if (a->loops[i].first != b->loops[i].first || a->loops[i].last != b->loops[i].last ||
            a->loops[i].count != b->loops[i].count)
            found = "loops";
    return found;
}

/* A template on a workload, for both. */
struct pair {
    const struct template *t;
    const struct workload *w;
    const struct device_desc *d[2]; /* OpenCL, CUDA */
    struct space *s[2];
};

static void compare(const struct pair *pair, const struct config *c, const char *shape)
{
    struct config other;
    struct program p[2];
    struct blobs blobs[2];
    const char *found;
    size_t i = 0;

    while (seen[i].t && seen[i].t != pair->t)
        i++;
    seen[i].t = pair->t;
    if (!carry_over(pair->s[0], c, pair->s[1], &other)) {
        seen[i].n_left_out++;
        return;
    }
    seen[i].n_equal++;
    for (int k = 0; k < 2; k++) {
        struct why why = {""};

        blobs_init(&blobs[k], (size_t)1 << 28);
        if (template_kernels(pair->t, pair->w, pair->d[k], pair->s[k], k ? &other : c, &p[k], &blobs[k], &why))
            failed(pair->t, shape, why.text);
    }
    found = program_difference(&p[0], &p[1]);
    if (found) {
        struct buf text;

        buf_init(&text, 1 << 16);
        (void)space_config_text(pair->s[0], c, &text);
        (void)buf_printf(&text, ": OpenCL and CUDA (sm_%lld) differ in %s", (long long)pair->d[1]->sm, found);
        failed(pair->t, shape, buf_text(&text));
        buf_fini(&text);
    }
    for (int k = 0; k < 2; k++) {
        program_fini(&p[k]);
        blobs_fini(&blobs[k]);
    }
}

/* The default of a template on a shape, and as the seed has it on one architecture of three another; --full: two on
 * each.
 */
static void compare_template(const struct template *t, const struct workload *w, const struct device_desc *opencl,
                             const struct device_desc *cuda, const char *shape)
{
    struct pair pair = {.t = t, .w = w, .d = {opencl, cuda}};
    struct draw draw;
    struct config c;
    struct rng rng;

    rng_init(&rng, is_full ? 5 : seed + turn);
    if (t->fit(w, opencl, NULL) == FIT_NONE || t->fit(w, cuda, NULL) == FIT_NONE)
        return;
    assert_int_equal(template_space(t, w, opencl, &pair.s[0], NULL), ERR_OK);
    assert_int_equal(template_space(t, w, cuda, &pair.s[1], NULL), ERR_OK);
    if (t->fallback(w, opencl, pair.s[0], &c))
        failed(t, shape, "no default on a GPU of OpenCL");
    else
        compare(&pair, &c, shape);
    draw = (struct draw){pair.s[0], NULL};
    for (int i = 0; i < (is_full ? 2 : (turn + seed) % 3 == 0); i++)
        if (draw_config(&draw, &rng, &c) == ERR_OK)
            compare(&pair, &c, shape);
    draw_fini(&draw);
    space_free(pair.s[0]);
    space_free(pair.s[1]);
}

static void both_languages_give_the_same_launches(void **state)
{
    static const int sms[] = {61, 75, 90};

    (void)state;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            for (size_t i = 0; i < sizeof sms / sizeof sms[0]; i++, turn++) {
                struct device_desc cuda, opencl;

                cuda_arch_describe(cuda_arch_find(sms[i]), 28, &cuda);
                opencl = twin_of(&cuda);
                for (const struct template *const *t = w.op->templates; *t; t++)
                    compare_template(*t, &w, &opencl, &cuda, *shape);
            }
        }
    for (size_t i = 0; seen[i].t; i++) {
        printf("%s: %d configs the same, %d only of OpenCL\n", seen[i].t->id, seen[i].n_equal, seen[i].n_left_out);
        assert_true(seen[i].n_equal > 0);
    }
    assert_int_equal(n_failed, 0);
}

/* Each part of a launch that is changed is found. */
static void a_changed_launch_is_found(void **state)
{
    const int64_t grid[] = {3, 2, 1}, block[] = {64, 1, 1};
    struct program p[2];

    (void)state;
    for (int change = 0; change < 7; change++) {
        for (int k = 0; k < 2; k++) {
            struct program_launch *l;

            program_init(&p[k]);
            assert_non_null(program_add_buffer(&p[k], "x", ROLE_INPUT, DTYPE_F32, 8));
            l = program_add_kernel(&p[k], PHASE_RUN, 0, k && change == 1 ? "g" : "f", grid, block);
            assert_non_null(l);
            l->grid[2] += k && change == 2;
            l->queue += k && change == 3;
            assert_int_equal(program_arg_buffer(l, 0), ERR_OK);
            assert_int_equal(program_arg_int(l, ARG_LOCAL, 256 * (k + 1)), ERR_OK); /* no difference */
            assert_int_equal(program_arg_int(l, ARG_I32, k && change == 4 ? 8 : 7), ERR_OK);
            l->args[2].bump[0] += k && change == 5;
            assert_int_equal(program_add_loop(&p[k], 0, 0, k && change == 6 ? 4 : 5), ERR_OK);
        }
        assert_int_equal(program_difference(&p[0], &p[1]) != NULL, change > 0);
        program_fini(&p[0]);
        program_fini(&p[1]);
    }
}

/* With the template's id, and one that computes it there. */
static void forms_for_cpus_refuse_cuda_in_words(void **state)
{
    static const char *const texts[][3] = {
        {"dense/gemm_packed", "dense f32 m=9 n=9 k=9", "dense/gemm_tiled"},
        {"dense/gemv", "dense f16 m=1 n=9 k=9", "dense/small_batch"},
        {"dense/dense_i8_tile", "dense i8 m=8 n=8 k=8", "dense/dense_i8"},
        {"batch_gemm/packed", "batch_gemm f32 b=2 m=9 n=9 k=9", "batch_gemm/tiled"},
    };
    struct device_desc cuda;

    (void)state;
    cuda_arch_describe(cuda_arch_find(75), 28, &cuda);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct workload w;
        struct why why = {""};

        assert_int_equal(workload_parse(texts[i][1], &w, NULL), ERR_OK);
        assert_int_equal(template_find(texts[i][0])->fit(&w, &cuda, &why), FIT_NONE);
        if (!strstr(why.text, texts[i][0]) || !strstr(why.text, "CUDA") || !strstr(why.text, texts[i][2]))
            fail_msg("%s: \"%s\"", texts[i][0], why.text);
        assert_int_not_equal(template_find(texts[i][2])->fit(&w, &cuda, &why), FIT_NONE);
    }
}

/* Whoever multiplies by tensor cores says so: else its times are too fast to be true (agent/plausible.c). */
static void programs_of_tensor_cores_say_so(void **state)
{
    static const char *const texts[][3] = {
        {"dense/mma", "dense f16 m=64 n=64 k=64", "mma_f16"},
        {"dense/wgmma", "dense bf16 m=64 n=64 k=64", "wgmma"},
        {"conv2d/wgmma", "conv2d bf16 n=1 c=64 h=8 w=8 k=64 r=3 s=3 pad=1 layout=nhwc", "wgmma"},
        {"batch_gemm/mma", "batch_gemm bf16 b=2 m=64 n=64 k=64", "mma_bf16"},
        {"conv2d/mma", "conv2d i8 n=1 c=32 h=8 w=8 k=32 r=3 s=3 pad=1", "mma_i8"}};
    struct device_desc d;

    (void)state;
    cuda_arch_describe(cuda_arch_find(90), 132, &d);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct template *t = template_find(texts[i][0]);
        struct workload w;
        struct space *s;
        struct config c;
        struct program p;
        struct blobs blobs;

        assert_int_equal(workload_parse(texts[i][1], &w, NULL), ERR_OK);
        assert_int_equal(template_space(t, &w, &d, &s, NULL), ERR_OK);
        assert_int_equal(t->fallback(&w, &d, s, &c), ERR_OK);
        blobs_init(&blobs, (size_t)1 << 28);
        assert_int_equal(template_program(t, &w, &d, s, &c, &p, &blobs, NULL), ERR_OK);
        if (!strstr(p.extensions, texts[i][2]))
            fail_msg("%s: '%s'", texts[i][0], p.extensions);
        program_fini(&p);
        blobs_fini(&blobs);
        space_free(s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_launch_is_found),
        cmocka_unit_test(forms_for_cpus_refuse_cuda_in_words),
        cmocka_unit_test(programs_of_tensor_cores_say_so),
        cmocka_unit_test(both_languages_give_the_same_launches),
    };

    seed = sample_seed(argc, argv);
    is_full = sample_flag(argc, argv, "--full");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
