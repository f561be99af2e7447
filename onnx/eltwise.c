/* SPDX-License-Identifier: MIT */
/* eltwise.c - element-wise operators: calls of the functions of kernels/eltwise. What reads such a layer alone, element
 * by element, takes its calls into its own, so that a chain of nodes is one layer. */
#include "core/buf.h"
#include "core/err.h"
#include "kernels/eltwise/expression.h"
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"
#define MAX_COMPARED 16384 /* elements of a constant */
#define F "f="             /* of the layer's words */

/* What becomes of an operator: a to c are its inputs, $NAME an attribute. What is true is 1, what is not is 0. */
static const struct rule {
    const char *op, *text;
    struct {
        const char *name;
        double otherwise;
    } attributes[2];
    bool any_number; /* of inputs: of the first two, of that and the third ... */
} rules[] = {
    {"Abs", "abs(a)", {{NULL, 0}}, false},
    {"Acos", "acos(a)", {{NULL, 0}}, false},
    {"Acosh", "acosh(a)", {{NULL, 0}}, false},
    {"Add", "add(a,b)", {{NULL, 0}}, false},
    {"And", "mul(a,b)", {{NULL, 0}}, false},
    {"Asin", "asin(a)", {{NULL, 0}}, false},
    {"Asinh", "asinh(a)", {{NULL, 0}}, false},
    {"Atan", "atan(a)", {{NULL, 0}}, false},
    {"Atanh", "atanh(a)", {{NULL, 0}}, false},
    {"Ceil", "ceil(a)", {{NULL, 0}}, false},
    {"Celu", "mul(elu(div(a,$alpha),1),$alpha)", {{"alpha", 1}}, false},
    {"Cos", "cos(a)", {{NULL, 0}}, false},
    {"Cosh", "cosh(a)", {{NULL, 0}}, false},
    {"Div", "div(a,b)", {{NULL, 0}}, false},
    {"Elu", "elu(a,$alpha)", {{"alpha", 1}}, false},
    {"Equal", "equal(a,b)", {{NULL, 0}}, false},
    {"Erf", "erf(a)", {{NULL, 0}}, false},
    {"Exp", "exp(a)", {{NULL, 0}}, false},
    {"Floor", "floor(a)", {{NULL, 0}}, false},
    {"Greater", "less(b,a)", {{NULL, 0}}, false},
    {"GreaterOrEqual", "sub(1,less(a,b))", {{NULL, 0}}, false},
    {"HardSigmoid", "hard_sigmoid(a,$alpha,$beta)", {{"alpha", 0.2}, {"beta", 0.5}}, false},
    {"HardSwish", "hard_swish(a)", {{NULL, 0}}, false},
    {"IsNaN", "sub(1,equal(a,a))", {{NULL, 0}}, false},
    {"LeakyRelu", "leaky_relu(a,$alpha)", {{"alpha", 0.01}}, false},
    {"Less", "less(a,b)", {{NULL, 0}}, false},
    {"LessOrEqual", "sub(1,less(b,a))", {{NULL, 0}}, false},
    {"Log", "log(a)", {{NULL, 0}}, false},
    {"Max", "max(a,b)", {{NULL, 0}}, true},
    {"Mean", "add(a,b)", {{NULL, 0}}, true},
    {"Min", "min(a,b)", {{NULL, 0}}, true},
    {"Mish", "mul(a,tanh(softplus(a)))", {{NULL, 0}}, false},
    {"Mod", "sub(a,mul(b,floor(div(a,b))))", {{NULL, 0}}, false},
    {"Mul", "mul(a,b)", {{NULL, 0}}, false},
    {"Neg", "neg(a)", {{NULL, 0}}, false},
    {"Not", "sub(1,a)", {{NULL, 0}}, false},
    {"Or", "max(a,b)", {{NULL, 0}}, false},
    {"PRelu", "where(less(a,0),mul(a,b),a)", {{NULL, 0}}, false},
    {"Pow", "pow(a,b)", {{NULL, 0}}, false},
    {"Reciprocal", "reciprocal(a)", {{NULL, 0}}, false},
    {"Relu", "relu(a)", {{NULL, 0}}, false},
    {"Round", "round(a)", {{NULL, 0}}, false},
    {"Selu",
     "mul(elu(a,$alpha),$gamma)",
     {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}},
     false},
    {"Shrink",
     "where(less(a,neg($lambd)),add(a,$bias),where(less($lambd,a),sub(a,$bias),0))",
     {{"bias", 0}, {"lambd", 0.5}},
     false},
    {"Sigmoid", "sigmoid(a)", {{NULL, 0}}, false},
    {"Sign", "sign(a)", {{NULL, 0}}, false},
    {"Sin", "sin(a)", {{NULL, 0}}, false},
    {"Sinh", "sinh(a)", {{NULL, 0}}, false},
    {"Softplus", "softplus(a)", {{NULL, 0}}, false},
    {"Softsign", "softsign(a)", {{NULL, 0}}, false},
    {"Sqrt", "sqrt(a)", {{NULL, 0}}, false},
    {"Sub", "sub(a,b)", {{NULL, 0}}, false},
    {"Sum", "add(a,b)", {{NULL, 0}}, true},
    {"Swish", "mul(a,sigmoid(mul(a,$alpha)))", {{"alpha", 1}}, false},
    {"Swish/quick", "mul(a,sigmoid(mul(a,$alpha)))", {{"alpha", 1.702}}, false},
    {"Tan", "tan(a)", {{NULL, 0}}, false},
    {"Tanh", "tanh(a)", {{NULL, 0}}, false},
    {"ThresholdedRelu", "where(less($alpha,a),a,0)", {{"alpha", 1}}, false},
    {"Where", "where(a,b,c)", {{NULL, 0}}, false},
    {"Xor", "abs(sub(a,b))", {{NULL, 0}}, false},
};

