/* SPDX-License-Identifier: MIT */
#include "tuner/job.h"

#include "core/vec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void job_init(struct job *j)
{
    *j = (struct job){.trials = 100,
                      .strategy = "auto",
                      .timing = {.rounds = 5, .rounds_near_best = 9, .min_calls = 3, .warmup = 1, .min_slot_ms = 5},
                      .build_s = 60,
                      .run_s = 10,
                      .memory_bytes = (int64_t)2 << 30};
    blobs_init(&j->spec_files, (size_t)1 << 30);
}

void job_fini(struct job *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->n_layers; i++) {
        free(j->layers[i].workload);
        free(j->layers[i].name);
    }
    free(j->layers);
    free(j->spec);
    free(j->command);
    j->spec = j->command = NULL;
    blobs_fini(&j->spec_files);
    j->layers = NULL;
    j->n_layers = j->cap_layers = 0;
}

enum err job_add_layer(struct job *j, const char *workload, const char *name, int64_t count)
{
    struct job_layer l = {.count = count};

    const enum err e = VEC_ROOM(j->layers, j->cap_layers, j->n_layers + 1, JOB_MAX_LAYERS);

    if (e)
        return e;
    l.workload = strdup(workload);
    l.name = strdup(name ? name : "");
    if (!l.workload || !l.name) {
        free(l.workload);
        free(l.name);
        return ERR_NOMEM;
    }
    j->layers[j->n_layers++] = l;
    return ERR_OK;
}

static cJSON *layers_json(const struct job *j, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < j->n_layers; i++) {
        cJSON *o = cJSON_CreateObject();

        json_add_text(o, "workload", j->layers[i].workload, ok);
        json_add_text(o, "name", j->layers[i].name, ok);
        json_add_i64(o, "count", j->layers[i].count, ok);
        json_add_i64(o, "trials", j->layers[i].trials, ok);
        if (!cJSON_AddItemToArray(list, o)) {
            cJSON_Delete(o);
            *ok = false;
        }
    }
    return list;
}

static cJSON *timing_json(const struct job_timing *t, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    json_add_i64(o, "rounds", t->rounds, ok);
    json_add_i64(o, "rounds_near_best", t->rounds_near_best, ok);
    json_add_i64(o, "min_calls", t->min_calls, ok);
    json_add_i64(o, "warmup", t->warmup, ok);
    json_add_real(o, "min_slot_ms", t->min_slot_ms, ok);
    return o;
}

enum err job_text(const struct job *j, struct buf *out)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;
    enum err e;

    json_add_i64(o, "schema", JOB_SCHEMA, &ok);
    json_add_item(o, "layers", layers_json(j, &ok), &ok);
    json_add_text(o, "network", j->network, &ok);
    json_add_text(o, "templates", j->templates, &ok);
    json_add_text(o, "key", j->key, &ok);
    json_add_text(o, "replay", j->replay, &ok);
    if (j->spec)
        json_add_text(o, "spec", j->spec, &ok);
    json_add_i64(o, "trials", j->trials, &ok);
    json_add_real(o, "time_s", j->time_s, &ok);
    json_add_i64(o, "early_stopping", j->early_stopping, &ok);
    json_add_real(o, "target_gflops", j->target_gflops, &ok);
    json_add_real(o, "target_ns", j->target_ns, &ok);
    json_add_real(o, "min_gain", j->min_gain, &ok);
    json_add_text(o, "strategy", j->strategy, &ok);
    if (*j->objective)
        json_add_text(o, "objective", j->objective, &ok);
    if (j->plain)
        json_add_text(o, "exactness", "plain", &ok);
    json_add_i64(o, "seed", j->seed, &ok);
    if (j->data_seed)
        json_add_i64(o, "data_seed", j->data_seed, &ok);
    json_add_item(o, "timing", timing_json(&j->timing, &ok), &ok);
    json_add_real(o, "build_s", j->build_s, &ok);
    json_add_real(o, "run_s", j->run_s, &ok);
    json_add_i64(o, "memory_bytes", j->memory_bytes, &ok);
    e = ok ? json_print(o, out) : ERR_NOMEM;
    cJSON_Delete(o);
    return e;
}

static enum err copy_text(const cJSON *o, const char *name, char *out, size_t n_out, struct why *why)
{
    const char *text;
    enum err e = json_text_or(o, name, "", &text, why);

