/* SPDX-License-Identifier: MIT */
/* network_text.c - a whole network as C: its tables, and the part of the API that runs it. */
#include "deploy/functions.h"
#include "core/err.h"
#include "deploy/network.h"
#include "deploy/range.h"
#include "deploy/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct program *program_in(const struct deploy_set *s, const struct deploy_network *n, size_t i_step)
{
    assert(i_step < n->lowered.n_steps && n->i_layer[i_step] < s->n_layers);
    return &s->layers[n->i_layer[i_step]].program;
}

static const struct program *program_of(const struct deploy_set *s, size_t i_step)
{
    return program_in(s, s->network, i_step);
}

static size_t count_weights(const struct deploy_set *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->network->lowered.n_steps; i++)
        for (size_t k = 0; k < program_of(s, i)->n_buffers; k++)
            n += program_of(s, i)->buffers[k].role == ROLE_WEIGHT;
    return n;
}

/* The types of a queue and of a buffer; behind the first a blank where it is no pointer. */
static const char *queue_of(const struct deploy_set *s)
{
    return deploy_set_is_cuda(s) ? "struct CUstream_st *" : "cl_command_queue ";
}

static const char *buffer_of(const struct deploy_set *s)
{
    return deploy_set_is_cuda(s) ? "unsigned long long" : "cl_mem";
}

/* NAME_run with a parameter for each argument, by its name. */
static void put_prototype(const struct deploy_set *s, struct buf *out)
{
    const struct lowered *l = &s->network->lowered;
    char size[80];

    buf_printf(out, "int %s_run(%squeue", s->name, queue_of(s));
    if (s->range) {
        deploy_range_parameter(s->range, size, sizeof size);
        buf_printf(out, ", size_t %s", size);
    }
    for (size_t i = 0; i < l->n_arguments; i++)
        if (!deploy_range_makes(s->range, i))
            buf_printf(out, ", %s %s_%s", buffer_of(s), l->arguments[i].is_output ? "out" : "in",
                       l->graph->nodes[l->arguments[i].i_node].name);
    buf_puts(out, ")");
}

static void put_run(const struct deploy_set *s, struct buf *out)
{
    const struct lowered *l = &s->network->lowered;
    char size[80] = "";

    buf_puts(out, "\n");
    put_prototype(s, out);
    buf_printf(out, "\n{\n    const %s list[] = {", buffer_of(s));
    for (size_t i = 0; i < l->n_arguments; i++)
        if (!deploy_range_makes(s->range, i))
            buf_printf(out, "%s%s_%s", i ? ", " : "", l->arguments[i].is_output ? "out" : "in",
                       l->graph->nodes[l->arguments[i].i_node].name);
    if (s->range)
        deploy_range_parameter(s->range, size, sizeof size);
    buf_printf(out, "};\n    return %s_run_list(queue, %s%slist);\n}\n", s->name, size, s->range ? ", " : "");
}

/* Arguments that the caller gives. */
static size_t count_arguments(const struct deploy_set *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->network->lowered.n_arguments; i++)
        n += !deploy_range_makes(s->range, i);
    return n;
}

enum err deploy_network_header(const struct deploy_set *s, struct buf *out, struct why *why)
{
    enum err e;

    if (!s->network)
        return ERR_OK;
    if (s->range && deploy_set_is_cuda(s))
        return why_set(why, ERR_UNSUPPORTED,
                       "%s: a range of sizes is for records of OpenCL devices so far, these are of CUDA; one size is "
                       "given by --dim %s=N",
                       s->network->lowered.graph->name, s->range->of->name);
    buf_printf(out,
               "\n/* ---- the whole network ---- */\n\n#define %s_N_STEPS %zu\n#define %s_N_NETWORK_WEIGHTS %zu\n"
               "#define %s_N_ARGUMENTS %zu\n\n",
               s->capitals, s->network->lowered.n_steps, s->capitals, count_weights(s), s->capitals,
               count_arguments(s));
    buf_printf(out, "typedef %s%s_queue;\ntypedef %s %s_buffer;\n\n", queue_of(s), s->name, buffer_of(s), s->name);
    if (s->range)
        deploy_range_header(s, out);
    e = deploy_text_part(s, "api_network.h", out, why);
    buf_puts(out, "\n");
    if (!e)
        e = deploy_text_part(s, s->range ? "api_range.h" : "api_run.h", out, why);
    put_prototype(s, out);
    buf_puts(out, ";\n");
    return e;
}

static void put_shape(const struct program_buffer *b, struct buf *out)
{
    buf_printf(out, "%d, {", b->n_dims);
    for (int d = 0; d < b->n_dims; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)b->shape[d]);
    buf_printf(out, "%s}, %lluu},\n", b->n_dims ? "" : "0", (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
}

static void put_strings(const char *const *words, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        deploy_text_string(words[i], out);
        buf_puts(out, ", ");
    }
}

