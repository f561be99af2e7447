/* SPDX-License-Identifier: MIT */
/* fill.c - contents of buffers from (kind, seed, index) alone. Compiled without contraction of a*b+c, so that every
 * machine makes the same values. */
#include "core/err.h"
#include "core/rng.h"
#include "runtime/program.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024

/* Uniform over the integers of [lo, hi]: the high half of random * span (Lemire 2019 without the rejection: the bias is
 * below span / 2^64). The fourth of eight blocks is 0. */
static void make_ints(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const uint64_t span = (uint64_t)(f->hi - f->lo) + 1;
    const double step = f->step == 0 ? 1 : f->step;
    uint64_t words[CHUNK];

    assert(n <= CHUNK && f->lo <= f->hi);
    rng_at_each(f->seed, (uint64_t)first, words, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (f->lo + (double)(int64_t)((unsigned __int128)words[i] * span >> 64)) * step;
    for (size_t i = 0; f->kind == FILL_INT && f->block && i < n; i++)
        if ((first + (int64_t)i) / f->block % 8 == 3)
            out[i] = 0;
}

static uint32_t sum_of_four(uint64_t r)
{
    return (uint32_t)(r & 0xffff) + (uint32_t)(r >> 16 & 0xffff) + (uint32_t)(r >> 32 & 0xffff) + (uint32_t)(r >> 48);
}

#define OF_TAIL 0x1p-16

/* Of four rows the second begins with one large number, beside which each of the others is lost in few bits. */
static double with_tail(const struct program_fill *f, int64_t i, double v)
{
    if (i / f->block % 4 != 1)
        return v;
    return i % f->block ? OF_TAIL * v : f->step;
}

/* Irwin-Hall: the sum of twelve 16-bit uniforms has mean 12 * 65535 / 2 and variance 65536^2 - 1; the quotient is
 * exact. */
static void make_normals(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    uint64_t words[3 * CHUNK];

    assert(n <= CHUNK);
    rng_at_each(f->seed, 3 * (uint64_t)first, words, 3 * n);
    for (size_t i = 0; i < n; i++) {
        const int32_t sum =
            (int32_t)(sum_of_four(words[3 * i]) + sum_of_four(words[3 * i + 1]) + sum_of_four(words[3 * i + 2]));
        const double scaled = f->hi * ((double)(sum - 393210) * 0x1p-16);

        out[i] = f->lo + scaled;
    }
    for (size_t i = 0; f->kind == FILL_NORMAL && f->block && i < n; i++)
        out[i] = with_tail(f, first + (int64_t)i, out[i]);
}

/* Seeds of what else is drawn for a wide or an edged element. */
#define OF_ELEMENT UINT64_C(0x5851f42d4c957f2d)
#define OF_BLOCK UINT64_C(0x14057b7ef767814f)

/* Of each four blocks two have 1, one any from 2^-6 to 2^most, one the largest or half of it: the second, so that the
 * largest of both factors of a sum meet. */
static double factor_of(const struct program_fill *f, int64_t i_block, int most)
{
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)i_block);
    const uint64_t turn = (uint64_t)i_block % 4;

    if (turn % 2 == 0)
        return 1;
    return ldexp(1, turn == 1 ? most - (int)(r % 2) : (int)(r % (uint64_t)(most + 7)) - 6);
}

/* The exponent of the largest factor. */
static int most_of(const struct program_fill *f)
{
    int most = 0;

    while (most < 100 && ldexp(1, most + 1) <= f->step)
        most++;
    return most;
}

/* Of a plane what it ends with is far smaller. */
static double factor_in_plane(const struct program_fill *f, int64_t i)
{
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)(i / f->plane));

    return i % f->plane < f->plane - f->block ? 1 : ldexp(1, -3 - (int)(r % 4));
}

static bool has_planes(const struct program_fill *f)
{
    return f->kind == FILL_WIDE && f->plane && f->seen == 0;
}

