/* SPDX-License-Identifier: MIT */
#include "cli/table.h"

#include "tuner/stop.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 100 /* columns of the table */
#define LABEL 20  /* of them for the layer's name */

double table_error_percent(const struct record *r)
{
    return r->se > 0 ? 100 * r->se : 0;
}

/* What is told of one task. */
struct row {
    const struct task *task;
    const struct measured *naive, *before, *best; /* NULL = not measured */
    char label[LABEL + 1];
    bool tie; /* best and default are two configs that cannot be told apart */
};

static struct row row_of(const struct task *t, size_t i)
{
    const struct measured *before = task_best_fallback(t);
    struct row r = {.task = t, .naive = task_baseline(t), .best = task_winner(t)};

    r.before = before ? task_finest(t, before) : NULL;
    r.tie = r.before && r.best && r.before != r.best && measured_tie(r.before, r.best);
    assert(!r.best || !isnan(r.best->value)); /* a failure never wins */
    if (*t->name)
        snprintf(r.label, sizeof r.label, "%s", t->name);
    else
        snprintf(r.label, sizeof r.label, "%zu", i + 1);
    return r;
}

static void time_text(double ms, char *out, size_t n_out)
{
    snprintf(out, n_out, ms >= 100 ? "%.0f ms" : ms >= 10 ? "%.1f ms" : ms >= 1 ? "%.2f ms" : "%.4f ms", ms);
}

/* Time of the default: best's, times their ratio to the same anchor where both have one, so that a host whose speed
 * changes between two slots does not make one of them look faster. */
static double before_ms(const struct row *r)
{
    assert(r->before);
    if (r->best && !*r->best->record.objective && !isnan(r->best->record.lnratio) && !isnan(r->before->record.lnratio))
        return r->best->record.time_ns / 1e6 * exp(r->before->value - r->best->value);
    return r->before->record.time_ns / 1e6;
}

static void print_time(struct buf *out, const struct measured *m, double ms)
{
    char text[32] = "-";

    if (m && isnan(m->value))
        snprintf(text, sizeof text, "%s", status_name(m->record.status));
    else if (m)
        time_text(ms, text, sizeof text);
    buf_printf(out, " %11s", text);
}

/* Speed-up of `best` over `m`, by the values when those compare, else by times. */
static void print_gain(struct buf *out, const struct row *r, const struct measured *m, bool by_value)
{
    char text[32] = "-";

    assert(r->best);
    if (m && !isnan(m->value)) {
        const double ratio = by_value && !*m->record.objective ? exp(m->value - r->best->value)
                                                               : m->record.time_ns / r->best->record.time_ns;

        snprintf(text, sizeof text, ratio >= 100 ? "%.0fx" : ratio >= 10 ? "%.1fx" : "%.2fx", ratio);
    }
    buf_printf(out, " %10s", text);
}

static void print_row(const struct row *r, struct buf *out)
{
    const struct measured *best = r->best;
    char text[32] = "-";

    buf_printf(out, "%-*s", LABEL, r->label);
    print_time(out, r->naive, r->naive ? r->naive->record.time_ns / 1e6 : 0);
    print_time(out, r->before, r->before ? before_ms(r) : 0);
    print_time(out, best, best ? best->record.time_ns / 1e6 : 0);
    if (!best) {
        buf_puts(out, r->task->n_all ? "  no valid config\n" : "  not tried\n");
        return;
    }
    buf_printf(out, " %5.1f%%", table_error_percent(&best->record));
    if (best->record.flops > 0)
        snprintf(text, sizeof text, "%.1f", record_gflops(&best->record));
    buf_printf(out, " %8s", text);
    snprintf(text, sizeof text, "-");
    if (best->record.flops > 0 && task_peak_gflops(&best->record) > 0)
        snprintf(text, sizeof text, "%.0f%%", 100 * record_gflops(&best->record) / task_peak_gflops(&best->record));
    buf_printf(out, " %5s", text);
    print_gain(out, r, r->naive, false);
    if (r->tie)
        buf_printf(out, " %10s", "tie");
    else
        print_gain(out, r, r->before, true);
    buf_puts(out, "\n");
}

/* Appends a word to a paragraph that is indented by two and broken at the table's width; *column is where it stands. */
static void print_word(struct buf *out, size_t *column, const char *word)
{
    if (*column + 1 + strlen(word) > WIDTH) {
        buf_puts(out, "\n   ");
        *column = 3;
    }
    buf_printf(out, " %s", word);
    *column += 1 + strlen(word);
}

