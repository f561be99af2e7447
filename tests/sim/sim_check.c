/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_check.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trials ---- */

static const char *text_in(const cJSON *o, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(v) ? v->valuestring : "";
}

static double number_in(const cJSON *o, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static void note_trial(const struct host_trial *t, void *arg)
{
    const cJSON *timing = cJSON_GetObjectItemCaseSensitive(t->body, "timing"),
                *anchor = cJSON_GetObjectItemCaseSensitive(t->body, "anchor"),
                *limits = cJSON_GetObjectItemCaseSensitive(t->body, "limits");
    struct asked_list *l = arg;
    struct asked *a;

    l->items = realloc(l->items, (l->n + 1) * sizeof *l->items);
    assert(l->items);
    a = &l->items[l->n++];
    *a = (struct asked){.n = t->n,
                        .answered = t->answered,
                        .rounds = (int64_t)number_in(timing, "rounds"),
                        .rounds_near_best = (int64_t)number_in(timing, "rounds_near_best"),
                        .min_calls = (int64_t)number_in(timing, "min_calls"),
                        .warmup = (int64_t)number_in(timing, "warmup"),
                        .min_slot_ms = number_in(timing, "min_slot_ms"),
                        .best_ns = number_in(timing, "best_ns"),
                        .best_lnratio = number_in(timing, "best_lnratio"),
                        .epoch = (int64_t)number_in(anchor, "epoch"),
                        .bridge = number_in(anchor, "bridge"),
                        .run_s = number_in(limits, "run_s")};
    snprintf(a->program, sizeof a->program, "%s", t->program);
    snprintf(a->anchor, sizeof a->anchor, "%s", t->anchor);
    snprintf(a->purpose, sizeof a->purpose, "%s", t->purpose);
    snprintf(a->protocol, sizeof a->protocol, "%s", t->protocol);
    snprintf(a->by, sizeof a->by, "%s", text_in(t->body, "proposed_by"));
    snprintf(a->objective, sizeof a->objective, "%s", text_in(t->body, "objective"));
    a->is_baseline = strcmp(t->purpose, "search") == 0 && a->rounds == 1 && a->min_slot_ms == 0;
}

static void note_record(int64_t n, const char *line, void *arg)
{
    const struct asked_list *l = arg;
    struct asked *a = n >= 0 && (size_t)n < l->n ? &l->items[n] : NULL;

    assert(a && a->n == n);
    record_init(&a->record);
    a->has_record = record_parse(line, strlen(line), &a->record, NULL) == ERR_OK;
}

void asked_of(struct sim_farm *f, const char *job_id, struct asked_list *out)
{
    *out = (struct asked_list){.n = 0};
    host_trials(f->net, job_id, note_trial, out);
    host_records(f->net, job_id, note_record, out);
}

void asked_fini(struct asked_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].has_record)
            record_fini(&l->items[i].record);
    free(l->items);
    *l = (struct asked_list){.n = 0};
}

size_t asked_count(const struct asked_list *l, const char *purpose)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += strcmp(l->items[i].purpose, purpose) == 0 && !l->items[i].is_baseline;
    return n;
}

/* ---- logs ---- */

struct parsed {
    struct record *items;
    size_t n;
};

static void parse_lines(const struct lines *l, struct parsed *out)
{
    *out = (struct parsed){.items = calloc(l->n + 1, sizeof(struct record))};
    assert(out->items);
    for (size_t i = 0; i < l->n; i++) {
        record_init(&out->items[out->n]);
        if (record_parse(l->text[i], strlen(l->text[i]), &out->items[out->n], NULL) == ERR_OK)
            out->n++;
    }
}

static void parsed_fini(struct parsed *p)
{
    for (size_t i = 0; i < p->n; i++)
        record_fini(&p->items[i]);
    free(p->items);
}

static bool is_search(const struct record *r)
{
    return strcmp(r->purpose, "search") == 0;
}

