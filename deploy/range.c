/* SPDX-License-Identifier: MIT */
#include "deploy/range.h"

#include "deploy/names.h"
#include "deploy/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size that may become a bucket. */
struct candidates {
    struct deploy_range_bucket list[RANGE_MAX_BUCKETS];
    size_t n;
};

static void candidates_fini(struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++)
        deploy_network_free(c->list[i].network);
}

static enum err price_all(const struct graph_range *range, const struct deploy_source *from,
                          const struct deploy_network_options *o, struct candidates *c, struct deploy_range *out,
                          struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < range->n_buckets && !e; i++) {
        struct deploy_range_bucket *b = &c->list[c->n];

        b->from = &range->buckets[i];
        e = deploy_network_choose(&b->from->graph, from, o, &b->network, why);
        if (!e)
            c->n++;
        if (e != ERR_NOT_FOUND || i + 1 == range->n_buckets)
            continue;
        out->left_out[out->n_left_out++] = b->from->size;
        e = ERR_OK;
    }
    return e;
}

/* The memory of the largest is that of all. */
static enum err widen(struct lowered *largest, const struct lowered *other, struct why *why)
{
    if (other->n_slots > largest->n_slots) {
        int64_t *bytes = realloc(largest->slot_bytes, other->n_slots * sizeof *bytes);

        if (!bytes)
            return why_set(why, ERR_NOMEM, "out of memory");
        memset(bytes + largest->n_slots, 0, (other->n_slots - largest->n_slots) * sizeof *bytes);
        largest->slot_bytes = bytes;
        largest->n_slots = other->n_slots;
    }
    for (size_t k = 0; k < other->n_slots; k++)
        if (largest->slot_bytes[k] < other->slot_bytes[k])
            largest->slot_bytes[k] = other->slot_bytes[k];
    return ERR_OK;
}

static enum err choose(struct candidates *c, size_t most, struct deploy_range *r, struct why *why)
{
    int64_t sizes[RANGE_MAX_BUCKETS];
    double time_ns[RANGE_MAX_BUCKETS];
    bool chosen[RANGE_MAX_BUCKETS];
    struct deploy_network *largest = c->list[c->n - 1].network;
    enum err e = ERR_OK;

    for (size_t i = 0; i < c->n; i++) {
        sizes[i] = c->list[i].from->size;
        time_ns[i] = c->list[i].network->cost_ns;
    }
    r->mean = graph_range_choose(sizes, time_ns, c->n, r->of->least, most, chosen);
    for (size_t i = 0; i < c->n; i++)
        if (chosen[i]) {
            r->list[r->n++] = c->list[i];
            if (!e && c->list[i].network != largest)
                e = widen(&largest->lowered, &c->list[i].network->lowered, why);
            c->list[i].network = NULL;
        }
    return e;
}

enum err deploy_range_make(struct deploy_set *s, const struct best_set *best, const struct graph_range *range,
                           size_t most, const struct deploy_network_options *o, struct why *why)
{
    struct candidates c = {.n = 0};
    struct deploy_source from;
    enum err e;

    s->range = calloc(1, sizeof *s->range);
    if (!s->range)
        return why_set(why, ERR_NOMEM, "out of memory");
    s->range->of = range;
    e = deploy_source_open(&from, best, why);
    if (!e)
        e = price_all(range, &from, o, &c, s->range, why);
    if (!e)
        e = choose(&c, most, s->range, why);
    if (s->range->n)
        s->network = s->range->list[s->range->n - 1].network;
    for (size_t i = s->range->n; i-- > 0 && !e;)
        e = deploy_network_add(s, &from, o->calls && i + 1 == s->range->n, s->range->list[i].network, why);
    candidates_fini(&c);
    deploy_source_close(&from);
    return e;
}

void deploy_range_free(struct deploy_range *r)
{
    for (size_t i = 0; r && i + 1 < r->n; i++)
        deploy_network_free(r->list[i].network);
    free(r);
}

