/* SPDX-License-Identifier: MIT */
/* child_turn.c - a program once more, its groups and work-items in the other order. A CPU's driver takes groups from
 * the first to the last, and of a group one work-item after another: what reads from others without waiting for them is
 * right there as long as they come before it. */
#include "agent/child_ops.h"
#include "core/buf.h"
#include "core/err.h"
#include "runtime/verify.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)16 << 20)
#define SMALL_FLOPS 1e6 /* of a run that takes no time without optimisation, on a busy machine too */

/* In front of a kernel's text. A macro's own name within it is the function. */
static const char turned[] = "#define get_group_id(d) (get_num_groups(d) - 1 - get_group_id(d))\n"
                             "#define get_local_id(d) (get_local_size(d) - 1 - get_local_id(d))\n"
                             "#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))\n"
                             "#line 1\n";
/* Numbers that would no longer go with these. */
static const char *const others[] = {"sub_group", "linear_id", "get_global_offset", "async_work_group"};

/* false: of this text nobody can say. */
static bool can_turn(const struct program_module *m, const struct blob *text)
{
    bool can = m->lang == LANG_OPENCL_C && text && text->n_bytes < MAX_TEXT;

    for (size_t i = 0; can && i < sizeof others / sizeof others[0]; i++)
        can = !memmem(text->data, text->n_bytes, others[i], strlen(others[i]));
    return can;
}

/* What is on trial is the text: of a small run it takes longest to make code. */
static enum err take_options(struct program_module *m)
{
    static const char quick[] = " -cl-opt-disable";
    const size_t n = m->options ? strlen(m->options) : 0;
    char *longer = realloc(m->options, n + sizeof quick);

    if (!longer)
        return ERR_NOMEM;
    memcpy(longer + n, quick, sizeof quick);
    m->options = longer;
    return ERR_OK;
}

static enum err turn(struct program_module *m, bool small, struct blobs *blobs)
{
    const struct blob *text = blobs_get(blobs, m->source.hex);
    struct buf longer;
    enum err e = ERR_OK;

    if (!can_turn(m, text))
        return ERR_UNSUPPORTED;
    buf_init(&longer, MAX_TEXT + sizeof turned);
    buf_puts(&longer, turned);
    buf_append(&longer, (const char *)text->data, text->n_bytes);
    e = blobs_put(blobs, buf_text(&longer), longer.len, &m->source);
    buf_fini(&longer);
    return e || !small ? e : take_options(m);
}

/* The first pass, of the text as it is in `p`; buffers begin at pages. A text that does not compile so says nothing. */
static enum err run(struct child *c, struct child_program *of, const struct program *p, const struct program *passes,
                    struct why *why)
{
    struct load_report loading = {.build_cached = true};
    struct verify_report report;
    struct loaded *loaded = NULL;
    struct why unsaid;
    enum err e;

    child_at(c, "build", SANDBOX_NOWHERE);
    setenv("TUNE_FENCE", "front", 1); /* runtime/fence.h */
    e = c->ops->load(c->device, p, &of->blobs, c->cache_dir, &loaded, &loading, &unsaid);
    setenv("TUNE_FENCE", "1", 1); /* as in all of this child */
    free(loading.log);
    if (e)
        return ERR_OK;
    child_at(c, "first", SANDBOX_NOWHERE);
    e = verify_pass(c->ops, loaded, passes, &of->blobs, 0, &report, why);
    c->ops->unload(loaded);
    return e == ERR_WRONG ? why_prefix(why, e, "with groups and work-items in the other order") : e;
}

enum err child_verify_turned(struct child *c, struct child_program *p, struct why *why)
{
    const struct program *passes = p->sheet.n_passes ? &p->sheet : &p->program;
    struct program other;
    enum err e;

    if (strcmp(c->ops->name, "opencl") != 0 || c->ops->describe(c->device)->kind != DEVICE_CPU || !passes->n_passes)
        return ERR_OK;
    c->ops->unload(p->loaded); /* the memory that a trial may have is for one */
    p->loaded = NULL;
    e = program_copy(&p->program, &other, why);
    for (size_t i = 0; !e && i < other.n_modules; i++)
        e = turn(&other.modules[i], other.flops > 0 && other.flops <= SMALL_FLOPS, &p->blobs);
    if (!e)
        e = run(c, p, &other, passes, why);
    program_fini(&other);
    return e == ERR_UNSUPPORTED ? ERR_OK : e;
}
