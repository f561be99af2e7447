/* SPDX-License-Identifier: MIT */
#include "tests/scarce/store_steps.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define N_LARGE 70000 /* more than goes through the journal */

static const char large[N_LARGE] = {'x', 'y'};
static const char small[] = "small", pieces[] = "0123456789";

static int64_t now_ns = 1000000000;

static int64_t now(void *arg)
{
    (void)arg;
    return now_ns;
}

static int64_t wall(void *arg)
{
    (void)arg;
    return INT64_C(1767225600000) + now_ns / 1000000;
}

const struct clock steps_clock = {now, wall, NULL, NULL};

static enum err add_job(struct place *p)
{
    enum err e = place_put_job(p, 1, JOB_OPEN, 0);

    for (int i = 1; !e && i <= 3; i++)
        e = place_put_trial(p, i, 1, i == 3 ? TRIAL_LOST : TRIAL_OPEN);
    return e;
}

static void see_title(const struct job_row *row, void *arg)
{
    if (row->id != 1)
        return;
    assert_string_equal(row->title, "t");
    assert_string_equal(row->key, "k");
    ++*(int *)arg;
}

static enum err see_job(struct place *p)
{
    int counts[5] = {0}, n = 0;
    int64_t next = 0;
    enum err e = p->ops->each_job(p->s, 0, see_title, &n);

    if (!e) {
        assert_int_equal(n, 1);
        e = p->ops->each_job(p->s, 1, see_title, &n);
    }
    if (!e) {
        assert_int_equal(n, 2);
        e = p->ops->trial_get(p->s, 2, 0, 0, count_trials, counts);
    }
    if (!e) {
        assert_int_equal(counts[TRIAL_OPEN], 1);
        e = p->ops->next_trial(p->s, &next);
    }
    if (!e)
        assert_true(next >= 4);
    return e;
}

static enum err put_blob(struct place *p, const void *bytes, size_t n)
{
    bool stored = false;
    const enum err e = p->ops->blob_put(p->s, sha256_of(bytes, n).hex, 0, (int64_t)n, bytes, n, &stored);

    assert_true(e || stored);
    return e;
}

static enum err see_blob(struct place *p, const void *bytes, size_t n)
{
    struct buf b;
    int64_t total = 0;
    enum err e;

    buf_init(&b, N_LARGE);
    e = p->ops->blob_get(p->s, sha256_of(bytes, n).hex, 0, n, &total, &b);
    if (!e) {
        assert_int_equal(total, n);
        assert_int_equal(b.len, n);
        assert_memory_equal(b.data, bytes, n);
    }
    buf_fini(&b);
    return e;
}

static enum err add_small(struct place *p)
{
    return put_blob(p, small, sizeof small);
}

static enum err see_small(struct place *p)
{
    return see_blob(p, small, sizeof small);
}

static enum err add_large(struct place *p)
{
    return put_blob(p, large, sizeof large);
}

static enum err see_large(struct place *p)
{
    return see_blob(p, large, sizeof large);
}

static enum err add_piece(struct place *p, int i)
{
    bool stored = false;
    const enum err e =
        p->ops->blob_put(p->s, sha256_of(pieces, 10).hex, 4 * i, 10, pieces + 4 * i, i == 2 ? 2 : 4, &stored);

    if (!e)
        assert_int_equal(stored, i == 0); /* which comes last */
    return e;
}

static enum err add_last_piece(struct place *p)
{
    return add_piece(p, 2);
}

static enum err add_second_piece(struct place *p)
{
    return add_piece(p, 1);
}

static enum err add_first_piece(struct place *p)
{
    return add_piece(p, 0);
}

static enum err see_pieces(struct place *p)
{
    return see_blob(p, pieces, 10);
}

static enum err add_build(struct place *p)
{
    const struct build_row row = {
        .program = "p", .arch = "sm_61", .status = "ok", .blobs = "a b", .body = "{}", .through = 7};

    return p->ops->build_put(p->s, &row);
}

