/* SPDX-License-Identifier: MIT */
/* Graphs of a model at two sizes: where the dimension lies, what is refused, which sizes are chosen. */
#include "core/buf.h"
#include "kernels/graph_range.h"
#include "tests/kernels/graph_parsed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A text with N, in which "{a}" is a times N. */
static struct graph at_size(const char *text, int size)
{
    struct buf out;
    struct graph g;

    buf_init(&out, 8192);
    for (const char *p = text; *p; p++) {
        int times, n = 0;

        if (*p == '{' && sscanf(p, "{%d}%n", &times, &n) == 1 && n) {
            buf_printf(&out, "%d", times * size);
            p += n - 1;
        } else
            buf_append(&out, p, 1);
    }
    g = graph_parsed(buf_text(&out));
    buf_fini(&out);
    return g;
}

static enum err add(struct graph_range *r, const char *text, int size, int other, struct why *why)
{
    struct graph a = at_size(text, size), b = at_size(text, other);
    const enum err e = graph_range_add(r, &a, size, &b, other, why);

    graph_fini(&a);
    graph_fini(&b);
    return e;
}

static void refused(const char *text, const char *words)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 12};
    struct why why = {""};
    const enum err e = add(&r, text, 12, 11, &why);

    if (e != ERR_UNSUPPORTED || !strstr(why.text, words))
        fail_msg("'%s': expected '%s', not '%s'", text, words, why.text);
    graph_range_fini(&r);
}

/* A cache and what is new: keys with a place more, in their order whatever the bucket; without a place at all nothing
 * that counts them. */
static void a_cache_is_joined_with_what_is_new(void **state)
{
    static const char text[] = "past = input shape=2,{1},4\nnew = input shape=2,1,4\nq = input shape=1,2,1,4\n"
                               "k3 = concat past + new\nk = reshape k3 shape=1,2,%d,4\n"
                               "y = attention q + k + k\noutput y k3\n";
    struct graph_range r = {.name = "past", .least = 0, .most = 12};
    const struct range_bucket *b = &r.buckets[0];
    struct why why = {""};
    char lines[2][512];
    struct graph g[2];
    enum range_made made;

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(lines[i], sizeof lines[i], text, 13 - i);
        g[i] = at_size(lines[i], 12 - i);
    }
    if (graph_range_add(&r, &g[0], 12, &g[1], 11, &why))
        fail_msg("%s", why.text);
    assert_int_equal(graph_range_argument(b, 3, &made)->n, 0);
    assert_int_equal(made, RANGE_LENGTHS);
    assert_int_equal(b->more[RANGE_LENGTHS], 1);
    graph_range_argument(b, 4, &made);
    assert_int_equal(made, RANGE_JOIN);
    assert_int_equal(b->graph.nodes[b->made[RANGE_JOIN]].shape.dim[0], 13);
    assert_int_equal(graph_range_argument(b, 0, &made)->axis[0].more, 0);
    assert_int_equal(graph_range_argument(b, 6, &made)->axis[0].more, 1);
    assert_int_equal(graph_range_argument(b, 6, &made)->axis[0].inner, 4);
    graph_range_fini(&r);
    graph_fini(&g[0]);
    graph_fini(&g[1]);
}

static void place_is(const struct graph_range *r, const char *name, int n, int64_t outer, int64_t inner)
{
    const struct range_bucket *b = &r->buckets[0];
    const struct range_place *p = &b->places[graph_node_find(&b->graph, name)];

    if (p->n != n || (n && (p->axis[0].outer != outer || p->axis[n - 1].inner != inner)))
        fail_msg("%s: %d axes, %lld before, %lld behind", name, p->n, (long long)p->axis[0].outer,
                 (long long)p->axis[p->n ? p->n - 1 : 0].inner);
}

