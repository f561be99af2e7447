/* SPDX-License-Identifier: MIT */
/* network_cl.c - networks over OpenCL: memory between the layers, weights by name, steps in order. */
#include "exec/network_cl.h"

#include "exec/common.h"
#include "exec/exec_cl_parts.h"
#include "exec/network_find.h"
#include "exec/pages_cl.h"

#include <stdlib.h>
#include <string.h>

/* The weights of a step: as given, until it is packed; NULL where none was. Its launches, once they are bound. */
struct exec_net_cl_step {
    cl_mem *given;
    int n_weights;
    struct exec_cl_weights *packed;
    int i_base,
        *from; /* the base's step of that layer, -1: none; of each of packed's buffers 1 + the base's that it is */
    struct exec_cl_launches bound; /* zeroed: not yet, or not at all */
};

struct exec_net_cl {
    cl_context context;
    const struct exec_network *n;
    struct exec_cl_op *const *ops;
    struct exec_net_cl *base; /* whose slots these are, and whose weights where they are packed alike; NULL: its own */
    cl_mem *slots;
    cl_mem *parts; /* [n_values]: of slots; NULL where a value is none */
    int has_parts; /* all of them, of the slots that there are */
    struct exec_net_cl_step *steps;
    cl_mem *tensors; /* room for the inputs and outputs of any step */
    int gathered;    /* slots and weights were moved into pages */
    int n_grown;     /* of the session, when steps were bound */
    struct exec_pages pages;
};

static enum exec_status exec_net_cl_slots(struct exec_net_cl *net, struct exec_words *words)
{
    cl_int code = CL_SUCCESS;
    if (net->base)
        return EXEC_OK;
    for (int i = 0; code == CL_SUCCESS && i < net->n->n_slots; i++)
        net->slots[i] = clCreateBuffer(net->context, CL_MEM_READ_WRITE, net->n->slot_bytes[i], NULL, &code);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "memory between the layers of", net->n->name, code);
}

static cl_mem exec_net_cl_slot(const struct exec_net_cl *net, int i_slot)
{
    return (net->base ? net->base : net)->slots[i_slot];
}

static void exec_net_cl_drop_parts(struct exec_net_cl *net)
{
    for (int i = 0; i < net->n->n_values; i++) {
        if (net->parts[i])
            clReleaseMemObject(net->parts[i]);
        net->parts[i] = NULL;
    }
    net->has_parts = 0;
}

