/* SPDX-License-Identifier: MIT */
/* Every store of the table keeps the contract of tracker/store.h. `test_store NAME` holds one of them to it that needs
 * a server, which it starts. */
#include "core/file.h"
#include "core/hash.h"
#include "tests/tracker/postgres.h"
#include "tests/tracker/store_place.h"
#include "tracker/store.h"

#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cmocka.h>

static struct postgres server;

static bool needs_server(const struct store_ops *ops)
{
    return strcmp(ops->name, "postgres") == 0;
}

static void each_store(void (*test)(struct place *p))
{
    for (size_t i = 0; store_table[i]; i++) {
        struct place p = {.ops = store_table[i]};

        if (needs_server(p.ops) != (server.pid != 0))
            continue;
        if (server.pid)
            postgres_place(&server, p.dir, sizeof p.dir);
        else
            assert_int_equal(dir_temporary("tune-store", p.dir, sizeof p.dir, NULL), ERR_OK);
        place_open(&p);
        test(&p);
        p.ops->close(p.s);
        if (!server.pid)
            dir_remove(p.dir);
    }
}

/* Two rows under one id: a server may tell so with the next read only. */
static void tells_failures(struct place *p)
{
    const struct job_row row = {.id = 1, .title = "t", .user = "u", .key = "k", .body = "b", .request = "r"};
    struct why why = {""};
    struct job_row read = {0};
    enum err e;

    p->ops->words(p->s, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(p->ops->job_put(p->s, &row), ERR_OK);
    e = p->ops->job_put(p->s, &row);
    if (!e)
        e = p->ops->each_job(p->s, 0, take_job, &read);
    assert_int_equal(e, ERR_IO);
    p->ops->words(p->s, &why);
    if (!strstr(why.text, "jobs")) /* the table's name */
        fail_msg("'%s'", why.text);
}

static void a_failed_write_is_told_in_the_words_of_the_database(void **state)
{
    (void)state;
    each_store(tells_failures);
}

static void add_mode(const char *agent, enum mode mode, const char *user, void *text)
{
    snprintf((char *)text + strlen(text), 64 - strlen(text), "%s %d %s;", agent, (int)mode, user);
}

static void keeps(struct place *p)
{
    const struct job_row sums = {.id = 1, .seq = 1, .n_done = 1, .n_lost = 2, .best_gflops = 3, .best_ns = 7};
    struct job_row row = {0};
    char modes[64] = "";
    int counts[5] = {0}, n = 0;
    int64_t next;

    place_job(p, 1, JOB_OPEN, 0);
    place_trial(p, 1, 1, TRIAL_OPEN);
    place_trial(p, 2, 1, TRIAL_LEASED);
    place_trial(p, 3, 1, TRIAL_DONE);
    assert_int_equal(place_record(p, 1, 1, 3, "ok"), ERR_OK);
    assert_int_equal(p->ops->sums_put(p->s, &sums), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "board", MODE_RESERVE, "ann"), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "other", MODE_DRAIN, ""), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "other", MODE_SERVE, ""), ERR_OK);
    place_commit(p);
    place_job(p, 2, JOB_OPEN, 0); /* never committed */
    place_reopen(p);
    assert_int_equal(p->ops->each_job(p->s, 0, take_job, &row), ERR_OK);
    assert_int_equal(row.id, 1);
    assert_int_equal(row.seq, 1);
    assert_int_equal(row.n_lost, 2);
    assert_int_equal(row.n_done, 1);
    assert_true(row.best_gflops == 3 && row.best_ns == 7);
    assert_int_equal(p->ops->each_mode(p->s, add_mode, modes), ERR_OK);
    assert_string_equal(modes, "board 2 ann;");
    assert_int_equal(p->ops->each_live_trial(p->s, count_trials, counts), ERR_OK);
    assert_int_equal(counts[TRIAL_OPEN], 1);
    assert_int_equal(counts[TRIAL_LEASED], 1);
    assert_int_equal(p->ops->each_record(p->s, 1, 0, 0, 10, count_records, &n), ERR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, 4);
}

static void a_store_keeps_what_was_committed_and_no_more(void **state)
{
    (void)state;
    each_store(keeps);
}

