/* SPDX-License-Identifier: MIT */
#include "onnx/import.h"

#include "onnx/branches.h"
#include "onnx/expand.h"
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIM_NAME 64
#define MAX_PLACE 128
#define EXPECTED_TYPES "expected floats, whole numbers of 8 bits or more, or truth values"

/* ---- names ---- */

static bool is_own_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static enum err add_value(struct onnx_import *m, const char *name, struct why *why)
{
    if (!name || !*name)
        return why_set(why, ERR_INPUT, "a value without a name");
    m->values[m->n_values++].name = name;
    return ERR_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct onnx_value *const *)a)->name, (*(struct onnx_value *const *)b)->name);
}

static bool is_initializer(const char *name, struct onnx_value **by, size_t n)
{
    const struct onnx_value key = {.name = name}, *at = &key;

    return name && bsearch(&at, by, n, sizeof *by, by_name);
}

static enum err index_values(struct onnx_import *m, struct why *why)
{
    for (size_t i = 0; i < m->n_values; i++)
        m->by_name[i] = &m->values[i];
    qsort(m->by_name, m->n_values, sizeof *m->by_name, by_name);
    for (size_t i = 1; i < m->n_values; i++)
        if (strcmp(m->by_name[i - 1]->name, m->by_name[i]->name) == 0)
            return why_set(why, ERR_INPUT, "value %.100s is made twice", m->by_name[i]->name);
    return ERR_OK;
}

/* Every value that there will be: constants, inputs that are none of them, outputs of nodes. */
static enum err list_values(struct onnx_import *m, struct why *why)
{
    const Onnx__GraphProto *g = m->file.model->graph;
    size_t n = g->n_initializer + g->n_input, n_constants;
    enum err e = ERR_OK;

    for (size_t i = 0; i < g->n_node; i++)
        n += g->node[i]->n_output;
    m->values = onnx_memory_take(&m->file.memory, n * sizeof *m->values);
    m->by_name = onnx_memory_take(&m->file.memory, n * sizeof(*m->by_name));
    if (!m->values || !m->by_name)
        return why_set(why, ERR_LIMIT, "more values than a model of this size may have");
    for (size_t i = 0; i < g->n_initializer && !e; i++)
        e = add_value(m, g->initializer[i]->name, why);
    if (!e)
        e = index_values(m, why);
    n_constants = m->n_values;
    for (size_t i = 0; i < g->n_input && !e; i++)
        if (!is_initializer(g->input[i]->name, m->by_name, n_constants))
            e = add_value(m, g->input[i]->name, why);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output && !e; k++)
            if (g->node[i]->output[k][0])
                e = add_value(m, g->node[i]->output[k], why);
    return e ? e : index_values(m, why);
}

static struct onnx_value *value_named(const struct onnx_import *m, const char *name)
{
    char *names[] = {(char *)(uintptr_t)name};
    const Onnx__NodeProto node = {.n_input = 1, .input = names};

    return name ? onnx_in(m, &node, 0) : NULL;
}

static enum err count_readers(struct onnx_import *m, struct why *why)
{
    const Onnx__GraphProto *g = m->file.model->graph;

    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++) {
            struct onnx_value *v = onnx_in(m, g->node[i], k);

            if (v)
                v->n_readers++;
            else if (g->node[i]->input[k][0])
                return why_set(why, ERR_INPUT, "node %.100s reads %.100s, which nothing makes",
                               g->node[i]->name ? g->node[i]->name : "", g->node[i]->input[k]);
        }
    for (size_t i = 0; i < g->n_output; i++) {
        struct onnx_value *v = value_named(m, g->output[i]->name);

        if (!v)
            return why_set(why, ERR_INPUT, "output %.100s, which nothing makes",
                           g->output[i]->name ? g->output[i]->name : "without a name");
        v->n_readers++;
        v->is_output = true;
    }
    return ERR_OK;
}

/* ---- what is given ---- */

