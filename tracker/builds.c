/* SPDX-License-Identifier: MIT */
/* builds.c - code that is made elsewhere than it is run: what devices want built, what is built, and which trials wait
 * for it. One build serves every trial of its program on every device of its architecture. */
#include "tracker/state.h"

#include "core/err.h"
#include "tracker/vault.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_NS ((int64_t)600 * 1000000000) /* in memory, after the last look at it */
#define DROP_AT_ONCE 64

/* ---- architectures ---- */

struct arch *arch_of(struct tracker *t, const char *name)
{
    struct arch *a = table_get_text(&t->arches, name);

    if (a)
        return a;
    a = calloc(1, sizeof *a);
    if (!a || table_put_text(&t->arches, name, a) != ERR_OK) {
        free(a);
        return NULL;
    }
    text_copy(a->name, sizeof a->name, name);
    return a;
}

bool arch_has_builder(const struct tracker *t, const struct arch *arch)
{
    return arch->seen_ns && arch->seen_ns >= tracker_now_ns(t) - t->o.lease_ms * 1000000;
}

void arch_recount(struct tracker *t, struct arch *arch)
{
    const struct agent *a;
    size_t at = 0;

    arch->seen_ns = 0;
    while ((a = table_next(&t->agents, &at)) != NULL)
        for (int i = 0; i < a->n_arches; i++)
            if (!a->gone && a->arches[i] == arch && a->seen_ns > arch->seen_ns)
                arch->seen_ns = a->seen_ns;
}

void slug_want(struct slug *s, const struct agent *a)
{
    struct want *w;

    assert(a->arch && s->n_wants <= MAX_WANTS && s->i_want < MAX_WANTS);
    for (int i = 0; i < s->n_wants; i++)
        if (s->wants[i].arch == a->arch && strcmp(s->wants[i].fingerprint, a->fingerprint) == 0)
            return;
    w = &s->wants[s->i_want];
    s->i_want = (s->i_want + 1) % MAX_WANTS;
    if (s->n_wants < MAX_WANTS)
        s->n_wants++;
    w->arch = a->arch;
    text_copy(w->fingerprint, sizeof w->fingerprint, a->fingerprint);
}

bool want_fits(const struct want *w, const struct tracker_trial *tr)
{
    return !tr->fingerprint[0] || strcmp(tr->fingerprint, w->fingerprint) == 0;
}

/* ---- builds in memory ---- */

static size_t name_of(const char *program, const struct arch *arch, char out[ARCH_BYTES + SHA256_HEX + 2])
{
    return (size_t)snprintf(out, ARCH_BYTES + SHA256_HEX + 2, "%s %s", arch->name, program);
}

struct stored {
    struct build *b;
    char *blobs;
};

static void take_row(const struct build_row *row, void *arg)
{
    struct stored *s = arg;

    s->b->answered = row->status[0] != '\0';
    s->b->good = strcmp(row->status, "ok") == 0;
    s->b->through = row->through;
    s->b->attempts = row->attempts;
    s->blobs = strdup(row->blobs);
}

/* Are all blobs here that an answer names? Retention may have taken one. */
static enum err check_blobs(struct tracker *t, char *blobs, bool *whole)
{
    char *rest = blobs, *hex;
    enum err e = ERR_OK;

    while (!e && (hex = strtok_r(rest, " ", &rest)) != NULL)
        e = vault_look(t, hex);
    *whole = !e;
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err read_stored(struct tracker *t, struct build *b)
{
    struct stored s = {.b = b};
    bool whole = true;
    enum err e = t->o.ops->build_get(t->o.store, b->program.hex, b->arch->name, take_row, &s);

    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (!e && !s.blobs)
        e = ERR_NOMEM;
    if (!e)
        e = check_blobs(t, s.blobs, &whole);
    if (!whole)
        b->answered = b->good = false;
    free(s.blobs);
    return e;
}

enum err build_of(struct tracker *t, const char *program, struct arch *arch, struct build **out)
{
    char name[ARCH_BYTES + SHA256_HEX + 2];
    const size_t n_name = name_of(program, arch, name);
    struct build *b = table_get(&t->builds, name, n_name);
    enum err e = ERR_OK;

    if (!b) {
        b = calloc(1, sizeof *b);
        if (!b)
            return ERR_NOMEM;
        b->arch = arch;
        text_copy(b->program.hex, sizeof b->program.hex, program);
        e = read_stored(t, b);
        if (!e)
            e = table_put(&t->builds, name, n_name, b);
        if (e) {
            free(b);
            return e;
        }
    }
    b->used_ns = tracker_now_ns(t);
    *out = b;
    return ERR_OK;
}

bool build_answers(const struct build *b, const struct tracker_trial *tr)
{
    return b->answered && (b->good || tr->id <= b->through);
}

enum err build_save(struct tracker *t, const struct build *b, const char *status, const char *blobs, const char *body)
{
    const struct build_row row = {.program = b->program.hex,
                                  .arch = b->arch->name,
                                  .status = status,
                                  .blobs = blobs,
                                  .body = body,
                                  .through = b->through,
                                  .attempts = b->attempts};

