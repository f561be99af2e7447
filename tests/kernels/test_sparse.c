/* SPDX-License-Identifier: MIT */
/* Weights of sparse workloads: the draw, .npy files, the store; what is refused with which words. */
#include "core/file.h"
#include "kernels/expect.h"
#include "kernels/npy.h"
#include "kernels/sparse_conv2d/sparse.h"
#include "kernels/sparse_conv2d/weights.h"
#include "runtime/cuda_arch.h"
#include "runtime/dtype.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SHAPE "sparse_conv2d f32 n=1 c=4 h=9 w=9 k=2 r=3 s=3"

static char dir[PATH_MAX];

static struct workload parse(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s: %s", text, why.text);
    return w;
}

/* A file of version 1 around a header and the bytes behind it. */
static size_t file_of(const char *header, const void *data, size_t n, unsigned char out[1024])
{
    const size_t n_header = strlen(header);

    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)(n_header & 255);
    out[9] = (unsigned char)(n_header >> 8);
    memcpy(out + 10, header, n_header);
    memcpy(out + 10 + n_header, data, n);
    return 10 + n_header + n;
}

static void an_array_is_read_in_every_type_and_order(void **state)
{
    static const float f4[] = {1, 2, 3, 4, 5, 6};
    static const double f8[] = {1, 2, 3, 4, 5, 6};
    static const uint16_t f2[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    static const float columns[] = {1, 4, 2, 5, 3, 6};
    static const unsigned char big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    static const unsigned char u1[] = {1, 2}, i2[] = {0, 1, 0, 2}, truth[] = {1};
    static const int64_t i8[] = {1, 2};
    const struct {
        const char *header;
        const void *data;
        size_t n_bytes;
        int64_t n_elems;
    } files[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", f4, sizeof f4, 6},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", f8, sizeof f8, 6},
        {"{\"shape\": (2, 3,), \"fortran_order\": False, \"descr\": \"<f2\"}", f2, sizeof f2, 6},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", columns, sizeof columns, 6},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", big, sizeof big, 2},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", u1, sizeof u1, 2},
        {"{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", i2, sizeof i2, 2},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", i8, sizeof i8, 2},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", truth, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        unsigned char bytes[1024];
        struct npy a;
        struct why why = {""};

        if (npy_parse(bytes, file_of(files[i].header, files[i].data, files[i].n_bytes, bytes), &a, &why))
            fail_msg("%s: %s", files[i].header, why.text);
        assert_int_equal(a.n_elems, files[i].n_elems);
        for (int64_t j = 0; j < a.n_elems; j++)
            assert_true(a.values[j] == (float)(j + 1));
        npy_fini(&a);
    }
}

/* The length has two bytes in version 1, four from version 2 on: NumPy writes those where a header is long. */
static void files_of_every_version_are_read(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }       \n";
    static const float values[] = {1, 2};
    static const size_t n_length[] = {2, 4, 4};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        unsigned char bytes[1024] = "\x93NUMPY";
        const size_t begin = 8 + n_length[i], n = begin + sizeof header - 1;
        struct why why = {""};
        char path[PATH_MAX + 8];
        struct npy a;

        bytes[6] = (unsigned char)(i + 1);
        bytes[8] = sizeof header - 1;
        memcpy(bytes + begin, header, sizeof header - 1);
        memcpy(bytes + n, values, sizeof values);
        if (npy_parse(bytes, n + sizeof values, &a, &why))
            fail_msg("version %zu: %s", i + 1, why.text);
        assert_true(a.n_elems == 2 && a.values[0] == 1 && a.values[1] == 2);
        npy_fini(&a);
        snprintf(path, sizeof path, "%s/v.npy", dir);
        assert_int_equal(file_replace(path, bytes, n + sizeof values, 0600, NULL), ERR_OK);
        if (npy_read(path, &a, &why))
            fail_msg("version %zu: %s", i + 1, why.text);
        assert_true(a.n_elems == 2 && a.values[1] == 2);
        npy_fini(&a);
    }
}

