/* SPDX-License-Identifier: MIT */
#include "tracker/vitals.h"

#include "core/vec.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Every other point goes, from the oldest on: those that stay are twice as far apart. */
static void thin(struct vitals *h)
{
    int n = 0;

    for (int i = 0; i < h->n; i += 2)
        h->at[n++] = h->at[i];
    h->n = n;
    h->step_ms *= 2;
}

void vitals_add(struct vitals *h, const struct vitals_point *point)
{
    int64_t since_ms;

    if (!h->step_ms)
        h->step_ms = VITALS_STEP_MS;
    if (h->n == VITALS_POINTS)
        thin(h);
    assert(h->n < VITALS_POINTS);
    since_ms = h->n ? point->ts_ms - h->at[h->n - 1].ts_ms : h->step_ms;
    if ((since_ms >= 0 && since_ms < h->step_ms) || /* a clock that was set back goes on */
        VEC_ROOM(h->at, h->cap, (size_t)h->n + 1, VITALS_POINTS))
        return;
    h->at[h->n++] = *point;
}

void vitals_fini(struct vitals *h)
{
    free(h->at);
    *h = (struct vitals){0};
}

static double ts_of(const struct vitals_point *p)
{
    return (double)p->ts_ms;
}

static double temperature_of(const struct vitals_point *p)
{
    return (double)p->temperature;
}

static double load_of(const struct vitals_point *p)
{
    return (double)p->load;
}

static double canary_of(const struct vitals_point *p)
{
    return (double)p->canary_ns;
}

static double done_of(const struct vitals_point *p)
{
    return p->done;
}

static double failed_of(const struct vitals_point *p)
{
    return p->failed;
}

static cJSON *list_of(const struct vitals *h, double (*of)(const struct vitals_point *p), bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (int i = 0; i < h->n; i++) {
        const double v = of(&h->at[i]);
        cJSON *item = isnan(v) ? cJSON_CreateNull() : cJSON_CreateNumber(v);

        *ok = *ok && item;
        cJSON_AddItemToArray(list, item);
    }
    *ok = *ok && list;
    return list;
}

cJSON *vitals_json(const struct vitals *h)
{
    static const struct {
        const char *name;
        double (*of)(const struct vitals_point *p);
    } lists[] = {{"ts_ms", ts_of},  {"temperature", temperature_of},
                 {"load", load_of}, {"canary_ns", canary_of},
                 {"done", done_of}, {"failed", failed_of}};
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_add_item(o, lists[i].name, list_of(h, lists[i].of, &ok), &ok);
    if (ok)
        return o;
    cJSON_Delete(o);
    return NULL;
}
