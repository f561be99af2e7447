/* SPDX-License-Identifier: MIT */
/* Layouts chosen by variable elimination cost what the best of all choices costs, tried one by one. */
#include "core/buf.h"
#include "core/rng.h"
#include "deploy/layouts.h"
#include "kernels/graph_fuse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8 /* nodes of a graph that is tried out */
#define N_GRAPHS 300

struct times {
    double node[MOST][GRAPH_LAYOUTS], transform[MOST][GRAPH_LAYOUTS][GRAPH_LAYOUTS], fused[MOST][GRAPH_LAYOUTS];
};

static double node_time(size_t i, int layout, void *arg)
{
    return ((const struct times *)arg)->node[i][layout];
}

static double transform_time(size_t i, int from, int to, void *arg)
{
    assert_int_not_equal(from, to);
    return ((const struct times *)arg)->transform[i][from][to];
}

static double fused_time(size_t i, int layout, void *arg)
{
    return ((const struct times *)arg)->fused[i][layout];
}

/* A graph of convolutions and pools of 3 x 3 (so that all tensors have one size), shortcuts at random. */
static void random_text(struct rng *r, struct buf *out)
{
    static const int channels[] = {16, 32, 12, 8};
    const int n = 3 + (int)rng_below(r, MOST - 3);
    int c[MOST] = {channels[rng_below(r, 4)]}, read[MOST] = {0};

    buf_printf(out, "t0 = input c=%d h=5 w=5\n", c[0]);
    for (int i = 1; i < n; i++) {
        int x = i - 1, add = -1;

        if (i > 1 && read[i - 2] == 0)
            x = i - 2;
        else if (i > 1 && rng_below(r, 3) == 0)
            x = (int)rng_below(r, (uint64_t)i);
        for (int k = 0; k < i; k++) /* nobody is left unread: the last node adds what is */
            if (k != x && (rng_below(r, 3) == 0 || read[k] == 0))
                add = k;
        c[i] = add >= 0 ? c[add] : channels[rng_below(r, 4)];
        buf_printf(out, "t%d = conv2d t%d", i, x);
        if (add >= 0)
            buf_printf(out, " + t%d", add);
        buf_printf(out, " k=%d r=3 s=3 pad=1 relu\n", c[i]);
        read[x]++;
        if (add >= 0)
            read[add]++;
    }
}

static void random_times(struct rng *r, struct times *t)
{
    for (int i = 0; i < MOST; i++)
        for (int a = 0; a < GRAPH_LAYOUTS; a++) {
            t->node[i][a] = rng_below(r, 8) == 0 ? INFINITY : (double)rng_below(r, 100);
            for (int b = 0; b < GRAPH_LAYOUTS; b++)
                t->transform[i][a][b] = 1 + (double)rng_below(r, 30);
        }
}

/* The next choice of layouts that the nodes can have, as numbers are counted; false behind the last. */
static bool next_choice(const struct graph *g, unsigned layouts, int *layout)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const unsigned can = graph_node_layouts(g, i, DTYPE_F32);

        while (++layout[i] < GRAPH_LAYOUTS)
            if (can & layouts & 1u << layout[i])
                return true;
        layout[i] = 0; /* all have nchw, and it is among `layouts` */
    }
    return false;
}

static double cheapest(const struct graph *g, const struct layouts_costs *c)
{
    int layout[MOST] = {0};
    double best = INFINITY;

    do
        best = fmin(best, layouts_price(g, DTYPE_F32, c, layout));
    while (next_choice(g, c->layouts ? c->layouts : ~0u, layout));
    return best;
}

