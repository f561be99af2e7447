/* SPDX-License-Identifier: MIT */
#include "tests/cuda/block.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the first block that fails tells the others' parent. */
struct report {
    volatile int error;
    char words[256];
};

static void run_one(const struct block_launch *l, int64_t i_block, pid_t parent, struct report *to)
{
    struct block_launch one = *l;
    char words[256];
    int error;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a limit of time that ends the parent ends the block, */
    if (getppid() != parent)
        _exit(1); /* also one that came before that word */
    one.only = i_block + 1;
    error = block_run_blocks(&one, words);
    if (error && !to->error) {
        memcpy(to->words, words, sizeof to->words);
        to->error = error;
    }
    _exit(error ? 1 : 0);
}

/* Waits for all; when one has failed the others would wait for it for ever and are ended. A process that died by itself
 * is a failure too. */
static void wait_for(pid_t *child, int64_t n, struct report *r)
{
    for (int64_t left = n; left > 0; usleep(500))
        for (int64_t i = 0; i < n; i++) {
            int status = 0;

            if (child[i] <= 0 || (!r->error && waitpid(child[i], &status, WNOHANG) == 0))
                continue;
            if (r->error) {
                kill(child[i], SIGKILL);
                while (waitpid(child[i], &status, 0) < 0 && errno == EINTR)
                    ;
            } else if (status) {
                snprintf(r->words, sizeof r->words, "block %lld of a cooperative launch died", (long long)i);
                r->error = 719;
            }
            child[i] = 0;
            left--;
        }
}

int grid_run(const struct block_launch *l, char words[256])
{
    const int64_t n = (int64_t)l->grid.x * l->grid.y * l->grid.z;
    pid_t *child = calloc((size_t)n, sizeof *child);
    struct report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getpid();
    int64_t n_started = 0;
    int error = 2;

    snprintf(words, 256, "no memory or processes for a cooperative launch");
    if (child && r != MAP_FAILED) {
        for (; n_started < n; n_started++) {
            child[n_started] = fork();
            if (child[n_started] == 0)
                run_one(l, n_started, parent, r);
            if (child[n_started] < 0)
                break;
        }
        if (n_started < n)
            r->error = error;
        wait_for(child, n_started, r);
        error = r->error;
        if (r->words[0] || !error)
            memcpy(words, r->words, 256);
    }
    if (r != MAP_FAILED)
        munmap(r, sizeof *r);
    free(child);
    return error;
}
