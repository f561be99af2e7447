/* SPDX-License-Identifier: MIT */
/* Facts about reading trees: every way gives the bits of a plain walk. */
#include "core/rng.h"
#include "cost_model/forest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_TREES 60
#define N_COLUMNS 9
#define N_BLOCKS 5
#define N (N_BLOCKS * BINS_BLOCK)

static struct tree trees[N_TREES];
static uint8_t codes[N_COLUMNS][N];

/* A tree made by splitting a random leaf again and again, the last one always when `deep`. */
static void draw_tree(struct tree *t, struct rng *rng, size_t n_leaves, bool deep)
{
    *t = (struct tree){calloc(n_leaves, sizeof(*t->nodes)), calloc(n_leaves, sizeof(*t->leaves)), 0, 1};
    assert_true(t->nodes && t->leaves);
    while (t->n_leaves < n_leaves) {
        const int16_t i_leaf = (int16_t)(deep ? t->n_leaves - 1 : rng_below(rng, t->n_leaves));
        struct tree_node *node = &t->nodes[t->n_nodes];

        for (size_t i = 0; i < t->n_nodes; i++)
            for (int side = 0; side < 2; side++)
                if (t->nodes[i].child[side] == ~i_leaf)
                    t->nodes[i].child[side] = (int16_t)t->n_nodes;
        *node = (struct tree_node){(uint16_t)rng_below(rng, N_COLUMNS),
                                   (uint8_t)rng_below(rng, 255),
                                   rng_below(rng, 2) == 0,
                                   {(int16_t)~i_leaf, (int16_t)~t->n_leaves}};
        t->n_nodes++;
        t->n_leaves++;
    }
    for (size_t i = 0; i < n_leaves; i++)
        t->leaves[i] = (float)(rng_unit(rng) - 0.5);
}

static void draw(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < N_TREES; i++)
        draw_tree(&trees[i], &rng, i == 0 ? 1 : 1 + (size_t)rng_below(&rng, i % 4 == 0 ? TREE_MAX_LEAVES : 1 + i),
                  i % 7 == 0);
    for (size_t i = 0; i < N_COLUMNS; i++)
        for (size_t j = 0; j < N; j++)
            codes[i][j] = rng_below(&rng, 8) == 0 ? BINS_MISSING : (uint8_t)(1 + rng_below(&rng, BINS_MAX));
}

static void drop(void)
{
    for (size_t i = 0; i < N_TREES; i++)
        tree_fini(&trees[i]);
}

static float walk(const struct tree *t, size_t i_row)
{
    int16_t at = t->n_nodes > 0 ? 0 : ~0;

    while (at >= 0) {
        const struct tree_node *node = &t->nodes[at];
        const uint8_t code = codes[node->i_column][i_row];

        at = node->child[code == BINS_MISSING ? node->missing_right : code > node->threshold];
    }
    return t->leaves[~at];
}

/* planes[N_BLOCKS][n_planes][BINS_BLOCK] */
static int8_t *planes_of(const struct forest *f)
{
    int8_t *planes = calloc(N_BLOCKS * f->n_planes + 1, BINS_BLOCK);
    uint8_t columns[N_COLUMNS][BINS_BLOCK];

    assert_non_null(planes);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        for (size_t j = 0; j < N_COLUMNS; j++)
            memcpy(columns[j], codes[j] + i * BINS_BLOCK, BINS_BLOCK);
        forest_planes(f, columns[0], planes + i * f->n_planes * BINS_BLOCK);
    }
    return planes;
}

static void every_path_gives_the_bits_of_a_plain_walk(void **state)
{
    float expected[N];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct forest f;
        int8_t *planes;

        draw(seed);
        memset(expected, 0, sizeof(expected));
        for (size_t i = 3; i < N_TREES; i++)
            for (size_t j = 0; j < N; j++)
                expected[j] += walk(&trees[i], j);
        assert_int_equal(forest_init(&f, trees, N_TREES), ERR_OK);
        planes = planes_of(&f);
        for (size_t i = 0; forest_paths[i]; i++)
            for (size_t n_blocks = 1; forest_paths[i]->is_supported() && n_blocks <= N_BLOCKS; n_blocks++) {
                float sums[N] = {0};

                forest_paths[i]->add(&f, 3, N_TREES - 3, planes, n_blocks, sums);
                if (memcmp(sums, expected, n_blocks * BINS_BLOCK * sizeof(*sums)) != 0)
                    fail_msg("seed %d: path %s with %zu blocks differs", (int)seed, forest_paths[i]->name, n_blocks);
            }
        free(planes);
        forest_fini(&f);
        drop();
    }
}

static void a_row_alone_gives_the_bits_of_a_plain_walk(void **state)
{
    struct forest f;
    int8_t *planes, *row;

    (void)state;
    draw(77);
    assert_int_equal(forest_init(&f, trees, N_TREES), ERR_OK);
    planes = planes_of(&f);
    row = malloc(f.n_planes);
    assert_non_null(row);
    for (size_t j = 0; j < BINS_BLOCK; j++) {
        float expected = 0, sum;

        for (size_t i = 0; i < f.n_planes; i++)
            row[i] = planes[i * BINS_BLOCK + j];
        for (size_t i = 0; i < N_TREES; i++)
            expected += walk(&trees[i], j);
        sum = forest_add_row(&f, 0, N_TREES, row, 0);
        assert_memory_equal(&sum, &expected, sizeof(sum));
    }
    free(row);
    free(planes);
    forest_fini(&f);
    drop();
}

static void the_last_path_is_supported_everywhere(void **state)
{
    size_t n = 0;

    (void)state;
    while (forest_paths[n])
        n++;
    assert_string_equal(forest_paths[n - 1]->name, "portable");
    assert_true(forest_paths[n - 1]->is_supported());
}

static void the_depth_of_a_tree_is_its_longest_way(void **state)
{
    struct tree_node nodes[3] = {{0, 1, false, {~0, 1}}, {0, 2, false, {2, ~1}}, {0, 3, false, {~2, ~3}}};
    float leaves[4] = {0};

    (void)state;
    assert_int_equal(tree_depth(&(struct tree){nodes, leaves, 0, 1}), 0);
    assert_int_equal(tree_depth(&(struct tree){nodes, leaves, 3, 4}), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_gives_the_bits_of_a_plain_walk),
        cmocka_unit_test(a_row_alone_gives_the_bits_of_a_plain_walk),
        cmocka_unit_test(the_last_path_is_supported_everywhere),
        cmocka_unit_test(the_depth_of_a_tree_is_its_longest_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