/* What of a row is its state, as text. */
static void print_trial(const struct trial_row *row, void *text)
{
    snprintf(text, 64, "%d %lld %lld '%s' %lld", (int)row->state, (long long)row->token, (long long)row->attempts,
             row->agent, (long long)row->answered_by);
}

static void expect_trial(struct place *p, int64_t id, const char *expected)
{
    char text[64] = "";

    assert_int_equal(p->ops->trial_get(p->s, id, 0, 0, print_trial, text), ERR_OK);
    assert_string_equal(text, expected);
}

/* Rows that are there already change, and nothing of the change is left to the tracker's memory. */
static void keeps_changes(struct place *p)
{
    const struct job_row job = {.id = 1, .done_ms = 5, .state = JOB_DONE, .token = 7, .leased = true, .paused = true};
    struct trial_row lost = {.state = TRIAL_LOST, .token = 9, .attempts = 5, .agent = "a", .answered_by = 3};
    struct job_row row = {0};
    int counts[5] = {0};

    place_job(p, 1, JOB_OPEN, 0);
    for (lost.id = 1; lost.id <= 4; lost.id++) {
        place_trial(p, lost.id, lost.id < 3 ? 1 : 2, TRIAL_LEASED);
        assert_int_equal(p->ops->trial_put(p->s, &lost), ERR_OK);
    }
    assert_int_equal(p->ops->job_put(p->s, &job), ERR_OK);
    place_commit(p);
    place_reopen(p);
    assert_int_equal(p->ops->each_job(p->s, 0, take_job, &row), ERR_OK);
    assert_true(row.done_ms == 5 && row.state == JOB_DONE && row.token == 7 && row.leased && row.paused);
    expect_trial(p, 4, "3 9 5 'a' 3");
    assert_int_equal(p->ops->requeue(p->s, 0, 3, count_trials, counts), ERR_OK); /* one, */
    assert_int_equal(p->ops->requeue(p->s, 1, 0, count_trials, counts), ERR_OK); /* and those of a job */
    assert_int_equal(counts[TRIAL_OPEN], 3);
    place_commit(p);
    place_reopen(p);
    for (int64_t id = 1; id <= 4; id++)
        expect_trial(p, id, id < 4 ? "0 9 0 '' 3" : "3 9 5 'a' 3");
}

static void what_changes_of_a_row_is_there_at_the_next_start(void **state)
{
    (void)state;
    each_store(keeps_changes);
}

static void keep_title(const struct job_row *row, void *arg)
{
    snprintf(arg, 32, "%s", row->title);
}

/* Nobody promised that peers' texts are UTF-8. */
static void any_bytes(struct place *p)
{
    struct job_row row = {.id = 1, .title = "\xff\x80'\\\"$1", .user = "\xc3", .body = "\xe2\x82", .request = "r"};
    char title[32] = "", modes[64] = "";

    assert_int_equal(p->ops->job_put(p->s, &row), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "\xfe'); DROP TABLE jobs; --", MODE_DRAIN, "\xff"), ERR_OK);
    place_commit(p);
    place_reopen(p);
    assert_int_equal(p->ops->each_job(p->s, 0, keep_title, title), ERR_OK);
    assert_string_equal(title, row.title);
    assert_int_equal(p->ops->each_mode(p->s, add_mode, modes), ERR_OK);
    assert_string_equal(modes, "\xfe'); DROP TABLE jobs; -- 1 \xff;");
}

static void texts_may_be_any_bytes(void **state)
{
    (void)state;
    each_store(any_bytes);
}

static void count_live(const struct trial_row *row, void *arg)
{
    int64_t *last = arg;

    assert_int_equal(row->id, last[0] + 1); /* in order, none left out */
    last[0]++;
}

/* More than a store may read or send at once. */
static void keeps_many(struct place *p)
{
    enum { N = 4096 + 300 };
    int64_t last = 0, next;

    place_job(p, 1, JOB_OPEN, 0);
    for (int i = 1; i <= N; i++)
        place_trial(p, i, 1, TRIAL_OPEN);
    place_commit(p);
    place_reopen(p);
    assert_int_equal(p->ops->each_live_trial(p->s, count_live, &last), ERR_OK);
    assert_int_equal(last, N);
    assert_int_equal(p->ops->cancel(p->s, 1), ERR_OK);
    place_commit(p);
    last = 0;
    assert_int_equal(p->ops->each_live_trial(p->s, count_live, &last), ERR_OK);
    assert_int_equal(last, 0);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, N + 1);
}

