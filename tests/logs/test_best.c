/* SPDX-License-Identifier: MIT */
/* Best sets: who wins, and the file they become. */
#include "sample.h"

#include "core/file.h"
#include "logs/log.h"

#include <math.h>
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

/* Whatever its purpose, and however fast: not alone, not beside others, not by a later record of the same program. */
static void what_was_verified_in_part_is_not_named(void **state)
{
    static const char *const purposes[] = {"search", "redo", "final"};

    (void)state;
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++) {
        struct best_set *b = fresh();
        struct record r = sample_timed(W1, '1', "j1", purposes[i], 'a', 50);

        strcpy(r.verified, RECORD_IN_PART);
        assert_int_equal(best_add(b, &r), ERR_OK);
        assert_int_equal(best_n(b), 0);
        assert_null(best_find(b, W1, NULL));
        add(b, W1, '1', "j1", "search", 'b', 100);
        r.program.hex[0] = 'b';
        r.ts_ms += 1000;
        assert_int_equal(best_add(b, &r), ERR_OK);
        assert_int_equal(best_n(b), 1);
        assert_true(best_at(b, 0)->program.hex[0] == 'b' && best_at(b, 0)->time_ns == 100);
        strcpy(r.verified, "not checked"); /* nothing tells what is right: nothing was left out */
        assert_int_equal(best_add(b, &r), ERR_OK);
        assert_true(best_at(b, 0)->time_ns == 50);
        record_fini(&r);
        best_free(b);
    }
}

/* Who does not say what it was verified with is named where nobody says so, and in no order before one that does; so
 * of logs that are older than that. */
static void what_was_verified_in_full_is_named_before_what_does_not_say(void **state)
{
    static const char *const words[] = {"", RECORD_IN_FULL, "", RECORD_IN_FULL, "not checked"};
    static const int orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 3, 0, 2, 4}, {2, 0, 4, 3, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct best_set *b = fresh();

        for (size_t k = 0; k < 5; k++) { /* times 10, 20, .. by their place in words; a final that does not say */
            const int at = orders[i][k];
            struct record r = sample_timed(W1, '1', at == 3 ? "j2" : "j1", at == 2 ? "final" : "search",
                                           (char)('a' + at), 10 * (at + 1));

            strcpy(r.verified, words[at]);
            assert_int_equal(best_add(b, &r), ERR_OK);
            record_fini(&r);
        }
        assert_int_equal(best_n(b), 1);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
        assert_ptr_equal(best_find(b, W1, NULL), best_at(b, 0));
        best_free(b);
        b = fresh();
        add(b, W1, '1', "j1", "search", 'a', 10);
        add(b, W1, '1', "j1", "search", 'b', 20);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        best_free(b);
    }
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
        add(b, W1, '1', "j2", "search", 'c', 82); /* another job is another day */
        assert_int_equal(best_at(b, 0)->program.hex[0], 'c');
        best_free(b);
    }
}

/* A run was ended while its finals were timed, the default's first: what was ahead of it and has none still wins. Where
 * all finalists have theirs, what they turned out to be counts, though somebody else was luckier in the search. */
static void finals_that_were_cut_short_hide_nothing(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct best_set *b = fresh();

        if (order)
            add(b, W1, '1', "j1", "final", 'd', 400);
        add(b, W1, '1', "j1", "search", 'a', 100);
        add(b, W1, '1', "j1", "search", 'd', 396);
        if (!order)
            add(b, W1, '1', "j1", "final", 'd', 400);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        add(b, W1, '1', "j1", "final", 'a', 130);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        assert_true(best_at(b, 0)->time_ns == 130);
        add(b, W1, '1', "j1", "search", 'e', 110); /* was no finalist */
        assert_true(best_at(b, 0)->time_ns == 130);
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

/* Of one program that a run measures again in the same way, the later measurement counts, faster or slower. */
static void the_latest_measurement_of_a_program_counts(void **state)
{
    static const char *const purposes[] = {"search", "redo", "final"};

    (void)state;
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++)
        for (int slower = 0; slower < 2; slower++) {
            struct best_set *b = fresh();

            add(b, W1, '1', "j1", purposes[i], 'a', 100);
            add(b, W1, '1', "j1", purposes[i], 'b', 110);
            add(b, W1, '1', "j1", purposes[i], 'a', slower ? 120 : 50);
            assert_int_equal(best_n(b), 1);
            assert_int_equal(best_at(b, 0)->program.hex[0], slower ? 'b' : 'a');
            assert_true(best_at(b, 0)->time_ns == (slower ? 110 : 50));
            best_free(b);
        }
}