/* One of 16 elements is 0, two are half a deviation: ties. */
static void make_wide(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = f->seed, .lo = 0, .hi = f->hi};
    const int64_t block = f->block ? f->block : 1;
    const int most = most_of(f);
    double factor = 0;
    uint64_t words[CHUNK];

    make_normals(&plain, first, n, out);
    rng_at_each(f->seed ^ OF_ELEMENT, (uint64_t)first, words, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t pick = words[i] & 15;

        if (has_planes(f))
            factor = factor_in_plane(f, first + (int64_t)i);
        else if (i == 0 || (first + (int64_t)i) % block == 0)
            factor = factor_of(f, (first + (int64_t)i) / block, most);
        if (pick < 3)
            out[i] = pick == 0 ? 0 : pick == 1 ? f->hi / 2 : -f->hi / 2;
        out[i] = factor * (f->lo + out[i]);
    }
}

/* Of four blocks the first is at the lower bound and the third at the upper one (without negative ones the other way
 * round: the first block may be all there is), but for one element of eight, a little off; with step 1 half of such
 * blocks as a whole. */
static double at_bound(const struct program_fill *f, int64_t i, uint64_t word, double otherwise)
{
    const int64_t i_block = i / f->block;
    const bool pure = f->step == 1 && (rng_at(f->seed ^ OF_BLOCK, (uint64_t)i_block) & 1);
    const double off = !pure && word >> 8 & 7 ? 0 : !pure ? (double)(word >> 11 & 7) : 0;

    if (i_block % 2)
        return otherwise;
    return (i_block % 4 == 0) == (f->lo < 0) ? fmin(f->lo + off, f->hi) : fmax(f->hi - off, f->lo);
}

/* The bounds and what is next to them, 0 and what is next to it; one of eight anywhere. */
static void make_edges(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const double picks[] = {f->lo, f->lo + 1, f->hi - 1, f->hi, -1, 0, 1};
    uint64_t words[CHUNK];

    make_ints(f, first, n, out);
    rng_at_each(f->seed ^ OF_ELEMENT, (uint64_t)first, words, n);
    for (size_t i = 0; i < n; i++) {
        if (words[i] % 8 < 7)
            out[i] = fmin(fmax(picks[words[i] % 8], f->lo), f->hi);
        if (f->block)
            out[i] = at_bound(f, first + (int64_t)i, words[i], out[i]);
    }
}

/* Of eight blocks the first and the fifth have the largest exponents below 0 alone, the third -infinity, the seventh
 * mostly; where infinities are left (1 and 2 of step), those of the second and sixth are below 0. With step -1 above.
 */
enum turn { TURN_FAR, TURN_ONE_SIDED, TURN_INFINITE, TURN_ANY, TURN_FAR_TOO, TURN_SIDED_TOO, TURN_MOSTLY };

static int64_t turn_of(const struct program_fill *f, int64_t i)
{
    return f->block ? i / f->block % 8 : TURN_ANY;
}

/* What has no exponent, by 5 bits that were drawn: one of 32 is 0, one infinite (step 1 and 2), one a quiet NaN with
 * some of the fraction of `v` in it (step 2), one near a larger step. */
static double special(const struct program_fill *f, unsigned pick, double v)
{
    uint64_t bits;
    int exponent;

    if (pick == 0)
        return f->step <= FILL_FLOATS_ABOVE_0 ? v : 0;
    if (pick == 1 && (fabs(f->step) == 1 || f->step == 2))
        return INFINITY;
    if (pick == 3 && f->step > 2) /* a little below it */
        return f->step * (1 - 0x1p-8 * frexp(v, &exponent));
    if (pick != 2 || f->step != 2)
        return v;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits & UINT64_C(0x0003ffffffffffff)) | UINT64_C(0x7ff8000000000000); /* never all set, as poison is */
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double in_block(const struct program_fill *f, int64_t turn, uint64_t word, double v)
{
    const double sign = f->step == -1 ? 1 : -1;

    if (turn % 2)
        return turn % 4 == TURN_ONE_SIDED && isinf(v) ? sign * INFINITY : v;
    if (turn % 4 == TURN_INFINITE && fabs(f->step) == 1 && (turn != TURN_MOSTLY || word >> 40 & 7))
        return sign * INFINITY;
    return sign * ldexp(1 + (double)(word >> 43) * 0x1p-21, (int)f->hi - (int)(word % 8));
}

