/* SPDX-License-Identifier: MIT */
#include "tests/kernels/long_test.h"

#include <stdio.h>

#define MAX_ITEM_S 300 /* with the time of the other tests beside it */

static bool describe(void *out, void *arg)
{
    struct long_test *t = arg, *to = out;

    if (!open_devices(t->backend, &t->under))
        return false;
    for (int i = 0; i < t->under.n; i++)
        to->d[i] = *t->under.ops->describe(t->under.list[i]);
    to->n_devices = t->under.n;
    close_devices(&t->under);
    return true;
}

bool long_test_begin(struct long_test *t, const char *backend, int argc, char **argv)
{
    unsigned long i_part, n_parts;
    struct long_test seen;
    struct why why = {""};

    *t = (struct long_test){.backend = backend, .part = {0, 1, 0}};
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "%lu/%lu", &i_part, &n_parts) == 2 && n_parts > 0) {
            t->part = (struct part){i_part, n_parts, 0};
            t->is_part = true;
        }
        if (i + 1 < argc && strcmp(argv[i], "--kernel-dir") == 0 && template_set_kernel_dir(argv[i + 1], &why)) {
            fprintf(stderr, "--kernel-dir: %s\n", why.text);
            exit(1);
        }
    }
    t->seed = sample_seed(argc, argv);
    t->is_full = t->is_part || sample_flag(argc, argv, "--full");
    t->keeps = strcmp(backend, "cuda") != 0 || !getenv("TUNE_CUDA_LIBRARY"); /* open_devices chooses the emulated one */
    if (!pool_ask(describe, &seen, sizeof seen, t))
        return false;
    memcpy(t->d, seen.d, sizeof t->d);
    t->n_devices = seen.n_devices;
    verdicts_open(&t->verdicts, NULL);
    return true;
}

void long_test_end(struct long_test *t)
{
    verdicts_close(&t->verdicts);
}

void long_items_init(struct long_items *items, size_t n)
{
    *items = (struct long_items){.labels = calloc(n + 1, sizeof *items->labels),
                                 .column = calloc(n + 1, sizeof *items->column),
                                 .chosen = calloc(n + 1, sizeof *items->chosen),
                                 .done = calloc(n + 1, sizeof *items->done),
                                 .n = n};
    if (!items->labels || !items->column || !items->chosen || !items->done)
        abort();
}

void long_items_choose(const struct long_test *t, struct long_items *items, size_t n_least)
{
    if (t->is_full)
        memset(items->chosen, 1, items->n);
    else
        sample_choose(items->labels, items->n, n_least, t->seed, items->chosen);
}

void long_items_fini(struct long_items *items)
{
    free(items->labels);
    free(items->column);
    free(items->chosen);
    free(items->done);
}

/* ---- in children ---- */

/* Emulated devices are their libraries and what compiles for them. */
static const char *const *stand_ins(const struct long_test *t)
{
#ifdef EMULATED_CUDA
    static const char *const files[] = {EMULATED_CUDA,
                                        EMULATED_NVRTC,
                                        EMULATED_HEADERS "/emulated_device.h",
                                        EMULATED_HEADERS "/emulated_abi.h",
                                        "/usr/bin/g++",
                                        NULL};

    if (strcmp(t->backend, "cuda") == 0)
        return files;
#endif
    (void)t;
    return NULL;
}

/* A run of the chosen items: the n-th is number at[n]. */
struct long_run {
    struct long_test *t;
    const size_t *at;
    void (*work)(size_t i, struct buf *answer, void *arg);
    void *arg;
};

static bool begin_child(void *arg)
{
    struct long_test *t = ((struct long_run *)arg)->t;

    if (!open_devices(t->backend, &t->under))
        return false;
    for (int i = 0; i < t->under.n; i++) {
        const struct sha256 fingerprint = device_desc_fingerprint(t->under.ops->describe(t->under.list[i]));

        t->drivers[i] = verdict_driver(&fingerprint, stand_ins(t));
    }
    return true;
}

