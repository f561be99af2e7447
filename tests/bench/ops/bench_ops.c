/* SPDX-License-Identifier: MIT */
/* bench_ops - one workload after another: our kernels beside oneDNN, onnxruntime, OpenBLAS, CLBlast and plain C, in
 * rounds of all contenders, each slot next to the core's peaks. Prints a table for each workload; --json adds lines. */
#include "core/cli.h"
#include "tests/bench/ops/bench.h"
#ifdef HAVE_CUDA_LIBS
#include "tests/bench/ops/cuda_libs.h"
#endif
#include "tests/bench/ops/ours.h"
#include "tests/bench/ops/peak.h"
#include "tests/bench/ops/place.h"
#include "tests/bench/ops/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_GIVEN 32
#define LOW_INTENSITY 16 /* FLOP a byte; below, memory may be what bounds the work */

static const struct cli_option options[] = {
    {.name = "ours",
     .kind = CLI_TEXT,
     .argument = "CONFIG",
     .help = "\"TEMPLATE knob=value ... [layout=nchw16c]\"; repeatable"},
    {.name = "log", .kind = CLI_TEXT, .argument = "FILE", .help = "a best log: its configs take part; repeatable"},
    {.name = "no-defaults", .kind = CLI_FLAG, .help = "without the default configs of our templates"},
    {.name = "layouts",
     .kind = CLI_TEXT,
     .argument = "LIST",
     .help = "of ours: own,nchw16c by default (i8: nchw4c too)"},
    {.name = "with",
     .kind = CLI_TEXT,
     .argument = "LIST",
     .otherwise = "",
     .help = "slow ones: clblast, naive, possible (templates that do not fit best)"},
    {.name = "without",
     .kind = CLI_TEXT,
     .argument = "LIST",
     .otherwise = "",
     .help = "leave out onednn, openblas, ort, csr, cudnn, cublas, cusparse"},
    {.name = "threads",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "1",
     .min = 1,
     .max = 1024,
     .help = "threads, on as many CPUs (the last ones)"},
    {.name = "own-events",
     .kind = CLI_FLAG,
     .help = "ours by the device's events: as in a queue that does not run dry, without a lone call's start and wait"},
    {.name = "rounds",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "7",
     .min = 1,
     .max = MAX_ROUNDS,
     .help = "rounds of all contenders"},
    {.name = "slot",
     .kind = CLI_INT,
     .argument = "MS",
     .otherwise = "20",
     .min = 0,
     .max = 10000,
     .help = "least time of a contender in a round"},
    {.name = "patience", .kind = CLI_DURATION, .argument = "TIME", .otherwise = "20s", .help = "of a contender in all"},
    {.name = "device", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "opencl", .help = "opencl[:P.D] or cuda[:I]"},
    {.name = "json", .kind = CLI_TEXT, .argument = "FILE", .help = "appends a line for each contender"},
    {.name = "python",
     .kind = CLI_TEXT,
     .argument = "FILE",
     .otherwise = BENCH_OPS_PEERS "/bin/python",
     .help = "a Python with onnxruntime"},
    {.name = "no-verify", .kind = CLI_FLAG, .help = "do not check our results before"},
    {.name = "table",
     .kind = CLI_FLAG,
     .help = "prints one table of the --json files that are given; measures nothing"},
    {.name = "smoke", .kind = CLI_FLAG, .help = "tiny workloads, two rounds"},
    {.name = NULL},
};

static const struct {
    const char *name;
    make_contender *make;
    bool asked; /* only takes part when asked for */
} peers[] = {
#ifdef HAVE_ONEDNN
    {"onednn", onednn_plain, false},    {"onednn", onednn_reordered, false},  {"onednn", onednn_blocked, false},
    {"onednn", onednn_ip_plain, false}, {"onednn", onednn_ip_blocked, false}, {"onednn", onednn_s8s8, false},
#endif
#ifdef HAVE_CUDA_LIBS
    {"cudnn", cudnn_conv, false},       {"cudnn", cudnn_rnn, false},          {"cublas", cublas, false},
    {"cusparse", cusparse, false},
#endif
    {"ort", onnxruntime, false},        {"openblas", openblas, false},        {"csr", csr, false},
    {"clblast", clblast, true},
};