/* (1 + fraction / 2^52) * 2^exponent, infinite beyond 2^1023. */
static double number_of(uint64_t fraction, int exponent)
{
    double v;

    if (exponent < -1022)
        return ldexp(1 + (double)fraction * 0x1p-52, exponent);
    if (exponent > 1023)
        return INFINITY;
    fraction |= (uint64_t)(exponent + 1023) << 52;
    memcpy(&v, &fraction, sizeof v);
    return v;
}

/* Exponents lo to hi, one of eight the largest, 52 bits of fraction, of either sign but for a step of -2. */
static void make_floats(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const uint64_t span = (uint64_t)(f->hi - f->lo) + 1;
    uint64_t words[CHUNK], more[CHUNK];

    assert(n <= CHUNK && f->lo <= f->hi);
    rng_at_each(f->seed, (uint64_t)first, words, n);
    rng_at_each(f->seed ^ OF_ELEMENT, (uint64_t)first, more, n);
    for (size_t i = 0; i < n; i++) {
        const unsigned pick = more[i] >> 32 & 31;
        const int exponent = pick >= 28 ? (int)f->hi : (int)f->lo + (int)(more[i] % span);
        const double v = special(f, pick, number_of(words[i] >> 12, exponent));

        const bool below = (words[i] & 1) && f->step != FILL_FLOATS_ABOVE_0;

        out[i] = in_block(f, turn_of(f, first + (int64_t)i), more[i], copysign(v, below ? -1 : 1));
    }
}

#define SPIKE 120.0      /* whose power of e no float holds */
#define SMALL_SPIKE 64.0 /* beside whose power of e others are tiny, and floats */

/* Rows of equal numbers have one infinite element. */
static bool has_infinity(const struct program_fill *f, int64_t row)
{
    return f->hi == 0 && row % 8 == 2;
}

/* A row's largest element: of the first of eight rows the last one, of the second four among the last 16, else
 * anywhere, an infinite one first; -1 = it has none apart. */
static int64_t spike_of(const struct program_fill *f, int64_t row)
{
    const int64_t tail = f->block < 16 ? f->block : 16;
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)row);

    if (row % 4 == 3)
        return -1;
    if (row % 8 == 0)
        return f->block - 1;
    if (has_infinity(f, row))
        return 0;
    return row / 4 % 2 ? f->block - 1 - (int64_t)(r % (uint64_t)tail) : (int64_t)(r % (uint64_t)f->block);
}

/* Rows round lo, 300, -300 and 0, in units of step. */
static void make_rows(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = f->seed, .lo = 0, .hi = f->hi};
    const double offsets[] = {f->lo, 300, -300, 0}, unit = f->step == 0 ? 1 : f->step;

    make_normals(&plain, first, n, out);
    for (size_t i = 0; i < n; i++) {
        const int64_t row = (first + (int64_t)i) / f->block, column = (first + (int64_t)i) % f->block;
        const double spike = row % 8 == 0 || row % 8 == 5 ? SPIKE : has_infinity(f, row) ? INFINITY : SMALL_SPIKE;

        out[i] += unit * (offsets[row % 4] + (column == spike_of(f, row) ? spike : 0));
    }
}

static void make_turns(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t turn = (uint64_t)first + i;

        out[i] = (f->step == 1 ? rng_at(f->seed, turn) : turn) & 1 ? f->hi : f->lo;
    }
}

/* Four bands of a block: of the first one of `lo` elements is not 0, nor is the last; the second is as large as can be,
 * the third as usual, the fourth any from 2^-6 to the largest. */
