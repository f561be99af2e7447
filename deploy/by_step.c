/* SPDX-License-Identifier: MIT */
#include "deploy/by_step.h"

#include "core/blobs.h"
#include "kernels/graph_lower.h"
#include "kernels/images.h"
#include "kernels/workload.h"
#include "libtune/choice.h"
#include "logs/log.h"
#include "runtime/device.h"
#include "runtime/program.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOB_BYTES ((size_t)1 << 30)

struct stage {
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
};

struct by_step {
    const struct graph *g;
    const struct device_ops *ops;
    struct device *device;
    struct choices *choices; /* of no record: defaults */
    struct lowered lowered;
    struct stage *stages;    /* one a step */
    unsigned char **tensors; /* of each that is no part of another */
    int *of_node;            /* the tensor that a node gives; -1: none */
};

/* ---- opening ---- */

static enum err no_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "out of memory");
}

/* The largest blocks of channels that a node can be computed in. */
static int layout_of(const struct graph *g, size_t i)
{
    const unsigned can = graph_node_layouts(g, i, DTYPE_F32);
    int layout = IMAGES_NCHW16C;

    while (layout > 0 && !(can >> layout & 1))
        layout--;
    return layout;
}

static enum err lower(struct by_step *r, struct why *why)
{
    int *layout = calloc(r->g->n_nodes, sizeof *layout);
    enum err e = layout ? ERR_OK : no_memory(why);

    for (size_t i = 0; i < r->g->n_nodes && !e; i++)
        layout[i] = layout_of(r->g, i);
    if (!e)
        e = graph_lower(r->g, DTYPE_F32, layout, &r->lowered, why);
    free(layout);
    return e;
}

/* The tensor that a part lies in. */
static size_t root_of(const struct lowered *l, size_t i)
{
    while (l->tensors[i].within)
        i = (size_t)l->tensors[i].within - 1;
    return i;
}

static unsigned char *bytes_of(const struct by_step *r, size_t i)
{
    assert(i < r->lowered.n_tensors);
    return r->tensors[root_of(&r->lowered, i)] + lowered_at(r->lowered.tensors, i);
}

/* Is a tensor what its node gives, and not another form of it? */
static bool is_own(const struct by_step *r, const struct lowered_tensor *t)
{
    return strcmp(t->name, r->g->nodes[t->i_node].name) == 0;
}

/* Memory for all tensors, and which of them each node gives. */
static enum err place_tensors(struct by_step *r, struct why *why)
{
    const struct lowered *l = &r->lowered;

    r->tensors = calloc(l->n_tensors + 1, sizeof *r->tensors);
    r->of_node = malloc(r->g->n_nodes * sizeof *r->of_node);
    if (!r->tensors || !r->of_node)
        return no_memory(why);
    for (size_t i = 0; i < r->g->n_nodes; i++)
        r->of_node[i] = -1;
    for (size_t i = 0; i < l->n_tensors; i++) {
        if (is_own(r, &l->tensors[i]))
            r->of_node[l->tensors[i].i_node] = (int)i;
        if (!l->tensors[i].within)
            r->tensors[i] = malloc((size_t)l->tensors[i].n_bytes);
        if (!l->tensors[i].within && !r->tensors[i])
            return no_memory(why);
    }
    for (size_t i = 0; i < r->g->n_nodes; i++) {
        const struct graph_node *n = &r->g->nodes[i];

        if (n->op == GRAPH_RESHAPE)
            r->of_node[i] = r->of_node[n->in[0]];
        if (n->op == GRAPH_STATE) /* the outputs of such a layer stand behind one another */
            r->of_node[i] = r->of_node[n->in[0]] + (n->words[0] == 'c' ? 2 : 1);
    }
    return ERR_OK;
}