/* Of the slots as they are now. */
static enum exec_status exec_net_cl_parts(struct exec_net_cl *net, struct exec_words *words)
{
    cl_int code = CL_SUCCESS;
    exec_net_cl_drop_parts(net);
    for (int i = 0; code == CL_SUCCESS && i < net->n->n_values; i++) {
        const struct exec_value *v = &net->n->values[i];
        const cl_buffer_region region = {v->at, v->n_bytes};
        if (v->is_part && v->slot >= 0)
            net->parts[i] = clCreateSubBuffer(exec_net_cl_slot(net, v->slot), CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    }
    net->has_parts = code == CL_SUCCESS;
    return code == CL_SUCCESS ? EXEC_OK
                              : exec_cl_failed(words, "parts of memory between the layers of", net->n->name, code);
}

static enum exec_status exec_net_cl_steps(struct exec_net_cl *net, struct exec_words *words)
{
    int most = 0;
    const enum exec_status status = exec_net_check(net->n, &most, words);
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++) {
        struct exec_net_cl_step *step = &net->steps[i];
        const struct exec_plan *plan = exec_net_plan(net->n, i);
        step->n_weights = exec_net_weights(plan);
        step->given = calloc((size_t)step->n_weights + 1, sizeof(cl_mem));
        step->from = calloc((size_t)plan->n_buffers + 1, sizeof(int));
        step->i_base = net->base ? exec_net_layer(net->base->n, net->n->steps[i].layer) : -1;
        if (!step->given || !step->from)
            return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    if (status != EXEC_OK)
        return status;
    net->tensors = calloc((size_t)most + 1, sizeof *net->tensors);
    return net->tensors ? EXEC_OK : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
}

static enum exec_status exec_net_cl_make(cl_context context, const struct exec_network *n,
                                         struct exec_cl_op *const *ops, struct exec_net_cl *base,
                                         struct exec_words *words, struct exec_net_cl **out)
{
    struct exec_net_cl *net = calloc(1, sizeof *net);
    enum exec_status status;
    if (!net)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    net->context = context;
    net->n = n;
    net->ops = ops;
    net->base = base;
    net->slots = calloc((size_t)n->n_slots + 1, sizeof *net->slots);
    net->parts = calloc((size_t)n->n_values + 1, sizeof *net->parts);
    net->steps = calloc((size_t)n->n_steps + 1, sizeof *net->steps);
    status = net->slots && net->parts && net->steps ? exec_net_cl_steps(net, words)
                                                    : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    status = status == EXEC_OK ? exec_net_cl_slots(net, words) : status;
    if (status != EXEC_OK) {
        exec_net_cl_close(net);
        return status;
    }
    *out = net;
    return EXEC_OK;
}

EXEC_API enum exec_status exec_net_cl_open(cl_context context, const struct exec_network *n,
                                           struct exec_cl_op *const *ops, struct exec_words *words,
                                           struct exec_net_cl **out)
{
    return exec_net_cl_make(context, n, ops, NULL, words, out);
}

EXEC_API enum exec_status exec_net_cl_open_beside(struct exec_net_cl *base, const struct exec_network *n,
                                                  struct exec_words *words, struct exec_net_cl **out)
{
    for (int i = 0; i < n->n_slots; i++)
        if (i >= base->n->n_slots || n->slot_bytes[i] > base->n->slot_bytes[i])
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s needs more memory than the network beside it", n->name);
    return exec_net_cl_make(base->context, n, base->ops, base, words, out);
}

static void exec_net_cl_drop(struct exec_net_cl_step *step)
{
    for (int k = 0; step->given && k < step->n_weights; k++) {
        if (step->given[k]) {
            clReleaseMemObject(step->given[k]);
            step->given[k] = NULL;
        }
    }
}

/* Waits for what the session of the ops did last. */
static void exec_net_cl_finish(const struct exec_net_cl *net)
{
    const struct exec_cl *s = net->n->n_plans > 0 ? net->ops[0]->s : NULL;
    if (s && s->last_queue)
        (void)clFinish(s->last_queue);
}

/* The launches of a step are bound anew with its next run. */
static void exec_net_cl_unbind(struct exec_net_cl_step *step)
{
    if (step->bound.plan)
        exec_cl_launches_fini(&step->bound);
}

EXEC_API void exec_net_cl_close(struct exec_net_cl *net)
{
    if (!net)
        return;
    if (net->pages.block)
        exec_net_cl_finish(net);
    for (int i = 0; net->steps && i < net->n->n_steps; i++) {
        exec_net_cl_drop(&net->steps[i]);
        exec_net_cl_unbind(&net->steps[i]);
        exec_cl_weights_free(net->steps[i].packed);
        free(net->steps[i].given);
        free(net->steps[i].from);
    }
    exec_cl_release(net->parts, net->parts ? net->n->n_values : 0);
    exec_cl_release(net->slots, net->slots && !net->base ? net->n->n_slots : 0);
    exec_pages_close(&net->pages);
    free(net->steps);
    free(net->tensors);
    free(net);
}

#define EXEC_NET_CL_PIECE ((size_t)1 << 18) /* bytes of both that are compared at a time */

/* Have two buffers of n bytes the same content? */
static int exec_net_cl_same(cl_command_queue queue, cl_mem a, cl_mem b, size_t n)
{
    unsigned char *piece = malloc(2 * EXEC_NET_CL_PIECE);
    int same = piece != NULL;
    for (size_t at = 0; same && at < n; at += EXEC_NET_CL_PIECE) {
        const size_t m = n - at < EXEC_NET_CL_PIECE ? n - at : EXEC_NET_CL_PIECE;
        same = clEnqueueReadBuffer(queue, a, CL_TRUE, at, m, piece, 0, NULL, NULL) == CL_SUCCESS &&
               clEnqueueReadBuffer(queue, b, CL_TRUE, at, m, piece + EXEC_NET_CL_PIECE, 0, NULL, NULL) == CL_SUCCESS &&
               memcmp(piece, piece + EXEC_NET_CL_PIECE, m) == 0;
    }
    free(piece);
    return same;
}

static void exec_net_cl_take(cl_mem *mem, cl_mem other)
{
    clRetainMemObject(other);
    clReleaseMemObject(*mem);
    *mem = other;
}

/* Buffers of a step that the base has under the same name, with the same content, are the base's. */
static void exec_net_cl_share(struct exec_net_cl *net, int i_step, cl_command_queue queue)
{
    struct exec_net_cl_step *step = &net->steps[i_step];
    const struct exec_cl_weights *theirs = step->i_base >= 0 ? net->base->steps[step->i_base].packed : NULL;
    const struct exec_plan *plan = exec_net_plan(net->n, i_step);
    for (int k = 0; k < step->packed->n_mems; k++) {
        step->from[k] = 0;
        for (int m = 0; theirs && step->packed->mems[k] && !step->from[k] && m < theirs->n_mems; m++) {
            const struct exec_buffer *b = &exec_net_plan(net->base->n, step->i_base)->buffers[m];
            if (!theirs->mems[m] || b->n_bytes != plan->buffers[k].n_bytes || strcmp(b->id, plan->buffers[k].id) != 0 ||
                !exec_net_cl_same(queue, step->packed->mems[k], theirs->mems[m], b->n_bytes))
                continue;
            exec_net_cl_take(&step->packed->mems[k], theirs->mems[m]);
            step->from[k] = m + 1;
        }
    }
}

/* Buffers that are the base's are where the base has them now. */
static void exec_net_cl_follow_base(struct exec_net_cl *net)
{
    for (int i = 0; i < net->n->n_steps; i++) {
        struct exec_net_cl_step *step = &net->steps[i];
        for (int k = 0; k < step->packed->n_mems; k++) {
            const cl_mem *now = step->from[k] ? &net->base->steps[step->i_base].packed->mems[step->from[k] - 1] : NULL;
            if (now && *now != step->packed->mems[k]) {
                exec_net_cl_unbind(step);
                exec_net_cl_take(&step->packed->mems[k], *now);
            }
        }
    }
}

/* Packs a step that has all of its weights; otherwise nothing is done. */
static enum exec_status exec_net_cl_pack(struct exec_net_cl *net, int i_step, cl_command_queue queue,
                                         struct exec_words *words)
{
    struct exec_net_cl_step *step = &net->steps[i_step];
    struct exec_cl_weights *packed = NULL;
    enum exec_status status;
    for (int k = 0; k < step->n_weights; k++)
        if (!step->given[k])
            return EXEC_OK;
    status = exec_cl_pack(net->ops[net->n->steps[i_step].i_plan], queue, step->given, words, &packed);
    if (status == EXEC_OK) {
        exec_net_cl_unbind(step);
        exec_cl_weights_free(step->packed);
        step->packed = packed;
        exec_net_cl_drop(step);
        if (net->base)
            exec_net_cl_share(net, i_step, queue);
    }
    return status;
}

EXEC_API enum exec_status exec_net_cl_set(struct exec_net_cl *net, cl_command_queue queue, const char *layer,
                                          const char *name, const void *data, size_t n_bytes, struct exec_words *words)
{
    int i_step = 0, k = 0;
    enum exec_status status;
    cl_int code;
    cl_mem mem;
    if (!net || !queue || !layer || !name || !data)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open network, a queue, a layer, a weight and its data");
    status = exec_net_find(net->n, layer, name, n_bytes, &i_step, &k, words);
    if (status != EXEC_OK)
        return status;
    mem = clCreateBuffer(net->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n_bytes, (void *)data, &code);
    if (code != CL_SUCCESS)
        return exec_cl_failed(words, "weight of layer", layer, code);
    if (net->steps[i_step].given[k])
        clReleaseMemObject(net->steps[i_step].given[k]);
    net->steps[i_step].given[k] = mem;
    return exec_net_cl_pack(net, i_step, queue, words);
}

static cl_mem exec_net_cl_mem(const struct exec_net_cl *net, int i_value, const cl_mem *arguments)
{
    const int slot = net->n->values[i_value].slot;
    return slot < 0              ? arguments[EXEC_ARGUMENT(slot)]
           : net->parts[i_value] ? net->parts[i_value]
                                 : exec_net_cl_slot(net, slot);
}

/* All layers have their weights; those that need none are packed here. */
static enum exec_status exec_net_cl_ready(struct exec_net_cl *net, cl_command_queue queue, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++) {
        if (net->steps[i].packed)
            continue;
        if (net->steps[i].n_weights > 0) {
            return exec_fail(words, EXEC_NOT_PACKED, "%s: weights of layer %s are missing", net->n->name,
                             net->n->steps[i].layer);
        }
        status = exec_net_cl_pack(net, i, queue, words);
    }
    return status;
}