/* Records of other tuners name none: each is of a program of its own. */
static void records_without_a_program_are_each_their_own(void **state)
{
    static const double orders[][3] = {{90, 100, 95}, {100, 90, 95}, {100, 95, 90}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct best_set *b = fresh();

        for (int k = 0; k < 3; k++) {
            struct record r = sample_timed(W1, '1', "", "search", 'a', orders[i][k]);

            r.program.hex[0] = '\0';
            assert_int_equal(best_add(b, &r), ERR_OK);
            record_fini(&r);
        }
        assert_int_equal(best_n(b), 1);
        assert_true(best_at(b, 0)->time_ns == 90);
        best_free(b);
    }
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
    assert_int_equal(best_write(b, "/dev/null/none/x", NULL), ERR_IO);
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

/* A final of one program with an error, at a time of the day. */
static void add_final(struct best_set *b, const char *job, char program, double time_ns, double se, int64_t ts_ms)
{
    struct record r = sample_timed(W1, '1', job, "final", program, time_ns);

    r.se = se;
    r.ts_ms = ts_ms;
    assert_int_equal(best_add(b, &r), ERR_OK);
    record_fini(&r);
}

/* Times without a common anchor: twice sqrt(2) of 6 % and the slots. */
static void a_newcomer_wins_only_beyond_the_noise(void **state)
{
    static const struct {
        double se_holder, se_newcomer, time_ns;
        char winner;
    } cases[] = {
        {0.0001, 0.0001, 85, 'a'},                      /* exp(-.163): within 17 % of ln */
        {0.0001, 0.0001, 84, 'b'},                      /* exp(-.174) */
        {0.03, 0.04, 83, 'a'},                          /* 2 hypot(.05, .085) = 20 % */
        {0.03, 0.04, 81, 'b'},     {NAN, NAN, 84, 'b'}, /* no error of the slots is known */
        {NAN, NAN, 120, 'a'},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct best_set *b = fresh();

        add_final(b, "j1", 'a', 100, cases[i].se_holder, 1);
        add_final(b, "j2", 'b', cases[i].time_ns, cases[i].se_newcomer, 2);
        if (best_at(b, 0)->program.hex[0] != cases[i].winner)
            fail_msg("case %zu: got %c, expected %c", i, best_at(b, 0)->program.hex[0], cases[i].winner);
        best_free(b);
    }
}

static void of_two_that_tie_a_final_beats_a_search(void **state)
{
    struct best_set *b = fresh();

    (void)state;
    add(b, W1, '1', "j1", "search", 'a', 100);
    add(b, W1, '1', "j2", "final", 'b', 100.5);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    add(b, W1, '1', "j3", "final", 'c', 100.2); /* a tie among finals: who holds it keeps it */
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    add(b, W1, '1', "j4", "search", 'd', 99.9);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    best_free(b);
    b = fresh();
    add(b, W1, '1', "j1", "search", 'a', 100);
    add(b, W1, '1', "j2", "final", 'b', 120); /* worse beyond the noise: no tie */
    assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
    best_free(b);
}

/* What an interrupted run left: D, a default, timed alone, as was the anchor E; X and G timed against E, X in a slow
 * moment. By pairs D beats X by its time, X beats G by its ratio, and G beats D by its time. On one scale G is 8.5,
 * X 7.7 and D 16.9 (E was 17 when D was timed). */
static void alone_or_against_an_anchor_there_is_one_order(void **state)
{
    static const struct {
        char program;
        double time_ns, lnratio; /* of time / E's */
    } records[] = {{'e', 17, NAN}, {'d', 16.9, NAN}, {'c', 36.2, -0.79}, {'b', 10.1, -0.69}};

    (void)state;
    for (size_t order = 0; order < 4; order++) {
        struct best_set *b = fresh();

        for (size_t i = 0; i < 4; i++) {
            const size_t k =
                i < 2 ? i ^ (order & 1) : i ^ (order >> 1); /* the anchor before what was timed against it */
            struct record r = sample_timed(W1, '1', "j1", "search", records[k].program, records[k].time_ns);

            if (!isnan(records[k].lnratio)) {
                memset(r.anchor.hash.hex, 'e', SHA256_HEX);
                r.lnratio = records[k].lnratio;
            }
            assert_int_equal(best_add(b, &r), ERR_OK);
            record_fini(&r);
        }
        assert_int_equal(best_at(b, 0)->program.hex[0], 'c');
        best_free(b);
    }
}

/* Behind the bridge a ratio to the second anchor counts with it; a ratio to an anchor of no link by its time. */
static void epochs_of_a_run_are_on_one_scale(void **state)
{
    static const struct {
        char program, anchor;
        int epoch;
        double time_ns, lnratio, bridge;
    } records[] = {{'e', 0, 0, 100, NAN, 0},
                   {'a', 'e', 0, 20, -1.6, 0},
                   {'b', 'a', 1, 40, -0.1, -1.6},
                   {'c', 'a', 1, 15, 0.3, -1.6},
                   {'d', 'f', 1, 500, -9, 0} /* of another chain */};
    struct best_set *b = fresh();

    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct record r = sample_timed(W1, '1', "j1", "search", records[i].program, records[i].time_ns);

        if (records[i].anchor)
            memset(r.anchor.hash.hex, records[i].anchor, SHA256_HEX);
        r.anchor.epoch = records[i].epoch;
        r.anchor.bridge = records[i].bridge;
        r.lnratio = records[i].lnratio;
        assert_int_equal(best_add(b, &r), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    best_free(b);
}

static void within_a_run_the_least_wins(void **state)
{
    struct best_set *b = fresh();

    (void)state;
    add_final(b, "j1", 'a', 100, 0.01, 5);
    add_final(b, "j1", 'b', 99.9, 0.01, 6);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    best_free(b);
}

/* Each private farm names its jobs anew: what is searched behind the finals is another run. */
static void a_search_behind_the_finals_begins_another_run(void **state)
{
    for (int later = 0; later < 2; later++) {
        struct best_set *b = fresh();
        struct record r = sample_timed(W1, '1', "j1", "search", 'c', 80);

        add_final(b, "j1", 'a', 100, 0.001, 1000);
        r.ts_ms = later ? 2000 : 500;
        assert_int_equal(best_add(b, &r), ERR_OK);
        record_fini(&r);
        assert_int_equal(best_at(b, 0)->program.hex[0], later ? 'c' : 'a');
        add_final(b, "j1", 'c', 99.5, 0.001, 3000); /* a tie with the first run's, the least of one run */
        assert_int_equal(best_at(b, 0)->program.hex[0], later ? 'a' : 'c');
        best_free(b);
    }
    (void)state;
}

/* Behind the first of a run's finals by the clock, in whatever order they were written. */
static void the_first_final_ends_the_search_of_a_run(void **state)
{
    static const int64_t finals[][3] = {{1000, 2000, 3000}, {3000, 2000, 1000}, {2000, 1000, 3000}};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int later = 0; later < 2; later++) {
            struct best_set *b = fresh();
            struct record r = sample_timed(W1, '1', "j1", "search", 'c', 80);

            for (int k = 0; k < 3; k++)
                add_final(b, "j1", (char)('d' + k), 100 + k, 0.001, finals[i][k]);
            r.ts_ms = later ? 1500 : 500;
            assert_int_equal(best_add(b, &r), ERR_OK);
            record_fini(&r);
            if (best_at(b, 0)->program.hex[0] != (later ? 'c' : 'd'))
                fail_msg("finals %zu, later %d: %c wins", i, later, best_at(b, 0)->program.hex[0]);
            best_free(b);
        }
}

/* It is timed once, without an anchor, when the finals are over: perhaps in a fast moment. */
static void the_baseline_behind_the_finals_is_of_their_run(void **state)
{
    struct best_set *b = fresh();
    struct record r = sample_timed(W1, '1', "j1", "search", 'c', 80);

    (void)state;
    add_final(b, "j1", 'a', 100, 0.001, 1000);
    r.ts_ms = 2000;
    r.rounds = 1;
    assert_int_equal(best_add(b, &r), ERR_OK);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
    r.program.hex[0] = 'd';
    r.censored = true; /* given up after its first round: a search of the next run */
    assert_int_equal(best_add(b, &r), ERR_OK);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'd');
    record_fini(&r);
    best_free(b);
}

