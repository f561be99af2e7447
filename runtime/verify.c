/* SPDX-License-Identifier: MIT */
#include "runtime/verify.h"

#include "core/err.h"
#include "runtime/checks.h"
#include "runtime/fill_cache.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole buffers. */

static size_t bytes_of(const struct program_buffer *b)
{
    return (size_t)b->n_elems * dtype_bytes(b->dtype);
}

static bool is_float(const struct program_buffer *b)
{
    return b->dtype == DTYPE_F32 || b->dtype == DTYPE_F16 || b->dtype == DTYPE_BF16 || b->dtype == DTYPE_F64;
}

/* The byte of a poison: whole numbers hold -2071690108 (int8 -124) in place of NaN. -1 is a frequent sum; of products
 * of int8 no sum below 2^16 terms comes near any of the three. */
static int poison_byte(const struct program_buffer *b, enum poison poison)
{
    return poison == POISON_NAN && !is_float(b) ? 0x84 : (int)poison;
}

/* What is to be written holds nothing but poison. */
static enum err poison_buffer(const struct device_ops *ops, struct loaded *l, const struct program_buffer *b, int i,
                              enum poison poison, struct why *why)
{
    void *bytes = malloc(bytes_of(b));
    enum err e;

    if (!bytes)
        return why_set(why, ERR_NOMEM, "out of memory for %zu bytes of buffer '%s'", bytes_of(b), b->id);
    memset(bytes, poison_byte(b, poison), bytes_of(b));
    e = ops->write(l, i, bytes, why);
    free(bytes);
    return e;
}

static enum err fill_buffer(const struct device_ops *ops, struct loaded *l, const struct program *p, size_t i,
                            const struct program_fill *fill, const struct blobs *blobs, struct why *why)
{
    const struct program_buffer *b = &p->buffers[i];
    struct fill_use use = {.data = NULL};
    enum err e = fill_lend(fill, b->dtype, b->n_elems, blobs, &use);

    if (e)
        why_set(why, e, "fill of buffer '%s': %s", b->id, err_words(e));
    else
        e = ops->write(l, (int)i, use.data, why);
    fill_done(&use);
    return e;
}

/* POISON_OFF: buffers without a fill stay as they are. */
static enum err fill_all(const struct device_ops *ops, struct loaded *l, const struct program *p,
                         const struct program_pass *pass, const struct blobs *blobs, enum poison poison,
                         struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < p->n_buffers; i++) {
        const struct program_fill *fill = program_fill_of(p, pass, i);

        if (fill->kind != FILL_NONE)
            e = fill_buffer(ops, l, p, i, fill, blobs, why);
        else if (poison != POISON_OFF)
            e = poison_buffer(ops, l, &p->buffers[i], (int)i, poison, why);
    }
    return e;
}

/* "pass exact: wrote into x" */
static enum err tell_written(const struct check_run *r, const char *buffer, struct why *why)
{
    return why_set(why, ERR_WRONG, "%s%s: wrote into %s, which is only read", r->pass ? "pass " : "the timed calls",
                   r->pass ? r->pass->id : "", buffer);
}

/* Inputs and weights are as they were filled: ERR_WRONG. */
static enum err check_inputs(const struct check_run *r, struct why *why)
{
    const struct program *p = r->program;
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        const struct program_fill *fill = program_fill_of(p, r->pass, i);
        struct fill_use use = {.data = NULL};
        struct checks_look now = {NULL, NULL};

        if ((b->role != ROLE_INPUT && b->role != ROLE_WEIGHT) || fill->kind == FILL_NONE)
            continue;
        e = fill_lend(fill, b->dtype, b->n_elems, r->blobs, &use);
        if (!e)
            e = checks_look(r, (int)i, &now, why);
        if (!e && memcmp(now.data, use.data, bytes_of(b)) != 0)
            e = tell_written(r, b->id, why);
        checks_look_end(r, (int)i, &now);
        fill_done(&use);
    }
    return e;
}

/* An element that nobody wrote, or that is no number: its index; -1 = none. Halves of POISON_HIGH and bytes may be
 * results: exact passes see those. */