static double in_band(const struct program_fill *f, int64_t i, uint64_t word, int most, double v)
{
    const int64_t place = i % f->block, band = place * 4 / f->block;
    const bool ends = (place + 1) * 4 / f->block != band;
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)(i / f->block));

    switch (band) {
    case 0:
        return ends || word % (uint64_t)f->lo == 0 ? v : 0;
    case 1:
        return ldexp(v, most - (int)(r & 1));
    case 2:
        return v;
    default:
        return ldexp(v, (int)((r >> 8) % (uint64_t)(most + 7)) - 6);
    }
}

static void make_bands(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = f->seed, .lo = 0, .hi = f->hi};
    uint64_t words[CHUNK];
    const int most = most_of(f);

    make_normals(&plain, first, n, out);
    rng_at_each(f->seed ^ OF_ELEMENT, (uint64_t)first, words, n);
    for (size_t i = 0; i < n; i++)
        out[i] = in_band(f, first + (int64_t)i, words[i], most, out[i]);
}

/* ---- what looks like something else to who looks at a part of it ---- */

static double whole_number(const struct program_fill *f, double hi, int64_t i)
{
    const uint64_t span = (uint64_t)(hi - f->lo) + 1;

    return f->lo + (double)(int64_t)((unsigned __int128)rng_at(f->seed, (uint64_t)i) * span >> 64);
}

/* Which element has this one's value: of the upper half of a plane one of each 3 x 5 pixels, all of one colour;
 * mirrored or not, a row has the same values. */
static int64_t pixel_of(const struct program_fill *f, int64_t i)
{
    const int64_t at = i % f->plane, width = f->block / f->seen;
    int64_t row = at / f->block, column = at % f->block / f->seen;

    column = f->step < 0 ? width - 1 - column : column;
    if (2 * (row + 1) * f->block <= f->plane) {
        row -= row % 3;
        column -= column % 5;
    }
    return i - at + row * f->block + column * f->seen + i % f->seen;
}

/* Every second row begins like the one before it, every second matrix's others like those of the matrix before: all but
 * an eighth. */
static int64_t prefix_of(const struct program_fill *f, int64_t i)
{
    const int64_t row = i / f->block;
    const int64_t column = f->step < 0 ? f->block - 1 - i % f->block : i % f->block;
    int64_t from = row;

    if (column < f->block - f->block / 8) {
        from -= from % 2;
        from -= i / f->plane % 2 ? f->plane / f->block : 0;
    }
    return (from < 0 ? row : from) * f->block + column;
}

static void make_pixels(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const double step = f->step == 0 ? 1 : fabs(f->step);

    for (size_t i = 0; i < n; i++) {
        const int64_t at = first + (int64_t)i;

        out[i] = step * whole_number(f, f->hi, f->kind == FILL_PIXELS ? pixel_of(f, at) : prefix_of(f, at));
    }
}

/* Which filter one of eight is. */
enum filter {
    FILTER_ANY,
    FILTER_DEAD,      /* the second of four windows is 0 */
    FILTER_SYMMETRIC, /* its first window from left to right */
    FILTER_EMPTY,     /* of two the first begins with zeros, the second is 0 */
    FILTER_ALONE,     /* one weight is 1, the others are 0 */
    FILTER_EQUAL,     /* to the first of the eight */
    FILTER_CANCELS,   /* hi and -hi in two places, beside which the others are small */
    FILTER_CONSTANT   /* lo */
};

