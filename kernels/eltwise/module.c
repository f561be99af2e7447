/* SPDX-License-Identifier: MIT */
/* module.c - a chain's own function as kernel text, one line a call, and the defines of its shape. */
#include "kernels/eltwise/eltwise.h"

#include "core/buf.h"
#include "core/err.h"

#include <stdio.h>
#include <string.h>

#define MAX_TEXT ((size_t)1 << 20)

/* A number as C has it: digits with a point or an exponent. */
static void put_number(float v, struct buf *out)
{
    char text[ELTWISE_NUMBER_BYTES];

    eltwise_number(v, text);
    buf_printf(out, "NUM(%s%sf)", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_operand(const struct eltwise *chain, int i, struct buf *out)
{
    const struct eltwise_node *node = &chain->nodes[i];

    if (node->input >= 0)
        buf_printf(out, "%c", 'a' + node->input);
    else if (node->function < 0)
        put_number(node->number, out);
    else
        buf_printf(out, "v%d", i);
}

static void put_call(const struct eltwise *chain, int i, struct buf *out)
{
    const struct eltwise_node *node = &chain->nodes[i];
    const struct eltwise_function *f = &eltwise_functions[node->function];

    buf_printf(out, "    const T v%d = f_%s(", i, f->name);
    for (int k = 0; k < f->n_args; k++) {
        buf_puts(out, k ? ", " : "");
        put_operand(chain, node->args[k], out);
    }
    buf_puts(out, ");\n");
}

static enum err put_chain(const struct eltwise *chain, struct buf *out)
{
    buf_puts(out, "\nDEVICE T chain(CHAIN_PARAMS(T))\n{\n");
    for (int i = 0; i < chain->n_nodes; i++)
        if (chain->nodes[i].function >= 0)
            put_call(chain, i, out);
    buf_puts(out, "    return ");
    put_operand(chain, chain->n_nodes - 1, out);
    return buf_puts(out, ";\n}\n");
}

static void define_shape(struct build *b, const struct eltwise *chain, const struct eltwise_shape *shape)
{
    char name[8];

    build_define(b, "INPUTS", chain->n_inputs);
    build_define(b, "ROWS", shape->rows);
    build_define(b, "INNER", shape->inner);
    for (int k = 1; k < ELTWISE_DIMS - 1; k++) {
        snprintf(name, sizeof name, "D%d", k);
        build_define(b, name, shape->y[k]);
    }
    for (int i = 0; i < chain->n_inputs; i++)
        for (int k = 0; k < ELTWISE_DIMS; k++) {
            snprintf(name, sizeof name, "%c%d", "ABCE"[i], k);
            build_define(b, name, shape->stride[i][k]);
        }
}

void eltwise_module(struct build *b, const char *name)
{
    struct eltwise_shape shape;
    struct eltwise chain;
    struct buf text;

    if (b->e)
        return;
    eltwise_of(b->w, &chain, &shape);
    buf_init(&text, MAX_TEXT);
    b->e = put_chain(&chain, &text);
    build_module_behind(b, name, &text);
    buf_fini(&text);
    define_shape(b, &chain, &shape);
}

void eltwise_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};
    const int y = build_tensor(b, "y");
    int all[ELTWISE_MAX_INPUTS + 2] = {y, -1};

    for (int i = 0; i < y; i++) { /* inputs come first */
        all[i + 1] = i;
        all[i + 2] = -1;
    }
    build_launch(b, PHASE_RUN, kernel, grid, block, all);
}