static size_t exec_net_cl_bytes(const struct exec_net_cl *net)
{
    size_t n = 0;
    for (int i = 0; i < net->n->n_slots; i++)
        n += exec_pages_room(net->n->slot_bytes[i]);
    for (int i = 0; i < net->n->n_steps; i++)
        for (int k = 0; k < net->steps[i].packed->n_mems; k++)
            n += net->steps[i].packed->mems[k] ? exec_pages_room(exec_net_plan(net->n, i)->buffers[k].n_bytes) : 0;
    return n;
}

/* Moves a buffer into the pages; where that fails it stays where it is. */
static void exec_net_cl_move(struct exec_net_cl *net, cl_command_queue queue, cl_mem *mem, size_t n_bytes)
{
    cl_mem moved = exec_pages_buffer(&net->pages, net->context, n_bytes);
    if (moved && clEnqueueCopyBuffer(queue, *mem, moved, 0, 0, n_bytes, 0, NULL, NULL) != CL_SUCCESS) {
        clReleaseMemObject(moved);
        moved = NULL;
    }
    if (moved) {
        clReleaseMemObject(*mem);
        *mem = moved;
    }
}

/* Once, when all layers are packed and before parts are made: slots and weights into pages, in the order of their use.
 * Weights that are given later have buffers of their own. */
