#include "tuner/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void table_spread(const struct record *r, double *median_ms, double *spread_ms)
{
    double sorted[RECORD_MAX_SAMPLES];
    const size_t n = r->n_samples < RECORD_MAX_SAMPLES ? r->n_samples : RECORD_MAX_SAMPLES;

    *median_ms = r->time_ns / 1e6;
    *spread_ms = 0;
    if (n < 2)
        return;
    memcpy(sorted, r->samples_ns, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], by_size);
    *spread_ms = (sorted[(3 * n) / 4] - sorted[n / 4]) / 2e6;
}

static double peak_of(const struct record *r)
{
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(r->device, "peak_gflops");

    return cJSON_IsNumber(peak) && peak->valuedouble > 0 ? peak->valuedouble : 0;
}

static void cell(struct buf *out, const struct measured *m)
{
    char text[64];

    if (!m)
        buf_printf(out, " %21s", "-");
    else if (isnan(m->value))
        buf_printf(out, " %21s", status_name(m->record.status));
    else {
        if (m->record.flops > 0)
            snprintf(text, sizeof text, "%.1f GF %.4g ms", record_gflops(&m->record), m->record.time_ns / 1e6);
        else
            snprintf(text, sizeof text, "%.4g ms", m->record.time_ns / 1e6);
        buf_printf(out, " %21s", text);
    }
}

static void print_knobs(struct buf *out, const cJSON *knobs)
{
    for (const cJSON *k = knobs ? knobs->child : NULL; k; k = k->next) {
        if (cJSON_IsString(k))
            buf_printf(out, " %s=%s", k->string, k->valuestring);
        else
            buf_printf(out, " %s=%.15g", k->string, k->valuedouble);
    }
}

static void row(const struct task *t, struct buf *out)
{
    const struct measured *best = task_winner(t), *before = task_best_fallback(t), *naive = task_baseline(t);
    const size_t ties = task_n_ties(t);
    double median_ms, spread_ms;

    buf_printf(out, "%s%s%s", t->name, *t->name ? ": " : "", t->text);
    if (t->count > 1)
        buf_printf(out, "  (x %lld)", (long long)t->count);
    buf_puts(out, "\n ");
    cell(out, naive);
    before = before ? task_finest(t, before) : NULL;
    cell(out, before);
    cell(out, best);
    if (!best) {
        buf_puts(out, "  no valid config\n");
        return;
    }
    table_spread(&best->record, &median_ms, &spread_ms);
    buf_printf(out, "  +- %.1f %%", 100 * spread_ms / median_ms);
    if (peak_of(&best->record) > 0)
        buf_printf(out, "  %5.1f %%", 100 * record_gflops(&best->record) / peak_of(&best->record));
    else
        buf_puts(out, "      -  ");
    if (before)
        buf_printf(out, "  %.2fx", exp(before->value - best->value));
    if (ties)
        buf_printf(out, "  tie with %zu", ties);
    buf_printf(out, "\n  best: %s", t->arms[best->i_arm].id);
    print_knobs(out, best->record.knobs);
    buf_puts(out, "\n");
}

static void sums(const struct task *tasks, size_t n, const char *network, struct buf *out)
{
    double before_ms = 0, after_ms = 0;
    size_t n_summed = 0;

    for (size_t i = 0; i < n; i++) {
        const struct measured *before = task_best_fallback(&tasks[i]), *after = task_winner(&tasks[i]);

        if (!before || !after)
            continue;
        before = task_finest(&tasks[i], before);
        before_ms += (double)tasks[i].count * before->record.time_ns / 1e6;
        after_ms += (double)tasks[i].count * after->record.time_ns / 1e6;
        n_summed++;
    }
    if (n_summed)
        buf_printf(out, "%s, %zu of %zu layers, sum of count x time: default %.3f ms, best %.3f ms, %.2fx\n", network,
                   n_summed, n, before_ms, after_ms, before_ms / after_ms);
}

void table_print(const struct task *tasks, size_t n, const char *network, const char *log, const char *best_log,
                 struct buf *out)
{
    buf_printf(out, "  %21s %21s %21s  %s\n", "naive", "default", "best", "spread  of peak  speed-up over default");
    for (size_t i = 0; i < n; i++)
        row(&tasks[i], out);
    if (network && *network)
        sums(tasks, n, network, out);
    if (log)
        buf_printf(out, "log: %s", log);
    if (log && best_log)
        buf_printf(out, "   best: %s", best_log);
    if (log)
        buf_puts(out, "\n");
}

static cJSON *measured_json(const struct task *t, const struct measured *m, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    json_add_text(o, "template", t->arms[m->i_arm].id, ok);
    json_add_text(o, "status", status_name(m->record.status), ok);
    json_add_real(o, "time_ns", m->record.time_ns, ok);
    json_add_real(o, "gflops", record_gflops(&m->record), ok);
    json_add_item(o, "knobs", cJSON_Duplicate(m->record.knobs, 1), ok);
    return o;
}

cJSON *table_json(const struct task *tasks, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) {
        const struct task *t = &tasks[i];
        const struct measured *best = task_winner(t), *before = task_best_fallback(t), *naive = task_baseline(t);
        cJSON *o = cJSON_CreateObject();

        json_add_text(o, "workload", t->text, &ok);
        json_add_text(o, "name", t->name, &ok);
        json_add_i64(o, "count", t->count, &ok);
        json_add_i64(o, "trials", t->n_counted, &ok);
        json_add_i64(o, "failed", t->n_failed, &ok);
        json_add_i64(o, "ties", (int64_t)task_n_ties(t), &ok);
        if (naive)
            json_add_item(o, "naive", measured_json(t, naive, &ok), &ok);
        if (before)
            json_add_item(o, "default", measured_json(t, task_finest(t, before), &ok), &ok);
        if (best)
            json_add_item(o, "best", measured_json(t, best, &ok), &ok);
        cJSON_AddItemToArray(list, o);
    }
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}
