/* SPDX-License-Identifier: MIT */
/* pages.c - the page that the HTTP side shows to people. All text of peers is escaped. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define MAX_JOBS_SHOWN 50

static void escaped(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        switch (*p) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        case '\'':
            buf_puts(out, "&#39;");
            break;
        default:
            buf_append(out, p, 1);
        }
    }
}

static void cell(struct buf *out, const char *text)
{
    buf_puts(out, "<td>");
    escaped(out, text);
    buf_puts(out, "</td>");
}

static void job_rows(const struct tracker *t, struct buf *out)
{
    int n = 0;

    for (int64_t id = t->next_job - 1; id > 0 && n < MAX_JOBS_SHOWN; id--) {
        const struct tracker_job *j = table_get_i64(&t->jobs, id);

        if (!j)
            continue;
        n++;
        buf_printf(out, "<tr><td>j%" PRId64 "</td>", j->id);
        cell(out, j->title);
        cell(out, j->user);
        cell(out, j->key);
        cell(out, job_state(j));
        buf_printf(out, "<td>%" PRId64 "</td><td>%" PRId64 "</td><td>%" PRId64 "</td><td>%" PRId64 "</td>", j->n_open,
                   j->n_leased, j->n_done, j->n_lost);
        buf_printf(out, "<td>%.1f</td></tr>\n", j->best_gflops);
    }
}

static void agent_rows(struct tracker *t, struct buf *out)
{
    const struct agent *a;
    size_t at = 0;

    while ((a = table_next(&t->agents, &at)) != NULL) {
        if (a->gone)
            continue;
        buf_puts(out, "<tr>");
        cell(out, a->is_builder ? "(builder)" : a->key);
        cell(out, a->id);
        cell(out, agent_state(t, a));
        buf_printf(out, "<td>%" PRId64 "</td><td>%" PRId64 "</td><td>%" PRId64 "</td><td>%" PRId64 " s ago</td></tr>\n",
                   a->n_leased, a->done, a->failed, (tracker_now_ns(t) - a->seen_ns) / 1000000000);
    }
}

enum err page_html(struct tracker *t, struct buf *out)
{
    buf_puts(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">"
        "<title>tune-tracker</title><style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse;"
        "margin-bottom:2em}td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}</style></head>"
        "<body><h1>tune-tracker</h1>\n<h2>Devices</h2><table><tr><th>key</th><th>agent</th><th>state</th>"
        "<th>leased</th><th>done</th><th>failed</th><th>seen</th></tr>\n");
    agent_rows(t, out);
    buf_puts(out, "</table><h2>Jobs</h2><table><tr><th>job</th><th>title</th><th>user</th><th>key</th><th>state</th>"
                  "<th>open</th><th>leased</th><th>done</th><th>lost</th><th>best GFLOPS</th></tr>\n");
    job_rows(t, out);
    buf_printf(out,
               "</table><p>version %s, %zu sessions, %" PRId64 " requests, %" PRId64 " results</p></body></html>\n",
               TUNE_VERSION, t->sessions.n, t->stats.requests, t->stats.results);
    return out->failed;
}
