#include "cost_model/histogram.h"

#include "cost_model/clones.h"

#include <stdlib.h>
#include <string.h>

#define WORDS (PACKED_MAX_CODES / 64)
#define SCORED 64 /* candidates side by side */

enum err histogram_init(struct histogram *h, const struct packed *p)
{
    const size_t n_wide = p->n_columns - p->n_narrow;

    *h = (struct histogram){.p = p};
    h->lanes = calloc(p->n_groups * PACKED_LANES + 1, sizeof(*h->lanes));
    h->wide = malloc((2 * n_wide + 1) * sizeof(*h->wide));
    h->wide_cell = h->wide ? h->wide + n_wide : NULL;
    h->sparse = calloc(p->n_cells + 1, sizeof(*h->sparse));
    h->left = malloc((p->n_cells + SCORED) * sizeof(*h->left));
    h->scores = malloc((p->n_cells + SCORED) * sizeof(*h->scores));
    h->codes = malloc(p->n_cells + 1);
    h->starts = malloc((n_wide + 1) * sizeof(*h->starts));
    if (!h->lanes || !h->wide || !h->sparse || !h->left || !h->scores || !h->codes || !h->starts) {
        histogram_fini(h);
        return ERR_NOMEM;
    }
    histogram_use(h, NULL);
    return ERR_OK;
}

void histogram_fini(struct histogram *h)
{
    free(h->lanes);
    free(h->wide);
    free(h->sparse);
    free(h->left);
    free(h->scores);
    free(h->codes);
    free(h->starts);
    *h = (struct histogram){0};
}

