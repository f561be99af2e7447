/* SPDX-License-Identifier: MIT */
/* Blocks with AVX2: a node is a compare and a blend for 32 rows. */
#include "cost_model/forest_paths.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE AVX2 __attribute__((always_inline)) static inline

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx2");
}

INLINE __m256i is_right(const int8_t *codes, const int8_t *threshold)
{
    return _mm256_cmpgt_epi8(_mm256_loadu_si256((const __m256i *)(const void *)codes), _mm256_set1_epi8(*threshold));
}

/* Leaves reached below a node of height H by 32 rows. */
#define FULL_OF_HEIGHT(H, BELOW)                                                                                       \
    INLINE __m256i full_##H(const struct forest_padded_node *nodes, const int8_t *planes)                              \
    {                                                                                                                  \
        const size_t n_below = ((size_t)1 << (H - 1)) - 1;                                                             \
        const struct forest_padded_node *own = nodes + 2 * n_below;                                                    \
        const __m256i left = BELOW(nodes, planes), right = BELOW(nodes + n_below, planes);                             \
                                                                                                                       \
        return _mm256_blendv_epi8(left, _mm256_add_epi8(right, _mm256_set1_epi8(1 << (H - 1))),                        \
                                  is_right(planes + own->offset, own->threshold));                                     \
    }

INLINE __m256i full_1(const struct forest_padded_node *nodes, const int8_t *planes)
{
    return _mm256_and_si256(is_right(planes + nodes->offset, nodes->threshold), _mm256_set1_epi8(1));
}

FULL_OF_HEIGHT(2, full_1)
FULL_OF_HEIGHT(3, full_2)
FULL_OF_HEIGHT(4, full_3)
FULL_OF_HEIGHT(5, full_4)
FULL_OF_HEIGHT(6, full_5)

INLINE __m256i full_0(const struct forest_padded_node *nodes, const int8_t *planes)
{
    (void)nodes;
    (void)planes;
    return _mm256_setzero_si256();
}

INLINE void add_answers(const float *leaves, __m256i reached, float *sums)
{
    uint8_t i[32] __attribute__((aligned(32)));

    _mm256_store_si256((__m256i *)(void *)i, reached);
    for (int j = 0; j < 32; j += 8) {
        const __m256 answers = _mm256_setr_ps(leaves[i[j]], leaves[i[j + 1]], leaves[i[j + 2]], leaves[i[j + 3]],
                                              leaves[i[j + 4]], leaves[i[j + 5]], leaves[i[j + 6]], leaves[i[j + 7]]);

        _mm256_storeu_ps(sums + j, _mm256_add_ps(_mm256_loadu_ps(sums + j), answers));
    }
}

/* What a path works on: halves of blocks. */
struct view {
    const int8_t *planes;
    size_t block_bytes, n_halves;
    float *sums;
};

INLINE const int8_t *half_of(const struct view *v, size_t i)
{
    return v->planes + i / 2 * v->block_bytes + i % 2 * 32;
}

#define TREE_OF_HEIGHT(H)                                                                                              \
    AVX2 static void tree_##H(const struct forest_padded_node *nodes, const float *leaves, const struct view *v)       \
    {                                                                                                                  \
        for (size_t i = 0; i < v->n_halves; i++)                                                                       \
            add_answers(leaves, full_##H(nodes, half_of(v, i)), v->sums + i * 32);                                     \
    }

TREE_OF_HEIGHT(0)
TREE_OF_HEIGHT(1)
TREE_OF_HEIGHT(2)
TREE_OF_HEIGHT(3)
TREE_OF_HEIGHT(4)
TREE_OF_HEIGHT(5)
TREE_OF_HEIGHT(6)

static void (*const tree_of_height[])(const struct forest_padded_node *, const float *,
                                      const struct view *) = {tree_0, tree_1, tree_2, tree_3, tree_4, tree_5, tree_6};

AVX2 static void any_tree(const struct forest *f, const struct forest_tree *t, const struct view *v,
                          struct forest_reach *reach)
{
    const struct forest_node *nodes = f->nodes + t->first_node;
    uint8_t *slots = reach->slots[0];

    for (size_t i = 0; i < v->n_halves; i++) {
        const int8_t *planes = half_of(v, i);
        uint8_t *out = slots + (TREE_MAX_LEAVES + t->n_nodes) * BINS_BLOCK;
        __m256i reached = _mm256_setzero_si256();

        for (size_t j = 0; j < t->n_nodes; j++) {
            const struct forest_node *node = &nodes[j];

            reached = _mm256_blendv_epi8(_mm256_load_si256((const __m256i *)(const void *)(slots + node->side[0])),
                                         _mm256_load_si256((const __m256i *)(const void *)(slots + node->side[1])),
                                         is_right(planes + node->offset, node->threshold));
            out -= BINS_BLOCK;
            _mm256_store_si256((__m256i *)(void *)out, reached);
        }
        add_answers(f->leaves + t->first_leaf, reached, v->sums + i * 32);
    }
}

AVX2 static void add(const struct forest *f, size_t first, size_t n, const int8_t *planes, size_t n_blocks, float *sums)
{
    const struct view v = {planes, f->n_planes * BINS_BLOCK, 2 * n_blocks, sums};
    struct forest_reach reach;

    forest_reach_init(&reach);
    for (size_t i = first; i < first + n; i++) {
        const struct forest_tree *t = &f->trees[i];

        if (t->is_padded)
            tree_of_height[t->depth](f->padded + t->first_node, f->leaves + t->first_leaf, &v);
        else
            any_tree(f, t, &v, &reach);
    }
}

const struct forest_path forest_avx2 = {"avx2", is_supported, add};

#endif