/* A step of an encoder of two sequences. */
static const char encoder[] = "x = input shape=2,{1},64\n"
                              "seen = input shape=2,{1}\n"
                              "places = constant shape=1,{1},64\n"
                              "sum = eltwise x + places f=add(a,b)\n"
                              "rows = reshape sum shape={2},64\n"
                              "n = norm rows\n"
                              "q = dense n n=64\n"
                              "q4 = reshape q shape=2,{1},2,32\n"
                              "y = attention q4 + q4 + q4 + seen mask=bk layout=blhd\n"
                              "y2 = reshape y shape={2},64\n"
                              "z = dense y2 + rows n=64\n"
                              "output z q\n";

static void the_dimension_is_followed(void **state)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 12};
    const struct graph *g = &r.buckets[0].graph;
    struct why why = {""};
    enum range_made made;

    (void)state;
    assert_int_equal(add(&r, encoder, 12, 11, &why), ERR_OK);
    place_is(&r, "x", 1, 2, 64);
    place_is(&r, "seen", 1, 2, 1);
    place_is(&r, "places", 1, 1, 64);
    place_is(&r, "rows", 1, 2, 64);
    place_is(&r, "q4", 1, 2, 64);
    place_is(&r, "z", 1, 2, 64);
    assert_int_equal(graph_range_argument(&r.buckets[0], 1, &made)->axis[0].inner, 1);
    assert_int_equal(made, RANGE_GIVEN);
    graph_range_argument(&r.buckets[0], 2, &made);
    assert_int_equal(made, RANGE_LENGTHS);
    assert_int_equal(graph_range_argument(&r.buckets[0], 4, &made)->axis[0].inner, 64); /* q */
    assert_int_equal(made, RANGE_GIVEN);
    assert_int_equal(r.buckets[0].made[RANGE_LENGTHS], 2);
    assert_int_equal(g->nodes[2].shape.dim[0], 2);
    assert_int_equal(g->nodes[graph_node_find(g, "y")].in[4], 2);
    assert_non_null(strstr(g->nodes[graph_node_find(g, "y")].words, "lengths=1"));
    graph_range_fini(&r);
}