static void put_weights(const struct deploy_set *s, struct buf *out)
{
    buf_printf(out, "const struct %s_network_weight %s_network_weights[%s_N_NETWORK_WEIGHTS] = {\n", s->name, s->name,
               s->capitals);
    for (size_t i = 0; i < s->network->lowered.n_steps; i++)
        for (size_t k = 0; k < program_of(s, i)->n_buffers; k++) {
            const struct program_buffer *b = &program_of(s, i)->buffers[k];

            if (b->role != ROLE_WEIGHT)
                continue;
            buf_puts(out, "    {");
            put_strings((const char *[]){s->network->lowered.steps[i].name, b->id, dtype_name(b->dtype), b->layout}, 4,
                        out);
            put_shape(b, out);
        }
    buf_puts(out, "};\n\n");
}

static void put_steps(const struct deploy_set *s, struct buf *out)
{
    buf_printf(out, "const struct %s_step %s_steps[%s_N_STEPS] = {\n", s->name, s->name, s->capitals);
    for (size_t i = 0; i < s->network->lowered.n_steps; i++) {
        const struct deploy_layer *l = &s->layers[s->network->i_layer[i]];

        buf_puts(out, "    {");
        put_strings((const char *[]){s->network->lowered.steps[i].name, l->workload, l->program.template_id,
                                     deploy_origin_name(l->origin)},
                    4, out);
        buf_printf(out, "%.17g, %.17g},\n", l->program.flops, l->record.time_ns);
    }
    buf_puts(out, "};\n\n");
}

/* EXEC_ARGUMENT of what is the caller's. */
static int slot_of(const struct lowered *l, size_t i_tensor)
{
    const struct lowered_tensor *t = &l->tensors[i_tensor];

    assert(i_tensor < l->n_tensors && (t->i_slot >= 0) != (t->i_argument >= 0) && t->i_slot < (int)l->n_slots);
    return t->i_slot >= 0 ? t->i_slot : -1 - t->i_argument;
}

static void put_values(const struct lowered *l, const char *suffix, struct buf *out)
{
    buf_printf(out, "static const size_t network%s_slots[] = {", suffix);
    for (size_t i = 0; i < l->n_slots; i++)
        buf_printf(out, "%lluu, ", (unsigned long long)l->slot_bytes[i]);
    buf_puts(out, l->n_slots ? "};\n" : "0};\n");
    buf_printf(out, "static const struct exec_value network%s_values[] = {\n", suffix);
    for (size_t i = 0; i < l->n_tensors; i++) {
        buf_puts(out, "    {");
        deploy_text_string(l->tensors[i].name, out);
        buf_printf(out, ", %lluu, %d, %d, %lluu},\n", (unsigned long long)l->tensors[i].n_bytes, slot_of(l, i),
                   l->tensors[i].within > 0, (unsigned long long)lowered_at(l->tensors, i));
    }
    buf_puts(out, "};\n");
}

/* The tensors of a step in the order of its plan's inputs and outputs: the k-th input of the plan is that of the step.
 * ERR_UNSUPPORTED where they are not as many. */
static enum err put_operands(const struct deploy_set *s, const struct deploy_network *of, const char *suffix, size_t i,
                             size_t *n, struct buf *out, struct why *why)
{
    const struct lowered_step *step = &of->lowered.steps[i];
    const struct program *p = program_in(s, of, i);
    int n_in = 0, n_out = 0;

    buf_printf(out, "static const int network%s_step%zu[] = {", suffix, i);
    *n = 0;
    for (size_t k = 0; k < p->n_buffers; k++) {
        const bool is_output = p->buffers[k].role == ROLE_OUTPUT;

        if (!deploy_is_tensor(&p->buffers[k]) || p->buffers[k].role == ROLE_WEIGHT)
            continue;
        n_in += !is_output;
        n_out += is_output;
        if (n_in > step->n_in || n_out > step->n_out)
            break;
        buf_printf(out, "%s%d", *n ? ", " : "", is_output ? step->out + n_out - 1 : step->in[n_in - 1]);
        ++*n;
    }
    buf_puts(out, "};\n");
    return n_in == step->n_in && n_out == step->n_out
               ? ERR_OK
               : why_set(why, ERR_UNSUPPORTED, "%s: %s has other tensors than its step", step->name, p->workload);
}

static enum err put_table(const struct deploy_set *s, const struct deploy_network *of, const char *suffix,
                          struct buf *out, struct why *why)
{
    const struct lowered *l = &of->lowered;
    enum err e = ERR_OK;
    struct buf steps;

