/* SPDX-License-Identifier: MIT */
#include "tests/tracker/store_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

int64_t place_now_ns;

static int64_t read_now(void *arg)
{
    (void)arg;
    return place_now_ns;
}

static int64_t read_wall(void *arg)
{
    (void)arg;
    return 1700000000000;
}

const struct clock place_clock = {.now_ns = read_now, .wall_ms = read_wall};

struct store *place_open_at(const struct store_ops *ops, const struct clock *clock, const char *where)
{
    struct why why = {""};
    struct store *s = NULL;

    if (ops->open(where, clock, &s, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return s;
}

void place_open(struct place *p)
{
    p->s = place_open_at(p->ops, p->clock, p->dir);
}

void place_reopen(struct place *p)
{
    p->ops->close(p->s);
    place_open(p);
}

enum err place_put_job(struct place *p, int64_t id, enum job_state state, int64_t done_ms)
{
    const struct job_row row = {.id = id,
                                .title = "t",
                                .user = "u",
                                .key = "k",
                                .body = "body",
                                .request = "r",
                                .token = 1,
                                .state = state,
                                .done_ms = done_ms};

    return p->ops->job_put(p->s, &row);
}

void place_job(struct place *p, int64_t id, enum job_state state, int64_t done_ms)
{
    assert_int_equal(place_put_job(p, id, state, done_ms), ERR_OK);
}

enum err place_put_trial(struct place *p, int64_t id, int64_t job, enum trial_state state)
{
    const struct trial_row row = {.id = id,
                                  .job = job,
                                  .n = id,
                                  .key = "k",
                                  .program = "p",
                                  .purpose = "search",
                                  .protocol = "x",
                                  .body = "{}",
                                  .state = state};

    return p->ops->trial_put(p->s, &row);
}

void place_trial(struct place *p, int64_t id, int64_t job, enum trial_state state)
{
    assert_int_equal(place_put_trial(p, id, job, state), ERR_OK);
}

enum err place_record(struct place *p, int64_t job, int64_t seq, int64_t trial, const char *status)
{
    const struct record_row row = {.job = job,
                                   .seq = seq,
                                   .trial = trial,
                                   .n = trial,
                                   .line = "line",
                                   .status = status,
                                   .program = "p",
                                   .fingerprint = "f",
                                   .purpose = "search",
                                   .protocol = "x",
                                   .time_ns = 2,
                                   .flops = 6};

    return p->ops->record_put(p->s, &row);
}

void place_commit(struct place *p)
{
    assert_int_equal(p->ops->commit(p->s, NULL), ERR_OK);
}

void take_job(const struct job_row *row, void *arg)
{
    struct job_row *out = arg;

    *out = *row;
    out->title = out->body = NULL;
    if (strcmp(row->title, "t") != 0 || strcmp(row->key, "k") != 0)
        out->id = -1;
}

void count_trials(const struct trial_row *row, void *arg)
{
    int *counts = arg;

    counts[row->state]++;
}

bool count_records(const struct record_row *row, void *arg)
{
    assert_string_equal(row->line, "line");
    ++*(int *)arg;
    return true;
}

int place_forget(struct place *p, int64_t before_ms)
{
    bool more = true;
    int n = 0;

    for (; more && n < 1000; n++) {
        assert_int_equal(p->ops->retain(p->s, before_ms, &more), ERR_OK);
        place_commit(p);
    }
    assert_false(more);
    return n;
}

void print_build(const struct build_row *row, void *arg)
{
    snprintf(arg, 64, "%s %s %s %d %d", row->status, row->blobs, row->body, (int)row->through, (int)row->attempts);
}