/* What a graph reads of how many places there are, and what becomes of a node `here`. */
static void what_looks_behind_is_mended(void **state)
{
    static const struct {
        const char *text, *words; /* the node's, in the graph of size 12 */
        unsigned made;
    } cases[] = {
        {"x = input shape=2,{1},4\nhere = reduce x kind=mean\n", "here = eltwise range_4 + range_share f=mul(a,b)",
         1u << RANGE_SEEN | 1u << RANGE_SHARE},
        {"x = input shape=2,{1},4\nhere = reduce x kind=sum\n", "where(a,b,0)", 1u << RANGE_SEEN},
        {"x = input shape=2,{1},4\nhere = reduce x kind=max\n", "where(a,b,-3.4028235e+38)", 1u << RANGE_SEEN},
        {"x = input shape=2,{1},4\nhere = reduce x kind=min\n", "where(a,b,3.4028235e+38)", 1u << RANGE_SEEN},
        {"x = input shape=2,{1},4\nhere = reduce x kind=prod\n", "where(a,b,1)", 1u << RANGE_SEEN},
        {"x = input shape=4,{1}\nhere = softmax x\n", "where(a,b,-3.4028235e+38)", 1u << RANGE_SEEN},
        {"x = input n=1 c=4 h=1 w={1}\nhere = conv2d x k=4 r=1 s=3 pad=0,1\n", "range_1 = reshape x shape=4,12,1",
         1u << RANGE_SEEN},
        {"x = input shape=1,4,{1}\nhere = batch_gemm x + x\n", "here = batch_gemm range_6 + range_3", 1u << RANGE_SEEN},
        {"x = input shape={1},4,2\nh = input shape=1,4,2\nr = rnn x + h + h shape={1},4,2 h=4\nhere = state r "
         "hn\noutput r here\n",
         "here = reshape range_2 shape=4,2", 1u << RANGE_LAST},
        {"t = input shape=1,{1},6\nat = input shape=3\nhere = gather t + at\n", "add(a,mul(less(a,0),add(b,1)))",
         1u << RANGE_LAST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct graph_range r = {.name = "seq", .least = 1, .most = 12};
        struct why why = {""};
        struct buf text;

        buf_init(&text, 8192);
        if (add(&r, cases[i].text, 12, 11, &why))
            fail_msg("'%s': %s", cases[i].text, why.text);
        assert_int_equal(graph_text(&r.buckets[0].graph, &text), ERR_OK);
        if (!strstr(buf_text(&text), cases[i].words))
            fail_msg("'%s': expected '%s' in\n%s", cases[i].text, cases[i].words, buf_text(&text));
        for (int k = 1; k < N_RANGE_MADE; k++)
            assert_int_equal(r.buckets[0].made[k] > 0, cases[i].made >> k & 1);
        buf_fini(&text);
        graph_range_fini(&r);
    }
}

/* A copy from the last place on, at two sizes: what its words become. */
static void copies_from_the_last_place_are_mended(void **state)
{
    static const struct {
        const char *here[2], *words; /* at 12 and at 11 */
    } cases[] = {
        {{"shape=2,6 at=66 d0=6,1 d1=2,72", "shape=2,6 at=60 d0=6,1 d1=2,66"},
         "here = strided_copy range_2 shape=2,6 at=0 d0=6,1 d1=2,6"},
        {{"shape=3,2 at=68 d0=2,72 d1=3,1", "shape=3,2 at=62 d0=2,66 d1=3,1"},
         "here = strided_copy range_2 shape=3,2 at=2 d0=2,6 d1=3,1"},
        {{"shape=2,12,6 at=66 d0=6,1 d1=12,-6 d2=2,72", "shape=2,11,6 at=60 d0=6,1 d1=11,-6 d2=2,66"},
         "range_1 = strided_copy x shape=2,12,6 at=0 d0=6,1 d1=12,6 d2=2,72\n"
         "range_2 = reshape range_1 shape=2,12,6\nrange_3 = gather range_2 + range_back\nhere = reshape range_3 "
         "shape=2,12,6"},
        {{"shape=12,2,6 at=66 d0=6,1 d1=2,72 d2=12,-6", "shape=11,2,6 at=60 d0=6,1 d1=2,66 d2=11,-6"},
         "range_1 = strided_copy x shape=12,2,6 at=0 d0=6,1 d1=2,72 d2=12,6\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct graph_range r = {.name = "seq", .least = 1, .most = 12};
        struct graph g[2];
        struct why why = {""};
        struct buf text;
        char lines[2][256];

        for (int k = 0; k < 2; k++) {
            snprintf(lines[k], sizeof lines[k], "x = input shape=2,%d,6\nhere = strided_copy x %s\n", 12 - k,
                     cases[i].here[k]);
            g[k] = graph_parsed(lines[k]);
        }
        buf_init(&text, 8192);
        if (graph_range_add(&r, &g[0], 12, &g[1], 11, &why))
            fail_msg("'%s': %s", lines[0], why.text);
        assert_int_equal(graph_text(&r.buckets[0].graph, &text), ERR_OK);
        if (!strstr(buf_text(&text), cases[i].words))
            fail_msg("'%s': expected '%s' in\n%s", lines[0], cases[i].words, buf_text(&text));
        buf_fini(&text);
        graph_fini(&g[0]);
        graph_fini(&g[1]);
        graph_range_fini(&r);
    }
}

/* The graph with lengths is one that can be written and read. */
static void lengths_are_part_of_the_text(void **state)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 12};
    struct graph again;
    struct buf text, other;

    (void)state;
    buf_init(&text, 8192);
    buf_init(&other, 8192);
    assert_int_equal(add(&r, encoder, 12, 11, NULL), ERR_OK);
    assert_int_equal(graph_text(&r.buckets[0].graph, &text), ERR_OK);
    again = graph_parsed(buf_text(&text));
    assert_int_equal(graph_text(&again, &other), ERR_OK);
    assert_string_equal(buf_text(&text), buf_text(&other));
    graph_fini(&again);
    graph_range_fini(&r);
    buf_fini(&text);
    buf_fini(&other);
}

