/* SPDX-License-Identifier: MIT */
/* bench_trees - boosted trees of this project beside XGBoost and LightGBM: training from floats (binning included) and
 * prediction, one thread, processor time, the least of interleaved repeats. Tables: 4 of 5 features take 2 to 8 values
 * or powers of two, the others are continuous. Peers are shared libraries named on the command line; without them only
 * our own figures are printed. */
#include "contender.h"

#include "core/cli.h"
#include "core/rng.h"
#include "cost_model/gbdt.h"
#include "cost_model/gbdt_model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_CONTENDERS 4
#define MAX_REPEATS 64

static const struct cli_option options[] = {
    {.name = "xgboost", .kind = CLI_TEXT, .argument = "LIBRARY", .help = "libxgboost.so"},
    {.name = "lightgbm", .kind = CLI_TEXT, .argument = "LIBRARY", .help = "lib_lightgbm.so"},
    {.name = "features", .kind = CLI_INT, .argument = "N", .otherwise = "20", .min = 1, .max = 1000, .help = "columns"},
    {.name = "depth", .kind = CLI_INT, .argument = "N", .otherwise = "6", .min = 1, .max = 8, .help = "of trees"},
    {.name = "min-rows",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "256",
     .min = 1,
     .max = 1 << 20,
     .help = "least table"},
    {.name = "max-rows",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "16384",
     .min = 1,
     .max = 1 << 20,
     .help = "largest table to train on"},
    {.name = "repeats",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "7",
     .min = 1,
     .max = MAX_REPEATS,
     .help = "of each figure; fewer for large tables"},
    {.name = "rows",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "100000",
     .min = 64,
     .max = 1 << 22,
     .help = "to predict; 64: no more than a sign of life"},
    {.name = NULL},
};

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float draw_value(struct rng *rng, size_t i_feature)
{
    if (i_feature % 5 == 4)
        return (float)rng_unit(rng);
    if (i_feature % 2 == 0)
        return (float)rng_below(rng, 2 + i_feature % 7);
    return (float)(1u << rng_below(rng, 2 + i_feature % 6));
}

/* A target with products, steps and noise, as log times have. */
static bool make_table(struct table *t, size_t n, size_t n_features, uint64_t seed)
{
    struct rng rng;

    *t = (struct table){malloc(n * n_features * sizeof(float)), malloc(n * sizeof(float)), n, n_features};
    rng_init(&rng, seed);
    for (size_t i = 0; t->rows && t->targets && i < n; i++) {
        float *row = t->rows + i * n_features, sum = 0.1f * (float)rng_unit(&rng);

        for (size_t j = 0; j < n_features; j++) {
            row[j] = draw_value(&rng, j);
            sum += row[j] * (j % 3 == 0 ? 0.3f : 0.05f) * (j > 0 && j % 4 == 0 ? row[j - 1] * 0.1f : 1);
        }
        t->targets[i] = logf(1 + sum);
    }
    return t->rows && t->targets;
}

static void drop_table(struct table *t)
{
    free(t->rows);
    free(t->targets);
}

struct field {
    const struct contender *who[MAX_CONTENDERS];
    size_t n;
};

