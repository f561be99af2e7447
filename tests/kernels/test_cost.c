/* SPDX-License-Identifier: MIT */
/* The order in which templates are tried before anything was measured. */
#include "kernels/cost.h"
#include "kernels/operator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct device_desc cpu = {.api = "opencl",
                                       .kind = DEVICE_CPU,
                                       .units = 1,
                                       .threads = 1,
                                       .max_work_group = 4096,
                                       .max_local = {4096, 4096, 4096},
                                       .local_bytes = 1 << 20,
                                       .vector_bits = 512};

static struct workload parsed(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s", why.text);
    return w;
}

static const char *first_of(const char *text)
{
    const struct template *list[OPERATOR_MAX_TEMPLATES];
    const struct workload w = parsed(text);

    assert_true(templates_in_order(&w, &cpu, list) > 0);
    return list[0]->id;
}

/* Layers where a record's least time is a third or more below the other templates' (docs/notes/costs.md). */
static void the_fastest_of_measured_layers_comes_first(void **state)
{
    static const char *const cases[][2] = {
        {"conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 layout=nchw16c", "conv2d/winograd_tile"},
        {"conv2d f32 n=1 c=128 h=28 w=28 k=128 r=3 s=3 pad=1 layout=nchw16c", "conv2d/winograd_tile"},
        {"conv2d f32 n=1 c=256 h=14 w=14 k=256 r=3 s=3 pad=1 epilogue=bias_relu", "conv2d/winograd_tile"},
        {"conv2d f16 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 layout=nchw16c", "conv2d/winograd_tile"},
        {"conv2d f32 n=1 c=32 h=112 w=112 k=64 r=1 s=1", "conv2d/direct_row"},
        {"conv2d f16 n=1 c=32 h=112 w=112 k=64 r=1 s=1", "conv2d/direct_row"},
        {"conv2d f32 n=1 c=768 h=17 w=17 k=192 r=1 s=1", "conv2d/direct_tile"},
        {"dense f32 m=1 n=4096 k=4096", "dense/gemv"},
        {"dense f32 m=8 n=512 k=512", "dense/gemm_packed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(first_of(cases[i][0]), cases[i][1]);
}

/* Every template once, those that fit best in front, whatever they cost. */
static void an_order_has_all_templates_by_their_fit(void **state)
{
    static const char *const texts[] = {"conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
                                        "conv2d i8 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
                                        "dense f32 m=4 n=512 k=512",
                                        "dense f32 m=64 n=512 k=512",
                                        "pool2d f32 n=1 c=64 h=56 w=56 r=2 s=2 stride=2",
                                        "softmax f32 m=1 n=1000"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct template *list[OPERATOR_MAX_TEMPLATES];
        const struct workload w = parsed(texts[i]);
        const size_t n = templates_in_order(&w, &cpu, list);
        size_t n_found = 0;

        for (const struct template *const *t = w.op->templates; *t; t++)
            for (size_t k = 0; k < n; k++)
                n_found += list[k] == *t;
        assert_int_equal(n_found, n);
        for (size_t k = 1; k < n; k++)
            assert_true(list[k]->fit(&w, &cpu, NULL) <= list[k - 1]->fit(&w, &cpu, NULL));
    }
}

/* A GPU's: nothing was learnt, so the operator's list decides among those that fit equally well. */
static void without_costs_the_operator_s_list_decides(void **state)
{
    static const char text[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1";
    const struct template *list[OPERATOR_MAX_TEMPLATES], *before = NULL;
    const struct workload w = parsed(text);
    struct device_desc gpu = cpu;
    size_t n;

    (void)state;
    gpu.kind = DEVICE_GPU;
    n = templates_in_order(&w, &gpu, list);
    for (const struct template *const *t = w.op->templates; *t; t++) {
        assert_true(isnan(template_cost(*t, &w, &gpu)));
        if ((*t)->fit(&w, &gpu, NULL) != FIT_GOOD)
            continue;
        for (size_t i = 0; before && i < n && list[i] != before; i++)
            assert_ptr_not_equal(list[i], *t);
        before = *t;
    }
    assert_non_null(before);
}

/* Time grows with the work; no operator and no thread count gives anything but a number or NAN. */
static void costs_grow_with_the_work(void **state)
{
    static const char *const pairs[][2] = {
        {"conv2d f32 n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1", "conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 pad=1"},
        {"conv2d f32 n=1 c=64 h=28 w=28 k=64 r=1 s=1", "conv2d f32 n=1 c=256 h=56 w=56 k=512 r=1 s=1"},
        {"dense f32 m=1 n=512 k=512", "dense f32 m=4 n=4096 k=4096"}};

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct workload small = parsed(pairs[i][0]), large = parsed(pairs[i][1]);
        size_t n = 0;

        for (const struct template *const *t = small.op->templates; *t; t++) {
            const double a = template_cost(*t, &small, &cpu), b = template_cost(*t, &large, &cpu);

            assert_int_equal(isnan(a), isnan(b));
            assert_true(isnan(a) || b > a);
            n += !isnan(a);
        }
        assert_true(n >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_measured_layers_comes_first),
        cmocka_unit_test(an_order_has_all_templates_by_their_fit),
        cmocka_unit_test(without_costs_the_operator_s_list_decides),
        cmocka_unit_test(costs_grow_with_the_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
