/* SPDX-License-Identifier: MIT */
/* network_cu.c - networks over CUDA: memory between the layers, weights by name, all steps as one graph. */
#include "exec/network_cu.h"

#include "exec/common.h"
#include "exec/exec_cu_parts.h"
#include "exec/network_find.h"

#include <stdlib.h>
#include <string.h>

/* The weights of a step: as given, until it is packed; NULL where none was. */
struct exec_net_cu_step {
    void **given;
    int n_weights;
    struct exec_cu_weights *packed;
};

struct exec_net_cu {
    struct exec_cu *s;
    const struct exec_network *n;
    struct exec_cu_op *const *ops;
    exec_cu_mem *slots;
    struct exec_net_cu_step *steps;
    exec_cu_mem *tensors;         /* room for the inputs and outputs of any step */
    exec_cu_mem *arguments;       /* of the graph */
    struct CUstream_st *stream;   /* that is captured */
    struct CUgraphExec_st *graph; /* NULL = none yet, or none any more */
    int n_grown;                  /* of the session, when it was captured */
    int cannot;                   /* capture was tried in vain */
};

static enum exec_status exec_net_cu_slots(struct exec_net_cu *net, struct exec_words *words)
{
    enum exec_status status = exec_cu_enter(net->s, words);
    if (status != EXEC_OK)
        return status;
    for (int i = 0; status == EXEC_OK && i < net->n->n_slots; i++)
        status = exec_cu_allocate(net->s, net->n->name, net->n->slot_bytes[i], &net->slots[i], words);
    if (status == EXEC_OK)
        status = exec_cu_check(&net->s->cu, net->s->cu.cuStreamCreate(&net->stream, EXEC_CU_NON_BLOCKING), "a stream",
                               words);
    exec_cu_leave(net->s);
    return status;
}

static enum exec_status exec_net_cu_steps(struct exec_net_cu *net, struct exec_words *words)
{
    int most = 0;
    const enum exec_status status = exec_net_check(net->n, &most, words);
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++) {
        net->steps[i].n_weights = exec_net_weights(exec_net_plan(net->n, i));
        net->steps[i].given = calloc((size_t)net->steps[i].n_weights + 1, sizeof(void *));
        if (!net->steps[i].given)
            return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    if (status != EXEC_OK)
        return status;
    net->tensors = calloc((size_t)most + 1, sizeof *net->tensors);
    return net->tensors ? EXEC_OK : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
}

EXEC_API enum exec_status exec_net_cu_open(struct exec_cu *s, const struct exec_network *n,
                                           struct exec_cu_op *const *ops, struct exec_words *words,
                                           struct exec_net_cu **out)
{
    struct exec_net_cu *net = calloc(1, sizeof *net);
    enum exec_status status;
    if (!net)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    net->s = s;
    net->n = n;
    net->ops = ops;
    net->slots = calloc((size_t)n->n_slots + 1, sizeof *net->slots);
    net->steps = calloc((size_t)n->n_steps + 1, sizeof *net->steps);
    net->arguments = calloc((size_t)n->n_arguments + 1, sizeof *net->arguments);
    status = net->slots && net->steps && net->arguments ? exec_net_cu_steps(net, words)
                                                        : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    status = status == EXEC_OK ? exec_net_cu_slots(net, words) : status;
    if (status != EXEC_OK) {
        exec_net_cu_close(net);
        return status;
    }
    *out = net;
    return EXEC_OK;
}

static void exec_net_cu_forget(struct exec_net_cu *net)
{
    if (net->graph)
        (void)net->s->cu.cuGraphExecDestroy(net->graph);
    net->graph = NULL;
}

static void exec_net_cu_drop(struct exec_net_cu_step *step)
{
    for (int k = 0; step->given && k < step->n_weights; k++) {
        free(step->given[k]);
        step->given[k] = NULL;
    }
}

