/* SPDX-License-Identifier: MIT */
#include "cost_model/histogram.h"

#include "core/clones.h"
#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (PACKED_MAX_CODES / 64)
#define SCORED 32   /* candidates side by side */
#define TINY 64     /* so few rows are compared with each other, column by column */
#define LANES 8     /* of them side by side */
#define NO_CODE 255 /* wide columns have codes up to 254 */
#define PAIR_CELLS (PACKED_NARROW * PACKED_NARROW)

enum err histogram_init(struct histogram *h, const struct packed *p)
{
    const size_t n_wide = p->n_columns - p->n_narrow;
    const size_t n_candidates = p->n_cells + n_wide * (TINY + PACKED_MAX_CODES) + SCORED;

    *h = (struct histogram){.p = p};
    h->lanes = calloc(p->n_groups * PACKED_NARROW_LANES + 1, sizeof(*h->lanes));
    h->sparse = calloc(p->n_cells + 1, sizeof(*h->sparse));
    h->pairs = malloc((p->n_pairs * PAIR_CELLS + 1) * sizeof(*h->pairs));
    h->left = malloc(n_candidates * sizeof(*h->left));
    h->scores = malloc(n_candidates * sizeof(*h->scores));
    h->codes = malloc(n_candidates);
    h->starts = malloc((p->n_groups + 1) * sizeof(*h->starts));
    h->listed = malloc((p->n_columns + 1) * sizeof(*h->listed));
    if (!h->lanes || !h->sparse || !h->pairs || !h->left || !h->scores || !h->codes || !h->starts || !h->listed) {
        histogram_fini(h);
        return ERR_NOMEM;
    }
    histogram_use(h, NULL);
    return ERR_OK;
}

void histogram_fini(struct histogram *h)
{
    free(h->lanes);
    free(h->sparse);
    free(h->pairs);
    free(h->left);
    free(h->scores);
    free(h->codes);
    free(h->starts);
    free(h->listed);
    *h = (struct histogram){0};
}

void histogram_use(struct histogram *h, const bool *use)
{
    const struct packed *p = h->p;

    for (size_t i = 0; i < p->n_columns; i++) {
        const struct packed_column *c = &p->columns[i];

        h->lanes[c->i_group * PACKED_NARROW_LANES + c->lane] = !use || use[c->i_column] ? ~(cell_t)0 : 0;
    }
}

static inline const uint8_t *record_at(const struct packed *p, const struct row_span *rows, size_t i)
{
    return rows->base + (rows->list ? rows->list[i] : i) * p->stride;
}

static inline cell_t own_of(const uint8_t *record)
{
    cell_t own;

    memcpy(&own, record, sizeof(own));
    return own;
}

static inline uint32_t chunk_at(const uint8_t *at)
{
    uint32_t chunk;

    memcpy(&chunk, at, sizeof(chunk));
    return chunk;
}

/* n: a multiple of PACKED_NARROW_LANES. */
CLONES static void clear(cell_t *cells, size_t n)
{
    for (size_t i = 0; i < n; i += PACKED_NARROW_LANES)
        memset(cells + i, 0, PACKED_NARROW_LANES * sizeof(*cells));
}

/* Sums by code from sums by pairs of codes, for both columns of a pair. */
CLONES static void split_pair(const cell_t *restrict pair, cell_t *restrict even, cell_t *restrict odd)
{
    for (size_t j = 0; j < PACKED_NARROW; j++)
        odd[j] = 0;
    for (size_t i = 0; i < PACKED_NARROW; i++) {
        cell_t sum = 0;

        for (size_t j = 0; j < PACKED_NARROW; j++) {
            odd[j] += pair[i * PACKED_NARROW + j];
            sum += pair[i * PACKED_NARROW + j];
        }
        even[i] = sum;
    }
}

static void split_pairs(const struct histogram *h, cell_t *cells)
{
    const struct packed *p = h->p;

    for (size_t i = 0; i < p->n_narrow; i += 2) {
        cell_t *own = cells + i / PACKED_NARROW_LANES * (PACKED_NARROW * PACKED_NARROW_LANES) + i % PACKED_NARROW_LANES;
        cell_t even[PACKED_NARROW], odd[PACKED_NARROW];

        split_pair(h->pairs + i / 2 * PAIR_CELLS, even, odd);
        for (size_t code = 0; code < PACKED_NARROW; code++) {
            own[code * PACKED_NARROW_LANES] = even[code];
            own[code * PACKED_NARROW_LANES + 1] = odd[code];
        }
    }
}

