/* SPDX-License-Identifier: MIT */
#include "tracker/workers.h"

#include "core/clock.h"
#include "core/proc.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE_MS 500
#define LONGEST_PAUSE_MS 60000
#define YOUNG_MS 10000

enum err workers_init(struct workers *w, int n, const char *url, const char *key_file, const struct clock *clock,
                      struct why *why)
{
    char dir[4000];

    *w = (struct workers){.n = n, .key_file = key_file, .clock = clock};
    if (n == 0)
        return ERR_OK;
    if (proc_own_dir(dir, sizeof dir) != ERR_OK)
        return why_set(why, ERR_NOT_FOUND, "cannot tell where this program is; --workers 0 starts none");
    snprintf(w->program, sizeof w->program, "%s/tune", dir);
    snprintf(w->url, sizeof w->url, "%s", url);
    if (access(w->program, X_OK) != 0)
        return why_set(why, ERR_NOT_FOUND, "%s is not there: no workers can be started; --workers 0 starts none",
                       w->program);
    return ERR_OK;
}

static void start(struct workers *w, struct worker *one)
{
    const char *const argv[] = {w->program,  "work", "--tracker", w->url, w->key_file ? "--key-file" : NULL,
                                w->key_file, NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = 2, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};

    one->started_ns = clock_read_ns(w->clock);
    if (proc_start(&o, &one->pid, &why) != ERR_OK) {
        fprintf(stderr, "tune-tracker: %s\n", why.text);
        one->pid = 0;
    }
}

static void plan_again(const struct workers *w, struct worker *one)
{
    const int64_t now = clock_read_ns(w->clock);
    const bool young = now - one->started_ns < (int64_t)YOUNG_MS * 1000000;

    one->pause_ms = !young || !one->pause_ms ? FIRST_PAUSE_MS : one->pause_ms * 2;
    if (one->pause_ms > LONGEST_PAUSE_MS)
        one->pause_ms = LONGEST_PAUSE_MS;
    one->again_ns = now + one->pause_ms * 1000000;
}

void workers_tick(struct workers *w)
{
    assert(w->n >= 0 && w->n <= MAX_WORKERS);
    for (int i = 0; i < w->n; i++) {
        struct worker *one = &w->all[i];
        int status;

        if (one->pid && proc_wait(one->pid, 0, &status) != ERR_TIMEOUT) {
            fprintf(stderr, "tune-tracker: a worker ended (%s %d); another starts\n",
                    WIFSIGNALED(status) ? "signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            one->pid = 0;
            plan_again(w, one);
        }
        if (!one->pid && clock_read_ns(w->clock) >= one->again_ns) {
            start(w, one);
            if (!one->pid)
                plan_again(w, one);
        }
    }
}

void workers_stop(struct workers *w)
{
    int status;

    for (int i = 0; i < w->n; i++)
        proc_kill(w->all[i].pid, SIGTERM, false);
    for (int i = 0; i < w->n; i++) {
        if (!w->all[i].pid)
            continue;
        if (proc_wait(w->all[i].pid, 5000, &status) == ERR_TIMEOUT) {
            proc_kill(w->all[i].pid, SIGKILL, false);
            proc_wait(w->all[i].pid, -1, &status);
        }
        w->all[i].pid = 0;
    }
}