static void a_bad_file_is_told_in_words(void **state)
{
    static const struct {
        const char *header, *words;
    } bad[] = {
        {"", "dictionary"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "'<c8'; expected '<f4'"},
        {"{'descr': '<f1', 'fortran_order': False, 'shape': (4,), }", "'<f1'; expected '<f4'"},
        {"{'descr': '|b2', 'fortran_order': False, 'shape': (2,), }", "'|b2'; expected '<f4'"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", "dimension 0"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "more than 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,1000000), }", "more than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "dimension 0"},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "too many"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "4 bytes of data; expected 8"},
    };
    struct npy a;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unsigned char bytes[1024];
        struct why why = {""};

        assert_int_not_equal(npy_parse(bytes, file_of(bad[i].header, "abcd", 4, bytes), &a, &why), ERR_OK);
        if (!strstr(why.text, bad[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].header, why.text, bad[i].words);
    }
    assert_int_equal(npy_parse("PK\x03\x04 and so on ...", 20, &a, NULL), ERR_INPUT);
    assert_int_equal(npy_parse("\x93NUMPY\x09\x00\x00\x00\x00\x00", 12, &a, NULL), ERR_INPUT);
    assert_int_equal(npy_parse("\x93NUMPY\x01\x00\xff\x00  ", 12, &a, NULL), ERR_INPUT);
}

static void a_draw_keeps_exactly_the_asked_number(void **state)
{
    static const int64_t kept[] = {1, 7, 50, 99};
    float a[100], b[100];

    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        int64_t n = 0;

        weights_draw(3, 100, kept[i], 255, a);
        weights_draw(3, 100, kept[i], 255, b);
        assert_memory_equal(a, b, sizeof a);
        for (int j = 0; j < 100; j++) {
            n += a[j] < 0 || a[j] > 0;
            assert_true(a[j] * 64 == (float)(int)(a[j] * 64) && a[j] * 64 <= 255 && a[j] * 64 >= -255);
        }
        assert_int_equal(n, kept[i]);
    }
    weights_draw(4, 100, 50, 255, b);
    weights_draw(3, 100, 50, 255, a);
    assert_true(memcmp(a, b, sizeof a) != 0);
    assert_int_equal(sparse_n_kept(36864, 900000), 3686); /* the counts of the paper's layers */
    assert_int_equal(sparse_n_kept(1728, 700000), 518);
}

static void a_program_counts_dense_and_effective_products(void **state)
{
    const struct workload w = parse(SHAPE " sparsity=0.75");

    (void)state;
    assert_true(w.op->flops(&w) == 2.0 * 72 * 49);
    assert_true(w.op->flops_effective(&w) == 2.0 * 18 * 49);
}

static void write_file(const char *name, const char *header, const float *values, size_t n, char path[PATH_MAX])
{
    unsigned char bytes[1024];

    snprintf(path, PATH_MAX, "%.200s/%s", dir, name);
    assert_int_equal(file_replace(path, bytes, file_of(header, values, n * sizeof *values, bytes), 0644, NULL), ERR_OK);
}

static void a_file_becomes_a_name_that_finds_its_copy(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 3, 3), }";
    float values[72] = {0}, *back;
    char path[PATH_MAX], text[PATH_MAX + 128];
    struct workload w;
    struct buf named, again;
    struct why why = {""};

    (void)state;
    values[5] = 1.25f;
    values[70] = -3;
    values[71] = -0.0f;
    write_file("w.npy", header, values, 72, path);
    snprintf(text, sizeof text, SHAPE " weights=%s pad=1", path);
    buf_init(&named, WORKLOAD_MAX_TEXT);
    buf_init(&again, WORKLOAD_MAX_TEXT);
    if (weights_import(text, &named, &why))
        fail_msg("%s", why.text);
    assert_non_null(strstr(buf_text(&named), "weights=sha256:"));
    w = parse(buf_text(&named));
    assert_int_equal(sparse_nnz(&w), 2);
    assert_int_equal(sparse_weights(&w, &back, &why), ERR_OK);
    assert_memory_equal(back, values, 71 * sizeof *back);
    free(back);
    workload_text(&w, &again);
    assert_string_equal(buf_text(&again) + strlen(SHAPE), strstr(buf_text(&again), " pad=1"));
    w = parse(buf_text(&again));
    buf_fini(&named);
    buf_fini(&again);
}

/* Equal weights have one name, whether their zeros have signs or not; others another. */
static void equal_weights_have_one_name(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 3, 3), }";
    static const float others[] = {0, -0.0f, 1};
    char names[3][WORKLOAD_MAX_TEXT];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        float values[72] = {0};
        char path[PATH_MAX], text[PATH_MAX + 128];
        struct buf named;
        struct why why = {""};

        values[5] = 1.25f;
        values[0] = values[71] = others[i];
        write_file("zeros.npy", header, values, 72, path);
        snprintf(text, sizeof text, SHAPE " weights=%s", path);
        buf_init(&named, WORKLOAD_MAX_TEXT);
        if (weights_import(text, &named, &why))
            fail_msg("%s", why.text);
        snprintf(names[i], sizeof names[i], "%s", buf_text(&named));
        buf_fini(&named);
    }
    assert_string_equal(names[0], names[1]);
    assert_string_not_equal(names[0], names[2]);
}

