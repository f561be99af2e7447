/* SPDX-License-Identifier: MIT */
/* Entities of a log as a config of our template's space, and back. */
#include "core/err.h"
#include "core/json.h"
#include "kernels/build.h"
#include "formats/knobs/tvm_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_UNROLL 16 /* of a loop that TVM annotates; more is an error in its schedules */

static const char *const annotations[] = {"none", "unroll", "vec", NULL};

static const char *const kinds[] = {[KNOB_SPLIT] = "sp",  [KNOB_INNER] = "re",      [KNOB_ORDER] = "re",
                                    [KNOB_UNROLL] = "an", [KNOB_UNROLL_VEC] = "an", [KNOB_OTHER] = "ot"};

static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
static const int inner[2][10] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 4, 5, 6, 9, 7, 8}};

int tvm_annotation(const struct tvm_knob *k, const cJSON *value, int i)
{
    const int n = k->kind == KNOB_UNROLL_VEC ? 3 : 2;
    const cJSON *word =
        cJSON_IsArray(value) && cJSON_GetArraySize(value) == k->n_parts ? cJSON_GetArrayItem(value, i) : NULL;

    for (int w = 0; cJSON_IsString(word) && w < n; w++)
        if (strcmp(word->valuestring, annotations[w]) == 0)
            return w;
    return -1;
}

/* Position of a knob by name; -1 when the task has none. */
static int find(const struct tvm_task *t, const char *name)
{
    for (int i = 0; t->knobs[i].name; i++)
        if (strcmp(t->knobs[i].name, name) == 0)
            return i;
    return -1;
}

static bool is_kind(const char *word)
{
    return strcmp(word, "sp") == 0 || strcmp(word, "re") == 0 || strcmp(word, "an") == 0 || strcmp(word, "ot") == 0;
}

/* The knob of one entity, or -1 with words. */
static int read_entity(const struct tvm_task *t, const cJSON *entity, struct why *why)
{
    const cJSON *name = cJSON_GetArrayItem(entity, 0), *kind = cJSON_GetArrayItem(entity, 1);
    int i;

    if (!cJSON_IsArray(entity) || cJSON_GetArraySize(entity) != 3 || !cJSON_IsString(name) || !cJSON_IsString(kind)) {
        why_set(why, ERR_INPUT, "an entity is not [name, kind, value]");
        return -1;
    }
    if (!is_kind(kind->valuestring)) {
        why_set(why, ERR_INPUT, "entity %.40s of unknown kind \"%.20s\": expected sp, re, an or ot", name->valuestring,
                kind->valuestring);
        return -1;
    }
    i = find(t, name->valuestring);
    if (i < 0)
        why_set(why, ERR_INPUT, "%s has no knob %.40s", t->name, name->valuestring);
    else if (strcmp(kind->valuestring, kinds[t->knobs[i].kind]) != 0) {
        why_set(why, ERR_INPUT, "entity %s of kind %s: expected %s", name->valuestring, kind->valuestring,
                kinds[t->knobs[i].kind]);
        i = -1;
    }
    return i;
}

/* Logs that list tile_rx before tile_ry hold the rows' split under tile_rx. */
static void swap_window(const struct tvm_task *t, const cJSON *entities, const cJSON *at[TVM_MAX_KNOBS])
{
    const int rx = find(t, "tile_rx"), ry = find(t, "tile_ry");
    const cJSON *entity;

    if (rx < 0 || ry < 0)
        return;
    cJSON_ArrayForEach(entity, entities)
    {
        if (entity == at[ry])
            return;
        if (entity == at[rx]) {
            at[rx] = at[ry];
            at[ry] = entity;
            return;
        }
    }
}

enum err tvm_match(const struct tvm_task *t, const cJSON *entities, const cJSON *at[TVM_MAX_KNOBS], struct why *why)
{
    const cJSON *entity;

