/* bench_peers - our kernels beside OpenBLAS and CLBlast, in one process: in every round each contender runs once, next
 * to the core's FMA peak, so that a busy machine is busy for all of them. Prints a table for each workload. */
#include "agent/canary.h"
#include "agent/timing.h"
#include "core/cli.h"
#include "core/clock.h"
#include "tests/bench/peers/contender.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CALLS 256
#define PEAK_MS 8
#define WRONG_OVER 1e-4
#define PATIENCE_NS 1e10 /* of one contender: then it leaves, after one round at least */

static const struct cli_option options[] = {
    {.name = "rounds",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "15",
     .min = 1,
     .max = MAX_ROUNDS,
     .help = "rounds of all contenders"},
    {.name = "slot",
     .kind = CLI_INT,
     .argument = "MS",
     .otherwise = "10",
     .min = 0,
     .max = 10000,
     .help = "least time of a contender in a round"},
    {.name = "threads",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "1",
     .min = 1,
     .max = 1024,
     .help = "threads, on as many CPUs (the last ones)"},
    {.name = "device", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "opencl", .help = "opencl or opencl:P.D"},
    {.name = "log", .kind = CLI_TEXT, .argument = "FILE", .help = "a best log: its configs take part"},
    {.name = "without", .kind = CLI_TEXT, .argument = "PEER", .help = "leave out openblas or clblast"},
    {.name = "smoke", .kind = CLI_FLAG, .help = "two tiny workloads, two rounds"},
    {.name = NULL},
};

static const char *const layers[] = {"conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 pad=1",
                                     "dense f32 m=64 n=2048 k=512", NULL};
static const char *const tiny[] = {"conv2d f32 n=2 c=8 h=14 w=14 k=16 r=3 s=3 pad=1", "dense f32 m=16 n=64 k=64", NULL};

struct bench {
    const struct cli *cli;
    struct task task;
    struct canary *canary;
    struct contender contenders[MAX_CONTENDERS];
    size_t n;
    int rounds;
    double peak[MAX_ROUNDS]; /* FLOP per ns */
};

/* The process, and with it the threads that runtimes start later, onto the last `threads` CPUs that it may use. */
static void pin_process(int threads)
{
    cpu_set_t may, chosen;
    char text[16];

    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof may, &may) == 0) {
        for (int i = CPU_SETSIZE - 1, left = threads; i >= 0 && left > 0; i--)
            if (CPU_ISSET(i, &may)) {
                CPU_SET(i, &chosen);
                left--;
            }
        (void)sched_setaffinity(0, sizeof chosen, &chosen);
    }
    snprintf(text, sizeof text, "%d", threads);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 1);
    setenv("POCL_AFFINITY", "0", 1);
    setenv("OPENBLAS_NUM_THREADS", text, 1);
}

static enum err task_data(struct task *t)
{
    struct tensor tensors[OPERATOR_MAX_TENSORS];
    const struct program_fill x = {.kind = FILL_NORMAL, .seed = SEED_X_RANDOM, .lo = 0, .hi = 1};
    const struct program_fill w = {.kind = FILL_NORMAL, .seed = SEED_W_RANDOM, .lo = 0, .hi = 0.0625};
    enum err e;

    t->workload.op->tensors(&t->workload, tensors); /* x, w, y in both operators */
    t->n_x = tensors[0].n_elems;
    t->n_w = tensors[1].n_elems;
    t->n_y = tensors[2].n_elems;
    t->x = malloc((size_t)t->n_x * sizeof *t->x);
    t->w = malloc((size_t)t->n_w * sizeof *t->w);
    if (!t->x || !t->w)
        return ERR_NOMEM;
    e = fill_elems(&x, DTYPE_F32, t->x, t->n_x, NULL);
    return e ? e : fill_elems(&w, DTYPE_F32, t->w, t->n_w, NULL);
}

static enum err task_init(struct task *t, const char *text, struct why *why)
{
    struct buf canonical;
    enum err e = workload_parse(text, &t->workload, why);

    t->x = t->w = NULL;
    if (e)
        return e;
    t->conv = t->workload.op == &operator_conv2d;
    e = t->conv ? conv_supported(&t->workload, why) : dense_supported(&t->workload, why);
    if (e)
        return e;
    if (t->conv)
        t->conv_shape = conv_shape_of(&t->workload);
    else
        t->dense_shape = dense_shape_of(&t->workload);
    t->flops = t->workload.op->flops(&t->workload);
    buf_init(&canonical, sizeof t->text);
    e = workload_text(&t->workload, &canonical);
    if (!e)
        snprintf(t->text, sizeof t->text, "%s", buf_text(&canonical));
    buf_fini(&canonical);
    return e ? e : task_data(t);
}

static void task_fini(struct task *t)
{
    free(t->x);
    free(t->w);
    t->x = t->w = NULL;
}

