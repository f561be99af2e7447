/* SPDX-License-Identifier: MIT */
/* vectors.c - NAME_vectors.c: sampled expectations of the verification passes. */
#include "deploy/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MAX_SAMPLES 512 /* of one check; evenly spread over those of the program */

static int64_t n_kept(const struct program_check *c)
{
    return c->n < MAX_SAMPLES ? c->n : MAX_SAMPLES;
}

static int64_t kept(const struct program_check *c, int64_t i)
{
    assert(i >= 0 && i < n_kept(c));
    return c->n <= MAX_SAMPLES ? i : i * c->n / MAX_SAMPLES;
}

static double real_at(const struct blob *b, int64_t i)
{
    double v;
    memcpy(&v, b->data + (size_t)i * sizeof v, sizeof v);
    return v;
}

static uint64_t index_at(const struct blob *b, int64_t i)
{
    uint64_t v;
    memcpy(&v, b->data + (size_t)i * sizeof v, sizeof v);
    return v;
}

static const struct program_fill *fill_of(const struct program *p, const struct program_pass *pass, int i_buffer)
{
    for (size_t i = 0; i < pass->n_fills; i++)
        if (pass->fills[i].i_buffer == i_buffer)
            return &pass->fills[i].fill;
    return &p->buffers[i_buffer].fill;
}

/* What the rules of test vectors make; NULL: no rule does. */
static const char *const kinds[N_FILLS] = {[FILL_ZERO] = "VECTOR_VALUE",
                                           [FILL_VALUE] = "VECTOR_VALUE",
                                           [FILL_INT] = "VECTOR_INT",
                                           [FILL_NORMAL] = "VECTOR_NORMAL"};

static bool is_caller_given(const struct program_buffer *b)
{
    return b->role == ROLE_INPUT || b->role == ROLE_WEIGHT;
}

/* Do rules make all inputs of a pass? */
static bool has_rules(const struct program *p, const struct program_pass *pass)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (is_caller_given(&p->buffers[i]) && !kinds[fill_of(p, pass, (int)i)->kind])
            return false;
    return true;
}

static enum err fill_entry(const struct deploy_set *s, const struct program *p, int i_buffer,
                           const struct program_fill *f, struct buf *out)
{
    double lo = f->kind == FILL_ZERO ? 0.0 : f->lo;
    return buf_printf(out, "    {\"%s\", %s_%s, %" PRIu64 "u, %.17g, %.17g, %.17g},\n", p->buffers[i_buffer].id,
                      s->capitals, kinds[f->kind], f->seed, lo, f->hi, f->step);
}

static enum err fills(const struct deploy_set *s, size_t i_vector, const struct program *p,
                      const struct program_pass *pass, struct buf *out)
{
    buf_printf(out, "static const struct %s_vector_fill v%zu_fills[] = {\n", s->name, i_vector);
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (!is_caller_given(&p->buffers[i]))
            continue;
        enum err e = fill_entry(s, p, (int)i, fill_of(p, pass, (int)i), out);
        if (e != ERR_OK)
            return e;
    }
    return buf_puts(out, "};\n");
}

static void reals(size_t i_vector, const char *name, const struct program_check *c, const struct blob *b,
                  struct buf *out)
{
    buf_printf(out, "static const double v%zu_%s[] = {", i_vector, name);
    for (int64_t i = 0; i < n_kept(c); i++)
        buf_printf(out, "%s%.17g,", i % 4 == 0 ? "\n    " : " ", real_at(b, kept(c, i)));
    buf_puts(out, "\n};\n");
}

static void places(size_t i_vector, const struct program_check *c, const struct blob *b, struct buf *out)
{
    buf_printf(out, "static const uint64_t v%zu_indices[] = {", i_vector);
    for (int64_t i = 0; i < n_kept(c); i++) {
        uint64_t at = b ? index_at(b, kept(c, i)) : (uint64_t)kept(c, i);
        buf_printf(out, "%s%" PRIu64 "u,", i % 8 == 0 ? "\n    " : " ", at);
    }
    buf_puts(out, "\n};\n");
}

