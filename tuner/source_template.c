/* SPDX-License-Identifier: MIT */
/* source_template.c - an arm for each template that fits a layer's workload on the device. */
#include "tuner/source.h"
#include "core/buf.h"
#include "kernels/cost.h"
#include "tuner/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum err add_template(struct task *t, const struct template *tp, enum fit fit, struct why *why)
{
    struct arm *a = task_add_arm(t, &source_template, tp->id, tp->version);
    enum err e;

    if (!a)
        return why_set(why, ERR_LIMIT, "more than %d templates for one workload", TASK_MAX_ARMS);
    a->possible = fit == FIT_POSSIBLE;
    a->baseline = fit == FIT_BASELINE;
    a->of.template = tp;
    e = template_space(tp, &t->workload, &t->device, &a->own_space, why);
    if (e)
        return e;
    a->space = a->own_space;
    a->has_fallback = tp->fallback(&t->workload, &t->device, a->space, &a->fallback) == ERR_OK;
    return ERR_OK;
}

/* Does the template compute the operator that the text of a workload begins with? */
static bool computes_text(const struct template *tp, const char *text)
{
    char name[64];
    const struct operator_desc *op;

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

/* Why nothing fits: the reason of the last template that might have been taken, and the baseline that would do. */
static enum err nothing_fits(const struct task *t, const char *names, const struct why *last, struct why *why)
{
    const char *baseline = "";

    for (size_t i = 0; i < t->n_arms && !*names; i++)
        baseline = t->arms[i].id;
    return why_set(why, ERR_NOT_FOUND, "no template %sfits %s on %s%s%s%s%s", *names ? "named " : "", t->text,
                   t->device.name, *baseline ? " but the baseline, --template " : "", baseline,
                   last->text[0] ? "; the last of the others: " : "", last->text);
}

/* Does the template do with fewer operations than the operator has, and round more for it? */
static bool saves_operations(const struct arm *a, const struct task *t)
{
    return template_numerics(a->of.template, &t->workload, &t->device, a->space, &a->fallback).saved > 0;
}

/* Leaves out what a job of plain arithmetic does not want. */
static void keep_plain(struct task *t, struct why *last)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_arms; i++) {
        struct arm *a = &t->arms[i];

        if (!saves_operations(a, t)) {
            t->arms[n++] = *a;
            continue;
        }
        why_set(last, ERR_NOT_FOUND, "%s is left out by --exactness plain", a->id);
        a->source->close(a);
    }
    t->n_arms = n;
}

static enum err add_templates(struct task *t, const struct job *j, struct why *why)
{
    struct why last = {""};
    enum err e = task_check_job(j, why);
    const char *names = e ? "" : names_for(t, j);
    const struct template *list[OPERATOR_MAX_TEMPLATES];
    const size_t n = templates_in_order(&t->workload, &t->device, list);

    for (size_t i = 0; i < n && !e; i++) {
        const struct template *tp = list[i];
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
        e = add_template(t, tp, fit, why);
    }
    if (!e && j->plain)
        keep_plain(t, &last);
    for (size_t i = 0; i < t->n_arms && !e; i++)
        if (!t->arms[i].baseline)
            return ERR_OK;
    return e ? e : nothing_fits(t, names, &last, why);
}

static enum err open(struct task *t, const struct job *j, size_t i_layer, struct why *why)
{
    const struct job_layer *layer = &j->layers[i_layer];
    struct buf text;
    enum err e;

    assert(i_layer < j->n_layers);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_parse(layer->workload, &t->workload, why);
    if (!e && (e = workload_text(&t->workload, &text)))
        why_set(why, e, "%s", err_words(e));
    if (!e)
        e = task_set_text(t, buf_text(&text), layer->name, layer->count, why);
    if (!e)
        e = add_templates(t, j, why);
    buf_fini(&text);
    return e;
}

static void close(struct arm *a)
{
    space_free(a->own_space);
}

static enum err program(const struct task *t, const struct arm *a, const struct config *c, struct program *out,
                        struct blobs *blobs, struct why *why)
{
    return template_program(a->of.template, &t->workload, &t->device, a->space, c, out, blobs, why);
}

static struct numerics numerics(const struct task *t, const struct arm *a, const struct config *c)
{
    return template_numerics(a->of.template, &t->workload, &t->device, a->space, c);
}

static double least_flops(const struct task *t, const struct arm *a, const struct config *c)
{
    return template_least_flops(a->of.template, &t->workload, &t->device, a->space, c);
}

const struct source_ops source_template = {
    .open = open, .close = close, .program = program, .numerics = numerics, .least_flops = least_flops};