static void records_without_a_fingerprint_are_told_apart_by_key_and_name(void **state)
{
    static const char *const keys[] = {"rk3399-mali", "rk3399-mali", "gtx-1080", "", ""};
    struct best_set *b = fresh();

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct record r = sample_timed(W1, '1', "j1", "search", (char)('a' + i), 100 - (double)i);

        r.fingerprint.hex[0] = '\0';
        strcpy(r.key, keys[i]);
        r.device = cJSON_Parse(i == 4 ? "{\"name\":\"other\"}" : "{\"name\":\"board\"}");
        assert_int_equal(best_add(b, &r), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(best_n(b), 4);
    assert_int_equal(best_at(b, 0)->program.hex[0], 'b');
    assert_int_equal(best_find(b, W1, "board")->program.hex[0], 'd');
    assert_int_equal(best_find(b, W1, "other")->program.hex[0], 'e');
    best_free(b);
}

static void add_told_apart(struct best_set *b, char fingerprint, bool says_former, char program, double time_ns)
{
    struct record r = sample_timed(W1, fingerprint, "j1", "search", program, time_ns);
    char former[SHA256_HEX + 1], text[128];

    memset(former, '0', sizeof former);
    former[SHA256_HEX] = '\0';
    snprintf(text, sizeof text, "{\"former\":\"%s\"}", former);
    if (says_former)
        r.device = cJSON_Parse(text);
    assert_int_equal(best_add(b, &r), ERR_OK);
    record_fini(&r);
}

/* '0' was the fingerprint of both processors; a log that goes on has one best of a workload, not two. */
static void records_of_before_are_of_the_processor_that_goes_on(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct best_set *b = fresh();

        if (first)
            add_told_apart(b, '1', true, 'a', 100);
        add_told_apart(b, '0', false, 'b', 110);
        if (!first)
            add_told_apart(b, '1', true, 'a', 100);
        assert_int_equal(best_n(b), 1);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        assert_true(best_same_device(best_at(b, 0), best_find(b, W1, best_at(b, 0)->fingerprint.hex)));
        add_told_apart(b, '2', true, 'c', 50); /* another processor of that name */
        assert_int_equal(best_n(b), 2);
        assert_int_equal(best_at(b, 0)->program.hex[0], 'a');
        assert_false(best_same_device(best_at(b, 0), best_at(b, 1)));
        best_free(b);
    }
}