static enum err vector(const struct deploy_set *s, size_t i_vector, const struct deploy_layer *l,
                       const struct program_pass *pass, const struct program_check *c, struct buf *out,
                       struct buf *table, struct why *why)
{
    const struct blob *indices = c->indices.hex[0] != '\0' ? blobs_get(&l->blobs, c->indices.hex) : NULL;
    const struct blob *scale = c->scale.hex[0] != '\0' ? blobs_get(&l->blobs, c->scale.hex) : NULL;
    const struct blob *values = blobs_get(&l->blobs, c->values.hex);
    if (!values || (!indices) != (c->indices.hex[0] == '\0')) {
        return why_set(why, ERR_NOT_FOUND, "%s: expected values of pass %s are not there", l->program.workload,
                       pass->id);
    }
    enum err e = fills(s, i_vector, &l->program, pass, out);
    if (e != ERR_OK)
        return e;
    places(i_vector, c, indices, out);
    reals(i_vector, "values", c, values, out);
    if (scale)
        reals(i_vector, "scale", c, scale, out);
    buf_puts(table, "    {");
    deploy_text_string(l->workload, table);
    buf_printf(table,
               ", \"%s\", v%zu_fills, (int)(sizeof v%zu_fills / sizeof v%zu_fills[0]), \"%s\", %.17g, %" PRId64
               ", v%zu_indices, v%zu_values, ",
               pass->id, i_vector, i_vector, i_vector, l->program.buffers[c->i_buffer].id, c->tolerance, n_kept(c),
               i_vector, i_vector);
    if (scale)
        buf_printf(table, "v%zu_scale},\n", i_vector);
    else
        buf_puts(table, "NULL},\n");
    return ERR_OK;
}

static enum err layer_vectors(const struct deploy_set *s, const struct deploy_layer *l, size_t *i_vector,
                              struct buf *out, struct buf *table, struct why *why)
{
    for (size_t i = 0; i < l->program.n_passes; i++) {
        const struct program_pass *pass = &l->program.passes[i];
        for (size_t j = 0; has_rules(&l->program, pass) && j < pass->n_checks; j++) {
            if (pass->checks[j].kind != CHECK_SAMPLE)
                continue;
            enum err e = vector(s, (*i_vector)++, l, pass, &pass->checks[j], out, table, why);
            if (e != ERR_OK)
                return e;
        }
    }
    return ERR_OK;
}

enum err deploy_text_vectors_header(const struct deploy_set *s, struct buf *out, struct why *why)
{
    return deploy_text_part(s, "NAME_vectors.h", out, why);
}

/* The list of vectors; NULL and 0 when there are none. */
static void vectors_all(const struct deploy_set *s, size_t n, const struct buf *table, struct buf *out)
{
    if (n > 0)
        buf_printf(out, "\nstatic const struct %s_vector vectors[] = {\n%s};\n", s->name, buf_text(table));
    buf_printf(out, "\nconst struct %s_vector *%s_vectors_all(size_t *n)\n{\n    *n = %zu;\n    return %s;\n}\n",
               s->name, s->name, n, n > 0 ? "vectors" : "NULL");
}

enum err deploy_text_vectors(const struct deploy_set *s, struct buf *out, struct why *why)
{
    struct buf table;
    size_t n_vectors = 0;
    buf_init(&table, out->max_bytes);
    enum err e = deploy_text_part(s, "NAME_vectors.c", out, why);
    buf_puts(out, "\n/* ---- the vectors ---- */\n\n");
    for (size_t i = 0; i < s->n_layers && e == ERR_OK; i++)
        e = layer_vectors(s, &s->layers[i], &n_vectors, out, &table, why);
    if (e == ERR_OK) {
        vectors_all(s, n_vectors, &table, out);
        e = table.failed != ERR_OK ? table.failed : out->failed;
    }
    buf_fini(&table);
    return e;
}
