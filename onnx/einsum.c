/* SPDX-License-Identifier: MIT */
/* einsum.c - Einsum of one tensor or two as the nodes that compute it: sums of axes that one alone has, then a product
 * of matrices, one for each place of the axes that both and the output have. */
#include "onnx/expand.h"

#include "core/buf.h"

#include <ctype.h>
#include <string.h>

#define MOST_AXES 8

/* Letters of axes. */
struct axes {
    char at[MOST_AXES + 1];
};

/* What an equation says. */
struct equation {
    struct axes in[2], out;
    int n_in;
};

static bool has(const struct axes *a, char axis)
{
    return strchr(a->at, axis) != NULL;
}

static int count(const struct axes *a)
{
    return (int)strlen(a->at);
}

/* Another letter; false: it is there already, or they are too many. */
static bool put(struct axes *a, char axis)
{
    const size_t n = strlen(a->at);

    if (n == MOST_AXES || has(a, axis))
        return false;
    a->at[n] = axis;
    a->at[n + 1] = '\0';
    return true;
}

/* Where no output is named it has the letters that stand once, in their order. */
static bool imply_output(struct equation *e)
{
    bool fits = true;

    for (int c = 0; c < 128 && fits; c++)
        if (isalpha(c) && has(&e->in[0], (char)c) != (e->n_in > 1 && has(&e->in[1], (char)c)))
            fits = put(&e->out, (char)c);
    return fits;
}

/* False: three tensors, a letter twice in one, axes without letters, an output's letter that no tensor has. */
static bool read_equation(const Onnx__AttributeProto *a, struct equation *e)
{
    struct axes *to = &e->in[0];
    bool fits = a != NULL, is_explicit = false;

    memset(e, 0, sizeof *e);
    e->n_in = 1;
    for (size_t i = 0; fits && i < a->s.len; i++) {
        const char c = (char)a->s.data[i];

        if (c == ',' && e->n_in == 1 && !is_explicit)
            to = &e->in[e->n_in++];
        else if (c == '-' && i + 1 < a->s.len && a->s.data[i + 1] == '>' && !is_explicit) {
            to = &e->out;
            is_explicit = true;
            i++;
        } else if (c != ' ')
            fits = isalpha((unsigned char)c) && put(to, c);
    }
    for (const char *p = e->out.at; *p && fits; p++)
        fits = has(&e->in[0], *p) || has(&e->in[1], *p);
    return fits && (is_explicit || imply_output(e));
}

/* A node that gives the axes of `from` in the order of `to`, or nothing where they are; the value's name either way. */
static char transposed(struct buf *b, char x, char y, const struct axes *from, const struct axes *to)
{
    if (strcmp(from->at, to->at) == 0)
        return x;
    buf_printf(b, "%c=Transpose(%c)perm=[", y, x);
    for (const char *p = to->at; *p; p++)
        buf_printf(b, "%s%d", p == to->at ? "" : ",", (int)(strchr(from->at, *p) - from->at));
    buf_puts(b, "];");
    return y;
}

/* A node that sums axes of tensor x that neither `other` nor the output has, which `a` then has no more. */
static char summed(struct buf *b, char x, char y, struct axes *a, const struct axes *other, const struct axes *out)
{
    struct axes kept = {""};
    bool any = false;

    for (const char *p = a->at; *p; p++) {
        if (has(other, *p) || has(out, *p)) {
            put(&kept, *p);
            continue;
        }
        buf_printf(b, any ? ",%d" : "%c=ReduceSum(%c)axes=[%d", any ? (int)(p - a->at) : y, x, (int)(p - a->at));
        any = true;
    }
    *a = kept;
    if (any)
        buf_puts(b, "]keepdims=0;");
    return any ? y : x;
}

static struct axes joined(const struct axes *a, const struct axes *b, const struct axes *c)
{
    struct axes out = *a;

    for (const char *p = b->at; *p; p++)
        put(&out, *p);
    for (const char *p = c->at; *p; p++)
        put(&out, *p);
    return out;
}

/* Axes as one where they are not: of x [batch..][rows..][sums..] and w [batch..][sums..][columns..]; the product, and
 * its shape as it was. */
static void multiplied(struct buf *b, char x, char w, int n_batch, int n_rows, int n_sums, int n_columns)
{
    if (n_sums == 1 && n_columns == 1 && (n_rows == 1 || n_batch == 0)) {
        buf_printf(b, "!y=MatMul(%c,%c);", x, w);
        return;
    }
    buf_printf(b, "o=#1;h=Shape(%c)end=1;z=Sub(h,h);m=Sub(z,o);s=Shape(%c)end=%d;", x, x, n_batch);
    if (n_sums)
        buf_printf(b, "k=Shape(%c)start=%d;p=ReduceProd(k)keepdims=1;", x, n_batch + n_rows);
    else
        buf_puts(b, "p=Add(z,o);");
    buf_printf(b, "t=Concat(s,m,p)axis=0;c=Reshape(%c,t);u=Concat(s,p,m)axis=0;d=Reshape(%c,u);!q=MatMul(c,d);", x, w);
    buf_printf(b, "v=Shape(%c)end=%d;w=Shape(%c)start=%d;x=Concat(v,w)axis=0;y=Reshape(q,x);", x, n_batch + n_rows, w,
               n_batch + n_sums);
}

/* Two tensors; the letter that the output ends with is a column's, whichever tensor has it. */
static void of_two(struct buf *b, struct equation *e)
{
    const char last = e->out.at[0] ? e->out.at[strlen(e->out.at) - 1] : '\0';
    const int x = last && has(&e->in[0], last) && !has(&e->in[1], last), w = !x;
    struct axes batch = {""}, rows = {""}, sums = {""}, columns = {""}, of_x, of_w, of_y;
    char name[2], i, k;

    name[0] = summed(b, '0', 'a', &e->in[0], &e->in[1], &e->out);
    name[1] = summed(b, '1', 'b', &e->in[1], &e->in[0], &e->out);
    for (const char *p = e->out.at; *p; p++)
        put(!has(&e->in[w], *p) ? &rows : has(&e->in[x], *p) ? &batch : &columns, *p);
    for (const char *p = e->in[x].at; *p; p++)
        if (!has(&e->out, *p))
            put(&sums, *p);
    of_x = joined(&batch, &rows, &sums);
    of_w = joined(&batch, &sums, &columns);
    of_y = joined(&batch, &rows, &columns);
    i = transposed(b, name[x], 'e', &e->in[x], &of_x);
    k = transposed(b, name[w], 'f', &e->in[w], &of_w);
    multiplied(b, i, k, count(&batch), count(&rows), count(&sums), count(&columns));
    buf_printf(b, "$0=Identity(%c);", transposed(b, 'y', 'g', &of_y, &e->out));
}

bool onnx_einsum_nodes(const Onnx__AttributeProto *equation, size_t n_inputs, char *out, size_t room)
{
    struct equation e;
    struct buf text;
    bool fits = read_equation(equation, &e) && n_inputs == (size_t)e.n_in;

    if (!fits)
        return false;
    buf_init(&text, room);
    if (e.n_in == 2)
        of_two(&text, &e);
    else {
        const char x = summed(&text, '0', 'a', &e.in[0], &e.in[1], &e.out);

        buf_printf(&text, "!$0=Identity(%c);", transposed(&text, x, 'b', &e.in[0], &e.out));
    }
    fits = !text.failed && text.len < room;
    if (fits)
        memcpy(out, buf_text(&text), text.len + 1);
    buf_fini(&text);
    return fits;
}