    return t->o.ops->build_put(t->o.store, &row);
}

/* ---- trials and their builds ---- */

static enum err part_ready(struct tracker *t, const struct agent *a, const struct tracker_trial *tr,
                           const char *program, bool *out)
{
    struct build *b;
    enum err e = program[0] ? build_of(t, program, a->arch, &b) : ERR_OK;

    if (e || !program[0])
        return e;
    if (build_answers(b, tr))
        return ERR_OK;
    if (!a->builds_itself || (arch_has_builder(t, a->arch) && b->attempts < MAX_ATTEMPTS))
        *out = false;
    return ERR_OK;
}

enum err build_ready(struct tracker *t, const struct agent *a, const struct tracker_trial *tr, bool *out)
{
    enum err e;

    *out = true;
    e = part_ready(t, a, tr, tr->program.hex, out);
    return e || !*out ? e : part_ready(t, a, tr, tr->anchor.hex, out);
}

struct answer {
    cJSON *body;
    size_t n_bytes;
    enum err e;
};

static void take_answer(const struct build_row *row, void *arg)
{
    struct answer *a = arg;

    a->n_bytes = strlen(row->body);
    a->e = json_parse(row->body, a->n_bytes, &a->body, NULL);
}

/* *out stays NULL where there is none. */
static enum err answer_of(struct tracker *t, const struct agent *a, const struct tracker_trial *tr, const char *program,
                          cJSON **out, size_t *n_bytes)
{
    struct answer x = {.e = ERR_OK};
    struct build *b;
    enum err e = program[0] ? build_of(t, program, a->arch, &b) : ERR_OK;

    if (e || !program[0] || !build_answers(b, tr))
        return e;
    e = t->o.ops->build_get(t->o.store, program, a->arch->name, take_answer, &x);
    *out = x.body;
    *n_bytes += x.n_bytes;
    return e ? e : x.e;
}

enum err build_answers_of(struct tracker *t, const struct agent *a, const struct tracker_trial *tr, cJSON **out,
                          size_t *n_bytes)
{
    struct built_code code = {.program = NULL};
    enum err e = answer_of(t, a, tr, tr->program.hex, &code.program, n_bytes);

    if (!e)
        e = answer_of(t, a, tr, tr->anchor.hex, &code.anchor, n_bytes);
    if (e || (!code.program && !code.anchor)) {
        call_drop(&built_code_shape, &code);
        return e;
    }
    *out = built_code_write(&code);
    return *out ? ERR_OK : ERR_NOMEM;
}

/* ---- the way back ---- */

static bool needs(const struct tracker_trial *tr, const struct build *b)
{
    return strcmp(tr->program.hex, b->program.hex) == 0 || strcmp(tr->anchor.hex, b->program.hex) == 0;
}

/* True when every device that could run the trial waits for this build in vain. */
static bool is_stuck(const struct tracker *t, const struct slug *s, const struct tracker_trial *tr,
                     const struct build *b)
{
    bool stuck = false;

    for (int i = 0; i < s->n_wants; i++) {
        if (!want_fits(&s->wants[i], tr))
            continue;
        if (s->wants[i].arch != b->arch || agents_build(t, s->key, b->arch))
            return false;
        stuck = true;
    }
    return stuck;
}

static enum err give_up(struct tracker *t, struct build *b)
{
    struct slug *s;
    size_t at = 0;
    enum err e = ERR_OK;

    while (!e && (s = table_next(&t->slugs, &at)) != NULL)
        for (struct lane *l = s->lanes; l && !e; l = l->next)
            for (struct tracker_trial *tr = l->open.first, *next; tr && !e; tr = next) {
                next = tr->next;
                if (needs(tr, b) && !build_answers(b, tr) && is_stuck(t, s, tr, b))
                    e = trial_make_lost(t, tr,
                                        "five builders took the build of this trial and none answered; `tune requeue` "
                                        "tries it again");
            }
    return e;
}

enum err build_back(struct tracker *t, struct build *b, bool counted)
{
    enum err e = ERR_OK;

    assert(b->agent && b->agent->n_leased > 0);
    b->agent->n_leased--;
    b->agent = NULL;
    wake(t, &t->build_waiters);
    if (!counted)
        return ERR_OK;
    b->attempts++;
    if (!b->answered) /* else a failure of before stays what its trials are told */
        e = build_save(t, b, "", "", "");
    if (!e && b->attempts >= MAX_ATTEMPTS) {
        wake_devices(t);
        e = give_up(t, b);
    }
    return e;
}

enum err builds_of_agent_back(struct tracker *t, const struct agent *a, bool counted)
{
    struct build *b;
    size_t at = 0;
    enum err e = ERR_OK;

