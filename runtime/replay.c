/* SPDX-License-Identifier: MIT */
/* replay.c - a recorded, fully measured space answers as a device would. X.json says what was recorded (space, device,
 * params), X.csv.gz or X.csv beside it has one row for each config: its knobs, status, time_ms, cost_ms, compile_ms.
 * TUNE_REPLAY_DELAY=real makes load() sleep for the recorded cost, TUNE_REPLAY_SPEED times faster. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/csvz.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "runtime/device.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON_BYTES ((size_t)4 << 20)
#define MAX_KNOBS 48

struct device {
    struct device_desc desc;
    struct csvz table;
    size_t knob_columns[MAX_KNOBS];
    size_t n_knobs;
    double *keys;                             /* row-major [n_rows][n_knobs]; NAN for words */
    int status, time_ms, cost_ms, compile_ms; /* columns; -1 when missing */
    double delay;                             /* factor on the recorded cost; 0 = no delay */
};

struct loaded {
    bool fails; /* recorded as a failure at run time */
    int64_t time_ns;
};

static enum err replay_list(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                            struct why *why)
{
    (void)each;
    (void)arg;
    return why_set(why, ERR_NOT_FOUND, "recorded spaces are not listed: give one as replay:FILE.json");
}

static void replay_close(struct device *d)
{
    if (!d)
        return;
    csvz_fini(&d->table);
    free(d->keys);
    free(d);
}

/* The two paths of a recording from either of them. */
static enum err paths_of(const char *selector, char json[PATH_MAX], char table[PATH_MAX], struct why *why)
{
    static const char *const tails[] = {".json", ".csv.gz", ".csv"};
    size_t n = strlen(selector);

    if (n == 0)
        return why_set(why, ERR_INPUT, "expected replay:FILE.json, a recorded space");
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (n > strlen(tails[i]) && strcmp(selector + n - strlen(tails[i]), tails[i]) == 0) {
            n -= strlen(tails[i]);
            break;
        }
    if (n + sizeof ".csv.gz" > PATH_MAX)
        return why_set(why, ERR_INPUT, "the path of the recorded space is too long");
    snprintf(json, PATH_MAX, "%.*s.json", (int)n, selector);
    snprintf(table, PATH_MAX, "%.*s.csv.gz", (int)n, selector);
    if (access(table, R_OK) != 0)
        snprintf(table, PATH_MAX, "%.*s.csv", (int)n, selector);
    return ERR_OK;
}

static enum err read_params(struct device *d, const cJSON *o, struct why *why)
{
    const cJSON *params = NULL, *item;
    enum err e = json_get_array(o, "params", &params, why);

    if (e)
        return e;
    cJSON_ArrayForEach(item, params)
    {
        const char *name = NULL;
        int column;

        e = json_get_text(item, "name", &name, why);
        if (e)
            return e;
        column = csvz_column(&d->table, name);
        if (column < 0 || d->n_knobs == MAX_KNOBS)
            return why_set(why, ERR_INPUT, "parameter '%.40s' is no column of the table, or there are over %d", name,
                           MAX_KNOBS);
        d->knob_columns[d->n_knobs++] = (size_t)column;
    }
    return ERR_OK;
}

static enum err read_names(struct device *d, const cJSON *o, struct why *why)
{
    const char *space = NULL, *name = NULL, *source = "";
    enum err e = json_get_text(o, "space", &space, why);

    if (!e)
        e = json_get_text(o, "device", &name, why);
    if (!e)
        e = json_text_or(o, "source_sha256", "", &source, why);
    if (e)
        return e;
    d->desc = (struct device_desc){.api = "replay", .kind = DEVICE_GPU};
    snprintf(d->desc.platform, sizeof d->desc.platform, "recorded %s", space);
    snprintf(d->desc.platform_version, sizeof d->desc.platform_version, "%s", source);
    snprintf(d->desc.name, sizeof d->desc.name, "%s", name);
    return ERR_OK;
}

static enum err read_json(const char *path, cJSON **out, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, JSON_BYTES);
    e = file_read(path, &text, why);
    if (!e) {
        e = json_parse(buf_text(&text), text.len, out, why);
        if (e)
            why_prefix(why, e, "%s", path);
    }
    buf_fini(&text);
    return e;
}

/* Both files of a recording, first the one that people name. */
static enum err read_files(struct device *d, const char *json, const char *table, struct why *why)
{
    cJSON *o = NULL;
    enum err e = read_json(json, &o, why), bad;

    if (!e)
        e = csvz_read(table, &d->table, why);
    if (!e) {
        bad = read_names(d, o, why);
        if (!bad)
            bad = read_params(d, o, why);
        e = bad ? why_prefix(why, bad, "%s", json) : ERR_OK;
    }
    cJSON_Delete(o);
    return e;
}

/* Knob values of all rows as numbers, so that a lookup is a plain scan. */
static enum err index_rows(struct device *d, const char *path, struct why *why)
{
    d->status = csvz_column(&d->table, "status");
    d->time_ms = csvz_column(&d->table, "time_ms");
    d->cost_ms = csvz_column(&d->table, "cost_ms");
    d->compile_ms = csvz_column(&d->table, "compile_ms");
    if (d->status < 0 || d->time_ms < 0)
        return why_set(why, ERR_INPUT, "%s: expected the columns status and time_ms", path);
    d->keys = malloc((d->table.n_rows * d->n_knobs + 1) * sizeof *d->keys);
    if (!d->keys)
        return ERR_NOMEM;
    for (size_t i = 0; i < d->table.n_rows; i++)
        for (size_t k = 0; k < d->n_knobs; k++)
            d->keys[i * d->n_knobs + k] = csvz_number(&d->table, i, d->knob_columns[k]);
    return ERR_OK;
}

