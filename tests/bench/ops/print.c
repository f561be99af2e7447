/* SPDX-License-Identifier: MIT */
#include "agent/timing.h"
#include "core/json.h"
#include "tests/bench/ops/bench.h"
#include "tests/bench/ops/peak.h"

#include <math.h>
#include <string.h>

static const char *const class_names[N_CLASSES] = {"plain", "blocked", "baseline"};

/* Median over all slots of what was measured before them; and the extremes. */
static void peaks(const struct bench *b, bool reads, double out[3])
{
    static double all[MAX_CONTENDERS * MAX_ROUNDS];
    int n = 0;

    for (size_t i = 0; i < b->n; i++)
        for (int j = 0; j < b->contenders[i].n_rounds; j++)
            all[n++] = reads ? b->contenders[i].read_rate[j] : b->contenders[i].peak[j];
    out[0] = out[1] = out[2] = 0;
    if (!n)
        return;
    out[1] = timing_median(all, n);
    out[0] = all[0];
    out[2] = all[n - 1];
}

static void print_share(FILE *to, double share)
{
    if (share > 0)
        fprintf(to, "%.1f %% | ", 100 * share);
    else
        fprintf(to, "- | ");
}

static void print_ratio(FILE *to, double ratio)
{
    if (ratio > 0)
        fprintf(to, "%.2f | ", ratio);
    else
        fprintf(to, "- | ");
}

static void print_row(const struct bench *b, const struct contender *c, FILE *to)
{
    const double ns = c->n_rounds ? contender_ns(c) : 0;

    fprintf(to, "| %s | %s | ", c->name, class_names[c->class]);
    if (!c->n_rounds || !contender_right(b, c)) {
        fprintf(to, "%s | - | - | - | - | - | - | %s |\n", c->n_rounds ? "wrong result" : "failed", c->note);
        return;
    }
    fprintf(to, "%.3f | %.1f | %.1f | ", ns * 1e-6, b->task.flops / ns, b->task.bytes_min / ns);
    print_share(to, contender_of_peak(b, c));
    print_share(to, b->reads ? contender_of_read(b, c) : 0);
    print_ratio(to, contender_speed(c, bench_best(b, CLASS_PLAIN, false)));
    print_ratio(to, contender_speed(c, bench_best(b, CLASS_BLOCKED, false)));
    if (c->numerics[0] && strcmp(c->numerics, "f32") != 0)
        fprintf(to, "**%s** ", c->numerics);
    if (c->n_rounds < b->rounds)
        fprintf(to, "%d round%s; ", c->n_rounds, c->n_rounds == 1 ? "" : "s");
    fprintf(to, "%s", c->note);
    if (c->difference > 0)
        fprintf(to, "; difference %.1e", c->difference);
    fprintf(to, " |\n");
}

void bench_print(const struct bench *b, FILE *to)
{
    double flops[3], reads[3];

    peaks(b, false, flops);
    peaks(b, true, reads);
    if (b->on_host)
        fprintf(to, "\nFMA peak of %d thread%s before each slot: median %.1f GFLOPS (%.1f to %.1f), %d lanes",
                b->task.threads, b->task.threads == 1 ? "" : "s", flops[1], flops[0], flops[2], peak_lanes());
    else
        fprintf(to, "\nTimes are the device's, between events around a call");
    if (b->on_host && b->reads)
        fprintf(to, "; reading memory: median %.1f GB/s (%.1f to %.1f)", reads[1], reads[0], reads[2]);
    fprintf(to, ".\n\n| contender | layouts | ms | GFLOPS | GB/s | of peak | of read bandwidth | x best plain peer | x "
                "best blocked peer | |\n"
                "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < b->n; i++)
        print_row(b, &b->contenders[i], to);
    fprintf(to, "\n");
    fflush(to);
}

static void add_figures(const struct bench *b, const struct contender *c, cJSON *line, bool *ok)
{
    const double ns = contender_ns(c);

    json_add_real(line, "ms", ns * 1e-6, ok);
    json_add_real(line, "gflops", b->task.flops / ns, ok);
    json_add_real(line, "gbs", b->task.bytes_min / ns, ok);
    json_add_real(line, "of_peak", contender_of_peak(b, c), ok);
    if (b->reads)
        json_add_real(line, "of_read", contender_of_read(b, c), ok);
    json_add_real(line, "x_plain", contender_speed(c, bench_best(b, CLASS_PLAIN, false)), ok);
    json_add_real(line, "x_blocked", contender_speed(c, bench_best(b, CLASS_BLOCKED, false)), ok);
}

enum err bench_json(const struct bench *b, FILE *to)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct contender *c = &b->contenders[i];
        cJSON *line = cJSON_CreateObject();
        bool ok = line != NULL;
        struct buf text;

        json_add_text(line, "workload", b->task.text, &ok);
        json_add_i64(line, "threads", b->task.threads, &ok);
        json_add_text(line, "contender", c->name, &ok);
        json_add_text(line, "layouts", class_names[c->class], &ok);
        json_add_bool(line, "gpu", strcmp(b->task.ops->name, "cuda") == 0, &ok);
        json_add_bool(line, "ours", c->ours, &ok);
        json_add_bool(line, "right", c->n_rounds && contender_right(b, c), &ok);
        json_add_text(line, "template", c->template, &ok);
        json_add_text(line, "layout", c->layout, &ok);
        json_add_text(line, "how", c->how, &ok);
        json_add_text(line, "numerics", c->numerics, &ok);
        json_add_text(line, "note", c->note, &ok);
        if (c->n_rounds && contender_right(b, c))
            add_figures(b, c, line, &ok);
        buf_init(&text, 1 << 16);
        if (ok)
            ok = !json_print(line, &text);
        if (ok)
            fprintf(to, "%s\n", buf_text(&text));
        buf_fini(&text);
        cJSON_Delete(line);
        if (!ok)
            return ERR_NOMEM;
    }
    return fflush(to) ? ERR_IO : ERR_OK;
}
