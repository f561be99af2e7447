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

enum err cmd_choose_config(const struct space *s, const char *text, struct config *out, struct why *why)
{
    const char *violated = NULL;
    enum err e = space_config_parse(s, text, out, why);

    if (!e && !space_is_valid(s, out, &violated))
        e = why_set(why, ERR_INPUT, "the config is not valid: %s", violated ? violated : "a constraint fails");
    return e;
}

static enum err choose_config(const struct arm *a, const char *text, struct config *out, struct why *why)
{
    if (text)
        return cmd_choose_config(a->space, text, out, why);
    *out = a->fallback;
    return a->has_fallback ? ERR_OK
                           : why_set(why, ERR_INPUT, "%s has no default here: name one with --config",
                                     a->id[0] ? a->id : "the kernel");
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

enum err cmd_check_subject(const struct cli *c, const char *other, struct why *why)
{
    const char *spec = cli_text(c, "kernel-spec");
    struct workload w;

    if (spec && cli_text(c, "template"))
        return why_set(why, ERR_INPUT, "--kernel-spec brings its own kernel: no --template");
    if ((c->n_rest > 0) + (spec != NULL) + (other && cli_text(c, other)) != 1 || c->n_rest > 1)
        return why_set(why, ERR_INPUT,
                       "expected one workload, e.g. \"dense f32 m=64 n=2048 k=512\", or --kernel-spec FILE%s%s%s",
                       other ? ", or --" : "", other ? other : "", other ? " FILE" : "");
    if (spec)
        return cmd_spec_check(spec, cli_text(c, "config"), why);
    return c->n_rest ? cmd_workload(c->rest[0], &w, why) : ERR_OK;
}

enum err cmd_config(const struct cli *c, const struct device_desc *d, struct task *t, size_t *i_arm, struct config *out,
                    struct why *why)
{
    const char *wanted = cli_text(c, "template"), *spec = cli_text(c, "kernel-spec");
    struct job j;
    enum err e;

    assert((c->n_rest == 1) != (spec != NULL)); /* cmd_check_subject */
    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    if (wanted)
        snprintf(j.templates, sizeof j.templates, "%s", wanted);
    e = spec ? cmd_kernel_spec(c, spec, &j, why) : cmd_add_workload(&j, c->rest[0], why);
    if (!e)
        e = task_init(t, &j, 0, d, why);
    job_fini(&j);
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
