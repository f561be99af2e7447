/* SPDX-License-Identifier: MIT */
/* common.c - words, layouts and the order of launches. */
#include "exec/common.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXEC_API enum exec_status exec_fail(struct exec_words *words, enum exec_status s, const char *format, ...)
{
    va_list args;
    if (words) {
        va_start(args, format);
        (void)vsnprintf(words->text, sizeof words->text, format, args);
        va_end(args);
    }
    return s;
}

EXEC_API enum exec_status exec_same(const struct exec_device *tuned, const char *what, const char *here,
                                    const char *there, struct exec_words *words)
{
    if (strcmp(here, there) == 0)
        return EXEC_OK;
    return exec_fail(words, EXEC_OTHER_DEVICE,
                     "these kernels were tuned on %s: its %s is \"%.500s\", here it is \"%.500s\"", tuned->name, what,
                     there, here);
}

EXEC_API enum exec_status exec_known(const struct exec_device *tuned, struct exec_words *words)
{
    if (tuned->fingerprint[0] != '\0')
        return EXEC_OK;
    return exec_fail(words, EXEC_OTHER_DEVICE,
                     "of the device that these kernels were tuned on only the name is known, \"%.160s\": whether "
                     "this is it cannot be told",
                     tuned->name);
}

EXEC_API uint64_t exec_sum(const unsigned char *bytes, size_t n_bytes)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n_bytes; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    return sum;
}

EXEC_API int exec_is_whole(const struct exec_binary *b)
{
    return b->sum == 0 || exec_sum(b->bytes, b->n_bytes) == b->sum;
}

EXEC_API int exec_arg_bumps(const struct exec_arg *a)
{
    for (int d = 0; d < EXEC_NEST; d++)
        if (a->bump[d] != 0)
            return 1;
    return 0;
}

EXEC_API size_t exec_arg_pack(const struct exec_arg *a, const int64_t *iteration, union exec_number *out)
{
    int64_t integer = a->integer;
    assert(iteration);
    for (int d = 0; d < EXEC_NEST; d++)
        integer += a->bump[d] * iteration[d];
    switch (a->kind) {
    case EXEC_ARG_I32:
        out->i32 = (int32_t)integer;
        return sizeof out->i32;
    case EXEC_ARG_U32:
        out->u32 = (uint32_t)integer;
        return sizeof out->u32;
    case EXEC_ARG_I64:
        out->i64 = integer;
        return sizeof out->i64;
    case EXEC_ARG_F32:
        out->f32 = (float)a->real;
        return sizeof out->f32;
    case EXEC_ARG_F64:
        out->f64 = a->real;
        return sizeof out->f64;
    case EXEC_ARG_B8:
        out->b8 = (uint8_t)integer;
        return sizeof out->b8;
    case EXEC_ARG_B16:
        out->b16 = (uint16_t)integer;
        return sizeof out->b16;
    default:
        return 0;
    }
}

EXEC_API size_t exec_fill_element(const struct exec_launch *fill, unsigned char out[8])
{
    assert(fill->op == EXEC_FILL && fill->n_args == 3);
    assert(fill->args[2].integer > 0 && fill->args[2].integer <= 8);
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)((uint64_t)fill->args[1].integer >> (8 * i));
    return (size_t)fill->args[2].integer;
}

/* ---- the order of launches ---- */

struct exec_walking {
    const struct exec_plan *plan;
    enum exec_phase phase;
    int (*each)(int i_launch, const int64_t *iteration, void *arg);
    void *arg;
    int64_t iteration[EXEC_NEST];
};

/* Launches first .. last; the loops among them begin at i_loop. */
static int exec_walk_range(struct exec_walking *w, int first, int last, int i_loop, int depth)
{
    const struct exec_plan *plan = w->plan;
    int s = 0;
    for (int i = first; s == 0 && i <= last; i++) {
        while (i_loop < plan->n_loops && plan->loops[i_loop].first < i)
            i_loop++;
        if (plan->launches[i].phase != w->phase)
            continue;
        if (i_loop == plan->n_loops || plan->loops[i_loop].first != i || depth == EXEC_NEST) {
            s = w->each(i, w->iteration, w->arg);
            continue;
        }
        assert(plan->loops[i_loop].last >= i && plan->loops[i_loop].last <= last);
        for (int64_t n = 0; s == 0 && n < plan->loops[i_loop].count; n++) {
            w->iteration[depth] = n;
            s = exec_walk_range(w, i, plan->loops[i_loop].last, i_loop + 1, depth + 1);
        }
        w->iteration[depth] = 0;
        i = plan->loops[i_loop].last;
    }
    return s;
}

EXEC_API int exec_walk(const struct exec_plan *plan, enum exec_phase phase,
                       int (*each)(int i_launch, const int64_t *iteration, void *arg), void *arg)
{
    struct exec_walking w = {plan, phase, each, arg, {0}};
    return exec_walk_range(&w, 0, plan->n_launches - 1, 0, 0);
}

static int exec_count_one(int i_launch, const int64_t *iteration, void *arg)
{
    (void)i_launch;
    (void)iteration;
    ++*(int64_t *)arg;
    return 0;
}