/* Adds one row to four columns. */
static inline void add_chunk(cell_t *cells, uint32_t codes, size_t step, size_t apart, cell_t own)
{
    cells[(codes & 255) * step] += own;
    cells[(codes >> 8 & 255) * step + apart] += own;
    cells[(codes >> 16 & 255) * step + 2 * apart] += own;
    cells[(codes >> 24) * step + 3 * apart] += own;
}

void histogram_fill(struct histogram *h, const struct row_span *rows, cell_t *restrict cells)
{
    const struct packed *p = h->p;
    const struct packed_group *wide = p->groups + p->n_narrow_groups;
    const size_t n_pairs = p->n_pairs, n_wide = p->n_groups - p->n_narrow_groups, n_rows = rows->n;
    const size_t wide_at = p->wide_at;
    cell_t *restrict pairs = h->pairs;

    memset(pairs, 0, n_pairs * PAIR_CELLS * sizeof(*pairs));
    memset(cells, 0, p->n_cells * sizeof(*cells));
    for (size_t i = 0; i < n_rows; i++) {
        const uint8_t *record = record_at(p, rows, i);
        const cell_t own = own_of(record);

        for (size_t j = 0; j < n_pairs; j += PACKED_CHUNK)
            add_chunk(pairs + j * PAIR_CELLS, chunk_at(record + PACKED_CODES_AT + j), 1, PAIR_CELLS, own);
        for (size_t j = 0; j < n_wide; j++)
            add_chunk(cells + wide[j].first_cell, chunk_at(record + wide_at + j * PACKED_CHUNK), PACKED_WIDE_LANES, 1,
                      own);
    }
    split_pairs(h, cells);
}

cell_t histogram_sum(const struct packed *p, const struct row_span *rows)
{
    cell_t sum = 0;

    for (size_t i = 0; i < rows->n; i++)
        sum += own_of(record_at(p, rows, i));
    return sum;
}

CLONES void histogram_subtract(const struct histogram *h, cell_t *restrict large, const cell_t *restrict small)
{
    const size_t n = h->p->n_cells;

    for (size_t i = 0; i < n; i++)
        large[i] -= small[i];
}

/* Sums from the lowest code on, all columns of a group at once: the left sides of their splits. */
CLONES static void narrow_sums(const cell_t *restrict cells, size_t n_codes, const cell_t *restrict lanes,
                               cell_t *restrict out)
{
    cell_t sum[PACKED_NARROW_LANES] = {0};

    for (size_t i = 0; i + 1 < n_codes; i++)
        for (size_t j = 0; j < PACKED_NARROW_LANES; j++) {
            sum[j] += cells[i * PACKED_NARROW_LANES + j];
            out[i * PACKED_NARROW_LANES + j] = sum[j] & lanes[j];
        }
}

CLONES static void wide_sums(const cell_t *restrict cells, size_t n_codes, const cell_t *restrict lanes,
                             cell_t *restrict out)
{
    cell_t sum[PACKED_WIDE_LANES] = {0};

    for (size_t i = 0; i + 1 < n_codes; i++)
        for (size_t j = 0; j < PACKED_WIDE_LANES; j++) {
            sum[j] += cells[i * PACKED_WIDE_LANES + j];
            out[i * PACKED_WIDE_LANES + j] = sum[j] & lanes[j];
        }
}

/* Candidates of the first n_groups groups from their cells; returns how many. */
static size_t group_sums(struct histogram *h, const cell_t *cells, size_t n_groups)
{
    size_t n = 0;

    for (size_t i = 0; i < n_groups; i++) {
        const struct packed_group *g = &h->p->groups[i];

        h->starts[i] = (uint32_t)n;
        (g->n_lanes == PACKED_WIDE_LANES ? wide_sums : narrow_sums)(cells + g->first_cell, g->n_codes,
                                                                    h->lanes + i * PACKED_NARROW_LANES, h->left + n);
        n += (g->n_codes - 1) * g->n_lanes;
    }
    h->starts[n_groups] = (uint32_t)n;
    return n;
}