static void thousands_of_workloads_keep_their_own_best(void **state)
{
    struct best_set *b = fresh();
    char workload[64];

    (void)state;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 5000; i++) {
            snprintf(workload, sizeof workload, "dense f32 m=%d n=1 k=1", i);
            add(b, workload, i % 2 ? '1' : '2', "j1", "search", pass ? 'b' : 'a', pass ? 50 + i : 100 + i);
        }
    assert_int_equal(best_n(b), 5000);
    for (int i = 0; i < 5000; i++) {
        snprintf(workload, sizeof workload, "dense f32 m=%d n=1 k=1", i);
        assert_string_equal(best_at(b, (size_t)i)->workload, workload);
        assert_true(best_find(b, workload, NULL)->time_ns == 50 + i);
    }
    best_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_each_workload_and_device_wins),
        cmocka_unit_test(what_was_verified_in_part_is_not_named),
        cmocka_unit_test(what_was_verified_in_full_is_named_before_what_does_not_say),
        cmocka_unit_test(what_was_searched_for_decides),
        cmocka_unit_test(finals_beat_the_search_of_their_job_in_any_order),
        cmocka_unit_test(finals_that_were_cut_short_hide_nothing),
        cmocka_unit_test(a_redo_replaces_what_it_redoes),
        cmocka_unit_test(the_latest_measurement_of_a_program_counts),
        cmocka_unit_test(records_without_a_program_are_each_their_own),
        cmocka_unit_test(values_decide_where_anchors_agree),
        cmocka_unit_test(failures_never_get_in),
        cmocka_unit_test(the_best_of_many_is_kept),
        cmocka_unit_test(a_best_log_is_written_and_read),
        cmocka_unit_test(best_paths_keep_other_endings),
        cmocka_unit_test(a_newcomer_wins_only_beyond_the_noise),
        cmocka_unit_test(of_two_that_tie_a_final_beats_a_search),
        cmocka_unit_test(alone_or_against_an_anchor_there_is_one_order),
        cmocka_unit_test(epochs_of_a_run_are_on_one_scale),
        cmocka_unit_test(within_a_run_the_least_wins),
        cmocka_unit_test(a_search_behind_the_finals_begins_another_run),
        cmocka_unit_test(the_first_final_ends_the_search_of_a_run),
        cmocka_unit_test(the_baseline_behind_the_finals_is_of_their_run),
        cmocka_unit_test(records_without_a_fingerprint_are_told_apart_by_key_and_name),
        cmocka_unit_test(records_of_before_are_of_the_processor_that_goes_on),
        cmocka_unit_test(thousands_of_workloads_keep_their_own_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