static enum err read_opset(struct onnx_import *m, struct why *why)
{
    const Onnx__ModelProto *model = m->file.model;

    for (size_t i = 0; i < model->n_opset_import; i++)
        if (is_own_domain(model->opset_import[i]->domain))
            m->opset = model->opset_import[i]->version;
    if (m->opset < ONNX_MIN_OPSET || m->opset > ONNX_MAX_OPSET)
        return why_set(why, ERR_UNSUPPORTED, "opset %lld: expected %d to %d", (long long)m->opset, ONNX_MIN_OPSET,
                       ONNX_MAX_OPSET);
    return ERR_OK;
}

static enum err read_constants(struct onnx_import *m, struct why *why)
{
    const Onnx__GraphProto *g = m->file.model->graph;
    enum err e = ERR_OK;

    for (size_t i = 0; i < g->n_initializer && !e; i++) {
        struct onnx_value *v = value_named(m, g->initializer[i]->name);

        e = onnx_tensor_open(&m->file, g->initializer[i], &v->tensor, why);
        v->kind = ONNX_CONSTANT;
        v->shape = v->tensor.shape;
        v->is_float = v->tensor.is_float;
        if (e == ERR_UNSUPPORTED) { /* strings, say: whoever reads them is not supported */
            v->kind = ONNX_NOT_HERE;
            e = ERR_OK;
        }
    }
    return e;
}

/* Inputs that are bound to a file's tensor from outside. */
static enum err read_bindings(struct onnx_import *m, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < m->options->n_bindings && !e; i++) {
        const struct onnx_binding *b = &m->options->bindings[i];
        struct onnx_value *v = value_named(m, b->name);
        const Onnx__TensorProto *p;

        if (!v || (v->kind != ONNX_UNMADE && v->kind != ONNX_CONSTANT))
            return why_set(why, ERR_INPUT, "no value %.100s to be bound", b->name);
        e = onnx_file_tensor(&m->file, b->path, &p, why);
        if (!e)
            e = onnx_tensor_open(&m->file, p, &v->tensor, why);
        if (e)
            return why_prefix(why, e, "%.300s", b->path);
        v->kind = ONNX_CONSTANT;
        v->shape = v->tensor.shape;
        v->is_float = v->tensor.is_float;
    }
    return e;
}

/* The size that a name has from outside; false: none. */
static bool size_given(const struct onnx_options *o, const char *name, int64_t *out)
{
    for (size_t i = 0; i < o->n_dims; i++)
        if (strcmp(o->dims[i].name, name) == 0)
            return *out = o->dims[i].size, true;
    return false;
}

/* That of a name, or of names and numbers with " + " between; false: one is not given. */
static bool size_named(const struct onnx_options *o, const char *name, int64_t *out)
{
    bool known = false;

    if (size_given(o, name, out))
        return true;
    *out = 0;
    for (const char *p = name, *end; *p; p = *end ? end + 3 : end) {
        char part[MAX_DIM_NAME];
        int64_t size = 0;
        int n = 0;

        end = strstr(p, " + ");
        end = end ? end : p + strlen(p);
        if (end == p || end - p >= MAX_DIM_NAME)
            return false;
        snprintf(part, sizeof part, "%.*s", (int)(end - p), p);
        known = sscanf(part, "%8" SCNd64 "%n", &size, &n) == 1 && !part[n] && size > 0;
        known = known || size_given(o, part, &size);
        if (!known)
            return false;
        *out += size;
    }
    return known && *out <= GRAPH_MAX_SIZE;
}

static const char *name_of(const Onnx__TensorShapeProto__Dimension *d)
{
    return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param ? d->dim_param : "";
}

/* Is a dimension the batch: the first one of an input, or of its name? */
static bool is_batch(const struct onnx_import *m, int axis, const char *name)
{
    const Onnx__GraphProto *g = m->file.model->graph;
    bool is = axis == 0;

    for (size_t i = 0; i < g->n_input && *name && !is; i++) {
        const Onnx__TypeProto *t = g->input[i]->type;
        const bool shaped = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && t->tensor_type->shape;

        is = shaped && t->tensor_type->shape->n_dim && strcmp(name_of(t->tensor_type->shape->dim[0]), name) == 0;
    }
    return is;
}