/* The i-th weight but for the step: whole numbers from lo to the less of -lo and hi. */
static double weight_of(const struct program_fill *f, int64_t i)
{
    const int64_t filter = i / f->block, at = i % f->block, window = at / f->plane, column = at % f->seen;
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)filter);
    const int64_t one = (int64_t)(r % (uint64_t)f->block), other = (int64_t)((r >> 32) % (uint64_t)f->block);
    const double any = whole_number(f, fmin(-f->lo, f->hi), i);

    switch ((enum filter)(filter % 8)) {
    case FILTER_DEAD:
        return window % 4 == 1 ? 0 : any;
    case FILTER_SYMMETRIC:
        return window == 0 && 2 * column >= f->seen ? weight_of(f, i + f->seen - 1 - 2 * column) : any;
    case FILTER_EMPTY:
        return filter % 16 >= 8 || 2 * at < f->block ? 0 : any;
    case FILTER_ALONE:
        return at == one;
    case FILTER_EQUAL:
        return weight_of(f, i - (FILTER_EQUAL - FILTER_ANY) * f->block);
    case FILTER_CANCELS:
        return at == one ? f->hi : at == other ? -f->hi : any;
    case FILTER_CONSTANT:
        return f->lo;
    default:
        return any;
    }
}

static void make_filters(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (f->step == 0 ? 1 : f->step) * weight_of(f, first + (int64_t)i);
}

#define MANY_DIGITS 0x1p20 /* numbers that leave no room for other exponents in a half */

/* lo times a whole number that `seed` and the index make, from block to 2 * block; with a salt in hi up to 2 off, and
 * of the other sign in every second place. Runs of 16 have exponents of their own; every fifth with a salt is as small
 * beside the one without as a last place. */
static void make_near(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    static const int exponents[][2] = {{0, 0}, {60, 60}, {-60, -60}, {100, 100}, {0, -23}};
    const uint64_t salt = OF_ELEMENT * (uint64_t)f->hi;

    for (size_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)first + i;
        const double base = (double)(f->block + (int64_t)(rng_at(f->seed, at) % (uint64_t)f->block));
        const double off = salt ? (double)(rng_at(f->seed ^ salt, at) % 5) - 2 : 0;
        const int exponent = (double)f->block < MANY_DIGITS ? 0 : exponents[at / 16 % 5][salt != 0];

        out[i] = ldexp(f->lo * ((salt && at % 2 ? -base : base) + off), exponent);
    }
}

/* The lower of two whole numbers next to each other: in the first of four blocks the least, in the second the largest,
 * in the third -2, -1 and 0 a third of the block each, in the fourth any. */
static double lower_of_tie(const struct program_fill *f, int64_t i)
{
    const int64_t block = i / f->block, part = i % f->block * 3 / f->block;
    const uint64_t any = rng_at(f->seed ^ OF_BLOCK, (uint64_t)block) % (uint64_t)(f->hi - f->lo);

    switch (block % 4) {
    case 0:
        return f->lo;
    case 1:
        return f->hi - 1;
    case 2:
        return fmin(fmax((double)(part - 2), f->lo), f->hi - 1);
    default:
        return f->lo + (double)any;
    }
}

/* Means of as many of one as of the other are halves: but in the fourth of four blocks every second pixel, of `seen`
 * lanes, has the number that the one before it has not. */
static void make_ties(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const int64_t lanes = f->seen ? f->seen : 1;

    for (size_t i = 0; i < n; i++) {
        const int64_t at = first + (int64_t)i;
        const bool other = at / f->block % 4 != 3 && at / lanes % 2;
        const bool upper = rng_at(f->seed, (uint64_t)(other ? at - lanes : at)) >> 63;

        out[i] = lower_of_tie(f, at) + (upper != other);
    }
}

#define PICKS_ABOVE_0 1
#define PICKS_NOT_BELOW_0 2

/* Numbers, lo and hi, and what is next to them: of either sign, or not below 0. Those over `step` or below its inverse
 * are 1. */
static void make_picks(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    static const double numbers[] = {0,   1,   2,    0.5,  3,    0.25, 6,    10,      100,  1e-3,   1e-6,
                                     1e4, 1e6, 1e10, 1e20, 1e25, 1e30, 1e35, 0x1p-60, 1025, 8388609};
    static const double off[] = {0, 0, 0, 1, -1, 2, -2, 4};
    const size_t n_numbers = sizeof numbers / sizeof numbers[0];

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = rng_at(f->seed, (uint64_t)first + i), pick = (r & 0xffff) % (n_numbers + 4);
        double v = pick < n_numbers ? numbers[pick] : pick % 2 ? f->lo : f->hi;

        v *= 1 + off[r >> 16 & 7] * 0x1p-23;
        if (fabs(v) > f->step || (v == 0 ? f->block == PICKS_ABOVE_0 : fabs(v) * f->step < 1))
            v = 1;
        out[i] = f->block ? fabs(v) : r >> 20 & 1 ? -v : v;
    }
}