EXEC_API void exec_net_cu_close(struct exec_net_cu *net)
{
    if (!net)
        return;
    if (exec_cu_enter(net->s, NULL) == EXEC_OK) {
        exec_cu_wait(net->s);
        exec_net_cu_forget(net);
        for (int i = 0; net->slots && i < net->n->n_slots; i++)
            if (net->slots[i] != 0)
                (void)net->s->cu.cuMemFree_v2(net->slots[i]);
        if (net->stream)
            (void)net->s->cu.cuStreamDestroy_v2(net->stream);
        exec_cu_leave(net->s);
    }
    for (int i = 0; net->steps && i < net->n->n_steps; i++) {
        exec_net_cu_drop(&net->steps[i]);
        exec_cu_weights_free(net->steps[i].packed);
        free(net->steps[i].given);
    }
    free(net->slots);
    free(net->steps);
    free(net->tensors);
    free(net->arguments);
    free(net);
}

/* ---- weights ---- */

/* Packs a step that has all of its weights; otherwise nothing is done. A graph has the old ones in it. */
static enum exec_status exec_net_cu_pack(struct exec_net_cu *net, int i_step, struct CUstream_st *stream,
                                         struct exec_words *words)
{
    struct exec_net_cu_step *step = &net->steps[i_step];
    struct exec_cu_weights *packed = NULL;
    enum exec_status status;
    for (int k = 0; k < step->n_weights; k++)
        if (!step->given[k])
            return EXEC_OK;
    status = exec_cu_pack_host(net->ops[net->n->steps[i_step].i_plan], stream, (const void *const *)step->given, words,
                               &packed);
    if (status != EXEC_OK)
        return status;
    if (exec_cu_enter(net->s, NULL) == EXEC_OK) {
        exec_cu_wait(net->s);
        exec_net_cu_forget(net);
        exec_cu_leave(net->s);
    }
    exec_cu_weights_free(step->packed);
    step->packed = packed;
    exec_net_cu_drop(step);
    return EXEC_OK;
}

EXEC_API enum exec_status exec_net_cu_set(struct exec_net_cu *net, struct CUstream_st *stream, const char *layer,
                                          const char *name, const void *data, size_t n_bytes, struct exec_words *words)
{
    int i_step = 0, k = 0;
    enum exec_status status;
    void *copy;
    if (!net || !layer || !name || !data)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open network, a layer, a weight and its data");
    status = exec_net_find(net->n, layer, name, n_bytes, &i_step, &k, words);
    if (status != EXEC_OK)
        return status;
    copy = malloc(n_bytes + 1);
    if (!copy)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    memcpy(copy, data, n_bytes);
    free(net->steps[i_step].given[k]);
    net->steps[i_step].given[k] = copy;
    return exec_net_cu_pack(net, i_step, stream, words);
}

/* ---- runs ---- */

/* All layers have their weights; those that need none are packed here. */
static enum exec_status exec_net_cu_ready(struct exec_net_cu *net, struct CUstream_st *stream, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++) {
        if (net->steps[i].packed)
            continue;
        if (net->steps[i].n_weights > 0) {
            return exec_fail(words, EXEC_NOT_PACKED, "%s: weights of layer %s are missing", net->n->name,
                             net->n->steps[i].layer);
        }
        status = exec_net_cu_pack(net, i, stream, words);
    }
    return status;
}

static exec_cu_mem exec_net_cu_mem(const struct exec_net_cu *net, int i_value, const exec_cu_mem *arguments)
{
    const struct exec_value *v = &net->n->values[i_value];
    return v->slot < 0 ? arguments[EXEC_ARGUMENT(v->slot)] : net->slots[v->slot] + (v->is_part ? v->at : 0);
}

/* Launch by launch. */
static enum exec_status exec_net_cu_launch(struct exec_net_cu *net, struct CUstream_st *stream,
                                           const exec_cu_mem *arguments, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < net->n->n_steps; i++) {
        const struct exec_step *s = &net->n->steps[i];
        for (int k = 0; k < s->n_values; k++)
            net->tensors[k] = exec_net_cu_mem(net, s->values[k], arguments);
        status = exec_cu_run(net->ops[s->i_plan], stream, net->tensors, net->steps[i].packed, words);
    }
    return status;
}