    if (!cJSON_IsArray(entities))
        return why_set(why, ERR_INPUT, "config has no list of entities");
    memset(at, 0, TVM_MAX_KNOBS * sizeof *at);
    cJSON_ArrayForEach(entity, entities)
    {
        const int i = read_entity(t, entity, why);

        if (i < 0)
            return ERR_INPUT;
        assert(i < TVM_MAX_KNOBS);
        if (at[i])
            return why_set(why, ERR_INPUT, "entity %s twice", t->knobs[i].name);
        at[i] = entity;
    }
    for (int i = 0; t->knobs[i].name; i++)
        if (!at[i] && !t->knobs[i].extra)
            return why_set(why, ERR_INPUT, "%s without entity %s", t->name, t->knobs[i].name);
    swap_window(t, entities, at);
    return ERR_OK;
}

const struct tvm_knob *tvm_knob_at(const struct tvm_task *t, const cJSON *const at[TVM_MAX_KNOBS], const cJSON *entity)
{
    for (int i = 0; t->knobs[i].name; i++)
        if (at[i] == entity)
            return &t->knobs[i];
    return NULL;
}

/* A config under construction. */
struct choice {
    const struct tvm_task *t;
    const struct workload *w;
    const struct space *s;
    struct config c;
    struct why *why;
};

/* What a form lacks as a knob is a constant of its space; then that must be the value. */
static enum err choose(struct choice *h, const char *name, int64_t value)
{
    double constant;

    if (tvm_set(h->s, &h->c, name, value) ||
        (space_find_knob(h->s, name) < 0 && !space_eval(h->s, &h->c, name, &constant) && constant == (double)value))
        return ERR_OK;
    return why_set(h->why, ERR_UNSUPPORTED, "%s: %s=%lld is not in the space here", h->t->template_id, name,
                   (long long)value);
}

static enum err choose_split(struct choice *h, const struct tvm_knob *k, const cJSON *value)
{
    int64_t parts[TVM_MAX_PARTS];
    enum err e = tvm_split_parts(k, tvm_axis_length(h->t, h->w, k->axis), value, parts, h->why);

    for (int i = 1; !e && i < k->n_parts; i++)
        if (k->ours[i])
            e = choose(h, k->ours[i], parts[i]);
    return e;
}

static enum err choose_knob(struct choice *h, const struct tvm_knob *k, const cJSON *entity)
{
    const cJSON *value = cJSON_GetArrayItem(entity, 2);
    uint64_t position, n;
    enum err e = tvm_position(h->t, h->w, k, value, &position, &n, h->why); /* checks it, whatever follows */

    if (e || (k->kind != KNOB_SPLIT && !k->ours[0]))
        return e;
    switch (k->kind) {
    case KNOB_SPLIT:
        return choose_split(h, k, value);
    case KNOB_INNER:
    case KNOB_ORDER:
        return choose(h, k->ours[0], (int64_t)position);
    case KNOB_OTHER:
        return choose(h, k->ours[0], (int64_t)value->valuedouble);
    case KNOB_UNROLL:
    case KNOB_UNROLL_VEC:
        for (int i = 0; !e && i < k->n_parts; i++)
            e = choose(h, k->ours[i], tvm_annotation(k, value, i));
        return e;
    }
    return e;
}

static enum err choose_all(struct choice *h, const cJSON *const at[TVM_MAX_KNOBS])
{
    const char *violated = "";
    enum err e = ERR_OK;

    for (const struct tvm_fixed *f = h->t->fixed; !e && f->name; f++)
        e = choose(h, f->name, f->value);
    if (!e && h->t->winograd_rows)
        e = choose(h, "m", tvm_winograd_m(h->t, h->w));
    for (int i = 0; !e && h->t->knobs[i].name; i++)
        if (at[i])
            e = choose_knob(h, &h->t->knobs[i], at[i]);
    if (e)
        return e;
    if (h->t->settle)
        h->t->settle(h->s, &h->c);
    if (!space_is_valid(h->s, &h->c, &violated))
        return why_set(h->why, ERR_UNSUPPORTED, "%s: no valid config here: %s", h->t->template_id, violated);
    return ERR_OK;
}

