/* costmodel_bench - fits a cost model on one CSV file of measured configs and predicts another one.
 * CSV: knobs..., time_ms, status; one config a row, time_ms empty when it failed. Features: the knobs, and the log2 of
 * those that are positive in all training rows. Target: ln time; a failed config counts as the slowest one.
 * Writes one score a line (lower = faster) to --pred; says on standard error how long fit and prediction took, in
 * processor time. */
#include "core/cli.h"
#include "core/file.h"
#include "cost_model/gbdt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_COLUMNS 64
#define MAX_CSV_BYTES (256u << 20)

/* Processor time of this process: the machine may be busy with other things. */
static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const struct cli_option options[] = {
    {.name = "train", .kind = CLI_TEXT, .argument = "CSV", .help = "measured configs to learn from"},
    {.name = "test", .kind = CLI_TEXT, .argument = "CSV", .help = "configs to predict"},
    {.name = "pred", .kind = CLI_TEXT, .argument = "FILE", .help = "where the scores go"},
    {.name = "model", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "gbdt", .help = "one of the table"},
    {.name = "seed", .kind = CLI_INT, .argument = "N", .otherwise = "0", .help = "of the model"},
    {.name = "forests", .kind = CLI_INT, .argument = "N", .min = 1, .max = 64, .help = "gbdt: number of forests"},
    {.name = "trees", .kind = CLI_INT, .argument = "N", .min = 1, .max = 4096, .help = "gbdt: trees in each"},
    {.name = "depth", .kind = CLI_INT, .argument = "N", .min = 1, .max = 7, .help = "gbdt: depth of trees"},
    {.name = "rate", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1, .help = "gbdt: shrinkage"},
    {.name = "rows", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1, .help = "gbdt: share of rows a tree"},
    {.name = "columns", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1, .help = "gbdt: share of columns"},
    {.name = "l2", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1e9, .help = "gbdt: penalty of leaves"},
    {.name = "min-child", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1e9, .help = "gbdt: least leaf"},
    {.name = NULL},
};

struct table {
    size_t n, n_knobs;
    double *knobs;   /* [n][n_knobs] */
    double *time_ms; /* [n], NAN = failed */
};

static double number(const char *text)
{
    char *end;
    const double v = strtod(text, &end);

    return end == text ? (double)NAN : v;
}

/* Splits one line in place; returns the number of fields. */
static size_t fields_of(char *line, char *fields[MAX_COLUMNS])
{
    size_t n = 0;

    while (n < MAX_COLUMNS) {
        fields[n++] = line;
        line = strchr(line, ',');
        if (!line)
            break;
        *line++ = '\0';
    }
    return n;
}

static enum err parse(char *text, struct table *t, struct why *why)
{
    char *save, *fields[MAX_COLUMNS], *line = strtok_r(text, "\r\n", &save);
    size_t n_columns = line ? fields_of(line, fields) : 0, n_room = 0;

    if (n_columns < 3 || strcmp(fields[n_columns - 2], "time_ms") != 0)
        return why_set(why, ERR_INPUT, "the header does not end in time_ms,status");
    t->n_knobs = n_columns - 2;
    for (const char *c = save; c && *c; c++)
        n_room += *c == '\n';
    t->knobs = malloc((n_room + 1) * t->n_knobs * sizeof(double));
    t->time_ms = malloc((n_room + 1) * sizeof(double));
    if (!t->knobs || !t->time_ms)
        return ERR_NOMEM;
    while ((line = strtok_r(NULL, "\r\n", &save)) && t->n <= n_room) {
        if (fields_of(line, fields) != n_columns)
            return why_set(why, ERR_INPUT, "row %zu does not have %zu fields", t->n + 1, n_columns);
        for (size_t i = 0; i < t->n_knobs; i++)
            t->knobs[t->n * t->n_knobs + i] = number(fields[i]);
        t->time_ms[t->n++] = number(fields[n_columns - 2]);
    }
    return ERR_OK;
}

static enum err table_read(const char *path, struct table *t, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, MAX_CSV_BYTES);
    e = file_read(path, &text, why);
    if (e == ERR_OK)
        e = text.data ? parse(text.data, t, why) : ERR_INPUT;
    buf_fini(&text);
    return e;
}

static void table_fini(struct table *t)
{
    free(t->knobs);
    free(t->time_ms);
}

/* The knobs, then the log2 of those marked positive. */
static float *features(const struct table *t, const bool *positive, size_t *n_features)
{
    float *rows = malloc((t->n + 1) * 2 * t->n_knobs * sizeof(float));
    size_t n = 0;

    for (size_t i = 0; rows && i < t->n; i++) {
        const double *knobs = t->knobs + i * t->n_knobs;

        for (size_t j = 0; j < t->n_knobs; j++)
            rows[n++] = (float)knobs[j];
        for (size_t j = 0; j < t->n_knobs; j++)
            if (positive[j])
                rows[n++] = knobs[j] > 0 ? (float)log2(knobs[j]) : NAN;
    }
    *n_features = t->n > 0 ? n / t->n : 0;
    return rows;
}