static void exec_net_cl_gather(struct exec_net_cl *net, cl_command_queue queue)
{
    net->gathered = 1;
    exec_pages_open(&net->pages, net->ops[0]->s->device, exec_net_cl_bytes(net));
    if (!net->pages.block)
        return;
    exec_net_cl_finish(net); /* they may have been packed on another queue */
    for (int i = 0; i < net->n->n_slots; i++)
        exec_net_cl_move(net, queue, &net->slots[i], net->n->slot_bytes[i]);
    for (int i = 0; i < net->n->n_steps; i++)
        for (int k = 0; k < net->steps[i].packed->n_mems; k++)
            if (net->steps[i].packed->mems[k])
                exec_net_cl_move(net, queue, &net->steps[i].packed->mems[k],
                                 exec_net_plan(net->n, i)->buffers[k].n_bytes);
}

/* Does a step read or write what the caller gives with each run? */
static int exec_net_cl_has_arguments(const struct exec_net_cl *net, const struct exec_step *s)
{
    for (int k = 0; k < s->n_values; k++)
        if (net->n->values[s->values[k]].slot < 0)
            return 1;
    return 0;
}

/* Bound once and started again and again where nothing changes from run to run. */
static enum exec_status exec_net_cl_start(struct exec_net_cl *net, int i_step, cl_command_queue queue,
                                          const cl_mem *arguments, struct exec_words *words)
{
    const struct exec_step *s = &net->n->steps[i_step];
    struct exec_net_cl_step *step = &net->steps[i_step];
    struct exec_cl_op *op = net->ops[s->i_plan];
    enum exec_status status = EXEC_OK;
    if (step->bound.plan)
        return exec_cl_bound_run(op, queue, &step->bound, words);
    for (int k = 0; k < s->n_values; k++)
        net->tensors[k] = exec_net_cl_mem(net, s->values[k], arguments);
    if (exec_net_cl_has_arguments(net, s) || !exec_cl_is_plain(op))
        return exec_cl_run(op, queue, net->tensors, step->packed, words);
    status = exec_cl_bound_init(op, net->tensors, step->packed, words, &step->bound);
    return status == EXEC_OK ? exec_cl_bound_run(op, queue, &step->bound, words) : status;
}

/* What was bound to a slot of the session that has grown is bound anew. */
static void exec_net_cl_follow_slots(struct exec_net_cl *net)
{
    const int n_grown = net->n->n_plans > 0 ? net->ops[0]->s->n_grown : 0;
    for (int i = 0; n_grown != net->n_grown && i < net->n->n_steps; i++)
        exec_net_cl_unbind(&net->steps[i]);
    net->n_grown = n_grown;
}

/* All weights are there, and all memory where it stays. */
static enum exec_status exec_net_cl_prepare(struct exec_net_cl *net, cl_command_queue queue, struct exec_words *words)
{
    enum exec_status status = net->base ? exec_net_cl_prepare(net->base, queue, words) : EXEC_OK;
    status = status == EXEC_OK ? exec_net_cl_ready(net, queue, words) : status;
    if (status == EXEC_OK && net->n->n_plans > 0)
        status = exec_cl_check_queue(net->ops[0]->s, queue, words);
    if (status == EXEC_OK && !net->base && !net->gathered && net->n->n_steps > 0)
        exec_net_cl_gather(net, queue);
    if (status == EXEC_OK && net->base)
        exec_net_cl_follow_base(net);
    if (status == EXEC_OK && !net->has_parts)
        status = exec_net_cl_parts(net, words);
    return status;
}

EXEC_API enum exec_status exec_net_cl_run(struct exec_net_cl *net, cl_command_queue queue, const cl_mem *arguments,
                                          struct exec_words *words)
{
    enum exec_status status;
    if (!net || !queue || !arguments)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open network, a queue and its arguments");
    for (int i = 0; i < net->n->n_arguments; i++)
        if (!arguments[i])
            return exec_fail(words, EXEC_BAD_ARGUMENT, "argument %d of %s is NULL", i, net->n->name);
    status = exec_net_cl_prepare(net, queue, words);
    exec_net_cl_follow_slots(net);
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++)
        status = exec_net_cl_start(net, i, queue, arguments, words);
    return status;
}