/* The size of a dimension: fixed, or given from outside, by its place or its name. */
static enum err read_dim(const struct onnx_import *m, const Onnx__ValueInfoProto *input, int axis,
                         const Onnx__TensorShapeProto__Dimension *d, int64_t *out, struct why *why)
{
    const char *name = name_of(d);
    char place[MAX_PLACE];

    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value > 0) {
        *out = d->dim_value;
        return d->dim_value <= GRAPH_MAX_SIZE ? ERR_OK
                                              : why_set(why, ERR_LIMIT, "input %.100s: a dimension of %lld, over %d",
                                                        input->name, (long long)d->dim_value, GRAPH_MAX_SIZE);
    }
    snprintf(place, sizeof place, "%.100s.%d", input->name ? input->name : "", axis);
    if (size_given(m->options, place, out) || (*name && size_named(m->options, name, out)))
        return ERR_OK;
    if (is_batch(m, axis, name)) {
        *out = 1;
        return ERR_OK;
    }
    return why_set(why, ERR_INPUT, "input %.100s: dimension %d is not fixed; expected --dim %.100s=N", input->name,
                   axis, *name ? name : place);
}

static enum err read_input(struct onnx_import *m, const Onnx__ValueInfoProto *input, struct why *why)
{
    const Onnx__TypeProto *t = input->type;
    const Onnx__TypeProto__Tensor *tensor =
        t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? t->tensor_type : NULL;
    const Onnx__NodeProto named = {.name = input->name};
    struct graph_shape given = {.rank = 0};
    enum err e = ERR_OK;
    int i;

    if (!tensor || !tensor->shape || tensor->shape->n_dim > GRAPH_MAX_RANK)
        return why_set(why, ERR_UNSUPPORTED, "input %.100s: expected a tensor of at most %d dimensions", input->name,
                       GRAPH_MAX_RANK);
    if (!onnx_is_float_type(tensor->elem_type) && !onnx_is_whole_type(tensor->elem_type))
        return why_set(why, ERR_UNSUPPORTED, "input %.100s: elements of type %d: " EXPECTED_TYPES, input->name,
                       (int)tensor->elem_type);
    given.rank = (int)tensor->shape->n_dim;
    for (int k = 0; k < given.rank && !e; k++)
        e = read_dim(m, input, k, tensor->shape->dim[k], &given.dim[k], why);
    if (e)
        return e;
    i = graph_elems(&given) < 0 ? -1 : onnx_new_layer(m, &named, GRAPH_INPUT, -1);
    if (i < 0)
        return why_set(why, ERR_LIMIT, "input %.100s: too large", input->name);
    m->layers[i].node.shape = given.rank ? given : (struct graph_shape){1, {1}};
    onnx_make_activation(value_named(m, input->name), i, &given);
    value_named(m, input->name)->is_float = onnx_is_float_type(tensor->elem_type);
    return ERR_OK;
}

static enum err read_inputs(struct onnx_import *m, struct why *why)
{
    const Onnx__GraphProto *g = m->file.model->graph;
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < g->n_input && !e; i++) {
        const struct onnx_value *v = value_named(m, g->input[i]->name);

        if (!v || v->kind != ONNX_UNMADE)
            continue; /* a constant */
        n++;
        e = read_input(m, g->input[i], why);
    }
    if (!e && (g->n_output == 0 || g->n_output > GRAPH_MAX_OUTPUTS))
        e = why_set(why, ERR_UNSUPPORTED, "%zu outputs: expected 1 to %d", g->n_output, GRAPH_MAX_OUTPUTS);
    return !e && n == 0 ? why_set(why, ERR_UNSUPPORTED, "no input") : e;
}

/* ---- nodes ---- */

