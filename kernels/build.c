#include "kernels/build.h"

#include "kernels/expect.h"

#include <string.h>

#define MAX_ELEMS (((int64_t)1 << 31) - 1)
#define MAX_SOURCE ((size_t)1 << 20)

enum err build_tensors(const struct workload *w, struct program *p)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);

    for (size_t i = 0; i < n; i++) {
        struct program_buffer *b = program_add_buffer(p, list[i].name, list[i].role, list[i].dtype, list[i].n_elems);

        if (!b)
            return ERR_NOMEM;
        b->n_dims = list[i].n_dims;
        memcpy(b->shape, list[i].shape, sizeof b->shape);
        strncpy(b->layout, list[i].layout, sizeof b->layout - 1);
        if (list[i].role == ROLE_INPUT)
            b->fill = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_X_RANDOM, .lo = 0, .hi = 1};
        else if (list[i].role == ROLE_WEIGHT)
            b->fill = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_W_RANDOM, .lo = 0, .hi = 0.0625};
    }
    return ERR_OK;
}

enum err build_buffer(struct program *p, const char *id, enum buffer_role role, int64_t n_elems, int *out,
                      struct why *why)
{
    struct program_buffer *b;

    if (n_elems > MAX_ELEMS)
        return why_set(why, ERR_LIMIT, "buffer %s of %lld elements; the most is %lld", id, (long long)n_elems,
                       (long long)MAX_ELEMS);
    b = program_add_buffer(p, id, role, DTYPE_F32, n_elems);
    if (!b)
        return ERR_NOMEM;
    b->n_dims = 1;
    b->shape[0] = n_elems;
    *out = program_find_buffer(p, id);
    return ERR_OK;
}

enum err build_module(struct program *p, struct blobs *blobs, const char *name, struct program_module **out,
                      struct why *why)
{
    struct program_module *m;
    struct buf text;
    enum err e;

    buf_init(&text, MAX_SOURCE);
    e = kernel_text(name, &text);
    if (e)
        e = why_set(why, e, "kernel file %s: %s", name, err_words(e));
    m = e ? NULL : program_add_module(p, "kernels", LANG_OPENCL_C, "");
    if (!e)
        e = m ? blobs_put(blobs, buf_text(&text), text.len, &m->source) : ERR_NOMEM;
    buf_fini(&text);
    if (!e)
        *out = m;
    return e;
}

enum err build_defines(struct program_module *m, const struct build_define *list)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++)
        e = program_define(m, list->name, list->value);
    return e;
}

enum err build_launch(struct program *p, enum launch_phase phase, const char *kernel, const int64_t grid[3],
                      const int64_t block[3], const int *buffers)
{
    struct program_launch *l = program_add_kernel(p, phase, 0, kernel, grid, block);
    const int64_t items = block[0] * block[1] * block[2];
    enum err e = l ? ERR_OK : ERR_NOMEM;

    for (; !e && *buffers >= 0; buffers++)
        e = program_arg_buffer(l, *buffers);
    if (items > p->needs_work_group)
        p->needs_work_group = items;
    return e;
}

enum err build_constants(struct space *s, const struct build_named *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++)
        e = space_add_constant(s, list->name, list->value, why);
    return e;
}

enum err build_knobs(struct space *s, const struct build_knob *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++) {
        size_t n = 0;

        while (n < sizeof list->values / sizeof list->values[0] && list->values[n] != BUILD_END)
            n++;
        e = space_add_knob_ints(s, list->name, why, n, list->values);
    }
    return e;
}

enum err build_quantities(struct space *s, const char *const (*list)[2], struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && (*list)[0]; list++)
        e = space_add_quantity(s, (*list)[0], (*list)[1], why);
    return e;
}

enum err build_constraints(struct space *s, const char *const *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && *list; list++)
        e = space_add_constraint(s, *list, why);
    return e;
}

void build_choose(const struct space *s, const struct build_define *list, struct config *out)
{
    for (; list->name; list++) {
        const int i = space_find_knob(s, list->name);
        double best = -1;

        for (size_t v = 0; i >= 0 && v < space_n_values(s, (size_t)i); v++) {
            const double number = space_knob_value(s, (size_t)i, v).number;

            if (number > (double)list->value || number < best)
                continue;
            best = number;
            out->choice[i] = (uint16_t)v;
        }
    }
}

enum err build_make_valid(const struct space *s, const char *const *names, struct config *c)
{
    for (bool moved = true; moved;) {
        if (space_is_valid(s, c, NULL))
            return ERR_OK;
        moved = false;
        for (size_t n = 0; names[n]; n++) {
            const int i = space_find_knob(s, names[n]);

            if (i < 0 || c->choice[i] == 0)
                continue;
            c->choice[i]--;
            moved = true;
            if (space_is_valid(s, c, NULL))
                return ERR_OK;
        }
    }
    return ERR_NOT_FOUND;
}

int64_t build_vector(const struct device_desc *d)
{
    return d->vector_bits >= 512 ? 16 : d->vector_bits >= 256 ? 8 : d->vector_bits >= 64 ? 4 : 1;
}

int64_t build_max_group(const struct device_desc *d)
{
    return d->max_work_group > 0 ? d->max_work_group : 256;
}

int64_t build_max_local(const struct device_desc *d)
{
    return d->local_bytes > 0 ? d->local_bytes : 32768;
}