void histogram_use(struct histogram *h, const bool *use)
{
    const struct packed *p = h->p;

    h->n_wide = 0;
    for (size_t i = 0; i < p->n_columns; i++) {
        const struct packed_column *c = &p->columns[i];
        const bool on = !use || use[c->i_column];

        if (i < p->n_narrow) {
            h->lanes[i] = on ? ~(cell_t)0 : 0;
        } else if (on) {
            h->wide[h->n_wide] = (uint32_t)i;
            h->wide_cell[h->n_wide++] = c->first_cell;
        }
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

/* Adds one row to the cells of all narrow columns. */
static inline void add_narrow(const struct packed *p, const uint8_t *codes, cell_t own, cell_t *cells)
{
    for (size_t i = 0; i < p->n_groups; i++, codes += PACKED_LANES) {
        cell_t *group = cells + p->groups[i].first_cell;
        const size_t width = p->groups[i].width;
        size_t j = 0;

        for (; j + 4 <= width; j += 4) {
            group[codes[j]] += own;
            group[codes[j + 1]] += own;
            group[codes[j + 2]] += own;
            group[codes[j + 3]] += own;
        }
        for (; j < width; j++)
            group[codes[j]] += own;
    }
}

void histogram_fill(const struct histogram *h, const struct row_span *rows, cell_t *cells)
{
    const struct packed *p = h->p;

    memset(cells, 0, p->n_cells * sizeof(*cells));
    for (size_t i = 0; i < rows->n; i++) {
        const uint8_t *record = record_at(p, rows, i), *codes = record + PACKED_CODES_AT;
        const cell_t own = own_of(record);

        add_narrow(p, codes, own, cells);
        for (size_t j = 0; j < h->n_wide; j++)
            cells[h->wide_cell[j] + codes[h->wide[j]]] += own;
    }
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

/* Sums from the lowest code on for 16 columns at once: the left sides of their splits. */
CLONES static size_t narrow_sums(const cell_t *restrict cells, size_t n_codes, const cell_t *restrict lanes,
                                 cell_t *restrict out)
{
    cell_t sum[PACKED_LANES] = {0};

    for (size_t i = 0; i + 1 < n_codes; i++)
        for (size_t j = 0; j < PACKED_LANES; j++) {
            sum[j] += cells[i * PACKED_LANES + j];
            out[i * PACKED_LANES + j] = sum[j] & lanes[j];
        }
    return (n_codes - 1) * PACKED_LANES;
}

static size_t all_narrow_sums(struct histogram *h, const cell_t *cells)
{
    const struct packed *p = h->p;
    size_t n = 0;

    for (size_t i = 0; i < p->n_groups; i++)
        n += narrow_sums(cells + p->groups[i].first_cell, p->groups[i].n_codes, h->lanes + i * PACKED_LANES,
                         h->left + n);
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

/* Scores n candidates, rounded up to SCORED: `left` is 0 behind them. Returns the highest score. */
CLONES static int32_t score_all(const cell_t *restrict left, size_t n, cell_t all, struct scan_rule rule,
                                int32_t *restrict scores)
{
    int32_t most = 0;

    for (size_t i = 0; i < n; i += SCORED) {
        const int32_t own = score_some(left + i, all, rule, scores + i);

        most = own > most ? own : most;
    }
    return most;
}

static size_t first_of(const int32_t *scores, int32_t wanted)
{
    size_t i = 0;

    while (scores[i] != wanted)
        i++;
    return i;
}

/* The split of candidate `at` of the narrow columns. The next code that a row has is where the sum changes again. */
static struct split narrow_split(const struct histogram *h, size_t at)
{
    const struct packed *p = h->p;
    struct split s = {.score = h->scores[at], .left = h->left[at]};
    size_t i_group = 0, i = at, n_codes, above;

    while (i >= (p->groups[i_group].n_codes - 1) * PACKED_LANES)
        i -= (p->groups[i_group++].n_codes - 1) * PACKED_LANES;
    s.i_column = (uint32_t)(i_group * PACKED_LANES + i % PACKED_LANES);
    s.below = (uint16_t)(i / PACKED_LANES);
    n_codes = p->columns[s.i_column].n_codes;
    above = s.below + 1u;
    for (size_t next = at + PACKED_LANES; above + 1 < n_codes && h->left[next] == s.left; next += PACKED_LANES)
        above++;
    s.above = (uint16_t)above;
    return s;
}

/* The same of a wide column, whose candidates carry their codes; the one of the highest code is never chosen. */
static struct split wide_split(const struct histogram *h, size_t at)
{
    struct split s = {.score = h->scores[at], .left = h->left[at], .below = h->codes[at]};
    size_t i = 0, next = at + 1;

    while (at >= h->starts[i + 1])
        i++;
    while (h->left[next] == s.left)
        next++;
    s.i_column = h->wide[i];
    s.above = h->codes[next];
    return s;
}

static struct split best_of(struct histogram *h, size_t n_narrow, size_t n, cell_t all, struct scan_rule rule)
{
    int32_t most;
    size_t at;

    memset(h->left + n, 0, SCORED * sizeof(*h->left));
    most = score_all(h->left, n, all, rule, h->scores);

    if (most == 0)
        return (struct split){0};
    at = first_of(h->scores, most);
    return at < n_narrow ? narrow_split(h, at) : wide_split(h, at);
}

struct split histogram_scan(struct histogram *h, const cell_t *cells, cell_t all, struct scan_rule rule)
{
    const size_t n_narrow = all_narrow_sums(h, cells);
    size_t n = n_narrow;

    for (size_t i = 0; i < h->n_wide; i++) {
        const size_t n_codes = h->p->columns[h->wide[i]].n_codes;
        const cell_t *own = cells + h->wide_cell[i];
        cell_t sum = 0;

        h->starts[i] = (uint32_t)n;
        for (size_t code = 0; code < n_codes; code++, n++) {
            sum += own[code];
            h->left[n] = sum;
            h->codes[n] = (uint8_t)code;
        }
    }
    h->starts[h->n_wide] = (uint32_t)n;
    return best_of(h, n_narrow, n, all, rule);
}

/* Sums one wide column over few rows; adds a candidate for each code they have and clears the cells again. */
static size_t wide_sums(struct histogram *h, const struct row_span *rows, size_t i, size_t n)
{
    const uint32_t i_byte = PACKED_CODES_AT + h->wide[i];
    cell_t *own = h->sparse + h->wide_cell[i], sum = 0;
    uint64_t used[WORDS] = {0};

    for (size_t j = 0; j < rows->n; j++) {
        const uint8_t *record = record_at(h->p, rows, j);
        const uint8_t code = record[i_byte];

        own[code] += own_of(record);
        used[code / 64] |= (uint64_t)1 << (code % 64);
    }
    for (size_t word = 0; word < WORDS; word++)
        for (uint64_t left = used[word]; left; left &= left - 1, n++) {
            const size_t code = word * 64 + (size_t)__builtin_ctzll(left);

            sum += own[code];
            own[code] = 0;
            h->left[n] = sum;
            h->codes[n] = (uint8_t)code;
        }
    return n;
}

struct split histogram_scan_rows(struct histogram *h, const struct row_span *rows, cell_t all, struct scan_rule rule)
{
    const struct packed *p = h->p;
    size_t n_narrow = 0, n;

    for (size_t i = 0; i < rows->n; i++) {
        const uint8_t *record = record_at(p, rows, i);

        add_narrow(p, record + PACKED_CODES_AT, own_of(record), h->sparse);
    }
    if (p->n_groups > 0) {
        const struct packed_group *last = &p->groups[p->n_groups - 1];

        n_narrow = all_narrow_sums(h, h->sparse);
        memset(h->sparse, 0, (last->first_cell + last->n_codes * PACKED_LANES) * sizeof(*h->sparse));
    }
    n = n_narrow;
    for (size_t i = 0; i < h->n_wide; i++) {
        h->starts[i] = (uint32_t)n;
        n = wide_sums(h, rows, i, n);
    }
    h->starts[h->n_wide] = (uint32_t)n;
    return best_of(h, n_narrow, n, all, rule);
}
