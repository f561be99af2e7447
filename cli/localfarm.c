/* SPDX-License-Identifier: MIT */
#include "cli/localfarm.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 15000
#define STEM "tune-farm"

static struct localfarm *volatile live; /* for localfarm_abandon */

static void log_path(const struct localfarm *f, const char *who, char *out, size_t n_out)
{
    snprintf(out, n_out, "%s/%s.log", f->dir.path, who);
}

static void url_path(const struct localfarm *f, char *out, size_t n_out)
{
    snprintf(out, n_out, "%s/url", f->dir.path);
}

/* Its own files lie in the farm's directory, and it has no key, whatever the user's other farm has. */
static enum err start(struct localfarm *f, const char *who, const char *const *argv, pid_t *pid, struct why *why)
{
    char path[PATH_MAX + 32], tmpdir[PATH_MAX + 32];
    const char *const env[] = {"TUNE_KEY_FILE=", "TUNE_CA_FILE=", "TUNE_CERT_FILE=", tmpdir, NULL};
    struct proc_options o = {.argv = argv, .env_add = env, .in_fd = -1, .pass_fd = -1, .own_group = true};
    enum err e;

    if (access(argv[0], X_OK) != 0)
        return why_set(why, ERR_NOT_FOUND, "%s is not there: a private farm needs it beside tune", argv[0]);
    snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", f->dir.path);
    log_path(f, who, path, sizeof path);
    o.out_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (o.out_fd < 0)
        return why_set(why, ERR_IO, "%s cannot be written", path);
    o.err_fd = o.out_fd;
    e = proc_start(&o, pid, why);
    close(o.out_fd);
    return e;
}

/* How a child ended, and the last lines of its log, as words. */
static enum err last_words(const struct localfarm *f, const char *who, int status, struct why *why)
{
    char path[PATH_MAX + 32], how[64] = "";
    struct buf text;
    const char *tail;

    buf_init(&text, 1 << 20);
    log_path(f, who, path, sizeof path);
    file_read(path, &text, NULL);
    while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
        text.data[--text.len] = '\0';
    tail = buf_text(&text);
    if (text.len > 600)
        tail += text.len - 600;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, " by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    why_set(why, ERR_CHILD, "%s ended%s: %s", who, how, *tail ? tail : "it said nothing");
    buf_fini(&text);
    return ERR_CHILD;
}

/* The tracker writes the address it got when it listens there. */
static bool find_url(const struct localfarm *f, char *url, size_t n_url)
{
    char path[PATH_MAX + 32];
    struct buf text;
    bool found;

    assert(n_url > 1);
    buf_init(&text, n_url - 1);
    url_path(f, path, sizeof path);
    found = file_read(path, &text, NULL) == ERR_OK && text.len;
    if (found)
        snprintf(url, n_url, "%s", buf_text(&text));
    buf_fini(&text);
    return found;
}

static enum err await_url(struct localfarm *f, const struct localfarm_options *o, struct why *why)
{
    const int64_t start_ns = clock_now_ns();

    while (!find_url(f, f->url, sizeof f->url)) {
        const enum err e = localfarm_check(f, why);

        if (e)
            return e;
        if (o->interrupted && o->interrupted())
            return why_set(why, ERR_CANCELLED, "interrupted");
        if (clock_now_ns() - start_ns > START_MS * INT64_C(1000000))
            return why_set(why, ERR_TIMEOUT, "the private tracker did not start to listen within %d s",
                           START_MS / 1000);
        clock_sleep_ms(10);
    }
    return ERR_OK;
}

static enum err start_agent(struct localfarm *f, const struct localfarm_options *o, const char *own, struct why *why)
{
    char program[4200], threads[24];
    const char *argv[] = {program, "--tracker",    f->url, "--device", o->device, "--key",
                          f->key,  "--must-build", NULL,   NULL,       NULL};

    assert(f->url[0] && o->device);
    snprintf(program, sizeof program, "%s/tune-agent", own);
    snprintf(threads, sizeof threads, "%lld", (long long)o->threads);
    if (o->threads > 0) {
        argv[8] = "--threads";
        argv[9] = threads;
    }
    return start(f, "tune-agent", argv, &f->agent, why);
}

enum err localfarm_start(struct localfarm *f, const struct localfarm_options *o, struct why *why)
{
    char own[4096], program[4200], store[PATH_MAX + 32], url[PATH_MAX + 32];
    const char *const argv[] = {program,   "--listen", "tcp://127.0.0.1:0", "--url-file", url,
                                "--store", store,      "--workers",         "0",          NULL};
    enum err e;

    assert(!live); /* localfarm_abandon knows of one */
    *f = (struct localfarm){.dir = {.lock_fd = -1, .dir_fd = -1}};
    snprintf(f->key, sizeof f->key, "%s", o->key ? o->key : LOCALFARM_KEY);
    e = name_check("--key", o->key ? o->key : LOCALFARM_KEY, why);
    if (e)
        return e;
    e = proc_own_dir(own, sizeof own);
    if (e)
        return why_set(why, e, "the directory of this program is not known");
    temp_dir_sweep(STEM);
    e = temp_dir_open(&f->dir, STEM, why);
    if (e)
        return e;
    live = f;
    snprintf(program, sizeof program, "%s/tune-tracker", own);
    snprintf(store, sizeof store, "%s/store", f->dir.path);
    url_path(f, url, sizeof url);
    e = start(f, "tune-tracker", argv, &f->tracker, why);
    if (!e)
        e = await_url(f, o, why);
    if (!e)
        e = start_agent(f, o, own, why);
    if (e)
        localfarm_end(f);
    return e;
}

enum err localfarm_check(struct localfarm *f, struct why *why)
{
    int status = 0;

    if (f->tracker > 0 && proc_wait(f->tracker, 0, &status) != ERR_TIMEOUT) {
        f->tracker = 0;
        return last_words(f, "tune-tracker", status, why);
    }
    if (f->agent > 0 && proc_wait(f->agent, 0, &status) != ERR_TIMEOUT) {
        f->agent = 0;
        return last_words(f, "tune-agent", status, why);
    }
    return ERR_OK;
}

static void end_child(pid_t *pid)
{
    if (*pid <= 0)
        return;
    proc_kill(*pid, SIGTERM, false);
    if (proc_wait(*pid, 5000, NULL) == ERR_TIMEOUT) {
        proc_kill(*pid, SIGKILL, true);
        proc_wait(*pid, 2000, NULL);
    }
    *pid = 0;
}

void localfarm_end(struct localfarm *f)
{
    if (!f)
        return;
    live = NULL;
    end_child(&f->agent);
    end_child(&f->tracker);
    if (f->dir.path[0])
        temp_dir_close(&f->dir);
}

/* Its own children die with the agent (proc_start). */
static void kill_child(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void localfarm_abandon(void)
{
    struct localfarm *f = live;
    char *const argv[] = {"rm", "-rf", "--", f ? f->dir.path : NULL, NULL};
    pid_t pid;

    if (!f)
        return;
    kill_child(f->agent);
    kill_child(f->tracker);
    pid = vfork();
    if (pid == 0) {
        execv("/bin/rm", argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
