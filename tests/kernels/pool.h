/* SPDX-License-Identifier: MIT */
/* pool.h - the items of a long test, worked off by processes side by side: what breaks its process costs no other item
 * its answer, and devices are opened in the children alone, which no fork follows. */
#ifndef TUNE_TESTS_KERNELS_POOL_H
#define TUNE_TESTS_KERNELS_POOL_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define POOL_MAX_PROCESSES 64
#define POOL_MAX_ANSWER ((size_t)1 << 20)

struct pool {
    size_t n_items;
    int n_processes; /* 0: one a processor */
    unsigned max_s;  /* of one item: then its process gets SIGALRM; 0 = no limit */
    /* In a child, before its first item; false ends the child. May be NULL. */
    bool (*begin)(void *arg);
    /* In a child: puts the answer, any text, into `answer`. */
    void (*work)(size_t i, struct buf *answer, void *arg);
    void *arg;
};

/* What became of an item. One whose process dies is begun once more as the first of a fresh process, for an earlier one
 * may have spoilt the memory; when that dies, too, there is no answer. */
struct pool_result {
    char *answer;         /* NULL = none */
    int n_deaths, signal; /* signal 0: it exited */
};

/* `results`: n_items of them, given; pool_results_free frees what they hold. ERR_IO, ERR_NOMEM; ERR_DEVICE: a child
 * ended before its items did, as when `begin` says false. */
enum err pool_run(const struct pool *p, struct pool_result *results, struct why *why);
void pool_results_free(struct pool_result *results, size_t n);

/* Runs `ask` in a child, which fills `n_bytes` of `out`: for what a process must not have touched before it forks.
 * False: `ask` said so, or the child died. */
bool pool_ask(bool (*ask)(void *out, void *arg), void *out, size_t n_bytes, void *arg);

#endif
