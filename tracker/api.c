/* SPDX-License-Identifier: MIT */
#include "tracker/api.h"

#include "core/hash.h"
#include "core/json.h"
#include "page/page.h"
#include "tracker/execute.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 1000
#define ROWS_BYTES ((size_t)1 << 20) /* of rows in one answer: the rest is for the next */
#define BLOB_BYTES ((size_t)1 << 20) /* what is larger is no text to be read */
#define PIECE_BYTES (256 * 1024)
#define TEXT_TYPE "text/plain; charset=utf-8"

/* One request. */
struct ask {
    struct server *server;
    const char *name;  /* what stands for * in its path; "" = nothing */
    const char *query; /* "max=5&after=7" */
    struct buf *out;
    const char **type;
    struct why why;
};

/* ---- calls in the core loop ---- */

struct visit {
    enum call_name call;
    union call_args args;
    cJSON *result;
    struct buf *attached;
    struct why *why;
};

static enum err run_visit(struct tracker *t, void *arg)
{
    struct visit *v = arg;

    return call_here(t, v->call, &v->args, &v->result, v->attached, v->why);
}

static enum err visit(struct ask *a, struct visit *v)
{
    v->why = &a->why;
    return server_do(a->server, run_visit, v);
}

static enum err print_result(struct ask *a, struct visit *v)
{
    enum err e = visit(a, v);

    if (!e)
        e = json_print(v->result, a->out);
    cJSON_Delete(v->result);
    return e;
}

/* A number of the query within its bounds; `otherwise` where it says none. */
static int64_t number(const struct ask *a, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    const size_t n = strlen(name);

    for (const char *p = a->query; p; p = strchr(p, '&')) {
        p += *p == '&';
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            const long long v = strtoll(p + n + 1, NULL, 10);

            return v < min ? min : v > max ? max : v;
        }
    }
    return otherwise;
}

static enum err status(struct ask *a)
{
    struct visit v = {.call = CALL_STATUS};

    return print_result(a, &v);
}

static enum err jobs(struct ask *a)
{
    struct visit v = {.call = CALL_JOB_LIST};

    v.args.job_list = (struct job_list_args){
        .state = "all", .max = number(a, "max", 100, 1, 1000), .before = number(a, "before", 0, 0, JSON_EXACT_MAX)};
    return print_result(a, &v);
}

static enum err job(struct ask *a)
{
    struct visit v = {.call = CALL_JOB_STATUS};

    v.args.job_status.job = a->name;
    return print_result(a, &v);
}

static enum err devices(struct ask *a)
{
    struct visit v = {.call = CALL_DEVICES};

    v.args.devices = (struct devices_args){
        .key = "", .max = number(a, "max", 200, 1, 200), .after = number(a, "after", 0, 0, JSON_EXACT_MAX)};
    return print_result(a, &v);
}

/* ---- records ---- */

static void records_of(struct ask *a, struct visit *v, int64_t after, int64_t max)
{
    *v = (struct visit){.call = CALL_RECORD_WAIT};
    v->args.record_wait = (struct record_wait_args){.job = a->name, .after = after, .max = max};
}

static enum err records(struct ask *a)
{
    struct visit v;

    records_of(a, &v, number(a, "after", 0, 0, JSON_EXACT_MAX), number(a, "max", 64, 1, 1024));
    return print_result(a, &v);
}

/* A line that is no record of ours is left out: no picture could show it. */
static void put_rows(const struct record_wait_result *result, int64_t *n, struct buf *out)
{
    const cJSON *item;
    struct record_entry one;

    cJSON_ArrayForEach(item, result->records)
    {
        const size_t start = out->len;

        if (*n)
            buf_puts(out, ",\n");
        if (record_entry_read(item, &one, NULL) == ERR_OK &&
            page_row(one.record, strlen(one.record), one.seq, PAGE_ROW, out) == ERR_OK)
            ++*n;
        else if (!out->failed)
            out->len = start;
    }
}

/* The core loop gives some 100 records at a time. */
static enum err trials(struct ask *a)
{
    int64_t after = number(a, "after", 0, 0, JSON_EXACT_MAX), n = 0, left = number(a, "max", 500, 1, MAX_ROWS);
    struct record_wait_result result;
    char state[32] = "";
    bool more = true;
    struct visit v;
    enum err e = ERR_OK;

    buf_puts(a->out, "{\"rows\":[");
    while (!e && more && left > 0 && a->out->len < ROWS_BYTES) {
        records_of(a, &v, after, left);
        e = visit(a, &v);
        if (!e)
            e = call_read(&record_wait_result_shape, "records", v.result, &result, &a->why);
        if (!e) {
            put_rows(&result, &n, a->out);
            left -= cJSON_GetArraySize(result.records);
            more = result.next > after;
            after = result.next;
            text_copy(state, sizeof state, result.state ? result.state : "");
        }
        cJSON_Delete(v.result);
    }
    buf_printf(a->out, "],\"next\":%lld,\"state\":\"%s\"}\n", (long long)after, state);
    return e ? e : a->out->failed;
}

struct line {
    int64_t trial, job;
    bool found;
    char *text; /* owned; NULL without memory */
};

static bool keep_line(const struct record_row *row, void *arg)
{
    struct line *l = arg;

    l->found = true;
    l->job = row->job;
    l->text = strdup(row->line);
    return false;
}