static void print_config(const struct row *r, struct buf *out)
{
    const struct task *t = r->task;
    size_t column = 7;
    char word[256];

    assert(r->best->i_arm < t->n_arms);
    buf_puts(out, "  best:");
    if (*t->arms[r->best->i_arm].id)
        print_word(out, &column, t->arms[r->best->i_arm].id);
    for (const cJSON *k = r->best->record.knobs ? r->best->record.knobs->child : NULL; k; k = k->next) {
        if (cJSON_IsString(k))
            snprintf(word, sizeof word, "%s=%s", k->string, k->valuestring);
        else
            snprintf(word, sizeof word, "%s=%.15g", k->string, k->valuedouble);
        print_word(out, &column, word);
    }
    buf_puts(out, "\n");
}

/* Arithmetic that is not the plain one of the dtype is said: Winograd's errors are larger. */
static void print_numerics(const struct row *r, struct buf *out)
{
    const struct task *t = r->task;
    const struct arm *a = &t->arms[r->best->i_arm];
    struct numerics n;

    if (!a->source->numerics)
        return;
    n = a->source->numerics(t, a, &r->best->config);
    if (strcmp(n.name, numerics_of(&t->workload, &t->device).name) != 0)
        buf_printf(out, "  numerics: %s, errors up to %g of the sum of magnitudes\n", n.name, n.tolerance);
}

void table_metrics(const char *words, const struct arm *a, const struct config *c, double time_ns, struct buf *out)
{
    cJSON *all = a->source->metrics ? a->source->metrics(a, c, time_ns) : NULL;
    const cJSON *m;

    cJSON_ArrayForEach(m, all)
    {
        buf_printf(out, "%s%s=", m == all->child ? words : ", ", m->string);
        if (isnan(m->valuedouble))
            buf_puts(out, "-");
        else
            buf_printf(out, "%.4g", m->valuedouble);
    }
    cJSON_Delete(all);
}

/* "  metrics: GB/s=12.3; of the default GB/s=4.5" */
static void print_metrics(const struct row *r, struct buf *out)
{
    const struct measured *best = r->best, *before = r->before == best ? NULL : r->before;
    const size_t start = out->len;

    table_metrics("  metrics: ", &r->task->arms[best->i_arm], &best->config, best->record.time_ns, out);
    if (before && !isnan(before->value))
        table_metrics("; of the default ", &r->task->arms[before->i_arm], &before->config, before_ms(r) * 1e6, out);
    if (out->len > start)
        buf_puts(out, "\n");
}

/* Is the naive template's kernel faster than the best by more than their errors? By times, as its column shows. */
static bool is_naive_faster(const struct row *r)
{
    const struct record *naive = r->naive ? &r->naive->record : NULL, *best = &r->best->record;

    if (!naive || isnan(r->naive->value) || *best->objective)
        return false;
    return log(best->time_ns / naive->time_ns) > fmax(0.01, 2 * hypot(fmax(naive->se, 0), fmax(best->se, 0)));
}

static void print_naive(const struct row *r, struct buf *out)
{
    char naive[32], best[32];

    assert(is_naive_faster(r));
    time_text(r->naive->record.time_ns / 1e6, naive, sizeof naive);
    time_text(r->best->record.time_ns / 1e6, best, sizeof best);
    buf_printf(out, "  the naive kernel, %s, is faster here: %s, this one %s\n", r->task->arms[r->naive->i_arm].id,
               naive, best);
}

static void print_ties(const struct row *r, struct buf *out)
{
    const size_t ties = task_n_ties(r->task);
    const bool naive_faster = is_naive_faster(r);

    if (naive_faster)
        print_naive(r, out);
    if (r->before == r->best)
        buf_printf(out, "  it is the default: nothing better was found%s\n",
                   naive_faster ? " among the templates searched" : "");
    else if (r->tie)
        buf_printf(out, "  not told apart from the default%s%s\n", *r->task->arms[r->before->i_arm].id ? ": " : "",
                   r->task->arms[r->before->i_arm].id);
    if (ties > (size_t)r->tie)
        buf_printf(out, "  ties with %zu of the finalists\n", ties);
}

/* "  60 trials, 3 failed; stopped: ..." */
static void print_trials(const struct row *r, const struct job *job, struct buf *out)
{
    const struct task *t = r->task;

    buf_printf(out, "  %lld trials", (long long)t->n_counted);
    if (t->n_failed > 0)
        buf_printf(out, ", %lld failed", (long long)t->n_failed);
    if (t->stop != STOP_NONE)
        buf_puts(out, "; ");
    stop_words(job, t, out);
    buf_puts(out, "\n");
}