    if (e)
        return e;
    if (strlen(text) >= n_out)
        return why_set(why, ERR_LIMIT, "job: \"%s\" is longer than %zu bytes", name, n_out - 1);
    memcpy(out, text, strlen(text) + 1);
    return ERR_OK;
}

static enum err parse_layers(const cJSON *o, struct job *out, struct why *why)
{
    const cJSON *list, *item;
    enum err e = json_get_array(o, "layers", &list, why);

    for (item = e ? NULL : list->child; item && !e; item = item->next) {
        const char *workload = NULL, *name = NULL;
        int64_t count = 1, trials = 0;

        e = json_get_text(item, "workload", &workload, why);
        if (!e)
            e = json_text_or(item, "name", "", &name, why);
        if (!e)
            e = json_i64_or(item, "count", 1, 1, 1000000, &count, why);
        if (!e)
            e = json_i64_or(item, "trials", 0, 0, JOB_MAX_TRIALS, &trials, why);
        if (!e && (e = job_add_layer(out, workload, name, count)))
            why_set(why, e, "job: %s (at most %d layers)", err_words(e), JOB_MAX_LAYERS);
        if (!e)
            out->layers[out->n_layers - 1].trials = trials;
    }
    return e;
}

static enum err parse_timing(const cJSON *o, struct job_timing *t, struct why *why)
{
    const cJSON *timing;
    enum err e = json_get_object(o, "timing", &timing, why);

    if (!e)
        e = json_get_i64(timing, "rounds", 1, 64, &t->rounds, why);
    if (!e)
        e = json_get_i64(timing, "rounds_near_best", 1, 64, &t->rounds_near_best, why);
    if (!e)
        e = json_get_i64(timing, "min_calls", 1, 1000000, &t->min_calls, why);
    if (!e)
        e = json_get_i64(timing, "warmup", 0, 1000, &t->warmup, why);
    if (!e)
        e = json_get_real(timing, "min_slot_ms", &t->min_slot_ms, why);
    return e;
}

static enum err parse_numbers(const cJSON *o, struct job *out, struct why *why)
{
    enum err e = json_get_i64(o, "trials", 1, JOB_MAX_TRIALS, &out->trials, why);

    if (!e)
        e = json_get_real(o, "time_s", &out->time_s, why);
    if (!e)
        e = json_get_i64(o, "early_stopping", 0, 1000000, &out->early_stopping, why);
    if (!e)
        e = json_real_or(o, "target_gflops", 0, &out->target_gflops, why);
    if (!e)
        e = json_real_or(o, "target_ns", 0, &out->target_ns, why);
    if (!e)
        e = json_real_or(o, "min_gain", 0, &out->min_gain, why);
    if (!e)
        e = json_get_i64(o, "seed", 0, JSON_EXACT_MAX, &out->seed, why);
    if (!e)
        e = json_i64_or(o, "data_seed", 0, 0, UINT32_MAX, &out->data_seed, why);
    if (!e)
        e = json_get_real(o, "build_s", &out->build_s, why);
    if (!e)
        e = json_get_real(o, "run_s", &out->run_s, why);
    if (!e)
        e = json_get_i64(o, "memory_bytes", 1, JSON_EXACT_MAX, &out->memory_bytes, why);
    return e;
}

/* A kernel of the job's own is the one layer's. */
static enum err parse_spec(const cJSON *o, struct job *out, struct why *why)
{
    const char *text = NULL;
    enum err e = json_text_or(o, "spec", "", &text, why);

    if (e || !*text)
        return e;
    if (out->n_layers != 1)
        return why_set(why, ERR_INPUT, "job: \"spec\" goes with one layer");
    out->spec = strdup(text);
    return out->spec ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

static enum err parse_exactness(const cJSON *o, struct job *out, struct why *why)
{
    const char *text = NULL;
    const enum err e = json_text_or(o, "exactness", "any", &text, why);

    if (e)
        return e;
    out->plain = strcmp(text, "plain") == 0;
    if (!out->plain && strcmp(text, "any") != 0)
        return why_set(why, ERR_INPUT, "job: \"exactness\": expected any or plain");
    return ERR_OK;
}

static enum err parse_texts(const cJSON *o, struct job *out, struct why *why)
{
    enum err e = copy_text(o, "network", out->network, sizeof out->network, why);

