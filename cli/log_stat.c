/* SPDX-License-Identifier: MIT */
/* log_stat.c - `tune log stat`: what logs hold, counted. */
#include "cli/log.h"
#include "core/buf.h"
#include "core/cli.h"
#include "core/json.h"
#include "core/map.h"
#include "core/mix.h"
#include "core/terminal.h"
#include "core/vec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct cli_option options[] = {
    OPT_JSON,
    CLI_OPTION("plot", CLI_FLAG, .help = "draw the best time so far of each search, too, here in the terminal"),
    CLI_END,
};

/* A text and how often it came. */
struct count {
    char *text;
    int64_t n, n_ok;
    double best_ns;
    enum record_proof proof; /* of the best */
};

/* Counts of one member. */
struct counts {
    const char *name;
    struct count *rows;
    size_t n, cap;
    struct map by_text;
};

enum { BY_STATUS, BY_PURPOSE, BY_KEY, BY_TEMPLATE, BY_WORKLOAD, N_BY };

struct stat_log {
    struct counts by[N_BY];
    int64_t n, n_bad, first_ms, last_ms;
    enum err failed;
};

/* The row of a text, which is new if need be; NULL without memory. */
static struct count *row_of(struct counts *c, const char *text)
{
    const size_t hash = mix_text(text);
    const struct map_slot *s;

    for (size_t at = 0; (s = map_next(&c->by_text, hash, &at));)
        if (strcmp(c->rows[s->item].text, text) == 0)
            return &c->rows[s->item];
    if (VEC_ROOM(c->rows, c->cap, c->n + 1, VEC_ANY) || map_room(&c->by_text, c->n + 1))
        return NULL;
    c->rows[c->n] = (struct count){.text = strdup(text)};
    if (!c->rows[c->n].text)
        return NULL;
    map_add(&c->by_text, hash, c->n);
    return &c->rows[c->n++];
}

static bool add(struct counts *c, const char *text, const struct record *r)
{
    const enum record_proof proof = record_proof(r);
    struct count *row = row_of(c, text);

    if (!row)
        return false;
    row->n++;
    row->n_ok += r->status == STATUS_OK;
    if (proof > row->proof || (proof > PROOF_NONE && proof == row->proof && r->time_ns < row->best_ns)) {
        row->best_ns = r->time_ns;
        row->proof = proof;
    }
    return true;
}

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct stat_log *s = arg;
    bool ok;

    (void)line;
    (void)n;
    s->n++;
    if (r->ts_ms && (!s->first_ms || r->ts_ms < s->first_ms))
        s->first_ms = r->ts_ms;
    if (r->ts_ms > s->last_ms)
        s->last_ms = r->ts_ms;
    ok = add(&s->by[BY_STATUS], status_name(r->status), r) && add(&s->by[BY_PURPOSE], r->purpose, r) &&
         add(&s->by[BY_KEY], r->key, r) && add(&s->by[BY_TEMPLATE], r->template_id, r) &&
         add(&s->by[BY_WORKLOAD], r->workload, r);
    s->failed = ok ? ERR_OK : ERR_NOMEM;
    return ok;
}

static void take_bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct stat_log *s = arg;

    if (s->n_bad++ < LOG_MAX_TOLD)
        cmd_log_warning(path, i_line, words, NULL);
}

static void print_time(int64_t ms)
{
    const time_t s = ms / 1000;
    char text[32] = "?";
    struct tm tm;

    if (gmtime_r(&s, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    fputs(text, stdout);
}

static void print_counts(const struct counts *c)
{
    printf("%s\n", c->name);
    for (size_t i = 0; i < c->n; i++) {
        const struct count *r = &c->rows[i];

        printf("  %10" PRId64 "  %10" PRId64 " ok  ", r->n, r->n_ok);
        if (r->best_ns > 0)
            printf("%10.4g ms", r->best_ns / 1e6);
        else
            printf("%10s   ", "");
        printf("  %s\n", r->text[0] ? r->text : "(none)");
    }
}

static cJSON *counts_json(const struct counts *c, bool *ok)
{
    cJSON *array = cJSON_CreateArray();

    *ok &= array != NULL;
    for (size_t i = 0; i < c->n && *ok; i++) {
        cJSON *o = cJSON_CreateObject();

        *ok &= o && cJSON_AddItemToArray(array, o);
        json_add_text(o, "name", c->rows[i].text, ok);
        json_add_i64(o, "n", c->rows[i].n, ok);
        json_add_i64(o, "n_ok", c->rows[i].n_ok, ok);
        if (c->rows[i].best_ns > 0)
            json_add_real(o, "best_ns", c->rows[i].best_ns, ok);
    }
    return array;
}

static void print_json(const struct stat_log *s)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o;
    char *text;

    json_add_i64(o, "records", s->n, &ok);
    json_add_i64(o, "bad", s->n_bad, &ok);
    json_add_i64(o, "first_ts", s->first_ms, &ok);
    json_add_i64(o, "last_ts", s->last_ms, &ok);
    for (size_t i = 0; i < N_BY; i++)
        json_add_item(o, s->by[i].name, counts_json(&s->by[i], &ok), &ok);
    text = ok ? json_line(o) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

static void print_all(const struct stat_log *s)
{
    printf("%" PRId64 " records, %" PRId64 " lines that are none", s->n, s->n_bad);
    if (s->first_ms) {
        fputs(", from ", stdout);
        print_time(s->first_ms);
        fputs(" to ", stdout);
        print_time(s->last_ms);
    }
    fputs("\n", stdout);
    for (size_t i = 0; i < N_BY; i++)
        print_counts(&s->by[i]);
}

static void fini(struct stat_log *s)
{
    for (size_t i = 0; i < N_BY; i++) {
        for (size_t k = 0; k < s->by[i].n; k++)
            free(s->by[i].rows[k].text);
        free(s->by[i].rows);
        map_fini(&s->by[i].by_text);
    }
}

static enum err draw(const struct curve *curves, size_t n, const struct cli *c, struct why *why)
{
    struct buf text;
    enum err e = ERR_OK;

    (void)c;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < n && !e; i++)
        e = curve_text(&curves[i], cli_columns(STDOUT_FILENO), curve_blocks(), &text);
    if (e)
        why_set(why, e, "the plot: %s", err_words(e));
    else
        fputs(buf_text(&text), stdout);
    buf_fini(&text);
    return e;
}

static int run(const struct cli *c)
{
    struct stat_log s = {
        .by = {{.name = "status"}, {.name = "purpose"}, {.name = "key"}, {.name = "template"}, {.name = "workload"}}};
    struct why why = {""};
    enum err e = log_need(c, INT16_MAX, "week.jsonl", &why);

    for (int i = 0; i < c->n_rest && !e; i++) {
        e = convert_scan(c->rest[i], NULL, take, take_bad, &s, &why);
        e = e ? e : s.failed;
    }
    if (!e && cli_flag(c, "json"))
        print_json(&s);
    else if (!e)
        print_all(&s);
    if (!e && cli_flag(c, "plot") && !cli_flag(c, "json"))
        e = log_curves(c, draw, &why);
    fini(&s);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_log_stat = {
    .name = "stat",
    .summary = "what logs hold: records by status, purpose, key, template and workload",
    .usage = "log stat LOG... [options]",
    .example = "tune log stat week.jsonl",
    .options = options,
    .run = run,
};
