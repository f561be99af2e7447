/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/ours.h"

#include "runtime/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOB_BYTES ((size_t)1 << 30)
#define MAX_CONFIG_TEXT 1024

struct ours {
    const struct device_ops *ops;
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
};

/* One choice on its way to a contender. */
struct pick {
    const struct task *task;
    struct workload workload;
    const struct template *template;
    struct space *space;
    struct config config;
};

static enum err run(struct contender *c, struct why *why)
{
    struct ours *o = c->own;

    return o->ops->run(o->loaded, PHASE_RUN, NULL, NULL, why);
}

static enum err device_call(struct contender *c, double *ns, struct why *why)
{
    struct ours *o = c->own;
    int64_t device_ns = 0;
    const enum err e = o->ops->run(o->loaded, PHASE_RUN, &device_ns, NULL, why);

    *ns = (double)device_ns;
    return e;
}

/* On a device with its own clock, as its libraries are timed there. */
static enum err device_slot(struct contender *c, int64_t least_ns, double *ns, struct why *why)
{
    return contender_device_slot(c, device_call, least_ns, ns, why);
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

/* Is the output the same numbers as the peers'? Where the program has x, w and y as the task has them. */
static bool same_data(const struct pick *p, const char *text)
{
    return p->task->kind != TASK_RNN && p->task->kind != TASK_OTHER && p->workload.dtype == DTYPE_F32 &&
           p->task->sparsity <= 0 && strcmp(text, p->task->plain) == 0;
}

static void describe(const struct pick *p, const char *how, struct contender *out)
{
    const char *layout, *acc;
    struct buf text, knobs;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    buf_init(&knobs, 4096);
    (void)workload_text(&p->workload, &text);
    layout = strstr(buf_text(&text), " layout=");
    acc = strstr(buf_text(&text), " acc=f16");
    (void)sscanf(layout ? layout : "", " layout=%15s", out->layout);
    snprintf(out->template, sizeof out->template, "%s", p->template->id);
    snprintf(out->how, sizeof out->how, "%s", how);
    out->class = out->layout[0] ? CLASS_BLOCKED : CLASS_PLAIN;
    snprintf(out->name, sizeof out->name, "ours %s%s%s%s, %s", p->template->id, layout ? " " : "", out->layout,
             acc ? " acc=f16" : "", how);
    if (!space_config_text(p->space, &p->config, &knobs))
        snprintf(out->note, sizeof out->note, "%s", buf_text(&knobs));
    if (same_data(p, buf_text(&text)))
        out->output = output;
    buf_fini(&knobs);
    buf_fini(&text);
}

static enum err load(const struct pick *p, bool verify, struct contender *out, struct why *why)
{
    const struct task *t = p->task;
    struct load_report report = {0};
    struct verify_report verified;
    struct ours *o = calloc(1, sizeof *o);
    enum err e;

    if (!o)
        return ERR_NOMEM;
    out->own = o;
    out->run = run;
    out->fini = fini;
    if (t->own_events || t->ops->describe(t->device)->kind != DEVICE_CPU)
        out->slot = device_slot;
    o->ops = t->ops;
    program_init(&o->program);
    blobs_init(&o->blobs, MAX_BLOB_BYTES);
    e = template_program(p->template, &p->workload, t->ops->describe(t->device), p->space, &p->config, &o->program,
                         &o->blobs, why);
    if (!e)
        e = t->ops->load(t->device, &o->program, &o->blobs, NULL, &o->loaded, &report, why);
    free(report.log);
    snprintf(out->numerics, sizeof out->numerics, "%s", o->program.numerics);
    if (!e && verify)
        return verify_program(t->ops, o->loaded, &o->program, &o->blobs, &verified, why);
    return e ? e : verify_prepare_timing(t->ops, o->loaded, &o->program, &o->blobs, why);
}

/* Workload, template, its fit and its space; the space is the caller's to free. */
static enum err pick_init(struct pick *p, const struct task *t, const char *text, const struct template *template,
                          struct why *why)
{
    const struct device_desc *d = t->ops->describe(t->device);
    enum err e = workload_parse(text, &p->workload, why);

    p->task = t;
    p->template = template;
    p->space = NULL;
    if (e)
        return e;
    if (!template_computes(template, p->workload.op))
        return why_set(why, ERR_UNSUPPORTED, "%s does not compute %s", template->id, p->workload.op->name);
    if (template->fit(&p->workload, d, why) == FIT_NONE)
        return ERR_UNSUPPORTED;
    return template_space(template, &p->workload, d, &p->space, why);
}

static enum err pick_default(struct pick *p)
{
    return p->template->fallback(&p->workload, p->task->ops->describe(p->task->device), p->space, &p->config);
}

static enum err finish(struct pick *p, enum err e, const char *how, bool verify, struct contender *out, struct why *why)
{
    const char *violated = "";

    if (!e && !space_is_valid(p->space, &p->config, &violated))
        e = why_set(why, ERR_INPUT, "%s: the config violates %s", p->template->id, violated);
    if (!e) {
        e = load(p, verify, out, why);
        describe(p, how, out);
    }
    space_free(p->space);
    return e;
}

enum fit ours_fit(const struct task *t, const char *text, const struct template *template)
{
    struct workload w;
    struct why why = {""};