    if (!e)
        e = copy_text(o, "templates", out->templates, sizeof out->templates, why);
    if (!e)
        e = copy_text(o, "key", out->key, sizeof out->key, why);
    if (!e)
        e = copy_text(o, "replay", out->replay, sizeof out->replay, why);
    if (!e)
        e = copy_text(o, "strategy", out->strategy, sizeof out->strategy, why);
    if (!e)
        e = copy_text(o, "objective", out->objective, sizeof out->objective, why);
    if (!e)
        e = parse_exactness(o, out, why);
    return e;
}

enum err job_parse(const char *text, size_t n, struct job *out, struct why *why)
{
    cJSON *o = NULL;
    struct job j;
    int64_t schema = 0;
    enum err e = json_parse(text, n, &o, why);

    job_init(&j);
    if (!e)
        e = json_get_i64(o, "schema", 1, JSON_EXACT_MAX, &schema, why);
    if (!e && schema != JOB_SCHEMA)
        e = why_set(why, ERR_INPUT, "job: schema %lld, this tune knows %d", (long long)schema, JOB_SCHEMA);
    if (!e)
        e = parse_layers(o, &j, why);
    if (!e)
        e = parse_spec(o, &j, why);
    if (!e)
        e = parse_texts(o, &j, why);
    if (!e)
        e = parse_numbers(o, &j, why);
    if (!e)
        e = parse_timing(o, &j.timing, why);
    cJSON_Delete(o);
    if (e)
        job_fini(&j);
    else
        *out = j;
    return e;
}

int64_t job_trials(const struct job *j, size_t i)
{
    return i < j->n_layers && j->layers[i].trials > 0 ? j->layers[i].trials : j->trials;
}

bool job_shares_budget(const struct job *j)
{
    for (size_t i = 0; i < j->n_layers; i++)
        if (j->layers[i].trials > 0)
            return false;
    return j->network[0] && j->n_layers > 1;
}

/* The next number of a list, *text behind it and its comma; 0 = there is none. */
static int64_t next_number(const char **text)
{
    char *end;
    long long n;

    if (!isdigit((unsigned char)**text))
        return 0;
    n = strtoll(*text, &end, 10);
    if ((*end != ',' || !end[1]) && *end)
        return 0;
    *text = end + (*end == ',');
    return n <= JOB_MAX_TRIALS ? n : 0;
}

enum err job_check_device(const struct job *j, const struct device_desc *device, struct why *why)
{
    if (j->replay[0] || strcmp(device->api, "replay") != 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED,
                   "the device is a recording (%s) and measures no workload; --device replay:FILE searches its space",
                   device->platform);
}

enum err job_set_trials(struct job *j, const char *text, struct why *why)
{
    int64_t numbers[JOB_MAX_LAYERS];
    const char *p = text;
    size_t n = 0;

    do {
        if (n == JOB_MAX_LAYERS || (numbers[n] = next_number(&p)) < 1)
            return why_set(why, ERR_INPUT,
                           "--trials %s: expected a number from 1 to %d, or one for each workload: 60,40", text,
                           JOB_MAX_TRIALS);
        n++;
    } while (*p);
    if (n > 1 && j->n_layers < 2)
        return why_set(why, ERR_INPUT, "--trials %s: expected one number, as there is one workload", text);
    if (n > 1 && n != j->n_layers)
        return why_set(why, ERR_INPUT, "--trials %s: expected one number for all workloads, or one for each of the %zu",
                       text, j->n_layers);
    j->trials = numbers[0];
    for (size_t i = 0; i < j->n_layers; i++)
        j->layers[i].trials = n > 1 ? numbers[i] : 0;
    return ERR_OK;
}

bool job_list_has(const char *list, const char *id)
{
    const size_t n = strlen(id);
    const char *p = list;

    while (*p) {
        const size_t len = strcspn(p, ",");

        if (len == n && strncmp(p, id, n) == 0)
            return true;
        p += len + (p[len] == ',');
    }
    return false;
}

const char *job_exactness_at(size_t i)
{
    static const char *const names[] = {"any", "plain", NULL};

    return names[i];
}

const char *job_objective_at(size_t i)
{
    static const char *const names[] = {"time", "energy", "edp", NULL};

    return names[i];
}
