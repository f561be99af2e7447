/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/launch.h"

#include <assert.h>

int launch_next(const struct build *b)
{
    return (int)b->p->n_launches;
}

int launch_add(struct build *b, enum launch_phase phase, const char *kernel, int64_t items, int64_t wg, int64_t layers,
               const int *buffers, int n, const struct launch_int *numbers)
{
    struct program_launch *l;

    assert(items > 0 && wg > 0 && layers > 0);
    build_launch(b, phase, kernel, (const int64_t[]){CEIL(items, wg), 1, layers}, (const int64_t[]){wg, 1, 1}, buffers);
    if (b->e)
        return -1;
    l = &b->p->launches[b->p->n_launches - 1];
    for (int i = 0; !b->e && i < n; i++) {
        b->e = program_arg_int(l, ARG_I32, numbers[i].value);
        for (int k = 0; !b->e && k < 2; k++)
            l->args[l->n_args - 1].bump[k] = numbers[i].bump[k];
    }
    return launch_next(b) - 1;
}

void launch_queue(struct build *b, int i_launch, int queue)
{
    assert(b->e || i_launch < launch_next(b));
    if (!b->e && i_launch >= 0)
        b->p->launches[i_launch].queue = queue;
}

void launch_after(struct build *b, int i_launch, int i_other)
{
    assert(b->e || (i_launch < launch_next(b) && i_other < launch_next(b)));
    if (b->e || i_launch < 0 || i_other < 0 || b->p->launches[i_launch].queue == b->p->launches[i_other].queue)
        return;
    b->e = program_after(&b->p->launches[i_launch], i_other);
}

void launch_loop(struct build *b, int first, int64_t count)
{
    assert(first >= 0 && count > 0);
    if (!b->e && first < launch_next(b))
        b->e = program_add_loop(b->p, first, launch_next(b) - 1, count);
}

void launch_zeros(struct build *b, int i_buffer)
{
    struct program_launch *l = b->e ? NULL : program_add_launch(b->p, LAUNCH_FILL, PHASE_RUN);

    if (b->e)
        return;
    b->e = l ? program_arg_buffer(l, i_buffer) : ERR_NOMEM;
    if (!b->e)
        b->e = program_arg_real(l, 0);
}