static int64_t find_unwritten(const struct program_buffer *b, const void *data, enum poison poison, bool has_nan)
{
    const size_t n_bytes = dtype_bytes(b->dtype);
    const bool looks = n_bytes >= 4 || b->dtype == DTYPE_BF16, no_nan = is_float(b) && !has_nan;
    unsigned char left[8];

    memset(left, poison_byte(b, poison), sizeof left);
    if (b->dtype == DTYPE_F32) { /* the most frequent: one comparison of words finds that there is nothing to find */
        const uint32_t *words = data;
        uint32_t word, hits = 0;

        memcpy(&word, left, sizeof word);
        for (int64_t i = 0; i < b->n_elems; i++)
            hits |= (uint32_t)((words[i] & 0x7fffffff) > 0x7f800000) | (uint32_t)(words[i] == word);
        if (!hits)
            return -1;
    }
    for (int64_t i = 0; i < b->n_elems; i++)
        if ((no_nan && isnan(dtype_load(b->dtype, data, (size_t)i))) ||
            (looks && memcmp((const char *)data + (size_t)i * n_bytes, left, n_bytes) == 0))
            return i;
    return -1;
}

static bool has_checks(const struct program_pass *pass, int i_buffer)
{
    for (size_t i = 0; i < pass->n_checks; i++)
        if (pass->checks[i].i_buffer == i_buffer)
            return true;
    return false;
}

/* All that a pass says of one buffer, and that no element of an output is left as it was. */
static enum err check_buffer(struct check_run *r, int i_buffer, const void *data, struct why *why)
{
    const struct program_buffer *b = &r->program->buffers[i_buffer];
    const int64_t n_wrong = r->report->n_wrong;
    enum err e = ERR_OK;
    int64_t at;

    for (size_t i = 0; !e && i < r->pass->n_checks; i++)
        if (r->pass->checks[i].i_buffer == i_buffer)
            e = checks_compare(r, &r->pass->checks[i], data, why);
    at = !e && b->role == ROLE_OUTPUT && r->report->n_wrong == n_wrong ? find_unwritten(b, data, r->poison, r->by_bits)
                                                                       : -1;
    if (at >= 0)
        checks_note(r, b->id, at, dtype_load(b->dtype, data, (size_t)at), NAN, INFINITY, true, false);
    return e;
}

static enum err run_checks(struct check_run *r, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; !e && i < (int)r->program->n_buffers; i++) {
        struct checks_look look;

        if (r->program->buffers[i].role != ROLE_OUTPUT && !has_checks(r->pass, i))
            continue;
        e = checks_look(r, i, &look, why);
        if (!e)
            e = check_buffer(r, i, look.data, why);
        checks_look_end(r, i, &look);
    }
    return e;
}

/* `y[7]`, of elements kept as bytes `y[3] byte 1`; and what is counted. */
static const char *place_of(const struct check_run *r, char *out, size_t n_out)
{
    const struct verify_report *v = r->report;
    const int i = program_find_buffer(r->program, v->buffer);
    const struct program_buffer *b = i < 0 ? NULL : &r->program->buffers[i];
    const bool is_bytes = b && b->n_dims == 2 && strcmp(b->layout, PROGRAM_LAYOUT_BYTES) == 0;

    if (is_bytes)
        snprintf(out, n_out, "%s[%" PRId64 "] byte %" PRId64, v->buffer, v->i_elem / b->shape[1],
                 v->i_elem % b->shape[1]);
    else
        snprintf(out, n_out, "%s[%" PRId64 "]", v->buffer, v->i_elem);
    return is_bytes ? " bytes" : "";
}

static enum err tell_wrong(const struct check_run *r, struct why *why)
{
    const struct verify_report *v = r->report;
    char place[PROGRAM_ID_BYTES + 48];
    const char *unit = place_of(r, place, sizeof place);

    if (r->by_sum)
        return why_set(why, ERR_WRONG,
                       "pass %s: the weighted sum from %s[%" PRId64 "] is %.9g, expected %.9g; %" PRId64 " of %" PRId64
                       " wrong",
                       v->pass, v->buffer, v->i_elem, v->got, v->wanted, v->n_wrong, v->n_compared);
    if (isnan(v->wanted) && !r->by_bits)
        return why_set(why, ERR_WRONG, "pass %s: %s is %.9g, expected a number; %" PRId64 " of %" PRId64 "%s wrong",
                       v->pass, place, v->got, v->n_wrong, v->n_compared, unit);
    return why_set(why, ERR_WRONG, "pass %s: %s is %.9g, expected %.9g; %" PRId64 " of %" PRId64 "%s wrong", v->pass,
                   place, v->got, v->wanted, v->n_wrong, v->n_compared, unit);
}

