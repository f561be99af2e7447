/* SPDX-License-Identifier: MIT */
#include "agent/sandbox.h"

#include "agent/wrapper.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "core/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_MS 20          /* how often memory and the stop flag are looked at */
#define STOPPED_MS 2000      /* when it was looked at that much later, this process had been stopped */
#define FORKS_MS 100         /* likewise the memory of what the child started */
#define MAX_STDERR (1 << 16) /* of a child, kept between requests */
#define MAX_TAIL 600         /* bytes of stderr shown */

void sandbox_init(struct sandbox *s, const struct sandbox_ops *ops, void *arg)
{
    memset(s, 0, sizeof *s);
    s->ops = ops ? ops : &sandbox_processes;
    s->arg = arg;
    s->fd = s->err_fd = s->cache_fd = -1;
}

bool sandbox_is_alive(const struct sandbox *s)
{
    return s->pid > 0;
}

bool sandbox_is_whole(const struct sandbox *s)
{
    struct stat st;

    return sandbox_is_alive(s) &&
           (s->cache_fd < 0 || (access(s->cache_dir, F_OK) == 0 && fstat(s->cache_fd, &st) == 0 && st.st_nlink > 0));
}

static void process_kill(struct sandbox *s)
{
    proc_kill(s->pid, SIGKILL, true);
}

static void process_end(struct sandbox *s)
{
    const pid_t pid = s->pid;
    int status;

    if (pid > 0) {
        proc_kill(pid, SIGKILL, true);
        proc_kill(pid, SIGKILL, false); /* it may not have its group yet */
        s->pid = 0;                     /* before its number can be another's */
        proc_wait(pid, -1, &status);
        frame_reader_fini(&s->reader);
    }
    if (s->fd >= 0)
        close(s->fd);
    if (s->err_fd >= 0)
        close(s->err_fd);
    if (s->cache_fd >= 0)
        close(s->cache_fd);
    s->fd = s->err_fd = s->cache_fd = -1;
}

#define N_CHILD_ARGS 7

/* What is executed: this program as a child, behind the wrapper's words. */
struct command {
    struct wrapper wrapper;
    char exe[PATH_MAX];
    struct buf cage;
    const char *argv[WRAPPER_MAX_WORDS + N_CHILD_ARGS + 1];
};

static enum err make_command(struct command *c, const struct sandbox_options *o, struct why *why)
{
    const char *own[N_CHILD_ARGS] = {c->exe, "--child", o->mode, o->device, o->dir, o->cache_dir};
    const ssize_t n_exe = readlink("/proc/self/exe", c->exe, sizeof c->exe - 1);
    enum err e;

    buf_init(&c->cage, CAGE_SEES_BYTES + 64);
    if (n_exe <= 0)
        return why_set(why, ERR_IO, "cannot find the agent's own program: %s", strerror(errno));
    c->exe[n_exe] = '\0';
    e = cage_to_text(o->cage, &c->cage);
    if (!e)
        e = wrapper_init(&c->wrapper, o->wrapper, why);
    if (e)
        return e;
    own[N_CHILD_ARGS - 1] = buf_text(&c->cage);
    memset(c->argv, 0, sizeof c->argv);
    memcpy(c->argv, c->wrapper.argv, (size_t)c->wrapper.n * sizeof *c->argv);
    memcpy(c->argv + c->wrapper.n, own, sizeof own);
    return ERR_OK;
}

static enum err exec_child(struct sandbox *s, const struct sandbox_options *o, int child_fd, struct why *why)
{
    struct command c;
    char threads[64], openmp[64], cache[PATH_MAX + 32];
    const char *env[7] = {NULL};
    struct proc_options p = {.argv = c.argv, .env_add = env, .in_fd = -1, .out_fd = -1};
    pid_t pid = 0;
    int n_env = 0;
    enum err e = make_command(&c, o, why);

    if (e) {
        buf_fini(&c.cage);
        return e;
    }
    if (o->threads > 0) {
        snprintf(threads, sizeof threads, "POCL_MAX_PTHREAD_COUNT=%d", o->threads);
        env[n_env++] = threads;
        env[n_env++] = "POCL_AFFINITY=0"; /* the child pins its workers itself: PoCL knows no list of CPUs */
        snprintf(openmp, sizeof openmp, "OMP_NUM_THREADS=%d", o->threads);
        env[n_env++] = openmp;
        env[n_env++] = "OMP_PROC_BIND=true"; /* OpenMP's are there with the first call of a kernel, and know the list */
    }
    if (*o->cache_dir) {
        snprintf(cache, sizeof cache, "POCL_CACHE_DIR=%s", o->cache_dir);
        env[n_env++] = cache;
    }
    p.err_fd = s->err_fd;
    p.pass_fd = child_fd;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their shadow memory is over any limit */
    p.data_bytes = o->data_bytes;
#endif
    p.cpus = o->cpus;
    p.n_cpus = o->n_cpus;
    p.own_group = true;
    p.spaces = o->cage ? o->cage->spaces : 0;
    p.env_keeps = o->cage && o->cage->on ? cage_shows_variable : NULL;
    e = proc_start(&p, &pid, why);
    buf_fini(&c.cage);
    if (!e)
        s->pid = pid;
    return e;
}

