/* SPDX-License-Identifier: MIT */
/* A `tune work` kept running: pauses by a clock that the test turns, with programs of the test's own. */
#include "core/file.h"
#include "core/proc.h"
#include "tracker/workers.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define MS INT64_C(1000000)

static int64_t now_ns;

static int64_t now(void *arg)
{
    (void)arg;
    return now_ns;
}

static const struct clock still = {.now_ns = now};

/* A worker that is this shell script. */
struct place {
    char dir[256];
    struct workers w;
};

static void make(struct place *p, int n, const char *script)
{
    struct why why = {""};

    assert_int_equal(dir_temporary("tune-workers", p->dir, sizeof p->dir, &why), ERR_OK);
    p->w = (struct workers){.n = n, .clock = &still};
    snprintf(p->w.program, sizeof p->w.program, "%s/tune", p->dir);
    snprintf(p->w.url, sizeof p->w.url, "tcp://127.0.0.1:1");
    if (script)
        assert_int_equal(file_replace(p->w.program, script, strlen(script), 0700, &why), ERR_OK);
    now_ns = 1000 * MS;
}

static void end(struct place *p)
{
    workers_stop(&p->w);
    dir_remove(p->dir);
}

/* Ticks until the worker is seen to have ended; only the machine's time passes. */
static void see_it_end(struct place *p)
{
    for (int i = 0; i < 10000 && p->w.pid; i++) {
        clock_sleep_ms(1);
        workers_tick(&p->w);
    }
    assert_int_equal(p->w.pid, 0);
}

static void expect_next_start_after(struct place *p, int64_t ms)
{
    now_ns += (ms - 1) * MS;
    workers_tick(&p->w);
    assert_int_equal(p->w.pid, 0);
    now_ns += MS;
    workers_tick(&p->w);
    assert_true(p->w.pid > 0);
}

/* ---- facts ---- */

static void a_worker_that_dies_young_is_started_after_ever_longer_pauses(void **state)
{
    static const int pauses_ms[] = {500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct place p;

    (void)state;
    make(&p, 1, "#!/bin/sh\nexit 3\n");
    workers_tick(&p.w);
    assert_true(p.w.pid > 0);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        see_it_end(&p);
        expect_next_start_after(&p, pauses_ms[i]);
    }
    now_ns += 9999 * MS; /* still young */
    see_it_end(&p);
    expect_next_start_after(&p, 60000);
    now_ns += 10000 * MS; /* it lived long enough */
    see_it_end(&p);
    expect_next_start_after(&p, 500);
    end(&p);
}

static void a_program_that_cannot_be_started_is_tried_again(void **state)
{
    struct place p;

    (void)state;
    make(&p, 1, NULL);
    workers_tick(&p.w);
    assert_int_equal(p.w.pid, 0);
    assert_int_equal(p.w.again_ns, now_ns + 500 * MS);
    now_ns += 500 * MS;
    workers_tick(&p.w);
    assert_int_equal(p.w.again_ns, now_ns + 1000 * MS);
    end(&p);
}

static void it_is_started_with_its_jobs_the_trackers_address_and_key(void **state)
{
    char said[1000] = "", path[300];
    struct place p;
    FILE *f;

    (void)state;
    for (int with_key = 0; with_key < 2; with_key++) {
        make(&p, 3, "#!/bin/sh\necho \"$@\" >\"$0.part.$$\" && mv \"$0.part.$$\" \"$0.said\"\nexec sleep 60\n");
        strcpy(p.w.key_file, with_key ? "/a.key" : "");
        workers_tick(&p.w);
        assert_true(p.w.pid > 0);
        snprintf(path, sizeof path, "%s/tune.said", p.dir);
        for (int i = 0; i < 10000 && access(path, R_OK) != 0; i++)
            clock_sleep_ms(1);
        f = fopen(path, "r");
        assert_non_null(f);
        assert_non_null(fgets(said, sizeof said, f));
        fclose(f);
        assert_string_equal(said, with_key ? "work --jobs 3 --tracker tcp://127.0.0.1:1 --key-file /a.key\n"
                                           : "work --jobs 3 --tracker tcp://127.0.0.1:1\n");
        end(&p);
    }
}

static void it_ends_when_it_is_stopped_and_is_not_started_without_jobs(void **state)
{
    struct place p;
    pid_t pid;

    (void)state;
    make(&p, 2, "#!/bin/sh\nexec sleep 60\n");
    workers_tick(&p.w);
    pid = p.w.pid;
    workers_tick(&p.w); /* one that runs is left alone */
    assert_int_equal(p.w.pid, pid);
    workers_stop(&p.w);
    assert_int_equal(p.w.pid, 0);
    assert_int_equal(kill(pid, 0), -1);
    p.w.n = 0;
    workers_tick(&p.w);
    assert_int_equal(p.w.pid, 0);
    end(&p);
}

static void workers_need_tune_beside_the_program(void **state)
{
    struct why why = {""};
    struct workers w;

    (void)state;
    assert_int_equal(workers_init(&w, 0, "tcp://x:1", 0, NULL, NULL, &why), ERR_OK);
    assert_int_equal(w.n, 0);
    assert_int_equal(workers_init(&w, 2, "tcp://x:1", 0, NULL, NULL, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "/tune is not there: no workers can be started; --workers 0 starts none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_dies_young_is_started_after_ever_longer_pauses),
        cmocka_unit_test(a_program_that_cannot_be_started_is_tried_again),
        cmocka_unit_test(it_is_started_with_its_jobs_the_trackers_address_and_key),
        cmocka_unit_test(it_ends_when_it_is_stopped_and_is_not_started_without_jobs),
        cmocka_unit_test(workers_need_tune_beside_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