/* Can this driver capture at all, and is the stream not being captured by somebody else? */
static int exec_net_cu_may_capture(const struct exec_net_cu *net, struct CUstream_st *stream)
{
    const struct exec_cu_calls *cu = &net->s->cu;
    int status = 0;
    return !net->cannot && cu->cuStreamBeginCapture_v2 && cu->cuStreamEndCapture && cu->cuGraphInstantiateWithFlags &&
           cu->cuGraphLaunch && cu->cuGraphExecDestroy && cu->cuGraphDestroy && cu->cuStreamIsCapturing &&
           cu->cuStreamIsCapturing(stream, &status) == 0 && status == 0;
}

/* Is there a graph over these arguments, and over the session's memory as it is? */
static int exec_net_cu_has_graph(const struct exec_net_cu *net, const exec_cu_mem *arguments)
{
    return net->graph && net->n_grown == net->s->n_grown &&
           memcmp(net->arguments, arguments, (size_t)net->n->n_arguments * sizeof *arguments) == 0;
}

/* The launches as a graph; one that cannot be had is no error. */
static void exec_net_cu_capture(struct exec_net_cu *net, const exec_cu_mem *arguments)
{
    const struct exec_cu_calls *cu = &net->s->cu;
    struct CUgraph_st *graph = NULL;
    enum exec_status status;
    exec_cu_wait(net->s); /* the old one may be under way */
    exec_net_cu_forget(net);
    net->cannot = cu->cuStreamBeginCapture_v2(net->stream, EXEC_CU_CAPTURE_RELAXED) != 0;
    if (net->cannot)
        return;
    status = exec_net_cu_launch(net, net->stream, arguments, NULL);
    net->cannot = cu->cuStreamEndCapture(net->stream, &graph) != 0 || status != EXEC_OK || !graph ||
                  cu->cuGraphInstantiateWithFlags(&net->graph, graph, 0) != 0;
    if (graph)
        (void)cu->cuGraphDestroy(graph);
    if (net->cannot)
        net->graph = NULL;
    memcpy(net->arguments, arguments, (size_t)net->n->n_arguments * sizeof *arguments);
    net->n_grown = net->s->n_grown;
}

/* Behind what other streams of the session have under way. */
static enum exec_status exec_net_cu_replay(struct exec_net_cu *net, struct CUstream_st *stream,
                                           struct exec_words *words)
{
    struct exec_cu *s = net->s;
    int error = s->busy && s->stream != stream ? s->cu.cuStreamWaitEvent(stream, s->event, 0) : 0;
    error = error ? error : s->cu.cuGraphLaunch(net->graph, stream);
    if (!error && s->cu.cuEventRecord(s->event, stream) == 0) {
        s->busy = 1;
        s->stream = stream;
    }
    return exec_cu_check(&s->cu, error, "the graph of the network", words);
}

EXEC_API enum exec_status exec_net_cu_run(struct exec_net_cu *net, struct CUstream_st *stream,
                                          const exec_cu_mem *arguments, struct exec_words *words)
{
    enum exec_status status;
    if (!net || !arguments)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open network and its arguments");
    for (int i = 0; i < net->n->n_arguments; i++)
        if (arguments[i] == 0)
            return exec_fail(words, EXEC_BAD_ARGUMENT, "argument %d of %s is NULL", i, net->n->name);
    status = exec_net_cu_ready(net, stream, words);
    status = status == EXEC_OK ? exec_cu_enter(net->s, words) : status;
    if (status != EXEC_OK)
        return status;
    if (exec_net_cu_may_capture(net, stream)) {
        if (!exec_net_cu_has_graph(net, arguments))
            exec_net_cu_capture(net, arguments);
        status =
            net->graph ? exec_net_cu_replay(net, stream, words) : exec_net_cu_launch(net, stream, arguments, words);
    } else {
        status = exec_net_cu_launch(net, stream, arguments, words);
    }
    exec_cu_leave(net->s);
    return status;
}