static bool train_line(const struct field *f, size_t n, size_t n_features, const struct shape *shape, size_t repeats)
{
    double least[MAX_CONTENDERS], peer = INFINITY;
    struct table t;

    if (!make_table(&t, n, n_features, n))
        return false;
    for (size_t i = 0; i < f->n; i++)
        least[i] = INFINITY;
    for (size_t r = 0; r < repeats; r++)
        for (size_t i = 0; i < f->n; i++) {
            const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
            void *model = f->who[i]->train(&t, shape);

            least[i] = fmin(least[i], seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
            if (model)
                f->who[i]->drop(model);
        }
    printf("%8zu", n);
    for (size_t i = 0; i < f->n; i++) {
        printf(" %18.4f", least[i]);
        peer = i > 0 ? fmin(peer, least[i]) : peer;
    }
    if (f->n > 1)
        printf(" %8.2fx", peer / least[0]);
    printf("\n");
    fflush(stdout);
    drop_table(&t);
    return true;
}

static void print_names(const struct field *f, const char *first)
{
    printf("%8s", first);
    for (size_t i = 0; i < f->n; i++)
        printf(" %18s", f->who[i]->name);
    printf("%s\n", f->n > 1 ? "  faster peer / ours" : "");
}

static bool train_all(const struct field *f, const struct cli *c)
{
    const struct shape shape = {100, (size_t)cli_int(c, "depth"), 0.1};
    const size_t n_features = (size_t)cli_int(c, "features"), most = (size_t)cli_int(c, "max-rows");

    printf("training, seconds: 100 trees of depth %zu, %zu features\n", shape.depth, n_features);
    print_names(f, "rows");
    for (size_t n = (size_t)cli_int(c, "min-rows"); n <= most; n *= 4) {
        const size_t repeats = (size_t)cli_int(c, "repeats") * 16384 / (n + 16384) + 1;

        if (!train_line(f, n, n_features, &shape, repeats))
            return false;
    }
    return true;
}

/* Processor time for all rows in batches. */
static double time_batches(const struct contender *who, void *model, const struct table *t, size_t batch, float *scores)
{
    const size_t n = batch == 1 ? (t->n < 2000 ? t->n : 2000) : t->n;
    const double start = seconds(CLOCK_THREAD_CPUTIME_ID);

    for (size_t i = 0; i < n; i += batch)
        who->predict(model, t, i, n - i < batch ? n - i : batch, scores + i);
    return (seconds(CLOCK_THREAD_CPUTIME_ID) - start) / (double)n;
}

static void predict_line(const struct field *f, void *const *models, const struct table *t, size_t batch,
                         size_t repeats, float *scores)
{
    double least[MAX_CONTENDERS];

    for (size_t i = 0; i < f->n; i++)
        least[i] = INFINITY;
    for (size_t r = 0; r < repeats; r++)
        for (size_t i = 0; i < f->n; i++)
            least[i] = fmin(least[i], time_batches(f->who[i], models[i], t, batch, scores));
    printf("%8zu", batch);
    for (size_t i = 0; i < f->n; i++)
        printf(" %18.3f", batch == 1 ? least[i] * 1e6 : 1e-6 / least[i]);
    if (f->n > 1)
        printf(" %8.2fx", least[1] / least[0]);
    printf("  %s\n", batch == 1 ? "us a row" : "M rows/s");
    fflush(stdout);
}

/* Our own ways to read trees, each as far as this processor has it. */
static void path_lines(struct model *m, const struct table *t, size_t repeats, float *scores)
{
    const struct forest_path *best = m->fit.forest.path;

    printf("ours by path, batches of 4096, M rows/s of one thread:");
    for (size_t i = 0; forest_paths[i]; i++) {
        double least = INFINITY;

        if (!forest_paths[i]->is_supported())
            continue;
        m->fit.forest.path = forest_paths[i];
        for (size_t r = 0; r < repeats; r++)
            least = fmin(least, time_batches(&ours, m, t, 4096, scores));
        printf(" %s %.2f", forest_paths[i]->name, 1e-6 / least);
    }
    printf("\n");
    m->fit.forest.path = best;
}

static bool predict_all(const struct field *f, const struct cli *c)
{
    const struct shape shape = {300, (size_t)cli_int(c, "depth"), 0.1};
    const size_t n = (size_t)cli_int(c, "rows"), n_features = (size_t)cli_int(c, "features");
    const size_t repeats = (size_t)cli_int(c, "repeats") / 2 + 1;
    struct table train, test;
    void *models[MAX_CONTENDERS] = {0};
    float *scores = malloc(n * sizeof(*scores));
    bool good =
        make_table(&train, n < 1000 ? n : 16384, n_features, 1) && make_table(&test, n, n_features, 2) && scores;

    for (size_t i = 0; good && i < f->n; i++)
        good = (models[i] = f->who[i]->train(&train, &shape)) != NULL;
    printf("prediction: 300 trees of depth %zu, %zu features, processor time of one thread\n", shape.depth, n_features);
    print_names(f, "batch");
    for (size_t batch = 1; good && batch <= n; batch = batch == 1 ? 128 : batch == 128 ? 4096 : batch * 1000)
        predict_line(f, models, &test, batch, repeats, scores);
    if (good) {
        predict_line(f, models, &test, n, repeats, scores);
        path_lines(models[0], &test, repeats, scores);
    }
    for (size_t i = 0; i < f->n; i++)
        if (models[i])
            f->who[i]->drop(models[i]);
    drop_table(&train);
    drop_table(&test);
    free(scores);
    return good;
}

/* What a search does between measurements: 300 trees in all fitted to few of the rows of a coded table, then all of its
 * rows scored with their spread. */
static bool refit_line(const struct coded *table, const struct table *t, size_t n, size_t depth, size_t repeats)
{
    struct gbdt_options o = gbdt_defaults();
    const size_t n_all = t->n;
    uint32_t *rows = malloc(n * sizeof(*rows));
    float *own = malloc(n * sizeof(*own)), *scores = malloc(2 * n_all * sizeof(*scores));
    double fit = INFINITY, predict = INFINITY;
    bool good = rows && own && scores;

    o.n_forests = 4;
    o.n_trees = 75;
    o.max_depth = depth;
    for (size_t i = 0; good && i < n; i++) {
        rows[i] = (uint32_t)(i * 7919 % n_all);
        own[i] = t->targets[rows[i]];
    }
    for (size_t r = 0; good && r < repeats; r++) {
        const struct coded_data data = {.table = table, .rows = rows, .targets = own, .n = n};
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        struct model *m = NULL;

        good = gbdt_new(&m, r, &o) == ERR_OK && gbdt_fit_coded(m, &data) == ERR_OK;
        fit = fmin(fit, seconds(CLOCK_THREAD_CPUTIME_ID) - start);
        start = seconds(CLOCK_THREAD_CPUTIME_ID);
        good = good && gbdt_ops.predict(m, t->rows, n_all, scores, scores + n_all) == ERR_OK;
        predict = fmin(predict, seconds(CLOCK_THREAD_CPUTIME_ID) - start);
        gbdt_ops.fini(m);
    }
    printf("%8zu %8zu %10.2f %10.2f\n", n, depth, fit * 1e3, predict * 1e3);
    free(rows);
    free(own);
    free(scores);
    return good;
}

static bool refit_all(const struct cli *c)
{
    const size_t n = (size_t)cli_int(c, "rows") < 18000 ? (size_t)cli_int(c, "rows") : 18000;
    struct coded *table = NULL;
    struct table t;
    bool good =
        make_table(&t, n, (size_t)cli_int(c, "features"), 3) && coded_new(&table, t.rows, t.n, t.n_features) == ERR_OK;

    printf("refit: 4 forests of 75 trees on some rows of a coded table, then all %zu scored, ms of processor time\n",
           n);
    printf("%8s %8s %10s %10s\n", "rows", "depth", "fit", "score all");
    for (size_t depth = 3; good && depth <= 6; depth++)
        for (size_t n_fit = 16; good && n_fit <= 400 && n_fit <= n; n_fit *= 5)
            good = refit_line(table, &t, n_fit, depth, (size_t)cli_int(c, "repeats"));
    coded_free(table);
    drop_table(&t);
    return good;
}

static void add(struct field *f, const struct contender *who, const char *path)
{
    if (who->open(path))
        f->who[f->n++] = who;
}

int main(int argc, char **argv)
{
    struct cli c;
    struct why why = {""};
    struct field f = {.n = 0};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (e || c.help) {
        fprintf(stderr, "bench_trees: %s\n", c.help ? "see the options at the head of bench_trees.c" : why.text);
        cli_fini(&c);
        return e ? 2 : 0;
    }
    add(&f, &ours, NULL);
    if (cli_text(&c, "xgboost"))
        add(&f, &xgboost, cli_text(&c, "xgboost"));
    if (cli_text(&c, "lightgbm")) {
        add(&f, &lightgbm_31, cli_text(&c, "lightgbm"));
        add(&f, &lightgbm_64, cli_text(&c, "lightgbm"));
    }
    if (!train_all(&f, &c) || !predict_all(&f, &c) || !refit_all(&c)) {
        fprintf(stderr, "bench_trees: a contender failed, or memory\n");
        e = ERR_NOMEM;
    }
    cli_fini(&c);
    return e ? 1 : 0;
}