/* The row of a node's operator, or of the one that it is counted as. */
static struct onnx_row *row_of(struct onnx_import *m, const Onnx__NodeProto *node, const char *origin)
{
    const char *type = origin ? origin : node->op_type ? node->op_type : "";
    const bool own = origin || is_own_domain(node->domain);
    char op[128];
    char *kept;

    snprintf(op, sizeof op, "%.60s%s%.60s", own ? "" : node->domain, own ? "" : ".", type);
    for (size_t i = 0; i < m->n_rows; i++)
        if (strcmp(m->rows[i].op, op) == 0)
            return &m->rows[i];
    if (m->n_rows == m->cap_rows) {
        const size_t cap = m->cap_rows ? 2 * m->cap_rows : 64;
        struct onnx_row *rows = cap > 4096 ? NULL : onnx_memory_take(&m->file.memory, cap * sizeof *rows);

        if (!rows)
            return NULL;
        if (m->n_rows)
            memcpy(rows, m->rows, m->n_rows * sizeof *rows);
        m->rows = rows;
        m->cap_rows = cap;
    }
    kept = onnx_memory_take(&m->file.memory, strlen(op) + 1);
    if (!kept)
        return NULL;
    strcpy(kept, op);
    m->rows[m->n_rows].op = kept;
    return &m->rows[m->n_rows++];
}

static const struct onnx_operator *operator_of(const Onnx__NodeProto *node)
{
    const struct onnx_operator *o = onnx_operators;

    if (!is_own_domain(node->domain) || !node->op_type)
        return NULL;
    while (o->name && strcmp(o->name, node->op_type) != 0)
        o++;
    return o->name ? o : NULL;
}

static bool is_function(const Onnx__ModelProto *model, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < model->n_functions; i++)
        if (model->functions[i]->name && node->op_type && strcmp(model->functions[i]->name, node->op_type) == 0)
            return true;
    return false;
}

/* Is there what no table knows: an operator, a sub-graph, an attribute? */
static enum onnx_role check_known(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_operator *o)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return onnx_refuse(m, "it has a sub-graph");
    if (is_function(m->file.model, node))
        return onnx_refuse(m, "a function of the model's own");
    if (!o)
        return onnx_refuse(m, is_own_domain(node->domain) ? "no such operator here" : "an operator of another domain");
    for (size_t i = 0; i < node->n_attribute; i++) {
        char name[64];

        snprintf(name, sizeof name, " %.60s ", node->attribute[i]->name ? node->attribute[i]->name : "");
        if (!strstr(o->attributes, name))
            return onnx_refuse(m, "attribute%sis not known", name);
    }
    if (!onnx_out(m, node, 0) && o->run != onnx_recurrent)
        return onnx_refuse(m, "it has no output");
    return ONNX_FOLDED;
}

/* Its inputs are made, and by whom, and as the operator takes them; ERR_INPUT: one is not made yet. */
static enum err check_inputs(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_operator *o,
                             enum onnx_role *role, struct why *why)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const struct onnx_value *v = onnx_in(m, node, i);

        if (v && v->kind == ONNX_UNMADE)
            return why_set(why, ERR_INPUT, "node %.100s reads %.100s before it is made: a cycle",
                           node->name ? node->name : "", v->name);
        if (v && v->kind == ONNX_NOT_HERE && *role != ONNX_UNSUPPORTED)
            *role = ONNX_BEHIND;
    }
    for (size_t i = 0; i < node->n_input && *role == ONNX_FOLDED; i++) {
        struct onnx_value *v = onnx_in(m, node, i);

        if (v && v->kind == ONNX_ACTIVATION && v->view && o->takes < ONNX_TAKES_ALL &&
            (o->takes == ONNX_TAKES_DENSE || !onnx_view_is_bare(v->view)) && !onnx_dense(m, v))
            *role = ONNX_UNSUPPORTED;
    }
    return ERR_OK;
}