    while (!e && (b = table_next(&t->builds, &at)) != NULL)
        if (b->agent == a)
            e = build_back(t, b, counted);
    return e;
}

static enum err forgive(struct tracker *t, const char *program, struct arch *arch)
{
    struct build *b;
    enum err e = program[0] ? build_of(t, program, arch, &b) : ERR_OK;

    if (e || !program[0] || b->attempts == 0)
        return e;
    b->attempts = 0;
    wake(t, &t->build_waiters);
    return b->answered ? ERR_OK : build_save(t, b, "", "", "");
}

enum err builds_forgive(struct tracker *t, const struct tracker_trial *tr)
{
    struct slug *s = slug_of(t, tr->lane->key);
    enum err e = s ? ERR_OK : ERR_NOMEM;

    for (int i = 0; !e && i < s->n_wants; i++) {
        e = forgive(t, tr->program.hex, s->wants[i].arch);
        if (!e)
            e = forgive(t, tr->anchor.hex, s->wants[i].arch);
    }
    return e;
}

/* A builder that came or went changes what devices may lease. */
static void watch_builders(struct tracker *t)
{
    struct arch *a;
    size_t at = 0;

    while ((a = table_next(&t->arches, &at)) != NULL)
        if (a->had_builder != arch_has_builder(t, a)) {
            a->had_builder = !a->had_builder;
            wake_devices(t);
            wake(t, &t->build_waiters);
        }
}

static void drop_unused(struct tracker *t)
{
    const int64_t before = tracker_now_ns(t) - KEEP_NS;
    char name[ARCH_BYTES + SHA256_HEX + 2];
    struct build *b, *old[DROP_AT_ONCE];
    size_t at = 0;
    int n = 0;

    while (n < DROP_AT_ONCE && (b = table_next(&t->builds, &at)) != NULL)
        if (!b->agent && b->used_ns < before)
            old[n++] = b;
    while (n-- > 0) {
        table_remove(&t->builds, name, name_of(old[n]->program.hex, old[n]->arch, name));
        free(old[n]);
    }
}

enum err builds_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t);
    struct build *b;
    size_t at = 0;
    enum err e = ERR_OK;

    while (!e && (b = table_next(&t->builds, &at)) != NULL)
        if (b->agent && b->deadline_ns < now) {
            t->stats.expired++;
            e = build_back(t, b, true);
        }
    watch_builders(t);
    drop_unused(t);
    return e;
}

void builds_fini(struct tracker *t)
{
    void *p;
    size_t at = 0;

    while ((p = table_next(&t->builds, &at)) != NULL)
        free(p);
    at = 0;
    while ((p = table_next(&t->arches, &at)) != NULL)
        free(p);
    table_fini(&t->builds);
    table_fini(&t->arches);
}

/* ---- words ---- */

/* Open trials of the lane that wait for code which nobody is there to make. */
static enum err count_waiting(struct tracker *t, const struct lane *l, const struct want *w, int64_t *n)
{
    enum err e = ERR_OK;

    for (const struct tracker_trial *tr = l->open.first; tr && !e; tr = tr->next) {
        const struct agent blind = {.arch = w->arch};
        bool ready = true;

        if (want_fits(w, tr))
            e = build_ready(t, &blind, tr, &ready);
        *n += !ready;
    }
    return e;
}

enum err builds_waits(struct tracker *t, const struct tracker_job *j, char *out, size_t n_out)
{
    const struct arch *arch = NULL;
    const struct slug *s;
    int64_t n = 0, more = 0;
    size_t at = 0;
    enum err e = ERR_OK;

    while (!e && (s = table_next(&t->slugs, &at)) != NULL)
        for (int i = 0; i < s->n_wants && !e; i++) {
            const struct want *w = &s->wants[i];

            if (arch_has_builder(t, w->arch) || agents_build(t, s->key, w->arch))
                continue;
            arch = n ? arch : w->arch;
            for (const struct lane *l = s->lanes; l && !e; l = l->next)
                if (!j || l->job == j)
                    e = count_waiting(t, l, w, w->arch == arch ? &n : &more);
        }
    out[0] = '\0';
    if (n)
        snprintf(out, n_out, "%" PRId64 " trial%s for a builder of %s (tune-agent --build-for %s --no-device)", n,
                 n == 1 ? " waits" : "s wait", arch->name, arch->name);
    if (more)
        snprintf(out + strlen(out), n_out - strlen(out), ", %" PRId64 " for others", more);
    return e;
}
