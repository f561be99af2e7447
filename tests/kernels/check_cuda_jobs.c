/* Processes that compile. Each takes the next job from a counter in shared memory until none is left; the parent starts
 * another one where one has died. */
#include "tests/kernels/check_cuda.h"

#include "core/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define MAX_JOB_S 300

struct shared {
    atomic_size_t next;
    atomic_size_t at[MAX_PROCESSES]; /* the job in hand, +1; 0 = none */
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

/* A child's life; its exit status. Opens an NVRTC when a job first needs it: jobs know two at the most. */
static int work(const struct check_job *jobs, size_t n, const struct blobs *blobs, const struct check_results *r,
                struct shared *shared, int slot)
{
    struct nvrtc *open[2] = {NULL, NULL};
    const char *paths[2] = {NULL, NULL};

    for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < n;) {
        struct check_result result;
        struct why why = {""};
        int k = 0;

        while (k < 1 && paths[k] && paths[k] != jobs[i].nvrtc)
            k++;
        if (!open[k] && nvrtc_open(jobs[i].nvrtc, &open[k], &why)) {
            fprintf(stderr, "%s\n", why.text);
            return 2;
        }
        paths[k] = jobs[i].nvrtc;
        atomic_store(&shared->at[slot], i + 1);
        (void)alarm(MAX_JOB_S);
        compile_one(open[k], &jobs[i], blobs, &result);
        (void)alarm(0);
        if (check_results_add(r, jobs[i].key, &result, &why)) {
            fprintf(stderr, "%s\n", why.text);
            return 2;
        }
        atomic_store(&shared->at[slot], 0);
    }
    return 0;
}

static enum err start(const struct check_job *jobs, size_t n, const struct blobs *blobs, const struct check_results *r,
                      struct shared *shared, int slot, pid_t *out, struct why *why)
{
    fflush(stdout);
    *out = fork();
    if (*out == 0)
        _exit(work(jobs, n, blobs, r, shared, slot));
    return *out > 0 ? ERR_OK : why_set(why, ERR_IO, "fork failed");
}

/* The job that a dead child had in hand has failed. */
static enum err bury(const struct check_job *jobs, const struct check_results *r, size_t at, int status,
                     struct why *why)
{
    struct check_result result = {.ms = 0};

    snprintf(result.words, sizeof result.words, "the compiler died of signal %d%s", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": it took over 300 s" : "");
    return at ? check_results_add(r, jobs[at - 1].key, &result, why) : ERR_OK;
}

enum err check_compile(const struct check_job *jobs, size_t n, const struct blobs *blobs, int n_processes,
                       const struct check_results *r, struct why *why)
{
    const int most = n_processes > MAX_PROCESSES ? MAX_PROCESSES : n_processes;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[MAX_PROCESSES] = {0};
    int n_running = 0;
    enum err e = shared == MAP_FAILED ? why_set(why, ERR_NOMEM, "no shared memory") : ERR_OK;

    for (int i = 0; !e && i < most && (size_t)i < n; i++, n_running += !e)
        e = start(jobs, n, blobs, r, shared, i, &children[i], why);
    while (n_running > 0) {
        int status = 0, slot = 0;
        const pid_t child = wait(&status);

        while (slot < most && children[slot] != child)
            slot++;
        if (slot == most)
            continue;
        n_running--;
        if (WIFSIGNALED(status) && !e) {
            e = bury(jobs, r, atomic_exchange(&shared->at[slot], 0), status, why);
            if (!e)
                e = start(jobs, n, blobs, r, shared, slot, &children[slot], why);
            n_running += !e;
        } else if (WIFEXITED(status) && WEXITSTATUS(status) && !e) {
            e = why_set(why, ERR_IO, "a compiling process gave up");
        }
    }
    if (shared != MAP_FAILED)
        (void)munmap(shared, sizeof *shared);
    return e;
}
