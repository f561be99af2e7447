/* SPDX-License-Identifier: MIT */
/* metrics.c - figures for Prometheus in its text format 0.0.4. Keys, agents and statuses are names of plain characters
 * (name_is_sane), so that labels need no escapes. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "tune_tracker_"

static void head(struct buf *out, const char *name, const char *kind, const char *help)
{
    buf_printf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, kind);
}

static void figure(struct buf *out, const char *name, const char *kind, const char *help, int64_t value)
{
    head(out, name, kind, help);
    buf_printf(out, PREFIX "%s %" PRId64 "\n", name, value);
}

/* One histogram of a family; label: "call=\"status\"", or "". */
static void histogram(struct buf *out, const char *name, const char *label, const struct meter *m)
{
    const char *comma = *label ? "," : "", *open = *label ? "{" : "", *close = *label ? "}" : "";
    long long n = 0;

    for (int i = 0; i <= METER_BUCKETS; i++) {
        n += atomic_load_explicit(&m->counts[i], memory_order_relaxed);
        assert(i == 0 || i == METER_BUCKETS || meter_bounds_us[i - 1] < meter_bounds_us[i]); /* n is of all below */
        if (i < METER_BUCKETS)
            buf_printf(out, PREFIX "%s_bucket{%s%sle=\"%g\"} %lld\n", name, label, comma,
                       (double)meter_bounds_us[i] / 1e6, n);
        else
            buf_printf(out, PREFIX "%s_bucket{%s%sle=\"+Inf\"} %lld\n", name, label, comma, n);
    }
    buf_printf(out, PREFIX "%s_sum%s%s%s %.9g\n" PREFIX "%s_count%s%s%s %lld\n", name, open, label, close,
               (double)atomic_load_explicit(&m->sum_ns, memory_order_relaxed) / 1e9, name, open, label, close, n);
}

static bool is_empty(const struct meter *m)
{
    for (int i = 0; i <= METER_BUCKETS; i++)
        if (atomic_load_explicit(&m->counts[i], memory_order_relaxed))
            return false;
    return true;
}

static bool is_there(const struct tracker *t, const struct agent *a)
{
    return !a->gone && strcmp(agent_state(t, a), "lost") != 0;
}

/* ---- of the tracker ---- */

static int64_t agents_alive(const struct tracker *t)
{
    int64_t n = 0;

    for (const struct agent *a = t->first_agent; a; a = a->later)
        n += is_there(t, a);
    return n;
}

static enum err blobs(const struct tracker *t, struct buf *out)
{
    int64_t n = 0, n_bytes = 0;
    const enum err e = t->o.ops->away_sum(t->o.store, &n, &n_bytes);

    figure(out, "blobs_away", "gauge", "Blobs that lie in the S3 store alone.", n);
    figure(out, "blobs_away_bytes", "gauge", "Their bytes.", n_bytes);
    figure(out, "blobs_sent_total", "counter", "Blobs sent to the S3 store.", t->stats.blobs_sent);
    figure(out, "blobs_fetched_total", "counter", "Blobs fetched from the S3 store.", t->stats.blobs_fetched);
    figure(out, "blobs_failed_total", "counter", "Transfers to and from the S3 store that failed.",
           t->stats.blobs_failed);
    return e;
}

static void totals(const struct tracker *t, struct buf *out)
{
    const struct stats *s = &t->stats;
    int64_t n_leased = 0;

    for (const struct tracker_trial *tr = t->leased.first; tr; tr = tr->next)
        n_leased++;
    figure(out, "jobs", "gauge", "Jobs in the store.", (int64_t)t->jobs.n);
    figure(out, "trials_live", "gauge", "Trials open or leased.", (int64_t)t->trials.n);
    figure(out, "trials_leased", "gauge", "Trials leased.", n_leased);
    figure(out, "agents", "gauge", "Agents heard of lately.", agents_alive(t));
    figure(out, "sessions", "gauge", "Sessions known.", (int64_t)t->sessions.n);
    figure(out, "replies_bytes", "gauge", "Replies kept for requests that are repeated.", (int64_t)t->answered_bytes);
    figure(out, "requests_total", "counter", "Requests received.", s->requests);
    figure(out, "requests_refused_total", "counter", "Requests answered with an error.", s->refused);
    figure(out, "grants_total", "counter", "Trials granted.", s->grants);
    figure(out, "results_total", "counter", "Results taken.", s->results);
    figure(out, "results_double_total", "counter", "Results of trials that had one.", s->duplicates);
    figure(out, "leases_expired_total", "counter", "Leases that ran out.", s->expired);
    figure(out, "trials_lost_total", "counter", "Trials given up after five attempts.", s->lost);
    figure(out, "trials_answered_total", "counter", "Trials answered from the store.", s->answered_from_store);
    figure(out, "builds_total", "counter", "Answers of builders.", s->builds);
    figure(out, "builds_failed_total", "counter", "Answers of builders that are no code.", s->builds_failed);
    figure(out, "commits_total", "counter", "Turns of the core loop.", s->commits);
}

static void calls(const struct tracker *t, struct buf *out)
{
    head(out, "call_seconds", "histogram",
         "From a request's arrival to its reply, of those that did not wait for news.");
    for (int i = 0; i < N_CALLS; i++) {
        char label[64];

        snprintf(label, sizeof label, "call=\"%s\"", call_table[i].name);
        if (!is_empty(&t->calls[i]))
            histogram(out, "call_seconds", label, &t->calls[i]);
    }
    head(out, "flush_seconds", "histogram", "Waits for the disk before replies.");
    histogram(out, "flush_seconds", "", &t->flushes);
}