/* Takes the contender that was just made into the bench, or says why not. The first run compiles. */
static void admit(struct bench *b, enum err e, struct why *why)
{
    struct contender *c = &b->contenders[b->n];

    if (!e)
        e = c->run(c, why);
    if (!e) {
        b->n++;
        return;
    }
    printf("not there: %s%s%s\n", c->name, c->name[0] ? ": " : "", why->text[0] ? why->text : err_words(e));
    if (c->fini)
        c->fini(c);
    memset(c, 0, sizeof *c);
}

static void admit_peers(struct bench *b)
{
    const char *without = cli_text(b->cli, "without") ? cli_text(b->cli, "without") : "";
    struct why why = {""};

    if (strcmp(without, "openblas") != 0)
        admit(b, openblas(&b->task, &b->contenders[b->n], &why), &why);
    why.text[0] = '\0';
    if (strcmp(without, "clblast") != 0)
        admit(b, clblast(&b->task, &b->contenders[b->n], &why), &why);
}

static void admit_ours(struct bench *b)
{
    const struct device_desc *d = b->task.ops->describe(b->task.device);
    struct why why = {""};

    for (size_t i = 0; template_table[i] && b->n + 1 < MAX_CONTENDERS; i++) {
        const struct template *t = template_table[i];

        why.text[0] = '\0';
        if (strcmp(t->operator_name, b->task.workload.op->name) == 0 &&
            t->fit(&b->task.workload, d, &why) > FIT_BASELINE)
            admit(b, ours_default(&b->task, t, &b->contenders[b->n], &why), &why);
    }
    why.text[0] = '\0';
    if (cli_text(b->cli, "log"))
        admit(b, ours_best(&b->task, cli_text(b->cli, "log"), &b->contenders[b->n], &why), &why);
}

/* max |y - y of the first| / max |y of the first|, NaN counting as infinite. */
static double difference(const float *y, const float *first, int64_t n)
{
    double most = 0, scale = 0;

    for (int64_t i = 0; i < n; i++) {
        const double d = fabs((double)y[i] - (double)first[i]);

        most = isnan(d) ? INFINITY : fmax(most, d);
        scale = fmax(scale, fabs((double)first[i]));
    }
    return scale > 0 ? most / scale : INFINITY;
}

static enum err compare(struct bench *b, struct why *why)
{
    const int64_t n = b->task.n_y;
    float *first = malloc((size_t)n * sizeof *first), *y = malloc((size_t)n * sizeof *y);
    enum err e = first && y ? b->contenders[0].output(&b->contenders[0], first, why) : ERR_NOMEM;

    for (size_t i = 0; !e && i < b->n; i++) {
        e = b->contenders[i].output(&b->contenders[i], y, why);
        if (!e)
            b->contenders[i].difference = difference(y, first, n);
    }
    free(first);
    free(y);
    return e;
}

static enum err call(struct contender *c, double *ns, struct why *why)
{
    const int64_t start_ns = clock_now_ns();
    const enum err e = c->run(c, why);

    *ns = (double)(clock_now_ns() - start_ns);
    c->spent_ns += *ns;
    return e;
}

/* Median of the calls of one slot, one untimed call before. */
static enum err slot(struct contender *c, int64_t least_ns, double *ns, struct why *why)
{
    const int64_t start_ns = clock_now_ns();
    double calls[MAX_CALLS];
    enum err e = call(c, &calls[0], why);
    int n = 0;

    while (!e && n < MAX_CALLS && (n == 0 || clock_now_ns() - start_ns < least_ns)) {
        e = call(c, &calls[n], why);
        if (!e && (c->least_ns <= 0 || calls[n] < c->least_ns))
            c->least_ns = calls[n];
        n++;
    }
    if (!e)
        *ns = timing_median(calls, n);
    return e;
}

static bool enough_of(const struct contender *c)
{
    return c->n_rounds > 0 && c->spent_ns > PATIENCE_NS;
}

static enum err round_of(struct bench *b, int i_round, struct why *why)
{
    const int64_t least_ns = cli_int(b->cli, "slot") * 1000000;
    double ns;
    enum err e = canary_time(b->canary, PEAK_MS, &ns, why);

    if (e)
        return e;
    b->peak[i_round] = canary_flops(b->canary) / ns;
    for (size_t i = 0; !e && i < b->n; i++) {
        struct contender *c = &b->contenders[i];

        if (enough_of(c))
            continue;
        e = slot(c, least_ns, &c->ns[c->n_rounds], why);
        if (!e)
            c->share[c->n_rounds] = b->task.flops / c->ns[c->n_rounds] / b->peak[i_round];
        c->n_rounds++;
    }
    return e;
}

static double median_of(const double *values, int n)
{
    double copy[MAX_ROUNDS];

    memcpy(copy, values, (size_t)n * sizeof *copy);
    return timing_median(copy, n);
}

static bool right(const struct contender *c)
{
    return c->difference <= WRONG_OVER;
}

