/* SPDX-License-Identifier: MIT */
/* Blocks with AVX-512BW: a node is one compare and one masked add for 64 rows. */
#include "cost_model/forest_paths.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define INLINE AVX512 __attribute__((always_inline)) static inline

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

/* Two blocks go through each node together. */
struct pair {
    __m512i a, b;
};

INLINE __m512i threshold_of(const int8_t *threshold)
{
    int32_t four;

    memcpy(&four, threshold, sizeof(four));
    return _mm512_set1_epi32(four);
}

/* Both halves are computed here and now: compilers would rather finish one block first and spill the other's codes. */
#define KEEP_TOGETHER(p) __asm__("" : "+v"((p).a), "+v"((p).b))

/* Leaves reached below a node of height H. */

#define FULL_OF_HEIGHT(H, BELOW)                                                                                       \
    INLINE struct pair full_##H(const struct forest_padded_node *nodes, const int8_t *a, const int8_t *b) {            \
        const size_t n_below = ((size_t)1 << (H - 1)) - 1;                                                             \
        const struct forest_padded_node *own = nodes + 2 * n_below;                                                    \
        const struct pair left = BELOW(nodes, a, b), right = BELOW(nodes + n_below, a, b);                             \
        const __m512i threshold = threshold_of(own->threshold), bit = _mm512_set1_epi8(1 << (H - 1));                  \
        const __mmask64 k = _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(a + own->offset), threshold);                    \
        const __mmask64 l = _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(b + own->offset), threshold);                    \
        struct pair out = {_mm512_mask_add_epi8(left.a, k, right.a, bit),                                              \
                           _mm512_mask_add_epi8(left.b, l, right.b, bit)};                                             \
                                                                                                                       \
        KEEP_TOGETHER(out);                                                                                            \
        return out;                                                                                                    \
    }

INLINE struct pair full_0(const struct forest_padded_node *nodes, const int8_t *a, const int8_t *b)
{
    (void)nodes;
    (void)a;
    (void)b;
    return (struct pair){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

FULL_OF_HEIGHT(1, full_0)
FULL_OF_HEIGHT(2, full_1)
FULL_OF_HEIGHT(3, full_2)
FULL_OF_HEIGHT(4, full_3)
FULL_OF_HEIGHT(5, full_4)
FULL_OF_HEIGHT(6, full_5)

/* 16 answers from at most 16, 32 or 64 leaves. */
INLINE __m512 answers_16(const float *leaves, __m512i i)
{
    return _mm512_permutexvar_ps(i, _mm512_load_ps(leaves));
}

INLINE __m512 answers_32(const float *leaves, __m512i i)
{
    return _mm512_permutex2var_ps(_mm512_load_ps(leaves), i, _mm512_load_ps(leaves + 16));
}

INLINE __m512 answers_64(const float *leaves, __m512i i)
{
    const __mmask16 upper = _mm512_test_epi32_mask(i, _mm512_set1_epi32(32));

    return _mm512_mask_mov_ps(answers_32(leaves, i), upper, answers_32(leaves + 32, i));
}

INLINE __m512 answers_any(const float *leaves, __m512i i)
{
    return _mm512_i32gather_ps(i, leaves, 4);
}

#define ADD_ANSWERS(NAME, ANSWERS)                                                                                     \
    INLINE void NAME(const float *leaves, __m512i reached, float *sums)                                                \
    {                                                                                                                  \
        const __m128i quarter[4] = {_mm512_castsi512_si128(reached), _mm512_extracti32x4_epi32(reached, 1),            \
                                    _mm512_extracti32x4_epi32(reached, 2), _mm512_extracti32x4_epi32(reached, 3)};     \
                                                                                                                       \
        for (int i = 0; i < 4; i++) {                                                                                  \
            const __m512 answers = ANSWERS(leaves, _mm512_cvtepu8_epi32(quarter[i]));                                  \
                                                                                                                       \
            _mm512_storeu_ps(sums + 16 * i, _mm512_add_ps(_mm512_loadu_ps(sums + 16 * i), answers));                   \
        }                                                                                                              \
    }

ADD_ANSWERS(add_16, answers_16)
ADD_ANSWERS(add_32, answers_32)
ADD_ANSWERS(add_64, answers_64)
ADD_ANSWERS(add_any, answers_any)

/* What a path works on. */
struct view {
    const int8_t *planes;
    size_t block_bytes, n_blocks;
    float *sums;
};

/* All blocks, by pairs, the last one with itself when it is alone, through one full tree. */
#define TREE_OF_HEIGHT(H, ADD)                                                                                         \
    AVX512 static void tree_##H(const struct forest_padded_node *nodes, const float *leaves, const struct view *v)     \
    {                                                                                                                  \
        for (size_t i = 0; i < v->n_blocks; i += 2) {                                                                  \
            const int8_t *a = v->planes + i * v->block_bytes;                                                          \
            const bool is_pair = i + 1 < v->n_blocks;                                                                  \
            const struct pair reached = full_##H(nodes, a, is_pair ? a + v->block_bytes : a);                          \
                                                                                                                       \
            ADD(leaves, reached.a, v->sums + i * BINS_BLOCK);                                                          \
            if (is_pair)                                                                                               \
                ADD(leaves, reached.b, v->sums + (i + 1) * BINS_BLOCK);                                                \
        }                                                                                                              \
    }

TREE_OF_HEIGHT(0, add_16)
TREE_OF_HEIGHT(1, add_16)
TREE_OF_HEIGHT(2, add_16)
TREE_OF_HEIGHT(3, add_16)
TREE_OF_HEIGHT(4, add_16)
TREE_OF_HEIGHT(5, add_32)
TREE_OF_HEIGHT(6, add_64)

static void (*const tree_of_height[])(const struct forest_padded_node *, const float *,
                                      const struct view *) = {tree_0, tree_1, tree_2, tree_3, tree_4, tree_5, tree_6};

AVX512 static void any_tree(const struct forest *f, const struct forest_tree *t, const struct view *v,
                            struct forest_reach *reach)
{
    const struct forest_node *nodes = f->nodes + t->first_node;
    const float *leaves = f->leaves + t->first_leaf;
    uint8_t *slots = reach->slots[0];

    for (size_t i = 0; i < v->n_blocks; i++) {
        const int8_t *planes = v->planes + i * v->block_bytes;
        uint8_t *out = slots + (TREE_MAX_LEAVES + t->n_nodes) * BINS_BLOCK;
        __m512i reached = _mm512_setzero_si512();

        for (size_t j = 0; j < t->n_nodes; j++) {
            const struct forest_node *node = &nodes[j];
            const __mmask64 right =
                _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(planes + node->offset), threshold_of(node->threshold));

            reached = _mm512_mask_mov_epi8(_mm512_load_si512(slots + node->side[0]), right,
                                           _mm512_load_si512(slots + node->side[1]));
            out -= BINS_BLOCK;
            _mm512_store_si512(out, reached);
        }
        if (t->n_leaves <= 32)
            add_32(leaves, reached, v->sums + i * BINS_BLOCK);
        else if (t->n_leaves <= 64)
            add_64(leaves, reached, v->sums + i * BINS_BLOCK);
        else
            add_any(leaves, reached, v->sums + i * BINS_BLOCK);
    }
}

AVX512 static void add(const struct forest *f, size_t first, size_t n, const int8_t *planes, size_t n_blocks,
                       float *sums)
{
    const struct view v = {planes, f->n_planes * BINS_BLOCK, n_blocks, sums};
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

const struct forest_path forest_avx512 = {"avx512", is_supported, add};

#endif