/* Scores SCORED candidates; one whose side is too light gets 0. As floats >= 0 are ordered like their bits, these are
 * compared as whole numbers. */
__attribute__((always_inline)) static inline int32_t score_some(const cell_t *restrict left, cell_t all,
                                                                struct scan_rule rule, int32_t *restrict scores)
{
    const int32_t all_gradient = cell_gradient(all), all_weight = cell_weight(all);
    int32_t light[SCORED], most = 0;
    float score[SCORED];

    for (size_t i = 0; i < SCORED; i++) {
        const int32_t left_weight = (int32_t)left[i], right_weight = all_weight - left_weight;
        const int32_t left_gradient = (int32_t)(left[i] >> 32);
        const float g = (float)left_gradient, q = (float)(all_gradient - left_gradient);
        const float w = (float)left_weight + rule.l2, v = (float)right_weight + rule.l2;

        score[i] = (g * g * v + q * q * w) / (w * v);
        light[i] = left_weight < right_weight ? left_weight : right_weight;
    }
    memcpy(scores, score, sizeof(score));
    for (size_t i = 0; i < SCORED; i++) {
        const int32_t bits = scores[i] & -(light[i] >= rule.min_weight);

        scores[i] = bits;
        most = bits > most ? bits : most;
    }
    return most;
}

/* The highest score and where SCORED candidates with it begin. */
struct best {
    int32_t score;
    size_t at;
};

/* Scores n candidates, rounded up to SCORED: `left` is 0 behind them. */
CLONES static struct best score_all(const cell_t *restrict left, size_t n, cell_t all, struct scan_rule rule,
                                    int32_t *restrict scores)
{
    struct best best = {0, 0};

    for (size_t i = 0; i < n; i += SCORED) {
        const int32_t own = score_some(left + i, all, rule, scores + i);

        if (own > best.score)
            best = (struct best){own, i};
    }
    return best;
}

/* The best of n candidates; its place, or SIZE_MAX when none is allowed. */
static size_t best_of(struct histogram *h, size_t n, cell_t all, struct scan_rule rule)
{
    struct best best;

    clear(h->left + n, SCORED);
    best = score_all(h->left, n, all, rule, h->scores);
    if (best.score == 0)
        return SIZE_MAX;
    while (h->scores[best.at] != best.score)
        best.at++;
    return best.at;
}

/* The split of a candidate that came from cells. The next code that a row has is where the sum changes again. */
static struct split group_split(const struct histogram *h, size_t at)
{
    const struct packed *p = h->p;
    const struct packed_group *g = p->groups;
    struct split s = {.score = h->scores[at], .left = h->left[at]};
    size_t i = 0, n_codes, above;

    while (at >= h->starts[i + 1])
        i++;
    assert(i < p->n_groups);
    g += i;
    s.i_column = (uint32_t)(g->first_column + (at - h->starts[i]) % g->n_lanes);
    s.below = (uint16_t)((at - h->starts[i]) / g->n_lanes);
    n_codes = p->columns[s.i_column].n_codes;
    above = s.below + 1u;
    for (size_t next = at + g->n_lanes; above + 1 < n_codes && h->left[next] == s.left; next += g->n_lanes)
        above++;
    s.above = (uint16_t)above;
    return s;
}

struct split histogram_scan(struct histogram *h, const cell_t *cells, cell_t all, struct scan_rule rule)
{
    const size_t n = group_sums(h, cells, h->p->n_groups), at = best_of(h, n, all, rule);

    if (at == SIZE_MAX)
        return (struct split){0};
    return group_split(h, at);
}

/* Few rows. */

