/* SPDX-License-Identifier: MIT */
#include "tuner/progress.h"

#include "core/cli.h"
#include "core/clock.h"
#include "core/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS ((int64_t)200 * 1000 * 1000)
#define PLAIN_NS ((int64_t)30 * 1000 * 1000 * 1000)

void progress_init(struct progress *p, bool quiet, bool json)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    const bool terminal = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);

    *p = (struct progress){.to = json ? stdout : stderr,
                           .colour = terminal && !(no_colour && *no_colour),
                           .width = cli_columns(STDERR_FILENO)};
    if (json)
        p->mode = PROGRESS_JSON;
    else if (quiet)
        p->mode = PROGRESS_NONE;
    else
        p->mode = terminal ? PROGRESS_TERMINAL : PROGRESS_PLAIN;
}

void duration_text(double s, char *out, size_t n_out)
{
    if (!(s >= 0) || s > 1e9)
        snprintf(out, n_out, "?");
    else if (s < 60)
        snprintf(out, n_out, "%.0fs", s);
    else if (s < 3600)
        snprintf(out, n_out, "%dm%02ds", (int)s / 60, (int)s % 60);
    else
        snprintf(out, n_out, "%dh%02dm", (int)s / 3600, (int)s % 3600 / 60);
}

void progress_line(const struct progress_state *s, int width, struct buf *out)
{
    char eta[32];
    const size_t start = out->len;

    duration_text(s->eta_s, eta, sizeof eta);
    buf_printf(out, "[task %zu/%zu] %lld/%lld  ", s->i_task + 1, s->n_tasks, (long long)s->done, (long long)s->total);
    if (s->best_gflops > 0)
        buf_printf(out, "%.1f / best %.1f GFLOPS  ", s->current_gflops, s->best_gflops);
    else if (s->best_ns > 0)
        buf_printf(out, "%.4g / best %.4g ms  ", s->current_ns / 1e6, s->best_ns / 1e6);
    buf_printf(out, "ETA %s  %zu x %s", eta, s->n_devices, s->key);
    if (s->failures && *s->failures)
        buf_printf(out, "  failed: %s", s->failures);
    if (s->task && *s->task)
        buf_printf(out, "  %s", s->task);
    if (out->len - start > (size_t)width) {
        out->len = start + (size_t)width;
        out->data[out->len] = '\0';
    }
}

void progress_draw(struct progress *p, const struct progress_state *s, int64_t now_ns, bool force)
{
    const int64_t period = p->mode == PROGRESS_TERMINAL ? REDRAW_NS : PLAIN_NS;
    struct buf line;

    if (p->mode == PROGRESS_NONE || p->mode == PROGRESS_JSON)
        return;
    if (p->last_ns && now_ns - p->last_ns < (force ? REDRAW_NS : period))
        return;
    p->last_ns = now_ns;
    buf_init(&line, 4096);
    progress_line(s, p->mode == PROGRESS_TERMINAL ? p->width - 1 : 400, &line);
    if (p->mode == PROGRESS_TERMINAL)
        fprintf(p->to, "\r%s%s%s\033[K", p->colour ? "\033[1m" : "", buf_text(&line), p->colour ? "\033[0m" : "");
    else
        fprintf(p->to, "%s\n", buf_text(&line));
    fflush(p->to);
    p->drawn = true;
    buf_fini(&line);
}

void progress_pause(struct progress *p)
{
    if (p->mode == PROGRESS_TERMINAL && p->drawn)
        fputs("\n", p->to);
    p->drawn = false;
}

void progress_note(struct progress *p, const char *format, ...)
{
    va_list args;

    if (p->mode == PROGRESS_NONE || p->mode == PROGRESS_JSON)
        return;
    if (p->mode == PROGRESS_TERMINAL && p->drawn)
        fputs("\r\033[K", p->to);
    va_start(args, format);
    vfprintf(p->to, format, args);
    va_end(args);
    fputs("\n", p->to);
    fflush(p->to);
    p->drawn = false;
}

void progress_waits(struct progress *p, const char *words)
{
    cJSON *fields = p->mode == PROGRESS_JSON ? cJSON_CreateObject() : NULL;
    bool ok = fields != NULL;

    if (p->mode == PROGRESS_NONE && p->to)
        fprintf(p->to, "tune: %s\n", words);
    progress_note(p, "%s", words);
    json_add_text(fields, "words", words, &ok);
    progress_event(p, "waits", fields);
}

void progress_event(struct progress *p, const char *event, cJSON *takes_fields)
{
    cJSON *o = p->mode == PROGRESS_JSON ? cJSON_CreateObject() : NULL;
    bool ok = o != NULL;
    char *line;

    if (!o) {
        cJSON_Delete(takes_fields);
        return;
    }
    json_add_i64(o, "seq", ++p->seq, &ok);
    json_add_text(o, "event", event, &ok);
    json_add_i64(o, "ts_ms", clock_read_wall_ms(p->clock), &ok);
    while (takes_fields && takes_fields->child) {
        cJSON *item = cJSON_DetachItemViaPointer(takes_fields, takes_fields->child);

        cJSON_AddItemToObject(o, item->string, item);
    }
    cJSON_Delete(takes_fields);
    line = ok ? json_line(o) : NULL;
    if (line)
        fprintf(p->to, "%s\n", line);
    fflush(p->to);
    cJSON_free(line);
    cJSON_Delete(o);
}

void progress_measured(struct progress *p, const struct record *r, bool better)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "workload", r->workload ? r->workload : "", &ok);
    json_add_text(o, "template", r->template_id, &ok);
    json_add_text(o, "purpose", r->purpose, &ok);
    json_add_text(o, "status", status_name(r->status), &ok);
    json_add_real(o, "time_ns", r->time_ns, &ok);
    json_add_real(o, "gflops", record_gflops(r), &ok);
    json_add_text(o, "agent", r->agent, &ok);
    if (r->knobs)
        json_add_item(o, "knobs", cJSON_Duplicate(r->knobs, 1), &ok);
    progress_event(p, better ? "best" : "measured", o);
}
