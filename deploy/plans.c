/* SPDX-License-Identifier: MIT */
/* plans.c - plans as constant tables. */
#include "deploy/text.h"

#include "core/buf.h"

#include <assert.h>
#include <string.h>

/* ---- modules ---- */

/* A text's lines, taken from the first module that has it. */
static void text_lines(size_t i, const struct exec_module *m, struct buf *out)
{
    buf_printf(out, "static const char *const text%zu[] = {\n", i);
    for (int j = 0; j < m->n_lines; j++) {
        buf_puts(out, "    ");
        deploy_text_string(m->lines[j], out);
        buf_puts(out, ",\n");
    }
    buf_puts(out, m->n_lines == 0 ? "    \"\",\n};\n" : "};\n");
}

/* Code that was made ahead. */
static void binaries(size_t i, const struct deploy_code *c, struct buf *out)
{
    for (size_t j = 0; j < c->n; j++) {
        buf_printf(out, "static const unsigned char module%zu_code%zu[] = {", i, j);
        deploy_text_bytes(c->list[j].bytes, c->list[j].n_bytes, out);
        buf_puts(out, "\n};\n");
    }
    if (c->n > 0)
        buf_printf(out, "static const struct exec_binary module%zu_binaries[] = {\n", i);
    for (size_t j = 0; j < c->n; j++) {
        buf_puts(out, "    {");
        deploy_text_string(c->list[j].target, out);
        buf_printf(out, ", module%zu_code%zu, sizeof module%zu_code%zu, UINT64_C(%llu)},\n", i, j, i, j,
                   (unsigned long long)c->list[j].sum);
    }
    buf_puts(out, c->n > 0 ? "};\n" : "");
}

/* CUDA's executor compiles nothing: its text is in the bundle's kernels/. */
static void module(size_t i, const struct deploy_module *m, bool with_text, struct buf *out)
{
    binaries(i, &m->code, out);
    buf_printf(out, "static const struct exec_module module%zu = {", i);
    if (with_text)
        buf_printf(out, "text%zu, %d, ", m->i_text, m->module->n_lines);
    else
        buf_puts(out, "NULL, 0, ");
    deploy_text_string(m->module->options, out);
    if (m->code.n > 0)
        buf_printf(out, ", module%zu_binaries, %zu};\n", i, m->code.n);
    else
        buf_puts(out, ", NULL, 0};\n");
}

static void modules(const struct deploy_set *s, struct buf *out)
{
    size_t n_texts = 0;
    for (size_t i = 0; i < s->n_modules; i++) {
        assert(s->modules[i].i_text < s->n_texts && (s->modules[i].i_text <= n_texts || deploy_set_is_cuda(s)));
        if (s->modules[i].i_text == n_texts && !deploy_set_is_cuda(s))
            text_lines(n_texts++, s->modules[i].module, out);
        module(i, &s->modules[i], !deploy_set_is_cuda(s), out);
    }
}

static void module_list(const struct deploy_set *s, size_t i, struct buf *out)
{
    const struct deploy_layer *l = &s->layers[i];
    buf_printf(out, "static const struct exec_module *const p%zu_modules[] = {", i);
    assert(l->plan->n_modules == (int)l->program.n_modules);
    for (size_t j = 0; j < l->program.n_modules; j++)
        buf_printf(out, "%s&module%zu", j > 0 ? ", " : "", deploy_set_module(s, l, j));
    buf_puts(out, l->program.n_modules == 0 ? "NULL};\n" : "};\n");
}

/* ---- buffers ---- */

static void buffer(size_t i_plan, int i, const struct exec_buffer *b, struct buf *out)
{
    static const char *const roles[] = {
        [EXEC_INPUT] = "EXEC_INPUT",   [EXEC_WEIGHT] = "EXEC_WEIGHT", [EXEC_OUTPUT] = "EXEC_OUTPUT",
        [EXEC_PACKED] = "EXEC_PACKED", [EXEC_STATE] = "EXEC_STATE",   [EXEC_SCRATCH] = "EXEC_SCRATCH"};
    static const char *const fills[] = {[EXEC_FILL_NONE] = "EXEC_FILL_NONE",
                                        [EXEC_FILL_VALUE] = "EXEC_FILL_VALUE",
                                        [EXEC_FILL_BYTES] = "EXEC_FILL_BYTES"};
    assert(b->n_pattern <= sizeof b->pattern && (b->fill != EXEC_FILL_BYTES || b->bytes));
    buf_puts(out, "    {");
    deploy_text_string(b->id, out);
    buf_printf(out, ", %s, %zuu, %s, {", roles[b->role], b->n_bytes, fills[b->fill]);
    for (size_t j = 0; j < sizeof b->pattern; j++)
        buf_printf(out, "%s%u", j > 0 ? ", " : "", b->pattern[j]);
    buf_printf(out, "}, %zu, ", b->n_pattern);
    if (b->fill == EXEC_FILL_BYTES)
        buf_printf(out, "p%zu_bytes%d", i_plan, i);
    else
        buf_puts(out, "NULL");
    buf_printf(out, ", %d},\n", b->each_run);
}

static void buffers(size_t i_plan, const struct exec_plan *p, struct buf *out)
{
    for (int i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].fill == EXEC_FILL_BYTES) {
            buf_printf(out, "static const unsigned char p%zu_bytes%d[] = {", i_plan, i);
            deploy_text_bytes(p->buffers[i].bytes, p->buffers[i].n_bytes, out);
            buf_puts(out, "\n};\n");
        }
    }
    buf_printf(out, "static const struct exec_buffer p%zu_buffers[] = {\n", i_plan);
    for (int i = 0; i < p->n_buffers; i++)
        buffer(i_plan, i, &p->buffers[i], out);
    buf_puts(out, "};\n");
}

