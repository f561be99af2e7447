/* SPDX-License-Identifier: MIT */
/* look.c - which jobs and agents changed since they were told of last; in the core loop. */
#include "tracker/events.h"

#include "core/json.h"
#include "core/mix.h"
#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void told_fini(struct told *told)
{
    free(told->open);
    *told = (struct told){0};
}

static uint64_t with_text(uint64_t h, const char *text)
{
    return mix_word(h, text ? mix_text(text) : 0);
}

static uint64_t with_numbers(uint64_t h, const int64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = mix_word(h, (uint64_t)numbers[i]);
    return h;
}

/* Never 0. */
static uint64_t hash_of_job(const struct tracker_job *j)
{
    const int64_t sums[] = {j->n_open, j->n_leased, j->n_done, j->n_lost, j->seq, j->done_ms};
    const uint64_t h = mix_word(with_numbers(MIX_BEGIN, sums, sizeof sums / sizeof *sums), mix_bits(j->best_ns));

    return with_text(with_text(h, job_state(j)), j->progress) | 1;
}

static uint64_t hash_of_agent(const struct tracker *t, const struct agent *a)
{
    const int64_t sums[] = {a->n_leased, a->done, a->failed, a->seen_ms / 5000};
    const struct agent_mode *m = table_get_text(&t->modes, a->id);
    uint64_t h = with_numbers(MIX_BEGIN, sums, sizeof sums / sizeof *sums);

    h = mix_word(mix_word(mix_word(h, mix_bits(a->temperature)), mix_bits(a->load)), mix_bits(a->canary_ns));
    h = with_text(with_text(h, agent_state(t, a)), a->nonce);
    return with_text(mix_word(h, m ? m->mode + 1 : 0), m ? m->user : NULL) | 1;
}

static void put_event(struct buf *out, const char *name, cJSON *takes_data)
{
    buf_printf(out, "event: %s\ndata: ", name);
    if (!takes_data || json_print(takes_data, out) != ERR_OK)
        out->failed = out->failed ? out->failed : ERR_NOMEM;
    buf_puts(out, "\n\n");
    cJSON_Delete(takes_data);
}

static void tell_job(struct call *c, struct told *told, struct tracker_job *j)
{
    const uint64_t h = hash_of_job(j);
    struct job_entry entry;

    if (j->told == h)
        return;
    j->told = h;
    if (!told->next_job)
        return;
    entry = job_entry_of(c, j);
    put_event(told->out, "job", job_entry_write(&entry));
}

static void tell_agent(struct call *c, struct told *told, struct agent *a)
{
    const uint64_t h = hash_of_agent(c->t, a);
    const bool is_new = !a->told;

    if (a->told == h)
        return;
    a->told = h;
    if (told->next_job)
        put_event(told->out, a->is_builder ? "builder" : "device", agent_entry_of(c, a, is_new));
}

static void tell_numbers(struct call *c, struct told *told, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tracker_job *j = table_get_i64(&c->t->jobs, ids[i]);

        if (j)
            tell_job(c, told, j);
    }
}

/* Jobs that are open, were open, or came and went in between. */
static enum err tell_jobs(struct call *c, struct told *told)
{
    const struct tracker *t = c->t;
    enum err e = ERR_OK;

    tell_numbers(c, told, told->open, told->n_open);
    for (int64_t id = told->next_job ? told->next_job : t->next_job; id < t->next_job; id++)
        tell_numbers(c, told, &id, 1);
    told->n_open = 0;
    for (struct tracker_job *j = t->open_jobs; j && !e; j = j->next_open) {
        e = VEC_ROOM(told->open, told->cap, told->n_open + 1, VEC_ANY);
        if (!e)
            told->open[told->n_open++] = j->id;
        tell_job(c, told, j);
    }
    return e;
}

enum err events_look(struct tracker *t, void *arg)
{
    struct told *told = arg;
    struct call c;
    enum err e;

    call_begin(&c, t);
    e = tell_jobs(&c, told);
    for (struct agent *a = t->first_agent; a; a = a->later)
        tell_agent(&c, told, a);
    assert(t->next_job > 0);
    told->next_job = t->next_job;
    if (!e)
        e = c.ok ? told->out->failed : ERR_NOMEM;
    call_end(&c);
    return e;
}
