#include "tuner/anchor.h"

#include <math.h>
#include <string.h>

void anchor_first(struct anchor *a, const struct sha256 *hash, double time_ns)
{
    *a = (struct anchor){.hash = *hash, .ln_t0 = log(time_ns)};
}

double anchor_value(const struct anchor *a, const struct record *r, bool same_chain)
{
    if (r->status != STATUS_OK || !(r->time_ns > 0))
        return NAN;
    if (same_chain && a->hash.hex[0] && r->anchor.hash.hex[0] && isfinite(r->lnratio))
        return record_cost(r, a->ln_t0 + record_value(r));
    return record_cost(r, log(r->time_ns));
}

bool anchor_wants_epoch(const struct anchor *a, double value, const struct sha256 *hash)
{
    return a->hash.hex[0] && !a->bridging && isfinite(value) && anchor_lnratio(a, value) < -log(ANCHOR_RATIO) &&
           strcmp(hash->hex, a->refused.hex) != 0;
}

void anchor_bridge(struct anchor *a, const struct record *r)
{
    a->bridging = false;
    if (r->status != STATUS_OK || !isfinite(r->lnratio) || strcmp(r->anchor.hash.hex, a->hash.hex) != 0) {
        a->refused = r->program;
        return;
    }
    a->bridge += r->lnratio;
    a->hash = r->program;
    a->epoch++;
}

double anchor_lnratio(const struct anchor *a, double value)
{
    return value - a->ln_t0 - a->bridge;
}
