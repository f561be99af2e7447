/* SPDX-License-Identifier: MIT */
#include "agent/cool.h"

#include <assert.h>
#include <string.h>

#define STEP_MS 500

static void read_sensors(struct cool *c, struct sense *out)
{
    memset(out, 0, sizeof *out);
    if (!c->ops->sense || c->ops->sense(c->device, out) != ERR_OK)
        memset(out, 0, sizeof *out);
}

/* What cannot be read is no reason to wait. */
static bool is_hot(const struct sense *s, const struct cool_rules *r)
{
    return (r->max_c > 0 && (s->known & SENSE_TEMPERATURE) && s->temperature_c > r->max_c) ||
           (r->throttled && (s->known & SENSE_THROTTLE) && s->throttle[0]);
}

void cool_wait(struct cool *c, const struct cool_rules *r, void (*alive)(void *arg), void *arg)
{
    const int64_t from = clock_read_ns(c->clock);

    assert(alive && r->pause_s >= 0);
    for (;;) {
        const double waited_s = (double)(clock_read_ns(c->clock) - from) * 1e-9;

        read_sensors(c, &c->before);
        c->hot = is_hot(&c->before, r);
        if (waited_s >= (c->hot ? COOL_MAX_S : r->pause_s))
            break;
        alive(arg);
        clock_wait_ms(c->clock, c->hot || r->pause_s - waited_s > 1e-3 * STEP_MS
                                    ? STEP_MS
                                    : 1 + (int64_t)((r->pause_s - waited_s) * 1e3));
        c->waited_s = (double)(clock_read_ns(c->clock) - from) * 1e-9;
    }
}

void cool_during(struct cool *c)
{
    struct sense now;

    read_sensors(c, &now);
    if (!c->during.known || now.temperature_c >= c->during.temperature_c)
        c->during = now;
}

void cool_after(struct cool *c)
{
    read_sensors(c, &c->after);
}

cJSON *cool_to_json(const struct cool *c)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    if (!ok)
        return NULL;
    sense_add_json(o, "before", &c->before, &ok);
    sense_add_json(o, "during", &c->during, &ok);
    sense_add_json(o, "after", &c->after, &ok);
    if (c->waited_s > 0)
        json_add_real(o, "waited_s", (double)(int64_t)(c->waited_s * 10 + 0.5) / 10, &ok);
    if (c->rest_w > 0)
        json_add_real(o, "rest_w", c->rest_w, &ok);
    if (c->hot)
        json_add_bool(o, "hot", true, &ok);
    if (ok && cJSON_GetArraySize(o) > 0)
        return o;
    cJSON_Delete(o);
    return NULL;
}
