/* SPDX-License-Identifier: MIT */
/* A small network of every operator run as one: in f32, f16, i8 and u8, in every layout, against its definition. */
#define CL_TARGET_OPENCL_VERSION 120
#include "core/rng.h"
#include "kernels/graph_lower.h"
#include "libtune/choice.h"
#include "exec/network_cl.h"
#include "runtime/plan_of.h"
#include "logs/log.h"
#include "network_ref.h"
#include "runtime/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_WEIGHTS 64
#define MAX_PLANS 64

static const char residual_text[] = "x = input c=3 h=11 w=11\n"
                                    "c0 = conv2d x k=16 r=3 s=3 stride=2 pad=1 relu\n"
                                    "p0 = pool2d c0 max r=3 s=3 stride=2 pad=1\n"
                                    "sc = conv2d p0 k=32 r=1 s=1\n"
                                    "c1 = conv2d p0 k=32 r=3 s=3 pad=1 relu\n"
                                    "c2 = conv2d c1 + sc k=32 r=3 s=3 pad=1 relu\n"
                                    "c3 = conv2d c2 + c2 k=32 r=1 s=1\n"
                                    "p1 = pool2d c3 avg global\n"
                                    "d1 = dense p1 n=10\n"
                                    "prob = softmax d1\n";
static const char flat_text[] = "x = input c=16 h=9 w=7\n"
                                "dw = depthwise_conv2d x r=3 s=3 stride=2 pad=1 relu\n"
                                "c0 = conv2d dw k=20 r=1 s=1 relu\n"
                                "d0 = dense c0 n=24 relu\n"
                                "d1 = dense d0 n=12\n"
                                "prob = softmax d1\n";

/* Weights as given to the device and as doubles. */
struct weight {
    char layer[LOWERED_NAME_BYTES], tensor[40];
    enum dtype dtype;
    int64_t n;
    void *raw;
    double *values;
};

struct whole {
    struct graph g;
    enum dtype t;
    struct lowered l;
    struct exec_plan *plans[MAX_PLANS];
    struct exec_value values[MAX_PLANS * 2];
    struct exec_step steps[MAX_PLANS];
    int operands[MAX_PLANS][1 + GRAPH_MAX_INPUTS];
    size_t slots[MAX_PLANS];
    struct exec_network network;
    struct exec_cl_op *ops[MAX_PLANS];
    struct weight weights[MAX_WEIGHTS];
    size_t n_weights;
};

static struct {
    struct device_desc desc;
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    struct choices *choices;
} cl;

/* Multiples of 1/8 in floats; small integers in int8; scales that are sums of few powers of two. */
static double value(struct rng *r, const char *tensor, enum dtype t)
{
    if (strcmp(tensor, "scale") == 0)
        return (double)(1 + rng_below(r, 3)) / 64;
    if (strcmp(tensor, "zero") == 0)
        return (double)rng_below(r, 256);
    if (t == DTYPE_I8)
        return (double)rng_below(r, 61) - 30;
    return t == DTYPE_I32 ? (double)rng_below(r, 2001) - 1000 : ((double)rng_below(r, 17) - 8) / 32;
}

static void add_weight(struct whole *n, const char *layer, const struct program_buffer *b, struct rng *r)
{
    struct weight *w = &n->weights[n->n_weights++];

    assert_true(n->n_weights <= MAX_WEIGHTS);
    snprintf(w->layer, sizeof w->layer, "%s", layer);
    snprintf(w->tensor, sizeof w->tensor, "%s", b->id);
    w->dtype = b->dtype;
    w->n = b->n_elems;
    w->raw = calloc((size_t)w->n, dtype_bytes(w->dtype));
    w->values = calloc((size_t)w->n, sizeof *w->values);
    for (int64_t i = 0; i < w->n; i++) {
        double v = value(r, b->id, b->dtype);

        if (strcmp(b->id, "sum_scale") == 0)
            v = i ? 0.5 : 0.75;
        dtype_store(w->dtype, w->raw, (size_t)i, v);
        w->values[i] = dtype_load(w->dtype, w->raw, (size_t)i);
    }
}