void deploy_range_describe(const struct deploy_range *r, struct buf *out)
{
    int64_t first = r->of->least;

    buf_printf(out, "%-20s %10s %12s\n", r->of->name, "bucket", "time");
    for (size_t i = 0; i < r->n; i++) {
        char sizes[48];

        snprintf(sizes, sizeof sizes, "%lld to %lld", (long long)first, (long long)r->list[i].from->size);
        buf_printf(out, "%-20s %10lld %9.3f ms\n", sizes, (long long)r->list[i].from->size,
                   r->list[i].network->cost_ns / 1e6);
        first = r->list[i].from->size + 1;
    }
    buf_printf(out, "a run takes %.2f times what a bucket of just its size would, in the mean of all sizes\n", r->mean);
    for (size_t i = 0; i < r->n_left_out; i++)
        buf_printf(out, "%s%s=%lld%s", i ? ", " : "no buckets, for they have layers without a record: ", r->of->name,
                   (long long)r->left_out[i], i + 1 == r->n_left_out ? "\n" : "");
}

void deploy_range_parameter(const struct deploy_range *r, char *out, size_t n)
{
    char symbol[DEPLOY_SYMBOL_BYTES] = "";

    snprintf(out, n, "n_%.60s", deploy_symbol(r->of->name, symbol, sizeof symbol) ? "size" : symbol);
}

static const struct range_place *place_of(const struct deploy_range *r, size_t i, enum range_made *made)
{
    return graph_range_argument(r->list[r->n - 1].from, i, made);
}

bool deploy_range_makes(const struct deploy_range *r, size_t i)
{
    enum range_made made = RANGE_GIVEN;

    if (r)
        (void)place_of(r, i, &made);
    return made != RANGE_GIVEN;
}

/* ---- text ---- */

void deploy_range_header(const struct deploy_set *s, struct buf *out)
{
    const struct deploy_range *r = s->range;

    buf_printf(out, "#define %s_N_BUCKETS %zu\n#define %s_LEAST %lld /* of %s */\n#define %s_MOST %lld\n\n",
               s->capitals, r->n, s->capitals, (long long)r->of->least, r->of->name, s->capitals,
               (long long)r->of->most);
}

/* "{axes, outer, inner, more}" of argument i. */
static void put_place(const struct deploy_range *r, const struct lowered *l, size_t i, struct buf *out)
{
    const size_t bytes = dtype_bytes(l->arguments[i].dtype);
    enum range_made made;
    const struct range_place *p = place_of(r, i, &made);

    if (made != RANGE_GIVEN)
        buf_printf(out, "    {-%d, %llu, %zu, %lld},\n", (int)made,
                   (unsigned long long)graph_elems(&l->graph->nodes[l->arguments[i].i_node].shape), bytes,
                   (long long)r->list[r->n - 1].from->more[made]);
    else
        buf_printf(out, "    {%d, %llu, %llu, %lld},\n", p->n, (unsigned long long)(p->n ? p->axis[0].outer : 0),
                   (unsigned long long)(p->n ? (uint64_t)p->axis[p->n - 1].inner * bytes : 0),
                   (long long)(p->n ? p->axis[0].more : 0));
}

/* Of two axes the second is right behind the first. */
static enum err check_places(const struct deploy_range *r, const struct lowered *l, struct why *why)
{
    const int64_t size = r->list[r->n - 1].from->size;

    for (size_t i = 0; i < l->n_arguments; i++) {
        enum range_made made;
        const struct range_place *p = place_of(r, i, &made);

        if (p->n == 2 &&
            (p->axis[1].outer != p->axis[0].outer * (size + p->axis[0].more) || p->axis[1].more != p->axis[0].more))
            return why_set(why, ERR_UNSUPPORTED, "%s: %s stands in it twice, with something between, or of two lengths",
                           l->graph->nodes[l->arguments[i].i_node].name, r->of->name);
    }
    return ERR_OK;
}

static const struct graph_node *node_named(const struct range_bucket *b, const char *name)
{
    const int i = graph_node_find(&b->graph, name);

    return i >= 0 ? &b->graph.nodes[i] : NULL;
}

/* The shape of a tensor of weights, where it may depend on the size: constants, and of what is depthwise channels. */
static bool shape_of(const struct range_bucket *b, const char *layer, const char *tensor, struct graph_shape *out)
{
    const struct graph_node *n = node_named(b, layer);
    int k;

    if (!n)
        return false;
    if (n->op == GRAPH_DEPTHWISE) {
        *out = (struct graph_shape){1, {n->shape.dim[1]}};
        return n->key[GRAPH_R] * n->key[GRAPH_S] == 1;
    }
    k = n->op == GRAPH_ELTWISE ? tensor[0] - 'a' : 0;
    if ((n->op != GRAPH_ELTWISE && n->op != GRAPH_GATHER) || k < 0 || k >= n->n_in ||
        b->graph.nodes[n->in[k]].op != GRAPH_CONSTANT)
        return false;
    *out = b->graph.nodes[n->in[k]].shape;
    return true;
}