static void make_constants(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    (void)first;
    for (size_t i = 0; i < n; i++)
        out[i] = f->kind == FILL_VALUE ? f->lo : 0;
}

/* Values of at most CHUNK elements from `first` on, before conversion; NULL where there is no formula. */
static void (*const makers[N_FILLS])(const struct program_fill *, int64_t first, size_t n, double *out) = {
    [FILL_ZERO] = make_constants,  [FILL_VALUE] = make_constants, [FILL_INT] = make_ints,
    [FILL_NORMAL] = make_normals,  [FILL_WIDE] = make_wide,       [FILL_EDGES] = make_edges,
    [FILL_FLOATS] = make_floats,   [FILL_ROWS] = make_rows,       [FILL_TURNS] = make_turns,
    [FILL_BANDS] = make_bands,     [FILL_PIXELS] = make_pixels,   [FILL_PREFIXES] = make_pixels,
    [FILL_FILTERS] = make_filters, [FILL_NEAR] = make_near,       [FILL_PICKS] = make_picks,
    [FILL_TIES] = make_ties};

/* Which elements of a row are 0, by the row's place among eight. */
enum row_turn { ROW_BEGINS, ROW_MARKED, ROW_FULL, ROW_HOLES, ROW_FULL_TOO, ROW_BOTH_ENDS, ROW_ZERO, ROW_ALONE };

/* How many a row begins with, three or more, and ends with; one at its other end is left. The place of the number that
 * is alone in a row. */
struct row_zeros {
    int64_t row, first, last, alone;
};

static struct row_zeros row_zeros_of(const struct program_fill *f, int64_t row)
{
    const uint64_t r = rng_at(f->seed ^ OF_BLOCK, (uint64_t)row);
    const int64_t half = f->zeros / 2, quarter = f->zeros / 4;

    return (struct row_zeros){.row = row,
                              .first = half > 3 ? 3 + (int64_t)((r & 0xffffffff) % (uint64_t)(half - 2)) : 3,
                              .last = 1 + (int64_t)((r >> 32) % (uint64_t)(quarter + 1)),
                              .alone = (int64_t)(r % (uint64_t)f->zeros)};
}

static bool is_zero_of_row(const struct row_zeros *z, int64_t at, int64_t n, uint64_t word)
{
    const bool first = at < z->first && at < n - 1, last = at >= n - z->last && at > 0;

    switch ((enum row_turn)(z->row % 8)) {
    case ROW_BEGINS:
        return first;
    case ROW_MARKED: /* of two such rows the second does not end so */
        return n > 4 && (at <= 1 || at == n / 2 || (at == n - 1 && z->row % 16 < 8));
    case ROW_HOLES:
        return word & 1;
    case ROW_BOTH_ENDS:
        return first || last;
    case ROW_ZERO:
        return true;
    case ROW_ALONE:
        return at != z->alone;
    default:
        return false;
    }
}

/* Neighbours that are the same: aligned vectors of zeros, others, and what is longer than four vectors. */
static const struct run {
    int length;
    uint64_t odds;
    bool zero;
} runs[] = {{64, 8, false}, {16, 10, true}, {40, 16, true}};
#define N_RUNS (sizeof runs / sizeof runs[0])

/* 0, or of whole numbers the one that is nearest. */
static double zero_of(const struct program_fill *f)
{
    return f->kind == FILL_INT ? fmin(fmax(0, f->lo), f->hi) * (f->step == 0 ? 1 : f->step) : 0;
}