static const double *weights_of(const char *layer, const char *tensor, int64_t n, void *arg)
{
    const struct whole *whole = arg;

    for (size_t i = 0; i < whole->n_weights; i++)
        if (strcmp(whole->weights[i].layer, layer) == 0 && strcmp(whole->weights[i].tensor, tensor) == 0) {
            assert_int_equal(whole->weights[i].n, n);
            return whole->weights[i].values;
        }
    fail_msg("no weight %s of %s", tensor, layer);
    return NULL;
}

/* The default program of a step as a plan, and its weights. */
static void make_step(struct whole *n, size_t i, struct rng *r)
{
    const struct lowered_step *s = &n->l.steps[i];
    struct workload w;
    struct choice c;
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    int n_values = 0, n_in = 0;

    blobs_init(&blobs, (size_t)1 << 26);
    if (workload_parse(s->workload, &w, &why) || choice_make(cl.choices, &w, &cl.desc, &c, &why) ||
        choice_kernels(&c, &w, &cl.desc, &p, &blobs, &why) || plan_of_program(&p, &blobs, &n->plans[i], &why))
        fail_msg("%s: %s", s->name, why.text);
    for (size_t k = 0; k < p.n_buffers; k++)
        if (p.buffers[k].role == ROLE_WEIGHT)
            add_weight(n, s->name, &p.buffers[k], r);
        else if (p.buffers[k].role == ROLE_INPUT || p.buffers[k].role == ROLE_OUTPUT) {
            assert_true(p.buffers[k].role == ROLE_OUTPUT || n_in < s->n_in);
            n->operands[i][n_values++] = p.buffers[k].role == ROLE_OUTPUT ? s->out : s->in[n_in++];
        }
    n->steps[i] = (struct exec_step){s->name, (int)i, n->operands[i], n_values, 0};
    program_fini(&p);
    blobs_fini(&blobs);
    choice_fini(&c);
}

