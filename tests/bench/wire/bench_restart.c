/* SPDX-License-Identifier: MIT */
/* How long clients need to find a tracker again that was killed and started once more: from its "listening" to the end
 * of the call that each had under way. Usage: bench_restart [rounds] [ms that it is away]. */
#include "tests/tracker/farm.h"

#include "core/clock.h"

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define N_CLIENTS 16 /* each a process, as agents are */
#define MAX_ROUNDS 1000

static int n_rounds = 2;
static int64_t away_ms;

/* In memory that the processes share. */
struct caller {
    pid_t pid;
    atomic_llong answered_ns; /* the last answer */
};

/* In a process of its own, to its end. */
static void call_on(const struct farm *f, struct caller *a)
{
    struct client *c = farm_client(f, "caller");

    for (;;) {
        farm_do(c, "status", "{}");
        a->answered_ns = clock_now_ns();
        clock_sleep_ms(5);
    }
}

static void start_callers(const struct farm *f, struct caller *callers)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        const pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            call_on(f, &callers[i]);
        callers[i].pid = pid;
        while (!callers[i].answered_ns)
            clock_sleep_ms(1);
    }
}

static void end_callers(const struct caller *callers)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        kill(callers[i].pid, SIGKILL);
        waitpid(callers[i].pid, NULL, 0);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ms from the start to each caller's first answer behind it. */
static void round_of(struct farm *f, struct caller *callers, double *out)
{
    int64_t start_ns;

    clock_sleep_ms(300);
    farm_crash(f);
    clock_sleep_ms(away_ms);
    farm_restart(f);
    start_ns = clock_now_ns();
    for (int i = 0; i < N_CLIENTS; i++) {
        while (callers[i].answered_ns < start_ns)
            clock_sleep_ms(1);
        out[i] = (double)(callers[i].answered_ns - start_ns) / 1e6;
    }
}

static void bench(void **state)
{
    static double ms[MAX_ROUNDS * N_CLIENTS];
    struct caller *callers =
        mmap(NULL, N_CLIENTS * sizeof *callers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct farm f = {.more = {NULL}};
    const size_t n = (size_t)n_rounds * N_CLIENTS;

    (void)state;
    assert(n_rounds > 0 && n_rounds <= MAX_ROUNDS);
    farm_start(&f);
    assert_true(callers != MAP_FAILED);
    start_callers(&f, callers);
    for (int i = 0; i < n_rounds; i++)
        round_of(&f, callers, ms + (size_t)i * N_CLIENTS);
    end_callers(callers);
    farm_stop(&f);
    munmap(callers, N_CLIENTS * sizeof *callers);
    qsort(ms, n, sizeof *ms, by_size);
    printf("%d clients, %d restarts after %lld ms: answered again after median %.0f, p95 %.0f, worst %.0f ms\n",
           N_CLIENTS, n_rounds, (long long)away_ms, ms[n / 2], ms[n * 95 / 100], ms[n - 1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bench)};

    if (argc > 1)
        n_rounds = (int)strtol(argv[1], NULL, 10);
    if (argc > 2)
        away_ms = strtoll(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
