/* ours.c - our templates as contenders, through the same device layer that agents and libtune use. */
#include "logs/log.h"
#include "runtime/verify.h"
#include "tests/bench/peers/contender.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_BLOB_BYTES ((size_t)1 << 30)

struct ours {
    const struct device_ops *ops;
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
};

static enum err run(struct contender *c, struct why *why)
{
    struct ours *o = c->own;

    return o->ops->run(o->loaded, PHASE_RUN, NULL, NULL, why);
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct ours *o = c->own;

    return o->ops->read(o->loaded, program_find_buffer(&o->program, "y"), y, why);
}

static void fini(struct contender *c)
{
    struct ours *o = c->own;

    if (o->loaded)
        o->ops->unload(o->loaded);
    program_fini(&o->program);
    blobs_fini(&o->blobs);
    free(o);
}

/* Loads one config, weights packed and inputs filled. */
static enum err load(const struct task *t, const struct template *template, const struct space *s,
                     const struct config *config, struct contender *out, struct why *why)
{
    struct load_report report = {0};
    struct ours *o = calloc(1, sizeof *o);
    struct buf knobs;
    enum err e;

    if (!o)
        return ERR_NOMEM;
    out->own = o;
    out->run = run;
    out->output = output;
    out->fini = fini;
    o->ops = t->ops;
    program_init(&o->program);
    blobs_init(&o->blobs, MAX_BLOB_BYTES);
    e = template_program(template, &t->workload, t->ops->describe(t->device), s, config, &o->program, &o->blobs, why);
    if (!e)
        e = t->ops->load(t->device, &o->program, &o->blobs, NULL, &o->loaded, &report, why);
    if (!e)
        e = verify_prepare_timing(t->ops, o->loaded, &o->program, &o->blobs, why);
    free(report.log);
    buf_init(&knobs, 4096);
    if (!space_config_text(s, config, &knobs))
        snprintf(out->note, sizeof out->note, "%s", buf_text(&knobs));
    buf_fini(&knobs);
    return e;
}

enum err ours_default(const struct task *t, const struct template *template, struct contender *out, struct why *why)
{
    const struct device_desc *d = t->ops->describe(t->device);
    struct space *s = NULL;
    struct config config;
    enum err e = template_space(template, &t->workload, d, &s, why);

    snprintf(out->name, sizeof out->name, "%s, default", template->id);
    if (!e)
        e = template->fallback(&t->workload, d, s, &config);
    if (!e)
        e = load(t, template, s, &config, out, why);
    space_free(s);
    return e;
}

static bool add_record(const struct record *r, const char *line, size_t n_line, void *arg)
{
    (void)line;
    (void)n_line;
    return best_add(arg, r) == ERR_OK;
}

static enum err load_record(const struct task *t, const struct record *r, struct contender *out, struct why *why)
{
    const struct template *template = template_find(r->template_id);
    struct space *s = NULL;
    struct config config;
    enum err e;

    if (!template)
        return why_set(why, ERR_NOT_FOUND, "the log's best is of an unknown template '%s'", r->template_id);
    snprintf(out->name, sizeof out->name, "%s, tuned", template->id);
    e = template_space(template, &t->workload, t->ops->describe(t->device), &s, why);
    if (!e)
        e = space_config_from_json(s, r->knobs, &config, why);
    if (!e)
        e = load(t, template, s, &config, out, why);
    space_free(s);
    return e;
}

enum err ours_best(const struct task *t, const char *log, struct contender *out, struct why *why)
{
    struct best_set *set = NULL;
    const struct record *r;
    enum err e = best_new(&set);

    if (!e)
        e = log_scan(log, add_record, NULL, set, why);
    if (!e) {
        r = best_find(set, t->text, NULL);
        e = r ? load_record(t, r, out, why) : why_set(why, ERR_NOT_FOUND, "%s has no record of this workload", log);
    }
    best_free(set);
    return e;
}
