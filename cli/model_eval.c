/* SPDX-License-Identifier: MIT */
#include "cli/model_eval.h"

#include "core/buf.h"
#include "core/file.h"
#include "search/learn/judge.h"
#include "search/learn/model_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rows of a table in the order of one split. */
struct split {
    struct records r;
    struct features_knob *knobs; /* of the training rows */
};

struct eval {
    const struct model_eval *o;
    struct buf csv;
    double *means[N_MEASURES]; /* [n_sizes][MODEL_EVAL_MAX_TABLES] */
    size_t n_tables[MODEL_EVAL_MAX_SIZES];
};

static void print_header(void)
{
    printf("%-24s %5s", "table", "n");
    for (size_t m = 0; m < N_MEASURES; m++)
        printf(" %9s", measure_names[m]);
    printf(" %8s\n", "fit s");
}

static void print_line(const char *name, size_t n, const double values[N_MEASURES], double fit_s)
{
    printf("%-24.24s %5zu", name, n);
    for (size_t m = 0; m < N_MEASURES; m++)
        printf(" %9.4f", values[m]);
    if (!isnan(fit_s))
        printf(" %8.3f", fit_s);
    puts("");
    fflush(stdout);
}

/* "dir/x.csv.gz" -> "x" */
static void table_name(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/');
    char *dot;

    snprintf(name, 64, "%s", slash ? slash + 1 : path);
    dot = strstr(name, ".csv");
    if (dot)
        *dot = '\0';
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The rows of a table in a split's order. ERR_NOMEM. */
static enum err shuffle(const struct records *from, const struct columns *c, size_t n, uint64_t seed, struct split *s)
{
    uint32_t *order = malloc((from->n + 1) * sizeof *order);
    enum err e = order ? judge_order(order, from->n, seed) : ERR_NOMEM;

    assert(n <= from->n && s->r.n == from->n && c->n == from->n_knobs);
    for (size_t i = 0; e == ERR_OK && i < from->n; i++) {
        memcpy(s->r.values + i * c->n, from->values + order[i] * c->n, c->n * sizeof *s->r.values);
        s->r.times[i] = from->times[order[i]];
    }
    memset(s->knobs, 0, c->n * sizeof *s->knobs);
    for (size_t j = 0; j < c->n; j++)
        s->knobs[j].n_words = c->knobs[j].n_words;
    for (size_t i = 0; e == ERR_OK && i < n * c->n; i++)
        features_knob_meet(&s->knobs[i % c->n], s->r.values[i]);
    free(order);
    return e;
}

static enum err judge_rest(const struct split *s, const struct model_file *m, size_t n, double out[N_MEASURES])
{
    assert(n < s->r.n);

    const size_t n_rest = s->r.n - n, n_test = n_rest < JUDGE_MAX_TEST ? n_rest : JUDGE_MAX_TEST;
    float *scores = malloc((n_test + 1) * sizeof *scores);
    double best = INFINITY;
    size_t n_ok = 0;
    enum err e = scores ? model_file_predict(m, s->r.values + n * s->r.n_knobs, n_test, scores) : ERR_NOMEM;

    for (size_t i = 0; i < n; i++)
        best = fmin(best, s->r.times[i]);
    for (size_t i = n; i < n + n_test; i++)
        n_ok += !isnan(s->r.times[i]);
    if (e == ERR_OK)
        e = n_ok > 0 ? judge(s->r.times + n, scores, n_test, best, out) : ERR_INPUT;
    free(scores);
    return e;
}

static enum err one_split(struct split *s, struct model_file *m, size_t n, uint64_t seed, double out[N_MEASURES],
                          double *fit_s, struct why *why)
{
    const double start_s = cpu_s();
    enum err e = model_file_learn(m, s->knobs, s->r.values, s->r.times, n, seed, why);

    if (e)
        return e;
    *fit_s += cpu_s() - start_s;
    e = judge_rest(s, m, n, out);
    if (e)
        why_set(why, e, "%s", e == ERR_INPUT ? "no row of the test part is ok" : err_words(e));
    return e;
}

static void add_csv(struct buf *csv, const char *name, size_t n, uint64_t seed, const double values[N_MEASURES])
{
    buf_printf(csv, "%s,%zu,%llu", name, n, (unsigned long long)seed);
    for (size_t m = 0; m < N_MEASURES; m++)
        buf_printf(csv, ",%.6f", values[m]);
    buf_puts(csv, "\n");
}

/* All splits of one table into n training rows and the rest: their mean. */
static enum err one_size(struct eval *v, const struct records *r, struct model_file *file, struct split *s,
                         const char *name, size_t i_size, struct why *why)
{
    const size_t n = v->o->sizes[i_size], n_seeds = v->o->n_seeds;
    double *all = malloc(N_MEASURES * n_seeds * sizeof *all), values[N_MEASURES], fit_s = 0;
    enum err e = all ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n_seeds; i++) {
        const uint64_t seed = v->o->seed + i;

        e = shuffle(r, &file->columns, n, seed, s);
        if (e == ERR_OK)
            e = one_split(s, file, n, seed, values, &fit_s, why);
        for (size_t m = 0; e == ERR_OK && m < N_MEASURES; m++)
            all[m * n_seeds + i] = values[m];
        if (e == ERR_OK)
            add_csv(&v->csv, name, n, seed, values);
    }
    for (size_t m = 0; e == ERR_OK && m < N_MEASURES; m++) {
        values[m] = measure_mean((enum measure)m, all + m * n_seeds, n_seeds);
        assert(v->n_tables[i_size] < MODEL_EVAL_MAX_TABLES);
        v->means[m][i_size * MODEL_EVAL_MAX_TABLES + v->n_tables[i_size]] = values[m];
    }
    free(all);
    if (e)
        return why_prefix(why, e, "%zu rows", n);
    v->n_tables[i_size]++;
    print_line(name, n, values, fit_s / (double)n_seeds);
    return ERR_OK;
}

