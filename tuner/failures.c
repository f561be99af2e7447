/* SPDX-License-Identifier: MIT */
#include "tuner/failures.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void failures_init(struct failures *f)
{
    *f = (struct failures){.n_kinds = 0};
}

void failures_fini(struct failures *f)
{
    if (!f)
        return;
    free(f->first_log);
    f->first_log = NULL;
}

/* Numbers differ from config to config where the cause is the same. */
static void fold(const char *from, char *to, size_t n)
{
    size_t k = 0;

    for (; *from && k + 1 < n; from++) {
        const bool digit = isdigit((unsigned char)*from);

        if (digit && k && to[k - 1] == '#')
            continue;
        to[k++] = digit ? '#' : *from;
    }
    to[k] = '\0';
}

void failures_add_words(struct failures *f, enum record_status s, const char *words)
{
    struct failure_kind k = {.count = 1};

    if ((unsigned)s < N_STATUSES)
        f->by_status[s]++;
    snprintf(k.message, sizeof k.message, "%s: %.*s", status_name(s), (int)strcspn(words, "\n"), words);
    fold(k.message, k.folded, sizeof k.folded);
    assert(f->n_kinds <= FAILURES_MAX_KINDS);
    for (size_t i = 0; i < f->n_kinds; i++)
        if (strcmp(f->kinds[i].folded, k.folded) == 0) {
            f->kinds[i].count++;
            return;
        }
    if (f->n_kinds < FAILURES_MAX_KINDS)
        f->kinds[f->n_kinds++] = k;
}

static const char build_remedy[] = "--build-timeout T allows a build more time";
static const char run_remedy[] = "--run-timeout T allows a run more time, e.g. 60s "
                                 "(to it 1 s for each 50 MB of buffers is added, which the host fills and checks)";

static bool is_build(const struct record *r)
{
    return strcmp(r->stage, "build") == 0 || strcmp(r->stage, "load") == 0;
}

const char *failure_remedy(const struct record *r)
{
    if (r->status != STATUS_TIMEOUT || strcmp(r->stage, "start") == 0)
        return "";
    return is_build(r) ? build_remedy : run_remedy;
}

void failures_remedies(const struct failures *f, struct buf *out)
{
    if (f->over_build_s)
        buf_printf(out, "%s\n", build_remedy);
    if (f->over_run_s)
        buf_printf(out, "%s\n", run_remedy);
}

void failures_add(struct failures *f, const struct record *r)
{
    f->over_build_s |= failure_remedy(r) == build_remedy;
    f->over_run_s |= failure_remedy(r) == run_remedy;
    if (r->status == STATUS_OK) {
        f->by_status[STATUS_OK]++;
        return;
    }
    failures_add_words(f, r->status, r->why ? r->why : "no words");
    if (r->status == STATUS_COMPILE && r->why && !f->first_log)
        f->first_log = strdup(r->why);
}

void failures_line(const struct failures *f, struct buf *out)
{
    bool any = false;

    for (int s = 0; s < N_STATUSES; s++)
        if (s != STATUS_OK && f->by_status[s] > 0) {
            buf_printf(out, "%s%s %lld", any ? " " : "", status_name((enum record_status)s),
                       (long long)f->by_status[s]);
            any = true;
        }
}

static int by_count(const void *a, const void *b)
{
    const struct failure_kind *x = a, *y = b;

    return (x->count < y->count) - (x->count > y->count);
}

void failures_explain(const struct failures *f, struct buf *out)
{
    struct failure_kind sorted[FAILURES_MAX_KINDS];

    if (f->n_kinds == 0)
        return;
    memcpy(sorted, f->kinds, f->n_kinds * sizeof sorted[0]);
    qsort(sorted, f->n_kinds, sizeof sorted[0], by_count);
    buf_puts(out, "most frequent failures:\n");
    for (size_t i = 0; i < f->n_kinds && i < 3; i++)
        buf_printf(out, "%6lld x %s\n", (long long)sorted[i].count, sorted[i].message);
    failures_remedies(f, out);
    if (f->first_log)
        buf_printf(out, "the compiler's first words:\n%s\n", f->first_log);
}