static enum err run_phases(struct check_run *r, struct why *why)
{
    static const enum launch_phase phases[] = {PHASE_PACK, PHASE_REFERENCE, PHASE_RUN};
    enum err e = ERR_OK;

    r->report->run_ns = 0;
    for (size_t i = 0; !e && i < sizeof phases / sizeof phases[0]; i++) {
        int64_t wall_ns = 0;

        e = r->ops->run(r->loaded, phases[i], NULL, &wall_ns, why);
        r->report->run_ns += wall_ns;
    }
    return e;
}

/* What no kernel may read is poisoned while it runs; the passes take turns with the poisons. */
static enum err run_poisoned(struct check_run *r, struct why *why)
{
    const bool keeps = r->keeps && r->pass->is_last; /* what the pass before it left in local memory */
    enum err e = r->ops->poison && !keeps ? r->ops->poison(r->loaded, r->poison, why) : ERR_OK;

    if (!e)
        e = run_phases(r, why);
    if (r->ops->poison)
        (void)r->ops->poison(r->loaded, POISON_OFF, NULL);
    if (!e && r->ops->check_guards) {
        e = r->ops->check_guards(r->loaded, why);
        if (e == ERR_WRONG)
            return why_prefix(why, e, "pass %s", r->pass->id);
    }
    return e;
}

enum err verify_kept(const struct device_ops *ops, struct loaded *l, const struct program *p, const struct blobs *blobs,
                     struct why *why)
{
    const struct check_run r = {.ops = ops, .loaded = l, .program = p, .blobs = blobs};
    enum err e = ops->simulated || !ops->check_guards ? ERR_OK : ops->check_guards(l, why);

    if (e == ERR_WRONG)
        return why_prefix(why, e, "the timed calls");
    return e || ops->simulated ? e : check_inputs(&r, why);
}

static bool moves_floats(const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_fills; i++)
        if (pass->fills[i].fill.kind == FILL_FLOATS && pass->fills[i].fill.step == 2)
            return true;
    return false;
}

static enum err run_pass(struct check_run *r, struct why *why)
{
    enum err e;

    r->by_bits = moves_floats(r->pass);
    e = fill_all(r->ops, r->loaded, r->program, r->pass, r->blobs, r->keeps ? POISON_OFF : r->poison, why);
    if (!e)
        e = run_poisoned(r, why);
    if (!e)
        e = check_inputs(r, why);
    if (!e)
        e = run_checks(r, why);
    return !e && r->report->n_wrong ? tell_wrong(r, why) : e;
}

static size_t n_own(const struct program *p)
{
    assert(p->n_sheet <= p->n_passes);
    return p->n_passes - p->n_sheet;
}

size_t verify_n_before(const struct program *p)
{
    return p->n_sheet ? 1 : p->n_passes;
}

enum err verify_before(const struct device_ops *ops, struct loaded *l, const struct program *p,
                       const struct blobs *blobs, size_t i, struct verify_report *report, struct why *why)
{
    struct check_run r = {.ops = ops,
                          .loaded = l,
                          .program = p,
                          .blobs = blobs,
                          .pass = &p->passes[p->n_sheet ? n_own(p) + i : i],
                          .report = report,
                          .poison = i % 2 ? POISON_HIGH : POISON_NAN};

    assert(i < verify_n_before(p));
    *report = (struct verify_report){.i_elem = -1};
    return run_pass(&r, why);
}

/* Outputs, scratch and packed weights still hold what the runs before left there. */
static enum err run_over(const struct device_ops *ops, struct loaded *l, const struct program *p,
                         const struct blobs *blobs, size_t i_pass, struct verify_report *report, struct why *why)
{
    struct check_run r = {.ops = ops,
                          .loaded = l,
                          .program = p,
                          .blobs = blobs,
                          .pass = &p->passes[i_pass],
                          .report = report,
                          .poison = POISON_HIGH,
                          .keeps = true};

    return run_pass(&r, why);
}

/* Does the pass fill anything otherwise than timing does? */
static bool fills_anew(const struct program *p, const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_fills; i++)
        if (!program_fill_equal(&pass->fills[i].fill, &p->buffers[pass->fills[i].i_buffer].fill))
            return true;
    return false;
}

/* Are its checks such that any inputs will do? */
static bool has_references(const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_checks; i++)
        if (pass->checks[i].kind != CHECK_BUFFER)
            return false;
    return pass->n_checks > 0;
}

static void reseed(struct program_fill *f)
{
    if (f->kind != FILL_BLOB)
        f->seed ^= 1;
}