static const char *const tiny[] = {"conv2d f32 n=2 c=16 h=14 w=14 k=16 r=3 s=3 pad=1", "dense f32 m=16 n=64 k=64",
                                   NULL};

struct program_options {
    const struct cli *cli;
    struct best_set *best;
    FILE *json;
    bool verify;
};

/* Is `word` one of the comma-separated list? */
static bool listed(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

static struct contender *next(struct bench *b)
{
    struct contender *c = &b->contenders[b->n];

    memset(c, 0, sizeof *c);
    return c;
}

/* Takes the contender that was just made into the bench, or says why not. The first run compiles. */
static void admit(struct bench *b, enum err e, struct why *why)
{
    struct contender *c = &b->contenders[b->n];

    if (!e && c->run)
        e = c->run(c, why);
    if (!e && b->n + 1 < MAX_CONTENDERS) {
        b->n++;
        return;
    }
    if (e != ERR_UNSUPPORTED)
        printf("not there: %s%s%s\n", c->name, c->name[0] ? ": " : "", why->text[0] ? why->text : err_words(e));
    if (c->fini)
        c->fini(c);
    why->text[0] = '\0';
}

static void admit_peers(struct bench *b, const struct cli *c)
{
    struct why why = {""};

    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if (listed(cli_text(c, "without"), peers[i].name) || listed(cli_text(c, "without"), "peers") ||
            (peers[i].asked && !listed(cli_text(c, "with"), peers[i].name)))
            continue;
        place_known();
        admit(b, peers[i].make(&b->task, next(b), &why), &why);
        place_new(1);
    }
#ifndef HAVE_ONEDNN
    printf("not there: oneDNN: not built with it (scripts/install_deps.sh --bench installs it)\n");
#endif
}

/* Does the default config of a template with this fit take part, beside others whose best is `best`? */
static bool wanted(const struct cli *c, enum fit fit, enum fit best)
{
    if (fit == FIT_BASELINE)
        return listed(cli_text(c, "with"), "naive");
    return fit != FIT_NONE && (fit == best || listed(cli_text(c, "with"), "possible"));
}

static void admit_defaults(struct bench *b, const struct program_options *o, const char *text)
{
    const struct template *const *templates = ours_templates(text);
    enum fit best = FIT_NONE;
    struct why why = {""};

    for (size_t i = 0; templates && templates[i]; i++) {
        const enum fit fit = ours_fit(&b->task, text, templates[i]);

        best = fit > best ? fit : best;
    }
    for (size_t i = 0; templates && templates[i]; i++)
        if (wanted(o->cli, ours_fit(&b->task, text, templates[i]), best)) {
            next(b)->ours = true;
            admit(b, ours_default(&b->task, text, templates[i], o->verify, &b->contenders[b->n], &why), &why);
        }
}

/* Defaults and tuned configs for the workload in one layout. */
static void admit_templates(struct bench *b, const struct program_options *o, const char *text)
{
    struct why why = {""};

    if (o->best && best_find(o->best, text, NULL)) {
        next(b)->ours = true;
        admit(b, ours_best(&b->task, text, o->best, o->verify, &b->contenders[b->n], &why), &why);
    }
    if (!cli_flag(o->cli, "no-defaults"))
        admit_defaults(b, o, text);
}

/* The same convolution with dense weights: what a sparse kernel shall beat. Others: false. */
static bool dense_form(const struct task *t, char out[WORKLOAD_MAX_TEXT])
{
    char a[WORKLOAD_MAX_TEXT], b[WORKLOAD_MAX_TEXT];

    return strncmp(t->text, "sparse_conv2d ", 14) == 0 && !text_with(t->text + 7, "sparsity", "", a, sizeof a) &&
           !text_with(a, "seed", "", b, sizeof b) && !text_with(b, "weights", "", out, WORKLOAD_MAX_TEXT);
}