    buf_init(&steps, (size_t)1 << 20);
    for (size_t i = 0; i < l->n_steps && !e; i++) {
        size_t n = 0;

        e = put_operands(s, of, suffix, i, &n, out, why);
        buf_puts(&steps, "    {");
        deploy_text_string(l->steps[i].name, &steps);
        buf_printf(&steps, ", %zu, network%s_step%zu, %zu, %.17g},\n", of->i_layer[i], suffix, i, n,
                   s->layers[of->i_layer[i]].record.time_ns);
    }
    buf_printf(out, "static const struct exec_step network%s_steps[] = {\n%s};\n", suffix, buf_text(&steps));
    e = e ? e : steps.failed;
    buf_fini(&steps);
    buf_printf(out, "static const struct exec_network network%s = {\n    ", suffix);
    deploy_text_string(l->graph->name, out);
    buf_printf(out,
               ", network_plans, N_PLANS, network%s_values, %zu, network%s_slots, %zu, network%s_steps, %zu, %zu};\n\n",
               suffix, l->n_tensors, suffix, l->n_slots, suffix, l->n_steps, l->n_arguments);
    return e;
}

static void put_plan_list(const struct deploy_set *s, struct buf *out)
{
    buf_puts(out, "static const struct exec_plan *const network_plans[N_PLANS] = {");
    for (size_t i = 0; i < s->n_layers; i++)
        buf_printf(out, "%s&plans[%zu],", i % 8 ? " " : "\n    ", i);
    buf_puts(out, "\n};\n");
}

/* One network, or that of each bucket, and what runs them. */
static enum err put_tables(const struct deploy_set *s, struct buf *out, struct why *why)
{
    const size_t n = s->range ? s->range->n : 1;
    char suffix[RANGE_MAX_BUCKETS][24] = {""};
    enum err e = ERR_OK;

    put_plan_list(s, out);
    for (size_t i = 0; i < n && !e; i++) {
        const struct deploy_network *of = s->range ? s->range->list[i].network : s->network;

        if (s->range)
            snprintf(suffix[i], sizeof suffix[i], "_%lld", (long long)s->range->list[i].from->size);
        put_values(&of->lowered, suffix[i], out);
        e = put_table(s, of, suffix[i], out, why);
    }
    if (!e && s->range)
        e = deploy_range_source(s, out, why);
    buf_printf(out,
               "#define NETWORK(thing) exec_%s_%s##thing\n#define N_NETWORKS %zu\n"
               "static const struct exec_network *const networks[N_NETWORKS] = {",
               s->range ? "range" : "net", deploy_set_is_cuda(s) ? "cu" : "cl", n);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s&network%s", i ? ", " : "", suffix[i]);
    buf_puts(out, "};\n\n");
    return e;
}

static void put_arguments(const struct deploy_set *s, struct buf *out)
{
    const struct lowered *l = &s->network->lowered;

    buf_printf(out, "const struct %s_tensor %s_arguments[%s_N_ARGUMENTS] = {\n", s->name, s->name, s->capitals);
    for (size_t i = 0; i < l->n_arguments; i++) {
        const struct lowered_argument *a = &l->arguments[i];
        const struct graph_node *n = &l->graph->nodes[a->i_node];

        if (deploy_range_makes(s->range, i))
            continue;
        buf_puts(out, "    {");
        put_strings((const char *[]){n->name, dtype_name(a->dtype), n->shape.rank == 4 ? "nchw" : ""}, 3, out);
        buf_printf(out, "%s_%s, %d, {", s->capitals, a->is_output ? "OUTPUT" : "INPUT", n->shape.rank);
        for (int d = 0; d < n->shape.rank; d++)
            buf_printf(out, "%s%lld", d ? ", " : "", (long long)n->shape.dim[d]);
        buf_printf(out, "}, %lluu},\n", (unsigned long long)graph_elems(&n->shape) * dtype_bytes(a->dtype));
    }
    buf_puts(out, "};\n");
}

static enum err put_parts(const struct deploy_set *s, const char *const *names, struct buf *out, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; names[i] && !e; i++) {
        e = deploy_text_part(s, names[i], out, why);
        buf_puts(out, "\n");
    }
    return e;
}

enum err deploy_network_source(const struct deploy_set *s, struct buf *out, struct why *why)
{
    static const char *const opencl[] = {"network.h",  "network_find.h", "network_find.c", "network_cl.h",
                                         "pages_cl.h", "pages_cl.c",     "network_cl.c",   NULL};
    static const char *const cuda[] = {"network.h",    "network_find.h", "network_find.c",
                                       "network_cu.h", "network_cu.c",   NULL};
    static const char *const of_range[] = {"range_cl.h", "range_cl.c", NULL};
    const bool is_cuda = deploy_set_is_cuda(s);
    const char *const api[] = {is_cuda ? "api_network_cu.c" : "api_network_cl.c", "api_network.c",
                               s->range ? "api_range.c" : "api_run.c", NULL};
    enum err e = ERR_OK;

    if (!s->network)
        return ERR_OK;
    buf_puts(out, "\n/* ---- the whole network ---- */\n\n");
    e = put_parts(s, is_cuda ? cuda : opencl, out, why);
    if (!e && s->range)
        e = put_parts(s, of_range, out, why);
    put_steps(s, out);
    put_weights(s, out);
    put_arguments(s, out);
    buf_puts(out, "\n");
    if (!e)
        e = put_tables(s, out, why);
    if (!e)
        e = put_parts(s, api, out, why);
    put_run(s, out);
    return e;
}
