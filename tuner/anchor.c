/* SPDX-License-Identifier: MIT */
#include "tuner/anchor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void anchor_first(struct anchor *a, const struct sha256 *hash, double time_ns)
{
    assert(hash->hex[0] && time_ns > 0);
    *a = (struct anchor){.hash = *hash, .ln_t0 = log(time_ns)};
}

/* Is the program an anchor of this chain? *bridge: how it stands to the first. */
static bool find(const struct anchor *a, const struct sha256 *hash, double *bridge)
{
    *bridge = a->bridge;
    if (!hash->hex[0] || strcmp(hash->hex, a->hash.hex) == 0)
        return hash->hex[0];
    for (size_t i = 0; i < a->n_former; i++)
        if (strcmp(hash->hex, a->former[i].hash.hex) == 0) {
            *bridge = a->former[i].bridge;
            return true;
        }
    return false;
}

bool anchor_has(const struct anchor *a, const struct sha256 *hash)
{
    double bridge;

    return find(a, hash, &bridge);
}

void anchor_link(struct anchor *a, const struct sha256 *hash, double bridge)
{
    if (!anchor_has(a, hash) && hash->hex[0] && a->n_former < ANCHOR_MAX_EPOCHS)
        a->former[a->n_former++] = (struct anchor_link){*hash, bridge};
}

double anchor_value(const struct anchor *a, const struct record *r)
{
    double bridge;

    if (r->status != STATUS_OK || !(r->time_ns > 0))
        return NAN;
    if (isfinite(r->lnratio) && find(a, &r->anchor.hash, &bridge))
        return record_cost(r, a->ln_t0 + bridge + r->lnratio);
    return record_cost(r, log(r->time_ns));
}

bool anchor_wants_epoch(const struct anchor *a, double value, const struct sha256 *hash)
{
    double bridge;

    return a->hash.hex[0] && !a->next.hex[0] && a->n_former < ANCHOR_MAX_EPOCHS && isfinite(value) &&
           anchor_lnratio(a, value) < -log(ANCHOR_RATIO) && strcmp(hash->hex, a->refused.hex) != 0 &&
           !find(a, hash, &bridge);
}

void anchor_await_bridge(struct anchor *a, const struct sha256 *hash)
{
    assert(a->hash.hex[0] && !a->next.hex[0] && hash->hex[0]);
    a->next = *hash;
}

void anchor_bridge(struct anchor *a, const struct record *r)
{
    const struct sha256 tried = a->next;
    double bridge;

    a->next = (struct sha256){""};
    if (r->status != STATUS_OK || !isfinite(r->lnratio) || strcmp(r->anchor.hash.hex, a->hash.hex) != 0 ||
        !r->program.hex[0] || find(a, &r->program, &bridge)) {
        a->refused = tried;
        return;
    }
    assert(a->n_former < ANCHOR_MAX_EPOCHS);
    a->former[a->n_former++] = (struct anchor_link){a->hash, a->bridge};
    a->bridge += r->lnratio;
    a->hash = r->program;
    a->epoch++;
}

double anchor_lnratio(const struct anchor *a, double value)
{
    return value - a->ln_t0 - a->bridge;
}
