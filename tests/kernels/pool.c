/* SPDX-License-Identifier: MIT */
/* Each child takes the next item from a counter in shared memory until none is left, and answers through a pipe of its
 * own, whose end tells that it is gone. */
#include "tests/kernels/pool.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    atomic_size_t next;
    atomic_size_t at[POOL_MAX_PROCESSES]; /* the item in hand, +1; 0 = none */
};

struct child {
    pid_t pid;
    int fd; /* where its answers come from; -1 = not running */
};

struct running {
    const struct pool *pool;
    struct pool_result *results;
    struct shared *shared;
    struct child children[POOL_MAX_PROCESSES];
    int n_slots;
};

static bool write_all(int fd, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        const ssize_t done = write(fd, at, n);

        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t n)
{
    for (char *at = bytes; n > 0;) {
        const ssize_t done = read(fd, at, n);

        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static void work_one(const struct pool *p, size_t i, int fd)
{
    struct buf answer;
    size_t head[2] = {i, 0};

    buf_init(&answer, POOL_MAX_ANSWER);
    (void)alarm(p->max_s);
    p->work(i, &answer, p->arg);
    (void)alarm(0);
    fflush(stdout);
    head[1] = answer.len;
    if (!write_all(fd, head, sizeof head) || !write_all(fd, buf_text(&answer), answer.len))
        _exit(2);
    buf_fini(&answer);
}

/* A child's life. `first`: an item that it begins with, +1. */
static int live(const struct running *r, int slot, size_t first, int fd)
{
    const struct pool *p = r->pool;
    atomic_size_t *at = &r->shared->at[slot];

    if (first)
        atomic_store(at, first);
    if (p->begin && !p->begin(p->arg))
        return 1;
    if (first)
        work_one(p, first - 1, fd);
    atomic_store(at, 0);
    for (size_t i; (i = atomic_fetch_add(&r->shared->next, 1)) < p->n_items;) {
        atomic_store(at, i + 1);
        work_one(p, i, fd);
        atomic_store(at, 0);
    }
    return 0;
}

static enum err start(struct running *r, int slot, size_t first, struct why *why)
{
    int ends[2];

    fflush(stdout);
    if (pipe(ends))
        return why_set(why, ERR_IO, "no pipe for a process");
    r->children[slot].pid = fork();
    if (r->children[slot].pid == 0) {
        close(ends[0]);
        _exit(live(r, slot, first, ends[1]));
    }
    close(ends[1]);
    r->children[slot].fd = ends[0];
    if (r->children[slot].pid > 0)
        return ERR_OK;
    close(ends[0]);
    r->children[slot].fd = -1;
    return why_set(why, ERR_IO, "fork failed");
}

/* Takes one answer; false at the end of the pipe. */
static bool take_answer(struct running *r, int slot)
{
    const int fd = r->children[slot].fd;
    size_t head[2];
    char *text;

    if (!read_all(fd, head, sizeof head) || head[0] >= r->pool->n_items || head[1] > POOL_MAX_ANSWER)
        return false;
    text = calloc(1, head[1] + 1);
    if (!text || !read_all(fd, text, head[1])) {
        free(text);
        return false;
    }
    free(r->results[head[0]].answer);
    r->results[head[0]].answer = text;
    return true;
}

/* A child that has ended: what it had in hand when it died is begun once more, in a fresh one. */
static enum err bury(struct running *r, int slot, struct why *why)
{
    const size_t at = atomic_exchange(&r->shared->at[slot], 0);
    struct pool_result *of = at ? &r->results[at - 1] : NULL;
    int status = 0;

    close(r->children[slot].fd);
    r->children[slot].fd = -1;
    (void)waitpid(r->children[slot].pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ERR_OK;
    if (!of && WIFEXITED(status))
        return why_set(why, ERR_DEVICE, "a process ended with status %d before its items", WEXITSTATUS(status));
    if (!of) /* between two items: after an answer */
        return start(r, slot, 0, why);
    of->n_deaths++;
    of->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return start(r, slot, of->n_deaths < 2 && !of->answer ? at : 0, why);
}

/* Until all children have ended. */
static enum err collect(struct running *r, struct why *why)
{
    enum err e = ERR_OK;

    for (;;) {
        struct pollfd list[POOL_MAX_PROCESSES];
        int n = 0;

        for (int i = 0; i < r->n_slots; i++) {
            list[i] = (struct pollfd){.fd = r->children[i].fd, .events = POLLIN};
            n += r->children[i].fd >= 0;
        }
        if (n == 0)
            return e;
        if (poll(list, (nfds_t)r->n_slots, -1) < 0)
            continue;
        for (int i = 0; i < r->n_slots; i++)
            if (list[i].fd >= 0 && list[i].revents && !take_answer(r, i)) {
                const enum err failed = bury(r, i, why);

                e = e ? e : failed;
            }
    }
}

static int processes_of(const struct pool *p)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long n = p->n_processes > 0 ? p->n_processes : cpus > 0 ? cpus : 1;

    n = n > POOL_MAX_PROCESSES ? POOL_MAX_PROCESSES : n;
    return (size_t)n > p->n_items ? (int)p->n_items : (int)n;
}

enum err pool_run(const struct pool *p, struct pool_result *results, struct why *why)
{
    struct running r = {.pool = p, .results = results, .n_slots = processes_of(p)};
    enum err e = ERR_OK, collected;

    memset(results, 0, p->n_items * sizeof *results);
    r.shared = mmap(NULL, sizeof *r.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.shared == MAP_FAILED)
        return why_set(why, ERR_NOMEM, "no shared memory");
    for (int i = 0; i < r.n_slots; i++)
        r.children[i].fd = -1;
    for (int i = 0; !e && i < r.n_slots; i++)
        e = start(&r, i, 0, why);
    collected = collect(&r, why);
    (void)munmap(r.shared, sizeof *r.shared);
    return e ? e : collected;
}

void pool_results_free(struct pool_result *results, size_t n)
{
    for (size_t i = 0; results && i < n; i++)
        free(results[i].answer);
    free(results);
}

bool pool_ask(bool (*ask)(void *out, void *arg), void *out, size_t n_bytes, void *arg)
{
    int ends[2], status = -1;
    bool ok;
    pid_t pid;

    fflush(stdout);
    if (pipe(ends))
        return false;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        ok = ask(out, arg) && write_all(ends[1], out, n_bytes);
        fflush(stdout);
        _exit(!ok);
    }
    close(ends[1]);
    ok = pid > 0 && read_all(ends[0], out, n_bytes);
    close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    return ok && status == 0;
}