/* Of a program's own passes the one that is run anew: the last that fills otherwise than timing, else (*is_reseeded)
 * the first whose checks are references, with other seeds; n_passes: neither. */
static size_t find_anew(const struct program *p, bool *is_reseeded)
{
    *is_reseeded = false;
    for (size_t i = p->n_passes; i-- > 0;)
        if (fills_anew(p, &p->passes[i]))
            return i;
    *is_reseeded = true;
    for (size_t i = 0; i < p->n_passes; i++)
        if (has_references(&p->passes[i]))
            return i;
    return p->n_passes;
}

static enum err run_reseeded(const struct device_ops *ops, struct loaded *l, const struct program *p,
                             const struct blobs *blobs, size_t i_pass, struct verify_report *report, struct why *why)
{
    struct program other;
    enum err e = program_copy(p, &other, why);

    for (size_t b = 0; !e && b < other.n_buffers; b++)
        reseed(&other.buffers[b].fill);
    if (!e)
        e = run_over(ops, l, &other, blobs, i_pass, report, why);
    program_fini(&other);
    return e;
}

size_t verify_n_behind(const struct program *p)
{
    bool is_reseeded;

    return p->n_sheet ? p->n_sheet - 1 : find_anew(p, &is_reseeded) < p->n_passes;
}

size_t verify_n_for_all(const struct program *p)
{
    size_t n = verify_n_behind(p);

    while (n && p->n_sheet && p->passes[n_own(p) + n].is_last)
        n--;
    return n;
}

enum err verify_behind(const struct device_ops *ops, struct loaded *l, const struct program *p,
                       const struct blobs *blobs, size_t i, struct verify_report *report, struct why *why)
{
    bool is_reseeded = false;
    const size_t i_pass = p->n_sheet ? n_own(p) + 1 + i : find_anew(p, &is_reseeded);

    assert(i < verify_n_behind(p));
    *report = (struct verify_report){.i_elem = -1};
    return (is_reseeded ? run_reseeded : run_over)(ops, l, p, blobs, i_pass, report, why);
}

enum err verify_prepare_timing(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               const struct blobs *blobs, struct why *why)
{
    enum err e;

    if (ops->simulated)
        return ERR_OK;
    e = fill_all(ops, l, p, NULL, blobs, POISON_HIGH, why);
    if (!e && ops->poison)
        e = ops->poison(l, POISON_HIGH, why);
    if (!e && ops->poison)
        e = ops->poison(l, POISON_OFF, why);
    return e ? e : ops->run(l, PHASE_PACK, NULL, NULL, why);
}

enum err verify_poison_outputs(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               enum poison poison, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < p->n_buffers; i++)
        if (p->buffers[i].role == ROLE_OUTPUT && !p->buffers[i].reset_each_run)
            e = poison_buffer(ops, l, &p->buffers[i], (int)i, poison, why);
    return e;
}

/* Does the pass fill what timing fills, and is nothing but the run needed for its checks? */
static bool is_as_timed(const struct program *p, const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_checks; i++)
        if (pass->checks[i].kind == CHECK_BUFFER)
            return false;
    return !fills_anew(p, pass);
}

/* Inlined, so that a known size makes it a loop over words. */
static inline void nudge_each(unsigned char *data, size_t n_bytes, size_t size, uint64_t step)
{
    bool up = true;

    for (size_t i = 0; i < n_bytes; i += size, up = !up) {
        uint64_t bits = 0;

        memcpy(&bits, data + i, size); /* little-endian */
        bits = up || bits < step ? bits + step : bits - step;
        memcpy(data + i, &bits, size);
    }
}

/* Adds to each element's bits, as a whole number, or takes away from every second one; again and again it goes on. Of
 * floats that is 2^-8 of them. */
static void nudge(enum dtype t, unsigned char *data, size_t n_bytes)
{
    static const uint64_t steps[N_DTYPES] = {[DTYPE_F32] = 1u << 15,
                                             [DTYPE_F16] = 4,
                                             [DTYPE_BF16] = 1,
                                             [DTYPE_I8] = 1,
                                             [DTYPE_I32] = 1,
                                             [DTYPE_U8] = 1,
                                             [DTYPE_F64] = UINT64_C(1) << 44};

    if (dtype_bytes(t) == 4)
        nudge_each(data, n_bytes, 4, steps[t]);
    else
        nudge_each(data, n_bytes, dtype_bytes(t), steps[t]);
}