static enum err one_table(struct eval *v, const char *path, struct why *why)
{
    struct records r = {0};
    struct model_file m = {.space = NULL};
    struct split s = {0};
    char name[64];
    enum err e = records_read(path, &r, &m.columns, why);

    if (e)
        return e;
    table_name(path, name);
    s.r = (struct records){r.n, r.n_knobs, malloc(r.n * r.n_knobs * sizeof(double)), malloc(r.n * sizeof(double))};
    s.knobs = malloc(m.columns.n * sizeof *s.knobs);
    if (!s.r.values || !s.r.times || !s.knobs)
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (e == ERR_OK && v->o->space)
        e = model_file_take_space(&m, v->o->space, why);
    for (size_t i = 0; e == ERR_OK && i < v->o->n_sizes; i++)
        if ((double)v->o->sizes[i] <= MODEL_EVAL_SHARE * (double)r.n)
            e = one_size(v, &r, &m, &s, name, i, why);
    free(s.knobs);
    records_fini(&s.r);
    model_file_fini(&m);
    records_fini(&r);
    return e ? why_prefix(why, e, "%s", path) : ERR_OK;
}

static void print_means(const struct eval *v)
{
    for (size_t i = 0; i < v->o->n_sizes; i++) {
        double values[N_MEASURES];
        char name[32];

        assert(v->n_tables[i] <= v->o->n_paths);
        if (v->n_tables[i] == 0)
            continue;
        for (size_t m = 0; m < N_MEASURES; m++)
            values[m] = measure_mean((enum measure)m, v->means[m] + i * MODEL_EVAL_MAX_TABLES, v->n_tables[i]);
        snprintf(name, sizeof name, "mean of %zu", v->n_tables[i]);
        print_line(name, v->o->sizes[i], values, NAN);
    }
}

static enum err check_any(const struct eval *v, struct why *why)
{
    for (size_t i = 0; i < v->o->n_sizes; i++)
        if (v->n_tables[i] > 0)
            return ERR_OK;
    return why_set(why, ERR_INPUT, "--sizes: no table is large enough, expected a size of at most %.0f %% of its rows",
                   100 * MODEL_EVAL_SHARE);
}

enum err model_eval(const struct model_eval *o, struct why *why)
{
    struct eval v = {.o = o};
    enum err e = ERR_OK;

    if (o->n_paths > MODEL_EVAL_MAX_TABLES)
        return why_set(why, ERR_LIMIT, "more than %d tables", MODEL_EVAL_MAX_TABLES);
    buf_init(&v.csv, (size_t)256 << 20);
    buf_puts(&v.csv, "set,n,seed");
    for (size_t m = 0; m < N_MEASURES; m++) {
        buf_printf(&v.csv, ",%s", measure_names[m]);
        v.means[m] = malloc(o->n_sizes * MODEL_EVAL_MAX_TABLES * sizeof(double));
        if (!v.means[m])
            e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    }
    buf_puts(&v.csv, "\n");
    if (e == ERR_OK)
        print_header();
    for (size_t i = 0; e == ERR_OK && i < o->n_paths; i++)
        e = one_table(&v, o->paths[i], why);
    if (e == ERR_OK)
        e = check_any(&v, why);
    if (e == ERR_OK)
        print_means(&v);
    if (e == ERR_OK && o->out)
        e = v.csv.failed ? why_set(why, v.csv.failed, "%s: %s", o->out, err_words(v.csv.failed))
                         : file_replace(o->out, buf_text(&v.csv), v.csv.len, 0644, why);
    for (size_t m = 0; m < N_MEASURES; m++)
        free(v.means[m]);
    buf_fini(&v.csv);
    return e;
}