/* What a function is called with: a number, or the elements of a layer in a shape. */
struct operand {
    bool is_number;
    float number;
    const struct onnx_value *of; /* the constant that the number is all of; may be NULL */
    struct graph_shape shape;
    int i_layer;
    bool sole; /* nobody else reads that layer */
};

/* A layer's calls while they are put together. */
struct chain {
    struct onnx_import *m;
    int in[ELTWISE_MAX_INPUTS], n_in;
    struct buf text;
    bool inlines, has_inlined;
    bool failed; /* too many inputs */
};

static const struct rule *rule_of(const char *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].op, op) == 0)
            return &rules[i];
    return NULL;
}

/* Is a constant one number, wherever it is read? Of large ones that is not looked at, node after node. */
static bool is_uniform(const struct onnx_value *v)
{
    const int64_t n = onnx_shape_elems(&v->shape);
    const double first = n > 0 ? onnx_at(v, 0) : 0;

    if (n > MAX_COMPARED && !v->is_uniform)
        return false;
    for (int64_t i = 1; i < n && !v->is_uniform; i++)
        if (!(onnx_at(v, i) <= first && onnx_at(v, i) >= first))
            return false;
    return n > 0;
}

/* Does a layer read it already? Then its calls would be computed twice. */
static bool is_read(const struct onnx_import *m, int i_layer)
{
    for (size_t i = (size_t)i_layer + 1; i < m->n_layers; i++)
        for (int k = 0; k < m->layers[i].node.n_in; k++)
            if (m->layers[i].node.in[k] == i_layer)
                return true;
    return false;
}

/* A constant is a number where it is one, finite; else a layer. */
static bool read_operand(struct onnx_import *m, const struct onnx_value *v, struct operand *out)
{
    static const struct graph_shape one = {1, {1}};

    if (!v)
        return false;
    *out = (struct operand){.shape = v->shape};
    if (v->kind == ONNX_CONSTANT) {
        out->of = v;
        out->is_number = is_uniform(v) && isfinite((float)onnx_at(v, 0));
        out->number = out->is_number ? (float)onnx_at(v, 0) : 0;
        out->i_layer = out->is_number ? 0 : onnx_constant_layer(m, v, &v->shape);
        return out->i_layer >= 0;
    }
    out->i_layer = onnx_layer_as(m, v, v->shape.rank ? &v->shape : &one);
    out->sole = v->sole && out->i_layer == v->i_layer && !is_read(m, out->i_layer);
    return out->i_layer >= 0;
}