static void thousands_of_live_trials_are_loaded_in_order(void **state)
{
    (void)state;
    each_store(keeps_many);
}

static void once(struct place *p)
{
    int n = 0, counts[5] = {0};
    struct record_row like = {.program = "p", .fingerprint = "f", .purpose = "search", .protocol = "x"};

    place_job(p, 1, JOB_OPEN, 0);
    place_trial(p, 1, 1, TRIAL_LOST);
    assert_int_equal(place_record(p, 1, 1, 1, "lost"), ERR_OK);
    assert_int_equal(p->ops->record_find(p->s, &like, count_records, &n), ERR_NOT_FOUND);
    assert_int_equal(p->ops->requeue(p->s, 1, 0, count_trials, counts), ERR_OK);
    assert_int_equal(counts[TRIAL_OPEN], 1);
    assert_int_equal(place_record(p, 1, 2, 1, "ok"), ERR_OK);
    place_commit(p);
    if (place_record(p, 1, 3, 1, "ok") == ERR_OK) /* told later, then */
        assert_int_not_equal(p->ops->commit(p->s, NULL), ERR_OK);
    place_reopen(p);
    assert_int_equal(p->ops->record_find(p->s, &like, count_records, &n), ERR_OK);
    assert_int_equal(n, 1);
    place_commit(p);
}

static void a_trial_has_one_record_and_a_lost_one_gives_way(void **state)
{
    (void)state;
    each_store(once);
}

static bool copy_line(const struct record_row *row, void *arg)
{
    snprintf(arg, 100, "%s", row->line);
    return true;
}

/* The line of the record that answers. */
static void expect_same(struct place *p, const char *line)
{
    const struct record_row like = {.program = "p", .fingerprint = "f", .purpose = "search", .protocol = "x"};
    char found[100] = "";

    assert_int_equal(p->ops->record_find(p->s, &like, copy_line, found), ERR_OK);
    assert_string_equal(found, line);
}

/* Each is newer than the ones before it. */
static void whole_before_newer(struct place *p)
{
    static const struct {
        const char *line, *found;
    } steps[] = {
        {"{\"verified\":\"in part\",\"n\":1}", "{\"verified\":\"in part\",\"n\":1}"},
        {"{\"n\":2}", "{\"n\":2}"},
        {"{\"verified\":\"in part\",\"n\":3}", "{\"n\":2}"},
        {"{\"n\":4,\"verified\":\"in full\"}", "{\"n\":4,\"verified\":\"in full\"}"},
        {"{\"n\":5}", "{\"n\":4,\"verified\":\"in full\"}"},
        {"{\"verified\":\"in part\",\"n\":6}", "{\"n\":4,\"verified\":\"in full\"}"},
    };

    place_job(p, 1, JOB_OPEN, 0);
    for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
        const struct record_row row = {.job = 1,
                                       .seq = i + 1,
                                       .trial = i + 1,
                                       .n = i + 1,
                                       .line = steps[i].line,
                                       .status = "ok",
                                       .key = "",
                                       .program = "p",
                                       .fingerprint = "f",
                                       .purpose = "search",
                                       .protocol = "x",
                                       .created_ms = 1000 + i};

        place_trial(p, i + 1, 1, TRIAL_DONE);
        assert_int_equal(p->ops->record_put(p->s, &row), ERR_OK);
        place_commit(p);
        expect_same(p, steps[i].found);
    }
}

static void a_record_verified_in_full_answers_before_a_newer_one(void **state)
{
    (void)state;
    each_store(whole_before_newer);
}

static void chunks(struct place *p)
{
    const char *text = "0123456789";
    const struct sha256 name = sha256_of(text, 10), other = sha256_of("x", 1);
    bool stored = false;
    int64_t total = 0;
    struct buf b;

    buf_init(&b, 100);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 6, 10, text + 6, 4, &stored), ERR_OK);
    assert_false(stored);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 6, 10, text + 6, 4, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 0, 10, &total, &b), ERR_NOT_FOUND);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, text, 6, &stored), ERR_OK);
    assert_true(stored);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 3, 4, &total, &b), ERR_OK);
    assert_string_equal(buf_text(&b), "3456");
    assert_int_equal(total, 10);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 0, 10, text, 10, &stored), ERR_INPUT);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 0, 10, text, 5, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 5, 10, text, 5, &stored), ERR_INPUT);
    buf_fini(&b);
}