enum err verify_nudge_outputs(const struct device_ops *ops, struct loaded *l, const struct program *p, struct why *why)
{
    const struct check_run r = {.ops = ops, .loaded = l, .program = p};
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        void *data = NULL;

        if (b->role != ROLE_OUTPUT || b->reset_each_run)
            continue;
        e = checks_read(&r, (int)i, &data, why);
        if (!e) {
            nudge(b->dtype, data, bytes_of(b));
            e = ops->write(l, (int)i, data, why);
        }
        free(data);
    }
    return e;
}

static enum err check_timed(const struct device_ops *ops, struct loaded *l, const struct program *p,
                            const struct blobs *blobs, struct verify_report *report, struct why *why)
{
    struct check_run r = {
        .ops = ops, .loaded = l, .program = p, .blobs = blobs, .report = report, .poison = POISON_HIGH};
    enum err e = ERR_OK;

    *report = (struct verify_report){.i_elem = -1};
    for (size_t i = 0; !e && !ops->simulated && i < n_own(p); i++) {
        r.pass = &p->passes[i];
        if (is_as_timed(p, r.pass))
            e = run_checks(&r, why);
        if (!e && report->n_wrong)
            e = tell_wrong(&r, why);
    }
    return e;
}

enum err verify_timed(const struct device_ops *ops, struct loaded *l, const struct program *p,
                      const struct blobs *blobs, struct why *why)
{
    struct verify_report report;

    return check_timed(ops, l, p, blobs, &report, why);
}

/* In the place of all the timed calls of a farm. */
static enum err one_call(const struct device_ops *ops, struct loaded *l, const struct program *p,
                         const struct blobs *blobs, struct verify_report *report, struct why *why)
{
    enum err e = verify_prepare_timing(ops, l, p, blobs, why);

    if (!e)
        e = ops->run(l, PHASE_RUN, NULL, NULL, why);
    if (!e)
        e = check_timed(ops, l, p, blobs, report, why);
    return e ? e : verify_kept(ops, l, p, blobs, why);
}

enum err verify_program(const struct device_ops *ops, struct loaded *l, const struct program *p,
                        const struct blobs *blobs, struct verify_report *report, struct why *why)
{
    struct verify_report unwanted, *v = report ? report : &unwanted;
    enum err e = ERR_OK;

    *v = (struct verify_report){.i_elem = -1};
    if (ops->simulated) /* nothing to compare, but a recorded failure shows as it would here */
        return ops->run(l, PHASE_RUN, NULL, NULL, why);
    for (size_t i = 0; !e && i < verify_n_before(p); i++)
        e = verify_before(ops, l, p, blobs, i, v, why);
    if (!e)
        e = one_call(ops, l, p, blobs, v, why);
    for (size_t i = 0; !e && i < verify_n_behind(p); i++)
        e = verify_behind(ops, l, p, blobs, i, v, why);
    return e ? e : verify_prepare_timing(ops, l, p, blobs, why);
}

#define LANES 8

/* Chains of xor, multiply by an odd number and xor-shift, for every eighth word one: each step loses nothing, so one
 * changed word always shows. Not against forgers: a kernel that wants to cheat has easier ways. As fast as memory. */
static void digest(const unsigned char *data, size_t n, uint64_t sums[LANES])
{
    for (size_t i = 0; i < n; i += LANES * sizeof *sums) {
        uint64_t words[LANES] = {0};

        memcpy(words, data + i, n - i < sizeof words ? n - i : sizeof words);
        for (int l = 0; l < LANES; l++) {
            sums[l] = (sums[l] ^ words[l]) * UINT64_C(0x9e3779b97f4a7c15);
            sums[l] ^= sums[l] >> 32;
        }
    }
}

enum err verify_output_hash(const struct device_ops *ops, struct loaded *l, const struct program *p, struct sha256 *out,
                            struct why *why)
{
    const struct check_run r = {.ops = ops, .loaded = l, .program = p};
    uint64_t sums[LANES] = {0};

    for (size_t i = 0; !ops->simulated && i < p->n_buffers; i++) {
        struct checks_look look;
        enum err e;

        if (p->buffers[i].role != ROLE_OUTPUT)
            continue;
        e = checks_look(&r, (int)i, &look, why);
        if (e)
            return e;
        digest(look.data, bytes_of(&p->buffers[i]), sums);
        checks_look_end(&r, (int)i, &look);
    }
    *out = sha256_of(sums, sizeof sums);
    return ERR_OK;
}