static void print_layer(const struct row *r, const struct job *job, struct buf *out)
{
    buf_printf(out, "%s: %s", r->label, r->task->text);
    if (r->task->count > 1)
        buf_printf(out, "  (x %lld)", (long long)r->task->count);
    buf_puts(out, "\n");
    print_trials(r, job, out);
    if (!r->best)
        return;
    print_config(r, out);
    print_numerics(r, out);
    print_metrics(r, out);
    if (strcmp(r->best->record.verified, "not checked") == 0)
        buf_puts(out, "  results: not checked, nothing tells what is right\n");
    print_ties(r, out);
}

static void sums(const struct task *tasks, size_t n, const char *network, struct buf *out)
{
    double before = 0, after = 0;
    size_t n_summed = 0;

    for (size_t i = 0; i < n; i++) {
        const struct row r = row_of(&tasks[i], i);

        if (!r.before || isnan(r.before->value) || !r.best)
            continue;
        before += (double)tasks[i].count * before_ms(&r);
        after += (double)tasks[i].count * r.best->record.time_ns / 1e6;
        n_summed++;
    }
    assert(n_summed <= n);
    if (n_summed)
        buf_printf(out, "%s, %zu of %zu layers, sum of count x time: default %.3f ms, best %.3f ms, %.2fx\n", network,
                   n_summed, n, before, after, before / after);
}

void table_print(const struct job *job, const struct task *tasks, size_t n, const char *log, const char *best_log,
                 struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct row r = row_of(&tasks[i], i);

        print_layer(&r, job, out);
    }
    buf_printf(out, "\n%-*s %11s %11s %11s %6s %8s %5s %10s %10s\n", LABEL, "layer", "naive", "default", "best", "+-",
               "GFLOPS", "peak", "/ naive", "/ default");
    for (size_t i = 0; i < n; i++) {
        const struct row r = row_of(&tasks[i], i);

        print_row(&r, out);
    }
    buf_puts(out,
             "medians (default: best x their ratio to one anchor), +- standard error, peak: of the FMA peak beside\n");
    if (job->network[0])
        sums(tasks, n, job->network, out);
    if (log)
        buf_printf(out, "log: %s", log);
    if (log && best_log)
        buf_printf(out, "   best: %s", best_log);
    if (log)
        buf_puts(out, "\n");
}

static cJSON *measured_json(const struct task *t, const struct measured *m, bool *ok)
{
    const struct arm *a = &t->arms[m->i_arm];
    cJSON *o = cJSON_CreateObject();

    assert(m->i_arm < t->n_arms);
    json_add_text(o, "template", a->id, ok);
    json_add_text(o, "status", status_name(m->record.status), ok);
    if (m->record.verified[0])
        json_add_text(o, "verified", m->record.verified, ok);
    json_add_real(o, "time_ns", m->record.time_ns, ok);
    json_add_real(o, "error_percent", table_error_percent(&m->record), ok);
    json_add_real(o, "gflops", record_gflops(&m->record), ok);
    if (a->source->metrics)
        json_add_item(o, "metrics", a->source->metrics(a, &m->config, m->record.time_ns), ok);
    json_add_item(o, "knobs", cJSON_Duplicate(m->record.knobs, 1), ok);
    return o;
}

cJSON *table_json(const struct task *tasks, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) {
        const struct task *t = &tasks[i];
        const struct row r = row_of(t, i);
        cJSON *o = cJSON_CreateObject();

        json_add_text(o, "workload", t->text, &ok);
        json_add_text(o, "name", t->name, &ok);
        json_add_i64(o, "count", t->count, &ok);
        json_add_i64(o, "trials", t->n_counted, &ok);
        json_add_i64(o, "failed", t->n_failed, &ok);
        json_add_text(o, "stopped", stop_name(t->stop), &ok);
        if (!isnan(task_gain(t, 0, GAIN_AHEAD)))
            json_add_real(o, "expected_gain", 1 - exp(-task_gain(t, 0, GAIN_AHEAD)), &ok);
        json_add_i64(o, "ties", (int64_t)task_n_ties(t), &ok);
        json_add_bool(o, "ties_with_default", r.tie, &ok);
        if (r.naive)
            json_add_item(o, "naive", measured_json(t, r.naive, &ok), &ok);
        if (r.before)
            json_add_item(o, "default", measured_json(t, r.before, &ok), &ok);
        if (r.best)
            json_add_item(o, "best", measured_json(t, r.best, &ok), &ok);
        cJSON_AddItemToArray(list, o);
    }
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}