/* All pieces were right when they came; one of them is another's then. */
static void replaced_pieces(struct place *p)
{
    const char *text = "abcdefghij";
    const struct sha256 name = sha256_of(text, 10);
    bool stored = false;
    int64_t total;

    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, text, 5, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 5, 10, text + 5, 3, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, "ABCDE", 5, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 8, 10, text + 8, 2, &stored), ERR_INPUT);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, text, 5, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 5, 10, text + 5, 3, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 5, 10, "FGH", 3, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 8, 10, text + 8, 2, &stored), ERR_INPUT);
    assert_false(stored);
    for (int i = 0; i < 10; i++)
        assert_int_equal(p->ops->blob_put(p->s, name.hex, i, 10, text + i, 1, &stored), ERR_OK);
    assert_true(stored);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 0, 0, &total, NULL), ERR_OK);
}

/* One piece within the others, which are right from the first to the last. */
static void stray_piece(struct place *p)
{
    const char *text = "klmnopqrst";
    const struct sha256 name = sha256_of(text, 10);
    bool stored = false;
    int64_t total;

    assert_int_equal(p->ops->blob_put(p->s, name.hex, 7, 10, "z", 1, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, text, 6, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 6, 10, text + 6, 4, &stored), ERR_INPUT);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 0, 0, &total, NULL), ERR_NOT_FOUND);
}

static void blobs_come_in_any_order_and_only_with_the_content_of_their_name(void **state)
{
    (void)state;
    each_store(chunks);
    each_store(replaced_pieces);
    each_store(stray_piece);
}

#define LATER INT64_C(9000000000000) /* ms: when nothing was asked for since */

static const char *put_large(struct place *p, char fill, struct sha256 *name)
{
    static char bytes[STORE_LARGE_BYTES + 1];
    bool stored = false;

    memset(bytes, fill, sizeof bytes);
    *name = sha256_of(bytes, sizeof bytes);
    assert_int_equal(p->ops->blob_put(p->s, name->hex, 0, sizeof bytes, bytes, sizeof bytes, &stored), ERR_OK);
    assert_true(stored);
    return bytes;
}

static void expect_away(struct place *p, int64_t n_expected)
{
    int64_t n = -1, n_bytes = -1;

    assert_int_equal(p->ops->away_sum(p->s, &n, &n_bytes), ERR_OK);
    assert_int_equal(n, n_expected);
    assert_int_equal(n_bytes, n_expected * (STORE_LARGE_BYTES + 1));
}

static void elsewhere(struct place *p)
{
    char old[2][SHA256_HEX + 1] = {"", ""}, none[SHA256_HEX + 1];
    struct sha256 a, b;
    const char *bytes;
    int64_t total = 0;
    struct buf out;

    buf_init(&out, STORE_LARGE_BYTES + 1);
    chunks(p); /* a small one is none of these */
    put_large(p, 'a', &a);
    bytes = put_large(p, 'b', &b);
    place_commit(p);
    for (int i = 0; i < 2; i++)
        assert_int_equal(p->ops->blob_old(p->s, false, LATER, i, old[i]), ERR_OK);
    assert_true((!strcmp(old[0], a.hex) && !strcmp(old[1], b.hex)) ||
                (!strcmp(old[0], b.hex) && !strcmp(old[1], a.hex)));
    assert_int_equal(p->ops->blob_old(p->s, false, LATER, 2, none), ERR_NOT_FOUND);
    assert_int_equal(p->ops->blob_old(p->s, false, 1000, 0, none), ERR_NOT_FOUND);
    assert_int_equal(p->ops->blob_peek(p->s, a.hex, 5, 10, &total, &out), ERR_OK);
    assert_string_equal(buf_text(&out), "aaaaaaaaaa");
    assert_int_equal(p->ops->blob_away(p->s, a.hex), ERR_OK);
    assert_int_equal(p->ops->blob_away(p->s, b.hex), ERR_OK);
    place_commit(p);
    place_reopen(p);
    expect_away(p, 2);
    assert_int_equal(p->ops->blob_old(p->s, false, LATER, 0, none), ERR_NOT_FOUND);
    buf_clear(&out);
    assert_int_equal(p->ops->blob_get(p->s, b.hex, 0, 10, &total, &out), ERR_UNREACHABLE);
    assert_int_equal(total, STORE_LARGE_BYTES + 1);
    assert_int_equal(out.len, 0);
    assert_int_equal(p->ops->blob_back(p->s, b.hex, bytes, STORE_LARGE_BYTES + 1), ERR_OK);
    put_large(p, 'a', &a); /* by somebody who has it */
    expect_away(p, 0);
    assert_int_equal(p->ops->blob_get(p->s, b.hex, STORE_LARGE_BYTES - 2, 10, &total, &out), ERR_OK);
    assert_string_equal(buf_text(&out), "bbb");
    assert_int_equal(p->ops->blob_away(p->s, b.hex), ERR_OK); /* once more */
    expect_away(p, 1);
    buf_fini(&out);
}