/* The bytes of a weight in the list's words; NULL: there are none, or other than `n`. */
static const char *find_weight(const struct buf *bytes, const struct buf *list, const char *layer, const char *name,
                               size_t n)
{
    char key[LOWERED_NAME_BYTES + PROGRAM_ID_BYTES + 4];
    const int n_key = snprintf(key, sizeof key, "%s %s ", layer, name);

    for (const char *line = buf_text(list); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned long long at, n_bytes;

        if (strncmp(line, key, (size_t)n_key) != 0)
            continue;
        if (sscanf(line + n_key, "%llu %llu", &at, &n_bytes) != 2 || n_bytes != n || at > bytes->len ||
            bytes->len - at < n)
            return NULL;
        return bytes->data + at;
    }
    return NULL;
}

static enum err pack(struct by_step *r, size_t i, const struct buf *bytes, const struct buf *list, struct why *why)
{
    struct stage *s = &r->stages[i];
    enum err e = ERR_OK;

    for (size_t k = 0; k < s->program.n_buffers && !e; k++) {
        const struct program_buffer *b = &s->program.buffers[k];
        const char *w;

        if (b->role != ROLE_WEIGHT)
            continue;
        w = find_weight(bytes, list, r->lowered.steps[i].name, b->id, (size_t)b->n_elems * dtype_bytes(b->dtype));
        e = w ? r->ops->write(s->loaded, (int)k, w, why) : why_set(why, ERR_INPUT, "no weights %s of its size", b->id);
    }
    return e ? e : r->ops->run(s->loaded, PHASE_PACK, NULL, NULL, why);
}

/* The kernels of a step. */
static enum err load(struct by_step *r, size_t i, struct why *why)
{
    const struct device_desc *here = r->ops->describe(r->device);
    struct stage *s = &r->stages[i];
    struct load_report report = {.n_resources = 0};
    struct workload w;
    struct choice c;
    enum err e = workload_parse(r->lowered.steps[i].workload, &w, why);

    if (!e)
        e = choice_make(r->choices, &w, here, &c, why);
    if (e)
        return e;
    e = choice_kernels(&c, &w, here, &s->program, &s->blobs, why);
    choice_fini(&c);
    for (size_t k = 0; k < s->program.n_buffers && !e; k++)
        if (s->program.buffers[k].role == ROLE_INPUT || s->program.buffers[k].role == ROLE_WEIGHT)
            s->program.buffers[k].fill = (struct program_fill){.kind = FILL_NONE}; /* they are written */
    if (!e)
        e = r->ops->load(r->device, &s->program, &s->blobs, NULL, &s->loaded, &report, why);
    free(report.log);
    return e;
}

static enum err load_all(struct by_step *r, const struct buf *bytes, const struct buf *list, struct why *why)
{
    enum err e = ERR_OK;

    r->stages = calloc(r->lowered.n_steps + 1, sizeof *r->stages);
    if (!r->stages)
        return no_memory(why);
    for (size_t i = 0; i < r->lowered.n_steps; i++) {
        program_init(&r->stages[i].program);
        blobs_init(&r->stages[i].blobs, MAX_BLOB_BYTES);
    }
    for (size_t i = 0; i < r->lowered.n_steps && !e; i++) {
        e = load(r, i, why);
        if (!e)
            e = pack(r, i, bytes, list, why);
        if (e)
            why_prefix(why, e, "%s", r->lowered.steps[i].name);
    }
    return e;
}

static enum err open_device(struct by_step *r, const char *device, struct why *why)
{
    struct best_set *none = NULL;
    const char *selector = "";
    enum err e = device_parse(device, &r->ops, &selector, why);

    if (!e && r->ops->simulated)
        e = why_set(why, ERR_INPUT, "--device %.60s computes nothing: expected opencl or cuda", device);
    if (!e)
        e = r->ops->open(selector, &r->device, why);
    if (e)
        return e;
    e = best_new(&none);
    if (!e)
        e = choices_of(none, &r->choices, why);
    best_free(none);
    return e;
}

enum err by_step_open(const struct graph *g, const char *device, const struct buf *bytes, const struct buf *list,
                      struct by_step **out, struct why *why)
{
    struct by_step *r = calloc(1, sizeof *r);
    enum err e;