static void masks_have_it_twice(void **state)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 12};

    (void)state;
    assert_int_equal(
        add(&r, "x = input shape=2,1,1,{1}\nt = constant shape={1},{1}\ny = eltwise x + t f=add(a,b)\n", 12, 11, NULL),
        ERR_OK);
    place_is(&r, "t", 2, 1, 1);
    place_is(&r, "y", 2, 2, 1);
    graph_range_fini(&r);
}

static void copies_are_followed(void **state)
{
    static const struct {
        const char *words; /* of a copy of 2 x N x 6 */
        int n;
        int64_t outer, inner;
    } cases[] = {
        {"shape=2,6,{1} d0={1},6 d1=6,1 d2=2,{6}", 1, 12, 1}, /* transposed */
        {"shape={1},2,6 d0=6,1 d1=2,{6} d2={1},6", 1, 1, 12}, /* the dimension first */
        {"shape=2,{1},2 at=3 d0=2,1 d1={1},6 d2=2,{6}", 1, 2, 2},
        {"shape=2,{1},6 at=5 d0=6,-1 d1={1},6 d2=2,{6}", 1, 2, 6}, /* backwards behind it */
        {"shape=2,6 d0=6,1 d1=2,{6}", 0, 0, 0},                    /* the first place */
        {"shape=2,{1},6 d0=6,1 d1={1},0 d2=2,{6}", 1, 2, 6},       /* the first one at each */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct graph_range r = {.name = "seq", .least = 1, .most = 12};
        char text[256];

        snprintf(text, sizeof text, "x = input shape=2,{1},6\ny = strided_copy x %s\n", cases[i].words);
        assert_int_equal(add(&r, text, 12, 11, NULL), ERR_OK);
        place_is(&r, "y", cases[i].n, cases[i].outer, cases[i].inner);
        graph_range_fini(&r);
    }
}

static void what_mixes_is_refused_by_name(void **state)
{
    static const char *const cases[] = {
        "x = input shape=1,{1},4\nhere = dense x n=4\n",
        "x = input shape=1,{1},4\nhere = norm x\n",
        "x = input shape=2,{1},4\nhere = concat x + x\n",
        "x = input n=1 c=4 h=1 w={1}\nhere = pool2d x avg global\n",
        "x = input n=1 c={1} h=3 w=3\nhere = conv2d x k=4 r=1 s=1\n",
        "x = input shape={1},4,2\nh = input shape=1,4,2\nr = rnn x + h + h shape={1},4,2 h=4\nhere = state r "
        "cn\noutput r here\n",
        "x = input shape=2,{1},6\nearly = strided_copy x shape=1,6 at={6} d0=6,1\nhere = strided_copy x shape=1,6 "
        "at=60 d0=6,1\noutput here early\n",
        "x = input shape=1,{1},6\nhere = eltwise x f=mul(a,{1})\n",
        "t = input shape=1,{2},6\nat = input shape=3\nhere = gather t + at\n",
        "x = input n=1 c=4 h=1 w={1}\nhere = conv2d x k=4 r=1 s=3\n",
        "x = input n=1 c=4 h=1 w={1}\nhere = conv2d x k=4 r=1 s=3 stride=2 pad=0,1\n",
        "k = input shape=1,2,4,{1}\nhere = attention k + k + k\n",
    };
    static const char early[] = "x = input shape=2,{1},4\nhere = reduce x kind=sum\nz = input shape=3,{1},4\n"
                                "output here z\n";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i], "here (");
    refused(early, "here stands before an input");
}

static void a_dimension_that_nobody_has_is_told(void **state)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 12};
    struct why why = {""};

    (void)state;
    assert_int_equal(add(&r, "x = input shape=3,4\ny = softmax x\n", 12, 11, &why), ERR_INPUT);
    assert_string_equal(why.text, "no input has an open dimension seq");
}