static bool same_config(const struct record *a, const struct record *b)
{
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->template_id, b->template_id) == 0 &&
           cJSON_Compare(a->knobs, b->knobs, true);
}

static bool each_config_once(const struct parsed *p, struct why *why)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < i; k++)
            if (is_search(&p->items[i]) && is_search(&p->items[k]) && p->items[i].status != STATUS_LOST &&
                p->items[k].status != STATUS_LOST && same_config(&p->items[i], &p->items[k])) {
                why_set(why, ERR_INPUT, "records %s and %s of the log have one config", p->items[k].id, p->items[i].id);
                return false;
            }
    return true;
}

/* The log against the store's records of the job. */
static bool log_is_whole(const struct sim_session *s, const struct lines *log, const struct lines *store,
                         int64_t n_answered, struct why *why)
{
    struct parsed p;
    int64_t n_others = 0;
    bool ok = true;

    for (size_t i = 0; i < store->n && ok; i++) {
        struct record r;

        record_init(&r);
        if (!record_parse(store->text[i], strlen(store->text[i]), &r, NULL) && !lines_have(log, store->text[i])) {
            why_set(why, ERR_INPUT, "the log lacks %.200s", store->text[i]);
            ok = false;
        }
        record_fini(&r);
    }
    for (size_t i = 0; i < log->n && ok; i++)
        for (size_t k = 0; k < i && ok; k++)
            if (strcmp(log->text[i], log->text[k]) == 0) {
                why_set(why, ERR_INPUT, "twice in the log: %.200s", log->text[i]);
                ok = false;
            }
    parse_lines(log, &p);
    for (size_t i = 0; i < p.n; i++)
        n_others += strcmp(p.items[i].job, s->job_id) != 0;
    if (ok && n_others > n_answered) {
        why_set(why, ERR_INPUT, "%lld records of other jobs, %lld answers", (long long)n_others, (long long)n_answered);
        ok = false;
    }
    ok = ok && each_config_once(&p, why);
    parsed_fini(&p);
    return ok;
}

static bool budget_is_kept(const struct sim_session *s, struct why *why)
{
    int64_t sum = 0, budgets = 0;

    for (size_t i = 0; i < s->session.n_tasks; i++) {
        const struct task *t = &s->session.tasks[i];
        int64_t n = 0;

        for (size_t k = 0; k < t->n_all; k++)
            n += !t->arms[t->all[k].i_arm].baseline && t->all[k].counted;
        if (n != t->n_counted) {
            why_set(why, ERR_INPUT, "%s: %lld counted, %lld there", t->text, (long long)t->n_counted, (long long)n);
            return false;
        }
        sum += n;
        budgets += t->budget;
        if (!job_shares_budget(&s->job) && n > t->budget) {
            why_set(why, ERR_INPUT, "%s: %lld of %lld trials", t->text, (long long)n, (long long)t->budget);
            return false;
        }
    }
    if (sum > budgets)
        why_set(why, ERR_INPUT, "%lld of %lld trials", (long long)sum, (long long)budgets);
    return sum <= budgets;
}

/* ---- the best, anew ---- */

static bool is_final(const struct record *r)
{
    return strcmp(r->purpose, "final") == 0;
}

/* A later record of the same program and of no lower purpose stands for this one. */
static bool is_replaced(const struct parsed *p, size_t i)
{
    const struct record *a = &p->items[i];

    for (size_t k = i + 1; k < p->n; k++) {
        const struct record *b = &p->items[k];
        const int rank_a = is_final(a) ? 2 : !is_search(a), rank_b = is_final(b) ? 2 : !is_search(b);

        if (b->status == STATUS_OK && strcmp(a->job, b->job) == 0 && strcmp(a->program.hex, b->program.hex) == 0 &&
            strcmp(a->workload, b->workload) == 0 && rank_b >= rank_a)
            return true;
    }
    return false;
}

static bool is_of(const struct record *r, const char *job, const char *workload)
{
    return r->status == STATUS_OK && strcmp(r->job, job) == 0 && strcmp(r->workload, workload) == 0;
}

