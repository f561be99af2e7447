/* Best sets: who wins, and the file they become. */
#include "sample.h"

#include "core/file.h"
#include "logs/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define W1 "dense f32 m=1 n=1 k=1"
#define W2 "dense f32 m=2 n=2 k=2"

static void add(struct best_set *b, const char *workload, char fingerprint, const char *job, const char *purpose,
                char program, double time_ns)
{
    struct record r = sample_timed(workload, fingerprint, job, purpose, program, time_ns);

    assert_int_equal(best_add(b, &r), ERR_OK);
    record_fini(&r);
}

static struct best_set *fresh(void)
{
    struct best_set *b = NULL;

    assert_int_equal(best_new(&b), ERR_OK);
    return b;
}

static void the_fastest_of_each_workload_and_device_wins(void **state)
{
    struct best_set *b = fresh();

    (void)state;
    add(b, W1, '1', "j1", "search", 'a', 100);
    add(b, W1, '1', "j1", "search", 'b', 90);
    add(b, W2, '1', "j1", "search", 'c', 50);
    add(b, W1, '2', "j1", "search", 'd', 70);
    add(b, W1, '1', "j1", "search", 'e', 95);
    assert_int_equal(best_n(b), 3);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    assert_int_equal(best_at(b, 1)->program.hex[0], 'c');
    assert_int_equal(best_at(b, 2)->program.hex[0], 'd');
    assert_int_equal(best_find(b, W1, NULL)->program.hex[0], 'd');
    assert_int_equal(best_find(b, W1, best_at(b, 0)->fingerprint.hex)->program.hex[0], 'b');
    assert_null(best_find(b, "dense f32 m=3 n=3 k=3", NULL));
    best_free(b);
}

/* b is slower and takes less energy; c takes least but is slow. */
static void what_was_searched_for_decides(void **state)
{
    static const struct {
        const char *objective;
        char winner;
    } cases[] = {{"", 'a'}, {"energy", 'c'}, {"edp", 'b'}};
    static const double time_ns[] = {100, 110, 200}, energy_j[] = {10, 5, 4};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct best_set *b = fresh();

        for (int k = 0; k < 3; k++) {
            struct record r = sample_timed(W1, '1', "j1", "search", (char)('a' + k), time_ns[k]);

            strcpy(r.objective, cases[i].objective);
            r.energy_j = energy_j[k];
            assert_int_equal(best_add(b, &r), ERR_OK);
            record_fini(&r);
        }
        assert_int_equal(best_at(b, 0)->program.hex[0], cases[i].winner);
        best_free(b);
    }
}

static void finals_beat_the_search_of_their_job_in_any_order(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct best_set *b = fresh();

        if (swapped)
            add(b, W1, '1', "j1", "final", 'a', 100);
        add(b, W1, '1', "j1", "search", 'b', 80); /* a lucky measurement */
        add(b, W1, '1', "j1", "search", 'a', 85);
        if (!swapped)
            add(b, W1, '1', "j1", "final", 'a', 100);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        add(b, W1, '1', "j2", "search", 'c', 95); /* another job is another day */
        assert_int_equal(best_at(b, 0)->program.hex[0], 'c');
        best_free(b);
    }
}

static void a_redo_replaces_what_it_redoes(void **state)
{
    struct best_set *b = fresh();

    (void)state;
    add(b, W1, '1', "j1", "search", 'a', 50);
    add(b, W1, '1', "j1", "search", 'b', 80);
    add(b, W1, '1', "j1", "redo", 'a', 120);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    add(b, W1, '1', "j1", "search", 'a', 10); /* an older kind of measurement does not come back */
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    best_free(b);
}

static void values_decide_where_anchors_agree(void **state)
{
    struct best_set *b = fresh();
    struct record r = sample_timed(W1, '1', "j1", "search", 'a', 100),
                  q = sample_timed(W1, '1', "j1", "search", 'b', 90);

    (void)state;
    r.anchor.hash = q.anchor.hash = r.program;
    r.lnratio = -0.5;
    q.lnratio = -0.4; /* fewer ns, but on a machine that was faster just then */
    assert_int_equal(best_add(b, &r), ERR_OK);
    assert_int_equal(best_add(b, &q), ERR_OK);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
    record_fini(&r);
    record_fini(&q);
    best_free(b);
}

static void failures_never_get_in(void **state)
{
    struct best_set *b = fresh();

    (void)state;
    for (int s = 0; s < N_STATUSES; s++) {
        struct record r = sample_timed(W1, '1', "j1", "search", 'a', s == STATUS_OK ? 0 : 1);

        r.status = (enum record_status)s;
        assert_int_equal(best_add(b, &r), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(best_n(b), 0);
    best_free(b);
}

static void the_best_of_many_is_kept(void **state)
{
    static const char digits[] = "0123456789abcdef";
    struct best_set *b = fresh();

    (void)state;
    for (int i = 0; i < 16; i++)
        add(b, W1, '1', "j1", "search", digits[i], 100 + (i * 7) % 16);
    assert_true(best_at(b, 0)->time_ns == 100);
    best_free(b);
}

static bool count(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)line;
    (void)n;
    *(double *)arg += r->time_ns;
    return true;
}

static void a_best_log_is_written_and_read(void **state)
{
    struct best_set *b = fresh();
    char dir[200], path[300], best[300];
    double sum = 0;

    (void)state;
    assert_int_equal(dir_temporary("best", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/x.jsonl", dir);
    assert_int_equal(best_path(path, best, sizeof best), ERR_OK);
    assert_int_equal(strcmp(best + strlen(best) - 13, "/x.best.jsonl"), 0);
    add(b, W1, '1', "j1", "search", 'a', 100);
    add(b, W2, '1', "j1", "search", 'b', 1000);
    assert_int_equal(best_write(b, best, NULL), ERR_OK);
    assert_int_equal(best_write(b, best, NULL), ERR_OK);
    assert_int_equal(log_scan(best, count, NULL, &sum, NULL), ERR_OK);
    assert_true(sum == 1100);
    assert_int_equal(best_write(b, "/nonexistent/x", NULL), ERR_IO);
    best_free(b);
    dir_remove(dir);
}

static void best_paths_keep_other_endings(void **state)
{
    char out[32];

    (void)state;
    assert_int_equal(best_path("a/log", out, sizeof out), ERR_OK);
    assert_string_equal(out, "a/log.best.jsonl");
    assert_int_equal(best_path(".jsonl", out, sizeof out), ERR_OK);
    assert_string_equal(out, ".jsonl.best.jsonl");
    assert_int_equal(best_path("a/very/long/name/of/a/log.jsonl", out, sizeof out), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_each_workload_and_device_wins),
        cmocka_unit_test(what_was_searched_for_decides),
        cmocka_unit_test(finals_beat_the_search_of_their_job_in_any_order),
        cmocka_unit_test(a_redo_replaces_what_it_redoes),
        cmocka_unit_test(values_decide_where_anchors_agree),
        cmocka_unit_test(failures_never_get_in),
        cmocka_unit_test(the_best_of_many_is_kept),
        cmocka_unit_test(a_best_log_is_written_and_read),
        cmocka_unit_test(best_paths_keep_other_endings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