static enum err see_build(struct place *p)
{
    char text[64] = "";
    const enum err e = p->ops->build_get(p->s, "p", "sm_61", print_build, text);

    if (!e)
        assert_string_equal(text, "ok a b {} 7 0");
    return e;
}

static enum err add_records(struct place *p)
{
    const struct job_row sums = {.id = 1, .seq = 2, .n_done = 2, .n_lost = 1, .best_gflops = 3, .best_ns = 7};
    const struct trial_row done = {.id = 2, .state = TRIAL_OPEN, .token = 1};
    enum err e = place_record(p, 1, 1, 1, "ok");

    if (!e)
        e = place_record(p, 1, 2, 2, "ok");
    if (!e)
        e = p->ops->trial_put(p->s, &done);
    return e ? e : p->ops->sums_put(p->s, &sums);
}

static enum err see_records(struct place *p)
{
    const struct record_row like = {.program = "p", .fingerprint = "f", .purpose = "search", .protocol = "x"};
    int n = 0;
    enum err e = p->ops->each_record(p->s, 1, 0, 0, 10, count_records, &n);

    if (!e) {
        assert_int_equal(n, 2);
        e = p->ops->record_find(p->s, &like, count_records, &n);
    }
    if (!e)
        assert_int_equal(n, 3);
    return e;
}

static enum err requeue(struct place *p)
{
    int counts[5] = {0};
    const enum err e = p->ops->requeue(p->s, 1, 0, count_trials, counts);

    if (!e)
        assert_int_equal(counts[TRIAL_OPEN], 1);
    return e;
}

static enum err see_requeued(struct place *p)
{
    int counts[5] = {0};
    const enum err e = p->ops->trial_get(p->s, 0, 1, 3, count_trials, counts);

    if (!e)
        assert_int_equal(counts[TRIAL_OPEN], 1);
    return e;
}

static void count_mode(const char *agent, enum mode mode, const char *user, void *arg)
{
    *(int *)arg += strcmp(agent, "board") == 0 && mode == MODE_RESERVE && strcmp(user, "ann") == 0;
}

static enum err add_mode(struct place *p)
{
    const enum err e = p->ops->mode_put(p->s, "other", MODE_SERVE, "");

    return e ? e : p->ops->mode_put(p->s, "board", MODE_RESERVE, "ann");
}

static enum err see_mode(struct place *p)
{
    int n = 0;
    const enum err e = p->ops->each_mode(p->s, count_mode, &n);

    if (!e)
        assert_int_equal(n, 1);
    return e;
}

static enum err forget(struct place *p)
{
    bool more = true;
    enum err e = place_put_job(p, 2, JOB_DONE, 1000);

    while (!e && more)
        e = p->ops->retain(p->s, 2000, &more);
    return e;
}

/* The steps of a life: what is acknowledged, and what is read of it from then on. */
static const struct {
    enum err (*add)(struct place *p), (*see)(struct place *p);
} steps[] = {
    {add_job, see_job},
    {add_small, see_small},
    {add_last_piece, NULL},
    {add_second_piece, NULL},
    {add_first_piece, see_pieces},
    {add_large, see_large},
    {add_build, see_build},
    {add_records, see_records},
    {requeue, see_requeued},
    {add_mode, see_mode},
    {forget, see_job},
};
_Static_assert(sizeof steps / sizeof *steps == N_STEPS, "as the header says");

enum err step_take(struct place *p, int i, enum err *seen, struct why *why)
{
    enum err e = steps[i].add(p);

    now_ns += 100000000;
    *seen = ERR_OK;
    if (e)
        p->ops->words(p->s, why);
    else
        e = p->ops->commit(p->s, why);
    if (!e)
        e = p->ops->flush(p->s, why);
    if (!e && steps[i].see)
        *seen = steps[i].see(p);
    return e;
}

void steps_check(struct place *p, int n)
{
    for (int i = 0; i < n; i++)
        if (steps[i].see)
            assert_int_equal(steps[i].see(p), ERR_OK);
}
