/* SPDX-License-Identifier: MIT */
#include "tuner/ladder.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE "rnn/plan"
#define LAYERS 4 /* of the steps on all layers where the workload has one */

/* J. Appleyard, "Optimizing Recurrent Neural Networks in cuDNN 5", NVIDIA 2016: LSTM, 512 hidden units, batch 64. */
const struct ladder_step ladder_steps[] = {
    {"baseline", false, 349, "comb_gate=0 streams=1 fuse_pw=0 pretrans=0 pf=0 comb_in=1 wave=0 persist=0"},
    {"combined GEMMs", false, 724, "comb_gate=1 streams=1 fuse_pw=0 pretrans=0 pf=0 comb_in=1 wave=0 persist=0"},
    {"GEMM streaming", false, 994, "comb_gate=1 streams=2 fuse_pw=0 pretrans=0 pf=0 comb_in=1 wave=0 persist=0"},
    {"fused point-wise operations", false, 1942,
     "comb_gate=1 streams=2 fuse_pw=1 pretrans=0 pf=0 comb_in=1 wave=0 persist=0"},
    {"matrix pre-transposition", false, 2199, "comb_gate=1 streams=2 fuse_pw=1 pretrans=1 comb_in=1 wave=0 persist=0"},
    {"combining inputs", false, 2290, "comb_gate=1 streams=2 fuse_pw=1 pretrans=1 comb_in=2 wave=0 persist=0"},
    {"layers in a wave", true, 3898, "comb_gate=1 streams=1 fuse_pw=1 pretrans=1 comb_in=2 wave=1 persist=0"},
    {"the default config", false, 0, ""},
    {NULL, false, 0, NULL}};

int64_t ladder_layers(const struct workload *w, size_t i_step)
{
    const int64_t l = workload_get(w, "l");

    if (!ladder_steps[i_step].all_layers)
        return 1;
    return l > 1 ? l : LAYERS;
}

enum err ladder_workload(const struct workload *w, size_t i_step, struct buf *text, struct why *why)
{
    struct workload one = *w;

    if (strcmp(w->op->name, "rnn") != 0 || workload_get(w, "pass") != 0)
        return why_set(why, ERR_INPUT,
                       "the ladder is one of rnn with pass=fwd, expected rnn \"cell=lstm i=512 h=512 b=64 t=100\"");
    for (size_t i = 0; w->op->keys[i].name; i++)
        if (strcmp(w->op->keys[i].name, "l") == 0)
            one.key[i].v[0] = ladder_layers(w, i_step);
    return workload_text(&one, text);
}

/* Sets one knob to a value, or the nearest smaller one; what covers all steps of time is the last. */
static void set_knob(const struct space *s, const char *name, double value, int64_t n_steps, struct config *out)
{
    const int i = space_find_knob(s, name);
    const size_t n = i < 0 ? 0 : space_n_values(s, (size_t)i);

    for (size_t k = 0; k < n; k++)
        if (space_knob_value(s, (size_t)i, k).number <= value)
            out->choice[i] = (uint16_t)k;
    if (n && strcmp(name, "comb_in") == 0 && value >= (double)n_steps)
        out->choice[i] = (uint16_t)(n - 1);
}

static void set_knobs(const struct space *s, const char *text, int64_t n_steps, struct config *out)
{
    char list[256], *rest = NULL;

    snprintf(list, sizeof list, "%s", text);
    for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');

        assert(value); /* the texts above */
        *value = '\0';
        set_knob(s, word, strtod(value + 1, NULL), n_steps, out);
    }
}

static enum err config_of(const struct task *t, size_t i_step, size_t i_arm, struct config *out, struct why *why)
{
    const struct arm *a = &t->arms[i_arm];
    const char *violated = NULL;

    *out = a->fallback;
    set_knobs(a->space, ladder_steps[i_step].config, workload_get(&t->workload, "t"), out);
    if (space_is_valid(a->space, out, NULL))
        return ERR_OK;
    set_knob(a->space, "comb_gate", 1, 1, out); /* cells of one gate have nothing to combine */
    if (!space_is_valid(a->space, out, &violated))
        return why_set(why, ERR_INPUT, "step \"%s\" has no config here: %s", ladder_steps[i_step].name,
                       violated ? violated : "a constraint fails");
    return ERR_OK;
}

enum err ladder_task(const struct workload *w, size_t i_step, const struct device_desc *d, struct task *t,
                     size_t *i_arm, struct config *out, struct why *why)
{
    struct buf text;
    struct job j;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    snprintf(j.templates, sizeof j.templates, TEMPLATE);
    e = ladder_workload(w, i_step, &text, why);
    if (!e)
        e = job_add_layer(&j, buf_text(&text), "", 1);
    if (!e)
        e = task_init(t, &j, 0, d, why);
    buf_fini(&text);
    job_fini(&j);
    if (e)
        return e;
    for (*i_arm = 0; *i_arm < t->n_arms && strcmp(t->arms[*i_arm].id, TEMPLATE) != 0;)
        ++*i_arm;
    e = *i_arm < t->n_arms ? config_of(t, i_step, *i_arm, out, why)
                           : why_set(why, ERR_INPUT, "template " TEMPLATE " does not fit %s", t->text);
    if (e)
        task_fini(t);
    return e;
}