static void weights_that_cannot_be_used_are_refused(void **state)
{
    static const char right[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 3, 3), }";
    static const struct {
        const char *name, *header;
        float value;
        const char *words;
    } bad[] = {
        {"shape.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 9), }", 1, "2 x 4 x 3 x 3"},
        {"nan.npy", right, __builtin_nanf(""), "NaN"},
        {"inf.npy", right, __builtin_inff(), "infinite"},
        {"zero.npy", right, 0, "all weights are 0"},
        {"huge.npy", right, -3e38f, "is -3e+38; expected magnitudes up to 1e+28"},
        {"large.npy", right, 1.001e28f, "expected magnitudes up to 1e+28"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        float values[72] = {0};
        char path[PATH_MAX], text[PATH_MAX + 128];
        struct buf named;
        struct why why = {""};

        values[3] = bad[i].value;
        write_file(bad[i].name, bad[i].header, values, 72, path);
        snprintf(text, sizeof text, SHAPE " weights=%s", path);
        buf_init(&named, WORKLOAD_MAX_TEXT);
        assert_int_equal(weights_import(text, &named, &why), ERR_INPUT);
        if (!strstr(why.text, bad[i].words) || !strstr(why.text, bad[i].name))
            fail_msg("%s: \"%s\"", bad[i].name, why.text);
        buf_fini(&named);
    }
}

static void a_name_without_a_copy_and_no_weights_at_all_are_told(void **state)
{
    static const char *const bad[][2] = {
        {SHAPE, "expected either sparsity="},
        {SHAPE " sparsity=0", "expected 0.000001 to 0.999999"},
        {SHAPE " sparsity=1", "expected 0.000001 to 0.999999"},
        {SHAPE " sparsity=1.5", "expected 0.000001 to 0.999999"},
        {SHAPE " sparsity=-0.5", "expected a number like 0.9"},
        {SHAPE " sparsity=0.1234567", "six digits"},
        {SHAPE " sparsity=.", "expected a number like 0.9"},
        {SHAPE " sparsity=0.999", "none of the 72 weights"},
        {SHAPE " weights=w.npy", "expected sha256:"},
        {SHAPE " weights=sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "no file"},
        {SHAPE " weights=sha256:0000000000000000000000000000000000000000000000000000000000000000",
         "no file has this hash"},
        {SHAPE " seed=3 weights=sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
         "seed= is for weights drawn by sparsity="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct workload w;
        struct why why = {""};

        assert_int_not_equal(workload_parse(bad[i][0], &w, &why), ERR_OK);
        if (!strstr(why.text, bad[i][1]))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i][0], why.text, bad[i][1]);
    }
}

static void no_more_than_the_header_says_is_read(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 3, 3), }";
    static const struct {
        const char *path;
        enum err e;
        const char *words;
    } bad[] = {{"/dev/zero", ERR_INPUT, "/dev/zero: no .npy file"},
               {"/dev/null", ERR_INPUT, "/dev/null: no .npy file"},
               {"/", ERR_IO, "directory"},
               {"/nonexistent.npy", ERR_NOT_FOUND, "/nonexistent.npy"}};
    float values[73] = {1};
    char path[PATH_MAX];
    struct npy a = {.values = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};

        assert_int_equal(npy_read(bad[i].path, &a, &why), bad[i].e);
        if (!strstr(why.text, bad[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].path, why.text, bad[i].words);
    }
    for (size_t n = 71; n <= 73; n++) {
        write_file("n.npy", header, values, n, path);
        assert_int_equal(npy_read(path, &a, NULL), n == 72 ? ERR_OK : ERR_INPUT);
        npy_fini(&a);
    }
}

static void both_a_file_and_a_seed_are_refused(void **state)
{
    static const char *const texts[] = {SHAPE " weights=w.npy seed=3", SHAPE " seed=1 weights=w.npy"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct why why = {""};
        struct buf named;

        buf_init(&named, WORKLOAD_MAX_TEXT);
        assert_int_equal(weights_import(texts[i], &named, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "seed= is for weights drawn by sparsity="));
        buf_fini(&named);
    }
}