static void elimination_finds_the_least_of_all_choices(void **state)
{
    struct rng r;
    size_t n_compared = 0, n_impossible = 0, n_shortcuts = 0;

    (void)state;
    rng_init(&r, 7);
    for (int k = 0; k < N_GRAPHS; k++) {
        struct times t;
        const unsigned some[] = {0, 1u << IMAGES_NCHW | 1u << k % GRAPH_LAYOUTS};
        const struct layouts_costs c = {node_time, transform_time, NULL, &t, some[k % 3 == 0]};
        struct graph g;
        struct buf text;
        struct why why = {""};
        int layout[MOST];
        double cost = -1, least;

        buf_init(&text, 4096);
        random_text(&r, &text);
        random_times(&r, &t);
        if (graph_parse("random", buf_text(&text), text.len, &g, &why) == ERR_OK) {
            const enum err e = layouts_choose(&g, DTYPE_F32, &c, layout, &cost, &why);

            least = cheapest(&g, &c);
            if (isinf(least)) {
                assert_int_equal(e, ERR_UNSUPPORTED);
                n_impossible++;
            } else {
                assert_int_equal(e, ERR_OK);
                if (cost != least || layouts_price(&g, DTYPE_F32, &c, layout) != least)
                    fail_msg("chosen %g, priced %g, least %g of\n%s", cost, layouts_price(&g, DTYPE_F32, &c, layout),
                             least, buf_text(&text));
                n_compared++;
                for (size_t i = 0; i < g.n_nodes && c.layouts; i++)
                    assert_true(c.layouts & 1u << layout[i]);
            }
            for (size_t i = 0; i < g.n_nodes; i++)
                n_shortcuts += g.nodes[i].n_in > 1;
            graph_fini(&g);
        }
        buf_fini(&text);
    }
    print_message("%zu graphs compared, %zu impossible, %zu shortcuts\n", n_compared, n_impossible, n_shortcuts);
    assert_true(n_compared > N_GRAPHS / 3 && n_shortcuts > N_GRAPHS / 2);
}

/* Convolutions behind one another, activations behind some, of which a few are read twice. */
static void random_chain(struct rng *r, struct buf *out)
{
    static const int channels[] = {16, 32, 12, 8};
    bool open = false; /* the last one is a convolution without an activation */

    buf_printf(out, "t0 = input c=%d h=5 w=5\n", channels[rng_below(r, 4)]);
    for (int i = 1; i < 7; i++) {
        const bool curve = open && rng_below(r, 3) > 0;

        if (curve)
            buf_printf(out, "t%d = eltwise t%d f=hard_swish(a)\n", i, i - 1);
        else
            buf_printf(out, "t%d = conv2d t%d k=%d r=1 s=1\n", i, i - 1, channels[rng_below(r, 4)]);
        open = !curve;
    }
    buf_printf(out, "output t6%s\n", rng_below(r, 4) ? "" : " t3");
}

/* The times of a graph with some nodes fused. */
struct mapped {
    const struct times *t;
    const size_t *with;
    int from[MOST]; /* nodes of the graph before, by position */
};

static double mapped_node(size_t i, int layout, void *arg)
{
    const struct mapped *m = arg;
    const int from = m->from[i];

    return m->with[from] ? m->t->fused[from][layout] : m->t->node[from][layout];
}

/* Of what is fused the tensor is that of the last node. */
static double mapped_transform(size_t i, int a, int b, void *arg)
{
    const struct mapped *m = arg;
    const int from = m->from[i];

    return m->t->transform[m->with[from] ? (int)m->with[from] : from][a][b];
}

/* By the definition: every choice of what is fused makes a graph, which has its cheapest layouts. */
static double cheapest_fused(const struct graph *g, const struct times *t)
{
    size_t all[MOST];
    double least = INFINITY;

    graph_fusions(g, DTYPE_F32, all);
    for (unsigned choice = 0; choice < 1u << g->n_nodes; choice++) {
        size_t with[MOST] = {0};
        bool can_be = true;
        struct mapped m = {.t = t, .with = with};
        const struct layouts_costs c = {mapped_node, mapped_transform, NULL, &m, 0};
        struct graph made;
        int at[MOST];

        for (size_t i = 0; i < g->n_nodes; i++) {
            with[i] = choice >> i & 1 ? all[i] : 0;
            can_be = can_be && (!(choice >> i & 1) || all[i]);
        }
        if (!can_be)
            continue;
        assert_int_equal(graph_fuse(g, with, &made, at), ERR_OK);
        for (size_t i = g->n_nodes; i-- > 0;)
            m.from[at[i]] = (int)i; /* the first of two */
        least = fmin(least, cheapest(&made, &c));
        graph_fini(&made);
    }
    return least;
}