static enum err process_start(struct sandbox *s, const struct sandbox_options *o, struct why *why)
{
    int pair[2];
    enum err e;

    process_end(s);
    s->stop = o->stop;
    snprintf(s->cache_dir, sizeof s->cache_dir, "%s", o->cache_dir);
    s->forks_ns = s->forks_bytes = 0;
    if (*o->cache_dir && mkdir(o->cache_dir, 0700) != 0 && errno != EEXIST)
        return why_set(why, ERR_IO, "cannot make %s: %s", o->cache_dir, strerror(errno));
    s->cache_fd = *o->cache_dir ? open(o->cache_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    s->err_fd = memfd_create("stderr", MFD_CLOEXEC);
    if (s->err_fd < 0 || fcntl(s->err_fd, F_SETFL, O_APPEND) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return why_set(why, ERR_IO, "cannot make a socket pair: %s", strerror(errno));
    e = exec_child(s, o, pair[1], why);
    close(pair[1]);
    s->fd = pair[0];
    if (e) {
        s->pid = 0;
        process_end(s);
        return e;
    }
    frame_reader_init(&s->reader, s->fd);
    return ERR_OK;
}

static off_t stderr_bytes(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 ? st.st_size : 0;
}

/* The last lines a child wrote to stderr, on one line. */
static void stderr_tail(int fd, char *out, size_t n_out)
{
    const off_t end = stderr_bytes(fd);
    const off_t from = end > MAX_TAIL ? end - MAX_TAIL : 0;
    ssize_t n = end > 0 ? pread(fd, out, n_out - 1 < MAX_TAIL ? n_out - 1 : MAX_TAIL, from) : 0;

    if (n < 0)
        n = 0;
    while (n && (out[n - 1] == '\n' || out[n - 1] == ' '))
        n--;
    out[n] = '\0';
    for (ssize_t i = 0; i < n; i++)
        if ((unsigned char)out[i] < ' ')
            out[i] = out[i] == '\n' ? ';' : ' ';
}

static void describe_death(struct sandbox *s, struct sandbox_end *end)
{
    char tail[MAX_TAIL + 1], how[64] = "left";
    int status = 0;

    if (proc_wait(s->pid, 2000, &status) == ERR_OK) {
        proc_kill(s->pid, SIGKILL, true); /* what it left behind */
        s->pid = 0;
        frame_reader_fini(&s->reader);
        if (WIFSIGNALED(status))
            snprintf(how, sizeof how, "died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (WEXITSTATUS(status) == 128 + SIGABRT) /* cage.c */
            snprintf(how, sizeof how, "died of signal %d (%s)", SIGABRT, strsignal(SIGABRT));
        else
            snprintf(how, sizeof how, "ended with code %d", WEXITSTATUS(status));
    }
    stderr_tail(s->err_fd, tail, sizeof tail);
    why_set(&end->words, ERR_CHILD, "the child process %s during %s%s%s", how, end->stage, *tail ? ": " : "", tail);
}

static double limit_of(const struct sandbox_limits *l, const struct sandbox_end *end)
{
    const char *stage = end->stage;

    if (strcmp(stage, SANDBOX_START) == 0 && l->start_s > 0)
        return l->start_s;
    if (strcmp(stage, "build") == 0 || strcmp(stage, "load") == 0 || strcmp(stage, SANDBOX_START) == 0)
        return l->build_s;
    if (end->first_run)
        return l->run_s + (l->build_s < SANDBOX_LATE_S ? l->build_s : SANDBOX_LATE_S);
    return l->run_s;
}

static double seconds_since(int64_t ns)
{
    return (double)(clock_now_ns() - ns) * 1e-9;
}

/* What the child and those that it started hold; of these it is looked at less often, as there may be many. */
static int64_t held_bytes(struct sandbox *s)
{
    const int64_t now_ns = clock_now_ns();

    if (now_ns - s->forks_ns >= FORKS_MS * INT64_C(1000000)) {
        s->forks_ns = now_ns;
        s->forks_bytes = proc_forks_bytes(s->pid);
    }
    return proc_rss_bytes(s->pid) + s->forks_bytes;
}

/* Is there a reason to end the child now? */
static bool over_limits(struct sandbox *s, const struct sandbox_limits *l, int64_t began_ns, int64_t since_ns,
                        struct sandbox_end *end)
{
    const double spent_s = seconds_since(since_ns), allowed_s = limit_of(l, end);
    const int64_t rss = l->memory_bytes > 0 ? held_bytes(s) : 0;

    if (s->stop && atomic_load(s->stop)) {
        end->fate = SANDBOX_CANCELLED;
        why_set(&end->words, ERR_CANCELLED, "the agent stops");
    } else if (l->memory_bytes > 0 && rss > l->memory_bytes) {
        end->fate = SANDBOX_MEMORY;
        why_set(&end->words, ERR_LIMITS, "memory: the child%s held %lld MiB during %s, the limit is %lld MiB",
                s->forks_bytes ? " with what it started" : "", (long long)(rss >> 20), end->stage,
                (long long)(l->memory_bytes >> 20));
    } else if (spent_s > allowed_s) {
        end->fate = SANDBOX_TIMEOUT;
        why_set(&end->words, ERR_TIMEOUT, "%s took longer than %.3g s", end->stage, allowed_s);
    } else if (l->all_s > 0 && seconds_since(began_ns) > l->all_s) {
        end->fate = SANDBOX_TIMEOUT;
        why_set(&end->words, ERR_TIMEOUT, "all stages up to %s took longer than %.3g s", end->stage, l->all_s);
    } else {
        return false;
    }
    return true;
}

/* A progress frame renews the time limit; true for the final one. */
static bool is_final(const cJSON *frame, struct sandbox_end *end, int64_t *since_ns)
{
    struct child_stage stage;

    (void)child_stage_read(frame, &stage, NULL);
    if (!stage.at)
        return true;
    *since_ns = clock_now_ns();
    end->first_run = strcmp(stage.at, "first") == 0;
    snprintf(end->stage, sizeof end->stage, "%s", end->first_run ? "verify" : stage.at);
    end->i_item = (int)stage.i;
    return false;
}

static void await_reply(struct sandbox *s, const struct sandbox_limits *l, cJSON **reply, struct sandbox_end *end)
{
    int64_t began_ns = clock_now_ns(), since_ns = began_ns, looked_ns = began_ns;

    for (;;) {
        cJSON *frame = NULL;
        const enum err e = frame_read(&s->reader, WATCH_MS, &frame, &end->words);
        const int64_t gone_ns = clock_now_ns() - looked_ns;

        if (gone_ns > STOPPED_MS * INT64_C(1000000)) { /* and the child, it may be: that time is nobody's */
            began_ns += gone_ns;
            since_ns += gone_ns;
        }
        looked_ns = clock_now_ns();
        if (e == ERR_OK && is_final(frame, end, &since_ns)) {
            end->fate = SANDBOX_REPLIED;
            *reply = frame;
            return;
        }
        cJSON_Delete(frame);
        if (e && e != ERR_TIMEOUT) {
            end->fate = SANDBOX_DIED;
            if (e == ERR_PROTOCOL)
                proc_kill(s->pid, SIGKILL, true);
            describe_death(s, end);
            return;
        }
        if (over_limits(s, l, began_ns, since_ns, end))
            return;
    }
}

static void process_ask(struct sandbox *s, cJSON *request, const struct sandbox_limits *l, cJSON **reply,
                        struct sandbox_end *end)
{
    s->forks_bytes = 0; /* those of the last request are gone */
    if (stderr_bytes(s->err_fd) > MAX_STDERR)
        (void)!ftruncate(s->err_fd, 0);
    if (frame_send(s->fd, request) == ERR_OK) {
        await_reply(s, l, reply, end);
    } else {
        end->fate = SANDBOX_DIED;
        describe_death(s, end);
    }
}

const struct sandbox_ops sandbox_processes = {
    .start = process_start, .ask = process_ask, .end_child = process_end, .kill = process_kill};

enum err sandbox_start(struct sandbox *s, const struct sandbox_options *o, struct why *why)
{
    return s->ops->start(s, o, why);
}

void sandbox_end_child(struct sandbox *s)
{
    s->ops->end_child(s);
    assert(!sandbox_is_alive(s));
}

void sandbox_kill(struct sandbox *s)
{
    s->ops->kill(s);
}

void sandbox_ask(struct sandbox *s, cJSON *request, const struct sandbox_limits *l, cJSON **reply,
                 struct sandbox_end *end)
{
    memset(end, 0, sizeof *end);
    end->i_item = SANDBOX_NOWHERE;
    snprintf(end->stage, sizeof end->stage, SANDBOX_START);
    if (sandbox_is_alive(s)) {
        s->ops->ask(s, request, l, reply, end);
    } else {
        cJSON_Delete(request);
        end->fate = SANDBOX_DIED;
        why_set(&end->words, ERR_CHILD, "there is no child process");
    }
    assert((*reply != NULL) == (end->fate == SANDBOX_REPLIED));
    if (end->fate != SANDBOX_REPLIED)
        sandbox_end_child(s);
}