/* One layer, or the elements of one in one shape. */
static bool is_same(const struct onnx_import *m, int a, int b)
{
    const struct graph_node *x = &m->layers[a].node, *y = &m->layers[b].node;

    return a == b || (x->op == GRAPH_RESHAPE && y->op == GRAPH_RESHAPE && x->in[0] == y->in[0] &&
                      graph_same_shape(&x->shape, &y->shape));
}

static void put_input(struct chain *c, int i_layer)
{
    int k = 0;

    while (k < c->n_in && !is_same(c->m, c->in[k], i_layer))
        k++;
    if (k == ELTWISE_MAX_INPUTS) {
        c->failed = true;
        return;
    }
    c->in[k] = k == c->n_in ? i_layer : c->in[k];
    c->n_in = k == c->n_in ? k + 1 : c->n_in;
    buf_printf(&c->text, "%c", 'a' + k);
}

static void put_number(struct chain *c, double v)
{
    char text[ELTWISE_NUMBER_BYTES];

    eltwise_number((float)v, text);
    buf_puts(&c->text, text);
}

/* The calls of a layer in the place of the layer, with its inputs' names here. */
static void put_calls(struct chain *c, const struct graph_node *n)
{
    for (const char *p = n->words + strlen(F); *p;) {
        const size_t letters = strspn(p, LETTERS), other = strcspn(p, LETTERS);

        if (letters == 1 && *p <= 'd')
            put_input(c, n->in[*p - 'a']);
        else
            buf_append(&c->text, p, letters ? letters : other);
        p += letters ? letters : other;
    }
}

static void put_operand(struct chain *c, const struct operand *o, const struct graph_shape *y)
{
    const struct graph_node *n = o->is_number || !c->inlines ? NULL : &c->m->layers[o->i_layer].node;

    if (o->is_number)
        put_number(c, (double)o->number);
    else if (n && o->sole && n->op == GRAPH_ELTWISE && !c->m->layers[o->i_layer].quant &&
             graph_same_shape(&n->shape, y)) {
        c->has_inlined = true;
        put_calls(c, n);
    } else
        put_input(c, o->i_layer);
}

static double attribute_of(const struct rule *rule, const Onnx__NodeProto *node, const char *name, size_t n)
{
    for (size_t i = 0; i < 2 && rule->attributes[i].name; i++)
        if (strlen(rule->attributes[i].name) == n && strncmp(rule->attributes[i].name, name, n) == 0)
            return onnx_attribute_real(node, rule->attributes[i].name, rule->attributes[i].otherwise);
    assert(false && "an attribute of the rule");
    return 0;
}

/* The text of a rule with what stands for its inputs and attributes. False: it is longer than may be. */
static bool put_rule(struct chain *c, const struct rule *rule, const char *text, const Onnx__NodeProto *node,
                     const struct operand *operands, const struct graph_shape *y)
{
    c->n_in = 0;
    c->failed = c->has_inlined = false;
    buf_clear(&c->text);
    for (const char *p = text; *p;) {
        const bool attribute = *p == '$';
        const size_t letters = strspn(p + attribute, LETTERS), other = strcspn(p, LETTERS "$");

        if (attribute)
            put_number(c, attribute_of(rule, node, p + 1, letters));
        else if (letters == 1 && *p <= 'd')
            put_operand(c, &operands[*p - 'a'], y);
        else
            buf_append(&c->text, p, letters ? letters : other);
        p += attribute ? letters + 1 : letters ? letters : other;
    }
    return !c->failed && !c->text.failed;
}