/* The fastest right peer's time; 0 when there is none. */
static double best_peer_ns(const struct bench *b)
{
    double best = 0;

    for (size_t i = 0; i < b->n; i++) {
        const double ns = median_of(b->contenders[i].ns, b->contenders[i].n_rounds);

        if (b->contenders[i].peer && right(&b->contenders[i]) && (best <= 0 || ns < best))
            best = ns;
    }
    return best;
}

static void print_row(const struct bench *b, const struct contender *c, double peer_ns)
{
    const double ns = median_of(c->ns, c->n_rounds);

    printf("| %s | ", c->name);
    if (right(c))
        printf("%.3f | %.3f | %.1f | %.0f %% | ", ns * 1e-6, c->least_ns * 1e-6, b->task.flops / ns,
               100 * median_of(c->share, c->n_rounds));
    else
        printf("wrong result | - | - | - | ");
    if (right(c) && peer_ns > 0)
        printf("%.2f | ", peer_ns / ns);
    else
        printf("- | ");
    printf("%.1e | ", c->difference);
    if (c->n_rounds < b->rounds)
        printf("%d round%s; ", c->n_rounds, c->n_rounds == 1 ? "" : "s");
    printf("%s |\n", c->note);
}

static void print_table(const struct bench *b)
{
    const double peer_ns = best_peer_ns(b);
    double least = b->peak[0], most = b->peak[0];

    for (int i = 1; i < b->rounds; i++) {
        least = fmin(least, b->peak[i]);
        most = fmax(most, b->peak[i]);
    }
    printf("\nFMA peak of %d thread%s in the same rounds: median %.1f GFLOPS (%.1f to %.1f).\n\n", b->task.threads,
           b->task.threads == 1 ? "" : "s", median_of(b->peak, b->rounds), least, most);
    printf("| contender | ms | least | GFLOPS | of peak | speed / best peer's | max. difference | "
           "|\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < b->n; i++)
        print_row(b, &b->contenders[i], peer_ns);
    printf("\n");
}

static enum err bench_workload(struct bench *b, const char *text, struct why *why)
{
    enum err e = task_init(&b->task, text, why);

    b->n = 0;
    memset(b->contenders, 0, sizeof b->contenders);
    if (!e) {
        printf("### `%s`\n\n", b->task.text);
        admit_peers(b);
        admit_ours(b);
        fflush(stdout);
        e = b->n ? compare(b, why) : why_set(why, ERR_NOT_FOUND, "nobody computes %s here", b->task.text);
    }
    for (int i = 0; !e && i < b->rounds; i++)
        e = round_of(b, i, why);
    if (!e)
        print_table(b);
    for (size_t i = 0; i < b->n; i++)
        b->contenders[i].fini(&b->contenders[i]);
    task_fini(&b->task);
    return e;
}

static enum err open_device(struct bench *b, struct why *why)
{
    struct task *t = &b->task;
    enum err e = device_parse(cli_text(b->cli, "device"), &t->ops, &t->selector, why);

    if (!e)
        e = t->ops->open(t->selector, &t->device, why);
    if (!e)
        e = canary_open(t->ops, t->device, NULL, &b->canary, why);
    if (!e)
        printf("Device: %s, %s; %d thread%s. Medians of %d rounds; weights of our templates are packed at load, not "
               "timed.\n\n",
               t->ops->describe(t->device)->name, t->ops->describe(t->device)->driver, t->threads,
               t->threads == 1 ? "" : "s", b->rounds);
    return e;
}

static enum err bench_all(struct bench *b, struct why *why)
{
    const struct cli *c = b->cli;
    enum err e = open_device(b, why);

    if (c->n_rest)
        for (int i = 0; !e && i < c->n_rest; i++)
            e = bench_workload(b, c->rest[i], why);
    else
        for (const char *const *w = cli_flag(c, "smoke") ? tiny : layers; !e && *w; w++)
            e = bench_workload(b, *w, why);
    canary_close(b->canary);
    if (b->task.device)
        b->task.ops->close(b->task.device);
    return e;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct cli c;
    struct why why = {""};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (!e && c.help) {
        struct buf text;

        buf_init(&text, 65536);
        cli_help(options, "bench_peers [WORKLOAD...]", "Our kernels beside OpenBLAS and CLBlast.",
                 "bench_peers --log out/quickstart.best.jsonl", &text);
        fputs(buf_text(&text), stdout);
        buf_fini(&text);
    } else if (!e) {
        b.cli = &c;
        b.rounds = cli_flag(&c, "smoke") ? 2 : (int)cli_int(&c, "rounds");
        b.task.threads = (int)cli_int(&c, "threads");
        pin_process(b.task.threads);
        e = bench_all(&b, &why);
    }
    cli_fini(&c);
    if (e)
        fprintf(stderr, "bench_peers: %s\n", why.text[0] ? why.text : err_words(e));
    return e ? 1 : 0;
}
