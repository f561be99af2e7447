/* SPDX-License-Identifier: MIT */
#include "kernels/sparse_conv2d/plan.h"

#include <assert.h>
#include <stdlib.h>

#define CHUNK                                                                                                          \
    256 /* constants that one pointer reaches with short displacements, 128 on                                         \
           each side */

/* One nonzero of a unit. */
struct term {
    int64_t tap;   /* order of the tap */
    int64_t where; /* its offset behind the tile's first input */
    int64_t k;     /* channel within the unit */
    float value;
    int64_t i_value; /* in the kernel's array of constants */
};

struct writer {
    const struct sparse_plan *p;
    struct buf *out;
    struct term *terms; /* room for the largest unit */
    int64_t i_kernel;
    int64_t n_values;   /* constants of the kernel so far */
    int64_t all_values; /* of the kernel */
};

/* Steps of the input that the code reads: of the copy, or of the tile in local memory. */
static int64_t row_step(const struct sparse_plan *p)
{
    return p->staged ? p->stage_row : p->x.row_step;
}

int64_t sparse_tap_offset(const struct sparse_plan *p, int64_t c, int64_t r, int64_t s)
{
    const struct conv_shape *z = &p->z;
    const int64_t phase = r * z->dil_h % z->stride_h * z->stride_w + s * z->dil_w % z->stride_w;

    return c * (p->staged ? p->stage_channel : p->x.c_step) + phase * (p->staged ? p->stage_phase : p->x.phase_step) +
           r * z->dil_h / z->stride_h * row_step(p) + s * z->dil_w / z->stride_w * p->x.column_step;
}

static int by_tap(const void *a, const void *b)
{
    const struct term *x = a, *y = b;

    return x->tap != y->tap ? (x->tap < y->tap ? -1 : 1) : (x->k > y->k) - (x->k < y->k);
}

static int64_t collect(struct writer *w, const struct sparse_unit *u)
{
    const struct sparse_plan *p = w->p;
    const struct conv_shape *z = &p->z;
    const struct sparse_list *l = &p->list;
    int64_t n = 0;

    for (int64_t k = u->k0; k < u->k1; k++) {
        int64_t first;
        const int64_t end = sparse_rows_part(p, k, u->c0, u->c1, &first) + first;

        for (int64_t i = first; i < end; i++) {
            const int64_t rs = l->r[i] * z->s + l->s[i];

            w->terms[n++] = (struct term){p->by_rows ? rs * z->c + l->c[i] : l->c[i] * z->r * z->s + rs,
                                          sparse_tap_offset(p, l->c[i] - (p->staged ? u->c0 : 0), l->r[i], l->s[i]),
                                          k - u->k0, l->value[i], 0};
        }
    }
    assert(n <= l->nnz);
    qsort(w->terms, (size_t)n, sizeof *w->terms, by_tap);
    for (int64_t i = 0; i < n; i++)
        w->terms[i].i_value = w->n_values + i;
    return n;
}

/* Offset of output `e` of a tile behind its first input. */
static int64_t element_offset(const struct sparse_plan *p, int64_t e)
{
    const int64_t x = e % p->x_r, y = e / p->x_r % p->y_r, n = e / (p->x_r * p->y_r);
    const bool chwn = p->layout == SPARSE_CHWN;
    const int64_t image = p->staged ? p->stage_image : p->x.n_step;

    return n * (chwn ? p->vec : image) + y * row_step(p) + x * (chwn ? p->x.column_step : p->vec);
}

/* Where in its chunk a pointer points: the middle, or the last value of a chunk that is shorter. */
static int64_t pointed(const struct writer *w, int64_t chunk)
{
    const int64_t last = w->all_values - chunk * CHUNK - 1;

    return last < CHUNK / 2 ? last : CHUNK / 2;
}