/* Of what stands for a part of an operator only what is not supported is counted. */
static enum err note(struct onnx_import *m, const Onnx__NodeProto *node, const char *origin, enum onnx_role role,
                     struct why *why)
{
    const bool counts = !origin || *origin || role == ONNX_UNSUPPORTED;
    struct onnx_row *row = counts ? row_of(m, node, origin && *origin ? origin : NULL) : NULL;
    const char *name = node->name && *node->name ? node->name : node->n_output ? node->output[0] : "";
    char *words;

    m->i_row = row ? (int)(row - m->rows) + 1 : 0;
    if (!counts)
        return ERR_OK;
    if (!row)
        return why_set(why, ERR_LIMIT, "more operators than a model of this size may have");
    row->n[role]++;
    if (role != ONNX_UNSUPPORTED || row->first)
        return ERR_OK;
    words = onnx_memory_take(&m->file.memory, strlen(m->words) + 1);
    if (!words)
        return why_set(why, ERR_LIMIT, "more operators than a model of this size may have");
    strcpy(words, m->words);
    row->first = name;
    row->words = words;
    return ERR_OK;
}

void onnx_fold_maker(struct onnx_import *m, const struct onnx_value *v)
{
    if (!v->i_row)
        return; /* part of an operator, which is not counted by itself */
    assert(m->rows[v->i_row - 1].n[v->role] > 0);
    m->rows[v->i_row - 1].n[v->role]--;
    m->rows[v->i_row - 1].n[ONNX_FOLDED]++;
}

/* Are the elements that a node gives floats? As those of its first input, of Where and CastLike its second, but for
 * operators with a type of their own. */
static bool gives_floats(const struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const char *const whole[] = {"And",   "ArgMax", "ArgMin",      "Equal", "Greater", "GreaterOrEqual", "IsInf",
                                        "IsNaN", "Less",   "LessOrEqual", "Not",   "Or",      "QuantizeLinear", "Xor"};
    const bool second = strcmp(node->op_type, "Where") == 0 || strcmp(node->op_type, "CastLike") == 0;
    const struct onnx_value *x = onnx_in(m, node, second);

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strcmp(node->op_type, whole[i]) == 0)
            return false;
    if (strcmp(node->op_type, "DequantizeLinear") == 0)
        return true;
    if (strcmp(node->op_type, "If/choice") == 0) /* what is left out is none */
        return (x = onnx_in(m, node, 1)) && onnx_in(m, node, 2) && (x->is_float || onnx_in(m, node, 2)->is_float);
    return strcmp(node->op_type, "Cast") == 0 ? onnx_is_float_type(onnx_attribute_int(node, "to", 0))
                                              : !x || x->is_float;
}

/* What nothing computes of a constant first input is computed of it as an activation, in each run. */
static enum onnx_role run(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_operator *o)
{
    struct onnx_value *x = onnx_in(m, node, 0), was, copied;
    enum onnx_role role = o->run(m, node);
    char words[sizeof m->words];

    if (role != ONNX_UNSUPPORTED || m->failed || !x || x->kind != ONNX_CONSTANT)
        return role;
    memcpy(words, m->words, sizeof words);
    if (onnx_as_activation(m, x, &copied)) {
        was = *x;
        *x = copied;
        role = o->run(m, node);
        *x = was;
    }
    if (role == ONNX_UNSUPPORTED)
        memcpy(m->words, words, sizeof words);
    return role;
}

/* Is a node in a branch that a constant condition leaves out? */
static bool is_left_out(const struct onnx_import *m, const struct onnx_branch *branch)
{
    for (; branch; branch = branch->around) {
        const struct onnx_value *c = value_named(m, branch->condition);

        if (c && c->kind == ONNX_CONSTANT && onnx_shape_elems(&c->shape) == 1 && (onnx_at(c, 0) != 0) != branch->then)
            return true;
    }
    return false;
}