    return workload_parse(text, &w, &why) ? FIT_NONE : template->fit(&w, t->ops->describe(t->device), &why);
}

const struct template *const *ours_templates(const char *text)
{
    struct workload w;

    return workload_parse(text, &w, NULL) ? NULL : w.op->templates;
}

enum err ours_default(const struct task *t, const char *text, const struct template *template, bool verify,
                      struct contender *out, struct why *why)
{
    struct pick p;
    enum err e = pick_init(&p, t, text, template, why);

    snprintf(out->name, sizeof out->name, "ours %s, default", template->id);
    if (!e)
        e = pick_default(&p);
    return finish(&p, e, "default", verify, out, why);
}

enum err ours_best(const struct task *t, const char *text, const struct best_set *set, bool verify,
                   struct contender *out, struct why *why)
{
    const struct record *r = best_find(set, text, NULL);
    const struct template *template = r ? template_find(r->template_id) : NULL;
    struct pick p;
    enum err e;

    snprintf(out->name, sizeof out->name, "ours %s, tuned", r ? r->template_id : "");
    if (!r)
        return why_set(why, ERR_NOT_FOUND, "no record of %s", text);
    if (!template)
        return why_set(why, ERR_NOT_FOUND, "the log's best is of an unknown template");
    if (r->template_version != template->version)
        return why_set(why, ERR_NOT_FOUND, "the log's best is of version %lld, this is %d: tune again",
                       (long long)r->template_version, template->version);
    e = pick_init(&p, t, text, template, why);
    if (!e)
        e = space_config_from_json(p.space, r->knobs, &p.config, why);
    return finish(&p, e, "tuned", verify, out, why);
}

/* Sets one knob from text. */
static enum err set_knob(const struct space *s, const char *name, const char *value, struct config *c, struct why *why)
{
    const int i_knob = space_find_knob(s, name);
    char *end;
    const double number = strtod(value, &end);

    if (i_knob < 0)
        return why_set(why, ERR_INPUT, "no knob '%s' here", name);
    for (size_t i = 0; i < space_n_values(s, (size_t)i_knob); i++) {
        const struct value v = space_knob_value(s, (size_t)i_knob, i);

        if (v.text ? strcmp(v.text, value) == 0 : end != value && !*end && !(v.number < number || v.number > number)) {
            c->choice[i_knob] = (uint16_t)i;
            return ERR_OK;
        }
    }
    return why_set(why, ERR_INPUT, "knob '%s' does not have the value '%s' here", name, value);
}

static bool is_word_key(const struct workload *w, const char *name)
{
    for (const struct operator_key *k = w->op->keys; k->name; k++)
        if (k->kind == KEY_WORD && strcmp(k->name, name) == 0)
            return true;
    return false;
}

/* Calls `set` with each name=value of `list`, which it cuts to pieces. */
static enum err each_setting(char *list, enum err (*set)(const char *name, char *value, void *arg, struct why *why),
                             void *arg, struct why *why)
{
    enum err e = ERR_OK;
    char *save = NULL;

    for (char *token = strtok_r(list, " ", &save); !e && token; token = strtok_r(NULL, " ", &save)) {
        char *value = strchr(token, '=');

        if (!value)
            return why_set(why, ERR_INPUT, "'%s': expected knob=value", token);
        *value++ = '\0';
        e = set(token, value, arg, why);
    }
    return e;
}

struct given {
    struct pick pick;
    char text[WORKLOAD_MAX_TEXT];
};

/* First pass: what belongs to the workload. */
static enum err set_workload(const char *name, char *value, void *arg, struct why *why)
{
    struct given *g = arg;
    char changed[WORKLOAD_MAX_TEXT];
    enum err e;

    if (!is_word_key(&g->pick.task->workload, name))
        return ERR_OK;
    e = text_with(g->text, name, value, changed, sizeof changed);
    if (e)
        return why_set(why, e, "workload too long");
    snprintf(g->text, sizeof g->text, "%s", changed);
    return ERR_OK;
}

/* Second pass: the knobs. */
static enum err set_config(const char *name, char *value, void *arg, struct why *why)
{
    struct given *g = arg;

    if (is_word_key(&g->pick.workload, name))
        return ERR_OK;
    return set_knob(g->pick.space, name, value, &g->pick.config, why);
}

enum err ours_given(const struct task *t, const char *config, bool verify, struct contender *out, struct why *why)
{
    const size_t n_id = strcspn(config, " ");
    char id[96], list[MAX_CONFIG_TEXT];
    const struct template *template;
    struct given g = {.pick.task = t};
    enum err e;

    snprintf(out->name, sizeof out->name, "ours %s", config);
    snprintf(id, sizeof id, "%.*s", (int)n_id, config);
    snprintf(g.text, sizeof g.text, "%s", t->text);
    template = template_find(id);
    if (!template)
        return why_set(why, ERR_INPUT, "no template '%s'", id);
    snprintf(list, sizeof list, "%s", config + n_id);
    e = each_setting(list, set_workload, &g, why);
    if (!e)
        e = pick_init(&g.pick, t, g.text, template, why);
    if (!e)
        e = pick_default(&g.pick);
    snprintf(list, sizeof list, "%s", config + n_id);
    if (!e)
        e = each_setting(list, set_config, &g, why);
    return finish(&g.pick, e, "given", verify, out, why);
}