/* Could a workload have the text? */
static bool is_fine(const struct chain *c)
{
    struct eltwise parsed;

    return c->text.len <= ELTWISE_MAX_TEXT && eltwise_parse(buf_text(&c->text), &parsed, NULL) == ERR_OK;
}

/* The shape that the operands are repeated to: as values, and as layers have it. */
static bool shapes_of(const struct onnx_import *m, const struct operand *operands, size_t n, struct graph_shape *value,
                      struct graph_shape *y)
{
    *value = *y = (struct graph_shape){.rank = 0};
    for (size_t k = 0; k < n; k++)
        if (!graph_broadcast(value, &operands[k].shape, value) ||
            (!operands[k].is_number && !graph_broadcast(y, &m->layers[operands[k].i_layer].node.shape, y)))
            return false;
    return onnx_shape_elems(value) == graph_elems(y); /* a number's shape may be larger */
}

/* The same; where layers alone would give fewer elements constants of one number are layers too, whose shape counts. */
static bool settle_shapes(struct onnx_import *m, struct operand *operands, size_t n, struct graph_shape *value,
                          struct graph_shape *y)
{
    if (shapes_of(m, operands, n, value, y))
        return true;
    for (size_t k = 0; k < n; k++) {
        struct operand *o = &operands[k];

        if (!o->is_number || !o->of || onnx_shape_elems(&o->shape) < 2)
            continue;
        o->i_layer = onnx_constant_layer(m, o->of, &o->shape);
        o->is_number = false;
        if (o->i_layer < 0)
            return false;
    }
    return shapes_of(m, operands, n, value, y);
}

/* A layer of calls, those of a rule with its attributes, which gives the node's output; *out: that as an operand. */
static enum onnx_role join(struct onnx_import *m, const Onnx__NodeProto *node, const struct rule *rule,
                           const char *text, struct operand *operands, size_t n, struct operand *out)
{
    struct chain c = {.m = m, .inlines = true};
    enum onnx_role role = ONNX_PLAIN;
    struct graph_shape value, y;
    int i = -1;

    if (!settle_shapes(m, operands, n, &value, &y))
        return onnx_refuse(m, "shapes that cannot be combined");
    buf_init(&c.text, 4096);
    if (!put_rule(&c, rule, text, node, operands, &y) || !is_fine(&c)) {
        c.inlines = false;
        if (!put_rule(&c, rule, text, node, operands, &y) || !is_fine(&c))
            role = onnx_refuse(m, "with numbers of too many digits");
    }
    if (role != ONNX_UNSUPPORTED)
        i = onnx_new_layer(m, node, GRAPH_ELTWISE, -1);
    if (i >= 0) {
        struct graph_node *layer = &m->layers[i].node;

        memcpy(layer->in, c.in, sizeof c.in);
        layer->n_in = c.n_in;
        snprintf(layer->words, sizeof layer->words, F "%s", buf_text(&c.text));
        role = onnx_finish(m, node, i, c.has_inlined ? ONNX_FOLDED : role);
        onnx_out(m, node, 0)->shape = value;
        *out = (struct operand){.shape = value, .i_layer = i, .sole = true};
    }
    buf_fini(&c.text);
    return role;
}

/* Every element of the node's output from those of constants, whose order in the chain is `in`. */
static void fold_all(struct onnx_import *m, const Onnx__NodeProto *node, const struct eltwise *chain, const int *in,
                     const struct graph_shape *shape)
{
    const bool is_float = onnx_in(m, node, node->n_input - 1)->is_float; /* of Where the first is none */
    double *v = onnx_make_constant(m, onnx_out(m, node, 0), shape, is_float);

    for (int64_t i = 0, n = v ? onnx_shape_elems(shape) : 0; i < n; i++) {
        double x[ELTWISE_MAX_INPUTS] = {0};

        for (int k = 0; k < chain->n_inputs; k++) {
            const struct onnx_value *of = onnx_in(m, node, (size_t)in[k]);

            x[k] = onnx_at(of, onnx_source_of(&of->shape, shape, i));
        }
        v[i] = eltwise_value(chain, x);
    }
}