static float *targets_of(const struct table *t)
{
    float *targets = malloc((t->n + 1) * sizeof(float));
    double worst = 0;

    for (size_t i = 0; i < t->n; i++)
        worst = t->time_ms[i] > worst ? t->time_ms[i] : worst;
    worst = worst > 0 ? worst : 1;
    for (size_t i = 0; targets && i < t->n; i++)
        targets[i] = (float)log(t->time_ms[i] > 0 ? t->time_ms[i] : worst);
    return targets;
}

static enum err new_model(const struct cli *c, const struct model_ops *ops, struct model **m)
{
    struct gbdt_options o = gbdt_defaults();
    const uint64_t seed = (uint64_t)cli_int(c, "seed");

    if (ops != &gbdt_ops)
        return ops->init(m, seed);
    if (cli_get(c, "forests")->given)
        o.n_forests = (size_t)cli_int(c, "forests");
    if (cli_get(c, "trees")->given)
        o.n_trees = (size_t)cli_int(c, "trees");
    if (cli_get(c, "depth")->given)
        o.max_depth = (size_t)cli_int(c, "depth");
    if (cli_get(c, "rate")->given)
        o.rate = cli_real(c, "rate");
    if (cli_get(c, "rows")->given)
        o.row_share = cli_real(c, "rows");
    if (cli_get(c, "columns")->given)
        o.column_share = cli_real(c, "columns");
    if (cli_get(c, "l2")->given)
        o.l2 = cli_real(c, "l2");
    if (cli_get(c, "min-child")->given)
        o.min_child = cli_real(c, "min-child");
    return gbdt_new(m, seed, &o);
}

static enum err write_scores(const char *path, const float *scores, size_t n, struct why *why)
{
    struct buf out;
    enum err e;

    buf_init(&out, MAX_CSV_BYTES);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%.9g\n", (double)scores[i]);
    e = out.failed ? out.failed : file_replace(path, buf_text(&out), out.len, 0644, why);
    buf_fini(&out);
    return e;
}

struct bench {
    struct table train, test;
    float *train_rows, *targets, *test_rows, *scores;
    size_t n_features;
};

static enum err prepare(struct bench *b, const struct cli *c, struct why *why)
{
    bool positive[MAX_COLUMNS] = {false};
    enum err e = table_read(cli_text(c, "train"), &b->train, why);

    if (e == ERR_OK)
        e = table_read(cli_text(c, "test"), &b->test, why);
    if (e)
        return e;
    if (b->train.n == 0 || b->train.n_knobs != b->test.n_knobs)
        return why_set(why, ERR_INPUT, "the training file is empty or has other columns than the test file");
    for (size_t j = 0; j < b->train.n_knobs; j++) {
        positive[j] = true;
        for (size_t i = 0; i < b->train.n; i++)
            positive[j] = positive[j] && b->train.knobs[i * b->train.n_knobs + j] > 0;
    }
    b->test_rows = features(&b->test, positive, &b->n_features);
    b->train_rows = features(&b->train, positive, &b->n_features);
    b->targets = targets_of(&b->train);
    b->scores = malloc((b->test.n + 1) * sizeof(float));
    return b->train_rows && b->test_rows && b->targets && b->scores ? ERR_OK : ERR_NOMEM;
}

static enum err run(struct bench *b, const struct cli *c, struct why *why)
{
    const struct model_ops *ops = model_find(cli_text(c, "model"));
    const struct model_data data = {b->train_rows, b->targets, NULL, b->train.n, b->n_features};
    struct model *m = NULL;
    int64_t start_ns, fitted_ns, end_ns;
    enum err e;

    if (!ops)
        return why_set(why, ERR_INPUT, "no cost model is called %s", cli_text(c, "model"));
    e = new_model(c, ops, &m);
    if (e)
        return e;
    start_ns = cpu_ns();
    e = ops->fit(m, &data);
    fitted_ns = cpu_ns();
    if (e == ERR_OK)
        e = ops->predict(m, b->test_rows, b->test.n, b->scores, NULL);
    end_ns = cpu_ns();
    ops->fini(m);
    fprintf(stderr, "fit of %zu rows x %zu features %.2f ms; prediction %.3f M rows/s\n", data.n, data.n_features,
            (double)(fitted_ns - start_ns) * 1e-6, (double)b->test.n * 1e3 / (double)(end_ns - fitted_ns));
    return e ? e : write_scores(cli_text(c, "pred"), b->scores, b->test.n, why);
}

int main(int argc, char **argv)
{
    struct cli c;
    struct why why = {""};
    struct bench b = {0};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (e == ERR_OK && !(cli_text(&c, "train") && cli_text(&c, "test") && cli_text(&c, "pred")))
        e = why_set(&why, ERR_INPUT, "--train, --test and --pred are needed");
    if (e == ERR_OK)
        e = prepare(&b, &c, &why);
    if (e == ERR_OK)
        e = run(&b, &c, &why);
    if (e)
        fprintf(stderr, "bench_costmodel: %s\n", why.text[0] ? why.text : err_words(e));
    table_fini(&b.train);
    table_fini(&b.test);
    free(b.train_rows);
    free(b.test_rows);
    free(b.targets);
    free(b.scores);
    cli_fini(&c);
    return e ? 1 : 0;
}
