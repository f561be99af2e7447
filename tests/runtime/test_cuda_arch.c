/* SPDX-License-Identifier: MIT */
/* What is known of NVIDIA's architectures without a device; residency by hand, as the programming guide counts it. */
#include "runtime/cuda_arch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct device_desc of(int sm)
{
    struct device_desc d;

    assert_non_null(cuda_arch_find(sm));
    cuda_arch_describe(cuda_arch_find(sm), 10, &d);
    return d;
}

static void blocks_are_resident_as_many_as_the_scarcest_allows(void **state)
{
    static const struct {
        int sm;
        int64_t threads, registers, local;
        int n;
    } cases[] = {
        {80, 256, 0, 0, 8},                           /* 2048 threads */
        {86, 256, 0, 0, 6},                           /* 1536 */
        {75, 256, 0, 0, 4},                           /* 1024 */
        {80, 100, 0, 0, 16},                          /* four warps */
        {80, 32, 0, 0, 32},                           /* blocks */
        {75, 32, 0, 0, 16},    {80, 256, 32, 0, 8},   /* 8 warps x 1024 of 65536 registers */
        {80, 256, 33, 0, 6},                          /* 8 warps x 1280: 33 x 32 in 256s */
        {80, 1024, 64, 0, 1},  {80, 1024, 65, 0, 0},  /* 32 warps x 2304 */
        {62, 256, 64, 0, 2},                          /* half as many registers */
        {80, 64, 0, 40960, 4},                        /* with the system's 1024: a quarter of 164 KiB */
        {80, 64, 0, 40961, 3}, {75, 64, 0, 5888, 11}, /* 46 times 128 of 64 KiB */
        {75, 64, 0, 5957, 10},                        /* counted as 6016 */
        {75, 64, 0, 65536, 1}, {75, 64, 0, 65537, 0}, {80, 0, 32, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct device_desc d = of(cases[i].sm);
        const int n = cuda_arch_resident(&d, cases[i].threads, cases[i].registers, cases[i].local);

        if (n != cases[i].n)
            fail_msg("sm_%d, %d threads, %d registers, %d bytes: %d, expected %d", cases[i].sm, (int)cases[i].threads,
                     (int)cases[i].registers, (int)cases[i].local, n, cases[i].n);
    }
}

static void what_an_architecture_has_is_told_by_whole_words(void **state)
{
    static const struct {
        int sm;
        const char *word;
        bool has;
    } cases[] = {
        {50, "cooperative", false}, {53, "fp16", true},      {60, "cooperative", true}, {60, "dp4a", false},
        {60, "fp16", true},         {61, "dp4a", true},      {61, "fp16", false},       {62, "dp4a", false},
        {70, "dp4a", true},         {70, "mma_f16", false},  {75, "mma_f16", true},     {75, "mma_i8", true},
        {75, "mma_k16", false},     {75, "cp_async", false}, {80, "cp_async", true},    {80, "mma_bf16", true},
        {80, "mma", false},         {80, "f16", false},      {80, "async", false},      {121, "cp_async", true},
        {89, "wgmma", false},       {90, "wgmma", true},     {100, "wgmma", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct device_desc d = of(cases[i].sm);

        if (cuda_arch_has(&d, cases[i].word) != cases[i].has)
            fail_msg("sm_%d, %s", cases[i].sm, cases[i].word);
    }
}

static void other_devices_have_none_of_them(void **state)
{
    const struct device_desc opencl = {.api = "opencl", .extensions = "fp16 cooperative"};

    (void)state;
    assert_false(cuda_arch_has(&opencl, "fp16"));
}

static void a_device_that_is_not_there_is_described(void **state)
{
    const struct device_desc d = of(80), old = of(61), half = of(60);

    (void)state;
    assert_string_equal(d.api, "cuda");
    assert_string_equal(d.name, "sm_80");
    assert_int_equal(d.sm, 80);
    assert_int_equal(d.units, 10);
    assert_int_equal(d.kind, DEVICE_GPU);
    assert_int_equal(d.max_work_group, 1024);
    assert_true(d.max_local[0] == 1024 && d.max_local[1] == 1024 && d.max_local[2] == 64);
    assert_int_equal(d.local_bytes, 48 * 1024);
    assert_int_equal(d.local_max_bytes, 163 * 1024);
    assert_int_equal(d.local_unit_bytes, 164 * 1024);
    assert_int_equal(d.local_reserved, 1024);
    assert_int_equal(d.constant_bytes, 65536);
    assert_int_equal(d.registers, 65536);
    assert_int_equal(d.unit_threads, 2048);
    assert_int_equal(d.unit_groups, 32);
    assert_int_equal(d.vector_bits, 128);
    assert_true(d.fp16 && d.global_bytes > 0 && d.max_alloc_bytes > 0 && d.cache_bytes > 0);
    assert_string_equal(d.dots, "tune_dp4a");
    assert_string_equal(old.dots, "tune_dp4a");
    assert_false(old.fp16);
    assert_string_equal(half.dots, "");
    assert_true(half.fp16);
}

static void only_known_ones_are_found_and_they_ascend(void **state)
{
    int before = 0;

    (void)state;
    for (const struct cuda_arch *a = cuda_arch_table; a->sm; a++) {
        assert_true(a->sm > before);
        assert_ptr_equal(cuda_arch_find(a->sm), a);
        assert_true(a->unit_threads % CUDA_WARP == 0 && a->local_max_kib <= a->local_unit_kib);
        before = a->sm;
    }
    assert_null(cuda_arch_find(63));
    assert_null(cuda_arch_find(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_resident_as_many_as_the_scarcest_allows),
        cmocka_unit_test(what_an_architecture_has_is_told_by_whole_words),
        cmocka_unit_test(other_devices_have_none_of_them),
        cmocka_unit_test(a_device_that_is_not_there_is_described),
        cmocka_unit_test(only_known_ones_are_found_and_they_ascend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