static void put_runs(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    const double zero = zero_of(f);

    for (size_t k = 0; k < N_RUNS; k++)
        for (size_t i = 0, end; i < n; i = end) {
            const int64_t run = (first + (int64_t)i) / runs[k].length;
            const size_t left = (size_t)((run + 1) * runs[k].length - first);
            double v = zero;

            end = left < n ? left : n;
            if (rng_at(f->seed ^ OF_BLOCK, (k + 1) << 48 | (uint64_t)run) % runs[k].odds)
                continue;
            if (!runs[k].zero)
                make_ints(f, run * runs[k].length, 1, &v);
            while (i < end)
                out[i++] = v;
        }
}

/* The n elements of a row from its `at`-th on. What is compared by its bits keeps its sign. */
static void put_zeros_of_row(const struct program_fill *f, int64_t row, int64_t at, size_t n, double *out)
{
    const struct row_zeros z = row_zeros_of(f, row);
    const bool has_sign = f->kind == FILL_FLOATS && f->step == 2;
    const double zero = zero_of(f);
    uint64_t words[CHUNK];

    if (row % 8 == ROW_FULL || row % 8 == ROW_FULL_TOO)
        return;
    assert(n <= CHUNK);
    if (row % 8 == ROW_HOLES)
        rng_at_each(f->seed ^ OF_ELEMENT, (uint64_t)(row * f->zeros + at), words, n);
    for (size_t i = 0; i < n; i++)
        if (is_zero_of_row(&z, at + (int64_t)i, f->zeros, row % 8 == ROW_HOLES ? words[i] : 0))
            out[i] = has_sign ? copysign(zero, out[i]) : zero;
}

/* What lies behind a ReLU: rows that begin or end with zeros, have some or nothing else. */
static void put_zeros(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    if (f->kind == FILL_INT)
        put_runs(f, first, n, out);
    for (size_t i = 0, n_row; i < n; i += n_row) {
        const int64_t turned = f->kind == FILL_VALUE ? (int64_t)f->hi : 0, at = (first + (int64_t)i) % f->zeros;
        const int64_t row = (first + (int64_t)i) / f->zeros + turned;

        n_row = (size_t)(f->zeros - at) < n - i ? (size_t)(f->zeros - at) : n - i;
        put_zeros_of_row(f, row, at, n_row, out + i);
    }
}

static void make(const struct program_fill *f, int64_t first, size_t n, double *out)
{
    makers[f->kind](f, first, n, out);
    if (f->zeros)
        put_zeros(f, first, n, out);
    for (size_t i = 0; f->plane && f->kind < FILL_PIXELS && !has_planes(f) && i < n; i++)
        if ((first + (int64_t)i) % f->plane >= f->seen)
            out[i] = NAN;
}

static enum err fill_blob(const struct program_fill *f, enum dtype t, void *data, int64_t n, const struct blobs *blobs)
{
    const struct blob *b = blobs ? blobs_get(blobs, f->blob.hex) : NULL;

    if (!b)
        return ERR_NOT_FOUND;
    if (b->n_bytes != (size_t)n * dtype_bytes(t))
        return ERR_INPUT;
    memcpy(data, b->data, b->n_bytes);
    return ERR_OK;
}

static void store(enum dtype t, void *data, size_t at, const double *values, size_t n)
{
    if (t == DTYPE_F32) /* by far the most frequent, so not one call for each element */
        for (size_t i = 0; i < n; i++)
            ((float *)data)[at + i] = (float)values[i];
    else
        for (size_t i = 0; i < n; i++)
            dtype_store(t, data, at + i, values[i]);
}

int64_t program_fold_column(const struct program_fold *f, int64_t c)
{
    return c < f->of ? c : (int64_t)(rng_at(f->seed, (uint64_t)c) % (uint64_t)f->of);
}

int64_t program_fold_elem(const struct program_fold *f, int64_t i)
{
    int64_t row, c;

    if (!f->of)
        return i;
    row = i / (f->inner * f->cols);
    c = i / f->inner % f->cols;
    return (row * f->cols + program_fold_column(f, c)) * f->inner + i % f->inner;
}