static void large_blobs_lie_elsewhere_and_come_back(void **state)
{
    (void)state;
    each_store(elsewhere);
}

/* What lies elsewhere is dropped by who knows where that is, not by retain. */
static void forgotten_elsewhere(struct place *p)
{
    const struct job_row done = {.id = 1, .state = JOB_DONE, .done_ms = 1};
    char hex[SHA256_HEX + 1];
    struct sha256 a;
    int64_t total;

    put_large(p, 'a', &a);
    assert_int_equal(p->ops->blob_away(p->s, a.hex), ERR_OK);
    place_job(p, 1, JOB_OPEN, 0); /* made in 1970: it may need all */
    place_commit(p);
    assert_int_equal(p->ops->blob_old(p->s, true, LATER, 0, hex), ERR_NOT_FOUND);
    assert_int_equal(p->ops->job_put(p->s, &done), ERR_OK);
    place_forget(p, LATER);
    assert_int_equal(p->ops->blob_get(p->s, a.hex, 0, 0, &total, NULL), ERR_UNREACHABLE);
    assert_int_equal(p->ops->blob_old(p->s, true, 1000, 0, hex), ERR_NOT_FOUND);
    assert_int_equal(p->ops->blob_old(p->s, true, LATER, 0, hex), ERR_OK);
    assert_string_equal(hex, a.hex);
    assert_int_equal(p->ops->away_drop(p->s, hex), ERR_OK);
    assert_int_equal(p->ops->blob_get(p->s, a.hex, 0, 0, &total, NULL), ERR_NOT_FOUND);
    place_commit(p);
}

static void what_is_known_elsewhere_is_forgotten_like_the_rest(void **state)
{
    (void)state;
    each_store(forgotten_elsewhere);
}

static void forgets(struct place *p)
{
    struct job_row row = {0};
    int64_t next;

    place_job(p, 1, JOB_DONE, 1000);
    place_trial(p, 1, 1, TRIAL_DONE);
    place_record(p, 1, 1, 1, "ok");
    place_job(p, 2, JOB_DONE, 3000);
    place_job(p, 3, JOB_OPEN, 0);
    place_forget(p, 2000);
    assert_int_equal(p->ops->each_job(p->s, 1, take_job, &row), ERR_OK);
    assert_int_equal(row.id, 0);
    assert_int_equal(p->ops->each_job(p->s, 2, take_job, &row), ERR_OK);
    assert_int_equal(row.id, 2);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, 2); /* ids are never used again */
}

static void old_jobs_are_forgotten_and_their_ids_never_reused(void **state)
{
    (void)state;
    each_store(forgets);
}

static void keeps_builds(struct place *p)
{
    struct build_row row = {.program = "p", .arch = "sm_61", .attempts = 2};
    char text[64] = "";

    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", print_build, text), ERR_NOT_FOUND);
    assert_int_equal(p->ops->build_put(p->s, &row), ERR_OK);
    row =
        (struct build_row){.program = "p", .arch = "sm_61", .status = "ok", .blobs = "a b", .body = "{}", .through = 7};
    assert_int_equal(p->ops->build_put(p->s, &row), ERR_OK);
    place_commit(p);
    place_reopen(p);
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", print_build, text), ERR_OK);
    assert_string_equal(text, "ok a b {} 7 0");
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_75", print_build, text), ERR_NOT_FOUND);
    place_forget(p, INT64_C(9000000000000));
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", print_build, text), ERR_NOT_FOUND);
}

