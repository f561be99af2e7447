/* SPDX-License-Identifier: MIT */
#include "kernels/eltwise/expression.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

struct reader {
    const char *text, *at;
    struct eltwise *to;
    struct why *why;
};

void eltwise_number(float v, char out[ELTWISE_NUMBER_BYTES])
{
    assert(isfinite(v));
    if (fabsf(v) < 1e9f && rintf(v) == v) { /* 1000, not 1e+03 */
        snprintf(out, ELTWISE_NUMBER_BYTES, "%d", (int)v);
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(out, ELTWISE_NUMBER_BYTES, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            return;
    }
}

const struct eltwise_function *eltwise_find(const char *name, size_t n)
{
    for (const struct eltwise_function *f = eltwise_functions; f->name; f++)
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
            return f;
    return NULL;
}

static enum err expected(const struct reader *r, const char *what)
{
    return why_set(r->why, ERR_INPUT, "eltwise: \"%s\" at character %zu: expected %s", r->text,
                   (size_t)(r->at - r->text) + 1, what);
}

/* 0 and -0 are two numbers: 1 / x tells them apart. */
static bool same_node(const struct eltwise_node *a, const struct eltwise_node *b)
{
    return a->input == b->input && a->function == b->function && memcmp(a->args, b->args, sizeof a->args) == 0 &&
           a->number == b->number && signbit(a->number) == signbit(b->number);
}

/* The place of a node; equal ones have the same. */
static enum err add_node(const struct reader *r, const struct eltwise_node *node, int *out)
{
    struct eltwise *to = r->to;

    for (*out = 0; *out < to->n_nodes; ++*out)
        if (same_node(&to->nodes[*out], node))
            return ERR_OK;
    if (to->n_nodes >= ELTWISE_MAX_NODES)
        return why_set(r->why, ERR_LIMIT, "eltwise: more than %d inputs, numbers and calls", ELTWISE_MAX_NODES);
    to->nodes[to->n_nodes++] = *node;
    return ERR_OK;
}

static enum err read_number(struct reader *r, int *out)
{
    struct eltwise_node node = {.input = -1, .function = -1, .args = {-1, -1, -1}};
    char shortest[ELTWISE_NUMBER_BYTES], words[64];
    const size_t n = strspn(r->at, "+-.0123456789e");

    node.number = strtof(r->at, NULL);
    if (!isfinite(node.number))
        return expected(r, "a number that a float holds");
    eltwise_number(node.number, shortest);
    if (strlen(shortest) != n || memcmp(shortest, r->at, n) != 0) {
        snprintf(words, sizeof words, "a number in its shortest form, %s", shortest);
        return expected(r, words);
    }
    r->at += n;
    return add_node(r, &node, out);
}

static enum err read_term(struct reader *r, int depth, int *out);

static enum err read_call(struct reader *r, const struct eltwise_function *f, int depth, int *out)
{
    struct eltwise_node node = {.input = -1, .function = (int)(f - eltwise_functions), .args = {-1, -1, -1}};
    char words[80];

    for (int i = 0; i < f->n_args; i++) {
        enum err e;

        if (*r->at != (i ? ',' : '(')) {
            snprintf(words, sizeof words, "%s and %d arguments in brackets", f->name, f->n_args);
            return expected(r, words);
        }
        r->at++;
        e = read_term(r, depth + 1, &node.args[i]);
        if (e)
            return e;
    }
    if (*r->at != ')')
        return expected(r, ")");
    r->at++;
    return add_node(r, &node, out);
}

static enum err read_term(struct reader *r, int depth, int *out)
{
    const size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
    const struct eltwise_function *f = eltwise_find(r->at, n);

    if (depth > MAX_DEPTH)
        return why_set(r->why, ERR_LIMIT, "eltwise: calls within calls, more than %d deep", MAX_DEPTH);
    if (n == 1 && *r->at <= 'd') {
        const struct eltwise_node node = {.input = *r->at++ - 'a', .function = -1, .args = {-1, -1, -1}};

        r->to->n_inputs = node.input >= r->to->n_inputs ? node.input + 1 : r->to->n_inputs;
        return add_node(r, &node, out);
    }
    if (f) {
        r->at += n;
        return read_call(r, f, depth, out);
    }
    if (n == 0 && *r->at && strchr("-0123456789", *r->at))
        return read_number(r, out);
    return expected(r, "an input a to d, a number or one of the functions of docs/operators.md");
}

static enum err check_inputs(const struct reader *r)
{
    bool used[ELTWISE_MAX_INPUTS] = {false};

    for (int i = 0; i < r->to->n_nodes; i++)
        if (r->to->nodes[i].input >= 0)
            used[r->to->nodes[i].input] = true;
    for (int i = 0; i < r->to->n_inputs || i < 1; i++)
        if (!used[i])
            return why_set(r->why, ERR_INPUT,
                           "eltwise: \"%s\" has no input %c; expected inputs a, b, c, d in this order", r->text,
                           'a' + i);
    return ERR_OK;
}

enum err eltwise_parse(const char *text, struct eltwise *out, struct why *why)
{
    struct eltwise made = {.n_nodes = 0};
    struct reader r = {text, text, &made, why};
    int last = 0;
    enum err e = read_term(&r, 0, &last);

    if (!e && *r.at)
        e = expected(&r, "its end");
    if (!e)
        e = check_inputs(&r);
    if (e)
        return e;
    assert(last == made.n_nodes - 1); /* what it is made of came before it, and it is no part of that */
    *out = made;
    return ERR_OK;
}

double eltwise_value(const struct eltwise *chain, const double *inputs)
{
    double all[ELTWISE_MAX_NODES] = {0};

    for (int i = 0; i < chain->n_nodes; i++) {
        const struct eltwise_node *node = &chain->nodes[i];
        double x[3] = {0};

        for (int k = 0; k < 3 && node->args[k] >= 0; k++)
            x[k] = all[node->args[k]];
        all[i] = node->input >= 0     ? inputs[node->input]
                 : node->function < 0 ? (double)node->number
                                      : eltwise_functions[node->function].of(x);
    }
    return all[chain->n_nodes - 1];
}