/* The workload in each of the layouts that are compared. */
static void admit_layouts(struct bench *b, const struct program_options *o, const char *text)
{
    const bool whole = dtype_is_bytes(b->task.workload.dtype);
    const char *at = cli_text(o->cli, "layouts");
    char layout[32], with[WORKLOAD_MAX_TEXT], variant[WORKLOAD_MAX_TEXT];
    struct why why = {""};

    for (at = at ? at : whole ? "own,nchw4c,nchw16c" : "own,nchw16c"; *at; at += strcspn(at, ","), at += *at == ',') {
        snprintf(layout, sizeof layout, "%.*s", (int)strcspn(at, ","), at);
        if (strcmp(layout, "own") == 0)
            snprintf(with, sizeof with, "%s", text);
        else if (text_with(text, "layout", layout, with, sizeof with))
            continue;
        if (text_canonical(with, variant, &why))
            continue; /* the operator has no such layout, or it does not divide the channels */
        if (strcmp(layout, "own") == 0 || strcmp(variant, text) != 0)
            admit_templates(b, o, variant);
    }
}

static void admit_ours(struct bench *b, const struct program_options *o)
{
    const char *given[MAX_GIVEN];
    const int n = cli_texts(o->cli, "ours", given, MAX_GIVEN);
    char dense[WORKLOAD_MAX_TEXT];
    struct why why = {""};

    for (int i = 0; i < n && i < MAX_GIVEN; i++) {
        next(b)->ours = true;
        admit(b, ours_given(&b->task, given[i], o->verify, &b->contenders[b->n], &why), &why);
    }
    admit_layouts(b, o, b->task.text);
    if (dense_form(&b->task, dense))
        admit_layouts(b, o, dense);
}

static enum err bench_workload(struct bench *b, const struct program_options *o, const char *text, struct why *why)
{
    enum err e = task_init(&b->task, text, why);

    b->n = 0;
    if (!e) {
        b->reads = b->task.flops / b->task.bytes_min < LOW_INTENSITY;
        printf("### `%s`\n\n", b->task.text);
        admit_peers(b, o->cli);
        admit_ours(b, o);
        fflush(stdout);
        e = b->n ? bench_compare(b, why) : why_set(why, ERR_NOT_FOUND, "nobody computes %s here", b->task.text);
    }
    if (!e) {
        bench_run(b);
        bench_print(b, stdout);
        if (o->json)
            e = bench_json(b, o->json);
    }
    for (size_t i = 0; i < b->n; i++)
        b->contenders[i].fini(&b->contenders[i]);
    task_fini(&b->task);
    return e;
}

static enum err open_device(struct bench *b, const struct cli *c, struct why *why)
{
    struct task *t = &b->task;
    enum err e = device_parse(cli_text(c, "device"), &t->ops, &t->selector, why);

    place_known();
    /* Of cuBLAS and cuDNN all kernels would be loaded, for seconds, when a handle is made; no TF32 whatever is asked.
     */
    setenv("CUDA_MODULE_LOADING", "LAZY", 0);
    setenv("NVIDIA_TF32_OVERRIDE", "0", 0);
    if (!e)
        e = t->ops->open(t->selector, &t->device, why);
    b->on_host = !e && t->ops->describe(t->device)->kind == DEVICE_CPU;
    place_new(0);
    place_openmp();
    if (!e)
        printf(
            "Device: %s, %s (%s); %d thread%s of %ld CPUs. Medians of %d rounds; ratios are medians over the rounds. "
            "Weights are packed beforehand by everybody but OpenBLAS and CLBlast.%s\n\n",
            t->ops->describe(t->device)->name, t->ops->describe(t->device)->driver,
            t->ops->describe(t->device)->platform_version, t->threads, t->threads == 1 ? "" : "s",
            sysconf(_SC_NPROCESSORS_ONLN), b->rounds, t->own_events ? " Ours by the device's own events." : "");
    return e;
}