/* What a node would make that nothing reads but its like, and what chooses. */
static void leave_out(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static double nothing;

    for (size_t i = 0; i < node->n_input; i++) {
        struct onnx_value *v = onnx_in(m, node, i);

        if (v)
            v->n_readers--;
    }
    for (size_t i = 0; i < node->n_output; i++) {
        struct onnx_value *v = onnx_out(m, node, i);

        if (v) {
            v->kind = ONNX_CONSTANT;
            v->v = &nothing;
            v->shape.rank = 0;
        }
    }
}

static enum err read_node(struct onnx_import *m, const Onnx__NodeProto *node, const char *origin, struct why *why)
{
    const struct onnx_operator *o = operator_of(node);
    enum onnx_role role = check_known(m, node, o);
    enum err e = check_inputs(m, node, o, &role, why);

    if (e)
        return e;
    if (role == ONNX_FOLDED)
        role = run(m, node, o);
    if (m->failed)
        return why_set(why, ERR_LIMIT,
                       "node %.100s takes more memory than a model of this size may, or is one of over %d layers",
                       node->name ? node->name : "", GRAPH_MAX_NODES);
    for (size_t i = 0; i < node->n_output; i++) {
        struct onnx_value *v = onnx_out(m, node, i);

        if (v && (role >= ONNX_UNSUPPORTED || v->kind == ONNX_UNMADE))
            v->kind = ONNX_NOT_HERE;
        if (v && v->kind == ONNX_ACTIVATION)
            v->is_float = gives_floats(m, node);
    }
    if (role == ONNX_UNSUPPORTED && node->op_type)
        onnx_stand_in(m, node);
    e = note(m, node, origin, role, why);
    for (size_t i = 0; i < node->n_output; i++) {
        struct onnx_value *v = onnx_out(m, node, i);

        if (v) {
            v->maker = node;
            v->role = role;
            v->i_row = m->i_row;
        }
    }
    return e;
}

static bool is_given(const struct onnx_import *m, int i_layer)
{
    for (size_t k = 0; k < m->n_outputs; k++)
        if (m->outputs[k] == i_layer)
            return true;
    return m->layers[i_layer].node.op == GRAPH_INPUT;
}

/* The layer of an output in its shape; of several outputs each has a name of its own. */
static bool read_output(struct onnx_import *m, struct onnx_value *v)
{
    const struct graph_shape one = {1, {1}};
    struct onnx_value copied;
    int i;

    if (v->kind == ONNX_CONSTANT && !onnx_as_activation(m, v, &copied))
        return false;
    if (v->kind == ONNX_CONSTANT)
        v = &copied;
    if (v->kind != ONNX_ACTIVATION) {
        onnx_refuse(m, "output %.100s is not computed", v->name);
        return false;
    }
    if (!onnx_dense(m, v))
        return false;
    i = onnx_layer_as(m, v, v->shape.rank ? &v->shape : &one);
    if (i >= 0 && (is_given(m, i) || (m->file.model->graph->n_output > 1 && strcmp(m->layers[i].node.name, v->name)))) {
        const struct graph_shape shape = m->layers[i].node.shape;

        i = onnx_new_layer(m, &(Onnx__NodeProto){.name = (char *)(uintptr_t)v->name}, GRAPH_RESHAPE, i);
        if (i >= 0)
            m->layers[i].node.shape = shape;
    }
    m->outputs[m->n_outputs] = i;
    m->n_outputs += i >= 0;
    return i >= 0;
}

/* Whole numbers and truth values are given as floats. */
static bool is_known_output(struct onnx_import *m, const Onnx__ValueInfoProto *output)
{
    const Onnx__TypeProto *t = output->type;
    const int type = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && t->tensor_type
                         ? (int)t->tensor_type->elem_type
                         : 0;

    if (type == 0 || onnx_is_float_type(type) || onnx_is_whole_type(type))
        return true;
    onnx_refuse(m, "output %.100s has elements of type %d: " EXPECTED_TYPES, output->name, type);
    return false;
}