EXEC_API int64_t exec_count(const struct exec_plan *plan, enum exec_phase phase)
{
    int64_t n = 0;
    (void)exec_walk(plan, phase, exec_count_one, &n);
    return n;
}

EXEC_API unsigned exec_queues(const struct exec_plan *plan)
{
    unsigned used = 1;
    for (int i = 0; i < plan->n_launches; i++) {
        assert(plan->launches[i].queue >= 0 && plan->launches[i].queue < EXEC_QUEUES);
        used |= 1u << plan->launches[i].queue;
    }
    return used;
}

EXEC_API void exec_mark_awaited(const struct exec_plan *plan, int others, char *out)
{
    memset(out, 0, (size_t)plan->n_launches);
    for (int i = 0; i < plan->n_launches; i++) {
        const struct exec_launch *l = &plan->launches[i];
        for (int a = 0; a < l->n_after; a++) {
            assert(l->after[a] >= 0 && l->after[a] < plan->n_launches);
            assert(plan->launches[l->after[a]].phase == l->phase);
            out[l->after[a]] |= !others || plan->launches[l->after[a]].queue != l->queue;
        }
    }
}

/* ---- where buffers live ---- */

static void exec_mark_uses(const struct exec_plan *plan, struct exec_spot *spots)
{
    for (int i = 0; i < plan->n_launches; i++) {
        const struct exec_launch *l = &plan->launches[i];
        for (int j = 0; j < l->n_args; j++) {
            if (l->args[j].kind == EXEC_ARG_BUFFER) {
                struct exec_spot *spot = &spots[l->args[j].integer];
                assert(l->args[j].integer >= 0 && l->args[j].integer < plan->n_buffers);
                spot->in_pack |= l->phase == EXEC_PACK;
                spot->in_run |= l->phase == EXEC_RUN;
            }
        }
    }
}

static enum exec_place exec_place_of(const struct exec_buffer *b, const struct exec_spot *spot)
{
    if (b->role == EXEC_INPUT || b->role == EXEC_WEIGHT || b->role == EXEC_OUTPUT)
        return EXEC_TENSOR;
    if (!spot->in_pack && !spot->in_run)
        return EXEC_NOWHERE;
    if (spot->in_pack)
        return spot->in_run ? EXEC_OF_WEIGHTS : EXEC_OF_SESSION;
    if (!b->each_run && (b->fill != EXEC_FILL_NONE || b->role == EXEC_STATE))
        return EXEC_OF_OP;
    return EXEC_OF_SESSION;
}

/* Slots go by size within a phase, so that plans share the large ones with each other: the rank of buffer i. */
static int exec_slot_of(const struct exec_plan *plan, const struct exec_spot *spots, int i)
{
    int rank = 0;
    for (int j = 0; j < plan->n_buffers; j++) {
        const size_t bytes = plan->buffers[j].n_bytes, own = plan->buffers[i].n_bytes;
        if (spots[j].place == EXEC_OF_SESSION && spots[j].in_pack == spots[i].in_pack)
            rank += bytes > own || (bytes == own && j < i);
    }
    return rank;
}

static void exec_number(const struct exec_plan *plan, struct exec_layout *l)
{
    for (int i = 0; i < plan->n_buffers; i++) {
        struct exec_spot *spot = &l->spots[i];
        if (spot->place == EXEC_TENSOR) {
            spot->index = plan->buffers[i].role == EXEC_WEIGHT ? l->n_weights++ : l->n_tensors++;
        } else if (spot->place == EXEC_OF_SESSION) {
            spot->index = exec_slot_of(plan, l->spots, i);
            l->n_slots = spot->index >= l->n_slots ? spot->index + 1 : l->n_slots;
        }
    }
    assert(l->n_weights + l->n_tensors + l->n_slots <= plan->n_buffers);
}

EXEC_API enum exec_status exec_layout_init(const struct exec_plan *plan, struct exec_layout *out)
{
    struct exec_layout l = {0};
    l.spots = calloc((size_t)plan->n_buffers + 1, sizeof *l.spots);
    if (!l.spots)
        return EXEC_NO_MEMORY;
    exec_mark_uses(plan, l.spots);
    for (int i = 0; i < plan->n_buffers; i++)
        l.spots[i].place = exec_place_of(&plan->buffers[i], &l.spots[i]);
    exec_number(plan, &l);
    *out = l;
    return EXEC_OK;
}

EXEC_API void exec_layout_fini(struct exec_layout *l)
{
    free(l->spots);
    memset(l, 0, sizeof *l);
}

EXEC_API int exec_is_filled(const struct exec_plan *plan, const struct exec_layout *l, int i, enum exec_phase phase)
{
    const struct exec_buffer *b = &plan->buffers[i];
    const struct exec_spot *spot = &l->spots[i];
    assert(i >= 0 && i < plan->n_buffers);
    if (b->fill == EXEC_FILL_NONE || (spot->place != EXEC_OF_WEIGHTS && spot->place != EXEC_OF_SESSION))
        return 0;
    return phase == EXEC_PACK ? spot->in_pack : spot->in_run && b->each_run;
}