/* Row by row: the columns that differ, then all. */
static enum err fill_folded(const struct program_fill *f, enum dtype t, void *data, int64_t n)
{
    const struct program_fold *fold = &f->fold;
    const int64_t n_kept = fold->of * fold->inner, n_row = fold->cols * fold->inner;
    double *kept = malloc((size_t)n_kept * sizeof *kept);

    for (int64_t row = 0; kept && row < n; row += n_row) {
        for (int64_t at = 0; at < n_kept; at += CHUNK)
            make(f, row + at, n_kept - at < CHUNK ? (size_t)(n_kept - at) : CHUNK, kept + at);
        for (int64_t c = 0; c < fold->cols; c++)
            store(t, data, (size_t)(row + c * fold->inner), kept + program_fold_column(fold, c) * fold->inner,
                  (size_t)fold->inner);
    }
    free(kept);
    return kept ? ERR_OK : ERR_NOMEM;
}

enum err fill_elems(const struct program_fill *f, enum dtype t, void *data, int64_t n, const struct blobs *blobs)
{
    double values[CHUNK];

    if ((unsigned)f->kind >= N_FILLS || n < 0)
        return ERR_INPUT;
    if (f->kind == FILL_BLOB)
        return fill_blob(f, t, data, n, blobs);
    if (f->kind == FILL_NONE) { /* all bits set: NaN in f32 and f16 */
        memset(data, 0xff, (size_t)n * dtype_bytes(t));
        return ERR_OK;
    }
    if (f->fold.of)
        return fill_folded(f, t, data, n);
    assert(makers[f->kind]);
    for (int64_t first = 0; first < n; first += CHUNK) {
        const size_t n_chunk = n - first < CHUNK ? (size_t)(n - first) : CHUNK;

        make(f, first, n_chunk, values);
        store(t, data, (size_t)first, values, n_chunk);
    }
    return ERR_OK;
}

/* As `t` holds them. */
static void round_to(enum dtype t, double *values, size_t n)
{
    char one[8];

    if (t == DTYPE_F32)
        for (size_t i = 0; i < n; i++)
            values[i] = (double)(float)values[i];
    else
        for (size_t i = 0; i < n; i++) {
            dtype_store(t, one, 0, values[i]);
            values[i] = dtype_load(t, one, 0);
        }
}

void fill_run(const struct program_fill *f, enum dtype t, int64_t first, int64_t n, double *out)
{
    const bool is_made = (unsigned)f->kind < N_FILLS && makers[f->kind];
    int64_t n_piece;

    for (int64_t i = 0; i < n; i += n_piece) {
        const int64_t left = f->fold.of ? f->fold.inner - (first + i) % f->fold.inner : n - i; /* of the column */

        n_piece = n - i < left ? n - i : left;
        n_piece = n_piece < CHUNK ? n_piece : CHUNK;
        if (is_made) {
            make(f, program_fold_elem(&f->fold, first + i), (size_t)n_piece, out + i);
            round_to(t, out + i, (size_t)n_piece);
        } else
            for (int64_t k = 0; k < n_piece; k++)
                out[i + k] = NAN;
    }
}

double fill_elem(const struct program_fill *f, enum dtype t, int64_t i)
{
    double value;

    fill_run(f, t, i, 1, &value);
    return value;
}

bool program_fill_equal(const struct program_fill *a, const struct program_fill *b)
{
    return a->kind == b->kind && a->seed == b->seed && a->lo == b->lo && a->hi == b->hi && a->step == b->step &&
           a->block == b->block && a->zeros == b->zeros && a->seen == b->seen && a->plane == b->plane &&
           memcmp(&a->fold, &b->fold, sizeof a->fold) == 0 && strcmp(a->blob.hex, b->blob.hex) == 0;
}

double program_project_weight(uint64_t seed, int64_t i)
{
    return (double)((rng_at(seed, (uint64_t)i) & 0xfffff) + 1);
}