static void buckets_have_the_same_nodes(void **state)
{
    struct graph_range r = {.name = "seq", .least = 1, .most = 24};
    struct why why = {""};

    (void)state;
    assert_int_equal(add(&r, "x = input shape=1,{1},6\ny = eltwise x f=relu(a)\n", 12, 11, NULL), ERR_OK);
    assert_int_equal(add(&r, "x = input shape=1,{1},6\ny = eltwise x f=abs(a)\n", 24, 23, &why), ERR_UNSUPPORTED);
    assert_string_equal(why.text, "with seq=24 the model is another graph than with 12");
    graph_range_fini(&r);
}

static void sizes_are_halves(void **state)
{
    int64_t sizes[RANGE_MAX_BUCKETS];

    (void)state;
    assert_int_equal(graph_range_sizes(1, 512, sizes), 9);
    assert_true(sizes[0] == 2 && sizes[1] == 4 && sizes[8] == 512);
    assert_int_equal(graph_range_sizes(100, 512, sizes), 3);
    assert_true(sizes[0] == 128 && sizes[2] == 512);
    assert_int_equal(graph_range_sizes(1, 3, sizes), 2);
    assert_true(sizes[0] == 2 && sizes[1] == 3);
    assert_int_equal(graph_range_sizes(1, 100, sizes), 7);
    assert_true(sizes[0] == 2 && sizes[3] == 13 && sizes[4] == 25 && sizes[5] == 50);
    assert_int_equal(graph_range_sizes(1, 2, sizes), 1);
    assert_int_equal(graph_range_sizes(1, 1 << 24, sizes), RANGE_MAX_BUCKETS);
}

/* Every set of buckets with the largest, by its cost as the header defines it. */
static double best_of_all(const int64_t *sizes, const double *time_ns, size_t n, int64_t least, size_t most)
{
    double best = INFINITY;

    for (unsigned set = 0; set < 1u << n; set++) {
        double sum = 0;
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
            count += set >> i & 1;
        if (count > most || !(set >> (n - 1)))
            continue;
        for (int64_t length = least; length <= sizes[n - 1]; length++) {
            size_t own = 0, taken = 0;
            double time;

            while (sizes[own] < length)
                own++;
            while (sizes[taken] < length || !(set >> taken & 1))
                taken++;
            time = own ? time_ns[own - 1] + (time_ns[own] - time_ns[own - 1]) * (double)(length - sizes[own - 1]) /
                                                (double)(sizes[own] - sizes[own - 1])
                       : time_ns[0];
            sum += time_ns[taken] / time;
        }
        best = sum < best ? sum : best;
    }
    return best / (double)(sizes[n - 1] - least + 1);
}

static void buckets_are_the_best_of_all_sets(void **state)
{
    static const int64_t sizes[] = {8, 16, 32, 64, 128};
    static const double times[][5] = {
        {10, 20, 40, 80, 160}, {100, 101, 102, 103, 104}, {50, 40, 90, 91, 400}, {1, 1, 1, 50, 51}};

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t most = 1; most <= 6; most++) {
            bool chosen[5];
            const double mean = graph_range_choose(sizes, times[t], 5, 3, most, chosen);
            size_t n = 0;

            for (size_t i = 0; i < 5; i++)
                n += chosen[i];
            assert_true(chosen[4] && n <= most);
            assert_float_equal(mean, best_of_all(sizes, times[t], 5, 3, most), 1e-9);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dimension_is_followed),
        cmocka_unit_test(what_looks_behind_is_mended),
        cmocka_unit_test(copies_from_the_last_place_are_mended),
        cmocka_unit_test(lengths_are_part_of_the_text),
        cmocka_unit_test(a_cache_is_joined_with_what_is_new),
        cmocka_unit_test(masks_have_it_twice),
        cmocka_unit_test(copies_are_followed),
        cmocka_unit_test(what_mixes_is_refused_by_name),
        cmocka_unit_test(a_dimension_that_nobody_has_is_told),
        cmocka_unit_test(buckets_have_the_same_nodes),
        cmocka_unit_test(sizes_are_halves),
        cmocka_unit_test(buckets_are_the_best_of_all_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