enum err tvm_knobs(const struct tvm_task *t, const struct workload *w, const struct device_desc *d,
                   const cJSON *entities, cJSON **out, struct why *why)
{
    const struct template *tp = tvm_task_template(t);
    const cJSON *at[TVM_MAX_KNOBS];
    struct choice h = {.t = t, .w = w, .why = why};
    struct space *s = NULL;
    enum err e = tvm_match(t, entities, at, why);

    if (!e && tp->fit(w, d, why) == FIT_NONE)
        e = ERR_UNSUPPORTED;
    if (!e)
        e = template_space(tp, w, d, &s, why);
    h.s = s;
    if (!e)
        e = choose_all(&h, at);
    if (!e) {
        *out = space_config_to_json(s, &h.c);
        e = *out ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    }
    space_free(s);
    return e;
}

/* Writing. A number of our config; false when it has none of that name. */
static bool number_of(const cJSON *knobs, const char *name, int64_t *out)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(knobs, name);

    if (!cJSON_IsNumber(v))
        return false;
    *out = (int64_t)v->valuedouble;
    return true;
}

struct writing {
    const struct tvm_task *t;
    const struct workload *w;
    const cJSON *knobs;
    struct why *why;
};

static enum err lacks(const struct writing *h, const char *name)
{
    return why_set(h->why, ERR_INPUT, "%s: the config has no number %s", h->t->template_id, name);
}

/* -1 and the inner parts. A knob that the form lacks is whole: the window, staged at once. */
static enum err split_value(const struct writing *h, const struct tvm_knob *k, cJSON *list)
{
    const int64_t length = tvm_axis_length(h->t, h->w, k->axis);
    int64_t tile = 1, part;

    for (int i = 0; i < k->n_parts; i++) {
        part = i ? 1 : -1;
        if (k->ours[i] && !number_of(h->knobs, k->ours[i], &part))
            return lacks(h, k->ours[i]);
        if (part < -1 || part == 0 || __builtin_mul_overflow(tile, i ? part : 1, &tile))
            return lacks(h, k->ours[i]);
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)part));
    }
    if (length % tile || (k->most && tile > k->most))
        return why_set(h->why, ERR_UNSUPPORTED, "%s: tiles of %lld on an axis of %lld; TVM's %s divides it%s",
                       h->t->name, (long long)tile, (long long)length, k->name, k->most ? ", up to a limit" : "");
    return ERR_OK;
}

static enum err list_value(const struct writing *h, const struct tvm_knob *k, cJSON *list)
{
    const int n = k->kind == KNOB_ORDER ? 3 : 10;
    int64_t at = 0;

    if (!number_of(h->knobs, k->ours[0], &at) || at < 0 || at >= (k->kind == KNOB_ORDER ? 6 : 2))
        return lacks(h, k->ours[0]);
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(k->kind == KNOB_ORDER ? orders[at][i] : inner[at][i]));
    return ERR_OK;
}

static int64_t loop_length(const struct writing *h, const char *name)
{
    int64_t n = 1;

    if (strcmp(name, "r") == 0 || strcmp(name, "s") == 0)
        return workload_get(h->w, name);
    return number_of(h->knobs, name, &n) ? n : 1;
}

static enum err annotation_value(const struct writing *h, const struct tvm_knob *k, cJSON *list)
{
    for (int i = 0; i < k->n_parts; i++) {
        const int64_t n = loop_length(h, k->length[i]);
        int64_t word = 0;

        if (!number_of(h->knobs, k->ours[i], &word) || word < 0 || word > 2)
            return lacks(h, k->ours[i]);
        if (word && n > MAX_UNROLL)
            return why_set(h->why, ERR_UNSUPPORTED, "%s=%lld on a loop of %lld; TVM unrolls up to %d", k->ours[i],
                           (long long)word, (long long)n, MAX_UNROLL);
        cJSON_AddItemToArray(list, cJSON_CreateString(annotations[word]));
    }
    return ERR_OK;
}