static void put_value(const struct writer *w, const struct term *t)
{
    const int64_t i = t->i_value;

    if (w->p->constants && w->p->gpu)
        buf_printf(w->out, "CONSTANT_AT(values_%lld, %lld)", (long long)w->i_kernel, (long long)i);
    else if (w->p->constants)
        buf_printf(w->out, "v%lld[%lld]", (long long)(i / CHUNK), (long long)(i % CHUNK - pointed(w, i / CHUNK)));
    else
        buf_printf(w->out, "%.8ef", (double)t->value);
}

/* The loads of tap number `i_tap` whose first term is `t`: one vector for each
 * output of the tile. */
static void put_loads(const struct writer *w, const struct term *t, int64_t i_tap)
{
    for (int64_t e = 0; e < w->p->tile; e++)
        buf_printf(w->out, "const VT x%lld_%lld = XLOAD(a + %lld);\n", (long long)i_tap, (long long)e,
                   (long long)(t->where + element_offset(w->p, e)));
}

static const struct term *next_tap(const struct term *t, const struct term *end)
{
    const struct term *at = t;

    while (at < end && at->tap == t->tap)
        at++;
    return at;
}

/* The straight-line code: loads run `sched` taps ahead of the products. */
static void put_terms(const struct writer *w, int64_t n)
{
    const struct term *end = w->terms + n, *ahead = w->terms;
    int64_t loaded = 0, i_tap = 0;

    for (const struct term *t = w->terms; t < end; t = next_tap(t, end), i_tap++) {
        for (; ahead < end && loaded <= i_tap + w->p->sched; ahead = next_tap(ahead, end))
            put_loads(w, ahead, loaded++);
        for (int64_t e = 0; e < w->p->tile; e++)
            for (const struct term *at = t; at < end && at->tap == t->tap; at++) {
                buf_printf(w->out, "F(s%lld_%lld,x%lld_%lld,", (long long)at->k, (long long)e, (long long)i_tap,
                           (long long)e);
                put_value(w, at);
                buf_puts(w->out, ")\n");
            }
    }
}

/* Sums begin at 0 in the first block of input channels, else with what the
 * block before left in `part`. */
static void put_sums(const struct writer *w, const struct sparse_unit *u)
{
    for (int64_t k = 0; k < u->k1 - u->k0; k++)
        for (int64_t e = 0; e < w->p->tile; e++)
            if (u->c0 == 0)
                buf_printf(w->out, "VT s%lld_%lld = VSET(0.0f);\n", (long long)k, (long long)e);
            else
                buf_printf(w->out, "VT s%lld_%lld = SUM_VLOAD(PART(%lld, %lld));\n", (long long)k, (long long)e,
                           (long long)(u->k0 + k), (long long)e);
}

static void put_stores(const struct writer *w, const struct sparse_unit *u)
{
    const struct sparse_plan *p = w->p;
    const bool last = u->c1 == p->z.c / p->z.groups;

    for (int64_t k = 0; k < u->k1 - u->k0; k++)
        for (int64_t e = 0; e < p->tile; e++)
            buf_printf(w->out, "%s(%lld, %lld, %lld, %lld, %lld, s%lld_%lld);\n", last ? "PUT_SUM" : "KEEP_SUM",
                       (long long)(u->k0 + k), (long long)e, (long long)(e % p->x_r), (long long)(e / p->x_r % p->y_r),
                       (long long)(e / (p->x_r * p->y_r)), (long long)k, (long long)e);
}

/* Pointers to the constants, one for each chunk. They differ from tile to tile as far as a compiler can tell (`nil` is
 * 0): else it loads all values before the loop and keeps them on the stack. */
static void put_pointers(const struct writer *w, int64_t n)
{
    for (int64_t v = w->n_values / CHUNK; n && v <= (w->n_values + n - 1) / CHUNK; v++)
        buf_printf(w->out, "CONSTANT const float *v%lld = VALUES + (%lld * half_chunk - %lld) + t * nil;\n",
                   (long long)v, (long long)(2 * v + 1), (long long)(CHUNK / 2 - pointed(w, v)));
}

