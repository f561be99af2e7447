/* SPDX-License-Identifier: MIT */
#include "tests/tracker/faulty_store.h"

#include "core/clock.h"

struct store_faults store_faults;

const struct store_ops *faulty_store_real;

#define REAL (faulty_store_real ? faulty_store_real : store_table[0])

static bool fails(void)
{
    return ++store_faults.n_calls == store_faults.fail_at;
}

static enum err open_real(const char *where, const struct clock *clock, struct store **out, struct why *why)
{
    return REAL->open(where, clock, out, why);
}

static void close_real(struct store *s)
{
    REAL->close(s);
}

static enum err commit(struct store *s, struct why *why)
{
    if (!fails())
        return REAL->commit(s, why);
    while (store_faults.failure_waits)
        clock_sleep_ms(1);
    return why_set(why, ERR_IO, "the disk of this test is full");
}

static enum err flush(struct store *s, struct why *why)
{
    while (store_faults.flush_waits)
        clock_sleep_ms(1);
    return store_faults.flush_fails ? why_set(why, ERR_IO, "the disk of this test is full") : REAL->flush(s, why);
}

static void words(struct store *s, struct why *why)
{
    (void)s;
    if (store_faults.fail_at && store_faults.n_calls >= store_faults.fail_at)
        why_set(why, ERR_IO, "the disk of this test is full");
}

static enum err job_put(struct store *s, const struct job_row *row)
{
    return fails() ? ERR_IO : REAL->job_put(s, row);
}

static enum err trial_put(struct store *s, const struct trial_row *row)
{
    return fails() ? ERR_IO : REAL->trial_put(s, row);
}

static enum err record_put(struct store *s, const struct record_row *row)
{
    return fails() ? ERR_IO : REAL->record_put(s, row);
}

static enum err each_job(struct store *s, int64_t only, void (*each)(const struct job_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->each_job(s, only, each, arg);
}

static enum err each_live_trial(struct store *s, void (*each)(const struct trial_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->each_live_trial(s, each, arg);
}

static enum err next_trial(struct store *s, int64_t *out)
{
    return fails() ? ERR_IO : REAL->next_trial(s, out);
}

static enum err trial_get(struct store *s, int64_t id, int64_t job, int64_t n,
                          void (*each)(const struct trial_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->trial_get(s, id, job, n, each, arg);
}

static enum err sums_put(struct store *s, const struct job_row *row)
{
    return fails() ? ERR_IO : REAL->sums_put(s, row);
}

static enum err mode_put(struct store *s, const char *agent, enum mode mode, const char *user)
{
    return fails() ? ERR_IO : REAL->mode_put(s, agent, mode, user);
}

static enum err each_mode(struct store *s, void (*each)(const char *agent, enum mode mode, const char *user, void *),
                          void *arg)
{
    return fails() ? ERR_IO : REAL->each_mode(s, each, arg);
}

static enum err each_record(struct store *s, int64_t job, int64_t seq, int64_t trial, int64_t max,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->each_record(s, job, seq, trial, max, each, arg);
}

static enum err record_find(struct store *s, const struct record_row *like,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->record_find(s, like, each, arg);
}

static enum err requeue(struct store *s, int64_t job, int64_t trial, void (*each)(const struct trial_row *, void *),
                        void *arg)
{
    return fails() ? ERR_IO : REAL->requeue(s, job, trial, each, arg);
}

static enum err cancel(struct store *s, int64_t job)
{
    return fails() ? ERR_IO : REAL->cancel(s, job);
}

static enum err blob_put(struct store *s, const char *hex, int64_t offset, int64_t total, const void *bytes, size_t n,
                         bool *stored)
{
    return fails() ? ERR_IO : REAL->blob_put(s, hex, offset, total, bytes, n, stored);
}

static enum err blob_get(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out)
{
    return fails() ? ERR_IO : REAL->blob_get(s, hex, offset, n, total, out);
}

static enum err blob_peek(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out)
{
    return fails() ? ERR_IO : REAL->blob_peek(s, hex, offset, n, total, out);
}

static enum err blob_old(struct store *s, bool away, int64_t before_ms, int64_t skip, char hex[SHA256_HEX + 1])
{
    return fails() ? ERR_IO : REAL->blob_old(s, away, before_ms, skip, hex);
}

static enum err blob_away(struct store *s, const char *hex)
{
    return fails() ? ERR_IO : REAL->blob_away(s, hex);
}

static enum err blob_back(struct store *s, const char *hex, const void *bytes, size_t n)
{
    return fails() ? ERR_IO : REAL->blob_back(s, hex, bytes, n);
}

static enum err away_drop(struct store *s, const char *hex)
{
    return fails() ? ERR_IO : REAL->away_drop(s, hex);
}

static enum err away_sum(struct store *s, int64_t *n_blobs, int64_t *n_bytes)
{
    return REAL->away_sum(s, n_blobs, n_bytes);
}

static enum err build_put(struct store *s, const struct build_row *row)
{
    return fails() ? ERR_IO : REAL->build_put(s, row);
}

static enum err build_get(struct store *s, const char *program, const char *arch,
                          void (*each)(const struct build_row *, void *), void *arg)
{
    return fails() ? ERR_IO : REAL->build_get(s, program, arch, each, arg);
}

static enum err retain(struct store *s, int64_t before_ms, bool *more)
{
    return fails() ? ERR_IO : REAL->retain(s, before_ms, more);
}

static enum err backup(const char *where, const char *path, int64_t *n_bytes, struct why *why)
{
    while (store_faults.backup_waits)
        clock_sleep_ms(1);
    return REAL->backup(where, path, n_bytes, why);
}

const struct store_ops faulty_store = {
    .name = "faulty",
    .open = open_real,
    .close = close_real,
    .commit = commit,
    .flush = flush,
    .words = words,
    .job_put = job_put,
    .sums_put = sums_put,
    .mode_put = mode_put,
    .each_mode = each_mode,
    .trial_put = trial_put,
    .record_put = record_put,
    .each_job = each_job,
    .each_live_trial = each_live_trial,
    .next_trial = next_trial,
    .trial_get = trial_get,
    .each_record = each_record,
    .record_find = record_find,
    .requeue = requeue,
    .cancel = cancel,
    .blob_put = blob_put,
    .blob_get = blob_get,
    .blob_peek = blob_peek,
    .blob_old = blob_old,
    .blob_away = blob_away,
    .blob_back = blob_back,
    .away_drop = away_drop,
    .away_sum = away_sum,
    .build_put = build_put,
    .build_get = build_get,
    .retain = retain,
    .backup = backup,
};