/* ---- by key ---- */

static void count_by_key(struct tracker *t)
{
    struct slug *s;
    size_t at = 0;

    while ((s = table_next(&t->slugs, &at)) != NULL)
        s->n_agents = s->n_leased = 0;
    for (const struct agent *a = t->first_agent; a; a = a->later) {
        s = !a->is_builder && is_there(t, a) ? slug_of(t, a->key) : NULL;
        if (s)
            s->n_agents++;
    }
    for (const struct tracker_trial *tr = t->leased.first; tr; tr = tr->next)
        tr->lane->slug->n_leased++;
}

static int64_t agents_of(const struct slug *s)
{
    return s->n_agents;
}

static int64_t open_of(const struct slug *s)
{
    return s->n_open;
}

static int64_t leased_of(const struct slug *s)
{
    return s->n_leased;
}

static void by_key(const struct tracker *t, struct buf *out, const char *name, const char *help,
                   int64_t (*of)(const struct slug *s))
{
    const struct slug *s;
    size_t at = 0;

    head(out, name, "gauge", help);
    while ((s = table_next(&t->slugs, &at)) != NULL)
        buf_printf(out, PREFIX "%s{key=\"%s\"} %" PRId64 "\n", name, s->key, of(s));
}

static void times_by_key(const struct tracker *t, struct buf *out, const char *name, const char *help, size_t offset)
{
    const struct slug *s;
    size_t at = 0;

    head(out, name, "histogram", help);
    while ((s = table_next(&t->slugs, &at)) != NULL) {
        char label[80];

        snprintf(label, sizeof label, "key=\"%s\"", s->key);
        histogram(out, name, label, (const struct meter *)((const char *)s + offset));
    }
}

static void records(const struct tracker *t, struct buf *out)
{
    const struct slug *s;
    size_t at = 0;

    head(out, "records_total", "counter", "Records of trials by status, those answered from the store left out.");
    while ((s = table_next(&t->slugs, &at)) != NULL)
        for (int i = 0; i < N_TRIAL_STATUSES; i++)
            buf_printf(out, PREFIX "records_total{key=\"%s\",status=\"%s\"} %" PRId64 "\n", s->key, trial_statuses[i],
                       s->n_records[i]);
}

static void keys(struct tracker *t, struct buf *out)
{
    count_by_key(t);
    by_key(t, out, "key_agents", "Devices of the key heard of lately.", agents_of);
    by_key(t, out, "key_trials_open", "Trials of the key that wait for a device.", open_of);
    by_key(t, out, "key_trials_leased", "Trials of the key that a device has.", leased_of);
    times_by_key(t, out, "trial_wait_seconds", "From a trial's being open to its lease.", offsetof(struct slug, waits));
    times_by_key(t, out, "trial_run_seconds", "From a trial's lease to its record.", offsetof(struct slug, runs));
    records(t, out);
}

/* ---- by agent ---- */

static double up(const struct tracker *t, const struct agent *a)
{
    return is_there(t, a);
}

static double seen(const struct tracker *t, const struct agent *a)
{
    return (double)(tracker_now_ns(t) - a->seen_ns) / 1e9;
}

static double leased(const struct tracker *t, const struct agent *a)
{
    (void)t;
    return (double)a->n_leased;
}

static double temperature(const struct tracker *t, const struct agent *a)
{
    (void)t;
    return isnan(a->temperature) ? 0 : a->temperature;
}

static double load(const struct tracker *t, const struct agent *a)
{
    (void)t;
    return a->load;
}

static double done(const struct tracker *t, const struct agent *a)
{
    (void)t;
    return (double)a->done;
}

static double failed(const struct tracker *t, const struct agent *a)
{
    (void)t;
    return (double)a->failed;
}

static const struct {
    const char *name, *kind, *help;
    double (*of)(const struct tracker *t, const struct agent *a);
} of_agents[] = {
    {"agent_up", "gauge", "1 while the agent was heard of lately, 0 after; gone when it said goodbye.", up},
    {"agent_seen_seconds", "gauge", "Since the agent was heard of last.", seen},
    {"agent_leased", "gauge", "Trials that the agent has.", leased},
    {"agent_temperature_celsius", "gauge", "Of the device as the agent told it last; 0 = it told none.", temperature},
    {"agent_load", "gauge", "Of the agent's machine as it told it last.", load},
    {"agent_done_total", "counter", "Trials that the agent answered.", done},
    {"agent_failed_total", "counter", "Those of them with another status than ok.", failed},
};

static void agents(const struct tracker *t, struct buf *out)
{
    for (size_t i = 0; i < sizeof of_agents / sizeof *of_agents; i++) {
        head(out, of_agents[i].name, of_agents[i].kind, of_agents[i].help);
        for (const struct agent *a = t->first_agent; a; a = a->later)
            if (!a->gone)
                buf_printf(out, PREFIX "%s{agent=\"%s\",key=\"%s\"} %.10g\n", of_agents[i].name, a->id, a->key,
                           of_agents[i].of(t, a));
    }
}

enum err page_metrics(struct tracker *t, struct buf *out)
{
    enum err e;

    totals(t, out);
    e = blobs(t, out);
    calls(t, out);
    keys(t, out);
    agents(t, out);
    return e ? e : out->failed;
}