static bool add_record(const struct record *r, const char *line, size_t n_line, void *arg)
{
    (void)line;
    (void)n_line;
    return best_add(arg, r) == ERR_OK;
}

static enum err open_files(struct program_options *o, struct why *why)
{
    const char *logs[MAX_GIVEN];
    const int n = cli_texts(o->cli, "log", logs, MAX_GIVEN);
    enum err e = n ? best_new(&o->best) : ERR_OK;

    for (int i = 0; !e && i < n && i < MAX_GIVEN; i++)
        e = log_scan(logs[i], add_record, NULL, o->best, why);
    if (!e && cli_text(o->cli, "json")) {
        o->json = fopen(cli_text(o->cli, "json"), "a");
        if (!o->json)
            e = why_set(why, ERR_IO, "%s: cannot be written", cli_text(o->cli, "json"));
    }
    return e;
}

static enum err bench_all(struct bench *b, struct program_options *o, struct why *why)
{
    const struct cli *c = o->cli;
    enum err e = open_files(o, why), first = ERR_OK;

    if (!e)
        e = open_device(b, c, why);
    for (int i = 0; !e && i < c->n_rest; i++) {
        const enum err failed = bench_workload(b, o, c->rest[i], why);

        first = first ? first : failed;
        if (failed && i + 1 < c->n_rest)
            fprintf(stderr, "bench_ops: %s\n", why->text);
    }
    for (const char *const *w = tiny; !e && !c->n_rest && *w; w++)
        e = bench_workload(b, o, *w, why);
    if (b->task.device)
        b->task.ops->close(b->task.device);
    if (o->json)
        fclose(o->json);
    best_free(o->best);
    peak_fini();
    return e ? e : first;
}

static void set_up(struct bench *b, struct program_options *o, const struct cli *c)
{
    onnxruntime_python(cli_text(c, "python"));
    b->rounds = cli_flag(c, "smoke") ? 2 : (int)cli_int(c, "rounds");
    b->slot_ns = cli_flag(c, "smoke") ? 100000 : cli_int(c, "slot") * 1000000;
    b->patience_ns = cli_real(c, "patience") * 1e9;
    b->task.threads = (int)cli_int(c, "threads");
    b->task.own_events = cli_flag(c, "own-events");
    o->cli = c;
    o->verify = !cli_flag(c, "no-verify");
}

static void help(void)
{
    struct buf text;

    buf_init(&text, 65536);
    cli_help(options, "bench_ops [WORKLOAD...]", "Our kernels beside oneDNN, onnxruntime, OpenBLAS and CLBlast.",
             "bench_ops \"dense f32 m=64 n=2048 k=512\" --ours \"dense/gemm_packed mr=8\"", &text);
    fputs(buf_text(&text), stdout);
    buf_fini(&text);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct program_options o = {0};
    struct cli c;
    struct why why = {""};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (!e && c.help) {
        help();
    } else if (!e && cli_flag(&c, "table")) {
        e = summary_print(c.rest, c.n_rest, stdout, &why);
    } else if (!e && !c.n_rest && !cli_flag(&c, "smoke")) {
        e = why_set(&why, ERR_INPUT, "no workload; expected e.g. \"dense f32 m=64 n=2048 k=512\"");
    } else if (!e) {
        set_up(&b, &o, &c);
        place_restart(b.task.threads, argv);
        place_process(b.task.threads);
        e = bench_all(&b, &o, &why);
    }
    cli_fini(&c);
    if (e)
        fprintf(stderr, "bench_ops: %s\n", why.text[0] ? why.text : err_words(e));
    return e != ERR_OK;
}
