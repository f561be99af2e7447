/* SPDX-License-Identifier: MIT */
/* Cycles a second of "lease a trial, send its result", each durable (SQLite WAL, synchronous FULL) before its reply,
 * through the real program and client.c. Usage: bench_wire [clients] [seconds]. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_CLIENTS 64
#define BATCH 64

struct load {
    const struct farm *farm;
    int i;
    atomic_bool *stop;
    long n_cycles;
    int64_t worst_ns;
    pthread_t thread;
};

static void feed(struct client *c, const char *job, int *n)
{
    struct buf b;

    buf_init(&b, 65536);
    buf_printf(&b, "{'job':'%s','token':1,'trials':[", job);
    for (int i = 0; i < BATCH; i++, (*n)++)
        buf_printf(&b, "%s{'n':%d,'program':'%s','body':{}}", i ? "," : "", *n, hash_of(*n));
    buf_puts(&b, "]}");
    farm_do(c, "trial_add", "%s", buf_text(&b));
    buf_fini(&b);
}

static void *load_main(void *arg)
{
    struct load *l = arg;
    char job[24], name[16];
    struct client *c = farm_client(l->farm, "load");
    int n = 0;
    cJSON *r;

    snprintf(name, sizeof name, "a%d", l->i);
    farm_do(c, "agent_register", "{'agent':'%s','nonce':'n','key':'k%d','fingerprint':'%s'}", name, l->i,
            sha256_of("f", 1).hex);
    r = farm_must(c, "job_submit", "{'key':'k%d','body':'b','lease':true}", l->i);
    snprintf(job, sizeof job, "%s", text_in(r, "job"));
    cJSON_Delete(r);
    while (!atomic_load(l->stop)) {
        const int64_t start_ns = clock_now_ns();
        const cJSON *grant;
        int64_t took_ns;

        if (l->n_cycles == n)
            feed(c, job, &n);
        r = farm_must(c, "trial_lease", "{'agent':'%s','max':1}", name);
        grant = item_in(r, "trials", 0);
        farm_do(c, "trial_result",
                "{'trial':'%s','token':%lld,'envelope':{'status':'ok','time_ns':1,'flops':1,'device_ms':1},'record':'%"
                "0500d'}",
                text_in(grant, "trial"), (long long)number_in(grant, "token"), 1);
        cJSON_Delete(r);
        l->n_cycles++;
        took_ns = clock_now_ns() - start_ns;
        l->worst_ns = took_ns > l->worst_ns ? took_ns : l->worst_ns;
    }
    client_close(c);
    return NULL;
}

static void measure(int n_clients, double seconds)
{
    struct farm f = {.more = {NULL}};
    static struct load all[MAX_CLIENTS];
    atomic_bool stop = false;
    int64_t worst_ns = 0;
    long sum = 0;

    farm_start(&f);
    memset(all, 0, sizeof all);
    for (int i = 0; i < n_clients; i++) {
        all[i] = (struct load){.farm = &f, .i = i, .stop = &stop};
        pthread_create(&all[i].thread, NULL, load_main, &all[i]);
    }
    clock_sleep_ms((int64_t)(seconds * 1000));
    atomic_store(&stop, true);
    for (int i = 0; i < n_clients; i++) {
        pthread_join(all[i].thread, NULL);
        sum += all[i].n_cycles;
        worst_ns = all[i].worst_ns > worst_ns ? all[i].worst_ns : worst_ns;
    }
    printf("%2d clients: %.0f lease+result cycles/s (2 durable calls each), worst %.1f ms\n", n_clients,
           (double)sum / seconds, (double)worst_ns / 1e6);
    farm_stop(&f);
}

static int only_clients;
static double seconds = 2;

static void bench(void **state)
{
    (void)state;
    if (only_clients) {
        measure(only_clients, seconds);
        return;
    }
    measure(1, seconds);
    measure(16, seconds);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bench)};

    if (argc > 1)
        only_clients = strtol(argv[1], NULL, 10) < MAX_CLIENTS ? (int)strtol(argv[1], NULL, 10) : MAX_CLIENTS;
    if (argc > 2)
        seconds = strtod(argv[2], NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