/* Cells in a group by the bytes of its pairs: first those of even columns, then of odd ones. */
static inline void cells_of_pairs(const uint8_t *pairs, uint8_t *cells)
{
    static const uint8_t even_lanes[8] = {0, 2, 4, 6, 8, 10, 12, 14}, odd_lanes[8] = {1, 3, 5, 7, 9, 11, 13, 15};
    const uint64_t digits = 0x0707070707070707u;
    uint64_t both, even, odd;

    memcpy(&both, pairs, sizeof(both));
    memcpy(&even, even_lanes, sizeof(even));
    memcpy(&odd, odd_lanes, sizeof(odd));
    even |= (both >> 3 & digits) << 4;
    odd |= (both & digits) << 4;
    memcpy(cells, &even, sizeof(even));
    memcpy(cells + sizeof(even), &odd, sizeof(odd));
}

/* Adds few rows to the cells of all narrow columns. Lanes without a column are filled with anything: none of them may
 * split. */
static void fill_narrow(struct histogram *h, const struct row_span *rows)
{
    const struct packed *p = h->p;
    const size_t n_groups = p->n_narrow_groups, n_rows = rows->n;
    cell_t *restrict cells = h->sparse;

    for (size_t i = 0; i < n_rows; i++) {
        const uint8_t *record = record_at(p, rows, i), *pairs = record + PACKED_CODES_AT;
        const cell_t own = own_of(record);

        for (size_t j = 0; j < n_groups; j++, pairs += PACKED_NARROW_LANES / 2) {
            cell_t *restrict group = cells + j * PACKED_NARROW * PACKED_NARROW_LANES;
            uint8_t at[PACKED_NARROW_LANES];

            cells_of_pairs(pairs, at);
            for (size_t k = 0; k < PACKED_NARROW_LANES; k++)
                group[at[k]] += own;
        }
    }
}

typedef int64_t lanes_t __attribute__((vector_size(LANES * sizeof(int64_t)), aligned(sizeof(int64_t))));

/* For n_vectors * LANES rows, a constant where it is called, the sums over all n rows whose code is not above theirs.
 */
__attribute__((always_inline)) static inline void sum_not_above(const int64_t *codes, const cell_t *own, size_t n,
                                                                size_t n_vectors, cell_t *out)
{
    lanes_t mine[TINY / LANES], sum[TINY / LANES];

    for (size_t j = 0; j < n_vectors; j++) {
        mine[j] = *(const lanes_t *)(const void *)(codes + j * LANES);
        sum[j] = (lanes_t){0};
    }
    for (size_t i = 0; i < n; i++) {
        const lanes_t code = codes[i] + (lanes_t){0}, value = (int64_t)own[i] + (lanes_t){0};

        for (size_t j = 0; j < n_vectors; j++)
            sum[j] += (mine[j] >= code) & value;
    }
    memcpy(out, sum, n_vectors * sizeof(*sum));
}

/* The same for n rows; codes and out have room for as many vectors as they begin. */
CLONES static void sums_not_above(const int64_t *codes, const cell_t *own, size_t n, cell_t *out)
{
    switch ((n + LANES - 1) / LANES) {
    case 1:
        sum_not_above(codes, own, n, 1, out);
        break;
    case 2:
        sum_not_above(codes, own, n, 2, out);
        break;
    case 3:
        sum_not_above(codes, own, n, 3, out);
        break;
    case 4:
        sum_not_above(codes, own, n, 4, out);
        break;
    case 5:
        sum_not_above(codes, own, n, 5, out);
        break;
    case 6:
        sum_not_above(codes, own, n, 6, out);
        break;
    case 7:
        sum_not_above(codes, own, n, 7, out);
        break;
    default:
        sum_not_above(codes, own, n, 8, out);
    }
}

/* A candidate for each row, in the order of the rows; own: their sums. */
static size_t tiny_candidates(struct histogram *h, const struct row_span *rows, const cell_t *own, size_t i_column,
                              size_t at)
{
    const struct packed *p = h->p;
    const struct packed_column *c = &p->columns[i_column];
    const size_t n = rows->n, n_lanes = (n + LANES - 1) / LANES * LANES;
    const uint8_t *byte = rows->base + c->i_byte;
    uint8_t *restrict listed = h->codes + at;
    int64_t codes[TINY];

    for (size_t i = 0; i < n; i++)
        codes[i] = listed[i] = byte[(rows->list ? rows->list[i] : i) * p->stride];
    for (size_t i = n; i < n_lanes; i++)
        codes[i] = listed[i] = NO_CODE;
    sums_not_above(codes, own, n, h->left + at);
    if (h->lanes[c->i_group * PACKED_NARROW_LANES + c->lane] == 0)
        memset(h->left + at, 0, n * sizeof(*h->left));
    for (size_t i = n; i < n_lanes; i++)
        h->left[at + i] = 0;
    return n_lanes;
}

