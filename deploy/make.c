/* SPDX-License-Identifier: MIT */
#include "deploy/make.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <string.h>

static const char *device_name(const struct record *r)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(r->device, "name");
    return cJSON_IsString(name) ? name->valuestring : "";
}

enum err deploy_check_device(const struct best_set *best, struct why *why)
{
    for (size_t i = 1; i < best_n(best); i++) {
        const struct record *a = best_at(best, 0), *b = best_at(best, i);
        if (!a || !b)
            return why_set(why, ERR_NOMEM, "out of memory");
        if (!best_same_device(a, b) || strcmp(device_name(a), device_name(b)) != 0) {
            return why_set(why, ERR_INPUT,
                           "the log has records of two devices, %s (%.60s, %.12s) and %s (%.60s, %.12s); choose with "
                           "--key or --fingerprint",
                           a->key, device_name(a), a->fingerprint.hex, b->key, device_name(b), b->fingerprint.hex);
        }
    }
    return ERR_OK;
}

struct making {
    struct deploy_set *set;
    const struct best_set *best;
    const struct choices *choices; /* NULL = exact records only */
    struct device_desc device;
    struct why *why;
    bool no_vectors; /* test vectors of measured layers only */
};

static enum err add_record(struct making *m, const struct record *r)
{
    struct deploy_layer l;
    enum err e = deploy_layer_init(&l, r, m->why);
    if (e != ERR_OK) {
        deploy_layer_fini(&l);
        return e;
    }
    return deploy_set_take(m->set, &l, m->why);
}

static enum err add_choice(struct making *m, const char *workload)
{
    struct workload w;
    struct choice c;
    struct deploy_layer l;
    assert(m->choices); /* else check_missing has refused */
    enum err e = workload_parse(workload, &w, m->why);
    e = e == ERR_OK ? choice_make(m->choices, &w, &m->device, &c, m->why) : e;
    if (e != ERR_OK)
        return why_prefix(m->why, e, "%s", workload);
    e = deploy_layer_init_choice(&l, &c, &w, &m->device, !m->no_vectors, m->why);
    choice_fini(&c);
    if (e != ERR_OK) {
        deploy_layer_fini(&l);
        return e;
    }
    return deploy_set_take(m->set, &l, m->why);
}

static enum err add_layer(struct making *m, const char *workload)
{
    const struct record *r = best_find(m->best, workload, NULL);
    if (deploy_set_find(m->set, workload))
        return ERR_OK;
    return r ? add_record(m, r) : add_choice(m, workload);
}

enum err deploy_make_layer(struct deploy_set *s, const struct best_set *best, const struct choices *choices,
                           const struct device_desc *device, const char *workload, struct why *why)
{
    struct making m = {s, best, choices, *device, why, true};
    return add_layer(&m, workload);
}

static enum err add(struct making *m, const char *called, const char *workload)
{
    enum err e = add_layer(m, workload);
    return e == ERR_OK ? deploy_set_call(m->set, called, workload, m->why) : e;
}

/* Is wanted layer i the first one of its workload? */
static bool is_first(const struct deploy_want *want, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(want->layers[i].workload, want->layers[j].workload) == 0)
            return false;
    return true;
}

/* Words on the wanted workloads that have no record. */
static enum err check_missing(const struct best_set *best, const struct deploy_want *want, struct why *why)
{
    struct buf list;
    size_t n = 0, n_workloads = 0;
    buf_init(&list, 600);
    for (size_t i = 0; i < want->n; i++) {
        const struct deploy_wanted *l = &want->layers[i];
        const bool first = is_first(want, i);
        n_workloads += first;
        if (first && !best_find(best, l->workload, NULL)) {
            buf_printf(&list, "%s%s%s%s", n > 0 ? "; " : "", l->called, l->called[0] != '\0' ? ": " : "", l->workload);
            n++;
        }
    }
    enum err e = n == 0
                     ? ERR_OK
                     : why_set(why, ERR_NOT_FOUND,
                               "%zu of %zu workloads have no record (tune them, or let --allow-nearest choose): %s%s",
                               n, n_workloads, buf_text(&list), list.failed != ERR_OK ? " ..." : "");
    buf_fini(&list);
    return e;
}

static enum err open_choices(struct making *m, struct choices **out)
{
    enum err e = choices_of(m->best, out, m->why);
    m->choices = *out;
    return e == ERR_OK ? choices_device(m->choices, &m->device, m->why) : e;
}

enum err deploy_make(struct deploy_set *s, const struct best_set *best, const struct deploy_want *want,
                     bool allow_nearest, struct why *why)
{
    struct making m = {.set = s, .best = best, .why = why};
    struct choices *choices = NULL;
    enum err e = deploy_check_device(best, why);
    if (e == ERR_OK && want)
        e = allow_nearest ? open_choices(&m, &choices) : check_missing(best, want, why);
    for (size_t i = 0; e == ERR_OK && i < (want ? want->n : best_n(best)); i++) {
        const struct record *r = want ? NULL : best_at(best, i);
        if (!want && !r)
            return why_set(why, ERR_NOMEM, "out of memory");
        e = want ? add(&m, want->layers[i].called, want->layers[i].workload) : add(&m, "", r->workload);
    }
    choices_close(choices);
    return e;
}
