/* SPDX-License-Identifier: MIT */
/* log_compare.c - `tune log compare A B`: the best of one log against that of another, workload by workload. */
#include "tuner/cmd/log.h"

#include <math.h>
#include <string.h>

static const struct cli_option options[] = {OPT_KEY, OPT_JSON, OPT_END};

/* The best of both for one workload and device; one of them may be NULL. */
struct pair {
    const struct record *a, *b;
};

struct totals {
    int n_faster, n_slower, n_ties, n_only_a, n_only_b;
    double sum_gain; /* of ln, over pairs */
};

static const char *verdict_of(const struct pair *p, struct totals *t)
{
    const double gain = p->a && p->b ? best_gain(p->b, p->a) : 0;
    const bool tie = p->a && p->b && fabs(gain) < best_noise(p->a, p->b);

    if (!p->a || !p->b) {
        t->n_only_a += p->a != NULL;
        t->n_only_b += p->b != NULL;
        return p->a ? "only A" : "only B";
    }
    t->sum_gain += gain;
    t->n_ties += tie;
    t->n_faster += !tie && gain > 0;
    t->n_slower += !tie && gain < 0;
    return tie ? "tie" : gain > 0 ? "B faster" : "B slower";
}

static void print_ms(const struct record *r)
{
    if (r)
        printf(" %10.4g", r->time_ns / 1e6);
    else
        printf(" %10s", "-");
}

static void print_row(const struct pair *p, struct totals *t)
{
    const struct record *any = p->a ? p->a : p->b;
    const char *verdict = verdict_of(p, t);

    print_ms(p->a);
    print_ms(p->b);
    if (p->a && p->b)
        printf(" %8.3f", exp(best_gain(p->b, p->a)));
    else
        printf(" %8s", "");
    printf("  %-9s %s  %s\n", verdict, any->key, any->workload);
}

static void print_json(const struct pair *p, struct totals *t)
{
    const struct record *any = p->a ? p->a : p->b;
    cJSON *o = cJSON_CreateObject();
    bool ok = o;
    char *text;

    json_add_text(o, "workload", any->workload, &ok);
    json_add_text(o, "key", any->key, &ok);
    json_add_text(o, "fingerprint", any->fingerprint.hex, &ok);
    json_add_text(o, "verdict", verdict_of(p, t), &ok);
    if (p->a)
        json_add_real(o, "a_ns", p->a->time_ns, &ok);
    if (p->b)
        json_add_real(o, "b_ns", p->b->time_ns, &ok);
    if (p->a && p->b) {
        json_add_real(o, "gain", exp(best_gain(p->b, p->a)), &ok);
        json_add_real(o, "noise", best_noise(p->a, p->b), &ok);
    }
    text = ok ? cJSON_PrintUnformatted(o) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

static void print_pair(const struct cli *c, const struct pair *p, struct totals *t)
{
    if (cli_flag(c, "json"))
        print_json(p, t);
    else
        print_row(p, t);
}

static const struct record *same_in(const struct best_set *b, const struct record *r)
{
    char device[SHA256_HEX + 1];

    best_device(r, device);
    return best_find(b, r->workload, device);
}

static void print_all(const struct cli *c, const struct best_set *a, const struct best_set *b)
{
    struct totals t = {0};
    int n;

    if (!cli_flag(c, "json"))
        printf(" %10s %10s %8s  %-9s %s\n", "A ms", "B ms", "A/B", "", "key, workload");
    for (size_t i = 0; i < best_n(a); i++) {
        const struct pair p = {best_at(a, i), same_in(b, best_at(a, i))};

        print_pair(c, &p, &t);
    }
    for (size_t i = 0; i < best_n(b); i++) {
        const struct pair p = {NULL, best_at(b, i)};

        if (!same_in(a, p.b))
            print_pair(c, &p, &t);
    }
    n = t.n_faster + t.n_slower + t.n_ties;
    if (!cli_flag(c, "json"))
        printf("%d in both: B faster %d, slower %d, ties %d, geometric mean A/B %.3f; only A %d, only B %d\n", n,
               t.n_faster, t.n_slower, t.n_ties, n ? exp(t.sum_gain / n) : 1, t.n_only_a, t.n_only_b);
}

static int run(const struct cli *c)
{
    struct best_set *a = NULL, *b = NULL;
    struct why why = {""};
    enum err e = log_need(c, 2, "old.jsonl new.jsonl", &why);

    if (!e && c->n_rest != 2)
        e = why_set(&why, ERR_INPUT, "one log: expected two, e.g. old.jsonl new.jsonl");
    if (!e)
        e = log_best(&c->rest[0], 1, cli_text(c, "key"), &a, &why);
    if (!e)
        e = log_best(&c->rest[1], 1, cli_text(c, "key"), &b, &why);
    if (!e)
        print_all(c, a, b);
    best_free(a);
    best_free(b);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct subcommand cmd_log_compare = {
    .name = "compare",
    .summary = "the best of one log against that of another, ties called ties",
    .usage = "log compare A B [options]",
    .example = "tune log compare old.jsonl new.jsonl",
    .options = options,
    .run = run,
};
