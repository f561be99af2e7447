/* SPDX-License-Identifier: MIT */
#include "logs/record.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_STATUSES] = {
#define X(number, NAME, name) [STATUS_##NAME] = name,
    STATUS_MAP(X)
#undef X
};

const char *status_name(enum record_status s)
{
    return (unsigned)s < N_STATUSES ? names[s] : "unknown";
}

int status_by_name(const char *name)
{
    for (int i = 0; name && i < N_STATUSES; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

void record_init(struct record *r)
{
    *r = (struct record){.lnratio = NAN, .se = NAN};
}

void record_fini(struct record *r)
{
    if (!r)
        return;
    free(r->workload);
    cJSON_Delete(r->knobs);
    free(r->why);
    free(r->samples_ns);
    free(r->anchor.samples_ns);
    free(r->anchor.slots_ns);
    free(r->canary_ns);
    cJSON_Delete(r->device);
    cJSON_Delete(r->resources);
    record_init(r);
}

static char *copy_text(const char *from, bool *ok)
{
    char *to = from ? strdup(from) : NULL;

    *ok &= !from || to;
    return to;
}

static cJSON *copy_json(const cJSON *from, bool *ok)
{
    cJSON *to = from ? cJSON_Duplicate(from, true) : NULL;

    *ok &= !from || to;
    return to;
}

static double *copy_samples(const double *from, size_t n, bool *ok)
{
    double *to = n ? malloc(n * sizeof *to) : NULL;

    assert(n == 0 || from);
    if (to)
        memcpy(to, from, n * sizeof *to);
    *ok &= !n || to;
    return to;
}

enum err record_copy(struct record *to, const struct record *from)
{
    struct record r = *from;
    bool ok = true;

    r.workload = copy_text(from->workload, &ok);
    r.knobs = copy_json(from->knobs, &ok);
    r.why = copy_text(from->why, &ok);
    r.samples_ns = copy_samples(from->samples_ns, from->n_samples, &ok);
    r.anchor.samples_ns = copy_samples(from->anchor.samples_ns, from->anchor.n_samples, &ok);
    r.anchor.slots_ns = copy_samples(from->anchor.slots_ns, from->anchor.n_slots, &ok);
    r.canary_ns = copy_samples(from->canary_ns, from->n_canary, &ok);
    r.device = copy_json(from->device, &ok);
    r.resources = copy_json(from->resources, &ok);
    if (!ok) {
        record_fini(&r);
        return ERR_NOMEM;
    }
    *to = r;
    return ERR_OK;
}

double record_gflops(const struct record *r)
{
    return r->time_ns > 0 ? r->flops / r->time_ns : 0;
}

enum record_proof record_proof(const struct record *r)
{
    if (r->status != STATUS_OK || !(r->time_ns > 0) || strcmp(r->verified, RECORD_IN_PART) == 0)
        return PROOF_NONE;
    return strcmp(r->verified, RECORD_IN_FULL) == 0 ? PROOF_FULL : PROOF_UNTOLD;
}

bool record_may_be_best(const struct record *r)
{
    return record_proof(r) != PROOF_NONE;
}

double record_cost(const struct record *r, double ln_time)
{
    if (!*r->objective || isnan(ln_time))
        return ln_time;
    if (!(r->energy_j > 0))
        return NAN;
    return strcmp(r->objective, "edp") == 0 ? log(r->energy_j) + ln_time : log(r->energy_j);
}
