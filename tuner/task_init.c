/* SPDX-License-Identifier: MIT */
/* task_init.c - making a task: which templates, their spaces and strategies; and the programs of its configs. */
#include "tuner/task.h"

#include "search/learn/transfer.h"
#include "search/strategies/warm.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static enum err start_strategy(struct arm *a, const struct job *j, size_t i_arm, int64_t budget, struct why *why)
{
    struct config first[1 + TASK_MAX_GIVEN];
    struct strategy_options options = {
        .seed = (uint64_t)j->seed + i_arm, .budget = (size_t)budget, .first = first, .history = a->history};
    enum err e = strategy_named(j->strategy, &a->ops, why);

    if (a->has_fallback)
        first[options.n_first++] = a->fallback;
    for (size_t i = 0; i < a->n_given; i++)
        first[options.n_first++] = a->given[i];
    if (e)
        return e;
    if (a->history) {
        options.inner = a->ops;
        a->ops = &warm_ops;
    }
    e = a->ops->init(&a->strategy, a->space, &options);
    return e ? why_set(why, e, "strategy %s: %s", j->strategy, err_words(e)) : ERR_OK;
}

bool task_give(struct task *t, size_t i_arm, const struct config *c)
{
    struct arm *a = &t->arms[i_arm];
    bool known = a->has_fallback && space_config_equal(a->space, &a->fallback, c);

    for (size_t i = 0; i < a->n_given; i++)
        known = known || space_config_equal(a->space, &a->given[i], c);
    if (known || a->n_given == TASK_MAX_GIVEN || !space_is_valid(a->space, c, NULL))
        return false;
    a->given[a->n_given++] = *c;
    return true;
}

enum err task_warm(struct task *t, const struct job *j, size_t i_arm, struct transfer *history, struct why *why)
{
    struct arm *a = &t->arms[i_arm];

    assert(t->n_all == 0 && a->strategy && !a->baseline);
    a->ops->fini(a->strategy);
    a->strategy = NULL;
    transfer_free(a->history);
    a->history = history;
    return start_strategy(a, j, i_arm, t->budget, why);
}

static enum err add_arm(struct task *t, const struct job *j, const struct template *tp, enum fit fit, struct why *why)
{
    struct arm *a = &t->arms[t->n_arms];
    enum err e;

    if (t->n_arms == TASK_MAX_ARMS)
        return why_set(why, ERR_LIMIT, "more than %d templates for one workload", TASK_MAX_ARMS);
    *a = (struct arm){
        .template = tp, .version = tp->version, .possible = fit == FIT_POSSIBLE, .baseline = fit == FIT_BASELINE};
    snprintf(a->id, sizeof a->id, "%s", tp->id);
    e = template_space(tp, &t->workload, &t->device, &a->own_space, why);
    if (e)
        return e;
    a->space = a->own_space;
    t->n_arms++;
    a->has_fallback = tp->fallback(&t->workload, &t->device, a->space, &a->fallback) == ERR_OK;
    return a->baseline ? ERR_OK : start_strategy(a, j, t->n_arms - 1, t->budget, why);
}

/* Does the template compute the operator that the text of a workload begins with? */
static bool computes_text(const struct template *tp, const char *text)
{
    char name[64];
    const struct operator* op;

    text += strspn(text, " \t");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " \t"), text);
    op = operator_find(name);
    return op && template_computes(tp, op);
}

enum err task_check_templates(const char *list, const char *const *workloads, size_t n_workloads, struct why *why)
{
    const char *p = list;

    while (*p) {
        char id[64];
        const size_t n = strcspn(p, ",");
        const struct template *tp;
        bool computes = false;

        snprintf(id, sizeof id, "%.*s", (int)n, p);
        tp = template_find(id);
        if (!tp)
            return why_set(why, ERR_INPUT, "no template \"%s\"; tune spaces WORKLOAD lists them", id);
        for (size_t i = 0; i < n_workloads && !computes; i++)
            computes = computes_text(tp, workloads[i]);
        if (!computes && n_workloads == 1)
            return why_set(why, ERR_INPUT, "template %s does not compute %.*s", id, (int)strcspn(workloads[0], " "),
                           workloads[0]);
        if (!computes)
            return why_set(why, ERR_INPUT, "template %s computes none of the %zu workloads", id, n_workloads);
        p += n + (p[n] == ',');
    }
    return ERR_OK;
}

enum err task_check_job(const struct job *j, struct why *why)
{
    const char **texts = calloc(j->n_layers + 1, sizeof *texts);
    enum err e;

    if (!texts)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    for (size_t i = 0; i < j->n_layers; i++)
        texts[i] = j->layers[i].workload;
    e = task_check_templates(j->templates, texts, j->n_layers, why);
    free(texts);
    return e;
}

/* The list of templates for this task: the job's or, where none of it fits one layer of several, all ("", with a note).
 */
static const char *names_for(struct task *t, const struct job *j)
{
    struct why reason = {""};

    if (!j->templates[0] || j->n_layers < 2)
        return j->templates;
    for (const struct template *const *of = t->workload.op->templates; *of; of++)
        if (job_list_has(j->templates, (*of)->id) && (*of)->fit(&t->workload, &t->device, &reason) != FIT_NONE)
            return j->templates;
    snprintf(t->note, sizeof t->note, "%.200s %s%.200s: all templates are searched", j->templates,
             reason.text[0] ? "does not fit: " : "does not compute ",
             reason.text[0] ? reason.text : t->workload.op->name);
    return "";
}