    if (!r)
        return no_memory(why);
    r->g = g;
    e = open_device(r, device, why);
    if (!e)
        e = lower(r, why);
    if (!e)
        e = place_tensors(r, why);
    if (!e)
        e = load_all(r, bytes, list, why);
    if (e)
        by_step_close(r);
    else
        *out = r;
    return e;
}

void by_step_close(struct by_step *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->stages && i < r->lowered.n_steps; i++) {
        if (r->stages[i].loaded)
            r->ops->unload(r->stages[i].loaded);
        program_fini(&r->stages[i].program);
        blobs_fini(&r->stages[i].blobs);
    }
    for (size_t i = 0; r->tensors && i < r->lowered.n_tensors; i++)
        free(r->tensors[i]);
    free(r->tensors);
    free(r->of_node);
    free(r->stages);
    lowered_fini(&r->lowered);
    choices_close(r->choices);
    if (r->device)
        r->ops->close(r->device);
    free(r);
}

/* ---- running ---- */

/* The k-th buffer of a role that a program has; -1: it has fewer. */
static int buffer_of(const struct program *p, enum buffer_role role, int k)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == role && k-- == 0)
            return (int)i;
    return -1;
}

static enum err run_step(struct by_step *r, size_t i, struct why *why)
{
    const struct lowered_step *step = &r->lowered.steps[i];
    const struct stage *s = &r->stages[i];
    enum err e = ERR_OK;

    for (int k = 0; k < step->n_in && !e; k++) {
        const int at = buffer_of(&s->program, ROLE_INPUT, k);

        e = at < 0 ? why_set(why, ERR_UNSUPPORTED, "%s has other tensors than its step", s->program.workload)
                   : r->ops->write(s->loaded, at, bytes_of(r, (size_t)step->in[k]), why);
    }
    if (!e)
        e = r->ops->run(s->loaded, PHASE_RUN, NULL, NULL, why);
    for (int k = 0; k < step->n_out && !e; k++) {
        const int at = buffer_of(&s->program, ROLE_OUTPUT, k);

        e = at < 0 ? why_set(why, ERR_UNSUPPORTED, "%s has other tensors than its step", s->program.workload)
                   : r->ops->read(s->loaded, at, bytes_of(r, (size_t)(step->out + k)), why);
    }
    return e ? why_prefix(why, e, "%s", step->name) : ERR_OK;
}

enum err by_step_run(struct by_step *r, const float *const *inputs, struct why *why)
{
    enum err e = ERR_OK;
    size_t n = 0;

    for (size_t i = 0; i < r->g->n_nodes; i++)
        if (r->g->nodes[i].op == GRAPH_INPUT)
            memcpy(bytes_of(r, (size_t)r->of_node[i]), inputs[n++],
                   (size_t)graph_elems(&r->g->nodes[i].shape) * sizeof **inputs);
    for (size_t i = 0; i < r->lowered.n_steps && !e; i++)
        e = run_step(r, i, why);
    return e;
}

bool by_step_read(const struct by_step *r, int i_node, float *out)
{
    const struct lowered_tensor *t;
    const struct graph_shape *s;
    const unsigned char *from;
    int64_t lanes, pixels, n;

    if (r->of_node[i_node] < 0)
        return false;
    t = &r->lowered.tensors[r->of_node[i_node]];
    from = bytes_of(r, (size_t)r->of_node[i_node]);
    s = &r->g->nodes[t->i_node].shape;
    lanes = images_lanes(t->layout, s->rank == 4 ? s->dim[1] : 1);
    pixels = s->rank == 4 ? s->dim[2] * s->dim[3] : 1;
    n = graph_elems(&r->g->nodes[i_node].shape);
    for (int64_t i = 0; i < n; i++) {
        const int64_t plane = i / pixels, pixel = i % pixels;
        const int64_t at = lanes > 1 ? (plane / lanes * pixels + pixel) * lanes + plane % lanes : i;

        out[i] = (float)dtype_load(t->dtype, from, (size_t)at);
    }
    return true;
}