static void fusions_are_chosen_with_the_layouts(void **state)
{
    size_t n_fused = 0, n_apart = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 11);
    for (int k = 0; k < 40; k++) {
        struct times t;
        const struct layouts_costs c = {node_time, transform_time, fused_time, &t, 0};
        struct graph g;
        struct buf text;
        struct why why = {""};
        size_t with[MOST], all[MOST];
        int layout[MOST];
        double cost = -1, least;

        buf_init(&text, 4096);
        random_chain(&r, &text);
        random_times(&r, &t);
        for (int i = 0; i < MOST; i++)
            for (int l = 0; l < GRAPH_LAYOUTS; l++)
                t.fused[i][l] = rng_below(&r, 8) == 0 ? INFINITY : (double)rng_below(&r, 200);
        if (graph_parse("random", buf_text(&text), text.len, &g, &why))
            fail_msg("%s\n%s", why.text, buf_text(&text));
        least = cheapest_fused(&g, &t);
        if (!isinf(least)) {
            assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, &why), ERR_OK);
            if (cost != least)
                fail_msg("chosen %g, least %g of\n%s", cost, least, buf_text(&text));
            layouts_fused(&g, DTYPE_F32, &c, layout, with);
            graph_fusions(&g, DTYPE_F32, all);
            for (size_t i = 0; i < g.n_nodes; i++) {
                assert_true(!with[i] || with[i] == all[i]);
                n_fused += with[i] != 0;
                n_apart += all[i] && !with[i];
            }
        }
        graph_fini(&g);
        buf_fini(&text);
    }
    assert_true(n_fused > 10 && n_apart > 10);
}

static enum err parse(const char *text, struct graph *g)
{
    return graph_parse("small", text, strlen(text), g, NULL);
}

/* t1 in nchw16c is read by two layers that want nchw: one transform, not two. */
static void a_transform_is_paid_once_for_all_that_want_it(void **state)
{
    struct times t = {0};
    const struct layouts_costs c = {node_time, transform_time, NULL, &t, 0};
    const int layout[] = {0, 3, 0, 0};
    struct graph g;

    (void)state;
    assert_int_equal(parse("t0 = input c=16 h=5 w=5\nt1 = conv2d t0 k=16 r=1 s=1\nt2 = conv2d t1 k=16 r=1 s=1\n"
                           "t3 = conv2d t2 + t1 k=16 r=1 s=1\n",
                           &g),
                     ERR_OK);
    t.transform[0][0][3] = 5;
    t.transform[1][3][0] = 7;
    assert_true(layouts_price(&g, DTYPE_F32, &c, layout) == 12);
    graph_fini(&g);
}

static void a_slower_layer_is_chosen_where_transforms_would_cost_more(void **state)
{
    struct times t = {0};
    const struct layouts_costs c = {node_time, transform_time, NULL, &t, 0};
    struct graph g;
    int layout[3];
    double cost;

    (void)state;
    assert_int_equal(parse("t0 = input c=16 h=5 w=5\nt1 = conv2d t0 k=16 r=1 s=1\nt2 = conv2d t1 k=16 r=1 s=1\n", &g),
                     ERR_OK);
    for (int l = 0; l < GRAPH_LAYOUTS; l++) {
        t.node[1][l] = l == 1 ? 10 : 12;
        t.node[2][l] = 20;
        for (int k = 0; k < GRAPH_LAYOUTS; k++)
            t.transform[0][l][k] = t.transform[1][l][k] = 3;
    }
    assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, NULL), ERR_OK);
    assert_true(cost == 32); /* nchw throughout: 12 + 20, not 3 + 10 + 20 */
    assert_int_equal(layout[1], 0);
    t.node[1][1] = 8;
    assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, NULL), ERR_OK);
    assert_true(cost == 31); /* 3 + 8 + 20 in nchw4c */
    assert_int_equal(layout[1], 1);
    assert_int_equal(layout[2], 1);
    graph_fini(&g);
}

static double one(size_t i, int layout, void *arg)
{
    (void)arg;
    return (double)(1 + (i * 7 + (size_t)layout * 3) % 11);
}

static double two(size_t i, int from, int to, void *arg)
{
    (void)arg;
    return 1 + (double)((i * 5 + (size_t)from * 3 + (size_t)to) % 4);
}

static void whole_networks_are_solved(void **state)
{
    const struct layouts_costs c = {one, two, NULL, NULL, 0};

    (void)state;
    for (const char *const *name = graph_names(); *name; name++) {
        const struct graph *g;
        int layout[GRAPH_MAX_NODES];
        double cost = -1;

        assert_int_equal(graph_find(*name, &g, NULL), ERR_OK);
        assert_int_equal(layouts_choose(g, DTYPE_F32, &c, layout, &cost, NULL), ERR_OK);
        assert_true(cost == layouts_price(g, DTYPE_F32, &c, layout));
        for (int l = 0; l < GRAPH_LAYOUTS; l++) { /* no layout throughout is cheaper */
            for (size_t i = 0; i < g->n_nodes; i++)
                layout[i] = graph_node_layouts(g, i, DTYPE_F32) & 1u << l ? l : 0;
            assert_true(cost <= layouts_price(g, DTYPE_F32, &c, layout));
        }
    }
}