static void a_build_is_kept_by_program_and_architecture(void **state)
{
    (void)state;
    each_store(keeps_builds);
}

static void backs_up(struct place *p)
{
    struct place copy = {.ops = p->ops};
    struct job_row row = {0};
    char path[300];
    struct why why = {""};
    int64_t n;

    place_job(p, 1, JOB_OPEN, 0);
    place_commit(p);
    if (!p->ops->file) {
        assert_int_equal(p->ops->backup(p->dir, "/nowhere/x", &n, &why), ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, "backed up by"));
        return;
    }
    assert_int_equal(dir_temporary("tune-backup", copy.dir, sizeof copy.dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/%s", copy.dir, p->ops->file);
    assert_int_equal(p->ops->backup(p->dir, path, &n, &why), ERR_OK);
    assert_int_equal(p->ops->backup(p->dir, path, &n, &why), ERR_EXISTS);
    assert_int_equal(p->ops->backup(copy.dir + 4, "/nowhere/x", &n, &why), ERR_NOT_FOUND);
    place_open(&copy);
    assert_int_equal(copy.ops->each_job(copy.s, 1, take_job, &row), ERR_OK);
    assert_int_equal(row.id, 1);
    copy.ops->close(copy.s);
    dir_remove(copy.dir);
}

struct copier {
    const struct place *from;
    char path[300];
    int64_t n_bytes;
    enum err err;
    _Atomic bool ended;
};

static void *copies(void *arg)
{
    struct copier *c = arg;

    c->err = c->from->ops->backup(c->from->dir, c->path, &c->n_bytes, NULL);
    c->ended = true;
    return NULL;
}

static void count_jobs(const struct job_row *row, void *arg)
{
    int64_t *n = arg;

    assert_int_equal(row->id, ++*n); /* without a gap */
}

/* What is committed while it is made does not hold it up, and is in it from the first to some point or not at all. */
static void backs_up_at_work(struct place *p)
{
    static char blob[3000000];
    const struct sha256 name = sha256_of(blob, sizeof blob);
    struct place copy = {.ops = p->ops};
    struct copier c = {.from = p};
    int64_t before = 3, after = 0, n = 0;
    pthread_t thread;
    bool stored;

    if (!p->ops->file)
        return;
    for (int64_t i = 1; i <= before; i++)
        place_job(p, i, JOB_OPEN, 0);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, sizeof blob, blob, sizeof blob, &stored), ERR_OK);
    place_commit(p);
    assert_int_equal(dir_temporary("tune-backup", copy.dir, sizeof copy.dir, NULL), ERR_OK);
    snprintf(c.path, sizeof c.path, "%s/%s", copy.dir, p->ops->file);
    assert_int_equal(pthread_create(&thread, NULL, copies, &c), 0);
    for (after = before; !c.ended || after == before; place_commit(p))
        place_job(p, ++after, JOB_OPEN, 0);
    pthread_join(thread, NULL);
    assert_int_equal(c.err, ERR_OK);
    place_open(&copy); /* reads every page */
    assert_int_equal(copy.ops->each_job(copy.s, 0, count_jobs, &n), ERR_OK);
    assert_in_range(n, before, after);
    copy.ops->close(copy.s);
    dir_remove(copy.dir);
}

static void a_backup_is_made_while_others_write(void **state)
{
    (void)state;
    each_store(backs_up_at_work);
}

static void a_backup_of_an_open_store_is_a_store(void **state)
{
    (void)state;
    each_store(backs_up);
}

