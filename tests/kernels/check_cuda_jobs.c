/* SPDX-License-Identifier: MIT */
/* Processes that compile, of pool.h. */
#include "tests/kernels/check_cuda.h"
#include "tests/kernels/pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JOB_S 300

struct compiling {
    const struct check_job *jobs;
    const struct blobs *blobs;
    /* In a child: opened when a job first needs one; jobs know two at the most. */
    struct nvrtc *open[2];
    const char *paths[2];
};

static void compile_one(struct nvrtc *n, const struct check_job *job, const struct blobs *blobs,
                        struct check_result *out)
{
    struct nvrtc_built built;
    struct why why = {""};
    const enum err e = nvrtc_build(n, job->m, blobs, job->sm, false, &built, &why);

    *out = (struct check_result){.ok = !e, .ms = (int)(built.build_ns / 1000000)};
    snprintf(out->words, sizeof out->words, "%.239s", why.text[0] ? why.text : err_words(e));
    for (size_t i = 0; i < built.n_resources && i < CHECK_MAX_KERNELS; i++)
        out->kernels[out->n_kernels++] = built.resources[i];
    if (!e && built.n_resources > CHECK_MAX_KERNELS) {
        out->ok = false;
        snprintf(out->words, sizeof out->words, "%zu kernels in one module; this check takes %d", built.n_resources,
                 CHECK_MAX_KERNELS);
    }
    nvrtc_built_fini(&built);
}

static void work(size_t i, struct buf *answer, void *arg)
{
    struct compiling *c = arg;
    const struct check_job *job = &c->jobs[i];
    struct check_result result = {.ok = false};
    struct why why = {""};
    int k = 0;

    while (k < 1 && c->paths[k] && c->paths[k] != job->nvrtc)
        k++;
    if (!c->open[k] && nvrtc_open(job->nvrtc, &c->open[k], &why)) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    c->paths[k] = job->nvrtc;
    compile_one(c->open[k], job, c->blobs, &result);
    check_result_write(&result, answer);
}

/* Without an answer the compiler has died, and its job has failed. */
static char *text_of(struct pool_result *from)
{
    struct check_result died = {.ok = false};
    struct buf text;
    char *answer = from->answer;

    from->answer = NULL;
    if (answer)
        return answer;
    buf_init(&text, 4096);
    snprintf(died.words, sizeof died.words, "the compiler died of signal %d%s", from->signal,
             from->signal == SIGALRM ? ": it took over 300 s" : "");
    check_result_write(&died, &text);
    return buf_take(&text);
}

static int fresh_order(const void *a, const void *b)
{
    return strcmp(((const struct check_fresh *)a)->key, ((const struct check_fresh *)b)->key);
}

/* Adds this run's results, and keeps the good ones for others. */
static enum err add(struct check_results *r, const struct check_job *jobs, struct pool_result *results, size_t n)
{
    struct check_fresh *fresh = realloc(r->fresh, (r->n_fresh + n) * sizeof *fresh);

    if (!fresh)
        return ERR_NOMEM;
    r->fresh = fresh;
    for (size_t i = 0; i < n; i++) {
        struct check_fresh *to = &fresh[r->n_fresh];

        snprintf(to->key, sizeof to->key, "%s", jobs[i].key);
        to->text = text_of(&results[i]);
        if (!to->text)
            return ERR_NOMEM;
        if (strncmp(to->text, "ok ", 3) == 0)
            (void)verdicts_keep(&r->kept, to->key, to->text);
        r->n_fresh++;
    }
    qsort(r->fresh, r->n_fresh, sizeof *r->fresh, fresh_order);
    return ERR_OK;
}

enum err check_compile(const struct check_job *jobs, size_t n, const struct blobs *blobs, int n_processes,
                       struct check_results *r, struct why *why)
{
    struct compiling compiling = {.jobs = jobs, .blobs = blobs};
    const struct pool pool = {n, n_processes, MAX_JOB_S, NULL, work, &compiling};
    struct pool_result *results = calloc(n + 1, sizeof *results);
    enum err e = results ? pool_run(&pool, results, why) : ERR_NOMEM;

    if (!e)
        e = add(r, jobs, results, n);
    pool_results_free(results, n);
    return e;
}
