/* SPDX-License-Identifier: MIT */
/* network_json.c - the tables of a whole network for who reads a bundle at run time. */
#include "deploy/network.h"

#include "core/json.h"

#include <assert.h>

static void add(cJSON *list, cJSON *entry, bool *ok)
{
    *ok = *ok && entry && cJSON_AddItemToArray(list, entry);
}

static void add_number(cJSON *list, int64_t v, bool *ok)
{
    add(list, cJSON_CreateNumber((double)v), ok);
}

static cJSON *arguments(const struct lowered *l, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; list && i < l->n_arguments && *ok; i++) {
        const struct graph_node *n = &l->graph->nodes[l->arguments[i].i_node];
        cJSON *entry = cJSON_CreateObject(), *shape = cJSON_CreateArray();

        json_add_text(entry, "name", n->name, ok);
        json_add_text(entry, "role", l->arguments[i].is_output ? "output" : "input", ok);
        json_add_text(entry, "dtype", dtype_name(l->arguments[i].dtype), ok);
        json_add_text(entry, "layout", n->shape.rank == 4 ? "nchw" : "", ok);
        for (int d = 0; d < n->shape.rank; d++)
            add_number(shape, n->shape.dim[d], ok);
        json_add_item(entry, "shape", shape, ok);
        add(list, entry, ok);
    }
    return list;
}

/* Where each tensor is: in an argument, or in a slot, and there as a part. */
static cJSON *values(const struct lowered *l, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; list && i < l->n_tensors && *ok; i++) {
        const struct lowered_tensor *t = &l->tensors[i];
        cJSON *entry = cJSON_CreateObject();

        assert((t->i_slot >= 0) != (t->i_argument >= 0));
        json_add_text(entry, "name", t->name, ok);
        json_add_i64(entry, "bytes", t->n_bytes, ok);
        json_add_i64(entry, t->i_slot >= 0 ? "slot" : "argument", t->i_slot >= 0 ? t->i_slot : t->i_argument, ok);
        if (t->within)
            json_add_i64(entry, "at", lowered_at(l->tensors, i), ok);
        add(list, entry, ok);
    }
    return list;
}

/* The tensors of a step in the order of its program's inputs and outputs. */
static cJSON *operands(const struct program *p, const struct lowered_step *step, bool *ok)
{
    cJSON *list = cJSON_CreateArray();
    int n_in = 0, n_out = 0;

    for (size_t k = 0; list && k < p->n_buffers; k++) {
        if (p->buffers[k].role == ROLE_INPUT && n_in < step->n_in)
            add_number(list, step->in[n_in++], ok);
        if (p->buffers[k].role == ROLE_OUTPUT && n_out < step->n_out)
            add_number(list, step->out + n_out++, ok);
    }
    return list;
}

static cJSON *steps(const struct deploy_set *s, bool *ok)
{
    const struct lowered *l = &s->network->lowered;
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; list && i < l->n_steps && *ok; i++) {
        const struct deploy_layer *layer = &s->layers[s->network->i_layer[i]];
        cJSON *entry = cJSON_CreateObject();

        json_add_text(entry, "layer", l->steps[i].name, ok);
        json_add_i64(entry, "program", (int64_t)s->network->i_layer[i], ok);
        json_add_item(entry, "values", operands(&layer->program, &l->steps[i], ok), ok);
        json_add_real(entry, "time_ns", layer->record.time_ns, ok);
        add(list, entry, ok);
    }
    return list;
}

void deploy_network_json(const struct deploy_set *s, cJSON *root, bool *ok)
{
    const struct lowered *l = s->network ? &s->network->lowered : NULL;
    cJSON *network, *slots;

    if (!l || s->range) /* its sizes' tables are in NAME.c alone */
        return;
    network = cJSON_CreateObject();
    slots = cJSON_CreateArray();
    for (size_t i = 0; i < l->n_slots; i++)
        add_number(slots, l->slot_bytes[i], ok);
    json_add_text(network, "name", l->graph->name, ok);
    json_add_item(network, "arguments", arguments(l, ok), ok);
    json_add_item(network, "slots", slots, ok);
    json_add_item(network, "values", values(l, ok), ok);
    json_add_item(network, "steps", steps(s, ok), ok);
    json_add_item(root, "network", network, ok);
}