static void work_one(size_t n, struct buf *answer, void *arg)
{
    const struct long_run *run = arg;

    run->work(run->at[n], answer, run->arg);
}

bool long_test_key(const struct long_test *t, const char *what, const struct program *p, int i_device,
                   struct sha256 *out)
{
    struct sha256 thing;

    if (!t->keeps || program_hash(p, &thing))
        return false;
    *out = verdict_key(what, &t->drivers[i_device], &thing);
    return true;
}

/* ---- in the parent ---- */

static bool begins_with(const char *text, const char *word)
{
    return text && strncmp(text, word, strlen(word)) == 0 && (text[strlen(word)] == ' ' || !text[strlen(word)]);
}

/* True when the item passed; else it is told. */
static bool judge(const struct pool_result *r, bool dies_well, const struct sample_labels *labels)
{
    const bool died = r->n_deaths > 0 && !r->answer;

    if (begins_with(r->answer, "ok") || begins_with(r->answer, "kept"))
        return true;
    if (died && dies_well)
        return true;
    if (r->answer)
        printf("FAILED: %s: %s\n", labels->of[0], r->answer);
    else
        printf("FAILED: %s %s: the process died of signal %d\n", labels->of[0], labels->of[1], r->signal);
    return false;
}

static int judge_all(struct long_items *items, const struct pool_result *results, const size_t *at, size_t n,
                     bool dies_well)
{
    int n_failed = 0, n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        items->done[at[i]] = judge(&results[i], dies_well, &items->labels[at[i]]);
        n_failed += !items->done[at[i]];
        n_kept += begins_with(results[i].answer, "kept");
        if (results[i].n_deaths && results[i].answer && !dies_well) {
            printf("FAILED: a process died of signal %d beside %s\n", results[i].signal, items->labels[at[i]].of[0]);
            n_failed++;
        }
    }
    printf("%zu configs verified, %d failed; %d of them by verdicts that were kept\n", n, n_failed, n_kept);
    return n_failed;
}

int long_test_run(struct long_test *t, struct long_items *items, bool dies_well,
                  void (*work)(size_t i, struct buf *answer, void *arg), void *arg)
{
    size_t *at = calloc(items->n + 1, sizeof *at), n = 0;
    struct pool_result *results = calloc(items->n + 1, sizeof *results);
    struct long_run run = {t, at, work, arg};
    struct why why = {""};
    int n_failed;
    enum err e;

    if (!at || !results)
        abort();
    for (size_t i = 0; i < items->n; i++) {
        items->chosen[i] = items->chosen[i] && t->part.at++ % t->part.n == t->part.i;
        if (items->chosen[i])
            at[n++] = i;
    }
    {
        const struct pool pool = {n, t->is_part, MAX_ITEM_S, begin_child, work_one, &run};

        e = n ? pool_run(&pool, results, &why) : ERR_OK;
    }
    n_failed = judge_all(items, results, at, n, dies_well);
    if (e) {
        printf("FAILED: %s\n", why.text[0] ? why.text : err_words(e));
        n_failed++;
    }
    pool_results_free(results, n);
    free(at);
    return n_failed;
}

size_t long_test_covered(const struct long_test *t, const struct long_items *items, const char *title)
{
    struct coverage table = {.n_rows = 0};
    size_t n = 0;

    for (size_t i = 0; i < items->n; i++)
        coverage_add(&table, items->labels[i].of[0], items->column[i], items->done[i]);
    for (size_t i = 0; i < items->n; i++)
        if (items->labels[i].of[2][0])
            coverage_add(&table, items->labels[i].of[0], items->labels[i].of[2], items->done[i]);
    if (!t->is_part) {
        coverage_print(&table, title);
        n = getenv("TUNE_ONLY") ? 0 : sample_uncovered(items->labels, items->n, items->done);
    }
    coverage_fini(&table);
    return n;
}