/* ---- launches ---- */

static void args(size_t i_plan, int i, const struct exec_launch *l, struct buf *out)
{
    static const char *const kinds[] = {
        [EXEC_ARG_BUFFER] = "EXEC_ARG_BUFFER", [EXEC_ARG_I32] = "EXEC_ARG_I32", [EXEC_ARG_U32] = "EXEC_ARG_U32",
        [EXEC_ARG_I64] = "EXEC_ARG_I64",       [EXEC_ARG_F32] = "EXEC_ARG_F32", [EXEC_ARG_LOCAL] = "EXEC_ARG_LOCAL",
        [EXEC_ARG_F64] = "EXEC_ARG_F64",       [EXEC_ARG_B8] = "EXEC_ARG_B8",   [EXEC_ARG_B16] = "EXEC_ARG_B16"};
    for (int j = 0; j < l->n_after; j++) {
        if (j == 0)
            buf_printf(out, "static const int p%zu_after%d[] = {", i_plan, i);
        buf_printf(out, "%s%d", j > 0 ? ", " : "", l->after[j]);
    }
    buf_puts(out, l->n_after > 0 ? "};\n" : "");
    if (l->n_args == 0)
        return;
    buf_printf(out, "static const struct exec_arg p%zu_args%d[] = {\n", i_plan, i);
    for (int j = 0; j < l->n_args; j++) {
        const struct exec_arg *a = &l->args[j];
        assert((size_t)a->kind < sizeof kinds / sizeof kinds[0] && kinds[a->kind]);
        buf_printf(out, "    {%s, ", kinds[a->kind]);
        deploy_text_whole(a->integer, out);
        buf_puts(out, ", ");
        deploy_text_real(a->real, out);
        for (int d = 0; d < EXEC_NEST; d++) {
            buf_puts(out, d == 0 ? ", {" : ", ");
            deploy_text_whole(a->bump[d], out);
        }
        buf_puts(out, "}},\n");
    }
    buf_puts(out, "};\n");
}

static void launch(size_t i_plan, int i, const struct exec_launch *l, struct buf *out)
{
    static const char *const ops[] = {[EXEC_KERNEL] = "EXEC_KERNEL",
                                      [EXEC_FILL] = "EXEC_FILL",
                                      [EXEC_COPY] = "EXEC_COPY",
                                      [EXEC_SYMBOL] = "EXEC_SYMBOL"};
    assert(l->n_args == 0 || l->args);
    buf_printf(out, "    {%s, %s, %d, ", ops[l->op], l->phase == EXEC_PACK ? "EXEC_PACK" : "EXEC_RUN", l->i_module);
    deploy_text_string(l->kernel, out);
    buf_printf(out, ", {%zu, %zu, %zu}, {%zu, %zu, %zu}, ", l->grid[0], l->grid[1], l->grid[2], l->block[0],
               l->block[1], l->block[2]);
    if (l->n_args > 0)
        buf_printf(out, "p%zu_args%d", i_plan, i);
    else
        buf_puts(out, "NULL");
    buf_printf(out, ", %d, ", l->n_args);
    deploy_text_whole(l->dyn_local, out);
    buf_printf(out, ", %d, %d, ", l->cooperative, l->queue);
    if (l->n_after > 0)
        buf_printf(out, "p%zu_after%d, %d},\n", i_plan, i, l->n_after);
    else
        buf_puts(out, "NULL, 0},\n");
}

static void launches(size_t i_plan, const struct exec_plan *p, struct buf *out)
{
    for (int i = 0; i < p->n_launches; i++)
        args(i_plan, i, &p->launches[i], out);
    buf_printf(out, "static const struct exec_launch p%zu_launches[] = {\n", i_plan);
    for (int i = 0; i < p->n_launches; i++)
        launch(i_plan, i, &p->launches[i], out);
    buf_puts(out, "};\n");
}

static void loops(size_t i_plan, const struct exec_plan *p, struct buf *out)
{
    if (p->n_loops == 0)
        return;
    buf_printf(out, "static const struct exec_loop p%zu_loops[] = {\n", i_plan);
    for (int i = 0; i < p->n_loops; i++) {
        assert(p->loops[i].first <= p->loops[i].last && p->loops[i].last < p->n_launches);
        buf_printf(out, "    {%d, %d, ", p->loops[i].first, p->loops[i].last);
        deploy_text_whole(p->loops[i].count, out);
        buf_puts(out, "},\n");
    }
    buf_puts(out, "};\n");
}

static void plan_entry(size_t i, const struct exec_plan *p, struct buf *out)
{
    buf_puts(out, "    {");
    deploy_text_string(p->workload, out);
    buf_printf(out, ", p%zu_modules, %d, p%zu_buffers, %d, p%zu_launches, %d, ", i, p->n_modules, i, p->n_buffers, i,
               p->n_launches);
    if (p->n_loops > 0)
        buf_printf(out, "p%zu_loops, %d},\n", i, p->n_loops);
    else
        buf_puts(out, "NULL, 0},\n");
}

void deploy_text_plans(const struct deploy_set *s, struct buf *out)
{
    modules(s, out);
    for (size_t i = 0; i < s->n_layers; i++) {
        const struct exec_plan *p = s->layers[i].plan;
        buf_printf(out, "\n/* ---- %s ---- */\n\n", s->layers[i].workload);
        module_list(s, i, out);
        buffers(i, p, out);
        launches(i, p, out);
        loops(i, p, out);
    }
    buf_printf(out, "\n#define N_PLANS %zu\nstatic const struct exec_plan plans[N_PLANS] = {\n", s->n_layers);
    for (size_t i = 0; i < s->n_layers; i++)
        plan_entry(i, s->layers[i].plan, out);
    buf_puts(out, "};\n");
}
