/* Seeded bugs: five mutants of each template's text are all called wrong by the check that the farm uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/run_opencl.h"

#define CONV "conv2d f32 n=1 c=5 h=10 w=9 k=7 r=3 s=3 pad=1"
#define DENSE "dense f32 m=5 n=19 k=37"

struct mutant {
    const char *template_id, *name, *from, *to;
};

static const struct mutant mutants[] = {
    {"conv2d/naive", "missing last term", "c < C; c++", "c < C - 1; c++"},
    {"conv2d/naive", "wrong pad", "r * DH - PT", "r * DH - PT + 1"},
    {"conv2d/naive", "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"conv2d/naive", "r and s swapped", "* R + r) * S + s]", "* S + s) * R + r]"},
    {"conv2d/naive", "uninitialised accumulator", "float sum = 0.0f", "float sum = y[i]"},

    {"conv2d/direct_tile", "missing last term", "ch < CB; ch++", "ch < CB - 1; ch++"},
    {"conv2d/direct_tile", "wrong pad", "h = row - PT;", "h = row - PT + 1;"},
    {"conv2d/direct_tile", "unguarded tail", "k < kb * NR + NR && k < K", "k < kb * NR + NR"},
    {"conv2d/direct_tile", "r and s swapped", "* R + r) * S + s) * CB * NR", "* S + s) * R + r) * CB * NR"},
    {"conv2d/direct_tile", "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},

    {"conv2d/spatial_pack", "missing last term", "c < C; c++)", "c < C - 1; c++)"},
    {"conv2d/spatial_pack", "wrong pad", "h0 = pt * VH * SH - PT", "h0 = pt * VH * SH - PT + 1"},
    {"conv2d/spatial_pack", "unguarded tail", "w >= 0 && w < W", "w >= 0"},
    {"conv2d/spatial_pack", "r and s swapped", "VLOAD(b + ((c * R + r) * S + s) * VC)",
     "VLOAD(b + ((c * S + s) * R + r) * VC)"},
    {"conv2d/spatial_pack", "uninitialised accumulator", "VSET(0.0f)", "VSET(to[0])"},

    {"conv2d/im2col_gemm", "missing last term", "for (int i = 0; i < KWG; i++)",
     "for (int i = 0; i < KWG - (i0 + KWG == IP) * (1 + IP - I); i++)"},
    {"conv2d/im2col_gemm", "wrong pad", "h0 = pq / Q * SH - PT", "h0 = pq / Q * SH - PT + 1"},
    {"conv2d/im2col_gemm", "unguarded tail", "k < K && pq + j < PQ", "k < K"},
    {"conv2d/im2col_gemm", "r and s swapped", "(c * R + r) * S + s) * NWG", "(c * S + s) * R + r) * NWG"},
    {"conv2d/im2col_gemm", "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},

    {"dense/naive", "missing last term", "k < K; k++", "k < K - 1; k++"},
    {"dense/naive", "wrong row", "x[m * K + k]", "x[(m + 1) % M * K + k]"},
    {"dense/naive", "unguarded tail", "if (i >= M * N)", "if (i < 0)"},
    {"dense/naive", "m and n swapped", "y[i] = sum", "y[n * M + m] = sum"},
    {"dense/naive", "uninitialised accumulator", "float sum = 0.0f", "float sum = y[i]"},

    {"dense/gemm_packed", "missing last term", "k < n_k; k++", "k < n_k - 1; k++"},
    {"dense/gemm_packed", "wrong row", "int m = tile * MR + i;", "int m = tile * MR + i + 1;"},
    {"dense/gemm_packed", "unguarded tail", "n = block * NR; n < N; n++", "n = block * NR; n < N + 1; n++"},
    {"dense/gemm_packed", "transposed panel",
     "[((long)block * K + k) * NR + i] =", "[(long)block * K * NR + i * K + k] ="},
    {"dense/gemm_packed", "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},

    {"dense/gemm_direct", "missing last term", "k0 < K; k0 += WGD", "k0 + WGD < K; k0 += WGD"},
    {"dense/gemm_direct", "wrong row", "m = m0 + row, k", "m = m0 + row + 1, k"},
    {"dense/gemm_direct", "unguarded tail", "j < VEC && m < M && n + j < N", "j < VEC && m < M"},
    {"dense/gemm_direct", "transposed tile", "a_tile[(column + j) * LDA + row]", "a_tile[row * LDA + column + j]"},
    {"dense/gemm_direct", "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},
};

static const struct device_ops *ops;
static struct device *device;

/* Replaces every `from` by `to`; false when there is none. */
static bool patch_text(const struct blob *text, const struct mutant *m, struct buf *out)
{
    const char *at = (const char *)text->data, *end = at + text->n_bytes, *hit;
    bool found = false;

    while ((hit = memmem(at, (size_t)(end - at), m->from, strlen(m->from)))) {
        buf_append(out, at, (size_t)(hit - at));
        buf_puts(out, m->to);
        at = hit + strlen(m->from);
        found = true;
    }
    buf_append(out, at, (size_t)(end - at));
    return found;
}

static void run_mutant(const struct mutant *m)
{
    const struct device_desc *d = ops->describe(device);
    const struct template *t = template_find(m->template_id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};
    enum err e;

    assert_non_null(t);
    buf_init(&text, (size_t)1 << 20);
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(workload_parse(m->template_id[0] == 'c' ? CONV : DENSE, &w, &why), ERR_OK);
    assert_int_equal(template_space(t, &w, d, &s, &why), ERR_OK);
    assert_int_equal(t->fallback(&w, d, s, &c), ERR_OK);
    assert_int_equal(template_program(t, &w, d, s, &c, &p, &blobs, &why), ERR_OK);
    if (!patch_text(blobs_get(&blobs, p.modules[0].source.hex), m, &text))
        fail_msg("%s has no \"%s\" to patch", m->template_id, m->from);
    assert_int_equal(blobs_put(&blobs, buf_text(&text), text.len, &p.modules[0].source), ERR_OK);
    e = load_and_verify(ops, device, &p, &blobs, &why);
    if (e != ERR_WRONG)
        fail_msg("%s, %s: %s (%s), expected a wrong answer", m->template_id, m->name, err_words(e), why.text);
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
    space_free(s);
}

static void every_mutant_is_called_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++)
        run_mutant(&mutants[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant_is_called_wrong)};
    int failed;

    ops = device_find("opencl");
    device = ops ? open_first(ops) : NULL;
    if (!device)
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    ops->close(device);
    return failed;
}