/* The first one of a kernel waits for nobody. */
static void put_stage(const struct writer *w, const struct sparse_unit *u, const struct sparse_unit *before)
{
    if (!before || before->c0 != u->c0)
        buf_printf(w->out, "%sSTAGE(%lld, %lld)\n", before ? "BARRIER();\n" : "", (long long)u->c0, (long long)u->c1);
}

static void put_unit(struct writer *w, const struct sparse_unit *u)
{
    const int64_t n = collect(w, u);

    buf_printf(w->out, "/* channels %lld to %lld over input channels %lld to %lld: %lld nonzeros */\nTILES_BEGIN\n",
               (long long)u->k0, (long long)(u->k1 - 1), (long long)u->c0, (long long)(u->c1 - 1), (long long)n);
    if (w->p->constants && !w->p->gpu)
        put_pointers(w, n);
    put_sums(w, u);
    put_terms(w, n);
    put_stores(w, u);
    buf_puts(w->out, "TILES_END\n");
    w->n_values += n;
    assert(!w->p->constants || w->n_values <= w->all_values);
}

/* The constants of kernel i, in the order of its code. */
static void put_constants(struct writer *w, int64_t i_kernel)
{
    int64_t at = 0;

    if (w->p->gpu)
        buf_printf(w->out, "CONSTANT_FLOATS(values_%lld) {", (long long)i_kernel);
    else
        buf_printf(w->out,
                   "#undef VALUES\n#define VALUES values_%lld\nCONSTANT float "
                   "values_%lld[] = {",
                   (long long)i_kernel, (long long)i_kernel);
    w->i_kernel = i_kernel;
    w->n_values = 0;
    for (int64_t i = 0; i < w->p->n_units; i++) {
        const int64_t n = w->p->units[i].i_kernel == i_kernel ? collect(w, &w->p->units[i]) : 0;

        for (int64_t j = 0; j < n; j++)
            buf_printf(w->out, "%s%.8ef,", at++ % 8 ? "" : "\n", (double)w->terms[j].value);
    }
    buf_puts(w->out, at ? "\n};\n" : "0.0f};\n");
    w->all_values = at;
}

/* Where groups of the grid run a branch each, the condition of one. */
static void put_branch(const struct writer *w, const struct sparse_unit *u, const struct sparse_unit *before)
{
    if (before && before->i_branch == u->i_branch)
        return;
    buf_printf(w->out, "%s\n", before ? "}" : "");
    buf_printf(w->out, "if (BRANCH == %lld) {\n", (long long)u->i_branch);
}

static void put_kernel(struct writer *w, int64_t i_kernel)
{
    const struct sparse_plan *p = w->p;
    const struct sparse_unit *before = NULL;

    if (p->constants)
        put_constants(w, i_kernel);
    if (p->spread)
        buf_printf(w->out, "#undef BRANCHES\n#define BRANCHES %lld\n", (long long)sparse_branches(p, i_kernel));
    buf_printf(w->out, "KERNEL_BEGIN(sparse_%lld)\n", (long long)i_kernel);
    w->n_values = 0;
    for (int64_t i = 0; i < p->n_units; i++) {
        const struct sparse_unit *u = &p->units[i];

        if (u->i_kernel != i_kernel)
            continue;
        if (p->spread)
            put_branch(w, u, before);
        if (p->staged)
            put_stage(w, u, before);
        put_unit(w, u);
        before = u;
    }
    buf_printf(w->out, "%sKERNEL_END\n", p->spread ? "}\n" : "");
}

enum err sparse_text(const struct sparse_plan *p, int64_t i_module, struct buf *out)
{
    struct writer w = {p, out, calloc((size_t)p->list.nnz + 1, sizeof *w.terms), 0, 0, 0};

    if (!w.terms)
        return ERR_NOMEM;
    for (int64_t i = 0; i < p->n_kernels; i++)
        if (sparse_module(p, i) == i_module)
            put_kernel(&w, i);
    free(w.terms);
    return out->failed;
}
