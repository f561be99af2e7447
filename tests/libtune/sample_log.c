/* SPDX-License-Identifier: MIT */
#include "tests/libtune/sample_log.h"

#include "libtune/choice.h"
#include "logs/log.h"

#include <stdio.h>
#include <string.h>

#define MAX_TRIES 100000

/* A space and its default: of the template named, or of the one that a deployment would take. */
static bool open_space(const struct device_desc *d, const struct workload *w, const char *template_id,
                       struct choice *out, struct why *why)
{
    if (!*template_id)
        return choice_default(w, d, out, why) == ERR_OK;
    *out = (struct choice){.t = template_find(template_id)};
    return out->t && template_space(out->t, w, d, &out->space, why) == ERR_OK &&
           out->t->fallback(w, d, out->space, &out->config) == ERR_OK;
}

static bool draw_other(const struct choice *from, uint64_t seed, struct config *out)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (int i = 0; i < MAX_TRIES; i++)
        if (space_sample(from->space, &rng, MAX_TRIES, out) == ERR_OK &&
            !space_config_equal(from->space, out, &from->config))
            return true;
    return false;
}

static void fill(struct record *r, const struct device_desc *d, const struct workload *w, const struct choice *c,
                 const struct config *config, double time_ns)
{
    snprintf(r->template_id, sizeof r->template_id, "%s", c->t->id);
    r->template_version = c->t->version;
    r->knobs = space_config_to_json(c->space, config);
    r->time_ns = time_ns;
    r->flops = w->op->flops(w);
    r->status = STATUS_OK;
    r->device = device_desc_to_json(d);
    r->fingerprint = device_desc_fingerprint(d);
    snprintf(r->purpose, sizeof r->purpose, "final");
    snprintf(r->job, sizeof r->job, "j1");
    snprintf(r->key, sizeof r->key, "sample-device");
}

bool sample_log_record(const struct device_desc *d, const char *workload, const char *template_id, uint64_t seed,
                       double time_ns, struct record *out)
{
    struct why why = {""};
    struct choice c = {.space = NULL};
    struct config config;
    struct workload w;
    bool ok = workload_parse(workload, &w, &why) == ERR_OK && open_space(d, &w, template_id, &c, &why) &&
              draw_other(&c, seed, &config);

    record_init(out);
    if (ok)
        fill(out, d, &w, &c, &config, time_ns);
    else
        fprintf(stderr, "sample_log: %s: %s\n", workload, why.text);
    out->workload = strdup(workload);
    choice_fini(&c);
    return ok && out->workload && out->knobs && out->device;
}

bool sample_log_add(const char *path, const struct device_desc *d, const char *workload, const char *template_id,
                    uint64_t seed, double time_ns)
{
    struct record r;
    struct why why = {""};
    const bool ok =
        sample_log_record(d, workload, template_id, seed, time_ns, &r) && log_append(path, &r, &why) == ERR_OK;

    if (why.text[0])
        fprintf(stderr, "sample_log: %s\n", why.text);
    record_fini(&r);
    return ok;
}