static void whole_init(struct whole *n, const char *text, enum dtype t, size_t way)
{
    int layout[GRAPH_MAX_NODES];
    struct rng r;
    struct why why = {""};

    memset(n, 0, sizeof *n);
    rng_init(&r, 5);
    n->t = t;
    if (graph_parse("small", text, strlen(text), &n->g, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < n->g.n_nodes; i++) {
        const unsigned can = graph_node_layouts(&n->g, i, t), want = (unsigned)(way < 4 ? way : (i * way) % 4);

        layout[i] = can & 1u << want ? (int)want : can & 1 ? 0 : 1;
    }
    if (graph_lower(&n->g, t, layout, &n->l, &why))
        fail_msg("%s", why.text);
    assert_true(n->l.n_steps <= MAX_PLANS);
    for (size_t i = 0; i < n->l.n_steps; i++)
        make_step(n, i, &r);
    for (size_t i = 0; i < n->l.n_tensors; i++)
        n->values[i] = (struct exec_value){n->l.tensors[i].name, (size_t)n->l.tensors[i].n_bytes,
                                           n->l.tensors[i].i_slot >= 0 ? n->l.tensors[i].i_slot
                                                                       : EXEC_ARGUMENT(n->l.tensors[i].i_argument),
                                           n->l.tensors[i].within > 0, (size_t)lowered_at(n->l.tensors, i)};
    for (size_t i = 0; i < n->l.n_slots; i++)
        n->slots[i] = (size_t)n->l.slot_bytes[i];
    n->network = (struct exec_network){"small",
                                       (const struct exec_plan *const *)n->plans,
                                       (int)n->l.n_steps,
                                       n->values,
                                       (int)n->l.n_tensors,
                                       n->slots,
                                       (int)n->l.n_slots,
                                       n->steps,
                                       (int)n->l.n_steps,
                                       (int)n->l.n_arguments};
}

static void whole_fini(struct whole *n)
{
    for (size_t i = 0; i < n->l.n_steps; i++)
        plan_free(n->plans[i]);
    for (size_t i = 0; i < n->n_weights; i++) {
        free(n->weights[i].raw);
        free(n->weights[i].values);
    }
    lowered_fini(&n->l);
    graph_fini(&n->g);
}

/* An open network over the plans. */
static struct exec_net_cl *open_network(struct whole *n, struct exec_cl **session)
{
    struct exec_words words;
    struct exec_net_cl *net = NULL;

    if (exec_cl_open(cl.context, cl.device, "", &words, session))
        fail_msg("%s", words.text);
    for (size_t i = 0; i < n->l.n_steps; i++)
        if (exec_cl_op_open(*session, n->plans[i], &words, &n->ops[i]))
            fail_msg("%s: %s", n->l.steps[i].name, words.text);
    if (exec_net_cl_open(cl.context, &n->network, n->ops, &words, &net))
        fail_msg("%s", words.text);
    return net;
}

static void close_network(struct whole *n, struct exec_net_cl *net, struct exec_cl *session)
{
    clFinish(cl.queue);
    exec_net_cl_close(net);
    for (size_t i = 0; i < n->l.n_steps; i++)
        exec_cl_op_close(n->ops[i]);
    exec_cl_close(session);
}

static void set_all(struct whole *n, struct exec_net_cl *net)
{
    struct exec_words words;

    for (size_t i = 0; i < n->n_weights; i++) {
        const struct weight *w = &n->weights[i];

        if (exec_net_cl_set(net, cl.queue, w->layer, w->tensor, w->raw, (size_t)w->n * dtype_bytes(w->dtype), &words))
            fail_msg("%s", words.text);
    }
}

static size_t arg_bytes(const struct whole *n, size_t i)
{
    const struct lowered_argument *a = &n->l.arguments[i];

    return (size_t)graph_elems(&n->g.nodes[a->i_node].shape) * dtype_bytes(a->dtype);
}

/* Runs twice, so that what a run leaves behind would show; raw: of each argument, outputs are written. */
static void run(struct whole *n, void *const *raw)
{
    struct exec_words words = {""};
    struct exec_cl *session = NULL;
    struct exec_net_cl *net = open_network(n, &session);
    cl_mem list[GRAPH_MAX_OUTPUTS];

    for (size_t i = 0; i < n->l.n_arguments; i++)
        list[i] = clCreateBuffer(cl.context, CL_MEM_COPY_HOST_PTR, arg_bytes(n, i), raw[i], NULL);
    if (n->n_weights)
        assert_int_equal(exec_net_cl_run(net, cl.queue, list, &words), EXEC_NOT_PACKED);
    assert_true(!n->n_weights || strstr(words.text, "weights of layer"));
    set_all(n, net);
    for (int k = 0; k < 2; k++)
        if (exec_net_cl_run(net, cl.queue, list, &words))
            fail_msg("%s", words.text);
    for (size_t i = 0; i < n->l.n_arguments; i++) {
        if (n->l.arguments[i].is_output)
            assert_int_equal(clEnqueueReadBuffer(cl.queue, list[i], CL_TRUE, 0, arg_bytes(n, i), raw[i], 0, NULL, NULL),
                             0);
        clReleaseMemObject(list[i]);
    }
    close_network(n, net, session);
}

/* Random values of an input, as stored and as doubles; of an output bytes that no kernel leaves. */
static void *argument(const struct whole *n, size_t i, struct rng *r, double *x)
{
    const size_t n_bytes = arg_bytes(n, i), size = dtype_bytes(n->l.arguments[i].dtype);
    void *raw = malloc(n_bytes);

    memset(raw, 255, n_bytes);
    for (size_t k = 0; !n->l.arguments[i].is_output && k < n_bytes / size; k++) {
        dtype_store(n->t, raw, k,
                    n->t == DTYPE_I8   ? (double)rng_below(r, 201) - 100
                    : n->t == DTYPE_U8 ? (double)rng_below(r, 256)
                                       : (double)rng_below(r, 33) / 16 - 1);
        x[k] = dtype_load(n->t, raw, k);
    }
    return raw;
}

/* The worst difference of a network's outputs from its definition, over the largest output. */
static double worst(const char *text, enum dtype t, size_t way)
{
    enum { MOST = 16, ROOM = 4096 };
    static double values[MOST][ROOM];
    double *list[MOST], largest = 0, off = 0;
    void *raw[MOST];
    struct whole n;
    struct rng r;

    whole_init(&n, text, t, way);
    rng_init(&r, 3);
    assert_true(n.l.n_arguments <= MOST);
    for (size_t i = 0; i < n.l.n_arguments; i++) {
        assert_true(arg_bytes(&n, i) / dtype_bytes(n.l.arguments[i].dtype) <= ROOM);
        list[i] = values[i];
        raw[i] = argument(&n, i, &r, list[i]);
    }
    run(&n, raw);
    ref_network(&n.g, t, list, weights_of, &n);
    for (size_t i = 0; i < n.l.n_arguments; i++) {
        const struct lowered_argument *a = &n.l.arguments[i];

        for (size_t k = 0; a->is_output && k < arg_bytes(&n, i) / dtype_bytes(a->dtype); k++) {
            const double y = dtype_load(a->dtype, raw[i], k), d = fabs(y - list[i][k]);

            largest = fmax(largest, fabs(list[i][k]));
            off = d > off || isnan(y) ? d : off;
        }
        free(raw[i]);
    }
    whole_fini(&n);
    return off / largest;
}

/* Way 0 to 3: one layout throughout; 4, 5: another from node to node. */
static void check(const char *text, enum dtype t, const size_t *ways, size_t n, double limit)
{
    for (size_t i = 0; i < n; i++) {
        const double e = worst(text, t, ways[i]);

        if (!(e <= limit))
            fail_msg("%s, way %zu: off by %g of the largest output, more than %g", dtype_name(t), ways[i], e, limit);
    }
}

static void networks_with_shortcuts_give_what_they_mean(void **state)
{
    (void)state;
    check(residual_text, DTYPE_F32, (const size_t[]){0, 5}, 2, 2e-6);
    check(residual_text, DTYPE_F16, (const size_t[]){4}, 1, 1e-2);
    check(residual_text, DTYPE_I8, (const size_t[]){1}, 1, 2e-6); /* softmax in f32 of equal integers */
    check(residual_text, DTYPE_U8, (const size_t[]){3}, 1, 2e-6);
}

static void networks_that_are_flattened_give_what_they_mean(void **state)
{
    (void)state;
    check(flat_text, DTYPE_F32, (const size_t[]){5}, 1, 2e-6);
    check(flat_text, DTYPE_F16, (const size_t[]){3}, 1, 1e-2);
    check(flat_text, DTYPE_I8, (const size_t[]){1}, 1, 2e-6);
    check(flat_text, DTYPE_U8, (const size_t[]){3}, 1, 2e-6);
}

/* What models of others bring: pads of their own at each side, dilation, groups, relu6 and other activations, a sum
 * that no layer is behind. */
static const char foreign_text[] = "x = input c=3 h=13 w=12\n"
                                   "c1 = conv2d x k=16 r=3 s=3 stride=2,1 pad=0,1,2,0 relu6\n"
                                   "c2 = conv2d c1 k=16 r=3 s=3 pad=2,1 dilation=2,1 groups=4 hard_swish\n"
                                   "dw = depthwise_conv2d c2 r=3 s=3 stride=2 pad=0,0,1,1 swish\n"
                                   "p1 = pool2d dw max r=3 s=3 pad=1\n"
                                   "a = add dw + p1 relu\n"
                                   "p2 = pool2d a avg r=2 s=2 stride=2 pad=0,0,0,1\n"
                                   "c3 = conv2d p2 k=16 r=1 s=1 hard_sigmoid\n"
                                   "b = add c3 + p2\n"
                                   "t = conv2d b k=32 r=1 s=1 sigmoid\n"
                                   "j = concat t + p2\n"
                                   "fc = dense j n=10 relu6\n";

static void networks_of_other_tools_give_what_they_mean(void **state)
{
    (void)state;
    check(foreign_text, DTYPE_F32, (const size_t[]){0, 5}, 2, 2e-6);
    check(foreign_text, DTYPE_F16, (const size_t[]){3}, 1, 1e-2);
}

/* Several inputs and outputs, of several ranks: outputs that are read, an input, one of two shapes, a layer in blocks;
 * softmax that is read. */
static const char several_text[] = "x = input c=16 h=6 w=5\n"
                                   "z = input shape=3,4,2\n"
                                   "x2 = input n=1 c=16 h=6 w=5\n"
                                   "a = add x + x2 relu\n"
                                   "c = conv2d a + x2 k=16 r=3 s=3 pad=1\n"
                                   "f = reshape c shape=1,480\n"
                                   "d = dense f n=24\n"
                                   "r = reshape d shape=3,4,2\n"
                                   "e = add r + z\n"
                                   "s = softmax e\n"
                                   "t = add s + e\n"
                                   "g = reshape x2 shape=32,15\n"
                                   "k = reshape a shape=1,2,8,30\n"
                                   "p = reshape k shape=2,240\n"
                                   "output c\noutput x\noutput t e\noutput g\noutput p\n";

/* Channels that are joined three at a time, written where they belong but for the caller's, one read twice, pieces; the
 * one of 20 channels begins at no multiple of 512 bytes. */
static const char joined_text[] = "x = input c=8 h=8 w=8\n"
                                  "a = conv2d x k=16 r=3 s=3 pad=1 relu\n"
                                  "b = conv2d x k=16 r=1 s=1\n"
                                  "p = pool2d a max r=3 s=3 pad=1\n"
                                  "ab = concat a + b\n"
                                  "abp = concat ab + p\n"
                                  "c = conv2d abp k=20 r=1 s=1\n"
                                  "s = strided_copy c shape=1,10,8,8 at=640 d0=640,1\n"
                                  "t = strided_copy c shape=1,3,8,8 at=1 d0=192,1\n"
                                  "d = conv2d s + s k=10 r=1 s=1\n"
                                  "dt = concat d + t\n"
                                  "bx = concat b + x\n"
                                  "dd = concat d + d\n"
                                  "e = conv2d dt k=4 r=1 s=1\n"
                                  "f = conv2d bx k=4 r=1 s=1\n"
                                  "g = conv2d dd k=4 r=1 s=1\n"
                                  "ef = concat e + f\n"
                                  "output ef g a ab s\n";

static void what_is_joined_or_cut_out_in_place_is_as_it_means(void **state)
{
    (void)state;
    check(joined_text, DTYPE_F32, (const size_t[]){0, 3}, 2, 2e-6);
}

static void networks_of_several_inputs_and_outputs_give_what_they_mean(void **state)
{
    static const char moved[] = "x = input c=16 h=6 w=5\n"
                                "c = conv2d x k=16 r=1 s=1\n"
                                "t = strided_copy c shape=1,6,5,16 at=0 d0=16,30 d1=30,1\n"
                                "p = strided_copy t shape=1,8,5,19 at=464 d0=16,1 d1=5,-16 d2=6,-80 p0=1,2 p2=2,0\n"
                                "s = strided_copy p shape=2,4,5 at=40 d0=5,19 d1=4,0 d2=2,95\n"
                                "d = pool2d p max r=2 s=2\n"
                                "w = input shape=2,3,5\n"
                                "m = batch_gemm s + w\n"
                                "q = softmax m\n"
                                "output s d q\n";
    static const char resized[] = "x = input c=16 h=5 w=4\n"
                                  "c = conv2d x k=32 r=1 s=1 relu\n"
                                  "u = resize2d c shape=1,32,10,8 step=1 unit=2\n"
                                  "d = conv2d u k=16 r=3 s=3 pad=1\n"
                                  "y = resize2d d shape=1,16,21,5 step=2,7 first=-1,3 unit=4,5 kind=linear\n"
                                  "output y\n";
    static const char copied[] = "x = input shape=3,5\ny = reshape x shape=15\noutput x y\n";

    (void)state;
    check(several_text, DTYPE_F32, (const size_t[]){0, 5}, 2, 2e-6);
    check(several_text, DTYPE_F16, (const size_t[]){3}, 1, 1e-2);
    check(moved, DTYPE_F32, (const size_t[]){3}, 1, 2e-6);
    check(moved, DTYPE_F16, (const size_t[]){0}, 1, 1e-2);
    check(resized, DTYPE_F32, (const size_t[]){0, 3}, 2, 2e-6);
    check(resized, DTYPE_F16, (const size_t[]){3}, 1, 1e-2);
    check(copied, DTYPE_F32, (const size_t[]){0}, 1, 0);
}

static void queues_that_do_not_fit_are_refused(const struct exec_cl *session)
{
    struct exec_words words = {""};
    cl_context other = clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
    cl_command_queue elsewhere = clCreateCommandQueue(other, cl.device, 0, NULL),
                     loose = clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);

    assert_int_equal(exec_cl_check_queue(session, cl.queue, &words), EXEC_OK);
    assert_int_equal(exec_cl_check_queue(session, NULL, &words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_cl_check_queue(session, elsewhere, &words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "of the context that was opened"));
    if (loose) { /* not every device has such queues */
        assert_int_equal(exec_cl_check_queue(session, loose, &words), EXEC_BAD_ARGUMENT);
        assert_non_null(strstr(words.text, "in order"));
        clReleaseCommandQueue(loose);
    }
    clReleaseCommandQueue(elsewhere);
    clReleaseContext(other);
}

static void buffers_of_another_context_are_refused(const struct whole *n, struct exec_net_cl *net)
{
    struct exec_words words = {""};
    cl_context other = clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
    const cl_mem elsewhere[] = {clCreateBuffer(other, 0, arg_bytes(n, 0), NULL, NULL),
                                clCreateBuffer(other, 0, arg_bytes(n, 1), NULL, NULL)};

    assert_int_equal(exec_net_cl_run(net, cl.queue, elsewhere, &words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "the buffer is of another context"));
    clReleaseMemObject(elsewhere[0]);
    clReleaseMemObject(elsewhere[1]);
    clReleaseContext(other);
}

static void wrong_weights_are_refused_in_words(void **state)
{
    static const char zeros[16 * 9 * 4 * 16];
    struct whole n;
    struct exec_words words = {""};
    struct exec_cl *session = NULL;
    struct exec_net_cl *net;

    (void)state;
    whole_init(&n, flat_text, DTYPE_F32, 0);
    net = open_network(&n, &session);
    assert_int_equal(exec_net_cl_set(net, cl.queue, "c9", "w", zeros, 4, &words), EXEC_BAD_ARGUMENT);
    assert_string_equal(words.text, "small has no layer 'c9'");
    assert_int_equal(exec_net_cl_set(net, cl.queue, "dw", "u", zeros, 4, &words), EXEC_BAD_ARGUMENT);
    assert_string_equal(words.text, "layer dw of small has no weight 'u'; it has: w, bias");
    assert_int_equal(exec_net_cl_set(net, cl.queue, "prob", "scale", zeros, 4, &words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "it has: none"));
    assert_int_equal(exec_net_cl_set(net, cl.queue, "dw", "bias", zeros, 4, &words), EXEC_BAD_ARGUMENT);
    assert_string_equal(words.text, "weight bias of layer dw: expected 64 bytes, not 4");
    assert_int_equal(exec_net_cl_set(net, cl.queue, "dw", "bias", NULL, 64, &words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_net_cl_set(net, NULL, "dw", "bias", zeros, 64, &words), EXEC_BAD_ARGUMENT);
    queues_that_do_not_fit_are_refused(session);
    set_all(&n, net);
    assert_int_equal(exec_net_cl_run(net, cl.queue, NULL, &words), EXEC_BAD_ARGUMENT);
    buffers_of_another_context_are_refused(&n, net);
    close_network(&n, net, session);
    whole_fini(&n);
}

static bool open_cl(void)
{
    const struct device_ops *ops = device_find("opencl");
    struct best_set *best = NULL;
    struct device *d = NULL;
    struct why why = {""};
    cl_platform_id platform;

    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    if (!ops || ops->open("", &d, &why) || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL)) {
        printf("skipped: no OpenCL device: %s\n", why.text);
        return false;
    }
    cl.desc = *ops->describe(d);
    ops->close(d);
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
    cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, NULL);
    assert_int_equal(best_new(&best), ERR_OK);
    assert_int_equal(choices_of(best, &cl.choices, NULL), ERR_OK);
    best_free(best);
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_with_shortcuts_give_what_they_mean),
        cmocka_unit_test(networks_that_are_flattened_give_what_they_mean),
        cmocka_unit_test(networks_of_other_tools_give_what_they_mean),
        cmocka_unit_test(networks_of_several_inputs_and_outputs_give_what_they_mean),
        cmocka_unit_test(what_is_joined_or_cut_out_in_place_is_as_it_means),
        cmocka_unit_test(wrong_weights_are_refused_in_words),
    };
    int failed;

    if (!open_cl())
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    choices_close(cl.choices);
    clReleaseCommandQueue(cl.queue);
    clReleaseContext(cl.context);
    return failed;
}