static enum err find_line(struct tracker *t, void *arg)
{
    struct line *l = arg;

    return t->o.ops->each_record(t->o.store, 0, 0, l->trial, 1, keep_line, l);
}

static enum err trial(struct ask *a)
{
    struct line l = {.trial = 0};
    cJSON *record = NULL;
    enum err e = call_id_parse(a->name, 't', &l.trial);

    if (!e)
        e = server_do(a->server, find_line, &l);
    if (!e && !l.found)
        e = why_set(&a->why, ERR_NOT_FOUND, "there is no record of trial %.40s", a->name);
    if (!e && !l.text)
        e = ERR_NOMEM;
    if (!e)
        e = json_parse(l.text, strlen(l.text), &record, &a->why);
    if (!e) {
        buf_printf(a->out, "{\"trial\":\"t%lld\",\"job\":\"j%lld\",\"record\":", (long long)l.trial, (long long)l.job);
        e = json_print(record, a->out);
        buf_puts(a->out, "}\n");
    }
    cJSON_Delete(record);
    free(l.text);
    return e;
}

/* ---- one device ---- */

struct look {
    const char *agent;
    cJSON *entry, *history;
};

static enum err look_at(struct tracker *t, void *arg)
{
    struct look *l = arg;
    const struct agent *a = table_get_text(&t->agents, l->agent);
    struct call c;

    if (!a)
        return ERR_NOT_FOUND;
    call_begin(&c, t);
    l->entry = agent_entry_of(&c, a, true);
    l->history = vitals_json(&a->history);
    call_end(&c);
    return l->entry && l->history ? ERR_OK : ERR_NOMEM;
}

static enum err device(struct ask *a)
{
    struct look l = {.agent = a->name};
    bool ok = true;
    enum err e = server_do(a->server, look_at, &l);

    if (e == ERR_NOT_FOUND)
        why_set(&a->why, e, "there is no agent %.64s", a->name);
    if (!e) {
        json_add_item(l.entry, "history", l.history, &ok);
        l.history = NULL;
        e = ok ? json_print(l.entry, a->out) : ERR_NOMEM;
    }
    cJSON_Delete(l.entry);
    cJSON_Delete(l.history);
    return e;
}

/* ---- texts ---- */

static enum err blob(struct ask *a)
{
    int64_t total = 1;
    enum err e = sha256_is_hex(a->name) ? ERR_OK : why_set(&a->why, ERR_INPUT, "expected a SHA-256 in hex");

    while (!e && (int64_t)a->out->len < total) {
        struct visit v = {.call = CALL_BLOB_GET, .attached = a->out};

        v.args.blob_get =
            (struct blob_get_args){.sha256 = a->name, .offset = (int64_t)a->out->len, .bytes = PIECE_BYTES};
        e = visit(a, &v);
        if (!e)
            e = json_get_i64(v.result, "total", 0, BLOB_MAX_BYTES, &total, &a->why);
        if (!e && total > (int64_t)BLOB_BYTES)
            e = why_set(&a->why, ERR_LIMIT, "the blob has %lld bytes: what is shown here has at most %zu",
                        (long long)total, BLOB_BYTES);
        cJSON_Delete(v.result);
    }
    *a->type = TEXT_TYPE;
    return e;
}

/* ---- paths ---- */

static const struct route {
    const char *head, *tail; /* of the path; a name stands between them where the head ends in / */
    enum err (*answer)(struct ask *a);
} routes[] = {
    {"status", "", status},         {"jobs", "", jobs},       {"jobs/", "/trials", trials},
    {"jobs/", "/records", records}, {"jobs/", "", job},       {"trials/", "", trial},
    {"devices", "", devices},       {"devices/", "", device}, {"blobs/", "", blob},
};

/* Does the path fit? *name: what stands for the name. */
static bool fits(const struct route *r, const char *path, char *name, size_t n_name)
{
    const size_t n_head = strlen(r->head), n_tail = strlen(r->tail), n = strlen(path);

    name[0] = '\0';
    if (r->head[n_head - 1] != '/')
        return strcmp(path, r->head) == 0;
    if (n <= n_head + n_tail || n - n_head - n_tail >= n_name || strncmp(path, r->head, n_head) != 0 ||
        strcmp(path + n - n_tail, r->tail) != 0)
        return false;
    text_copy(name, n - n_head - n_tail + 1, path + n_head);
    return !strchr(name, '/');
}

static void put_error(struct ask *a, enum err e)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "err", err_name(e), &ok);
    json_add_text(o, "why", a->why.text[0] ? a->why.text : err_words(e), &ok);
    buf_clear(a->out);
    a->out->failed = ERR_OK;
    if (ok)
        json_print(o, a->out);
    cJSON_Delete(o);
}

enum err api_answer(struct server *s, const char *path, const char *query, struct buf *out, const char **type)
{
    static const char json[] = "application/json";
    char name[SHA256_HEX + 16];
    struct ask a = {.server = s, .name = name, .query = query, .out = out, .type = type};
    enum err e = ERR_NOT_FOUND;

    assert(!out->len);
    *type = json;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (fits(&routes[i], path, name, sizeof name)) {
            e = routes[i].answer(&a);
            break;
        }
    if (!e)
        return ERR_OK;
    *type = json;
    put_error(&a, e);
    return e;
}
