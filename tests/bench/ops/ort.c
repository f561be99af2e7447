/* SPDX-License-Identifier: MIT */
/* ort.c - onnxruntime as a peer: a Python process of its own, which is told when its turn in a round has come. */
#include "core/proc.h"
#include "tests/bench/ops/contender.h"
#include "tests/bench/ops/place.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ort {
    pid_t child;
    FILE *to, *from;
};

static const char *python;

void onnxruntime_python(const char *path)
{
    python = path;
}

/* The next line of the child without its end; it ends or says "no ..." when it cannot go on. */
static enum err answer(struct ort *o, char *line, size_t n_line, struct why *why)
{
    if (!fgets(line, (int)n_line, o->from))
        return why_set(why, ERR_CHILD, "its process ended");
    line[strcspn(line, "\n")] = '\0';
    return strncmp(line, "no ", 3) == 0 ? why_set(why, ERR_UNSUPPORTED, "%s", line + 3) : ERR_OK;
}

static enum err slot(struct contender *c, int64_t least_ns, double *ns, struct why *why)
{
    struct ort *o = c->own;
    char line[256];
    enum err e;

    if (fprintf(o->to, "slot %lld\n", (long long)least_ns) < 0 || fflush(o->to) != 0)
        return why_set(why, ERR_CHILD, "its process ended");
    e = answer(o, line, sizeof line, why);
    if (!e && sscanf(line, "%lf", ns) != 1)
        return why_set(why, ERR_CHILD, "says '%s'", line);
    return e;
}

static void fini(struct contender *c)
{
    struct ort *o = c->own;
    int status;

    if (o->to)
        fclose(o->to);
    if (o->from)
        fclose(o->from);
    if (o->child > 0 && proc_wait(o->child, 2000, &status) == ERR_TIMEOUT) {
        proc_kill(o->child, SIGKILL, false);
        (void)proc_wait(o->child, -1, &status);
    }
    free(o);
}

static enum err start(struct ort *o, const struct task *t, struct why *why)
{
    char threads[16];
    const char *const argv[] = {python, BENCH_OPS_SOURCE "/ort_slots.py", threads, t->plain, NULL};
    const char *const env[] = {"PYTHONDONTWRITEBYTECODE=1", NULL};
    int in[2], out[2], n_cpus;
    const int *cpus = place_cpus(&n_cpus);
    enum err e;

    snprintf(threads, sizeof threads, "%d", t->threads);
    if (pipe(in) || pipe(out))
        return why_set(why, ERR_IO, "no pipe");
    e = proc_start(&(struct proc_options){.argv = argv,
                                          .env_add = env,
                                          .in_fd = in[0],
                                          .out_fd = out[1],
                                          .err_fd = STDERR_FILENO,
                                          .pass_fd = -1,
                                          .cpus = cpus,
                                          .n_cpus = n_cpus},
                   &o->child, why);
    close(in[0]);
    close(out[1]);
    o->to = fdopen(in[1], "w");
    o->from = fdopen(out[0], "r");
    return e ? e : o->to && o->from ? ERR_OK : ERR_NOMEM;
}

static bool computes(const struct task *t)
{
    static const char *const others[] = {"attention", "dense4", "eltwise", "reduce", "resize2d", "strided_copy"};
    const bool rnn = t->kind == TASK_RNN && strcmp(t->rnn.pass, "fwd") == 0 && t->rnn.l == 1;

    bool other = false;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        other = other || strcmp(t->workload.op->name, others[i]) == 0;
    return t->workload.dtype == DTYPE_F32 && (t->kind == TASK_CONV || t->kind == TASK_GEMM || rnn || other);
}

enum err onnxruntime(const struct task *t, struct contender *out, struct why *why)
{
    struct ort *o;
    char line[256];
    enum err e;

    snprintf(out->name, sizeof out->name, "onnxruntime");
    out->class = CLASS_PLAIN;
    if (!computes(t))
        return why_set(why, ERR_UNSUPPORTED, "not compared here");
    if (!python || access(python, X_OK) != 0)
        return why_set(why, ERR_NOT_FOUND, "no Python with onnxruntime (scripts/install_deps.sh --bench installs it)");
    o = calloc(1, sizeof *o);
    if (!o)
        return ERR_NOMEM;
    out->own = o;
    out->slot = slot;
    out->fini = fini;
    (void)signal(SIGPIPE, SIG_IGN);
    e = start(o, t, why);
    if (!e)
        e = answer(o, line, sizeof line, why);
    if (!e)
        snprintf(out->note, sizeof out->note, "%s", line);
    return e;
}