/* A device may give 0 for weights below the smallest normal number: what it may be off by is more than they add up to.
 */
static void weights_below_normal_numbers_may_be_flushed(void **state)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 3, 3), }";
    static const float magnitudes[] = {1e-42f, 1e-38f, 1};
    float values[72];
    char path[PATH_MAX], text[PATH_MAX + 128];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct expected e;
        struct workload w;
        struct buf named;

        for (int j = 0; j < 72; j++)
            values[j] = j % 2 ? magnitudes[i] : -magnitudes[i];
        write_file("tiny.npy", header, values, 72, path);
        snprintf(text, sizeof text, SHAPE " weights=%s", path);
        buf_init(&named, WORKLOAD_MAX_TEXT);
        assert_int_equal(weights_import(text, &named, NULL), ERR_OK);
        w = parse(buf_text(&named));
        expected_begin(&w, EXACT_PLAIN, &e);
        assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
        for (size_t j = 0; j < e.outputs[0].n_samples; j++) {
            const double off = fabs(e.outputs[0].random[j]), allowed = 2e-6 * e.outputs[0].scale[j];

            if ((i < 2 && off > allowed) || (i == 2 && allowed > 2e-6 * 36 * 8))
                fail_msg("weights of %g: output %zu of %g, off by at most %g", (double)magnitudes[i], j, off, allowed);
        }
        expected_fini(&e);
        buf_fini(&named);
    }
}

static void fractions_have_one_text(void **state)
{
    static const char *const same[] = {"0.9", ".9", "0.90", "0.900000", "00.9"};

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        char text[256];
        struct workload w;
        struct buf out;

        snprintf(text, sizeof text, SHAPE " seed=1 sparsity=%s", same[i]);
        w = parse(text);
        buf_init(&out, WORKLOAD_MAX_TEXT);
        workload_text(&w, &out);
        assert_string_equal(buf_text(&out), SHAPE " sparsity=0.9");
        buf_fini(&out);
    }
}

static int open_store(void **state)
{
    (void)state;
    if (dir_temporary("tune-sparse", dir, sizeof dir, NULL))
        return 1;
    return setenv("TUNE_WEIGHTS_DIR", dir, 1);
}

static int remove_store(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

/* An item would bring over 12 inputs of one channel: 16 x 16 lie between outputs. */
static void windows_that_no_group_can_stage_are_refused_in_words(void **state)
{
    static const char *const shapes[] = {
        "sparse_conv2d f32 n=16 c=1 h=80 w=80 k=40 r=3 s=3 stride=16 dilation=2 sparsity=0.99",
        "sparse_conv2d f32 n=4 c=2 h=13 w=13 k=1280 r=3 s=3 stride=4 pad=18 dilation=18 sparsity=0.1"};
    const struct template *t = template_find("sparse_conv2d/unrolled");
    struct device_desc d;

    (void)state;
    cuda_arch_describe(cuda_arch_find(80), 108, &d);
    for (int i = 0; i < 2; i++) {
        const struct workload w = parse(shapes[i]);
        struct why why = {""};

        assert_int_equal(t->fit(&w, &d, &why), FIT_NONE);
        assert_non_null(strstr(why.text, "sparse_conv2d/unrolled: no group"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_read_in_every_type_and_order),
        cmocka_unit_test(files_of_every_version_are_read),
        cmocka_unit_test(a_bad_file_is_told_in_words),
        cmocka_unit_test(a_draw_keeps_exactly_the_asked_number),
        cmocka_unit_test(a_program_counts_dense_and_effective_products),
        cmocka_unit_test(a_file_becomes_a_name_that_finds_its_copy),
        cmocka_unit_test(equal_weights_have_one_name),
        cmocka_unit_test(weights_that_cannot_be_used_are_refused),
        cmocka_unit_test(a_name_without_a_copy_and_no_weights_at_all_are_told),
        cmocka_unit_test(no_more_than_the_header_says_is_read),
        cmocka_unit_test(both_a_file_and_a_seed_are_refused),
        cmocka_unit_test(weights_below_normal_numbers_may_be_flushed),
        cmocka_unit_test(fractions_have_one_text),
        cmocka_unit_test(windows_that_no_group_can_stage_are_refused_in_words),
    };

    return cmocka_run_group_tests(tests, open_store, remove_store);
}
