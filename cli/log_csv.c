/* SPDX-License-Identifier: MIT */
/* log_csv.c - `tune log csv`: records as rows of a table, a column for each knob. */
#include "cli/log.h"
#include "core/buf.h"
#include "core/csvz.h"
#include "core/file.h"
#include "core/json.h"
#include "core/vec.h"
#include "logs/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KNOBS 1024
#define MAX_BYTES ((size_t)2 << 30)

static const struct cli_option options[] = {OPT_OUTPUT_FILE, CLI_END};

/* A table under way: the first pass finds the knobs, the second writes. */
struct table {
    char **knobs;
    size_t n_knobs, cap;
    int64_t n;
    struct buf out;
    enum err failed;
};

static void put_number(struct buf *out, double v)
{
    char text[40];

    if (!isfinite(v))
        return;
    snprintf(text, sizeof text, "%.15g", v);
    if (strtod(text, NULL) != v) /* the shortest that reads back as it was */
        snprintf(text, sizeof text, "%.17g", v);
    buf_puts(out, text);
}

/* ---- columns ---- */

static const char *name_of_id(const struct record *r)
{
    return r->id;
}

static const char *name_of_job(const struct record *r)
{
    return r->job;
}

static const char *name_of_purpose(const struct record *r)
{
    return r->purpose;
}

static const char *name_of_workload(const struct record *r)
{
    return r->workload;
}

static const char *name_of_template(const struct record *r)
{
    return r->template_id;
}

static const char *name_of_status(const struct record *r)
{
    return status_name(r->status);
}

static const char *name_of_why(const struct record *r)
{
    return r->why;
}

static const char *name_of_strategy(const struct record *r)
{
    return r->proposed_by;
}

static const char *name_of_key(const struct record *r)
{
    return r->key;
}

static const char *name_of_agent(const struct record *r)
{
    return r->agent;
}

static const struct word_column {
    const char *name;
    const char *(*of)(const struct record *r);
} words[] = {{"id", name_of_id},
             {"job", name_of_job},
             {"purpose", name_of_purpose},
             {"workload", name_of_workload},
             {"template", name_of_template},
             {"status", name_of_status},
             {"why", name_of_why},
             {"proposed_by", name_of_strategy},
             {"key", name_of_key},
             {"agent", name_of_agent}};

static const struct number_column {
    const char *name;
    size_t offset; /* of a double */
} numbers[] = {{"time_ns", offsetof(struct record, time_ns)},
               {"lnratio", offsetof(struct record, lnratio)},
               {"se", offsetof(struct record, se)},
               {"flops", offsetof(struct record, flops)},
               {"build_ms", offsetof(struct record, build_ms)},
               {"verify_ms", offsetof(struct record, verify_ms)},
               {"device_ms", offsetof(struct record, device_ms)}};

/* ---- passes ---- */

static bool find_knobs(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct table *t = arg;
    const cJSON *knob;

    (void)line;
    (void)n_line;
    cJSON_ArrayForEach(knob, r->knobs)
    {
        size_t i = 0;

        while (i < t->n_knobs && strcmp(t->knobs[i], knob->string) != 0)
            i++;
        if (i < t->n_knobs || t->failed)
            continue;
        t->failed = VEC_ROOM(t->knobs, t->cap, t->n_knobs + 1, MAX_KNOBS);
        if (!t->failed && !(t->knobs[t->n_knobs] = strdup(knob->string)))
            t->failed = ERR_NOMEM;
        t->n_knobs += !t->failed;
    }
    return !t->failed;
}

static void put_head(struct table *t)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        buf_printf(&t->out, "%s,", words[i].name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        buf_printf(&t->out, "%s,", numbers[i].name);
    buf_puts(&t->out, "ts");
    for (size_t i = 0; i < t->n_knobs; i++) {
        buf_puts(&t->out, ",");
        csvz_put(&t->out, t->knobs[i]);
    }
    buf_puts(&t->out, "\n");
}

static bool put_row(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct table *t = arg;

    (void)line;
    (void)n_line;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = words[i].of(r);

        csvz_put(&t->out, word ? word : "");
        buf_puts(&t->out, ",");
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put_number(&t->out, *(const double *)((const char *)r + numbers[i].offset));
        buf_puts(&t->out, ",");
    }
    buf_printf(&t->out, "%" PRId64, r->ts_ms);
    for (size_t i = 0; i < t->n_knobs; i++) {
        const cJSON *knob = cJSON_GetObjectItemCaseSensitive(r->knobs, t->knobs[i]);

        buf_puts(&t->out, ",");
        if (cJSON_IsString(knob))
            csvz_put(&t->out, knob->valuestring);
        else if (knob)
            put_number(&t->out, knob->valuedouble);
    }
    buf_puts(&t->out, "\n");
    t->n++;
    return !t->out.failed;
}

static enum err pass(const struct cli *c, struct table *t,
                     bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                     struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < c->n_rest && !e; i++) {
        e = convert_scan(c->rest[i], NULL, each, warn, t, why);
        if (!e && (t->failed || t->out.failed))
            e = why_set(why, t->failed ? t->failed : t->out.failed, "the table: %s",
                        err_words(t->failed ? t->failed : t->out.failed));
    }
    return e;
}

static void say_nothing(const char *path, int64_t i_line, const char *text, void *arg)
{
    (void)path;
    (void)i_line;
    (void)text;
    (void)arg;
}

static enum err write_table(const struct cli *c, struct table *t, const char *path, struct why *why)
{
    enum err e = pass(c, t, find_knobs, cmd_log_warning, why);

    put_head(t);
    if (!e)
        e = pass(c, t, put_row, say_nothing, why);
    if (!e && t->n == 0)
        e = why_set(why, ERR_INPUT, "%s has no record: nothing was written", c->rest[0]);
    return e ? e : log_write(path, &t->out, why);
}

static int run(const struct cli *c)
{
    struct table t = {.n = 0};
    struct why why = {""};
    const char *path = NULL;
    enum err e = log_need(c, INT16_MAX, "conv.jsonl", &why);

    buf_init(&t.out, MAX_BYTES);
    if (!e)
        e = log_output(c, &path, &why);
    if (!e)
        e = write_table(c, &t, path, &why);
    buf_fini(&t.out);
    while (t.n_knobs)
        free(t.knobs[--t.n_knobs]);
    free(t.knobs);
    if (e)
        return cmd_fail(e, &why);
    fprintf(log_summary(path), "%s: %" PRId64 " rows\n", path, t.n);
    return EXIT_FINE;
}

const struct command cmd_log_csv = {
    .name = "csv",
    .summary = "records as a table for spreadsheets and data frames, a column for each knob",
    .usage = "log csv LOG... -o FILE.csv",
    .example = "tune log csv conv.jsonl -o conv.csv",
    .options = options,
    .run = run,
};
