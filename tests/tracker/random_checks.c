/* SPDX-License-Identifier: MIT */
#include "tests/tracker/random_farm.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- what peers are told ---- */

/* Another process with this name has begun to take its leases away since it asked: what it was granted may be gone. */
static bool rival_registers(const struct peer *p)
{
    for (int i = 0; i < p->farm->n_peers; i++) {
        const struct peer *other = &p->farm->peers[i];

        if (other != p && other->kind == p->kind && other->i == p->i &&
            (other->registers_ns >= p->asked_ns || (other->asks && strcmp(other->op, "agent_register") == 0)))
            return true;
    }
    return false;
}

/* Nobody else may believe to have the trial, and tokens only grow. */
void check_grant(struct peer *p, const struct held *h, int64_t job, int attempt)
{
    struct known_trial *k = &p->farm->known[h->trial];

    assert_in_range(h->trial, 1, FARM_MAX_TRIALS - 1);
    assert_in_range(attempt, 1, MAX_ATTEMPTS);
    if (p->asked_ns < k->heard_ns && (h->token < k->token || k->line[0]))
        return; /* an older reply, repeated: its next renewal tells that it is over */
    if (p->farm->paused_ns[job] && p->asked_ns > p->farm->paused_ns[job])
        fail_msg("t%" PRId64 " of j%" PRId64 " was granted, which is paused", h->trial, job);
    if (p->farm->drained_ns[p->i] && p->asked_ns > p->farm->drained_ns[p->i])
        fail_msg("t%" PRId64 " was granted to a%d, which is drained", h->trial, p->i);
    if (k->holder && p->farm->rig.now_ns < k->until_ns)
        fail_msg("t%" PRId64 " is leased to a%d and to a%d", h->trial, k->holder->i, p->i);
    if (h->token <= k->token)
        fail_msg("t%" PRId64 " was granted with token %" PRId64 " after %" PRId64, h->trial, h->token, k->token);
    if (k->line[0])
        fail_msg("t%" PRId64 " was granted after its result was accepted", h->trial);
    k->token = h->token;
    k->heard_ns = p->farm->rig.now_ns;
    k->holder = rival_registers(p) ? NULL : p;
    k->until_ns = p->asked_ns + FARM_LEASE_MS * INT64_C(1000000);
}

void check_accepted(struct peer *p)
{
    struct known_trial *k = &p->farm->known[p->told.trial];

    if (k->line[0])
        fail_msg("two results of t%" PRId64 " were accepted", p->told.trial);
    snprintf(k->line, sizeof k->line, "%s", p->told_line);
    k->heard_ns = p->farm->rig.now_ns;
}

void check_line(struct random_farm *f, int64_t trial, const char *line)
{
    assert_in_range(trial, 1, FARM_MAX_TRIALS - 1);
    if (f->known[trial].line[0] && strcmp(f->known[trial].line, line) != 0)
        fail_msg("the record of t%" PRId64 " is '%s', accepted was '%s'", trial, line, f->known[trial].line);
}

/* ---- the store against the memory ---- */

static void same_job(const struct job_row *row, void *arg)
{
    const struct tracker *t = arg;
    const struct tracker_job *j = table_get_i64(&t->jobs, row->id);

    assert_non_null(j);
    assert_int_equal(j->n_done, row->n_done);
    assert_int_equal(j->n_lost, row->n_lost);
    assert_int_equal(j->seq, row->seq);
    assert_int_equal(j->state, row->state);
    assert_int_equal(j->token, row->token);
    assert_true(row->leased || !j->leased);
    assert_true(j->best_ns == row->best_ns && j->best_gflops == row->best_gflops);
}

static void same_trial(const struct trial_row *row, void *arg)
{
    const struct tracker *t = arg;
    const struct tracker_trial *tr = table_get_i64(&t->trials, row->id);

    assert_non_null(tr);
    assert_int_equal(tr->leased, row->state == TRIAL_LEASED);
    assert_int_equal(tr->token, row->token);
    assert_int_equal(tr->attempts, row->attempts);
    if (tr->agent && tr->leased)
        assert_string_equal(tr->agent->id, row->agent);
    if (!tr->leased)
        assert_string_equal(row->agent, "");
}

struct lines {
    struct random_farm *f;
    int64_t job, seq;
};

static bool same_line(const struct record_row *row, void *arg)
{
    struct lines *l = arg;

    assert_true(row->seq > l->seq);
    if (!l->f->requeued[l->job])
        assert_int_equal(row->seq, l->seq + 1);
    l->seq = row->seq;
    check_line(l->f, row->trial, row->line);
    return true;
}

static bool take_line(const struct record_row *row, void *arg)
{
    snprintf(arg, 32, "%s", row->line);
    return true;
}

/* What was accepted is there, word by word, and numbered without gaps. */
static void check_records(struct random_farm *f)
{
    const struct store_ops *ops = f->rig.options.ops;
    struct store *s = f->rig.options.store;
    const struct tracker_job *j;
    size_t at = 0;

    while ((j = table_next(&f->rig.t->jobs, &at)) != NULL) {
        struct lines l = {f, j->id, 0};

        assert_in_range(j->id, 1, FARM_MAX_JOBS - 1);
        assert_int_equal(ops->each_record(s, j->id, 0, 0, 1000, same_line, &l), ERR_OK);
        assert_int_equal(l.seq, j->seq);
    }
    for (int i = 1; i < FARM_MAX_TRIALS; i++)
        if (f->known[i].line[0]) {
            char line[32] = "";

            assert_int_equal(ops->each_record(s, 0, 0, i, 1, take_line, line), ERR_OK);
            if (strcmp(line, f->known[i].line) != 0)
                fail_msg("the accepted result of t%d is gone", i);
        }
}

void check_turn(struct random_farm *f, bool all)
{
    const struct store_ops *ops = f->rig.options.ops;

    rig_check_books(f->rig.t);
    if (!all)
        return;
    assert_int_equal(ops->each_job(f->rig.options.store, 0, same_job, f->rig.t), ERR_OK);
    assert_int_equal(ops->each_live_trial(f->rig.options.store, same_trial, f->rig.t), ERR_OK);
    check_records(f);
    check_blobs(f);
}

/* ---- the end ---- */

static void is_over(const struct trial_row *row, void *arg)
{
    const struct random_farm *f = arg;
    char line[32] = "";

    assert_true(row->state != TRIAL_OPEN && row->state != TRIAL_LEASED);
    assert_in_range(row->attempts, 0, MAX_ATTEMPTS);
    if (row->state == TRIAL_CANCELLED)
        return;
    assert_int_equal(f->rig.options.ops->each_record(f->rig.options.store, 0, 0, row->id, 1, take_line, line), ERR_OK);
    assert_true(line[0] != '\0');
}

void check_end(struct random_farm *f)
{
    const struct store_ops *ops = f->rig.options.ops;

    for (int again = 0; again < 2; again++) {
        const struct tracker_job *j;
        size_t at = 0;

        check_turn(f, true);
        assert_int_equal(f->rig.t->trials.n, 0);
        while ((j = table_next(&f->rig.t->jobs, &at)) != NULL)
            for (int n = 0; j->state == JOB_DONE && n < FARM_JOB_TRIALS; n++)
                assert_int_equal(ops->trial_get(f->rig.options.store, 0, j->id, n, is_over, f), ERR_OK);
        farm_crash_vault(f);
        if (!again)
            rig_crash(&f->rig);
    }
}
