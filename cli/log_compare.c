/* SPDX-License-Identifier: MIT */
/* log_compare.c - `tune log compare A B`: the best of one log against that of another, workload by workload. */
#include "cli/log.h"

#include "core/json.h"
#include "core/terminal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct cli_option options[] = {OPT_KEY, OPT_JSON, CLI_END};

/* The best of both for one workload and device; one of them may be NULL. */
struct pair {
    const struct record *a, *b;
    struct comparison c; /* of b with a, where both are there */
};

struct totals {
    int n_faster, n_slower, n_ties, n_same, n_only_a, n_only_b;
    double sum_gain, sum_variance; /* of ln, over pairs; of one kernel there is no gain */
};

static bool is_pair(const struct pair *p)
{
    return p->a && p->b;
}

static const char *verdict_of(const struct pair *p)
{
    if (!is_pair(p))
        return p->a ? "only A" : "only B";
    if (p->c.by == COMPARE_PROGRAM)
        return "same kernel";
    return comparison_ties(&p->c) ? "tie" : p->c.gain > 0 ? "B faster" : "B slower";
}

static void count(const struct pair *p, struct totals *t)
{
    const bool is_same = is_pair(p) && p->c.by == COMPARE_PROGRAM, tie = is_pair(p) && comparison_ties(&p->c);

    t->n_only_a += !p->b;
    t->n_only_b += !p->a;
    t->n_same += is_same;
    t->n_ties += tie && !is_same;
    t->n_faster += is_pair(p) && !tie && p->c.gain > 0;
    t->n_slower += is_pair(p) && !tie && p->c.gain < 0;
    if (is_pair(p) && !is_same) {
        t->sum_gain += p->c.gain;
        t->sum_variance += p->c.error * p->c.error;
    }
}

static void print_ms(const struct record *r)
{
    if (r)
        printf(" %10.4g", r->time_ns / 1e6);
    else
        printf(" %10s", "-");
}

static void print_row(const struct pair *p)
{
    const struct record *any = p->a ? p->a : p->b;
    const double margin = comparison_margin(&p->c);

    print_ms(p->a);
    print_ms(p->b);
    if (is_pair(p))
        printf(" %8.3f %6.3f to %6.3f", exp(p->c.gain), exp(p->c.gain - margin), exp(p->c.gain + margin));
    else
        printf(" %8s %16s", "", "");
    printf("  %-11s %s  %s\n", verdict_of(p), any->key, any->workload);
}

static void print_json(const struct pair *p)
{
    static const char *const by[] = {[COMPARE_PROGRAM] = "program", [COMPARE_RATIO] = "ratio", [COMPARE_TIME] = "time"};
    const struct record *any = p->a ? p->a : p->b;
    cJSON *o = cJSON_CreateObject();
    bool ok = o;
    char *text;

    json_add_text(o, "workload", any->workload, &ok);
    json_add_text(o, "key", any->key, &ok);
    json_add_text(o, "fingerprint", any->fingerprint.hex, &ok);
    json_add_text(o, "verdict", verdict_of(p), &ok);
    if (p->a)
        json_add_real(o, "a_ns", p->a->time_ns, &ok);
    if (p->b)
        json_add_real(o, "b_ns", p->b->time_ns, &ok);
    if (is_pair(p)) {
        json_add_text(o, "by", by[p->c.by], &ok);
        json_add_real(o, "gain", exp(p->c.gain), &ok);
        json_add_real(o, "low", exp(p->c.gain - comparison_margin(&p->c)), &ok);
        json_add_real(o, "high", exp(p->c.gain + comparison_margin(&p->c)), &ok);
    }
    text = ok ? json_line(o) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

static void print_pair(const struct cli *c, const struct pair *p, struct totals *t)
{
    assert(p->a || p->b);
    count(p, t);
    if (cli_flag(c, "json"))
        print_json(p);
    else
        print_row(p);
}

static void print_totals(const struct totals *t)
{
    const int n_apart = t->n_faster + t->n_slower + t->n_ties, n = n_apart + t->n_same;
    const double mean = n ? t->sum_gain / n : 0, margin = n ? 2 * sqrt(t->sum_variance) / n : 0;

    printf(
        "%d in both: B faster %d, slower %d, ties %d, same kernel %d, geometric mean A/B %.3f (%.3f to %.3f); only A "
        "%d, only B %d\n",
        n, t->n_faster, t->n_slower, t->n_ties, t->n_same, exp(mean), exp(mean - margin), exp(mean + margin),
        t->n_only_a, t->n_only_b);
}

static const struct record *same_in(const struct best_set *b, const struct record *r)
{
    char device[SHA256_HEX + 1];

    best_device(r, device);
    return best_find(b, r->workload, device);
}

static enum err print_all(const struct cli *c, const struct best_set *a, const struct best_set *b)
{
    const struct run_error error = best_error(a, b);
    struct totals t = {0};

    if (!cli_flag(c, "json"))
        printf(" %10s %10s %8s %16s  %-11s %s\n", "A ms", "B ms", "A/B", "95 of 100", "", "key, workload");
    for (size_t i = 0; i < best_n(a); i++) {
        struct pair p = {.a = best_at(a, i)};

        if (!p.a)
            return ERR_NOMEM;
        p.b = same_in(b, p.a);
        if (p.b)
            p.c = compare_records(p.b, p.a, &error);
        print_pair(c, &p, &t);
    }
    for (size_t i = 0; i < best_n(b); i++) {
        const struct pair p = {.b = best_at(b, i)};

        if (!p.b)
            return ERR_NOMEM;
        if (!same_in(a, p.b))
            print_pair(c, &p, &t);
    }
    if (!cli_flag(c, "json"))
        print_totals(&t);
    return ERR_OK;
}

/* Nothing that can be compared is no agreement. */
static enum err best_of(const struct cli *c, int i, struct best_set **out, struct why *why)
{
    const enum err e = log_best(&c->rest[i], 1, cli_text(c, "key"), out, why);

    if (e || best_n(*out) > 0)
        return e;
    return why_set(why, ERR_INPUT, "%s: no good record in it%s%s", c->rest[i], cli_text(c, "key") ? " of key " : "",
                   cli_text(c, "key") ? cli_text(c, "key") : "");
}

static int run(const struct cli *c)
{
    struct best_set *a = NULL, *b = NULL;
    struct why why = {""};
    enum err e = log_need(c, 2, "old.jsonl new.jsonl", &why);

    if (!e && c->n_rest != 2)
        e = why_set(&why, ERR_INPUT, "one log: expected two, e.g. old.jsonl new.jsonl");
    if (!e)
        e = best_of(c, 0, &a, &why);
    if (!e)
        e = best_of(c, 1, &b, &why);
    if (!e)
        e = print_all(c, a, b);
    best_free(a);
    best_free(b);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_log_compare = {
    .name = "compare",
    .summary = "the best of one log against that of another, ties called ties",
    .usage = "log compare A B [options]",
    .example = "tune log compare old.jsonl new.jsonl",
    .options = options,
    .run = run,
};