/* A candidate for each code that a row has; leaves the cells 0 again. */
static size_t few_candidates(struct histogram *h, const struct row_span *rows, size_t i_column, size_t at)
{
    const struct packed *p = h->p;
    const struct packed_column *c = &p->columns[i_column];
    const cell_t lane = h->lanes[c->i_group * PACKED_NARROW_LANES + c->lane];
    cell_t *restrict cells = h->sparse + p->groups[c->i_group].first_cell + c->lane;
    cell_t *restrict left = h->left + at, sum = 0;
    uint8_t *restrict codes = h->codes + at;
    uint64_t used[WORDS] = {0};
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++) {
        const uint8_t *record = record_at(p, rows, i), code = record[c->i_byte];

        cells[code * PACKED_WIDE_LANES] += own_of(record);
        used[code / 64] |= (uint64_t)1 << (code % 64);
    }
    for (size_t word = 0; word < WORDS; word++)
        for (uint64_t open = used[word]; open; open &= open - 1, n++) {
            const size_t code = word * 64 + (size_t)__builtin_ctzll(open);

            sum += cells[code * PACKED_WIDE_LANES];
            cells[code * PACKED_WIDE_LANES] = 0;
            left[n] = sum & lane;
            codes[n] = (uint8_t)code;
        }
    return n;
}

/* The split of a candidate of a wide column: of equal ones in its group the one of the lowest code, then of the
 * earliest column. */
static struct split listed_split(const struct histogram *h, size_t at)
{
    const struct packed *p = h->p;
    struct split s = {.score = h->scores[at], .below = NO_CODE};
    size_t i = p->n_narrow, i_group;

    while (at >= h->listed[i + 1])
        i++;
    assert(i < p->n_columns);
    for (i_group = p->columns[i].i_group; i < p->n_columns && p->columns[i].i_group == i_group; i++)
        for (size_t j = h->listed[i]; j < h->listed[i + 1]; j++)
            if (h->scores[j] == s.score && h->codes[j] < s.below) {
                s.i_column = (uint32_t)i;
                s.below = h->codes[j];
                s.left = h->left[j];
            }
    s.above = NO_CODE;
    for (size_t j = h->listed[s.i_column]; j < h->listed[s.i_column + 1]; j++)
        if (h->codes[j] > s.below && h->codes[j] < s.above)
            s.above = h->codes[j];
    return s;
}

/* Candidates of all wide columns behind the first n; returns the number of all. */
static size_t list_wide(struct histogram *h, const struct row_span *rows, size_t n)
{
    const struct packed *p = h->p;
    const bool is_tiny = rows->n <= TINY;
    cell_t own[TINY];

    for (size_t i = 0; is_tiny && i < rows->n; i++)
        own[i] = own_of(record_at(p, rows, i));
    for (size_t i = p->n_narrow; i < p->n_columns; i++) {
        h->listed[i] = (uint32_t)n;
        n += is_tiny ? tiny_candidates(h, rows, own, i, n) : few_candidates(h, rows, i, n);
    }
    h->listed[p->n_columns] = (uint32_t)n;
    return n;
}

struct split histogram_scan_rows(struct histogram *h, const struct row_span *rows, cell_t all, struct scan_rule rule)
{
    const struct packed *p = h->p;
    size_t n_narrow, at;

    fill_narrow(h, rows);
    n_narrow = group_sums(h, h->sparse, p->n_narrow_groups);
    clear(h->sparse, p->n_narrow_groups * PACKED_NARROW_LANES * PACKED_NARROW);
    at = best_of(h, list_wide(h, rows, n_narrow), all, rule);
    if (at == SIZE_MAX)
        return (struct split){0};
    return at < n_narrow ? group_split(h, at) : listed_split(h, at);
}