/* All inputs are constants: computed now, in double. */
static enum onnx_role fold(struct onnx_import *m, const Onnx__NodeProto *node, const struct rule *rule)
{
    struct operand of[3] = {{.is_number = false}};
    struct graph_shape shape = {.rank = 0};
    struct chain c = {.m = m};
    struct eltwise chain;
    enum onnx_role role = ONNX_FOLDED;

    if (node->n_input > (rule->any_number ? 2 : 3))
        return onnx_refuse(m, "of several constants");
    for (size_t k = 0; k < node->n_input; k++) {
        of[k] = (struct operand){.shape = onnx_in(m, node, k)->shape, .i_layer = (int)k};
        if (!graph_broadcast(&shape, &of[k].shape, &shape))
            return onnx_refuse(m, "shapes that cannot be combined");
    }
    buf_init(&c.text, 4096);
    if (!put_rule(&c, rule, rule->text, node, of, &shape) || eltwise_parse(buf_text(&c.text), &chain, NULL))
        role = onnx_refuse(m, "of a constant");
    buf_fini(&c.text);
    if (role == ONNX_FOLDED)
        fold_all(m, node, &chain, c.in, &shape);
    return role;
}

static enum onnx_role all_of(struct onnx_import *m, const Onnx__NodeProto *node, const struct rule *rule)
{
    const size_t n = rule->any_number && node->n_input > 2 ? 2 : node->n_input;
    struct operand operands[3], more;
    enum onnx_role role;

    for (size_t k = 0; k < n; k++)
        if (!read_operand(m, onnx_in(m, node, k), &operands[k]))
            return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    role = join(m, node, rule, rule->text, operands, n, &more);
    for (size_t k = n; k < node->n_input && role != ONNX_UNSUPPORTED && !m->failed; k++) {
        operands[0] = more;
        if (!read_operand(m, onnx_in(m, node, k), &operands[1]))
            return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
        role = join(m, node, rule, rule->text, operands, 2, &more);
    }
    if (strcmp(rule->op, "Mean") == 0 && role != ONNX_UNSUPPORTED && !m->failed) {
        operands[0] = more;
        operands[1] = (struct operand){.is_number = true, .number = (float)node->n_input};
        role = join(m, node, rule, "div(a,b)", operands, 2, &more);
    }
    return role;
}

/* Up to the last letter that stands alone. */
static size_t n_inputs_of(const char *text)
{
    size_t most = 1;

    for (const char *p = text; *p; p += *p != '\0') {
        const size_t n = strspn(p, LETTERS);

        if (n == 1 && *p <= 'd' && (size_t)(*p - 'a') >= most)
            most = (size_t)(*p - 'a') + 1;
        p += n;
    }
    return most;
}

/* Before opset 7 shapes were not aligned at their ends. */
static bool is_aligned(const struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *a = onnx_in(m, node, 0), *b = onnx_in(m, node, 1);

    return m->opset >= 7 || !b || !onnx_attribute(node, "axis") || graph_same_shape(&a->shape, &b->shape) ||
           onnx_shape_elems(&b->shape) == 1;
}

enum onnx_role onnx_eltwise(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct rule *rule = rule_of(node->op_type);
    size_t n_constants = 0;

    assert(rule);
    for (size_t k = 0; k < node->n_input; k++) {
        const struct onnx_value *v = onnx_in(m, node, k);

        if (!v)
            return onnx_refuse(m, "an input is left out");
        n_constants += v->kind == ONNX_CONSTANT;
    }
    if (node->n_input == 0 || (!rule->any_number && node->n_input != n_inputs_of(rule->text)))
        return onnx_refuse(m, "%zu inputs", node->n_input);
    if (n_constants == node->n_input)
        return fold(m, node, rule);
    if (node->n_input == 1 && rule->any_number)
        return onnx_identity(m, node);
    return is_aligned(m, node) ? all_of(m, node, rule) : onnx_refuse(m, "shapes that are aligned at an axis");
}

