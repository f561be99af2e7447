/* SPDX-License-Identifier: MIT */
/* Blocks with NEON: a node is a compare and a select for 16 rows. */
#include "cost_model/forest_paths.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#define INLINE __attribute__((always_inline)) static inline

static bool is_supported(void)
{
    return true; /* part of every aarch64 */
}

INLINE uint8x16_t is_right(const int8_t *codes, const int8_t *threshold)
{
    return vcgtq_s8(vld1q_s8(codes), vdupq_n_s8(*threshold));
}

/* Leaves reached below a node of height H by 16 rows. */
#define FULL_OF_HEIGHT(H, BELOW)                                                                                       \
    INLINE uint8x16_t full_##H(const struct forest_padded_node *nodes, const int8_t *planes)                           \
    {                                                                                                                  \
        const size_t n_below = ((size_t)1 << (H - 1)) - 1;                                                             \
        const struct forest_padded_node *own = nodes + 2 * n_below;                                                    \
        const uint8x16_t left = BELOW(nodes, planes), right = BELOW(nodes + n_below, planes);                          \
                                                                                                                       \
        return vbslq_u8(is_right(planes + own->offset, own->threshold), vaddq_u8(right, vdupq_n_u8(1 << (H - 1))),     \
                        left);                                                                                         \
    }

INLINE uint8x16_t full_0(const struct forest_padded_node *nodes, const int8_t *planes)
{
    (void)nodes;
    (void)planes;
    return vdupq_n_u8(0);
}

FULL_OF_HEIGHT(1, full_0)
FULL_OF_HEIGHT(2, full_1)
FULL_OF_HEIGHT(3, full_2)
FULL_OF_HEIGHT(4, full_3)
FULL_OF_HEIGHT(5, full_4)
FULL_OF_HEIGHT(6, full_5)

INLINE void add_answers(const float *leaves, uint8x16_t reached, float *sums)
{
    uint8_t i[16];

    vst1q_u8(i, reached);
    for (int j = 0; j < 16; j += 4) {
        const float answers[4] = {leaves[i[j]], leaves[i[j + 1]], leaves[i[j + 2]], leaves[i[j + 3]]};

        vst1q_f32(sums + j, vaddq_f32(vld1q_f32(sums + j), vld1q_f32(answers)));
    }
}

/* What a path works on: quarters of blocks. */
struct view {
    const int8_t *planes;
    size_t block_bytes, n_quarters;
    float *sums;
};

INLINE const int8_t *quarter_of(const struct view *v, size_t i)
{
    return v->planes + i / 4 * v->block_bytes + i % 4 * 16;
}

#define TREE_OF_HEIGHT(H)                                                                                              \
    static void tree_##H(const struct forest_padded_node *nodes, const float *leaves, const struct view *v)            \
    {                                                                                                                  \
        for (size_t i = 0; i < v->n_quarters; i++)                                                                     \
            add_answers(leaves, full_##H(nodes, quarter_of(v, i)), v->sums + i * 16);                                  \
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

static void any_tree(const struct forest *f, const struct forest_tree *t, const struct view *v,
                     struct forest_reach *reach)
{
    const struct forest_node *nodes = f->nodes + t->first_node;
    uint8_t *slots = reach->slots[0];

    for (size_t i = 0; i < v->n_quarters; i++) {
        const int8_t *planes = quarter_of(v, i);
        uint8_t *out = slots + (TREE_MAX_LEAVES + t->n_nodes) * BINS_BLOCK;
        uint8x16_t reached = vdupq_n_u8(0);

        for (size_t j = 0; j < t->n_nodes; j++) {
            const struct forest_node *node = &nodes[j];

            reached = vbslq_u8(is_right(planes + node->offset, node->threshold), vld1q_u8(slots + node->side[1]),
                               vld1q_u8(slots + node->side[0]));
            out -= BINS_BLOCK;
            vst1q_u8(out, reached);
        }
        add_answers(f->leaves + t->first_leaf, reached, v->sums + i * 16);
    }
}

static void add(const struct forest *f, size_t first, size_t n, const int8_t *planes, size_t n_blocks, float *sums)
{
    const struct view v = {planes, f->n_planes * BINS_BLOCK, 4 * n_blocks, sums};
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

const struct forest_path forest_neon = {"neon", is_supported, add};

#endif