static double delay_factor(void)
{
    const char *delay = getenv("TUNE_REPLAY_DELAY"), *speed = getenv("TUNE_REPLAY_SPEED");
    const double v = speed ? strtod(speed, NULL) : 1;

    if (!delay || strcmp(delay, "real") != 0)
        return 0;
    return v > 0 ? 1 / v : 1;
}

static enum err replay_open(const char *selector, struct device **out, struct why *why)
{
    char json[PATH_MAX], table[PATH_MAX];
    struct device *d = calloc(1, sizeof *d);
    enum err e = d ? paths_of(selector, json, table, why) : ERR_NOMEM;

    if (!e)
        e = read_files(d, json, table, why);
    if (!e)
        e = index_rows(d, table, why);
    if (e) {
        replay_close(d);
        return e;
    }
    d->delay = delay_factor();
    *out = d;
    return ERR_OK;
}

static const struct device_desc *replay_describe(const struct device *d)
{
    return &d->desc;
}

static bool cell_matches(const struct device *d, size_t i_row, size_t k, const cJSON *knob)
{
    if (cJSON_IsNumber(knob))
        return d->keys[i_row * d->n_knobs + k] == knob->valuedouble;
    return cJSON_IsString(knob) && strcmp(csvz_text(&d->table, i_row, d->knob_columns[k]), knob->valuestring) == 0;
}

/* The row of a config: every recorded parameter must be among the knobs. */
static enum err find_row(const struct device *d, const cJSON *knobs, size_t *out, struct why *why)
{
    const cJSON *wanted[MAX_KNOBS];

    assert(d->n_knobs <= MAX_KNOBS);
    for (size_t k = 0; k < d->n_knobs; k++) {
        const char *name = d->table.cells[d->knob_columns[k]];

        wanted[k] = cJSON_GetObjectItemCaseSensitive(knobs, name);
        if (!wanted[k])
            return why_set(why, ERR_LIMITS, "knob '%s' of the recorded space is missing", name);
    }
    for (size_t i = 0; i < d->table.n_rows; i++) {
        size_t k = 0;

        while (k < d->n_knobs && cell_matches(d, i, k, wanted[k]))
            k++;
        if (k == d->n_knobs) {
            *out = i;
            return ERR_OK;
        }
    }
    return why_set(why, ERR_LIMITS, "config is not in the recorded space");
}

/* A recorded time in ns; 0 when there is none. */
static int64_t recorded_ns(const struct device *d, size_t i_row, int column)
{
    const double ms = column >= 0 ? csvz_number(&d->table, i_row, (size_t)column) : NAN;

    return ms > 0 && ms < 1e12 ? (int64_t)(ms * 1e6) : 0;
}

static enum err replay_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                            struct loaded **out, struct load_report *report, struct why *why)
{
    struct loaded *l;
    const char *status;
    size_t i_row = 0;
    enum err e = find_row(d, p->knobs, &i_row, why);

    (void)blobs;
    (void)cache_dir;
    if (report)
        *report = (struct load_report){.build_ns = e ? 0 : recorded_ns(d, i_row, d->compile_ms)};
    if (e)
        return e;
    if (d->delay > 0)
        clock_sleep_ms((int64_t)((double)recorded_ns(d, i_row, d->cost_ms) * d->delay / 1e6));
    assert(i_row < d->table.n_rows);
    status = csvz_text(&d->table, i_row, (size_t)d->status);
    if (strcmp(status, "compile") == 0)
        return why_set(why, ERR_COMPILE, "recorded as not compiling");
    l = calloc(1, sizeof *l);
    if (!l)
        return ERR_NOMEM;
    l->time_ns = recorded_ns(d, i_row, d->time_ms);
    l->fails = strcmp(status, "ok") != 0 || l->time_ns == 0;
    *out = l;
    return ERR_OK;
}

static void replay_unload(struct loaded *l)
{
    free(l);
}

static enum err replay_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                           struct why *why)
{
    const int64_t ns = phase == PHASE_RUN ? l->time_ns : 0;

    if (phase == PHASE_RUN && l->fails)
        return why_set(why, ERR_DEVICE, "recorded as failing at run time");
    if (device_ns)
        *device_ns = ns;
    if (wall_ns)
        *wall_ns = ns;
    return ERR_OK;
}

static enum err replay_write(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    (void)l;
    (void)i_buffer;
    (void)data;
    (void)why;
    return ERR_OK;
}

static enum err replay_read(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    (void)l;
    (void)i_buffer;
    (void)data;
    return why_set(why, ERR_UNSUPPORTED, "a recorded device has no buffers");
}

const struct device_ops replay_device_ops = {
    .name = "replay",
    .summary = "recorded spaces: replay:FILE.json with FILE.csv.gz beside it",
    .list = replay_list,
    .open = replay_open,
    .close = replay_close,
    .describe = replay_describe,
    .load = replay_load,
    .unload = replay_unload,
    .run = replay_run,
    .write = replay_write,
    .read = replay_read,
    .simulated = true,
};