/* What is as large as infinity is larger than any number, which the calls can name. */
enum onnx_role onnx_equal(struct onnx_import *m, const Onnx__NodeProto *node)
{
    for (size_t k = 0; k < 2 && node->n_input == 2; k++) {
        const struct onnx_value *v = onnx_in(m, node, k), *x = onnx_in(m, node, 1 - k);
        const bool fits = v && v->kind == ONNX_CONSTANT && onnx_is_activation(x) && is_uniform(v);

        if (fits && isinf(onnx_at(v, 0)))
            return onnx_eltwise_values(m, node, onnx_at(v, 0) < 0 ? "less(a,b)" : "less(b,a)", &x, 1,
                                       onnx_at(v, 0) < 0 ? (double)-FLT_MAX : (double)FLT_MAX);
    }
    return onnx_eltwise(m, node);
}

enum onnx_role onnx_is_inf(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const char *const texts[] = {NULL, "less(b,a)", "less(b,neg(a))", "less(b,abs(a))"};
    const int64_t above = onnx_attribute_int(node, "detect_positive", 1) != 0;
    const int64_t below = onnx_attribute_int(node, "detect_negative", 1) != 0;

    if (!above && !below)
        return onnx_refuse(m, "of neither sign");
    return onnx_eltwise_of(m, node, texts[above + 2 * below], (const double[]){(double)FLT_MAX}, 1);
}

/* Of a condition that is one constant the input that it chooses. */
enum onnx_role onnx_where(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *which = onnx_in(m, node, 0), *chosen = NULL;
    struct graph_shape shape = {.rank = 0};

    for (size_t k = 0; k < 3 && which; k++)
        if (!onnx_in(m, node, k) || !graph_broadcast(&shape, &onnx_in(m, node, k)->shape, &shape))
            which = NULL;
    if (which && which->kind == ONNX_CONSTANT && is_uniform(which))
        chosen = onnx_in(m, node, onnx_at(which, 0) < 0 || onnx_at(which, 0) > 0 ? 1 : 2);
    if (!chosen || !onnx_is_activation(chosen) || !graph_same_shape(&chosen->shape, &shape))
        return onnx_eltwise(m, node);
    onnx_make_view(onnx_out(m, node, 0), chosen, &shape);
    return ONNX_FOLDED;
}

/* An If's output: one of two by a condition. Where that is computed both are, and have one shape. */
enum onnx_role onnx_choice(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *which = onnx_in(m, node, 0), *then = onnx_in(m, node, 1), *otherwise = onnx_in(m, node, 2);
    Onnx__NodeProto one = *node;

    if (!which || !then || !otherwise || onnx_shape_elems(&which->shape) != 1)
        return onnx_refuse(m, "expected a condition of one number, and what both branches give");
    if (which->kind == ONNX_CONSTANT) {
        one.input += onnx_at(which, 0) != 0 ? 1 : 2;
        one.n_input = 1;
        return onnx_identity(m, &one);
    }
    if (!graph_same_shape(&then->shape, &otherwise->shape))
        return onnx_refuse(m, "a condition that is computed, between other shapes");
    one.op_type = (char *)(uintptr_t) "Where";
    return onnx_dense(m, which) && onnx_dense(m, then) && onnx_dense(m, otherwise) ? onnx_where(m, &one)
                                                                                   : ONNX_UNSUPPORTED;
}

/* Of constants: a quotient of floats that is nearly whole may be rounded to the next one. */
enum onnx_role onnx_mod(struct onnx_import *m, const Onnx__NodeProto *node)
{
    if (onnx_attribute_int(node, "fmod", 0) || onnx_is_activation(onnx_in(m, node, 0)) ||
        onnx_is_activation(onnx_in(m, node, 1)))
        return onnx_refuse(m, "of activations, or with signs of the first");
    return onnx_eltwise(m, node);
}