/* Why nothing fits: the reason of the last template that might have been taken. */
static enum err nothing_fits(const struct task *t, const char *names, const struct why *last, struct why *why)
{
    return why_set(why, ERR_NOT_FOUND, "no template %sfits %s on %s%s%s", *names ? "named " : "", t->text,
                   t->device.name, last->text[0] ? ": " : "", last->text);
}

static enum err add_templates(struct task *t, const struct job *j, struct why *why)
{
    struct why last = {""};
    enum err e = task_check_job(j, why);
    const char *names = e ? "" : names_for(t, j);

    for (const struct template *const *of = t->workload.op->templates; *of && !e; of++) {
        const struct template *tp = *of;
        const bool is_named = job_list_has(names, tp->id), is_allowed = !*names || is_named;
        struct why reason = {""};
        enum fit fit =
            is_named ? tp->fit(&t->workload, &t->device, &reason) : template_fit(tp, &t->workload, &t->device, &reason);

        if (fit == FIT_NONE && is_allowed)
            last = reason;
        if (fit == FIT_NONE || (fit != FIT_BASELINE && !is_allowed))
            continue;
        if (fit == FIT_BASELINE && is_named)
            fit = FIT_GOOD; /* asked for by name: searched like any other */
        e = add_arm(t, j, tp, fit, why);
    }
    for (size_t i = 0; i < t->n_arms && !e; i++)
        if (!t->arms[i].baseline)
            return ERR_OK;
    return e ? e : nothing_fits(t, names, &last, why);
}

static enum err set_names(struct task *t, const char *text, const char *name, int64_t count)
{
    t->text = strdup(text);
    t->name = strdup(name);
    t->count = count;
    return t->text && t->name ? ERR_OK : ERR_NOMEM;
}

enum err task_init(struct task *t, const struct job *j, size_t i_layer, const struct device_desc *device,
                   struct why *why)
{
    const struct job_layer *layer = &j->layers[i_layer];
    struct buf text;
    enum err e;

    *t = (struct task){.i_best = -1,
                       .i_crown = -1,
                       .device = *device,
                       .fingerprint = device_desc_fingerprint(device),
                       .former = device_desc_former(device),
                       .budget = job_trials(j, i_layer)};
    snprintf(t->objective, sizeof t->objective, "%s", j->objective);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_parse(layer->workload, &t->workload, why);
    if (!e && (e = workload_text(&t->workload, &text)))
        why_set(why, e, "%s", err_words(e));
    if (!e && (e = set_names(t, buf_text(&text), layer->name, layer->count)))
        why_set(why, e, "%s", err_words(e));
    if (!e)
        e = add_templates(t, j, why);
    buf_fini(&text);
    if (e)
        task_fini(t);
    return e;
}

/* "convolution-RTX_3090" is kernel "convolution" on a device: the template is replay/convolution. */
static void replay_id(const char *name, char *out, size_t n_out)
{
    snprintf(out, n_out, "replay/%.*s", (int)strcspn(name, "-"), name);
}

enum err task_init_replay(struct task *t, const struct job *j, const struct device_desc *device, struct why *why)
{
    struct arm *a = &t->arms[0];
    char text[256];
    enum err e;

    *t = (struct task){.i_best = -1,
                       .i_crown = -1,
                       .device = *device,
                       .fingerprint = device_desc_fingerprint(device),
                       .former = device_desc_former(device),
                       .budget = job_trials(j, 0),
                       .n_arms = 1};
    *a = (struct arm){.version = 1};
    e = recorded_open(j->replay, &a->recorded, why);
    if (!e) {
        a->space = recorded_space(a->recorded);
        replay_id(recorded_name(a->recorded), a->id, sizeof a->id);
        snprintf(text, sizeof text, "replay space=%s", recorded_name(a->recorded));
        e = set_names(t, text, "", 1);
    }
    if (!e)
        e = start_strategy(a, j, 0, t->budget, why);
    if (e)
        task_fini(t);
    return e;
}

enum err task_init_spec(struct task *t, const struct job *j, const struct device_desc *device, struct why *why)
{
    struct arm *a = &t->arms[0];
    enum err e;

    *t = (struct task){.i_best = -1,
                       .i_crown = -1,
                       .device = *device,
                       .fingerprint = device_desc_fingerprint(device),
                       .former = device_desc_former(device),
                       .budget = job_trials(j, 0),
                       .n_arms = 1};
    *a = (struct arm){.version = 0};
    snprintf(t->objective, sizeof t->objective, "%s", j->objective);
    e = spec_open(j->spec, strlen(j->spec), &j->spec_files, &a->spec, why);
    if (!e)
        e = spec_fits(a->spec, device, why);
    if (!e) {
        a->space = spec_space(a->spec);
        a->version = spec_version(a->spec);
        a->has_fallback = spec_default(a->spec, &a->fallback);
        e = set_names(t, spec_workload(a->spec), "", 1);
    }
    if (!e)
        e = start_strategy(a, j, 0, t->budget, why);
    if (e)
        task_fini(t);
    return e;
}

enum err task_program(const struct task *t, size_t i_arm, const struct config *c, struct program *out,
                      struct blobs *blobs, struct why *why)
{
    const struct arm *a = &t->arms[i_arm];

    if (a->template)
        return template_program(a->template, &t->workload, &t->device, a->space, c, out, blobs, why);
    if (a->spec)
        return spec_program(a->spec, c, out, blobs, why);
    program_init(out);
    out->workload = strdup(t->text);
    out->template_id = strdup(a->id);
    out->template_version = a->version;
    out->knobs = space_config_to_json(a->space, c);
    snprintf(out->api, sizeof out->api, "replay");
    if (out->workload && out->template_id && out->knobs)
        return ERR_OK;
    program_fini(out);
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}