static enum err knob_value(const struct writing *h, const struct tvm_knob *k, cJSON **out)
{
    int64_t number = k->values[0];
    enum err e = ERR_OK;

    if (k->kind == KNOB_OTHER) {
        if (k->ours[0] && !number_of(h->knobs, k->ours[0], &number))
            return lacks(h, k->ours[0]);
        *out = cJSON_CreateNumber((double)number);
    } else {
        *out = cJSON_CreateArray();
        e = k->kind == KNOB_SPLIT                            ? split_value(h, k, *out)
            : k->kind == KNOB_ORDER || k->kind == KNOB_INNER ? list_value(h, k, *out)
                                                             : annotation_value(h, k, *out);
    }
    if (e) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return e || *out ? e : ERR_NOMEM;
}

/* Of the knobs that TVM 0.9 does not declare only values that say something. */
static bool is_left_out(const struct writing *h, const struct tvm_knob *k)
{
    int64_t at = 0;

    return k->extra && (!number_of(h->knobs, k->ours[0], &at) || at == 0);
}

static enum err write_knob(const struct writing *h, const struct tvm_knob *k, cJSON *entities)
{
    cJSON *entity, *value = NULL;
    uint64_t position, n;
    enum err e = knob_value(h, k, &value);

    if (!e)
        e = tvm_position(h->t, h->w, k, value, &position, &n, h->why);
    if (e) {
        cJSON_Delete(value);
        return e == ERR_INPUT ? ERR_UNSUPPORTED : e;
    }
    entity = cJSON_CreateArray();
    cJSON_AddItemToArray(entity, cJSON_CreateString(k->name));
    cJSON_AddItemToArray(entity, cJSON_CreateString(kinds[k->kind]));
    cJSON_AddItemToArray(entity, value);
    return cJSON_AddItemToArray(entities, entity) && cJSON_GetArraySize(entity) == 3 ? ERR_OK : ERR_NOMEM;
}

/* Our knobs that TVM has none for have the value of TVM's kernel, or make no difference to it. */
static enum err check_fixed(const struct writing *h)
{
    int64_t v;

    for (const struct tvm_fixed *f = h->t->fixed; f->name; f++)
        if (f->refused && number_of(h->knobs, f->name, &v) && v != f->value)
            return why_set(h->why, ERR_UNSUPPORTED, "%s: %s=%lld; %s", h->t->name, f->name, (long long)v, f->refused);
    if (h->t->winograd_rows && number_of(h->knobs, "m", &v) && v != tvm_winograd_m(h->t, h->w))
        return why_set(h->why, ERR_UNSUPPORTED, "%s: m=%lld; TVM takes m=%lld for h=%lld", h->t->name, (long long)v,
                       (long long)tvm_winograd_m(h->t, h->w), (long long)workload_get(h->w, "h"));
    return ERR_OK;
}

enum err tvm_entities(const struct tvm_task *t, const struct workload *w, const cJSON *knobs, cJSON **out,
                      struct why *why)
{
    cJSON *list = cJSON_CreateArray(), *own = cJSON_Duplicate(knobs, true);
    const struct writing h = {t, w, own, why};
    enum err e = list && own ? check_fixed(&h) : ERR_NOMEM;

    if (!e && t->express)
        e = t->express(own, why);

    for (const struct tvm_knob *k = t->knobs; !e && k->name; k++)
        if (!is_left_out(&h, k))
            e = write_knob(&h, k, list);
    cJSON_Delete(own);
    if (e) {
        cJSON_Delete(list);
        return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : e;
    }
    *out = list;
    return ERR_OK;
}
