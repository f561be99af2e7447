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
#define WORKERS_IDENTITY "tuner:of-the-tracker"

enum err workers_init(struct workers *w, int n, const char *url, int64_t part, const struct key *farm,
                      const struct clock *clock, struct why *why)
{
    char dir[4000];

    *w = (struct workers){.n = n, .part = part, .clock = clock};
    if (n == 0)
        return ERR_OK;
    if (proc_own_dir(dir, sizeof dir) != ERR_OK)
        return why_set(why, ERR_NOT_FOUND, "cannot tell where this program is; --workers 0 starts none");
    snprintf(w->program, sizeof w->program, "%s/tune", dir);
    snprintf(w->url, sizeof w->url, "%s", url);
    if (access(w->program, X_OK) != 0)
        return why_set(why, ERR_NOT_FOUND, "%s is not there: no workers can be started; --workers 0 starts none",
                       w->program);
    return farm ? key_lend(farm, WORKERS_IDENTITY, w->key_file, why) : ERR_OK;
}

static void start(struct workers *w)
{
    char n[16], part[24];
    const char *argv[16] = {w->program, "work", "--jobs", n, "--tracker", w->url};
    int n_args = 6;
    static const char *const env[] = {"TUNE_CA_FILE=", "TUNE_CERT_FILE=", NULL}; /* the address is this host's own */
    const struct proc_options o = {.argv = argv, .env_add = env, .in_fd = -1, .out_fd = 2, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};

    snprintf(n, sizeof n, "%d", w->n);
    snprintf(part, sizeof part, "%lld", (long long)w->part);
    if (w->part) {
        argv[n_args++] = "--part";
        argv[n_args++] = part;
    }
    if (w->key_file[0]) {
        argv[n_args++] = "--key-file";
        argv[n_args++] = w->key_file;
    }
    w->started_ns = clock_read_ns(w->clock);
    if (proc_start(&o, &w->pid, &why) != ERR_OK) {
        fprintf(stderr, "tune-tracker: %s\n", why.text);
        w->pid = 0;
    }
}

static void plan_again(struct workers *w)
{
    const int64_t now = clock_read_ns(w->clock);
    const bool young = now - w->started_ns < (int64_t)YOUNG_MS * 1000000;

    w->pause_ms = !young || !w->pause_ms ? FIRST_PAUSE_MS : w->pause_ms * 2;
    if (w->pause_ms > LONGEST_PAUSE_MS)
        w->pause_ms = LONGEST_PAUSE_MS;
    w->again_ns = now + w->pause_ms * 1000000;
}

void workers_tick(struct workers *w)
{
    int status;

    assert(w->n >= 0 && w->n <= MAX_WORKERS);
    if (w->pid && proc_wait(w->pid, 0, &status) != ERR_TIMEOUT) {
        fprintf(stderr, "tune-tracker: tune work ended (%s %d); another starts\n",
                WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        w->pid = 0;
        plan_again(w);
    }
    if (w->n && !w->pid && clock_read_ns(w->clock) >= w->again_ns) {
        start(w);
        if (!w->pid)
            plan_again(w);
    }
}

void workers_stop(struct workers *w)
{
    int status;

    if (!w->pid)
        return;
    proc_kill(w->pid, SIGTERM, false);
    if (proc_wait(w->pid, 5000, &status) == ERR_TIMEOUT) {
        proc_kill(w->pid, SIGKILL, false);
        proc_wait(w->pid, -1, &status);
    }
    w->pid = 0;
}
