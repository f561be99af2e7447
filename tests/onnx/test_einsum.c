/* SPDX-License-Identifier: MIT */
/* Einsum: what an import computes held against the sum that an equation says, of many equations that are drawn. */
#include "core/buf.h"
#include "tests/onnx/check_import.h"
#include "tests/onnx/computed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N_LETTERS 5
#define MAX_ELEMS 512

static uint32_t state = 2026;

static int draw(int low, int high)
{
    state = state * 1664525 + 1013904223;
    return low + (int)((state >> 16) % (uint32_t)(high - low + 1));
}

/* Letters of two tensors and of what is made of them, and how many places each letter has. */
struct drawn {
    char in[2][N_LETTERS + 1], out[N_LETTERS + 1];
    int size[N_LETTERS];
};

static void put_at_random(char *word, char letter)
{
    const int n = (int)strlen(word), at = draw(0, n);

    memmove(word + at + 1, word + at, (size_t)(n - at) + 1);
    word[at] = letter;
}

/* Each letter is of a batch (1), of a sum (2), of one tensor's rows (4, 8) or nowhere; in any order. */
static void draw_equation(struct drawn *e)
{
    memset(e, 0, sizeof *e);
    for (int k = 0; k < N_LETTERS; k++) {
        const int kind = 1 << draw(0, 4);

        e->size[k] = draw(1, 3);
        if (kind & (1 | 2 | 4))
            put_at_random(e->in[0], (char)('a' + k));
        if (kind & (1 | 2 | 8))
            put_at_random(e->in[1], (char)('a' + k));
        if (kind & (1 | 4 | 8))
            put_at_random(e->out, (char)('a' + k));
    }
}

static int elems(const struct drawn *e, const char *word)
{
    int n = 1;

    for (; *word; word++)
        n *= e->size[*word - 'a'];
    return n;
}

static int place(const struct drawn *e, const char *word, const int *at)
{
    int i = 0;

    for (; *word; word++)
        i = i * e->size[*word - 'a'] + at[*word - 'a'];
    return i;
}

/* The sum over all places of all letters. */
static void sum_all(const struct drawn *e, const double *x, const double *w, double *y)
{
    int n = 1;

    for (int i = 0; i < elems(e, e->out); i++)
        y[i] = 0;
    for (int k = 0; k < N_LETTERS; k++)
        n *= e->size[k];
    for (int i = 0; i < n; i++) {
        int at[N_LETTERS], rest = i;
        bool counts = true;

        for (int k = 0; k < N_LETTERS; k++) {
            const char letter[] = {(char)('a' + k), '\0'};

            at[k] = rest % e->size[k];
            rest /= e->size[k];
            counts = counts && (at[k] == 0 || strstr(e->in[0], letter) || strstr(e->in[1], letter));
        }
        if (counts)
            y[place(e, e->out, at)] += x[place(e, e->in[0], at)] * w[place(e, e->in[1], at)];
    }
}

static void put_tensor(struct buf *b, const char *kind, const char *name, const struct drawn *e, const char *word)
{
    buf_printf(b, "%s %s", kind, name);
    for (; *word; word++)
        buf_printf(b, " %d", e->size[*word - 'a']);
}

static void check_drawn(void)
{
    double x[MAX_ELEMS], w[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
    struct drawn e;
    struct buf lines;
    int n;

    do
        draw_equation(&e);
    while (!e.in[0][0] || !e.in[1][0] || !e.out[0]);
    buf_init(&lines, 8192);
    buf_puts(&lines, "opset 13\n");
    put_tensor(&lines, "input", "x", &e, e.in[0]);
    buf_puts(&lines, "\n");
    put_tensor(&lines, "input", "w", &e, e.in[1]);
    for (int i = 0; i < elems(&e, e.in[0]); i++)
        x[i] = draw(-4, 4);
    for (int i = 0; i < elems(&e, e.in[1]); i++)
        w[i] = draw(-4, 4);
    buf_printf(&lines, "\nnode Einsum x w -> y equation='%s,%s->%s'\noutput y\n", e.in[0], e.in[1], e.out);
    for (int i = 0; i < MAX_ELEMS; i++)
        y[i] = (double)NAN;
    compute_model(buf_text(&lines), (double *const[]){x, w, y});
    sum_all(&e, x, w, expected);
    n = elems(&e, e.out);
    for (int i = 0; i < n; i++)
        if (!(fabs(y[i] - expected[i]) < 1e-4))
            fail_msg("%soutput %d is %g, expected %g", buf_text(&lines), i, y[i], expected[i]);
    assert_true(isnan(y[n]));
    buf_fini(&lines);
}

static void products_of_two_tensors_are_the_sums_that_the_equation_says(void **unused)
{
    (void)unused;
    for (int i = 0; i < 150; i++)
        check_drawn();
}

static void axes_that_one_tensor_alone_has_are_summed(void **unused)
{
    (void)unused;
    check_graph("opset 13\ninput x 2 3 4\nnode Einsum x -> y equation='abc->ca'\noutput y\n",
                "x = input shape=2,3,4\ny = reduce x kind=sum\ny_2 = strided_copy y shape=4,2 at=0 d0=2,4 d1=4,1\n");
    check_graph("opset 13\ninput x 2 3\ninput z 3 4 5\nnode Einsum x z -> y equation='ab,bcd->ad'\noutput y\n",
                "x = input shape=2,3\nz = input shape=3,4,5\ny = reduce z kind=sum\nx_3 = reshape x shape=1,2,3\n"
                "y_b = strided_copy y shape=1,5,3 at=0 d0=3,5 d1=5,1\ny_5 = batch_gemm x_3 + y_b\n"
                "y_6 = reshape y_5 shape=2,5\n");
    check_graph("opset 13\ninput x 2 3\ninput z 4 3\nnode Einsum x z -> y equation='ik,jk'\noutput y\n",
                "x = input shape=2,3\nz = input shape=4,3\nx_2 = reshape x shape=1,2,3\ny_f = reshape z shape=1,4,3\n"
                "y = batch_gemm x_2 + y_f\ny_5 = reshape y shape=2,4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_two_tensors_are_the_sums_that_the_equation_says),
        cmocka_unit_test(axes_that_one_tensor_alone_has_are_summed),
    };
    int failed;

    if (!folder_open("einsum"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
