/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include "cli/cmd.h"
#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static enum err choose_arm(const struct task *t, const char *wanted, size_t *i_arm, struct why *why)
{
    for (size_t i = 0; i < t->n_arms; i++)
        if (wanted ? strcmp(t->arms[i].id, wanted) == 0 : !t->arms[i].baseline && !t->arms[i].possible) {
            *i_arm = i;
            return ERR_OK;
        }
    for (size_t i = 0; i < t->n_arms && !wanted; i++)
        if (!t->arms[i].baseline) {
            *i_arm = i;
            return ERR_OK;
        }
    return why_set(why, ERR_INPUT, "template %s does not fit %s", wanted ? wanted : "", t->text);
}

static enum err choose_config(const struct arm *a, const char *text, struct config *out, struct why *why)
{
    const char *violated = NULL;
    enum err e;

    if (!text) {
        *out = a->fallback;
        return a->has_fallback ? ERR_OK
                               : why_set(why, ERR_INPUT, "%s has no default here: name one with --config", a->id);
    }
    e = space_config_parse(a->space, text, out, why);
    if (!e && !space_is_valid(a->space, out, &violated))
        e = why_set(why, ERR_INPUT, "the config is not valid: %s", violated ? violated : "a constraint fails");
    return e;
}

enum err cmd_check_template(const struct cli *c, struct why *why)
{
    const char *wanted = cli_text(c, "template");

    if (!wanted || !c->n_rest)
        return ERR_OK;
    if (strchr(wanted, ','))
        return why_set(why, ERR_INPUT, "--template %.200s: expected one id; tune run and tune spaces take a list",
                       wanted);
    return task_check_templates(wanted, c->rest, (size_t)c->n_rest, why);
}

enum err cmd_config(const struct cli *c, const struct device_desc *d, struct task *t, size_t *i_arm, struct config *out,
                    struct why *why)
{
    const char *wanted = cli_text(c, "template");
    struct workload w;
    struct buf text;
    struct job j;
    enum err e = ERR_OK;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    if (wanted)
        snprintf(j.templates, sizeof j.templates, "%s", wanted);
    if (c->n_rest)
        e = cmd_workload(c->rest[0], &w, why);
    if (!e && c->n_rest)
        e = workload_text(&w, &text);
    if (!e)
        e = job_add_layer(&j, buf_text(&text), "", 1);
    if (!e)
        e = task_init(t, &j, 0, d, why);
    job_fini(&j);
    buf_fini(&text);
    if (e)
        return e;
    e = choose_arm(t, wanted, i_arm, why);
    assert(e || *i_arm < t->n_arms);
    if (!e)
        e = choose_config(&t->arms[*i_arm], cli_text(c, "config"), out, why);
    if (e)
        task_fini(t);
    return e;
}