/* ln ns of the first anchor of a job: by its own record where there is one before the first that was timed against it,
 * else by that one. NAN: nothing was. */
static double ln_first_anchor(const struct parsed *p, const char *job, const char *workload)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct record *r = &p->items[i];

        if (!is_of(r, job, workload) || !r->anchor.hash.hex[0])
            continue;
        for (size_t k = i; k-- > 0;)
            if (is_of(&p->items[k], job, workload) && strcmp(p->items[k].program.hex, r->anchor.hash.hex) == 0)
                return log(p->items[k].time_ns) - r->anchor.bridge;
        return log(r->time_ns) - r->lnratio - r->anchor.bridge;
    }
    return NAN;
}

/* All sessions of a job follow one chain of anchors. */
static double value_of(const struct parsed *p, const struct record *r)
{
    return r->anchor.hash.hex[0] ? ln_first_anchor(p, r->job, r->workload) + r->anchor.bridge + r->lnratio
                                 : log(r->time_ns);
}

/* The winner of one job's records of a workload; NULL = none is ok. */
static const struct record *winner_of(const struct parsed *p, const char *job, const char *workload)
{
    const struct record *best = NULL;

    for (size_t i = 0; i < p->n; i++) {
        const struct record *r = &p->items[i];

        if (!is_of(r, job, workload) || is_replaced(p, i))
            continue;
        if (!best || (is_final(r) && !is_final(best)) ||
            (is_final(r) == is_final(best) && value_of(p, r) < value_of(p, best)))
            best = r;
    }
    return best;
}

/* Is no record before it of the same workload (and job)? */
static bool is_first(const struct parsed *p, size_t i, bool of_job)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(p->items[k].workload, p->items[i].workload) == 0 &&
            (!of_job || strcmp(p->items[k].job, p->items[i].job) == 0))
            return false;
    return true;
}

/* Twice the error of a difference between runs at its largest, where all times of one program lie apart by the pace of
 * the model's machines (sim_model.drift, 0.7) in the two pairs that three jobs are:
 * 2 sqrt(2) sqrt((3 * 0.06^2 + 2 * 0.7^2 / 2) / (3 + 2)). tests/logs/test_compare.c has the rule itself. */
#define BETWEEN_RUNS 0.9

/* By how much more the one job's times are than the other's, of a program that a record of each is of, or was timed
 * against; NAN = they have none in common. */
static double shift_by(const struct parsed *p, const struct record *a, const struct record *b)
{
    const struct sha256 *of_a[] = {&a->program, &a->anchor.hash}, *of_b[] = {&b->program, &b->anchor.hash};

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (of_a[i]->hex[0] && strcmp(of_a[i]->hex, of_b[k]->hex) == 0)
                return value_of(p, a) - (i ? a->lnratio : 0) - value_of(p, b) + (k ? b->lnratio : 0);
    return NAN;
}

/* How much slower r is than another job's winner (ln), by what speaks most for it: times, values as they are, or values
 * on the scale that a program makes one which both jobs know. */
static double least_behind(const struct parsed *p, const struct record *r, const struct record *w)
{
    const double apart = value_of(p, r) - value_of(p, w);
    double least = fmin(log(r->time_ns / w->time_ns), apart);

    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n; k++)
            if (is_of(&p->items[i], r->job, r->workload) && is_of(&p->items[k], w->job, w->workload))
                least = fmin(least, apart - shift_by(p, &p->items[i], &p->items[k]));
    return least;
}

/* Is it the winner of its job, and no other job's better beyond doubt? */
static bool may_be_best(const struct parsed *p, const struct record *r)
{
    if (winner_of(p, r->job, r->workload) != r)
        return false;
    for (size_t i = 0; i < p->n; i++) {
        const struct record *w = is_first(p, i, true) ? winner_of(p, p->items[i].job, r->workload) : NULL;

        if (w && strcmp(w->job, r->job) != 0 && least_behind(p, r, w) > BETWEEN_RUNS)
            return false;
    }
    return true;
}