/* No file may grow beyond this; 0: any size. */
static void limit_files(rlim_t n_bytes)
{
    static struct rlimit before;
    struct rlimit now;

    if (n_bytes)
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    now = before;
    now.rlim_cur = n_bytes ? n_bytes : before.rlim_cur;
    signal(SIGXFSZ, n_bytes ? SIG_IGN : SIG_DFL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

/* The disk is full in its middle: nothing is left of it, and the next one need not care. */
static void backs_up_again(struct place *p)
{
    char dir[256], path[300], part[310];
    struct why why = {""};
    int64_t n = -1;
    enum err e;

    place_job(p, 1, JOB_OPEN, 0);
    place_commit(p);
    assert_int_equal(dir_temporary("tune-backup", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/%s", dir, p->ops->file);
    snprintf(part, sizeof part, "%s.part", path);
    limit_files(8192);
    e = p->ops->backup(p->dir, path, &n, &why);
    limit_files(0);
    assert_int_equal(e, ERR_IO);
    assert_true(why.text[0] && n == -1);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(part, F_OK), 0);
    if (p->ops->backup(p->dir, path, &n, &why))
        fail_msg("after one that failed: %s", why.text);
    assert_true(n > 8192);
    dir_remove(dir);
}

static void a_backup_that_failed_leaves_nothing(void **state)
{
    (void)state;
    each_store(backs_up_again);
}

static void a_store_is_chosen_by_name_else_the_first_is_meant(void **state)
{
    static const char *const dirs[] = {"sqlite", "/var/lib/x:y", "./clouds:7"};
    const struct store_ops *ops = NULL;
    const char *dir = NULL;
    struct why why = {""};

    (void)state;
    for (size_t i = 0; store_table[i]; i++) {
        char text[64];

        snprintf(text, sizeof text, "%s:/var/lib/x:y", store_table[i]->name);
        assert_int_equal(store_parse(text, &ops, &dir, NULL), ERR_OK);
        assert_ptr_equal(ops, store_table[i]);
        assert_string_equal(dir, "/var/lib/x:y");
    }
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        assert_int_equal(store_parse(dirs[i], &ops, &dir, NULL), ERR_OK);
        assert_ptr_equal(ops, store_table[0]);
        assert_string_equal(dir, dirs[i]);
    }
    assert_int_equal(store_parse("clouds:7", &ops, &dir, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "'clouds' is no kind of store"));
    assert_non_null(strstr(why.text, "./clouds:7"));
    assert_int_equal(store_parse(":7", &ops, &dir, NULL), ERR_INPUT);
}

static void alone(struct place *p)
{
    struct store *second = NULL;
    struct why why = {""};
    char lock[300];

    assert_int_equal(p->ops->open(p->dir, NULL, &second, &why), ERR_BUSY);
    snprintf(lock, sizeof lock, "%s/lock", p->dir);
    unlink(lock); /* somebody cleans up */
    assert_int_equal(p->ops->open(p->dir, NULL, &second, &why), ERR_BUSY);
}

static void a_second_tracker_is_kept_out(void **state)
{
    (void)state;
    each_store(alone);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest of_each[] = {
        cmocka_unit_test(a_store_keeps_what_was_committed_and_no_more),
        cmocka_unit_test(what_changes_of_a_row_is_there_at_the_next_start),
        cmocka_unit_test(texts_may_be_any_bytes),
        cmocka_unit_test(thousands_of_live_trials_are_loaded_in_order),
        cmocka_unit_test(a_trial_has_one_record_and_a_lost_one_gives_way),
        cmocka_unit_test(a_record_verified_in_full_answers_before_a_newer_one),
        cmocka_unit_test(blobs_come_in_any_order_and_only_with_the_content_of_their_name),
        cmocka_unit_test(large_blobs_lie_elsewhere_and_come_back),
        cmocka_unit_test(what_is_known_elsewhere_is_forgotten_like_the_rest),
        cmocka_unit_test(old_jobs_are_forgotten_and_their_ids_never_reused),
        cmocka_unit_test(a_build_is_kept_by_program_and_architecture),
        cmocka_unit_test(a_backup_of_an_open_store_is_a_store),
        cmocka_unit_test(a_backup_is_made_while_others_write),
        cmocka_unit_test(a_second_tracker_is_kept_out),
        cmocka_unit_test(a_failed_write_is_told_in_the_words_of_the_database),
    };
    const struct CMUnitTest without_server[] = {
        cmocka_unit_test(a_backup_that_failed_leaves_nothing),
        cmocka_unit_test(a_store_is_chosen_by_name_else_the_first_is_meant),
    };
    int n_failed;

    (void)argv;
    if (argc > 1 && !postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(of_each, NULL, NULL);
    if (argc > 1)
        postgres_stop(&server);
    else
        n_failed += cmocka_run_group_tests(without_server, NULL, NULL);
    return n_failed;
}