static double less_in_blocks(size_t i, int layout, void *arg)
{
    (void)i;
    (void)arg;
    return layout == IMAGES_NCHW16C ? 1 : 3;
}

static double ten(size_t i, int from, int to, void *arg)
{
    (void)i;
    (void)from;
    (void)to;
    (void)arg;
    return 10;
}

static double never(size_t i, int layout, void *arg)
{
    (void)i;
    (void)layout;
    (void)arg;
    return INFINITY;
}

/* As many layers as there may be take no longer than so many short networks: below a second, not a minute. */
static void the_longest_chain_is_solved(void **state)
{
    const struct layouts_costs c = {less_in_blocks, ten, never, NULL, 0};
    struct buf text;
    struct why why = {""};
    struct graph g;
    int layout[GRAPH_MAX_NODES];
    double cost = -1;

    (void)state;
    buf_init(&text, GRAPH_MAX_BYTES);
    buf_puts(&text, "t0 = input c=16 h=2 w=2\n");
    for (int i = 1; i < GRAPH_MAX_NODES; i += 3)
        buf_printf(&text, "t%d = conv2d t%d k=16 r=1 s=1\nt%d = eltwise t%d f=swish(a)\nt%d = pool2d t%d max r=1 s=1\n",
                   i, i - 1, i + 1, i, i + 2, i + 1);
    if (graph_parse("long", buf_text(&text), text.len, &g, &why))
        fail_msg("%s", why.text);
    assert_int_equal(g.n_nodes, GRAPH_MAX_NODES);
    assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, &why), ERR_OK);
    assert_true(cost == GRAPH_MAX_NODES - 1 + 10 + 10); /* into blocks, and back */
    graph_fini(&g);
    buf_fini(&text);
}

static void a_tensor_of_too_many_readers_is_refused(void **state)
{
    const struct layouts_costs c = {one, two, NULL, NULL, 0};
    struct buf text;
    struct why why = {""};
    struct graph g;
    int layout[64];
    double cost;

    (void)state;
    buf_init(&text, 8192);
    buf_puts(&text, "x = input c=16 h=5 w=5\nt = conv2d x k=16 r=1 s=1\na0 = conv2d t k=16 r=1 s=1\n");
    for (int i = 1; i < 12; i++)
        buf_printf(&text, "b%d = conv2d t k=16 r=1 s=1\na%d = conv2d b%d + a%d k=16 r=1 s=1\n", i, i, i, i - 1);
    assert_int_equal(graph_parse("wide", buf_text(&text), text.len, &g, &why), ERR_OK);
    assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "readers"));
    graph_fini(&g);
    buf_fini(&text);
}

/* As a mask by the attentions of twelve layers: where all have one layout there is nothing to choose. */
static void readers_of_one_layout_are_as_many_as_may_be(void **state)
{
    const struct layouts_costs c = {one, two, NULL, NULL, 0};
    struct buf text;
    struct why why = {""};
    struct graph g;
    int layout[64];
    double cost;

    (void)state;
    buf_init(&text, 8192);
    buf_puts(&text, "x = input c=16 h=5 w=5\nt = conv2d x k=16 r=1 s=1\n");
    for (int i = 0; i < 20; i++)
        buf_printf(&text, "s%d = softmax t\n", i);
    buf_puts(&text, "output s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12 s13 s14 s15 s16 s17 s18 s19\n");
    assert_int_equal(graph_parse("wide", buf_text(&text), text.len, &g, &why), ERR_OK);
    assert_int_equal(layouts_choose(&g, DTYPE_F32, &c, layout, &cost, &why), ERR_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(layout[2 + i], 0);
    graph_fini(&g);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elimination_finds_the_least_of_all_choices),
        cmocka_unit_test(fusions_are_chosen_with_the_layouts),
        cmocka_unit_test(a_transform_is_paid_once_for_all_that_want_it),
        cmocka_unit_test(a_slower_layer_is_chosen_where_transforms_would_cost_more),
        cmocka_unit_test(whole_networks_are_solved),
        cmocka_unit_test(the_longest_chain_is_solved),
        cmocka_unit_test(a_tensor_of_too_many_readers_is_refused),
        cmocka_unit_test(readers_of_one_layout_are_as_many_as_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