static const struct record *same_in(const struct parsed *p, const struct record *r)
{
    for (size_t i = 0; r && i < p->n; i++)
        if (strcmp(p->items[i].id, r->id) == 0 && strcmp(p->items[i].job, r->job) == 0)
            return &p->items[i];
    return NULL;
}

bool sim_check_best(const char *log_path, struct why *why)
{
    char path[400];
    struct lines log, best;
    struct parsed all, told;
    bool ok = true;

    if (best_path(log_path, path, sizeof path))
        abort();
    lines_of_log(log_path, &log);
    lines_of_log(path, &best);
    parse_lines(&log, &all);
    parse_lines(&best, &told);
    for (size_t i = 0; i < all.n && ok; i++) {
        const struct record *r = &all.items[i], *wanted, *has = NULL;

        if (!is_first(&all, i, false) || strcmp(r->workload, SIM_FOREIGN) == 0) /* no session chose among those */
            continue;
        wanted = winner_of(&all, r->job, r->workload);
        for (size_t k = 0; k < told.n; k++)
            if (strcmp(told.items[k].workload, r->workload) == 0)
                has = &told.items[k];
        has = same_in(&all, has);
        ok = has ? may_be_best(&all, has) : !wanted;
        if (!ok)
            why_set(why, ERR_INPUT, "best of %s: %s %s, expected %s %s", r->workload, has ? has->id : "none",
                    has ? has->purpose : "", wanted ? wanted->id : "none", wanted ? wanted->purpose : "");
    }
    parsed_fini(&all);
    parsed_fini(&told);
    lines_fini(&log);
    lines_fini(&best);
    return ok;
}

bool sim_check_told(const struct sim_session *s, struct why *why)
{
    char path[400];
    struct lines best;
    struct parsed told;
    bool ok = true;

    if (best_path(s->log_path, path, sizeof path))
        abort();
    lines_of_log(path, &best);
    parse_lines(&best, &told);
    for (size_t i = 0; i < s->session.n_tasks && ok; i++) {
        const struct measured *w = task_winner(&s->session.tasks[i]);

        ok = !w || same_in(&told, &w->record);
        if (!ok)
            why_set(why, ERR_INPUT, "%s: told as the best is %s, which the best log has not", s->session.tasks[i].text,
                    w->record.id);
    }
    parsed_fini(&told);
    lines_fini(&best);
    return ok;
}

bool sim_check(struct sim_farm *f, const struct sim_session *s, struct why *why)
{
    struct lines log, store;
    struct host_kept kept;
    bool ok;

    host_kept(f->net, s->job_id, &kept);
    lines_of_log(s->log_path, &log);
    lines_of_store(f, s->job_id, &store);
    ok = log_is_whole(s, &log, &store, kept.n_answered, why) && budget_is_kept(s, why) &&
         sim_check_best(s->log_path, why) && sim_check_told(s, why);
    lines_fini(&log);
    lines_fini(&store);
    return ok;
}

static double true_ln(const struct sim_farm *f, const struct measured *m)
{
    return log(sim_model_record_time(&f->model, &m->record));
}

bool sim_check_values(const struct sim_farm *f, const struct task *t, struct why *why)
{
    double zero = NAN; /* of the scale */

    for (size_t i = 0; i < t->n_all; i++) {
        const struct measured *m = &t->all[i];

        if (isnan(m->value) || !m->record.anchor.hash.hex[0])
            continue;
        if (isnan(zero))
            zero = m->value - true_ln(f, m);
        if (fabs(m->value - zero - true_ln(f, m)) > 0.05) {
            why_set(why, ERR_INPUT, "the value of %s is %g, true is %g", m->record.id, m->value - zero, true_ln(f, m));
            return false;
        }
    }
    if (isnan(zero))
        why_set(why, ERR_INPUT, "%s: nothing was timed against an anchor", t->text);
    return !isnan(zero);
}