static void put_dims(const struct graph_shape *s, struct buf *out)
{
    buf_puts(out, ", {");
    for (int d = 0; d < s->rank; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
    buf_puts(out, "}");
}

/* What a bucket has of the largest one's weights; how many they are. */
static size_t put_crops(const struct deploy_set *s, const struct deploy_range_bucket *b, struct buf *out)
{
    const struct range_bucket *largest = s->range->list[s->range->n - 1].from;
    const struct lowered *l = &b->network->lowered;
    size_t n = 0;

    buf_printf(out, "static const struct exec_crop network_crops_%lld[] = {\n", (long long)b->from->size);
    for (size_t i = 0; i < l->n_steps; i++) {
        const struct program *p = &s->layers[b->network->i_layer[i]].program;

        for (size_t k = 0; k < p->n_buffers; k++) {
            struct graph_shape from, to;

            if (p->buffers[k].role != ROLE_WEIGHT || !shape_of(largest, l->steps[i].name, p->buffers[k].id, &from) ||
                !shape_of(b->from, l->steps[i].name, p->buffers[k].id, &to) || graph_same_shape(&from, &to))
                continue;
            buf_puts(out, "    {");
            deploy_text_string(l->steps[i].name, out);
            buf_puts(out, ", ");
            deploy_text_string(p->buffers[k].id, out);
            buf_printf(out, ", %zu, %d", dtype_bytes(p->buffers[k].dtype), from.rank);
            put_dims(&from, out);
            put_dims(&to, out);
            buf_puts(out, "},\n");
            n++;
        }
    }
    buf_puts(out, n ? "};\n" : "    {NULL, NULL, 0, 0, {0}, {0}},\n};\n");
    return n;
}

static void put_public(const struct deploy_set *s, const struct lowered *l, struct buf *out)
{
    buf_printf(out, "const struct %s_place %s_places[%s_N_ARGUMENTS] = {\n", s->name, s->name, s->capitals);
    for (size_t i = 0; i < l->n_arguments; i++)
        if (!deploy_range_makes(s->range, i))
            put_place(s->range, l, i, out);
    buf_printf(out, "};\nconst struct %s_bucket %s_buckets[%s_N_BUCKETS] = {\n", s->name, s->name, s->capitals);
    for (size_t i = 0; i < s->range->n; i++)
        buf_printf(out, "    {%lld, %.17g},\n", (long long)s->range->list[i].from->size,
                   s->range->list[i].network->cost_ns);
    buf_puts(out, "};\n");
}

enum err deploy_range_source(const struct deploy_set *s, struct buf *out, struct why *why)
{
    const struct deploy_range *r = s->range;
    const struct lowered *l = &s->network->lowered;
    size_t n_inputs = 0, n_crops[RANGE_MAX_BUCKETS];
    const enum err e = check_places(r, l, why);

    for (size_t i = 0; i < r->n; i++)
        n_crops[i] = put_crops(s, &r->list[i], out);
    buf_puts(out, "static const struct exec_bucket network_buckets[] = {\n");
    for (size_t i = 0; i < r->n; i++) {
        const long long size = (long long)r->list[i].from->size;

        buf_printf(out, "    {%lld, &network_%lld, network_crops_%lld, %zu},\n", size, size, size, n_crops[i]);
    }
    buf_puts(out, "};\nstatic const struct exec_axes network_places[] = {\n");
    for (size_t i = 0; i < l->n_arguments; i++) {
        put_place(r, l, i, out);
        n_inputs += !l->arguments[i].is_output;
    }
    buf_puts(out, "};\nstatic const struct exec_range network = {");
    deploy_text_string(r->of->name, out);
    buf_printf(out, ", %lld, network_buckets, %zu, network_places, %zu};\n", (long long)r->of->least, r->n, n_inputs);
    put_public(s, l, out);
    return e;
}