void onnx_mark_live(struct onnx_import *m)
{
    for (size_t i = 0; i < m->n_layers; i++)
        m->layers[i].live = m->layers[i].node.op == GRAPH_INPUT;
    for (size_t k = 0; k < m->n_outputs; k++)
        m->layers[m->outputs[k]].live = true;
    for (size_t i = m->n_layers; i-- > 0;) {
        const struct onnx_layer *l = &m->layers[i];

        m->is_whole = m->is_whole && !(l->live && l->is_missing);
        for (int k = 0; k < l->node.n_in && l->live; k++)
            m->layers[l->node.in[k]].live = true;
    }
}

/* Finds the outputs. */
static void find_outputs(struct onnx_import *m)
{
    const Onnx__GraphProto *g = m->file.model->graph;

    m->is_whole = true;
    for (size_t k = 0; k < g->n_output; k++)
        if (!is_known_output(m, g->output[k]))
            m->is_whole = false;
    for (size_t k = 0; k < g->n_output; k++)
        m->is_whole = read_output(m, value_named(m, g->output[k]->name)) && m->is_whole;
}

static enum err read_model(struct onnx_import *m, struct why *why)
{
    const Onnx__GraphProto *g = m->file.model->graph;
    enum err e = g->n_sparse_initializer ? why_set(why, ERR_UNSUPPORTED, "sparse constants") : read_opset(m, why);

    if (!e)
        e = onnx_inline_branches(&m->file, &m->origins, why);
    if (!e)
        e = onnx_expand_nodes(&m->file, &m->origins, why);
    if (!e)
        e = list_values(m, why);
    if (!e)
        e = onnx_order_nodes(m, why);
    if (!e)
        e = count_readers(m, why);
    if (!e)
        e = read_constants(m, why);
    if (!e)
        e = read_bindings(m, why);
    if (!e)
        e = read_inputs(m, why);
    for (size_t i = 0; i < g->n_node && !e; i++)
        if (is_left_out(m, m->origins[i].branch))
            leave_out(m, g->node[i]);
        else
            e = read_node(m, g->node[i], m->origins[i].op, why);
    if (!e) {
        find_outputs(m);
        onnx_mark_live(m);
        onnx_join_bytes(m);
        onnx_mark_live(m);
    }
    return !e && m->failed ? why_set(why, ERR_LIMIT, "more than %d layers, or memory", GRAPH_MAX_NODES) : e;
}

/* Takes what is opened in `m`, also where it fails. */
static enum err opened(struct onnx_import *m, enum err e, struct onnx_import **out, struct why *why)
{
    if (!e)
        e = read_model(m, why);
    m->options = NULL;
    if (e)
        onnx_import_close(m);
    else
        *out = m;
    return e;
}

static struct onnx_import *begun(const struct onnx_options *o)
{
    static const struct onnx_options none = {NULL, 0, NULL, 0};
    struct onnx_import *m = calloc(1, sizeof *m);

    if (m) {
        m->file.folder = -1;
        m->options = o ? o : &none;
    }
    return m;
}

enum err onnx_import_open(const char *path, const struct onnx_options *o, struct onnx_import **out, struct why *why)
{
    struct onnx_import *m = begun(o);
    enum err e;

    if (!m)
        return why_set(why, ERR_NOMEM, "out of memory");
    e = onnx_file_open(path, &m->file, why);
    if (e) {
        onnx_import_close(m);
        return e;
    }
    e = opened(m, e, out, why);
    return e ? why_prefix(why, e, "%.300s", path) : ERR_OK;
}

enum err onnx_import_parse(const void *bytes, size_t n, const struct onnx_options *o, struct onnx_import **out,
                           struct why *why)
{
    struct onnx_import *m = begun(o);

    return m ? opened(m, onnx_file_parse(bytes, n, &m->file, why), out, why) : why_set(why, ERR_NOMEM, "out of memory");
}

void onnx_import_close(struct onnx_import *m)
{
    if (!m)
        return;
    onnx_file_close(&m->file);
    free(m);
}

const struct onnx_row *onnx_import_rows(const struct onnx_import *m, size_t *n)
{
    *n = m->n_rows;
    return m->rows;
}