/* x where it is 0 or more, else times a constant slope of several numbers. */
enum onnx_role onnx_prelu(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *slope = onnx_in(m, node, 1);
    struct onnx_value kept, scaled, slopes;
    enum onnx_role role;

    if (!onnx_is_activation(x) || !slope || slope->kind != ONNX_CONSTANT || onnx_shape_elems(&slope->shape) < 2)
        return onnx_eltwise(m, node);
    kept = *x;
    kept.sole = false; /* both sides are read */
    slopes = *slope;
    while (m->opset < 7 && slope->shape.rank == 1 && slopes.shape.rank < x->shape.rank - 1)
        slopes.shape.dim[slopes.shape.rank++] = 1; /* of channels */
    role = onnx_with_constant(m, node, &kept, &slopes, 'M', false);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    scaled = *onnx_out(m, node, 0);
    return graph_same_shape(&scaled.shape, &x->shape)
               ? onnx_eltwise_values(m, node, "where(less(a,0),b,a)",
                                     (const struct onnx_value *const[]){&kept, &scaled}, 2, 0)
               : onnx_refuse(m, "a slope that does not fit");
}

enum onnx_role onnx_eltwise_of(struct onnx_import *m, const Onnx__NodeProto *node, const char *text,
                               const double *numbers, size_t n)
{
    struct operand operands[ELTWISE_MAX_INPUTS], out;

    assert(n < ELTWISE_MAX_INPUTS);
    if (!read_operand(m, onnx_in(m, node, 0), &operands[0]))
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    for (size_t k = 0; k < n; k++)
        operands[k + 1] = (struct operand){.is_number = true, .number = (float)numbers[k]};
    return join(m, node, NULL, text, operands, n + 1, &out);
}

enum onnx_role onnx_eltwise_values(struct onnx_import *m, const Onnx__NodeProto *node, const char *text,
                                   const struct onnx_value *const *values, size_t n, double number)
{
    struct operand operands[ELTWISE_MAX_INPUTS], out;

    assert(n < ELTWISE_MAX_INPUTS);
    for (size_t k = 0; k < n; k++)
        if (!read_operand(m, values[k], &operands[k]))
            return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    operands[n] = (struct operand){.is_number = true, .number = (float)number};
    return join(m, node, NULL, text, operands, n + 1, &out);
}

enum onnx_role onnx_gelu(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, "approximate");
    const bool is_tanh = (a && a->s.len == 4 && memcmp(a->s.data, "tanh", 4) == 0) || strchr(node->op_type, '/');

    if (a && !is_tanh && !(a->s.len == 4 && memcmp(a->s.data, "none", 4) == 0))
        return onnx_refuse(m, "an approximation that is not known");
    return onnx_eltwise_of(m, node, is_tanh ? "gelu_tanh(a)" : "gelu(a)", NULL, 0);
}

enum onnx_role onnx_add_third(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role role, double alpha)
{
    const struct onnx_value *c = onnx_in(m, node, 2);
    const double beta = onnx_attribute_real(node, "beta", 1);
    const struct graph_shape shape = onnx_out(m, node, 0)->shape;
    struct onnx_value y;

    if ((alpha < 1 || alpha > 1) && role != ONNX_UNSUPPORTED && !m->failed) {
        y = *onnx_out(m, node, 0);
        y.sole = true;
        role = onnx_eltwise_values(m, node, "mul(a,b)", (const struct onnx_value *const[]){&y}, 1, alpha);
    }
    if (!c || role == ONNX_UNSUPPORTED || m->failed)
        return role;
    y = *onnx_out(m, node, 0);
    y.sole = true;
    role = onnx_eltwise_values(m, node, beta < 1 || beta > 1 ? "add(a,mul(b,c))" : "add(a,b)",
                               (const struct onnx_value *const[]){&y, c}, 2, beta);
    if (role != ONNX_UNSUPPORTED && !m->failed && !graph_same_shape(&onnx_out(m, node, 0)->shape, &shape))
        return onnx_refuse(m, "a third matrix that does not fit");
    return role;
}
